-- Signatures: HMAC, and what tokens and traces sign.

-- Returns HMAC-SHA256 (RFC 2104): 32 bytes. RFC 2104 over the server's own sha256; the pads are
-- applied eight bytes at a time, which is what SQL can exclusive-or.
create or replace function ragdb_internal.hmac_sha256(key bytea, message bytea) returns bytea
language sql immutable strict parallel safe
begin atomic
  with k as (
    select pg_catalog.encode(case when pg_catalog.octet_length(key) > 64
      then pg_catalog.sha256(key) else key end, 'hex') as hex
  ), words as (
    select n,
      ('x' || pg_catalog.substr(pg_catalog.rpad(k.hex, 128, '0'), 16 * n + 1, 16))
        ::bit(64)::bigint as word
    from k, pg_catalog.generate_series(0, 7) n
  ), pads as (
    select
      pg_catalog.string_agg(pg_catalog.int8send(word # 3906369333256140342), '' order by n)
        as inner_pad,
      pg_catalog.string_agg(pg_catalog.int8send(word # 6655295901103053916), '' order by n)
        as outer_pad
    from words
  )
  select pg_catalog.sha256(p.outer_pad || pg_catalog.sha256(p.inner_pad || message))
  from pads p;
end;

-- Returns the length-prefixed fields that an admissibility token of this database signs; times in
-- seconds since 1970. The bytes that a token signs. There is no function that signs bytes of the
-- caller's choice.
create or replace function ragdb_internal.token_message(
  key_id text, corpus text, slice_id text, anchor_chunk_id text, policy_id text,
  policy_sha256 bytea, graph_snapshot_hash text, schema_version text, issued_at bigint,
  expires_at bigint)
returns bytea
language sql stable parallel safe
return ragdb_internal.packed('rgt1')
  || ragdb_internal.packed(key_id)
  || ragdb_internal.packed('admissible slice')
  || ragdb_internal.packed(ragdb_internal.origin_bytes())
  || ragdb_internal.packed(corpus)
  || ragdb_internal.packed(slice_id)
  || ragdb_internal.packed(anchor_chunk_id)
  || ragdb_internal.packed(policy_id)
  || ragdb_internal.packed(policy_sha256)
  || ragdb_internal.packed(graph_snapshot_hash)
  || ragdb_internal.packed(schema_version)
  || ragdb_internal.packed(pg_catalog.int8send(issued_at))
  || ragdb_internal.packed(pg_catalog.int8send(expires_at));

-- Signs the hash of a trace, or of another row of evidence, of this database with a secret; null
-- where either is. Traces, and the other rows of evidence, are signed by their hash. Whoever has no
-- key can change rows and hashes, and cannot make this.
create or replace function ragdb_internal.trace_mac(trace_hash bytea, secret bytea) returns bytea
language sql stable parallel safe
return case when trace_hash is not null and secret is not null then
  ragdb_internal.hmac_sha256(secret, ragdb_internal.packed('ragdb-trace-1'::bytea)
    || ragdb_internal.packed(ragdb_internal.origin_bytes())
    || ragdb_internal.packed(trace_hash)) end;
