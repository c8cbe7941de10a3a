-- The sealer: gives noted rows their numbers, and adds them to the tree. Writers never wait for it,
-- and one seals at a time.

-- A noted row with its number in the ledger; the hash is null until it is known.
create type ragdb_internal.ledger_note as (number bigint, kind text, id text, hash bytea);

-- Takes some noted rows, numbers those that are new from a number on, and returns them with how
-- many were taken in all. What was noted twice, or is sealed already, is dropped: a restored copy
-- may note anew.
create or replace function ragdb_internal.take_notes(first bigint, most integer)
returns table (notes ragdb_internal.ledger_note[], taken bigint)
language sql
begin atomic
  with batch as materialized (
    select p.ctid as place from ragdb.ledger_pending p limit take_notes.most
  ), gone as (
    delete from ragdb.ledger_pending p
      where p.ctid = any (array(select b.place from batch b))
      returning p.ctid as place, p.kind, p.id, p.hash
  ), fresh as (
    select g.*, pg_catalog.row_number() over (partition by g.kind, g.id order by g.place) as nth
      from gone g
      where not exists (select from ragdb.ledger_leaves l where l.kind = g.kind and l.id = g.id)
  ), numbered as (
    select take_notes.first - 1 + pg_catalog.row_number() over (order by f.place) as number,
        f.kind, f.id, f.hash
      from fresh f where f.nth = 1
  )
  select coalesce(pg_catalog.array_agg(
      row(n.number, n.kind, n.id, n.hash)::ragdb_internal.ledger_note order by n.number), '{}'),
    (select pg_catalog.count(*) from gone)
  from numbered n;
end;

-- Returns noted rows, each with the hash of its row where it came without. A row that was gone
-- before it was sealed is entered with zeros: that it was there stays known.
create or replace function ragdb_internal.complete_notes(notes ragdb_internal.ledger_note[])
returns ragdb_internal.ledger_note[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_kind text;
  v_places ragdb_internal.ledger_place[];
begin
  for v_kind in select distinct n.kind from unnest(notes) n where n.hash is null loop
    v_places := array(
      select ragdb_internal.ledger_place(n.number, n.id, null, null)
      from unnest(notes) n where n.kind = v_kind and n.hash is null);
    notes := array(
      select row(n.number, n.kind, n.id, case when r.number is null then n.hash
          else coalesce(r.row_hash, decode(repeat('00', 32), 'hex')) end
        )::ragdb_internal.ledger_note
      from unnest(notes) n
        left join ragdb_internal.ledger_rows(v_kind, v_places) r on r.number = n.number
      order by n.number);
  end loop;
  return notes;
end $$;

-- Adds hashes of leaves to the tree, the first of them at a place from 0. Level by level: hashes
-- are put behind those of the last tile, and each tile that is full becomes a hash of the level
-- above. Raises RG482.
create or replace function ragdb_internal.append_hashes(place bigint, hashes bytea) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_level integer := 0;
  v_length bigint;
begin
  while octet_length(hashes) > 0 loop
    v_length := octet_length(hashes) / 32;
    insert into ragdb.ledger_tiles as t (level, index, hashes)
      select v_level, i.index, substr(hashes,
          (greatest(i.index * 256 - place, 0) * 32)::integer + 1,
          ((least((i.index + 1) * 256, place + v_length)
            - greatest(i.index * 256, place)) * 32)::integer)
        from generate_series(place / 256, (place + v_length - 1) / 256) i (index)
      on conflict on constraint ledger_tiles_are_unique do update
        set hashes = t.hashes || excluded.hashes;
    if exists (select from ragdb.ledger_tiles t
        where t.level = v_level and t.index between place / 256 and (place + v_length - 1) / 256
          and octet_length(t.hashes) / 32
            <> least(256, place + v_length - t.index * 256)) then
      raise exception 'the ledger lacks hashes of level %', v_level
        using errcode = 'RG482', detail = 'its tiles do not end where its entries do',
          hint = 'ragdb.verify_ledger() lists what is wrong; restore a backup';
    end if;
    hashes := (
      select string_agg(ragdb_internal.subtree_root(t.hashes), ''::bytea order by t.index)
      from ragdb.ledger_tiles t
      where t.level = v_level and t.index between place / 256 and (place + v_length) / 256 - 1);
    place := place / 256;
    v_level := v_level + 1;
  end loop;
end $$;

-- Writes numbered rows to the ledger and its tree. Raises RG482.
create or replace function ragdb_internal.seal_notes(
  first bigint, notes ragdb_internal.ledger_note[], sealed_at timestamptz)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hashes bytea;
begin
  with sealed as (
    insert into ragdb.ledger_leaves as l (number, kind, id, hash, sealed_at)
      select n.number, n.kind, n.id, n.hash, seal_notes.sealed_at from unnest(notes) n
      order by n.number
      returning l.number, ragdb_internal.leaf_hash(l) as hash
  )
  select string_agg(s.hash, ''::bytea order by s.number) into v_hashes from sealed s;
  perform ragdb_internal.append_hashes(first, v_hashes);
  update ragdb.ledger_head h
    set size = first + cardinality(notes), sealed_at = seal_notes.sealed_at;
end $$;

-- Its lock is on a row of a table that is granted to nobody, so a reader cannot hold it.
create or replace function ragdb.seal_ledger(most integer default 100000)
returns table (sealed bigint, size bigint, sealed_at timestamptz, is_done boolean)
language plpgsql security definer rows 1 -- the ledger is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_head ragdb.ledger_head;
  v_batch record;
  v_left integer := most;
begin
  if most is null or most not between 1 and 1000000 then
    raise exception 'most is %', coalesce(most::text, 'null')
      using errcode = 'RG400', detail = 'it is the number of rows to seal in this transaction',
        hint = 'give 1 to 1000000, and call again until is_done';
  end if;
  perform ragdb_internal.name_ledger();
  insert into ragdb.ledger_head values (true, 0, ragdb_internal.now())
    on conflict on constraint ledger_head_has_one_row do nothing;
  select h.* into strict v_head from ragdb.ledger_head h for update;
  sealed := 0;
  is_done := false;
  while v_left > 0 and not is_done loop
    select t.* into strict v_batch
      from ragdb_internal.take_notes(v_head.size, least(v_left, 10000)) t;
    is_done := v_batch.taken < least(v_left, 10000);
    v_left := v_left - v_batch.taken;
    continue when v_batch.notes = '{}';
    v_head.sealed_at := greatest(v_head.sealed_at, ragdb_internal.now());
    perform ragdb_internal.seal_notes(
      v_head.size, ragdb_internal.complete_notes(v_batch.notes), v_head.sealed_at);
    v_head.size := v_head.size + cardinality(v_batch.notes);
    sealed := sealed + cardinality(v_batch.notes);
  end loop;
  size := v_head.size;
  sealed_at := v_head.sealed_at;
  return next;
end $$;
comment on function ragdb.seal_ledger is
  'Seals noted rows of evidence, at most 1 to 1000000 of them: numbers them without a gap and adds '
  'them to the tree; returns how many were new, the size of the ledger, its last sealing time, '
  'which never falls, and whether nothing is left. Writers do not wait for it; a second sealer '
  'does. Raises RG400, RG482.';
