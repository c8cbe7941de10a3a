"""`ragdb serve` and `ragdb mcp` sign with a key that is kept outside of the database."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psycopg
import pytest
from mcp import Client, StdioServerParameters, stdio_client

import ragdb
from ragdb.server import signing
from tests.embedding import one
from tests.http.conftest import ANCHOR, fill, serve

COMMAND = ["-W", "ignore", "-c", "from ragdb.__main__ import main; main()"]


@pytest.fixture
def keys(clone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, dict[str, str]]:
    """A conversation whose slices are signed by a key in a file; the key, and tokens by role."""
    tokens = fill(clone)
    file = tmp_path / "keys"
    given = signing.create(file, "outside")
    with ragdb.connect(clone, signing_key=given) as db:
        db.register_signing_key("outside")
    monkeypatch.setenv(signing.FILE, str(file))
    return given, tokens


def signed(dsn: str, given: str, trace: str) -> bool | None:
    """Whether a trace of a slice has a signature that this key makes; None where it is not ours."""
    with psycopg.connect(dsn, options=f"-c ragdb.signing_key={given}" if given else "") as db:
        assert one(db, "select is_admissible from ragdb.get_trace(%s)", trace)
        row = db.execute(
            "select is_intact from ragdb.verify_trace(%s) where field = 'trace_mac'", (trace,)
        ).fetchone()
    assert row is not None
    return row[0]  # type: ignore[no-any-return]


def holds(dsn: str, given: str, trace: str) -> None:
    """The signature is of the key outside, and of no other."""
    assert signed(dsn, given, trace) is True
    assert signed(dsn, "", trace) is None
    assert signed(dsn, "outside:" + "ab" * 32, trace) is None


def test_a_slice_over_http_is_signed_by_a_key_outside(
    clone: str, keys: tuple[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"query": "refunds", "anchor_turn_id": ANCHOR}
    given, tokens = keys
    api = serve(clone, tokens)
    try:
        answer = api("POST", "/api/rag/search/slice", body)
        assert answer.status == 200, answer.body
        assert answer.body["provenance"]["slice_info"]["admissibility_token"]
        holds(clone, given, answer.body["provenance"]["query_id"])
    finally:
        api.process.terminate()
        api.process.wait(120)
    assert given.partition(":")[2] not in "\n".join(api.lines)
    # the control: a server without the key records nothing unsigned
    monkeypatch.delenv(signing.FILE)
    api = serve(clone, tokens)
    try:
        refused = api("POST", "/api/rag/search/slice", body)
        assert refused.status >= 400
        assert "not at hand" in str(refused.body)
    finally:
        api.process.terminate()
        api.process.wait(120)


@pytest.mark.nightly
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_slice_over_mcp_is_signed_by_a_key_outside(
    clone: str, keys: tuple[str, dict[str, str]]
) -> None:
    given, _ = keys
    arguments = {"corpus": "chat", "query": "refunds", "anchor": ANCHOR}
    process = StdioServerParameters(
        command=sys.executable,
        args=[*COMMAND, "mcp", "--record"],
        env={**os.environ, "RAGDB_DATABASE_URL": clone},
    )
    with open(os.devnull, "w") as errors:
        async with Client(stdio_client(process, errlog=errors)) as client:
            made = await client.call_tool("search_slice", arguments)
    assert not made.is_error, made
    holds(clone, given, made.structured_content["provenance"]["id"])
