"""The kinds of assertion: when each passes, on retrievals given as JSON."""

from __future__ import annotations

import hashlib
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection
from tests.documents import given_chunk

TWO = [
    given_chunk("refunds", "Refund POLICY für ÄRZTE", 0.9),
    given_chunk("late", "late parcels", 0.4),
]


def evaluate(db: Connection, case: dict[str, Any], retrieval: Any) -> list[tuple[Any, ...]]:
    return db.execute(
        "select kind, code, message, fails_case from ragdb.evaluate_case(%s, %s)",
        (Jsonb({"name": "c", "rag": "A", "eval": "E", "query": "q", **case}), Jsonb(retrieval)),
    ).fetchall()


def code(db: Connection, chunks: list[Any], **fields: Any) -> str:
    retrieval = {"query": "q", "chunks": chunks, "durationMs": 7}
    ((_, found, _, _),) = evaluate(db, {"asserts": [fields]}, retrieval)
    return str(found)


HASH = "e8280c3cc84a80c7de69ebf04cbb484a"

# kind, what it is given, whether it holds of TWO
CASES: list[tuple[dict[str, Any], bool]] = [
    ({"kind": "scoreGte", "threshold": 0.5}, True),
    ({"kind": "scoreGte", "threshold": 0.5, "quantifier": "all"}, False),
    ({"kind": "scoreGte", "value": 0.95}, False),
    ({"kind": "scoreLte", "threshold": 0.5}, True),
    ({"kind": "scoreLte", "threshold": 0.5, "quantifier": "all"}, False),
    ({"kind": "contains", "value": "refund policy"}, True),
    ({"kind": "contains", "value": "FÜR ärzte"}, True),
    ({"kind": "contains", "value": "%"}, False),
    ({"kind": "sourceEq", "value": "docs/late.md"}, True),
    ({"kind": "sourceEq", "value": "docs/LATE.md"}, False),
    ({"kind": "sourceGlob", "value": "DOCS/*.MD"}, True),
    ({"kind": "sourceGlob", "value": "docs/l?te.md"}, True),
    ({"kind": "sourceGlob", "value": "ocs/late.md"}, False),
    ({"kind": "sourceGlob", "value": "docs/[l]ate.md"}, False),
    ({"kind": "uniqueSourcesGte", "count": 2}, True),
    ({"kind": "uniqueSourcesGte", "value": 3}, False),
    ({"kind": "chunkCountEq", "count": 2}, True),
    ({"kind": "chunkCountEq", "count": 1}, False),
    ({"kind": "citesRequired"}, True),
    ({"kind": "factId", "value": "A:E:c"}, True),
    ({"kind": "factId", "value": "A:E:d"}, False),
    ({"kind": "chunkHash", "value": HASH}, False),
    ({"kind": "latencyLte", "valueMs": 7}, True),
    ({"kind": "latencyLte", "valueMs": 6}, False),
    ({"kind": "rankLte", "value": "late", "count": 2}, True),
    ({"kind": "rankLte", "value": "late", "count": 1}, False),
    ({"kind": "topSourceEq", "value": "docs/refunds.md"}, True),
    ({"kind": "notRetrieved", "value": "*shipping*"}, True),
    ({"kind": "notRetrieved", "value": "docs/l*"}, False),
    ({"kind": "orderedBefore", "value": "refunds,late"}, True),
    ({"kind": "orderedBefore", "value": "late,refunds"}, False),
    ({"kind": "containsAny", "value": "nothing, parcels"}, True),
    ({"kind": "containsAll", "value": "policy, parcels"}, True),
    ({"kind": "containsAll", "value": "policy, nothing"}, False),
    ({"kind": "chunkCountGte", "count": 2}, True),
    ({"kind": "chunkCountLte", "count": 1}, False),
    ({"kind": "maxChunksPerSourceLte", "count": 1}, True),
    ({"kind": "contextTokensLte", "count": 5}, False),
    ({"kind": "topScoreGte", "threshold": 0.9}, True),
    ({"kind": "scoreMarginGte", "threshold": 0.6}, False),
    ({"kind": "scoreMarginGte", "threshold": 0.4}, True),
    ({"kind": "contains", "value": "nothing", "negate": True}, True),
]


def test_each_kind_holds_when_it_says_so(any_db: Connection) -> None:
    retrieval = {"query": "q", "chunks": TWO, "durationMs": 7}
    found = evaluate(any_db, {"asserts": [fields for fields, _ in CASES]}, retrieval)
    assert [(fields, row[1]) for (fields, _), row in zip(CASES, found, strict=True)] == [
        (fields, "PASS" if holds else "ASSERTION_FAIL") for fields, holds in CASES
    ]


def test_a_chunk_hash_is_that_of_the_canonical_text_in_either_case(any_db: Connection) -> None:
    of_text = hashlib.sha256(b"late\nparcels").hexdigest()
    for given in ("late\nparcels", "late\r\nparcels \n"):
        for value in (of_text, of_text.upper()):
            assert code(any_db, [given_chunk("a", given)], kind="chunkHash", value=value) == "PASS"
    assert (
        code(any_db, [given_chunk("a", "refund policy")], kind="chunkHash", value=HASH.upper())
        == "PASS"
    )
    assert (
        code(any_db, [given_chunk("a", "late parcels")], kind="chunkHash", value=of_text)
        == "ASSERTION_FAIL"
    )


def test_a_margin_is_that_of_the_scores_as_they_are_shown(any_db: Connection) -> None:
    close = [{**chunk, "score": score} for chunk, score in zip(TWO, (0.9, 0.8), strict=True)]
    assert 0.9 - 0.8 < 0.1  # in floats
    assert code(any_db, close, kind="scoreMarginGte", threshold=0.1) == "PASS"
    assert code(any_db, close, kind="scoreMarginGte", threshold=0.1000001) == "ASSERTION_FAIL"


def test_nothing_that_speaks_of_chunks_holds_of_none(any_db: Connection) -> None:
    for fields in (
        {"kind": "scoreGte", "threshold": 0},
        {"kind": "scoreLte", "threshold": 1},
        {"kind": "citesRequired"},
        {"kind": "contains", "value": "a"},
        {"kind": "topSourceEq", "value": "a"},
    ):
        assert code(any_db, [], **fields) == "ASSERTION_FAIL"
    assert code(any_db, [], kind="chunkCountEq", count=0) == "PASS"


def test_a_blank_citation_is_none(any_db: Connection) -> None:
    for citation in ({}, {"uri": " "}, {"locator": ""}):
        assert code(any_db, [given_chunk("a", "x", citation=citation)], kind="citesRequired") == "ASSERTION_FAIL"  # fmt: skip
    assert code(any_db, [given_chunk("a", "x", citation={"locator": "p. 3"})], kind="citesRequired") == "PASS"  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "expected", "message"),
    [
        ({"kind": "contains", "value": ""}, "INVALID_ASSERTION", "RAG eval assertion kind=contains requires non-empty string value."),
        ({"kind": "factId"}, "INVALID_ASSERTION", "RAG eval assertion kind=factId requires string value."),
        ({"kind": "scoreGte", "value": "high"}, "INVALID_ASSERTION", "RAG eval assertion kind=scoreGte requires numeric value."),
        ({"kind": "chunkCountEq"}, "INVALID_ASSERTION", "RAG eval assertion kind=chunkCountEq requires numeric value."),
        ({"kind": "orderedBefore", "value": "a"}, "INVALID_ASSERTION", "RAG eval assertion kind=orderedBefore requires two values."),
        ({"kind": "containsAny", "value": " , ", "negate": True}, "INVALID_ASSERTION", "RAG eval assertion kind=containsAny requires a text."),
        ({"kind": "rankLte", "value": "a", "count": 0}, "INVALID_ASSERTION", "RAG eval assertion kind=rankLte counts from 1."),
        ({"kind": "sourceGlob", "value": "*a" * 17}, "INVALID_ASSERTION", "RAG eval assertion kind=sourceGlob requires a glob of at most 1024 characters and 16 stars."),
        ({"kind": "recallAtK", "threshold": 1, "count": 10**14}, "INVALID_ASSERTION", "RAG eval assertion kind=recallAtK has no label to measure by."),
        ({"kind": "precisionAtK", "threshold": 1, "count": 0}, "INVALID_ASSERTION", "RAG eval assertion kind=precisionAtK counts from 1."),
        ({"kind": "unknownKind"}, "UNSUPPORTED_ASSERTION", "Unsupported RAG eval assertion kind 'unknownKind'."),
    ],
)  # fmt: skip
def test_what_cannot_be_evaluated_fails_also_when_it_is_not_required(
    any_db: Connection, fields: dict[str, Any], expected: str, message: str
) -> None:
    ((_, found, text, fails),) = evaluate(any_db, {"asserts": [fields]}, {"query": "q", "chunks": TWO})  # fmt: skip
    assert (found, text, fails) == (expected, message, True)


def test_a_failed_assertion_is_advisory_unless_it_is_required(any_db: Connection) -> None:
    asserts = [{"kind": "sourceEq", "value": "x"}, {"kind": "sourceEq", "value": "x", "required": True}]  # fmt: skip
    rows = evaluate(any_db, {"asserts": asserts}, {"query": "q", "chunks": TWO})
    assert [fails for *_, fails in rows] == [False, True]


def test_the_example_of_the_reference_runtime_passes_whole(any_db: Connection) -> None:
    case = {
        "rag": "AnswerDocs",
        "eval": "Faithfulness",
        "name": "refunds",
        "expected": {"topK": 1, "minScore": 0.25, "chunkCount": 1, "sources": ["docs/refunds.md"]},
        "asserts": [
            {"kind": "scoreGte", "value": 0.25},
            {"kind": "sourceGlob", "value": "docs/*.md"},
            {"kind": "contains", "value": "refund"},
            {"kind": "uniqueSourcesGte", "value": 1},
            {"kind": "chunkCountEq", "value": 1},
            {"kind": "citesRequired", "value": True},
            {"kind": "factId", "value": "AnswerDocs:Faithfulness:refunds"},
            {"kind": "chunkHash", "value": HASH},
            {"kind": "latencyLte", "value": 1},
        ],
    }
    chunks = [given_chunk("refunds", "refund policy")]
    rows = evaluate(any_db, case, {"query": "q", "chunks": chunks, "durationMs": 1})
    assert [row[1] for row in rows] == ["PASS"] * 13


@pytest.mark.parametrize(
    ("retrieval", "message"),
    [
        ({"error": "boom"}, "boom"),
        (None, "retriever returned no query and chunks"),
        ({"query": "q"}, "retriever returned no query and chunks"),
        ({"query": "q", "chunks": [3]}, "retriever chunk at index 0 is not a RetrievedChunk"),
        ({"query": "q", "chunks": [given_chunk("a", "x"), given_chunk("a", "x")]}, "retriever chunk at index 1 duplicates chunk id 'a'"),
        ({"query": "q", "chunks": [given_chunk("a", "x", 1.5)]}, "retriever chunk at index 0 score must be between 0 and 1"),
    ],
)  # fmt: skip
def test_a_malformed_retrieval_is_a_retriever_error(
    any_db: Connection, retrieval: Any, message: str
) -> None:
    rows = evaluate(any_db, {"asserts": [{"kind": "citesRequired"}]}, retrieval)
    assert rows == [
        ("retriever", "RETRIEVER_ERROR", f"RAG eval case 'c' retriever failed: {message}.", True)
    ]


def test_a_case_that_is_none_is_refused(any_db: Connection) -> None:
    with pytest.raises(psycopg.Error) as caught:
        any_db.execute("select * from ragdb.evaluate_case('3', '{}')")
    assert caught.value.sqlstate == "RG442"


def test_the_first_group_is_closed_and_the_second_is_listed_beside_it(any_db: Connection) -> None:
    frozen = {kind for (kind,) in any_db.execute("select kind from ragdb.assertion_kinds() where is_frozen")}  # fmt: skip
    assert frozen == {
        "factId", "chunkHash", "scoreGte", "scoreLte", "contains", "sourceEq", "sourceGlob",
        "uniqueSourcesGte", "chunkCountEq", "latencyLte", "citesRequired",
    }  # fmt: skip


@pytest.mark.parametrize("took", ["0.9234567890123456", "9.1234567890123456"])
def test_a_time_with_all_the_digits_of_a_double_is_read(any_db: Connection, took: str) -> None:
    holds = {}
    for limit in ("0.9234567890123455", "0.9234567890123457", "9", "10"):
        asserted = f'{{"asserts": [{{"kind": "latencyLte", "valueMs": {limit}}}]}}'
        retrieval = f'{{"query": "q", "chunks": [], "durationMs": {took}}}'
        ((holds[limit],),) = any_db.execute(
            "select passed from ragdb.evaluate_case(%s::jsonb, %s::jsonb)", (asserted, retrieval)
        ).fetchall()
    assert holds == {limit: float(took) <= float(limit) for limit in holds}


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize("took", [None, -1, "7", "soon", True])
def test_no_assertion_of_a_time_holds_where_none_is_given(
    any_db: Connection, took: Any, negate: bool
) -> None:
    asserted = {"kind": "latencyLte", "valueMs": 7, "negate": negate}
    for retrieval in ({"durationMs": took}, {} if took is None else {"durationMs": took}):
        ((_, found, message, fails),) = evaluate(
            any_db, {"asserts": [asserted]}, {"query": "q", "chunks": TWO, **retrieval}
        )
        assert (found, fails) == ("INVALID_ASSERTION", True)
        assert message == (
            "RAG eval assertion kind=latencyLte needs the durationMs of the retrieval, from 0."
        )
