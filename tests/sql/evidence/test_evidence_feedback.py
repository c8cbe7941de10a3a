"""Feedback is recorded by who may read the retrieval, and becomes labels of evals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection, Server

TEXTS = {
    "vans.md": "Vans are parked behind the library.",
    "bikes.md": "Bikes are parked in front of the library.",
    "late.md": "Whoever parks too long is towed.",
}
CONTRACT = """corpus name=docs
retriever name=R corpus=docs mode=lexical topK=3
rag name=A retriever=R
  ragEval name=V mode=contract metric=mrr threshold=0
"""


def fill(db: Connection) -> None:
    db.execute("set role writer")
    db.execute("select ragdb.create_corpus('docs')")
    for name, text in TEXTS.items():
        db.execute("select * from ragdb.put_text('docs', %s, %s)", (name, text))


@pytest.fixture
def docs(any_version: Server, any_filled: str) -> Iterator[Connection]:
    """A reader there, rolled back after."""
    with any_version.rolled_back(any_filled) as db:
        db.execute("set role reader")
        yield db


def asked(db: Connection, query: str = "parked") -> tuple[Any, list[str]]:
    rows = db.execute(
        "select trace_id, chunk_id from ragdb.retrieve('docs', %s)", (query,)
    ).fetchall()
    return rows[0][0], [chunk for _, chunk in rows]


def says(db: Connection, verdict: str, trace: Any, **more: Any) -> Any:
    names = "".join(f", {name} => %({name})s" for name in more)
    ((made,),) = db.execute(
        f"select ragdb.record_feedback(%(verdict)s, %(trace)s{names})".encode(),
        {"verdict": verdict, "trace": trace, **more},
    ).fetchall()
    return made


def cases(db: Connection) -> list[dict[str, Any]]:
    made: list[dict[str, Any]]
    ((made,),) = db.execute("select ragdb.feedback_cases('docs')").fetchall()
    return made


def labels(db: Connection) -> dict[str, dict[str, int]]:
    return {
        case["query"]: {label["source"]: label["grade"] for label in case["labels"]}
        for case in cases(db)
    }


def test_a_verdict_is_kept_with_who_gave_it_and_shown_to_bi(docs: Connection) -> None:
    trace, (first, *_) = asked(docs)
    made = says(docs, "bad", trace, chunk_id=first, comment="Nobody parks there.", client="app")
    row = docs.execute("select * from ragdb.list_feedback()").fetchall()
    assert len(row) == 1
    assert row[0][0] == made
    assert row[0][2:] == (
        "docs", trace, None, first, "bad", "Nobody parks there.", "parked", "app", "reader"
    )  # fmt: skip
    facts = (
        "select feedback_id, trace_id, chunk_id, is_good, is_latest, comment from bi.fact_feedback"
    )
    shown = (str(made), str(trace), first, False, True)
    assert docs.execute(facts).fetchall() == [(*shown, "Nobody parks there.")]
    docs.execute("set role bi_reader")
    assert docs.execute(facts).fetchall() == [(*shown, None)]  # a comment may quote the question
    docs.execute("set role auditor")
    assert docs.execute(facts).fetchall() == [(*shown, "Nobody parks there.")]


def test_verdicts_are_listed_from_a_time_on(docs: Connection) -> None:
    trace, _ = asked(docs)
    for day, verdict in ((1, "good"), (3, "bad")):
        docs.execute("select set_config('ragdb.now', %s, true)", (f"2040-01-0{day} 00:00:00+00",))
        says(docs, verdict, trace)
    listed = "select verdict from ragdb.list_feedback('docs', %s)"
    assert docs.execute(listed, (None,)).fetchall() == [("bad",), ("good",)]
    assert docs.execute(listed, ("2040-01-02 00:00:00+00",)).fetchall() == [("bad",)]


def test_cases_come_in_pages(docs: Connection) -> None:
    for query in ("towed", "parked", "library"):
        trace, (first, *_) = asked(docs, query)
        says(docs, "good", trace, chunk_id=first)

    def page(arguments: str) -> list[str]:
        asked_for = f"select ragdb.feedback_cases('docs', {arguments})"
        ((made,),) = docs.execute(asked_for.encode()).fetchall()
        return [case["query"] for case in made]

    everything = [case["query"] for case in cases(docs)]
    assert everything == sorted(everything)
    assert len(everything) == 3
    assert page("count => 2") == everything[:2]
    assert page(f"after => '{everything[1]}', count => 2") == everything[2:]
    assert page(f"after => '{everything[0]}'") == everything[1:]
    assert page(f"after => '{everything[2]}'") == []


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("record_feedback('fine', %(trace)s)", "RG400"),
        ("record_feedback(null, %(trace)s)", "RG400"),
        ("record_feedback('good')", "RG400"),
        ("record_feedback('good', gen_random_uuid())", "RG407"),
        ("record_feedback('good', %(trace)s, gen_random_uuid())", "RG400"),
        ("record_feedback('good', %(trace)s, chunk_id => 'x')", "RG406"),
        ("record_feedback('good', %(trace)s, comment => repeat('x', 4001))", "RG413"),
        ("record_feedback('good', %(trace)s, client => repeat('x', 201))", "RG413"),
        ("list_feedback(count => 0)", "RG400"),
        ("list_feedback('absent')", "RG404"),
        ("feedback_cases('absent')", "RG404"),
        ("feedback_cases(null)", "RG400"),
        ("feedback_cases('docs', count => 0)", "RG400"),
        ("feedback_cases('docs', after => null)", "RG400"),
    ],
)
def test_what_cannot_be_meant_is_refused(docs: Connection, call: str, code: str) -> None:
    trace, _ = asked(docs)
    with pytest.raises(psycopg.DatabaseError) as caught:
        docs.execute(f"select ragdb.{call}".encode(), {"trace": trace})
    assert caught.value.sqlstate == code


def test_another_role_neither_judges_a_retrieval_nor_sees_what_was_said(docs: Connection) -> None:
    trace, _ = asked(docs)
    says(docs, "good", trace, comment="mine")
    docs.execute("set role reader2")
    assert docs.execute("select * from ragdb.list_feedback('docs')").fetchall() == []
    assert cases(docs) == []
    with docs.transaction(), pytest.raises(psycopg.DatabaseError) as caught, docs.transaction():
        says(docs, "bad", trace)
    assert caught.value.sqlstate == "RG407"
    docs.execute("set role bi_reader")
    with (
        docs.transaction(),
        pytest.raises(psycopg.errors.InsufficientPrivilege),
        docs.transaction(),
    ):
        says(docs, "bad", trace)


def test_verdicts_on_hits_become_labels(docs: Connection) -> None:
    trace, chunks = asked(docs)
    sources = dict(
        docs.execute(
            "select h.chunk_id, c.source from ragdb.trace_hits(%s) h"
            " cross join lateral ragdb.get_chunk('docs', h.chunk_id) c",
            (trace,),
        ).fetchall()
    )
    good, bad = chunks[:2]
    says(docs, "bad", trace, chunk_id=good)
    says(docs, "good", trace, chunk_id=good)  # the last word counts
    says(docs, "bad", trace, chunk_id=bad)
    other, _ = asked(docs, "towed")
    says(docs, "bad", other)  # of nothing in particular
    assert labels(docs) == {"parked": {sources[good]: 1, sources[bad]: 0}}
    ((name, tags, span),) = [(c["name"], c["tags"], c["labels"][0]) for c in cases(docs)]
    assert name.startswith("feedback ")
    assert tags == ["feedback"]
    assert (span["start"], span["end"]) == (0, len(TEXTS[sources[good]]))
    # another role of the other opinion cancels it, and with it the case
    docs.execute("set role auditor")
    says(docs, "bad", trace, chunk_id=good)
    assert cases(docs) == []


def test_a_chunk_with_another_text_by_now_is_no_label(docs: Connection) -> None:
    trace, (first, *_) = asked(docs)
    says(docs, "good", trace, chunk_id=first)
    assert len(cases(docs)) == 1
    docs.execute("set role writer")
    for name in TEXTS:
        docs.execute("select * from ragdb.put_text('docs', %s, 'Parked no more.')", (name,))
    docs.execute("set role reader")
    assert cases(docs) == []


@pytest.mark.parametrize("kept", ["hash", "none"])
def test_a_question_that_is_not_kept_makes_no_case(docs: Connection, kept: str) -> None:
    docs.execute("reset role")
    docs.execute("update ragdb.corpora set record_query_text = %s", (kept,))
    docs.execute("set role reader")
    trace, (first, *_) = asked(docs)
    says(docs, "good", trace, chunk_id=first)
    assert cases(docs) == []


def test_a_good_answer_labels_what_it_cites(docs: Connection) -> None:
    docs.execute("select from ragdb.retrieve('docs', 'parked')")
    ((pack,),) = docs.execute("select ragdb.build_evidence_pack(ragdb.last_trace_id())").fetchall()
    cited = next(c for c in pack["chunks"] if c["source_id"] == "vans.md")
    quote = {"chunk_id": cited["chunk_id"], "quote": "behind the library"}
    cites = [{"source_id": "vans.md", **quote}]
    output = {"answer": "Behind the library.", "citations": cites}
    ((answer, code),) = docs.execute(
        "select answer_id, code from ragdb.record_answer(%s, %s, elapsed_ms => 12.5,"
        " input_tokens => 100, output_tokens => 7)", (Jsonb(output), Jsonb(pack))
    ).fetchall()  # fmt: skip
    assert code is None
    says(docs, "good", None, answer_id=answer)
    assert labels(docs) == {"parked": {"vans.md": 1}}
    found = docs.execute(
        "select elapsed_ms, input_tokens, output_tokens from bi.fact_answer"
    ).fetchall()
    assert found == [(12.5, 100, 7)]
    stages = docs.execute("select stage, elapsed_ms from bi.fact_stage order by stage").fetchall()
    assert stages[0] == ("answer", 12.5)
    assert [stage for stage, _ in stages] == ["answer", "lexical", "retrieve"]


def test_each_good_answer_counts_for_what_it_cites(docs: Connection) -> None:
    """Two answers that two roles called good outweigh one bad verdict on the chunk."""
    trace, _ = asked(docs)
    ((pack,),) = docs.execute("select ragdb.build_evidence_pack(%s)", (trace,)).fetchall()
    cited = next(c for c in pack["chunks"] if c["source_id"] == "vans.md")
    quote = {"chunk_id": cited["chunk_id"], "quote": "behind the library"}
    output = {"answer": "Behind the library.", "citations": [{"source_id": "vans.md", **quote}]}
    ((answer,),) = docs.execute(
        "select answer_id from ragdb.record_answer(%s, %s)", (Jsonb(output), Jsonb(pack))
    ).fetchall()
    says(docs, "bad", trace, chunk_id=cited["chunk_id"])
    says(docs, "good", None, answer_id=answer)
    assert labels(docs) == {}  # one each way
    docs.execute("set role auditor")
    says(docs, "good", None, answer_id=answer)
    assert labels(docs) == {"parked": {"vans.md": 1}}


def test_an_eval_measures_by_what_people_said(docs: Connection) -> None:
    """Perfect where the first hit was called good; half as good where it was the second."""
    trace, chunks = asked(docs)
    found = {}
    for place in (0, 1):
        with docs.transaction(force_rollback=True):
            says(docs, "good", trace, chunk_id=chunks[place])
            made = cases(docs)
            docs.execute("reset role")
            docs.execute("select * from ragdb.apply_contract(%s, %s)", (CONTRACT, "c"))
            imported = docs.execute("select * from ragdb.import_eval('A', 'V', %s)", (Jsonb(made),))
            assert imported.fetchall() == [(1, 1, 0)]
            ((run,),) = docs.execute("select run_id from ragdb.run_eval('A')").fetchall()
            ((found[place],),) = docs.execute(
                "select value from ragdb.eval_metrics(%s) where case_no = 0 and metric = 'mrr'",
                (run,),
            ).fetchall()
            docs.execute("set role reader")
    assert found == {0: 1, 1: 0.5}


@pytest.mark.parametrize("more", ["elapsed_ms => -1", "input_tokens => -1", "output_tokens => -1"])
def test_what_an_answer_cannot_have_taken_is_refused(docs: Connection, more: str) -> None:
    asked(docs)
    with pytest.raises(psycopg.DatabaseError) as caught:
        docs.execute(
            "select from ragdb.record_answer('{\"insufficient_evidence\": true}',"
            f" ragdb.build_evidence_pack(ragdb.last_trace_id()), {more})".encode()
        )
    assert caught.value.sqlstate == "RG400"


def test_feedback_cannot_be_changed(docs: Connection) -> None:
    says(docs, "good", asked(docs)[0])
    docs.execute("reset role")
    for change in ("update ragdb.evidence_feedback set verdict = 'bad'",
                   "delete from ragdb.evidence_feedback"):  # fmt: skip
        with docs.transaction(), pytest.raises(psycopg.DatabaseError) as caught, docs.transaction():
            docs.execute(change.encode())
        assert caught.value.sqlstate == "RG414"
