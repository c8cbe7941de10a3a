-- What cases and runs measure.

-- Tells whether the outcome of an assertion is part of the hit rate. Finding nothing where nothing
-- is expected is not a hit.
create or replace function ragdb_internal.counts_as_hit(kind text, code text, expected jsonb)
  returns boolean
language sql immutable parallel safe
return code in ('PASS', 'ASSERTION_FAIL')
  and kind in ('expected.minScore', 'expected.chunkCount', 'expected.sources', 'scoreGte',
    'scoreLte', 'contains', 'sourceEq', 'sourceGlob', 'uniqueSourcesGte', 'chunkCountEq',
    'chunkHash')
  and not (kind in ('expected.chunkCount', 'chunkCountEq', 'uniqueSourcesGte')
    and expected #>> '{}' = '0');

-- Returns the mean of some measures, computed of decimal numbers: the sum of the floats 0.6, 0.8
-- and 1 is too small, and their mean would miss a threshold of 0.8.
create or replace function ragdb_internal.mean(measures float8[]) returns float8
language sql immutable parallel safe
set extra_float_digits = 1
return (select pg_catalog.avg(m::text::numeric)::float8 from pg_catalog.unnest(measures) m);

-- Returns the metrics of some cases; the rank metrics, where a case has a label, at 5, 10 and the
-- depth of the metric that the run is judged by (null: none). Case 0 is the run. The hit rate and
-- the grounding are KERN's; the rank metrics those of trec_eval, and 0 where the retriever raised.
create or replace function ragdb_internal.case_measures(
  cases ragdb_internal.eval_case[], hits ragdb_internal.eval_hit[],
  items ragdb_internal.eval_item[], grades jsonb, results ragdb_internal.eval_assert_result[],
  metric text)
returns setof ragdb_internal.eval_measure
language sql stable parallel safe
begin atomic
  with r as materialized (select u.* from pg_catalog.unnest(results) u),
  h as materialized (select u.case_no, u.score, ragdb_internal.is_cited(u.citation) as is_cited
    from pg_catalog.unnest(hits) u),
  ranked as materialized (
    select c.case_no, ragdb_internal.case_grades(case_measures.grades, c.case_no) as grades,
      coalesce(i.items, '{}') as items
    from pg_catalog.unnest(cases) c
      left join (select u.case_no, pg_catalog.array_agg(u order by u.rank) as items
        from pg_catalog.unnest(items) u group by u.case_no) i on i.case_no = c.case_no
    where grades ? c.case_no::text
  )
  select r.case_no, 'hit_rate', pg_catalog.avg(r.passed::integer)::float8 from r
    where ragdb_internal.counts_as_hit(r.kind, r.code, r.expected) group by r.case_no
  union all select h.case_no, 'citation_coverage', pg_catalog.avg(h.is_cited::integer)::float8
    from h group by h.case_no
  union all select h.case_no, 'min_relevance', pg_catalog.min(h.score) from h group by h.case_no
  union all select r.case_no, 'grounding', pg_catalog.bool_and(r.passed)::integer::float8 from r
    where r.kind = 'citesRequired' group by r.case_no
  union all
  select k.case_no, m.metric || case when m.k < 1000000 then '@' || m.k else '' end,
    ragdb_internal.rank_metric(m.metric, m.k, k.items, k.grades)
  from ranked k cross join (
    select x.metric, d.k
      from pg_catalog.unnest(array['recall', 'precision', 'ndcg', 'judged']) x (metric)
      cross join (select distinct v.k
        from (values (5), (10), (coalesce(nullif(pg_catalog.split_part(
          case_measures.metric, '@', 2), '')::integer, 10))) v (k)) d
    union all select x.metric, 1000000 from pg_catalog.unnest(array['mrr', 'map']) x (metric)) m
  where pg_catalog.jsonb_path_exists(pg_catalog.to_jsonb(k.grades), '$[*] ? (@ > 0)');
end;
