-- What a Markdown text says of itself: its title and its language, and the headings over each of
-- its chunks.

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

-- Returns the title of a Markdown text: that of its front matter, else its first heading of the
-- first level.
create or replace function ragdb_internal.markdown_title(
  text text, headings ragdb_internal.heading[])
returns text
language sql immutable parallel safe
return coalesce(
  pg_catalog.left(ragdb_internal.front_matter_field(text, 'title'), 1000),
  (select h.path[1] from pg_catalog.unnest(headings) h where h.level = 1
    order by h.start_offset limit 1));

-- Returns the code of the language that the front matter of a Markdown text names; null for none.
create or replace function ragdb_internal.markdown_language(text text) returns text
language sql immutable parallel safe
return ragdb_internal.language_code(coalesce(ragdb_internal.front_matter_field(text, 'language'),
  ragdb_internal.front_matter_field(text, 'lang')));
