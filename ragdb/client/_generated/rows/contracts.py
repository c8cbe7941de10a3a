"""Rows of contracts. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class ApplyContractRow(Row):
    """A row of `apply_contract`."""

    name: str
    version: int
    is_new: bool
    corpora: list[str]
    nodes: int


@dataclass(frozen=True, slots=True, repr=False)
class AssertionKindsRow(Row):
    """A row of `assertion_kinds`."""

    kind: str
    is_frozen: bool
    property: str
    meaning: str


@dataclass(frozen=True, slots=True, repr=False)
class ListContractsRow(Row):
    """A row of `list_contracts`."""

    name: str
    version: int
    is_current: bool
    corpora: list[str]
    rags: list[str]
    applied_at: datetime
    applied_by: str


@dataclass(frozen=True, slots=True, repr=False)
class ListSourcesRow(Row):
    """A row of `list_sources`."""

    contract: str
    corpus: str
    name: str
    kind: str
    uri: str
    resource: str
    refresh: timedelta
    read_at: datetime | None
    tried_at: datetime
    documents: int
    failed: int
    is_due: bool


@dataclass(frozen=True, slots=True, repr=False)
class ListToolsRow(Row):
    """A row of `list_tools`."""

    name: str
    kind: str
    title: str | None
    description: str
    input_schema: Any
    output_schema: Any
    query: str
    query_param: str
    corpus: str
    mode: str
    contract: str
    contract_version: int
    reranker: str | None


@dataclass(frozen=True, slots=True, repr=False)
class RetrieverSettings(Row):
    """A row of type `ragdb.retriever_settings`."""

    corpus: str
    mode: str
    k: int
    min_score: float
    embedding_model: str | None
    reranker: str | None


@dataclass(frozen=True, slots=True, repr=False)
class ToolCandidatesRow(Row):
    """A row of `tool_candidates`."""

    reranker: str | None
    query: str
    chunk_id: str
    passage: str


@dataclass(frozen=True, slots=True, repr=False)
class ValidateContractRow(Row):
    """A row of `validate_contract`."""

    rule: str
    severity: str
    node: str
    line: int | None
    column: int | None
    message: str
    hint: str | None
