-- Dimensions: what facts are about, one row per thing.

-- The chunks that a corpus of parts counts are its parts', so here they would be counted twice.
create or replace view bi.dim_corpus with (security_barrier = true) as
select k.corpus_id::bigint as corpus_id, k.name as corpus, c.is_internal, k.title,
    k.text_config, k.documents, case when k.parts = 0 then k.chunks else 0 end as chunks,
    k.token_count as tokens, k.size_bytes, k.version as corpus_version,
    k.record_query_text, e.name as embedding_model, k.created_at, k.updated_at
from ragdb.corpora k join bi.readable_corpora() c on c.corpus_id = k.corpus_id
  left join ragdb.embedding_spaces s on s.corpus_id = k.corpus_id and s.state = 'current'
  left join ragdb.embedders e on e.embedder_id = s.embedder_id;
comment on view bi.dim_corpus is
  'One row per corpus. What a corpus of parts holds is in the rows of its parts.';

create or replace view bi.dim_source with (security_barrier = true) as
select d.corpus_id || ':' || d.doc_no as source_id, d.corpus_id::bigint as corpus_id, c.corpus,
    d.source, d.doc_cid, d.title, d.language, d.media_type, d.pages, d.chunks, d.tokens,
    d.size_bytes, d.created_at, d.updated_at
from ragdb.documents d join bi.readable_corpora() c on c.corpus_id = d.corpus_id;
comment on view bi.dim_source is 'One row per document of a corpus.';

create or replace view bi.dim_policy with (security_barrier = true) as
select p.policy_id || '@' || p.params_hash as policy_key, p.policy_id,
    p.params_hash as policy_params_hash,
    (p.policy ->> 'max_nodes')::numeric::integer as max_nodes,
    (p.policy ->> 'max_radius')::numeric::integer as max_radius,
    (p.policy ->> 'salience_weight')::float8 as salience_weight,
    (p.policy ->> 'distance_decay')::float8 as distance_decay,
    (p.policy ->> 'include_siblings')::boolean as is_with_siblings,
    (p.policy ->> 'max_siblings_per_node')::numeric::integer as max_siblings_per_node, p.created_at,
    p.created_by
from ragdb.slice_policies p;
comment on view bi.dim_policy is
  'One row per slice policy. Policies that nobody named have the same policy_id: policy_key tells '
  'them apart.';

-- What PostgreSQL itself raises is named by its class, and what people meet by its name: each code
-- that a fact may have is here, because those that happened are looked up.
create or replace view bi.dim_error with (security_barrier = true) as
select e.sqlstate as error_code, e.name as error, e.wire_word, 'ragdb' as error_class, e.meaning,
    true as is_ours
from ragdb.error_codes() e
union all
select h.error_code, coalesce(n.name, 'SQLSTATE ' || h.error_code), null,
    coalesce(k.name, 'other'), coalesce(n.meaning, 'An error of class ' || coalesce(k.name, 'other')
      || ', which PostgreSQL''s documentation names.'), false
from (
    select r.error_code from ragdb.retrieval_rollups r
    union select t.error_code from ragdb.retrieval_traces t
      where t.created_at >= (select pg_catalog.min(m.hour_at) from ragdb.trace_marks m)
    union select x.error_code from ragdb.eval_case_results x) h
  left join (values
    ('0A000', 'feature_not_supported', 'PostgreSQL cannot do what was asked.'),
    ('22023', 'invalid_parameter_value', 'A value is not one that PostgreSQL takes.'),
    ('22P02', 'invalid_text_representation', 'A text is not a value of its type.'),
    ('25006', 'read_only_sql_transaction', 'The transaction cannot write.'),
    ('40001', 'serialization_failure', 'Transactions ran into each other; try again.'),
    ('40P01', 'deadlock_detected', 'Transactions waited for each other; try again.'),
    ('42501', 'insufficient_privilege', 'The role lacks a right.'),
    ('53100', 'disk_full', 'The disk is full.'),
    ('53200', 'out_of_memory', 'The server has no memory left.'),
    ('53300', 'too_many_connections', 'The server has no connection left.'),
    ('55P03', 'lock_not_available', 'A lock was not free in time.'),
    ('57014', 'query_canceled', 'The statement took too long or was cancelled.'),
    ('57P01', 'admin_shutdown', 'The server was shut down.'),
    ('57P03', 'cannot_connect_now', 'The server is starting or stopping.'),
    ('58030', 'io_error', 'The disk or the operating system failed.'),
    ('XX000', 'internal_error', 'PostgreSQL or an extension has a defect.')
  ) n (code, name, meaning) on n.code = h.error_code
  left join (values
    ('08', 'connection'), ('0A', 'feature not supported'), ('22', 'data'),
    ('23', 'integrity constraint'), ('25', 'transaction state'), ('28', 'authorization'),
    ('40', 'transaction rollback'), ('42', 'syntax or access rule'),
    ('53', 'insufficient resources'), ('54', 'limit exceeded'), ('55', 'object not ready'),
    ('57', 'operator intervention'), ('58', 'system'), ('P0', 'PL/pgSQL'), ('XX', 'internal')
  ) k (code, name) on k.code = pg_catalog.left(h.error_code, 2)
where h.error_code is not null
  and not exists (select from ragdb.error_codes() e where e.sqlstate = h.error_code);
comment on view bi.dim_error is
  'One row per error code: those of ragdb, and those of PostgreSQL that happened.';

create or replace view bi.dim_embedding_model with (security_barrier = true) as
select e.name as embedding_model, e.model, e.revision, e.dims, e.metric, e.max_tokens, e.provider,
    e.created_at
from ragdb.embedders e;
comment on view bi.dim_embedding_model is 'One row per embedding model.';

create or replace view bi.dim_eval_run with (security_barrier = true) as
select r.run_id::text as run_id, r.created_at, (r.created_at at time zone 'UTC')::date as day,
    r.corpus_id::bigint as corpus_id, c.corpus, r.contract, r.contract_version, r.rag,
    r.eval, r.retriever, r.rank_mode, r.top_k, r.min_score,
    r.embedding_model, r.label, pg_catalog.array_to_string(r.tags, ',') as tags, r.status,
    r.status = 'passed' as is_passed,
    pg_catalog.row_number() over (
      partition by r.corpus_id, r.rag, r.eval order by r.run_id desc) = 1 as is_latest,
    r.metric, r.metric_value, r.threshold, r.cases, r.passed_cases,
    r.passed_cases::float8 / nullif(r.cases, 0) as passed_cases_ratio, r.assertions,
    r.passed_assertions,
    r.passed_assertions::float8 / nullif(r.assertions, 0) as passed_assertions_ratio,
    r.stale_labels, pg_catalog.array_to_string(r.reasons, '; ') as reasons, r.corpus_version,
    r.elapsed_ms, r.caller, r.reranker
from ragdb.eval_runs r join bi.readable_corpora() c on c.corpus_id = r.corpus_id;
comment on view bi.dim_eval_run is 'One row per evaluation run.';

create or replace view bi.dim_case with (security_barrier = true) as
select x.case_id, x.corpus_id, x.corpus, x.rag, x.eval, x.kind, x.case_name, x.query_text, x.tags,
    x.first_run_at, x.last_run_at, x.runs
from (
  select f.case_id, f.corpus_id, f.corpus, f.rag, f.eval, f.kind, f.case_name, f.query_text,
      f.tags, pg_catalog.min(f.created_at) over every as first_run_at,
      pg_catalog.max(f.created_at) over every as last_run_at,
      pg_catalog.count(*) over every as runs,
      pg_catalog.row_number() over (partition by f.case_id order by f.run_id desc, f.case_no)
        as n
    from bi.fact_case_result f
    window every as (partition by f.case_id)) x
where x.n = 1;
comment on view bi.dim_case is 'One row per case that was ever run, as it last was.';

create or replace view bi.dim_date with (security_barrier = true) as
select d.day_at, (d.day_at at time zone 'UTC')::date as day,
    extract(year from d.day_at at time zone 'UTC')::integer as year,
    extract(quarter from d.day_at at time zone 'UTC')::integer as quarter,
    extract(month from d.day_at at time zone 'UTC')::integer as month,
    extract(day from d.day_at at time zone 'UTC')::integer as day_of_month,
    extract(isoyear from d.day_at at time zone 'UTC')::integer as iso_year,
    extract(week from d.day_at at time zone 'UTC')::integer as iso_week,
    extract(isodow from d.day_at at time zone 'UTC')::integer as iso_weekday,
    extract(isodow from d.day_at at time zone 'UTC') >= 6 as is_weekend
from pg_catalog.generate_series(
    -- nothing is older than its corpus, unless it was counted before the corpus was dropped
    pg_catalog.date_trunc('year', least(pg_catalog.now(),
      (select pg_catalog.min(k.created_at) from ragdb.corpora k),
      (select pg_catalog.min(r.bucket_at) from ragdb.retrieval_rollups r where r.grain = 'day')),
      'UTC'),
    pg_catalog.date_trunc('year', pg_catalog.now(), 'UTC') + interval '24 months'
      - interval '1 day', interval '1 day', 'UTC') d (day_at);
comment on view bi.dim_date is
  'One row per day (UTC) from the year of the first corpus or retrieval to the end of next year.';
