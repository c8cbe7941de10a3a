-- ragdb.retrieve: a search whose trace is recorded in the same transaction.

-- Returns how a search of one corpus, or of its parts, ranks. Raises what ragdb.search raises.
create or replace function ragdb_internal.basis_of_search(
  corpora ragdb.corpora[], asked ragdb_internal.search_arguments)
returns ragdb_internal.search_basis
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started constant timestamptz := clock_timestamp();
  v_request ragdb_internal.search_request;
  v_space ragdb.embedding_spaces;
  v_basis ragdb_internal.search_basis;
begin
  v_request.query := asked.query;
  v_request.mode := asked.mode;
  v_request.query_embedding := ragdb_internal.single(asked.query_embedding);
  v_request := ragdb_internal.with_mode(corpora, v_request);
  perform ragdb_internal.note_stage('embed', v_started) where v_request.is_fit;
  v_basis.mode := v_request.mode;
  if ragdb_internal.uses_embeddings(v_basis.mode) then
    v_space := ragdb_internal.current_space(corpora[1]);
    v_basis.query_embedding := ragdb_internal.query_vector(
      corpora[1], v_space, asked.query, v_request.query_embedding, v_request.is_fit);
    v_basis.embedder_id := v_space.embedder_id;
  end if;
  return v_basis;
end $$;

-- What a retrieval from a corpus read: the corpus, how it ranked and what it found.
create type ragdb_internal.corpus_finding as (
  corpus ragdb.corpora, basis ragdb_internal.search_basis, hits ragdb.hit[]);

-- Reads all that a retrieval from a corpus returns and records. Stable, hence one snapshot:
-- corpus_version is the version that was searched. Raises what ragdb.search raises.
create or replace function ragdb_internal.find_in_corpus(
  corpus text, asked ragdb_internal.search_arguments)
returns ragdb_internal.corpus_finding
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(find_in_corpus.corpus, 'read', true);
  v_basis constant ragdb_internal.search_basis := ragdb_internal.basis_of_search(
    case when v_corpus.parts > 0
      then ragdb_internal.with_chunks(ragdb_internal.open_parts(v_corpus))
      else array[v_corpus] end, asked);
  v_hits ragdb.hit[];
begin
  asked.mode := v_basis.mode;
  asked.query_embedding := v_basis.query_embedding;
  -- in an assignment, which is never a parallel plan: in one no stage can be noted
  v_hits := array(select h from ragdb_internal.search_as(find_in_corpus.corpus, asked) h);
  return row(v_corpus, v_basis, v_hits)::ragdb_internal.corpus_finding;
end $$;

-- Searches and records the trace, with who asked. Raises what ragdb.retrieve raises.
create or replace function ragdb_internal.retrieve_traced(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
  lexical_weight float8 default null, min_lexical float8 default 0, min_semantic float8 default 0,
  syntax text default 'plain', per_document integer default null, collapse boolean default false,
  diversity float8 default 0, context integer default 0, section boolean default false,
  typos boolean default true,
  asker ragdb_internal.call_context default null)
returns setof ragdb.traced_hit
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started constant timestamptz := clock_timestamp();
  v_asked constant ragdb_internal.search_arguments := row(
    query, k, mode, min_score, filter, chunk_ids, statistics, query_embedding, fusion,
    lexical_weight, min_lexical, min_semantic,
    row(syntax, per_document, collapse, diversity, context, section, typos)
      ::ragdb_internal.search_options);
  v_found ragdb_internal.corpus_finding;
  v_trace ragdb.retrieval_traces;
begin
  perform ragdb_internal.check_recordable('retrieve records a trace',
    'ragdb.search() returns the same hits and records nothing; ragdb.ask(record => false), or '
    'ragdb ask --no-record, answers from them');
  perform ragdb_internal.ask_for_stages();
  v_found := ragdb_internal.find_in_corpus(corpus, v_asked);
  v_trace.stages := ragdb_internal.noted_stages();
  v_trace := ragdb_internal.note_search(
    v_trace, v_found.corpus, v_found.basis, v_asked, v_found.hits);
  v_trace.retrieval_mode := 'global';
  v_trace.is_admissible := false;
  v_trace.admissibility_shortfall := false;
  v_trace.elapsed_ms := ragdb_internal.ms_since(v_started);
  v_trace.id := ragdb_internal.record_trace(
    v_found.corpus, query, v_trace, v_found.hits, asker);
  return query select v_trace.id, h.* from unnest(v_found.hits) h;
end $$;

-- Definer: it writes tables that are granted to nobody.
create or replace function ragdb.retrieve(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
  lexical_weight float8 default null, min_lexical float8 default 0, min_semantic float8 default 0,
  syntax text default 'plain', per_document integer default null, collapse boolean default false,
  diversity float8 default 0, context integer default 0, section boolean default false,
  typos boolean default true,
  client text default null, otel_trace_id text default null, otel_span_id text default null)
returns setof ragdb.traced_hit
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select h.* from ragdb_internal.retrieve_traced(
    corpus, query, k, mode, min_score, filter, chunk_ids, statistics, query_embedding, fusion,
    lexical_weight, min_lexical, min_semantic, syntax, per_document, collapse,
    diversity, context, section, typos,
    ragdb_internal.call_context(client, otel_trace_id, otel_span_id)) h;
end $$;
comment on function ragdb.retrieve is
  'Returns the hits of ragdb.search with the same arguments, best first, each with the id of the '
  'one trace that is recorded in the same transaction; client (up to 200 characters) names the '
  'program, otel_trace_id and otel_span_id its OpenTelemetry span. Raises what ragdb.search '
  'raises, RG400, RG413, and 25006 where nothing can be written.';

-- Returns a hit of a recorded retrieval without its trace.
create or replace function ragdb_internal.plain_hit(hit ragdb.traced_hit) returns ragdb.hit
language sql immutable parallel safe
return row((hit).rank, (hit).corpus, (hit).chunk_id, (hit).doc_cid, (hit).source, (hit).title,
  (hit).heading, (hit).page, (hit).start_offset, (hit).end_offset, (hit).text, (hit).citation,
  (hit).score, (hit).lexical_score, (hit).semantic_score, (hit).lexical_rank, (hit).semantic_rank,
  (hit).bm25, (hit).coverage, (hit).content_hash, (hit).metadata, (hit).mode,
  (hit).is_exact, (hit).context)::ragdb.hit;
