"""Upper tails of the Anderson-Darling and Kolmogorov-Smirnov statistics for an exponential of estimated mean.

Anderson-Darling: the limit law is sum(l_j * chi2_1), l_j the eigenvalues of the covariance kernel of the empirical process
with the mean estimated (Stephens 1974, Ann. Stat. 4:357; Durbin 1973), found by Gauss-Legendre (Nystrom), the tail by
inversion of the characteristic function (Imhof 1961). Kolmogorov-Smirnov: simulation of 400,000 samples of 400, as Lilliefors
(1969) did, of Stephens' modified statistic D* = (D - 0.2/n)(sqrt n + 0.26 + 0.5/sqrt n).

Prints the tables that crates/stats/src/exponential.rs carries and writes stats_tails.json, against which it is tested.
"""
import json
import numpy as np
from scipy import integrate

def ad_eigenvalues(m=1500):
    # u = 1 - exp(-x); integrate over x-like variable to keep the ends: substitute u = (1 + tanh s)/2
    x, w = np.polynomial.legendre.leggauss(m)
    u, w = (x + 1) / 2, w / 2
    # cosine clustering at both ends
    v = (1 - np.cos(np.pi * u)) / 2
    w = w * np.pi / 2 * np.sin(np.pi * u)
    phi = -(1 - v) * np.log1p(-v)
    rho = np.minimum.outer(v, v) - np.outer(v, v) - np.outer(phi, phi)
    a = np.sqrt(w / (v * (1 - v)))
    e = np.linalg.eigvalsh(rho * np.outer(a, a))[::-1]
    return e[:200]

def imhof(lam, x):
    def theta(t): return 0.5 * np.sum(np.arctan(lam * t)) - 0.5 * x * t
    def rho(t): return np.exp(0.25 * np.sum(np.log1p((lam * t) ** 2)))
    f = lambda t: np.sin(theta(t)) / (t * rho(t))
    v, _ = integrate.quad(f, 1e-12, 400, limit=4000, epsabs=1e-10)
    return 0.5 + v / np.pi

def ks(reps=400_000, n=400, seed=1):
    rng = np.random.default_rng(seed)
    i = np.arange(1, n + 1)
    out = []
    for _ in range(reps // 4000):
        x = np.sort(rng.exponential(size=(4000, n)), axis=1)
        u = -np.expm1(-x / x.mean(axis=1, keepdims=True))
        d = np.maximum((i / n - u).max(axis=1), (u - (i - 1) / n).max(axis=1))
        out.append((d - 0.2 / n) * (np.sqrt(n) + 0.26 + 0.5 / np.sqrt(n)))
    return np.sort(np.concatenate(out))

lam = ad_eigenvalues()
# The trace of the kernel, the mean of A2, is 1 - 2(zeta(3) - 1) = 0.5959; what the 200 largest eigenvalues miss of it is a sum of
# so many small terms that it is as good as constant.
missing = 1 - 2 * (1.2020569031595942 - 1) - lam.sum()
ad = {x: imhof(lam, x - missing) for x in [0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.922, 1.078, 1.341, 1.606, 1.957, 2.5, 3, 3.5, 4, 5, 6]}
print("largest eigenvalues", lam[:4], "sum", lam.sum())
for x, p in ad.items(): print(f"({x}, {p:.4e}),")
d = ks()
p = [0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.05, 0.025, 0.01, 0.005, 0.0025, 0.001, 0.0005]
q = [float(np.quantile(d, 1 - a)) for a in p]
for a, b in zip(p, q): print(f"({b:.4f}, {a}),")
json.dump({"anderson_darling": [[x, float(v)] for x, v in ad.items()], "eigenvalue": float(lam[0]),
           "lilliefors": [[b, a] for a, b in zip(p, q)]}, open(__file__.replace(".py", ".json"), "w"), indent=1)
