"""`ragdb ask` answers with sources, or says that the corpus has no answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import ragdb
from ragdb.database import Database
from ragdb.errors import ContractNotFound
from ragdb.evidence.database import CorpusRetriever, PostgresRetriever
from ragdb.evidence.engine import Engine
from ragdb.evidence.packs import build_evidence_pack
from ragdb.evidence.retrieval import RetrievalQuery
from tests.conftest import Connection, Run
from tests.embedding import WIDTH, embed, make_corpus
from tests.endpoint import Fake, says, serving


@pytest.fixture
def fake() -> Iterator[Fake]:
    with serving() as server:
        yield server


def fill(dsn: str) -> None:
    with ragdb.connect(dsn) as db:
        db.create_corpus("docs")
        db.put_text(
            "docs",
            "refunds.md",
            "Refunds are paid within 14 days. Gifts are refunded as vouchers.",
            "Refunds",
        )
        db.put_text("docs", "shipping.md", "Shipping takes five days. Vouchers never expire.")


@pytest.fixture(scope="module")
def made(module_clone: str) -> str:
    """A database with a corpus of two documents; what is asked of it stays on record."""
    fill(module_clone)
    return module_clone


@pytest.fixture
def run(run_on: Callable[[str], Run], made: str) -> Run:
    return run_on(made)


def test_an_answer_is_printed_with_its_sources(run: Run) -> None:
    done = run("ask", "How are gifts refunded?", "-c", "docs")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[:3] == [
        "Gifts are refunded as vouchers. [1]",
        "",
        "[1] refunds.md",
    ]
    assert "citations checked; recorded as trace" in done.stderr
    assert "not entailment" in done.stderr


def test_the_only_corpus_need_not_be_named(run_on: Callable[[str], Run], clone: str) -> None:
    fill(clone)
    run = run_on(clone)
    done = run("ask", "how are gifts refunded")
    assert done.stdout.startswith("Gifts are refunded as vouchers. [1]"), done.stderr
    assert "vouchers" in run("pack", "vouchers").stdout
    with ragdb.connect(clone) as db:
        db.create_corpus("more")
    for verb in ("ask", "pack"):
        done = run(verb, "how are gifts refunded")
        assert done.exit_code == 2
        assert "there are 2 corpora, and this takes one" in done.stderr
        assert "docs, more\n" in done.stderr
    with ragdb.connect(clone) as db:
        for n in range(7):
            db.create_corpus(f"x{n}")
    assert "docs, more, x0, x1, x2, x3, x4, x5 and 1 more\n" in run("ask", "gifts").stderr
    assert run("ask", "how are gifts refunded", "-c", "docs").exit_code == 0
    with ragdb.connect(clone) as db:
        db.apply_contract(
            "corpus name=docs\n"
            "retriever name=Shelf corpus=docs mode=lexical\n"
            "rag name=Desk retriever=Shelf",
            "desk",
        )
    # a rag and a retriever name their corpus
    for named in (("--rag", "Desk"), ("--retriever", "Shelf")):
        assert run("ask", "how are gifts refunded", *named).exit_code == 0


def test_what_the_corpus_does_not_say_is_a_negative_verdict(run: Run) -> None:
    done = run("ask", "Who governs the planet Mars?", "-c", "docs")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "the corpus does not say" in done.stderr
    done = run("ask", "What is it?", "-c", "docs")
    assert done.exit_code == 1
    assert "it has no word to search for" in done.stderr


def test_a_greeting_is_looked_up_only_where_somebody_says_so(run: Run, made: str) -> None:
    with ragdb.connect(made) as db:
        before = len(db.list_traces())
        done = run("ask", "hello", "-c", "docs")
        assert (done.exit_code, done.stdout) == (1, "")
        assert "it is a greeting" in done.stderr
        assert len(db.list_traces()) == before
        assert run("ask", "hello", "-c", "docs", "--mode", "on").exit_code == 1
        assert len(db.list_traces()) == before + 1


def test_the_answer_as_json_has_its_evidence(run: Run, made: str) -> None:
    done = run("ask", "How are gifts refunded?", "--json", "-c", "docs")
    answer = json.loads(done.stdout)
    assert answer["answer"] == "Gifts are refunded as vouchers."
    assert answer["problems"] == []
    assert answer["gate"]["enough"] is True
    with ragdb.connect(made) as db:
        assert db.get_trace(answer["trace_id"]).corpus == "docs"
        pack: Any = db.build_evidence_pack(answer["trace_id"])
    assert pack["hash"] == answer["evidence_hash"]


def test_a_pack_is_printed_as_it_is_hashed(run: Run) -> None:
    shown = run("pack", "vouchers", "-c", "docs")
    made = json.loads(run("pack", "vouchers", "--json", "-c", "docs").stdout)
    assert shown.stdout == made["canonical_text"] + "\n"
    assert f"hash {made['hash']}" in shown.stderr
    assert run("pack", "zebra", "-c", "docs").exit_code == 1
    cut = json.loads(run("pack", "vouchers", "--max-context", "40", "--json", "-c", "docs").stdout)
    assert cut["size"] <= 40
    assert run("ask", "x", "-c", "none").exit_code == 2


def test_the_retriever_of_a_contract_finds_and_records(db: Connection) -> None:
    base = Database(db)
    base.create_corpus("docs")
    base.put_text("docs", "refunds.md", "Gifts are refunded as vouchers.")
    retriever = {"name": "DocsSearch", "corpus": "Docs", "mode": "lexical", "topK": 3}
    base.apply_contract(
        {
            "nodes": [
                {"node": "corpus", "keys": {"name": "Docs"}},
                {"node": "retriever", "keys": retriever},
            ]
        }
    )
    chunks = PostgresRetriever(base, "DocsSearch").retrieve(RetrievalQuery("gifts", top_k=2))
    assert [c.source_id for c in chunks] == ["refunds.md"]
    trace = chunks[0].metadata["trace_id"]
    assert base.get_trace(trace).retriever == "DocsSearch"
    theirs: Any = base.build_evidence_pack(trace)
    assert build_evidence_pack(chunks, "docs").hash == theirs["hash"]


CONTRACT = {
    "contract_spec_format": 2,
    "task_id": "t",
    "version": "1",
    "capabilities": {"supports_rag": True, "requires_rag": True, "returns_citations": True},
    "rag_policy": {"enough_context_gate": True, "require_citations": True},
    "verification_policy": {"verifier_ids": ["rag.citations"]},
}


def test_what_was_asked_is_on_record(run: Run, made: str) -> None:
    found = json.loads(run("ask", "How are gifts refunded?", "--json", "-c", "docs").stdout)
    assert run("ask", "Who governs the planet Mars?", "-c", "docs").exit_code == 1
    with psycopg.connect(made) as db:
        gates = db.execute(
            "select trace_id::text, left(pack_hash, 16), is_enough, coverage, client"
            " from ragdb.evidence_gates order by id desc limit 2"
        ).fetchall()[::-1]
        answers = db.execute(
            "select trace_id::text, left(pack_hash, 16), is_insufficient, is_verified, citations,"
            " model from ragdb.evidence_answers order by id desc limit 2"
        ).fetchall()[::-1]
        cited = db.execute(
            "select c.source_id, c.method, c.start_offset, c.code from ragdb.answer_citations c"
            " join ragdb.evidence_answers a on a.id = c.answer_id where a.trace_id = %s",
            (found["trace_id"],),
        ).fetchall()
    assert gates[0] == (found["trace_id"], found["evidence_hash"], True, 1, "ragdb ask")
    assert gates[1][2:] == (False, 0, "ragdb ask")
    assert answers[0] == (found["trace_id"], found["evidence_hash"], False, True, 1, None)
    assert answers[1][2:] == (True, True, 0, None)
    assert cited == [("refunds.md", "exact", 33, None)]


def test_a_contract_decides_how_is_asked(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "contract.json"
    path.write_text(json.dumps(CONTRACT))
    done = run("ask", "How are gifts refunded?", "--contract", str(path), "--json", "-c", "docs")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["trace_summary"]["rag_mode"] == "required"
    done = run("ask", "Who governs the planet Mars?", "--contract", str(path), "-c", "docs")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("rag required but no evidence found; recorded as trace ")
    path.write_text(json.dumps({**CONTRACT, "rag_policy": {"mode": "never"}}))
    done = run("ask", "x", "--contract", str(path), "-c", "docs")
    assert done.exit_code == 2
    assert "rag_policy.mode: 'never' is not one of" in done.stderr


def test_a_model_answers_and_is_checked(run: Run, fake: Fake, made: str) -> None:
    with ragdb.connect(made) as db:
        (hit, *_) = db.search("docs", "gifts refunded")
    cites = [{"source_id": hit.source, "chunk_id": hit.chunk_id, "quote": "refunded as vouchers"}]
    fake.script = [
        says(
            {"answer": "As vouchers.", "citations": cites},
            usage={"prompt_tokens": 321, "completion_tokens": 12},
        )
    ]
    arguments = [
        "ask",
        "How are gifts refunded?",
        "-c",
        "docs",
        "--model",
        "m",
        "--endpoint",
        fake.url,
    ]
    done = run(*arguments)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[:3] == ["As vouchers. [1]", "", "[1] refunds.md"]
    nonsense = {"prompt_tokens": -1, "completion_tokens": "many"}
    fake.script = [says({"answer": "In cash.", "citations": [{"chunk_id": "c7"}]}, usage=nonsense)]
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "citation[0]: unknown chunk_id 'c7'" in done.stderr
    with psycopg.connect(made) as connection:
        rows = connection.execute(
            "select model, attempt, is_verified, input_tokens, output_tokens, elapsed_ms > 0"
            " from ragdb.evidence_answers where model = 'm' order by id"
        ).fetchall()
    assert rows == [
        ("m", 1, True, 321, 12, True),
        ("m", 1, False, None, None, True),
        ("m", 2, False, None, None, True),
    ]
    assert run("ask", "x", "--endpoint", fake.url, "-c", "docs").exit_code == 2


def test_a_corpus_with_embeddings_is_asked_by_meaning_too(run: Run, made: str) -> None:
    with psycopg.connect(made, autocommit=True) as db:
        make_corpus(db, {"a": "gifts are refunded as vouchers", "b": "the moon"}, "meant")
        embed(db)
    found = json.loads(run("ask", "How are gifts refunded?", "--json", "-c", "meant").stdout)
    packed = json.loads(run("pack", "How are gifts refunded?", "--json", "-c", "meant").stdout)
    with ragdb.connect(made) as base:
        for trace_id in (found["trace_id"], packed["trace_id"]):
            assert base.get_trace(trace_id).rank_mode == "hybrid"
    assert found["evidence_hash"] == packed["hash"]


def test_a_hybrid_retriever_of_a_contract_embeds_its_query(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        make_corpus(db, {"a": "gifts are refunded as vouchers", "b": "the moon"})
        embed(db)
        base = Database(db)
        base.apply_contract(
            {
                "nodes": [
                    {"node": "corpus", "keys": {"name": "Docs"}},
                    {
                        "node": "embed",
                        "keys": {"name": "E", "corpus": "Docs", "model": "hash", "dims": WIDTH},
                    },
                    {
                        "node": "retriever",
                        "keys": {"name": "Both", "corpus": "Docs", "embed": "E", "mode": "hybrid"},
                    },
                ]
            }
        )
        retriever = PostgresRetriever(base, "Both")
        answer = Engine(base, retriever=retriever).run("How are gifts refunded?")
        assert answer.output["answer"] == "gifts are refunded as vouchers"
        trace = base.get_trace(answer.trace_summary["trace_ids"][0])
        assert (trace.rank_mode, trace.retriever) == ("hybrid", "Both")
        assert base.get_retriever("Both").corpus == "docs"
        with pytest.raises(ContractNotFound):
            base.get_retriever("None")


def test_a_pack_of_the_engine_is_that_of_the_database(run: Run, made: str) -> None:
    with ragdb.connect(made) as db:
        engine = Engine(db, retriever=CorpusRetriever(db, "docs"))
        answer = engine.run("How are gifts refunded and when do vouchers expire?")
        assert answer.pack is not None
        ids = [packed.chunk.chunk_id for packed in answer.pack.chunks]
        theirs: Any = db.build_evidence_pack(chunk_ids=ids, corpus="docs")
        assert len(answer.trace_summary["trace_ids"]) == 3
        # each chunk was retrieved by one of the three
        rows = db.check_citations(
            {"answer": "x", "citations": [{"chunk_id": i} for i in ids]}, answer.pack.as_json()
        )
    assert answer.pack.canonical_text == theirs["canonical_text"]
    assert [row.code for row in rows] == [None] * len(ids)


def test_an_answer_and_a_pack_are_of_what_a_filter_lets_in(run: Run) -> None:
    for source, code in (("refunds.md", 0), ("shipping.md", 1)):
        among = json.dumps({"source": source})
        done = run("ask", "How are gifts refunded?", "-c", "docs", "--filter", among)
        assert done.exit_code == code, done.stderr
        made = json.loads(run("pack", "vouchers", "-c", "docs", "--filter", among, "--json").stdout)
        assert [chunk["source_id"] for chunk in made["chunks"]] == [source]
    wrong = run("pack", "vouchers", "-c", "docs", "--filter", "source=x")
    assert (wrong.exit_code, "--filter is not JSON" in wrong.stderr) == (2, True)


def test_a_pack_need_not_be_recorded(run: Run, made: str) -> None:
    recorded = json.loads(run("pack", "vouchers", "-c", "docs", "--json").stdout)
    with ragdb.connect(made) as db:
        before = len(db.list_traces())
        unrecorded = run("pack", "vouchers", "-c", "docs", "--no-record", "--json")
        assert json.loads(unrecorded.stdout)["hash"] == recorded["hash"]
        shown = run("pack", "vouchers", "-c", "docs", "--no-record")
        assert "trace" not in shown.stderr
        assert run("pack", "zebra", "-c", "docs", "--no-record").exit_code == 1
        assert len(db.list_traces()) == before
