-- What BI tools read: facts, dimensions and rollups as plain views. They run as their owner, since
-- nobody may touch the tables, and are security barriers: no condition of a query sees a row that
-- its role may not. Personal corpora are left out for everybody. Dashboards of others rely on the
-- columns: add some, take none away.

-- The one gate, once a query. bi_reader is not a ragdb_reader, who may read documents: it sees how
-- much was asked and found in the corpora that every reader may read, and in those that it was
-- granted. What somebody else asked is shown to auditors: neither its text nor a hash by which a
-- guess of it could be tried.
create or replace function bi.readable_corpora()
returns table (corpus_id integer, corpus text, is_internal boolean, shows_queries boolean,
  sees_all boolean, role text, role_oid oid)
language sql stable parallel safe security definer rows 20
begin atomic
  select c.corpus_id, c.name, c.name = 'system', c.record_query_text = 'full',
      ragdb_internal.is_auditor(),
      ragdb_internal.caller(), ragdb_internal.caller_oid()
    from ragdb.corpora c
    where c.personal_of is null
      and (c.corpus_id in (select r.corpus_id from ragdb_internal.corpora_to_read() r)
        or (select ragdb_internal.is_auditor())
        or (select pg_catalog.pg_has_role(ragdb_internal.caller(), 'bi_reader', 'usage'))
          and not c.is_restricted and not (ragdb_internal.whole_of(c)).is_restricted);
end;
comment on function bi.readable_corpora is
  'Returns the corpora whose retrievals the caller sees in the views of schema bi, whether each is '
  'one of ragdb itself, whether the text of queries may be shown, and whether also of what others '
  'than role asked.';

create or replace view bi.retrieval_traces with (security_barrier = true) as
select t.id::text as id, t.created_at, t.corpus, t.retriever, t.rag, t.retrieval_mode,
    t.rank_mode,
    case when c.shows_queries and o.is_shown then t.query_text end as query_text,
    case when o.is_shown then t.query_hash end as query_hash,
    case when o.is_shown then t.query_embedding_hash end as query_embedding_hash,
    t.embedding_model, t.slice_id, t.anchor_chunk_id, t.slice_chunk_count,
    t.slice_edge_count, t.policy_id, t.policy_params_hash, t.schema_version,
    t.graph_snapshot_hash, t.admissibility_token, t.is_admissible, t.admissibility_shortfall,
    t.shortfall_reason, t.limit_requested, t.limit_returned, t.min_score,
    case when o.is_shown then t.filters::text end as filters,
    case when o.is_shown then t.result_hash end as result_hash, t.corpus_version,
    t.is_exact, t.elapsed_ms, t.error_code, t.client, t.caller, t.otel_trace_id, t.otel_span_id,
    case when o.is_shown then pg_catalog.encode(t.trace_hash, 'hex') end as trace_hash,
    case when o.is_shown then pg_catalog.encode(t.trace_mac, 'hex') end as trace_mac
from ragdb.retrieval_traces t join bi.readable_corpora() c on c.corpus_id = t.corpus_id
  cross join lateral (
    select c.sees_all or t.caller = c.role and t.caller_oid = c.role_oid as is_shown) o;
comment on view bi.retrieval_traces is
  'The table of traces under its own name and with its own columns, for tools that expect it. '
  'bi.fact_retrieval is easier to read.';

create or replace view bi.fact_retrieval with (security_barrier = true) as
select t.id::text as trace_id, t.created_at, (t.created_at at time zone 'UTC')::date as day,
    t.corpus_id::bigint as corpus_id, c.corpus, c.is_internal, t.retriever, t.rag,
    t.retrieval_mode, t.rank_mode,
    case when c.shows_queries and o.is_shown then t.query_text end as query_text,
    case when o.is_shown then t.query_hash end as query_hash,
    t.embedding_model, t.slice_id, t.anchor_chunk_id,
    t.policy_id || '@' || t.policy_params_hash as policy_key, t.is_admissible,
    t.admissibility_shortfall as is_shortfall, t.shortfall_reason,
    t.error_code is not null as is_error, t.error_code,
    t.error_code is null and t.limit_returned = 0 as is_zero_result, t.is_exact,
    t.filters is not null as is_filtered, t.limit_requested as requested_hits,
    t.limit_returned as returned_hits,
    t.limit_returned::float8 / nullif(t.limit_requested, 0) as fill_ratio, t.min_score,
    t.elapsed_ms, t.corpus_version, t.client, t.caller, t.otel_trace_id, t.otel_span_id
from ragdb.retrieval_traces t join bi.readable_corpora() c on c.corpus_id = t.corpus_id
  cross join lateral (
    select c.sees_all or t.caller = c.role and t.caller_oid = c.role_oid as is_shown) o;
comment on view bi.fact_retrieval is 'One row per retrieval, failed ones included.';

create or replace view bi.fact_retrieved_chunk with (security_barrier = true) as
select h.trace_id::text as trace_id, h.created_at, (h.created_at at time zone 'UTC')::date as day,
    h.corpus_id::bigint as corpus_id, c.corpus, c.is_internal, h.rank, h.chunk_id,
    h.corpus_id || ':' || k.doc_no as source_id, k.source, k.page,
    pg_catalog.encode(h.content_hash, 'hex') as content_hash,
    coalesce(k.content_hash = h.content_hash, false) as is_current, h.score, h.lexical_score,
    h.semantic_score, h.lexical_rank, h.semantic_rank, r.model as reranker, r.rank as rerank_rank,
    r.score as rerank_score, coalesce(r.is_returned, true) as is_returned
from ragdb.retrieval_hits h join bi.readable_corpora() c on c.corpus_id = h.corpus_id
  left join ragdb.retrieval_reranks r on r.corpus_id = h.corpus_id and r.trace_id = h.trace_id
    and r.created_at = h.created_at and r.chunk_id = h.chunk_id
  left join ragdb.chunks k on k.corpus_id = h.corpus_id and k.chunk_id = h.chunk_id;
comment on view bi.fact_retrieved_chunk is
  'One row per hit of a retrieval, in the order before reranking; where it was reranked, '
  'is_returned says which hits the caller was given.';
