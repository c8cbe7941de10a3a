"""What it costs that a corpus keeps its history, and what it costs to be able to.

Three databases get the same documents, edits and questions in turn: one without the triggers that
keep history, one where the corpus keeps none, and one where it keeps it. The time is that of the
server's process on the processor, because the clock tells what else the machine does. An edit
rewrites a chunk of a fifth of the documents. Bytes are those on disk, with indexes.

    python -m bench.history.run [--chunks 20000] [--rounds 6] [--questions 200]
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import psycopg

from bench.common import Connection, document, parser, processor, publish, server
from bench.hybrid.static_speed import questions
from bench.ingest.run import read_chunks

WAYS = ("without triggers", "not kept", "kept")
CHUNKS_OF_A_DOCUMENT = 5
EDITED = 5
BACK = (0, 1, 2, 4)
KEPT = "('ragdb.past_rows'), ('ragdb.corpus_versions')"
TODAY = "('ragdb.documents'), ('ragdb.document_sources'), ('ragdb.chunks'), ('ragdb.chunk_lexemes')"


def without_triggers(db: Connection) -> None:
    for table, name in db.execute(
        "select t.tgrelid::regclass::text, t.tgname from pg_trigger t"
        " join pg_proc p on p.oid = t.tgfoid"
        " where p.proname like 'keep_past_row%' and t.tgparentid = 0"
    ).fetchall():
        db.execute(f"drop trigger {name} on {table}".encode())


def made(texts: Sequence[str], edit: int) -> list[dict[str, Any]]:
    """The documents; each edit gives the third chunk of other documents a text of its own."""
    found = []
    for n, at in enumerate(range(0, len(texts), CHUNKS_OF_A_DOCUMENT)):
        own = list(texts[at : at + CHUNKS_OF_A_DOCUMENT])
        last = max((e for e in range(1, edit + 1) if (n + e) % EDITED == 0), default=0)
        if last and len(own) > 2:
            own[2] += f" Edited {last}."
        found.append(document(f"d{n}.md", *own))
    return found


def put(db: Connection, documents: list[dict[str, Any]], corpus: str = "bench") -> None:
    for at in range(0, len(documents), 400):
        batch = json.dumps(documents[at : at + 400])
        db.execute("select from ragdb.put_documents(%s, %s)", (corpus, batch))


def create(db: Connection, way: str, corpus: str) -> None:
    history = "90 days" if way == "kept" else None
    db.execute("select ragdb.create_corpus(%s, history => %s)", (corpus, history))


def ask(db: Connection, asked: Sequence[str], as_of: int | None = None) -> None:
    for question in asked:
        db.execute(
            "select from ragdb.search('bench', %s, mode => 'lexical', as_of => %s)",
            (question, as_of),
        )


def size(db: Connection, tables: str) -> float:
    """Megabytes."""
    ((found,),) = db.execute(
        f"select sum(pg_total_relation_size(to_regclass(t))) from (values {tables}) v (t)".encode()
    ).fetchall()
    return int(found) / 1e6


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--chunks", type=int, default=20_000)
    flags.add_argument("--rounds", type=int, default=6)
    flags.add_argument("--questions", type=int, default=200)
    given = flags.parse_args()
    texts = [chunk.text for chunk in read_chunks(given.chunks)]
    asked = list(questions(given.questions))
    spent: dict[str, dict[str, list[float]]] = {}
    with server() as own:
        open_: dict[str, Connection] = {}
        for n, way in enumerate(WAYS):
            db = open_[way] = psycopg.connect(own.database(f"bench{n}"), autocommit=True)
            if way == "without triggers":
                without_triggers(db)
            create(db, way, "bench")
            put(db, made(texts, 0))

        def step(what: str, work: Callable[[Connection], None], turn: int = 0) -> None:
            turn %= len(WAYS)
            for way in WAYS[turn:] + WAYS[:turn]:
                before = processor(open_[way])
                work(open_[way])
                took = (processor(open_[way]) - before) / 1000
                spent.setdefault(what, {}).setdefault(way, []).append(took)
                print(what, way, f"{took:.3f}", flush=True)

        first = {way: (size(db, TODAY), size(db, KEPT)) for way, db in open_.items()}
        for n in range(1, given.rounds + 1):
            documents = made(texts, n)
            step("edit of a fifth", partial(put, documents=documents), n)
        for n in range(3):
            step("put of all, unchanged", lambda db: put(db, documents), n)
        for n in range(3):
            step(f"{len(asked)} searches of today", lambda db: ask(db, asked), n)
        db = open_["kept"]
        ((version, images),) = db.execute(
            "select version, (select count(*) from ragdb.past_rows) from ragdb.corpora"
        ).fetchall()
        calls = -(-len(documents) // 400)  # each raises the version by one
        past = []
        for back in BACK[: given.rounds + 1]:
            before = processor(db)
            ask(db, asked[:20], version - calls * back)
            past.append((back, (processor(db) - before) / 20))
        today = statistics.median(spent[f"{len(asked)} searches of today"]["kept"])
        last = {way: (size(db, TODAY), size(db, KEPT)) for way, db in open_.items()}
        for n in range(given.rounds):
            for way, db in open_.items():
                create(db, way, f"more{n}")
            more = made(texts, 0)
            step("put of all, new", partial(put, documents=more, corpus=f"more{n}"), n)
        for db in open_.values():
            db.close()
    lines = [f"| CPU seconds | {' | '.join(WAYS)} | not kept ÷ without | kept ÷ not kept |"]
    lines.append("|---" * (len(WAYS) + 3) + "|")
    for what, took in spent.items():
        middle = {way: statistics.median(took[way]) for way in WAYS}
        cells = [f"{middle[way]:.2f}" for way in WAYS]
        cells.append(f"{middle['not kept'] / middle['without triggers']:.3f}")
        cells.append(f"{middle['kept'] / middle['not kept']:.2f}")
        lines.append(f"| {what} | {' | '.join(cells)} |")
    grown = last["kept"][1] - first["kept"][1]
    edited = len(texts) / CHUNKS_OF_A_DOCUMENT / EDITED * given.rounds
    lines += [
        "",
        f"Bytes, in MB: the tables of today {first['kept'][0]:.1f} after the first put and"
        f" {last['kept'][0]:.1f} at the end ({last['not kept'][0]:.1f} where no history is kept);"
        f" the history {first['kept'][1]:.1f} and {last['kept'][1]:.1f}: {images:,} rows,"
        f" {1000 * grown / edited:.1f} kB and {images / edited:.1f} rows for each"
        f" edited document of {CHUNKS_OF_A_DOCUMENT} chunks.",
        f"A search by words of today takes {1000 * today / len(asked):.1f} ms; as of a version "
        + ", ".join(f"{back} edits back {ms:.0f} ms" for back, ms in past)
        + ".",
    ]
    publish(
        given.results,
        "What history costs",
        f"scale_tech_docs, {len(texts):,} chunks, {CHUNKS_OF_A_DOCUMENT} a document,"
        f" {given.rounds} edits of a fifth of the documents, medians.",
        lines,
        own.version,
    )


if __name__ == "__main__":
    main()
