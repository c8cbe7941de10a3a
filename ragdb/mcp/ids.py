"""Ids of passages: as `search` gives them, with their corpus before them, or as a corpus has them.

`fetch` takes the former alone, because it is told no corpus. All others take both, so that a model
can hand on what any tool gave it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ragdb.mcp.served import Json, Served

KEYS = frozenset(("chunk_id", "chunk_ids", "anchor", "parent", "child"))


def own(served: Served, arguments: Json) -> Json:
    """Arguments in which each passage has the id that its corpus gives it."""
    given = {one for one in _ids(arguments) if "/" in one}
    if not given:
        return arguments
    corpus = arguments.get("corpus")
    with served.database() as db:
        if corpus is None and "trace_id" in arguments:
            corpus = served.trace(db, arguments["trace_id"]).corpus
        given = {one for one in given if one.startswith(f"{corpus}/")}
        if corpus is None or not given:
            return arguments
        # a passage may be called so
        there = {row.chunk_id for row in db.list_chunks(corpus, None, sorted(given), "", 10000)}
    names = {one: one.removeprefix(f"{corpus}/") for one in given - there}
    renamed: Json = _renamed(arguments, names)
    return renamed


def _ids(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, str):
        if key in KEYS:
            yield value
    elif isinstance(value, list):
        for one in value:
            yield from _ids(one, key)
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from _ids(one, name)


def _renamed(value: Any, names: Mapping[str, str], key: str = "") -> Any:
    if isinstance(value, str):
        return names.get(value, value) if key in KEYS else value
    if isinstance(value, list):
        return [_renamed(one, names, key) for one in value]
    if isinstance(value, dict):
        return {name: _renamed(one, names, name) for name, one in value.items()}
    return value
