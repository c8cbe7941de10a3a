-- Triggers, owners and rights: what holds everybody else off the rows of evidence.

create or replace function ragdb_internal.trigger_findings() returns setof ragdb.finding
language sql stable parallel safe
begin atomic
  select 'triggers', 'error', 'ragdb.' || c.relname, 'trigger ' || n.name || ' is '
      || case when t.oid is null then 'missing' else 'switched off' end,
    'ragdb init --force puts it back; find out who took it'
    from pg_catalog.pg_inherits i
      join pg_catalog.pg_class c on c.oid = i.inhrelid
      join pg_catalog.pg_class o on o.oid = i.inhparent
      cross join lateral (values
        ('rows_are_append_only', 'ragdb_internal.refuse_change()', 'A'),
        ('table_is_append_only', 'ragdb_internal.refuse_change()', 'A'),
        (case when o.relname = 'retrieval_traces' then 'admissibility_is_proved' end,
          'ragdb_internal.check_admissible()', 'O')) n (name, function, enabled)
      left join pg_catalog.pg_trigger t on t.tgrelid = c.oid and t.tgname = n.name
        and t.tgfoid = n.function::regprocedure
    where o.relnamespace = 'ragdb'::regnamespace
      and o.relname = any (ragdb_internal.partitioned()) and n.name is not null
      and (t.oid is null or t.tgenabled not in (n.enabled::"char", 'A'))
  union all
  -- foreign keys, which `disable trigger all` switches off too
  select 'triggers', 'error', t.tgrelid::regclass::text,
    'foreign keys of the table are switched off', 'alter table … enable trigger all'
    from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid
    where c.relnamespace = 'ragdb'::regnamespace and t.tgisinternal and t.tgenabled = 'D'
    group by t.tgrelid
  union all
  select 'triggers', 'warning', coalesce('database ' || d.datname, 'all databases')
      || coalesce(', role ' || s.setrole::regrole, ''),
    'session_replication_role is set, which switches ordinary triggers off',
    'alter … reset session_replication_role'
    from pg_catalog.pg_db_role_setting s left join pg_catalog.pg_database d
      on d.oid = s.setdatabase
    where exists (select from unnest(s.setconfig) v where v like 'session\_replication\_role=%')
      and (d.oid is null or d.datname = pg_catalog.current_database())
  union all
  -- as by alter system, or in the file of the server
  select 'triggers', 'warning', 'this session',
    'session_replication_role is set, which switches ordinary triggers off',
    'alter … reset session_replication_role'
    where pg_catalog.current_setting('session_replication_role') <> 'origin';
end;
comment on function ragdb_internal.trigger_findings() is
  'Looks for triggers of append-only partitions and foreign keys that are missing or off.';

create or replace function ragdb_internal.added_triggers() returns setof ragdb.finding
language sql stable parallel safe
begin atomic
  select 'triggers', 'error', c.oid::regclass::text, 'trigger ' || t.tgname || ' was added',
    'drop it; find out who made it'
    from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid
      join pg_catalog.pg_proc p on p.oid = t.tgfoid
    where c.relnamespace = 'ragdb'::regnamespace and c.relispartition and not t.tgisinternal
      and p.pronamespace <> 'ragdb_internal'::regnamespace;
end;
comment on function ragdb_internal.added_triggers() is
  'Looks for triggers of partitions that call other functions than those of ragdb.';

create or replace function ragdb_internal.owner_findings() returns setof ragdb.finding
language sql stable parallel safe
begin atomic
  select 'rights', 'error', o.what, 'it belongs to ' || o.owner::regrole || ', not ragdb_owner',
    'alter it to owner ragdb_owner'
    from (
      select 'schema ' || n.nspname, n.nspowner from pg_catalog.pg_namespace n
        where n.nspname in ('ragdb', 'ragdb_internal', 'bi')
      union all
      select 'function ' || p.oid::regprocedure, p.proowner from pg_catalog.pg_proc p
        where p.pronamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
      union all
      select 'relation ' || c.oid::regclass, c.relowner from pg_catalog.pg_class c
        where c.relnamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
    ) o (what, owner)
    where pg_catalog.pg_get_userbyid(o.owner) <> 'ragdb_owner'
  union all
  -- partitions are not in the list of what was installed
  select 'rights', 'error', 'relation ' || c.oid::regclass, 'it is granted to '
      || pg_catalog.string_agg(distinct case when a.grantee = 0 then 'public'
        else a.grantee::regrole::text end, ', '), 'revoke all on it'
    from pg_catalog.pg_class c cross join lateral (
      select r.* from pg_catalog.aclexplode(c.relacl) r
      union all
      select k.* from pg_catalog.pg_attribute t
        cross join lateral pg_catalog.aclexplode(t.attacl) k where t.attrelid = c.oid) a
    where c.relnamespace = 'ragdb'::regnamespace and c.relispartition
      and a.grantee <> c.relowner
    group by c.oid
  union all
  select 'rights', 'note', 'role ' || m.member::regrole, 'it can be ' || m.roleid::regrole
      || case when pg_catalog.pg_get_userbyid(m.roleid) = 'ragdb_owner'
        then ', and can change every row'
        else ', and has the secrets of keys' end, 'revoke it from who need not be'
    from pg_catalog.pg_auth_members m
    where pg_catalog.pg_get_userbyid(m.roleid) in ('ragdb_owner', 'ragdb_signer')
  union all
  select 'rights', 'note', 'setting allow_test_clock',
    'any session may choose the time of what it records, by ragdb.now',
    'delete it from ragdb.settings where nobody tests'
    from ragdb.settings s where s.key = 'allow_test_clock' and s.value = 'true';
end;
comment on function ragdb_internal.owner_findings() is
  'Looks for what does not belong to the owner or is granted, and tells who can be the owner.';

create or replace function ragdb_internal.verify_triggers(after jsonb, most integer)
returns ragdb_internal.verified
language sql stable parallel safe
return row(1, null, array(
    select t.f from (
      select m from ragdb_internal.trigger_findings() m
      union all select a from ragdb_internal.added_triggers() a) t (f) order by t.f))
  ::ragdb_internal.verified;
comment on function ragdb_internal.verify_triggers(jsonb, integer) is
  'Looks for triggers that are missing, off or not of ragdb.';

create or replace function ragdb_internal.verify_rights(after jsonb, most integer)
returns ragdb_internal.verified
language sql stable parallel safe
return row(1, null, array(
    select a.f from (
      select o from ragdb_internal.owner_findings() o
      union all select u from ragdb_internal.unexplained_grants() u
      union all select m from ragdb_internal.missing_grants() m
      union all select s from ragdb_internal.unexplained_silence() s) a (f) order by a.f))
  ::ragdb_internal.verified;
comment on function ragdb_internal.verify_rights(jsonb, integer) is
  'Looks at owners, grants on partitions, rights to corpora against the events that gave them, and '
  'who can be the owner or a signer.';
