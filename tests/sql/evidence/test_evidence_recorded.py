"""What was recorded of answers and gates is read by who may, and what had no answer is listed."""

from __future__ import annotations

import itertools
import re
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection
from tests.embedding import one, put

CONTRACT = """corpus name=docs
retriever name=R corpus=docs topK=5
rag name=A retriever=R
  ragEval name=V mode=contract metric=mrr threshold=0.1
  ragEval name=W mode=contract metric=mrr threshold=0.1
"""
ROLES = ("reader", "auditor", "writer")


def answer(db: Connection, quote: str, insufficient: bool = False) -> Any:
    """One question of the present role, its gate and an answer that says the quote."""
    db.execute("select from ragdb.retrieve('docs', 'refunds', 1)")
    pack = one(db, "select ragdb.build_evidence_pack(ragdb.last_trace_id())")
    (chunk,) = pack["chunks"]
    cited = {"source_id": chunk["source_id"], "chunk_id": chunk["chunk_id"], "quote": quote}
    output: dict[str, Any] = {"answer": "yes", "citations": [] if insufficient else [cited]}
    if insufficient:
        output["insufficient_evidence"] = True
    json = psycopg.types.json.Jsonb
    db.execute("select ragdb.record_gate('refunds', %s)", (json(pack),))
    db.execute("select * from ragdb.record_answer(%s, %s)", (json(output), json(pack)))
    return one(db, "select answer_id from ragdb.list_answers() limit 1")


@pytest.fixture
def docs(any_db: Connection) -> Connection:
    any_db.execute("select ragdb.create_corpus('docs')")
    put(any_db, {"a.md": "the ä refunds take fourteen days, and no more"})
    return any_db


def test_answers_are_listed_newest_first_and_their_question_to_who_asked(docs: Connection) -> None:
    docs.execute("set role writer")
    first, second = answer(docs, "refunds take fourteen"), answer(docs, "nobody has said so much")
    for role, shown in zip(ROLES, (None, "refunds", "refunds"), strict=True):
        docs.execute(f"set role {role}")
        rows = docs.execute(
            "select answer_id, is_verified, query from ragdb.list_answers('docs')"
        ).fetchall()
        assert rows == [(second, False, shown), (first, True, shown)]
        gates = docs.execute("select is_enough, query from ragdb.list_gates()").fetchall()
        assert gates == [(True, shown)] * 2
        assert one(docs, "select (ragdb.get_answer(%s)).query", first) == shown


def test_a_citation_has_the_words_it_stands_on(docs: Connection) -> None:
    id = answer(docs, "refunds take fourteen")
    text, start, end = docs.execute(
        "select text, start_offset, end_offset from ragdb.list_citations(%s)", (id,)
    ).fetchone() or ("", 0, 0)
    assert text[start:end] == "refunds take fourteen"
    put(docs, {"a.md": "something else"})
    assert one(docs, "select text from ragdb.list_citations(%s)", id) is None


def test_what_an_answer_cites_is_shown_to_whom_its_question_is(docs: Connection) -> None:
    docs.execute("set role writer")
    id = answer(docs, "refunds take fourteen")
    cited = "select code, text is not null, start_offset from ragdb.list_citations(%s)"
    for role, shown in zip(ROLES, (False, True, True), strict=True):
        docs.execute(f"set role {role}")
        assert docs.execute(cited, (id,)).fetchall() == [(None, shown, 6 if shown else None)]


def test_every_code_that_a_check_returns_has_a_meaning(docs: Connection) -> None:
    wrong = one(
        docs, "select array_agg(code) from ragdb.list_citations(%s)", answer(docs, "x" * 40)
    )
    known = [row[0] for row in docs.execute("select code from ragdb.citation_codes()")]
    assert set(wrong) == {"QUOTE_NOT_FOUND"} <= set(known)
    body = one(
        docs,
        "select string_agg(prosrc || pg_get_functiondef(oid), ' ') from pg_proc"
        " where pronamespace = 'ragdb_internal'::regnamespace and prokind = 'f'",
    )
    used = set(
        re.findall(
            r"'((?:CITE|QUOTE|MARKER|OFFSETS|OVER|COVERAGE)_[A-Z_]+|SPAN_INVALID|NUMBER_UNSUPPORTED)'",
            body,
        )
    )
    assert len(used) > 8
    assert used <= set(known)


def test_a_corpus_of_others_has_no_answer(docs: Connection) -> None:
    id = answer(docs, "refunds take fourteen")
    docs.execute("select ragdb.restrict_corpus('docs')")
    docs.execute("set role reader")
    assert docs.execute("select * from ragdb.list_answers()").fetchall() == []
    assert docs.execute("select * from ragdb.list_gates()").fetchall() == []
    for name in ("get_answer", "list_citations"):
        with pytest.raises(psycopg.Error) as raised, docs.transaction():
            docs.execute(f"select ragdb.{name}(%s)", (id,))
        assert raised.value.sqlstate == "RG407"


def test_what_had_no_answer_is_listed_once_with_its_reasons(docs: Connection) -> None:
    docs.execute("select ragdb.apply_contract(%s, 'c')", (CONTRACT,))
    case = one(docs, "select ragdb.add_eval_case('A', 'W', 'xylophone')")
    docs.execute("set role writer")
    answer(docs, "refunds take fourteen")
    answer(docs, "", insufficient=True)
    answer(docs, "nobody has said so much")
    for _ in range(2):
        docs.execute("select from ragdb.retrieve('docs', 'xylophone')")
    docs.execute(
        "select ragdb.record_gate('xylophone', ragdb.build_evidence_pack(ragdb.last_trace_id()))"
    )
    rows = docs.execute(
        "select query, reasons, times, eval_cases from ragdb.list_unanswered('docs')"
    ).fetchall()
    assert sorted(rows) == [
        ("refunds", ["no answer", "wrong citation"], 2, []),
        ("xylophone", ["no hit", "too little evidence"], 2, [f"A/W: {case}"]),
    ]
    docs.execute("set role reader")
    assert docs.execute("select * from ragdb.list_unanswered()").fetchall() == []


def test_questions_of_one_moment_are_listed_by_their_greatest_traces(
    docs: Connection,
) -> None:
    docs.execute("select set_config('ragdb.now', now()::text, true)")
    names = [f"c{n:02}" for n in range(12)]
    asked: dict[str, list[Any]] = {}
    for name in reversed(names):
        docs.execute("select ragdb.create_corpus(%s)", (name,))
        put(docs, {"a.md": "refunds"}, name)
        for _ in range(2):
            docs.execute("select from ragdb.retrieve(%s, 'refunds')", (name,))
            asked.setdefault(name, []).append(one(docs, "select ragdb.last_trace_id()"))
        for trace in reversed(asked[name]):
            docs.execute(
                "select ragdb.record_gate('refunds', ragdb.build_evidence_pack(%s), 9)", (trace,)
            )
    rows = docs.execute(
        "select corpus, times, trace_id from ragdb.list_unanswered(count => 5)"
    ).fetchall()
    latest = {max(traces): name for name, traces in asked.items()}
    assert rows == [(latest[id], 2, id) for id in sorted(latest, reverse=True)[:5]]


def test_unanswered_questions_come_in_pages(docs: Connection) -> None:
    docs.execute("select ragdb.create_corpus('more')")
    listed = "select trace_id, query from ragdb.list_unanswered(%s, null, %s, %s)"
    for name, question in itertools.product(("docs", "more"), ("xylophone", "marimba", "vibes")):
        docs.execute("select from ragdb.retrieve(%s, %s)", (name, question))
    for corpus, many in ((None, 6), ("docs", 3)):
        whole = docs.execute(listed, (corpus, 10000, None)).fetchall()
        assert len(whole) == many
        paged: list[Any] = []
        before = None
        while page := docs.execute(listed, (corpus, 2, before)).fetchall():
            assert len(page) <= 2
            paged += page
            before = page[-1][0]
        assert paged == whole == sorted(whole, reverse=True)
    # asked again, a question is among the first, and those that follow a page are the same
    docs.execute("select from ragdb.retrieve('docs', 'xylophone')")
    assert docs.execute(listed, ("docs", 1, None)).fetchall()[0][1] == "xylophone"
    assert docs.execute(listed, ("docs", 9, whole[0][0])).fetchall() == whole[1:2]


@pytest.mark.parametrize(
    ("name", "id"),
    [("list_answers", "answer_id"), ("list_gates", "gate_id"), ("list_feedback", "feedback_id")],
)
def test_the_latest_come_in_pages(docs: Connection, name: str, id: str) -> None:
    docs.execute("select ragdb.create_corpus('more')")
    put(docs, {"a.md": "refunds"}, "more")
    for moment in ("2026-03-01 10:00", "2026-03-31 23:59:59.999", "2026-04-01"):
        # several of one moment, whose ids alone differ
        docs.execute("select set_config('ragdb.now', %s, true)", (f"{moment}+00",))
        for _ in range(2):
            made = answer(docs, "refunds take fourteen")
            docs.execute("select ragdb.record_feedback('good', answer_id => %s)", (made,))
            docs.execute("select from ragdb.retrieve('more', 'refunds')")
            docs.execute("select ragdb.record_feedback('bad', ragdb.last_trace_id())")
            docs.execute(
                "select ragdb.record_gate('refunds',"
                " ragdb.build_evidence_pack(ragdb.last_trace_id()))"
            )
    listed = f"select {id} from ragdb.{name}(%s, %s, %s, %s)"
    for corpus, since in ((None, None), ("docs", None), (None, "2026-03-31")):
        whole = [row for (row,) in docs.execute(listed, (corpus, since, 10000, None))]
        paged: list[Any] = []
        while page := docs.execute(listed, (corpus, since, 2, (paged or [None])[-1])).fetchall():
            assert len(page) <= 2
            paged += [row for (row,) in page]
        assert paged == whole == sorted(set(whole), reverse=True)
        assert len(whole) >= 4


@pytest.mark.parametrize("name", ["list_answers", "list_gates", "list_unanswered"])
@pytest.mark.parametrize("count", [0, 10001, None])
def test_a_count_out_of_range_is_refused(docs: Connection, name: str, count: int | None) -> None:
    with pytest.raises(psycopg.Error) as raised:
        docs.execute(f"select ragdb.{name}(count => %s)", (count,))
    assert raised.value.sqlstate == "RG400"
