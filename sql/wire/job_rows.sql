-- The jobs of workers: one under the number of its last claim, and what has become of any.

-- Says that a worker does not have a job under the number that it gave. Raises RG453.
create or replace function ragdb_internal.refuse_job(job_id uuid) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'job % is not this worker''s', coalesce(job_id::text, 'null')
    using errcode = 'RG453', detail = 'it is done, failed, or claimed again since',
      hint = 'nothing is lost: whoever has it now answers';
end $$;

-- Locks and returns an ingest job under the number of its last claim. Raises RG453.
create or replace function ragdb_internal.ingest_job(job_id uuid, attempt integer)
  returns ragdb.ingest_jobs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.ingest_jobs;
begin
  select j.* into v_job from ragdb.ingest_jobs j join ragdb.corpora c on c.corpus_id = j.corpus_id
    where j.job_id = ingest_job.job_id and j.attempt = ingest_job.attempt and j.failed_at is null
      and ragdb_internal.privilege(c) >= 2
    for update of j;
  if not found then
    perform ragdb_internal.refuse_job(ingest_job.job_id);
  end if;
  return v_job;
end $$;

-- Locks and returns an embed job under the number of its last claim. Raises RG453.
create or replace function ragdb_internal.embed_job(job_id uuid, attempt integer)
  returns ragdb.embed_jobs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.embed_jobs;
begin
  select j.* into v_job from ragdb.embed_jobs j
    where j.job_id = embed_job.job_id and j.attempt = embed_job.attempt and j.texts is not null
      and ragdb_internal.trust() in ('trusted', 'anchor')
    for update;
  if not found then
    perform ragdb_internal.refuse_job(embed_job.job_id);
  end if;
  return v_job;
end $$;

create or replace function ragdb.job_state(job_id uuid)
returns table (
  capability text, corpus text, state text, error text, message text, hint text,
  created_at timestamptz)
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    select 'rag.ingest@1.0', c.name, case when j.failed_at is not null then 'failed'
        when j.worker is not null and j.due_at > clock_timestamp() then 'in_work'
        else 'waiting' end,
      j.error, j.message, j.hint, j.created_at
    from ragdb.ingest_jobs j join ragdb.corpora c on c.corpus_id = j.corpus_id
    where j.job_id = job_state.job_id
      and ragdb_internal.privilege(c) > 0
    union all
    select 'embed.text@1.0', null, case when j.failed_at is not null then 'failed'
        when j.embeddings is not null then 'done'
        when j.worker is not null and j.due_at > clock_timestamp() then 'in_work'
        else 'waiting' end,
      case when j.failed_at is not null then 'bad_request' end, j.message, null, j.created_at
    from ragdb.embed_jobs j
    where j.job_id = job_state.job_id
      and (ragdb_internal.is_caller(j.requested_by, j.requested_by_oid)
        or ragdb_internal.trust() in ('trusted', 'anchor'))
    union all
    select 'rag.query@1.0', c.name,
      case when q.attempt > 0 and q.last_error is null then 'in_work' else 'waiting' end,
      null, q.last_error, null, null::timestamptz
    from ragdb.embedded_queries q join ragdb.corpora c on c.corpus_id = q.corpus_id
    where q.embedding_hash is null
      and ragdb_internal.privilege(c) > 0
      and ragdb_internal.query_job(q.corpus_id, q.embedder_id, q.query_hash) = job_state.job_id
    limit 1;
  if not found then
    raise exception 'no job %', coalesce(job_state.job_id::text, 'null')
      using errcode = 'RG453', detail = 'it is done, or was never the caller''s to see',
        hint = 'repeat the request: it answers with the result';
  end if;
end $$;
comment on function ragdb.job_state is
  'Returns what has become of the job of a partition answer: waiting, in_work, failed (with the '
  'error), or done for texts; any other job that is done is gone. Raises RG453.';
