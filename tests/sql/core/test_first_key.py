"""A key begins to sign while others record: nothing of a time when it signed is unsigned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from ragdb.errors import NoSigningKey
from tests.conftest import Connection
from tests.embedding import put
from tests.waiting import after_commit, outcome

RECORD = "select ragdb.retrieve('docs', 'refunds', mode => 'lexical')"
CREATE = "select ragdb.create_signing_key('k1')"
WRONG = "select finding from ragdb.verify(checks => '{traces,keys}') where severity = 'error'"


@pytest.fixture
def both(clone: str) -> Iterator[tuple[Connection, Connection]]:
    """Who records in a corpus, and who makes the first key."""
    with psycopg.connect(clone) as recorder, psycopg.connect(clone) as admin:
        admin.execute("select ragdb.create_corpus('docs')")
        put(admin, {"a.md": "refunds are paid in 14 days"})
        admin.commit()
        yield recorder, admin


def keys(db: Connection) -> list[Any]:
    """By which key each trace is signed, the first first."""
    return db.execute(
        "select v.recomputed from ragdb.list_traces() t, ragdb.verify_trace(t.id) v"
        " where v.field = 'trace_mac' order by t.id"
    ).fetchall()


def test_who_makes_the_first_key_waits_for_who_recorded_without_one(
    both: tuple[Connection, Connection],
) -> None:
    recorder, admin = both
    recorder.execute(RECORD)
    assert after_commit(recorder, admin, lambda: outcome(admin, CREATE)) is None
    assert admin.execute(WRONG).fetchall() == []


def test_who_records_while_the_first_key_is_made_signs_by_it(
    both: tuple[Connection, Connection],
) -> None:
    recorder, admin = both
    admin.execute(CREATE)
    assert after_commit(admin, recorder, lambda: outcome(recorder, RECORD)) is None
    assert admin.execute(WRONG).fetchall() == []
    assert keys(admin) == [("signed by key k1",)]


@pytest.mark.parametrize("is_committed", [False, True])
def test_who_does_not_see_the_first_key_yet_begins_again(
    both: tuple[Connection, Connection], is_committed: bool
) -> None:
    recorder, admin = both
    recorder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    recorder.execute(RECORD)  # where none is being made, one records
    recorder.rollback()
    recorder.execute("select from ragdb.list_corpora()")
    admin.execute(CREATE)
    if is_committed:
        admin.commit()
        with pytest.raises(psycopg.errors.SerializationFailure):
            recorder.execute(RECORD)
    else:
        # it would wait for the key, whose maker waits for nobody
        assert after_commit(admin, recorder, lambda: outcome(recorder, RECORD)) == "40001"
    recorder.rollback()
    recorder.execute(RECORD)
    recorder.commit()
    assert admin.execute(WRONG).fetchall() == []


def test_nothing_is_recorded_while_the_clock_is_behind_the_key(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    put(db, {"a.md": "refunds are paid in 14 days"})
    db.execute("set local timezone = 'UTC'")
    db.execute("set local ragdb.now = '2026-03-02 12:00:00+00'")
    db.execute(CREATE)
    db.execute("set local ragdb.now = '2026-03-01 12:00:00+00'")
    with pytest.raises(NoSigningKey, match="made later than now") as refused, db.transaction():
        db.execute(RECORD)
    said = refused.value.diag
    assert (
        said.message_detail
        == "it is of 2026-03-02 12:00:00+00, and nothing is recorded before that"
    )
    assert said.message_hint == (
        "set the clock; where it is right now, and was ahead then, create another key"
    )
    # which is recorded nowhere
    assert db.execute("select from ragdb.search('docs', 'refunds')").fetchall()
    # who knows that it is right now makes another
    db.execute("select ragdb.create_signing_key('k2')")
    db.execute(RECORD)
    assert keys(db) == [("signed by key k2",)]
    assert db.execute(WRONG).fetchall() == []


def test_keys_made_in_one_second_have_ids_of_their_own(db: Connection) -> None:
    db.execute("set local ragdb.now = '2026-03-02 12:00:00+00'")
    made = [db.execute("select ragdb.create_signing_key()").fetchone() for _ in range(3)]
    assert made == [("k20260302120000",), ("k20260302120000-2",), ("k20260302120000-3",)]
