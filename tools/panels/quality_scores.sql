-- Scores: distribution of the scores of first hits.
select to_char(lower_score, 'FM0.00') as score, sum(retrievals) as retrievals
from :top_scores
where bucket_at >= date_trunc(:'grain', :'since'::timestamptz, 'UTC') and bucket_at < :'until'
  and corpus in (:corpora)
group by lower_score order by lower_score
