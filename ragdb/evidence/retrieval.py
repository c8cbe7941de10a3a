"""What a retriever is: a query in, chunks out, best first.

`ragdb.evidence.engine` runs a task over what is found. Nothing here needs a database.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class RetrievalQuery:
    """What to retrieve: a question or words, and how many chunks at most (1 or more)."""

    query: str
    top_k: int = 8

    def __post_init__(self) -> None:
        if self.top_k < 1:
            raise ValueError(f"top_k is {self.top_k}, not 1 or more")


@dataclass(frozen=True, slots=True)
class RetrievedChunk:
    """A chunk with the source that a citation names, and its score in [0, 1]."""

    source_id: str
    chunk_id: str
    text: str
    score: float = 0.0
    metadata: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The chunk as packs hold it."""
        return {
            **self.metadata,
            "source_id": self.source_id,
            "chunk_id": self.chunk_id,
            "text": self.text,
            "score": self.score,
        }


@runtime_checkable
class Retriever(Protocol):
    """Whatever finds chunks for a query, best first, at most `top_k`."""

    def retrieve(self, query: RetrievalQuery) -> tuple[RetrievedChunk, ...]:
        """The chunks found; none is an answer too."""
        ...


class EmptyRetriever:
    """Finds nothing."""

    def retrieve(self, query: RetrievalQuery) -> tuple[RetrievedChunk, ...]:
        return ()
