"""The nearest of some names."""

from __future__ import annotations

import pytest

from tests.conftest import Connection


@pytest.mark.parametrize(
    ("word", "other", "distance"),
    [("", "", 0), ("a", "", 1), ("", "abc", 3), ("kitten", "sitting", 3), ("Docs", "dOCS", 0)],
)
def test_a_distance_counts_the_letters_that_differ(
    db: Connection, word: str, other: str, distance: int
) -> None:
    row = db.execute("select ragdb_internal.edit_distance(%s, %s)", (word, other)).fetchone()
    assert row == (distance,)


@pytest.mark.parametrize(
    ("word", "names", "nearest"),
    [
        ("recal", ["precision", "recall", "mrr"], "recall"),
        ("x", ["b", "a"], "a"),
        ("x", [None], None),
        ("x", [], None),
        (None, ["a"], None),
    ],
)
def test_the_nearest_name_is_named_and_of_two_the_first(
    db: Connection, word: str | None, names: list[str | None], nearest: str | None
) -> None:
    row = db.execute("select ragdb_internal.nearest_name(%s, %s::text[])", (word, names)).fetchone()
    assert row == (nearest,)
