-- Assertions: what each kind asks of the chunks of a case, and the answer. Set-based: all cases of
-- a batch at once.

do $$ begin
  if pg_catalog.to_regtype('ragdb.eval_hit') is null then
    create type ragdb.eval_hit as (
      case_no integer, rank integer, chunk_id text, source text, text text, citation jsonb,
        score float8,
      content_hash text, token_count integer, doc_cid text, start_offset integer,
        end_offset integer);
    create type ragdb.eval_case as (
      case_no integer, fact_id text, query text, elapsed_ms float8, trace_id uuid, error_code text,
        error text,
      answer jsonb);
    create type ragdb.eval_assertion as (
      case_no integer, assert_no integer, kind text, property text, value text, number float8,
        count bigint,
      required boolean, negate boolean, quantifier text, expected jsonb);
    create type ragdb.eval_item as (case_no integer, rank integer, item text, grade integer,
      label_nos integer[]);
    create type ragdb.eval_assert_result as (
      case_no integer, assert_no integer, kind text, required boolean, passed boolean, code text,
        message text,
      expected jsonb, actual jsonb);
  end if;
end $$;
comment on type ragdb.eval_hit is 'A retrieved chunk of a case.';
comment on type ragdb.eval_case is
  'A case as it was retrieved: its fact id, its trace, what went wrong, and the outcome of an '
  'answer contract of the same query.';
comment on type ragdb.eval_assertion is
  'An assertion of a case; kinds that begin with expected. are its own fields.';
comment on type ragdb.eval_item is
  'What stands at a rank for labels: a document or a labelled span, once, with its grade; null '
  'when nobody judged it.';
comment on type ragdb.eval_assert_result is
  'The outcome of an assertion: its code, what it expected and what was there.';

-- Lower case of only those letters that a text can be found by: all of Unicode's for every chunk
-- costs milliseconds each.
create or replace function ragdb._case_map(needle text) returns text[]
language sql immutable parallel safe
return case when pg_catalog.octet_length(needle) = pg_catalog.length(needle) then array['', '']
  else (
  select array[coalesce(pg_catalog.string_agg(u.capital, '' order by u.n), ''),
    coalesce(pg_catalog.string_agg(l.small, '' order by u.n), '')]
  from pg_catalog.string_to_table(ragdb._capitals(), null) with ordinality u (capital, n)
    join pg_catalog.string_to_table(ragdb._smalls(), null) with ordinality l (small, n) on l.n = u.n
  where pg_catalog.strpos(needle, u.capital) > 0 or pg_catalog.strpos(needle, l.small) > 0) end;
comment on function ragdb._case_map(text) is
  'Returns the capitals that matter for finding a text in any case, and their small letters '
  '(Unicode 15.0, beyond ASCII).';

create or replace function ragdb._any_case(text text, map text[]) returns text
language sql immutable parallel safe
return pg_catalog.translate(pg_catalog.lower(_any_case.text collate "C"), _any_case.map[1],
  _any_case.map[2]);
comment on function ragdb._any_case(text, text[]) is
  'Returns a text in lower case: ASCII, and the letters of a map.';

create or replace function ragdb._is_cited(citation jsonb) returns boolean
language sql immutable parallel safe
return coalesce((_is_cited.citation ->> 'uri') ~ '\S', false)
  or coalesce((_is_cited.citation ->> 'locator') ~ '\S', false);
comment on function ragdb._is_cited(jsonb) is
  'Whether a citation has a uri or locator that is not blank.';

-- What is written in a contract or in JSON, as typed assertions. The fields of the case come first.
create or replace function ragdb._typed_assertions(case_no integer, expected jsonb, asserts jsonb)
returns setof ragdb.eval_assertion
language sql stable parallel safe
begin atomic
  select _typed_assertions.case_no, pg_catalog.row_number() over (order by x.ord, x.n)::integer,
    x.kind, k.property,
    case when x.json_type in ('string', 'number') then coalesce(x.a ->> 'value', x.value) end,
    ragdb._number(coalesce(case k.property when 'valueMs' then x.a ->> 'valueMs'
      else x.a ->> 'threshold' end, x.a ->> 'value', x.value), null, null),
    ragdb._whole(coalesce(x.a ->> 'count', x.a ->> 'value', x.value), null, null),
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
  ) x left join ragdb.assertion_kinds() k on k.kind = x.kind;
end;
comment on function ragdb._typed_assertions(integer, jsonb, jsonb) is
  'Returns the assertions of a case: its own fields topK, minScore, chunkCount and sources first, '
  'then the listed ones.';

-- ── ranking against labels ───────────────────────────────────────────────────────────────────────

create or replace function ragdb._dcg(gain float8, rank integer) returns float8
language sql immutable parallel safe
return _dcg.gain / (pg_catalog.ln(_dcg.rank + 1::float8) / pg_catalog.ln(2::float8));
comment on function ragdb._dcg(float8, integer) is
  'Returns a gain at a rank, discounted by log2(rank + 1).';

-- The definitions of trec_eval: the gain is the grade, and what nobody judged counts 0. grades are
-- those of all labels, best first.
create or replace function ragdb._rank_metric(metric text, k integer, items ragdb.eval_item[],
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
      select pg_catalog.sum(ragdb._dcg(g.grade, g.n::integer) order by g.n)
      from pg_catalog.unnest(grades) with ordinality g (grade, n) where g.n <= k and g.grade > 0),
        0)
  end
  from (
    select (select pg_catalog.count(*) from pg_catalog.unnest(grades) g where g > 0) as relevant,
      pg_catalog.count(*) as shown, pg_catalog.count(i.grade) as judged,
      pg_catalog.count(*) filter (where i.grade > 0) as found,
        pg_catalog.min(i.rank) filter (where i.grade > 0) as first,
      pg_catalog.sum(ragdb._dcg(i.grade, i.rank) order by i.rank) filter (where i.grade > 0) as dcg,
      pg_catalog.sum(i.nth::float8 / i.rank order by i.rank) filter (where i.grade > 0)
        as precisions
    from (select u.*, pg_catalog.count(*) filter (where u.grade > 0) over (order by u.rank) as nth
      from pg_catalog.unnest(items) u) i
    where i.rank <= k
  ) r
  where r.relevant > 0);
comment on function ragdb._rank_metric(text, integer, ragdb.eval_item[], integer[]) is
  'Returns recall, precision, hit, mrr, judged, map or ndcg of the first k items, given the grades '
  'of all labels, best first; null without a label over 0.';

-- ── traces and answers ───────────────────────────────────────────────────────────────────────────

create or replace function ragdb._assert_trace(kind text, value text, trace_id uuid,
  chunk_ids text[], out passed boolean, out actual jsonb)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces;
begin
  if trace_id is null
    or kind not in ('withinSlice', 'admissible', 'tokenValid', 'policyEq', 'noShortfall',
      'embeddingModelEq',
      'resultHashEq', 'replayMatches') then
    return;
  end if;
  v_trace := ragdb._open_trace(trace_id);
  case kind
    when 'withinSlice' then
      passed := chunk_ids <> '{}' and exists (select from ragdb.slices s
        where s.corpus_id = v_trace.corpus_id and s.slice_id = _assert_trace.value
          and _assert_trace.chunk_ids <@ s.chunk_ids);
      actual := to_jsonb(v_trace.slice_id);
    when 'admissible' then
      passed := v_trace.is_admissible;
      actual := to_jsonb(v_trace.is_admissible);
    when 'tokenValid' then
      passed := v_trace.admissibility_token is not null
        and (select v.valid
          from ragdb.verify_token(v_trace.corpus, v_trace.admissibility_token, v_trace.slice_id,
          v_trace.anchor_chunk_id, v_trace.policy_id, v_trace.policy_params_hash,
            v_trace.graph_snapshot_hash,
          v_trace.schema_version) v);
      actual := to_jsonb(case when v_trace.admissibility_token is null then 'no token'
        else 'a token' end);
    when 'policyEq' then
      passed := v_trace.policy_id = value;
      actual := to_jsonb(v_trace.policy_id);
    when 'noShortfall' then
      passed := not v_trace.admissibility_shortfall;
      actual := to_jsonb(coalesce(v_trace.shortfall_reason, 'none'));
    when 'embeddingModelEq' then
      passed := v_trace.embedding_model = value;
      actual := to_jsonb(v_trace.embedding_model);
    when 'resultHashEq' then
      passed := v_trace.result_hash = value;
      actual := to_jsonb(v_trace.result_hash);
    when 'replayMatches' then
      select r.verdict = 'exact', to_jsonb(r.verdict) into passed,
        actual from ragdb.replay(trace_id) r;
  end case;
  passed := coalesce(passed, false);
end $$;
comment on function ragdb._assert_trace(text, text, uuid, text[]) is
  'Whether a trace has what an assertion about traces asks for, and what it has; null for other '
  'assertions.';

-- ── the verdicts ─────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb._shown(number float8) returns text
language sql stable parallel safe
return pg_catalog.to_jsonb(_shown.number)::text;
comment on function ragdb._shown(float8) is
  'Returns a number as a message shows it, the same under every setting.';

-- Callers have checked the right to the corpus of the hits. Whatever is asked of single chunks is
-- one join of assertions and hits, so that a thousand cases cost no more than their chunks.
create or replace function ragdb._assert_results(
  cases ragdb.eval_case[], hits ragdb.eval_hit[], items ragdb.eval_item[], grades jsonb,
    assertions ragdb.eval_assertion[])
returns setof ragdb.eval_assert_result
language sql stable parallel restricted
begin atomic
  with h as materialized (
    select h.*, ragdb._is_cited(h.citation) as is_cited,
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
      case when a.kind in ('contains', 'containsAny', 'containsAll', 'sourceGlob', 'rankLte',
        'notRetrieved', 'orderedBefore')
        then ragdb._case_map(a.value) end as map
    from pg_catalog.unnest(assertions) a left join ragdb.assertion_kinds() k on k.kind = a.kind
  ), parts as materialized (
    -- what is looked for in single chunks, one row a text
    select a.case_no, a.assert_no, a.kind, a.map, p.n, p.part,
      ragdb._any_case(p.part, a.map) as folded,
      ragdb._glob_pattern(ragdb._any_case(p.part, a.map)) as pattern
    from a cross join lateral
      pg_catalog.unnest(case when a.kind in ('containsAny', 'containsAll', 'orderedBefore')
      then ragdb._list(a.value) else array[a.value] end) with ordinality p (part, n)
    where a.kind in ('contains', 'containsAny', 'containsAll', 'sourceEq', 'sourceGlob',
      'chunkHash', 'rankLte', 'notRetrieved', 'orderedBefore')
      and a.value <> '' and (not ragdb._is_long_glob(a.value)
        or a.kind not in ('sourceGlob', 'rankLte', 'notRetrieved', 'orderedBefore'))
  ), found as materialized (
    select p.case_no, p.assert_no, p.n, pg_catalog.count(*) as hits,
      pg_catalog.min(h.rank) as first_rank
    from parts p join h on h.case_no = p.case_no
    where case
      when p.kind in ('contains', 'containsAny', 'containsAll') then pg_catalog.strpos(
          case p.map[1] when '' then h.lower_text else ragdb._any_case(h.text, p.map) end,
            p.folded) > 0
      when p.kind = 'sourceEq' then h.source = p.part
      when p.kind = 'sourceGlob' then ragdb._any_case(h.source, p.map) like p.pattern
      when p.kind = 'chunkHash' then h.content_hash = p.part
        or (pg_catalog.length(p.part) = 32 and ragdb.kern_chunk_hash(h.text) = p.part)
      else h.chunk_id = p.part or ragdb._any_case(h.source, p.map) like p.pattern end
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
      case when a.kind in ('recallAtK', 'precisionAtK', 'ndcgAtK', 'reciprocalRank',
        'averagePrecision', 'hitAtK') then ragdb._rank_metric(
        case a.kind when 'recallAtK' then 'recall' when 'precisionAtK' then 'precision'
          when 'ndcgAtK' then 'ndcg'
          when 'reciprocalRank' then 'mrr' when 'averagePrecision' then 'map' else 'hit' end,
        case when a.kind in ('reciprocalRank', 'averagePrecision') then 1000000
          else least(coalesce(a.count, 10), 1000000)::integer end,
        coalesce(r.items, '{}'),
          array(select g.v::integer
            from pg_catalog.jsonb_array_elements_text(grades -> a.case_no::text)
            with ordinality g (v, n) order by g.n)) end as metric,
      ragdb._list(a.value) as listed
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
        when j.kind in ('recallAtK', 'precisionAtK', 'ndcgAtK', 'hitAtK', 'rankLte')
          and j.count < 1 then 'RAG eval assertion kind=' || j.kind || ' counts from 1.'
        when j.kind = 'orderedBefore' and pg_catalog.cardinality(j.listed) <> 2
          then 'RAG eval assertion kind=' || j.kind || ' requires two values.'
        when j.kind in ('sourceGlob', 'rankLte', 'notRetrieved', 'orderedBefore')
          and ragdb._is_long_glob(j.value) then
          'RAG eval assertion kind=' || j.kind
            || ' requires a glob of at most 1024 characters and 16 stars.'
        when j.kind = 'expected.minScore' and j.number is null then 'RAG eval assertion kind='
          || j.kind || ' requires numeric value.'
        when j.kind = 'expected.sources' and pg_catalog.jsonb_typeof(j.expected) <> 'array'
          then 'RAG eval assertion kind=' || j.kind || ' requires a list.'
        when j.kind in ('recallAtK', 'precisionAtK', 'ndcgAtK', 'reciprocalRank',
          'averagePrecision', 'hitAtK') and j.metric is null then
          'RAG eval assertion kind=' || j.kind || ' has no label to measure by.'
        when j.kind in ('groundingCoverageGte', 'citationsResolve', 'numbersGrounded', 'abstains')
          and j.answer is null then
          'RAG eval assertion kind=' || j.kind
            || ' needs an answer contract with the query of the case.'
        when j.kind in ('withinSlice', 'admissible', 'tokenValid', 'policyEq', 'noShortfall',
          'embeddingModelEq', 'resultHashEq', 'replayMatches')
          and j.trace_id is null then 'RAG eval assertion kind=' || j.kind
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
        when j.kind in ('recallAtK', 'precisionAtK', 'ndcgAtK', 'reciprocalRank',
          'averagePrecision') then j.metric >= j.number
        when j.kind = 'hitAtK' then j.metric = 1
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
    from judged j cross join lateral ragdb._assert_trace(j.kind, j.value, j.trace_id, j.chunk_ids) t
  )
  select v.case_no, v.assert_no, v.kind, v.required, v.is_known and v.invalid is null
    and coalesce(v.holds, false) <> v.negate,
    case when not v.is_known then 'UNSUPPORTED_ASSERTION'
      when v.invalid is not null then 'INVALID_ASSERTION'
      when coalesce(v.holds, false) <> v.negate then 'PASS' else 'ASSERTION_FAIL' end,
    coalesce(v.invalid, case when v.negate then 'not: ' else '' end || case v.kind
      when 'expected.topK' then 'expected at most ' || v.count || ' chunks'
      when 'expected.minScore' then 'expected all retrieved chunks to score >= '
        || ragdb._shown(v.number)
      when 'expected.chunkCount' then 'expected ' || v.count || ' chunks'
      when 'expected.sources' then 'expected retrieved chunks to cover only sources ' || (
        select pg_catalog.string_agg(e.v, ', ' order by e.n)
          from pg_catalog.jsonb_array_elements_text(v.expected) with ordinality e (v, n))
      when 'scoreGte' then 'expected ' || case v.quantifier when 'all' then 'every'
        else 'a' end || ' retrieved chunk score >= ' || ragdb._shown(v.number)
      when 'scoreLte' then 'expected ' || case v.quantifier when 'all' then 'every'
        else 'a' end || ' retrieved chunk score <= ' || ragdb._shown(v.number)
      when 'contains' then 'expected a retrieved chunk text contains ' || v.value
      when 'sourceEq' then 'expected a retrieved chunk source equals ' || v.value
      when 'sourceGlob' then 'expected a retrieved chunk source matches ' || v.value
      when 'uniqueSourcesGte' then 'expected at least ' || v.count || ' unique sources'
      when 'chunkCountEq' then 'expected exactly ' || v.count || ' chunks'
      when 'citesRequired' then 'expected every chunk to carry citation data'
      when 'factId' then 'expected fact id ' || v.value
      when 'chunkHash' then 'expected retrieved chunk hash ' || v.value
      when 'latencyLte' then 'expected retrieval latency <= ' || ragdb._shown(v.number) || 'ms'
      when 'rankLte' then 'expected ' || v.value || ' among the first ' || v.count
      when 'topSourceEq' then 'expected the first chunk source equals ' || v.value
      when 'notRetrieved' then 'expected no retrieved chunk ' || v.value
      when 'orderedBefore' then 'expected ' || v.listed[1] || ' before ' || v.listed[2]
      when 'containsAny' then 'expected a retrieved chunk text contains one of ' || v.value
      when 'containsAll' then 'expected retrieved chunk texts contain each of ' || v.value
      when 'chunkCountGte' then 'expected at least ' || v.count || ' chunks'
      when 'chunkCountLte' then 'expected at most ' || v.count || ' chunks'
      when 'maxChunksPerSourceLte' then 'expected at most ' || v.count || ' chunks of a source'
      when 'contextTokensLte' then 'expected at most ' || v.count || ' tokens'
      when 'topScoreGte' then 'expected the first chunk score >= ' || ragdb._shown(v.number)
      when 'scoreMarginGte' then 'expected the first chunk to lead by ' || ragdb._shown(v.number)
      when 'hitAtK' then 'expected a labelled item among the first ' || v.count
      when 'withinSlice' then 'expected every retrieved chunk in slice ' || v.value
      when 'policyEq' then 'expected slice policy ' || v.value
      when 'embeddingModelEq' then 'expected embedding model ' || v.value
      when 'resultHashEq' then 'expected result hash ' || v.value
      when 'admissible' then 'expected an admissible retrieval'
      when 'tokenValid' then 'expected a valid admissibility token'
      when 'noShortfall' then 'expected no admissibility shortfall'
      when 'replayMatches' then 'expected a replay to match exactly'
      when 'groundingCoverageGte' then 'expected grounding coverage >= ' || ragdb._shown(v.number)
      when 'citationsResolve' then 'expected every citation to resolve'
      when 'numbersGrounded' then 'expected every number to be grounded'
      when 'abstains' then 'expected the answer to abstain'
      else 'expected ' || v.kind || ' >= ' || ragdb._shown(v.number)
        || coalesce(' at ' || v.count, '') end),
    v.expected, v.actual
  from verdicts v
  union all
  select c.case_no, 1, 'retriever', true, false, 'RETRIEVER_ERROR', c.error, null,
    pg_catalog.to_jsonb(c.error_code)
  from pg_catalog.unnest(cases) c where c.error is not null
  order by 1, 2;
end;
comment on function ragdb._assert_results(ragdb.eval_case[], ragdb.eval_hit[], ragdb.eval_item[],
  jsonb, ragdb.eval_assertion[]) is
  'Returns the outcome of every assertion of some cases; grades are those of all labels of a case, '
  'best first, under its number. A case whose retrieval failed has one, RETRIEVER_ERROR.';

create or replace function ragdb._fails_case(result ragdb.eval_assert_result) returns boolean
language sql immutable parallel safe
return not (result).passed and ((result).required or (result).code <> 'ASSERTION_FAIL');
comment on function ragdb._fails_case(ragdb.eval_assert_result) is
  'Whether an outcome fails its case: a failed assertion that is not required is advisory.';

create or replace function ragdb._retrieval_problem(case_name text, retrieval jsonb) returns text
language sql immutable parallel safe
return 'RAG eval case ''' || coalesce(case_name, '') || ''' retriever failed: '
  || coalesce(retrieval ->> 'error', case
  when pg_catalog.jsonb_typeof(retrieval) is distinct from 'object'
    or pg_catalog.jsonb_typeof(retrieval -> 'query') is distinct from 'string'
    or pg_catalog.jsonb_typeof(retrieval -> 'chunks') is distinct from 'array'
      then 'retriever returned no query and chunks'
  else (
    select case p.problem
      when 'duplicate' then
      pg_catalog.format('retriever chunk at index %s duplicates chunk id ''%s''', p.i, p.id)
      when 'score' then pg_catalog.format(
        'retriever chunk at index %s score must be between 0 and 1', p.i)
      else pg_catalog.format('retriever chunk at index %s is not a RetrievedChunk', p.i) end
    from (
      select c.ord - 1 as i, c.v ->> 'id' as id, case
        when pg_catalog.jsonb_typeof(c.v) <> 'object'
          or pg_catalog.jsonb_typeof(c.v -> 'id') is distinct from 'string'
          or pg_catalog.jsonb_typeof(c.v -> 'text') is distinct from 'string'
            or pg_catalog.jsonb_typeof(c.v -> 'source') is distinct from 'string'
          or pg_catalog.jsonb_typeof(coalesce(c.v -> 'citation', '{}')) <> 'object'
          or pg_catalog.jsonb_typeof(coalesce(c.v #> '{citation,uri}', '""')) <> 'string'
          or pg_catalog.jsonb_typeof(coalesce(c.v #> '{citation,locator}', '""')) <> 'string'
            then 'shape'
        when case pg_catalog.jsonb_typeof(c.v -> 'score')
          when 'number' then not (c.v ->> 'score')::numeric between 0 and 1
          else true end then 'score'
        when pg_catalog.row_number() over (partition by c.v ->> 'id' order by c.ord) > 1
          then 'duplicate' end as problem
      from pg_catalog.jsonb_array_elements(retrieval -> 'chunks') with ordinality c (v, ord)) p
    where p.problem is not null order by p.i limit 1) end) || '.';
comment on function ragdb._retrieval_problem(text, jsonb) is
  'Returns what is wrong with a retrieval given as JSON; null for one that can be evaluated.';

-- For what a retriever outside the database returned.
create or replace function ragdb.evaluate_case("case" jsonb, retrieval jsonb)
returns table (assert_no integer, kind text, required boolean, passed boolean, code text,
  message text,
  expected jsonb, actual jsonb, fails_case boolean)
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hits ragdb.eval_hit[] := '{}';
  v_case ragdb.eval_case;
begin
  if jsonb_typeof("case") is distinct from 'object'
    or jsonb_typeof(coalesce("case" -> 'asserts', '[]')) <> 'array'
    or jsonb_typeof(coalesce("case" -> 'expected', '{}')) <> 'object'
    or jsonb_path_exists(coalesce("case" -> 'asserts', '[]'), '$[*] ? (@.type() != "object")')
  then
    raise exception 'case is no object with a list of asserts'
      using errcode = 'RG442', detail = 'it is ' || ragdb._quote("case"::text),
            hint = '{"name", "query", "rag", "eval", "expected": {"topK", "minScore", '
                   '"chunkCount", "sources"}, "asserts": [{"kind", "value", "required"}]}';
  end if;
  v_case.case_no := 1;
  v_case.fact_id := concat_ws(':', nullif("case" ->> 'rag', ''), nullif("case" ->> 'eval', ''),
    nullif("case" ->> 'name', ''));
  v_case.query := "case" ->> 'query';
  v_case.elapsed_ms := coalesce(ragdb._number(retrieval ->> 'durationMs', 0, null), 0);
  v_case.error := ragdb._retrieval_problem("case" ->> 'name', coalesce(retrieval, 'null'));
  v_case.error_code := case when v_case.error is not null then 'RETRIEVER_ERROR' end;
  if v_case.error is null then
    v_hits := array(
      select row(1, c.ord, c.v ->> 'id', c.v ->> 'source', c.v ->> 'text',
        coalesce(c.v -> 'citation', '{}'), ragdb._double((c.v ->> 'score')::numeric),
        encode(sha256(ragdb._utf8(c.v ->> 'text')), 'hex'), (length(c.v ->> 'text') + 3) / 4, null,
          null, null)::ragdb.eval_hit
      from jsonb_array_elements(retrieval -> 'chunks') with ordinality c (v, ord));
  end if;
  return query
    select r.assert_no, r.kind, r.required, r.passed, r.code, r.message, r.expected, r.actual,
      ragdb._fails_case(r)
    from ragdb._assert_results(array[v_case], v_hits, '{}', '{}', array(
      select a from ragdb._typed_assertions(1, "case" -> 'expected', "case" -> 'asserts') a)) r;
end $$;
comment on function ragdb.evaluate_case(jsonb, jsonb) is
  'Evaluates the assertions of a case, {"name", "query", "rag", "eval", "expected", "asserts"}, on '
  'a retrieval given as {"query", "chunks": [{"id", "text", "source", "citation", "score"}], '
  '"durationMs"} or {"error"}, and returns each outcome and whether it fails the case. Raises '
  'RG442.';
