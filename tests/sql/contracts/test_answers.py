"""Answers: which text is grounded, what their contracts refuse, when abstaining is right."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection
from tests.documents import given_chunk

REFUNDS = given_chunk(
    "refunds", "Refunds follow the refund policy. Refunds are allowed for 30 days.", 0.9
)
OTHER = given_chunk("exceptions", "Exceptions need approval.", 0.85)


def answer(db: Connection, text: Any, spans: Any = (), chunks: Any = (REFUNDS,), **more: Any) -> dict[str, Any]:  # fmt: skip
    listed = (
        [{"start": s, "end": e, "chunkIds": ids, "required": required} for s, e, ids, required in spans]
        if not isinstance(spans, dict) else spans
    )  # fmt: skip
    contract = {"query": "q", "answer": text, "groundingSpans": listed, **more}
    retrieval = {"query": "q", "chunks": list(chunks)}
    ((found,),) = db.execute(
        "select ragdb.evaluate_answer(%s, %s)", (Jsonb(contract), Jsonb(retrieval))
    ).fetchall()
    return dict(found)


FULL = "Refunds follow the refund policy."
HALF = "Refunds are allowed. Shipping is separate."


@pytest.mark.parametrize(
    ("text", "spans", "more", "status", "codes", "grounded"),
    [
        (FULL, [(0, 33, ["refunds"], True)], {}, "grounded", [], (29, 29)),
        (FULL, [(0, 20, ["refunds"], True), (10, 33, ["refunds"], True)], {}, "grounded", [], (29, 29)),
        (HALF, [(0, 20, ["refunds"], False)], {"minGroundingCoverage": 0.9}, "partially_grounded", ["GROUNDING_BELOW_THRESHOLD"], (18, 37)),
        (HALF, [], {"requireCitations": True}, "invalid", ["CITATION_REQUIRED", "GROUNDING_BELOW_THRESHOLD"], (0, 37)),
        ("refunds follow the refund policy", [(0, 32, ["refunds"], False)], {}, "grounded", [], (28, 28)),
        ("Made up words.", [(0, 14, ["refunds"], False)], {}, "invalid", ["SPAN_TEXT_UNSUPPORTED", "GROUNDING_BELOW_THRESHOLD"], (0, 12)),
        ("Made up words.", [(0, 14, ["refunds"], False)], {"lexicalSupport": False}, "grounded", [], (12, 12)),
        (FULL, [(0, 33, ["nope"], False)], {}, "invalid", ["CHUNK_REF_UNKNOWN", "SPAN_UNGROUNDED", "GROUNDING_BELOW_THRESHOLD"], (0, 29)),
        (FULL, [(0, 99, ["refunds"], False)], {}, "invalid", ["SPAN_INVALID", "GROUNDING_BELOW_THRESHOLD"], (0, 29)),
        (FULL, {}, {}, "invalid", ["SPAN_INVALID", "GROUNDING_BELOW_THRESHOLD"], (0, 29)),
        (FULL, [(0, 33, ["refunds"], True)], {"minCitedChunks": 2}, "invalid", ["CITED_CHUNKS_BELOW_MINIMUM"], (29, 29)),
        (FULL, [(0, 33, ["refunds"], True)], {"evidencePolicy": {"minTopScore": 0.95}}, "invalid", ["EVIDENCE_INSUFFICIENT"], (29, 29)),
        (FULL, [(0, 33, ["refunds"], True)], {"query": "other"}, "invalid", ["QUERY_MISMATCH"], (29, 29)),
        (FULL, [(0, 33, ["refunds"], True)], {"provenance": {"query": "q"}}, "invalid", ["PROVENANCE_MISMATCH"], (29, 29)),
        (None, [], {}, "invalid", ["ANSWER_EMPTY"], (0, 0)),
        ("I cannot say.", [], {"abstained": True, "allowAbstain": True, "abstainAnswer": "I cannot say.", "evidencePolicy": {"minTopScore": 0.95}}, "abstained", [], (0, 11)),
        ("I cannot say.", [], {"abstained": True}, "invalid", ["ABSTAIN_NOT_ALLOWED", "ABSTAIN_ANSWER_MISMATCH", "ABSTAIN_EVIDENCE_POLICY_REQUIRED"], (0, 11)),
        ("I cannot say.", [], {"abstained": True, "allowAbstain": True, "abstainAnswer": "I cannot say.", "evidencePolicy": {"minTopScore": 0.1}}, "invalid", ["ABSTAIN_WITH_SUFFICIENT_EVIDENCE"], (0, 11)),
        ("😀 Refunds are allowed", [(3, 22, ["refunds"], True)], {"unit": "utf16", "minGroundingCoverage": 0.9}, "grounded", [], (17, 18)),
        ("😀 Refunds are allowed", [(1, 22, ["refunds"], True)], {"unit": "utf16"}, "invalid", ["SPAN_INVALID", "GROUNDING_BELOW_THRESHOLD"], (0, 18)),
        ("é Refunds are allowed", [(3, 22, ["refunds"], True)], {"unit": "byte", "minGroundingCoverage": 0.9}, "grounded", [], (17, 18)),
    ],
)  # fmt: skip
def test_an_answer_is_judged(
    any_db: Connection,
    text: Any,
    spans: Any,
    more: Any,
    status: str,
    codes: list[str],
    grounded: Any,
) -> None:
    found = answer(any_db, text, spans, **more)
    assert (found["status"], found["codes"]) == (status, codes)
    assert (found["groundedChars"], found["answerChars"]) == grounded
    assert found["passed"] is (codes == [])


@pytest.mark.parametrize(
    ("unit", "codec", "width"), [("utf16", "utf-16-le", 2), ("byte", "utf-8", 1)]
)
def test_spans_are_counted_in_the_unit_of_their_maker(
    db: Connection, unit: str, codec: str, width: int
) -> None:
    text = "Zürich 𝄞 zahlt é."
    ends = [len(text[:n].encode(codec)) // width for n in range(len(text) + 1)]
    for start in range(ends[-1] + 2):
        spans = [(start, end, ["c"], False) for end in range(1, ends[-1] + 2)]
        found = answer(db, text, spans, [given_chunk("c", text)], unit=unit, lexicalSupport=False)
        refused = {d["spanIndex"] for d in found["diagnostics"] if d["code"] == "SPAN_INVALID"}
        sound = {i for i, s in enumerate(spans) if {start, s[1]} <= set(ends) and start < s[1]}
        assert refused == set(range(len(spans))) - sound


def test_a_span_fits_into_one_chunk_and_sources_stand_as_they_are_cited(any_db: Connection) -> None:
    text = "Exceptions need approval. Refunds are allowed for 30 days."
    spans = [(0, 25, ["exceptions"], True), (26, 58, ["refunds"], True)]
    both = answer(any_db, text, spans, (REFUNDS, OTHER), minCitedChunks=2)
    assert both["status"] == "grounded"
    assert both["citedChunkIds"] == ["exceptions", "refunds"]
    assert both["sources"] == ["docs/exceptions.md", "docs/refunds.md"]
    one = answer(any_db, text, [(0, 58, ["exceptions", "refunds"], True)], (REFUNDS, OTHER))
    assert one["codes"] == ["SPAN_TEXT_UNSUPPORTED", "GROUNDING_BELOW_THRESHOLD"]


def test_a_chunk_that_a_span_cites_twice_is_one_cited_chunk(any_db: Connection) -> None:
    spans = [(0, len(FULL), ["refunds", "refunds"], True)]
    found = answer(any_db, FULL, spans, minCitedChunks=2)
    assert found["codes"] == ["CITED_CHUNKS_BELOW_MINIMUM"]
    assert found["citedChunkIds"] == ["refunds"]


@pytest.mark.parametrize(
    ("said", "text", "holds"),
    [
        ("9" * 50_000, "It is 9.", False),  # too long for a regular expression
        ("9" * 50_000, f"It is {'9' * 50_000}.", True),
        (".5 per cent", ".5 per cent is paid", True),
        ("1,000 or 2", "1,000,000 or 2.5", False),
        ("1,000 or 2", "from 2, or 1,000.", True),
    ],
)
def test_a_number_is_looked_up_as_it_is_written(
    any_db: Connection, said: str, text: str, holds: bool
) -> None:
    found = answer(
        any_db, said, [(0, len(said), ["c"], True)], [given_chunk("c", text)], lexicalSupport=False
    )
    assert found["numbersGrounded"] is holds


def test_a_number_that_no_cited_chunk_has_is_seen(any_db: Connection) -> None:
    for text, holds in (("Refunds are allowed for 30 days.", True), ("Refunds: 3 days", False)):
        spans = [(0, len(text), ["refunds"], True)]
        assert answer(any_db, text, spans, lexicalSupport=False)["numbersGrounded"] is holds
