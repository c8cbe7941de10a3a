"""Rows of evaluation. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class ChallengeEvalRow(Row):
    """A row of `challenge_eval`."""

    subject: str
    name: str
    applies: bool
    caught: bool
    count: int
    caught_by: str


@dataclass(frozen=True, slots=True, repr=False)
class CompareRunsRow(Row):
    """A row of `compare_runs`."""

    metric: str | None
    verdict: str
    baseline_mean: float | None
    run_mean: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    smallest_effect: float | None
    cases: int
    detail: str | None


@dataclass(frozen=True, slots=True, repr=False)
class CompareSpacesRow(Row):
    """A row of `compare_spaces`."""

    query: str
    overlap: float
    current_ndcg: float
    ndcg: float


@dataclass(frozen=True, slots=True, repr=False)
class DropEvalRunsBeforeRow(Row):
    """A row of `drop_eval_runs_before`."""

    corpus: str
    runs: int


@dataclass(frozen=True, slots=True, repr=False)
class EvalAssertResults(Row):
    """A row of type `ragdb.eval_assert_results`."""

    corpus_id: int
    run_id: UUID
    case_no: int
    assert_no: int
    kind: str
    required: bool
    passed: bool
    code: str
    message: str
    expected: Any
    actual: Any


@dataclass(frozen=True, slots=True, repr=False)
class EvalCandidatesRow(Row):
    """A row of `eval_candidates`."""

    reranker: str | None
    query: str
    chunk_id: str
    passage: str


@dataclass(frozen=True, slots=True, repr=False)
class EvalCaseResults(Row):
    """A row of type `ragdb.eval_case_results`."""

    corpus_id: int
    run_id: UUID
    case_no: int
    kind: str
    name: str
    query: str
    tags: list[str]
    status: str
    trace_id: UUID | None
    elapsed_ms: float | None
    error_code: str | None
    hits: int
    labels: int
    stale_labels: int


@dataclass(frozen=True, slots=True, repr=False)
class EvalMetrics(Row):
    """A row of type `ragdb.eval_metrics`."""

    corpus_id: int
    run_id: UUID
    case_no: int
    metric: str
    value: float


@dataclass(frozen=True, slots=True, repr=False)
class EvalQueriesRow(Row):
    """A row of `eval_queries`."""

    corpus: str
    query: str


@dataclass(frozen=True, slots=True, repr=False)
class EvalRuns(Row):
    """A row of type `ragdb.eval_runs`."""

    corpus_id: int
    run_id: UUID
    created_at: datetime
    corpus: str
    corpus_version: int
    documents_hash: str
    labels_hash: str
    contract: str
    contract_version: int
    rag: str
    eval: str
    retriever: str
    rank_mode: str
    top_k: int
    min_score: float
    embedding_model: str | None
    reranker: str | None
    ranking_hash: str
    semantics_version: int
    label: str | None
    tags: list[str] | None
    metric: str | None
    threshold: float | None
    metric_value: float | None
    cases: int
    passed_cases: int
    assertions: int
    passed_assertions: int
    stale_labels: int
    status: str
    reasons: list[str]
    elapsed_ms: float
    caller: str


@dataclass(frozen=True, slots=True, repr=False)
class EvaluateCaseRow(Row):
    """A row of `evaluate_case`."""

    assert_no: int
    kind: str
    required: bool
    passed: bool
    code: str
    message: str
    expected: Any
    actual: Any
    fails_case: bool


@dataclass(frozen=True, slots=True, repr=False)
class ImportEvalRow(Row):
    """A row of `import_eval`."""

    case_count: int
    label_count: int
    stale_labels: int


@dataclass(frozen=True, slots=True, repr=False)
class ListEvalCasesRow(Row):
    """A row of `list_eval_cases`."""

    case_no: int
    name: str
    origin: str
    query: str
    tags: list[str]
    k: int | None
    min_score: float | None
    anchor: str | None
    policy: str | None
    expected: Any
    asserts: Any
    labels: Any


@dataclass(frozen=True, slots=True, repr=False)
class ListEvalsRow(Row):
    """A row of `list_evals`."""

    rag: str
    eval: str
    contract: str
    corpus: str
    retriever: str
    metric: str | None
    threshold: float | None
    declared_cases: int
    added_cases: int
    runs: int
    last_run: UUID | None
    last_status: str | None
    last_at: datetime | None
    baseline: UUID | None


@dataclass(frozen=True, slots=True, repr=False)
class SpaceQuestionsRow(Row):
    """A row of `space_questions`."""

    origin: str
    query: str


@dataclass(frozen=True, slots=True, repr=False)
class UnansweredQuestion(Row):
    """A row of type `ragdb.unanswered_question`."""

    corpus: str
    query: str
    reasons: list[str]
    times: int
    last_at: datetime
    trace_id: UUID | None
    eval_cases: list[str]
