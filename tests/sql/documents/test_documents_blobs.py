"""The original bytes of documents, and who sees them."""

from __future__ import annotations

import hashlib

import psycopg
import pytest

from tests.conftest import Connection
from tests.documents import document
from tests.refusal import refused
from tests.sql.documents_twin import put


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


@pytest.mark.parametrize(
    ("call", "sqlstate"),
    [
        ("put_blob(null, 'x/y')", "RG400"),
        ("put_blob('x', null)", "RG400"),
        ("get_blob(null)", "RG408"),
    ],
)
def test_a_blob_that_cannot_be_is_refused(docs: Connection, call: str, sqlstate: str) -> None:
    assert refused(docs, f"select ragdb.{call}").sqlstate == sqlstate
