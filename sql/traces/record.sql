-- Traces: every retrieval leaves one row of retrieval_traces and a row of retrieval_hits per hit.
-- Both tables are partitioned by month (UTC), append-only, and granted to nobody; so are those of
-- rerankings, gates and answers, which share their months.

create type ragdb.traced_hit as (
  trace_id uuid, rank integer, corpus text, chunk_id text, doc_cid text, source text, title text,
  heading text[], page integer, start_offset integer, end_offset integer, text text,
  citation jsonb, score float8, lexical_score float8, semantic_score float8,
  lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8, content_hash text,
  metadata jsonb, mode text, is_exact boolean, context text);
comment on type ragdb.traced_hit is
  'One result of a recorded retrieval: a ragdb.hit after the id of its trace.';

-- Enters in a trace its identity and time, who asked, and of the query what the corpus lets be
-- kept.
create or replace function ragdb_internal.begun_trace(
  corpus ragdb.corpora, query text, trace ragdb.retrieval_traces,
  context ragdb_internal.call_context)
returns ragdb.retrieval_traces
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  trace.id := ragdb_internal.uuid7(ragdb_internal.now());
  trace.created_at := ragdb_internal.uuid_time(trace.id);
  trace.corpus_id := corpus.corpus_id;
  trace.corpus := corpus.name;
  trace.corpus_version := corpus.version;
  trace.caller := ragdb_internal.caller();
  trace.caller_oid := ragdb_internal.caller_oid();
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
  return trace;
end $$;

-- Returns hits as they are stored under a trace, which may be null.
create or replace function ragdb_internal.hit_rows(
  trace ragdb.retrieval_traces, hits ragdb.hit[])
returns ragdb.retrieval_hits[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(trace.corpus_id, trace.id, trace.created_at, h.rank, h.chunk_id,
        decode(h.content_hash, 'hex'), h.score, h.lexical_score, h.semantic_score,
        h.lexical_rank, h.semantic_rank)::ragdb.retrieval_hits
      from unnest(hits) h);
end $$;

-- Writes one trace and its hits and returns its id; the corpus is the row that the search saw. The
-- one way into both tables. The caller fills what it knows; everything else is decided here. Raises
-- RG400, RG413.
create or replace function ragdb_internal.record_trace(
  corpus ragdb.corpora, query text, trace ragdb.retrieval_traces, hits ragdb.hit[],
  context ragdb_internal.call_context)
returns uuid
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key constant ragdb_internal.signer := ragdb_internal.signing_key();
  v_hits ragdb.retrieval_hits[];
begin
  perform ragdb_internal.check_context(context);
  trace := ragdb_internal.begun_trace(corpus, query, trace, context);
  v_hits := ragdb_internal.hit_rows(trace, hits);
  trace.limit_returned := cardinality(v_hits);
  trace.ranking_hash := ragdb_internal.ranking_hash(corpus);
  trace.result_hash := ragdb_internal.result_hash(v_hits);
  trace.trace_hash := ragdb_internal.trace_hash(trace, v_hits);
  trace.trace_mac := ragdb_internal.trace_mac(trace.trace_hash, v_key.secret);
  insert into ragdb.retrieval_traces values (trace.*);
  insert into ragdb.retrieval_hits select h.* from unnest(v_hits) h;
  -- each month begins with partitions that are empty; to look takes 50 us, so one trace in 8 does
  if get_byte(uuid_send(trace.id), 15) < 32 then
    perform ragdb_internal.renew_statistics(array(
      select to_regclass('ragdb.' || ragdb_internal.partition_name(
          p.parent, (trace.created_at at time zone 'UTC')::date))
        from unnest('{retrieval_traces,retrieval_hits}'::text[]) p (parent)));
  end if;
  perform ragdb_internal.note('trace', trace.corpus_id || '/' || trace.id, trace.trace_hash);
  insert into ragdb.trace_marks
    values (trace.corpus_id, date_trunc('hour', trace.created_at, 'UTC'));
  perform set_config('ragdb.last_trace_id', pg_current_xact_id() || ' ' || trace.id, true);
  return trace.id;
end $$;
