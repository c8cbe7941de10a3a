-- The ledger as it is read: its state, entries and tiles in the formats of C2SP tlog-tiles, acts.

create or replace function ragdb.ledger_status()
returns table (
  is_on boolean, origin text, size bigint, sealed_at timestamptz, pending bigint,
  oldest_pending timestamptz, checkpoint_size bigint)
language sql stable parallel safe security definer rows 1 -- the ledger is granted to nobody
begin atomic
  select not exists (select from ragdb.settings s
      where s.key = 'ledger_is_on' and s.value = 'false'::jsonb),
    ragdb_internal.ledger_origin(), ragdb_internal.ledger_size(),
    (select h.sealed_at from ragdb.ledger_head h),
    (select pg_catalog.count(*) from ragdb.ledger_pending p),
    -- ids end with their time; there may be very many where nobody seals. A contract's is its name.
    (select ragdb_internal.uuid_time(pg_catalog.min(pg_catalog.right(p.id, 36))::uuid)
      from ragdb.ledger_pending p
      where p.id like '%________-____-7___-____-____________' and p.kind <> 'contract'),
    (select pg_catalog.max(c.size) from ragdb.ledger_checkpoints c);
end;
comment on function ragdb.ledger_status is
  'Returns whether the ledger is on, its name in checkpoints (null before the first sealing), its '
  'size, the last sealing time, how many rows wait to be sealed and since when, and the size of '
  'the last stored checkpoint.';

create type ragdb.ledger_entry as (
  number bigint, kind text, id text, hash bytea, sealed_at timestamptz, entry bytea,
  leaf_hash bytea);
comment on type ragdb.ledger_entry is
  'An entry of the ledger: its number, what it says, and that as bytes with the hash of its leaf.';

create or replace function ragdb.ledger_entries(first bigint default 0, count integer default 1000)
returns setof ragdb.ledger_entry
language plpgsql stable parallel safe security definer -- the ledger is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_listed(count, 'entries');
  if first is null then
    raise exception 'first is null'
      using errcode = 'RG400', detail = 'entries are numbered from 0',
        hint = 'ask for the next page by the number after the last';
  end if;
  return query
    select l.number, l.kind, l.id, l.hash, l.sealed_at,
      ragdb_internal.ledger_entry(l.kind, l.id, l.hash, l.sealed_at),
      ragdb_internal.leaf_hash(l)
    from ragdb.ledger_leaves l
    where l.number >= first order by l.number limit count;
end $$;
comment on function ragdb.ledger_entries is
  'Lists entries of the ledger from a number on, 1 to 10000 of them. Raises RG400.';

-- By its last part an id finds the entry too: who has a trace need not know the corpus's number.
create or replace function ragdb.ledger_entry(kind text, id text)
returns ragdb.ledger_entry
language plpgsql stable parallel safe security definer -- the ledger is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_leaf ragdb.ledger_leaves;
begin
  select l.* into v_leaf
    from ragdb.ledger_leaves l
    where l.kind = ledger_entry.kind and l.id = any (ledger_entry.id || array(
      select c.corpus_id || '/' || ledger_entry.id
      from generate_series(1, (select s.value::integer from ragdb.settings s
        where s.key = 'corpora_created')) c (corpus_id)))
    order by l.number limit 1;
  if not found then
    raise exception 'the ledger has no % %', ragdb_internal.quote(kind), ragdb_internal.quote(id)
      using errcode = 'RG480',
        detail = case when exists (select from ragdb.ledger_pending p
            where p.kind = ledger_entry.kind
              and (p.id = ledger_entry.id or p.id like '%/' || ledger_entry.id))
          then 'it waits to be sealed' else 'it was never noted' end,
        hint = 'ragdb.seal_ledger() seals what waits; ragdb.ledger_kinds() lists the kinds';
  end if;
  return row(v_leaf.number, v_leaf.kind, v_leaf.id, v_leaf.hash, v_leaf.sealed_at,
    ragdb_internal.ledger_entry(v_leaf.kind, v_leaf.id, v_leaf.hash, v_leaf.sealed_at),
    ragdb_internal.leaf_hash(v_leaf))::ragdb.ledger_entry;
end $$;
comment on function ragdb.ledger_entry is
  'Returns the entry of a row: its kind, such as trace, and its id, with or without the number of '
  'the corpus before it. Raises RG480.';

create or replace function ragdb.ledger_kinds() returns setof text
language sql immutable parallel safe security definer
begin atomic
  select k.kind from ragdb_internal.ledger_kinds() k order by k.kind;
end;
comment on function ragdb.ledger_kinds is
  'Lists the kinds of rows that the ledger enters.';

create or replace function ragdb.ledger_tile(level integer, index bigint, width integer default 256)
returns bytea
language plpgsql stable parallel safe security definer -- the ledger is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hashes constant bytea := (
    select t.hashes from ragdb.ledger_tiles t
    where t.level = ledger_tile.level and t.index = ledger_tile.index);
begin
  if coalesce(width not between 1 and 256, true)
    or coalesce(octet_length(v_hashes) / 32 < width, true)
  then
    raise exception 'the ledger has no tile %/% of % hashes', coalesce(level::text, 'null'),
        coalesce(index::text, 'null'), coalesce(width::text, 'null')
      using errcode = 'RG480', detail = 'a tile has 1 to 256 hashes',
        hint = 'the sizes of tiles follow from the size of the ledger (C2SP tlog-tiles)';
  end if;
  return substr(v_hashes, 1, width * 32);
end $$;
comment on function ragdb.ledger_tile is
  'Returns the first hashes, 1 to 256, of a tile of the tree (C2SP tlog-tiles). Raises RG480.';

create or replace function ragdb.ledger_bundle(index bigint, width integer default 256)
returns bytea
language plpgsql stable parallel safe security definer -- the ledger is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  -- so far that it does not overflow
  v_first constant bigint := 256 * case when index between 0 and 1::bigint << 54 then index end;
  v_bundle bytea;
  v_entries bigint;
begin
  select string_agg(substr(int4send(octet_length(e.entry)), 3) || e.entry, ''::bytea
      order by e.number), count(*)
    into v_bundle, v_entries
    from (select l.number, ragdb_internal.ledger_entry(l.kind, l.id, l.hash, l.sealed_at) as entry
      from ragdb.ledger_leaves l
      where l.number between v_first and v_first + width::bigint - 1) e;
  if coalesce(width not between 1 and 256, true) or v_entries <> width then
    raise exception 'the ledger has no bundle % of % entries', coalesce(index::text, 'null'),
        coalesce(width::text, 'null')
      using errcode = 'RG480', detail = 'a bundle has 1 to 256 entries',
        hint = 'the sizes of bundles follow from the size of the ledger (C2SP tlog-tiles)';
  end if;
  return v_bundle;
end $$;
comment on function ragdb.ledger_bundle is
  'Returns the first entries, 1 to 256, of a bundle of 256, each behind its length in two bytes '
  '(C2SP tlog-tiles). Raises RG480.';

create or replace function ragdb.list_ledger_acts(count integer default 100)
returns setof ragdb.ledger_acts
language plpgsql stable parallel safe security definer -- the ledger is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_listed(count, 'acts');
  return query select a.* from ragdb.ledger_acts a order by a.act_id desc limit count;
end $$;
comment on function ragdb.list_ledger_acts is
  'Lists the latest 1 to 10000 acts: rows dropped by age, erased or dropped with a corpus, '
  'documents deleted, history erased or dropped, and the ledger switched on or off. Raises RG400.';
