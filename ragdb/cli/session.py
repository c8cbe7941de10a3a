"""The flags of one run, its connection, its exit codes, and where its output goes."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ragdb.cli.ending import INTERRUPTED as INTERRUPTED
from ragdb.client.hints import by_verbs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from psycopg.errors import Diagnostic
    from rich.console import Console

    from ragdb.database import Database
    from ragdb.server.reviving import Reviver
    from ragdb.server.settings import Connection


OK, NEGATIVE, USAGE, DATABASE, PARTIAL, NOTHING = range(6)
Value = TypeVar("Value")
ERASED = "\x1b[K"  # the rest of a terminal's line
FORMATS = ("table", "json", "ndjson", "csv")
NARROWEST = 30  # columns: what is cut to fewer says nothing; a terminal wraps it

Dsn = Annotated[
    str | None,
    typer.Option("--dsn", "-d", metavar="DSN", help="Database to use.", show_default=False),
]


def format_of(formats: Sequence[str]) -> Any:
    """The flag of a verb that writes in these formats."""
    option = typer.Option("--format", metavar="|".join(formats), help="Output format.")
    return Annotated[str | None, option]


Format = format_of(FORMATS)

Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="TIME", help="Only from this time on: 2026-03-01, or 7d for a week ago."
    ),
]

JSON = "The same as --format json."
Json = Annotated[bool, typer.Option("--json", help=JSON)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no messages on stderr.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print what is done and where.")]
NoProgress = Annotated[
    bool, typer.Option("--no-progress", help="Show no progress bar.", hidden=True)
]


def yes_of(*, is_shown: bool) -> Any:
    """The flag that answers what a verb asks, shown by those that ask."""
    told = "Do not ask for confirmation."
    return Annotated[bool, typer.Option("--yes", "-y", help=told, hidden=not is_shown)]


Yes = yes_of(is_shown=False)
Corpus = Annotated[str, typer.Argument(metavar="CORPUS", help="Name of a corpus.")]
InCorpus = Annotated[str | None, typer.Option("--corpus", "-c", help="Only this corpus.")]


class Failure(Exception):
    """An error with its exit code, shown as message, detail and hint."""

    def __init__(
        self,
        message: str,
        *,
        code: int = USAGE,
        detail: str | None = None,
        hint: str | None = None,
        sqlstate: str | None = None,
    ) -> None:
        super().__init__(f"{message} ({sqlstate})" if sqlstate else message)
        self.message, self.sqlstate = message, sqlstate
        self.code, self.detail, self.hint = code, detail, hint


@dataclass
class Session:
    """The flags of one run, and what they give: a connection, a place for data, a log."""

    verb: str = ""
    dsn: str | None = None
    format: str = "table"
    quiet: bool = False
    verbose: bool = False
    progress: bool = True
    yes: bool = False
    verdict: int = OK
    """Exit code if the reader of a pipe closes it before all is printed."""
    upgrades: bool = True
    """Whether the schema of an older ragdb on the embedded server is brought up to date first."""
    is_found: bool | None = None
    """Whether its database, once reached, has the schema of this package."""
    _told: set[tuple[str, str]] = field(default_factory=set)

    @functools.cached_property
    def target(self) -> Connection:
        """The database of the flags and the environment; `-v` says which setting named it."""
        import logging

        from ragdb.server import settings

        # what it meets while it puts away a lost connection: the error that is shown came first
        logging.getLogger("psycopg").setLevel(logging.ERROR)
        found = settings.connection(self.dsn, self.note, upgrades=self.upgrades)
        self.debug(f"database: {found}")
        return found

    @functools.cached_property
    def revive(self) -> Reviver | None:
        """What starts that server again where it died; None where ragdb has not started it."""
        from ragdb.server.reviving import Reviver

        return Reviver() if self.target.origin == "embedded" else None

    def outlive(self, work: Callable[[], Value]) -> Value:
        """Do some work, and begin it again where it lost a server that `revive` brings back."""
        import psycopg

        from ragdb.client.connecting import is_lost

        while True:
            try:
                return work()
            except psycopg.OperationalError as error:
                if self.revive is None or not is_lost(error) or not self.revive():
                    raise

    def connect(self) -> Database:
        """A connection to it."""
        from ragdb.cli import lost
        from ragdb.client.connecting import in_turns
        from ragdb.database import connect
        from ragdb.server import scripts
        from ragdb.version import __version__

        db = connect(
            self.target.conninfo,
            on_notice=self.on_notice,
            application_name=f"ragdb/{__version__} {self.verb}",
        )
        try:
            lost.watch(in_turns(db.connection))
            self.is_found = scripts.is_ours(db.connection)
            if self.is_found is False and self.verb not in ("doctor", "status"):
                self.note(
                    f"the schema is not that of ragdb {__version__}; `ragdb init` brings it there"
                )
        except BaseException:
            db.connection.close()
            raise
        return db

    @functools.cached_property
    def out(self) -> Console:
        """Where people read data: a letter that its encoding lacks is a question mark there."""
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")
        return _console(sys.stdout)

    @functools.cached_property
    def err(self) -> Console:
        """Where progress and the log go."""
        return _console(sys.stderr)

    @contextlib.contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Say what is under way at a terminal, until it is over."""
        if not self.progress:
            yield
            return
        print(f"{what} …", end="\r", file=sys.stderr, flush=True)
        try:
            yield
        finally:
            print(ERASED, end="", file=sys.stderr, flush=True)

    def rows(
        self,
        data: Iterable[Any],
        columns: str | Sequence[str] = (),
        *,
        title: str | None = None,
        empty: str = "nothing to show",
    ) -> None:
        """Print rows. `columns` are those of the table; JSON and CSV always have all."""
        from ragdb.cli import output

        names = columns.split() if isinstance(columns, str) else columns
        output.rows(self, data, names, title=title, empty=empty)

    def one(self, row: Any, *, title: str | None = None) -> None:
        """Print one row: a list of its fields for people, an object in JSON."""
        from ragdb.cli import output

        output.one(self, row, title=title)

    def value(self, **fact: Any) -> None:
        """Print the one value that a verb is for: bare for people, an object in JSON."""
        if self.format == "table":
            print(*fact.values())
        else:
            self.one(fact)

    def lines(self, name: str, values: Iterable[str]) -> None:
        """Print a list of names: a line each for people, rows of one field for programs."""
        if self.format == "table":
            for value in values:
                print(value)
        else:
            self.rows([{name: value} for value in values], [name])

    def jsonl(self, data: Iterable[Any]) -> None:
        """Print rows that another verb reads: an object a line, or all as one array in JSON."""
        (self if self.format == "json" else replace(self, format="ndjson")).rows(data)

    def text(self, written: str, out: Path | None = None) -> None:
        """Write a text to a file, or print it: bare for people, in an object in JSON."""
        if out is not None:
            from ragdb import files

            files.replace(out, written.encode())
            self.done(f"wrote {out}", file=str(out))
        elif self.format == "table":
            sys.stdout.write(written)
        else:
            self.one({"text": written})

    def done(self, message: str, **facts: Any) -> None:
        """Say what a verb did that has nothing to show: a line of log, an object in JSON."""
        self.note(message)
        if self.format != "table":
            self.one(facts)

    def note(self, text: str) -> None:
        """A line of log, for people."""
        if not self.quiet:
            self._say(text)

    def debug(self, text: str) -> None:
        """A line of log under --verbose."""
        if self.verbose:
            self._say(text)

    def confirm(self, question: str) -> None:
        """Go on only if the user at the terminal, or --yes, confirms."""
        if self.yes:
            return
        if not sys.stdin.isatty():
            raise Failure(question, hint="stdin is not a terminal; give --yes to confirm")
        if not typer.confirm(question, err=True):
            raise Failure("cancelled; nothing was done", code=NEGATIVE)

    def on_notice(self, notice: Diagnostic) -> None:
        """Print what the database says beside its answer, once however many statements say it."""
        from ragdb.client.notices import said

        # the server's own, such as "relation exists, skipping", are noise here
        if (told := said(notice)) and told not in self._told:
            self._told.add(told)
            self.note(f"{told[0]}; {by_verbs(told[1])}")

    def _say(self, text: str) -> None:
        from ragdb.cli.text import clean

        sys.stdout.flush()
        print(f"{ERASED * self.progress}{clean(text)}", file=sys.stderr)


def _console(file: Any) -> Console:
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            raise  # rich would end the program here; `guarded` knows with which exit code

    # 80 columns are rich's guess where there is no terminal, and would wrap every path
    width = None if file.isatty() or "COLUMNS" in os.environ else 120
    made = Piped(file=file, width=width, highlight=False, emoji=False, soft_wrap=False)
    if made.width < NARROWEST:
        made.width = NARROWEST
    return made
