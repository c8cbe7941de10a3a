"""Fifty questions, one answer each: every door finds the same chunks in the same order by default.

The corpus has embeddings that the database makes itself, so the default is hybrid.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import warnings
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from typer.testing import CliRunner

import ragdb
from ragdb.adapters.langchain import RagdbRetriever as LangChain
from ragdb.adapters.langchain import RagdbVectorStore as LangChainStore
from ragdb.cli.main import app
from ragdb.database import Database
from ragdb.evidence.database import CorpusRetriever
from ragdb.server import postgres, static
from tests.http.conftest import serve
from tests.mcp.test_mcp_server import talk
from tests.static_twin import train

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the package's own imports
    from llama_index.core.vector_stores.types import VectorStoreQuery

    from ragdb.adapters.llamaindex import RagdbRetriever as LlamaIndex
    from ragdb.adapters.llamaindex import RagdbVectorStore as LlamaIndexStore

pytestmark = pytest.mark.long
DOCS = Path(__file__).parents[1] / "docs"
PAGES = [DOCS / f"{name}.md" for name in ("guide", "design", "http")]
K = 5
Answers = dict[str, list[str]]
HOWS: dict[str, dict[str, str]] = {
    "auto": {"mode": "auto"},
    "required": {"mode": "required"},
    "by a rag": {"rag": "Desk"},
}
CONTRACT = {
    "nodes": [
        {"node": "corpus", "keys": {"name": "Docs"}},
        {"node": "retriever", "keys": {"name": "Shelf", "corpus": "Docs", "mode": "lexical"}},
        {"node": "rag", "keys": {"name": "Desk", "retriever": "Shelf"}},
        {"node": "grounding", "keys": {"rag": "Desk", "maxContext": 900}},
    ]
}
SAID = ("answer", "citations", "status", "reason", "problems", "evidence_hash", "gate")


def questions() -> list[str]:
    """Fifty sentences of the pages, as somebody would ask them."""
    text = "\n\n".join(page.read_text() for page in PAGES)
    found = re.findall(r"[A-Z][\w ,()'-]{30,120}\.", text)
    return [f"{sentence[:-1]}?" for sentence in dict.fromkeys(found)][:50]


@pytest.fixture(scope="module")
def dsn(module_clone: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A corpus of our documentation under a small static embedder."""
    parts = [part for file in sorted(DOCS.glob("*.md")) for part in file.read_text().split("\n\n")]
    folder = tmp_path_factory.mktemp("doors") / "small"
    train("bpe", parts, folder)
    with Database(psycopg.connect(module_clone, autocommit=True)) as db:
        static.load(db, "small", str(folder))
        db.ingest(PAGES, corpus="docs")
        db.apply_contract(CONTRACT)
    return module_clone


@pytest.fixture(scope="module")
def expected(dsn: str) -> Answers:
    """What psql finds; the vectors decide some of it."""
    script = "".join(
        "select string_agg(chunk_id, ' ' order by rank), max(mode)"
        f" from ragdb.search('docs', $q${asked}$q$, k => {K});\n"
        for asked in questions()
    )
    done = subprocess.run(
        [str(postgres.binary("psql")), "-d", dsn, "-XAtq"],
        input=script, check=True, capture_output=True, text=True,
    )  # fmt: skip
    rows = [line.rsplit("|", 1) for line in done.stdout.splitlines()]
    # the small model knows too few words of the others
    assert [mode for _, mode in rows].count("hybrid") > 40
    found = dict(zip(questions(), (ids.split() for ids, _ in rows), strict=True))
    assert len(found) == 50
    with ragdb.connect(dsn) as db:
        words = {q: [hit.chunk_id for hit in db.search("docs", q, K, "lexical")] for q in found}
    assert words != found
    return found


def test_python_finds_what_psql_finds(dsn: str, expected: Answers) -> None:
    async def asynchronously() -> Answers:
        async with await ragdb.aconnect(dsn) as db:
            return {q: [h.chunk_id for h in await db.search("docs", q, K)] for q in expected}

    with ragdb.connect(dsn) as db:
        assert {q: [h.chunk_id for h in db.search("docs", q, K)] for q in expected} == expected
        assert {q: [h.chunk_id for h in db.retrieve("docs", q, K)] for q in expected} == expected
        several = {
            q: [h.chunk_id for h in db.search(corpora=["docs"], query=q, k=K)] for q in expected
        }
    assert several == expected
    assert asyncio.run(asynchronously()) == expected


def said(answer: Any) -> dict[str, Any]:
    """What every door says of an answer, whatever else it says."""
    if not isinstance(answer, dict):
        answer = {name: getattr(answer, name) for name in (*SAID, "trace_summary")}
    gate = answer.get("gate") or {}
    made = {**{name: answer[name] for name in SAID}, "gate": {**gate, "gate_id": None}}
    return {**made, "attempts": answer["trace_summary"].get("attempts")}


@pytest.fixture(scope="module")
def answers(dsn: str) -> dict[tuple[str, str], dict[str, Any]]:
    """What psql answers where nothing is looked up, enough is found, or not."""
    asked = [questions()[0], "Who painted the ceiling of the planetarium in Trondheim?", "Hello!"]
    pairs = [(question, mode) for question in asked for mode in HOWS]
    script = "".join(
        f"select to_jsonb(a) from ragdb.ask('docs', $q${question}$q$, {name} => '{value}') a;\n"
        for question, mode in pairs
        for name, value in HOWS[mode].items()
    )
    done = subprocess.run(
        [str(postgres.binary("psql")), "-d", dsn, "-XAtq"],
        input=script, check=True, capture_output=True, text=True,
    )  # fmt: skip
    rows = map(json.loads, done.stdout.splitlines())
    found = {pair: said(row) for pair, row in zip(pairs, rows, strict=True)}
    assert {answer["status"] for answer in found.values()} == {"answered", "insufficient", "failed"}
    return found


def test_python_and_the_command_line_answer_as_psql_does(
    dsn: str, answers: dict[tuple[str, str], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ragdb.connect(dsn) as db:
        found = {
            asked: db.ask("docs", asked[0], **cast("Any", HOWS[asked[1]])) for asked in answers
        }
    assert {asked: said(answer.as_json()) for asked, answer in found.items()} == answers
    monkeypatch.setenv("RAGDB_DATABASE_URL", dsn)
    for (question, mode), answer in answers.items():
        flags = [part for name, value in HOWS[mode].items() for part in (f"--{name}", value)]
        done = CliRunner().invoke(app, ["ask", question, "--corpus", "docs", *flags, "--json"])
        assert said(json.loads(done.stdout)) == answer
        assert done.exit_code == (0 if answer["status"] == "answered" else 1)


def test_the_command_line_finds_what_psql_finds(
    dsn: str, expected: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGDB_DATABASE_URL", dsn)

    def ids(question: str) -> list[str]:
        done = CliRunner().invoke(app, ["search", question, "-c", "docs", "-k", str(K), "--json"])
        return [hit["chunk_id"] for hit in json.loads(done.stdout)]

    # every third, because each command connects anew
    asked = list(expected)[::3]
    assert {q: ids(q) for q in asked} == {q: expected[q] for q in asked}


def test_the_wire_and_http_find_and_answer_what_psql_does(
    dsn: str, expected: Answers, answers: dict[tuple[str, str], dict[str, Any]]
) -> None:
    def request(question: str) -> dict[str, Any]:
        return {"params": {"corpus": "docs"}, "input": {"query": question, "k": K}}

    def ids(answer: Any) -> list[str]:
        return [chunk["metadata"]["chunk_id"] for chunk in answer["output"]["chunks"]]

    with ragdb.connect(dsn) as db:
        found = {q: ids(db.invoke("rag.query@1.0", request(q))) for q in expected}
        token = db.create_http_token("reader", "reader")
    assert found == expected
    api = serve(dsn, {"reader": token})
    try:
        for question, chunks in expected.items():
            answer = api("POST", "/capabilities/rag.query@1.0", request(question))
            assert answer.status == 200, answer.body
            assert ids(answer.body) == chunks
            answer = api("POST", "/api/search", {"corpora": ["docs"], "query": question, "k": K})
            assert answer.status == 200, answer.body
            assert [hit["chunk_id"] for hit in answer.body["hits"]] == chunks
        for (question, mode), whole in answers.items():
            body = {"corpus": "docs", "question": question, **HOWS[mode]}
            assert said(api("POST", "/api/ask", body).body) == whole
    finally:
        api.process.terminate()
        api.process.wait(120)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("record", [True, False])
def test_mcp_finds_and_answers_what_psql_does(
    dsn: str, expected: Answers, answers: dict[tuple[str, str], dict[str, Any]], record: bool
) -> None:
    async def ask(client: Any) -> tuple[Answers, dict[tuple[str, str], dict[str, Any]]]:
        found, told = {}, {}
        for question in expected:
            made = await client.call_tool("search", {"query": question, "k": K})
            found[question] = [row["id"] for row in made.structured_content["results"]]
        for question, mode in answers:
            how = {"corpus": "docs", "question": question, **HOWS[mode]}
            told[question, mode] = said((await client.call_tool("ask", how)).structured_content)
        return found, told

    found, told = talk(dsn, ask, corpora=["docs"], record=record)
    assert found == {q: [f"docs/{chunk}" for chunk in ids] for q, ids in expected.items()}
    assert told == answers


def test_every_door_says_that_the_embedder_knows_too_few_words(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it says of a model outside the database that nobody asked."""
    asked, said = "гостиница трассы", 'the embedder of corpus "docs" knows too few words'
    with ragdb.connect(dsn) as db:
        token = db.create_http_token("reader", "asker")
    api = serve(dsn, {"reader": token})
    try:
        found = api("POST", "/api/search", {"corpora": ["docs"], "query": asked})
        assert said in found.body["note"]
        answer = api("POST", "/api/ask", {"corpus": "docs", "question": asked})
        assert answer.body["note"].count(said) == 1
    finally:
        api.process.terminate()
        api.process.wait(120)

    async def note(client: Any) -> str:
        made = await client.call_tool("search", {"query": asked, "corpora": ["docs"]})
        answer = await client.call_tool("ask", {"question": asked, "corpus": "docs"})
        assert answer.structured_content["note"].count(said) == 1
        return str(made.structured_content["note"])

    assert said in talk(dsn, note)
    monkeypatch.setenv("RAGDB_DATABASE_URL", dsn)
    done = CliRunner().invoke(app, ["search", asked, "--corpus", "docs"])
    assert said in done.stderr
    assert "`ragdb reembed`" in done.stderr


def test_langchain_finds_what_psql_finds(dsn: str, expected: Answers) -> None:
    with ragdb.connect(dsn) as db:
        retriever = LangChain(retriever=CorpusRetriever(db, "docs"), k=K)
        assert {q: [d.id for d in retriever.invoke(q)] for q in expected} == expected
        store = LangChainStore(db, "docs")
        found = {q: [d.id for d in store.similarity_search(q, K)] for q in expected}
    assert found == expected


def test_llamaindex_finds_what_psql_finds(dsn: str, expected: Answers) -> None:
    with ragdb.connect(dsn) as db:
        retriever = LlamaIndex(CorpusRetriever(db, "docs"), k=K)
        found = {q: [node.node.node_id for node in retriever.retrieve(q)] for q in expected}
        assert found == expected
        store = LlamaIndexStore(db, "docs")
        found = {
            q: list(store.query(VectorStoreQuery(query_str=q, similarity_top_k=K)).ids or [])
            for q in expected
        }
    assert found == expected
