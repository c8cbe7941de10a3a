"""How an error is told: in words for people, or as JSON where JSON was asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import typer
from typer.core import TyperGroup

from ragdb.cli.session import NEGATIVE, OK, USAGE, Failure

IN_JSON = {"json", "ndjson"}


class Verbs(TyperGroup):
    """The verbs. What is wrong with a command is JSON too, where JSON was asked for."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **settings: Any) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        if not _wants_json(given):
            return super().main(given, *rest, **settings)
        try:
            code = super().main(given, *rest, **{**settings, "standalone_mode": False})
        except typer.Abort:
            sys.exit(NEGATIVE)
        except typer.TyperException as error:
            message = getattr(error, "format_message", error.__str__)()
            show(Failure(message, hint="`ragdb VERB --help` says what it takes"), in_json=True)
            sys.exit(USAGE)
        sys.exit(code or OK)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] == "help":
            asked = [word for word in args[1:] if word in self.commands]
            says = f"`ragdb {asked[0]} --help` says what it takes" if asked else None
            ctx.fail(f"No such command 'help': {says or '`ragdb --help` lists the verbs'}.")
        return super().resolve_command(ctx, args)


def _wants_json(given: list[str]) -> bool:
    """Whether a command that cannot be read asks for JSON."""
    words = [part for word in given for part in word.split("=", 1)]
    return "--json" in words or any(a == "--format" and b in IN_JSON for a, b in pairwise(words))


def show(failure: Failure, *, in_json: bool = False) -> None:
    """Print an error on stderr: for people, or as an object in one line."""
    from ragdb.cli.text import clean
    from ragdb.client.rows import dumps

    if in_json:
        of = {
            "error": failure.message,
            "sqlstate": failure.sqlstate,
            "detail": failure.detail,
            "hint": failure.hint,
            "exit_code": failure.code,
        }
        print(dumps(of), file=sys.stderr)
        return
    print(clean(f"ragdb: {failure}"), file=sys.stderr)
    for label, text in (("detail", failure.detail), ("hint", failure.hint)):
        if text:
            print(clean(f"  {label}: {text}"), file=sys.stderr)


def open_streams() -> None:
    """What was closed by whoever started the program (`<&-`) is nothing to read from or write to.

    Else Python has None there, and the first file that is opened would be taken for it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
