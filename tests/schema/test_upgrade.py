"""What a migration does to a database that is in use, and what it refuses."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic import command

from ragdb.server import code, migrate, prepare, roles, scripts
from tests.conftest import OLDER_BY_NIGHT, Login, Run, Server
from tests.schema.conftest import ROOT
from tests.schema.facts import facts
from tests.waiting import after_commit, until


def executes(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


# objects of a user by the name that a refusal gives them
MINE = {
    "default value for public.defaulted.at":
        "create table defaulted (at timestamptz default ragdb_internal.now())",
    "function public.mine()":
        "create function mine() returns timestamptz language sql return ragdb_internal.now()",
    "table column public.columned.x": "create table columned (x ragdb.hit)",
    "table constraint checked_x_check on public.checked":
        "create table checked (x text check (ragdb_internal.quote(x) <> ''))",
    "view public.mine": "create view mine as select * from ragdb.error_codes()",
}  # fmt: skip


@pytest.mark.by_day(1)
def test_an_upgrade_refuses_while_objects_of_the_user_depend_on_ours(any_clone: str) -> None:
    executes(any_clone, *MINE.values())
    with psycopg.connect(any_clone) as connection:
        before = facts(connection)
    with pytest.raises(code.InUse) as refused:
        migrate.migrate(any_clone, force=True)
    assert sorted(refused.value.objects) == list(MINE)
    with psycopg.connect(any_clone) as connection:
        assert facts(connection) == before


# what others made in schemas of ragdb, by the name that a refusal gives it
THEIRS = {
    "function bi.theirs()": "create function bi.theirs() returns int language sql return 1",
    "trigger theirs on ragdb.documents":
        "create trigger theirs before insert on ragdb.documents"
        " for each row execute function suppress_redundant_updates_trigger()",
    "view bi.dashboard": "create view bi.dashboard as select count(*) from bi.dim_corpus",
}  # fmt: skip


@pytest.mark.by_day(1)
def test_an_upgrade_drops_what_others_made_among_ours_only_by_force(any_clone: str) -> None:
    executes(
        any_clone,
        *THEIRS.values(),
        "create table bi.targets (day date)",
        "comment on schema ragdb is 'older'",
    )
    with pytest.raises(code.InUse, match="or `ragdb init --force` drops them") as refused:
        migrate.migrate(any_clone)
    assert sorted(refused.value.objects) == list(THEIRS)
    with psycopg.connect(any_clone) as connection:
        assert connection.execute("select * from bi.dashboard").fetchall() == [(0,)]
    assert migrate.migrate(any_clone, force=True)
    with psycopg.connect(any_clone) as connection:
        assert connection.execute("select to_regclass('bi.dashboard')").fetchall() == [(None,)]
        granted = "select has_table_privilege('bi_reader', %s, 'select')"
        assert connection.execute(granted, ("bi.targets",)).fetchall() == [(False,)]
        assert connection.execute(granted, ("bi.dim_corpus",)).fetchall() == [(True,)]


@OLDER_BY_NIGHT
def test_an_upgrade_drops_what_left_sql_mends_what_was_changed_and_keeps_rows(
    any_clone: str,
) -> None:
    executes(any_clone, "select ragdb.create_corpus('docs')", "select ragdb.maintain()")
    with psycopg.connect(any_clone) as connection:
        before = facts(connection)
    executes(
        any_clone,
        "set role ragdb_owner",
        "create function ragdb.left_sql() returns int language sql return 1",
        "create view ragdb.left_too as select ragdb.left_sql() as one",
        "create type ragdb.left_also as (a int)",
        "create procedure ragdb.left_last() language sql begin atomic select * from ragdb.left_too; end",
        "create or replace function ragdb_internal.quote(value text) returns text language sql return 'edited'",
        "grant select on ragdb.chunks to public",
        # as the default privileges of who restores a dump give them
        "grant all on schema ragdb, ragdb_internal, bi to stranger, bi_reader",
        "grant all on all tables in schema ragdb to stranger",
        "grant all on all sequences in schema ragdb to stranger with grant option",
        "grant update (text) on ragdb.chunks to stranger",
    )
    assert not migrate.migrate(any_clone)  # which changes nothing where the version is the same
    *named, last = migrate.advice(any_clone)
    assert all("ragdb init --force" in line for line in named)
    assert re.fullmatch("and [0-9]{3,} more: `ragdb verify --quick` lists them", last)
    migrate.migrate(any_clone, force=True)
    assert list(migrate.advice(any_clone)) == []
    with psycopg.connect(any_clone) as connection:
        assert facts(connection) == before
        assert connection.execute("select name from ragdb.corpora").fetchall() == [("docs",)]


def test_an_upgrade_takes_no_change_of_tables_for_what_was_installed(any_clone: str) -> None:
    executes(
        any_clone,
        "alter table ragdb.chunks drop constraint chunks_offsets_are_a_range",
        "drop index ragdb.contracts_one_version_is_current",
        "alter table ragdb.retrieval_traces alter corpus drop not null",
        "alter table ragdb.ledger_pending set unlogged",
        "create table public.more () inherits (ragdb.semantic_atoms)",
        "create rule nothing as on delete to ragdb.events do instead nothing",
        "alter table ragdb.chunks enable row level security",
        # what a DBA adds is judged once
        "create index mine on ragdb.access_events (what)",
    )
    assert migrate.migrate(any_clone, force=True)
    with psycopg.connect(any_clone) as connection:
        found = connection.execute(
            "select place, finding, advice from ragdb.verify(checks => '{code}') order by place"
        ).fetchall()
        assert [row[:2] for row in found] == [
            ("child table public.more of ragdb.semantic_atoms", "it was added"),
            ("column ragdb.retrieval_traces.corpus", "it was changed"),
            ("constraint chunks_offsets_are_a_range on ragdb.chunks", "it is missing"),
            ("index ragdb.contracts_one_version_is_current", "it is missing"),
            ("row security of ragdb.chunks", "it was added"),
            ("rule nothing on ragdb.events", "it was added"),
            ("unlogged table ragdb.ledger_pending", "it was added"),
        ]
        assert not any("--force" in advice for _, _, advice in found)


CACHED = (scripts.revisions, scripts.stamp, scripts.made_by)
NEXT = """
from ragdb.server.migrate import run_script

revision = "0002_next"
down_revision = "0001_first_release"


def upgrade() -> None:
    run_script(revision)
"""


@pytest.fixture
def next_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a second revision, which the package has from now on."""
    root = Path(str(files("ragdb.migrations")))
    copy = Path(shutil.copytree(root, tmp_path / "100% of them"))
    folder = copy / "versions/0002_next"
    folder.mkdir()
    folder.with_suffix(".py").write_text(NEXT)
    found = {"ragdb.migrations": copy, "ragdb.migrations.versions": copy / "versions"}
    for module in (migrate, scripts):
        monkeypatch.setattr(module, "files", lambda name: found.get(name) or files(name))
    for cached in CACHED:
        cached.cache_clear()
    yield folder
    for cached in CACHED:
        cached.cache_clear()


def test_an_upgrade_runs_the_next_revision_once_on_the_tables_and_rows_there_are(
    clone: str, next_release: Path
) -> None:
    # bound bodies read the column: they are dropped first and loaded after
    (next_release / "10_one.sql").write_text(
        "alter table ragdb.chunks alter page type bigint, drop constraint chunks_offsets_are_a_range;"
    )
    (next_release / "20_two.sql").write_text(
        "create table ragdb.runs as select name from ragdb.corpora;"
    )
    executes(clone, "select ragdb.create_corpus('docs')")
    assert migrate.migrate(clone)
    assert not migrate.migrate(clone)
    assert migrate.migrate(clone, force=True)  # the table would be there twice
    with psycopg.connect(clone) as connection:
        assert connection.execute("select name from ragdb.runs").fetchall() == [("docs",)]
        assert connection.execute("select version_num from ragdb.alembic_version").fetchall() == [
            ("0002_next",)
        ]
        assert scripts.is_current(connection)
        assert scripts.unknown_revision(connection) is None
        found = "select place, finding from ragdb.verify(checks => '{code}')"
        assert connection.execute(found).fetchall() == []


def test_a_revision_that_fails_names_its_file_and_changes_nothing(
    clone: str, untouched: list[str], next_release: Path
) -> None:
    (next_release / "10_one.sql").write_text("create table ragdb.runs (x int);")
    (next_release / "20_two.sql").write_text("alter table ragdb.none add x int;")
    with pytest.raises(psycopg.errors.UndefinedTable) as failed:
        migrate.migrate(clone)
    assert failed.value.__notes__ == ["while loading migrations/versions/0002_next/20_two.sql"]
    with psycopg.connect(clone) as connection:
        assert facts(connection) == untouched


def test_a_schema_with_a_revision_that_the_package_lacks_is_left_as_it_is(
    clone: str, untouched: list[str]
) -> None:
    executes(clone, "update ragdb.alembic_version set version_num = '0002_next'")
    with psycopg.connect(clone) as connection:
        assert scripts.unknown_revision(connection) == "0002_next"
    with pytest.raises(prepare.NotReady, match="does not know its revision 0002_next"):
        migrate.migrate(clone, force=True)
    with psycopg.connect(clone) as connection:
        assert facts(connection) == untouched


@pytest.mark.parametrize("is_marked", [True, False], ids=["marked", "before builds left a mark"])
def test_tables_of_another_build_are_left_as_they_are_and_a_hint_says_what_to_do(
    clone: str, is_marked: bool
) -> None:
    """Until a release the tables change in place, and no revision leads from one to the other."""
    mark = "Revision of the tables, for Alembic. 0001_first_release, source 0123456789abcdef."
    with psycopg.connect(clone) as connection:
        code.drop_code(connection, takes_others=True)  # bound bodies hold columns fast
        connection.execute("alter table ragdb.chunks drop page")
        connection.execute(
            "comment on table ragdb.alembic_version is "
            + (f"'{mark}'" if is_marked else "'Revision of the tables, for Alembic.'")
        )
        connection.execute("comment on schema ragdb is 'another build'")
    with psycopg.connect(clone) as connection:
        before = facts(connection)
    with pytest.raises(migrate.OtherBuild, match="made by another build of ragdb") as refused:
        migrate.migrate(clone)
    assert is_marked or "column" in str(refused.value)
    assert "ragdb export CORPUS FILE" in refused.value.hint
    with psycopg.connect(clone) as connection:
        assert facts(connection) == before


def test_remarks_in_a_revision_make_no_other_build(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(clone) as connection:
        assert not scripts.other_tables(connection)
        remarked = {
            revision: {name: f"-- remark\n\n{text}" for name, text in texts.items()}
            for revision, texts in scripts.revisions().items()
        }
        monkeypatch.setattr(scripts, "revisions", lambda: remarked)
        scripts.made_by.cache_clear()
        assert not scripts.other_tables(connection)
        next(iter(remarked.values()))["90_more.sql"] = "create table ragdb.more (x int);"
        scripts.made_by.cache_clear()
        assert scripts.other_tables(connection)
    scripts.made_by.cache_clear()


def test_alembic_says_in_a_sentence_what_depends_on_the_schema(
    clone: str, untouched: list[str]
) -> None:
    executes(clone, "create view mine as select * from ragdb.error_codes()")
    done = subprocess.run(
        [sys.executable, "-m", "alembic", "upgrade", "head"],
        cwd=ROOT,
        env=os.environ | {"RAGDB_DATABASE_URL": clone},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    said = " ".join((done.stdout + done.stderr).split())
    assert "functions and views of ragdb, and these depend on them" in said
    assert "Traceback" not in done.stderr
    with psycopg.connect(clone) as connection:
        assert facts(connection) == untouched


@pytest.mark.nightly
def test_a_plain_login_that_may_be_the_owner_migrates_in_whatever_schema_pgvector_is(
    server18: Server, login: Login
) -> None:
    with server18.database(template=None) as empty:
        dsn = server18.dsn(empty.dbname)
        executes(
            dsn,
            'create schema "else where"',
            'create extension vector schema "else where"',
            'grant usage on schema "else where" to ragdb_owner',
            "drop schema public cascade",
            "create role installer login",
            "grant ragdb_owner to installer with inherit false, set true",
            f'grant create on database "{empty.dbname}" to installer',
        )
        try:
            assert migrate.migrate(server18.dsn(empty.dbname, user="installer"))
            assert migrate.migrate(server18.dsn(empty.dbname, user="installer"), force=True)
            with login(dsn, "owner") as connection:
                assert connection.execute("select count(*) from ragdb.corpora").fetchone() == (0,)
        finally:
            executes(dsn, "drop owned by installer", "drop role installer")


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_of_another_encoding_is_refused(server18: Server, encoding: str) -> None:
    executes(
        server18.uri,
        f"create database encoded template template0 encoding '{encoding}' lc_collate 'C'"
        " lc_ctype 'C' locale_provider libc",
    )
    try:
        with pytest.raises(prepare.NotReady, match=f"UTF8 is needed; this one's is {encoding}"):
            migrate.migrate(server18.dsn("encoded"))
    finally:
        executes(server18.uri, "drop database encoded")


@OLDER_BY_NIGHT
def test_what_a_login_may_not_make_is_named_in_statements_that_work(any_version: Server) -> None:
    with any_version.database(template=None) as empty:
        dsn = any_version.dsn(empty.dbname)
        with psycopg.connect(dsn) as connection:
            before = connection.execute("select oid, nspname from pg_namespace").fetchall()
        plain = any_version.dsn(empty.dbname, user="stranger")
        with pytest.raises(prepare.NotReady) as refused:
            migrate.migrate(plain)
        assert refused.value.statements == [
            "grant ragdb_owner to stranger with inherit false, set true;",
            "grant ragdb_admin to stranger with inherit true;",
            "create extension vector schema public;",
            "grant ragdb_owner to current_user with inherit false, set true;",
            "create schema ragdb authorization ragdb_owner;",
            "create schema ragdb_internal authorization ragdb_owner;",
            "create schema bi authorization ragdb_owner;",
        ]
        with psycopg.connect(dsn) as connection:
            assert connection.execute("select oid, nspname from pg_namespace").fetchall() == before
        executes(dsn, *refused.value.statements)
        try:
            assert migrate.migrate(plain)
        finally:
            executes(dsn, "revoke ragdb_owner, ragdb_admin from stranger")


def test_a_role_that_an_installer_of_another_database_makes_meanwhile_is_as_good(
    clone: str,
) -> None:
    making = "create role of_both"
    with psycopg.connect(clone) as one, psycopg.connect(clone) as other:
        one.execute(making)
        try:
            after_commit(one, other, lambda: roles.make(other, making))
            roles.make(other, making)  # where it is there already
            assert other.execute("select 1").fetchone() == (1,)
        finally:
            other.rollback()
            executes(clone, "drop role of_both")


def test_an_old_pgvector_is_updated_by_who_owns_it(clone: str) -> None:
    executes(
        clone,
        "update pg_extension set extversion = '0.7.4' where extname = 'vector'",
        "comment on schema ragdb is 'older'",
    )
    with pytest.raises(prepare.NotReady) as refused:
        migrate.migrate(psycopg.conninfo.make_conninfo(clone, user="owner"))
    assert refused.value.statements == ["alter extension vector update;"]


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("deadlocks", "tries"), [(4, 5), (9, 5)])
def test_an_upgrade_that_meets_a_deadlock_is_tried_again_but_not_for_ever(
    clone: str, monkeypatch: pytest.MonkeyPatch, deadlocks: int, tries: int
) -> None:
    upgrade, tried = command.upgrade, []

    def unlucky(*given: Any) -> None:
        tried.append(given)
        if len(tried) <= deadlocks:
            raise psycopg.errors.DeadlockDetected("deadlock detected")
        upgrade(*given)

    monkeypatch.setattr(command, "upgrade", unlucky)
    executes(clone, "comment on schema ragdb is 'older'")
    if deadlocks < tries:
        assert migrate.migrate(clone)
    else:
        with pytest.raises(psycopg.errors.DeadlockDetected):
            migrate.migrate(clone)
    assert len(tried) == tries


def test_an_upgrade_whose_connection_is_ended_says_what_ended_it_and_leaves_nothing(
    server18: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(connection: psycopg.Connection[object]) -> None:
        connection.execute("reset role")
        connection.execute("select pg_terminate_backend(pg_backend_pid())")

    with server18.database(None) as database:
        dsn = server18.dsn(database.dbname)
        with monkeypatch.context() as patch:
            patch.setattr(migrate, "load_code", end)
            with pytest.raises(psycopg.errors.AdminShutdown):
                migrate.migrate(dsn)
        with psycopg.connect(dsn) as connection:
            left = "select nspname from pg_namespace where nspname ~ '^ragdb' or nspname = 'bi'"
            assert connection.execute(left).fetchall() == []


def test_schemas_that_a_restore_left_out_are_installed_again(any_clone: str) -> None:
    """A dump of schema ragdb alone has the stamp of all."""
    with psycopg.connect(any_clone) as connection:
        before = facts(connection)
        connection.execute("drop schema ragdb_internal, bi cascade")
    assert migrate.migrate(any_clone)
    with psycopg.connect(any_clone) as connection:
        assert facts(connection) == before


def test_tables_that_a_restore_left_out_are_named(clone: str, run: Run) -> None:
    with psycopg.connect(clone) as connection:
        connection.execute("drop table ragdb.block_states, ragdb.chunk_embeddings cascade")
    lacks = (
        r"2 of the tables of ragdb are missing \(block_states, chunk_embeddings\), as after a res"
    )
    for force in (False, True):
        with pytest.raises(prepare.NotReady, match=lacks):
            migrate.migrate(clone, force=force)
    found = run("doctor")
    assert found.exit_code == 3
    assert re.search(rf"FAIL  schema: {lacks}", found.stdout)


@pytest.mark.parametrize("own", ["ragdb", "ragdb_internal", "bi"])
def test_a_schema_of_another_name_is_told_how_to_get_its_own(any_clone: str, own: str) -> None:
    executes(any_clone, f"alter schema {own} rename to mine")
    with pytest.raises(prepare.NotReady, match=f"schema mine is {own} under an") as refused:
        migrate.migrate(any_clone)
    executes(any_clone, *refused.value.statements)
    assert not migrate.migrate(any_clone)


def test_a_reader_that_holds_what_init_waits_for_is_not_ended(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deadlock ends whoever looks for it first, and who waits looks after a second."""
    monkeypatch.setattr(migrate, "PAUSE_S", 0.5)
    said: list[str] = []
    with psycopg.connect(clone) as reader, ThreadPoolExecutor(1) as pool:
        tables = [name for (name,) in reader.execute(
            "select c.oid::regclass::text from pg_class c where c.relkind = 'r'"
            " and c.relnamespace = 'ragdb'::regnamespace order by 1"
        ).fetchall()]  # fmt: skip
        reader.commit()
        for held in ("documents", "turns"):
            reader.execute(f"select from ragdb.{held}")
            init = pool.submit(migrate.migrate, clone, force=True, say=said.append)
            with psycopg.connect(clone, autocommit=True) as watcher:
                until(lambda: watcher.execute(
                    "select from pg_locks where relation is not null and not granted"
                ).fetchall())  # fmt: skip
            for table in tables:
                reader.execute(f"select from {table}")
            assert not init.done()
            reader.commit()
            assert init.result()
    assert len(said) == 2


WAITING = "select l.mode from pg_locks l where l.relation is not null and not l.granted"


def test_a_call_that_is_at_work_ends_without_waiting_for_an_upgrade(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each waited for the other, so that no upgrade came through calls that come without a pause."""
    monkeypatch.setattr(migrate, "AT_MOST", "60s")
    said: list[str] = []
    with ThreadPoolExecutor(1) as pool, psycopg.connect(clone) as call:
        call.execute("select from ragdb.corpora")  # as every call does first
        init = pool.submit(migrate.migrate, clone, force=True, say=said.append)
        with psycopg.connect(clone, autocommit=True) as watcher:
            until(lambda: watcher.execute(WAITING).fetchall())
        call.execute("set local lock_timeout = '100ms'")
        for (table,) in call.execute(
            "select c.oid::regclass::text from pg_class c where c.relkind in ('r', 'p')"
            " and c.relnamespace = 'ragdb'::regnamespace and not c.relispartition"
        ).fetchall():
            call.execute(f"select from {table}")
        assert not init.done()
        call.commit()
        assert init.result()
    assert said == []


def test_an_upgrade_that_waits_for_one_call_after_another_ends_nobody_by_a_deadlock(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "AT_MOST", "400ms")
    monkeypatch.setattr(migrate, "PAUSE_S", 0.5)
    names = ("documents", "chunks", "edges")
    with ThreadPoolExecutor(2) as pool, ExitStack() as opened:
        watcher = opened.enter_context(psycopg.connect(clone, autocommit=True))
        holders = [opened.enter_context(psycopg.connect(clone)) for _ in names]
        for holder, name in zip(holders, names, strict=True):
            holder.execute(f"select from ragdb.{name}")
        last = holders[-1]
        last.execute("set local deadlock_timeout = '800ms'")
        init = pool.submit(migrate.migrate, clone, force=True)
        until(lambda: watcher.execute(WAITING).fetchall())
        asking = pool.submit(last.execute, "select from ragdb.corpora")
        for holder in holders[:-1]:
            watcher.execute("select pg_sleep(0.3)")
            holder.close()
        asking.result()
        last.close()
        assert init.result()


def test_an_upgrade_waits_for_a_vacuum_as_long_as_the_server_takes_to_end_it_and_holds_up_nobody(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends an automatic one where somebody waits for a second."""
    monkeypatch.setattr(migrate, "AT_MOST", "300ms")
    said: list[str] = []
    with ThreadPoolExecutor(1) as pool, psycopg.connect(clone) as vacuum:
        vacuum.execute("lock table ragdb.documents in share update exclusive mode")
        init = pool.submit(migrate.migrate, clone, force=True, say=said.append)
        with psycopg.connect(clone, autocommit=True) as reader:
            until(lambda: reader.execute(WAITING).fetchall())
            reader.execute("set lock_timeout = '100ms'; select pg_sleep(1.2)")
            reader.execute("select from ragdb.documents")
            assert reader.execute(WAITING).fetchall() == [("ShareUpdateExclusiveLock",)]
        vacuum.rollback()
        assert init.result()
    assert said == []
