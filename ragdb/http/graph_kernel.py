"""The routes of the Graph Kernel: slices, their tokens, their policies."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from pydantic import AwareDatetime, BaseModel, Field

from ragdb.client._generated import rows
from ragdb.http import models as m
from ragdb.http.gate import Answer
from ragdb.http.routes import Count, Routes, Token, check_turn_ids, failures, policy_of, ref_of
from ragdb.http.server import Server
from ragdb.http.transactions import Refused


class SliceRequest(m.Body):
    """An anchor and the policy to build around it; the default policy without one."""

    anchor_turn_id: m.ChunkId
    policy_ref: m.PolicyRef | None = None
    corpus: m.Corpus = None


class BatchRequest(m.Body):
    """Up to 1,000 anchors and one policy."""

    anchor_turn_ids: Annotated[list[m.ChunkId], Field(min_length=1, max_length=1000)]
    policy_ref: m.PolicyRef | None = None
    corpus: m.Corpus = None


class VerifyRequest(m.Body):
    """A token and the fields that it was issued for: a slice as it was answered."""

    admissibility_token: Annotated[str, Field(max_length=1000)]
    slice_id: Annotated[str, Field(max_length=200)]
    anchor_turn_id: m.ChunkId
    policy_id: Annotated[str, Field(max_length=64)]
    policy_params_hash: Annotated[str, Field(max_length=64)]
    graph_snapshot_hash: Annotated[str, Field(max_length=200)]
    schema_version: Annotated[str, Field(max_length=64)]
    turn_ids: Annotated[list[m.ChunkId] | None, Field(max_length=10000)] = None
    edge_count: Annotated[int | None, Field(ge=0, le=2**31 - 1)] = None
    corpus: m.Corpus = None


class PhaseWeights(m.Body):
    """What each phase of a conversation weighs."""

    synthesis: m.Share = 1.0
    planning: m.Share = 0.9
    consolidation: m.Share = 0.6
    debugging: m.Share = 0.5
    exploration: m.Share = 0.3


class Policy(m.Body):
    """A slice policy; fields left out have their defaults."""

    version: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")] = "slice_policy_v1"
    max_nodes: Annotated[int, Field(ge=1, le=10000)] = 256
    max_radius: Annotated[int, Field(ge=0, le=10000)] = 10
    phase_weights: PhaseWeights = PhaseWeights()
    salience_weight: m.Share = 0.3
    distance_decay: m.Share = 0.9
    include_siblings: bool = True
    max_siblings_per_node: Annotated[int, Field(ge=0, le=10000)] = 5


class GraphRequest(m.Body):
    """A stored slice, or an anchor and the policy to build around it; the default without one."""

    corpus: Annotated[str, Field(min_length=1, max_length=64)]
    slice_id: Annotated[str | None, Field(max_length=200)] = None
    anchor_turn_id: m.ChunkId | None = None
    policy_ref: m.PolicyRef | None = None
    policy: Policy | None = None
    refused: Annotated[
        int, Field(ge=0, le=10000, description="Refused chunks at most, nearest first.")
    ] = 100


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
    policy_ref: m.PolicyRef


class Graph(BaseModel):
    """The chunks of a slice in order of selection, then what it refused."""

    nodes: list[rows.SliceGraphRow]


class Stored(BaseModel):
    slices: list[rows.ListSlicesRow]


class BatchFailure(BaseModel):
    anchor_turn_id: str
    error: str


class BatchAnswer(BaseModel):
    slices: list[Slice]
    policy_ref: m.PolicyRef
    success_count: int
    errors: list[BatchFailure]


class Verdict(BaseModel):
    valid: bool
    reason: str | None


class RegisteredPolicy(BaseModel):
    policy_ref: m.PolicyRef
    policy: dict[str, Any]
    created_at: str | None
    created_by: str | None


class Policies(BaseModel):
    policies: list[RegisteredPolicy]
    registry_fingerprint: str


class PolicyAnswer(BaseModel):
    policy_ref: m.PolicyRef


def _slice(row: Any) -> dict[str, Any]:
    return {
        "slice_id": row.slice_id,
        "anchor_turn_id": row.anchor_chunk_id,
        "turn_ids": row.chunk_ids,
        "edge_count": row.edge_count,
        "policy_id": row.policy_id,
        "policy_params_hash": row.params_hash,
        "schema_version": row.schema_version,
        "graph_snapshot_hash": row.graph_snapshot_hash,
        "admissibility_token": row.admissibility_token,
    }


def register(app: FastAPI, server: Server) -> None:
    routes = Routes(app, "Graph Kernel", 404, 409)
    _stored_slices(routes, server)

    @routes.post("/api/slice", response_model=SliceAnswer)
    async def build_slice(request: Request, body: SliceRequest, _: Token) -> Answer:
        """Build the slice that a policy admits around an anchor, with its admissibility token."""
        check_turn_ids([body.anchor_turn_id])
        async with server.transaction(request) as db:
            corpus = await server.corpus(db, body.corpus, [body.anchor_turn_id])
            built = await db.build_slice(corpus, body.anchor_turn_id, policy_of(body.policy_ref))
        return Answer({"slice": _slice(built), "policy_ref": ref_of(built)})

    @routes.post("/api/slice/batch", response_model=BatchAnswer)
    async def build_slices(request: Request, body: BatchRequest, _: Token) -> Answer:
        """Build a slice for each anchor; an anchor that is missing does not fail the others."""
        check_turn_ids(body.anchor_turn_ids)
        async with server.transaction(request) as db:
            corpus = await server.corpus(db, body.corpus, body.anchor_turn_ids)
            policy = policy_of(body.policy_ref)
            built = await db.build_slices(corpus, body.anchor_turn_ids, policy)
            if policy is None:
                default = await db.policy_hash({})
                policy = {"policy_id": "slice_policy_v1", "params_hash": default}
        slices = [_slice(row) for row in built if row.error_code is None]
        failed = [
            {"anchor_turn_id": row.anchor_chunk_id, "error": row.error}
            for row in built
            if row.error_code is not None
        ]
        return Answer(
            {
                "slices": slices,
                "policy_ref": policy,
                "success_count": len(slices),
                "errors": failed,
            }
        )

    @routes.post("/api/verify_token", response_model=Verdict)
    async def verify_token(request: Request, body: VerifyRequest, _: Token) -> Answer:
        """Say whether a token was issued for these fields and the evidence is still what it was."""
        check_turn_ids([body.anchor_turn_id, *(body.turn_ids or ())])
        async with server.transaction(request) as db:
            corpus = await server.corpus(db, body.corpus, [body.anchor_turn_id])
            verdict = await db.verify_token(
                corpus,
                body.admissibility_token,
                body.slice_id,
                body.anchor_turn_id,
                body.policy_id,
                body.policy_params_hash,
                body.graph_snapshot_hash,
                body.schema_version,
                body.turn_ids,
                body.edge_count,
            )
        return Answer({"valid": verdict.valid, "reason": verdict.reason})

    @routes.get("/api/policies", response_model=Policies, responses=failures())
    async def list_policies(request: Request, _: Token) -> Answer:
        """List the slice policies that may be named: the registered ones and the default."""
        async with server.transaction(request) as db:
            found = await db.list_policies()
            fingerprint = await db.registry_fingerprint()
        listed = [
            {
                "policy_ref": ref_of(row),
                "policy": row.policy,
                "created_at": row.created_at,
                "created_by": row.created_by,
            }
            for row in found
        ]
        return Answer({"policies": listed, "registry_fingerprint": fingerprint})

    @routes.post("/api/policies", response_model=PolicyAnswer, responses=failures(409))
    async def register_policy(request: Request, body: Policy, _: Token) -> Answer:
        """Register a slice policy; registering it again changes nothing."""
        async with server.transaction(request) as db:
            row = await db.register_policy(body.model_dump(exclude_unset=True))
        return Answer({"policy_ref": ref_of(row)})


def _stored_slices(routes: Routes, server: Server) -> None:
    @routes.get("/api/slices", response_model=Stored, responses=failures(404))
    async def list_slices(
        request: Request,
        _: Token,
        corpus: Annotated[str, Query(min_length=1, max_length=64)],
        since: Annotated[AwareDatetime | None, Query(description="Stored then or later.")] = None,
        count: Count = 50,
        before: Annotated[str | None, Query(description="Last id of the page before.")] = None,
    ) -> Answer:
        """List the stored slices of a corpus, newest first."""
        async with server.transaction(request) as db:
            listed = await db.list_slices(server.served(corpus), since, count, before)
        return Answer({"slices": listed})

    @routes.post("/api/slice/graph", response_model=Graph, responses=failures(404))
    async def slice_graph(request: Request, body: GraphRequest, _: Token) -> Answer:
        """Return the chunks of a slice with their edges, and those it refused, each with why."""
        if body.policy is not None and body.policy_ref is not None:
            raise Refused(400, "BAD_REQUEST", "a policy is given in full or by its reference")
        policy: Any = policy_of(body.policy_ref)
        if body.policy is not None:
            policy = body.policy.model_dump(exclude_unset=True)
        async with server.transaction(request) as db:
            nodes = await db.slice_graph(
                server.served(body.corpus),
                body.slice_id,
                body.anchor_turn_id,
                policy,
                body.refused,
            )
        return Answer({"nodes": nodes})
