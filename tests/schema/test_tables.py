"""ragdb.tables and ragdb.bi say what the database says."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection as SQLAlchemyConnection
from sqlalchemy import Table, create_engine, select
from sqlalchemy.dialects.postgresql import base
from sqlalchemy.pool import NullPool

from ragdb import bi, tables
from ragdb.server import code
from tests.conftest import Server
from tools import generate_tables
from tools.catalogue import ROOT

base.ischema_names["xid8"] = tables.XID8  # SQLAlchemy does not know it


def difference(connection: SQLAlchemyConnection) -> list[Any]:
    """What Alembic would change in the database but indexes and comments, which no query needs."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    partitions = {
        name
        for (name,) in connection.exec_driver_sql(
            "select relname from pg_class where relispartition"
        )
    }

    def ours(name: str | None, kind: str, parents: Any) -> bool:
        if kind == "schema":
            return name == "ragdb"
        return kind != "index" and not (
            kind == "table" and (name == "alembic_version" or name in partitions)
        )

    context = MigrationContext.configure(
        connection,
        opts={
            "include_schemas": True,
            "include_name": ours,
            "compare_type": True,
            "target_metadata": tables.metadata,
        },
    )
    found: list[Any] = []
    for change in compare_metadata(context, tables.metadata):
        found += change if isinstance(change, list) else [change]
    return [change for change in found if "comment" not in change[0]]


def connect(dsn: str) -> Any:
    return create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(dsn), poolclass=NullPool
    ).connect()


def test_the_tables_are_the_databases(any_version: Server) -> None:
    with connect(any_version.shared) as connection:
        assert difference(connection) == []


@pytest.mark.by_day(2)
@pytest.mark.parametrize(
    "change",
    [
        "create table ragdb.more (x int)",
        "alter table ragdb.chunks add more int",
        "alter table ragdb.chunks drop page",
        "alter table ragdb.chunks alter page type bigint",
        "alter table ragdb.chunks alter page set not null",
        "alter table ragdb.chunks drop constraint chunks_id_is_unique_per_corpus",
        "alter table ragdb.chunks drop constraint chunks_document_exists",
    ],
)
def test_a_difference_is_seen(server18: Server, change: str) -> None:
    with connect(server18.shared) as connection:
        # bound bodies hold columns fast
        code.drop_code(connection.connection.driver_connection, takes_others=True)
        connection.exec_driver_sql(change)
        assert difference(connection) != []


def test_every_table_can_be_selected(server18: Server) -> None:
    with connect(server18.shared) as connection:
        for table in tables.metadata.tables.values():
            assert isinstance(table, Table)
            connection.execute(select(table).limit(1)).all()


def test_the_views_are_the_databases(db: psycopg.Connection[Any]) -> None:
    assert (ROOT / "ragdb/bi.py").read_text() == generate_tables.views(db), "make tables"


def test_every_view_can_be_selected_by_bi_reader(server18: Server) -> None:
    with connect(server18.shared) as connection:
        connection.exec_driver_sql("set role bi_reader")
        assert len(bi.metadata.tables) > 15
        for view in bi.metadata.tables.values():
            connection.execute(select(view).limit(1)).all()
