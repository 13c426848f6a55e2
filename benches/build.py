#!/usr/bin/env python3
"""Measures the loop of a contributor: build.py [STEP...] [--commit REF] [--keep DIR]

Clones a commit, compiles it from nothing (the registry is fetched before), and prints the wall time and the processor time of each step:
  first   cargo run --profile quick -- demo  the first command of the README, demo included
  test    cargo test                         the second
  second  cargo test --no-run                in a second work tree, with sccache (must be installed); after `test`
  ci      bash .ci/run                       what CI runs (as root on Debian)
Nothing else should run on the machine. No assertion: read the table.
"""
import argparse, os, pathlib, resource, shutil, subprocess, tempfile, time

STEPS = {
    "first": "cargo run --profile quick -- demo",
    "test": "cargo test",
    "second": "RUSTC_WRAPPER=sccache CARGO_INCREMENTAL=0 cargo test --no-run",
    "ci": "bash .ci/run",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", metavar="STEP", help=", ".join(STEPS))
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--keep", help="write each step's output to DIR/STEP.log")
    args = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    commit = subprocess.check_output(["git", "-C", root, "rev-parse", "--short", args.commit], text=True).strip()
    logs = pathlib.Path(args.keep or tempfile.mkdtemp())
    logs.mkdir(parents=True, exist_ok=True)
    print(f"commit {commit}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} before the first step\n")
    print(f"{'step':<8}{'wall s':>8}{'processor s':>13}  result")
    for step in args.steps or ["first", "test"]:
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "source"
            subprocess.check_call(["git", "clone", "-q", root, source])
            subprocess.check_call(["git", "-C", source, "checkout", "-q", commit])
            subprocess.check_call(["cargo", "fetch", "--quiet", "--locked"], cwd=source)
            if step == "second" and not shutil.which("sccache"):
                print(f"{step:<8}{'-':>8}{'-':>13}  not measured: sccache is not installed")
                continue
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            with open(logs / f"{step}.log", "w", encoding="utf-8") as log:
                status = subprocess.call(STEPS[step], shell=True, cwd=source, stdout=log, stderr=log)
            after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - start
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"{step:<8}{wall:8.0f}{cpu:13.0f}  {'ok' if status == 0 else f'exit {status}: see {logs / step}.log'}", flush=True)


main()
