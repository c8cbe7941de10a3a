"""ragdb: a RAG database inside PostgreSQL.

>>> import ragdb
>>> db = ragdb.connect()
>>> db.ingest("docs/", corpus="docs")
>>> db.search("docs", "refunds")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragdb.version import __version__

if TYPE_CHECKING:
    from ragdb.database import AsyncDatabase, Database, aconnect, connect
    from ragdb.errors import RagdbError

__all__ = ["AsyncDatabase", "Database", "RagdbError", "__version__", "aconnect", "connect"]


def __getattr__(name: str) -> Any:
    # psycopg takes longer to import than `ragdb --help` may take
    if name in ("AsyncDatabase", "Database", "aconnect", "connect"):
        from ragdb import database

        return getattr(database, name)
    if name == "RagdbError":
        from ragdb.errors import RagdbError

        return RagdbError
    raise AttributeError(f"module 'ragdb' has no attribute {name!r}")
