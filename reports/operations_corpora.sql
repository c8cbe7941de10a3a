-- Corpora: their contents and their retrievals.
--   psql -f reports/operations_corpora.sql
-- Written from tools/panels/operations_corpora.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Corpora: Their contents and their retrievals.'
with r as (
  with counted as (
    select corpus_id, sum(retrievals) as retrievals, sum(errors)::float8 / nullif(sum(retrievals), 0) as error_ratio,
      sum(zero_results)::float8 / nullif(sum(retrievals) - sum(errors), 0) as zero_result_ratio
    from :counts
    where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
      and corpus in (:corpora)
    group by corpus_id)
  select d.corpus, d.documents, d.chunks, d.tokens, d.size_bytes, d.embedding_model, d.updated_at,
    coalesce(c.retrievals, 0) as retrievals, c.error_ratio, c.zero_result_ratio
  from bi.dim_corpus d left join counted c using (corpus_id)
  where d.corpus in (:corpora)
  order by retrievals desc, d.corpus)
select r."corpus" as "corpus",
  r."documents" as "documents",
  r."chunks" as "chunks",
  r."tokens" as "tokens",
  round(r."size_bytes" / 1000.0, 1) as "size kB",
  r."embedding_model" as "embedding model",
  to_char(r."updated_at" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "updated",
  r."retrievals" as "retrievals",
  round((100 * r."error_ratio")::numeric, 1) as "error %",
  round((100 * r."zero_result_ratio")::numeric, 1) as "zero result %",
  bi.bar(r."retrievals"::float8, max(r."retrievals"::float8) over ()) as "▏retrievals"
from r;
