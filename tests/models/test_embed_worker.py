"""Workers: a kill loses nothing, an outage is made up afterwards, no chunk is embedded twice."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb import Database, errors
from ragdb.client._generated.functions import Functions
from ragdb.ingest import blob
from ragdb.models import embedders, encoders, local, worker
from ragdb.models.worker import Worker
from tests.embedding import WIDTH, make_corpus, make_embedder, one, put, status
from tests.forked import PROCESSES
from tests.waiting import until

LEASE = 60  # seconds, for which no machine holds up a heart


INGEST = """
    select ragdb.rag_ingest(jsonb_build_object('params', '{"corpus": "docs"}'::jsonb, 'input',
      jsonb_build_object('doc_cid',
        ragdb.put_blob(convert_to(%s, 'UTF8'), 'text/plain', 'docs'))))"""


def slow_worker(dsn: str, log: Path, errors: Path) -> None:
    class Slow(encoders.HashEncoder):
        def encode(self, texts: Sequence[str]) -> Any:
            with log.open("a") as file:
                file.write("".join(f"{text}\n" for text in texts))
            time.sleep(0.3)
            return super().encode(texts)

    sys.stderr = errors.open("a")
    embedders._load = lambda *_: Slow(WIDTH)  # type: ignore[assignment]
    Worker(dsn, batch=40, lease=LEASE).run(until="empty")
    sys.stderr.close()


def corpus_of(dsn: str, count: int) -> psycopg.Connection[Any]:
    db = psycopg.connect(dsn, autocommit=True)
    make_corpus(db, {})
    put(db, {str(n): f"text number {n}" for n in range(count)})
    return db


def test_a_worker_empties_the_queue(clone: str) -> None:
    with corpus_of(clone, 50) as db:
        done = Worker(clone, batch=7).run(until="empty")
        assert (done.embedded, done.failed) == (50, 0)
        assert status(db, "coverage") == 1


def test_a_worker_with_nothing_to_do_opens_no_vectors(clone: str) -> None:
    with corpus_of(clone, 3) as db:
        assert Worker(clone).run(until="idle").embedded == 3
        hurried = psycopg.conninfo.make_conninfo(clone, options="-c lock_timeout=1000")
        with db.transaction():
            db.execute("lock table ragdb.chunk_embeddings in access exclusive mode")
            assert Worker(hurried).run(until="idle").embedded == 0


def test_a_writer_that_stays_open_stops_no_other_corpus(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "BUSY", 0.2)
    with corpus_of(clone, 2) as db, psycopg.connect(clone) as writer:
        db.execute(INGEST, ("a text that waits to be read",))
        # one claim queues all, so that they are claimed while the corpus is written
        db.execute("select ragdb.claim_embeddings('gone', 1, '1 s')")
        db.execute("select ragdb.create_corpus('other')")
        db.execute("select ragdb.embed_corpus('other', 'hash')")
        put(db, {"b": "another corpus"}, "other")
        put(writer, {"c": "it stays open"})
        done = Worker(clone).run(until="idle")
        assert status(db, "coverage", "other") == 1
        assert (done.embedded, done.read) == (1, 0)
        busy = "another session has been writing the corpus"
        assert list(done.errors) == [busy]
        # the blob is given back, and is soon tried again
        left = db.execute(
            "select message, attempt, failures, worker, due_at < clock_timestamp() + interval '8 s'"
            " from ragdb.ingest_jobs"
        ).fetchall()
        assert left == [(busy, 0, 0, None, True)]
        writer.commit()
        db.execute("update ragdb.ingest_jobs set due_at = clock_timestamp()")
        done = Worker(clone).run(until="empty")
        assert (done.failed, done.read) == (0, 1)
        assert status(db, "coverage") == 1


def test_a_worker_waits_once_for_a_writer_that_stays_open_and_not_for_each_blob(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "BUSY", 0.2)
    with corpus_of(clone, 0) as db, psycopg.connect(clone) as writer:
        for text in ("Alpha", "Beta", "Gamma"):
            db.execute(INGEST, (text,))
        put(writer, {"c": "it stays open"})
        done = Worker(clone).run(until="idle")
        assert (done.read, done.failed) == (0, 1)
        writer.commit()
        db.execute("update ragdb.ingest_jobs set due_at = clock_timestamp()")
        assert Worker(clone).run(until="idle").read == 3


def test_a_worker_comes_back_to_a_corpus_that_was_written_for_long(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "BUSY", 0.2)
    monkeypatch.setattr(worker, "LEFT", 0.5)
    with corpus_of(clone, 0) as db, psycopg.connect(clone) as writer:
        db.execute(INGEST, ("Alpha",))
        put(writer, {"c": "it stays open"})
        at_work = Worker(clone)
        thread = threading.Thread(target=at_work.run, kwargs={"poll": 0.1})
        thread.start()
        try:
            until(lambda: at_work.done.failed)
            writer.commit()
            until(lambda: at_work.done.read == 1)
        finally:
            at_work.stop()
            thread.join()


def test_a_waiting_worker_is_woken_by_new_chunks_and_answers_queries(clone: str) -> None:
    with corpus_of(clone, 1) as db:
        at_work = Worker(clone)
        thread = threading.Thread(target=at_work.run, kwargs={"poll": 60})
        thread.start()
        try:
            Database(db).embed_query("what is new", timeout_s=120.0)
            put(db, {"new": "something new"})
            until(lambda: status(db, "coverage") == 1)
            assert one(db, "select mode from ragdb.search('docs', 'what is new', 1)") == "hybrid"
        finally:
            at_work.stop()
            put(db, {"bell": "wake up"})
            thread.join()


@pytest.mark.by_day(1)
@pytest.mark.parametrize("parameters", [(), ("x",)], ids=["simple", "extended"])
def test_embed_query_refuses_a_transaction_block(any_clone: str, parameters: Any) -> None:
    """In both protocols: a statement with parameters is parsed and run at different times."""
    query = "%s" if parameters else "'x'"
    call = f"call ragdb.embed_query({query}, timeout_s => 0.05)".encode()
    with corpus_of(any_clone, 1) as db:
        for _ in range(7):  # prepared from the sixth on
            with pytest.raises(errors.InTransaction), db.transaction():
                db.execute(call, parameters)
            with pytest.raises(errors.NoAnswer) as caught:
                db.execute(call, parameters)
            assert "ragdb worker" in str(caught.value.diag.message_hint)


@pytest.mark.nightly
def test_workers_killed_at_any_time_lose_nothing(clone: str, tmp_path: Path) -> None:
    """Two workers; one of them is killed, and another started, ten times."""
    log, said = tmp_path / "log", tmp_path / "said"

    def start() -> ForkServerProcess:
        process = PROCESSES.Process(target=slow_worker, args=(clone, log, said))
        process.start()
        return process

    gone: list[str] = []

    def have_ended() -> bool:
        # the leases of the killed lapse, also of what a server claims for one after its end
        db.execute(
            "update ragdb.embedding_jobs set due_at = clock_timestamp()"
            " where split_part(worker, ':', -2) = any (%s)",
            (gone,),
        )
        return not (steady.is_alive() or killed.is_alive())

    with corpus_of(clone, 2000) as db:
        steady, killed = start(), start()
        for n in range(10):
            time.sleep(0.4 + 0.05 * n)
            killed.kill()
            killed.join()
            gone.append(str(killed.pid))
            killed = start()
        until(have_ended, 200)
        for process in (steady, killed):
            assert (process.exitcode, said.read_text()) == (0, "")
        assert status(db, "array[coverage, backlog, dead]") == [1, 0, 0]
        assert status(db, "last_error") is None
        assert one(db, "select count(*) from ragdb.embedding_jobs") == 0
    # only what a killed worker had in hand, one claim a kill, was computed again; nothing where a
    # slow machine had not let it begin
    computed = log.read_text().splitlines()
    assert len(set(computed)) == 2000
    assert len(computed) - 2000 <= 10 * 40


class Hasty(threading.Event):
    """Has a heart beat many times in a lease, so that one which a machine holds up still does."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(None if timeout is None else min(timeout, 0.1))


def test_two_living_workers_embed_nothing_twice(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    class Slow(encoders.HashEncoder):
        def encode(self, texts: Sequence[str]) -> Any:
            seen.extend(texts)
            # longer than the lease of the claim
            with psycopg.connect(clone, autocommit=True) as other:
                claimed = one(other, "select clock_timestamp() + %s * interval '1 s'", LEASE)
                kept = "select min(due_at) > %s from ragdb.embedding_jobs where worker = %s"
                name = threading.current_thread().name
                until(lambda: one(other, kept, claimed, name))
            return super().encode(texts)

    monkeypatch.setattr(embedders, "_load", lambda *_: Slow(WIDTH))
    with corpus_of(clone, 40) as db:
        workers = [Worker(clone, batch=20, lease=LEASE) for _ in range(2)]
        for worker in workers:
            worker._stop = Hasty()
        threads = [
            threading.Thread(target=w.run, kwargs={"until": "empty"}, name=w.name) for w in workers
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(seen) == sorted(set(seen))
        assert sum(worker.done.embedded for worker in workers) == 40
        assert status(db, "coverage") == 1


@pytest.mark.parametrize("lost_by", ["an outage", "an upgrade"])
def test_a_worker_keeps_what_it_claimed_when_the_connection_that_keeps_it_is_lost(
    clone: str, monkeypatch: pytest.MonkeyPatch, lost_by: str
) -> None:
    with corpus_of(clone, 10) as db, psycopg.connect(clone, autocommit=True) as other:

        def keeping() -> set[int]:
            return {
                pid
                for (pid,) in other.execute(
                    "select pid from pg_stat_activity"
                    " where datname = current_database() and query like '%renew_embeddings%'"
                    " and pid <> pg_backend_pid()"
                )
            }

        class Slow(encoders.HashEncoder):
            def encode(self, texts: Sequence[str]) -> Any:
                until(keeping)
                lost = keeping()
                if lost_by == "an outage":
                    for pid in lost:
                        other.execute("select pg_terminate_backend(%s, 5000)", (pid,))
                else:  # replaces the function
                    other.execute("alter function ragdb.renew_embeddings rename to gone")
                    until(lambda: not keeping())
                    other.execute("alter function ragdb.gone rename to renew_embeddings")
                until(lambda: keeping() - lost)
                return super().encode(texts)

        monkeypatch.setattr(embedders, "_load", lambda *_: Slow(WIDTH))
        assert Worker(clone, lease=1).run(until="empty").embedded == 10
        assert status(db, "coverage") == 1


def test_an_outage_shows_and_then_drains(clone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    down = True

    class Flaky(encoders.HashEncoder):
        def encode(self, texts: Sequence[str]) -> Any:
            if down:
                raise encoders.ProviderDown("the endpoint does not answer: HTTP 503")
            return super().encode(texts)

    monkeypatch.setattr(embedders, "_load", lambda *_: Flaky(WIDTH))
    with corpus_of(clone, 30) as db:
        done = Worker(clone).run(until="idle")
        assert done.failed == 30
        assert status(db, "array[backlog, dead]") == [30, 0]
        assert status(db, "last_error") == "the endpoint does not answer: HTTP 503"
        down = False
        db.execute("update ragdb.embedding_jobs set due_at = clock_timestamp()")
        assert Worker(clone).run(until="empty").embedded == 30
        assert status(db, "last_error") is None


def test_a_provider_that_stays_away_is_given_up_and_nothing_is_lost(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    class Down(encoders.HashEncoder):
        def encode(self, texts: Sequence[str]) -> Any:
            asked.append(len(texts))
            raise encoders.ProviderDown("the endpoint does not answer: HTTP 503")

    monkeypatch.setattr(embedders, "_load", lambda *_: Down(WIDTH))
    monkeypatch.setattr(worker, "TRIES", 2)
    now, failed = 0.0, 0
    monkeypatch.setattr(worker, "time", SimpleNamespace(monotonic=lambda: now))

    def go_on(done: worker.Done) -> None:
        """The time of a rest is over once a look has found that there is nothing to do."""
        nonlocal now, failed
        if done.failed == failed:
            now += worker.REST
            db.execute("update ragdb.embedding_jobs set due_at = clock_timestamp()")
        failed = done.failed

    with corpus_of(clone, 30) as db:
        for _ in range(2):
            failed = 0
            done = Worker(clone, batch=20, progress=go_on).run(until="empty", poll=0.01)
            assert done.embedded == 0
        # one batch at a time, and no input the worse
        assert asked == 2 * worker.TRIES * [20]
        assert status(db, "array[backlog, dead]") == [30, 0]
        monkeypatch.undo()
        assert Worker(clone).run(until="empty").embedded == 30


def test_a_model_that_is_not_there_ends_a_run_at_once_but_no_other_corpus(clone: str) -> None:
    with corpus_of(clone, 30) as db:
        db.execute("select ragdb.create_corpus('lost')")
        db.execute("select ragdb.create_embedder('lost-model', 384)")
        db.execute("select ragdb.bind_embedder('lost-model', 'hash', 'hash-v0')")
        db.execute("select ragdb.embed_corpus('lost', 'lost-model')")
        put(db, {str(n): f"lost number {n}" for n in range(30)}, corpus="lost")
        done = Worker(clone, batch=10).run(until="empty")
        assert done.embedded == 30
        # asked once and not again
        assert done.errors == {"the hashing embedder is hash-v1, not 'hash-v0'": 10}


def test_one_bad_input_does_not_stop_the_others(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Picky(encoders.HashEncoder):
        def encode(self, texts: Sequence[str]) -> Any:
            if any("number 3" in text for text in texts):
                raise encoders.InputRefused("the endpoint refuses the input: HTTP 400")
            vectors = super().encode(texts)
            vectors[[text.endswith("number 4") for text in texts]] = float("nan")
            return vectors

    monkeypatch.setattr(embedders, "_load", lambda *_: Picky(WIDTH))
    with corpus_of(clone, 8) as db:
        done = Worker(clone).run(until="idle")
        assert (done.embedded, done.failed) == (6, 2)
        rows = db.execute("select last_error from ragdb.list_failed_embeddings('docs')").fetchall()
        assert sorted(error for (error,) in rows) == [
            "the embedding is not finite",
            "the endpoint refuses the input: HTTP 400",
        ]


def test_one_bad_input_costs_few_calls(clone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Picky(encoders.HashEncoder):
        def encode(self, texts: Sequence[str]) -> Any:
            asked.append(len(texts))
            if any(text.endswith("number 37") for text in texts):
                raise encoders.InputRefused("the endpoint refuses the input: HTTP 400")
            return super().encode(texts)

    monkeypatch.setattr(embedders, "_load", lambda *_: Picky(WIDTH))
    with corpus_of(clone, 64):
        done = Worker(clone).run(until="idle")
    assert (done.embedded, done.failed) == (63, 1)
    assert asked[0] == 64
    assert len(asked) == 1 + 2 * 6  # both halves of each batch with the bad input


def use(monkeypatch: pytest.MonkeyPatch, model: object, *, max_tokens: int) -> None:
    """Have workers embed by a local model, which is not loaded."""
    encoder = object.__new__(local.LocalEncoder)
    vars(encoder).update(model=model, dims=WIDTH, max_tokens=max_tokens)
    monkeypatch.setattr(embedders, "_load", lambda *_: encoder)


def test_an_unforeseen_exception_of_a_local_model_is_the_failure_of_its_input_alone(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stumbling:
        def encode(self, texts: Sequence[str], **_: Any) -> Any:
            if any("number 3" in text for text in texts):
                raise ZeroDivisionError
            return encoders.HashEncoder(WIDTH).encode(texts)

    use(monkeypatch, Stumbling(), max_tokens=256)
    with corpus_of(clone, 5) as db:
        done = Worker(clone).run(until="idle")
        assert (done.embedded, done.failed) == (4, 1)
        rows = db.execute("select last_error from ragdb.list_failed_embeddings('docs')").fetchall()
        assert rows == [("the model fails on the input (ZeroDivisionError)",)]


def test_a_local_model_that_fails_on_every_text_leaves_its_jobs_as_they_are(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def encode(self, texts: Sequence[str], **_: Any) -> Any:
            raise MemoryError

    use(monkeypatch, Broken(), max_tokens=256)
    with corpus_of(clone, 5) as db:
        # more often than an input that is to blame is tried
        for _ in range(6):
            db.execute("update ragdb.embedding_jobs set due_at = clock_timestamp()")
            done = Worker(clone).run(until="idle")
            assert done.errors == {"the model fails on every text (MemoryError)": 5}
        assert status(db, "array[backlog, dead]") == [5, 0]


def test_a_text_whose_length_the_tokenizer_cannot_tell_is_embedded(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Untold:
        def encode(self, texts: Sequence[str], **_: Any) -> Any:
            return encoders.HashEncoder(WIDTH).encode(texts)

        def tokenizer(self, *_: Any, **__: Any) -> Any:
            raise ZeroDivisionError

    use(monkeypatch, Untold(), max_tokens=4)
    with corpus_of(clone, 5):
        done = Worker(clone).run(until="empty")
        assert (done.embedded, done.failed, done.cut) == (5, 0, 0)


def test_a_worker_of_one_corpus_leaves_texts_of_none_to_others(clone: str) -> None:
    with corpus_of(clone, 3) as db:
        asked = {"params": {"model": "hash"}, "input": {"texts": ["x"]}}
        db.execute("select ragdb.embed_text(%s)", (Jsonb(asked),))
        done = Worker(clone, corpus="docs").run(until="idle")
        assert (done.embedded, done.queries) == (3, 0)
        assert Worker(clone).run(until="idle").queries == 1


def test_an_embedder_that_is_not_known_any_more_ends_no_worker(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with corpus_of(clone, 5) as db:
        # what was dropped between the claim and the look
        monkeypatch.setattr(embedders, "embedders", lambda *_: {})
        done = Worker(clone).run(until="idle")
        assert done.errors == {"no embedder 'hash' is known any more": 5}
        assert status(db, "array[backlog, dead]") == [5, 0]


def test_an_unforeseen_exception_of_a_reader_is_the_failure_of_its_blob_alone(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = blob.read

    def stumble(db: Any, job: Any) -> Any:
        if job.bytes == b"Beta":
            raise KeyError("missing")
        return read(db, job)

    monkeypatch.setattr(blob, "read", stumble)
    with corpus_of(clone, 0) as db:
        for text in ("Alpha", "Beta", "Gamma"):
            db.execute(INGEST, (text,))
        done = Worker(clone).run(until="idle")
        assert (done.read, done.errors) == (2, {"KeyError: 'missing'": 1})
        # it is tried again
        left = db.execute("select failures, failed_at from ragdb.ingest_jobs").fetchall()
        assert left == [(1, None)]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (psycopg.errors.UntranslatableCharacter, "unsupported Unicode escape sequence"),
        (psycopg.errors.ProgramLimitExceeded, "string is too long for tsvector"),
    ],
)
def test_a_document_that_postgresql_cannot_hold_ends_no_worker(
    clone: str, monkeypatch: pytest.MonkeyPatch, error: type[psycopg.Error], said: str
) -> None:
    def refused(*_: Any) -> None:
        raise error(said)

    monkeypatch.setattr(Functions, "complete_ingest_job", refused)
    with corpus_of(clone, 0) as db:
        db.execute(INGEST, ("Alpha",))
        assert Worker(clone).run(until="idle").errors == {said: 1}
        left = db.execute("select error, message from ragdb.ingest_jobs").fetchall()
        assert left == [("bad_request", said)]


def test_what_another_worker_has_done_meanwhile_is_nobodys_failure(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the lease ran out because a machine stood still."""
    plain = blob.read

    def late(session: Any, job: Any) -> Any:
        db.execute("delete from ragdb.ingest_jobs")
        return plain(session, job)

    class Late(encoders.HashEncoder):
        def encode(self, texts: Sequence[str]) -> Any:
            db.execute("delete from ragdb.embed_jobs")
            return super().encode(texts)

    monkeypatch.setattr(blob, "read", late)
    monkeypatch.setattr(embedders, "_load", lambda *_: Late(WIDTH))
    with corpus_of(clone, 0) as db:
        db.execute(INGEST, ("Alpha",))
        asked = {"params": {"model": "hash"}, "input": {"texts": ["x"]}}
        db.execute("select ragdb.embed_text(%s)", (Jsonb(asked),))
        done = Worker(clone).run(until="idle")
        assert (done.read, done.queries, done.failed) == (0, 0, 0)


def meanwhile(monkeypatch: pytest.MonkeyPatch, dsn: str, *statements: str) -> None:
    """Have an administrator do something while the model is at work."""
    left = list(statements)

    class Slow(encoders.HashEncoder):
        def encode(self, texts: Sequence[str]) -> Any:
            with psycopg.connect(dsn, autocommit=True) as admin:
                while left:
                    admin.execute(left.pop(0))
            return super().encode(texts)

    monkeypatch.setattr(embedders, "_load", lambda *_: Slow(WIDTH))


def test_a_query_that_was_asked_before_a_change_of_model_answers_no_search_by_the_new_one(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with corpus_of(clone, 1) as db:
        make_embedder(db, "new")
        db.execute("select ragdb.request_query_embedding('docs', 'what is new')")
        db.execute("select ragdb.reembed_corpus('docs', 'new')")
        meanwhile(monkeypatch, clone, "select ragdb.cutover_corpus('docs', 'new', force => true)")
        Worker(clone).run(until="idle")
        kept = "select ragdb.query_embedding_state('docs', 'what is new')::text"
        assert one(db, kept) == "(f,)"
        assert db.execute("select * from ragdb.claim_queries('w')").fetchall() == []
        db.execute("select ragdb.rollback_corpus('docs')")
        assert one(db, kept) == "(t,)"


def test_a_corpus_that_goes_while_its_texts_are_embedded_ends_no_worker(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with corpus_of(clone, 1) as db:
        db.execute("select ragdb.request_query_embedding('docs', 'what is new')")
        meanwhile(monkeypatch, clone, "select ragdb.drop_corpus('docs')")
        Worker(clone).run(until="idle")
        make_corpus(db, {"a": "alpha"}, "next")
        meanwhile(monkeypatch, clone, "select ragdb.drop_corpus('next')")
        assert Worker(clone).run(until="idle").embedded == 0
        make_corpus(db, {"a": "alpha"}, "last")
        assert Worker(clone).run(until="idle").embedded == 1
