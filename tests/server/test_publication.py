"""What a publication of all tables does to the server that publishes, and what a subscriber has."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from ragdb.server import embedded, migrate, postgres
from tests.waiting import until
from tests.watcher import watched_folder

pytestmark = pytest.mark.nightly
TABLES = (
    "select c.oid::regclass::text from pg_class c where c.relkind in ('r', 'p')"
    " and c.relnamespace = 'ragdb'::regnamespace and not c.relispartition"
)
WORK = (
    "select ragdb.put_text('docs', 'a.md', 'refunds are paid in 15 days')",
    "select ragdb.put_text('docs', 'b.md', 'deposits are kept when a tool is lost')",
    "select ragdb.delete_source('docs', 'b.md')",
    "select from ragdb.retrieve('docs', 'refunds')",
    "select ragdb.maintain()",
    "select ragdb.set_ledger(true)",
    "select ragdb.seal_ledger()",
    "select ragdb.repair_corpus('docs')",
)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """URI of the superuser of a server that writes what publications need."""
    with watched_folder() as home:
        folder = home / "pg18"
        with psycopg.connect(embedded.start(folder), autocommit=True) as db:
            db.execute("alter system set wal_level = logical")
        embedded.stop(folder)
        yield embedded.start(folder)
        embedded.stop(folder)


def connected(dsn: str) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(dsn, autocommit=True)


def rows(dsn: str) -> dict[str, object]:
    with connected(dsn) as db:
        return {
            str(table): db.execute(
                f'select array_agg(r::text order by r::text collate "C") from {table} r'
            ).fetchone()
            for (table,) in db.execute(TABLES).fetchall()
        }


def test_all_goes_on_and_a_subscriber_has_every_row_and_answers(
    server: str, tmp_path: Path
) -> None:
    one, two = (make_conninfo(server, dbname=name) for name in ("one", "two"))
    with connected(server) as db:
        db.execute("create database one template template0")
        db.execute("create database two template template0")
    migrate.migrate(one)
    with connected(one) as db:
        db.execute("select ragdb.create_corpus('docs')")
        db.execute("select ragdb.put_text('docs', 'a.md', 'refunds are paid in 14 days')")
        script = tmp_path / "schema.sql"
        for program, *flags in (("pg_dump", one, "--schema-only", "-f"), ("psql", two, "-qf")):
            subprocess.run([postgres.binary(program), "-d", *flags, script], check=True)
        db.execute("create publication all_of_it for all tables")
        db.execute("select pg_create_logical_replication_slot('two', 'pgoutput')")
        with connected(two) as other:
            other.execute(
                f"create subscription two connection '{one}' publication all_of_it"
                " with (create_slot = false)"
            )
        for statement in WORK:
            db.execute(statement)
        until(lambda: rows(one) == rows(two), 30)
        search = "select rank, source, score from ragdb.search('docs', 'refunds')"
        with connected(two) as other:
            assert other.execute(search).fetchall() == db.execute(search).fetchall() != []
            assert other.execute("select * from ragdb.check_corpus('docs')").fetchall() == []
            other.execute("drop subscription two")
