"""Lexical search beside pg_textsearch, ts_rank_cd, plpgsql_bm25's method and bm25s. See README.md.

python -m bench.lexical.run [--limit 46000] [--mixed] [--pair]
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import psycopg
import Stemmer

from bench import common
from bench.common import PEERS, Connection, document, fill, parser, publish, records

DENSE = 2_000  # documents; one float8 for every word and document is what that method stores
IN_MEMORY = "in memory"
Ask = Callable[[str], Any]


@dataclass
class System:
    name: str
    ask: Ask
    # every how many questions it is asked, where it takes too long for all
    step: int = 1
    # systems of one turn are asked a question one after the other
    turn: str = "others"
    times: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def start(folder: Path) -> str:
    """Start the peers' server with room in memory, and return the superuser's URI."""
    script = (
        "import pathlib, sys, pgserver;"
        "print(pgserver.get_server(pathlib.Path(sys.argv[1]), cleanup_mode=None).get_uri())"
    )
    run = [str(PEERS), "-W", "ignore", "-c", script, str(folder)]
    uri = subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip()
    with psycopg.connect(uri, autocommit=True) as admin:
        for setting in (
            "shared_buffers = '1GB'",
            "max_wal_size = '8GB'",
            "checkpoint_timeout = '1h'",
        ):
            admin.execute(f"alter system set {setting}")
    stop(folder)
    return subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip()


def stop(folder: Path) -> None:
    script = (
        "import pathlib, sys, pgserver;"
        "pgserver.get_server(pathlib.Path(sys.argv[1]), cleanup_mode='stop').cleanup()"
    )
    subprocess.run([str(PEERS), "-W", "ignore", "-c", script, str(folder)], check=True)


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


def build_peers(db: Connection, corpus: str, pair: bool) -> dict[str, float]:
    """Seconds to build each peer's index over the very text that ragdb searches."""
    db.execute("create extension pg_textsearch")
    db.execute("create table peer (id integer primary key, body text, words tsvector)")
    db.execute(
        "insert into peer"
        " select c.chunk_no, ragdb_internal.searched_text(d.title, c.heading, c.text)"
        " from ragdb.chunks c join ragdb.documents d using (corpus_id, doc_no)"
        " join ragdb.corpora p using (corpus_id) where p.name = %s order by 1",
        (corpus,),
    )
    seconds = {}
    begun = time.perf_counter()
    db.execute("create index peer_bm25 on peer using bm25 (body) with (text_config = 'english')")
    seconds["pg_textsearch"] = time.perf_counter() - begun
    if pair:
        db.execute("vacuum analyze")
        return seconds
    begun = time.perf_counter()
    db.execute(
        "create table peer_words as select id, to_tsvector('english', body) as words from peer"
    )
    db.execute("create index peer_words_gin on peer_words using gin (words)")
    seconds["ts_rank_cd"] = time.perf_counter() - begun
    begun = time.perf_counter()
    db.execute(
        f"""
        create table peer_dense as
        with posting as (
          select p.id, w.lexeme, cardinality(w.positions)::float8 as tf,
            (select sum(cardinality(l.positions)) from unnest(p.words) l)::float8 as length
          from peer_words p, unnest(p.words) w where p.id <= {DENSE}
        ), word as (
          select lexeme, ln(1 + ({DENSE} - count(*) + 0.5) / (count(*) + 0.5))::float8 as idf
          from posting group by lexeme
        )
        select w.lexeme, array(
          select coalesce(w.idf * p.tf * 2.2 / (p.tf + 1.2 * (0.25 + 0.75 * p.length / m.mean)), 0)
          from generate_series(1, {DENSE}) g (id)
            left join posting p on p.id = g.id and p.lexeme = w.lexeme order by g.id) as scores
        from word w, (select avg(length) as mean from (select distinct id, length from posting) d) m
        """
    )
    db.execute("create unique index on peer_dense (lexeme)")
    seconds["plpgsql_bm25"] = time.perf_counter() - begun
    db.execute("vacuum analyze")
    return seconds


def sizes(db: Connection, built: Collection[str]) -> dict[str, float]:
    """MB on disk of what has been built."""
    found = {
        "ragdb": "pg_total_relation_size('ragdb.chunk_lexemes')"
        " + pg_total_relation_size('ragdb.lexemes') + pg_total_relation_size('ragdb.term_blocks')",
        "pg_textsearch": "pg_relation_size('peer_bm25')",
        "ts_rank_cd": "pg_total_relation_size('peer_words')",
        "plpgsql_bm25": "pg_total_relation_size('peer_dense')",
    }
    return {
        name: float((db.execute(f"select ({size}) / 1e6").fetchone() or (0,))[0])
        for name, size in found.items()
        if name in built
    }


def in_memory(texts: Sequence[tuple[str, str]]) -> System:
    stem = Stemmer.Stemmer("english")
    memory = bm25s.BM25(k1=1.2, b=0.75)
    tokens = bm25s.tokenize(
        [f"{title} {text}" for title, text in texts], stemmer=stem, show_progress=False
    )
    memory.index(tokens, show_progress=False)

    def ask(q: str) -> Any:
        asked = bm25s.tokenize(q, stemmer=stem, show_progress=False)
        return memory.retrieve(asked, k=10, show_progress=False)

    return System("bm25s, in memory", ask, turn=IN_MEMORY)


def in_sql(db: Connection, corpus: str, wide: bool) -> list[System]:
    def sql(statement: str) -> Ask:
        return lambda q: db.execute(statement, {"q": q}, prepare=True).fetchall()

    words = "replace(plainto_tsquery('english', %(q)s)::text, '&', '|')::tsquery"
    return [
        System(
            "ragdb.search",
            sql(f"select chunk_id, score from ragdb.search('{corpus}', %(q)s)"),
            turn="pair",
        ),
        # no peer looks for what a word that nobody wrote may have meant
        System(
            "ragdb.search, words as typed",
            sql(f"select chunk_id, score from ragdb.search('{corpus}', %(q)s, typos => false)"),
            turn="pair",
        ),
        System(
            "pg_textsearch, ids",
            sql("select id from peer order by body <@> to_bm25query(%(q)s, 'peer_bm25') limit 10"),
        ),
        System(
            "pg_textsearch, ids and scores",
            sql(
                "select id, body <@> to_bm25query(%(q)s, 'peer_bm25') from peer"
                " order by body <@> to_bm25query(%(q)s, 'peer_bm25') limit 10"
            ),
            turn="pair",
        ),
        System(
            "ts_rank_cd",
            sql(
                f"select id, ts_rank_cd(words, {words}) from peer_words"
                f" where words @@ {words} order by 2 desc limit 10"
            ),
            step=15 if wide else 5,
        ),
        System(
            f"plpgsql_bm25's method, {DENSE:,} documents",
            sql(
                "select s.id, sum(s.score) from unnest(to_tsvector('english', %(q)s)) w"
                " join peer_dense d on d.lexeme = w.lexeme"
                " cross join unnest(d.scores) with ordinality s (score, id)"
                " group by s.id order by 2 desc limit 10"
            ),
            step=5,
        ),
    ]


def measure(db: Connection, asked: Sequence[str], found: Sequence[System]) -> None:
    """Best of three of every question, systems in turn."""
    pid = db.info.backend_pid

    def cpu() -> float:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6

    # what scans all it has for a question leaves cold caches behind, and who is asked the same
    # twice in a row finds warm ones: the two that the goal compares have a turn of their own
    for group in ([s for s in found if s.turn == name] for name in ("pair", "others", IN_MEMORY)):
        for n, question in enumerate(asked):
            turn = [s for s in group if n % s.step == 0]
            best = {s.name: (float("inf"), float("inf")) for s in turn}
            for _ in range(3):
                for system in turn:
                    begun, used = time.perf_counter(), cpu()
                    system.ask(question)
                    took = (time.perf_counter() - begun) * 1e3
                    clock, processor = best[system.name]
                    best[system.name] = (min(clock, took), min(processor, cpu() - used))
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
