"""An original that was brought is there, as it was brought, until a function drops it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest

from tests.conftest import Connection, Server
from tests.documents import document

FILES = {f"{name}.bin": name.encode() * 9 for name in "abc"}
KEPT = "where cid = (select doc_cid from ragdb.documents where source = 'a.bin')"
GONE = "it was brought on "
FORGED = {
    "its bytes gone": (f"delete from ragdb.blobs {KEPT}", GONE),
    "that it was brought": (f"delete from ragdb.corpus_blobs {KEPT}", GONE),
    "another media type": (
        f"update ragdb.corpus_blobs set media_type = 'text/html' {KEPT}",
        "what a corpus says of it is not what was recorded",
    ),
    "who brought it": (
        f"update ragdb.corpus_blobs set brought_by = 'kim' {KEPT}",
        "what a corpus says of it is not what was recorded",
    ),
    "when it was brought": (
        f"update ragdb.corpus_blobs set brought_at = now() - interval '1 year' {KEPT}",
        "what a corpus says of it is not what was recorded",
    ),
    "given to another corpus": (
        "insert into ragdb.corpus_blobs select o.corpus_id, b.cid, b.media_type, b.brought_by,"
        " b.brought_at from ragdb.corpus_blobs b, ragdb.corpora o where o.name = 'other'"
        f" and {KEPT.removeprefix('where ').replace('cid =', 'b.cid =', 1)}",
        "what a corpus says of it is not what was recorded",
    ),
    "moved to another corpus": (
        "update ragdb.corpus_blobs set corpus_id = (select o.corpus_id from ragdb.corpora o"
        f" where o.name = 'other') {KEPT}",
        GONE,
    ),
}


@pytest.fixture(scope="module")
def brought(any_version: Server) -> Iterator[str]:
    """DSN of three documents with their originals."""
    with any_version.database() as base:
        dsn = any_version.dsn(base.dbname)
        with psycopg.connect(dsn) as db:
            for corpus in ("docs", "other"):
                db.execute("select ragdb.create_corpus(%s)", (corpus,))
            for uri, data in FILES.items():
                bring(db, uri, data)
            assert found(db) == []
        yield dsn


@pytest.fixture
def docs(any_version: Server, brought: str) -> Iterator[Connection]:
    with any_version.rolled_back(brought) as db:
        yield db


def bring(db: Connection, uri: str, data: bytes, corpus: str = "docs") -> None:
    db.execute("select ragdb.put_blob(%s, 'x/y')", (data,))
    put = json.dumps([document(uri, ["A text."], data=data)])
    db.execute("select ragdb.put_documents(%s, %s)", (corpus, put))


def found(db: Connection) -> list[tuple[str, str]]:
    return db.execute(
        "select place, finding from ragdb.verify(checks => '{blobs,originals}')"
    ).fetchall()


@pytest.mark.parametrize("forged", FORGED)
def test_an_original_that_goes_or_is_given_away_is_found_by_name(
    docs: Connection, forged: str
) -> None:
    statement, problem = FORGED[forged]
    cid = document("a.bin", data=FILES["a.bin"])["doc_cid"]
    docs.execute("set session_replication_role = replica")
    assert docs.execute(statement.encode()).rowcount == 1
    assert any(cid in place and problem in finding for place, finding in found(docs))


def test_an_original_whose_bytes_are_others_is_found(docs: Connection) -> None:
    docs.execute(f"update ragdb.blobs set bytes = 'false', size = 5 {KEPT}")
    assert [finding for _, finding in found(docs)] == ["its bytes are not what its identity says"]


CHANGES = {
    "a document deleted": "select ragdb.delete_source('docs', 'a.bin')",
    "and put again": "select ragdb.delete_source('docs', 'a.bin'); select ragdb.put_blob(%(a)s,"
    " 'x/z', 'docs')",
    "put twice": "select ragdb.put_blob(%(a)s, 'x/z', 'docs')",
    "brought to another corpus": "select ragdb.put_blob(%(a)s, 'x/y', 'other')",
    "uploaded for nothing": "select ragdb.put_blob('nothing', 'x/y')",
    "the corpus dropped": "select ragdb.drop_corpus('docs')",
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_original_that_a_function_brings_or_drops_is_not_found(
    docs: Connection, change: str
) -> None:
    for statement in CHANGES[change].split("; "):
        docs.execute(statement.encode(), {"a": FILES["a.bin"]})
    assert found(docs) == []
