-- Jobs of embed.text: a worker claims them, embeds the texts, and answers with embeddings.

-- Fails the requests that have killed five workers, forgets what was answered or failed a day ago,
-- and makes those due that were made or claimed while the clock was ahead.
create or replace function ragdb_internal.drop_hopeless_embeds() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from ragdb.embed_jobs j
    where j.texts is null
      and coalesce(j.failed_at, j.due_at) < clock_timestamp() - interval '1 day';
  with fatal as materialized (
    select j.job_id from ragdb.embed_jobs j
    where j.texts is not null and j.due_at <= clock_timestamp() and j.attempt >= j.failures + 5
    for update skip locked
  )
  update ragdb.embed_jobs j
    set failed_at = clock_timestamp(), texts = null, worker = null,
      message = 'five workers died or lost their lease on it'
    from fatal f where j.job_id = f.job_id;
  with late as materialized (
    select j.job_id from ragdb.embed_jobs j
    where j.texts is not null and j.due_at > ragdb_internal.latest_due()
    for update skip locked
  )
  update ragdb.embed_jobs j set due_at = clock_timestamp() from late l where j.job_id = l.job_id;
end $$;

create or replace function ragdb.claim_embed_jobs(
  worker text, count integer default 1, lease interval default '120 seconds',
  only_embedder text default null)
returns table (job_id uuid, attempt integer, embedder text, texts text[])
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform ragdb_internal.check_worker(worker, lease);
  perform ragdb_internal.check_listed(count, 'requests', 100);
  -- what a worker answers is believed by everyone who asks
  if ragdb_internal.trust() not in ('trusted', 'anchor') then
    return;
  end if;
  perform ragdb_internal.drop_hopeless_embeds();
  return query
    with due as materialized (
      select j.job_id, e.name
      from ragdb.embed_jobs j join ragdb.embedders e on e.embedder_id = j.embedder_id
      where j.texts is not null and j.due_at <= clock_timestamp() and e.provider is not null
        and e.name = coalesce(only_embedder, e.name)
      order by j.due_at limit claim_embed_jobs.count
      for update of j skip locked
    )
    update ragdb.embed_jobs j
    set attempt = j.attempt + 1, worker = claim_embed_jobs.worker,
      due_at = clock_timestamp() + claim_embed_jobs.lease
    from due d where j.job_id = d.job_id
    returning j.job_id, j.attempt, d.name, j.texts;
end $$;
comment on function ragdb.claim_embed_jobs is
  'Claims up to count (1 to 100) requests of ragdb.embed_text that wait, for the time of the lease '
  '(1 s to 1 day); none for a caller without ragdb_writer. Commit before embedding; answer with '
  'ragdb.complete_embed_job() or ragdb.fail_embed_job(). Raises RG400.';

create or replace function ragdb.complete_embed_job(job_id uuid, attempt integer, embeddings real[])
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.embed_jobs := ragdb_internal.embed_job(job_id, attempt);
  v_embedder ragdb.embedders;
begin
  select e.* into strict v_embedder from ragdb.embedders e where e.embedder_id = v_job.embedder_id;
  perform ragdb_internal.check_embeddings(complete_embed_job.embeddings, v_embedder.dims,
    v_embedder.metric,
    array(select 'text ' || n from generate_series(1, cardinality(v_job.texts)) n));
  update ragdb.embed_jobs j
    set embeddings = complete_embed_job.embeddings, texts = null, worker = null, message = null,
      due_at = clock_timestamp()
    where j.job_id = v_job.job_id;
end $$;
comment on function ragdb.complete_embed_job is
  'Stores the embeddings of a claimed request, one behind the other in the order of its texts. '
  'Raises RG418, RG453.';

create or replace function ragdb.fail_embed_job(
  job_id uuid, attempt integer, message text, is_final boolean default false)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.embed_jobs := ragdb_internal.embed_job(job_id, attempt);
  v_is_final constant boolean := is_final or v_job.failures >= 4;
begin
  if message is null or is_final is null then
    raise exception 'message or is_final is null'
      using errcode = 'RG400', detail = 'the caller is told why',
        hint = 'pass the error of the model';
  end if;
  update ragdb.embed_jobs j
    set worker = null, failures = j.failures + 1, message = left(fail_embed_job.message, 1000),
      failed_at = case when v_is_final then clock_timestamp() end,
      texts = case when not v_is_final then j.texts end,
      due_at = clock_timestamp() + make_interval(secs => 2 ^ (j.failures + 1)) * (0.5 + random())
    where j.job_id = v_job.job_id;
end $$;
comment on function ragdb.fail_embed_job is
  'Gives a claimed request back after a failure, to be tried again after a back-off, five times in '
  'all, or ends it. Raises RG400, RG453.';
