"""What `ragdb verify` costs: rows a second, minutes and memory, over many traces and chunks.

The traces are copies of one signed retrieval under ids and times of their own, hashed and signed
as recording does, so that each verifies. Memory is the most that the server's process had of its
own after a step, and the peak of the client.
Usage: python -m bench.verify.run [--traces 1000000] [--chunks 200000] [--hits 3]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import time

import psycopg

import ragdb
from bench.common import Connection, Server, document, parser, publish, resident, server

BATCH = 50_000


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--traces", type=int, default=1_000_000)
    flags.add_argument("--chunks", type=int, default=200_000)
    flags.add_argument("--hits", type=int, default=3)
    given = flags.parse_args()
    with server() as own:
        report(given, own)


def report(given: argparse.Namespace, own: Server) -> None:
    dsn = own.database()
    with psycopg.connect(dsn, autocommit=True) as db:
        made = time.perf_counter()
        make(db, given.traces, given.chunks, given.hits)
        print(f"made in {time.perf_counter() - made:.0f} s")
    seconds: dict[str, float] = {}
    looked: dict[str, int] = {}
    findings, peak = 0, 0.0
    with ragdb.connect(dsn) as client:
        state = None
        while True:
            began = time.perf_counter()
            step = client.verify_step(state)
            seconds[step.check] = seconds.get(step.check, 0) + time.perf_counter() - began
            looked[step.check] = looked.get(step.check, 0) + step.looked
            findings += sum(f["severity"] != "note" for f in step.findings)
            peak = max(peak, resident(client.connection.info.backend_pid))
            state = step.next_state
            if state is None:
                break
    own_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert findings == 0, findings
    publish(
        given.results,
        "What verifying everything costs",
        f"{given.traces:,} signed traces of {given.hits} hits, {given.chunks:,} chunks of some 400"
        f" characters, steps of 4,000: {sum(seconds.values()) / 60:.1f} minutes; the server's"
        f" process {peak:.0f} MB at most, the client {own_peak:.0f} MB.",
        [
            "| check | rows | seconds | rows a second |",
            "|---|---|---|---|",
            *(
                f"| {name} | {looked[name]:,} | {spent:.1f} | {looked[name] / spent:,.0f} |"
                for name, spent in seconds.items()
            ),
        ],
        own.version,
    )


def make(db: Connection, traces: int, chunks: int, hits: int) -> None:
    db.execute("select ragdb.set_ledger(false)")  # what bench.ledger measures
    db.execute("select ragdb.create_signing_key('k1')")
    db.execute("select ragdb.create_corpus('bench')")
    for n in range(hits):
        text = f"Refunds are paid in {n} weeks."
        db.execute("select from ragdb.put_text('bench', %s, %s)", (f"{n}.md", text))
    db.execute("select from ragdb.retrieve('bench', 'refunds', %s)", (hits,)).fetchall()
    for start in range(0, chunks, 2000):
        texts = [f"{hashlib.md5(b'%d' % n).hexdigest()} " * 12 for n in range(start, start + 2000)]
        documents = [document(f"{start + n}.txt", *texts[n : n + 20]) for n in range(0, 2000, 20)]
        db.execute("select from ragdb.put_documents('bench', %s)", (json.dumps(documents),))
    for start in range(0, traces, BATCH):
        db.execute(
            """
            with one as materialized (
              select t, array(select h from ragdb.retrieval_hits h where h.trace_id = t.id
                order by h.rank) as hits
              from ragdb.retrieval_traces t order by t.id limit 1
            ), named as materialized (
              select ragdb_internal.uuid7((one.t).created_at + n * interval '1 ms') as id, one.*
              from one, generate_series(%s::integer, %s::integer) n
            ), made as materialized (
              select jsonb_populate_record(n.t, jsonb_build_object(
                  'id', n.id, 'created_at', ragdb_internal.uuid_time(n.id))) as t,
                array(select jsonb_populate_record(h, jsonb_build_object(
                    'trace_id', n.id, 'created_at', ragdb_internal.uuid_time(n.id)))
                  from unnest(n.hits) h order by h.rank) as hits
              from named n
            ), hashed as materialized (
              select t, hits, ragdb_internal.trace_hash(t, hits) as hash from made
            ), signed as materialized (
              select jsonb_populate_record(t, jsonb_build_object('trace_hash', hash,
                'trace_mac', ragdb_internal.trace_mac(hash,
                  (select secret from ragdb.signing_secrets)))) as t from hashed
            ), put as (
              insert into ragdb.retrieval_traces select (t).* from signed
            )
            insert into ragdb.retrieval_hits select h.* from hashed, unnest(hits) h
            """,
            (start + 1, min(start + BATCH, traces)),
        )
    db.execute("analyze ragdb.retrieval_traces, ragdb.retrieval_hits, ragdb.chunks")


if __name__ == "__main__":
    main()
