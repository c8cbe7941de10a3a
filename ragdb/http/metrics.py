"""What Prometheus scrapes: what the database tells, and what this process has served."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import PlainTextResponse, Response

from ragdb.client._generated.rows import MetricSample
from ragdb.http.routes import Token, failures
from ragdb.http.server import Server
from ragdb.version import __version__

TYPE = "text/plain; version=0.0.4; charset=utf-8"
ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})


def exposition(samples: Iterable[MetricSample]) -> str:
    """Samples, those of a metric together, in the text format 0.0.4 of Prometheus."""
    lines = []
    for name, of_name in groupby(samples, lambda sample: sample.name):
        for number, sample in enumerate(of_name):
            if number == 0:
                about = sample.help.replace("\\", "\\\\").replace("\n", "\\n")
                lines += [f"# HELP {name} {about}", f"# TYPE {name} {sample.kind}"]
            labels = ",".join(
                f'{label}="{str(value).translate(ESCAPES)}"'
                for label, value in sorted(sample.labels.items())
            )
            shown = f"{{{labels}}}" if labels else ""
            lines.append(f"{name}{sample.suffix}{shown} {sample.value!r}")
    return "\n".join(lines) + "\n"


def of_process(server: Server) -> list[MetricSample]:
    """What this process has served since it began, and what it is at."""

    def gauge(name: str, about: str, value: float, **labels: str) -> MetricSample:
        return MetricSample(name, "gauge", about, "", labels, float(value))

    stats = server.pool.get_stats()
    found = [
        gauge("ragdb_http_info", "The version of this server.", 1, version=__version__),
        gauge(
            "ragdb_http_connections",
            "Connections of this server's pool.",
            stats.get("pool_size", 0),
        ),
        gauge(
            "ragdb_http_waiting",
            "Requests that wait for a connection.",
            stats.get("requests_waiting", 0),
        ),
    ]
    found += [
        MetricSample(
            "ragdb_http_reads_total",
            "counter",
            "Requests that a standby or the primary answered, of those that a standby may.",
            "",
            {"server": place},
            float(served),
        )
        for place, served in sorted(server.standbys.served.items())
    ]
    name, about = "ragdb_http_request_duration_seconds", "How long requests took, by route."
    for key, counts in sorted(server.requests.items()):
        labels: dict[str, Any] = dict(zip(("method", "route", "status"), key, strict=True))
        for le, count in counts.buckets():
            found.append(MetricSample(name, "histogram", about, "_bucket", labels | le, count))
        found += [
            MetricSample(name, "histogram", about, "_sum", labels, counts.seconds),
            MetricSample(name, "histogram", about, "_count", labels, float(counts.count)),
        ]
    return found


def register(app: FastAPI, server: Server) -> None:
    if not server.config.metrics:
        return
    shown: dict[int | str, dict[str, Any]] = {
        200: {"description": "Samples.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    }

    @app.get("/metrics", tags=["Health"], response_class=Response, responses=failures() | shown)
    async def metrics(request: Request, _: Token) -> Response:
        """Tell Prometheus what the role sees in schema bi, and what this server has served."""
        async with server.transaction(request) as db:
            samples = await db.metrics()
        text = exposition([*samples, *of_process(server)])
        return PlainTextResponse(text, media_type=TYPE)
