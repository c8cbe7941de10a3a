"""A search as a program would ask it: what it passes in SQL, over HTTP and in Python."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Recipe:
    """The arguments of one search through three doors."""

    sql: str
    url: str
    body: str
    python: str


def recipe(home: str, corpus: str, query: str, k: int, asked: dict[str, Any]) -> Recipe:
    """The same search through each door; what was asked for is named, what is null left out."""
    given = {name: value for name, value in asked.items() if value is not None}
    first = (corpus, query, k)
    body = {"query": query, "corpora": [corpus], "k": k, **given}
    return Recipe(
        ", ".join(
            [*map(_literal, first), *(f"{name} => {_literal(v)}" for name, v in given.items())]
        ),
        f"{home}api/search",
        shlex.quote(json.dumps(body, ensure_ascii=False)),
        ", ".join([*map(repr, first), *(f"{name}={value!r}" for name, value in given.items())]),
    )


def _literal(value: Any) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
