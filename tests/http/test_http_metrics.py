"""/metrics is what Prometheus reads; spans go to an OTLP endpoint only where one is named."""

from __future__ import annotations

import gzip
import itertools
import threading
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

import ragdb
from ragdb.client._generated.rows import MetricSample
from ragdb.http.counts import BOUNDS, METHODS, Requests
from ragdb.http.metrics import exposition
from tests.http.conftest import ANCHOR, SECRET, Api


def scraped(text: str) -> dict[tuple[Any, ...], float]:
    """Samples by name and labels, as another program parses them."""
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_scrape_is_what_the_database_tells_and_the_server_served(library: Api) -> None:
    library("POST", "/api/search", {"query": SECRET, "record": True, "corpora": ["handbook"]})
    with ragdb.connect(library.dsn) as db:
        db.refresh_rollups()
    before = library("GET", "/metrics", role="bi_reader")
    assert before.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    for _ in range(3):
        library("POST", "/api/count", {"query": SECRET})
    library("POST", "/api/count", {"nosuch": 1})
    text = library("GET", "/metrics", role="bi_reader").body
    found, earlier = scraped(text), scraped(before.body)
    with ragdb.connect(library.dsn) as db:
        documents = db.corpus_info("handbook").documents
        db.connection.execute("set role bi_reader")
        told = {(s.name + s.suffix, *sorted(s.labels.items())): s.value for s in db.metrics()}
    assert {key: found[key] for key in told} == told
    assert found["ragdb_corpus_documents", ("corpus", "handbook")] == documents
    route = (("method", "POST"), ("route", "/api/count"))
    count = "ragdb_http_request_duration_seconds_count"
    ok, bad = (count, *route, ("status", "200")), (count, *route, ("status", "400"))
    assert found[ok] - earlier.get(ok, 0) == 3
    assert found[bad] - earlier.get(bad, 0) == 1
    everything = (
        "ragdb_http_request_duration_seconds_bucket", ("le", "+Inf"), *route, ("status", "200"),
    )  # fmt: skip
    assert found[everything] == found[ok]
    assert SECRET not in text
    assert not any(token in text for token in library.tokens.values())


def test_metrics_are_read_with_a_token_of_whoever_reads_bi(library: Api) -> None:
    statuses = {
        role: library("GET", "/metrics", role=role).status
        for role in ("bi_reader", "reader", "auditor", "stranger", None)
    }
    assert statuses == {"bi_reader": 200, "reader": 200, "auditor": 200, "stranger": 401, None: 401}
    # who reads them reads nothing else
    for path in ("/api/corpora", "/api/traces", "/capabilities"):
        assert library("GET", path, role="bi_reader").status == 401


def test_metrics_are_off_unless_they_are_asked_for(api: Api) -> None:
    assert api("GET", "/metrics").status == 404


def test_every_label_survives_the_text() -> None:
    nasty = 'a "quoted" \\ one\nin two lines'
    samples = [
        MetricSample("x_total", "counter", nasty, "", {"b": nasty, "a": "1"}, 2.5),
        MetricSample("y", "gauge", "Y.", "", {}, float("inf")),
    ]
    (x, y) = text_string_to_metric_families(exposition(samples))
    assert x.documentation == nasty
    assert (x.samples[0].labels, x.samples[0].value) == ({"a": "1", "b": nasty}, 2.5)
    assert (y.type, y.samples[0].value) == ("gauge", float("inf"))


def test_what_is_counted_does_not_grow_with_what_is_asked() -> None:
    counts = Requests()
    for n in range(100):
        counts.add(f"METHOD{n}", None, 404, 0.001 * n)
    counts.add("GET", "/api/traces/{id}", 200, BOUNDS[0])
    assert len(counts) == 2
    assert set(METHODS) | {"other"} >= {key[0] for key in counts}
    first = {b["le"]: n for b, n in counts["GET", "/api/traces/{id}", "200"].buckets()}
    assert first["0.01"] == first["+Inf"] == 1


# ── spans ──


class Receiver(BaseHTTPRequestHandler):
    spans: list[Any]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        request = ExportTraceServiceRequest.FromString(body)
        assert self.path == "/v1/traces"
        for of_resource in request.resource_spans:
            for of_scope in of_resource.scope_spans:
                self.spans += of_scope.spans
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[Any]]]:
    """The address of an OTLP receiver, and the spans that it got."""
    spans: list[Any] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Here", (Receiver,), {"spans": spans}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", spans
    server.shutdown()
    thread.join()
    server.server_close()


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


@pytest.mark.by_day(1)
@pytest.mark.parametrize("shows", [False, True])
def test_spans_say_what_was_retrieved_and_how_long_each_stage_took(
    start: Callable[..., Api], receiver: tuple[str, list[Any]], shows: bool
) -> None:
    url, spans = receiver
    api = start("--otlp", url, *(["--otlp-query-text"] if shows else []))
    caller = "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01"
    body = {"query": f"refunds {SECRET}", "corpora": ["docs"], "record": True}
    found = api("POST", "/api/search", body, traceparent=caller).body
    question = {"question": f"do refunds take days {SECRET}", "corpus": "docs"}
    answered = api("POST", "/api/ask", question).body
    missing = api("POST", "/api/slice", {"anchor_turn_id": ANCHOR})
    assert missing.status == 200
    lost = {"query": SECRET, "corpora": ["docs"], "record": True, "mode": "semantic"}
    refused = api("POST", "/api/search", lost)
    trace = api("GET", f"/api/traces/{found['trace_id']}").body["trace"]
    api.process.terminate()
    api.process.wait(120)
    by_name: dict[str, list[Any]] = {}
    for span in spans:
        by_name.setdefault(span.name, []).append(span)
    searched, failed = sorted(
        by_name["retrieval docs"], key=lambda s: "error.type" in attributes(s)
    )
    about = attributes(searched)
    assert about["ragdb.trace.id"] == found["trace_id"]
    assert (about["gen_ai.data_source.id"], about["ragdb.rank.mode"]) == ("docs", "lexical")
    assert (about["gen_ai.request.top_k"], about["ragdb.hits"]) == (10, len(found["hits"]))
    # below the caller's span, and the recorded trace names it
    assert (searched.trace_id.hex(), searched.parent_span_id.hex()) == ("ab" * 16, "cd" * 8)
    assert (trace["otel_trace_id"], trace["otel_span_id"]) == ("ab" * 16, searched.span_id.hex())
    assert attributes(failed)["error.type"] == refused.body["details"]["sqlstate"]
    assert failed.status.code == 2
    stages = [s for s in spans if s.parent_span_id == searched.span_id]
    assert [s.name for s in stages] == ["prepare", "search"]
    (ask,) = by_name["ask docs"]
    assert attributes(ask)["ragdb.trace.id"] == answered["trace_id"]
    below = sorted(
        (s for s in spans if s.parent_span_id == ask.span_id), key=lambda s: s.start_time_unix_nano
    )
    assert [s.name for s in below] == ["plan", "prepare", "evidence", "gate", "attempt"]
    for first, second in itertools.pairwise(below):
        assert first.end_time_unix_nano <= second.start_time_unix_nano
    assert ask.start_time_unix_nano <= below[0].start_time_unix_nano
    assert below[-1].end_time_unix_nano <= ask.end_time_unix_nano
    shown = any(SECRET in str(span) for span in spans)
    assert shown == shows


def test_a_receiver_that_is_away_holds_nothing_up(start: Callable[..., Api]) -> None:
    api = start("--otlp", "http://127.0.0.1:9")
    for _ in range(3):
        assert api("POST", "/api/search", {"query": "refunds", "corpora": ["docs"]}).status == 200
    api.process.terminate()
    assert api.process.wait(120) in (0, -15, 143)


def test_nothing_is_imported_to_send_spans_unless_they_are_asked_for(library: Api) -> None:
    """A program that imports nothing of it sends nothing of it."""
    code = (
        "import sys; from ragdb.http import app, spans; made = spans.Spans(None); made.end();"
        "sys.exit('opentelemetry.sdk' in sys.modules)"
    )
    import subprocess
    import sys

    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    assert urllib.request.urlopen(library.url + "/health").status == 200
