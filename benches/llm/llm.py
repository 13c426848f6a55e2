#!/usr/bin/env python3
"""`offered llm` beside vllm-rs and AIPerf: `python3 benches/llm/llm.py --server PROGRAM [--vllm-rs PROGRAM] [--aiperf PROGRAM] [--rounds N]`.

The tools take turns against a server with a known law: the first token 50 ms after the request, then one every 10 ms. No figure comes from the
tools, except the percentiles that they report: the server has the kernel's receive stamp of each request and the instant at which it sent each token,
and the kernel counts processor time and memory. In one more round the server breaks some streams (an error in the stream, a closed connection, an end
without `[DONE]`), and the tools report how many requests failed. `offered` states the largest error that its own delays can have caused (generator
error); a second table compares that with the true error of each p99, also at higher rates. Only the standard library.

PROGRAM of --server is a streaming server with an OpenAI-compatible API that takes `--port N --out FILE --ttft const:50 --itl const:10`, and `--fail P`
and `--cut P` (probability of an error in the stream; of a closed connection and, as high, of an early end). On SIGTERM it writes FILE.req (CSV with rid,
krx, recv, status: number of the request, receive stamp of the kernel and of the program in ns, 0 for a whole stream or how it was broken) and FILE.tok
(for each token u32 rid, u32 number, i64 instant due, i64 instant sent). vllm-rs is a file of the wheel `vllm` (pip download --no-deps vllm; unzip it), AIPerf a package
(pip install aiperf). A tool that is not there is left out, and said so. As root, the server runs with SCHED_FIFO on a core of its own.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import platform
import resource
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
PORT, TOKENS, INPUT = 8197, 64, 100
URL = f"http://127.0.0.1:{PORT}"
METRICS = ("ttft", "tpot", "response")
# The way of a packet over the loopback interface, in ms, is no error of a tool.
LOOPBACK = 0.05


def tokenizer(folder):
    """Writes a tokenizer whose tokens are words, which vllm-rs and AIPerf need; the server counts words."""
    folder.mkdir()
    vocabulary = {word: number for number, word in enumerate(["[UNK]"] + [f"w{i}" for i in range(2000)])}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
    nothing = {"truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "post_processor": None, "decoder": None}
    whole = {"version": "1.0", "pre_tokenizer": {"type": "WhitespaceSplit"}, "model": model, **nothing}
    (folder / "tokenizer.json").write_text(json.dumps(whole))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]", "model_max_length": 100_000}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def offered(program, run):
    """The command, and how its p99 values are read from its output, in ms: `ttft`, others if it has them, what errors it states, and how many
    requests failed."""
    line = [program, "llm", f"{URL}/v1", "--rate", f"{run.rate}/s", "--input", str(INPUT), "--output", str(TOKENS)]
    line += ["-d", f"{run.seconds}s", "--no-pilot", "--model", "m", "--seed", str(run.seed), "--json", "--quiet"]
    line += ["--record", str(run.folder / "run")]

    def p99(stdout):
        found = json.loads(stdout)
        reported = {row["label"]: row["p99_ms"] for row in found["tokens"]["times"] if row["label"] in METRICS}
        error = found["generator_error"]
        stated = {row["metric"]: row["error_ms"] for row in error["streams"] if row["percentile"] == 99}
        shares = next(row for row in error["percentiles"] if row["percentile"] == 99)
        names = ("lateness_share", "writing_share", "bunching_share", "reading_share")
        stated["response"] = shares["response_ms"] * sum(abs(shares[name] or 0) for name in names)
        return {**reported, "stated": stated, "failed": found["total_requests"] - found["outcomes"].get("ok", 0)}

    return line, p99


def vllm_rs(program, run):
    line = [program, "bench", "serve", "--backend", "openai-chat", "--base-url", URL, "--model", "m", "--tokenizer", str(run.tokenizer)]
    line += ["--dataset-name", "random", "--random-input-len", str(INPUT), "--random-output-len", str(TOKENS), "--ignore-eos"]
    line += ["--request-rate", str(run.rate), "--num-prompts", str(run.rate * run.seconds), "--seed", str(run.seed), "--disable-tqdm"]
    line += ["--save-result", "--save-detailed", "--result-dir", str(run.folder), "--result-filename", "vllm.json"]

    def p99(_):
        found = json.loads((run.folder / "vllm.json").read_text())
        return {"ttft": 1e3 * percentile(found["ttfts"], 0.99), "failed": found["failed"]}

    return line, p99


def aiperf(program, run):
    out = run.folder / "aiperf"
    line = [program, "profile", "--model", "m", "--url", URL, "--endpoint-type", "chat", "--streaming", "--tokenizer", str(run.tokenizer)]
    line += ["--synthetic-input-tokens-mean", str(INPUT), "--synthetic-input-tokens-stddev", "0", "--output-tokens-mean", str(TOKENS)]
    line += ["--output-tokens-stddev", "0", "--extra-inputs", "ignore_eos:true", "--request-rate", str(run.rate), "--request-count"]
    line += [str(run.rate * run.seconds), "--random-seed", str(run.seed), "--ui", "none", "--artifact-dir", str(out)]

    def p99(_):
        rows = [json.loads(row) for file in out.rglob("profile_export.jsonl") for row in file.read_text().splitlines()]
        times = [row["metrics"]["time_to_first_token"]["value"] for row in rows if "time_to_first_token" in row["metrics"]]
        return {"ttft": percentile(times, 0.99), "failed": sum("error" in row for row in rows)}

    return line, p99


TOOLS = {"offered": offered, "vllm-rs": vllm_rs, "aiperf": aiperf}


def percentile(values, share):
    """By the nearest rank."""
    values = sorted(values)
    return values[max(0, math.ceil(share * len(values)) - 1)]


class Run:
    """What a run has: `rate` per second for `seconds`, the share of streams that the server breaks, and a folder of its own."""

    def __init__(self, rate, seconds, seed, folder, words, broken=0.0):
        self.rate, self.seconds, self.seed, self.folder, self.tokenizer, self.broken = rate, seconds, seed, folder, words, broken
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()

    def serve(self, program):
        fifo = ["chrt", "-f", "10"] if shutil.which("chrt") and os.geteuid() == 0 else []
        line = ["taskset", "-c", "0", *fifo, program, "--port", str(PORT), "--out", str(self.folder / "server")]
        line += ["--ttft", "const:50", "--itl", "const:10", "--fail", str(self.broken / 3), "--cut", str(self.broken / 3)]
        server = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        if server.poll() is not None:
            sys.exit(f"{program}: {server.stderr.read()}")
        return server


class Memory(threading.Thread):
    """The largest sum of the resident memory of a session of processes, in MB."""

    def __init__(self, session):
        super().__init__(daemon=True)
        self.session, self.peak, self.ended = session, 0, threading.Event()

    def run(self):
        while not self.ended.wait(0.3):
            pages = 0
            for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
                try:
                    fields = stat.read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if int(fields[3]) == self.session:
                    pages += int(fields[21])
            self.peak = max(self.peak, pages * resource.getpagesize() / 2**20)


def dispersion(instants):
    """The variance of the numbers of requests in windows of 0.1 s, divided by their mean: 1 for a Poisson process."""
    counts = [0] * ((instants[-1] - instants[0]) // 10**8)
    for instant in instants:
        window = (instant - instants[0]) // 10**8
        if window < len(counts):
            counts[window] += 1
    return statistics.variance(counts) / statistics.fmean(counts)


def wire(path):
    """What the server saw: requests per second, CoV, KS distance of the gaps from exponential ones, dispersion, true p99 of each metric in ms, tokens,
    broken streams."""
    with open(f"{path}.req", newline="") as file:
        rows = list(csv.DictReader(file))
    received = {int(row["rid"]): int(row["krx"]) or int(row["recv"]) for row in rows}
    broken = sum(int(row["status"]) > 0 for row in rows)
    ends, tokens = {}, 0
    for rid, _, _, sent in struct.iter_unpack("<IIqq", pathlib.Path(f"{path}.tok").read_bytes()):
        tokens += 1
        ends[rid] = (ends.get(rid, (sent,))[0], sent)
    true = {
        "ttft": [(first - received[rid]) / 1e6 for rid, (first, _) in ends.items()],
        "tpot": [(last - first) / 1e6 / (TOKENS - 1) for first, last in ends.values()],
        "response": [(last - received[rid]) / 1e6 for rid, (_, last) in ends.items()],
    }
    true = {metric: percentile(times, 0.99) for metric, times in true.items()}
    instants = sorted(received.values())
    gaps = sorted((after - before) / 1e9 for before, after in zip(instants, instants[1:]))
    mean, n = statistics.fmean(gaps), len(gaps)
    law = [1 - math.exp(-gap / mean) for gap in gaps]
    distance = max(max((i + 1) / n - p, p - i / n) for i, p in enumerate(law))
    rate = n / ((instants[-1] - instants[0]) / 1e9)
    seen = {"rate": rate, "cov": statistics.pstdev(gaps) / mean, "ks": distance, "critical": 1.36 / math.sqrt(n), "true": true}
    return {**seen, "dispersion": dispersion(instants), "tokens": tokens, "broken": broken}


def measure(server, tool, program, run):
    """A run of a tool: the figures of `wire`, its error, microseconds of processor time for each token, and memory."""
    line, p99 = tool(program, run)
    serving = run.serve(server)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=run.folder)
    memory = Memory(process.pid)
    memory.start()
    try:
        stdout, stderr = process.communicate(timeout=20 * run.seconds + 300)
    finally:
        memory.ended.set()
        # The server is waited for after its processor time is read.
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        serving.send_signal(signal.SIGTERM)
        serving.wait()
    # 3: a run that `offered` calls invalid has figures too.
    if process.returncode not in (0, 3):
        sys.exit(f"{' '.join(line)}: exit code {process.returncode}\n{stdout[-2000:]}{stderr[-2000:]}")
    seen = wire(run.folder / "server")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    reported = p99(stdout)
    error = reported["ttft"] - seen["true"]["ttft"]
    return {**seen, "reported": reported, "error": error, "cpu": 1e6 * used / seen["tokens"], "memory": memory.peak}


def cell(rows, key, form):
    """The median, with the range of the rounds."""
    values = [row[key] for row in rows]
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def stated_errors(rate, rows):
    """Rows of the table of the true errors of the p99 values and those that the tool states."""
    for metric in METRICS:
        of = [
            {"reported": row["reported"][metric], "true": row["true"][metric], "stated": row["reported"]["stated"][metric]}
            for row in rows
        ]
        for row in of:
            row["error"] = row["reported"] - row["true"]
        bounded = sum(abs(row["error"]) <= row["stated"] + LOOPBACK for row in of)
        cells = [cell(of, key, form) for key, form in (("reported", ".3f"), ("true", ".3f"), ("error", "+.3f"), ("stated", ".3f"))]
        print(f"| {rate} | {metric} | {' | '.join(cells)} | {bounded} of {len(of)} |")


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--server", required=True, help="the streaming server")
    flags.add_argument("--offered", default=str(HERE.parents[1] / "target/release/offered"))
    flags.add_argument("--vllm-rs", default="vllm-rs")
    flags.add_argument("--aiperf", default="aiperf")
    flags.add_argument("--only", nargs="*", choices=TOOLS, default=list(TOOLS))
    flags.add_argument("--rounds", type=int, default=5)
    flags.add_argument("--seconds", type=int, default=30)
    flags.add_argument("--rate", type=int, default=200)
    flags.add_argument("--stated", nargs="*", type=int, default=[400, 800], help="further rates at which the stated errors are compared")
    flags.add_argument("--broken", type=float, default=0.03, help="share of streams that the server breaks in the last round")
    flags = flags.parse_args()
    programs = {name: shutil.which(getattr(flags, name.replace("-", "_"))) for name in flags.only}
    for name in [name for name, program in programs.items() if program is None]:
        print(f"{name} is not here, so it has no row; see --help for how to get it", file=sys.stderr)
        del programs[name]
    server = shutil.which(flags.server) or sys.exit(f"{flags.server} is not a program")
    rows, broken, stated = {name: [] for name in programs}, {}, {rate: [] for rate in flags.stated}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        tokenizer(folder / "tokenizer")

        def once(label, name, seed, rate, share=0.0):
            run = Run(rate, flags.seconds, seed, folder / "run", folder / "tokenizer", share)
            found = measure(server, TOOLS[name], os.path.abspath(programs[name]), run)
            print(f"{label}: {name} {found}", file=sys.stderr)
            return found

        for number in range(1, flags.rounds + 1):
            for name in programs:
                rows[name].append(once(f"round {number}", name, number, flags.rate))
        for name in programs if flags.broken else ():
            broken[name] = once("broken streams", name, 1, flags.rate, flags.broken)
        for rate in stated if "offered" in programs else ():
            stated[rate] = [once(f"{rate}/s, round {number}", "offered", number, rate) for number in range(1, flags.rounds + 1)]
    load = ", ".join(f"{part:.1f}" for part in os.getloadavg())
    print(f"{os.cpu_count()} cores, {platform.machine()}, load {load}; {flags.rate}/s x {TOKENS} tokens for {flags.seconds} s, {flags.rounds} rounds, median (range)\n")
    print("| tool | sent/s | CoV | dispersion | KS distance (critical) | TTFT p99 error ms | CPU us/token | memory MB | broken streams found |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, of in rows.items():
        cells = [cell(of, key, form) for key, form in (("rate", ".1f"), ("cov", ".2f"), ("dispersion", ".2f"), ("ks", ".4f"))]
        cells[-1] += f" ({of[0]['critical']:.4f})"
        cells += [cell(of, key, form) for key, form in (("error", "+.2f"), ("cpu", ".1f"), ("memory", ",.0f"))]
        found = f"{broken[name]['reported']['failed']} of {broken[name]['broken']}" if name in broken else "-"
        print(f"| {name} | {' | '.join(cells)} | {found} |")
    if rows.get("offered"):
        print("\n| requests/s | p99 ms | reported | true | true error | stated error | bounded |\n|--:|---|--:|--:|--:|--:|--:|")
        for rate, of in [(flags.rate, rows["offered"]), *stated.items()]:
            stated_errors(rate, of)


if __name__ == "__main__":
    main()
