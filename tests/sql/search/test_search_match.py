"""Search by a vector: near a chunk, and near a given embedding."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ragdb import errors
from ragdb.client.calling import Reals
from tests.conftest import Connection
from tests.embedding import ENCODER, embed, make_corpus, one, put

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


def one_row(db: Connection, query: str) -> Any:
    return db.execute(query.encode()).fetchone()


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


def test_without_embeddings_similar_is_by_the_words_that_weigh_most(db: Connection) -> None:
    texts = {
        f"{n}": " ".join(f"w{m}" for m in range(n, n + 60, 1 + n % 3)) + " common" * (n % 4)
        for n in range(40)
    }
    db.execute("select ragdb.create_corpus('docs', text_config => 'simple')")
    put(db, texts)
    own = "7"
    # a twin: the same words asked for, which the configuration leaves as they are
    chunks, pivot = one_row(db, "select chunks, pivot from ragdb.corpora where name = 'docs'")
    count: dict[str, int] = {}
    for text in texts.values():
        for word in set(text.split()):
            count[word] = count.get(word, 0) + 1

    def weight(word: str) -> tuple[float, str]:
        tf, length = texts[own].split().count(word), len(texts[own].split())
        norm = 1.2 * (0.25 + 0.75 * length / pivot)
        idf = math.log(1 + (chunks - count[word] + 0.5) / (count[word] + 0.5))
        return -idf * tf * 2.2 / (tf + norm), word

    asked = " ".join(sorted(set(texts[own].split()), key=weight)[:25])
    wanted = [
        row
        for row in db.execute(
            "select source, score, bm25, mode from ragdb.search('docs', %s, 11,"
            " mode => 'lexical', typos => false)",
            (asked,),
        )
        if row[0] != own
    ][:10]
    chunk = one(db, "select chunk_id from ragdb.chunks where source = '7'")
    found = db.execute(
        "select source, score, bm25, mode from ragdb.similar('docs', %s)", (chunk,)
    ).fetchall()
    assert found == wanted
    with pytest.raises(errors.ModeNotAvailable):
        db.execute("select ragdb.similar('docs', %s, mode => 'semantic')", (chunk,))


def test_similar_by_words_takes_filters_floors_and_chunks_without_words(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    put(db, TEXTS | {"empty": "… !"})
    ids = dict(db.execute("select source, chunk_id from ragdb.chunks").fetchall())

    def like(source: str, **how: Any) -> list[str]:
        options = "".join(f", {name} => %({name})s" for name in how)
        rows = db.execute(
            f"select source from ragdb.similar('docs', %(id)s{options})".encode(),
            {"id": ids[source]} | how,
        )
        return [row[0] for row in rows]

    assert like("a") == ["b", "d"]
    assert like("a", k=1) == ["b"]
    assert like("a", filter='{"source": "d"}') == ["d"]
    assert like("a", min_score=0.9) == []
    assert like("empty") == []
