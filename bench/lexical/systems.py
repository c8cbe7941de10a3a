"""The systems that are compared with lexical search: how each is started, built and asked."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bm25s
import psycopg
import Stemmer

from bench.common import PEERS, Connection

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
