"""`ragdb mcp`, spoken to by the client of the mcp package: as a process on stdio, and over HTTP."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx2
import psycopg
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from psycopg_pool import PoolTimeout
from typer.testing import CliRunner

import ragdb
from ragdb.cli.main import app
from ragdb.client._generated.functions import Functions
from ragdb.contracts import contract_file, declarations
from ragdb.errors import RagdbError
from ragdb.ingest import ingest
from ragdb.mcp.reading import LISTED
from ragdb.mcp.served import ToolError
from ragdb.mcp.server import server
from ragdb.mcp.shapes import object_of
from ragdb.mcp.tools import Tools, without_nulls
from ragdb.models import embedders
from ragdb.models.encoders import ProviderDown
from ragdb.models.worker import Worker
from tests.embedding import one
from tests.forked import Forked
from tests.reranking import LENGTH, digest, make_cross_encoder, predicted

EXAMPLE = Path(__file__).parents[2] / "examples/contract"
COMMAND = "from ragdb.__main__ import main; main()"
BUILTIN = {
    "search", "fetch", "search_slice", "list_corpora", "get_trace", "replay_trace",
    "validate_citations", "facets", "count_matches", "list_documents", "ask", "build_pack",
    "resolve_anchor", "list_traces", "list_eval_runs", "eval_report", "list_promoted",
    "list_synonyms", "list_edges", "explain_passage", "locate_quote", "document_versions",
}  # fmt: skip
CHANGES = {
    "create_corpus", "drop_corpus", "delete_document", "add_synonyms", "remove_synonyms",
    "put_text", "append_turns", "add_edges", "remove_edges", "promote", "propose",
    "decide_proposal", "record_feedback",
}  # fmt: skip
PEERS = {"list_peers", "ask_peers"}
BOUND = {"list_contract_tools", "call_contract_tool"}
PROMPT = """corpus name=More
  source name=a kind=local uri=docs/*.md
retriever name=MoreSearch corpus=More mode=lexical
tool name=Bare
  param name=words
  retrieve retriever=MoreSearch queryParam=words
prompt name=Brief description="What is known of refunds."
  retrieve retriever=MoreSearch query=refunds as=evidence
"""


@pytest.fixture(scope="module")
def dsn(module_clone: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The seed's contract with its documents, and one more of plain words."""
    folder = Path(shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("mcp") / "example"))
    with ragdb.connect(module_clone) as db:
        more = db.parse_contract(PROMPT, "more")
        for found_contract in (contract_file.read(db, folder / "support.kern"), more):
            db.apply_contract(found_contract)
            for source in declarations.declared_sources(found_contract):
                ingest.Run(db, source.corpus, source.find(folder), source.options).run()
        db.bind_embedder("text-embedding-3-small", "hash", "hash-v1")
        db.put_text("docs", "https://example.org/hours", "Open on Mondays, closed on Sundays.")
        db.create_signing_key()
        db.create_corpus("bare")
        db.run_eval("AnswerDocs")
        Worker(module_clone, corpus="docs").run(until="empty")
    kept[module_clone] = {}
    yield module_clone
    for tools in kept.pop(module_clone).values():
        tools.pool.close()


# of the module's database those that serve it in each way, whose sessions have planned what they do
kept: dict[str, dict[str, Tools]] = {}


@contextmanager
def opened(dsn: str, how: dict[str, Any]) -> Iterator[Tools]:
    """What a server serves: for a test's own database one of its own."""
    if dsn not in kept:
        tools = Tools(dsn, **how)
        with tools.pool:
            yield tools
        return
    if repr(how) not in kept[dsn]:
        kept[dsn][repr(how)] = Tools(dsn, **how)
        kept[dsn][repr(how)].pool.open()
    yield kept[dsn][repr(how)]


def talk(dsn: str, conversation: Callable[[Client], Coroutine[Any, Any, Any]], **how: Any) -> Any:
    """A conversation with a server inside this process."""

    async def run() -> Any:
        with opened(dsn, how) as tools:
            async with Client(server(tools)) as client:
                return await conversation(client)

    return asyncio.run(asyncio.wait_for(run(), 120))


def call(dsn: str, tool: str, arguments: dict[str, Any], **how: Any) -> Any:
    """What a tool returns; the message of an error as a text."""

    async def one(client: Client) -> Any:
        made = await client.call_tool(tool, arguments)
        (content,) = made.content
        assert content.type == "text"
        if made.is_error:
            return content.text
        assert json.loads(content.text) == made.structured_content
        return made.structured_content

    return talk(dsn, one, **how)


def test_no_contract_may_use_the_name_of_a_tool_that_is_served(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        row = connection.execute("select ragdb_internal.builtin_tools()").fetchone()
    assert row is not None
    assert set(row[0]) == BUILTIN | CHANGES | PEERS | BOUND


async def every_tool(client: Client, trace: str) -> dict[str, Any]:
    """Lists the tools, calls each of them, and returns what they gave."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tools.keys() == BUILTIN | {"AnswerDocs", "Bare", "Brief"}
    for tool in tools.values():
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert not tool.annotations.destructive_hint
        assert tool.description
    cited = {"answer": "x", "citations": [{"source_id": "docs/refunds.md", "chunk_id": "none"}]}
    arguments: dict[str, dict[str, Any]] = {
        "search": {"query": "refunds"},
        "fetch": {"id": "docs/refunds"},
        "search_slice": {"corpus": "docs", "query": "refunds"},
        "list_corpora": {},
        "get_trace": {"trace_id": trace},
        "replay_trace": {"trace_id": trace},
        "validate_citations": {"output": cited, "corpus": "docs", "chunk_ids": ["refunds"]},
        "facets": {"query": "refunds", "fields": ["source"], "corpora": ["docs"]},
        "count_matches": {"query": "refunds"},
        "list_documents": {"corpus": "docs"},
        "ask": {"corpus": "docs", "question": "How do refunds work?"},
        "build_pack": {"trace_id": trace},
        "resolve_anchor": {"corpus": "docs", "query": "refunds"},
        "list_traces": {"corpus": "docs", "count": 1},
        "list_eval_runs": {},
        "list_promoted": {"corpus": "docs"},
        "list_synonyms": {"corpus": "docs"},
        "list_edges": {"corpus": "docs", "chunk_id": "refunds", "count": 3},
        "explain_passage": {"corpus": "docs", "query": "refunds", "chunk_id": "refunds"},
        "locate_quote": {"corpus": "docs", "chunk_id": "refunds", "quote": "fourteen days"},
        "document_versions": {"corpus": "docs", "document": "docs/refunds.md"},
        "AnswerDocs": {"question": "How do refunds work?"},
        "Bare": {"words": "refunds"},
        "Brief": {},
    }
    (latest, *_) = (await client.call_tool("list_eval_runs", {})).structured_content["runs"]
    arguments["eval_report"] = {"run_id": latest["run_id"]}
    assert arguments.keys() == tools.keys()
    results = {}
    for name, given in arguments.items():
        # the client holds the result to the tool's schema
        made = await client.call_tool(name, given)
        assert not made.is_error, (name, made)
        results[name] = made.structured_content
    return results


def check(results: dict[str, Any], trace: str) -> None:
    first = results["search"]["results"][0]
    assert first["id"] == "docs/refunds"
    assert first["title"]
    assert first["url"] == "ragdb://corpus/docs/refunds"
    assert results["fetch"]["text"].endswith("Refunds follow the refund policy.")
    assert results["fetch"].keys() == {"id", "title", "text", "url", "metadata"}
    assert results["search_slice"]["chunks"][0]["chunk_id"] == "refunds"
    assert results["search_slice"]["provenance"]["admissibility_token"]
    assert {row["name"] for row in results["list_corpora"]["corpora"]} == {"bare", "docs", "more"}
    assert results["get_trace"]["trace"]["id"] == trace
    assert len(results["get_trace"]["hits"]) == results["get_trace"]["trace"]["limit_returned"]
    assert results["replay_trace"]["verdict"] == "exact"
    assert results["validate_citations"]["problems"] == ["citation[0]: unknown chunk_id 'none'"]
    assert [chunk["source"] for chunk in results["Bare"]["chunks"]] == ["docs/refunds.md"]
    assert results["Brief"]["evidence"]
    facets = results["facets"]["facets"]
    assert sum(row["documents"] for row in facets if row["field"] == "source") == len(facets)
    assert results["count_matches"]["documents"] >= len(facets) > 0
    assert "docs/refunds.md" in {row["source"] for row in results["list_documents"]["documents"]}
    assert results["ask"]["citations"][0]["chunk_id"] == "refunds"
    assert results["ask"]["trace_id"] is None
    assert "refunds" in results["build_pack"]["canonical_text"]
    assert results["resolve_anchor"] == {"anchor": "refunds", "resolved_by": "query"}
    assert [row["id"] for row in results["list_traces"]["traces"]] == [trace]
    assert "AnswerDocs" in results["eval_report"]["report"]
    answered = results["AnswerDocs"]
    (chunk,) = answered["context"]
    assert (chunk["id"], chunk["uri"], chunk["citation"]) == (
        "refunds", "docs/refunds.md", {"uri": "docs/refunds.md"},
    )  # fmt: skip
    assert 0.72 <= chunk["score"] <= 1
    assert answered["provenance"]["rag"] == "AnswerDocs"
    assert answered["provenance"]["contract"] == "support"


def test_a_passage_has_the_id_that_any_tool_gave_it(dsn: str, trace: str) -> None:
    (found,) = call(dsn, "search", {"query": "refunds", "corpora": ["docs"], "k": 1})["results"]

    def asked(own: str) -> list[Any]:
        cited = {"answer": "x", "citations": [{"source_id": "docs/refunds.md", "chunk_id": own}]}
        calls: list[tuple[str, dict[str, Any]]] = [
            ("explain_passage", {"query": "refunds", "chunk_id": own}),
            ("locate_quote", {"chunk_id": own, "quote": "fourteen days"}),
            ("list_edges", {"chunk_id": own}),
            ("build_pack", {"chunk_ids": [own]}),
            ("resolve_anchor", {"chunk_id": own}),
            ("validate_citations", {"chunk_ids": [own], "output": cited}),
            ("validate_citations", {"trace_id": trace, "output": cited}),
            ("search_slice", {"query": "refunds", "anchor": own}),
        ]
        made = [call(dsn, tool, {"corpus": "docs", **how}) for tool, how in calls]
        return [*made[:-1], made[-1]["chunks"]]

    assert found["id"] == "docs/refunds"
    assert asked(found["id"]) == asked("refunds")


def test_a_passage_whose_own_id_begins_with_its_corpus_is_found_by_it(clone: str) -> None:
    with ragdb.connect(clone) as db:
        db.put_texts("more", ["One.", "Two."], ids=["more/one", "one"])
    for given, own in (("more/one", "more/one"), ("more/more/one", "more/one"), ("one", "one")):
        pack = call(clone, "build_pack", {"corpus": "more", "chunk_ids": [given]})
        assert [chunk["chunk_id"] for chunk in pack["chunks"]] == [own]


def test_what_a_list_returns_unless_told_is_said(dsn: str) -> None:
    async def described(client: Client) -> dict[str, dict[str, Any]]:
        tools = (await client.list_tools()).tools
        return {tool.name: tool.input_schema["properties"] for tool in tools}

    takes = talk(dsn, described, write=True)
    verbs = {"list_edges": "get_children", "list_promoted": "list_atoms"}
    for tool, properties in takes.items():
        if "count" in properties:
            verb = getattr(ragdb.Database, verbs.get(tool, tool))
            taken = inspect.signature(verb).parameters
            default = taken["count"].default
            # of these the database lists more, or all
            if tool in ("list_corpora", "list_synonyms", "list_edges"):
                default = LISTED
            assert f"; {default} unless given" in properties["count"]["description"], tool


def test_lists_are_short_enough_to_be_read(dsn: str, trace: str) -> None:
    """A model reads all that it is given; one document or trace is shown in full."""
    for tool, listed in (
        ("list_documents", "documents"),
        ("list_traces", "traces"),
        ("list_corpora", "corpora"),
    ):
        rows = call(dsn, tool, {} if listed == "corpora" else {"corpus": "docs"})[listed]
        assert rows, tool
        for row in rows:
            assert None not in row.values()
            assert len(json.dumps(row)) < 600, row


def test_what_the_database_says_names_the_tools_that_are_there(dsn: str) -> None:
    asked = {"query": "x", "corpora": ["dox"]}
    lists, makes = "list_corpora lists the names; ", "create_corpus makes one"
    assert call(dsn, "search", asked).endswith(f"{lists}`ragdb corpus create` makes one")
    assert call(dsn, "search", asked, write=True).endswith(f"{lists}{makes}")
    filtered = {"query": "refunds", "corpora": ["docs"], "filter": {"nobody": 1}}
    note = call(dsn, "search", filtered)["note"]
    helps = '; facets counts the values that a field has; {"glob": "*words*"} matches a part of one'
    assert note.endswith(helps)
    semantic = {"query": "x", "corpora": ["more"], "mode": "semantic"}
    assert call(dsn, "search", semantic).endswith("or pass mode lexical")


def test_a_question_without_a_corpus_is_told_which_there_are(dsn: str) -> None:
    said = call(dsn, "ask", {"question": "How do refunds work?"}, corpora=["docs", "bare"])
    assert said == "there are 2 corpora: docs, bare; give corpus, retriever or rag"


def test_an_id_without_a_corpus_says_what_an_id_is(dsn: str) -> None:
    said = call(dsn, "fetch", {"id": "refunds"})
    assert said == "'refunds' names no corpus: an id is corpus/chunk_id, as search gives it"


def test_an_id_of_no_chunk_is_answered_with_a_tool_that_gives_ids(dsn: str) -> None:
    said = call(dsn, "fetch", {"id": "docs/nothing"})
    assert said == (
        'corpus "docs" has no chunk "nothing" (RG406); the id of a chunk changes with its text and'
        " its source; search returns chunk ids"
    )


def test_a_recorded_search_gives_the_id_of_its_trace(dsn: str) -> None:
    asked = {"query": "refunds", "corpora": ["docs"]}
    made = call(dsn, "search", asked, record=True)
    traced = call(dsn, "get_trace", {"trace_id": made["trace_id"]})
    assert [f"docs/{hit['chunk_id']}" for hit in traced["hits"]] == [
        row["id"] for row in made["results"]
    ]
    assert "trace_id" not in call(dsn, "search", asked)
    # what a corpus was is looked at, and not recorded
    before = {**asked, "as_of": 1}
    assert "history" in call(dsn, "search", before, record=True)


@pytest.fixture
def trace(login_dsn: str) -> str:
    with ragdb.connect(login_dsn) as db:
        return str(db.retrieve("docs", "refunds", 2).trace_id)


def state(dsn: str) -> list[Any]:
    """All that a tool could have changed."""
    with psycopg.connect(dsn) as connection:
        return connection.execute(
            "select (select count(*) from ragdb.retrieval_traces),"
            " (select count(*) from ragdb.slices), (select sum(version) from ragdb.corpora),"
            " (select count(*) from ragdb.query_embeddings), (select count(*) from ragdb.events)"
        ).fetchall()


def test_a_client_lists_and_calls_every_tool_of_a_process_and_nothing_is_written(
    dsn: str, trace: str
) -> None:
    before = state(dsn)
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-c", COMMAND, "mcp"],
        env={**os.environ, "RAGDB_DATABASE_URL": dsn},
    )

    async def run() -> dict[str, Any]:
        async with Client(stdio_client(parameters)) as client:
            return await every_tool(client, trace)

    check(asyncio.run(asyncio.wait_for(run(), 120)), trace)
    assert state(dsn) == before


@pytest.fixture
def http(dsn: str, login_dsn: str) -> Iterator[str]:
    """The address of a server that wants a token, connected as a reader."""
    environment = {**os.environ, "RAGDB_DATABASE_URL": login_dsn, "RAGDB_MCP_TOKEN": "sesame"}
    with Forked("mcp", "--transport", "http", "--port", "0", env=environment) as process:
        try:
            shown = process.stderr.readline()
            assert shown.startswith("listening on http://127.0.0.1:"), shown
            yield shown.split()[-1]
        finally:
            process.terminate()


@pytest.fixture
def login_dsn(dsn: str) -> str:
    return psycopg.conninfo.make_conninfo(dsn, user="reader")


def test_a_client_with_the_token_calls_every_tool_over_http(http: str, trace: str) -> None:
    async def run() -> dict[str, Any]:
        headers = {"Authorization": "Bearer sesame"}
        async with (
            httpx2.AsyncClient(headers=headers) as carrier,
            Client(streamable_http_client(http, http_client=carrier)) as client,
        ):
            return await every_tool(client, trace)

    check(asyncio.run(asyncio.wait_for(run(), 120)), trace)
    for headers, says in (
        ({}, "give the bearer token of this server"),
        ({"Authorization": "Bearer other"}, "the bearer token is not that of this server"),
    ):
        with pytest.raises(urllib.error.HTTPError, match="401") as refused:
            urllib.request.urlopen(urllib.request.Request(http, b"{}", headers), timeout=120)
        assert refused.value.headers["WWW-Authenticate"] == "Bearer"
        error = json.load(refused.value)
        assert error["error"]["message"].startswith(says), error
        assert "RAGDB_MCP_TOKEN" in error["error"]["message"]
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    headers = {
        "Authorization": "Bearer sesame",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    assert urllib.request.urlopen(urllib.request.Request(http, body, headers), timeout=120)
    with pytest.raises(urllib.error.HTTPError, match="400") as refused:
        urllib.request.urlopen(urllib.request.Request(http, TWICE, headers), timeout=120)
    error = json.load(refused.value)
    assert (error["id"], error["error"]["code"]) == (5, -32602)
    forged = urllib.request.Request(http, body, {**headers, "Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="421"):  # DNS rebinding
        urllib.request.urlopen(forged, timeout=120)


def test_a_database_that_was_restarted_between_two_calls_is_asked_again(clone: str) -> None:
    async def conversation(client: Client) -> None:
        for _ in range(3):
            made = await client.call_tool("list_corpora", {})
            assert not made.is_error, made
            with psycopg.connect(clone) as db:
                db.execute(
                    "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
                    " where datname = current_database() and application_name like 'ragdb/% mcp'"
                )

    talk(clone, conversation)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (psycopg.errors.DiskFull, "disk of the database is full"),
        (psycopg.errors.LockNotAvailable, "another transaction holds"),
        (psycopg.errors.ReadOnlySqlTransaction, "ask the primary"),
        (psycopg.errors.UndefinedColumn, "schema of the database is not that of this server"),
        (psycopg.errors.AdminShutdown, "cannot be reached: call it again later"),
        (PoolTimeout, "cannot be reached: call it again later"),
        (psycopg.errors.InsufficientPrivilege, "the role of this server lacks a right"),
        (psycopg.errors.InternalError, "the database refuses it"),
    ],
)
def test_what_hinders_the_database_is_told_by_its_kind(
    clone: str, monkeypatch: pytest.MonkeyPatch, error: type[psycopg.Error], said: str
) -> None:
    monkeypatch.setattr(Tools, "call", Mock(side_effect=error("refunds")))

    async def conversation(client: Client) -> None:
        made = await client.call_tool("list_corpora", {})
        assert made.is_error
        told = str(made.content)
        assert said in told
        assert "refunds" not in told

    talk(clone, conversation)


def test_a_call_that_meets_a_function_while_it_is_replaced_is_told_to_come_again(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced = psycopg.errors.InternalError_("cache lookup failed for type 7")
    monkeypatch.setattr(Tools, "call", Mock(side_effect=replaced))

    async def conversation(client: Client) -> None:
        made = await client.call_tool("list_corpora", {})
        assert made.is_error
        assert "are being replaced: call it again" in str(made.content)

    talk(clone, conversation)


@contextmanager
def greeted(dsn: str, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server on stdio that has been greeted."""
    process = subprocess.Popen(
        [sys.executable, *flags, "-W", "ignore", "-c", COMMAND, "mcp"],
        env={**os.environ, "RAGDB_DATABASE_URL": dsn},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    version = {"protocolVersion": "2025-06-18", "capabilities": {}}
    say(process, id=1, method="initialize", params={**version, "clientInfo": GREETER})
    assert b"serverInfo" in process.stdout.readline()
    say(process, method="notifications/initialized")
    try:
        yield process
    finally:
        process.kill()
        process.wait(120)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()


@pytest.fixture(scope="module")
def piped(dsn: str) -> Iterator[subprocess.Popen[bytes]]:
    """One for the tests after which it goes on."""
    with greeted(dsn) as process:
        yield process


GREETER = {"name": "test", "version": "1"}


def say(process: subprocess.Popen[bytes], **message: Any) -> None:
    assert process.stdin
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()


@pytest.mark.nightly
@pytest.mark.usefixtures("hears_ctrl_c")
def test_a_server_on_stdio_ends_when_it_is_interrupted(dsn: str) -> None:
    with greeted(dsn) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == -signal.SIGINT


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{not json", -32700),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"a": 1}', -32600),
        (b"\xff", -32700),
    ],
)
def test_a_line_that_is_no_message_is_answered_and_the_next_is_heard(
    piped: subprocess.Popen[bytes], line: bytes, code: int
) -> None:
    assert piped.stdin
    assert piped.stdout
    piped.stdin.write(line + b"\n")
    say(piped, id=2, method="ping")
    refused, heard = (json.loads(piped.stdout.readline()) for _ in range(2))
    assert (refused["id"], refused["error"]["code"]) == (None, code)
    assert (heard["id"], heard["result"]) == (2, {})


TWICE = (
    b'{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": '
    b'{"name": "search", "arguments": {"query": "x", "k": 1, "k": 2}}}'
)


def test_arguments_with_a_key_twice_are_refused_on_stdio(piped: subprocess.Popen[bytes]) -> None:
    assert piped.stdin
    assert piped.stdout
    piped.stdin.write(TWICE + b"\n")
    say(piped, id=6, method="ping")
    refused, heard = (json.loads(piped.stdout.readline()) for _ in range(2))
    assert (refused["id"], refused["error"]["code"]) == (5, -32602)
    assert refused["error"]["message"] == 'the key "k" stands twice in one object: give it once'
    assert (heard["id"], heard["result"]) == (6, {})


def test_what_was_asked_before_stdin_ends_is_answered_unless_it_was_cancelled(dsn: str) -> None:
    with greeted(dsn) as process:
        assert process.stdin
        assert process.stdout
        for id in (2, 3):
            say(process, id=id, method="tools/call", params={"name": "search", "arguments": ASKED})
        say(process, method="notifications/cancelled", params={"requestId": 3})
        process.stdin.close()
        answered = [json.loads(line) for line in process.stdout]
        assert 2 in {one["id"] for one in answered if "result" in one}
        assert process.wait(120) == 0


ASKED = {"query": "refunds"}


def test_a_client_that_dies_before_it_is_answered_leaves_no_traceback(dsn: str) -> None:
    # Python 3.11 tells by `-X dev` what 3.13 tells
    with greeted(dsn, "-X", "dev") as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        say(process, id=2, method="ping")
        time.sleep(0.5)  # it answers, and nobody reads
        process.stdin.close()
        assert process.wait(120) == 0
        assert process.stderr.read() == b""


def test_recorded_calls_leave_a_trace_that_the_other_tools_take(dsn: str) -> None:
    async def conversation(client: Client) -> Any:
        hints = {
            tool.name: tool.annotations.read_only_hint
            for tool in (await client.list_tools()).tools
            if tool.annotations
        }
        assert {name for name, reads in hints.items() if not reads} == {
            "ask",
            "search", "search_slice", "AnswerDocs", "Bare", "Brief",
        }  # fmt: skip

        async def one(name: str, **arguments: Any) -> Any:
            made = await client.call_tool(name, arguments)
            assert not made.is_error, made
            return made.structured_content

        answered = await one("AnswerDocs", question="How do refunds work?")
        trace_id = answered["provenance"]["trace_id"]
        recorded = (await one("get_trace", trace_id=trace_id))["trace"]
        assert (recorded["rag"], recorded["client"]) == ("AnswerDocs", "ragdb mcp")
        assert recorded["result_hash"] == answered["provenance"]["result_hash"]
        assert (await one("replay_trace", trace_id=trace_id))["verdict"] == "exact"
        good = {"source_id": "docs/refunds.md", "chunk_id": "refunds", "quote": "the refund policy"}
        output = {"answer": "Refunds follow the refund policy.", "citations": [good]}
        checked = await one("validate_citations", output=output, trace_id=trace_id)
        assert checked["valid"]
        good["quote"] = "Refunds are never paid."
        checked = await one("validate_citations", output=output, trace_id=trace_id)
        assert (checked["valid"], checked["checks"][0]["code"]) == (False, "QUOTE_NOT_FOUND")
        sliced = await one("search_slice", corpus="docs", query="refunds", anchor="refunds")
        about = sliced["provenance"]
        assert about["is_admissible"]
        assert (await one("get_trace", trace_id=about["id"]))["trace"]["slice_id"] == about[
            "slice_id"
        ]
        again = await one(
            "search_slice", corpus="docs", query="refunds", slice_id=about["slice_id"]
        )
        assert [c["chunk_id"] for c in again["chunks"]] == [c["chunk_id"] for c in sliced["chunks"]]

    talk(dsn, conversation, record=True)


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("search", {}, "'query' is a required property"),
        ("search", {"query": ""}, "query: "),
        ("search", {"query": "x", "top": 3}, "no argument 'top'; there are query, corpora, k"),
        (
            *("search", {"query": "x", "corpus": "docs"}),
            "there is no argument 'corpus'; did you mean corpora? there are query, corpora, k",
        ),
        (
            "ask",
            {"query": "x"},
            "no argument 'query'; question must be given; there are corpus, question, k",
        ),
        ("list_corpora", {"corpus": "d"}, "there is no argument 'corpus'; there are prefix, after"),
        ("fetch", {"id": "docs/none"}, "RG406"),
        ("fetch", {"id": "nowhere/none"}, "RG404"),
        ("fetch", {"id": "docs/sha256:" + "0" * 64}, "RG406"),
        ("get_trace", {"trace_id": "0190f3c4-0000-7000-8000-000000000000"}, "RG407"),
        ("get_trace", {"trace_id": "x"}, "trace_id: \"x\" is not a 'uuid'"),
        ("search", {"query": None}, "query: null is not of type 'string'"),
        ("search", {"query": "x", "k": "5"}, "k: \"5\" is not of type 'integer'"),
        ("search", {"query": "x", "k": True}, "k: true is not of type 'integer'"),
        ("search", {"query": "x", "collapse": "true"}, 'collapse: "true" is not of type \'bool'),
        ("search", {"query": "x", "corpora": "docs"}, "corpora: \"docs\" is not of type 'array'"),
        ("search", {"query": "x", "corpora": []}, "corpora: [] should be non-empty"),
        ("build_pack", {"corpus": "docs", "chunk_ids": [None]}, "chunk_ids: 0: null is not of"),
        (
            *("locate_quote", {"corpus": "docs", "chunk_id": "x", "quote": "y" * 10001}),
            "y…: it is too long: maxLength is 10000",
        ),
        ("search", {"query": ["long " * 50]}, "…: it is not of type 'string'"),
        ("search", {"query": "x", "nothing": None}, "there is no argument 'nothing'"),
        ("search_slice", {"corpus": "docs", "query": "x", "k": 0}, "k: 0 is less"),
        ("search_slice", {"corpus": "docs", "query": "x", "anchor": "none"}, "RG434"),
        ("search_slice", {"corpus": "bare", "query": "x"}, "nothing to anchor a slice in"),
        ("search_slice", {"corpus": "docs", "query": "x", "slice_id": "a", "anchor": "b"}, "omit"),
        ("search_slice", {"corpus": "docs", "query": "x", "slice_id": "a", "policy": {}}, "omit"),
        ("validate_citations", {"output": {}}, "give one of"),
        ("search", {"query": "half of a pair \ud83d"}, "surrogate"),
        ("AnswerDocs", {"question": "half of a pair \ud83d"}, "surrogate"),
        ("search", {"query": "a NUL \0"}, "cannot hold these arguments: a NUL"),
        ("AnswerDocs", {"question": " "}, "needs question"),
        ("AnswerDocs", {"question": None}, "needs question"),
        ("AnswerDocs", {"query": "x"}, "RG400"),
    ],
)
def test_a_wrong_call_is_answered_with_what_to_do(
    dsn: str, tool: str, arguments: dict[str, Any], message: str
) -> None:
    made = call(dsn, tool, arguments)
    assert isinstance(made, str), made
    assert message in made


def test_null_counts_as_left_out_where_that_is_allowed(dsn: str) -> None:
    tools = Tools(dsn, record=True, write=True, ask_peers=True)
    for tool, about in tools.always().items():
        schema = object_of(about.properties, about.required)
        least = {name: sound(about.properties[name]) for name in about.required}
        assert without_nulls({**dict.fromkeys(about.properties), **least}, schema) == least, tool
    options = {"corpora": None, "k": 1, "mode": None, "filter": None, "collapse": None}
    made = call(dsn, "search", {"query": "refunds", **options})
    assert made == call(dsn, "search", {"query": "refunds", "k": 1})


def test_an_empty_text_takes_the_place_of_another(clone: str) -> None:
    with ragdb.connect(clone) as db:
        db.put_text("notes", "a.md", "Of a kite.")
    made = call(clone, "put_text", {"corpus": "notes", "source": "a.md", "text": ""}, write=True)
    assert made["chunks_indexed"] == 0, made


def test_null_within_a_turn_counts_as_left_out_and_in_metadata_it_stays(clone: str) -> None:
    with ragdb.connect(clone) as db:
        db.create_corpus("talk")
    turn = {"id": "1", "text": "Hello.", "parent_id": None, "created_at": None, "speaker": None}
    more = {"title": None, "metadata": {"mood": None}}
    asked = {"corpus": "talk", "session": "one", "turns": [turn], "document": more}
    assert isinstance(call(clone, "append_turns", asked, write=True), dict)
    with ragdb.connect(clone) as db:
        (document,) = db.list_documents("talk")
    assert document.metadata["mood"] is None


def test_null_for_an_argument_of_a_contract_counts_as_left_out(clone: str) -> None:
    contract = """corpus name=C
tool name=Ask
  param name=words
  param name=reader required=false
  retrieve retriever=R queryParam=words
retriever name=R corpus=C mode=lexical
"""
    with ragdb.connect(clone) as db:
        db.apply_contract(db.parse_contract(contract, "nulls"))
    made = call(clone, "Ask", {"words": "hello", "reader": None})
    assert made["chunks"] == [], made
    assert "needs words" in call(clone, "Ask", {"words": None, "reader": None})


def sound(schema: dict[str, Any]) -> Any:
    """A value that a tool takes."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "string":
        nobody = "0190f3c4-0000-7000-8000-000000000000"
        return nobody if schema.get("format") == "uuid" else "x"
    least = schema.get("minItems", 0)
    some = [sound(schema["items"])] * least if least else []
    parts = {name: sound(schema["properties"][name]) for name in schema.get("required", ())}
    empty = {"array": some, "object": parts, "integer": 1, "number": 0.5, "boolean": False}
    return empty.get(schema.get("type", ""), {})


def test_no_text_that_a_tool_takes_is_refused_by_postgresql_alone(dsn: str) -> None:
    """Its message names no argument and says nothing of what to do."""
    tools = Tools(dsn, record=True, write=True)
    tools.pool.open()
    told, calls = [], 0
    for tool, about in tools.always().items():
        for name, schema in about.properties.items():
            texts = schema.get("items", schema)
            if texts.get("type") != "string" or "enum" in texts:
                continue
            given = {other: sound(about.properties[other]) for other in about.required}
            for wrong in ("x", "2026-13-01"):
                given[name] = [wrong] if "items" in schema else wrong
                calls += 1
                try:
                    tools.call(tool, dict(given))
                except (ToolError, RagdbError):
                    pass
                except psycopg.Error as error:
                    told.append((tool, name, str(error)[:80]))
    tools.pool.close()
    assert calls > 100
    assert told == []


def test_an_unknown_tool_resource_or_prompt_is_an_error_of_the_protocol(dsn: str) -> None:
    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError, match="unknown tool"):
            await client.call_tool("drop_corpus", {"corpus": "docs"})
        for uri in (
            *("ragdb://corpus/nowhere", "ragdb://corpus/", "file:///etc/passwd"),
            "ragdb://corpus/docs/a%00b",
        ):
            with pytest.raises(MCPError, match=r"unknown resource|nowhere|NUL") as caught:
                await client.read_resource(uri)
            assert caught.value.error.code == INVALID_PARAMS
        with pytest.raises(MCPError, match="; list_corpora lists the names"):
            await client.read_resource("ragdb://corpus/nowhere")
        with pytest.raises(MCPError, match="unknown prompt"):
            await client.get_prompt("AnswerDocs")

    talk(dsn, conversation)


def test_a_fault_of_ours_quotes_nothing(
    dsn: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(_: Tools) -> list[str]:
        raise ValueError("zan" + "zibar")

    monkeypatch.setattr(Tools, "names", fail)

    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError, match="the call failed") as caught:
            await client.call_tool("search", {"query": "refunds"})
        assert caught.value.error.code == INTERNAL_ERROR

    talk(dsn, conversation)
    logged = capfd.readouterr().err
    assert "ValueError" in logged
    assert "in fail" in logged
    assert "zanzibar" not in logged


def test_passages_lead_to_their_neighbours_and_to_the_whole_document(clone: str) -> None:
    text = "\n\n".join(f"Paragraph {n} tells of " + f"matter{n} " * 60 for n in range(8))
    with ragdb.connect(clone) as db:
        db.create_corpus("docs")
        db.put_text("docs", "https://example.org/a%20b", text, title="Long")
    (first,) = call(clone, "search", {"query": "matter3"})["results"]
    assert first["url"] == "https://example.org/a%20b"
    assert len(first["text"]) == 300
    passage = call(clone, "fetch", {"id": first["id"]})
    assert passage["text"].startswith(first["text"])
    before = call(clone, "fetch", {"id": passage["metadata"]["previous"]})
    assert before["metadata"]["next"] == first["id"]
    whole = call(clone, "fetch", {"id": passage["metadata"]["document"]})
    assert whole["text"].split() == text.split()
    assert not whole["metadata"]["is_cut"]


def test_many_synonyms_come_by_pages(clone: str) -> None:
    with ragdb.connect(clone) as db:
        db.create_corpus("docs")
        for n in range(100, 155):
            db.add_synonyms("docs", [f"a{n}", f"b{n}"])

    def page(**how: Any) -> tuple[list[str], bool]:
        found = call(clone, "list_synonyms", {"corpus": "docs", **how})
        return [row["word"] for row in found["synonyms"]], "There are more" in found.get("note", "")

    words = [f"{letter}{n}" for letter in "ab" for n in range(100, 155)]
    assert page() == (words[:100], True)
    assert page(after=words[99]) == (words[100:], False)
    assert page(prefix="b", count=55) == (words[55:], False)
    assert page(count=10000) == (words, False)


def test_a_passage_reads_no_more_than_its_neighbours(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n\n".join(f"Paragraph {n} tells of " + f"matter{n} " * 60 for n in range(8))
    with ragdb.connect(clone) as db:
        db.create_corpus("docs")
        db.put_text("docs", "a.txt", text)
        chunks = [f"docs/{chunk.chunk_id}" for chunk in db.document_chunks("docs", "a.txt")]
    read: list[int] = []
    ask = Functions.document_chunks

    def counted(*arguments: Any) -> Any:
        found = ask(*arguments)
        read.append(len(found))
        return found

    monkeypatch.setattr(Functions, "document_chunks", counted)
    assert len(chunks) > 5
    for before, chunk, after in zip([None, *chunks], chunks, [*chunks[1:], None], strict=False):
        found = call(clone, "fetch", {"id": chunk})["metadata"]
        assert (found.get("previous"), found.get("next")) == (before, after)
    assert read == [2, *[3] * (len(chunks) - 2), 2]


def test_a_search_says_when_it_had_to_do_without_the_embedding(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ragdb.connect(clone) as db:
        db.create_corpus("docs")
        db.put_text("docs", "a", "Refunds take five days.")
        db.create_embedder("model", 384)
        db.bind_embedder("model", "hash", "hash-v1")
        db.embed_corpus("docs", "model")
        Worker(clone).run(until="empty")
        found = call(clone, "search", {"query": "refunds", "mode": "lexical"})
        assert found.keys() == {"results"}
        monkeypatch.setattr(embedders, "numbers", Mock(side_effect=ProviderDown("gone")))
        without = call(clone, "search", {"query": "refunds"})
    assert without["note"] == "The query could not be embedded: this was found by words alone."
    texts = [[hit["text"] for hit in made["results"]] for made in (without, found)]
    assert texts == [["Refunds take five days."]] * 2


def test_a_search_says_that_no_passage_has_a_phrase(dsn: str) -> None:
    asked = {"query": '"days refunds"', "mode": "lexical"}
    made = call(dsn, "search", asked | {"syntax": "web"})
    assert made["results"] == []
    assert "nothing meets the phrases and signs" in made["note"]
    assert call(dsn, "search", asked).keys() == {"results"}
    some = call(dsn, "search", {"query": '"the refunds"', "syntax": "web", "mode": "lexical"})
    assert some["results"]
    assert 'the phrase "the refunds" is looked for without "the"' in some["note"]


def test_a_corpus_that_is_not_there_is_not_an_embedding_that_failed(
    dsn: str, capfd: pytest.CaptureFixture[str]
) -> None:
    async def conversation(client: Client) -> None:
        made = await client.call_tool("search", {"query": "refunds", "corpora": ["nope"]})
        assert made.is_error

    talk(dsn, conversation)
    assert "by words alone" not in capfd.readouterr().err


def test_a_corpus_that_has_moved_is_not_an_embedding_that_failed(
    clone: str, capfd: pytest.CaptureFixture[str]
) -> None:
    async def conversation(client: Client) -> None:
        made = await client.call_tool("search", {"query": "refunds", "corpora": ["gone"]})
        assert made.is_error
        assert "has moved" in str(made.content)

    with ragdb.connect(clone) as db:
        db.create_corpus("gone")
        db.connection.execute("update ragdb.corpora set moving = 'moved' where name = 'gone'")
    talk(clone, conversation)
    assert "by words alone" not in capfd.readouterr().err


def test_of_many_corpora_a_model_gets_a_page_and_how_to_go_on(clone: str) -> None:
    with psycopg.connect(clone) as db:
        db.execute("select ragdb.create_corpus('m' || n) from generate_series(1000, 1204) n")

    def listed(**arguments: Any) -> tuple[list[str], str | None]:
        made = call(clone, "list_corpora", arguments)
        return [row["name"] for row in made["corpora"]], made.get("note")

    async def resources(client: Client) -> list[list[str]]:
        pages = [await client.list_resources()]
        while pages[-1].next_cursor is not None:
            pages.append(await client.list_resources(cursor=pages[-1].next_cursor))
        return [[resource.name for resource in page.resources] for page in pages]

    names = [f"m{n}" for n in range(1000, 1205)]
    more = "There are more: give the last name as after, or a prefix."
    assert listed() == (names[:100], more)
    assert listed(after="m1099") == (names[100:200], more)
    assert listed(after="m1199") == (names[200:], None)
    assert listed(prefix="m10", count=99) == (names[:99], more)
    assert listed(prefix="m10") == (names[:100], None)
    assert listed(prefix="m12", count=5) == (names[200:], None)
    assert listed(prefix="n") == ([], "No name of a corpus begins with 'n'.")
    assert talk(clone, resources) == [names[:100], names[100:200], names[200:]]
    assert "m1007 and 197 more; give corpus" in call(clone, "ask", {"question": "which?"})
    served = names[::2]
    made = call(clone, "list_corpora", {"after": "m1004", "count": 2}, corpora=served)
    assert [row["name"] for row in made["corpora"]] == served[3:5]
    refused = call(clone, "search", {"query": "x", "corpora": ["m1001"]}, corpora=served)
    assert "m1014 and 95 more" in refused


def test_corpora_and_their_passages_are_resources(dsn: str) -> None:
    async def conversation(client: Client) -> None:
        resources = (await client.list_resources()).resources
        assert {str(r.uri).rpartition("/")[2] for r in resources} == {"bare", "docs", "more"}
        templates = (await client.list_resource_templates()).resource_templates
        assert templates[0].uri_template == "ragdb://corpus/{name}"
        (about,) = (await client.read_resource("ragdb://corpus/docs")).contents
        shown = json.loads(getattr(about, "text", ""))
        assert shown["documents"] == len(shown["first_documents"]) == 3
        url = (await client.call_tool("search", {"query": "refunds"})).structured_content
        (text,) = (await client.read_resource(url["results"][0]["url"])).contents
        assert "refund policy" in getattr(text, "text", "")

    talk(dsn, conversation)


def test_a_prompt_of_a_contract_comes_with_its_evidence(dsn: str) -> None:
    async def conversation(client: Client) -> None:
        (prompt,) = (await client.list_prompts()).prompts
        assert (prompt.name, prompt.description) == ("Brief", "What is known of refunds.")
        (message,) = (await client.get_prompt("Brief")).messages
        text = getattr(message.content, "text", "")
        assert re.match(
            r"refunds\n\ncorpus more\n\n### 1 source_id=docs/refunds.md chunk_id=", text
        )

    talk(dsn, conversation)


def test_prompts_come_in_pages(clone: str) -> None:
    names = [f"P{n}" for n in range(1000, 1205)]
    retriever = PROMPT.partition("tool ")[0]
    prompts = "".join(
        f"prompt name={name}\n  retrieve retriever=MoreSearch query=refunds\n" for name in names
    )
    with ragdb.connect(clone) as db:
        db.apply_contract(db.parse_contract(retriever + prompts, "many"))

    async def conversation(client: Client) -> None:
        pages = [await client.list_prompts()]
        while pages[-1].next_cursor is not None:
            pages.append(await client.list_prompts(cursor=pages[-1].next_cursor))
        listed = [[prompt.name for prompt in page.prompts] for page in pages]
        assert listed == [names[:100], names[100:200], names[200:]]

    talk(clone, conversation)


def test_a_server_for_some_corpora_shows_nothing_of_others(dsn: str, trace: str) -> None:
    with ragdb.connect(dsn) as db:
        (hit, *_) = db.search("more", "refunds")
    # the database says whether its chunk begins as a pack says
    guess = {"source_id": "docs/refunds.md", "chunk_id": "refunds", "text": "R"}
    packs: tuple[dict[str, Any], ...] = (
        {"corpus_id": "docs", "chunks": [guess]},
        {"evidence": {"corpus": "docs", "corpus_id": "more", "chunks": [guess]}},
        {"corpus": "more", "trace_id": trace, "chunks": [guess]},
        {"corpus": "more", "chunks": [guess, guess | {"trace_id": trace.replace("-", "")}]},
    )
    refused: list[tuple[str, dict[str, Any]]] = [
        ("fetch", {"id": "docs/refunds"}),
        ("get_trace", {"trace_id": trace}),
        ("replay_trace", {"trace_id": trace}),
        ("search_slice", {"corpus": "docs", "query": "refunds"}),
        ("validate_citations", {"output": {}, "trace_id": trace}),
        ("validate_citations", {"output": {}, "corpus": "docs", "chunk_ids": ["refunds"]}),
        *(("validate_citations", {"output": {}, "evidence": pack}) for pack in packs),
    ]

    async def conversation(client: Client) -> None:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == BUILTIN | {"Bare", "Brief"}
        found = (await client.call_tool("search", {"query": "refunds"})).structured_content
        assert [result["id"] for result in found["results"]] == [f"more/{hit.chunk_id}"]
        listed = (await client.call_tool("list_corpora", {})).structured_content
        assert [row["name"] for row in listed["corpora"]] == ["more"]
        resources = (await client.list_resources()).resources
        assert [str(resource.uri) for resource in resources] == ["ragdb://corpus/more"]
        for name, arguments in refused:
            made = await client.call_tool(name, arguments)
            assert made.is_error, arguments
            assert "not served here" in getattr(made.content[0], "text", "")
        with pytest.raises(MCPError, match="not served"):
            await client.read_resource("ragdb://corpus/docs")
        with pytest.raises(MCPError, match="unknown tool"):
            await client.call_tool("AnswerDocs", {"question": "How do refunds work?"})

    # one that is gone hides no other
    talk(dsn, conversation, corpora=["more", "gone"])


def test_a_corpus_that_evidence_names_by_a_number_is_another_too(clone: str) -> None:
    """The database reads the name of a pack as text, whatever JSON has it in."""
    with ragdb.connect(clone) as db:
        for name in ("2026", "true", "more"):
            db.create_corpus(name)
            db.put_text(name, "a.md", "Refunds are paid.")

    async def conversation(client: Client) -> None:
        for named in ({"corpus": 2026}, {"corpus_id": True}, {"corpus": None, "corpus_id": "2026"}):
            given: dict[str, Any] = {"evidence": {**named, "chunks": []}, "output": {}}
            made = await client.call_tool("validate_citations", given)
            assert "not served here" in getattr(made.content[0], "text", ""), named

    talk(clone, conversation, corpora=["more"])


def test_the_id_of_a_document_that_was_replaced_deletes_nothing(clone: str) -> None:
    ids = []
    for text in ("first", "second"):
        with ragdb.connect(clone) as db:
            db.put_text("docs", "a", text)
        (document,) = call(clone, "list_documents", {"corpus": "docs"})["documents"]
        ids.append(document["id"])
    assert "another document now" in call(clone, "delete_document", {"id": ids[0]}, write=True)
    assert call(clone, "list_documents", {"corpus": "docs"})["documents"][0]["id"] == ids[1]
    assert call(clone, "delete_document", {"id": ids[1]}, write=True)["documents_deleted"] == 1


def test_no_tool_of_a_server_for_some_corpora_takes_what_is_of_another(
    dsn: str, trace: str
) -> None:
    with ragdb.connect(dsn) as db:
        of_docs = {
            "corpus": "docs",
            "corpora": ["more", "docs"],
            "part_of": "docs",
            "trace_id": trace,
            "run_id": str(db.list_eval_runs("AnswerDocs")[0].run_id),
            "id": "docs/refunds",
        }
    tools = Tools(dsn, corpora=["more"], record=True, write=True, ask_peers=True)
    asked = set()
    with tools.pool:
        for name, tool in tools.always().items():
            needed = {key: sound(tool.properties[key]) for key in tool.required}
            needed |= {"corpus": "more"} if "corpus" in needed else {}
            for key in tool.properties.keys() & of_docs.keys():
                with pytest.raises(ToolError, match="not served here"):
                    tools.call(name, {**needed, key: of_docs[key]})
                asked.add((name, key))
    assert len(asked) > 30


@pytest.mark.parametrize(
    ("flags", "is_read_only"), [({}, "on"), ({"record": True}, "off"), ({"write": True}, "off")]
)
def test_a_call_sees_one_state_changes_nothing_unasked_and_takes_half_a_minute(
    dsn: str, flags: dict[str, Any], is_read_only: str
) -> None:
    names = ("transaction_read_only", "transaction_isolation", "statement_timeout")
    tools = Tools(dsn, **flags)
    with tools.pool, tools.database() as db:
        shown = [one(db.connection, f"show {name}") for name in names]
    assert shown == [is_read_only, "repeatable read", "30s"]


@pytest.mark.parametrize("named", [{"rag": "AnswerDocs"}, {"retriever": "DocsSearch"}])
def test_a_contract_names_the_corpus_that_is_asked(dsn: str, named: dict[str, str]) -> None:
    asked = {"question": "How do refunds work?", **named}
    answer = call(dsn, "ask", asked)
    assert answer == call(dsn, "ask", {"corpus": "docs", **asked})
    assert answer["citations"][0]["chunk_id"] == "refunds"
    (name,) = named.values()
    assert call(dsn, "ask", asked, corpora=["more"]) == f"{name!r} is not served here"


def test_a_question_without_a_corpus_is_asked_of_the_only_one(dsn: str) -> None:
    asked = {"question": "How do refunds work?"}
    assert "give corpus" in call(dsn, "ask", asked)
    answer = call(dsn, "ask", asked, corpora=["docs"])
    assert answer == call(dsn, "ask", {"corpus": "docs", **asked})


def test_many_tools_of_contracts_are_found_and_called_by_two(clone: str) -> None:
    def tools(most: int) -> str:
        head = PROMPT.partition("tool ")[0]
        return head + "".join(
            f'tool name=T{n:02} description="Rules of department {n}."\n'
            "  param name=words\n  retrieve retriever=MoreSearch queryParam=words\n"
            for n in range(most)
        )

    with ragdb.connect(clone) as db:
        db.apply_contract(db.parse_contract(tools(40), "more"))
        db.put_text("more", "deposit.md", "The deposit is refunded.")

    async def names(client: Client) -> tuple[set[str], int]:
        listed = (await client.list_tools()).tools
        return {tool.name for tool in listed} - BUILTIN, len(str(listed))

    each = {f"T{n:02}" for n in range(41)}
    few, size = talk(clone, names)
    assert few == each - {"T40"}
    with ragdb.connect(clone) as db:
        db.apply_contract(db.parse_contract(tools(41), "more"))
    many, smaller = talk(clone, names)
    assert many == BOUND
    assert smaller < size
    found, after = [], ""
    while page := call(clone, "list_contract_tools", {"after": after, "count": 15})["tools"]:
        found += page
        after = page[-1]["name"]
    assert [tool["name"] for tool in found] == sorted(each)
    assert "note" in call(clone, "list_contract_tools", {})
    words = {"words": "RULES department 17"}
    (tool,) = call(clone, "list_contract_tools", words)["tools"]
    assert tool["name"] == "T17"
    assert list(tool["input_schema"]["properties"]) == ["words"]
    asked = {"name": "T17", "arguments": {"words": "deposit"}}
    made = call(clone, "call_contract_tool", asked)
    assert [chunk["text"] for chunk in made["chunks"]] == ["The deposit is refunded."]
    assert made == call(clone, "T17", {"words": "deposit"})
    unknown = call(clone, "call_contract_tool", {"name": "T99"})
    assert unknown == "unknown tool 'T99': list_contract_tools finds those that there are"
    assert "words" in call(clone, "call_contract_tool", {"name": "T17"})
    # a server for other corpora has none of them
    assert talk(clone, names, corpora=["other"])[0] == set()


def test_a_contract_applied_while_serving_is_served(clone: str) -> None:
    async def conversation(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == BUILTIN
        with ragdb.connect(clone) as db:
            db.apply_contract(PROMPT, "more")
        assert "Bare" in {
            tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools
        }
        made = await client.call_tool("Bare", {"words": "refunds"})
        assert made.structured_content["chunks"] == []

    talk(clone, conversation)


@pytest.mark.parametrize("is_recorded", [False, True])
def test_a_tool_of_a_reranked_retriever_is_reranked(
    clone: str, tmp_path: Path, is_recorded: bool
) -> None:
    texts = [f"refund number {n} " + "of a parcel " * (n % 3) for n in range(6)]
    model = make_cross_encoder(tmp_path / "tiny", texts)
    declared = """corpus name=docs
retriever name=R corpus=docs mode=lexical topK=2 rerank=tiny
tool name=T
  param name=q
  retrieve retriever=R queryParam=q
"""
    with ragdb.connect(clone) as db:
        db.bind_reranker("tiny", str(model), digest(model), LENGTH)
        db.apply_contract(declared, "c")
        for n, text in enumerate(texts):
            db.put_text("docs", f"{n}.txt", text)
        hits = db.search("docs", "refund", 8)
        scores = predicted(model, "refund", [hit.text for hit in hits])
        best = sorted(range(6), key=lambda n: -scores[n])[:2]
        made = call(clone, "T", {"q": "refund"}, record=is_recorded)
        assert [
            (chunk["id"], chunk["score"], chunk["provenance"]["rerank_score"])
            for chunk in made["chunks"]
        ] == [(hits[n].chunk_id, hits[n].score, scores[n]) for n in best]
        about = made["provenance"]
        assert (about["reranker"], about["reranked"], about["retrieved"]) == ("tiny", 6, 2)
        if is_recorded:
            trace = db.get_trace(about["trace_id"])
            assert (trace.limit_returned, trace.result_hash) == (6, about["result_hash"])
            rows = db.trace_reranks(trace.id)
            assert [row.chunk_id for row in rows if row.is_returned] == [
                chunk["id"] for chunk in made["chunks"]
            ]
            shown = call(clone, "get_trace", {"trace_id": about["trace_id"]})
            assert [row["score"] for row in shown["reranks"]] == sorted(scores, reverse=True)
        assert call(clone, "T", {"q": "nothing"}, record=is_recorded)["chunks"] == []
        (model / "model.safetensors").write_bytes(b"")
        db.bind_reranker("other", str(model), digest(model), LENGTH)
        other = declared.replace("rerank=tiny", "rerank=other")
        db.apply_contract(other, "c")
        (model / "model.safetensors").write_bytes(b"changed")
        assert "tampered" in call(clone, "T", {"q": "refund"}, record=is_recorded)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--transport", "sse"], "neither stdio nor http"),
        (["--transport", "http", "--host", "0.0.0.0"], "there is no token"),
        (["--corpus", "nowhere"], "does not exist"),
        (["--transport", "http", "--port", "{taken}"], "ddress already in use"),
    ],
)
def test_what_cannot_be_served_is_refused(
    dsn: str, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGDB_DATABASE_URL", dsn)
    monkeypatch.delenv("RAGDB_MCP_TOKEN", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        done = CliRunner().invoke(app, ["mcp", *(a.format(taken=port) for a in arguments)])
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        {"k": 2, "mode": "lexical"},
        {"corpora": ["docs"], "per_document": 1, "context": 1, "mode": "lexical"},
        {"syntax": "web", "query": "refunds -mondays", "mode": "lexical"},
        {"section": True, "collapse": True, "diversity": 0.3, "mode": "lexical"},
        {"filter": {"source": "docs/refunds.md"}, "mode": "lexical"},
        {"query": "refnds", "typos": False, "mode": "lexical"},
    ],
    ids=str,
)
def test_a_search_has_the_options_of_the_database(dsn: str, options: dict[str, Any]) -> None:
    asked = {"query": "refunds", **options}
    made = call(dsn, "search", asked)
    with ragdb.connect(dsn) as db:
        named = {"corpora": ["bare", "docs", "more"], **asked}
        found = db.search(named.pop("corpora"), named.pop("query"), **named)
    assert [row["id"] for row in made["results"]] == [f"{h.corpus}/{h.chunk_id}" for h in found]
    contexts = [row.get("context") for row in made["results"]]
    assert contexts == [h.context for h in found]
    assert bool(found) == ("typos" not in options)
    meant = "refunds" if asked["query"] == "refnds" else None
    assert made.get("did_you_mean") == meant


def test_a_server_of_some_corpora_counts_and_lists_those_alone(dsn: str, trace: str) -> None:
    only: dict[str, Any] = {"corpora": ["more"]}
    everything = call(dsn, "count_matches", {})
    assert call(dsn, "count_matches", {}, **only) == call(
        dsn, "count_matches", {"corpora": ["more"]}
    )
    assert call(dsn, "count_matches", {}, **only)["documents"] < everything["documents"]
    named: dict[str, dict[str, Any]] = {
        "facets": {"fields": ["source"], "corpora": ["docs"]},
        "search": {"query": "refunds", "corpora": ["docs"]},
        "list_documents": {"corpus": "docs"},
        "ask": {"corpus": "docs", "question": "refunds?"},
        "build_pack": {"trace_id": trace},
        "resolve_anchor": {"corpus": "docs"},
        "list_traces": {"corpus": "docs"},
        "list_promoted": {"corpus": "docs"},
        "list_synonyms": {"corpus": "docs"},
        "list_edges": {"corpus": "docs", "chunk_id": "refunds"},
        "explain_passage": {"corpus": "docs", "query": "refunds", "chunk_id": "refunds"},
        "locate_quote": {"corpus": "docs", "chunk_id": "refunds", "quote": "fourteen days"},
        "document_versions": {"corpus": "docs", "document": "docs/refunds.md"},
    }
    for tool, arguments in named.items():
        assert "not served here" in call(dsn, tool, arguments, **only), tool
    assert call(dsn, "list_traces", {}, **only)["traces"] == []
    assert call(dsn, "list_eval_runs", {}, **only)["runs"] == []


def keeps_its_own_turns(dsn: str) -> None:
    """An agent appends what was said, sends it again, and joins it to what it read."""
    turns = [{"id": "1", "text": "May I fly it?", "speaker": "Ann"}]
    turns.append({"id": "2", "text": "Yes.", "parent_id": "1", "role": "assistant"})
    talk = {"corpus": "mine", "session": "agent", "turns": turns}
    made = call(dsn, "append_turns", talk, write=True)["turns"]
    assert [(row["depth"], row["was_duplicate"]) for row in made] == [(0, False), (1, False)]
    said = [call(dsn, "fetch", {"id": f"mine/{row['turn_id']}"})["metadata"] for row in made]
    assert [(one["role"], one.get("speaker")) for one in said] == [
        ("user", "Ann"), ("assistant", None),
    ]  # fmt: skip
    assert said[0]["said_at"] <= said[1]["said_at"]
    again = call(dsn, "append_turns", talk, write=True)["turns"]
    assert [row["was_duplicate"] for row in again] == [True, True]
    other = talk | {"turns": [turns[0] | {"text": "Another."}]}
    assert "(RG409); it has another text" in call(dsn, "append_turns", other, write=True)
    (read,) = call(dsn, "search", {"query": "kite", "corpora": ["mine"]})["results"]
    chunk = read["id"].removeprefix("mine/")
    edges = {"corpus": "mine", "edges": [{"parent": chunk, "child": made[1]["turn_id"]}]}
    assert call(dsn, "add_edges", edges, write=True) == {"added": 1}
    around = {"corpus": "mine", "chunk_id": made[1]["turn_id"]}
    assert {
        (edge["parent_id"], edge["edge_type"])
        for edge in call(dsn, "list_edges", around)["parents"]
    } == {(chunk, "reference"), (made[0]["turn_id"], "reply")}
    # the replies to a turn that has many parents come without these
    (page, rest) = (
        call(dsn, "list_edges", around | {"count": 1} | more)
        for more in ({}, {"after_parent": min(chunk, made[0]["turn_id"])})
    )
    assert [edge["parent_id"] for edge in (*page["parents"], *rest["parents"])] == sorted(
        (chunk, made[0]["turn_id"])
    )
    assert call(dsn, "list_edges", around | {"after": "0"})["parents"] == []
    assert call(dsn, "remove_edges", edges, write=True) == {"removed": 1}


def test_no_corpus_that_is_served_becomes_a_part_of_another(dsn: str) -> None:
    part = {"corpus": "fresh", "part_of": "docs"}
    assert "not served here" in call(dsn, "create_corpus", part, write=True, corpora=["fresh"])


def test_what_changes_corpora_is_offered_with_write_alone_and_as_the_role_may(
    dsn: str, login_dsn: str
) -> None:
    async def listed(client: Client) -> Any:
        return {tool.name: tool.annotations for tool in (await client.list_tools()).tools}

    offered = talk(dsn, listed, write=True)
    assert offered.keys() >= CHANGES
    assert all(not offered[name].read_only_hint for name in CHANGES)
    assert {name for name in CHANGES if offered[name].destructive_hint} == {
        "drop_corpus", "delete_document", "put_text", "remove_synonyms", "remove_edges",
    }  # fmt: skip

    async def refused(client: Client) -> None:
        with pytest.raises(MCPError, match="unknown tool"):
            await client.call_tool("drop_corpus", {"corpus": "bare"})

    talk(dsn, refused)
    assert "RG401" in call(login_dsn, "create_corpus", {"corpus": "mine"}, write=True)
    made = call(dsn, "create_corpus", {"corpus": "mine", "title": "Mine"}, write=True)
    assert (made["name"], made["title"]) == ("mine", "Mine")
    note = {"corpus": "mine", "source": "a.txt", "text": "A kite is lent for a day."}
    assert call(dsn, "put_text", note, write=True)["chunks_indexed"] == 1
    note["text"] = "A kite is lent for a week."
    assert not call(dsn, "put_text", note, write=True)["was_duplicate"]
    assert call(dsn, "put_text", note, write=True)["was_duplicate"]
    assert "RG401" in call(login_dsn, "put_text", note, write=True)
    assert "RG404" in call(dsn, "put_text", note | {"corpus": "nosuch"}, write=True)
    assert "not served here" in call(dsn, "put_text", note, write=True, corpora=["docs"])
    synonyms = {"corpus": "mine", "words": ["kite", "dragon"]}
    assert call(dsn, "add_synonyms", synonyms, write=True)["added"] > 0
    gone = call(dsn, "remove_synonyms", {"corpus": "mine", "word": "kite"}, write=True)
    assert gone["removed"] > 0
    with ragdb.connect(dsn) as db:
        trace = str(db.retrieve("mine", "kite").trace_id)
    said = {"verdict": "good", "trace_id": trace, "comment": "Yes."}
    given = call(dsn, "record_feedback", said, write=True)
    with ragdb.connect(dsn) as db:
        (kept,) = db.list_feedback("mine")
    assert (str(kept.feedback_id), kept.comment, kept.client) == (
        given["feedback_id"], "Yes.", "ragdb mcp",
    )  # fmt: skip
    assert call(dsn, "record_feedback", {"verdict": "bad"}, write=True) == (
        "give trace_id or answer_id"
    )
    question = {"corpus": "mine", "question": "How long is a kite lent?"}
    asked = call(dsn, "ask", question, record=True)
    of_answer = {"verdict": "bad", "answer_id": asked["trace_summary"]["answer_id"]}
    assert "not served" in call(dsn, "record_feedback", of_answer, write=True, corpora=["docs"])
    assert call(dsn, "record_feedback", of_answer, write=True)["feedback_id"]
    with ragdb.connect(dsn) as db:
        newest = db.list_feedback("mine")[0]
    assert (str(newest.trace_id), str(newest.answer_id)) == (
        asked["trace_id"], of_answer["answer_id"],
    )  # fmt: skip
    keeps_its_own_turns(dsn)
    (document, *_) = call(dsn, "list_documents", {"corpus": "mine"})["documents"]
    assert call(dsn, "fetch", {"id": document["id"]})["text"] == "A kite is lent for a week."
    deleted = call(dsn, "delete_document", {"id": document["id"]}, write=True)
    assert deleted == {"documents_deleted": 1, "chunks_deleted": 1}
    assert call(dsn, "drop_corpus", {"corpus": "mine"}, write=True) == {"dropped": "mine"}
    with ragdb.connect(dsn) as db:
        assert "mine" not in {row.name for row in db.list_corpora()}


def test_a_model_is_told_what_it_can_call(dsn: str) -> None:
    made = call(dsn, "facets", {"corpora": ["docs"], "fields": ["source", "nosuch"]})
    assert 'no document has "nosuch"' in made["note"]
    assert "note" not in call(dsn, "facets", {"corpora": ["docs"], "fields": ["source"]})
    told = call(dsn, "list_edges", {"corpus": "docs", "chunk_id": "nosuch"})
    assert "search returns chunk ids" in told
    assert "ragdb." not in told
    told = call(dsn, "AnswerDocs", {"words": "refunds"})
    assert told.endswith("tools/list describes them")


def test_an_answer_rests_on_what_the_filter_lets_in(dsn: str) -> None:
    asked = {"corpus": "docs", "question": "How do refunds work?"}
    for source, status in (("docs/refunds.md", "answered"), ("docs/shipping.md", "insufficient")):
        made = call(dsn, "ask", {**asked, "filter": {"source": source}})
        assert made["status"] == status, made


def test_what_a_tool_gives_as_a_document_is_taken_by_every_tool(dsn: str) -> None:
    with ragdb.connect(dsn) as db:
        [there] = [row for row in db.list_documents("docs") if row.source == "docs/refunds.md"]
        text = db.document_text("docs", there.source)
    listed = call(dsn, "list_documents", {"corpus": "docs"})["documents"]
    [id] = [row["id"] for row in listed if row["source"] == there.source]
    passage = call(dsn, "search", {"query": "refunds", "corpora": ["docs"]})["results"][0]["id"]
    beside = call(dsn, "fetch", {"id": passage})["metadata"]
    for name in (id, beside["document"], f"docs/{beside['source']}"):
        assert call(dsn, "fetch", {"id": name})["text"] == text
    versions = [
        call(dsn, "document_versions", {"corpus": "docs", "document": name})["versions"]
        for name in (there.source, id, there.doc_cid)
    ]
    assert versions[0][0]["doc_cid"] == there.doc_cid
    assert versions == [versions[0]] * 3


def test_an_empty_answer_says_why_it_is_empty(dsn: str) -> None:
    filtered = {"query": "refunds", "corpora": ["docs"], "filter": {"sorce": "docs/refunds.md"}}
    why = 'no document meets the filter "{"sorce": "docs/refunds.md"}"'
    counted = call(dsn, "count_matches", filtered)
    assert (counted["chunks"], counted["note"].partition(";")[0]) == (0, why)
    counted = call(dsn, "facets", {**filtered, "fields": ["source"]})
    assert (counted["facets"], counted["note"].partition(";")[0]) == ([], why)
    listed = call(dsn, "list_documents", {"corpus": "docs", "prefix": "refunds"})
    assert (listed["documents"], "'refunds'" in listed["note"]) == ([], True)
    assert "note" not in call(dsn, "list_documents", {"corpus": "docs", "prefix": "docs/"})
    assert "give query" in call(dsn, "resolve_anchor", {"corpus": "docs"})["note"]


def test_an_error_names_what_would_be_right(dsn: str, trace: str) -> None:
    wrong = {"query": "x", "corpora": ["doc"]}
    said = "corpus 'doc' is not served here; did you mean docs? there are docs, more"
    assert call(dsn, "search", wrong, corpora=["docs", "more"]) == said
    said = call(dsn, "search", {"question": "How do refunds work?"})
    assert said.startswith(
        "there is no argument 'question'; query must be given; there are query, "
    )
    claim = {"trace_id": trace, "chunk_ids": ["refunds"], "text": "Refunds take five days."}
    said = call(dsn, "promote", claim, write=True)
    assert said.endswith("search_slice records one that is")
