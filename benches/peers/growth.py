#!/usr/bin/env python3
"""Cost per request of `offered run` as the test grows: `python3 benches/peers/growth.py [--rounds N] [--offered PROGRAM]`.

Processor time (user + sys) of the whole process per request (counted by nginx), by connections, rate, labels and duration of the run. One
thread on core 0, nginx on core 1, values alternate, medians of the rounds. Every event is recorded, read back and judged.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

import peers

WORKLOAD = """duration = "{seconds}s"
{arrivals}
[target]
url = "{url}"
[generator]
threads = 1
wait = "sleep"
"""


def users(number):
    return f"arrivals.closed = {{ users = {number} }}"


def rate(number):
    return f'arrivals.open = {{ rate = "{number}/s" }}'


# Title, values, and for each value: the arrivals, the number of requests in the workload, and the duration in seconds.
GROWTH = [
    ("connections without think time", [1, 10, 100, 1000, 10_000], lambda n: (users(n), 1, 4)),
    ("requests per second, Poisson, sleeping", [100, 1000, 5000, 10_000, 20_000], lambda n: (rate(n), 1, 4)),
    ("labels, 64 connections", [1, 10, 100, 1000, 10_000], lambda n: (users(64), n, 4)),
    ("duration in seconds, 64 connections", [1, 4, 16, 64], lambda n: (users(64), 1, n)),
]


def cost(folder, url, arrivals, labels, seconds):
    """(requests per second, processor time per request in us, lateness p50 in us, peak memory in MB) of one run."""
    text = WORKLOAD.format(seconds=seconds, arrivals=arrivals, url=url)
    text += "".join(f'[[request]]\nname = "page {n}"\nget = "/?{n}"\n' for n in range(labels))
    (folder / "grown.toml").write_text(text)
    shutil.rmtree(folder / "run", ignore_errors=True)
    command = [peers.OFFERED, "run", str(folder / "grown.toml"), "--output", str(folder / "run"), "--json", "--quiet"]
    before = peers.count(url)
    output, cpu = peers.measured(["/usr/bin/env", "time", "-o", str(folder / "memory"), "-f", "%M", *command], url)
    requests = peers.count(url) - before - 1
    memory = int((folder / "memory").read_text().split()[-1]) / 1024
    return requests / seconds, cpu * 1e6 / requests, json.loads(output)["lateness_us"]["p50"], memory


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="only tables whose title contains one of these words: connections,labels")
    parser.add_argument("--offered", default="target/release/offered", help="the offered binary [target/release/offered]")
    args = parser.parse_args()
    peers.OFFERED = os.path.abspath(args.offered)
    os.environ["PATH"] += ":/usr/sbin"
    for needed in ["nginx", "time"]:
        if shutil.which(needed) is None:
            sys.exit(f"error: this needs {needed}; install it (apt-get install nginx-light time)")
    with tempfile.TemporaryDirectory() as name, peers.nginx(pathlib.Path(name)) as url:
        folder = pathlib.Path(name)
        for title, values, of in GROWTH:
            if args.only and not any(word in title for word in args.only.split(",")):
                continue
            rounds = {value: [] for value in values}
            for _ in range(args.rounds):
                for value in values:
                    rounds[value].append(cost(folder, url, *of(value)))
            print(f"\n| {title} | requests/s | CPU us/request | lateness p50 us | peak MB |\n|--:|--:|--:|--:|--:|")
            for value, found in rounds.items():
                rate_seen, cpu, late, memory = (statistics.median(column) for column in zip(*found))
                low, high = min(row[1] for row in found), max(row[1] for row in found)
                print(f"| {value:,} | {rate_seen:,.0f} | {cpu:.1f} ({low:.1f} to {high:.1f}) | {late:,.1f} | {memory:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
