-- Ingest: documents that wait to be read or could not be read.
--   psql -f reports/operations_ingest.sql
-- Written from tools/panels/operations_ingest.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Ingest: Documents that wait to be read or could not be read.'
with r as (
  select corpus, state, coalesce(wire_word, 'none') as failure, count(*) as documents, min(created_at) as oldest_at,
    max(waited_ms) as longest_ms
  from bi.fact_ingest_job
  where corpus in (:corpora)
  group by corpus, state, wire_word order by documents desc, corpus, state)
select r."corpus" as "corpus",
  r."state" as "state",
  r."failure" as "failure",
  r."documents" as "documents",
  to_char(r."oldest_at" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "oldest",
  round(r."longest_ms"::numeric, 1) as "longest ms",
  bi.bar(r."documents"::float8, max(r."documents"::float8) over ()) as "▏documents"
from r;
