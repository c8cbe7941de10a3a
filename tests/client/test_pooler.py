"""Behind PgBouncer in transaction mode every door works, and nobody sees another client's state."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import psycopg
import pytest

import ragdb
from ragdb.database import aconnect
from ragdb.errors import TraceNotFound
from ragdb.models.worker import Worker
from tests.conftest import Server
from tests.embedding import make_embedder, one, put
from tests.pooler import Pooler, pooler

THREADS = 8


@pytest.fixture(scope="module")
def bouncer(server18: Server) -> Iterator[Pooler]:
    with pooler(server18) as made:
        yield made


@pytest.fixture
def docs(clone: str) -> str:
    """A database with three documents in corpus `docs`."""
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('docs')")
        put(db, {"a.txt": "refunds take fourteen days", "b.txt": "a bicycle is no car"})
    return clone


def mixed_up(pooled: str, direct: str, calls: int) -> list[str]:
    """What was wrong with the calls of all threads: errors, and traces that are another's."""
    problems: list[str] = []
    traces: dict[UUID, str] = {}
    together = threading.Barrier(THREADS)

    def ask(thread: int) -> None:
        with ragdb.connect(pooled) as db:
            together.wait()
            for number in range(calls):
                # every other question finds nothing
                word = "refunds" if number % 2 else "zanzibar"
                question = f"{word} thread{thread} call{number}"
                try:
                    hits = db.retrieve("docs", question, 3, mode="lexical")
                    if bool(hits) != bool(number % 2):
                        problems.append(f"{question}: {len(hits)} hits")
                    if any(hit.trace_id != hits.trace_id for hit in hits):
                        problems.append(f"{question}: hits of another trace")
                    traces[hits.trace_id] = question
                    db.search("docs", question, 3, mode="lexical")
                except (psycopg.Error, AttributeError) as error:
                    problems.append(f"{question}: {type(error).__name__} {error}")

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(ask, range(THREADS)))
    with psycopg.connect(direct) as db:
        asked: dict[UUID, str] = dict(
            db.execute("select id, query_text from ragdb.retrieval_traces").fetchall()
        )
    problems += [
        f"{q}: its trace has {asked.get(i)}" for i, q in traces.items() if asked.get(i) != q
    ]
    if len(asked) != THREADS * calls:
        problems.append(f"{len(asked)} traces of {THREADS * calls} calls")
    return problems


def test_every_call_of_many_threads_gets_its_own_trace(docs: str, bouncer: Pooler) -> None:
    assert mixed_up(bouncer.dsn(docs), docs, 40) == []


@pytest.mark.nightly
def test_every_one_of_a_thousand_calls_of_each_thread_gets_its_own_trace(
    docs: str, bouncer: Pooler
) -> None:
    assert mixed_up(bouncer.dsn(docs), docs, 1000) == []


def test_last_trace_id_is_refused_outside_the_transaction_that_recorded(
    docs: str, bouncer: Pooler
) -> None:
    for dsn in (docs, bouncer.dsn(docs)):
        with ragdb.connect(dsn) as db:
            hits = db.retrieve("docs", "refunds")
            with pytest.raises(TraceNotFound, match="recorded no trace"):
                db.last_trace_id()
            with db.connection.transaction():
                again = db.retrieve("docs", "zanzibar")
                assert again == []
                assert db.last_trace_id() == again.trace_id != hits.trace_id


def test_what_a_client_sets_is_not_taken_for_anothers_trace(docs: str) -> None:
    with psycopg.connect(docs, autocommit=True) as db:
        trace = one(db, "select trace_id from ragdb.retrieve('docs', 'refunds') limit 1")
        db.execute("select set_config('ragdb.last_trace_id', %s, false)", (str(trace),))
        with pytest.raises(TraceNotFound):
            db.execute("select ragdb.last_trace_id()")


def test_the_async_client_works(docs: str, bouncer: Pooler) -> None:
    async def ask(number: int) -> tuple[UUID, str]:
        db = await aconnect(bouncer.dsn(docs))
        async with db:
            for _ in range(12):
                hits = await db.retrieve("docs", f"zanzibar {number}", mode="lexical")
            return hits.trace_id, f"zanzibar {number}"

    async def all_of_them() -> list[tuple[UUID, str]]:
        return await asyncio.gather(*(ask(number) for number in range(8)))

    found = asyncio.run(all_of_them())
    with psycopg.connect(docs) as db:
        for trace, question in found:
            asked = one(db, "select query_text from ragdb.get_trace(%s)", trace)
            assert asked == question


def test_a_worker_embeds_and_leaves_no_listener(docs: str, bouncer: Pooler) -> None:
    with psycopg.connect(docs, autocommit=True) as db:
        make_embedder(db)
        db.execute("select ragdb.embed_corpus('docs', 'hash')")
    worker = Worker(bouncer.dsn(docs))
    running = threading.Thread(target=worker.run)
    running.start()
    try:
        with ragdb.connect(bouncer.dsn(docs)) as db:
            for _ in range(200):
                if db.prepare_query("docs", "refunds") and worker.done.embedded == 2:
                    break
                time.sleep(0.05)
            assert db.retrieve("docs", "refunds", mode="semantic")
            # were a worker to listen, the connection that it borrowed would still
            for _ in range(20):
                channels = db.connection.execute("select pg_listening_channels()").fetchall()
                assert channels == []
    finally:
        worker.stop()
        running.join(30)


def test_nothing_that_a_login_becomes_stays_on_the_connection(docs: str, bouncer: Pooler) -> None:
    """`ragdb init` loads the manual as the owner; the next client must be itself."""
    from ragdb.server import manual, migrate

    pooled = bouncer.dsn(docs)
    assert migrate.migrate(pooled, force=True)
    manual.load(pooled)
    with psycopg.connect(pooled, autocommit=True, prepare_threshold=None) as db:
        roles = Counter(one(db, "select current_user::text") for _ in range(20))
    assert set(roles) == {"postgres"}
