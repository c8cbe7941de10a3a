-- Globs: * is any run of characters, / included, and ? is any one character. Filters, sources of
-- contracts and assertions of evaluations match by them.

-- Returns the LIKE pattern of a glob: * is any run of characters, / included, and ? any one
-- character. A glob becomes a pattern of LIKE, whose matcher gives up at the first star that cannot
-- be met: n·m steps at most.
create or replace function ragdb_internal.glob_pattern(pattern text) returns text
language sql immutable parallel safe
return pg_catalog.replace(pg_catalog.replace(
  pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(
    glob_pattern.pattern, '\', '\\'), '%', '\%'), '_', '\_'),
  '*', '%'), '?', '_');

-- Tells whether a glob has more characters or more stars than ragdb_internal.limits allows.
create or replace function ragdb_internal.is_long_glob(pattern text) returns boolean
language sql immutable parallel safe
return pg_catalog.length(is_long_glob.pattern) > (ragdb_internal.limits()).glob_characters
  or pg_catalog.length(is_long_glob.pattern)
    - pg_catalog.length(pg_catalog.replace(is_long_glob.pattern, '*', ''))
    > (ragdb_internal.limits()).glob_stars;
