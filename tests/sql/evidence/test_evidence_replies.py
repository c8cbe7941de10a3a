"""A question asked in a conversation is answered by its reply, which may have no word of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ragdb.database import Database
from tests.conftest import Connection
from tests.sql.signed_slices import export, messages, sign

SAID = [
    ("1", None, "user", "How do I descale the espresso machine?"),
    ("2", "1", "assistant", "Run the cycle twice with a sachet. Then rinse the tank."),
    ("3", "2", "user", "And how often?"),
    ("4", "3", "assistant", "Every two months."),
]
QUESTION = "How do I descale the espresso machine?"
REPLY = "Run the cycle twice with a sachet."


def put(base: Database, corpus: str = "chat") -> None:
    messages = [
        {"id": n, "parent_id": parent, "role": role, "text": text} for n, parent, role, text in SAID
    ]
    base.put_conversations(
        corpus,
        [{"doc_cid": "sha256:" + "0" * 64, "uri": "a", "session": "a", "messages": messages}],
    )


def found(hit: Any) -> dict[str, Any]:
    chunk = {"chunk_id": hit.chunk_id, "source_id": hit.source, "text": hit.text}
    return chunk | {"corpus": hit.corpus, "mode": hit.mode}


@pytest.fixture
def base(db: Connection) -> Database:
    made = Database(db)
    made.create_corpus("chat")
    put(made)
    made.put_texts(
        "chat",
        [f"The espresso machine number {n} is red and not blue." for n in range(12)],
        ids=[f"{n}.md" for n in range(12)],
    )
    return made


def by_sql(base: Database, question: str = QUESTION, **how: Any) -> tuple[Any, ...]:
    given = "".join(f", {name} => %({name})s" for name in how)
    row = base.connection.execute(
        f"select answer, citations, status, problems from ragdb.ask('chat', %(q)s{given})",
        {"q": question, **how},
    ).fetchone()
    assert row is not None
    return tuple(row)


def by_program(base: Database) -> tuple[Any, ...]:
    answer = base.ask("chat", QUESTION)
    return answer.text, answer.citations, answer.status, list(answer.problems)


@pytest.mark.parametrize(
    "asked",
    [by_sql, lambda base: by_sql(base, record=False), by_program],
    ids=["sql", "unrecorded", "program"],
)
def test_ask_quotes_the_reply_to_a_question_that_was_found(
    base: Database, asked: Callable[[Database], tuple[Any, ...]]
) -> None:
    text, (citation,), status, problems = asked(base)
    assert (text, status, problems) == (REPLY, "answered", [])
    assert (citation["source_id"], citation["quote"], citation["page"]) == ("a", REPLY, None)
    assert SAID[1][3][citation["start"] : citation["end"]] == REPLY


def test_a_reply_is_quoted_where_the_search_does_not_find_it(base: Database) -> None:
    hits = base.search("chat", QUESTION, 1)
    assert [hit.text for hit in hits] == [QUESTION]
    assert by_sql(base, k=1)[0] == REPLY


def test_a_reply_that_was_found_itself_is_evidence_once(base: Database) -> None:
    question = "How do I descale the espresso machine with a sachet?"
    assert {q for _, _, _, q in SAID[:2]} <= {h.text for h in base.search("chat", question, 8)}
    pack = base.ask("chat", question).pack
    assert pack is not None
    ids = [one.chunk.chunk_id for one in pack.chunks]
    assert len(ids) == len(set(ids))
    assert by_sql(base, question)[0] == REPLY


def test_what_is_said_below_another_question_is_no_reply_to_this_one(base: Database) -> None:
    base.connection.execute("select ragdb.delete_source('chat', 'a')")
    base.put_text("chat", "faq.md", "How do I descale the espresso machine?")
    assert by_sql(base)[0] != REPLY


def test_replies_come_from_no_corpus_that_the_caller_may_not_read(base: Database) -> None:
    base.connection.execute("create role replies_reader in role ragdb_reader")
    base.restrict_corpus("chat")
    (hit,) = base.search("chat", QUESTION, 1)
    chunk = found(hit)

    def packed() -> list[str]:
        run = base.ask_plan(QUESTION, {"mode": "on", "gate": None}, True, None)
        run = base.ask_weigh(run, [{"chunks": [chunk]}], [])
        return [one["text"] for one in run["pack"]["chunks"]]

    assert packed() == [QUESTION, SAID[1][3]]
    base.connection.execute("set local role replies_reader")
    assert packed() == [QUESTION]


def test_replies_that_a_chunk_brings_along_are_a_read_of_their_corpus(base: Database) -> None:
    (asked,) = base.search("chat", QUESTION, 1)
    (told,) = base.search("chat", "number 7", 1)
    db = base.connection
    db.execute("select ragdb.record_reads('chat', 'on')")

    def reads_of(*hits: Any, **more: Any) -> list[Any]:
        run = base.ask_plan(QUESTION, {"mode": "on", "gate": None}, True, None)
        base.ask_weigh(run, [{"chunks": [found(hit) | more for hit in hits]}], [])
        return db.execute(
            "select corpus, what from ragdb.list_access_events() where kind = 'read'"
        ).fetchall()

    # as the caller gave it, nothing of the corpus is shown
    made_up = {"answers": {"text": "none", "score": 0.5}}
    assert reads_of(told) == reads_of(told, **made_up) == []
    assert reads_of(told, asked) == [("chat", "ask_weigh")]


def test_evidence_that_a_caller_gives_brings_no_replies_along(base: Database) -> None:
    (hit,) = base.search("chat", QUESTION, 1)
    run = base.ask_plan(QUESTION, {"mode": "on", "gate": None}, True, None)
    run = base.ask_weigh(run, [], [found(hit)])
    assert [one["text"] for one in run["pack"]["chunks"]] == [QUESTION]


def test_what_was_found_in_a_slice_brings_no_replies_along(db: Connection) -> None:
    made = export(sign(db))
    base = Database(db)

    def packed(hit: Any) -> list[str]:
        traced = {key: value for key, value in found(hit).items() if key != "mode"}
        traced |= {"trace_id": str(hit.trace_id)}
        run = base.ask_plan(hit.text, {"mode": "on", "gate": None}, True, None)
        run = base.ask_weigh(run, [{"chunks": [traced], "trace_id": traced["trace_id"]}], [])
        return [one["text"] for one in run["pack"]["chunks"]]

    question = messages()[0]["text"]
    (hit,) = base.retrieve("chat", question, 1)
    assert len(packed(hit)) == 3
    (member,) = base.retrieve_slice("chat", question, made["slice_id"], k=1)
    assert packed(member) == [question]
