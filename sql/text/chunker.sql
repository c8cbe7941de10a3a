-- The chunker para-sent/1, step by step as docs/chunker.md has it; ragdb/chunker.py is its twin.

create or replace function ragdb_internal.checked_unit(unit text) returns text
language sql immutable parallel safe
return case when checked_unit.unit in ('token', 'tokens', 'word', 'words', 'char', 'chars')
  then pg_catalog.rtrim(checked_unit.unit, 's') end;
comment on function ragdb_internal.checked_unit(text) is
  'Returns a unit of the chunker in the singular, null when it is none.';

create or replace function ragdb_internal.chunk_text(
  text text, strategy text default 'paragraph', max_tokens integer default 240,
    overlap integer default 48,
  unit text default 'token'
) returns table (ordinal integer, start_offset integer, end_offset integer, token_count integer,
  content text)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  v_unit text := ragdb_internal.checked_unit(unit);
  -- words, from 1: first character, character after the last, the same in bytes, level of the break
  -- before
  w_start integer[];
  w_end integer[];
  w_byte integer[];
  w_byte_end integer[];
  w_level integer[];
  w_line boolean[];
  v_bytes bytea;
  v_words integer;
  v_marks integer[];
  v_kinds text[];
  v_close integer;
  v_headings integer[];
  v_sections integer[] := '{1}';
  v_body boolean := false;
  v_next integer;
  -- packing; words lo … hi - 1
  v_lo integer;
  v_hi integer;
  v_end integer;
  v_limit integer;
  v_first integer;
  v_room integer;
  v_cut integer;
  v_filled integer;
  v_last integer;
  v_per integer;
  v_from integer[];
  v_to integer[];
  c_first integer[] := '{}';
  c_end integer[] := '{}';
begin
  if text is null then
    raise exception 'text is null'
      using errcode = 'RG400', detail = 'an empty text has no chunks, null is no text',
        hint = 'pass a text';
  end if;
  if strategy is null or strategy not in ('paragraph', 'semantic', 'page', 'window') then
    raise exception 'strategy is %, not paragraph, semantic, page or window', ragdb_internal.quote(strategy)
      using errcode = 'RG400', detail = 'it says which breaks of a text are kept',
        hint = 'the default is paragraph';
  end if;
  if v_unit is null then
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

  with piece as materialized (
    select m.n, m.part[1] as gap, m.part[2] as word
    from regexp_matches(text, '([ \t\n\r\f\v]*)('
      '[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff][、。」』】）〉》！？，．：；”’]*'
      '|[^ \t\n\r\f\v\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+)', 'g')
        with ordinality m (part, n)
  ), word as (
    select p.n, p.gap, p.word, p.gap ~ '[\n\r\f]' as has_line_end,
      lag(right(p.word, 8) ~ '[.!?。！？]["''”’»)}」』】）》〉\]]*$') over w as after_sentence,
      sum(length(p.gap) + length(p.word)) over w as end_offset,
      sum(octet_length(p.gap) + octet_length(p.word)) over w as byte_end
    from piece p window w as (order by p.n)
  )
  select array_agg(w.end_offset - length(w.word) order by w.n),
    array_agg(w.end_offset order by w.n),
    array_agg(w.byte_end - octet_length(w.word) order by w.n), array_agg(w.byte_end order by w.n),
    array_agg(case
      when strategy = 'window' then 0
      when strategy = 'page' and w.gap ~ '\f' then 5
      when (w.has_line_end or w.n = 1) and w.word ~ '^#{1,6}$' then 4
      when w.has_line_end and w.gap ~ '\n[ \t\r\f\v]*\n|\r[ \t\f\v]*\r|\f' then 3
      when w.after_sentence then 2
      when w.has_line_end then 1
      else 0 end order by w.n),
    array_agg(w.has_line_end or w.n = 1 order by w.n),
    array_agg(w.n order by w.n) filter (where (w.has_line_end or w.n = 1)
      and w.word ~ '^(```|~~~)'),
    array_agg(left(w.word, 3) order by w.n) filter (where (w.has_line_end or w.n = 1)
      and w.word ~ '^(```|~~~)')
  into w_start, w_end, w_byte, w_byte_end, w_level, w_line, v_marks, v_kinds
  from word w;
  v_words := coalesce(cardinality(w_start), 0);
  if v_words = 0 then
    return;
  end if;
  v_bytes := convert_to(text, 'UTF8');

  -- code fences
  if v_marks is not null and strategy <> 'window' then
    v_next := 1;
    while v_next < cardinality(v_marks) loop
      v_close := v_next + 1;
      while v_close <= cardinality(v_marks) and v_kinds[v_close] <> v_kinds[v_next] loop
        v_close := v_close + 1;
      end loop;
      if v_close > cardinality(v_marks) then
        v_next := v_next + 1;
        continue;
      end if;
      v_last := v_marks[v_close];
      for i in v_marks[v_next] + 1 .. v_words loop
        exit when i > v_last and w_line[i];
        if w_level[i] < 5 then
          w_level[i] := case when w_line[i] then -1 else -2 end;
        end if;
      end loop;
      v_next := v_close + 1;
    end loop;
  end if;

  -- sections
  if strategy = 'semantic' then
    v_headings := array(select l.i::integer from unnest(w_level) with ordinality l (level, i)
      where l.level = 4 order by l.i);
    v_body := cardinality(v_headings) > 0 and v_headings[1] > 1;
    for h in 1 .. cardinality(v_headings) loop
      if h > 1 and not v_body then
        v_next := v_headings[h - 1] + 1;
        while not w_line[v_next] loop
          v_next := v_next + 1;
        end loop;
        v_body := v_next < v_headings[h];
      end if;
      if v_body then
        v_sections := v_sections || v_headings[h];
        v_body := false;
      end if;
    end loop;
  elsif strategy = 'page' then
    v_sections := v_sections || array(
      select l.i::integer from unnest(w_level) with ordinality l (level, i) where l.level = 5
        and l.i > 1 order by l.i);
  end if;

  -- packing, from the end. With words, size is a difference of numbers; else of characters, by four
  -- for tokens
  v_per := case v_unit when 'token' then 4 else 1 end;
  if v_unit = 'word' then
    v_from := array(select generate_series(0, v_words - 1));
    v_to := array(select generate_series(1, v_words));
  else
    v_from := w_start;
    v_to := w_end;
  end if;
  for v_section in reverse cardinality(v_sections) .. 1 loop
    v_lo := v_sections[v_section];
    v_hi := coalesce(v_sections[v_section + 1], v_words + 1);
    v_end := v_hi;
    v_limit := v_hi;
    loop
      v_first := v_limit - 1;
      while v_first > v_lo
        and (v_to[v_end - 1] - v_from[v_first - 1] + v_per - 1) / v_per <= max_tokens loop
        v_first := v_first - 1;
      end loop;
      if v_first = v_lo then
        c_first := c_first || v_lo;
        c_end := c_end || v_end;
        exit;
      end if;
      v_room := max_tokens - case when v_limit = v_end then 0
        else (v_to[v_end - 1] - v_from[v_limit] + v_per - 1) / v_per end;
      v_cut := null;
      v_filled := null;
      for c in v_first .. v_limit - 1 loop
        if v_cut is null or w_level[c] > w_level[v_cut] then
          v_cut := c;
        end if;
        if (v_filled is null or w_level[c] > w_level[v_filled])
            and 4 * ((v_to[v_limit - 1] - v_from[c] + v_per - 1) / v_per) >= v_room then
          v_filled := c;
        end if;
      end loop;
      if w_level[v_filled] >= 0 then
        v_cut := v_filled;
      end if;
      c_first := c_first || v_cut;
      c_end := c_end || v_end;
      v_last := v_end;
      v_end := v_cut;
      v_limit := v_cut;
      if w_level[v_cut] < 3 then
        v_next := v_cut + 1;
        while v_next < v_last
            and (v_to[v_next - 1] - v_from[v_cut] + v_per - 1) / v_per <= overlap
            and (v_to[v_next - 1] - v_from[v_cut - 1] + v_per - 1) / v_per <= max_tokens loop
          if w_level[v_next] >= w_level[v_cut] then
            v_end := v_next;
          end if;
          v_next := v_next + 1;
        end loop;
      end if;
    end loop;
  end loop;
  return query
    select (cardinality(c_first) - c.n)::integer, c.start_offset, c.end_offset,
      (c.end_offset - c.start_offset + 3) / 4,
      convert_from(substring(v_bytes from c.byte + 1 for c.byte_end - c.byte), 'UTF8')
    from (select x.n, w_start[x.first] as start_offset, w_end[x.after - 1] as end_offset,
      w_byte[x.first] as byte,
            w_byte_end[x.after - 1] as byte_end
          from unnest(c_first, c_end) with ordinality x (first, after, n)) c
    order by c.n desc;
end $$;
comment on function ragdb_internal.chunk_text(text, text, integer, integer, text) is
  'Cuts a text into chunks by para-sent/1: strategy paragraph, semantic, page or window; '
  'max_tokens 1 to 1000000, overlap less, both in tokens of four characters, words or chars. '
  'Raises RG400.';
