-- What partitions must have, and what they may not: no list of what was installed has them, because
-- they are made as time goes on.

-- Returns the triggers that every partition of a table must have: the function with its arguments,
-- whether it always fires, on what, and its condition. A trigger fires on what its type says (bits
-- of pg_trigger.tgtype), and another of its name may fire on less. What keeps the past of
-- embeddings is that of chunks.
create or replace function ragdb_internal.partition_guards()
returns table (parent text, name text, function regprocedure, enabled "char", type integer,
  condition text, arguments bytea)
language sql stable parallel safe
begin atomic
  select p.parent, g.*, ''::bytea from pg_catalog.unnest(ragdb_internal.partitioned()) p (parent)
    cross join lateral (values
      ('rows_are_append_only', 'ragdb_internal.refuse_change()'::regprocedure, 'A'::"char", 27,
        null),
      ('table_is_append_only', 'ragdb_internal.refuse_change()', 'A', 34, null)) g
  union all
  select 'retrieval_traces', 'admissibility_is_proved', 'ragdb_internal.check_admissible()', 'O',
    7, 'WHEN (new.is_admissible) EXECUTE', ''
  union all
  select 'chunk_embeddings', t.tgname, t.tgfoid::regprocedure, t.tgenabled, 29,
    pg_catalog.substring(pg_catalog.pg_get_triggerdef(t.oid), 'WHEN .* EXECUTE'),
    'embedding\000'
    from pg_catalog.pg_trigger t
    where t.tgrelid = 'ragdb.chunks'::regclass and t.tgname = 'past_is_kept';
end;

-- Looks for triggers of partitions that are missing, switched off, or fire on less than they did.
create or replace function ragdb_internal.guard_findings() returns setof ragdb.finding
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off -- as conditions are compared
begin atomic
  select 'triggers', 'error', 'ragdb.' || c.relname, 'trigger ' || g.name || ' is ' || case
      when t.oid is null then 'missing'
      when t.tgenabled not in (g.enabled, 'A') then 'switched off' else 'not what it was' end,
    'ragdb init --force puts it back; find out who took it'
    from ragdb_internal.partition_guards() g
      join pg_catalog.pg_class o on o.relname = g.parent
        and o.relnamespace = 'ragdb'::regnamespace
      join pg_catalog.pg_inherits i on i.inhparent = o.oid
      join pg_catalog.pg_class c on c.oid = i.inhrelid
      left join pg_catalog.pg_trigger t on t.tgrelid = c.oid and t.tgname = g.name
        and t.tgfoid = g.function
    where t.oid is null or t.tgenabled not in (g.enabled, 'A') or t.tgtype <> g.type
      or t.tgattr <> ''::int2vector or t.tgargs <> g.arguments
      -- null for one that went, with its table, after this snapshot was taken
      or pg_catalog.pg_get_triggerdef(t.oid) is not null
        and pg_catalog.substring(pg_catalog.pg_get_triggerdef(t.oid), 'WHEN .* EXECUTE')
          is distinct from g.condition;
end;

-- Looks for triggers of partitions beside those that they must have, whatever function they call: a
-- function of ragdb that is called before a row goes in may keep it out.
create or replace function ragdb_internal.added_triggers() returns setof ragdb.finding
language sql stable parallel safe
begin atomic
  select 'triggers', 'error', c.oid::regclass::text, 'trigger ' || t.tgname || ' was added',
    'drop it; find out who made it'
    from pg_catalog.pg_trigger t join pg_catalog.pg_class c on c.oid = t.tgrelid
      join pg_catalog.pg_inherits i on i.inhrelid = c.oid
    where c.relnamespace = 'ragdb'::regnamespace and c.relispartition
      and not ragdb_internal.is_of_constraint(t)
      and not exists (
        select from ragdb_internal.partition_guards() g
        where g.name = t.tgname and i.inhparent = ('ragdb.' || g.parent)::regclass);
end;

-- Looks for partitions without their key, or whose index does not keep it. The ledger has an id
-- once: of two rows of one id it compares one.
create or replace function ragdb_internal.unkeyed_partitions() returns setof ragdb.finding
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off -- as definitions are compared
begin atomic
  select 'triggers', 'error', 'ragdb.' || c.relname,
    'its key is missing, and a row may be there twice',
    'alter table … add primary key (' || k.columns || '); find out who took it'
    from (
      select p.parent, ragdb_internal.partition_key(p.parent) as columns
        from pg_catalog.unnest(ragdb_internal.partitioned()) p (parent)
      union all
      select 'chunk_embeddings', 'corpus_id, chunk_no') k
      join pg_catalog.pg_inherits i on i.inhparent = ('ragdb.' || k.parent)::regclass
      join pg_catalog.pg_class c on c.oid = i.inhrelid
    where not exists (
      select from pg_catalog.pg_constraint o
      where o.conrelid = c.oid and o.contype = 'p'
        and ragdb_internal.index_state(o.conindid) = 'ttttt'
        -- null for one that went, with its table, after this snapshot was taken
        and coalesce(pg_catalog.pg_get_constraintdef(o.oid) = 'PRIMARY KEY (' || k.columns || ')',
          true));
end;

-- Looks for partitions outside of the schema, whose rules, row security and grants no check sees,
-- for those that are more than a table, and for tables of which an edit of the catalogue says that
-- they have no triggers, indexes, checks or partitions: PostgreSQL looks for none then.
create or replace function ragdb_internal.hidden_findings() returns setof ragdb.finding
language sql stable parallel safe
begin atomic
  select 'triggers', 'error', c.oid::regclass::text,
    'it is a partition of ' || i.inhparent::regclass || ' in another schema',
    'alter table … set schema ragdb; find out who moved it'
    from pg_catalog.pg_inherits i
      join pg_catalog.pg_class o on o.oid = i.inhparent and o.relnamespace = 'ragdb'::regnamespace
      join pg_catalog.pg_class c on c.oid = i.inhrelid and c.relnamespace <> o.relnamespace
  union all
  select 'triggers', 'error', c.oid::regclass::text,
    'it is a partition that has partitions, whose triggers and keys are not looked at',
    'alter table … detach partition; find out who put it there'
    from pg_catalog.pg_class c
    where c.relnamespace = 'ragdb'::regnamespace and c.relispartition and c.relkind <> 'r'
  union all
  select 'triggers', 'error', c.oid::regclass::text,
    'it is a partition that its table does not have, or not for long, and whose rows are not read',
    'attach it again (alter table … detach partition … finalize, attach partition); find out who '
      'took it'
    from pg_catalog.pg_class c
    where c.relnamespace = 'ragdb'::regnamespace and c.relkind = 'r' and c.relispartition
      and not exists (
        select from pg_catalog.pg_inherits i where i.inhrelid = c.oid and not i.inhdetachpending)
  union all
  select 'triggers', 'error', c.oid::regclass::text,
    'the catalogue says that it has no triggers, indexes, checks or partitions, and it has some',
    'mend relhastriggers, relhasindex, relchecks or relhassubclass of pg_class; find out who '
      'edited it'
    from pg_catalog.pg_class c
    where c.relnamespace = 'ragdb'::regnamespace and (
      not c.relhastriggers and exists (
        select from pg_catalog.pg_trigger t where t.tgrelid = c.oid)
      or not c.relhasindex and exists (
        select from pg_catalog.pg_index x where x.indrelid = c.oid)
      or c.relchecks < (
        select count(*) from pg_catalog.pg_constraint k
        where k.conrelid = c.oid and k.contype = 'c')
      or not c.relhassubclass and exists (
        select from pg_catalog.pg_inherits i where i.inhparent = c.oid));
end;

-- Looks for what refuses rows of a partition that its table takes: constraints and unique indexes
-- of its own, columns that must have a value, and indexes that compute, which fails for whoever
-- made them so. ragdb makes an index over an expression by HNSW alone.
create or replace function ragdb_internal.refusing_partitions() returns setof ragdb.finding
language sql stable parallel safe
begin atomic
  select 'triggers', 'error', c.oid::regclass::text, r.what || ', and refuses rows',
    'take it away (alter table, drop index); find out who put it there'
    from pg_catalog.pg_inherits i
      join pg_catalog.pg_class o on o.oid = i.inhparent and o.relnamespace = 'ragdb'::regnamespace
      join pg_catalog.pg_class c on c.oid = i.inhrelid
      cross join lateral (
        select 'constraint ' || k.conname || ' was added'
          from pg_catalog.pg_constraint k
          where k.conrelid = c.oid and k.contype not in ('p', 'n') and k.coninhcount = 0
        union all
        select 'column ' || a.attname || ' must have a value there'
          from pg_catalog.pg_attribute a
            join pg_catalog.pg_attribute p on p.attrelid = o.oid and p.attname = a.attname
          where a.attrelid = c.oid and a.attnum > 0 and a.attnotnull and not p.attnotnull
        union all
        select 'index ' || x.relname || ' was added'
          from pg_catalog.pg_index n
            join pg_catalog.pg_class x on x.oid = n.indexrelid
            join pg_catalog.pg_am m on m.oid = x.relam
          where n.indrelid = c.oid and not n.indisprimary
            and (n.indisunique or n.indexprs is not null and m.amname <> 'hnsw'
              or n.indpred is not null and x.relname <> all (array[c.relname || '_by_trouble',
                c.relname || '_by_shortfall', c.relname || '_by_slice']))
        ) r (what);
end;
