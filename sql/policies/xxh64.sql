-- xxHash64, the hash that existing policy registries use for params_hash.

-- Reduces an integer modulo 2^64 to a two's complement bigint. int8 has no unsigned arithmetic:
-- numeric computes exactly, this brings the result back modulo 2^64. The value is named once, so
-- that the call is inlined.
create or replace function ragdb_internal.wrap64(value numeric) returns bigint
language sql immutable strict parallel safe
return (pg_catalog.mod(pg_catalog.mod(value, 18446744073709551616) + 27670116110564327424,
  18446744073709551616) - 9223372036854775808)::bigint;

-- Rotates 64 bits to the left by 1 to 62 places.
create or replace function ragdb_internal.rotl64(value bigint, bits integer) returns bigint
language sql immutable strict parallel safe
return (value << bits) | ((value >> (64 - bits)) & ((1::bigint << bits) - 1));

-- Reads 4 or 8 bytes from a position (from 0) as a little-endian integer.
create or replace function ragdb_internal.le_bytes(data bytea, start integer, count integer)
returns bigint
language sql immutable strict parallel safe
return pg_catalog.get_byte(data, start)::bigint
  | (pg_catalog.get_byte(data, start + 1)::bigint << 8)
  | (pg_catalog.get_byte(data, start + 2)::bigint << 16)
  | (pg_catalog.get_byte(data, start + 3)::bigint << 24)
  | case count when 8 then (pg_catalog.get_byte(data, start + 4)::bigint << 32)
      | (pg_catalog.get_byte(data, start + 5)::bigint << 40)
      | (pg_catalog.get_byte(data, start + 6)::bigint << 48)
      | (pg_catalog.get_byte(data, start + 7)::bigint << 56) else 0 end;

-- Mixes eight bytes into a lane of xxHash64.
create or replace function ragdb_internal.xxh64_round(lane bigint, word bigint) returns bigint
language sql immutable strict parallel safe
return ragdb_internal.wrap64(11400714785074694791 * ragdb_internal.rotl64(
  ragdb_internal.wrap64(lane + 14029467366897019727 * word), 31));

-- Returns what the four lanes of xxHash64 make of the stripes of 32 bytes that some bytes begin
-- with.
create or replace function ragdb_internal.xxh64_lanes(data bytea) returns bigint
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_prime_1 constant numeric := 11400714785074694791;
  v_prime_2 constant numeric := 14029467366897019727;
  v_prime_4 constant numeric := 9650029242287828579;
  v_lanes bigint[] := array[ragdb_internal.wrap64(v_prime_1 + v_prime_2),
    ragdb_internal.wrap64(v_prime_2), 0, ragdb_internal.wrap64(-v_prime_1)];
  v_hash bigint;
begin
  for v_word in 0..length(data) / 32 * 4 - 1 loop
    v_lanes[v_word % 4 + 1] := ragdb_internal.xxh64_round(
      v_lanes[v_word % 4 + 1], ragdb_internal.le_bytes(data, 8 * v_word, 8));
  end loop;
  v_hash := ragdb_internal.wrap64(ragdb_internal.rotl64(v_lanes[1], 1)::numeric
    + ragdb_internal.rotl64(v_lanes[2], 7) + ragdb_internal.rotl64(v_lanes[3], 12)
    + ragdb_internal.rotl64(v_lanes[4], 18));
  for v_lane in 1..4 loop
    v_hash := ragdb_internal.wrap64(v_prime_4
      + v_prime_1 * (v_hash # ragdb_internal.xxh64_round(0, v_lanes[v_lane])));
  end loop;
  return v_hash;
end $$;

-- It names things; it does not protect: tokens cover sha256. Definer: what it calls is private.
create or replace function ragdb.xxh64(data bytea) returns text
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_prime_1 constant numeric := 11400714785074694791;
  v_prime_2 constant numeric := 14029467366897019727;
  v_prime_3 constant numeric := 1609587929392839161;
  v_prime_4 constant numeric := 9650029242287828579;
  v_prime_5 constant numeric := 2870177450012600261;
  v_length constant integer := length(data);
  v_at integer := v_length / 32 * 32;
  v_hash bigint := case when v_length >= 32 then ragdb_internal.xxh64_lanes(data)
    else ragdb_internal.wrap64(v_prime_5) end;
begin
  v_hash := ragdb_internal.wrap64(v_hash::numeric + v_length);
  while v_at + 8 <= v_length loop
    v_hash := v_hash
      # ragdb_internal.xxh64_round(0, ragdb_internal.le_bytes(data, v_at, 8));
    v_hash := ragdb_internal.wrap64(v_prime_4 + v_prime_1 * ragdb_internal.rotl64(v_hash, 27));
    v_at := v_at + 8;
  end loop;
  if v_at + 4 <= v_length then
    v_hash := v_hash
      # ragdb_internal.wrap64(v_prime_1 * ragdb_internal.le_bytes(data, v_at, 4));
    v_hash := ragdb_internal.wrap64(v_prime_3 + v_prime_2 * ragdb_internal.rotl64(v_hash, 23));
    v_at := v_at + 4;
  end if;
  while v_at < v_length loop
    v_hash := v_hash # ragdb_internal.wrap64(v_prime_5 * get_byte(data, v_at));
    v_hash := ragdb_internal.wrap64(v_prime_1 * ragdb_internal.rotl64(v_hash, 11));
    v_at := v_at + 1;
  end loop;
  v_hash := ragdb_internal.wrap64(v_prime_2 * (v_hash # ((v_hash >> 33) & 2147483647)));
  v_hash := ragdb_internal.wrap64(v_prime_3 * (v_hash # ((v_hash >> 29) & 34359738367)));
  return lpad(to_hex(v_hash # ((v_hash >> 32) & 4294967295)), 16, '0');
end $$;
comment on function ragdb.xxh64 is
  'Returns xxHash64 (seed 0) as 16 hex digits; a fingerprint that names things and proves nothing.';
