#!/usr/bin/env python3
"""`benches/logs/run.py [OFFERED [MILLIONS [ROUNDS]]]`: CPU time of the complete analysis of generated logs, compared with GoAccess; see README.md."""

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

offered = sys.argv[1] if len(sys.argv) > 1 else "target/release/offered"
lines = int(float(sys.argv[2] if len(sys.argv) > 2 else 2) * 1e6)
rounds = int(sys.argv[3] if len(sys.argv) > 3 else 5)


def log(path, clients, ipv6):
    """Writes `lines` lines in Common format over a day, from `clients` clients; a sixth of the targets contain a number."""
    rng = random.Random(1)
    names = ["/", "/index.html", "/images/logo.gif", "/shuttle/missions/missions.html", "/style.css", "/news/{}"]
    with open(path, "w") as out:
        for i in range(lines):
            second = i * 86400 // lines
            client = rng.randrange(clients)
            who = f"2001:db8:{client >> 16:x}::{client & 65535:x}" if ipv6 else f"10.{client >> 16}.{client >> 8 & 255}.{client & 255}"
            what = names[rng.randrange(6)].format(rng.randrange(1000))
            stamp = f"01/Jan/2026:{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02} +0000"
            out.write(f'{who} - - [{stamp}] "GET {what} HTTP/1.1" 200 {rng.randrange(100, 20000)}\n')


def measure(command, path):
    """User plus system seconds, and peak resident memory in MB."""
    # Without a terminal, GoAccess reads stdin.
    with open(path) as piped:
        child = subprocess.Popen(command, stdin=piped, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, f"{command}: {child.returncode}"
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


with tempfile.TemporaryDirectory() as folder:
    print(f"{time.strftime('%Y-%m-%d')}, {lines} lines each, medians of {rounds} alternating rounds, one thread")
    for name, clients, ipv6 in [("5,000 clients", 5000, False), (f"{lines // 2} IPv6 addresses", lines // 2, True)]:
        path = os.path.join(folder, "a.log")
        log(path, clients, ipv6)
        megabytes = os.path.getsize(path) / 1e6
        commands = {
            "offered logs": [offered, "logs", path, "--threads", "1", "--json", "--quiet"],
            "offered logs --labels": [offered, "logs", path, "--threads", "1", "--json", "--quiet", "--labels"],
            "goaccess": ["goaccess", "-", "--log-format=COMMON", "--no-progress", "-o", os.path.join(folder, "a.json")],
        }
        if not shutil.which("goaccess"):
            print("goaccess is not installed")
            del commands["goaccess"]
        # Alternate, so that other load on the machine affects all of them.
        measured = [{what: measure(command, path) for what, command in commands.items()} for _ in range(rounds)]
        for what in commands:
            cpu, memory = (statistics.median(of[what][i] for of in measured) for i in range(2))
            print(f"{name}: {what}: {cpu:.2f} s, {lines / cpu / 1e6:.2f} M lines/s, {megabytes / cpu:.0f} MB/s, {memory:.0f} MB resident")
