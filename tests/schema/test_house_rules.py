"""Rules that hold for every object of schemas ragdb and bi, as queries on the catalogue."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from tests.conftest import OLDER_BY_NIGHT, Connection

ROOT = Path(__file__).resolve().parents[2]
SQL = ROOT / "sql"
RELEASE = ROOT / "migrations/versions/0001_first_release"


def broken_by(db: Connection, rule: str) -> str:
    return "\n".join(name for (name,) in db.execute(RULES[rule]).fetchall())


# set_config() and writes are refused in a parallel worker; a `set` clause is not
SETTERS = r"""
  with recursive source as materialized (
    -- without its texts: hints name functions too
    select p.pronamespace::regnamespace || '.' || p.proname as name,
      regexp_replace(coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), '''[^'']*''', '', 'g') as text
    from pg_proc p
    where p.pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and p.prokind <> 'a'),
  calls as materialized (
    select s.name as caller, c.callee[1] as callee
    from source s cross join regexp_matches(s.text, '((?:ragdb|ragdb_internal|bi)\.\w+)\(', 'g') c (callee)),
  setter (name) as (
    select name from source
    where strpos(text, 'set_config(') > 0 or text ~* '(insert into|update|delete from) ragdb'
      -- a block that catches errors is a subtransaction
      or text ~ '\mexception when\M'
    union select c.caller from setter s join calls c on c.callee = s.name)
"""

# Each query lists what breaks the rule.
RULES = {
    "every schema has a comment": """
      select n.nspname from pg_namespace n
      where n.nspname in ('ragdb', 'ragdb_internal', 'bi') and coalesce(obj_description(n.oid, 'pg_namespace'), '') = ''""",
    "every public function has a comment": """
      select p.oid::regprocedure::text from pg_proc p
      where p.pronamespace in ('ragdb'::regnamespace, 'bi'::regnamespace) and coalesce(obj_description(p.oid, 'pg_proc'), '') = ''""",
    "every table, view and public type has a comment": """
      select c.oid::regclass::text from pg_class c
      where c.relnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and c.relkind in ('r', 'p', 'v', 'm', 'c')
        and (c.relnamespace <> 'ragdb_internal'::regnamespace or c.relkind <> 'c')
        and c.relname <> 'alembic_version' and not c.relispartition
        and coalesce(obj_description(c.oid, 'pg_class'), obj_description(c.reltype, 'pg_type'), '') = ''""",
    "every column of a table or view has a comment": """
      select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and c.relkind in ('r', 'p', 'v', 'm')
        and c.relname <> 'alembic_version' and not c.relispartition
        and a.attnum > 0 and not a.attisdropped and coalesce(col_description(c.oid, a.attnum), '') = ''""",
    "a comment ends as a sentence, a function's begins as one": """
      select d.description from pg_description d
      where d.objoid in (select oid from pg_proc where pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace))
          and d.description !~ '^[A-Z].*[.]$'
        or d.objoid in (select oid from pg_class where relnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace))
          and d.description !~ '[.]$'""",
    "what a table says it is read through is there and can be read": """
      select c.relname || ': ' || r.name
      from pg_class c cross join lateral regexp_matches(
          substring(obj_description(c.oid, 'pg_class') from ' through (.*)[.]$'),
          '(?:ragdb|bi)[.][a-z0-9_]+', 'g') m (names)
        cross join lateral unnest(m.names) r (name)
      where c.relnamespace = 'ragdb'::regnamespace and c.relkind in ('r', 'p')
        and not exists (select from pg_proc p
          where p.pronamespace = split_part(r.name, '.', 1)::regnamespace and p.proname = split_part(r.name, '.', 2)
            and has_function_privilege('ragdb_admin', p.oid, 'execute'))
        and not coalesce(has_table_privilege('ragdb_admin', to_regclass(r.name), 'select'), false)""",
    "a table that a view of bi shows says so": """
      select distinct c.relname || ': ' || v.oid::regclass
      from pg_class v join pg_rewrite w on w.ev_class = v.oid
        join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
        join pg_class c on c.oid = d.refobjid
      where v.relnamespace = 'bi'::regnamespace and v.relkind = 'v' and c.relkind in ('r', 'p')
        and c.relnamespace = 'ragdb'::regnamespace
        and obj_description(c.oid, 'pg_class') !~ ' through .*[.]$'""",
    "every object belongs to ragdb_owner": """
      select p.oid::regprocedure::text from pg_proc p
        where p.pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and p.proowner <> 'ragdb_owner'::regrole
      union all select c.oid::regclass::text from pg_class c
        where c.relnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and c.relowner <> 'ragdb_owner'::regrole
      union all select t.oid::regtype::text from pg_type t
        where t.typnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and t.typowner <> 'ragdb_owner'::regrole""",
    "a function's path is pinned or its body bound": """
      select p.oid::regprocedure::text from pg_proc p
      where p.pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and p.prosqlbody is null and p.prokind = 'f'
        and coalesce(not p.proconfig @> '{"search_path=pg_catalog, pg_temp"}', true)""",
    "a public function that returns JSON writes numbers in it whatever the session's digits": """
      select p.oid::regprocedure::text from pg_proc p
      where p.pronamespace in ('ragdb'::regnamespace, 'bi'::regnamespace) and p.prorettype in ('json'::regtype, 'jsonb'::regtype)
        and coalesce(not p.proconfig @> '{"extra_float_digits=1"}', true)""",
    "a definer's path is pinned or its body bound": """
      select p.oid::regprocedure::text from pg_proc p
      where p.pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and p.prosecdef and p.prosqlbody is null
        and coalesce(not p.proconfig @> '{"search_path=pg_catalog, pg_temp"}', true)""",
    "what others run plans without JIT, unless it is part of their statement": """
      select p.oid::regprocedure::text from pg_proc p join pg_language l on l.oid = p.prolang
      where p.prokind = 'f' and (p.pronamespace = 'ragdb'::regnamespace and (p.prosecdef or l.lanname <> 'sql')
          or p.pronamespace = 'ragdb_internal'::regnamespace and p.prorettype = 'trigger'::regtype)
        and coalesce(not p.proconfig @> '{jit=off}', true)""",
    "no private function is a definer": r"""
      select p.oid::regprocedure::text from pg_proc p
      where p.pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and p.prosecdef and p.pronamespace = 'ragdb_internal'::regnamespace
        -- before version 18 a deferred trigger runs as whoever commits
        and not exists (select from pg_trigger t where t.tgfoid = p.oid and t.tgdeferrable)""",
    "a public function that calls private ones is a definer, for they are granted to nobody": r"""
      select p.oid::regprocedure::text from pg_proc p
      where p.pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and p.pronamespace <> 'ragdb_internal'::regnamespace and p.prokind = 'f' and not p.prosecdef
        -- Citus lets a superuser alone change a router, who needs no grant
        and p.proname !~ '^cluster_'
        and regexp_replace(coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), '--[^\n]*|''[^'']*''', '', 'g')
          ~ 'ragdb_internal\.[a-z0-9_]+\('""",
    "what only reads is parallel safe, unless it sets, writes or catches something": f"""{SETTERS}
      select p.oid::regprocedure::text from pg_proc p
      where p.pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and p.provolatile <> 'v' and p.proparallel <> 's'
        -- PostgreSQL itself keeps the list of sessions to the leader
        and not (p.proparallel = 'r' and pg_get_functiondef(p.oid) ~ 'pg_stat_activity')
        and p.pronamespace::regnamespace || '.' || p.proname not in (select name from setter)""",
    "what sets, writes or catches something, itself or through others, is not parallel safe": f"""{SETTERS}
      select p.oid::regprocedure::text from pg_proc p
      where p.pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and p.proparallel = 's'
        and p.pronamespace::regnamespace || '.' || p.proname in (select name from setter)""",
    "nothing is granted to public": """
      select 'schema' from pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
        where n.nspname in ('ragdb', 'ragdb_internal', 'bi') and a.grantee = 0
      union all select p.oid::regprocedure::text
        from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
        where p.pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and a.grantee = 0
      union all select c.oid::regclass::text
        from pg_class c, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
        where c.relnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and a.grantee = 0
      union all select t.oid::regtype::text
        from pg_type t join pg_class c on c.oid = t.typrelid and c.relkind = 'c',
          aclexplode(coalesce(t.typacl, acldefault('T', t.typowner))) a
        where t.typnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and a.grantee = 0""",
    "private functions and tables are granted to nobody": r"""
      select p.oid::regprocedure::text from pg_proc p, aclexplode(p.proacl) a
        where p.pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and p.pronamespace = 'ragdb_internal'::regnamespace and a.grantee <> p.proowner
      union all select c.oid::regclass::text from pg_class c, aclexplode(c.relacl) a
        where c.relnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and c.relkind in ('r', 'p', 'S') and a.grantee <> c.relowner""",
    "no default privileges open what is made later": """
      select a.grantee::regrole::text from pg_default_acl d, aclexplode(d.defaclacl) a
      where d.defaclrole = 'ragdb_owner'::regrole and a.grantee <> d.defaclrole""",
    "strict is not how an argument is checked": r"""
      select p.oid::regprocedure::text from pg_proc p
      where p.pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and p.proisstrict and p.pronamespace <> 'ragdb_internal'::regnamespace""",
    "a partitioned parent carries no key, index, foreign key or trigger": """
      select c.relname::text from pg_class c
      where c.relnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and c.relkind = 'p' and (
        exists (select from pg_index i where i.indrelid = c.oid)
        or exists (select from pg_constraint k where k.conrelid = c.oid and k.contype in ('p', 'u', 'f', 'x'))
        or exists (select from pg_trigger t where t.tgrelid = c.oid))""",
    "constraints are sentences of our own": r"""
      select k.conname::text from pg_constraint k join pg_class c on c.oid = k.conrelid
      where c.relnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and c.relname <> 'alembic_version'
        and k.contype <> 'n' and k.conname ~ '_(pkey|key|fkey|check|excl)\d*$'""",
    "every foreign key begins with the corpus": """
      select k.conname::text from pg_constraint k
        join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
      where k.connamespace = 'ragdb'::regnamespace and k.contype = 'f' and a.attname <> 'corpus_id'
        and exists (select from pg_attribute c where c.attrelid = k.confrelid and c.attname = 'corpus_id')""",
    # a key over all corpora is one that their writers meet at, but for ids that nobody meets by chance
    "a unique key of what belongs to corpora has the corpus in it or begins with a uuid": """
      select i.indexrelid::regclass::text
      from pg_index i join pg_class c on c.oid = i.indrelid
        join pg_attribute o on o.attrelid = c.oid and o.attname = 'corpus_id'
        join pg_attribute f on f.attrelid = c.oid and f.attnum = i.indkey[0]
      where c.relnamespace = 'ragdb'::regnamespace and i.indisunique
        and o.attnum <> all (i.indkey::int2[]) and f.atttypid <> 'uuid'::regtype
        and i.indexrelid::regclass::text not in (
          -- made once, and found by the name, or the number, that callers know
          'ragdb.corpora_name_is_unique', 'ragdb.embedding_spaces_id_is_unique')""",
    "foreign keys form no cycle": """
      with recursive reach (start, at) as (
        select conrelid, confrelid from pg_constraint
          where connamespace = 'ragdb'::regnamespace and contype = 'f'
        union
        select r.start, k.confrelid from reach r join pg_constraint k on k.conrelid = r.at and k.contype = 'f')
      select start::regclass::text from reach where start = at""",
    "text keys are compared bytewise": """
      select c.relname || '.' || a.attname
      from pg_index i join pg_class c on c.oid = i.indrelid
        join pg_attribute a on a.attrelid = c.oid and a.attnum = any ((i.indkey::int2[])[:i.indnkeyatts - 1])
      where c.relnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and c.relname <> 'alembic_version'
        and a.attcollation not in (0, '"C"'::regcollation)""",
    "numbers in float expressions are float8": r"""
      select p.oid::regprocedure::text from pg_proc p
      where p.pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and p.prosqlbody is not null
        and pg_get_function_sqlbody(p.oid) ~ '\d\.\d+::numeric\)::double'""",
    "a row can be deleted where changes are published: a key or all columns tell which": """
      select c.relname::text from pg_class c
      where c.relnamespace = 'ragdb'::regnamespace and c.relkind = 'r' and c.relreplident = 'd'
        and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)""",
    "no sequence is part of an identity": """
      select c.relname::text from pg_class c
      where c.relnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and c.relkind = 'S'""",
    "no lock outlives its transaction": r"""
      select p.oid::regprocedure::text from pg_proc p
      where p.pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace)
        and coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) ~ '\mpg_(try_)?advisory_(un)?lock'""",
    "no plpgsql text names a type or operator of pgvector": r"""
      select p.oid::regprocedure::text from pg_proc p
      where p.pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and p.prosqlbody is null
        -- texts aside: <-> is a phrase of a tsquery too
        and regexp_replace(p.prosrc, '--[^\n]*|''[^'']*''', '', 'g')
          ~ '<=>|<->|<#>|<\+>|\m(sparsevec|halfvec)\M'""",
}


@pytest.mark.parametrize("rule", RULES)
def test_rule(any_db: Connection, rule: str) -> None:
    assert broken_by(any_db, rule) == ""


# One breach of each rule, where a breach can be made: the control that must turn red.
BREACHES = {
    "every schema has a comment": "comment on schema bi is null",
    "every public function has a comment": "create function ragdb.f() returns int language sql return 1",
    "every table, view and public type has a comment": "create table ragdb.t (x int)",
    "every column of a table or view has a comment": "create table ragdb.t (x int)",
    "a comment ends as a sentence, a function's begins as one": "comment on table ragdb.chunks is 'no capital, no full stop'",
    "what a table says it is read through is there and can be read": "comment on table ragdb.chunks is 'Text. Read it through ragdb.get_chunk and ragdb.no_such.'",
    "a table that a view of bi shows says so": "comment on table ragdb.evidence_gates is 'Verdicts.'",
    "every object belongs to ragdb_owner": "reset role; create table ragdb.t (x int)",
    "a function's path is pinned or its body bound": "create function ragdb.f() returns int language sql as 'select 1'",
    "a public function that returns JSON writes numbers in it whatever the session's digits": "create function ragdb.f() returns jsonb language sql return to_jsonb(0.1::float8)",
    "a definer's path is pinned or its body bound": "create function ragdb.f() returns int language sql security definer set search_path = ragdb as 'select 1'",
    "what others run plans without JIT, unless it is part of their statement": "create function ragdb.f() returns int language sql security definer return 1",
    "no private function is a definer": "create function ragdb_internal.f() returns int language sql security definer return 1",
    "what sets, writes or catches something, itself or through others, is not parallel safe": "create function ragdb_internal.f() returns text language plpgsql as 'begin return set_config(''a.b'', ''c'', true); end'; create function ragdb.g() returns text language plpgsql parallel safe as 'begin return ragdb_internal.f(); end'",
    "a public function that calls private ones is a definer, for they are granted to nobody": """
      create function ragdb.broken() returns text language sql return ragdb_internal.quote('x')""",
    "what only reads is parallel safe, unless it sets, writes or catches something": "create function ragdb.f() returns int language sql stable return 1",
    "nothing is granted to public": "create function ragdb.f() returns int language sql return 1",
    "private functions and tables are granted to nobody": "grant select on ragdb.chunks to ragdb_reader",
    "no default privileges open what is made later": "alter default privileges in schema ragdb grant select on tables to ragdb_reader",
    "a partitioned parent carries no key, index, foreign key or trigger": "create index on ragdb.retrieval_hits (corpus_id)",
    "constraints are sentences of our own": "alter table ragdb.chunks add check (page > 0)",
    "every foreign key begins with the corpus": "alter table ragdb.events add constraint a_sentence foreign key (chunks, corpus_id) references ragdb.documents (doc_no, corpus_id)",
    "a unique key of what belongs to corpora has the corpus in it or begins with a uuid": "alter table ragdb.events add constraint a_sentence unique (lamport)",
    "foreign keys form no cycle": "alter table ragdb.documents add constraint a_sentence foreign key (corpus_id, doc_no) references ragdb.chunks",
    "text keys are compared bytewise": "create index on ragdb.corpora (title)",
    "a row can be deleted where changes are published: a key or all columns tell which": "create table ragdb.t (x int)",
    "no sequence is part of an identity": "create sequence ragdb.s",
    "no lock outlives its transaction": "create function ragdb.f() returns boolean language sql return pg_try_advisory_lock_shared(1)",
}


@OLDER_BY_NIGHT
@pytest.mark.parametrize("rule", BREACHES)
def test_a_breach_is_seen(any_db: Connection, rule: str) -> None:
    any_db.execute("set role ragdb_owner")
    any_db.execute(BREACHES[rule])
    assert broken_by(any_db, rule) != ""


COMPILED = """
  select plpgsql_validator(p.oid) from pg_proc p
  where p.prolang = (select l.oid from pg_language l where l.lanname = 'plpgsql')
    and p.pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace)"""


def test_every_body_compiles_though_it_is_loaded_unseen(any_db: Connection) -> None:
    assert any_db.execute(COMPILED).rowcount > 500
    any_db.execute("set local check_function_bodies = off")
    any_db.execute(
        "create function ragdb.f() returns int language plpgsql as 'begin retrun 1; end'"
    )
    any_db.execute("set local check_function_bodies = on")
    with pytest.raises(psycopg.errors.SyntaxError, match="retrun"):
        any_db.execute(COMPILED)


def statements() -> list[tuple[str, str, str]]:
    """Of the first release, in order: the file, the first words, and the table that it is about."""
    found = []
    for file in sorted(RELEASE.glob("*.sql")):
        text = re.sub(r"^ *--.*\n", "", file.read_text(), flags=re.M)
        of_index: dict[str, str] = dict(re.findall(r"create index (\w+) on ragdb\.(\w+)", text))
        for statement in re.split(r";\n\s*", text.strip() + "\n")[:-1]:
            about = re.search(r"ragdb\.(\w+)", statement)
            name = about[1] if about else ""
            found.append((file.name, " ".join(statement.split()[:2]), of_index.get(name, name)))
    return found


def test_a_table_is_read_in_one_place() -> None:
    """It is made, and right below it have their place its settings, indexes and comments."""
    place: list[tuple[str, str]] = []
    for file, kind, table in statements():
        if kind == "create table":
            place.append((file, table))
        assert place[-1:] == [(file, table)], f"{file}: {kind} {table}"
    assert len(place) == len({table for _, table in place}) > 50


def test_only_the_migration_describes_tables(any_db: Connection) -> None:
    made = {table for _, kind, table in statements() if kind == "create table"}
    found = any_db.execute(
        "select relname from pg_class where relnamespace = 'ragdb'::regnamespace"
        " and relkind in ('r', 'p') and not relispartition and relname <> 'alembic_version'"
    )
    assert made == {name for (name,) in found}
    described = {
        f"{file.name}: {table}"
        for file in SQL.rglob("*.sql")
        for table in re.findall(
            r"^ *(?:comment on (?:table|column)|create table|alter table) ragdb\.(\w+)(?!.*trigger)",
            file.read_text(),
            re.M,
        )
        if table in made
    }
    assert described == set()


def test_a_file_of_tables_has_at_most_250_lines() -> None:
    files = sorted(RELEASE.glob("*.sql"))
    assert files
    assert {f.name: n for f in files if (n := len(f.read_text().splitlines())) > 250} == {}


def test_the_files_of_tables_keep_within_100_columns() -> None:
    files = sorted(RELEASE.glob("*.sql"))
    assert files
    too_long = [
        f"{file.parent.name}/{file.name}:{n}"
        for file in files
        for n, line in enumerate(file.read_text().splitlines(), 1)
        if len(line) > 100
    ]
    assert too_long == []


BY_TABLE = {  # sorted by a column of a table, which has the order of bytes
    *("list_contracts", "list_corpora", "list_synonyms", "list_documents", "list_blobs"),
    *("list_evals", "move_originals", "get_parents", "get_children"),
}


def test_a_page_comes_in_the_order_of_bytes_in_any_locale(db: Connection) -> None:
    """Else what is last on it is not the greatest, and the next page repeats or skips some."""
    pages = db.execute(
        "select proname::text, prosrc from pg_proc where pronamespace = 'ragdb'::regnamespace"
        " and 'after' = any (proargnames) and prosrc ~ 'order by' and 'text'::regtype = any"
        " (proargtypes[array_position(proargnames, 'after') - 1:"
        " array_position(proargnames, 'after') - 1])"
    ).fetchall()
    assert {name for name, _ in pages} > BY_TABLE
    # what is cut is sorted by what has a name: a number may be of what a function returns
    assert [
        name for name, source in pages if re.search(r"order by \d+ (fetch|limit)", source)
    ] == []
    last = {name: source[source.rindex("order by") :] for name, source in pages}
    assert {name for name, order in last.items() if 'collate "C"' not in order} == BY_TABLE
    routes = db.execute("select detail from ragdb_internal.route_lines() where route = 'each'")
    orders = [found[0] for found in routes if found[0] and "order by" in found[0]]
    assert [order for order in orders if 'collate "C"' not in order and "t.cid" not in order] == []


# small letters of hexadecimal digits, of letters past ASCII and of names that are guessed; comments
ANY_LOCALE = {
    *("core/uuid7.sql", "core/names.sql", "evaluation/assertion_facts.sql"),
    *("evidence/courtesy.sql", "text/words.sql", "text/folding.sql"),
}


def test_words_of_ours_are_known_in_any_letters_and_locale() -> None:
    """In Turkish, PLANNING is plannıng in small letters, and the phase of no turn."""
    for file in SQL.glob("*/*.sql"):
        calls = re.findall(
            r"(?<!\w)(?:lower|upper)(\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\))",
            file.read_text("utf-8"),
        )
        if str(file.relative_to(SQL)) not in ANY_LOCALE:
            # bounds of ranges have short names
            assert [c for c in calls if len(c) > len("(r.said)") and 'collate "C"' not in c] == []
