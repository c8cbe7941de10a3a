"""Builds the schema: migrations once each, then every file of sql/ again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

ROOT = Path(__file__).resolve().parent.parent
ROLES = ("ragdb_owner", "ragdb_reader", "ragdb_writer", "ragdb_admin")


def run_script(file: str) -> None:
    """Run the .sql file beside a revision."""
    from alembic import op

    connection: Any = op.get_bind().connection.driver_connection
    connection.execute(Path(file).with_suffix(".sql").read_text())


def install(connection: psycopg.Connection[Any]) -> None:
    """Bootstrap for development: everything, in an empty database, as a superuser."""
    execute = connection.execute
    for role in ROLES:
        execute(
            f"do $$ begin create role {role} nologin; exception when duplicate_object then end $$"
        )
    execute("grant ragdb_reader to ragdb_writer; grant ragdb_writer to ragdb_admin")
    execute("create extension if not exists vector schema public")
    execute("create schema ragdb authorization ragdb_owner")
    execute("set role ragdb_owner; set search_path = pg_catalog, public")
    for file in sorted((ROOT / "migrations/versions").glob("*.sql")):
        execute(file.read_text())
    for file in sorted((ROOT / "sql").glob("*.sql")):
        execute(file.read_text())
    execute("reset role; reset search_path")
    connection.commit()
