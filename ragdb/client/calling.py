"""How a method of the client becomes a call of its SQL function."""

from __future__ import annotations

import difflib
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.rows import class_row, tuple_row

from ragdb.client import readonly, values
from ragdb.client.counting import some
from ragdb.client.results import Recorded, Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Connection = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]
Given = Mapping[str, Any]  # each argument by its name, and maybe more
Row = TypeVar("Row")


def is_routed(connection: Connection) -> bool:
    """Whether a connection is to a router and means its nodes: the DSN or the environment says so.

    The DSN says it by `options=-cragdb.router=on`, or off; else `RAGDB_ROUTER=1` does.
    """
    _, given, said = connection.info.options.rpartition("ragdb.router=")
    return said.startswith("on") if given else os.environ.get("RAGDB_ROUTER") == "1"


class Reals:
    """Vectors one behind the other as a real[], sent in binary without a Python float for each.

    They are an array of numpy, or the bytes of numbers of four bytes, the highest first.
    """

    def __init__(self, vectors: NDArray[np.float32] | bytes) -> None:
        self.numbers = vectors if isinstance(vectors, bytes) else vectors.astype(">f4").tobytes()


class _RealsDumper(Dumper):
    format = Format.BINARY
    oid = 1021  # real[]

    def dump(self, obj: Reals) -> bytes:
        count = len(obj.numbers) // 4
        # 1 dimension, no nulls, of real, so many from 1; then each number with its size before it
        head = struct.pack(">iiIii", 1, 0, 700, count, 1)
        body = bytearray(8 * count)
        body[3::8] = b"\x04" * count
        for place in range(4):
            body[4 + place :: 8] = obj.numbers[place::4]
        return head + bytes(body)


# here, because a connection knows only what was registered before its first statement
psycopg.adapters.register_dumper(Reals, _RealsDumper)


@cache
def _columns(row: type) -> str:
    """The fields of a row by name: a schema that is newer than this client may have more."""
    return ", ".join(f'"{field.name}"' for field in fields(row))


class Call:
    """One SQL function: its arguments with their types, and defaults that its method lacks.

    A method has none where it is one of several overloads, and None where a default is empty JSON.
    Every argument is passed by name and cast, so that an overload is never guessed.
    """

    def __init__(
        self,
        name: str,
        types: Mapping[str, str],
        defaults: Mapping[str, Any] | None = None,
        *,
        procedure: bool = False,
    ) -> None:
        self.name = name
        self.types = types
        self.defaults = defaults or {}
        arguments = ", ".join(f"{argument} => %s::{kind}" for argument, kind in types.items())
        self.sql = f"{'call' if procedure else 'select {columns} from'} ragdb.{name}({arguments})"
        # one row without a rank where nothing is found: the trace was recorded all the same
        self.recorded_sql = (
            "select ragdb.last_trace_id() as recorded, {columns}"
            f" from (select) one left join ragdb.{name}({arguments}) r on true"
        )

    def sent(
        self,
        connection: Connection,
        given: Given,
        row: type | None = None,
        *,
        recorded: bool = False,
    ) -> tuple[str, list[Any]]:
        """The call and its values for a connection; a router is called by schema ragdb_at."""
        sql = self.recorded_sql if recorded else self.sql
        sql = sql.replace("{columns}", _columns(row) if row else "*", 1)
        # what makes a router is the router's own
        if is_routed(connection) and not self.name.startswith("cluster_"):
            sql = sql.replace(" ragdb.", " ragdb_at.")
        return sql, self.parameters(given)

    def parameters(self, given: Given) -> list[Any]:
        """The arguments as psycopg takes them: see `values.sent`, which raises."""
        sent = []
        for name, kind in self.types.items():
            value = given[name]
            if kind == "jsonb" and value is None:
                value = self.defaults.get(name)
            sent.append(values.sent(value, kind, name, self.name))
        return sent

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
        """All arguments by name; None when these are another overload's."""
        if len(args) > len(self.types):
            return None
        given = dict(zip(self.types, args, strict=False))
        if given.keys() & kwargs.keys() or kwargs.keys() - self.types.keys():
            return None
        given = {**self.defaults, **given, **kwargs}
        if given.keys() != self.types.keys():
            return None
        for name, kind in self.types.items():
            value = given[name]
            if kind == "jsonb" or value is None:
                continue
            if isinstance(value, list | tuple) != kind.endswith("[]") or isinstance(value, dict):
                return None
        return given

    def texts_as_json(self, given: Given) -> int:
        """How many texts are given for arguments that are JSON."""
        kinds = self.types.items()
        return sum(kind == "jsonb" and isinstance(given[name], str) for name, kind in kinds)


def choose(calls: Sequence[Call], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The overload that takes these arguments, and these by name. Raises TypeError.

    A text is for the overload that takes a text, rather than for one that takes JSON.
    """
    bound = [(call, given) for call in calls if (given := call.bind(args, kwargs)) is not None]
    if bound:
        return min(bound, key=lambda pair: pair[0].texts_as_json(pair[1]))
    raise TypeError(_problem(calls, args, kwargs))


def instead(name: str, known: Iterable[str], most: int = 50) -> str:
    """What is said behind a name that is not there: which was meant, and which there are (some).

    >>> instead("corpus", ["corpora", "query"])
    'did you mean corpora? there are corpora, query'
    >>> instead("corpus", [])
    'there are none'
    """
    names = list(known)
    near = "".join(f"did you mean {one}? " for one in difflib.get_close_matches(name, names, 1))
    return f"{near}there are {some(names, most)}"


def unknown(name: str, argument: str, known: Iterable[str]) -> str:
    """What is said of an argument that a verb does not have."""
    return f"{name}() has no argument {argument!r}; {instead(argument, known)}"


def _problem(calls: Sequence[Call], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Why no overload takes these arguments."""
    name = calls[0].name
    known = dict.fromkeys(argument for call in calls for argument in call.types)
    for argument in kwargs:
        if argument not in known:
            return unknown(name, argument, known)
    if len(args) > max(len(call.types) for call in calls):
        return f"{name}() takes {max(len(call.types) for call in calls)} arguments, not {len(args)}"
    for call in calls:
        placed = list(call.types)[: len(args)]
        given = {*placed, *kwargs}
        write = f"write {name}({', '.join(one for one in call.types if one not in call.defaults)})"
        if kwargs.keys() <= call.types.keys():
            for place, one in enumerate(placed, 1):
                if one in kwargs:
                    found = f"{one!r} twice: by name, and as argument {place}"
                    return f"{name}() was given {found}; {write}"
            if missing := [one for one in call.types if one not in given | call.defaults.keys()]:
                return f"{name}() needs {missing[0]!r}: {write}"
    forms = " or ".join(f"{name}({', '.join(call.types)})" for call in calls)
    return f"the arguments match none of {forms}"


class Caller:
    """Calls SQL functions on a connection that it borrows: it never commits or rolls back.

    A method hands on its own arguments, which are its `locals()`.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection

    def _asked(self, cursor: Any, call: Call, given: Given, *row: type, **how: Any) -> Any:
        with readonly.told(call.name, self.connection):
            return cursor.execute(*call.sent(self.connection, given, *row, **how))

    def _rows(self, call: Call, row: type[Row], given: Given) -> Rows[Row]:
        with self.connection.cursor(row_factory=class_row(row)) as cursor:
            return Rows(self._asked(cursor, call, given, row).fetchall(), row)

    def _recorded(self, call: Call, row: type[Row], given: Given) -> Recorded[Row]:
        with self.connection.cursor(row_factory=tuple_row) as cursor:
            self._asked(cursor, call, given, row, recorded=True)
            return Recorded.of(row, cursor.fetchall())

    def _row(self, call: Call, row: type[Row], given: Given) -> Row:
        (found,) = self._rows(call, row, given)
        return found

    def _row_if_any(self, call: Call, row: type[Row], given: Given) -> Row | None:
        return next(iter(self._rows(call, row, given)), None)

    def _values(self, call: Call, given: Given) -> list[Any]:
        with self.connection.cursor(row_factory=tuple_row) as cursor:
            return [row[0] for row in self._asked(cursor, call, given)]

    def _value(self, call: Call, given: Given) -> Any:
        with self.connection.cursor(row_factory=tuple_row) as cursor:
            row = self._asked(cursor, call, given).fetchone()
            return row[0] if row else None

    def _run(self, call: Call, given: Given) -> None:
        with self.connection.cursor() as cursor:
            self._asked(cursor, call, given)


class AsyncCaller:
    """The same over an asynchronous connection."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self.connection = connection

    async def _asked(self, cursor: Any, call: Call, given: Given, *row: type, **how: Any) -> Any:
        with readonly.told(call.name, self.connection):
            return await cursor.execute(*call.sent(self.connection, given, *row, **how))

    async def _rows(self, call: Call, row: type[Row], given: Given) -> Rows[Row]:
        async with self.connection.cursor(row_factory=class_row(row)) as cursor:
            await self._asked(cursor, call, given, row)
            return Rows(await cursor.fetchall(), row)

    async def _recorded(self, call: Call, row: type[Row], given: Given) -> Recorded[Row]:
        async with self.connection.cursor(row_factory=tuple_row) as cursor:
            await self._asked(cursor, call, given, row, recorded=True)
            return Recorded.of(row, await cursor.fetchall())

    async def _row(self, call: Call, row: type[Row], given: Given) -> Row:
        (found,) = await self._rows(call, row, given)
        return found

    async def _row_if_any(self, call: Call, row: type[Row], given: Given) -> Row | None:
        return next(iter(await self._rows(call, row, given)), None)

    async def _values(self, call: Call, given: Given) -> list[Any]:
        async with self.connection.cursor(row_factory=tuple_row) as cursor:
            return [row[0] async for row in await self._asked(cursor, call, given)]

    async def _value(self, call: Call, given: Given) -> Any:
        async with self.connection.cursor(row_factory=tuple_row) as cursor:
            row = await (await self._asked(cursor, call, given)).fetchone()
            return row[0] if row else None

    async def _run(self, call: Call, given: Given) -> None:
        async with self.connection.cursor() as cursor:
            await self._asked(cursor, call, given)
