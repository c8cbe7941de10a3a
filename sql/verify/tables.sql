-- What else decides what is stored and read: columns with their defaults, indexes, tables that hand
-- their rows on, what PostgreSQL itself does, and settings that sessions begin with.

-- Returns the columns of the tables of ragdb, with type, default and whether null is refused, and
-- their indexes but those of constraints.
create or replace function ragdb_internal.present_columns()
returns table (kind text, identity text, hash bytea)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
begin atomic
  select 'column', c.oid::regclass || '.' || a.attname, pg_catalog.sha256(ragdb_internal.utf8(
      pg_catalog.concat_ws(' ', pg_catalog.format_type(a.atttypid, a.atttypmod),
        a.attcollation::regcollation, a.attnotnull, a.attgenerated, a.attidentity,
        pg_catalog.pg_get_expr(d.adbin, d.adrelid))))
    from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
      left join pg_catalog.pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace::regnamespace::text = 'ragdb' and c.relkind in ('r', 'p')
      and not c.relispartition and a.attnum > 0 and not a.attisdropped
  union all
  select 'index', i.indexrelid::regclass::text, pg_catalog.sha256(ragdb_internal.utf8(
      pg_catalog.pg_get_indexdef(i.indexrelid) || i.indisvalid::text))
    from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indrelid
    where c.relnamespace::regnamespace::text = 'ragdb' and not c.relispartition
      and not exists (select from pg_catalog.pg_constraint k where k.conindid = i.indexrelid);
end;

-- Returns the tables that hand their rows on to those of ragdb, and those that are not logged:
-- there are none as it is installed. No trigger and no constraint of a table holds for its child
-- tables, and a crash empties what is not logged.
create or replace function ragdb_internal.present_children()
returns table (kind text, identity text, hash bytea)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
begin atomic
  select 'child table', i.inhrelid::regclass || ' of ' || c.oid::regclass, ''::bytea
    from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhparent
    where c.relnamespace::regnamespace::text = 'ragdb' and c.relkind = 'r'
  union all
  select 'unlogged table', c.oid::regclass::text, ''
    from pg_catalog.pg_class c
    where c.relnamespace::regnamespace::text = 'ragdb' and c.relkind = 'r'
      and c.relpersistence <> 'p';
end;

-- Returns the functions of PostgreSQL as one, and functions, operators and casts that were put
-- beside its own and are not of an extension. Functions of ragdb look names up there first. What
-- initdb made has an oid below 16384.
create or replace function ragdb_internal.present_builtins()
returns table (kind text, identity text, hash bytea)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
begin atomic
  select 'functions', 'of PostgreSQL', pg_catalog.sha256(ragdb_internal.utf8(
      pg_catalog.string_agg(pg_catalog.concat_ws(' ', p.oid, p.prolang, p.prosrc, p.probin,
        p.prosqlbody, p.proconfig, p.proisstrict, p.provolatile, p.prosupport::oid), ','
        order by p.oid)))
    from pg_catalog.pg_proc p
    where p.pronamespace::regnamespace::text = 'pg_catalog' and p.oid < 16384
  union all
  select a.kind, a.identity, ''
    from (
      select 'function', p.oid::regprocedure::text, 'pg_catalog.pg_proc'::regclass, p.oid
        from pg_catalog.pg_proc p where p.pronamespace::regnamespace::text = 'pg_catalog'
      union all
      select 'operator', o.oid::regoperator::text, 'pg_catalog.pg_operator'::regclass, o.oid
        from pg_catalog.pg_operator o where o.oprnamespace::regnamespace::text = 'pg_catalog'
      union all
      select 'cast', pg_catalog.concat_ws(' ', k.castsource::regtype, 'as', k.casttarget::regtype),
          'pg_catalog.pg_cast'::regclass, k.oid
        from pg_catalog.pg_cast k
        where k.castsource::oid < 16384 and k.casttarget::oid < 16384
      ) a (kind, identity, class, oid)
    where a.oid >= 16384 and not exists (
      select from pg_catalog.pg_depend d
      where d.classid = a.class and d.objid = a.oid and d.deptype = 'e');
end;

-- Returns the settings that roles and databases keep for sessions in this database, each as
-- name=value, and where it is kept.
create or replace function ragdb_internal.kept_settings()
returns table (place text, setting text)
language sql stable parallel safe
begin atomic
  select coalesce('database ' || d.datname, 'all databases')
      || coalesce(', role ' || nullif(s.setrole, 0)::regrole, ''), v.setting
    from pg_catalog.pg_db_role_setting s
      left join pg_catalog.pg_database d on d.oid = s.setdatabase
      cross join lateral pg_catalog.unnest(s.setconfig) v (setting)
    where s.setdatabase = 0 or d.datname = pg_catalog.current_database();
end;
