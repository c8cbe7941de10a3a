"""Search by blocks returns what BM25 by brute force returns."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.sql.lexical_twin import Collection, document, encoded, lexemes, put, search

Connection = psycopg.Connection[Any]


@pytest.fixture
def db(clone: str) -> Iterator[Connection]:
    """A database of the test's own: what other tests rolled back still fills the posting lists."""
    with psycopg.connect(clone) as connection:
        yield connection


def test_the_pruned_ranking_of_a_large_corpus_is_exact(db: Connection) -> None:
    # given enough postings that search prunes, with skewed frequencies and near duplicates
    chance = random.Random(7)
    weights = [1 / (rank + 2) for rank in range(400)]
    vocabulary = [encoded(n) for n in range(400)]

    def text(low: int, high: int) -> str:
        return " ".join(chance.choices(vocabulary, weights, k=chance.randint(low, high)))

    stored = [text(5, 40) for _ in range(1800)]
    stored += stored[:200] * 2
    db.execute("select ragdb.create_corpus('large', text_config => 'simple')")
    put(db, "large", (document(f"{n}.txt", t) for n, t in enumerate(stored[:1100])))
    # so that there is more than one block of 4,096 chunks
    db.execute(
        "update ragdb.corpora set next_chunk_no = next_chunk_no + 140001 where name = 'large'"
    )
    put(db, "large", (document(f"{n}.txt", t) for n, t in enumerate(stored[1100:], 1100)))

    def check() -> None:
        twin = Collection.read(db, "large")
        for size, k in [(1, 10), (2, 1), (3, 10), (5, 30), (8, 10), (14, 10), (40, 10), (3, 1000)]:
            for _ in range(4):
                query = text(size, size)
                expected = twin.search(lexemes(db, query, "simple"), k)
                found = search(db, "large", query, k)
                assert [f[0] for f in found] == [e[0] for e in expected], query

    # then questions, long ones and single frequent words agree at every depth
    check()
    # and by the blocks of frequent lexemes
    db.execute("select ragdb.optimize_corpus('large')")
    blocks = db.execute(
        "select block_no, count(*) from ragdb.term_blocks group by 1 order by 1"
    ).fetchall()
    assert [number for number, _ in blocks] == [0, 34]
    assert min(terms for _, terms in blocks) > 20
    check()
    # and with documents that these blocks do not know, know wrongly, or know though they are gone
    put(db, "large", (document(f"{n}.txt", text(5, 40)) for n in range(0, 120, 2)))
    put(db, "large", (document(f"new{n}.txt", text(5, 40)) for n in range(150)))
    for n in range(1, 120, 2):
        db.execute("select ragdb.delete_source('large', %s)", (f"{n}.txt",))
    check()
    # and when every chunk was indexed anew
    db.execute("select ragdb.repair_corpus('large')")
    assert db.execute("select * from ragdb.check_corpus('large')").fetchall() == []
    check()
