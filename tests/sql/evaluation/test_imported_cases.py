"""Cases that a user gives an eval: what is taken, kept, listed and exported."""

from __future__ import annotations

from typing import Any

import ir_measures
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection
from tests.embedding import one, put
from tests.refusal import refused
from tests.sql.evaluation.test_evaluation_runs import (
    TEXTS,
    apply,
    contract,
    importing,
    metrics,
    run,
)

SPAN = {"source": "s", "start": 1, "end": 2}
IMPORT = "select ragdb.import_eval('A', null, %s)"


@pytest.fixture
def docs(any_db: Connection) -> Connection:
    apply(any_db, contract(""))
    put(any_db, TEXTS)
    return any_db


def listed(db: Connection) -> list[dict[str, Any]]:
    """The cases as they are listed, in the form that they are imported in."""
    rows = db.execute(
        "select name, query, tags, asserts, labels from ragdb.list_eval_cases('A')"
    ).fetchall()
    names = ("name", "query", "tags", "asserts", "labels")
    return [dict(zip(names, row, strict=True)) for row in rows]


def exported(db: Connection, run_id: Any, what: str) -> list[str]:
    lines = db.execute("select ragdb.export_trec(%s, %s)", (run_id, what)).fetchall()
    return [line for (line,) in lines]


def test_what_a_case_asserts_is_imported_listed_and_run(docs: Connection) -> None:
    one(docs, "select ragdb.add_eval_case('A', null, 'refund policy', 'docs/refunds.md')")
    one(docs, "select ragdb.add_eval_case('A', null, 'a van', 'docs/parking.md')")
    before = listed(docs)
    assert [len(case["asserts"]) for case in before] == [2, 2]
    docs.execute("delete from ragdb.eval_cases")
    assert importing(docs, before) == (2, 1, 0)
    assert listed(docs) == before
    assert run(docs)["passed_cases"] == 1


def test_an_assertion_is_kept_as_a_contract_would_keep_it(docs: Connection) -> None:
    written = [
        {"kind": "sourceEq", "value": "./docs/late.md", "required": True},
        {"kind": "chunkCountEq", "value": 2},
    ]
    importing(docs, [{"name": "a", "query": "q", "asserts": written}])
    kept = listed(docs)[0]["asserts"]
    node = '    ragCase name=b query=q\n      ragAssert kind={kind} value="{value}"{more}\n'
    apply(docs, contract(
        node.format(**written[0], more=" required=true")
        + node.format(**written[1], more="").split("\n", 1)[1].replace('"2"', "2")
    ))  # fmt: skip
    assert [case["asserts"] for case in listed(docs)] == [kept, kept]
    assert kept[0]["value"] == "docs/late.md"
    assert kept[1] == {"kind": "chunkCountEq", "count": 2}


@pytest.mark.parametrize(
    ("asserts", "says"),
    [
        ({}, "asserts"),
        ([3], "not an object"),
        ([{"kind": "sourceEq", "value": ["a"]}], "not an object"),
        ([{"kind": "contains", "value": "x"}, {"kind": "containz", "value": "x"}], "containz"),
        ([{"kind": "contains"}], "value"),
        ([{"value": "x"}], "kind"),
        ([{"kind": "topScoreGte", "threshold": 2}], "threshold"),
        ([{"kind": "contains", "value": "x", "more": 1}], "more"),
    ],
)
def test_an_assertion_that_no_contract_could_have_is_refused(
    docs: Connection, asserts: Any, says: str
) -> None:
    cases = [{"name": "a", "query": "q"}, {"name": "b", "query": "q", "asserts": asserts}]
    problem = refused(docs, IMPORT, Jsonb(cases))
    assert problem.sqlstate == "RG442"
    assert str(problem).startswith('case 2 "b"')
    assert says in str(problem)
    assert listed(docs) == []


def test_a_grade_and_a_span_are_whole_however_json_writes_them(docs: Connection) -> None:
    text = """[{"name": "a", "query": "q", "labels": [
      {"source": "docs/late.md", "grade": 1.0, "start": 0.0, "end": 10.00},
      {"source": "docs/refunds.md", "grade": 2e1}]}]"""
    assert one(docs, "select label_count from ragdb.import_eval('A', null, %s::jsonb)", text) == 2
    span, whole = listed(docs)[0]["labels"]
    assert (span["grade"], span["start"], span["end"], whole["grade"]) == (1, 0, 10, 20)


@pytest.mark.parametrize(
    ("case", "says"),
    [
        ({"tags": [None]}, "tags"),
        ({"tags": ["a", 3]}, "tags"),
        ({"tags": "a"}, "tags"),
        ({"name": {"a": 1}}, "name"),
        ({"name": True}, "name"),
        ({"query": ["q"]}, "query"),
        ({"labels": [{"source": ["s"]}]}, "label"),
        ({"labels": [{"source": "s", "grade": 1001}]}, "-1000 to 1000"),
        ({"labels": [SPAN | {"sha256": "abc"}]}, "label"),
        ({"labels": [SPAN, SPAN | {"start": 1.0, "grade": 2}]}, 'label "s#1-2" twice'),
        ({"labels": [{"source": "s"}, {"source": "./s", "grade": 2}]}, 'label "s" twice'),
    ],
)
def test_a_case_that_cannot_be_meant_is_refused_by_what_is_wrong(
    docs: Connection, case: dict[str, Any], says: str
) -> None:
    problem = refused(docs, IMPORT, Jsonb([{"name": "a", "query": "q"} | case]))
    assert problem.sqlstate == "RG442"
    assert says in str(problem)


def test_a_label_may_begin_with_a_dot_as_the_source_of_a_contract_may(docs: Connection) -> None:
    case = {"name": "a", "query": "q", "labels": [{"source": "./docs/late.md"}]}
    assert importing(docs, [case]) == (1, 1, 0)
    assert listed(docs)[0]["labels"] == [{"source": "docs/late.md", "grade": 1}]


def test_a_span_that_was_stale_is_stale_where_the_listed_cases_are_imported(
    docs: Connection,
) -> None:
    """Its text is not read anew: it may be another one by now, or in another database."""
    label = {"source": "docs/late.md", "start": 0, "end": 10}
    gone = {"source": "docs/gone.md", "start": 0, "end": 10}
    assert importing(docs, [{"name": "a", "query": "q", "labels": [label, gone]}]) == (1, 2, 1)
    put(docs, {"docs/late.md": "something else is said here"})
    before = listed(docs)
    assert importing(docs, before) == (1, 2, 2)
    assert listed(docs) == before
    put(docs, {"docs/late.md": TEXTS["docs/late.md"], "docs/gone.md": "what had never been there"})
    assert run(docs)["stale_labels"] == 1
    # nobody knew its text
    assert importing(docs, before) == (1, 2, 0)


def test_files_of_trec_keep_names_apart(docs: Connection) -> None:
    put(docs, {"docs/a b.md": "alpha", "docs/a_b.md": "alpha", "docs/a\tb.md": "alpha"})
    names = ["q 1", "q_1", "q  1"]
    labels = [{"source": "docs/a b.md"}, {"source": "docs/a_b.md"}, {"source": "docs/a\tb.md"}]
    importing(docs, [{"name": name, "query": "alpha", "labels": labels} for name in names])
    found = run(docs)["run_id"]
    for what, columns in (("run", 6), ("qrels", 4)):
        rows = [line.split() for line in exported(docs, found, what)]
        assert {len(row) for row in rows} == {columns}
        assert len({(row[0], row[2]) for row in rows}) == 9
        # a name without white space is as it was
        assert {row[2] for row in rows if row[0] == "q_1"} >= {"docs/a_b.md"}


def test_a_document_is_in_the_files_of_trec_under_one_name(docs: Connection) -> None:
    put(docs, {"docs/ids.md": "refund of refunds"}, external_id="ids")
    labels = [
        {"source": "docs/ids.md", "grade": 1},
        {"source": "ids", "grade": 2},
        {"source": "docs/refunds.md", "grade": 1},
        {"source": "docs/gone.md", "grade": 3},
    ]
    importing(docs, [{"name": "q", "query": "refund", "labels": labels}])
    found = run(docs)["run_id"]
    qrels, ranked = (exported(docs, found, what) for what in ("qrels", "run"))
    assert qrels == ["q 0 ids 2", "q 0 docs/refunds.md 1", "q 0 docs/gone.md 3"]
    assert {line.split()[2] for line in ranked} >= {"ids", "docs/refunds.md"}
    # without the stale label, which metrics leave out
    measures: Any = ir_measures  # untyped
    theirs = measures.calc_aggregate(
        [measures.nDCG @ 5, measures.R @ 5],
        list(measures.read_trec_qrels("\n".join(qrels[:2]))),
        list(measures.read_trec_run("\n".join(ranked))),
    )
    ours = metrics(docs, found)
    assert ours["ndcg@5"] == pytest.approx(theirs[measures.nDCG @ 5], abs=1e-9)
    assert ours["recall@5"] == theirs[measures.R @ 5] == 1


def test_a_question_takes_tags_that_are_texts(docs: Connection) -> None:
    add = "select ragdb.add_eval_case('A', null, 'q', null, %s)"
    for tags in ([None], ["a", None], [["a"], ["b"]]):
        assert refused(docs, add, tags).sqlstate == "RG400"
