"""Search by a vector: near a chunk, and near a given embedding."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from ragdb import errors
from ragdb.client.calling import Reals
from tests.embedding import ENCODER, embed, make_corpus, one

Connection = psycopg.Connection[Any]
TEXTS = {
    "a": "the quick brown fox",
    "b": "quick foxes run away",
    "c": "the lazy dog sleeps",
    "d": "a slow red fox",
}
QUERY = "quick fox"


@pytest.fixture
def docs(any_db: Connection) -> Connection:
    make_corpus(any_db, TEXTS)
    embed(any_db)
    return any_db


def test_similar_chunks_leave_out_the_one_asked_for(docs: Connection) -> None:
    chunk = one(docs, "select chunk_id from ragdb.chunks where source = 'a'")
    hits = docs.execute("select text, mode from ragdb.similar('docs', %s, 2)", (chunk,)).fetchall()
    assert len(hits) == 2
    assert "the quick brown fox" not in {text for text, _ in hits}
    with pytest.raises(errors.ChunkNotFound), docs.transaction():
        docs.execute("select ragdb.similar('docs', 'nothing')")


def test_match_documents_is_a_semantic_search(docs: Connection) -> None:
    vector = Reals(ENCODER.encode([QUERY]))
    rows = docs.execute(
        "select content, similarity from ragdb.match_documents(%s, 0.2, 3)", (vector,)
    )
    wanted = docs.execute(
        "select text, score from ragdb.search('docs', %s, 3, mode => 'semantic', min_score => 0.2,"
        " query_embedding => %s)",
        (QUERY, vector),
    )
    assert rows.fetchall() == wanted.fetchall()
