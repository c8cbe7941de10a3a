"""Verbs of one test in one session of the server, where the claim is what they do, not a start.

What a new session reads and plans is most of a short verb. Between two verbs the session is reset
as it is between two tests that share a database, and each verb has a connection of its own to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.pq import PGconn, TransactionStatus, abc

from ragdb.client import connecting

# all that outlives a rollback but the plans, as whose making most of a short test is spent
FORGET = """
  close all; set session authorization default; reset all; deallocate all; unlisten *;
  select pg_advisory_unlock_all(); discard temp; discard sequences
"""


class Lent(psycopg.Connection[Any]):
    """A connection whose session stays among `idle` when it is closed outside of a transaction."""

    idle: list[abc.PGconn]

    def close(self) -> None:
        session = self.pgconn
        if not self.closed and session.transaction_status == TransactionStatus.IDLE:
            self.autocommit = True
            self.execute(FORGET)
            self.pgconn = PGconn.connect_start(b"host=/nowhere")  # what is closed below
            self.idle.append(session)
        super().close()


@contextmanager
def kept() -> Iterator[None]:
    """Have what ragdb connects to in this process be a session that was used before."""
    sessions: dict[str, list[abc.PGconn]] = {}

    def connect(conninfo: str, **given: Any) -> Lent:
        idle = sessions.setdefault(conninfo, [])
        if idle:
            lent = Lent(idle.pop())
            lent.prepare_threshold = None
            lent.autocommit = True
            name = given.pop("application_name", "")
            lent.execute("select set_config('application_name', %s, false)", (name,))
            assert given == {"autocommit": True}, given
        else:
            lent = Lent.connect(conninfo, **connecting.options(conninfo, **given))
        lent.idle = idle
        connecting.have_forms(lent)
        return lent

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connecting, "connect", connect)
        yield
    for idle in sessions.values():
        for session in idle:
            session.finish()
