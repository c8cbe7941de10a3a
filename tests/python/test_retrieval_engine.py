"""What each mode of retrieval does, and what a task that lies is told."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from ragdb.client import Database
from ragdb.retrieval import (
    EmptyRetriever,
    Engine,
    RagError,
    RagPolicy,
    RetrievalQuery,
    RetrievedChunk,
    Retriever,
)
from tests.conftest import Connection

GOOD = RetrievedChunk("a.md", "c1", "Gifts are refunded as vouchers.", 0.9)
OTHER = RetrievedChunk("b.md", "c2", "The moon is far away.", 0.1)
QUESTION = "How are gifts refunded?"


class Fixed:
    """A retriever that counts its calls."""

    def __init__(self, *chunks: RetrievedChunk) -> None:
        self.chunks, self.calls = chunks, 0

    def retrieve(self, query: RetrievalQuery) -> tuple[RetrievedChunk, ...]:
        self.calls += 1
        return self.chunks[: query.top_k]


@pytest.fixture
def base(db: Connection) -> Database:
    return Database(db)


RETRIEVERS: dict[str, Callable[[], Retriever | None]] = {
    "none": lambda: None,
    "empty": EmptyRetriever,
    "good": lambda: Fixed(GOOD),
    "poor": lambda: Fixed(OTHER),
}


def expected(mode: str, retriever: str, gate: bool, accepts: bool) -> str | None:
    """The failure of `required`, in the order of the specification; None for none."""
    if mode != "required":
        return None
    if not accepts:
        return "rag required but task contract does not accept evidence"
    if retriever == "none":
        return "rag required but no retriever configured"
    if retriever == "empty":
        return "rag required but no evidence found"
    if gate and retriever == "poor":
        return "insufficient evidence"
    return None


@pytest.mark.parametrize(
    ("mode", "retriever", "gate", "accepts"),
    list(
        itertools.product(
            ["off", "auto", "on", "required"], RETRIEVERS, [False, True], [False, True]
        )
    ),
)
def test_every_combination_of_mode_retriever_gate_and_contract(
    base: Database, mode: Any, retriever: str, gate: bool, accepts: bool
) -> None:
    made = RETRIEVERS[retriever]()
    policy = RagPolicy(mode=mode, enough_context_gate=gate)
    engine = Engine(base, retriever=made, policy=policy, accepts_evidence=accepts)
    failure = expected(mode, retriever, gate, accepts)
    if failure is not None:
        with pytest.raises(RagError) as caught:
            engine.run(QUESTION)
        assert str(caught.value) == failure
        assert caught.value.trace_summary["rag_mode"] == mode
        return
    answer = engine.run(QUESTION)
    retrieves = mode != "off" and accepts
    assert not isinstance(made, Fixed) or made.calls == retrieves
    has_pack = retrieves and retriever in ("good", "poor")
    assert (answer.pack is not None) is has_pack
    assert answer.output["insufficient_evidence"] is not (has_pack and retriever == "good")
    assert answer.problems == ()
    assert ("gate" in answer.trace_summary) is (gate and has_pack)
    if "gate" in answer.trace_summary:
        assert answer.trace_summary["gate"]["enough"] is (retriever == "good")


def test_auto_skips_what_needs_no_retrieval_and_says_why(base: Database) -> None:
    retriever = Fixed(GOOD)
    answer = Engine(base, retriever=retriever).run("Hello!")
    assert retriever.calls == 0
    assert answer.trace_summary["retrieval_skipped"] == "it is a greeting"
    Engine(base, retriever=retriever).run("Hello!", mode="on")
    assert retriever.calls == 1


def test_the_caller_s_evidence_is_enough_when_off(base: Database) -> None:
    retriever = Fixed(OTHER)
    answer = Engine(base, retriever=retriever).run(QUESTION, [GOOD], mode="off")
    assert retriever.calls == 0
    assert answer.output["answer"] == GOOD.text
    with pytest.raises(ValueError, match="does not accept evidence"):
        Engine(base, accepts_evidence=False).run(QUESTION, [GOOD])


def test_parts_of_a_question_are_looked_up_and_joined(base: Database) -> None:
    retriever = Fixed(GOOD, OTHER)
    answer = Engine(base, retriever=retriever).run("How are gifts refunded and where is the moon?")
    assert retriever.calls == 3
    assert answer.pack is not None
    assert [p.chunk.chunk_id for p in answer.pack.chunks] == ["c1", "c2"]


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("no JSON at all", "output: no JSON"),
        ("I cannot help with that.", "output: no JSON"),
        ("[1]", "output: no object"),
        ({"citations": [{"chunk_id": "zz"}]}, "citation[0]: unknown chunk_id 'zz'"),
        ({"answer": "x", "citations": []}, "missing citations"),
        (
            {"answer": "x", "citations": [{"chunk_id": "c1", "quote": "Gifts are never refunded"}]},
            "citation[0]: QUOTE_NOT_FOUND: the chunk does not say this",
        ),
    ],
)
def test_a_task_that_lies_is_asked_again_and_found_out(
    base: Database, output: Any, problem: str
) -> None:
    asked: list[dict[str, Any]] = []

    def lie(given: dict[str, Any]) -> Any:
        asked.append(given)
        return output

    policy = RagPolicy(mode="on", require_citations=True)
    answer = Engine(base, retriever=Fixed(GOOD), policy=policy, task=lie).run(QUESTION)
    assert answer.problems == (problem,)
    assert answer.trace_summary["verified"] is False
    assert answer.trace_summary["attempts"] == 2 == len(asked)
    assert "problems" not in asked[0]
    assert asked[1]["problems"] == [problem]


def test_a_task_may_mend_its_answer(base: Database) -> None:
    good = {"answer": "Vouchers.", "citations": [{"chunk_id": "c1", "source_id": "a.md"}]}
    answers = iter(["oops", json.dumps(good)])
    engine = Engine(base, retriever=Fixed(GOOD), task=lambda _: next(answers))
    answer = engine.run(QUESTION, require_citations=True)
    assert answer.output == good
    assert answer.problems == ()
    assert answer.trace_summary["attempts"] == 2


def test_the_summary_holds_no_text(base: Database) -> None:
    answer = Engine(base, retriever=Fixed(GOOD)).run(QUESTION, enough_context_gate=True)
    summary = json.dumps(answer.trace_summary).lower()
    assert answer.pack is not None
    assert answer.trace_summary["evidence_pack_hash"] == answer.pack.hash
    for word in ("gifts", "refunded", "vouchers"):
        assert word not in summary


def test_an_empty_question_and_an_unknown_mode_are_refused(base: Database) -> None:
    with pytest.raises(ValueError, match="question is empty"):
        Engine(base).run(" ")
    with pytest.raises(ValueError, match="mode is 'maybe'"):
        RagPolicy(mode="maybe")  # type: ignore[arg-type]
