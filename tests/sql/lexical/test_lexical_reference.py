"""The reference ranking: tokens and Jaccard; golden vectors and Python twins."""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import Connection
from tests.documents import text_document
from tests.sql.lexical_twin import put

relaxed = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
# Python's Unicode may be another than 15.0; both have what 3.2 had
old = st.characters(exclude_characters="\x00", exclude_categories=["Cs", "Cn", "Co"]).filter(
    lambda c: unicodedata.ucd_3_2_0.category(c) != "Cn"
)
words = st.lists(
    st.sampled_from([*"ΣσςΑα İIiı.'’:·\u0301\u00adaZ9_-日ก ", "ΣΊΣΥΦΟΣ", "ﬁ", "Ⅷ"])
).map("".join)


@cache
def wordly() -> re.Pattern[str]:
    """Runs of letters, marks and numbers."""
    every = (chr(i) for i in range(sys.maxunicode + 1))
    kept = (re.escape(c) for c in every if unicodedata.category(c)[0] in "LMN")
    return re.compile(f"[{''.join(kept)}]+")


def tokens(db: Connection, text: str) -> list[str]:
    row = db.execute("select ragdb_internal.reference_tokens(%s)", (text,)).fetchone()
    assert row is not None
    found: list[str] = row[0]
    return found


def jaccard(db: Connection, a: list[str], b: list[str]) -> float:
    row = db.execute("select ragdb_internal.jaccard(%s, %s)", (a, b)).fetchone()
    assert row is not None
    found: float = row[0]
    return found


@pytest.mark.shared
def test_tokens_are_those_of_the_golden_vectors(any_db: Connection, golden: Any) -> None:
    for text, expected in golden["tokenize"]:
        assert tokens(any_db, text) == expected


@relaxed
@given(text=st.text(old) | words)
def test_tokens_are_those_of_python(db: Connection, text: str) -> None:
    expected = wordly().findall(unicodedata.normalize("NFKC", text).lower())
    assert tokens(db, text) == list(dict.fromkeys(expected))


@relaxed
@given(
    a=st.lists(st.sampled_from("abcdef"), unique=True),
    b=st.lists(st.sampled_from("abcdef"), unique=True),
)
def test_jaccard_is_the_part_that_both_have(db: Connection, a: list[str], b: list[str]) -> None:
    union = set(a) | set(b)
    assert jaccard(db, a, b) == (len(set(a) & set(b)) / len(union) if union else 0)


@pytest.mark.shared
def test_the_golden_retrievals_come_out(db: Connection, golden: Any) -> None:
    for n, case in enumerate(golden["retrieve"]):
        db.execute("select ragdb.create_corpus(%s)", (f"golden-{n}",))
        put(db, f"golden-{n}", (text_document(c["id"], c["text"]) for c in case["chunks"]))
        hits = db.execute(
            "select source, score, lexical_score, bm25"
            " from ragdb.search(%s, %s, 10, mode => 'reference')",
            (f"golden-{n}", case["query"]),
        ).fetchall()
        # equal scores go by chunk id, which begins with the id given
        assert [(h[0], h[1]) for h in hits] == [
            (e["id"], pytest.approx(e["s"], abs=1e-12)) for e in case["expect"]
        ]
        assert all(h[2:] == (None, None) for h in hits)


def test_the_reference_ranking_obeys_filters_and_floor(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    put(
        db,
        "docs",
        (text_document(f"{n}.txt", f"refund policy {n}", metadata={"n": n % 2}) for n in range(6)),
    )
    search = "select source, score from ragdb.search('docs', 'refund policy 3', {}, 'reference'{})"
    narrow = """, min_score => 0.6, filter => '{"n": 1}'"""
    assert db.execute(search.format(10, narrow)).fetchall() == [("3.txt", 1.0)]
    # the best of six
    assert db.execute(search.format(1, "")).fetchall() == [("3.txt", 1.0)]
