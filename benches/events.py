#!/usr/bin/env python3
"""`offered verify` compared with other readers of the same events: python3 benches/events.py target/release/offered [--requests 1e6 1e7] [DIR]

Records a dry run with this number of requests (10,000/s Poisson, ten request types, exponential response times of 20 ms). Then runs each
reader in its own process on one thread: processor time, events per second, peak resident memory. DuckDB and Polars (from PyPI) compute two
statistics of a verdict, the percentiles of the responses and the CoV of the gaps; `wc -l` counts the lines of the same run as a JTL. The
last line extrapolates to 10^9. DIR needs 20 bytes per request, and 110 more up to 10^7."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

WORKLOAD = """seed = 1
duration = "{}s"
target.url = "http://127.0.0.1:9/"
arrivals.open.rate = "10000/s"
""" + "".join(f'[[request]]\nname = "page {i}"\nget = "/{i}"\n' for i in range(10))

DUCKDB = """
import duckdb, sys
db = duckdb.connect()
db.execute("SET threads = 1")
parts = sys.argv[1] + "/events/*.parquet"
print(db.execute(f'''SELECT count(*), avg(done_ns - intended_ns) / 1e6,
    quantile_disc((done_ns - intended_ns) / 1e6, [0.5, 0.9, 0.95, 0.99]) FROM '{parts}' WHERE object = 0''').fetchone())
print(db.execute(f'''WITH gaps AS (SELECT sent_ns - lag(sent_ns) OVER (ORDER BY sent_ns) AS gap FROM '{parts}' WHERE object = 0)
    SELECT stddev_samp(gap) / avg(gap) FROM gaps''').fetchone())
"""

POLARS = """
import polars as pl, sys
events = pl.scan_parquet(sys.argv[1] + "/events/*.parquet").filter(pl.col("object") == 0)
response = (pl.col("done_ns") - pl.col("intended_ns")) / 1e6
quantiles = [response.quantile(q).alias(str(q)) for q in (0.5, 0.9, 0.95, 0.99)]
print(events.select(pl.len(), response.mean().alias("mean"), *quantiles).collect(engine="streaming"))
gap = pl.col("sent_ns").sort().diff()
print(events.select(gap.std() / gap.mean()).collect(engine="streaming"))
"""


def measured(*command):
    """Processor time in s and peak resident memory in MB."""
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    errors = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 3):
        return errors.decode().strip().splitlines()[-1:]
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("offered")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--requests", type=float, nargs="*", default=[1e6, 1e7])
    wanted = parser.parse_args()
    offered, folder = os.path.abspath(wanted.offered), pathlib.Path(wanted.folder or tempfile.mkdtemp())
    print("requests     reader                   CPU s   M events/s   peak MB")
    trend = []
    for requests in map(int, wanted.requests):
        workload, run, table = folder / "events.toml", folder / "run", folder / "run.jtl"
        shutil.rmtree(run, ignore_errors=True)
        workload.write_text(WORKLOAD.format(requests // 10_000))
        # Only the recording matters here; the exit code of the dry run is ignored.
        subprocess.run(
            [offered, "run", workload, "--dry-run", "exponential:20ms", "--quiet", "--json", "--output", run], stdout=subprocess.DEVNULL
        )
        readers = {
            "offered verify": [offered, "verify", str(run)],
            "DuckDB, two statistics": [sys.executable, "-c", DUCKDB, str(run)],
            "Polars, two statistics": [sys.executable, "-c", POLARS, str(run)],
        }
        if requests <= 10**7:
            subprocess.run([offered, "export", run, "--format", "jtl", "--output", table], check=True)
            readers["wc -l of the JTL"] = ["wc", "-l", str(table)]
        for reader, command in readers.items():
            match measured(*command):
                case (cpu, peak):
                    print(f"{requests:12,} {reader:22} {cpu:7.2f} {requests / cpu / 1e6:12.2f} {peak:9.0f}", flush=True)
                    if reader == "offered verify":
                        trend.append((requests, cpu, peak))
                case why:
                    print(f"{requests:12,} {reader:22} failed: {why}", flush=True)
        table.unlink(missing_ok=True)
    shutil.rmtree(folder if not wanted.folder else run, ignore_errors=True)
    if len(trend) > 1:
        (n, cpu, _), (more, later, peak) = trend[-2:]
        print(f"1e9, extrapolated: {later + (1e9 - more) * (later - cpu) / (more - n):.0f} s, {peak:.0f} MB")


if __name__ == "__main__":
    main()
