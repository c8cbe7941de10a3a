"""Sources of kind mcp in contracts, read from real servers on stdio and over HTTP."""

from __future__ import annotations

import codecs
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import anyio
import httpx2
import pytest
from mcp import stdio_client
from typer.testing import CliRunner

import ragdb
from ragdb.cli.main import app
from ragdb.contracts import declarations
from ragdb.ingest import mcp_sources
from tests.contract_twin import parse

SERVER = Path(__file__).parents[1] / "data/mcp_server.py"
CONTRACT = """corpus name=Wiki
  source name=pages kind=mcp uri=wiki resource="wiki://pages/*"
  source name=notice kind=mcp uri=wiki resource=wiki://files/notice.txt
retriever name=R corpus=Wiki mode=lexical
"""


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's file of servers, which a contract names by."""
    file = tmp_path / "servers.json"
    file.write_text(
        json.dumps({"mcpServers": {"wiki": {"command": sys.executable, "args": [str(SERVER)]}}})
    )
    monkeypatch.setenv(mcp_sources.SERVERS, str(file))
    return file


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_contract_reads_the_resources_of_a_server(
    clone: str, servers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGDB_DATABASE_URL", clone)
    contract = tmp_path / "wiki.kern"
    contract.write_text(CONTRACT)
    assert run("apply", contract).exit_code == 0
    connect = Mock(wraps=stdio_client)
    monkeypatch.setattr(mcp_sources, "stdio_client", connect)
    done = run("ingest", "--contract", contract)
    assert done.exit_code == 0, done.output
    assert connect.call_count == 1  # for both sources
    with ragdb.connect(clone) as db:
        found = {row.source: row for row in db.list_documents("wiki")}
        assert found.keys() == {
            "wiki://pages/returns", "wiki://pages/deposits", "wiki://files/notice.txt",
        }  # fmt: skip
        page = found["wiki://pages/deposits"]
        assert (page.title, page.media_type) == ("Deposits", "text/markdown")
        assert page.source_name == "pages"
        assert found["wiki://files/notice.txt"].source_name == "notice"
        (hit, *_) = db.search("wiki", "immer")
        assert hit.text == "Closed on Mondays: für immer."
        assert hit.citation is None or hit.citation["uri"] == "wiki://files/notice.txt"
    again = run("ingest", "--contract", contract)
    assert again.exit_code == 0
    assert "0 written, 2 unchanged" in again.stderr


@pytest.mark.nightly
def test_the_file_of_servers_may_begin_as_editors_of_windows_write_it(servers: Path) -> None:
    servers.write_bytes(codecs.BOM_UTF8 + servers.read_bytes())
    (found,) = mcp_sources.find("", ["wiki://pages/*"])
    found.close()
    assert found.sources


def test_what_cannot_be_read_is_reported_and_does_not_stop_the_others(
    clone: str, servers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGDB_DATABASE_URL", clone)
    contract = tmp_path / "wiki.kern"
    contract.write_text(
        'corpus name=Wiki\n  source name=all kind=mcp uri=wiki resource="*"\n'
        "  source name=none kind=mcp uri=wiki resource=wiki://none\n"
        "  source name=other kind=mcp uri=other resource=x://y\n"
    )
    assert run("apply", contract).exit_code == 0
    done = run("ingest", "--contract", contract)
    assert done.exit_code == 4
    assert "wiki://files/logo.png" in done.output
    assert "no server" in done.output
    with ragdb.connect(clone) as db:
        assert db.corpus_info("wiki").documents == 3


def test_files_that_were_fetched_are_gone_after(servers: Path) -> None:
    (found,) = mcp_sources.find("", ["wiki://pages/*"])  # the only server
    assert [source.uri for source in found.sources] == [
        "wiki://pages/deposits",
        "wiki://pages/returns",
    ]
    assert {source.prefix for source in found.sources} == {"wiki://pages/"}
    assert found.sources[0].read().startswith(b"# Deposits")
    (folder,) = {source.root for source in found.sources}
    assert folder is not None
    found.close()
    assert not folder.exists()


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        ("absent", "no server"),
        ("http://127.0.0.1:9/mcp", "not on the public internet"),
        ("http://user:secret@example.org/mcp", "user name or password"),
    ],
)
def test_a_server_is_the_users_choice_or_public(servers: Path, server: str, reason: str) -> None:
    (found,) = mcp_sources.find(server, ["x://y"])
    ((_, error),) = found.failed
    found.close()
    assert reason in error.reason
    assert "secret@" not in error.reason


def test_without_a_file_of_servers_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(mcp_sources.SERVERS, raising=False)
    (found,) = mcp_sources.find("wiki", ["x://y"])
    ((_, error),) = found.failed
    found.close()
    assert mcp_sources.SERVERS in error.reason


@pytest.fixture
def address() -> Iterator[str]:
    code = (
        f"import sys; sys.path.insert(0, {str(SERVER.parent)!r});"
        " from mcp_server import server; server.run('streamable-http', port=0)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    assert process.stderr
    try:
        listening = (re.search(r"http://[0-9.]+:[1-9]\d*", line) for line in process.stderr)
        found = next(filter(None, listening))
        yield f"{found[0]}/mcp"
    finally:
        process.terminate()
        process.communicate(timeout=120)


def test_a_server_is_reached_by_its_address(address: str) -> None:
    text = f'corpus name=W\n  source name=a kind=mcp uri={address} resource="wiki://pages/*"\n'
    (declared,) = declarations.declared_sources({"nodes": parse(text)})
    ((_, found),) = declarations.find_each([declared], Path(), allow_private=True)
    try:
        assert found.failed == []
        assert len(found.sources) == 2
    finally:
        found.close()
    ((_, too_small),) = declarations.find_each([declared], Path(), allow_private=True, max_bytes=10)
    too_small.close()
    assert [error.code for _, error in too_small.failed] == ["too_large", "too_large"]


def test_a_server_is_connected_to_at_the_address_that_was_checked(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    truly = socket.getaddrinfo

    def rebind(host: Any, *more: Any, **options: Any) -> Any:
        if host in ("localhost", b"localhost"):
            asked.append(host)
            host = "127.0.0.1" if len(asked) == 1 else "127.0.0.9"  # where nobody listens
        return truly(host, *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", rebind)
    named = address.replace("127.0.0.1", "localhost")
    (found,) = mcp_sources.find(named, ["wiki://pages/*"], allow_private=True)
    found.close()
    assert found.failed == []
    assert len(found.sources) == 2
    assert asked == ["localhost"]


def test_a_pinned_request_keeps_its_host_for_the_server_and_for_tls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[httpx2.Request] = []

    async def take(_: object, request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return httpx2.Response(204)

    async def ask(address: str) -> None:
        async with httpx2.AsyncClient(transport=mcp_sources.Pinned(address)) as client:
            await client.get("https://example.org:8443/mcp")

    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", take)
    for address in ("192.0.2.7", "2001:db8::7"):
        anyio.run(ask, address)
    assert [str(request.url) for request in sent] == [
        "https://192.0.2.7:8443/mcp",
        "https://[2001:db8::7]:8443/mcp",
    ]
    assert {request.headers["host"] for request in sent} == {"example.org:8443"}
    assert {request.extensions["sni_hostname"] for request in sent} == {"example.org"}
