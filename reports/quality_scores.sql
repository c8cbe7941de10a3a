-- Scores: distribution of the scores of first hits.
--   psql -f reports/quality_scores.sql
-- Written from tools/panels/quality_scores.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Scores: Distribution of the scores of first hits.'
with r as (
  select to_char(lower_score, 'FM0.00') as score, sum(retrievals) as retrievals
  from :top_scores
  where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora)
  group by lower_score order by lower_score)
select r."score" as "score",
  r."retrievals" as "retrievals",
  bi.bar(r."retrievals"::float8, max(r."retrievals"::float8) over ()) as "▏retrievals"
from r;
