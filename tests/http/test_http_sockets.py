"""What a client may do to `ragdb serve` on a bare socket."""

from __future__ import annotations

import contextlib
import json
import re
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ragdb.http.admission import Arrivals
from tests.http.conftest import Api, serve
from tests.http.test_http_routes import PAGE
from tests.waiting import until

Start = Callable[..., Api]
TEXT = b'{"params": {"corpus": "docs"}, "input": {"query": "refunds"}}'


@contextmanager
def connected(api: Api, source: str = "127.0.0.1") -> Iterator[socket.socket]:
    host, port = api.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 120, (source, 0)) as sock:
        yield sock


def head(api: Api, path: str, *lines: str, host: str = "127.0.0.1", role: str = "") -> bytes:
    given = [f"POST {path} HTTP/1.1", f"Host: {host}", *lines]
    if role:
        given.append(f"Authorization: Bearer {api.tokens[role]}")
    return ("\r\n".join(given) + "\r\n\r\n").encode()


def answer(sock: socket.socket) -> tuple[int, Any]:
    """The status of the answer, and its body as JSON where it is that."""
    said = b""
    with contextlib.suppress(TimeoutError):
        while b"\r\n\r\n" not in said or len(said.partition(b"\r\n\r\n")[2]) < length(said):
            block = sock.recv(65536)
            if not block:
                break
            said += block
    if not said:
        return 0, None
    body = said.partition(b"\r\n\r\n")[2]
    with contextlib.suppress(ValueError):
        return int(said.split()[1]), json.loads(body)
    return int(said.split()[1]), body


def length(said: bytes) -> int:
    found = re.search(rb"content-length: (\d+)", said.partition(b"\r\n\r\n")[0].lower())
    return int(found[1]) if found else 0


JSON = "Content-Type: application/json"


def half_bodies(api: Api, stack: ExitStack, count: int, role: str = "") -> list[socket.socket]:
    """So many requests, of whose bodies one byte was sent."""
    sockets = []
    for _ in range(count):
        sock = stack.enter_context(connected(api, "127.0.0.2"))
        sock.sendall(head(api, "/api/slice", JSON, "Content-Length: 1000", role=role) + b"{")
        sockets.append(sock)
    return sockets


@pytest.mark.parametrize("token", [None, "nonsense"])
@pytest.mark.parametrize(
    ("length", "begin"), [("Content-Length: 1000", b"{"), ("Transfer-Encoding: chunked", b"9\r\n{")]
)
def test_who_may_not_ask_is_told_so_before_the_body_is_read(
    api: Api, token: str | None, length: str, begin: bytes
) -> None:
    lines = [JSON, length]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    with connected(api) as sock:
        sock.sendall(head(api, "/api/slice", *lines) + begin)
        status, body = answer(sock)
    assert (status, body and body["code"]) == (401, "UNAUTHORIZED")


@pytest.mark.by_day(1)
@pytest.mark.parametrize("flags", [[], ["--anonymous-role", "reader"]], ids=["tokens", "anonymous"])
def test_half_bodies_of_one_address_leave_room_for_everyone(start: Start, flags: list[str]) -> None:
    api = start(*flags)
    with ExitStack() as stack:
        half_bodies(api, stack, 70)
        time.sleep(0.5)
        for _ in range(5):
            assert api("GET", "/api/policies").status == 200
            assert api("POST", "/capabilities/rag.query@1.0", TEXT).status == 200


@pytest.mark.nightly
def test_half_bodies_of_a_token_are_a_part_of_what_is_served(start: Start) -> None:
    api = start("--max-requests", "40")
    with ExitStack() as stack:
        waiting = half_bodies(api, stack, 30, role="reader")
        while len(waiting) > 10:  # a quarter of the requests may be arriving from one address
            refused, *_ = until(lambda: select.select(waiting, [], [], 1)[0])
            status, body = answer(refused)
            assert (status, body["code"]) == (429, "CAPACITY_EXCEEDED")
            waiting.remove(refused)
        assert select.select(waiting, [], [], 0.3)[0] == []
        assert api("GET", "/api/policies").status == 200


def test_a_burst_of_one_address_is_served_where_its_bodies_come_in_a_moment(start: Start) -> None:
    api = start("--max-requests", "40")
    body = b'{"query": "refunds", "corpora": ["docs"]}'
    lines = (JSON, f"Content-Length: {len(body)}")
    with ExitStack() as stack:
        burst = [stack.enter_context(connected(api)) for _ in range(25)]
        for sock in burst:  # as a client that writes the body behind the head
            sock.sendall(head(api, "/api/count", *lines, role="reader"))
        time.sleep(0.2)
        for sock in burst:
            sock.sendall(body)
        assert {answer(sock)[0] for sock in burst} == {200}


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    "sent",
    [b"GET /live?" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n", b"\x16\x03\x01 no\r\n\r\n"],
    ids=["long", "no-http"],
)
def test_a_head_that_is_none_is_answered_like_any_error(start: Start, sent: bytes) -> None:
    api = start()
    with connected(api) as sock:
        with contextlib.suppress(ConnectionError):  # it is not read to its end
            sock.sendall(sent)
        status, body = answer(sock)
    assert (status, body["code"], body["details"]) == (400, "BAD_REQUEST", None)
    assert body["correlation_id"]
    assert "64 KiB" in body["error"]


def test_an_address_of_a_page_that_is_too_long_is_answered_by_a_page(start: Start) -> None:
    with connected(start()) as sock:
        with contextlib.suppress(ConnectionError):
            sock.sendall(b"GET /studio/search?q=" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n")
        status, page = answer(sock)
    assert (status, page[:15]) == (400, b"<!doctype html>")
    assert b"keep the words that matter" in page


def test_a_head_that_does_not_end_is_left(start: Start, api: Api) -> None:
    hasty = start("--head-timeout", "1")
    with ExitStack() as stack:
        idle, half = (stack.enter_context(connected(hasty)) for _ in range(2))
        half.sendall(b"POST /api/slice HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ")

        def answered() -> socket.socket | None:
            """A connection that has sent its first head in time, as a busy machine may not."""
            sock = stack.enter_context(connected(hasty))
            with contextlib.suppress(ConnectionError):
                sock.sendall(b"GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                if answer(sock)[0] == 200:
                    sock.sendall(b"GET /live HTTP/1.1\r\nHost: 127.0")
                    return sock
            return None

        kept = until(answered)

        def has_ended() -> bool:
            """A byte now and then, closer than the limit, makes it no longer."""
            with contextlib.suppress(OSError):
                half.sendall(b"x")
            return bool(select.select([half], [], [], 0.2)[0])

        until(has_ended)
        for sock in (idle, half, kept):
            with contextlib.suppress(ConnectionError):
                said = sock.recv(1000)
                assert said == b"" or said.startswith(b"HTTP/1.1 408")
    with connected(api) as fine:
        fine.sendall(b"GET /live HTTP/1.1\r\n")
        time.sleep(0.3)
        fine.sendall(b"Host: 127.0.0.1\r\n\r\n")
        assert answer(fine)[0] == 200


def test_a_request_that_says_two_lengths_is_refused(api: Api) -> None:
    lines = [JSON, "Content-Length: 4", "Transfer-Encoding: chunked"]
    for order in (lines, [lines[0], lines[2], lines[1]]):
        with connected(api) as sock:
            text = head(api, "/capabilities/rag.query@1.0", *order, role="reader")
            sock.sendall(text + b"%x\r\n%s\r\n0\r\n\r\n" % (len(TEXT), TEXT))
            status, body = answer(sock)
            assert status == 400
            assert b"200 OK" not in sock.recv(1000)  # and nothing after it is read as a request
        assert "Transfer-Encoding" in body["message"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_a_capability_takes_only_what_is_called_json(api: Api, kind: str | None) -> None:
    lines = [f"Content-Length: {len(TEXT)}"] + ([f"Content-Type: {kind}"] if kind else [])
    with connected(api) as sock:
        sock.sendall(head(api, "/capabilities/rag.query@1.0", *lines, role="reader") + TEXT)
        status, body = answer(sock)
    assert (status, body["error"]) == (400, "bad_request")
    assert "application/json" in body["message"]
    good = api("POST", "/capabilities/rag.query@1.0", TEXT, Content_Type="Application/JSON; a=b")
    assert good.status == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200), ("localhost:1", 200), ("LOCALHOST.", 200), ("[::1]:8000", 200),
        ("10.1.2.3", 200), ("ragdb.example", 200), ("RAGDB.example:443", 200),
        ("evil.example", 400), ("127.0.0.1.evil.example", 400), ("ragdb.example.evil", 400),
        ("", 400), ("[", 400), ("[::1", 400), ("[::1]80", 400), ("localhost:x", 400),
    ],
)  # fmt: skip
def test_a_request_for_another_host_is_refused(named: Api, host: str, status: int) -> None:
    with connected(named) as sock:
        sock.sendall(f"GET /api/policies HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        said, body = answer(sock)
    assert said == status, body
    if status == 400 and host:
        assert "--allow-host" in json.dumps(body)


@pytest.mark.parametrize(
    ("given", "role"),
    [
        (None, "reader"), ("Bearer {}", "writer"), ("bearer {}", "writer"),
        ("BEARER  {}", "writer"), ("Basic {}", None), ("{}", None), ("Bearer", None),
        ("Bearer  ", None), ("Bearer {}x", None),
    ],
)  # fmt: skip
def test_who_gives_what_is_no_token_is_not_served_as_anonymous(
    named: Api, given: str | None, role: str | None
) -> None:
    sent: dict[str, Any] = (
        {} if given is None else {"Authorization": given.format(named.tokens["writer"])}
    )
    for method, path, body in (("GET", "/api/policies", None), ("POST", "/api/count", {})):
        mine = str(uuid4())
        answer = named(method, path, body, role=None, **sent, X_Correlation_Id=mine)
        assert answer.status == (401 if role is None else 200), answer.body
        (line,) = until(lambda mine=mine: [one for one in named.lines if mine in one])  # type: ignore[misc]
        assert json.loads(line)["role"] == role


def test_bodies_on_their_way_are_counted_by_address_and_in_all() -> None:
    arrivals = Arrivals(40)
    # a network of IPv6 is one customer's, and a mapped address is of IPv4
    for n in range(10):
        assert arrivals.take((f"2001:db8:0:7:{n:x}::1", 1))
    assert arrivals.take(("2001:db8:0:7:ffff::1", 1)) is None
    assert arrivals.take(("2001:db8:0:8::1", 1))
    assert arrivals.take(("::ffff:10.0.0.1", 1)) == arrivals.take(("10.0.0.1", 1))
    few = Arrivals(8)
    places = [few.take((f"10.0.0.{n // 4}", 1)) for n in range(9)]
    assert places[7] is not None
    assert places[8] is None  # of all addresses
    few.end("10.0.0.0")
    assert few.take(("10.0.0.2", 1)) is not None


@pytest.fixture(scope="module")
def named(api: Api) -> Iterator[Api]:
    served = serve(
        api.dsn, api.tokens, "--allow-host", "ragdb.example", "--anonymous-role", "reader"
    )
    try:
        yield served
    finally:
        served.process.terminate()
        served.process.wait(120)


def test_the_documented_login_keeps_partitions_and_logs_no_failure(clone: str) -> None:
    (grants,) = re.findall(r"```sql\n(create role ragdb_http.*?)```", PAGE.read_text(), re.S)
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute(grants)
        db.execute("drop table if exists ragdb.retrieval_traces_2031_01")
        before = partitions(db)
        db.execute(
            "do $$ declare t text; begin for t in select format('ragdb.%I', relname) from pg_class"
            " where relname ~ '^[a-z_]+_20\\d\\d_\\d\\d$' and relkind = 'r' loop"
            " execute 'drop table ' || t; end loop; end $$"
        )
        assert partitions(db) == 0
    try:
        served = serve(psycopg.conninfo.make_conninfo(clone, user="ragdb_http"), {})
        with psycopg.connect(clone, autocommit=True) as db:
            until(lambda: partitions(db) == before)  # they are made beside the first requests
        served.process.terminate()
        served.process.wait(120)
        assert "maintain" not in served.log()
    finally:
        with psycopg.connect(clone, autocommit=True) as db:
            db.execute("drop role ragdb_http")


def partitions(db: psycopg.Connection[Any]) -> int:
    ((count,),) = db.execute(
        "select count(*) from pg_class"
        " where relname ~ '^[a-z_]+_20\\d\\d_\\d\\d$' and relkind = 'r'"
    ).fetchall()
    return int(count)
