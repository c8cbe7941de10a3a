-- Where a server stands in the log, so that a reader knows what a standby has seen already.

-- Returns the timeline of the log that this server writes or replays. A standby knows the timeline
-- that it replays from its control file, which is written now and then. Until it is, the standby
-- seems to be behind, and no reader is given what is too old.
create or replace function ragdb_internal.timeline() returns bigint
language sql volatile parallel restricted
return case when pg_catalog.pg_is_in_recovery() then (
    select greatest(c.timeline_id, r.min_recovery_end_timeline)
    from pg_catalog.pg_control_checkpoint() c, pg_catalog.pg_control_recovery() r)
  else ('x' || pg_catalog.left(
    pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8))::bit(32)::bigint end;

create or replace function ragdb.log_position() returns text
language sql volatile parallel restricted security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select concat_ws('/', s.system_identifier, ragdb_internal.timeline(),
      case when pg_is_in_recovery() then pg_last_wal_replay_lsn()
        else pg_current_wal_insert_lsn() end)
    from pg_control_system() s;
end;
comment on function ragdb.log_position is
  'Returns where this server stands in the log, as SYSTEM/TIMELINE/LSN: what it has written, or on '
  'a standby what it has replayed. Asked for after a commit, it is a position that only those '
  'servers have reached which show what was committed.';

create or replace function ragdb.has_reached(log_position text) returns boolean
language plpgsql volatile parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_asked constant text[] := regexp_match(has_reached.log_position,
    '^([0-9]{1,20})/([0-9]{1,10})/([0-9A-F]{1,8}/[0-9A-F]{1,8})$');
  v_here constant text[] := regexp_match(ragdb.log_position(), E'^(\\d+)/(\\d+)/(.+)$');
begin
  if v_asked is null then -- also for no position at all
    raise exception 'log_position is %', ragdb_internal.quote(has_reached.log_position)
      using errcode = 'RG400', detail = 'a position is SYSTEM/TIMELINE/LSN',
        hint = 'take it from ragdb.log_position() after a commit';
  end if;
  -- after a failover nobody knows which commits of the old timeline are in the new one
  return v_here[1:2] = v_asked[1:2] and v_here[3]::pg_lsn >= v_asked[3]::pg_lsn;
end $$;
comment on function ragdb.has_reached is
  'Tells whether this server has all that was committed before a position of ragdb.log_position() '
  'was asked for; false for a position of another system or timeline. Raises RG400.';

-- Refuses to write in a read-only transaction; what says who writes, hint what to do instead.
-- Raises 25006.
create or replace function ragdb_internal.check_recordable(what text, hint text) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('transaction_read_only')::boolean then
    -- the standard code: clients that know it go to the primary
    raise exception '%, and this %', what,
        case when pg_is_in_recovery() then 'server is a standby' else 'transaction is read-only' end
      using errcode = 'read_only_sql_transaction',
        detail = case when pg_is_in_recovery() then 'a standby takes no writes of its own'
          else 'the transaction or role is set to read-only' end,
        hint = check_recordable.hint;
  end if;
end $$;
