-- Attributes as OpenTelemetry's conventions for generative AI (in development) and OpenInference
-- name them. The query and the documents are opt-in there: here the corpus decides about the query,
-- and whoever selects the column about both.
create or replace view bi.traces_otel with (security_barrier = true) as
select t.otel_trace_id as trace_id, t.otel_span_id as span_id, 'retrieval ' || c.corpus as name,
  t.created_at - t.elapsed_ms * interval '1 millisecond' as start_at, t.created_at as end_at,
    t.elapsed_ms,
  case when t.error_code is null then 'OK' else 'ERROR' end as status_code,
  'retrieval' as "gen_ai.operation.name", c.corpus as "gen_ai.data_source.id",
    t.limit_requested as "gen_ai.request.top_k",
  t.embedding_model as "gen_ai.request.model",
  case when c.shows_queries then t.query_text end as "gen_ai.retrieval.query.text",
  (select pg_catalog.json_agg(pg_catalog.json_build_object('id', h.chunk_id, 'score', h.score)
    order by h.rank)::text
    from ragdb.retrieval_hits h
    where h.corpus_id = t.corpus_id and h.trace_id = t.id and h.created_at = t.created_at)
      as "gen_ai.retrieval.documents",
  t.error_code as "error.type", 'postgresql' as "db.system.name",
  'RETRIEVER' as "openinference.span.kind",
    case when c.shows_queries then t.query_text end as "input.value",
  (select pg_catalog.json_agg(pg_catalog.json_build_object('document.id', h.chunk_id,
    'document.score', h.score) order by h.rank)::text
    from ragdb.retrieval_hits h
    where h.corpus_id = t.corpus_id and h.trace_id = t.id and h.created_at = t.created_at)
      as "retrieval.documents",
  t.embedding_model as "embedding.model_name", t.error_code as "exception.type",
  t.id::text as "ragdb.trace.id", t.retrieval_mode as "ragdb.retrieval.mode",
    t.rank_mode as "ragdb.rank.mode",
  t.slice_id as "ragdb.slice.id", t.policy_id as "ragdb.policy.id",
    t.is_admissible as "ragdb.is_admissible",
  t.result_hash as "ragdb.result.hash", t.client as "ragdb.client"
from ragdb.retrieval_traces t join bi.readable_corpora() c on c.corpus_id = t.corpus_id;
comment on view bi.traces_otel is
  'One row per retrieval with the attributes of an OpenTelemetry span for generative AI and of '
  'OpenInference; trace_id and span_id are null for a call that named none.';
