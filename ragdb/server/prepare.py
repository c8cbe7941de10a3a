"""Make what must be there before the schema, or say what a DBA has to run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg

from ragdb.server.roles import (
    ADMITTED,
    OWNER,
    ROLES,
    SCHEMAS,
    facts_of,
    make,
    role_statement,
    role_steps,
)
from ragdb.server.scripts import is_there, lost_tables, renamed

if TYPE_CHECKING:
    from ragdb.server.roles import Connection

MIN_SERVER = 16
MIN_VECTOR = (0, 8)
MOST_NAMED = 5


_NAMES = ", ".join(f"'{schema}'" for schema in SCHEMAS)
# What the caller has of ragdb becomes its owner's, and nothing else that the caller has. The
# schemas come last: after them the caller finds nothing that is in them.
GIVE_BACK = f"""do $$ declare v_thing text; begin
  for v_thing in
    with ours (oid, name) as (
      select oid, nspname from pg_namespace where nspname in ({_NAMES}))
    select format('grant all on schema %s to {OWNER}', name) from ours
    union all
    select format('alter %s owner to {OWNER}', thing) from (
      select 'routine ' || p.oid::regprocedure, proowner
        from pg_proc p join ours o on o.oid = pronamespace
      union all
      select case relkind when 'c' then 'type ' else 'table ' end || c.oid::regclass, relowner
        from pg_class c join ours o on o.oid = relnamespace where relkind in ('r', 'p', 'v', 'c')
    ) t (thing, owner) where pg_get_userbyid(owner) = current_user
    union all
    select format('alter schema %s owner to {OWNER}', name) from ours
  loop
    execute v_thing;
  end loop;
end $$"""


class NotReady(Exception):
    """Something that ragdb may not make is missing; nothing was changed.

    `statements` is what a DBA runs.
    """

    exit_code = 3

    def __init__(self, reason: str, statements: list[str]) -> None:
        super().__init__("\n".join([reason, *statements]))
        self.reason = reason
        self.statements = statements


@dataclass(frozen=True)
class Step:
    """A statement, whether the connecting role may run it, and whether a migration needs it."""

    statement: str
    allowed: bool
    needed: bool = True


def restored_by(connection: Connection) -> str | None:
    """The role that has all of ragdb in the place of its owner, as after pg_restore --no-owner."""
    row = connection.execute(
        "select quote_ident(pg_get_userbyid(nspowner)) from pg_namespace"
        " where nspname = 'ragdb' and pg_get_userbyid(nspowner) <> %s",
        (OWNER,),
    ).fetchone()
    return row[0] if row and is_there(connection) else None


def owned_otherwise(owner: str) -> NotReady:
    """That another role than its own has all of ragdb, and who gives it back."""
    return NotReady(
        f"all of ragdb belongs to role {owner} and not to {OWNER}, as after pg_restore --no-owner:"
        f" run as {owner}, `ragdb init` gives it back",
        [],
    )


def check_whole(connection: Connection) -> None:
    """Raise NotReady where tables are missing that were there, or are under another name."""
    if found := renamed(connection):
        name, own = found[0]
        raise NotReady(
            f"schema {name} is {own} under another name, under which nothing of ragdb works",
            [f"alter schema {name} rename to {own};" for name, own in found],
        )
    if lost := lost_tables(connection):
        named = ", ".join(lost[:MOST_NAMED]) + (", …" if len(lost) > MOST_NAMED else "")
        raise NotReady(
            f"{len(lost)} of the tables of ragdb are missing ({named}), as after a restore that"
            " went on after errors: restore the dump again into an empty database, where pgvector"
            " is in the schema that it was in",
            [],
        )


def taken(connection: Connection) -> NotReady | None:
    """Why nothing can be installed where somebody else uses the name of a schema of ragdb."""
    found = connection.execute(
        """
        select quote_ident(n.nspname), quote_ident(current_database()), quote_ident(min(o.name))
        from pg_namespace n join lateral (
            select relname from pg_class where relnamespace = n.oid union all
            select proname from pg_proc where pronamespace = n.oid) o (name) on true
        where n.nspname = any (%s) and pg_get_userbyid(n.nspowner) <> %s
        group by n.nspname order by n.nspname limit 1
        """,
        (list(SCHEMAS), OWNER),
    ).fetchone()
    if found is None or is_there(connection):
        return None
    schema, database, thing = found
    *most, last = SCHEMAS
    return NotReady(
        f"schema {schema} of database {database} is somebody else's: {thing} is in it. ragdb needs"
        f" {', '.join(most)} and {last} for itself: install it in a database of its own, or have"
        " that schema renamed",
        [],
    )


def prepare(connection: Connection) -> None:
    """Make what must be there first: roles, pgvector, schema ragdb. Raises NotReady."""
    _require_server(connection)
    facts = facts_of(connection)
    check_whole(connection)
    owner = restored_by(connection)
    if owner not in (None, facts["me"]):
        raise owned_otherwise(owner)
    if refused := taken(connection):
        raise refused
    steps = _role_steps(connection, facts) + _vector_steps(connection, facts)
    steps += _schema_steps(facts, is_restored=owner is not None)
    if any(step.needed and not step.allowed for step in steps):
        raise NotReady(
            f"role {facts['me']} may not make all that database {facts['database']} lacks;"
            " a DBA must run there:",
            _for_the_dba(steps),
        )
    for step in steps:
        if step.allowed:
            make(connection, step.statement)


def admit(connection: Connection) -> str | None:
    """Give the connecting role the rights to work, if it has none.

    Returns the statement by which a DBA does it, where the role may not.
    """
    for step in _admission(facts_of(connection)):
        if not step.allowed:
            return f"{step.statement};"
        make(connection, step.statement)
    return None


def _for_the_dba(steps: list[Step]) -> list[str]:
    """All that a DBA runs at once, in an order that works, whether a superuser or not."""
    denied = [step.statement for step in steps if not step.allowed]
    everything = [step.statement for step in steps]
    missing = [role for role in ROLES if role_statement(role) in everything]
    if any(role in statement for role in missing for statement in denied):
        denied = everything
    first = next((n for n, s in enumerate(denied) if f"authorization {OWNER}" in s), None)
    if first is not None:
        # PostgreSQL lets only a member make a schema for another role, or a superuser
        denied.insert(first, f"grant {OWNER} to current_user with inherit false, set true")
    return [line for statement in denied for line in f"{statement};".split("\n")]


def _role_steps(connection: Connection, facts: dict[str, Any]) -> list[Step]:
    steps = [
        Step(statement, facts["createrole"] if role is None else role in facts["may_give"])
        for role, statement in role_steps(connection)
    ]
    if not facts["can_be_owner"]:
        grant = f"grant {OWNER} to {facts['me']} with inherit false, set true"
        made = facts["owner_is_missing"] and facts["createrole"]
        steps.append(Step(grant, made or OWNER in facts["may_give"]))
    return steps + _admission(facts)


def _admission(facts: dict[str, Any]) -> list[Step]:
    """Who installs goes on to work: it gets the role for that, unless it has one."""
    if facts["is_admitted"]:
        return []
    made = facts["owner_is_missing"] and facts["createrole"]
    grant = f"grant {ADMITTED} to {facts['me']} with inherit true"
    return [Step(grant, made or ADMITTED in facts["may_give"], needed=False)]


def _schema_steps(facts: dict[str, Any], *, is_restored: bool) -> list[Step]:
    missing = [schema for schema in SCHEMAS if not facts[f"owner_of_{schema}"]]
    # never done here: it may be a schema of somebody who knows nothing of ragdb
    taken = [
        Step(f"alter schema {schema} owner to {OWNER}", False)
        for schema in SCHEMAS
        if facts[f"owner_of_{schema}"] not in (None, OWNER)
    ]
    if is_restored:  # by the caller, who gives back all at once
        taken = [Step(GIVE_BACK, facts["may_create_schema"])]
    if missing and facts["owner_is_missing"] and facts["createrole"]:
        # whoever may make no role can help here too
        create = f"grant create on database {facts['database']} to {facts['me']}"
        if not facts["may_create_schema"]:
            return [Step(create, False), *taken]
    return [
        Step(f"create schema {schema} authorization {OWNER}", facts["may_create_schema"])
        for schema in missing
    ] + taken


def _require_server(connection: Connection) -> None:
    if connection.info.server_version < MIN_SERVER * 10000:
        raise NotReady(
            f"PostgreSQL {MIN_SERVER} or newer is needed;"
            f" this is {connection.info.server_version // 10000}",
            [],
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise NotReady(
            f"a database of encoding UTF8 is needed; this one's is {encoding}:",
            ["create database … template template0 encoding 'UTF8';"],
        )


def _vector_steps(connection: Connection, facts: dict[str, Any]) -> list[Step]:
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
    schema = facts["vector_schema"]
    steps = []
    if facts["vector"] is None:
        made = [f"create schema {schema}"] if facts["vector_schema_is_missing"] else []
        made.append(f"create extension vector schema {schema}")
        allowed = facts["may_create_schema"] and _may(connection, made)
        steps += [Step(statement, allowed) for statement in made]
    elif not new_enough(facts["vector"]):
        steps.append(Step("alter extension vector update", facts["owns_vector"]))
    if not facts["sees_vector"]:
        grant = f"grant usage on schema {schema} to {OWNER}"
        steps.append(Step(grant, facts["may_show_vector"]))
    return steps


def _may(connection: Connection, statements: list[str]) -> bool:
    """Whether the role may run them: providers let theirs make extensions that are not trusted."""
    try:
        with connection.transaction(force_rollback=True):
            for statement in statements:
                connection.execute(statement)
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True
