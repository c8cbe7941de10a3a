"""What bodies of several routes share. Field names are those that the Graph Kernel has."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

ChunkId = Annotated[
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
Limit = Annotated[int, Field(ge=1, le=1000, description="Results at most.")]
Similarity = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, description="Least score.")]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Mode = Annotated[
    Literal["lexical", "semantic", "hybrid", "reference"] | None,
    Field(description="How results are ranked; hybrid where the corpus has embeddings."),
]


class Body(BaseModel):
    """A field that nothing obeys is refused, and one of another type is not converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Latest(BaseModel):
    """What was recorded, newest first; the next page begins before `next`, null at the end."""

    next: UUID | None


class PolicyRef(Body):
    """Names a registered slice policy."""

    policy_id: Annotated[str, Field(min_length=1, max_length=64)]
    params_hash: Annotated[str, Field(min_length=1, max_length=64)]


class Error(BaseModel):
    """What every error answers; capabilities add message, hint, retry_after_ms and job_id."""

    error: str
    code: str
    correlation_id: str
    details: Any


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
    min_similarity: float | None
    admissibility_shortfall: bool
    shortfall_reason: str | None
    corpus: str
    corpus_version: int
    rank_mode: str | None
    embedding_model: str | None
    trace_hash: str
