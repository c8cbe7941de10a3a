"""A role takes no more than its quota, and no other role can take it away."""

from __future__ import annotations

import json

import psycopg
import pytest

from ragdb.errors import QuotaExceeded
from tests.conftest import Connection, Login
from tests.documents import document


def refused(db: Connection, statement: str) -> str:
    with pytest.raises(psycopg.Error) as caught, db.transaction():
        db.execute(statement).fetchall()
    assert isinstance(caught.value, QuotaExceeded)
    assert caught.value.sqlstate == "RG470"
    assert "set_quota" in (caught.value.diag.message_hint or "")
    return caught.value.diag.message_primary or ""


def test_blobs_are_counted_by_who_put_them(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    any_db.execute("select ragdb.set_quota('writer', blob_bytes => 10)")
    any_db.execute("set role writer")
    any_db.execute("select ragdb.put_blob('12345678', 'text/plain')")
    assert "may have 10 and has 8" in refused(any_db, "select ragdb.put_blob('abc', 'text/plain')")
    any_db.execute("select ragdb.put_blob('ab', 'text/plain')")
    any_db.execute("select ragdb.put_blob('12345678', 'text/plain')")
    any_db.execute("set role writer2")
    any_db.execute("select ragdb.put_blob('another may put more', 'text/plain')")
    any_db.execute("set role admin")
    listed = any_db.execute(
        "select role, blob_bytes, blob_bytes_taken, is_dead from ragdb.list_quotas()"
    ).fetchall()
    assert listed == [("writer", 10, 10, False)]
    any_db.execute("select ragdb.set_quota('writer')")
    assert not any_db.execute("select * from ragdb.list_quotas()").fetchall()


def test_public_is_the_quota_of_those_without_their_own(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    any_db.execute("select ragdb.set_quota('public', blob_bytes => 0)")
    any_db.execute("select ragdb.set_quota('writer', blob_bytes => 30)")
    any_db.execute("set role writer2")
    refused(any_db, "select ragdb.put_blob('1234', 'text/plain')")
    any_db.execute("set role writer")
    any_db.execute("select ragdb.put_blob('1234', 'text/plain')")


def test_a_quota_of_everybody_is_not_one_of_a_role_that_is_gone(any_db: Connection) -> None:
    any_db.execute("create role gone")
    any_db.execute("select ragdb.set_quota('public', 100), ragdb.set_quota('gone', 100)")
    any_db.execute("drop role gone")
    listed = any_db.execute("select role, is_dead from ragdb.list_quotas()").fetchall()
    assert listed == [("gone", True), ("public", False)]


def put(corpus: str, source: str, chunks: int, word: str = "Text") -> str:
    given = document(source, [f"{word} {n} of {source}." for n in range(chunks)])
    return f"select from ragdb.put_documents('{corpus}', '{json.dumps([given])}')"


def count(db: Connection) -> int:
    row = db.execute("select sum(chunks)::integer from ragdb.list_corpora()").fetchone()
    assert row is not None
    return int(row[0])


def test_a_corpus_has_no_more_chunks_than_its_writer_may_put(any_db: Connection) -> None:
    for name in ("docs", "more"):
        any_db.execute("select ragdb.create_corpus(%s)", (name,))
    any_db.execute("select ragdb.set_quota('writer', corpus_chunks => 5)")
    any_db.execute("set role writer")
    any_db.execute(put("docs", "a.md", 3))
    with pytest.raises(psycopg.Error) as caught, any_db.transaction():
        any_db.execute(put("docs", "b.md", 3))
    assert isinstance(caught.value, QuotaExceeded)
    assert caught.value.diag.message_primary == (
        'role "writer" has no room for 3 more chunks in corpus "docs": it may have 5 and has 3'
    )
    assert count(any_db) == 3
    any_db.execute(put("docs", "b.md", 2))
    # the same, less, and as much in place of it is written where it is full
    any_db.execute(put("docs", "a.md", 3, "Word"))
    any_db.execute(put("docs", "b.md", 1))
    any_db.execute(put("more", "a.md", 5))
    any_db.execute("set role writer2")
    any_db.execute(put("docs", "c.md", 9))
    any_db.execute("set role writer")
    refused(any_db, put("docs", "d.md", 1))
    any_db.execute("select ragdb.delete_source('docs', 'c.md')")
    any_db.execute(put("docs", "d.md", 1))
    any_db.execute("set role admin")
    assert any_db.execute("select role, corpus_chunks from ragdb.list_quotas()").fetchall() == [
        ("writer", 5)
    ]


def test_turns_that_are_appended_are_chunks_of_the_quota(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('chat')")
    any_db.execute("select ragdb.set_quota('public', corpus_chunks => 2)")
    any_db.execute("set role writer")
    turn = (
        """select from ragdb.append_turns('chat', 's', '[{{"id": "{0}", "text": "Word {0}"}}]')"""
    )
    any_db.execute(turn.format(1))
    any_db.execute(turn.format(2))
    any_db.execute(turn.format(2))
    refused(any_db, turn.format(3))


def test_failures_are_counted_by_the_hour(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    any_db.execute("select ragdb.set_quota('reader', hourly_failures => 2)")
    failed = "select ragdb.record_failure('docs', 'q', 'RG410', 1)"
    any_db.execute("set role reader")
    any_db.execute(failed)
    any_db.execute(failed)
    refused(any_db, failed)
    refused(any_db, "select ragdb.record_refusal('docs', 'RG401')")
    any_db.execute("set role reader2")
    any_db.execute(failed)


def test_calls_at_once_are_counted_by_role_and_end_with_the_transaction(
    any_clone: str, login: Login
) -> None:
    admin = login(any_clone, "admin", autocommit=True)
    admin.execute("select ragdb.create_corpus('docs')")
    admin.execute("select ragdb.set_quota('reader', concurrent_calls => 2)")
    call = "select * from ragdb.search('docs', 'tulips')"
    one, two, three = (login(any_clone, "reader") for _ in range(3))
    for db in (one, two, one, one):
        db.execute(call)
    refused(three, call)
    login(any_clone, "reader2").execute(call)
    one.rollback()
    three.execute(call)
    refused(one, call)
    two.commit()
    # a transaction that came to another slot keeps to it
    for _ in range(3):
        three.execute(call)
        one.execute(call)


def test_no_other_role_takes_the_calls_of_a_role(any_clone: str, login: Login) -> None:
    admin = login(any_clone, "admin", autocommit=True)
    admin.execute("select ragdb.create_corpus('docs')")
    admin.execute("select ragdb.set_quota('reader', concurrent_calls => 2)")
    call = "select * from ragdb.search('docs', 'tulips')"
    one, two = (login(any_clone, "reader") for _ in range(2))
    with one.transaction(), two.transaction():
        one.execute(call)
        two.execute(call)
        keys = admin.execute(
            "select classid::bigint, objid::bigint from pg_locks where locktype = 'advisory'"
            " and objsubid = 2 and pid in (%s, %s)",
            (one.info.backend_pid, two.info.backend_pid),
        ).fetchall()
    assert len(keys) == 2
    # sessions are counted, and each takes one
    attackers = [login(any_clone, "stranger") for _ in keys]
    for attacker, pair in zip(attackers, keys, strict=True):
        signed = [key - 2**32 if key >= 2**31 else key for key in pair]
        attacker.execute("select pg_advisory_lock(%s::int, %s::int)", signed)
    one.execute(call)
    two.execute(call)


@pytest.mark.parametrize(
    "given",
    [
        "'nobody'",
        "'reader', -1",
        "'reader', hourly_failures => -1",
        "'reader', null, null, 0",
        "'reader', corpus_chunks => -1",
    ],
)
def test_what_is_not_a_quota_is_refused(any_db: Connection, given: str) -> None:
    any_db.execute("set role admin")
    with pytest.raises(psycopg.Error) as caught, any_db.transaction():
        any_db.execute(f"select ragdb.set_quota({given})")
    assert caught.value.sqlstate == "RG400"


@pytest.mark.parametrize(
    "work",
    [
        "ragdb.create_signing_key('k')",
        "ragdb.maintain()",
        "ragdb.drop_traces_before('2020-01-01')",
        "ragdb.refresh_rollups(true)",
    ],
)
def test_an_advisory_lock_of_a_reader_keeps_nobody_from_work(
    any_clone: str, login: Login, work: str
) -> None:
    reader = login(any_clone, "reader")
    for name in ("signing_keys", "maintain", "rollups", "apply_contract"):
        reader.execute("select pg_advisory_lock(hashtextextended(%s, 0))", (f"ragdb.{name}",))
    admin = login(any_clone, "admin", autocommit=True)
    admin.execute("set lock_timeout = '2s'")
    admin.execute(f"select * from {work}")


def test_a_capability_answers_a_refusal_whatever_the_quota(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    any_db.execute("select ragdb.restrict_corpus('docs')")
    any_db.execute("select ragdb.set_quota('reader', hourly_failures => 2)")
    any_db.execute("set role reader")
    request = '{"params": {"corpus": "docs"}, "input": {"query": "tulips"}}'
    for _ in range(3):
        row = any_db.execute("select ragdb.rag_query(%s) ->> 'error'", (request,)).fetchone()
        assert row == ("not_found",)
    any_db.execute("reset role")
    counted = "select count(*) from ragdb.list_access_events() where kind = 'refused'"
    assert any_db.execute(counted).fetchone() == (2,)
