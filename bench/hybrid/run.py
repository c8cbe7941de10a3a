"""Latency of lexical, semantic and hybrid search, and what a filter leaves, beside LanceDB.

Chunks of scale_tech_docs with vectors of the hashing embedder (384), embedded by the worker;
queries are the collection's headings. Queries are not embedded inside the measured time. LanceDB,
where it is installed, gets the same texts and vectors, its full-text index and its default vector
index.

    python -m bench.hybrid.run [--chunks 100000] [--queries 150] [--results bench/results.md]
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import itertools
import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from ragdb import embed, embedded, migrate
from ragdb.worker import Worker

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("RAGDB_SHARED", ROOT.parent / "shared"))
CHUNKING = {"chunker": "given", "strategy": "none", "max_tokens": 0, "overlap": 0, "unit": "token"}
DIMS = 384
Connection = psycopg.Connection[Any]
SEARCH = """
  select chunk_id from ragdb.search('bench', %s, 10, mode => %s, query_embedding => %s,
    filter => %s) order by rank"""


def read(count: int) -> tuple[list[dict[str, str]], list[str]]:
    with gzip.open(SHARED / "data/scale_tech_docs/corpus.jsonl.gz", "rt") as lines:
        records = (json.loads(line) for line in lines)
        chunks = list(itertools.islice((r for r in records if r["text"].strip()), count))
    with (SHARED / "data/scale_tech_docs/queries.jsonl").open() as lines:
        return chunks, [json.loads(line)["text"] for line in lines]


def ingest(db: Connection, dsn: str, chunks: list[dict[str, str]]) -> dict[str, float]:
    """Seconds of each step; `hundredth` and `thousandth` are there to filter by."""
    began = time.perf_counter()
    db.execute("select ragdb.create_corpus('bench')")
    for at in range(0, len(chunks), 2000):
        documents = []
        for n, record in enumerate(chunks[at : at + 2000], at):
            text = record["text"]
            digest = hashlib.sha256(f"{n} {text}".encode()).hexdigest()
            chunk = {"text": text, "start": 0, "end": len(text), "tokens": len(text) // 4}
            documents.append(
                {
                    "doc_cid": f"sha256:{digest}",
                    "uri": f"corpus.jsonl#{n}",
                    "title": record.get("title") or None,
                    "media_type": "text/markdown",
                    "metadata": {"hundredth": n % 100, "thousandth": n % 1000},
                    "size_bytes": len(text.encode()),
                    "chunking": CHUNKING,
                    "chunks": [chunk],
                }
            )
        db.execute(
            "select count(*) from ragdb.put_documents('bench', %s)", (json.dumps(documents),)
        )
    db.execute("select ragdb.optimize_corpus('bench')")
    ingested = time.perf_counter()
    db.execute("select ragdb.create_embedder('hash', %s)", (DIMS,))
    db.execute("select ragdb.bind_embedder('hash', 'hash', 'hash-v1')")
    db.execute("select ragdb.embed_corpus('bench', 'hash')")
    worker = Worker(dsn, corpus="bench", batch=2000)
    worker.run(until="empty")
    done = time.perf_counter()
    db.execute("vacuum analyze")
    return {"ingest": ingested - began, "embed and index": done - ingested}


def times(ask: Callable[[str, Any], list[Any]], queries: list[str], vectors: Any) -> list[Any]:
    """p50 and p95 in ms of the better of two rounds, and the fewest rows."""
    rounds, fewest = [], 10
    for _ in range(2):
        spent = []
        for query, vector in zip(queries, vectors, strict=True):
            began = time.perf_counter()
            rows = ask(query, vector)
            spent.append(1000 * (time.perf_counter() - began))
            fewest = min(fewest, len(rows))
        rounds.append(spent)
    return [*np.percentile(np.min(rounds, axis=0), [50, 95]), fewest]


def lance(chunks: list[dict[str, str]], vectors: Any, queries: list[str], asked: Any) -> list[str]:
    import lancedb

    folder = tempfile.mkdtemp()
    try:
        began = time.perf_counter()
        rows = [
            {"id": n, "text": f"{c.get('title') or ''}\n{c['text']}", "vector": v,
             "hundredth": n % 100, "thousandth": n % 1000}
            for n, (c, v) in enumerate(zip(chunks, vectors, strict=True))
        ]  # fmt: skip
        table = lancedb.connect(folder).create_table("t", rows)
        table.create_fts_index("text")
        table.create_index(metric="cosine")
        took = time.perf_counter() - began
        made = {
            "lexical": lambda q, v: table.search(q, query_type="fts").limit(10).to_list(),
            "semantic": lambda q, v: table.search(v).limit(10).to_list(),
            "hybrid": lambda q, v: (
                table.search(query_type="hybrid").vector(v).text(q).limit(10).to_list()
            ),
            "hybrid, 1 %": lambda q, v: (
                table.search(query_type="hybrid").vector(v).text(q)
                .where("hundredth = 7", prefilter=True).limit(10).to_list()
            ),
        }  # fmt: skip
        return [f"LanceDB: ingest and index {len(chunks) / took:,.0f} chunks/s"] + [
            "| LanceDB {} | {:.2f} | {:.2f} | {} |".format(name, *times(ask, queries, asked))
            for name, ask in made.items()
        ]
    finally:
        shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    chunks, queries = read(arguments.chunks)
    queries = queries[:: max(1, len(queries) // arguments.queries)][: arguments.queries]
    encoder = embed.HashEncoder(DIMS)
    asked = encoder.encode(queries)
    base = Path("/var/lib/ragdb-test" if os.geteuid() == 0 else tempfile.gettempdir())
    base.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(dir=base, prefix="bench-"))
    home.chmod(0o711)
    table = []
    try:
        uri = embedded.start(home / "pg18", 18)
        with psycopg.connect(uri, autocommit=True) as admin:
            migrate.create_roles(admin)
            admin.execute("create database bench template template0")
            version = admin.info.parameter_status("server_version")
        dsn = psycopg.conninfo.make_conninfo(uri, dbname="bench")
        migrate.migrate(dsn)
        with psycopg.connect(dsn, autocommit=True) as db:
            steps = ingest(db, dsn, chunks)
            print({name: round(seconds, 1) for name, seconds in steps.items()}, flush=True)

            def ask(mode: str, filter: str | None = None) -> Callable[[str, Any], list[Any]]:
                return lambda q, v: db.execute(SEARCH, (q, mode, embed.Reals(v), filter)).fetchall()

            for name, function in (
                ("lexical", ask("lexical")),
                ("semantic", ask("semantic")),
                ("hybrid", ask("hybrid")),
                ("semantic, 0.1 %", ask("semantic", '{"thousandth": 7}')),
                ("semantic, 1 %", ask("semantic", '{"hundredth": 7}')),
                ("hybrid, 0.1 %", ask("hybrid", '{"thousandth": 7}')),
                ("hybrid, 1 %", ask("hybrid", '{"hundredth": 7}')),
            ):
                measured = times(function, queries, asked)
                table.append("| ragdb {} | {:.2f} | {:.2f} | {} |".format(name, *measured))
                print(table[-1], flush=True)
            before = [ask("hybrid")(q, v) for q, v in zip(queries, asked, strict=True)]
            db.execute("reindex table ragdb.chunk_embeddings_1")
            after = [ask("hybrid")(q, v) for q, v in zip(queries, asked, strict=True)]
            same = sum(a == b for a, b in zip(before, after, strict=True)) / len(queries)
            ((size,),) = db.execute("select pg_database_size('bench') / 1000000").fetchall()
            table.append(f"| ragdb: same ids after rebuilding the index {same:.3f} ||||")
            print(table[-1], size, "MB", flush=True)
        if find_spec("lancedb"):
            texts = [f"{c.get('title') or ''}\n{c['text']}".strip() for c in chunks]
            vectors = encoder.encode(texts)
            for line in lance(chunks, vectors, queries, asked):
                table.append(line if line.startswith("|") else f"| {line} ||||")
                print(table[-1], flush=True)
    finally:
        embedded.stop(home / "pg18", 18)
        shutil.rmtree(home)
    if arguments.results:
        spent = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in steps.items())
        head = [
            f"\n## Hybrid: `python -m bench.hybrid.run --chunks {arguments.chunks}`",
            f"PostgreSQL {version}, Python {platform.python_version()}, {os.cpu_count()} cores,"
            f" {platform.machine()}, load {os.getloadavg()[2]:.1f}, {time.strftime('%Y-%m-%d')};"
            f" {len(chunks):,} chunks of scale_tech_docs × {DIMS} (hash-v1); {spent}; database"
            f" {size} MB; {len(queries)} queries, best of 2 each.",
            "",
            "| what | p50 ms | p95 ms | fewest rows of 10 |",
            "|---|---|---|---|",
            *table,
            "",
        ]
        with arguments.results.open("a") as file:
            file.write("\n".join(head))


if __name__ == "__main__":
    main()
