"""docs/limits.md names the functions that hold the numbers which it tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragdb.server.scripts import order
from tests.conftest import Connection
from tools import lint_sql

PAGE = Path(__file__).parents[2] / "docs/limits.md"


def rows() -> Iterator[tuple[str, str]]:
    """What a row says before it names the functions, and each of these."""
    for head, body in re.findall(
        r"^\|(.*\| held in \|.*)\n\|-.*\n((?:\|.*\n)+)", PAGE.read_text(), re.M
    ):
        place = [cell.strip() for cell in head.split("|")].index("held in")
        for line in body.splitlines():
            cells = line.removeprefix("|").split("|")
            # PostgreSQL holds some itself, and those are not in ticks
            yield from (
                (" ".join(cells[:place]), name) for name in re.findall(r"`(\w+)`", cells[place])
            )


@pytest.fixture(scope="module")
def functions() -> dict[str, str]:
    files = (lint_sql.SQL / file for file in order(lint_sql.SQL))
    made = (s for file in files for s in lint_sql.statements(file.name, file.read_text("utf-8")))
    return {s.defines[1]: s.body for s in made if s.kind == "function" and s.defines}


@pytest.mark.parametrize(("said", "name"), list(rows()))
def test_a_function_holds_the_number_that_it_is_said_to_hold(
    db: Connection, functions: dict[str, str], said: str, name: str
) -> None:
    numbers = {n.replace(",", "") for n in re.findall(r"\b\d+(?:[,.]\d+)*", said)}
    limits = db.execute("select to_jsonb(ragdb_internal.limits())").fetchall()[0][0]
    held = {str(limits.get(word, word)) for word in re.findall(r"\d[\d.]*|\w+", functions[name])}
    assert numbers & held, f"{name} holds none of {sorted(numbers)}"
