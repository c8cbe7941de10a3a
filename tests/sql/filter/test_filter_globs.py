"""Globs match as fnmatch does, in no time, and have a measure."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import Connection
from tests.processor import spent

MATCHES = "select %s like ragdb_internal.glob_pattern(%s)"


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(alphabet="ab/%_\\é", max_size=12),
    pattern=st.text(alphabet="ab/%_\\é*?", max_size=8),
)
def test_a_glob_matches_like_fnmatch(db: Connection, text: str, pattern: str) -> None:
    row = db.execute(MATCHES, (text, pattern)).fetchone()
    assert row is not None
    translated = "".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)
    assert row[0] == bool(re.fullmatch(translated, text, re.DOTALL))


def test_a_hostile_glob_takes_no_time(db: Connection) -> None:
    before = spent(db)
    db.execute(MATCHES, ("a" * 1_000_000, "*a" * 16 + "b"))
    assert spent(db) - before < 5


@pytest.mark.parametrize(
    ("pattern", "is_long"),
    [("a" * 1024, False), ("a" * 1025, True), ("*" * 16, False), ("*" * 17, True)],
)
def test_a_glob_is_long_by_its_characters_or_its_stars(
    db: Connection, pattern: str, is_long: bool
) -> None:
    row = db.execute("select ragdb_internal.is_long_glob(%s)", (pattern,)).fetchone()
    assert row == (is_long,)
