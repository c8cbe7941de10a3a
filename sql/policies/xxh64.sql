-- int8 has no unsigned arithmetic: numeric computes exactly, this brings the result back modulo
-- 2^64. The value is named once, so that the call is inlined.
create or replace function ragdb_internal.wrap64(value numeric) returns bigint
language sql immutable strict parallel safe
return (pg_catalog.mod(pg_catalog.mod(value, 18446744073709551616) + 27670116110564327424,
  18446744073709551616) - 9223372036854775808)::bigint;
comment on function ragdb_internal.wrap64(numeric) is
  'Reduces an integer modulo 2^64 to a two''s complement bigint.';

create or replace function ragdb_internal.rotl64(value bigint, bits integer) returns bigint
language sql immutable strict parallel safe
return (value << bits) | ((value >> (64 - bits)) & ((1::bigint << bits) - 1));
comment on function ragdb_internal.rotl64(bigint, integer) is
  'Rotates 64 bits to the left by 1 to 62 places.';

create or replace function ragdb_internal.le_bytes(data bytea, start integer, count integer) returns bigint
language sql immutable strict parallel safe
return pg_catalog.get_byte(data, start)::bigint
  | (pg_catalog.get_byte(data, start + 1)::bigint << 8)
  | (pg_catalog.get_byte(data, start + 2)::bigint << 16)
  | (pg_catalog.get_byte(data, start + 3)::bigint << 24)
  | case count when 8 then (pg_catalog.get_byte(data, start + 4)::bigint << 32)
      | (pg_catalog.get_byte(data, start + 5)::bigint << 40)
      | (pg_catalog.get_byte(data, start + 6)::bigint << 48)
      | (pg_catalog.get_byte(data, start + 7)::bigint << 56) else 0 end;
comment on function ragdb_internal.le_bytes(bytea, integer, integer) is
  'Reads 4 or 8 bytes from a position (from 0) as a little-endian integer.';

-- The hash that existing policy registries use for params_hash. It identifies; it does not protect:
-- tokens cover sha256.
-- Definer: what it calls is private.
create or replace function ragdb.xxh64(data bytea) returns text
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  p1 constant numeric := 11400714785074694791;
  p2 constant numeric := 14029467366897019727;
  p3 constant numeric := 1609587929392839161;
  p4 constant numeric := 9650029242287828579;
  p5 constant numeric := 2870177450012600261;
  v_length constant integer := length(data);
  v_at integer := 0;
  v_lanes bigint[] := array[ragdb_internal.wrap64(p1 + p2), ragdb_internal.wrap64(p2), 0, ragdb_internal.wrap64(-p1)];
  h bigint;
begin
  if v_length >= 32 then
    while v_at + 32 <= v_length loop
      for i in 1..4 loop
        v_lanes[i] := ragdb_internal.wrap64(p1 * ragdb_internal.rotl64(
          ragdb_internal.wrap64(v_lanes[i] + p2 * ragdb_internal.le_bytes(data, v_at, 8)), 31));
        v_at := v_at + 8;
      end loop;
    end loop;
    h := ragdb_internal.wrap64(ragdb_internal.rotl64(v_lanes[1], 1)::numeric + ragdb_internal.rotl64(v_lanes[2], 7)
      + ragdb_internal.rotl64(v_lanes[3], 12) + ragdb_internal.rotl64(v_lanes[4], 18));
    for i in 1..4 loop
      h := ragdb_internal.wrap64(p4 + p1 * (h # ragdb_internal.wrap64(
        p1 * ragdb_internal.rotl64(ragdb_internal.wrap64(p2 * v_lanes[i]), 31))));
    end loop;
  else
    h := ragdb_internal.wrap64(p5);
  end if;
  h := ragdb_internal.wrap64(h::numeric + v_length);
  while v_at + 8 <= v_length loop
    h := h # ragdb_internal.wrap64(p1 * ragdb_internal.rotl64(ragdb_internal.wrap64(p2 * ragdb_internal.le_bytes(data, v_at, 8)),
      31));
    h := ragdb_internal.wrap64(p4 + p1 * ragdb_internal.rotl64(h, 27));
    v_at := v_at + 8;
  end loop;
  if v_at + 4 <= v_length then
    h := h # ragdb_internal.wrap64(p1 * ragdb_internal.le_bytes(data, v_at, 4));
    h := ragdb_internal.wrap64(p3 + p2 * ragdb_internal.rotl64(h, 23));
    v_at := v_at + 4;
  end if;
  while v_at < v_length loop
    h := ragdb_internal.wrap64(p1 * ragdb_internal.rotl64(h # ragdb_internal.wrap64(p5 * get_byte(data, v_at)), 11));
    v_at := v_at + 1;
  end loop;
  h := ragdb_internal.wrap64(p2 * (h # ((h >> 33) & 2147483647)));
  h := ragdb_internal.wrap64(p3 * (h # ((h >> 29) & 34359738367)));
  return lpad(to_hex(h # ((h >> 32) & 4294967295)), 16, '0');
end $$;
comment on function ragdb.xxh64(bytea) is
  'Returns xxHash64 (seed 0) as 16 hex digits; a fingerprint that names things and proves nothing.';
