"""Standbys that answer reads while they are fresh enough."""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool

from ragdb.client.client import Client
from ragdb.client.connecting import connect
from ragdb.errors import ReadNotRecorded
from ragdb.http.config import Config

log = logging.getLogger("ragdb.http")
Pool = AsyncConnectionPool[psycopg.AsyncConnection[Any]]
ASIDE = 5.0  # seconds without requests for a standby that did not answer


class Behind(Exception):
    """A standby has not seen yet what a request has to see."""


def is_the_standbys(problem: psycopg.Error) -> bool:
    """Whether the primary may do what a standby could not.

    A standby cannot write, cancels what its replay conflicts with, and may be gone.
    """
    if isinstance(problem, ReadNotRecorded | psycopg.errors.ReadOnlySqlTransaction):
        return True
    canceled = isinstance(problem, psycopg.errors.QueryCanceled)
    return isinstance(problem, psycopg.OperationalError) and not canceled


class Standbys:
    """Pools of standbys, and the positions of the primary that say how old each of them is.

    `position` asks the primary for ragdb.log_position(). A standby that has reached a position
    asked for t seconds ago shows all that was committed t seconds ago.
    """

    def __init__(
        self, config: Config, pools: Sequence[Pool], position: Callable[[], Awaitable[str]]
    ) -> None:
        self.pools, self.max_lag, self.position = list(pools), config.max_lag, position
        self.served: Counter[str] = Counter()
        self._asked = deque[tuple[float, str]]()
        self._asking = asyncio.Lock()
        self._aside: dict[str, float] = {}
        self._turns = itertools.count()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for pool in self.pools:
                # a server starts without its standbys, too
                await pool.open(wait=False)
                stack.push_async_callback(pool.close)
            yield

    def ready(self) -> Iterator[Pool]:
        """The standbys in turn, without those that did not answer a moment ago."""
        first = next(self._turns) if self.pools else 0
        for n in range(len(self.pools)):
            pool = self.pools[(first + n) % len(self.pools)]
            if self._aside.get(pool.name, 0) <= time.monotonic():
                yield pool

    def failed(self, pool: Pool, problem: psycopg.Error) -> None:
        """Ask a standby whose connection broke no more for some seconds."""
        if problem.sqlstate is None or problem.sqlstate.startswith(("08", "57P")):
            self._aside[pool.name] = time.monotonic() + ASIDE
            log.warning("%s does not answer: %s", pool.name, type(problem).__name__)

    async def needed(self) -> list[str]:
        """The position of the primary that a standby has to have reached; none if any will do."""
        if math.isinf(self.max_lag):
            return []
        async with self._asking:
            now = time.monotonic()
            while self._asked and self._asked[0][0] < now - self.max_lag:
                self._asked.popleft()
            if not self._asked or self._asked[-1][0] < now - self.max_lag / 4:
                self._asked.append((now, await self.position()))
            return [self._asked[0][1]]


def why_not(primary: str, standby: str) -> str | None:
    """Why a database is not a standby of a primary's. Raises psycopg.Error."""
    with Client(connect(primary)) as first, Client(connect(standby)) as second:
        names = [db.connection.info.dbname for db in (first, second)]
        if names[0] != names[1]:
            return f"it is database {names[1]}, and the primary's is {names[0]}"
        systems = [db.log_position().split("/")[0] for db in (first, second)]
        return None if systems[0] == systems[1] else "it is not a copy of the primary's server"
