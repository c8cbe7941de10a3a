"""`ragdb migrate`, `alembic upgrade head` and `create extension ragdb` build the same schema."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest

import ragdb
from ragdb import extension
from ragdb.server import migrate, postgres, prepare
from tests.conftest import OLDER_BY_NIGHT, Server
from tests.schema.conftest import Ways
from tests.schema.facts import difference, facts


def facts_of(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as connection:
        return facts(connection)


@pytest.fixture(scope="module")
def migrated(any_version: Server, ways: Ways) -> list[str]:
    """What `ragdb migrate` builds."""
    return facts_of(any_version.dsn(ways.made(any_version, "migrate")))


@pytest.mark.parametrize(
    ("any_version", "way"),
    [
        ("server18", "alembic"),
        ("server18", "extension"),
        ("server16", "extension"),
        pytest.param("server16", "alembic", marks=pytest.mark.nightly),
    ],
    indirect=["any_version"],
)
def test_every_way_builds_what_migrate_builds(make: Any, migrated: list[str], way: str) -> None:
    assert len(migrated) > 200
    assert difference(migrated, facts_of(make(way))) == ""


def test_a_fact_that_differs_is_seen(clone: str) -> None:
    changes = {
        "alter table ragdb.chunks alter page set default 1": "column ragdb.chunks.page",
        "comment on function ragdb.error_codes() is 'Changed.'": "function ragdb.error_codes()",
        "grant execute on function ragdb_internal.caller() to public":
            "function ragdb_internal.caller()",
        "alter table ragdb.edges drop constraint edges_join_two_chunks":
            "constraint ragdb.edges.edges_join_two_chunks",
        "drop index ragdb.edges_by_child": "index ragdb.edges_by_child",
    }  # fmt: skip
    before = facts_of(clone)
    with psycopg.connect(clone) as connection:
        for change in changes:
            connection.execute(change)
        changed = set(before).symmetric_difference(facts(connection))
    assert {fact.split(": ")[0] for fact in changed} == set(changes.values())


@OLDER_BY_NIGHT
def test_the_schema_is_born_empty(make: Any) -> None:
    """Rows that the extension's script wrote would be there twice after a restore."""
    with psycopg.connect(make("extension")) as connection:
        tables = connection.execute(
            "select oid::regclass::text from pg_class where relnamespace = 'ragdb'::regnamespace"
            " and relkind in ('r', 'p') and relname <> 'installed_code'"  # is not dumped
        ).fetchall()
        assert len(tables) > 10
        for (table,) in tables:
            assert connection.execute(f"select * from {table}").fetchall() == [], table


@pytest.mark.by_day(1)
def test_migrate_updates_the_extension_where_that_owns_the_schema(make: Any) -> None:
    dsn = make("extension")
    before = facts_of(dsn)
    assert not migrate.migrate(dsn, force=True)  # no newer version is installed
    assert facts_of(dsn) == before
    with psycopg.connect(dsn) as connection:
        assert connection.execute("select to_regclass('ragdb.alembic_version')").fetchone() == (
            None,
        )


@pytest.mark.by_day(1)
def test_an_extension_of_another_build_is_not_called_current(make: Any) -> None:
    dsn = make("extension")
    mine = ragdb.__version__
    for made_by, said in {
        mine: f"extension ragdb {mine} is of another build",
        "99.0": "99.0",
    }.items():
        with psycopg.connect(dsn) as connection:
            connection.execute(f"comment on schema ragdb is 'ragdb {made_by}, source 0'")
        with pytest.raises(prepare.NotReady, match=said):
            migrate.migrate(dsn)


@pytest.mark.by_day(1)
def test_an_extension_whose_files_the_server_has_lost_stays_as_it_is(
    server18: Server, ways: Ways, make: Any
) -> None:
    dsn = make("extension")
    control = ways.offered(server18) / "ragdb.control"
    kept = control.rename(control.with_suffix(".kept"))
    try:
        assert not migrate.migrate(dsn)
    finally:
        kept.rename(control)


@OLDER_BY_NIGHT
def test_the_extension_is_refused_where_migrate_built_it(
    make: Any, migrated: list[str], ways: Ways, any_version: Server
) -> None:
    ways.offer_extension(any_version)
    dsn = make("migrate")
    with (
        psycopg.connect(dsn) as connection,
        pytest.raises(psycopg.errors.DuplicateSchema, match="has ragdb already") as refused,
    ):
        connection.execute("create extension ragdb")
    assert "`ragdb init`" in (refused.value.diag.message_hint or "")
    assert difference(migrated, facts_of(dsn)) == ""


@OLDER_BY_NIGHT
def test_migrate_builds_it_where_the_extension_was_dropped(make: Any, migrated: list[str]) -> None:
    dsn = make("extension")
    with psycopg.connect(dsn) as connection:
        connection.execute("drop extension ragdb")
    assert migrate.migrate(dsn)
    assert difference(migrated, facts_of(dsn)) == ""


@pytest.mark.nightly
@OLDER_BY_NIGHT
def test_migrate_builds_it_where_backslashes_are_escapes_too(
    make: Any, migrated: list[str]
) -> None:
    dsn = make("empty")
    migrate.migrate(
        psycopg.conninfo.make_conninfo(dsn, options="-c standard_conforming_strings=off")
    )
    assert difference(migrated, facts_of(dsn)) == ""


@OLDER_BY_NIGHT
def test_migrate_brings_the_extension_to_a_newer_version_once_by_who_owns_it(
    any_version: Server, ways: Ways, make: Any
) -> None:
    dsn = make("extension")
    control = ways.offered(any_version) / "ragdb.control"
    now = control.read_text()
    script = control.with_name(f"ragdb--{ragdb.__version__}--99.0.sql")
    script.write_text("create table ragdb.newer ();")
    script.chmod(0o644)
    try:
        control.write_text(now.replace(ragdb.__version__, "99.0"))
        with pytest.raises(prepare.NotReady, match="belongs to another role") as refused:
            migrate.migrate(psycopg.conninfo.make_conninfo(dsn, user="stranger"))
        assert refused.value.statements == ["alter extension ragdb update;"]
        assert [migrate.migrate(dsn) for _ in range(2)] == [True, False]
        with psycopg.connect(dsn) as connection:
            assert connection.execute("select from ragdb.newer").fetchall() == []
    finally:
        control.write_text(now)
        script.unlink()


@OLDER_BY_NIGHT
def test_a_plain_login_that_may_be_the_owner_installs_it_where_backslashes_are_escapes_too(
    any_version: Server, ways: Ways, make: Any, migrated: list[str]
) -> None:
    ways.offer_extension(any_version)
    dsn = make("empty")
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("create extension vector")
        connection.execute(f'grant create on database "{connection.info.dbname}" to owner')
    options = "-c standard_conforming_strings=off"
    with psycopg.connect(dsn, user="owner", options=options) as connection:
        connection.execute("create extension ragdb")
        # what comes after it in its transaction is done by who began that
        assert connection.execute("select current_user").fetchone() == ("owner",)
    with psycopg.connect(dsn) as connection:
        owners = connection.execute(
            "select distinct proowner::regrole::text from pg_proc"
            " where pronamespace = 'ragdb'::regnamespace"
        ).fetchall()
    assert owners == [("ragdb_owner",)]
    assert difference(migrated, facts_of(dsn)) == ""


def test_what_tests_offer_is_not_put_beside_programs_that_others_run(
    server16: Server, ways: Ways
) -> None:
    ways.offer_extension(server16)
    others = postgres.binary("postgres", 16).parents[1] / "share/postgresql/extension"
    assert (others / "vector.control").exists()
    assert list(others.glob("ragdb*")) == []


def test_the_control_file_names_this_version() -> None:
    control = extension.path().with_name("ragdb.control").read_text()
    assert re.search(r"^default_version = '(.*)'$", control, re.M).group(1) == ragdb.__version__  # type: ignore[union-attr]
    assert "superuser = false" in control
