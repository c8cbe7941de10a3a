"""Recall and latency of the nearest chunks, and completeness under filters, with plain pgvector.

The vectors are made: 200 topics, 4,000 subtopics around them and noise in 64 dimensions, projected
at random into 384 with a tenth of noise there, scaled to length 1: like a text model's, they fill
few of their dimensions (--latent 384 fills all, which no model does). Truth is numpy's. Plain
pgvector is the statement that a user would write, on the same index.

    python -m bench.vectors.run [--chunks 200000] [--latent 64]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from bench.common import Connection, parser, publish, server
from ragdb.client.calling import Reals

DIMS = 384
Matrix = NDArray[np.float32]
OURS = """
  select n.chunk_no, n.is_exact from ragdb.corpora c,
    ragdb_internal.nearest(c, ragdb_internal.space(c.corpus_id, 'current'),
      ragdb_internal.pgvector(%s), 10, %s) n
  order by n.score desc, n.chunk_no limit 10"""
AMONG = OURS.replace("%s) n", "row(null, (select nos from among), null)) n")
PLAIN = """
  select chunk_no from ragdb.chunk_embeddings_1
  order by l2_normalize(embedding)::halfvec(384) <=>
    l2_normalize(ragdb_internal.pgvector(%s))::halfvec(384) limit 10"""


def structured(count: int, queries: int, latent: int) -> tuple[Matrix, Matrix]:
    random = np.random.default_rng(7)
    topics = random.normal(size=(200, latent))
    near = topics[random.integers(0, 200, 4000)]
    subtopics = 0.6 * near + 0.6 * random.normal(size=(4000, latent))
    into = random.normal(size=(latent, DIMS)) / np.sqrt(latent)

    def draw(n: int) -> Matrix:
        inner = subtopics[random.integers(0, 4000, n)] + 0.7 * random.normal(size=(n, latent))
        drawn: Matrix = inner @ into + 0.1 * random.normal(size=(n, DIMS))
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        return np.asarray(drawn, np.float32)

    blocks = [draw(min(10_000, count - at)) for at in range(0, count, 10_000)]
    return np.concatenate(blocks), draw(queries)


def load(db: Connection, vectors: Matrix) -> tuple[float, float]:
    """Seconds for storing the vectors and for building the index."""
    count = len(vectors)
    db.execute("select ragdb.create_corpus('bench')")
    db.execute("select ragdb.create_embedder('made', %s)", (DIMS,))
    db.execute("select ragdb.embed_corpus('bench', 'made')")
    db.execute("select count(*) from ragdb.put_text('bench', 'one', 'a text')")
    db.execute(
        "insert into ragdb.chunks (corpus_id, chunk_no, doc_no, ordinal, chunk_id, source,"
        " start_offset, end_offset, token_count, content_hash, text)"
        " select c.corpus_id, n, c.doc_no, n, 'c' || n, '', 0, 1, 1, sha256('t'), 't'"
        " from ragdb.chunks c, generate_series(2, %s) n",
        (count,),
    )
    db.execute("update ragdb.corpora set chunks = %s", (count,))
    began = time.perf_counter()
    for at in range(0, count, 10_000):
        db.execute(
            "insert into ragdb.chunk_embeddings_1"
            " (space_id, corpus_id, chunk_no, input_hash, embedding)"
            " select 1, c.corpus_id, %s + v.n, int4send(%s + v.n), v.embedding"
            " from ragdb.corpora c, ragdb_internal.cut(%s, %s) v",
            (at, at, Reals(vectors[at : at + 10_000]), DIMS),
        )
    stored = time.perf_counter()
    db.execute("select ragdb.index_space('bench')")
    indexed = time.perf_counter()
    db.execute("vacuum analyze ragdb.chunk_embeddings_1")
    return stored - began, indexed - stored


def measure(
    ask: Callable[[Matrix], list[Any]], queries: Matrix, truth: NDArray[np.int64]
) -> tuple[float, float, float, int]:
    """Recall@10, p50 and p95 in ms, and the fewest rows."""
    found, times, fewest = 0, [], 10
    for query, best in zip(queries, truth, strict=True):
        began = time.perf_counter()
        rows = ask(query)
        times.append(1000 * (time.perf_counter() - began))
        found += len({row[0] for row in rows} & set(best.tolist()))
        fewest = min(fewest, len(rows))
    p50, p95 = np.percentile(times, [50, 95])
    return found / 10 / len(queries), float(p50), float(p95), fewest


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--chunks", type=int, default=200_000)
    flags.add_argument("--queries", type=int, default=200)
    flags.add_argument("--latent", type=int, default=64)
    arguments = flags.parse_args()
    vectors, queries = structured(arguments.chunks, arguments.queries, arguments.latent)
    truth = np.argsort(-(queries @ vectors.T), axis=1)[:, :10] + 1
    lines = []

    def row(name: str, result: tuple[float, float, float, int]) -> None:
        recall, p50, p95, fewest = result
        lines.append(f"| {name} | {recall:.4f} | {p50:.2f} | {p95:.2f} | {fewest} |")
        print(lines[-1], flush=True)

    with server() as own, psycopg.connect(own.database(), autocommit=True) as db:
        stored, indexed = load(db, vectors)
        print(f"stored in {stored:.1f} s, indexed in {indexed:.1f} s", flush=True)
        none: list[int] | None = None
        for _ in range(2):  # the first round warms the caches
            ours = measure(lambda q: db.execute(OURS, (Reals(q), none)).fetchall(), queries, truth)
        row("ragdb, k = 10", ours)
        for ef in (40, 100, 240):
            db.execute(f"set hnsw.ef_search = {ef}")
            plain = measure(lambda q: db.execute(PLAIN, (Reals(q),)).fetchall(), queries, truth)
            row(f"plain pgvector, ef_search {ef}", plain)
        db.execute("reset hnsw.ef_search")
        random = np.random.default_rng(8)
        for share in (0.001, 0.01, 0.1, 0.5):
            count = int(share * len(vectors))
            nos = np.sort(random.permutation(len(vectors))[:count]) + 1
            db.execute("drop table if exists among; create temp table among (nos int[])")
            db.execute("insert into among values (%s)", (nos.tolist(),))
            some = queries[:50]
            best = nos[np.argsort(-(some @ vectors[nos - 1].T), axis=1)[:, :10]]
            result = measure(lambda q: db.execute(AMONG, (Reals(q),)).fetchall(), some, best)
            row(f"ragdb, filter that keeps {share:.1%}", result)
    publish(
        arguments.results,
        "Nearest chunks",
        f"{arguments.chunks:,} × {DIMS} made vectors ({arguments.latent} latent), m 16,"
        f" ef_construction 128; stored in {stored:.1f} s, indexed in {indexed:.1f} s;"
        f" {arguments.queries} queries.",
        [
            "| what | recall@10 | p50 ms | p95 ms | fewest rows of 10 |",
            "|---|---|---|---|---|",
            *lines,
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
