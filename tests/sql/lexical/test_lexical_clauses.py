"""The syntax of a query: phrases, +words and -words."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.sql.lexical_twin import make_docs, search

Connection = psycopg.Connection[Any]


@pytest.fixture
def docs(db: Connection) -> Connection:
    make_docs(db)
    return db


def found(db: Connection, query: str) -> set[str]:
    statement = "select source from ragdb.search('docs', %s, 10, syntax => 'web')"
    return {row[0] for row in db.execute(statement, (query,)).fetchall()}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("order", {"order.txt", "reverse.txt", "refund.txt"}),
        ('"purchase order"', {"order.txt"}),
        ('"purchase orders"', {"order.txt"}),
        ('order -"purchase order"', {"reverse.txt", "refund.txt"}),
        ("order -refund", {"order.txt", "reverse.txt"}),
        ("rain +order", {"order.txt", "reverse.txt", "refund.txt"}),
        ("+rain +order", set()),
        ("+nosuchword order", set()),
        ("order -nosuchword", {"order.txt", "reverse.txt", "refund.txt"}),
        ('"nosuchword order"', set()),
        ('"state of the art"', {"state.txt"}),
        ('"state art"', set()),
        ("+user_id", {"state.txt"}),
        ("-order", set()),
        ('"" order', {"order.txt", "reverse.txt", "refund.txt"}),
        ('order "unclosed', {"order.txt", "reverse.txt", "refund.txt"}),
        ("+1 order -2", {"order.txt", "reverse.txt", "refund.txt"}),
        ("the of and", set()),
        ("& | ! ( ) : * ' \\ <-> rain", {"weather.txt"}),
    ],
)
def test_a_query_finds(docs: Connection, query: str, expected: set[str]) -> None:
    assert found(docs, query) == expected


def test_a_clause_changes_which_chunks_rank_and_no_score(docs: Connection) -> None:
    plain = {chunk: score for chunk, score, _ in search(docs, "docs", "purchase order")}
    for chunk, score, _ in search(docs, "docs", '"purchase order"', syntax="web"):
        assert score == plain[chunk]
