"""The seven runs of the case study WEB.gov: as recorded, where the toolkit's files are at hand, and simulated at a stand-in for the site."""

import tomllib

# Brady and Gunther, Tables 3 and 4: run, think time (ms), rate (/s), response time (ms).
RUNS = [
    (1800, 12500, 15.91, 53.17), (1830, 6250, 31.73, 52.74), (1900, 4200, 46.79, 54.06), (1930, 3250, 60.26, 59.64),
    (2000, 2500, 77.56, 74.97), (2030, 1563, 118.03, 132.67), (2100, 1000, 159.16, 253.38),
]
# The steady part of a run, as in the paper.
WINDOW = ["--skip-first", "120s", "--take", "1200s"]


def verdicts(study):
    """The verdicts on the recorded and on the simulated runs, by run. The simulated runs are in `simulated/RUN`."""
    recorded = {run: study.verified(path, *WINDOW, "--by-threads") for run, path in study.arguments.recorded.items()}
    length, window = ("420s", ["--skip-first", "60s", "--take", "340s"]) if study.small else ("1500s", WINDOW)
    simulated = {}
    for run, think, _, _ in RUNS:
        path = study.source.parent / "emulate-web-traffic/web-gov.toml"
        text = path.read_text().replace('"25s"', f'"{2 * think}ms"').replace('"1500s"', f'"{length}"').replace("seed = 1800", f"seed = {run}")
        (study.out / "web-gov.toml").write_text(text)
        out = study.out / "simulated" / str(run)
        study.call("simulate", study.out / "web-gov.toml", "-o", out)
        simulated[run] = study.verified(out, *window, "--by-threads")
    (study.out / "web-gov.toml").unlink()
    return recorded, simulated


def figures(run, verdict):
    """The figures of a run: rate, times, Little's law, and the gaps."""
    think = next(think for number, think, _, _ in RUNS if number == run)
    gaps, responses, queue = verdict["gaps"][-1], verdict["responses"][-1], verdict["queue"]
    rate, response = responses["rate_per_s"], responses["mean_ms"]
    return {
        "run": run, "threads": queue["users_observed"], "think_ms": think, "rate_per_s": rate, "response_ms": response,
        "concurrency": rate * response / 1e3, "users": rate * (response + think) / 1e3,
        "gap_mean_ms": gaps["mean_ms"], "gap_sdev_ms": gaps["sdev_ms"], "cov": gaps["cov"], "cov_low": gaps["cov_low"], "cov_high": gaps["cov_high"],
        "response_sdev_ms": responses["sdev_ms"], "response_p95_ms": responses["p95_ms"], "kb_per_s": responses.get("kb_per_s") or "",
        "rort": queue["rort"], "rtt_ms": queue["rtt_ms"], "think_measured_ms": queue["think_ms"],
        "think_sdev_ms": queue.get("think_sdev_ms"), "rtt_sdev_ms": queue.get("rtt_sdev_ms"),
    }


def model(study):
    """Processors, work of a request at them (s), and bytes of a response by its time on the link of 10,000 KB/s, of the stand-in."""
    stations = tomllib.loads((study.source.parent / "emulate-web-traffic/web-gov.toml").read_text())["station"]
    works = [float(station["service"]["hyperexponential"]["mean"].removesuffix("ms")) / 1e3 for station in stations]
    return stations[0]["servers"], works[0], works[1] * 10_000


def by_threads(verdicts_of, source):
    """The CoV by number of threads and run."""
    return [
        {"source": source, "run": run, "threads": row["threads"], "gaps": row["requests"] - 1, "cov": row["cov"]}
        for run, verdict in verdicts_of.items() for row in verdict["by_threads"] if row["cov"] is not None
    ]
