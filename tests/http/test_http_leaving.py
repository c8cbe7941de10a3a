"""A client that hangs up is worked for no longer: its backend stops, and nothing of it stays."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection, Server
from tests.http.conftest import Api, served
from tests.waiting import until

Start = Callable[..., Api]


def asked(api: Api, method: str, path: str, body: Any = None, accept: str = "*/*") -> socket.socket:
    """The connection on which something was asked."""
    host, port = api.url.removeprefix("http://").split(":")
    sent = b"" if body is None else json.dumps(body).encode()
    connection = socket.create_connection((host, int(port)), timeout=120)
    connection.sendall(
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {api.tokens['writer']}\r\nX-Correlation-ID: mine\r\n"
        f"Accept: {accept}\r\n"
        f"Content-Length: {len(sent)}\r\n\r\n".encode()
        + sent
    )
    return connection


def waiting(db: Connection) -> bool:
    """Whether a session waits for the lock of this one."""
    row = db.execute(
        "select exists (select from pg_locks where pg_backend_pid() = any (pg_blocking_pids(pid)))"
    ).fetchone()
    return row == (True,)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/search", {"corpora": ["docs"], "query": "refunds"}),
        ("GET", "/api/corpora", None),
        ("POST", "/api/corpora", {"corpus": "new"}),
    ],
)
def test_the_backend_of_a_client_that_hangs_up_stops(
    start: Start, method: str, path: str, body: Any
) -> None:
    api = start("--timeout", "600")
    with psycopg.connect(api.dsn) as db:
        db.execute("lock table ragdb.corpora in access exclusive mode")
        with asked(api, method, path, body):
            until(lambda: waiting(db))
        until(lambda: not waiting(db))
        db.rollback()
        # the next one finds the pool as it was, and nothing of what was to be written
        names = [one["name"] for one in api("GET", "/api/corpora").body["corpora"]]
        assert ("docs" in names, "new" in names) == (True, False)
    lines = api.log(lambda line: '"mine"' in line).splitlines()
    (line,) = (json.loads(line) for line in lines if '"mine"' in line)
    assert line["status"] == 499


@pytest.fixture(scope="module")
def patient(server18: Server, filled: tuple[str, dict[str, str]]) -> Iterator[Api]:
    """A server that waits for the database longer than any test, for those that change nothing."""
    template, tokens = filled
    with (
        server18.database(template) as database,
        served(server18.dsn(database.dbname), tokens, "--timeout", "600") as api,
    ):
        yield api


@pytest.mark.parametrize("table", ["corpora", "retrieval_traces"])
@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_question_that_nobody_waits_for_is_left(patient: Api, table: str, accept: str) -> None:
    with psycopg.connect(patient.dsn) as db:
        db.execute(f"lock table ragdb.{table} in access exclusive mode")
        body = {"corpus": "docs", "question": "How long do refunds take?"}
        with asked(patient, "POST", "/api/ask", body, accept):
            until(lambda: waiting(db))
        until(lambda: not waiting(db))


def test_who_asks_twice_on_one_connection_is_answered_twice(start: Start) -> None:
    api = start()
    host, port = api.url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=120)
    sent = {"Authorization": f"Bearer {api.tokens['reader']}", "Content-Type": "application/json"}
    for method, path, body in (
        ("POST", "/api/search", '{"corpora": ["docs"], "query": "refunds"}'),
        ("GET", "/api/corpora", None),
        ("POST", "/api/search", '{"corpora": ["docs"], "query": "refunds"}'),
    ):
        connection.request(method, path, body, sent)
        used = connection.sock
        answer = connection.getresponse()
        assert (answer.status, bool(answer.read())) == (200, True)
        assert connection.sock is used is not None
    connection.close()
