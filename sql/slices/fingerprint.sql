-- The fingerprints of a slice, recomputed from the rows each time, for building and for verifying.

-- What the fingerprints of a slice cover: its members with their contents, and its edges.
create type ragdb_internal.slice_content as (
  contents bytea, content_hashes bytea[], edges bytea, edge_count integer);

-- Returns what a fingerprint covers of a member: its id, packed, and the hash of its text. One that
-- is gone counts too, as one without content.
create or replace function ragdb_internal.packed_member(packed_id bytea, content_hash bytea)
returns bytea
language sql immutable parallel safe
return packed_member.packed_id
  || coalesce(ragdb_internal.packed(packed_member.content_hash), E'\\xffffffff');

-- Returns the snapshot hash of a slice, in 64 hex digits: of its members, each as packed_member()
-- says, and of how many edges join them.
create or replace function ragdb_internal.snapshot_hash(
  contents bytea, edge_count integer, schema_version text)
returns text
language sql immutable parallel safe
return pg_catalog.encode(pg_catalog.sha256(
  ragdb_internal.packed('ragdb-snapshot-1')
  || ragdb_internal.packed(coalesce(snapshot_hash.contents, ''))
  || ragdb_internal.packed(pg_catalog.int4send(snapshot_hash.edge_count))
  || ragdb_internal.packed(snapshot_hash.schema_version)), 'hex');

-- Reads what the fingerprints of a slice cover: its members (sorted ids) with the hashes of their
-- texts, and the edges between them.
--
-- The texts are hashed here: a hash that is stored beside a text proves nothing of it.
--
-- One plan whatever the statistics say: members are found by their ids, edges by their parent, and
-- the plan expects as many as there are. Of a hub, a member with more than 256 edges, the edges are
-- not read: those to other members are looked up one by one.
create or replace function ragdb_internal.slice_rows(
  corpus integer, ids text[], out content ragdb_internal.slice_content)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
  with members as materialized (
    select ids[i] collate "C" as chunk_id, c.*, ragdb_internal.packed(ids[i]) as packed
      from generate_subscripts(ids, 1) i
      left join lateral (select c.chunk_no, ragdb_internal.content_hash(c.text) from ragdb.chunks c
        where c.corpus_id = corpus and c.chunk_id = ids[i] limit 1)
          c (chunk_no, content_hash) on true
  ), outward as materialized (
    select p.chunk_no as parent_no, e.child_no, e.edge_type,
        count(*) over (partition by p.chunk_no) > 256 as is_cut
      from members p
      cross join lateral (
        select e.child_no, e.edge_type from ragdb.edges e
          where e.corpus_id = corpus and e.parent_no = p.chunk_no order by e.child_no limit 257) e
  ), inward as (
    select o.parent_no, o.child_no, o.edge_type from outward o where not o.is_cut
    union all
    select h.parent_no, k.chunk_no, e.edge_type
      from (select distinct o.parent_no from outward o where o.is_cut) h
      cross join members k
      cross join lateral (select e.edge_type from ragdb.edges e
        where e.corpus_id = corpus and e.parent_no = h.parent_no and e.child_no = k.chunk_no
        order by e.edge_type limit 4) e
  )
  select c.bytes, c.hashes, e.bytes, e.count into strict content
    from (
      select string_agg(ragdb_internal.packed_member(m.packed, m.content_hash), ''
            order by m.chunk_id) as bytes,
          array_agg(m.content_hash order by m.chunk_id) as hashes
        from members m) c
    cross join (
      select count(*) as count,
          string_agg(p.packed || k.packed || ragdb_internal.packed(e.edge_type), ''
            order by p.chunk_id, k.chunk_id, ragdb_internal.edge_order(e.edge_type)) as bytes
        from inward e
        join members p on p.chunk_no = e.parent_no
        join members k on k.chunk_no = e.child_no) e;
end $$;

-- Returns a slice (corpus, anchor, policy reference, members) with slice_id, snapshot hash (64 hex
-- digits each), edge count and content hashes of what it contains.
create or replace function ragdb_internal.with_fingerprint(
  corpus ragdb.corpora, slice ragdb.slices, content ragdb_internal.slice_content)
returns ragdb.slices
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  slice.corpus_id := corpus.corpus_id;
  slice.schema_version := '1.0.0';
  slice.content_hashes := coalesce(content.content_hashes, '{}');
  slice.edge_count := content.edge_count;
  slice.slice_id := encode(sha256(
    ragdb_internal.packed('ragdb-slice-1') || ragdb_internal.packed(corpus.name)
    || ragdb_internal.packed(slice.anchor_chunk_id) || ragdb_internal.packed(slice.policy_id)
    || ragdb_internal.packed(slice.params_hash)
    || ragdb_internal.packed(coalesce(content.contents, ''))
    || ragdb_internal.packed(coalesce(content.edges, ''))
    || ragdb_internal.packed(slice.schema_version)), 'hex');
  slice.graph_snapshot_hash := ragdb_internal.snapshot_hash(
    content.contents, slice.edge_count, slice.schema_version);
  return slice;
end $$;

-- Returns a slice with its fingerprints recomputed from the rows of today.
create or replace function ragdb_internal.fingerprinted(corpus ragdb.corpora, slice ragdb.slices)
returns ragdb.slices
language sql stable parallel safe
return ragdb_internal.with_fingerprint(corpus, slice,
  ragdb_internal.slice_rows((corpus).corpus_id, (slice).chunk_ids));
