-- Embedding: chunks that wait for an embedding now.
--   psql -f reports/operations_backlog.sql
-- Written from tools/panels/operations_backlog.sql by `make dashboards`.
\ir arguments.psql
\pset title 'Embedding: Chunks that wait for an embedding now.'
with r as (
  select corpus, embedding_model, state, chunks, waiting_chunks, in_work_chunks, failed_chunks, oldest_at
  from bi.agg_embedding_backlog
  where corpus in (:corpora)
  order by waiting_chunks + failed_chunks desc, corpus, embedding_model)
select r."corpus" as "corpus",
  r."embedding_model" as "embedding model",
  r."state" as "state",
  r."chunks" as "chunks",
  r."waiting_chunks" as "waiting chunks",
  r."in_work_chunks" as "in work chunks",
  r."failed_chunks" as "failed chunks",
  to_char(r."oldest_at" at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as "oldest",
  bi.bar(r."waiting_chunks"::float8, max(r."waiting_chunks"::float8) over ()) as "▏waiting chunks"
from r;
