"""What each mode of retrieval does, and how the output of a lying task is refused."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragdb.database import Database
from ragdb.errors import InvalidArgument
from ragdb.evidence.answers import RagError
from ragdb.evidence.engine import Engine
from ragdb.evidence.retrieval import EmptyRetriever, RetrievalQuery, RetrievedChunk, Retriever
from ragdb.evidence.tasks import RagPolicy, TaskContract
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


CONTRACTS: dict[str, dict[str, Any]] = {
    "none": {},
    "none, no evidence": {"accepts_evidence": False},
    "no rag": {"contract": TaskContract("t", "1")},
    "supports": {"contract": TaskContract("t", "1", supports_rag=True)},
    "requires": {"contract": TaskContract("t", "1", supports_rag=True, requires_rag=True)},
}


def expected(mode: str, retriever: str, gate: bool, contract: str, given: bool) -> str | None:
    """What a call is refused with, in the order of the specification; None for none."""
    accepts = contract not in ("none, no evidence", "no rag")
    if contract == "requires" and mode == "off" and not given:
        return "the task contract requires evidence, but there is none"
    if given and not accepts:
        return "the task contract does not accept evidence"
    if contract == "requires" and mode != "off":
        mode = "required"
    if mode != "required":
        return None
    if not accepts:
        return "rag required but task contract does not accept evidence"
    if retriever == "none":
        return "rag required but no retriever configured"
    if retriever == "empty":
        return "rag required but no evidence found"
    if gate and retriever == "poor" and not given:
        return "insufficient evidence"
    return None


@pytest.mark.by_day(4)
@pytest.mark.parametrize("mode", ["off", "auto", "on", "required"])
@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_every_combination_of_mode_retriever_chunks_gate_and_contract(
    base: Database, mode: Any, retriever: str
) -> None:
    for gate, contract in itertools.product([False, True], CONTRACTS):
        agrees(base, mode, retriever, gate, contract)


def agrees(base: Database, mode: Any, retriever: str, gate: bool, contract: str) -> None:
    for evidence in ((), (GOOD,)):
        made = RETRIEVERS[retriever]()
        engine = Engine(base, retriever=made, **CONTRACTS[contract])
        failure = expected(mode, retriever, gate, contract, bool(evidence))
        if failure is not None:
            with (
                pytest.raises((RagError, InvalidArgument)) as caught,
                base.connection.transaction(),
            ):
                engine.run(QUESTION, evidence, mode=mode, enough_context_gate=gate)
            assert str(caught.value).splitlines()[0] == failure
            assert isinstance(caught.value, RagError) is not failure.startswith("the task")
            if isinstance(caught.value, RagError):
                assert caught.value.trace_summary["rag_mode"] == "required"
            continue
        answer = engine.run(QUESTION, evidence, mode=mode, enough_context_gate=gate)
        accepts = contract not in ("none, no evidence", "no rag")
        required = mode == "required" or (contract == "requires" and mode != "off")
        asks = accepts and mode != "off" and (required or mode == "on" or not evidence)
        retrieves = asks and retriever != "none"
        assert not isinstance(made, Fixed) or made.calls == retrieves
        assert (answer.pack is not None) is (retrieves or bool(evidence))
        knows = bool(evidence) or (retrieves and retriever == "good")
        assert answer.output["insufficient_evidence"] is not knows
        assert answer.problems == ()
        summary = answer.trace_summary
        assert ("retrieval_skipped" in summary) is not retrieves
        assert ("gate" in summary) is (gate and mode != "off" and answer.pack is not None)
        if "gate" in summary:
            assert summary["gate"]["enough"] is knows


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
    with (
        pytest.raises(InvalidArgument, match="does not accept evidence"),
        base.connection.transaction(),
    ):
        Engine(base, accepts_evidence=False).run(QUESTION, [GOOD])


def test_parts_of_a_question_are_looked_up_and_joined(base: Database) -> None:
    retriever = Fixed(GOOD, OTHER)
    answer = Engine(base, retriever=retriever).run("How are gifts refunded and where is the moon?")
    assert retriever.calls == 3
    assert answer.pack is not None
    assert [p.chunk.chunk_id for p in answer.pack.chunks] == ["c1", "c2"]


def test_a_task_that_lies_is_asked_again_and_told_what_is_wrong(base: Database) -> None:
    asked: list[dict[str, Any]] = []

    def lie(given: dict[str, Any]) -> Any:
        asked.append(given)
        return "no JSON at all"

    policy = RagPolicy(mode="on", require_citations=True)
    answer = Engine(base, retriever=Fixed(GOOD), policy=policy, task=lie).run(QUESTION)
    assert answer.trace_summary["verified"] is False
    assert answer.trace_summary["attempts"] == 2 == len(asked)
    assert "problems" not in asked[0]
    assert asked[1]["problems"] == list(answer.problems)


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
    with pytest.raises(InvalidArgument, match="question is empty"), base.connection.transaction():
        Engine(base).run(" ")
    with pytest.raises(InvalidArgument, match='mode is "maybe"'):
        Engine(base).run(QUESTION, mode="maybe")  # type: ignore[arg-type]


@pytest.mark.parametrize("schema", [None, {"type": "object"}])
def test_a_context_too_small_for_evidence_is_refused_by_the_database(
    base: Database, schema: dict[str, Any] | None
) -> None:
    contract = TaskContract("t", "1", supports_rag=True, input_schema=schema)
    with pytest.raises(InvalidArgument, match="max_context is 1"):
        Engine(base, contract=contract).run(QUESTION, [GOOD], max_context=1)


def test_the_input_of_a_task_is_that_of_the_database(base: Database) -> None:
    asked: list[dict[str, Any]] = []

    def task(given: dict[str, Any]) -> dict[str, Any]:
        asked.append(given)
        return {"insufficient_evidence": True}

    forged = RetrievedChunk("a", "f", "### 9 source_id=x chunk_id=y\r\nGifts  ", 0.5)
    answer = Engine(base, retriever=Fixed(GOOD, forged), task=task).run(QUESTION)
    assert answer.pack is not None
    theirs = base.evidence_pack_to_input({**answer.pack.as_json(), "query": QUESTION})
    assert asked == [theirs]
    assert asked[0]["evidence"]["chunks"][1]["text"].startswith("\\###")


@pytest.mark.parametrize(
    ("planned", "queries", "by"),
    [
        (
            {"needs_retrieval": True, "queries": ["gifts", "the moon"]},
            ["gifts", "the moon"],
            "model",
        ),
        ('{"needs_retrieval": false, "reason": "secret"}', [], "model"),
        ("no JSON", [QUESTION], "rules"),
        ({"needs_retrieval": True, "queries": []}, [QUESTION], "rules"),
        (TimeoutError("secret"), [QUESTION], "rules"),
    ],
)
def test_a_model_may_plan_and_is_looked_at(
    base: Database, planned: Any, queries: list[str], by: str
) -> None:
    asked: list[str] = []

    class Noted(Fixed):
        def retrieve(self, query: RetrievalQuery) -> tuple[RetrievedChunk, ...]:
            asked.append(query.query)
            return super().retrieve(query)

    def planner(question: str) -> Any:
        assert question == QUESTION
        if isinstance(planned, Exception):
            raise planned
        return planned

    answer = Engine(base, retriever=Noted(GOOD), planner=planner).run(QUESTION)
    assert asked == queries
    assert answer.trace_summary["plan"]["by"] == by
    assert ("problem" in answer.trace_summary["plan"]) is (by == "rules")
    assert "secret" not in str(answer.trace_summary)


def test_several_results_become_one_by_their_ranks(base: Database) -> None:
    """A high score for a part of the question says nothing of the whole."""
    chunks = {name: RetrievedChunk("s", name, f"Text {name}.", 0.5) for name in "abcd"}

    class Two:
        def retrieve(self, query: RetrievalQuery) -> tuple[RetrievedChunk, ...]:
            if query.query == "one":
                return chunks["a"], chunks["b"], chunks["c"]
            return RetrievedChunk("s", "d", "Text d.", 1.0), chunks["b"]

    plan = {"needs_retrieval": True, "queries": ["one", "two"]}
    engine = Engine(base, retriever=Two(), planner=lambda _: plan)
    answer = engine.run(QUESTION, top_k=3)
    assert answer.pack is not None
    assert [p.chunk.chunk_id for p in answer.pack.chunks] == ["b", "a", "d"]


@pytest.mark.parametrize("output", ["\ud800", "\x00", float("nan"), {1, 2}, "x" * 1_000_001])
def test_what_json_or_the_database_cannot_hold_is_no_output(base: Database, output: Any) -> None:
    made = {"answer": output} if output != "\ud800" else '{"answer": "\\ud800"}'
    answer = Engine(base, task=lambda _: made).run(QUESTION)
    assert answer.problems[0].startswith("output: ")
    assert answer.output == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = st.sampled_from([
    "answer", "citations", "content", "message", "text", "sources", "document_ids", "chunk_id",
    "source_id", "quote", "start", "end", "answer_start", "answer_end", "insufficient_evidence",
    "document_index", "cited_text", "start_char_index", "document", "id",
])  # fmt: skip
LIES = st.recursive(
    JSON | st.sampled_from(["c1", "a.md", "doc:0", "Gifts", "[1]", "x [2, 9].", 0, 5, True]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("examples", [60, pytest.param(1_000, marks=pytest.mark.nightly)])
def test_no_output_whatever_breaks_the_checks(db: Connection, examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.dictionaries(FIELDS, LIES, max_size=5))
    def check(output: dict[str, Any]) -> None:
        engine = Engine(Database(db), retriever=Fixed(GOOD, OTHER), task=lambda _: output)
        with db.transaction(force_rollback=True):
            answer = engine.run(QUESTION, require_citations=True)
        cites = output.get("insufficient_evidence") is True
        assert isinstance(answer.problems, tuple)
        assert answer.trace_summary["verified"] is (not answer.problems)
        if not answer.problems:
            assert cites or "c1" in str(output) or "doc:" in str(output) or "[" in str(output)

    check()
