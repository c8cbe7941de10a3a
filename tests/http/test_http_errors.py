"""Each error code of the HTTP server is raised once and has the common body."""

from __future__ import annotations

import asyncio
import gc
import gzip
import http.client
import json
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

from ragdb.cli.main import app
from ragdb.http.config import Config
from tests.embedding import one
from tests.forked import run_forked
from tests.http.conftest import ANCHOR, SECRET, Api, Response
from tests.http.test_http_routes import SEARCH, wait_for_lock
from tests.sql.conversations import uuid
from tests.waiting import until

Start = Callable[..., Api]
VERIFY = {
    "admissibility_token": "x",
    "slice_id": "x",
    "anchor_turn_id": ANCHOR,
    "policy_id": "x",
    "policy_params_hash": "x",
    "graph_snapshot_hash": "x",
    "schema_version": "x",
}
GONE = uuid(99)
NO_POLICY = {"policy_id": "slice_policy_v1", "params_hash": "0" * 16}


def check(answer: Response, status: int, code: str) -> Any:
    assert (answer.status, answer.body["code"]) == (status, code), answer.body
    assert {"error", "code", "correlation_id", "details"} <= answer.body.keys()
    assert answer.body["error"]
    assert answer.body["correlation_id"] == answer.headers["X-Correlation-ID"]
    return answer.body


@pytest.mark.parametrize("turn", ["", " ", "x" * 513, "é" * 257, "a\nb", "a\0b", "\ud800", 5, None])
def test_an_id_that_is_none_is_an_invalid_turn_id(api: Api, turn: Any) -> None:
    for path, body in (
        ("/api/slice", {"anchor_turn_id": turn}),
        ("/api/slice/batch", {"anchor_turn_ids": [ANCHOR, turn]}),
        ("/api/rag/search/slice", SEARCH | {"anchor_turn_id": turn}),
        ("/api/verify_token", VERIFY | {"anchor_turn_id": turn}),
    ):
        check(api("POST", path, body), 400, "INVALID_TURN_ID")


def test_an_id_of_a_document_is_a_turn_id(api: Api) -> None:
    with psycopg.connect(api.dsn) as db:
        ((chunk,),) = db.execute("select chunk_id from ragdb.search('docs', 'bicycle', 1)")
    assert api("POST", "/api/slice", {"anchor_turn_id": chunk}).status == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "/api/slice", {"anchor_turn_id": GONE}, 404, "SLICE_FAILED"),
        ("POST", "/api/slice", {"anchor_turn_id": GONE, "corpus": "chat"}, 404, "SLICE_FAILED"),
        ("POST", "/api/rag/search/slice", SEARCH | {"anchor_turn_id": GONE}, 404, "SLICE_FAILED"),
        (
            *("POST", "/api/slice", {"anchor_turn_id": ANCHOR, "policy_ref": NO_POLICY}),
            *(404, "POLICY_NOT_FOUND"),
        ),
        (
            *("POST", "/api/rag/search/slice", SEARCH | {"policy_ref": NO_POLICY}),
            *(404, "POLICY_NOT_FOUND"),
        ),
        (
            *("POST", "/api/slice", {"anchor_turn_id": ANCHOR, "corpus": "nosuch"}),
            *(404, "CORPUS_NOT_FOUND"),
        ),
        ("GET", "/api/rag/search?query=x", None, 409, "CORPUS_AMBIGUOUS"),
        ("GET", "/api/rag/search?query=x&corpus=docs&k=3", None, 400, "BAD_REQUEST"),
        ("GET", f"/api/traces/{GONE}", None, 404, "TRACE_NOT_FOUND"),
        ("GET", "/api/traces/nosuch", None, 400, "BAD_REQUEST"),
        ("GET", f"/api/jobs/{GONE}", None, 404, "JOB_NOT_FOUND"),
        ("GET", "/nosuch", None, 404, "NOT_FOUND"),
        ("POST", "/capabilities/rag.query@2.0", {}, 404, "NOT_FOUND"),
        ("DELETE", "/api/slice", None, 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/api/slice", b"{", 400, "BAD_REQUEST"),
        ("POST", "/capabilities/rag.query@1.0", b"{", 400, "BAD_REQUEST"),
        ("POST", "/capabilities/rag.query@1.0", b'{"params": NaN}', 400, "BAD_REQUEST"),
        ("POST", "/capabilities/rag.query@1.0", b'{"a": "\\u0000"}', 400, "BAD_REQUEST"),
        ("POST", "/capabilities/rag.query@1.0", b'{"a": "\\ud800"}', 400, "BAD_REQUEST"),
        ("POST", "/capabilities/rag.query@1.0", b"[" * 100000, 400, "BAD_REQUEST"),
        ("POST", "/api/rag/search/slice", SEARCH | {"limit": 0}, 400, "BAD_REQUEST"),
        ("POST", "/api/rag/search/slice", SEARCH | {"min_similarity": 1.1}, 400, "BAD_REQUEST"),
        ("POST", "/api/rag/search/slice", SEARCH | {"nosuch": 1}, 400, "BAD_REQUEST"),
        ("POST", "/api/rag/search/slice", SEARCH | {"query": " "}, 400, "BAD_REQUEST"),
        ("POST", "/api/rag/search/slice", SEARCH | {"query": "a\0b"}, 400, "BAD_REQUEST"),
        (
            *("POST", "/api/rag/search/slice", SEARCH | {"filter": {"a": {"near": 1}}}),
            *(400, "INVALID_FILTER"),
        ),
        (
            *("POST", "/api/rag/search/slice", SEARCH | {"mode": "semantic"}),
            *(400, "MODE_NOT_AVAILABLE"),
        ),
        ("POST", "/api/policies", {"max_nodes": 0}, 400, "BAD_REQUEST"),
        ("POST", "/api/policies", {}, 401, "UNAUTHORIZED"),
        ("POST", "/api/blobs", b"x" * 100, 401, "UNAUTHORIZED"),
        ("POST", "/api/slice/", {"anchor_turn_id": ANCHOR}, 404, "NOT_FOUND"),
    ],
)
def test_what_is_wrong_has_its_code(
    api: Api, method: str, path: str, body: Any, status: int, code: str
) -> None:
    check(api(method, path, body), status, code)


def test_a_route_or_method_that_is_not_there_leads_to_those_that_are(api: Api) -> None:
    for method, path, said in (
        ("GET", "/api/serach", "there is no such route"),
        ("GET", "/api/search", "this route takes POST, not GET"),
        ("PUT", "/api/corpora/docs", "this route takes DELETE, GET, HEAD, not PUT"),
        ("PATCH", "/api/corpora", "this route takes GET, HEAD, POST, not PATCH"),
        ("POST", "/docs", "this route takes GET, HEAD, not POST"),
    ):
        refused = api(method, path).body
        assert (refused["error"], refused["details"]["hint"]) == (
            said,
            "GET /docs lists the routes",
        )


@pytest.mark.parametrize(
    ("path", "status"), [("/health", 200), ("/api/corpora", 200), ("/api/corpora/nosuch", 404)]
)
def test_head_is_answered_as_get_without_the_body(api: Api, path: str, status: int) -> None:
    whole, head = api("GET", path), api("HEAD", path)
    assert (whole.status, head.status) == (status, status)
    assert head.body == ""
    for name in ("Content-Length", "Content-Type"):
        assert head.headers[name] == whole.headers[name]


def test_allow_names_every_method_of_a_path(api: Api) -> None:
    assert api("PUT", "/api/corpora/docs").headers["Allow"] == "DELETE, GET, HEAD"


@pytest.mark.parametrize("path", ["/api/rag/search/slice", "/capabilities/rag.query@1.0"])
def test_lists_of_any_depth_are_refused(api: Api, path: str) -> None:
    """There is a depth that can be read but not be written again."""
    for depth in range(900, 980, 2):
        nested = b'{"a":' * depth + b"1" + b"}" * depth
        body = b'{"query": "x", "anchor_turn_id": "%s", "filter": %s}' % (ANCHOR.encode(), nested)
        if path.startswith("/capabilities"):
            body = b'{"params": {"corpus": "docs"}, "input": {"query": "x", "filter": %s}}' % nested
        assert api("POST", path, body).status == 400, depth


def test_the_trace_of_a_deep_filter_can_be_read(api: Api) -> None:
    deep = json.loads('{"a":' * 800 + "1" + "}" * 800)
    check(api("POST", "/api/rag/search/slice", SEARCH | {"filter": deep}), 400, "INVALID_FILTER")
    with psycopg.connect(api.dsn) as db:
        ((trace, *_),) = db.execute("select id from ragdb.list_traces('chat') limit 1")
    answer = api("GET", f"/api/traces/{trace}")
    assert answer.status == 200
    assert answer.body["trace"]["filters"] == deep


def test_an_error_quotes_little_of_a_long_field_name(api: Api) -> None:
    answer = api("POST", "/api/slice", {"anchor_turn_id": ANCHOR, "x" * 5000: 1})
    assert len(str(check(answer, 400, "BAD_REQUEST"))) < 600


def test_an_error_lists_few_of_many_faults(api: Api) -> None:
    many = {"query": "x", "chunk_ids": list(range(100))}
    refused = api("POST", "/api/search", many)
    assert len(check(refused, 400, "BAD_REQUEST")["details"]) == 20


def test_a_body_that_is_not_json_is_told_where(api: Api) -> None:
    for body, place in ((b"{", "line 1, column 2"), (b'{"query":\n  one}', "line 2, column 3")):
        answer = check(api("POST", "/api/rag/search/slice", body), 400, "BAD_REQUEST")
        assert answer["error"].startswith("body: it is not JSON: Expecting ")
        assert answer["error"].endswith(f" at {place}")
        assert [one["field"] for one in answer["details"]] == ["body"]
    said = check(api("POST", "/api/rag/search/slice", b'{"query":"\xff"}'), 400, "BAD_REQUEST")
    assert said["error"] == "body: it is not UTF-8 at byte 10"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (b'"k": 5, "k": 1', 'the key "k" stands twice in one object: give it once'),
        (b'"filter": {"a": 1, "a": 2}', 'the key "a" stands twice in one object: give it once'),
        (b'"filter": {"a": NaN}', "NaN is not JSON: give a number or null"),
        (b'"k": -Infinity', "-Infinity is not JSON: give a number or null"),
    ],
)
def test_a_body_that_another_reads_otherwise_is_refused(api: Api, given: bytes, said: str) -> None:
    """As jsonb has it, the last of two would be obeyed."""
    refused = check(
        api("POST", "/api/search", b'{"query": "x", ' + given + b"}"), 400, "BAD_REQUEST"
    )
    assert refused["error"] == f"body: {said}"
    body = b'{"params": {"corpus": "docs"}, "input": {"query": "x", ' + given + b"}}"
    refused = check(api("POST", "/capabilities/rag.query@1.0", body), 400, "BAD_REQUEST")
    assert (refused["error"], refused["message"]) == ("bad_request", f"body: {said}")


def test_a_parameter_that_is_given_twice_is_refused(api: Api) -> None:
    said = check(api("GET", "/api/corpora?count=1&prefix=a&count=2"), 400, "BAD_REQUEST")
    assert said["error"] == "the parameter 'count' is given twice"


def test_a_path_or_query_that_is_not_utf8_is_refused(api: Api) -> None:
    for path, place in (
        ("/api/corpora/%FF/documents", "path: it is not UTF-8 at byte 13"),
        ("/api/corpora?prefix=%ED%A0%80", "query: it is not UTF-8 at byte 7"),
        ("/api/corpora/do%00cs", "path: it has a NUL (%00), which no name has: leave it out"),
    ):
        said = check(api("GET", path), 400, "BAD_REQUEST")
        assert said["error"] == place
    put = api("PUT", "/api/corpora/docs/documents/%ED%A0%80.md", {"text": "one"}, "writer")
    assert check(put, 400, "BAD_REQUEST")["error"].startswith("path: ")


@pytest.mark.parametrize("path", ["/api/search", "/api/blobs", "/capabilities/rag.query@1.0"])
def test_a_compressed_body_is_refused_as_such(api: Api, path: str) -> None:
    refused = api("POST", path, gzip.compress(b"{}"), "writer", Content_Encoding="gzip")
    said = check(refused, 400, "BAD_REQUEST")
    assert said.get("message", said["error"]) == "body: its Content-Encoding is 'gzip'"
    plain = api("POST", "/api/search", b'{"query": "ladder"}', Content_Encoding="identity")
    assert plain.status == 200


@pytest.mark.parametrize(
    "form", ["multipart/form-data; boundary=x", "application/x-www-form-urlencoded"]
)
def test_a_form_is_no_file(api: Api, form: str) -> None:
    """The latter is what curl says of bytes whose type it is not told."""
    refused = api("POST", "/api/blobs", b"# Kites", "writer", Content_Type=form)
    said = check(refused, 400, "BAD_REQUEST")
    assert "is called a form" in said["error"]
    assert "Content-Type: text/markdown" in said["details"]["hint"]


def test_a_capability_that_there_is_not_leads_to_those_that_there_are(api: Api) -> None:
    for name in ("rag.query", "rag.query@2.0"):
        said = check(api("POST", f"/capabilities/{name}", {}), 404, "NOT_FOUND")
        assert said["message"] == f"there is no capability {name}"
        assert said["details"]["hint"].startswith("did you mean rag.query@1.0? there are ")
    said = check(api("POST", "/capabilities/x", {}), 404, "NOT_FOUND")
    assert said["details"]["hint"].startswith("there are ")


def test_a_body_that_nests_too_deep_is_told_so(api: Api) -> None:
    deep = b'{"query": "x", "filter": ' + b'{"a":' * 20_000 + b"1" + b"}" * 20_001
    said = check(api("POST", "/api/search", deep), 400, "BAD_REQUEST")
    assert said["error"] == "body: it nests too deep"


def test_a_field_that_there_is_not_is_answered_with_those_that_there_are(api: Api) -> None:
    answer = api("POST", "/api/search", {"query": "x", "corpus": "docs"})
    said = check(answer, 400, "BAD_REQUEST")["error"]
    assert said.startswith(
        "body.corpus: there is no such field; did you mean corpora? there are query, corpora, "
    )
    said = check(api("POST", "/api/search", {"query": "x", "zz": 1}), 400, "BAD_REQUEST")["error"]
    assert said.startswith("body.zz: there is no such field; there are query, corpora, ")
    turns = {"turns": [{"id": "1", "text": "x", "speakr": "Ann"}]}
    answer = api("POST", "/api/corpora/chat/sessions/s/turns", turns, role="writer")
    said = check(answer, 400, "BAD_REQUEST")["error"]
    assert said.startswith(
        "body.turns.0.speakr: there is no such field; did you mean speaker? there are id, text, "
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"query": ""}', "body.query: it is empty"),
        (b'{"query": "x", "corpora": []}', "body.corpora: it is empty"),
        (b"[1]", "body: it is not an object"),
    ],
)
def test_what_is_empty_or_of_another_form_is_told_in_our_words(
    api: Api, body: bytes, said: str
) -> None:
    assert check(api("POST", "/api/search", body), 400, "BAD_REQUEST")["error"] == said


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"query": "a\0b"}, "body.query"),
        ({"query": "a", "filter": {"tags": {"in": ["x", "y\ud800"]}}}, "body.filter.tags.in.1"),
        ({"query": "a", "filter": {"a\0": 1}}, "body.filter: a name"),
    ],
)
def test_a_text_that_cannot_be_stored_is_named(api: Api, given: Any, place: str) -> None:
    answer = api("POST", "/api/rag/search/slice", SEARCH | given)
    said = check(answer, 400, "BAD_REQUEST")["error"]
    assert said == f"{place}: a text cannot hold NUL or half of a surrogate pair"


def test_a_text_of_the_address_that_cannot_be_stored_is_named(api: Api) -> None:
    answer = api("GET", "/api/rag/search/global?query=a%00b&corpus=docs")
    assert check(answer, 400, "BAD_REQUEST")["error"].startswith("query.query: a text cannot")


def test_a_body_that_is_not_called_json_is_told_so(api: Api) -> None:
    """What curl --data sends."""
    for kind in ("application/x-www-form-urlencoded", "text/plain"):
        answer = api("POST", "/api/slice", {"anchor_turn_id": ANCHOR}, Content_Type=kind)
        refused = check(answer, 400, "BAD_REQUEST")
        assert "Content-Type" in refused["error"]
        assert "Content-Type" in refused["details"][0]["problem"]


@pytest.mark.parametrize(
    ("role", "body", "status", "word"),
    [
        ("reader", b"{", 400, "bad_request"),
        ("reader", b'{"a": "\\u0000"}', 400, "bad_request"),
        ("nonsense", {}, 401, "unauthorized"),
        ("stranger", {}, 401, "unauthorized"),
        ("reader", {}, 400, "bad_request"),
    ],
)
def test_an_error_of_a_capability_has_its_wire_word_wherever_it_is_found(
    api: Api, role: str, body: Any, status: int, word: str
) -> None:
    answer = api("POST", "/capabilities/rag.query@1.0", body, role=role)
    assert check(answer, status, word.upper())["error"] == word
    assert answer.body["message"]
    assert answer.headers["WWW-Authenticate"] == ("Bearer" if status == 401 else None)


def test_a_capability_that_takes_another_right_asks_for_another_token(api: Api) -> None:
    asked = {"params": {"corpus": "docs"}, "input": {"doc_cid": f"sha256:{'0' * 64}"}}
    answer = api("POST", "/capabilities/rag.ingest@1.0", asked)
    assert check(answer, 401, "UNAUTHORIZED")["error"] == "unauthorized"
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_capability_that_takes_too_long_or_has_no_database_says_so_in_wire_words(
    api: Api,
) -> None:
    request = {"params": {"corpus": "docs"}, "input": {"query": "refunds"}}

    def interrupted(by: str) -> Any:
        """The answer to a request whose backend the database itself stops, waiting for a lock."""
        with psycopg.connect(api.dsn) as db:
            db.execute("lock table ragdb.retrieval_hits in access exclusive mode")
            ((thread, answers),) = blocked(api, "/capabilities/rag.query@1.0", request)
            wait_for_lock(api.dsn)
            db.execute(
                f"select {by}(pid) from pg_stat_activity"
                " where datname = current_database() and wait_event_type = 'Lock'"
            )
            thread.join(120)
        return answers[0]

    # a capability has its own limit, and no flag: here the database cancels
    answer = interrupted("pg_cancel_backend")
    assert check(answer, 408, "TIMEOUT")["error"] == "timeout"
    gone = check(interrupted("pg_terminate_backend"), 503, "SERVICE_UNAVAILABLE")
    assert (gone["error"], gone["retry_after_ms"]) == ("partition", 1000)


@pytest.mark.parametrize("path", ["/api/slice", "/api/blobs", "/capabilities/rag.query@1.0"])
def test_a_client_that_hangs_up_is_no_fault_of_the_server(api: Api, path: str) -> None:
    host, port = api.url.removeprefix("http://").split(":")
    mine = f"gone{path}".replace("/", ".").replace("@", ".")
    with socket.create_connection((host, int(port)), timeout=120) as connection:
        connection.sendall(
            f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {api.tokens['writer']}\r\nX-Correlation-ID: {mine}\r\n"
            "Content-Length: 1000\r\n\r\n{".encode()
        )
    text = api.log(lambda line: mine in line)
    (line,) = (line for line in text.splitlines() if mine in line)
    assert json.loads(line)["status"] == 400


def test_a_stream_that_is_left_ends_its_work_and_is_not_told_of_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    from fastapi import FastAPI, Request  # here, because every process of a run collects this file

    from ragdb.http.asking import Asked

    class Leaving(Asked):
        async def run(self) -> dict[str, Any]:
            self.told.put_nowait(("plan", {}))
            return await asyncio.Event().wait() and {}

    async def leave() -> None:
        scope = {"type": "http", "app": FastAPI(), "path": "/", "headers": []}
        request: Any = Request({**scope, "correlation_id": "mine"})
        nothing: Any = None
        response: Any = await Leaving(nothing, request, nothing).stream()
        assert await anext(response.body_iterator) == "event: plan\ndata: {}\n\n"
        await response.body_iterator.aclose()
        del response
        at_work = asyncio.all_tasks() - {asyncio.current_task()}
        assert not (await asyncio.wait(at_work, timeout=60))[1]
        gc.collect()  # asyncio tells then of what nobody has heard

    asyncio.run(leave())
    assert caplog.records == []


def test_half_a_body_keeps_no_place_among_the_requests_at_work(api: Api) -> None:
    from ragdb.http.app import create_app  # here, because every process of a run collects this file

    served = create_app(Config(api.dsn, anonymous_role="reader", stall=0.1))
    sent: list[Any] = []

    async def receive() -> Any:
        if not began:
            began.append(True)
            return {"type": "http.request", "body": b"{", "more_body": True}
        return await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    for path in ("/api/slice", "/capabilities/rag.query@1.0"):
        began: list[bool] = []
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "scheme": "http",
            "http_version": "1.1",
            "headers": [(b"content-type", b"application/json"), (b"content-length", b"1000")],
        }
        asyncio.run(asyncio.wait_for(served(scope, receive, send), 120))
        assert (sent[-2]["status"], json.loads(sent[-1]["body"])["code"]) == (408, "TIMEOUT")


def test_an_anchor_in_two_corpora_needs_its_corpus_named(start: Start) -> None:
    api = start()
    with psycopg.connect(api.dsn) as db:
        db.execute("select ragdb.create_corpus('copy')")
        db.execute(
            "select * from ragdb.put_conversations('copy', %s)",
            (
                '[{"doc_cid": "sha256:' + "0" * 64 + '", "uri": "x", "session": "s", "messages":'
                ' [{"id": "' + ANCHOR + '", "role": "user", "text": "hello"}]}]',
            ),
        )
    body = {"anchor_turn_id": ANCHOR}
    refused = check(api("POST", "/api/slice", body), 409, "CORPUS_AMBIGUOUS")
    assert refused["details"] == {"corpora": ["chat", "copy"], "more": 0}
    assert api("POST", "/api/slice", body | {"corpus": "copy"}).status == 200
    told = start("--corpus", "copy")
    assert told("POST", "/api/slice", body).body["slice"]["turn_ids"] == [ANCHOR]


def test_of_many_corpora_an_error_names_a_few(start: Start) -> None:
    api = start()
    with psycopg.connect(api.dsn) as db:
        db.execute("select ragdb.create_corpus('a' || n) from generate_series(10, 29) n")
    refused = check(api("GET", "/api/rag/search?query=x"), 409, "CORPUS_AMBIGUOUS")
    assert refused["details"] == {"corpora": [f"a{n}" for n in range(10, 18)], "more": 15}


def test_without_a_key_nothing_is_signed(start: Start) -> None:
    api = start()
    with psycopg.connect(api.dsn) as db:
        db.execute("select ragdb.revoke_signing_key('k1')")
    body = check(api("POST", "/api/slice", {"anchor_turn_id": ANCHOR}), 409, "NO_SIGNING_KEY")
    assert "ragdb keys create" in body["details"]["hint"]


def test_too_large_a_body_is_refused_before_it_is_read(start: Start) -> None:
    api = start("--max-body", "1000", "--max-blob", "2000")
    body = SEARCH | {"query": "x" * 1000}
    check(api("POST", "/api/rag/search/slice", body), 413, "PAYLOAD_TOO_LARGE")
    assert api("POST", "/api/blobs", b"x" * 2000, role="writer").status == 201
    check(api("POST", "/api/blobs", b"x" * 2001, role="writer"), 413, "PAYLOAD_TOO_LARGE")
    named = api("POST", "/api/blobs", b"x", role="writer", Content_Type=f"a/{'b' * 199}")
    check(named, 400, "BAD_REQUEST")


def test_a_form_is_not_kept_in_place_of_the_file_that_it_carries(api: Api) -> None:
    sent = b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\n# Kites\r\n--x--\r\n'
    kind = "Multipart/form-data; boundary=x"
    answer = api("POST", "/api/blobs", sent, role="writer", Content_Type=kind)
    body = check(answer, 400, "BAD_REQUEST")
    assert "--data-binary @FILE" in body["details"]["hint"]
    assert api("GET", "/api/blobs", role="writer").body["blobs"] == []


def test_a_body_that_hides_its_length_is_cut_off(start: Start) -> None:
    api = start("--max-body", "1000")
    connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=120)
    headers = {"Authorization": f"Bearer {api.tokens['reader']}"}
    parts = (b'{"x": "' + b"y" * 600 for _ in range(3))
    connection.request("POST", "/api/slice", parts, headers, encode_chunked=True)
    answer = connection.getresponse()
    assert answer.status == 413
    assert b"PAYLOAD_TOO_LARGE" in answer.read()
    connection.close()


def blocked(api: Api, path: str, body: Any, count: int = 1) -> list[Any]:
    """Begin requests that wait for a lock that the caller holds."""
    started = []
    for _ in range(count):
        answers: list[Any] = []

        def ask(answers: list[Any] = answers) -> None:
            answers.append(api("POST", path, body))

        thread = threading.Thread(target=ask)
        thread.start()
        started.append((thread, answers))
    return started


def test_too_much_at_once_is_refused_and_health_is_not(start: Start) -> None:
    api = start("--max-requests", "2")
    with psycopg.connect(api.dsn) as db:
        db.execute("lock table ragdb.slices in access exclusive mode")
        started = blocked(api, "/api/rag/search/slice", SEARCH, 2)
        wait_for_lock(api.dsn, 2)
        refused = api("GET", "/capabilities")
        check(refused, 429, "CAPACITY_EXCEEDED")
        assert refused.headers["Retry-After"] == "1"
        page = api("GET", "/capabilities", Accept="text/html")
        assert (page.status, page.headers["Retry-After"]) == (429, "1")
        assert page.headers.get_content_type() == "text/html"
        told = api("POST", "/capabilities/rag.query@1.0", {}).body
        assert (told["error"], told["retry_after_ms"]) == ("capacity_exceeded", 1000)
        assert api("GET", "/health/live", role=None).status == 200
    for thread, answers in started:
        thread.join(120)
        assert answers[0].status == 200
    assert api("GET", "/capabilities").status == 200


def test_one_call_of_a_capability_too_many_is_refused(api: Api) -> None:
    request = {"params": {"corpus": "docs"}, "input": {"query": "refunds"}}
    with psycopg.connect(api.dsn) as db:
        db.execute("lock table ragdb.retrieval_hits in access exclusive mode")
        started = blocked(api, "/capabilities/rag.query@1.0", request, 4)
        wait_for_lock(api.dsn, 4)
        answer = api("POST", "/capabilities/rag.query@1.0", request)
        check(answer, 429, "CAPACITY_EXCEEDED")
        assert answer.body["error"] == "capacity_exceeded"
    for thread, answers in started:
        thread.join(120)
        assert answers[0].status == 200


def test_a_statement_that_takes_too_long_is_a_timeout_and_leaves_a_trace(start: Start) -> None:
    # time enough for the trace itself, on a busy machine too
    api = start("--timeout", "3")
    with psycopg.connect(api.dsn) as db:
        db.execute("lock table ragdb.slices in access exclusive mode")
        check(api("POST", "/api/rag/search/slice", SEARCH), 408, "TIMEOUT")
    with psycopg.connect(api.dsn) as db:
        found = db.execute("select error_code from ragdb.list_traces('chat')").fetchall()
    assert found == [("57014",)]


def test_a_database_that_is_gone_is_unavailable_until_it_is_back(start: Start) -> None:
    api = start()
    name = psycopg.conninfo.conninfo_to_dict(api.dsn)["dbname"]
    with psycopg.connect(api.dsn, dbname="postgres", autocommit=True) as db:
        db.execute(f'alter database "{name}" allow_connections false')
        db.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", (name,)
        )
        said = check(api("GET", "/capabilities"), 503, "SERVICE_UNAVAILABLE")
        assert "`ragdb doctor`" in said["details"]["hint"]
        page = api("GET", "/studio/map?q=a+b", Accept="text/html", Cookie="ragdb_session=x")
        assert page.status == 503
        assert '<a href="../studio/map?q=a+b">Try again</a>' in page.body
        assert "<code>ragdb doctor</code>" in page.body
        assert api("GET", "/health/live", role=None).status == 200
        assert api("GET", "/health/ready", role=None).status == 503
        db.execute(f'alter database "{name}" allow_connections true')
        until(lambda: api("GET", "/capabilities").status == 200)
        until(lambda: api("GET", "/ready", role=None).status == 200)


def test_a_database_that_takes_no_writes_is_unavailable_to_what_writes(start: Start) -> None:
    api = start("--pool", "1")
    name = psycopg.conninfo.conninfo_to_dict(api.dsn)["dbname"]
    with psycopg.connect(api.dsn, autocommit=True) as db:
        db.execute(f'alter database "{name}" set default_transaction_read_only = on')
        db.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where datname = %s and application_name like 'ragdb/%% serve'",
            (name,),
        )
    assert api("GET", "/capabilities").status == 200
    check(api("GET", "/api/rag/search?query=x&corpus=docs"), 503, "SERVICE_UNAVAILABLE")
    request = {"params": {"corpus": "docs"}, "input": {"query": "refunds"}}
    answer = api("POST", "/capabilities/rag.query@1.0", request)
    assert check(answer, 503, "SERVICE_UNAVAILABLE")["error"] == "partition"


def test_a_token_of_a_role_that_is_gone_is_refused(start: Start) -> None:
    api = start()
    with psycopg.connect(api.dsn, autocommit=True) as db:
        db.execute("create role short_lived")
        token = one(db, "select ragdb.create_http_token('short_lived', 'short')")
        db.execute("drop role short_lived")
    check(api("GET", "/capabilities", role=token), 401, "UNAUTHORIZED")


def test_a_fault_of_ours_is_a_500_that_quotes_nothing(start: Start) -> None:
    api = start()
    with psycopg.connect(api.dsn) as db:
        db.execute("alter function ragdb_internal.named_slice rename to elsewhere")
        db.execute("alter function ragdb.list_policies rename to elsewhere_too")
    body = check(
        api("POST", "/api/rag/search/slice", SEARCH | {"query": SECRET}), 500, "SLICE_FAILED"
    )
    check(api("GET", "/api/policies"), 500, "INTERNAL_ERROR")
    text = api.log(lambda line: body["correlation_id"] in line)
    assert "UndefinedFunction" in text
    assert SECRET not in text


def test_a_server_without_a_database_says_so() -> None:
    nowhere = ("-d", "host=/nowhere dbname=x")
    done = run_forked("serve", *nowhere, env=dict(os.environ), timeout=120)
    assert done.returncode == 3
    assert "ragdb:" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", "--port", "99999"],
        ["serve", "--timeout", "inf"],
        ["serve", "--timeout", "1e10"],
        *(["token", "create", "x", "--role", "y", "--days", d] for d in ("nan", "inf", "1e12")),
    ],
)
def test_a_number_that_cannot_be_meant_is_a_wrong_use(arguments: list[str]) -> None:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert "Invalid value" in done.stderr


def test_a_refused_corpus_leaves_a_refusal_that_auditors_see(start: Start) -> None:
    api = start()
    with psycopg.connect(api.dsn) as db:
        db.execute("select ragdb.restrict_corpus('chat')")
    api("POST", "/api/rag/search/slice", {**SEARCH, "corpus": "chat"})
    with psycopg.connect(api.dsn) as db:
        found = db.execute("select kind, corpus, what from ragdb.list_access_events('chat')")
        assert ("refused", "chat", "RG404") in found.fetchall()


def test_a_hint_names_the_route_of_what_it_tells_to_call(api: Api) -> None:
    body = {"anchor_turn_id": ANCHOR, "policy_ref": NO_POLICY}
    unregistered = api("POST", "/api/slice", body).body["details"]["hint"]
    assert unregistered == "GET /api/policies lists them; POST /api/policies adds one"
    unknown = api("GET", f"/api/evals/runs/{GONE}").body["details"]["hint"]
    assert unknown.startswith("GET /api/evals/runs lists")
    # neither of which is a function that a client can call, or a route that has it
    edges = api("GET", "/api/corpora/docs/edges?chunk_id=nosuch").body["details"]["hint"]
    assert edges == "POST /api/search returns chunk ids"
    asked = {"params": {"corpus": "personal"}, "input": {"query": "x"}}
    personal = api("POST", "/capabilities/rag.query@1.0", asked).body["hint"]
    assert "/api/" not in personal
    refused = api("POST", "/api/policies", {"max_nodes": 9}, role="reader").body
    assert refused["details"]["hint"].endswith("ragdb_reader < ragdb_writer < ragdb_admin")


@pytest.mark.parametrize(
    ("path", "name", "number"),
    [("documents/a.md", "first", 2**31), ("feed/events", "after", 2**63)],
)
def test_a_number_that_no_argument_holds_is_named(
    api: Api, path: str, name: str, number: int
) -> None:
    answer = api("GET", f"/api/corpora/docs/{path}?{name}={number}")
    assert (answer.status, answer.body["error"].split(":")[0]) == (400, f"query.{name}")


def test_what_the_server_itself_refuses_is_said_in_its_words(start: Start) -> None:
    api = start()
    contract = "corpus name=docs\nretriever name=R corpus=docs mode=lexical topK=2 rerank=tiny\n"
    with psycopg.connect(api.dsn) as db:
        db.execute("select ragdb.bind_reranker('tiny', '/models/tiny', repeat('ab', 32))")
        db.execute("select ragdb.apply_contract(%s, 'reranked')", (contract,))
    answer = api("POST", "/api/ask", {"question": "what of refunds?", "retriever": "R"})
    assert (answer.status, answer.body["code"]) == (404, "RERANKER_NOT_FOUND")
    assert answer.body["error"].startswith("model '/models/tiny' is neither a folder")
