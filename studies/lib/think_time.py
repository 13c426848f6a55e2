"""Think times of 5, 25 and 50 ms: 15 cells by formula, by simulation, and on a real socket."""

import csv
import io
import math
import subprocess
import time

USERS, THINKS, DENSITIES, SERVICE_S = (25, 50, 75, 100, 150), (5, 25, 50), (75, 100), 0.0005


def make(study):
    theory(study)
    vary = ["--vary", "users=" + ",".join(map(str, USERS)), "--vary", "think=" + ",".join(f"{think}ms" for think in THINKS), "--slo", "p90 < 31ms", "--quiet"]
    workload = study.workload("workload.toml", ('"12s"', '"6s"' if study.small else '"200s"'))
    study.call("sweep", workload, *vary, "--simulate", "-o", study.out / "simulated", allowed=(0, 3))
    measured(study, vary)
    cells = []
    for name in ("simulated", "measured"):
        with open(study.out / name / "cells.csv") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            row |= {"users": row["varied_users"], "think_ms": row["varied_think"].removesuffix("ms")}
        study.table(f"{name}.csv", rows)
        cells += [{"way": name, "users": users, "think_ms": think, **share} for users in DENSITIES for think in THINKS for share in density(study, name, users, think)]
    study.table("densities.csv", cells)
    side_by_side(study)
    study.table("timer.csv", [{"mean_ms": think, "cov": think**-0.5, "exponential": 1} for think in THINKS])
    study.call("report", study.out / "simulated", study.out / "measured", "-o", study.out / "report.html")
    study.page()


def theory(study):
    rows = []
    for think in THINKS:
        for users in USERS:
            workload = study.workload("workload.toml", ("users = 25", f"users = {users}"), ('"25ms"', f'"{think}ms"'))
            one = study.json("plan", "solve", workload)["results"][0]
            rows.append({"users": users, "think_ms": think, "rate_per_s": one["throughput_per_s"], "mean_ms": one["response_s"] * 1e3,
                         **{f"{name}_ms": value * 1e3 for name, value in one["percentiles_s"].items()}})
    study.table("theory.csv", rows)


def side_by_side(study):
    """A row per cell: rate, mean and 90th percentile of theory, simulation and measurement."""
    def rows(name):
        with open(study.out / name) as file:
            return {(row["think_ms"], row["users"]): row for row in csv.DictReader(file)}

    simulated, real = rows("simulated.csv"), rows("measured.csv")
    columns = {"rate": ("rate_per_s", "completed_rate_per_s"), "mean": ("mean_ms", "response_mean_ms"), "p90": ("p90_ms", "response_p90_ms")}
    table = []
    for cell, exact in rows("theory.csv").items():
        row = {"users": cell[1], "think_ms": cell[0]}
        for name, (of_theory, of_cell) in columns.items():
            row |= {f"{name}_theory": exact[of_theory], f"{name}_simulated": simulated[cell][of_cell], f"{name}_measured": real[cell][of_cell]}
        table.append({**row, "validity": real[cell]["validity"].replace("_", " ")})
    study.table("cells.csv", table)


def measured(study, vary):
    """The cells on a real socket, one after the other, against `offered serve`."""
    log = study.out / "server"
    with open(log, "w") as output:
        server = subprocess.Popen([study.offered, "serve", study.source / "workload.toml", "--listen", "127.0.0.1:0"], stdout=output)
    try:
        while "listening on " not in log.read_text():
            if server.poll() is not None:
                raise RuntimeError(f"offered serve ended: {log.read_text()}")
            time.sleep(0.05)
        url = log.read_text().split("listening on ")[1].split()[0]
        length = [('"12s"', '"3s"'), ('"2s"', '"500ms"')] if study.small else []
        workload = study.workload("workload.toml", ("http://127.0.0.1:8080", url.rstrip("/")), *length)
        study.call("sweep", workload, *vary, "-o", study.out / "measured", allowed=(0, 3))
    finally:
        server.terminate()
        server.wait()
        log.unlink()


def density(study, name, users, think):
    """The density of the responses of a cell, per ms, in 40 bins, and that of the formula."""
    folder = study.out / name / "cells" / f"users={users},think={think}ms"
    rows = csv.DictReader(io.StringIO(study.call("export", folder, "--format", "csv")))
    responses = [(int(row["done_ns"]) - int(row["sent_ns"])) / 1e6 for row in rows if row["done_ns"]]
    width = max(quantile(responses, 0.995) / 40, 0.1)
    counts = {}
    for response in responses:
        counts[int(response // width)] = counts.get(int(response // width), 0) + 1
    states = waiting(users, think / 1e3)
    return [
        {"response_ms": (i + 0.5) * width, "density_per_ms": counts.get(i, 0) / len(responses) / width,
         "theory_per_ms": sum(share * erlang(k + 1, (i + 0.5) * width / 1e3) for k, share in enumerate(states)) / 1e3}
        for i in range(41)
    ]


def quantile(values, share):
    return sorted(values)[int(share * (len(values) - 1))]


def waiting(users, think):
    """The distribution of the requests that a request finds, by the arrival theorem: that of M/M/1/N/N with one user less."""
    logs = [k * math.log(SERVICE_S / think) - math.lgamma(users - k) for k in range(users)]
    weights = [math.exp(value - max(logs)) for value in logs]
    return [weight / sum(weights) for weight in weights]


def erlang(k, seconds):
    """Density of k services one after another, per second."""
    return math.exp(-seconds / SERVICE_S + (k - 1) * math.log(seconds / SERVICE_S) - math.lgamma(k)) / SERVICE_S
