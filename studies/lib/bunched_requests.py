"""Brady's paper on bunched requests, and the statistics of the web-generator-toolkit."""

import csv
import io

import gov_test
import web_gov
from study import longer, variance


def make(study):
    recorded, simulated = web_gov.verdicts(study)
    for name, verdicts, path in (("recorded", recorded, study.arguments.recorded.get), ("simulated", simulated, lambda run: study.out / "simulated" / str(run))):
        study.table(f"{name}.csv", [row(study, run, verdict, path(run)) for run, verdict in verdicts.items()])
        study.table(f"threads-{name}.csv", web_gov.by_threads(verdicts, name))
    if 1830 in recorded:
        run_1830(study, study.arguments.recorded[1830], recorded[1830])
    gov_test.make(study)
    (study.out / "options.csv").write_text((study.source / "options.csv").read_text())
    study.page()


def row(study, run, verdict, path):
    """A run with the deviations of response, think and round-trip times, from the requests of each thread."""
    figures, deviations = web_gov.figures(run, verdict), cycles(study, verdict, path)
    return {**figures, "pattern": verdict["pattern"].replace("_", "-"), **deviations}


def cycles(study, verdict, path):
    """Means and deviations of R, Z and RTT = R + Z, over the pairs of requests that follow each other in a thread."""
    # JMeter's CSV without a heading: start and elapsed time in ms, and the thread in the sixth column.
    if path.is_dir():
        rows = list(csv.reader(io.StringIO(study.call("export", path, "--format", "jtl"))))
        head = rows.pop(0)
        start, elapsed, thread = (head.index(name) for name in ("timeStamp", "elapsed", "threadName"))
    else:
        rows = list(csv.reader(path.read_text().splitlines()))
        start, elapsed, thread = 0, 1, 5
    begin, window, threads = min(int(fields[start]) for fields in rows), verdict["window"], {}
    first, last = begin + window["start_s"] * 1e3, begin + window["end_s"] * 1e3
    for fields in rows:
        # The last line of a file may be cut.
        if len(fields) > thread and fields[elapsed].isdigit() and first <= int(fields[start]) <= last:
            threads.setdefault(fields[thread], []).append((int(fields[start]), int(fields[elapsed])))
    pairs = [pair for requests in threads.values() for pair in zip(sorted(requests), sorted(requests)[1:])]
    times = {
        "r": [one[1] for one, _ in pairs],
        "z": [after[0] - one[0] - one[1] for one, after in pairs],
        "rtt": [after[0] - one[0] for one, after in pairs],
    }
    means = {f"{name}_mean_ms": sum(values) / len(values) for name, values in times.items()}
    return {**means, **{f"{name}_deviation_ms": variance(values) ** 0.5 for name, values in times.items()}}


def run_1830(study, path, verdict):
    """Run 1830: the toolkit's four tables, its histograms, and its charts."""
    study.table("1830-gaps-by-page.csv", [named(row) for row in verdict["gaps"]])
    study.table("1830-gaps.csv", longer(study.gaps(path, *web_gov.WINDOW), 5))
    for table, unit in (("gaps", "ms"), ("responses", "ms"), ("first_byte", "ms"), ("sizes", "bytes")):
        keys = [f"{name}_{unit}" for name in ("mean", "sdev", "p50", "p90", "p95", "p99", "min", "max")]
        rows = [{"page": one["label"], "n": one["n"], "rate_per_s": one["rate_per_s"], "cov": one["cov"], **{key.rsplit("_", 1)[0]: one[key] for key in keys},
                 "error_percent": one.get("error_percent", ""), "kb_per_s": one.get("kb_per_s", "")} for one in verdict[table]]
        study.table(f"toolkit-{table}.csv", rows)
    study.call("verify", path, *web_gov.WINDOW, "--csv", study.out / "toolkit", allowed=(0, 3))
    study.call("report", path, *web_gov.WINDOW, "-o", study.out / "1830.html")


def named(one):
    return {"page": one["label"], "n": one["n"], "mean_ms": one["mean_ms"], "sdev_ms": one["sdev_ms"], "cov": one["cov"], "cov_low": one["cov_low"],
            "cov_high": one["cov_high"], "p90_ms": one["p90_ms"], "p95_ms": one["p95_ms"], "p99_ms": one["p99_ms"], "max_ms": one["max_ms"]}
