"""A database that ends connections or takes none is answered for, and asked again at once."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from unittest.mock import Mock

import psycopg
import pytest

from ragdb.http.config import Config
from tests.conftest import Server
from tests.http.conftest import Api, Response
from tests.waiting import until

Start = Callable[..., Api]
SEARCH = {"corpora": ["docs"], "query": "refunds"}


@pytest.mark.by_day(1)
@pytest.mark.parametrize("limit", ["lock_timeout", "transaction_timeout"])
def test_a_limit_of_the_database_is_a_timeout(start: Start, limit: str) -> None:
    api = start()
    with psycopg.connect(api.dsn, autocommit=True) as admin:
        (name,) = admin.execute("select current_database()").fetchone() or ("",)
        admin.execute(f"alter database {name} set {limit} = '500ms'")
        admin.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
    with psycopg.connect(api.dsn, options=f"-c {limit}=0") as other:
        other.execute("lock table ragdb.corpora")
        answer = api("POST", "/api/search", SEARCH)
    assert (answer.status, answer.body["code"]) == (408, "TIMEOUT")
    # a busy machine may not have searched within the limit
    until(lambda: api("POST", "/api/search", SEARCH).status == 200)


@pytest.mark.nightly
def test_a_database_that_is_back_is_asked_at_once(start: Start, server18: Server) -> None:
    """However long it was away: a pool that tries to connect waits twice as long each time."""
    api = start()
    with psycopg.connect(api.dsn) as connection:
        name = connection.info.dbname
    with psycopg.connect(server18.uri, autocommit=True) as admin:
        admin.execute(f"alter database {name} allow_connections false")
        admin.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = %s",
            (name,),
        )
        gone = api("POST", "/api/search", SEARCH)
        assert (gone.status, gone.headers["Retry-After"]) == (503, "1")
        watched = api(
            "GET", "/studio/traces?every=10", Accept="text/html", Cookie="ragdb_session=x"
        )
        assert (watched.status, watched.headers["Refresh"]) == (503, "10")
        time.sleep(8)
        admin.execute(f"alter database {name} allow_connections true")
    began = time.monotonic()
    assert api("POST", "/api/search", SEARCH).status == 200
    assert time.monotonic() - began < 3


def test_a_standby_is_not_left_aside_for_a_primary_that_is_away() -> None:
    from ragdb.http.standbys import Standbys  # here, as every process of a run collects this file
    from ragdb.http.transactions import Transactions

    async def position() -> str:
        raise psycopg.OperationalError("the primary is away")

    config, standby = Config("", anonymous_role="reader"), Mock()
    server = Mock(config=config, standbys=Standbys(config, [standby], position))
    server._as_asker = Mock(side_effect=psycopg.OperationalError("it is away"))
    with pytest.raises(psycopg.OperationalError, match="it is away"):
        asyncio.run(Transactions.read(server, Mock(headers={}), Mock()))
    assert server._as_asker.call_args.args[0] is server.pool
    assert list(server.standbys.ready()) == [standby]


@pytest.mark.parametrize(
    ("state", "said", "again"),
    [
        ("53100", "the disk of the database is full", "1"),
        # what is too large stays too large
        ("53400", "the statement needs more room than temp_file_limit of the database", None),
        ("40001", "another transaction changed the same meanwhile", "1"),
    ],
)
def test_what_hinders_a_write_is_named_and_searches_that_record_nothing_go_on(
    start: Start, state: str, said: str, again: str | None
) -> None:
    api = start()
    with psycopg.connect(api.dsn, autocommit=True) as admin:
        admin.execute(
            "create function disk() returns trigger language plpgsql as"
            f" $$ begin raise sqlstate '{state}'; end $$"
        )
        admin.execute(
            "create trigger is_full before insert on ragdb.retrieval_traces"
            " for each row execute function disk()"
        )
    answer = api("POST", "/api/search", {**SEARCH, "record": True})
    assert (answer.status, answer.body["error"]) == (503, said)
    assert answer.headers["Retry-After"] == again
    assert api("POST", "/api/search", SEARCH).status == 200


@pytest.mark.nightly
def test_a_failure_that_cannot_be_recorded_keeps_nobody_waiting(start: Start) -> None:
    api = start("--timeout", "8")
    with psycopg.connect(api.dsn) as other:
        other.execute("lock table ragdb.corpora")
        began = time.monotonic()
        assert api("POST", "/api/search", {**SEARCH, "record": True}).status == 408
        assert time.monotonic() - began < 14


def test_who_meets_another_writer_waits_and_goes_on(start: Start) -> None:
    """Also where the database gives each transaction one snapshot by default."""
    api = start()
    with psycopg.connect(api.dsn, autocommit=True) as admin:
        (name,) = admin.execute("select current_database()").fetchone() or ("",)
        level = "default_transaction_isolation = 'repeatable read'"
        admin.execute(f"alter database {name} set {level}")
        admin.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
    answers: list[Response] = []
    words = {"words": ["fee", "charge"]}

    def ask() -> None:
        answers.append(api("POST", "/api/corpora/docs/synonyms", words, role="writer"))

    with psycopg.connect(api.dsn) as other:
        other.execute("select ragdb.put_text('docs', 'b.md', 'shipping is free')")
        thread = threading.Thread(target=ask)
        thread.start()
        waits = (
            "select exists (select from pg_locks"
            " where pg_backend_pid() = any (pg_blocking_pids(pid)))"
        )
        until(lambda: answers or other.execute(waits).fetchone() == (True,))
        other.commit()
        thread.join(120)
    (answer,) = answers
    assert answer.status == 200, answer.body
