-- A pattern becomes one of LIKE, whose matcher gives up at the first star that cannot be met: n·m
-- steps at most.
create or replace function ragdb_internal.glob_pattern(pattern text) returns text
language sql immutable parallel safe
return pg_catalog.replace(
  pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(
  glob_pattern.pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '?', '_');
comment on function ragdb_internal.glob_pattern(text) is
  'Returns the LIKE pattern of a glob: * is any run of characters, / included, and ? any one '
  'character.';

create or replace function ragdb_internal.glob(text text, pattern text) returns boolean
language sql immutable parallel safe
return glob.text like ragdb_internal.glob_pattern(glob.pattern);
comment on function ragdb_internal.glob(text, text) is
  'Whether a text matches a glob as a whole: * is any run of characters, / included, and ? any one '
  'character.';

create or replace function ragdb_internal.is_long_glob(pattern text) returns boolean
language sql immutable parallel safe
return pg_catalog.length(is_long_glob.pattern) > 1024 or pg_catalog.length(is_long_glob.pattern)
  - pg_catalog.length(pg_catalog.replace(is_long_glob.pattern, '*', '')) > 16;
comment on function ragdb_internal.is_long_glob(text) is
  'Whether a glob has more than 1,024 characters or more than 16 stars.';

-- Every condition of a filter as one row, in one form: an operator, a field and a value.
create or replace function ragdb_internal.filter_conditions(filter jsonb)
returns table (field text, is_builtin boolean, operator text, value jsonb)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_field record;
  v_operator record;
  v_operators jsonb;
  v_fits boolean;
begin
  if jsonb_typeof(filter) <> 'object' then
    raise exception 'filter is % and no object', jsonb_typeof(filter)
      using errcode = 'RG410', detail = 'it is ' || ragdb_internal.quote(filter::text),
            hint = 'pass an object such as {"language": "en", "year": {"gte": 2020}}';
  end if;
  for v_field in select f.key, f.value from jsonb_each(filter) f order by f.key collate "C" loop
    field := v_field.key;
    v_operators := v_field.value;
    if field = 'min_year' then
      field := 'year';
      v_operators := jsonb_build_object('gte', v_operators);
    elsif jsonb_typeof(v_operators) = 'array' then
      v_operators := jsonb_build_object('all', v_operators);
    elsif jsonb_typeof(v_operators) <> 'object' then
      v_operators := jsonb_build_object('eq', v_operators);
    end if;
    is_builtin := field in ('source', 'language', 'title', 'page', 'doc_cid', 'media_type', 'uri');
    if v_operators = '{}' then
      raise exception 'filter on % has no operator', ragdb_internal.quote(field)
        using errcode = 'RG410', detail = 'its value is an empty object',
          hint = 'operators are eq, ne, gt, gte, lt, lte, in, any, all, exists, glob';
    end if;
    for v_operator in select o.key, o.value from jsonb_each(v_operators) o
      order by o.key collate "C" loop
      operator := v_operator.key;
      value := v_operator.value;
      v_fits := case
        when operator in ('eq', 'ne') then not is_builtin
          or jsonb_typeof(value) = case field when 'page' then 'number' else 'string' end
        when operator in ('gt', 'gte', 'lt', 'lte') then jsonb_typeof(value) in ('number', 'string')
          and (not is_builtin
            or jsonb_typeof(value) = case field when 'page' then 'number' else 'string' end)
        when operator in ('in', 'any', 'all') then jsonb_typeof(value) = 'array'
          and not (is_builtin
            and jsonb_path_exists(value,
              case field when 'page' then '$[*] ? (@.type() != "number")'::jsonpath
            else '$[*] ? (@.type() != "string")'::jsonpath end))
        when operator = 'exists' then jsonb_typeof(value) = 'boolean'
        when operator = 'glob' then jsonb_typeof(value) = 'string' and field <> 'page' end;
      if v_fits is null then
        raise exception 'filter operator % is unknown', ragdb_internal.quote(operator)
          using errcode = 'RG410', detail = 'it stands in the filter on ' || ragdb_internal.quote(field),
                hint = 'operators are eq, ne, gt, gte, lt, lte, in, any, all, exists, glob';
      elsif not v_fits then
        raise exception 'filter operator % of % cannot take %', operator, ragdb_internal.quote(field),
          ragdb_internal.quote(value::text)
          using errcode = 'RG410', detail = 'the value is of type ' || jsonb_typeof(value),
                hint = 'gt, gte, lt, lte take a number or a string; in, any, all an array; exists '
                       'a boolean; glob a string; page is a number, the other built-in fields are '
                       'strings';
      elsif operator = 'glob' and ragdb_internal.is_long_glob(value #>> '{}') then
        raise exception 'glob of % is too long', ragdb_internal.quote(field)
          using errcode = 'RG410', detail = 'it has ' || length(value #>> '{}') || ' characters',
                hint = 'a glob has at most 1024 characters and 16 stars';
      end if;
      return next;
    end loop;
  end loop;
end $$;
comment on function ragdb_internal.filter_conditions(jsonb) is
  'Returns the conditions of a filter, checked. Raises RG410.';
