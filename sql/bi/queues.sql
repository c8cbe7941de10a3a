-- Views of work that waits: documents to be read, chunks to be embedded, and how long what answers
-- a question takes, step by step.

create or replace view bi.fact_ingest_job with (security_barrier = true) as
select j.job_id::text as job_id, j.created_at, (j.created_at at time zone 'UTC')::date as day,
    j.corpus_id::bigint as corpus_id, c.corpus, c.is_internal, j.doc_cid,
    case when j.failed_at is not null then 'failed'
      when j.worker is not null and j.due_at > pg_catalog.clock_timestamp() then 'in_work'
      else 'waiting' end as state,
    j.attempt as attempts, j.failures, j.error as wire_word, j.failed_at,
    extract(epoch from coalesce(j.failed_at, pg_catalog.clock_timestamp()) - j.created_at)::float8
      * 1000 as waited_ms, j.requested_by as caller
from ragdb.ingest_jobs j join bi.readable_corpora() c on c.corpus_id = j.corpus_id;
comment on view bi.fact_ingest_job is
  'One row per document that waits for a worker to read it, or that could not be read. A job that '
  'is done leaves it.';

-- Returns how many chunks of each space wait without a job, of the corpora that the caller sees.
create or replace function bi.unqueued_chunks() returns table (space_id integer, waiting integer)
language sql stable parallel safe security definer
begin atomic
  select s.space_id, ragdb_internal.unqueued(s, null)
  from ragdb.embedding_spaces s join bi.readable_corpora() c on c.corpus_id = s.corpus_id
  where s.state <> 'retired' and not ragdb_internal.is_static(s.embedder_id);
end;
comment on function bi.unqueued_chunks is
  'Returns of each space that workers fill, of the corpora that the caller sees in schema bi, how '
  'many chunks wait for an embedding and have no job yet.';

create or replace view bi.agg_embedding_backlog with (security_barrier = true) as
select s.corpus_id::bigint as corpus_id, c.corpus, c.is_internal, e.name as embedding_model,
    s.state, k.chunks, j.waiting + coalesce(n.waiting, 0) as waiting_chunks,
    j.in_work as in_work_chunks, j.failed as failed_chunks, j.oldest_at,
    extract(epoch from pg_catalog.clock_timestamp() - j.oldest_at)::float8 * 1000 as oldest_ms
from ragdb.embedding_spaces s
  join bi.readable_corpora() c on c.corpus_id = s.corpus_id
  join ragdb.corpora k on k.corpus_id = s.corpus_id
  join ragdb.embedders e on e.embedder_id = s.embedder_id
  left join bi.unqueued_chunks() n on n.space_id = s.space_id
  cross join lateral (
    select
      coalesce(sum(pg_catalog.cardinality(b.chunk_nos)) filter (where not b.is_dead
        and (b.worker is null or b.due_at <= pg_catalog.clock_timestamp())), 0)::bigint as waiting,
      coalesce(sum(pg_catalog.cardinality(b.chunk_nos)) filter (where not b.is_dead
        and b.worker is not null and b.due_at > pg_catalog.clock_timestamp()), 0)::bigint
        as in_work,
      coalesce(sum(pg_catalog.cardinality(b.chunk_nos)) filter (where b.is_dead), 0)::bigint
        as failed,
      pg_catalog.min(b.created_at) filter (where not b.is_dead) as oldest_at
    from ragdb.embedding_jobs b
    where b.corpus_id = s.corpus_id and b.space_id = s.space_id) j
where s.state <> 'retired';
comment on view bi.agg_embedding_backlog is
  'One row per corpus and embedding model that is filled: the chunks that wait for an embedding '
  'now.';

create or replace view bi.fact_stage with (security_barrier = true) as
select t.id::text as trace_id, t.created_at, (t.created_at at time zone 'UTC')::date as day,
    t.corpus_id::bigint as corpus_id, c.corpus, c.is_internal, 'retrieve' as stage,
    null::text as part_of, 1 as attempt, t.elapsed_ms
from ragdb.retrieval_traces t join bi.readable_corpora() c on c.corpus_id = t.corpus_id
where t.error_code is null
union all
select t.id::text, t.created_at, (t.created_at at time zone 'UTC')::date,
    t.corpus_id::bigint, c.corpus, c.is_internal, s.stage, 'retrieve', 1, s.ms::float8
from ragdb.retrieval_traces t join bi.readable_corpora() c on c.corpus_id = t.corpus_id
  cross join lateral pg_catalog.jsonb_each_text(t.stages) s (stage, ms)
union all
select r.trace_id::text, r.recorded_at, (r.recorded_at at time zone 'UTC')::date,
    r.corpus_id::bigint, c.corpus, c.is_internal, 'rerank', null, 1,
    extract(epoch from r.recorded_at - r.created_at)::float8 * 1000
from ragdb.retrieval_reranks r join bi.readable_corpora() c on c.corpus_id = r.corpus_id
where r.rank = 1
union all
select a.trace_id::text, a.created_at, (a.created_at at time zone 'UTC')::date,
    a.corpus_id::bigint, c.corpus, c.is_internal, 'answer', null, a.attempt, a.elapsed_ms
from ragdb.evidence_answers a join bi.readable_corpora() c on c.corpus_id = a.corpus_id
where a.elapsed_ms is not null;
comment on view bi.fact_stage is
  'One row per stage of a question whose time was recorded: retrieve, its parts embed, semantic, '
  'lexical and fuse (part_of says so: leave them out of a sum), rerank (from the trace to the '
  'record of its reranking) and answer, each attempt.';
