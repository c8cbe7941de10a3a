"""The embedding of a question, which tells much of its text, goes with the last trace of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from ragdb.client.calling import Reals
from tests.conftest import Connection, Server
from tests.embedding import ENCODER, embed, make_corpus, one, put
from tests.refusal import refused
from tests.sql.traces.test_traces_waits import calling, held
from tests.waiting import until

DROP = "select * from ragdb.drop_traces_before('2020-03-01')"


def ask(db: Connection, question: str, at: str | None = None) -> Any:
    """The trace of a question that is asked by meaning, at a time."""
    with db.transaction():
        if at:
            db.execute("select set_config('ragdb.now', %s, true)", (f"{at} 10:00:00+00",))
        return one(
            db,
            "select distinct trace_id from ragdb.retrieve('docs', %s, query_embedding => %s,"
            " mode => 'semantic')",
            question,
            Reals(ENCODER.encode([question])[0]),
        )


def kept(db: Connection, question: str) -> int:
    """How many embeddings of a question are kept."""
    return int(
        one(
            db,
            "select count(*) from ragdb.query_embeddings"
            " where embedding_hash = ragdb_internal.vector_hash(%s::real[])",
            ENCODER.encode([question])[0].tolist(),
        )
    )


def fill(db: Connection) -> None:
    make_corpus(db, {"a": "red apple", "b": "green pear"})
    embed(db)


@pytest.fixture
def any_docs(any_version: Server, any_filled: str) -> Iterator[Connection]:
    with any_version.rolled_back(any_filled) as db:
        yield db


@pytest.fixture
def docs(copied: str) -> Iterator[Connection]:
    """A corpus that was asked in January 2020, in a session that commits."""
    with psycopg.connect(copied, autocommit=True) as db:
        ask(db, "red", "2020-01-31")
        db.execute("select ragdb.maintain()")
        db.execute("set lock_timeout = '5 s'")
        yield db


def test_an_embedding_goes_with_the_last_trace_that_names_it(any_docs: Connection) -> None:
    db = any_docs
    for question in ("gone", "asked again", "put"):
        ask(db, question, "2020-02-29")
    later = ask(db, "asked again", "2020-03-01")
    with db.transaction():
        db.execute("select set_config('ragdb.now', '2020-02-29 10:00:00+00', true)")
        db.execute(
            "select ragdb.put_query_embedding('docs', 'put', %s)",
            (Reals(ENCODER.encode(["put"])[0]),),
        )
    assert [kept(db, q) for q in ("gone", "asked again", "put")] == [1, 1, 1]
    db.execute("select set_config('ragdb.now', '2020-04-15 00:00:00+00', true)")
    assert len(db.execute(DROP).fetchall()) == 1
    assert [kept(db, q) for q in ("gone", "asked again", "put")] == [0, 1, 1]
    assert one(db, "select verdict from ragdb.replay(%s)", later) == "exact"
    assert one(db, "select is_ready from ragdb.query_embedding_state('docs', 'put')")


def test_a_trace_of_another_corpus_keeps_no_embedding(docs: Connection) -> None:
    docs.execute("select ragdb.create_corpus('others'), ragdb.embed_corpus('others', 'hash')")
    put(docs, {"a": "red apple"}, "others")
    embed(docs)
    docs.execute(
        "select from ragdb.retrieve('others', 'red', query_embedding => %s, mode => 'semantic')",
        (Reals(ENCODER.encode(["red"])[0]),),
    )
    assert kept(docs, "red") == 2
    docs.execute(DROP)
    assert kept(docs, "red") == 1


def test_what_is_kept_under_an_old_question_is_dropped_by_itself(any_docs: Connection) -> None:
    db = any_docs
    kept_at = {"old": "2019-12-31", "traced": "2019-12-31", "new": "2020-01-01"}
    trace = ask(db, "traced", "2019-12-31")
    for question, at in kept_at.items():
        with db.transaction():
            db.execute("select set_config('ragdb.now', %s, true)", (f"{at} 10:00:00+00",))
            embedding = Reals(ENCODER.encode([question])[0])
            db.execute("select ragdb.put_query_embedding('docs', %s, %s)", (question, embedding))
    for question in ("waits", "waits now"):
        assert not one(db, "select ragdb.request_query_embedding('docs', %s)", question)
    db.execute("update ragdb.embedded_queries set due_at = '2019-06-01' where query_text = 'waits'")
    db.execute("set local role admin")
    drop = "select * from ragdb.drop_kept_queries_before('2020-01-01')"
    assert db.execute(drop).fetchall() == [("docs", 3)]
    assert db.execute(drop).fetchall() == []
    db.execute("reset role")
    assert [kept(db, question) for question in kept_at] == [0, 1, 1]
    assert one(db, "select verdict from ragdb.replay(%s)", trace) == "exact"
    state = "select is_ready from ragdb.query_embedding_state('docs', %s)"
    assert [one(db, state, question) for question in kept_at] == [False, False, True]
    left = "select query_text from ragdb.embedded_queries where query_text is not null"
    assert db.execute(left).fetchall() == [("waits now",)]


def test_a_question_whose_embedding_is_put_again_is_kept_from_then_on(docs: Connection) -> None:
    embedding = Reals(ENCODER.encode(["old"])[0])
    for at in ("2019-12-31", "2020-01-01"):
        with docs.transaction():
            docs.execute("select set_config('ragdb.now', %s, true)", (f"{at} 10:00:00+00",))
            docs.execute("select ragdb.put_query_embedding('docs', 'old', %s)", (embedding,))
    assert docs.execute("select from ragdb.drop_kept_queries_before('2020-01-01')").rowcount == 0
    assert one(docs, "select is_ready from ragdb.query_embedding_state('docs', 'old')")
    assert kept(docs, "old") == 1


def test_only_an_admin_drops_what_is_kept_and_only_of_days_that_ended(db: Connection) -> None:
    drop = "select ragdb.drop_kept_queries_before(%s)"
    assert refused(db, drop, "2100-01-01").sqlstate == "RG400"
    db.execute("set local role writer")
    with pytest.raises(psycopg.errors.InsufficientPrivilege), db.transaction():
        db.execute(drop, ("2020-01-01",))


def test_a_retrieval_under_way_keeps_the_embedding_that_it_found(
    copied: str, docs: Connection
) -> None:
    with psycopg.connect(copied) as asking:
        asking.execute("select 1")
        trace = ask(asking, "red")
        with calling(copied, "drop_traces_before('2020-03-01')") as came:
            until(lambda: came or held(docs))
            assert came == []
            asking.commit()
        assert came == ["done"]
    assert kept(docs, "red") == 1
    assert one(docs, "select verdict from ragdb.replay(%s)", trace) == "exact"


def test_who_asks_while_it_is_deleted_waits_for_nobody_and_keeps_its_own(
    copied: str, docs: Connection
) -> None:
    with psycopg.connect(copied) as reader:
        reader.execute("select from ragdb.retrieval_hits limit 1")
        with calling(copied, "drop_traces_before('2020-03-01')") as came:
            until(lambda: came or held(docs))
            trace = ask(docs, "red")
            assert came == []
            assert kept(docs, "red") == 2
            reader.rollback()
        assert came == ["done"]
    assert kept(docs, "red") == 1
    assert one(docs, "select verdict from ragdb.replay(%s)", trace) == "exact"


def test_a_drop_that_sees_an_old_snapshot_leaves_all_embeddings(
    copied: str, docs: Connection
) -> None:
    with psycopg.connect(copied) as db:
        db.execute("set transaction isolation level repeatable read")
        db.execute("select 1")
        trace = ask(docs, "red")
        assert len(db.execute(DROP).fetchall()) == 1
    assert one(docs, "select verdict from ragdb.replay(%s)", trace) == "exact"
