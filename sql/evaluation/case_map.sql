-- Lower case of only those letters that a text can be found by: all of Unicode's for every chunk
-- costs milliseconds each.
create or replace function ragdb_internal.case_map(needle text) returns text[]
language sql immutable parallel safe
return case when pg_catalog.octet_length(needle) = pg_catalog.length(needle) then array['', '']
  else (
  select array[coalesce(pg_catalog.string_agg(u.capital, '' order by u.n), ''),
    coalesce(pg_catalog.string_agg(l.small, '' order by u.n), '')]
  from pg_catalog.string_to_table(ragdb_internal.capitals(), null) with ordinality u (capital, n)
    join pg_catalog.string_to_table(ragdb_internal.smalls(), null) with ordinality l (small, n) on l.n = u.n
  where pg_catalog.strpos(needle, u.capital) > 0 or pg_catalog.strpos(needle, l.small) > 0) end;
comment on function ragdb_internal.case_map(text) is
  'Returns the capitals that matter for finding a text in any case, and their small letters '
  '(Unicode 15.0, beyond ASCII).';

create or replace function ragdb_internal.any_case(text text, map text[]) returns text
language sql immutable parallel safe
return pg_catalog.translate(pg_catalog.lower(any_case.text collate "C"), any_case.map[1],
  any_case.map[2]);
comment on function ragdb_internal.any_case(text, text[]) is
  'Returns a text in lower case: ASCII, and the letters of a map.';

-- What is written in a contract or in JSON, as typed assertions. The fields of the case come first.
create or replace function ragdb_internal.typed_assertions(case_no integer, expected jsonb, asserts jsonb)
returns setof ragdb_internal.eval_assertion
language sql stable parallel safe
begin atomic
  select typed_assertions.case_no, pg_catalog.row_number() over (order by x.ord, x.n)::integer,
    x.kind, k.property,
    case when x.json_type in ('string', 'number') then coalesce(x.a ->> 'value', x.value) end,
    ragdb_internal.number(coalesce(case k.property when 'valueMs' then x.a ->> 'valueMs'
      else x.a ->> 'threshold' end, x.a ->> 'value', x.value), null, null),
    ragdb_internal.whole(coalesce(x.a ->> 'count', x.a ->> 'value', x.value), null, null),
    x.required, coalesce(x.a ->> 'negate' = 'true', false), coalesce(x.a ->> 'quantifier', 'any'),
    x.expected
  from (
    select 0 as ord, e.n, e.kind, null::jsonb as a, expected ->> e.key as value,
      'string' as json_type, true as required, expected -> e.key as expected
    from (values (1, 'topK', 'expected.topK'), (2, 'minScore', 'expected.minScore'),
      (3, 'chunkCount', 'expected.chunkCount'),
      (4, 'sources', 'expected.sources')) e (n, key, kind)
    where pg_catalog.jsonb_typeof(expected -> e.key) <> 'null'
      and not (e.key = 'sources' and expected -> e.key = '[]')
    union all
    select 1, j.n, coalesce(j.a ->> 'kind', ''), j.a, null,
      pg_catalog.jsonb_typeof(coalesce(j.a -> 'value', '""')),
      coalesce(j.a ->> 'required' = 'true', false),
      coalesce(j.a -> 'value', j.a -> 'threshold', j.a -> 'count', j.a -> 'valueMs')
    from pg_catalog.jsonb_array_elements(coalesce(asserts, '[]')) with ordinality j (a, n)
  ) x left join ragdb_internal.assertion_kinds() k on k.kind = x.kind;
end;
comment on function ragdb_internal.typed_assertions(integer, jsonb, jsonb) is
  'Returns the assertions of a case: its own fields topK, minScore, chunkCount and sources first, '
  'then the listed ones.';

create or replace function ragdb_internal.dcg(gain float8, rank integer) returns float8
language sql immutable parallel safe
return dcg.gain / (pg_catalog.ln(dcg.rank + 1::float8) / pg_catalog.ln(2::float8));
comment on function ragdb_internal.dcg(float8, integer) is
  'Returns a gain at a rank, discounted by log2(rank + 1).';

-- The definitions of trec_eval: the gain is the grade, and what nobody judged counts 0. grades are
-- those of all labels, best first.
create or replace function ragdb_internal.rank_metric(metric text, k integer, items ragdb_internal.eval_item[],
  grades integer[]) returns float8
language sql immutable parallel safe
return (
  select case metric
    when 'recall' then r.found::float8 / r.relevant
    when 'precision' then r.found::float8 / nullif(k, 0)
    when 'hit' then least(r.found, 1)::float8
    when 'mrr' then coalesce(1::float8 / r.first, 0)
    when 'judged' then coalesce(r.judged::float8 / nullif(r.shown, 0), 0)
    when 'map' then coalesce(r.precisions / r.relevant, 0)
    when 'ndcg' then coalesce(r.dcg / (
      select pg_catalog.sum(ragdb_internal.dcg(g.grade, g.n::integer) order by g.n)
      from pg_catalog.unnest(grades) with ordinality g (grade, n) where g.n <= k and g.grade > 0),
        0)
  end
  from (
    select (select pg_catalog.count(*) from pg_catalog.unnest(grades) g where g > 0) as relevant,
      pg_catalog.count(*) as shown, pg_catalog.count(i.grade) as judged,
      pg_catalog.count(*) filter (where i.grade > 0) as found,
        pg_catalog.min(i.rank) filter (where i.grade > 0) as first,
      pg_catalog.sum(ragdb_internal.dcg(i.grade, i.rank) order by i.rank) filter (where i.grade > 0) as dcg,
      pg_catalog.sum(i.nth::float8 / i.rank order by i.rank) filter (where i.grade > 0)
        as precisions
    from (select u.*, pg_catalog.count(*) filter (where u.grade > 0) over (order by u.rank) as nth
      from pg_catalog.unnest(items) u) i
    where i.rank <= k
  ) r
  where r.relevant > 0);
comment on function ragdb_internal.rank_metric(text, integer, ragdb_internal.eval_item[], integer[]) is
  'Returns recall, precision, hit, mrr, judged, map or ndcg of the first k items, given the grades '
  'of all labels, best first; null without a label over 0.';

create or replace function ragdb_internal.shown(number float8) returns text
language sql stable parallel safe
return pg_catalog.to_jsonb(shown.number)::text;
comment on function ragdb_internal.shown(float8) is
  'Returns a number as a message shows it, the same under every setting.';

create or replace function ragdb_internal.fails_case(result ragdb_internal.eval_assert_result) returns boolean
language sql immutable parallel safe
return not (result).passed and ((result).required or (result).code <> 'ASSERTION_FAIL');
comment on function ragdb_internal.fails_case(ragdb_internal.eval_assert_result) is
  'Whether an outcome fails its case: a failed assertion that is not required is advisory.';
