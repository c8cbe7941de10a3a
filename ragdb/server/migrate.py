"""Builds the schema: every revision of migrations/ once, then every file of sql/ again.

All of it is one transaction.
`ragdb migrate` and `alembic upgrade head` both end in `upgrade()`.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from ragdb.version import __version__

if TYPE_CHECKING:
    from alembic.runtime.environment import EnvironmentContext

Connection = psycopg.Connection[Any]

OWNER = "ragdb_owner"
# each with the role whose rights it has too
ROLES = {
    "ragdb_owner": None,
    "ragdb_reader": None,
    "ragdb_writer": "ragdb_reader",
    "ragdb_admin": "ragdb_writer",
    "bi_reader": None,
}
# A BI tool logs in as it, with a password that the DBA gives it.
LOGIN = "bi_reader"
LOGIN_SETTINGS = {
    "default_transaction_read_only": "on",
    "statement_timeout": "'30s'",
    "idle_in_transaction_session_timeout": "'60s'",
    "search_path": "bi, pg_catalog",
}
SCHEMAS = ("ragdb", "bi")
MIN_SERVER = 16
MIN_VECTOR = (0, 8)


class NotReady(Exception):
    """Something that ragdb may not make is missing; nothing was changed.

    `statements` is what a DBA runs.
    """

    def __init__(self, reason: str, statements: list[str]) -> None:
        super().__init__("\n".join([reason, *statements]))
        self.reason = reason
        self.statements = statements


class InUse(Exception):
    """Objects of the user, named in `objects`, depend on what an upgrade drops."""

    def __init__(self, objects: list[str]) -> None:
        super().__init__(
            "an upgrade drops and reloads the functions and views of ragdb, and these depend on"
            " them (drop them and make them again after):\n" + "\n".join(f"  {o}" for o in objects)
        )
        self.objects = objects


# ---- what there is to load ----------------------------------------------------------------------


@cache
def chapters() -> dict[str, str]:
    """The text of every file of sql/, in loading order."""
    found = [f for f in files("ragdb.sql").iterdir() if f.name.endswith(".sql")]
    return {f.name: f.read_text("utf-8") for f in sorted(found, key=lambda f: f.name)}


@cache
def revisions() -> dict[str, str]:
    """The text of every revision of migrations/, in order."""
    found = [f for f in files("ragdb.migrations.versions").iterdir() if f.name.endswith(".sql")]
    return {f.name[:-4]: f.read_text("utf-8") for f in sorted(found, key=lambda f: f.name)}


@cache
def stamp() -> str:
    """The comment on schema ragdb: the version, and a hash of all that was loaded."""
    loaded = hashlib.sha256()
    for name, text in [*revisions().items(), *chapters().items()]:
        loaded.update(f"{name}\0{text}\0".encode())
    return (
        f"RAG database: corpora, retrieval, slices, traces, contracts."
        f" ragdb {__version__}, source {loaded.hexdigest()[:16]}"
    )


def is_current(connection: Connection) -> bool:
    """Whether the database holds exactly what this package would load."""
    row = connection.execute(
        "select obj_description(oid, 'pg_namespace') = %s"
        " from pg_namespace where nspname = 'ragdb'",
        (stamp(),),
    ).fetchone()
    return bool(row and row[0])


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


# ---- the two ways in ----------------------------------------------------------------------------


def migrate(dsn: str, *, force: bool = False) -> bool:
    """Bring the schema of a database to that of this package; return whether anything was done.

    `force` reloads functions and views even where the schema is current.
    Raises NotReady and InUse, having changed nothing.
    """
    with psycopg.connect(dsn) as connection:
        if _is_extension(connection):
            return _update_extension(connection)
        if not force and is_current(connection):
            return False
    from alembic import command
    from alembic.config import Config

    with as_file(files("ragdb.migrations")) as folder:
        config = Config(attributes={"dsn": dsn})
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        command.upgrade(config, "head")
    return True


def upgrade(environment: EnvironmentContext, dsn: str) -> None:
    """Run what Alembic was asked to do; for `upgrade` this is the whole migration."""
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    if environment.is_offline_mode():
        raise NotReady("a script for the server is extension/ragdb--X.sql; --sql makes none", [])
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(dsn), poolclass=NullPool
    )
    with engine.connect() as outer, outer.begin():
        connection: Any = outer.connection.driver_connection
        environment.configure(connection=outer, version_table_schema="ragdb")
        if environment.context_opts.get("destination_rev") is None:  # current, history, check
            environment.run_migrations()
            return
        if _is_extension(connection):
            _update_extension(connection)
            return
        connection.execute("select pg_advisory_xact_lock(hashtextextended('ragdb migrate', 0))")
        prepare(connection)
        become_owner(connection)
        unknown = unknown_revision(connection)
        if unknown:
            raise NotReady(
                f"the schema is of a newer ragdb than {__version__}, which does not know its"
                f" revision {unknown}; upgrade the package",
                [],
            )
        drop_code(connection)
        environment.run_migrations()
        load_code(connection)


def run_script(file: str) -> None:
    """Run the .sql file beside a revision."""
    from alembic import op

    connection: Any = op.get_bind().connection.driver_connection
    connection.execute(Path(file).with_suffix(".sql").read_text("utf-8"))


# ---- the steps ----------------------------------------------------------------------------------


def become_owner(connection: Connection) -> None:
    """To the end of the transaction: be the owner, find pgvector's names and no user's."""
    connection.execute(
        "select set_config('role', %s, true),"
        " set_config('search_path', 'pg_catalog, ' || quote_ident(n.nspname), true)"
        " from pg_extension e join pg_namespace n on n.oid = e.extnamespace"
        " where e.extname = 'vector'",
        (OWNER,),
    )


def may_be_owner(connection: Connection) -> bool:
    """Whether the connecting role may `set role` to the owner; false also where there is none."""
    return bool(_facts(connection)["can_be_owner"])


def rights(connection: Connection) -> tuple[str, str | None]:
    """The connecting role, quoted, and the highest of ROLES whose rights it has as it stands."""
    row = connection.execute(
        "select quote_ident(current_user), (select r.name"
        " from unnest(%s::text[]) with ordinality r (name, place) join pg_roles on rolname = r.name"
        " where pg_has_role(oid, 'usage') order by r.place limit 1)",
        ([OWNER, "ragdb_admin", "ragdb_writer", "ragdb_reader", LOGIN],),
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def load_code(connection: Connection) -> None:
    """Run every file of sql/ and stamp the schema."""
    for name, text in chapters().items():
        try:
            connection.execute(text)
        except psycopg.Error as error:
            error.add_note(f"while loading sql/{name}")
            raise
    connection.execute(sql.SQL("comment on schema ragdb is {}").format(sql.Literal(stamp())))


# What sql/ owns: functions, views, composite types and triggers.
# Members of other extensions are not ours, wherever they are.
CODE = """
  with thing (classid, objid, kind) as (
    select 'pg_proc'::regclass, p.oid,
        case p.prokind when 'p' then 'procedure' when 'a' then 'aggregate' else 'function' end
      from pg_proc p where p.pronamespace in ('ragdb'::regnamespace, 'bi'::regnamespace)
    union all
    select 'pg_class', c.oid,
        case c.relkind when 'v' then 'view' when 'm' then 'materialized view' else 'type' end
      from pg_class c where c.relnamespace in ('ragdb'::regnamespace, 'bi'::regnamespace)
        and c.relkind in ('v', 'm', 'c')
    union all
    select 'pg_trigger', t.oid, 'trigger'
      from pg_trigger t join pg_class c on c.oid = t.tgrelid
      where c.relnamespace = 'ragdb'::regnamespace and not t.tgisinternal and t.tgparentid = 0
  )
  select * from thing t where not exists (
    select from pg_depend d where d.classid = t.classid and d.objid = t.objid and d.deptype = 'e')
"""


def drop_code(connection: Connection) -> None:
    """Drop what sql/ owns: bound bodies would block changes of columns. Raises InUse."""
    users = connection.execute(f"""
      with code as materialized ({CODE}),
      part (classid, objid) as (
        select classid, objid from code
        -- and what PostgreSQL made for them
        union select 'pg_rewrite'::regclass, r.oid
          from pg_rewrite r join code on code.kind like '%view' and code.objid = r.ev_class
        union select 'pg_type'::regclass, unnest(array[t.oid, t.typarray])
          from pg_type t join code on code.kind in ('view', 'materialized view', 'type')
            and code.objid = t.typrelid
        union select 'pg_trigger'::regclass, t.oid
          from pg_trigger t join code on code.kind = 'trigger' and code.objid = t.tgparentid
      )
      select distinct o.type || ' ' || o.identity
      from pg_depend d join part p on p.classid = d.refclassid and p.objid = d.refobjid
        left join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid,
        -- a view depends through its rule
        pg_identify_object(case when r.oid is null then d.classid else 'pg_class'::regclass end,
          coalesce(r.ev_class, d.objid), case when r.oid is null then d.objsubid else 0 end) o
      where (d.classid, d.objid) not in (select classid, objid from part)
        and d.classid <> 'pg_init_privs'::regclass
      order by 1""").fetchall()  # fmt: skip
    if users:
        raise InUse([name for (name,) in users])
    connection.execute(f"""
      do $do$ declare v_code record; begin
        for v_code in {CODE} order by kind = 'trigger' desc loop
          -- one before may have taken it along
          if v_code.classid = 'pg_proc'::regclass then
            continue when not exists (select from pg_proc where oid = v_code.objid);
            execute format('drop %s %s cascade', v_code.kind, v_code.objid::regprocedure);
          elsif v_code.classid = 'pg_class'::regclass then
            continue when not exists (select from pg_class where oid = v_code.objid);
            execute format('drop %s %s cascade', v_code.kind, v_code.objid::regclass);
          else
            execute (select format('drop trigger %I on %s', tgname, tgrelid::regclass)
              from pg_trigger where oid = v_code.objid);
          end if;
        end loop;
      end $do$""")  # fmt: skip


def create_roles(connection: Connection) -> None:
    """Make the roles and their order where missing. Roles are the whole server's."""
    for statement in _missing_roles(connection):
        connection.execute(statement)


def prepare(connection: Connection) -> None:
    """Make what must be there first: roles, pgvector, schema ragdb. Raises NotReady."""
    _require_server(connection)
    facts = _facts(connection)
    steps: list[tuple[str, bool]] = [
        (statement, facts["createrole"]) for statement in _missing_roles(connection)
    ]
    me = facts["me"]
    if not facts["can_be_owner"]:
        grant = f"grant {OWNER} to {me} with inherit false, set true"
        steps.append(
            (grant, (facts["createrole"] and facts["owner_is_missing"]) or facts["admin_of_owner"])
        )
    steps += _vector_steps(facts)
    for schema in SCHEMAS:
        owner = facts[f"owner_of_{schema}"]
        if not owner:
            step = f"create schema {schema} authorization {OWNER}"
            steps.append((step, facts["may_create_schema"]))
        elif owner != OWNER:
            steps.append((f"alter schema {schema} owner to {OWNER}", False))
    if not all(allowed for _, allowed in steps):
        raise NotReady(
            f"role {me} may not make all that database {facts['database']!r} lacks;"
            " a DBA runs there:",
            [f"{statement};" for statement, _ in steps],
        )
    for statement, _ in steps:
        connection.execute(statement)


def _require_server(connection: Connection) -> None:
    if connection.info.server_version < MIN_SERVER * 10000:
        raise NotReady(
            f"PostgreSQL {MIN_SERVER} or newer is needed;"
            f" this is {connection.info.server_version // 10000}",
            [],
        )


def _missing_roles(connection: Connection) -> list[str]:
    found = {name for (name,) in connection.execute("select rolname from pg_roles").fetchall()}
    member_of = set(
        connection.execute(
            "select roleid::regrole::text, member::regrole::text from pg_auth_members"
        ).fetchall()
    )
    made = [s for role in ROLES if role not in found for s in role_statements(role)]
    return made + [
        f"grant {lower} to {role}"
        for role, lower in ROLES.items()
        if lower and (lower, role) not in member_of
    ]


def role_statements(role: str) -> list[str]:
    """What makes a role, with its settings."""
    if role != LOGIN:
        return [f"create role {role} nologin"]
    return [f"create role {role} login"] + [
        f"alter role {role} set {name} = {value}" for name, value in LOGIN_SETTINGS.items()
    ]


def _facts(connection: Connection) -> dict[str, Any]:
    """What the connecting role has and may do here."""
    with connection.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        row = cursor.execute(
            """
            select quote_ident(current_user) as me, current_database() as database,
              u.rolsuper as superuser,
              u.rolsuper or u.rolcreaterole as createrole,
              o.oid is null as owner_is_missing,
              coalesce(pg_has_role(o.oid, 'set'), u.rolsuper) as can_be_owner,
              coalesce(pg_has_role(o.oid, 'member with admin option'), u.rolsuper)
                as admin_of_owner,
              has_database_privilege(current_database(), 'create') as may_create_schema,
              (select nspowner::regrole::text from pg_namespace where nspname = 'ragdb')
                as owner_of_ragdb,
              (select nspowner::regrole::text from pg_namespace where nspname = 'bi')
                as owner_of_bi,
              (select extversion from pg_extension where extname = 'vector') as vector,
              (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace
                where extname = 'vector') as vector_schema,
              coalesce(has_schema_privilege(o.oid, (select extnamespace from pg_extension
                where extname = 'vector'), 'usage'), u.rolsuper) as sees_vector,
              (select pg_has_role(extowner, 'usage') from pg_extension where extname = 'vector')
                as owns_vector,
              a.default_version as vector_available,
              (select v.trusted from pg_available_extension_versions v
                where v.name = 'vector' and v.version = a.default_version) as vector_trusted,
              to_regnamespace('public') is not null as has_public
            from pg_roles u
              left join pg_roles o on o.rolname = %s
              left join pg_available_extensions a on a.name = 'vector'
            where u.rolname = current_user
            """,
            (OWNER,),
        ).fetchone()
    assert row is not None
    return row


def _vector_steps(facts: dict[str, Any]) -> list[tuple[str, bool]]:
    def new_enough(version: str) -> bool:
        return tuple(int(part) for part in version.split(".")[:2]) >= MIN_VECTOR

    wanted = ".".join(map(str, MIN_VECTOR))
    if not new_enough(facts["vector"] or "0.0") and not new_enough(
        facts["vector_available"] or "0.0"
    ):
        raise NotReady(
            f"the server has no pgvector {wanted} or newer: install its package"
            " (postgresql-<major>-pgvector), or switch it on at your provider",
            [],
        )
    if facts["vector"] is None:
        trusted = facts["vector_trusted"] and facts["may_create_schema"]
        return [
            (
                "create extension vector schema public",
                (trusted or facts["superuser"]) and facts["has_public"],
            )
        ]
    steps = []
    if not new_enough(facts["vector"]):
        steps.append(("alter extension vector update", facts["owns_vector"]))
    if not facts["sees_vector"] and facts["vector_schema"] != "public":
        steps.append(
            (f'grant usage on schema "{facts["vector_schema"]}" to {OWNER}', facts["superuser"])
        )
    return steps


# ---- where the extension owns the schema --------------------------------------------------------


def _is_extension(connection: Connection) -> bool:
    return bool(connection.execute("select from pg_extension where extname = 'ragdb'").fetchall())


def _update_extension(connection: Connection) -> bool:
    """Bring the extension to the version of the server's files; return whether it moved."""
    before, after, mine = connection.execute(
        "select e.extversion, a.default_version, pg_has_role(e.extowner, 'usage')"
        " from pg_extension e join pg_available_extensions a on a.name = e.extname"
        " where e.extname = 'ragdb'"
    ).fetchall()[0]
    if before == after:
        return False
    if not mine:
        raise NotReady(
            "the extension ragdb belongs to another role; its owner runs:",
            ["alter extension ragdb update;"],
        )
    connection.execute("alter extension ragdb update")
    return True
