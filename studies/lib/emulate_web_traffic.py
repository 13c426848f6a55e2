"""Brady and Gunther, How to Emulate Web Traffic Using Standard Load Testing Tools (2016)."""

import pathlib
import random
import socket
import subprocess
import time

import web_gov
from study import counts_per_interval, longer, poisson, variance

QUEUES = ["--stations", "50ms,40ms,30ms"]
PAGES = {"010_Home": "Home", "012_Home_jpg": "Home", "020_Dept": "Department", "022_Dept_jpg": "Department",
         "030_Demographics": "Demographics", "040_Statistics": "Statistics"}


def make(study):
    table_1(study)
    load_lines(study)
    recorded, simulated = web_gov.verdicts(study)
    case_study(study, recorded, simulated)
    web_users(study)
    principle_a(study)
    ruler(study)
    servers(study)
    study.page()


def table_1(study):
    users = ["--users", "100,200,400,600,800,1000"]
    for method, name in (("schweitzer", "paper"), ("exact", "exact")):
        for given, table in ((["--think", "10s"], "1a"), (["--ratio", "20/s"], "1b")):
            study.save(f"table-{table}-{name}.json", "plan", "table", *QUEUES, *users, *given, "--method", method)
    study.save("scaled.json", "plan", "table", *QUEUES, "--users", "5,1000", "--ratio", "20/s", "--curve")
    study.save("constant.json", "plan", "table", *QUEUES, "--users", "5,400", "--think", "10s", "--curve")


def load_lines(study):
    """Figure 1: lambda = (N - Q) / Z, and where a server of 9.5 ms operates on each line."""
    loads = {130: 1.3, 500: 5.0, 2000: 20.0}
    lines = [{"users": n, "concurrency": q, "rate_per_s": (n - q) / z} for n, z in loads.items() for q in range(0, min(n, 200) + 1, 10)]
    study.table("load-lines.csv", lines)
    study.save("operating-points.json", "plan", "table", "--stations", "9500us", "--users", ",".join(map(str, loads)), "--ratio", "100/s")


def case_study(study, recorded, simulated):
    """Tables 2 and 3, figures 9 and 10."""
    table = []
    for run, think, rate, response in web_gov.RUNS:
        if run in recorded:
            table.append({"source": "result file", **web_gov.figures(run, recorded[run])})
        else:
            blank = dict.fromkeys(web_gov.figures(run, simulated[run]), "")
            known = {"run": run, "think_ms": think, "rate_per_s": rate, "response_ms": response,
                     "concurrency": rate * response / 1e3, "users": rate * (response + think) / 1e3}
            table.append({"source": "printed λ, R, Z", **blank, **known})
    study.table("table-3.csv", table)
    rows = [web_gov.figures(run, verdict) for run, verdict in simulated.items()]
    processors, work, kilobytes = web_gov.model(study)
    for row in rows:
        row |= {"cpu": row["rate_per_s"] * work / processors, "kb_per_s": row["rate_per_s"] * kilobytes}
    study.table("table-3-simulated.csv", rows)
    study.table("recorded.csv", [web_gov.figures(run, verdict) for run, verdict in recorded.items()])
    threads = web_gov.by_threads(simulated, "simulated") + web_gov.by_threads(recorded, "recorded")
    study.table("threads.csv", [row for row in threads if row["run"] == 1830])
    source = recorded.get(1830) or simulated[1830]
    rows = [row for row in source["responses"] if row["label"] in PAGES]
    total = sum(row["n"] for row in rows)
    study.table("table-2.csv", [{"object": row["label"], "page": PAGES[row["label"]], "requests": row["n"], "share": row["n"] / total} for row in rows])


def web_users(study):
    """Table 4, from the printed rates and responses."""
    table = []
    for run, _, rate, response in web_gov.RUNS:
        web = study.json("plan", "web-users", "--rate", f"{rate}/s", "--response", f"{response}ms", "--think", "10s,20s,30s,40s,50s", "--pages", 9, "--objects", 15)
        table.append({"run": run, "pages_per_s": web["pages_per_s"], "concurrency": web["concurrency_pages"],
                      **{f"users_{round(row['think_s'])}": row["web_users"] for row in web["rows"]}})
    study.table("table-4.csv", table)


def principle_a(study):
    """More and more users at N/Z = 20/s: gaps, counts, CoV and RoRT. Figure 7 is from the run with most users."""
    rows, runs = [], []
    duration = [('"30m"', '"4m"'), ('"5m"', '"30s"')] if study.small else []
    for n in (5, 10, 25, 50, 100, 200, 400):
        workload = study.workload("workload.toml", *duration, ("users = 100", f"users = {n}"), ('"5s" }', f'"{50 * n}ms" }}'))
        runs.append(study.out / "runs" / str(n))
        study.call("simulate", workload, "-o", runs[-1])
        verdict = study.verified(runs[-1])
        gaps = verdict["gaps"][-1]
        rows.append({"users": n, "cov": gaps["cov"], "cov_low": gaps["cov_low"], "cov_high": gaps["cov_high"], "rort": verdict["queue"]["rort"]})
    study.table("principle-a.csv", rows)
    gaps = study.gaps(runs[-1])
    at, arrivals = 0.0, []
    for gap in gaps:
        at += gap
        if at > 3000:
            break
        arrivals.append({"time_s": at / 1e3, "requests": len(arrivals) + 1})
    study.table("arrivals.csv", arrivals)
    study.table("gaps.csv", longer(gaps, 10))
    shares, mean, spread = counts_per_interval(gaps, 100.0)
    study.table("counts.csv", shares)
    n, mean_gap = len(gaps), sum(gaps) / len(gaps)
    study.table("poisson.csv", [{"intervals": "of 100 ms", "count_mean": mean, "count_variance": spread, "gaps": n, "gap_mean_ms": mean_gap, "gap_sdev_ms": variance(gaps) ** 0.5}])
    study.call("report", *runs, "-o", study.out / "runs.html")


def ruler(study):
    """Figure 11: 200 marks at random millimetres of a metre."""
    marks = sorted(random.Random(11).choices(range(1000), k=200))
    per_cm = [sum(mark // 10 == cm for mark in marks) for cm in range(100)]
    apart = [right - left for left, right in zip(marks, marks[1:])]
    study.table("ruler-counts.csv", [{"marks": k, "intervals": per_cm.count(k), "poisson": 100 * poisson(k, 2)} for k in range(max(per_cm) + 1)])
    rows = longer(apart, 2, 15)
    study.table("ruler-gaps.csv", rows)
    values = [
        ("marks per centimetre, mean", sum(per_cm) / 100), ("marks per centimetre, variance", variance(per_cm)),
        ("centimetres without a mark", per_cm.count(0)), ("distance between marks, mean (mm)", sum(apart) / len(apart)),
        ("distance between marks, standard deviation (mm)", variance(apart) ** 0.5), ("distances of 0 mm", apart.count(0)),
    ]
    study.table("ruler.csv", [{"quantity": name, "value": value} for name, value in values])


def servers(study):
    """Figure 10 on this machine: two servers, each with half of the requests, and `observe` beside them."""
    if not pathlib.Path("/proc/self/stat").exists():
        return
    seconds = 6 if study.small else 60
    rows = []
    for run, think, _, _ in web_gov.RUNS:
        ports = [free_port(), free_port()]
        serve = [study.offered, "serve", "--service", "hyperexponential:47ms,10", "--discipline", "ps", "--servers", "6", "--wait-mode", "sleep", "--listen"]
        started = [subprocess.Popen([*serve, f"127.0.0.1:{port}"], stdout=subprocess.DEVNULL) for port in ports]
        host = study.out / f"observed-{run}.parquet"
        observe = [study.offered, "observe", "-o", host, "--quiet", *(word for process in started for word in ("--pid", str(process.pid)))]
        try:
            for port in ports:
                listening(port)
            observer = subprocess.Popen(observe, stdout=subprocess.DEVNULL)
            started.append(observer)
            workload = study.out / "gov.toml"
            urls = [f"http://127.0.0.1:{port}/" for port in ports]
            targets = "".join(f'[[target]]\nname = "GOV{i}"\nurl = "{url}"\n' for i, url in enumerate(urls, 1))
            requests = "".join(f'[[request]]\nname = "GOV{i}"\nget = "{url}"\n' for i, url in enumerate(urls, 1))
            workload.write_text(
                f'seed = {run}\nduration = "{seconds}s"\nskip_first = "1s"\n'
                f'arrivals.closed = {{ users = 200, think = {{ uniform = ["0s", "{2 * think}ms"] }} }}\n{targets}{requests}'
            )
            out = study.out / "measured" / str(run)
            study.call("run", workload, "-o", out, "--quiet", allowed=(0, 3))
            observer.terminate()
            observer.wait()
        finally:
            for process in started:
                process.terminate()
                process.wait()
        verdict = study.verified(out, "--host", host)
        measures = verdict["server_side"]["hosts"][0]["measures"]
        cpu = [next(one["mean"] for one in measures if one["resource"] == "process" and one["instance"] == str(process.pid)) for process in started[:2]]
        network = {way: sum(one["mean"] for one in measures if one["resource"] == way and one["instance"] == "lo") / 1e3 for way in ("network_in", "network_out")}
        by = {row["label"]: row for row in verdict["responses"]}
        total = by["Total"]
        rows += [{"run": run, "server": f"GOV{i + 1}", "rate_per_s": total["rate_per_s"], "requests": by[f"GOV{i + 1}"]["n"], "response_ms": total["mean_ms"],
                  "response_p95_ms": total["p95_ms"], "cpu": cpu[i], "received_kb_per_s": network["network_in"], "sent_kb_per_s": network["network_out"],
                  "validity": verdict["validity"]} for i in range(2)]
        host.unlink()
    (study.out / "gov.toml").unlink()
    study.table("servers.csv", rows)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def listening(port):
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"no server at port {port} after ten seconds")
