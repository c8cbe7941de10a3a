-- Embedding: chunks that wait for an embedding now.
select corpus, embedding_model, state, chunks, waiting_chunks, in_work_chunks, failed_chunks, oldest_at
from bi.agg_embedding_backlog
where corpus in (:corpora)
order by waiting_chunks + failed_chunks desc, corpus, embedding_model
