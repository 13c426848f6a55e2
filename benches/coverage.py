"""How often the 95 % intervals of the program contain the true value: prints the tables of book/src/background/intervals.md.

    nice -n 10 python3 benches/coverage.py target/release/offered [--only simulate heavy sweep twin capacity]
        [--case TEXT] [--share 0.5] [--seeds 610000] [--json FILE]

Every run of a case has another seed. The true values are closed forms in this file, or those of `offered plan solve`, which tests compare
with other sources. A cell says how many intervals contain the true value, of how many that exist, and their mean half-width relative to
the true value. `(!)` marks a cell with so few that correct intervals have fewer in one of a hundred tables, or, if fewer than half of
the runs have an interval, so many misses that correct intervals of all runs had more in one of a hundred.
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import shutil
import subprocess
import tempfile

PERCENTS = [50, 90, 95, 99]
STATISTICS = ["mean", "p50", "p90", "p95", "p99"]
EXPONENTIAL = '{ exponential = "10ms" }'
H2 = '{ hyperexponential = { mean = "10ms", scv = 8 } }'
LOGNORMAL = '{ lognormal = { mean = "10ms", scv = 20 } }'
# Product form: under ps the mean response is that of M/M/1.
PARTLY = 'partly_open = { rate = "18/s", stay = 0.8, think = { exponential = "500ms" } }'
CLOSED = 'closed = { users = 100, think = { exponential = "937.171291ms" } }'


def partly(rate, length):
    return f'partly_open = {{ rate = "{rate}/s", length = {{ mean = {length} }}, think = {{ exponential = "10us" }} }}'


def pareto(shape):
    return f'{{ pareto = {{ min = "{10e6 * (shape - 1) / shape:.0f}ns", shape = {shape} }} }}'


def workload(arrivals, service=EXPONENTIAL, discipline="fcfs", duration="1h", servers=1, more=""):
    arrivals = arrivals if "=" in arrivals else f'open.rate = "{arrivals}"'
    return (
        f'duration = "{duration}"\n{more}arrivals.{arrivals}\n[server]\nservers = {servers}\n'
        f'discipline = "{discipline}"\nservice = {service}\n'
    )


# Name, workload, requests of a run (None: those of its duration), number of runs, and true values in ms where `plan solve` has none.
def simulations():
    fixed = lambda rate, duration, runs: (f"M/M/1, {rate}/s, {duration}", workload(f"{rate}/s", duration=duration), None, runs, {})
    case = lambda name, jobs, runs=100, truths={}, arrivals="90/s", **other: (
        f"{name}, {jobs:,}", workload(arrivals, **other), jobs, runs, truths,
    )
    return [
        fixed(80, "5m", 150),
        fixed(93, "5m", 150),
        fixed(95, "5m", 150),
        fixed(93, "20m", 150),
        fixed(95, "20m", 100),
        fixed(95, "1h", 60),
        case("M/M/1", 100_000),
        case("M/M/1", 400_000, 60),
        case("M/H2/1, C2 = 8", 400_000, 60, service=H2),
        case("M/M/1 PS", 30_000, discipline="ps"),
        case("M/M/1 PS", 100_000, discipline="ps"),
        case("M/M/1 PS", 400_000, 60, discipline="ps"),
        case("M/H2/1 PS, C2 = 8", 400_000, 60, discipline="ps", service=H2),
        case("partly-open PS, 5 requests", 400_000, arrivals=PARTLY, discipline="ps"),
        case("partly-open, 2 requests, C2 = 8", 450_000, 60, {"mean": 257.5}, partly("45", "2"), service=H2),
        case("partly-open, 10 requests, C2 = 8", 450_000, 60, {"mean": 131.5}, partly("9", "10"), service=H2),
        case("closed, 100 users, C2 = 8", 200_000, 60, {"mean": 173.93982}, CLOSED, service=H2),
        case("M/M/4", 30_000, arrivals="360/s", servers=4),
        case("M/M/4", 100_000, arrivals="360/s", servers=4),
        case("M/M/16", 100_000, arrivals="1440/s", servers=16),
        case("M/M/16 at load 0.95", 200_000, 60, arrivals="1520/s", servers=16),
        case("M/M/64", 100_000, arrivals="5760/s", servers=64),
        case("M/M/1 SRPT", 100_000, discipline="srpt"),
        # The mean needs 144,000 requests.
        *(case(f"M/H2/1 {policy.upper()}, C2 = 8", 150_000, discipline=policy, service=H2) for policy in ("srpt", "sjf", "fb")),
    ]


def heavy_tails():
    case = lambda name, service, jobs, discipline="fcfs", runs=60: (
        f"{name}, {discipline}, {jobs:,}", workload("90/s", service, discipline), jobs, runs,
        {"mean": math.inf} if "1.8" in name else {},
    )
    return [
        *(case("Pareto 1.8", pareto(1.8), 20_000, policy) for policy in ("fcfs", "lcfs", "sjf", "ljf", "pljf")),
        case("Pareto 2.2", pareto(2.2), 100_000),
        case("Pareto 2.5", pareto(2.5), 100_000),
        case("Pareto 2.2", pareto(2.2), 100_000, "ps"),
        case("Pareto 4.5", pareto(4.5), 200_000),
        case("lognormal, C2 = 20", LOGNORMAL, 100_000),
        case("lognormal, C2 = 20", LOGNORMAL, 400_000),
        case("lognormal, C2 = 20", LOGNORMAL, 100_000, "ps"),
        # The mean needs 129,600 requests.
        case("lognormal, C2 = 5", LOGNORMAL.replace("20", "5"), 150_000, runs=100),
    ]


def percentiles_of_two_exponentials(rate, scv):
    """Percentiles in ms of the response of M/H2/1 under fcfs with E[S] = 10 ms: its transform has two poles."""
    load, arrivals = rate / 100, rate / 1000
    p = 0.5 * (1 + math.sqrt((scv - 1) / (scv + 1)))
    a, b = 2 * p / 10, 2 * (1 - p) / 10
    middle = (a + b - arrivals) / 2
    half = math.sqrt(middle * middle - a * b + arrivals * (a + b) - arrivals * (p * a + (1 - p) * b))
    roots = [middle - half, middle + half]
    top = lambda s: (1 - load) * (p * a * (s + b) + (1 - p) * b * (s + a))
    weights = [top(-roots[0]) / (roots[1] - roots[0]), top(-roots[1]) / (roots[0] - roots[1])]
    tail = lambda t: sum(w / r * math.exp(-r * t) for w, r in zip(weights, roots))
    return {f"p{percent}": bisect(lambda t: tail(t) > 1 - percent / 100, 1e5) for percent in PERCENTS}


def bisect(is_below, high):
    low = 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    def write(self, name, text):
        file = self.folder / f"{name}.toml"
        file.write_text(text)
        return str(file)

    def json(self, *args, codes=(0,)):
        out = subprocess.run([self.path, *args, "--json"], capture_output=True, text=True)
        if out.returncode not in codes:
            raise SystemExit(f"{' '.join(args)}: {out.stderr}")
        return json.loads(out.stdout)

    def truths(self, text, known):
        """Mean and percentiles in ms."""
        if known:
            return known
        name = f"solve-{abs(hash(text))}"
        solved = self.json("plan", "solve", self.write(name, text))["results"][0]
        mean = solved["response_s"]
        truths = {"mean": math.inf if mean is None else 1e3 * mean}
        truths |= {key: 1e3 * value for key, value in (solved.get("percentiles_s") or {}).items() if value is not None}
        if H2 in text and 'open.rate = "90/s"' in text and '"fcfs"' in text:
            check(truths, percentiles_of_two_exponentials(90, 8))
        if EXPONENTIAL in text and 'open.rate' in text and '"fcfs"' in text and "servers = 1\n" in text:
            rate = float(text.split('open.rate = "')[1].split("/s")[0])
            check(truths, {f"p{p}": 1e3 * -math.log(1 - p / 100) / (100 - rate) for p in PERCENTS} | {"mean": 1e3 / (100 - rate)})
        return truths


def check(solved, closed_form):
    for key, value in closed_form.items():
        assert abs(solved[key] / value - 1) < 1e-5, (key, solved[key], value)


def simulate(program, case, seeds):
    """Per run: the intervals in ms of the statistics, `None` where there is none, and the warnings."""
    name, text, jobs, _, _ = case
    file = program.write(f"simulate-{abs(hash(name))}-{seeds[0]}", text)
    limit = ["--jobs", str(jobs)] if jobs else []
    results = program.json("simulate", file, "--vary", "seed=" + ",".join(map(str, seeds)), "--threads", "1", *limit)["results"]
    runs = []
    for result in results:
        response = result["response_s"]
        ends = {"mean": (response["low"], response["high"]), **response["intervals"]}
        found = {key: (1e3 * pair[0], 1e3 * pair[1]) if known(pair) else None for key, pair in ends.items()}
        found["is infinite"] = response["mean"] is None
        runs.append((found, result["warnings"]))
    return runs


def known(pair):
    return pair is not None and all(end is not None and math.isfinite(end) for end in pair)


# Rate, duration, number of cells: M/M/1 of 100/s.
CELLS = [(50, "5m", 100), (80, "5m", 100), (90, "5m", 100), (95, "20m", 60), (95, "1h", 30)]


def sweep(program, case, seeds):
    rate, duration, _ = case
    out = program.folder / f"sweep-{rate}-{duration}-{seeds[0]}"
    file = program.write(out.name, workload(f"{rate}/s", duration=duration))
    args = ["--simulate", "--vary", f"rate={rate}", "--vary", "seed=" + ",".join(map(str, seeds)), "--quiet", "-o", str(out)]
    cells = program.json("sweep", file, *args)["cells"]
    shutil.rmtree(out)
    runs = []
    for cell in cells:
        response = cell["response_ms"]
        ends = {key: (response[key]["low"], response[key]["high"]) for key in STATISTICS}
        runs.append(({key: pair if known(pair) else None for key, pair in ends.items()}, []))
    return runs


# Name, arrivals, service, disciplines of run and model, factor of the run's service time, duration (s), runs, true ratio.
def twins():
    slower = 1.02 * 0.1 / (1 - 0.918)
    return [
        ("M/M/1 PS beside FCFS, 1 minute", "90/s", EXPONENTIAL, ("ps", "fcfs"), 1, 60, 150, 1.0),
        ("M/M/1 PS beside FCFS, 10 minutes", "90/s", EXPONENTIAL, ("ps", "fcfs"), 1, 600, 120, 1.0),
        ("M/M/1, 2 % slower, 1 minute", "90/s", EXPONENTIAL, ("fcfs", "fcfs"), 1.02, 60, 150, slower),
        ("M/M/1, 2 % slower, 10 minutes", "90/s", EXPONENTIAL, ("fcfs", "fcfs"), 1.02, 600, 120, slower),
        ("M/M/1, 2 % slower, 1 hour", "90/s", EXPONENTIAL, ("fcfs", "fcfs"), 1.02, 3600, 60, slower),
        ("partly-open PS, 2 % slower, 10 minutes", PARTLY, EXPONENTIAL, ("ps", "ps"), 1.02, 600, 120, slower),
    ]


def twin(program, case, seeds):
    name, arrivals, service, policies, factor, seconds, _, _ = case
    runs = []
    for seed in seeds:
        more = f'seed = {seed}\nskip_first = "{seconds // 6}s"\n'
        texts = [
            workload(arrivals, service.replace("10ms", f"{10 * by}ms"), policy, f"{seconds}s", more=more)
            for policy, by in zip(policies, (factor, 1))
        ]
        files = [program.write(f"twin-{abs(hash(name))}-{seed}-{i}", text) for i, text in enumerate(texts)]
        out = program.folder / f"twin-{abs(hash(name))}-{seed}"
        program.json("simulate", files[0], "-o", str(out))
        total = program.json("verify", str(out), "--twin", "--workload", files[1], codes=(0, 3))["twin"]["requests"][-1]
        shutil.rmtree(out)
        pair = total["ratio_low"], total["ratio_high"]
        runs.append(({"ratio": pair if known(pair) else None}, []))
    return runs


# Name, workload, field, objective, true capacity, number of searches: E[S] = 10 ms.
def capacities():
    rate = lambda percent, seconds: 100 + math.log(1 - percent / 100) / seconds
    start = lambda duration, **other: workload("50/s", duration=duration, more='skip_first = "10s"\n', **other)
    return [
        ("p99 < 250ms, 10 minutes", start("10m"), "rate", "p99 < 250ms", rate(99, 0.25), 30),
        ("p95 < 150ms, 5 minutes", start("5m"), "rate", "p95 < 150ms", rate(95, 0.15), 30),
        ("mean < 50ms, PS, 5 minutes", start("5m", discipline="ps"), "rate", "mean < 50ms", 80.0, 30),
    ]


def capacity(program, case, seeds):
    name, text, field, objective, _, _ = case
    runs = []
    for seed in seeds:
        # Trials have consecutive seeds.
        file = program.write(f"capacity-{abs(hash(name))}-{seed}", f"seed = {seed * 1000}\n{text}")
        found = program.json("capacity", file, "--simulate", "--vary", field, "--slo", objective, "--quiet")
        pair = found["low"], found["high"]
        runs.append(({"capacity": pair if known(pair) else None, "trials": found["trials"]}, []))
    return runs


def at_most(held, runs, probability=0.95):
    """The probability that at most this number of `runs` intervals contains the value."""
    return sum(math.comb(runs, k) * probability**k * (1 - probability) ** (runs - k) for k in range(held + 1))


class Table:
    def __init__(self):
        self.held = self.given = 0
        self.records = []

    def cell(self, case, statistic, runs, truth):
        """One cell of the table, for the intervals of all runs."""
        intervals = [found.get(statistic) for found, _ in runs]
        if truth is None:
            return ""
        if math.isinf(truth):
            return "infinite" if all(found["is infinite"] for found, _ in runs) and not any(intervals) else "finite (!)"
        given = [pair for pair in intervals if pair]
        held = sum(low <= truth <= high for low, high in given)
        too_low = sum(high < truth for _, high in given)
        self.held, self.given = self.held + held, self.given + len(given)
        width = sum((high - low) / 2 / truth for low, high in given) / max(len(given), 1)
        of = len(given) if 2 * len(given) > len(runs) else len(runs)
        bad = at_most(of - (len(given) - held), of) < 0.01
        self.records.append({
            "case": case, "statistic": statistic, "runs": len(runs), "intervals": len(given), "contain": held,
            "too_low": too_low, "half_width": width, "is_bad": bad, "truth": truth,
        })
        if not given:
            return "none"
        return f"{held} of {len(given)}, ± {100 * width:.{1 if width < 0.095 else 0}f} %" + (" (!)" if bad else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("offered")
    parser.add_argument("--only", nargs="*", default=["simulate", "heavy", "sweep", "twin", "capacity"])
    parser.add_argument("--case", default="", help="only cases with this in their names")
    parser.add_argument("--share", type=float, default=1, help="share of the number of runs")
    parser.add_argument("--seeds", type=int, default=610_000, help="seeds from here on")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", help="write all cells to this file")
    args = parser.parse_args()
    table = Table()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.processes) as pool:
        program = Program(args.offered, pathlib.Path(folder))
        every = [*simulations(), *heavy_tails(), *CELLS, *twins(), *capacities()]

        def runs(measure, case, number, size):
            number = max(1, round(number * args.share))
            # Cases with the same seeds would miss together.
            first = args.seeds + 1000 * every.index(case)
            seeds = range(first, first + number)
            parts = [seeds[at : at + size] for at in range(0, number, size)]
            return [run for part in pool.map(lambda part: measure(program, case, part), parts) for run in part]

        def chosen(cases):
            return [case for case in cases if args.case in str(case[0])]

        def print_row(name, cells):
            print(f"| {name} | {' | '.join(cells)} |", flush=True)

        for kind, cases in [("simulate", simulations()), ("heavy", heavy_tails())]:
            if kind in args.only:
                print(f"\n| `simulate`, requests per run | runs | {' | '.join(STATISTICS)} |\n|---|---|---|---|---|---|---|")
                for case in chosen(cases):
                    name, text, _, number, own = case
                    truths, found = program.truths(text, own), runs(simulate, case, number, 20)
                    longer = sum("longer" in warning for _, warnings in found for warning in warnings if found[0][0]["is infinite"])
                    cells = [table.cell(name, statistic, found, truths.get(statistic)) for statistic in STATISTICS]
                    print_row(name + (f" ({longer} advise a longer run)" if longer else ""), [str(len(found)), *cells])
        if "sweep" in args.only:
            print(f"\n| cell of `sweep --simulate` | cells | {' | '.join(STATISTICS)} |\n|---|---|---|---|---|---|---|")
            for case in CELLS:
                rate, duration, number = case
                name = f"M/M/1, {rate}/s, {duration}"
                if args.case not in name:
                    continue
                truths, found = program.truths(workload(f"{rate}/s"), {}), runs(sweep, case, number, 10)
                print_row(name, [str(len(found)), *(table.cell(name, statistic, found, truths[statistic]) for statistic in STATISTICS)])
        if "twin" in args.only:
            print("\n| run and model | runs | true ratio | ratio |\n|---|---|---|---|")
            for case in chosen(twins()):
                found = runs(twin, case, case[-2], 10)
                print_row(case[0], [str(len(found)), f"{case[-1]:.3f}", table.cell(case[0], "ratio", found, case[-1])])
        if "capacity" in args.only:
            print("\n| objective | searches | true capacity | interval | median width, high / low - 1 | trials |\n|---|---|---|---|---|---|")
            for case in chosen(capacities()):
                found = runs(capacity, case, case[-1], 5)
                ratios = sorted(pair[1] / pair[0] - 1 for pair in (run["capacity"] for run, _ in found) if pair)
                trials = sum(run["trials"] for run, _ in found) / len(found)
                cell = table.cell(case[0], "capacity", found, case[-2])
                print_row(case[0], [str(len(found)), f"{case[-2]:.1f}", cell, f"{100 * ratios[len(ratios) // 2]:.1f} %", f"{trials:.0f}"])
    print(f"\n{table.held} of {table.given} intervals contain the true value, {100 * table.held / max(table.given, 1):.1f} %")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(table.records, indent=1))


if __name__ == "__main__":
    main()
