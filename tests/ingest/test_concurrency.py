"""Processes ingest, delete and search one corpus at once: no error, no lost count, one outcome."""

from __future__ import annotations

import itertools
import json
import random
from multiprocessing.synchronize import Event
from typing import Any

import psycopg
import pytest

from tests.forked import PROCESSES
from tests.ingest.made_documents import QUERIES, document, everything

NOT_THERE = "RG405"  # another process deleted it


def put(db: psycopg.Connection[Any], batch: list[dict[str, Any]]) -> None:
    db.execute("select ragdb.put_documents('docs', %s)", (json.dumps(batch),))


def ingester(dsn: str, seed: int, documents: int) -> None:
    """Put every document in an order of its own, delete some, and put the last version of all."""
    chance = random.Random(seed)
    with psycopg.connect(dsn, user="writer", autocommit=True) as db:
        for last in (False, True):
            order = list(range(documents))
            chance.shuffle(order)
            while order:
                size = chance.randint(1, 6)
                numbers, order = order[:size], order[size:]
                put(db, [document(n, 2 if last else chance.randint(1, 3)) for n in numbers])
                if not last and chance.random() < 0.5:
                    doomed = document(chance.randrange(documents), chance.randint(1, 3))
                    try:
                        db.execute("select ragdb.delete_document('docs', %s)", (doomed["doc_cid"],))
                    except psycopg.DatabaseError as error:
                        if error.sqlstate != NOT_THERE:
                            raise


def searcher(dsn: str, seed: int, finished: Event) -> None:
    """Search and retrieve until the others are done; every answer is whole."""
    chance = random.Random(seed)
    with psycopg.connect(dsn, user="reader", autocommit=True) as db:
        # some at least, where the others were done before this one began
        for turn in itertools.count():
            if turn >= 10 and finished.is_set():
                return
            query, k = chance.choice(QUERIES), chance.randint(1, 30)
            verb = chance.choice(["search", "retrieve"])
            hits = db.execute(
                f"select chunk_id, score, text, rank from ragdb.{verb}('docs', %s, %s)", (query, k)
            ).fetchall()
            words = set(query.replace('"', "").split())
            assert len(hits) <= k
            assert [rank for *_, rank in hits] == list(range(1, len(hits) + 1))
            assert len({chunk_id for chunk_id, *_ in hits}) == len(hits)
            assert all(words & set(text.split()) for _, _, text, _ in hits)
            order = [(-score, chunk_id.encode()) for chunk_id, score, *_ in hits]
            assert order == sorted(order)
            assert all(0 < score <= 1 for _, score, *_ in hits)


def at_once(dsn: str, ingesters: int, searchers: int, documents: int) -> list[int | None]:
    """Run them all, and return how each process ended: 0 without an error."""
    finished = PROCESSES.Event()
    writing = [
        PROCESSES.Process(target=ingester, args=(dsn, seed, documents)) for seed in range(ingesters)
    ]
    reading = [
        PROCESSES.Process(target=searcher, args=(dsn, seed, finished)) for seed in range(searchers)
    ]
    for process in [*writing, *reading]:
        process.start()
    for process in writing:
        process.join()
    finished.set()
    for process in reading:
        process.join()
    return [process.exitcode for process in [*writing, *reading]]


@pytest.mark.parametrize(
    ("ingesters", "searchers", "documents"),
    [(4, 2, 16), pytest.param(8, 4, 300, marks=pytest.mark.nightly)],
)
def test_ingesting_at_once_ends_as_ingesting_alone(
    server18: Any, clone: str, ingesters: int, searchers: int, documents: int
) -> None:
    with psycopg.connect(clone) as db:
        db.execute("select ragdb.create_corpus('docs')")
    assert set(at_once(clone, ingesters, searchers, documents)) == {0}
    with psycopg.connect(clone) as db:
        assert db.execute("select * from ragdb.check_corpus('docs')").fetchall() == []
        ((deadlocks,),) = db.execute(
            "select deadlocks from pg_stat_database where datname = current_database()"
        ).fetchall()
        assert deadlocks == 0
        db.execute("set role ragdb_owner")
        ((traces, intact),) = db.execute(
            "select count(*), bool_and(v.is_intact)"
            " from ragdb.list_traces(count => 10000) t, ragdb.verify_trace(t.id) v"
            # others write meanwhile what the evidence was found in
            " where v.subject = 'record'"
        ).fetchall()
        assert (traces > 0, intact) == (True, True)
    with server18.database() as database:
        alone = server18.dsn(database.dbname)
        with psycopg.connect(alone) as db:
            db.execute("select ragdb.create_corpus('docs')")
            put(db, [document(n, 2) for n in range(documents)])
        # what a corpus begins with tells its pivot, if it is enough
        for dsn in (clone, alone):
            with psycopg.connect(dsn) as db:
                db.execute("select ragdb.optimize_corpus('docs')")
        assert everything(clone) == everything(alone)


def test_without_the_lock_of_a_corpus_the_test_fails(
    clone: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The control: a writer that does not queue for the row of the corpus."""
    with psycopg.connect(clone) as db:
        db.execute("select ragdb.create_corpus('docs')")
        db.execute(
            "create or replace function ragdb_internal.lock_corpus(corpus text, privilege text,"
            " takes_parts boolean default false, takes_moved boolean default false)"
            " returns ragdb.corpora language sql volatile"
            " return ragdb_internal.open_corpus(corpus, privilege, takes_parts, takes_moved)"
        )
        db.execute("select ragdb_internal.lock_corpus('docs', 'write')")
    ended = at_once(clone, 3, 0, 24)
    with psycopg.connect(clone) as db:
        wrong = db.execute("select * from ragdb.check_corpus('docs')").fetchall()
    capfd.readouterr()  # the children's tracebacks
    assert wrong or any(ended)
