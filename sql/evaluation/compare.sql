-- Comparing a run with a baseline: what they differ in, each metric by a paired test, the verdict.

-- Returns the names and queries of the cases of a run as one text.
create or replace function ragdb_internal.listed_cases(run ragdb.eval_runs) returns text
language sql stable parallel safe
return (
  select pg_catalog.string_agg(pg_catalog.length(c.name) || ':' || c.name || c.query, E'\n'
    order by c.name, c.query)
  from ragdb.eval_case_results c
  where c.corpus_id = (run).corpus_id and c.run_id = (run).run_id and c.kind = 'case');

-- Returns what two runs differ in that makes their figures of different things: documents,
-- embedding model, semantics, cases, labels. Of what corpus and what eval they are does not matter
-- where all that is the same: so two ways to cut documents into chunks are compared.
create or replace function ragdb_internal.incomparable(a ragdb.eval_runs, b ragdb.eval_runs)
  returns text[]
language sql stable parallel safe
return array(
  select k.what from (values
    (1, 'documents', (a).documents_hash, (b).documents_hash),
    (2, 'embedding model', (a).embedding_model, (b).embedding_model),
    (3, 'semantics', (a).semantics_version::text, (b).semantics_version::text),
    (4, 'cases', ragdb_internal.listed_cases(a), ragdb_internal.listed_cases(b)),
    (5, 'labels', (a).labels_hash, (b).labels_hash)
  ) k (n, what, of_a, of_b) where k.of_a is distinct from k.of_b order by k.n);

-- Returns the required assertions that passed in a baseline and fail in a run, as case: message. An
-- assertion is the same when its case and what it expects are: the message has that in words, and
-- with it what expected leaves out, such as the count beside a value. Where it cannot be evaluated,
-- the message says why.
create or replace function ragdb_internal.broken_assertions(baseline ragdb.eval_runs,
  run ragdb.eval_runs) returns text[]
language sql stable parallel safe
return array(
  select pg_catalog.format('%s: %s', c.name, x.message)
  from ragdb.eval_case_results c
    join ragdb.eval_assert_results x on x.corpus_id = c.corpus_id and x.run_id = c.run_id
      and x.case_no = c.case_no and x.required and not x.passed
    join ragdb.eval_case_results o on o.corpus_id = (baseline).corpus_id
      and o.run_id = (baseline).run_id and o.kind = c.kind and o.name = c.name
  where c.corpus_id = (run).corpus_id and c.run_id = (run).run_id
    and case when x.code in ('RETRIEVER_ERROR', 'STALE_LABEL') or c.kind = 'answer'
      then o.status = 'passed'
      else exists (
        select from ragdb.eval_assert_results y
        where y.corpus_id = o.corpus_id and y.run_id = o.run_id and y.case_no = o.case_no
          and y.kind = x.kind and y.expected is not distinct from x.expected
          and (y.message = x.message or x.code <> 'ASSERTION_FAIL') and y.passed) end
  order by c.case_no, x.assert_no);

-- Returns the cases that found something in a baseline and nothing in a run, in words, where
-- neither labels nor assertions judge them. Such a case has no metric: those of the others would be
-- all that is compared, and could be better than before. All is hashed, as the metrics are.
create or replace function ragdb_internal.lost_cases(baseline ragdb.eval_runs, run ragdb.eval_runs)
  returns text[]
language sql stable parallel safe
set enable_nestloop = off
return array(
  select pg_catalog.format('%s: found chunks and finds none now', c.name)
  from ragdb.eval_case_results c
    join ragdb.eval_case_results o on o.corpus_id = (baseline).corpus_id
      and o.run_id = (baseline).run_id and o.kind = c.kind and o.name = c.name
  where c.corpus_id = (run).corpus_id and c.run_id = (run).run_id and c.kind = 'case'
    and c.hits = 0 and o.hits > 0
    and not exists (select from ragdb.eval_metrics m where m.corpus_id = c.corpus_id
      and m.run_id = c.run_id and m.case_no = c.case_no)
    and not exists (select from ragdb.eval_assert_results x where x.corpus_id = c.corpus_id
      and x.run_id = c.run_id and x.case_no = c.case_no and x.required)
  order by c.case_no);

-- Returns what of the cases is a regression by itself, whatever the metrics say.
create or replace function ragdb_internal.broken_cases(baseline ragdb.eval_runs,
  run ragdb.eval_runs) returns text[]
language sql stable parallel safe
return ragdb_internal.broken_assertions(baseline, run) || ragdb_internal.lost_cases(baseline, run);

-- Returns for each metric the differences of the cases that a baseline (a) and a run (b) both have,
-- in billionths, and their means and standard deviation. In whole billionths: sums of whole numbers
-- do not depend on their order. All is hashed: of runs that are newer than the statistics the
-- planner believes that they have a case, and would read one again for each case of the other.
create or replace function ragdb_internal.metric_differences(baseline ragdb.eval_runs,
  run ragdb.eval_runs)
returns table (metric text, n integer, differences bigint[], a float8, b float8, mean float8,
  sd float8)
language sql stable parallel safe
set enable_nestloop = off
set enable_mergejoin = off
begin atomic
  with pairs as materialized (
    select m.metric, c.name, pg_catalog.round(o.value * 1e9)::bigint as a,
      pg_catalog.round(m.value * 1e9)::bigint as b
    from ragdb.eval_metrics m
      join ragdb.eval_case_results c on c.corpus_id = m.corpus_id and c.run_id = m.run_id
        and c.case_no = m.case_no
      join ragdb.eval_case_results d on d.corpus_id = (baseline).corpus_id
        and d.run_id = (baseline).run_id and d.kind = c.kind and d.name = c.name
      join ragdb.eval_metrics o on o.corpus_id = d.corpus_id and o.run_id = d.run_id
        and o.case_no = d.case_no and o.metric = m.metric
    where m.corpus_id = (run).corpus_id and m.run_id = (run).run_id and m.case_no > 0
  )
  select x.metric, pg_catalog.count(*)::integer,
    pg_catalog.array_agg(x.b - x.a order by x.name collate "C"),
    (pg_catalog.sum(x.a) / (1e9 * pg_catalog.count(*)))::float8,
    (pg_catalog.sum(x.b) / (1e9 * pg_catalog.count(*)))::float8,
    (pg_catalog.sum(x.b - x.a) / (1e9 * pg_catalog.count(*)))::float8,
    coalesce(pg_catalog.sqrt(greatest(0, (
      pg_catalog.sum(((x.b - x.a) / 1e9)::numeric ^ 2) - pg_catalog.count(*)
        * (pg_catalog.sum(x.b - x.a) / (1e9 * pg_catalog.count(*))) ^ 2)
      / nullif(pg_catalog.count(*) - 1, 0)))::float8, 0)
  from pairs x group by x.metric;
end;

-- A metric of two runs: its verdict, both means, their difference with its interval, the p of the
-- difference, alone and among all metrics, the smallest effect that so many cases show.
create type ragdb_internal.compared_metric as (
  metric text, verdict text, a float8, b float8, mean float8, low float8, high float8, p float8,
  p_holm float8, mde float8, n integer);

-- Compares two runs metric by metric; unfit is the verdict where they cannot be compared (null:
-- they can).
create or replace function ragdb_internal.compared_metrics(baseline ragdb.eval_runs,
  run ragdb.eval_runs, seed text, resamples integer, tolerance float8, unfit text)
returns setof ragdb_internal.compared_metric
language sql stable parallel safe
begin atomic
  with tested as materialized (
    select m.*, greatest(compared_metrics.tolerance, 0.02 * pg_catalog.abs(m.a)) as bound,
      2.8 * m.sd / pg_catalog.sqrt(m.n::float8) as mde,
      m.sd = 0 and m.mean = 0 as is_same,
      case when m.sd = 0 and m.mean = 0 then 1
        else ragdb_internal.sign_flip_p(m.differences, compared_metrics.seed || ':' || m.metric,
          compared_metrics.resamples) end as p
    from ragdb_internal.metric_differences(baseline, run) m
  ), holm as (
    select t.*, least(1, pg_catalog.max(t.p * (t.k - t.i + 1)) over (order by t.i)) as p_holm
    from (
      select t.*, pg_catalog.row_number() over (order by t.p, t.metric collate "C") as i,
        pg_catalog.count(*) over () as k
      from tested t) t
  )
  select h.metric, case
      when compared_metrics.unfit is not null then compared_metrics.unfit
      when h.is_same then 'within_noise'
      when h.p_holm <= 0.05 and h.mean > h.bound then 'improved'
      when h.p_holm <= 0.05 and h.mean < -h.bound then 'regressed'
      when h.p_holm <= 0.05 or (pg_catalog.abs(h.mean) <= h.bound and h.mde <= h.bound)
        then 'within_noise'
      else 'inconclusive' end,
    h.a, h.b, h.mean, s.low, s.high, h.p, h.p_holm, h.mde, h.n
  from holm h
    cross join lateral ragdb_internal.bootstrap(h.differences,
      compared_metrics.seed || ':' || h.metric,
      case when h.sd = 0 then 1 else compared_metrics.resamples end) s;
end;

-- Returns the verdict of a comparison of two runs by that of its metrics and by what broke. The
-- least score and the share of what was judged count only as the metric of the eval: they say
-- nothing of how good a ranking is, and fall with each hit more that is asked for.
create or replace function ragdb_internal.compared_verdict(unfit text, broken text[],
  metrics ragdb_internal.compared_metric[], asked text) returns text
language sql immutable parallel safe
return (
  select case
    when compared_verdict.unfit is not null then compared_verdict.unfit
    when broken <> '{}' or 'regressed' = any (v.verdicts) then 'regressed'
    when 'improved' = any (v.verdicts) then 'improved'
    when 'inconclusive' = any (v.verdicts) then 'inconclusive'
    else 'within_noise' end
  from (select array(
      select m.verdict from pg_catalog.unnest(metrics) m
      where m.metric = asked or m.metric <> 'min_relevance' and m.metric not like 'judged@%')
    as verdicts) v);

-- Returns in words what two runs differ in and which assertions broke; null for neither.
create or replace function ragdb_internal.compared_detail(differ text[], broken text[])
  returns text
language sql immutable parallel safe
return nullif(pg_catalog.concat_ws('; ',
  'differ in: ' || nullif(pg_catalog.array_to_string(differ, ', '), ''),
  'passed before and fails now: ' || nullif(pg_catalog.array_to_string(broken[:5], ' | '), ''),
  case when pg_catalog.cardinality(broken) > 5
    then pg_catalog.format('and %s more', pg_catalog.cardinality(broken) - 5) end), '');

-- Returns how many cases it takes to tell a difference of one of some metrics from noise: of n
-- cases the sign-flip test has no p below 2 ^ (1 - n), and Holm multiplies it by the metrics.
create or replace function ragdb_internal.least_cases(metrics integer) returns integer
language sql immutable parallel safe
return pg_catalog.ceil(1 + pg_catalog.log(2, greatest(1, least_cases.metrics) / 0.05))::integer;

create or replace function ragdb.compare_runs(
  baseline uuid, run_id uuid, seed text default 'ragdb', resamples integer default 10000,
  tolerance float8 default 0.01)
returns table (metric text, verdict text, baseline_mean float8, run_mean float8, difference float8,
  low float8, high float8, p float8, p_holm float8, smallest_effect float8, cases integer,
  detail text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run constant ragdb.eval_runs := ragdb.get_eval_run(run_id);
  v_baseline ragdb.eval_runs;
  v_differ text[];
  v_broken text[];
  v_unfit text;
  v_metrics ragdb_internal.compared_metric[];
begin
  if seed is null or resamples is null or resamples not between 100 and 100000 or tolerance is null
    or not tolerance between 0 and 1 then
    raise exception 'seed, resamples or tolerance is null or out of range'
      using errcode = 'RG400', detail = format('resamples %s, tolerance %s', resamples, tolerance),
        hint = 'resamples 100 to 100000, tolerance 0 to 1';
  end if;
  verdict := 'no_baseline';
  cases := v_run.cases;
  detail := 'bless a run with ragdb.bless_run()';
  if baseline is not null then
    v_baseline := ragdb.get_eval_run(baseline);
    v_differ := ragdb_internal.incomparable(v_baseline, v_run);
    v_broken := ragdb_internal.broken_cases(v_baseline, v_run);
    v_unfit := case when v_differ <> '{}' then 'incomparable'
      when v_run.stale_labels > 0 or v_baseline.stale_labels > 0 then 'stale_labels' end;
    v_metrics := array(select m from ragdb_internal.compared_metrics(v_baseline, v_run, seed,
      resamples, tolerance, v_unfit) m);
    verdict := ragdb_internal.compared_verdict(v_unfit, v_broken, v_metrics, v_run.metric);
    detail := ragdb_internal.compared_detail(v_differ, v_broken);
  end if;
  return next;
  return query
    select m.metric, m.verdict, m.a, m.b, m.mean, m.low, m.high, m.p, m.p_holm,
      case when m.n >= l.cases then m.mde end, m.n,
      case when m.verdict <> 'inconclusive' then null when m.n >= l.cases
        then format('effects below %s cannot be told from noise by %s cases',
          to_char(m.mde, 'FM0.0000'), m.n)
        else format('%s cases cannot tell a difference of %s metrics from noise, however large: '
          'it takes %s', m.n, cardinality(v_metrics), l.cases) end
    from unnest(v_metrics) m, ragdb_internal.least_cases(cardinality(v_metrics)) l (cases)
    order by m.metric collate "C";
end $$;
comment on function ragdb.compare_runs is
  'Compares a run with a baseline: the verdict of all (metric null) and of each metric, improved, '
  'regressed, within_noise, inconclusive, incomparable, stale_labels or no_baseline. A required '
  'assertion that passed and fails now is a regression, and so is a case that found something and '
  'finds nothing now where neither labels nor assertions judge it; a metric is one by a paired '
  'sign-flip test (resamples 100 to 100000, decided by the seed, Holm over metrics) beyond the '
  'tolerance (0 to 1, at least 2 % of the baseline); min_relevance and judged@k count for all only '
  'where the eval has that metric. smallest_effect is null where there are too few cases to tell '
  'any. Raises RG400, RG443.';
