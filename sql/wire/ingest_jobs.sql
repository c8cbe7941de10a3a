-- Jobs of rag.ingest: a worker claims them, reads the blobs, and answers with documents.

-- Fails the jobs whose blob is gone or has killed five workers, forgets what failed a day ago, and
-- makes those due that were queued or claimed while the clock was ahead.
create or replace function ragdb_internal.drop_hopeless_ingests() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from ragdb.ingest_jobs j where j.failed_at < clock_timestamp() - interval '1 day';
  -- a blob that kills five workers is to blame, and one that is gone comes no more
  with hopeless as materialized (
    select j.job_id, b.cid is null as is_gone
    from ragdb.ingest_jobs j
      left join lateral (select o.cid from ragdb.blobs o where o.cid = j.doc_cid offset 0) b
        on true
    where j.failed_at is null and j.due_at <= clock_timestamp()
      and (b.cid is null or j.attempt >= j.failures + 5)
    for update of j skip locked
  )
  update ragdb.ingest_jobs j
    set failed_at = clock_timestamp(), worker = null,
      error = case when h.is_gone then 'not_found' else 'internal_error' end,
      message = case when h.is_gone then 'the blob is gone'
        else 'five workers died or lost their lease on it' end,
      hint = case when h.is_gone then 'put the bytes again: ragdb.put_blob()' end
    from hopeless h where j.job_id = h.job_id;
  with late as materialized (
    select j.job_id from ragdb.ingest_jobs j
    where j.failed_at is null and j.due_at > ragdb_internal.latest_due()
    for update skip locked
  )
  update ragdb.ingest_jobs j set due_at = clock_timestamp()
    from late l where j.job_id = l.job_id;
end $$;

create or replace function ragdb.claim_ingest_jobs(
  worker text, count integer default 1, lease interval default '600 seconds',
  only_corpus text default null, except_corpora text[] default '{}')
returns table (
  job_id uuid, attempt integer, corpus text, doc_cid text, source text, media_type text,
  bytes bytea, title text, language text, metadata jsonb, max_tokens integer, overlap integer)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
-- in the order of the index: whether a worker may have a job costs more than the planner believes,
-- and would be asked of all that wait
set enable_sort = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_only integer;
begin
  perform ragdb_internal.check_worker(worker, lease),
    ragdb_internal.check_listed(count, 'blobs', 100),
    ragdb_internal.check_excepted(except_corpora, 'corpora', 'blobs');
  if only_corpus is not null then
    v_only := (ragdb_internal.open_corpus(only_corpus, 'write')).corpus_id;
  end if;
  perform ragdb_internal.drop_hopeless_ingests();
  return query
    with due as materialized (
      select j.job_id, c.name as corpus, ragdb_internal.space(j.corpus_id, 'current') as space
      from ragdb.ingest_jobs j join ragdb.corpora c on c.corpus_id = j.corpus_id
      where j.failed_at is null and j.due_at <= clock_timestamp()
        and j.corpus_id = coalesce(v_only, j.corpus_id) and c.name <> all (except_corpora)
        and ragdb_internal.privilege(c) >= 2
        and (ragdb_internal.unbound_embedder(j.corpus_id)).name is null
      order by j.due_at limit claim_ingest_jobs.count
      for update of j skip locked
    )
    update ragdb.ingest_jobs j
    set attempt = j.attempt + 1, worker = claim_ingest_jobs.worker,
      due_at = clock_timestamp() + claim_ingest_jobs.lease
    from due d join ragdb.blobs b on true
    where j.job_id = d.job_id and b.cid = j.doc_cid
    returning j.job_id, j.attempt, d.corpus, j.doc_cid, j.source, j.media_type, b.bytes, j.title,
      j.language, j.metadata, case when (d.space).space_id is null then 1000 else 240 end,
      case when (d.space).space_id is null then 200 else 48 end;
end $$;
comment on function ragdb.claim_ingest_jobs is
  'Claims up to count (1 to 100) blobs that wait to be read, for the time of the lease (1 s to 1 '
  'day), of one or all corpora that the caller may write but some, with the chunking they shall '
  'get: 1000 tokens and 200 overlap, or 240 and 48 where the corpus has embeddings. Commit before '
  'reading; answer with ragdb.complete_ingest_job() or ragdb.fail_ingest_job(). Raises RG400, '
  'RG401, RG404.';

-- Stores a document or, where it has messages, a conversation. Raises what ragdb.put_documents()
-- and ragdb.put_conversations() raise.
create or replace function ragdb_internal.put_either(corpus text, document jsonb)
returns setof ragdb.put_result
language plpgsql rows 1
set search_path = pg_catalog, pg_temp
as $$
begin
  if document ? 'messages' then
    return query select * from ragdb.put_conversations(corpus, jsonb_build_array(document));
  else
    return query select * from ragdb.put_documents(corpus, jsonb_build_array(document));
  end if;
end $$;

create or replace function ragdb.complete_ingest_job(job_id uuid, attempt integer, document jsonb)
returns setof ragdb.put_result
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.ingest_jobs := ragdb_internal.ingest_job(job_id, attempt);
  v_corpus ragdb.corpora;
  v_result ragdb.put_result;
begin
  if document ->> 'doc_cid' is distinct from v_job.doc_cid then
    raise exception 'the document is not the one that was claimed'
      using errcode = 'RG412',
        detail = 'its doc_cid is ' || ragdb_internal.quote(document ->> 'doc_cid'),
        hint = 'the doc_cid of a document is that of its bytes';
  end if;
  select c.* into strict v_corpus from ragdb.corpora c where c.corpus_id = v_job.corpus_id;
  select p.* into strict v_result from ragdb_internal.put_either(v_corpus.name, document) p;
  perform ragdb_internal.check_chunk_quota(v_corpus, c.chunks - v_corpus.chunks,
      v_job.requested_by, v_job.requested_by_oid)
    from ragdb.corpora c where c.corpus_id = v_job.corpus_id and not v_result.was_duplicate;
  -- who asked had brought the bytes, or could read them
  perform ragdb_internal.bring_original(row(v_job.corpus_id, b.cid, v_job.media_type,
      v_job.requested_by, ragdb_internal.now())::ragdb.corpus_blobs)
    from ragdb.blobs b where b.cid = v_job.doc_cid;
  -- who asked is the author, not who read the file
  update ragdb.events e set author = v_job.requested_by
    where e.corpus_id = v_job.corpus_id and e.event_id = v_result.ingest_event_id
      and not v_result.was_duplicate;
  delete from ragdb.ingest_jobs j where j.job_id = v_job.job_id;
  return next v_result;
end $$;
comment on function ragdb.complete_ingest_job is
  'Stores the document that a claimed blob is, in the form of ragdb.put_documents or, with '
  'messages, of ragdb.put_conversations, with who asked for it as the author of its event, and '
  'ends the job. Raises RG409, RG412, RG413, RG453.';

create or replace function ragdb.fail_ingest_job(
  job_id uuid, attempt integer, message text, hint text default null, error text default null,
  retry_after interval default null)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.ingest_jobs := ragdb_internal.ingest_job(job_id, attempt);
  -- neither a failure nor an attempt: else the blob would be blamed for who writes its corpus
  v_counts constant integer := (error is not null or retry_after is null)::integer;
begin
  if message is null or error not in ('bad_request', 'not_found', 'internal_error', 'conflict') then
    raise exception 'message is null, or error is %', ragdb_internal.quote(error)
      using errcode = 'RG400',
        detail = 'a final failure has its wire word, one that may pass has none',
        hint = 'error is bad_request, not_found, conflict or internal_error, or null';
  end if;
  update ragdb.ingest_jobs j
    set worker = null, failures = j.failures + v_counts, attempt = j.attempt - 1 + v_counts,
      message = left(fail_ingest_job.message, 1000), hint = left(fail_ingest_job.hint, 1000),
      error = coalesce(fail_ingest_job.error,
        case when j.failures + v_counts >= 5 then 'internal_error' end),
      failed_at = case when fail_ingest_job.error is not null or j.failures + v_counts >= 5
        then clock_timestamp() end,
      due_at = clock_timestamp() + case v_counts when 0 then least(retry_after, interval '1 day')
        else make_interval(secs => 2 ^ (j.failures + 1)) end * (0.5 + random())
    where j.job_id = v_job.job_id;
end $$;
comment on function ragdb.fail_ingest_job is
  'Ends a claimed ingest job with the wire word, message and hint that its caller gets; without a '
  'word it is tried again after a back-off, five times in all, or after about retry_after (at most '
  'a day), as often as that is given, when not the blob is at fault. Raises RG400, RG453.';
