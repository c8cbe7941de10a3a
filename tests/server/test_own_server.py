"""ragdb on a server of one's own, installed by those who there are: each by what they may do.

`ragdb init` and `create extension ragdb` either leave their caller able to work, or say at once
and completely what a DBA must run; `ragdb doctor` fails where the next command would.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from typer.testing import CliRunner

from ragdb import extension
from ragdb.cli.main import app
from ragdb.server import embedded, postgres, roles, static
from tests.forked import run_forked
from tests.schema.conftest import ROOT
from tests.schema.facts import difference, facts
from tests.server.test_standby import catch_up, running_standby
from tests.static_twin import train
from tests.watcher import watched_folder

# what each login may do; `admin` is the master user of a managed service
PEOPLE = {
    "admin": "createrole",
    "owner": "",
    "app": "",
    "creator": "createrole",
}


@pytest.fixture(scope="module")
def superuser() -> Iterator[str]:
    """URI of the superuser on a server that has never heard of ragdb, but offers its extension."""
    with watched_folder() as home:
        uri = embedded.start(home / "own")
        offered = home / "extension"
        offered.mkdir()
        offered.chmod(0o755)
        shutil.copy(ROOT / "extension/ragdb.control", offered)
        (offered / extension.path().name).write_text(extension.script())
        for file in offered.iterdir():
            file.chmod(0o644)
        with psycopg.connect(uri, autocommit=True) as connection:
            connection.execute(f"alter system set extension_control_path = '$system:{home}'")
            connection.execute("select pg_reload_conf()")
            for name, may in PEOPLE.items():
                connection.execute(f"create role {name} login {may}")
        yield uri


@pytest.fixture
def database(superuser: str) -> Iterator[str]:
    """DSN of the superuser on a new database of `owner`'s; no role of ragdb is left after it."""
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute("create database mine template template0 owner owner")
    yield make_conninfo(superuser, dbname="mine")
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute("drop database mine with (force)")
        for role in reversed(roles.ROLES):
            connection.execute(f"drop role if exists {role}")


def says(dsn: str, user: str, *arguments: str) -> Any:
    """What the command line says to a login."""
    return CliRunner().invoke(
        app, [*arguments, "-d", make_conninfo(dsn, user=user)], env={"COLUMNS": "300"}
    )


def statements(said: str) -> list[str]:
    return [
        line.strip() for line in said.splitlines() if re.fullmatch(r"[a-z][^:]*;", line.strip())
    ]


def run_by(dsn: str, user: str, todo: list[str]) -> None:
    with psycopg.connect(dsn, user=user, autocommit=True) as connection:
        for statement in todo:
            connection.execute(statement)


def works(dsn: str, user: str, folder: Path) -> None:
    """Everything that README does next."""
    (folder / "refunds.md").write_text("# Refunds\n\nReturns are free of charge.\n")
    for command in (
        ["doctor"],
        ["ingest", str(folder / "refunds.md"), "--corpus", "docs", "--no-progress"],
        ["search", "refunds", "--corpus", "docs", "--trace"],
        ["corpus", "optimize", "docs"],
        ["doctor", "--deep"],
        ["init"],
    ):
        done = says(dsn, user, *command)
        assert done.exit_code == 0, (command, done.output)
        assert "DBA" not in done.output
        assert "FAIL" not in done.output


def pgvector(dsn: str, where: str) -> None:
    """What is there of pgvector, and of the schema that it goes into."""
    todo = {
        "absent": [],
        "public": ["create extension vector"],
        "elsewhere": ['create schema "else where"', 'create extension vector schema "else where"'],
        "hardened": ["revoke all on schema public from public"],
        "no public": ["drop schema public cascade"],
    }
    run_by(dsn, "postgres", todo[where])


# Whom `init` says nothing to is `None`'s case; `owner` may make no role, but the database is its.
CASES = [
    ("admin", None, "public"),
    ("app", "postgres", "hardened"),
]
NIGHTLY = [
    ("postgres", None, "absent"),
    ("postgres", None, "elsewhere"),
    ("postgres", None, "no public"),
    ("admin", "postgres", "absent"),
    ("admin", "postgres", "hardened"),
    ("owner", "admin", "public"),
    ("owner", "postgres", "no public"),
    ("app", "admin", "public"),
    ("app", "postgres", "elsewhere"),
    ("creator", "owner", "public"),
    ("creator", "postgres", "elsewhere"),
]


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("who", "dba", "where"),
    [*CASES, *(pytest.param(*case, marks=pytest.mark.nightly) for case in NIGHTLY)],
)
def test_init_leaves_its_caller_able_to_work_or_says_once_what_a_dba_must_run(
    database: str, tmp_path: Path, who: str, dba: str | None, where: str
) -> None:
    pgvector(database, where)
    run_by(database, "postgres", ["grant create on database mine to admin with grant option"])
    first = says(database, who, "init", "--no-manual")
    if dba is None:
        assert first.exit_code == 0, first.output
    else:
        todo = statements(first.stdout)
        assert first.stdout.splitlines() == todo
        assert (first.exit_code, bool(todo)) == (3, True), first.output
        doctor = says(database, who, "doctor")
        assert doctor.exit_code == 3
        assert all(statement in doctor.stdout for statement in todo)
        run_by(database, dba, todo)
        second = says(database, who, "init", "--no-manual")
        assert second.exit_code == 0, (todo, second.output)
    works(database, who, tmp_path)


def test_what_a_role_of_somebody_else_must_be_given_a_dba_gives(database: str) -> None:
    """As an older release left it, installed by another."""
    pgvector(database, "public")
    run_by(
        database,
        "postgres",
        ["grant create on database mine to admin", "create role ragdb_reader"],
    )
    first = says(database, "admin", "init", "--no-manual")
    assert first.exit_code == 3, first.output
    todo = statements(first.stdout)
    assert "grant ragdb_reader to ragdb_writer;" in todo
    run_by(database, "postgres", todo)
    second = says(database, "admin", "init", "--no-manual")
    assert second.exit_code == 0, (todo, second.output)


@pytest.mark.nightly
def test_init_after_a_restore_without_owner_leaves_no_right_to_others(
    database: str, tmp_path: Path
) -> None:
    """As a managed service restores: no superuser, and default privileges that give all away."""
    pgvector(database, "public")
    run_by(database, "postgres", ["grant create on database mine to admin"])
    assert says(database, "admin", "init", "--no-manual").exit_code == 0
    works(database, "admin", tmp_path)
    with psycopg.connect(database) as db:
        before = facts(db)
        rows = db.execute("select text from ragdb.chunks").fetchall()
    dump, contents = tmp_path / "dump", tmp_path / "list"
    flags = ["--no-owner", "--no-privileges", "-L", str(contents)]
    copy = make_conninfo(database, dbname="copy")
    run_by(database, "postgres", ["create database copy template template0 owner admin"])
    try:
        subprocess.run([postgres.binary("pg_dump"), "-Fc", "-f", dump, "-d", database], check=True)
        listed = subprocess.run(
            [postgres.binary("pg_restore"), "-l", dump], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        contents.write_text("\n".join(line for line in listed if " EXTENSION " not in line))
        pgvector(copy, "public")
        by_default = [
            f"alter default privileges {verb} all on {kind} {whom} app"
            for verb, whom in (("grant", "to"), ("revoke", "from"))
            for kind in ("schemas", "tables", "functions", "types")
        ]
        run_by(copy, "admin", [*by_default[:4], "create table public.mine (id int)"])
        subprocess.run(
            [postgres.binary("pg_restore"), *flags, "-d", make_conninfo(copy, user="admin"), dump],
            check=True,
        )
        for role, verb in (("owner", "init"), ("admin", "status")):
            assert "`ragdb init` gives it back" in says(copy, role, verb).stderr
        given_back = says(copy, "admin", "init", "--no-manual")
        assert given_back.exit_code == 0, given_back.output
        assert "belonged to role admin, which gave it back to ragdb_owner" in given_back.output
        run_by(copy, "admin", by_default[4:])
        with psycopg.connect(copy) as db:
            assert difference(facts(db), before) == ""
            assert db.execute("select text from ragdb.chunks").fetchall() == rows
            others = "select tableowner from pg_tables where tablename = 'mine'"
            assert db.execute(others).fetchall() == [("admin",)]
        works(copy, "admin", tmp_path)
    finally:
        run_by(database, "postgres", ["drop database copy with (force)"])


@pytest.mark.nightly
def test_a_backup_is_verified_on_a_server_that_has_never_heard_of_ragdb(
    database: str, tmp_path: Path
) -> None:
    """As after the loss of the server that it was taken from."""
    assert says(database, "postgres", "init", "--no-manual").exit_code == 0
    dump = tmp_path / "dump"
    subprocess.run([postgres.binary("pg_dump"), "-Fc", "-f", dump, "-d", database], check=True)
    run_by(database, "postgres", ["drop extension vector cascade"])
    run_by(database, "postgres", [f"drop owned by {', '.join(roles.ROLES)} cascade"])
    run_by(database, "postgres", [f"drop role {', '.join(roles.ROLES)}"])
    good = says(database, "postgres", "backup", "verify", str(dump))
    assert good.exit_code == 0, good.output


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        ("bi", "create table bi.sales (id int)"),
        ("ragdb", "create function ragdb.total() returns int return 1"),
    ],
)
def test_a_schema_of_somebody_else_is_never_asked_for(
    database: str, schema: str, made: str
) -> None:
    run_by(database, "postgres", [f"create schema {schema}", made])
    for command in ("init", "doctor"):
        done = says(database, "postgres", command)
        assert done.exit_code == 3, done.output
        assert f"schema {schema} of database mine is somebody else's" in done.output
        assert ("sales" if schema == "bi" else "total") in done.output
        assert "owner to" not in done.output
    # an empty one was made for ragdb
    run_by(database, "postgres", [f"drop schema {schema} cascade", f"create schema {schema}"])
    assert "owner to" in says(database, "postgres", "init").output


def install(dsn: str, user: str, how: str) -> str:
    """What goes wrong when a login installs ragdb."""
    if how == "init":
        as_user = {"RAGDB_DATABASE_URL": make_conninfo(dsn, user=user)}
        made = run_forked("init", "--no-manual", env={**os.environ, **as_user}, timeout=300)
        return made.stderr if made.returncode else ""
    try:
        run_by(dsn, user, ["create extension ragdb cascade"])
    except psycopg.Error as error:
        return str(error)
    return ""


@pytest.mark.parametrize("how", ["init", pytest.param("extension", marks=pytest.mark.nightly)])
def test_what_removes_ragdb_leaves_nothing_of_it(database: str, how: str) -> None:
    pgvector(database, "public")
    left = """
        select (select count(*) from pg_namespace), (select count(*) from pg_class),
          (select count(*) from pg_proc), (select count(*) from pg_roles),
          (select count(*) from pg_default_acl), (select count(*) from pg_db_role_setting)"""
    with psycopg.connect(database) as db:
        before = db.execute(left).fetchall()
    assert install(database, "postgres", how) == ""
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    said = page.partition("## Removing it")[2].partition("```sql\n")[2].partition("```")[0]
    todo = said.strip().splitlines()
    if how == "extension":
        todo.insert(0, "drop extension ragdb cascade")
    run_by(database, "postgres", todo)
    with psycopg.connect(database) as db:
        assert db.execute(left).fetchall() == before


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("user", "how"),
    [
        # a superuser's three on one database: test_init_at_once
        pytest.param("postgres", "init", marks=pytest.mark.nightly),
        ("admin", "init"),
        pytest.param("admin", "extension", marks=pytest.mark.nightly),
    ],
)
def test_two_databases_of_a_server_get_ragdb_at_the_same_moment(
    superuser: str, database: str, user: str, how: str
) -> None:
    names = ("mine", "two")
    run_by(superuser, "postgres", ["create database two template template0"])
    try:
        dsns = [make_conninfo(superuser, dbname=name) for name in names]
        for dsn, name in zip(dsns, names, strict=True):
            pgvector(dsn, "public")
            run_by(dsn, "postgres", [f"grant create on database {name} to admin"])
        with ThreadPoolExecutor() as threads:
            assert list(threads.map(install, dsns, [user] * 2, [how] * 2)) == [""] * 2
        for dsn in dsns:
            with psycopg.connect(dsn) as db:
                assert db.execute("select ragdb.create_corpus('docs')").rowcount == 1
    finally:
        run_by(superuser, "postgres", ["drop database two with (force)"])


def test_psql_alone_loads_vectors_puts_texts_and_finds_them_on_a_standby_too(
    superuser: str, database: str, tmp_path: Path
) -> None:
    prose = (ROOT / "docs/guide.md").read_text().split("\n\n")
    train("bpe", prose, tmp_path / "small")
    load = tmp_path / "load.sql"
    load.write_text("\n".join(static.script("small", str(tmp_path / "small"))))

    def psql(dsn: str, *arguments: str) -> str:
        told = ["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", dsn, *arguments]
        program = postgres.binary("psql")
        return subprocess.run([program, *told], capture_output=True, text=True, check=True).stdout

    psql(database, "-c", "create extension ragdb cascade", "-f", str(load))
    psql(
        database,
        *("-c", "select ragdb.create_corpus('docs')"),
        *("-c", "select from ragdb.put_text('docs', 'a', 'A search reads the documents.')"),
        *("-c", "select from ragdb.put_text('docs', 'b', 'Roles are granted to people.')"),
    )
    asked = "select mode, source from ragdb.search('docs', 'granted a role', 1)"
    assert psql(database, "-c", asked) == "hybrid|b\n"
    folder = Path(str(conninfo_to_dict(superuser)["host"]))
    with running_standby(SimpleNamespace(uri=superuser, folder=folder, version=18)) as uri:
        standby = make_conninfo(uri, dbname="mine")
        catch_up(database, standby)
        assert psql(standby, "-c", "select pg_is_in_recovery()", "-c", asked) == "t\nhybrid|b\n"
