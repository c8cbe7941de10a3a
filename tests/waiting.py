"""How tests wait for what others do: a process, a thread, a server."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import psycopg

Found = TypeVar("Found")


def until(look: Callable[[], Found | None], seconds: float = 120) -> Found:
    """What a look finds once that counts as true; a busy machine may take its time."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"after {seconds} s it is still {found!r}"
        time.sleep(0.02)
    return found


def until_it_waits(
    db: psycopg.Connection[Any],
    other: psycopg.Connection[Any] | psycopg.AsyncConnection[Any],
    ended: Sized = (),
) -> None:
    """Return once the other waits for a lock, and fail where it has ended without."""
    until(lambda: ended or is_waiting(db, other))
    assert not ended, f"it does not wait: {ended}"


def after_commit(
    db: psycopg.Connection[Any],
    other: psycopg.Connection[Any],
    work: Callable[[], Found],
    before: Callable[[], object] | None = None,
) -> Found:
    """What work of another session returns, or raises, that waits until the first has committed.

    `before` that the first does something more.
    """
    thread, ended = ThreadPoolExecutor(1), list[object]()
    call = thread.submit(work)
    call.add_done_callback(ended.append)
    thread.shutdown(wait=False)
    until_it_waits(db, other, ended)
    if before is not None:
        before()
    db.commit()
    return call.result(120)


def outcome(
    db: psycopg.Connection[Any], statement: str, arguments: Sequence[Any] = ()
) -> str | None:
    """SQLSTATE of a statement or its commit; None where both succeed."""
    try:
        db.execute(statement, arguments)
        db.commit()
    except psycopg.Error as error:
        return error.sqlstate
    return None


def is_waiting(
    db: psycopg.Connection[Any], other: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]
) -> bool:
    """Whether the other waits for a lock that somebody has."""
    pid = other.info.backend_pid
    return db.execute("select cardinality(pg_blocking_pids(%s)) > 0", (pid,)).fetchone() == (True,)
