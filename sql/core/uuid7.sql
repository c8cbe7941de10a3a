-- Ids that carry their time: UUIDs of version 7, so that ids sort by time and a look-up by id finds
-- its month.

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
comment on function ragdb_internal.uuid7(timestamptz) is
  'Returns a new UUID of version 7 whose time is the given one, to a quarter of a microsecond.';

-- The created_at of a row with such an id is the id's millisecond.
create or replace function ragdb_internal.uuid_time(id uuid) returns timestamptz
language sql stable parallel safe
return '1970-01-01 00:00:00+00'::timestamptz + interval '1 millisecond' * (
  'x' || pg_catalog.encode(
    pg_catalog.substring(pg_catalog.uuid_send(id), 1, 6), 'hex'))::bit(48)::bigint;
comment on function ragdb_internal.uuid_time(uuid) is
  'Returns the time in a uuid version 7, to the millisecond.';

create or replace function ragdb_internal.first_uuid7(at timestamptz) returns uuid
language sql immutable parallel safe
return (pg_catalog.lpad(pg_catalog.to_hex((extract(epoch from first_uuid7.at) * 1000)::bigint), 12,
  '0') || '00000000000000000000')::uuid;
comment on function ragdb_internal.first_uuid7(timestamptz) is
  'Returns what no UUID of version 7 of that time or later is less than, to the millisecond.';
