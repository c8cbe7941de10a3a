"""Who embeds the query of a search by Python where the model runs outside the database."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from typer.testing import CliRunner

import ragdb
from ragdb.cli.main import app
from ragdb.database import Database
from ragdb.errors import CorpusNotFound, EmbedderNotFound, ModeNotAvailable
from ragdb.mcp.served import Served
from ragdb.models import asking, embedders
from ragdb.models.worker import Worker
from tests.embedding import ENCODER, claim, complete, make_corpus, make_embedder, put
from tests.http.conftest import serve

QUESTION = "what sleeps all day?"


@pytest.fixture
def outside(clone: str) -> str:
    """A corpus that is embedded by a model outside the database."""
    with psycopg.connect(clone, autocommit=True) as db:
        make_corpus(db, {"a": "a cat sleeps", "b": "a bank pays"})
    Worker(clone).run(until="empty")
    return clone


@pytest.fixture
def not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> list[float]:
        raise EmbedderNotFound("no model is installed")

    monkeypatch.setattr(embedders, "numbers", refuse)


@contextmanager
def worker(dsn: str) -> Iterator[None]:
    made = Worker(dsn)
    thread = threading.Thread(target=made.run, kwargs={"poll": 0.05})
    thread.start()
    try:
        with psycopg.connect(dsn, autocommit=True) as db:
            while not Database(db).has_worker():
                pass
        yield
    finally:
        made.stop()
        thread.join()


def modes(db: Database, mode: str | None = None) -> set[str]:
    return {hit.mode for hit in db.search("docs", QUESTION, mode=mode)}


def test_python_embeds_where_the_model_is_installed(outside: str) -> None:
    with ragdb.connect(outside) as db:
        assert modes(db) == {"hybrid"}
        assert not db.query_embedding_state("docs", QUESTION)[0].is_ready


@pytest.mark.usefixtures("not_installed")
def test_without_a_model_what_is_kept_counts_then_a_worker_then_nobody(outside: str) -> None:
    with ragdb.connect(outside) as db:
        for ask in (db.search, db.retrieve):
            with pytest.raises(ModeNotAvailable, match=r"\[embed\].*ragdb worker.*lexical"):
                ask("docs", QUESTION)
        assert modes(db, mode="lexical") == {"lexical"}
        with worker(outside):
            with pytest.raises(ModeNotAvailable), db.connection.transaction():
                db.search("docs", QUESTION)
            assert modes(db) == {"hybrid"}
        assert modes(db) == {"hybrid"}  # it is kept
        with pytest.raises(ModeNotAvailable):
            db.search("docs", "another question")
        db.put_query_embedding("docs", "another question", ENCODER.encode(["x"])[0].tolist())
        assert {hit.mode for hit in db.search("docs", "another question")} == {"hybrid"}


@pytest.mark.usefixtures("not_installed")
def test_coroutines_ask_in_the_same_order(outside: str) -> None:
    async def ask() -> None:
        async with await ragdb.aconnect(outside) as db:
            with pytest.raises(ModeNotAvailable):
                await db.search("docs", QUESTION)
            with pytest.raises(ModeNotAvailable):
                await db.ask("docs", QUESTION)
            with worker(outside):
                assert {hit.mode for hit in await db.search("docs", QUESTION)} == {"hybrid"}

    asyncio.run(ask())


@pytest.mark.usefixtures("not_installed")
def test_a_worker_that_does_not_answer_is_waited_for_so_long_only(
    outside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "PATIENCE", 0.1)
    with (
        psycopg.connect(outside, autocommit=True, application_name="ragdb/worker"),
        ragdb.connect(outside) as db,
        pytest.raises(ModeNotAvailable),
    ):
        db.search("docs", QUESTION)


@pytest.fixture
def unbound(clone: str) -> str:
    """A corpus whose embedder, as a contract may name it, has no provider."""
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('docs')")
        db.execute("select ragdb.create_embedder('theirs', 3)")
        db.execute("select ragdb.embed_corpus('docs', 'theirs')")
        put(db, {"a": "A cat sleeps all day.", "b": "A bank pays."})
    return clone


def test_an_embedder_that_nobody_runs_leaves_a_question_to_its_words(unbound: str) -> None:
    with ragdb.connect(unbound) as db:
        assert [hit.text for hit in db.search("docs", "cat sleeps", 1)] == ["A cat sleeps all day."]
        answer = db.ask("docs", "Who sleeps all day?", min_score=0)
        assert answer.output["answer"] == "A cat sleeps all day."
        assert for_a_tool(unbound, "cat sleeps") is None
        with pytest.raises(ModeNotAvailable):
            db.ask("docs", "Who sleeps all day?", rank_mode="semantic")


@pytest.mark.usefixtures("not_installed")
def test_a_question_is_answered_by_what_is_kept_or_says_who_could_embed_it(outside: str) -> None:
    with ragdb.connect(outside) as db:
        with pytest.raises(ModeNotAvailable, match=r"\[embed\].*ragdb worker.*lexical"):
            db.ask("docs", QUESTION)
        with pytest.raises(ModeNotAvailable, match=r"\[embed\].*ragdb worker.*lexical"):
            for_a_tool(outside, QUESTION)
        db.put_query_embedding("docs", QUESTION, ENCODER.encode([QUESTION])[0].tolist())
        assert db.ask("docs", QUESTION, rank_mode="semantic", min_score=0).pack
        assert for_a_tool(outside, QUESTION) is None


def for_a_tool(dsn: str, query: str) -> list[float] | None:
    """The embedding that an MCP server makes for a tool's query."""
    server = Served(dsn)
    with server.pool:
        return server.embedded(["docs"], query)


@pytest.mark.usefixtures("not_installed")
def test_no_model_is_asked_until_all_of_a_corpus_is_embedded(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(clone, autocommit=True) as connection:
        make_corpus(connection, {"a": "A cat sleeps all day.", "b": "A bank pays."})

    async def ask() -> set[str]:
        async with await ragdb.aconnect(clone) as db:
            return {hit.mode for hit in await db.search("docs", QUESTION)}

    with ragdb.connect(clone) as db:
        assert modes(db) == {hit.mode for hit in db.retrieve("docs", QUESTION)} == {"lexical"}
        assert asyncio.run(ask()) == {"lexical"}
        answer = db.ask("docs", "Who sleeps all day?", min_score=0)
        assert answer.output["answer"] == "A cat sleeps all day."
        assert for_a_tool(clone, QUESTION) is None
        with pytest.raises(ModeNotAvailable):
            db.search("docs", QUESTION, mode="semantic")
        token = db.create_http_token("reader", "reader")
    monkeypatch.setenv("RAGDB_DATABASE_URL", clone)
    done = CliRunner().invoke(app, ["search", QUESTION, "--corpus", "docs", "--json"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert [hit["text"] for hit in json.loads(done.stdout)] == ["A cat sleeps all day."]
    api = serve(clone, {"reader": token})
    try:
        found = api("POST", "/api/search", {"corpora": ["docs"], "query": QUESTION})
        assert [hit["mode"] for hit in found.body["hits"]] == ["lexical"]
    finally:
        api.process.terminate()
        api.process.wait(120)


@pytest.mark.usefixtures("not_installed")
def test_the_command_line_compares_words_where_the_model_is_not_installed(
    outside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGDB_DATABASE_URL", outside)
    for verb in ("search", "ask"):
        done = CliRunner().invoke(app, [verb, "does a cat sleep", "--corpus", "docs"])
        assert "the query cannot be embedded: no model is installed" in done.stderr
        assert "searching by words only" in done.stderr
        assert "a cat sleeps" in done.stdout
        assert done.exit_code == 0


def test_a_search_is_embedded_by_the_model_that_its_corpora_share(outside: str) -> None:
    with psycopg.connect(outside, autocommit=True) as connection, ragdb.connect(outside) as db:
        for name in ("more", "bare", "late", "empty"):
            db.create_corpus(name)
        db.embed_corpus("more", "hash")
        put(connection, {"d": "a bird sings"}, "more")
        Worker(outside).run(until="empty")
        make_embedder(connection, "other")
        db.embed_corpus("late", "other")
        put(connection, {"c": "a dog barks"}, "late")
        put(connection, {"e": "a fish swims"}, "bare")

        def asked(corpora: list[str], mode: str | None = None) -> str | None:
            found = db.query_embedder(corpora, mode)
            return None if found is None else found.name

        assert asked(["docs"]) == asked(["docs", "more"]) == "hash"
        assert asked(["late"]) is None  # it waits for its embedding
        assert asked(["late"], "hybrid") == asked(["late"], "semantic") == "other"
        assert [asked(["docs"], mode) for mode in ("lexical", "reference")] == [None, None]
        assert asked(["docs", "late"], "hybrid") is asked(["docs", "bare"]) is None
        with pytest.raises(CorpusNotFound):
            asked(["nope"])
        # what is empty has no say, whatever embeds it
        for embedder in (None, "other"):
            if embedder:
                db.embed_corpus("empty", embedder)
            assert asked(["empty", "docs"]) == asked(["docs", "empty"], "hybrid") == "hash"
            for mode in (None, "semantic", "hybrid"):
                alone, beside = (
                    db.search(names, QUESTION, mode=mode) for names in (["docs"], ["empty", "docs"])
                )
                assert {hit.mode for hit in alone} == {mode or "hybrid"}
                assert alone == beside
        assert db.search(["empty", "empty"], QUESTION) == []


def test_a_corpus_keeps_its_mode_and_its_scores_until_all_of_it_is_embedded(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as connection, ragdb.connect(clone) as db:
        connection.execute("select ragdb.create_corpus('docs')")
        put(connection, {f"{n}": f"Kind {n} of cat sleeps all day." for n in range(5)})
        make_embedder(connection)

        def found() -> list[tuple[str, float]]:
            hits = db.search("docs", "kind 3 of cat", min_score=0.3)
            said = connection.execute(
                "select chunk_id, score from ragdb.search('docs', 'kind 3 of cat',"
                " min_score => 0.3, query_embedding => %s)",
                (ENCODER.encode(["kind 3 of cat"])[0].tolist(),),
            ).fetchall()
            assert said == [(hit.chunk_id, hit.score) for hit in hits]  # at every door
            return [(hit.mode, hit.score) for hit in hits]

        before = found()
        assert {mode for mode, _ in before} == {"lexical"}
        connection.execute("select ragdb.embed_corpus('docs', 'hash')")
        assert found() == before
        complete(connection, claim(connection, count=3))
        assert found() == before
        assert db.search("docs", "cat", mode="hybrid")[0].mode == "hybrid"  # whoever asks gets it
        complete(connection, claim(connection))
        assert {mode for mode, _ in found()} == {"hybrid"}
        # what comes later waits for its embedding, and the mode stays
        put(connection, {"later": "A bank pays."})
        assert {mode for mode, _ in found()} == {"hybrid"}
