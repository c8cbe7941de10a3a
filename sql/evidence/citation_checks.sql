-- What is checked of one citation, each check by itself: the chunk, what the trace saw of it, the
-- quote or the span, and the part of the answer that it stands for.

-- How citations are checked: whether only an admissible slice may be cited, the letters of a quote,
-- and what places are counted in.
create type ragdb_internal.citation_rules as (
  require_admissible boolean, min_quote integer, offsets text);

-- A citation, the range of the answer that it stands for (null: none) with its letters, the chunk
-- of the evidence that it names (all null: none), and the letters of all chunks that are cited for
-- the same range, where its own letters have a digit or an underscore.
create type ragdb_internal.cited_chunk as (
  n integer, is_marker boolean, source_id text, chunk_id text, quote text, start_claim jsonb,
  end_claim jsonb, answer_start jsonb, answer_end jsonb, said int4range, said_letters text,
  found_source text, text text, chunk jsonb, span_letters text[]);

-- What a citation came to: a problem, or no code, where its quote stands, and the range of the
-- answer that it stands for.
create type ragdb_internal.citation_check as (
  citation integer, code text, is_advisory boolean, message text, source_id text, chunk_id text,
  method text, start_offset integer, end_offset integer, similarity float8, said int4range);

-- Returns the range of an answer that a citation stands for; null where it is none. Markers and
-- blocks are counted here, in code points; what the answer says of itself is in its own units.
create or replace function ragdb_internal.said_range(output jsonb, is_marker boolean,
  answer_start jsonb, answer_end jsonb, offsets text) returns int4range
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_answer constant text := ragdb_internal.answer_text(output);
  v_start integer := ragdb_internal.as_integer(answer_start);
  v_end integer := ragdb_internal.as_integer(answer_end);
begin
  if not is_marker and jsonb_typeof(output -> 'content') is distinct from 'array' then
    v_start := ragdb_internal.code_points(v_answer, v_start, offsets);
    v_end := ragdb_internal.code_points(v_answer, v_end, offsets);
  end if;
  if coalesce(v_start >= v_end or v_end > length(v_answer), true) then
    return null;
  end if;
  return int4range(v_start, v_end);
end $$;

-- Returns what an output cites, in its order, each with the chunk of the evidence that it names.
-- Read once, and the letters of a chunk made once: an answer may have hundreds of citations, and a
-- pack hundreds of chunks.
create or replace function ragdb_internal.cited_chunks(output jsonb, evidence jsonb, offsets text)
  returns setof ragdb_internal.cited_chunk
language sql immutable parallel safe
begin atomic
  with cited as materialized (
    select c.* from ragdb_internal.cited(output, evidence) c
  ), given as materialized (
    select k.chunk ->> 'chunk_id' as chunk_id, k.chunk ->> 'source_id' as source_id,
      k.chunk ->> 'text' as text, k.chunk - 'text' as chunk, k.n
    from pg_catalog.jsonb_array_elements(evidence -> 'chunks') with ordinality k (chunk, n)
  ), first as materialized (
    select distinct on (g.chunk_id) g.* from given g order by g.chunk_id, g.n
  ), of_source as materialized (
    select distinct on (g.chunk_id, g.source_id) g.* from given g
    order by g.chunk_id, g.source_id, g.n
  ), span as materialized (
    select c.*, r.said, (ragdb_internal.quotable(pg_catalog.substr(
      ragdb_internal.answer_text(output), pg_catalog.lower(r.said) + 1,
      pg_catalog.upper(r.said) - pg_catalog.lower(r.said)))).letters
    from (select distinct c.is_marker, c.answer_start, c.answer_end from cited c) c
      cross join lateral (select ragdb_internal.said_range(output, c.is_marker, c.answer_start,
        c.answer_end, offsets) as said offset 0) r
    where r.said is not null
  ), shown as materialized (
    select distinct c.answer_start, c.answer_end, c.chunk_id
    from cited c join span s using (is_marker, answer_start, answer_end)
    where s.letters ~ '[0-9_]'
  ), lettered as materialized (
    select g.chunk_id, (ragdb_internal.quotable(g.text)).letters, g.n
    from given g where g.chunk_id in (select h.chunk_id from shown h)
  ), of_span as materialized (
    select h.answer_start, h.answer_end, pg_catalog.array_agg(l.letters order by l.n) as letters
    from shown h join lettered l using (chunk_id) group by 1, 2
  )
  select c.*, r.said, r.letters, coalesce(s.source_id, f.source_id), coalesce(s.text, f.text),
    coalesce(s.chunk, f.chunk), a.letters
  from cited c
    left join span r using (is_marker, answer_start, answer_end)
    left join first f on f.chunk_id = c.chunk_id and c.source_id is null
    left join of_source s on s.chunk_id = c.chunk_id and s.source_id = c.source_id
    left join of_span a on (a.answer_start, a.answer_end) = (c.answer_start, c.answer_end)
  order by c.n, c.chunk_id;
end;

-- Returns the problem of a citation that names nothing in the evidence.
create or replace function ragdb_internal.unknown_chunk(cited ragdb_internal.cited_chunk)
  returns ragdb_internal.citation_check
language sql immutable parallel safe
return row((cited).n,
  case when (cited).is_marker then 'MARKER_UNRESOLVED' else 'CITE_UNKNOWN' end, false,
  case when (cited).is_marker
    then 'marker ' || (cited).chunk_id || ' names no chunk of the evidence'
    else 'the evidence has no chunk ' || ragdb_internal.quote((cited).chunk_id)
      || coalesce(' of source ' || ragdb_internal.quote((cited).source_id), '') end,
  (cited).source_id, (cited).chunk_id, null, null, null, null, null
)::ragdb_internal.citation_check;

-- Returns what is wrong with a citation by what its trace saw (null: it has none).
create or replace function ragdb_internal.trace_problems(seen ragdb_internal.seen_chunk,
  must_be_admissible boolean)
returns table (code text, message text)
language sql immutable parallel safe
begin atomic
  select p.code, p.message
  from (values
    ('CITE_NOT_RETRIEVED', 'the trace did not retrieve this chunk', not (seen).is_retrieved),
    ('CITE_STALE', 'the chunk has changed or gone since the trace',
      (seen).is_retrieved and (seen).is_changed),
    ('CITE_NOT_RETRIEVED', 'the trace retrieved this chunk with another text',
      (seen).is_retrieved and not (seen).is_changed and not (seen).is_said),
    ('CITE_STALE', 'the corpus has this chunk with another text',
      (seen).is_retrieved is null and not (seen).is_said),
    ('CITE_NOT_ADMISSIBLE', 'no admissible slice of the trace has this chunk',
      must_be_admissible and not coalesce((seen).is_admissible, false))
  ) as p (code, message, is_so)
  where p.is_so;
end;

-- Returns a check with the place of the quote in its chunk, or with what is wrong with it.
create or replace function ragdb_internal.check_quote(checked ragdb_internal.citation_check,
  cited ragdb_internal.cited_chunk, rules ragdb_internal.citation_rules)
  returns ragdb_internal.citation_check
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_letters integer := ragdb_internal.quoted_letters(cited.quote);
  v_found record;
  v_claim integer;
begin
  if v_letters < rules.min_quote then
    checked.code := 'QUOTE_TOO_SHORT';
    checked.message := 'the quote has ' || v_letters || ' letters and not ' || rules.min_quote;
    return checked;
  end if;
  select f.* into v_found from ragdb_internal.find_quote(cited.text, cited.quote) f;
  if v_found.method is null then
    checked.code := 'QUOTE_NOT_FOUND';
    checked.message := 'the chunk does not say this';
    return checked;
  end if;
  checked.method := v_found.method;
  checked.similarity := v_found.similarity;
  checked.start_offset := ragdb_internal.units(cited.text, v_found.start_offset, rules.offsets);
  checked.end_offset := ragdb_internal.units(cited.text, v_found.end_offset, rules.offsets);
  if cited.start_claim is not null
    and (ragdb_internal.as_integer(cited.start_claim), ragdb_internal.as_integer(cited.end_claim))
      is distinct from (checked.start_offset, checked.end_offset) then
    v_claim := ragdb_internal.code_points(
      cited.text, ragdb_internal.as_integer(cited.start_claim), rules.offsets);
    -- a chunk may say the same several times
    if ragdb_internal.apart_at(substr(cited.text, greatest(v_claim, 1)), cited.quote)
        = least(v_claim, 1) + 1 and ragdb_internal.as_integer(cited.end_claim)
        = ragdb_internal.units(cited.text, v_claim + length(cited.quote), rules.offsets) then
      checked.start_offset := ragdb_internal.as_integer(cited.start_claim);
      checked.end_offset := ragdb_internal.as_integer(cited.end_claim);
      return checked;
    end if;
    checked.code := 'OFFSETS_CORRECTED';
    checked.message := 'the quote stands elsewhere than the citation says';
    checked.is_advisory := true;
  end if;
  return checked;
end $$;

-- Returns a check of a quote that was not found, which says where a part of it is in another chunk.
create or replace function ragdb_internal.check_crossing(checked ragdb_internal.citation_check,
  quote text, chunks ragdb_internal.lettered_chunk[]) returns ragdb_internal.citation_check
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_other constant text := ragdb_internal.crosses(quote, checked.chunk_id, chunks);
begin
  if v_other is not null then
    checked.code := 'QUOTE_CROSSES_CHUNKS';
    checked.message := 'a part of the quote is in chunk ' || ragdb_internal.quote(v_other);
  end if;
  return checked;
end $$;

-- Returns a check with the range of the chunk that a citation without a quote names, or with what
-- is wrong with it.
create or replace function ragdb_internal.check_span(checked ragdb_internal.citation_check,
  cited ragdb_internal.cited_chunk, rules ragdb_internal.citation_rules)
  returns ragdb_internal.citation_check
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_start constant integer := ragdb_internal.as_integer(cited.start_claim);
  v_end constant integer := ragdb_internal.as_integer(cited.end_claim);
begin
  if coalesce(ragdb_internal.code_points(cited.text, v_start, rules.offsets)
      >= ragdb_internal.code_points(cited.text, v_end, rules.offsets), true) then
    checked.code := 'SPAN_INVALID';
    checked.message := 'start and end are not a range of the chunk';
  else
    checked.start_offset := v_start;
    checked.end_offset := v_end;
  end if;
  return checked;
end $$;

-- Returns a check with the range of the answer that a citation stands for, or with what is wrong
-- with that: it is not a range, or has a number or an identifier that no cited chunk has.
create or replace function ragdb_internal.check_answer_span(checked ragdb_internal.citation_check,
  cited ragdb_internal.cited_chunk) returns ragdb_internal.citation_check
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_missing text;
begin
  if cited.said is null then
    checked.code := 'SPAN_INVALID';
    checked.message := case when cited.is_marker then 'there is no text before the marker'
      else 'answer_start and answer_end are not a range of the answer' end;
    return checked;
  end if;
  -- of all chunks cited for the same span one must have it
  v_missing := ragdb_internal.unsupported(cited.said_letters, cited.span_letters);
  if v_missing is null then
    checked.said := cited.said;
  else
    checked.code := 'NUMBER_UNSUPPORTED';
    checked.message := 'the answer says ' || ragdb_internal.quote(v_missing)
      || ' here and the cited chunk does not';
  end if;
  return checked;
end $$;
