-- What everything else is made of: the clock, the caller, how errors quote, and the bytes that are
-- hashed.

-- Returns the database clock; the setting ragdb.now replaces it where settings.allow_test_clock is
-- true. The clock. A test may pin it, and only where the owner has allowed that in the settings.
create or replace function ragdb_internal.now() returns timestamptz
language sql stable parallel safe
begin atomic
  select case
    when nullif(pg_catalog.current_setting('ragdb.now', true), '') is not null
      and exists (select from ragdb.settings s where s.key = 'allow_test_clock'
        and s.value = 'true'::jsonb)
    then pg_catalog.current_setting('ragdb.now', true)::timestamptz
    else pg_catalog.clock_timestamp()
  end;
end;

-- Refuses to drop what is before a day that is null or has yet to come. Raises RG400.
create or replace function ragdb_internal.check_ended(before date, what text) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if before is null or before > (ragdb_internal.now() at time zone 'UTC')::date then
    raise exception 'before is %', case when before is null then 'null' else 'in the future' end
      using errcode = 'RG400', detail = format('only %s before that day (UTC) are dropped', what),
        hint = 'give a date up to today, such as current_date - 365';
  end if;
end $$;

-- Returns when a job that is there is due at the latest; one that says later was written while the
-- clock was ahead, and is due at once. No lease and no back-off is longer than a day and a half.
-- Without this what was written while the clock was a year ahead would wait for a year once that is
-- put right.
create or replace function ragdb_internal.latest_due() returns timestamptz
language sql volatile parallel safe
return pg_catalog.clock_timestamp() + interval '2 days';

-- Returns the milliseconds since a time, to a microsecond. volatile, as the clock that it reads is:
-- else it would not become part of its callers.
create or replace function ragdb_internal.ms_since(began timestamptz) returns numeric
language sql parallel safe
return pg_catalog.round(
  (1000 * extract(epoch from pg_catalog.clock_timestamp() - ms_since.began))::numeric, 3);

-- Returns the major version of the server, such as 18.
create or replace function ragdb_internal.server_major() returns integer
language sql stable parallel safe
return pg_catalog.current_setting('server_version_num')::integer / 10000;

-- Returns the role on whose behalf the statement runs. Inside a definer function current_user is
-- the owner and session_user ignores `set role`; only `set role`, which checks membership, can move
-- this one.
create or replace function ragdb_internal.caller() returns text
language sql stable parallel safe
return coalesce(nullif(pg_catalog.current_setting('role'), 'none'), session_user);

-- Quotes a value for an error message, shortened to 80 characters. Errors quote user text, and
-- never more than a line of it.
create or replace function ragdb_internal.quote(value text) returns text
language sql immutable parallel safe
return case
  when value is null then 'null'
  when pg_catalog.length(value) > (ragdb_internal.limits()).quoted_characters
    then '"' || pg_catalog.left(value, (ragdb_internal.limits()).quoted_characters - 1) || '…"'
  else '"' || value || '"'
end;

-- Returns some bytes behind their number, four bytes, most significant first. A list whose parts
-- cannot run into each other: ('ab', 'c') and ('a', 'bc') differ.
create or replace function ragdb_internal.packed(part bytea) returns bytea
language sql immutable parallel safe
return pg_catalog.int4send(pg_catalog.octet_length(packed.part)) || packed.part;

-- Returns a text in UTF-8 behind its length in bytes, four bytes, most significant first.
create or replace function ragdb_internal.packed(part text) returns bytea
language sql stable parallel safe
return ragdb_internal.packed(pg_catalog.convert_to(packed.part, 'UTF8'));

-- Returns the sha256 of a list of fields, each preceded by its length in four bytes, a null being
-- length -1. The canonical form of everything hashed here. A length before each field keeps two
-- lists of fields from having the same bytes, and the *_send functions give bytes that no setting
-- changes (a text cast of a float or a time depends on several). Text goes in as UTF-8: textsend
-- follows client_encoding.
create or replace function ragdb_internal.fields_hash(variadic fields bytea[]) returns bytea
language sql immutable parallel safe
return (
  select pg_catalog.sha256(coalesce(pg_catalog.string_agg(
    coalesce(pg_catalog.int4send(pg_catalog.octet_length(f.bytes)) || f.bytes, '\xffffffff'::bytea),
    ''::bytea order by f.n), ''::bytea))
  from pg_catalog.unnest(fields) with ordinality as f (bytes, n));

-- Returns the UTF-8 bytes of a text.
create or replace function ragdb_internal.utf8(value text) returns bytea
language sql stable parallel safe
return pg_catalog.convert_to(value, 'UTF8');

-- Returns the name of the lock under which a statement of a transaction deletes rows of an
-- append-only table. Only the owner can write it, whatever settings a session makes; it names the
-- transaction and ends with the statement, so that no other deletion finds it.
create or replace function ragdb_internal.removal(relation text, transaction xid8) returns text
language sql stable parallel safe
return 'rows of ' || relation || ' go by transaction ' || transaction;

-- Trigger of append-only tables: refuses every update and truncate, and every delete but that of
-- ragdb_internal.remove_rows. Raises RG414.
create or replace function ragdb_internal.refuse_change() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'DELETE' and exists (select from ragdb.locks l
      where l.name = ragdb_internal.removal(tg_table_name, pg_current_xact_id())) then
    return old;
  end if;
  raise exception '% of ragdb.% is refused', lower(tg_op collate "C"), tg_table_name
    using errcode = 'RG414',
      detail = 'the rows of this table are append-only, for their owner too',
      hint = case
        when (select c.relispartition from pg_class c where c.oid = tg_relid)
          then 'ragdb.drop_traces_before() drops whole months of traces and what belongs to them'
        when tg_table_name = 'access_events'
          then 'ragdb.drop_access_events_before() drops events by their age, on record'
        when tg_table_name = 'slice_policies'
          then 'ragdb.register_policy() adds a policy; a registered one stays'
        else 'nothing changes or removes one; what happens later is another row' end;
end $$;

-- Puts the triggers on a table or a partition that keep its rows as they were written, for their
-- owner too; refusal is the call that an update or a delete of a row runs.
create or replace function ragdb_internal.make_append_only(
  relation text, refusal text default 'ragdb_internal.refuse_change()')
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('create or replace trigger rows_are_append_only before update or delete'
    ' on ragdb.%I for each row execute function %s', relation, refusal);
  execute format('create or replace trigger table_is_append_only before truncate'
    ' on ragdb.%I for each statement execute function ragdb_internal.refuse_change()', relation);
  -- always: session_replication_role switches ordinary triggers off
  execute format('alter table ragdb.%I enable always trigger rows_are_append_only,'
    ' enable always trigger table_is_append_only', relation);
end $$;

-- Deletes the rows r of an append-only table that meet a condition on $1, and returns their number.
-- The caller records what went and why. A trigger that is switched off instead would need a lock
-- that holds up everybody who writes the table, until the commit.
create or replace function ragdb_internal.remove_rows(
  relation text, condition text, value anyelement)
returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lock constant text := ragdb_internal.removal(relation, pg_current_xact_id());
  v_rows bigint;
begin
  insert into ragdb.locks (name) values (v_lock);
  execute format('delete from ragdb.%I r where %s', relation, condition) using value;
  get diagnostics v_rows = row_count;
  delete from ragdb.locks l where l.name = v_lock;
  return v_rows;
end $$;

-- Wakes who listens to a channel, unless another transaction is about to, or a router asked: its
-- callers listen at the router. What has told somebody cannot be prepared to commit, as a
-- transaction of several nodes is. And whoever notifies holds a lock of the whole database until
-- its commit is on disk, so that all who notify commit one behind the other. So of those who write
-- at a time one tells: who wakes looks at everything, and looks again by the clock. Any role could
-- hold this lock, and delay them that far.
create or replace function ragdb_internal.notify(channel text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('ragdb.is_routed', true) is distinct from 'on'
    and pg_try_advisory_xact_lock(hashtextextended('ragdb notice ' || channel, 0))
  then
    perform pg_notify(channel, '');
  end if;
end $$;
