-- What a retrieval asked and who asked. The public functions make both of their arguments, what
-- records a trace reads them, and everything between hands each on as one.

-- Who asked: the program, its OpenTelemetry span, and the retriever and rag of a contract.
create type ragdb_internal.call_context as (
  client text, otel_trace_id text, otel_span_id text, retriever text, rag text);

-- What was asked: the arguments of ragdb.search but the corpus, in their order.
create type ragdb_internal.search_arguments as (
  query text, k integer, mode text, min_score float8, filter jsonb, chunk_ids text[],
  statistics text, query_embedding float8[], fusion text, lexical_weight float8,
  min_lexical float8, min_semantic float8, options ragdb_internal.search_options);

-- Returns who asked, as it is recorded with a trace.
create or replace function ragdb_internal.call_context(
  client text, otel_trace_id text default null, otel_span_id text default null,
  retriever text default null, rag text default null)
returns ragdb_internal.call_context
language sql immutable parallel safe
return row(client, otel_trace_id, otel_span_id, retriever, rag)::ragdb_internal.call_context;

-- Refuses a name of more than 200 characters. Raises RG413.
create or replace function ragdb_internal.check_client(client text, what text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if length(client) > 200 then
    raise exception '% has % characters', what, length(client)
      using errcode = 'RG413', detail = 'it names a program, a task or a model',
        hint = 'give at most 200 characters';
  end if;
end $$;

-- Refuses a client of more than 200 characters and what is not an id of OpenTelemetry. Raises
-- RG400, RG413.
create or replace function ragdb_internal.check_context(context ragdb_internal.call_context)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_client(context.client, 'client');
  if context.otel_trace_id !~ '^[0-9a-f]{32}$' or context.otel_span_id !~ '^[0-9a-f]{16}$' then
    raise exception 'otel_trace_id or otel_span_id is not an id of OpenTelemetry'
      using errcode = 'RG400',
        detail = 'a trace id is 32 lower-case hex digits, a span id is 16',
        hint = 'leave both null when there is no span';
  end if;
end $$;

-- Returns the hits of ragdb.search with the arguments asked. Raises what ragdb.search raises.
create or replace function ragdb_internal.search_as(
  corpus text, asked ragdb_internal.search_arguments, as_of bigint default null)
returns setof ragdb.hit
language sql stable parallel restricted
begin atomic
  select h.* from ragdb.search(
    search_as.corpus, (asked).query, (asked).k, (asked).mode, (asked).min_score, (asked).filter,
    (asked).chunk_ids, (asked).statistics, (asked).query_embedding, (asked).fusion,
    (asked).lexical_weight, (asked).min_lexical, (asked).min_semantic,
    ((asked).options).syntax,
      ((asked).options).per_document, ((asked).options).collapse, ((asked).options).diversity,
      ((asked).options).context, ((asked).options).section, ((asked).options).typos,
      search_as.as_of) h;
end;

-- How a search ranks: its mode, and the embedding of its query by an embedder.
create type ragdb_internal.search_basis as (
  mode text, query_embedding real[], embedder_id integer);

-- Enters in a trace how a semantic or hybrid search ranked, and keeps the embedding of its query
-- unless the corpus keeps nothing of queries. The caller holds the corpus.
create or replace function ragdb_internal.note_meaning(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, basis ragdb_internal.search_basis,
  asked ragdb_internal.search_arguments)
returns ragdb.retrieval_traces
language plpgsql
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
begin
  select e.name into strict trace.embedding_model
    from ragdb.embedders e where e.embedder_id = basis.embedder_id;
  trace.ranking := jsonb_build_object(
    'fusion', asked.fusion, 'lexical_weight',
    coalesce(asked.lexical_weight, ragdb_internal.lexical_weight(basis.embedder_id)),
    'min_lexical', asked.min_lexical, 'min_semantic', asked.min_semantic);
  -- an embedding tells much of its text: what must not be kept of one is not kept of the other
  if corpus.record_query_text <> 'none' then
    trace.query_embedding_hash :=
      encode(ragdb_internal.vector_hash(basis.query_embedding), 'hex');
    perform ragdb_internal.keep_query_embedding(
      corpus.corpus_id, basis.embedder_id, basis.query_embedding);
  end if;
  return trace;
end $$;

-- Enters in a trace what was asked, but the query, how it was ranked, and whether its hits are
-- exact. Raises RG404.
create or replace function ragdb_internal.note_search(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, basis ragdb_internal.search_basis,
  asked ragdb_internal.search_arguments, hits ragdb.hit[])
returns ragdb.retrieval_traces
language plpgsql
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
begin
  if basis.query_embedding is not null then
    trace := ragdb_internal.note_meaning(trace, corpus, basis, asked);
  end if;
  trace.rank_mode := basis.mode;
  trace.limit_requested := asked.k;
  trace.min_score := asked.min_score;
  trace.filters := asked.filter;
  trace.chunk_ids := asked.chunk_ids;
  trace.statistics := asked.statistics;
  -- a leg that does not run has a floor all the same
  trace.ranking := nullif(
    jsonb_strip_nulls(jsonb_build_object('min_lexical', nullif(asked.min_lexical, 0),
      'min_semantic', nullif(asked.min_semantic, 0)))
    || coalesce(trace.ranking, '{}') || ragdb_internal.noted_options(asked.options), '{}');
  trace.is_exact := coalesce((select bool_and(h.is_exact) from unnest(hits) h), true);
  return trace;
end $$;
