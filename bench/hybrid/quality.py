"""nDCG@10 by words, by meaning and by both: static embeddings, then MiniLM in their place.

Every document is one chunk, put by put_documents, which embeds it with the packaged static model;
then `reembed_corpus`, the worker with the packaged all-MiniLM-L6-v2, and `cutover_corpus`. Queries
go through ragdb.search with its default weights. That of MiniLM was chosen on the queries of even
number; both halves are shown. `--vectors FOLDER` keeps the vectors between runs.

    python -m bench.hybrid.quality [--vectors FOLDER] [SET …]
"""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from bench.common import (
    DATA,
    Connection,
    corpus_of,
    document,
    fill,
    parser,
    publish,
    records,
    server,
)
from ragdb.client.calling import Reals
from ragdb.database import Database
from ragdb.errors import ModeNotAvailable
from ragdb.models import embedders, encoders
from ragdb.models.worker import Worker
from ragdb.server import static

SETS = {
    "beir_scifact": "english",
    "cranfield": "english",
    "rag_anthropic_docs": "english",
    "squad_v1_dev": "english",
    "xquad/en": "english",
    "xquad/de": "german",
    "xquad/ru": "russian",
    "xquad/zh": "simple",
}
PEER = {  # bm25s + MiniLM in memory, min-max score fusion
    "beir_scifact": 0.731,
    "cranfield": 0.407,
    "rag_anthropic_docs": 0.795,
    "squad_v1_dev": 0.930,
}


class Kept:
    """An encoder that keeps what it computed in a folder, one file a text."""

    def __init__(self, encoder: encoders.Encoder, folder: Path) -> None:
        self.encoder, self.folder, self.dims = encoder, folder, encoder.dims
        folder.mkdir(parents=True, exist_ok=True)

    def encode(self, texts: Sequence[str]) -> encoders.Matrix:
        files = [self.folder / f"{hashlib.sha256(t.encode()).hexdigest()}.npy" for t in texts]
        missing = [n for n, file in enumerate(files) if not file.exists()]
        if missing:
            vectors = self.encoder.encode([texts[n] for n in missing])
            for n, vector in zip(missing, vectors, strict=True):
                np.save(files[n], vector)
        return np.stack([np.load(file) for file in files])

    def cut(self, texts: Sequence[str]) -> int:
        return self.encoder.cut(texts)


def judgements(name: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    with (DATA / name / "qrels.tsv").open() as rows:
        for query, document, grade in list(csv.reader(rows, delimiter="\t"))[1:]:
            found.setdefault(query, {})[document] = float(grade)
    return found


def ndcg(ranked: Sequence[str], grades: Mapping[str, float]) -> float:
    gain = sum(grades.get(d, 0) / math.log2(n + 2) for n, d in enumerate(ranked[:10]))
    best = sorted(grades.values(), reverse=True)[:10]
    return gain / sum(grade / math.log2(n + 2) for n, grade in enumerate(best))


def documents(name: str) -> Iterator[dict[str, Any]]:
    """Those of a collection; one without a text is found by its title."""
    for record in records(name):
        text = record["text"] if record["text"].strip() else record.get("title", "")
        if text.strip():
            yield document(f"corpus.jsonl#{record['_id']}", text, title=record.get("title") or None)


def gains(
    db: Connection,
    corpus: str,
    asked: Sequence[Mapping[str, Any]],
    grades: Mapping[str, Mapping[str, float]],
    mode: str | None,
    vectors: encoders.Matrix | None = None,
) -> list[float]:
    """nDCG@10 of each query; 0 where a search by meaning knows no word of it."""
    found = []
    for n, query in enumerate(asked):
        try:
            rows = db.execute(
                "select substr(source, 14) from ragdb.search(%s, %s, 10, mode => %s,"
                " query_embedding => %s) order by rank",
                (corpus, query["text"], mode, None if vectors is None else Reals(vectors[n])),
            ).fetchall()
        except ModeNotAvailable:
            rows = []
        found.append(ndcg([row[0] for row in rows], grades[query["_id"]]))
    return found


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("sets", nargs="*", default=list(SETS))
    flags.add_argument("--queries", type=int, default=1000)
    flags.add_argument("--vectors", type=Path)
    given = flags.parse_args()
    table = []
    with server() as own:
        dsn = own.database()
        with psycopg.connect(dsn, autocommit=True) as db:
            static.load(Database(db))
            name = embedders.ensure_default(db)
            model = embedders.embedders(db)[name]
            encoder = embedders.load(model)
            if given.vectors:
                encoder = Kept(encoder, given.vectors)
                embedders._load = lambda *_: encoder  # type: ignore[assignment]
            for name in given.sets:
                corpus = corpus_of(name)
                fill(db, corpus, documents(name), text_config=SETS[name])
                grades = judgements(name)
                asked = [q for q in records(name, "queries.jsonl") if q["_id"] in grades]
                of = (db, corpus, asked[: given.queries], grades)
                measured = [gains(*of, "lexical"), gains(*of, "semantic"), gains(*of, None)]
                db.execute("select ragdb.reembed_corpus(%s, %s)", (corpus, model.name))
                Worker(dsn, corpus=corpus).run(until="empty")
                db.execute("select ragdb.cutover_corpus(%s, %s)", (corpus, model.name))
                vectors = encoder.encode([q["text"] for q in of[2]])
                measured += [gains(*of, "semantic", vectors), gains(*of, "hybrid", vectors)]
                both = measured[-1]
                cells = [name, str(len(of[2])), *(f"{np.mean(g):.4f}" for g in measured)]
                cells.append(f"{np.mean(both[::2]):.4f} / {np.mean(both[1::2]):.4f}")
                cells.append(f"{PEER[name]:.3f}" if name in PEER else "")
                table.append(f"| {' | '.join(cells)} |")
                print(table[-1], flush=True)
    publish(
        given.results,
        "Quality",
        "The packaged static embedder, then all-MiniLM-L6-v2; one chunk a document, nDCG@10,"
        " convex fusion with the default weights.",
        [
            "| set | queries | lexical | static | hybrid, static | MiniLM | hybrid, MiniLM"
            " | hybrid, MiniLM: even / odd queries | MiniLM in memory, min-max fusion |",
            "|---|---|---|---|---|---|---|---|---|",
            *table,
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
