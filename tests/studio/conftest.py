"""A served Studio over a database of its own, and a browser where there is one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2 as httpx
import psycopg
import pytest
from typer.testing import CliRunner

import ragdb
from ragdb.cli.main import app
from tests.conftest import Server
from tests.embedding import put
from tests.http.conftest import ANCHOR, LIBRARY, Api, fill, serve

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

PDF = LIBRARY / "handbook/safety.pdf"
HOSTILE = {
    "<script>alert(1)</script>.md": "<script>alert(2)</script> zebra <img src=x onerror=alert(3)>",
    "'\"><svg onload=alert(4)>.md": "zebra {{ 7*7 }} </mark></article> javascript:alert(5)",
    "\u202egnp.md": "zebra \u202e evil https://elsewhere.example/x.png",
}
LONG = 200 * "x" + ".md"
WIDE = 64 * "w"  # a name without a place to break it at

CASES = 40
KERN = """corpus name={corpus}
retriever name=R{corpus} corpus={corpus} mode=lexical topK=5
rag name={rag} retriever=R{corpus}
  ragEval name=V mode=contract
"""
CASE = """    ragCase name="{name}" query="{query}"
      ragAssert kind=contains value="{value}" required=true
"""
CLAIM = "<b onmouseover=alert(7)>refunds</b>"


def evaluate(dsn: str) -> None:
    """Three runs of an eval with many cases, between which a document changes; one of a secret."""
    queries = [CLAIM, *(f"refunds {n}" for n in range(1, CASES - 1)), "parking"]
    cases = "".join(
        CASE.format(name=f"case {n} <i>", query=query, value="fourteen" if n % 4 else "of")
        for n, query in enumerate(queries)
    )
    cases = cases.replace('" query="parking"', f'{WIDE}" query="parking" tags="{WIDE}"')
    secret = CASE.format(name="okapi", query="zebra", value="okapi")
    with ragdb.connect(dsn) as db:
        for rag, corpus, of in (("Help", "docs", cases), ("Plan", "secret", secret)):
            text = KERN.format(rag=rag, corpus=corpus) + of
            db.apply_contract(text, rag.lower())
        db.run_eval("Plan")
        for n in range(3):
            text = f"refunds {'take fourteen days' if n != 1 else 'of whatever'}"
            put(db.connection, {"changing.txt": text})
            db.run_eval("Help", label=f"run {n} <u>{WIDE}")


def record(dsn: str) -> None:
    """Answers, gates and a question without an answer, of a reader and of somebody else."""
    with ragdb.connect(dsn) as db:
        db.connection.execute("grant reader, admin to current_user")
        for role, corpus, word in (("reader", "docs", "refunds"), ("admin", "secret", "okapi")):
            db.connection.execute(f"set role {role}")
            hits = db.retrieve(corpus, word, 1)
            pack = db.build_evidence_pack(hits.trace_id)
            db.record_gate(word, pack)
            cited = {"source_id": hits[0].source, "chunk_id": hits[0].chunk_id}
            for quote in (
                hits[0].text[:20].rpartition(" ")[0],
                "nobody ever said anything like this",
            ):
                answer = {"answer": "so it is", "citations": [{**cited, "quote": quote}]}
                db.record_answer(answer, pack, task=f"{CLAIM} {corpus}")
            db.retrieve(corpus, f"{corpus} {CLAIM} xylophone", syntax="web")
            db.connection.execute("reset role")
        db.refresh_rollups()


@pytest.fixture(scope="session")
def site(server18: Server) -> Iterator[Api]:
    """A server for all tests that leave it as it is."""
    with server18.database() as database:
        dsn = server18.dsn(database.dbname)
        tokens = fill(dsn)
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute("select ragdb.create_corpus('hostile')")
            put(db, HOSTILE, "hostile", title="</title><script>alert(6)</script>")
            put(db, {LONG: "a name without a place to break it at"}, "hostile")
            db.execute("select ragdb.create_corpus(%s)", (WIDE,))
            db.execute("select ragdb.create_corpus('secret')")
            put(db, {"plans.md": "the zebra meets the okapi at noon"}, "secret")
            db.execute("select ragdb.restrict_corpus('secret')")
            db.execute("select ragdb.grant_corpus('secret', 'ragdb_admin', 'read')")
            db.execute("select ragdb.create_corpus('whole')")
            for name in ("part-1", "part-2"):
                db.execute("select ragdb.create_corpus(%s, part_of => 'whole')", (name,))
                put(db, {f"{name}.md": f"the okapi of {name} sleeps"}, name)
            db.execute("select ragdb.optimize_corpus('whole')")
        evaluate(dsn)
        record(dsn)
        served = serve(dsn, tokens)
        try:
            yield served
        finally:
            served.process.terminate()
            served.process.wait(120)


@pytest.fixture(scope="session")
def ids(site: Api) -> dict[str, str]:
    """What the pages of one thing need: a trace whose document was edited since, a page, a turn."""
    with ragdb.connect(site.dsn) as db:
        db.create_corpus("edited")
        db.put_text("edited", "a.md", "The zebra is lent for two weeks.")
        db.put_text("edited", "b.md", "A zebra costs a deposit.")
        asked = {"query": "zebra", "corpora": ["edited"], "record": True}
        answer = site("POST", "/api/search", asked)
        db.put_text("edited", "a.md", "The zebra is lent for one week only.")
        db.ingest(PDF, corpus="handbook")
        (third,) = (c for c in db.list_chunks("handbook") if c.page == 3)
        hostile = db.search("hostile", "zebra", 3)
        return {
            "trace": answer.body["trace_id"],
            "turn": ANCHOR,
            "page": third.chunk_id,
            "source": third.source,
            "hostile": hostile[2].chunk_id,
        }


@contextmanager
def logged_in(site: Api, role: str = "reader") -> Iterator[httpx.Client]:
    """A client with the cookie of a session, as a browser has it after its login."""
    with httpx.Client(base_url=site.url, headers={"Accept": "text/html"}) as client:
        answer = client.post("/studio/login", data={"token": site.tokens[role]})
        assert answer.status_code == 303, answer.text
        yield client


def report(site: Api, tmp_path: Path) -> tuple[Path, Path]:
    """The pages of a run that failed and of the use of a corpus, as the command line makes them."""
    with ragdb.connect(site.dsn) as db:
        run = db.list_eval_runs("Help")[0].run_id
    runner = CliRunner()
    made = runner.invoke(app, ["eval", "report", str(run), "--format", "html", "--dsn", site.dsn])
    assert made.exit_code == 1  # as the run itself, which failed
    of_run, of_use = tmp_path / "run.html", tmp_path / "use.html"
    of_run.write_text(made.stdout, encoding="utf-8")
    made = runner.invoke(app, ["report", "--html", str(of_use), "--dsn", site.dsn])
    assert made.exit_code == 0, made.output
    return of_run, of_use


# its driver holds an event loop of this thread for as long as it runs
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = os.environ.get("RAGDB_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        pytest.skip("no Chromium: install it, or name it in RAGDB_CHROMIUM")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def visit(browser: Browser, site: Api) -> Iterator[Callable[..., BrowserContext]]:
    """visit(role, …) is a browser of its own that has logged in as a role."""
    opened = []

    def begin(role: str = "reader", **options: object) -> BrowserContext:
        context = browser.new_context(base_url=site.url, **options)  # type: ignore[arg-type]
        opened.append(context)
        # without a page, which takes a process of its own; that of the login has a test
        answer = context.request.post("/studio/login", form={"token": site.tokens[role]})
        assert answer.url.endswith("/studio/search"), answer.text()
        return context

    yield begin
    for context in opened:
        context.close()
