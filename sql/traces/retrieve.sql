-- ragdb.retrieve: a search whose trace is recorded in the same transaction.

create or replace function ragdb_internal.check_recordable(what text, hint text) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('transaction_read_only')::boolean then
    -- the standard code: clients that know it go to the primary
    raise exception '%, and this transaction is read-only', what
      using errcode = 'read_only_sql_transaction',
        detail = 'the server is a standby, or the transaction or role is set to read-only',
        hint = check_recordable.hint;
  end if;
end $$;
comment on function ragdb_internal.check_recordable(text, text) is
  'Refuses to record in a read-only transaction; what says who writes, hint what to do instead. '
  'Raises 25006.';

-- The search and the corpus row are read by one statement, hence from one snapshot: corpus_version
-- is the version that was searched.
create or replace function ragdb_internal.retrieve_traced(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
  lexical_weight float8 default null, min_lexical float8 default 0, min_semantic float8 default 0,
  context ragdb_internal.call_context default null)
returns setof ragdb.traced_hit
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started constant timestamptz := clock_timestamp();
  v_asked constant ragdb_internal.search_arguments := row(
    query, k, mode, min_score, filter, chunk_ids, statistics, query_embedding, fusion,
    lexical_weight, min_lexical, min_semantic);
  v_embedding constant real[] := ragdb_internal.single(query_embedding);
  v_found record;
  v_trace ragdb.retrieval_traces;
begin
  perform ragdb_internal.check_recordable('retrieve records a trace',
    'ragdb.search() returns the same hits and records nothing');
  select c as corpus, ragdb_internal.space(c.corpus_id, 'current') as space,
      ragdb_internal.search_mode(array[c], v_asked.mode, v_asked.query, v_embedding) as mode,
      array(select h from ragdb_internal.search_as(retrieve_traced.corpus, v_asked) h) as hits
    into strict v_found
    from ragdb_internal.open_corpus(retrieve_traced.corpus, 'read') c;
  v_trace.retrieval_mode := 'global';
  v_trace.rank_mode := v_found.mode;
  if v_found.mode in ('semantic', 'hybrid') then
    v_trace := ragdb_internal.note_meaning(
      v_trace, v_found.corpus, (v_found.space).embedder_id,
      ragdb_internal.query_vector(v_found.corpus, v_found.space, query, v_embedding), v_asked);
  end if;
  v_trace := ragdb_internal.note_arguments(v_trace, v_asked);
  v_trace.is_admissible := false;
  v_trace.admissibility_shortfall := false;
  v_trace.is_exact := coalesce(
    (select bool_and(h.is_exact) from unnest(v_found.hits::ragdb.hit[]) h), true);
  v_trace.elapsed_ms := 1000 * extract(epoch from clock_timestamp() - v_started)::float8;
  v_trace.id := ragdb_internal.record_trace(
    v_found.corpus, query, v_trace, v_found.hits, context);
  return query select v_trace.id, h.* from unnest(v_found.hits::ragdb.hit[]) h;
end $$;
comment on function ragdb_internal.retrieve_traced(
  text, text, integer, text, float8, jsonb, text[], text, float8[], text, float8, float8, float8,
  ragdb_internal.call_context) is
  'Searches and records the trace, with who asked. Raises what ragdb.retrieve raises.';

-- Definer: it writes tables that are granted to nobody.
create or replace function ragdb.retrieve(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
  lexical_weight float8 default null, min_lexical float8 default 0, min_semantic float8 default 0,
  client text default null, otel_trace_id text default null, otel_span_id text default null)
returns setof ragdb.traced_hit
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select h.* from ragdb_internal.retrieve_traced(
    corpus, query, k, mode, min_score, filter, chunk_ids, statistics, query_embedding, fusion,
    lexical_weight, min_lexical, min_semantic,
    ragdb_internal.call_context(client, otel_trace_id, otel_span_id)) h;
end $$;
comment on function ragdb.retrieve(
  text, text, integer, text, float8, jsonb, text[], text, float8[], text, float8, float8, float8,
  text, text, text) is
  'Returns the hits of ragdb.search with the same arguments, best first, each with the id of the '
  'one trace that is recorded in the same transaction; client (up to 200 characters) names the '
  'program, otel_trace_id and otel_span_id its OpenTelemetry span. Raises what ragdb.search '
  'raises, RG400, RG413, and 25006 where nothing can be written.';
