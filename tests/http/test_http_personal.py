"""A personal corpus is served by no route, not even to its owner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo

import ragdb
from ragdb.http.examples import ANCHOR, MADE, REQUESTS, SLICE
from tests.conftest import Server
from tests.http.conftest import DIARY, Api, keep_diary, served
from tests.http.test_http_examples import ask

# what of an example names a corpus, and what is of one
NAMES = {"corpus": "personal", "corpora": ["personal"], "rag": "Diary"}
OF_ONE = {ANCHOR, *(MADE[name] for name in ("trace", "run", "answer", "chunk", "document"))}


def of_diary(value: Any, made: dict[str, str]) -> Any:
    """An example of the document that asks for the diary instead."""
    if isinstance(value, dict):
        return {key: NAMES.get(key) or of_diary(one, made) for key, one in value.items()}
    if isinstance(value, list):
        return [of_diary(one, made) for one in value]
    return made["chunk"] if value == ANCHOR else value


def names_one(value: Any) -> bool:
    """Whether an example names a corpus, or something of one."""
    if isinstance(value, dict):
        return bool(value.keys() & NAMES) or any(map(names_one, value.values()))
    if isinstance(value, list):
        return any(map(names_one, value))
    return value in OF_ONE


@pytest.fixture(scope="module")
def diary(
    server18: Server, filled: tuple[str, dict[str, str]]
) -> Iterator[tuple[Api, dict[str, str]]]:
    """A server, and what the diary of its admin is made of."""
    template, tokens = filled
    with server18.database(template) as database:
        dsn = server18.dsn(database.dbname)
        made = keep_diary(dsn, "admin")
        with ragdb.connect(make_conninfo(dsn, user="admin")) as db:
            db.embed_corpus("personal", "hash")
        with ragdb.connect(dsn) as db:
            shared = DIARY.replace("personal", "docs").replace("Own", "Docs")
            db.apply_contract(shared.replace("Diary", "Help"), "help")
            made["shared"] = str(db.run_eval("Help").run_id)
            db.create_corpus("system")
            db.put_text("system", "manual", "how refunds are searched")
        with served(dsn, tokens) as api:
            yield api, made


def test_what_names_it_or_is_of_it_is_not_there(diary: tuple[Api, dict[str, str]]) -> None:
    api, made = diary
    known = MADE | made | {"slice": of_diary({**SLICE, "slice_id": "x"}, made)}
    asked = 0
    for label, example in REQUESTS.items():
        if names_one(example):
            answer = ask(api, label, of_diary({"path": {}, "query": {}} | example, made), known)
            assert answer.status == 404, (label, answer.body)
            assert "walrus" not in str(answer.body), label
            asked += 1
    assert asked > 60
    weighed = {"query": "walrus refunds", "statistics": "personal"}
    with ragdb.connect(api.dsn) as db:
        known = {"corpus": "docs", "chunk_id": db.search("docs", "refunds")[0].chunk_id}
    compared = f"/api/evals/runs/{made['shared']}/compare?baseline="
    assert api("GET", compared + made["shared"], role="admin").status == 200
    assert api("GET", compared + made["run"], role="admin").status == 404
    part = {"corpus": "new", "part_of": "personal"}
    assert api("POST", "/api/corpora", part, role="admin").status == 404
    guess = {"source_id": "x", "chunk_id": made["chunk"], "text": "w"}
    for pack in (
        {"corpus_id": "personal", "chunks": [guess]},
        {"corpus": "docs", "chunks": [guess | {"trace_id": made["trace"]}]},
        {"evidence": {"corpus": "docs", "trace_id": made["trace"], "chunks": [guess]}},
    ):
        cited = {"output": {"answer": "[1]"}, "evidence": pack}
        answer = api("POST", "/api/citations", cited, role="admin")
        assert answer.status == 404, (pack, answer.body)
    for path, body in (
        ("/api/search", {"corpora": ["docs"]}),
        ("/api/search", {"corpora": ["docs"], "record": True}),
        ("/api/explain/score", known),
        ("/api/explain/missing", known),
    ):
        answer = api("POST", path, weighed | body, role="admin")
        assert answer.status == 404, (path, body, answer.body)


def test_what_lists_all_corpora_leaves_it_out(diary: tuple[Api, dict[str, str]]) -> None:
    api, made = diary
    personal = [id for name, id in made.items() if name != "shared"]
    for label, example in REQUESTS.items():
        if label.startswith("GET ") and example.keys() <= {"query"}:
            query = {
                name: value
                for name, value in example.get("query", {}).items()
                if name not in ("corpus", "rag")
            }
            answer = ask(api, label, {"path": {}, "query": query}, {})
            said = str(answer.body)
            assert not any(word in said for word in ("walrus", "personal'", *personal)), label
    for path in ("/api/events", "/capabilities/rag.list_corpora@1.0"):
        said = str(api("POST", path, {}, role="admin").body)
        assert "docs" in said
        assert "personal'" not in said


def test_the_manual_is_searched_where_it_is_named(diary: tuple[Api, dict[str, str]]) -> None:
    api, _ = diary
    for asked, found in (({}, False), ({"corpora": ["docs", "system"]}, True)):
        answer = api("POST", "/api/search", {"query": "refunds searched", **asked})
        assert ("system" in {hit["corpus"] for hit in answer.body["hits"]}) == found
