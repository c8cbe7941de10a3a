"""What a chunk's static embedding may lose: nDCG@10 of hybrid search by how its numbers are kept.

The embeddings are those that the database makes, in halves, rounded further here and fused with the
scores by words by the packaged weight. Queries stay as they are.

    python -m bench.hybrid.static_bytes [SET …]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg

from bench.common import Connection, corpus_of, fill, parser, publish, records, server
from bench.hybrid.quality import documents, judgements, ndcg
from bench.hybrid.static import SETS
from ragdb.database import Database
from ragdb.server import static

WEIGHT = 0.75


def bytewise(rows: Any) -> Any:
    """Whole numbers of 8 bits and a scale for each row."""
    most = np.abs(rows).max(axis=1, keepdims=True)
    return np.rint(rows / most * 127) / 127 * most


KEPT: dict[str, Callable[[Any], Any]] = {
    "half, 512 bytes, as it is stored": lambda rows: rows,
    "8 bits, 260 bytes": bytewise,
    "1 bit, 32 bytes": lambda rows: np.sign(rows) / 16,
}


def embedded(db: Connection, texts: list[str]) -> Any:
    found = db.execute(
        "select ragdb.embed(t) from unnest(%s::text[]) with ordinality u (t, n) order by n",
        (texts,),
    ).fetchall()
    return np.array([row[0] for row in found], np.float32)


def stored(db: Connection, corpus: str, ids: list[str]) -> Any:
    found = dict(
        db.execute(
            "select substr(s.uri, 14), e.half::real[] from ragdb.corpora o"
            " join ragdb.document_sources s using (corpus_id)"
            " join ragdb.chunks c using (corpus_id, doc_no)"
            " join ragdb.chunk_embeddings e using (corpus_id, chunk_no) where o.name = %s",
            (corpus,),
        ).fetchall()
    )
    return np.array([found[document] for document in ids], np.float32)


def main() -> None:
    flags = parser(__doc__)
    names = [name for name, (config, _) in SETS.items() if config == "english"]
    flags.add_argument("sets", nargs="*", default=names)
    given = flags.parse_args()
    table: dict[str, list[float]] = {kept: [] for kept in KEPT}
    with server() as own, psycopg.connect(own.database(), autocommit=True) as db:
        static.load(Database(db))
        for name in given.sets:
            rows = list(documents(name))
            ids = [row["uri"].split("#", 1)[1] for row in rows]
            place = {document: n for n, document in enumerate(ids)}
            fill(db, corpus := corpus_of(name), rows)
            grades = judgements(name)
            asked = [q for q in records(name, "queries.jsonl") if q["_id"] in grades]
            asked = asked[: SETS[name][1]]
            chunks, queries = stored(db, corpus, ids), embedded(db, [q["text"] for q in asked])
            words = np.zeros((len(asked), len(ids)))
            for n, query in enumerate(asked):
                for document, score in db.execute(
                    "select substr(source, 14), score from ragdb.search(%s, %s, 1000,"
                    " mode => 'lexical')",
                    (corpus, query["text"]),
                ):
                    words[n, place[document]] = score
            for kept, rounded in KEPT.items():
                near = np.maximum(queries @ rounded(chunks).T, 0)
                fused = np.round(WEIGHT * words + (1 - WEIGHT) * near, 6)
                best = np.argsort(-fused, kind="stable")[:, :10]
                table[kept].append(
                    float(
                        np.mean(
                            [
                                ndcg([ids[d] for d in row], grades[query["_id"]])
                                for row, query in zip(best, asked, strict=True)
                            ]
                        )
                    )
                )
            print(name, {kept: round(found[-1], 4) for kept, found in table.items()}, flush=True)
    publish(
        given.results,
        "Bytes of static embeddings",
        "The packaged static embedder, one chunk a document, nDCG@10 of hybrid search.",
        [
            f"| numbers of a chunk | {' | '.join(given.sets)} |",
            "|---" * (len(given.sets) + 1) + "|",
            *(f"| {k} | {' | '.join(f'{x:.4f}' for x in found)} |" for k, found in table.items()),
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
