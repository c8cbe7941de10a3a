-- Retrievals over time with the hours and days in which nothing was asked, for reports and charts.

-- Returns the hours of a span of at most seven days, or the days of a longer one (UTC).
create or replace function ragdb_internal.traffic_buckets(since timestamptz, until timestamptz)
returns table (grain text, bucket_at timestamptz)
language sql stable parallel safe
begin atomic
  select g.grain, b.bucket_at
  from (select case when until - since > interval '7 days' then 'day' else 'hour' end as grain) g
    cross join lateral pg_catalog.generate_series(pg_catalog.date_trunc(g.grain, since, 'UTC'),
      until - interval '1 microsecond',
      case g.grain when 'day' then interval '1 day' else interval '1 hour' end, 'UTC')
      b (bucket_at);
end;

-- Returns a percentile (share 0 to 1) of a histogram, interpolated within its bin.
create or replace function ragdb_internal.latency_percentile(lower float8[], upper float8[],
  counts bigint[], share float8)
returns float8
language sql immutable parallel safe
return (
  with bins as (
    select u.lower, u.upper, u.n, pg_catalog.sum(u.n) over (order by u.upper) as upto,
      pg_catalog.sum(u.n) over () as total
    from unnest(latency_percentile.lower, latency_percentile.upper, counts) u (lower, upper, n))
  select b.lower + (b.upper - b.lower) * least(1, (share * b.total - b.upto + b.n) / b.n)
  from bins b where b.upto >= share * b.total order by b.upper limit 1);

-- Refuses a span of time that is null, empty or longer than ten years. Raises RG400.
create or replace function ragdb_internal.check_period(since timestamptz, until timestamptz)
  returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  -- a difference counts days, of which ten years have more than the 3,600 of an interval
  if (isfinite(since) and since < until
      and until <= least(since, '9999-12-31 00:00:00+00') + interval '10 years') is not true then
    raise exception 'since is not before until'
      using errcode = 'RG400',
        detail = format('since is %s, until %s', coalesce(since::text, 'null'),
          coalesce(until::text, 'null')),
        hint = 'give a span of at most ten years';
  end if;
end $$;

-- Definer: the rollups are granted to nobody; bi.readable_corpora is the gate.
create or replace function ragdb.traffic(
  since timestamptz, until timestamptz default null, corpus text default null)
returns table (bucket_at timestamptz, grain text, found bigint, nothing_found bigint,
  failed bigint, under_slice bigint, admissible bigint, shortfalls bigint, mean_top_score float8,
  p50_ms float8, p95_ms float8)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_until constant timestamptz := coalesce(until, ragdb_internal.now());
begin
  perform ragdb_internal.check_period(traffic.since, v_until);
  return query
    with corpora as materialized (
      select c.corpus_id from bi.readable_corpora() c
      where case when traffic.corpus is null then c.corpus <> 'system'
        else c.corpus = traffic.corpus end),
    counted as (
      select r.grain, r.bucket_at, sum(r.retrievals - r.errors - r.zero_results)::bigint as found,
        sum(r.zero_results)::bigint as nothing, sum(r.errors)::bigint as failed,
        coalesce(sum(r.retrievals) filter (where r.retrieval_mode = 'slice'), 0)::bigint as sliced,
        sum(r.admissible)::bigint as admissible, sum(r.shortfalls)::bigint as shortfalls,
        sum(r.top_scores_ppm)::float8 / 1000000 / nullif(sum(r.scored), 0)::float8 as top
      from ragdb.retrieval_rollups r join corpora c on c.corpus_id = r.corpus_id
      where r.bucket_at >= date_trunc('day', traffic.since, 'UTC') and r.bucket_at < v_until
      group by r.grain, r.bucket_at),
    bins as (
      select h.grain, h.bucket_at, h.lower_end, h.upper_end, sum(h.retrievals)::bigint as n
      from ragdb_internal.counted_bins h join corpora c on c.corpus_id = h.corpus_id
      where h.measure = 'latency' and h.bucket_at >= date_trunc('day', traffic.since, 'UTC')
        and h.bucket_at < v_until
      group by h.grain, h.bucket_at, h.lower_end, h.upper_end),
    timed as (
      select b.grain, b.bucket_at, array_agg(b.lower_end) as low, array_agg(b.upper_end) as high,
        array_agg(b.n) as n
      from bins b group by b.grain, b.bucket_at)
    select s.bucket_at, s.grain, coalesce(k.found, 0), coalesce(k.nothing, 0),
      coalesce(k.failed, 0), coalesce(k.sliced, 0), coalesce(k.admissible, 0),
      coalesce(k.shortfalls, 0), k.top,
      ragdb_internal.latency_percentile(t.low, t.high, t.n, 0.5),
      ragdb_internal.latency_percentile(t.low, t.high, t.n, 0.95)
    from ragdb_internal.traffic_buckets(traffic.since, v_until) s
      left join counted k on k.grain = s.grain and k.bucket_at = s.bucket_at
      left join timed t on t.grain = s.grain and t.bucket_at = s.bucket_at
    order by s.bucket_at;
end $$;
comment on function ragdb.traffic is
  'Returns retrievals by hour of a span of at most seven days, by day (UTC) of a longer one, of '
  'one corpus or of all that the caller sees in schema bi but system: those that found something, '
  'found nothing or failed, those under a slice with the admissible and the shortfalls among them, '
  'the mean score of first hits (0 to 1) and percentiles of latency in ms. A time at which nothing '
  'was asked is a row of zeros without score and latency. As of the last ragdb.refresh_rollups. '
  'Raises RG400.';
