#!/usr/bin/env python3
"""Memory of `offered run` over time: `python3 benches/peers/soak.py [--minutes 30] [--rate 5000] [--offered PROGRAM]`.

Poisson requests, recorded, with a live page that a client reads. Samples the resident memory of the process every 10 s, prints a line per
minute, and compares the requests counted by nginx and by the recording at the end. The temporary directory needs 17 bytes per request."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import peers


def resident_mb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def read_page(child):
    """Reads the live page's event stream, whose address the program prints on stderr, until it ends."""
    for line in child.stderr:
        if link := re.search(r"http://\S+", line):
            break
    else:
        return
    threading.Thread(target=lambda: [None for _ in child.stderr], daemon=True).start()
    with urllib.request.urlopen(link[0].rstrip("/") + "/events") as stream:
        for _ in stream:
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=int, default=5000)
    parser.add_argument("--offered", default="target/release/offered")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, peers.nginx(pathlib.Path(folder)) as url:
        before = peers.count(url)
        command = [wanted.offered, "run", url, "--open", f"{wanted.rate}/s", "--duration", f"{wanted.minutes * 60:.0f}s"]
        child = subprocess.Popen(
            [*command, "--ui", "--output", f"{folder}/run", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        threading.Thread(target=read_page, args=[child], daemon=True).start()
        ends = time.monotonic() + wanted.minutes * 60
        held = []
        while time.monotonic() < ends:
            time.sleep(min(10, max(0, ends - time.monotonic())))
            if child.poll() is not None:
                break
            held.append(resident_mb(child.pid))
            if len(held) % 6 == 0:
                print(f"{len(held) // 6:4} min {held[-1]:6.1f} MB {'#' * round(held[-1])}", flush=True)
        said = json.loads(child.communicate()[0])
        counted = peers.count(url) - before - 1
    sent, verdict = said["total_requests"], said["validity"]
    print(f"exit code {child.returncode} ({verdict}); requests recorded {sent}, counted by nginx {counted}")
    middle = len(held) // 2
    print(f"resident memory: at most {max(held[:middle]):.1f} MB in the first half, {max(held[middle:]):.1f} MB in the second")


if __name__ == "__main__":
    sys.exit(main())
