-- The spans of an answer: which of its text rests on which retrieved chunks.

-- Returns a diagnostic of an answer.
create or replace function ragdb_internal.diagnostic(code text, message text,
  span_index integer default null, chunk_id text default null)
returns jsonb
language sql immutable parallel safe
return pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
  'code', code, 'message', message, 'spanIndex', span_index, 'chunkId', chunk_id));

-- A span of an answer: its place in the list, from 0, its text in code points, the chunks that it
-- cites, and whether it is one (then chunk_ids is set).
create type ragdb_internal.answer_span as (
  span_index integer, start_offset integer, end_offset integer, chunk_ids text[],
  is_required boolean, is_sound boolean);

-- Reads the spans of an answer, whose offsets are counted in a unit (codepoint, utf16 or byte). The
-- offsets of all units are found once: to count them anew for each span would read the answer as
-- often as it has spans. In an answer of ASCII alone all units are the same.
create or replace function ragdb_internal.answer_spans(spans jsonb, answer text, unit text)
  returns setof ragdb_internal.answer_span
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_length integer := coalesce(length(answer), 0);
  v_offsets integer[];
  v_given record;
  v_span ragdb_internal.answer_span;
begin
  if unit <> 'codepoint' and octet_length(answer) > v_length then
    v_offsets := ragdb_internal.code_point_offsets(answer, unit);
  end if;
  for v_given in
    select s.span, s.n from jsonb_array_elements(spans) with ordinality s (span, n) order by s.n
  loop
    v_span.span_index := v_given.n - 1;
    v_span.start_offset := ragdb_internal.whole(v_given.span ->> 'start', 0, 1e9);
    v_span.end_offset := ragdb_internal.whole(v_given.span ->> 'end', 0, 1e9);
    if v_offsets is not null then
      v_span.start_offset := v_offsets[v_span.start_offset + 1];
      v_span.end_offset := v_offsets[v_span.end_offset + 1];
    end if;
    v_span.is_required := coalesce(v_given.span ->> 'required' = 'true', false);
    v_span.is_sound := coalesce(v_span.start_offset < v_span.end_offset
        and v_span.end_offset <= v_length, false)
      and jsonb_typeof(v_given.span -> 'chunkIds') is not distinct from 'array'
      and not jsonb_path_exists(v_given.span, '$.chunkIds[*] ? (@.type() != "string")');
    v_span.chunk_ids := case when v_span.is_sound then array(
      select c.id from jsonb_array_elements_text(v_given.span -> 'chunkIds')
        with ordinality c (id, n) order by c.n) end;
    return next v_span;
  end loop;
end $$;

-- What is wrong with a span, the retrieved chunks that it cites, each once, whether its text counts
-- as grounded, and whether each of its numbers is in one of these chunks.
create type ragdb_internal.span_verdict as (
  diagnostics jsonb[], chunk_ids text[], is_grounded boolean, has_numbers boolean);

-- Judges a span that is sound; chunks are those retrieved, by their ids, and forms their texts as
-- lexical support compares them. Numbers are looked up also in a span that is refused: a number
-- without a chunk is not in one.
create or replace function ragdb_internal.judge_span(span ragdb_internal.answer_span,
  terms ragdb_internal.answer_terms, chunks jsonb, forms jsonb)
returns ragdb_internal.span_verdict
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_said text := substr(terms.answer, span.start_offset + 1, span.end_offset - span.start_offset);
  v_form text := ragdb_internal.support_form(case when terms.needs_support then v_said end);
  v_ids text[] := array(select c.id from unnest(span.chunk_ids) with ordinality c (id, n)
    where chunks ? c.id group by c.id order by min(c.n));
  v_diagnostics jsonb[] := array(
    select ragdb_internal.diagnostic('CHUNK_REF_UNKNOWN',
      'chunk ' || ragdb_internal.quote(c.id) || ' was not retrieved', span.span_index, c.id)
    from unnest(span.chunk_ids) with ordinality c (id, n) where not chunks ? c.id order by c.n);
  v_refusal jsonb;
begin
  v_refusal := case
    when v_ids = '{}' and span.is_required then ragdb_internal.diagnostic('CITATION_REQUIRED',
      'a required span has no retrieved chunk', span.span_index)
    when v_ids = '{}' then ragdb_internal.diagnostic('SPAN_UNGROUNDED',
      'a span has no retrieved chunk', span.span_index)
    when terms.needs_citations and not exists (select from unnest(v_ids) i
        where ragdb_internal.is_cited(chunks -> i -> 'citation'))
      then ragdb_internal.diagnostic('CITATION_REQUIRED',
        'no chunk of a span has a uri or locator', span.span_index)
    when terms.needs_support and (v_form = '' or not exists (select from unnest(v_ids) i
        where strpos(forms ->> i, v_form) > 0))
      then ragdb_internal.diagnostic('SPAN_TEXT_UNSUPPORTED',
        'the text of a span is in none of its chunks', span.span_index)
  end;
  if v_refusal is not null then
    v_diagnostics := v_diagnostics || v_refusal;
  end if;
  return row(v_diagnostics, v_ids, v_refusal is null, ragdb_internal.has_numbers(v_said,
    array(select chunks -> i ->> 'text' from unnest(v_ids) i)))::ragdb_internal.span_verdict;
end $$;

-- Returns the texts of the chunks that spans cite as lexical support compares them, by their ids.
create or replace function ragdb_internal.cited_forms(spans jsonb, chunks jsonb) returns jsonb
language sql immutable parallel safe
return (
  select coalesce(pg_catalog.jsonb_object_agg(i.id,
    ragdb_internal.support_form(chunks -> i.id ->> 'text')), '{}')
  from (
    select distinct p #>> '{}' as id
    from pg_catalog.jsonb_path_query(spans, '$[*].chunkIds[*]', silent => true) p) i
  where chunks ? i.id);

-- What is wrong with the spans of an answer, the chunks that they cite in the order of their first
-- citation, the text that is grounded, and whether each number of a span is in a chunk it cites.
create type ragdb_internal.grounding as (
  diagnostics jsonb[], cited text[], spans int4multirange, has_numbers boolean);

-- Judges the spans of an answer in their order; chunks are those retrieved, by their ids.
create or replace function ragdb_internal.judge_spans(spans jsonb, unit text,
  terms ragdb_internal.answer_terms, chunks jsonb)
returns ragdb_internal.grounding
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_forms jsonb := case when terms.needs_support
    then ragdb_internal.cited_forms(spans, chunks) end;
  v_span ragdb_internal.answer_span;
  v_verdict ragdb_internal.span_verdict;
  v_found ragdb_internal.grounding := row('{}', '{}', '{}', true);
begin
  for v_span in select s.* from ragdb_internal.answer_spans(spans, terms.answer, unit) s loop
    if not v_span.is_sound then
      v_found.diagnostics := v_found.diagnostics || ragdb_internal.diagnostic('SPAN_INVALID',
        'a span needs 0 <= start < end <= length of the answer, and chunk ids', v_span.span_index);
      continue;
    end if;
    v_verdict := ragdb_internal.judge_span(v_span, terms, chunks, v_forms);
    v_found.diagnostics := v_found.diagnostics || v_verdict.diagnostics;
    v_found.cited := v_found.cited
      || array(select i from unnest(v_verdict.chunk_ids) i where i <> all (v_found.cited));
    v_found.has_numbers := v_found.has_numbers and v_verdict.has_numbers;
    if v_verdict.is_grounded then
      v_found.spans := v_found.spans
        + int4multirange(int4range(v_span.start_offset, v_span.end_offset));
    end if;
  end loop;
  return v_found;
end $$;
