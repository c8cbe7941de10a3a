"""ragdb's own manual as the read-only corpus `system`, so that a fresh database can be searched."""

from __future__ import annotations

from importlib.resources import as_file, files

import psycopg

from ragdb.client.client import Client
from ragdb.ingest.ingest import ingest
from ragdb.server import roles

CORPUS = "system"


def load(conninfo: str) -> bool:
    """Bring the corpus to this version's manual; return whether anything was written.

    Only a member of ragdb_owner may: the corpus is read-only for everybody else.
    """
    with (
        as_file(files("ragdb.docs")) as folder,
        Client(psycopg.connect(conninfo, autocommit=True)) as db,
    ):
        if roles.may_be_owner(db.connection):
            # who migrates may have its rights by `set role` only
            db.connection.execute(f"set role {roles.OWNER}")
        report = ingest(db, folder, corpus=CORPUS, glob="*.md", prune=True)
        return bool(report.written or report.pruned)
