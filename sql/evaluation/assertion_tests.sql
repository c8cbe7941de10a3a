-- How each kind of assertion is tested: a branch each, which says whether it holds and what was
-- there. A new kind is a row of ragdb_internal.assertion_kinds and a branch here, or in
-- ragdb_internal.assert_trace where it needs a trace.

-- Returns whether an assertion holds, with what was there.
create or replace function ragdb_internal.outcome(holds boolean, actual jsonb)
  returns ragdb_internal.assertion_outcome
language sql immutable parallel safe
return row(holds, actual)::ragdb_internal.assertion_outcome;

-- Tests an assertion of how many chunks there are, of what; null for other kinds.
create or replace function ragdb_internal.test_counts(j ragdb_internal.judged_assertion)
  returns ragdb_internal.assertion_outcome
language sql stable parallel safe
return case (j).kind
  when 'expected.topK' then ragdb_internal.outcome((j).n <= (j).count,
    pg_catalog.to_jsonb((j).n))
  when 'expected.chunkCount' then ragdb_internal.outcome((j).n = (j).count,
    pg_catalog.to_jsonb((j).n))
  when 'chunkCountEq' then ragdb_internal.outcome((j).n = (j).count, pg_catalog.to_jsonb((j).n))
  when 'chunkCountGte' then ragdb_internal.outcome((j).n >= (j).count, pg_catalog.to_jsonb((j).n))
  when 'chunkCountLte' then ragdb_internal.outcome((j).n <= (j).count, pg_catalog.to_jsonb((j).n))
  when 'uniqueSourcesGte' then ragdb_internal.outcome((j).sources >= (j).count,
    pg_catalog.to_jsonb((j).sources))
  when 'maxChunksPerSourceLte' then ragdb_internal.outcome((j).most <= (j).count,
    pg_catalog.to_jsonb((j).most))
  when 'contextTokensLte' then ragdb_internal.outcome((j).tokens <= (j).count,
    pg_catalog.to_jsonb((j).tokens))
  when 'citesRequired' then ragdb_internal.outcome((j).n > 0 and (j).cited = (j).n,
    pg_catalog.to_jsonb((j).cited || ' of ' || (j).n))
end;

-- Tests an assertion of the scores of chunks; null for other kinds.
create or replace function ragdb_internal.test_scores(j ragdb_internal.judged_assertion)
  returns ragdb_internal.assertion_outcome
language sql stable parallel safe
return case (j).kind
  when 'expected.minScore' then ragdb_internal.outcome((j).n > 0 and (j).low >= (j).number,
    pg_catalog.to_jsonb(coalesce((j).low, 0)))
  when 'scoreGte' then ragdb_internal.outcome(
    (j).n > 0 and case (j).quantifier when 'all' then (j).low else (j).high end >= (j).number,
    pg_catalog.to_jsonb(case (j).quantifier when 'all' then (j).low else (j).high end))
  when 'scoreLte' then ragdb_internal.outcome(
    (j).n > 0 and case (j).quantifier when 'all' then (j).high else (j).low end <= (j).number,
    pg_catalog.to_jsonb(case (j).quantifier when 'all' then (j).high else (j).low end))
  when 'topScoreGte' then ragdb_internal.outcome((j).first >= (j).number,
    pg_catalog.to_jsonb((j).first))
  -- of decimal numbers: of floats 0.9 - 0.8 is below 0.1
  when 'scoreMarginGte' then ragdb_internal.outcome(
    (j).first::numeric - coalesce((j).second, 0)::numeric >= (j).number::numeric,
    pg_catalog.to_jsonb(((j).first::numeric - coalesce((j).second, 0)::numeric)::float8))
end;

-- Tests an assertion of what is in chunks, and of their sources; null for other kinds.
create or replace function ragdb_internal.test_texts(j ragdb_internal.judged_assertion)
  returns ragdb_internal.assertion_outcome
language sql stable parallel safe
return case (j).kind
  when 'contains' then ragdb_internal.outcome((j).hits > 0, pg_catalog.to_jsonb((j).hits))
  when 'containsAny' then ragdb_internal.outcome((j).hits > 0, pg_catalog.to_jsonb((j).hits))
  when 'containsAll' then ragdb_internal.outcome((j).all_found, pg_catalog.to_jsonb((j).hits))
  when 'chunkHash' then ragdb_internal.outcome((j).hits > 0, pg_catalog.to_jsonb((j).hits))
  when 'notRetrieved' then ragdb_internal.outcome((j).hits = 0, pg_catalog.to_jsonb((j).hits))
  when 'sourceEq' then ragdb_internal.outcome((j).hits > 0, pg_catalog.to_jsonb((j).source_list))
  when 'sourceGlob' then ragdb_internal.outcome((j).hits > 0,
    pg_catalog.to_jsonb((j).source_list))
  when 'expected.sources' then ragdb_internal.outcome(
    case pg_catalog.jsonb_typeof((j).expected) when 'array' then (j).n > 0
      and (j).source_list <@ ragdb_internal.texts((j).expected)
      and (j).source_list @> ragdb_internal.texts((j).expected) end,
    pg_catalog.to_jsonb((j).source_list))
end;

-- Tests an assertion of the ranks of chunks, and of the metrics of labels; null for other kinds.
create or replace function ragdb_internal.test_ranks(j ragdb_internal.judged_assertion)
  returns ragdb_internal.assertion_outcome
language sql stable parallel safe
return case
  when (j).kind = 'rankLte' then ragdb_internal.outcome((j).first_rank <= (j).count,
    pg_catalog.to_jsonb((j).first_rank))
  when (j).kind = 'topSourceEq' then ragdb_internal.outcome((j).first_source = (j).value,
    pg_catalog.to_jsonb((j).first_source))
  when (j).kind = 'orderedBefore' then ragdb_internal.outcome(
    (j).rank1 < (j).rank2 or ((j).rank1 is not null and (j).rank2 is null),
    pg_catalog.jsonb_build_array((j).rank1, (j).rank2))
  when (j).kind = 'hitAtK' then ragdb_internal.outcome((j).metric = 1,
    pg_catalog.to_jsonb(coalesce((j).metric, (j).n)))
  when (j).measures is not null then ragdb_internal.outcome((j).metric >= (j).number,
    pg_catalog.to_jsonb(coalesce((j).metric, (j).n)))
end;

-- Tests an assertion of a case itself, and of the answer to its query; null for other kinds.
create or replace function ragdb_internal.test_case(j ragdb_internal.judged_assertion)
  returns ragdb_internal.assertion_outcome
language sql stable parallel safe
return case (j).kind
  when 'factId' then ragdb_internal.outcome((j).value = (j).fact_id,
    pg_catalog.to_jsonb((j).fact_id))
  when 'latencyLte' then ragdb_internal.outcome((j).elapsed_ms <= (j).number,
    pg_catalog.to_jsonb(pg_catalog.round((j).elapsed_ms::numeric, 3)))
  when 'groundingCoverageGte' then ragdb_internal.outcome(
    ((j).answer ->> 'groundingCoverage')::float8 >= (j).number, (j).answer -> 'groundingCoverage')
  when 'citationsResolve' then ragdb_internal.outcome(
    ((j).answer ->> 'citationsResolve')::boolean, (j).answer -> 'codes')
  when 'numbersGrounded' then ragdb_internal.outcome(
    ((j).answer ->> 'numbersGrounded')::boolean, (j).answer -> 'codes')
  when 'abstains' then ragdb_internal.outcome(((j).answer ->> 'abstained')::boolean,
    (j).answer -> 'abstained')
end;

-- Tests an assertion, whatever its kind. What is not known fails, with the number of chunks as what
-- was there.
create or replace function ragdb_internal.tested(j ragdb_internal.judged_assertion)
  returns ragdb_internal.assertion_outcome
language sql stable parallel restricted
return coalesce(ragdb_internal.test_counts(j), ragdb_internal.test_scores(j),
  ragdb_internal.test_texts(j), ragdb_internal.test_ranks(j), ragdb_internal.test_case(j),
  case when (j).needs = 'trace' and (j).trace_id is not null
    then ragdb_internal.assert_trace(
      (j).kind, (j).value, (j).query, (j).trace_id, (j).chunk_ids) end,
  ragdb_internal.outcome(null, pg_catalog.to_jsonb((j).n)));

-- Returns what an assertion lacks to be tested at all; null when it can be tested.
create or replace function ragdb_internal.lacks(j ragdb_internal.judged_assertion) returns text
language sql immutable parallel safe
return case
  when (j).property = 'value' and coalesce((j).value, '') = '' then 'requires '
    || case when (j).kind in ('factId', 'chunkHash') then 'string' else 'non-empty string' end
    || ' value.'
  when (j).property = 'value count' and (coalesce((j).value, '') = '' or (j).count is null)
    then 'requires value and count.'
  when ((j).property in ('threshold', 'valueMs') or (j).kind = 'expected.minScore')
    and (j).number is null then 'requires numeric value.'
  when ((j).property = 'count' or (j).kind in ('expected.topK', 'expected.chunkCount'))
    and (j).count is null then 'requires numeric value.'
  when (j).counts_places and (j).count < 1 then 'counts from 1.'
  when (j).kind = 'orderedBefore' and pg_catalog.cardinality((j).listed) <> 2
    then 'requires two values.'
  when (j).kind in ('containsAny', 'containsAll') and (j).listed = '{}' then 'requires a text.'
  when (j).seeks in ('glob', 'item') and ragdb_internal.is_long_glob((j).value)
    then 'requires a glob of at most 1024 characters and 16 stars.'
  when (j).kind = 'expected.sources' and pg_catalog.jsonb_typeof((j).expected) <> 'array'
    then 'requires a list.'
  when (j).measures is not null and (j).metric is null then 'has no label to measure by.'
  when (j).kind = 'latencyLte' and (j).elapsed_ms is null
    then 'needs the durationMs of the retrieval, from 0.'
  when (j).needs = 'answer' and (j).answer is null
    then 'needs an answer contract with the query of the case.'
  when (j).needs = 'trace' and (j).trace_id is null then 'needs a recorded retrieval.'
end;

-- Returns why an assertion cannot be tested; null when it can.
create or replace function ragdb_internal.invalid(j ragdb_internal.judged_assertion) returns text
language sql immutable parallel safe
return case when (j).is_known
  then 'RAG eval assertion kind=' || (j).kind || ' ' || ragdb_internal.lacks(j)
  else 'Unsupported RAG eval assertion kind ''' || (j).kind || '''.' end;

-- Returns what an assertion expects, in words.
create or replace function ragdb_internal.expectation(j ragdb_internal.judged_assertion)
  returns text
language sql stable parallel safe
return case when (j).negate then 'not: ' else '' end
  || pg_catalog.format((j).expectation, (j).value, (j).count, ragdb_internal.shown((j).number),
    case (j).quantifier when 'all' then 'every' else 'a' end, coalesce(' at ' || (j).count, ''),
    (j).listed[1], (j).listed[2],
    case when (j).kind = 'expected.sources'
      then pg_catalog.array_to_string(ragdb_internal.texts((j).expected), ', ') end);
