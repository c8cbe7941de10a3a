"""Builds the schema: every revision of migrations/ once, then every file of sql/ again.

All of it is one transaction. `ragdb migrate` and `alembic upgrade head` both end in `upgrade()`.
"""

from __future__ import annotations

import time
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import psycopg

from ragdb.client import readonly
from ragdb.client.connecting import connect, in_turns
from ragdb.server.code import drop_code, load_code, wait_for_vacuums
from ragdb.server.extended import is_extension, refuse_newer, update
from ragdb.server.prepare import NotReady, admit, check_whole, prepare, restored_by
from ragdb.server.roles import OWNER, SCHEMAS, become_owner, may_be_owner, rights
from ragdb.server.scripts import (
    is_current,
    loaded,
    other_tables,
    revisions,
    run,
    stamp,
    stamp_tables,
    unknown_revision,
)
from ragdb.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from sqlalchemy.exc import DBAPIError

    from ragdb.server.postgres import Say
    from ragdb.server.roles import Connection


TRIES = 5
# How long it waits for all its locks, while everybody else waits for those that it has: not the
# second after which PostgreSQL ends one of those that wait for each other. How long it waits for a
# vacuum, which is longer than that second; how long it lets others work before it tries again; and
# for how long it tries.
AT_MOST, FOR_VACUUM, PAUSE_S, TRIES_FOR_S = "800ms", "3s", 5.0, 600.0
MOST_ADVICE = 5
# by the functions that Alembic runs a verb by
NOT_DONE = {
    "downgrade": "migrations of ragdb go up only; a backup is the way back",
    "retrieve_migrations": "alembic has nothing to compare with: tables are declared in SQL alone;"
    " `ragdb init` brings a database to this version",
}


def migrate(dsn: str, *, force: bool = False, say: Say | None = None) -> bool:
    """Bring the schema of a database to that of this package; return whether anything was done.

    `force` reloads functions and views even where the schema is current, and drops those that
    others made in the schemas of ragdb. `say` hears of those of another build that were replaced,
    and whom this waits for. While others use what it changes, it gives way to all who come, and
    tries again; a lock_timeout of the session's own ends it.
    Raises NotReady, OtherBuild, InUse, NeverFree and ReadOnlySqlTransaction, having changed
    nothing.
    """
    with in_turns(connect(dsn)) as connection:
        if is_extension(connection):
            return update(connection)
        check_whole(connection)
        owner = restored_by(connection)
        takes_others, force = force, force or owner is not None
        if not force and is_current(connection):
            return False
        readonly.check("init writes", connection)
        before = loaded(connection)
    from alembic.config import Config

    with as_file(files("ragdb.migrations")) as folder:
        attributes = {"dsn": dsn, "force": force, "takes_others": takes_others}
        attributes |= {"say": say, "gives_way": True}
        config = Config(attributes=attributes)
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        _upgrade_when_free(config)
    if config.attributes.get("was_current", False):
        return False
    if say and owner:
        say(f"all of ragdb belonged to role {owner}, which gave it back to {OWNER}")
    if say and before and not stamp().endswith(before):
        say(f"the functions of {before} were replaced by those of ragdb {__version__} here")
    return True


def _upgrade_when_free(config: Config) -> None:
    """Run the migration, again where programs that go on working were in its way."""
    from alembic import command
    from sqlalchemy.exc import DBAPIError

    say, deadlocks = config.attributes["say"], 0
    until = time.monotonic() + TRIES_FOR_S
    while True:
        try:
            return command.upgrade(config, "head")
        except psycopg.errors.DeadlockDetected:
            deadlocks += 1
            if deadlocks == TRIES:
                raise
        except psycopg.errors.LockNotAvailable:
            if not config.attributes["gives_way"]:
                raise
            if time.monotonic() >= until:
                raise NeverFree from None
            if say:
                say(f"others use what it changes; it tries again every {PAUSE_S:.0f} seconds")
                say = None
            time.sleep(PAUSE_S)
        except DBAPIError as error:
            raise _first(error) from None


def _first(error: DBAPIError) -> BaseException:
    """What psycopg raised first: what ends a connection has its rollback fail as well."""
    found: BaseException = error.orig or error
    while isinstance(found.__context__, psycopg.Error):
        found = found.__context__
    return found


class NeverFree(Exception):
    """Others used what an upgrade changes as long as it tried; nothing was changed."""

    exit_code = 3
    hint = (
        "repeat it when less is asked; who has been at work longest: select pid, usename, query"
        " from pg_stat_activity order by xact_start"
    )

    def __init__(self) -> None:
        super().__init__(
            f"nothing was changed: others used what it changes for {TRIES_FOR_S / 60:.0f} minutes"
        )


class OtherBuild(Exception):
    """Another build of the same version made the tables, and no revision leads from them."""

    exit_code = 3
    hint = (
        "with the build that made them: `ragdb export CORPUS FILE` for each corpus; then, in psql:"
        f" drop schema {', '.join(SCHEMAS)} cascade; or, if the server is the embedded one:"
        " `ragdb down`, and move its data folder away; then here: `ragdb init`, `ragdb import FILE`"
    )

    def __init__(self, detail: str = "") -> None:
        said = f"the tables of this database were made by another build of ragdb {__version__}"
        super().__init__(f"{said}: {detail}" if detail else said)


def advice(dsn: str) -> Iterator[str]:
    """What an installer should know: what it lacks, is not as installed, or an older server wrote.

    What it lacks and may take, it gets here.
    """
    with psycopg.connect(dsn) as connection:
        me, _ = rights(connection)
        lacks = admit(connection)
        connection.commit()
        if lacks:
            yield f"role {me} may use nothing of ragdb yet; a DBA must run: {lacks}"
        if may_be_owner(connection):
            become_owner(connection)
            found = connection.execute(
                "select f.severity, f.place, f.finding, f.advice"
                " from ragdb.verify(quick => true, checks => '{code, rights, pgvector}') f"
                " where f.severity <> 'note'"
            ).fetchall()
            for severity, place, finding, what in found[:MOST_ADVICE]:
                yield f"{severity}: {place}: {finding}: {what}"
            if len(found) > MOST_ADVICE:
                yield f"and {len(found) - MOST_ADVICE} more: `ragdb verify --quick` lists them"
            if connection.execute(
                "select from ragdb.corpora c where ragdb_internal.is_stemmed_otherwise(c) limit 1"
            ).rowcount:
                yield (
                    "there are corpora whose words another major version of PostgreSQL stemmed, so"
                    " a few may not be found: `ragdb doctor` names them"
                )


def upgrade(environment: EnvironmentContext, dsn: str) -> None:
    """Run what Alembic was asked to do; for `upgrade` this is the whole migration.

    Raises CommandError, which Alembic shows as one sentence, for what is not done here.
    """
    from alembic.util import CommandError
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    refused = NOT_DONE.get(environment.context_opts["fn"].__name__)
    if environment.is_offline_mode():
        refused = "--sql makes no script; `create extension ragdb` runs one on the server"
    if refused:
        raise CommandError(refused)
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: in_turns(connect(dsn)), poolclass=NullPool
    )
    with engine.connect() as outer, outer.begin():
        connection: Any = outer.connection.driver_connection
        environment.configure(connection=outer, version_table_schema="ragdb")
        if environment.context_opts.get("destination_rev") is None:  # current, history, check
            environment.run_migrations()
            return
        if is_extension(connection):
            update(connection)
            return
        attributes = environment.config.attributes
        lock(connection, attributes.get("say"))
        if attributes.get("gives_way"):
            attributes["gives_way"] = _give_way(connection)
        # our files have no other backslashes, whatever the database or the role has set
        connection.execute("set local standard_conforming_strings = on")
        if not attributes.get("force", True) and is_current(connection):
            attributes["was_current"] = True  # another process did it meanwhile
            return
        prepare(connection)
        become_owner(connection)
        unknown = unknown_revision(connection)
        if unknown:
            raise NotReady(
                f"the schema is of a newer ragdb than {__version__}, which does not know its"
                f" revision {unknown}; upgrade the package",
                [],
            )
        refuse_newer(connection)
        if other_tables(connection):
            raise OtherBuild
        wait_for_vacuums(connection, FOR_VACUUM if attributes.get("gives_way") else None)
        drop_code(connection, takes_others=attributes.get("takes_others", False))
        environment.run_migrations()
        stamp_tables(connection)
        try:
            load_code(connection)
        except psycopg.errors.UndefinedColumn as error:
            # made before builds left their mark
            raise OtherBuild(str(error.diag.message_primary)) from error


def lock(connection: Connection, say: Say | None = None) -> None:
    """To the end of the transaction: be the one process that installs ragdb in this database.

    There is no table yet that could be locked. Any role can take this lock; `say` hears who has it.
    """
    key = "hashtextextended('ragdb migrate', 0)"
    if connection.execute(f"select pg_try_advisory_xact_lock({key})").fetchone() == (True,):
        return
    if say:
        for pid, role in connection.execute(
            "select a.pid, a.usename from pg_locks l join pg_stat_activity a using (pid)"
            " where l.locktype = 'advisory' and l.granted and a.datname = current_database()"
            f" and (l.classid::bigint << 32 | l.objid::bigint) = {key}"
        ).fetchall():
            say(
                f"it waits for process {pid} of role {role}, which holds the lock of `ragdb init`;"
                f" if that is none, a superuser ends it: select pg_terminate_backend({pid})"
            )
    connection.execute(f"select pg_advisory_xact_lock({key})")


def _give_way(connection: Connection) -> bool:
    """Wait for no lock for long, to the end of the transaction, where the session has no limit."""
    set_config = (
        "select set_config('lock_timeout', %s, true) where current_setting('lock_timeout') = '0'"
    )
    return bool(connection.execute(set_config, (AT_MOST,)).fetchall())


def run_script(revision: str) -> None:
    """Run every file in the folder of a revision."""
    from alembic import op

    connection: Any = op.get_bind().connection.driver_connection
    run(connection, f"migrations/versions/{revision}", revisions()[revision])
