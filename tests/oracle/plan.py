"""Numbers for crates/plan, made another way than crates/plan makes them: product forms by plain sums in 60 digits, Markov
chains as whole matrices, integrals by mpmath. Run: python3 tests/oracle/plan.py > tests/oracle/plan.json"""
import itertools, json, math
import mpmath as mp
import numpy as np
from scipy import linalg, optimize

mp.mp.dps = 60
rows = []

def row(kind, given, **values):
    rows.append(dict(kind=kind, **given, **{k: float(v) for k, v in values.items()}))

# Closed networks of single servers, multi-servers and delays: normalising constants by convolution.
def convolution(stations, n, z):
    def factors(d, m):
        f = [mp.mpf(1)]
        for j in range(1, n + 1):
            f.append(f[-1] * d / (min(j, m) if m else j))
        return f
    def times(a, b):
        return [mp.fsum(a[i] * b[k - i] for i in range(k + 1)) for k in range(n + 1)]
    fs = [factors(mp.mpf(z), 0)] + [factors(mp.mpf(d), m) for d, m in stations]
    g = fs[0]
    for f in fs[1:]:
        g = times(g, f)
    x = g[n - 1] / g[n]
    queues = []
    for k in range(1, len(fs)):
        rest = [mp.mpf(1)] + [mp.mpf(0)] * n
        for j, f in enumerate(fs):
            if j != k:
                rest = times(rest, f)
        queues.append(mp.fsum(j * fs[k][j] * rest[n - j] for j in range(n + 1)) / g[n])
    return x, queues

for stations, n, z in [([(0.05, 1), (0.04, 1), (0.03, 1)], 60, 1), ([(0.2, 4), (0.04, 1), (0.1, 2)], 80, 1.5),
                       ([(0.2, 4), (0.3, 0), (0.19, 4)], 120, 0), ([(1, 8)], 100, 4)]:
    x, queues = convolution(stations, n, z)
    row("mva", dict(stations=stations, users=n, think=z), throughput=x, first_queue=queues[0], in_system=mp.fsum(queues))

# Two classes at two single servers: the sum over all states.
def two_classes(n, z, d):
    def g(n):
        total = mp.mpf(0)
        for a in range(n[0] + 1):
            for b in range(n[1] + 1):
                for at in itertools.product(range(n[0] - a + 1), range(n[1] - b + 1)):
                    q = [at, (n[0] - a - at[0], n[1] - b - at[1])]
                    term = mp.mpf(z[0]) ** a / mp.factorial(a) * mp.mpf(z[1]) ** b / mp.factorial(b)
                    for k in range(2):
                        term *= mp.binomial(sum(q[k]), q[k][0]) * mp.mpf(d[0][k]) ** q[k][0] * mp.mpf(d[1][k]) ** q[k][1]
                    total += term
        return total
    whole = g(n)
    return g((n[0] - 1, n[1])) / whole, g((n[0], n[1] - 1)) / whole

n, z, d = (12, 7), (1, 3), ((0.1, 0.3), (0.5, 0.05))
x = two_classes(n, z, d)
row("classes", dict(users=n, think=z, demands=d), first=x[0], second=x[1])

# M/G/1 by size: densities given to mpmath, nothing else.
def densities():
    ln = lambda m, c: (mp.log(m) - mp.log(1 + c) / 2, mp.sqrt(mp.log(1 + c)))
    mu, sigma = ln(mp.mpf(1), mp.mpf(2))
    yield "lognormal:1s,2", lambda x: mp.exp(-((mp.log(x) - mu) / sigma) ** 2 / 2) / (x * sigma * mp.sqrt(2 * mp.pi)), 0, mp.inf
    k = mp.mpf("0.7"); s = 1 / mp.gamma(1 + 1 / k)
    yield "weibull:1s,0.7", lambda x: k / s * (x / s) ** (k - 1) * mp.exp(-((x / s) ** k)), 0, mp.inf
    yield "uniform:0s,2s", lambda x: mp.mpf(1) / 2, 0, 2
    a, th = mp.mpf("0.5"), mp.mpf(2)
    yield "gamma:1s,2", lambda x: x ** (a - 1) * mp.exp(-x / th) / (mp.gamma(a) * th ** a), 0, mp.inf
    b = mp.mpf("2.5"); xm = mp.mpf("0.6")
    yield "pareto:600ms,2.5", lambda x: b * xm ** b / x ** (b + 1), xm, mp.inf

# Gauss-Legendre on pieces of a logarithmic grid; partial moments by running sums.
def by_size(density, low, high, rho):
    mp.mp.dps = 30
    lo = mp.mpf(low) if low > 0 else mp.mpf(10) ** -40
    hi = mp.mpf(high) if high != mp.inf else mp.mpf(10) ** (14 if low > 0 else 4)
    pieces = 300
    edges = [lo * (hi / lo) ** (mp.mpf(i) / pieces) for i in range(pieces + 1)]
    if low == 0 and high != mp.inf:
        edges = [hi * i / pieces for i in range(pieces + 1)]
    t, w = np.polynomial.legendre.leggauss(12)
    f0 = f1 = f2 = mp.mpf(0)
    cells = []
    for a, b in zip(edges, edges[1:]):
        half, mid = (b - a) / 2, (b + a) / 2
        points = [(mid + half * float(ti), half * float(wi)) for ti, wi in zip(t, w)]
        cells.append((f0, f1, f2, a, b, points))
        for x, wx in points:
            p = wx * density(x)
            f0 += p; f1 += p * x; f2 += p * x * x
    lam = rho / f1
    result = dict.fromkeys(["srpt", "psjf", "sjf", "fb"], mp.mpf(0))
    result["srpt"] += lo if low > 0 else 0
    for g0, g1, g2, a, b, points in cells:
        for i, (x, wx) in enumerate(points):
            # partial moments to x inside the cell, by a rule on [a, x]
            h0, h1, h2 = g0, g1, g2
            half, mid = (x - a) / 2, (x + a) / 2
            for ti, wi in zip(t, w):
                y = mid + half * float(ti); p = half * float(wi) * density(y)
                h0 += p; h1 += p * y; h2 += p * y * y
            p, left, tail = wx * density(x), 1 - lam * h1, f0 - h0
            result["srpt"] += p * lam * (h2 + x * x * tail) / 2 / left ** 2 + wx * tail / left
            result["psjf"] += p * (x / left + lam * h2 / 2 / left ** 2)
            result["sjf"] += p * (x + lam * f2 / 2 / left ** 2)
            cut = 1 - lam * (h1 + x * tail)
            result["fb"] += p * (x / cut + lam * (h2 + x * x * tail) / 2 / cut ** 2)
    mp.mp.dps = 60
    return lam, result

for law, density, low, high in densities():
    for rho in (0.6, 0.9):
        lam, result = by_size(density, low, high, rho)
        if law.startswith("pareto"):
            result = {k: result[k] for k in ("srpt", "psjf", "fb")}
        row("size", dict(law=law), rate=lam, **result)

# Percentiles of a response: the phase-type distribution as a matrix exponential.
def tail_at(alpha, t_matrix, t):
    return float(alpha @ linalg.expm(t_matrix * t) @ np.ones(len(alpha)))

def percentile(tail, share):
    return optimize.brentq(lambda t: tail(t) - (1 - share), 1e-6, 100, xtol=1e-14)

def closed_tail(m, n, s, z):
    p = [mp.mpf(1)]
    for k in range(1, n):
        p.append(p[-1] * (n - k) / mp.mpf(z) / (min(k, m) / mp.mpf(s)))
    total = mp.fsum(p)
    p = [float(x / total) for x in p]                       # found by an arrival: n-1 users
    states = n                                              # waiting behind k completions, k = n..1, then own service
    t = np.zeros((states + 1, states + 1))
    for k in range(1, states + 1):
        t[k, k] = -m / s; t[k, k - 1] = m / s
    t[0, 0] = -1 / s
    alpha = np.zeros(states + 1)
    for k, x in enumerate(p):
        alpha[max(0, k - m + 1)] += x
    return lambda u: tail_at(alpha, t, u)

for m, n, s, z in [(4, 30, 0.2, 1.0), (1, 20, 0.05, 1.0), (3, 3, 0.1, 0.5)]:
    tail = closed_tail(m, n, s, z)
    row("closed-percentiles", dict(servers=m, users=n, service=s, think=z), p50=percentile(tail, 0.5), p99=percentile(tail, 0.99))

for m, s, lam in [(1, 0.1, 9), (4, 0.1, 30), (3, 0.1, 20)]:  # the last has delta = mu exactly
    a = lam * s
    c = a ** m / math.factorial(m) / (1 - a / m)
    c = c / (sum(a ** k / math.factorial(k) for k in range(m)) + c)
    mu, delta = 1 / s, m / s - lam
    # waiting (rate delta) with probability C, then service (rate mu)
    t = np.array([[-delta, delta], [0, -mu]])
    tail = lambda u: tail_at(np.array([c, 1 - c]), t, u)
    row("open-percentiles", dict(servers=m, service=s, rate=lam), waits=c, p50=percentile(tail, 0.5), p99=percentile(tail, 0.99))

# M/PH/1/N/N as one matrix: stationary vector, and the launches as a Markovian arrival process.
def chain(start, onward, end, n, z):
    d = len(start)
    index = {(0, 0): 0}
    for k in range(1, n + 1):
        for i in range(d):
            index[k, i] = len(index)
    size = len(index)
    up, rest = np.zeros((size, size)), np.zeros((size, size))
    for (k, i), here in index.items():
        if k < n:
            for j in range(d):
                share = start[j] if k == 0 else float(i == j)
                up[here, index[k + 1, j]] += share * (n - k) / z
        if k > 0:
            for j in range(d):
                if i != j:
                    rest[here, index[k, j]] += onward[i][j]
            if k == 1:
                rest[here, 0] += end[i]
            else:
                for j in range(d):
                    rest[here, index[k - 1, j]] += end[i] * start[j]
    d0 = rest - np.diag((up + rest).sum(1))
    q = d0 + up
    a = np.vstack([q.T, np.ones(size)])
    p = np.linalg.lstsq(a, np.append(np.zeros(size), 1), rcond=None)[0]
    rate = p @ up @ np.ones(size)
    inv = np.linalg.inv(-d0)
    one = np.ones(size)
    second = 2 * (p @ inv @ one) / rate
    scv = second * rate ** 2 - 1
    cross = (p @ (inv @ up) @ inv @ one) / rate
    lag1 = (cross * rate ** 2 - 1) / scv
    dev = np.linalg.inv(np.outer(one, p) - q)
    idc = 1 - 2 * rate + 2 / rate * (p @ up @ dev @ up @ one)
    queue = sum(k * p[here] for (k, i), here in index.items())
    return rate, queue, math.sqrt(scv), lag1, idc

def h2(mean, scv):
    p = 0.5 * (1 + math.sqrt((scv - 1) / (scv + 1)))
    return [p, 1 - p], [[0, 0], [0, 0]], [2 * p / mean, 2 * (1 - p) / mean]

def erlang(mean, k):
    r = k / mean
    return [1] + [0] * (k - 1), [[r if j == i + 1 else 0 for j in range(k)] for i in range(k)], [0] * (k - 1) + [r]

for law, ph, n, z in [("hyperexponential:50ms,8", h2(0.05, 8), 15, 0.5), ("erlang:50ms,4", erlang(0.05, 4), 12, 0.4),
                      ("exponential:50ms", h2(0.05, 1), 40, 3)]:
    rate, queue, cov, lag1, idc = chain(*ph, n, z)
    row("chain", dict(law=law, users=n, think=z), throughput=rate, in_system=queue, cov=cov, lag1=lag1, dispersion=idc)

# CoV of the gaps of N independent renewal processes.
for law, excess in [
    ("erlang:1s,3", lambda t: mp.exp(-3 * t) * (1 + 2 * t + mp.mpf(3) * t * t / 2)),
    ("hyperexponential:1s,4", None),
    ("uniform:500ms,1500ms", lambda t: 1 - t if t < 0.5 else (mp.mpf("1.5") - t) ** 2 / 2 if t < 1.5 else mp.mpf(0)),
]:
    if excess is None:
        (p, q), _, (a, b) = h2(1, 4)
        excess = lambda t: p / a * mp.exp(-a * t) + q / b * mp.exp(-b * t)
    for n in (2, 50, 1000):
        mp.mp.dps = 25
        wait = mp.quad(lambda t: excess(t) ** n, [0, 1 / mp.mpf(n), 3 / mp.mpf(n), 10 / mp.mpf(n), 0.5, 1, 1.5, 4, 20, 80])
        row("superposition", dict(law=law, users=n), cov=mp.sqrt(2 * n * wait - 1))

# M/M/m/K.
for m, k, s, lam in [(1, 5, 0.01, 90), (4, 20, 0.1, 60), (3, 3, 0.1, 25)]:
    p = [mp.mpf(1)]
    for n in range(1, k + 1):
        p.append(p[-1] * lam / (min(n, m) / mp.mpf(s)))
    total = mp.fsum(p)
    x = lam * (1 - p[k] / total)
    row("finite", dict(servers=m, room=k, service=s, rate=lam), lost=p[k] / total, throughput=x,
        in_system=mp.fsum(n * p[n] for n in range(k + 1)) / total)

import scipy
print(json.dumps(dict(made_by=f"mpmath {mp.__version__}, scipy {scipy.__version__}", rows=rows), indent=1))
