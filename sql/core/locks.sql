-- Locks that keep two transactions from the same work. They are rows of a table that is granted to
-- nobody: an advisory lock could be taken, and held, by any role that can log in. Who holds one
-- alone writes its row. So a transaction that still reads what was there before that gets 40001 and
-- begins again; of a row that was only locked it would hear nothing.

-- Waits until no other transaction holds a name (or holds it alone, with is_shared), and holds it
-- to the end of this one.
create or replace function ragdb_internal.hold(name text, is_shared boolean default false)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into ragdb.locks (name) values (hold.name)
    on conflict on constraint locks_are_unique do nothing;
  if is_shared then
    perform from ragdb.locks l where l.name = hold.name for share;
  else
    update ragdb.locks l set name = l.name where l.name = hold.name;
  end if;
end $$;

-- Holds a name to the end of the transaction and returns true; false where another holds it.
create or replace function ragdb_internal.try_hold(name text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- an insert waits for whoever holds the row that it meets
  if not exists (select from ragdb.locks l where l.name = try_hold.name) then
    insert into ragdb.locks (name) values (try_hold.name)
      on conflict on constraint locks_are_unique do nothing;
  end if;
  perform from ragdb.locks l where l.name = try_hold.name for update skip locked;
  if not found then
    return false;
  end if;
  perform ragdb_internal.hold(try_hold.name);
  return true;
end $$;

-- Locks some tables (their names; null: none) in a mode. Whoever waits for a lock holds up all who
-- come after, and a reader may go on for hours, as pg_dump does. So this waits for a moment, lets
-- the others go on and tries again; ever more seldom for long enough that a deadlock is found. The
-- lock_timeout of the session is the limit of all tries together. Raises 55P03, 40P01.
create or replace function ragdb_internal.lock_in_turn(tables text, mode text) returns void
language plpgsql strict
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limit constant text := current_setting('lock_timeout');
  v_finds_deadlock constant text := (1000 * extract(epoch from
    current_setting('deadlock_timeout')::interval) + 100)::integer::text;
  v_began constant timestamptz := clock_timestamp();
  v_try integer := 0;
begin
  loop
    v_try := v_try + 1;
    begin
      perform set_config('lock_timeout', case when v_try > 2 and v_try & (v_try - 1) = 0
        then v_finds_deadlock else '50' end, true);
      execute format('lock table %s in %s mode', tables, mode);
      perform set_config('lock_timeout', v_limit, true);
      return;
    exception when lock_not_available then
      if v_limit <> '0' and clock_timestamp() > v_began + v_limit::interval then
        raise;
      end if;
    end;
    perform pg_sleep(0.5);
  end loop;
end $$;

-- Waits until every other transaction that has written some tables has ended. The lock that tells
-- is given back, so that who goes on after this holds up nobody. Raises 55P03, 40P01.
create or replace function ragdb_internal.await_writers(tables text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.lock_in_turn(tables, 'share');
  raise exception 'they have ended';
exception when raise_exception then
  null;
end $$;

-- Takes one of the caller's slots of something until the transaction ends; false where sessions of
-- the caller have all of them. A slot is an advisory lock of the transaction, so that it can be
-- taken on a standby too and ends with the transaction behind every pooler. Any role could take
-- such locks, so once all slots are taken only those of sessions that can be the caller's role are
-- counted.
create or replace function ragdb_internal.take_slot_of(what text, slots integer) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_role constant oid := ragdb_internal.caller_oid();
  v_class constant integer := hashtext('ragdb slot ' || what);
  v_kept constant text := 'ragdb.slot_of_' || to_hex(v_class);
  v_first constant integer := case
    when current_setting(v_kept, true) ~ '^[0-9]{1,4}$' then current_setting(v_kept)::integer
    else pg_backend_pid() end % slots;
  v_slot integer;
begin
  for i in 0 .. slots - 1 loop
    v_slot := (v_first + i) % slots;
    -- the slot that the transaction has is taken again
    if pg_try_advisory_xact_lock(v_class, hashtext(v_role || ' ' || v_slot)) then
      perform set_config(v_kept, v_slot::text, true);
      return true;
    end if;
  end loop;
  return slots > (
    select count(distinct l.pid) from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.granted and l.objsubid = 2
      and l.classid::bigint = v_class::bigint & 4294967295
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and pg_has_role(a.usesysid, v_role, 'member'));
end $$;
