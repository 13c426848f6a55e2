"""Mean responses of M/G/1 under policies by size, for laws whose partial moments are incomplete gamma functions.

Run: python3 sizes.py > sizes.json   (E[S] = 1; formulas as in queues.py, by SciPy's quadrature and gamma functions)
"""
import json
from math import exp, gamma, log, sqrt

from scipy import special, stats
from scipy.integrate import quad


def weibull(k):
    scale = 1 / gamma(1 + 1 / k)
    partial = lambda j, x: scale**j * gamma(1 + j / k) * special.gammainc(1 + j / k, (x / scale) ** k)
    return stats.weibull_min(k, scale=scale), partial


def gamma_law(scv):
    k = 1 / scv
    partial = lambda j, x: (1 if j == 1 else 1 + scv) * special.gammainc(k + j, x / scv)
    return stats.gamma(k, scale=scv), partial


def lognormal(scv):
    s2 = log(1 + scv)
    s, mu = sqrt(s2), -s2 / 2
    partial = lambda j, x: exp(j * mu + j * j * s2 / 2) * special.ndtr((log(x) - mu - j * s2) / s) if x > 0 else 0.0
    return stats.lognorm(s, scale=exp(mu)), partial


LAWS = {
    "weibull:1s,0.7": weibull(0.7),
    "weibull:1s,2": weibull(2),
    "weibull:1s,5": weibull(5),
    "gamma:1s,0.25": gamma_law(0.25),
    "gamma:1s,4": gamma_law(4),
    "lognormal:1s,2": lognormal(2),
}


def policies(law, partial, load):
    edges = [0.0] + [float(law.ppf(p)) for p in (1e-6, 0.01, 0.5, 0.99, 0.9999, 1 - 1e-7, 1 - 1e-11)]
    total = lambda f: sum(quad(f, a, b, epsabs=1e-12, epsrel=1e-9, limit=200)[0] for a, b in zip(edges, edges[1:]))
    expect = lambda f: total(lambda x: law.pdf(x) * f(x))
    free = lambda x: 1 - load * partial(1, x)
    capped = lambda j, x: partial(j, x) + x**j * law.sf(x)
    aged = lambda x: 1 - load * capped(1, x)
    second = law.moment(2)
    # E[integral over t < S of dt / (1 - rho(t))] = integral of P(S > t) / (1 - rho(t)).
    residence = total(lambda t: law.sf(t) / free(t))
    return {
        "srpt": residence + expect(lambda x: load * capped(2, x) / 2 / free(x) ** 2),
        "psjf": expect(lambda x: x / free(x) + load * partial(2, x) / 2 / free(x) ** 2),
        "sjf": 1 + load * second / 2 * expect(lambda x: 1 / free(x) ** 2),
        "fb": expect(lambda x: x / aged(x) + load * capped(2, x) / 2 / aged(x) ** 2),
    }


rows = []
for name, (law, partial) in LAWS.items():
    for load in (0.5, 0.8):
        for policy, mean in policies(law, partial, load).items():
            rows.append({"law": name, "load": load, "policy": policy, "mean": round(float(mean), 8)})
print(json.dumps({"made_by": "tests/oracle/sizes.py", "values": rows}, indent=1))
