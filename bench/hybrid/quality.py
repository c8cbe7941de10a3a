"""nDCG@10 of lexical, semantic and hybrid search on four collections, with one default weight.

Every document is one chunk, put by put_documents and embedded by the worker with the packaged
all-MiniLM-L6-v2; queries go through ragdb.search. The weight was chosen on the queries of even
number; both halves are shown. `--vectors FOLDER` keeps the vectors between runs.

    python -m bench.hybrid.quality [--vectors FOLDER] [--results bench/results.md] [SET …]
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from ragdb import embed, embedded, migrate
from ragdb.worker import Worker

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("RAGDB_SHARED", ROOT.parent / "shared"))
SETS = ("beir_scifact", "cranfield", "rag_anthropic_docs", "squad_v1_dev")
PEER = {  # bm25s + MiniLM in memory, min-max score fusion
    "beir_scifact": 0.731,
    "cranfield": 0.407,
    "rag_anthropic_docs": 0.795,
    "squad_v1_dev": 0.930,
}
CHUNKING = {"chunker": "given", "strategy": "none", "max_tokens": 0, "overlap": 0, "unit": "token"}
Connection = psycopg.Connection[Any]


class Kept:
    """An encoder that keeps what it computed in a folder, one file a text."""

    def __init__(self, encoder: embed.Encoder, folder: Path) -> None:
        self.encoder, self.folder, self.dims = encoder, folder, encoder.dims
        folder.mkdir(parents=True, exist_ok=True)

    def encode(self, texts: Sequence[str]) -> embed.Matrix:
        files = [self.folder / f"{hashlib.sha256(t.encode()).hexdigest()}.npy" for t in texts]
        missing = [n for n, file in enumerate(files) if not file.exists()]
        if missing:
            vectors = self.encoder.encode([texts[n] for n in missing])
            for n, vector in zip(missing, vectors, strict=True):
                np.save(files[n], vector)
        return np.stack([np.load(file) for file in files])

    def count_tokens(self, text: str) -> int:
        return self.encoder.count_tokens(text)


def lines(name: str, file: str) -> list[dict[str, Any]]:
    with (SHARED / "data" / name / file).open() as rows:
        return [json.loads(row) for row in rows]


def judgements(name: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    with (SHARED / "data" / name / "qrels.tsv").open() as rows:
        for query, document, grade in list(csv.reader(rows, delimiter="\t"))[1:]:
            found.setdefault(query, {})[document] = float(grade)
    return found


def ndcg(ranked: Sequence[str], grades: Mapping[str, float]) -> float:
    gain = sum(grades.get(d, 0) / math.log2(n + 2) for n, d in enumerate(ranked[:10]))
    best = sorted(grades.values(), reverse=True)[:10]
    return gain / sum(grade / math.log2(n + 2) for n, grade in enumerate(best))


def load(db: Connection, name: str, corpus: str) -> None:
    documents = []
    for record in lines(name, "corpus.jsonl"):
        text = record["text"] if record["text"].strip() else record.get("title", "")
        if not text.strip():
            continue
        digest = hashlib.sha256(json.dumps(record).encode()).hexdigest()
        chunk = {"text": text, "start": 0, "end": len(text), "tokens": len(text) // 4}
        documents.append(
            {
                "doc_cid": f"sha256:{digest}",
                "uri": f"corpus.jsonl#{record['_id']}",
                "external_id": record["_id"],
                "title": record.get("title") or None,
                "media_type": "application/jsonl",
                "size_bytes": len(text.encode()),
                "chunking": CHUNKING,
                "chunks": [chunk],
            }
        )
    db.execute("select ragdb.create_corpus(%s)", (corpus,))
    for at in range(0, len(documents), 500):
        db.execute(
            "select count(*) from ragdb.put_documents(%s, %s)",
            (corpus, json.dumps(documents[at : at + 500])),
        )
    db.execute("select ragdb.optimize_corpus(%s)", (corpus,))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    base = Path("/var/lib/ragdb-test" if os.geteuid() == 0 else tempfile.gettempdir())
    base.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(dir=base, prefix="bench-"))
    home.chmod(0o711)
    table = []
    try:
        uri = embedded.start(home / "pg18", 18)
        with psycopg.connect(uri, autocommit=True) as admin:
            migrate.create_roles(admin)
            admin.execute("create database bench template template0")
            version = admin.info.parameter_status("server_version")
        dsn = psycopg.conninfo.make_conninfo(uri, dbname="bench")
        migrate.migrate(dsn)
        with psycopg.connect(dsn, autocommit=True) as db:
            name = embed.ensure_default(db)
            model = embed.embedders(db)[name]
            encoder = embed.load(model)
            if arguments.vectors:
                encoder = Kept(encoder, arguments.vectors)
                embed._load = lambda *_: encoder  # type: ignore[assignment]
            for name in arguments.sets:
                corpus = name.replace("_", "-")
                load(db, name, corpus)
                db.execute("select ragdb.embed_corpus(%s, %s)", (corpus, model.name))
                Worker(dsn, corpus=corpus).run(until="empty")
                grades = judgements(name)
                asked = [q for q in lines(name, "queries.jsonl") if q["_id"] in grades]
                asked = asked[: arguments.queries]
                vectors = encoder.encode([q["text"] for q in asked])
                cells = [name, str(len(asked))]
                for mode in ("lexical", "semantic", "hybrid"):
                    gains = []
                    for query, vector in zip(asked, vectors, strict=True):
                        rows = db.execute(
                            "select substr(source, 14) from ragdb.search(%s, %s, 10, mode => %s,"
                            " query_embedding => %s) order by rank",
                            (corpus, query["text"], mode, embed.Reals(vector)),
                        ).fetchall()
                        gains.append(ndcg([row[0] for row in rows], grades[query["_id"]]))
                    cells.append(f"{np.mean(gains):.4f}")
                cells.append(f"{np.mean(gains[::2]):.4f} / {np.mean(gains[1::2]):.4f}")
                cells.append(f"{PEER[name]:.3f}")
                table.append(f"| {' | '.join(cells)} |")
                print(table[-1], flush=True)
    finally:
        embedded.stop(home / "pg18", 18)
        shutil.rmtree(home)
    if arguments.results:
        head = [
            "\n## Quality: `python -m bench.hybrid.quality`",
            f"PostgreSQL {version}, Python {platform.python_version()}, {platform.machine()},"
            f" {time.strftime('%Y-%m-%d')}; all-MiniLM-L6-v2, one chunk a document, nDCG@10, convex"
            " fusion with the default weight 0.5, chosen on the even half of the queries.",
            "",
            "| set | queries | lexical | semantic | hybrid | hybrid: even / odd queries"
            " | in memory, min-max fusion |",
            "|---|---|---|---|---|---|---|",
            *table,
            "",
        ]
        with arguments.results.open("a") as file:
            file.write("\n".join(head))


if __name__ == "__main__":
    main()
