"""The roles of ragdb, and what makes them.

The build of the wheel imports this, where there is no psycopg.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

OWNER = "ragdb_owner"

# each with the role whose rights it has too
ROLES = {
    "ragdb_owner": None,
    "ragdb_reader": None,
    "ragdb_writer": "ragdb_reader",
    "ragdb_admin": "ragdb_writer",
    "ragdb_auditor": "ragdb_reader",
    "ragdb_signer": "ragdb_reader",
    "bi_reader": None,
}

# whoever has the rights of one of these can work
GROUPS = (OWNER, "ragdb_admin", "ragdb_writer", "ragdb_reader")

# what an installer gets: to be the owner, which it may be too, is for upgrades alone
ADMITTED = "ragdb_admin"

# A BI tool logs in as it, with a password that the DBA gives it.
LOGIN = "bi_reader"

# what each may do, for whoever asks why something is refused
MAY = {
    OWNER: "may do everything",
    "ragdb_admin": "reads, writes and administers every corpus",
    "ragdb_writer": "reads and writes every corpus that is not restricted",
    "ragdb_reader": "reads every corpus that is not restricted, and writes where a grant says so",
    LOGIN: "reads the views of dashboards, and nothing else",
}

LOGIN_SETTINGS = {
    "default_transaction_read_only": "on",
    "statement_timeout": "'30s'",
    "idle_in_transaction_session_timeout": "'60s'",
    "jit": "off",
    "search_path": "bi, pg_catalog",
}

SCHEMAS = ("ragdb", "ragdb_internal", "bi")


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
    return bool(facts_of(connection)["can_be_owner"])


def rights(connection: Connection) -> tuple[str, str | None]:
    """The connecting role, quoted, and the highest of ROLES whose rights it has as it stands."""
    row = connection.execute(
        "select quote_ident(current_user), (select r.name"
        " from unnest(%s::text[]) with ordinality r (name, place) join pg_roles on rolname = r.name"
        " where pg_has_role(oid, 'usage') order by r.place limit 1)",
        ([*GROUPS, LOGIN],),
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def create_roles(connection: Connection) -> None:
    """Make the roles and their order where missing. Roles are the whole server's."""
    for _, statement in role_steps(connection):
        make(connection, statement)


def make(connection: Connection, statement: str) -> None:
    """Make something that is missing, unless somebody else makes it at this moment.

    Roles are the whole server's, so that may be an installer of another of its databases: no lock
    of this one keeps it away.
    """
    from psycopg import errors

    with (
        contextlib.suppress(errors.DuplicateObject, errors.UniqueViolation),
        connection.transaction(),
    ):
        connection.execute(statement)


def role_steps(connection: Connection) -> list[tuple[str | None, str]]:
    """What makes what is missing of the roles and their order.

    Each statement comes with the role that must be the caller's to give, or None: it makes one.
    """
    found = {name for (name,) in connection.execute("select rolname from pg_roles").fetchall()}
    member_of = set(
        connection.execute(
            "select pg_get_userbyid(roleid)::text, pg_get_userbyid(member)::text"
            " from pg_auth_members"
        ).fetchall()
    )
    steps: list[tuple[str | None, str]] = [
        (None, role_statement(role)) for role in ROLES if role not in found
    ]
    return steps + [
        # who makes a role may give it
        (lower if lower in found else None, f"grant {lower} to {role}")
        for role, lower in ROLES.items()
        if lower and (lower, role) not in member_of
    ]


def role_statement(role: str) -> str:
    """What makes a role, with its settings: all of it, or nothing where somebody else makes it."""
    if role != LOGIN:
        return f"create role {role} nologin"
    settings = (f"alter role {role} set {name} = {value}" for name, value in LOGIN_SETTINGS.items())
    return ";\n".join([f"create role {role} login", *settings])


def facts_of(connection: Connection) -> dict[str, Any]:
    """What the connecting role has and may do here."""
    from psycopg.rows import dict_row

    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(
            """
            select quote_ident(current_user) as me, quote_ident(current_database()) as database,
              u.rolsuper as superuser,
              u.rolsuper or u.rolcreaterole as createrole,
              o.oid is null as owner_is_missing,
              coalesce(pg_has_role(o.oid, 'set'), u.rolsuper) as can_be_owner,
              array(select rolname::text from pg_roles
                where pg_has_role(oid, 'member with admin option')) as may_give,
              u.rolsuper or exists (select from pg_roles
                where rolname = any (%s) and pg_has_role(oid, 'usage')) as is_admitted,
              has_database_privilege(current_database(), 'create') as may_create_schema,
              (select pg_get_userbyid(nspowner)::text from pg_namespace
                where nspname = 'ragdb') as owner_of_ragdb,
              (select pg_get_userbyid(nspowner)::text from pg_namespace
                where nspname = 'ragdb_internal') as owner_of_ragdb_internal,
              (select pg_get_userbyid(nspowner)::text from pg_namespace
                where nspname = 'bi') as owner_of_bi,
              pg_is_in_recovery() as is_standby,
              x.extversion as vector,
              pg_has_role(x.extowner, 'usage') as owns_vector,
              quote_ident(coalesce(n.nspname, 'extensions')) as vector_schema,
              n.oid is null as vector_schema_is_missing,
              coalesce(has_schema_privilege(o.oid, n.oid, 'usage'), exists (
                select from aclexplode(n.nspacl) where grantee = 0 and privilege_type = 'USAGE'))
                as sees_vector,
              n.oid is null or pg_has_role(n.nspowner, 'usage')
                or has_schema_privilege(n.oid, 'usage with grant option') as may_show_vector,
              a.default_version as vector_available
            from pg_roles u
              left join pg_roles o on o.rolname = %s
              left join pg_extension x on x.extname = 'vector'
              left join pg_namespace n on n.oid = coalesce(
                x.extnamespace, to_regnamespace('public'), to_regnamespace('extensions'))
              left join pg_available_extensions a on a.name = 'vector'
            where u.rolname = current_user
            """,
            (list(GROUPS), OWNER),
        ).fetchone()
    assert row is not None
    return row
