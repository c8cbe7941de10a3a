-- Traces: every retrieval leaves one row of retrieval_traces and a row of retrieval_hits per hit.
-- Both tables are partitioned by month (UTC), append-only, and granted to nobody; so are those of
-- rerankings, gates and answers, which share their months.

create type ragdb.traced_hit as (
  trace_id uuid, rank integer, corpus text, chunk_id text, doc_cid text, source text, title text,
  heading text[], page integer, start_offset integer, end_offset integer, text text,
  citation jsonb, score float8, lexical_score float8, semantic_score float8,
  lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8, content_hash text,
  metadata jsonb, mode text, is_exact boolean);
comment on type ragdb.traced_hit is
  'One result of a recorded retrieval: a ragdb.hit after the id of its trace.';

create type ragdb_internal.call_context as (
  client text, otel_trace_id text, otel_span_id text, retriever text, rag text);
comment on type ragdb_internal.call_context is
  'Who asked: the program, its OpenTelemetry span, and the retriever and rag of a contract.';

-- The public functions make it of their arguments, record_trace reads it, and everything between
-- hands it on as one.
create or replace function ragdb_internal.call_context(
  client text, otel_trace_id text default null, otel_span_id text default null,
  retriever text default null, rag text default null)
returns ragdb_internal.call_context
language sql immutable parallel safe
return row(client, otel_trace_id, otel_span_id, retriever, rag)::ragdb_internal.call_context;
comment on function ragdb_internal.call_context(text, text, text, text, text) is
  'Returns who asked, as it is recorded with a trace.';

-- The one way into both tables. The caller fills what it knows; identity, time, the hashes and what
-- the corpus lets be kept of the query are decided here.
create or replace function ragdb_internal.record_trace(
  corpus ragdb.corpora, query text, trace ragdb.retrieval_traces, hits ragdb.hit[],
  context ragdb_internal.call_context)
returns uuid
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hits ragdb.retrieval_hits[];
begin
  if length(context.client) > 200 then
    raise exception 'client has % characters', length(context.client)
      using errcode = 'RG413', detail = 'client names the program that asked',
            hint = 'give at most 200 characters';
  end if;
  if context.otel_trace_id !~ '^[0-9a-f]{32}$' or context.otel_span_id !~ '^[0-9a-f]{16}$' then
    raise exception 'otel_trace_id or otel_span_id is not an id of OpenTelemetry'
      using errcode = 'RG400', detail = 'a trace id is 32 lower-case hex digits, a span id is 16',
            hint = 'leave both null when there is no span';
  end if;
  trace.id := ragdb_internal.uuid7(ragdb_internal.now());
  trace.created_at := ragdb_internal.uuid_time(trace.id);
  trace.corpus_id := corpus.corpus_id;
  trace.corpus := corpus.name;
  trace.corpus_version := corpus.version;
  trace.caller := ragdb_internal.caller();
  trace.client := context.client;
  trace.otel_trace_id := context.otel_trace_id;
  trace.otel_span_id := context.otel_span_id;
  trace.retriever := context.retriever;
  trace.rag := context.rag;
  if corpus.record_query_text = 'full' then
    trace.query_text := query;
  end if;
  if corpus.record_query_text <> 'none' then
    trace.query_hash := encode(sha256(ragdb_internal.utf8(query)), 'hex');
  end if;
  v_hits := array(
    select row(trace.corpus_id, trace.id, trace.created_at, h.rank, h.chunk_id,
      decode(h.content_hash, 'hex'), h.score, h.lexical_score, h.semantic_score,
      h.lexical_rank, h.semantic_rank)::ragdb.retrieval_hits
    from unnest(hits) h);
  trace.limit_returned := cardinality(v_hits);
  trace.ranking_hash := ragdb_internal.ranking_hash(corpus);
  trace.result_hash := ragdb_internal.result_hash(v_hits);
  trace.trace_hash := ragdb_internal.trace_hash(trace, v_hits);
  trace.trace_mac := ragdb_internal.trace_mac(trace.trace_hash, (ragdb_internal.signing_key()).secret);
  insert into ragdb.retrieval_traces values (trace.*);
  insert into ragdb.retrieval_hits select h.* from unnest(v_hits) h;
  insert into ragdb.trace_marks values (trace.corpus_id,
    date_trunc('hour', trace.created_at, 'UTC'));
  -- of the session, not the transaction: `select … from retrieve(…); select last_trace_id()` has
  -- two
  perform set_config('ragdb.last_trace_id', trace.id::text, false);
  return trace.id;
end $$;
comment on function ragdb_internal.record_trace(ragdb.corpora, text, ragdb.retrieval_traces,
  ragdb.hit[], ragdb_internal.call_context) is
  'Writes one trace and its hits and returns its id; the corpus is the row that the search saw. '
  'Raises RG400, RG413.';

create or replace function ragdb_internal.note_meaning(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, embedder_id integer, query_embedding real[],
  fusion text, lexical_weight float8, min_lexical float8, min_semantic float8)
returns ragdb.retrieval_traces
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  trace.query_embedding_hash := encode(ragdb_internal.vector_hash(query_embedding), 'hex');
  select e.name into strict trace.embedding_model
    from ragdb.embedders e where e.embedder_id = note_meaning.embedder_id;
  trace.ranking := jsonb_build_object('fusion', fusion, 'lexical_weight', lexical_weight,
    'min_lexical', min_lexical, 'min_semantic', min_semantic);
  -- an embedding tells much of its text: what must not be kept of one is not kept of the other
  if corpus.record_query_text <> 'none' then
    perform ragdb_internal.hold_corpus(corpus.corpus_id);
    perform ragdb_internal.keep_query_embedding(corpus.corpus_id, embedder_id, query_embedding);
  end if;
  return trace;
end $$;
comment on function ragdb_internal.note_meaning(ragdb.retrieval_traces, ragdb.corpora, integer, real[],
  text, float8, float8, float8) is
  'Enters in a trace how a semantic or hybrid search ranked, and keeps the embedding of its query '
  'unless the corpus keeps nothing of queries. Raises RG404.';

-- The search and the corpus row are read by one statement, hence from one snapshot: corpus_version
-- is the version that was searched.
create or replace function ragdb_internal.retrieve_traced(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
    lexical_weight float8 default 0.5,
  min_lexical float8 default 0, min_semantic float8 default 0,
  context ragdb_internal.call_context default null)
returns setof ragdb.traced_hit
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started timestamptz := clock_timestamp();
  v_embedding constant real[] := ragdb_internal.single(query_embedding);
  v_found record;
  v_trace ragdb.retrieval_traces;
begin
  if current_setting('transaction_read_only')::boolean then
    -- the standard code: clients that know it go to the primary
    raise exception 'retrieve records a trace, and this transaction is read-only'
      using errcode = 'read_only_sql_transaction',
            detail = 'the server is a standby, or the transaction or role is set to read-only',
            hint = 'ragdb.search() returns the same hits and records nothing';
  end if;
  -- one statement, one snapshot: what is recorded is what was searched
  select c as corpus, ragdb_internal.space(c.corpus_id, 'current') as space,
      ragdb_internal.search_mode(array[c], retrieve_traced.mode, retrieve_traced.query, v_embedding) as mode, array(
      select h from ragdb.search(corpus => retrieve_traced.corpus, query => retrieve_traced.query,
        k => retrieve_traced.k,
        mode => retrieve_traced.mode, min_score => retrieve_traced.min_score, filter => retrieve_traced.filter,
        chunk_ids => retrieve_traced.chunk_ids, statistics => retrieve_traced.statistics,
        query_embedding => retrieve_traced.query_embedding, fusion => retrieve_traced.fusion,
        lexical_weight => retrieve_traced.lexical_weight, min_lexical => retrieve_traced.min_lexical,
        min_semantic => retrieve_traced.min_semantic) h) as hits
    into strict v_found
    from ragdb_internal.open_corpus(retrieve_traced.corpus, 'read') c;
  v_trace.retrieval_mode := 'global';
  v_trace.rank_mode := v_found.mode;
  if v_found.mode in ('semantic', 'hybrid') then
    v_trace := ragdb_internal.note_meaning(v_trace, v_found.corpus, (v_found.space).embedder_id,
      ragdb_internal.query_vector(v_found.corpus, v_found.space, query, v_embedding),
      fusion, lexical_weight, min_lexical, min_semantic);
  end if;
  v_trace.limit_requested := k;
  v_trace.min_score := min_score;
  v_trace.filters := filter;
  v_trace.chunk_ids := chunk_ids;
  v_trace.statistics := statistics;
  v_trace.is_admissible := false;
  v_trace.admissibility_shortfall := false;
  v_trace.is_exact := coalesce((select bool_and(h.is_exact)
    from unnest(v_found.hits::ragdb.hit[]) h), true);
  v_trace.elapsed_ms := 1000 * extract(epoch from clock_timestamp() - v_started)::float8;
  v_trace.id := ragdb_internal.record_trace(v_found.corpus, query, v_trace, v_found.hits,
    context);
  return query select v_trace.id, h.* from unnest(v_found.hits::ragdb.hit[]) h;
end $$;
comment on function ragdb_internal.retrieve_traced(text, text, integer, text, float8, jsonb, text[],
  text, float8[], text, float8, float8, float8, ragdb_internal.call_context) is
  'Searches and records the trace, with who asked. Raises what ragdb.retrieve raises.';

-- Definer: it writes tables that are granted to nobody.
create or replace function ragdb.retrieve(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
    lexical_weight float8 default 0.5,
  min_lexical float8 default 0, min_semantic float8 default 0,
  client text default null, otel_trace_id text default null, otel_span_id text default null)
returns setof ragdb.traced_hit
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select h.* from ragdb_internal.retrieve_traced(
    retrieve.corpus, retrieve.query, retrieve.k, retrieve.mode, retrieve.min_score, retrieve.filter,
    retrieve.chunk_ids, retrieve.statistics, retrieve.query_embedding, retrieve.fusion,
    retrieve.lexical_weight, retrieve.min_lexical, retrieve.min_semantic,
    ragdb_internal.call_context(client, otel_trace_id, otel_span_id)) h;
end $$;
comment on function ragdb.retrieve(text, text, integer, text, float8, jsonb, text[], text, float8[],
  text, float8, float8, float8, text, text, text) is
  'Returns the hits of ragdb.search with the same arguments, best first, each with the id of the '
  'one trace that is recorded in the same transaction; client (up to 200 characters) names the '
  'program, otel_trace_id and otel_span_id its OpenTelemetry span. Raises what ragdb.search '
  'raises, RG400, RG413, and 25006 where nothing can be written.';
