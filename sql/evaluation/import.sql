create or replace function ragdb.import_eval(rag text, eval text, cases jsonb)
returns table (case_count integer, label_count integer, stale_labels integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_eval ragdb.contract_nodes := ragdb_internal.eval_node(rag, eval);
  v_rag ragdb.contract_nodes := ragdb_internal.contract_node('rag', rag);
  v_settings ragdb.retriever_settings
    := ragdb_internal.retriever_settings(ragdb_internal.contract_node('retriever', v_rag.keys ->> 'retriever'));
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(v_settings.corpus, 'write');
  v_wrong record;
begin
  if jsonb_typeof(cases) is distinct from 'array' then
    raise exception 'cases is no list'
      using errcode = 'RG442', detail = 'it is ' || coalesce(jsonb_typeof(cases), 'null'),
            hint = '[{"name", "query", "tags": […], "labels": [{"source", "start", "end", '
                   '"grade"}]}]';
  end if;
  for v_wrong in
    select c.n, case
      when jsonb_typeof(c.v) <> 'object' then 'is no object'
      when coalesce(c.v ->> 'name', '') !~ '\S' then 'has no name'
      when length(c.v ->> 'name') > 200 then 'has a name of more than 200 characters'
      when coalesce(c.v ->> 'query', '') !~ '\S' then 'has no query'
      when jsonb_typeof(coalesce(c.v -> 'tags', '[]')) <> 'array'
        or jsonb_typeof(coalesce(c.v -> 'labels', '[]')) <> 'array'
        then 'has tags or labels that are no list'
      when row_number() over (partition by c.v ->> 'name' order by c.n) > 1
        then 'has the name of another'
      when exists (select from jsonb_array_elements(coalesce(c.v -> 'labels', '[]')) l
        where jsonb_typeof(l) <> 'object' or coalesce(l ->> 'source', '') !~ '\S'
          or ragdb_internal.whole(coalesce(l ->> 'grade', '1'), -1000, 1000) is null
          or (l ->> 'start' is null) <> (l ->> 'end' is null)
          or (l ->> 'start' is not null
            and coalesce(ragdb_internal.whole(l ->> 'start', 0, 1e9) >= ragdb_internal.whole(l ->> 'end', 0, 1e9),
              true)))
        then 'has a label without a source, a whole grade, or a span 0 <= start < end'
      when exists (select from jsonb_array_elements(coalesce(c.v -> 'labels', '[]')) l
        group by l ->> 'source', l ->> 'start', l ->> 'end' having count(*) > 1)
          then 'has a label twice'
    end as why
    from jsonb_array_elements(cases) with ordinality c (v, n) order by c.n
  loop
    continue when v_wrong.why is null;
    raise exception 'case % %', v_wrong.n, v_wrong.why
      using errcode = 'RG442', detail = 'nothing was imported',
        hint = '[{"name", "query", "tags": […], "labels": [{"source", "start", "end", "grade"}]}]';
  end loop;
  perform ragdb_internal.lock_eval(v_corpus.corpus_id, v_eval, true);
  perform ragdb_internal.hold_corpus(v_corpus.corpus_id);
  -- what is imported takes the place of what was
  delete from ragdb.eval_cases c where c.corpus_id = v_corpus.corpus_id and c.rag = v_eval.rag
    and c.eval = v_eval.name;
  insert into ragdb.eval_cases (corpus_id, rag, eval, name, ordinal, query, tags)
    select v_corpus.corpus_id, v_eval.rag, v_eval.name, c.v ->> 'name', c.n, c.v ->> 'query',
      array(select t from jsonb_array_elements_text(coalesce(c.v -> 'tags', '[]')) t)
    from jsonb_array_elements(cases) with ordinality c (v, n);
  get diagnostics case_count = row_count;
  insert into ragdb.eval_labels (corpus_id, rag, eval, name, label_no, source, start_offset,
    end_offset, grade, span_hash)
    select v_corpus.corpus_id, v_eval.rag, v_eval.name, c.v ->> 'name', l.n, l.v ->> 'source',
      (l.v ->> 'start')::integer, (l.v ->> 'end')::integer,
      coalesce((l.v ->> 'grade')::integer, 1),
      -- a span that cannot be found has no text, and is stale until it has
      case when l.v ->> 'start' is not null then coalesce(ragdb_internal.span_hash(v_corpus.corpus_id,
        ragdb_internal.document_of(v_corpus.corpus_id, l.v ->> 'source'), (l.v ->> 'start')::integer,
          (l.v ->> 'end')::integer), '') end
    from jsonb_array_elements(cases) c (v)
      cross join lateral jsonb_array_elements(coalesce(c.v -> 'labels', '[]'))
      with ordinality l (v, n);
  get diagnostics label_count = row_count;
  select count(*) filter (where l.is_stale) into stale_labels
    from unnest(ragdb_internal.resolved_labels(v_corpus.corpus_id, array(
      select row(0, l.label_no, l.source, l.start_offset, l.end_offset, l.grade, l.span_hash, null,
        null)::ragdb_internal.eval_label
      from ragdb.eval_labels l where l.corpus_id = v_corpus.corpus_id and l.rag = v_eval.rag
        and l.eval = v_eval.name))) l;
  return next;
end $$;
comment on function ragdb.import_eval(text, text, jsonb) is
  'Gives an eval of a contract cases with labels, [{"name", "query", "tags", "labels": [{"source", '
  '"start", "end", "grade"}]}], in place of those imported before; a label is of a document (uri '
  'or external id) or of a span of its characters, and survives another chunking. Raises RG400, '
  'RG401, RG404, RG441, RG442.';
