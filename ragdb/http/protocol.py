"""HTTP/1.1 of uvicorn, and a time within which the head of a request has to arrive."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


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
