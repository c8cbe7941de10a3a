"""The package has rooms on floors: ragdb/ROOMS says which is above which, and imports obey it."""

from __future__ import annotations

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "ragdb"
MOST_LINES = 300
ROOMS = [
    line.split()[0]
    for line in (PACKAGE / "ROOMS").read_text().splitlines()
    if line and not line.startswith("#")
]
GENERATED = ("ragdb.client._generated.", "ragdb.errors", "ragdb.tables", "ragdb.bi")


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def nodes(name: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(modules()[name].read_text())))


@cache
def imports(name: str) -> set[str]:
    """Modules of the package that a module imports, in functions too; not those for types alone."""
    of_types: set[int] = set()
    found: set[str] = set()
    for node in nodes(name):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            of_types.update(id(part) for part in ast.walk(node))
    for node in nodes(name):
        if id(node) in of_types:
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in modules() else node.module or "")
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return (found & modules().keys()) - {name}


def room(name: str) -> str:
    """The room of a module: a folder of the package, or a module at its top."""
    return name.split(".")[1]


def test_a_module_imports_only_from_rooms_below_its_own() -> None:
    above = {
        (name, other)
        for name in modules().keys() - {"ragdb"}
        for other in imports(name)
        if other == "ragdb" or ROOMS.index(room(other)) > ROOMS.index(room(name))
    }
    assert above == set()


def test_no_module_imports_itself_by_way_of_others() -> None:
    # raises CycleError, which names the circle
    TopologicalSorter({name: imports(name) for name in modules()}).prepare()


def test_every_room_is_on_the_list_and_the_list_has_no_other() -> None:
    assert {room(name) for name in modules() if name != "ragdb"} == set(ROOMS)
    assert len(ROOMS) == len(set(ROOMS))


def test_the_first_module_of_a_room_imports_nothing() -> None:
    # it runs whenever any module of the room is imported
    first = [n for n, p in modules().items() if p.name == "__init__.py" and n != "ragdb"]
    assert len(first) > 10
    assert [name for name in first if imports(name)] == []


def test_a_module_written_by_hand_has_300_lines_at_most() -> None:
    counts = {
        name: len(path.read_text().splitlines())
        for name, path in modules().items()
        if not name.startswith(GENERATED)
    }
    assert {name: count for name, count in counts.items() if count > MOST_LINES} == {}


# before there is a schema nothing but SQL can be said; PostgreSQL's own words are not functions
WITH_SQL = ("ragdb.server.", "ragdb.client.calling")
SQL = re.compile(
    r"\s*(select\s|insert into\s|update \w+ set\s|delete from\s|with \w+ (\(|as)|call ragdb|"
    r"create (table|role|function|schema|database|extension)\s|drop (table|role|function|schema)\s|"
    r"alter (table|role|schema|extension|system)\s|truncate\s)"
)
# a role, a limit or a level of the transaction, and who asks, in the words of PostgreSQL
OWN_WORDS = {
    "ragdb.client.connecting": ("select pg_backend_pid()", "select set_config("),
    "ragdb.http.transactions": ("with asker as materialized",),
    "ragdb.cli.server": ("select extversion from pg_extension where extname = 'vector'",),
}


def test_no_sql_stands_outside_the_generated_client_and_what_makes_the_schema() -> None:
    found = []
    for name in modules():
        if name.startswith((*GENERATED, *WITH_SQL)):
            continue
        for node in nodes(name):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                words = " ".join(node.value.split())
                if SQL.match(words) and not words.startswith(OWN_WORDS.get(name, ())):
                    found.append(f"{name}:{node.lineno}: {words[:60]}")
    assert found == []
