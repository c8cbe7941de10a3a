"""A contract.json is refused with all its errors, and its policies take effect."""

from __future__ import annotations

import codecs
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ragdb.database import Database
from ragdb.evidence.answers import RagError
from ragdb.evidence.engine import Engine
from ragdb.evidence.tasks import ContractError, Gate, RagPolicy, TaskContract, mismatches
from tests.conftest import Connection
from tests.evidence.test_retrieval_engine import GOOD, OTHER, QUESTION, Fixed

FULL: dict[str, Any] = {
    "contract_spec_format": 2,
    "task_id": "answer_from_evidence",
    "version": "1.2.0",
    "title": "Answer a question from evidence",
    "success_criteria": ["every statement is cited"],
    "failure_modes": [],
    "input_schema": {
        "type": "object",
        "properties": {
            "question": {"type": "string", "maxLength": 100},
            "evidence": {"$ref": "#/$defs/evidence"},
        },
        "required": ["question"],
        "$defs": {
            "evidence": {
                "type": "object",
                "properties": {"chunks": {"type": "array", "maxItems": 3}},
                "required": ["corpus_id", "hash", "chunks"],
            }
        },
    },
    "output_schema": {
        "type": "object",
        "properties": {"answer": {"type": "string", "maxLength": 60}},
        "required": ["answer"],
    },
    "capabilities": {
        "uses_llm": False,
        "supports_rag": True,
        "requires_rag": True,
        "returns_citations": True,
    },
    "execution_policy": {"complexity": "low", "risk": "low", "max_attempts": 3},
    "rag_policy": {
        "mode": "required",
        "top_k": 4,
        "require_citations": True,
        "max_context_tokens": 900,
        "enough_context_gate": {"min_coverage": 0.5},
    },
    "verification_policy": {"verifier_ids": ["contract.schema", "rag.citations"]},
}


def changed(**parts: Any) -> dict[str, Any]:
    """The contract with parts replaced, and those that are None left out."""
    return {k: v for k, v in {**FULL, **parts}.items() if v is not None}


@pytest.fixture
def base(db: Connection) -> Database:
    return Database(db)


def test_a_contract_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "contract.json"
    path.write_text(json.dumps(FULL))
    contract = TaskContract.load(path)
    assert (contract.task_id, contract.version) == ("answer_from_evidence", "1.2.0")
    assert (contract.supports_rag, contract.requires_rag, contract.returns_citations) == (True,) * 3
    assert contract.policy == RagPolicy("required", 4, True, 900, Gate(min_coverage=0.5))
    assert contract.verifier_ids == ("contract.schema", "rag.citations")
    assert contract.max_attempts == 3
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())  # as editors of Windows write it
    assert TaskContract.load(path) == contract


def test_the_mode_follows_from_what_the_task_can(tmp_path: Path) -> None:
    least = {"contract_spec_format": 2, "task_id": "t", "version": 1}
    assert TaskContract.read(least).policy.mode == "off"
    for capable, mode in (
        ({"supports_rag": True}, "auto"),
        ({"supports_rag": True, "requires_rag": True}, "required"),
    ):
        assert TaskContract.read({**least, "capabilities": capable}).policy.mode == mode


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"contract_spec_format": 1}, "contract_spec_format: 2 was expected"),
        ({"task_id": None}, "'task_id' is a required property"),
        ({"rag_polcy": {}}, "('rag_polcy' was unexpected)"),
        ({"capabilities": {"supports_rag": "yes"}}, "capabilities.supports_rag: 'yes' is not"),
        ({"rag_policy": {"mode": "maybe"}}, "rag_policy.mode: 'maybe' is not one of"),
        ({"rag_policy": {"top_k": 0}}, "rag_policy.top_k: 0 is less than"),
        ({"rag_policy": {"top_k": True}}, "rag_policy.top_k: True is not of type 'integer'"),
        ({"rag_policy": {"topk": 5}}, "('topk' was unexpected)"),
        ({"rag_policy": {"enough_context_gate": {"min_score": 2}}}, "enough_context_gate: "),
        (
            {"execution_policy": {"max_attempts": 11}},
            "execution_policy.max_attempts: 11 is greater",
        ),
        (
            {"verification_policy": {"verifier_ids": ["rag.citation"]}},
            "'rag.citation' is not one of",
        ),
        ({"verification_policy": {"verifer_ids": []}}, "('verifer_ids' was unexpected)"),
        ({"capabilities": {"requires_rag": True}}, "requires_rag needs supports_rag"),
        ({"rag_policy": {"mode": "off"}}, "requires_rag contradicts the mode off"),
        (
            {"capabilities": {"supports_rag": True}},
            "require_citations needs returns_citations; verifier rag.citations needs",
        ),
        ({"output_schema": None}, "verifier contract.schema needs output_schema"),
        ({"output_schema": {"type": "text"}}, "output_schema is not a JSON Schema"),
        (
            {"rag_policy": {"mode": "required", "max_context": 1, "max_context_tokens": 2}},
            "max_context and max_context_tokens are one",
        ),
    ],
)
def test_what_is_wrong_with_a_contract_is_named(parts: dict[str, Any], problem: str) -> None:
    with pytest.raises(ContractError) as caught:
        TaskContract.read(changed(**parts))
    assert problem in str(caught.value)


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "contract.json"
    for text in ("{", "[" * 100_000, "\udcff"):
        path.write_text(text, errors="surrogateescape")
        with pytest.raises(ContractError):
            TaskContract.load(path)
    with pytest.raises(ContractError, match="is not of type 'object'"):
        TaskContract.read([])


def engine(base: Database, task: Any = None, **parts: Any) -> Engine:
    contract = TaskContract.read(changed(**parts))
    return Engine(base, retriever=Fixed(GOOD, OTHER), contract=contract, task=task)


def test_the_policies_of_a_contract_act(base: Database) -> None:
    answer = engine(base).run(QUESTION)
    summary = answer.trace_summary
    assert (summary["task"], summary["version"]) == ("answer_from_evidence", "1.2.0")
    assert (summary["rag_mode"], summary["retrieved_chunks"]) == ("required", 2)
    assert summary["gate"]["min_coverage"] == 0.5
    assert summary["verification"] == [
        {"verifier_id": name, "status": "pass"}
        for name in ("json.object", "contract.schema", "rag.citations")
    ]
    assert answer.output["answer"] == GOOD.text
    with pytest.raises(RagError, match=r"^insufficient evidence$"):
        engine(base).run("Who governs the planet Mars?")
    # overridden per call, never below what the task requires
    assert engine(base).run(QUESTION, mode="auto", top_k=1).trace_summary["retrieved_chunks"] == 1


def test_a_task_is_asked_as_often_as_its_contract_says(base: Database) -> None:
    calls: list[Any] = []

    def lie(given: Any) -> Any:
        calls.append(given)
        return {"answer": "x" * 61, "citations": [{"chunk_id": "c9"}]}

    answer = engine(base, lie).run(QUESTION)
    assert len(calls) == answer.trace_summary["attempts"] == 3
    assert answer.problems == (
        "output answer: breaks maxLength 60",
        "citation[0]: unknown chunk_id 'c9'",
    )
    assert [v["status"] for v in answer.trace_summary["verification"]] == ["pass", "fail", "fail"]


def test_citations_are_verified_only_where_they_are_listed(base: Database) -> None:
    def lie(given: Any) -> Any:
        return {"answer": "x", "citations": [{"chunk_id": "c9"}]}

    unlisted = {"verification_policy": {"verifier_ids": []}, "rag_policy": {"mode": "required"}}
    answer = engine(base, lie, **unlisted).run(QUESTION)
    assert answer.problems == ()
    assert "rag.citations" not in str(answer.trace_summary)
    # a call that requires citations has them verified
    assert engine(base, lie, **unlisted).run(QUESTION, require_citations=True).problems


def test_the_input_is_validated_before_and_after_the_evidence(base: Database) -> None:
    with pytest.raises(ContractError, match="input question: breaks maxLength 100"):
        engine(base).run("x" * 101)
    many = [GOOD] + [type(GOOD)("s", f"x{n}", "Gifts.", 0.1) for n in range(3)]
    contract = TaskContract.read(FULL)
    with pytest.raises(ContractError, match=r"input evidence\.chunks: breaks maxItems 3"):
        Engine(base, retriever=Fixed(*many), contract=contract).run(QUESTION)


def test_a_task_that_requires_evidence_takes_that_of_the_caller(base: Database) -> None:
    contract = TaskContract.read(
        {
            "contract_spec_format": 2,
            "task_id": "answer_from_evidence",
            "version": "1",
            "capabilities": {"supports_rag": True},
            "rag_policy": {"mode": "off"},
            "input_schema": {"required": ["question", "evidence"]},
        }
    )
    retriever = Fixed(OTHER)
    made = Engine(base, retriever=retriever, contract=contract)
    assert made.run(QUESTION, [GOOD]).output["answer"] == GOOD.text
    with pytest.raises(ContractError, match="input lacks evidence"):
        made.run(QUESTION)
    assert retriever.calls == 0


def test_a_schema_fetches_nothing_and_says_nothing_of_the_value() -> None:
    schema = {"properties": {"a": {"$ref": "https://example.invalid/schema.json"}}}
    with pytest.raises(ContractError, match=r"a \$ref names nothing"):
        mismatches(schema, {"a": 1})
    strict: dict[str, Any]
    for strict in ({"enum": ["x"]}, {"additionalProperties": False}, {"required": ["b"]}):
        (wrong,) = mismatches(strict, {"the secret": 1})
        assert "secret" not in wrong


def test_the_contract_of_the_manual_is_one() -> None:
    page = (Path(__file__).parents[2] / "docs" / "evidence.md").read_text()
    (block,) = re.findall(r"^```json\n(.*?)^```", page, re.M | re.S)
    contract = TaskContract.read(json.loads(block))
    assert contract.policy == RagPolicy("required", 6, True, 2000, Gate(min_coverage=0.7))
