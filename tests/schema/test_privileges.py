"""Who may do what with each object, and attempts to circumvent it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import psycopg
import pytest

from tests.conftest import OLDER_BY_NIGHT, Connection, Login

LOGIN_ROLES = ["stranger", "reader", "writer", "admin", "auditor", "signer", "bi_reader"]

# the public functions that not every reader may call, by who may
BEYOND_READERS = {
    "admin writer": "bind_embedder create_embedder maintain refresh_rollups",
    "admin": """
      add_peer apply_events bind_reranker bind_role bind_static cluster_add_node cluster_corpora
      cluster_init cluster_isolate cluster_place cluster_remove_node cluster_status
      create_http_token create_signing_key dead_roles draft_events drop_access_events_before
      drop_eval_runs_before drop_kept_queries_before drop_traces_before erase_caller erase_traces
      follow_peer list_http_tokens list_key_events list_peers list_quotas list_signing_keys
      name_ledger publish_events put_static_pieces record_erasure register_policy remove_peer
      report_key_compromise revoke_http_token revoke_peer revoke_signing_key seal_ledger
      set_default_embedder set_ledger set_quota share_corpus store_checkpoint unshare_corpus""",
    "admin auditor": """
      ledger_bundle ledger_checkpoint ledger_consistency_proof ledger_entries ledger_entry
      ledger_inclusion_proof ledger_kinds ledger_root ledger_status ledger_tile list_checkpoints
      list_ledger_acts verification_checks verify verify_ledger verify_step""",
    "auditor": "list_access_events",
    "signer": "export_signing_keys import_signing_key register_signing_key",
}
CALLERS = {name: who.split() for who, names in BEYOND_READERS.items() for name in names.split()}
READERS = ["admin", "auditor", "reader", "signer", "writer"]
REPORTED = {"error_codes", "metrics", "traffic"}  # what bi_reader calls outside schema bi

OBJECTS = """
  select p.pronamespace::regnamespace::text, p.proname, p.oid::regprocedure::text, 'execute',
      array(select r from unnest(%(roles)s::text[]) r
        where has_function_privilege(r, p.oid, 'execute')
        order by r collate "C")
    from pg_proc p where p.pronamespace in
      ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace)
  union all
  select c.relnamespace::regnamespace::text, c.relname, c.oid::regclass::text, v.privilege,
      array(select r from unnest(%(roles)s::text[]) r
        where has_table_privilege(r, c.oid, v.privilege)
          or v.of_columns and has_any_column_privilege(r, c.oid, v.privilege)
        order by r collate "C")
    from pg_class c cross join (values ('select', true), ('insert', true), ('update', true),
      ('references', true), ('delete', false), ('truncate', false), ('trigger', false),
      (case when current_setting('server_version_num')::int >= 170000 then 'maintain' end, false))
      v (privilege, of_columns)
    where v.privilege is not null and c.relkind in ('r', 'p', 'v', 'm') and c.relnamespace in
      ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace)
  union all
  select n.nspname, n.nspname, n.nspname, v.privilege,
      array(select r from unnest(%(roles)s::text[]) r
        where has_schema_privilege(r, n.oid, v.privilege) order by r collate "C")
    from pg_namespace n cross join (values ('usage'), ('create')) v (privilege)
    where n.nspname in ('ragdb', 'ragdb_internal', 'bi')
"""


def who_may(schema: str, name: str, privilege: str) -> list[str]:
    if privilege == "usage":
        return sorted([*READERS, "bi_reader"]) if schema != "ragdb_internal" else []
    if schema == "bi":
        return sorted([*READERS, "bi_reader"]) if privilege in ("select", "execute") else []
    if schema == "ragdb" and privilege == "execute":
        return sorted([*CALLERS.get(name, READERS), *(["bi_reader"] if name in REPORTED else [])])
    return READERS if (name, privilege) == ("embedding_status", "select") else []


def wrong(db: Connection) -> list[tuple[str, str, list[str]]]:
    """Each object and right that others have than should, and who has it."""
    return [
        (what, privilege, roles)
        for schema, name, what, privilege, roles in db.execute(OBJECTS, {"roles": LOGIN_ROLES})
        if roles != who_may(schema, name, privilege)
    ]


def test_each_object_is_for_the_roles_that_it_is_meant_for(any_db: Connection) -> None:
    known = any_db.execute("select proname from pg_proc where pronamespace = 'ragdb'::regnamespace")
    assert CALLERS.keys() | REPORTED <= {name for (name,) in known}
    assert wrong(any_db) == []


@pytest.mark.parametrize(
    ("grant", "found"),
    [
        ("select (text) on ragdb.chunks to ragdb_reader", ("ragdb.chunks", "select", READERS)),
        (
            "execute on function ragdb.set_ledger(boolean) to ragdb_writer",
            ("ragdb.set_ledger(boolean)", "execute", ["admin", "writer"]),
        ),
        (
            "execute on function ragdb_internal.signing_key() to ragdb_reader",
            ("ragdb_internal.signing_key()", "execute", READERS),
        ),
        ("usage on schema ragdb_internal to ragdb_reader", ("ragdb_internal", "usage", READERS)),
        ("usage on schema bi to stranger", ("bi", "usage", sorted(LOGIN_ROLES))),
        ("create on schema ragdb to ragdb_reader", ("ragdb", "create", READERS)),
    ],
)
def test_a_grant_too_many_is_seen(
    any_db: Connection, grant: str, found: tuple[str, str, list[str]]
) -> None:
    any_db.execute(f"grant {grant}".encode())
    assert wrong(any_db) == [found]


def test_an_auditor_verifies_without_the_rights_of_an_admin(any_db: Connection) -> None:
    any_db.execute("set role auditor")
    for name in ("verify", "verify_step", "verification_checks", "verify_ledger", "ledger_status"):
        any_db.execute(f"select * from ragdb.{name}()").fetchall()


# ---- planted objects ----------------------------------------------------------------------------

# All that a login can plant: a schema of its own with a copy of every function of pg_catalog that our functions
# name, operators, and temporary tables with the names of our tables. Each copy leaves a trace that no rollback takes.
PLANT = """
create schema evil;
create sequence evil.ran;
-- our functions run as their owner, who must see what is planted
grant usage on schema evil to public;
grant usage on sequence evil.ran to public;
create function evil.run() returns bigint language sql as 'select nextval(''evil.ran'')';
do $do$
declare v_copy record; begin
  for v_copy in
    select format('create function evil.%I(%s) returns %s language plpgsql as $$ begin perform evil.run(); return %s; end $$',
      p.proname, pg_get_function_identity_arguments(p.oid), pg_get_function_result(p.oid),
      case when p.proretset then '' when p.prorettype = 'void'::regtype then '' else 'null' end) as statement
    from pg_proc p
    where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f' and p.prorettype <> 'internal'::regtype
      and p.proname in (select called[1] from pg_proc o, regexp_matches(o.prosrc, '(\\w+)\\s*\\(', 'g') called
        where o.pronamespace = 'ragdb'::regnamespace)
  loop
    begin
      execute v_copy.statement;
    exception when others then null;  -- types that no user function takes
    end;
  end loop;
end $do$;
create function evil.text_text(text, text) returns text language plpgsql as $$ begin perform evil.run(); return ''; end $$;
create function evil.text_is(text, text) returns boolean language plpgsql as $$ begin perform evil.run(); return true; end $$;
create function evil.int4_is(integer, integer) returns boolean language plpgsql as $$ begin perform evil.run(); return true; end $$;
create operator evil.|| (leftarg = text, rightarg = text, function = evil.text_text);
do $do$
declare v_operator record; begin
  for v_operator in
    select oprname as name, oprleft::regtype as type, t.typname
    from pg_operator join pg_type t on t.oid = oprleft
    where oprnamespace = 'pg_catalog'::regnamespace and oprleft = oprright and oprresult = 'boolean'::regtype
      and oprleft in ('text'::regtype, 'integer'::regtype)
  loop
    execute format('create operator evil.%s (leftarg = %s, rightarg = %2$s, function = evil.%s_is)',
      v_operator.name, v_operator.type, v_operator.typname);
  end loop;
end $do$;
"""


def ran(connection: Connection) -> bool:
    found = connection.execute("select is_called from evil.ran").fetchone()
    assert found is not None
    return bool(found[0])


@pytest.fixture
def planted(any_clone: str, login: Login) -> Callable[[str], Connection]:
    """A connection of a login that has planted all that, and looks there first."""

    def connect(role: str) -> Connection:
        with psycopg.connect(any_clone) as connection:
            connection.execute(
                f'grant create, temporary on database "{connection.info.dbname}" to {role}'
            )
            tables = connection.execute(
                "select relname from pg_class where relnamespace = 'ragdb'::regnamespace"
                " and relkind in ('r', 'p')"
            ).fetchall()
        attacker = login(any_clone, role, autocommit=True)
        attacker.execute("set client_min_messages = error")
        attacker.execute(PLANT)
        for (table,) in tables:
            attacker.execute(f"create temporary table {table} (name text, key text, value jsonb)")
        attacker.execute("set search_path = pg_temp, evil, pg_catalog")
        return attacker

    return connect


# by day the role that may call what the others may, and more
@OLDER_BY_NIGHT
@pytest.mark.parametrize(
    "role",
    ["admin", *(pytest.param(role, marks=pytest.mark.nightly) for role in ("reader", "writer"))],
)
def test_planted_objects_are_never_run(planted: Callable[[str], Connection], role: str) -> None:
    attacker = planted(role)
    callable_ = attacker.execute("""
      select p.proname, p.oid::pg_catalog.regprocedure::pg_catalog.text,
        pg_catalog.array(select pg_catalog.format_type(t, null) from pg_catalog.unnest(p.proargtypes) t)
      from pg_catalog.pg_proc p
      where p.pronamespace OPERATOR(pg_catalog.=) 'ragdb'::pg_catalog.regnamespace
        and pg_catalog.has_function_privilege(p.oid, 'execute')
      """.replace("pg_catalog.array(", "array(")).fetchall()  # fmt: skip
    assert len(callable_) > 10
    with contextlib.suppress(psycopg.Error):
        attacker.execute("select ragdb.create_corpus('planted', is_restricted => true)")
    for name, signature, types in callable_:
        for value in ("null", "'planted'", "'1'"):
            arguments = ", ".join(f"{value}::{type_}" for type_ in types)
            with contextlib.suppress(psycopg.Error):
                attacker.execute(f"select * from ragdb.{name}({arguments})")
        assert not ran(attacker), signature


def test_a_definer_without_a_pinned_path_runs_them(
    planted: Callable[[str], Connection], any_clone: str
) -> None:
    """The control: what the test above looks for is there to be found."""
    with psycopg.connect(any_clone) as connection:
        connection.execute(
            "set role ragdb_owner;"
            "create function ragdb.careless(x text) returns integer language plpgsql security definer"
            " as $$ begin return length(x); end $$;"
            "grant execute on function ragdb.careless to ragdb_reader"
        )
    attacker = planted("reader")
    attacker.execute("select ragdb.careless('x')")
    assert ran(attacker)
