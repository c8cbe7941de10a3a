"""The retrievers for LangChain and LlamaIndex, tested with the real packages."""

from __future__ import annotations

import asyncio
import importlib
import sys
import warnings
from collections.abc import Iterator
from uuid import UUID

import pytest
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from langchain_core.runnables import RunnablePassthrough
from pydantic import ValidationError

import ragdb
from ragdb.adapters.langchain import RagdbRetriever as ForLangChain
from ragdb.evidence.database import CorpusRetriever, PostgresRetriever
from ragdb.evidence.retrieval import EmptyRetriever
from tests.conftest import Server

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the package's own imports
    from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
    from llama_index.core.schema import MetadataMode

    from ragdb.adapters.llamaindex import RagdbRetriever as ForLlamaIndex

CONTRACT = "corpus name=docs\nretriever name=R corpus=docs mode=lexical topK=2\n"


@pytest.fixture(scope="module")
def db(server18: Server) -> Iterator[ragdb.Database]:
    with server18.database() as database, ragdb.connect(server18.dsn(database.dbname)) as db:
        db.apply_contract(CONTRACT, "c")
        for n in range(3):
            db.put_text("docs", f"d{n}.txt", "Refunds take " + f"{n} days. " * (n + 1), title="T")
        yield db


def test_langchain_gets_documents_with_their_trace(db: ragdb.Database) -> None:
    retriever = ForLangChain(retriever=PostgresRetriever(db, "R"), k=2)
    assert isinstance(retriever, LangChainRetriever)
    hits = db.search("docs", "refunds days", 2)
    documents = retriever.invoke("refunds days")
    assert [(d.id, d.page_content) for d in documents] == [(h.chunk_id, h.text) for h in hits]
    about = documents[0].metadata
    assert (about["source"], about["score"]) == (hits[0].source, hits[0].score)
    assert db.replay(UUID(about["trace_id"])).verdict == "exact"
    found = asyncio.run(retriever.ainvoke("refunds days"))
    assert [d.id for d in found] == [d.id for d in documents]


def test_langchain_composes_it_with_other_runnables(db: ragdb.Database) -> None:
    retriever = ForLangChain(retriever=CorpusRetriever(db, "docs", mode="lexical"), k=1)
    texts = retriever | (lambda documents: "\n".join(d.page_content for d in documents))
    prompt = ChatPromptTemplate.from_template("{context} Question: {question}")
    chain = {"context": texts, "question": RunnablePassthrough()} | prompt
    (message,) = chain.invoke("refunds days").to_messages()
    assert str(message.content).startswith("Refunds take ")
    assert str(message.content).endswith(" Question: refunds days")


def test_llamaindex_gets_nodes_with_their_trace(db: ragdb.Database) -> None:
    retriever = ForLlamaIndex(PostgresRetriever(db, "R"), k=2)
    assert isinstance(retriever, LlamaIndexRetriever)
    hits = db.search("docs", "refunds days", 2)
    nodes = retriever.retrieve("refunds days")
    assert [(n.node_id, n.text) for n in nodes] == [(h.chunk_id, h.text) for h in hits]
    assert [n.score for n in nodes] == [h.score for h in hits]
    node = nodes[0].node
    assert (node.start_char_idx, node.end_char_idx) == (hits[0].start_offset, hits[0].end_offset)  # type: ignore[attr-defined]
    assert db.replay(UUID(node.metadata["trace_id"])).verdict == "exact"
    shown = node.get_content(MetadataMode.LLM)
    assert hits[0].source in shown
    assert node.metadata["trace_id"] not in shown
    found = asyncio.run(retriever.aretrieve("refunds days"))
    assert [n.node_id for n in found] == [n.node_id for n in nodes]


def test_finding_nothing_is_no_error_and_k_is_checked(db: ragdb.Database) -> None:
    assert ForLangChain(retriever=EmptyRetriever()).invoke("x") == []
    assert ForLlamaIndex(CorpusRetriever(db, "docs", mode="lexical")).retrieve("zebra") == []
    with pytest.raises(ValidationError):
        ForLangChain(retriever=EmptyRetriever(), k=0)
    with pytest.raises(ValueError, match="k is 0"):
        ForLlamaIndex(EmptyRetriever(), k=0)


@pytest.mark.parametrize(
    ("adapter", "lacking"),
    [("langchain", "langchain_core.callbacks"), ("llamaindex", "llama_index.core.schema")],
)
def test_an_adapter_without_its_package_says_what_to_install(
    adapter: str, lacking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, f"ragdb.adapters.{adapter}", raising=False)
    monkeypatch.setitem(sys.modules, lacking, None)
    with pytest.raises(ImportError, match=rf"pip install 'ragdb-postgres\[{adapter}\]'"):
        importlib.import_module(f"ragdb.adapters.{adapter}")
