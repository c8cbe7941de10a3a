"""The database behind the routes: a pool, and a role for each transaction."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import psycopg
from psycopg_pool import AsyncConnectionPool
from starlette.requests import Request

from ragdb.client import upkeep
from ragdb.client.client import AsyncClient, Client
from ragdb.client.connecting import ahave_forms, connect, options
from ragdb.http.config import Config, Revive
from ragdb.http.standbys import Behind, Pool, Standbys, is_the_standbys
from ragdb.server import signing
from ragdb.version import __version__

Found = TypeVar("Found")

log = logging.getLogger("ragdb.http")
UNKNOWN = "the token is unknown, revoked or expired"
TRUSTED = 5.0  # seconds

# One round trip: who asks, under which limit. set_config('role', …) is `set local role`, and needs
# the membership that it needs.
# A standby is named the positions that it has to have reached, and refuses what has to leave an
# event of access.
BECOME = """
  with asker as materialized (
    select case when %(hash)s::bytea is not null then ragdb.http_token_role(%(hash)s)
      when %(session)s::bytea is not null then ragdb.http_session_role(%(session)s)
      else %(anonymous)s::text end as role,
      %(positions)s::text[] is null or pg_is_in_recovery() and (
        select coalesce(bool_and(ragdb.has_reached(p)), true)
        from unnest(%(positions)s::text[]) p) as is_fresh)
  select a.role, a.is_fresh, set_config('statement_timeout', %(timeout)s, true),
    set_config('ragdb.record_reads',
      case when %(positions)s::text[] is null then '' else 'required' end, true),
    case when a.role is not null then set_config('role', a.role, true) end
  from asker a"""


class Refused(Exception):
    """A request that ends with a status, a code and a reason."""

    def __init__(
        self, status: int, code: str, message: str, details: Any = None, retry_after: int = 0
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.details = status, code, details
        self.retry_after = retry_after


class Transactions:
    """What the routes ask. Making one connects once. Raises psycopg.Error."""

    def __init__(self, config: Config) -> None:
        self.config = config
        conninfo = signing.with_keys(config.conninfo)
        self.pool = _pool(config, conninfo, "ragdb", timeout=5, revive=config.revive)
        standbys = [
            # a request that a standby keeps waiting goes to the primary
            _pool(config, dsn, f"standby {n}", timeout=1)
            for n, dsn in enumerate(config.read_dsns, 1)
        ]
        self.standbys = Standbys(config, standbys, self._position)
        self._seen: dict[bytes, float] = {}
        with Client(connect(conninfo)) as db:
            self.statuses = {code.sqlstate: code.http_status for code in db.error_codes()}
            self.offered = db.capability_schemas()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hold the pool open, and keep the partitions of traces made ahead."""
        await self.pool.open(wait=True, timeout=10)
        upkeep = asyncio.create_task(self._maintain())
        try:
            async with self.standbys.running():
                yield
        finally:
            upkeep.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await upkeep
            await self.pool.close()

    async def _maintain(self) -> None:
        while True:
            try:
                async with self.pool.connection() as connection:
                    await self._maintain_as(connection)
            except psycopg.Error as error:
                log.warning("ragdb.maintain() failed: %s", error.diag.message_primary or error)
            await asyncio.sleep(6 * 3600)

    async def _maintain_as(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """As the login, or as the writer that it may become; whom neither lets leaves it be."""
        become = dict.fromkeys(("hash", "session", "positions"))
        become |= {"anonymous": "ragdb_writer", "timeout": "60s"}
        for values in (None, become):
            with contextlib.suppress(*upkeep.REFUSED):
                async with connection.transaction():
                    if values:
                        await connection.execute(BECOME, values)
                    await AsyncClient(connection).maintain()
                return

    @asynccontextmanager
    async def transaction(
        self, request: Request, timeout: float | None = None, session: bytes | None = None
    ) -> AsyncIterator[AsyncClient]:
        """One transaction as the role of the request's token, or of a session by its hash.

        Raises Refused.
        """
        async with self._as_asker(self.pool, request, timeout, session) as db:
            yield db
            if self.standbys.pools and request.method not in ("GET", "HEAD"):
                await db.connection.commit()
                request.scope["position"] = await db.log_position()

    async def read(self, request: Request, ask: Callable[[AsyncClient], Awaitable[Found]]) -> Found:
        """Ask a standby that is fresh enough, or the primary. Raises Refused."""
        for pool in self.standbys.ready():
            try:
                positions = await self.standbys.needed()
            except psycopg.OperationalError:
                break  # no standby is to blame for what the primary says below
            try:
                if own := request.headers.get("x-ragdb-position"):
                    positions = [*positions, own]
                async with self._as_asker(pool, request, positions=positions) as db:
                    found = await ask(db)
            except Behind:
                continue
            except psycopg.Error as problem:
                if not is_the_standbys(problem):
                    raise
                self.standbys.failed(pool, problem)
                continue
            self._was_read(request, "standby")
            return found
        async with self._as_asker(self.pool, request) as db:
            found = await ask(db)
        self._was_read(request, "primary")
        return found

    def _was_read(self, request: Request, server: str) -> None:
        if self.standbys.pools:
            request.scope["answered_by"] = server
            self.standbys.served[server] += 1

    @asynccontextmanager
    async def _as_asker(
        self,
        pool: Pool,
        request: Request,
        timeout: float | None = None,
        session: bytes | None = None,
        positions: list[str] | None = None,
    ) -> AsyncIterator[AsyncClient]:
        """A transaction; of a standby where positions are given. Raises Refused, Behind."""
        given = request.headers.get("authorization", "")
        values = {
            "hash": None if session else self._digest(given),
            "session": session,
            "anonymous": self.config.anonymous_role,
            "timeout": f"{round(1000 * (timeout or self.config.timeout))}ms",
            "positions": positions,
        }
        async with pool.connection() as connection:
            try:
                row = await (await connection.execute(BECOME, values)).fetchone()
            except (
                psycopg.errors.InsufficientPrivilege,
                psycopg.errors.InvalidParameterValue,
            ) as error:
                log.error("the server may not act for a token: %s", error.diag.message_primary)
                message = "the server may not act as the role of this token"
                raise Refused(503, "SERVICE_UNAVAILABLE", message) from None
            assert row is not None
            role, is_fresh, *_ = row
            if not is_fresh:
                raise Behind
            if role is None:
                raise Refused(401, "UNAUTHORIZED", UNKNOWN)
            request.scope["role"] = role
            yield AsyncClient(connection)

    async def _position(self) -> str:
        async with self.pool.connection() as connection:
            return await AsyncClient(connection).log_position()

    async def open_session(self, token: bytes | None) -> str | None:
        """The secret of a new session of a browser, for a token's hash or the server's login."""
        async with self.pool.connection() as connection:
            return await AsyncClient(connection).open_http_session(token)

    async def close_session(self, session: bytes) -> None:
        async with self.pool.connection() as connection:
            await AsyncClient(connection).close_http_session(session)

    def _digest(self, authorization: str) -> bytes | None:
        """The hash of a token, by which the database knows it. Raises Refused."""
        scheme, _, token = authorization.partition(" ")
        if scheme and (scheme.lower() != "bearer" or not token.strip()):
            raise Refused(401, "UNAUTHORIZED", 'Authorization is not "Bearer" and a token')
        if not scheme and self.config.anonymous_role is None:
            hint = {"hint": "an admin makes tokens: ragdb token create"}
            raise Refused(401, "UNAUTHORIZED", "a bearer token is required", hint)
        return hashlib.sha256(token.strip().encode()).digest() if scheme else None

    async def admit(self, authorization: str) -> Refused | None:
        """Why the body of a request is not worth reading; None where it may be.

        A token that was good is taken for that some seconds, and its transaction asks again.
        """
        try:
            digest = self._digest(authorization)
        except Refused as problem:
            return problem
        now = time.monotonic()
        if digest is None or self._seen.get(digest, now) > now:
            return None
        try:
            async with self.pool.connection() as connection:
                role = await AsyncClient(connection).http_token_role(digest)
        except psycopg.Error:
            return None  # what the transaction answers is said in the same words
        if role is None:
            return Refused(401, "UNAUTHORIZED", UNKNOWN)
        self._seen = {known: until for known, until in self._seen.items() if until > now}
        self._seen[digest] = now + TRUSTED
        return None


async def _configure(connection: psycopg.AsyncConnection[Any]) -> None:
    """See `connecting.in_turns`: each request is a transaction."""
    await ahave_forms(connection)
    await connection.set_isolation_level(psycopg.IsolationLevel.READ_COMMITTED)


def _pool(
    config: Config, conninfo: str, name: str, timeout: float, revive: Revive | None = None
) -> Pool:
    async def revived() -> str:
        if revive is not None:
            await asyncio.to_thread(revive)
        return conninfo

    return AsyncConnectionPool(
        revived,
        min_size=1,
        max_size=config.pool,
        max_waiting=config.max_requests,
        timeout=timeout,
        # a pool that has been trying for long tries seldom; one that gave up tries at each request
        reconnect_timeout=timeout,
        open=False,
        kwargs=options(conninfo, application_name=f"ragdb/{__version__} serve"),
        configure=_configure,
        check=AsyncConnectionPool.check_connection,
        name=name,
    )
