"""Bodies of requests and answers. Field names are those that clients of the Graph Kernel know."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

TurnId = Annotated[
    str,
    Field(min_length=1, max_length=512, description="Id of a chunk; a turn's is its UUID."),
]
Corpus = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=64,
        description="Corpus; the server's own, or the only one that holds the anchor, when absent.",
    ),
]
Query = Annotated[str, Field(min_length=1, max_length=32768, description="What is asked.")]
# in a URL each of its characters may take twelve bytes
UrlQuery = Annotated[str, Field(min_length=1, max_length=4096, description="What is asked.")]
Limit = Annotated[int, Field(ge=1, le=1000, description="Results at most.")]
Similarity = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, description="Least score.")]
Mode = Annotated[
    Literal["lexical", "semantic", "hybrid", "reference"] | None,
    Field(description="How results are ranked; hybrid where the corpus has embeddings."),
]


class Body(BaseModel):
    """A field that nothing obeys is refused, and one of another type is not converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class PolicyRef(Body):
    """Names a registered slice policy."""

    policy_id: Annotated[str, Field(min_length=1, max_length=64)]
    params_hash: Annotated[str, Field(min_length=1, max_length=64)]


class SliceRequest(Body):
    """An anchor and the policy to build around it; the default policy without one."""

    anchor_turn_id: TurnId
    policy_ref: PolicyRef | None = None
    corpus: Corpus = None


class BatchRequest(Body):
    """Up to 1,000 anchors and one policy."""

    anchor_turn_ids: Annotated[list[TurnId], Field(min_length=1, max_length=1000)]
    policy_ref: PolicyRef | None = None
    corpus: Corpus = None


class VerifyRequest(Body):
    """A token and the fields that it was issued for."""

    admissibility_token: Annotated[str, Field(max_length=1000)]
    slice_id: Annotated[str, Field(max_length=200)]
    anchor_turn_id: TurnId
    policy_id: Annotated[str, Field(max_length=64)]
    policy_params_hash: Annotated[str, Field(max_length=64)]
    graph_snapshot_hash: Annotated[str, Field(max_length=200)]
    schema_version: Annotated[str, Field(max_length=64)]
    turn_ids: Annotated[list[TurnId] | None, Field(max_length=10000)] = None
    corpus: Corpus = None


Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class PhaseWeights(Body):
    """What each phase of a conversation weighs."""

    synthesis: Share = 1.0
    planning: Share = 0.9
    consolidation: Share = 0.6
    debugging: Share = 0.5
    exploration: Share = 0.3


class Policy(Body):
    """A slice policy; fields left out have their defaults."""

    version: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")] = "slice_policy_v1"
    max_nodes: Annotated[int, Field(ge=1, le=10000)] = 256
    max_radius: Annotated[int, Field(ge=0, le=10000)] = 10
    phase_weights: PhaseWeights = PhaseWeights()
    salience_weight: Share = 0.3
    distance_decay: Share = 0.9
    include_siblings: bool = True
    max_siblings_per_node: Annotated[int, Field(ge=0, le=10000)] = 5


class SearchRequest(Body):
    """A query under a slice."""

    query: Query
    anchor_turn_id: TurnId
    policy_ref: PolicyRef | None = None
    limit: Limit = 10
    min_similarity: Similarity = 0.0
    mode: Mode = None
    filter: dict[str, Any] | None = None
    corpus: Corpus = None


# ── answers ──


class Error(BaseModel):
    """What every error answers; capabilities add message, hint, retry_after_ms and job_id."""

    error: str
    code: str
    correlation_id: str
    details: Any


class Slice(BaseModel):
    """A slice with its fingerprints and its token."""

    slice_id: str
    anchor_turn_id: str
    turn_ids: list[str]
    edge_count: int
    policy_id: str
    policy_params_hash: str
    schema_version: str
    graph_snapshot_hash: str
    admissibility_token: str


class SliceAnswer(BaseModel):
    slice: Slice
    policy_ref: PolicyRef


class BatchFailure(BaseModel):
    anchor_turn_id: str
    error: str


class BatchAnswer(BaseModel):
    slices: list[Slice]
    policy_ref: PolicyRef
    success_count: int
    errors: list[BatchFailure]


class Verdict(BaseModel):
    valid: bool
    reason: str | None


class RegisteredPolicy(BaseModel):
    policy_ref: PolicyRef
    policy: dict[str, Any]
    created_at: str
    created_by: str


class Policies(BaseModel):
    policies: list[RegisteredPolicy]
    registry_fingerprint: str


class PolicyAnswer(BaseModel):
    policy_ref: PolicyRef


class Trajectory(BaseModel):
    depth: int
    sibling_order: int
    homogeneity: float
    temporal: float
    complexity: float


class Result(BaseModel):
    """A hit. What only turns have is null for a chunk of a document."""

    turn_id: str
    content: str
    role: str | None
    similarity: float
    conversation_id: str | None
    trajectory: Trajectory | None
    phase: str | None
    salience: float | None
    rank: int
    source: str
    title: str | None
    page: int | None
    citation: dict[str, Any]
    metadata: dict[str, Any]
    content_hash: str


class SliceInfo(BaseModel):
    slice_id: str
    anchor_turn_id: str
    turn_count: int
    edge_count: int
    policy_ref: PolicyRef
    policy_id: str
    params_hash: str
    schema_version: str
    graph_snapshot_hash: str
    admissibility_token: str


class Provenance(BaseModel):
    """The chain from query to results; query_id is the trace."""

    query_id: str
    retrieval_mode: Literal["slice", "global"]
    query_text: str | None
    retrieved_turn_ids: list[str]
    timestamp: str
    elapsed_ms: float
    is_admissible: bool
    slice_id: str | None
    anchor_turn_id: str | None
    slice_info: SliceInfo | None
    query_embedding_hash: str | None
    result_hash: str
    filters_applied: dict[str, Any] | None
    limit_requested: int | None
    limit_returned: int
    admissibility_shortfall: bool
    shortfall_reason: str | None
    corpus: str
    corpus_version: int
    rank_mode: str | None
    embedding_model: str | None
    trace_hash: str


class GlobalAnswer(BaseModel):
    query: str
    results: list[Result]
    provenance: Provenance


class SearchAnswer(GlobalAnswer):
    slice_info: SliceInfo


class TraceAnswer(BaseModel):
    trace: dict[str, Any]
    hits: list[dict[str, Any]]
    reranks: list[dict[str, Any]]
    provenance: Provenance


class ReplayAnswer(BaseModel):
    verdict: Literal["exact", "same_order", "same_set", "drifted", "not_replayable"]
    cause: str | None
    detail: str | None
    changed_chunk_ids: list[str] | None
    recorded_chunk_ids: list[str] | None
    replayed_chunk_ids: list[str] | None


class Capability(BaseModel):
    name: str
    version: str
    stability: str
    trust_required: Literal["unknown", "member", "trusted", "anchor"]
    timeout_seconds: int
    max_concurrent: int
    idempotent: bool
    params: dict[str, Any]
    request_schema: dict[str, Any]
    response_schema: dict[str, Any]


class Capabilities(BaseModel):
    capabilities: list[Capability]


class Blob(BaseModel):
    doc_cid: str
    media_type: str
    size: int


class Job(BaseModel):
    job_id: str
    capability: str
    corpus: str | None
    state: Literal["waiting", "in_work", "failed", "done"]
    error: str | None
    message: str | None
    hint: str | None
    created_at: str | None


class Events(BaseModel):
    events: list[dict[str, Any]]


class Health(BaseModel):
    status: Literal["ok", "unavailable"]
    version: str
