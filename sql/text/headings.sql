-- What the headings of a Markdown text say of it: its title, and what each of its chunks stands
-- under.

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

-- Returns the title of a Markdown text: that of its front matter where it is written plainly or in
-- quotes, else its first heading of the first level.
create or replace function ragdb_internal.markdown_title(
  text text, headings ragdb_internal.heading[])
returns text
language sql immutable parallel safe
return coalesce(
  (select nullif(pg_catalog.left(pg_catalog.btrim(coalesce(m.part[1], m.part[2], m.part[3])), 1000),
      '')
    from pg_catalog.regexp_match(
      pg_catalog.left(text, ragdb_internal.front_matter_length(text)),
      E'^title:[ \t]+(?:"([^"\\\\\n]*)"|''([^''\n]*)'''
      '|([^][ \t\r\n"''|>&*!{}%@`#,?:-][^\n#:]*))[ \t\r]*$', 'n') m (part)),
  (select h.path[1] from pg_catalog.unnest(headings) h where h.level = 1
    order by h.start_offset limit 1));
