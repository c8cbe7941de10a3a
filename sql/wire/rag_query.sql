create or replace function ragdb.rag_query(request jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_input constant jsonb := request -> 'input';
  v_corpus ragdb.corpora;
  v_space ragdb.embedding_spaces;
  v_embedder ragdb.embedders;
  v_k integer;
  v_query text;
  v_chunks jsonb;
  v_detail text;
  v_hint text;
begin
  perform ragdb_internal.enter_capability('rag.query', request);
  v_corpus := ragdb_internal.routable_corpus(ragdb_internal.wire_text(request -> 'params', 'corpus'), 'read');
  v_query := ragdb_internal.wire_text(v_input, 'query');
  if coalesce(v_query !~ '\S' or length(v_query) > 32768, true) then
    raise exception 'query is %', case when v_query is null then 'null'
        when length(v_query) > 32768 then 'too long' else 'empty' end
      using errcode = 'RG400', detail = 'a query has 1 to 32768 characters',
        hint = 'pass the question as query';
  end if;
  if v_input ? 'k' then
    if jsonb_typeof(v_input -> 'k') <> 'number' or (v_input ->> 'k')::numeric not between 1 and 20
      or (v_input ->> 'k')::numeric <> trunc((v_input ->> 'k')::numeric)
    then
      raise exception 'k is %, not a whole number from 1 to 20', ragdb_internal.quote(v_input ->> 'k')
        using errcode = 'RG400', detail = 'it is the number of chunks to return',
          hint = 'the default is 5';
    end if;
  end if;
  v_k := coalesce((v_input ->> 'k')::numeric, 5);
  if v_input ? 'include_text' and jsonb_typeof(v_input -> 'include_text') <> 'boolean' then
    raise exception 'include_text is not true or false'
      using errcode = 'RG400', detail = 'it is of type ' || jsonb_typeof(v_input -> 'include_text'),
            hint = 'the default is true';
  end if;
  v_space := ragdb_internal.space(v_corpus.corpus_id, 'current');
  if v_space.space_id is not null then
    select e.* into strict v_embedder from ragdb.embedders e
      where e.embedder_id = v_space.embedder_id;
    if ragdb_internal.query_embedding(v_corpus.corpus_id, v_embedder.embedder_id, v_query) is null then
      return ragdb_internal.wait_for_query(v_corpus, v_embedder, v_query);
    end if;
  end if;
  select coalesce(jsonb_agg(jsonb_build_object(
      'rank', h.rank, 'score', h.score,
      'metadata', jsonb_build_object('doc_cid', h.doc_cid, 'doc_title', h.title, 'page', h.page,
        'chunk_id', h.chunk_id))
    || case when coalesce((v_input ->> 'include_text')::boolean, true)
        then jsonb_build_object('text', h.text) else '{}' end order by h.rank), '[]')
    into v_chunks
    from ragdb.retrieve(corpus => v_corpus.name, query => v_query, k => v_k,
      filter => ragdb_internal.wire_filter(v_input -> 'filter'), client => 'rag.query@1.0') h;
  return jsonb_build_object('output', jsonb_build_object('chunks', v_chunks),
    'meta', jsonb_build_object('corpus', v_corpus.name, 'ms', ragdb_internal.ms_since(v_began),
      'embedding_model', v_embedder.name));
exception when others then
  if sqlstate !~ '^RG' then
    raise;
  end if;
  get stacked diagnostics v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  if v_corpus.corpus_id is not null and v_query is not null and sqlstate <> 'RG450' then
    perform ragdb.record_failure(v_corpus.name, v_query, sqlstate, ragdb_internal.ms_since(v_began)::float8,
      k => v_k, filter => v_input -> 'filter', client => 'rag.query@1.0');
  end if;
  return ragdb_internal.wire_error_of(sqlstate, sqlerrm, v_detail, v_hint);
end $$;
comment on function ragdb.rag_query(jsonb) is
  'Capability rag.query@1.0: {"params": {"corpus"}, "input": {"query", "k" (1 to 20, 5), "filter", '
  '"include_text" (true)}} gives {"output": {"chunks": [{"rank", "score", "text", "metadata": '
  '{"doc_cid", "doc_title", "page", "chunk_id"}}]}, "meta": {"corpus", "ms", "embedding_model"}} '
  'and records a trace; or {"error"} with not_found, bad_request, unauthorized, capacity_exceeded, '
  'or partition while a worker embeds the query. Raises 25006 where nothing can be written.';

create or replace function ragdb_internal.wait_for_query(
  corpus ragdb.corpora, embedder ragdb.embedders, query text)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_error text;
begin
  perform ragdb.request_query_embedding(corpus.name, query);
  select s.last_error into v_error from ragdb.query_embedding_state(corpus.name, query) s;
  return ragdb_internal.wait_for_worker(embedder, 'the query waits for a worker that embeds it', v_error,
    100,
    ragdb_internal.query_job(corpus.corpus_id, embedder.embedder_id, sha256(convert_to(query, 'UTF8'))));
end $$;
comment on function ragdb_internal.wait_for_query(ragdb.corpora, ragdb.embedders, text) is
  'Asks the workers for the embedding of a query and returns the answer meanwhile.';

-- A query that waits has no id of its own: this is one of version 8, made of its key.
create or replace function ragdb_internal.query_job(corpus_id integer, embedder_id integer,
  query_hash bytea) returns uuid
language sql immutable parallel safe
return pg_catalog.overlay(pg_catalog.overlay(pg_catalog.encode(pg_catalog.substr(pg_catalog.sha256(
    'ragdb.query/1'::bytea || pg_catalog.int4send(query_job.corpus_id)
    || pg_catalog.int4send(query_job.embedder_id) || query_job.query_hash), 1, 16), 'hex'),
  '8', 13, 1), '8', 17, 1)::uuid;
comment on function ragdb_internal.query_job(integer, integer, bytea) is
  'Returns the job id of a query that waits for its embedding.';

create or replace function ragdb.rag_list_corpora(request jsonb default '{}') returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_corpora jsonb;
  v_detail text;
  v_hint text;
begin
  perform ragdb_internal.enter_capability('rag.list_corpora', request);
  select coalesce(jsonb_agg(jsonb_build_object('name', l.name, 'docs', l.documents, 'chunks',
    l.chunks,
      'size_bytes', l.size_bytes, 'language_majority', l.language_majority) order by l.name), '[]')
    into v_corpora
    from ragdb.list_corpora() l where l.name <> 'personal';
  return jsonb_build_object('output', jsonb_build_object('corpora', v_corpora),
    'meta', jsonb_build_object('ms', ragdb_internal.ms_since(v_began)));
exception when others then
  if sqlstate !~ '^RG' then
    raise;
  end if;
  get stacked diagnostics v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  return ragdb_internal.wire_error_of(sqlstate, sqlerrm, v_detail, v_hint);
end $$;
comment on function ragdb.rag_list_corpora(jsonb) is
  'Capability rag.list_corpora@1.0: {"params": {}, "input": {}} gives {"output": {"corpora": '
  '[{"name", "docs", "chunks", "size_bytes", "language_majority"}]}, "meta": {"ms"}}, of the '
  'corpora that the caller may read without personal; or {"error"} with bad_request, unauthorized '
  'or capacity_exceeded.';

create or replace function ragdb.corpora_with_chunks(chunk_ids text[]) returns setof text
language sql stable parallel safe security definer
begin atomic
  select k.name collate "default" from ragdb.corpora k
  where k.personal_of is null and ragdb_internal.privilege(k.corpus_id, k.personal_of, k.name) > 0
    and exists (select from pg_catalog.unnest(corpora_with_chunks.chunk_ids) i (chunk_id)
      join ragdb.chunks c on c.corpus_id = k.corpus_id and c.chunk_id = i.chunk_id)
  order by k.name;
end;
comment on function ragdb.corpora_with_chunks(text[]) is
  'Returns the names of the corpora that the caller may read and that have a chunk of one of these '
  'ids, without personal.';

create or replace function ragdb.prepare_query(corpus text, query text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(prepare_query.corpus, 'read');
begin
  return (ragdb_internal.space(v_corpus.corpus_id, 'current')).space_id is null
    or ragdb.request_query_embedding(prepare_query.corpus, prepare_query.query);
end $$;
comment on function ragdb.prepare_query(text, text) is
  'Says whether a corpus can be searched for a query (1 to 32768 characters) by all that it has: '
  'it has no embeddings, or the query has one; otherwise the workers are asked for that. Raises '
  'RG400, RG404.';

create or replace function ragdb.retrieve_global(
  corpus text, query text, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, query_embedding float8[] default null,
  client text default null, otel_trace_id text default null, otel_span_id text default null)
returns setof ragdb.turn_hit
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(retrieve_global.corpus, 'read');
  v_hits ragdb.traced_hit[];
begin
  v_hits := array(select r from ragdb_internal.retrieve_traced(
    corpus => retrieve_global.corpus, query => retrieve_global.query, k => retrieve_global.k,
    mode => retrieve_global.mode, min_score => retrieve_global.min_score,
    filter => retrieve_global.filter, query_embedding => retrieve_global.query_embedding,
    context => ragdb_internal.call_context(client, otel_trace_id, otel_span_id)) r
    order by r.rank);
  return query select w.* from ragdb_internal.with_turns(v_corpus.corpus_id, ragdb.last_trace_id(), array(
    select row(h.rank, h.corpus, h.chunk_id, h.doc_cid, h.source, h.title, h.heading, h.page,
      h.start_offset, h.end_offset, h.text, h.citation, h.score, h.lexical_score, h.semantic_score,
      h.lexical_rank, h.semantic_rank, h.bm25, h.coverage, h.content_hash, h.metadata, h.mode,
      h.is_exact)::ragdb.hit
    from unnest(v_hits) h order by h.rank)) w;
end $$;
comment on function ragdb.retrieve_global(text, text, integer, text, float8, jsonb, float8[], text,
  text, text) is
  'Returns the hits of ragdb.search with the same arguments and what is known of them as turns, '
  'and records the one trace, which is never admissible. Raises what ragdb.search raises, RG413, '
  'and 25006 where nothing can be written.';

create or replace function ragdb.provenance(trace_id uuid) returns jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces := ragdb_internal.open_trace(trace_id);
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
    'limit_returned', v_trace.limit_returned,
    'admissibility_shortfall', v_trace.admissibility_shortfall,
    'shortfall_reason', v_trace.shortfall_reason, 'corpus', v_trace.corpus,
    'corpus_version', v_trace.corpus_version, 'rank_mode', v_trace.rank_mode,
    'embedding_model', v_trace.embedding_model, 'trace_hash', encode(v_trace.trace_hash, 'hex'));
end $$;
comment on function ragdb.provenance(uuid) is
  'Returns the provenance of a recorded retrieval as one object: query_id (the trace), '
  'retrieval_mode, retrieved_turn_ids, is_admissible, slice_info with the policy''s reference, '
  'snapshot and token (null in global mode), hashes of query embedding and result, filters, limits '
  'and shortfall. Raises RG400, RG407.';
