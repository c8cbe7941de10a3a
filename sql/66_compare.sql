-- Comparing runs: baselines, a paired test whose every bit is fixed by its seed, verdicts.

create or replace function ragdb.bless_run(run_id uuid, name text default 'main',
  reason text default null) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  if name is null or length(name) not between 1 and 64 then
    raise exception 'name is %', ragdb._quote(name)
      using errcode = 'RG400', detail = 'a baseline has a name of 1 to 64 characters',
        hint = 'leave it out for main';
  end if;
  if v_run.status = 'empty' then
    raise exception 'run % has no case', ragdb._quote(run_id::text)
      using errcode = 'RG442', detail = 'nothing can be compared with it',
        hint = 'bless a run that ran something';
  end if;
  perform ragdb._open_corpus(v_run.corpus, 'write');
  insert into ragdb.eval_baselines (corpus_id, rag, eval, name, run_id, blessed_at, blessed_by,
    reason)
    values (v_run.corpus_id, v_run.rag, v_run.eval, bless_run.name, v_run.run_id, ragdb._now(),
      ragdb._caller(), bless_run.reason)
    on conflict on constraint eval_baselines_name_is_unique_per_eval do update
      set run_id = excluded.run_id, blessed_at = excluded.blessed_at,
        blessed_by = excluded.blessed_by, reason = excluded.reason;
end $$;
comment on function ragdb.bless_run(uuid, text, text) is
  'Makes a run a baseline of its eval, in place of the one of that name. Raises RG400, RG401, '
  'RG442, RG443.';

create or replace function ragdb.baseline_run(rag text, eval text, name text default 'main')
  returns uuid
language sql stable parallel safe security definer
begin atomic
  select b.run_id from ragdb.eval_baselines b join ragdb.corpora c on c.corpus_id = b.corpus_id
  where b.rag = baseline_run.rag and b.eval = baseline_run.eval and b.name = baseline_run.name
    and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0;
end;
comment on function ragdb.baseline_run(text, text, text) is
  'Returns the run that is the baseline of that name of an eval; null when there is none that the '
  'caller may see.';

-- ── statistics ───────────────────────────────────────────────────────────────────────────────────

-- Values are whole billionths: sums of whole numbers do not depend on their order. The table has,
-- for every eight differences and every byte, the sum with the signs that the bits of the byte say.
create or replace function ragdb._sign_table(differences bigint[]) returns bigint[]
language sql immutable parallel safe
return array(
  select (select coalesce(
    pg_catalog.sum(case when (b >> i) & 1 = 1 then _sign_table.differences[8 * g + i + 1]
      else -_sign_table.differences[8 * g + i + 1] end), 0)::bigint
    from pg_catalog.generate_series(0, 7) i
      where 8 * g + i < pg_catalog.cardinality(_sign_table.differences))
  from pg_catalog.generate_series(0, (pg_catalog.cardinality(_sign_table.differences) - 1) / 8) g
    cross join pg_catalog.generate_series(0, 255) b
  order by g, b);
comment on function ragdb._sign_table(bigint[]) is
  'Returns, for each eight differences and each byte, their sum with the signs of its bits.';

create or replace function ragdb._random_blocks(seed text, resamples integer, blocks integer)
returns table (replicate integer, block integer, bytes bytea)
language sql immutable parallel safe
begin atomic
  select r, b, pg_catalog.sha512(s.key || pg_catalog.int4send(r) || pg_catalog.int4send(b))
  from pg_catalog.generate_series(1, _random_blocks.resamples) r
    cross join pg_catalog.generate_series(0, _random_blocks.blocks - 1) b
    cross join (select pg_catalog.sha256(pg_catalog.convert_to(_random_blocks.seed, 'UTF8')) as key
      offset 0) s
  offset 0;
end;
comment on function ragdb._random_blocks(text, integer, integer) is
  'Returns blocks of 64 random bytes for each replicate that a seed decides: sha512 of the seed''s '
  'sha256 and the two numbers.';

-- Exact for up to 16 pairs, where all signs are tried.
create or replace function ragdb._sign_flip_p(differences bigint[], seed text, resamples integer)
  returns float8
language sql immutable parallel safe
return (
  with t as materialized (
    select ragdb._sign_table(_sign_flip_p.differences) as sums,
      (pg_catalog.cardinality(_sign_flip_p.differences) + 7) / 8 as groups,
      abs((select pg_catalog.sum(d) from pg_catalog.unnest(_sign_flip_p.differences) d)) as observed
  ), flips as (
    select pg_catalog.sum(t.sums[256 * g + pg_catalog.get_byte(r.bytes, g % 64) + 1]) as total,
      pg_catalog.min(t.observed) as observed
    from t cross join lateral (
      select x.replicate, x.block, x.bytes
      from ragdb._random_blocks(_sign_flip_p.seed, _sign_flip_p.resamples, (t.groups + 63) / 64) x
      where pg_catalog.cardinality(_sign_flip_p.differences) > 16
      union all
      select i, 0, pg_catalog.substr(pg_catalog.int4send(i), 4, 1)
        || pg_catalog.substr(pg_catalog.int4send(i), 3, 1)
      from pg_catalog.generate_series(0,
        (1 << pg_catalog.cardinality(_sign_flip_p.differences)) - 1) i
      where pg_catalog.cardinality(_sign_flip_p.differences) <= 16) r
      cross join lateral pg_catalog.generate_series(64 * r.block,
        least(64 * r.block + 63, t.groups - 1)) g
    group by r.replicate
  )
  select case when pg_catalog.cardinality(_sign_flip_p.differences) <= 16
    then pg_catalog.count(*) filter (where abs(f.total) >= f.observed) / pg_catalog.count(*)::float8
    else (1 + pg_catalog.count(*) filter (where abs(f.total) >= f.observed))
      / (1 + pg_catalog.count(*))::float8 end
  from flips f);
comment on function ragdb._sign_flip_p(bigint[], text, integer) is
  'Returns the two-sided p of a paired sign-flip randomisation test of differences, in billionths; '
  'the same everywhere for the same seed.';

create or replace function ragdb._bootstrap(differences bigint[], seed text, resamples integer,
  out low float8, out high float8)
language sql immutable parallel safe
begin atomic
  select pg_catalog.percentile_disc(0.025) within
    group (order by m.total) / (1e9::float8 * pg_catalog.cardinality(_bootstrap.differences)),
    pg_catalog.percentile_disc(0.975) within
      group (order by m.total) / (1e9::float8 * pg_catalog.cardinality(_bootstrap.differences))
  from (
    select pg_catalog.sum(
      _bootstrap.differences[1
        + (256 * pg_catalog.get_byte(b.bytes, 2 * (i % 32)) + pg_catalog.get_byte(b.bytes,
          2 * (i % 32) + 1))
      % pg_catalog.cardinality(_bootstrap.differences)]) as total
    from ragdb._random_blocks(_bootstrap.seed || ':bootstrap', _bootstrap.resamples,
      (pg_catalog.cardinality(_bootstrap.differences) + 31) / 32) b
      cross join lateral pg_catalog.generate_series(32 * b.block,
        least(32 * b.block + 31, pg_catalog.cardinality(_bootstrap.differences) - 1)) i
    group by b.replicate) m;
end;
comment on function ragdb._bootstrap(bigint[], text, integer) is
  'Returns the percentile bootstrap interval (95 %) of the mean of differences, given in '
  'billionths; of up to 65,536 differences.';

create or replace function ragdb._incomparable(a ragdb.eval_runs, b ragdb.eval_runs) returns text[]
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
comment on function ragdb._incomparable(ragdb.eval_runs, ragdb.eval_runs) is
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
  v_differ := ragdb._incomparable(v_baseline, v_run);
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
          else ragdb._sign_flip_p(m.differences, compare_runs.seed || ':' || m.metric,
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
      from holm h cross join lateral ragdb._bootstrap(h.differences,
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

-- ── can the eval fail? ───────────────────────────────────────────────────────────────────────────

-- What a broken retriever would have returned for the same case. `found` has more than the
-- retriever gives, ranked on: what a retriever without its limits returns.
create or replace function ragdb._broken(mutant text, found ragdb.eval_hit[],
  given ragdb.eval_hit[], k integer, seed text) returns ragdb.eval_hit[]
language sql immutable parallel safe
return (
  select coalesce(pg_catalog.array_agg(row(x.case_no, x.n, x.chunk_id, x.source, x.text, x.citation,
    x.score, x.content_hash, x.token_count,
      x.doc_cid, x.start_offset, x.end_offset)::ragdb.eval_hit order by x.n), '{}')
  from (
    select h.case_no, h.chunk_id || case when mutant = 'stale chunk' and h.rank = 1 then ':old'
      else '' end as chunk_id,
      case when mutant = 'source lost' then '' else h.source end as source,
      case when mutant = 'stale chunk' and h.rank = 1 then 'This text was replaced.'
        when mutant = 'text lost' then '' else h.text end as text,
      case when mutant = 'citation stripped' then '{}' else h.citation end as citation,
      case mutant when 'scores doubled' then least(1, 2 * h.score)
        when 'scores halved' then h.score / 2 when 'constant score' then 0.5
        else h.score end as score,
      case when mutant = 'stale chunk' and h.rank = 1 then pg_catalog.repeat('0', 64)
        else h.content_hash end as content_hash,
      h.token_count, h.doc_cid, h.start_offset, h.end_offset,
      pg_catalog.row_number() over (order by case mutant when 'reversed order' then -h.rank
        else h.rank end,
        h.rank) as n
    from (
      select u.*, pg_catalog.row_number() over (order by case when mutant = 'random order'
        then pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(seed || u.chunk_id, 'UTF8')),
          'hex') end, u.rank) as place
      from pg_catalog.unnest(case when mutant in ('one more than topK', 'threshold ignored',
        'first result dropped', 'off by one page', 'wrong results') then found else given end) u) o
      cross join lateral (select o.case_no,
        case when mutant = 'random order' then o.place::integer else o.rank end as rank, o.chunk_id,
        o.source, o.text, o.citation,
        o.score, o.content_hash, o.token_count, o.doc_cid, o.start_offset, o.end_offset) h
    where case mutant
      when 'one more than topK' then h.rank <= k + 1
      when 'threshold ignored' then h.rank <= k
      when 'first result dropped' then h.rank between 2 and k + 1
      when 'last result dropped' then h.rank < pg_catalog.cardinality(given)
      when 'off by one page' then h.rank between k + 1 and 2 * k
      when 'wrong results' then h.rank > pg_catalog.cardinality(found) - k
        and h.rank > pg_catalog.cardinality(given)
      when 'only the first' then h.rank = 1
      when 'empty' then false
      when 'ASCII only' then h.text !~ '[^\x01-\x7f]'
      else true end
    union all
    select h.case_no, h.chunk_id || ':again', h.source, h.text, h.citation, h.score, h.content_hash,
      h.token_count, h.doc_cid, h.start_offset, h.end_offset,
      pg_catalog.cardinality(given) + h.rank
    from pg_catalog.unnest(given) h where mutant = 'every chunk twice'
  ) x);
comment on function ragdb._broken(text, ragdb.eval_hit[], ragdb.eval_hit[], integer, text) is
  'Returns what a broken retriever returns where a sound one gave `given`, the first of `found`.';

create or replace function ragdb._mutants() returns text[]
language sql immutable parallel safe
return array['reversed order', 'random order', 'first result dropped', 'last result dropped',
  'one more than topK', 'only the first', 'threshold ignored',
  'off by one page', 'wrong results', 'citation stripped', 'source lost', 'text lost',
    'stale chunk', 'scores doubled', 'scores halved', 'constant score',
  'every chunk twice', 'ASCII only', 'empty'];
comment on function ragdb._mutants() is
  'Lists the broken retrievers that evals are challenged with.';

create or replace function ragdb.challenge_eval(
  rag text, eval text default null, tags text[] default null, rerank_scores jsonb default null)
returns table (subject text, name text, applies boolean, caught boolean, count integer,
  caught_by text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting ragdb.eval_setting := ragdb._eval_setting(rag, eval, rerank_scores);
  v_corpus_id integer := (v_setting.corpus).corpus_id;
  v_case record;
  v_given ragdb.eval_retrieval;
  v_cases ragdb.eval_case[] := '{}';
  v_names text[] := '{}';
  v_given_hits ragdb.eval_hit[] := '{}';
  v_found_hits ragdb.eval_hit[] := '{}';
  v_found ragdb.eval_hit[];
  v_assertions ragdb.eval_assertion[] := '{}';
  v_labels ragdb.eval_label[] := '{}';
  v_ks integer[] := '{}';
  v_grades jsonb;
  v_mutant text;
  v_hits ragdb.eval_hit[];
  v_sound integer[];
  v_failing integer[];
  v_changed integer;
  v_catching integer[] := '{}';
begin
  perform ragdb._check_rerank_scores(v_setting);
  perform ragdb._lock_eval(v_corpus_id, v_setting.eval, false);
  for v_case in select c.* from ragdb._eval_cases(v_setting.eval, v_corpus_id, tags) c
    order by c.case_no limit 500 loop
    v_given := ragdb._retrieve_case(v_setting, v_case.case_no, v_case.name, v_case.query, v_case.k,
      v_case.min_score, v_case.anchor, v_case.policy);
    v_cases := v_cases || v_given.outcome;
    v_names := v_names || v_case.name;
    v_ks := v_ks || coalesce(v_case.k, (v_setting.settings).k);
    v_given_hits := v_given_hits || v_given.hits;
    -- without limits; not recorded, because nobody was given it
    v_found := array(
      select row(v_case.case_no, row_number() over (order by r.rank nulls last, h.rank)::integer,
        h.chunk_id, h.source, h.text, coalesce(h.citation, jsonb_build_object('uri', h.source)),
        h.score, h.content_hash,
        c.token_count, h.doc_cid, h.start_offset, h.end_offset)::ragdb.eval_hit
      from ragdb.search((v_setting.settings).corpus, v_case.query,
        case when (v_setting.settings).reranker is null
          then least(1000, 3 * v_ks[v_case.case_no] + 1)
            else ragdb.rerank_depth(v_ks[v_case.case_no]) end, (v_setting.settings).mode, 0) h
        join ragdb.chunks c on c.corpus_id = v_corpus_id and c.chunk_id = h.chunk_id
        left join ragdb.retrieval_reranks r on r.corpus_id = v_corpus_id
          and r.trace_id = (v_given.outcome).trace_id
          and r.created_at = ragdb._uuid_time((v_given.outcome).trace_id)
            and r.chunk_id = h.chunk_id
      where (v_given.outcome).error is null);
    v_found_hits := v_found_hits || v_found;
    v_assertions := v_assertions
      || array(select a from ragdb._typed_assertions(v_case.case_no, v_case.expected,
        v_case.asserts) a where a.kind <> 'latencyLte');
    v_labels := v_labels
      || array(select l from ragdb._case_labels(v_setting.eval, v_corpus_id, v_case.case_no,
        v_case.name, v_case.expected, v_case.is_imported) l);
  end loop;
  v_labels := ragdb._resolved_labels(v_corpus_id, v_labels);
  v_grades := ragdb._label_grades(v_labels);
  -- only a case that passes can notice anything
  v_sound := array(select c.case_no from unnest(v_cases) c except
    select r.case_no from ragdb._assert_results(v_cases, v_given_hits,
      array(select i from ragdb._label_items(v_corpus_id, v_given_hits, v_labels) i), v_grades,
      v_assertions) r
    where ragdb._fails_case(r));
  foreach v_mutant in array ragdb._mutants() loop
    select coalesce(array_agg(b order by b.case_no, b.rank), '{}') into v_hits
      from unnest(v_cases) c
        cross join lateral (select array_agg(f order by f.rank) as hits from unnest(v_found_hits) f
          where f.case_no = c.case_no) f
        cross join lateral (select array_agg(g order by g.rank) as hits from unnest(v_given_hits) g
          where g.case_no = c.case_no) g
        cross join lateral unnest(ragdb._broken(v_mutant, coalesce(f.hits, '{}'),
          coalesce(g.hits, '{}'), v_ks[c.case_no], c.query)) b;
    select count(*) into v_changed from (
      select h.case_no, array_agg(h order by h.rank) as hits from unnest(v_hits) h group by 1) a
      full join (select h.case_no, array_agg(h order by h.rank) as hits from unnest(v_given_hits) h
        group by 1) b on b.case_no = a.case_no
      where a.hits is distinct from b.hits and coalesce(a.case_no, b.case_no) = any (v_sound);
    v_failing := array(
      select distinct r.case_no
        from ragdb._assert_results(v_cases, v_hits,
          array(select i from ragdb._label_items(v_corpus_id, v_hits, v_labels) i), v_grades,
          v_assertions) r
      where ragdb._fails_case(r) and r.case_no = any (v_sound));
    v_catching := v_catching || v_failing;
    subject := 'retriever';
    name := v_mutant;
    applies := v_changed > 0;
    caught := v_failing <> '{}';
    count := cardinality(v_failing);
    caught_by := (select string_agg(v_names[n.case_no], ', ' order by n.case_no)
      from (select f.case_no from unnest(v_failing) f (case_no) order by 1 limit 5) n);
    return next;
  end loop;
  return query
    select 'case', v_names[c.case_no], c.case_no = any (v_sound), false, 0,
      case when c.case_no = any (v_sound) then 'no broken retriever'
        else 'it fails with the sound one' end
    from unnest(v_cases) c where c.case_no <> all (v_catching) order by c.case_no;
end $$;
comment on function ragdb.challenge_eval(text, text, text[], jsonb) is
  'Runs an eval (its first 500 cases) against 19 broken retrievers: a row for each, whether it '
  'changes any result of a case that passes (applies) and whether cases fail then (caught, count), '
  'and a row for each case that catches none; rerank_scores is that of ragdb.run_eval. Raises '
  'RG404, RG415, RG417, RG441, RG442.';
