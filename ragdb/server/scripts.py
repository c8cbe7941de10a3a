"""What there is to load: the revisions of migrations/, the files of sql/, and their stamp.

The build of the wheel imports this, where there is no psycopg.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from ragdb.server.roles import SCHEMAS
from ragdb.version import __version__

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from ragdb.server.roles import Connection

_STAMP = re.compile(r"ragdb (\d+(?:\.\d+)*), source \w+$")


def order(folder: Traversable) -> dict[str, str]:
    """The files that ORDER of a folder lists, in loading order, each with its sentence."""
    lines = folder.joinpath("ORDER").read_text("utf-8").splitlines()
    found = (line.partition(" ") for line in lines if line.strip())
    return {file: sentence.strip() for file, _, sentence in found}


@cache
def chapters() -> dict[str, str]:
    """The text of every file of sql/, in loading order."""
    folder = files("ragdb.sql")
    return {name: folder.joinpath(name).read_text("utf-8") for name in order(folder)}


@cache
def revisions() -> dict[str, dict[str, str]]:
    """The files of every revision of migrations/ and their text, in loading order."""
    found = [f for f in files("ragdb.migrations.versions").iterdir() if f.is_dir()]
    scripts = {f.name: _scripts(f) for f in sorted(found, key=lambda f: f.name)}
    return {name: texts for name, texts in scripts.items() if texts}


def _scripts(folder: Traversable) -> dict[str, str]:
    found = [f for f in folder.iterdir() if f.name.endswith(".sql")]
    return {f.name: f.read_text("utf-8") for f in sorted(found, key=lambda f: f.name)}


def folders() -> dict[str, dict[str, str]]:
    """All that makes the schema, folder by folder, in loading order."""
    return {f"migrations/versions/{name}": texts for name, texts in revisions().items()} | {
        "sql": chapters()
    }


@cache
def stamp() -> str:
    """The comment on schema ragdb: the version, and a hash of all that was loaded."""
    loaded = hashlib.sha256()
    for texts in folders().values():
        for name, text in texts.items():
            loaded.update(f"{name}\0{text}\0".encode())
    return (
        f"RAG database: corpora, retrieval, slices, traces, contracts."
        f" ragdb {__version__}, source {loaded.hexdigest()[:16]}"
    )


@cache
def made_by(revision: str) -> str:
    """A hash of the scripts that lead to a revision, whatever their blanks and remarks."""
    hashed = hashlib.sha256()
    for name, texts in revisions().items():
        for text in texts.values():
            code = " ".join(re.sub(r"--.*", "", text).split())
            hashed.update(code.encode())
        if name == revision:
            break
    return hashed.hexdigest()[:16]


def stamp_tables(connection: Connection) -> None:
    """Leave in the database which revision its tables are of, and what made them."""
    from psycopg import sql

    revision = list(revisions())[-1]
    text = f"Revision of the tables, for Alembic. {revision}, source {made_by(revision)}."
    if _mark(connection) != text:  # what they were is not what they are to be
        connection.execute("delete from ragdb.installed_code")
    connection.execute(
        sql.SQL("comment on table ragdb.alembic_version is {}").format(sql.Literal(text))
    )


def other_tables(connection: Connection) -> bool:
    """Whether the tables say that other scripts made them than the revisions of this package."""
    found = re.search(r"(\w+), source (\w+)\.$", _mark(connection))
    return bool(found and found[1] in revisions() and made_by(found[1]) != found[2])


def _mark(connection: Connection) -> str:
    """What `stamp_tables` left."""
    row = connection.execute(
        "select obj_description(c.oid, 'pg_class') from pg_class c"
        " join pg_namespace n on n.oid = c.relnamespace"
        " where n.nspname = 'ragdb' and c.relname = 'alembic_version'"
    ).fetchone()
    return (row and row[0]) or ""


def run(connection: Connection, folder: str, texts: dict[str, str]) -> None:
    """Run the files of a folder; an error says in which of them it was."""
    for name, text in texts.items():
        try:
            connection.execute(text)
        except Exception as error:
            error.add_note(f"while loading {folder}/{name}")
            raise


def is_current(connection: Connection) -> bool:
    """Whether the database holds exactly what this package would load."""
    there = "select count(*) from pg_namespace where nspname = any (%s)"
    # a dump may be of schema ragdb alone, which has the stamp
    return _stamped(connection) == stamp() and connection.execute(
        there, (list(SCHEMAS),)
    ).fetchone() == (len(SCHEMAS),)


def renamed(connection: Connection) -> list[tuple[str, str]]:
    """The schemas of ragdb under another name: that one, quoted, and their own, which none has.

    They are known by their comments, of which that of schema ragdb is the stamp.
    """
    known = {"ragdb": _STAMP.pattern}
    for text in chapters().values():
        for name, said in re.findall(r"^comment on schema (\w+) is '(.+)';$", text, re.MULTILINE):
            known[name] = f"^{re.escape(said)}$"
    return connection.execute(
        "select quote_ident(n.nspname), own from unnest(%s::text[], %s::text[]) k (own, said)"
        " join pg_namespace n on obj_description(n.oid, 'pg_namespace') ~ said"
        " where not exists (select from pg_namespace where nspname = own) order by 1",
        (list(known), list(known.values())),
    ).fetchall()


def lost_tables(connection: Connection) -> list[str]:
    """The tables that the stamp promises and that are not there, as after half a restore.

    `drop extension` leaves the stamp on a schema that has nothing.
    """
    if _stamped(connection) != stamp() or _is_bare(connection):
        return []
    made = [
        name
        for texts in revisions().values()
        for text in texts.values()
        for name in re.findall(r"^create table ragdb\.(\w+)", text, re.MULTILINE)
    ]
    # to_regclass finds none for a role that may not use the schema
    found = connection.execute(
        "select name from unnest(%s::text[]) name where not exists ("
        " select from pg_class where relname = name and relnamespace = ("
        " select oid from pg_namespace where nspname = 'ragdb')) order by 1",
        (made,),
    ).fetchall()
    return [name for (name,) in found]


def _is_bare(connection: Connection) -> bool:
    """Whether schema ragdb is all that is there of ragdb, and has neither tables nor functions."""
    return not connection.execute(
        "select from pg_namespace n where nspname = any (%s) and (nspname <> 'ragdb'"
        " or exists (select from pg_class where relnamespace = n.oid)"
        " or exists (select from pg_proc where pronamespace = n.oid))",
        (list(SCHEMAS),),
    ).rowcount


def is_ours(connection: Connection) -> bool | None:
    """Whether the schema of the database is of this version and build; None where it has none."""
    found = _stamped(connection)
    return None if found is None else found == stamp()


def is_there(connection: Connection) -> bool:
    """Whether the database holds a schema of ragdb, of whatever version and whoever owns it."""
    return bool(_stamped(connection))


def _stamped(connection: Connection) -> str | None:
    row = connection.execute(
        "select coalesce(obj_description(oid, 'pg_namespace'), '')"
        " from pg_namespace where nspname = 'ragdb'"
    ).fetchone()
    return row[0] if row else None


def loaded(connection: Connection) -> str | None:
    """The version and the hash of what was loaded, where the schema has a stamp."""
    found = _loaded(connection)
    return found[0] if found else None


def newer_version(connection: Connection) -> str | None:
    """The version of ragdb that loaded the schema, where it is a later one than this."""
    found = _loaded(connection)
    return found[1] if found and _numbers(found[1]) > _numbers(__version__) else None


def _loaded(connection: Connection) -> re.Match[str] | None:
    return _STAMP.search(_stamped(connection) or "")


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


def unknown_revision(connection: Connection) -> str | None:
    """The revision of the database that this package has not, where the role may see it."""
    readable = connection.execute(
        "select from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " where n.nspname = 'ragdb' and c.relname = 'alembic_version'"
        " and has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')"
    ).fetchall()
    if not readable:
        return None
    found = connection.execute("select version_num from ragdb.alembic_version").fetchall()
    return next((name for (name,) in found if name not in revisions()), None)
