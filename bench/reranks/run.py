"""Cost of reranking beyond the model: `Database.rerank` against `CrossEncoder.predict`, sorted.

The model has the size of ms-marco-MiniLM-L6 (the packaged MiniLM with a head of random numbers), so
its time is real and its order is not. Both ways take turns on the hits of each query; what the
database adds (looking up the reranker, recording the scores) is measured alone too.
Usage: python -m bench.reranks.run [--corpus FILE.jsonl] [--queries FILE.jsonl] [--count 60] [-k 10]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ragdb
from bench.common import DATA, Server, folder, parser, publish, server
from ragdb.models import local, rerank

SCIFACT = DATA / "beir_scifact"
LONGEST = 256


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--corpus", type=Path, default=SCIFACT / "corpus.jsonl")
    flags.add_argument("--queries", type=Path, default=SCIFACT / "queries.jsonl")
    flags.add_argument("--count", type=int, default=60)
    flags.add_argument("-k", type=int, default=10)
    given = flags.parse_args()
    if not given.corpus.is_file():
        sys.exit(f"no file {given.corpus}: set RAGDB_SHARED, or give --corpus and --queries")
    with server() as own, folder() as home:
        report(given, own, make_model(home / "model"))


def make_model(folder: Path) -> Path:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(0)
    packaged = local.model_folder(local.PACKAGED)
    kind: Any = AutoModelForSequenceClassification
    kind.from_pretrained(packaged, num_labels=1).save_pretrained(folder)
    tokenizer: Any = AutoTokenizer
    tokenizer.from_pretrained(packaged).save_pretrained(folder)
    return folder


def report(given: argparse.Namespace, own: Server, folder: Path) -> None:
    from sentence_transformers import CrossEncoder

    queries = [json.loads(line)["text"] for line in given.queries.open()][: given.count]
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    plain = CrossEncoder(str(folder), max_length=LONGEST, local_files_only=True)
    times: dict[str, list[float]] = {}

    def timed(name: str, action: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        made = action()
        times.setdefault(name, []).append(1000 * (time.perf_counter() - started))
        return made

    with ragdb.connect(own.database()) as db:
        db.ingest(given.corpus, corpus="bench")
        db.bind_reranker("bench", str(folder), digest, LONGEST)
        depth = db.rerank_depth(given.k)
        db.rerank(queries[0], db.search("bench", queries[0], depth), "bench")  # loads it
        for n, query in enumerate(queries):
            hits = timed("retrieve", partial(db.retrieve, "bench", query, depth))
            pairs = [(query, rerank.passage(hit)) for hit in hits]

            def predict(pairs: Any = pairs) -> None:
                sorted(plain.predict(pairs, show_progress_bar=False), reverse=True)

            def ours(query: str = query, hits: Any = hits) -> None:
                db.rerank(query, hits, "bench", given.k)

            ways: list[tuple[str, Callable[[], None]]]
            ways = [("CrossEncoder.predict", predict), ("Database.rerank", ours)]
            for name, way in ways[:: 1 if n % 2 else -1]:
                timed(name, way)
            again = db.retrieve("bench", query, depth)
            ids, scores = [hit.chunk_id for hit in again], [hit.score for hit in again]
            trace_id = again[0].trace_id
            timed(
                "record_rerank alone",
                partial(db.record_rerank, trace_id, "bench", ids, scores, given.k),
            )
            timed("list_rerankers alone", db.list_rerankers)
        row = db.connection.execute(
            "select sum(pg_total_relation_size(i.inhrelid)) / (select count(*) from"
            " ragdb.retrieval_reranks) from pg_inherits i"
            " where i.inhparent = 'ragdb.retrieval_reranks'::regclass"
        ).fetchone()
    assert row is not None
    ratio = statistics.median(
        ours / own
        for ours, own in zip(times["Database.rerank"], times["CrossEncoder.predict"], strict=True)
    )
    publish(
        given.results,
        "What reranking costs beyond the model",
        f"{given.corpus.parent.name}, {len(queries)} queries, the best {depth} hits each, a model"
        f" of the size of MiniLM-L6 reading {LONGEST} tokens; {row[0]:,.0f} bytes of disk a hit."
        f" Database.rerank takes {ratio:.3f} times as long as predict (median of the queries).",
        [
            "| ms | median | p95 |",
            "|---|---|---|",
            *(
                f"| {name} | {statistics.median(of):.2f} |"
                f" {statistics.quantiles(of, n=20)[-1]:.2f} |"
                for name, of in times.items()
            ),
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
