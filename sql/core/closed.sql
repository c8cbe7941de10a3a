-- Takes every right to schemas and tables from everybody but the owner, before any is granted.
-- Where a dump is restored, the default privileges of who restores it give rights to others.

do $$
declare
  v_grant record;
begin
  for v_grant in
    select distinct o.thing, case a.grantee when 0 then 'public' else a.grantee::regrole::text end
      as grantee
    from (
        select 'schema ' || n.nspname, n.nspacl, n.nspowner from pg_catalog.pg_namespace n
          where n.nspname in ('ragdb', 'ragdb_internal', 'bi')
        union all
        select 'table ' || c.oid::regclass, r.acl, c.relowner
          from pg_catalog.pg_class c cross join lateral (
            select c.relacl union all
            select t.attacl from pg_catalog.pg_attribute t where t.attrelid = c.oid) r (acl)
          where c.relnamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
      ) o (thing, acl, owner) cross join lateral pg_catalog.aclexplode(o.acl) a
    where a.grantee <> o.owner
  loop
    execute format('revoke all on %s from %s cascade', v_grant.thing, v_grant.grantee);
  end loop;
end $$;
