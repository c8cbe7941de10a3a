"""The nearest chunks of a space are those that numpy finds, by a scan or by the index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from ragdb.client.calling import Reals
from tests.conftest import Connection, RolledBack
from tests.embedding import (
    ENCODER,
    embed,
    make_corpus,
    make_embedder,
    one,
    put,
)

Vectors = NDArray[np.float32]
NEAREST = """
  select n.chunk_no, n.score, n.is_exact
  from ragdb.corpora c, ragdb_internal.nearest(c, ragdb_internal.space(c.corpus_id, 'current'),
    ragdb_internal.pgvector(%s), %s, row(null, %s, null)) n
  where c.name = 'docs' order by n.score desc, n.chunk_no"""


def unit(vectors: Any) -> Vectors:
    scaled: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype("f4")
    return scaled


def expected(vectors: Vectors, query: Vectors, metric: str) -> Any:
    a, q = vectors.astype(float), query.astype(float)
    if metric == "cosine":
        raw = a @ q / np.linalg.norm(a, axis=1) / np.linalg.norm(q)
    elif metric == "ip":
        raw = a @ q
    else:
        raw = 1 - ((a - q) ** 2).sum(axis=1) / 2
    return np.round(np.clip(raw, 0, 1), 6)


@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
def test_scores_are_those_of_the_definition(any_db: Connection, metric: str) -> None:
    random = np.random.default_rng(1)
    any_db.execute("select ragdb.create_corpus('docs')")
    make_embedder(any_db, dims=8, metric=metric)
    any_db.execute("select ragdb.embed_corpus('docs', 'hash')")
    put(any_db, {f"{n:03}": f"text {n}" for n in range(60)})
    found: dict[str, Vectors] = {}

    def encode(texts: Any) -> Vectors:
        vectors = unit(random.normal(size=(len(texts), 8)))
        found.update(zip(texts, vectors, strict=True))
        return vectors

    embed(any_db, encode)
    rows = any_db.execute("select chunk_no, text from ragdb.chunks order by chunk_no").fetchall()
    vectors = np.stack([found[text] for _, text in rows])
    query = unit(random.normal(size=(1, 8)))[0]
    scores = dict(zip([no for no, _ in rows], expected(vectors, query, metric), strict=True))
    for k, among in ((5, None), (60, None), (5, [rows[n][0] for n in range(0, 60, 3)])):
        near = any_db.execute(NEAREST, (Reals(query), k, among)).fetchall()
        wanted = sorted((scores[no] for no in among or scores), reverse=True)[:k]
        assert [score for _, score, _ in near][:k] == pytest.approx(wanted, abs=2e-6)
        assert all(score == pytest.approx(scores[no], abs=2e-6) for no, score, _ in near)
        assert all(is_exact for *_, is_exact in near)


def test_chunks_that_tie_at_the_last_place_are_all_there(db: Connection) -> None:
    make_corpus(db, {str(n): "same" for n in range(7)})
    embed(db)
    assert len(db.execute(NEAREST, (Reals(ENCODER.encode(["same"])), 2, None)).fetchall()) == 7


CHUNKS, STEP = 12_000, 3  # every third has its embedding, the others wait: a graph is slow to build


@pytest.fixture(scope="module")
def indexed(module_clone: str) -> tuple[str, Vectors]:
    """DSN of a database with 12,000 chunks, of which a third lie in clusters, indexed."""
    count, dims = CHUNKS // STEP, 24
    random = np.random.default_rng(2)
    centres = random.normal(size=(300, dims))
    drawn = centres[random.integers(0, 300, count)] + 0.5 * random.normal(size=(count, dims))
    vectors = drawn.astype("f4")
    with psycopg.connect(module_clone) as db:
        fill(db, vectors)
    return module_clone, vectors


def fill(db: Connection, vectors: Vectors) -> None:
    _, dims = vectors.shape
    make_corpus(db, {"first": "only"})
    db.execute("select ragdb.drop_space('docs', 'hash')")
    make_embedder(db, "wide", dims=dims)
    db.execute("select ragdb.embed_corpus('docs', 'wide')")
    db.execute(
        "insert into ragdb.chunks (corpus_id, chunk_no, doc_no, ordinal, chunk_id, source,"
        " start_offset, end_offset, token_count, content_hash, text)"
        " select c.corpus_id, n, c.doc_no, n, 'c' || n, '', 0, 1, 1, sha256('t'), 't'"
        " from ragdb.chunks c, generate_series(2, %s) n",
        (CHUNKS,),
    )
    db.execute("update ragdb.corpora set chunks = %s where name = 'docs'", (CHUNKS,))
    db.execute(
        "insert into ragdb.chunk_embeddings (space_id, corpus_id, chunk_no, input_hash, embedding)"
        " select s.space_id, s.corpus_id, (v.n - 1) * %s + 1, int4send(v.n), v.embedding"
        " from ragdb.embedding_spaces s, ragdb_internal.cut(%s, %s) v",
        (STEP, Reals(vectors), dims),
    )
    assert one(db, "select ragdb.index_space('docs')")


@pytest.fixture
def large(indexed: tuple[str, Vectors]) -> Iterator[tuple[Connection, Vectors]]:
    """A connection there, rolled back after."""
    dsn, vectors = indexed
    with RolledBack.connect(dsn) as db:
        yield db, vectors


def test_the_index_finds_what_numpy_finds(large: tuple[Connection, Vectors]) -> None:
    db, vectors = large
    random = np.random.default_rng(3)
    hits = 0
    asked = vectors[random.integers(0, len(vectors), 40)]
    for query in asked[:20] + asked[20:]:  # halfway between two chunks
        scores = expected(vectors, query, "cosine")
        near = db.execute(NEAREST, (Reals(query), 50, None)).fetchall()
        assert not any(is_exact for *_, is_exact in near)
        assert all(
            score == pytest.approx(scores[(no - 1) // STEP], abs=2e-6) for no, score, _ in near
        )
        best = (np.argsort(-scores)[:10] * STEP + 1).tolist()
        hits += len({no for no, *_ in near[:10]} & set(best))
    assert hits >= 196
    assert 40 <= one(db, "select ef_search from ragdb.embedding_spaces") < 400
    for name in ("hnsw.ef_search", "hnsw.iterative_scan", "enable_seqscan"):
        assert one(db, "select setting = reset_val from pg_settings where name = %s", name)


@pytest.mark.nightly
def test_as_many_candidates_are_looked_at_as_recall_needs(
    large: tuple[Connection, Vectors],
) -> None:
    """A graph of three links a node, built carelessly, needs more of them than a good one."""
    db, _ = large
    good = one(db, "select ef_search from ragdb.embedding_spaces")
    db.execute(
        "drop index ragdb."
        + one(db, "select max(relname) from pg_class where relname like '%%by_nearness'")
    )
    db.execute("update ragdb.embedding_spaces set is_indexed = false, m = 3, ef_construction = 6")
    assert one(db, "select ragdb.index_space('docs')")
    assert one(db, "select ef_search from ragdb.embedding_spaces") > 2 * good


def test_a_hybrid_search_walks_less_far_where_words_weigh_most(
    large: tuple[Connection, Vectors],
) -> None:
    db, vectors = large
    db.execute("update ragdb.embedding_spaces set ef_search = 800")

    def pages(**how: Any) -> int:
        named = "".join(f", {key} => %({key})s" for key in how)
        ((plan,),) = db.execute(
            "explain (analyze, buffers, format json) select from ragdb.search('docs', 'only',"
            f" query_embedding => %(vector)s{named})",
            {"vector": Reals(vectors[7]), **how},
        ).fetchall()
        read = plan[0]["Plan"]
        return int(read["Shared Hit Blocks"] + read["Shared Read Blocks"])

    def least(**how: Any) -> int:
        return min(pages(**how) for _ in range(8))

    wide = least(mode="hybrid", lexical_weight=0.74)
    assert least(mode="hybrid", lexical_weight=0.75) < wide / 3
    assert least(mode="hybrid", lexical_weight=0.75, fusion="rrf") > 0.9 * wide
    assert least(mode="semantic") > 0.8 * wide


@pytest.mark.parametrize("share", [0.004, 0.01, 0.1, 0.5])
def test_a_filter_never_shortens_the_list(large: tuple[Connection, Vectors], share: float) -> None:
    db, vectors = large
    random = np.random.default_rng(4)
    among = sorted((random.permutation(CHUNKS)[: int(share * CHUNKS)] + 1).tolist())
    embedded = np.array([no for no in among if no % STEP == 1])
    right = 0
    for query in random.normal(size=(10, vectors.shape[1])).astype("f4"):
        near = db.execute(NEAREST, (Reals(query), 10, among)).fetchall()
        assert len(near) >= 10
        assert {no for no, *_ in near} <= set(among)
        assert all(is_exact == (share <= 0.1) for *_, is_exact in near)
        scores = expected(vectors[(embedded - 1) // STEP], query, "cosine")
        tenth = sorted(scores, reverse=True)[9]
        right += sum(score >= tenth - 2e-6 for _, score, _ in near[:10])
    # of a graph that finds 98 in 100, a hundred finds are seldom fewer than 93
    assert right >= (100 if share <= 0.1 else 91)


def test_where_what_is_wanted_lies_far_away_all_of_it_is_looked_at(
    large: tuple[Connection, Vectors],
) -> None:
    db, vectors = large
    query = vectors[7]
    scores = expected(vectors, query, "cosine")
    far = np.argsort(scores)[: len(vectors) // 2]
    among = (far * STEP + 1).tolist()
    beside = [no for no in range(1, CHUNKS + 1) if no % STEP != 1]  # not embedded yet
    near = db.execute(NEAREST, (Reals(query), 10, among + beside)).fetchall()
    assert all(is_exact for *_, is_exact in near)
    best = np.argsort(-scores[far], kind="stable")[:10]
    assert [score for _, score, _ in near[:10]] == pytest.approx(scores[far][best], abs=2e-6)
