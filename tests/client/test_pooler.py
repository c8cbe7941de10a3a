"""Behind PgBouncer in transaction mode every door works, and nobody sees another client's state."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from typer.testing import CliRunner

import ragdb
from ragdb.cli.main import app
from ragdb.database import aconnect
from ragdb.errors import NoSigningKey, QuotaExceeded, TraceNotFound
from ragdb.models.worker import Worker
from ragdb.server import signing
from tests.conftest import Server
from tests.embedding import make_embedder, one, put
from tests.pooler import Pooler, pooler
from tests.waiting import until

pytestmark = pytest.mark.long

THREADS = 8


@pytest.fixture(scope="module")
def bouncer(server18: Server) -> Iterator[Pooler]:
    with pooler(server18.folder) as made:
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


@pytest.mark.nightly
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
            until(lambda: db.prepare_query("docs", "refunds") and worker.done.embedded == 2)
            assert db.retrieve("docs", "refunds", mode="semantic")
            # were a worker to listen, the connection that it borrowed would still
            for _ in range(20):
                channels = db.connection.execute("select pg_listening_channels()").fetchall()
                assert channels == []
    finally:
        worker.stop()
        running.join(120)


def test_a_key_from_outside_is_not_sent_to_a_pooler(
    docs: str, bouncer: Pooler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keys"
    keys = signing.create(file, "outside")
    secret = keys.partition(":")[2]
    with ragdb.connect(docs, signing_key=keys) as db:
        db.register_signing_key("outside")
        db.retrieve("docs", "refunds")
    pooled = bouncer.dsn(docs)

    def refused() -> str:
        with pytest.raises(signing.SigningKeyError, match="a pooler answers") as caught:
            ragdb.connect(pooled, signing_key=keys)
        with pytest.raises(signing.SigningKeyError):
            asyncio.run(aconnect(pooled, signing_key=keys))
        return caught.value.hint

    assert "server itself" in refused()
    monkeypatch.setenv(signing.FILE, str(file))
    for command in (["search", "refunds"], ["serve", "--port", "0"], ["mcp"]):
        monkeypatch.setenv("RAGDB_DATABASE_URL", pooled)
        shown = CliRunner().invoke(app, command)
        assert (shown.exit_code, "server itself" in shown.stderr) == (2, True), command
    assert secret not in bouncer.log.read_text()
    monkeypatch.delenv(signing.FILE)
    # without a key one searches, and nothing is recorded unsigned
    with ragdb.connect(pooled) as db:
        assert db.search("docs", "refunds")
        with pytest.raises(NoSigningKey):
            db.retrieve("docs", "refunds")
    # the control: this is what PgBouncer does with it
    options = f"-c ragdb.signing_key={keys}"
    with pytest.raises(psycopg.OperationalError, match="unsupported startup parameter"):
        psycopg.connect(pooled, options=options)
    assert secret in bouncer.log.read_text()


def test_calls_at_once_are_counted_behind_a_pooler(docs: str, bouncer: Pooler) -> None:
    with psycopg.connect(docs, autocommit=True) as db:
        db.execute("select ragdb.set_quota('reader', concurrent_calls => 2)")
    pooled = bouncer.dsn(docs, "reader")
    with ExitStack() as stack:
        one_, two, three = (stack.enter_context(ragdb.connect(pooled)) for _ in range(3))
        for holder in (one_, two):  # each holds a connection of the pooler's three
            holder.connection.autocommit = False
            assert holder.search("docs", "refunds")
        with pytest.raises(QuotaExceeded):
            three.search("docs", "refunds")
        one_.connection.rollback()
        # the slot went with the transaction, whichever connection comes next
        for _ in range(5):
            assert three.search("docs", "refunds")
        with three.connection.transaction():
            assert three.search("docs", "refunds")
            with pytest.raises(QuotaExceeded):
                one_.search("docs", "refunds")
            one_.connection.rollback()
        two.connection.rollback()


def test_two_clients_behind_a_pooler_never_lose_a_call_of_their_quota(
    docs: str, bouncer: Pooler
) -> None:
    with psycopg.connect(docs, autocommit=True) as db:
        db.execute("select ragdb.set_quota('reader', concurrent_calls => 2)")
    pooled = bouncer.dsn(docs, "reader")

    def ask(_: int) -> int:
        with ragdb.connect(pooled) as db:
            return sum(len(db.search("docs", "refunds")) for _ in range(100))

    with ThreadPoolExecutor(2) as clients:
        assert list(clients.map(ask, range(2))) == [100, 100]


@pytest.mark.usefixtures("short_manual")
def test_nothing_that_a_login_becomes_stays_on_the_connection(docs: str, bouncer: Pooler) -> None:
    """`ragdb init` loads the manual as the owner; the next client must be itself."""
    from ragdb.server import manual, migrate

    pooled = bouncer.dsn(docs)
    assert migrate.migrate(pooled, force=True)
    manual.load(pooled)
    with psycopg.connect(pooled, autocommit=True, prepare_threshold=None) as db:
        roles = Counter(one(db, "select current_user::text") for _ in range(20))
    assert set(roles) == {"postgres"}
