"""Numbers for crates/distributions/src/distribution: mean, scv, cdf and quantiles of every distribution by SciPy. Run: python3 tests/oracle/distributions.py > tests/oracle/distributions.json"""
import json
import numpy as np
from scipy import stats

def row(name, d, quantiles=True, scale=1.0):
    m, v = d.mean() * scale, d.var() * scale**2
    us = [0.001, 0.05, 0.25, 0.5, 0.75, 0.9, 0.99, 0.9999]
    xs = [float(d.ppf(u)) * scale for u in us]
    return dict(distribution=name, mean=float(m), scv=float(v / m**2), cdf=[[x, float(d.cdf(x / scale))] for x in xs],
                quantiles=[[u, x] for u, x in zip(us, xs)] if quantiles else [])

def hyper(name, mean, scv):
    p = 0.5 * (1 + ((scv - 1) / (scv + 1)) ** 0.5)
    m1, m2 = mean / (2 * p), mean / (2 * (1 - p))
    xs = [mean * k for k in (0.01, 0.3, 1, 3, 10, 40)]
    cdf = lambda x: p * stats.expon(scale=m1).cdf(x) + (1 - p) * stats.expon(scale=m2).cdf(x)
    return dict(distribution=name, mean=mean, scv=scv, cdf=[[x, float(cdf(x))] for x in xs], quantiles=[])

def lognormal(mean, scv):
    s2 = np.log1p(scv)
    return stats.lognorm(s=np.sqrt(s2), scale=mean * np.exp(-s2 / 2))

def bounded(name, lo, hi, a):
    # SciPy's truncpareto: density ~ x^-(a+1) on [1, c]
    return row(name, stats.truncpareto(b=a, c=hi / lo, scale=lo))

def within(name, d, low, high):
    """Of the values of d only those between the two: by numerical integration of its density."""
    from scipy.integrate import quad
    marks = [low] + [m for m in np.logspace(-4, 3, 60) if low < m < high] + [high]
    part = lambda k, x: sum(quad(lambda y: y**k * d.pdf(y), a, min(b, x), epsabs=0, epsrel=1e-13)[0] for a, b in zip(marks, marks[1:]) if a < x)
    inside = part(0, high)
    m, m2 = part(1, high) / inside, part(2, high) / inside
    xs = [low + (high - low) * u for u in (0.001, 0.01, 0.05, 0.2, 0.5, 0.9)]
    return dict(distribution=name, mean=float(m), scv=float(m2 / m**2 - 1), cdf=[[x, float(part(0, x) / inside)] for x in xs], quantiles=[])

class Mixture:
    """Balanced means."""
    def __init__(self, mean, scv):
        self.p = 0.5 * (1 + ((scv - 1) / (scv + 1)) ** 0.5)
        self.one, self.two = stats.expon(scale=mean / (2 * self.p)), stats.expon(scale=mean / (2 * (1 - self.p)))
    def pdf(self, x):
        return self.p * self.one.pdf(x) + (1 - self.p) * self.two.pdf(x)

rows = [
    row("uniform:0s,12.5s", stats.uniform(0, 12.5)),
    row("uniform:2s,3s", stats.uniform(2, 1)),
    row("exponential:5s", stats.expon(scale=5)),
    row("erlang:5s,4", stats.gamma(4, scale=1.25), quantiles=False),
    row("gamma:2s,0.25", stats.gamma(4, scale=0.5), quantiles=False),
    row("gamma:2s,2.25", stats.gamma(1 / 2.25, scale=4.5), quantiles=False),
    row("gamma:10ms,9", stats.gamma(1 / 9, scale=0.09), quantiles=False),
    hyper("hyperexponential:10ms,8", 0.01, 8.0),
    hyper("hyperexponential:10ms,1", 0.01, 1.0),
    row("lognormal:5s,2", lognormal(5, 2)),
    row("lognormal:100ms,0.1", lognormal(0.1, 0.1)),
    row("weibull:5s,0.7", stats.weibull_min(0.7, scale=5 / __import__('scipy.special').special.gamma(1 + 1 / 0.7))),
    row("weibull:5s,3", stats.weibull_min(3, scale=5 / __import__('scipy.special').special.gamma(1 + 1 / 3))),
    row("pareto:1s,2.5", stats.pareto(2.5, scale=1)),
    bounded("bounded_pareto:10ms,50s,1.1", 0.01, 50, 1.1),
    bounded("bounded_pareto:10ms,50s,1", 0.01, 50, 1.0),
    bounded("bounded_pareto:10ms,50s,2", 0.01, 50, 2.0),
    row("poisson:300ms", stats.poisson(300), quantiles=False, scale=1e-3),
    row("poisson:3ms", stats.poisson(3), quantiles=False, scale=1e-3),
    within("hyperexponential:3s,8,10ms,50s", Mixture(3, 8), 0.01, 50),
    within("hyperexponential:3s,8,1s,9s", Mixture(3, 8), 1, 9),
    within("lognormal:3s,8,10ms,50s", lognormal(3, 8), 0.01, 50),
    within("lognormal:3s,8,0s,9s", lognormal(3, 8), 0, 9),
]
print(json.dumps(dict(made_by="scipy " + __import__("scipy").__version__, rows=rows), indent=1))
