-- Whether the entries, the tree over them and the stored checkpoints agree.

-- What is wrong with an entry or with the ledger as a whole.
create type ragdb_internal.ledger_finding as (
  number bigint, kind text, id text, finding text, detail text);

-- Returns the numbers up to a last one that have no entry, and the entries sealed before the one
-- before them.
create or replace function ragdb_internal.number_findings(first bigint, last bigint)
returns setof ragdb_internal.ledger_finding
language sql stable parallel safe
begin atomic
  with numbered as (
    select l.number, l.kind, l.id, l.sealed_at,
        pg_catalog.lag(l.number, 1, -1::bigint) over (order by l.number) as before,
        pg_catalog.lag(l.sealed_at) over (order by l.number) as sealed_before
      from ragdb.ledger_leaves l
      -- with the entry before the first, however far back it is
      where l.number between coalesce((select pg_catalog.max(b.number) from ragdb.ledger_leaves b
        where b.number < first), 0) and last
  )
  select (n.number, n.kind, n.id, 'number_missing',
      'no entry has the numbers ' || n.before + 1 || ' to ' || n.number - 1)
      ::ragdb_internal.ledger_finding
    from numbered n where n.number >= first and n.number > n.before + 1
  union all
  select (n.number, n.kind, n.id, 'time_falls',
      'sealed at ' || n.sealed_at || ', after an entry of ' || n.sealed_before)
      ::ragdb_internal.ledger_finding
    from numbered n where n.sealed_at < n.sealed_before;
end;

-- Returns the entries that are not the leaves of the tree. An entry that is not what the tree says
-- was changed, or put in the place of another.
create or replace function ragdb_internal.tile_findings(first bigint, last bigint)
returns setof ragdb_internal.ledger_finding
language sql stable parallel safe
begin atomic
  with tiles as materialized (
    -- whole, once each
    select t.index, t.hashes || ''::bytea as hashes
      from ragdb.ledger_tiles t
      where t.level = 0 and t.index between first / 256 and last / 256
  )
  select (l.number, l.kind, l.id, 'entry_changed', 'it is not the leaf of the tree')
      ::ragdb_internal.ledger_finding
    from ragdb.ledger_leaves l left join tiles t on t.index = l.number / 256
    where l.number between first and last
      and pg_catalog.substr(t.hashes, (l.number % 256)::integer * 32 + 1, 32)
        is distinct from ragdb_internal.leaf_hash(l);
end;

-- Returns the full tiles that end among some entries and are not what the level above says. A full
-- tile is seen with the entries among which its last is.
create or replace function ragdb_internal.level_findings(first bigint, last bigint)
returns setof ragdb_internal.ledger_finding
language sql stable parallel safe
begin atomic
  select (null, null, null, 'tree_changed', 'tile ' || t.level || '/' || t.index
        || ' is not what the level above says')::ragdb_internal.ledger_finding
    from pg_catalog.generate_series(0, 6) v (level)
    join ragdb.ledger_tiles t on t.level = v.level
      and t.index between first >> (8 * v.level + 8) and ((last + 1) >> (8 * v.level + 8)) - 1
    left join ragdb.ledger_tiles u on u.level = t.level + 1 and u.index = t.index / 256
    where pg_catalog.substr(u.hashes, (t.index % 256)::integer * 32 + 1, 32)
      is distinct from ragdb_internal.subtree_root(t.hashes);
end;

-- Returns the tiles that have more hashes than the ledger has entries for.
create or replace function ragdb_internal.rest_of_tree_findings()
returns setof ragdb_internal.ledger_finding
language sql stable parallel safe
begin atomic
  select (null, null, null, 'tree_changed', 'tile ' || t.level || '/' || t.index
        || ' goes beyond the end of the ledger')::ragdb_internal.ledger_finding
    from ragdb.ledger_tiles t
    where t.index * 256 + pg_catalog.length(t.hashes) / 32
      > ragdb_internal.ledger_size() >> (8 * t.level);
end;

-- Returns whether the ledger ends where it says, and the stored checkpoints that it does not have.
create or replace function ragdb_internal.head_findings()
returns setof ragdb_internal.ledger_finding
language sql stable parallel safe
begin atomic
  with numbered as (
    select coalesce(pg_catalog.max(l.number) + 1, 0) as size from ragdb.ledger_leaves l
  )
  select (null, null, null, 'size_differs', 'the ledger says that it has '
      || ragdb_internal.counted(ragdb_internal.ledger_size(), 'entry')
      || ', and the last is ' || n.size - 1)::ragdb_internal.ledger_finding
    from numbered n where n.size <> ragdb_internal.ledger_size()
  union all
  select (null, null, null, 'head_changed', 'the ledger says that it was sealed last at '
      || h.sealed_at || ', and its last entry at ' || l.sealed_at)::ragdb_internal.ledger_finding
    from ragdb.ledger_head h join ragdb.ledger_leaves l on l.number = h.size - 1
    where h.sealed_at <> l.sealed_at
  union all
  select (null, null, null, 'checkpoint_differs', case
      when c.size > ragdb_internal.ledger_size() then
        'a stored checkpoint has ' || ragdb_internal.counted(c.size, 'entry') || ', the ledger '
          || ragdb_internal.ledger_size()
      else 'the root at size ' || c.size || ' is not that of the stored checkpoint' end)
      ::ragdb_internal.ledger_finding
    from ragdb.ledger_checkpoints c
    where c.size > ragdb_internal.ledger_size()
      or c.root is distinct from ragdb_internal.range_root(0, c.size)
      or ragdb_internal.ledger_origin() || E'\n' || c.size || E'\n'
        || pg_catalog.encode(c.root, 'base64') is distinct from
        pg_catalog.split_part(c.note, E'\n\n', 1);
end;
