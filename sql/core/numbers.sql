-- Numbers, times and lists as they come from JSON, from arrays and from text.

-- Returns a number of things and what they are, for a sentence: 1 document, 2 documents.
create or replace function ragdb_internal.counted(number bigint, thing text) returns text
language sql immutable parallel safe
return counted.number || ' ' || case
  when counted.number = 1 then counted.thing
  when counted.thing = 'corpus' then 'corpora'
  else pg_catalog.regexp_replace(counted.thing, 'ry$', 'rie') || 's' end;

-- Returns a number of JSON, of less than 1e308, in double precision; 0 for one below 1e-300. JSON
-- has numbers that are too small for a double. A cast of one is an error, and as a share of
-- something it is nothing.
create or replace function ragdb_internal.double(value numeric) returns float8
language sql immutable parallel safe
return case when abs(double.value) < 1e-300 then 0 else double.value::float8 end;

-- Tells whether a text is a time that begins with its year, 1 to 9999 by UTC: an export writes four
-- digits of it. Words such as now are times too for PostgreSQL, of which each call has another.
create or replace function ragdb_internal.is_time(value text) returns boolean
language sql stable parallel safe
return case when is_time.value ~ E'^\\d{4}-' and pg_catalog.pg_input_is_valid(value, 'timestamptz')
  then extract(year from is_time.value::timestamptz at time zone 'UTC') between 1 and 9999
  else false end;

-- Returns a time by UTC; one without a zone is of UTC, in every session.
create or replace function ragdb_internal.utc_time(value text) returns timestamp
language sql immutable parallel safe
set timezone = 'UTC'
return utc_time.value::timestamptz at time zone 'UTC';

-- Tells whether an array, or null, has at most one dimension and no null in it. array_position()
-- refuses arrays of arrays with an error of its own.
create or replace function ragdb_internal.is_list(items text[]) returns boolean
language sql immutable parallel safe
return case when pg_catalog.array_ndims(items) > 1 then false
  else pg_catalog.array_position(items, null) is null end;

-- Says that chunk_ids is not what ragdb_internal.is_list() takes. Raises RG400.
create or replace function ragdb_internal.refuse_chunk_ids() returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'chunk_ids has a null, or more than one dimension'
    using errcode = 'RG400', detail = 'a list of chunks names each of them',
      hint = 'pass a plain list without nulls';
end $$;

-- Refuses what does not name those whose work a claim leaves alone. Raises RG400.
create or replace function ragdb_internal.check_excepted(names text[], whose text, work text)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if names is null or not ragdb_internal.is_list(names) then
    raise exception 'except_% is null, has a null, or more than one dimension', whose
      using errcode = 'RG400',
        detail = format('it names the %s whose %s are left alone', whose, work),
        hint = 'pass a plain list of names, {} for none';
  end if;
end $$;

-- Returns numbers, from place 1 on, in the precision of an embedding: below 1e-37 zero, above 3e38
-- not a number. That, and {{0}} for an array of arrays, is refused by
-- ragdb_internal.check_embeddings(). A cast of an array fails at a number that a float4 cannot
-- hold. A cast of a constant fails before the test for such a number, when the statement is
-- planned, so a plain expression will not do.
create or replace function ragdb_internal.single(embedding float8[]) returns real[]
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if array_ndims(embedding) > 1 then
    return '{{0}}';
  end if;
  if array_lower(embedding, 1) = 1 and not exists (select from unnest(embedding) n (v)
    where n.v <> 0 and abs(n.v) not between 1e-37 and 3e38)
  then
    return embedding::real[];
  end if;
  return array(
    select case when abs(n.v) < 1e-37 then 0 when abs(n.v) > 3e38 then 'nan' else n.v end::real
    from unnest(embedding) with ordinality n (v, place) order by n.place);
end $$;

-- Returns the items of a list separated by commas, trimmed, without empty ones.
create or replace function ragdb_internal.list(value text) returns text[]
language sql immutable parallel safe
return array(select pg_catalog.btrim(i.item, E' \t')
  from pg_catalog.unnest(pg_catalog.string_to_array(list.value, ',')) with ordinality i (item, n)
  where i.item ~ '\S' order by i.n);

-- Returns a decimal number in a range; null for any other text.
create or replace function ragdb_internal.number(value text, low float8, high float8) returns float8
language sql immutable parallel safe
return case
  when number.value
      ~ '^[+-]?([0-9]{1,15}(\.[0-9]{0,200})?|\.[0-9]{1,200})([eE][+-]?[0-9]{1,2})?$'
    and number.value::float8
      between coalesce(number.low, '-infinity') and coalesce(number.high, 'infinity')
    then number.value::float8
end;

-- Returns a whole number in a range; null for any other text.
create or replace function ragdb_internal.whole(value text, low float8, high float8) returns bigint
language sql immutable parallel safe
return case
  when whole.value ~ '^[+-]?[0-9]{1,15}$'
    and whole.value::bigint
      between coalesce(whole.low, '-infinity') and coalesce(whole.high, 'infinity')
    then whole.value::bigint
end;

-- Refuses a count of rows that is null or not 1 to most. Raises RG400.
create or replace function ragdb_internal.check_listed(
  count integer, what text, most integer default (ragdb_internal.limits()).page_rows)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if count is null or count not between 1 and most then
    raise exception 'count is %', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = format('count is the number of %s returned at most', what),
        hint = format('give 1 to %s', most);
  end if;
end $$;

-- Refuses nulls for where a page of a list begins, which is in the order of what. Raises RG400.
create or replace function ragdb_internal.check_paged(prefix text, after text, what text)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if prefix is null or after is null then
    raise exception '% is null', case when prefix is null then 'prefix' else 'after' end
      using errcode = 'RG400',
        detail = format('both may be empty: each %s, from the first on', what),
        hint = format('for the next page, give the last %s as after', what);
  end if;
end $$;
