-- The headings of a Markdown text, as CommonMark has them: lines that begin with # and lines that
-- are underlined, but none within code, HTML, a list or a quotation. ragdb/readers/markdown.py is
-- its twin. The classes of characters are written out, because \s and \w follow the locale.

-- A heading: where it begins, the headings over it and itself, outermost first, and its level.
create type ragdb_internal.heading as (start_offset integer, path text[], level integer);

-- Returns the pattern of the line that ends the block of HTML which a line begins, for most that of
-- an empty line; null where it begins none. A tag of no block does not begin one in a paragraph.
create or replace function ragdb_internal.html_end(line text, is_in_paragraph boolean)
returns text
language sql immutable parallel safe
return case
  when line collate "C" ~* '^<(script|pre|style|textarea)( |>|$)'
    then '</(script|pre|style|textarea)>'
  when line ~ '^<!--' then '-->'
  when line ~ '^<[?]' then '[?]>'
  when line ~ '^<!\[CDATA\[' then '\]\]>'
  when line ~ '^<![A-Za-z]' then '>'
  when line collate "C" ~* ('^</?(address|article|aside|base|basefont|blockquote|body'
    '|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure'
    '|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu'
    '|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td'
    '|tfoot|th|thead|title|tr|track|ul)( |/?>|$)') then '^$'
  when not is_in_paragraph
    and line collate "C" ~* '^<(/[a-z][a-z0-9-]* *|[a-z][a-z0-9-]*( +[a-z_:][^<>]*)?/?)>$' then '^$'
end;

-- Returns what a line of a Markdown text begins: nothing (empty), a heading, a rule, an item of a
-- list, a quotation, text, or where the links of a label lead (label).
create or replace function ragdb_internal.markdown_kind(line text) returns text
language sql immutable parallel safe
return case
  when line = '' then 'empty'
  when line ~ '^ {0,3}#{1,6}( |$)' then 'heading'
  when line ~ '^ {0,3}(-( *-){2,}|\*( *\*){2,}|_( *_){2,})$' then 'rule'
  when line ~ '^ {0,3}([-*+]|[0-9]{1,9}[.)])( |$)' then 'item'
  when line ~ '^ {0,3}>' then 'quotation'
  when line ~ '^ {0,3}\[[^\[\]]+\]: *[^ ]' then 'label'
  else 'text' end;

-- Returns the marks of the fence that a line of a Markdown text begins; null for none.
create or replace function ragdb_internal.fence(line text) returns text
language sql immutable parallel safe
return pg_catalog.substring(
  line, '^ *(?:(?:[-*+]|[0-9]{1,9}[.)]) +)*(```+(?=[^`]*$)|~~~+)');

-- Returns after how many characters each tab of a line ends, where four spaces stand for it.
create or replace function ragdb_internal.tab_ends(line text) returns integer[]
language sql immutable parallel safe
return case when pg_catalog.strpos(line, E'\t') = 0 then '{}' else array(
  select (pg_catalog.sum(pg_catalog.length(m.part[1]) + 4) over (order by m.n))::integer
  from pg_catalog.regexp_matches(line, E'([^\t]*)\t', 'g') with ordinality m (part, n)
  order by m.n) end;

-- Returns the lines of a Markdown text that are neither front matter nor code between fences: the
-- number of each, where it begins, how far it is indented, what it begins (html: it is of a block
-- of HTML), and where the four spaces end that stand for each of its tabs.
create or replace function ragdb_internal.markdown_lines(text text)
returns table (
  n integer, start_offset integer, indent integer, kind text, line text, tabs integer[])
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_next integer := ragdb_internal.front_matter_length(text);
  v_fence text;  -- that is open
  v_inset integer;  -- of it
  v_end text;  -- of a block of HTML
  v_is_text boolean := false;
  v_is_list boolean := false;
  v_line text;
begin
  for v_line, n, tabs in select l, o, ragdb_internal.tab_ends(l)
    from regexp_split_to_table(substr(text, v_next + 1), E'\n') with ordinality s (l, o) loop
    start_offset := v_next;
    v_next := v_next + length(v_line) + 1;
    line := rtrim(replace(v_line, E'\t', '    '), E' \r\f\v');
    indent := length(line) - length(ltrim(line));
    -- where the item that it is in ends, it ends too
    v_fence := case when not v_is_list or v_inset = 0 or indent > 0 or line = '' then v_fence end;
    if v_fence is not null then
      v_fence := case when line !~ ('^ *' || left(v_fence, 1) || '+$')
          or indent >= 4 and not v_is_list or length(line) - indent < length(v_fence)
        then v_fence end;
      continue;
    elsif v_end is not null then
      kind := 'html';
      v_end := case when line collate "C" !~* v_end then v_end end;
    else
      kind := ragdb_internal.markdown_kind(line);
      v_is_list := kind = 'item' or v_is_list and (kind = 'empty' or indent > 0);
      v_fence := case when indent < 4 or v_is_list then ragdb_internal.fence(line) end;
      v_inset := case when kind = 'item' then 1 else indent end;
      v_end := case when v_fence is null and indent < 4
        then ragdb_internal.html_end(ltrim(line), v_is_text) end;
      v_is_text := v_fence is null and v_end is null and kind = 'text';
      kind := case when v_end is null then kind else 'html' end;
      v_end := case when v_end = '^$' or line collate "C" !~* v_end then v_end end;
      continue when v_fence is not null;
    end if;
    return next;
  end loop;
end $$;

-- Returns a text with the words of its links and images alone, without where they lead. labels are
-- those of links that lead to where another place of the text says, in lower case.
create or replace function ragdb_internal.unlinked(text text, labels text[]) returns text
language sql immutable parallel safe
return (
  select pg_catalog.string_agg(case
    when p.part[2] like '(%' or pg_catalog.lower(coalesce(
        nullif(pg_catalog.btrim(p.part[2], '[]'), ''), p.part[1]) collate "C")
      = any (unlinked.labels) then p.part[1]
    else p.whole end, '' order by p.n)
  from (
    select m.part[2:] as part, m.part[1] as whole, m.n
    from pg_catalog.regexp_matches(unlinked.text,
      '(!?\[([^\[\]]*)\](\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])?|[^\[\]!]+'
      '|\]\[[^\[\]]*\]|.)', 'g')
      with ordinality m (part, n)) p);

-- Returns the text of a heading without what marks links, emphasis, code and attributes in it; null
-- for none. What stands in code or behind a backslash marks nothing.
create or replace function ragdb_internal.heading_text(heading text, labels text[]) returns text
language sql immutable parallel safe
begin atomic
  select nullif(left(btrim(regexp_replace(regexp_replace(
      translate(m.text, U&'\E000\E001\E002\E003\E004\E005\E006\E007', '*_[]<>&!'),
      '[ \n]*\{[ ]*[#.:][^{}]*\}[ ]*$', ''), E'[ \n\u00A0\u3000]+', ' ', 'g')), 1000), '')
  from (
    select string_agg(coalesce(
        translate(coalesce(substr(p.part[1], 2), p.part[3]),
          '*_[]<>&!', U&'\E000\E001\E002\E003\E004\E005\E006\E007'), p.part[4]), '' order by p.n)
      as text
    from regexp_matches(heading_text.heading,
      '(\\[!-/:-@\[-`{-~])|(`+)([^`]+)\2(?!`)|([^\\`]+|`+|.)', 'g') with ordinality p (part, n)
  ) c cross join lateral (
    select ragdb_internal.unlinked(ragdb_internal.unlinked(c.text, labels), labels) as text) l
  cross join lateral (
    select regexp_replace(regexp_replace(l.text collate "C",
        '<([a-z][a-z0-9+.-]{1,31}:[^<> ]*)>', '\1', 'gi'),
      '</?[a-z][^<>]*>|<!--(?:[^-]|-[^-]|--[^>])*-->', '', 'gi') as text) h
  cross join lateral (
    select regexp_replace(regexp_replace(h.text,
      '\*{1,3}([^ *](?:[^*]*[^ *])?)\*{1,3}', '\1', 'g'),
      E'(^|[^A-Za-z0-9_\u00AA-\U0010FFFF])_{1,3}([^ _](?:[^_]*[^ _])?)_{1,3}'
      '(?![A-Za-z0-9_\u00AA-\U0010FFFF])', '\1\2', 'g') as text) e
  cross join lateral (
    select replace(replace(replace(replace(replace(replace(e.text, '&lt;', '<'), '&gt;', '>'),
      '&quot;', '"'), '&#39;', ''''), '&nbsp;', ' '), '&amp;', '&') as text) m;
end;

-- Returns the headings of a Markdown text as they are written, without the # of their lines, each
-- at most 2000 characters.
create or replace function ragdb_internal.written_headings(text text)
returns table (start_offset integer, level integer, heading text)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_line record;
  v_last integer := 0;
  v_list integer := 0;  -- how far what belongs to a list is indented
  v_is_within boolean := false;  -- a paragraph of a list or a quotation may go on
begin
  for v_line in select * from ragdb_internal.markdown_lines(text) l where l.kind <> 'html' loop
    if v_line.kind = 'empty' or v_line.n > v_last + 1 then
      heading := null;  -- a paragraph so far: it may be underlined
      v_is_within := false;
    end if;
    v_last := v_line.n;
    if v_line.kind = 'empty' or v_list > 0 and v_line.indent >= v_list then
      v_is_within := v_line.kind <> 'empty';
      continue;
    elsif heading is not null and v_line.line ~ '^ {0,3}(=+|-+)$' then
      level := case when v_line.line like '%=' then 1 else 2 end;
      return next;
      v_line.kind := 'rule';
    elsif v_line.kind = 'label' and (heading is not null or v_is_within) or heading is not null
        and v_line.kind = 'item' and v_line.line !~ '^ *([-*+]|1[.)]) +[^ ]' then
      v_line.kind := 'text';
    end if;
    continue when v_line.kind = 'text' and (v_is_within or octet_length(heading) >= 2000);
    v_is_within := v_line.kind in ('item', 'quotation');
    v_list := case when v_line.kind = 'item' then length(substring(v_line.line || ' ',
      '^ *(?:[-*+]|[0-9]+[.)])(?: {1,4}(?=[^ ])| )')) else 0 end;
    start_offset := case when v_line.kind <> 'text' or heading is null
      then v_line.start_offset else start_offset end;
    heading := case when v_line.kind = 'text' and (heading is not null or v_line.indent < 4)
        then left(concat_ws(E'\n', heading, v_line.line), 2000)
      when v_line.kind = 'heading'
        then left(regexp_replace(substring(v_line.line, '^ *#+(.*)'), ' +#+$', ''), 2000) end;
    if v_line.kind = 'heading' then
      level := length(substring(v_line.line, '#+'));
      return next;
      heading := null;
    end if;
  end loop;
end $$;

-- Returns the headings of a Markdown text in their order.
create or replace function ragdb_internal.markdown_headings(text text)
returns ragdb_internal.heading[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_labels constant text[] := array(select lower(l.label[1] collate "C")
    from regexp_matches(case when strpos(text, ']:') > 0 then text end,
      E'^ {0,3}\\[([^\\[\\]]+)\\]:', 'gn') l (label));
  v_headings ragdb_internal.heading[] := '{}';
  v_levels integer[] := '{}';
  v_path text[] := '{}';
  v_next record;
begin
  for v_next in
    select w.start_offset, w.level, ragdb_internal.heading_text(w.heading, v_labels) as heading
    from ragdb_internal.written_headings(text) w
  loop
    if v_next.heading is not null then
      v_path := v_path[:width_bucket(v_next.level - 1, v_levels)] || v_next.heading;
      v_levels := v_levels[:cardinality(v_path) - 1] || v_next.level;
      v_headings := v_headings
        || row(v_next.start_offset, v_path, v_next.level)::ragdb_internal.heading;
    end if;
  end loop;
  return v_headings;
end $$;
