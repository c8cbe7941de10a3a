-- Slices that are stored, and who their members are.

-- Returns a stored slice. Raises RG435.
create or replace function ragdb_internal.stored_slice(corpus_id integer, slice_id text)
returns ragdb.slices
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_slice ragdb.slices;
begin
  select s.* into v_slice from ragdb.slices s
    where s.corpus_id = stored_slice.corpus_id and s.slice_id = stored_slice.slice_id;
  if not found then
    raise exception 'slice % is not stored', ragdb_internal.quote(stored_slice.slice_id)
      using errcode = 'RG435',
        detail = 'build_slice computes without storing',
        hint = 'ragdb.export_slice() stores one; or search by anchor and policy';
  end if;
  return v_slice;
end $$;

create or replace function ragdb.list_slices(
  corpus text, since timestamptz default null, count integer default 50, before text default null)
returns table (
  slice_id text, created_at timestamptz, anchor_chunk_id text, anchor_source text, chunks integer,
  edge_count integer, policy_id text, params_hash text, graph_snapshot_hash text)
language plpgsql stable security definer -- slices are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(list_slices.corpus, 'read', false, true);
  v_before timestamptz;
begin
  perform ragdb_internal.check_listed(list_slices.count, 'slices');
  if before is not null then
    v_before := (ragdb_internal.stored_slice(v_corpus.corpus_id, before)).created_at;
  end if;
  return query
    select s.slice_id, s.created_at, s.anchor_chunk_id, c.source, cardinality(s.chunk_ids),
        s.edge_count, s.policy_id, s.params_hash, s.graph_snapshot_hash
      from ragdb.slices s
      left join lateral (
        select h.source from ragdb.chunks h
        where h.corpus_id = v_corpus.corpus_id and h.chunk_id = s.anchor_chunk_id
        offset 0) c on true
      where s.corpus_id = v_corpus.corpus_id
        and s.created_at >= coalesce(list_slices.since, '-infinity')
        and (v_before is null or (s.created_at, s.slice_id) < (v_before, list_slices.before))
      order by s.created_at desc, s.slice_id desc limit list_slices.count;
end $$;
comment on function ragdb.list_slices is
  'Returns the slices of a corpus that are stored, newest first, stored at or after since; before '
  'the last id of the page before. The source is null where the anchor is gone. count is 1 to '
  '10000. Raises RG400, RG404, RG435.';

create or replace function ragdb.find_slice(corpus text, prefix text) returns text
language plpgsql stable security definer -- slices are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(find_slice.corpus, 'read', false, true);
  v_id constant text := ragdb_internal.only_id(array(
    select s.slice_id from ragdb.slices s
      where s.corpus_id = v_corpus.corpus_id and prefix <> ''
        and s.slice_id >= prefix and s.slice_id <= ragdb_internal.past_prefix(prefix)
      order by s.slice_id limit 2), 'slice', prefix);
begin
  -- says what to do where there is none
  return (ragdb_internal.stored_slice(v_corpus.corpus_id, coalesce(v_id, prefix))).slice_id;
end $$;
comment on function ragdb.find_slice is
  'Returns the id of the one stored slice of a corpus whose id begins so. Raises RG400, also where '
  'two do, RG404, RG435.';

create or replace function ragdb.slice_members(corpus text, slice_id text)
returns table (place bigint, chunk_id text, source text, content_hash text, is_unchanged boolean)
language plpgsql stable security definer -- slices are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(slice_members.corpus, 'read', false, true);
  v_slice ragdb.slices := ragdb_internal.stored_slice(v_corpus.corpus_id, slice_members.slice_id);
begin
  return query
    select o.place, o.chunk_id, c.source, encode(m.content_hash, 'hex'),
        ragdb_internal.content_hash(c.text) is not distinct from m.content_hash
      from unnest(v_slice.selection_order) with ordinality o (chunk_id, place)
      join unnest(v_slice.chunk_ids, v_slice.content_hashes) m (chunk_id, content_hash)
        on m.chunk_id = o.chunk_id
      left join lateral (
        select h.source, h.text from ragdb.chunks h
        where h.corpus_id = v_corpus.corpus_id and h.chunk_id = o.chunk_id offset 0) c on true
      order by o.place;
end $$;
comment on function ragdb.slice_members is
  'Returns the members of a stored slice in the order in which they were chosen, and whether each '
  'still says what it said. Raises RG400, RG404, RG435.';

create or replace function ragdb.filter_admissible(corpus text, slice_id text, chunk_ids text[])
returns text[]
language plpgsql stable security definer -- slices are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora :=
    ragdb_internal.open_corpus(filter_admissible.corpus, 'read', false, true);
  v_slice ragdb.slices :=
    ragdb_internal.stored_slice(v_corpus.corpus_id, filter_admissible.slice_id);
begin
  if filter_admissible.chunk_ids is null then
    raise exception 'chunk_ids is null'
      using errcode = 'RG400',
        detail = 'those that the slice admits are returned',
        hint = 'pass an array of chunk ids';
  end if;
  return array(select u.id from unnest(filter_admissible.chunk_ids) with ordinality u (id, n)
    where u.id = any (v_slice.chunk_ids) order by u.n);
end $$;
comment on function ragdb.filter_admissible is
  'Returns those of the chunk ids that are members of a stored slice, in the order given. Raises '
  'RG400, RG404, RG435.';

create or replace function ragdb.is_admissible(corpus text, slice_id text, chunk_id text)
returns boolean
language sql stable
return ragdb.filter_admissible(is_admissible.corpus, is_admissible.slice_id,
  array[is_admissible.chunk_id]) <> '{}';
comment on function ragdb.is_admissible is
  'Tells whether a chunk is a member of a stored slice. Raises RG400, RG404, RG435.';

create or replace function ragdb.get_slice(corpus text, slice_id text)
returns table (
  created_at timestamptz, anchor_chunk_id text, anchor_source text,
  chunk_ids text[], edge_count integer, policy_id text, params_hash text, policy jsonb,
  schema_version text, graph_snapshot_hash text, is_unchanged boolean)
language plpgsql stable security definer rows 1 -- slices are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(get_slice.corpus, 'read', false, true);
  v_slice constant ragdb.slices :=
    ragdb_internal.stored_slice(v_corpus.corpus_id, get_slice.slice_id);
begin
  return query
    select v_slice.created_at, v_slice.anchor_chunk_id, (
        select c.source from ragdb.chunks c
        where c.corpus_id = v_corpus.corpus_id and c.chunk_id = v_slice.anchor_chunk_id),
      v_slice.selection_order, v_slice.edge_count, v_slice.policy_id, v_slice.params_hash,
      p.policy, v_slice.schema_version, v_slice.graph_snapshot_hash,
      (ragdb_internal.fingerprinted(v_corpus, v_slice)).slice_id = v_slice.slice_id
    from ragdb_internal.known_policy(v_slice.policy_id, v_slice.params_hash) p;
end $$;
comment on function ragdb.get_slice is
  'Returns a stored slice with its members in the order in which they were chosen, and its policy '
  'in full, null where that is not registered as it was; is_unchanged is whether its members and '
  'the edges between them are what they were. The source is null where the anchor is gone. Raises '
  'RG400, RG404, RG435.';
