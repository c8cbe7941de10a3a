"""`ragdb report`: what was asked and found, as one page."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from ragdb.cli.app import TEXT, verb
from ragdb.cli.session import Session


def register(app: typer.Typer) -> None:
    verb(app, "report", formats=TEXT)(report)


def report(
    session: Session,
    html: Annotated[
        Path, typer.Option("--html", metavar="FILE", help="File to write; - for stdout.")
    ],
    days: Annotated[float, typer.Option(min=0.05, max=3650, help="Days up to now.")] = 7,
    corpus: Annotated[
        str | None, typer.Option(help="Only this corpus. Default: all that you may read.")
    ] = None,
) -> None:
    """Write traffic, latency, quality, unanswered questions, admissibility and ledger as one page.

    The page needs no script and asks nothing of any host: it can be kept, sent and printed.
    """
    from ragdb.cli.serve import need_server

    need_server()
    from psycopg.errors import InsufficientPrivilege, ReadOnlySqlTransaction

    from ragdb import files
    from ragdb.studio import reports

    until = datetime.now(UTC)
    with session.connect() as db:
        if corpus is not None:
            db.corpus_info(corpus)
        # what was recorded since the last count is counted, where the role may
        with suppress(InsufficientPrivilege, ReadOnlySqlTransaction):
            db.refresh_rollups()
        page = reports.of_use(db, until - timedelta(days=days), until, corpus)
    if str(html) == "-":
        sys.stdout.write(page)
        return
    files.replace(html, page.encode())
    session.note(f"wrote {html}")
