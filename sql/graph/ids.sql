-- Ids of messages: UUIDs, given or made.

-- Returns the SHA-1 (FIPS 180-4) of some bytes, for UUIDs of version 5 alone. SHA-1 is here only
-- for UUIDs of version 5 (RFC 9562), which are defined by it; the server has no other. The letters
-- are those of FIPS 180-4.
create or replace function ragdb_internal.sha1(data bytea) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mask constant bigint := 4294967295;
  v_data constant bytea := data || E'\\x80'::bytea
    || decode(repeat('00', (119 - octet_length(data) % 64) % 64), 'hex')
      || int8send(8::bigint * octet_length(data));
  h bigint[] := array[1732584193, 4023233417, 2562383102, 271733878, 3285377520];
  w bigint[];
  a bigint; b bigint; c bigint; d bigint; e bigint; f bigint; t bigint; j integer;
begin
  for v_block in 0..octet_length(v_data) / 64 - 1 loop
    for i in 1..16 loop
      j := 64 * v_block + 4 * i - 4;
      w[i] := (get_byte(v_data, j)::bigint << 24) | (get_byte(v_data, j + 1) << 16)
        | (get_byte(v_data, j + 2) << 8) | get_byte(v_data, j + 3);
    end loop;
    for i in 17..80 loop
      t := w[i - 3] # w[i - 8] # w[i - 14] # w[i - 16];
      w[i] := ((t << 1) | (t >> 31)) & v_mask;
    end loop;
    a := h[1]; b := h[2]; c := h[3]; d := h[4]; e := h[5];
    for i in 1..80 loop
      if i <= 20 then f := ((b & c) | ((~b & v_mask) & d)) + 1518500249;
      elsif i <= 40 then f := (b # c # d) + 1859775393;
      elsif i <= 60 then f := ((b & c) | (b & d) | (c & d)) + 2400959708;
      else f := (b # c # d) + 3395469782;
      end if;
      t := ((((a << 5) | (a >> 27)) & v_mask) + f + e + w[i]) & v_mask;
      e := d; d := c; c := ((b << 30) | (b >> 2)) & v_mask; b := a; a := t;
    end loop;
    h := array[(h[1] + a) & v_mask, (h[2] + b) & v_mask, (h[3] + c) & v_mask, (h[4] + d) & v_mask,
      (h[5] + e) & v_mask];
  end loop;
  return substr(int8send(h[1]), 5) || substr(int8send(h[2]), 5) || substr(int8send(h[3]), 5)
    || substr(int8send(h[4]), 5) || substr(int8send(h[5]), 5);
end $$;

-- Returns the UUID of version 5 (RFC 9562) of a name in a namespace. Offset 0: the hash is made
-- once, and not for each byte that is read of it.
create or replace function ragdb_internal.uuid5(namespace uuid, name bytea) returns uuid
language sql immutable strict parallel safe
begin atomic
  select pg_catalog.encode(
      pg_catalog.set_byte(pg_catalog.set_byte(pg_catalog.substr(s.bytes, 1, 16),
        6, (pg_catalog.get_byte(s.bytes, 6) & 15) | 80),
        8, (pg_catalog.get_byte(s.bytes, 8) & 63) | 128), 'hex')::uuid
    from (select ragdb_internal.sha1(pg_catalog.uuid_send(namespace) || name) as bytes offset 0) s;
end;

-- Tells whether a text is a UUID with hyphens.
create or replace function ragdb_internal.is_uuid(id text) returns boolean
language sql immutable parallel safe
return id ~ '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$';

-- Returns the version 5 UUID of a message whose id is not a UUID; null for a part that is null. A
-- message that is stored has no longer ones, and SHA-1 of a megabyte takes seconds here. Raises
-- RG400.
create or replace function ragdb_internal.made_turn_id(corpus text, session text, id text)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_longest constant integer :=
    greatest(octet_length(corpus), octet_length(session), octet_length(id));
begin
  if v_longest > 500 then
    raise exception 'a part of the id of a turn has % bytes', v_longest
      using errcode = 'RG400', detail = 'it is made of a corpus, a session and the id of a message',
        hint = 'give each of them with at most 500 bytes';
  end if;
  return ragdb_internal.uuid5('5b8f3b54-7a0b-5d0c-9a53-3f6d1f4c2a10',
    ragdb_internal.packed(corpus) || ragdb_internal.packed(session) || ragdb_internal.packed(id));
end $$;

-- A message id that is a UUID is kept in its canonical form; any other becomes one, the same in
-- every database. Definer: what it calls is private.
create or replace function ragdb.turn_id(corpus text, session text, id text) returns text
language sql stable parallel safe security definer
return case when ragdb_internal.is_uuid(id) then pg_catalog.lower(id collate "C")
  else ragdb_internal.made_turn_id(corpus, session, id) end;
comment on function ragdb.turn_id is
  'Returns the chunk id of a message: its own id when that is a UUID, else the version 5 UUID of '
  '(corpus, session, id), each of at most 500 bytes. Raises RG400.';
