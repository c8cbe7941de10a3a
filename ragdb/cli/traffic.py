"""Queries as people and programs make them, over the sample documents: `ragdb demo --traffic`.

Most find something. Some find nothing, some fail, some are made under a slice, and a few of those
fall short because the embeddings of a new conversation are not there yet. All of it goes through
the functions that a user calls, at the time at which it runs.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections import Counter
from importlib.resources import as_file, files
from typing import Any

from ragdb.database import Database
from ragdb.errors import RagdbError
from ragdb.evidence.database import recorded
from ragdb.models import asking, embedders
from ragdb.models.worker import Worker

EMBEDDER, DIMS = "demo-hash", 256
# what came of a query, as it is printed
FOUND, NOTHING = "search: found something", "search: found nothing"
REFUSED = "search: refused, as it asks on purpose what is wrong"
SLICE = "search of a slice"
SHORT = "search of a slice: fell short, as a part of the slice has no embedding yet"
ANSWER = "answer"
WRONG = "answer: found wrong, as it quotes on purpose what no chunk says"
PROMOTED = "statement: promoted, on evidence of a slice"
UNPROMOTED = "statement: refused, as its evidence is of no slice"
RUN = "evaluation run"
CLIENTS = ("web", "web", "web", "app", "app", "desk terminal", "nightly report")
ANSWERED = (
    "when is a deposit refunded",
    "how long can I keep a power tool",
    "what does a late power tool cost",
    "deposit for the trailer",
    "how many tools may I borrow at once",
    "can I renew a loan by phone",
    "is the library open on Saturday",
    "opening hours in August",
    "what happens when a blade is blunt",
    "who pays for damage from misuse",
    "reserve a tool for next month",
    "is membership free for children",
    "angle grinder guard cracked",
    "how far do sparks fly from an angle grinder",
    '"riving knife" guard',
    "cleaning tools before return",
    "refund by card takes how long",
    "return box hand tools only",
    "membership fee when moving away",
    "safety sheet goggles",
    "wheelchair entrance",
    "why are there no opening hours on Mondays",
    "lost tool after four weeks",
    "can somebody else return my tool",
)
UNANSWERED = (
    "kubernetes ingress",
    "xylophone lessons",
    "parkscheinautomat",
    "quarterly earnings",
    "pizza delivery",
    "bitcoin",
)
FOLLOW_UPS = (
    "is the deposit refunded when a guard is cracked",
    "do I pay for the late days",
    "was anybody hurt",
    "what was decided about the guard",
)
# what a caller gets wrong
MISTAKES: tuple[dict[str, Any], ...] = (
    {"k": 0},
    {"k": 5000},
    {"mode": "vector"},
    {"min_score": 1.5},
    {"filter": ["members"]},
)
LATE = (
    ("user", "Loan {number}: the chainsaw is due on Monday, and you are closed. Is that late?"),
    ("assistant", "No: nobody pays for days on which the library was closed."),
    ("user", "Then I bring it on Tuesday at four, with its guard and its oil."),
    ("assistant", "Please do. The deposit is refunded when it is complete."),
)


def run(db: Database, conninfo: str, corpus: str, queries: int, seed: int = 1) -> Counter[str]:
    """Ask a corpus that holds the samples so many queries; return what came of them.

    `conninfo` is for the worker that embeds the corpus. Raises psycopg.Error where a right lacks.
    """
    chance = random.Random(seed)
    came = Counter[str]()
    if embedders.current(db.connection, corpus) is None:
        db.create_embedder(EMBEDDER, DIMS)
        db.bind_embedder(EMBEDDER, "hash", "hash-v1")
        db.embed_corpus(corpus, EMBEDDER)
    Worker(conninfo, corpus=corpus).run(until="empty")
    for _ in range(queries):
        came[_ask(db, corpus, chance)] += 1
    came.update(_answer(db, corpus, max(4, queries // 20), chance))
    came.update(_promote(db, corpus))
    came.update(_fall_short(db, corpus, max(2, queries // 100)))
    came.update(_evaluate(db))
    db.refresh_rollups()
    return came


def _ask(db: Database, corpus: str, chance: random.Random) -> str:
    """One query of somebody."""
    how: dict[str, Any] = {
        "k": chance.choice((3, 5, 5, 10)),
        "client": chance.choice(CLIENTS),
        "min_score": chance.choice((0.0, 0.0, 0.1)),
    }
    if chance.random() < 0.3:
        how |= {
            "otel_trace_id": f"{chance.getrandbits(128):032x}",
            "otel_span_id": f"{chance.getrandbits(64):016x}",
        }
    lot = chance.random()
    if lot < 0.04:
        return _recorded(db, corpus, chance.choice(ANSWERED), {**how, **chance.choice(MISTAKES)})
    if lot < 0.12:
        return _recorded(db, corpus, chance.choice(UNANSWERED), how | {"mode": "lexical"})
    if lot < 0.27:
        query = chance.choice(FOLLOW_UPS)
        mode = chance.choice(("lexical", "hybrid"))
        db.retrieve_slice(
            corpus, query, anchor=_anchor(db, corpus), mode=mode,
            query_embedding=_embedding(db, corpus, query, mode), **how,
        )  # fmt: skip
        return SLICE
    query = chance.choice(ANSWERED)
    mode = chance.choice(("lexical", "lexical", "hybrid", "hybrid", "semantic", "reference"))
    if chance.random() < 0.15:
        how["filter"] = {"audience": "members"}
    how |= {"mode": mode, "query_embedding": _embedding(db, corpus, query, mode)}
    return _recorded(db, corpus, query, how)


def _anchor(db: Database, corpus: str) -> str:
    """The latest message of the conversation at the desk."""
    return str(db.resolve_anchor(corpus, session="desk-2026-03")[0].anchor)


def _embedding(db: Database, corpus: str, query: str, mode: str) -> list[float] | None:
    return asking.for_query(db.connection, [corpus], query, mode)


def _recorded(db: Database, corpus: str, query: str, how: dict[str, Any]) -> str:
    """A retrieval whose failure is recorded too, as every client should do it."""
    try:
        return FOUND if recorded(db, db.retrieve, corpus, query, **how) else NOTHING
    except RagdbError:
        return REFUSED


def _answer(db: Database, corpus: str, times: int, chance: random.Random) -> dict[str, int]:
    """Answers in the words of the evidence, on record; every fourth cites what no chunk says."""
    came = Counter[str]()
    for number in range(times):
        question = chance.choice(ANSWERED + UNANSWERED[:1])
        hits = db.retrieve(corpus, question, k=4, mode="lexical", client="desk terminal")
        pack = db.build_evidence_pack(hits.trace_id, max_context=500)
        db.record_gate(question, pack, client="desk terminal")
        began = time.perf_counter()
        answer = db.answer_from_evidence(question, pack)
        elapsed = 1000 * (time.perf_counter() - began)
        if number % 4 == 3 and answer["citations"]:
            answer["citations"][0]["quote"] = (
                "Whoever asks twice gets two tools for the price of one."
            )
        checks = db.record_answer(
            answer, pack, task="desk answer", client="desk terminal", elapsed_ms=elapsed
        )
        wrong = any(row.code is not None and not row.is_advisory for row in checks)
        if checks:
            db.record_feedback(
                "bad" if wrong else "good",
                answer_id=checks[0].answer_id,
                comment="That is not in the handbook." if wrong else None,
                client="desk terminal",
            )
        elif hits:
            db.record_feedback("bad", hits.trace_id, chunk_id=hits[0].chunk_id, client="web")
        came[WRONG if wrong else ANSWER] += 1
    return came


def _promote(db: Database, corpus: str) -> dict[str, int]:
    """A statement on evidence that is admissible, and one on what is not: that one is refused."""
    under_slice = db.retrieve_slice(
        corpus, FOLLOW_UPS[0], anchor=_anchor(db, corpus), mode="lexical", client="desk terminal"
    )
    anywhere = db.retrieve(corpus, ANSWERED[0], client="desk terminal")
    codes = [
        db.promote_to_atom(
            hits[0].trace_id, [hit.chunk_id for hit in hits],
            "A cracked guard is replaced for 12 euro, and the rest of the deposit is refunded.",
            "lenient",
        ).code
        for hits in (under_slice, anywhere)
    ]  # fmt: skip
    promoted = codes.count("PROMOTED")
    return {PROMOTED: promoted, UNPROMOTED: len(codes) - promoted}


def _fall_short(db: Database, corpus: str, times: int) -> Counter[str]:
    """Searches by meaning under a slice of a conversation that no worker has embedded yet.

    None falls short where a static model embeds each message as it comes.
    """
    number = time.time_ns() // 1000
    session = f"desk-{number}"
    messages = [
        {
            "id": f"{number}-{place}",
            "parent_id": f"{number}-{place - 1}" if place else None,
            "role": role,
            "text": text.format(number=number),
        }
        for place, (role, text) in enumerate(LATE)
    ]
    cid = "sha256:" + hashlib.sha256(json.dumps(messages).encode()).hexdigest()
    db.put_conversations(
        corpus,
        [{"doc_cid": cid, "uri": f"{session}.json", "session": session, "messages": messages}],
    )
    anchor = str(db.resolve_anchor(corpus, session=session)[0].anchor)
    came = Counter[str]()
    for _ in range(times):
        query = FOLLOW_UPS[1]
        hits = db.retrieve_slice(
            corpus, query, anchor=anchor, mode="hybrid", client="app",
            query_embedding=_embedding(db, corpus, query, "hybrid"),
        )  # fmt: skip
        is_short = db.get_trace(hits.trace_id).admissibility_shortfall
        came[SHORT if is_short else SLICE] += 1
    return came


def _evaluate(db: Database) -> dict[str, int]:
    """The contract of the samples, which names their corpus, applied and run twice."""
    from ragdb.contracts import contract_file

    with as_file(files("ragdb.examples") / "tool-library" / "desk.kern") as path:
        found = contract_file.read(db, path)
    for label in ("before the season", "after the season"):
        db.apply_contract(found)
        db.run_eval("Desk", label=label)
    return {RUN: 2}
