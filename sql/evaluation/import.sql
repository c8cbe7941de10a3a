-- Cases and labels that a user gives an eval of a contract, in place of those given before.

-- Whether JSON is a label: a source, a whole grade, and a span 0 <= start < end or none.
create or replace function ragdb_internal.is_label(label jsonb) returns boolean
language sql immutable parallel safe
return pg_catalog.jsonb_typeof(label) = 'object'
  and coalesce(label ->> 'source', '') ~ '\S'
  and ragdb_internal.whole(coalesce(label ->> 'grade', '1'), -1000, 1000) is not null
  and (label ->> 'start' is null) = (label ->> 'end' is null)
  and (label ->> 'start' is null or coalesce(ragdb_internal.whole(label ->> 'start', 0, 1e9)
    < ragdb_internal.whole(label ->> 'end', 0, 1e9), false));

-- Refuses what is not a list of cases with labels. Raises RG442.
create or replace function ragdb_internal.check_imported_cases(cases jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_form constant text :=
    '[{"name", "query", "tags": […], "labels": [{"source", "start", "end", "grade"}]}]';
  v_wrong record;
begin
  if jsonb_typeof(cases) is distinct from 'array' then
    raise exception 'cases is not a list'
      using errcode = 'RG442', detail = 'it is ' || coalesce(jsonb_typeof(cases), 'null'),
        hint = v_form;
  end if;
  for v_wrong in
    select c.n, case
      when jsonb_typeof(c.v) <> 'object' then 'is not an object'
      when coalesce(c.v ->> 'name', '') !~ E'\\S' then 'has no name'
      when length(c.v ->> 'name') > 200 then 'has a name of more than 200 characters'
      when coalesce(c.v ->> 'query', '') !~ E'\\S' then 'has no query'
      when jsonb_typeof(coalesce(c.v -> 'tags', '[]')) <> 'array'
        or jsonb_typeof(coalesce(c.v -> 'labels', '[]')) <> 'array'
        then 'has tags or labels that are not a list'
      when row_number() over (partition by c.v ->> 'name' order by c.n) > 1
        then 'has the name of another'
      when exists (select from jsonb_array_elements(coalesce(c.v -> 'labels', '[]')) l
          where not ragdb_internal.is_label(l))
        then 'has a label without a source, a whole grade, or a span 0 <= start < end'
      when exists (select from jsonb_array_elements(coalesce(c.v -> 'labels', '[]')) l
          group by l ->> 'source', l ->> 'start', l ->> 'end' having count(*) > 1)
        then 'has a label twice'
      end as why, ragdb_internal.quote(c.v ->> 'name') as name
    from jsonb_array_elements(cases) with ordinality c (v, n) order by c.n
  loop
    continue when v_wrong.why is null;
    raise exception 'case %', concat_ws(' ', v_wrong.n, v_wrong.name, v_wrong.why)
      using errcode = 'RG442', detail = 'nothing was imported', hint = v_form;
  end loop;
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

-- Stores the labels of imported cases and returns how many there are.
create or replace function ragdb_internal.insert_labels(corpus_id integer,
  declared ragdb.contract_nodes, cases jsonb) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count bigint;
begin
  insert into ragdb.eval_labels (corpus_id, rag, eval, name, label_no, source, start_offset,
    end_offset, grade, span_hash)
    select insert_labels.corpus_id, declared.rag, declared.name, c.v ->> 'name', l.n,
      l.v ->> 'source', (l.v ->> 'start')::integer, (l.v ->> 'end')::integer,
      coalesce((l.v ->> 'grade')::integer, 1),
      -- a span that cannot be found has no text, and is stale until it has
      case when l.v ->> 'start' is not null then coalesce(ragdb_internal.span_hash(
        d.part_id, d.doc_no, (l.v ->> 'start')::integer, (l.v ->> 'end')::integer), '') end
    from jsonb_array_elements(cases) c (v)
      cross join lateral jsonb_array_elements(coalesce(c.v -> 'labels', '[]'))
        with ordinality l (v, n)
      cross join lateral ragdb_internal.labelled_document(
        insert_labels.corpus_id, l.v ->> 'source') d;
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- Returns the imported labels of an eval that do not resolve, as a message names them.
create or replace function ragdb_internal.stale_labels(corpus_id integer,
  declared ragdb.contract_nodes) returns text[]
language sql stable parallel safe
begin atomic
  with given as materialized (
    select l.*, (pg_catalog.row_number() over (order by l.name, l.label_no))::integer as n
    from ragdb.eval_labels l
    where l.corpus_id = stale_labels.corpus_id and l.rag = (stale_labels.declared).rag
      and l.eval = (stale_labels.declared).name)
  select array(
    select pg_catalog.format('%s of case %s',
      ragdb_internal.quote(
        g.source || coalesce('#' || g.start_offset || '-' || g.end_offset, '')),
      ragdb_internal.quote(g.name))
    from pg_catalog.unnest(ragdb_internal.resolved_labels(stale_labels.corpus_id, array(
        select row(g.n, g.label_no, g.source, g.start_offset, g.end_offset, g.grade, g.span_hash,
          null, null, null)::ragdb_internal.eval_label from given g))) r
      join given g on g.n = r.case_no
    where r.is_stale order by g.n);
end;

-- Says in a notice which labels do not resolve, the first three by name.
create or replace function ragdb_internal.say_stale(labels text[]) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if labels <> '{}' then
    raise notice 'stale labels: %', array_to_string(labels[:3], ', ')
        || coalesce(' and ' || nullif(greatest(cardinality(labels) - 3, 0), 0) || ' more', '')
      using detail = 'a case whose labels are all stale fails, and metrics leave stale labels out',
        hint = 'a label names a source or an external id of the corpus, and characters that it '
               'has: ragdb.list_documents() lists the former';
  end if;
end $$;

create or replace function ragdb.import_eval(rag text, eval text, cases jsonb)
returns table (case_count integer, label_count integer, stale_labels integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_held record;
  v_eval ragdb.contract_nodes;
  v_corpus ragdb.corpora;
  v_stale text[];
begin
  perform ragdb_internal.check_imported_cases(cases);
  v_held := ragdb_internal.locked_eval(rag, eval);
  v_eval := v_held.node;
  v_corpus := v_held.corpus;
  perform ragdb_internal.check_not_declared(v_corpus.corpus_id, v_eval, cases);
  -- what is imported takes the place of what was, and a question that somebody asked stays
  delete from ragdb.eval_cases c where c.corpus_id = v_corpus.corpus_id and c.rag = v_eval.rag
    and c.eval = v_eval.name
    and (c.origin = 'imported' or exists (
      select from jsonb_array_elements(cases) i where i ->> 'name' = c.name));
  insert into ragdb.eval_cases (corpus_id, rag, eval, name, origin, ordinal, query, tags)
    select v_corpus.corpus_id, v_eval.rag, v_eval.name, c.v ->> 'name', 'imported', c.n,
      c.v ->> 'query',
      array(select t from jsonb_array_elements_text(coalesce(c.v -> 'tags', '[]')) t)
    from jsonb_array_elements(cases) with ordinality c (v, n);
  get diagnostics case_count = row_count;
  label_count := ragdb_internal.insert_labels(v_corpus.corpus_id, v_eval, cases);
  perform ragdb_internal.record_state('cases', v_corpus.corpus_id,
    jsonb_build_array(v_eval.rag, v_eval.name)::text);
  v_stale := ragdb_internal.stale_labels(v_corpus.corpus_id, v_eval);
  perform ragdb_internal.say_stale(v_stale);
  stale_labels := cardinality(v_stale);
  return next;
end $$;
comment on function ragdb.import_eval is
  'Gives an eval of a contract cases with labels, [{"name", "query", "tags", "labels": [{"source", '
  '"start", "end", "grade"}]}], in place of those imported before, while the cases of the '
  'contract, whose names are taken, and of ragdb.add_eval_case stay; a label is of a document (uri '
  'or external id) or of a span of its characters, and survives another chunking. Raises RG400, '
  'RG401, RG404, RG441, RG442.';
