-- Rollups: retrievals counted by hour and day. Who records a trace marks its hour; a refresh takes
-- the marks and counts those hours again from the traces themselves. A trace that is committed late
-- is marked late, so nothing is missed, and counting an hour twice changes nothing.

-- Returns the bin of a latency: n for 2^(n/4) to 2^((n+1)/4) milliseconds, -20 to 80.
create or replace function ragdb_internal.latency_bin(elapsed_ms float8) returns integer
language sql immutable parallel safe
return least(80, pg_catalog.floor(
  4 * pg_catalog.ln(greatest(elapsed_ms, 0.03125::float8)) / pg_catalog.ln(2::float8)))::integer;

-- Deletes the rollups of some hours or days, each of one corpus.
create or replace function ragdb_internal.drop_rollups(
  grain text, corpora integer[], buckets timestamptz[])
returns void
language sql
begin atomic
  delete from ragdb.retrieval_rollups r
    using unnest(corpora, buckets) b (corpus_id, bucket_at)
    where r.corpus_id = b.corpus_id and r.grain = drop_rollups.grain
      and r.bucket_at = b.bucket_at;
  delete from ragdb.histogram_rollups r
    using unnest(corpora, buckets) b (corpus_id, bucket_at)
    where r.corpus_id = b.corpus_id and r.grain = drop_rollups.grain
      and r.bucket_at = b.bucket_at;
end;

-- Returns the traces of some hours, each of one corpus, that all lie from since until before until.
-- What the rollups count of a retrieval. The bounds leave the month of the hours; the key of the
-- hits finds the first one, where a join would read the month.
create or replace function ragdb_internal.counted_traces(
  corpora integer[], hours timestamptz[], since timestamptz, until timestamptz)
returns table (
  corpus_id integer, hour_at timestamptz, retrieval_mode text, rank_mode text, policy_key text,
  retriever text, rag text, error_code text, is_admissible boolean, is_shortfall boolean,
  is_exact boolean, requested integer, returned integer, elapsed_ms float8, top_score float8)
language sql stable parallel safe
begin atomic
  select t.corpus_id, h.hour_at, t.retrieval_mode, t.rank_mode,
      t.policy_id || '@' || t.policy_params_hash, t.retriever, t.rag, t.error_code, t.is_admissible,
      t.admissibility_shortfall, t.is_exact, t.limit_requested, t.limit_returned, t.elapsed_ms,
      s.score
    from unnest(counted_traces.corpora, counted_traces.hours) h (corpus_id, hour_at)
    join ragdb.retrieval_traces t on t.corpus_id = h.corpus_id
      and pg_catalog.date_trunc('hour', t.created_at, 'UTC') = h.hour_at
    left join lateral (
      select i.score from ragdb.retrieval_hits i
        where i.corpus_id = t.corpus_id and i.trace_id = t.id and i.rank = 1
          and i.created_at = t.created_at
        limit 1) s on true
    where t.created_at >= counted_traces.since and t.created_at < counted_traces.until;
end;

-- Counts the traces of some hours of one day, each hour of one corpus. One statement, so that both
-- tables count the same traces.
create or replace function ragdb_internal.roll_up_hours(
  corpora integer[], hours timestamptz[], refreshed_at timestamptz)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_since constant timestamptz := (select min(h) from unnest(hours) h);
  v_until constant timestamptz := (select max(h) from unnest(hours) h) + interval '1 hour';
begin
  with trace as materialized (
    select c.* from ragdb_internal.counted_traces(corpora, hours, v_since, v_until) c
  ), counted as (
    insert into ragdb.retrieval_rollups
      select t.corpus_id, 'hour', t.hour_at, t.retrieval_mode, t.rank_mode, t.policy_key,
          t.retriever, t.rag, t.error_code, count(*), count(t.error_code),
          count(*) filter (where t.error_code is null and t.returned = 0),
          count(*) filter (where t.is_admissible), count(*) filter (where t.is_shortfall),
          count(*) filter (where t.is_exact),
          coalesce(sum(t.requested) filter (where t.error_code is null), 0), sum(t.returned),
          coalesce(sum(round(1000 * t.elapsed_ms)::bigint) filter (where t.error_code is null), 0),
          count(*) filter (where t.error_code is null and t.elapsed_ms <= 10),
          count(*) filter (where t.error_code is null and t.elapsed_ms <= 30),
          count(*) filter (where t.error_code is null and t.elapsed_ms <= 100),
          count(*) filter (where t.error_code is null and t.elapsed_ms <= 300),
          count(*) filter (where t.error_code is null and t.elapsed_ms <= 1000),
          count(*) filter (where t.error_code is null and t.elapsed_ms <= 3000),
          count(t.top_score), coalesce(sum(round(1000000 * t.top_score)::bigint), 0),
          roll_up_hours.refreshed_at
        from trace t
        group by t.corpus_id, t.hour_at, t.retrieval_mode, t.rank_mode, t.policy_key, t.retriever,
          t.rag, t.error_code
  )
  insert into ragdb.histogram_rollups
    select t.corpus_id, 'hour', t.hour_at, t.rank_mode, m.measure, m.bin, count(*)
      from trace t
      cross join lateral (values
        ('latency',
          case when t.error_code is null then ragdb_internal.latency_bin(t.elapsed_ms) end),
        ('top_score', least(19, floor(20 * t.top_score))::integer)) m (measure, bin)
      where m.bin is not null
      group by t.corpus_id, t.hour_at, t.rank_mode, m.measure, m.bin;
end $$;

-- Adds up the hours of a day (UTC) of some corpora.
create or replace function ragdb_internal.sum_day(
  day_at timestamptz, corpora integer[], refreshed_at timestamptz)
returns void
language sql
begin atomic
  insert into ragdb.retrieval_rollups
    select r.corpus_id, 'day', sum_day.day_at, r.retrieval_mode, r.rank_mode, r.policy_key,
        r.retriever, r.rag, r.error_code, pg_catalog.sum(r.retrievals), pg_catalog.sum(r.errors),
        pg_catalog.sum(r.zero_results), pg_catalog.sum(r.admissible),
        pg_catalog.sum(r.shortfalls), pg_catalog.sum(r.exact_results),
        pg_catalog.sum(r.requested_hits), pg_catalog.sum(r.returned_hits),
        pg_catalog.sum(r.elapsed_us), pg_catalog.sum(r.within_10ms),
        pg_catalog.sum(r.within_30ms), pg_catalog.sum(r.within_100ms),
        pg_catalog.sum(r.within_300ms), pg_catalog.sum(r.within_1000ms),
        pg_catalog.sum(r.within_3000ms), pg_catalog.sum(r.scored),
        pg_catalog.sum(r.top_scores_ppm), sum_day.refreshed_at
      from ragdb.retrieval_rollups r
      where r.corpus_id = any (sum_day.corpora) and r.grain = 'hour'
        and r.bucket_at >= sum_day.day_at
        and r.bucket_at < sum_day.day_at + interval '24 hours'
      group by r.corpus_id, r.retrieval_mode, r.rank_mode, r.policy_key, r.retriever, r.rag,
        r.error_code;
  insert into ragdb.histogram_rollups
    select r.corpus_id, 'day', sum_day.day_at, r.rank_mode, r.measure, r.bin,
        pg_catalog.sum(r.retrievals)
      from ragdb.histogram_rollups r
      where r.corpus_id = any (sum_day.corpora) and r.grain = 'hour'
        and r.bucket_at >= sum_day.day_at
        and r.bucket_at < sum_day.day_at + interval '24 hours'
      group by r.corpus_id, r.rank_mode, r.measure, r.bin;
end;

-- Counts some hours of a day (UTC) again, each of one corpus, and the day of those corpora. One day
-- at a time: its marked hours from the traces, then the day from all of its hours.
create or replace function ragdb_internal.roll_up_day(
  day_at timestamptz, corpora integer[], hours timestamptz[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpora constant integer[] := array(select distinct c from unnest(corpora) c);
  v_now constant timestamptz := ragdb_internal.now();
begin
  perform ragdb_internal.drop_rollups('hour', corpora, hours);
  perform ragdb_internal.roll_up_hours(corpora, hours, v_now);
  perform ragdb_internal.drop_rollups(
    'day', v_corpora, array_fill(day_at, array[cardinality(v_corpora)]));
  perform ragdb_internal.sum_day(day_at, v_corpora, v_now);
end $$;

-- Returns the time before which all traces were dropped; the rollups of earlier hours stay as they
-- were.
create or replace function ragdb_internal.traces_kept_from() returns timestamptz
language sql stable parallel safe
return coalesce(
  (select (s.value #>> '{}')::timestamptz from ragdb.settings s
    where s.key = 'traces_kept_from'),
  '-infinity'::timestamptz);

-- Counts again the hours that have new traces, and returns how many, each of one corpus; while
-- another refreshes it waits, or returns 0. The marks are taken in one statement and the traces
-- counted in later ones, which see every trace whose mark was seen. From when traces are kept is
-- asked last: who drops some holds the name, too.
create or replace function ragdb_internal.recount_rollups(wait boolean) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_kept_from timestamptz;
  v_corpora integer[];
  v_hours timestamptz[];
begin
  if not exists (select from ragdb.trace_marks) then
    return 0;
  end if;
  if wait then
    perform ragdb_internal.hold('rollups');
  elsif not ragdb_internal.try_hold('rollups') then
    return 0;
  end if;
  v_kept_from := ragdb_internal.traces_kept_from();
  with taken as (delete from ragdb.trace_marks m returning m.corpus_id, m.hour_at)
  select array_agg(h.corpus_id order by h.hour_at, h.corpus_id),
    array_agg(h.hour_at order by h.hour_at, h.corpus_id)
    into v_corpora, v_hours
    from (select distinct t.corpus_id, t.hour_at from taken t where t.hour_at >= v_kept_from) h;
  perform ragdb_internal.roll_up_day(d.day_at, d.corpora, d.hours)
    from (
      select date_trunc('day', h.hour_at, 'UTC') as day_at, array_agg(h.corpus_id) as corpora,
          array_agg(h.hour_at) as hours
        from unnest(v_corpora, v_hours) h (corpus_id, hour_at) group by 1 order by 1) d;
  return coalesce(cardinality(v_hours), 0);
end $$;

create or replace function ragdb.refresh_rollups(recount boolean default false) returns integer
language plpgsql security definer -- the tables are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_kept_from timestamptz;
begin
  if recount is null then
    raise exception 'recount is null'
      using errcode = 'RG400',
        detail = 'true counts every trace again',
        hint = 'leave it out to count what is new';
  end if;
  if recount then
    perform ragdb_internal.hold('rollups');
    v_kept_from := ragdb_internal.traces_kept_from();
    delete from ragdb.retrieval_rollups r where r.bucket_at >= v_kept_from;
    delete from ragdb.histogram_rollups r where r.bucket_at >= v_kept_from;
    insert into ragdb.trace_marks
      select distinct t.corpus_id, date_trunc('hour', t.created_at, 'UTC')
        from ragdb.retrieval_traces t;
  end if;
  return ragdb_internal.recount_rollups(true);
end $$;
comment on function ragdb.refresh_rollups is
  'Brings the rollups behind bi.agg_retrieval_hour and its kin up to date and returns the number '
  'of hours counted, each of one corpus: those with new traces, or with recount all whose traces '
  'are kept. ragdb.maintain does it too. Raises RG400.';
