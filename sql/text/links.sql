-- The hyperlinks of a Markdown text, as CommonMark has them: inline, by a label, in angle brackets
-- and of HTML. ragdb/readers/markdown.py is its twin.

-- Lines of a Markdown text that are read together: what the first begins, where each, and what
-- follows each of its tabs, begins in the text and among them, and their text.
create type ragdb_internal.markdown_block as (
  kind text,
  starts integer[],
  places integer[],
  block text);

-- Returns the lines of a Markdown text in blocks, without code that is indented, each as long as no
-- line begins another. What is indented below an item of a list is not code.
create or replace function ragdb_internal.markdown_blocks(text text)
returns setof ragdb_internal.markdown_block
language sql immutable parallel safe
begin atomic
  with line as (
    select l.*, lag(l.n) over w as last_n, lag(l.kind) over w as last_kind,
      coalesce(max(l.n) filter (where l.kind = 'item') over w, 0) as item,
      coalesce(max(l.n) filter (where l.indent = 0 and l.kind not in ('empty', 'item')) over w, 0)
        as unindented
    from ragdb_internal.markdown_lines(text) l
    window w as (order by l.n)
  ), numbered as (
    select l.*, count(*) filter (where l.last_n is distinct from l.n - 1
        or l.kind not in ('text', l.last_kind) or l.last_kind not in ('text', 'item', l.kind)
        or l.kind in ('heading', 'item', 'label'))
      over (order by l.n) as block
    from line l
  ), first as (
    select n.*, length(n.line) as size,
      first_value(n.indent >= 4 and n.item <= n.unindented) over w as is_code,
      sum(length(n.line) + 1) over w - length(n.line) - 1 as place
    from numbered n
    window w as (partition by n.block order by n.n)
  ), begun as (
    -- a line comes once, or it would be there as often as it has tabs
    select f.block, f.n, t.nth, f.kind, case when t.nth = 0 then f.line end as line,
      f.start_offset + t.after - 3 * t.nth as start, f.place::integer + t.after as place
    from first f
      cross join lateral (
        select 0 as after, 0 as nth
        union all
        select u.after, u.nth::integer from unnest(f.tabs) with ordinality u (after, nth)
        where u.after <= f.size) t
    where f.kind <> 'empty' and not f.is_code
    offset 0
  )
  select (array_agg(b.kind order by b.n, b.nth))[1], array_agg(b.start order by b.n, b.nth),
    array_agg(b.place order by b.n, b.nth), string_agg(b.line, E'\n' order by b.n, b.nth)
  from begun b group by b.block order by b.block;
end;

-- Returns where a link leads that is written as in Markdown, without what marks it.
create or replace function ragdb_internal.link_destination(written text) returns text
language sql immutable parallel safe
return (
  select pg_catalog.replace(pg_catalog.regexp_replace(
    coalesce(pg_catalog.substring(w.trimmed, '^<([^<>]*)>'),
      pg_catalog.substring(w.trimmed, E'^[^ \n]*')),
    '\\([!-/:-@\[-`{-~])', '\1', 'g'), '&amp;', '&')
  from pg_catalog.btrim(written, E' \n') w (trimmed));

-- Returns the pieces of a block that is a text: what may be or hide a link, and what is between.
create or replace function ragdb_internal.link_pieces(block text) returns setof text
language sql immutable parallel safe
begin atomic
  select m.part[1]
  from regexp_matches(link_pieces.block, E'(\\\\.|(`+)[^`]+\\2(?!`)|`+|<[A-Za-z/!][^<>]*>|!?\\['
    || E'|\\](\\([ \n]*(<[^<>\n]*>|([^ \n()\\\\]|\\\\.|\\(([^ \n()\\\\]|\\\\.)*\\))*)'
    || E'([ \n]+("[^"]*"|''[^'']*''|\\([^()]*\\)))?[ \n]*\\))?|[^\\\\`<!\\[\\]]+|.)', 'g')
    with ordinality m (part, n) order by m.n;
end;

-- Returns the label of a link as it is compared: in small letters and on one line, also where it is
-- on two of a quotation.
create or replace function ragdb_internal.link_label(written text) returns text
language sql immutable parallel safe
return pg_catalog.lower(pg_catalog.btrim(
  pg_catalog.regexp_replace(written, E'[ \t]*\n[ >]*|[ \t]+', ' ', 'g')) collate "C");

-- Returns the links of a block: after how many characters each begins, and what it says. labels
-- has where those lead that name a label. A bracket that is open is kept by its place, that of an
-- image below zero: no link contains another, and an image may.
create or replace function ragdb_internal.block_links(block text, is_html boolean, labels jsonb)
returns table (place integer, target text)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pieces constant text[] := array(select p from ragdb_internal.link_pieces(block) p);
  v_open integer[] := '{}';
  v_at integer := 0;
  v_seen integer := 0;  -- up to this piece
  v_piece text;
  v_href text[];
begin
  for v_n in 1 .. cardinality(v_pieces) loop
    target := null;
    place := v_at;
    v_piece := v_pieces[v_n];
    v_at := v_at + length(v_piece);
    if v_piece like '<%' then
      v_href := regexp_match(v_piece, E'^<a[ \t\n](?:.*[ \t\n])?href[ \t\n]*=[ \t\n]*'
        '(?:"([^"]*)"|''([^'']*)''|([^ "''>]+))', 'i');
      target := coalesce(replace(coalesce(v_href[1], v_href[2], v_href[3]), '&amp;', '&'),
        substring(v_piece, '^<([A-Za-z][A-Za-z0-9+.-]+:[^<> ]*)>$'));
    elsif v_n > v_seen and not is_html and v_piece in ('[', '![') then
      v_open := (case when v_piece = '[' then place + 1 else -place - 2 end || v_open)[:100];
    elsif v_n > v_seen and v_piece like ']%' and v_open <> '{}' then
      v_seen := case when v_piece = ']' and v_pieces[v_n + 1] = '[' then case
        when v_pieces[v_n + 2] = ']' then v_n + 2
        when v_pieces[v_n + 3] like ']%' and labels ? ragdb_internal.link_label(
          v_pieces[v_n + 2]) then v_n + 3 end end;
      target := case when v_open[1] < 0 then null
        when v_piece <> ']'
          then ragdb_internal.link_destination(substr(v_piece, 3, length(v_piece) - 3))
        when labels <> '{}' then labels ->> ragdb_internal.link_label(case when v_seen = v_n + 3
          then v_pieces[v_n + 2] else substr(block, v_open[1] + 1, place - v_open[1]) end) end;
      v_seen := case when target is null then v_n else coalesce(v_seen, v_n) end;
      place := v_open[1] - 1;
      v_open := case when target is null then v_open[2:] else array(select o
        from unnest(v_open[2:]) with ordinality u (o, n) where o < 0 order by n) end;
    end if;
    if target <> '' then
      return next;
    end if;
  end loop;
end $$;

-- Returns the links of a Markdown text: where each begins, and what it says.
create or replace function ragdb_internal.markdown_links(text text)
returns table (start_offset integer, target text)
language sql immutable parallel safe
begin atomic
  with block as materialized (
    select b.* from ragdb_internal.markdown_blocks(text) b where b.block ~ '[]<]'
  ), label as (
    -- the first of a name counts
    select jsonb_object_agg(ragdb_internal.link_label(l.label[1]),
      ragdb_internal.link_destination(l.label[2]) order by b.starts desc) as labels
    from block b
      cross join lateral regexp_match(
        b.block, '^ {0,3}\[([^][]+)\]: *(<[^<>]*>|[^ ]+)') l (label)
    where b.kind = 'label'
  )
  select b.starts[l.line] + k.place - b.places[l.line], k.target
  from block b cross join label n
    cross join lateral ragdb_internal.block_links(
      b.block, b.kind = 'html', coalesce(n.labels, '{}')) k
    cross join lateral width_bucket(k.place, b.places) l (line)
  -- as in Python, a longer block has no links of its own
  where b.kind <> 'label' and length(b.block) <= 50000
  order by 1;
end;

-- Returns a path without the parts . and .. and without empty ones; one that leads out of its top
-- folder begins with .. then.
create or replace function ragdb_internal.normal_path(path text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts text[] := '{}';
  v_part text;
begin
  foreach v_part in array string_to_array(path, '/') loop
    if v_part = '..' and v_parts <> '{}' and v_parts[cardinality(v_parts)] <> '..' then
      v_parts := v_parts[:cardinality(v_parts) - 1];
    elsif v_part not in ('', '.') then
      v_parts := v_parts || v_part;
    end if;
  end loop;
  return case when path like '/%' then '/' else '' end || array_to_string(v_parts, '/');
end $$;

-- Returns a path with the characters that %XX stand for; what is not UTF-8 stays as it is written.
create or replace function ragdb_internal.unquoted(path text) returns text
language sql immutable parallel safe
return (
  select coalesce(pg_catalog.string_agg(case when p.part[1] ~ '^%..'
      then pg_catalog.convert_from(pg_catalog.decode(
        pg_catalog.replace(p.part[1], '%', ''), 'hex'), 'UTF8')
      else p.part[1] end, '' order by p.n), '')
  from pg_catalog.regexp_matches(unquoted.path,
    '(%(?:0[1-9A-F]|[1-7][0-9A-F])|%(?:C[2-9A-F]|D[0-9A-F])%[89AB][0-9A-F]'
    '|%(?:E0%[AB]|E[1-9A-CEF]%[89AB]|ED%[89])[0-9A-F]%[89AB][0-9A-F]'
    '|%(?:F0%[9AB]|F[1-3]%[89AB]|F4%8)[0-9A-F]%[89AB][0-9A-F]%[89AB][0-9A-F]|[^%]+|%)', 'gi')
    with ordinality p (part, n));

-- Returns the address that a link of a page means, without its fragment; null for what is not the
-- address of a page.
create or replace function ragdb_internal.linked_address(uri text, written text) returns text
language sql immutable parallel safe
return (
  select case
    when written ~* '^https?://' then f.link
    when written ~ '^[A-Za-z][A-Za-z0-9+.-]*:' then null
    when written like '//%' then b.base[1] || f.link
    when f.link like '?%' then b.base[1] || b.base[2] || b.base[3] || f.link
    else b.base[1] || b.base[2] || '/' || pg_catalog.regexp_replace(pg_catalog.ltrim(
        ragdb_internal.normal_path(case when f.path like '/%' then '' else
          pg_catalog.regexp_replace(b.base[3], '[^/]*$', '') end || f.path), '/'),
        '^([.][.](/|$))+', '')
      || case when f.path like '_%/' then '/' else '' end
      || pg_catalog.substr(f.link, length(f.path) + 1) end
  from (
      select pg_catalog.split_part(written, '#', 1) as link,
        pg_catalog.split_part(pg_catalog.split_part(written, '#', 1), '?', 1) as path) f
    cross join lateral pg_catalog.regexp_match(pg_catalog.regexp_replace(
      linked_address.uri, '[?#].*$', ''), '^(https?:)(//[^/]*)(.*)$', 'i') b (base));

-- Returns the path that a link of a file means, below the top folder of its uri; null for none.
create or replace function ragdb_internal.linked_path(uri text, written text) returns text
language sql immutable parallel safe
return (
  select case when t.path not in ('', '/', '..') and t.path not like '../%' then t.path end
  from (
      select pg_catalog.split_part(linked_path.uri, '#', 1) as file, ragdb_internal.unquoted(
        pg_catalog.substring(written, '^[^?#]*')) as path) l
    cross join lateral ragdb_internal.normal_path(
      coalesce(pg_catalog.substring(
        l.file, case when l.path like '/%' then '^[^/]+/' else '^.*/' end), '')
      || pg_catalog.ltrim(l.path, '/')) t (path)
  where l.path <> '');

-- Returns the uris that a link in the document of a uri may mean: as ragdb/ingest/links.py, where
-- it says why.
create or replace function ragdb_internal.link_targets(uri text, written text)
returns setof text
language sql immutable parallel safe
begin atomic
  select t.target
  from (
      select case when link_targets.written like E'%\n%'
          then regexp_replace(link_targets.written, E'[ \t\r\n]+', '', 'g')
        else btrim(link_targets.written) end as written,
        link_targets.uri ~* '^https?://' as is_page) w
    cross join lateral (
      select w.written ~ '^([A-Za-z][A-Za-z0-9+.-]*:|//)' as is_address) a
    cross join lateral (
      select case
        when w.is_page then ragdb_internal.linked_address(link_targets.uri, w.written)
        when not a.is_address then ragdb_internal.linked_path(link_targets.uri, w.written)
        when w.written ~* '^https?://' then split_part(w.written, '#', 1) end as meant) l
    cross join lateral unnest(array[l.meant, case when not w.is_page and not a.is_address
      then substring(l.meant, '^(.*)[.]html?$') || '.md' end]) t (target)
  where w.written !~ '^(#|$)' and length(w.written) <= 2000 and t.target is not null;
end;
