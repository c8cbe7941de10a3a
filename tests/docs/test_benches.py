"""The benches fit the database: they run seldom, and what they measure changes often."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pglast
import psycopg
import pytest
from psycopg.pq import DiagnosticField

import bench.bi.run
import bench.ledger.run
import bench.slices.run
import bench.vectors.run
import bench.verify.run
from tests.conftest import Connection

BENCH = Path(__file__).parents[2] / "bench"
MODULES = {
    f"bench.{file.parent.name}.{file.stem}": file for file in sorted(BENCH.glob("[a-z]*/*.py"))
}
STATES = (DiagnosticField.SQLSTATE, DiagnosticField.MESSAGE_PRIMARY)


def statements(module: str) -> Iterator[tuple[int, str]]:
    """The statements that stand whole in a module, as the server takes them, and their lines.

    What is put together while the bench runs is not among them.
    """
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if not re.match(r"\s*(select|insert|update|delete|with)\s", node.value):
            continue
        try:
            parts = pglast.split(numbered(node.value))
        except pglast.parser.ParseError:
            continue
        for part in parts:
            yield node.lineno, part


def numbered(statement: str) -> str:
    """A statement of psycopg with numbers for its parameters."""
    names: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        name = found[1] or f"at {found.start()}"
        return f"${names.setdefault(name, len(names) + 1)}"

    return re.sub(r"%s|%\((\w+)\)s", number, statement).replace("%%", "%")


def refusal(db: Connection, statement: str) -> str | None:
    """Why the server would not plan a statement, unless for a table that the bench makes."""
    made = db.pgconn.prepare(b"", statement.encode())
    state, message = ((made.error_field(field) or b"").decode() for field in STATES)
    own = state == "42P01" and not re.search(r'"(ragdb|ragdb_internal|bi)\.', message)
    return f"{state} {message}" if state and not own else None


def test_every_statement_of_a_bench_fits_the_tables_and_functions(clone: str) -> None:
    found, wrong = 0, []
    with psycopg.connect(clone, autocommit=True) as db:
        # with it the table of its vectors is made
        db.execute("select ragdb.create_embedder('made', %s)", (bench.vectors.run.DIMS,))
        db.execute("select ragdb.create_corpus('bench')")
        db.execute("select ragdb.embed_corpus('bench', 'made')")
        for module in MODULES:
            for line, statement in statements(module):
                found += 1
                why = refusal(db, statement)
                if why:
                    wrong.append(f"{module}, line {line}: {why}")
    assert "\n".join(wrong) == ""
    assert found > 150


def traces(db: Connection) -> None:
    db.execute("set role ragdb_owner")
    bench.bi.run.fill(db, 90, 2)


def signed(db: Connection) -> None:
    bench.verify.run.make(db, 20, 20, 2)


def sealed(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('bench')")
    db.execute("select from ragdb.put_text('bench', 'a.md', 'refunds')")
    db.execute(bench.ledger.run.RETRIEVE, ("refunds",))
    db.execute(bench.ledger.run.COPIES, {"count": 20})
    db.execute(bench.ledger.run.MADE, (1, 20))


def embedded(db: Connection) -> None:
    bench.vectors.run.load(db, np.eye(20, bench.vectors.run.DIMS, dtype=np.float32))


def slices(db: Connection) -> None:
    db.execute("select ragdb.create_signing_key('bench')")
    bench.slices.run.graph(db, 1, 60, "1 + (i - 2) / 4")
    bench.slices.run.surroundings(db, "graph-1", 5, 40)


@pytest.mark.parametrize("fill", [traces, signed, sealed, embedded, slices])
def test_rows_that_a_bench_writes_by_itself_fulfil_the_constraints(
    clone: str, fill: Callable[[Connection], None]
) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        fill(db)
