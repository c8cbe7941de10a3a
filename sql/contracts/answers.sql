-- Whether an answer keeps its contract. What is proved is reference, location and lexical support,
-- never that a chunk implies the sentence.

-- Whether a provenance, {"query", "chunkCount", "chunkHashes", "sources"}, is that of a retrieval.
create or replace function ragdb_internal.is_of_retrieval(provenance jsonb, retrieval jsonb)
  returns boolean
language sql immutable parallel safe
return provenance -> 'query' is not distinct from retrieval -> 'query'
  and provenance -> 'chunkCount' is not distinct from
    pg_catalog.to_jsonb(pg_catalog.jsonb_array_length(retrieval -> 'chunks'))
  and provenance -> 'chunkHashes' is not distinct from (
    select coalesce(pg_catalog.jsonb_agg(
      ragdb.kern_chunk_hash(c.chunk ->> 'text') order by c.n), '[]')
    from pg_catalog.jsonb_array_elements(retrieval -> 'chunks') with ordinality c (chunk, n))
  and provenance -> 'sources' is not distinct from (
    select coalesce(pg_catalog.jsonb_agg(s.source order by s.n), '[]')
    from (
      select c.chunk ->> 'source' as source, pg_catalog.min(c.n) as n
      from pg_catalog.jsonb_array_elements(retrieval -> 'chunks') with ordinality c (chunk, n)
      group by 1) s);

-- Returns what is wrong with an answer contract before its spans are looked at.
create or replace function ragdb_internal.mismatches(contract jsonb, retrieval jsonb,
  has_text boolean)
returns jsonb[]
language sql immutable parallel safe
return array(
  select ragdb_internal.diagnostic(m.code, m.message)
  from (values
    (1, 'ANSWER_EMPTY', 'the answer is empty', not has_text),
    (2, 'QUERY_MISMATCH', 'the retrieval is of another query',
      contract -> 'query' is distinct from retrieval -> 'query'),
    (3, 'PROVENANCE_MISMATCH', 'the provenance is of another retrieval',
      contract ? 'provenance'
        and not ragdb_internal.is_of_retrieval(contract -> 'provenance', retrieval)),
    (4, 'SPAN_INVALID', 'groundingSpans is not a list',
      pg_catalog.jsonb_typeof(coalesce(contract -> 'groundingSpans', '[]')) <> 'array')
  ) m (n, code, message, is_so)
  where m.is_so order by m.n);

-- Whether retrieved chunks are the evidence that an answer needs.
create or replace function ragdb_internal.is_enough(terms ragdb_internal.answer_terms,
  chunks jsonb)
returns boolean
language sql immutable parallel safe
return pg_catalog.jsonb_array_length(chunks) >= (terms).min_retrieved
  and coalesce((
    select pg_catalog.max(ragdb_internal.double((c ->> 'score')::numeric))
    from pg_catalog.jsonb_array_elements(chunks) c), 0) >= (terms).min_top_score;

-- Returns what is wrong with an answer that abstains.
create or replace function ragdb_internal.abstention_problems(terms ragdb_internal.answer_terms,
  is_enough boolean)
returns jsonb[]
language sql immutable parallel safe
return array(
  select ragdb_internal.diagnostic(d.code, d.message)
  from (values
    (1, 'ABSTAIN_NOT_ALLOWED', 'the contract does not allow abstaining', not (terms).may_abstain),
    (2, 'ABSTAIN_ANSWER_MISMATCH', 'the answer is not the one for abstaining',
      coalesce((terms).abstain_answer, '') !~ '\S'
        or pg_catalog.btrim((terms).abstain_answer, E' \t\n\r')
          is distinct from pg_catalog.btrim((terms).answer, E' \t\n\r')),
    (3, 'ABSTAIN_EVIDENCE_POLICY_REQUIRED',
      'abstaining needs a policy of what evidence is enough',
      (terms).min_retrieved = 0 and (terms).min_top_score = 0),
    (4, 'ABSTAIN_WITH_SUFFICIENT_EVIDENCE', 'the evidence was enough to answer',
      is_enough and not ((terms).min_retrieved = 0 and (terms).min_top_score = 0))
  ) d (n, code, message, is_so)
  where d.is_so order by d.n);

-- Returns what is wrong with an answer that does not abstain, besides its spans.
create or replace function ragdb_internal.grounding_problems(terms ragdb_internal.answer_terms,
  is_enough boolean, has_text boolean, has_spans boolean, cited integer, coverage float8)
returns jsonb[]
language sql immutable parallel safe
return array(
  select ragdb_internal.diagnostic(d.code, d.message)
  from (values
    (1, 'EVIDENCE_INSUFFICIENT', 'too few chunks, or none that scores enough', not is_enough),
    (2, 'CITATION_REQUIRED', 'the answer cites nothing',
      has_text and (terms).needs_citations and not has_spans),
    (3, 'CITED_CHUNKS_BELOW_MINIMUM',
      pg_catalog.format('it cites %s, fewer than %s',
        ragdb_internal.counted(cited, 'chunk'), (terms).min_cited),
      has_text and cited < (terms).min_cited),
    (4, 'GROUNDING_BELOW_THRESHOLD',
      pg_catalog.format('coverage %s is below required threshold %s.',
        pg_catalog.to_char(coverage, 'FM0.000'),
        pg_catalog.to_char((terms).min_coverage, 'FM0.000')),
      has_text and coverage < (terms).min_coverage)
  ) d (n, code, message, is_so)
  where d.is_so order by d.n);

-- Returns the status of an answer by the codes of its diagnostics and its grounded characters.
create or replace function ragdb_internal.answer_status(codes text[], abstains boolean,
  grounded bigint)
returns text
language sql immutable parallel safe
return case
  when codes = '{}' then case when abstains then 'abstained' else 'grounded' end
  when not codes <@ array['SPAN_UNGROUNDED', 'GROUNDING_BELOW_THRESHOLD'] then 'invalid'
  when grounded = 0 then 'ungrounded'
  else 'partially_grounded'
end;

-- Returns the sources of the cited chunks, in the order of their first citation.
create or replace function ragdb_internal.cited_sources(cited text[], chunks jsonb) returns text[]
language sql immutable parallel safe
return array(
  select c.chunk ->> 'source' from pg_catalog.jsonb_array_elements(chunks) c (chunk)
  where c.chunk ->> 'id' = any (cited)
  group by 1 order by pg_catalog.min(pg_catalog.array_position(cited, c.chunk ->> 'id')));

-- Returns the outcome of an answer whose retrieval failed or cannot be read. Nothing of an answer
-- can be judged by a retrieval that cannot be read.
create or replace function ragdb_internal.unjudged_answer(contract jsonb, retrieval jsonb)
  returns jsonb
language sql immutable parallel safe
return pg_catalog.jsonb_build_object(
  'query', contract -> 'query', 'passed', false, 'status', 'invalid', 'groundingCoverage', 0,
  'groundedChars', 0, 'answerChars', 0, 'evidenceSufficient', false,
  'abstained', (ragdb_internal.answer_terms(contract)).abstains,
  'citedChunkIds', '[]'::jsonb, 'sources', '[]'::jsonb, 'citationsResolve', false,
  'numbersGrounded', false, 'codes', '["RETRIEVER_ERROR"]'::jsonb,
  'diagnostics', pg_catalog.jsonb_build_array(ragdb_internal.diagnostic('RETRIEVER_ERROR',
    coalesce(retrieval ->> 'error',
      'the retrieval is not {"query", "chunks"} with sound chunks'))));

-- Returns the outcome of an answer by a retrieval that can be read.
create or replace function ragdb_internal.judge_answer(contract jsonb, retrieval jsonb)
  returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_terms ragdb_internal.answer_terms := ragdb_internal.answer_terms(contract);
  v_chunks jsonb := retrieval -> 'chunks';
  v_is_enough boolean := ragdb_internal.is_enough(v_terms, v_chunks);
  v_spans jsonb := ragdb_internal.json_part(contract, 'groundingSpans', 'array');
  v_grounding ragdb_internal.grounding := ragdb_internal.judge_spans(v_spans,
    coalesce(contract ->> 'unit', 'codepoint'), v_terms,
    (select coalesce(jsonb_object_agg(c ->> 'id', c), '{}') from jsonb_array_elements(v_chunks) c));
  v_total bigint := length(ragdb_internal.without_space(coalesce(v_terms.answer, '')));
  v_grounded bigint := ragdb_internal.covered_characters(v_terms.answer, v_grounding.spans);
  v_coverage float8 := coalesce(v_grounded / nullif(v_total, 0)::float8, 0);
  v_diagnostics jsonb[] := ragdb_internal.mismatches(contract, retrieval, v_total > 0)
    || v_grounding.diagnostics
    || case when v_terms.abstains then ragdb_internal.abstention_problems(v_terms, v_is_enough)
      else ragdb_internal.grounding_problems(v_terms, v_is_enough, v_total > 0, v_spans <> '[]',
        cardinality(v_grounding.cited), v_coverage) end;
  v_codes text[] := array(select d.code ->> 'code'
    from unnest(v_diagnostics) with ordinality d (code, n) order by d.n);
begin
  return jsonb_build_object(
    'query', contract -> 'query', 'passed', v_diagnostics = '{}',
    'status', ragdb_internal.answer_status(v_codes, v_terms.abstains, v_grounded),
    'groundingCoverage', v_coverage, 'groundedChars', v_grounded, 'answerChars', v_total,
    'evidenceSufficient', v_is_enough, 'abstained', v_terms.abstains,
    'citedChunkIds', array(select c collate "C" from unnest(v_grounding.cited) c order by 1),
    'sources', ragdb_internal.cited_sources(v_grounding.cited, v_chunks),
    'citationsResolve', not v_codes
      && array['CHUNK_REF_UNKNOWN', 'CITATION_REQUIRED', 'SPAN_UNGROUNDED', 'SPAN_INVALID'],
    'numbersGrounded', v_grounding.has_numbers,
    'codes', v_codes, 'diagnostics', v_diagnostics);
end $$;

create or replace function ragdb.evaluate_answer(contract jsonb, retrieval jsonb) returns jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
begin
  if not ragdb_internal.is_answer_contract(contract) then
    raise exception 'contract is not an answer contract'
      using errcode = 'RG442', detail = 'it is ' || ragdb_internal.quote(contract::text),
        hint = '{"query", "answer", "groundingSpans": [{"start", "end", "chunkIds", '
          '"required"}], "requireCitations": true or false, "minGroundingCoverage": 0 to 1, '
          '"minCitedChunks": a whole number, "unit": "codepoint", "utf16" or "byte"}';
  end if;
  if ragdb_internal.retrieval_problem('', coalesce(retrieval, 'null')) is not null then
    return ragdb_internal.unjudged_answer(contract, retrieval);
  end if;
  return ragdb_internal.judge_answer(contract, retrieval);
end $$;
comment on function ragdb.evaluate_answer is
  'Evaluates an answer, {"query", "answer", "groundingSpans": [{"start", "end", "chunkIds", '
  '"required"}], "requireCitations", "minGroundingCoverage" (0 to 1, default 1), "minCitedChunks", '
  '"evidencePolicy", "abstained", "allowAbstain", "abstainAnswer", "lexicalSupport", "unit", '
  '"provenance"}, against a retrieval, {"query", "chunks"}: passed, status (grounded, abstained, '
  'partially_grounded, ungrounded, invalid), coverage and diagnostics. It proves reference, '
  'location and lexical support, not entailment. Raises RG442.';
