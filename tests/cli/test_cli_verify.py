"""Verification and keys outside of the database, from the command line."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

import ragdb
from ragdb.client.client import Client
from ragdb.server import backup, embedded, postgres, settings, signing
from tests.conftest import Run, Server
from tests.forked import Forked
from tests.waiting import until

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def _no_key_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (signing.FILE, signing.COMMAND):
        monkeypatch.delenv(name, raising=False)


def fill(connection: psycopg.Connection[Any]) -> None:
    """A corpus of three documents."""
    connection.autocommit = True
    db = ragdb.Database(connection)
    db.create_corpus("docs")
    for n in range(3):
        db.put_text("docs", f"{n}.md", f"Refunds are paid within {n} weeks.")
    db.optimize_corpus("docs")


@pytest.fixture
def docs(run_on: Callable[[str], Run], copied: str) -> Run:
    """The command line on a database with them."""
    return run_on(copied)


@pytest.fixture
def refused(run_on: Callable[[str], Run], module_clone: str) -> Run:
    """The command line on a database that answers until a key is named, which is not changed."""
    run = run_on(module_clone)
    assert run("status").exit_code == 0
    return run


def record(clone: str, count: int = 1) -> str:
    with ragdb.connect(clone) as db:
        return [str(db.retrieve("docs", "refunds").trace_id) for _ in range(count)][-1]


def errors(result: Any) -> list[dict[str, Any]]:
    return [row for row in json.loads(result.stdout) if row["severity"] == "error"]


def dump_of(dsn: str, form: str, to: Path) -> Path:
    """A dump made by pg_dump."""
    subprocess.run([postgres.binary("pg_dump"), form, "-d", dsn, "-f", to], check=True)
    return to


# ── keys outside ────────────────────────────────────────────────────────────────────────────────


def test_a_key_in_a_file_signs_where_the_session_has_it(
    docs: Run, copied: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keys"
    made = docs("keys", "create", "out", "--file", file)
    assert made.exit_code == 0, made.output
    assert made.stdout == "out\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    key, secret = file.read_text().strip().split(":")
    assert (key, len(bytes.fromhex(secret))) == ("out", 32)
    refused = docs("search", "refunds", "-c", "docs", "--trace")
    assert refused.exit_code != 0
    assert "RG433" in refused.stderr
    assert signing.FILE in refused.stderr
    for verb in ("ask", "pack"):
        refused = docs(verb, "When are refunds made?", "-c", "docs")
        assert (refused.exit_code, "RG433" in refused.stderr) == (2, True)
        assert f"or {signing.COMMAND} set; --no-record asks without" in refused.stderr
        assert docs(verb, "When are refunds made?", "-c", "docs", "--no-record").exit_code != 2
    monkeypatch.setenv(signing.FILE, str(file))
    assert docs("search", "refunds", "-c", "docs", "--trace").exit_code == 0
    trace = json.loads(docs("trace", "ls", "--json").stdout)[0]["id"]
    (mac,) = [row for row in json.loads(docs("trace", "verify", trace, "--json").stdout)
              if row["field"] == "trace_mac"]  # fmt: skip
    assert mac["recomputed"] == "signed by key out"
    # a second key joins the file, and the first still verifies
    assert docs("keys", "create", "out2", "--file", file).exit_code == 0
    assert record(copied)
    assert docs("trace", "verify", "--all").exit_code == 0
    listed = json.loads(docs("keys", "ls", "--json").stdout)
    assert [(k["key_id"], k["state"], k["is_inside"], k["is_at_hand"]) for k in listed] == [
        ("out", "verify_only", False, True),
        ("out2", "active", False, True),
    ]
    assert docs("keys", "export").stdout == ""
    events = json.loads(docs("keys", "events", "--json").stdout)
    assert [e["kind"] for e in events] == ["registered", "retired", "registered"]
    monkeypatch.delenv(signing.FILE)
    monkeypatch.setenv(signing.COMMAND, f"cat {file}")
    assert docs("trace", "verify", "--all").exit_code == 0
    assert docs("keys", "compromised", "out", "--yes").exit_code == 0
    found = docs("trace", "verify", "--all", "--json")
    assert found.exit_code == 1
    assert [row["finding"] for row in errors(found)] == [
        "not to be trusted: key out is reported compromised"
    ]


def test_the_secret_is_in_no_statement_and_no_dump(docs: Run, copied: str, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    assert docs("keys", "create", "out", "--file", file).exit_code == 0
    secret = file.read_text().strip().split(":")[1]
    with ragdb.connect(copied, signing_key=f"out:{secret}") as db:
        db.retrieve("docs", "refunds")
        with psycopg.connect(copied) as dba:
            rows = dba.execute("select a::text from pg_stat_activity a").fetchall()
            assert len(rows) > 1
            assert not any(secret in row for (row,) in rows)
            # a parallel worker has the key too
        with db.connection.transaction():
            db.connection.execute("set local debug_parallel_query = on")
            shown = db.connection.execute(
                "select ragdb_internal.given_secret('out') = decode(%s, 'hex')", (secret,)
            ).fetchone()
            assert shown == (True,)
    written = dump_of(copied, "-Fp", tmp_path / "dump.sql").read_text()
    assert "COPY ragdb.key_events" in written
    assert secret not in written
    assert bytes.fromhex(secret).hex() not in written.replace("\\\\x", "")


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        ("out:" + "ab" * 32, 0o644, "can be read by others"),
        ("out:" + "ab" * 32, 0o640, "can be read by others"),
        ("out:" + "ab" * 31, 0o600, "is not lines of ID:HEX"),
        ("out " + "ab" * 32, 0o600, "is not lines of ID:HEX"),
        ("out:abcd", 0o600, "is not lines of ID:HEX"),
        ("", 0o600, "is not lines of ID:HEX"),
        (None, 0, "cannot be read"),
    ],
)
def test_a_file_of_no_keys_is_refused_and_not_quoted(
    refused: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    content: str | None, mode: int, said: str,
) -> None:  # fmt: skip
    file = tmp_path / "keys"
    if content is not None:
        file.write_text(content)
        file.chmod(mode)
    monkeypatch.setenv(signing.FILE, str(file))
    result = refused("status")
    assert result.exit_code == 2
    assert said in result.stderr
    assert "abab" not in result.stderr


CUT = f"sh -c 'echo out:{'ab' * 32}; exit 3'"


@pytest.mark.parametrize("command", ["false", "/no/such/program", "echo nothing", "'", " ", CUT])
def test_a_command_that_gives_no_key_is_refused(
    refused: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv(signing.COMMAND, command)
    result = refused("status")
    assert result.exit_code == 2
    assert signing.COMMAND in result.stderr
    assert "abab" not in result.stderr


# ── verify ──────────────────────────────────────────────────────────────────────────────────────


def forge(clone: str, edit: str) -> None:
    with psycopg.connect(clone) as db:
        for (part,) in db.execute(
            "select inhrelid::regclass::text from pg_inherits"
            " where inhparent = 'ragdb.retrieval_traces'::regclass"
        ).fetchall():
            db.execute(f"alter table {part} disable trigger user")
        db.execute(edit)


def test_verify_says_what_was_done_and_doctor_too(docs: Run, copied: str) -> None:
    assert docs("keys", "create", "k1").exit_code == 0
    trace = record(copied, 3)
    good = docs("verify")
    assert good.exit_code == 0, good.output
    deep = docs("doctor", "--deep")
    assert deep.exit_code == 0, deep.output
    assert docs("trace", "verify", trace).exit_code == 0
    forge(copied, "update ragdb.retrieval_traces set caller = 'nobody'")
    bad = docs("verify")
    assert bad.exit_code == 1
    assert f"error   traces: trace {trace}: its row or its hits are not what was" in bad.stdout
    assert "error   triggers: ragdb.retrieval_traces_default: trigger" in bad.stdout
    assert len(errors(docs("verify", "--check", "traces", "--json"))) == 3
    assert docs("verify", "--check", "chunks").exit_code == 0
    assert docs("trace", "verify", trace).exit_code == 1
    quick = docs("doctor")
    assert quick.exit_code == 1
    assert "FAIL  verify triggers: ragdb.retrieval_traces_" in quick.stdout
    assert "verify traces" not in quick.stdout
    deep = docs("doctor", "--deep")
    assert f"FAIL  verify traces: trace {trace}" in deep.stdout


def test_verify_ends_with_what_all_is_unless_more_than_a_note_was_found(
    docs: Run, copied: str
) -> None:
    said = "all is what it was: "
    # that a session may choose the time is a note, and so in every test
    noted = docs("verify", "--check", "rights")
    assert "by ragdb.now" in noted.stdout
    assert said in noted.stderr
    with psycopg.connect(copied) as db:
        db.execute("alter function ragdb_internal.now() owner to current_user")
    wrong = docs("verify", "--check", "rights")
    assert wrong.exit_code == 1
    assert said not in wrong.stderr


def test_doctor_shows_the_first_few_of_many_findings(docs: Run, copied: str) -> None:
    with psycopg.connect(copied) as db:
        for (function,) in db.execute(
            "select oid::regprocedure::text from pg_proc"
            " where pronamespace = 'ragdb_internal'::regnamespace and prokind = 'f' limit 9"
        ).fetchall():
            db.execute(f"alter function {function} owner to current_user")
    assert len(errors(docs("verify", "--check", "rights", "--json"))) == 9
    shown = docs("doctor").stdout
    assert shown.count("FAIL  verify rights: function ragdb_internal.") == 5
    assert "FAIL  verify rights: and 4 more\n      ragdb verify --check rights lists" in shown


def test_an_interrupted_verify_goes_on_where_it_was(
    docs: Run, copied: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(copied, 10)
    forge(copied, "update ragdb.retrieval_traces set caller = 'nobody'")
    whole = errors(docs("verify", "--check", "traces", "--json", "--batch", 3))
    assert len(whole) == 10
    steps = Client.verify_step
    calls = 0

    def interrupts(self: Client, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return steps(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Client, "verify_step", interrupts)
        stopped = docs("verify", "--check", "traces", "--json", "--batch", 3)
    assert stopped.exit_code == 130
    state = stopped.stderr.split("--resume ")[1].strip().strip("'")
    rest = docs("verify", "--check", "traces", "--json", "--batch", 3, "--resume", state)
    assert errors(stopped) + errors(rest) == whole
    assert len(errors(rest)) == 4
    assert docs("verify", "--resume", "{").exit_code == 2


# ── backups ─────────────────────────────────────────────────────────────────────────────────────


def databases(server: str) -> list[str]:
    with psycopg.connect(server) as db:
        return sorted(n for (n,) in db.execute("select datname from pg_database").fetchall())


@pytest.mark.parametrize(
    "form", ["-Fc", *(pytest.param(f, marks=pytest.mark.nightly) for f in ("-Fd", "-Ft"))]
)
def test_a_backup_is_restored_beside_verified_and_dropped(
    docs: Run, copied: str, server18: Server, tmp_path: Path, form: str
) -> None:
    assert docs("keys", "create", "k1").exit_code == 0
    record(copied, 2)
    before = databases(server18.uri)
    dump = dump_of(copied, form, tmp_path / "dump")
    # what a server has for new databases is in none that is restored
    with psycopg.connect(server18.dsn("template1")) as template:
        template.execute("create schema ragdb")
    try:
        good = docs("backup", "verify", dump, "--dsn", copied)
    finally:
        with psycopg.connect(server18.dsn("template1")) as template:
            template.execute("drop schema ragdb")
    assert good.exit_code == 0, good.output
    assert databases(server18.uri) == before


def test_who_may_create_no_database_is_told_to_name_another_role(
    run: Run, clone: str, tmp_path: Path
) -> None:
    (tmp_path / "dump").write_bytes(b"PGDMP and more")
    result = run("backup", "verify", tmp_path / "dump", "--dsn", f"{clone} user=stranger")
    assert result.exit_code == 3
    assert "a scratch database cannot be made: permission denied" in result.stderr
    assert "--dsn of a role that may create databases, or leave it out" in result.stderr


def test_a_dump_that_names_a_role_which_is_not_there_is_told_to_need_it(
    run: Run, clone: str, server18: Server, tmp_path: Path
) -> None:
    with server18.database(template=None) as empty:
        dsn = server18.dsn(empty.dbname)
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute("create role elsewhere; create table public.mine (a int)")
            db.execute("alter table public.mine owner to elsewhere")
            dump = dump_of(dsn, "-Fc", tmp_path / "dump")
            db.execute("drop owned by elsewhere; drop role elsewhere")
    result = run("backup", "verify", dump, "--dsn", clone)
    assert result.exit_code == 2
    assert 'role "elsewhere" does not exist' in result.stderr
    assert "hint: where a role or an extension is missing, give --dsn of a" in result.stderr


def test_pg_restore_gets_the_password_in_its_environment_alone(
    run: Run, clone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dump").write_bytes(b"PGDMP and more")
    program = tmp_path / "pg_restore"
    program.write_text('#!/bin/sh\necho "$PGPASSWORD for $*" >&2; exit 1\n')
    program.chmod(0o755)
    monkeypatch.setattr(settings, "program", lambda *_: str(program))
    result = run("backup", "verify", tmp_path / "dump", "--dsn", f"{clone} password=geheim")
    assert "cannot be restored: geheim for " in result.stderr
    assert result.stderr.count("geheim") == 1


def test_a_backup_is_restored_on_the_embedded_server_where_no_flag_names_one(
    run: Run, clone: str, server18: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the environment names: there a copy may be too much."""
    (tmp_path / "dump").write_bytes(b"PGDMP and more")
    monkeypatch.setattr(embedded, "start", lambda: server18.uri)
    monkeypatch.setenv("RAGDB_DATABASE_URL", f"{clone} user=stranger")
    result = run("backup", "verify", tmp_path / "dump")
    assert "the dump cannot be restored" in result.stderr


@pytest.mark.nightly
def test_a_backup_of_a_subscriber_subscribes_to_nothing_and_is_dropped(
    run: Run, clone: str, server18: Server, tmp_path: Path
) -> None:
    """A database with a subscription is not dropped, and a subscription takes its slot along."""
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute(
            "create subscription copied connection 'dbname=elsewhere' publication all_of_it"
            " with (connect = false)"
        )
        try:
            dump = dump_of(clone, "-Fc", tmp_path / "dump")
        finally:
            db.execute("alter subscription copied set (slot_name = none)")
            db.execute("drop subscription copied")
    before = databases(server18.uri)
    good = run("backup", "verify", dump, "--dsn", clone)
    assert good.exit_code == 0, good.output
    assert databases(server18.uri) == before


@pytest.mark.by_day(1)
@pytest.mark.usefixtures("hears_ctrl_c")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_backup_whose_verification_is_stopped_leaves_no_copy(
    clone: str, server18: Server, tmp_path: Path, number: signal.Signals
) -> None:
    """As a timer of systemd stops what takes too long."""
    dump = dump_of(clone, "-Fc", tmp_path / "dump")
    before = databases(server18.uri)
    told = ("backup", "verify", str(dump), "--dsn", clone)
    with (
        psycopg.connect(clone, autocommit=True) as db,
        Forked(*told, env={**os.environ}) as running,
    ):
        restoring = "select from pg_stat_activity where datname ~ '^ragdb_backup_'"
        until(lambda: db.execute(restoring).fetchall())
        running.send_signal(number)
        assert running.wait(120) == 130
    assert databases(server18.uri) == before


@pytest.mark.nightly
def test_the_copy_that_a_killed_run_left_is_dropped_by_the_next(
    run: Run, clone: str, server18: Server, tmp_path: Path
) -> None:
    dump = dump_of(clone, "-Fc", tmp_path / "dump")
    before = databases(server18.uri)
    told = ("backup", "verify", str(dump), "--dsn", clone)
    with psycopg.connect(clone, autocommit=True) as db:
        users = (
            "select from pg_stat_activity"
            " where datname ~ '^ragdb_backup_' and backend_type = 'client backend'"
        )
        with Forked(*told, env={**os.environ}) as running:
            # itself, and pg_restore once the copy says what it is
            until(lambda: len(db.execute(users).fetchall()) > 1)
            running.send_signal(signal.SIGKILL)
            running.wait(60)
        # pg_restore goes on without it
        until(lambda: not db.execute(users).fetchall())
    (left,) = set(databases(server18.uri)) - set(before)
    (tmp_path / "noise").write_bytes(b"PGDMP and more")
    next_run = run("backup", "verify", tmp_path / "noise", "--dsn", clone)
    assert f"dropped database {left}, a copy that a killed run left" in next_run.stderr
    assert databases(server18.uri) == before


def test_a_copy_in_use_and_what_others_call_so_are_left_by_other_runs(
    run: Run, clone: str, server18: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dump").write_bytes(b"PGDMP and more")
    with monkeypatch.context() as patch:
        patch.setattr(backup, "_restore", lambda *_: None)
        with psycopg.connect(server18.uri, autocommit=True) as db:
            db.execute("create database ragdb_backup_0123456789abcdef")
        try:
            with backup.restored(tmp_path / "dump", clone):
                before = databases(server18.uri)
                with backup.restored(tmp_path / "dump", clone):
                    assert set(before) < set(databases(server18.uri))
                assert databases(server18.uri) == before
        finally:
            with psycopg.connect(server18.uri, autocommit=True) as db:
                db.execute("drop database ragdb_backup_0123456789abcdef")


def test_what_is_not_a_dump_is_refused(
    docs: Run, copied: str, server18: Server, tmp_path: Path
) -> None:
    before = databases(server18.uri)
    plain = dump_of(server18.uri, "-Fp", tmp_path / "plain.sql")
    cut = dump_of(copied, "-Fc", tmp_path / "cut")
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    # restored, whatever its form, before it is seen what it holds
    others = [dump_of(server18.uri, form, tmp_path / form) for form in ("-Fc", "-Fd", "-Ft")]
    (tmp_path / "noise").write_bytes(os.urandom(100))
    (tmp_path / "PG_VERSION").write_text("18")
    for path, said in (
        (plain, "is a program that would be run"),
        (cut, "cannot be restored"),
        *((other, "no ragdb in the dump") for other in others),
        (tmp_path / "noise", "is not a dump"),
        (tmp_path / "nothing", "cannot be read"),
        (tmp_path, "is a data folder and not a dump"),
    ):
        result = docs("backup", "verify", path, "--dsn", copied)
        assert result.exit_code == 2, (path, result.output)
        assert said in result.stderr
    assert databases(server18.uri) == before


def test_a_backup_is_restored_on_the_server_that_the_environment_names(
    run: Run, clone: str, server18: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump_of(server18.uri, "-Fc", tmp_path / "-x")
    monkeypatch.chdir(tmp_path)
    named = conninfo_to_dict(clone)
    for variable, key in (("PGHOST", "host"), ("PGPORT", "port"), ("PGUSER", "user")):
        monkeypatch.setenv(variable, str(named[key]))
    result = run("backup", "verify", "--dsn", "dbname=postgres", "--", "-x")
    assert "no ragdb in the dump" in result.stderr


# ── the manual ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.nightly
@pytest.mark.usefixtures("short_manual")
def test_what_verify_says_to_do_about_the_manual_mends_it(run: Run, clone: str) -> None:
    assert run("init").exit_code == 0
    with psycopg.connect(clone) as db:
        gone = db.execute(
            "delete from ragdb.edges e using ragdb.corpora c where c.corpus_id = e.corpus_id"
            " and c.name = 'system' and e.edge_type = 'branch'"
        )
        assert gone.rowcount > 0
    found = run("verify", "--check", "edges", "--json")
    assert found.exit_code == 1
    assert {row["advice"].split(" writes ")[0] for row in errors(found)} == {"ragdb init --force"}
    assert run("init", "--force").exit_code == 0
    assert errors(run("verify", "--check", "edges", "--json")) == []
