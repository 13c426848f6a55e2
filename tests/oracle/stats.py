"""Numbers for the tests of crates/stats, made with NumPy and SciPy: writes stats.json.

The samples are part of the file, so the Rust side computes from the same numbers.
"""
import json
import numpy as np
from scipy import stats
from scipy.integrate import quad

rng = np.random.default_rng(20261120)
out = {"made_with": "numpy %s, scipy %s" % (np.__version__, __import__("scipy").__version__)}

samples = {
    "exponential": rng.exponential(3.0, 200),
    "gamma_cov_0.9": rng.gamma(1 / 0.81, 0.81, 300),
    "uniform": rng.uniform(0, 2, 150),
}
out["gaps"] = []
for name, x in samples.items():
    x = np.round(x, 9)
    n = len(x)
    with __import__("warnings").catch_warnings():
        __import__("warnings").simplefilter("ignore")
        a2 = stats.anderson(x, "expon").statistic
    # scipy's fit of expon in anderson: location 0, scale the mean
    d = stats.kstest(x, "expon", args=(0, x.mean())).statistic
    ranks = stats.rankdata(x)
    r = ranks - ranks.mean()
    acf = [float((r[:-k] * r[k:]).sum() / (r * r).sum()) for k in range(1, 11)]
    q = n * (n + 2) * sum(a * a / (n - k) for k, a in enumerate(acf, 1))
    rho = stats.spearmanr(x[:-1], x[1:])
    k, _, _ = stats.gamma.fit(x, floc=0)
    out["gaps"].append({
        "name": name, "x": list(map(float, x)),
        "mean": float(x.mean()), "sdev": float(x.std(ddof=1)), "cov": float(x.std(ddof=1) / x.mean()),
        "anderson_darling": float(a2), "kolmogorov": float(d),
        "gamma_shape": float(k),
        "rank_autocorrelation": acf, "ljung_box": float(q), "ljung_box_p": float(stats.chi2.sf(q, 10)),
        "spearman": float(rho.statistic), "spearman_p": float(rho.pvalue),
    })

# Greenwood's statistic (the CoV of a Poisson stream's gaps): simulated tail probabilities of the CoV (sdev n-1).
green = []
for n in (100, 1000):
    cov = []
    for _ in range(100):
        g = rng.exponential(size=(200000 // n, n))
        cov.append(g.std(axis=1, ddof=1) / g.mean(axis=1))
    cov = np.concatenate(cov)
    for p in (0.005, 0.025, 0.05, 0.5, 0.95, 0.975, 0.995):
        green.append({"n": n, "cov": float(np.quantile(cov, p)), "cdf": p, "reps": len(cov)})
out["greenwood"] = green

counts = rng.poisson(4.0, 120)
mean = counts.mean()
k = len(counts)
idc = counts.var(ddof=1) / mean
out["dispersion"] = {
    "counts": list(map(int, counts)), "idc": float(idc),
    "low": float((k - 1) * idc / stats.chi2.ppf(0.975, k - 1)), "high": float((k - 1) * idc / stats.chi2.ppf(0.025, k - 1)),
    "p": float(2 * min(stats.chi2.sf((k - 1) * idc, k - 1), stats.chi2.cdf((k - 1) * idc, k - 1))),
}
# chi-square of Poisson counts: cells 0..2, 3, 4, 5, 6.. chosen by hand here; the Rust side pools cells below 5 expected.
def pooled(counts):
    n, lam = len(counts), counts.mean()
    cells, low = [], 0
    while True:
        high, e = low, n * stats.poisson.pmf(low, lam)
        while e < 5:
            high += 1
            e += n * stats.poisson.pmf(high, lam)
        rest = n * stats.poisson.sf(high, lam)
        if rest < 5:
            cells.append((low, 10**9, n * stats.poisson.sf(low - 1, lam)))
            break
        cells.append((low, high, e))
        low = high + 1
    chi2 = sum((((counts >= a) & (counts <= b)).sum() - e) ** 2 / e for a, b, e in cells)
    return float(chi2), len(cells) - 2, float(stats.chi2.sf(chi2, len(cells) - 2))
out["dispersion"]["poisson_chi2"], out["dispersion"]["poisson_df"], out["dispersion"]["poisson_p"] = pooled(counts)

trend = np.round(np.linspace(0, 1, 25) * 2 + rng.normal(size=25), 6)
tau = stats.kendalltau(np.arange(25), trend)
s = sum(np.sign(trend[j] - trend[i]) for i in range(25) for j in range(i + 1, 25))
z = (s - np.sign(s)) / np.sqrt(25 * 24 * 55 / 18)
out["trend"] = {"x": list(map(float, trend)), "s": float(s), "tau": float(tau.statistic),
                "p": float(2 * stats.norm.sf(abs(z))), "slope": float(stats.theilslopes(trend).slope)}

json.dump(out, open(__file__.replace(".py", ".json"), "w"), indent=1)
