-- Roots and proofs of the stored tree. Each reads a few tiles.

-- Returns the number of entries of the ledger.
create or replace function ragdb_internal.ledger_size() returns bigint
language sql stable parallel safe
return coalesce((select h.size from ragdb.ledger_head h), 0);

-- Returns a size that the ledger had, for null the one that it has. Raises RG400.
create or replace function ragdb_internal.check_ledger_size(size bigint) returns bigint
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_size constant bigint := ragdb_internal.ledger_size();
begin
  if coalesce(size, v_size) not between 0 and v_size then
    raise exception 'size % is not 0 to %', size, v_size
      using errcode = 'RG400',
        detail = 'the ledger has ' || ragdb_internal.counted(v_size, 'entry'),
        hint = 'an older size is that of a checkpoint';
  end if;
  return coalesce(size, v_size);
end $$;

-- Returns the hash of a full subtree of 2^height leaves, the place-th of that height from 0; null
-- where the ledger lacks its hashes. Tiles only grow at their end, so the hashes of an older tree
-- are all there.
create or replace function ragdb_internal.ledger_node(height integer, place bigint) returns bytea
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_first constant bigint := place << (height % 8);
  v_length constant integer := 32 << (height % 8);
  v_hashes constant bytea := (
    select substr(t.hashes, (v_first % 256)::integer * 32 + 1, v_length) from ragdb.ledger_tiles t
    where t.level = height / 8 and t.index = v_first / 256);
begin
  return case when octet_length(v_hashes) = v_length then ragdb_internal.subtree_root(v_hashes) end;
end $$;

-- Returns the root over some entries, of which the first is a multiple of the least power of two
-- that is not less than their number; null where the ledger lacks hashes. From the right: each full
-- subtree is joined to what is right of it.
create or replace function ragdb_internal.range_root(first bigint, size bigint) returns bytea
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_end bigint := first + size;
  v_root bytea;
  v_node bytea;
begin
  for v_height in 0 .. 62 loop
    exit when size >> v_height = 0;
    continue when (size >> v_height) % 2 = 0;
    v_end := v_end - (1::bigint << v_height);
    v_node := ragdb_internal.ledger_node(v_height, v_end >> v_height);
    if v_node is null then
      return null;
    end if;
    v_root := case when v_root is null then v_node
      else ragdb_internal.node_hash(v_node, v_root) end;
  end loop;
  return coalesce(v_root, sha256(''));
end $$;

-- Returns the root over some entries, as ragdb_internal.range_root. Raises RG482.
create or replace function ragdb_internal.sound_root(first bigint, size bigint) returns bytea
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_root constant bytea := ragdb_internal.range_root(first, size);
begin
  if v_root is null then
    raise exception 'the ledger lacks hashes of entries % to %', first, first + size - 1
      using errcode = 'RG482', detail = 'a tile of the tree is missing or too short',
        hint = 'ragdb.verify_ledger() lists what is wrong; restore a backup';
  end if;
  return v_root;
end $$;

create or replace function ragdb.ledger_root(size bigint default null) returns bytea
language plpgsql stable parallel safe security definer -- the ledger is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
begin
  return ragdb_internal.sound_root(0, ragdb_internal.check_ledger_size(size));
end $$;
comment on function ragdb.ledger_root is
  'Returns the root of the tree over the first entries of the ledger (32 bytes), by default over '
  'all. Raises RG400, RG482.';

-- Returns the largest power of two less than a number, which is 2 or more. The largest power of two
-- that is less than a number, as RFC 6962 splits a tree.
create or replace function ragdb_internal.split(size bigint) returns bigint
language sql immutable parallel safe
return 1::bigint << (63 - pg_catalog.strpos((split.size - 1)::bit(64)::text, '1') + 1);

create or replace function ragdb.ledger_inclusion_proof(number bigint, size bigint default null)
returns bytea[]
language plpgsql stable parallel safe security definer -- the ledger is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_size bigint := ragdb_internal.check_ledger_size(size);
  v_first bigint := 0;
  v_split bigint;
  v_path bytea[] := '{}';
begin
  if number is null or number not between 0 and v_size - 1 then
    raise exception 'number is %', coalesce(number::text, 'null')
      using errcode = 'RG480',
        detail = format('the tree has %s, from 0', ragdb_internal.counted(v_size, 'entry')),
        hint = 'ragdb.ledger_entries() lists them';
  end if;
  while v_size > 1 loop
    v_split := ragdb_internal.split(v_size);
    if number < v_first + v_split then
      v_path := ragdb_internal.sound_root(v_first + v_split, v_size - v_split) || v_path;
      v_size := v_split;
    else
      v_path := ragdb_internal.sound_root(v_first, v_split) || v_path;
      v_first := v_first + v_split;
      v_size := v_size - v_split;
    end if;
  end loop;
  return v_path;
end $$;
comment on function ragdb.ledger_inclusion_proof is
  'Returns the proof (RFC 6962, from the leaf up) that the tree of a size, by default the whole '
  'ledger, has the entry of a number, from 0. Raises RG400, RG480, RG482.';

create or replace function ragdb.ledger_consistency_proof(
  old_size bigint, new_size bigint default null)
returns bytea[]
language plpgsql stable parallel safe security definer -- the ledger is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_size bigint := ragdb_internal.check_ledger_size(new_size);
  v_rest bigint := old_size;
  v_first bigint := 0;
  v_split bigint;
  v_proof bytea[] := '{}';
begin
  if old_size is null or old_size not between 0 and v_size then
    raise exception 'old_size is %', coalesce(old_size::text, 'null')
      using errcode = 'RG400', detail = format('the new size is %s', v_size),
        hint = 'give the size of an older checkpoint';
  end if;
  while v_rest not in (0, v_size) loop
    v_split := ragdb_internal.split(v_size);
    if v_rest <= v_split then
      v_proof := ragdb_internal.sound_root(v_first + v_split, v_size - v_split) || v_proof;
      v_size := v_split;
    else
      v_proof := ragdb_internal.sound_root(v_first, v_split) || v_proof;
      v_first := v_first + v_split;
      v_size := v_size - v_split;
      v_rest := v_rest - v_split;
    end if;
  end loop;
  -- the old tree is the first part of the new one: who asks has its root
  return case when v_first = 0 then v_proof
    else ragdb_internal.sound_root(v_first, v_size) || v_proof end;
end $$;
comment on function ragdb.ledger_consistency_proof is
  'Returns the proof (RFC 6962) that the tree of the new size, by default the whole ledger, begins '
  'with all entries of the tree of the old size. Raises RG400, RG482.';
