-- Which edges were added by themselves. No document says them, so each is recorded when it comes
-- and when it is taken away; one whose chunk went goes without a record.

-- Returns what an added edge is called among the recorded states of its corpus.
create or replace function ragdb_internal.edge_key(edge ragdb_internal.chunk_edge) returns text
language sql immutable parallel safe
return pg_catalog.jsonb_build_array(
  (edge).parent_no, (edge).child_no, (edge).edge_type)::text;

-- Returns what is recorded of an added edge that is there.
create or replace function ragdb_internal.edge_hash(key text) returns bytea
language sql immutable parallel safe
return pg_catalog.sha256(ragdb_internal.utf8(key));

-- Records that some edges were added, or that they were taken away; the caller holds the corpus
-- lock.
create or replace function ragdb_internal.record_edges(
  corpus_id integer, edges ragdb_internal.chunk_edge[], are_there boolean)
returns void
language sql
begin atomic
  select ragdb_internal.record_states(record_edges.corpus_id, 'edge', array_agg(k.key),
      array_agg(case when are_there then ragdb_internal.edge_hash(k.key) end))
    from unnest(edges) e
      cross join lateral ragdb_internal.edge_key(
        row(e.parent_no, e.child_no, e.edge_type)::ragdb_internal.chunk_edge) k (key)
    having count(*) > 0;
end;
