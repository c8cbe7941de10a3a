-- What assertions are tested by: the hits of each case summed up, what the sought texts were found
-- in, the metric of its labels. Set-based: all cases of a batch at once, and whatever is asked of
-- single chunks is one join, so that a thousand cases cost no more than their chunks.

-- An assertion with its kind and all that it is tested by: the case; how many hits it has, from how
-- many sources, cited, with how many tokens, at most how many of a source, their scores and ids;
-- how many hits have what is sought, at which rank first, whether all of it is found, and the ranks
-- of its first two parts; the metric of its labels.
create type ragdb_internal.judged_assertion as (
  -- the assertion, and its kind
  case_no integer, assert_no integer, kind text, property text, value text, number float8,
  count bigint, required boolean, negate boolean, quantifier text, expected jsonb,
  is_known boolean, expectation text, measures text, seeks text, needs text,
  counts_places boolean, listed text[],
  -- the case
  fact_id text, query text, elapsed_ms float8, trace_id uuid, answer jsonb,
  -- its hits
  n bigint, low float8, high float8, sources bigint, cited bigint, tokens bigint, first float8,
  second float8, first_source text, source_list text[], chunk_ids text[], most bigint,
  -- what is sought in them
  hits bigint, first_rank integer, all_found boolean, rank1 integer, rank2 integer,
  metric float8);

-- Returns a number as a message shows it; the caller sets extra_float_digits.
create or replace function ragdb_internal.shown(number float8) returns text
language sql stable parallel safe
return pg_catalog.to_jsonb(shown.number)::text;

-- Returns the elements of a JSON array as texts.
create or replace function ragdb_internal.texts(list jsonb) returns text[]
language sql immutable parallel safe
return array(
  select e.text from pg_catalog.jsonb_array_elements_text(texts.list) with ordinality e (text, n)
  order by e.n);

-- Lists the fields of a case that assert something, each with the kind that it is tested as and
-- what its message expects (as ragdb_internal.assertion_kinds has it, and for the eighth its list).
create or replace function ragdb_internal.case_fields()
returns table (n integer, key text, kind text, expectation text)
language sql immutable parallel safe
begin atomic
  select * from (values
    (1, 'topK', 'expected.topK', 'expected at most %2$s chunks'),
    (2, 'minScore', 'expected.minScore', 'expected all retrieved chunks to score >= %3$s'),
    (3, 'chunkCount', 'expected.chunkCount', 'expected %2$s chunks'),
    (4, 'sources', 'expected.sources', 'expected retrieved chunks to cover only sources %8$s')
  ) as f (n, key, kind, expectation);
end;

-- Returns the assertions of a case: its own fields topK, minScore, chunkCount and sources first,
-- then the listed ones. What is written in a contract or in JSON, as typed assertions. The fields
-- of the case come first.
create or replace function ragdb_internal.typed_assertions(case_no integer, expected jsonb,
  asserts jsonb)
returns setof ragdb_internal.eval_assertion
language sql stable parallel safe
begin atomic
  select typed_assertions.case_no, pg_catalog.row_number() over (order by x.ord, x.n)::integer,
    x.kind, k.property,
    case when x.json_type in ('string', 'number', 'boolean')
      then coalesce(x.a ->> 'value', x.value) end,
    ragdb_internal.number(coalesce(case k.property when 'valueMs' then x.a ->> 'valueMs'
      else x.a ->> 'threshold' end, x.a ->> 'value', x.value), null, null),
    ragdb_internal.whole(coalesce(x.a ->> 'count', x.a ->> 'value', x.value), null, null),
    x.required, coalesce(x.a ->> 'negate' = 'true', false), coalesce(x.a ->> 'quantifier', 'any'),
    x.expected
  from (
    select 0 as ord, f.n, f.kind, null::jsonb as a, expected ->> f.key as value,
      'string' as json_type, true as required, expected -> f.key as expected
    from ragdb_internal.case_fields() f
    where pg_catalog.jsonb_typeof(expected -> f.key) <> 'null'
      and not (f.key = 'sources' and expected -> f.key = '[]')
    union all
    select 1, j.n, coalesce(j.a ->> 'kind', ''), j.a, null,
      pg_catalog.jsonb_typeof(coalesce(j.a -> 'value', '""')),
      coalesce(j.a ->> 'required' = 'true', false),
      coalesce(j.a -> 'value', j.a -> 'threshold', j.a -> 'count', j.a -> 'valueMs')
    from pg_catalog.jsonb_array_elements(coalesce(asserts, '[]')) with ordinality j (a, n)
  ) x left join ragdb_internal.assertion_kinds() k on k.kind = x.kind;
end;

-- Returns what the hits of each case amount to.
create or replace function ragdb_internal.hit_summaries(hits ragdb_internal.eval_hit[])
returns table (case_no integer, n bigint, low float8, high float8, sources bigint, cited bigint,
  tokens bigint, first float8, second float8, first_source text, source_list text[],
  chunk_ids text[], most bigint)
language sql immutable parallel safe
begin atomic
  with h as materialized (
    select u.*, ragdb_internal.is_cited(u.citation) as is_cited from pg_catalog.unnest(hits) u
  ), most as materialized (
    select m.case_no, pg_catalog.max(m.n) as n
    from (
      select h.case_no, pg_catalog.count(*) as n from h group by h.case_no, h.source) m
    group by m.case_no
  ), summary as materialized (
    select h.case_no, pg_catalog.count(*) as n, pg_catalog.min(h.score) as low,
      pg_catalog.max(h.score) as high, pg_catalog.count(distinct h.source) as sources,
      pg_catalog.count(*) filter (where h.is_cited) as cited,
      pg_catalog.sum(h.token_count) as tokens,
      pg_catalog.max(h.score) filter (where h.rank = 1) as first,
      pg_catalog.max(h.score) filter (where h.rank = 2) as second,
      pg_catalog.max(h.source) filter (where h.rank = 1) as first_source,
      pg_catalog.array_agg(distinct h.source) as source_list,
      pg_catalog.array_agg(h.chunk_id) as chunk_ids
    from h group by h.case_no
  )
  select s.*, m.n from summary s left join most m on m.case_no = s.case_no;
end;

-- Returns what assertions look for in single chunks: one row for each text, in its case, in lower
-- case by its map, and as a pattern.
create or replace function ragdb_internal.sought_parts(assertions ragdb_internal.eval_assertion[])
returns table (case_no integer, assert_no integer, seeks text, map text[], n bigint, part text,
  folded text, pattern text)
language sql immutable parallel safe
begin atomic
  with sought as materialized (
    select a.case_no, a.assert_no, a.value, k.seeks, k.splits,
      case when k.seeks in ('text', 'glob', 'item') then ragdb_internal.case_map(a.value) end as map
    from pg_catalog.unnest(assertions) a
      join ragdb_internal.assertion_kinds() k on k.kind = a.kind
    where k.seeks is not null and a.value <> ''
      and (k.seeks not in ('glob', 'item') or not ragdb_internal.is_long_glob(a.value))
  )
  select s.case_no, s.assert_no, s.seeks, s.map, p.n, p.part,
    ragdb_internal.any_case(p.part, s.map),
    ragdb_internal.glob_pattern(ragdb_internal.any_case(p.part, s.map))
  from sought s
    cross join lateral pg_catalog.unnest(case when s.splits then ragdb_internal.list(s.value)
      else array[s.value] end) with ordinality p (part, n);
end;

-- Returns for each assertion that looks for texts in chunks how many chunks have one and where.
create or replace function ragdb_internal.found_parts(assertions ragdb_internal.eval_assertion[],
  hits ragdb_internal.eval_hit[])
returns table (case_no integer, assert_no integer, hits bigint, first_rank integer,
  all_found boolean, rank1 integer, rank2 integer)
language sql stable parallel safe
begin atomic
  with h as materialized (
    select u.*, pg_catalog.lower(u.text collate "C") as lower_text
    from pg_catalog.unnest(found_parts.hits) u
  ), parts as materialized (
    select p.* from ragdb_internal.sought_parts(assertions) p
  ), found as materialized (
    select p.case_no, p.assert_no, p.n, pg_catalog.count(*) as hits,
      pg_catalog.min(h.rank) as first_rank
    from parts p join h on h.case_no = p.case_no
    where case p.seeks
      when 'text' then pg_catalog.strpos(case p.map[1] when '' then h.lower_text
        else ragdb_internal.any_case(h.text, p.map) end, p.folded) > 0
      when 'source' then h.source = p.part
      when 'glob' then ragdb_internal.any_case(h.source, p.map) like p.pattern
      when 'hash' then h.content_hash = pg_catalog.lower(p.part)
        or (pg_catalog.length(p.part) = 32
          and ragdb.kern_chunk_hash(h.text) = pg_catalog.lower(p.part))
      else h.chunk_id = p.part or ragdb_internal.any_case(h.source, p.map) like p.pattern end
    group by p.case_no, p.assert_no, p.n
  )
  select p.case_no, p.assert_no, coalesce(pg_catalog.sum(f.hits), 0)::bigint,
    pg_catalog.min(f.first_rank), pg_catalog.bool_and(f.hits is not null),
    pg_catalog.min(f.first_rank) filter (where p.n = 1),
    pg_catalog.min(f.first_rank) filter (where p.n = 2)
  from parts p
    left join found f on f.case_no = p.case_no and f.assert_no = p.assert_no and f.n = p.n
  group by p.case_no, p.assert_no;
end;

-- Returns the grades of the labels of a case, best first.
create or replace function ragdb_internal.case_grades(grades jsonb, case_no integer)
  returns integer[]
language sql immutable parallel safe
return array(
  select g.grade::integer
  from pg_catalog.jsonb_array_elements_text(grades -> case_grades.case_no::text)
    with ordinality g (grade, n)
  order by g.n);

-- Returns the assertions of the cases whose retrieval did not fail, with all that they are tested
-- by.
create or replace function ragdb_internal.judged_assertions(cases ragdb_internal.eval_case[],
  hits ragdb_internal.eval_hit[], items ragdb_internal.eval_item[], grades jsonb,
  assertions ragdb_internal.eval_assertion[])
returns setof ragdb_internal.judged_assertion
language sql stable parallel safe
begin atomic
  with ranked as materialized (
    select i.case_no, pg_catalog.array_agg(i order by i.rank) as items
    from pg_catalog.unnest(judged_assertions.items) i group by i.case_no
  )
  select a.case_no, a.assert_no, a.kind, a.property, a.value, a.number, a.count, a.required,
    a.negate, a.quantifier, a.expected, k.kind is not null or f.kind is not null,
    coalesce(k.expectation, f.expectation), k.metric, k.seeks, k.needs,
    ragdb_internal.counts_places(k), ragdb_internal.list(a.value),
    c.fact_id, c.query, c.elapsed_ms, c.trace_id, c.answer,
    coalesce(s.n, 0), s.low, s.high, coalesce(s.sources, 0), coalesce(s.cited, 0),
    coalesce(s.tokens, 0), s.first, s.second, s.first_source, coalesce(s.source_list, '{}'),
    coalesce(s.chunk_ids, '{}'), coalesce(s.most, 0),
    coalesce(t.hits, 0), t.first_rank, coalesce(t.all_found, false), t.rank1, t.rank2,
    case when k.metric is not null then ragdb_internal.rank_metric(k.metric,
      case when ragdb_internal.counts_places(k) then least(coalesce(a.count, 10), 1000000)::integer
        else 1000000 end,
      coalesce(r.items, '{}'), ragdb_internal.case_grades(grades, a.case_no)) end
  from pg_catalog.unnest(assertions) a
    -- as `is null` the planner takes it for rare, and joins all that follows row by row
    join pg_catalog.unnest(cases) c on c.case_no = a.case_no
      and pg_catalog.num_nonnulls(c.error) < 1
    left join ragdb_internal.assertion_kinds() k on k.kind = a.kind
    left join ragdb_internal.case_fields() f on f.kind = a.kind
    left join ragdb_internal.hit_summaries(judged_assertions.hits) s on s.case_no = a.case_no
    left join ragdb_internal.found_parts(assertions, judged_assertions.hits) t
      on t.case_no = a.case_no and t.assert_no = a.assert_no
    left join ranked r on r.case_no = a.case_no
  -- not to be merged with what reads it: each column is worked out once
  offset 0;
end;
