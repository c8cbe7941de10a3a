-- Errors: failed retrievals by error code.
--   psql -f reports/operations_errors.sql
\ir arguments.psql
select error_code, sum(retrievals) as retrievals, count(distinct corpus) as corpora, max(bucket_at) as last_at
from bi.agg_retrieval
where grain = :'grain' and bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
  and corpus in (:corpora)
  and error_code is not null
group by error_code order by retrievals desc, error_code;
