"""Latency of lexical, semantic and hybrid search, and completeness under filters, with peers.

Beside the clock stands the processor: of our server's process, and of LanceDB's own. Where the
machine has other work, that says more.

Chunks of scale_tech_docs with vectors of the hashing embedder (384), which are made beforehand for
everybody, stored by the worker; queries are the collection's headings, and embedded beforehand too.
The peers, LanceDB and LangChain's PGVectorStore (on the same server), get the same texts and
vectors: see peers.py. They live in an environment of their own:

    python -m venv bench/.venv && bench/.venv/bin/pip install lancedb langchain-postgres
    python -m bench.hybrid.run [--chunks 100000] [--queries 150]
"""

from __future__ import annotations

import itertools
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from bench.common import PEERS, Connection, document, fill, parser, publish, records, server, texts
from bench.ingest.run import cpu
from ragdb.client.calling import Reals
from ragdb.models import embedders, encoders
from ragdb.models.worker import Worker

DIMS = 384
SEARCH = """
  select chunk_id, score from ragdb.search('bench', %s, 10, mode => %s, query_embedding => %s,
    filter => %s) order by rank"""


def read(count: int) -> tuple[list[dict[str, Any]], list[str]]:
    """So many chunks of scale_tech_docs, and its headings as queries."""
    queries = [record["text"] for record in records("scale_tech_docs", "queries.jsonl")]
    return list(itertools.islice(texts("scale_tech_docs"), count)), queries


class Made:
    """An encoder of texts whose vectors are there already."""

    def __init__(self, texts: Sequence[str], vectors: encoders.Matrix) -> None:
        self.dims = vectors.shape[1]
        self.rows = {text: n for n, text in enumerate(texts)}
        self.vectors = vectors

    def encode(self, texts: Sequence[str]) -> encoders.Matrix:
        return self.vectors[[self.rows[text] for text in texts]]

    def cut(self, texts: Sequence[str]) -> int:
        return 0


def embedded_text(chunk: dict[str, Any]) -> str:
    """What ragdb embeds of a chunk without a heading."""
    return f"{chunk['title']}\n{chunk['text']}" if chunk.get("title") else chunk["text"]


def ingest(
    db: Connection, dsn: str, chunks: list[dict[str, Any]], encoder: encoders.Encoder | None = None
) -> dict[str, float]:
    """Seconds of each step; `tenth`, `hundredth` and `thousandth` are there to filter by."""
    began = time.perf_counter()
    fill(
        db,
        "bench",
        (
            document(
                f"corpus.jsonl#{n}",
                record["text"],
                title=record.get("title") or None,
                metadata={"tenth": n % 10, "hundredth": n % 100, "thousandth": n % 1000},
            )
            for n, record in enumerate(chunks)
        ),
    )
    ingested = time.perf_counter()
    db.execute("select ragdb.create_embedder('hash', %s)", (DIMS,))
    db.execute("select ragdb.bind_embedder('hash', 'hash', 'hash-v1')")
    db.execute("select ragdb.embed_corpus('bench', 'hash')")
    load = embedders._load
    if encoder is not None:
        embedders._load = lambda *_: encoder  # type: ignore[assignment]
    Worker(dsn, corpus="bench", batch=2000).run(until="empty")
    embedders._load = load
    done = time.perf_counter()
    db.execute("vacuum analyze")
    return {"ingest": ingested - began, "vectors and index": done - ingested}


def times(
    db: Connection, ask: Callable[[str, Any], list[Any]], queries: list[str], vectors: Any
) -> list[Any]:
    """p50 and p95 in ms of the better of two rounds, the server's mean, and the fewest rows."""
    rounds, fewest = [], 10
    before = cpu(db.info.backend_pid)
    for _ in range(2):
        spent = []
        for query, vector in zip(queries, vectors, strict=True):
            began = time.perf_counter()
            rows = ask(query, vector)
            spent.append(1000 * (time.perf_counter() - began))
            fewest = min(fewest, len(rows))
        rounds.append(spent)
    processor = 1000 * cpu(db.info.backend_pid, before) / len(queries) / 2
    return [*np.percentile(np.min(rounds, axis=0), [50, 95]), processor, fewest]


def recall(db: Connection, vectors: encoders.Matrix, asked: encoders.Matrix) -> float:
    """Share of the ten nearest that a semantic search finds; what ties with the tenth counts."""
    found = 0
    for vector in asked:
        tenth = -np.partition(-(vectors @ vector), 9)[9]
        rows = db.execute(SEARCH, ("any", "semantic", Reals(vector), None)).fetchall()
        found += sum(score >= tenth - 1e-5 for _, score in rows)
    return found / 10 / len(asked)


def peers(
    uri: str, chunks: list[dict[str, Any]], vectors: Any, queries: list[str], asked: Any
) -> Iterator[str]:
    """Lines of the table for every peer that is installed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = [f"{c.get('title') or ''}\n{c['text']}" for c in chunks]
        for file, rows in (("chunks.jsonl", texts), ("queries.jsonl", queries)):
            (folder / file).write_text("".join(json.dumps(row) + "\n" for row in rows))
        np.save(folder / "vectors.npy", vectors)
        np.save(folder / "asked.npy", asked)
        for peer in ("lancedb", "langchain"):
            run = subprocess.run(
                [PEERS, "-W", "ignore", Path(__file__).with_name("peers.py"), peer, folder, uri],
                capture_output=True,
                text=True,
            )
            for line in run.stdout.splitlines():
                found = json.loads(line)
                yield (
                    f"| {found['note']} |||||"
                    if "note" in found
                    else f"| {found['name']} | {found['p50']:.2f} | {found['p95']:.2f}"
                    f" | {found['processor'] or ''} | {found['rows']} |"
                )
            if run.returncode:
                yield f"| {peer} failed: {run.stderr.strip().splitlines()[-1]} |||||"


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--chunks", type=int, default=100_000)
    flags.add_argument("--queries", type=int, default=150)
    arguments = flags.parse_args()
    chunks, queries = read(arguments.chunks)
    queries = queries[:: max(1, len(queries) // arguments.queries)][: arguments.queries]
    encoder = encoders.HashEncoder(DIMS)
    asked = encoder.encode(queries)
    inputs = [embedded_text(chunk) for chunk in chunks]
    vectors = encoder.encode(inputs)
    table = []
    with server() as own:
        dsn = own.database()
        with psycopg.connect(dsn, autocommit=True) as db:
            steps = ingest(db, dsn, chunks, Made(inputs, vectors))
            print({name: round(seconds, 1) for name, seconds in steps.items()}, flush=True)

            def ask(mode: str, filter: str | None = None) -> Callable[[str, Any], list[Any]]:
                return lambda q, v: db.execute(SEARCH, (q, mode, Reals(v), filter)).fetchall()

            for name, function in (
                ("lexical", ask("lexical")),
                ("semantic", ask("semantic")),
                ("hybrid", ask("hybrid")),
                ("semantic, 0.1 %", ask("semantic", '{"thousandth": 7}')),
                ("semantic, 1 %", ask("semantic", '{"hundredth": 7}')),
                ("semantic, 10 %", ask("semantic", '{"tenth": 7}')),
                ("hybrid, 0.1 %", ask("hybrid", '{"thousandth": 7}')),
                ("hybrid, 1 %", ask("hybrid", '{"hundredth": 7}')),
                ("hybrid, 10 %", ask("hybrid", '{"tenth": 7}')),
            ):
                measured = times(db, function, queries, asked)
                table.append("| ragdb {} | {:.2f} | {:.2f} | {:.2f} | {} |".format(name, *measured))
                print(table[-1], flush=True)
            table.append(
                f"| ragdb: recall@10 of the vectors {recall(db, vectors, asked):.3f} |||||"
            )
            print(table[-1], flush=True)
            before = [ask("hybrid")(q, v) for q, v in zip(queries, asked, strict=True)]
            db.execute("reindex table ragdb.chunk_embeddings_1")
            after = [ask("hybrid")(q, v) for q, v in zip(queries, asked, strict=True)]
            same = sum(a == b for a, b in zip(before, after, strict=True)) / len(queries)
            ((size,),) = db.execute("select pg_database_size('bench') / 1000000").fetchall()
            table.append(f"| ragdb: same ids after rebuilding the index {same:.3f} |||||")
            print(table[-1], size, "MB", flush=True)
        rate = len(chunks) / sum(steps.values())
        table.append(f"| ragdb: ingest and index {rate:,.0f} chunks/s, {size} MB |||||")
        print(table[-1], flush=True)
        if PEERS.exists():
            with psycopg.connect(own.uri, autocommit=True) as admin:
                admin.execute("create database peer template template0")
            peer = own.uri.replace("/postgres?", "/peer?")
            with psycopg.connect(peer, autocommit=True) as admin:
                admin.execute("create extension vector")
            for line in peers(peer, chunks, vectors, queries, asked):
                table.append(line)
                print(line, flush=True)
        else:
            print(f"no peers: {PEERS} is missing", flush=True)
    spent = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in steps.items())
    publish(
        arguments.results,
        "Hybrid",
        f"{len(chunks):,} chunks of scale_tech_docs × {DIMS} (hash-v1); {spent}; database"
        f" {size} MB; {len(queries)} queries, best of 2 each.",
        [
            "| what | p50 ms | p95 ms | CPU ms | fewest rows of 10 |",
            "|---|---|---|---|---|",
            *table,
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
