"""ragdb's own manual as the read-only corpus `system`, so that a fresh database can be searched."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import as_file, files
from pathlib import Path

from ragdb.client import upkeep
from ragdb.client.client import Client
from ragdb.client.connecting import connect, in_turns
from ragdb.client.corpora import is_there
from ragdb.ingest.ingest import ingest
from ragdb.server import migrate, roles

CORPUS = "system"
TITLE = "Manual of ragdb"
PREFIX = "docs"


def load(conninfo: str, *, is_read: bool = False, force: bool = False) -> bool:
    """Bring the corpus to this version's manual; return whether anything was written.

    `is_read` tells that this version read what is there: the same pages are not read again. With
    `force` they are written anew, whatever has become of them.
    Only a member of ragdb_owner may, because the corpus is read-only for everybody else; another's
    call does nothing.
    """
    with (
        as_file(files("ragdb.docs")) as folder,
        Client(in_turns(connect(conninfo, autocommit=True))) as db,
    ):
        if not roles.may_be_owner(db.connection):
            return False
        # which ingest does not do inside a transaction
        with contextlib.suppress(*upkeep.REFUSED), installing(db):
            db.maintain()
        with installing(db):
            if is_read and _there(db) == _cids(folder):
                return False
            if not is_there(db, CORPUS):
                db.create_corpus(CORPUS, TITLE)
            # wherever the package lies now: it was another folder before an upgrade, perhaps
            report = ingest(db, folder, corpus=CORPUS, glob="*.md", prefix=PREFIX, force=force)
            pages = [file.uri for file in report.files]
            gone = db.prune_sources(CORPUS, f"{PREFIX}/", pages).documents_deleted
        return bool(report.written or gone)


def _there(db: Client) -> dict[str, str]:
    """The identity of each page that the corpus has."""
    if not is_there(db, CORPUS):
        return {}
    return {row.source: row.doc_cid for row in db.list_documents(CORPUS, count=10_000)}


def _cids(folder: Path) -> dict[str, str]:
    """The identity of each page of a manual, which is that of its bytes."""
    pages = ((page.name, sha256(page.read_bytes())) for page in folder.glob("*.md"))
    return {f"{PREFIX}/{name}": f"sha256:{found.hexdigest()}" for name, found in pages}


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
