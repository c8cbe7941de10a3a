-- Answer contracts: which parts of an answer rest on which retrieved chunks. What is proved is
-- reference, location and lexical support, never that the chunk implies the sentence.

-- White space as JavaScript has it, beyond ASCII too.
create or replace function ragdb._without_space(text text) returns text
language sql immutable parallel safe
return pg_catalog.regexp_replace(_without_space.text,
  U&'[\0009-\000D\0020\00A0\1680\2000-\200A\2028\2029\202F\205F\3000\FEFF]+' collate "C", '', 'g');
comment on function ragdb._without_space(text) is
  'Returns a text without its white space, Unicode''s included.';

create or replace function ragdb._support_form(text text) returns text
language sql immutable parallel safe
return pg_catalog.btrim(pg_catalog.regexp_replace(pg_catalog.regexp_replace(
  ragdb._fold(normalize(pg_catalog.replace(_support_form.text, U&'\00AD', ''), nfkc)), '[.,;:!?]+',
    ' ', 'g'),
  U&'[\0009-\000D\0020\00A0\1680\2000-\200A\2028\2029\202F\205F\3000\FEFF]+' collate "C", ' ',
    'g'));
comment on function ragdb._support_form(text) is
  'Returns a text as lexical support compares it: NFKC, case folded, punctuation and white space '
  'one space.';

-- Offsets arrive in the unit of whoever made them; here they are code points.
create or replace function ragdb._code_point_offsets(text text, unit text) returns integer[]
language sql immutable parallel safe
return array(
  select case w.i when 1 then c.n - 1 end
  from pg_catalog.string_to_table(_code_point_offsets.text, null) with ordinality c (c, n)
    cross join lateral pg_catalog.generate_series(1,
      case unit when 'utf16' then case pg_catalog.octet_length(c.c) when 4 then 2 else 1 end
      else pg_catalog.octet_length(c.c) end) w (i)
  order by c.n, w.i) || pg_catalog.length(_code_point_offsets.text);
comment on function ragdb._code_point_offsets(text, text) is
  'Returns the code points before each offset, from 0, of a text in the unit utf16 or byte; null '
  'inside a character.';

create or replace function ragdb._diagnostic(code text, message text,
  span_index integer default null, chunk_id text default null)
returns jsonb
language sql immutable parallel safe
return pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
  'code', code, 'message', message, 'spanIndex', span_index, 'chunkId', chunk_id));
comment on function ragdb._diagnostic(text, text, integer, text) is
  'Returns a diagnostic of an answer.';

create or replace function ragdb._is_answer_contract(contract jsonb) returns boolean
language sql immutable parallel safe
return case when pg_catalog.jsonb_typeof(contract) is not distinct from 'object'
    and coalesce(pg_catalog.jsonb_typeof(contract -> 'evidencePolicy'), 'null') in ('object',
      'null')
  then coalesce(contract ->> 'unit', 'codepoint') in ('codepoint', 'utf16', 'byte')
    and not exists (
      select from pg_catalog.jsonb_each(contract) f (key, value)
      where f.key in ('requireCitations', 'lexicalSupport', 'abstained', 'allowAbstain')
        and pg_catalog.jsonb_typeof(f.value) not in ('boolean', 'null'))
    and not exists (
      select from (values
        (contract -> 'minGroundingCoverage', true, 1),
          (contract -> 'minCitedChunks', false, 1000000),
        (contract #> '{evidencePolicy,minRetrievedChunks}', false, 1000000),
        (contract #> '{evidencePolicy,minTopScore}', true, 1000000)) f (value, is_fraction, high)
      where pg_catalog.jsonb_typeof(f.value) <> 'null' and case pg_catalog.jsonb_typeof(f.value)
          when 'number' then (f.value #>> '{}')::numeric not between 0 and f.high
            or not f.is_fraction and pg_catalog.mod((f.value #>> '{}')::numeric, 1) <> 0
          else true end)
  else false end;
comment on function ragdb._is_answer_contract(jsonb) is
  'Whether an object has what ragdb.evaluate_answer() takes, each of its type and in its range.';

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
  if not ragdb._is_answer_contract(contract) then
    raise exception 'contract is no answer contract'
      using errcode = 'RG442', detail = 'it is ' || ragdb._quote(contract::text),
            hint = '{"query", "answer", "groundingSpans": [{"start", "end", "chunkIds", '
                   '"required"}], "requireCitations": true or false, "minGroundingCoverage": 0 to '
                   '1, "minCitedChunks": a whole number, "unit": "codepoint", "utf16" or "byte"}';
  end if;
  v_minimum := coalesce(ragdb._double((contract ->> 'minGroundingCoverage')::numeric), 1);
  v_cites := coalesce((contract ->> 'requireCitations')::boolean, false);
  v_supports := coalesce((contract ->> 'lexicalSupport')::boolean, true);
  v_abstained := coalesce((contract ->> 'abstained')::boolean, false);
  if ragdb._retrieval_problem('', coalesce(retrieval, 'null')) is not null then
    return jsonb_build_object('query', contract -> 'query', 'passed', false, 'status', 'invalid',
      'groundingCoverage', 0, 'groundedChars', 0, 'answerChars', 0,
      'evidenceSufficient', false, 'abstained', v_abstained, 'citedChunkIds', '[]'::jsonb,
        'sources', '[]'::jsonb,
      'citationsResolve', false, 'numbersGrounded', false, 'codes', '["RETRIEVER_ERROR"]'::jsonb,
      'diagnostics', jsonb_build_array(ragdb._diagnostic('RETRIEVER_ERROR',
        coalesce(retrieval ->> 'error',
          'the retrieval is no {"query", "chunks"} with sound chunks'))));
  end if;
  v_chunks := retrieval -> 'chunks';
  v_by_id := (select coalesce(jsonb_object_agg(c.v ->> 'id', c.v), '{}')
    from jsonb_array_elements(v_chunks) c (v));
  if v_supports then
    v_forms := (
      select coalesce(jsonb_object_agg(i.id, ragdb._support_form(v_by_id -> i.id ->> 'text')), '{}')
      from (select distinct p #>> '{}' as id
        from jsonb_path_query(contract, '$.groundingSpans[*].chunkIds[*]', silent => true) p) i
      where v_by_id ? i.id);
  end if;
  v_length := coalesce(length(v_answer), 0);
  if v_length = coalesce(octet_length(v_answer), 0) then
    v_unit := 'codepoint';
  elsif v_unit <> 'codepoint' then
    v_offsets := ragdb._code_point_offsets(v_answer, v_unit);
  end if;
  if v_answer is null or ragdb._without_space(v_answer) = '' then
    v_diagnostics := v_diagnostics || ragdb._diagnostic('ANSWER_EMPTY', 'the answer is empty');
  end if;
  v_total := length(ragdb._without_space(coalesce(v_answer, '')));
  if contract -> 'query' is distinct from retrieval -> 'query' then
    v_diagnostics := v_diagnostics
      || ragdb._diagnostic('QUERY_MISMATCH', 'the retrieval is of another query');
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
    v_diagnostics := v_diagnostics || ragdb._diagnostic('PROVENANCE_MISMATCH',
      'the provenance is of another retrieval');
  end if;
  if jsonb_typeof(coalesce(contract -> 'groundingSpans', '[]')) <> 'array' then
    v_diagnostics := v_diagnostics
      || ragdb._diagnostic('SPAN_INVALID', 'groundingSpans is no list');
  else
    for v_span in
      select s.n::integer - 1 as i, s.v, coalesce((s.v ->> 'required') = 'true', false) as required
      from jsonb_array_elements(coalesce(contract -> 'groundingSpans', '[]'))
        with ordinality s (v, n) order by s.n
    loop
      v_start := ragdb._whole(v_span.v ->> 'start', 0, 1e9);
      v_end := ragdb._whole(v_span.v ->> 'end', 0, 1e9);
      if v_unit <> 'codepoint' then
        v_start := v_offsets[v_start + 1];
        v_end := v_offsets[v_end + 1];
      end if;
      if v_start is null or v_end is null or v_start >= v_end or v_end > v_length
        or jsonb_typeof(v_span.v -> 'chunkIds') is distinct from 'array'
        or jsonb_path_exists(v_span.v, '$.chunkIds[*] ? (@.type() != "string")')
      then
        v_diagnostics := v_diagnostics || ragdb._diagnostic('SPAN_INVALID',
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
            || ragdb._diagnostic('CHUNK_REF_UNKNOWN',
              'chunk ' || ragdb._quote(v_id) || ' was not retrieved', v_span.i, v_id);
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
          || case when v_span.required then ragdb._diagnostic('CITATION_REQUIRED',
            'a required span has no retrieved chunk', v_span.i)
          else ragdb._diagnostic('SPAN_UNGROUNDED', 'a span has no retrieved chunk', v_span.i) end;
        continue;
      end if;
      v_cited := v_cited || array(select i from unnest(v_ids) i where i <> all (v_cited));
      if v_cites and not exists (select from unnest(v_ids) i
        where ragdb._is_cited(v_by_id -> i -> 'citation')) then
        v_diagnostics := v_diagnostics
          || ragdb._diagnostic('CITATION_REQUIRED', 'no chunk of a span has a uri or locator',
            v_span.i);
        continue;
      end if;
      if v_supports then
        v_form := ragdb._support_form(substr(v_answer, v_start + 1, v_end - v_start));
        if v_form = '' or not exists (select from unnest(v_ids) i
          where strpos(v_forms ->> i, v_form) > 0) then
          v_diagnostics := v_diagnostics || ragdb._diagnostic('SPAN_TEXT_UNSUPPORTED',
            'the text of a span is in none of its chunks', v_span.i);
          continue;
        end if;
      end if;
      v_accepted := v_accepted + int4multirange(int4range(v_start, v_end));
    end loop;
  end if;
  select coalesce(sum(
    length(ragdb._without_space(substr(v_answer, lower(r) + 1, upper(r) - lower(r))))), 0)
    into v_grounded from unnest(v_accepted) r;
  v_coverage := coalesce(v_grounded / nullif(v_total, 0)::float8, 0);
  v_weak := jsonb_array_length(v_chunks) < coalesce((v_policy ->> 'minRetrievedChunks')::numeric, 0)
    or coalesce((select max(ragdb._double((c ->> 'score')::numeric))
      from jsonb_array_elements(v_chunks) c),
      0) < coalesce(ragdb._double((v_policy ->> 'minTopScore')::numeric), 0);
  if v_abstained then
    if coalesce((contract ->> 'allowAbstain')::boolean, false) is false then
      v_diagnostics := v_diagnostics || ragdb._diagnostic('ABSTAIN_NOT_ALLOWED',
        'the contract allows no abstention');
    end if;
    if coalesce(contract ->> 'abstainAnswer', '') !~ '\S'
      or btrim(contract ->> 'abstainAnswer', E' \t\n\r') is distinct from btrim(v_answer,
        E' \t\n\r') then
      v_diagnostics := v_diagnostics || ragdb._diagnostic('ABSTAIN_ANSWER_MISMATCH',
        'the answer is not the one for abstaining');
    end if;
    if coalesce((v_policy ->> 'minRetrievedChunks')::numeric, 0) = 0
      and coalesce(ragdb._double((v_policy ->> 'minTopScore')::numeric), 0) = 0 then
      v_diagnostics := v_diagnostics || ragdb._diagnostic('ABSTAIN_EVIDENCE_POLICY_REQUIRED',
        'abstaining needs a policy of what evidence is enough');
    elsif not v_weak then
      v_diagnostics := v_diagnostics || ragdb._diagnostic('ABSTAIN_WITH_SUFFICIENT_EVIDENCE',
        'the evidence was enough to answer');
    end if;
  else
    if v_weak then
      v_diagnostics := v_diagnostics || ragdb._diagnostic('EVIDENCE_INSUFFICIENT',
        'too few chunks, or none that scores enough');
    end if;
    if v_total > 0 then
      if v_cites and (jsonb_typeof(contract -> 'groundingSpans') = 'array'
        and contract -> 'groundingSpans' <> '[]') is not true then
        v_diagnostics := v_diagnostics
          || ragdb._diagnostic('CITATION_REQUIRED', 'the answer cites nothing');
      end if;
      if cardinality(v_cited) < coalesce((contract ->> 'minCitedChunks')::numeric, 0) then
        v_diagnostics := v_diagnostics || ragdb._diagnostic('CITED_CHUNKS_BELOW_MINIMUM',
          format('%s chunks are cited, fewer than %s', cardinality(v_cited),
            contract ->> 'minCitedChunks'));
      end if;
      if v_coverage < v_minimum then
        v_diagnostics := v_diagnostics || ragdb._diagnostic('GROUNDING_BELOW_THRESHOLD',
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

create or replace function ragdb._marked(answer text)
returns table (n bigint, marker text, said text)
language sql immutable parallel safe
begin atomic
  select p.n, p.part[1], p.part[2]
  from pg_catalog.regexp_matches(_marked.answer,
    '(\[[0-9]{1,6}(?:[ \t]*,[ \t]*[0-9]{1,6})*\])|([^\[]+|\[)', 'g') with ordinality p (part, n);
end;
comment on function ragdb._marked(text) is
  'Cuts an answer into its [n] markers and what is said between them; of marker and said one is '
  'null.';

-- Each marker grounds the text since the one before it; markers with nothing but punctuation
-- between ground the same. The answer is cut up at once: to look for each marker anew is to read
-- the answer as often as it has markers.
create or replace function ragdb._markers(answer text)
returns table (n integer, start_offset integer, end_offset integer, marker_offset integer)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_from integer := 0;
  v_marker record;
begin
  for v_marker in
    select p.nth, coalesce(string_agg(p.said, '' order by p.n), '') as gap, max(p.marker) as marker,
      max(p.stop)::integer as stop
    from (
      select t.*, sum(length(coalesce(t.marker, t.said))) over (order by t.n) as stop,
        count(t.marker) over (order by t.n rows between unbounded preceding and 1 preceding) as nth
      from ragdb._marked(answer) t) p
    group by p.nth having max(p.marker) is not null order by p.nth
  loop
    if v_marker.gap !~ '^[ \t.,;:!?]*$' or v_from = 0 then
      start_offset := v_from + length(v_marker.gap)
        - length(regexp_replace(v_marker.gap, '^[[:space:].!?]+', ''));
      end_offset := v_from + length(regexp_replace(v_marker.gap, '[[:space:]]+$', ''));
    end if;
    marker_offset := v_marker.stop - length(v_marker.marker);
    return query select m.n::integer, _markers.start_offset, _markers.end_offset,
      _markers.marker_offset
      from regexp_split_to_table(btrim(v_marker.marker, '[]'), '[ \t]*,[ \t]*') m (n);
    v_from := v_marker.stop;
  end loop;
end $$;
comment on function ragdb._markers(text) is
  'Returns the numbers of the [n] markers of an answer, each with the range of the text it grounds '
  'and its own place, from 0.';

-- Definer: what it calls is private.
create or replace function ragdb.inline_spans(answer text, chunk_ids text[]) returns jsonb
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_marker record;
begin
  if answer is null or chunk_ids is null or not ragdb._is_list(chunk_ids) then
    raise exception '%',
      case when answer is null then 'answer is null' else 'chunk_ids is null or no plain list' end
      using errcode = 'RG400', detail = 'markers are numbers of chunks, from 1',
        hint = 'pass the ids in the order in which the chunks were numbered';
  end if;
  for v_marker in select m.* from ragdb._markers(answer) m loop
    if v_marker.n not between 1 and cardinality(chunk_ids) then
      raise exception 'marker [%] names no chunk', v_marker.n
        using errcode = 'RG442',
          detail = format('there are %s chunks, from 1', cardinality(chunk_ids)),
          hint = 'correct the marker, or pass all chunk ids';
    elsif v_marker.start_offset >= v_marker.end_offset then
      raise exception 'marker [%] has no text before it', v_marker.n
        using errcode = 'RG442', detail = 'a marker grounds the text since the one before',
          hint = 'put it behind what it proves';
    end if;
  end loop;
  return coalesce((
    select jsonb_agg(jsonb_build_object('start', s.start_offset, 'end', s.end_offset, 'chunkIds',
      s.ids, 'required', true)
      order by s.start_offset)
    from (
      select c.start_offset, c.end_offset, jsonb_agg(c.id order by c.first) as ids
      from (
        select m.start_offset, m.end_offset, chunk_ids[m.n] as id, min(m.place) as first
        from (select t.*, row_number() over () as place from ragdb._markers(answer) t) m
        group by 1, 2, 3) c
      group by c.start_offset, c.end_offset) s), '[]');
end $$;
comment on function ragdb.inline_spans(text, text[]) is
  'Returns the grounding spans (code points) that markers [1] or [1, 2] in an answer mean, given '
  'the ids of the chunks in the order of their numbers. Raises RG400, RG442.';

-- A contract's answer node as ragdb.evaluate_answer takes it. Strict, which is the default, asks
-- for lexical support and full coverage; lenient for neither unless it is declared.
create or replace function ragdb._answer_contract(declared ragdb.contract_nodes, answer text)
  returns jsonb
language sql stable parallel safe
return (
  select pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
    'query', (declared).keys -> 'query', 'answer', coalesce(answer, (declared).keys ->> 'answer'),
    'requireCitations', coalesce((declared).keys ->> 'requireCitations', r.citations)::boolean,
    'minGroundingCoverage',
      coalesce(((declared).keys ->> 'minGroundingCoverage')::float8,
        case r.policy when 'lenient' then 0 else 1 end),
    'lexicalSupport', coalesce(((declared).keys ->> 'lexicalSupport')::boolean,
      r.policy is distinct from 'lenient'),
    'minCitedChunks', ((declared).keys ->> 'minCitedChunks')::integer,
    'evidencePolicy', pg_catalog.jsonb_build_object('minRetrievedChunks',
      ((declared).keys ->> 'minRetrievedChunks')::integer, 'minTopScore',
      ((declared).keys ->> 'minTopScore')::float8),
    'allowAbstain', ((declared).keys ->> 'allowAbstain')::boolean, 'abstainAnswer',
      (declared).keys -> 'abstainAnswer',
    'abstained', (declared).keys ? 'abstainAnswer'
      and coalesce(answer, (declared).keys ->> 'answer') = (declared).keys ->> 'abstainAnswer',
    'groundingSpans', coalesce((
      select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('start',
        (s.keys ->> 'start')::integer, 'end', (s.keys ->> 'end')::integer,
        'chunkIds', pg_catalog.to_jsonb(ragdb._list(s.keys ->> 'chunks')), 'required',
          coalesce((s.keys ->> 'required')::boolean, false)) order by s.node_no)
      from ragdb.contract_nodes s where s.contract = (declared).contract
        and s.version = (declared).version and s.parent_no = (declared).node_no
        and s.node = 'answerSpan'), '[]')))
  from (select pg_catalog.max(g.keys ->> 'policy') as policy,
      case when pg_catalog.bool_or(coalesce(g.keys ->> 'requireCitations',
        g.keys ->> 'citations') = 'true') then 'true' end as citations
    from ragdb.contract_nodes g where g.contract = (declared).contract
      and g.version = (declared).version
      and g.node in ('rag', 'grounding') and g.rag = (declared).rag) r);
comment on function ragdb._answer_contract(ragdb.contract_nodes, text) is
  'Returns a ragAnswerContract of a contract, for its own answer or another, as '
  'ragdb.evaluate_answer takes it.';

-- What a rag may use of what was retrieved: whole chunks in rank order while they fit its
-- maxContext (code points), the next one cut, none after it.
create or replace function ragdb._rag_context(query text, hits ragdb.eval_hit[],
  max_context integer) returns jsonb
language sql stable parallel safe
return pg_catalog.jsonb_build_object('query', query, 'chunks', coalesce((
  select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('id', h.chunk_id, 'source', h.source,
    'score', h.score,
    'citation', coalesce(h.citation, '{}'), 'text',
      pg_catalog.left(h.text, coalesce(max_context, 2147483647) - h.before::integer))
      order by h.rank)
  from (select u.*, coalesce(pg_catalog.sum(pg_catalog.length(u.text)) over
    (order by u.rank rows between unbounded preceding and 1 preceding), 0) as before
    from pg_catalog.unnest(hits) u) h
  where h.before < coalesce(max_context, 2147483647)), '[]'));
comment on function ragdb._rag_context(text, ragdb.eval_hit[], integer) is
  'Returns retrieved chunks as JSON, cut to a rag''s maxContext in code points.';
