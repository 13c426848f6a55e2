"""A WebSocket server for the tests: `chat.py PORT LOG`.

Echoes each message after two others; hangs up at `drop`, is silent at `hush`, refuses /forbidden. Appends a line to LOG for each
message, and one with the code of each end. Needs websockets.
"""

import http
import sys

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

port, log = sys.argv[1:]
book = open(log, "a", buffering=1)


def chat(connection):
    try:
        for message in connection:
            book.write(f"{message}\n")
            if message == "drop":
                connection.close(4001, "as asked")
            elif message != "hush":
                connection.send("one")
                connection.send("another")
                connection.send(f"you said {message}")
    except ConnectionClosed:
        pass
    finally:
        book.write(f"closed {connection.close_code}\n")


def look(connection, request):
    if request.path == "/forbidden":
        return connection.respond(http.HTTPStatus.FORBIDDEN, "no\n")


with serve(chat, "127.0.0.1", int(port), process_request=look) as server:
    server.serve_forever()
