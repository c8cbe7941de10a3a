-- Ingest: documents that wait to be read or could not be read.
select corpus, state, coalesce(wire_word, 'none') as failure, count(*) as documents, min(created_at) as oldest_at,
  max(waited_ms) as longest_ms
from bi.fact_ingest_job
where corpus in (:corpora)
group by corpus, state, wire_word order by documents desc, corpus, state
