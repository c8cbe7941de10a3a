"""A question answered from a corpus: what `Database.ask` and `ragdb ask` do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

from ragdb.client.calling import unknown
from ragdb.evidence.answers import Answer, PolicyOverrides, RagError, Task, Told
from ragdb.evidence.database import CorpusRetriever, Embed, PostgresRetriever
from ragdb.evidence.engine import Engine
from ragdb.evidence.retrieval import RetrievedChunk, Retriever
from ragdb.evidence.tasks import Gate, Mode, RagPolicy, TaskContract, Unit

if TYPE_CHECKING:
    from ragdb.client._generated.rows import AskedRetriever
    from ragdb.client.client import Client
    from ragdb.models.rerank import Reranker


THRESHOLDS = ("min_chunks", "min_score", "min_coverage")
SPAN = ("otel_trace_id", "otel_span_id")


class Asking(TypedDict, total=False):
    """How a question is answered; everything may be left out."""

    k: int | None
    """Chunks of evidence at most, 1 to 1000 (default 8, or what the contract says)."""
    max_context: int | None
    """Tokens of evidence at most (default: no limit)."""
    min_chunks: int
    """Least number of chunks to answer, 0 to 1000 (default 1)."""
    min_coverage: float
    """Least share of the question's words in the evidence, 0 to 1 (default 0.5)."""
    require_citations: bool
    """Whether an answer without citations is refused (default true)."""
    plan: Any
    """What to look up, in place of `ragdb.rag_query_plan`."""
    otel_trace_id: str | None
    """The OpenTelemetry span that asks, which the traces name."""
    otel_span_id: str | None
    """See `otel_trace_id`."""
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
    mode: Mode | None
    """Whether chunks are retrieved: off, auto, on or required (default on)."""
    filter: Mapping[str, Any] | None
    """Conditions on what is looked up, as in `search` (default: none)."""
    rank_mode: str | None
    """How chunks are ranked (default: hybrid where the corpus has embeddings)."""
    retriever: str | None
    """A retriever of a contract, in place of the corpus's own search."""
    rag: str | None
    """A rag of a contract, whose retriever and grounding count."""
    gate: bool
    """Whether the evidence is weighed (default true)."""
    evidence: Sequence[RetrievedChunk]
    """Chunks that the caller brings, which come first."""
    record: bool
    """Whether retrieval, gate and answer are recorded (default: true)."""
    told: Told
    """Hears of each stage when it is over; see `Engine`."""


def ask(db: Client, corpus: str | None, question: str, asking: Asking) -> Answer:
    """The answer from the evidence of a corpus; see `Database.ask`.

    One that the mode `required` refuses is an answer too, as in SQL: its status is failed.
    """
    if others := asking.keys() - Asking.__annotations__.keys():
        raise TypeError(unknown("ask", min(others), Asking.__annotations__))
    contract = asking.get("contract")
    source = _source(db, corpus, asking)
    policy = RagPolicy("on", require_citations=True, enough_context_gate=True)
    if source is not None:
        unit: Unit = "token" if source.max_context is None else "char"
        policy = replace(policy, top_k=source.k, max_context=source.max_context, unit=unit)
    engine = Engine(
        db,
        retriever=_retriever(db, source, asking),
        task=_task(asking.get("model"), asking.get("endpoint")),
        contract=contract,
        policy=None if contract else policy,
        planner=None if (plan := asking.get("plan")) is None else lambda _: plan,
        name=asking.get("rag"),
        sentences=asking.get("sentences", 2),
        client=asking.get("client", "ragdb.ask"),
        told=asking.get("told"),
    )
    overrides = _overrides(asking, engine.policy)
    try:
        return engine.run(question, asking.get("evidence", ()), **overrides)
    except RagError as error:
        return error.answer


def _source(db: Client, corpus: str | None, asking: Asking) -> AskedRetriever | None:
    """What queries are looked up by. Who brings evidence need not have a corpus."""
    contract, retriever, rag = asking.get("contract"), asking.get("retriever"), asking.get("rag")
    mode = asking.get("mode") or (contract.policy.mode if contract else "on")
    takes_evidence = contract is None or contract.supports_rag
    looks_up = mode != "off" and takes_evidence and not asking.get("evidence")
    if not looks_up and corpus is retriever is rag is None:
        return None
    return db.ask_retriever(corpus, retriever, rag, asking.get("k"), asking.get("rank_mode"))


def _overrides(asking: Asking, policy: RagPolicy) -> PolicyOverrides:
    overrides: PolicyOverrides = {}
    if (mode := asking.get("mode")) is not None:
        overrides["mode"] = mode
    if (k := asking.get("k")) is not None:
        overrides["top_k"] = k
    if (max_context := asking.get("max_context")) is not None:
        overrides |= {"max_context": max_context, "unit": "token"}
    if (required := asking.get("require_citations")) is not None:
        overrides["require_citations"] = required
    thresholds = _given(asking, THRESHOLDS)
    if asking.get("gate") is False:
        overrides["enough_context_gate"] = False
    elif thresholds:
        overrides["enough_context_gate"] = replace(policy.gate or Gate(), **thresholds)
    return overrides


def _given(asking: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: asking[name] for name in names if asking.get(name) is not None}


def _retriever(db: Client, source: AskedRetriever | None, asking: Asking) -> Retriever | None:
    if source is None:
        return None
    how: Any = {
        "embed": asking.get("embed"),
        "rerank": asking.get("rerank"),
        "filter": asking.get("filter"),
        "client": asking.get("client", "ragdb.ask"),
        "span": _given(asking, SPAN),
        "record": asking.get("record", True),
    }
    if source.retriever is not None:
        return PostgresRetriever(db, source.retriever, rag=source.rag, corpus=source.corpus, **how)
    return CorpusRetriever(db, source.corpus, mode=source.mode, **how)


def _task(model: str | Task | None, endpoint: str | None) -> Task | None:
    if model is None and endpoint is not None:
        raise ValueError("endpoint without model: name the model that answers")
    if not isinstance(model, str):
        return model
    from ragdb.models.chat import OpenAIModel

    return OpenAIModel(model, endpoint)
