-- Corpora: their contents and their retrievals.
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
order by retrievals desc, d.corpus
