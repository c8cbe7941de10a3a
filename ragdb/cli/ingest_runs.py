"""One run of an ingest, and the embedding after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragdb.cli.ingested import bar, show, summary
from ragdb.cli.session import Session

if TYPE_CHECKING:
    from ragdb.database import Database
    from ragdb.ingest.report import Report
    from ragdb.ingest.source import Found


def run(
    session: Session, db: Database, corpus: str, found: Found, options: dict[str, Any]
) -> Report | None:
    """The report of one run; None if it was interrupted, in which case it is already shown."""
    import psycopg

    from ragdb.ingest.ingest import Run
    from ragdb.ingest.stopping import Signals

    with bar(session) as progress:
        # a polite kill ends like Ctrl-C: whole documents stay, workers go
        stop = Signals(db.connection, session.note)
        run = Run(db, corpus, found, {**options, "progress": progress, "stop": stop})
        try:
            with stop:
                return run.run()
        except KeyboardInterrupt:
            show(session, run.report)
            session.note("interrupted; whole documents stay")
            return None
        except psycopg.Error:
            # the error is shown after it
            if run.report.documents or run.report.failed:
                session.note(summary(run.report))
            raise


def embed_all(session: Session, corpora: set[str]) -> bool:
    """Embed chunks without embedding; return whether some could not be embedded."""
    from ragdb.cli import embed

    return sum(embed.embed(session, corpus) for corpus in sorted(corpora)) > 0
