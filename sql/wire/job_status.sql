-- How many jobs wait, as far as the caller may see them.

create or replace function ragdb.job_status()
returns table (capability text, corpus text, waiting bigint, in_work bigint, failed bigint,
  oldest_at timestamptz, last_error text)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select 'rag.ingest@1.0', c.name,
      count(*) filter (where j.failed_at is null
        and (j.worker is null or j.due_at <= clock_timestamp())),
      count(*) filter (where j.failed_at is null and j.worker is not null
        and j.due_at > clock_timestamp()),
      count(*) filter (where j.failed_at is not null),
      min(j.created_at) filter (where j.failed_at is null),
      (array_agg(j.message order by j.failed_at desc nulls last)
        filter (where j.message is not null))[1]
    from ragdb.ingest_jobs j join ragdb.corpora c on c.corpus_id = j.corpus_id
    where ragdb_internal.privilege(c) > 0
    group by c.name
  union all
  select 'rag.query@1.0', c.name,
      count(*) filter (where q.attempt = 0 or q.last_error is not null),
      count(*) filter (where q.attempt > 0 and q.last_error is null), 0, null,
      (array_agg(q.last_error) filter (where q.last_error is not null))[1]
    from ragdb.embedded_queries q join ragdb.corpora c on c.corpus_id = q.corpus_id
    where q.embedding_hash is null and ragdb_internal.privilege(c) > 0
    group by c.name
  union all
  select 'embed.text@1.0', null,
      count(*) filter (where j.texts is not null
        and (j.worker is null or j.due_at <= clock_timestamp())),
      count(*) filter (where j.texts is not null and j.worker is not null
        and j.due_at > clock_timestamp()),
      count(*) filter (where j.failed_at is not null),
      min(j.created_at) filter (where j.texts is not null),
      (array_agg(j.message order by j.failed_at desc nulls last)
        filter (where j.message is not null))[1]
    from ragdb.embed_jobs j
    where j.embeddings is null
      and (ragdb_internal.is_caller(j.requested_by, j.requested_by_oid)
        or ragdb_internal.trust() in ('trusted', 'anchor'))
    having count(*) > 0
  order by 1, 2;
end;
comment on function ragdb.job_status is
  'Lists what workers have yet to do, by capability and corpus that the caller may read: jobs that '
  'wait, are in work and have failed (kept for a day), since when the oldest waits, and the last '
  'error. Chunks that wait for an embedding are in ragdb.embedding_status.';
