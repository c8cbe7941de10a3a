"""A database with many recorded queries, and the dashboards' panels as Grafana sends them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

import ragdb
from ragdb.cli import traffic
from tests.conftest import Connection, Server

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "examples/tool-library"


@dataclass(frozen=True)
class Sent:
    """A query that Grafana sends for a panel or a variable."""

    name: str
    kind: str
    sql: str
    format: str = "table"


def expanded(sql: str, days: int = 1) -> str:
    """The query with Grafana's macros in place, for the last so many days."""
    now = datetime.now(UTC) + timedelta(minutes=1)
    for macro, value in {
        "$__timeFrom()": f"'{now - timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}'",
        "$__timeTo()": f"'{now:%Y-%m-%dT%H:%M:%SZ}'",
        "${corpus:sqlstring}": "'demo','system'",
        "${grain:sqlstring}": "'day'" if days > 7 else "'hour'",
    }.items():
        sql = sql.replace(macro, value)
    assert "$" not in re.sub(r"'[^']*'", "", sql), "an unknown macro is left"
    return sql


def sent() -> list[Sent]:
    """All that the dashboards ask."""
    found = []
    for path in sorted((ROOT / "dashboards/grafana").glob("*.json")):
        dashboard = json.loads(path.read_text())
        for variable in dashboard["templating"]["list"]:
            if variable["type"] == "query":
                found.append(
                    Sent(f"{path.stem} ${variable['name']}", "variable", variable["query"])
                )
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                name = f"{path.stem} {panel['title']}"
                found.append(Sent(name, panel["type"], target["rawSql"], target["format"]))
    return found


def database(server: Server, queries: int) -> Iterator[str]:
    with server.database() as janitor:
        dsn = server.dsn(janitor.dbname)
        with ragdb.connect(dsn) as db:
            db.ingest([SAMPLES / "handbook", SAMPLES / "desk"], corpus="demo")
            db.create_signing_key()
            came = traffic.run(db, dsn, "demo", queries)
            # a document that no worker has read yet
            db.rag_ingest({"params": {"corpus": "demo"}, "input": {
                "doc_cid": db.put_blob(b"# Kites", "text/markdown")}})  # fmt: skip
        every = {traffic.FOUND, traffic.NOTHING, traffic.REFUSED, traffic.SLICE, traffic.SHORT}
        assert every <= set(came)
        yield dsn


@pytest.fixture(scope="session")
def busy(server18: Server) -> Iterator[str]:
    """DSN of the superuser on a database with traces of every kind. Do not commit to it."""
    yield from database(server18, 150)


@pytest.fixture(scope="session")
def busy16(server16: Server) -> Iterator[str]:
    """The same on PostgreSQL 16, with as many as each panel needs to have rows."""
    yield from database(server16, 60)


@pytest.fixture
def owner(busy: str) -> Iterator[Connection]:
    """The superuser there, rolled back after."""
    with psycopg.connect(busy) as connection:
        yield connection
        connection.rollback()


@pytest.fixture
def reader(busy: str) -> Iterator[psycopg.Connection[Any]]:
    """bi_reader there."""
    with psycopg.connect(busy, user="bi_reader") as connection:
        yield connection
