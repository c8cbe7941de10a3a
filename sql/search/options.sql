-- What a search may be told beside what it looks for: how its query is read, how it picks among
-- what ranks, and what it shows. They go through every door as one, and a trace keeps those that
-- change the hits and are not the default.

-- How a search reads its query (syntax: plain or web; typos), how it picks among what ranks
-- (per_document, collapse, diversity), and what it shows around a hit (context, section).
create type ragdb_internal.search_options as (
  syntax text, per_document integer, collapse boolean, diversity float8, context integer,
  section boolean, typos boolean);

-- Says which syntax ragdb_internal.check_syntax() refuses. Raises RG400.
create or replace function ragdb_internal.refuse_syntax(syntax text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'syntax is %', ragdb_internal.quote(syntax)
    using errcode = 'RG400', detail = 'a query is read as plain words or by the syntax web',
          hint = 'pass plain, or web for "phrases", +words and -words';
end $$;

-- Refuses a syntax that is neither plain nor web. Raises RG400.
create or replace function ragdb_internal.check_syntax(syntax text) returns void
language sql immutable parallel safe
return case when (syntax in ('plain', 'web')) is not true
  then ragdb_internal.refuse_syntax(syntax) end;

-- Refuses options of a search, but for the syntax, that are null or out of range. Raises RG400.
create or replace function ragdb_internal.check_options(options ragdb_internal.search_options)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if options.per_document not between 1 and 1000 then
    raise exception 'per_document is %', options.per_document
      using errcode = 'RG400', detail = 'it is how many hits a document may have',
            hint = 'pass 1 to 1000, or leave it out for any number';
  elsif options.diversity is null or not options.diversity between 0 and 1 then
    raise exception 'diversity is %', coalesce(options.diversity::text, 'null')
      using errcode = 'RG400', detail = 'it is what likeness to better hits takes from a score',
            hint = 'pass 0 (nothing) to 1';
  elsif options.context is null or options.context not between 0 and 20 then
    raise exception 'context is %', coalesce(options.context::text, 'null')
      using errcode = 'RG400', detail = 'it is how many neighbours of a hit come with it',
            hint = 'pass 0 to 20 for each side';
  elsif options.collapse is null or options.section is null or options.typos is null then
    raise exception '% is null', case when options.collapse is null then 'collapse'
        when options.section is null then 'section' else 'typos' end
      using errcode = 'RG400', detail = 'it is true or false',
            hint = 'leave it out for its default';
  end if;
end $$;

-- Returns what a trace keeps of the options of a search: those that change the hits and are not the
-- default.
create or replace function ragdb_internal.noted_options(options ragdb_internal.search_options)
returns jsonb
language sql immutable parallel safe
return pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
  'syntax', nullif((options).syntax, 'plain'), 'per_document', (options).per_document,
  'collapse', nullif((options).collapse, false), 'diversity', nullif((options).diversity, 0),
  'typos', nullif((options).typos, true)));

-- Returns the options of a search as a trace kept them.
create or replace function ragdb_internal.recorded_options(ranking jsonb)
returns ragdb_internal.search_options
language sql immutable parallel safe
return row(
  coalesce(recorded_options.ranking ->> 'syntax', 'plain'),
  (recorded_options.ranking ->> 'per_document')::integer,
  coalesce((recorded_options.ranking ->> 'collapse')::boolean, false),
  coalesce((recorded_options.ranking ->> 'diversity')::float8, 0), 0, false,
  coalesce((recorded_options.ranking ->> 'typos')::boolean, true))
  ::ragdb_internal.search_options;

-- Whether a search leaves out some of what ranks, or puts it in another order.
create or replace function ragdb_internal.picks(options ragdb_internal.search_options)
returns boolean
language sql immutable parallel safe
return coalesce((options).per_document is not null or (options).collapse
  or (options).diversity > 0, false);

-- Returns a query whose quotes and signs count: all of them in syntax web, else none.
create or replace function ragdb_internal.read_query(query text, syntax text) returns text
language sql immutable parallel safe
return case when read_query.syntax = 'web' then read_query.query
  else ragdb_internal.without_clauses(read_query.query) end;
