-- Triggers, owners and rights: what holds everybody else off the rows of evidence.

-- Looks for foreign keys that are off, and for settings that switch triggers off.
create or replace function ragdb_internal.trigger_findings() returns setof ragdb.finding
language sql stable parallel safe
begin atomic
  -- foreign keys, which `disable trigger all` switches off too
  select 'triggers', 'error', t.tgrelid::regclass::text,
    'foreign keys of the table are switched off', 'alter table … enable trigger all'
    from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid
    where c.relnamespace = 'ragdb'::regnamespace and t.tgisinternal
      and t.tgenabled not in ('O', 'A')
    group by t.tgrelid
  union all
  select 'triggers', 'warning', k.place,
    'session_replication_role is set, which switches ordinary triggers off',
    'alter … reset session_replication_role'
    from ragdb_internal.kept_settings() k
    where k.setting ilike 'session\_replication\_role=replica'
  union all
  -- as by alter system, or in the file of the server
  select 'triggers', 'warning', 'this session',
    'session_replication_role is set, which switches ordinary triggers off',
    'alter … reset session_replication_role'
    where pg_catalog.current_setting('session_replication_role') = 'replica';
end;

-- Looks for roles that can do what ragdb grants to nobody.
create or replace function ragdb_internal.power_findings() returns setof ragdb.finding
language sql stable parallel safe
begin atomic
  -- who is in one of our groups does not know that he is in another
  select 'rights', case when pg_catalog.pg_get_userbyid(m.member)
        in ('ragdb_reader', 'ragdb_writer', 'ragdb_admin', 'ragdb_auditor')
      then 'warning' else 'note' end,
      'role ' || m.member::regrole, 'it can be ' || m.roleid::regrole
      || case when pg_catalog.pg_get_userbyid(m.roleid) in ('ragdb_owner', 'pg_write_all_data',
          'pg_write_server_files', 'pg_execute_server_program')
        then ', and can change every row'
        else ', and has the secrets of keys' end, 'revoke it from who need not be'
    from (select distinct a.member, a.roleid from pg_catalog.pg_auth_members a) m
    where pg_catalog.pg_get_userbyid(m.roleid)
      in ('ragdb_owner', 'ragdb_signer', 'pg_write_all_data', 'pg_read_all_data',
        'pg_write_server_files', 'pg_read_server_files', 'pg_execute_server_program')
  union all
  select 'rights', 'warning', k.place,
    'ragdb.signing_key is set, which every role of the server reads in pg_db_role_setting',
    'alter … reset "ragdb.signing_key", give it to sessions, and ragdb keys rotate'
    from ragdb_internal.kept_settings() k where k.setting ilike 'ragdb.signing\_key=_%'
  union all
  -- the groups are made with none of these, which a member has who sets the role
  select 'rights', 'warning', 'role ' || r.rolname,
      'who can be it can do what ragdb grants to nobody: ' || a.has,
      'alter role … nosuperuser nocreaterole noreplication nologin'
    from pg_catalog.pg_roles r
      cross join lateral pg_catalog.concat_ws(', ',
        case when r.rolsuper then 'it is a superuser' end,
        case when r.rolcanlogin then 'it can log in' end,
        case when r.rolcreaterole then 'it can make roles' end,
        case when r.rolreplication then 'it can copy the whole server' end) a (has)
    where r.rolname in ('ragdb_reader', 'ragdb_writer', 'ragdb_admin', 'ragdb_auditor',
      'ragdb_signer', 'ragdb_owner') and a.has <> '';
end;

-- Looks for what runs beside ragdb: event triggers, libraries, subscriptions, and publications of
-- secrets.
create or replace function ragdb_internal.beside_findings() returns setof ragdb.finding
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
begin atomic
  select 'rights', 'note', 'event trigger ' || t.evtname,
    'it runs ' || t.evtfoid::regprocedure || ' at ' || t.evtevent, 'drop it where nobody knows it'
    from pg_catalog.pg_event_trigger t where t.evtenabled <> 'D'
  union all
  select 'rights', 'note', k.place,
    'sessions load what ' || pg_catalog.split_part(k.setting, '=', 1) || ' names',
    'alter … reset it where nobody knows why'
    from ragdb_internal.kept_settings() k
    where k.setting ~ '^(session|local)_preload_libraries=.'
  union all
  select 'rights', 'note', 'publication ' || p.pubname,
    'it sends the secrets of keys to who subscribes', 'alter publication … drop table'
    from pg_catalog.pg_publication p
    where p.puballtables
      or exists (
        select from pg_catalog.pg_publication_rel r
        where r.prpubid = p.oid and r.prrelid = 'ragdb.signing_secrets'::regclass)
      or exists (
        select from pg_catalog.pg_publication_namespace n
        where n.pnpubid = p.oid and n.pnnspid = 'ragdb'::regnamespace)
  union all
  select 'rights', 'note', r.srrelid::regclass::text,
    'subscription ' || s.subname || ' writes to it, for which ordinary triggers do not fire',
    'alter subscription … disable where nobody knows it'
    from pg_catalog.pg_subscription_rel r
      join pg_catalog.pg_subscription s on s.oid = r.srsubid
      join pg_catalog.pg_class c on c.oid = r.srrelid
    where c.relnamespace = 'ragdb'::regnamespace;
end;

-- Looks for roles that may switch triggers off or edit the catalogue. Who was granted a whole table
-- of the catalogue may not write to it all the same, and who was granted a column of one may.
create or replace function ragdb_internal.bypass_findings() returns setof ragdb.finding
language sql stable parallel safe
begin atomic
  select distinct 'rights', a.severity, 'role ' || case a.grantee when 0 then 'public'
      else a.grantee::regrole::text end, 'it may ' || a.what, 'revoke it from who need not'
    from (
      select 'note', r.grantee, 'set session_replication_role, which switches ordinary triggers off'
        from pg_catalog.pg_parameter_acl p cross join lateral pg_catalog.aclexplode(p.paracl) r
        where p.parname = 'session_replication_role'
      union all
      select 'warning', r.grantee, 'edit ' || c.relname || ', and so what ragdb does'
        from pg_catalog.pg_class c join pg_catalog.pg_attribute t on t.attrelid = c.oid
          cross join lateral pg_catalog.aclexplode(t.attacl) r
        where c.relnamespace = 'pg_catalog'::regnamespace and c.relkind = 'r'
          and r.privilege_type in ('INSERT', 'UPDATE')
      ) a (severity, grantee, what)
    where a.grantee <> 10; -- the superuser that initdb makes
end;

-- Looks for what does not belong to the owner or is granted, and tells who sets the clock.
create or replace function ragdb_internal.owner_findings() returns setof ragdb.finding
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off -- as names of schemas are compared
begin atomic
  select 'rights', 'error', o.what, 'it belongs to ' || o.owner::regrole || ', not ragdb_owner',
    'alter … owner to ragdb_owner'
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
      || pg_catalog.string_agg(distinct case a.grantee when 0 then 'public'
        else a.grantee::regrole::text end, ', '), 'ragdb init --force revokes it'
    from pg_catalog.pg_class c cross join lateral (
      select r.* from pg_catalog.aclexplode(c.relacl) r
      union all
      select k.* from pg_catalog.pg_attribute t
        cross join lateral pg_catalog.aclexplode(t.attacl) k where t.attrelid = c.oid) a
    where c.relnamespace = 'ragdb'::regnamespace and c.relispartition
      and a.grantee <> c.relowner
    group by c.oid
  union all
  select 'rights', 'note', 'setting allow_test_clock',
    'any session may choose the time of what it records, by ragdb.now',
    'delete it from ragdb.settings where nobody tests'
    from ragdb.settings s where s.key = 'allow_test_clock' and s.value = 'true';
end;

-- Looks for triggers that are missing, off, changed or not of ragdb, and for keys of partitions.
create or replace function ragdb_internal.verify_triggers(after jsonb, most integer)
returns ragdb_internal.verified
language sql stable parallel safe
return row(1, null, array(
    select t.f from (
      select g from ragdb_internal.guard_findings() g
      union all select m from ragdb_internal.trigger_findings() m
      union all select a from ragdb_internal.added_triggers() a
      union all select k from ragdb_internal.unkeyed_partitions() k
      union all select h from ragdb_internal.hidden_findings() h
      union all select r from ragdb_internal.refusing_partitions() r) t (f) order by t.f))
  ::ragdb_internal.verified;

-- Looks at owners, grants on partitions, rights to corpora, bindings and tokens against the events
-- that gave them, and who can do more than is granted.
create or replace function ragdb_internal.verify_rights(after jsonb, most integer)
returns ragdb_internal.verified
language sql stable parallel safe
return row(1, null, array(
    select a.f from (
      select o from ragdb_internal.owner_findings() o
      union all select w from ragdb_internal.power_findings() w
      union all select b from ragdb_internal.beside_findings() b
      union all select y from ragdb_internal.bypass_findings() y
      union all select u from ragdb_internal.unexplained_grants() u
      union all select e from ragdb_internal.unexplained_owners() e
      union all select p from ragdb_internal.unexplained_proxies() p
      union all select m from ragdb_internal.missing_grants() m
      union all select s from ragdb_internal.unexplained_silence() s) a (f) order by a.f))
  ::ragdb_internal.verified;
