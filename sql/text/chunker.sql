-- The second half of the chunker para-sent/1 (docs/chunker.md, 4): the words of each section are
-- packed into chunks. ragdb/ingest/chunker.py is its twin, and a property test holds both to the
-- same boundaries.

-- Returns a unit of the chunker in the singular, null for what is not one.
create or replace function ragdb_internal.checked_unit(unit text) returns text
language sql immutable parallel safe
return case when checked_unit.unit in ('token', 'tokens', 'word', 'words', 'char', 'chars')
  then pg_catalog.rtrim(checked_unit.unit, 's') end;

-- Refuses arguments of the chunker that are null or out of range. Raises RG400.
create or replace function ragdb_internal.check_chunking(
  text text, strategy text, max_tokens integer, overlap integer, unit text)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if text is null then
    raise exception 'text is null'
      using errcode = 'RG400', detail = 'an empty text has no chunks, null is not a text',
        hint = 'pass a text';
  end if;
  if strategy is null or strategy not in ('paragraph', 'semantic', 'page', 'window') then
    raise exception 'strategy is %, not paragraph, semantic, page or window',
        ragdb_internal.quote(strategy)
      using errcode = 'RG400', detail = 'it says which breaks of a text are kept',
        hint = 'the default is paragraph';
  end if;
  if ragdb_internal.checked_unit(unit) is null then
    raise exception 'unit is %, not token, word or char', ragdb_internal.quote(unit)
      using errcode = 'RG400',
        detail = 'max_tokens and overlap are counted in it; a token is four characters',
        hint = 'the default is token';
  end if;
  if max_tokens is null or max_tokens not between 1 and 1000000 then
    raise exception 'max_tokens is %, not 1 to 1000000', coalesce(max_tokens::text, 'null')
      using errcode = 'RG400', detail = 'it is the size of a chunk', hint = 'the default is 240';
  end if;
  if overlap is null or overlap < 0 or overlap >= max_tokens then
    raise exception 'overlap is %, not 0 to %', coalesce(overlap::text, 'null'), max_tokens - 1
      using errcode = 'RG400', detail = 'it is what two chunks may share, less than max_tokens',
        hint = 'the default is 48';
  end if;
end $$;

-- Returns the word from first to before upto that a chunk starts with: the first of the highest
-- level among those that fill a quarter of the room, or among all where these are within a fence.
create or replace function ragdb_internal.chunk_cut(
  levels integer[], froms integer[], tos integer[], per integer, first integer, upto integer,
  room integer)
returns integer
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_end constant integer := tos[upto - 1] + per - 1;
  v_highest integer := first;
  v_filling integer;
begin
  for v_word in first .. upto - 1 loop
    if levels[v_word] > levels[v_highest] then
      v_highest := v_word;
    end if;
    if (v_filling is null or levels[v_word] > levels[v_filling])
        and 4 * ((v_end - froms[v_word]) / per) >= room then
      v_filling := v_word;
    end if;
  end loop;
  return case when levels[v_filling] >= 0 then v_filling else v_highest end;
end $$;

-- Returns the word before which a chunk ends that shares text with the chunk after it, which starts
-- with word cut: whole segments of that level, at most overlap.
create or replace function ragdb_internal.shared_end(
  levels integer[], froms integer[], tos integer[], cut integer, upto integer, overlap integer,
  most integer)
returns integer
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_end integer := cut;
  v_word integer := cut + 1;
begin
  while v_word < upto and tos[v_word - 1] - froms[cut] <= overlap
      and tos[v_word - 1] - froms[cut - 1] <= most loop
    if levels[v_word] >= levels[cut] then
      v_end := v_word;
    end if;
    v_word := v_word + 1;
  end loop;
  return v_end;
end $$;

-- Returns the chunks of a text, last first: the first word of each, and the word after its last.
-- From the end of the text to its beginning. A size in words is a difference of numbers; one in
-- tokens is a difference of characters by four, rounded up: it is at most n where the characters
-- are at most 4 n.
create or replace function ragdb_internal.pack_words(
  starts integer[], ends integer[], levels integer[], sections integer[], unit text,
  max_tokens integer, overlap integer)
returns table (first_word integer, after_word integer)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count constant integer := cardinality(starts);
  v_per constant integer := case unit when 'token' then 4 else 1 end;
  v_most constant integer := max_tokens * v_per;
  v_froms constant integer[] :=
    case unit when 'word' then array(select generate_series(0, v_count - 1)) else starts end;
  v_tos constant integer[] :=
    case unit when 'word' then array(select generate_series(1, v_count)) else ends end;
  v_limit integer;
begin
  for v_section in reverse cardinality(sections) .. 1 loop
    after_word := coalesce(sections[v_section + 1], v_count + 1);
    v_limit := after_word;
    loop
      first_word := v_limit - 1;
      while first_word > sections[v_section]
          and v_tos[after_word - 1] - v_froms[first_word - 1] <= v_most loop
        first_word := first_word - 1;
      end loop;
      if first_word = sections[v_section] then
        return next;
        exit;
      end if;
      first_word := ragdb_internal.chunk_cut(levels, v_froms, v_tos, v_per, first_word, v_limit,
        max_tokens - case when v_limit = after_word then 0
          else (v_tos[after_word - 1] - v_froms[v_limit] + v_per - 1) / v_per end);
      return next;
      v_limit := first_word;
      -- text is shared where a paragraph is cut, never between two paragraphs
      after_word := case when levels[first_word] >= 3 then first_word
        else ragdb_internal.shared_end(
          levels, v_froms, v_tos, first_word, after_word, overlap * v_per, v_most) end;
    end loop;
  end loop;
end $$;

-- Cuts a text into chunks by para-sent/1: strategy paragraph, semantic, page or window; max_tokens
-- 1 to 1000000, overlap less, both in tokens of four characters, words or chars. Its plans are
-- kept: to make them takes longer than to cut a short text. Raises RG400.
create or replace function ragdb_internal.chunk_text(
  text text, strategy text, max_tokens integer, overlap integer, unit text)
returns table (
  ordinal integer, start_offset integer, end_offset integer, token_count integer, content text)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_variable
declare
  v_bytes constant bytea := convert_to(text, 'UTF8');
  v_words record;
  v_levels integer[];
begin
  perform ragdb_internal.check_chunking(text, strategy, max_tokens, overlap, unit);
  select w.* into v_words from ragdb_internal.chunker_words(text, strategy) w;
  if v_words.starts is null then
    return;
  end if;
  v_levels := v_words.levels;
  if v_words.markers is not null and strategy <> 'window' then
    v_levels := ragdb_internal.fenced_levels(
      v_levels, v_words.opens_line, v_words.markers, v_words.marker_kinds);
  end if;
  return query
    select (count(*) over () - p.n)::integer, c.start_offset, c.end_offset,
      (c.end_offset - c.start_offset + 3) / 4,
      convert_from(substring(v_bytes from c.byte_start + 1 for c.byte_end - c.byte_start), 'UTF8')
    from ragdb_internal.pack_words(
        v_words.starts, v_words.ends, v_levels,
        ragdb_internal.section_starts(v_levels, v_words.opens_line, strategy),
        ragdb_internal.checked_unit(unit), max_tokens, overlap)
        with ordinality p (first_word, after_word, n)
      cross join lateral (
        select v_words.starts[p.first_word], v_words.ends[p.after_word - 1],
          v_words.byte_starts[p.first_word], v_words.byte_ends[p.after_word - 1]
        offset 0) c (start_offset, end_offset, byte_start, byte_end)
    order by p.n desc;
end $$;
