"""Assertions that need more than chunks: labels, traces, slices, embeddings, answers.

Each passes, fails and is negated.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from ragdb.client.calling import Reals
from ragdb.models.encoders import HashEncoder
from tests.conftest import Connection
from tests.embedding import put
from tests.sql.conversations import chat, message, uuid

TEXTS = {
    "docs/refunds.md": "refund policy of 30 days",
    "docs/late.md": "refund of a parcel that came too late for the party",
    "docs/shipping.md": "shipping of parcels",
}
HEAD = """corpus name=docs
{embed}retriever name=R corpus=docs mode={mode} topK=2{more}
rag name=A retriever=R
  grounding requireCitations=true policy=strict
  ragEval name=V mode=contract
    ragCase name=c query="{query}" {keys}
"""


def outcomes(
    db: Connection, asserts: list[str], keys: str = "", mode: str = "reference",
    query: str = "refund policy", tail: str = "", embed: str = "", more: str = "",
) -> list[str]:  # fmt: skip
    """The codes of some assertions of the one case, as a contract declares them."""
    text = HEAD.format(mode=mode, keys=keys, query=query, embed=embed, more=more)
    text += "".join(f"      ragAssert kind={a}\n" for a in asserts) + tail
    db.execute("select * from ragdb.apply_contract(%s, %s)", (text, "c"))
    row = db.execute("select run_id from ragdb.run_eval('A')").fetchone()
    assert row is not None
    kinds = tuple({a.split()[0] for a in asserts})
    rows = db.execute(
        "select code from ragdb.eval_assert_results(%s) where kind = any (%s) order by assert_no",
        (row[0], list(kinds)),
    ).fetchall()
    return [code for (code,) in rows]


def documents(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    put(db, TEXTS)


P, F = "PASS", "ASSERTION_FAIL"
# labelled are the second hit and one that is not found
NDCG = (1 / math.log2(3)) / (1 + 1 / math.log2(3))
LABELLED: list[tuple[str, str]] = [
    ("recallAtK threshold=0.5 count=2", P),
    ("recallAtK threshold=0.51 count=2", F),
    ("recallAtK threshold=0.5 count=1", F),
    ("recallAtK threshold=0.51 count=2 negate=true", P),
    ("precisionAtK threshold=0.5 count=2", P),
    ("precisionAtK threshold=0.21 count=5", F),
    ("precisionAtK threshold=0.2 count=5", P),
    ("precisionAtK threshold=0.5 count=2 negate=true", F),
    (f"ndcgAtK threshold={NDCG - 1e-6:.7f} count=2", P),
    (f"ndcgAtK threshold={NDCG + 1e-6:.7f} count=2", F),
    ("ndcgAtK threshold=0.9 count=2 negate=true", P),
    ("reciprocalRank threshold=0.5", P),
    ("reciprocalRank threshold=0.51", F),
    ("reciprocalRank threshold=0.51 negate=true", P),
    ("averagePrecision threshold=0.25", P),
    ("averagePrecision threshold=0.26", F),
    ("averagePrecision threshold=0.26 negate=true", P),
    ("hitAtK count=2", P),
    ("hitAtK count=1", F),
    ("hitAtK count=1 negate=true", P),
]


def test_kinds_about_labels(any_db: Connection) -> None:
    documents(any_db)
    keys = 'sources="docs/late.md,docs/shipping.md"'
    codes = outcomes(any_db, [text for text, _ in LABELLED], keys)
    assert codes == [code for _, code in LABELLED]


def test_kinds_about_labels_are_invalid_without_one(db: Connection) -> None:
    documents(db)
    asked = ["recallAtK threshold=0.5", "hitAtK count=1", "hitAtK count=1 negate=true"]
    assert outcomes(db, asked) == ["INVALID_ASSERTION"] * 3


def test_kinds_about_slices_and_tokens(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_signing_key()")
    chat(any_db, [message(n, [n - 1] if n > 1 else []) for n in range(1, 6)], "docs")
    rows = any_db.execute(
        "select slice_id from ragdb.build_slice('docs', %s)", (uuid(3),)
    ).fetchall()
    ((slice_id,),) = rows
    other = any_db.execute(
        "select slice_id from ragdb.export_slice('docs', %s, '{\"max_nodes\": 1}')", (uuid(5),)
    ).fetchone()
    assert other is not None
    asked = [
        (f"withinSlice value={slice_id}", P),
        (f"withinSlice value={slice_id} negate=true", F),
        (f"withinSlice value={other[0]}", F),
        ("withinSlice value=none", F),
        ("admissible", P),
        ("admissible negate=true", F),
        ("tokenValid", P),
        ("policyEq value=slice_policy_v1", P),
        ("policyEq value=other", F),
        ("policyEq value=other negate=true", P),
        ("noShortfall", P),
        ("noShortfall negate=true", F),
        ("replayMatches", P),
    ]
    texts = [text for text, _ in asked]
    codes = outcomes(any_db, texts, f"anchor={uuid(3)}", query="message number")
    assert codes == [code for _, code in asked]


def test_a_retrieval_beyond_a_slice_is_not_admissible(db: Connection) -> None:
    documents(db)
    asked = ["admissible", "tokenValid", "policyEq value=slice_policy_v1", "withinSlice value=x"]
    assert outcomes(db, asked) == [F] * 4
    assert outcomes(db, [f"{kind} negate=true" for kind in asked]) == [P] * 4


def test_whether_the_evidence_is_enough_for_an_answer_is_asserted_as_ask_decides_it(
    any_db: Connection,
) -> None:
    documents(any_db)
    asked = ["enoughContext", "enoughContext negate=true"]
    for query, codes in (("refund policy", [P, F]), ("the king of Spain", [F, P])):
        assert outcomes(any_db, asked, query=query) == codes
        row = any_db.execute("select status from ragdb.ask('docs', %s)", (query,)).fetchone()
        assert row == ("answered" if codes[0] == P else "insufficient",)


def test_members_without_an_embedding_are_a_shortfall(db: Connection) -> None:
    db.execute("select ragdb.create_signing_key()")
    documents(db)
    embed = "embed name=E corpus=docs model=hashing dims=64 metric=cosine\n"
    rows = db.execute("select chunk_id from ragdb.search('docs', 'refund policy', 1)").fetchall()
    ((anchor,),) = rows
    outcomes(db, ["chunkCountGte count=0"], embed=embed, more=" embed=E")
    vector = HashEncoder(64).encode(["refund policy"])
    db.execute("select ragdb.put_query_embedding('docs', %s, %s)", ("refund policy", Reals(vector)))
    asked = ["noShortfall", "admissible"]
    how: dict[str, Any] = {"mode": "hybrid", "embed": embed, "more": " embed=E"}
    assert outcomes(db, asked, f'anchor="{anchor}"', **how) == [F, F]


def test_kinds_about_the_model_the_result_and_its_replay(any_db: Connection) -> None:
    documents(any_db)
    assert outcomes(any_db, ["embeddingModelEq value=hashing", "replayMatches"]) == [F, P]
    row = any_db.execute("select result_hash from ragdb.list_traces('docs')").fetchone()
    assert row is not None
    asked = [f"resultHashEq value={row[0]}", f"resultHashEq value={row[0]} negate=true"]
    assert outcomes(any_db, [*asked, f"resultHashEq value={'0' * 64}"]) == [P, F, F]
    embed = "embed name=E corpus=docs model=hashing dims=64 metric=cosine\n"
    how: dict[str, Any] = {"mode": "hybrid", "embed": embed, "more": " embed=E"}
    outcomes(any_db, ["chunkCountGte count=0"], **how)
    vector = HashEncoder(64).encode(["refund policy"])
    any_db.execute(
        "select ragdb.put_query_embedding('docs', %s, %s)", ("refund policy", Reals(vector))
    )
    asked = ["embeddingModelEq value=hashing", "embeddingModelEq value=x", "replayMatches"]
    assert outcomes(any_db, asked, **how) == [P, F, P]


def test_a_replay_that_cannot_be_does_not_match(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs', record_query_text => 'none')")
    put(db, TEXTS)
    assert outcomes(db, ["replayMatches", "replayMatches negate=true"]) == [F, P]


ANSWER = """  ragAnswerContract name=W query="refund policy" answer="{answer}" {keys}
    answerSpan start=0 end={end} chunks="{chunks}"
"""


@pytest.mark.parametrize(
    ("answer", "end", "chunks", "keys", "expected"),
    [
        # coverage of at least a half and at least nine tenths, citations, numbers, abstention
        ("policy of 30 days", 17, "{chunk}", "", [P, P, P, P, F]),
        (
            "policy of 30 days, I think so",
            17,
            "{chunk}",
            "minGroundingCoverage=0.5",
            [P, F, P, P, F],
        ),
        ("policy of 30 days", 17, "nothing", "", [F, F, F, F, F]),
        ("policy of 31 days", 17, "{chunk}", "lexicalSupport=false", [P, P, P, F, F]),
        ("policy of 31 days", 17, "{chunk}", "", [F, F, P, F, F]),
    ],
)
def test_kinds_about_answers(
    db: Connection, answer: str, end: int, chunks: str, keys: str, expected: list[str]
) -> None:
    documents(db)
    rows = db.execute("select chunk_id from ragdb.search('docs', 'refund policy', 1)").fetchall()
    tail = ANSWER.format(answer=answer, end=end, chunks=chunks.format(chunk=rows[0][0]), keys=keys)
    # what is said of another answer says nothing of this one
    other = ANSWER.format(answer="policy of 30 days", end=17, chunks=rows[0][0], keys="")
    tail += other.replace("name=W", "name=X").replace("refund policy", "another")
    asked = [
        "groundingCoverageGte threshold=0.5",
        "groundingCoverageGte threshold=0.9",
        "citationsResolve",
        "numbersGrounded",
        "abstains",
    ]
    codes = outcomes(db, asked, tail=tail)
    assert codes == expected
    opposite = [P if code == F else F for code in expected]
    assert outcomes(db, [f"{kind} negate=true" for kind in asked], tail=tail) == opposite


def test_an_answer_that_abstains_is_told(db: Connection) -> None:
    documents(db)
    tail = (
        '  ragAnswerContract name=W query="refund policy" answer="I cannot say."'
        ' allowAbstain=true abstainAnswer="I cannot say." minRetrievedChunks=3\n'
    )
    assert outcomes(db, ["abstains", "abstains negate=true"], tail=tail) == [P, F]


def test_kinds_about_answers_are_invalid_without_one(db: Connection) -> None:
    documents(db)
    asked = [
        "abstains",
        "citationsResolve",
        "numbersGrounded",
        "groundingCoverageGte threshold=0.1",
    ]
    assert outcomes(db, asked) == ["INVALID_ASSERTION"] * 4
