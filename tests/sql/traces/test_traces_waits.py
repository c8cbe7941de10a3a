"""What takes rows of logs away waits for their readers and writers, and holds up nobody."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from tests.conftest import Connection
from tests.embedding import make_corpus, one
from tests.waiting import until

SEARCH = "select count(*) from ragdb.retrieve('docs', 'red', mode => 'lexical')"
WAITS = [
    # who reads traces, as a dashboard and pg_dump do
    ("drop_traces_before('2021-01-01')", "select from bi.retrieval_traces"),
    # who reads what hangs from traces alone
    ("drop_traces_before('2021-01-01')", "select from ragdb.retrieval_hits limit 1"),
    # who has searched, and goes on
    ("drop_traces_before('2021-01-01')", SEARCH),
    ("erase_traces('gone')", SEARCH),
    ("erase_caller('reader')", SEARCH),
    ("drop_access_events_before('2020-01-01')", SEARCH),
]


@contextmanager
def calling(dsn: str, call: str, settings: str = "") -> Iterator[list[str]]:
    """A call of another session; when it has ended, the list has what came of it."""
    came: list[str] = []

    def run() -> None:
        with psycopg.connect(dsn, application_name="waits", options=settings) as db:
            try:
                db.execute(f"select * from ragdb.{call}".encode()).fetchall()
                came.append("done")
            except psycopg.Error as error:
                came.append(str(error.sqlstate))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield came
    except BaseException:
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where application_name = 'waits'"
            )
        raise
    finally:
        thread.join()


def held(db: Connection) -> bool:
    """Whether the call waits: for a lock, or to try again."""
    return bool(
        one(
            db,
            "select exists (select from pg_stat_activity"
            " where application_name = 'waits' and wait_event_type in ('Lock', 'Timeout'))",
        )
    )


def fill(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('gone')")
    db.commit()
    db.execute("select set_config('ragdb.now', '2020-04-01 00:00:00+00', true)")
    db.execute("select ragdb.record_failure('gone', 'q', '57014', 3)")
    db.execute("select ragdb.grant_corpus('gone', 'reader', 'read')")
    db.commit()
    db.execute("select ragdb.maintain()")
    db.execute("select ragdb.drop_corpus('gone')")
    make_corpus(db, {"a": "red apple"})
    db.execute("select ragdb.record_reads('docs', 'on')")


@pytest.fixture
def kept(copied: str) -> Iterator[Connection]:
    with psycopg.connect(copied, autocommit=True) as db:
        yield db


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("call", "held_by"), WAITS)
def test_what_waits_for_a_transaction_holds_up_no_other(
    copied: str, kept: Connection, call: str, held_by: str
) -> None:
    kept.execute("set lock_timeout = '2s'")
    with psycopg.connect(copied) as holder:
        holder.execute(held_by.encode())
        with calling(copied, call) as came:
            until(lambda: came or held(kept))
            for _ in range(3):
                assert one(kept, SEARCH) == 1
            assert came == []
            holder.rollback()
        assert came == ["done"]


def test_who_waits_to_erase_traces_holds_up_no_erasure_of_a_text(
    copied: str, kept: Connection
) -> None:
    """An erasure takes kept words away, and one in the session waited for would deadlock."""
    kept.execute("set session_replication_role = replica")
    kept.execute("insert into ragdb.static_words values (1, 'red', '[1]')")
    with psycopg.connect(copied) as holder:
        holder.execute(SEARCH.encode())
        with calling(copied, "erase_traces('gone')") as came:
            until(lambda: came or held(kept))
            holder.execute("set lock_timeout = '2s'")
            assert one(holder, "select count(*) from (select from ragdb.static_words for update) w")
            holder.rollback()
        assert came == ["done"]


@pytest.mark.parametrize(
    ("call", "gone"),
    [
        ("erase_traces('gone')", "ragdb.retrieval_traces where corpus = 'gone'"),
        ("drop_access_events_before('2021-01-01')", "ragdb.access_events where corpus = 'gone'"),
    ],
)
def test_what_took_rows_away_and_stays_open_holds_up_no_other(
    copied: str, kept: Connection, call: str, gone: str
) -> None:
    kept.execute("set lock_timeout = '2s'")
    count = f"select count(*) from {gone}"
    assert one(kept, count) == 1
    with psycopg.connect(copied) as holder:
        holder.execute(f"select * from ragdb.{call}".encode())
        trace = one(kept, SEARCH.replace("count(*)", "distinct trace_id"))
        kept.execute("select ragdb.record_feedback('good', trace_id => %s)", (trace,))
        kept.execute("select ragdb.grant_corpus('docs', 'reader', 'read')")
        assert one(kept, count) == 1
        holder.commit()
    assert one(kept, count) == 0
    assert one(kept, "select count(*) from ragdb.list_traces('docs')") == 1


def test_months_are_counted_before_anybody_is_held_up(copied: str, kept: Connection) -> None:
    """What may take long comes first, and then the lock that dropping a month needs."""
    kept.execute("set lock_timeout = '2s'")
    assert one(kept, SEARCH) == 1
    with psycopg.connect(copied) as slow:
        # who counts traces waits for this
        slow.execute("lock table ragdb.retrieval_rollups in exclusive mode")
        with calling(copied, "drop_traces_before('2021-01-01')") as came:
            until(lambda: came or held(kept))
            assert one(kept, SEARCH) == 1
            assert len(kept.execute("select from ragdb.list_traces('docs')").fetchall()) == 2
            assert came == []
            slow.rollback()
        assert came == ["done"]
    assert one(kept, "select count(*) from ragdb.retrieval_traces where corpus = 'gone'") == 0


def test_upkeep_that_waits_for_a_reader_holds_up_no_other(copied: str, kept: Connection) -> None:
    kept.execute("set lock_timeout = '2s'")
    with psycopg.connect(copied) as holder:
        holder.execute("select from bi.retrieval_traces")
        with calling(copied, "maintain()", "-c ragdb.now=2199-05-06") as came:
            until(lambda: came or held(kept))

            def meanwhile() -> list[str]:
                kept.execute("select from ragdb.list_traces('docs')")
                return came

            until(meanwhile)
        assert came == ["done"]


def test_the_lock_timeout_of_the_session_limits_all_tries(copied: str, kept: Connection) -> None:
    with psycopg.connect(copied) as holder:
        holder.execute(SEARCH.encode())
        with calling(copied, "erase_traces('gone')", "-c lock_timeout=700ms") as came:
            until(lambda: came)
        assert came == ["55P03"]
    assert one(kept, "select count(*) from ragdb.retrieval_traces where corpus = 'gone'") == 1


def test_a_deadlock_is_found_while_it_waits(copied: str, kept: Connection) -> None:
    with psycopg.connect(copied) as holder:
        holder.execute(SEARCH.encode())
        with calling(copied, "drop_traces_before('2021-01-01')") as came:
            until(lambda: came or held(kept))
            try:
                # which the call holds
                holder.execute("select ragdb.refresh_rollups(true)")
                ended = "done"
            except psycopg.errors.DeadlockDetected as error:
                ended = str(error.sqlstate)
            holder.rollback()
    assert sorted([ended, *came]) == ["40P01", "done"]


@pytest.mark.parametrize(
    "call",
    ["create_corpus('new')", "import_corpus(ragdb.export_corpus('docs'), 'new')"],
)
def test_a_new_corpus_whose_transaction_stays_open_holds_up_no_trace(
    copied: str, kept: Connection, call: str
) -> None:
    kept.execute("set lock_timeout = '2s'")
    with psycopg.connect(copied) as maker:
        maker.execute("select set_config('ragdb.now', (now() + interval '35 days')::text, true)")
        maker.execute(f"select ragdb.{call}".encode())
        trace = one(kept, SEARCH.replace("count(*)", "distinct trace_id"))
        kept.execute("select ragdb.record_feedback('good', trace_id => %s)", (trace,))
        assert len(kept.execute("select from ragdb.list_traces('docs')").fetchall()) == 1
        maker.rollback()


def test_a_new_corpus_of_a_database_that_nobody_maintains_makes_the_partition_of_the_month(
    copied: str, kept: Connection
) -> None:
    made = "select to_regclass('ragdb.retrieval_traces_2199_05') is not null"
    kept.execute("select set_config('ragdb.now', '2199-05-06 00:00:00+00', false)")
    assert not one(kept, made)
    kept.execute("select ragdb.create_corpus('new')")
    assert one(kept, made)
