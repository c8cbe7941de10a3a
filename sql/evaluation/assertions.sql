-- The outcome of every assertion of some cases, all cases of a batch at once.

-- Whether an outcome fails its case: a failed assertion that is not required is advisory.
create or replace function ragdb_internal.fails_case(result ragdb_internal.eval_assert_result)
  returns boolean
language sql immutable parallel safe
return not (result).passed and ((result).required or (result).code <> 'ASSERTION_FAIL');

-- Returns the outcome of every assertion of some cases; grades are those of all labels of a case,
-- best first, under its number. A case whose retrieval failed has one, RETRIEVER_ERROR. Callers
-- have checked the right to the corpus of the hits.
create or replace function ragdb_internal.assert_results(
  cases ragdb_internal.eval_case[], hits ragdb_internal.eval_hit[],
  items ragdb_internal.eval_item[], grades jsonb, assertions ragdb_internal.eval_assertion[])
returns setof ragdb_internal.eval_assert_result
language sql stable parallel restricted
begin atomic
  select (v.j).case_no, (v.j).assert_no, (v.j).kind, (v.j).required,
    v.invalid is null and v.holds,
    case when not (v.j).is_known then 'UNSUPPORTED_ASSERTION'
      when v.invalid is not null then 'INVALID_ASSERTION'
      when v.holds then 'PASS' else 'ASSERTION_FAIL' end,
    coalesce(v.invalid, ragdb_internal.expectation(v.j)), (v.j).expected, v.actual
  from (
    select t.j, t.invalid, coalesce((t.outcome).holds, false) <> (t.j).negate as holds,
      (t.outcome).actual as actual
    from (
      select j, ragdb_internal.invalid(j) as invalid, ragdb_internal.tested(j) as outcome
      from ragdb_internal.judged_assertions(cases, assert_results.hits, assert_results.items,
        grades, assertions) j
      offset 0) t) v
  union all
  select c.case_no, 1, 'retriever', true, false, 'RETRIEVER_ERROR', c.error, null,
    pg_catalog.to_jsonb(c.error_code)
  from pg_catalog.unnest(cases) c where c.error is not null
  order by 1, 2;
end;

-- For what a retriever outside the database returned.
create or replace function ragdb.evaluate_case("case" jsonb, retrieval jsonb)
returns table (assert_no integer, kind text, required boolean, passed boolean, code text,
  message text, expected jsonb, actual jsonb, fails_case boolean)
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
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
    raise exception 'case is not an object with a list of asserts'
      using errcode = 'RG442', detail = 'it is ' || ragdb_internal.quote("case"::text),
        hint = '{"name", "query", "rag", "eval", "expected": {"topK", "minScore", "chunkCount", '
          '"sources"}, "asserts": [{"kind", "value", "required"}]}';
  end if;
  v_case.case_no := 1;
  v_case.fact_id := concat_ws(':', nullif("case" ->> 'rag', ''), nullif("case" ->> 'eval', ''),
    nullif("case" ->> 'name', ''));
  v_case.query := "case" ->> 'query';
  v_case.elapsed_ms := case jsonb_typeof(retrieval -> 'durationMs')
    when 'number' then ragdb_internal.number(retrieval ->> 'durationMs', 0, null) end;
  v_case.error := ragdb_internal.retrieval_problem("case" ->> 'name', coalesce(retrieval, 'null'));
  v_case.error_code := case when v_case.error is not null then 'RETRIEVER_ERROR' end;
  if v_case.error is null then
    v_hits := array(
      select row(1, c.ord, c.v ->> 'id', c.v ->> 'source', c.v ->> 'text',
        coalesce(c.v -> 'citation', '{}'), ragdb_internal.double((c.v ->> 'score')::numeric),
        encode(ragdb_internal.content_hash(c.v ->> 'text'), 'hex'),
        (length(c.v ->> 'text') + 3) / 4, null, null, null)::ragdb_internal.eval_hit
      from jsonb_array_elements(retrieval -> 'chunks') with ordinality c (v, ord));
  end if;
  return query
    select r.assert_no, r.kind, r.required, r.passed, r.code, r.message, r.expected, r.actual,
      ragdb_internal.fails_case(r)
    from ragdb_internal.assert_results(array[v_case], v_hits, '{}', '{}', array(
      select a from ragdb_internal.typed_assertions(1, "case" -> 'expected',
        "case" -> 'asserts') a)) r;
end $$;
comment on function ragdb.evaluate_case is
  'Evaluates the assertions of a case, {"name", "query", "rag", "eval", "expected", "asserts"}, on '
  'a retrieval given as {"query", "chunks": [{"id", "text", "source", "citation", "score"}], '
  '"durationMs"} or {"error"}, and returns each outcome and whether it fails the case. Raises '
  'RG442.';
