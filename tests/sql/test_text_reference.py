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


@pytest.mark.shared
def test_scores_are_those_of_the_golden_vectors(any_db: Connection, golden: Any) -> None:
    for case in golden["retrieve"]:
        expected = {hit["id"]: hit["s"] for hit in case["expect"]}
        for chunk in case["chunks"]:
            found = jaccard(any_db, tokens(any_db, case["query"]), tokens(any_db, chunk["text"]))
            assert found == expected.get(chunk["id"], 0)


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
