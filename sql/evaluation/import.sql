-- Cases and labels that a user gives an eval of a contract, in place of those given before.

-- Stores imported cases without their labels and returns how many there are.
create or replace function ragdb_internal.insert_cases(corpus_id integer,
  declared ragdb.contract_nodes, cases jsonb, asserts ragdb_internal.contract_item[])
  returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count bigint;
begin
  insert into ragdb.eval_cases (corpus_id, rag, eval, name, origin, ordinal, query, tags, asserts)
    select insert_cases.corpus_id, declared.rag, declared.name, c.v ->> 'name', 'imported', c.n,
      c.v ->> 'query', ragdb_internal.texts(ragdb_internal.json_part(c.v, 'tags', 'array')),
      coalesce(a.stored, '[]')
    from jsonb_array_elements(cases) with ordinality c (v, n)
      left join (
        select i.line, jsonb_agg(ragdb_internal.stored_keys(i) order by i.node_no) as stored
        from unnest(asserts) i group by i.line) a on a.line = c.n;
  get diagnostics v_count = row_count;
  return v_count;
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
    select insert_labels.corpus_id, declared.rag, declared.name, c.v ->> 'name', l.label_no,
      l.source, l.start_offset, l.end_offset, l.grade,
      -- a span that cannot be found has no text, and is stale until it has
      case when l.start_offset is not null then coalesce(l.text_hash,
        ragdb_internal.span_hash(d.part_id, d.doc_no, l.start_offset, l.end_offset), '') end
    from jsonb_array_elements(cases) c (v)
      cross join lateral ragdb_internal.imported_labels(c.v) l
      cross join lateral ragdb_internal.labelled_document(insert_labels.corpus_id, l.source) d;
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
      ragdb_internal.quote(ragdb_internal.label_item(g.source, g.start_offset, g.end_offset)),
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
  v_asserts ragdb_internal.contract_item[];
  v_stale text[];
begin
  perform ragdb_internal.check_imported_cases(cases);
  v_asserts := array(select a from ragdb_internal.imported_asserts(cases) a);
  perform ragdb_internal.check_imported_asserts(cases, v_asserts);
  v_held := ragdb_internal.locked_eval(rag, eval);
  v_eval := v_held.node;
  v_corpus := v_held.corpus;
  perform ragdb_internal.check_not_declared(v_corpus.corpus_id, v_eval, cases);
  -- what is imported takes the place of what was, and a question that somebody asked stays
  delete from ragdb.eval_cases c where c.corpus_id = v_corpus.corpus_id and c.rag = v_eval.rag
    and c.eval = v_eval.name
    and (c.origin = 'imported' or exists (
      select from jsonb_array_elements(cases) i where i ->> 'name' = c.name));
  case_count := ragdb_internal.insert_cases(v_corpus.corpus_id, v_eval, cases, v_asserts);
  label_count := ragdb_internal.insert_labels(v_corpus.corpus_id, v_eval, cases);
  perform ragdb_internal.record_state('cases', v_corpus.corpus_id,
    jsonb_build_array(v_eval.rag, v_eval.name)::text);
  v_stale := ragdb_internal.stale_labels(v_corpus.corpus_id, v_eval);
  perform ragdb_internal.say_stale(v_stale);
  stale_labels := cardinality(v_stale);
  return next;
end $$;
comment on function ragdb.import_eval is
  'Gives an eval of a contract cases with labels, [{"name", "query", "tags", "asserts", "labels": '
  '[{"source", "start", "end", "grade"}]}], in place of those imported before, while the cases of '
  'the contract, whose names are taken, and of ragdb.add_eval_case stay; asserts are what a '
  'ragAssert of a contract has, a label is of a document (uri or external id) or of a span of its '
  'characters, and survives another chunking. A span that has a sha256, as ragdb.list_eval_cases '
  'lists it, is stale unless its text has that. Raises RG400, RG401, RG404, RG441, RG442.';
