"""A document is its bytes and its name: the same bytes under two names are two documents."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection
from tests.documents import document
from tests.embedding import make_embedder
from tests.sql.documents_twin import faults, put

DATA = b"the same bytes"


def text(db: Connection, source: str, said: str = "alpha beta", **fields: Any) -> Any:
    names = "".join(f", {name} => %s" for name in fields)
    return db.execute(
        f"select * from ragdb.put_text('docs', %s, %s{names})", (source, said, *fields.values())
    ).fetchone()


def rows(db: Connection, query: str) -> list[Any]:
    return db.execute(query).fetchall()


def chunks(db: Connection) -> list[Any]:
    return rows(db, "select chunk_id, source from ragdb.chunks order by source, chunk_id")


def test_the_same_text_under_two_external_ids_is_two_chunks(docs: Connection) -> None:
    text(docs, "b", external_id="b")
    text(docs, "a", external_id="a")
    assert chunks(docs) == [("a", "a"), ("b", "b")]
    assert faults(docs) == []


def test_a_copy_of_a_file_is_found_and_cited_by_its_own_name(docs: Connection) -> None:
    for source in ("two.md", "one.md"):
        text(docs, source)
    found = rows(
        docs,
        "select source, chunk_id from ragdb.search('docs', 'alpha',"
        """ filter => '{"source": {"glob": "*two.md"}}')""",
    )
    assert [source for source, _ in found] == ["two.md"]
    cited = rows(
        docs,
        "select c.citation ->> 'uri' from ragdb.search('docs', 'alpha') h,"
        " ragdb.get_chunk('docs', h.chunk_id) c order by 1",
    )
    assert cited == [("one.md",), ("two.md",)]
    listed = rows(docs, "select source, sources from ragdb.list_documents('docs')")
    assert listed == [("one.md", ["one.md"]), ("two.md", ["two.md"])]
    assert faults(docs) == []


def test_each_name_keeps_what_it_says_of_itself(docs: Connection) -> None:
    text(docs, "a.md", title="First")
    before = rows(docs, "select doc_no, chunks, updated_at from ragdb.documents")
    row = text(docs, "b.md", title="Second")
    assert row[5] is False, "it was not there"
    titles = rows(docs, "select source, title from ragdb.list_documents('docs')")
    assert titles == [("a.md", "First"), ("b.md", "Second")]
    assert (
        rows(docs, "select doc_no, chunks, updated_at from ragdb.documents where doc_no = 1")
        == before
    )
    assert text(docs, "b.md", title="Second")[5] is True


def test_a_source_and_an_external_id_of_one_spelling_are_two_names(docs: Connection) -> None:
    put(docs, document("x.md", ["x"], data=DATA))
    put(docs, document("y.md", ["x"], data=DATA, external_id="x.md"))
    assert rows(docs, "select source, external_id from ragdb.list_documents('docs')") == [
        ("x.md", None),
        ("y.md", "x.md"),
    ]


def test_a_conversation_is_one_document_wherever_it_is(docs: Connection) -> None:
    for uri in ("b.json", "a.json"):
        one = {
            "doc_cid": "sha256:" + "0" * 64,
            "uri": uri,
            "session": "s",
            "messages": [{"id": "m", "role": "user", "text": "hello"}],
        }
        docs.execute("select ragdb.put_conversations('docs', %s)", (json.dumps([one]),))
    assert rows(docs, "select sources from ragdb.list_documents('docs')") == [
        (["a.json", "b.json"],)
    ]
    assert faults(docs) == []


def test_bytes_stay_as_long_as_one_name_of_them(docs: Connection) -> None:
    cid = "sha256:" + hashlib.sha256(b"alpha beta").hexdigest()
    text(docs, "a.md")
    text(docs, "b.md")
    docs.execute("select ragdb.put_blob('alpha beta', 'text/plain', 'docs')")
    docs.execute("select ragdb.delete_source('docs', 'a.md')")
    assert rows(docs, "select cid from ragdb.blobs") == [(cid,)]
    docs.execute("select ragdb.delete_source('docs', 'b.md')")
    assert rows(docs, "select cid from ragdb.blobs") == []


@pytest.mark.parametrize("function", ["get_document", "document_chunks", "document_text"])
def test_a_document_is_called_by_source_or_id_or_bytes(docs: Connection, function: str) -> None:
    text(docs, "a.md")
    text(docs, "b.md", external_id="bee")
    text(docs, "c.md", "gamma")
    (cid,) = docs.execute("select doc_cid from ragdb.documents where source = 'a.md'").fetchone()  # type: ignore[misc]
    (own,) = docs.execute("select doc_cid from ragdb.documents where source = 'c.md'").fetchone()  # type: ignore[misc]

    def called(name: str) -> Any:
        return docs.execute(f"select ragdb.{function}('docs', %s)", (name,)).fetchall()

    assert called("bee") == called("b.md")
    assert called(own) == called("c.md")
    if function != "document_text":
        assert called("a.md") != called("b.md")
    with pytest.raises(psycopg.Error) as caught, docs.transaction():
        called(cid)
    assert caught.value.sqlstate == "RG425"
    assert '"a.md"' in str(caught.value.diag.message_detail)
    assert '"b.md"' in str(caught.value.diag.message_detail)
    with pytest.raises(psycopg.Error) as caught, docs.transaction():
        called("d.md")
    assert caught.value.sqlstate == "RG405"


def test_bytes_of_several_names_are_not_deleted_by_their_hash(docs: Connection) -> None:
    text(docs, "a.md")
    (cid,) = docs.execute("select doc_cid from ragdb.documents").fetchone()  # type: ignore[misc]
    text(docs, "b.md")
    with pytest.raises(psycopg.Error) as caught, docs.transaction():
        docs.execute("select ragdb.delete_document('docs', %s)", (cid,))
    assert caught.value.sqlstate == "RG425"
    docs.execute("select ragdb.delete_document('docs', 'a.md')")
    assert rows(docs, "select source from ragdb.documents") == [("b.md",)]
    docs.execute("select ragdb.delete_document('docs', %s)", (cid,))
    assert rows(docs, "select source from ragdb.documents") == []
    assert faults(docs) == []


def test_what_a_document_is_called_may_change_and_its_chunks_stay(docs: Connection) -> None:
    text(docs, "a.md")
    before = rows(docs, "select chunk_no, content_hash from ragdb.chunks")
    text(docs, "a.md", external_id="new")
    assert rows(docs, "select chunk_no, content_hash from ragdb.chunks") == before
    assert chunks(docs) == [("new", "a.md")]
    assert rows(docs, "select count(*) from ragdb.documents") == [(1,)]
    assert faults(docs) == []


def test_every_name_has_an_event_and_no_event_is_of_another(docs: Connection) -> None:
    text(docs, "a.md")
    text(docs, "b.md")
    assert rows(
        docs,
        "select d.source, e.source from ragdb.documents d join ragdb.events e using (event_id)"
        " order by 1",
    ) == [("a.md", "a.md"), ("b.md", "b.md")]
    assert rows(docs, "select source from ragdb.events_after()") == [("a.md",), ("b.md",)]


def test_a_copy_whose_original_goes_keeps_its_vectors(docs: Connection) -> None:
    make_embedder(docs, dims=4)
    docs.execute("select ragdb.embed_corpus('docs', 'hash')")
    text(docs, "a.md", title="Same")
    (job,) = rows(docs, "select space_id, input_hash, attempt from ragdb.claim_embeddings('w')")
    docs.execute("select ragdb.complete_embeddings(%s, array[%s], array[%s], '{1,0,0,0}')", job)
    text(docs, "b.md", title="Same")
    docs.execute("select ragdb.prune_sources('docs', '', '{b.md}')")
    assert rows(
        docs,
        "select c.source, e.embedding::text from ragdb.chunk_embeddings e"
        " join ragdb.chunks c using (corpus_id, chunk_no)",
    ) == [("b.md", "[1,0,0,0]")]
    assert rows(docs, "select input_hash from ragdb.claim_embeddings('w')") == []
