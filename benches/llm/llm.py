#!/usr/bin/env python3
"""`offered llm` beside vllm-rs and AIPerf: `python3 benches/llm/llm.py --server PROGRAM [--vllm-rs PROGRAM] [--aiperf PROGRAM] [--rounds N]`.

The tools take turns against a server with a known law: the first token 50 ms after the request, then one every 10 ms. No figure comes from the
tools, except the p99 of the time to first token that each reports: the server has the kernel's receive stamp of each request and the instant at
which it sent each token, and the kernel counts processor time and memory. Only the standard library.

PROGRAM of --server is a streaming server with an OpenAI-compatible API that takes `--port N --out FILE --ttft const:50 --itl const:10` and on SIGTERM
writes FILE.req (CSV with rid, krx, recv: number of the request, receive stamp of the kernel and of the program, in ns) and FILE.tok (for each token
u32 rid, u32 number, i64 instant due, i64 instant sent). vllm-rs is a file of the wheel `vllm` (pip download --no-deps vllm; unzip it), AIPerf a package
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
    """The command, and how the p99 of its time to first token is read from its output, in ms."""
    line = [program, "llm", f"{URL}/v1", "--rate", f"{run.rate}/s", "--input", str(INPUT), "--output", str(TOKENS)]
    line += ["-d", f"{run.seconds}s", "--no-pilot", "--model", "m", "--seed", str(run.seed), "--json", "--quiet"]
    line += ["--record", str(run.folder / "run")]

    def p99(stdout):
        times = json.loads(stdout)["tokens"]["times"]
        return next(row["p99_ms"] for row in times if row["label"] == "ttft")

    return line, p99


def vllm_rs(program, run):
    line = [program, "bench", "serve", "--backend", "openai-chat", "--base-url", URL, "--model", "m", "--tokenizer", str(run.tokenizer)]
    line += ["--dataset-name", "random", "--random-input-len", str(INPUT), "--random-output-len", str(TOKENS), "--ignore-eos"]
    line += ["--request-rate", str(run.rate), "--num-prompts", str(run.rate * run.seconds), "--seed", str(run.seed), "--disable-tqdm"]
    line += ["--save-result", "--save-detailed", "--result-dir", str(run.folder), "--result-filename", "vllm.json"]

    def p99(_):
        return 1e3 * percentile(json.loads((run.folder / "vllm.json").read_text())["ttfts"], 0.99)

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
        return percentile(times, 0.99)

    return line, p99


TOOLS = {"offered": offered, "vllm-rs": vllm_rs, "aiperf": aiperf}


def percentile(values, share):
    """By the nearest rank."""
    values = sorted(values)
    return values[max(0, math.ceil(share * len(values)) - 1)]


class Run:
    """What a run has: `rate` per second for `seconds`, and a folder of its own."""

    def __init__(self, rate, seconds, seed, folder, words):
        self.rate, self.seconds, self.seed, self.folder, self.tokenizer = rate, seconds, seed, folder, words
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()

    def serve(self, program):
        fifo = ["chrt", "-f", "10"] if shutil.which("chrt") and os.geteuid() == 0 else []
        line = ["taskset", "-c", "0", *fifo, program, "--port", str(PORT), "--out", str(self.folder / "server")]
        server = subprocess.Popen([*line, "--ttft", "const:50", "--itl", "const:10"], stderr=subprocess.PIPE, text=True)
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


def wire(path):
    """What the server saw: requests per second, CoV, KS distance of the gaps from exponential ones, true p99 of the time to first token in ms, tokens."""
    with open(f"{path}.req", newline="") as file:
        received = {int(row["rid"]): int(row["krx"]) or int(row["recv"]) for row in csv.DictReader(file)}
    first, tokens = {}, 0
    for rid, number, _, sent in struct.iter_unpack("<IIqq", pathlib.Path(f"{path}.tok").read_bytes()):
        tokens += 1
        if number == 0:
            first[rid] = (sent - received[rid]) / 1e6
    instants = sorted(received.values())
    gaps = sorted((after - before) / 1e9 for before, after in zip(instants, instants[1:]))
    mean, n = statistics.fmean(gaps), len(gaps)
    law = [1 - math.exp(-gap / mean) for gap in gaps]
    distance = max(max((i + 1) / n - p, p - i / n) for i, p in enumerate(law))
    rate = n / ((instants[-1] - instants[0]) / 1e9)
    return {"rate": rate, "cov": statistics.pstdev(gaps) / mean, "ks": distance, "critical": 1.36 / math.sqrt(n), "ttft": percentile(first.values(), 0.99), "tokens": tokens}


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
    return {**seen, "error": p99(stdout) - seen["ttft"], "cpu": 1e6 * used / seen["tokens"], "memory": memory.peak}


def cell(rows, key, form):
    """The median, with the range of the rounds."""
    values = [row[key] for row in rows]
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


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
    flags = flags.parse_args()
    programs = {name: shutil.which(getattr(flags, name.replace("-", "_"))) for name in flags.only}
    for name in [name for name, program in programs.items() if program is None]:
        print(f"{name} is not here, so it has no row; see --help for how to get it", file=sys.stderr)
        del programs[name]
    server = shutil.which(flags.server) or sys.exit(f"{flags.server} is not a program")
    rows = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        tokenizer(folder / "tokenizer")
        for number in range(flags.rounds):
            for name, program in programs.items():
                run = Run(flags.rate, flags.seconds, number + 1, folder / "run", folder / "tokenizer")
                rows[name].append(measure(server, TOOLS[name], os.path.abspath(program), run))
                print(f"round {number + 1}: {name} {rows[name][-1]}", file=sys.stderr)
    load = ", ".join(f"{part:.1f}" for part in os.getloadavg())
    print(f"{os.cpu_count()} cores, {platform.machine()}, load {load}; {flags.rate}/s x {TOKENS} tokens for {flags.seconds} s, {flags.rounds} rounds, median (range)\n")
    print("| tool | sent/s | CoV | KS distance (critical) | TTFT p99 error ms | CPU us/token | memory MB |\n|---|--:|--:|--:|--:|--:|--:|")
    for name, of in rows.items():
        distance = f"{cell(of, 'ks', '.4f')} ({of[0]['critical']:.4f})"
        print(f"| {name} | {cell(of, 'rate', '.1f')} | {cell(of, 'cov', '.2f')} | {distance} | {cell(of, 'error', '+.2f')} | {cell(of, 'cpu', '.1f')} | {cell(of, 'memory', ',.0f')} |")


if __name__ == "__main__":
    main()
