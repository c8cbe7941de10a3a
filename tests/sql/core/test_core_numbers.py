"""Numbers and lists as they come from JSON, arrays and text."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.conftest import Connection


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("double(1e-400)", 0.0),
        ("double(-0.5)", -0.5),
        ("is_list(null)", True),
        ("is_list('{}')", True),
        ("is_list('{a,b}')", True),
        ("is_list('{a,null}')", False),
        ("is_list('{{a},{b}}')", False),
        ("list(' a ,, b\tc ,')", ["a", "b\tc"]),
        ("list('')", []),
        ("number('1.5', 0, 2)", 1.5),
        ("number('1.5', 2, null)", None),
        ("number('1e400', null, null)", None),
        ("number('x', null, null)", None),
        ("number('0.30000000000000004', 0, 1)", 0.30000000000000004),
        ("number('0.012345678901234567', 0, 1)", 0.012345678901234567),
        (f"number('0.{'0' * 199}1e-99', 0, 1)", 1e-299),
        (f"number('0.{'0' * 200}1e-99', 0, 1)", None),
        ("whole('-7', null, null)", -7),
        ("whole('7.0', null, null)", None),
        ("whole('7', 8, null)", None),
        ("single('{1e-60,0.5}')", [0.0, 0.5]),
        ("single('{{1},{2}}')", [[0.0]]),
    ],
)
def test_a_number_or_a_list_is_read_or_is_none(db: Connection, call: str, found: Any) -> None:
    assert db.execute(f"select ragdb_internal.{call}").fetchone() == (found,)


def test_a_rank_is_one_and_how_many_scores_are_higher(db: Connection) -> None:
    draw = random.Random(7)
    scores = [draw.randint(0, 20) / 20 for _ in range(60)]
    rows = db.execute(
        "select u.score, ragdb_internal.rank_among(u.score, array(select unnest(%s::float8[])"
        " order by 1), 60) from unnest(%s::float8[]) u (score)",
        (scores, scores),
    ).fetchall()
    assert rows == [(score, 1 + sum(other > score for other in scores)) for score in scores]
