"""Cost of `ragdb embed` compared with plain `model.encode` on the same texts, taken in turns.

Plain is one call of sentence-transformers on all texts, which sorts them by length. Ours claims,
encodes and stores them. Memory is the process's own after each.

    python -m bench.embed.run [--texts 400] [--rounds 2]
"""

from __future__ import annotations

import itertools
import os
import time

import psycopg

from bench.common import document, fill, parser, publish, resident, server, texts
from ragdb.models import embedders, local
from ragdb.models.worker import Worker


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--texts", type=int, default=400)
    flags.add_argument("--rounds", type=int, default=2)
    given = flags.parse_args()
    some = dict.fromkeys(record["text"] for record in texts("scale_tech_docs"))
    inputs = list(itertools.islice(some, given.texts))
    plain, ours, memory = [], [], []
    with server() as own:
        dsn = own.database()
        with psycopg.connect(dsn, autocommit=True) as db:
            name = embedders.ensure_default(db)
            encoder = embedders.load(embedders.embedders(db)[name])
            assert isinstance(encoder, local.LocalEncoder)
            encoder.encode(inputs[:32])
            for n in range(given.rounds):
                began = time.perf_counter()
                encoder.model.encode(inputs, batch_size=32, show_progress_bar=False)
                plain.append(time.perf_counter() - began)
                corpus = f"round-{n}"
                fill(db, corpus, (document(f"{corpus}/{n}", t) for n, t in enumerate(inputs)))
                db.execute("select ragdb.embed_corpus(%s, %s)", (corpus, name))
                began = time.perf_counter()
                done = Worker(dsn, corpus=corpus).run(until="empty")
                ours.append(time.perf_counter() - began)
                assert done.embedded == len(inputs)
                memory.append(resident(os.getpid()))
    rates = [len(inputs) / min(seconds) for seconds in (plain, ours)]
    publish(
        given.results,
        "Embedding",
        f"all-MiniLM-L6-v2 on the CPU, best of {given.rounds} rounds.",
        [
            "| texts | plain encode, texts/s | ragdb, texts/s | × plain | MB after each round |",
            "|---|---|---|---|---|",
            f"| {len(inputs)} | {rates[0]:.1f} | {rates[1]:.1f} | {rates[1] / rates[0]:.3f} |"
            f" {' → '.join(f'{mb:.0f}' for mb in memory)} |",
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
