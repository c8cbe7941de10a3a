-- The Merkle tree of RFC 6962: hashes of nodes, and what proofs come to.

create or replace function ragdb_internal.node_hash(left_hash bytea, right_hash bytea) returns bytea
language sql immutable parallel safe
return pg_catalog.sha256('\x01'::bytea || left_hash || right_hash);
comment on function ragdb_internal.node_hash is
  'Returns the hash of an inner node over its two children.';

-- The bytes that a leaf is the hash of. A length before each field keeps two entries from having
-- the same bytes.
create or replace function ragdb_internal.ledger_entry(
  kind text, id text, hash bytea, sealed_at timestamptz)
returns bytea
language sql stable parallel safe
return '\x0000000e72616764622e6c65646765722f31'::bytea
  || ragdb_internal.packed(ledger_entry.kind) || ragdb_internal.packed(ledger_entry.id)
  || ragdb_internal.packed(ledger_entry.hash)
  || ragdb_internal.packed(pg_catalog.timestamptz_send(ledger_entry.sealed_at));
comment on function ragdb_internal.ledger_entry is
  'Returns an entry of the ledger as bytes: ragdb.ledger/1, kind, id, hash and sealing time '
  '(microseconds since 2000, eight bytes), each behind its length in four bytes.';

create or replace function ragdb_internal.leaf_hash(leaf ragdb.ledger_leaves) returns bytea
language sql stable parallel safe
return pg_catalog.sha256('\x00'::bytea || ragdb_internal.ledger_entry(
  (leaf).kind, (leaf).id, (leaf).hash, (leaf).sealed_at));
comment on function ragdb_internal.leaf_hash is
  'Returns the hash of a leaf of the tree.';

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
comment on function ragdb_internal.subtree_root is
  'Returns the root over 1, 2, 4 … 256 hashes of 32 bytes.';

-- RFC 9162, 2.1.3.2. Whoever trusts no function of the database runs the same elsewhere.
create or replace function ragdb.is_in_ledger(
  leaf_hash bytea, number bigint, size bigint, path bytea[], root bytea)
returns boolean
language plpgsql immutable parallel safe security definer -- it calls private functions
set search_path = pg_catalog, pg_temp
as $$
declare
  v_at bigint := number;
  v_last bigint;
  v_hash bytea := leaf_hash;
  v_sibling bytea;
begin
  if number is null or size is null or path is null or number < 0 or number >= size then
    return false;
  end if;
  v_last := size - 1;
  foreach v_sibling in array path loop
    if v_last = 0 or octet_length(v_sibling) is distinct from 32 then
      return false;
    elsif v_at % 2 = 1 or v_at = v_last then
      v_hash := ragdb_internal.node_hash(v_sibling, v_hash);
      while v_at % 2 = 0 and v_at > 0 loop
        v_at := v_at / 2;
        v_last := v_last / 2;
      end loop;
    else
      v_hash := ragdb_internal.node_hash(v_hash, v_sibling);
    end if;
    v_at := v_at / 2;
    v_last := v_last / 2;
  end loop;
  return coalesce(v_last = 0 and v_hash = root, false);
end $$;
comment on function ragdb.is_in_ledger is
  'Tells whether an inclusion proof (RFC 9162, path from the leaf up) shows that the tree of a '
  'size and root has a leaf at a number, from 0; false for any argument that is null or out of '
  'range.';

-- RFC 9162, 2.1.4.2.
create or replace function ragdb_internal.consistent_roots(
  old_size bigint, old_root bytea, new_size bigint, proof bytea[])
returns bytea[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_at bigint := old_size - 1;
  v_last bigint := new_size - 1;
  -- of a power of two, the old root is the first hash
  v_proof constant bytea[] := case when old_size & (old_size - 1) = 0
    then old_root || proof else proof end;
  v_old bytea := v_proof[1];
  v_new bytea := v_proof[1];
begin
  while v_at % 2 = 1 loop
    v_at := v_at / 2;
    v_last := v_last / 2;
  end loop;
  for v_place in 2 .. cardinality(v_proof) loop
    if v_last = 0 then
      return null;
    elsif v_at % 2 = 1 or v_at = v_last then
      v_old := ragdb_internal.node_hash(v_proof[v_place], v_old);
      v_new := ragdb_internal.node_hash(v_proof[v_place], v_new);
      while v_at % 2 = 0 and v_at > 0 loop
        v_at := v_at / 2;
        v_last := v_last / 2;
      end loop;
    else
      v_new := ragdb_internal.node_hash(v_new, v_proof[v_place]);
    end if;
    v_at := v_at / 2;
    v_last := v_last / 2;
  end loop;
  return case when v_last = 0 then array[v_old, v_new] end;
end $$;
comment on function ragdb_internal.consistent_roots is
  'Returns the two roots that a consistency proof comes to; null where it has too few or too many '
  'hashes.';

create or replace function ragdb.is_same_ledger(
  old_size bigint, old_root bytea, new_size bigint, new_root bytea, proof bytea[])
returns boolean
language sql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
return coalesce(case
  when proof is null or array_ndims(proof) > 1 or array_lower(proof, 1) <> 1 then false
  when (old_size >= 0 and new_size >= old_size) is not true then false
  when exists (select from unnest(proof) p (hash)
      where octet_length(p.hash) is distinct from 32) then false
  -- every tree begins as the empty one
  when old_size = 0 then proof = '{}' and old_root = sha256('')
    and (new_size > 0 or new_root = old_root)
  when old_size = new_size then proof = '{}' and old_root = new_root
  when proof = '{}' then false
  else ragdb_internal.consistent_roots(old_size, old_root, new_size, proof)
    = array[old_root, new_root]
  end, false);
comment on function ragdb.is_same_ledger is
  'Tells whether a consistency proof (RFC 9162) shows that the tree of the new size and root '
  'begins with all leaves of the old one; false for any argument that is null or out of range.';
