"""Simultaneous writers, each in its own process."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkServerProcess

import psycopg
import pytest

from tests.documents import document
from tests.forked import PROCESSES
from tests.sql.documents_twin import expected, faults, put, stored
from tests.waiting import after_commit

URIS = [f"{n}.md" for n in range(12)]
TEXTS = ["alpha beta", "beta gamma", "gamma delta", "delta alpha", "epsilon"]


def write(dsn: str, seed: int, rounds: int) -> None:
    """Put and delete at random; another writer may have been first, nothing else may go wrong."""
    random.seed(seed)
    with psycopg.connect(dsn, autocommit=True) as db:
        for _ in range(rounds):
            uris = random.sample(URIS, 3)
            if random.random() < 0.7:
                texts = [random.choices(TEXTS, k=random.randint(0, 3)) for _ in uris]
                links = [[(0, random.choice(URIS))] if text else [] for text in texts]
                put(
                    db,
                    *(document(u, t, links=k) for u, t, k in zip(uris, texts, links, strict=True)),
                )
            else:
                try:
                    db.execute("select ragdb.delete_source('docs', %s)", (uris[0],))
                except psycopg.DatabaseError as error:
                    if error.sqlstate != "RG405":
                        raise


@contextmanager
def writers(dsn: str, count: int, rounds: int) -> Iterator[list[ForkServerProcess]]:
    processes = [PROCESSES.Process(target=write, args=(dsn, seed, rounds)) for seed in range(count)]
    for process in processes:
        process.start()
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.join()


def test_writers_and_deleters_of_one_corpus_lose_nothing_and_never_deadlock(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('docs')")
        with writers(clone, 4, 40) as processes:
            for process in processes:
                process.join(120)
                assert process.exitcode == 0
        assert faults(db) == []
        row = db.execute(
            "select deadlocks from pg_stat_database where datname = current_database()"
        )
        assert row.fetchone() == (0,)
        # what is there is what its sources say
        sources = {}
        for cid, uris, chunks, links in db.execute(
            "select d.doc_cid, array(select s.uri from ragdb.document_sources s"
            "   where s.doc_no = d.doc_no and s.corpus_id = d.corpus_id),"
            " array(select c.text from ragdb.chunks c"
            "   where c.doc_no = d.doc_no and c.corpus_id = d.corpus_id order by c.ordinal),"
            " array(select jsonb_build_array(c.ordinal, l.target) from ragdb.document_links l"
            "   join ragdb.chunks c using (corpus_id, chunk_no)"
            "   where c.doc_no = d.doc_no and c.corpus_id = d.corpus_id)"
            " from ragdb.documents d"
        ):
            for uri in uris:
                sources[uri] = document(uri, chunks, links=[tuple(link) for link in links])
                assert sources[uri]["doc_cid"] == cid
        assert stored(db, "docs") == expected("docs", sources)


def test_a_consumer_that_polls_misses_no_event_of_concurrent_writers(clone: str) -> None:
    seen: list[tuple[str, int]] = []
    stop = threading.Event()

    def poll() -> None:
        with psycopg.connect(clone, autocommit=True) as db:
            last = None
            while True:
                done = stop.wait(0.002)  # or it takes a core from the writers
                while rows := db.execute(
                    "select corpus, lamport, next::text from ragdb.events_after(%s::jsonb, 5)",
                    (last,),
                ).fetchall():
                    seen.extend((corpus, lamport) for corpus, lamport, _ in rows)
                    last = rows[-1][2]
                if done:
                    return

    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('docs'), ragdb.create_corpus('more')")
        consumer = threading.Thread(target=poll)
        consumer.start()
        with writers(clone, 3, 25) as processes:
            for n in range(25):
                put(db, document(f"{n}", [f"text {n}"]), corpus="more")
            for process in processes:
                process.join(120)
                assert process.exitcode == 0
        stop.set()
        consumer.join()
        written = db.execute("select corpus, lamport from ragdb.events order by 1, 2").fetchall()
        # sorted is stable: of each corpus in the order in which it was seen
        assert sorted(seen, key=lambda event: event[0]) == written
        assert {corpus for corpus, _ in seen} == {"docs", "more"}


def test_the_same_documents_put_by_many_are_stored_once(clone: str) -> None:
    documents = json.dumps([document(uri, [uri, "text"]) for uri in URIS])
    failures: list[BaseException] = []
    started = threading.Barrier(4)

    def put_all() -> None:
        try:
            with psycopg.connect(clone) as db:
                started.wait()
                db.execute("select ragdb.put_documents('docs', %s)", (documents,))
        except BaseException as error:  # reported by the test's own thread
            failures.append(error)

    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('docs')")
        threads = [threading.Thread(target=put_all) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        counts = db.execute("select documents, chunks from ragdb.list_corpora()").fetchone()
        assert counts == (len(URIS), 2 * len(URIS))
        assert db.execute("select count(*) from ragdb.events").fetchone() == (len(URIS),)
        assert faults(db) == []


def test_a_source_that_another_root_takes_meanwhile_is_not_pruned(clone: str) -> None:
    with psycopg.connect(clone) as writer, psycopg.connect(clone) as pruner:
        writer.execute("select ragdb.create_corpus('docs')")
        put(writer, document("a.md", ["text"]) | {"root": "/old"}, document("b.md", ["more"]))
        writer.commit()
        # given a source that moves to another root, by who holds the corpus
        put(writer, document("a.md", ["text"]) | {"root": "/new", "adopt": True})
        # when, then
        prune = "select * from ragdb.prune_sources('docs', '', '{}', root => '/old')"
        pruned = after_commit(writer, pruner, lambda: pruner.execute(prune).fetchone())
        assert pruned == (0, 0)


@pytest.mark.parametrize("command", ["put", "delete"])
def test_a_writer_of_a_corpus_that_is_dropped_meanwhile_is_told_so(
    clone: str, command: str
) -> None:
    with psycopg.connect(clone) as dropper, psycopg.connect(clone) as writer:
        dropper.execute("select ragdb.create_corpus('docs')")
        put(dropper, document("a.md", ["text"]))
        dropper.commit()
        dropper.execute("select ragdb.drop_corpus('docs')")

        def write_one() -> None:
            if command == "put":
                put(writer, document("b.md", ["text"]))
            else:
                writer.execute("select ragdb.delete_source('docs', 'a.md')")

        with pytest.raises(psycopg.Error) as refused:
            after_commit(dropper, writer, write_one)
        assert refused.value.sqlstate == "RG404"
