"""Two servers on loopback: the verbs of `ragdb peer`, over HTTP, with tokens."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from mcp import Client as McpClient
from mcp import MCPError
from typer.testing import CliRunner, Result

import ragdb
from ragdb.cli.main import app
from ragdb.ingest.fetch import Fetched
from ragdb.ingest.source import too_large
from ragdb.mcp.server import server
from ragdb.mcp.tools import Tools
from ragdb.peers import PeerError, asking, exchange, transport
from ragdb.peers.transport import Link
from tests.conftest import Server
from tests.http.conftest import Api, serve


class Site:
    """A database with its `ragdb serve`, and the command line at it."""

    def __init__(self, name: str, dsn: str, folder: Path) -> None:
        self.name, self.dsn, self.key = name, dsn, folder / f"{name}.pem"
        self.db = ragdb.connect(dsn)
        self.public = self.ok("key", str(self.key), "--new")["public_key"]
        self.token = str(self.db.create_http_token("reader", "for peers"))
        self.api: Api | None = None

    def run(self, *words: str, **env: str) -> Result:
        return CliRunner().invoke(
            app, ["--dsn", self.dsn, "--json", "--yes", "peer", *words], env=env
        )

    def ok(self, *words: str, **env: str) -> Any:
        done = self.run(*words, **env)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout) if done.stdout.startswith(("{", "[")) else done.stdout

    def serve(self, *flags: str) -> None:
        self.api = serve(self.dsn, {}, *flags)

    def stop(self) -> None:
        if self.api is not None:
            self.api.process.kill()
            self.api.process.wait(120)
            self.api = None

    @property
    def url(self) -> str:
        assert self.api is not None
        return self.api.url


@pytest.fixture(scope="module")
def sites(
    server18: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Site, Site]]:
    folder = tmp_path_factory.mktemp("keys")
    with ExitStack() as stack:
        made = []
        for name in ("ann", "bob"):
            database = stack.enter_context(server18.database())
            site = Site(name, server18.dsn(database.dbname), folder)
            stack.callback(site.db.connection.close)
            stack.callback(site.stop)
            made.append(site)
        ann, bob = made
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for site in made:
            patch.setenv(f"RAGDB_PEER_TOKEN_{site.name.upper()}", site.token)
        for site in made:
            site.serve("--ask-peers", "--allow-private")
        for site in made:
            patch.delenv(f"RAGDB_PEER_TOKEN_{site.name.upper()}")
        for one, other in ((ann, bob), (bob, ann)):
            one.ok(
                *("add", other.name, "--key", other.public),
                *("--url", other.url, "--trust", "trusted"),
            )
        yield ann, bob


def pull(site: Site, other: Site, corpus: str, *more: str) -> Any:
    token = {f"RAGDB_PEER_TOKEN_{other.name.upper()}": other.token}
    return site.ok("pull", other.name, "-c", corpus, "--allow-private", *more, **token)


def test_two_servers_exchange_a_corpus_by_the_command_line(sites: tuple[Site, Site]) -> None:
    ann, bob = sites
    ann.db.put_text("house", "a", "Grinders spark.")
    ann.db.put_text("house", "b", "Deposits are refunded.")
    ann.ok("share", "house", "--key", str(ann.key))
    assert ann.ok("publish", "house", "--key", str(ann.key))["events"] == 2
    assert pull(bob, ann, "house")["documents_put"] == 2
    # what was pulled is for admins alone until somebody grants it
    bob.db.grant_corpus("house", "reader", "read")
    bob.db.put_text("house", "b", "Deposits are kept.")
    ann.db.put_text("house", "b", "Deposits are given back.")
    pull(bob, ann, "house", "--key", str(bob.key))
    done = pull(ann, bob, "house", "--key", str(ann.key))
    assert done["conflicts"] == 1
    assert pull(bob, ann, "house")["conflicts"] == 1
    digests = [site.db.export_corpus("house")["digest"] for site in sites]
    assert digests[0] == digests[1]
    for site in sites:
        [conflict] = site.ok("conflicts", "house")
        assert conflict["source"] == "b"
        assert site.ok("verify", "house") == {"corpus": "house", "events": 4, "forged": []}
        [row] = site.ok("status")
        # of bob's events ann took three, of ann's bob took all four
        assert (row["corpus"], row["position"]) == ("house", 3 if site is ann else 4)


@pytest.fixture
def asked(sites: tuple[Site, Site]) -> str:
    """A corpus of both, with a document that each has not published and one that travelled."""
    ann, bob = sites
    if not bob.db.list_peer_corpora("asked"):
        ann.db.put_text("asked", "common", "The zebra crossing is painted.")
        ann.db.share_corpus("asked")
        ann.ok("publish", "asked", "--key", str(ann.key))
        pull(bob, ann, "asked")
        bob.db.grant_corpus("asked", "reader", "read")
        ann.db.follow_peer("asked", "bob")
        ann.db.put_text("asked", "anns", "The zebra of Ann.")
        bob.db.put_text("asked", "bobs", "The zebra of Bob.")
    return "asked"


def chunks(answer: Any) -> dict[str, tuple[str | None, ...]]:
    """Peer, author and trust of each chunk by its text."""
    names = ("peer", "author", "trust")
    return {
        chunk["text"]: tuple(chunk["metadata"].get(name) for name in names)
        for chunk in answer["output"]["chunks"]
    }


def test_a_query_asks_peers_and_marks_whose_each_chunk_is(
    sites: tuple[Site, Site], asked: str
) -> None:
    ann, bob = sites
    request = {"params": {"corpus": asked}, "input": {"query": "zebra", "k": 9}}
    assert bob.api is not None
    answer = bob.api("POST", "/capabilities/rag.query@1.0", request, role=bob.token).body
    assert chunks(answer) == {
        # what both have is told once, with who signed it
        "The zebra crossing is painted.": (None, ann.public, "trusted"),
        "The zebra of Bob.": (None, None, None),
        "The zebra of Ann.": ("ann", ann.public, "trusted"),
    }
    assert answer["output"]["chunks"][0]["text"] == "The zebra crossing is painted."
    assert [chunk["rank"] for chunk in answer["output"]["chunks"]] == [1, 2, 3]
    # who is asked by a peer asks no other
    passed_on = bob.api(
        "POST", "/capabilities/rag.query@1.0", request, role=bob.token, Ragdb_Asked_By_Peer="1"
    ).body
    assert "peers" not in passed_on["meta"]
    assert answer["meta"]["peers"] == [{"name": "ann", "trust": "trusted"}]
    [schema] = [
        one["response_schema"]
        for one in bob.api("GET", "/capabilities", role=bob.token).body["capabilities"]
        if one["name"] == "rag.query" and one["params"]["corpus"] == asked
    ]
    jsonschema.validate(answer, schema)
    env = {"RAGDB_PEER_TOKEN_ANN": ann.token}
    bob.db.put_text("elsewhere", "e", "No stripes.")
    several = bob.run("ask", "zebra", **env)
    assert (several.exit_code, "add --corpus with one of" in several.output) == (2, True)
    words = ("ask", "zebra", "-c", asked, "--allow-private")
    assert "The zebra of Bob." in str(bob.ok(*words, "--format", "table", **env))
    found = bob.ok(*words, **env)
    assert {row["text"]: row.get("peer") for row in found} == {
        text: peer for text, (peer, *_) in chunks(answer).items()
    }


def test_a_corpus_that_is_empty_here_is_answered_by_a_peer(sites: tuple[Site, Site]) -> None:
    ann, bob = sites
    ann.db.put_text("away", "a", "The quagga is extinct.")
    request = {"params": {"corpus": "away"}, "input": {"query": "quagga"}}
    assert bob.api is not None

    def asked() -> Any:
        assert bob.api is not None
        return bob.api("POST", "/capabilities/rag.query@1.0", request, role=bob.token)

    # who may read a corpus is decided where it is asked for, so it must be there
    assert (asked().status, asked().body["error"]) == (404, "not_found")
    ann.db.share_corpus("away")
    bob.db.create_corpus("away")
    bob.db.share_corpus("away")
    bob.db.follow_peer("away", "ann")
    assert chunks(asked().body) == {"The quagga is extinct.": ("ann", ann.public, "trusted")}


def test_a_model_asks_peers_where_the_server_may(
    sites: tuple[Site, Site], asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = sites
    monkeypatch.setenv("RAGDB_PEER_TOKEN_ANN", f"{ann.token}\n")  # as of a file of a secret
    for name in ("followed", "alone"):
        bob.db.create_corpus(name)
        bob.db.share_corpus(name)
    bob.db.follow_peer("followed", "ann")

    def served(**how: Any) -> Tools:
        return Tools(bob.dsn, allow_private_peers=True, **how)

    async def conversation(client: McpClient) -> tuple[Any, ...]:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        peers = await client.call_tool("list_peers", {"corpus": asked})
        found = await client.call_tool("ask_peers", {"corpus": asked, "query": "zebra", "k": 9})
        house = await client.call_tool("ask_peers", {"corpus": "house", "query": "zebra"})
        every = await client.call_tool("list_peers", {})
        assert every.structured_content == peers.structured_content
        return tools, peers.structured_content, found.structured_content, house

    tools, listed, found, house = talk(served(ask_peers=True, corpora=[asked]), conversation)
    for name in ("list_peers", "ask_peers"):
        assert tools[name].annotations.read_only_hint
    assert tools["ask_peers"].annotations.open_world_hint
    assert [(peer["corpus"], peer["peer"], peer["trust"]) for peer in listed["peers"]] == [
        (asked, "ann", "trusted")
    ]
    assert found["peers"] == [{"name": "ann", "trust": "trusted"}]
    assert chunks({"output": found}) == {
        "The zebra crossing is painted.": (None, ann.public, "trusted"),
        "The zebra of Bob.": (None, None, None),
        "The zebra of Ann.": ("ann", ann.public, "trusted"),
    }
    assert house.is_error
    assert "not served here" in house.content[0].text

    async def plain(client: McpClient) -> None:
        assert "ask_peers" not in {tool.name for tool in (await client.list_tools()).tools}
        with pytest.raises(MCPError, match="unknown tool"):
            await client.call_tool("ask_peers", {"corpus": asked, "query": "zebra"})

    talk(served(), plain)

    async def wary(client: McpClient) -> None:
        found = await client.call_tool("ask_peers", {"corpus": asked, "query": "zebra"})
        (peer,) = found.structured_content["peers"]
        assert "is at an http URL" in peer["error"]
        assert "The zebra of Ann." not in chunks({"output": found.structured_content})
        every = (await client.call_tool("list_peers", {})).structured_content["peers"]
        assert {"followed", asked} <= {row["corpus"] for row in every}
        assert "alone" not in {row["corpus"] for row in every}

    talk(Tools(bob.dsn, ask_peers=True), wary)


def talk(tools: Tools, conversation: Callable[[McpClient], Coroutine[Any, Any, Any]]) -> Any:
    async def session() -> Any:
        async with McpClient(server(tools)) as client:
            return await conversation(client)

    with tools.pool:
        return asyncio.run(session())


def test_a_peer_that_does_not_answer_is_named_and_the_local_answer_given(
    sites: tuple[Site, Site], asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = sites
    port = ann.url.rsplit(":", 1)[1]
    ann.stop()
    found = asking.query(bob.db, asked, "zebra", allow_private=True)
    assert found["meta"]["peers"][0]["error"] == "no token: RAGDB_PEER_TOKEN_ANN is not set"
    request = {"params": {"corpus": asked}, "input": {"query": "zebra"}}
    assert bob.api is not None
    answer = bob.api("POST", "/capabilities/rag.query@1.0", request, role=bob.token).body
    assert {peer for peer, *_ in chunks(answer).values()} == {None}
    [peer] = answer["meta"]["peers"]
    assert (peer["name"], "cannot be fetched" in peer["error"]) == ("ann", True)
    monkeypatch.setenv("RAGDB_PEER_TOKEN_BOB", bob.token)
    ann.serve("--port", port, "--ask-peers")
    assert ann.api is not None
    answer = ann.api("POST", "/capabilities/rag.query@1.0", request, role=ann.token).body
    assert "The zebra of Bob." not in chunks(answer)
    assert "is at an http URL" in answer["meta"]["peers"][0]["error"]
    ann.stop()
    ann.serve("--port", port)
    # without --ask-peers, which is the default, nobody is asked
    assert ann.api is not None
    answer = ann.api("POST", "/capabilities/rag.query@1.0", request, role=ann.token).body
    assert "peers" not in answer["meta"]
    assert "The zebra of Bob." not in chunks(answer)


@pytest.mark.parametrize(
    "said",
    [
        None,
        [],
        {"output": 1},
        {"output": {"chunks": [1, None, "x"]}},
        {"output": {"chunks": [{"score": "high", "text": 1, "metadata": {"page": -1}}]}},
        {"output": {"chunks": [{"score": 1e300, "text": "y" * 110_000, "metadata": [1]}] * 25}},
        {"output": {"chunks": [{"metadata": {"peer": "bob", "trust": "owner", "chunk_id": 1}}]}},
    ],
)
def test_whatever_a_peer_answers_is_data(
    sites: tuple[Site, Site], asked: str, said: object
) -> None:
    _, bob = sites
    local = bob.db.rag_query({"params": {"corpus": asked}, "input": {"query": "zebra"}})
    found = bob.db.merge_peer_answers(asked, local, [{"peer": "ann", "answer": said}], 20)
    jsonschema.validate(
        found, next(r.response_schema for r in bob.db.capability_schemas() if r.name == "rag.query")
    )
    remote = [c for c in found["output"]["chunks"] if "peer" in c["metadata"]]
    assert all(len(c.get("text", "")) <= 100_000 for c in remote)
    assert {(c["metadata"]["peer"], c["metadata"]["trust"]) for c in remote} <= {("ann", "trusted")}


@pytest.mark.parametrize(
    "said",
    [
        '{"output": {"chunks": [{"text": "a\\u0000b"}]}}',
        '{"error": "a\\ud800b"}',
        '{"output": {"chunks": [{"score": NaN}]}}',
        '{"output": {"chunks": [{"score": 1e999}]}}',
        "[" * 100_000,
    ],
)
def test_an_answer_that_no_database_holds_is_none(
    sites: tuple[Site, Site], asked: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, bob = sites
    monkeypatch.setenv("RAGDB_PEER_TOKEN_ANN", "any")
    monkeypatch.setattr(transport, "post", lambda *_, **__: Fetched(said.encode()))
    found = asking.query(bob.db, asked, "zebra", allow_private=True)
    assert found["output"]["chunks"]
    [peer] = found["meta"]["peers"]
    assert peer["error"] == "peer ann answered what is not JSON that a database holds"


def test_a_peer_that_keeps_silent_keeps_nobody_waiting(
    sites: tuple[Site, Site], asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, bob = sites
    answered = threading.Event()
    monkeypatch.setenv("RAGDB_PEER_TOKEN_ANN", "any")
    monkeypatch.setattr(transport, "post", lambda *_, **__: answered.wait(60))
    found = asking.query(bob.db, asked, "zebra", allow_private=True, seconds=0)
    answered.set()
    assert found["output"]["chunks"]
    [peer] = found["meta"]["peers"]
    assert peer["error"] == "it took too long"


def test_a_peer_is_asked_at_its_place_by_its_token_and_within_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = []

    def post(url: str, data: bytes, **how: Any) -> Fetched:
        sent.append((url, json.loads(data), how))
        return Fetched(b"{}")

    def followed(peer: str, url: str, *, is_revoked: bool = False) -> SimpleNamespace:
        monkeypatch.setenv(f"RAGDB_PEER_TOKEN_{peer.upper().replace('-', '_')}", f"of {peer}")
        return SimpleNamespace(
            peer=peer, url=url, is_revoked=is_revoked, corpus="ours", remote="theirs"
        )

    monkeypatch.setattr(transport, "post", post)
    peers = [
        followed("ann-lee", "https://ann.example/rag/"),
        followed("bob", "https://bob.example", is_revoked=True),
        followed("cy", "HTTP://cy.example"),
    ]
    answers = asking.collect(peers, {"query": "zebra"}, False, 3.0)
    headers = {"Ragdb-Asked-By-Peer": "1", "Authorization": "Bearer of ann-lee"}
    how = {"headers": headers, "max_bytes": 8 * 2**20, "seconds": 3.0, "allow_private": False}
    body = {"params": {"corpus": "theirs"}, "input": {"query": "zebra"}}
    assert sent == [("https://ann.example/rag/capabilities/rag.query@1.0", body, how)]
    assert answers[0] == {"peer": "ann-lee", "answer": {}}
    assert [one["peer"] for one in answers[1:]] == ["cy"]
    assert "is at an http URL" in answers[1]["error"]


def test_a_peer_that_sends_too_much_is_to_blame(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(url: str, **how: Any) -> Fetched:
        raise too_large(how["max_bytes"] + 1, how["max_bytes"])

    monkeypatch.setattr(transport, "fetch", fetch)
    with pytest.raises(PeerError, match="134217729 bytes") as refused:
        Link("ann", "https://ann.example", None).get("/api/corpora/any/feed")
    assert "ask its operator what it sends" in str(refused.value.hint)


def test_what_a_peer_says_twice_counts_once(sites: tuple[Site, Site], asked: str) -> None:
    _, bob = sites
    local = bob.db.rag_query({"params": {"corpus": asked}, "input": {"query": "zebra of bob"}})
    first = local["output"]["chunks"][0]["text"]
    loud = {"text": "Loud.", "score": 1, "metadata": {"doc_cid": "x", "chunk_id": "y"}}
    said = {"peer": "ann", "answer": {"output": {"chunks": [loud] * 20}}}
    found = bob.db.merge_peer_answers(asked, local, [said], 20)
    # both are first of their lists: the local one comes first
    assert [c["text"] for c in found["output"]["chunks"]][:2] == [first, "Loud."]
    assert [c["text"] for c in found["output"]["chunks"]].count("Loud.") == 1


@pytest.mark.nightly
def test_a_pull_goes_on_where_a_killed_server_cut_it(sites: tuple[Site, Site]) -> None:
    ann, bob = sites
    for n in range(9):
        ann.db.put_text("cut", f"t{n}", f"Text {n}.")
    ann.db.share_corpus("cut")
    ann.ok("publish", "cut", "--key", str(ann.key))
    link = Link("ann", ann.url, ann.token, allow_private=True)
    port = ann.url.rsplit(":", 1)[1]

    def kill(done: exchange.Pulled) -> None:
        if done.position == 4:
            ann.stop()

    with pytest.raises(PeerError, match="cannot be fetched"):
        exchange.pull(bob.db, link, "cut", page=2, between=kill)
    assert bob.db.corpus_info("cut").documents == 4
    ann.serve("--ask-peers", "--allow-private", "--port", port)
    done = pull(bob, ann, "cut")
    assert (done["events"], done["known"], done["position"]) == (5, 0, 9)
    assert bob.db.corpus_info("cut").documents == 9


@pytest.fixture
def shared(sites: tuple[Site, Site]) -> str:
    ann, _ = sites
    if not ann.db.list_peer_corpora("open"):
        ann.db.put_text("open", "o", "Open.")
        ann.db.share_corpus("open")
    return "open"


def test_a_peer_reads_what_its_token_may_read(sites: tuple[Site, Site], shared: str) -> None:
    ann, bob = sites
    ann.db.restrict_corpus(shared)
    result = bob.run("pull", "ann", "-c", shared, "--allow-private", RAGDB_PEER_TOKEN_ANN=ann.token)
    assert (result.exit_code, "answers 404" in result.output) == (3, True)
    assert "ask its operator whether the corpus is shared" in result.output
    ann.db.unrestrict_corpus(shared)
    result = bob.run("pull", "ann", "-c", shared, "--allow-private", RAGDB_PEER_TOKEN_ANN="rgh_x")
    assert (result.exit_code, "answers 401" in result.output) == (3, True)
    assert "ask its operator for a token" in result.output
    assert "rgh_x" not in result.output


def test_a_private_network_and_http_are_refused_unless_asked_for(
    sites: tuple[Site, Site], shared: str
) -> None:
    ann, bob = sites
    result = bob.run("pull", "ann", "-c", shared, RAGDB_PEER_TOKEN_ANN=ann.token)
    assert (result.exit_code, "is at an http URL" in result.output) == (1, True)
    link = Link("ann", ann.url.replace("http:", "https:"), ann.token)
    with pytest.raises(PeerError, match="not on the public internet"):
        link.get("/health")


def test_a_token_is_needed_and_nowhere_shown(sites: tuple[Site, Site], shared: str) -> None:
    ann, bob = sites
    result = bob.run("pull", "ann", "-c", shared, "--allow-private")
    assert (result.exit_code, "RAGDB_PEER_TOKEN_ANN" in result.output) == (2, True)
    assert ann.token not in repr(Link("ann", ann.url, ann.token))
    for site in sites:
        rows = site.db.connection.execute("select p::text from ragdb.peers p").fetchall()
        assert rows
        assert not any(ann.token in row[0] or bob.token in row[0] for row in rows)
