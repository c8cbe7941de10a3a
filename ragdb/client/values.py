"""The value of an argument as psycopg takes it for the type of SQL that the argument has."""

from __future__ import annotations

import json
from datetime import date, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ragdb.errors import InvalidArgument

BYTES = (bytes, bytearray, memoryview)
MOST = {"smallint": 2**15 - 1, "integer": 2**31 - 1, "bigint": 2**63 - 1}


def _plain(value: Any) -> str:
    """A value that JSON has no type for, as ragdb reads it there."""
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    name = type(value).__name__
    raise TypeError(f"JSON has no {name}: give a list, a dict, a text, a number or a time")


def _dumps(value: Any) -> str:
    return json.dumps(value, default=_plain)


def sent(value: Any, kind: str, name: str, function: str) -> Any:
    """A dict or list for a jsonb argument is wrapped, and bytea[] written as text.

    Raises TypeError for bytes or a list where a text is wanted, for a text where a list is and for
    True where a number is, and InvalidArgument for a number that is no such. psycopg raises it for
    what JSON has no type for.
    """
    if kind == "jsonb":
        return value if value is None or isinstance(value, Jsonb) else Jsonb(value, _dumps)
    parts = value if isinstance(value, list | tuple) else (value,)
    if kind in ("text", "text[]") and any(isinstance(part, BYTES) for part in parts):
        # PostgreSQL would take them for a text of their hexadecimal digits
        raise TypeError(f"{function}() was given bytes for {name!r}: decode them")
    if kind == "text" and isinstance(value, list | tuple):  # it would take them for one text
        what = type(value).__name__
        raise TypeError(f"{function}() was given a {what} for {name!r}: give one text")
    if kind.endswith("[]"):
        if isinstance(value, (str, *BYTES)):  # PostgreSQL would read a list in "{a,b}"
            raise TypeError(f"{function}() was given {value[:80]!r} for {name!r}: give a list")
        if kind == "bytea[]" and value is not None:
            # psycopg doubles their backslashes without standard_conforming_strings
            return [part if part is None else rf"\x{part.hex()}" for part in value]
        return list(value) if isinstance(value, tuple) else value  # psycopg makes a row of a tuple
    if kind in MOST and isinstance(value, bool):  # PostgreSQL would take it for 1 or 0
        raise TypeError(f"{function}() was given {value} for {name!r}: give a number")
    if kind in MOST and isinstance(value, int | float | Decimal):
        most = MOST[kind]  # PostgreSQL says neither which value that is nor what it takes
        if value == value and not -most - 1 <= value <= most:
            shown = value if -(2**100) < value < 2**100 else "too large"
            raise InvalidArgument(f"{name} is {shown}: {function}() takes {-most - 1} to {most}")
        if value != value // 1:  # PostgreSQL would round it
            raise InvalidArgument(f"{name} is {value}: {function}() takes a whole number")
    return value
