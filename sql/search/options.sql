-- What a search may be told beside what it looks for: how its query is read, and how it picks among
-- what ranks. They go through every door as one, and a trace keeps those that are not the default.
create type ragdb_internal.search_options as (syntax text);
comment on type ragdb_internal.search_options is
  'How a search reads its query: syntax is plain or web.';

create or replace function ragdb_internal.check_options(options ragdb_internal.search_options)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if options.syntax is null or options.syntax not in ('plain', 'web') then
    raise exception 'syntax is %', ragdb_internal.quote(options.syntax)
      using errcode = 'RG400', detail = 'a query is read as plain words or by the syntax web',
            hint = 'pass plain, or web for "phrases", +words and -words';
  end if;
end $$;
comment on function ragdb_internal.check_options(ragdb_internal.search_options) is
  'Refuses options of a search that are null, out of range or unknown words. Raises RG400.';

create or replace function ragdb_internal.noted_options(options ragdb_internal.search_options)
returns jsonb
language sql immutable parallel safe
return pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
  'syntax', nullif((options).syntax, 'plain')));
comment on function ragdb_internal.noted_options(ragdb_internal.search_options) is
  'Returns what a trace keeps of the options of a search: those that are not the default.';

create or replace function ragdb_internal.recorded_options(ranking jsonb)
returns ragdb_internal.search_options
language sql immutable parallel safe
return row(coalesce(recorded_options.ranking ->> 'syntax', 'plain'))
  ::ragdb_internal.search_options;
comment on function ragdb_internal.recorded_options(jsonb) is
  'Returns the options of a search as a trace kept them.';

create or replace function ragdb_internal.read_query(query text, syntax text) returns text
language sql immutable parallel safe
return case when read_query.syntax = 'web' then read_query.query
  else ragdb_internal.without_clauses(read_query.query) end;
comment on function ragdb_internal.read_query(text, text) is
  'Returns a query whose quotes and signs count: all of them in syntax web, else none.';
