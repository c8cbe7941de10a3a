-- Breaches of the rules about evaluations: their cases, assertions and answer contracts.

-- Returns the evaluations and cases that lack what their other keys need.
create or replace function ragdb_internal.breaches_of_evals(items ragdb_internal.contract_item[],
  declared ragdb_internal.contract_names)
returns setof ragdb_internal.breach
language sql immutable parallel safe
begin atomic
  select ragdb_internal.breach('rag-eval-mode-required', n, 'mode')
  from pg_catalog.unnest(items) n
  where n.node = 'ragEval' and not n.keys ? 'mode'
    and n.node_no in (select c.parent_no from pg_catalog.unnest(items) c where c.node = 'ragCase')
  union all
  select ragdb_internal.breach('rag-eval-threshold-without-metric', n, 'threshold')
  from pg_catalog.unnest(items) n
  where n.node = 'ragEval' and n.keys ? 'threshold' and not n.keys ? 'metric'
  union all
  select ragdb_internal.breach('rag-eval-threshold-vacuous', n, 'threshold')
  from pg_catalog.unnest(items) n
  where n.node = 'ragEval' and ragdb_internal.number(n.keys ->> 'threshold', 0, 1) = 0
  union all
  select ragdb_internal.breach('rag-case-sources-require-citations', n, 'sources')
  from pg_catalog.unnest(items) n
  where n.node = 'ragCase' and n.keys ? 'sources' and n.rag is not null
    and n.rag <> all ((declared).citing_rags)
  union all
  select ragdb_internal.breach('rag-case-policy-requires-anchor', n, 'policy')
  from pg_catalog.unnest(items) n
  where n.node = 'ragCase' and n.keys ? 'policy' and not n.keys ? 'anchor';
end;

-- Returns the assertions of an unknown kind, and those whose keys are not those of their kind. A
-- kind that is unknown breaks that rule alone.
create or replace function ragdb_internal.breaches_of_kinds(items ragdb_internal.contract_item[])
  returns setof ragdb_internal.breach
language sql immutable parallel safe
begin atomic
  with kinds as materialized (
    select k as kind, k.kind as name, k.property, k.is_frozen, k.meaning,
      pg_catalog.string_to_array(pg_catalog.concat_ws(' ', k.property, k.option), ' ') as taken
    from ragdb_internal.assertion_kinds() k
  ), assertions as materialized (
    select n as item, n.keys, k.*
    from pg_catalog.unnest(items) n left join kinds k on k.name = n.keys ->> 'kind'
    where n.node = 'ragAssert' and (n.keys ->> 'kind') ~ '\S'
  )
  select ragdb_internal.breach('rag-assert-kind-invalid', a.item, 'kind',
    array[ragdb_internal.quote(a.keys ->> 'kind')],
    ragdb_internal.meant_name(pg_catalog.row_number() over (order by (a.item).node_no),
      a.keys ->> 'kind', array(select k.name from kinds k)),
    'unknown-kind')
  from assertions a where a.name is null
  union all
  select ragdb_internal.breach(p.rule, a.item, p.property, array[a.name, p.property, a.meaning],
    words => 'property-missing')
  from assertions a
    join (values
      ('value', 'rag-assert-value-required'),
      ('threshold', 'rag-assert-threshold-required'),
      ('count', 'rag-assert-count-invalid'),
      ('valueMs', 'rag-assert-value-ms-invalid')
    ) p (property, rule) on p.property = any (pg_catalog.string_to_array(a.property, ' '))
  where (a.keys ->> p.property) ~ '\S' is not true
  union all
  select ragdb_internal.breach('rag-assert-property-unused', a.item, u.property,
    array[a.name, u.property, coalesce('it takes ' || a.property, 'it takes none')])
  from assertions a
    cross join (values ('value'), ('threshold'), ('count'), ('valueMs'), ('quantifier'))
      u (property)
  where a.keys ? u.property and u.property <> all (a.taken)
  union all
  select ragdb_internal.breach('rag-assert-negate-invalid', a.item, 'negate', array[a.name])
  from assertions a where a.keys ? 'negate' and a.is_frozen;
end;

-- Returns the assertions of a known kind whose value cannot pass, cannot fail or cannot be read.
create or replace function ragdb_internal.breaches_of_assertions(
  items ragdb_internal.contract_item[], declared ragdb_internal.contract_names)
returns setof ragdb_internal.breach
language sql immutable parallel safe
begin atomic
  with assertions as materialized (
    select n as item, n.rag, k.*, k as named, n.keys ->> 'value' as value,
      ragdb_internal.whole(n.keys ->> 'count', 0, 1e6) as count,
      ragdb_internal.number(n.keys ->> 'threshold', 0, 1) as threshold
    from pg_catalog.unnest(items) n
      join ragdb_internal.assertion_kinds() k on k.kind = n.keys ->> 'kind'
    where n.node = 'ragAssert'
  )
  select ragdb_internal.breach('rag-assert-citations-require-grounding', a.item, 'kind')
  from assertions a
  where a.kind = 'citesRequired' and a.rag is not null and a.rag <> all ((declared).citing_rags)
  union all
  select ragdb_internal.breach('rag-assert-count-invalid', a.item, 'count', array[a.kind],
    words => 'count-of-places-is-0')
  from assertions a where a.count = 0 and ragdb_internal.counts_places(a.named)
  union all
  select ragdb_internal.breach('rag-assert-chunk-hash-invalid', a.item, 'value')
  from assertions a
  where a.seeks = 'hash' and a.value ~ '\S' and a.value !~ '^[0-9a-fA-F]{32,128}$'
  union all
  select ragdb_internal.breach('rag-assert-glob-invalid', a.item, 'value')
  from assertions a where a.seeks in ('glob', 'item') and ragdb_internal.is_long_glob(a.value)
  union all
  select ragdb_internal.breach('rag-assert-value-invalid', a.item, 'value')
  from assertions a
  where a.kind = 'orderedBefore' and pg_catalog.cardinality(ragdb_internal.list(a.value)) <> 2
  union all
  select ragdb_internal.breach('rag-assert-value-invalid', a.item, 'value', array[a.kind],
    words => 'list-is-empty')
  from assertions a
  where a.kind <> 'orderedBefore' and a.splits and a.value ~ '\S'
    and ragdb_internal.list(a.value) = '{}'
  union all
  select ragdb_internal.breach('rag-assert-vacuous', a.item, details => array[a.kind])
  from assertions a
  where a.vacuous_at_0 and case a.property when 'count' then a.count else a.threshold end = 0;
end;

-- Returns the answer contracts and spans that cannot hold: spans outside the answer, too few of
-- them, or citations that the rag does not require.
create or replace function ragdb_internal.breaches_of_answers(items ragdb_internal.contract_item[],
  declared ragdb_internal.contract_names)
returns setof ragdb_internal.breach
language sql immutable parallel safe
begin atomic
  with spans as materialized (
    select n as item, n.parent_no,
      ragdb_internal.whole(n.keys ->> 'start', 0, 1e8)::integer as start_offset,
      ragdb_internal.whole(n.keys ->> 'end', 0, 1e8)::integer as end_offset,
      pg_catalog.length(p.keys ->> 'answer') as answer_length
    from pg_catalog.unnest(items) n
      join pg_catalog.unnest(items) p on p.node_no = n.parent_no and p.node = 'ragAnswerContract'
    where n.node = 'answerSpan'
  ), covered as materialized (
    select s.parent_no,
      pg_catalog.range_agg(pg_catalog.int4range(s.start_offset, s.end_offset)) as spans
    from spans s where s.start_offset < s.end_offset group by s.parent_no
  )
  select ragdb_internal.breach('rag-answer-contract-citations-require-grounding', n,
    'requireCitations')
  from pg_catalog.unnest(items) n
  where n.node = 'ragAnswerContract' and n.keys ->> 'requireCitations' = 'true'
    and n.rag is not null and n.rag <> all ((declared).citing_rags)
  union all
  select ragdb_internal.breach('rag-answer-span-range-invalid', s.item, 'end',
    array[s.start_offset::text, s.end_offset::text, coalesce(s.answer_length, 0)::text],
    words => 'span-outside-answer')
  from spans s
  where s.start_offset >= s.end_offset
    or s.start_offset is not null and s.end_offset > s.answer_length
  union all
  select ragdb_internal.breach('rag-answer-contract-grounding-coverage-insufficient', n,
    'minGroundingCoverage',
    array[a.covered::text, a.total::text, n.keys ->> 'minGroundingCoverage'])
  from pg_catalog.unnest(items) n
    left join covered c on c.parent_no = n.node_no
    cross join lateral (select pg_catalog.left(n.keys ->> 'answer', 100000) as text) t
    cross join lateral (
      select pg_catalog.length(ragdb_internal.without_space(t.text)) as total,
        ragdb_internal.covered_characters(t.text, c.spans) as covered) a
  where n.node = 'ragAnswerContract' and n.keys ->> 'allowAbstain' is distinct from 'true'
    and ragdb_internal.number(n.keys ->> 'minGroundingCoverage', 0, 1)
      > a.covered::float8 / nullif(a.total, 0);
end;
