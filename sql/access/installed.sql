-- What was installed, for ragdb.verify to compare with. The last file: all is there now.

-- A dump has what PostgreSQL parsed, of which it parses constants without a name and nested
-- conditions otherwise. So a body that has either is parsed from that once here, and a restored
-- copy has it as it was installed. To parse all takes a sixth of an installation.
do $$
declare
  v_definition text;
begin
  for v_definition in
    select pg_catalog.pg_get_functiondef(p.oid) from pg_catalog.pg_proc p
      where p.pronamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
        and p.prosqlbody::text ~ (':resname [?]column[?]|:boolop '
          '(and :args [(][{]BOOLEXPR :boolop and|or :args [(][{]BOOLEXPR :boolop or)')
  loop
    execute v_definition;
  end loop;
end $$;

-- What belongs to tables a revision makes, and no file above: of that nothing is taken for
-- installed because it is so now. What is missing stays missing, a column keeps what it was, and
-- what makes tables hand on, hide or lose rows is never installed. A revision empties the table.
with present as materialized (
  select p.* from ragdb_internal.present_code() p
    where p.kind not in ('child table', 'unlogged table', 'rule', 'row security',
      'default privileges')
),
gone as (
  delete from ragdb.installed_code i
    where not exists (
        select from present p where p.kind = i.kind and p.identity = i.identity)
      and (i.kind not in ('column', 'columns', 'constraint', 'index')
        -- the constraint of a trigger
        or exists (select from ragdb.installed_code t
          where t.kind = 'trigger' and t.identity = i.identity))
)
insert into ragdb.installed_code as i (kind, identity, hash, object_id, server)
  select p.kind, p.identity, p.hash, case p.identity when 'ragdb_internal.present_code()'
        then 'ragdb_internal.present_code()'::regprocedure::oid::bigint end,
      ragdb_internal.server_major()
    from present p
  on conflict (kind, identity) do update
    set hash = case when i.kind = 'column' and i.server = excluded.server then i.hash
        else excluded.hash end, -- another major version may write it otherwise
      object_id = excluded.object_id, server = excluded.server;
