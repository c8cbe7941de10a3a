-- First hits: mean score by rank mode. Scores of different modes are not comparable.
select bucket_at as "time", rank_mode as metric, sum(top_scores) / nullif(sum(scored), 0) as mean_top_score
from :counts
where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
  and corpus in (:corpora)
  and scored > 0
group by bucket_at, rank_mode order by bucket_at, rank_mode
