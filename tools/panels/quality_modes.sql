-- Modes: figures by mode of retrieval.
select retrieval_mode, rank_mode, sum(retrievals) as retrievals,
  sum(zero_results)::float8 / nullif(sum(retrievals) - sum(errors), 0) as zero_result_ratio,
  sum(returned_hits)::float8 / nullif(sum(requested_hits), 0) as fill_ratio,
  sum(top_scores) / nullif(sum(scored), 0) as mean_top_score,
  sum(total_elapsed_ms) / nullif(sum(retrievals) - sum(errors), 0) as mean_elapsed_ms
from :counts
where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
  and corpus in (:corpora)
group by retrieval_mode, rank_mode order by retrievals desc, retrieval_mode, rank_mode
