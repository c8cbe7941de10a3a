"""What `ragdb embed` costs beside plain `model.encode` on the same texts, in one run, in turns.

Plain is one call of sentence-transformers on all texts, which sorts them by length. Ours claims,
encodes and stores them. Memory is the process's own after each.

    python -m bench.embed.run [--texts 400] [--rounds 2] [--results bench/results.md]
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import itertools
import json
import os
import platform
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from ragdb import embed, embedded, migrate
from ragdb.worker import Worker

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("RAGDB_SHARED", ROOT.parent / "shared"))
CHUNKING = {"chunker": "given", "strategy": "none", "max_tokens": 0, "overlap": 0, "unit": "token"}


def read_texts(count: int) -> list[str]:
    with gzip.open(SHARED / "data/scale_tech_docs/corpus.jsonl.gz", "rt") as lines:
        records = (json.loads(line) for line in lines)
        texts = dict.fromkeys(r["text"] for r in records if r["text"].strip())
        return list(itertools.islice(texts, count))


def put(db: psycopg.Connection[Any], corpus: str, texts: list[str]) -> None:
    documents = []
    for n, text in enumerate(texts):
        digest = hashlib.sha256(f"{corpus} {n}".encode()).hexdigest()
        chunk = {"text": text, "start": 0, "end": len(text), "tokens": len(text) // 4}
        documents.append(
            {
                "doc_cid": f"sha256:{digest}",
                "uri": f"{n}",
                "media_type": "text/plain",
                "size_bytes": len(text.encode()),
                "chunking": CHUNKING,
                "chunks": [chunk],
            }
        )
    db.execute("select ragdb.create_corpus(%s)", (corpus,))
    db.execute("select count(*) from ragdb.put_documents(%s, %s)", (corpus, json.dumps(documents)))


def resident() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    return 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    texts = read_texts(arguments.texts)
    base = Path("/var/lib/ragdb-test" if os.geteuid() == 0 else tempfile.gettempdir())
    base.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(dir=base, prefix="bench-"))
    home.chmod(0o711)
    plain, ours, memory = [], [], []
    try:
        uri = embedded.start(home / "pg18", 18)
        with psycopg.connect(uri, autocommit=True) as admin:
            migrate.create_roles(admin)
            admin.execute("create database bench template template0")
        dsn = psycopg.conninfo.make_conninfo(uri, dbname="bench")
        migrate.migrate(dsn)
        with psycopg.connect(dsn, autocommit=True) as db:
            name = embed.ensure_default(db)
            encoder = embed.load(embed.embedders(db)[name])
            assert isinstance(encoder, embed.LocalEncoder)
            encoder.encode(texts[:32])
            for n in range(arguments.rounds):
                began = time.perf_counter()
                encoder.model.encode(texts, batch_size=32, show_progress_bar=False)
                plain.append(time.perf_counter() - began)
                put(db, f"round-{n}", texts)
                db.execute("select ragdb.embed_corpus(%s, %s)", (f"round-{n}", name))
                began = time.perf_counter()
                done = Worker(dsn, corpus=f"round-{n}").run(until="empty")
                ours.append(time.perf_counter() - began)
                assert done.embedded == len(texts)
                memory.append(resident())
    finally:
        embedded.stop(home / "pg18", 18)
        shutil.rmtree(home)
    rates = [len(texts) / min(seconds) for seconds in (plain, ours)]
    line = (
        f"| {len(texts)} | {rates[0]:.1f} | {rates[1]:.1f} | {rates[1] / rates[0]:.3f} |"
        f" {' → '.join(f'{mb:.0f}' for mb in memory)} |"
    )
    print(line)
    if arguments.results:
        head = [
            f"\n## Embedding: `python -m bench.embed.run --texts {arguments.texts}`",
            f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()},"
            f" load {os.getloadavg()[2]:.1f}, {time.strftime('%Y-%m-%d')}; all-MiniLM-L6-v2 on"
            f" the CPU, best of {arguments.rounds} rounds.",
            "",
            "| texts | plain encode, texts/s | ragdb, texts/s | × plain | MB after each round |",
            "|---|---|---|---|---|",
            line,
            "",
        ]
        with arguments.results.open("a") as file:
            file.write("\n".join(head))


if __name__ == "__main__":
    main()
