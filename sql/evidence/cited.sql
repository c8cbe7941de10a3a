-- What an output cites: its citations in our form, Anthropic's or Cohere's, and the [n] markers of
-- its answer, as one list. Models are asked for one form and answer in another, so all are read.

-- Returns a place in a text, counted in codepoint, utf16 or byte, in code points; null when it is
-- outside or inside a character.
create or replace function ragdb_internal.code_points(text text, place integer, unit text)
  returns integer
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bytes bytea;
begin
  if place < 0 then
    return null;
  elsif unit = 'byte' then
    v_bytes := convert_to(text, 'UTF8');
    if place > length(v_bytes)
      or place < length(v_bytes) and get_byte(v_bytes, place) & 192 = 128 then
      return null;
    end if;
    return length(convert_from(substring(v_bytes from 1 for place), 'UTF8'));
  elsif unit = 'utf16' and text ~ E'[\\U00010000-\\U0010ffff]' and place > 0 then
    return (
      select w.n from (
        select c.n, sum(case when ascii(c.letter) > 65535 then 2 else 1 end) over (order by c.n)
          as units
        from regexp_split_to_table(text, '') with ordinality c (letter, n)) w
      where w.units = place);
  end if;
  return case when place <= length(text) then place end;
end $$;

-- Returns a place in a text, counted in code points, in codepoint, utf16 or byte.
create or replace function ragdb_internal.units(text text, place integer, unit text) returns integer
language sql immutable parallel safe
return case unit
  when 'byte' then pg_catalog.octet_length(pg_catalog.left(text, place))
  when 'utf16' then place + pg_catalog.length(
    pg_catalog.regexp_replace(pg_catalog.left(text, place), '[^\U00010000-\U0010ffff]+', '', 'g'))
  else place end;

-- Returns the text of an answer: answer, or the text blocks of Anthropic's or Cohere's content.
create or replace function ragdb_internal.answer_text(output jsonb) returns text
language sql immutable parallel safe
return coalesce(
  output ->> 'answer',
  (select case pg_catalog.jsonb_typeof(c.content)
      when 'array' then (
        select pg_catalog.string_agg(b.block ->> 'text', '' order by b.n)
        from pg_catalog.jsonb_array_elements(c.content) with ordinality b (block, n))
      when 'string' then c.content #>> '{}' end
    from (values (coalesce(nullif(output -> 'content', 'null'), output #> '{message,content}')))
      c (content)),
  output ->> 'text');

-- Returns a whole number of JSON; null for anything else.
create or replace function ragdb_internal.as_integer(value jsonb) returns integer
language sql immutable parallel safe
return case when pg_catalog.jsonb_typeof(as_integer.value) = 'number'
  then case when (as_integer.value #>> '{}')::numeric % 1 = 0
    and pg_catalog.abs((as_integer.value #>> '{}')::numeric) < 2147483648
    then (as_integer.value #>> '{}')::numeric::integer end end;

-- Returns a JSON array as it is, and an empty one for anything else.
create or replace function ragdb_internal.list_or_none(value jsonb) returns jsonb
language sql immutable parallel safe
return case when pg_catalog.jsonb_typeof(list_or_none.value) = 'array' then list_or_none.value
  else '[]' end;

-- Returns the list of citations of an output, numbered from 0; is_span for those of Cohere, which
-- give a span of the answer its documents.
create or replace function ragdb_internal.own_references(output jsonb)
returns table (n integer, citation jsonb, is_span boolean)
language sql immutable parallel safe
begin atomic
  select c.n::integer - 1, c.citation, pg_catalog.jsonb_exists(c.citation, 'sources')
    or pg_catalog.jsonb_exists(c.citation, 'document_ids')
  from pg_catalog.jsonb_array_elements(ragdb_internal.list_or_none(
      coalesce(nullif(output -> 'citations', 'null'), output #> '{message,citations}')))
    with ordinality c (citation, n);
end;

-- Returns the citations of Anthropic's content, each with the range of its block in the answer.
create or replace function ragdb_internal.block_references(output jsonb)
returns table (block bigint, place bigint, citation jsonb, start_offset bigint, end_offset bigint)
language sql immutable parallel safe
begin atomic
  select b.n, c.n, c.citation, b.start, b.start + pg_catalog.length(b.block ->> 'text')
  from (
    select e.n, e.block, coalesce(pg_catalog.sum(pg_catalog.length(e.block ->> 'text')) over (
      order by e.n rows between unbounded preceding and 1 preceding), 0) as start
    from pg_catalog.jsonb_array_elements(ragdb_internal.list_or_none(output -> 'content'))
      with ordinality e (block, n)) b
    cross join lateral pg_catalog.jsonb_array_elements(
      ragdb_internal.list_or_none(b.block -> 'citations')) with ordinality c (citation, n);
end;

-- Returns the citations of an output with what they name as they name it: ours, Cohere's (one row
-- for each document) and Anthropic's, numbered from 0.
create or replace function ragdb_internal.cited_references(output jsonb)
returns table (n integer, source_id text, id text, quote text, start_claim jsonb, end_claim jsonb,
  answer_start jsonb, answer_end jsonb)
language sql stable parallel safe
begin atomic
  with listed as materialized (select o.* from ragdb_internal.own_references(output) o)
  select l.n, l.citation ->> 'source_id', l.citation ->> 'chunk_id', l.citation ->> 'quote',
    l.citation -> 'start', l.citation -> 'end', l.citation -> 'answer_start',
    l.citation -> 'answer_end'
  from listed l where not l.is_span
  union all
  -- Cohere: text, start and end are the answer's
  select l.n, null, d.id, null, null, null, l.citation -> 'start', l.citation -> 'end'
  from listed l
    cross join lateral (
      select coalesce(s.source #>> '{document,id}', s.source ->> 'id') as id
      from pg_catalog.jsonb_array_elements(
        ragdb_internal.list_or_none(l.citation -> 'sources')) s (source)
      union all
      select i.id
      from pg_catalog.jsonb_array_elements_text(
        ragdb_internal.list_or_none(l.citation -> 'document_ids')) i (id)) d
  union all
  -- Anthropic
  select ((select pg_catalog.count(*) from listed)
      + pg_catalog.row_number() over (order by b.block, b.place))::integer - 1,
    b.citation ->> 'source',
    'doc:' || coalesce(b.citation ->> 'document_index', b.citation ->> 'search_result_index'),
    b.citation ->> 'cited_text', b.citation -> 'start_char_index', b.citation -> 'end_char_index',
    pg_catalog.to_jsonb(b.start_offset), pg_catalog.to_jsonb(b.end_offset)
  from ragdb_internal.block_references(output) b;
end;

-- Returns what an output cites, numbered from 0: its citations as ours, Cohere's or Anthropic's,
-- then the [n] markers of its answer. Anthropic and Cohere name documents by their place among
-- those sent, which are the chunks of the pack in its order.
create or replace function ragdb_internal.cited(output jsonb, evidence jsonb)
returns table (n integer, is_marker boolean, source_id text, chunk_id text, quote text,
  start_claim jsonb, end_claim jsonb, answer_start jsonb, answer_end jsonb)
language sql immutable parallel safe
begin atomic
  with chunk as materialized (
    select c.n::integer as n, c.chunk ->> 'chunk_id' as chunk_id, 'doc:' || c.n - 1 as place
    from pg_catalog.jsonb_array_elements(cited.evidence -> 'chunks') with ordinality c (chunk, n)
  ), resolved as materialized (
    select r.n, r.source_id,
      case when k.chunk_id is null then coalesce(p.chunk_id, r.id) else r.id end as chunk_id,
      r.quote, r.start_claim, r.end_claim, r.answer_start, r.answer_end
    from ragdb_internal.cited_references(cited.output) r
      left join (select distinct c.chunk_id from chunk c) k on k.chunk_id = r.id
      left join chunk p on p.place = pg_catalog.replace(r.id, 'doc_', 'doc:')
  ), quoted as materialized (
    select pg_catalog.range_agg(pg_catalog.int4range(ragdb_internal.as_integer(r.answer_start),
      ragdb_internal.as_integer(r.answer_end))) as spans
    from resolved r where r.quote is not null
      and ragdb_internal.as_integer(r.answer_start) < ragdb_internal.as_integer(r.answer_end)
  )
  select r.n, false, r.source_id, r.chunk_id, r.quote, r.start_claim, r.end_claim, r.answer_start,
    r.answer_end
  from resolved r
  union all
  select ((select coalesce(pg_catalog.max(r.n) + 1, 0) from resolved r)
      + pg_catalog.row_number() over (order by m.marker_offset, m.n))::integer - 1,
    true, null, coalesce(c.chunk_id, '[' || m.n || ']'), null, null, null,
    pg_catalog.to_jsonb(m.start_offset), pg_catalog.to_jsonb(m.end_offset)
  from ragdb_internal.markers(ragdb_internal.answer_text(cited.output)) m
    left join chunk c on c.n = m.n
  -- what looks like a marker inside a sentence that is quoted is the source's
  where not coalesce(m.marker_offset <@ (select q.spans from quoted q), false);
end;
