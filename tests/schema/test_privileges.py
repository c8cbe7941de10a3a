"""Who may do what: the whole matrix as a checked-in file, and attempts to circumvent it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.conftest import OLDER_BY_NIGHT, Connection, Login

LOGIN_ROLES = ["stranger", "reader", "writer", "admin", "auditor", "signer", "bi_reader"]
SNAPSHOT = Path(__file__).with_name("privileges.txt")

MATRIX = """
with role (name) as (values ('stranger'), ('reader'), ('writer'), ('admin'), ('auditor'), ('signer'), ('bi_reader')),
right_of (object, role, privilege) as (
  select 'function ' || p.oid::regprocedure, r.name, 'execute'
    from pg_proc p, role r
    where p.pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and has_function_privilege(r.name, p.oid, 'execute')
      and has_schema_privilege(r.name, p.pronamespace, 'usage')
  union all
  select 'relation ' || c.oid::regclass, r.name, v.privilege
    from pg_class c, role r, unnest(array['select', 'insert', 'update', 'delete', 'truncate',
      'references', 'trigger']) as v (privilege)
    where c.relnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and c.relkind in ('r', 'p', 'v', 'm')
      and has_table_privilege(r.name, c.oid, v.privilege)
  union all
  select 'relation ' || c.oid::regclass, r.name, 'columns'
    from pg_class c, role r
    where c.relnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and c.relkind in ('r', 'p', 'v', 'm')
      and not has_table_privilege(r.name, c.oid, 'select')
      and has_any_column_privilege(r.name, c.oid, 'select, insert, update, references')
),
object (name) as (
  -- of the private functions, only those that somebody could call after all
  select 'function ' || p.oid::regprocedure from pg_proc p
    where p.pronamespace in ('ragdb'::regnamespace, 'bi'::regnamespace)
      or p.pronamespace = 'ragdb_internal'::regnamespace
        and 'function ' || p.oid::regprocedure in (select object from right_of)
  union all
  select 'relation ' || c.oid::regclass from pg_class c
    where c.relnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and c.relkind in ('r', 'p', 'v', 'm')
      and c.relname <> 'alembic_version'
)
select o.name || ': ' || coalesce(
  (select string_agg(x.role || ' ' || x.privileges, ', ' order by x.role)
    from (select role, string_agg(privilege, '+' order by privilege) as privileges
      from right_of where object = o.name group by role) x), 'nobody')
from object o order by o.name collate "C"
"""


def test_the_matrix_of_objects_and_roles_is_as_checked_in(
    any_db: Connection, write_snapshots: bool
) -> None:
    any_db.execute("set local search_path = pg_catalog")
    found = "".join(f"{line}\n" for (line,) in any_db.execute(MATRIX))
    # where pgvector lives is the host's choice
    found = found.replace("public.", "")
    if write_snapshots:
        SNAPSHOT.write_text(found)
    assert found == SNAPSHOT.read_text(), (
        "if this is meant: pytest --write-snapshots, and read the diff"
    )


def test_the_matrix_sees_a_grant_too_many(any_db: Connection) -> None:
    any_db.execute("grant select (text) on ragdb.chunks to ragdb_reader")
    any_db.execute("set local search_path = pg_catalog")
    lines = [line for (line,) in any_db.execute(MATRIX)]
    (line,) = [line for line in lines if line.startswith("relation ragdb.chunks:")]
    assert "reader columns" in line


VERIFYING = ["verify", "verify_step", "verification_checks", "verify_ledger", "ledger_status"]


def test_an_auditor_verifies_without_the_rights_of_an_admin(any_db: Connection) -> None:
    any_db.execute("set role auditor")
    for function in VERIFYING:
        any_db.execute(f"select * from ragdb.{function}()").fetchall()
    for call in ("seal_ledger()", "set_ledger(false)", "create_signing_key('k')"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), any_db.transaction():
            any_db.execute(f"select * from ragdb.{call}")


@pytest.mark.parametrize("role", ["reader", "writer", "signer"])
def test_who_accounts_for_nothing_does_not_verify(any_db: Connection, role: str) -> None:
    any_db.execute(f"set role {role}")
    for function in VERIFYING:
        with pytest.raises(psycopg.errors.InsufficientPrivilege), any_db.transaction():
            any_db.execute(f"select * from ragdb.{function}()")


# what of each table is done, and how often it is refused
TRY_ALL = """
do $do$
declare
  v_statement text; v_done text = ''; v_refused integer = 0;
begin
  for v_statement in
    select format(s, oid::regclass) from pg_class, unnest(array[
      'select from %s', 'delete from %s', 'insert into %s default values']) s
    where relnamespace = 'ragdb'::regnamespace and relkind in ('r', 'p')
  loop
    begin
      execute v_statement;
      v_done = v_done || v_statement || '; ';
    exception when insufficient_privilege then v_refused = v_refused + 1;
    end;
  end loop;
  perform set_config('tried.done', v_done, true), set_config('tried.refused', v_refused::text, true);
end $do$
"""


@pytest.mark.parametrize("role", LOGIN_ROLES)
def test_no_login_reads_or_writes_a_table(any_db: Connection, role: str) -> None:
    tables = any_db.execute(
        "select oid::regclass::text from pg_class"
        " where relnamespace = 'ragdb'::regnamespace and relkind in ('r', 'p')"
    ).fetchall()
    assert len(tables) > 10
    any_db.execute(f"set role {role}")
    any_db.execute(TRY_ALL)
    done = any_db.execute("select current_setting('tried.done'), current_setting('tried.refused')")
    assert done.fetchone() == ("", str(3 * len(tables)))


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
