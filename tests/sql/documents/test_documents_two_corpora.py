"""Writers of different corpora share no lock: one keeps its transaction open, the other commits."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection
from tests.embedding import claim, complete, make_embedder, put
from tests.waiting import until_it_waits

Act = Callable[[Connection, str], object]


def put_one(db: Connection, corpus: str) -> None:
    put(db, {"new.md": f"new text of {corpus}", "held.md": f"another text of {corpus}"}, corpus)


def converse(db: Connection, corpus: str) -> None:
    turn = {"id": "1", "role": "user", "text": f"a turn of {corpus}"}
    db.execute("select ragdb.append_turns(%s, 's', %s)", (corpus, Jsonb([turn])))


def delete(db: Connection, corpus: str) -> None:
    db.execute("select ragdb.delete_source(%s, 'held.md')", (corpus,))


def search(db: Connection, corpus: str) -> None:
    db.execute(
        "select count(*) from ragdb.search(%s, 'text', query_embedding => %s)", (corpus, [0.1] * 64)
    ).fetchall()


def retrieve(db: Connection, corpus: str) -> None:
    db.execute("select count(*) from ragdb.retrieve(%s, 'text', mode => 'lexical')", (corpus,))


def embed(db: Connection, corpus: str) -> None:
    db.execute("select ragdb.put_text(%s, 'wait.md', 'it waits')", (corpus,))
    rows = db.execute(
        "select space_id, input_hash, attempt, input"
        " from ragdb.claim_embeddings('w', 100, '60 s', %s)",
        (corpus,),
    ).fetchall()
    assert complete(db, rows) >= 1


def make_space(db: Connection, corpus: str) -> None:
    db.execute("select ragdb.reembed_corpus(%s, 'other')", (corpus,))


def import_copy(db: Connection, corpus: str) -> None:
    db.execute("select ragdb.import_corpus(ragdb.export_corpus(%s), 'copy')", (corpus,))
    db.execute("select ragdb.embed_corpus('copy', 'hash')")


def refill(db: Connection, corpus: str) -> None:
    db.execute("select ragdb.optimize_corpus(%s)", (corpus,))


WRITES: dict[str, Act] = {
    "a put": put_one,
    "a turn": converse,
    "a deletion": delete,
    "embeddings": embed,
    "optimizing": refill,
    "a retrieval": retrieve,
}
# these make tables, and so wait for each other; nobody else waits for them
MAKES: dict[str, Act] = {"a new space": make_space, "an import": import_copy}


@pytest.fixture
def two(clone: str) -> str:
    """Two corpora that are embedded, with a document each."""
    with psycopg.connect(clone, autocommit=True) as db:
        make_embedder(db)
        make_embedder(db, "other")
        for corpus in ("one", "two"):
            db.execute("select ragdb.create_corpus(%s)", (corpus,))
            db.execute("select ragdb.embed_corpus(%s, 'hash')", (corpus,))
            put(db, {"held.md": f"text of {corpus}"}, corpus)
        complete(db, claim(db))
    return clone


# Held by a transaction, and in the way of another: a lock of the other's kind on a relation is not.
STRONG = """
select distinct l.locktype, l.mode, coalesce(l.relation::regclass::text, l.objid::text)
from pg_locks l
where l.pid = %s and l.granted and l.locktype not in ('virtualxid', 'transactionid')
  and l.mode not in ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')
"""


@pytest.mark.by_day(1)
@pytest.mark.parametrize("held", WRITES)
def test_a_write_that_is_not_committed_keeps_no_other_corpus_waiting(two: str, held: str) -> None:
    with psycopg.connect(two) as one, psycopg.connect(two, autocommit=True) as other:
        other.execute("set lock_timeout = '200ms'")
        WRITES[held](one, "one")
        strong = one.execute(STRONG, (one.info.backend_pid,)).fetchall()
        assert [lock for lock in strong if lock[0] != "advisory"] == []
        for act in WRITES.values():
            act(other, "two")
        for make in MAKES.values():
            with other.transaction(force_rollback=True):
                make(other, "two")
        # the control: what it writes is not there yet, and the row of its corpus is held
        if held != "a retrieval":
            with pytest.raises(psycopg.errors.LockNotAvailable):
                put_one(other, "one")


@pytest.mark.by_day(1)
@pytest.mark.parametrize("held", MAKES)
def test_a_table_that_is_not_committed_keeps_no_other_corpus_waiting(two: str, held: str) -> None:
    with psycopg.connect(two) as one, psycopg.connect(two, autocommit=True) as other:
        other.execute("set lock_timeout = '200ms'")
        MAKES[held](one, "one")
        for act in (*WRITES.values(), search):
            act(other, "two")
        one.rollback()  # no import is committed that has not come to its end


def test_a_drop_that_deletes_keeps_no_other_corpus_waiting(two: str) -> None:
    with (
        ThreadPoolExecutor(1) as aside,
        psycopg.connect(two) as one,
        psycopg.connect(two, autocommit=True) as drops,
        psycopg.connect(two, autocommit=True) as other,
    ):
        one.execute(
            "select from ragdb.documents d join ragdb.corpora c using (corpus_id)"
            " where c.name = 'one' for update of d"
        )
        dropped = aside.submit(drops.execute, "select ragdb.drop_corpus('one')")
        until_it_waits(other, drops)
        other.execute("set lock_timeout = '200ms'")
        try:
            for act in (*WRITES.values(), search, *MAKES.values()):
                with other.transaction(force_rollback=True):
                    act(other, "two")
        finally:
            one.rollback()
            dropped.result(120)
        other.execute("select ragdb.maintain()")
        left = "select to_regclass('ragdb.chunk_embeddings_1'), name from ragdb.list_corpora()"
        assert other.execute(left).fetchall() == [(None, "two")]


def test_a_deleted_chunk_takes_its_embeddings_of_every_space_along(two: str) -> None:
    with psycopg.connect(two, autocommit=True) as db:
        db.execute("select ragdb.reembed_corpus('one', 'other')")
        while rows := claim(db):
            complete(db, rows)
        count = "select count(*) from ragdb.chunk_embeddings where corpus_id = (select corpus_id"
        count += " from ragdb.corpora where name = %s)"
        assert db.execute(count, ("one",)).fetchone() == (2,)
        delete(db, "one")
        assert db.execute(count, ("one",)).fetchone() == (0,)
        assert db.execute(count, ("two",)).fetchone() == (1,)
