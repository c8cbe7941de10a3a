"""nDCG@10 of lexical, semantic and hybrid search on four collections, with one default weight.

Every document is one chunk, put by put_documents and embedded by the worker with the packaged
all-MiniLM-L6-v2; queries go through ragdb.search. The weight was chosen on the queries of even
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

from bench.common import DATA, document, fill, parser, publish, records, server
from ragdb.client.calling import Reals
from ragdb.models import embedders, encoders
from ragdb.models.worker import Worker

SETS = ("beir_scifact", "cranfield", "rag_anthropic_docs", "squad_v1_dev")
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

    def count_tokens(self, text: str) -> int:
        return self.encoder.count_tokens(text)


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


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("sets", nargs="*", default=SETS)
    flags.add_argument("--queries", type=int, default=1000)
    flags.add_argument("--vectors", type=Path)
    given = flags.parse_args()
    table = []
    with server() as own:
        dsn = own.database()
        with psycopg.connect(dsn, autocommit=True) as db:
            name = embedders.ensure_default(db)
            model = embedders.embedders(db)[name]
            encoder = embedders.load(model)
            if given.vectors:
                encoder = Kept(encoder, given.vectors)
                embedders._load = lambda *_: encoder  # type: ignore[assignment]
            for name in given.sets:
                corpus = name.replace("_", "-")
                fill(db, corpus, documents(name))
                db.execute("select ragdb.embed_corpus(%s, %s)", (corpus, model.name))
                Worker(dsn, corpus=corpus).run(until="empty")
                grades = judgements(name)
                asked = [q for q in records(name, "queries.jsonl") if q["_id"] in grades]
                asked = asked[: given.queries]
                vectors = encoder.encode([q["text"] for q in asked])
                cells = [name, str(len(asked))]
                for mode in ("lexical", "semantic", "hybrid"):
                    gains = []
                    for query, vector in zip(asked, vectors, strict=True):
                        rows = db.execute(
                            "select substr(source, 14) from ragdb.search(%s, %s, 10, mode => %s,"
                            " query_embedding => %s) order by rank",
                            (corpus, query["text"], mode, Reals(vector)),
                        ).fetchall()
                        gains.append(ndcg([row[0] for row in rows], grades[query["_id"]]))
                    cells.append(f"{np.mean(gains):.4f}")
                cells.append(f"{np.mean(gains[::2]):.4f} / {np.mean(gains[1::2]):.4f}")
                cells.append(f"{PEER[name]:.3f}")
                table.append(f"| {' | '.join(cells)} |")
                print(table[-1], flush=True)
    publish(
        given.results,
        "Quality",
        "all-MiniLM-L6-v2, one chunk a document, nDCG@10, convex fusion with the default weight"
        " 0.5, chosen on the even half of the queries.",
        [
            "| set | queries | lexical | semantic | hybrid | hybrid: even / odd queries"
            " | in memory, min-max fusion |",
            "|---|---|---|---|---|---|---|",
            *table,
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
