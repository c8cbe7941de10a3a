-- First hits: mean score by rank mode. Scores of different modes are not comparable.
--   psql -f reports/quality_top_score.sql
-- Written from tools/panels/quality_top_score.sql by `make dashboards`.
\ir arguments.psql
\pset title 'First hits: Mean score by rank mode. Scores of different modes are not comparable.'
with r as (
  select bucket_at as "time", rank_mode as metric, sum(top_scores) / nullif(sum(scored), 0) as mean_top_score
  from :counts
  where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora)
    and scored > 0
  group by bucket_at, rank_mode order by bucket_at, rank_mode)
select to_char(r."time" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "time",
  r."metric" as "metric",
  round(r."mean_top_score"::numeric, 3) as "mean top score",
  bi.bar(r."mean_top_score"::float8, max(r."mean_top_score"::float8) over ()) as "▏mean top score"
from r;
\pset title
with r as (
  select bucket_at as "time", rank_mode as metric, sum(top_scores) / nullif(sum(scored), 0) as mean_top_score
  from :counts
  where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
    and corpus in (:corpora)
    and scored > 0
  group by bucket_at, rank_mode order by bucket_at, rank_mode)
select r.metric, bi.sparkline(array_agg(r."mean_top_score"::float8 order by r."time")) as "mean top score" from r group by r.metric order by r.metric;
