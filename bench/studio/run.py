"""What Studio's pages cost over many chunks and traces: each page asked for many times.

Documents of scale_tech_docs, embedded by the packaged model, in one corpus; traces made inside the
server, 30 days of them, one in 5,000 of which took longer than two seconds; slices, answers, and an
eval of 40 cases with three runs. `ragdb serve` answers a session of an admin, who may read every
trace, and one of a reader, who has recorded one trace in 1,000. Beside the time that passes stands
the processor's, of the server of the pages and of PostgreSQL, which says more on a machine that
others use too. The bound: p95 of each page is at most 300 ms.

    python -m bench.studio.run [--chunks 200000] [--traces 1000000] [--rounds 20] [--at DSN]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from html import unescape
from threading import Thread
from urllib.parse import urlencode, urljoin

import httpx2 as httpx
import numpy as np
import psutil
import psycopg

import ragdb
from bench.common import Connection, Server, parser, publish, records, server
from bench.hybrid.static_speed import made, put
from ragdb.server import static

GOAL = 300
TRACES = """
insert into ragdb.retrieval_traces (corpus_id, id, created_at, corpus, retrieval_mode, rank_mode,
    query_text, query_hash, admissibility_shortfall, shortfall_reason, limit_requested,
    limit_returned, min_score, ranking_hash, result_hash, corpus_version, is_exact, elapsed_ms,
    error_code, client, caller, caller_oid, trace_hash)
  select k.corpus_id, ragdb_internal.uuid7(t.at),
    ragdb_internal.uuid_time(ragdb_internal.uuid7(t.at)), k.name,
    'global', case when n %% 1000 = 1 then 'reference' when n %% 3 = 0 then 'lexical'
      else 'hybrid' end, 'question ' || n, encode(sha256(n::text::bytea), 'hex'), n %% 900 = 3,
    case when n %% 900 = 3 then '3 chunks lack an embedding' end, 10,
    case when n %% 50 = 0 then 0 else 3 end, 0, md5('r') || md5('h'), md5('r') || md5('s'), 1,
    true, 5 + abs(hashint4(n) %% 1000) / 20.0 + case when n %% 5000 = 7 then 3000 else 0 end,
    case when n %% 100 = 0 then 'RG415' end, 'bench',
    case when n %% 1000 = 5 then 'ragdb_reader' else 'ragdb_admin' end,
    case when n %% 1000 = 5 then 'ragdb_reader' else 'ragdb_admin' end::regrole::oid,
    sha256(n::text::bytea)
  from ragdb.corpora k, generate_series(%(first)s::integer, %(last)s::integer) n,
    lateral (select now() - interval '30 days' + n * interval '30 days' / %(traces)s as at) t
  where k.name = 'large'
"""
HITS = """
insert into ragdb.retrieval_hits (corpus_id, trace_id, created_at, rank, chunk_id, content_hash,
    score)
  select t.corpus_id, t.id, t.created_at, r, c.chunk_id, c.content_hash, 1.0 / r
  from ragdb.retrieval_traces t cross join generate_series(1, 3) r
    join ragdb.chunks c on c.corpus_id = t.corpus_id
      and c.chunk_no = 1 + (abs(hashint4(r) # hashtext(t.id::text)) %% 1000)
  where t.corpus = 'large' and t.limit_returned > 0
"""
COMMONEST = """
select lexeme from ragdb.lexemes l join ragdb.corpora c using (corpus_id)
  where c.name = 'large' order by df desc limit 5
"""
CONTRACT = """corpus name=large
retriever name=R corpus=large mode=lexical topK=5
rag name=Bench retriever=R
  ragEval name=Cases mode=contract
"""
CASE = """    ragCase name="case {n}" query={query}
      ragAssert kind=contains value="the" required=true
"""

FILTERS: dict[str, dict[str, object]] = {
    "": {},
    " of a corpus": {"corpus": "large"},
    " slower than 2 s": {"slower": 2000},
    " slower than 50 ms": {"slower": 50},
    " slower than an hour": {"slower": 3_600_000},
    " slower than 2 s, lexical": {"slower": 2000, "mode": "lexical"},
    " slower than 2 s, failed": {"slower": 2000, "outcome": "failed"},
    " by reference": {"mode": "reference"},
    " by meaning, of which there are none": {"mode": "semantic"},
    " that failed": {"outcome": "failed"},
    " that found nothing": {"outcome": "empty"},
    " with a shortfall": {"outcome": "short"},
}


@dataclass
class Visitor:
    """A browser's session, and what its pages took in ms: by the clock and by the processor."""

    client: httpx.Client
    pages: psutil.Process
    postmaster: psutil.Process
    spent: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def processor(self) -> float:
        """Seconds of the server of the pages, and of PostgreSQL's processes, also ended ones."""
        used = sum(self.pages.cpu_times()[:2]) + sum(self.postmaster.cpu_times()[2:4])
        for backend in self.postmaster.children():
            with suppress(psutil.NoSuchProcess):
                used += sum(backend.cpu_times()[:2])
        return float(used)

    def asks(self, name: str, path: str) -> None:
        before, began = self.processor(), time.perf_counter()
        answer = self.client.get(path)
        took, used = time.perf_counter() - began, self.processor() - before
        assert answer.status_code == 200, (path, answer.text)
        self.spent.setdefault(name, []).append((1000 * took, 1000 * used))

    def links(self, path: str, begins: str) -> list[str]:
        """The addresses that a page links to, relative to its own, and that begin so."""
        links = re.findall(r'href="([^"]+)"', self.client.get(path).text)
        found = [urljoin(path, unescape(link)) for link in links]
        return [link for link in found if link.startswith(begins)]


def fill(db: Connection, dsn: str, chunks: int, traces: int, queries: list[str]) -> None:
    print("filling", flush=True)
    with ragdb.connect(dsn) as door:
        static.load(door)
    db.execute("select ragdb.create_signing_key('bench')")
    db.execute("select ragdb.create_corpus('large')")
    put(db, "large", made(chunks, 0))
    db.execute("select ragdb.optimize_corpus('large')")
    db.execute("select ragdb.index_space('large')")
    print("chunks", flush=True)
    db.execute("set role ragdb_owner")
    db.execute(
        "select ragdb_internal.make_partition(p, date_trunc('month', now() - a)::date)"
        " from unnest(array['retrieval_hits', 'retrieval_traces']) p,"
        " unnest(array[interval '30 days']) a where to_regclass('ragdb.' ||"
        " ragdb_internal.partition_name(p, date_trunc('month', now() - a)::date)) is null"
    )
    step = 100_000
    for first in range(1, traces + 1, step):
        given = {"first": first, "last": min(traces, first + step - 1), "traces": traces}
        db.execute(TRACES.encode(), given)
    db.execute(HITS.replace("%%", "%").encode())
    db.execute("reset role")
    print("traces", flush=True)
    cases = "".join(
        CASE.format(n=n, query=json.dumps(query)) for n, query in enumerate(queries[:40])
    )
    with ragdb.connect(dsn) as door:
        door.apply_contract(CONTRACT + cases, "bench")
        for n in range(3):
            door.run_eval("Bench", label=f"run {n}")
        for query in queries[:200]:
            hits = door.retrieve("large", query, 5)
            pack = door.build_evidence_pack(hits.trace_id)
            door.record_gate(query, pack)
            cited = {"source_id": hits[0].source, "chunk_id": hits[0].chunk_id}
            answer = {"answer": "so it is", "citations": [{**cited, "quote": hits[0].text[:30]}]}
            door.record_answer(answer, pack, task=query)
            door.retrieve_slice("large", query, anchor=hits[0].chunk_id, k=5)
        door.refresh_rollups()
    db.execute("vacuum analyze")


@contextmanager
def served(dsn: str) -> Iterator[tuple[str, psutil.Process]]:
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", "from ragdb.cli.main import main; main()"),
            *("serve", "-d", dsn, "--port", "0"),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        url = process.stderr.readline().split()[2].rstrip(",")
        # who writes a line for each request waits once nobody reads them
        Thread(target=process.stderr.read, daemon=True).start()
        yield url, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(30)


class Pages:
    """Addresses of each page, which change from visit to visit."""

    def __init__(self, visitor: Visitor, queries: list[str], commonest: str) -> None:
        self.rng, self.queries, self.commonest = random.Random(1), queries, commonest
        found = "/studio/search?" + urlencode({"corpus": "large", "q": queries[0]})
        self.why = visitor.links(found, "/studio/search/why")
        self.traces = visitor.links("/studio/traces?outcome=found", "/studio/traces/")
        self.slices = visitor.links("/studio/slices?corpus=large", "/studio/slices/graph")
        self.documents = visitor.links("/studio/documents?corpus=large", "/studio/documents/show")
        self.answers = visitor.links("/studio/answers", "/studio/answers/")
        self.runs = visitor.links("/studio/evals", "/studio/evals/run/")

    def __iter__(self) -> Iterator[tuple[str, str]]:
        one = self.rng.choice
        asked = {"corpus": "large", "q": one(self.queries)}
        yield "search", "/studio/search?" + urlencode(asked)
        yield "search, 20 hits", "/studio/search?" + urlencode({**asked, "k": 20})
        words = {"corpus": "large", "q": self.commonest, "k": self.rng.randint(3, 9)}
        yield "search, the five commonest words", "/studio/search?" + urlencode(words)
        yield "why not a chunk", one(self.why)
        for name, filters in FILTERS.items():
            yield f"traces{name}", "/studio/traces?" + urlencode(filters)
        yield "a trace", one(self.traces)
        yield "a trace, replayed", one(self.traces) + "?replay=true"
        yield "slices", "/studio/slices?corpus=large"
        yield "graph of a slice", one(self.slices)
        yield "graph of a slice, changed", one(self.slices) + "&max_nodes=40"
        yield "evals", "/studio/evals"
        yield "history of an eval", "/studio/evals/history?rag=Bench&eval=Cases"
        yield "run of an eval", one(self.runs)
        yield "documents", "/studio/documents?corpus=large"
        yield "documents by a question", "/studio/documents?" + urlencode(asked)
        yield "a document", one(self.documents)
        yield "answers", "/studio/answers"
        yield "an answer", one(self.answers)
        yield "map", "/studio/map?corpus=large"
        yield "map with a question", "/studio/map?" + urlencode(asked)
        yield "health", "/studio/health"


def measure(
    dsn: str, db: Connection, rounds: int, queries: list[str]
) -> dict[str, list[tuple[float, float]]]:
    commonest = " ".join(row[0] for row in db.execute(COMMONEST).fetchall())
    postmaster = psutil.Process(db.info.backend_pid).parent()
    assert postmaster is not None
    found: dict[str, list[tuple[float, float]]] = {}
    with served(dsn) as (url, process):
        for role in ("ragdb_admin", "ragdb_reader"):
            ((token,),) = db.execute(
                "select ragdb.create_http_token(%s, %s)", (role, f"bench {time.time()}")
            ).fetchall()
            with httpx.Client(base_url=url, timeout=300) as client:
                client.post("/studio/login", data={"token": token})
                visitor = Visitor(client, process, postmaster)
                every: Iterable[tuple[str, str]] = Pages(visitor, queries, commonest)
                if role == "ragdb_reader":  # who sees few of the traces
                    every = [page for page in every if page[0].startswith("traces")]
                for _, path in every:
                    client.get(path)  # fill the pool and the caches
                for _ in range(rounds):
                    for name, path in every:
                        visitor.asks(name if role == "ragdb_admin" else f"{name}, a reader", path)
                found |= visitor.spent
    return found


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--chunks", type=int, default=200_000)
    flags.add_argument("--traces", type=int, default=1_000_000)
    flags.add_argument("--rounds", type=int, default=20)
    flags.add_argument("--at", help="a database to fill, or that an earlier run has filled")
    given = flags.parse_args()
    with server() if given.at is None else nullcontext(Server.at(given.at)) as own:
        report(given, own)


def report(given: argparse.Namespace, own: Server) -> None:
    dsn = given.at or own.database()
    queries = [record["text"] for record in records("scale_tech_docs", "queries.jsonl")][:500]
    with psycopg.connect(dsn, autocommit=True) as db:
        if not db.execute("select from ragdb.corpora where name = 'large'").rowcount:
            fill(db, dsn, given.chunks, given.traces, queries)
        found = measure(dsn, db, given.rounds, queries)
    lines = [
        "| page | p50 ms | p95 ms | processor, p50 ms | processor, p95 ms |",
        "|---|---|---|---|---|",
    ]
    late = []
    for name, spent in found.items():
        clock, processor = np.percentile(np.array(spent), [50, 95], axis=0).T
        shown = " | ".join(f"{ms:.0f}" for ms in (*clock, *processor))
        lines.append(f"| {name} | {shown} |")
        late += [name] if clock[1] > GOAL else []
    publish(
        given.results,
        "Studio's pages",
        f"{given.chunks:,} chunks of scale_tech_docs, {given.traces:,} traces,"
        f" {given.rounds} visits of each page, as an admin where nothing else is said.",
        [*lines, "", f"Over {GOAL} ms at p95: {', '.join(late) or 'none'}."],
        own.version,
    )


if __name__ == "__main__":
    main()
