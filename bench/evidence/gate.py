"""How well the gate tells questions about a collection from those about others.

Every document is one chunk; the floors are what the corpus measured when it was filled. Each
collection is asked its own questions and those of the others, drawn by seed, through retrieve,
build_evidence_pack and rag_enough_context_gate. A half of XQuAD is asked about the other half's
articles, in the same language: by default the German one, and others by name, such as xquad/tr.
Where the floor lies between the two medians (a quarter of the way) was tuned on the first two
collections; `share` says what is best on them now.

    python -m bench.evidence.gate [--seed N] [--questions N] [--static] [SET …]
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg

from bench.common import Connection, corpus_of, fill, parser, publish, records, server
from bench.hybrid.quality import documents, judgements
from ragdb.database import Database
from ragdb.server import static

SETS = ("cranfield", "rag_anthropic_docs", "beir_scifact", "squad_v1_dev", "xquad/de")
TUNED = SETS[:2]
CONFIGS = {"xquad/de": "german", "xquad/ru": "russian", "xquad/tr": "turkish",
           "xquad/ar": "arabic", "xquad/hi": "hindi"}  # fmt: skip
HALF = 120  # paragraphs of XQuAD, five to an article


def own_documents(name: str) -> Iterator[dict[str, Any]]:
    made = documents(name)
    return (d for n, d in enumerate(made) if n < HALF or not name.startswith("xquad"))


def questions(name: str, rng: random.Random, count: int) -> tuple[list[str], list[str]]:
    """Questions of a collection, and those of another that is like it, where there is one."""
    asked = list(records(name, "queries.jsonl"))
    if not name.startswith("xquad"):
        return [q["text"] for q in rng.sample(asked, min(count, len(asked)))], []
    first = {record["_id"] for n, record in enumerate(records(name)) if n < HALF}
    grades = judgements(name)
    own = [q["text"] for q in asked if first & grades[q["_id"]].keys()]
    other = [q["text"] for q in asked if not first & grades[q["_id"]].keys()]
    return rng.sample(own, count), rng.sample(other, count)


def weigh(db: Connection, corpus: str, mode: str | None, question: str) -> dict[str, Any]:
    with db.transaction():
        db.execute("select from ragdb.retrieve(%s, %s, 8, mode => %s)", (corpus, question, mode))
        row = db.execute(
            "select ragdb.rag_enough_context_gate(%s,"
            " ragdb.build_evidence_pack(ragdb.last_trace_id()))",
            (question,),
        ).fetchone()
    assert row is not None
    return dict(row[0])


def balanced(own: Any, other: Any) -> float:
    return float((np.mean(own) + 1 - np.mean(other)) / 2)


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--seed", type=int, default=1)
    flags.add_argument("--questions", type=int, default=100)
    flags.add_argument("--static", action="store_true", help="hybrid, by the static embedder")
    flags.add_argument("sets", nargs="*", default=SETS, help="those that are measured")
    given = flags.parse_args()
    rng = random.Random(given.seed)
    mode = None if given.static else "lexical"
    table, scores = [], {}
    asked = {
        name: questions(name, rng, given.questions) for name in dict.fromkeys((*SETS, *given.sets))
    }
    with server() as own_server, psycopg.connect(own_server.database(), autocommit=True) as db:
        if given.static:
            static.load(Database(db))
        for name in given.sets:
            corpus = corpus_of(name)
            fill(db, corpus, own_documents(name), text_config=CONFIGS.get(name, "english"))
            strangers = asked[name][1] or [
                q for other in SETS if other not in (name, "xquad/de") for q in asked[other][0]
            ]
            own = [weigh(db, corpus, mode, q) for q in asked[name][0]]
            other = [
                weigh(db, corpus, mode, q)
                for q in rng.sample(strangers, min(len(strangers), given.questions))
            ]
            a, b = (np.array([v["best_score"] or 0 for v in half]) for half in (own, other))
            medians = db.execute(
                "select g.floor, g.own_score, g.other_score from ragdb.corpora c"
                " join ragdb.gate_calibrations g using (corpus_id) where c.name = %s"
                " and g.mode = %s",
                (corpus, "hybrid" if given.static else "lexical"),
            ).fetchone()
            assert medians is not None
            floor, upper, lower = medians
            scores[name] = (a, b, upper, lower)
            auroc = np.mean(a[:, None] > b) + np.mean(a[:, None] == b) / 2
            cuts = np.linspace(0, 1, 201)
            best = max(cuts, key=lambda cut: balanced(a >= cut, b >= cut))
            cells = [
                name,
                f"{auroc:.3f}",
                f"{floor:.3f}",
                f"{balanced(a >= floor, b >= floor):.3f}",
                f"{balanced(a >= best, b >= best):.3f} at {best:.3f}",
                f"{balanced([v['enough'] for v in own], [v['enough'] for v in other]):.3f}",
                f"{100 * np.mean([not v['enough'] for v in own]):.0f} %",
                f"{100 * np.mean([v['enough'] for v in other]):.0f} %",
            ]
            table.append(f"| {' | '.join(cells)} |")
            print(table[-1], flush=True)

    def at(name: str, share: float) -> float:
        a, b, upper, lower = scores[name]
        cut = lower + share * (upper - lower)
        return balanced(a >= cut, b >= cut)

    shares = np.linspace(0, 1, 101)
    tuned = [name for name in given.sets if name in TUNED]
    best = max(shares, key=lambda share: np.mean([at(name, share) for name in tuned]))
    shown = ", ".join(f"{name} {at(name, best):.3f}" for name in given.sets if name not in TUNED)
    publish(
        given.results,
        "Gate, hybrid with static embeddings" if given.static else "Gate, by words",
        f"{given.questions} questions of a collection and as many of others (seed {given.seed}).",
        [
            "| set | AUROC of the best score | floor | balanced accuracy at the floor"
            " | at the best cut | of the gate | refuses of its own | passes of others |",
            "|---|---|---|---|---|---|---|---|",
            *table,
            "",
            f"Share of the way that is best on {' and '.join(tuned)}: {best:.2f}; with it {shown}.",
        ],
        own_server.version,
    )


if __name__ == "__main__":
    main()
