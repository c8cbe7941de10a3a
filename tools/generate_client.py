"""Writes ragdb/client/_generated/ and ragdb/errors.py from the catalogue (`make client`).

One method per public SQL function, with its name, its arguments in its order, and its comment.
"""

from __future__ import annotations

import keyword
import re
import textwrap
from collections import defaultdict
from typing import Any

import psycopg

from tools.catalogue import (
    ROOT,
    Argument,
    ErrorCode,
    Function,
    error_codes,
    formatted,
    functions,
    scratch_database,
)

TYPES = {
    "bigint": "int",
    "boolean": "bool",
    "bytea": "bytes",
    "date": "date",
    "double precision": "float",
    "integer": "int",
    "interval": "timedelta",
    "jsonb": "Any",
    "numeric": "Decimal",
    "oid": "int",
    "real": "float",
    "smallint": "int",
    "text": "str",
    "timestamp with time zone": "datetime",
    "uuid": "UUID",
}

DO_NOT_EDIT = "Generated from sql/ by `make client`. Do not edit."
IMPORTS = """
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, overload
from uuid import UUID

from ragdb.client.calling import (
    AsyncCaller, Call, Caller, Reals, choose,
)
from ragdb.client.results import Recorded, Row, Rows
from ragdb.client.shown import documented_by
"""
FOLDER = "ragdb/client/_generated"


def python_type(sql: str) -> str:
    """The type of a value of an SQL type; a type that is not known here is an error."""
    if sql.endswith("[]"):
        return f"list[{TYPES[sql[:-2]]}]"
    return TYPES[sql]


def argument_type(argument: Argument) -> str:
    kind = python_type(argument.type)
    if kind.startswith("list["):
        kind = kind.replace("list[", "Sequence[")
    if argument.type in ("real[]", "double precision[]"):
        kind = f"Reals | {kind}"
    if kind in ("UUID", "timedelta"):
        kind = f"{kind} | str"
    optional = argument.default is not None and python_default(argument) == "None"
    return f"{kind} | None" if optional and kind != "Any" else kind


def python_default(argument: Argument) -> str:
    """A default of SQL as a Python literal."""
    value = argument.default or ""
    if value == "'{}'" and argument.type.endswith("[]"):
        return "()"
    if value.lower() == "null":
        return "None"
    if value in ("true", "false"):
        return value.title()
    if re.fullmatch(r"-?\d+(\.\d+)?", value):
        return value if python_type(argument.type) != "float" or "." in value else f"{value}.0"
    if empty_json(argument):
        return "None"
    text = re.fullmatch(r"'(-?(?:[^']|'')*)'", value)
    if text:
        literal = text[1].replace("''", "'")
        return literal if python_type(argument.type) in ("int", "float") else repr(literal)
    raise ValueError(f"the default {argument.default} of {argument.name} is not a literal")


def empty_json(argument: Argument) -> str | None:
    """The default where it is `{}` or `[]`, for which Python's None stands: it cannot change."""
    given = (argument.default or "").strip("'")
    return given if argument.type == "jsonb" and given in ("{}", "[]") else None


def camel(name: str) -> str:
    return "".join(part.title() for part in name.split("_"))


def row_name(function: Function) -> str:
    return camel(function.row_type or f"{function.name}_row")


def docstring(text: str, indent: int) -> str:
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    one = f'"""{text}"""'
    if len(one) + indent <= 100 and not text.endswith('"'):
        return one
    wrapped = (
        textwrap.fill(paragraph, 94 - indent, break_long_words=False)
        for paragraph in text.split("\n\n")
    )
    return '"""' + "\n\n".join(wrapped) + '\n"""'


def constant(function: Function, number: int | None) -> str:
    return function.name.upper() + ("" if number is None else f"_{number + 1}")


def client(connection: psycopg.Connection[Any]) -> dict[str, str]:
    """The sources of ragdb/client/_generated/, by file name."""
    by_name: dict[str, list[Function]] = defaultdict(list)
    for function in functions(connection):
        for argument in function.arguments:
            if keyword.iskeyword(argument.name) or not argument.name:
                raise ValueError(f"{function.name}: {argument.name!r} cannot be an argument")
        by_name[function.name].append(function)

    rows: dict[str, tuple[str, str]] = {}  # the room and the source of each class
    constants = []
    methods: dict[bool, list[str]] = {False: [], True: []}
    for group in by_name.values():
        names = [constant(f, None if len(group) == 1 else n) for n, f in enumerate(group)]
        for name, function in zip(names, group, strict=True):
            if function.columns:
                rows.setdefault(row_name(function), (function.chapter, row_class(function)))
            constants.append(call(name, function, is_overload=len(group) > 1))
        for is_async in methods:
            methods[is_async].append(method(group, names, is_async))

    of_methods = "from ragdb.client._generated import calls, rows\n"
    of_sync = "from ragdb.client._generated.functions import Functions\n"
    return {
        **row_modules(rows),
        "calls.py": source("Calls.", "", "\n".join(constants)),
        "functions.py": source(
            "Methods.",
            of_methods,
            'class Functions(Caller):\n    """Every public SQL function, as a method."""\n\n'
            + textwrap.indent("\n".join(methods[False]), "    "),
        ),
        "async_functions.py": source(
            "Asynchronous methods.",
            of_methods + of_sync,
            "@documented_by(Functions)\nclass AsyncFunctions(AsyncCaller):\n"
            '    """Every public SQL function, as an asynchronous method."""\n\n'
            + textwrap.indent("\n".join(methods[True]), "    "),
        ),
    }


LAZILY = """
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
{imports}

ROOMS = {{
    name: room
    for room, names in {{
{names}
    }}.items()
    for name in names.split()
}}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        # to make all these classes takes as long as to import psycopg; a program needs a few
        if name not in ROOMS:
            raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
        row = getattr(import_module(f"{{__name__}}.{{ROOMS[name]}}"), name)
        globals()[name] = row
        return row
"""


def row_modules(rows: dict[str, tuple[str, str]]) -> dict[str, str]:
    """A module of classes for each room, and the package that imports them as they are needed."""
    by_room: dict[str, list[str]] = defaultdict(list)
    for name in sorted(rows):
        by_room[rows[name][0]].append(name)
    package = LAZILY.format(
        imports="\n".join(
            f"    from ragdb.client._generated.rows.{room} import *  # noqa: F403"
            for room in sorted(by_room)
        ),
        names="\n".join(
            f'"{room}": '
            + "\n".join(f'"{line} "' for line in textwrap.wrap(" ".join(names), 72))
            + ","
            for room, names in sorted(by_room.items())
        ),
    )
    return {"rows/__init__.py": formatted(f'"""Rows. {DO_NOT_EDIT}"""\n{package}')} | {
        f"rows/{room}.py": source(f"Rows of {room}.", "", "\n\n".join(rows[n][1] for n in names))
        for room, names in by_room.items()
    }


def source(about: str, imports: str, body: str) -> str:
    return formatted(f'"""{about} {DO_NOT_EDIT}"""\n{IMPORTS}{imports}\n{body}\n')


def row_class(function: Function) -> str:
    fields = "\n".join(
        f"    {c.name}: {python_type(c.type)}"
        + (" | None" if c.nullable and c.type != "jsonb" else "")
        for c in function.columns
    )
    what = (
        f"A row of `{function.name}`."
        if function.row_type is None
        else (f"A row of type `ragdb.{function.row_type}`.")
    )
    return (
        "@dataclass(frozen=True, slots=True, repr=False)\n"
        f'class {row_name(function)}(Row):\n    """{what}"""\n\n{fields}\n'
    )


def call(name: str, function: Function, *, is_overload: bool) -> str:
    """A call. Its method has the defaults, unless it is an overload; none but JSON needs them."""
    types = ", ".join(f'"{a.name}": "{a.type}"' for a in function.arguments)
    defaults = ", ".join(
        f'"{a.name}": {empty_json(a) or python_default(a)}'
        for a in function.arguments
        if empty_json(a) or (is_overload and a.default is not None)
    )
    procedure = ", procedure=True" if function.is_procedure else ""
    given = f", {{{defaults}}}" if defaults else ""
    return f'{name} = Call("{function.name}", {{{types}}}{given}{procedure})'


def method(group: list[Function], constants: list[str], is_async: bool) -> str:
    if len(group) == 1:
        return one_method(group[0], constants[0], is_async)
    first = group[0]
    returned = {result(f) for f in group}
    if len(returned) != 1:
        raise ValueError(f"the overloads of {first.name} return different things")
    awaited = "await " if is_async else ""
    heads = ["@overload\n" + head(f, is_async) + (documented(f, is_async) or " ...") for f in group]
    runner, row = how(first)
    of_calls = ", ".join(f"calls.{name}" for name in constants)
    body = (
        f"{'async ' if is_async else ''}def {first.name}(self, *args: Any, **kwargs: Any) "
        f"-> {result(first)}:"
        + described(group, is_async)
        + f"\n    call, given = choose(({of_calls}), args, kwargs)\n"
        f"    return {awaited}self.{runner}(call{row}, given)\n"
    )
    return "\n".join([*heads, body])


def one_method(function: Function, name: str, is_async: bool) -> str:
    runner, row = how(function)
    what = f"{'await ' if is_async else ''}self.{runner}(calls.{name}{row}, locals())"
    body = what if result(function) == "None" else f"return {what}"
    return head(function, is_async) + documented(function, is_async) + f"\n    {body}\n"


def documented(function: Function, is_async: bool) -> str:
    """The docstring of a method; `documented_by` gives the asynchronous one that of the other."""
    return "" if is_async else "\n" + textwrap.indent(docstring(function.comment, 8), "    ")


def described(group: list[Function], is_async: bool) -> str:
    """The docstring of all overloads, the one that is told at length first."""
    if is_async:
        return ""
    told = sorted(group, key=lambda function: -len(function.comment))
    text = "\n\n".join(f"{form(function)}\n\n{function.comment}" for function in told)
    return "\n" + textwrap.indent(docstring(text, 8), "    ")


def form(function: Function) -> str:
    """A call as help shows it: the names of the arguments and their defaults."""
    arguments = (
        a.name if a.default is None else f"{a.name}={python_default(a)}" for a in function.arguments
    )
    return f"{function.name}({', '.join(arguments)})"


def head(function: Function, is_async: bool) -> str:
    arguments = ["self"]
    for argument in function.arguments:
        text = f"{argument.name}: {argument_type(argument)}"
        if argument.default is not None:
            text += f" = {python_default(argument)}"
        arguments.append(text)
    prefix = "async " if is_async else ""
    return f"{prefix}def {function.name}({', '.join(arguments)}) -> {result(function)}:"


def result(function: Function) -> str:
    if function.is_procedure or function.returns == "void":
        return "None"
    if function.columns:
        name = f"rows.{row_name(function)}"
        if records(function):
            return f"Recorded[{name}]"
        if function.returns_set:
            return f"Rows[{name}]"
        return f"{name} | None" if "; no row when" in function.comment else name
    kind = python_type(function.returns)
    if function.returns_set:
        return f"list[{kind}]"
    # a scalar may be null where its comment says so
    return f"{kind} | None" if kind != "Any" and "null" in function.comment else kind


def records(function: Function) -> bool:
    """Whether it returns the hits of a retrieval that leaves a trace, as its name says."""
    return function.row_type in ("traced_hit", "turn_hit") and function.name.startswith("retrieve")


def how(function: Function) -> tuple[str, str]:
    """The method of `Caller` that runs it, and the row class to pass."""
    if result(function) == "None":
        return "_run", ""
    if function.columns and result(function).endswith("| None"):
        return "_row_if_any", f", rows.{row_name(function)}"
    if records(function):
        return "_recorded", f", rows.{row_name(function)}"
    if function.columns:
        return "_rows" if function.returns_set else "_row", f", rows.{row_name(function)}"
    return "_values" if function.returns_set else "_value", ""


ERRORS = '''"""Errors of ragdb. Generated from ragdb.error_codes() by `make client`. Do not edit.

psycopg raises these classes itself, by SQLSTATE: `error.diag` carries message, detail and hint as
the server sent them, and `except psycopg.DatabaseError` catches them too.
"""

from __future__ import annotations

import psycopg


class RagdbError(psycopg.DatabaseError, code="RG000"):
    """Base of every error that ragdb raises."""

    exit_code = 2
    """How the command line ends: 2, what was asked is wrong; 3, the database or a right is."""

    def __str__(self) -> str:
        """What the database says. Where in its functions it says so helps nobody outside."""
        if (message := self.diag.message_primary) is None:
            return super().__str__()
        more = (("DETAIL", self.diag.message_detail), ("HINT", self.diag.message_hint))
        return "\\n".join([message, *(f"{name}:  {text}" for name, text in more if text)])
'''

# what another command line would not mend
OF_THE_DATABASE = ("NotAuthorized", "EmbedderMismatch", "RerankerMismatch")


def errors(connection: psycopg.Connection[Any]) -> str:
    """The source of ragdb/errors.py."""

    def one(code: ErrorCode) -> str:
        text = docstring(code.meaning[:1].upper() + code.meaning[1:] + ".", 4)
        if code.name in OF_THE_DATABASE:
            text += "\n\nexit_code = 3"
        return f'\n\nclass {code.name}(RagdbError, code="{code.sqlstate}"):\n' + textwrap.indent(
            text, "    "
        )

    return formatted(ERRORS + "\n".join(one(code) for code in error_codes(connection)) + "\n")


def main() -> None:
    with scratch_database() as connection:
        sources = client(connection)
        for old in (ROOT / FOLDER / "rows").glob("*.py"):
            old.unlink()
        for name, source in sources.items():
            (ROOT / FOLDER / name).write_text(source)
        (ROOT / "ragdb/errors.py").write_text(errors(connection))


if __name__ == "__main__":
    main()
