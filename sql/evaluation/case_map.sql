-- How texts and globs are found in any case.

-- Returns the capitals that matter for finding a text in any case, and their small letters (Unicode
-- 15.0, beyond ASCII). Lower case of only those letters that a text can be found by: all of
-- Unicode's for every chunk costs milliseconds each.
create or replace function ragdb_internal.case_map(needle text) returns text[]
language sql immutable parallel safe
return case when pg_catalog.octet_length(needle) = pg_catalog.length(needle) then array['', '']
  else (
  select array[coalesce(pg_catalog.string_agg(u.capital, '' order by u.n), ''),
    coalesce(pg_catalog.string_agg(l.small, '' order by u.n), '')]
  from pg_catalog.string_to_table(ragdb_internal.capitals(), null) with ordinality u (capital, n)
    join pg_catalog.string_to_table(ragdb_internal.smalls(), null) with ordinality l (small, n)
      on l.n = u.n
  where pg_catalog.strpos(needle, u.capital) > 0 or pg_catalog.strpos(needle, l.small) > 0) end;

-- Returns a text in lower case: ASCII, and the letters of a map.
create or replace function ragdb_internal.any_case(text text, map text[]) returns text
language sql immutable parallel safe
return pg_catalog.translate(pg_catalog.lower(any_case.text collate "C"), any_case.map[1],
  any_case.map[2]);
