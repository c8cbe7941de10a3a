"""Spans of retrievals and answers over OTLP, where somebody asked for them.

The attributes have the names that `bi.traces_otel` has. Neither a query nor a text is in a span
unless that was asked for, and nothing is imported or sent without an endpoint.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.requests import Request

from ragdb.version import __version__

# W3C: an id of zeros makes it invalid, and what is invalid is ignored
TRACEPARENT = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}")
NAMES = {
    "corpus": "gen_ai.data_source.id",
    "k": "gen_ai.request.top_k",
    "query": "gen_ai.retrieval.query.text",
    "question": "input.value",
    "model": "gen_ai.request.model",
    "error": "error.type",
    "trace": "ragdb.trace.id",
    "rank_mode": "ragdb.rank.mode",
    "retrieval_mode": "ragdb.retrieval.mode",
    "hits": "ragdb.hits",
    "enough": "ragdb.gate.enough",
    "problems": "ragdb.answer.problems",
}


class Span:
    """A span that is being made; one of nothing where none is."""

    def __init__(self, tracer: Any = None, made: Any = None) -> None:
        self.tracer, self.made = tracer, made
        self.since = time.time_ns()
        self.corpus: str | None = None
        self.is_failed = False

    def note(self, **attributes: Any) -> None:
        """Set attributes by their short names; what is None is left out."""
        self.corpus = attributes.get("corpus") or self.corpus
        if self.made is not None:
            for name, value in attributes.items():
                if value is not None:
                    kept = value if isinstance(value, bool | int | float) else str(value)
                    self.made.set_attribute(NAMES[name], kept)

    def failed(self, code: str | None) -> None:
        """The error by its code alone: a message may quote what was asked."""
        self.is_failed = True
        if self.made is not None:
            from opentelemetry.trace import Status, StatusCode

            self.made.set_status(Status(StatusCode.ERROR))
            self.note(error=code or "_OTHER")

    def stage(self, name: str) -> None:
        """End a stage, which began when the one before it ended."""
        now = time.time_ns()
        if self.made is not None:
            from opentelemetry.trace import set_span_in_context

            within = set_span_in_context(self.made)
            self.tracer.start_span(name, within, start_time=self.since).end(now)
        self.since = now


class Spans:
    """Sends spans to an OTLP endpoint over HTTP. Raises ImportError without the extra otlp."""

    def __init__(self, endpoint: str | None, query_text: bool = False) -> None:
        self.query_text, self.provider = query_text, None
        if endpoint is None:
            return
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        about = Resource.create({"service.name": "ragdb", "service.version": __version__})
        provider = TracerProvider(resource=about)
        url = endpoint.rstrip("/").removesuffix("/v1/traces") + "/v1/traces"
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(url, timeout=5)))
        self.provider = provider

    def end(self) -> None:
        """Send what has not been sent."""
        if self.provider is not None:
            self.provider.shutdown()

    @contextmanager
    def retrieval(self, request: Request, query: str) -> Iterator[Span]:
        with self._span(request, "retrieval") as span:
            span.note(query=query if self.query_text else None)
            yield span

    @contextmanager
    def answer(self, request: Request, question: str) -> Iterator[Span]:
        with self._span(request, "ask") as span:
            span.note(question=question if self.query_text else None)
            yield span

    @contextmanager
    def _span(self, request: Request, name: str) -> Iterator[Span]:
        if self.provider is None:
            yield Span()
            return
        from opentelemetry.trace import SpanKind, format_span_id, format_trace_id
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        given = {"traceparent": request.headers.get("traceparent", "")}
        above = TraceContextTextMapPropagator().extract(given)
        tracer = self.provider.get_tracer("ragdb", __version__)
        made = tracer.start_span(name, above, kind=SpanKind.SERVER)
        made.set_attribute("gen_ai.operation.name", name)
        made.set_attribute("db.system.name", "postgresql")
        context = made.get_span_context()
        request.scope["ragdb.span"] = span = Span(tracer, made)
        # the recorded trace names this span
        request.scope["ragdb.otel"] = (
            format_trace_id(context.trace_id),
            format_span_id(context.span_id),
        )
        try:
            yield span
        except BaseException:
            if not span.is_failed:
                span.failed(None)
            raise
        finally:
            if span.corpus:
                made.update_name(f"{name} {span.corpus}")
            made.end()


def current(request: Request) -> Span:
    """The span of a request, for what its route knows."""
    found: Span = request.scope.get("ragdb.span") or Span()
    return found


def ids(request: Request) -> dict[str, Any]:
    """The span that the trace of a request names: ours, else the caller's by its traceparent."""
    found = TRACEPARENT.fullmatch(request.headers.get("traceparent", ""))
    names = request.scope.get("ragdb.otel") or (found.groups() if found else None)
    return {"otel_trace_id": names[0], "otel_span_id": names[1]} if names else {}
