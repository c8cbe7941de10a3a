-- The first half of the chunker para-sent/1 (docs/chunker.md, 1 to 3): the words of a text, the
-- level of the break before each, and the sections that are packed one by one.
--
-- Words are numbered from 1. What is known of them is in arrays, one entry a word, because the
-- steps go to and fro in a text: an array of numbers is read at any place in the same time.

-- Returns the words of a text: where they start and end in characters and in bytes, the level of
-- the break before each, whether it opens a line, and the markers of code fences with their first
-- three characters. All are null for a text without words.
create or replace function ragdb_internal.chunker_words(text text, strategy text)
returns table (
  starts integer[], ends integer[], byte_starts integer[], byte_ends integer[], levels integer[],
  opens_line boolean[], markers integer[], marker_kinds text[])
language sql immutable parallel safe
begin atomic
  with piece as materialized (
    select m.n, m.part[1] as gap, m.part[2] as word
    from regexp_matches(
      chunker_words.text,
      '([ \t\n\r\f\v]*)('
      '[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff][、。」』】）〉》！？，．：；”’]*'
      '|[^ \t\n\r\f\v\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+)',
      'g') with ordinality m (part, n)
  ), placed as (
    select p.n::integer as n, p.gap, p.word, p.gap ~ '[\n\r\f]' as has_line_end,
      lag(right(p.word, 8) ~ ('(?:[.!?。！？।॥؟۔\u037e]|[\u0386-\u03ff\u1f00-\u1fff];)'
        '["''”’»)}」』】）》〉\]]*$')) over w as after_sentence,
      (sum(length(p.gap) + length(p.word)) over w)::integer as end_offset,
      (sum(octet_length(p.gap) + octet_length(p.word)) over w)::integer as end_byte
    from piece p window w as (order by p.n)
  ), word as (
    select p.*, p.has_line_end or p.n = 1 as opens_line from placed p
  )
  select array_agg(w.end_offset - length(w.word) order by w.n),
    array_agg(w.end_offset order by w.n),
    array_agg(w.end_byte - octet_length(w.word) order by w.n),
    array_agg(w.end_byte order by w.n),
    array_agg(case
      when chunker_words.strategy = 'window' then 0
      when chunker_words.strategy = 'page' and w.gap ~ '\f' then 5
      when w.opens_line and w.word ~ '^#{1,6}$' then 4
      when w.has_line_end and w.gap ~ '\n[ \t\r\f\v]*\n|\r[ \t\f\v]*\r|\f' then 3
      when w.after_sentence then 2
      when w.has_line_end then 1
      else 0 end order by w.n),
    array_agg(w.opens_line order by w.n),
    array_agg(w.n order by w.n) filter (where w.opens_line and w.word ~ '^(```|~~~)'),
    array_agg(left(w.word, 3) order by w.n) filter (where w.opens_line and w.word ~ '^(```|~~~)')
  from word w;
end;

-- Returns the levels of the breaks of a text, those inside code fences -1 at a line end, else -2.
create or replace function ragdb_internal.fenced_levels(
  levels integer[], opens_line boolean[], markers integer[], marker_kinds text[])
returns integer[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_levels integer[] := levels;
  v_opening integer := 1;
  v_closing integer;
begin
  while v_opening < cardinality(markers) loop
    v_closing := v_opening + 1;
    while v_closing <= cardinality(markers)
        and marker_kinds[v_closing] <> marker_kinds[v_opening] loop
      v_closing := v_closing + 1;
    end loop;
    if v_closing > cardinality(markers) then
      v_opening := v_opening + 1;
      continue;
    end if;
    for v_word in markers[v_opening] + 1 .. cardinality(levels) loop
      exit when v_word > markers[v_closing] and opens_line[v_word];
      if v_levels[v_word] < 5 then
        v_levels[v_word] := case when opens_line[v_word] then -1 else -2 end;
      end if;
    end loop;
    v_opening := v_closing + 1;
  end loop;
  return v_levels;
end $$;

-- Returns the words that start a section of a text.
create or replace function ragdb_internal.section_starts(
  levels integer[], opens_line boolean[], strategy text)
returns integer[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_starts integer[] := '{1}';
  v_headings integer[];
  -- whether text stands before the heading that a section could start with
  v_has_body boolean;
  v_word integer;
begin
  if strategy = 'page' then
    return v_starts || array(
      select l.n::integer from unnest(levels) with ordinality l (level, n)
      where l.level = 5 and l.n > 1 order by l.n);
  elsif strategy <> 'semantic' then
    return v_starts;
  end if;
  v_headings := array(
    select l.n::integer from unnest(levels) with ordinality l (level, n)
    where l.level = 4 order by l.n);
  v_has_body := cardinality(v_headings) > 0 and v_headings[1] > 1;
  for v_nth in 1 .. cardinality(v_headings) loop
    if v_nth > 1 and not v_has_body then
      v_word := v_headings[v_nth - 1] + 1;
      while not opens_line[v_word] loop
        v_word := v_word + 1;
      end loop;
      v_has_body := v_word < v_headings[v_nth];
    end if;
    if v_has_body then
      v_starts := v_starts || v_headings[v_nth];
      v_has_body := false;
    end if;
  end loop;
  return v_starts;
end $$;
