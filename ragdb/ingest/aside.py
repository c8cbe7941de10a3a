"""A batch is written in a thread of its own while the next is read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from threading import Thread
from types import TracebackType
from typing import Any, Self

import psycopg

from ragdb.ingest.writing import Entry, Written


class Aside:
    """Writes one batch at a time, as a context around a run. Only it has the connection then."""

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        write: Callable[[list[Entry]], Iterator[Written]],
        count: Callable[[Written], None],
    ) -> None:
        self.connection, self.write, self.count = connection, write, count
        self._thread: Thread | None = None
        self._written: list[Written] = []
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        while self._thread and self._thread.is_alive():
            # who is interrupted does not wait for what is half done
            if kind and not issubclass(kind, Exception):
                with contextlib.suppress(psycopg.Error, RuntimeError):
                    self.connection.cancel_safe(timeout=5)
            self._thread.join(0.5)
        self._count()

    def begin(self, batch: list[Entry]) -> None:
        """Write a batch, once that before it is settled."""
        self._thread = Thread(target=self._run, args=(batch,), daemon=True)
        self._thread.start()

    def _run(self, batch: list[Entry]) -> None:
        try:
            for written in self.write(batch):
                self._written.append(written)
        except BaseException as error:
            self._error = error

    def settle(self, tell: Callable[[], None]) -> None:
        """Wait until the batch is written, and count what became of it. Raises why it is not.

        `tell` is called now and then.
        """
        while self._thread and self._thread.is_alive():
            tell()
            self._thread.join(0.2)
        self._count()
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _count(self) -> None:
        written, self._written = self._written, []
        for one in written:
            self.count(one)
