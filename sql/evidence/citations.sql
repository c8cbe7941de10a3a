-- Citations: whether they name evidence, whether a quote stands where it is said to, whether its
-- numbers do. All of it proves reference, place and the words; none of it proves that an answer
-- follows from them.

-- Definer: what a trace saw is granted to nobody; the caller's right to the trace is checked here.
create or replace function ragdb.check_citations(
  output jsonb, evidence jsonb, trace_id uuid default null, require_citations boolean default false,
  require_admissible boolean default false, min_coverage float8 default 0,
    min_quote integer default 8,
  offsets text default 'codepoint')
returns table (citation integer, code text, is_advisory boolean, message text, source_id text,
  chunk_id text,
  method text, start_offset integer, end_offset integer, similarity float8)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_evidence jsonb := ragdb_internal.evidence_of(evidence);
  v_answer text := ragdb_internal.answer_text(output);
  v_trace ragdb.retrieval_traces;
  v_trace_id uuid;
  v_cited record;
  v_hit record;
  v_is_admissible boolean := false;
  v_is_verified boolean;
  v_found record;
  v_text text;
  v_at_start integer;
  v_at_end integer;
  v_letters text;
  v_missing text;
  v_said int4multirange := '{}';
  v_covered integer;
  v_all integer;
  v_problems integer;
begin
  perform ragdb_internal.check_output(output, v_evidence);
  if offsets is null or offsets not in ('codepoint', 'utf16', 'byte') then
    raise exception 'offsets is %', ragdb_internal.quote(offsets)
      using errcode = 'RG400', detail = 'it is what places in a text are counted in',
        hint = 'pass codepoint, utf16 or byte';
  end if;
  if require_citations is null or require_admissible is null or min_coverage is null
    or not min_coverage between 0 and 1
      or min_quote is null or min_quote not between 1 and 1000 then
    raise exception 'an argument of check_citations is null or out of range'
      using errcode = 'RG400',
        detail = 'min_coverage is 0 to 1, min_quote 1 to 1000 letters, the others true or false',
            hint = 'leave an argument out for its default';
  end if;
  v_trace_id := coalesce(trace_id, ragdb_internal.trace_of(v_evidence));
  if v_trace_id is not null then
    v_trace := ragdb_internal.open_trace(v_trace_id);
  end if;
  if output -> 'insufficient_evidence' = 'true' then
    return;
  end if;
  for v_cited in
    -- read once: an answer may have hundreds of citations, and a pack hundreds of chunks
    with cited as materialized (
      select c.* from ragdb_internal.cited(output, v_evidence) c
    ), evidence as materialized (
      select k.chunk ->> 'chunk_id' as chunk_id, k.chunk ->> 'source_id' as source_id,
        k.chunk ->> 'text' as text, k.chunk - 'text' as chunk, k.n
      from jsonb_array_elements(v_evidence -> 'chunks') with ordinality k (chunk, n)
    ), first as materialized (
      select distinct on (e.chunk_id) e.* from evidence e order by e.chunk_id, e.n
    ), of_source as materialized (
      select distinct on (e.chunk_id, e.source_id) e.* from evidence e order by e.chunk_id,
        e.source_id, e.n
    ), of_span as materialized (
      select c.answer_start, c.answer_end, array_agg(e.text order by e.n) as texts
      from (select distinct c.answer_start, c.answer_end, c.chunk_id from cited c) c
        join evidence e using (chunk_id)
      where c.answer_start is not null and c.answer_end is not null group by 1, 2
    )
    select c.*, coalesce(s.text, f.text) as text,
      coalesce(s.source_id, f.source_id) as found_source,
      coalesce(s.chunk, f.chunk) as chunk, a.texts
    from cited c
      left join first f on f.chunk_id = c.chunk_id and c.source_id is null
      left join of_source s on s.chunk_id = c.chunk_id and s.source_id = c.source_id
      left join of_span a on (a.answer_start, a.answer_end) = (c.answer_start, c.answer_end)
    order by c.n, c.chunk_id
  loop
    citation := v_cited.n;
    source_id := v_cited.source_id;
    chunk_id := v_cited.chunk_id;
    method := null; start_offset := null; end_offset := null; similarity := null;
    is_advisory := false;
    v_problems := 0;
    v_text := v_cited.text;
    if v_text is null then
      code := case when v_cited.is_marker then 'MARKER_UNRESOLVED' else 'CITE_UNKNOWN' end;
      message := case when v_cited.is_marker then 'marker ' || v_cited.chunk_id
        || ' names no chunk of the evidence'
        else 'the evidence has no chunk ' || ragdb_internal.quote(v_cited.chunk_id)
          || coalesce(' of source ' || ragdb_internal.quote(v_cited.source_id), '') end;
      return next;
      continue;
    end if;
    source_id := v_cited.found_source;
    v_trace_id := coalesce(check_citations.trace_id, ragdb_internal.trace_of(v_cited.chunk),
      ragdb_internal.trace_of(v_evidence));
    if v_trace_id is distinct from v_trace.id then
      v_trace := null;
      v_is_admissible := false;
      if v_trace_id is not null then
        v_trace := ragdb_internal.open_trace(v_trace_id);
      end if;
      v_is_verified := null;
    end if;
    if v_trace.id is not null then
      select h.* into v_hit from ragdb_internal.cited_hit(v_trace, v_cited.chunk_id, v_text) h;
      if v_hit.is_admissible and v_is_verified is null then
        v_is_verified := not exists (select from ragdb.verify_trace(v_trace.id) v
          where not v.is_intact);
      end if;
      v_is_admissible := v_hit.is_admissible and v_is_verified;
      if not v_hit.is_retrieved then
        code := 'CITE_NOT_RETRIEVED';
        message := 'the trace did not retrieve this chunk';
        v_problems := v_problems + 1;
        return next;
      elsif v_hit.is_changed then
        code := 'CITE_STALE';
        message := 'the chunk has changed or gone since the trace';
        v_problems := v_problems + 1;
        return next;
      elsif not v_hit.is_said then
        code := 'CITE_NOT_RETRIEVED';
        message := 'the trace retrieved this chunk with another text';
        v_problems := v_problems + 1;
        return next;
      end if;
    end if;
    if (require_admissible or v_trace.retrieval_mode = 'slice') and not v_is_admissible then
      code := 'CITE_NOT_ADMISSIBLE';
      message := 'no admissible slice of the trace has this chunk';
      v_problems := v_problems + 1;
      return next;
    end if;
    if v_cited.quote is not null then
      v_letters := replace((ragdb_internal.quotable(v_cited.quote)).letters, ' ', '');
      if length(v_letters) < min_quote then
        code := 'QUOTE_TOO_SHORT';
        message := 'the quote has ' || length(v_letters) || ' letters and not ' || min_quote;
        v_problems := v_problems + 1;
        return next;
      else
        select f.* into v_found from ragdb_internal.find_quote(v_text, v_cited.quote) f;
        if v_found.method is null then
          v_missing := ragdb_internal.crosses(v_cited.quote, v_cited.chunk_id, v_evidence);
          code := case when v_missing is null then 'QUOTE_NOT_FOUND'
            else 'QUOTE_CROSSES_CHUNKS' end;
          message := case when v_missing is null then 'the chunk does not say this'
            else 'a part of the quote is in chunk ' || ragdb_internal.quote(v_missing) end;
          v_problems := v_problems + 1;
          return next;
        else
          method := v_found.method;
          similarity := v_found.similarity;
          start_offset := ragdb_internal.units(v_text, v_found.start_offset, offsets);
          end_offset := ragdb_internal.units(v_text, v_found.end_offset, offsets);
          if v_cited.start_claim is not null
              and (ragdb_internal.as_integer(v_cited.start_claim), ragdb_internal.as_integer(v_cited.end_claim))
                is distinct from (start_offset, end_offset) then
            code := 'OFFSETS_CORRECTED';
            message := 'the quote stands elsewhere than the citation says';
            is_advisory := true;
            return next;
            is_advisory := false;
          end if;
        end if;
      end if;
    elsif v_cited.start_claim is not null or v_cited.end_claim is not null then
      v_at_start := ragdb_internal.code_points(v_text, ragdb_internal.as_integer(v_cited.start_claim), offsets);
      v_at_end := ragdb_internal.code_points(v_text, ragdb_internal.as_integer(v_cited.end_claim), offsets);
      if coalesce(v_at_start >= v_at_end, true) then
        code := 'SPAN_INVALID';
        message := 'start and end are no range of the chunk';
        v_problems := v_problems + 1;
        return next;
      else
        start_offset := ragdb_internal.as_integer(v_cited.start_claim);
        end_offset := ragdb_internal.as_integer(v_cited.end_claim);
      end if;
    end if;
    if v_cited.answer_start is not null or v_cited.answer_end is not null or v_cited.is_marker then
      -- markers and blocks are counted here, in code points
      v_at_start := ragdb_internal.as_integer(v_cited.answer_start);
      v_at_end := ragdb_internal.as_integer(v_cited.answer_end);
      if not v_cited.is_marker and jsonb_typeof(output -> 'content') is distinct from 'array' then
        v_at_start := ragdb_internal.code_points(v_answer, v_at_start, offsets);
        v_at_end := ragdb_internal.code_points(v_answer, v_at_end, offsets);
      end if;
      if coalesce(v_at_start >= v_at_end or v_at_end > length(v_answer), true) then
        code := 'SPAN_INVALID';
        message := case when v_cited.is_marker then 'there is no text before the marker'
          else 'answer_start and answer_end are no range of the answer' end;
        v_problems := v_problems + 1;
        return next;
      else
        -- of all chunks cited for the same span one must have it
        v_missing := ragdb_internal.unsupported(substr(v_answer, v_at_start + 1, v_at_end - v_at_start),
          v_cited.texts);
        if v_missing is not null then
          code := 'NUMBER_UNSUPPORTED';
          message := 'the answer says ' || ragdb_internal.quote(v_missing)
            || ' here and the cited chunk does not';
          v_problems := v_problems + 1;
          return next;
        end if;
        if v_problems = 0 then
          v_said := v_said + int4multirange(int4range(v_at_start, v_at_end));
        end if;
      end if;
    end if;
    if v_problems = 0 then
      code := null;
      message := null;
      return next;
    end if;
  end loop;
  citation := null; source_id := null; chunk_id := null; method := null;
  start_offset := null; end_offset := null;
  similarity := null;
  if require_citations and not exists (select from ragdb_internal.cited(output, v_evidence)) then
    code := 'CITATION_REQUIRED';
    message := 'missing citations';
    return next;
  end if;
  if min_coverage > 0 then
    -- markers are no part of what is said
    select coalesce(string_agg(coalesce(t.said, repeat(' ', length(t.marker))), '' order by t.n),
      '') into v_text from ragdb_internal.marked(v_answer) t;
    v_all := length(regexp_replace(v_text, '\s+', '', 'g'));
    select coalesce(sum(length(regexp_replace(substr(v_text, lower(r) + 1, upper(r) - lower(r)),
      '\s+', '', 'g'))), 0)
      into v_covered from unnest(v_said) r;
    if v_covered < min_coverage * v_all or v_all = 0 then
      code := 'COVERAGE_BELOW_THRESHOLD';
      message := v_covered || ' of ' || v_all || ' characters of the answer are cited';
      return next;
    end if;
  end if;
  is_advisory := true;
  code := 'OVER_CITED';
  for v_cited in
    select count(distinct c.chunk_id) as chunks, c.answer_start, c.answer_end
    from ragdb_internal.cited(output, v_evidence) c where c.answer_start is not null
    group by c.answer_start, c.answer_end having count(distinct c.chunk_id) > 3
    order by c.answer_start, c.answer_end
  loop
    message := v_cited.chunks || ' chunks are cited for one span';
    return next;
  end loop;
end $$;
comment on function ragdb.check_citations(jsonb, jsonb, uuid, boolean, boolean, float8, integer,
  text) is
  'Checks without a model the citations of an output against its evidence and the trace that '
  'retrieved it: a row for each citation (from 0) with code null and where its quote stands, or '
  'one for each problem; min_coverage (0 to 1) is the share of the answer that must be cited, '
  'min_quote the letters (1 to 1000) of a quote, offsets what places are counted in (codepoint, '
  'utf16, byte). It proves reference, place and words, not that the answer follows. Raises RG400, '
  'RG407, RG460.';
