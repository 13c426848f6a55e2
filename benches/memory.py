#!/usr/bin/env python3
"""How much memory each verb takes against the number of launches: python3 benches/memory.py target/release/offered [FOLDER]

Dry runs at 10,000/s with answers after an exponential 20 ms, ten requests; each verb in a process of its own, its greatest resident
size as wait4 tells it, and its processor time. FOLDER needs 3 GB."""

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
    said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode in (0, 3, 99), (args, child.returncode, said)
    cpu = used.ru_utime + used.ru_stime
    return f"{used.ru_maxrss / 1024:.0f} MB, {cpu:.1f} s, {time.monotonic() - began:.0f} s"


for launches in (1_000_000, 10_000_000):
    name, run = f"{launches}.toml", f"run-{launches}"
    with open(name, "w") as file:
        file.write(WORKLOAD.format(launches // 10_000))
    print(f"{launches} launches: greatest resident size, processor time, time", flush=True)
    table = f"{run}.jtl"
    for what, args in {
        "run --dry-run": ["run", name, "--dry-run", "exponential:20ms", "-q"],
        "run --dry-run --out": ["run", name, "--dry-run", "exponential:20ms", "-q", "--out", run],
        "verify": ["verify", run],
        "report": ["report", run, "-o", f"{run}.html"],
        "export --to jtl": ["export", run, "--to", "jtl", "-o", table],
        "export --to csv": ["export", run, "--to", "csv", "-o", f"{run}.csv"],
        "verify, of the JTL": ["verify", table],
        "report, of the JTL": ["report", table, "-o", f"{run}.jtl.html"],
        "sweep --simulate, a cell": ["sweep", name, "--simulate", "--vary", "rate=10000/s", "--out", f"sweep-{launches}"],
    }.items():
        print(f"  {what:26} {measured(*args)}", flush=True)
    print(f"  the JTL has {os.path.getsize(table) / 1e6:.0f} MB", flush=True)
