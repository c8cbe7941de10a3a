"""What `bench.hybrid.run` measures of its peers, in the environment that has them.

LanceDB with its full-text index and its default vector index; LangChain's PGVectorStore on our
server with an HNSW index, a tsvector column and its own fusion. Started by run.py with a folder
that holds chunks.jsonl, vectors.npy, queries.jsonl and asked.npy; prints a JSON object a line:
name, p50 and p95 in ms, the mean of this process's processor where the peer runs in it, and the
fewest rows of 10, or a note.

    bench/.venv/bin/python bench/hybrid/peers.py lancedb|langchain FOLDER [URI]
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

DIMS = 384
Ask = Callable[[str, Any], list[Any]]


def read(folder: Path, name: str) -> list[Any]:
    with (folder / name).open() as lines:
        return [json.loads(line) for line in lines]


def note(text: str) -> None:
    print(json.dumps({"note": text}), flush=True)


def report(name: str, ask: Ask, queries: list[str], asked: Any) -> None:
    """p50 and p95 of the better of two rounds, as run.py takes them."""
    rounds, fewest = [], 10
    before = time.process_time()
    for _ in range(2):
        spent = []
        for query, vector in zip(queries, asked, strict=True):
            began = time.perf_counter()
            rows = ask(query, vector)
            spent.append(1000 * (time.perf_counter() - began))
            fewest = min(fewest, len(rows))
        rounds.append(spent)
    took = 1000 * (time.process_time() - before) / len(queries) / 2
    p50, p95 = np.percentile(np.min(rounds, axis=0), [50, 95])
    processor = f"{took:.2f}" if name.startswith("LanceDB") else None
    found = {"name": name, "p50": p50, "p95": p95, "processor": processor, "rows": fewest}
    print(json.dumps(found), flush=True)


def recall(name: str, ids: Callable[[Any], list[int]], vectors: Any, asked: Any) -> None:
    """Share of the ten nearest that are found; what ties with the tenth counts."""
    found = 0
    for vector in asked:
        scores = vectors @ vector
        tenth = np.partition(-scores, 9)[9]
        found += sum(-scores[n] <= tenth + 1e-5 for n in ids(vector)[:10])
    note(f"{name}: recall@10 of the vectors {found / 10 / len(asked):.3f}")


def fields(count: int) -> list[dict[str, int]]:
    return [{"tenth": n % 10, "hundredth": n % 100, "thousandth": n % 1000} for n in range(count)]


FILTERS = {"0.1 %": ("thousandth", 7), "1 %": ("hundredth", 7), "10 %": ("tenth", 7)}


def lancedb(folder: Path, _: str) -> None:
    import lancedb

    chunks, queries = read(folder, "chunks.jsonl"), read(folder, "queries.jsonl")
    vectors, asked = np.load(folder / "vectors.npy"), np.load(folder / "asked.npy")
    with tempfile.TemporaryDirectory() as home:
        began = time.perf_counter()
        rows = [
            {"id": n, "text": text, "vector": vector, **more}
            for n, (text, vector, more) in enumerate(
                zip(chunks, vectors, fields(len(chunks)), strict=True)
            )
        ]
        table = lancedb.connect(home).create_table("t", rows)
        table.create_fts_index("text")
        table.create_index(metric="cosine")
        took = time.perf_counter() - began
        size = sum(file.stat().st_size for file in Path(home).rglob("*") if file.is_file())
        note(
            f"LanceDB {lancedb.__version__}: ingest and index {len(chunks) / took:,.0f} chunks/s,"
            f" {size / 1e6:,.0f} MB"
        )

        def hybrid(query: str, vector: Any) -> Any:
            return table.search(query_type="hybrid").vector(vector).text(query)

        report(
            "LanceDB lexical",
            lambda q, v: table.search(q, query_type="fts").limit(10).to_list(),
            queries,
            asked,
        )
        report("LanceDB semantic", lambda q, v: table.search(v).limit(10).to_list(), queries, asked)
        report("LanceDB hybrid", lambda q, v: hybrid(q, v).limit(10).to_list(), queries, asked)
        for name, (field, value) in FILTERS.items():
            where = f"{field} = {value}"

            def filtered(q: str, v: Any, where: str = where) -> list[Any]:
                found: list[Any] = hybrid(q, v).where(where, prefilter=True).limit(10).to_list()
                return found

            report(f"LanceDB hybrid, {name}", filtered, queries, asked)
        recall(
            "LanceDB",
            lambda v: [row["id"] for row in table.search(v).limit(10).to_list()],
            vectors,
            asked,
        )


def langchain(folder: Path, uri: str) -> None:
    import psycopg
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_postgres import Column, PGEngine, PGVectorStore
    from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig
    from langchain_postgres.v2.indexes import HNSWIndex

    chunks, queries = read(folder, "chunks.jsonl"), read(folder, "queries.jsonl")
    vectors, asked = np.load(folder / "vectors.npy"), np.load(folder / "asked.npy")
    engine = PGEngine.from_connection_string(
        uri.replace("postgresql://", "postgresql+psycopg://", 1)
    )

    def config(query: str = "") -> Any:
        # a configuration keeps the first query that it was used with: one for each
        return HybridSearchConfig(
            tsv_column="tsv", tsv_lang="pg_catalog.english", fts_query=query,
            primary_top_k=50, secondary_top_k=50,
        )  # fmt: skip

    engine.init_vectorstore_table(
        "peer",
        DIMS,
        metadata_columns=[Column(name, "INTEGER") for name in fields(1)[0]],
        hybrid_search_config=config(),
    )
    store = PGVectorStore.create_sync(
        engine,
        DeterministicFakeEmbedding(size=DIMS),  # never asked: queries come as vectors
        "peer",
        metadata_columns=list(fields(1)[0]),
        hybrid_search_config=config(),
        k=10,
    )
    # one transaction a row is its way in: a part shows the rate, the rest is copied
    count, more = min(2000, len(chunks)), fields(len(chunks))
    ids = [f"00000000-0000-0000-0000-{n:012}" for n in range(len(chunks))]
    began = time.perf_counter()
    store.add_embeddings(chunks[:count], vectors[:count].tolist(), more[:count], ids[:count])
    put = (time.perf_counter() - began) / count
    with psycopg.connect(uri, autocommit=True) as db:
        db.execute("alter table peer alter tsv drop not null")
        with (
            db.cursor() as cursor,
            cursor.copy(
                "copy peer (langchain_id, content, embedding, tenth, hundredth, thousandth)"
                " from stdin"
            ) as copy,
        ):
            for n in range(count, len(chunks)):
                vector = "[" + ",".join(map(str, vectors[n].tolist())) + "]"
                copy.write_row((ids[n], chunks[n], vector, *more[n].values()))
        db.execute(
            "update peer set tsv = to_tsvector('pg_catalog.english', content) where tsv is null"
        )
        db.execute("vacuum analyze peer")
        began = time.perf_counter()
        db.execute("create index on peer using gin (tsv)")
        store.apply_vector_index(HNSWIndex(name="peer_hnsw"))
        built = time.perf_counter() - began
        ((size,),) = db.execute("select pg_total_relation_size('peer')").fetchall()
        note(
            f"PGVectorStore: ingest and index {1 / (put + built / len(chunks)):,.0f} chunks/s"
            f" (ingest of {count:,} by add_embeddings, index of all), {size / 1e6:,.0f} MB"
        )

        def hybrid(query: str, vector: Any, **more: Any) -> Any:
            return store.similarity_search_by_vector(
                vector.tolist(), k=10, hybrid_search_config=config(query), **more
            )

        def semantic(_: str, vector: Any, **more: Any) -> Any:
            return store.similarity_search_by_vector(
                vector.tolist(), k=10, hybrid_search_config=None, **more
            )

        report("PGVectorStore semantic", semantic, queries, asked)
        report("PGVectorStore hybrid", hybrid, queries, asked)
        for name, (field, value) in FILTERS.items():
            only = {field: {"$eq": value}}
            report(
                f"PGVectorStore semantic, {name}",
                partial(semantic, filter=only),
                queries,
                asked,
            )
            report(
                f"PGVectorStore hybrid, {name}",
                partial(hybrid, filter=only),
                queries,
                asked,
            )
        recall(
            "PGVectorStore",
            lambda v: [int(d.id.rsplit("-", 1)[1]) for d in semantic("", v)],
            vectors,
            asked,
        )

        def kept() -> list[list[Any]]:
            return [[d.id for d in hybrid(q, v)] for q, v in zip(queries, asked, strict=True)]

        before = kept()
        db.execute("reindex index peer_hnsw")
        same = sum(a == b for a, b in zip(before, kept(), strict=True)) / len(queries)
        note(f"PGVectorStore: same ids after rebuilding the index {same:.3f}")


if __name__ == "__main__":
    made = {"lancedb": lancedb, "langchain": langchain}[sys.argv[1]]
    made(Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "")
