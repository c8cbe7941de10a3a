"""Make what must be there before the schema, or say what a DBA has to run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragdb.server.roles import OWNER, SCHEMAS, facts_of, missing_roles

if TYPE_CHECKING:
    from ragdb.server.scripts import Connection

MIN_SERVER = 16
MIN_VECTOR = (0, 8)


class NotReady(Exception):
    """Something that ragdb may not make is missing; nothing was changed.

    `statements` is what a DBA runs.
    """

    exit_code = 3

    def __init__(self, reason: str, statements: list[str]) -> None:
        super().__init__("\n".join([reason, *statements]))
        self.reason = reason
        self.statements = statements


def prepare(connection: Connection) -> None:
    """Make what must be there first: roles, pgvector, schema ragdb. Raises NotReady."""
    _require_server(connection)
    facts = facts_of(connection)
    steps: list[tuple[str, bool]] = [
        (statement, facts["createrole"]) for statement in missing_roles(connection)
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
            f"role {me} may not create all that database {facts['database']!r} lacks;"
            " a DBA must run there:",
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
