"""The recording server: keeps every request with its method, path, headers, body and connection."""

import asyncio
import threading
import time
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = (b'<html><body><form><input name="csrf" value="c0ffee"></form><img src="/logo.png">\npath: a/b\nblank: a b&c\n'
        b"quote: say \"x\"\n</body></html>\n")
JSON = (b'{"token":"t-1","n":5,"pi":3.10,"flag":true,"none":null,"list":[{"id":1,"name":"one"},{"id":2,"name":"two"},{"id":3,"name":"three"}]}')


@dataclass
class Request:
    connection: int
    method: str
    path: str
    headers: list
    body: bytes


class Server:
    """Runs in a thread of its own; `port` is its port. `begin(key)` makes following requests belong to `key`."""

    def __init__(self):
        self.records, self.key, self.connections, self.times = {}, None, 0, {}
        ready = threading.Event()
        self.loop = asyncio.new_event_loop()

        def run():
            asyncio.set_event_loop(self.loop)
            server = self.loop.run_until_complete(asyncio.start_server(self.connection, "127.0.0.1", 0))
            self.port = server.sockets[0].getsockname()[1]
            ready.set()
            self.loop.run_forever()

        threading.Thread(target=run, daemon=True).start()
        ready.wait()

    def begin(self, key):
        self.key, self.times = key, {}
        self.records.setdefault(key, [])

    def settle(self):
        """Waits until no request has come for 50 ms, for a tool that ended before the last of its requests was read."""
        before = -1
        while before != (before := sum(map(len, self.records.values()))):
            time.sleep(0.05)

    async def connection(self, reader, writer):
        self.connections += 1
        number = self.connections
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
                method, path, _ = first.split(" ", 2) if first.count(" ") >= 2 else (first, "", "")
                headers = [tuple(part.strip() for part in line.split(":", 1)) for line in lines]
                value = {name.lower(): value for name, value in headers}
                if "100-continue" in value.get("expect", ""):
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = b""
                if "chunked" in value.get("transfer-encoding", ""):
                    while size := int((await reader.readline()).split(b";")[0], 16):
                        body += (await reader.readexactly(size + 2))[:-2]
                    await reader.readline()
                elif "content-length" in value:
                    body = await reader.readexactly(int(value["content-length"]))
                if path.startswith("/__begin/"):
                    self.begin(unquote(path[9:]))
                else:
                    self.records.setdefault(self.key, []).append(Request(number, method, path, headers, body))
                status, more, content = self.respond(path, value.get("authorization", ""))
                close = value.get("connection", "").lower() == "close"
                length = "" if status in (204, 304) else f"Content-Length: {len(content)}\r\n"
                writer.write((f"HTTP/1.1 {status} x\r\n{length}{more}" + ("Connection: close\r\n" if close else "") + "\r\n").encode()
                             + (b"" if method == "HEAD" else content))
                await writer.drain()
                if close:
                    break
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            pass
        finally:
            writer.close()

    def respond(self, path, authorization):
        """Status, header lines and content. A path with `to` redirects, one with `sid` sets a cookie, one below /digest needs a login."""
        url = urlsplit(path)
        if url.path.startswith("/digest/") and not authorization.startswith("Digest "):
            return 401, 'WWW-Authenticate: Digest realm="r", nonce="abc", qop="auth", algorithm=MD5\r\n', b"who?"
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        count = self.times[path] = self.times.get(path, 0) + 1
        name = url.path.rsplit("/", 1)[-1]
        more = f"Set-Cookie: sid={query['sid']}; Path=/\r\n" if "sid" in query else ""
        if "to" in query:
            status = int(name[1:]) if name[1:].isdigit() else 302
            return status, more + f"Location: {query['to']}\r\n", b"moved"
        if url.path.startswith("/status/"):
            return int(name), more, b"status"
        if name == "page":
            return 200, more + "Content-Type: text/html\r\nX-Token: header1\r\n", PAGE
        if name == "json":
            return 200, more + "Content-Type: application/json\r\n", JSON
        if name == "poll":
            return 200, more, b"ready=yes" if count % 3 == 0 else b"ready=no"
        if name == "fails-third":
            return 500 if count % 3 == 0 else 200, more, b"x"
        return 200, more + "Content-Type: text/plain\r\n", b"ok"

