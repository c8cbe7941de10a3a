"""The command line. Verbs import what they need when they run: `ragdb --help` is quick."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ragdb.cli import (
    access,
    ask,
    cluster,
    contract,
    corpus,
    dashboards,
    demo,
    doctor,
    embed,
    embedder,
    eval,
    feedback,
    ingest,
    keys,
    ledger,
    mcp,
    peer,
    portable,
    quota,
    reembed,
    related,
    report,
    reranker,
    search,
    serve,
    server,
    slice,
    token,
    trace,
    verify,
    worker,
)
from ragdb.cli.app import told_of
from ragdb.cli.session import Dsn, Format, Json, NoProgress, Quiet, Session, Verbose, Yes
from ragdb.cli.told import Verbs, open_streams

app = typer.Typer(
    name="ragdb",
    cls=Verbs,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        from ragdb.version import __version__

        print(f"ragdb {__version__}")
        raise typer.Exit


@app.callback(
    epilog="To begin: ragdb ingest FOLDER --corpus NAME, then ragdb search 'QUESTION'. The manual"
    " is in every database: ragdb search 'QUESTION' --corpus system."
)
def _flags(
    context: typer.Context,
    *,
    dsn: Dsn = None,
    format: Format = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    no_progress: NoProgress = False,
    yes: Yes = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A RAG database inside PostgreSQL.

    Without a database named by --dsn, RAGDB_DATABASE_URL, DATABASE_URL or PG*, an embedded server
    is started. Data goes to stdout, everything else to stderr.

    Exit codes: 0 ok, 1 negative verdict, 2 usage, 3 database or schema, 4 some documents failed,
    5 nothing ran, 130 interrupted.
    """
    context.obj = {
        "dsn": dsn,
        "format": format,
        "json": json,
        "quiet": quiet,
        "verbose": verbose,
        "no_progress": no_progress,
        "yes": yes,
    }


for part in (
    server, cluster, doctor, ingest, corpus, portable, embed, worker, reembed, embedder, reranker,
    search, related, trace, ask, feedback, slice, keys, access, quota, ledger, peer, verify,
    contract, eval, report, serve, token, mcp, dashboards, demo,
):  # fmt: skip
    part.register(app)


def main() -> None:
    """Read the command line and run its verb."""
    open_streams()
    sys.exit(told_of(Session(), app))
