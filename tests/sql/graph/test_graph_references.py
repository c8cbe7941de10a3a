"""A turn weighs by the references that lead to it now, whichever way they came or went."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection
from tests.documents import document
from tests.sql.conversations import conversation, message, put, uuid
from tests.sql.graph.test_graph_growth import append, rows_touched

ALONE, REFERRED = 0.5, 0.55


def put_document(db: Connection, *links: tuple[int, str], uri: str = "guide.md") -> None:
    given = [document(uri, ["See that conversation."], links=links)]
    db.execute("select ragdb.put_documents('chat', %s)", (json.dumps(given),))


def salience(db: Connection, n: int = 1) -> float:
    """That of a turn, which the edges to it have too."""
    rows = db.execute(
        "select t.salience::float8, array_agg(e.child_salience::float8)"
        " from ragdb.chunks c join ragdb.turns t using (corpus_id, chunk_no)"
        " left join ragdb.edges e on (e.corpus_id, e.child_no) = (c.corpus_id, c.chunk_no)"
        " where c.chunk_id = %s group by 1",
        (uuid(n),),
    ).fetchall()
    ((found, of_edges),) = rows
    assert set(of_edges) <= {None, found}
    return round(float(found), 6)


@pytest.fixture
def talk(db: Connection) -> Connection:
    db.execute("select ragdb.create_corpus('chat')")
    put(db, "chat", conversation([message(1), message(2, [1])]))
    return db


def test_a_link_of_a_document_counts_while_it_is_there(talk: Connection) -> None:
    put_document(talk, (0, "chat.jsonl#s1"))
    assert salience(talk) == REFERRED
    put_document(talk)
    assert salience(talk) == ALONE
    put_document(talk, (0, "chat.jsonl#s1"))
    assert salience(talk) == REFERRED
    talk.execute("select ragdb.delete_document('chat', 'guide.md')")
    assert salience(talk) == ALONE


def test_the_order_in_which_both_ends_of_a_link_come_does_not_count(talk: Connection) -> None:
    put_document(talk, (0, "chat.jsonl#s2"))
    put(talk, "chat", conversation([message(11), message(12, [11])], "s2"))
    assert salience(talk, 11) == REFERRED


@pytest.mark.parametrize(
    "end",
    [
        "select ragdb.delete_document('chat', 'chat.jsonl#s2')",
        "select ragdb.erase_source('chat', 'chat.jsonl#s2')",
        "select ragdb.erase_speaker('chat', 'Ann')",
    ],
)
def test_a_reference_from_another_session_goes_with_its_turn(talk: Connection, end: str) -> None:
    put(talk, "chat", conversation([message(11), message(12, [11], speaker="Ann")], "s2"))
    given: list[dict[str, Any]] = [{"parent": uuid(12), "child": uuid(1)}]
    talk.execute("select ragdb.add_edges('chat', %s)", (json.dumps(given),))
    assert salience(talk) == REFERRED
    talk.execute(end.encode())
    assert salience(talk) == ALONE


def test_a_reference_from_another_session_goes_when_its_turn_is_said_no_more(
    talk: Connection,
) -> None:
    append(talk, "chat", [message(21)], "s3")
    put(talk, "chat", conversation([message(11), message(12, [11])], "s2"))
    given = [{"parent": uuid(12), "child": uuid(n)} for n in (1, 21)]
    talk.execute("select ragdb.add_edges('chat', %s)", (json.dumps(given),))
    put(talk, "chat", conversation([message(11), message(13, [11])], "s2"))
    assert [salience(talk, n) for n in (1, 21)] == [ALONE, ALONE]


def test_a_reference_to_a_turn_that_has_many_does_not_weigh_it(clone: str) -> None:
    with psycopg.connect(clone) as own:  # the rows of a transaction are counted
        own.execute("select ragdb.create_corpus('chat')")
        put(own, "chat", conversation([message(1), message(2, [1])]))
        read = []
        for size in range(1, 4):
            given = [
                document(f"{size}-{n}.md", ["See that."], links=[(0, "chat.jsonl#s1")])
                for n in range(100)
            ]
            own.execute("select ragdb.put_documents('chat', %s)", (json.dumps(given),))
            before = rows_touched(own)
            own.execute("select ragdb.delete_document('chat', %s)", (f"{size}-1.md",))
            read.append(rows_touched(own)[0] - before[0])
        assert salience(own) == 0.65
    assert read[2] - read[0] < 2 * 200
