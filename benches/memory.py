#!/usr/bin/env python3
"""Memory of each command by number of requests: python3 benches/memory.py target/release/offered [DIR]

Dry runs at 10,000/s with exponential response times of 20 ms and ten request types. Each command runs in its own process; prints its peak
resident memory (from wait4) and processor time. DIR needs 3 GB."""

import os
import subprocess
import sys
import tempfile
import time

offered = os.path.abspath(sys.argv[1])
folder = sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()
os.chdir(folder)

WORKLOAD = """seed = 1
duration = "{}s"
target.url = "http://127.0.0.1:9/"
server = {{ servers = 400, service = {{ exponential = "20ms" }} }}
arrivals.open.rate = "10000/s"
""" + "".join(f'[[request]]\nname = "page {i}"\nget = "/{i}"\n' for i in range(10))


def measured(*args):
    began = time.monotonic()
    child = subprocess.Popen([offered, *args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode in (0, 3, 99), (args, child.returncode, errors)
    cpu = used.ru_utime + used.ru_stime
    return f"{used.ru_maxrss / 1024:.0f} MB, {cpu:.1f} s, {time.monotonic() - began:.0f} s"


for requests in (1_000_000, 10_000_000):
    name, run = f"{requests}.toml", f"run-{requests}"
    with open(name, "w") as file:
        file.write(WORKLOAD.format(requests // 10_000))
    print(f"{requests} requests: peak resident memory, processor time, wall time", flush=True)
    table = f"{run}.jtl"
    for what, args in {
        "run --dry-run": ["run", name, "--dry-run", "exponential:20ms", "-q"],
        "run --dry-run --output": ["run", name, "--dry-run", "exponential:20ms", "-q", "--output", run],
        "verify": ["verify", run],
        "report": ["report", run, "-o", f"{run}.html"],
        "export --format jtl": ["export", run, "--format", "jtl", "-o", table],
        "export --format csv": ["export", run, "--format", "csv", "-o", f"{run}.csv"],
        "verify, of the JTL": ["verify", table],
        "report, of the JTL": ["report", table, "-o", f"{run}.jtl.html"],
        "sweep --simulate, one cell": ["sweep", name, "--simulate", "--vary", "rate=10000/s", "--output", f"sweep-{requests}"],
    }.items():
        print(f"  {what:26} {measured(*args)}", flush=True)
    print(f"  the JTL has {os.path.getsize(table) / 1e6:.0f} MB", flush=True)
