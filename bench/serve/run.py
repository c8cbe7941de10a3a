"""Latency of `ragdb serve` on the loopback: one client, then several at once; errors; memory.

Every client asks in turn for a capability's query, a global search and a search of a slice (256
chunks at most), over chunks of scale_tech_docs, ranked by words; queries and anchors change from
request to request, and each leaves its trace. Clients are threads of one process beside the
server's and PostgreSQL's, on the same cores. The bound: the p95 of several clients is at most five
medians of a single one, for each kind.

    python -m bench.serve.run [--chunks 20000] [--clients 4] [--seconds 60]
"""

from __future__ import annotations

import http.client
import itertools
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode

import numpy as np
import psutil
import psycopg

from bench.common import Connection, document, fill, parser, publish, server
from bench.hybrid.run import read

KINDS = ("rag.query@1.0", "search/global", "search/slice")


def ingest(db: Connection, chunks: list[dict[str, Any]]) -> list[str]:
    """Documents of ten chunks each, so that slices have a graph; returns anchors."""
    fill(
        db,
        "bench",
        (
            document(
                f"part-{n}.md",
                *(chunk["text"] for chunk in chunks[n : n + 10]),
                title=chunks[n].get("title") or None,
            )
            for n in range(0, len(chunks), 10)
        ),
    )
    db.execute("select ragdb.create_signing_key()")
    db.execute("vacuum analyze")
    rows = db.execute(
        "select chunk_id from ragdb.chunks order by sha256(chunk_id::bytea) limit 500"
    ).fetchall()
    return [row[0] for row in rows]


@dataclass
class Client:
    """One connection that is kept open, and what its requests took in ms."""

    port: int
    token: str
    queries: list[str]
    anchors: list[str]
    first: int
    step: int
    spent: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    errors: Counter[str] = field(default_factory=Counter)

    def run(self, until: float) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        for n in itertools.count(self.first, self.step):
            if time.monotonic() > until:
                break
            query = self.queries[n % len(self.queries)]
            kind = KINDS[n // self.step % 3]
            method, path, body = self.request(kind, query, self.anchors[n % len(self.anchors)])
            began = time.perf_counter()
            try:
                connection.request(method, path, body and json.dumps(body), headers)
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    self.errors[str(answer.status)] += 1
            except OSError as error:
                self.errors[type(error).__name__] += 1
                connection.close()
            self.spent[kind].append(1000 * (time.perf_counter() - began))
        connection.close()

    @staticmethod
    def request(kind: str, query: str, anchor: str) -> tuple[str, str, Any]:
        if kind == "search/global":
            return "GET", "/api/rag/search/global?" + urlencode({"query": query}), None
        if kind == "search/slice":
            return "POST", "/api/rag/search/slice", {"query": query, "anchor_turn_id": anchor}
        request = {"params": {"corpus": "bench"}, "input": {"query": query}}
        return "POST", f"/capabilities/{kind}", request


def measure(
    count: int, seconds: float, client: Callable[[int, int], Client]
) -> tuple[dict[str, Any], Counter[str], float]:
    """So many clients for so long: ms by kind, errors, requests a second."""
    clients = [client(first, count) for first in range(count)]
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=client.run, args=(until,)) for client in clients]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - began
    spent = {kind: np.concatenate([c.spent[kind] for c in clients]) for kind in KINDS}
    errors = sum((c.errors for c in clients), Counter[str]())
    return spent, errors, sum(map(len, spent.values())) / took


def memory(process: psutil.Process, backends: Any) -> tuple[float, float, int]:
    """MB of the server, MB of PostgreSQL's backends (what they do not share), their number."""
    own = process.memory_full_info().uss / 1e6
    ((pids,),) = backends.execute(
        "select array_agg(pid) from pg_stat_activity where application_name like '%serve'"
    ).fetchall()
    found = [psutil.Process(pid).memory_full_info().uss / 1e6 for pid in pids or ()]
    return own, sum(found), len(found)


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--chunks", type=int, default=20_000)
    flags.add_argument("--clients", type=int, default=4)
    flags.add_argument("--seconds", type=float, default=60)
    arguments = flags.parse_args()
    chunks, queries = read(arguments.chunks)
    with server() as own:
        dsn = own.database()
        with psycopg.connect(dsn, autocommit=True) as db:
            anchors = ingest(db, chunks)
            ((token,),) = db.execute(
                "select ragdb.create_http_token('ragdb_reader', 'bench')"
            ).fetchall()
            served = subprocess.Popen(
                [
                    *(sys.executable, "-c", "from ragdb.cli.main import main; main()"),
                    *("serve", "-d", dsn, "--port", "0", "--corpus", "bench"),
                ],
                stderr=subprocess.PIPE,
                text=True,
            )
            try:
                assert served.stderr is not None
                line = served.stderr.readline()
                port = int(line.split()[2].rstrip(",").rpartition(":")[2])
                threading.Thread(target=served.stderr.read, daemon=True).start()
                client = partial(Client, port, token, queries, anchors)
                time.sleep(2)
                measure(arguments.clients, 3, client)  # fill the pool and the caches
                process = psutil.Process(served.pid)
                single, wrong, rate = measure(1, arguments.seconds / 3, client)
                before = memory(process, db)
                several, errors, rate_of_all = measure(arguments.clients, arguments.seconds, client)
                after = memory(process, db)
            finally:
                served.terminate()
                served.wait(30)
    table = []
    for name, spent, total in (("1", single, rate), (str(arguments.clients), several, rate_of_all)):
        every = np.concatenate(list(spent.values()))
        for kind, times in [*spent.items(), ("all", every)]:
            p50, p95, p99 = np.percentile(times, [50, 95, 99])
            table.append(
                f"| {name} | {kind} | {p50:.1f} | {p95:.1f} | {p99:.1f} | {len(times):,} |"
                + (f" {total:.0f} |" if kind == "all" else " |")
            )
    # of each kind by itself: a search of a slice takes longer than the others also alone
    ratios = ", ".join(
        f"{kind} {np.percentile(times, 95) / np.median(single[kind]):.1f}"
        for kind, times in several.items()
    )
    publish(
        arguments.results,
        "HTTP",
        f"{len(chunks):,} chunks of scale_tech_docs, lexical, 10 hits (rag.query 5).",
        [
            "| clients | what | p50 ms | p95 ms | p99 ms | requests | a second |",
            "|---|---|---|---|---|---|---|",
            *table,
            "",
            f"p95 of {arguments.clients} clients ÷ median of one: {ratios} (bound: 5). Errors:"
            f" {dict(wrong + errors) or 'none'}. Memory before and after, server:"
            f" {before[0]:.0f} and {after[0]:.0f} MB; {after[2]} backends: {before[1]:.0f} and"
            f" {after[1]:.0f} MB.",
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
