#!/usr/bin/env python3
"""A soak test with a fault every ten seconds, and a reconciliation at the end: `python3 benches/peers/faults.py [--minutes 60] [--rate 200]`.

Poisson requests with numbered paths go through a small proxy to `offered serve`, which records every request. The responses are JSON, and
each is checked. The faults alternate: all connections are reset, the proxy refuses, the proxy stalls, the server and the generator are stopped
(SIGSTOP), the disk of the recording is full, it hangs (`fsfreeze`), the target's name does not resolve, one of its two addresses is dead, and
responses are JSON of 24 KB that unpack to 17 MB. At the end every request is compared between the schedule (`run --dry-run` of the same
workload and seed), the recording, and the server's record. Needs root, for a small file system and a private hosts file for the generator."""

import argparse
import asyncio
import collections
import csv
import gzip
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

NAME = "soak.test"
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends RST
USUAL = b'Content-Length: 11\r\n\r\n{"token":1}'
PACKED = gzip.compress(b"[" + b'{"":0},' * 2_400_000 + b"0]")
BIG = b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(PACKED) + PACKED
FAULTS = ["disk hung", "big JSON", "dead address", "disk full", "reset", "refuse", "stall", "server stopped", "generator stopped", "name lost"]


class Proxy:
    """Forwards requests to the server, answers with JSON when the server has responded, and injects faults."""

    def __init__(self, port):
        self.port, self.pairs, self.flowing, self.rest = port, set(), asyncio.Event(), USUAL
        self.flowing.set()

    async def open(self, port=0):
        self.listener = await asyncio.start_server(self.carry, "127.0.0.1", port)
        return self.listener.sockets[0].getsockname()[1]

    async def carry(self, reader, writer):
        try:
            server = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return writer.close()
        pair = (writer, server[1])
        self.pairs.add(pair)

        async def copy(source, sink):
            try:
                while data := await source.read(65536):
                    await self.flowing.wait()
                    sink.write(data)
                    await sink.drain()
            except OSError:
                pass

        async def answer(source, sink):
            try:
                while head := await source.readuntil(b"\r\n\r\n"):
                    await source.readexactly(int(re.search(rb"(?i)content-length: *(\d+)", head)[1]))
                    await self.flowing.wait()
                    sink.write(head.split(b"\r\n", 1)[0] + b"\r\n" + self.rest)
                    await sink.drain()
            except (OSError, asyncio.IncompleteReadError):
                pass

        ways = [asyncio.create_task(copy(reader, server[1])), asyncio.create_task(answer(server[0], writer))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        self.pairs.discard(pair)
        for one in pair:
            one.close()

    def reset(self):
        for pair in list(self.pairs):
            for writer in pair:
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                writer.transport.abort()


async def misbehave(proxy, port, server, run, folder, faults):
    """Injects a fault every ten seconds until the run ends; counts the faults in `faults`."""
    hosts, filler = folder / "hosts", folder / "disk/filler"
    good = hosts.read_text()
    for n in range(10**9):
        await asyncio.sleep(7)
        if run.poll() is not None:
            return
        fault = FAULTS[n % len(FAULTS)]
        faults[fault] += 1
        if fault == "reset":
            proxy.reset()
            await asyncio.sleep(3)
        elif fault == "refuse":
            proxy.listener.close()
            proxy.reset()
            await asyncio.sleep(3)
            await proxy.open(port)
        elif fault == "stall":
            proxy.flowing.clear()
            await asyncio.sleep(3)
            proxy.flowing.set()
        elif fault == "disk full":
            with open(filler, "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError:
                    pass
            await asyncio.sleep(3)
            filler.unlink()
        elif fault == "disk hung":
            subprocess.run(["fsfreeze", "--freeze", folder / "disk"], check=True)
            await asyncio.sleep(3)
            subprocess.run(["fsfreeze", "--unfreeze", folder / "disk"], check=True)
        elif fault in ("name lost", "dead address"):
            hosts.write_text("" if fault == "name lost" else f"127.0.0.2 {NAME}\n{good}")
            await asyncio.sleep(3)
            hosts.write_text(good)
        elif fault == "big JSON":
            proxy.rest = BIG
            await asyncio.sleep(3)
            proxy.rest = USUAL
        else:
            process = server if fault == "server stopped" else run
            process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(3)
            process.send_signal(signal.SIGCONT)


async def soak(wanted, folder):
    offered = str(pathlib.Path(wanted.offered).absolute())
    disk, record, hosts = folder / "disk", folder / "seen.csv", folder / "hosts"
    disk.mkdir()
    size, image = wanted.minutes * 60 * wanted.rate * 60 + 60e6, folder / "image"
    with open(image, "wb") as file:
        file.truncate(int(size))
    # No blocks reserved for root: it must become full.
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, disk], check=True)
    server = subprocess.Popen(
        [offered, "serve", "--listen", "127.0.0.1:0", "--service", "exponential:5ms", "--discipline", "infinite"]
        + ["--wait-mode", "sleep", "--record", record],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    faults, resident = collections.Counter(), []
    try:
        said = server.stdout.readline()
        proxy = Proxy(int(re.search(r"127\.0\.0\.1:(\d+)", said)[1]))
        port = await proxy.open()
        hosts.write_text(f"127.0.0.1 {NAME}\n")
        workload = folder / "soak.toml"
        workload.write_text(
            f"""seed = 7
duration = "{wanted.minutes * 60:.0f}s"
arrivals.open.rate = "{wanted.rate}/s"
[target]
url = "http://{NAME}:{port}"
resolve_every = "1s"
connect_timeout = "2s"
response_timeout = "2s"
[[request]]
name = "one"
get = "/{{{{session}}}}"
check = [{{ json = "$.token" }}]
"""
        )
        # A private hosts file of the generator.
        script = 'mount --bind "$1" /etc/hosts && shift && exec "$@"'
        run = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", script, "sh", hosts, offered, "run", workload]
            + ["--output", disk / "run", "--json", "--quiet", "--wait-mode", "sleep"],
            stdout=open(folder / "said.json", "w"), stderr=subprocess.PIPE,
        )  # fmt: skip
        troubling = asyncio.create_task(misbehave(proxy, port, server, run, folder, faults))
        while run.poll() is None:
            await asyncio.sleep(5)
            try:
                status = pathlib.Path(f"/proc/{run.pid}/status").read_text()
                resident.append(int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024)
            except (OSError, TypeError):
                break
        code = run.wait()
        troubling.cancel()
        print(run.stderr.read().decode()[-2000:], file=sys.stderr)
        server.send_signal(signal.SIGCONT)
        server.send_signal(signal.SIGINT)
        server.wait()
        return code, faults, resident, records(offered, folder)
    finally:
        server.kill()
        subprocess.run(["fsfreeze", "--unfreeze", disk], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["umount", "-l", disk], check=False)


def records(offered, folder):
    """The sessions of the schedule; (session, outcome, sent_ns) of the recording; (session, completed) of the server."""

    def events(run):
        out = folder / "events.csv"
        subprocess.run([offered, "export", run, "--format", "csv", "--output", out], check=True, stdout=subprocess.DEVNULL)
        with open(out) as file:
            return [(int(row["session"]), row["outcome"], row["sent_ns"]) for row in csv.DictReader(file)]

    dry = ["run", folder / "soak.toml", "--dry-run", "--quiet", "--json", "--output", folder / "dry"]
    subprocess.run([offered, *dry], check=True, stdout=subprocess.DEVNULL)
    schedule = [session for session, _, _ in events(folder / "dry")]
    (folder / "events.csv").unlink()
    recorded = events(folder / "disk/run")
    with open(folder / "seen.csv") as file:
        rows = csv.reader(file)
        columns = next(rows)
        path, done = columns.index("path"), columns.index("done_ns")
        seen = [(row[path].lstrip("/"), row[done] != "") for row in rows]
    return schedule, recorded, [(int(session), done) for session, done in seen if session.isdigit()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--offered", default="target/release/offered")
    wanted = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("needs root")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        code, faults, resident, (schedule, recorded, seen) = asyncio.run(soak(wanted, pathlib.Path(folder)))
        said = json.loads(pathlib.Path(folder, "said.json").read_text())
    print(f"{time.monotonic() - begun:.0f} s, exit code {code} ({said['validity']}), faults: {dict(faults)}")
    half = len(resident) // 2
    print(f"resident memory: at most {max(resident[:half]):.1f} MB in the first half, {max(resident[half:]):.1f} MB in the second")
    outcomes = collections.Counter(outcome for _, outcome, _ in recorded)
    print(f"schedule {len(schedule)}, events {len(recorded)}, reported {said['total_requests']}; outcomes {dict(outcomes)}")
    events = {session: outcome for session, outcome, _ in recorded}
    sent = {session for session, _, at in recorded if at}
    served = dict(seen)
    ok = {session for session, outcome in events.items() if outcome == "ok"}
    print(f"the server received {len(seen)} requests and completed {sum(served.values())}")
    failed = [
        what
        for what, holds in {
            "every scheduled request is one event": sorted(schedule) == sorted(session for session, _, _ in recorded),
            "the reported counts equal the recorded ones": said["total_requests"] == len(recorded) and said["outcomes"] == dict(outcomes),
            "the server received each request at most once": len(served) == len(seen),
            "the server received only requests that were sent": served.keys() <= sent,
            "the server completed every successful request": ok <= {session for session, done in served.items() if done},
            "no request is successful that the server did not receive": not ok - served.keys(),
        }.items()
        if not holds
    ]
    print("\n".join(f"FAILED: {what}" for what in failed) or "all records agree")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
