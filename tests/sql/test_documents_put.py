"""Storing and deleting documents: what is written, what stays, what is refused."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection
from tests.sql.documents_twin import CHUNKING, chunk_ids, document, faults, put

PARAGRAPHS = [f"Paragraph number {n} says that {n} times {n} is {n * n}. " * 12 for n in range(9)]


@pytest.fixture
def docs(db: Connection) -> Connection:
    db.execute("select ragdb.create_corpus('docs')")
    return db


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
            "event_clock",
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


def test_the_same_bytes_at_two_places_are_one_document_named_after_the_first(
    docs: Connection,
) -> None:
    at = {uri: document(uri, ["one", "two"], data=b"bytes", title=uri) for uri in ("a.md", "b.md")}
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


def test_another_place_for_the_same_bytes_adds_a_source_and_nothing_else(docs: Connection) -> None:
    put(docs, document("a.md", ["one"], data=b"bytes"))
    result = put(docs, document("b.md", ["one"], data=b"bytes", title="Not the first source"))
    assert result[0][5] is True
    assert docs.execute("select count(*), max(title) from ragdb.documents").fetchone() == (1, None)
    assert docs.execute("select count(*) from ragdb.events").fetchone() == (1,)


def test_documents_are_deleted_with_everything_of_theirs(docs: Connection) -> None:
    one = document("a.md", ["one", "two"], links=[(0, "b.md")])
    two = document("b.md", ["three"], links=[(0, "a.md")])
    put(docs, one, two)
    cid = docs.execute("select ragdb.put_blob('bytes', 'text/plain')").fetchone()
    gone = docs.execute("select * from ragdb.delete_document('docs', %s)", (one["doc_cid"],))
    assert gone.fetchone() == (1, 2)
    assert docs.execute("select count(*) from ragdb.edges").fetchone() == (0,)
    assert docs.execute("select * from ragdb.delete_source('docs', 'b.md')").fetchone() == (1, 1)
    assert cid == ("sha256:" + hashlib.sha256(b"bytes").hexdigest(),)
    assert faults(docs) == []
    for call in (
        f"ragdb.delete_document('docs', '{one['doc_cid']}')",
        "ragdb.delete_source('docs', 'b.md')",
        "ragdb.delete_source('docs', null)",
        "ragdb.get_document('docs', null)",
        "ragdb.document_chunks('docs', 'x')",
    ):
        with pytest.raises(psycopg.DatabaseError) as raised, docs.transaction():
            docs.execute(f"select * from {call}")
        assert raised.value.sqlstate == "RG405"
    with pytest.raises(psycopg.DatabaseError) as raised, docs.transaction():
        docs.execute("select * from ragdb.get_chunk('docs', 'x')")
    assert raised.value.sqlstate == "RG406"


def test_pruning_takes_what_is_under_the_prefix_and_not_kept(docs: Connection) -> None:
    put(docs, *(document(uri, [uri]) for uri in ("docs/a.md", "docs/b.md", "docs2/a.md")))
    pruned = docs.execute("select * from ragdb.prune_sources('docs', 'docs/', array['docs/b.md'])")
    assert pruned.fetchone() == (1, 1)
    left = docs.execute("select source from ragdb.list_documents('docs')").fetchall()
    assert left == [("docs/b.md",), ("docs2/a.md",)]


def test_reading_returns_what_was_put(docs: Connection) -> None:
    one = document(
        "docs/a.md",
        ["one", "two"],
        headings=[["A"], ["A", "B"]],
        title="Title",
        language="de",
        metadata={"year": 2020},
        pages=3,
    )
    one["chunks"][1]["page"] = 2
    put(docs, one, document("docs/empty.md", []))
    columns = (
        "source, sources, title, language, metadata, chunking, size_bytes, pages, chunks, tokens"
    )
    row = docs.execute(f"select {columns} from ragdb.get_document('docs', %s)", (one["doc_cid"],))
    assert row.fetchone() == (
        "docs/a.md",
        ["docs/a.md"],
        "Title",
        "de",
        {"year": 2020},
        CHUNKING,
        one["size_bytes"],
        3,
        2,
        2,
    )
    chunks = docs.execute(
        "select chunk_id, ordinal, source, heading, page, start_offset, end_offset, tokens, text,"
        " citation, content_hash, metadata from ragdb.document_chunks('docs', %s)",
        (one["doc_cid"],),
    ).fetchall()
    ids = chunk_ids("docs", "docs/a.md", one)
    cited = {"uri": "docs/a.md"}
    year = {"year": 2020}
    sha = [hashlib.sha256(text).hexdigest() for text in (b"one", b"two")]
    assert chunks == [
        (ids[0], 0, "docs/a.md", ["A"], None, 0, 3, 1, "one", cited, sha[0], year),
        (ids[1], 1, "docs/a.md", ["A", "B"], 2, 5, 8, 1, "two", cited, sha[1], year),
    ]
    alone = docs.execute("select ordinal from ragdb.get_chunk('docs', %s)", (ids[1],)).fetchall()
    assert alone == [(1,)]
    listed = "select source from ragdb.list_documents('docs', 'docs/', %s, %s)"
    assert docs.execute(listed, ("", 1)).fetchall() == [("docs/a.md",)]
    assert docs.execute(listed, ("docs/a.md", 1)).fetchall() == [("docs/empty.md",)]


def test_original_bytes_are_kept_once_and_shown_to_readers_of_their_document(
    docs: Connection,
) -> None:
    data = bytes(range(256))
    for _ in range(2):
        cid = docs.execute("select ragdb.put_blob(%s, 'x/y')", (data,)).fetchone()
    put(docs, document("a.bin", [], data=data))
    blob = docs.execute("select * from ragdb.get_blob(%s)", cid).fetchone()
    assert blob == ("sha256:" + hashlib.sha256(data).hexdigest(), "x/y", 256, data)
    docs.execute("select ragdb.grant_corpus('docs', 'writer', 'write')")
    docs.execute("set local role reader")
    with pytest.raises(psycopg.DatabaseError) as raised, docs.transaction():
        docs.execute("select ragdb.get_blob(%s)", cid)
    assert raised.value.sqlstate == "RG408"
    with pytest.raises(psycopg.DatabaseError) as raised, docs.transaction():
        docs.execute("select ragdb.put_blob('x', 'x/y')")
    assert raised.value.sqlstate == "RG401"
    docs.execute("set local role writer")
    assert docs.execute("select size from ragdb.get_blob(%s)", cid).fetchone() == (256,)
    docs.execute("select ragdb.delete_source('docs', 'a.bin')")
    docs.execute("reset role")
    assert docs.execute("select count(*) from ragdb.blobs").fetchone() == (0,)


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


def test_sections_by_the_thousand_are_joined_to_those_above_and_not_each_to_each(
    any_db: Connection,
) -> None:
    any_db.execute("set local statement_timeout = '5s'")
    found = any_db.execute(
        """with chunk as (
          -- every tenth is a section with the nine after it below
          select n, case when n % 10 = 0 then array['s' || n / 10]
            else array['s' || n / 10, 'part ' || n] end as heading
          from generate_series(0, 9999) n)
        select edge_type, count(*), min(child_no - parent_no), max(child_no - parent_no)
        from (select array_agg(
              row(n, 1, '', n, '', heading, null, 0, 0, 0, '', 0, '')::ragdb_internal.planned_chunk
              order by n) as planned
            from chunk) c,
          ragdb_internal.document_edges(planned, '{}')
        group by edge_type order by edge_type"""
    ).fetchall()
    assert found == [("branch", 9000, 1, 9), ("default", 9999, 1, 1)]


def test_the_version_rises_once_in_a_transaction(docs: Connection) -> None:
    put(docs, document("a.md", ["one"]))
    put(docs, document("a.md", ["two"]))
    assert docs.execute("select version from ragdb.corpora").fetchone() == (1,)


def test_damage_is_found_and_repaired(docs: Connection) -> None:
    put(docs, document("a.md", ["one two", "three"]), document("b.md", ["four"]))
    assert faults(docs) == []
    for damage, name in [
        ("update ragdb.corpora set documents = 7", "documents"),
        ("update ragdb.corpora set chunks = 7", "chunks"),
        ("update ragdb.corpora set token_count = 7", "tokens"),
        ("update ragdb.corpora set size_bytes = 7", "size_bytes"),
        ("update ragdb.corpora set lexeme_count = 7", "lexemes"),
        ('update ragdb.corpora set languages = \'{"en": 2, "de": 1}\'', "languages with a wrong"),
        ("update ragdb.lexemes set df = df + 1 where lexeme = 'four'", "lexemes with a wrong"),
        ("delete from ragdb.chunk_lexemes where chunk_no = 1", "chunks that are not indexed"),
        (
            "update ragdb.lexemes set lexeme = 'five' where lexeme = 'four'",
            "chunks that are indexed by",
        ),
    ]:
        docs.execute(damage)
        assert any(row[0].startswith(name) for row in faults(docs)), damage
        docs.execute("select ragdb.repair_corpus('docs')")
        assert faults(docs) == [], damage
    for damage, name in [
        (
            "update ragdb.chunks set text = 'x', content_hash = 'x' where chunk_no = 1",
            "chunks whose",
        ),
        ("update ragdb.chunks set chunk_id = 'x' where chunk_no = 2", "chunks whose id"),
        ("update ragdb.documents set chunks = 9 where doc_no = 2", "documents whose chunks"),
        ("update ragdb.document_sources set uri = 'x' where doc_no = 2", "documents not named"),
        ("delete from ragdb.chunks where chunk_no = 2", "index rows without a chunk"),
    ]:
        docs.execute(damage)
        assert any(row[0].startswith(name) for row in faults(docs)), damage


def without(field: str) -> dict[str, Any]:
    one = document("a.md", ["one"])
    del one[field]
    return one


def with_chunk(**fields: Any) -> dict[str, Any]:
    one = document("a.md", ["fine", "one"])
    one["chunks"][1].update(fields)
    return one


GOOD = document("good.md", ["good"])
BAD: list[tuple[Any, str, str]] = [
    (None, "RG412", "not an array"),
    ({}, "RG412", "not an array"),
    ([GOOD, 7], "RG412", "document 1: it must be an object"),
    ([GOOD, without("doc_cid")], "RG412", 'document 1: "doc_cid"'),
    ([{**GOOD, "doc_cid": "sha256:" + "A" * 64}], "RG412", '"doc_cid"'),
    ([{**GOOD, "doc_cid": GOOD["doc_cid"] + "\n"}], "RG412", '"doc_cid"'),
    ([{**GOOD, "doc_cid": 7}], "RG412", '"doc_cid"'),
    ([without("uri")], "RG412", '"uri"'),
    ([{**GOOD, "uri": ""}], "RG412", '"uri"'),
    ([{**GOOD, "uri": "ü" * 1001}], "RG412", '"uri"'),
    ([{**GOOD, "source_name": 1}], "RG412", '"source_name"'),
    ([{**GOOD, "title": ["x"]}], "RG412", '"title"'),
    ([{**GOOD, "title": "x" * 10001}], "RG412", '"title"'),
    ([{**GOOD, "language": ""}], "RG412", '"language"'),
    ([without("media_type")], "RG412", '"media_type"'),
    ([{**GOOD, "metadata": []}], "RG412", '"metadata"'),
    ([{**GOOD, "external_id": ""}], "RG412", '"external_id"'),
    ([{**GOOD, "external_id": 7}], "RG412", '"external_id"'),
    ([without("size_bytes")], "RG412", '"size_bytes"'),
    ([{**GOOD, "size_bytes": -1}], "RG412", '"size_bytes"'),
    ([{**GOOD, "size_bytes": 1.5}], "RG412", '"size_bytes"'),
    ([{**GOOD, "size_bytes": 1e300}], "RG412", '"size_bytes"'),
    ([{**GOOD, "size_bytes": "7"}], "RG412", '"size_bytes"'),
    ([{**GOOD, "pages": -1}], "RG412", '"pages"'),
    ([{**GOOD, "etag": {}}], "RG412", '"etag"'),
    ([without("chunking")], "RG412", '"chunking"'),
    ([{**GOOD, "chunking": "para-sent/1"}], "RG412", '"chunking"'),
    ([without("chunks")], "RG412", '"chunks"'),
    ([{**GOOD, "chunks": {}}], "RG412", '"chunks"'),
    ([{**GOOD, "links": {}}], "RG412", '"links"'),
    ([{**GOOD, "titel": "x"}], "RG412", '"titel" is not a field of a document'),
    ([GOOD, {**GOOD, "uri": "b.md", "chunks": [7]}], "RG412", "chunk 0 of document 1: it must be"),
    ([with_chunk(text=None)], "RG412", 'chunk 1 of document 0: "text"'),
    ([with_chunk(text=" \n")], "RG412", '"text"'),
    ([with_chunk(start=-1)], "RG412", '"start"'),
    ([with_chunk(start=None)], "RG412", '"start"'),
    ([with_chunk(end=5.5)], "RG412", '"end"'),
    ([with_chunk(end=1e12)], "RG412", '"end"'),
    ([with_chunk(start=9, end=6)], "RG412", '"end" minus "start" must be the length of "text", 3'),
    ([with_chunk(text="four")], "RG412", "length"),
    ([with_chunk(tokens=None)], "RG412", '"tokens"'),
    ([with_chunk(page=0)], "RG412", '"page"'),
    ([with_chunk(heading="A")], "RG412", '"heading"'),
    ([with_chunk(heading=[None])], "RG412", '"heading"'),
    ([with_chunk(titel="x")], "RG412", '"titel" is not a field of a chunk'),
    ([{**GOOD, "links": [{"chunk": 1, "target": "x"}]}], "RG412", "link 0 of document 0"),
    ([{**GOOD, "links": [{"chunk": 0}]}], "RG412", "link 0 of document 0"),
    ([{**GOOD, "links": ["x"]}], "RG412", "link 0 of document 0"),
    ([GOOD, GOOD], "RG409", "documents 0 and 1 have the same uri"),
    (
        [document("x", ["1"], external_id="x"), document("y", ["2"], external_id="x")],
        "RG409",
        'chunk id "x"',
    ),
    (
        [document("x", ["1", "2"], external_id="x"), document("y", ["2"], external_id="x#2")],
        "RG409",
        'chunk id "x#2"',
    ),
    ([{}] * 10001, "RG413", "10001 documents"),
]


@pytest.mark.parametrize(("documents", "sqlstate", "problem"), BAD)
def test_a_bad_document_is_refused_with_its_place_and_nothing_is_written(
    docs: Connection, documents: Any, sqlstate: str, problem: str
) -> None:
    value = None if documents is None else json.dumps(documents)
    with pytest.raises(psycopg.DatabaseError) as raised, docs.transaction():
        docs.execute("select ragdb.put_documents('docs', %s)", (value,))
    assert raised.value.sqlstate == sqlstate
    assert problem in str(raised.value.diag.message_primary)
    assert raised.value.diag.message_detail
    assert raised.value.diag.message_hint
    assert docs.execute("select documents, chunks, version from ragdb.corpora").fetchone() == (
        0,
        0,
        0,
    )


def test_an_external_id_that_another_document_has_is_refused(docs: Connection) -> None:
    put(docs, document("x", ["1"], external_id="refunds"))
    with pytest.raises(psycopg.DatabaseError) as raised, docs.transaction():
        put(docs, document("y", ["2"], external_id="refunds"))
    assert raised.value.sqlstate == "RG409"
    put(docs, document("x", ["2"], external_id="refunds"))
    assert chunk_rows(docs).keys() == {"refunds"}


@pytest.mark.parametrize(
    ("call", "sqlstate"),
    [
        ("put_documents('docs', '[]', null)", "RG400"),
        ("put_text('docs', 'a.md', null)", "RG400"),
        ("put_text('docs', null, 'x')", "RG412"),
        ("put_text('docs', 'a.md', 'x', overlap => 240)", "RG400"),
        ("put_blob(null, 'x/y')", "RG400"),
        ("put_blob('x', null)", "RG400"),
        ("get_blob(null)", "RG408"),
        ("prune_sources('docs', null, '{}')", "RG400"),
        ("prune_sources('docs', '', null)", "RG400"),
        ("prune_sources('docs', '', '{null}')", "RG400"),
        ("list_documents('docs', count => 0)", "RG400"),
        ("list_documents('docs', count => 10001)", "RG400"),
        ("list_documents('docs', prefix => null)", "RG400"),
        ("check_corpus('docs', null)", "RG400"),
    ],
)
def test_an_argument_out_of_range_is_refused(docs: Connection, call: str, sqlstate: str) -> None:
    with pytest.raises(psycopg.DatabaseError) as raised, docs.transaction():
        docs.execute(f"select ragdb.{call}")
    assert raised.value.sqlstate == sqlstate
    assert raised.value.diag.message_detail
    assert raised.value.diag.message_hint
