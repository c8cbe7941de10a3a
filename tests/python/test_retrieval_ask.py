"""`ragdb ask` answers with sources or says that the corpus does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

import ragdb
from ragdb.cli import app
from ragdb.client import Database
from ragdb.retrieval import PostgresRetriever, RetrievalQuery, build_evidence_pack
from tests.conftest import Connection

Run = Callable[..., Any]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, clone: str) -> Run:
    """The command line on a corpus of two documents."""
    monkeypatch.setenv("RAGDB_DATABASE_URL", clone)
    monkeypatch.setenv("COLUMNS", "200")
    with ragdb.connect(clone) as db:
        db.create_corpus("docs")
        db.put_text(
            "docs",
            "refunds.md",
            "Refunds are paid within 14 days. Gifts are refunded as vouchers.",
            "Refunds",
        )
        db.put_text("docs", "shipping.md", "Shipping takes five days. Vouchers never expire.")
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_an_answer_is_printed_with_its_sources(run: Run) -> None:
    done = run("ask", "docs", "How are gifts refunded?")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[:3] == [
        "Gifts are refunded as vouchers. [1]",
        "",
        "[1] refunds.md",
    ]
    assert "citations checked; recorded as trace" in done.stderr


def test_what_the_corpus_does_not_say_is_a_negative_verdict(run: Run) -> None:
    done = run("ask", "docs", "Who governs the planet Mars?")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "the corpus does not say" in done.stderr


def test_the_answer_as_json_has_its_evidence(run: Run, clone: str) -> None:
    done = run("ask", "docs", "How are gifts refunded?", "--json")
    answer = json.loads(done.stdout)
    assert answer["answer"] == "Gifts are refunded as vouchers."
    assert answer["problems"] == []
    assert answer["gate"]["enough"] is True
    with ragdb.connect(clone) as db:
        assert db.get_trace(answer["trace_id"]).corpus == "docs"
        pack: Any = db.build_evidence_pack(answer["trace_id"])
    assert pack["hash"] == answer["evidence_hash"]


def test_a_pack_is_printed_as_it_is_hashed(run: Run) -> None:
    shown = run("pack", "docs", "vouchers")
    made = json.loads(run("pack", "docs", "vouchers", "--json").stdout)
    assert shown.stdout == made["canonical_text"] + "\n"
    assert f"hash {made['hash']}" in shown.stderr
    assert run("pack", "docs", "zebra").exit_code == 1
    cut = json.loads(run("pack", "docs", "vouchers", "--max-context", "40", "--json").stdout)
    assert cut["size"] <= 40
    assert run("ask", "none", "x").exit_code == 2


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
