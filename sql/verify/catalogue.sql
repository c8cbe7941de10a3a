-- What guards the evidence: functions, triggers, owners and grants, against what was installed.

create or replace function ragdb_internal.present_grants()
returns table (kind text, identity text, hash bytea, object_id bigint, is_bound boolean)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
begin atomic
  select 'grant', g.of || ' to ' || case when a.grantee = 0 then 'public'
        else a.grantee::regrole::text end, pg_catalog.sha256(ragdb_internal.utf8(
      pg_catalog.string_agg(a.privilege_type || a.is_grantable::text, ','
        order by a.privilege_type))), null::bigint, false
    from (
      select p.oid::regprocedure::text, p.proacl, p.proowner from pg_catalog.pg_proc p
        where p.pronamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
      union all
      select c.oid::regclass::text, c.relacl, c.relowner from pg_catalog.pg_class c
        where c.relnamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
          and not c.relispartition
      union all
      select 'schema ' || n.nspname, n.nspacl, n.nspowner from pg_catalog.pg_namespace n
        where n.nspname in ('ragdb', 'ragdb_internal', 'bi')
    ) g (of, acl, owner) cross join lateral pg_catalog.aclexplode(g.acl) a
    where a.grantee <> g.owner group by 2;
end;
comment on function ragdb_internal.present_grants() is
  'Returns the grants on what is ragdb''s, each with the SHA-256 of its privileges.';

-- Functions as their own definitions give them, which another major version may write otherwise,
-- as a session that writes names or constants its own way would.
create or replace function ragdb_internal.present_code()
returns table (kind text, identity text, hash bytea, object_id bigint, is_bound boolean)
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
      pg_catalog.pg_get_functiondef(p.oid))), p.oid::bigint, p.prosqlbody is not null
    from pg_catalog.pg_proc p
    where p.pronamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
  union all
  select 'view', c.oid::regclass::text, pg_catalog.sha256(ragdb_internal.utf8(
      pg_catalog.pg_get_viewdef(c.oid))), c.oid::bigint, true
    from pg_catalog.pg_class c
    where c.relnamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
      and c.relkind = 'v'
  union all
  select 'trigger', t.tgname || ' on ' || t.tgrelid::regclass, pg_catalog.sha256(
      ragdb_internal.utf8(pg_catalog.pg_get_triggerdef(t.oid) || t.tgenabled::text)), null,
      false
    from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid
    where c.relnamespace::regnamespace::text = 'ragdb' and not t.tgisinternal
      and not c.relispartition
  union all
  select 'constraint', k.conname || ' on ' || k.conrelid::regclass, pg_catalog.sha256(
      ragdb_internal.utf8(pg_catalog.pg_get_constraintdef(k.oid) || k.convalidated::text)),
      k.oid::bigint, true
    from pg_catalog.pg_constraint k join pg_catalog.pg_class c on c.oid = k.conrelid
    where c.relnamespace::regnamespace::text = 'ragdb' and not c.relispartition
      and k.contype <> 'n'
  union all
  select * from ragdb_internal.present_grants();
end;
comment on function ragdb_internal.present_code() is
  'Returns the functions, views, triggers, constraints and grants of ragdb, each with the SHA-256 '
  'of its definition.';

-- What PostgreSQL parsed is written otherwise in a restored copy, whose functions have other
-- numbers.
create or replace function ragdb_internal.code_changes()
returns table (kind text, identity text, finding text, is_restored boolean)
language sql stable parallel safe
begin atomic
  select coalesce(p.kind, i.kind), coalesce(p.identity, i.identity),
      case when i.hash is null then 'it was added' when p.hash is null then 'it is missing'
        else 'it was changed' end,
      p.is_bound and i.hash is not null and not exists (select from ragdb.installed_code s
        where s.object_id = 'ragdb_internal.present_code()'::regprocedure::oid::bigint)
    from ragdb.installed_code i full join ragdb_internal.present_code() p
      on p.kind = i.kind and p.identity = i.identity
    where i.hash is distinct from p.hash;
end;
comment on function ragdb_internal.code_changes() is
  'Returns what differs from what was installed; is_restored where that is how a restored copy '
  'differs.';

create or replace function ragdb_internal.verify_code(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_findings ragdb.finding[];
  v_written bigint;
begin
  if (select max(i.server) from ragdb.installed_code i)
    is distinct from current_setting('server_version_num')::integer / 10000
  then
    return row(0, null, array[row('code', 'warning', 'functions',
      'they were installed by another version of PostgreSQL, and are not compared',
      'ragdb init --force installs them again')::ragdb.finding])::ragdb_internal.verified;
  end if;
  -- a right that the DBA gave to a role of their own is for a person to judge
  select coalesce(array_agg(row('code', case when c.kind = 'grant' and c.identity !~ ' public$'
          then 'warning' else 'error' end, c.kind || ' ' || c.identity, c.finding,
        'ragdb init --force installs what this version has; find out who changed it')
        ::ragdb.finding order by c.kind, c.identity) filter (where not c.is_restored), '{}'),
      count(*) filter (where c.is_restored)
    into strict v_findings, v_written
    from ragdb_internal.code_changes() c;
  if v_written > 0 then
    v_findings := v_findings || row('code', 'warning', v_written || ' functions and views',
      'they are written otherwise than they were installed, as in a restored copy',
      'ragdb init --force installs them again')::ragdb.finding;
  end if;
  return row((select count(*) from ragdb.installed_code), null, v_findings)
    ::ragdb_internal.verified;
end $$;
comment on function ragdb_internal.verify_code(jsonb, integer) is
  'Compares functions, views, triggers, constraints and grants with what was installed.';

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
      and (d.oid is null or d.datname = pg_catalog.current_database());
end;
comment on function ragdb_internal.trigger_findings() is
  'Looks for triggers of append-only partitions and foreign keys that are missing or off.';

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
    from pg_catalog.pg_class c cross join lateral pg_catalog.aclexplode(c.relacl) a
    where c.relnamespace = 'ragdb'::regnamespace and c.relispartition
      and a.grantee <> c.relowner
    group by c.oid
  union all
  select 'rights', 'note', 'role ' || m.member::regrole, 'it can be ' || m.roleid::regrole
      || case when pg_catalog.pg_get_userbyid(m.roleid) = 'ragdb_owner'
        then ', and can change every row'
        else ', and has the secrets of keys' end, 'revoke it from who need not be'
    from pg_catalog.pg_auth_members m
    where pg_catalog.pg_get_userbyid(m.roleid) in ('ragdb_owner', 'ragdb_signer');
end;
comment on function ragdb_internal.owner_findings() is
  'Looks for what does not belong to the owner or is granted, and tells who can be the owner.';

create or replace function ragdb_internal.verify_triggers(after jsonb, most integer)
returns ragdb_internal.verified
language sql stable parallel safe
return row(1, null, array(select f from ragdb_internal.trigger_findings() f order by f))
  ::ragdb_internal.verified;
comment on function ragdb_internal.verify_triggers(jsonb, integer) is
  'Looks for triggers that are missing or off.';

create or replace function ragdb_internal.verify_rights(after jsonb, most integer)
returns ragdb_internal.verified
language sql stable parallel safe
return row(1, null, array(
    select a.f from (
      select o from ragdb_internal.owner_findings() o
      union all select u from ragdb_internal.unexplained_grants() u
      union all select m from ragdb_internal.missing_grants() m) a (f) order by a.f))
  ::ragdb_internal.verified;
comment on function ragdb_internal.verify_rights(jsonb, integer) is
  'Looks at owners, grants on partitions, rights to corpora against the events that gave them, and '
  'who can be the owner or a signer.';
