-- A filter as its conditions: every condition is one row of one form, a field, an operator and a
-- value, and is checked before anything is made of it.

-- Returns the conditions of a filter, short forms written out: an array is all, any other value eq,
-- and min_year the least year. The operator of a field without one is null.
create or replace function ragdb_internal.filter_terms(filter jsonb)
returns table (field text, operator text, value jsonb)
language sql immutable parallel safe
begin atomic
  select case f.key when 'min_year' then 'year' else f.key end, o.key, o.value
  from jsonb_each(filter_terms.filter) f
    cross join lateral (
      select case
        when f.key = 'min_year' then jsonb_build_object('gte', f.value)
        when jsonb_typeof(f.value) = 'array' then jsonb_build_object('all', f.value)
        when jsonb_typeof(f.value) <> 'object' then jsonb_build_object('eq', f.value)
        else f.value end) s (operators)
    left join lateral jsonb_each(s.operators) o on true;
end;

-- Says what is wrong with a condition of a filter: no operator, one that is unknown, or a value
-- that it cannot take. Raises RG410.
create or replace function ragdb_internal.refuse_condition(field text, operator text, value jsonb)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_takes constant text := (
    select o.takes from ragdb_internal.filter_operators() o
    where o.operator = refuse_condition.operator);
  -- it is the field that does not take it; a glob takes texts alone, and fields of texts
  v_is_taken constant boolean := operator <> 'glob' and exists (
    select from ragdb_internal.filter_operators() o
    where o.operator = refuse_condition.operator
      and (o.types is null or jsonb_typeof(value) = any (o.types)));
  v_type constant text := (
    select f.type from ragdb_internal.filter_fields() f where f.field = refuse_condition.field);
begin
  if operator is null then
    raise exception 'filter on % has no operator', ragdb_internal.quote(field)
      using errcode = 'RG410', detail = 'its value is an empty object',
        hint = 'operators are ' || ragdb_internal.operator_names();
  elsif v_takes is null then
    raise exception 'filter operator % is unknown', ragdb_internal.quote(operator)
      using errcode = 'RG410',
        detail = 'it stands in the filter on ' || ragdb_internal.quote(field),
        hint = 'operators are ' || ragdb_internal.operator_names();
  elsif operator = 'glob' and ragdb_internal.is_long_glob(value #>> '{}') then
    raise exception 'glob of % is too long', ragdb_internal.quote(field)
      using errcode = 'RG410', detail = 'it has ' || length(value #>> '{}') || ' characters',
        hint = format('a glob has at most %s characters and %s stars',
          (ragdb_internal.limits()).glob_characters, (ragdb_internal.limits()).glob_stars);
  end if;
  raise exception 'filter operator % of % cannot take %', operator, ragdb_internal.quote(field),
      ragdb_internal.quote(coalesce(value #>> '{}', 'null'))
    using errcode = 'RG410', detail = 'the value is of type ' || jsonb_typeof(value),
      hint = concat_ws('; ',
        case when v_type is null or not v_is_taken then operator || ' takes ' || v_takes end,
        'field ' || field || ' is a ' || case v_type
          when 'time' then 'time, such as 2026-11-20T09:30:00Z' else v_type end);
end $$;

-- Tells whether a value is of the type of a built-in field.
create or replace function ragdb_internal.is_of_field_type(value jsonb, type text) returns boolean
language sql stable parallel safe
return case when is_of_field_type.type = 'time'
  then jsonb_typeof(value) = 'string' and ragdb_internal.is_time(is_of_field_type.value #>> '{}')
  else jsonb_typeof(value) = is_of_field_type.type end;

-- Refuses a filter with more bytes or more conditions than ragdb_internal.limits allows. Raises
-- RG410.
create or replace function ragdb_internal.check_filter_size(filter jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limits constant ragdb_internal.limits := ragdb_internal.limits();
  v_bytes constant integer := octet_length(filter::text);
  v_count bigint;
begin
  if v_bytes > v_limits.filter_bytes then
    raise exception 'filter has % bytes', v_bytes
      using errcode = 'RG410', detail = 'every condition is held with all of it',
        hint = format('a filter has at most %s bytes; a long list of chunks goes in chunk_ids',
          v_limits.filter_bytes);
  end if;
  select count(*) into v_count from ragdb_internal.filter_terms(filter);
  if v_count > v_limits.filter_conditions then
    raise exception 'filter has % conditions', v_count
      using errcode = 'RG410', detail = 'each of them becomes a part of a statement',
        hint = format('a filter has at most %s conditions; in, any and all take a list of values',
          v_limits.filter_conditions);
  end if;
end $$;

-- Returns the conditions of a filter, checked. Raises RG410.
create or replace function ragdb_internal.filter_conditions(filter jsonb)
returns table (field text, operator text, value jsonb)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_term record;
begin
  if jsonb_typeof(filter) <> 'object' then
    raise exception 'filter is % and not an object', jsonb_typeof(filter)
      using errcode = 'RG410', detail = 'it is ' || ragdb_internal.quote(filter::text),
        hint = 'pass an object such as {"language": "en", "year": {"gte": 2020}}';
  end if;
  perform ragdb_internal.check_filter_size(filter);
  for v_term in
    select t.field, t.operator, t.value,
      case
        when o.operator is null or jsonb_typeof(t.value) <> all (o.types) then false
        when o.operator = 'glob'
          and (f.type <> 'string' or ragdb_internal.is_long_glob(t.value #>> '{}')) then false
        when f.type is null or o.compares is null then true
        when o.compares = 'value' then ragdb_internal.is_of_field_type(t.value, f.type)
        else not exists (
          select from jsonb_array_elements(t.value) i
            where not ragdb_internal.is_of_field_type(i, f.type))
      end as fits
    from ragdb_internal.filter_terms(filter) t
      left join ragdb_internal.filter_operators() o on o.operator = t.operator
      left join ragdb_internal.filter_fields() f on f.field = t.field
    order by t.field collate "C", t.operator collate "C"
  loop
    if not v_term.fits then
      perform ragdb_internal.refuse_condition(v_term.field, v_term.operator, v_term.value);
    end if;
    field := v_term.field;
    operator := v_term.operator;
    value := v_term.value;
    return next;
  end loop;
end $$;

-- Returns the conditions of a filter, checked, as an array for a statement that is made of them.
-- Raises RG410.
create or replace function ragdb_internal.condition_array(filter jsonb) returns jsonb[]
language sql immutable parallel safe
return array(
  select pg_catalog.to_jsonb(f) from ragdb_internal.filter_conditions(condition_array.filter) f);
