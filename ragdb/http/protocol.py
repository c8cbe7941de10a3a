"""HTTP/1.1 of uvicorn: the head of a request has to arrive in time, and to be one."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
BAD_HEAD = """\
HTTP/1.1 400 Bad Request\r
connection: close\r
content-type: {kind}; charset=utf-8\r
x-content-type-options: nosniff\r
x-correlation-id: {id}\r
content-length: {length}\r
\r
{body}"""


# nothing of the question is in it, so that nothing has to be escaped
LONG_ADDRESS = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>400 · ragdb studio</title>
</head>
<body>
<h1>The question is too long</h1>
<p>The address of a page has room for 64 KiB. Go back, and keep the words that matter; a long text
is for a document, not for a question.</p>
</body>
</html>
"""


def with_head_timeout(seconds: float) -> type[H11Protocol]:
    """The protocol for `uvicorn.Config(http=…)`."""

    class Protocol(H11Protocol):
        due: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def send_400_response(self, msg: str) -> None:
            """Answer a head that is none, in the form of every error and with its length.

            What asks for a page of Studio is a browser, and gets a page.

            uvicorn's answer is text that ends where the connection does, and that end may come as
            a reset, because the rest of the request is not read.
            """
            correlation_id = str(uuid.uuid4())
            if self.conn.trailing_data[0].startswith(b"GET /studio/"):
                self._refuse(correlation_id, "text/html", LONG_ADDRESS)
                return
            body = json.dumps(
                {
                    "error": "the head of the request is not HTTP/1.1, or has more than 64 KiB",
                    "code": "BAD_REQUEST",
                    "correlation_id": correlation_id,
                    "details": None,
                }
            )
            self._refuse(correlation_id, "application/json", body)

        def _refuse(self, id: str, kind: str, body: str) -> None:
            length = len(body.encode())
            said = BAD_HEAD.format(kind=kind, id=id, length=length, body=body)
            self.transport.write(said.encode())
            self.transport.close()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            # before the next request uvicorn's own timer of idle connections runs
            if self.conn.trailing_data[0]:
                self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._unwatch()
            super().connection_lost(exc)

        def _watch(self) -> None:
            """Bytes on the way make the time no longer; the end of the head ends it."""
            if self.conn.their_state is not h11.IDLE:
                self._unwatch()
            elif self.due is None:
                self.due = self.loop.call_later(seconds, self._late)

        def _unwatch(self) -> None:
            if self.due is not None:
                self.due.cancel()
                self.due = None

        def _late(self) -> None:
            if self.transport.is_closing():
                return
            if self.conn.trailing_data[0]:
                self.transport.write(LATE)
            self.transport.close()

    return Protocol
