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
        ("drop_blob(null)", "RG408"),
        ("list_blobs(count => 0)", "RG400"),
        ("list_blobs(null)", "RG400"),
    ],
)
def test_a_blob_that_cannot_be_is_refused(docs: Connection, call: str, sqlstate: str) -> None:
    assert refused(docs, f"select ragdb.{call}").sqlstate == sqlstate


def listed(db: Connection, *given: object) -> list[tuple[object, ...]]:
    marks = ", ".join(["%s"] * len(given))
    return db.execute(f"select * from ragdb.list_blobs({marks})".encode(), given).fetchall()


def test_a_blob_that_no_corpus_has_is_listed_for_who_put_it_and_taken_back(
    docs: Connection,
) -> None:
    docs.execute("select ragdb.grant_corpus('docs', 'writer', 'write')")
    docs.execute("select ragdb.set_quota('writer', blob_bytes => 4)")
    docs.execute("set local role writer")
    cid = cid_of(docs, "put_blob('wild', 'x/y')")
    assert refused(docs, "select ragdb.put_blob('more', 'x/y')").sqlstate == "RG470"
    assert listed(docs) == [(cid, "x/y", 4, False)]
    assert listed(docs, cid) == []
    docs.execute("select ragdb.drop_blob(%s)", (cid,))
    assert listed(docs) == []
    assert refused(docs, f"select ragdb.drop_blob('{cid}')").sqlstate == "RG408"
    more = cid_of(docs, "put_blob('more', 'x/y')")
    docs.execute("reset role")
    assert docs.execute("select cid from ragdb.blobs").fetchall() == [(more,)]


def test_a_blob_of_a_corpus_or_of_another_is_not_taken_back(docs: Connection) -> None:
    docs.execute("select ragdb.grant_corpus('docs', 'writer', 'write')")
    cid = cid_of(docs, "put_blob('same', 'x/y', 'docs')")
    held = refused(docs, f"select ragdb.drop_blob('{cid}')")
    assert (held.sqlstate, held.diag.message_detail) == ("RG409", '"docs" has it')
    docs.execute("set local role writer")
    assert refused(docs, f"select ragdb.drop_blob('{cid}')").sqlstate == "RG408"
    assert cid_of(docs, "put_blob('same', 'x/z')") == cid
    assert listed(docs) == [(cid, "x/z", 4, False)]
    # its own goes, that of the corpus stays
    docs.execute("select ragdb.drop_blob(%s)", (cid,))
    assert listed(docs) == []
    docs.execute("reset role")
    assert listed(docs) == [(cid, "x/y", 4, True)]
    assert docs.execute("select count(*) from ragdb.get_blob(%s)", (cid,)).fetchone() == (1,)


def test_a_media_type_given_by_mistake_is_put_right_by_putting_the_bytes_again(
    docs: Connection,
) -> None:
    docs.execute("select ragdb.grant_corpus('docs', 'writer', 'write')")
    cid = cid_of(docs, "put_blob('same', 'x/y')")
    docs.execute("set local role writer")
    for kind in ("application/x-www-form-urlencoded", "text/markdown"):
        assert cid_of(docs, f"put_blob('same', '{kind}')") == cid
        assert listed(docs) == [(cid, kind, 4, False)]
        seen = docs.execute("select media_type from ragdb.get_blob(%s)", (cid,)).fetchall()
        assert seen == [(kind,)]
    docs.execute("reset role")
    assert listed(docs) == [(cid, "x/y", 4, False)]


def test_a_blob_that_another_put_too_stays_for_that_one(docs: Connection) -> None:
    for role in ("writer", "writer2"):
        docs.execute(f"set local role {role}")
        cid = cid_of(docs, "put_blob('same', 'x/y')")
    docs.execute("select ragdb.drop_blob(%s)", (cid,))
    assert listed(docs) == []
    docs.execute("set local role writer")
    assert listed(docs) == [(cid, "x/y", 4, False)]
    assert docs.execute("select count(*) from ragdb.get_blob(%s)", (cid,)).fetchone() == (1,)


def test_an_admin_takes_no_blob_that_a_corpus_has_because_of_another(docs: Connection) -> None:
    docs.execute("select ragdb.grant_corpus('docs', 'writer', 'write')")
    docs.execute("set local role writer")
    cid = cid_of(docs, "put_blob('same', 'x/y', 'docs')")
    docs.execute("set local role admin")
    assert refused(docs, f"select ragdb.drop_blob('{cid}')").sqlstate == "RG409"


def test_an_original_that_came_with_its_corpus_is_not_taken_back(docs: Connection) -> None:
    docs.execute("select ragdb.put_blob('same', 'x/y', 'docs')")
    docs.execute("delete from ragdb.blob_uploads")  # as where its corpus moved here
    docs.execute("set local role writer")
    cid = cid_of(docs, "put_blob('same', 'x/y')")
    docs.execute("select ragdb.drop_blob(%s)", (cid,))
    docs.execute("reset role")
    assert docs.execute("select count(*) from ragdb.get_blob(%s)", (cid,)).fetchone() == (1,)


def test_an_admin_takes_a_blob_from_all_who_put_it(docs: Connection) -> None:
    docs.execute("select ragdb.grant_corpus('docs', 'writer', 'write')")
    for role in ("writer", "admin"):
        docs.execute(f"set local role {role}")
        cid = cid_of(docs, "put_blob('same', 'x/y')")
    docs.execute("select ragdb.drop_blob(%s)", (cid,))
    docs.execute("reset role")
    assert docs.execute("select count(*) from ragdb.blobs").fetchone() == (0,)


def cid_of(db: Connection, call: str) -> str:
    ((cid,),) = db.execute(f"select ragdb.{call}".encode()).fetchall()
    return str(cid)
