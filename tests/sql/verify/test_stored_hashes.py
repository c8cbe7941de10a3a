"""What a citation shows of a document is what its event tells: whoever changes it is found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection, Server
from tests.documents import document
from tests.embedding import make_embedder
from tests.sql.conversations import message
from tests.sql.documents_twin import put

FIRST = "where source = 'a.md' and ordinal = 0"
FORGED = {
    "a heading": f"update ragdb.chunks set heading = '{{Other}}' {FIRST}",
    "no heading": f"update ragdb.chunks set heading = '{{}}' {FIRST}",
    "a page": f"update ragdb.chunks set page = 7 {FIRST}",
    "no page": f"update ragdb.chunks set page = null {FIRST}",
    "page 0 where there is none": "update ragdb.chunks set page = 0 where page is null",
    "a place": "update ragdb.chunks set start_offset = start_offset + 1,"
    f" end_offset = end_offset + 1 {FIRST}",
    "a citation": f"""update ragdb.chunks set citation = '{{"uri": "b.md"}}' {FIRST}""",
    "tokens": f"update ragdb.chunks set token_count = 1 {FIRST}",
    "the order": "update ragdb.chunks set ordinal = 1 - ordinal where source = 'a.md'",
    "the name of a source": "update ragdb.documents set source_name = 'law'",
    "metadata": "update ragdb.documents set metadata = '{\"valid\": true}'",
    "a media type": "update ragdb.documents set media_type = 'text/html'",
    "how it was cut": "update ragdb.documents set chunking = chunking || '{\"overlap\": 9}'",
    "pages": "update ragdb.documents set pages = 3",
    "a size": "update ragdb.documents set size_bytes = size_bytes + 1",
    "when it came": "update ragdb.documents set created_at = created_at - interval '1 year'",
    "when it was changed": "update ragdb.documents set updated_at = now() + interval '1 day'",
    "an external id": "update ragdb.documents set external_id = 'x' where source = 'a.md'",
    "a further source": "insert into ragdb.document_sources (corpus_id, uri, doc_no, seen_at)"
    " select corpus_id, 'z.md', doc_no, now() from ragdb.documents where source = 'a.md'",
    "another uri": "update ragdb.document_sources set uri = 'zz.md' where uri = 'again.md'",
    "a source less": "delete from ragdb.document_sources where uri = 'again.md'",
    "a version of the store": "update ragdb.document_sources set etag = '\"2\"'",
    "no version of the store": "update ragdb.document_sources set etag = null"
    " where uri = 'b.md'",
    "a root": "update ragdb.document_sources set root = '/elsewhere'",
    "two documents swapped": "update ragdb.documents d set metadata = o.metadata, title = o.title"
    " from ragdb.documents o where o.doc_no <> d.doc_no and d.source = 'a.md'",
    "chunks of two documents swapped": "set session_replication_role = replica;"
    " update ragdb.chunks set doc_no = case source when 'a.md' then (select doc_no from"
    " ragdb.documents where source = 'again.md') else doc_no end where ordinal = 1",
    "an event with its document": "update ragdb.events set title = 'Gold' where source = 'a.md';"
    " update ragdb.documents set title = 'Gold' where source = 'a.md'",
}  # fmt: skip
DOCUMENTS = [
    document("a.md", ["One text.", "Another."], headings=[["A"], ["A", "B"]], title="A"),
    document("b.md", ["A third."], external_id="b", metadata={"valid": False}) | {"etag": "1"},
    document("again.md", ["A third."], external_id="b", metadata={"valid": False}),
]
for chunk in DOCUMENTS[0]["chunks"]:
    chunk["page"] = 1


@pytest.fixture(scope="module")
def told(any_version: Server) -> Iterator[str]:
    """DSN of documents in one corpus, one of them at two sources."""
    with any_version.database() as base:
        dsn = any_version.dsn(base.dbname)
        with psycopg.connect(dsn) as db:
            db.execute("select ragdb.create_corpus('docs')")
            put(db, *DOCUMENTS)
            assert found(db) == []
        yield dsn


@pytest.fixture
def docs(any_version: Server, told: str) -> Iterator[Connection]:
    with any_version.rolled_back(told) as db:
        yield db


def found(db: Connection) -> list[str]:
    rows = db.execute(
        "select place from ragdb.verify(checks => '{documents}') where severity = 'error'"
    ).fetchall()
    return [place for (place,) in rows]


@pytest.mark.parametrize("forged", FORGED)
def test_what_is_changed_behind_an_event_is_found(docs: Connection, forged: str) -> None:
    for statement in FORGED[forged].split("; "):
        docs.execute(statement.encode())
    docs.execute("select ragdb.seal_ledger()")
    assert found(docs)


def test_the_document_that_was_changed_is_named(docs: Connection) -> None:
    docs.execute(FORGED["a page"].encode())
    assert found(docs) == ["document a.md of corpus docs"]


SAID = "select finding from ragdb.verify(checks => '{documents}') where severity = 'error'"
ROWS = {
    "documents": "source = 'a.md'",
    "chunks": "source = 'a.md'",
    "document_sources": "uri = 'a.md'",
}


def keep_rows(db: Connection) -> None:
    """What there is of a document."""
    for table, which in ROWS.items():
        db.execute(f"create temp table {table} as select * from ragdb.{table} where {which}")


def put_rows_back(db: Connection) -> None:
    db.execute("delete from ragdb.documents where source = 'a.md'")
    for table in ROWS:
        db.execute(f"insert into ragdb.{table} select * from pg_temp.{table}")


def test_an_old_version_put_back_with_its_event_is_found(docs: Connection) -> None:
    keep_rows(docs)
    put(docs, DOCUMENTS[0] | {"title": "A, corrected"})
    assert found(docs) == []
    put_rows_back(docs)
    assert docs.execute(SAID).fetchall() == [("a later event tells of it",)]


@pytest.mark.parametrize(
    "delete", ["delete_source('docs', 'a.md')", "erase_source('docs', 'a.md', 'on request')"]
)
def test_a_deleted_document_put_back_with_its_event_is_found(docs: Connection, delete: str) -> None:
    keep_rows(docs)
    docs.execute(f"select ragdb.{delete}".encode())
    assert found(docs) == []
    put_rows_back(docs)
    assert docs.execute(SAID).fetchall() == [("an act says that it was deleted",)]


@pytest.mark.parametrize(
    "change",
    [
        "select ragdb.put_documents('docs', %(again)s, true)",
        "select ragdb.put_documents('docs', %(renamed)s)",
        "select ragdb.put_documents('docs', %(refetched)s)",
        "select ragdb.delete_source('docs', 'b.md')",
        "select ragdb.delete_source('docs', 'again.md')",
        "select ragdb.prune_sources('docs', '', '{again.md}')",
        "select ragdb.optimize_corpus('docs')",
        "select ragdb.repair_corpus('docs')",
        "select ragdb.embed_corpus('docs', 'hash')",
    ],
)
def test_what_ragdb_changes_is_not_found(docs: Connection, change: str) -> None:
    make_embedder(docs)
    given = {
        "again": json.dumps([DOCUMENTS[0]]),
        "refetched": json.dumps([DOCUMENTS[1] | {"etag": "2"}]),
        "renamed": json.dumps([DOCUMENTS[1] | {"uri": "0.md", "source_name": "s"}]),
    }
    docs.execute(change.encode(), given)
    assert found(docs) == []


@pytest.mark.parametrize("later", ["a source", "a turn"])
def test_a_forged_chunk_stays_found_when_its_document_is_told_of_again(
    docs: Connection, later: str
) -> None:
    if later == "a turn":
        append(docs, 1)
        append(docs, 2, [1])
        assert found(docs) == []
    forged = "session:s" if later == "a turn" else "again.md"
    docs.execute("update ragdb.chunks set page = 9 where source = %s and ordinal = 0", (forged,))
    if later == "a turn":
        append(docs, 3, [2])
    else:
        put(docs, DOCUMENTS[2] | {"uri": "third.md"})
    assert found(docs) == [f"document {forged} of corpus docs"]


def append(db: Connection, n: int, parents: list[int] | None = None) -> None:
    turn = json.dumps([message(n, parents or [])])
    db.execute("select ragdb.append_turns('docs', 's', %s)", (turn,))


def test_the_hashes_are_those_of_the_rows(docs: Connection) -> None:
    rows = docs.execute(
        "select e.chunks_hash, array_agg(to_jsonb(c) order by c.ordinal), array_agg("
        "c.heading::text order by c.ordinal), array_agg(c.content_hash order by c.ordinal)"
        " from ragdb.documents d join ragdb.events e using (corpus_id, event_id)"
        " join ragdb.chunks c using (corpus_id, doc_no) group by e.event_id, e.chunks_hash"
    ).fetchall()
    assert len(rows) == 2
    for told, chunks, headings, hashes in rows:
        assert told == chain(chunks, headings, hashes)


def chain(chunks: list[dict[str, Any]], headings: list[str], hashes: list[bytes]) -> bytes:
    whole = b""
    for chunk, heading, content in zip(chunks, headings, hashes, strict=True):
        numbers = ("ordinal", "chunk_no", "page", "start_offset", "end_offset", "token_count")
        part = b"".join((chunk[name] or 0).to_bytes(4, "big") for name in numbers) + content
        for text in (chunk["chunk_id"], chunk["source"], heading, ""):
            part += len(text.encode()).to_bytes(4, "big") + text.encode()
        assert chunk["citation"] is None
        whole = hashlib.sha256(whole + part).digest()
    return whole
