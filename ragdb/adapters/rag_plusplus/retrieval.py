"""Retrieval that is held to a slice, as ``rag_plusplus.retrieval`` has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from ragdb.adapters.rag_plusplus.database import one_of, only_corpus, vector_of
from ragdb.adapters.rag_plusplus.errors import SliceFailed
from ragdb.adapters.rag_plusplus.provenance import RetrievalProvenance, SliceInfo
from ragdb.adapters.rag_plusplus.slice.export import PolicyRef, SliceExport
from ragdb.client._generated.rows import TurnHit
from ragdb.database import Database, connect

__all__ = [
    "GlobalResults",
    "MemoryRetriever",
    "PolicyRef",
    "RetrievalProvenance",
    "SearchResult",
    "SliceInfo",
    "SliceScopedQuery",
    "SliceScopedResults",
    "TrajectoryCoordinates",
]


@dataclass(frozen=True)
class TrajectoryCoordinates:
    """Where a turn stands in its conversation."""

    depth: int
    sibling_order: int
    homogeneity: float
    temporal: float
    complexity: float


@dataclass(frozen=True)
class SearchResult:
    """A turn that was found. What only turns have is None for a chunk of a document."""

    turn_id: str
    content: str
    role: str | None
    similarity: float
    conversation_id: str | None
    trajectory: TrajectoryCoordinates | None
    metadata: dict[str, Any]


class Results(list[SearchResult]):
    """What a search found, best first, and its provenance."""

    def __init__(self, found: Iterable[SearchResult], provenance: RetrievalProvenance) -> None:
        super().__init__(found)
        self.provenance = provenance

    @property
    def results(self) -> list[SearchResult]:
        return list(self)


class SliceScopedResults(Results):
    """Results of a slice alone."""


class GlobalResults(Results):
    """Results of a whole corpus, which cannot be promoted."""


@dataclass(frozen=True)
class SliceScopedQuery:
    """A query with the turns that may answer it."""

    text: str
    slice_id: str
    anchor_turn_id: str
    admissible_turn_ids: frozenset[str]
    policy_ref: PolicyRef
    limit: int = 10

    @classmethod
    def from_slice_export(
        cls, text: str, slice_export: SliceExport, limit: int = 10
    ) -> SliceScopedQuery:
        return cls(
            text,
            slice_export.slice_id,
            slice_export.anchor_turn_id,
            frozenset(slice_export.turn_ids),
            slice_export.policy_ref,
            limit,
        )

    def is_admissible(self, turn_id: str) -> bool:
        return turn_id in self.admissible_turn_ids

    def filter_admissible(self, turn_ids: Iterable[str]) -> list[str]:
        """Those of some turns that may answer, in their order."""
        return [turn_id for turn_id in turn_ids if turn_id in self.admissible_turn_ids]


class MemoryRetriever:
    """Searches the turns of a database, and leaves a trace of each search.

    Without a database it connects to the one of the environment, as ``ragdb.connect`` does;
    ``corpus`` is needed where there are several.
    """

    def __init__(self, database: Database | None = None, corpus: str | None = None) -> None:
        self.database = connect() if database is None else database
        self.corpus = corpus

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *of: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self.database.close()

    def search_slice(
        self,
        query: str,
        slice_export: SliceExport,
        limit: int = 10,
        min_similarity: float = 0.0,
        filter: Mapping[str, Any] | None = None,
        embedding: Sequence[float] | None = None,
    ) -> SliceScopedResults:
        """The best turns of a slice.

        Raises SliceFailed where its token does not verify: the slice is not one that was handed
        out, or what it names has changed since.
        """
        corpus = self.corpus or one_of(
            self.database.corpora_with_chunks([slice_export.anchor_turn_id]), "with the anchor"
        )
        self._verify(corpus, slice_export)
        ref = slice_export.policy_ref
        hits = self.database.retrieve_slice(
            corpus,
            query,
            anchor=slice_export.anchor_turn_id,
            policy={"policy_id": ref.policy_id, "params_hash": ref.params_hash},
            k=limit,
            min_score=min_similarity,
            filter=filter,
            query_embedding=vector_of(self.database, corpus, query, embedding),
        )
        provenance = RetrievalProvenance.from_dict(self.database.provenance(hits.trace_id))
        if provenance.slice_id != slice_export.slice_id:
            raise SliceFailed("SLICE_FAILED", "the graph around the anchor has changed: ask anew")
        return SliceScopedResults(map(_result, hits), provenance)

    def search_global(
        self,
        query: str,
        limit: int = 10,
        min_similarity: float = 0.0,
        filter: Mapping[str, Any] | None = None,
        embedding: Sequence[float] | None = None,
    ) -> GlobalResults:
        """The best turns and chunks of the whole corpus, which are never admissible."""
        corpus = self.corpus or only_corpus(self.database)
        hits = self.database.retrieve_global(
            corpus,
            query,
            limit,
            min_score=min_similarity,
            filter=filter,
            query_embedding=vector_of(self.database, corpus, query, embedding),
        )
        provenance = RetrievalProvenance.from_dict(self.database.provenance(hits.trace_id))
        return GlobalResults(map(_result, hits), provenance)

    search = search_global

    def _verify(self, corpus: str, given: SliceExport) -> None:
        verdict = self.database.verify_token(
            corpus,
            given.admissibility_token,
            given.slice_id,
            given.anchor_turn_id,
            given.policy_id,
            given.policy_params_hash,
            given.graph_snapshot_hash,
            given.schema_version,
            given.turn_ids,
            given.edge_count,
        )
        if not verdict.valid:
            raise SliceFailed("SLICE_FAILED", f"the token of the slice: {verdict.reason}")


def _result(hit: TurnHit) -> SearchResult:
    trajectory = None
    if hit.depth is not None:
        names = TrajectoryCoordinates.__dataclass_fields__
        trajectory = TrajectoryCoordinates(**{name: getattr(hit, name) for name in names})
    return SearchResult(
        hit.chunk_id, hit.text, hit.role, hit.score, hit.session_id, trajectory, hit.metadata
    )
