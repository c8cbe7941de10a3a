"""Runs of evals: through the contract's retriever, with verdicts, metrics, labels, reports, comparisons."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
import random
import re
import struct
import subprocess
import xml.etree.ElementTree as ElementTree
from datetime import timedelta
from pathlib import Path
from typing import Any

import ir_measures
import psycopg
import pytest
import yaml
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from ragdb.server import postgres
from tests.conftest import Connection, Server
from tests.embedding import put
from tests.refusal import refused

ROOT = Path(__file__).parents[3]
CASE = '    ragCase name={name} query="{query}" {keys}\n'
HEAD = """corpus name=docs
retriever name=R corpus=docs mode={mode} topK={k}
rag name=A retriever=R
  grounding requireCitations=true policy=strict
  ragEval name=V {gate} mode=contract
"""
TEXTS = {
    "docs/refunds.md": "refund policy",
    "docs/shipping.md": "shipping of parcels",
    "docs/late.md": "refund of a parcel that came too late for the party",
}


def apply(db: Connection, text: str) -> None:
    db.execute("select * from ragdb.apply_contract(%s, %s)", (text, "c"))


def run(db: Connection, text: str | None = None, **arguments: Any) -> dict[str, Any]:
    if text is not None:
        apply(db, text)
        if not db.execute("select chunks > 0 from ragdb.corpora where name = 'docs'").fetchone()[0]:  # type: ignore[index]
            put(db, TEXTS)
    given = "".join(f", {name} => %({name})s" for name in arguments)
    with db.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(f"select * from ragdb.run_eval('A'{given})", arguments).fetchone()
    assert row is not None
    return row


def results(db: Connection, run_id: Any) -> list[tuple[str, str]]:
    return db.execute("select kind, code from ragdb.eval_assert_results(%s)", (run_id,)).fetchall()


def metrics(db: Connection, run_id: Any, case_no: int = 0) -> dict[str, float]:
    return dict(
        db.execute(
            "select metric, value from ragdb.eval_metrics(%s) where case_no = %s", (run_id, case_no)
        ).fetchall()
    )


def report(db: Connection, run_id: Any, form: str) -> str:
    ((text,),) = db.execute("select ragdb.eval_report(%s, %s)", (run_id, form)).fetchall()
    return str(text)


def contract(cases: str, mode: str = "reference", k: int = 5, gate: str = "") -> str:
    return HEAD.format(mode=mode, k=k, gate=gate) + cases


REFUNDS = CASE.format(name="refunds", query="refund policy", keys="topK=1 minScore=0.25 sources=docs/refunds.md")  # fmt: skip


# ── verdicts ────────────────────────────────────────────────────────────────────────────────────


def test_a_run_passes_and_every_retrieval_leaves_its_trace(any_db: Connection) -> None:
    found = run(any_db, contract(REFUNDS + "      ragAssert kind=citesRequired required=true\n"))
    assert (found["status"], found["cases"], found["reasons"]) == ("passed", 1, [])
    assert found["rank_mode"] == "reference"
    trace = any_db.execute(
        "select t.rag, t.retriever, t.limit_requested, t.min_score from ragdb.eval_case_results(%s) c"
        " cross join lateral ragdb.get_trace(c.trace_id) t",
        (found["run_id"],),
    ).fetchone()
    assert trace == ("A", "R", 1, 0.25)


def test_an_advisory_failure_passes_and_a_required_one_fails(any_db: Connection) -> None:
    text = contract(REFUNDS + "      ragAssert kind=sourceEq value=x\n")
    assert run(any_db, text)["status"] == "passed"
    assert run(any_db, text.rstrip() + " required=true")["status"] == "failed"


def test_the_fields_of_a_case_are_always_enforced(any_db: Connection) -> None:
    found = run(any_db, contract(REFUNDS.replace("sources=", "chunkCount=2 sources=docs/late.md,")))
    assert found["status"] == "failed"
    assert results(any_db, found["run_id"]) == [
        ("expected.topK", "PASS"),
        ("expected.minScore", "PASS"),
        ("expected.chunkCount", "ASSERTION_FAIL"),
        ("expected.sources", "ASSERTION_FAIL"),
    ]


def test_sources_are_asserted_as_they_are_declared_with_a_dot_or_without(
    any_db: Connection,
) -> None:
    case = CASE.format(name="c", query="refund policy", keys="sources=./docs/refunds.md topK=1")
    holding = (
        "kind=sourceEq value=./docs/refunds.md",
        "kind=sourceGlob value=./docs/r*.md",
        "kind=topSourceEq value=./docs/refunds.md",
        "kind=rankLte value=./docs/refunds.md count=1",
        'kind=orderedBefore value="./docs/refunds.md, ./docs/late.md"',
        "kind=contains value=policy",
    )
    asserts = "".join(f"      ragAssert {keys}\n" for keys in holding)
    found = run(
        any_db, contract(case + asserts + "      ragAssert kind=notRetrieved value=./docs/*\n")
    )
    assert [code for _, code in results(any_db, found["run_id"])] == [
        *["PASS"] * (2 + len(holding)),
        "ASSERTION_FAIL",
    ]


@pytest.mark.parametrize(
    ("cases", "gate", "arguments", "status", "reason"),
    [
        ("", "", {}, "empty", "the eval has no case"),
        (REFUNDS, "", {"tags": ["none"]}, "empty", "no case has the tag none"),
        (REFUNDS, "metric=hitRate threshold=0", {}, "failed", "threshold 0 cannot be missed"),
        (REFUNDS, "metric=faithfulness threshold=0.5", {}, "failed", "faithfulness could not be measured"),
        (REFUNDS, "metric=precision@10 threshold=0.5", {}, "failed", "precision@10 is 0.1000, below 0.5"),
        (REFUNDS, "metric=recall threshold=1", {}, "passed", None),
        (CASE.format(name="c", query="refund", keys=""), "", {}, "failed", "nothing is asserted: no case has an assertion, and no metric a threshold"),
        (CASE.format(name="c", query="refund", keys="") + "      ragAssert kind=sourceEq value=x\n", "", {}, "failed", "nothing is required: every assertion is advisory, and no metric has a threshold"),
        (CASE.format(name="c", query="refund", keys="") + "      ragAssert kind=sourceEq value=x\n", "metric=citationCoverage threshold=1", {}, "passed", None),
    ],
)  # fmt: skip
def test_what_is_vacuous_or_below_its_gate_fails(
    any_db: Connection, cases: str, gate: str, arguments: Any, status: str, reason: str | None
) -> None:
    found = run(any_db, contract(cases, gate=gate), **arguments)
    assert (found["status"], found["reasons"]) == (status, [reason] if reason else [])


def test_a_retriever_that_raises_fails_its_case_and_the_others_go_on(any_db: Connection) -> None:
    broken = CASE.format(name="broken", query="refund", keys="anchor=nothing")
    found = run(any_db, contract(broken + REFUNDS))
    assert (found["cases"], found["passed_cases"], found["status"]) == (2, 1, "failed")
    assert results(any_db, found["run_id"])[0] == ("retriever", "RETRIEVER_ERROR")


def test_a_case_retrieves_by_the_policy_that_it_names(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_signing_key('k'), ragdb.create_corpus('docs')")
    put(any_db, TEXTS)
    (anchor,) = any_db.execute("select chunk_id from ragdb.chunks order by 1").fetchone()  # type: ignore[misc]
    register = "select params_hash from ragdb.register_policy(%s)"
    (first,) = any_db.execute(register, (Jsonb({"version": "w", "max_nodes": 1}),)).fetchone()  # type: ignore[misc]

    def status(policy: str) -> tuple[str, str | None]:
        case = CASE.format(name="c", query="refund", keys=f"anchor={anchor} policy={policy}")
        kind = f"      ragAssert kind=policyEq value={policy.split('@')[0]} required=true\n"
        found = run(any_db, contract(case + kind))
        row = any_db.execute(
            "select r.message, t.policy_params_hash from ragdb.eval_case_results(%(run)s) c"
            " join ragdb.eval_assert_results(%(run)s) r using (case_no)"
            " left join ragdb.retrieval_traces t on t.id = c.trace_id",
            {"run": found["run_id"]},
        ).fetchone()
        assert row is not None
        return found["status"], row[1] or row[0]

    assert status("slice_policy_v1") == ("passed", "02005444cae1117d")
    assert status("w") == ("passed", first)
    (other,) = any_db.execute(register, (Jsonb({"version": "w", "max_nodes": 2}),)).fetchone()  # type: ignore[misc]
    assert status("w") == ("failed", "RAG eval case 'c' retriever failed: 2 policies are named \"w\".")  # fmt: skip
    assert status(f"w@{other}") == ("passed", other)
    assert status("none")[1] == "RAG eval case 'c' retriever failed: 0 policies are named \"none\"."


def test_a_case_is_chosen_by_its_tags(any_db: Connection) -> None:
    other = CASE.format(name="other", query="shipping", keys="tags=slow,odd chunkCount=9")
    text = contract(other + REFUNDS.replace("topK=1", "tags=smoke topK=1"))
    assert run(any_db, text, tags=["smoke"])["status"] == "passed"
    assert run(any_db, tags=["odd", "x"])["cases"] == 1


def test_an_eval_that_is_not_there_is_told_its_name(any_db: Connection) -> None:
    apply(any_db, contract(REFUNDS))
    for call in ("run_eval('B')", "run_eval('A', 'W')"):
        with pytest.raises(psycopg.Error) as caught, any_db.transaction():
            any_db.execute(f"select * from ragdb.{call}")
        assert caught.value.sqlstate == "RG441"
        assert "did you mean" in (caught.value.diag.message_hint or "")


@pytest.mark.parametrize(
    ("call", "sqlstate", "said"),
    [
        ("eval_report(%s, 'pdf')", "RG400", 'format is "pdf"'),
        ("export_trec(%s, 'all')", "RG400", 'what is "all"'),
        ("export_trec(%s, null)", "RG400", "what is null"),
        ("bless_run(%s, '')", "RG400", 'name is ""'),
        ("bless_run(%s, null)", "RG400", "name is null"),
        ("bless_run(%s, repeat('x', 65))", "RG400", "name is "),
    ],
)
def test_what_cannot_be_asked_of_a_run_is_refused(
    db: Connection, call: str, sqlstate: str, said: str
) -> None:
    error = refused(db, f"select * from ragdb.{call}", run(db, contract(REFUNDS))["run_id"])
    assert (error.sqlstate, str(error.diag.message_primary)[: len(said)]) == (sqlstate, said)


def test_the_baseline_of_a_rag_that_moved_is_the_run_that_was_blessed_last(db: Connection) -> None:
    runs = [run(db, contract(REFUNDS))["run_id"]]
    db.execute("select ragdb.create_corpus('books')")
    db.execute("select ragdb.put_text('books', 'a.md', 'refund policy')")
    runs.append(run(db, contract(REFUNDS).replace("=docs", "=books"))["run_id"])
    for hour, blessed in enumerate([0, 1, 0, 1]):
        db.execute(
            "select set_config('ragdb.now', (now() + make_interval(hours => %s))::text, true)",
            (hour + 1,),
        )
        db.execute("select ragdb.bless_run(%s)", (runs[blessed],))
        assert db.execute("select ragdb.baseline_run('A', 'V')").fetchall() == [(runs[blessed],)]


def test_a_run_of_a_corpus_that_the_caller_cannot_read_is_not_found(db: Connection) -> None:
    run_id = run(db, contract(REFUNDS))["run_id"]
    db.execute("select ragdb.bless_run(%s)", (run_id,))
    db.execute("select ragdb.restrict_corpus('docs')")
    assert db.execute("select ragdb.find_run(%s)", (str(run_id)[:8],)).fetchall() == [(run_id,)]
    assert db.execute("select ragdb.baseline_run('A', 'V')").fetchall() == [(run_id,)]
    db.execute("set role reader")
    for call in ("get_eval_run(%s)", "find_run(%s::text)", "eval_report(%s)"):
        assert refused(db, f"select ragdb.{call}", run_id).sqlstate == "RG443"
    assert db.execute("select ragdb.baseline_run('A', 'V')").fetchall() == [(None,)]
    assert db.execute("select * from ragdb.list_eval_runs()").fetchall() == []


def test_runs_are_listed_since_the_time_at_which_one_began(db: Connection) -> None:
    runs = [run(db, contract(REFUNDS))["run_id"] for _ in range(3)]
    began = "select created_at from ragdb.get_eval_run(%s)"
    listed = "select run_id from ragdb.list_eval_runs('A', since => %s)"
    for n, run_id in enumerate(runs):
        (time,) = db.execute(began, (run_id,)).fetchone()  # type: ignore[misc]
        found = [found for (found,) in db.execute(listed, (time,))]
        assert set(runs[n:]) <= set(found)
        later = [found for (found,) in db.execute(listed, (time + timedelta(microseconds=1),))]
        assert run_id not in later


def test_a_run_of_no_case_is_not_a_baseline(db: Connection) -> None:
    empty = run(db, contract(REFUNDS), tags=["none"])
    assert empty["status"] == "empty"
    error = refused(db, "select ragdb.bless_run(%s)", empty["run_id"])
    assert (error.sqlstate, error.diag.message_primary) == (
        "RG442",
        f'run "{empty["run_id"]}" has no case',
    )
    assert db.execute("select ragdb.baseline_run('A', 'V')").fetchall() == [(None,)]


# ── labels and metrics ──────────────────────────────────────────────────────────────────────────


def importing(db: Connection, cases: list[dict[str, Any]]) -> Any:
    return db.execute("select * from ragdb.import_eval('A', 'V', %s)", (Jsonb(cases),)).fetchone()


def test_rank_metrics_equal_ir_measures(db: Connection) -> None:
    chance = random.Random(7)
    words = [f"w{n}" for n in range(12)]
    # many ties: few words, short texts
    texts = {f"d{n}": " ".join(chance.choices(words, k=3)) + f" n{n % 7}" for n in range(120)}
    apply(db, contract("", k=40))
    put(db, texts)
    cases = [
        {
            "name": f"q{n}",
            "query": " ".join(chance.sample(words, 2)),
            "labels": [
                {"source": uri, "grade": chance.choice([-1, 0, 1, 1, 2, 3])}
                for uri in chance.sample(sorted(texts), chance.randint(1, 25))
            ],
        }
        for n in range(100)
    ]
    importing(db, cases)
    found = run(db)
    lines = {
        what: [line for (line,) in db.execute("select ragdb.export_trec(%s, %s)", (found["run_id"], what))]
        for what in ("run", "qrels")
    }  # fmt: skip
    measures: Any = ir_measures  # untyped
    qrels = list(measures.read_trec_qrels("\n".join(lines["qrels"])))
    ranking = list(measures.read_trec_run("\n".join(lines["run"])))
    wanted = {
        f"{ours}@{k}": getattr(ir_measures, theirs) @ k
        for ours, theirs in (("ndcg", "nDCG"), ("recall", "R"), ("precision", "P"), ("judged", "Judged"))
        for k in (5, 10)
    } | {"mrr": ir_measures.RR, "map": ir_measures.AP}  # fmt: skip
    names = dict(db.execute("select case_no, name from ragdb.eval_case_results(%s)", (found["run_id"],)).fetchall())  # fmt: skip
    ours = {
        (names[case_no], metric): value
        for case_no, metric, value in db.execute(
            "select case_no, metric, value from ragdb.eval_metrics(%s) where case_no > 0", (found["run_id"],)
        )
    }  # fmt: skip
    compared = 0
    for metric, measure in wanted.items():
        for result in ir_measures.iter_calc([measure], qrels, ranking):
            if (result.query_id, metric) in ours:
                assert ours[result.query_id, metric] == pytest.approx(result.value, abs=1e-9), (
                    metric
                )
                compared += 1
    assert compared > 800


def test_a_labelled_case_whose_retriever_raises_counts_0_as_in_ir_measures(
    any_db: Connection,
) -> None:
    found = run(
        any_db,
        contract(
            CASE.format(name="a", query="refund policy", keys="sources=docs/refunds.md topK=1")
            + CASE.format(name="b", query="x", keys="sources=docs/late.md anchor=nothing"),
            gate="metric=ndcg@5 threshold=0.9",
        ),
    )

    def exported(what: str) -> io.StringIO:
        rows = any_db.execute("select ragdb.export_trec(%s, %s)", (found["run_id"], what))
        return io.StringIO("".join(f"{line}\n" for (line,) in rows.fetchall()))

    theirs: Any = ir_measures  # untyped
    twin = theirs.calc_aggregate(
        [theirs.nDCG @ 5, theirs.RR],
        list(theirs.read_trec_qrels(exported("qrels"))),
        list(theirs.read_trec_run(exported("run"))),
    )
    ours = metrics(any_db, found["run_id"])
    assert ours["ndcg@5"] == twin[theirs.nDCG @ 5] == 0.5
    assert ours["mrr"] == twin[theirs.RR] == 0.5
    assert found["reasons"] == ["ndcg@5 is 0.5000, below 0.9"]


def test_a_mean_that_is_the_threshold_passes(db: Connection) -> None:
    texts = {f"{n}.md": f"refund {n}" for n in range(5)}
    apply(db, contract("", gate="metric=precision@5 threshold=0.8"))
    put(db, texts)
    importing(db, [
        {"name": f"q{good}", "query": "refund", "labels": [{"source": f"{n}.md"} for n in range(good)]}
        for good in (3, 4, 5)
    ])  # fmt: skip
    assert sum([0.6, 0.8, 1.0]) / 3 < 0.8  # in floats
    found = run(db)
    assert (found["status"], found["metric_value"]) == ("passed", 0.8)


def put_text(db: Connection, text: str, max_tokens: int, overlap: int = 0) -> None:
    db.execute(
        "select * from ragdb.put_text('docs', 'long.txt', %s, max_tokens => %s, overlap => %s)",
        (text, max_tokens, overlap),
    )


def test_a_labelled_span_survives_another_chunking_and_not_another_text(any_db: Connection) -> None:
    text = "\n\n".join(f"Paragraph {n} speaks of topic{n} and of nothing else." for n in range(40))
    start = text.index("Paragraph 17")
    label = {"source": "long.txt", "start": start, "end": start + 40, "grade": 1}
    apply(any_db, contract("", mode="lexical", k=10))
    put_text(any_db, text, 20)
    assert importing(any_db, [{"name": "q", "query": "topic17", "labels": [label]}]) == (1, 1, 0)
    for max_tokens, overlap in ((20, 0), (12, 4), (60, 10), (200, 0), (1000, 100)):
        any_db.execute("select ragdb.delete_source('docs', 'long.txt')")
        put_text(any_db, text, max_tokens, overlap)
        found = run(any_db)
        assert (found["stale_labels"], metrics(any_db, found["run_id"])["recall@5"]) == (0, 1.0)
    any_db.execute("select ragdb.delete_source('docs', 'long.txt')")
    put_text(any_db, text.replace("topic17", "topicXX"), 20)
    found = run(any_db)
    assert found["status"] == "failed"
    assert found["reasons"][-1] == "all labels are stale"
    assert results(any_db, found["run_id"]) == [("label", "STALE_LABEL")]


def test_a_source_listed_twice_is_one_label(db: Connection) -> None:
    twice = REFUNDS.replace("topK=1", "topK=5").replace("sources=", "sources=docs/refunds.md,")
    found = metrics(db, run(db, contract(twice))["run_id"])
    assert (found["precision@5"], found["recall@5"]) == (0.2, 1)


def test_a_label_is_of_the_uri_before_it_is_of_an_external_id(db: Connection) -> None:
    apply(db, contract(""))
    put(db, {"docs/first.md": "shipping of parcels"}, external_id="docs/late.md")
    put(db, {"docs/late.md": TEXTS["docs/late.md"]})
    importing(db, [{"name": "q", "query": "party", "labels": [{"source": "docs/late.md"}]}])
    assert metrics(db, run(db)["run_id"])["mrr"] == 1


def test_a_document_or_span_that_is_labelled_under_two_names_counts_once(db: Connection) -> None:
    apply(db, contract("", k=3))
    put(db, {"docs/refunds.md": TEXTS["docs/refunds.md"]}, external_id="refunds")
    put(db, {"docs/late.md": TEXTS["docs/late.md"]})
    both = [{"source": "docs/refunds.md", "grade": 1}, {"source": "refunds", "grade": 2}]
    span = {"start": 0, "end": 10}
    importing(db, [
        {"name": "document", "query": "refund", "labels": both},
        {"name": "span", "query": "refund", "labels": [label | span for label in both]},
    ])  # fmt: skip
    found = run(db)
    for case_no in (1, 2):
        measured = metrics(db, found["run_id"], case_no)
        assert (measured["ndcg@5"], measured["precision@5"], measured["recall@5"]) == (1, 0.2, 1)


def test_documents_of_one_name_in_two_parts_count_as_two(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    for part in ("docs-1", "docs-2"):
        db.execute("select ragdb.create_corpus(%s, part_of => 'docs')", (part,))
        db.execute("select * from ragdb.put_text(%s, 'a.md', %s)", (part, f"Refunds of {part}."))
    db.execute("select * from ragdb.put_text('docs-2', 'b.md', 'Refunds take long, and longer.')")
    apply(db, contract("", k=3))
    importing(db, [{"name": "q", "query": "refunds", "labels": [{"source": "b.md"}]}])
    assert metrics(db, run(db)["run_id"])["mrr"] == pytest.approx(1 / 3)


def test_a_label_of_a_document_that_is_gone_is_stale(any_db: Connection) -> None:
    apply(any_db, contract(""))
    put(any_db, TEXTS)
    importing(any_db, [{"name": "q", "query": "refund", "labels": [{"source": "docs/late.md"}]}])
    any_db.execute("select ragdb.delete_source('docs', 'docs/late.md')")
    found = run(any_db)
    assert (found["status"], found["stale_labels"]) == ("failed", 1)


@pytest.mark.parametrize(
    "cases",
    [
        {},
        [3],
        [{"name": "a"}],
        [{"name": "a", "query": "q"}, {"name": "a", "query": "q"}],
        [{"name": "a", "query": "q", "labels": [{}]}],
        [{"name": "a", "query": "q", "labels": [{"source": "s", "start": 3}]}],
        [{"name": "a", "query": "q", "labels": [{"source": "s", "start": 3, "end": 3}]}],
        [{"name": "a", "query": "q", "labels": [{"source": "s", "grade": 1.5}]}],
        [{"name": "a", "query": "q", "labels": [{"source": "s"}, {"source": "s", "grade": 2}]}],
        [{"name": "".join(map(chr, range(4096, 8192))), "query": "q"}],
    ],
)
def test_cases_that_cannot_be_meant_are_refused(any_db: Connection, cases: Any) -> None:
    apply(any_db, contract(""))
    with pytest.raises(psycopg.Error) as caught:
        importing(any_db, cases)
    assert caught.value.sqlstate == "RG442"


# ── reports ─────────────────────────────────────────────────────────────────────────────────────

MIXED = contract(
    REFUNDS
    + "      ragAssert kind=contains value=refund required=true\n"
    + '      ragAssert kind=contains value="<a&b>#1 \\u0007" required=true\n'
    + "      ragAssert kind=sourceEq value=advisory\n"
    + CASE.format(name="=broken", query="x", keys="anchor=nothing")
)


def test_tap_is_accepted_by_prove_and_advice_is_todo(any_db: Connection, tmp_path: Path) -> None:
    for text, passes in ((contract(REFUNDS), True), (MIXED, False)):
        found = run(any_db, text)
        tap = report(any_db, found["run_id"], "tap")
        file = tmp_path / "x.tap"
        file.write_text(tap)
        proved = subprocess.run(["prove", "--exec", "cat", file], capture_output=True, text=True)
        assert (proved.returncode == 0) is passes, proved.stdout + proved.stderr
        assert "Parse errors" not in proved.stdout
    assert " # TODO advisory" in tap
    assert "\\#1" in tap


def test_a_label_is_in_one_line_and_moves_no_terminal(any_db: Connection) -> None:
    run(any_db, contract(REFUNDS))
    ((labelled,),) = any_db.execute(
        "select run_id from ragdb.run_eval('A', label => %s)", ("a\x1b[31m\nb",)
    ).fetchall()
    assert report(any_db, labelled, "table").split("\n")[0].endswith(" (a [31m b): passed")


def test_junit_tells_failures_errors_and_skipped_apart(any_db: Connection) -> None:
    found = run(any_db, MIXED)
    (suite,) = ElementTree.fromstring(report(any_db, found["run_id"], "junit").encode())
    counts = {key: int(suite.get(key, "-1")) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": 7, "failures": 1, "errors": 1, "skipped": 1}
    for kind in ("failure", "error", "skipped"):
        assert len(suite.findall(f"testcase/{kind}")) == 1
    (failure,) = suite.findall("testcase/failure")
    assert failure.get("message") == "expected a retrieved chunk text contains <a&b>#1 \ufffd"


def test_a_report_says_what_was_there_only_where_something_was_expected(any_db: Connection) -> None:
    unlabelled = CASE.format(name="bare", query="refund", keys="")
    unlabelled += "      ragAssert kind=recallAtK threshold=0.5 count=5\n"
    run_id = run(any_db, MIXED + unlabelled)["run_id"]
    lines = report(any_db, run_id, "table").splitlines()
    failed, broken, bare = (line for line in lines if line[:5] in ("FAIL ", "ERROR"))
    assert failed.endswith(", was 0")
    assert broken.endswith(" (RG434)")
    assert bare.endswith("has no label to measure by.")
    (suite,) = ElementTree.fromstring(report(any_db, run_id, "junit").encode())
    assert [e.text for kind in ("failure", "error") for e in suite.iter(kind)] == [
        "was 0",
        "RG434",
        None,
    ]
    rows = [line.split(" | ") for line in report(any_db, run_id, "md").splitlines()]
    wrong = [row[3] for row in rows if row[0] in ("| failed", "| error")]
    assert wrong == ["0 |", "RG434 |", " |"]


def test_a_report_in_json_has_what_was_tested_and_nothing_that_is_made_of_it(
    any_db: Connection,
) -> None:
    told = json.loads(report(any_db, run(any_db, MIXED)["run_id"], "json"))
    keys = "n case_no name kind required passed code message expected actual elapsed_ms"
    assert {frozenset(row) for row in told["results"]} == {frozenset(keys.split())}


def test_a_threshold_that_cannot_be_missed_is_one_line_of_a_report(any_db: Connection) -> None:
    found = run(any_db, contract(REFUNDS, gate="metric=hitRate threshold=0"))
    lines = report(any_db, found["run_id"], "table").splitlines()
    failed = [line for line in lines if line.startswith("FAIL")]
    assert failed == ["FAIL      V: threshold 0 cannot be missed"]


@pytest.mark.parametrize("form", ["passing", "mixed", "empty"])
def test_junit_is_valid_by_the_schema_of_its_readers(any_db: Connection, form: str) -> None:
    import xmlschema  # here, because every process of a run collects this file

    schema = xmlschema.XMLSchema10(ROOT / "tests/data/junit.xsd")
    text = {"passing": contract(REFUNDS), "mixed": MIXED, "empty": contract("")}[form]
    made = report(any_db, run(any_db, text)["run_id"], "junit")
    assert [str(error) for error in schema.iter_errors(made)] == []
    for broken in (
        made.replace("<testsuite ", "<testsuite more='' "),
        made.replace("</testsuite>", "<testcase/></testsuite>"),
    ):
        assert not schema.is_valid(broken)


def test_cases_that_assert_nothing_are_one_line_of_the_table(any_db: Connection) -> None:
    idle = "".join(CASE.format(name=f"c{n}", query="refund", keys="") for n in range(1, 8))
    found = run(any_db, contract(REFUNDS + idle))
    lines = report(any_db, found["run_id"], "table").splitlines()
    (line,) = (line for line in lines if "nothing is asserted" in line)
    assert line == "ok        c1, c2, c3, c4, c5 and 2 more: nothing is asserted"
    assert sum(line.startswith("ok        refunds: ") for line in lines) == 3
    assert report(any_db, found["run_id"], "tap").count("nothing is asserted") == 7


@pytest.mark.parametrize("form", ["table", "md", "csv", "json"])
def test_every_format_tells_what_failed(any_db: Connection, form: str) -> None:
    found = run(any_db, MIXED)
    text = report(any_db, found["run_id"], form)
    assert "advisory" in text
    assert "\x07" not in text


def test_rows_of_csv_are_numbered_in_their_order(any_db: Connection) -> None:
    rows = csv.DictReader(report(any_db, run(any_db, MIXED)["run_id"], "csv").splitlines())
    numbers = [int(row["n"]) for row in rows]
    assert numbers == list(range(1, len(numbers) + 1)) != [1]


def test_no_field_of_csv_is_a_formula(any_db: Connection) -> None:
    given = ["=1+1", "+1", "-x", "@SUM(A1)", "-1.5", "plain"]
    made = any_db.execute("select ragdb_internal.csv(t) from unnest(%s::text[]) t", (given,))
    texts = ["'=1+1", "'+1", "'-x", "'@SUM(A1)", "-1.5", "plain"]
    assert [text for (text,) in made] == [f'"{text}"' for text in texts]


def test_markdown_shows_a_name_as_it_is(any_db: Connection) -> None:
    shown = any_db.execute("select ragdb_internal.md('a &lt; ~~b~~')").fetchone()
    assert shown == (r"a \&lt; \~\~b\~\~",)


def test_what_tap_says_of_a_failure_is_yaml(any_db: Connection) -> None:
    case = CASE.format(name="c", query="refund policy", keys="")
    case += '      ragAssert kind=contains value="x\\u007f\\u0085\\u2028y" required=true\n'
    tap = report(any_db, run(any_db, contract(case))["run_id"], "tap")
    (block,) = re.findall(r"  ---\n(.*?)  \.\.\.", tap, re.DOTALL)
    assert yaml.safe_load(block)["expected"] == "x y"


def test_files_of_trec_have_no_white_space_in_a_name(any_db: Connection) -> None:
    """Their readers split lines as Python does, at any white space of Unicode."""
    apply(any_db, contract("", mode="lexical"))
    source = "docs/a\u00a0b\u3000c\x1c.md"
    put(any_db, {source: "refund policy"})
    name = "q\u2003\x1f1"
    importing(any_db, [{"name": name, "query": "refund", "labels": [{"source": source}]}])
    found = run(any_db)["run_id"]
    query, document = (
        f"{shown}~{hashlib.sha256(written.encode()).hexdigest()[:8]}"
        for shown, written in (("q_1", name), ("docs/a_b_c_.md", source))
    )
    for what, marks in (("run", ["Q0", "1"]), ("qrels", ["0", "1"])):
        ((line,),) = any_db.execute("select ragdb.export_trec(%s, %s)", (found, what)).fetchall()
        assert line.split()[:4] == [query, marks[0], document, marks[1]]


def test_a_metric_that_rounds_to_its_threshold_is_told_with_its_digits(any_db: Connection) -> None:
    missed = "select ragdb_internal.below_threshold('mrr', %s, 0.8)"
    assert any_db.execute(missed, (0.79999,)).fetchone() == ("mrr is 0.79999, below 0.8",)
    assert any_db.execute(missed, (0.5,)).fetchone() == ("mrr is 0.5000, below 0.8",)


def test_psql_exits_with_3_for_a_run_that_failed(server18: Server, clone: str) -> None:
    with psycopg.connect(clone) as connection:
        apply(connection, contract(REFUNDS))
        put(connection, TEXTS)
    psql = postgres.programs(server18.version) / "psql"

    def psql_report(*more: str) -> subprocess.CompletedProcess[str]:
        script = str(ROOT / "reports/eval_report.sql")
        command = [str(psql), clone, "-X", "-v", "rag=A", *more, "-f", script]
        return subprocess.run(command, capture_output=True, text=True)

    passed = psql_report("-v", "format=tap")
    assert passed.returncode == 0, passed.stderr
    assert passed.stdout.startswith("TAP version")
    with psycopg.connect(clone) as connection:
        apply(connection, contract(REFUNDS.replace("topK=1", "topK=1 chunkCount=2")))
    failed = psql_report()
    assert failed.returncode == 3
    assert "expected 2 chunks" in failed.stdout
    unset = subprocess.run(
        [str(psql), clone, "-X", "-f", str(ROOT / "reports/eval_report.sql")],
        capture_output=True,
        text=True,
    )
    assert unset.returncode == 3
    assert "no rag is named" in unset.stderr
    assert "psql -v rag=NAME" in unset.stderr


def test_psql_alone_applies_a_contract_of_a_file_and_runs_its_eval(
    server18: Server, clone: str, tmp_path: Path
) -> None:
    library = ROOT / "examples/tool-library"
    broken = tmp_path / "broken.kern"
    broken.write_text("corpus name=Demo\n  sorce name=x\n")
    script = tmp_path / "apply.sql"
    script.write_text(
        "\\set contract `cat :file`\n"
        "select name, version, is_new, nodes from ragdb.apply_contract(:'contract', 'desk');\n"
    )
    documents = tmp_path / "documents.sql"
    documents.write_text(
        "".join(
            f"\\set text `cat {page}`\n"
            f"select ragdb.put_text('demo', 'handbook/{page.name}', :'text');\n"
            for page in sorted((library / "handbook").iterdir())
            if page.suffix in (".md", ".txt")
        )
    )

    def psql(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = str(postgres.programs(server18.version) / "psql")
        command = [program, clone, "-XAtq", "-v", "ON_ERROR_STOP=1", *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    wrong = psql("-v", f"file={broken}", "-f", str(script))
    assert wrong.returncode == 3
    assert "line 2, column 3" in wrong.stderr
    desk = f"file={library / 'desk.kern'}"
    assert psql("-v", desk, "-f", str(script)).stdout == "desk|1|t|19\n"
    assert psql("-v", desk, "-f", str(script)).stdout == "desk|1|f|19\n"
    put_all = psql("-f", str(documents))
    assert put_all.returncode == 0, put_all.stderr
    cases = (
        "select string_agg(concat_ws(' ', origin, name), ',') from ragdb.list_eval_cases('Desk')"
    )
    assert psql("-c", cases).stdout.strip() == ",".join(
        f"contract {name}" for name in ("deposit", "late", "opening", "trailer", "parking")
    )
    done = psql("-v", "rag=Desk", "-f", str(ROOT / "reports/eval_report.sql"))
    # the handbook says nothing of parking
    assert done.returncode == 3
    told = psql("-c", "select status, passed_cases, cases from ragdb.list_eval_runs('Desk')")
    assert told.stdout == "failed|4|5\n"


# ── comparing ───────────────────────────────────────────────────────────────────────────────────


def compare(db: Connection, one: Any, other: Any) -> list[tuple[Any, ...]]:
    return db.execute(
        "select metric, verdict, detail from ragdb.compare_runs(%s, %s)", (one, other)
    ).fetchall()


def test_a_case_that_nothing_judges_and_that_finds_nothing_any_more_is_a_regression(
    any_db: Connection,
) -> None:
    asserted = "\n      ragAssert kind=latencyLte valueMs=1000000 required=true"
    cases = (
        CASE.format(name="bare", query="refund", keys="")
        + CASE.format(name="still", query="shipping of parcels", keys="")
        + CASE.format(name="asserted", query="refund", keys=asserted)
    )

    def ran(cases: str, min_score: int) -> Any:
        scored = contract(cases).replace("topK=5", f"topK=5 minScore={min_score}")
        return run(any_db, scored)["run_id"]

    before, after = (ran(cases, min_score) for min_score in (0, 1))
    assert compare(any_db, before, after)[0][1:] == (
        "regressed",
        "passed before and fails now: bare: found chunks and finds none now",
    )
    assert compare(any_db, after, before)[0][1] != "regressed"
    # a label says that what is gone was not wanted
    labels = [{"source": "docs/shipping.md"}]
    apply(any_db, contract(""))
    importing(any_db, [{"name": "q", "query": "refund", "labels": labels}])
    before, after = (ran("", min_score) for min_score in (0, 1))
    assert compare(any_db, before, after)[0][1] == "within_noise"


def labelled(db: Connection, k: int, n: int = 20) -> Any:
    """A run over n cases, each with a document that ranks fifth."""
    apply(db, contract("", k=k))
    if db.execute("select documents from ragdb.corpora where name = 'docs'").fetchone() == (0,):
        texts = {f"{i}-{j}": f"word{i}" + " more" * j for i in range(n) for j in range(6)}
        put(db, texts)
        importing(db, [
            {"name": f"q{i}", "query": f"word{i}", "labels": [{"source": f"{i}-4"}]} for i in range(n)
        ])  # fmt: skip
    return run(db)["run_id"]


def test_the_same_run_again_is_within_noise(db: Connection) -> None:
    first = labelled(db, 5)
    db.execute("select ragdb.bless_run(%s)", (first,))
    for _ in range(3):
        rows = compare(db, first, labelled(db, 5))
        assert {verdict for _, verdict, _ in rows} == {"within_noise"}
    assert db.execute("select ragdb.baseline_run('A', 'V')").fetchone() == (first,)


@pytest.mark.nightly
def test_200_runs_on_an_unchanged_corpus_differ_in_nothing(clone: str) -> None:
    ids = (
        "select array_agg((h.chunk_id, h.rank, h.score)::text order by c.case_no, h.rank)"
        " from ragdb.eval_case_results(%s) c cross join lateral ragdb.trace_hits(c.trace_id) h"
    )
    with psycopg.connect(clone, autocommit=True) as db:
        first = labelled(db, 5)
        expected = db.execute(ids, (first,)).fetchall()
        verdicts: dict[str, int] = {}
        for _ in range(200):
            again = run(db)["run_id"]
            assert db.execute(ids, (again,)).fetchall() == expected
            for _, verdict, _ in compare(db, first, again):
                verdicts[verdict] = verdicts.get(verdict, 0) + 1
    assert verdicts.keys() == {"within_noise"}


def test_a_worse_retriever_is_a_regression_and_a_better_one_an_improvement(
    db: Connection,
) -> None:
    good, bad = labelled(db, 5), labelled(db, 4)
    verdicts = {metric: verdict for metric, verdict, _ in compare(db, good, bad)}
    assert verdicts[None] == verdicts["recall@5"] == verdicts["mrr"] == "regressed"
    verdicts = {metric: verdict for metric, verdict, _ in compare(db, bad, good)}
    assert verdicts[None] == verdicts["recall@5"] == "improved"


def test_two_per_cent_of_the_baseline_are_no_regression(db: Connection) -> None:
    good, bad = labelled(db, 5), labelled(db, 5)
    db.execute("alter table ragdb.eval_metrics disable trigger user")
    for less, verdict in ((0.019, "within_noise"), (0.002, "regressed")):
        db.execute(
            "update ragdb.eval_metrics set value = value - %s where run_id = %s"
            " and metric = 'recall@5'",
            (less, bad),
        )
        assert {m: v for m, v, _ in compare(db, good, bad)}["recall@5"] == verdict


def test_what_says_nothing_of_quality_decides_only_where_the_eval_asks_for_it(
    db: Connection,
) -> None:
    """The least score and the share that was judged fall with each hit more."""
    good, bad = labelled(db, 5), labelled(db, 5)
    db.execute("alter table ragdb.eval_metrics disable trigger user")
    db.execute("alter table ragdb.eval_runs disable trigger user")
    db.execute(
        "update ragdb.eval_metrics set value = value - 0.2"
        " where run_id = %s and metric in ('min_relevance', 'judged@5')",
        (bad,),
    )
    verdicts = {metric: verdict for metric, verdict, _ in compare(db, good, bad)}
    assert verdicts[None] == "within_noise"
    assert {m for m, v in verdicts.items() if v == "regressed"} == {"min_relevance", "judged@5"}
    db.execute("update ragdb.eval_runs set metric = 'judged@5' where run_id = %s", (bad,))
    assert compare(db, good, bad)[0][1] == "regressed"


def test_a_required_assertion_that_fails_now_is_a_regression(any_db: Connection) -> None:
    text = contract(REFUNDS + "      ragAssert kind=chunkCountEq count=1 required=true\n", k=5)
    good = run(any_db, text)["run_id"]
    bad = run(any_db, text.replace("topK=1 minScore=0.25", "topK=2"))["run_id"]
    (verdict,) = compare(any_db, good, bad)[:1]
    assert verdict[1] == "regressed"
    assert "expected exactly 1 chunks" in verdict[2]


def test_runs_of_other_documents_or_without_a_baseline_are_not_compared(any_db: Connection) -> None:
    first = labelled(any_db, 5)
    put(any_db, {"new": "another document"})
    assert compare(any_db, first, labelled(any_db, 5))[0][1:] == (
        "incomparable",
        "differ in: documents",
    )
    assert compare(any_db, None, first)[0][1] == "no_baseline"


def labelled_in(db: Connection, corpus: str, rag: str, end: int = 9, **changed: str) -> Any:
    """A run over a corpus whose only chunk of each document has the span that is labelled."""
    text = contract("", mode="lexical", k=3).replace("corpus name=docs", f"corpus name={corpus}")
    text = text.replace("name=R corpus=docs", f"name=R{rag} corpus={corpus}")
    text = text.replace("name=A retriever=R", f"name={rag} retriever=R{rag}")
    db.execute("select * from ragdb.apply_contract(%s, %s)", (text, f"of-{rag}"))
    texts = {f"d{n}": f"word{n} in a text. And a second sentence of it." for n in range(12)}
    texts |= changed
    db.execute(
        "select ragdb.put_texts(%s, %s, ids => %s)", (corpus, list(texts.values()), list(texts))
    )
    cases = [
        {
            "name": f"q{n}",
            "query": f"word{n}",
            "labels": [{"source": f"d{n}", "start": 0, "end": end}],
        }
        for n in range(12)
    ]
    db.execute("select * from ragdb.import_eval(%s, 'V', %s)", (rag, Jsonb(cases)))
    ((found,),) = db.execute("select run_id from ragdb.run_eval(%s)", (rag,)).fetchall()
    return found


@pytest.mark.by_day(1)
def test_runs_over_two_corpora_of_the_same_documents_cases_and_labels_are_compared(
    any_db: Connection,
) -> None:
    """So two ways to cut documents into chunks, or two retrievers, are told apart."""
    one, other = labelled_in(any_db, "one", "A"), labelled_in(any_db, "other", "B")
    rows = compare(any_db, one, other)
    assert "recall@5" in {metric for metric, *_ in rows}
    assert {verdict for _, verdict, _ in rows} == {"within_noise"}
    # another rag of the same corpus
    assert compare(any_db, one, labelled_in(any_db, "one", "C"))[0][1] == "within_noise"
    # other labels, and other documents
    assert compare(any_db, one, labelled_in(any_db, "third", "D", end=8))[0][1:] == (
        "incomparable",
        "differ in: labels",
    )
    fourth = labelled_in(any_db, "fourth", "E", d0="word0 in another.")
    assert compare(any_db, one, fourth)[0][1:] == ("incomparable", "differ in: documents")


def test_runs_of_labels_that_changed_meanwhile_are_not_compared(any_db: Connection) -> None:
    apply(any_db, contract("", mode="lexical"))
    put(any_db, TEXTS)

    def run_with(late: int, more: bool = False) -> Any:
        cases = [
            {
                "name": f"q{n}",
                "query": "refund policy",
                "tags": ["first"] if n < 12 else [],
                "labels": [
                    {"source": "docs/refunds.md", "grade": 1},
                    {"source": "docs/late.md", "grade": late if n < 12 else 3},
                ],
            }
            for n in range(12 + more)
        ]
        importing(any_db, cases)
        return run(any_db, tags=["first"])["run_id"]

    first = run_with(2)
    differ = ("incomparable", "differ in: labels")
    assert compare(any_db, first, run_with(1))[0][1:] == differ
    # what an eval has beside the cases of a run is not part of it
    assert compare(any_db, first, run_with(2, more=True))[0][1] == "within_noise"


@pytest.mark.parametrize(
    ("failing", "holding"),
    [
        ("kind=rankLte value=docs/late.md count=1", "kind=rankLte value=docs/late.md count=3"),
        ("kind=scoreGte threshold=0.9 quantifier=all", "kind=scoreGte threshold=0.9"),
        ("kind=chunkCountLte count=1", "kind=chunkCountLte count=1 negate=true"),
    ],
)
def test_assertions_of_one_value_are_told_apart(
    any_db: Connection, failing: str, holding: str
) -> None:
    """A run is not a regression of itself."""
    case = CASE.format(name="c", query="refund policy", keys="")
    asserts = "".join(f"      ragAssert {keys} required=true\n" for keys in (failing, holding))
    first = run(any_db, contract(case + asserts))
    assert [code for _, code in results(any_db, first["run_id"])] == ["ASSERTION_FAIL", "PASS"]
    assert compare(any_db, first["run_id"], run(any_db)["run_id"])[0][1] == "within_noise"


def test_few_cases_cannot_tell(any_db: Connection) -> None:
    good, bad = labelled(any_db, 5, n=3), labelled(any_db, 4, n=3)
    rows = compare(any_db, good, bad)
    assert rows[0][1] == "inconclusive"
    # of n cases the test has no p below 2 ** (1 - n), and Holm multiplies it by the metrics
    metrics = len(rows) - 1
    least = next(n for n in range(1, 99) if 2.0 ** (1 - n) * metrics <= 0.05)
    assert {detail for _, verdict, detail in rows[1:] if verdict == "inconclusive"} == {
        f"3 cases cannot tell a difference of {metrics} metrics from noise, however large: it takes"
        f" {least}"
    }
    told = "select count(*) from ragdb.compare_runs(%s, %s) where smallest_effect is not null"
    assert any_db.execute(told, (good, bad)).fetchone() == (0,)


DIFFERENCES = [(n * 7919 % 2001 - 900) * 1_000_000 for n in range(100)]


def blocks(seed: str, replicate: int, count: int) -> bytes:
    key = hashlib.sha256(seed.encode()).digest()
    return b"".join(
        hashlib.sha512(key + struct.pack(">ii", replicate, block)).digest()
        for block in range(count)
    )


def test_the_statistics_are_those_of_a_twin_and_the_same_everywhere(any_db: Connection) -> None:
    n, resamples = len(DIFFERENCES), 1000
    totals, means = [], []
    for replicate in range(1, resamples + 1):
        bits = blocks("s", replicate, 1)
        totals.append(
            sum(d if bits[i // 8] >> i % 8 & 1 else -d for i, d in enumerate(DIFFERENCES))
        )
        draws = blocks("s:bootstrap", replicate, 4)
        means.append(
            sum(DIFFERENCES[(256 * draws[2 * i] + draws[2 * i + 1]) % n] for i in range(n))
        )
    observed = abs(sum(DIFFERENCES))
    twin = (1 + sum(abs(total) >= observed for total in totals)) / (1 + resamples)
    means.sort()
    found = any_db.execute(
        "select ragdb_internal.sign_flip_p(%(d)s::bigint[], 's', %(n)s), b.low, b.high"
        " from ragdb_internal.bootstrap(%(d)s::bigint[], 's', %(n)s) b",
        {"d": DIFFERENCES, "n": resamples},
    ).fetchone()
    assert found == (twin, means[24] / (1e9 * n), means[974] / (1e9 * n))


def test_few_pairs_are_tested_exactly(any_db: Connection) -> None:
    few = DIFFERENCES[:9]
    flips = [
        abs(sum(s * d for s, d in zip(signs, few, strict=True)))
        for signs in itertools.product((1, -1), repeat=9)
    ]
    found = any_db.execute(
        "select ragdb_internal.sign_flip_p(%s::bigint[], 's', 100)", (few,)
    ).fetchone()
    assert found == (sum(flip >= abs(sum(few)) for flip in flips) / 512,)


# ── can it fail? ────────────────────────────────────────────────────────────────────────────────


def test_a_suite_that_asserts_much_catches_broken_retrievers_and_one_that_asserts_little_does_not(
    any_db: Connection,
) -> None:
    put_later = contract(
        CASE.format(name="strong", query="refund policy of", keys="topK=2 chunkCount=2")
        + "      ragAssert kind=topSourceEq value=docs/refunds.md required=true\n"
        + "      ragAssert kind=citesRequired required=true\n"
        + "      ragAssert kind=contains value=policy required=true\n"
        + "      ragAssert kind=topScoreGte threshold=0.6 required=true\n"
        + "      ragAssert kind=chunkHash value=e8280c3cc84a80c7de69ebf04cbb484a required=true\n"
        + CASE.format(name="idle", query="shipping", keys="")
    )
    run(any_db, put_later)
    rows = any_db.execute("select * from ragdb.challenge_eval('A')").fetchall()
    caught = {name for subject, name, applies, hit, *_ in rows if subject == "retriever" and hit}
    applied = {name for subject, name, applies, *_ in rows if subject == "retriever" and applies}
    assert len(applied) >= 12
    assert caught >= {
        "reversed order", "first result dropped", "one more than topK", "citation stripped",
        "stale chunk", "empty", "text lost", "every chunk twice", "scores halved",
    }  # fmt: skip
    assert ("case", "idle") in {row[:2] for row in rows}
    assert ("case", "strong") not in {row[:2] for row in rows}


def challenged(db: Connection) -> tuple[dict[str, str | None], set[str]]:
    """Which broken retrievers are caught, by what, and the cases that catch none."""
    rows = db.execute("select * from ragdb.challenge_eval('A')").fetchall()
    caught = {name: by for subject, name, _, hit, _, by in rows if subject == "retriever" and hit}
    return caught, {row[1] for row in rows if row[0] == "case"}


@pytest.mark.parametrize(
    ("gate", "asserted", "caught"),
    [
        ("metric=citationCoverage threshold=1", "", {"citation stripped", "empty"}),
        ("metric=minRelevance threshold=0.6", "", {"scores halved", "empty"}),
        ("metric=hitRate threshold=1", "kind=contains value=policy", {"text lost", "empty"}),
        ("metric=grounding threshold=1", "kind=citesRequired", {"citation stripped", "empty"}),
    ],
)
def test_the_metric_of_an_eval_catches_broken_retrievers_as_a_run_does(
    any_db: Connection, gate: str, asserted: str, caught: set[str]
) -> None:
    case = CASE.format(name="c", query="refund policy", keys="")
    if asserted:
        case += f"      ragAssert {asserted}\n"
    assert run(any_db, contract(case, gate=gate, k=1))["status"] == "passed"
    rows = any_db.execute("select * from ragdb.challenge_eval('A')").fetchall()
    found = {name: by for kind, name, _, is_caught, _, by in rows if is_caught}
    assert caught <= found.keys()
    assert "reversed order" not in found
    assert [row for row in rows if row[0] == "case"] == []


@pytest.mark.parametrize("metric", ["ndcg@5", "ndcg@3"])
def test_of_judgements_alone_the_metric_catches_broken_retrievers(
    db: Connection, metric: str
) -> None:
    run(db, contract("", k=2, gate=f"metric={metric} threshold=0.9"))
    cases = [
        {"name": source, "query": text, "labels": [{"source": source, "grade": 2}]}
        for source, text in TEXTS.items()
    ]
    importing(db, cases)
    assert run(db)["status"] == "passed"
    caught, idle = challenged(db)
    assert caught.keys() >= {"reversed order", "first result dropped", "empty"}
    assert caught["empty"] == f"{metric} is 0.0000, below 0.9"
    assert "one more than topK" not in caught
    assert idle == set()
    # a metric that is missed already notices nothing more, and without one nothing does
    for gate in ("metric=precision@5 threshold=0.9", ""):
        apply(db, contract("", k=2, gate=gate))
        importing(db, cases)
        assert challenged(db) == ({}, set(TEXTS))


# ── speed ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.nightly
def test_a_thousand_cases_of_ten_assertions_take_five_seconds_after_retrieval(
    db: Connection,
) -> None:
    asserts = "".join(
        f"      ragAssert kind=contains value=word{n} required=true\n" for n in range(10)
    )
    text = contract("".join(
        CASE.format(name=f"c{n}", query=f"word{n % 50} common", keys="") + asserts for n in range(1000)
    ))  # fmt: skip
    apply(db, text)
    put(
        db,
        {
            f"d{n}": "common " + " ".join(f"word{(n + m) % 50}" for m in range(40))
            for n in range(200)
        },
    )
    found = run(db)
    ((retrieval,),) = db.execute(
        "select sum(elapsed_ms) from ragdb.eval_case_results(%s)", (found["run_id"],)
    ).fetchall()
    assert found["assertions"] == 10_000
    assert found["elapsed_ms"] - retrieval < 15_000  # retrievals are recorded meanwhile


def cases_of(count: int) -> str:
    return "".join(
        CASE.format(name=f"q{n}", query=f"refund {n}", keys="topK=1 sources=docs/refunds.md")
        for n in range(count)
    )


def rows_read(db: Connection) -> int:
    """Rows of cases and metrics, and entries of their indexes, that this transaction has read."""
    ((rows,),) = db.execute(
        "select sum(pg_stat_get_xact_tuples_returned(c.oid))::integer from pg_class c"
        " left join pg_index i on i.indexrelid = c.oid where coalesce(i.indrelid, c.oid)"
        " in ('ragdb.eval_case_results'::regclass, 'ragdb.eval_metrics'::regclass)"
    ).fetchall()
    return int(rows)


def test_a_run_reads_each_metric_of_its_cases_a_few_times(db: Connection) -> None:
    run(db, contract(cases_of(400)))  # from now on there are statistics, without the next run
    before = rows_read(db)
    found = run(db)
    metrics = db.execute(
        "select count(*) from ragdb.eval_metrics(%s)", (found["run_id"],)
    ).fetchone()
    assert metrics is not None
    # by nested loops 400 * 400 / 2 more
    assert rows_read(db) - before < 4 * metrics[0]


def test_two_runs_are_compared_by_reading_each_once(db: Connection) -> None:
    one, other = run(db, contract(cases_of(60)))["run_id"], run(db)["run_id"]
    before = rows_read(db)
    found = db.execute("select cases from ragdb.compare_runs(%s, %s)", (one, other)).fetchall()
    assert len(found) > 10
    # by nested loops 60 * 60 * 13
    assert rows_read(db) - before < 2 * 2 * 60 * len(found)
