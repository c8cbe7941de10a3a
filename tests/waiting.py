"""How tests wait for what others do: a process, a thread, a server."""

from __future__ import annotations

import time
from collections.abc import Callable
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


def is_waiting(db: psycopg.Connection[Any], other: psycopg.Connection[Any]) -> bool:
    """Whether the other waits for a lock that somebody has."""
    pid = other.info.backend_pid
    return db.execute("select cardinality(pg_blocking_pids(%s)) > 0", (pid,)).fetchone() == (True,)
