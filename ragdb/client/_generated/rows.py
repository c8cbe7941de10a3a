"""Rows. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from ragdb.client.results import Row


@dataclass(frozen=True, slots=True, repr=False)
class AccessEvents(Row):
    """A row of type `ragdb.access_events`."""

    id: UUID
    created_at: datetime
    kind: str
    role: str
    role_oid: int | None
    session_role: str
    corpus_id: int | None
    corpus: str | None
    what: str
    event_hash: bytes


@dataclass(frozen=True, slots=True, repr=False)
class Advice(Row):
    """A row of type `ragdb.advice`."""

    subject: str
    corpus: str
    is_fault: bool
    found: str
    fix: str


@dataclass(frozen=True, slots=True, repr=False)
class AppendTurnsRow(Row):
    """A row of `append_turns`."""

    position: int
    turn_id: str
    phase: str
    salience: float
    depth: int
    was_duplicate: bool


@dataclass(frozen=True, slots=True, repr=False)
class ApplyContractRow(Row):
    """A row of `apply_contract`."""

    name: str
    version: int
    is_new: bool
    corpora: list[str]
    nodes: int


@dataclass(frozen=True, slots=True, repr=False)
class ApplyEventsRow(Row):
    """A row of `apply_events`."""

    events: int
    known: int
    documents_put: int
    documents_erased: int
    conflicts: int
    waiting: int
    position: int
    is_done: bool


@dataclass(frozen=True, slots=True, repr=False)
class AskedAnswer(Row):
    """A row of type `ragdb.asked_answer`."""

    answer: str
    sources: list[str]
    status: str
    reason: str
    citations: Any
    problems: list[str]
    trace_id: UUID
    answer_id: UUID
    evidence_hash: str
    gate: Any
    trace_summary: Any


@dataclass(frozen=True, slots=True, repr=False)
class AskedRetriever(Row):
    """A row of type `ragdb.asked_retriever`."""

    corpus: str
    retriever: str
    rag: str
    k: int
    mode: str
    reranker: str | None
    max_context: int


@dataclass(frozen=True, slots=True, repr=False)
class AssertionKindsRow(Row):
    """A row of `assertion_kinds`."""

    kind: str
    is_frozen: bool
    property: str
    meaning: str


@dataclass(frozen=True, slots=True, repr=False)
class BeginMoveRow(Row):
    """A row of `begin_move`."""

    move_id: UUID
    header: Any


@dataclass(frozen=True, slots=True, repr=False)
class Blob(Row):
    """A row of type `ragdb.blob`."""

    cid: str
    media_type: str
    size: int
    bytes: bytes


@dataclass(frozen=True, slots=True, repr=False)
class BuildSlicesRow(Row):
    """A row of `build_slices`."""

    anchor_chunk_id: str
    slice_id: str
    chunk_ids: list[str]
    selection_order: list[str]
    distances: list[int]
    edge_count: int
    policy_id: str
    params_hash: str
    schema_version: str
    graph_snapshot_hash: str
    admissibility_token: str | None
    error_code: str | None
    error: str | None


@dataclass(frozen=True, slots=True, repr=False)
class BuiltSlice(Row):
    """A row of type `ragdb.built_slice`."""

    slice_id: str
    anchor_chunk_id: str
    chunk_ids: list[str]
    selection_order: list[str]
    distances: list[int]
    edge_count: int
    policy_id: str
    params_hash: str
    schema_version: str
    graph_snapshot_hash: str
    admissibility_token: str | None


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
class CapabilitiesRow(Row):
    """A row of `capabilities`."""

    name: str
    version: str
    stability: str
    trust_required: str
    timeout_seconds: int
    max_concurrent: int
    idempotent: bool
    params: Any
    request_schema: Any
    response_schema: Any


@dataclass(frozen=True, slots=True, repr=False)
class CapabilitySchemasRow(Row):
    """A row of `capability_schemas`."""

    name: str
    version: str
    trust_required: str
    timeout_seconds: int
    max_concurrent: int
    request_schema: Any
    response_schema: Any


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
class CheckCitationsRow(Row):
    """A row of `check_citations`."""

    citation: int | None
    code: str | None
    is_advisory: bool
    message: str | None
    source_id: str | None
    chunk_id: str | None
    method: str | None
    start_offset: int | None
    end_offset: int | None
    similarity: float | None


@dataclass(frozen=True, slots=True, repr=False)
class CheckCorpusRow(Row):
    """A row of `check_corpus`."""

    check: str
    expected: str | None
    found: str


@dataclass(frozen=True, slots=True, repr=False)
class CheckMoveRow(Row):
    """A row of `check_move`."""

    position: int
    differing: list[str]


@dataclass(frozen=True, slots=True, repr=False)
class Chunk(Row):
    """A row of type `ragdb.chunk`."""

    chunk_id: str
    doc_cid: str
    ordinal: int
    source: str
    title: str | None
    heading: list[str]
    page: int | None
    start_offset: int
    end_offset: int
    tokens: int
    text: str
    citation: Any
    content_hash: str
    metadata: Any


@dataclass(frozen=True, slots=True, repr=False)
class CitationCodesRow(Row):
    """A row of `citation_codes`."""

    code: str
    is_advisory: bool
    meaning: str


@dataclass(frozen=True, slots=True, repr=False)
class ClaimEmbedJobsRow(Row):
    """A row of `claim_embed_jobs`."""

    job_id: UUID
    attempt: int
    embedder: str
    texts: list[str] | None


@dataclass(frozen=True, slots=True, repr=False)
class ClaimEmbeddingsRow(Row):
    """A row of `claim_embeddings`."""

    space_id: int
    corpus: str
    embedder: str
    input_hash: bytes
    attempt: int
    input: str


@dataclass(frozen=True, slots=True, repr=False)
class ClaimIngestJobsRow(Row):
    """A row of `claim_ingest_jobs`."""

    job_id: UUID
    attempt: int
    corpus: str
    doc_cid: str
    media_type: str
    bytes: bytes
    title: str | None
    language: str | None
    metadata: Any
    max_tokens: int
    overlap: int


@dataclass(frozen=True, slots=True, repr=False)
class ClaimQueriesRow(Row):
    """A row of `claim_queries`."""

    corpus: str
    embedder: str
    query_hash: bytes
    attempt: int
    query: str
    input: str


@dataclass(frozen=True, slots=True, repr=False)
class ClusterCorporaRow(Row):
    """A row of `cluster_corpora`."""

    corpus: str
    node: int


@dataclass(frozen=True, slots=True, repr=False)
class ClusterRoutesRow(Row):
    """A row of `cluster_routes`."""

    function: str
    route: str
    detail: str


@dataclass(frozen=True, slots=True, repr=False)
class ClusterStatusRow(Row):
    """A row of `cluster_status`."""

    node: int
    host: str
    port: int
    is_up: bool
    is_isolated: bool
    corpora: int
    problem: str


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
class CorpusEventsRow(Row):
    """A row of `corpus_events`."""

    lamport: int
    event_id: UUID
    kind: str
    created_at: datetime
    author: str
    doc_cid: str
    source: str
    title: str | None
    language: str | None
    chunks: int


@dataclass(frozen=True, slots=True, repr=False)
class CorpusInfoRow(Row):
    """A row of `corpus_info`."""

    name: str
    title: str | None
    documents: int
    chunks: int
    tokens: int
    size_bytes: int
    language_majority: str | None
    drift: float | None
    version: int
    created_at: datetime
    updated_at: datetime
    part_of: str | None
    parts: int | None
    stale_parts: int | None
    moved_to: str | None
    text_config: str
    k1: float
    b: float
    pivot: float
    lexemes: int
    record_query_text: str
    privilege: str
    gate_floors: Any
    history: timedelta | None
    history_from: int | None


@dataclass(frozen=True, slots=True, repr=False)
class CountMatchesRow(Row):
    """A row of `count_matches`."""

    documents: int
    chunks: int


@dataclass(frozen=True, slots=True, repr=False)
class DeadRolesRow(Row):
    """A row of `dead_roles`."""

    role: str
    role_oid: int
    holds: list[str]
    name_is_taken: bool


@dataclass(frozen=True, slots=True, repr=False)
class DecideProposalRow(Row):
    """A row of `decide_proposal`."""

    code: str
    detail: str | None


@dataclass(frozen=True, slots=True, repr=False)
class DeleteDocumentRow(Row):
    """A row of `delete_document`."""

    documents_deleted: int
    chunks_deleted: int


@dataclass(frozen=True, slots=True, repr=False)
class DeleteSourceRow(Row):
    """A row of `delete_source`."""

    documents_deleted: int
    chunks_deleted: int


@dataclass(frozen=True, slots=True, repr=False)
class DeleteSourcesRow(Row):
    """A row of `delete_sources`."""

    documents_deleted: int
    chunks_deleted: int


@dataclass(frozen=True, slots=True, repr=False)
class DiffCorpusRow(Row):
    """A row of `diff_corpus`."""

    source: str
    change: str
    doc_cid_before: str
    doc_cid_after: str
    title_before: str
    title_after: str
    chunks_before: int
    chunks_after: int


@dataclass(frozen=True, slots=True, repr=False)
class Document(Row):
    """A row of type `ragdb.document`."""

    doc_cid: str
    source: str
    sources: list[str]
    title: str | None
    language: str | None
    media_type: str
    metadata: Any
    chunking: Any
    external_id: str | None
    source_name: str
    size_bytes: int
    pages: int | None
    chunks: int
    tokens: int
    event_id: UUID
    created_at: datetime
    updated_at: datetime


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
class DocumentVersionsRow(Row):
    """A row of `document_versions`."""

    event_id: UUID
    kind: str
    created_at: datetime
    author: str
    doc_cid: str
    title: str | None
    chunks: int
    is_current: bool


@dataclass(frozen=True, slots=True, repr=False)
class DropTracesBeforeRow(Row):
    """A row of `drop_traces_before`."""

    month: date
    traces: int
    hits: int


@dataclass(frozen=True, slots=True, repr=False)
class Edge(Row):
    """A row of type `ragdb.edge`."""

    parent_id: str
    child_id: str
    edge_type: str
    is_added: bool


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


@dataclass(frozen=True, slots=True, repr=False)
class EmbeddingStatusRow(Row):
    """A row of `embedding_status`."""

    corpus: str
    embedder: str
    model: str
    provider: str | None
    provider_model: str | None
    dims: int
    metric: str
    state: str
    chunks: int
    embedded: int
    coverage: float | None
    backlog: int
    in_work: int
    failing: int
    dead: int
    oldest: timedelta
    last_error: str | None
    is_indexed: bool


@dataclass(frozen=True, slots=True, repr=False)
class EraseSourceRow(Row):
    """A row of `erase_source`."""

    documents_deleted: int
    chunks_deleted: int
    past_rows_erased: int


@dataclass(frozen=True, slots=True, repr=False)
class ErrorCodesRow(Row):
    """A row of `error_codes`."""

    sqlstate: str
    name: str
    wire_word: str
    http_status: int
    meaning: str


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
class EventsAfterRow(Row):
    """A row of `events_after`."""

    corpus: str
    lamport: int
    event_id: UUID
    kind: str
    created_at: datetime
    author: str
    doc_cid: str
    source: str
    title: str | None
    language: str | None
    chunks: int
    next: Any


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
class ExportDocumentsRow(Row):
    """A row of `export_documents`."""

    position: int
    doc_cid: str
    chunks: int
    document: str
    has_blob: bool


@dataclass(frozen=True, slots=True, repr=False)
class ExportEmbeddingsRow(Row):
    """A row of `export_embeddings`."""

    position: int
    sources: list[str]
    ordinals: list[int]
    embeddings: bytes | None


@dataclass(frozen=True, slots=True, repr=False)
class ExportSigningKeysRow(Row):
    """A row of `export_signing_keys`."""

    key_id: str
    secret: str
    state: str
    created_at: datetime
    active_until: datetime | None
    not_after: datetime | None


@dataclass(frozen=True, slots=True, repr=False)
class FacetsRow(Row):
    """A row of `facets`."""

    field: str
    value: Any
    documents: int
    chunks: int


@dataclass(frozen=True, slots=True, repr=False)
class Finding(Row):
    """A row of type `ragdb.finding`."""

    check: str
    severity: str
    place: str
    finding: str
    advice: str


@dataclass(frozen=True, slots=True, repr=False)
class GateQuestionsRow(Row):
    """A row of `gate_questions`."""

    question: str
    is_own: bool


@dataclass(frozen=True, slots=True, repr=False)
class GetSliceRow(Row):
    """A row of `get_slice`."""

    created_at: datetime
    anchor_chunk_id: str
    anchor_source: str | None
    chunk_ids: list[str]
    edge_count: int
    policy_id: str
    params_hash: str
    policy: Any
    schema_version: str
    graph_snapshot_hash: str
    is_unchanged: bool


@dataclass(frozen=True, slots=True, repr=False)
class GetSourceRow(Row):
    """A row of `get_source`."""

    doc_cid: str
    source_name: str
    etag: str | None
    chunking: Any
    seen_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class GetTurnRow(Row):
    """A row of `get_turn`."""

    turn_id: str
    session_id: str
    role: str
    phase: str
    salience: float
    depth: int
    sibling_order: int
    homogeneity: float
    temporal: float
    complexity: float
    created_at: datetime
    content_hash: str
    text: str


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
class ImportEvalRow(Row):
    """A row of `import_eval`."""

    case_count: int
    label_count: int
    stale_labels: int


@dataclass(frozen=True, slots=True, repr=False)
class JobStateRow(Row):
    """A row of `job_state`."""

    capability: str
    corpus: str
    state: str
    error: str | None
    message: str
    hint: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class JobStatusRow(Row):
    """A row of `job_status`."""

    capability: str
    corpus: str | None
    waiting: int
    in_work: int
    failed: int
    oldest_at: datetime | None
    last_error: str | None


@dataclass(frozen=True, slots=True, repr=False)
class KeepHistoryRow(Row):
    """A row of `keep_history`."""

    kept_for: timedelta
    from_version: int
    since: datetime


@dataclass(frozen=True, slots=True, repr=False)
class KeyEvents(Row):
    """A row of type `ragdb.key_events`."""

    event_no: int
    kind: str
    at: datetime
    role: str
    key_id: str
    commitment: bytes
    is_inside: bool
    state: str
    created_at: datetime
    active_until: datetime | None
    not_after: datetime | None
    compromised_since: datetime | None
    previous: bytes
    hash: bytes
    mac: bytes | None


@dataclass(frozen=True, slots=True, repr=False)
class KnownSourcesRow(Row):
    """A row of `known_sources`."""

    uri: str
    root: str
    doc_cid: str


@dataclass(frozen=True, slots=True, repr=False)
class LedgerActs(Row):
    """A row of type `ragdb.ledger_acts`."""

    act_id: UUID
    created_at: datetime
    act: str
    caller: str
    kinds: list[str]
    corpus_id: int | None
    from_at: datetime | None
    to_at: datetime | None
    entries: list[str]
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class LedgerEntry(Row):
    """A row of type `ragdb.ledger_entry`."""

    number: int
    kind: str
    id: str
    hash: bytes
    sealed_at: datetime
    entry: bytes
    leaf_hash: bytes


@dataclass(frozen=True, slots=True, repr=False)
class LedgerStatusRow(Row):
    """A row of `ledger_status`."""

    is_on: bool
    origin: str
    size: int
    sealed_at: datetime
    pending: int
    oldest_pending: datetime
    checkpoint_size: int


@dataclass(frozen=True, slots=True, repr=False)
class ListAtomsRow(Row):
    """A row of `list_atoms`."""

    atom_id: UUID
    state: str
    text: str | None
    source_chunk_ids: list[str]
    source_slice_id: str
    trace_id: UUID
    checks: Any
    created_at: datetime
    created_by: str


@dataclass(frozen=True, slots=True, repr=False)
class ListCheckpointsRow(Row):
    """A row of `list_checkpoints`."""

    size: int
    root: bytes
    note: str
    created_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class ListCitationsRow(Row):
    """A row of `list_citations`."""

    row_no: int
    citation: int | None
    code: str | None
    is_advisory: bool
    source_id: str | None
    chunk_id: str | None
    method: str | None
    similarity: float | None
    start_offset: int | None
    end_offset: int | None
    unit: str
    text: str | None
    page: int | None


@dataclass(frozen=True, slots=True, repr=False)
class ListConflictsRow(Row):
    """A row of `list_conflicts`."""

    source: str
    winner: str
    winner_author: str
    loser: str
    loser_author: str
    loser_lamport: int
    is_open: bool
    was_erased: bool
    document: Any
    found_at: datetime


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
class ListCorporaRow(Row):
    """A row of `list_corpora`."""

    name: str
    title: str | None
    documents: int
    chunks: int
    tokens: int
    size_bytes: int
    language_majority: str | None
    drift: float | None
    version: int
    created_at: datetime
    updated_at: datetime
    part_of: str | None
    parts: int | None
    stale_parts: int | None
    moved_to: str | None


@dataclass(frozen=True, slots=True, repr=False)
class ListErasuresRow(Row):
    """A row of `list_erasures`."""

    erasure_id: UUID
    created_at: datetime
    kind: str
    item_id: UUID
    item_hash: str
    action: str
    cause: str
    caller: str
    reason: str
    is_intact: bool


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
class ListFailedEmbeddingsRow(Row):
    """A row of `list_failed_embeddings`."""

    embedder: str
    chunk_id: str
    is_dead: bool
    failures: int
    last_error: str | None
    due_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class ListFeedbackRow(Row):
    """A row of `list_feedback`."""

    feedback_id: UUID
    created_at: datetime
    corpus_name: str
    trace_id: UUID
    answer_id: UUID | None
    chunk_id: str | None
    verdict: str
    comment: str | None
    query_text: str | None
    client: str | None
    caller: str


@dataclass(frozen=True, slots=True, repr=False)
class ListGrantsRow(Row):
    """A row of `list_grants`."""

    role: str
    privilege: str
    is_dead: bool


@dataclass(frozen=True, slots=True, repr=False)
class ListHttpTokensRow(Row):
    """A row of `list_http_tokens`."""

    name: str
    role: str
    created_by: str
    created_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, repr=False)
class ListIncidentsRow(Row):
    """A row of `list_incidents`."""

    incident_id: UUID
    created_at: datetime
    kind: str
    severity: str
    trace_id: UUID
    caller: str
    reason: str
    is_intact: bool


@dataclass(frozen=True, slots=True, repr=False)
class ListMovesRow(Row):
    """A row of `list_moves`."""

    move_id: UUID
    direction: str
    corpus: str
    peer: str
    state: str
    begun_at: datetime
    begun_by: str
    ended_at: datetime | None
    left_to_send: int
    header: Any
    digest: Any


@dataclass(frozen=True, slots=True, repr=False)
class ListPartsRow(Row):
    """A row of `list_parts`."""

    name: str
    title: str | None
    documents: int
    chunks: int
    is_stale: bool
    chunks_synced: int
    synced_at: datetime
    version: int
    updated_at: datetime
    is_elsewhere: bool


@dataclass(frozen=True, slots=True, repr=False)
class ListPeerCorporaRow(Row):
    """A row of `list_peer_corpora`."""

    corpus: str
    feed: UUID
    peer: str
    remote: str
    trust: str
    url: str | None
    is_revoked: bool
    position: int
    pulled_at: datetime | None


@dataclass(frozen=True, slots=True, repr=False)
class ListPeersRow(Row):
    """A row of `list_peers`."""

    name: str
    url: str | None
    public_key: str
    trust: str
    added_by: str
    added_at: datetime
    revoked_at: datetime | None
    revoked_because: str | None


@dataclass(frozen=True, slots=True, repr=False)
class ListPoliciesRow(Row):
    """A row of `list_policies`."""

    policy_id: str
    params_hash: str
    policy: Any
    created_at: datetime
    created_by: str


@dataclass(frozen=True, slots=True, repr=False)
class ListProposalsRow(Row):
    """A row of `list_proposals`."""

    proposal_id: UUID
    status: str
    evidence_state: str
    text: str | None
    source_atoms: list[UUID]
    source_slice_id: str
    created_at: datetime
    created_by: str
    decided_at: datetime | None
    decided_by: str | None
    decision_reason: str | None


@dataclass(frozen=True, slots=True, repr=False)
class ListQuotasRow(Row):
    """A row of `list_quotas`."""

    role: str
    blob_bytes: int | None
    blob_bytes_taken: int
    hourly_failures: int | None
    concurrent_calls: int | None
    is_dead: bool
    set_at: datetime
    set_by: str


@dataclass(frozen=True, slots=True, repr=False)
class ListSharedDocumentsRow(Row):
    """A row of `list_shared_documents`."""

    source: str
    state: str
    author: str
    peer: str
    trust: str
    is_revoked: bool
    is_local: bool
    lamport: int
    event: str
    signed_at: str


@dataclass(frozen=True, slots=True, repr=False)
class ListSharedEventsRow(Row):
    """A row of `list_shared_events`."""

    position: int
    event: str
    signature: str
    body: str | None


@dataclass(frozen=True, slots=True, repr=False)
class ListSigningKeysRow(Row):
    """A row of `list_signing_keys`."""

    key_id: str
    state: str
    created_at: datetime
    active_until: datetime | None
    not_after: datetime | None
    compromised_since: datetime | None
    is_inside: bool
    is_at_hand: bool
    commitment: str


@dataclass(frozen=True, slots=True, repr=False)
class ListSlicesRow(Row):
    """A row of `list_slices`."""

    slice_id: str
    created_at: datetime
    anchor_chunk_id: str
    anchor_source: str
    chunks: int
    edge_count: int
    policy_id: str
    params_hash: str
    graph_snapshot_hash: str


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
class ListStaticModelsRow(Row):
    """A row of `list_static_models`."""

    embedder: str
    tokenizer: str
    folding: str
    pieces: int
    words: int
    digest: str
    lexical_weight: float
    is_default: bool


@dataclass(frozen=True, slots=True, repr=False)
class ListSynonymsRow(Row):
    """A row of `list_synonyms`."""

    word: str
    synonyms: list[str]


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
class ListVersionsRow(Row):
    """A row of `list_versions`."""

    version: int
    began_at: datetime
    documents: int
    chunks: int
    is_kept_from: bool


@dataclass(frozen=True, slots=True, repr=False)
class LocateQuoteRow(Row):
    """A row of `locate_quote`."""

    method: str | None
    start_offset: int
    end_offset: int
    similarity: float | None


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
class MovePageRow(Row):
    """A row of `move_page`."""

    page: int | None
    number: int
    source: str
    hash: bytes
    document: str
    uris: list[str]
    ordinals: list[int]
    embeddings: bytes | None


@dataclass(frozen=True, slots=True, repr=False)
class OptimizeCorpusRow(Row):
    """A row of `optimize_corpus`."""

    chunks: int
    pivot_before: float
    pivot: float
    lexemes_dropped: int


@dataclass(frozen=True, slots=True, repr=False)
class OriginRow(Row):
    """A row of `origin`."""

    id: UUID
    name: str


@dataclass(frozen=True, slots=True, repr=False)
class PartStatisticsRow(Row):
    """A row of `part_statistics`."""

    part: str
    is_elsewhere: bool
    version: int
    chunks: int
    lexeme_count: int
    lexemes: list[str]
    dfs: list[int]
    synced_at: datetime
    digest: bytes


@dataclass(frozen=True, slots=True, repr=False)
class PromoteToAtomRow(Row):
    """A row of `promote_to_atom`."""

    atom_id: UUID | None
    code: str
    reason: str | None


@dataclass(frozen=True, slots=True, repr=False)
class ProposeRow(Row):
    """A row of `propose`."""

    proposal_id: UUID | None
    code: str
    reason: str | None


@dataclass(frozen=True, slots=True, repr=False)
class PruneSourcesRow(Row):
    """A row of `prune_sources`."""

    documents_deleted: int
    chunks_deleted: int


@dataclass(frozen=True, slots=True, repr=False)
class PutResult(Row):
    """A row of type `ragdb.put_result`."""

    position: int
    doc_cid: str
    chunks_indexed: int
    tokens_indexed: int
    ingest_event_id: UUID
    was_duplicate: bool
    ms: float


@dataclass(frozen=True, slots=True, repr=False)
class PutTextsRow(Row):
    """A row of `put_texts`."""

    id: str
    chunks_indexed: int
    was_duplicate: bool


@dataclass(frozen=True, slots=True, repr=False)
class QueryEmbeddingStateRow(Row):
    """A row of `query_embedding_state`."""

    is_ready: bool
    last_error: str | None


@dataclass(frozen=True, slots=True, repr=False)
class RecordAnswerRow(Row):
    """A row of `record_answer`."""

    answer_id: UUID
    citation: int | None
    code: str
    is_advisory: bool
    message: str
    source_id: str | None
    chunk_id: str
    method: str | None
    start_offset: int
    end_offset: int
    similarity: float | None


@dataclass(frozen=True, slots=True, repr=False)
class RecordedAnswer(Row):
    """A row of type `ragdb.recorded_answer`."""

    answer_id: UUID
    created_at: datetime
    corpus: str
    trace_id: UUID | None
    query: str | None
    is_insufficient: bool
    is_verified: bool
    citations: int
    problems: int
    task: str | None
    model: str | None
    attempt: int
    client: str | None
    caller: str


@dataclass(frozen=True, slots=True, repr=False)
class RecordedGate(Row):
    """A row of type `ragdb.recorded_gate`."""

    gate_id: UUID
    created_at: datetime
    corpus: str
    trace_id: UUID | None
    query: str | None
    is_enough: bool
    chunks: int
    min_chunks: int
    best_score: float | None
    min_score: float
    min_score_by: str
    coverage: float | None
    min_coverage: float
    missing_terms: list[str] | None
    rank_mode: str | None
    client: str | None
    caller: str


@dataclass(frozen=True, slots=True, repr=False)
class RegisterPolicyRow(Row):
    """A row of `register_policy`."""

    policy_id: str
    params_hash: str


@dataclass(frozen=True, slots=True, repr=False)
class ReplayCitedRow(Row):
    """A row of `replay_cited`."""

    trace_id: UUID
    verdict: str
    cause: str
    detail: str
    changed_chunk_ids: list[str]
    recorded_chunk_ids: list[str]
    replayed_chunk_ids: list[str]


@dataclass(frozen=True, slots=True, repr=False)
class ReplayHitsRow(Row):
    """A row of `replay_hits`."""

    chunk_id: str
    change: str | None
    recorded_rank: int | None
    replayed_rank: int | None
    recorded_score: float | None
    replayed_score: float | None
    is_unchanged: bool | None
    source: str | None
    title: str | None
    heading: list[str]
    page: int | None
    text: str | None
    as_of: int | None


@dataclass(frozen=True, slots=True, repr=False)
class ReplayRow(Row):
    """A row of `replay`."""

    verdict: str
    cause: str
    detail: str
    changed_chunk_ids: list[str]
    recorded_chunk_ids: list[str]
    replayed_chunk_ids: list[str]


@dataclass(frozen=True, slots=True, repr=False)
class Rerankers(Row):
    """A row of type `ragdb.rerankers`."""

    name: str
    max_tokens: int
    weights_sha256: str
    source: str
    revision: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class ResolveAnchorRow(Row):
    """A row of `resolve_anchor`."""

    anchor: str | None
    resolved_by: str


@dataclass(frozen=True, slots=True, repr=False)
class ResolveTemporalRow(Row):
    """A row of `resolve_temporal`."""

    chunk_id: str
    session_id: str
    created_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class RetrievalHits(Row):
    """A row of type `ragdb.retrieval_hits`."""

    corpus_id: int
    trace_id: UUID
    created_at: datetime
    rank: int
    chunk_id: str
    content_hash: bytes
    score: float
    lexical_score: float | None
    semantic_score: float | None
    lexical_rank: int | None
    semantic_rank: int | None


@dataclass(frozen=True, slots=True, repr=False)
class RetrievalReranks(Row):
    """A row of type `ragdb.retrieval_reranks`."""

    corpus_id: int
    trace_id: UUID
    created_at: datetime
    rank: int
    chunk_id: str
    score: float
    model: str
    is_returned: bool
    recorded_at: datetime
    rerank_hash: bytes | None
    rerank_mac: bytes | None


@dataclass(frozen=True, slots=True, repr=False)
class RetrievalTraces(Row):
    """A row of type `ragdb.retrieval_traces`."""

    corpus_id: int
    id: UUID
    created_at: datetime
    corpus: str
    retriever: str | None
    rag: str | None
    retrieval_mode: str
    rank_mode: str | None
    query_text: str | None
    query_hash: str | None
    query_embedding_hash: str | None
    embedding_model: str | None
    slice_id: str | None
    anchor_chunk_id: str | None
    slice_chunk_count: int | None
    slice_edge_count: int | None
    policy_id: str | None
    policy_params_hash: str | None
    schema_version: str | None
    graph_snapshot_hash: str | None
    admissibility_token: str | None
    is_admissible: bool
    admissibility_shortfall: bool
    shortfall_reason: str | None
    limit_requested: int | None
    limit_returned: int
    min_score: float | None
    filters: Any
    chunk_ids: list[str] | None
    statistics: str | None
    ranking_hash: str | None
    result_hash: str | None
    corpus_version: int
    is_exact: bool
    elapsed_ms: float
    error_code: str | None
    client: str | None
    caller: str
    caller_oid: int
    otel_trace_id: str | None
    otel_span_id: str | None
    ranking: Any
    stages: Any
    trace_hash: bytes
    trace_mac: bytes | None


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
class SealLedgerRow(Row):
    """A row of `seal_ledger`."""

    sealed: int
    size: int
    sealed_at: datetime
    is_done: bool


@dataclass(frozen=True, slots=True, repr=False)
class SearchDualRow(Row):
    """A row of `search_dual`."""

    rank: int
    plane: str
    id: str
    text: str
    score: float
    source_ids: list[str]
    source_slice_id: str
    state: str


@dataclass(frozen=True, slots=True, repr=False)
class SharedFeedRow(Row):
    """A row of `shared_feed`."""

    feed: UUID
    author: str
    position: int
    lamport: int
    settings: Any


@dataclass(frozen=True, slots=True, repr=False)
class SliceGraphRow(Row):
    """A row of `slice_graph`."""

    chunk_id: str
    is_admitted: bool
    place: int | None
    distance: int | None
    priority: float | None
    reason: str | None
    detail: str | None
    is_unchanged: bool | None
    source: str | None
    session_id: str | None
    role: str | None
    phase: str | None
    salience: float | None
    text: str | None
    parents: list[str]
    edge_types: list[str]


@dataclass(frozen=True, slots=True, repr=False)
class SliceMembersRow(Row):
    """A row of `slice_members`."""

    place: int
    chunk_id: str
    source: str
    content_hash: str
    is_unchanged: bool


@dataclass(frozen=True, slots=True, repr=False)
class SpaceQuestionsRow(Row):
    """A row of `space_questions`."""

    origin: str
    query: str


@dataclass(frozen=True, slots=True, repr=False)
class SyncStatisticsRow(Row):
    """A row of `sync_statistics`."""

    parts: int | None
    chunks: int
    lexemes: int


@dataclass(frozen=True, slots=True, repr=False)
class ToolCandidatesRow(Row):
    """A row of `tool_candidates`."""

    reranker: str | None
    query: str
    chunk_id: str
    passage: str


@dataclass(frozen=True, slots=True, repr=False)
class TraceStagesRow(Row):
    """A row of `trace_stages`."""

    stage: str
    at: datetime
    elapsed_ms: float
    detail: str


@dataclass(frozen=True, slots=True, repr=False)
class TracedHit(Row):
    """A row of type `ragdb.traced_hit`."""

    trace_id: UUID
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


@dataclass(frozen=True, slots=True, repr=False)
class TurnHit(Row):
    """A row of type `ragdb.turn_hit`."""

    trace_id: UUID
    rank: int
    corpus: str
    chunk_id: str
    source: str
    title: str | None
    heading: list[str]
    page: int | None
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
    session_id: str
    role: str
    phase: str
    salience: float
    depth: int
    sibling_order: int
    homogeneity: float
    temporal: float
    complexity: float
    context: str | None


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


@dataclass(frozen=True, slots=True, repr=False)
class VerificationChecksRow(Row):
    """A row of `verification_checks`."""

    check: str
    is_quick: bool


@dataclass(frozen=True, slots=True, repr=False)
class VerifyAtomRow(Row):
    """A row of `verify_atom`."""

    field: str
    is_intact: bool
    stored: str
    recomputed: str
    subject: str


@dataclass(frozen=True, slots=True, repr=False)
class VerifyLedgerRow(Row):
    """A row of `verify_ledger`."""

    number: int
    kind: str
    id: str
    finding: str
    detail: str


@dataclass(frozen=True, slots=True, repr=False)
class VerifyStepRow(Row):
    """A row of `verify_step`."""

    check: str
    looked: int
    findings: Any
    next_state: Any


@dataclass(frozen=True, slots=True, repr=False)
class VerifyTokenRow(Row):
    """A row of `verify_token`."""

    valid: bool
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class VerifyTraceRow(Row):
    """A row of `verify_trace`."""

    field: str
    is_intact: bool
    stored: str
    recomputed: str
    subject: str


@dataclass(frozen=True, slots=True, repr=False)
class WhyNotRow(Row):
    """A row of `why_not`."""

    step: str
    reason: str
