"""Rows as mappings, and JSON as the database has it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import timedelta
from typing import Any, NoReturn


def record(row: Any) -> dict[str, Any]:
    """A row as a mapping: a dataclass, or a mapping already."""
    if is_dataclass(row):
        return {field.name: getattr(row, field.name) for field in fields(row)}
    return dict(row)


def plain(value: Any) -> Any:
    """What JSON has no type for: rows as objects, bytes in hex, times and durations in ISO 8601,
    else a text."""
    if is_dataclass(value) and not isinstance(value, type):
        return record(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, timedelta):
        return duration(value)
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


def duration(value: timedelta) -> str:
    """A duration in ISO 8601.

    >>> [duration(timedelta(days=n, minutes=90 * n)) for n in (1, 0, -1)]
    ['P1DT1H30M', 'PT0S', '-P1DT1H30M']
    """
    left = abs(value)
    minutes, seconds = divmod(left.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(left.days, "D"), (hours, "H"), (minutes, "M")]
    days, *clock = [f"{number}{unit}" if number else "" for number, unit in parts]
    if seconds or left.microseconds or not left:
        clock.append(f"{seconds}.{left.microseconds:06}".rstrip("0").rstrip(".") + "S")
    return ("-P" if value < left else "P") + days + ("T" if any(clock) else "") + "".join(clock)


def dumps(value: Any, *, indent: int | None = None) -> str:
    """JSON of rows and what is in them (see `plain`); no control character is raw."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=plain)
    text = text.encode("utf-8", "replace").decode()
    return re.sub("[\x7f-\x9f]", lambda c: f"\\u{ord(c[0]):04x}", text)


def loads(text: str | bytes, *, once: bool = True) -> Any:
    """JSON read as jsonb reads it: no NaN, no Infinity. Raises ValueError.

    `once` refuses what others read otherwise: of a key that stands twice jsonb keeps the last.
    Raises NotHeld.
    """
    try:
        pairs = _once if once else None
        return json.loads(text, parse_constant=_refuse, object_pairs_hook=pairs)
    except RecursionError:
        raise TooDeep("it nests too deep") from None


class TooDeep(ValueError):
    """JSON that Python does not read."""


class NotHeld(ValueError):
    """JSON that the database cannot hold; the message says what of it."""


def held(value: Any) -> str:
    """A value as JSON that jsonb can hold. Raises NotHeld and what json.dumps raises."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotHeld("half of a surrogate pair") from None
    if "\\u0000" in text.replace("\\\\", ""):
        raise NotHeld("a NUL")
    return text


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON: give a number or null")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotHeld(f'the key "{twice[:80]}" stands twice in one object: give it once')
    return found
