"""ragdb's own manual as the read-only corpus `system`, so that a fresh database can be searched."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib.resources import as_file, files

from ragdb.client import upkeep
from ragdb.client.client import Client
from ragdb.client.connecting import connect
from ragdb.ingest.ingest import ingest
from ragdb.server import migrate, roles

CORPUS = "system"
PREFIX = "docs"


def load(conninfo: str) -> bool:
    """Bring the corpus to this version's manual; return whether anything was written.

    Only a member of ragdb_owner may, because the corpus is read-only for everybody else; another's
    call does nothing.
    """
    with (
        as_file(files("ragdb.docs")) as folder,
        Client(connect(conninfo, autocommit=True)) as db,
    ):
        if not roles.may_be_owner(db.connection):
            return False
        # which ingest does not do inside a transaction
        with contextlib.suppress(*upkeep.REFUSED), installing(db):
            db.maintain()
        with installing(db):
            # wherever the package lies now: it was another folder before an upgrade, perhaps
            report = ingest(db, folder, corpus=CORPUS, glob="*.md", prefix=PREFIX)
            pages = [file.uri for file in report.files]
            gone = db.prune_sources(CORPUS, f"{PREFIX}/", pages).documents_deleted
        return bool(report.written or gone)


@contextlib.contextmanager
def installing(db: Client) -> Iterator[None]:
    """A transaction of the one process that installs, as the owner where the login may be that.

    Who migrates may have the owner's rights by `set role` only, and not beyond the transaction:
    behind a pooler the next client would be the owner too.
    """
    with db.connection.transaction():
        migrate.lock(db.connection)
        if roles.may_be_owner(db.connection):
            roles.become_owner(db.connection)
        yield
