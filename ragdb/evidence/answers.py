"""What a task is given and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypedDict
from uuid import UUID

from ragdb.client.counting import counted
from ragdb.evidence.packs import EvidencePack
from ragdb.evidence.tasks import Gate, Mode, Unit

Task = Callable[[dict[str, Any]], "dict[str, Any] | str"]
Planner = Callable[[str], "dict[str, Any] | str"]
Told = Callable[[str, dict[str, Any]], None]
NOTHING = {"answer": "", "citations": []}
PROVES = "reference, location and lexical support of each citation, not entailment"


class InferencePlanner(Protocol):
    """Whatever plans what to look up for a question, in place of `ragdb.rag_query_plan`."""

    def plan(self, question: str) -> dict[str, Any] | str:
        """{"needs_retrieval", "queries", "reason"}, or its JSON."""
        ...


class PolicyOverrides(TypedDict, total=False):
    """Fields of `RagPolicy`."""

    mode: Mode
    top_k: int
    require_citations: bool
    max_context: int | None
    enough_context_gate: bool | Gate
    unit: Unit


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """What a task returned, with the evidence it had and what is wrong with it (nothing, or why).

    An output with `problems` has not been verified and is not to be shown as an answer.
    `trace_summary` holds ids, hashes, counts and verdicts, never a prompt or a text.
    """

    output: dict[str, Any]
    pack: EvidencePack | None
    problems: tuple[str, ...]
    trace_summary: dict[str, Any]
    gate: dict[str, Any] | None = None
    """The verdict of the gate with the terms that are missing; None where none was asked."""
    status: str = "answered"
    """answered, insufficient, unverified, or failed where the mode `required` could not be met."""
    reason: str | None = None
    """Why there is no answer; None where there is one."""

    @property
    def text(self) -> str:
        """The answer; empty where the evidence does not say."""
        return str(self.output.get("answer") or "")

    @property
    def citations(self) -> list[dict[str, Any]]:
        """What the answer cites: chunk, source and the words that it rests on."""
        return list(self.output.get("citations") or [])

    @property
    def is_answered(self) -> bool:
        """Whether there is an answer whose citations hold."""
        return self.status == "answered"

    @property
    def trace_id(self) -> UUID | None:
        """The trace of the first retrieval; None where none was recorded."""
        return next(map(UUID, self.trace_summary.get("trace_ids", [])), None)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        if not self.is_answered:
            return f"Answer({self.status}: {self.reason})"
        return f"Answer({self.text[:200]!r}, {counted(len(self.citations), 'citation')})"

    def as_json(self) -> dict[str, Any]:
        """The answer as every door gives it: the output and what is known of it."""
        return {
            **(self.output or NOTHING),
            "status": self.status,
            "reason": self.reason,
            "problems": list(self.problems),
            "proves": PROVES,
            "gate": self.gate,
            "evidence_hash": self.pack.hash if self.pack else None,
            "trace_id": str(self.trace_id) if self.trace_id else None,
            "trace_summary": self.trace_summary,
        }


class RagError(Exception):
    """A task that could not be run as its policy demands; `trace_summary` says how far it came."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.reason)
        self.answer, self.trace_summary = answer, answer.trace_summary
