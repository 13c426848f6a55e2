#!/usr/bin/env python3
"""`offered run` compared with its peers: `python3 benches/peers/peers.py [--quick] [--tools DIR] [--only WORDS] [--rounds N]`.

Every tool is pinned to one core, and one server to another; tools alternate for several rounds. No number comes from the tools: the server
counts requests, the kernel counts processor time (user + sys of the process and its children), and the server's kernel timestamps arrivals in
nanoseconds. Only the standard library. README.md explains the tables.
"""

import argparse
import contextlib
import csv
import json
import os
import pathlib
import platform
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
CLIENT, SERVER = "0", "1"
STARTING = 1.0  # approximate overhead of a run, in seconds

# Input files of some tools.
K6 = """import http from 'k6/http';
const rate = Number(__ENV.RATE), users = Number(__ENV.USERS), duration = __ENV.SECONDS + 's';
export const options = { discardResponseBodies: true, scenarios: { load: rate
  ? { executor: 'constant-arrival-rate', rate, timeUnit: '1s', duration, preAllocatedVUs: users }
  : { executor: 'constant-vus', vus: users, duration } } };
export default function () { http.get(__ENV.URL); }
"""
LOCUST = """from locust import FastHttpUser, constant, task
class User(FastHttpUser):
    wait_time = constant(0)
    @task
    def get(self):
        self.client.get("/")
"""


class Run:
    """Parameters of a run: `users` connections, `rate` per second (0: closed, without think time), `seconds`."""

    def __init__(self, url, users, rate, seconds, folder, process="constant"):
        self.url, self.users, self.rate, self.seconds = url, users, rate, seconds
        self.folder, self.process = folder, process


def offered(run, *more):
    load = ["--open", f"{run.rate}/s", "--arrivals", run.process] if run.rate else ["--closed", str(run.users)]
    flags = ["--threads", "1", "--duration", f"{run.seconds}s", "--seed", "1", "--json", "--quiet"]
    return [OFFERED, "run", run.url, *load, *flags, *more]


def recorded(run, *more):
    out = run.folder / "run"
    shutil.rmtree(out, ignore_errors=True)
    return offered(run, "--output", str(out), *more)


def hey(run):
    # Its rate is per worker.
    pace = ["-q", str(run.rate / run.users)] if run.rate else []
    return ["hey", "-z", f"{run.seconds}s", "-c", str(run.users), *pace, run.url]


def h2load(run):
    pace = [f"--rps={run.rate / run.users:g}"] if run.rate else []
    return ["h2load", "--h1", "-t", "1", "-c", str(run.users), "-D", str(run.seconds), *pace, run.url]


def oha(run):
    pace = ["-q", str(run.rate)] if run.rate else []
    return ["oha", "--no-tui", "-z", f"{run.seconds}s", "-c", str(run.users), *pace, run.url]


def k6(run):
    script = run.folder / "k6.js"
    script.write_text(K6)
    asked = {"URL": run.url, "RATE": run.rate, "USERS": run.users, "SECONDS": run.seconds}
    flags = [word for key, value in asked.items() for word in ("-e", f"{key}={value}")]
    return ["k6", "run", "-q", "--no-usage-report", "--no-thresholds", "--no-summary", *flags, str(script)]


def locust(run):
    script = run.folder / "locustfile.py"
    script.write_text(LOCUST)
    users = ["-u", str(run.users), "-r", str(run.users)]
    return ["locust", "-f", str(script), "--headless", "--only-summary", "-H", run.url.rstrip("/"), *users, "-t", f"{run.seconds}s"]


def wrk(name):
    # wrk2 always needs a rate; an unreachable one makes it behave like wrk.
    pace = (lambda run: [f"-R{run.rate or 10_000_000}"]) if name == "wrk2" else (lambda run: [])
    return lambda run: [name, "-t1", f"-c{run.users}", f"-d{run.seconds}s", *pace(run), run.url]


def floor(run, paced="paced"):
    pace = [paced, str(run.rate)] if run.rate else ["closed", str(run.users)]
    return ["floor", run.url.rstrip("/").rsplit(":", 1)[1], *pace, str(run.seconds)]


# Name in the tables: (program, its command, its sections). "apart": subtract the time to judge the recording.
TOOLS = {
    "offered": (None, recorded, "closed many"),
    "offered, without its verdict": (None, recorded, "closed many apart"),
    "offered, without recording": (None, offered, "closed many"),
    "offered spin": (None, lambda run: recorded(run, "--wait-mode", "spin"), "paced fast random"),
    "offered sleep": (None, lambda run: recorded(run, "--wait-mode", "sleep"), "paced fast random"),
    "floor: kernel only": ("floor", floor, "closed many paced fast"),
    "floor, spinning": ("floor", lambda run: floor(run, "spinning"), "paced fast"),
    "wrk": ("wrk", wrk("wrk"), "closed many"),
    "wrk2": ("wrk2", wrk("wrk2"), "closed many paced fast"),
    "ab": (
        "ab",
        lambda run: ["ab", "-q", "-k", "-c", str(run.users), "-t", str(run.seconds), "-n", "99999999", run.url],
        "closed many",
    ),
    "h2load": ("h2load", h2load, "closed many paced fast"),
    "fortio": (
        "fortio",
        lambda run: ["fortio", "load", "-quiet", "-qps", str(run.rate), "-c", str(run.users), "-t", f"{run.seconds}s", run.url],
        "closed paced",
    ),
    "oha": ("oha", oha, "closed many paced fast"),
    "vegeta": (
        "vegeta",
        lambda run: ["vegeta", "attack", f"-rate={run.rate}/s", f"-max-workers={run.users}", f"-duration={run.seconds}s"],
        "closed paced",
    ),
    "hey": ("hey", hey, "closed paced"),
    "k6": ("k6", k6, "closed paced"),
    "locust": ("locust", locust, "closed"),
}


def measured(command, url):
    """Runs a pinned tool: (its output, its processor seconds)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    limit = ["timeout", "-k", "5", "120"]
    done = subprocess.run(
        [*limit, "taskset", "-c", CLIENT, *command],
        input=f"GET {url}\n".encode(),  # vegeta's targets
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Exit code 3: offered reports the run as invalid, for example because it saturated its core, as intended here.
    if done.returncode not in (0, 3):
        status(f"  {command[0]} exited with code {done.returncode}: {done.stderr.decode(errors='replace').strip()[-200:]}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextlib.contextmanager
def nginx(folder):
    """Runs a pinned nginx with one worker that responds `ok`, with a request counter at /count. Yields its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = "".join(f"{t}_temp_path {folder}/{t};" for t in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
    (folder / "conf").write_text(f"""daemon off; master_process off; pid {folder}/pid; worker_rlimit_nofile 16000;
        events {{ worker_connections 12000; }}
        http {{ {own} access_log off; keepalive_requests 1000000000;
            server {{ listen 127.0.0.1:{port} backlog=12000; location / {{ return 200 'ok'; }}
                location = /count {{ stub_status; }} }} }}""")
    command = ["taskset", "-c", SERVER, "nginx", "-c", f"{folder}/conf", "-p", str(folder), "-e", f"{folder}/error.log"]
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/"
    try:
        for _ in range(100):
            with contextlib.suppress(OSError):
                count(url)
                break
            time.sleep(0.05)
        yield url
    finally:
        child.terminate()
        child.wait()


def count(url):
    """Number of requests that nginx has completed."""
    return int(urllib.request.urlopen(url + "count", timeout=5).read().split()[9])


@contextlib.contextmanager
def stamping(folder):
    """Runs a pinned `offered serve` that responds at once. Yields its URL, and a function that stops it and returns the receive timestamps in ns."""
    stamps = folder / "stamps.csv"
    stamps.unlink(missing_ok=True)
    command = [OFFERED, "serve", "--listen", "127.0.0.1:0", "--discipline", "infinite", "--service", "constant:0s"]
    command = ["taskset", "-c", SERVER, *command, "--record", str(stamps)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    url = child.stdout.readline().split()[-1] + "/"

    def end():
        if child.poll() is None:
            child.terminate()
            child.wait()
        with stamps.open() as file:
            return sorted(int(row["received_ns"]) for row in csv.DictReader(file) if row["received_ns"])

    try:
        yield url, end
    finally:
        end()


def spacing(stamps, rate):
    """For constant arrivals: (their rate, p50 and p99 of the error in us, CoV of gaps).

    The first and last tenth are excluded. The error is the distance from an ideal constant stream at the target rate (or at the measured rate,
    if they differ by more than 1 %) whose start makes the median error zero, so a constant delay is no error.
    """
    tenth = len(stamps) // 10
    stamps = stamps[tenth : len(stamps) - tenth]
    gaps = [b - a for a, b in zip(stamps, stamps[1:])]
    if len(gaps) < 100:
        return None
    came = len(gaps) * 1e9 / (stamps[-1] - stamps[0])
    gap = 1e9 / (rate if abs(came / rate - 1) < 0.01 else came)
    offsets = [at - stamps[0] - i * gap for i, at in enumerate(stamps)]
    middle = statistics.median(offsets)
    errors = sorted(abs(offset - middle) / 1e3 for offset in offsets)
    cov = statistics.stdev(gaps) / statistics.fmean(gaps)
    return came, errors[len(errors) // 2], errors[int(len(errors) * 0.99)], cov


def closed(run, tool):
    """One closed run: requests per second, and processor time per request in us."""
    before = count(run.url)
    _, cpu = measured(tool[1](run), run.url)
    requests = count(run.url) - before - 1
    if "apart" in tool[2].split():
        cpu -= measured([OFFERED, "verify", str(run.folder / "run"), "--json"], run.url)[1]
    return (requests / run.seconds, cpu * 1e6 / requests) if requests > 0 else None


def even(run, tool):
    """One open run with constant arrivals, measured at the server."""
    with stamping(run.folder) as (url, end):
        run.url = url
        _, cpu = measured(tool[1](run), url)
        stamps = end()
    seen = spacing(stamps, run.rate)
    return seen and (*seen, cpu * 1e6 / len(stamps))


def random(run, tool):
    """One open run with Poisson arrivals: CoV at the server, and the recorded lateness."""
    with stamping(run.folder) as (url, end):
        run.url, run.process = url, "poisson"
        output, cpu = measured(tool[1](run), url)
        stamps = end()
    gaps = [b - a for a, b in zip(stamps, stamps[1:])]
    late = json.loads(output)["lateness_us"]
    cov = statistics.stdev(gaps) / statistics.fmean(gaps)
    return len(stamps) / run.seconds, late["p50"], late["p99"], cov, cpu * 1e6 / len(stamps)


CLOSED = [("requests/s", "{:,.0f}"), ("CPU us/request", "{:.2f}")]
OPEN = [("rate/s", "{:,.0f}"), ("{} p50 us", "{:,.1f}"), ("{} p99 us", "{:,.1f}"), ("CoV of gaps", "{:.3f}"), ("CPU us/request", "{:.1f}")]
EVEN = [(name.format("error"), form) for name, form in OPEN]
RANDOM = [(name.format("lateness"), form) for name, form in OPEN]

# Title, group of tools (a word in TOOLS), measurement, columns, connections, rate.
SECTIONS = [
    ("closed, no think time, 64 connections", "closed", closed, CLOSED, 64, 0),
    ("closed, no think time, 1,000 connections", "many", closed, CLOSED, 1000, 0),
    ("open, constant, 1,000/s, at the server", "paced", even, EVEN, 50, 1000),
    ("open, constant, 10,000/s, at the server", "paced", even, EVEN, 50, 10_000),
    ("open, constant, 50,000/s, at the server", "fast", even, EVEN, 50, 50_000),
    ("open, Poisson, 1,000/s", "random", random, RANDOM, 50, 1000),
    ("open, Poisson, 10,000/s", "random", random, RANDOM, 50, 10_000),
    ("open, Poisson, 50,000/s", "random", random, RANDOM, 50, 50_000),
]


def table(title, columns, results, against):
    """Prints medians, with minimum and maximum in brackets; in closed sections also the ratio of CPU time to `against`."""
    ratio = against if against in results else None
    heads = [name for name, _ in columns] + ([f"CPU / {ratio}'s, per round"] if ratio else [])
    print(f"\n### {title}\n\n| tool | {' | '.join(heads)} |\n|---|{'--:|' * len(heads)}")
    for name, rounds in results.items():
        cells = []
        for at, (_, form) in enumerate(columns):
            values = sorted(values[at] for values in rounds.values())
            spread = f" ({form.format(values[0])} to {form.format(values[-1])})" if len(values) > 1 else ""
            cells.append(form.format(statistics.median(values)) + spread)
        if ratio:
            both = [at for at in rounds if at in results[ratio]]
            ratios = sorted(rounds[at][-1] / results[ratio][at][-1] for at in both)
            cells.append(f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})" if ratios else "-")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def status(line):
    print(line, file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round of 2 s each: a quick check, not a measurement")
    parser.add_argument("--rounds", type=int, help="number of rounds [3]")
    parser.add_argument("--seconds", type=int, help="duration of each run in seconds [4]")
    parser.add_argument("--only", default="", help="only tools whose name contains one of these words: offered,wrk")
    parser.add_argument("--sections", default="", help="only sections whose title contains one of these words: closed,Poisson")
    parser.add_argument("--tools", default="/tmp/peers", help="directory where `fetch` installed the tools [/tmp/peers]")
    parser.add_argument("--offered", default="target/release/offered", help="the offered binary [target/release/offered]")
    args = parser.parse_args()
    rounds, seconds = args.rounds or (1 if args.quick else 3), args.seconds or (2 if args.quick else 4)
    global OFFERED
    OFFERED = os.path.abspath(args.offered)
    if not os.access(OFFERED, os.X_OK):
        sys.exit(f"error: {OFFERED} is not an executable; build it with `cargo build --release -p offered`, or give --offered")
    if shutil.which("nginx") is None and os.access("/usr/sbin/nginx", os.X_OK):
        os.environ["PATH"] += ":/usr/sbin"
    if shutil.which("nginx") is None or os.cpu_count() < 2:
        sys.exit("error: this needs nginx and two cores; install nginx (apt-get install nginx-light)")
    os.environ["PATH"] = f"{args.tools}:{os.environ['PATH']}"

    def chosen(words, name):
        return not words or any(word in name for word in words.split(","))

    absent = sorted({program for program, *_ in TOOLS.values() if program and shutil.which(program) is None})
    tools = {name: tool for name, tool in TOOLS.items() if tool[0] not in absent and chosen(args.only, name)}
    plan = [(section, {n: t for n, t in tools.items() if section[1] in t[2].split()}) for section in SECTIONS if chosen(args.sections, section[0])]
    runs = rounds * sum(len(part) for _, part in plan)
    status(f"{runs} runs of {seconds} s: about {runs * (seconds + STARTING) / 60:.0f} minutes" + (f"; not installed: {', '.join(absent)}" if absent else ""))
    load = os.getloadavg()[0]
    print(f"{time.strftime('%Y-%m-%d')}, {machine()}, load average at the start {load:.1f}; {rounds} rounds of {seconds} s, alternating; medians (smallest to largest)")
    print(f"`{' '.join(sys.argv)}`" + (f"; not installed: {', '.join(absent)}" if absent else ""))
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, nginx(pathlib.Path(folder)) as url:
        for (title, _, measure, columns, users, rate), part in plan:
            results = {name: {} for name in part}
            for at in range(rounds):
                for name, tool in part.items():
                    status(f"{time.monotonic() - started:4.0f} s  {title}: {name}, round {at + 1}")
                    found = measure(Run(url, users, rate, seconds, pathlib.Path(folder)), tool)
                    if found:
                        results[name][at] = found
            results = {name: found for name, found in results.items() if found}
            table(title, columns, results, "wrk" if measure is closed else None)
    print(f"\n{(time.monotonic() - started) / 60:.1f} minutes")


def machine():
    """Processor, cores and kernel of this machine."""
    with contextlib.suppress(OSError):
        for line in open("/proc/cpuinfo"):
            if line.startswith("model name"):
                return f"{os.cpu_count()} cores of {line.split(':')[1].strip()}, Linux {platform.release()}"
    return f"{os.cpu_count()} cores, {platform.platform()}"


if __name__ == "__main__":
    main()
