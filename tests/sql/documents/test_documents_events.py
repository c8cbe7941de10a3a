"""An event for each document that is written, in the order of a clock that never goes back."""

from __future__ import annotations

import psycopg
import pytest

from tests.conftest import Connection
from tests.sql.documents_twin import document, put


def test_an_event_says_what_was_ingested_and_duplicates_say_nothing(docs: Connection) -> None:
    docs.execute("set local role writer")
    one, two = document("a.md", ["one"], title="A"), document("b.md", [], language="de")
    put(docs, one, two)
    put(docs, one)
    events = docs.execute(
        "select event_id, lamport, kind, author, corpus, doc_cid, title, language, chunks"
        " from ragdb.events_after()"
    ).fetchall()
    assert [row[1:] for row in events] == [
        (1, "rag.document.ingested", "writer", "docs", one["doc_cid"], "A", "en", 1),
        (2, "rag.document.ingested", "writer", "docs", two["doc_cid"], None, "de", 0),
    ]
    assert events[0][0] < events[1][0]
    later = docs.execute("select lamport from ragdb.events_after(%s, 1)", (events[0][0],))
    assert later.fetchall() == [(2,)]
    with pytest.raises(psycopg.DatabaseError) as raised, docs.transaction():
        docs.execute("select ragdb.events_after(null, 0)")
    assert raised.value.sqlstate == "RG400"


def test_ids_of_events_do_not_go_back_with_the_clock(docs: Connection) -> None:
    ids = []
    for n, now in enumerate(["2030-01-01", "2029-01-01", "2029-01-01"]):
        docs.execute(f"set local ragdb.now = '{now}'")
        ids.append(put(docs, document("a.md", [f"text {n}"]))[0][4])
    assert ids == sorted(ids)
