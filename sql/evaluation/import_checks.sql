-- What is wrong with cases that a user gives an eval.

-- Whether JSON is a text that is not blank, or a number.
create or replace function ragdb_internal.is_worded(value jsonb) returns boolean
language sql immutable parallel safe
return coalesce(pg_catalog.jsonb_typeof(is_worded.value) in ('string', 'number')
  and is_worded.value #>> '{}' ~ '\S', false);

-- Whether JSON is a label: a source, a whole grade, and a span 0 <= start < end or none.
create or replace function ragdb_internal.is_label(label jsonb) returns boolean
language sql immutable parallel safe
return coalesce(pg_catalog.jsonb_typeof(label) = 'object'
  and ragdb_internal.is_worded(label -> 'source')
  and (label ->> 'grade' is null
    or ragdb_internal.label_number(label, 'grade', -1000, 1000) is not null)
  and (label ->> 'start' is null) = (label ->> 'end' is null)
  and (label ->> 'start' is null or ragdb_internal.label_number(label, 'start', 0, 1e9)
    < ragdb_internal.label_number(label, 'end', 0, 1e9))
  and (label ->> 'sha256' is null
    or label ->> 'start' is not null and label ->> 'sha256' ~ '^[0-9a-f]{64}$'), false);

-- Returns the first label of an imported case that is none, and why, in words.
create or replace function ragdb_internal.wrong_label("case" jsonb) returns text
language sql immutable parallel safe
return (
  select pg_catalog.format('has the label %s, which is not a source with a whole grade of -1000 to '
    '1000 and a span 0 <= start < end, or none; a span may have a sha256 of 64 digits',
    ragdb_internal.quote(l.v::text))
  from pg_catalog.jsonb_array_elements(ragdb_internal.json_part("case", 'labels', 'array'))
    with ordinality l (v, n)
  where not ragdb_internal.is_label(l.v) order by l.n limit 1);

-- Returns the first label that an imported case has twice, in words.
create or replace function ragdb_internal.repeated_label("case" jsonb) returns text
language sql immutable parallel safe
return (
  select 'has the label '
    || ragdb_internal.quote(ragdb_internal.label_item(l.source, l.start_offset, l.end_offset))
    || ' twice'
  from ragdb_internal.imported_labels("case") l
  group by l.source, l.start_offset, l.end_offset having pg_catalog.count(*) > 1
  order by pg_catalog.min(l.label_no) limit 1);

-- Returns what is wrong with an imported case, whatever others there are; null for nothing.
create or replace function ragdb_internal.wrong_case("case" jsonb) returns text
language sql immutable parallel safe
return case
  when pg_catalog.jsonb_typeof("case") <> 'object' then 'is not an object'
  when not ragdb_internal.is_worded("case" -> 'name') then 'has no name'
  when pg_catalog.length("case" ->> 'name') > 200 then 'has a name of more than 200 characters'
  when not ragdb_internal.is_worded("case" -> 'query') then 'has no query'
  when exists (select from pg_catalog.unnest(array['tags', 'asserts', 'labels']) k (key)
      where pg_catalog.jsonb_typeof("case" -> k.key) not in ('array', 'null'))
    then 'has tags, asserts or labels that are not a list'
  when pg_catalog.jsonb_path_exists(ragdb_internal.json_part("case", 'tags', 'array'),
      '$[*] ? (@.type() != "string")')
    then 'has tags that are not texts'
  when exists (
      select from pg_catalog.jsonb_array_elements(
        ragdb_internal.json_part("case", 'asserts', 'array')) a (v)
      where not ragdb_internal.is_contract_node(
        pg_catalog.jsonb_build_object('node', 'ragAssert', 'keys', a.v)))
    then 'has an assertion that is not an object of texts, numbers and booleans'
  else coalesce(ragdb_internal.wrong_label("case"), ragdb_internal.repeated_label("case"))
end;

-- Refuses what is not a list of cases with labels. Raises RG442.
create or replace function ragdb_internal.check_imported_cases(cases jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_form constant text := '[{"name", "query", "tags": […], "asserts": [{"kind", "value", '
    '"required"}], "labels": [{"source", "start", "end", "grade"}]}]';
  v_wrong record;
begin
  if jsonb_typeof(cases) is distinct from 'array' then
    raise exception 'cases is not a list'
      using errcode = 'RG442', detail = 'it is ' || coalesce(jsonb_typeof(cases), 'null'),
        hint = v_form;
  end if;
  for v_wrong in
    select c.n, coalesce(ragdb_internal.wrong_case(c.v),
        case when row_number() over (partition by c.v ->> 'name' order by c.n) > 1
          then 'has the name of another' end) as why,
      ragdb_internal.quote(c.v ->> 'name') as name
    from jsonb_array_elements(cases) with ordinality c (v, n) order by c.n
  loop
    continue when v_wrong.why is null;
    raise exception 'case %', concat_ws(' ', v_wrong.n, v_wrong.name, v_wrong.why)
      using errcode = 'RG442', detail = 'nothing was imported', hint = v_form;
  end loop;
end $$;

-- Refuses assertions of imported cases that no contract could have. Raises RG442.
create or replace function ragdb_internal.check_imported_asserts(cases jsonb,
  items ragdb_internal.contract_item[]) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_breaches constant ragdb_internal.breach[] := array(
    select b from ragdb_internal.breaches_of_keys(items) b
    union all select b from ragdb_internal.breaches_of_kinds(items) b
    union all select b from ragdb_internal.breaches_of_assertions(items,
      ragdb_internal.contract_names(items)) b);
  v_wrong record;
begin
  select t.line, t.message, t.hint into v_wrong
    from ragdb_internal.told_breaches(items, v_breaches) t where t.severity = 'error' limit 1;
  if found then
    raise exception 'case % %: %', v_wrong.line,
        ragdb_internal.quote(cases -> (v_wrong.line - 1) ->> 'name'), v_wrong.message
      using errcode = 'RG442', detail = 'nothing was imported',
        hint = coalesce(v_wrong.hint, 'ragdb.assertion_kinds() lists the kinds');
  end if;
end $$;

-- Refuses to import a case whose name a case of the contract has. Raises RG442.
create or replace function ragdb_internal.check_not_declared(corpus_id integer,
  declared ragdb.contract_nodes, cases jsonb) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_taken record;
begin
  select i.n, c.name, c.contract into v_taken
    from jsonb_array_elements(cases) with ordinality i (v, n)
      join ragdb.eval_cases c on c.corpus_id = check_not_declared.corpus_id
        and c.rag = declared.rag and c.eval = declared.name and c.name = i.v ->> 'name'
        and c.origin = 'contract'
    order by i.n limit 1;
  if found then
    raise exception 'case % has the name % of a case of the contract', v_taken.n,
        ragdb_internal.quote(v_taken.name)
      using errcode = 'RG442',
        detail = 'contract ' || ragdb_internal.quote(v_taken.contract)
          || ' declares it; nothing was imported',
        hint = 'give the case another name, or change the contract and apply it';
  end if;
end $$;
