-- Which edges were added by themselves. No document says them, so each is recorded when it comes
-- and when it is taken away; one whose chunk went goes without a record.

create or replace function ragdb_internal.edge_key(edge ragdb_internal.chunk_edge) returns text
language sql immutable parallel safe
return pg_catalog.jsonb_build_array(
  (edge).parent_no, (edge).child_no, (edge).edge_type)::text;
comment on function ragdb_internal.edge_key(ragdb_internal.chunk_edge) is
  'Returns what an added edge is called among the recorded states of its corpus.';

create or replace function ragdb_internal.edge_hash(key text) returns bytea
language sql immutable parallel safe
return pg_catalog.sha256(ragdb_internal.utf8(key));
comment on function ragdb_internal.edge_hash(text) is
  'Returns what is recorded of an added edge that is there.';

create or replace function ragdb_internal.record_edges(
  corpus_id integer, edges ragdb_internal.chunk_edge[], are_there boolean)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_now constant timestamptz := ragdb_internal.now();
  v_caller constant text := ragdb_internal.caller();
  v_ids text[];
begin
  with edge as materialized (
    select ragdb_internal.uuid7(v_now) as id, ragdb_internal.edge_key(e) as key
      from unnest(edges) e
  ), recorded as (
    insert into ragdb.recorded_states (
        state_id, created_at, corpus_id, kind, key, nth, hash, caller)
      select e.id, ragdb_internal.uuid_time(e.id), record_edges.corpus_id, 'edge', e.key,
          1 + coalesce(l.nth, 0), case when are_there then ragdb_internal.edge_hash(e.key) end,
          v_caller
        from edge e
        left join lateral (
          select s.nth from ragdb.recorded_states s
            where s.corpus_id = record_edges.corpus_id and s.kind = 'edge' and s.key = e.key
            order by s.nth desc limit 1) l on true
      returning state_id::text
  )
  select array_agg(r.state_id) into v_ids from recorded r;
  perform ragdb_internal.note_all('state', v_ids) where v_ids is not null;
end $$;
comment on function ragdb_internal.record_edges(
  integer, ragdb_internal.chunk_edge[], boolean) is
  'Records that some edges were added, or that they were taken away; the caller holds the corpus '
  'lock.';
