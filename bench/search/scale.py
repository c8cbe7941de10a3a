"""What 1 million to 1 billion chunks take: disk, memory, time, parts, nodes, money.

All is calculated from figures of one chunk, which the flags give. Their defaults were measured by
the benches that stand beside them; `--measure 50000` measures the bytes anew first.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from dataclasses import dataclass, fields, replace

import psycopg

from bench import common
from bench.lexical.bytes import count, put, sizes
from ragdb.database import Database
from ragdb.models.static import NAME
from ragdb.server import static

SIZES = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
GB = 1e9


@dataclass(frozen=True)
class Figures:
    """What one chunk takes, and what a machine has."""

    rows: float = 1640  # bytes: documents, chunks, sources and events with their indexes
    lexical: float = 1100  # bytes: bench.lexical.bytes, at 207,712
    vector: float = 960  # bytes: a row of 256 halves with its key, and words that were cut
    hnsw: float = 835  # bytes: an index over 256 halfvecs, of which equal ones share a node
    put: float = 3220  # chunks a second, one writer: bench.ingest.run --sizes 1000000
    optimize: float = 2700  # chunks a second: bench.lexical.run less bench.ingest.run
    embed: float = 11_800  # chunks a second, static, in SQL: bench.hybrid.static_speed
    index: float = 2800  # chunks a second into an HNSW index: bench.hybrid.run
    p50: float = 1.5  # ms of a lexical search of p50_chunks: bench.lexical.run
    p50_chunks: float = 207_712
    part: float = 5_000_000  # chunks of a part
    node_memory: float = 64  # GB
    node_writers: float = 4  # that load parts of a node at once
    disk_price: float = 0.10  # of a GB for a month
    memory_price: float = 3.0  # of a GB for a month, with the processors that come with it


def measured(chunks: int, figures: Figures) -> Figures:
    """The bytes of so many chunks of manuals, in one piece, with static embeddings under HNSW."""
    with common.server() as server, psycopg.connect(server.database(), autocommit=True) as db:
        empty = size(db)
        put(db, chunks)
        chunks = count(db)
        lexical = sum(bytes_ for _, bytes_ in sizes(db))
        rows = size(db) - empty - lexical
        static.load(Database(db))
        before = size(db)
        db.execute("select ragdb.embed_corpus('bench', %s)", (NAME,))
        vector = size(db) - before
        db.execute("select ragdb.index_space('bench')")
        ((hnsw,),) = db.execute("""
          select sum(pg_relation_size(c.oid)) from pg_class c
          join pg_am am on am.oid = c.relam and am.amname = 'hnsw'
          """).fetchall()
        if hnsw is None:
            sys.exit(f"{chunks:,} chunks are too few for an index: give --measure more")
        ((vectors,),) = db.execute(
            "select count(distinct half) from ragdb.chunk_embeddings"
        ).fetchall()
    return replace(
        figures,
        rows=rows / chunks,
        lexical=lexical / chunks,
        vector=vector / chunks,
        hnsw=int(hnsw) / vectors,  # manuals of two versions say much twice
    )


def size(db: common.Connection) -> int:
    """Bytes of the tables of ragdb with their indexes."""
    ((found,),) = db.execute("""
      select sum(pg_total_relation_size(c.oid)) from pg_class c
      where c.relnamespace = 'ragdb'::regnamespace and c.relkind = 'r'
      """).fetchall()
    return int(found)


@dataclass(frozen=True)
class Plan:
    """What a corpus of so many chunks takes."""

    chunks: int
    disk: float
    memory: float
    one_writer: float
    parts: int
    nodes: int
    loaded: float
    search: float
    money: float


def planned(chunks: int, has: Figures) -> Plan:
    disk = chunks * (has.rows + has.lexical + has.vector + has.hnsw) / GB
    # what every search reads: the graph with its vectors, the words and their blocks
    memory = chunks * (has.hnsw + has.lexical) / GB
    seconds = chunks * (1 / has.put + 1 / has.optimize + 1 / has.embed + 1 / has.index)
    parts = math.ceil(chunks / has.part)
    nodes = max(1, math.ceil(memory / has.node_memory))
    writers = min(parts, nodes * has.node_writers)
    # linear, which is the most: blocks skip more, the more there is
    of_node = has.p50 * chunks / nodes / has.p50_chunks
    money = disk * has.disk_price + memory * has.memory_price
    return Plan(chunks, disk, memory, seconds, parts, nodes, seconds / writers, of_node, money)


def lines(has: Figures, counts: tuple[int, ...] = SIZES) -> list[str]:
    """The table of documentation."""
    told = [
        "| chunks | disk GB | memory GB | parts | nodes | loaded by one writer | by all writers"
        " | lexical p50 at most, ms | a month |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for plan in (planned(chunks, has) for chunks in counts):
        told.append(
            f"| {plan.chunks:,} | {plan.disk:,.0f} | {plan.memory:,.0f} | {plan.parts:,}"
            f" | {plan.nodes:,} | {duration(plan.one_writer)} | {duration(plan.loaded)}"
            f" | {plan.search:,.0f} | {plan.money:,.0f} |"
        )
    return told


def duration(seconds: float) -> str:
    hours = seconds / 3600
    return f"{hours / 24:,.1f} days" if hours >= 48 else f"{hours:,.1f} h"


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--measure", type=int, metavar="CHUNKS", help="measure the bytes first")
    for field in fields(Figures):
        flags.add_argument(
            f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default
        )
    given = vars(flags.parse_args())
    chunks = given.pop("measure")
    figures = Figures(**given)
    if chunks:
        figures = measured(chunks, figures)
    print(" ".join(f"{f.name} {getattr(figures, f.name):,.4g}" for f in fields(Figures)))
    print("\n".join(itertools.chain([""], lines(figures))))


if __name__ == "__main__":
    main()
