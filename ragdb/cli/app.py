"""How a function becomes a verb: its flags, its errors as messages, its exit code."""

from __future__ import annotations

import inspect
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from ragdb.cli.ending import INTERRUPTED, interrupt
from ragdb.cli.session import (
    DATABASE,
    FORMATS,
    JSON,
    OK,
    Dsn,
    Failure,
    Format,
    Json,
    NoProgress,
    Quiet,
    Session,
    Verbose,
    Yes,
    format_of,
    yes_of,
)
from ragdb.cli.told import IN_JSON, show

if TYPE_CHECKING:
    import psycopg

SHARED: dict[str, Any] = {
    "dsn": (Dsn, None),
    "format": (Format, None),
    "json": (Json, False),
    "quiet": (Quiet, False),
    "verbose": (Verbose, False),
    "no_progress": (NoProgress, False),
    "yes": (Yes, False),
}


TEXT = ("table",)
"""Of a verb whose output is a text, such as SQL, or which runs until it is ended."""
FULL = "the server has as many connections as it takes: try again later, or end some of them"
NOT_UTF8 = ("an argument is not valid UTF-8", "check the terminal's encoding")
# by SQLSTATE, what the server or its administrator has limited
LIMITS = {
    "25P03": "idle_in_transaction_session_timeout",
    "25P04": "transaction_timeout",
    "55P03": "lock_timeout",
    "57014": "statement_timeout",
    "57P05": "idle_session_timeout",
}
KEPT = "what was committed stays, and nothing is half written"
RACED = f"another transaction changed the same meanwhile: run the command again; {KEPT}"
# by SQLSTATE, what to do about an error of PostgreSQL
HINTS = {
    "40001": RACED,
    "40P01": RACED,
    "42501": "a DBA grants a role that may; by what they may do: ragdb_reader < ragdb_writer <"
    " ragdb_admin, and ragdb_auditor for what others did",
    "53100": f"make room on the server's disk, and run the command again: {KEPT}",
    "53400": "PGOPTIONS='-c work_mem=64MB' before the command keeps more in memory; a DBA can raise"
    f" temp_file_limit; {KEPT}",
}


def verb(
    app: typer.Typer, name: str, *, formats: Sequence[str] = FORMATS, **settings: Any
) -> Callable[[Any], Any]:
    """Register a verb: `function(session, …)`, whose flags are its own and the shared ones."""

    def register(function: Callable[..., int | None]) -> Callable[..., int | None]:
        asks = "confirm" in function.__code__.co_names
        shown_json = typer.Option("--json", help=JSON, hidden="json" not in formats)
        changed = {
            "format": (format_of(formats), None),
            "json": (Annotated[bool, shown_json], False),
            "yes": (yes_of(is_shown=asks), False),
        }
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        for parameter in own:
            if _has_path(parameter.annotation):
                parameter.annotation.__metadata__[0].parser = _path
        shared = [
            inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, annotation=a, default=d)
            for n, (a, d) in {**SHARED, **changed}.items()
        ]
        context = inspect.Parameter(
            "context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context
        )

        def run(context: typer.Context, **given: Any) -> None:
            _refuse_more(context)
            before_verb = context.obj or {}
            flags = {
                n: before_verb.get(n) if (v := given.pop(n)) in (None, False) else v for n in SHARED
            }
            chosen = "json" if flags["json"] else flags["format"] or "table"
            if chosen not in formats:
                raise typer.BadParameter(f"{chosen[:80]!r} is not one of {', '.join(formats)}")
            session = Session(
                verb=name,
                dsn=flags["dsn"],
                format=chosen,
                quiet=bool(flags["quiet"]),
                verbose=bool(flags["verbose"]),
                progress=not flags["no_progress"] and not flags["quiet"] and sys.stderr.isatty(),
                yes=bool(flags["yes"]),
            )
            raise typer.Exit(guarded(session, lambda: function(session, **given)))

        parameters = [context, *(p.replace(kind=p.KEYWORD_ONLY) for p in own), *shared]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        run.__doc__ = function.__doc__
        # what is too much is refused above, because typer does not say what to do
        rest = settings.pop("context_settings", {}) | {"allow_extra_args": True}
        app.command(name, context_settings=rest, **settings)(run)
        return function

    return register


def _has_path(annotation: Any) -> bool:
    return annotation is Path or any(map(_has_path, get_args(annotation)))


def _path(given: str) -> Path:
    """A path of the command line: pathlib takes an empty one for the current folder."""
    if not given:
        raise typer.BadParameter("the path is empty; give . for the current folder")
    return Path(given)


def _refuse_more(context: typer.Context) -> None:
    """Refuse arguments that a verb has no place for: most often a question without quotes."""
    if context.args:
        names_corpus = any("--corpus" in parameter.opts for parameter in context.command.params)
        context.fail(
            f"no place for {' '.join(context.args)!r}: put what has spaces in quotes"
            + ", and name a corpus with --corpus" * names_corpus
        )


def guarded(session: Session, action: Callable[[], int | None]) -> int:
    """Run, and turn known errors into a message and an exit code."""
    heard = interrupt()
    try:
        return told_of(session, action)
    except KeyboardInterrupt:  # another one, while the first was dealt with
        return INTERRUPTED
    finally:
        # all is done, and Python would die of a signal that came while it puts itself away
        for number in heard:
            signal.signal(number, signal.SIG_IGN)


def told_of(session: Session, action: Callable[[], int | None]) -> int:
    """Run, and tell what known errors say; `--help` can fail to print, too."""
    try:
        code = action() or OK
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        session.note("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # the reader of a pipe has seen enough
        _close_stdout()
        return session.verdict
    except typer.Exit:
        raise
    except Exception as error:
        if _is_interrupted(error):
            session.note("interrupted")
            return INTERRUPTED
        from ragdb.cli.unreached import named_by

        failure = explain(error)
        if failure is None:
            raise
        if isinstance(error, OSError) and error.filename is None:
            _close_stdout()
        failure.detail = failure.detail or named_by(error, session)
        show(failure, in_json=session.format in IN_JSON)
        if session.verbose and failure is not error:
            import traceback

            traceback.print_exception(error, file=sys.stderr)
        return failure.code


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether an error came of Ctrl-C: a connection that was left in a statement has its own."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False


def _close_stdout() -> None:
    """Let nothing more be written to it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def explain(error: Exception) -> Failure | None:
    """The message for a known error; None for a bug in ragdb."""
    if isinstance(error, Failure):
        return error
    import psycopg

    from ragdb.client.connecting import OTHER_SCHEMA
    from ragdb.client.hints import by_verbs

    exit_code: int | None = getattr(error, "exit_code", None)
    if isinstance(error, OTHER_SCHEMA):
        return Failure(
            str(error.diag.message_primary),
            code=DATABASE,
            hint="run `ragdb init` to install or upgrade the schema of this database",
        )
    if isinstance(error, psycopg.errors.InvalidTextRepresentation) and "surrogate" in str(error):
        # in JSON it is an escape, which only the server refuses
        return Failure(NOT_UTF8[0], hint=NOT_UTF8[1])
    if isinstance(error, psycopg.Error):
        return Failure(
            error.diag.message_primary or str(error).strip(),
            sqlstate=error.sqlstate,
            code=DATABASE if exit_code is None else exit_code,
            detail=error.diag.message_detail,
            hint=_hint(error) or by_verbs(error.diag.message_hint),
        )
    if exit_code is not None:
        return Failure(str(error), code=exit_code, hint=getattr(error, "hint", None))
    if isinstance(error, OSError) and error.strerror:
        place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return Failure(place + error.strerror)
    if isinstance(error, RecursionError):
        return Failure("the JSON of an argument or a file nests too deep", hint="flatten it")
    if isinstance(error, UnicodeEncodeError):
        if "\ud800" <= error.object[error.start] <= "\udfff":
            return Failure(NOT_UTF8[0], hint=NOT_UTF8[1])
        # Python calls most code pages by one name there
        return Failure(
            f"the encoding {sys.stdout.encoding} cannot represent every character of the output",
            hint="set PYTHONIOENCODING=utf-8 or a UTF-8 locale",
        )
    if isinstance(error, UnicodeDecodeError):
        return Failure(
            f"a file is not {error.encoding}: byte {error.start} is {error.object[error.start]:#x}",
            hint="save it as UTF-8",
        )
    return None


def _hint(error: psycopg.Error) -> str | None:
    """What to do about an error of PostgreSQL, where we know better than its own hint."""
    import psycopg

    from ragdb.cli import unreached
    from ragdb.client.connecting import is_lost, is_replaced

    if is_lost(error):
        return (
            "the server was stopped, or ended this connection; run the command again when it is up:"
            f" {KEPT}"
        )
    if is_replaced(error):
        return "the schema was upgraded at that moment: run the command again"
    if is_full(error):
        return FULL
    if not error.sqlstate:
        return unreached.hint(error)
    if "statement pooling mode" in str(error):
        return "a transaction has several statements: set pool_mode = transaction in PgBouncer"
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction) and not error.diag.message_hint:
        return (
            "run it on the primary: the server is a standby, or the transaction or role is set to"
            " read-only"
        )
    if error.sqlstate in LIMITS:
        return (
            f"{KEPT}; if it is a limit, set PGOPTIONS='-c {LIMITS[error.sqlstate]}=0' to take more"
            " time"
        )
    return HINTS.get(error.sqlstate)


def is_full(error: Exception) -> bool:
    """Whether a server took no further connection; psycopg has no SQLSTATE where it has none."""
    return any(words in str(error) for words in ("too many c", "connection slots are reserved"))
