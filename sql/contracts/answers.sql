-- Answer contracts: which parts of an answer rest on which retrieved chunks. What is proved is
-- reference, location and lexical support, never that the chunk implies the sentence.

create or replace function ragdb_internal.is_cited(citation jsonb) returns boolean
language sql immutable parallel safe
return coalesce((is_cited.citation ->> 'uri') ~ '\S', false)
  or coalesce((is_cited.citation ->> 'locator') ~ '\S', false);
comment on function ragdb_internal.is_cited(jsonb) is
  'Whether a citation has a uri or locator that is not blank.';

create or replace function ragdb_internal.retrieval_problem(case_name text, retrieval jsonb) returns text
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
comment on function ragdb_internal.retrieval_problem(text, jsonb) is
  'Returns what is wrong with a retrieval given as JSON; null for one that can be evaluated.';

create or replace function ragdb.evaluate_answer(contract jsonb, retrieval jsonb) returns jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_answer text := case jsonb_typeof(contract -> 'answer')
    when 'string' then contract ->> 'answer' end;
  v_unit text := coalesce(contract ->> 'unit', 'codepoint');
  v_minimum float8;
  v_cites boolean;
  v_supports boolean;
  v_abstained boolean;
  v_policy jsonb := coalesce(contract -> 'evidencePolicy', '{}');
  v_diagnostics jsonb[] := '{}';
  v_chunks jsonb;
  v_by_id jsonb;
  v_texts text[];
  v_forms jsonb;
  v_length integer;
  v_offsets integer[];
  v_span record;
  v_id text;
  v_ids text[];
  v_cited text[] := '{}';
  v_sources text[] := '{}';
  v_start integer;
  v_end integer;
  v_form text;
  v_accepted int4multirange := '{}';
  v_total integer := 0;
  v_grounded integer := 0;
  v_coverage float8;
  v_weak boolean;
  v_numbers boolean := true;
  v_number text;
begin
  if not ragdb_internal.is_answer_contract(contract) then
    raise exception 'contract is no answer contract'
      using errcode = 'RG442', detail = 'it is ' || ragdb_internal.quote(contract::text),
            hint = '{"query", "answer", "groundingSpans": [{"start", "end", "chunkIds", '
                   '"required"}], "requireCitations": true or false, "minGroundingCoverage": 0 to '
                   '1, "minCitedChunks": a whole number, "unit": "codepoint", "utf16" or "byte"}';
  end if;
  v_minimum := coalesce(ragdb_internal.double((contract ->> 'minGroundingCoverage')::numeric), 1);
  v_cites := coalesce((contract ->> 'requireCitations')::boolean, false);
  v_supports := coalesce((contract ->> 'lexicalSupport')::boolean, true);
  v_abstained := coalesce((contract ->> 'abstained')::boolean, false);
  if ragdb_internal.retrieval_problem('', coalesce(retrieval, 'null')) is not null then
    return jsonb_build_object('query', contract -> 'query', 'passed', false, 'status', 'invalid',
      'groundingCoverage', 0, 'groundedChars', 0, 'answerChars', 0,
      'evidenceSufficient', false, 'abstained', v_abstained, 'citedChunkIds', '[]'::jsonb,
        'sources', '[]'::jsonb,
      'citationsResolve', false, 'numbersGrounded', false, 'codes', '["RETRIEVER_ERROR"]'::jsonb,
      'diagnostics', jsonb_build_array(ragdb_internal.diagnostic('RETRIEVER_ERROR',
        coalesce(retrieval ->> 'error',
          'the retrieval is no {"query", "chunks"} with sound chunks'))));
  end if;
  v_chunks := retrieval -> 'chunks';
  v_by_id := (select coalesce(jsonb_object_agg(c.v ->> 'id', c.v), '{}')
    from jsonb_array_elements(v_chunks) c (v));
  if v_supports then
    v_forms := (
      select coalesce(jsonb_object_agg(i.id, ragdb_internal.support_form(v_by_id -> i.id ->> 'text')), '{}')
      from (select distinct p #>> '{}' as id
        from jsonb_path_query(contract, '$.groundingSpans[*].chunkIds[*]', silent => true) p) i
      where v_by_id ? i.id);
  end if;
  v_length := coalesce(length(v_answer), 0);
  if v_length = coalesce(octet_length(v_answer), 0) then
    v_unit := 'codepoint';
  elsif v_unit <> 'codepoint' then
    v_offsets := ragdb_internal.code_point_offsets(v_answer, v_unit);
  end if;
  if v_answer is null or ragdb_internal.without_space(v_answer) = '' then
    v_diagnostics := v_diagnostics || ragdb_internal.diagnostic('ANSWER_EMPTY', 'the answer is empty');
  end if;
  v_total := length(ragdb_internal.without_space(coalesce(v_answer, '')));
  if contract -> 'query' is distinct from retrieval -> 'query' then
    v_diagnostics := v_diagnostics
      || ragdb_internal.diagnostic('QUERY_MISMATCH', 'the retrieval is of another query');
  end if;
  if contract ? 'provenance'
    and (contract #> '{provenance,query}' is distinct from retrieval -> 'query'
    or contract #> '{provenance,chunkCount}' is distinct from to_jsonb(jsonb_array_length(v_chunks))
    or contract #> '{provenance,chunkHashes}' is distinct from (
      select coalesce(jsonb_agg(ragdb.kern_chunk_hash(c.v ->> 'text') order by c.n), '[]')
        from jsonb_array_elements(v_chunks) with ordinality c (v, n))
    or contract #> '{provenance,sources}' is distinct from (
      select coalesce(jsonb_agg(s.source order by s.n), '[]') from (
        select c.v ->> 'source' as source, min(c.n) as n from jsonb_array_elements(v_chunks)
          with ordinality c (v, n) group by 1) s))
  then
    v_diagnostics := v_diagnostics || ragdb_internal.diagnostic('PROVENANCE_MISMATCH',
      'the provenance is of another retrieval');
  end if;
  if jsonb_typeof(coalesce(contract -> 'groundingSpans', '[]')) <> 'array' then
    v_diagnostics := v_diagnostics
      || ragdb_internal.diagnostic('SPAN_INVALID', 'groundingSpans is no list');
  else
    for v_span in
      select s.n::integer - 1 as i, s.v, coalesce((s.v ->> 'required') = 'true', false) as required
      from jsonb_array_elements(coalesce(contract -> 'groundingSpans', '[]'))
        with ordinality s (v, n) order by s.n
    loop
      v_start := ragdb_internal.whole(v_span.v ->> 'start', 0, 1e9);
      v_end := ragdb_internal.whole(v_span.v ->> 'end', 0, 1e9);
      if v_unit <> 'codepoint' then
        v_start := v_offsets[v_start + 1];
        v_end := v_offsets[v_end + 1];
      end if;
      if v_start is null or v_end is null or v_start >= v_end or v_end > v_length
        or jsonb_typeof(v_span.v -> 'chunkIds') is distinct from 'array'
        or jsonb_path_exists(v_span.v, '$.chunkIds[*] ? (@.type() != "string")')
      then
        v_diagnostics := v_diagnostics || ragdb_internal.diagnostic('SPAN_INVALID',
          'a span needs 0 <= start < end <= length of the answer, and chunk ids', v_span.i);
        continue;
      end if;
      v_ids := '{}';
      for v_id in select c.v from jsonb_array_elements_text(v_span.v -> 'chunkIds')
        with ordinality c (v, n) order by c.n loop
        if v_by_id ? v_id then
          v_ids := v_ids || v_id;
        else
          v_diagnostics := v_diagnostics
            || ragdb_internal.diagnostic('CHUNK_REF_UNKNOWN',
              'chunk ' || ragdb_internal.quote(v_id) || ' was not retrieved', v_span.i, v_id);
        end if;
      end loop;
      v_texts := array(select v_by_id -> i ->> 'text' from unnest(v_ids) i);
      -- of every span, also of one that is refused below: a number without a chunk is not in one
      for v_number in select (regexp_matches(substr(v_answer, v_start + 1, v_end - v_start),
        '[0-9]+(?:[.,][0-9]+)*', 'g'))[1] loop
        v_numbers := v_numbers and exists (select from unnest(v_texts) t (text)
          where t.text ~ ('(^|[^0-9.,]|[^0-9][.,])' || replace(v_number, '.', '\.')
            || '($|[^0-9.,]|[.,]($|[^0-9]))'));
      end loop;
      if v_ids = '{}' then
        v_diagnostics := v_diagnostics
          || case when v_span.required then ragdb_internal.diagnostic('CITATION_REQUIRED',
            'a required span has no retrieved chunk', v_span.i)
          else ragdb_internal.diagnostic('SPAN_UNGROUNDED', 'a span has no retrieved chunk', v_span.i) end;
        continue;
      end if;
      v_cited := v_cited || array(select i from unnest(v_ids) i where i <> all (v_cited));
      if v_cites and not exists (select from unnest(v_ids) i
        where ragdb_internal.is_cited(v_by_id -> i -> 'citation')) then
        v_diagnostics := v_diagnostics
          || ragdb_internal.diagnostic('CITATION_REQUIRED', 'no chunk of a span has a uri or locator',
            v_span.i);
        continue;
      end if;
      if v_supports then
        v_form := ragdb_internal.support_form(substr(v_answer, v_start + 1, v_end - v_start));
        if v_form = '' or not exists (select from unnest(v_ids) i
          where strpos(v_forms ->> i, v_form) > 0) then
          v_diagnostics := v_diagnostics || ragdb_internal.diagnostic('SPAN_TEXT_UNSUPPORTED',
            'the text of a span is in none of its chunks', v_span.i);
          continue;
        end if;
      end if;
      v_accepted := v_accepted + int4multirange(int4range(v_start, v_end));
    end loop;
  end if;
  select coalesce(sum(
    length(ragdb_internal.without_space(substr(v_answer, lower(r) + 1, upper(r) - lower(r))))), 0)
    into v_grounded from unnest(v_accepted) r;
  v_coverage := coalesce(v_grounded / nullif(v_total, 0)::float8, 0);
  v_weak := jsonb_array_length(v_chunks) < coalesce((v_policy ->> 'minRetrievedChunks')::numeric, 0)
    or coalesce((select max(ragdb_internal.double((c ->> 'score')::numeric))
      from jsonb_array_elements(v_chunks) c),
      0) < coalesce(ragdb_internal.double((v_policy ->> 'minTopScore')::numeric), 0);
  if v_abstained then
    if coalesce((contract ->> 'allowAbstain')::boolean, false) is false then
      v_diagnostics := v_diagnostics || ragdb_internal.diagnostic('ABSTAIN_NOT_ALLOWED',
        'the contract allows no abstention');
    end if;
    if coalesce(contract ->> 'abstainAnswer', '') !~ '\S'
      or btrim(contract ->> 'abstainAnswer', E' \t\n\r') is distinct from btrim(v_answer,
        E' \t\n\r') then
      v_diagnostics := v_diagnostics || ragdb_internal.diagnostic('ABSTAIN_ANSWER_MISMATCH',
        'the answer is not the one for abstaining');
    end if;
    if coalesce((v_policy ->> 'minRetrievedChunks')::numeric, 0) = 0
      and coalesce(ragdb_internal.double((v_policy ->> 'minTopScore')::numeric), 0) = 0 then
      v_diagnostics := v_diagnostics || ragdb_internal.diagnostic('ABSTAIN_EVIDENCE_POLICY_REQUIRED',
        'abstaining needs a policy of what evidence is enough');
    elsif not v_weak then
      v_diagnostics := v_diagnostics || ragdb_internal.diagnostic('ABSTAIN_WITH_SUFFICIENT_EVIDENCE',
        'the evidence was enough to answer');
    end if;
  else
    if v_weak then
      v_diagnostics := v_diagnostics || ragdb_internal.diagnostic('EVIDENCE_INSUFFICIENT',
        'too few chunks, or none that scores enough');
    end if;
    if v_total > 0 then
      if v_cites and (jsonb_typeof(contract -> 'groundingSpans') = 'array'
        and contract -> 'groundingSpans' <> '[]') is not true then
        v_diagnostics := v_diagnostics
          || ragdb_internal.diagnostic('CITATION_REQUIRED', 'the answer cites nothing');
      end if;
      if cardinality(v_cited) < coalesce((contract ->> 'minCitedChunks')::numeric, 0) then
        v_diagnostics := v_diagnostics || ragdb_internal.diagnostic('CITED_CHUNKS_BELOW_MINIMUM',
          format('%s chunks are cited, fewer than %s', cardinality(v_cited),
            contract ->> 'minCitedChunks'));
      end if;
      if v_coverage < v_minimum then
        v_diagnostics := v_diagnostics || ragdb_internal.diagnostic('GROUNDING_BELOW_THRESHOLD',
          format('coverage %s is below required threshold %s.', to_char(v_coverage, 'FM0.000'),
            to_char(v_minimum, 'FM0.000')));
      end if;
    end if;
  end if;
  select coalesce(array_agg(s.source order by s.n), '{}') into v_sources from (
    select c ->> 'source' as source, min(array_position(v_cited, c ->> 'id')) as n
    from jsonb_array_elements(v_chunks) c where c ->> 'id' = any (v_cited) group by 1) s;
  return jsonb_build_object(
    'query', contract -> 'query', 'passed', v_diagnostics = '{}',
    'status', case
      when v_diagnostics = '{}' then case when v_abstained then 'abstained' else 'grounded' end
      when exists (select from unnest(v_diagnostics) d
        where d ->> 'code' not in ('SPAN_UNGROUNDED', 'GROUNDING_BELOW_THRESHOLD')) then 'invalid'
      when v_grounded = 0 then 'ungrounded' else 'partially_grounded' end,
    'groundingCoverage', v_coverage, 'groundedChars', v_grounded, 'answerChars', v_total,
    'evidenceSufficient', not v_weak, 'abstained', v_abstained,
    'citedChunkIds', to_jsonb(array(select c collate "C" from unnest(v_cited) c order by 1)),
      'sources', to_jsonb(v_sources),
    'citationsResolve',
      not exists (select from unnest(v_diagnostics) d
        where d ->> 'code' in ('CHUNK_REF_UNKNOWN', 'CITATION_REQUIRED', 'SPAN_UNGROUNDED',
          'SPAN_INVALID')),
    'numbersGrounded', v_numbers,
    'codes', (select coalesce(jsonb_agg(d -> 'code'), '[]') from unnest(v_diagnostics) d),
    'diagnostics', to_jsonb(v_diagnostics));
end $$;
comment on function ragdb.evaluate_answer(jsonb, jsonb) is
  'Evaluates an answer, {"query", "answer", "groundingSpans": [{"start", "end", "chunkIds", '
  '"required"}], "requireCitations", "minGroundingCoverage" (0 to 1, default 1), "minCitedChunks", '
  '"evidencePolicy", "abstained", "allowAbstain", "abstainAnswer", "lexicalSupport", "unit", '
  '"provenance"}, against a retrieval, {"query", "chunks"}: passed, status (grounded, abstained, '
  'partially_grounded, ungrounded, invalid), coverage and diagnostics. It proves reference, '
  'location and lexical support, not entailment. Raises RG442.';
