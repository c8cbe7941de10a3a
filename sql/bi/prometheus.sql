-- What Prometheus is told: samples that cost little however much was stored or asked. It reads
-- counters of corpora, the rollups of a month, and so many rows of each queue. No label has
-- anything of a query or a document.

create type ragdb.metric_sample as (
  name text, kind text, help text, suffix text, labels jsonb, value float8);
comment on type ragdb.metric_sample is
  'A sample in the terms of Prometheus: the metric with its kind (gauge, counter or histogram) and '
  'what it counts, the suffix of this sample, its labels and its value.';

-- Returns the corpora that the caller sees in schema bi: the 200 oldest by their names, the others
-- as "(other)".
create or replace function ragdb_internal.metric_corpora()
returns table (corpus_id integer, label text, documents bigint, chunks bigint, size_bytes bigint)
language sql stable parallel safe
begin atomic
  -- the same ones in the next scrape: a counter must not change its corpora
  select r.corpus_id::integer, case when r.n <= 200 then r.corpus else '(other)' end,
      r.documents, r.chunks, r.size_bytes
    from (
      select k.*, pg_catalog.row_number() over (order by k.corpus_id) as n
        from bi.dim_corpus k) r;
end;

-- Returns the sizes of corpora.
create or replace function ragdb_internal.corpus_samples() returns setof ragdb.metric_sample
language sql stable parallel safe
begin atomic
  select m.name, 'gauge', m.help, '', pg_catalog.jsonb_build_object('corpus', s.label), m.value
    from (
      select c.label, sum(c.documents) as documents, sum(c.chunks) as chunks,
          sum(c.size_bytes) as size_bytes
        from ragdb_internal.metric_corpora() c group by c.label) s
    cross join lateral (values
      ('ragdb_corpus_documents', 'Documents of a corpus.', s.documents::float8),
      ('ragdb_corpus_chunks', 'Chunks of a corpus.', s.chunks::float8),
      ('ragdb_corpus_size_bytes', 'Bytes of the documents of a corpus.', s.size_bytes::float8)
    ) m (name, help, value);
end;

-- Returns the retrievals of this month (UTC) by corpus, modes and error, as the rollups have them;
-- within counts those that returned in 0.01, 0.03, 0.1, 0.3, 1 and 3 seconds. A counter of this
-- month: it starts anew with the next, which Prometheus takes for a restart.
create or replace function ragdb_internal.month_rollups()
returns table (
  label text, retrieval_mode text, rank_mode text, error_code text, retrievals float8,
  errors float8, zero_results float8, elapsed_s float8, within float8[])
language sql stable parallel safe
begin atomic
  select c.label, r.retrieval_mode, coalesce(r.rank_mode, ''), coalesce(r.error_code, ''),
      sum(r.retrievals)::float8, sum(r.errors)::float8, sum(r.zero_results)::float8,
      sum(r.elapsed_us)::float8 / 1000000::float8,
      array[sum(r.within_10ms), sum(r.within_30ms), sum(r.within_100ms), sum(r.within_300ms),
        sum(r.within_1000ms), sum(r.within_3000ms)]::float8[]
    from ragdb_internal.metric_corpora() c
    join ragdb.retrieval_rollups r on r.corpus_id = c.corpus_id
    where r.grain = 'day'
      and r.bucket_at >= pg_catalog.date_trunc('month', ragdb_internal.now(), 'UTC')
    group by c.label, r.retrieval_mode, coalesce(r.rank_mode, ''), coalesce(r.error_code, '');
end;

-- Returns what the rollups count of the retrievals of this month.
create or replace function ragdb_internal.retrieval_samples() returns setof ragdb.metric_sample
language sql stable parallel safe
begin atomic
  with month as materialized (select * from ragdb_internal.month_rollups()),
  timed as (
    select m.label, m.rank_mode, sum(m.retrievals - m.errors) as returned,
        sum(m.elapsed_s) as elapsed_s, array[sum(m.within[1]), sum(m.within[2]),
          sum(m.within[3]), sum(m.within[4]), sum(m.within[5]), sum(m.within[6])] as within
      from month m where m.error_code = '' group by m.label, m.rank_mode)
  select 'ragdb_retrievals_total', 'counter',
      'Retrievals of this month as the rollups have counted them; error is the SQLSTATE of those '
      'that failed.', '', pg_catalog.jsonb_build_object('corpus', m.label,
        'retrieval_mode', m.retrieval_mode, 'rank_mode', m.rank_mode, 'error', m.error_code),
      m.retrievals
    from month m
  union all
  select 'ragdb_retrievals_without_hits_total', 'counter',
      'Retrievals of this month that returned without a hit.', '',
      pg_catalog.jsonb_build_object('corpus', m.label), sum(m.zero_results)
    from month m group by m.label
  union all
  select 'ragdb_retrieval_duration_seconds', 'histogram',
      'How long the retrievals of this month that returned took.', s.suffix,
      pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
        'corpus', t.label, 'rank_mode', t.rank_mode, 'le', s.le)), s.value
    from timed t
    cross join lateral (values
      ('_bucket', '0.01', t.within[1]), ('_bucket', '0.03', t.within[2]),
      ('_bucket', '0.1', t.within[3]), ('_bucket', '0.3', t.within[4]),
      ('_bucket', '1', t.within[5]), ('_bucket', '3', t.within[6]),
      ('_bucket', '+Inf', t.returned), ('_sum', null, t.elapsed_s), ('_count', null, t.returned)
    ) s (suffix, le, value)
  union all
  select 'ragdb_rollups_refreshed_timestamp_seconds', 'gauge',
      'When ragdb.refresh_rollups last counted the retrievals of this month.', '',
      '{}'::jsonb, extract(epoch from max(r.refreshed_at))::float8
    from ragdb.retrieval_rollups r
    where r.grain = 'day'
      and r.bucket_at >= pg_catalog.date_trunc('month', ragdb_internal.now(), 'UTC')
    having count(*) > 0;
end;

-- Returns a row for each job of some corpora and each chunk that has yet to become one, no more
-- than most (rows) of each kind.
create or replace function ragdb_internal.waiting_work(corpora integer[], most integer)
returns table (queue text, state text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  return query
    select 'embedding', case when j.is_dead then 'failed'
        when j.worker is not null and j.due_at > clock_timestamp() then 'in_work'
        else 'waiting' end
      from (select i.* from unnest(corpora) c (corpus_id)
          cross join lateral (select e.is_dead, e.worker, e.due_at from ragdb.embedding_jobs e
            where e.corpus_id = c.corpus_id limit most) i
          limit most) j;
  return query
    select 'embedding', 'waiting'
      from unnest(corpora) c (corpus_id)
        join ragdb.embedding_spaces s on s.corpus_id = c.corpus_id and s.state <> 'retired'
          and not ragdb_internal.is_static(s.embedder_id)
        cross join lateral generate_series(1, ragdb_internal.unqueued(s, most))
      limit most;
  return query
    select 'ingest', case when j.failed_at is not null then 'failed'
        when j.worker is not null and j.due_at > clock_timestamp() then 'in_work'
        else 'waiting' end
      from (select i.* from unnest(corpora) c (corpus_id)
          cross join lateral (select g.failed_at, g.worker, g.due_at from ragdb.ingest_jobs g
            where g.corpus_id = c.corpus_id limit most) i
          limit most) j;
end $$;

-- Returns how much of each queue waits, is in work and has failed, counting 10000 at most.
create or replace function ragdb_internal.queue_samples() returns setof ragdb.metric_sample
language sql stable parallel safe
begin atomic
  with work as materialized (
    select w.queue, w.state
      from ragdb_internal.waiting_work(
        array(select r.corpus_id from bi.readable_corpora() r), 10000) w)
  select 'ragdb_jobs', 'gauge',
      'Inputs and blobs that wait for a worker, are in work or have failed; of a queue some 10000 '
      'are counted at most.', '',
      pg_catalog.jsonb_build_object('queue', q.queue, 'state', s.state), count(w.state)::float8
    from (values ('embedding'), ('ingest')) q (queue)
    cross join (values ('waiting'), ('in_work'), ('failed')) s (state)
    left join work w on w.queue = q.queue and w.state = s.state
    group by q.queue, s.state;
end;

-- Definer: the tables are granted to nobody. It shows what the views of schema bi show, to whoever
-- may read those.
create or replace function ragdb.metrics() returns setof ragdb.metric_sample
language sql stable parallel safe security definer
begin atomic
  select s.name, s.kind, s.help, s.suffix, s.labels, s.value
    from (
      select * from ragdb_internal.corpus_samples()
      union all select * from ragdb_internal.retrieval_samples()
      union all select * from ragdb_internal.queue_samples()) s
    order by s.name, s.labels - 'le', s.suffix, s.labels ->> 'le' = '+Inf',
      (nullif(s.labels ->> 'le', '+Inf'))::float8;
end;
comment on function ragdb.metrics is
  'Returns samples for Prometheus, at a cost that grows with neither documents nor retrievals: '
  'sizes of corpora (the 200 oldest by name, the others together), the retrievals of this month '
  '(UTC) as ragdb.refresh_rollups has counted them, and the queues, counting some 10000 jobs. The '
  'caller sees the corpora that they see in schema bi, and nothing of a query or a document.';
