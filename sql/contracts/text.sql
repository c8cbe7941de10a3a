-- The text of a contract, in the line syntax or as JSON, read as nodes, or else everything that
-- is wrong with it. What a text says is never run.

-- A text read as a contract: the contract, or else what is wrong with the text.
create type ragdb_internal.contract_text as (
  contract jsonb, problems ragdb_internal.syntax_problem[]);

-- Refuses a text that is null or too long to be a contract. Raises RG400, RG413.
create or replace function ragdb_internal.check_contract_text(contract text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if contract is null then
    raise exception 'contract is null'
      using errcode = 'RG400', detail = 'there is nothing to read',
        hint = 'pass the text of a contract, or {"contract": name, "nodes": […]}';
  elsif length(contract) > (ragdb_internal.limits()).contract_characters then
    raise exception 'the contract has % characters', length(contract)
      using errcode = 'RG413', detail = 'it is read as a whole',
        hint = format('a contract has at most %s; cut it into several',
          (ragdb_internal.limits()).contract_characters);
  end if;
end $$;

-- Returns the nodes of lines without problems as JSON, with the line and column of each and the
-- column of each key.
create or replace function ragdb_internal.nodes_of_lines(lines ragdb_internal.contract_line[],
  words ragdb_internal.contract_word[])
returns jsonb
language sql stable parallel safe
set enable_nestloop = off
set extra_float_digits = 1
begin atomic
  with keys as (
    select w.line,
      pg_catalog.string_agg('"' || w.key || '": ' || ragdb_internal.word_json(w), ', ') as keys,
      pg_catalog.string_agg('"' || w.key || '": ' || w."column", ', ') as columns
    from pg_catalog.unnest(words) w group by w.line
  )
  select ragdb_internal.nested_nodes(coalesce(pg_catalog.array_agg(row(l.line, l.depth,
    pg_catalog.format('{"node": "%s", "line": %s, "column": %s, "keys": {%s}, "columns": {%s}}',
      l.node, l.line, l.indent + 1, k.keys, k.columns))::ragdb_internal.flat_node), '{}'))
  from pg_catalog.unnest(lines) l left join keys k on k.line = l.line;
end;

-- Returns problems in the order of their places, the first 1000. What is found at one place stays
-- in the order in which it was found.
create or replace function ragdb_internal.first_problems(
  problems ragdb_internal.syntax_problem[])
returns ragdb_internal.syntax_problem[]
language sql immutable parallel safe
return array(
  select row(p.line, p."column", p.words, p.details)::ragdb_internal.syntax_problem
  from pg_catalog.unnest(problems) with ordinality p (line, "column", words, details, n)
  order by p.line, p."column", p.n limit 1000);

-- Reads a contract in the line syntax.
create or replace function ragdb_internal.read_lines(contract text)
  returns ragdb_internal.contract_text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lines ragdb_internal.contract_line[] := array(
    select l from ragdb_internal.contract_lines(contract) l order by l.line);
  v_words ragdb_internal.contract_word[];
  v_read ragdb_internal.contract_text;
begin
  v_lines := array(select l from ragdb_internal.placed_lines(v_lines) l);
  v_words := array(select w from ragdb_internal.contract_words(v_lines) w);
  v_read.problems := ragdb_internal.first_problems(
    array(select p from ragdb_internal.problems_of_lines(contract) p)
    || array(select p from ragdb_internal.problems_of_places(v_lines) p)
    || array(select p from ragdb_internal.problems_of_keys(v_words) p)
    || array(select p from ragdb_internal.problems_of_pairs(v_lines, v_words) p)
    || array(select p from ragdb_internal.problems_of_values(v_words) p));
  if v_read.problems = '{}' then
    v_read.contract := jsonb_build_object('nodes',
      ragdb_internal.nodes_of_lines(v_lines, v_words));
  end if;
  return v_read;
end $$;

-- Returns the problem of a text that is not JSON, by detail and context of the error. Where JSON is
-- wrong is told by the context of the error alone: a line, and how it goes on up to what was not
-- expected. In another language than English, that may not be found.
create or replace function ragdb_internal.json_problem(contract text, detail text, context text)
  returns ragdb_internal.syntax_problem
language sql immutable parallel safe
begin atomic
  with place as (
    select coalesce(m.part[1]::integer, 1) as line,
      pg_catalog.btrim(m.part[2], '.') as shown
    from (select pg_catalog.regexp_match(
      pg_catalog.split_part(context, E'\n', 1), ' ([0-9]{1,8}): (.*)$')) m (part)
  )
  select row(p.line, greatest(1,
      pg_catalog.strpos(pg_catalog.split_part(contract, E'\n', p.line), p.shown)
        + pg_catalog.length(p.shown) - 1), 'not-json', array[detail])
  from place p;
end;

-- Reads a contract as JSON; a list is one of nodes.
create or replace function ragdb_internal.read_json(contract text)
  returns ragdb_internal.contract_text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_read jsonb;
  v_detail text;
  v_context text;
begin
  v_read := contract::jsonb;
  return row(case jsonb_typeof(v_read) when 'array' then jsonb_build_object('nodes', v_read)
    else v_read end, '{}')::ragdb_internal.contract_text;
exception when data_exception or program_limit_exceeded then
  get stacked diagnostics v_detail = pg_exception_detail, v_context = pg_exception_context;
  return row(null, array[ragdb_internal.json_problem(contract,
    coalesce(nullif(v_detail, ''), sqlerrm), v_context)])::ragdb_internal.contract_text;
end $$;

-- Returns where each node of a contract that is the text of JSON begins, in the order of the nodes.
-- A node begins at a bracket that stands in the list of nodes, or in the children of a node.
create or replace function ragdb_internal.node_places(contract text)
  returns table (node_no integer, line integer, "column" integer)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_token text;
  v_key text;
  v_open text[] := '{top}';
  v_in text;
  v_at integer := 1;
  v_line_at integer := 1;
begin
  node_no := 0;
  line := 1;
  for v_token in
    select m.found[1]
    from regexp_matches(
      contract, E'("(?:[^"\\\\]|\\\\.)*"|[][{}]|[^][{}"]+)', 'g') m (found)
  loop
    v_in := v_open[cardinality(v_open)];
    case left(v_token, 1)
      when '"' then v_key := v_token;
      when '[' then
        v_open := v_open || case when v_in = 'top'
          or v_in = 'node' and v_key in ('"nodes"', '"children"') then 'nodes' else 'other' end;
      when '{' then
        v_open := v_open || case when v_in in ('top', 'nodes') then 'node' else 'other' end;
        if v_in = 'nodes' then
          node_no := node_no + 1;
          "column" := v_at - v_line_at + 1;
          return next;
        end if;
      when ']', '}' then v_open := trim_array(v_open, 1);
      else
        line := line + length(v_token) - length(replace(v_token, E'\n', ''));
        v_line_at := case strpos(v_token, E'\n') when 0 then v_line_at
          else v_at + length(v_token) - strpos(reverse(v_token), E'\n') + 1 end;
    end case;
    v_at := v_at + length(v_token);
  end loop;
end $$;

-- Returns a contract that was read from the text of JSON with the line and the column at which each
-- node begins there; as it is where a node has not the form of one.
create or replace function ragdb_internal.placed_nodes(contract text, read jsonb) returns jsonb
language sql immutable parallel safe
return (
  select case when pg_catalog.bool_and(p.node_no is not null
      and ragdb_internal.is_contract_node(w.written))
    then placed_nodes.read || pg_catalog.jsonb_build_object('nodes',
      ragdb_internal.nested_nodes(pg_catalog.array_agg(row(w.node_no, w.depth,
        case pg_catalog.jsonb_typeof(w.written) when 'object'
          then (w.written - array['children', 'columns'] || pg_catalog.jsonb_build_object(
            'line', p.line, 'column', p."column"))::text end)::ragdb_internal.flat_node)))
    else placed_nodes.read end
  from ragdb_internal.written_nodes(placed_nodes.read) w
    left join ragdb_internal.node_places(placed_nodes.contract) p on p.node_no = w.node_no);

-- Whether the text of a contract is JSON, and not lines.
create or replace function ragdb_internal.is_json(contract text) returns boolean
language sql immutable parallel safe
return pg_catalog.left(pg_catalog.ltrim(contract, E' \t\r\n\uFEFF'), 1) in ('{', '[');

-- Reads the text of a contract, which is JSON where it begins with a brace or a bracket; it has
-- this name (null: contract) unless it is JSON that names itself. Raises RG400, RG413.
create or replace function ragdb_internal.read_contract(contract text, name text)
  returns ragdb_internal.contract_text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_read ragdb_internal.contract_text;
begin
  perform ragdb_internal.check_contract_text(contract);
  v_read := case when ragdb_internal.is_json(contract)
    then ragdb_internal.read_json(ltrim(contract, E'\uFEFF'))
    else ragdb_internal.read_lines(contract) end;
  if v_read.contract is not null then
    v_read.contract := jsonb_build_object('contract', coalesce(name, 'contract'))
      || v_read.contract;
  end if;
  return v_read;
end $$;
