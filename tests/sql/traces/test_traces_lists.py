"""Traces by what was asked and what came of it, page by page."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg.rows import dict_row

from ragdb import errors
from tests.conftest import Connection
from tests.embedding import put

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def asked(server18: Any) -> Any:
    """Forty retrievals of two corpora, a minute apart, each recorded by the function for it."""
    import psycopg

    with (
        server18.database() as database,
        psycopg.connect(server18.dsn(database.dbname), autocommit=True) as db,
    ):
        for corpus in ("docs", "other"):
            db.execute("select ragdb.create_corpus(%s)", (corpus,))
            put(db, {"a.txt": "tulips and roses", "b.txt": "roses"}, corpus)
        for n in range(40):
            corpus = ("docs", "docs", "other")[n % 3]
            if n % 8 == 5:
                failure = "select ragdb.record_failure(%s, 'q', 'RG410', %s, mode => 'hybrid')"
                db.execute(failure, (corpus, 10.0 * n))
            else:
                word = "zebra" if n % 7 == 3 else "roses"
                mode = "reference" if n % 5 == 0 else "lexical"
                db.execute(
                    "select count(*) from ragdb.retrieve(%s, %s, mode => %s)", (corpus, word, mode)
                )
        yield db


def listed(db: Connection, **given: Any) -> Rows:
    named = ", ".join(f"{name} => %({name})s" for name in given)
    with db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(f"select * from ragdb.list_traces({named})", given).fetchall()


def outcome(row: dict[str, Any]) -> str:
    if row["error_code"] is not None:
        return "failed"
    return "found" if row["limit_returned"] else "empty"


def test_each_filter_leaves_what_it_says_and_all_of_it(asked: Connection) -> None:
    everything = listed(asked, count=1000)
    assert len(everything) == 40
    assert {outcome(row) for row in everything} == {"found", "empty", "failed"}
    middle = everything[20]["created_at"]
    cases: list[tuple[dict[str, Any], Any]] = [
        ({"corpus": "other"}, lambda row: row["corpus"] == "other"),
        ({"mode": "reference"}, lambda row: row["rank_mode"] == "reference"),
        ({"until": middle}, lambda row: row["created_at"] < middle),
        ({"since": middle}, lambda row: row["created_at"] >= middle),
        ({"min_elapsed_ms": 100.0}, lambda row: row["elapsed_ms"] >= 100),
        *(
            ({"outcome": one}, lambda row, one=one: outcome(row) == one)
            for one in ("found", "empty", "failed")
        ),
        (
            {"corpus": "docs", "outcome": "failed", "mode": "hybrid", "min_elapsed_ms": 60},
            lambda row: (
                row["corpus"] == "docs" and outcome(row) == "failed" and row["elapsed_ms"] >= 60
            ),
        ),
    ]
    for given, holds in cases:
        expected = [row for row in everything if holds(row)]
        assert expected, given
        assert listed(asked, count=1000, **given) == expected, given
    assert listed(asked, outcome="short") == []


@pytest.mark.parametrize("given", [{}, {"corpus": "docs"}, {"outcome": "found"}])
def test_pages_follow_one_another_without_a_gap(asked: Connection, given: dict[str, Any]) -> None:
    everything = listed(asked, count=1000, **given)
    found: Rows = []
    while page := listed(asked, count=7, before=found[-1]["id"] if found else None, **given):
        found += page
    assert found == everything


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mode": "quick"}, 'mode "quick" is unknown'),
        ({"outcome": "good"}, 'outcome "good" is unknown'),
        ({"min_elapsed_ms": -1.0}, "min_elapsed_ms is -1"),
        ({"min_elapsed_ms": float("nan")}, "min_elapsed_ms is NaN"),
        ({"count": 0}, "count is 0"),
        ({"count": 10001}, "count is 10001"),
    ],
)
def test_what_no_trace_can_be_is_refused(
    asked: Connection, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(errors.InvalidArgument) as caught:
        listed(asked, **given)
    assert caught.value.diag.message_primary == said
