"""Bytes are opened by who brought them, and no claim of a hash stands for a text."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import psycopg
import pytest

from ragdb.errors import BlobNotFound
from tests.conftest import Connection, Login
from tests.documents import document
from tests.sql.documents_twin import faults, put

DATA = b"the secret original"
CID = "sha256:" + hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def restricted(clone: str, login: Login) -> str:
    """A corpus of `writer` alone with a document and its original."""
    with login(clone, "admin") as db:
        db.execute("select ragdb.create_corpus('closed')")
        db.execute("select ragdb.grant_corpus('closed', 'writer', 'admin')")
    with login(clone, "writer") as db:
        put(db, document("a.bin", ["true text"], data=DATA), corpus="closed")
        db.execute("select ragdb.put_blob(%s, 'text/plain', 'closed')", (DATA,))
    return clone


def sees(db: Connection, cid: str = CID) -> bool:
    try:
        with db.transaction():
            row = db.execute("select bytes from ragdb.get_blob(%s)", (cid,)).fetchone()
    except BlobNotFound:
        return False
    assert row == (DATA,)
    return True


@pytest.mark.parametrize("corpus", ["personal", "own"])
def test_a_claim_of_a_hash_opens_nothing(restricted: str, login: Login, corpus: str) -> None:
    thief, writer = login(restricted, "writer2"), login(restricted, "writer")
    thief.autocommit = True
    thief.execute("select ragdb.create_corpus(%s)", (corpus,))
    put(thief, document("mine.bin", ["whatever"], data=DATA), corpus=corpus)
    assert not sees(thief)
    if corpus == "own":
        request = {"params": {"corpus": corpus}, "input": {"doc_cid": CID}}
        row = thief.execute("select ragdb.rag_ingest(%s)", (json.dumps(request),)).fetchone()
        assert "secret" not in json.dumps(row)
        assert thief.execute("select * from ragdb.claim_ingest_jobs('w')").fetchall() == []
        export = thief.execute("select has_blob from ragdb.export_documents('own')").fetchall()
        assert export == [(False,)]
    # nor does a claim that is taken back take anything away
    thief.execute("select ragdb.delete_source(%s, 'mine.bin')", (corpus,))
    assert sees(writer)  # the control
    writer.execute("select ragdb.grant_corpus('closed', 'writer2', 'read')")
    writer.commit()
    assert sees(thief)
    # and who has the bytes has them
    reader = login(restricted, "reader")
    reader.autocommit = True
    assert not sees(reader)
    reader.execute("select ragdb.create_corpus('personal')")
    reader.execute("select ragdb.put_blob(%s, 'text/plain')", (DATA,))
    assert sees(reader)


def test_bytes_come_to_a_corpus_with_their_document(clone: str, login: Login) -> None:
    writer, reader = login(clone, "writer"), login(clone, "reader")
    writer.autocommit = reader.autocommit = True
    writer.execute("select ragdb.create_corpus('open')")
    writer.execute("select ragdb.put_blob(%s, 'text/plain')", (DATA,))
    assert not sees(reader)
    put(writer, document("a.bin", ["true text"], data=DATA), corpus="open")
    assert sees(reader)
    # a corpus that may not be written takes nothing
    with pytest.raises(psycopg.DatabaseError) as caught:
        reader.execute("select ragdb.put_blob('x', 'text/plain', 'open')")
    assert caught.value.sqlstate == "RG401"
    writer.execute("select ragdb.delete_source('open', 'a.bin')")
    with psycopg.connect(clone) as db:
        assert db.execute("select count(*) from ragdb.blobs").fetchone() == (0,)


def test_a_dropped_corpus_takes_the_bytes_that_only_it_has(restricted: str, login: Login) -> None:
    with login(restricted, "writer") as db:
        db.execute("select ragdb.create_corpus('open')")
        put(db, document("a.bin", ["true text"], data=DATA), corpus="open")
        db.execute("select ragdb.drop_corpus('closed')")
    with psycopg.connect(restricted) as db:
        assert db.execute("select count(*) from ragdb.blobs").fetchone() == (1,)
        db.execute("select ragdb.drop_corpus('open')")
        assert db.execute("select count(*) from ragdb.blobs").fetchone() == (0,)


def texts(db: Connection) -> list[Any]:
    return db.execute("select chunk_id, text from ragdb.chunks order by 1").fetchall()


# bytes are disputed where they come under one name: a record, which may be found at any place
RECORD: dict[str, Any] = {"data": DATA, "external_id": "7"}


@pytest.mark.parametrize("uri", ["a.md", "b.md", "0.md"])
def test_a_false_text_does_not_make_the_true_one_a_duplicate(docs: Connection, uri: str) -> None:
    false = document("a.md", ["forged"], **RECORD)
    true = document(uri, ["true text", "and more"], **RECORD)
    put(docs, false)
    (row,) = put(docs, true)
    assert row[5] is False
    assert row[2] == 2
    assert texts(docs) == [("7#1", "true text"), ("7#2", "and more")]
    assert faults(docs) == []
    # the control: the same text again is a duplicate, whatever its source
    for again in (true, document("c.md", ["true text", "and more"], **RECORD)):
        assert put(docs, again)[0][5] is True
    assert faults(docs) == []


def test_a_false_text_under_another_name_is_not_the_true_one(docs: Connection) -> None:
    put(docs, document("a.md", ["forged"], data=DATA))
    assert put(docs, document("b.md", ["true text"], data=DATA))[0][5] is False
    assert [t for _, t in texts(docs)] == ["forged", "true text"]
    assert put(docs, document("a.md", ["true text"], data=DATA))[0][5] is False
    assert [t for _, t in texts(docs)] == ["true text", "true text"]
    assert faults(docs) == []


def test_a_text_that_was_forged_in_place_is_put_right_by_the_next_ingest(docs: Connection) -> None:
    true = document("a.md", ["true text"], data=DATA)
    put(docs, true)
    before = texts(docs)
    docs.execute("update ragdb.chunks set text = 'false', content_hash = sha256('false')")
    (row,) = put(docs, true)
    assert row[5] is False
    assert texts(docs) == before


@pytest.mark.parametrize("uri", ["a.md", "b.md", "0.md"])
def test_a_false_text_cut_in_another_way_does_not_stay(docs: Connection, uri: str) -> None:
    put(docs, document("a.md", ["forged"], **RECORD))
    other = document(uri, ["true text"], **RECORD)
    other["chunking"] = other["chunking"] | {"max_tokens": 100}
    assert put(docs, other)[0][5] is False
    assert [t for _, t in texts(docs)] == ["true text"]
    assert faults(docs) == []


def test_the_same_text_cut_in_another_way_stays_as_its_first_source_has_it(
    docs: Connection,
) -> None:
    """The control: nobody disputes what it says."""
    put(docs, document("a.md", ["true text", "and more"], **RECORD))
    before = texts(docs)
    other = document("b.md", ["true text\n\nand more"], **RECORD)
    other["chunking"] = other["chunking"] | {"max_tokens": 100}
    put(docs, other)
    assert texts(docs) == before


@pytest.fixture
def twin(clone: str, login: Login) -> tuple[Connection, Connection]:
    """Two writers, each with a corpus that is closed to the other."""
    writers = login(clone, "writer", autocommit=True), login(clone, "writer2", autocommit=True)
    for writer, corpus in zip(writers, ("one", "two"), strict=True):
        writer.execute("select ragdb.create_corpus(%s, is_restricted => true)", (corpus,))
    return writers


@pytest.mark.parametrize("into", ["'two'", "null"])
def test_a_media_type_does_not_tell_that_another_has_the_bytes(
    twin: tuple[Connection, Connection], into: str
) -> None:
    one, two = twin
    one.execute("select ragdb.put_blob(%s, 'text/markdown', 'one')", (DATA,))
    two.execute(f"select ragdb.put_blob(%s, 'application/x-guess', {into})", (DATA,))
    kind = "select media_type from ragdb.get_blob(%s)"
    assert two.execute(kind, (CID,)).fetchone() == ("application/x-guess",)
    # nor does what another says of them keep a worker from reading them
    assert one.execute(kind, (CID,)).fetchone() == ("text/markdown",)
    ingest = "select ragdb.rag_ingest(%s) ->> 'error'"
    for writer, corpus, error in ((two, "two", "bad_request"), (one, "one", "partition")):
        request = json.dumps({"params": {"corpus": corpus}, "input": {"doc_cid": CID}})
        assert writer.execute(ingest, (request,)).fetchone() == (error,)
    claimed = one.execute("select media_type from ragdb.claim_ingest_jobs('w')").fetchall()
    assert claimed == [("text/markdown",)]


def test_who_takes_bytes_away_takes_only_their_own(twin: tuple[Connection, Connection]) -> None:
    one, two = twin
    one.execute("select ragdb.put_blob(%s, 'text/plain')", (DATA,))
    request = json.dumps({"params": {"corpus": "one"}, "input": {"doc_cid": CID}})
    one.execute("select ragdb.rag_ingest(%s)", (request,))
    two.execute("select ragdb.put_blob(%s, 'text/plain', 'two')", (DATA,))
    two.execute("select ragdb.drop_corpus('two')")
    assert sees(one)
    assert len(one.execute("select * from ragdb.claim_ingest_jobs('w')").fetchall()) == 1


@pytest.mark.parametrize("elsewhere", [True, False])
def test_bytes_that_were_taken_away_do_not_tell_that_another_has_them(
    twin: tuple[Connection, Connection], elsewhere: bool
) -> None:
    one, two = twin
    if elsewhere:
        one.execute("select ragdb.put_blob(%s, 'text/plain', 'one')", (DATA,))
    two.execute("select ragdb.put_blob(%s, 'text/plain', 'two')", (DATA,))
    two.execute("select ragdb.drop_corpus('two')")
    assert not sees(two)
    # and what was only put stays, whoever takes theirs away
    two.execute("select ragdb.create_corpus('two', is_restricted => true)")
    two.execute("select ragdb.put_blob(%s, 'text/plain')", (DATA,))
    if elsewhere:
        one.execute("select ragdb.drop_corpus('one')")
    assert sees(two)


def test_bytes_that_two_brought_to_one_corpus_go_with_it(
    twin: tuple[Connection, Connection],
) -> None:
    one, two = twin
    one.execute("select ragdb.grant_corpus('one', 'writer2', 'write')")
    for writer in (one, two):
        writer.execute("select ragdb.put_blob(%s, 'text/plain', 'one')", (DATA,))
    one.execute("select ragdb.drop_corpus('one')")
    assert not sees(one)
    assert not sees(two)
