"""Conversations become turns and edges, or are refused whole."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from uuid import UUID, uuid5

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb import errors
from ragdb.readers.messages import ROLES
from tests.conftest import Connection
from tests.processor import spent
from tests.sql.conversations import chat, conversation, message, put, uuid
from tests.sql.signed_slices import packed


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ([message(1), message(1)], "two turns"),
        ([message(1, [1])], "itself"),
        ([message(1, [7])], "not in the conversation"),
        ([message(1), message(2, [3]), message(3, [2])], "turns on it or behind it"),
        ([message(1) | {"text": "  "}], "blank"),
        ([message(1) | {"text": None}], "text"),
        ([message(1) | {"salience": 1.5}], "salience"),
        ([message(1) | {"created_at": "yesterday evening"}], "created_at"),
        ([message(1) | {"created_at": "infinity"}], "created_at"),
        ([message(1) | {"created_at": 1700000000}], "created_at"),
        ([message(1) | {"id": None}], "id"),
        ([message(1) | {"parents": "x"}], "parents"),
        (["hello"], "object"),
    ],
)
def test_a_conversation_that_contradicts_itself_is_refused_whole(
    db: Connection, bad: Any, says: str
) -> None:
    db.execute("select ragdb.create_corpus('chat')")
    with pytest.raises(psycopg.DatabaseError, match=says) as caught, db.transaction():
        put(db, "chat", conversation([message(101)], "good"), conversation(bad, "bad"))
    assert caught.value.sqlstate == "RG412"
    assert db.execute("select count(*) from ragdb.turns").fetchone() == (0,)


def test_ids_that_are_no_uuids_become_the_same_uuids_everywhere(any_db: Connection) -> None:
    chat(
        any_db,
        [
            {"id": "m1", "role": "prompter", "text": "Hi"},
            {"id": "m2", "parent_id": "m1", "role": "robot", "phase": "joy", "text": "Ho"},
        ],
    )
    rows = any_db.execute(
        "select c.chunk_id, t.role, t.phase"
        " from ragdb.chunks c join ragdb.turns t using (corpus_id, chunk_no) order by ordinal"
    ).fetchall()
    space = UUID("5b8f3b54-7a0b-5d0c-9a53-3f6d1f4c2a10")
    ids = [str(uuid5(space, packed(b"chat", b"s1", m).decode())) for m in (b"m1", b"m2")]
    assert rows == [(ids[0], "user", "exploration"), (ids[1], "user", "exploration")]


@pytest.mark.parametrize(
    ("given", "role"),
    [("human", "user"), ("AI", "assistant"), ("model", "assistant"), ("gpt", "assistant"),
     ("developer", "system"), ("function", "tool"), ("boss", "user")],
)  # fmt: skip
def test_a_role_is_known_by_what_programs_call_it(db: Connection, given: str, role: str) -> None:
    chat(db, [{"id": "m1", "role": given, "text": "Hi"}])
    turn = [{"id": "n1", "role": given, "text": "Ho"}]
    db.execute("select ragdb.append_turns('chat', 's2', %s)", (Jsonb(turn),))
    db.execute("select ragdb.append_turns('chat', 's2', %s)", (Jsonb(turn),))
    assert db.execute("select role from ragdb.turns").fetchall() == [(role,), (role,)]


def test_the_roles_that_files_know_are_those_of_the_database(db: Connection) -> None:
    ask = "select r, ragdb_internal.turn_role(r) from unnest(%s::text[]) r"
    assert dict(db.execute(ask, (list(ROLES),)).fetchall()) == ROLES


def test_an_id_longer_than_that_of_any_message_is_refused_at_once(any_db: Connection) -> None:
    space = UUID("5b8f3b54-7a0b-5d0c-9a53-3f6d1f4c2a10")
    ask = "select ragdb.turn_id('chat', %s, %s)"
    at_most = "é" * 250
    name = b"\0\0\0\4chat" + 2 * (b"\0\0\1\xf4" + at_most.encode())
    expected = hashlib.sha1(space.bytes + name).digest()[:16]
    ((made,),) = any_db.execute(ask, (at_most, at_most)).fetchall()
    assert made == str(UUID(bytes=expected, version=5))
    any_db.execute("set local statement_timeout = '120 s'")
    before = spent(any_db)
    for parts in (("s", at_most + "e"), (at_most + "e", "m"), ("s", "m" * 2_000_000)):
        with pytest.raises(errors.InvalidArgument, match="bytes"), any_db.transaction():
            any_db.execute(ask, parts)
    hopeless = conversation([{"id": "m", "parent_id": "m" * 2_000_000, "text": "hi"}])
    any_db.execute("select ragdb.create_corpus('chat')")
    with pytest.raises(errors.InvalidArgument, match="bytes"):
        put(any_db, "chat", hopeless)
    assert spent(any_db) - before < 5


def test_the_parents_of_many_messages_are_read_once(db: Connection) -> None:
    db.execute("set local statement_timeout = '120 s'")
    said = conversation([{"id": f"m{n}", "parent_id": f"m{n - 1}"} for n in range(1, 6001)])
    db.execute(
        "create temporary table given on commit drop as"
        " select g.conversations, array(select row("
        "0, 's1', n, 'm' || n, 'c' || n, 'user', '{}', now(), '')::ragdb_internal.parsed_turn"
        " from generate_series(0, 6000) n) as turns"
        " from (select %s::jsonb as conversations) g",
        (json.dumps([said]),),
    )
    before = spent(db)
    # each turn was looked for in all messages: 30 s
    found = db.execute(
        "select count(*), count(*) filter (where e.parent_id = 'c' || substr(e.raw_parent, 2))"
        " from given g cross join lateral"
        " ragdb_internal.parsed_edges('chat', g.conversations, g.turns) e"
    ).fetchall()
    assert found == [(6000, 6000)]
    assert spent(db) - before < 3


def test_the_parents_of_turns_that_come_again_are_compared_once(db: Connection) -> None:
    chat(db, [message(n) for n in range(300)])
    db.execute(
        "create temporary table given on commit drop as"
        " select t.corpus_id, array_agg(row(0, t.session_id, t.place, c.chunk_id, c.chunk_id,"
        " t.role, t.given, t.created_at, c.text)::ragdb_internal.parsed_turn) as turns,"
        " array(select row(0, 'p' || n, 'c' || n, 'reply', 'p' || n, 'c' || n)"
        "::ragdb_internal.parsed_edge from generate_series(1, 100000) n) as edges"
        " from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no) group by t.corpus_id"
    )
    before = spent(db)
    # all edges were read for each turn
    found = db.execute(
        "select count(*), count(s.differs) from given g cross join lateral"
        " ragdb_internal.stored_turns(g.corpus_id, g.turns, g.edges, now()) s"
    ).fetchall()
    assert found == [(300, 0)]
    assert spent(db) - before < 1.5


def test_a_time_without_a_zone_means_the_same_in_every_session(db: Connection) -> None:
    db.execute("set local timezone = 'Asia/Tokyo'")
    chat(db, [message(1, created_at="2026-01-01T00:00:00")])
    row = db.execute("select created_at = '2026-01-01 00:00:00+00' from ragdb.turns").fetchone()
    assert row == (True,)


def test_what_a_conversation_does_not_say_is_derived(db: Connection) -> None:
    chat(
        db,
        [
            message(1, role="user", text="Why? And how?", created_at="2026-01-01T00:00:00Z"),
            message(
                2,
                [1],
                text="There is an error: the build failed.",
                created_at="2026-01-01T00:30:00Z",
            ),
            message(3, [1], text="We decided to wait.", created_at="2026-01-01T00:10:00Z"),
            message(
                4,
                [2],
                text="See ```x``` and\n```py\nprint()\n```\n![chart](a.png)",
                created_at="2026-01-01T01:00:00Z",
                feedback=1,
            ),
        ],
    )
    rows = db.execute(
        "select c.chunk_id, t.phase, t.depth, t.sibling_order,"
        " round((ragdb.get_turn('chat', c.chunk_id)).temporal::numeric, 3)::float8, t.complexity,"
        " round(t.salience::numeric, 3)::float8"
        " from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no) order by 1"
    ).fetchall()
    assert rows == [
        (uuid(1), "exploration", 0, 0, 0.0, 1.0, 0.5),
        (uuid(2), "debugging", 1, 1, 0.5, 1.0, 0.6),
        (uuid(3), "synthesis", 1, 0, 0.167, 1.0, 0.6),
        (uuid(4), "consolidation", 2, 0, 1.0, 3.0, 0.95),
    ]


@pytest.mark.parametrize(
    ("at", "year"),
    [
        ("0001-01-01T00:00:00Z", 1),
        ("9999-12-31T23:59:59.999999Z", 9999),
        ("0044-03-15 BC", None),
        ("0001-01-01T00:00:00+05:00", None),
        ("9999-12-31T23:59:59-05:00", None),
    ],
)
def test_a_time_is_of_a_year_that_exports_can_write(
    db: Connection, at: str, year: int | None
) -> None:
    if year is None:
        with pytest.raises(psycopg.Error, match="created_at is not a time") as caught:
            chat(db, [message(1, created_at=at)])
        assert caught.value.sqlstate == "RG412"
        assert "like 2026-11-20T09:30:00Z" in (caught.value.diag.message_hint or "")
    else:
        chat(db, [message(1, created_at=at)])
        ((found,),) = db.execute(
            "select document::jsonb #>> '{messages,0,created_at}'"
            " from ragdb.export_documents('chat')"
        ).fetchall()
        assert found.startswith(f"{year:04}-")
