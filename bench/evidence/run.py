"""How often the extractive answer is right, and how often a wrong one is noticed.

squad_v1_dev: 500 questions drawn by seed, asked as `ragdb ask` asks, once of all paragraphs and
once with the gold paragraph deleted. Counted: a citation contains a gold answer; the answer is
`insufficient_evidence`; the gate says not enough. rag_anthropic_docs: every question, and whether
every citation of every answer verifies. Documents are one chunk each; nothing is tuned to them.

    python -m bench.evidence.run [--questions 500] [--modes lexical hybrid]
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import psycopg

from bench.common import document, fill, parser, publish, records, server
from ragdb.database import Database
from ragdb.evidence.answers import Answer
from ragdb.evidence.database import CorpusRetriever
from ragdb.evidence.engine import Engine
from ragdb.evidence.tasks import RagPolicy
from ragdb.models import embedders
from ragdb.models.worker import Worker

SEED = 6
# one query, or what rag_query_plan makes of the question
PLANS: dict[str, Callable[[str], Any] | None] = {
    "question": lambda question: {"needs_retrieval": True, "queries": [question]},
    "plan": None,
}


def load(db: Database, name: str, corpus: str) -> None:
    """Put a collection, a document a chunk; its source is the id."""
    fill(
        db.connection,
        corpus,
        (
            document(record["_id"], record["text"], title=record.get("title") or None)
            for record in records(name)
        ),
    )


def ask(db: Database, corpus: str, mode: str, plan: str, question: str) -> Answer:
    """As `ragdb ask` does, by one query or by the plan's."""
    engine = Engine(
        db,
        retriever=CorpusRetriever(db, corpus, mode=mode),
        policy=RagPolicy("on", 8, True, None, True),
        planner=PLANS[plan],
        client="bench",
    )
    return engine.run(question)


def has(answer: Answer, golds: list[str], most: int) -> bool:
    """Whether one of the first citations contains a gold answer, case and white space aside."""
    quotes = [plain(c["quote"]) for c in answer.output.get("citations", [])[:most]]
    return any(plain(gold) in quote for gold in golds for quote in quotes)


def plain(text: str) -> str:
    return " ".join(text.casefold().split())


def squad(db: Database, mode: str, plan: str, asked: list[dict[str, Any]]) -> list[str]:
    """A row of the table: with and without the gold paragraph."""
    counts = {
        (what, side): 0 for what in ("first", "right", "none", "gate", "wrong") for side in (0, 1)
    }
    elapsed = []
    for query in asked:
        for without in (False, True):
            with db.connection.transaction(force_rollback=True):
                if without:
                    db.delete_source("squad", query["metadata"]["gold_paragraph"])
                started = time.perf_counter()
                answer = ask(db, "squad", mode, plan, query["text"])
                elapsed.append(time.perf_counter() - started)
            counts["first", without] += has(answer, query["metadata"]["answers"], 1)
            counts["right", without] += has(answer, query["metadata"]["answers"], 2)
            counts["none", without] += answer.output["insufficient_evidence"]
            counts["gate", without] += answer.gate is not None and not answer.gate["enough"]
            counts["wrong", without] += bool(answer.problems)
    share = {key: f"{100 * count / len(asked):.1f} %" for key, count in counts.items()}
    cells = [share[what, side] for what in ("first", "right", "none", "gate") for side in (0, 1)]
    wrong = counts["wrong", False] + counts["wrong", True]
    median = sorted(elapsed)[len(elapsed) // 2] * 1000
    return [mode, plan, *cells, str(wrong), f"{median:.0f}"]


def docs(db: Database, mode: str, plan: str) -> list[str]:
    """A row of the table: answers and their citations, each looked up in the chunk it names."""
    questions = list(records("rag_anthropic_docs", "queries.jsonl"))
    texts = {record["_id"]: record["text"] for record in records("rag_anthropic_docs")}
    answered = cited = verified = 0
    for query in questions:
        answer = ask(db, "docs", mode, plan, query["text"])
        answered += not answer.output["insufficient_evidence"]
        rows = db.check_citations(
            answer.output, answer.pack.as_json() if answer.pack else {"chunks": []}, min_coverage=1
        )
        for row, citation in zip(rows, answer.output["citations"], strict=True):
            cited += 1
            text = texts[citation["source_id"]]
            stands = text[citation["start"] : citation["end"]] == citation["quote"]
            verified += stands and (row.code, row.method) == (None, "exact")
    return [mode, plan, str(len(questions)), str(answered), str(cited), str(verified)]


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--questions", type=int, default=500)
    flags.add_argument("--modes", nargs="+", default=["lexical", "hybrid"])
    flags.add_argument("--plans", nargs="+", choices=PLANS, default=list(PLANS))
    given = flags.parse_args()
    every = list(records("squad_v1_dev", "queries.jsonl"))
    asked = random.Random(SEED).sample(every, given.questions)
    found, checked = [], []
    with server() as own:
        dsn = own.database()
        with psycopg.connect(dsn, autocommit=True) as connection:
            db = Database(connection)
            load(db, "squad_v1_dev", "squad")
            load(db, "rag_anthropic_docs", "docs")
            if set(given.modes) - {"lexical"}:
                model = embedders.ensure_default(connection)
                for corpus in ("squad", "docs"):
                    db.embed_corpus(corpus, model)
                    Worker(dsn, corpus=corpus).run(until="empty")
            for mode in given.modes:
                for plan in given.plans:
                    found.append(f"| {' | '.join(squad(db, mode, plan, asked))} |")
                    print(found[-1], flush=True)
                    checked.append(f"| {' | '.join(docs(db, mode, plan))} |")
                    print(checked[-1], flush=True)
    publish(
        given.results,
        "Evidence",
        f"{len(asked)} questions of squad_v1_dev (seed {SEED}), the 8 best chunks, answers of two"
        " sentences at most, all defaults.",
        [
            "| mode | queries | first citation has a gold answer: with / | without the paragraph"
            " | one of the two: with / | without"
            " | insufficient: with / | without | gate says no: with / | without"
            " | answers with a problem | median ms |",
            "|---|---|---|---|---|---|---|---|---|---|---|---|",
            *found,
            "",
            "rag_anthropic_docs:",
            "",
            "| mode | queries | questions | answered | citations | that verify, exactly |",
            "|---|---|---|---|---|---|",
            *checked,
        ],
        own.version,
    )


if __name__ == "__main__":
    main()
