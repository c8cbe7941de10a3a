"""A database whose schema `create extension ragdb` made: the files of its server bring it on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragdb.server.prepare import NotReady
from ragdb.server.scripts import is_current, newer_version
from ragdb.version import __version__

if TYPE_CHECKING:
    from ragdb.server.roles import Connection


def is_extension(connection: Connection) -> bool:
    return bool(connection.execute("select from pg_extension where extname = 'ragdb'").fetchall())


def update(connection: Connection) -> bool:
    """Bring the extension to the version of the server's files; return whether it moved.

    Raises NotReady where these have no other, and it is not that of this package.
    """
    before, after, mine = connection.execute(
        "select e.extversion, a.default_version, pg_has_role(e.extowner, 'usage')"
        " from pg_extension e left join pg_available_extensions a on a.name = e.extname"
        " where e.extname = 'ragdb'"
    ).fetchall()[0]
    if after in (None, before):
        if not is_current(connection):
            refuse_newer(connection)
            way = (
                ", and the server has the files of no later one: copy those of this package there"
                if before != __version__
                else ": export each corpus, drop the extension, copy the files of this package to"
                " the server, create it again and import"
            )
            raise NotReady(
                f"extension ragdb {before} is of another build than ragdb {__version__} here{way}",
                [],
            )
        return False
    if not mine:
        raise NotReady(
            "the extension ragdb belongs to another role, which must run:",
            ["alter extension ragdb update;"],
        )
    connection.execute("alter extension ragdb update")
    return True


def refuse_newer(connection: Connection) -> None:
    """Raise NotReady where a later version than this made the schema."""
    if newer := newer_version(connection):
        raise NotReady(
            f"the schema is of ragdb {newer}, which is newer than {__version__}; upgrade the"
            " package",
            [],
        )
