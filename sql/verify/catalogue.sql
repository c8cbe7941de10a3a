-- What guards the evidence, as the catalogue has it: functions, triggers, rules and grants.

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

-- Returns the functions of ragdb as their own definitions give them, which another major version
-- may write otherwise, as a session that writes names or constants its own way would.
create or replace function ragdb_internal.present_functions()
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
    where p.pronamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi');
end;

-- Returns what PostgreSQL stores of the functions, views and triggers of ragdb, which it runs: what
-- it writes of them, of which a copy is made, need not say all of that. It has numbers of this
-- database.
create or replace function ragdb_internal.present_stored()
returns table (kind text, identity text, hash bytea)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off
set extra_float_digits = 1
begin atomic
  select 'stored function', p.oid::regprocedure::text, pg_catalog.sha256(ragdb_internal.utf8(
      pg_catalog.concat_ws(' ', p.prosqlbody, p.prosrc, p.probin, p.proargdefaults, p.proargnames,
        p.proargmodes, p.proallargtypes, p.proconfig, p.prolang, p.prorettype, p.proretset,
        p.prokind, p.prosecdef, p.proleakproof, p.proisstrict, p.provolatile, p.proparallel,
        p.prosupport::oid, p.procost, p.prorows, case p.prokind when 'a'
          then ragdb_internal.aggregate_definition(p.oid) end)))
    from pg_catalog.pg_proc p
    where p.pronamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
  union all
  select 'stored view', c.oid::regclass::text, pg_catalog.sha256(ragdb_internal.utf8(
      r.ev_action::text))
    from pg_catalog.pg_class c join pg_catalog.pg_rewrite r on r.ev_class = c.oid
    where c.relnamespace::regnamespace::text in ('ragdb', 'ragdb_internal', 'bi')
      and c.relkind = 'v' and r.ev_type = '1'
  union all
  select 'stored trigger', t.tgname || ' on ' || t.tgrelid::regclass, pg_catalog.sha256(
      ragdb_internal.utf8(pg_catalog.concat_ws(' ', t.tgfoid::oid, t.tgtype, t.tgqual)))
    from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid
    where c.relnamespace::regnamespace::text = 'ragdb' and not c.relispartition
      and not ragdb_internal.is_of_constraint(t);
end;

-- Returns all but functions: views, triggers, constraints, columns, indexes, rules and grants of
-- ragdb, and what was put beside them, each with the SHA-256 of its definition.
create or replace function ragdb_internal.present_other_code()
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

-- Returns all that ragdb_internal.code_changes() compares.
create or replace function ragdb_internal.present_code()
returns table (kind text, identity text, hash bytea)
language sql stable parallel safe
begin atomic
  select * from ragdb_internal.present_functions()
  union all
  select * from ragdb_internal.present_stored()
  union all
  select * from ragdb_internal.present_other_code();
end;
