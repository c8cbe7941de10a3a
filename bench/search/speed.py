"""What options of a search, and counts, cost beside a plain search: all of a question in turn.

One corpus of scale_tech_docs, a chunk a document, so that `source` has as many values as there are
chunks; `project` is one of six. Best of three, systems in turn.

    python -m bench.search.speed [--chunks N] [--questions N] [--results FILE]
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg

from bench.common import document, fill, parser, publish, records, server, texts
from bench.search.quality import swapped

CORPUS = "docs"
SEARCH = "select chunk_id, score from ragdb.search('docs', %(q)s{})"
FACETS = "select * from ragdb.facets('docs', {}, array['{}'])"


def documents(count: int) -> Iterator[dict[str, Any]]:
    for record in itertools.islice(texts("scale_tech_docs"), count):
        project = record["_id"].split("/")[0]
        yield document(
            record["_id"], record["text"], title=record["title"], metadata={"project": project}
        )


def systems() -> dict[str, tuple[str, bool]]:
    """Statements by name, and whether they are asked with two letters of a word swapped."""
    return {
        "plain search": (SEARCH.format(""), False),
        "typos off": (SEARCH.format(", typos => false"), False),
        "a typo, typos off": (SEARCH.format(", typos => false"), True),
        "a typo": (SEARCH.format(""), True),
        "did_you_mean of a typo": ("select * from ragdb.did_you_mean('docs', %(q)s)", True),
        "per_document 1": (SEARCH.format(", per_document => 1"), False),
        "collapse": (SEARCH.format(", collapse => true"), False),
        "diversity 0.3": (SEARCH.format(", diversity => 0.3"), False),
        "context 1": (SEARCH.format(", context => 1"), False),
        "count_matches": ("select * from ragdb.count_matches('docs', %(q)s)", False),
        "facets, six values": (FACETS.format("%(q)s", "project"), False),
        "facets, a value a chunk": (FACETS.format("%(q)s", "source"), False),
    }


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--chunks", type=int, default=200_000)
    flags.add_argument("--questions", type=int, default=60)
    given = flags.parse_args()
    rng = random.Random(1)
    asked = [q["text"] for q in records("scale_tech_docs", "queries.jsonl")]
    asked = rng.sample(asked, given.questions)
    with server() as own, psycopg.connect(own.database(), autocommit=True) as db:
        fill(db, CORPUS, documents(given.chunks))
        db.execute("vacuum analyze")
        found = systems()
        times: dict[str, list[float]] = {name: [] for name in found}
        for question in asked:
            typed = swapped(question, rng)
            best = dict.fromkeys(found, float("inf"))
            for _ in range(3):
                for name, (statement, typo) in found.items():
                    begun = time.perf_counter()
                    db.execute(statement, {"q": typed if typo else question}, prepare=True)
                    best[name] = min(best[name], (time.perf_counter() - begun) * 1e3)
            for name, took in best.items():
                times[name].append(took)
        for name, statement in {
            "facets of everything, six values": FACETS.format("null", "project"),
            "facets of everything, a value a chunk": FACETS.format("null", "source"),
        }.items():
            times[name] = []
            for _ in range(5):
                begun = time.perf_counter()
                db.execute(statement)
                times[name].append((time.perf_counter() - begun) * 1e3)
    publish(
        given.results,
        "What options cost",
        f"{given.chunks:,} chunks, {given.questions} headings as questions, best of three.",
        [
            "| what | median ms | p95 | × plain search |",
            "|---|---|---|---|",
            *(
                f"| {name} | {np.median(took):.1f} | {np.quantile(took, 0.95):.1f}"
                f" | {np.median(took) / np.median(times['plain search']):.1f} |"
                for name, took in times.items()
            ),
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
