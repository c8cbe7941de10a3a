"""ragdb: a RAG database inside PostgreSQL.

>>> import ragdb
>>> db = ragdb.connect()
>>> db.ingest("docs/", corpus="docs")
>>> db.search("docs", "refunds")
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragdb.version import __version__

if TYPE_CHECKING:
    from ragdb.database import AsyncDatabase, Database, aconnect, connect
    from ragdb.errors import RagdbError
    from ragdb.servers.servers import Servers

__all__ = [
    "AsyncDatabase",
    "Database",
    "RagdbError",
    "Servers",
    "__version__",
    "aconnect",
    "connect",
]

# In a checkout the parts that are not Python (ragdb.sql, ragdb.docs, …) stand beside the package.
# Whoever starts Python there gets that package, whatever is installed.
_beside = Path(__file__).parents[1]
if (_beside / "sql" / "ORDER").is_file():
    __path__.append(str(_beside))


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # psycopg takes longer to import than `ragdb --help` may take
    if name in ("AsyncDatabase", "Database", "aconnect", "connect"):
        from ragdb import database

        return getattr(database, name)
    if name == "Servers":
        from ragdb.servers.servers import Servers

        return Servers
    if name == "RagdbError":
        from ragdb.errors import RagdbError

        return RagdbError
    raise AttributeError(f"module 'ragdb' has no attribute {name!r}")
