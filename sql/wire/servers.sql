-- What the servers of HTTP and MCP ask beside the capabilities: where a chunk is, whether a query
-- has its embedding, a search as turns of a conversation, where a retrieval came from.

create or replace function ragdb.corpora_with_chunks(chunk_ids text[]) returns setof text
language sql stable parallel safe security definer
begin atomic
  select k.name collate "default" from ragdb.corpora k
  where k.personal_of is null and ragdb_internal.privilege(k) > 0
    and exists (select from pg_catalog.unnest(corpora_with_chunks.chunk_ids) i (chunk_id)
      cross join lateral (
        select from ragdb.chunks c
        where c.corpus_id = k.corpus_id and c.chunk_id = i.chunk_id offset 0) c)
  order by k.name;
end;
comment on function ragdb.corpora_with_chunks is
  'Returns the names of the corpora that the caller may read and that have a chunk of one of these '
  'ids, without personal.';

create or replace function ragdb.prepare_query(corpus text, query text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(prepare_query.corpus, 'read', true);
  v_space constant ragdb.embedding_spaces :=
    ragdb_internal.space(ragdb_internal.embedded_as(v_corpus), 'current');
begin
  -- no worker embeds what is bound to no provider: the search says what it does without
  return v_space.space_id is null
    or exists (select from ragdb.embedders e
      where e.embedder_id = v_space.embedder_id and e.provider is null)
    or ragdb.request_query_embedding(prepare_query.corpus, prepare_query.query);
end $$;
comment on function ragdb.prepare_query is
  'Says whether a corpus can be searched for a query (1 to 32768 characters) by all that it has: '
  'it has no embeddings, no provider makes them, or the query has one; otherwise the workers are '
  'asked for that. Raises RG400, RG404.';

create or replace function ragdb.retrieve_global(
  corpus text, query text, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, query_embedding float8[] default null,
  client text default null, otel_trace_id text default null, otel_span_id text default null)
returns setof ragdb.turn_hit
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(
    retrieve_global.corpus, 'read', true);
  v_hits ragdb.traced_hit[];
begin
  v_hits := array(select r from ragdb_internal.retrieve_traced(
    corpus => retrieve_global.corpus, query => retrieve_global.query, k => retrieve_global.k,
    mode => retrieve_global.mode, min_score => retrieve_global.min_score,
    filter => retrieve_global.filter, query_embedding => retrieve_global.query_embedding,
    asker => ragdb_internal.call_context(client, otel_trace_id, otel_span_id)) r
    order by r.rank);
  return query select w.*
    from ragdb_internal.with_turns(v_corpus.corpus_id, ragdb.last_trace_id(), array(
    select ragdb_internal.plain_hit(h) from unnest(v_hits) h order by h.rank)) w;
end $$;
comment on function ragdb.retrieve_global is
  'Returns the hits of ragdb.search with the same arguments and what is known of them as turns, '
  'and records the one trace, which is never admissible. Raises what ragdb.search raises, RG413, '
  'and 25006 where nothing can be written.';

create or replace function ragdb.provenance(trace_id uuid) returns jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_trace ragdb.retrieval_traces := ragdb_internal.open_trace(trace_id, is_audit => true);
begin
  return jsonb_build_object(
    'query_id', v_trace.id, 'retrieval_mode', v_trace.retrieval_mode,
    'query_text', v_trace.query_text,
    'retrieved_turn_ids', coalesce((select jsonb_agg(h.chunk_id order by h.rank)
      from ragdb.trace_hits(v_trace.id) h), '[]'),
    'timestamp', ragdb_internal.wire_time(v_trace.created_at), 'elapsed_ms', v_trace.elapsed_ms,
    'is_admissible', v_trace.is_admissible, 'slice_id', v_trace.slice_id,
    'anchor_turn_id', v_trace.anchor_chunk_id,
    'slice_info', case when v_trace.slice_id is not null then jsonb_build_object(
      'slice_id', v_trace.slice_id, 'anchor_turn_id', v_trace.anchor_chunk_id,
      'turn_count', v_trace.slice_chunk_count, 'edge_count', v_trace.slice_edge_count,
      'policy_ref', jsonb_build_object('policy_id', v_trace.policy_id,
        'params_hash', v_trace.policy_params_hash),
      'policy_id', v_trace.policy_id, 'params_hash', v_trace.policy_params_hash,
      'schema_version', v_trace.schema_version,
      'graph_snapshot_hash', v_trace.graph_snapshot_hash,
      'admissibility_token', v_trace.admissibility_token) end,
    'query_embedding_hash', v_trace.query_embedding_hash, 'result_hash', v_trace.result_hash,
    'filters_applied', v_trace.filters, 'limit_requested', v_trace.limit_requested,
    'limit_returned', v_trace.limit_returned, 'min_similarity', v_trace.min_score,
    'admissibility_shortfall', v_trace.admissibility_shortfall,
    'shortfall_reason', v_trace.shortfall_reason, 'corpus', v_trace.corpus,
    'corpus_version', v_trace.corpus_version, 'rank_mode', v_trace.rank_mode,
    'embedding_model', v_trace.embedding_model, 'trace_hash', encode(v_trace.trace_hash, 'hex'));
end $$;
comment on function ragdb.provenance is
  'Returns the provenance of a recorded retrieval as one object: query_id (the trace), '
  'retrieval_mode, retrieved_turn_ids, is_admissible, slice_info with the policy''s reference, '
  'snapshot and token (null in global mode), hashes of query embedding and result, filters, '
  'limits, the least score and shortfall. Raises RG400, RG407.';
