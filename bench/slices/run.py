"""Cost of building, searching, verifying and recording slices, in small and large graphs.

Each figure is the median over anchors of the best of three calls. The same slice is built in a tree
of a million edges and in a corpus of its own that holds the 10,000 chunks around its anchor, in
turn; another is searched in 10,000 chunks and in 200,000. Beside the time that passes stands the
processor's, which says more on a machine that others use too.
Usage: python -m bench.slices.run [--nodes 1000000] [--chunks 200000]
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

import psycopg
from psycopg.types.json import Jsonb

from bench.common import Connection, document, fill, parser, processor, publish, server

CHUNKS = 500
WORDS = ["token", "slice", "policy", "anchor", "graph", "edge", "chunk", "query", "index", "score"]


def graph(db: Connection, corpus_id: int, nodes: int, parent: str) -> None:
    """A corpus whose node i hangs from node `parent` (SQL over i), with random phase and salience.

    Rows are written straight into the tables: a million messages through put_conversations would
    measure ingest, which is another bench.
    """
    name = f"graph-{corpus_id}"
    db.execute("select ragdb.create_corpus(%s)", (name,))
    row = db.execute("select corpus_id from ragdb.corpora where name = %s", (name,)).fetchone()
    assert row is not None
    values = {"corpus": row[0], "nodes": nodes}
    db.execute(
        """
        insert into ragdb.documents (corpus_id, doc_no, doc_cid, media_type, chunking, source_name,
            source, name, size_bytes, chunks, tokens, event_id, created_at, updated_at)
          values (%(corpus)s, 1, 'sha256:' || repeat('0', 64), 'application/x-conversation+json',
            '{"chunker": "turns/1"}', '', 'bench', 'turns', 0, %(nodes)s, 0, gen_random_uuid(),
            now(), now())
        """,
        values,
    )
    db.execute(
        """
        insert into ragdb.chunks (corpus_id, chunk_no, doc_no, ordinal, chunk_id, source,
            start_offset, end_offset, token_count, content_hash, text)
          select %(corpus)s, i, 1, i, md5(i::text)::uuid::text, 'bench', 0, 1, 1,
            sha256(convert_to('turn ' || i, 'utf8')), 'turn ' || i
            from generate_series(1, %(nodes)s) i
        """,
        values,
    )
    db.execute(
        """
        insert into ragdb.turns (corpus_id, chunk_no, turn_id, session_id, role, phase, salience,
            depth, place, answers_no, sibling_order, homogeneity, complexity, created_at)
          select %(corpus)s, i, lpad(to_hex(i), 32, '0')::uuid, 's', 'user',
            (array['synthesis', 'planning', 'consolidation', 'debugging', 'exploration'])
              [1 + abs(hashint4(i)) %% 5], (abs(hashint4(i + 7)) %% 1000) / 1000.0,
            0, i, 0, 0, 0.5, 0.5, now() from generate_series(1, %(nodes)s) i
        """,
        values,
    )
    db.execute(
        f"""
        insert into ragdb.edges (corpus_id, parent_no, child_no, edge_type, child_salience)
          select %(corpus)s, {parent}, i, 'reply', (abs(hashint4(i + 7)) %% 1000) / 1000.0
            from generate_series(2, %(nodes)s) i
        """,
        values,
    )


def surroundings(db: Connection, corpus: str, anchor: int, size: int) -> str:
    """A corpus of `size` chunks around an anchor, with their ids, turns and edges.

    They are the members of a slice of a thousand and who is nearest to one of them.
    """
    name = f"around-{anchor}"
    db.execute("select ragdb.create_corpus(%s)", (name,))
    found = db.execute(
        "select corpus_id from ragdb.corpora where name in (%s, %s) order by name = %s",
        (corpus, name, name),
    ).fetchall()
    values = {"from": found[0][0], "to": found[1][0]}
    chosen = db.execute(
        "select array(select c.chunk_no from ragdb.chunks c where c.corpus_id = %s"
        " and c.chunk_id = any (b.chunk_ids))"
        " from ragdb.build_slice(%s, md5(%s::text)::uuid::text, %s, sign => false) b",
        (values["from"], corpus, anchor, Jsonb({"max_nodes": 1000})),
    ).fetchone()
    assert chosen is not None
    last = chosen[0]
    members = set(last)
    while last and len(members) < size:
        around = db.execute(
            "select parent_no from ragdb.edges where corpus_id = %(from)s"
            " and child_no = any (%(last)s) union select child_no from ragdb.edges"
            " where corpus_id = %(from)s and parent_no = any (%(last)s) order by 1",
            {**values, "last": last},
        ).fetchall()
        last = [row[0] for row in around if row[0] not in members][: size - len(members)]
        members.update(last)
    db.execute(
        "create temporary table member as select n as old, row_number() over (order by n) as new"
        " from unnest(%s::integer[]) n",
        (sorted(members),),
    )
    db.execute(
        """
        insert into ragdb.documents
          select (jsonb_populate_record(d, jsonb_build_object('corpus_id', %(to)s::integer,
              'chunks', (select count(*) from member)))).*
            from ragdb.documents d where d.corpus_id = %(from)s;
        insert into ragdb.chunks
          select (jsonb_populate_record(c, jsonb_build_object('corpus_id', %(to)s::integer,
              'chunk_no', m.new, 'ordinal', m.new))).*
            from member m join ragdb.chunks c on c.corpus_id = %(from)s and c.chunk_no = m.old;
        insert into ragdb.turns
          select (jsonb_populate_record(t, jsonb_build_object('corpus_id', %(to)s::integer,
              'chunk_no', m.new))).*
            from member m join ragdb.turns t on t.corpus_id = %(from)s and t.chunk_no = m.old;
        insert into ragdb.edges
          select %(to)s, p.new, k.new, e.edge_type, e.child_salience
            from member p
            join ragdb.edges e on e.corpus_id = %(from)s and e.parent_no = p.old
            join member k on k.old = e.child_no
        """.replace("%(to)s", str(values["to"])).replace("%(from)s", str(values["from"]))
    )
    db.execute("drop table member")
    return name


def documents(db: Connection, name: str, count: int) -> None:
    """A corpus of `count` chunks of twenty words, in documents of 500, indexed."""
    chance = random.Random(name)
    texts = [f"{' '.join(chance.choices(WORDS, k=20))} {n}" for n in range(count)]
    fill(
        db,
        name,
        (document(f"d/{n}", *texts[n : n + CHUNKS]) for n in range(0, count, CHUNKS)),
    )


def best(call: Callable[[], object], times: int = 3) -> float:
    """Milliseconds of the fastest of some calls."""
    found = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        found.append(time.perf_counter() - started)
    return 1000 * min(found)


def measure(db: Connection, given: argparse.Namespace) -> list[tuple[str, float, str]]:
    def build(corpus: str, anchor: int) -> Callable[[], object]:
        return lambda: db.execute(
            "select chunk_ids from ragdb.build_slice(%s, md5(%s::text)::uuid::text, sign => false)",
            (corpus, anchor),
        ).fetchall()

    def pair(calls: list[Callable[[], object]], times: int = 5) -> list[tuple[float, float]]:
        """Of each call, in turn: the least time that passed and the least of the processor."""
        least = [(float("inf"), float("inf"))] * len(calls)
        for _ in range(times):
            for n, call in enumerate(calls):
                spent, started = processor(db), time.perf_counter()
                call()
                passed = 1000 * (time.perf_counter() - started)
                least[n] = (min(least[n][0], passed), min(least[n][1], processor(db) - spent))
        return least

    same = []
    for anchor in random.Random(1).sample(range(50, 2400), 15):
        small = surroundings(db, "graph-1", anchor, 10_000)
        db.execute("analyze")
        calls = [build("graph-1", anchor), build(small, anchor)]
        members = [call() for call in calls]
        assert members[0] == members[1], f"another slice around {anchor}"
        same.append(pair(calls))
    large, small_ms = (statistics.median(p[n][0] for p in same) for n in (0, 1))
    large_cpu, small_cpu = (statistics.median(p[n][1] for p in same) for n in (0, 1))
    hub = best(build("graph-2", 1))
    leaf = best(build("graph-2", 77))
    rows = [
        (f"build_slice, 256 of {given.nodes:,} nodes, branching 4", large, "≤ 25"),
        ("of the processor", large_cpu, ""),
        ("the same slice in a corpus of 10,000 nodes", small_ms, ""),
        ("of the processor", small_cpu, ""),
        ("ratio", large / small_ms, "≤ 1.2"),
        ("ratio of the processor", large_cpu / small_cpu, "≤ 1.2"),
        ("build_slice around a hub of 10,000 children", hub, "≤ 100"),
        ("from one of its children", leaf, "≤ 100"),
    ]
    db.execute(
        "create temporary table slice as"
        " select * from ragdb.export_slice('graph-1', md5('500')::uuid::text)"
    )
    verify = best(
        lambda: db.execute(
            "select v.* from slice s, ragdb.verify_token('graph-1', s.admissibility_token,"
            " s.slice_id, s.anchor_chunk_id, s.policy_id, s.params_hash, s.graph_snapshot_hash,"
            " s.schema_version) v"
        ).fetchall(),
        9,
    )
    rows.append(("verify_token, 256 chunks", verify, "≤ 5"))
    costs = []
    for corpus in ("docs-10k", "docs-big"):
        # a document is a chain of chunks: a wide radius makes a slice of 256 of them
        made = db.execute(
            "select slice_id, cardinality(chunk_ids) from ragdb.export_slice(%s,"
            " (select chunk_id from ragdb.search(%s, 'anchor 250', k => 1)), %s)",
            (corpus, corpus, Jsonb({"max_radius": 500})),
        ).fetchone()
        assert made is not None
        assert made[1] == 256
        queries = [" ".join(random.Random(n).sample(WORDS, 3)) for n in range(15)]

        def call(function: str, query: str, corpus: str = corpus, slice_id: str = made[0]) -> float:
            return best(
                lambda: db.execute(
                    f"select * from ragdb.{function}(%s, %s, slice_id => %s)",
                    (corpus, query, slice_id),
                ).fetchall()
            )

        search = statistics.median(call("search_slice", q) for q in queries)
        retrieve = statistics.median(call("retrieve_slice", q) for q in queries)
        costs.append(search)
        rows.append((f"search_slice, 256 of the chunks of {corpus}", search, "≤ 5"))
        rows.append((f"retrieve_slice in {corpus} (verified, recorded)", retrieve, ""))
    rows.append(
        ("search_slice, ratio of the large corpus to the small", costs[1] / costs[0], "≤ 1.2")
    )
    return rows


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--nodes", type=int, default=1_000_000)
    flags.add_argument("--chunks", type=int, default=200_000)
    given = flags.parse_args()
    with server() as own, psycopg.connect(own.database(), autocommit=True) as db:
        graph(db, 1, given.nodes, "(i + 2) / 4")
        graph(db, 2, 10_001, "1")
        documents(db, "docs-10k", 10_000)
        documents(db, "docs-big", given.chunks)
        db.execute("vacuum analyze")
        db.execute("select ragdb.create_signing_key()")
        rows = measure(db, given)
    publish(
        given.results,
        "Slices",
        "the median over anchors of the best of three calls.",
        [
            "| what | ms (or ratio) | goal |",
            "|---|---|---|",
            *(f"| {what} | {value:.2f} | {goal} |" for what, value, goal in rows),
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
