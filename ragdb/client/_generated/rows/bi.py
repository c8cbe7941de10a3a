"""Rows of bi. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class MetricSample(Row):
    """A row of type `ragdb.metric_sample`."""

    name: str
    kind: str
    help: str
    suffix: str
    labels: Any
    value: float


@dataclass(frozen=True, slots=True, repr=False)
class TrafficRow(Row):
    """A row of `traffic`."""

    bucket_at: datetime
    grain: str
    found: int
    nothing_found: int
    failed: int
    under_slice: int
    admissible: int
    shortfalls: int
    mean_top_score: float | None
    p50_ms: float | None
    p95_ms: float | None
