#!/usr/bin/env python3
"""Peak memory of `offered` under hostile responses and run directories: `python3 benches/peers/attacks.py [--offered PROGRAM] [--only NAME]`.

Each attack is a small server, or a prepared directory, and a command. The table has the peak resident memory of the process, its processor
time, wall time and exit code. faults.md promises less than 200 MB; a process that allocates more than four gigabytes of address space fails."""

import argparse
import asyncio
import base64
import gzip
import hashlib
import os
import pathlib
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

JSON_BOMB = gzip.compress(b"[" + b'{"":0},' * 2_400_000 + b"0]")
WIDE = b'{"a":[' + b"1," * 7_000_000 + b"1]}"
NESTED = b"<div>" * 3_000_000
LONG_LINE = b"a" * 16_000_000


def zeros(unpacked):
    """Zeros, compressed with gzip without holding them."""
    packer, chunk = zlib.compressobj(9, zlib.DEFLATED, 31), bytes(1 << 20)
    return b"".join(packer.compress(chunk) for _ in range(unpacked >> 20)) + packer.flush()


def response(body, headers=b""):
    return b"HTTP/1.1 200 OK\r\n" + headers + b"Content-Length: %d\r\n\r\n" % len(body) + body


def packed(body):
    return response(body, b"Content-Encoding: gzip\r\n")


async def endless(writer, head, piece):
    writer.write(head)
    while True:
        writer.write(piece)
        await writer.drain()


async def websocket(writer, key):
    accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")
    # A message of fragments that never ends.
    frame = struct.pack("!BBQ", 0x01, 127, 1 << 20) + b"a" * (1 << 20)
    writer.write(frame)
    more = struct.pack("!BBQ", 0x00, 127, 1 << 20) + b"a" * (1 << 20)
    while True:
        writer.write(more)
        await writer.drain()


# name: (bytes or a coroutine of the writer, lines of the request in the workload)
RESPONSES = {
    "JSON of 24 KB, 17 MB unpacked": (packed(JSON_BOMB), 'check = [{ json = "$.token" }]'),
    "the same, every element": (packed(JSON_BOMB), 'check = [{ json = "$..a[3]" }]'),
    "JSON of 14 MB, descendants": (response(WIDE), 'check = [{ json = "$..a[3]" }]'),
    "HTML, nested 3 million times": (response(NESTED, b"Content-Type: text/html\r\n"), 'extract = [{ name = "x", css = "div div div p" }]'),
    "regular expression, 16 MB": (response(LONG_LINE), "check = [{ regex = '(a+)+(a+)+b' }]"),
    "gzip of 4 GB of zeros": (packed(zeros(4 << 30)), 'check = [{ body = true, contains = "x" }]'),
    "endless head": (lambda writer: endless(writer, b"HTTP/1.1 200 OK\r\n", b"a: " + b"b" * 65536 + b"\r\n"), ""),
    "endless chunks": (
        lambda writer: endless(writer, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b"c" * 65536 + b"\r\n"),
        'check = [{ body = true, contains = "x" }]',
    ),
    "endless informational responses": (lambda writer: endless(writer, b"", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 1000), ""),
    "2,000 cookies": (
        response(b"", b"".join(b"Set-Cookie: n%d=%s\r\n" % (n, b"v" * 100) for n in range(2000))),
        "",
    ),
    "endless WebSocket message": (None, 'websocket = { send = "hello", await = "never" }'),
}


def server(answer):
    """Serves the response on a free port, in a process of its own; returns its identifier and the port."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        port = int(os.read(reader, 16))
        os.close(reader)
        return child, port

    async def carry(source, sink):
        try:
            while head := await source.readuntil(b"\r\n\r\n"):
                if answer is None:
                    key = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key"))
                    await websocket(sink, key.split(b": ")[1])
                elif callable(answer):
                    await answer(sink)
                else:
                    sink.write(answer)
                    await sink.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            sink.close()

    async def serve():
        listener = await asyncio.start_server(carry, "127.0.0.1", 0)
        os.write(writer, str(listener.sockets[0].getsockname()[1]).encode())
        await listener.serve_forever()

    try:
        asyncio.run(serve())
    finally:
        os._exit(0)


def measure(name, command):
    """Runs the command with limited memory, prints its row, and returns the peak resident memory in MB."""
    begun, peak, done = time.monotonic(), 0, 0
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    child = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limit)
    while not done:
        status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
        # Not `ru_maxrss`, which includes this process before the `exec`. A process that has ended has no such line.
        if found := re.search(r"VmHWM:\s+(\d+)", status):
            peak = max(peak, int(found[1]) / 1024)
        time.sleep(0.002)
        done, status, used = os.wait4(child.pid, os.WNOHANG)
    code = os.waitstatus_to_exitcode(status)
    shown = f"{peak:.0f}" if peak else "-"  # it ended before the first look
    print(f"{name:<36}{shown:>8}{used.ru_utime + used.ru_stime:8.1f}{time.monotonic() - begun:8.1f}{code:6}", flush=True)
    if code in (1, 2):
        print(" ", child.stderr.read().decode().strip()[:200])
    return peak


def responses(offered, only, users):
    for name, (answer, lines) in RESPONSES.items():
        if only not in name:
            continue
        child, port = server(answer)
        try:
            with tempfile.TemporaryDirectory() as folder:
                workload = pathlib.Path(folder, "attack.toml")
                request = f'name = "one"\n{lines}' if answer is None else f'name = "one"\nget = "/"\n{lines}'
                workload.write_text(
                    f'seed = 1\nduration = "4s"\narrivals.closed.users = {users}\n[target]\nurl = "http://127.0.0.1:{port}/"\n'
                    f'response_timeout = "2s"\n[[request]]\n{request}\n'
                )
                yield measure(name, [offered, "run", workload, "--output", f"{folder}/run", "--json", "--quiet", "--wait-mode", "sleep"])
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)


def directories(offered, only):
    with tempfile.TemporaryDirectory() as folder:
        good = pathlib.Path(folder, "good")
        dry = ["run", "http://127.0.0.1:9/", "--open", "100/s", "--duration", "10s", "--dry-run", "--quiet", "--output", good]
        subprocess.run([offered, *dry], check=True, stdout=subprocess.DEVNULL)

        def spoiled(name, file, spoil):
            run = pathlib.Path(folder, name.replace(" ", "-"))
            shutil.copytree(good, run)
            (run / file).unlink()
            spoil(run / file)
            return run

        attacks = {
            "a part that is /dev/zero": ("events/part-0000.parquet", lambda file: file.symlink_to("/dev/zero")),
            "run.json that is /dev/zero": ("run.json", lambda file: file.symlink_to("/dev/zero")),
            "a part that is a pipe": ("events/part-0000.parquet", os.mkfifo),
        }
        for name, (file, spoil) in attacks.items():
            if only in name:
                yield measure(name, [offered, "verify", spoiled(name, file, spoil)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--offered", default="target/release/offered")
    parser.add_argument("--only", default="")
    parser.add_argument("--users", type=int, default=2, help="users who receive such a response at the same time")
    wanted = parser.parse_args()
    offered = str(pathlib.Path(wanted.offered).absolute())
    print(f"{'attack':<36}{'MB':>8}{'cpu s':>8}{'wall s':>8}{'exit':>6}")
    peaks = [*responses(offered, wanted.only, wanted.users), *directories(offered, wanted.only)]
    print(f"at most {max(peaks):.0f} MB")
    return int(max(peaks) >= 200)


if __name__ == "__main__":
    sys.exit(main())
