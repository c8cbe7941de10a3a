"""Programs of ragdb take turns, whatever isolation level a role or a database has as its default.

Of two who write at once under `repeatable read`, the second would end with 40001.
"""

from __future__ import annotations

import os

import psycopg
import pytest
from psycopg import sql

from tests.conftest import Server
from tests.forked import Forked
from tests.server.test_init_at_once import at_once
from tests.waiting import until

# asked by a connection of its own: within a transaction it stays what it was
BLOCKED = (
    "select from pg_stat_activity"
    " where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0"
)
PUT = "select ragdb.put_text('docs', 'a.md', 'The library is closed.')"


def have_serializable(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as db:
        statement = "alter database {} set default_transaction_isolation = 'serializable'"
        db.execute(sql.SQL(statement).format(sql.Identifier(db.info.dbname)))


def test_a_verb_waits_for_another_writer_and_goes_on(clone: str) -> None:
    have_serializable(clone)
    with psycopg.connect(clone) as db, psycopg.connect(clone, autocommit=True) as other:
        db.execute("select ragdb.create_corpus('docs')")
        db.commit()
        db.execute(PUT)
        env = {**os.environ, "RAGDB_DATABASE_URL": clone}
        process = Forked("corpus", "optimize", "docs", env=env)
        until(lambda: other.execute(BLOCKED).rowcount or process.poll() is not None)
        db.commit()
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 0, said


@pytest.mark.nightly
def test_three_inits_at_once_all_succeed(server18: Server) -> None:
    with server18.database(template=None) as database:
        dsn = server18.dsn(database.dbname)
        have_serializable(dsn)
        assert at_once(dsn) == []
