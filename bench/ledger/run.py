"""What the ledger costs: recording with it on against off, sealing, proofs, verification.

Recording: several clients retrieve at once, each call commits; the ledger is switched between the
rounds, and nobody seals meanwhile. Proofs: of a ledger of made entries. Verification: of traces
that are copies of one with other ids, times and hashes.
Usage: python -m bench.ledger.run [--only record,seal,verify] [--clients 4] [--rounds 8]
    [--entries 10000000] [--traces 1000000]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import psycopg

from bench.common import DATA, Server, document, fill, parser, publish, resident, server, texts

PARTS = ("record", "seal", "verify")
SECONDS = 3.0
RETRIEVE = "select * from ragdb.retrieve('bench', %s, 10)"
MADE = (
    "insert into ragdb.ledger_pending (kind, id, hash)"
    " select 'trace', '1/' || gen_random_uuid(), sha256(int8send(n))"
    " from generate_series(%s::bigint, %s::bigint) n"
)
COPIES = """
  with one as (select t from ragdb.retrieval_traces t limit 1),
  made as (
    select ragdb_internal.uuid7(now() - n * interval '1 millisecond') as id
      from generate_series(1, %(count)s) n),
  hits as (
    select m.id, jsonb_populate_record(h, jsonb_build_object(
        'trace_id', m.id, 'created_at', ragdb_internal.uuid_time(m.id))) as h
      from made m, (select h from ragdb.retrieval_hits h, one
        where h.trace_id = (one.t).id) x (h)),
  stored as (insert into ragdb.retrieval_hits select (h.h).* from hits h returning 1),
  copies as (
    select jsonb_populate_record(one.t, jsonb_build_object(
        'id', g.id, 'created_at', ragdb_internal.uuid_time(g.id))) as t, g.hits
    from one, (select h.id, array_agg(h.h order by (h.h).rank) as hits
      from hits h group by h.id) g),
  hashed as (
    select jsonb_populate_record(c.t, jsonb_build_object('trace_hash',
      ragdb_internal.trace_hash(c.t, c.hits))) as t from copies c),
  kept as (insert into ragdb.retrieval_traces select (h.t).* from hashed h
    returning corpus_id, id, trace_hash)
  insert into ragdb.ledger_pending (kind, id, hash)
    select 'trace', corpus_id || '/' || id, trace_hash from kept
"""


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--only", default=",".join(PARTS))
    flags.add_argument("--clients", type=int, default=4)
    flags.add_argument("--rounds", type=int, default=8)
    flags.add_argument("--entries", type=int, default=10_000_000)
    flags.add_argument("--traces", type=int, default=1_000_000)
    given = flags.parse_args()
    if not (DATA / "beir_scifact").is_dir():
        sys.exit(f"no collections under {DATA}: set RAGDB_SHARED")
    with server() as own:
        for part in given.only.split(","):
            globals()[part](given, own)


def filled(own: Server) -> tuple[str, list[str]]:
    """A database with a corpus, and questions for it."""
    dsn = own.database()
    records = list(texts("beir_scifact"))
    with psycopg.connect(dsn, autocommit=True) as db:
        fill(db, "bench", (document(str(r["_id"]), r["text"]) for r in records))
        db.execute("vacuum analyze")
    lines = (DATA / "beir_scifact/queries.jsonl").read_text().splitlines()
    return dsn, [json.loads(line)["text"] for line in lines]


def ask(job: tuple[str, list[str], float]) -> int:
    """How many answers one client gets in some seconds."""
    dsn, queries, seconds = job
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute(RETRIEVE, (queries[0],))
        end, done = time.perf_counter() + seconds, 0
        while time.perf_counter() < end:
            db.execute(RETRIEVE, (queries[done % len(queries)],)).fetchall()
            done += 1
    return done


def record(given: argparse.Namespace, own: Server) -> None:
    """Answers a second with the ledger on and off, in turn; each round is a pair."""
    dsn, queries = filled(own)
    rates: dict[bool, list[float]] = {True: [], False: []}
    with (
        ProcessPoolExecutor(given.clients, get_context("spawn")) as pool,
        psycopg.connect(dsn, autocommit=True) as db,
    ):
        jobs = [(dsn, queries[n:] + queries[:n], SECONDS) for n in range(given.clients)]
        list(pool.map(ask, jobs))
        for turn in range(given.rounds):
            for is_on in (True, False) if turn % 2 else (False, True):
                db.execute("select ragdb.set_ledger(%s)", (is_on,))
                db.execute("select ragdb.seal_ledger(1000000)")
                db.execute("checkpoint")
                rates[is_on].append(sum(pool.map(ask, jobs)) / SECONDS)
    pairs = [1 - on / off for on, off in zip(rates[True], rates[False], strict=True)]
    publish(
        given.results,
        "What the ledger costs whoever records",
        f"{given.clients} clients, each call commits, {given.rounds} pairs of {SECONDS:.0f} s.",
        [
            "| ledger | answers a second, median | best |",
            "|---|---|---|",
            *(
                f"| {'on' if is_on else 'off'} | {statistics.median(r):,.0f} | {max(r):,.0f} |"
                for is_on, r in rates.items()
            ),
            "",
            f"Lost: median of the pairs {statistics.median(pairs):.1%},"
            f" best against best {1 - max(rates[True]) / max(rates[False]):.1%}.",
        ],
        own.version,
    )


def seal(given: argparse.Namespace, own: Server) -> None:
    """Entries a second, and what a proof costs in the ledger that they make."""
    dsn = own.database()
    seconds = 0.0
    with psycopg.connect(dsn, autocommit=True) as db:
        for first in range(1, given.entries + 1, 500_000):
            db.execute(MADE, (first, min(first + 499_999, given.entries)))
            began, done = time.perf_counter(), False
            while not done:
                ((done,),) = db.execute("select is_done from ragdb.seal_ledger(100000)").fetchall()
            seconds += time.perf_counter() - began
            db.execute("vacuum ragdb.ledger_pending")
        db.execute("vacuum analyze ragdb.ledger_tiles")
        chance = random.Random(7)
        inclusion = [
            timed(db, "select ragdb.ledger_inclusion_proof(%s)", chance.randrange(given.entries))
            for _ in range(500)
        ]
        consistency = [
            timed(db, "select ragdb.ledger_consistency_proof(%s)", chance.randrange(given.entries))
            for _ in range(500)
        ]
        ((size,),) = db.execute(
            "select pg_size_pretty(sum(pg_total_relation_size(c.oid))) from pg_class c"
            " where c.oid in ('ragdb.ledger_leaves'::regclass, 'ragdb.ledger_tiles'::regclass)"
        ).fetchall()
    publish(
        given.results,
        "Sealing and proofs",
        f"{given.entries:,} made entries, 500,000 noted at a time, sealed 100,000 a call;"
        f" {size} of disk; proofs of 500 random places.",
        [
            f"Sealed {given.entries / seconds:,.0f} entries a second.",
            "",
            "| proof | ms, median | ms, p95 | hashes, most |",
            "|---|---|---|---|",
            *(
                f"| {name} | {statistics.median(t for t, _ in found):.2f}"
                f" | {statistics.quantiles((t for t, _ in found), n=20)[18]:.2f}"
                f" | {max(n for _, n in found)} |"
                for name, found in (("inclusion", inclusion), ("consistency", consistency))
            ),
        ],
        own.version,
    )


def timed(db: psycopg.Connection[Any], statement: str, value: int) -> tuple[float, int]:
    """Milliseconds of a proof, and how many hashes it has."""
    began = time.perf_counter()
    ((proof,),) = db.execute(statement, (value,)).fetchall()
    return 1000 * (time.perf_counter() - began), len(proof)


def verify(given: argparse.Namespace, own: Server) -> None:
    """Minutes and memory of verifying many traces against the ledger."""
    dsn, queries = filled(own)
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute(RETRIEVE, (queries[0],))
        for first in range(0, given.traces, 10_000):
            db.execute(COPIES, {"count": min(10_000, given.traces - first)})
        db.execute("vacuum analyze")
        done = False
        while not done:
            ((done,),) = db.execute("select is_done from ragdb.seal_ledger(100000)").fetchall()
        db.execute("vacuum analyze")
        pid = db.info.backend_pid
        began, peak = time.perf_counter(), 0.0
        found: list[Any] = []
        for first in range(0, given.traces + 100_000, 100_000):
            found += db.execute(
                "select finding from ragdb.verify_ledger(%s, 100000)", (first,)
            ).fetchall()
            peak = max(peak, resident(pid))
        minutes = (time.perf_counter() - began) / 60
    publish(
        given.results,
        "Verifying the ledger against its rows",
        f"{given.traces:,} traces of {len(queries) and 10} hits, calls of 100,000 entries.",
        [f"{minutes:.1f} minutes, {peak:.0f} MB of the server's memory, {len(found)} findings."],
        own.version,
    )


if __name__ == "__main__":
    main()
