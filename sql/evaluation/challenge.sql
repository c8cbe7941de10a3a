-- Challenges of an eval: whether its cases notice broken retrievers.

-- A case, what its retriever gave, and what it would have given without its limits.
create type ragdb_internal.challenged_case as (
  case_no integer, name text, query text, k integer, outcome ragdb_internal.eval_case,
  given ragdb_internal.eval_hit[], found ragdb_internal.eval_hit[]);

-- Cases with all that they are judged by: assertions, labels, and the grades of these.
create type ragdb_internal.challenge as (
  corpus_id integer, cases ragdb_internal.challenged_case[],
  assertions ragdb_internal.eval_assertion[], labels ragdb_internal.eval_label[], grades jsonb);

-- Returns more hits than the retriever gives, ranked on, for a case whose retrieval did not fail.
-- Not recorded, because nobody was given it.
create or replace function ragdb_internal.hits_without_limits(setting ragdb_internal.eval_setting,
  outcome ragdb_internal.eval_case, k integer) returns ragdb_internal.eval_hit[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(outcome.case_no, row_number() over (order by r.rank nulls last, h.rank)::integer,
      h.chunk_id, h.source, h.text, h.citation, h.score, h.content_hash, c.token_count, h.doc_cid,
      h.start_offset, h.end_offset)::ragdb_internal.eval_hit
    from ragdb.search((setting.settings).corpus, outcome.query,
        case when (setting.settings).reranker is null then least(1000, 3 * k + 1)
          else ragdb.rerank_depth(k) end, (setting.settings).mode, 0) h
      cross join lateral ragdb_internal.chunk_of((setting.corpus).corpus_id, h.chunk_id) c
      left join ragdb.retrieval_reranks r on r.corpus_id = (setting.corpus).corpus_id
        and r.trace_id = outcome.trace_id
        and r.created_at = ragdb_internal.uuid_time(outcome.trace_id) and r.chunk_id = h.chunk_id
    where outcome.error is null);
end $$;

-- Retrieves the first 500 cases of an eval that have one of the tags (null: all), with what a
-- retriever without limits returns.
create or replace function ragdb_internal.new_challenge(setting ragdb_internal.eval_setting,
  tags text[]) returns ragdb_internal.challenge
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_challenge ragdb_internal.challenge := row((setting.corpus).corpus_id, '{}', '{}', '{}', null);
  v_case record;
  v_k integer;
  v_retrieved ragdb_internal.eval_retrieval;
begin
  for v_case in
    select c.* from ragdb_internal.eval_cases(setting.eval, v_challenge.corpus_id, tags) c
    order by c.case_no limit 500
  loop
    v_k := coalesce(v_case.k, (setting.settings).k);
    v_retrieved := ragdb_internal.retrieve_case(setting, v_case.case_no, v_case.name, v_case.query,
      v_case.k, v_case.min_score, v_case.anchor, v_case.policy);
    v_challenge.cases := v_challenge.cases || row(v_case.case_no, v_case.name, v_case.query, v_k,
      v_retrieved.outcome, v_retrieved.hits, ragdb_internal.hits_without_limits(setting,
        v_retrieved.outcome, v_k))::ragdb_internal.challenged_case;
    v_challenge.assertions := v_challenge.assertions || array(
      select a from ragdb_internal.typed_assertions(v_case.case_no, v_case.expected,
        v_case.asserts) a where a.kind <> 'latencyLte');
    v_challenge.labels := v_challenge.labels || array(
      select l from ragdb_internal.case_labels(setting.eval, v_challenge.corpus_id, v_case.case_no,
        v_case.name) l);
  end loop;
  v_challenge.labels :=
    ragdb_internal.resolved_labels(v_challenge.corpus_id, v_challenge.labels);
  v_challenge.grades := ragdb_internal.label_grades(v_challenge.labels);
  return v_challenge;
end $$;

-- Returns the outcomes of the assertions of all cases with these hits.
create or replace function ragdb_internal.challenge_results(challenge ragdb_internal.challenge,
  hits ragdb_internal.eval_hit[]) returns ragdb_internal.eval_assert_result[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select r
    from ragdb_internal.assert_results(
      array(select c.outcome from unnest(challenge.cases) c), challenge_results.hits,
      array(select i from ragdb_internal.label_items(challenge.corpus_id, challenge_results.hits,
        challenge.labels) i),
      challenge.grades, challenge.assertions) r);
end $$;

-- Returns the cases that fail by these outcomes.
create or replace function ragdb_internal.failing_cases(
  results ragdb_internal.eval_assert_result[]) returns integer[]
language sql immutable parallel safe
return array(
  select distinct r.case_no from pg_catalog.unnest(results) r where ragdb_internal.fails_case(r));

-- Returns what a broken retriever returns for some cases.
create or replace function ragdb_internal.mutant_hits(mutant text,
  cases ragdb_internal.challenged_case[]) returns ragdb_internal.eval_hit[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select b
    from unnest(cases) c
      cross join lateral unnest(
        ragdb_internal.broken(mutant, c.found, c.given, c.k, c.query)) b
    order by b.case_no, b.rank);
end $$;

-- Returns the cases whose hits are not those that the sound retriever gave.
create or replace function ragdb_internal.changed_cases(cases ragdb_internal.challenged_case[],
  hits ragdb_internal.eval_hit[]) returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select c.case_no
    from unnest(cases) c
      left join (
        select h.case_no, array_agg(h order by h.rank) as hits
        from unnest(changed_cases.hits) h group by 1) m on m.case_no = c.case_no
    where coalesce(m.hits, '{}') <> c.given);
end $$;

-- Returns the names of the first five of these cases, separated by commas.
create or replace function ragdb_internal.first_names(cases ragdb_internal.challenged_case[],
  case_nos integer[]) returns text
language sql immutable parallel safe
return (
  select pg_catalog.string_agg(n.name, ', ' order by n.case_no)
  from (
    select c.case_no, c.name from pg_catalog.unnest(cases) c
    where c.case_no = any (case_nos) order by c.case_no limit 5) n);

-- Returns the metric of an eval for each case that has it with these hits and their outcomes.
create or replace function ragdb_internal.challenge_measures(metric text,
  challenge ragdb_internal.challenge, hits ragdb_internal.eval_hit[],
  results ragdb_internal.eval_assert_result[])
returns setof ragdb_internal.eval_measure
language sql stable parallel safe
begin atomic
  select m.*
  from ragdb_internal.case_measures(
    array(select c.outcome from pg_catalog.unnest((challenge).cases) c), challenge_measures.hits,
    array(select i from ragdb_internal.label_items((challenge).corpus_id, challenge_measures.hits,
      (challenge).labels) i),
    (challenge).grades, challenge_measures.results, challenge_measures.metric) m
  where m.metric = challenge_measures.metric;
end;

-- Returns how the metric of an eval misses its threshold with these hits and their outcomes; null
-- where it does not, or where the eval has none. As a run does it: where many cases assert nothing
-- by themselves, what notices is the metric of all.
create or replace function ragdb_internal.gate_missed(setting ragdb_internal.eval_setting,
  challenge ragdb_internal.challenge, hits ragdb_internal.eval_hit[],
  results ragdb_internal.eval_assert_result[]) returns text
language sql stable parallel safe
return (
  select case when g.value is null then (setting).metric || ' could not be measured'
    else ragdb_internal.below_threshold((setting).metric, g.value, (setting).threshold) end
  from (
    select case (setting).metric
      when 'hit_rate' then (
        select pg_catalog.avg(r.passed::integer)::float8 from pg_catalog.unnest(results) r
        where ragdb_internal.counts_as_hit(r.kind, r.code, r.expected))
      when 'citation_coverage' then (
        select coalesce(pg_catalog.avg(ragdb_internal.is_cited(h.citation)::integer), 0)::float8
        from pg_catalog.unnest(hits) h)
      when 'min_relevance' then pg_catalog.min(m.value)
      else ragdb_internal.mean(pg_catalog.array_agg(m.value)) end as value
    from ragdb_internal.challenge_measures((setting).metric, challenge, hits, results) m) g
  where (setting).threshold > coalesce(g.value, -1));

-- Only a case that passes can notice anything, and a metric that is reached.
create or replace function ragdb.challenge_eval(
  rag text, eval text default null, tags text[] default null, rerank_scores jsonb default null)
returns table (subject text, name text, applies boolean, caught boolean, count integer,
  caught_by text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting ragdb_internal.eval_setting := ragdb_internal.locked_setting(rag, eval, rerank_scores);
  v_challenge ragdb_internal.challenge;
  v_hits ragdb_internal.eval_hit[];
  v_results ragdb_internal.eval_assert_result[];
  v_measured integer[];
  v_unsound integer[];
  v_failing integer[];
  v_catching integer[] := '{}';
begin
  perform ragdb_internal.check_rerank_scores(v_setting);
  v_challenge := ragdb_internal.new_challenge(v_setting, tags);
  v_hits := array(select h from unnest(v_challenge.cases) c cross join lateral unnest(c.given) h);
  v_results := ragdb_internal.challenge_results(v_challenge, v_hits);
  v_unsound := ragdb_internal.failing_cases(v_results);
  v_measured := array(select m.case_no from ragdb_internal.challenge_measures(v_setting.metric,
    v_challenge, v_hits, v_results) m);
  v_setting.threshold := case when ragdb_internal.gate_missed(v_setting, v_challenge, v_hits,
    v_results) is null then v_setting.threshold end;
  subject := 'retriever';
  foreach name in array ragdb_internal.mutants() loop
    v_hits := ragdb_internal.mutant_hits(name, v_challenge.cases);
    v_results := ragdb_internal.challenge_results(v_challenge, v_hits);
    v_failing := array(select f from unnest(ragdb_internal.failing_cases(v_results)) f
      where f <> all (v_unsound));
    caught_by := ragdb_internal.gate_missed(v_setting, v_challenge, v_hits, v_results);
    v_catching := v_catching || v_failing || case when caught_by is not null then v_measured end;
    applies := exists (select from unnest(ragdb_internal.changed_cases(v_challenge.cases, v_hits)) c
      where c <> all (v_unsound));
    caught := v_failing <> '{}' or caught_by is not null;
    count := cardinality(v_failing);
    caught_by := coalesce(ragdb_internal.first_names(v_challenge.cases, v_failing), caught_by);
    return next;
  end loop;
  return query
    select 'case', c.name, c.case_no <> all (v_unsound), false, 0,
      case when c.case_no <> all (v_unsound) then 'no broken retriever'
        else 'it fails with the sound one' end
    from unnest(v_challenge.cases) c where c.case_no <> all (v_catching) order by c.case_no;
end $$;
comment on function ragdb.challenge_eval is
  'Runs an eval (its first 500 cases) against 19 broken retrievers: a row for each, whether it '
  'changes any result of a case that passes (applies) and whether it is caught: cases fail then '
  '(count), or the metric of the eval misses its threshold; and a row for each case that catches '
  'none. rerank_scores is that of ragdb.run_eval. Raises RG404, RG415, RG417, RG441, RG442.';
