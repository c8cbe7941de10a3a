-- Comparing runs: baselines, a paired test whose every bit is fixed by its seed, verdicts.

create or replace function ragdb_internal.incomparable(a ragdb.eval_runs, b ragdb.eval_runs) returns text[]
language sql stable parallel safe
return array(
  select k.what from (values
    (1, 'corpus', (a).corpus_id::text, (b).corpus_id::text),
      (2, 'documents', (a).documents_hash, (b).documents_hash),
    (3, 'embedding model', (a).embedding_model, (b).embedding_model),
    (4, 'semantics', (a).semantics_version::text, (b).semantics_version::text),
      (5, 'eval', (a).rag || '/' || (a).eval, (b).rag || '/' || (b).eval),
    (6, 'cases', (select pg_catalog.string_agg(pg_catalog.length(c.name) || ':' || c.name
      || c.query, E'\n' order by c.name, c.query) from ragdb.eval_case_results c
      where c.corpus_id = (a).corpus_id and c.run_id = (a).run_id and c.kind = 'case'),
      (select pg_catalog.string_agg(pg_catalog.length(c.name) || ':' || c.name || c.query,
        E'\n' order by c.name, c.query) from ragdb.eval_case_results c
        where c.corpus_id = (b).corpus_id and c.run_id = (b).run_id and c.kind = 'case'))
  ) k (n, what, of_a, of_b) where k.of_a is distinct from k.of_b order by k.n);
comment on function ragdb_internal.incomparable(ragdb.eval_runs, ragdb.eval_runs) is
  'Returns what two runs differ in that makes their figures of different things: corpus, '
  'documents, embedding model, semantics, eval, cases.';

create or replace function ragdb.compare_runs(
  baseline uuid, run_id uuid, seed text default 'ragdb', resamples integer default 10000,
    tolerance float8 default 0.01)
returns table (metric text, verdict text, baseline_mean float8, run_mean float8, difference float8,
  low float8, high float8,
  p float8, p_holm float8, smallest_effect float8, cases integer, detail text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
  v_baseline ragdb.eval_runs;
  v_differ text[];
  v_broken text[];
begin
  if seed is null or resamples is null or resamples not between 100 and 100000 or tolerance is null
    or not tolerance between 0 and 1 then
    raise exception 'seed, resamples or tolerance is null or out of range'
      using errcode = 'RG400', detail = format('resamples %s, tolerance %s', resamples, tolerance),
        hint = 'resamples 100 to 100000, tolerance 0 to 1';
  end if;
  if baseline is null then
    return query select null::text, 'no_baseline', null::float8, null::float8, null::float8,
      null::float8, null::float8, null::float8, null::float8, null::float8,
      v_run.cases, 'bless a run with ragdb.bless_run()';
    return;
  end if;
  v_baseline := ragdb.get_eval_run(baseline);
  v_differ := ragdb_internal.incomparable(v_baseline, v_run);
  -- an assertion is the same when its case, kind and expectation are
  v_broken := array(
    select format('%s: %s', c.name, x.message)
    from ragdb.eval_case_results c
      join ragdb.eval_assert_results x on x.corpus_id = c.corpus_id and x.run_id = c.run_id
        and x.case_no = c.case_no and x.required and not x.passed
      join ragdb.eval_case_results o on o.corpus_id = v_baseline.corpus_id
        and o.run_id = v_baseline.run_id and o.kind = c.kind and o.name = c.name
    where c.corpus_id = v_run.corpus_id and c.run_id = v_run.run_id
      and case when x.code in ('RETRIEVER_ERROR', 'STALE_LABEL')
        or c.kind = 'answer' then o.status = 'passed'
        else exists (select from ragdb.eval_assert_results y where y.corpus_id = o.corpus_id
          and y.run_id = o.run_id and y.case_no = o.case_no
          and y.kind = x.kind and y.expected is not distinct from x.expected and y.passed) end
    order by c.case_no, x.assert_no);
  return query
    with pairs as materialized (
      select m.metric, c.name, round(o.value * 1e9)::bigint as a, round(m.value * 1e9)::bigint as b
      from ragdb.eval_metrics m
        join ragdb.eval_case_results c on c.corpus_id = m.corpus_id and c.run_id = m.run_id
          and c.case_no = m.case_no
        join ragdb.eval_case_results d on d.corpus_id = v_baseline.corpus_id
          and d.run_id = v_baseline.run_id and d.kind = c.kind and d.name = c.name
        join ragdb.eval_metrics o on o.corpus_id = d.corpus_id and o.run_id = d.run_id
          and o.case_no = d.case_no and o.metric = m.metric
      where m.corpus_id = v_run.corpus_id and m.run_id = v_run.run_id and m.case_no > 0
    ), metrics as materialized (
      select x.metric, count(*)::integer as n,
        array_agg(x.b - x.a order by x.name collate "C") as differences,
        (sum(x.a) / (1e9 * count(*)))::float8 as a, (sum(x.b) / (1e9 * count(*)))::float8 as b,
          (sum(x.b - x.a) / (1e9 * count(*)))::float8 as mean,
        coalesce(sqrt(greatest(0,
          (sum(((x.b - x.a) / 1e9)::numeric ^ 2) - count(*) * (sum(x.b - x.a) / (1e9 * count(*)))
            ^ 2) / nullif(count(*) - 1, 0)))::float8, 0) as sd
      from pairs x group by x.metric
    ), tested as materialized (
      select m.*, greatest(compare_runs.tolerance, 0.02 * abs(m.a)) as bound,
        2.8 * m.sd / sqrt(m.n::float8) as mde,
        case when m.sd = 0 and m.mean = 0 then 1
          else ragdb_internal.sign_flip_p(m.differences, compare_runs.seed || ':' || m.metric,
            compare_runs.resamples) end as p
      from metrics m
    ), holm as (
      select t.*, least(1, max(t.p * (t.k - t.i + 1)) over (order by t.i)) as p_holm from (
        select t.*, row_number() over (order by t.p, t.metric collate "C") as i,
          count(*) over () as k from tested t) t
    ), judged as (
      select h.metric, case
          when v_differ <> '{}' then 'incomparable' when v_run.stale_labels > 0
            or v_baseline.stale_labels > 0 then 'stale_labels'
          when h.sd = 0 and h.mean = 0 then 'within_noise'
          when h.p_holm <= 0.05 and h.mean > h.bound then 'improved' when h.p_holm <= 0.05
            and h.mean < -h.bound then 'regressed'
          when h.p_holm <= 0.05 or (abs(h.mean) <= h.bound and h.mde <= h.bound) then 'within_noise'
          else 'inconclusive' end as verdict,
        h.a, h.b, h.mean, s.low, h.p, h.p_holm, h.mde, h.n, s.high, h.bound
      from holm h cross join lateral ragdb_internal.bootstrap(h.differences,
        compare_runs.seed || ':' || h.metric,
        case when h.sd = 0 then 1 else compare_runs.resamples end) s
    )
    select null::text, case
        when v_differ <> '{}' then 'incomparable' when v_run.stale_labels > 0
          or v_baseline.stale_labels > 0 then 'stale_labels'
        when v_broken <> '{}' or exists (select from judged j where j.verdict = 'regressed')
          then 'regressed'
        when exists (select from judged j where j.verdict = 'improved') then 'improved'
        when exists (select from judged j where j.verdict = 'inconclusive') then 'inconclusive'
          else 'within_noise' end,
      null::float8, null::float8, null::float8, null::float8, null::float8, null::float8,
        null::float8, null::float8, v_run.cases,
      nullif(concat_ws('; ', 'differ in: ' || nullif(array_to_string(v_differ, ', '), ''),
        'passed before and fails now: ' || nullif(array_to_string(v_broken[:5], ' | '), ''),
        case when cardinality(v_broken) > 5 then format('and %s more', cardinality(v_broken) - 5)
          end), '')
    union all
    (select j.metric, j.verdict, j.a, j.b, j.mean, j.low, j.high, j.p, j.p_holm, j.mde, j.n,
      case j.verdict when 'inconclusive'
        then format('effects below %s cannot be told from noise by %s cases',
          to_char(j.mde, 'FM0.0000'), j.n) end
    from judged j order by j.metric collate "C");
end $$;
comment on function ragdb.compare_runs(uuid, uuid, text, integer, float8) is
  'Compares a run with a baseline: the verdict of all (metric null) and of each metric, improved, '
  'regressed, within_noise, inconclusive, incomparable, stale_labels or no_baseline. A required '
  'assertion that passed and fails now is a regression; a metric is one by a paired sign-flip test '
  '(resamples 100 to 100000, decided by the seed, Holm over metrics) beyond the tolerance (0 to 1, '
  'at least 2 % of the baseline). Raises RG400, RG443.';
