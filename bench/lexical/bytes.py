"""Bytes of the lexical index by part, as a first load leaves it.

The records of scale_tech_docs are put as chunks by put_documents, 8 million characters a call, and
then optimized; and ingested from a file by `ragdb ingest`, which cuts the long ones. Nothing is
vacuumed, rewritten or indexed anew but by the server itself.

python -m bench.lexical.bytes [--sizes 50000,207712]
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg

from bench.common import Connection, manuals, parser, publish, server
from bench.ingest.run import batches, whole

PARTS = ("chunk_lexemes", "lexemes", "term_blocks", "block_states")


def put(db: Connection, limit: int) -> None:
    db.execute("select ragdb.create_corpus('bench')")
    for batch in batches(limit, 8_000_000):
        documents = [
            whole(file, list(chunks))
            for file, chunks in itertools.groupby(batch, key=lambda chunk: chunk.file)
        ]
        db.execute(
            "select count(*) from ragdb.put_documents('bench', %s)", (json.dumps(documents),)
        )
    db.execute("select ragdb.optimize_corpus('bench')")


def ingest(dsn: str, limit: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "manuals.jsonl"
        with file.open("w") as lines:
            lines.writelines(json.dumps(r) + "\n" for r in itertools.islice(manuals(), limit))
        subprocess.run(
            [
                str(Path(sys.executable).with_name("ragdb")),
                "ingest",
                str(file),
                "--corpus",
                "bench",
            ],
            env=os.environ | {"RAGDB_DATABASE_URL": dsn},
            stdout=subprocess.DEVNULL,
            check=True,
        )


def count(db: Connection) -> int:
    ((chunks,),) = db.execute("select chunks from ragdb.corpora where name = 'bench'").fetchall()
    return int(chunks)


def sizes(db: Connection) -> list[tuple[str, int]]:
    """The bytes of every table of the index, and of each of its indexes."""
    return db.execute(
        "select p.name, pg_table_size(p.name::regclass) from unnest(%(parts)s::text[])"
        "   with ordinality p (name, n)"
        " union all select i.indexrelid::regclass::text, pg_relation_size(i.indexrelid)"
        "   from unnest(%(parts)s::text[]) p join pg_index i on i.indrelid = p::regclass",
        {"parts": [f"ragdb.{part}" for part in PARTS]},
    ).fetchall()


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--sizes", default="50000,207712", help="numbers of records")
    arguments = flags.parse_args()
    lines = []
    with server() as own:
        for limit, how in itertools.product(
            map(int, arguments.sizes.split(",")), ("put_documents", "ragdb ingest")
        ):
            dsn = own.database()
            with psycopg.connect(dsn, autocommit=True) as db:
                if how == "put_documents":
                    put(db, limit)
                else:
                    ingest(dsn, limit)
                chunks = count(db)
                parts = sizes(db)
            parts.append(("all", sum(size for _, size in parts)))
            for name, size in parts:
                each = size / chunks
                lines.append(f"| {how} | {chunks:,} | {name} | {size / 1e6:.1f} | {each:,.0f} |")
    publish(
        arguments.results,
        "Bytes of the lexical index",
        "scale_tech_docs, as a first load leaves it.",
        ["| by | chunks | part | MB | bytes a chunk |", "|---|---|---|---|---|", *lines],
        own.version,
    )


if __name__ == "__main__":
    main()
