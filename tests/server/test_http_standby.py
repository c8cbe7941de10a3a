"""`ragdb serve --read-dsn`: a standby answers while it is fresh enough, the primary all else."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from ragdb.errors import InvalidArgument
from tests.conftest import Server
from tests.http.conftest import Api, Response, serve
from tests.server.test_standby import TEXTS, catch_up, running_standby
from tests.waiting import until


class Pair:
    """A primary, its standby, and what is asked of both."""

    def __init__(self, primary: str, standby: str) -> None:
        self.primary, self.standby = primary, standby
        with psycopg.connect(primary, autocommit=True) as db:
            db.execute("select ragdb.create_corpus('docs')")
            for name, text in TEXTS.items():
                db.execute("select ragdb.put_text('docs', %s, %s)", (name, text))
            self.tokens = {
                role: db.execute("select ragdb.create_http_token(%s, %s)", (role, role)).fetchall()[
                    0
                ][0]
                for role in ("reader", "writer", "admin")
            }
        catch_up(primary, standby)

    def ask(self, dsn: str, statement: str, *values: Any) -> Any:
        with psycopg.connect(dsn, autocommit=True) as db:
            return db.execute(statement, values).fetchall()[0][0]

    def put(self, source: str, text: str) -> str:
        """Store a text, and return where the primary stands after the commit."""
        self.ask(self.primary, "select ragdb.put_text('docs', %s, %s)", source, text)
        position: str = self.ask(self.primary, "select ragdb.log_position()")
        return position

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """The standby receives, and does not replay."""
        self.ask(self.standby, "select pg_wal_replay_pause()")
        state = "select pg_get_wal_replay_pause_state()"
        until(lambda: self.ask(self.standby, state) == "paused")
        yield
        self.ask(self.standby, "select pg_wal_replay_resume()")
        catch_up(self.primary, self.standby)

    @contextmanager
    def served(self, lag: str) -> Iterator[Api]:
        api = serve(self.primary, self.tokens, "--read-dsn", self.standby, "--max-lag", lag)
        try:
            yield api
        finally:
            api.process.terminate()
            api.process.wait(120)


@pytest.fixture(scope="module")
def pair(server18: Server) -> Iterator[Pair]:
    with server18.database() as database, running_standby(server18, "reads") as uri:
        yield Pair(server18.dsn(database.dbname), make_conninfo(uri, dbname=database.dbname))


def by(api: Api, path: str, body: Any, **headers: Any) -> tuple[str, Response]:
    """Who answered a request, as the log says, and the answer."""
    name = f"ask-{time.monotonic_ns()}"
    answer = api("POST", path, body, X_Correlation_Id=name, **headers)
    log = api.log(lambda line: name in line)
    (line,) = (line for line in log.splitlines() if name in line)
    return json.loads(line).get("answered_by", "none"), answer


def comes_back(api: Api, asked: dict[str, Any], **headers: Any) -> None:
    """Wait for the standby to answer: the primary sends on what it logs within a second."""
    until(lambda: by(api, "/api/search", asked, **headers)[0] == "standby")


def found(answer: Response) -> list[str]:
    assert answer.status == 200, answer.body
    return [hit["source"] for hit in answer.body["hits"]]


def test_a_standby_searches_and_what_it_cannot_do_the_primary_does(pair: Pair) -> None:
    with pair.served("600") as api:
        asked = {"query": "refund", "corpora": ["docs"]}
        comes_back(api, asked)
        for path in ("/api/count", "/api/facets"):
            more = {"fields": ["source"]} if path == "/api/facets" else {}
            assert by(api, path, asked | more)[0] == "standby"
        recorded = by(api, "/api/search", asked | {"record": True})
        assert recorded[0] == "none"
        assert recorded[1].body["trace_id"]
        assert found(by(api, "/api/search", asked)[1]) == found(recorded[1])
        # who reads here leaves an event: a standby cannot write it
        pair.ask(pair.primary, "select ragdb.record_reads('docs', 'on')::text")
        catch_up(pair.primary, pair.standby)
        events = "select count(*) from ragdb.access_events where kind = 'read'"
        before = pair.ask(pair.primary, events)
        assert by(api, "/api/search", asked)[0] == "primary"
        assert pair.ask(pair.primary, events) > before
        pair.ask(pair.primary, "select ragdb.record_reads('docs', 'off')::text")
        catch_up(pair.primary, pair.standby)


def test_a_writer_reads_what_it_wrote_and_others_what_is_fresh_enough(pair: Pair) -> None:
    asked = {"query": "platypus", "corpora": ["docs"]}
    with pair.served("600") as lax, pair.served("0.2") as strict:
        comes_back(lax, asked)
        with pair.held_back():
            position = pair.put("platypus", "The platypus lays eggs.")
            # as old as it may be, and older than its writer has seen
            where, answer = by(lax, "/api/search", asked)
            assert (where, found(answer)) == ("standby", [])
            where, answer = by(lax, "/api/search", asked, X_Ragdb_Position=position)
            assert (where, found(answer)) == ("primary", ["platypus"])
            made = lax("POST", "/api/corpora", {"corpus": "fresh"}, role="admin")
            assert made.status == 201
            own = {"X_Ragdb_Position": made.headers["X-Ragdb-Position"]}
            where, answer = by(lax, "/api/count", {"corpora": ["fresh"]}, **own)
            assert (where, answer.body["chunks"]) == ("primary", 0)
            time.sleep(0.25)
            where, answer = by(strict, "/api/search", asked)
            assert (where, found(answer)) == ("primary", ["platypus"])
        comes_back(lax, asked, **own)
        comes_back(strict, asked)
        assert by(lax, "/api/search", asked, X_Ragdb_Position="last week")[1].status == 400


def test_a_position_of_another_system_or_timeline_is_never_reached(pair: Pair) -> None:
    system, timeline, at = pair.ask(pair.primary, "select ragdb.log_position()").split("/", 2)
    reached = "select ragdb.has_reached(%s)"
    assert pair.ask(pair.standby, reached, f"{system}/{timeline}/0/1") is True
    assert pair.ask(pair.standby, reached, f"{int(system) + 1}/{timeline}/0/1") is False
    assert pair.ask(pair.standby, reached, f"{system}/{int(timeline) + 1}/0/1") is False
    assert pair.ask(pair.standby, reached, f"{system}/{timeline}/FFFFFF/0") is False
    for wrong in (None, "", "1/2", f"{system}/{timeline}/{at}/", f"{system}/-1/{at}"):
        with pytest.raises(InvalidArgument):
            pair.ask(pair.standby, reached, wrong)


def test_what_is_not_a_standby_is_refused(pair: Pair, server18: Server) -> None:
    for dsn, reason in (
        (make_conninfo(pair.standby, dbname="postgres"), "database postgres"),
        (f"{pair.primary} x", "missing"),
    ):
        with pytest.raises(AssertionError) as caught:
            serve(pair.primary, {}, "--read-dsn", dsn)
        assert reason in str(caught.value)


def test_a_promoted_standby_is_asked_no_more(pair: Pair) -> None:
    """It has a history of its own from then on."""
    asked = {"query": "refund", "corpora": ["docs"]}
    with pair.served("inf") as api:
        assert by(api, "/api/search", asked)[0] == "standby"
        pair.ask(pair.standby, "select pg_promote(true, 600)")
        pair.ask(pair.standby, "select ragdb.drop_corpus('docs')::text")
        where, answer = by(api, "/api/search", asked)
        assert where == "primary"
        assert found(answer)
        pair.ask(pair.standby, "select pg_terminate_backend(pid) from pg_stat_activity"
                 " where pid <> pg_backend_pid() and application_name like '%%serve'")  # fmt: skip
        assert found(by(api, "/api/search", asked)[1]) == found(answer)
