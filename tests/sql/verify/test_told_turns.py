"""Who said what and when is what the event of a conversation tells: whoever changes it is found."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection, Server
from tests.documents import document
from tests.embedding import make_embedder
from tests.sql.conversations import conversation, message, put, uuid
from tests.sql.documents_twin import put as put_documents

AT = "2024-05-06T07:08:09Z"
TALK = [
    message(1, created_at=AT, phase="planning", salience=0.25),
    message(2, [1], created_at=AT),
    message(3, [2], created_at=AT, feedback=1),
    message(4, [2], created_at=AT, text="Another answer."),
]
SECOND = f"where chunk_no = (select chunk_no from ragdb.chunks where chunk_id = '{uuid(2)}')"
TO_THIRD = f"where child_no = (select chunk_no from ragdb.chunks where chunk_id = '{uuid(3)}')"
FORGED = {
    "another speaker": f"update ragdb.turns set role = 'user' {SECOND}",
    "another time": f"update ragdb.turns set created_at = created_at - interval '1 day' {SECOND}",
    "another session": f"update ragdb.turns set session_id = 's2' {SECOND}",
    "another phase": f"update ragdb.turns set phase = 'synthesis' {SECOND}",
    "another feedback": f"""update ragdb.turns set given = '{{"feedback": -1}}' {SECOND}""",
    "another number of parts": f"update ragdb.turns set complexity = 9 {SECOND}",
    "another place": f"update ragdb.turns set place = 7 {SECOND}",
    "no turn": f"delete from ragdb.turns {SECOND}",
    "a turn that is none": "insert into ragdb.turns select t.corpus_id, c.chunk_no, t.turn_id,"
    " t.session_id, t.role, t.phase, t.salience, t.depth, 9, 0, 9, t.homogeneity, t.complexity,"
    " t.given, t.created_at from ragdb.turns t, ragdb.chunks c "
    f"{SECOND.replace('where ', 'where t.', 1)} and c.source = 'a.md' and c.ordinal = 0",
    "two speakers swapped": "update ragdb.turns t set role = o.role from ragdb.turns o"
    " where t.place < 2 and o.place = 1 - t.place and t.session_id = 's1' and o.session_id = 's1'",
    "a parent less": f"delete from ragdb.edges {TO_THIRD}",
    "another parent": "update ragdb.edges set parent_no = (select chunk_no from ragdb.chunks"
    f" where chunk_id = '{uuid(1)}') {TO_THIRD}",
    "another kind of parent": f"update ragdb.edges set edge_type = 'branch' {TO_THIRD}",
    "a link more": "insert into ragdb.document_links select corpus_id, chunk_no, 'b.md'"
    " from ragdb.chunks where source = 'a.md' and ordinal = 0",
    "a link less": "delete from ragdb.document_links",
    "another link": "update ragdb.document_links set target = 'b.md'",
}  # fmt: skip
DOCUMENTS = [
    document("a.md", ["One text.", "Another."], links=[(1, "c.md")]),
    document("c.md", ["A third."]),
]


@pytest.fixture(scope="module")
def told(any_version: Server) -> Iterator[str]:
    """DSN of a conversation and two documents in one corpus."""
    with any_version.database() as base:
        dsn = any_version.dsn(base.dbname)
        with psycopg.connect(dsn) as db:
            db.execute("select ragdb.create_corpus('chat')")
            put(db, "chat", conversation(TALK))
            put_documents(db, *DOCUMENTS, corpus="chat")
            append(db, message(11))
            append(db, message(12, [11]))
            assert found(db) == []
        yield dsn


@pytest.fixture
def chat(any_version: Server, told: str) -> Iterator[Connection]:
    with any_version.rolled_back(told) as db:
        db.execute("set session_replication_role = replica")
        yield db


def packed(part: str | bytes) -> bytes:
    data = part.encode() if isinstance(part, str) else part
    return len(data).to_bytes(4, "big") + data


def test_the_hash_of_the_chunks_is_that_of_their_turns_and_links_too(
    any_version: Server, told: str
) -> None:
    with any_version.rolled_back(told) as db:
        rows = db.execute(
            "select d.source, e.chunks_hash, array_agg(ragdb_internal.stored_bytes(c) order by"
            " c.ordinal) from ragdb.documents d join ragdb.events e using (corpus_id, event_id)"
            " join ragdb.chunks c using (corpus_id, doc_no) group by 1, 2"
        ).fetchall()
        begun = db.execute(
            "select timestamptz_send(created_at) from ragdb.turns where session_id = 's2'"
            " order by place"
        ).fetchall()
    at = int((datetime.fromisoformat(AT) - datetime(2000, 1, 1, tzinfo=UTC)).total_seconds())
    time = (at * 1_000_000).to_bytes(8, "big", signed=True)
    second, third = (n.to_bytes(4, "big") + packed("reply") for n in (0, 1))
    said = {
        "chat.jsonl#s1": [
            turn("s1", "user", "planning", 0, '{"phase": "planning", "salience": 0.25}', time, b""),
            turn("s1", "assistant", "exploration", 1, "{}", time, second),
            turn("s1", "user", "exploration", 2, '{"feedback": 1}', time, third),
            turn("s1", "assistant", "exploration", 3, "{}", time, third),
        ],
        "session:s2": [
            turn("s2", "user", "exploration", 0, "{}", begun[0][0], b""),
            turn("s2", "assistant", "exploration", 1, "{}", begun[1][0], second),
        ],
        "a.md": [b"", packed("c.md")],
        "c.md": [b""],
    }
    assert len(rows) == len(said)
    for source, told_hash, chunks in rows:
        whole = b""
        for chunk, more in zip(chunks, said[source], strict=True):
            whole = hashlib.sha256(whole + chunk + more).digest()
        assert whole == told_hash, source


def turn(
    session: str, role: str, phase: str, place: int, given: str, time: bytes, parents: bytes
) -> bytes:
    return (
        b"turn" + packed(session) + packed(role) + packed(phase) + place.to_bytes(4, "big")
        + struct.pack(">f", 1) + packed(given) + time + packed(parents)
    )  # fmt: skip


def append(db: Connection, *turns: dict[str, Any]) -> None:
    db.execute("select ragdb.append_turns('chat', 's2', %s)", (json.dumps(turns),))


def found(db: Connection) -> list[str]:
    rows = db.execute(
        "select place from ragdb.verify(checks => '{documents}') where severity = 'error'"
    ).fetchall()
    return [place for (place,) in rows]


@pytest.mark.parametrize("forged", FORGED)
def test_what_is_changed_of_what_was_said_is_found(chat: Connection, forged: str) -> None:
    assert chat.execute(FORGED[forged].encode()).rowcount > 0
    of = "a.md" if "link" in forged or "none" in forged else "chat.jsonl#s1"
    assert found(chat) == [f"document {of} of corpus chat"]


@pytest.mark.parametrize(
    "change",
    [
        "select ragdb.put_conversations('chat', %(other)s)",
        "select ragdb.put_conversations('chat', %(again)s, true)",
        "select ragdb.put_conversations('chat', %(renamed)s)",
        "select ragdb.append_turns('chat', 's2', %(turn)s)",
        "select ragdb.append_turns('chat', 's1', %(answer)s)",
        "select ragdb.add_edges('chat', %(edge)s)",
        "select ragdb.add_edges('chat', %(edge)s), ragdb.remove_edges('chat', %(edge)s)",
        "select ragdb.embed_corpus('chat', 'hash')",
        "select ragdb.delete_source('chat', 'c.md')",
        "select ragdb.delete_source('chat', 'chat.jsonl#s1')",
        "select ragdb.repair_corpus('chat')",
    ],
)
def test_what_is_said_by_a_function_is_not_found(
    any_version: Server, told: str, change: str
) -> None:
    shorter = [*TALK[:2], message(3, [1], created_at=AT)]
    given = {
        "other": [conversation(shorter)],
        "again": [conversation(TALK)],
        "renamed": [conversation(TALK, uri="0.jsonl")],
        "turn": [message(13, [12])],
        "answer": [message(5, [4])],
        "edge": [{"parent": uuid(1), "child": uuid(12), "edge_type": "reply"}],
    }
    with any_version.rolled_back(told) as db:
        make_embedder(db)
        db.execute(change.encode(), {key: json.dumps(value) for key, value in given.items()})
        assert found(db) == []


def test_a_forged_turn_stays_found_when_its_session_grows(chat: Connection) -> None:
    chat.execute("update ragdb.turns set role = 'system' where session_id = 's2' and place = 0")
    append(chat, message(13, [12]))
    assert found(chat) == ["document session:s2 of corpus chat"]


def in_all(db: Connection) -> list[tuple[str, str]]:
    return db.execute(
        "select place, finding from ragdb.verify(checks => '{turns,edges}')"
        " where severity = 'error'"
    ).fetchall()


def test_a_salience_that_was_given_is_the_one_that_counts(chat: Connection) -> None:
    assert in_all(chat) == []
    first = SECOND.replace(uuid(2), uuid(1))
    chat.execute(f"update ragdb.turns set salience = 0.75 {first}".encode())
    chat.execute(
        f"update ragdb.edges set child_salience = 0.75"
        f" {first.replace('where chunk_no', 'where child_no')}".encode()
    )
    assert in_all(chat) == [
        (f"turn {uuid(1)} of corpus chat", "its salience is not the one that was given")
    ]


def test_the_id_that_orders_a_turn_is_that_of_its_chunk(chat: Connection) -> None:
    first = f"where turn_id = '{uuid(1)}'"
    chat.execute(f"update ragdb.turns set turn_id = '{uuid(99)}' {first}".encode())
    assert in_all(chat) == [
        (f"turn {uuid(1)} of corpus chat", "its turn_id is not the id of its chunk")
    ]


def test_an_edge_has_the_salience_of_the_turn_that_it_leads_to(chat: Connection) -> None:
    chat.execute(f"update ragdb.edges set child_salience = 0.125 {TO_THIRD}".encode())
    assert in_all(chat) == [
        (
            f"edge from {uuid(2)} to {uuid(3)} of corpus chat",
            "reply: it has not the salience of the turn that it leads to",
        )
    ]


def test_a_link_to_a_turn_has_its_salience(chat: Connection) -> None:
    linking = document("d.md", ["See there."], links=[(0, "chat.jsonl#s1")])
    put_documents(chat, linking, corpus="chat")
    rows = chat.execute(
        "select e.child_salience from ragdb.edges e join ragdb.chunks c"
        " on c.corpus_id = e.corpus_id and c.chunk_no = e.parent_no where c.source = 'd.md'"
    ).fetchall()
    assert rows == [(0.25,)]
    assert in_all(chat) == []
