"""A corpus made to a million chunks, and one of eight million numbers: searched, edited, optimized.

What a million chunks would take hours to ingest is written straight into the tables, and indexed
by what indexes every chunk.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import psutil
import psycopg
import pytest

from tests.conftest import Server
from tests.documents import text_document
from tests.sql.made_corpus import Made

pytestmark = pytest.mark.nightly

MILLION = 1_000_000
# words and k of 300 questions, over and over
KINDS = [(1, 10), (2, 10), (3, 10), (4, 1), (5, 10), (6, 20), (8, 10), (12, 10), (20, 5), (3, 300)]


@pytest.fixture(scope="module")
def connection(server18: Server) -> Iterator[psycopg.Connection[Any]]:
    with (
        server18.database() as database,
        psycopg.connect(server18.dsn(database.dbname), autocommit=True) as connection,
    ):
        yield connection


@pytest.fixture(scope="module")
def growing(connection: psycopg.Connection[Any]) -> Made:
    return Made(connection, name="growing", vocabulary=30_000, chunks_per_document=100)


def grown(made: Made, chunks: int) -> Made:
    """The corpus with so many chunks at least, none of them new to its blocks."""
    if chunks > len(made.ids):
        while chunks > len(made.ids):
            made.add(min(100_000, chunks - len(made.ids)))
        made.optimize()
        made.db.execute("vacuum analyze")
    return made


def memory(made: Made) -> int:
    """Bytes that the server's process has for itself."""
    used: int = psutil.Process(made.db.info.backend_pid).memory_full_info().uss
    return used


def ask(made: Made, questions: int = 300) -> None:
    used = 0
    for at in range(questions):
        words, k = KINDS[at % len(KINDS)]
        made.agrees(made.question(words), k)
        if at == 50:
            used = memory(made)
    assert memory(made) < used + 64 * 2**20


@pytest.mark.parametrize("chunks", [63_500, 127_500, 700_000, MILLION])
def test_a_growing_corpus_is_searched_as_by_brute_force(growing: Made, chunks: int) -> None:
    ask(grown(growing, chunks))


def test_eight_million_numbers_are_searched_as_by_brute_force(
    connection: psycopg.Connection[Any],
) -> None:
    made = Made(connection, name="wide", vocabulary=5_000, chunks_per_document=100)
    # four neighbours of each 160, and the last number
    numbers = (np.arange(200_000) // 4 * 160 + np.arange(200_000) % 4) + 1
    numbers[-1] = 8_000_000
    made.add(made.draw(200_000), numbers)
    made.make_blocks()
    ask(made)


def test_a_million_chunks_are_searched_by_meaning_and_by_both(growing: Made) -> None:
    made = grown(growing, MILLION)
    made.embed()
    for at in range(60):
        words, k = KINDS[at % 9]
        made.agrees_by_both(made.question(words), k)


def test_the_index_of_a_million_vectors_finds_nearly_all(growing: Made) -> None:
    made = grown(growing, MILLION)
    assert made.db.execute("select ragdb.index_space('growing')").fetchone() == (True,)
    shares = []
    for _ in range(50):
        vector = made.rng.normal(size=8)
        near = made.similarities(vector)
        found = made.db.execute(
            "select chunk_id, score, is_exact from ragdb.search('growing', 'x', 10,"
            " mode => 'semantic', query_embedding => %s)",
            (vector.tolist(),),
        ).fetchall()
        for chunk, score, is_exact in found:
            assert not is_exact
            assert score == pytest.approx(near[made.places_of[chunk]], abs=2e-6)
        kth = np.sort(near)[-10]
        shares.append(sum(score >= kth - 2e-6 for _, score, _ in found) / 10)
    assert np.mean(shares) >= 0.95


def test_a_million_chunks_are_edited_and_optimized(growing: Made) -> None:
    made = grown(growing, MILLION)
    first = made.db.execute(
        "select source, min(chunk_no), max(chunk_no) from ragdb.chunks where corpus_id = %s"
        " and doc_no %% 97 = 5 group by source order by 2 limit 100",
        (made.corpus_id,),
    ).fetchall()
    # half of them become documents of one chunk, the other half go
    texts = made.draw(50)
    made.db.execute(
        "select ragdb.put_documents('growing', %s)",
        (
            json.dumps(
                [
                    text_document(row[0], " ".join(t))
                    for row, t in zip(first[:50], texts, strict=True)
                ]
            ),
        ),
    )
    for source, *_ in first[50:]:
        made.db.execute("select ragdb.delete_source('growing', %s)", (source,))
    gone = np.concatenate([np.arange(low, high + 1) for _, low, high in first])
    made.forget(np.flatnonzero(np.isin(made.numbers, gone)).tolist())
    come = {
        source: (chunk, number)
        for source, chunk, number in made.db.execute(
            "select source, chunk_id, chunk_no from ragdb.chunks where corpus_id = %s"
            " and source = any(%s)",
            (made.corpus_id, [row[0] for row in first[:50]]),
        )
    }
    places = [come[row[0]] for row in first[:50]]
    made.learn([chunk for chunk, _ in places], np.array([n for _, n in places]), texts)
    # what the blocks do not know: new chunks, gone ones, and some that were indexed anew
    made.add(3_000)
    made.rewrite(np.flatnonzero(made.alive)[:500].tolist(), made.draw(500))
    ask(made, 60)
    # too much that they do not know
    made.add(1_500)
    ask(made, 60)
    made.optimize()
    ask(made)
    # all is well but for ids: a made chunk has one of its own
    wrong = made.db.execute("select * from ragdb.check_corpus('growing')").fetchall()
    assert [check for check, *_ in wrong] == ["chunks whose id is not their content's"]
