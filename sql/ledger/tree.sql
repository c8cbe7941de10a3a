-- The Merkle tree of RFC 6962: hashes of its nodes and leaves.

-- Returns the hash of an inner node over its two children.
create or replace function ragdb_internal.node_hash(left_hash bytea, right_hash bytea) returns bytea
language sql immutable parallel safe
return pg_catalog.sha256('\x01'::bytea || left_hash || right_hash);

-- Returns an entry of the ledger as bytes: ragdb.ledger/1, kind, id, hash and sealing time
-- (microseconds since 2000, eight bytes), each behind its length in four bytes. The bytes that a
-- leaf is the hash of. A length before each field keeps two entries from having the same bytes.
create or replace function ragdb_internal.ledger_entry(
  kind text, id text, hash bytea, sealed_at timestamptz)
returns bytea
language sql stable parallel safe
return '\x0000000e72616764622e6c65646765722f31'::bytea
  || ragdb_internal.packed(ledger_entry.kind) || ragdb_internal.packed(ledger_entry.id)
  || ragdb_internal.packed(ledger_entry.hash)
  || ragdb_internal.packed(pg_catalog.timestamptz_send(ledger_entry.sealed_at));

-- Returns the hash of a leaf of the tree.
create or replace function ragdb_internal.leaf_hash(leaf ragdb.ledger_leaves) returns bytea
language sql stable parallel safe
return pg_catalog.sha256('\x00'::bytea || ragdb_internal.ledger_entry(
  (leaf).kind, (leaf).id, (leaf).hash, (leaf).sealed_at));

-- Returns the root over 1, 2, 4 … 256 hashes of 32 bytes.
create or replace function ragdb_internal.subtree_root(hashes bytea) returns bytea
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  -- read once where it is stored apart
  hashes := hashes || ''::bytea;
  while octet_length(hashes) > 32 loop
    hashes := (
      select string_agg(sha256(E'\\x01'::bytea || substr(hashes, 64 * i + 1, 64)), ''::bytea
          order by i)
        from generate_series(0, octet_length(hashes) / 64 - 1) i);
  end loop;
  return hashes;
end $$;
