#!/usr/bin/env python3
"""Writes percentiles.json: percentiles of response times in open systems, by methods that offered-plan does not use.

Transforms are inverted with 25 digits by mpmath (Talbot's contour, or de Hoog's continued fraction for busy periods); M/D/1 by
Crommelin's alternating sum with 120 digits; M/M/1 under processor sharing by uniformisation of its Markov chain; M/M/m/K by the exact
sum over what an admitted request finds. Needs mpmath. E[S] = 1 everywhere.
"""

import json
import math
import pathlib

from mpmath import exp, factorial, findroot, invertlaplace, mp, mpf, quad, sqrt

mp.dps = 25
PERCENTILES = ["0.5", "0.9", "0.95", "0.99"]


def h2(c2):
    p = (1 + sqrt((mpf(c2) - 1) / (mpf(c2) + 1))) / 2
    return [(p, 1 / (2 * p)), (1 - p, 1 / (2 * (1 - p)))]


LAWS = {
    "exponential:1s": lambda s: 1 / (1 + s),
    "erlang:1s,3": lambda s: (1 + s / 3) ** -3,
    "gamma:1s,2.5": lambda s: (1 + mpf("2.5") * s) ** (-1 / mpf("2.5")),
    "uniform:0s,2s": lambda s: (1 - exp(-2 * s)) / (2 * s),
    "hyperexponential:1s,8": lambda s: sum(p / (1 + m * s) for p, m in h2(8)),
}


def quantile(tail, share, guess):
    """t with tail(t) = 1 - share. Tails are monotone."""
    target, low, high = 1 - mpf(share), mpf(0), mpf(guess)
    while tail(high) > target:
        low, high = high, 2 * high
    return float(findroot(lambda t: tail(t) - target, (low, high), solver="anderson", tol=mpf(10) ** -22, maxsteps=60))


def bisection(tail, share):
    """As quantile, where the tail has a jump."""
    target, low, high = 1 - mpf(share), mpf(0), mpf(1)
    while tail(high) > target:
        low, high = high, 2 * high
    for _ in range(70):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > target else (low, middle)
    return float(high)


def percentiles(transform, guess=1, method="talbot"):
    # The tail, not the density, which may be infinite at zero.
    def tail(t):
        return mpf(1) if t == 0 else invertlaplace(lambda s: (1 - transform(s)) / s, t, method=method)
    return [quantile(tail, share, guess) for share in PERCENTILES]


def fcfs(service, load):
    return lambda s: (1 - load) * s * service(s) / (s - load + load * service(s))


def busy(service, rate):
    def theta(s):
        found = mpf(0)
        for _ in range(500):
            new = service(s + rate - rate * found)
            slope = (service(s + rate - rate * found - rate * mpf(10) ** -12) - new) / mpf(10) ** -12
            step = (new - found) / (1 - slope)
            if abs(step) < mpf(10) ** -20:
                return new
            found += step if abs(found + step) <= 1 else new - found
        return found
    return theta


def lcfs(service, load):
    theta = busy(service, load)
    def transform(s):
        of = theta(s)
        return service(s) * (1 - load + load * (1 - of) / (s + load - load * of))
    return transform


def non_preemptive(classes, i):
    """Classes are (rate, mean, transform); Kleinrock 1976, equation 3.31 and Takagi 1991."""
    load = sum(rate * mean for rate, mean, _ in classes)
    above = sum(rate for rate, _, _ in classes[:i])
    theta = busy(lambda s: sum(rate * of(s) for rate, _, of in classes[:i]) / above, above) if i else None
    def transform(s):
        at = s + above * (1 - theta(s)) if i else s
        rate, _, own = classes[i]
        below = sum(other * (1 - of(at)) for other, _, of in classes[i + 1:])
        return ((1 - load) * at + below) / (s - rate + rate * own(at)) * own(s)
    return transform


def preemptive(classes, i):
    load = sum(rate * mean for rate, mean, _ in classes[:i + 1])
    above = sum(rate for rate, _, _ in classes[:i])
    theta = busy(lambda s: sum(rate * of(s) for rate, _, of in classes[:i]) / above, above) if i else None
    def transform(s):
        at = s + above * (1 - theta(s)) if i else s
        rate, _, own = classes[i]
        return (1 - load) * at / (s - rate + rate * own(at)) * own(at)
    return transform


def sharing(load):
    """M/M/1 under processor sharing: the chain of the number of others, by uniformisation at rate 1 + load."""
    load, most = float(load), 2000
    share = load / (1 + load)
    alive, steps = [1.0] * most, []
    for _ in range(3000):
        # An arrival finds n others with probability (1 - load) load^n.
        steps.append(sum((1 - load) * load ** n * p for n, p in enumerate(alive)))
        # With n others a completion, at rate 1, is that of the request itself with probability 1 / (n + 1).
        alive = [
            share * alive[min(n + 1, most - 1)] + (1 - share) * (n / (n + 1) * alive[n - 1] if n else 0.0)
            for n in range(most)
        ]
    def tail(t):
        mean = (1 + load) * float(t)
        total = 0.0
        for k, survives in enumerate(steps):
            total += math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) * survives if mean > 0 else float(k == 0)
        return total
    found = []
    for percentile in PERCENTILES:
        low, high = 0.0, 400.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if tail(middle) > 1 - float(percentile) else (low, middle)
        found.append(low)
    return found


def batches(size, service, load):
    """Geometric batches of this mean size."""
    size = mpf(size)
    def transform(s):
        own = service(s)
        whole = own / (size - (size - 1) * own)
        wait = (1 - load) * s / (s - load / size + load / size * whole)
        return wait * own * (1 - whole) / (size * (1 - own))
    return transform


def deterministic(load):
    """Crommelin 1932."""
    def tail(t):
        mp.dps = 120
        wait, total = t - 1, mpf(0)
        if wait >= 0:
            for k in range(int(wait) + 1):
                x = load * (k - wait)
                total += x ** k / factorial(k) * exp(-x)
        mp.dps = 25
        return 1 - (1 - load) * total if wait >= 0 else mpf(1)
    return [bisection(tail, share) for share in PERCENTILES]


def limited(m, capacity, load):
    """M/M/m/K: an admitted request waits for an Erlang time with rate m, then has its own exponential service."""
    rate = load * m
    weight = [rate ** n / factorial(n) if n <= m else rate ** n / (factorial(m) * mpf(m) ** (n - m)) for n in range(capacity)]
    total = sum(weight)
    def transform(s):
        return sum(w * (m / (m + s)) ** max(n - m + 1, 0) for n, w in enumerate(weight)) / total / (1 + s)
    return percentiles(transform)


def renewal(gaps, load):
    """GI/M/1: the root of the transform of the gaps."""
    sigma = findroot(lambda x: gaps((1 - x) / load) - x, (mpf(10) ** -9, 1 - mpf(10) ** -9), solver="anderson")
    mean = 1 / (1 - sigma)
    return [float(-mean * mp.log(1 - mpf(share))) for share in PERCENTILES]


def main():
    values = []
    def add(kind, values_of, **keys):
        values.append({"kind": kind, **keys, "percentiles": values_of})
        print(kind, keys, values_of, flush=True)
    for law, service in LAWS.items():
        if law.startswith("uniform"):
            continue  # Talbot's contour does not take its delay
        for load in ("0.5", "0.9"):
            add("fcfs", percentiles(fcfs(service, mpf(load))), law=law, load=float(load))
    for law in ("exponential:1s", "hyperexponential:1s,8", "erlang:1s,3"):
        add("lcfs", percentiles(lcfs(LAWS[law], mpf("0.7")), method="dehoog"), law=law, load=0.7)
        add("lcfs-preemptive", percentiles(busy(LAWS[law], mpf("0.7")), method="dehoog"), law=law, load=0.7)
    for load in ("0.5", "0.8"):
        add("ps", sharing(load), law="exponential:1s", load=float(load))
    for load in ("0.3", "0.8", "0.95"):
        add("deterministic", deterministic(mpf(load)), load=float(load))
    for kind, of in (("priority", non_preemptive), ("priority-preemptive", preemptive)):
        classes = [(mpf("0.6"), mpf("0.5"), lambda s: LAWS["erlang:1s,3"](s / 2)), (mpf("0.25"), mpf(2), lambda s: LAWS["hyperexponential:1s,8"](2 * s))]
        add(kind, [percentiles(of(classes, i), method="dehoog") for i in range(2)], load=0.8)
    add("batches", percentiles(batches(4, LAWS["exponential:1s"], mpf("0.7"))), law="exponential:1s", size=4.0, load=0.7)
    add("batches", percentiles(batches(3, LAWS["erlang:1s,3"], mpf("0.8"))), law="erlang:1s,3", size=3.0, load=0.8)
    for m, capacity, load in ((1, 5, "0.9"), (4, 12, "1.2"), (8, 30, "0.95")):
        add("limited", limited(m, capacity, mpf(load)), servers=m, capacity=capacity, load=float(load))
    for law in ("erlang:1s,3", "uniform:0s,2s", "hyperexponential:1s,8"):
        add("renewal", renewal(LAWS[law], mpf("0.8")), law=law, load=0.8)
    add("renewal", renewal(lambda s: exp(-s), mpf("0.8")), law="constant:1s", load=0.8)
    note = "percentiles 50, 90, 95 and 99 of the response time in units of E[S]; made by percentiles.py with mpmath"
    out = pathlib.Path(__file__).with_suffix(".json")
    out.write_text(json.dumps({"note": note, "values": values}, indent=1) + "\n")


main()
