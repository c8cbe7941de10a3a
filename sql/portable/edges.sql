-- The edges of a corpus that were added by themselves, as they go out and come in: with both of the
-- documents that they join, so that whichever comes in last brings them.

-- Returns where a chunk is, whatever it is called in another corpus: the first source of its
-- document, and its place there from 0. Its plan is kept for the next chunk.
create or replace function ragdb_internal.exported_place(corpus_id integer, chunk_no integer)
returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select jsonb_build_array(d.source, c.ordinal)
    from ragdb.chunks c
      cross join lateral (select h.source from ragdb.documents h
        where h.corpus_id = c.corpus_id and h.doc_no = c.doc_no offset 0) d
    where c.corpus_id = exported_place.corpus_id and c.chunk_no = exported_place.chunk_no);
end $$;

-- Returns in one row the added edges that lead to a document or from it, each as parent, child and
-- type; no row where there are none. A table, as what stands for it in a query is planned with it,
-- and PostgreSQL 16 plans a function that is called anew for each document.
create or replace function ragdb_internal.exported_edges(document ragdb.documents)
returns table (content jsonb)
language sql stable parallel safe rows 1
begin atomic
  -- jsonb is ordered as texts of the database are, and its digest is one everywhere
  select pg_catalog.jsonb_build_object('edges', pg_catalog.jsonb_agg(x.edge order by
      (x.edge #>> '{0,0}') collate "C", (x.edge #>> '{0,1}')::integer,
      (x.edge #>> '{1,0}') collate "C", (x.edge #>> '{1,1}')::integer,
      (x.edge ->> 2) collate "C"))
    from (
      select distinct pg_catalog.jsonb_build_array(
          ragdb_internal.exported_place(e.corpus_id, e.parent_no),
          ragdb_internal.exported_place(e.corpus_id, e.child_no), e.edge_type) as edge
        from ragdb.chunks c
        cross join lateral (
          select o.* from ragdb.edges o
            where o.corpus_id = c.corpus_id and o.parent_no = c.chunk_no and o.is_added
          union
          select o.* from ragdb.edges o
            where o.corpus_id = c.corpus_id and o.child_no = c.chunk_no and o.is_added) e
        where c.corpus_id = (exported_edges.document).corpus_id
          and c.doc_no = (exported_edges.document).doc_no) x
    having count(*) > 0;
end;

-- Returns the number of the chunk at a place of an export; null where there is none.
create or replace function ragdb_internal.placed_chunk(corpus_id integer, place jsonb)
returns integer
language sql stable parallel safe
return (
  select c.chunk_no from ragdb.document_sources s
    join ragdb.chunks c on c.corpus_id = s.corpus_id and c.doc_no = s.doc_no
    where s.corpus_id = placed_chunk.corpus_id and s.uri = placed_chunk.place ->> 0
      and placed_chunk.place ->> 1 ~ '^[0-9]{1,9}$'
      and c.ordinal = (placed_chunk.place ->> 1)::integer);

-- Has edges that documents say, and that are there so, be added ones, on record: they were added
-- before a document came to say them, and stay when it no longer does.
create or replace function ragdb_internal.mark_added(
  corpus_id integer, edges ragdb_internal.chunk_edge[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
declare
  v_marked ragdb_internal.chunk_edge[];
begin
  with marked as (
    update ragdb.edges e set is_added = true from unnest(edges) g
      where e.corpus_id = mark_added.corpus_id and e.parent_no = g.parent_no
        and e.child_no = g.child_no and e.edge_type = g.edge_type and not e.is_added
      returning g.*
  )
  select array_agg(row(m.*)::ragdb_internal.chunk_edge) into v_marked from marked m;
  perform ragdb_internal.record_edges(mark_added.corpus_id, v_marked, true);
end $$;

-- Joins the chunks of an import by the added edges whose other end is there. What does not come in
-- here shows in the digest. Raises RG412.
create or replace function ragdb_internal.import_edges(corpus_id integer, documents jsonb)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
begin
  perform ragdb_internal.join_chunks(import_edges.corpus_id, z.edges),
      ragdb_internal.mark_added(import_edges.corpus_id, z.edges)
    from (
      select array_agg(distinct row(e.parent_no, e.child_no, e.edge_type)
          ::ragdb_internal.chunk_edge) as edges
        from (
          select ragdb_internal.placed_chunk(import_edges.corpus_id, g.v -> 0) as parent_no,
              ragdb_internal.placed_chunk(import_edges.corpus_id, g.v -> 1) as child_no,
              g.v ->> 2 as edge_type
            from jsonb_array_elements(documents) d (v)
            cross join lateral jsonb_array_elements(
              case jsonb_typeof(d.v -> 'edges') when 'array' then d.v -> 'edges' else '[]' end)
              g (v)) e
        where e.parent_no <> e.child_no
          and ragdb_internal.edge_order(e.edge_type) is not null) z
    where z.edges is not null;
end $$;
