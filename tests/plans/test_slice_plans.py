"""Conversations and slices are read by keys, whatever the planner believes of the tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Connection, Server
from tests.sql.conversations import chat, message, uuid

TABLES = "ragdb.chunks, ragdb.turns, ragdb.edges"


def conversation(count: int, first: int = 1) -> list[dict[str, Any]]:
    """A tree of messages, each of which has up to four answers."""
    return [message(first + n, [first + (n - 1) // 4] if n else []) for n in range(count)]


def rows_read(db: Connection) -> int:
    """Rows of chunks, turns and edges that this transaction has read, by a table or an index."""
    (read,) = db.execute(
        "select sum(pg_stat_get_xact_tuples_returned(r.oid)) from ("
        f"select unnest('{{{TABLES}}}'::regclass[]) as oid union all"
        " select indexrelid from pg_index"
        f" where indrelid = any ('{{{TABLES}}}'::regclass[])) r"
    ).fetchone() or (0,)
    return int(read)


@pytest.fixture(scope="module", params=["no statistics", "analyzed other", "analyzed full"])
def database(server18: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    """A conversation of 300 messages, with what the planner may know of it."""

    def fill(db: Connection) -> None:
        if request.param == "analyzed other":
            chat(db, conversation(300, 1000), "other")
            db.execute(f"analyze {TABLES}")
        chat(db, conversation(300))
        if request.param == "analyzed full":
            db.execute(f"analyze {TABLES}")

    with server18.filled(fill) as dsn:
        yield dsn


@pytest.fixture
def filled(server18: Server, database: str) -> Iterator[Connection]:
    """The superuser there, rolled back after."""
    with server18.rolled_back(database) as db:
        yield db


def test_a_conversation_is_put_by_the_keys_of_its_messages(filled: Connection) -> None:
    before = rows_read(filled)
    chat(filled, conversation(100, first=5000), "new")
    # each message reads the ten before it, too
    assert rows_read(filled) - before <= 90 * 100


def plan(db: Connection, statement: str) -> str:
    db.execute("set local plan_cache_mode = force_generic_plan")
    (found,) = db.execute(f"explain (format json, costs off) {statement}").fetchone() or ([],)
    return json.dumps(found)


def test_siblings_are_the_first_of_the_index_by_salience(filled: Connection) -> None:
    found = plan(filled, "select * from ragdb_internal.slice_siblings(1, 2, array[1, 3], 5)")
    assert "edges_by_salience" in found
    assert "edges_by_child" not in found


def test_nodes_are_looked_up_one_by_one(filled: Connection) -> None:
    ((corpus, chunks),) = filled.execute(
        "select c.corpus_id, array(select chunk_no from ragdb.chunks k"
        " where k.corpus_id = c.corpus_id order by 1 limit 5)"
        " from ragdb.corpora c where c.name = 'chat'"
    ).fetchall()
    # as in the expansion
    filled.execute("set local plan_cache_mode = force_generic_plan")
    filled.execute("set local enable_seqscan = off")
    before = rows_read(filled)
    found = filled.execute(
        "select chunk_no from ragdb_internal.slice_nodes(%s, %s, '{}', 0,"
        " ragdb_internal.slice_rules(ragdb_internal.default_policy()))",
        (corpus, chunks),
    ).fetchall()
    assert {n for (n,) in found} == set(chunks)
    # a chunk and a turn for each, by an index and in the table
    assert rows_read(filled) - before <= 4 * len(chunks)


def test_a_slice_reads_what_stands_around_it(filled: Connection) -> None:
    filled.execute(
        "select from ragdb.build_slice('chat', %s, '{\"max_nodes\": 20}', sign => false)",
        (uuid(1),),
    )
    before = rows_read(filled)
    filled.execute(
        "select from ragdb.build_slice('chat', %s, '{\"max_nodes\": 20}', sign => false)",
        (uuid(100),),
    )
    assert rows_read(filled) - before <= 60 * 20
