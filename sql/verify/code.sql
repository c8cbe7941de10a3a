-- What guards the evidence, against what was installed.

-- Tells whether this is a restored copy of the database in which ragdb was installed: its functions
-- have other numbers.
create or replace function ragdb_internal.is_copy() returns boolean
language sql stable parallel safe
return not exists (
  select from ragdb.installed_code s
  where s.identity = 'ragdb_internal.present_code()'
    and s.object_id = 'ragdb_internal.present_code()'::regprocedure::oid::bigint);

-- Returns what differs from what was installed; is_elsewhere where that is how another server
-- differs: what PostgreSQL and pgvector do, in a restored copy. A copy stored everything anew of
-- what was written of it. Elsewhere what is stored of a function says what is written of it, too,
-- so it is not written.
create or replace function ragdb_internal.code_changes()
returns table (kind text, identity text, finding text, is_elsewhere boolean)
language sql stable parallel safe
begin atomic
  with present as (
    select * from ragdb_internal.present_functions() where (select ragdb_internal.is_copy())
    union all
    select * from ragdb_internal.present_stored() where (select not ragdb_internal.is_copy())
    union all
    select * from ragdb_internal.present_other_code()
  ), installed as (
    select i.kind, i.identity, i.hash from ragdb.installed_code i
      where case when (select ragdb_internal.is_copy())
        then not pg_catalog.starts_with(i.kind, 'stored ') else i.kind <> 'function' end
  )
  select distinct pg_catalog.replace(coalesce(p.kind, i.kind), 'stored ', ''),
      coalesce(p.identity, i.identity),
      case when i.hash is null then 'it was added' when p.hash is null then 'it is missing'
        else 'it was changed' end,
      (p.identity = 'of PostgreSQL' or p.kind = 'extension')
        and (select ragdb_internal.is_copy())
    from installed i full join present p on p.kind = i.kind and p.identity = i.identity
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
