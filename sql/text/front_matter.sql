-- The front matter of a Markdown text as JSON, where it is plain YAML: texts, numbers, lists and
-- mappings, each as most people write it. ragdb/readers/frontmatter.py reads any YAML. What is not
-- surely read as there, such as 0x1F or an anchor, is not read, and the text keeps it.

-- Returns what a plain or quoted value of YAML is; null for what is not surely one.
create or replace function ragdb_internal.yaml_scalar(written text) returns jsonb
language sql immutable parallel safe
return case
  when written ~ '^"[^"\\]*"$'
    then pg_catalog.to_jsonb(pg_catalog.substr(written, 2, length(written) - 2))
  when written ~ '^''([^'']|'''')*''$' then pg_catalog.to_jsonb(
    pg_catalog.replace(pg_catalog.substr(written, 2, length(written) - 2), '''''', ''''))
  when written ~ '^(~|null|Null|NULL)?$' then 'null'
  when written ~ '^(true|True|TRUE)$' then 'true'
  when written ~ '^(false|False|FALSE)$' then 'false'
  when written ~ '^-?(0|[1-9][0-9]{0,14})([.][0-9]{1,15})?$'
    then pg_catalog.to_jsonb(pg_catalog.trim_scale(written::numeric))
  when written ~ '^[0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9]$' or written ~ '^[0-9]+([.][0-9]+){2,9}$'
    then pg_catalog.to_jsonb(written)
  when written ~* '^[-+]?[.]?[0-9][0-9e_.:+ tz-]*$'
    or written collate "C" ~* '^[-+]?(0[xob]|[.](inf|nan)$)'
    or written ~ '^[][{}>|*&!%@`"''#,?:=<~-]' or written ~ E':( |$)| #|[\u0001-\u001f\u0085]'
    then null
  else pg_catalog.to_jsonb(written) end;

-- Returns what a value of YAML on one line is: a scalar, or scalars in brackets; null as above.
create or replace function ragdb_internal.yaml_inline(written text) returns jsonb
language sql immutable parallel safe
return case
  when written ~ '^\[ *\]$' then '[]'
  when written = '{}' then '{}'
  when written ~ ('^\[ *(?:"[^"\\]*"|''[^'']*''|[^][{}"'',: #][^][{}"'',:#]*)'
      '(?: *, *(?:"[^"\\]*"|''[^'']*''|[^][{}"'',: #][^][{}"'',:#]*))* *\]$') then (
    select case when pg_catalog.bool_and(v.value is not null)
      then pg_catalog.jsonb_agg(v.value order by i.n) end
    from pg_catalog.regexp_matches(pg_catalog.btrim(written, '[]'),
        '"[^"\\]*"|''[^'']*''|[^"'', ][^"'',]*', 'g') with ordinality i (item, n)
      cross join lateral ragdb_internal.yaml_scalar(pg_catalog.btrim(i.item[1])) v (value))
  else ragdb_internal.yaml_scalar(written) end;

-- Returns what a text of several lines is, folded (>) or as it stands (|); null where the lines are
-- not indented alike.
create or replace function ragdb_internal.yaml_folded(mark text, lines text[]) returns jsonb
language sql immutable parallel safe
return (
  select case when pg_catalog.count(distinct length(l.line) - length(pg_catalog.ltrim(l.line))) = 1
    then pg_catalog.to_jsonb(pg_catalog.string_agg(pg_catalog.ltrim(l.line),
        case when mark like '>%' then ' ' else E'\n' end order by l.n)
      || case when mark like '%-' then '' else E'\n' end) end
  from pg_catalog.unnest(yaml_folded.lines) with ordinality l (line, n));

-- Returns what lines of YAML are, a list or a mapping; null as above.
create or replace function ragdb_internal.yaml_block(lines text[]) returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_indent constant text := substring(lines[1], '^ *');
  v_is_list constant boolean := lines[1] ~ '^ *-( |$)';
  v_key constant text :=
    '([^][{}>|*&!%@`"''#,?:=<~ 0-9.+-](?:[^:#]*[^:# ])?) *:(?: +(.*))?$';
  v_entry constant text :=
    '^' || v_indent || case when v_is_list then '(-)(?: +(.*))?$' else v_key end;
  v_result jsonb := case when v_is_list then '[]' else '{}' end;
  v_found text[];
  v_written text;
  v_below text[];
  v_value jsonb;
  v_n integer := 1;
begin
  while v_n <= cardinality(lines) loop
    v_found := regexp_match(lines[v_n], v_entry);
    v_written := case when v_found[2] ~ '^["''[]' then v_found[2]
      else regexp_replace(coalesce(v_found[2], ''), '(^| +)#.*$', '') end;
    v_below := case when v_is_list and v_written ~ ('^' || v_key)
      then array[repeat(' ', length(lines[v_n]) - length(v_found[2])) || v_found[2]] else '{}' end;
    v_written := case when v_below = '{}' then v_written else '' end;
    loop
      v_n := v_n + 1;
      exit when starts_with(lines[v_n], v_indent || ' ') is not true and (v_is_list
        or v_written <> '' or (lines[v_n] ~ ('^' || v_indent || '-( |$)')) is not true);
      v_below := v_below || lines[v_n];
    end loop;
    v_value := case
      when v_below = '{}' then ragdb_internal.yaml_inline(v_written)
      when v_written = '' then ragdb_internal.yaml_block(v_below)
      when v_written ~ '^[|>]-?$' then ragdb_internal.yaml_folded(v_written, v_below) end;
    if v_found is null or v_value is null or v_found[1] ~* '^(true|false|null)$' then
      return null;
    end if;
    v_result := v_result || case when v_is_list then jsonb_build_array(v_value)
      else jsonb_build_object(v_found[1], v_value) end;
  end loop;
  return v_result;
end $$;

-- Returns how many characters of a Markdown text are front matter: lines between two --- at its
-- top, the first of which is a key.
create or replace function ragdb_internal.front_matter_length(text text) returns integer
language sql immutable parallel safe
return case
  when pg_catalog.starts_with(text, '---')
      and text ~ (E'^---[ \t]*\r?\n(?:[ \t\r]*\n|[ \t]*#[^\n]*\n)*'
      '[ \t]*["''A-Za-z0-9_-][^\n]*:[ \t\r\n]')
    then greatest(pg_catalog.regexp_instr(pg_catalog.left(text, 65536),
      E'^(?:---|[.]{3})[ \t\r]*$', 5, 1, 1, 'n') - 1, 0)
  else 0 end;

-- Returns what the front matter of a Markdown text says; null where it has none, and where that is
-- not plain. Lines that are empty or a comment mean nothing, but in a text of several lines.
create or replace function ragdb_internal.front_matter(text text) returns jsonb
language sql immutable parallel safe
return (
  select case when pg_catalog.jsonb_typeof(y.value) = 'object'
      and coalesce(pg_catalog.jsonb_typeof(y.value -> 'metadata'), 'null') in ('object', 'null')
    then y.value end
  from pg_catalog.substr(text, 1, ragdb_internal.front_matter_length(text)) f (matter)
    cross join lateral ragdb_internal.yaml_block(array(
      select l.line
      from pg_catalog.regexp_split_to_table(f.matter, E'[ \r]*\n') with ordinality l (line, n)
      where l.n > 1 and l.line !~ E'^(?:---|[.]{3})[ \t\r]*$'
        and (l.line !~ '^ *(#.*)?$' or f.matter ~ E': +[|>]-?[ \r]*\n')
      order by l.n)) y (value)
  where f.matter <> '');
