-- Sessions show fewer digits where they are told to.
create or replace function bi.as_json(score float8) returns json
language sql immutable parallel safe
set extra_float_digits = 1
return pg_catalog.to_json(score);
comment on function bi.as_json is
  'Returns a score as JSON, whatever digits a session shows.';

-- Attributes as OpenTelemetry's conventions for generative AI (in development) and OpenInference
-- name them. The query and the documents are opt-in there: here the corpus decides about the query,
-- and whoever selects the column about both.
create or replace view bi.traces_otel with (security_barrier = true) as
select t.otel_trace_id as trace_id, t.otel_span_id as span_id, 'retrieval ' || c.corpus as name,
    t.created_at - t.elapsed_ms * interval '1 millisecond' as start_at, t.created_at as end_at,
    t.elapsed_ms,
    case when t.error_code is null then 'OK' else 'ERROR' end as status_code,
    'retrieval' as "gen_ai.operation.name", c.corpus as "gen_ai.data_source.id",
    t.limit_requested as "gen_ai.request.top_k", t.embedding_model as "gen_ai.request.model",
    case when c.shows_queries and o.is_shown then t.query_text end as "gen_ai.retrieval.query.text",
    (select pg_catalog.json_agg(pg_catalog.json_build_object(
          'id', h.chunk_id, 'score', bi.as_json(h.score)) order by h.rank)::text
      from ragdb.retrieval_hits h
      where h.corpus_id = t.corpus_id and h.trace_id = t.id and h.created_at = t.created_at)
      as "gen_ai.retrieval.documents",
    t.error_code as "error.type", 'postgresql' as "db.system.name",
    'RETRIEVER' as "openinference.span.kind",
    case when c.shows_queries and o.is_shown then t.query_text end as "input.value",
    (select pg_catalog.json_agg(pg_catalog.json_build_object(
          'document.id', h.chunk_id, 'document.score', bi.as_json(h.score)) order by h.rank)::text
      from ragdb.retrieval_hits h
      where h.corpus_id = t.corpus_id and h.trace_id = t.id and h.created_at = t.created_at)
      as "retrieval.documents",
    t.embedding_model as "embedding.model_name", t.error_code as "exception.type",
    t.id::text as "ragdb.trace.id", t.retrieval_mode as "ragdb.retrieval.mode",
    t.rank_mode as "ragdb.rank.mode", t.slice_id as "ragdb.slice.id",
    t.policy_id as "ragdb.policy.id", t.is_admissible as "ragdb.is_admissible",
    case when o.is_shown then t.result_hash end as "ragdb.result.hash",
    t.client as "ragdb.client"
from ragdb.retrieval_traces t join bi.readable_corpora() c on c.corpus_id = t.corpus_id
  cross join lateral (
    select c.sees_all or t.caller = c.role and t.caller_oid = c.role_oid as is_shown) o;
comment on view bi.traces_otel is
  'One row per retrieval with the attributes of an OpenTelemetry span for generative AI and of '
  'OpenInference; trace_id and span_id are null for a call that named none.';
comment on column bi.traces_otel."gen_ai.operation.name" is 'Always retrieval.';
comment on column bi.traces_otel."gen_ai.data_source.id" is 'Name of the corpus.';
comment on column bi.traces_otel."gen_ai.request.top_k" is 'Hits asked for.';
comment on column bi.traces_otel."gen_ai.request.model" is
  'Embedding model of the query; null without one.';
comment on column bi.traces_otel."gen_ai.retrieval.query.text" is
  'The query; null unless the corpus keeps the text of queries.';
comment on column bi.traces_otel."gen_ai.retrieval.documents" is
  'The hits as a JSON list of id and score; read only where it is selected.';
comment on column bi.traces_otel."error.type" is 'SQLSTATE of a failed retrieval.';
comment on column bi.traces_otel."db.system.name" is 'Always postgresql.';
comment on column bi.traces_otel."openinference.span.kind" is 'Always RETRIEVER.';
comment on column bi.traces_otel."input.value" is
  'The query; null unless the corpus keeps the text of queries.';
comment on column bi.traces_otel."retrieval.documents" is
  'The hits as a JSON list of document.id and document.score; read only where it is selected.';
comment on column bi.traces_otel."embedding.model_name" is
  'Embedding model of the query; null without one.';
comment on column bi.traces_otel."exception.type" is 'SQLSTATE of a failed retrieval.';
comment on column bi.traces_otel."ragdb.trace.id" is
  'The retrieval: joins fact_retrieval on its trace_id.';
comment on column bi.traces_otel."ragdb.retrieval.mode" is 'slice or global.';
comment on column bi.traces_otel."ragdb.rank.mode" is 'How hits were ranked.';
comment on column bi.traces_otel."ragdb.slice.id" is
  'Slice that admitted the chunks; null in global mode.';
comment on column bi.traces_otel."ragdb.policy.id" is 'Policy of the slice; null in global mode.';
comment on column bi.traces_otel."ragdb.is_admissible" is 'Whether the hits may serve as evidence.';
comment on column bi.traces_otel."ragdb.result.hash" is
  'Sha256 (hex) of what the caller was given.';
comment on column bi.traces_otel."ragdb.client" is 'Program that asked, as it named itself.';
