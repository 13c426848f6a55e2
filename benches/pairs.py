#!/usr/bin/env python3
"""Processor time per request of two builds, side by side: python3 benches/pairs.py OLD NEW [--pairs 8]

Each pair runs both builds one after the other, in alternating order, against one `offered serve` (of OLD) that responds at once. The
processor time is that of the whole process: it records events, reads them back and judges them. The ratio of a pair is NEW / OLD; quote
the median, because the machine changes between pairs and hardly within one."""

import argparse
import json
import os
import signal
import statistics
import subprocess
import tempfile

CASES = {
    "64 connections without think time": ["--closed", "64", "--duration", "3s"],
    "a new connection for each request": ["--closed", "16", "--duration", "3s", "--reuse", "fresh"],
    "5,000/s, sleeping": ["--open", "5000/s", "--duration", "3s", "--wait-mode", "sleep"],
}


def used(offered, url, flags, directory):
    """Processor time in us per request."""
    command = [offered, "run", url, "--seed", "1", "--json", "-o", directory, *flags]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    summary = json.loads(child.stdout.read())
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    return 1e6 * (usage.ru_utime + usage.ru_stime) / summary["completed"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--pairs", type=int, default=8)
    arguments = parser.parse_args()
    server = subprocess.Popen(
        [arguments.old, "serve", "--service", "constant:1us", "--servers", "1000", "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    url = next(word for word in server.stdout.readline().split() if word.startswith("http"))
    print("| case | OLD us/request | NEW / OLD: median (all pairs) |")
    print("|---|--:|---|")
    try:
        for name, flags in CASES.items():
            olds, ratios = [], []
            for pair in range(arguments.pairs):
                figures = {}
                for build in [("old", "new"), ("new", "old")][pair % 2]:
                    with tempfile.TemporaryDirectory() as folder:
                        figures[build] = used(getattr(arguments, build), url, flags, f"{folder}/run")
                olds.append(figures["old"])
                ratios.append(figures["new"] / figures["old"])
            every = " ".join(f"{ratio:.3f}" for ratio in sorted(ratios))
            print(f"| {name} | {statistics.median(olds):.1f} | {statistics.median(ratios):.3f} ({every}) |", flush=True)
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()


if __name__ == "__main__":
    main()
