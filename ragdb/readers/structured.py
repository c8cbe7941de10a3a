"""JSON, a line for each value with the way to it, and YAML, as it is written.

JSON that is chats is conversations.

The text of JSON is made for reading: files are often one long line. YAML is text already, and its
comments matter; the keys above a place are its heading path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from ragdb.client.rows import loads
from ragdb.readers import exports
from ragdb.readers.building import Builder
from ragdb.readers.document import Content, ReadError, one_line

_MAX_DEPTH = 64
_KEYS = 3  # of YAML that become headings
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_json(text: str) -> Content:
    """Raises ReadError `malformed` for what is not JSON or nests deeper than 64."""
    try:
        value = loads(text, once=False)
    except ValueError as error:
        raise ReadError(
            "malformed", f"it is not JSON ({str(error)[:80]})", "correct it, or name it .jsonl"
        ) from None
    if conversations := exports.found(value):
        return Content(text="", conversations=tuple(conversations))
    built = Builder()
    if isinstance(value, Mapping):
        title = next((value[k] for k in ("title", "name") if isinstance(value.get(k), str)), None)
        flat = {key: one for key, one in value.items() if not isinstance(one, Mapping | list)}
        built.block("\n".join(lines(flat)))
        for key, one in value.items():
            if isinstance(one, Mapping | list) and one:
                built.heading(1, str(key))
                _blocks(built, one, str(key))
    else:
        title = None
        _blocks(built, value if isinstance(value, list) else [value], "")
    return built.content(title=one_line(title))


def lines(value: Any, way: str = "", depth: int = 0) -> Iterator[str]:
    """A line for each value: the way to it and what it is; a list of simple values is one line.

    >>> list(lines({"a": {"b": 1}, "c": ["x", "y"], "d": [{"e": True}]}))
    ['a.b: 1', 'c: x, y', 'd[0].e: true']
    """
    if depth > _MAX_DEPTH:
        raise ReadError("malformed", f"it nests deeper than {_MAX_DEPTH}", "flatten it")
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from lines(one, f"{way}.{key}" if way else str(key), depth + 1)
    elif isinstance(value, list):
        if any(isinstance(one, Mapping | list) for one in value):
            for n, one in enumerate(value):
                yield from lines(one, f"{way}[{n}]", depth + 1)
        elif value:
            yield _said(way, ", ".join(map(_plain, value)))
    elif value is not None:
        yield _said(way, _plain(value))


def read_yaml(text: str) -> Content:
    """What is not YAML, as a template of it, is text without headings."""
    headings: list[tuple[int, tuple[str, ...]]] = []
    try:
        for node in yaml.compose_all(text, _Loader):
            headings += _keys(node, ())
    except (yaml.YAMLError, ValueError):
        headings = []
    return Content(text=text, headings=tuple(sorted(dict(headings).items())))


def _blocks(built: Builder, value: Any, way: str) -> None:
    """A block for each entry of a list or an object; in a list of rows the way is left out."""
    if isinstance(value, list):
        if any(isinstance(one, Mapping | list) for one in value):
            for one in value:
                built.block("\n".join(lines(one)))
            return
        built.block("\n".join(lines(value, way)))
        return
    if isinstance(value, Mapping):
        for key, one in value.items():
            built.block("\n".join(lines(one, f"{way}.{key}" if way else str(key))))
        return
    built.block("\n".join(lines(value, way)))


def _keys(node: yaml.Node | None, above: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode) and isinstance(
            value, yaml.MappingNode | yaml.SequenceNode
        ):
            path = (*above, " ".join(str(key.value).split())[:200])
            yield key.start_mark.index, path
            if len(path) < _KEYS:
                yield from _keys(value, path)


def _said(way: str, value: str) -> str:
    value = value.strip()
    return f"{way}: {value}" if way else value


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
