"""A question answered from a corpus: what `Database.ask` and `ragdb ask` do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

from ragdb.evidence.answers import Answer, PolicyOverrides, Task, Told
from ragdb.evidence.database import CorpusRetriever, Embed
from ragdb.evidence.engine import Engine
from ragdb.evidence.tasks import Gate, RagPolicy, TaskContract

if TYPE_CHECKING:
    from ragdb.client.client import Client
    from ragdb.models.rerank import Reranker


class Asking(TypedDict, total=False):
    """How a question is answered; everything may be left out."""

    k: int | None
    """Chunks of evidence at most, 1 to 1000 (default 8, or what the contract says)."""
    max_context: int | None
    """Tokens of evidence at most (default: no limit)."""
    min_score: float | None
    """Least best score to answer, 0 to 1 (default: the floor of the corpus)."""
    sentences: int
    """Sentences of an answer that is made of the corpus's own (default 2)."""
    model: str | Task | None
    """What writes the answer: the name of a model at `endpoint`, or a callable."""
    endpoint: str | None
    """An OpenAI-compatible endpoint (default OPENAI_BASE_URL)."""
    contract: TaskContract | None
    """A task's contract.json."""
    rerank: str | Reranker | None
    """A reranker, by its name, that puts the evidence in order."""
    embed: Embed | None
    """Makes the embedding of the question (default: the corpus's embedder)."""
    client: str
    """What the trace says asked."""
    mode: str | None
    """How chunks are ranked (default: hybrid where the corpus has embeddings)."""
    record: bool
    """Whether retrieval, gate and answer are recorded (default: true)."""
    told: Told
    """Hears of each stage when it is over; see `Engine`."""


def ask(db: Client, corpus: str, question: str, asking: Asking) -> Answer:
    """The answer from the evidence of a corpus; see `Database.ask`."""
    if unknown := asking.keys() - Asking.__annotations__.keys():
        raise TypeError(f"ask() has no argument {min(unknown)!r}")
    client = asking.get("client", "ragdb.ask")
    contract = asking.get("contract")
    retriever = CorpusRetriever(
        db,
        corpus,
        mode=asking.get("mode"),
        embed=asking.get("embed"),
        client=client,
        rerank=asking.get("rerank"),
        record=asking.get("record", True),
    )
    engine = Engine(
        db,
        retriever=retriever,
        task=_task(asking.get("model"), asking.get("endpoint")),
        contract=contract,
        policy=None if contract else RagPolicy("on", 8, True, None, True),
        sentences=asking.get("sentences", 2),
        client=client,
        told=asking.get("told"),
    )
    overrides: PolicyOverrides = {}
    if (k := asking.get("k")) is not None:
        overrides["top_k"] = k
    if (max_context := asking.get("max_context")) is not None:
        overrides["max_context"] = max_context
    if (min_score := asking.get("min_score")) is not None:
        gate = engine.policy.gate or Gate()
        overrides["enough_context_gate"] = replace(gate, min_score=min_score)
    return engine.run(question, **overrides)


def _task(model: str | Task | None, endpoint: str | None) -> Task | None:
    if model is None and endpoint is not None:
        raise ValueError("endpoint without model: name the model that answers")
    if not isinstance(model, str):
        return model
    from ragdb.models.chat import OpenAIModel

    return OpenAIModel(model, endpoint)
