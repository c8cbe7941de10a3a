"""Bytes of the lexical index by part, as a first load and ragdb.optimize_corpus leave it.

Nothing is vacuumed, rewritten or indexed anew but by the server itself.

python -m bench.lexical.bytes [--sizes 50000,207712]
"""

from __future__ import annotations

import itertools
import json

import psycopg

from bench.common import Connection, parser, publish, server
from bench.ingest.run import batches, whole

PARTS = ("chunk_lexemes", "lexemes", "term_blocks", "block_states")


def load(db: Connection, limit: int) -> int:
    """Put so many chunks as `ragdb ingest` does, and return how many there are."""
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
    flags.add_argument("--sizes", default="50000,207712", help="numbers of chunks")
    arguments = flags.parse_args()
    lines = []
    with server() as own:
        for limit in map(int, arguments.sizes.split(",")):
            with psycopg.connect(own.database(), autocommit=True) as db:
                chunks = load(db, limit)
                parts = sizes(db)
            parts.append(("all", sum(size for _, size in parts)))
            for name, size in parts:
                each = size / chunks
                lines.append(f"| {chunks:,} | {name} | {size / 1e6:.1f} | {each:,.0f} |")
    publish(
        arguments.results,
        "Bytes of the lexical index",
        "scale_tech_docs, as a first load and optimize_corpus leave it.",
        ["| chunks | part | MB | bytes a chunk |", "|---|---|---|---|", *lines],
        own.version,
    )


if __name__ == "__main__":
    main()
