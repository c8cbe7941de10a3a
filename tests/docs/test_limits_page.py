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


def rows() -> Iterator[tuple[str, list[str]]]:
    """What a row says before it names the functions, and these."""
    for head, body in re.findall(
        r"^\|(.*\| held in \|.*)\n\|-.*\n((?:\|.*\n)+)", PAGE.read_text(), re.M
    ):
        place = [cell.strip() for cell in head.split("|")].index("held in")
        for line in body.splitlines():
            cells = line.removeprefix("|").split("|")
            # PostgreSQL holds some itself, and those are not in ticks
            if names := re.findall(r"`(\w+)`", cells[place]):
                yield " ".join(cells[:place]), names


@pytest.fixture(scope="module")
def functions() -> dict[str, str]:
    """The bodies in the files that define what the page names: to parse all takes long."""
    named = "|".join(name for _, names in rows() for name in names)
    found: dict[str, str] = {}
    for file in order(lint_sql.SQL):
        text = (lint_sql.SQL / file).read_text("utf-8")
        if re.search(rf"function \w+\.({named})\(", text):
            made = lint_sql.statements(file, text)
            found |= {s.defines[1]: s.body for s in made if s.kind == "function" and s.defines}
    return found


@pytest.mark.parametrize(("said", "names"), list(rows()))
def test_the_functions_of_a_row_hold_each_number_that_it_says(
    db: Connection, functions: dict[str, str], said: str, names: list[str]
) -> None:
    limits = db.execute("select to_jsonb(ragdb_internal.limits())").fetchall()[0][0]
    words = [w for name in names for w in re.findall(r"\d[\d.]*|\w+", functions[name])]
    held = {str(limits.get(word, word)) for word in words}
    for number, percent in re.findall(r"\b(\d+(?:[,.]\d+)*)( %)?", said):
        plain = number.replace(",", "")
        assert (f"{int(plain) / 100:g}" if percent else plain) in held, (number, names)
