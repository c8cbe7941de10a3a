"""Lexical search beside pg_textsearch, ts_rank_cd, plpgsql_bm25's method and bm25s. See README.md.

python -m bench.lexical.run [--limit 46000] [--mixed] [--pair]
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator, Sequence

import numpy as np
import psycopg

from bench import common
from bench.common import PEERS, Connection, document, fill, parser, processor, publish, records
from bench.lexical.systems import (
    IN_MEMORY,
    System,
    build_peers,
    in_memory,
    in_sql,
    sizes,
    start,
    stop,
)


def read(name: str) -> Iterator[tuple[str, str]]:
    """Titles and texts of a collection."""
    return ((record["title"] or "", record["text"]) for record in common.texts(name))


def questions(name: str) -> list[str]:
    return [record["text"] for record in records(name, "queries.jsonl")]


def put(db: Connection, corpus: str, texts: Sequence[tuple[str, str]]) -> float:
    """Seconds to put and optimise a corpus."""
    begun = time.perf_counter()
    documents = (document(f"{n}", text, title=title) for n, (title, text) in enumerate(texts))
    fill(db, corpus, documents)
    return time.perf_counter() - begun


def measure(db: Connection, asked: Sequence[str], found: Sequence[System]) -> None:
    """Best of three of every question, systems in turn."""
    # what scans all it has for a question leaves cold caches behind, and who is asked the same
    # twice in a row finds warm ones: the two that the goal compares have a turn of their own
    for group in ([s for s in found if s.turn == name] for name in ("pair", "others", IN_MEMORY)):
        for n, question in enumerate(asked):
            turn = [s for s in group if n % s.step == 0]
            best = {s.name: (float("inf"), float("inf")) for s in turn}
            for _ in range(3):
                for system in turn:
                    begun, used = time.perf_counter(), processor(db)
                    system.ask(question)
                    took = (time.perf_counter() - begun) * 1e3
                    clock, cpu = best[system.name]
                    best[system.name] = (min(clock, took), min(cpu, processor(db) - used))
            for system in turn:
                system.times.append(best[system.name][0])
                system.cpu.append(best[system.name][1])


def table(found: Sequence[System]) -> list[str]:
    lines = [
        "| system | median ms | p95 | p99 | median cpu ms | p95 | questions |",
        "|---|---|---|---|---|---|---|",
    ]
    for s in found:
        clock = " | ".join(f"{np.quantile(s.times, q):.2f}" for q in (0.5, 0.95, 0.99))
        used = " | ".join(f"{np.quantile(s.cpu, q):.2f}" for q in (0.5, 0.95))
        if s.turn == IN_MEMORY:
            used = "– | –"
        lines.append(f"| {s.name} | {clock} | {used} | {len(s.times)} |")
    return lines


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--limit", type=int, default=207_712, help="chunks of scale_tech_docs")
    flags.add_argument("--mixed", action="store_true", help="add the other English collections")
    flags.add_argument("--pair", action="store_true", help="ragdb and pg_textsearch alone")
    options = flags.parse_args()
    if not PEERS.exists():
        raise SystemExit(f"{PEERS} is missing: bench/lexical/README.md says how to make it")

    manuals = itertools.islice(common.manuals(), options.limit)
    texts = [(record["title"] or "", record["text"]) for record in manuals]
    if options.mixed:
        for name in ("beir_scifact", "cranfield", "squad_v1_dev", "rag_anthropic_docs"):
            texts += read(name)
    with common.folder() as home:
        server = common.Server.at(start(home / "server"))
        try:
            with psycopg.connect(server.database(), autocommit=True) as db:
                seconds = {"ragdb": put(db, "docs", texts)}
                seconds |= build_peers(db, "docs", options.pair)
                report(db, options, texts, seconds, server.version)
        finally:
            stop(home / "server")


def report(
    db: Connection,
    options: argparse.Namespace,
    texts: Sequence[tuple[str, str]],
    seconds: dict[str, float],
    version: str,
) -> None:
    def few(asked: Sequence[str]) -> list[str]:
        count = "select length(to_tsvector('english', %s))"
        return [q for q in asked if (db.execute(count, (q,)).fetchone() or (99,))[0] <= 14]

    abstracts = [
        " ".join(text.split()[:110]) for _, text in itertools.islice(read("beir_scifact"), 30)
    ]
    sets = {
        "headings as questions": few(questions("scale_tech_docs")[:170])[:150],
        "questions of people (squad)": few(questions("squad_v1_dev")[::70])[:150],
        "whole abstracts (some 60 terms)": abstracts,
    }
    lines = [
        "Built in s: " + ", ".join(f"{n} {s:.0f}" for n, s in seconds.items()) + ".",
        "On disk in MB: " + ", ".join(f"{n} {m:.0f}" for n, m in sizes(db, seconds).items()) + ".",
    ]
    for name, asked in sets.items():
        found = in_sql(db, "docs", len(texts) > 20_000)
        if options.pair:
            found = [s for s in found if s.turn == "pair"]
        else:
            found.append(in_memory(texts))
        if name.startswith("whole"):
            found = [s for s in found if s.step == 1]
        measure(db, asked, found)
        lines += ["", f"{name}:", "", *table(found)]
        lines.append("")
        for ours, theirs in itertools.product(found[:2], found[2:]):
            if theirs.name.startswith("pg_textsearch"):
                ratios = [
                    f"{np.quantile(ours.times, q) / np.quantile(theirs.times, q):.2f} ×"
                    for q in (0.5, 0.95)
                ]
                lines.append(f"{ours.name} ÷ {theirs.name}: median {ratios[0]}, p95 {ratios[1]}.  ")
    publish(
        options.results,
        "Lexical search",
        f"{len(texts):,} chunks, one server for all, k = 10, best of three, systems in turn.",
        lines,
        version,
    )


if __name__ == "__main__":
    main()
