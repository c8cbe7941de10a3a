"""The chain from a query to what was found, as the trace of the retrieval has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import uuid4

from ragdb.adapters.rag_plusplus.slice.export import PolicyRef

TOKEN_PARTS = 5


@dataclass(frozen=True)
class SliceInfo:
    """The slice that a retrieval was held to."""

    slice_id: str
    anchor_turn_id: str
    turn_count: int
    edge_count: int
    policy_ref: PolicyRef
    schema_version: str
    graph_snapshot_hash: str = ""
    admissibility_token: str = ""

    def has_valid_token(self) -> bool:
        """Whether all is there that a token covers, and the token has the form of one.

        Whether it was issued for this only the database knows: ``ragdb.verify_token``. It is what
        a promotion asks.
        """
        covered = (self.slice_id, self.anchor_turn_id, self.graph_snapshot_hash)
        parts = self.admissibility_token.split(".")
        return all(covered) and len(parts) == TOKEN_PARTS and parts[0] == "rgt1" and all(parts)


@dataclass(frozen=True)
class RetrievalProvenance:
    """What was asked, of which slice, and what was found; ``query_id`` is its trace."""

    query_id: str
    retrieval_mode: Literal["slice", "global"]
    query_text: str | None
    retrieved_turn_ids: list[str]
    timestamp: str
    elapsed_ms: float
    slice_info: SliceInfo | None = None
    query_embedding_hash: str | None = None
    result_hash: str | None = None
    filters_applied: Mapping[str, Any] | None = None
    limit_requested: int | None = None
    limit_returned: int | None = None
    admissibility_shortfall: bool = False
    min_similarity: float | None = None

    @property
    def is_admissible(self) -> bool:
        """Whether what was found may be promoted: it comes from a slice with a token, all of it."""
        return (
            self.retrieval_mode == "slice"
            and self.slice_info is not None
            and self.slice_info.has_valid_token()
            and not self.admissibility_shortfall
        )

    @property
    def slice_id(self) -> str | None:
        return self.slice_info.slice_id if self.slice_info else None

    @property
    def anchor_turn_id(self) -> str | None:
        return self.slice_info.anchor_turn_id if self.slice_info else None

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> RetrievalProvenance:
        """The provenance that ``ragdb.provenance`` returns."""
        own = {name: given[name] for name in cls.__dataclass_fields__ if name in given}
        if info := given.get("slice_info"):
            names = SliceInfo.__dataclass_fields__
            own["slice_info"] = SliceInfo(
                **{name: info[name] for name in names if name in info and name != "policy_ref"},
                policy_ref=PolicyRef(**info["policy_ref"]),
            )
        return cls(**own)

    @classmethod
    def create_slice_provenance(
        cls,
        query_text: str,
        retrieved_turn_ids: Sequence[str],
        slice_info: SliceInfo,
        elapsed_ms: float = 0.0,
        **more: Any,
    ) -> RetrievalProvenance:
        """The provenance of a search of a slice that the caller made himself."""
        return cls._made("slice", query_text, retrieved_turn_ids, elapsed_ms, slice_info, more)

    @classmethod
    def create_global_provenance(
        cls,
        query_text: str,
        retrieved_turn_ids: Sequence[str],
        elapsed_ms: float = 0.0,
        **more: Any,
    ) -> RetrievalProvenance:
        """The provenance of a search of a whole corpus that the caller made himself."""
        return cls._made("global", query_text, retrieved_turn_ids, elapsed_ms, None, more)

    @classmethod
    def _made(
        cls,
        mode: Literal["slice", "global"],
        query_text: str,
        turn_ids: Sequence[str],
        elapsed_ms: float,
        slice_info: SliceInfo | None,
        more: Mapping[str, Any],
    ) -> RetrievalProvenance:
        return cls(
            query_id=str(uuid4()),
            retrieval_mode=mode,
            query_text=query_text,
            retrieved_turn_ids=list(turn_ids),
            timestamp=datetime.now(UTC).isoformat(),
            elapsed_ms=elapsed_ms,
            slice_info=slice_info,
            **more,
        )
