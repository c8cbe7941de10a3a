"""A connection with a method for each public SQL function: what every room works on."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Any, Self

import psycopg

from ragdb import errors as errors  # psycopg raises these once they are imported
from ragdb.client._generated.async_functions import AsyncFunctions
from ragdb.client._generated.functions import Functions

CAPABILITIES = {
    "rag.query@1.0": "rag_query",
    "rag.ingest@1.0": "rag_ingest",
    "rag.list_corpora@1.0": "rag_list_corpora",
    "embed.text@1.0": "embed_text",
}


class Client(Functions):
    """The functions of ragdb on a psycopg connection.

    A connection of the caller keeps its own transactions: nothing here commits or rolls back.
    In autocommit mode each call is a transaction of its own;
    `with db.connection.transaction():` joins several.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.connection.__exit__(kind, error, traceback)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def invoke(self, capability: str, request: Any, *, timeout_s: float = 30) -> dict[str, Any]:
        """Call a wire capability, again and again while it waits for a worker.

        The answer has `output` and `meta`, or `error`, which is `partition` when no worker came in
        time. A connection inside a transaction asks once: what it asks for is seen at its commit.
        Raises KeyError for a capability that there is not.
        """
        call = getattr(self, CAPABILITIES[capability])
        until = time.monotonic() + timeout_s
        while True:
            answer: dict[str, Any] = call(request)
            pause = _pause(self.connection, answer, until)
            if pause is None:
                return answer
            time.sleep(pause)


class AsyncClient(AsyncFunctions):
    """The same functions as coroutines, on a psycopg asynchronous connection."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.connection.__aexit__(kind, error, traceback)

    async def close(self) -> None:
        """Close the connection."""
        await self.connection.close()

    async def invoke(
        self, capability: str, request: Any, *, timeout_s: float = 30
    ) -> dict[str, Any]:
        """Call a wire capability; see `Client.invoke`."""
        call = getattr(self, CAPABILITIES[capability])
        until = time.monotonic() + timeout_s
        while True:
            answer: dict[str, Any] = await call(request)
            pause = _pause(self.connection, answer, until)
            if pause is None:
                return answer
            await asyncio.sleep(pause)


def _pause(
    connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any],
    answer: dict[str, Any],
    until: float,
) -> float | None:
    """Seconds until a capability may have an answer; None when there is nothing to wait for."""
    pause: float = answer.get("retry_after_ms", 0) / 1000
    is_committed = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    waits = answer.get("error") == "partition" and is_committed
    return pause if waits and time.monotonic() + pause <= until else None
