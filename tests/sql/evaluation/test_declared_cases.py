"""The cases of a contract are rows beside the imported ones, and come and go with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection, Server
from tests.embedding import one, put
from tests.processor import spent
from tests.sql.evaluation.test_evaluation_runs import CASE, REFUNDS, TEXTS, apply, contract, run

ROWS = (
    "select name, origin, contract, contract_version, ordinal, k, min_score, chunk_count, anchor,"
    " policy from ragdb.eval_cases order by name"
)
OTHER = CASE.format(name="other", query="shipping", keys="tags=new,odd chunkCount=1")
SLICED = CASE.format(name="sliced", query="refund", keys="anchor=x policy=wide:1")


def fill(db: Connection) -> None:
    apply(db, contract(REFUNDS + "      ragAssert kind=contains value=refund\n" + OTHER))
    put(db, TEXTS)


@pytest.fixture
def docs(any_version: Server, any_filled: str) -> Iterator[Connection]:
    """The superuser there, rolled back after."""
    with any_version.rolled_back(any_filled) as db:
        yield db


def take(db: Connection, *cases: dict[str, Any]) -> Any:
    return db.execute("select ragdb.import_eval('A', null, %s)", (Jsonb(list(cases)),)).fetchone()


def refused(db: Connection, code: str, query: str, *arguments: Any) -> psycopg.errors.Diagnostic:
    with pytest.raises(psycopg.Error) as raised, db.transaction():
        db.execute(query, arguments)
    assert raised.value.sqlstate == code
    return raised.value.diag


def test_a_case_has_what_the_contract_says_and_its_sources_as_labels(docs: Connection) -> None:
    assert docs.execute(ROWS).fetchall() == [
        ("other", "contract", "c", 1, 2, None, None, 1, None, None),
        ("refunds", "contract", "c", 1, 1, 1, 0.25, None, None, None),
    ]
    labels = "select name, label_no, source, start_offset, grade from ragdb.eval_labels"
    assert docs.execute(labels).fetchall() == [("refunds", 1, "docs/refunds.md", None, 1)]
    listed = docs.execute(
        "select name, origin, tags, expected, asserts, labels from ragdb.list_eval_cases('A')"
    ).fetchall()
    expected = {"topK": 1, "minScore": 0.25, "sources": ["docs/refunds.md"]}
    asserts = [{"kind": "contains", "value": "refund"}]
    assert listed == [
        ("refunds", "contract", [], expected, asserts, [{"source": "docs/refunds.md", "grade": 1}]),
        ("other", "contract", ["new", "odd"], {"chunkCount": 1}, [], []),
    ]


def test_a_bare_number_or_boolean_is_the_text_that_is_written(docs: Connection) -> None:
    put(docs, {"docs/true.md": "42 is true"})
    cases = CASE.format(name="1", query="true", keys="topK=1") + "".join(
        f"      ragAssert kind={kind} value={value} required=true\n"
        for kind, value in (("contains", "true"), ("containsAll", "42"), ("containsAny", "true"))
    )
    answer = "  ragAnswerContract name=W query=42 answer=no abstainAnswer=no allowAbstain=true"
    found = run(docs, contract(cases + f"{answer} minRetrievedChunks=9\n"))
    assert (found["status"], found["reasons"]) == ("passed", [])


def test_cases_are_listed_by_pages(docs: Connection) -> None:
    take(docs, *({"name": name, "query": "parcel"} for name in ("mine", "yours")))

    def page(arguments: str = "") -> list[tuple[int, str]]:
        asked = f"select case_no, name from ragdb.list_eval_cases('A'{arguments})"
        return docs.execute(asked).fetchall()

    everyone = page()
    assert [number for number, _ in everyone] == [*range(1, len(everyone) + 1)]
    assert len(everyone) > 2
    assert page(", count => 2") == everyone[:2]
    assert page(", after => 2") == everyone[2:]
    assert page(", after => 1, count => 1") == everyone[1:2]
    assert page(f", after => {len(everyone)}") == []
    refused(docs, "RG400", "select ragdb.list_eval_cases('A', count => 0)")


def test_another_version_takes_the_place_of_its_cases_and_of_no_others(docs: Connection) -> None:
    take(docs, {"name": "mine", "query": "parcel", "labels": [{"source": "docs/late.md"}]})
    asked = one(docs, "select ragdb.add_eval_case('A', null, 'where may I park')")
    apply(docs, contract(SLICED))
    assert docs.execute(ROWS).fetchall() == [
        ("mine", "imported", None, None, 1, None, None, None, None, None),
        ("sliced", "contract", "c", 2, 1, None, None, None, "x", "wide:1"),
        (asked, "asked", None, None, 3, None, None, None, None, None),
    ]
    assert one(docs, "select array_agg(source) from ragdb.eval_labels") == ["docs/late.md"]
    # what the owner deletes, because nobody else can
    docs.execute("delete from ragdb.contracts where is_current")
    assert {row[0] for row in docs.execute(ROWS)} == {"mine", asked}


def test_who_applies_the_same_again_writes_nothing(docs: Connection) -> None:
    before = docs.execute("select xmin, ctid, name from ragdb.eval_cases order by name").fetchall()
    apply(docs, contract(REFUNDS + "      ragAssert kind=contains value=refund\n" + OTHER))
    after = docs.execute("select xmin, ctid, name from ragdb.eval_cases order by name").fetchall()
    assert before == after


def test_a_name_is_of_the_contract_or_of_the_import(docs: Connection) -> None:
    cases = Jsonb([{"name": "a", "query": "x"}, {"name": "refunds", "query": "x"}])
    found = refused(docs, "RG442", "select ragdb.import_eval('A', null, %s)", cases)
    assert found.message_primary == 'case 2 has the name "refunds" of a case of the contract'
    take(docs, {"name": "mine", "query": "parcel"})
    text = contract(CASE.format(name="mine", query="x", keys=""))
    found = refused(docs, "RG409", "select ragdb.apply_contract(%s, 'c')", text)
    assert found.message_primary == 'eval "V" of rag "A" has a case "mine" already'
    assert one(docs, "select max(version) from ragdb.contracts") == 1
    take(docs)
    apply(docs, text)
    assert [row[:2] for row in docs.execute(ROWS)] == [("mine", "contract")]


def test_a_question_whose_name_the_contract_has_gets_another(docs: Connection) -> None:
    first = one(docs, "select ragdb.add_eval_case('A', null, 'where may I park')")
    docs.execute("delete from ragdb.eval_cases where origin = 'asked'")
    apply(docs, contract(CASE.format(name=first, query="another", keys="")))
    second = one(docs, "select ragdb.add_eval_case('A', null, 'where may I park')")
    assert second != first
    assert second.startswith(first)


def test_they_come_back_with_a_corpus_that_is_made_again(docs: Connection) -> None:
    take(docs, {"name": "mine", "query": "parcel"})
    docs.execute("select ragdb.drop_corpus('docs')")
    assert docs.execute(ROWS).fetchall() == []
    docs.execute("select ragdb.create_corpus('docs')")
    put(docs, TEXTS)
    assert {row[0] for row in docs.execute(ROWS)} == {"other", "refunds"}
    found = run(docs)
    assert (found["cases"], found["passed_cases"]) == (2, 2)


def test_a_personal_corpus_of_another_role_gets_no_case(db: Connection) -> None:
    text = contract(REFUNDS).replace("docs\n", "personal\n", 1).replace("=docs ", "=personal ")
    db.execute("set role writer")
    apply(db, text)
    db.execute("set role reader")
    db.execute("select ragdb.create_corpus('personal')")
    db.execute("reset role")
    owners = "select o.personal_of from ragdb.eval_cases join ragdb.corpora o using (corpus_id)"
    assert db.execute(owners).fetchall() == [("writer",)]


def test_the_sources_of_a_case_are_exported_as_labels(docs: Connection) -> None:
    lines = "select * from ragdb.export_trec(%s, 'qrels')"
    assert docs.execute(lines, (run(docs)["run_id"],)).fetchall() == [
        ("refunds 0 docs/refunds.md 1",)
    ]


def test_who_may_not_read_the_corpus_lists_no_cases(docs: Connection) -> None:
    docs.execute("select ragdb.restrict_corpus('docs')")
    docs.execute("set role reader")
    refused(docs, "RG441", "select ragdb.list_eval_cases('A')")


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (
            "contract_nodes set keys = keys || '{\"value\": \"x\"}' where node = 'ragAssert'",
            "nodes",
        ),
        ("contract_nodes set keys = keys || '{\"topK\": 9}' where node = 'retriever'", "nodes"),
        ("contract_nodes set corpus = 'other' where node = 'retriever'", "nodes"),
        ("contract_nodes set name = 'R2' where node = 'retriever'", "nodes"),
        ("contract_nodes set rag = 'B' where node = 'ragEval'", "nodes"),
        ("eval_cases set asserts = '[]' where name = 'refunds'", "cases"),
        ("eval_cases set min_score = 0 where name = 'refunds'", "cases"),
        ("eval_labels set source = 'docs/late.md'", "cases"),
    ],
)
def test_what_was_edited_of_a_contract_is_found(docs: Connection, edit: str, problem: str) -> None:
    take(docs, {"name": "mine", "query": "parcel", "labels": [{"source": "docs/late.md"}]})
    apply(docs, contract(REFUNDS + "      ragAssert kind=contains value=parcel\n" + OTHER))
    found = "select finding from ragdb.verify(checks => '{contracts}')"
    assert docs.execute(found).fetchall() == []
    docs.execute(f"update ragdb.{edit}".encode())
    said = {
        "nodes": "its nodes are not those that were applied",
        "cases": "its cases are not those that it declares",
    }
    assert (said[problem],) in docs.execute(found).fetchall()


def test_an_older_version_of_a_contract_that_was_put_in_force_again_is_found(
    docs: Connection,
) -> None:
    apply(docs, contract(REFUNDS + OTHER))
    found = "select place, finding from ragdb.verify(checks => '{contracts}')"
    assert docs.execute(found).fetchall() == []
    docs.execute("update ragdb.contracts set is_current = false")
    docs.execute("update ragdb.contracts set is_current = true where version = 1")
    finding = "a later version was in force"
    places = [place for place, said in docs.execute(found).fetchall() if said == finding]
    assert [place.split(", ")[1] for place in places] == ["version 1"]


@pytest.mark.by_day(1)
def test_cases_that_were_just_written_are_listed_as_fast_as_their_number_grows(
    docs: Connection,
) -> None:
    """The planner knows of no label then."""

    def took(cases: int) -> float:
        labels = [{"source": "docs/late.md"}]
        take(docs, *({"name": f"{n}", "query": "x", "labels": labels} for n in range(cases)))
        before = spent(docs)
        assert len(docs.execute("select from ragdb.list_eval_cases('A')").fetchall()) == cases + 2
        return spent(docs) - before

    few = took(500)
    assert took(8000) < 16 * few + 0.5
