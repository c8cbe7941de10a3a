-- Which characters of an answer count, and where they stand.

-- White space as JavaScript has it, which is more than that of ASCII.
create or replace function ragdb_internal.without_space(text text) returns text
language sql immutable parallel safe
return pg_catalog.regexp_replace(without_space.text,
  U&'[\0009-\000D\0020\00A0\1680\2000-\200A\2028\2029\202F\205F\3000\FEFF]+' collate "C", '', 'g');
comment on function ragdb_internal.without_space(text) is
  'Returns a text without its white space, that of Unicode included.';

-- Offsets arrive in the unit of their maker; we count in code points.
create or replace function ragdb_internal.code_point_offsets(text text, unit text) returns integer[]
language sql immutable parallel safe
return array(
  select case w.i when 1 then c.n - 1 end
  from pg_catalog.string_to_table(code_point_offsets.text, null) with ordinality c (c, n)
    cross join lateral pg_catalog.generate_series(1,
      case unit when 'utf16' then case pg_catalog.octet_length(c.c) when 4 then 2 else 1 end
      else pg_catalog.octet_length(c.c) end) w (i)
  order by c.n, w.i) || pg_catalog.length(code_point_offsets.text);
comment on function ragdb_internal.code_point_offsets(text, text) is
  'Returns the number of code points before each offset of a text, from offset 0, in the unit utf16 '
  'or byte; null for an offset inside a character.';

create or replace function ragdb_internal.covered_characters(answer text, spans int4multirange)
  returns bigint
language sql immutable parallel safe
return (
  select coalesce(pg_catalog.sum(pg_catalog.length(ragdb_internal.without_space(pg_catalog.substr(
    answer, pg_catalog.lower(r) + 1, pg_catalog.upper(r) - pg_catalog.lower(r))))), 0)
  from pg_catalog.unnest(spans) r);
comment on function ragdb_internal.covered_characters(text, int4multirange) is
  'Returns how many characters of an answer, other than white space, stand in some spans.';
