create or replace function ragdb_internal.code_points(text text, place integer, unit text) returns integer
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
    if place > length(v_bytes) or place < length(v_bytes) and get_byte(v_bytes, place) & 192 = 128
      then
      return null;
    end if;
    return length(convert_from(substring(v_bytes from 1 for place), 'UTF8'));
  elsif unit = 'utf16' and text ~ '[\U00010000-\U0010ffff]' and place > 0 then
    return (
      select w.n from (
        select c.n, sum(case when ascii(c.letter) > 65535 then 2 else 1 end) over (order by c.n)
          as units
        from regexp_split_to_table(text, '') with ordinality c (letter, n)) w
      where w.units = place);
  end if;
  return case when place <= length(text) then place end;
end $$;
comment on function ragdb_internal.code_points(text, integer, text) is
  'Returns a place in a text, counted in codepoint, utf16 or byte, in code points; null when it is '
  'outside or inside a character.';

create or replace function ragdb_internal.units(text text, place integer, unit text) returns integer
language sql immutable parallel safe
return case unit
  when 'byte' then pg_catalog.octet_length(pg_catalog.left(text, place))
  when 'utf16' then place + pg_catalog.length(
    pg_catalog.regexp_replace(pg_catalog.left(text, place), '[^\U00010000-\U0010ffff]+', '', 'g'))
  else place end;
comment on function ragdb_internal.units(text, integer, text) is
  'Returns a place in a text, counted in code points, in codepoint, utf16 or byte.';

create or replace function ragdb_internal.answer_text(output jsonb) returns text
language sql immutable parallel safe
return coalesce(
  output ->> 'answer',
  case pg_catalog.jsonb_typeof(coalesce(output -> 'content', output #> '{message,content}'))
    when 'array' then (
      select pg_catalog.string_agg(b.block ->> 'text', '' order by b.n)
      from pg_catalog.jsonb_array_elements(coalesce(output -> 'content',
        output #> '{message,content}'))
        with ordinality b (block, n))
    when 'string' then coalesce(output ->> 'content', output #>> '{message,content}') end,
  output ->> 'text');
comment on function ragdb_internal.answer_text(jsonb) is
  'Returns the text of an answer: answer, or the text blocks of Anthropic''s or Cohere''s content.';

create or replace function ragdb_internal.as_integer(value jsonb) returns integer
language sql immutable parallel safe
return case when pg_catalog.jsonb_typeof(as_integer.value) = 'number'
  then case when (as_integer.value #>> '{}')::numeric % 1 = 0
    and pg_catalog.abs((as_integer.value #>> '{}')::numeric) < 2147483648
    then (as_integer.value #>> '{}')::numeric::integer end end;
comment on function ragdb_internal.as_integer(jsonb) is
  'Returns a whole number of JSON; null for anything else.';

-- One row for each chunk that something cites. Anthropic and Cohere name documents by their place
-- among those sent, which are the chunks of the pack in its order.
create or replace function ragdb_internal.cited(output jsonb, evidence jsonb)
returns table (n integer, is_marker boolean, source_id text, chunk_id text, quote text,
  start_claim jsonb, end_claim jsonb,
  answer_start jsonb, answer_end jsonb)
language sql immutable parallel safe
begin atomic
  with chunk as materialized (
    select c.n::integer as n, c.chunk ->> 'chunk_id' as chunk_id, 'doc:' || c.n - 1 as place
    from pg_catalog.jsonb_array_elements(cited.evidence -> 'chunks') with ordinality c (chunk, n)
  ), listed as (
    select c.n - 1 as n, c.citation
    from pg_catalog.jsonb_array_elements(case when pg_catalog.jsonb_typeof(
        coalesce(cited.output -> 'citations', cited.output #> '{message,citations}')) = 'array'
      then coalesce(cited.output -> 'citations', cited.output #> '{message,citations}')
        else '[]' end)
      with ordinality c (citation, n)
  ), block as (
    select b.n, b.block, pg_catalog.length(b.block ->> 'text') as length,
      coalesce(pg_catalog.sum(pg_catalog.length(b.block ->> 'text')) over (
        order by b.n rows between unbounded preceding and 1 preceding), 0) as start
    from pg_catalog.jsonb_array_elements(
      case when pg_catalog.jsonb_typeof(cited.output -> 'content') = 'array'
      then cited.output -> 'content' else '[]' end) with ordinality b (block, n)
  ), reference as (
    select l.n::integer as n, l.citation ->> 'source_id' as source_id,
      l.citation ->> 'chunk_id' as id,
      l.citation ->> 'quote' as quote, l.citation -> 'start' as start_claim,
        l.citation -> 'end' as end_claim,
      l.citation -> 'answer_start' as answer_start, l.citation -> 'answer_end' as answer_end
    from listed l
    where not (pg_catalog.jsonb_exists(l.citation, 'sources')
      or pg_catalog.jsonb_exists(l.citation, 'document_ids'))
    union all
    -- Cohere: text, start and end are the answer's
    select l.n::integer, null, d.id, null, null, null, l.citation -> 'start', l.citation -> 'end'
    from listed l
      cross join lateral (
        select coalesce(s.source #>> '{document,id}', s.source ->> 'id') as id
        from pg_catalog.jsonb_array_elements(
          case when pg_catalog.jsonb_typeof(l.citation -> 'sources') = 'array'
          then l.citation -> 'sources' else '[]' end) s (source)
        union all
        select i.id
        from pg_catalog.jsonb_array_elements_text(
          case when pg_catalog.jsonb_typeof(l.citation -> 'document_ids') = 'array'
          then l.citation -> 'document_ids' else '[]' end) i (id)) d
    union all
    -- Anthropic
    select ((select pg_catalog.count(*) from listed) + pg_catalog.row_number() over (order by b.n,
      c.n))::integer - 1,
      c.citation ->> 'source',
      'doc:' || coalesce(c.citation ->> 'document_index', c.citation ->> 'search_result_index'),
      c.citation ->> 'cited_text', c.citation -> 'start_char_index', c.citation -> 'end_char_index',
      pg_catalog.to_jsonb(b.start), pg_catalog.to_jsonb(b.start + b.length)
    from block b
      cross join lateral pg_catalog.jsonb_array_elements(
        case when pg_catalog.jsonb_typeof(b.block -> 'citations') = 'array'
        then b.block -> 'citations' else '[]' end) with ordinality c (citation, n)
  ), resolved as materialized (
    select r.n, r.source_id,
      case when k.chunk_id is null then coalesce(p.chunk_id, r.id) else r.id end as chunk_id,
      r.quote, r.start_claim, r.end_claim, r.answer_start, r.answer_end
    from reference r
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
  from ragdb_internal.markers(ragdb_internal.answer_text(cited.output)) m left join chunk c on c.n = m.n
  -- what looks like a marker inside a sentence that is quoted is the source's
  where not coalesce(m.marker_offset <@ (select q.spans from quoted q), false);
end;
comment on function ragdb_internal.cited(jsonb, jsonb) is
  'Returns what an output cites, numbered from 0: its citations as ours, Cohere''s or '
  'Anthropic''s, then the [n] markers of its answer.';
