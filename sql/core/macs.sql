-- Signatures: HMAC, what a token signs, and what a trace's signature must be.

-- RFC 2104 over the server's own sha256; the pads are applied eight bytes at a time, which is what
-- SQL can exclusive-or.
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
comment on function ragdb_internal.hmac_sha256(bytea, bytea) is
  'Returns HMAC-SHA256 (RFC 2104): 32 bytes.';

-- The bytes that a token signs. There is no function that signs bytes of the caller's choice.
create or replace function ragdb_internal.token_message(
  key_id text, corpus text, slice_id text, anchor_chunk_id text, policy_id text,
  policy_sha256 bytea, graph_snapshot_hash text, schema_version text, issued_at bigint,
  expires_at bigint)
returns bytea
language sql stable parallel safe
return ragdb_internal.packed('rgt1')
  || ragdb_internal.packed(key_id)
  || ragdb_internal.packed('admissible slice')
  || ragdb_internal.packed(corpus)
  || ragdb_internal.packed(slice_id)
  || ragdb_internal.packed(anchor_chunk_id)
  || ragdb_internal.packed(policy_id)
  || ragdb_internal.packed(policy_sha256)
  || ragdb_internal.packed(graph_snapshot_hash)
  || ragdb_internal.packed(schema_version)
  || ragdb_internal.packed(pg_catalog.int8send(issued_at))
  || ragdb_internal.packed(pg_catalog.int8send(expires_at));
comment on function ragdb_internal.token_message(text, text, text, text, text, bytea, text, text,
  bigint, bigint) is
  'Returns the length-prefixed fields that an admissibility token signs; times in seconds since '
  '1970.';

-- A trace is signed by its hash. Whoever has no key can change rows and hashes, and cannot make
-- this.
create or replace function ragdb_internal.trace_mac(trace_hash bytea, secret bytea) returns bytea
language sql immutable strict parallel safe
return ragdb_internal.hmac_sha256(secret, ragdb_internal.packed('ragdb-trace-1'::bytea)
  || ragdb_internal.packed(trace_hash));
comment on function ragdb_internal.trace_mac(bytea, bytea) is
  'Signs the hash of a trace with a secret; null where either is.';

create or replace function ragdb_internal.matching_mac(
  hash bytea, mac bytea, created_at timestamptz)
returns bytea
language sql stable parallel safe
return (
  with signers as (
    select k.secret, k.created_at <= matching_mac.created_at as is_older,
      coalesce(least(k.active_until, k.not_after) > matching_mac.created_at, true) as was_active
    from ragdb.signing_keys k
  )
  select case
    -- no key was there to sign it
    when matching_mac.mac is null
        and not exists (select from signers s where s.is_older and s.was_active) then null
    -- the key that signed it is not here: a restored copy without its keys
    when matching_mac.mac is not null
        and not exists (select from signers s where s.is_older) then matching_mac.mac
    else coalesce(
      (select m.mac from signers s
        cross join lateral (
          select ragdb_internal.trace_mac(matching_mac.hash, s.secret) as mac) m
        where m.mac = matching_mac.mac limit 1),
      '\x00')
  end);
comment on function ragdb_internal.matching_mac(bytea, bytea, timestamptz) is
  'Returns the signature that the hash of a trace of that time should have: its own when a key '
  'made it or the key is not here, null when no key was active then, else one byte, which is not a '
  'signature.';
