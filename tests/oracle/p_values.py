"""Intervals by SciPy's bootstrap and p-values by simulation, for the samples of stats.json, whole and in part: writes p_values.json.

A p-value is the share of samples of as many exponential gaps whose statistic is at least as far out: above for Anderson-Darling
and Kolmogorov-Smirnov with estimated mean, on the nearer side and doubled for Moran's statistic and the CoV.
"""
import json
from pathlib import Path

import numpy as np
from scipy import stats

HERE = Path(__file__).parent
REPS, BLOCK = 200_000, 2_000
rng = np.random.default_rng(20261122)


def anderson_darling(x):
    y = np.sort(x, axis=1) / x.mean(axis=1, keepdims=True)
    n = x.shape[1]
    i = np.arange(1, n + 1)
    return -n - ((2 * i - 1) * (np.log(-np.expm1(-y)) - y[:, ::-1])).sum(axis=1) / n


def kolmogorov(x):
    f = -np.expm1(-np.sort(x, axis=1) / x.mean(axis=1, keepdims=True))
    n = x.shape[1]
    i = np.arange(n)
    return np.maximum(f - i / n, (i + 1) / n - f).max(axis=1)


def moran(x):
    return np.log(x.mean(axis=1)) - np.log(x).mean(axis=1)


def cov(x):
    return x.std(axis=1, ddof=1) / x.mean(axis=1)


def p_values(x):
    tests = {"anderson_darling": anderson_darling, "kolmogorov": kolmogorov, "moran": moran, "cov": cov}
    seen = {name: f(x[None, :])[0] for name, f in tests.items()}
    above = dict.fromkeys(tests, 0)
    for _ in range(REPS // BLOCK):
        null = rng.exponential(size=(BLOCK, len(x)))
        for name, f in tests.items():
            above[name] += int((f(null) >= seen[name]).sum())
    share = {name: count / REPS for name, count in above.items()}
    both = {name: round(2 * min(share[name], 1 - share[name]), 6) for name in ("moran", "cov")}
    return {**share, **both}


rows = []
for case in json.loads((HERE / "stats.json").read_text())["gaps"]:
    for n in (60, 100, len(case["x"])):
        x = np.array(case["x"][:n])
        found = stats.bootstrap((x,), lambda x, axis: x.std(axis=axis, ddof=1) / x.mean(axis=axis), n_resamples=50_000,
                                method="percentile", batch=1_000, rng=rng)
        low, high = found.confidence_interval
        bootstrap = [round(float(low), 5), round(float(high), 5)]
        rows.append({"name": case["name"], "first": n, "bootstrap": bootstrap, "p": p_values(x)})
out = {"made_by": "tests/oracle/p_values.py, SciPy %s" % __import__("scipy").__version__, "reps": REPS, "rows": rows}
(HERE / "p_values.json").write_text(json.dumps(out, indent=1) + "\n")
