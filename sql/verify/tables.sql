-- What else decides what is stored and read: columns with their defaults, indexes, tables that hand
-- their rows on, and settings that sessions begin with.

-- Returns how an index keeps what it says, which its definition does not tell: one that PostgreSQL
-- does not write to refuses nothing.
create or replace function ragdb_internal.index_state(index oid) returns text
language sql stable parallel safe
return (
  select pg_catalog.concat(x.indisunique, x.indisvalid, x.indisready, x.indislive,
      x.indimmediate)
    from pg_catalog.pg_index x where x.indexrelid = index_state.index);

-- Returns the columns of the tables of ragdb, with type, default and whether null is refused, their
-- indexes but those of constraints, and the order of the columns of tables and types: two that have
-- each other's name are as they were otherwise. Types of pgvector as in schema public, whichever a
-- DBA moved it to.
create or replace function ragdb_internal.present_columns()
returns table (kind text, identity text, hash bytea)
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
begin atomic
  select 'column', c.oid::regclass || '.' || a.attname, pg_catalog.sha256(ragdb_internal.utf8(
      pg_catalog.concat_ws(' ', pg_catalog.replace(
          pg_catalog.format_type(a.atttypid, a.atttypmod), (
            select e.extnamespace::regnamespace || '.' from pg_catalog.pg_extension e
            where e.extname = 'vector'), 'public.'),
        a.attcollation::regcollation, a.attnotnull, a.attgenerated, a.attidentity,
        pg_catalog.pg_get_expr(d.adbin, d.adrelid))))
    from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
      left join pg_catalog.pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace::regnamespace::text = 'ragdb' and c.relkind in ('r', 'p')
      and not c.relispartition and a.attnum > 0 and not a.attisdropped
  union all
  select 'index', i.indexrelid::regclass::text, pg_catalog.sha256(ragdb_internal.utf8(
      pg_catalog.pg_get_indexdef(i.indexrelid) || ragdb_internal.index_state(i.indexrelid)))
    from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indrelid
    where c.relnamespace::regnamespace::text = 'ragdb' and not c.relispartition
      and not exists (select from pg_catalog.pg_constraint k where k.conindid = i.indexrelid)
  union all
  select 'columns', 'of ' || c.oid::regclass, pg_catalog.sha256(ragdb_internal.utf8(
      pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.attname, a.atthasdef,
        case c.relkind when 'c' then a.atttypid::regtype end), ',' order by a.attnum)))
    from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
    where c.relnamespace::regnamespace::text in ('ragdb', 'ragdb_internal')
      and c.relkind in ('r', 'p', 'c') and not c.relispartition and a.attnum > 0
      and not a.attisdropped
    group by c.oid;
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
