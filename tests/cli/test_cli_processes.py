"""`ragdb` as a process among others: two at once, Ctrl-C, pipes, and how long it takes to start."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

import ragdb
from ragdb.version import __version__
from tests.forked import Forked, run_forked
from tests.waiting import until

pytestmark = pytest.mark.long

RAGDB = [sys.executable, "-c", "from ragdb.__main__ import main; main()"]
CONTRACT = """\
corpus name=docs
retriever name=R corpus=docs mode=lexical
rag name=A retriever=R
  ragEval name=E mode=contract
    ragCase name=c query=q chunkCount=3
"""


@pytest.fixture
def start(clone: str) -> Any:
    def start(*arguments: str, dsn: str = clone) -> Forked:
        return Forked(*arguments, env={**os.environ, "RAGDB_DATABASE_URL": dsn}, stdout=True)

    return start


def tree(folder: Path, files: int, paragraphs: int = 5) -> Path:
    docs = folder / "docs"
    for n in range(files):
        path = docs / f"d{n % 5}" / f"f{n}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = (f"File {n} has paragraph {p} with word{n}x{p}.\n\n" for p in range(paragraphs))
        path.write_text("".join(text))
    return docs


def events(clone: str) -> int:
    with ragdb.connect(clone) as database:
        return len(database.events_after(count=10_000))


def test_two_on_the_same_tree_store_every_document_once(
    start: Any, clone: str, tmp_path: Path
) -> None:
    docs = tree(tmp_path, 120)
    both = [start("ingest", str(docs), "-c", "docs", "--json", "--workers", "1") for _ in "12"]
    reports = []
    for process in both:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        reports.append(json.loads(out))
    assert sum(report["written"] for report in reports) == 120
    assert all(report["documents"] == 120 for report in reports)
    with ragdb.connect(clone) as database:
        assert database.corpus_info("docs").documents == 120
        assert database.check_corpus("docs") == []
    assert events(clone) == 120


def test_an_interrupt_keeps_whole_documents_and_exits_with_130(
    start: Any, clone: str, tmp_path: Path
) -> None:
    path = tmp_path / "many.jsonl"
    lines = (json.dumps({"_id": f"r{n}", "text": f"It is number {n}."}) for n in range(24_000))
    path.write_text("\n".join(lines))
    process = start("ingest", str(path), "-c", "docs", "--workers", "2", "--json")
    try:
        with ragdb.connect(clone) as database:
            until(lambda: any(corpus.documents for corpus in database.list_corpora()))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    report = json.loads(out)
    with ragdb.connect(clone) as database:
        assert report["written"] == database.corpus_info("docs").documents
        assert 0 < report["written"] < 24_000
        assert database.check_corpus("docs") == []


@pytest.mark.by_day(2)
@pytest.mark.usefixtures("hears_ctrl_c")
@pytest.mark.parametrize(
    ("number", "verb"),
    [
        (signal.SIGTERM, ("eval", "run", "A")),
        (signal.SIGKILL, ("eval", "run", "A")),
        (signal.SIGHUP, ("corpus", "optimize", "docs")),
        (signal.SIGINT, ("eval", "run", "A")),
        (signal.SIGTERM, ("export", "docs", "-")),
        (signal.SIGTERM, ("doctor", "--deep")),
        (signal.SIGTERM, ("verify",)),
        (signal.SIGTERM, ("embed", "docs")),
    ],
)
def test_whoever_stops_a_verb_stops_its_statement(
    start: Any, clone: str, number: signal.Signals, verb: tuple[str, ...]
) -> None:
    """The server would go on with it and commit, as the run of an eval that nobody waits for."""
    with ragdb.connect(clone) as database:
        database.apply_contract(CONTRACT, "c")
    waiting = "select from pg_stat_activity where wait_event_type = 'Lock'"
    waiting += " and datname = current_database()"
    with (
        psycopg.connect(clone) as other,
        psycopg.connect(clone, autocommit=True) as db,
        start(*verb) as process,
    ):
        other.execute("lock table ragdb.corpora in access exclusive mode")
        until(lambda: db.execute(waiting).fetchall())
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
        killed = number == signal.SIGKILL
        assert (process.returncode, err) == ((-9, "") if killed else (130, "interrupted\n"))
        until(lambda: not db.execute(waiting).fetchall(), 10 if killed else 5)
    with ragdb.connect(clone) as database:
        assert database.list_eval_runs("A") == []


def test_the_package_is_a_program_too() -> None:
    call = [sys.executable, "-m", "ragdb", "--version"]
    assert subprocess.check_output(call, text=True) == f"ragdb {__version__}\n"


@pytest.mark.parametrize(("flags", "is_shown"), [((), False), (("--verbose",), True)])
def test_psql_shows_errors_without_where_they_were_raised(
    start: Any, flags: tuple[str, ...], is_shown: bool
) -> None:
    _, err = start("psql", *flags, "-c", "select ragdb.corpus_info('none')").communicate(
        timeout=120
    )
    assert "HINT:" in err
    assert ("CONTEXT:" in err) == is_shown


def test_a_verdict_outlives_the_reader_of_a_pipe(start: Any, clone: str) -> None:
    with ragdb.connect(clone) as database:
        database.apply_contract(CONTRACT, "c")
    process = start("eval", "run", "A")
    with process:
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()
        assert process.wait(timeout=120) == 1


def test_a_role_without_rights_is_told_which_there_are(start: Any, clone: str) -> None:
    stranger = make_conninfo(clone, user="stranger")
    process = start("status", dsn=stranger)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 3
    assert "ragdb_reader" in err


def test_the_reader_of_a_pipe_may_go(start: Any, clone: str, tmp_path: Path) -> None:
    docs = tree(tmp_path, 30, paragraphs=40)
    with ragdb.connect(clone) as database:
        database.ingest(docs, corpus="docs")
    process = start("search", "paragraph", "-c", "docs", "-k", "1000", "--json")
    with process:
        process.stdout.read(1)
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()
        assert process.wait(timeout=120) == 0


def test_the_reader_of_a_table_may_go_too(start: Any, clone: str, tmp_path: Path) -> None:
    docs = tree(tmp_path, 30, paragraphs=40)
    with ragdb.connect(clone) as database:
        database.ingest(docs, corpus="docs")
    process = start("search", "paragraph", "-c", "docs", "-k", "1000")
    with process:
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=120) == 0


def test_a_full_disk_under_the_output_is_an_error_in_one_line(clone: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*RAGDB, "embedder", "ls", "--format", "csv", "-d", clone],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
    assert (done.returncode, done.stderr) == (2, "ragdb: No space left on device\n")


def test_help_on_a_full_disk_is_an_error_in_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*RAGDB, "search", "--help"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert (done.returncode, done.stderr) == (2, "ragdb: No space left on device\n")


# by night one that lacks the blocks of the bar, too, as ascii does
@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    "encoding", ["ascii", "cp852", pytest.param("cp1252", marks=pytest.mark.nightly)]
)
def test_a_terminal_of_few_letters_shows_what_it_can(
    clone: str, tmp_path: Path, encoding: str
) -> None:
    (tmp_path / "kůň.md").write_text("# Kůň\n\nA horse → 馬 costs 5.\n")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        told = (*arguments, "-c", "docs", "-d", clone)
        return run_forked(*told, env=environment, timeout=120)

    ingested = run("ingest", str(tmp_path / "kůň.md"))
    assert (ingested.returncode, "ingested" in ingested.stdout) == (0, True)
    found = run("search", "horse")
    assert found.returncode == 0, found.stderr
    bar = found.stdout.split()[2]
    assert (len(bar), len(set(bar)), "?" in bar) == (12, 2, False)
    assert "A horse ? ? costs 5." in found.stdout
    # what a program reads is whole, or refused
    refused = run("search", "horse", "--json")
    assert refused.returncode == 2
    assert f"the encoding {encoding} cannot" in refused.stderr


def test_an_argument_that_is_no_text_is_told_so(start: Any) -> None:
    process = start("corpus", "create", "x", "--title", os.fsdecode(b"\xff"))
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert err.startswith("ragdb: an argument is not valid UTF-8\n")


def test_a_pipe_gets_data_without_colours(start: Any, clone: str, tmp_path: Path) -> None:
    docs = tree(tmp_path, 3)
    out, _ = start("ingest", str(docs), "-c", "docs").communicate(timeout=120)
    assert "ingested" in out
    assert "\x1b" not in out


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys; from ragdb.__main__ import main; sys.argv = ['ragdb', '--help']\n"
        "try: main()\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "Usage" in run.stdout
    loaded = {name.partition(".")[0] for name in run.stderr.split()}
    assert "typer" in loaded
    assert not loaded & {
        "alembic", "fastapi", "mcp", "numpy", "pgvector", "psycopg", "pydantic", "pypdfium2",
        "sentence_transformers", "sqlalchemy", "torch", "uvicorn", "yaml",
    }  # fmt: skip


@pytest.mark.parametrize("verb", ["--help", "--version", "ingest --help", "search --help"])
def test_help_needs_no_database(verb: str) -> None:
    environment = {**os.environ, "RAGDB_DATABASE_URL": "nonsense"}
    out, err = Forked(*verb.split(), env=environment, stdout=True).communicate(timeout=120)
    assert out
    assert not err


@pytest.mark.parametrize(
    ("closed", "verb", "code"),
    [("<&-", "corpus drop docs", 2), (">&-", "corpus ls", 0), ("2>&-", "corpus drop docs", 2)],
)
def test_a_stream_that_is_closed_is_none_to_ask_or_to_tell(
    clone: str, closed: str, verb: str, code: int
) -> None:
    with ragdb.connect(clone) as db:
        db.create_corpus("docs")
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *RAGDB, *verb.split(), "-d", clone],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr
