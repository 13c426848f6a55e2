"""Schroeder, Wierman and Harchol-Balter, Open Versus Closed: A Cautionary Tale (2006)."""

import csv
import re
import shutil


def make(study):
    case_studies(study)
    principles(study)
    static_web(study)
    logs(study)
    (study.out / "generators.csv").write_text((study.source / "generators.csv").read_text())
    study.page("static-web", "e-commerce")


def simulate(study, name, workload, stop, *varied, load=None, source=None):
    """A table of simulations; a small study has few requests per point, and more where the service varies much."""
    stop = ("--jobs=2e5" if "c-open" in name else "--jobs=3e4") if study.small else stop
    fields = [word for field in varied for word in ("--vary", field)]
    at = ["--load", load] if load else []
    study.call("simulate", (source or study.source) / f"{workload}.toml", "--csv", study.out / f"{name}.csv", stop, *at, *fields)


def closed(study, name, workload, stop, *varied, loads, users=None, source=None):
    """The same for closed systems at these loads. The think time of a load is found by trials, which takes minutes per point; a small study has
    the think time that produces the load under PS, exactly, so the load reached by other policies differs a little."""
    more = [f"users={users}"] if users else []
    if not study.small:
        return simulate(study, name, workload, stop, *more, *varied, f"load={loads}", source=source)
    rows, path = [], (source or study.source) / f"{workload}.toml"
    text = path.read_text()
    for n in (users or "").split(","):
        for load in loads.split(","):
            now = path.with_name("now.toml") if source else study.out / "now.toml"
            lines = ['discipline = "ps"' if line.startswith("discipline = ") else line for line in text.splitlines()]
            now.write_text("\n".join(re.sub(r"users = \d+", f"users = {n}", line) if n else line for line in lines) + "\n")
            think = study.json("plan", "solve", now, "--load", load)["results"][0]["think_s"]
            now.unlink()
            at = [f"users={n}"] if n else []
            simulate(study, "now", workload, stop, *at, *varied, f"think={think}s", source=source)
            with open(study.out / "now.csv") as file:
                rows += [{**row, "varied_load": load} for row in csv.DictReader(file)]
            (study.out / "now.csv").unlink()
    study.table(f"{name}.csv", rows)


def case_studies(study):
    """Figures 2(c) and 2(d): an auction site and a supercomputer, MPL 50."""
    loads = "0.7,0.9" if study.small else "0.1..0.9:0.1"
    precision, sessions = "--until-precision=4%", "session_length=1,2,5,10,20,50"
    for figure, site, policies in (("2c", "auction", "fcfs,ps,psjf"), ("2d", "supercomputing", "fcfs,sjf,ljf")):
        policies = f"discipline={policies}"
        simulate(study, f"{figure}-open", f"{site}-open", precision, policies, f"load={loads}")
        closed(study, f"{figure}-closed", f"{site}-closed", precision, policies, loads=loads)
        simulate(study, f"{figure}-partly-open", f"{site}-partly-open", precision, policies, "load=0.7,0.9", sessions)
    if study.arguments.swf:
        trace(study, policies, loads)


def trace(study, policies, loads):
    """Figure 2(d) with the run times of a real log of jobs."""
    folder = study.out / "workloads"
    folder.mkdir(exist_ok=True)
    name = "jobs.swf.gz" if study.arguments.swf.suffix == ".gz" else "jobs.swf"
    shutil.copy(study.arguments.swf, folder / name)
    for model in ("open", "closed"):
        workload = (study.source / f"supercomputing-{model}.toml").read_text()
        lines = [f'service = {{ empirical = "{name}" }}' if line.startswith("service = ") else line for line in workload.splitlines()]
        (folder / f"trace-{model}.toml").write_text("\n".join(lines) + "\n")
    simulate(study, "2d-trace-open", "trace-open", "--jobs=2e6", policies, f"load={loads}", source=folder)
    closed(study, "2d-trace-closed", "trace-closed", "--jobs=2e6", policies, loads=loads, source=folder)


def principles(study):
    """Figures 4 to 7: E[S] = 10 ms, C2 = 8."""
    loads = "0.3,0.7,0.9" if study.small else "0.1..0.9:0.1"
    c2 = "scv=2,8,64" if study.small else "scv=2,4,8,16,32,64"
    mpl = "10,100,1000"
    simulate(study, "4a-open", "open", "--jobs=4e6", f"load={loads}")
    closed(study, "4a-closed", "closed", "--jobs=2e6", users=mpl, loads=loads)
    simulate(study, "4c-open", "open", "--jobs=1e7", c2, load=0.9)
    closed(study, "4c-closed", "closed", "--jobs=2e6", c2, users=mpl, loads="0.9")
    simulate(study, "5a", "closed", "--jobs=2e6", "discipline=fcfs,ps", "think=100ms,500ms,900ms,1000ms,1500ms,2000ms")
    simulate(study, "5b", "closed", "--jobs=2e6", c2)
    simulate(study, "5c", "closed", "--jobs=2e6", "users=10,20,50,100,200,500,1000")
    policies = "discipline=fcfs,ps,srpt,psjf,pljf"
    simulate(study, "6a-open", "open", "--jobs=4e6", policies, f"load={loads}")
    closed(study, "6b-closed", "closed", "--jobs=2e6", policies, loads=loads)
    closed(study, "6b-expected", "classes", "--jobs=2e6", "discipline=pesjf,peljf", loads=loads)
    simulate(study, "6c-open", "open", "--jobs=1e7", "discipline=fcfs,ps,srpt,pljf", c2, load=0.9)
    closed(study, "6d-closed", "closed", "--jobs=2e6", "discipline=fcfs,ps,srpt,pljf", c2, loads="0.9")
    simulate(study, "7a", "partly-open", "--jobs=4e6", "discipline=fcfs,ps,srpt", "session_length=1,2,4,5,10,20,40", load=0.9)
    simulate(study, "7b", "partly-open", "--jobs=4e6", "discipline=fcfs,ps,srpt", "think=1ms,100ms,300ms,1s,10s", load=0.6)


def static_web(study):
    """Figure 2(a) without its real server: the simulated curves of studies/static-web."""
    source, rows = study.source.parent / "static-web", []
    loads = (0.7, 0.9) if study.small else (0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
    jobs = "3e4" if study.small else "4e6"
    for model in ("open", "closed", "partly-open", "bursty"):
        if model == "closed" and study.small:
            continue
        vary = ["--vary", "discipline=ps,srpt", "--vary", "load=" + ",".join(map(str, loads))]
        for one in study.json("simulate", source / f"{model}.toml", "--jobs", jobs, *vary)["results"]:
            rows.append({"workload": model, "discipline": one["discipline"], "load": one["varied"]["load"], "response_ms": one["response_s"]["mean"] * 1e3})
    study.table("simulated.csv", rows)


def logs(study):
    """Table 2 and figure 8, from an access log."""
    if study.arguments.log:
        site = study.json("logs", study.arguments.log)
        figures = site.get("figures", site)
        requests = figures["requests_per_session"]
        study.table("table-2.csv", [{
            "site": study.arguments.log.name, "from": figures["first_time"], "to": figures["last_time"], "requests": figures["requests"],
            "clients": figures["clients"], "sessions": figures["sessions"], "mean": requests["mean"], "timeout_s": figures["timeout_s"],
            "model": site["recommendation"]["model"].replace("_", "-"),
        }])
        study.table("8.csv", [{"timeout_s": row["timeout_s"], "requests_per_session": row["requests_per_session"]} for row in figures["sessions_by_timeout"]])
