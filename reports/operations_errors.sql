-- Errors: failed retrievals by error.
--   psql -f reports/operations_errors.sql
-- Written from tools/panels/operations_errors.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Errors: Failed retrievals by error.'
with r as (
  select error_code, max(e.error) as error, sum(retrievals) as retrievals, count(distinct corpus) as corpora,
    max(bucket_at) as last_at, max(e.meaning) as meaning
  from :counts left join bi.dim_error e using (error_code)
  where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora)
    and error_code is not null
  group by error_code order by retrievals desc, error_code)
select r."error_code" as "error code",
  r."error" as "error",
  r."retrievals" as "retrievals",
  r."corpora" as "corpora",
  to_char(r."last_at" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "last",
  r."meaning" as "meaning",
  bi.bar(r."retrievals"::float8, max(r."retrievals"::float8) over ()) as "▏retrievals"
from r;
