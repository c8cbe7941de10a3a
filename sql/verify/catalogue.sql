-- What guards the evidence: functions, triggers, rules and grants, against what was installed.

-- Returns the grants on what is ragdb's, each with the SHA-256 of its privileges.
create or replace function ragdb_internal.present_grants()
returns table (kind text, identity text, hash bytea)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
begin atomic
  select 'grant', g.of || ' to ' || case when a.grantee = 0 then 'public'
        else a.grantee::regrole::text end, pg_catalog.sha256(ragdb_internal.utf8(
      pg_catalog.string_agg(a.privilege_type || a.is_grantable::text, ','
        order by a.privilege_type)))
    from (
      select p.oid::regprocedure::text, -- without a list everybody may call it
          coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner)), p.proowner
        from pg_catalog.pg_proc p
        where p.pronamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
      union all
      select c.oid::regclass::text, c.relacl, c.relowner from pg_catalog.pg_class c
        where c.relnamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
          and not c.relispartition
      union all
      select c.oid::regclass || '.' || a.attname, a.attacl, c.relowner
        from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
        where c.relnamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
          and not c.relispartition
      union all
      select 'schema ' || n.nspname, n.nspacl, n.nspowner from pg_catalog.pg_namespace n
        where n.nspname in ('ragdb', 'ragdb_internal', 'bi')
    ) g (of, acl, owner) cross join lateral pg_catalog.aclexplode(g.acl) a
    where a.grantee <> g.owner group by 2;
end;

-- Returns the rules on tables of ragdb that are not those of views, the tables with row security,
-- and the rights that others get to tables to come. There are none as it is installed. The first
-- two take rows out of what a function writes or reads.
create or replace function ragdb_internal.present_rules()
returns table (kind text, identity text, hash bytea)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
begin atomic
  select 'rule', r.rulename || ' on ' || c.oid::regclass, ''::bytea
    from pg_catalog.pg_rewrite r join pg_catalog.pg_class c on c.oid = r.ev_class
    where c.relnamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
      and r.ev_type <> '1' -- any rule may have the name of those of views, which are on select
  union all
  select 'row security', 'of ' || c.oid::regclass, ''::bytea
    from pg_catalog.pg_class c
    where c.relnamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
      and (c.relrowsecurity or c.relforcerowsecurity)
  union all
  select distinct 'default privileges', pg_catalog.concat_ws(' in ',
      'of ' || d.defaclrole::regrole, nullif(d.defaclnamespace, 0)::regnamespace), ''::bytea
    from pg_catalog.pg_default_acl d cross join lateral pg_catalog.aclexplode(d.defaclacl) a
    where a.grantee <> d.defaclrole and d.defaclobjtype in ('r', 'S', 'f')
      and (d.defaclrole::regrole::text = 'ragdb_owner' and d.defaclnamespace = 0
        or d.defaclnamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi'))
      -- which PostgreSQL gives where nothing else is said
      and (d.defaclobjtype, a.grantee) <> ('f', 0);
end;

-- Returns what an aggregate is made of, which PostgreSQL does not write as it does a function.
create or replace function ragdb_internal.aggregate_definition(aggregate oid) returns text
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
begin atomic
  select pg_catalog.concat_ws(' ', a.aggtransfn, a.aggfinalfn, a.aggcombinefn,
      pg_catalog.format_type(a.aggtranstype, null), a.agginitval)
    from pg_catalog.pg_aggregate a where a.aggfnoid::oid = aggregate_definition.aggregate;
end;

-- Tells whether a trigger is one by which PostgreSQL holds a foreign key, or a key that may be
-- checked later. Its name and what its row says of it prove nothing.
create or replace function ragdb_internal.is_of_constraint(trigger pg_catalog.pg_trigger)
returns boolean
language sql stable parallel safe
return (trigger).tgisinternal and (trigger).tgfoid < 16384 and exists (
  select from pg_catalog.pg_proc p
  where p.oid = (trigger).tgfoid
    and (p.proname = 'unique_key_recheck' or pg_catalog.starts_with(p.proname, 'RI_FKey_')));

-- Returns the triggers by which PostgreSQL holds a constraint; null where it needs none.
create or replace function ragdb_internal.constraint_triggers("constraint" oid) returns text
language sql stable parallel safe
return (
  select pg_catalog.string_agg(w.what, ',' order by w.what collate "C")
    from pg_catalog.pg_trigger t cross join lateral pg_catalog.concat_ws(' ',
        t.tgrelid::regclass, t.tgfoid::regproc, t.tgtype) w (what)
    where t.tgconstraint = constraint_triggers."constraint" and t.tgisinternal);

-- Returns the functions, views, triggers, constraints, columns, indexes, rules and grants of ragdb,
-- and what was put beside them, each with the SHA-256 of its definition. Functions as their own
-- definitions give them, which another major version may write otherwise, as a session that writes
-- names or constants its own way would.
create or replace function ragdb_internal.present_code()
returns table (kind text, identity text, hash bytea)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp -- definitions name what is not in it in full
set quote_all_identifiers = off
set standard_conforming_strings = on
set bytea_output = hex
set extra_float_digits = 1
set datestyle = iso
set intervalstyle = postgres
set timezone = utc
begin atomic
  select 'function', p.oid::regprocedure::text, pg_catalog.sha256(ragdb_internal.utf8(
      case p.prokind when 'a' then ragdb_internal.aggregate_definition(p.oid)
        else pg_catalog.pg_get_functiondef(p.oid) end))
    from pg_catalog.pg_proc p
    where p.pronamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
  union all
  select 'view', c.oid::regclass::text, pg_catalog.sha256(ragdb_internal.utf8(
      pg_catalog.concat(pg_catalog.pg_get_viewdef(c.oid), c.reloptions)))
    from pg_catalog.pg_class c
    where c.relnamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
      and c.relkind = 'v'
  union all
  select 'trigger', t.tgname || ' on ' || t.tgrelid::regclass, pg_catalog.sha256(
      ragdb_internal.utf8(pg_catalog.pg_get_triggerdef(t.oid) || t.tgenabled::text))
    from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid
    where c.relnamespace::regnamespace::text = 'ragdb' and not c.relispartition
      and not ragdb_internal.is_of_constraint(t)
  union all
  select 'constraint', k.conname || ' on ' || k.conrelid::regclass, pg_catalog.sha256(
      ragdb_internal.utf8(pg_catalog.concat(pg_catalog.pg_get_constraintdef(k.oid),
        k.convalidated, ragdb_internal.index_state(k.conindid),
        ragdb_internal.constraint_triggers(k.oid))))
    from pg_catalog.pg_constraint k join pg_catalog.pg_class c on c.oid = k.conrelid
    where c.relnamespace::regnamespace::text = 'ragdb' and not c.relispartition
      and k.contype <> 'n'
  union all
  select * from ragdb_internal.present_columns()
  union all
  select * from ragdb_internal.present_children()
  union all
  select * from ragdb_internal.present_builtins()
  union all
  select * from ragdb_internal.present_rules()
  union all
  select * from ragdb_internal.present_grants();
end;

-- Returns what differs from what was installed; is_elsewhere where that is how another server
-- differs: what PostgreSQL and pgvector do, in a restored copy, whose functions have other numbers.
create or replace function ragdb_internal.code_changes()
returns table (kind text, identity text, finding text, is_elsewhere boolean)
language sql stable parallel safe
begin atomic
  select coalesce(p.kind, i.kind), coalesce(p.identity, i.identity),
      case when i.hash is null then 'it was added' when p.hash is null then 'it is missing'
        else 'it was changed' end,
      (p.identity = 'of PostgreSQL' or p.kind = 'extension') and not exists (
        select from ragdb.installed_code s
        where s.identity = 'ragdb_internal.present_code()'
          and s.object_id = 'ragdb_internal.present_code()'::regprocedure::oid::bigint)
    from ragdb.installed_code i full join ragdb_internal.present_code() p
      on p.kind = i.kind and p.identity = i.identity
    where i.hash is distinct from p.hash;
end;

-- Returns what to do about a difference: `ragdb init --force` loads code, and no table.
create or replace function ragdb_internal.code_advice(kind text, finding text) returns text
language sql immutable parallel safe
return case
  when code_advice.kind in ('child table', 'unlogged table', 'rule', 'row security',
      'default privileges')
    then 'take it away again (alter table, drop rule, alter default privileges); find out who put '
      'it there'
  when code_advice.kind in ('column', 'columns', 'constraint', 'index')
      and code_advice.finding <> 'it was added'
    then 'put it back as a new database of this version has it; find out who changed it'
  else 'ragdb init --force installs what this version has; find out who changed it' end;

-- Compares functions, views, triggers, constraints, rules and grants with what was installed.
create or replace function ragdb_internal.verify_code(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_findings ragdb.finding[];
begin
  if (select max(i.server) from ragdb.installed_code i)
    is distinct from ragdb_internal.server_major()
  then
    return row(0, null, array[row('code', 'warning', 'functions',
      'they were installed by another version of PostgreSQL, and are not compared',
      'ragdb init --force installs them again')::ragdb.finding])::ragdb_internal.verified;
  end if;
  -- a right that the DBA gave to a role of their own, their index that refuses no row, another
  -- build of PostgreSQL or another version of pgvector is for a person to judge
  select coalesce(array_agg(row('code', case
          when c.kind = 'grant' and c.identity !~ ' public$'
            or c.kind = 'index' and c.finding = 'it was added' and not exists (
              select from pg_index x
              where x.indexrelid = to_regclass(c.identity) and x.indisunique)
            or c.is_elsewhere
            or c.kind = 'extension' and c.finding <> 'it was changed'
          then 'warning' else 'error' end, c.kind || ' ' || c.identity, c.finding,
          ragdb_internal.code_advice(c.kind, c.finding))::ragdb.finding
        order by c.kind, c.identity), '{}')
    into strict v_findings
    from ragdb_internal.code_changes() c;
  return row((select count(*) from ragdb.installed_code), null, v_findings)
    ::ragdb_internal.verified;
end $$;
