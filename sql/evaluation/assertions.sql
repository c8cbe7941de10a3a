-- Assertions: what each kind asks of the chunks of a case, and the answer. Set-based: all cases of
-- a batch at once.

-- Callers have checked the right to the corpus of the hits. Whatever is asked of single chunks is
-- one join of assertions and hits, so that a thousand cases cost no more than their chunks.
create or replace function ragdb_internal.assert_results(
  cases ragdb_internal.eval_case[], hits ragdb_internal.eval_hit[], items ragdb_internal.eval_item[], grades jsonb,
    assertions ragdb_internal.eval_assertion[])
returns setof ragdb_internal.eval_assert_result
language sql stable parallel restricted
begin atomic
  with h as materialized (
    select h.*, ragdb_internal.is_cited(h.citation) as is_cited,
      pg_catalog.lower(h.text collate "C") as lower_text from pg_catalog.unnest(hits) h
  ), summary as materialized (
    select h.case_no, pg_catalog.count(*) as n, pg_catalog.min(h.score) as low,
      pg_catalog.max(h.score) as high,
      pg_catalog.count(distinct h.source) as sources,
        pg_catalog.count(*) filter (where h.is_cited) as cited,
      pg_catalog.sum(h.token_count) as tokens,
      pg_catalog.max(h.score) filter (where h.rank = 1) as first,
        pg_catalog.max(h.score) filter (where h.rank = 2) as second,
      pg_catalog.max(h.source) filter (where h.rank = 1) as first_source,
      pg_catalog.array_agg(distinct h.source) as source_list,
        pg_catalog.array_agg(h.chunk_id) as chunk_ids
    from h group by h.case_no
  ), most as materialized (
    select m.case_no, pg_catalog.max(m.n) as n from (
      select h.case_no, pg_catalog.count(*) as n from h group by h.case_no, h.source) m
        group by m.case_no
  ), a as materialized (
    select a.*, k.kind is not null or a.kind like 'expected.%' as is_known,
      k.expectation, k.metric as measures, k.seeks, k.splits, k.needs,
      ragdb_internal.counts_places(k) as counts_places,
      case when k.seeks in ('text', 'glob', 'item') then ragdb_internal.case_map(a.value) end as map
    from pg_catalog.unnest(assertions) a
      left join ragdb_internal.assertion_kinds() k on k.kind = a.kind
  ), parts as materialized (
    -- what is looked for in single chunks, one row a text
    select a.case_no, a.assert_no, a.seeks, a.map, p.n, p.part,
      ragdb_internal.any_case(p.part, a.map) as folded,
      ragdb_internal.glob_pattern(ragdb_internal.any_case(p.part, a.map)) as pattern
    from a cross join lateral
      pg_catalog.unnest(case when a.splits then ragdb_internal.list(a.value)
        else array[a.value] end) with ordinality p (part, n)
    where a.seeks is not null and a.value <> ''
      and (a.seeks not in ('glob', 'item') or not ragdb_internal.is_long_glob(a.value))
  ), found as materialized (
    select p.case_no, p.assert_no, p.n, pg_catalog.count(*) as hits,
      pg_catalog.min(h.rank) as first_rank
    from parts p join h on h.case_no = p.case_no
    where case
      when p.seeks = 'text' then pg_catalog.strpos(
          case p.map[1] when '' then h.lower_text else ragdb_internal.any_case(h.text, p.map) end,
            p.folded) > 0
      when p.seeks = 'source' then h.source = p.part
      when p.seeks = 'glob' then ragdb_internal.any_case(h.source, p.map) like p.pattern
      when p.seeks = 'hash' then h.content_hash = p.part
        or (pg_catalog.length(p.part) = 32 and ragdb.kern_chunk_hash(h.text) = p.part)
      else h.chunk_id = p.part or ragdb_internal.any_case(h.source, p.map) like p.pattern end
    group by p.case_no, p.assert_no, p.n
  ), texts as materialized (
    select p.case_no, p.assert_no, coalesce(pg_catalog.sum(f.hits), 0) as hits,
      pg_catalog.min(f.first_rank) as first_rank,
      pg_catalog.bool_and(f.hits is not null) as all_found,
      pg_catalog.min(f.first_rank) filter (where p.n = 1) as rank1,
        pg_catalog.min(f.first_rank) filter (where p.n = 2) as rank2
    from parts p left join found f on f.case_no = p.case_no and f.assert_no = p.assert_no
      and f.n = p.n
    group by p.case_no, p.assert_no
  ), ranked as materialized (
    select i.case_no, pg_catalog.array_agg(i order by i.rank) as items
      from pg_catalog.unnest(items) i group by i.case_no
  ), judged as (
    select a.*, c.fact_id, c.elapsed_ms, c.trace_id, c.answer,
      coalesce(s.n, 0) as n, s.low, s.high, coalesce(s.sources, 0) as sources,
        coalesce(s.cited, 0) as cited, coalesce(s.tokens, 0) as tokens,
      s.first, s.second, s.first_source, s.source_list, coalesce(s.chunk_ids, '{}') as chunk_ids,
        coalesce(m.n, 0) as most,
      coalesce(t.hits, 0) as hits, t.first_rank, coalesce(t.all_found, false) as all_found, t.rank1,
        t.rank2,
      case when a.measures is not null then ragdb_internal.rank_metric(a.measures,
        case when a.counts_places then least(coalesce(a.count, 10), 1000000)::integer
          else 1000000 end,
        coalesce(r.items, '{}'),
          array(select g.v::integer
            from pg_catalog.jsonb_array_elements_text(grades -> a.case_no::text)
            with ordinality g (v, n) order by g.n)) end as metric,
      ragdb_internal.list(a.value) as listed
    from a join pg_catalog.unnest(cases) c on c.case_no = a.case_no
      left join summary s on s.case_no = a.case_no
      left join most m on m.case_no = a.case_no
      left join texts t on t.case_no = a.case_no and t.assert_no = a.assert_no
      left join ranked r on r.case_no = a.case_no
    where c.error is null
  ), verdicts as (
    select j.*,
      case
        when not j.is_known then 'Unsupported RAG eval assertion kind ''' || j.kind || '''.'
        when j.property = 'value' and coalesce(j.value, '') = '' then 'RAG eval assertion kind='
          || j.kind || ' requires '
          || case when j.kind in ('factId', 'chunkHash') then 'string'
            else 'non-empty string' end || ' value.'
        when j.property = 'value count' and (coalesce(j.value, '') = '' or j.count is null)
          then 'RAG eval assertion kind=' || j.kind || ' requires value and count.'
        when j.property in ('threshold', 'valueMs')
          and j.number is null then 'RAG eval assertion kind=' || j.kind
          || ' requires numeric value.'
        when (j.property = 'count' or j.kind in ('expected.topK', 'expected.chunkCount'))
          and j.count is null then 'RAG eval assertion kind=' || j.kind
          || ' requires numeric value.'
        when j.counts_places and j.count < 1 then 'RAG eval assertion kind=' || j.kind || ' counts from 1.'
        when j.kind = 'orderedBefore' and pg_catalog.cardinality(j.listed) <> 2
          then 'RAG eval assertion kind=' || j.kind || ' requires two values.'
        when j.seeks in ('glob', 'item') and ragdb_internal.is_long_glob(j.value) then
          'RAG eval assertion kind=' || j.kind
            || ' requires a glob of at most 1024 characters and 16 stars.'
        when j.kind = 'expected.minScore' and j.number is null then 'RAG eval assertion kind='
          || j.kind || ' requires numeric value.'
        when j.kind = 'expected.sources' and pg_catalog.jsonb_typeof(j.expected) <> 'array'
          then 'RAG eval assertion kind=' || j.kind || ' requires a list.'
        when j.measures is not null and j.metric is null then
          'RAG eval assertion kind=' || j.kind || ' has no label to measure by.'
        when j.needs = 'answer' and j.answer is null then
          'RAG eval assertion kind=' || j.kind
            || ' needs an answer contract with the query of the case.'
        when j.needs = 'trace' and j.trace_id is null then 'RAG eval assertion kind=' || j.kind
            || ' needs a recorded retrieval.'
      end as invalid,
      case
        when not j.is_known then null
        when j.kind = 'expected.topK' then j.n <= j.count
        when j.kind = 'expected.minScore' then j.n > 0 and j.low >= j.number
        when j.kind in ('expected.chunkCount', 'chunkCountEq') then j.n = j.count
        when j.kind = 'expected.sources' then case pg_catalog.jsonb_typeof(j.expected)
          when 'array' then j.n > 0
          and j.source_list <@ array(select e
            from pg_catalog.jsonb_array_elements_text(j.expected) e)
          and j.source_list @> array(select e
            from pg_catalog.jsonb_array_elements_text(j.expected) e) end
        when j.kind = 'scoreGte' then j.n > 0
          and case j.quantifier when 'all' then j.low else j.high end >= j.number
        when j.kind = 'scoreLte' then j.n > 0
          and case j.quantifier when 'all' then j.high else j.low end <= j.number
        when j.kind in ('contains', 'sourceEq', 'sourceGlob', 'chunkHash', 'containsAny')
          then j.hits > 0
        when j.kind = 'containsAll' then j.all_found
        when j.kind = 'uniqueSourcesGte' then j.sources >= j.count
        when j.kind = 'citesRequired' then j.n > 0 and j.cited = j.n
        when j.kind = 'factId' then j.value = j.fact_id
        when j.kind = 'latencyLte' then j.elapsed_ms <= j.number
        when j.kind = 'hitAtK' then j.metric = 1
        when j.measures is not null then j.metric >= j.number
        when j.kind = 'rankLte' then j.first_rank <= j.count
        when j.kind = 'topSourceEq' then j.first_source = j.value
        when j.kind = 'notRetrieved' then j.hits = 0
        when j.kind = 'orderedBefore' then j.rank1 < j.rank2
          or (j.rank1 is not null and j.rank2 is null)
        when j.kind = 'chunkCountGte' then j.n >= j.count
        when j.kind = 'chunkCountLte' then j.n <= j.count
        when j.kind = 'maxChunksPerSourceLte' then j.most <= j.count
        when j.kind = 'contextTokensLte' then j.tokens <= j.count
        when j.kind = 'topScoreGte' then j.first >= j.number
        when j.kind = 'scoreMarginGte' then j.first - coalesce(j.second, 0) >= j.number
        when j.kind = 'groundingCoverageGte'
          then (j.answer ->> 'groundingCoverage')::float8 >= j.number
        when j.kind = 'citationsResolve' then (j.answer ->> 'citationsResolve')::boolean
        when j.kind = 'numbersGrounded' then (j.answer ->> 'numbersGrounded')::boolean
        when j.kind = 'abstains' then (j.answer ->> 'abstained')::boolean
        else t.passed
      end as holds,
      case j.kind
        when 'expected.minScore' then pg_catalog.to_jsonb(coalesce(j.low, 0))
        when 'expected.sources' then pg_catalog.to_jsonb(coalesce(j.source_list, '{}'))
        when 'scoreGte' then pg_catalog.to_jsonb(case j.quantifier when 'all' then j.low
          else j.high end)
        when 'scoreLte' then pg_catalog.to_jsonb(case j.quantifier when 'all' then j.high
          else j.low end)
        when 'sourceEq' then pg_catalog.to_jsonb(coalesce(j.source_list, '{}'))
        when 'sourceGlob' then pg_catalog.to_jsonb(coalesce(j.source_list, '{}'))
        when 'uniqueSourcesGte' then pg_catalog.to_jsonb(j.sources)
        when 'citesRequired' then pg_catalog.to_jsonb(j.cited || ' of ' || j.n)
        when 'factId' then pg_catalog.to_jsonb(j.fact_id)
        when 'latencyLte' then pg_catalog.to_jsonb(pg_catalog.round(j.elapsed_ms::numeric, 3))
        when 'rankLte' then pg_catalog.to_jsonb(j.first_rank)
        when 'topSourceEq' then pg_catalog.to_jsonb(j.first_source)
        when 'orderedBefore' then pg_catalog.jsonb_build_array(j.rank1, j.rank2)
        when 'maxChunksPerSourceLte' then pg_catalog.to_jsonb(j.most)
        when 'contextTokensLte' then pg_catalog.to_jsonb(j.tokens)
        when 'topScoreGte' then pg_catalog.to_jsonb(j.first)
        when 'scoreMarginGte' then pg_catalog.to_jsonb(j.first - coalesce(j.second, 0))
        when 'groundingCoverageGte' then j.answer -> 'groundingCoverage'
        when 'abstains' then j.answer -> 'abstained'
        when 'citationsResolve' then j.answer -> 'codes'
        when 'numbersGrounded' then j.answer -> 'codes'
        else case when j.metric is not null then pg_catalog.to_jsonb(j.metric)
          when j.kind in ('contains', 'chunkHash', 'containsAny', 'containsAll', 'notRetrieved')
            then pg_catalog.to_jsonb(j.hits)
          when t.passed is not null then t.actual else pg_catalog.to_jsonb(j.n) end
      end as actual
    from judged j
      cross join lateral ragdb_internal.assert_trace(j.kind, j.value,
        case j.needs when 'trace' then j.trace_id end, j.chunk_ids) t
  )
  select v.case_no, v.assert_no, v.kind, v.required, v.is_known and v.invalid is null
    and coalesce(v.holds, false) <> v.negate,
    case when not v.is_known then 'UNSUPPORTED_ASSERTION'
      when v.invalid is not null then 'INVALID_ASSERTION'
      when coalesce(v.holds, false) <> v.negate then 'PASS' else 'ASSERTION_FAIL' end,
    coalesce(v.invalid, case when v.negate then 'not: ' else '' end || case v.kind
      when 'expected.topK' then 'expected at most ' || v.count || ' chunks'
      when 'expected.minScore' then 'expected all retrieved chunks to score >= '
        || ragdb_internal.shown(v.number)
      when 'expected.chunkCount' then 'expected ' || v.count || ' chunks'
      when 'expected.sources' then 'expected retrieved chunks to cover only sources ' || (
        select pg_catalog.string_agg(e.v, ', ' order by e.n)
          from pg_catalog.jsonb_array_elements_text(v.expected) with ordinality e (v, n))
      else pg_catalog.format(v.expectation, v.value, v.count, ragdb_internal.shown(v.number),
        case v.quantifier when 'all' then 'every' else 'a' end, coalesce(' at ' || v.count, ''),
        v.listed[1], v.listed[2]) end),
    v.expected, v.actual
  from verdicts v
  union all
  select c.case_no, 1, 'retriever', true, false, 'RETRIEVER_ERROR', c.error, null,
    pg_catalog.to_jsonb(c.error_code)
  from pg_catalog.unnest(cases) c where c.error is not null
  order by 1, 2;
end;
comment on function ragdb_internal.assert_results(ragdb_internal.eval_case[], ragdb_internal.eval_hit[], ragdb_internal.eval_item[],
  jsonb, ragdb_internal.eval_assertion[]) is
  'Returns the outcome of every assertion of some cases; grades are those of all labels of a case, '
  'best first, under its number. A case whose retrieval failed has one, RETRIEVER_ERROR.';

-- For what a retriever outside the database returned.
create or replace function ragdb.evaluate_case("case" jsonb, retrieval jsonb)
returns table (assert_no integer, kind text, required boolean, passed boolean, code text,
  message text,
  expected jsonb, actual jsonb, fails_case boolean)
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hits ragdb_internal.eval_hit[] := '{}';
  v_case ragdb_internal.eval_case;
begin
  if jsonb_typeof("case") is distinct from 'object'
    or jsonb_typeof(coalesce("case" -> 'asserts', '[]')) <> 'array'
    or jsonb_typeof(coalesce("case" -> 'expected', '{}')) <> 'object'
    or jsonb_path_exists(coalesce("case" -> 'asserts', '[]'), '$[*] ? (@.type() != "object")')
  then
    raise exception 'case is no object with a list of asserts'
      using errcode = 'RG442', detail = 'it is ' || ragdb_internal.quote("case"::text),
            hint = '{"name", "query", "rag", "eval", "expected": {"topK", "minScore", '
                   '"chunkCount", "sources"}, "asserts": [{"kind", "value", "required"}]}';
  end if;
  v_case.case_no := 1;
  v_case.fact_id := concat_ws(':', nullif("case" ->> 'rag', ''), nullif("case" ->> 'eval', ''),
    nullif("case" ->> 'name', ''));
  v_case.query := "case" ->> 'query';
  v_case.elapsed_ms := coalesce(ragdb_internal.number(retrieval ->> 'durationMs', 0, null), 0);
  v_case.error := ragdb_internal.retrieval_problem("case" ->> 'name', coalesce(retrieval, 'null'));
  v_case.error_code := case when v_case.error is not null then 'RETRIEVER_ERROR' end;
  if v_case.error is null then
    v_hits := array(
      select row(1, c.ord, c.v ->> 'id', c.v ->> 'source', c.v ->> 'text',
        coalesce(c.v -> 'citation', '{}'), ragdb_internal.double((c.v ->> 'score')::numeric),
        encode(sha256(ragdb_internal.utf8(c.v ->> 'text')), 'hex'), (length(c.v ->> 'text') + 3) / 4, null,
          null, null)::ragdb_internal.eval_hit
      from jsonb_array_elements(retrieval -> 'chunks') with ordinality c (v, ord));
  end if;
  return query
    select r.assert_no, r.kind, r.required, r.passed, r.code, r.message, r.expected, r.actual,
      ragdb_internal.fails_case(r)
    from ragdb_internal.assert_results(array[v_case], v_hits, '{}', '{}', array(
      select a from ragdb_internal.typed_assertions(1, "case" -> 'expected', "case" -> 'asserts') a)) r;
end $$;
comment on function ragdb.evaluate_case(jsonb, jsonb) is
  'Evaluates the assertions of a case, {"name", "query", "rag", "eval", "expected", "asserts"}, on '
  'a retrieval given as {"query", "chunks": [{"id", "text", "source", "citation", "score"}], '
  '"durationMs"} or {"error"}, and returns each outcome and whether it fails the case. Raises '
  'RG442.';
