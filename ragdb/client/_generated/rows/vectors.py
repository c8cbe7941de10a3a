"""Rows of vectors. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class Embedders(Row):
    """A row of type `ragdb.embedders`."""

    embedder_id: int
    name: str
    model: str
    revision: str | None
    dims: int
    metric: str
    max_tokens: int
    query_prefix: str
    passage_prefix: str
    weights_sha256: str | None
    provider: str | None
    provider_model: str | None
    created_at: datetime
