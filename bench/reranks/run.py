"""What reranking costs beyond the model: `Database.rerank` beside `CrossEncoder.predict`, sorted.

The model has the size of ms-marco-MiniLM-L6 (the packaged MiniLM with a head of random numbers), so
its time is real and its order is not. Both ways take turns on the hits of each query; what the
database adds (looking up the reranker, recording the scores) is measured alone too.
Usage: python -m bench.reranks.run [--corpus FILE.jsonl] [--queries FILE.jsonl] [--count 60] [-k 10]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ragdb
from ragdb import embed, embedded, rerank

ROOT = Path(__file__).resolve().parents[2]
SCIFACT = Path(os.environ.get("RAGDB_SHARED", ROOT.parent / "shared")) / "data/beir_scifact"
LONGEST = 256


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--corpus", type=Path, default=SCIFACT / "corpus.jsonl")
    arguments.add_argument("--queries", type=Path, default=SCIFACT / "queries.jsonl")
    arguments.add_argument("--count", type=int, default=60)
    arguments.add_argument("-k", type=int, default=10)
    given = arguments.parse_args()
    if not given.corpus.is_file():
        sys.exit(f"no file {given.corpus}: set RAGDB_SHARED, or give --corpus and --queries")
    base = Path("/var/lib/ragdb-bench") if os.geteuid() == 0 else Path(tempfile.gettempdir())
    base.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(dir=base, prefix="reranks-"))
    home.chmod(0o711)
    try:
        report(given, embedded.dsn(home / "pg18"), make_model(home / "model"))
    finally:
        embedded.stop(home / "pg18")
        shutil.rmtree(home)


def make_model(folder: Path) -> Path:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(0)
    packaged = embed.model_folder(embed.PACKAGED)
    kind: Any = AutoModelForSequenceClassification
    kind.from_pretrained(packaged, num_labels=1).save_pretrained(folder)
    tokenizer: Any = AutoTokenizer
    tokenizer.from_pretrained(packaged).save_pretrained(folder)
    return folder


def report(given: argparse.Namespace, dsn: str, folder: Path) -> None:
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

    with ragdb.connect(dsn) as db:
        db.ingest(given.corpus, corpus="bench")
        db.bind_reranker("bench", str(folder), digest, LONGEST)
        depth = db.rerank_depth(given.k)
        db.rerank(queries[0], db.search("bench", queries[0], depth), "bench")  # loads it
        for n, query in enumerate(queries):
            hits = timed("retrieve", lambda q=query: db.retrieve("bench", q, depth))
            pairs = [(query, rerank.passage(hit)) for hit in hits]

            def own(pairs: Any = pairs) -> None:
                sorted(plain.predict(pairs, show_progress_bar=False), reverse=True)

            def ours(query: str = query, hits: Any = hits) -> None:
                db.rerank(query, hits, "bench", given.k)

            ways = [("CrossEncoder.predict", own), ("Database.rerank", ours)]
            for name, way in ways[:: 1 if n % 2 else -1]:
                timed(name, way)
            again = db.retrieve("bench", query, depth)
            ids, scores = [hit.chunk_id for hit in again], [hit.score for hit in again]
            trace_id = again[0].trace_id
            timed(
                "record_rerank alone",
                lambda t=trace_id, i=ids, s=scores: db.record_rerank(t, "bench", i, s, given.k),
            )
            timed("list_rerankers alone", db.list_rerankers)
        row = db.connection.execute(
            "select sum(pg_total_relation_size(i.inhrelid)) / (select count(*) from"
            " ragdb.retrieval_reranks), current_setting('server_version') from pg_inherits i"
            " where i.inhparent = 'ragdb.retrieval_reranks'::regclass"
        ).fetchone()
    assert row is not None
    ratio = statistics.median(
        ours / own
        for ours, own in zip(times["Database.rerank"], times["CrossEncoder.predict"], strict=True)
    )
    lines = "\n".join(
        f"| {name} | {statistics.median(of):.2f} | {statistics.quantiles(of, n=20)[-1]:.2f} |"
        for name, of in times.items()
    )
    text = f"""
## bench/reranks: what reranking costs beyond the model

{time.strftime("%Y-%m-%d")}, {os.cpu_count()} cores ({platform.machine()}), \
load {os.getloadavg()[0]:.1f}, PostgreSQL {row[1]}, ragdb {ragdb.__version__}. \
`python -m bench.reranks.run`: {given.corpus.parent.name}, {len(queries)} queries, the best \
{depth} hits each, a model of the size of MiniLM-L6 reading {LONGEST} tokens; {row[0]:,.0f} bytes \
of disk a hit. Database.rerank takes {ratio:.3f} times as long as predict (median of the queries).

| ms | median | p95 |
|---|---|---|
{lines}
"""
    print(text)
    with (ROOT / "bench/results.md").open("a") as results:
        results.write(text)


if __name__ == "__main__":
    main()
