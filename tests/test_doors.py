"""One question, one answer: every door finds the same chunks in the same order by default."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

import ragdb
from ragdb.adapters.langchain import RagdbRetriever as LangChain
from ragdb.adapters.llamaindex import RagdbRetriever as LlamaIndex
from ragdb.cli.main import app
from ragdb.database import Database
from ragdb.evidence.database import CorpusRetriever
from ragdb.server import postgres, static
from tests.conftest import Server
from tests.http.conftest import serve
from tests.mcp.test_mcp_server import call
from tests.static_twin import train

DOCS = Path(__file__).parents[1] / "docs"
QUESTION = "how are the scores of both legs joined when a search is hybrid?"


@pytest.fixture(scope="module")
def dsn(server18: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A corpus of our documentation under a small static embedder."""
    parts = [part for file in sorted(DOCS.glob("*.md")) for part in file.read_text().split("\n\n")]
    folder = tmp_path_factory.mktemp("doors") / "small"
    train("bpe", parts, folder)
    with server18.database() as database:
        found = server18.dsn(database.dbname)
        with Database(psycopg.connect(found, autocommit=True)) as db:
            static.load(db, "small", str(folder))
            db.ingest([DOCS / "guide.md", DOCS / "design.md", DOCS / "http.md"], corpus="docs")
        yield found


@pytest.fixture(scope="module")
def expected(dsn: str) -> list[str]:
    """What psql finds; the vectors decide some of it."""
    found = subprocess.run(
        [
            str(postgres.binary("psql")), "-d", dsn, "-XAt", "-c",
            f"select chunk_id, mode from ragdb.search('docs', '{QUESTION}')",
        ],
        check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    ids = [line.rsplit("|", 1)[0] for line in found]
    assert {line.rsplit("|", 1)[1] for line in found} == {"hybrid"}
    with ragdb.connect(dsn) as db:
        assert ids != [hit.chunk_id for hit in db.search("docs", QUESTION, mode="lexical")]
    return ids


def test_python_finds_what_psql_finds(dsn: str, expected: list[str]) -> None:
    async def ids() -> list[str]:
        async with await ragdb.aconnect(dsn) as db:
            return [hit.chunk_id for hit in await db.search("docs", QUESTION)]

    with ragdb.connect(dsn) as db:
        assert [hit.chunk_id for hit in db.search("docs", QUESTION)] == expected
        assert [hit.chunk_id for hit in db.retrieve("docs", QUESTION)] == expected
        assert [hit.chunk_id for hit in db.search(corpora=["docs"], query=QUESTION)] == expected
    assert asyncio.run(ids()) == expected


def test_the_command_line_finds_what_psql_finds(
    dsn: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGDB_DATABASE_URL", dsn)
    done = CliRunner().invoke(app, ["search", QUESTION, "--corpus", "docs", "--json"])
    assert [hit["chunk_id"] for hit in json.loads(done.stdout)] == expected


def test_the_wire_and_http_find_what_psql_finds(dsn: str, expected: list[str]) -> None:
    request = {"params": {"corpus": "docs"}, "input": {"query": QUESTION, "k": 10}}

    def ids(answer: Any) -> list[str]:
        return [chunk["metadata"]["chunk_id"] for chunk in answer["output"]["chunks"]]

    with ragdb.connect(dsn) as db:
        assert ids(db.invoke("rag.query@1.0", request)) == expected
        token = db.create_http_token("reader", "reader")
    api = serve(dsn, {"reader": token})
    try:
        answer = api("POST", "/capabilities/rag.query@1.0", request)
        assert answer.status == 200, answer.body
        assert ids(answer.body) == expected
    finally:
        api.process.terminate()
        api.process.wait(30)


def test_mcp_finds_what_psql_finds(dsn: str, expected: list[str]) -> None:
    found = call(dsn, "search", {"query": QUESTION}, corpora=["docs"])
    ids = [row["id"] for row in found["results"]]
    assert ids == [f"docs/{chunk_id}" for chunk_id in expected][: len(ids)]
    assert len(ids) >= 5


def test_langchain_and_llamaindex_find_what_psql_finds(dsn: str, expected: list[str]) -> None:
    with ragdb.connect(dsn) as db:
        retriever = CorpusRetriever(db, "docs")
        documents = LangChain(retriever=retriever, k=10).invoke(QUESTION)
        assert [document.id for document in documents] == expected
        nodes = LlamaIndex(retriever, k=10).retrieve(QUESTION)
        assert [node.node.node_id for node in nodes] == expected
