"""ragdb.verify says nothing of what harms nothing, and the same whatever the database is set to."""

from __future__ import annotations

import pytest

from tests.conftest import Connection

NOTHING_FOUND = {
    # what a DBA or another machine may do: (statements, checks)
    "a setting that switches nothing off": (
        "alter role all set session_replication_role = origin;"
        " set local session_replication_role = local",
        "{triggers}",
    ),
    "a right that PostgreSQL gives nobody": (
        "set local allow_system_table_mods = on; grant update, delete on pg_catalog.pg_proc"
        " to reader; set local allow_system_table_mods = off",
        "{rights}",
    ),
    "a machine with other locales, by whose number functions have others": (
        "update pg_proc set oid = oid::bigint + 500 where proname like 'dsnowball%';"
        "update pg_ts_template set tmplinit = tmplinit::oid::bigint + 500,"
        " tmpllexize = tmpllexize::oid::bigint + 500 where tmplname = 'snowball'",
        "{code}",
    ),
}


@pytest.mark.parametrize("what", NOTHING_FOUND)
def test_what_harms_nothing_is_not_found(any_db: Connection, what: str) -> None:
    statements, checks = NOTHING_FOUND[what]
    said = "select * from ragdb.verify(true, %s) v where v.severity in ('error', 'warning')"
    assert any_db.execute(said, (checks,)).fetchall() == []
    any_db.execute(statements.encode())
    assert any_db.execute(said, (checks,)).fetchall() == []


def test_the_columns_of_vectors_stay_what_they_are_where_pgvector_is_moved(
    any_db: Connection,
) -> None:
    any_db.execute("create schema moved; alter extension vector set schema moved")
    said = "select v.place from ragdb.verify(true, '{code}') v where v.place ~ '^(column|index) '"
    assert any_db.execute(said).fetchall() == []


def test_a_function_that_belongs_to_another_is_found_however_names_are_written(
    any_db: Connection,
) -> None:
    any_db.execute("alter function ragdb.verification_checks() owner to admin")
    any_db.execute("set local quote_all_identifiers = on")
    said = "select v.severity from ragdb.verify(true, '{rights}') v where v.place ~ 'function'"
    assert any_db.execute(said).fetchall() == [("error",)]
