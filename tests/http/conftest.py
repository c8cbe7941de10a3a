"""A running `ragdb serve` on a database made for the test run, and a small client."""

from __future__ import annotations

import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

import ragdb
from ragdb.models.worker import Worker
from tests.conftest import Server
from tests.embedding import make_embedder, one, put
from tests.forked import Forked
from tests.sql.conversations import chat, message, uuid
from tests.waiting import until

ANCHOR = uuid(1)
# what each part of the log may never have
SECRET = "zanzibar"


@dataclass
class Response:
    status: int
    headers: Any
    body: Any


@dataclass
class Api:
    """One running server and the tokens of its roles."""

    dsn: str
    url: str
    process: Forked
    tokens: dict[str, str]
    lines: list[str] = field(default_factory=list)

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        role: str | None = "reader",
        timeout: float = 120,
        **headers: str,
    ) -> Response:
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent.setdefault("Content-Type", "application/json")
        if role:
            sent["Authorization"] = f"Bearer {self.tokens.get(role, role)}"
        request = urllib.request.Request(
            self.url + path,
            data.encode() if isinstance(data, str) else data,
            sent,
            method=method,
        )
        try:
            answer = urllib.request.urlopen(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            read = answer.read()
            is_json = bool(read) and answer.headers.get_content_type() == "application/json"
            body = json.loads(read) if is_json else read.decode(errors="replace")
            return Response(answer.status, answer.headers, body)

    def log(self, awaited: Callable[[str], bool] = lambda _: True) -> str:
        """What the server has written, once some line of it is what is waited for."""
        until(lambda: any(map(awaited, self.lines)))
        return "\n".join(self.lines)


def serve(dsn: str, tokens: dict[str, str], *flags: str) -> Api:
    process = Forked("serve", "--port", "0", *flags, env={**os.environ, "RAGDB_DATABASE_URL": dsn})
    first = process.stderr.readline()
    if "listening on" not in first:
        with process.stderr:
            rest = process.stderr.read()
        process.wait(120)
        raise AssertionError(first + rest)
    api = Api(dsn, first.split()[2].rstrip(","), process, tokens)
    lines = process.stderr

    def follow() -> None:
        with lines:
            for line in lines:
                api.lines.append(line.rstrip("\n"))

    threading.Thread(target=follow, daemon=True).start()
    deadline = time.monotonic() + 120
    while True:
        try:
            if api("GET", "/health", role=None).status == 200:
                return api
        except urllib.error.URLError:
            pass
        assert time.monotonic() < deadline, api.lines
        time.sleep(0.05)


@contextmanager
def served(dsn: str, tokens: dict[str, str], *flags: str) -> Iterator[Api]:
    """A server that ends with the block."""
    api = serve(dsn, tokens, *flags)
    try:
        yield api
    finally:
        api.process.terminate()
        api.process.wait(120)


def fill(dsn: str) -> dict[str, str]:
    """A conversation, documents with embeddings, a key; returns tokens by role."""
    with psycopg.connect(dsn, autocommit=True) as db:
        texts = ["How are refunds paid?", "Refunds come by card.", "And gifts?", "As vouchers."]
        turns = [message(n, [n - 1] if n > 1 else [], text=t) for n, t in enumerate(texts, 1)]
        chat(db, turns)
        db.execute("select ragdb.create_corpus('docs')")
        put(db, {"a.txt": "refunds take fourteen days", "b.txt": "a bicycle is no car"}, title="A")
        make_embedder(db)
        db.execute("select ragdb.create_corpus('vectors')")
        put(db, {"c.txt": "the meaning of refunds"}, "vectors")
        db.execute("select ragdb.embed_corpus('vectors', 'hash')")
        Worker(dsn).run(until="empty")
        db.execute("select ragdb.create_signing_key('k1')")
        return {
            role: one(db, "select ragdb.create_http_token(%s, %s)", role, role)
            for role in ("reader", "writer", "admin", "stranger")
        }


@pytest.fixture(scope="session")
def filled(server18: Server) -> Iterator[tuple[str, dict[str, str]]]:
    """A filled database to copy, and its tokens."""
    with server18.database() as database:
        yield database.dbname, fill(server18.dsn(database.dbname))


@pytest.fixture(scope="session")
def api(server18: Server, filled: tuple[str, dict[str, str]]) -> Iterator[Api]:
    """A server for all tests that leave it as it is."""
    template, tokens = filled
    with (
        server18.database(template) as database,
        served(server18.dsn(database.dbname), tokens) as api,
    ):
        yield api


@pytest.fixture
def start(server18: Server, filled: tuple[str, dict[str, str]]) -> Iterator[Callable[..., Api]]:
    """start(*flags) is a server of the test's own, on a database of its own."""
    template, tokens = filled
    with ExitStack() as stack:
        database = stack.enter_context(server18.database(template))
        dsn = server18.dsn(database.dbname)

        yield lambda *flags: stack.enter_context(served(dsn, tokens, *flags))


DIARY = """corpus name=personal
  source name=diary uri=diary
retriever name=Own corpus=personal
rag name=Diary retriever=Own
  ragEval name=Days metric=hit_rate threshold=0.8 mode=contract
    ragCase name=first query=walrus
      ragAssert kind=contains value=walrus required=true
"""


def keep_diary(dsn: str, role: str) -> dict[str, str]:
    """A role's personal corpus with all that is recorded of one, by the names of `MADE`.

    Whatever is of it has the word walrus.
    """
    with ragdb.connect(psycopg.conninfo.make_conninfo(dsn, user=role)) as db:
        db.create_corpus("personal")
        db.put_text("personal", "walrus.txt", "a walrus and its refunds")
        db.put_text("personal", "more.txt", "more of the walrus")
        hits = db.retrieve("personal", "walrus")
        first, second = (hit.chunk_id for hit in hits)
        pack = db.build_evidence_pack(hits.trace_id)
        db.record_gate("which walrus?", pack)
        cited = {"source_id": hits[0].source, "chunk_id": first, "quote": "walrus"}
        db.record_answer({"answer": "walrus", "citations": [cited]}, pack, task="walrus")
        db.retrieve("personal", "xylophone of a walrus", syntax="web")
        db.record_feedback("good", hits.trace_id, comment="walrus")
        db.apply_contract(DIARY, "own")
        made = {
            "trace": hits.trace_id,
            "run": db.run_eval("Diary").run_id,
            "answer": db.list_answers()[0].answer_id,
            "chunk": first,
            "other": second,
            "document": hits[0].doc_cid,
        }
        return {name: str(id) for name, id in made.items()}


LIBRARY = Path(__file__).parents[2] / "examples/tool-library"


@pytest.fixture(scope="session")
def library(server18: Server) -> Iterator[Api]:
    """A server with metrics of the corpora that docs/http.md asks, for tests that add to them."""
    with server18.database() as database:
        dsn = server18.dsn(database.dbname)
        with ragdb.connect(dsn) as db:
            for corpus in ("desk", "handbook"):
                assert db.ingest(LIBRARY / corpus, corpus=corpus).failed == 0
            db.create_signing_key()
            db.create_embedder("minilm", 384)
            db.bind_embedder("minilm", "hash", "hash-v1")
            text = (LIBRARY / "desk.kern").read_text()
            text = text.replace("name=Demo", "name=handbook").replace(
                "corpus=Demo", "corpus=handbook"
            )
            db.apply_contract(text, "desk")
            roles = ("reader", "writer", "admin", "auditor", "stranger", "bi_reader")
            tokens = {role: db.create_http_token(role, role) for role in roles}
        with served(dsn, tokens, "--metrics", "--wait", "0") as api:
            yield api
