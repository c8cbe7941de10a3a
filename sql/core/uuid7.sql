-- Ids that carry their time: UUIDs of version 7, so that ids sort by time and a look-up by id finds
-- its month.

-- Returns a new UUID of version 7 whose time is the given one, to a quarter of a microsecond.
-- PostgreSQL 18 has uuidv7(), 16 has not. As there, the twelve bits after the milliseconds hold
-- their fraction.
create or replace function ragdb_internal.uuid7(at timestamptz) returns uuid
language sql volatile parallel safe
return (
  pg_catalog.lpad(
    pg_catalog.to_hex((extract(epoch from uuid7.at) * 1000000)::bigint / 1000), 12, '0')
  || '7'
  || pg_catalog.lpad(pg_catalog.to_hex(
    (extract(epoch from uuid7.at) * 1000000)::bigint % 1000 * 4096 / 1000), 3, '0')
  || pg_catalog.right(
    pg_catalog.encode(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()), 'hex'), 16))::uuid;

-- Returns the tick that a time is: its microseconds since 1970.
create or replace function ragdb_internal.tick_of(at timestamptz) returns bigint
language sql immutable parallel safe
return (extract(epoch from tick_of.at) * 1000000)::bigint;

-- Returns a new UUID of version 7 whose time is a tick.
create or replace function ragdb_internal.tick_id(tick bigint) returns uuid
language sql volatile parallel safe
return ragdb_internal.uuid7(
  'epoch'::timestamptz + tick_id.tick * interval '1 microsecond');

-- Returns the time in a uuid version 7, to the millisecond. The created_at of a row with such an id
-- is the id's millisecond.
create or replace function ragdb_internal.uuid_time(id uuid) returns timestamptz
language sql stable parallel safe
return '1970-01-01 00:00:00+00'::timestamptz + interval '1 millisecond' * (
  'x' || pg_catalog.encode(
    pg_catalog.substring(pg_catalog.uuid_send(id), 1, 6), 'hex'))::bit(48)::bigint;

-- Returns what no UUID of version 7 of that time or later is less than, to the millisecond.
create or replace function ragdb_internal.first_uuid7(at timestamptz) returns uuid
language sql immutable parallel safe
return (pg_catalog.lpad(pg_catalog.to_hex((1000 * extract(epoch from greatest(
    least(first_uuid7.at, '9999-12-31 00:00:00+00'), '1970-01-01 00:00:00+00')))::bigint), 12, '0')
  || '00000000000000000000')::uuid;

-- Returns the greatest UUID: a list that shows the latest first begins below it, and its next page
-- below the last id of the page before.
create or replace function ragdb_internal.last_uuid() returns uuid
language sql immutable parallel safe
return 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid;

-- The first and the last id that begin with some digits.
create type ragdb_internal.id_range as (low uuid, high uuid);

-- Returns the range of the ids that begin with 8 to 32 hexadecimal digits. Thirteen characters of
-- an id are its time to the millisecond; fewer than eight name half a day. Raises RG400.
create or replace function ragdb_internal.id_range(prefix text) returns ragdb_internal.id_range
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_digits constant text := lower(replace(prefix, '-', ''));
begin
  if coalesce(v_digits !~ '^[0-9a-f]{8,32}$', true) then
    raise exception '% does not begin an id', coalesce(ragdb_internal.quote(prefix), 'null')
      using errcode = 'RG400', detail = 'an id has 32 hexadecimal digits, with or without hyphens',
        hint = 'give the id, or at least the first 8 digits of it';
  end if;
  return row(rpad(v_digits, 32, '0')::uuid, rpad(v_digits, 32, 'f')::uuid);
end $$;

-- Returns the one id that a prefix names, null where it names none. Raises RG400 where it names
-- two.
create or replace function ragdb_internal.only_id(ids anyarray, what text, prefix text)
returns anyelement
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if cardinality(ids) > 1 then
    raise exception 'more than one % begins with %', what, ragdb_internal.quote(prefix)
      using errcode = 'RG400', detail = format('%s and %s do', ids[1], ids[2]),
        hint = 'give more digits of the id';
  end if;
  return ids[1];
end $$;

-- Returns a text that no text which begins with a prefix comes after, in the order of bytes. The
-- first and the last text that begin with some characters, by bytes, are a range of an index.
create or replace function ragdb_internal.past_prefix(prefix text) returns text
language sql immutable parallel safe
return past_prefix.prefix || U&'\+10FFFF';
