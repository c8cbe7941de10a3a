"""A chat endpoint on this machine that answers by a script: truly, falsely, late or not at all."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Respond = Callable[["Handler"], None]


def says(content: Any, **message: Any) -> Respond:
    """A chat completion with this content, an object as its JSON."""
    text = content if isinstance(content, str | None) else json.dumps(content)
    why, usage = message.pop("finish_reason", "stop"), message.pop("usage", None)
    choice = {"message": {"content": text, **message}, "finish_reason": why}
    more = {} if usage is None else {"usage": usage}
    return sends(200, json.dumps({"choices": [choice], **more}))


def sends(status: int, body: str, **headers: str) -> Respond:
    def respond(handler: Handler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body.encode())))
        handler.end_headers()
        handler.wfile.write(body.encode())

    return respond


def stalls(handler: Handler) -> None:
    time.sleep(60)


def drips(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    for _ in range(20):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.1)


def hangs_up(handler: Handler) -> None:
    handler.connection.close()


class Handler(BaseHTTPRequestHandler):
    server: Fake

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        self.server.keys.append(self.headers.get("Authorization"))
        script = self.server.script
        try:
            (script.pop(0) if len(script) > 1 else script[0])(self)
        except OSError:  # whoever asked has left
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


class Fake(ThreadingHTTPServer):
    """An endpoint that answers by a script; its last line is repeated."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Respond] = []
        self.asked: list[Any] = []
        self.keys: list[str | None] = []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *_: Any) -> None:
        pass


@contextmanager
def serving() -> Iterator[Fake]:
    """The endpoint, listening."""
    with Fake() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
