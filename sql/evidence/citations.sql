-- Citations: whether they name evidence, whether a quote stands where it is said to, whether its
-- numbers do. All of it proves reference, place and the words; none of it proves that an answer
-- follows from them.

-- Returns the problems of a citation whose chunk is in the evidence; where it has none but advisory
-- ones, a last row without a code.
create or replace function ragdb_internal.check_citation(cited ragdb_internal.cited_chunk,
  seen ragdb_internal.seen_chunk, must_be_admissible boolean,
  rules ragdb_internal.citation_rules)
returns setof ragdb_internal.citation_check
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_check ragdb_internal.citation_check := row(cited.n, null, false, null, cited.found_source,
    cited.chunk_id, null, null, null, null, null);
  v_problem record;
  v_is_sound boolean := true;
begin
  for v_problem in
    select p.* from ragdb_internal.trace_problems(seen, must_be_admissible) p
  loop
    v_check.code := v_problem.code;
    v_check.message := v_problem.message;
    v_is_sound := false;
    return next v_check;
  end loop;
  v_check.code := null;
  if cited.quote is not null then
    v_check := ragdb_internal.check_quote(v_check, cited, rules);
  elsif cited.start_claim is not null or cited.end_claim is not null then
    v_check := ragdb_internal.check_span(v_check, cited, rules);
  end if;
  if v_check.code is not null then
    v_is_sound := v_is_sound and v_check.is_advisory;
    return next v_check;
    v_check.code := null;
    v_check.is_advisory := false;
  end if;
  if cited.answer_start is not null or cited.answer_end is not null or cited.is_marker then
    v_check := ragdb_internal.check_answer_span(v_check, cited);
    if v_check.code is not null then
      v_is_sound := false;
      return next v_check;
    end if;
  end if;
  if v_is_sound then
    v_check.message := null;
    return next v_check;
  end if;
end $$;

-- Checks every citation of an output, by the trace that is given (trace_id), that its chunk names,
-- or that the evidence names, which is the open one. A pack of several retrievals has the trace at
-- each chunk: each is opened, and its hash verified, once for the citations that follow each other.
-- The letters of all chunks are read where a quote is not found, once for all such quotes. Raises
-- RG407, RG460.
create or replace function ragdb_internal.check_cited(output jsonb, evidence jsonb, trace_id uuid,
  trace ragdb.retrieval_traces, rules ragdb_internal.citation_rules)
returns setof ragdb_internal.citation_check
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_trace ragdb.retrieval_traces := trace;
  v_trace_id uuid;
  v_is_verified boolean;
  v_cited ragdb_internal.cited_chunk;
  v_seen ragdb_internal.seen_chunk;
  v_check ragdb_internal.citation_check;
  v_chunks ragdb_internal.lettered_chunk[];
begin
  for v_cited in select c.* from ragdb_internal.cited_chunks(output, evidence, rules.offsets) c loop
    if v_cited.text is null then
      return next ragdb_internal.unknown_chunk(v_cited);
      continue;
    end if;
    v_trace_id := coalesce(trace_id, ragdb_internal.trace_of(v_cited.chunk),
      ragdb_internal.trace_of(evidence));
    if v_trace_id is distinct from v_trace.id then
      v_trace := case when v_trace_id is not null then ragdb_internal.open_trace(v_trace_id) end;
      v_is_verified := null;
    end if;
    v_seen := case when v_trace.id is null
      then ragdb_internal.untraced_hit(evidence, v_cited.chunk_id, v_cited.text)
      else ragdb_internal.cited_hit(v_trace, v_cited.chunk_id, v_cited.text) end;
    if v_seen.is_admissible then
      v_is_verified := coalesce(v_is_verified, not exists (
        select from ragdb.verify_trace(v_trace.id) v
        where v.subject = 'record' and v.is_intact is not true));
      v_seen.is_admissible := v_is_verified;
    end if;
    for v_check in select c.* from ragdb_internal.check_citation(v_cited, v_seen,
      rules.require_admissible or v_trace.retrieval_mode = 'slice', rules) c
    loop
      if v_check.code = 'QUOTE_NOT_FOUND' then
        v_chunks := coalesce(v_chunks, ragdb_internal.lettered_chunks(evidence));
        v_check := ragdb_internal.check_crossing(v_check, v_cited.quote, v_chunks);
      end if;
      return next v_check;
    end loop;
  end loop;
end $$;

-- Returns what to say of an answer of which less than min_coverage (0 to 1) is in the ranges that
-- are cited; null for another. Markers are not part of what is said.
create or replace function ragdb_internal.coverage_problem(answer text, said int4multirange,
  min_coverage float8) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text;
  v_covered integer;
  v_all integer;
begin
  select coalesce(string_agg(coalesce(t.said, repeat(' ', length(t.marker))), '' order by t.n), '')
    into v_text from ragdb_internal.marked(answer) t;
  v_all := length(regexp_replace(v_text, E'\\s+', '', 'g'));
  select coalesce(sum(length(regexp_replace(substr(v_text, lower(r) + 1, upper(r) - lower(r)),
      E'\\s+', '', 'g'))), 0)
    into v_covered from unnest(said) r;
  -- a quotient, as min_coverage is one: a product is rounded to more than is covered
  if v_all = 0 or v_covered::float8 / v_all < min_coverage then
    return v_covered || ' of ' || v_all || ' characters of the answer are cited';
  end if;
  return null;
end $$;

-- Refuses rules of checking citations that are null or out of range. Raises RG400.
create or replace function ragdb_internal.check_citation_rules(rules ragdb_internal.citation_rules,
  require_citations boolean, min_coverage float8) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if rules.offsets is null or rules.offsets not in ('codepoint', 'utf16', 'byte') then
    raise exception 'offsets is %', ragdb_internal.quote(rules.offsets)
      using errcode = 'RG400', detail = 'it is what places in a text are counted in',
        hint = 'pass codepoint, utf16 or byte';
  end if;
  if require_citations is null or rules.require_admissible is null or min_coverage is null
    or not min_coverage between 0 and 1
    or rules.min_quote is null or rules.min_quote not between 1 and 1000 then
    raise exception 'an argument of check_citations is null or out of range'
      using errcode = 'RG400',
        detail = 'min_coverage is 0 to 1, min_quote 1 to 1000 letters, the others true or false',
        hint = 'leave an argument out for its default';
  end if;
end $$;

-- Returns what is wrong with the citations of an output as a whole: none, too little of the answer
-- in the ranges that they stand for, and more than three chunks for one span.
create or replace function ragdb_internal.answer_problems(output jsonb, evidence jsonb,
  said int4multirange, require_citations boolean, min_coverage float8)
returns table (code text, is_advisory boolean, message text)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if require_citations and not exists (select from ragdb_internal.cited(output, evidence)) then
    return query values ('CITATION_REQUIRED', false, 'missing citations');
  end if;
  if min_coverage > 0 then
    return query
      select 'COVERAGE_BELOW_THRESHOLD', false, p.problem
      from ragdb_internal.coverage_problem(ragdb_internal.answer_text(output), said,
        min_coverage) p (problem)
      where p.problem is not null;
  end if;
  return query
    select 'OVER_CITED', true, count(distinct c.chunk_id) || ' chunks are cited for one span'
    from ragdb_internal.cited(output, evidence) c where c.answer_start is not null
    group by c.answer_start, c.answer_end having count(distinct c.chunk_id) > 3
    order by c.answer_start, c.answer_end;
end $$;

-- Definer: what a trace saw is granted to nobody; the caller's right to the trace is checked here.
create or replace function ragdb.check_citations(
  output jsonb, evidence jsonb, trace_id uuid default null, require_citations boolean default false,
  require_admissible boolean default false, min_coverage float8 default 0,
  min_quote integer default 8, offsets text default 'codepoint')
returns table (citation integer, code text, is_advisory boolean, message text, source_id text,
  chunk_id text, method text, start_offset integer, end_offset integer, similarity float8)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_evidence constant jsonb := ragdb_internal.evidence_of(evidence);
  v_rules constant ragdb_internal.citation_rules := row(require_admissible, min_quote, offsets);
  v_trace_id uuid;
  v_trace ragdb.retrieval_traces;
  v_checks ragdb_internal.citation_check[];
begin
  perform ragdb_internal.check_output(output, v_evidence);
  perform ragdb_internal.check_citation_rules(v_rules, require_citations, min_coverage);
  v_trace_id := coalesce(trace_id, ragdb_internal.trace_of(v_evidence));
  if v_trace_id is not null then
    v_trace := ragdb_internal.open_trace(v_trace_id);
  end if;
  if output -> 'insufficient_evidence' = 'true' then
    return;
  end if;
  v_checks := array(
    select c from ragdb_internal.check_cited(output, v_evidence, trace_id, v_trace, v_rules) c);
  return query
    select c.citation, c.code, c.is_advisory, c.message, c.source_id, c.chunk_id, c.method,
      c.start_offset, c.end_offset, c.similarity
    from unnest(v_checks) c;
  return query
    select null::integer, p.code, p.is_advisory, p.message, null::text, null::text, null::text,
      null::integer, null::integer, null::float8
    from ragdb_internal.answer_problems(output, v_evidence,
      coalesce((select range_agg(c.said) from unnest(v_checks) c where c.code is null), '{}'),
      require_citations, min_coverage) p;
end $$;
comment on function ragdb.check_citations is
  'Checks without a model the citations of an output against its evidence and the trace that '
  'retrieved it: a row for each citation (from 0) with code null and where its quote stands, or '
  'one for each problem; min_coverage (0 to 1) is the share of the answer that must be cited, '
  'min_quote the letters (1 to 1000; a Chinese one counts as two) of a quote, offsets what places '
  'are counted in (codepoint, utf16, byte). It proves reference, place and words, not that the '
  'answer follows. Raises RG400, '
  'RG407, RG460.';
