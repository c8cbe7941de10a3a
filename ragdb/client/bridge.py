"""An asynchronous connection as a thread sees it: the calls of psycopg that ragdb makes, awaited.

Programs that read files or run models are written once, for `Client`. A thread runs them on the
connection of an `AsyncClient`: in its session, its role and its transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg

T = TypeVar("T")


class Cursor:
    """The part of `psycopg.Cursor` that is used."""

    def __init__(self, bridge: Bridge, cursor: psycopg.AsyncCursor[Any]) -> None:
        self._bridge, self._cursor = bridge, cursor

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: Any) -> None:
        self._bridge.wait(self._cursor.close(), is_end=True)

    def execute(self, query: Any, params: Any = None) -> Cursor:
        self._bridge.wait(self._cursor.execute(query, params), is_statement=True)
        return self

    def fetchone(self) -> Any:
        return self._bridge.wait(self._cursor.fetchone())

    def fetchall(self) -> list[Any]:
        return self._bridge.wait(self._cursor.fetchall())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fetchall())


class Bridge:
    """The part of `psycopg.Connection` that is used, on an asynchronous one of a running loop."""

    def __init__(
        self, connection: psycopg.AsyncConnection[Any], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._connection, self._loop = connection, loop
        self._is_stopped = False
        self._statement: futures.Future[Any] | None = None

    def stop(self) -> None:
        """Let the thread end: its statement is cancelled, and it begins nothing more."""
        self._is_stopped = True
        if self._statement is not None:
            self._statement.cancel()

    def wait(
        self, work: Coroutine[Any, Any, T], *, is_end: bool = False, is_statement: bool = False
    ) -> T:
        # half a begin or commit would leave the connection in a state that nobody knows
        if self._is_stopped and not is_end:
            work.close()
            raise asyncio.CancelledError
        call = asyncio.run_coroutine_threadsafe(work, self._loop)
        if is_statement:
            self._statement = call
            if self._is_stopped:
                call.cancel()
        try:
            return call.result()
        except futures.CancelledError:
            raise asyncio.CancelledError from None

    @property
    def info(self) -> psycopg.ConnectionInfo:
        return self._connection.info

    @property
    def autocommit(self) -> bool:
        return self._connection.autocommit

    def cursor(self, **options: Any) -> Cursor:
        return Cursor(self, self._connection.cursor(**options))

    def execute(self, query: Any, params: Any = None) -> Cursor:
        return self.cursor().execute(query, params)

    @contextmanager
    def transaction(self, *, force_rollback: bool = False) -> Iterator[None]:
        block = self._connection.transaction(force_rollback=force_rollback)
        self.wait(_coroutine(block.__aenter__))
        try:
            yield
        except BaseException as error:
            self.wait(_coroutine(block.__aexit__, type(error), error, None), is_end=True)
            raise
        self.wait(_coroutine(block.__aexit__, None, None, None), is_end=True)

    def add_notice_handler(self, handler: Callable[[psycopg.errors.Diagnostic], None]) -> None:
        self._connection.add_notice_handler(handler)

    def remove_notice_handler(self, handler: Callable[[psycopg.errors.Diagnostic], None]) -> None:
        self._connection.remove_notice_handler(handler)


async def aside(work: Callable[..., T], *connections: psycopg.AsyncConnection[Any]) -> T:
    """Run a function of connections in a thread, on these; cancelled, it begins nothing more."""
    bridges = [Bridge(connection, asyncio.get_running_loop()) for connection in connections]
    try:
        return await asyncio.to_thread(work, *bridges)
    except asyncio.CancelledError:
        for bridge in bridges:
            bridge.stop()
        raise


async def _coroutine(call: Callable[..., Any], *args: Any) -> Any:
    return await call(*args)
