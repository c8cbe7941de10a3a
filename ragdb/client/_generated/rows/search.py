"""Rows of search. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class CalibrateGateRow(Row):
    """A row of `calibrate_gate`."""

    mode: str
    floor: float | None
    own_score: float | None
    other_score: float | None
    own_questions: int
    other_questions: int
    chunks: int
    calibrated_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class CountMatchesRow(Row):
    """A row of `count_matches`."""

    documents: int
    chunks: int


@dataclass(frozen=True, slots=True, repr=False)
class DocumentHit(Row):
    """A row of type `ragdb.document_hit`."""

    rank: int
    corpus: str
    doc_cid: str
    source: str
    title: str | None
    metadata: Any
    score: float
    mode: str
    chunks: Any


@dataclass(frozen=True, slots=True, repr=False)
class ExplainMissingRow(Row):
    """A row of `explain_missing`."""

    step: str
    reason: str
    rank: int | None
    score: float | None
    lexical_score: float | None
    semantic_score: float | None
    last_score: float | None


@dataclass(frozen=True, slots=True, repr=False)
class ExplainScoreRow(Row):
    """A row of `explain_score`."""

    part: str
    lexeme: str | None
    stands_for: str | None
    df: int | None
    tf: int | None
    value: float | None
    points: float
    most: float


@dataclass(frozen=True, slots=True, repr=False)
class ExplainScoresRow(Row):
    """A row of `explain_scores`."""

    chunk_id: str
    part: str
    lexeme: str | None
    stands_for: str | None
    df: int | None
    tf: int | None
    value: float | None
    points: float
    most: float


@dataclass(frozen=True, slots=True, repr=False)
class ExplainSearchRow(Row):
    """A row of `explain_search`."""

    lexeme: str
    df: int
    query_frequency: int
    idf: float
    tf: int
    impact: float
    contribution: float
    share: float
    stands_for: str


@dataclass(frozen=True, slots=True, repr=False)
class FacetsRow(Row):
    """A row of `facets`."""

    field: str
    value: Any
    documents: int
    chunks: int


@dataclass(frozen=True, slots=True, repr=False)
class GateQuestionsRow(Row):
    """A row of `gate_questions`."""

    question: str
    is_own: bool


@dataclass(frozen=True, slots=True, repr=False)
class HighlightChunksRow(Row):
    """A row of `highlight_chunks`."""

    chunk_id: str
    text: str


@dataclass(frozen=True, slots=True, repr=False)
class Hit(Row):
    """A row of type `ragdb.hit`."""

    rank: int
    corpus: str
    chunk_id: str
    doc_cid: str
    source: str
    title: str | None
    heading: list[str]
    page: int | None
    start_offset: int
    end_offset: int
    text: str
    citation: Any
    score: float
    lexical_score: float | None
    semantic_score: float | None
    lexical_rank: int | None
    semantic_rank: int | None
    bm25: float | None
    coverage: float | None
    content_hash: str
    metadata: Any
    mode: str
    is_exact: bool
    context: str | None


@dataclass(frozen=True, slots=True, repr=False)
class MapPoint(Row):
    """A row of type `ragdb.map_point`."""

    chunk_id: str
    source: str
    heading: list[str]
    x: float
    y: float


@dataclass(frozen=True, slots=True, repr=False)
class MatchDocumentsRow(Row):
    """A row of `match_documents`."""

    id: str
    content: str
    metadata: Any
    similarity: float | None


@dataclass(frozen=True, slots=True, repr=False)
class MergeCandidatesRow(Row):
    """A row of `merge_candidates`."""

    rank: int
    share: int
    place: int
    chunk_id: str
    score: float
    lexical_rank: int | None
    semantic_rank: int | None
