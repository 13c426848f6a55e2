#!/usr/bin/env python3
"""Lateness on a busy machine by priority of the sending threads: python3 benches/priority.py target/release/offered [--rounds 5]

`offered serve` with a constant service time of 5 ms, busy processes (three on two processors), and Poisson requests at 300/s for 6 s.
The variants take turns. `refused` is `auto` without the right to a lower nice value: only the short time slice remains. Needs root, or
CAP_SYS_NICE, for all others."""

import argparse
import json
import os
import signal
import statistics
import subprocess
import tempfile

VARIANTS = {
    "normal": (["--priority", "normal"], []),
    "refused": (["--priority", "auto"], ["setpriv", "--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice"]),
    "auto": (["--priority", "auto"], []),
    "realtime": (["--priority", "realtime"], []),
}


def run(offered, url, flags, wrapper, seed, directory):
    command = [*wrapper, offered, "run", url, "--open", "300/s", "--duration", "6s", "--seed", str(seed), *flags]
    done = subprocess.run([*command, "--json", "-o", directory], capture_output=True, text=True, check=False)
    summary = json.loads(done.stdout)
    with open(os.path.join(directory, "run.json"), encoding="utf-8") as record:
        granted = json.load(record)["generator"].get("scheduling", [{}])
    return summary, granted[0] if granted else {}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("offered")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--busy", type=int, default=3)
    arguments = parser.parse_args()
    server = subprocess.Popen(
        [arguments.offered, "serve", "--service", "constant:5ms", "--discipline", "ps", "--servers", "64", "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    url = next(word for word in server.stdout.readline().split() if word.startswith("http"))
    busy = [subprocess.Popen(["python3", "-c", "while True: pass"]) for _ in range(arguments.busy)]
    results = {name: [] for name in VARIANTS}
    try:
        for round_number in range(arguments.rounds):
            for name, (flags, wrapper) in VARIANTS.items():
                with tempfile.TemporaryDirectory() as folder:
                    results[name].append(run(arguments.offered, url, flags, wrapper, round_number + 1, f"{folder}/run"))
    finally:
        for process in [*busy, server]:
            process.send_signal(signal.SIGKILL)
            process.wait()
    print("| priority | granted | lateness p99 us, median (all) | reading p99 us, median | p99 ms of the response | validity |")
    print("|---|---|--:|--:|--:|---|")
    for name, runs in results.items():
        granted = runs[0][1]
        late = [summary["lateness_us"]["p99"] for summary, _ in runs]
        read = [(summary.get("reading_lateness_us") or {"p99": 0})["p99"] for summary, _ in runs]
        response = [summary["response_ms"]["p99"] for summary, _ in runs]
        validity = ", ".join(summary["validity"] for summary, _ in runs)
        granted = f"{granted.get('policy')}, nice {granted.get('nice')}, slice {granted.get('slice_us')} us"
        every = ", ".join(f"{value:.0f}" for value in sorted(late))
        print(f"| {name} | {granted} | {statistics.median(late):.0f} ({every}) | {statistics.median(read):.0f} "
              f"| {statistics.median(response):.1f} | {validity} |")


if __name__ == "__main__":
    main()
