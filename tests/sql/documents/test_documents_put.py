"""Putting documents: what is written, and what stays."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.conftest import Connection
from tests.documents import CHUNKING, document
from tests.refusal import refused
from tests.sql.documents_twin import chunk_ids, faults, put

PARAGRAPHS = [f"Paragraph number {n} says that {n} times {n} is {n * n}. " * 12 for n in range(9)]


def chunk_rows(db: Connection) -> dict[str, int]:
    return dict(db.execute("select chunk_id, chunk_no from ragdb.chunks").fetchall())


def snapshot(db: Connection) -> Any:
    """Every row of the corpus with the transaction and place that wrote it."""
    return [
        db.execute(f"select ctid, xmin, cmin, * from ragdb.{table} order by 1").fetchall()
        for table in (
            "corpora",
            "documents",
            "document_sources",
            "chunks",
            "edges",
            "document_links",
            "chunk_lexemes",
            "lexemes",
            "events",
        )
    ]


def test_a_document_put_twice_is_stored_once(docs: Connection) -> None:
    one = document("a.md", ["one", "two"], title="A", metadata={"year": 2020}, links=[(0, "b.md")])
    first = put(docs, one)
    before = snapshot(docs)
    second = put(docs, one)
    assert snapshot(docs) == before
    assert second[0][:6] == (*first[0][:5], True)
    assert first[0][5] is False
    assert docs.execute("select count(*) from ragdb.events").fetchone() == (1,)


def test_force_writes_what_is_there_already_and_keeps_its_rows(docs: Connection) -> None:
    one = document("a.md", ["one", "two"])
    first = put(docs, one)
    rows = chunk_rows(docs)
    again = put(docs, one, force=True)
    assert again[0][5] is False
    assert again[0][4] > first[0][4]
    assert chunk_rows(docs) == rows
    assert faults(docs) == []


def test_another_citation_of_the_same_text_is_written_by_force(docs: Connection) -> None:
    one = document("a.md", ["one", "two"])
    put(docs, one)
    for given in ({"locator": "§ 7"}, {"locator": "§ 8"}, None):
        one["chunks"][1]["citation"] = given
        put(docs, one, force=True)
        found = docs.execute("select citation from ragdb.document_chunks('docs', 'a.md')")
        assert found.fetchall() == [({"uri": "a.md"},), (given or {"uri": "a.md"},)]
        assert faults(docs) == []


def test_the_ids_of_chunks_are_those_of_the_twin(docs: Connection) -> None:
    documents = [
        document(
            "Docs/Übersicht (1).MD", ["same", "x", " same\r\n", "same"], source_name="Handbook"
        ),
        document("数.md", ["text\rmore"]),
        document("refunds.md", ["one"], external_id="refunds"),
        document("corpus.jsonl#17", ["one", "two"], external_id="17"),
        document("long/" + "x" * 300, ["one"]),
    ]
    put(docs, *documents)
    expected = [name for one in documents for name in chunk_ids("docs", one["uri"], one)]
    found = [
        name
        for (name,) in docs.execute("select chunk_id from ragdb.chunks order by doc_no, ordinal")
    ]
    assert found == expected
    assert "refunds" in found
    assert "17#2" in found
    assert faults(docs) == []


def test_one_paragraph_on_top_changes_one_chunk_id(docs: Connection) -> None:
    text = "\n\n".join(PARAGRAPHS)
    docs.execute("select ragdb.put_text('docs', 'a.md', %s)", (text,))
    before = chunk_rows(docs)
    edges = set(docs.execute("select parent_no, child_no from ragdb.edges").fetchall())
    docs.execute(
        "select ragdb.put_text('docs', 'a.md', %s)", ("A new paragraph on top.\n\n" + text,)
    )
    after = chunk_rows(docs)
    assert len(before) > 4
    assert len(after.keys() - before.keys()) == 1
    assert all(before[name] == after[name] for name in before.keys() & after.keys())
    kept = set(docs.execute("select parent_no, child_no from ragdb.edges").fetchall())
    assert len(edges - kept) <= 1
    assert docs.execute("select count(*) from ragdb.documents").fetchone() == (1,)
    assert faults(docs) == []


def test_a_replaced_document_is_not_found_by_what_it_said_before(docs: Connection) -> None:
    docs.execute("select ragdb.put_text('docs', 'a.md', 'The zebra sleeps.')")
    docs.execute("select ragdb.put_text('docs', 'a.md', 'The walrus sleeps.')")

    def found(query: str) -> int:
        return len(docs.execute("select * from ragdb.search('docs', %s)", (query,)).fetchall())

    assert (found("zebra"), found("walrus"), found("sleeps")) == (0, 1, 1)


def test_a_new_title_is_searched_and_moves_no_row(docs: Connection) -> None:
    one = document("a.md", ["one", "two"], title="Zebra", data=b"bytes")
    put(docs, one)
    rows = chunk_rows(docs)
    put(docs, {**one, "title": "Walrus"})
    assert chunk_rows(docs) == rows
    assert len(docs.execute("select * from ragdb.search('docs', 'walrus')").fetchall()) == 2
    assert docs.execute("select * from ragdb.search('docs', 'zebra')").fetchall() == []
    assert faults(docs) == []


def test_new_metadata_is_written_without_indexing_again(docs: Connection) -> None:
    one = document("a.md", ["one", "two"], data=b"bytes", metadata={"year": 2020})
    put(docs, one)
    indexed = docs.execute("select ctid, xmin, cmin from ragdb.chunk_lexemes").fetchall()
    result = put(docs, {**one, "metadata": {"year": 2021}})
    assert result[0][5] is False
    assert docs.execute("select metadata from ragdb.documents").fetchone() == ({"year": 2021},)
    assert docs.execute("select ctid, xmin, cmin from ragdb.chunk_lexemes").fetchall() == indexed
    assert docs.execute("select count(*) from ragdb.events").fetchone() == (2,)


def test_other_chunking_cuts_again_and_keeps_the_chunks_that_stay(docs: Connection) -> None:
    one = document("a.md", ["one", "two", "three"], data=b"bytes")
    put(docs, one)
    rows = chunk_rows(docs)
    other = document("a.md", ["one", "two and three"], data=b"bytes")
    other["chunking"] = {**CHUNKING, "max_tokens": 100}
    assert put(docs, other)[0][2:4] == (2, 1 + 4)
    after = chunk_rows(docs)
    assert len(after) == 2
    assert len(after.items() & rows.items()) == 1
    assert faults(docs) == []


def test_one_record_at_two_places_is_one_document_named_after_the_first(
    docs: Connection,
) -> None:
    said: dict[str, Any] = {"data": b"bytes", "external_id": "7"}
    at = {uri: document(uri, ["one", "two"], title=uri, **said) for uri in ("a.md", "b.md")}
    results = []
    for order in (["a.md", "b.md"], ["b.md", "a.md"]):
        for uri in order:
            put(docs, at[uri])
        results.append(
            (
                docs.execute("select source, title, chunks from ragdb.documents").fetchall(),
                docs.execute("select uri from ragdb.document_sources order by 1").fetchall(),
                docs.execute("select chunk_id, source from ragdb.chunks order by 1").fetchall(),
            )
        )
        docs.execute("select ragdb.prune_sources('docs', '', '{}')")
    put(docs, at["b.md"], at["a.md"])
    assert results[0] == results[1]
    assert results[0][0] == [("a.md", "a.md", 2)]
    assert results[0][1] == [("a.md",), ("b.md",)]
    docs.execute("select ragdb.delete_source('docs', 'a.md')")
    ids = set(chunk_rows(docs))
    assert ids == set(chunk_ids("docs", "b.md", at["b.md"]))
    docs.execute("select ragdb.delete_source('docs', 'b.md')")
    assert docs.execute("select count(*) from ragdb.documents").fetchone() == (0,)
    assert faults(docs) == []


def test_another_place_for_the_same_record_adds_a_source_and_an_event(
    docs: Connection,
) -> None:
    said: dict[str, Any] = {"data": b"bytes", "external_id": "7"}
    put(docs, document("a.md", ["one"], **said))
    result = put(docs, document("b.md", ["one"], title="Not the first source", **said))
    assert result[0][5] is True
    assert docs.execute("select count(*), max(title) from ragdb.documents").fetchone() == (1, None)
    assert docs.execute("select source, chunks from ragdb.events").fetchall() == [("a.md", 1)] * 2


def test_the_version_rises_once_in_a_transaction(docs: Connection) -> None:
    put(docs, document("a.md", ["one"]))
    put(docs, document("a.md", ["two"]))
    assert docs.execute("select version from ragdb.corpora").fetchone() == (1,)


def test_an_external_id_that_another_document_has_is_refused(docs: Connection) -> None:
    put(docs, document("x", ["1"], external_id="refunds"))
    with pytest.raises(psycopg.DatabaseError) as raised, docs.transaction():
        put(docs, document("y", ["2"], external_id="refunds"))
    assert raised.value.sqlstate == "RG409"
    # nor does another number of chunks make it another id
    with pytest.raises(psycopg.DatabaseError, match='external_id "refunds"'), docs.transaction():
        put(docs, document("y", ["2", "3"], external_id="refunds"))
    with pytest.raises(psycopg.DatabaseError, match='external_id "refunds"'), docs.transaction():
        put(docs, document("y", external_id="refunds"))
    put(docs, document("x", ["2"], external_id="refunds"))
    assert chunk_rows(docs).keys() == {"refunds"}
    put(docs, document("x", ["2", "3"], external_id="refunds"))
    found = docs.execute("select chunks from ragdb.get_document('docs', 'refunds')").fetchall()
    assert found == [(2,)]


def test_a_document_that_lost_its_first_source_keeps_its_id(docs: Connection) -> None:
    put(docs, *(document(uri, ["1"], external_id="a") for uri in ("x", "y")))
    with pytest.raises(psycopg.DatabaseError) as raised, docs.transaction():
        put(docs, document("z", ["2"]), document("x", ["2", "3"], external_id="a"))
    assert ": 1;" in str(raised.value.diag.message_detail)
    both = [document(uri, ["2", "3"], external_id="a") for uri in ("x", "y")]
    put(docs, *both)
    assert chunk_rows(docs).keys() == {"a#1", "a#2"}


def test_all_documents_with_an_id_that_another_has_are_named_at_once(docs: Connection) -> None:
    put(docs, document("x", ["1"], external_id="a"), document("y", ["1", "2"], external_id="b"))
    given = [document(str(n), [f"text {n}"], external_id=name) for n, name in enumerate("cacadeee")]
    given.append(document("z", ["1", "3", "4"], external_id="b"))
    with pytest.raises(psycopg.DatabaseError) as raised, docs.transaction():
        put(docs, *given)
    assert ": 1-3, 6-8;" in str(raised.value.diag.message_detail)
    put(docs, *(given[n] for n in (0, 4, 5)))
    assert chunk_rows(docs).keys() == {"a", "b#1", "b#2", "c", "d", "e"}
    # one that is written again is not at fault
    given[0] |= {"title": "Title"}
    with pytest.raises(psycopg.DatabaseError) as raised, docs.transaction():
        put(docs, *given[:3])
    assert ": 1-2;" in str(raised.value.diag.message_detail)


@pytest.mark.parametrize(
    ("call", "sqlstate"),
    [
        ("put_documents('docs', '[]', null)", "RG400"),
        ("put_text('docs', 'a.md', null)", "RG400"),
        ("put_text('docs', null, 'x')", "RG400"),
        ("put_text('docs', 'a.md', 'x', overlap => 240)", "RG400"),
    ],
)
def test_an_argument_out_of_range_is_refused(docs: Connection, call: str, sqlstate: str) -> None:
    assert refused(docs, f"select ragdb.{call}").sqlstate == sqlstate


def test_a_text_keeps_no_form_feed(docs: Connection) -> None:
    docs.execute("select ragdb.put_text('docs', 'a.txt', E'page one\f\fpage two')")
    rows = docs.execute(
        "select c.text from ragdb.list_documents('docs', 'a.txt') d,"
        " ragdb.document_chunks('docs', d.doc_cid) c"
    )
    assert rows.fetchall() == [("page one\n\npage two",)]
