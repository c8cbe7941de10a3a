"""Fifty questions find the same chunks by psql, by Python and by both libraries, by default."""

from __future__ import annotations

import asyncio
import re
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import ragdb
from ragdb.adapters.langchain import RagdbVectorStore as LangChain
from ragdb.server import postgres
from tests.conftest import Server

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the package's own imports
    from llama_index.core.vector_stores.types import VectorStoreQuery

    from ragdb.adapters.llamaindex import RagdbVectorStore as LlamaIndex

PAGES = [Path(__file__).parents[2] / "docs" / f"{name}.md" for name in ("guide", "design", "http")]
Answers = dict[str, list[str]]


def questions() -> list[str]:
    """Fifty sentences of the pages, as somebody would ask them."""
    text = "\n\n".join(page.read_text() for page in PAGES)
    found = re.findall(r"[A-Z][\w ,()'-]{30,120}\.", text)
    return [f"{sentence[:-1]}?" for sentence in dict.fromkeys(found)][:50]


@pytest.fixture(scope="module")
def dsn(server18: Server) -> Iterator[str]:
    with server18.database() as database:
        found = server18.dsn(database.dbname)
        with ragdb.connect(found) as db:
            db.ingest(PAGES, corpus="docs")
        yield found


@pytest.fixture(scope="module")
def expected(dsn: str) -> Answers:
    """What psql finds."""
    script = "".join(
        "select coalesce(string_agg(chunk_id, ' ' order by rank), '')"
        f" from ragdb.search('docs', $q${asked}$q$, k => 5);\n"
        for asked in questions()
    )
    done = subprocess.run(
        [str(postgres.binary("psql")), "-d", dsn, "-XAtq"],
        input=script, check=True, capture_output=True, text=True,
    )  # fmt: skip
    found = dict(zip(questions(), (line.split() for line in done.stdout.splitlines()), strict=True))
    assert len(found) == 50
    assert all(found.values())
    return found


def test_python_finds_what_psql_finds(dsn: str, expected: Answers) -> None:
    async def asynchronously() -> Answers:
        async with await ragdb.aconnect(dsn) as db:
            return {q: [h.chunk_id for h in await db.search("docs", q, 5)] for q in expected}

    with ragdb.connect(dsn) as db:
        assert {q: [h.chunk_id for h in db.search("docs", q, 5)] for q in expected} == expected
        assert {q: [h.chunk_id for h in db.retrieve("docs", q, 5)] for q in expected} == expected
    assert asyncio.run(asynchronously()) == expected


def test_langchain_finds_what_psql_finds(dsn: str, expected: Answers) -> None:
    with ragdb.connect(dsn) as db:
        store = LangChain(db, "docs")
        found = {q: [str(d.id) for d in store.similarity_search(q, 5)] for q in expected}
    assert found == expected


def test_llamaindex_finds_what_psql_finds(dsn: str, expected: Answers) -> None:
    with ragdb.connect(dsn) as db:
        store = LlamaIndex(db, "docs")
        found = {
            q: store.query(VectorStoreQuery(query_str=q, similarity_top_k=5)).ids for q in expected
        }
    assert found == expected
