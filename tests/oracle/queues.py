"""Mean responses of M/G/1 under scheduling disciplines, M/M/m, M/M/1/K and two-class priorities, by SciPy quadrature.

Run: python3 queues.py > queues.json   (E[S] = 1; formulas: Wierman 2007, "Fairness and scheduling in single server queues",
table 2; Schrage and Miller 1966 for SRPT; Cobham 1954 and Jaiswal 1968 for priorities).
"""
import json
from math import exp, factorial, sqrt

from scipy.integrate import quad

OUT = []


def put(discipline, law, load, servers, mean):
    OUT.append({"discipline": discipline, "law": law, "load": load, "servers": servers, "mean": round(mean, 8)})


class H2:
    """A mixture of exponentials: [(probability, mean)]."""

    def __init__(self, phases):
        self.phases = phases

    def pdf(self, x):
        return sum(p / m * exp(-x / m) for p, m in self.phases)

    def tail(self, x):
        return sum(p * exp(-x / m) for p, m in self.phases)

    def moment(self, k):
        return sum(p * factorial(k) * m**k for p, m in self.phases)

    def partial(self, k, x):
        """E[S^k; S <= x]."""
        total = 0.0
        for p, m in self.phases:
            y = x / m
            total += p * m**k * (factorial(k) - exp(-y) * sum(factorial(k) / factorial(j) * y**j for j in range(k + 1)))
        return total

    def capped(self, k, x):
        """E[min(S, x)^k]."""
        return self.partial(k, x) + x**k * self.tail(x)


def expect(law, f):
    edges = [0] + [m * s for _, m in sorted(law.phases, key=lambda p: p[1]) for s in (0.5, 2, 8)] + [60 * max(m for _, m in law.phases)]
    edges = sorted(set(edges))
    return sum(quad(lambda x: f(x) * law.pdf(x), a, b, epsabs=1e-13, epsrel=1e-11, limit=400)[0] for a, b in zip(edges, edges[1:]))


def one_server(name, law, rho):
    lam = rho / law.moment(1)
    m2 = law.moment(2)
    below = lambda x: lam * law.partial(1, x)

    def residence(x):
        edges = [e for e in (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200) if e < x]
        points = [0.0] + edges + [x]
        return sum(quad(lambda t: 1 / (1 - below(t)), a, b, epsabs=1e-12, epsrel=1e-10)[0] for a, b in zip(points, points[1:]))

    fcfs = 1 + lam * m2 / 2 / (1 - rho)
    put("fcfs", name, rho, 1, fcfs)
    put("lcfs", name, rho, 1, fcfs)
    put("ps", name, rho, 1, 1 / (1 - rho))
    put("lcfs-preemptive", name, rho, 1, 1 / (1 - rho))
    put("srpt", name, rho, 1, expect(law, lambda x: residence(x) + lam * law.capped(2, x) / 2 / (1 - below(x)) ** 2))
    put("psjf", name, rho, 1, expect(law, lambda x: x / (1 - below(x)) + lam * law.partial(2, x) / 2 / (1 - below(x)) ** 2))
    put("sjf", name, rho, 1, 1 + expect(law, lambda x: lam * m2 / 2 / (1 - below(x)) ** 2))
    above = lambda x: rho - below(x)
    put("ljf", name, rho, 1, 1 + expect(law, lambda x: lam * m2 / 2 / (1 - above(x)) ** 2))
    put("pljf", name, rho, 1,
        expect(law, lambda x: x / (1 - above(x)) + lam * (m2 - law.partial(2, x)) / 2 / (1 - above(x)) ** 2))
    capped = lambda x: lam * law.capped(1, x)
    put("fb", name, rho, 1, expect(law, lambda x: x / (1 - capped(x)) + lam * law.capped(2, x) / 2 / (1 - capped(x)) ** 2))
    # Two classes, the phases of the law; class 0 is the shorter and goes first. Its order reversed is PELJF.
    (p1, m1), (p2, m2_) = law.phases
    r1 = lam * p1 * m1
    put("priority", name, rho, 1, 1 + lam * m2 / 2 * (p1 / (1 - r1) + p2 / (1 - r1) / (1 - rho)))
    t1 = m1 + lam * p1 * m1**2 / (1 - r1)
    t2 = m2_ / (1 - r1) + lam * m2 / 2 / (1 - r1) / (1 - rho)
    put("priority-preemptive", name, rho, 1, p1 * t1 + p2 * t2)
    r2 = rho - r1
    t2 = m2_ + lam * p2 * m2_**2 / (1 - r2)
    t1 = m1 / (1 - r2) + lam * m2 / 2 / (1 - r2) / (1 - rho)
    put("peljf", name, rho, 1, p1 * t1 + p2 * t2)


def balanced(scv):
    p = 0.5 * (1 + sqrt((scv - 1) / (scv + 1)))
    return H2([(p, 0.5 / p), (1 - p, 0.5 / (1 - p))])


for rho in (0.5, 0.7, 0.9):
    one_server("exponential", H2([(0.5, 1.0), (0.5, 1.0)]), rho)
    one_server("hyperexponential:8", balanced(8), rho)

for m in (2, 4, 16):
    for rho in (0.5, 0.9):
        a = m * rho
        top = a**m / factorial(m) / (1 - rho)
        c = top / (sum(a**k / factorial(k) for k in range(m)) + top)
        put("fcfs", "exponential", rho, m, 1 + c / (m * (1 - rho)))
        put("ps", "exponential", rho, m, 1 + c / (m * (1 - rho)))

print(json.dumps({"made_by": "tests/oracle/queues.py", "values": OUT}, indent=1))
