"""How often runs on a busy machine are invalid, by generator error and with --strict: prints the table of book/src/background/calibration.md.

python3 benches/tolerance/tolerance.py [--offered target/release/offered] [--runs 5] [--seconds 8]

300 requests per second, Poisson, against `offered serve` on the same machine: without other load, next to two busy processes, and with a
generator that is really too slow (nice 19 next to those two, on one core, at 20,000 requests per second). Every run directory is judged
twice. Needs Linux (taskset).
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

# Mean service and servers, which share their time; at 300/s their load is 0.06, 0.75 and 0.75.
SERVERS = [("0.2 ms", "exponential:200us", 1), ("20 ms", "exponential:20ms", 8), ("2 s", "exponential:2s", 800)]
MACHINES = ["idle", "two busy processes", "generator too slow"]


def started(command):
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def ended(processes):
    for process in processes:
        process.kill()
        process.wait()


def judged(offered, run, *how):
    out = subprocess.run([offered, "verify", run, "--json", *how], capture_output=True, text=True)
    return json.loads(out.stdout)


def one(args, machine, service, servers, seed, folder):
    """The verdict by generator error, and the strict verdict, of one run."""
    socket = folder / "server.sock"
    serve = [args.offered, "serve", "--service", service, "--servers", str(servers), "--listen", f"unix:{socket}"]
    server = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    server.stdout.readline()  # wait until it listens
    busy = [] if machine == "idle" else [started(["sh", "-c", "while :; do :; done"]) for _ in range(2)]
    try:
        slow = machine == "generator too slow"
        rate, before = ("20000/s", ["taskset", "-c", "0", "nice", "-n", "19"]) if slow else ("300/s", [])
        out = folder / f"run-{seed}"
        load = ["--open", rate, "--duration", f"{args.seconds}s", "--seed", str(seed), "--threads", "1", "--output", str(out)]
        subprocess.run([*before, args.offered, "run", f"unix:{socket}:/", *load, "--quiet"], capture_output=True)
        return judged(args.offered, str(out)), judged(args.offered, str(out), "--strict")
    finally:
        ended([*busy, server])
        socket.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--offered", default="target/release/offered")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=8)
    args = parser.parse_args()
    print("| machine | service | valid | with warnings | invalid | invalid with --strict | largest generator error, median (maximum) % |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for machine in MACHINES:
        for name, service, servers in SERVERS if machine != "generator too slow" else SERVERS[:1]:
            said, strictly, shares = [], [], []
            for seed in range(1, args.runs + 1):
                with tempfile.TemporaryDirectory() as folder:
                    verdict, strict = one(args, machine, service, servers, seed, pathlib.Path(folder))
                said.append(verdict["validity"])
                strictly.append(strict["validity"])
                each = [share["lateness_share"] + abs(share["bunching_share"] or 0) for share in verdict["generator_error"]["percentiles"]]
                shares.append(min(100 * max(each), 100))
            counts = [said.count(word) for word in ("valid", "valid_with_warnings", "invalid")]
            worst = f"{statistics.median(shares):.3g} ({max(shares):.3g})"
            print(f"| {machine} | {name} | {' | '.join(map(str, counts))} | {strictly.count('invalid')} | {worst} |", flush=True)


main()
