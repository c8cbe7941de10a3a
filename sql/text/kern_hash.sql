-- KERN's hash of a chunk's text, for contracts that compare by it.
--
-- Two lanes of FNV-1a over the bytes, modulo 2^64. A lane is kept in two halves of 32 bits: the
-- prime is 2^40 + 435, and no product of halves overflows.
create or replace function ragdb.kern_chunk_hash(text text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bytes bytea := convert_to(text, 'UTF8');
  v_byte bigint;
  v_left_high bigint := x'cbf29ce4'::bigint;
  v_left_low bigint := x'84222325'::bigint;
  v_right_high bigint := x'84222325'::bigint;
  v_right_low bigint := x'cbf29ce4'::bigint;
begin
  if text is null then
    raise exception 'text is null'
      using errcode = 'RG400', detail = 'kern_chunk_hash needs the text of a chunk',
        hint = 'the text may be empty';
  end if;
  for v_at in 0 .. length(v_bytes) - 1 loop
    v_byte := get_byte(v_bytes, v_at);
    v_left_low := v_left_low # v_byte;
    v_left_high := (v_left_high * 435 + (v_left_low * 435 >> 32) + (v_left_low << 8)) & 4294967295;
    v_left_low := v_left_low * 435 & 4294967295;
    v_right_low := v_right_low # (v_byte + 158);
    v_right_high := (v_right_high * 435 + (v_right_low * 435 >> 32) + (v_right_low << 8))
      & 4294967295;
    v_right_low := v_right_low * 435 & 4294967295;
  end loop;
  return lpad(to_hex(v_left_high), 8, '0') || lpad(to_hex(v_left_low), 8, '0')
    || lpad(to_hex(v_right_high), 8, '0') || lpad(to_hex(v_right_low), 8, '0');
end $$;
comment on function ragdb.kern_chunk_hash is
  'Returns KERN''s hash of a chunk''s text: 32 hexadecimal digits, two FNV-1a lanes over its UTF-8 '
  'bytes. Raises RG400.';
