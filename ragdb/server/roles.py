"""The roles of ragdb, and what makes them.

The build of the wheel imports this, where there is no psycopg.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragdb.server.scripts import Connection

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

# A BI tool logs in as it, with a password that the DBA gives it.
LOGIN = "bi_reader"

LOGIN_SETTINGS = {
    "default_transaction_read_only": "on",
    "statement_timeout": "'30s'",
    "idle_in_transaction_session_timeout": "'60s'",
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
        ([OWNER, "ragdb_admin", "ragdb_writer", "ragdb_reader", LOGIN],),
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def create_roles(connection: Connection) -> None:
    """Make the roles and their order where missing. Roles are the whole server's."""
    for statement in missing_roles(connection):
        connection.execute(statement)


def missing_roles(connection: Connection) -> list[str]:
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


def facts_of(connection: Connection) -> dict[str, Any]:
    """What the connecting role has and may do here."""
    from psycopg.rows import dict_row

    with connection.cursor(row_factory=dict_row) as cursor:
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
              (select nspowner::regrole::text from pg_namespace where nspname = 'ragdb_internal')
                as owner_of_ragdb_internal,
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
