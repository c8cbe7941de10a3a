-- What a value of a contract says, bare or quoted, and how a value is written.

-- Whether a decimal fraction of at most 18 digits before the point and 15 after it is written as
-- JSON writes the number in double precision. Whether 0.72 is written as JSON would: as the
-- shortest number that is this one in double precision. 0.50 stays a text, so that nothing of it is
-- lost. Whoever calls this, from however far, sets extra_float_digits: a session may have other
-- digits, and a setting for each number takes longer than all the rest.
create or replace function ragdb_internal.is_shortest(fraction text) returns boolean
language sql stable parallel safe
return fraction ~ '(\.0|[1-9])$' and fraction::float8::text::numeric = fraction::numeric
  and (fraction::numeric = 0 or abs(fraction::numeric) between 0.0001 and 9999999999999999.9);

-- Returns what a value without quotes is, as JSON: a number or a boolean where JSON would write it
-- the same way, else a text.
create or replace function ragdb_internal.bare_json(word text) returns text
language sql stable parallel safe
return case
  when word in ('true', 'false') then word
  when word ~ '^-?(?:0|[1-9][0-9]{0,17})$' and word <> '-0'
    or word ~ '^-?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,15}$' and ragdb_internal.is_shortest(word)
    then word
  else pg_catalog.to_json(word)::text
end;

-- Whether a quoted value lacks its last quote.
create or replace function ragdb_internal.is_open(quoted text) returns boolean
language sql immutable parallel safe
return case
  when pg_catalog.strpos(quoted, '\') = 0
    then quoted = '"' or pg_catalog.right(quoted, 1) <> '"'
  else quoted !~ '^"(?:[^"\\]|\\.)*"$'
end;

-- Whether a quoted value whose escapes are those of JSON has half of a surrogate pair. Without
-- other escapes and whole pairs, every \ud… that is left is half of a pair.
create or replace function ragdb_internal.has_half_of_a_pair(quoted text) returns boolean
language sql immutable parallel safe
return quoted ~ '\\u[dD][89a-fA-F]' and pg_catalog.regexp_replace(
    pg_catalog.regexp_replace(quoted, '\\[^u]', '', 'g'),
    '\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}', '', 'g')
  ~ '\\u[dD][89a-fA-F]';

-- Returns what is wrong with a quoted value, and how many characters of it stand before that.
create or replace function ragdb_internal.problems_of_quoted(quoted text)
  returns table (place integer, words text)
language sql immutable parallel safe
begin atomic
  with escapes as materialized (
    select (pg_catalog.sum(pg_catalog.length(e.part[1])) over (order by e.n)
        - pg_catalog.length(e.part[1]))::integer as place,
      case when e.part[1] = '\u0000' then 'escaped-nul'
        when e.part[1] !~ '^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})$' then 'unknown-escape' end as words,
      e.part[1] as part
    from pg_catalog.regexp_matches(quoted, '[^\\]+|\\(?:u[0-9a-fA-F]{4}|.)?', 'g')
      with ordinality e (part, n)
  )
  select e.place, e.words from escapes e where e.words is not null and e.part like '\\%'
  union all
  select 0, case when ragdb_internal.is_open(quoted) then 'quote-open' else 'half-of-a-pair' end
  where ragdb_internal.is_open(quoted)
    or ragdb_internal.has_half_of_a_pair(quoted)
      and not exists (
        select from escapes e where e.words = 'unknown-escape' and e.part like '\\%');
end;

-- Returns a value of a key as a contract has it: bare where that reads as the same value, else
-- quoted. A number of JSON may have more zeros than a bare value.
create or replace function ragdb_internal.written_value(value jsonb) returns text
language sql stable parallel safe
return case pg_catalog.jsonb_typeof(value)
  when 'number' then case
    when value::text ~ '\.[0-9]*[1-9]0+$' then pg_catalog.trim_scale(value::text::numeric)::text
    else pg_catalog.regexp_replace(value::text, '\.0+$', '.0') end
  when 'string' then case
    when value #>> '{}' !~ '[\s"#\x01-\x1f\x7f]' and value #>> '{}' <> ''
      and ragdb_internal.bare_json(value #>> '{}') like '"%'
      then value #>> '{}'
    else pg_catalog.replace(value::text, E'\x7f', '\u007f') end
  else value::text
end;
