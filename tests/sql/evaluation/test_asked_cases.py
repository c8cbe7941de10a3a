"""A question that was not answered becomes a case, which fails until it is answered."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection
from tests.embedding import WIDTH, make_corpus, one, put
from tests.refusal import refused
from tests.sql.evaluation.test_evaluation_runs import CASE, apply, contract, run

OWN = "from ragdb.eval_cases where origin <> 'contract'"
QUESTION = "where may I leave a van"
ADD = "select ragdb.add_eval_case('A', %s, %s, %s)"


@pytest.fixture
def docs(any_db: Connection) -> Connection:
    apply(any_db, contract(CASE.format(name="refunds", query="refund policy", keys="topK=1")))
    put(any_db, {"docs/refunds.md": "refund policy"})
    return any_db


def case_of(db: Connection, run_id: Any, query: str) -> str:
    return str(
        one(
            db,
            "select status from ragdb.eval_case_results(%s) where query = %s",
            run_id,
            query,
        )
    )


def test_it_fails_until_a_document_answers_it(docs: Connection) -> None:
    name = one(docs, ADD, None, QUESTION, "docs/parking.md")
    assert name.startswith("where-may-i-leave-a-van-")
    assert case_of(docs, run(docs)["run_id"], QUESTION) == "failed"
    # another document says something of it, which is not what was wanted
    put(docs, {"docs/other.md": "leave the van at home"})
    assert case_of(docs, run(docs)["run_id"], QUESTION) == "failed"
    put(docs, {"docs/parking.md": "you may leave a van behind the hall"})
    assert case_of(docs, run(docs)["run_id"], QUESTION) == "passed"


def test_its_source_may_begin_with_a_dot_as_that_of_a_contract(docs: Connection) -> None:
    put(docs, {"docs/parking.md": "you may leave a van behind the hall"})
    one(docs, ADD, None, QUESTION, "./docs/parking.md")
    assert case_of(docs, run(docs)["run_id"], QUESTION) == "passed"
    labelled = "select labels from ragdb.list_eval_cases('A') where query = %s"
    assert one(docs, labelled, QUESTION) == [{"source": "docs/parking.md", "grade": 1}]


def test_its_source_may_be_the_id_of_a_document(docs: Connection) -> None:
    put(docs, {"docs/parking.md": "you may leave a van behind the hall"}, external_id="parking")
    one(docs, ADD, None, QUESTION, "parking")
    assert case_of(docs, run(docs)["run_id"], QUESTION) == "passed"


def test_the_floor_of_the_gate_is_what_a_first_hit_has_to_reach(docs: Connection) -> None:
    put(docs, {"docs/other.md": "leave it, van"})
    one(docs, ADD, "V", QUESTION, None)
    assert case_of(docs, run(docs)["run_id"], QUESTION) == "passed"
    docs.execute(f"delete {OWN}")
    apply(docs, contract(CASE.format(name="a", query="b", keys="topK=1"), mode="lexical"))
    docs.execute(
        "insert into ragdb.gate_calibrations select corpus_id, 'lexical', null, null, 0.5, 1, 0,"
        " 20, 20, 1, 1, now() from ragdb.corpora where name = 'docs'"
    )
    one(docs, ADD, "V", "refund of a moon", None)
    assert case_of(docs, run(docs)["run_id"], "refund of a moon") == "failed"


def test_who_asks_the_same_again_gets_the_same_case(docs: Connection) -> None:
    assert one(docs, ADD, None, "refund policy", None) == "refunds"  # the contract's
    first = one(docs, ADD, None, QUESTION, None)
    assert one(docs, ADD, "V", QUESTION, "docs/parking.md") == first
    assert one(docs, f"select count(*) {OWN}") == 1


def test_an_import_leaves_it_unless_it_has_its_name(docs: Connection) -> None:
    name = one(docs, ADD, None, QUESTION, None)
    imported = [{"name": "one", "query": "refund"}]
    for cases, left in ((imported, {name, "one"}), ([{"name": name, "query": "x"}], {name})):
        docs.execute("select ragdb.import_eval('A', null, %s)", (Jsonb(cases),))
        rows = docs.execute(f"select name {OWN}").fetchall()
        assert {row[0] for row in rows} == left
    assert one(docs, f"select query {OWN}") == "x"


def test_it_takes_a_writer_of_the_corpus(docs: Connection) -> None:
    docs.execute("set role reader")
    with pytest.raises(psycopg.Error) as raised:
        one(docs, ADD, None, QUESTION, None)
    assert raised.value.sqlstate == "RG401"


@pytest.mark.parametrize(
    ("query", "source", "code"),
    [(" ", None, "RG400"), (None, None, "RG400"), ("q" * 10001, None, "RG413"),
     ("q", "s" * 2049, "RG413")],
)  # fmt: skip
def test_what_asks_nothing_or_too_much_is_refused(
    docs: Connection, query: str | None, source: str | None, code: str
) -> None:
    with pytest.raises(psycopg.Error) as raised:
        one(docs, ADD, None, query, source)
    assert raised.value.sqlstate == code


def test_the_list_has_what_a_role_may_read(docs: Connection) -> None:
    run(docs)
    rows = docs.execute(
        "select rag, eval, corpus, declared_cases, added_cases, runs, last_status"
        " from ragdb.list_evals()"
    ).fetchall()
    assert rows == [("A", "V", "docs", 1, 0, 1, "passed")]
    docs.execute("select ragdb.restrict_corpus('docs')")
    docs.execute("set role reader")
    assert docs.execute("select * from ragdb.list_evals()").fetchall() == []


EVAL = """
ragEval name=V{1} rag=A{0} mode=contract
  ragCase name=c query="x"
    ragAssert kind=contains value="x" required=true
"""
RAG = """
retriever name=R{0} corpus=more mode=lexical topK=2
rag name=A{0} retriever=R{0}
"""


def test_evals_are_listed_by_pages_and_of_one_corpus(docs: Connection) -> None:
    evals = [RAG.format(n) + "".join(EVAL.format(n, m) for m in range(3)) for n in range(3)]
    text = "\n".join(["corpus name=more", *evals])
    docs.execute("select ragdb.apply_contract(%s, 'more')", (text,))

    def listed(arguments: str) -> list[str]:
        found = docs.execute(f"select rag || '/' || eval from ragdb.list_evals({arguments})")
        return [name for (name,) in found.fetchall()]

    others = [f"A{n}/V{m}" for n in range(3) for m in range(3)]
    assert listed("") == ["A/V", *others]
    assert listed("'docs'") == ["A/V"]
    assert listed("'more'") == listed("prefix => 'A', after => 'A'") == others
    # a page has all evals of its last rag
    assert listed("count => 2") == ["A/V", *others[:3]]
    assert listed("after => 'A0', count => 1") == others[3:6]
    assert listed("prefix => 'A1'") == others[3:6]
    assert listed("'more', after => 'A2'") == []
    assert refused(docs, "select ragdb.list_evals('none')").sqlstate == "RG404"
    assert refused(docs, "select ragdb.list_evals(count => 0)").sqlstate == "RG400"
    assert refused(docs, "select ragdb.list_evals(after => null)").sqlstate == "RG400"


@pytest.mark.parametrize(("by", "threshold"), [("hash", 0.5), ("other", 0)])
def test_a_first_hit_has_to_reach_the_floor_of_the_current_embedder(
    any_db: Connection, by: str, threshold: float
) -> None:
    make_corpus(any_db, {"docs/refunds.md": "refund policy"})
    any_db.execute("select ragdb.create_embedder('other', 4)")
    cases = contract(CASE.format(name="a", query="b", keys="topK=1"), mode="semantic embed=E")
    apply(any_db, f"embed name=E corpus=docs model=hash dims={WIDTH}\n{cases}")
    any_db.execute(
        "insert into ragdb.gate_calibrations select c.corpus_id, 'semantic', e.embedder_id, null,"
        " 0.5, 1, 0, 20, 20, 1, 1, now() from ragdb.corpora c, ragdb.embedders e"
        " where c.name = 'docs' and e.name = %s",
        (by,),
    )
    one(any_db, ADD, "V", QUESTION, None)
    assert one(any_db, f"select asserts -> 0 -> 'threshold' {OWN}") == threshold
