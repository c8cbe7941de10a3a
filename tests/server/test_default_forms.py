"""Clients read what a database or a role has written in forms of its own: times, quoted names."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg import sql

import ragdb
from ragdb.mcp.tools import Tools
from ragdb.server import migrate
from tests.conftest import Run
from tests.http.conftest import served

CORPUS = "select ragdb.create_corpus('docs', history => '90 days')"
FORMS = {"datestyle": "SQL, DMY", "intervalstyle": "iso_8601"}


def have(dsn: str, settings: dict[str, str]) -> None:
    with psycopg.connect(dsn, autocommit=True) as db:
        for name, value in settings.items():
            db.execute(
                sql.SQL("alter database {} set {} = {}").format(
                    sql.Identifier(db.info.dbname), sql.Identifier(name), sql.Literal(value)
                )
            )


@pytest.fixture
def formed(clone: str) -> str:
    with psycopg.connect(clone) as db:
        db.execute(CORPUS)
        db.execute("select ragdb.put_text('docs', 'a.md', 'The library is closed.')")
        db.execute("select ragdb.retrieve('docs', 'library')")
    have(clone, FORMS)
    return clone


async def asked_at_once(dsn: str) -> Any:
    async with await ragdb.aconnect(dsn) as db:
        return await db.list_corpora()


def test_times_are_read_whatever_form_a_database_gives_them(formed: str) -> None:
    with ragdb.connect(formed) as db:
        assert db.keep_history("docs", "90 days 03:00").kept_for == timedelta(days=90, hours=3)
        found = db.list_corpora()
        # psycopg begins a transaction, whose rollback takes nothing back
        db.connection.autocommit = False
        assert db.list_corpora() == found
        db.connection.rollback()
        assert db.list_corpora() == found
    assert asyncio.run(asked_at_once(formed)) == found


def test_commands_and_tools_read_times_too(formed: str, run: Run) -> None:
    found = run("corpus", "ls", "--json")
    assert found.exit_code == 0, found.stderr
    tools = Tools(formed)
    tools.pool.open()
    assert tools.call("list_corpora", {})["corpora"]
    tools.pool.close()


def test_http_reads_times_too(formed: str) -> None:
    with psycopg.connect(formed) as db:
        ((token,),) = db.execute("select ragdb.create_http_token('admin', 'admin')").fetchall()
    with served(formed, {"admin": token}) as api:
        assert api("GET", "/api/traces", role="admin").status == 200


async def found_at_once(dsn: str) -> Any:
    async with await ragdb.aconnect(dsn) as db:
        return await db.search("docs", "the library that is open")


def test_scores_have_all_their_digits_whatever_a_database_says(formed: str) -> None:
    with ragdb.connect(formed) as db:
        (hit,) = found = db.search("docs", "the library that is open")
    assert hit.score != round(hit.score, 12)
    have(formed, {"extra_float_digits": "-3"})
    with ragdb.connect(formed) as db:
        assert db.search("docs", "the library that is open") == found
        db.connection.autocommit = False
        db.connection.rollback()
        assert db.search("docs", "the library that is open") == found
    assert asyncio.run(found_at_once(formed)) == found


def test_a_schema_is_known_where_names_are_quoted(any_clone: str, run_on: Any) -> None:
    have(any_clone, {"quote_all_identifiers": "on"})
    assert not migrate.migrate(any_clone)
    assert migrate.migrate(any_clone, force=True)
    found = run_on(any_clone)("doctor")
    assert found.exit_code == 0, found.stdout
