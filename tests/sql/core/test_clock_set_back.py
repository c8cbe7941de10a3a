"""A clock that was a year ahead and is put right: nothing waits or lasts for a year after that."""

from __future__ import annotations

import hashlib

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection
from tests.embedding import claim, make_corpus, one

NOW, AHEAD = "2026-03-01 12:00:00+00", "2027-03-01 12:00:00+00"
# what the database wrote with the clock of next year: it takes no other clock for jobs
LATER = "update ragdb.{} set due_at = due_at + interval '1 year'"


@pytest.mark.parametrize("is_claimed", [False, True])
def test_inputs_of_a_clock_that_was_ahead_are_due(db: Connection, is_claimed: bool) -> None:
    make_corpus(db, {"a": "alpha beta", "b": "gamma delta"})
    rows = claim(db, count=2)
    db.execute(LATER.format("embedding_jobs"))
    if not is_claimed:
        db.execute("update ragdb.embedding_jobs set worker = null")
    assert sorted(row[1] for row in claim(db)) == sorted(row[1] for row in rows)
    assert claim(db) == []  # they are claimed now, as others are


def test_no_input_waits_for_longer_than_a_day_for_its_provider(db: Connection) -> None:
    make_corpus(db, {"a": "alpha beta"})
    ((space, input_hash, attempt, _),) = claim(db)
    db.execute(
        "select ragdb.fail_embeddings(%s, %s, %s, 'away', 'infinity')",
        (space, [input_hash], [attempt]),
    )
    assert one(db, "select due_at < now() + interval '1.6 days' from ragdb.embedding_jobs") is True


def test_jobs_of_a_clock_that_was_ahead_are_due(db: Connection) -> None:
    make_corpus(db, {"a": "alpha beta"})
    blob = one(db, "select ragdb.put_blob('# Tulips', 'text/markdown')")
    asked = {"params": {"corpus": "docs"}, "input": {"doc_cid": blob}}
    read = one(db, "select ragdb.rag_ingest(%s) ->> 'job_id'", Jsonb(asked))
    texts = {"params": {"model": "hash"}, "input": {"texts": ["tulips"]}}
    embed = one(db, "select ragdb.embed_text(%s) ->> 'job_id'", Jsonb(texts))
    for table in ("ingest_jobs", "embed_jobs"):
        db.execute(LATER.format(table))
    assert str(one(db, "select job_id from ragdb.claim_ingest_jobs('w')")) == read
    assert str(one(db, "select job_id from ragdb.claim_embed_jobs('w')")) == embed


def test_a_session_of_a_clock_that_was_ahead_has_ended(db: Connection) -> None:
    db.execute(f"set local ragdb.now = '{AHEAD}'")
    secret = one(db, "select ragdb.open_http_session()")
    role = "select ragdb.http_session_role(%s)"
    session = hashlib.sha256(secret.encode()).digest()
    assert one(db, role, session) == "ragdb_admin"
    db.execute(f"set local ragdb.now = '{NOW}'")
    assert one(db, role, session) is None


def refusal_of(db: Connection, does: str) -> str | None:
    """The SQLSTATE by which it is refused, or None."""
    try:
        with db.transaction():
            db.execute(does)
    except psycopg.Error as error:
        return error.sqlstate
    return None


def test_failures_of_a_clock_that_was_ahead_count_for_no_quota(db: Connection) -> None:
    failure = "select ragdb.record_failure('docs', 'q', 'RG410', 1)"
    refusal = "select ragdb.record_refusal('docs', 'RG401')"
    db.execute("select ragdb.create_corpus('docs')")
    db.execute("select ragdb.set_quota('reader', hourly_failures => 2)")
    for now in (AHEAD, NOW):
        db.execute(f"set local ragdb.now = '{now}'")
        db.execute("set local role reader")
        refused = [refusal_of(db, does) for does in (failure, refusal, failure)]
        db.execute("reset role")
        assert refused == [None, None, "RG470"], now
