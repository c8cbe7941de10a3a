"""An edge is said by a document or was added on record: who forges one or takes one is found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection, Server
from tests.documents import document
from tests.embedding import make_embedder
from tests.sql.conversations import conversation, message, put, uuid
from tests.sql.documents_twin import put as put_documents

DOCUMENTS = [
    document(
        "a.md",
        ["Of all.", "Of one.", "More.", "Of two."],
        headings=[["A"], ["A", "One"], ["A", "One"], ["A", "Two"]],
        links=[(1, "c.md"), (2, "chat.jsonl#s1")],
    ),
    document("b.md", ["Another."], links=[(0, "c.md"), (0, "d.md")]),
    document("c.md", ["A third.", "With more."]),
]
TALK = [message(1), message(2, [1]), message(3, [2])]
JOINED = [
    {"parent": uuid(1), "child": uuid(11), "edge_type": "reply"},
    {"parent": uuid(3), "child": uuid(1), "edge_type": "reference"},
]


def numbers(db: Connection) -> dict[str, int]:
    """The chunks by document and place, turns by their number."""
    rows = db.execute("select source, ordinal, chunk_id, chunk_no from ragdb.chunks").fetchall()
    named = {f"{source} {ordinal}": number for source, ordinal, _, number in rows}
    return named | {f"turn {int(i[-4:], 16)}": n for _, _, i, n in rows if i.startswith("0000")}


def edge(kind: str, parent: str, child: str, **columns: str) -> str:
    values = {"is_added": "false"} | columns
    names = "".join(f", {name}" for name in values)
    return (
        f"insert into ragdb.edges (corpus_id, parent_no, child_no, edge_type{names}) select"
        f" corpus_id, :{parent}:, :{child}:, '{kind}', {', '.join(values.values())}"
        " from ragdb.corpora where name = 'chat'"
    )


OF = "where parent_no = :{}: and child_no = :{}:"
FORGED = {
    "a next chunk": (edge("default", "a.md 0", "c.md 0"), "a.md 0", "c.md 0"),
    "a section": (edge("branch", "c.md 0", "c.md 1"), "c.md 0", "c.md 1"),
    "a link": (edge("reference", "c.md 0", "a.md 0"), "c.md 0", "a.md 0"),
    "a link of a turn": (edge("reference", "turn 3", "a.md 0"), "turn 3", "a.md 0"),
    "an answer of another session": (edge("reply", "turn 3", "turn 12"), "turn 3", "turn 12"),
    "an added one": (
        edge("reference", "turn 3", "a.md 0", is_added="true"), "turn 3", "a.md 0"
    ),
    "no next chunk": (
        f"delete from ragdb.edges {OF.format('a.md 1', 'a.md 2')} and edge_type = 'default'",
        "a.md 1", "a.md 2",
    ),
    "no section": (f"delete from ragdb.edges {OF.format('a.md 0', 'a.md 3')}", "a.md 0", "a.md 3"),
    "no link": (f"delete from ragdb.edges {OF.format('b.md 0', 'c.md 0')}", "b.md 0", "c.md 0"),
    "no added one": (f"delete from ragdb.edges {OF.format('turn 1', 'turn 11')}",
        "turn 1", "turn 11"),
    "another end": (
        f"update ragdb.edges set child_no = :c.md 1: {OF.format('b.md 0', 'c.md 0')}",
        "b.md 0", "c.md 1",
    ),
    "an added one turned": (
        f"update ragdb.edges set parent_no = child_no, child_no = parent_no"
        f" {OF.format('turn 1', 'turn 11')}", "turn 11", "turn 1",
    ),
    "another type of an added one": (
        f"update ragdb.edges set edge_type = 'branch' {OF.format('turn 1', 'turn 11')}",
        "turn 1", "turn 11",
    ),
    "that it was added": (
        f"update ragdb.edges set is_added = true {OF.format('b.md 0', 'c.md 0')}",
        "b.md 0", "c.md 0",
    ),
    "that it was not added": (
        f"update ragdb.edges set is_added = false {OF.format('turn 1', 'turn 11')}",
        "turn 1", "turn 11",
    ),
    "one with no chunk": (edge("default", "c.md 1", "c.md 1").replace(":c.md 1:, :c.md 1:",
        "9998, 9999"), "9998", "9999"),
}  # fmt: skip


@pytest.fixture(scope="module")
def told(any_version: Server) -> Iterator[str]:
    """DSN of documents with sections and links, two sessions, and edges that were added."""
    with any_version.database() as base:
        dsn = any_version.dsn(base.dbname)
        with psycopg.connect(dsn) as db:
            db.execute("select ragdb.create_corpus('other')")
            put_documents(db, *DOCUMENTS, corpus="other")
            db.execute("select ragdb.create_corpus('chat')")
            put(db, "chat", conversation(TALK))
            put_documents(db, *DOCUMENTS, corpus="chat")
            append(db, "s2", message(11), message(12, [11]))
            append(db, "s1", message(4, [3]))
            assert call(db, "add_edges", *JOINED) == 2
            assert found(db) == []
        yield dsn


@pytest.fixture
def chat(any_version: Server, told: str) -> Iterator[Connection]:
    with any_version.rolled_back(told) as db:
        yield db


def append(db: Connection, session: str, *turns: dict[str, Any]) -> None:
    db.execute("select ragdb.append_turns('chat', %s, %s)", (session, json.dumps(turns)))


def call(db: Connection, function: str, *edges: dict[str, str]) -> int:
    ((count,),) = db.execute(
        f"select ragdb.{function}('chat', %s)", (json.dumps(edges),)
    ).fetchall()
    return int(count)


def found(db: Connection) -> list[str]:
    rows = db.execute(
        "select place from ragdb.verify(checks => '{edges,added_edges,documents,states}')"
        " where severity = 'error' order by place"
    ).fetchall()
    return [place for (place,) in rows]


def name(db: Connection, chunk: str) -> str:
    row = db.execute(
        "select chunk_id from ragdb.chunks join ragdb.corpora c using (corpus_id)"
        " where c.name = 'chat' and chunk_no = %s", (chunk,)
    ).fetchone()  # fmt: skip
    return row[0] if row else f"number {chunk}"


@pytest.mark.parametrize("forged", FORGED)
def test_an_edge_that_is_forged_or_taken_is_found_by_name(chat: Connection, forged: str) -> None:
    statement, parent, child = FORGED[forged]
    chunks = numbers(chat)
    for chunk, number in chunks.items():
        statement = statement.replace(f":{chunk}:", str(number))
    chat.execute("set session_replication_role = replica")
    assert chat.execute(f"{statement}").rowcount > 0
    ends = [name(chat, str(chunks.get(end, end))) for end in (parent, child)]
    assert f"edge from {ends[0]} to {ends[1]} of corpus chat" in found(chat)


@pytest.mark.parametrize("gone", ["once", "twice"])
def test_an_edge_that_was_taken_away_and_is_put_back_with_its_record_is_found(
    chat: Connection, gone: str
) -> None:
    chat.execute("create temp table old as select * from ragdb.edges where is_added")
    chat.execute("create temp table told as select * from ragdb.recorded_states")
    assert call(chat, "remove_edges", JOINED[0]) == 1
    assert found(chat) == []
    chat.execute("select ragdb.seal_ledger()")
    chat.execute("set session_replication_role = replica")
    chat.execute("insert into ragdb.edges select * from old on conflict do nothing")
    assert len(found(chat)) == 1
    if gone == "twice":
        chat.execute("alter table ragdb.recorded_states disable trigger user")
        chat.execute("delete from ragdb.recorded_states")
        chat.execute("insert into ragdb.recorded_states select * from told")
        assert found(chat) == []
        kinds = chat.execute("select kind, finding from ragdb.verify_ledger()").fetchall()
        assert ("state", "row_missing") in kinds


def test_swapped_edges_are_found(chat: Connection) -> None:
    chat.execute("set session_replication_role = replica")
    chat.execute(
        "update ragdb.edges e set child_no = o.child_no from ragdb.edges o"
        " where e.is_added and o.is_added and e.child_no < o.child_no"
    )
    assert found(chat)


@pytest.mark.parametrize(
    "change",
    [
        "select ragdb.put_documents('chat', %(documents)s, true)",
        "select ragdb.put_documents('chat', %(moved)s)",
        "select ragdb.put_documents('chat', %(arrived)s)",
        "select ragdb.put_conversations('chat', %(talk)s, true)",
        "select ragdb.put_conversations('chat', %(shorter)s)",
        "select ragdb.add_edges('chat', %(said)s)",
        "select ragdb.add_edges('chat', %(said)s), ragdb.remove_edges('chat', %(said)s)",
        "select ragdb.add_edges('chat', %(joined)s)",
        "select ragdb.remove_edges('chat', %(joined)s), ragdb.add_edges('chat', %(joined)s)",
        "select ragdb.delete_source('chat', 'c.md')",
        "select ragdb.delete_source('chat', 'a.md')",
        "select ragdb.delete_source('chat', 'chat.jsonl#s1')",
        "select ragdb.delete_source('chat', 'session:s2')",
        "select ragdb.embed_corpus('chat', 'hash')",
        "select ragdb.repair_corpus('chat')",
        "select ragdb.keep_history('chat', '1 day'), ragdb.remove_edges('chat', %(joined)s)",
        "select ragdb.drop_corpus('chat')",
    ],
)
def test_what_functions_make_of_edges_is_not_found(chat: Connection, change: str) -> None:
    chunks = numbers(chat)
    first, second = (name(chat, str(chunks[at])) for at in ("b.md 0", "c.md 0"))
    moved = DOCUMENTS[1] | {"uri": "c.md", "doc_cid": "sha256:" + "0" * 64}
    given: dict[str, list[Any]] = {
        "documents": DOCUMENTS,
        "moved": [moved],
        "arrived": [document("d.md", ["At last."])],
        "talk": [conversation(TALK)],
        "shorter": [conversation([TALK[0], message(3, [1])])],
        "said": [{"parent": first, "child": second}],
        "joined": JOINED,
    }
    make_embedder(chat)
    chat.execute(change.encode(), {key: json.dumps(value) for key, value in given.items()})
    assert found(chat) == []


def test_an_added_edge_that_a_document_says_since_stays_when_it_is_taken_away(
    chat: Connection,
) -> None:
    chunks = numbers(chat)
    new = {"parent": name(chat, str(chunks["c.md 0"])), "child": name(chat, str(chunks["b.md 0"]))}
    assert call(chat, "add_edges", new) == 1
    linking = document("c.md", ["A third.", "With more."], links=[(0, "b.md")])
    put_documents(chat, linking, corpus="chat")
    assert call(chat, "remove_edges", new) == 1
    children = chat.execute("select child_id, is_added from ragdb.get_children('chat', %s)",
        (new["parent"],)).fetchall()  # fmt: skip
    assert (new["child"], False) in children
    assert found(chat) == []


def test_what_was_added_goes_out_and_comes_in_on_record(chat: Connection) -> None:
    header = chat.execute("select ragdb.export_corpus('chat')").fetchall()[0][0]
    documents = chat.execute("select document from ragdb.export_documents('chat')").fetchall()
    chat.execute("select ragdb.import_corpus(%s, 'copy')", (json.dumps(header),))
    chat.execute(
        "select ragdb.import_documents('copy', %s)",
        (json.dumps([json.loads(document) for (document,) in documents]),),
    )
    chat.execute("select ragdb.finish_import('copy', %s)", (json.dumps(header),))
    recorded = chat.execute(
        "select count(*) from ragdb.recorded_states s join ragdb.corpora c using (corpus_id)"
        " where c.name = 'copy' and s.kind = 'edge'"
    ).fetchone()
    assert recorded == (3,)
    assert found(chat) == []
