-- Completeness: returned hits per requested hit, and retrievals that skipped nothing.
--   psql -f reports/quality_fill.sql
\ir arguments.psql
select bucket_at as "time", sum(returned_hits)::float8 / nullif(sum(requested_hits), 0) as fill_ratio,
  sum(exact_results)::float8 / nullif(sum(retrievals) - sum(errors), 0) as exact_ratio
from bi.agg_retrieval
where grain = :'grain' and bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
  and corpus in (:corpora)
group by bucket_at order by bucket_at;
