-- The partitions of traces, and of what hangs from traces: made ahead by month (UTC).

-- Makes the partition of a month (its first day; null makes the default one) with its key and
-- triggers, and returns its name. A key, an index or a trigger of the parent would be an
-- extension's and its partitions' the user's; such a dump restores empty. So every partition gets
-- its own, and is attached only when it is complete.
create or replace function ragdb_internal.make_partition(parent text, month date) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := ragdb_internal.partition_name(parent, month);
begin
  execute format('create table ragdb.%I (like ragdb.%I including all)', v_name, parent);
  execute format('alter table ragdb.%I add constraint %I primary key (%s)', v_name,
    v_name || '_ids_are_unique', ragdb_internal.partition_key(parent));
  perform ragdb_internal.index_partition(v_name);
  perform ragdb_internal.protect_partition(v_name);
  execute format('comment on table ragdb.%I is %L', v_name,
    format('The rows of ragdb.%s %s.', parent,
      coalesce('of ' || to_char(month, 'YYYY-MM') || ' (UTC)',
        'whose month has no partition yet')));
  execute format('alter table ragdb.%I attach partition ragdb.%I ', parent, v_name) || case
    when month is null then 'default'
    else format('for values from (%L) to (%L)',
      to_char(month, 'YYYY-MM-DD') || ' 00:00:00+00',
      to_char(month + interval '1 month', 'YYYY-MM-DD') || ' 00:00:00+00') end;
  return v_name;
end $$;

-- Tells whether a month has its partition, or for null whether there is a default one.
create or replace function ragdb_internal.has_partition(parent text, month date) returns boolean
language sql stable parallel safe
return pg_catalog.to_regclass('ragdb.' || ragdb_internal.partition_name(parent, month)) is not null;

-- Returns the months (their first days) that need partitions: this one and three ahead.
create or replace function ragdb_internal.months_ahead() returns date[]
language sql stable parallel safe
return array(
  select (pg_catalog.date_trunc('month', ragdb_internal.now() at time zone 'UTC')
      + pg_catalog.make_interval(months => i))::date
    from pg_catalog.generate_series(0, 3) i order by i);

-- Returns the months of the rows in the default partitions, some more than once.
create or replace function ragdb_internal.months_in_defaults() returns date[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parent text;
  v_found date[];
  v_months date[] := '{}';
begin
  foreach v_parent in array ragdb_internal.partitioned() loop
    continue when not ragdb_internal.has_partition(v_parent, null);
    execute format('select coalesce(array_agg(distinct'
      ' date_trunc(''month'', t.created_at at time zone ''UTC'')::date), ''{}'')'
      ' from ragdb.%I t', ragdb_internal.partition_name(v_parent, null)) into v_found;
    v_months := v_months || v_found;
  end loop;
  return v_months;
end $$;

-- Tells whether a partition is missing or a default partition has rows; it takes no lock that keeps
-- others from writing.
create or replace function ragdb_internal.is_maintenance_due() returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parent text;
  v_has_rows boolean;
begin
  foreach v_parent in array ragdb_internal.partitioned() loop
    if not ragdb_internal.has_partition(v_parent, null)
      or exists (select from unnest(ragdb_internal.months_ahead()) m
        where not ragdb_internal.has_partition(v_parent, m))
    then
      return true;
    end if;
    execute format('select exists (select from ragdb.%I)',
      ragdb_internal.partition_name(v_parent, null)) into v_has_rows;
    if v_has_rows then
      return true;
    end if;
  end loop;
  return false;
end $$;

-- Makes the partitions of some months that a table lacks, and its default one, which
-- replace_default empties into them; returns the names of those made. The rows of a default
-- partition may not be deleted, so one that has rows is replaced by a new one.
create or replace function ragdb_internal.make_partitions(
  parent text, months date[], replace_default boolean)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_default constant text := ragdb_internal.partition_name(parent, null);
  v_is_replaced constant boolean :=
    replace_default and ragdb_internal.has_partition(parent, null);
  v_month date;
  v_made text[] := '{}';
begin
  if v_is_replaced then
    execute format('alter table ragdb.%I detach partition ragdb.%I', parent, v_default);
  end if;
  foreach v_month in array months loop
    if not ragdb_internal.has_partition(parent, v_month) then
      v_made := v_made || ragdb_internal.make_partition(parent, v_month);
    end if;
  end loop;
  if v_is_replaced then
    execute format('insert into ragdb.%I select * from ragdb.%I', parent, v_default);
    execute format('drop table ragdb.%I', v_default);
  end if;
  if not ragdb_internal.has_partition(parent, null) then
    v_made := v_made || ragdb_internal.make_partition(parent, null);
  end if;
  return v_made;
end $$;

-- Makes the partitions of traces that are due, and returns their names. Almost every call finds
-- nothing due. Otherwise a lock that a long reader holds is waited for briefly and left for the
-- next call: the months made ahead and the default partition catch what is recorded meanwhile.
create or replace function ragdb_internal.make_due_partitions() returns setof text
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '3s'
as $$
declare
  v_parent text;
  v_default_months date[];
  v_months date[];
  v_made text[] := '{}';
begin
  if not ragdb_internal.is_maintenance_due() then
    return;
  end if;
  perform ragdb_internal.hold('maintain');
  v_default_months := ragdb_internal.months_in_defaults();
  v_months := array(select distinct m
    from unnest(v_default_months || ragdb_internal.months_ahead()) m order by m);
  -- default partitions are looked at, or replaced where they have rows
  perform ragdb_internal.lock_in_turn(ragdb_internal.trace_tables(
    case when v_default_months = '{}' then '{null}'::date[] end), 'access exclusive');
  foreach v_parent in array ragdb_internal.partitioned() loop
    v_made := v_made
      || ragdb_internal.make_partitions(v_parent, v_months, v_default_months <> '{}');
  end loop;
  return query select m from unnest(v_made) m;
exception when lock_not_available then
  if not (select bool_and(ragdb_internal.has_partition(p, null))
    from unnest(ragdb_internal.partitioned()) p)
  then
    raise;
  end if;
  raise warning
    'the partitions of traces are in use and are made by the next call of ragdb.maintain()';
end $$;

create or replace function ragdb.maintain() returns setof text
language plpgsql security definer -- it makes tables of the owner
set search_path = pg_catalog, pg_temp
set lock_timeout = '3s'
as $$
declare
  v_swept integer;
begin
  -- also where nothing is due: who calls it on a standby by mistake takes that for done
  perform ragdb_internal.check_recordable('maintain writes', 'run it on the primary');
  begin
    perform ragdb_internal.recount_rollups(false);
    v_swept := ragdb_internal.sweep_history();
  exception when lock_not_available then
    null; -- another is at it
  end;
  -- so that who calls it until nothing was due ends with no history that is too old
  if v_swept > 0 then
    return next 'past_rows';
  end if;
  if ragdb_internal.drop_many_words() then
    return next 'static_words';
  end if;
  return query select m from ragdb_internal.make_due_partitions() m;
  -- last, as it holds the table of all spaces
  return query select d from ragdb_internal.drop_left_tables() d;
end $$;
comment on function ragdb.maintain is
  'Drops history that is older than its corpus keeps it, 20000 rows at a call, and the words that '
  'static embedders keep of those they had to cut, once they are over 100000; makes the partitions '
  'that traces need: this month, three ahead, those of rows in the default partition, and an empty '
  'default partition; drops the tables of vectors that dropped spaces and corpora left, twenty at '
  'a call. Returns past_rows and static_words if it dropped some, then the names of the tables '
  'made and of those dropped; nothing when nothing was due. It also refreshes the rollups of '
  'schema bi. Call it outside any transaction that writes, at least monthly, and every few minutes '
  'for dashboards; of much that is due, call it until it returns nothing. Raises 25006.';
