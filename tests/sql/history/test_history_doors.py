"""Every door that searches a corpus searches it as it was, and refuses with the same words."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

import ragdb
from ragdb.cli.main import app
from ragdb.errors import VersionNotKept
from tests.conftest import Connection
from tests.mcp.test_mcp_server import call

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def tools(committed: Connection) -> tuple[str, int]:
    """DSN of a corpus, and its version before its one document was replaced."""
    dsn: str = committed.info.dsn
    with ragdb.connect(dsn) as db:
        db.create_corpus("tools", history="90 days")
        db.put_text("tools", "saw.md", "A saw is lent for two weeks.")
        first = db.corpus_info("tools").version
        db.put_text("tools", "saw.md", "A saw is lent for a month.")
    return dsn, first


@pytest.fixture
def run(tools: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> Run:
    """What a verb prints with --json."""
    monkeypatch.setenv("RAGDB_DATABASE_URL", tools[0])

    def run(*arguments: Any) -> Any:
        made = CliRunner().invoke(app, [*map(str, arguments), "--json"])
        return json.loads(made.stdout) if made.exit_code == 0 and made.stdout else made.stderr

    return run


def test_python_searches_a_version(tools: tuple[str, int]) -> None:
    dsn, first = tools
    with ragdb.connect(dsn) as db:
        (hit,) = db.search("tools", "saw", as_of=first)
        assert hit.text == "A saw is lent for two weeks."
        (hit,) = db.search(["tools"], "saw", k=5)
        assert hit.text == "A saw is lent for a month."
        assert db.version_at("tools", db.list_versions("tools")[-1].began_at) == 0
        built = db.build_slice("tools", hit.chunk_id, as_of=first + 1)
        assert (built.chunk_ids, built.admissibility_token) == ([hit.chunk_id], None)
        with pytest.raises(VersionNotKept):
            db.search("tools", "saw", as_of=1000)


def test_the_command_line_searches_a_version_or_a_time(run: Run, tools: tuple[str, int]) -> None:
    _, first = tools
    ask = ("search", "saw", "-c", "tools")
    assert [hit["text"] for hit in run(*ask)] == ["A saw is lent for a month."]
    assert [hit["text"] for hit in run(*ask, "--as-of", first)] == ["A saw is lent for two weeks."]
    versions = {row["version"]: row["began_at"] for row in run("corpus", "history", "tools")}
    of_then = run(*ask, "--as-of", versions[first])
    assert [hit["text"] for hit in of_then] == ["A saw is lent for two weeks."]
    changes = run("corpus", "diff", "tools", first)
    assert [(row["source"], row["change"]) for row in changes] == [("saw.md", "replaced")]
    # as text, though the chunk of then is gone
    shown = CliRunner().invoke(app, [*ask, "--as-of", str(first)])
    assert (shown.exit_code, "A saw is lent for two weeks." in shown.stdout) == (0, True)
    assert "before the kept history" in run(*ask, "--as-of", "2020-01-01")
    refused = run(*ask, "--as-of", "yesterday")
    assert "--as-of 'yesterday' is neither the number of a version nor a time" in refused
    assert "`ragdb corpus history tools` lists the versions; for a time, write it" in refused
    assert "future" in run(*ask, "--as-of", 1000)
    assert "future" in run(*ask, "--as-of", 10**30)
    assert "without --explain" in run(*ask, "--as-of", first, "--trace")


def test_the_command_line_keeps_drops_and_erases(run: Run, tools: tuple[str, int]) -> None:
    run("corpus", "create", "lent", "--history", "2.5")
    with ragdb.connect(tools[0]) as db:
        assert str(db.corpus_info("lent").history) == "2 days, 12:00:00"
        db.put_text("lent", "kim.md", "Kim has a saw.")
    run("corpus", "history", "lent", "--keep", "30d")
    gone = run("corpus", "erase", "lent", "kim.md", "--yes")
    assert (gone["documents_deleted"], gone["past_rows_erased"] > 0) == (1, True)
    run("corpus", "history", "lent", "--keep", "off", "--yes")
    assert "keeps no history" in run("search", "saw", "-c", "lent", "--as-of", 1)
    assert "number of days" in run("corpus", "history", "lent", "--keep", "long")


def test_the_model_s_search_takes_a_version(tools: tuple[str, int]) -> None:
    dsn, first = tools
    asked = {"query": "saw", "corpora": ["tools"], "as_of": first}
    (found,) = call(dsn, "search", asked)["results"]
    assert found["text"] == "A saw is lent for two weeks."
    assert "future" in call(dsn, "search", asked | {"as_of": 1000})


def test_no_trace_is_recorded_of_a_search_as_of_a_version(committed: Connection) -> None:
    traces = "select count(*) from ragdb.retrieval_traces where corpus = 'tools'"
    assert committed.execute(traces).fetchone() == (0,)
    with pytest.raises(psycopg.errors.UndefinedFunction):
        committed.execute("select * from ragdb.retrieve('tools', 'saw', as_of => 1)")
