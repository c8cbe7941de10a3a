"""Rows of static. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class ListStaticModelsRow(Row):
    """A row of `list_static_models`."""

    embedder: str
    tokenizer: str
    folding: str
    pieces: int
    digest: str
    lexical_weight: float
    is_default: bool
