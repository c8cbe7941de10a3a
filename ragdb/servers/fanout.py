"""Several servers, asked at once from threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, Self, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ragdb.client import notices
from ragdb.client.connecting import is_lost
from ragdb.database import Database, connect
from ragdb.server import settings

T = TypeVar("T")
PARTS_ELSEWHERE = "01R01"  # the notice of a server that has some of the parts alone


class ServersMissing(Exception):
    """Servers that have parts of a corpus did not answer."""

    exit_code = 3
    hint = "ask for what the others find with partial=True, or --partial"

    def __init__(self, missing: Mapping[str, str]) -> None:
        self.missing = dict(missing)
        super().__init__(
            "; ".join(f"{name} did not answer: {why}" for name, why in missing.items())
        )


class FanOut:
    """A connection to each of several servers, and a thread for each."""

    def __init__(
        self,
        dsns: Sequence[str],
        *,
        on_notice: Callable[[psycopg.errors.Diagnostic], None] = notices.log,
        **parameters: Any,
    ) -> None:
        """`dsns` name the servers; `parameters` are those of `ragdb.connect`. Raises ValueError."""
        self._on_notice = on_notice
        self._dsns = {_name(dsn): dsn for dsn in dsns}
        if len(self._dsns) < len(dsns) or not dsns:
            raise ValueError("give the DSN of each server once")
        self._parameters = parameters
        self._open: dict[str, Database] = {}
        self._threads = ThreadPoolExecutor(len(dsns), "ragdb-server")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ragdb.{type(self).__name__} {', '.join(self._dsns)}>"

    @property
    def names(self) -> list[str]:
        """What hits and errors call the servers: host, port and database."""
        return list(self._dsns)

    def close(self) -> None:
        """Close all connections."""
        self._threads.shutdown()
        for db in self._open.values():
            db.close()
        self._open = {}

    def _together(self, work: Callable[[dict[str, Database]], T]) -> T:
        """Do something on all servers in a transaction of each, which end at once.

        Raises ServersMissing.
        """
        self._all(lambda db: db.log_position(), False)  # each is there
        dbs = dict(self._open)
        open_ = [db.connection.transaction() for db in dbs.values()]
        begun = []
        try:
            for transaction in open_:
                transaction.__enter__()
                begun.append(transaction)
            done = work(dbs)
        except BaseException as error:
            for transaction in begun:
                transaction.__exit__(type(error), error, error.__traceback__)
            _blame(error, dbs)
            raise
        try:
            list(self._threads.map(lambda begun: begun.__exit__(None, None, None), begun))
        except psycopg.Error as error:
            _blame(error, dbs)
            raise
        return done

    def _opened(self, name: str) -> Database | Lost:
        db = self._open.get(name)
        if db is None or db.connection.closed:
            try:
                db = connect(self._dsns[name], on_notice=self._hear, **self._parameters)
            except psycopg.OperationalError as error:
                return Lost(_why(error))
        return db

    def _hear(self, notice: psycopg.errors.Diagnostic) -> None:
        # whoever asks all servers need not be told to
        if notice.sqlstate != PARTS_ELSEWHERE:
            self._on_notice(notice)

    @contextmanager
    def _agreeing(self) -> Iterator[None]:
        """Pass on only what each server says, once: one of them has only some of the parts."""
        passed, lock = self._on_notice, Lock()
        times: Counter[str | None] = Counter()

        def count(notice: psycopg.errors.Diagnostic) -> None:
            with lock:
                times[notice.message_primary] += 1
                if times[notice.message_primary] == len(self._dsns):
                    passed(notice)

        self._on_notice = count
        try:
            yield
        finally:
            self._on_notice = passed

    def _all(
        self, call: Callable[[Database], T], partial: bool
    ) -> tuple[dict[str, T], dict[str, str]]:
        """What each server answers to something that changes nothing, and why others do not.

        Raises ServersMissing.
        """
        asked = self._threads.map(lambda server: self._asked(server, call), self._dsns)
        answers = dict(zip(self._dsns, asked, strict=True))
        missing = {name: a.why for name, a in answers.items() if isinstance(a, Lost)}
        found = {name: a for name, a in answers.items() if not isinstance(a, Lost)}
        if missing and not (partial and found):
            raise ServersMissing(missing)
        return found, missing

    def _first(self, call: Callable[[Database], T], servers: Iterable[str]) -> T:
        """What the first of some servers answers to that. Raises ServersMissing."""
        missing = {}
        for server in servers:
            answer = self._asked(server, call)
            if not isinstance(answer, Lost):
                return answer
            missing[server] = answer.why
        raise ServersMissing(missing)

    def _asked(self, server: str, call: Callable[[Database], T]) -> T | Lost:
        # a connection may have been lost since the last call, the server being well
        for _ in range(2):
            db = self._opened(server)
            if isinstance(db, Lost):
                return db
            self._open[server] = db
            answer = _answer(db, call)
            if not isinstance(answer, Lost):
                break
        return answer

    def _of(self, dbs: dict[str, Database], call: Callable[[Database], T]) -> dict[str, T]:
        """What some servers answer in the transactions that are open there."""
        return dict(zip(dbs, self._threads.map(call, dbs.values()), strict=True))


@dataclass(frozen=True)
class Lost:
    """A server that did not answer, and why."""

    why: str


def _answer(db: Database, call: Callable[[Database], T]) -> T | Lost:
    """What a server answers, or why its connection, which is closed then, gave no answer."""
    try:
        return call(db)
    except psycopg.OperationalError as error:
        if not (db.connection.broken or is_lost(error)):
            raise
        db.close()
        return Lost(_why(error))


def _blame(error: BaseException, dbs: Mapping[str, Database]) -> None:
    """Raise ServersMissing for an error that broke connections, so that it names their servers."""
    broken = [name for name, db in dbs.items() if db.connection.broken]
    if broken and isinstance(error, psycopg.OperationalError | psycopg.InternalError):
        raise ServersMissing(dict.fromkeys(broken, _why(error))) from error


def _why(error: psycopg.Error) -> str:
    """What a server said, without where it was in the functions of ragdb."""
    if isinstance(error, psycopg.InternalError):  # see is_lost
        return "it ended the connection"
    return error.diag.message_primary or str(error).strip()


def _name(dsn: str) -> str:
    """What a server is called: no password, and what tells it from others."""
    named = conninfo_to_dict(settings.normalise(dsn))
    host, port = named.get("host") or named.get("service") or "localhost", named.get("port", 5432)
    return f"{host}:{port}/{named.get('dbname', '')}"
