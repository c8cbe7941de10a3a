-- What a Markdown text says of itself, and the headings over each of its chunks and their links.

-- Returns the deepest heading path that a passage stands under. A quarter of it may stand
-- elsewhere: it begins with words of the passage before. starts are those of the headings.
create or replace function ragdb_internal.heading_over(
  headings ragdb_internal.heading[], starts integer[], start_offset integer, end_offset integer)
returns text[]
language sql immutable parallel safe
return (
  select p.path
  from (
    select h.path[:d.depth] as path, pg_catalog.sum(
      least(h.next_offset, heading_over.end_offset)
        - greatest(h.start_offset, heading_over.start_offset)) as length
    from (
      select u.start_offset, u.path, pg_catalog.lead(u.start_offset, 1, 2147483647)
        over (order by u.start_offset) as next_offset
      from pg_catalog.unnest(heading_over.headings[
        pg_catalog.width_bucket(heading_over.start_offset, heading_over.starts)
        :pg_catalog.width_bucket(heading_over.end_offset - 1, heading_over.starts)]) u) h
      cross join pg_catalog.generate_series(1, cardinality(h.path)) d (depth)
    group by 1) p
  where 4 * p.length >= 3 * (heading_over.end_offset - heading_over.start_offset)
  order by cardinality(p.path) desc limit 1);

-- Returns what the front matter of a Markdown text says of a field, where it says it plainly or in
-- quotes; null where it does not.
create or replace function ragdb_internal.front_matter_field(text text, field text) returns text
language sql immutable parallel safe
return (
  select nullif(pg_catalog.btrim(coalesce(m.part[1], m.part[2], m.part[3])), '')
  from pg_catalog.regexp_match(
    pg_catalog.left(text, ragdb_internal.front_matter_length(text)),
    '^' || field || E':[ \t]+(?:"([^"\\\\\n]*)"|''([^''\n]*)'''
    '|([^][ \t\r\n"''|>&*!{}%@`#,?:-][^\n#:]*))[ \t\r]*$', 'n') m (part));

-- A text without its front matter, and what it says of itself: what is no title, language or id in
-- the front matter is metadata. It has headings, also none, if it is Markdown.
create type ragdb_internal.markdown_text as (
  body text,
  title text,
  language text,
  external_id text,
  metadata jsonb,
  headings ragdb_internal.heading[]);

-- Returns a Markdown text as it is stored, with the line ends of Unix. Front matter that is not
-- plain stays in its body, and its title and language are read. The title is that of the front
-- matter, else the first heading of the first level.
create or replace function ragdb_internal.read_markdown(text text)
returns ragdb_internal.markdown_text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text constant text := regexp_replace(text, E'\r\n?', E'\n', 'g');
  v_matter constant jsonb :=
    case when starts_with(v_text, '---') then ragdb_internal.front_matter(v_text) end;
  v_body constant text := case when v_matter is null then v_text
    else regexp_replace(substr(v_text, ragdb_internal.front_matter_length(v_text) + 1), E'^\n', '')
    end;
  v_headings constant ragdb_internal.heading[] := ragdb_internal.markdown_headings(v_body);
  v_said constant jsonb := coalesce(
    (select jsonb_object_agg(m.key, m.value) from jsonb_each_text(v_matter) m
      where jsonb_typeof(v_matter -> m.key) in ('string', 'number')),
    case when starts_with(v_text, '---') then jsonb_build_object(
      'title', ragdb_internal.front_matter_field(v_text, 'title'),
      'language', ragdb_internal.front_matter_field(v_text, 'language'),
      'lang', ragdb_internal.front_matter_field(v_text, 'lang')) end);
begin
  return row(
    v_body,
    coalesce(
      left(nullif(btrim(regexp_replace(v_said ->> 'title', E'[ \t\n]+', ' ', 'g')), ''), 1000),
      (select h.path[1] from unnest(v_headings) h where h.level = 1
        order by h.start_offset limit 1)),
    ragdb_internal.language_code(coalesce(nullif(btrim(v_said ->> 'language'), ''),
      nullif(btrim(v_said ->> 'lang'), ''))),
    nullif(btrim(v_said ->> 'id'), ''),
    coalesce((v_matter - '{title,language,lang,id,metadata}'::text[])
      || coalesce(nullif(v_matter -> 'metadata', 'null'), '{}'), '{}'),
    v_headings);
end $$;

-- Returns the media type of a text of a source: the given one, else by what the source ends in.
create or replace function ragdb_internal.text_type(source text, media_type text default null)
returns text
language sql immutable parallel safe
return coalesce(text_type.media_type, case
  when pg_catalog.strpos(source, '.') > 0
      and pg_catalog.lower(pg_catalog.split_part(source, '.', -1) collate "C")
        in ('md', 'markdown', 'mdown', 'mkd') then 'text/markdown'
  else 'text/plain' end);

-- Returns a text without the mark of its byte order, which programs of Windows begin files with.
create or replace function ragdb_internal.without_mark(text text) returns text
language sql immutable parallel safe
return case when pg_catalog.starts_with(text, E'\ufeff') then pg_catalog.substr(text, 2)
  else text end;

-- Returns a text of a media type as it is stored: as it is, if it is not Markdown.
create or replace function ragdb_internal.read_text(text text, media_type text)
returns ragdb_internal.markdown_text
language sql immutable parallel safe
return case
  when pg_catalog.lower(pg_catalog.btrim(pg_catalog.split_part(media_type, ';', 1)) collate "C")
    in ('text/markdown', 'text/x-markdown')
    then ragdb_internal.read_markdown(ragdb_internal.without_mark(text))
  else row(ragdb_internal.without_mark(text), null, null, null, '{}', null)
    ::ragdb_internal.markdown_text end;

-- Returns the links of a text of a source as its document gives them: a link belongs to the last
-- of its chunks that begins before it. A text that was not read as Markdown has none, nor one
-- without a bracket: to plan what finds links takes as long as to find those of a page.
create or replace function ragdb_internal.text_links(
  source text, read ragdb_internal.markdown_text, chunks jsonb)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if read.headings is null or chunks = '[]'
      or strpos(read.body, ']') + strpos(read.body, '<') = 0 then
    return '[]';
  end if;
  return (
    select coalesce(jsonb_agg(distinct jsonb_build_object('chunk',
        greatest(width_bucket(l.start_offset, c.starts) - 1, 0), 'target', t.target)), '[]')
    from (
      select array(
          select (k ->> 'start')::integer from jsonb_array_elements(chunks) k) as starts
        offset 0) c
      cross join lateral ragdb_internal.markdown_links(read.body) l
      cross join lateral ragdb_internal.link_targets(text_links.source, l.target) t (target)
    where t.target <> text_links.source);
end $$;
