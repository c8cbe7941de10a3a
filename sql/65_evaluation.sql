-- Evaluation: cases and labels, runs through the contract's retriever, metrics.

-- ── labels ───────────────────────────────────────────────────────────────────────────────────────

do $$ begin
  if pg_catalog.to_regtype('ragdb.eval_label') is null then
    create type ragdb.eval_label as (
      case_no integer, label_no integer, source text, start_offset integer, end_offset integer,
        grade integer,
      span_hash bytea, doc_no integer, is_stale boolean);
  end if;
end $$;
comment on type ragdb.eval_label is 'A label of a case, and the document that it is of now.';

-- Chunks overlap, and leave white space between them out: neither may matter.
create or replace function ragdb._span_hash(corpus_id integer, doc_no integer, start_offset integer,
  end_offset integer) returns bytea
language sql stable parallel safe
return (
  select pg_catalog.sha256(ragdb._utf8(ragdb._without_space(pg_catalog.string_agg(
    pg_catalog.substr(c.text,
      greatest(c.start_offset, _span_hash.start_offset, c.covered) - c.start_offset + 1,
      greatest(0, least(c.end_offset, _span_hash.end_offset) - greatest(c.start_offset,
        _span_hash.start_offset, c.covered))), '' order by c.start_offset, c.end_offset))))
  from (
    select k.*, coalesce(pg_catalog.max(k.end_offset) over (order by k.start_offset, k.end_offset,
      k.ordinal
      rows between unbounded preceding and 1 preceding), 0) as covered
    from ragdb.chunks k where k.corpus_id = _span_hash.corpus_id and k.doc_no = _span_hash.doc_no
      and k.start_offset < _span_hash.end_offset and k.end_offset > _span_hash.start_offset) c);
comment on function ragdb._span_hash(integer, integer, integer, integer) is
  'Returns the sha256 of the characters, white space left out, that the chunks of a document have '
  'in a span; null when they have none.';

create or replace function ragdb._document_of(corpus_id integer, source text) returns integer
language sql stable parallel safe
return coalesce(
  (select s.doc_no from ragdb.document_sources s where s.corpus_id = _document_of.corpus_id
    and s.uri = _document_of.source),
  (select d.doc_no from ragdb.documents d where d.corpus_id = _document_of.corpus_id
    and d.external_id = _document_of.source order by d.doc_no limit 1));
comment on function ragdb._document_of(integer, text) is
  'Returns the document of a uri or external id; null when there is none.';

create or replace function ragdb._resolved_labels(corpus_id integer, labels ragdb.eval_label[])
  returns ragdb.eval_label[]
language sql stable parallel safe
return array(
  select row(l.case_no, l.label_no, l.source, l.start_offset, l.end_offset, l.grade, l.span_hash,
    l.doc_no,
    l.doc_no is null or l.span_hash is distinct from case when l.start_offset is not null
      then ragdb._span_hash(_resolved_labels.corpus_id, l.doc_no, l.start_offset, l.end_offset)
        end)::ragdb.eval_label
  from (select u.case_no, u.label_no, u.source, u.start_offset, u.end_offset, u.grade, u.span_hash,
    d.doc_no
    from pg_catalog.unnest(_resolved_labels.labels) u
      left join (select n.source, ragdb._document_of(_resolved_labels.corpus_id, n.source) as doc_no
        from (select distinct x.source from pg_catalog.unnest(_resolved_labels.labels) x) n) d
          on d.source = u.source) l);
comment on function ragdb._resolved_labels(integer, ragdb.eval_label[]) is
  'Returns labels with their documents; is_stale where that is gone or the text of the span is '
  'another.';

-- A document counts once, and so does a labelled span; what nobody judged is a document too, or a
-- chunk where the case labels spans.
create or replace function ragdb._label_items(corpus_id integer, hits ragdb.eval_hit[],
  labels ragdb.eval_label[])
returns setof ragdb.eval_item
language sql stable parallel safe
begin atomic
  with h as materialized (
    select u.case_no, u.rank, u.chunk_id, u.source, u.start_offset, u.end_offset, d.doc_no,
      d.external_id
    from pg_catalog.unnest(hits) u
      left join ragdb.documents d on d.corpus_id = _label_items.corpus_id and d.doc_cid = u.doc_cid
  ), l as materialized (
    select u.* from pg_catalog.unnest(labels) u where not u.is_stale
  ), spans as materialized (select distinct l.case_no from l where l.start_offset is not null
  ), pairs as materialized (
    select h.case_no, h.rank, h.chunk_id, l.label_no, l.grade, l.source
      || case when l.start_offset is null then ''
        else '#' || l.start_offset || '-' || l.end_offset end as item
    from h join l on l.case_no = h.case_no and l.doc_no = h.doc_no
    where l.start_offset is null
      or (l.start_offset < h.end_offset and h.start_offset < l.end_offset)
  ), found as (
    select p.case_no, pg_catalog.min(p.rank) as rank, p.label_no, p.item, p.grade from pairs p
      group by p.case_no, p.label_no, p.item, p.grade
    union all
    select x.case_no, pg_catalog.min(x.rank), 0, x.item, null
    from (select h.case_no, h.rank,
      case when s.case_no is not null then h.chunk_id
      else coalesce(h.external_id, h.source) end as item
      from h left join spans s on s.case_no = h.case_no
      where not exists (select from pairs p where p.case_no = h.case_no and p.rank = h.rank)) x
    group by x.case_no, x.item
  )
  select f.case_no, (pg_catalog.row_number() over (partition by f.case_no order by f.rank,
    f.label_no))::integer, f.item, f.grade, array[f.label_no]
  from found f;
end;
comment on function ragdb._label_items(integer, ragdb.eval_hit[], ragdb.eval_label[]) is
  'Returns the ranking of some cases as their labels see it.';

create or replace function ragdb._label_grades(labels ragdb.eval_label[]) returns jsonb
language sql immutable parallel safe
return (select coalesce(pg_catalog.jsonb_object_agg(g.case_no, g.grades), '{}') from (
  select l.case_no, pg_catalog.jsonb_agg(l.grade order by l.grade desc) as grades
  from pg_catalog.unnest(_label_grades.labels) l where not l.is_stale group by l.case_no) g);
comment on function ragdb._label_grades(ragdb.eval_label[]) is
  'Returns the grades of the labels of each case that are not stale, best first, under its number.';

-- ── cases ────────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb._eval_node(rag text, eval text) returns ragdb.contract_nodes
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rag ragdb.contract_nodes := ragdb._contract_node('rag', rag);
  v_names text[];
  v_eval ragdb.contract_nodes;
begin
  v_names := array(select n.name from ragdb.contract_nodes n
    where n.contract = v_rag.contract and n.version = v_rag.version and n.node = 'ragEval'
      and n.rag = v_rag.name order by n.node_no);
  if eval is null and cardinality(v_names) <> 1 then
    raise exception 'rag % has % evals', ragdb._quote(rag), cardinality(v_names)
      using errcode = 'RG441',
        detail = 'one has to be named'
        || coalesce(': ' || nullif(array_to_string(v_names, ', '), ''), ''),
            hint = 'pass eval, or declare a ragEval in the contract';
  end if;
  select n.* into v_eval from ragdb.contract_nodes n
    where n.contract = v_rag.contract and n.version = v_rag.version and n.node = 'ragEval'
      and n.rag = v_rag.name
      and n.name = coalesce(eval, v_names[1]);
  if not found then
    raise exception 'rag % has no eval %', ragdb._quote(rag), ragdb._quote(eval)
      using errcode = 'RG441',
        detail = 'its evals are ' || coalesce(nullif(array_to_string(v_names, ', '), ''), 'none'),
            hint = coalesce('did you mean ' || ragdb._nearest_name(eval, v_names) || '?',
              'declare a ragEval in the contract');
  end if;
  return v_eval;
end $$;
comment on function ragdb._eval_node(text, text) is
  'Returns an eval of a rag; its only one when none is named. Raises RG441.';

create or replace function ragdb._eval_cases(declared ragdb.contract_nodes, corpus_id integer,
  tags text[])
returns table (case_no integer, name text, query text, tags text[], k integer, min_score float8,
  anchor text, policy text,
  expected jsonb, asserts jsonb, is_imported boolean)
language sql stable parallel safe
begin atomic
  -- once, not for each case
  with a as materialized (
    select n.parent_no, pg_catalog.jsonb_agg(n.keys order by n.node_no) as asserts
      from ragdb.contract_nodes n
    where n.contract = (declared).contract and n.version = (declared).version
      and n.node = 'ragAssert' group by n.parent_no)
  select pg_catalog.row_number() over (order by x.is_imported, x.ordinal)::integer, x.name, x.query,
    x.tags, x.k, x.min_score, x.anchor, x.policy,
    x.expected, x.asserts, x.is_imported
  from (
    select false as is_imported, c.node_no as ordinal, c.name, c.keys ->> 'query' as query,
      ragdb._list(coalesce(c.keys ->> 'tags', '')) as tags,
      (c.keys ->> 'topK')::integer as k, (c.keys ->> 'minScore')::float8 as min_score,
        c.keys ->> 'anchor' as anchor, c.keys ->> 'policy' as policy,
      pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('topK',
        (c.keys ->> 'topK')::integer, 'minScore', (c.keys ->> 'minScore')::float8,
        'chunkCount', (c.keys ->> 'chunkCount')::integer, 'sources',
          case when c.keys ? 'sources' then pg_catalog.to_jsonb(ragdb._list(c.keys ->> 'sources'))
          end)) as expected,
      coalesce(a.asserts, '[]') as asserts
    from ragdb.contract_nodes c
      left join a on a.parent_no = c.node_no
    where c.contract = (declared).contract and c.version = (declared).version
      and c.parent_no = (declared).node_no and c.node = 'ragCase'
    union all
    select true, i.ordinal, i.name, i.query, i.tags, null, null, null, null, '{}', '[]'
    from ragdb.eval_cases i where i.corpus_id = _eval_cases.corpus_id and i.rag = (declared).rag
      and i.eval = (declared).name
  ) x
  where _eval_cases.tags is null or x.tags && _eval_cases.tags;
end;
comment on function ragdb._eval_cases(ragdb.contract_nodes, integer, text[]) is
  'Returns the cases of an eval, declared and imported, that have one of the tags (null: all).';

create or replace function ragdb._case_labels(declared ragdb.contract_nodes, corpus_id integer,
  case_no integer, name text, expected jsonb, is_imported boolean)
returns setof ragdb.eval_label
language sql stable parallel safe
begin atomic
  select _case_labels.case_no, pg_catalog.min(s.n)::integer, s.source, null::integer, null::integer,
    1, null::bytea, null::integer, null::boolean
  from pg_catalog.jsonb_array_elements_text(coalesce(expected -> 'sources', '[]'))
    with ordinality s (source, n) group by s.source
  union all
  select _case_labels.case_no, l.label_no, l.source, l.start_offset, l.end_offset, l.grade,
    l.span_hash, null, null
  from ragdb.eval_labels l where _case_labels.is_imported and l.corpus_id = _case_labels.corpus_id
    and l.rag = (declared).rag and l.eval = (declared).name and l.name = _case_labels.name;
end;
comment on function ragdb._case_labels(ragdb.contract_nodes, integer, integer, text, jsonb, boolean)
  is
  'Returns the labels of a case: its sources, or those that were imported.';

-- Runs read cases and labels by several statements, hence from several states: an import waits for
-- them, and they for it.
create or replace function ragdb._lock_eval(corpus_id integer, eval ragdb.contract_nodes,
  is_writer boolean) returns void
language sql
begin atomic
  select case when is_writer then pg_catalog.pg_advisory_xact_lock(l.key)
    else pg_catalog.pg_advisory_xact_lock_shared(l.key) end
  from (select pg_catalog.hashtextextended(pg_catalog.format('ragdb.eval %s %L %L', corpus_id,
    (eval).rag, (eval).name), 0) as key) l;
end;
comment on function ragdb._lock_eval(integer, ragdb.contract_nodes, boolean) is
  'Has whoever imports cases of an eval (is_writer) and whoever runs it wait for each other until '
  'the transaction ends.';

create or replace function ragdb.import_eval(rag text, eval text, cases jsonb)
returns table (case_count integer, label_count integer, stale_labels integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_eval ragdb.contract_nodes := ragdb._eval_node(rag, eval);
  v_rag ragdb.contract_nodes := ragdb._contract_node('rag', rag);
  v_settings ragdb.retriever_settings
    := ragdb._retriever_settings(ragdb._contract_node('retriever', v_rag.keys ->> 'retriever'));
  v_corpus ragdb.corpora := ragdb._open_corpus(v_settings.corpus, 'write');
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
          or ragdb._whole(coalesce(l ->> 'grade', '1'), -1000, 1000) is null
          or (l ->> 'start' is null) <> (l ->> 'end' is null)
          or (l ->> 'start' is not null
            and coalesce(ragdb._whole(l ->> 'start', 0, 1e9) >= ragdb._whole(l ->> 'end', 0, 1e9),
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
  perform ragdb._lock_eval(v_corpus.corpus_id, v_eval, true);
  perform ragdb._hold_corpus(v_corpus.corpus_id);
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
      case when l.v ->> 'start' is not null then coalesce(ragdb._span_hash(v_corpus.corpus_id,
        ragdb._document_of(v_corpus.corpus_id, l.v ->> 'source'), (l.v ->> 'start')::integer,
          (l.v ->> 'end')::integer), '') end
    from jsonb_array_elements(cases) c (v)
      cross join lateral jsonb_array_elements(coalesce(c.v -> 'labels', '[]'))
      with ordinality l (v, n);
  get diagnostics label_count = row_count;
  select count(*) filter (where l.is_stale) into stale_labels
    from unnest(ragdb._resolved_labels(v_corpus.corpus_id, array(
      select row(0, l.label_no, l.source, l.start_offset, l.end_offset, l.grade, l.span_hash, null,
        null)::ragdb.eval_label
      from ragdb.eval_labels l where l.corpus_id = v_corpus.corpus_id and l.rag = v_eval.rag
        and l.eval = v_eval.name))) l;
  return next;
end $$;
comment on function ragdb.import_eval(text, text, jsonb) is
  'Gives an eval of a contract cases with labels, [{"name", "query", "tags", "labels": [{"source", '
  '"start", "end", "grade"}]}], in place of those imported before; a label is of a document (uri '
  'or external id) or of a span of its characters, and survives another chunking. Raises RG400, '
  'RG401, RG404, RG441, RG442.';

-- ── a run ────────────────────────────────────────────────────────────────────────────────────────

do $$ begin
  if pg_catalog.to_regtype('ragdb.eval_setting') is null then
    create type ragdb.eval_setting as (
      rag ragdb.contract_nodes, eval ragdb.contract_nodes, retriever ragdb.contract_nodes,
        settings ragdb.retriever_settings,
      corpus ragdb.corpora, metric text, threshold float8, max_context integer,
        rerank_scores jsonb);
    create type ragdb.eval_retrieval as (outcome ragdb.eval_case, hits ragdb.eval_hit[]);
    create type ragdb.eval_measure as (case_no integer, metric text, value float8);
  end if;
end $$;
comment on type ragdb.eval_setting is
  'All that a run rests on: nodes of the contract, the retriever''s settings, the corpus, the '
  'scores of its reranker.';
comment on type ragdb.eval_retrieval is 'A case with what was retrieved for it.';
comment on type ragdb.eval_measure is 'A metric of a case; case 0 is the run.';

create or replace function ragdb._eval_setting(rag text, eval text,
  rerank_scores jsonb default null) returns ragdb.eval_setting
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting ragdb.eval_setting;
begin
  v_setting.rag := ragdb._contract_node('rag', rag);
  v_setting.eval := ragdb._eval_node(rag, eval);
  v_setting.retriever := ragdb._contract_node('retriever', (v_setting.rag).keys ->> 'retriever');
  v_setting.settings := ragdb._open_retriever(v_setting.retriever, null);
  v_setting.corpus := ragdb._open_corpus((v_setting.settings).corpus, 'read');
  v_setting.metric := ragdb._eval_metric((v_setting.eval).keys ->> 'metric');
  v_setting.threshold := ((v_setting.eval).keys ->> 'threshold')::float8;
  select (g.keys ->> 'maxContext')::integer into v_setting.max_context from ragdb.contract_nodes g
    where g.contract = (v_setting.rag).contract and g.version = (v_setting.rag).version
      and g.node = 'grounding' and g.rag = (v_setting.rag).name;
  v_setting.rerank_scores := rerank_scores;
  return v_setting;
end $$;
comment on function ragdb._eval_setting(text, text, jsonb) is
  'Returns what a run of an eval rests on. Raises RG404, RG417, RG441.';

create or replace function ragdb._check_rerank_scores(setting ragdb.eval_setting) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_reranker text := (setting.settings).reranker;
begin
  if jsonb_typeof(setting.rerank_scores) <> 'object' then
    raise exception 'rerank_scores is no object'
      using errcode = 'RG442',
        detail = 'it is what the reranker gave each chunk of ragdb.eval_candidates()',
            hint = '{"query": {"chunk_id": score}}';
  end if;
  if v_reranker is not null and setting.rerank_scores is null then
    raise exception 'retriever % is reranked by %', ragdb._quote((setting.retriever).name),
      ragdb._quote(v_reranker)
      using errcode = 'RG415',
        detail = 'a reranker runs in the client, and no scores of it are given',
            hint = '`ragdb eval run` reranks; or score ragdb.eval_candidates() and pass '
                   'rerank_scores';
  end if;
end $$;
comment on function ragdb._check_rerank_scores(ragdb.eval_setting) is
  'Refuses a run of a reranked retriever without scores, and scores of another form. Raises RG415, '
  'RG442.';

-- A score for each hit, or an error; then the k best.
create or replace function ragdb._rerank_case(setting ragdb.eval_setting, trace_id uuid, query text,
  hits ragdb.eval_hit[], k integer)
returns ragdb.eval_hit[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_scores jsonb := setting.rerank_scores -> query;
  v_ids text[] := array(select h.chunk_id from unnest(hits) h order by h.rank);
  v_reranks ragdb.retrieval_reranks[] := ragdb._record_rerank(ragdb._open_trace(trace_id),
    (setting.settings).reranker, v_ids,
    ragdb._scores(coalesce(v_scores, '{}'), v_ids), k);
begin
  return array(
    select row(h.case_no, r.rank, h.chunk_id, h.source, h.text, h.citation, h.score, h.content_hash,
      h.token_count, h.doc_cid,
      h.start_offset, h.end_offset)::ragdb.eval_hit
    from unnest(v_reranks) r join unnest(hits) h on h.chunk_id = r.chunk_id where r.is_returned
      order by r.rank);
end $$;
comment on function ragdb._rerank_case(ragdb.eval_setting, uuid, text, ragdb.eval_hit[], integer) is
  'Records the reranking of a case''s retrieval and returns the k best hits. Raises RG423.';

-- Named conditions only: a deadlock or a full disk is no verdict on a retriever.
create or replace function ragdb._retrieve_case(
  setting ragdb.eval_setting, case_no integer, name text, query text, k integer, min_score float8,
    anchor text, policy text)
returns ragdb.eval_retrieval
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_outcome ragdb.eval_case;
  v_hits ragdb.eval_hit[] := '{}';
  v_k integer := coalesce(k, (setting.settings).k);
  v_depth integer := case when (setting.settings).reranker is null then v_k
    else ragdb.rerank_depth(v_k) end;
begin
  v_outcome.case_no := case_no;
  v_outcome.query := query;
  v_outcome.fact_id := concat_ws(':', (setting.rag).name, (setting.eval).name, name);
  begin
    if anchor is null then
      select coalesce(array_agg(row(_retrieve_case.case_no, h.rank, h.chunk_id, h.source, h.text,
        coalesce(h.citation, jsonb_build_object('uri', h.source)),
          h.score, h.content_hash, c.token_count, h.doc_cid, h.start_offset,
            h.end_offset)::ragdb.eval_hit order by h.rank), '{}')
        into v_hits
        from ragdb._retrieve((setting.settings).corpus, query, v_depth, (setting.settings).mode,
            coalesce(min_score, (setting.settings).min_score), client => 'ragdb eval',
            retriever => (setting.retriever).name, rag => (setting.rag).name) h
          left join ragdb.chunks c on c.corpus_id = (setting.corpus).corpus_id
            and c.chunk_id = h.chunk_id;
    else
      select coalesce(array_agg(row(_retrieve_case.case_no, h.rank, h.chunk_id, h.source, h.text,
        coalesce(h.citation, jsonb_build_object('uri', h.source)),
          h.score, h.content_hash, c.token_count, d.doc_cid, c.start_offset,
            c.end_offset)::ragdb.eval_hit order by h.rank), '{}')
        into v_hits
        from ragdb.retrieve_slice((setting.settings).corpus, query, anchor => anchor,
            policy => ragdb._policy_reference(policy),
            k => v_depth, mode => (setting.settings).mode,
            min_score => coalesce(min_score, (setting.settings).min_score),
              client => 'ragdb eval') h
          left join ragdb.chunks c on c.corpus_id = (setting.corpus).corpus_id
            and c.chunk_id = h.chunk_id
          left join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no;
    end if;
    v_outcome.trace_id := ragdb.last_trace_id();
    v_outcome.elapsed_ms := (ragdb._open_trace(v_outcome.trace_id)).elapsed_ms;
    if (setting.settings).reranker is not null then
      v_hits := ragdb._rerank_case(setting, v_outcome.trace_id, query, v_hits, v_k);
    end if;
  exception when sqlstate 'RG000' or data_exception then
    v_hits := '{}';
    v_outcome.trace_id := null;
    v_outcome.error_code := sqlstate;
    v_outcome.error := format('RAG eval case ''%s'' retriever failed: %s.', name, sqlerrm);
  end;
  return row(v_outcome, v_hits)::ragdb.eval_retrieval;
end $$;
comment on function ragdb._retrieve_case(ragdb.eval_setting, integer, text, text, integer, float8,
  text, text) is
  'Retrieves for a case through the retriever of a run, and reranks, leaving a trace; a retriever '
  'that raises is noted, not raised.';

-- Finding nothing where nothing is expected is no hit.
create or replace function ragdb._counts_as_hit(kind text, code text, expected jsonb)
  returns boolean
language sql immutable parallel safe
return code in ('PASS', 'ASSERTION_FAIL')
  and kind in ('expected.minScore', 'expected.chunkCount', 'expected.sources', 'scoreGte',
    'scoreLte', 'contains',
    'sourceEq', 'sourceGlob', 'uniqueSourcesGte', 'chunkCountEq', 'chunkHash')
  and not (kind in ('expected.chunkCount', 'chunkCountEq', 'uniqueSourcesGte')
    and expected #>> '{}' = '0');
comment on function ragdb._counts_as_hit(text, text, jsonb) is
  'Tells whether the outcome of an assertion is part of the hit rate.';

-- Case 0 is the run. The hit rate and the grounding are KERN's; the rank metrics those of
-- trec_eval.
create or replace function ragdb._case_measures(
  cases ragdb.eval_case[], hits ragdb.eval_hit[], items ragdb.eval_item[], grades jsonb,
    results ragdb.eval_assert_result[], depth integer)
returns setof ragdb.eval_measure
language sql stable parallel safe
begin atomic
  with r as materialized (select u.* from pg_catalog.unnest(results) u),
  h as materialized (select u.case_no, u.score, ragdb._is_cited(u.citation) as is_cited
    from pg_catalog.unnest(hits) u),
  ranked as materialized (
    select c.case_no, array(select g.v::integer
      from pg_catalog.jsonb_array_elements_text(grades -> c.case_no::text) with ordinality g (v, n)
      order by g.n) as grades,
      coalesce(i.items, '{}') as items
    from pg_catalog.unnest(cases) c
      left join (select u.case_no, pg_catalog.array_agg(u order by u.rank) as items
        from pg_catalog.unnest(items) u group by u.case_no) i on i.case_no = c.case_no
    where c.error is null and grades ? c.case_no::text
  )
  select r.case_no, 'hit_rate', pg_catalog.avg(r.passed::integer)::float8 from r
    where ragdb._counts_as_hit(r.kind, r.code, r.expected) group by r.case_no
  union all select h.case_no, 'citation_coverage', pg_catalog.avg(h.is_cited::integer)::float8
    from h group by h.case_no
  union all select h.case_no, 'min_relevance', pg_catalog.min(h.score) from h group by h.case_no
  union all select r.case_no, 'grounding', pg_catalog.bool_and(r.passed)::integer::float8 from r
    where r.kind = 'citesRequired' group by r.case_no
  union all
  select k.case_no, m.metric || case when m.k < 1000000 then '@' || m.k else '' end,
    ragdb._rank_metric(m.metric, m.k, k.items, k.grades)
  from ranked k cross join (
    select x.metric, d.k
      from pg_catalog.unnest(array['recall', 'precision', 'ndcg', 'judged']) x (metric)
      cross join (select distinct v.k
        from (values (5), (10), (coalesce(_case_measures.depth, 10))) v (k)) d
    union all select x.metric, 1000000 from pg_catalog.unnest(array['mrr', 'map']) x (metric)) m
  where pg_catalog.jsonb_path_exists(pg_catalog.to_jsonb(k.grades), '$[*] ? (@ > 0)');
end;
comment on function ragdb._case_measures(ragdb.eval_case[], ragdb.eval_hit[], ragdb.eval_item[],
  jsonb, ragdb.eval_assert_result[], integer) is
  'Returns the metrics of some cases; the rank metrics at 5, 10 and depth where a case has a '
  'label.';

create or replace function ragdb._label_results(labels ragdb.eval_label[])
  returns setof ragdb.eval_assert_result
language sql immutable parallel safe
begin atomic
  select l.case_no, 0, 'label', true, false, 'STALE_LABEL',
    'label ' || ragdb._quote(l.source) || case when l.start_offset is null then ''
      else ' ' || l.start_offset || '..' || l.end_offset end
      || case when l.doc_no is null then ' is of no document of the corpus'
        else ' has another text than when it was labelled' end,
    pg_catalog.to_jsonb(l.source), null::jsonb
  from pg_catalog.unnest(labels) l where l.is_stale;
end;
comment on function ragdb._label_results(ragdb.eval_label[]) is
  'Returns an outcome, STALE_LABEL, for each label that no longer resolves.';

create or replace function ragdb._documents_hash(corpus_id integer) returns text
language sql stable parallel safe
return (select pg_catalog.encode(
  pg_catalog.sha256(ragdb._utf8(coalesce(pg_catalog.string_agg(d.doc_cid, E'\n' order by d.doc_cid),
    ''))), 'hex')
  from ragdb.documents d where d.corpus_id = _documents_hash.corpus_id);
comment on function ragdb._documents_hash(integer) is
  'Returns the sha256 (hex) of the cids of a corpus''s documents, in order.';

-- Writes what a batch of cases amounts to: outcomes, items, metrics.
create or replace function ragdb._write_cases(
  run ragdb.eval_runs, retrieved ragdb.eval_retrieval[], assertions ragdb.eval_assertion[],
    labels ragdb.eval_label[], names text[], tags jsonb, depth integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cases ragdb.eval_case[] := array(select (r).outcome from unnest(retrieved) r);
  v_hits ragdb.eval_hit[] := array(select h from unnest(retrieved) r
    cross join lateral unnest((r).hits) h);
  v_labels ragdb.eval_label[] := ragdb._resolved_labels(run.corpus_id, labels);
  v_items ragdb.eval_item[] := array(select i
    from ragdb._label_items(run.corpus_id, v_hits, v_labels) i);
  v_grades jsonb := ragdb._label_grades(v_labels);
  v_results ragdb.eval_assert_result[] := array(select r
    from ragdb._assert_results(v_cases, v_hits, v_items, v_grades, assertions) r)
    || array(select r from ragdb._label_results(v_labels) r);
begin
  insert into ragdb.eval_case_results (corpus_id, run_id, case_no, kind, name, query, tags, status,
    trace_id, elapsed_ms, error_code, hits, labels, stale_labels)
    select run.corpus_id, run.run_id, c.case_no, 'case', names[c.n], c.query,
      array(select t from jsonb_array_elements_text(tags -> c.n::integer - 1) t),
      case when o.is_error then 'error' when o.fails then 'failed' else 'passed' end, c.trace_id,
        c.elapsed_ms, c.error_code,
      coalesce(h.n, 0), coalesce(l.n, 0), coalesce(l.stale, 0)
    from unnest(v_cases)
      with ordinality c (case_no, fact_id, query, elapsed_ms, trace_id, error_code, error, answer,
        n)
      left join (select r.case_no, bool_or(r.code not in ('PASS', 'ASSERTION_FAIL')) as is_error,
        bool_or(ragdb._fails_case(r)) as fails
        from unnest(v_results) r group by 1) o on o.case_no = c.case_no
      left join (select x.case_no, count(*) as n from unnest(v_hits) x group by 1) h
        on h.case_no = c.case_no
      left join (select x.case_no, count(*) as n, count(*) filter (where x.is_stale) as stale
        from unnest(v_labels) x group by 1) l on l.case_no = c.case_no;
  insert into ragdb.eval_assert_results (corpus_id, run_id, case_no, assert_no, kind, required,
    passed, code, message, expected, actual)
    select run.corpus_id, run.run_id, r.case_no,
      row_number() over (partition by r.case_no order by r.n), r.kind, r.required, r.passed, r.code,
      r.message, r.expected, r.actual
    from unnest(v_results)
      with ordinality r (case_no, assert_no, kind, required, passed, code, message, expected,
        actual, n);
  insert into ragdb.eval_items (corpus_id, run_id, case_no, rank, item, grade)
    select run.corpus_id, run.run_id, i.case_no, i.rank, i.item, i.grade from unnest(v_items) i;
  insert into ragdb.eval_metrics (corpus_id, run_id, case_no, metric, value)
    select run.corpus_id, run.run_id, m.case_no, m.metric, m.value
    from ragdb._case_measures(v_cases, v_hits, v_items, v_grades, v_results, depth) m
      where m.value is not null;
end $$;
comment on function ragdb._write_cases(ragdb.eval_runs, ragdb.eval_retrieval[],
  ragdb.eval_assertion[], ragdb.eval_label[], text[], jsonb, integer) is
  'Evaluates some retrieved cases of a run and writes their outcomes.';

-- The run as a whole: sums and means of what its cases have, and the gate.
create or replace function ragdb._close_run(run ragdb.eval_runs, started timestamptz)
  returns ragdb.eval_runs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_failed integer;
begin
  insert into ragdb.eval_metrics (corpus_id, run_id, case_no, metric, value)
    select run.corpus_id, run.run_id, 0, 'hit_rate', avg(r.passed::integer)
      from ragdb.eval_assert_results r
      where r.corpus_id = run.corpus_id and r.run_id = run.run_id
        and ragdb._counts_as_hit(r.kind, r.code, r.expected)
      having count(*) > 0
    union all
    select run.corpus_id, run.run_id, 0, 'citation_coverage',
      coalesce(sum(m.value * c.hits) / nullif(sum(c.hits), 0), 0)
      from ragdb.eval_case_results c left join ragdb.eval_metrics m on m.corpus_id = c.corpus_id
        and m.run_id = c.run_id and m.case_no = c.case_no and m.metric = 'citation_coverage'
      where c.corpus_id = run.corpus_id and c.run_id = run.run_id and c.kind = 'case'
    union all
    select run.corpus_id, run.run_id, 0, m.metric,
      case m.metric when 'min_relevance' then min(m.value) else avg(m.value order by m.case_no) end
      from ragdb.eval_metrics m where m.corpus_id = run.corpus_id and m.run_id = run.run_id
        and m.case_no > 0
        and m.metric not in ('hit_rate', 'citation_coverage')
      group by m.metric;
  select count(*), count(*) filter (where c.status = 'passed'), coalesce(sum(c.stale_labels), 0)
    into run.cases, run.passed_cases, run.stale_labels
    from ragdb.eval_case_results c where c.corpus_id = run.corpus_id and c.run_id = run.run_id;
  select count(*), count(*) filter (where r.passed) into run.assertions, run.passed_assertions
    from ragdb.eval_assert_results r where r.corpus_id = run.corpus_id and r.run_id = run.run_id;
  select m.value into run.metric_value from ragdb.eval_metrics m
    where m.corpus_id = run.corpus_id and m.run_id = run.run_id and m.case_no = 0
      and m.metric = run.metric;
  if run.cases = 0 or not exists (select from ragdb.eval_case_results c
    where c.corpus_id = run.corpus_id and c.run_id = run.run_id and c.kind = 'case') then
    run.reasons := run.reasons || case when run.tags is null then 'the eval has no case'
      else 'no case has the tag ' || array_to_string(run.tags, ' or ') end;
    run.status := 'empty';
  else
    if run.threshold is not null and run.threshold <= 0 then
      run.reasons := run.reasons || 'threshold 0 cannot be missed'::text;
    elsif run.threshold is not null and run.metric_value is null then
      run.reasons := run.reasons || format('%s could not be measured', run.metric);
    elsif run.metric_value < run.threshold then
      run.reasons := run.reasons || format('%s is %s, below %s', run.metric,
        round(run.metric_value::numeric, 4), ragdb._shown(run.threshold));
    end if;
    if run.assertions = 0 and run.threshold is null then
      run.reasons := run.reasons
        || 'nothing is asserted: no case has an assertion, and no metric a threshold'::text;
    elsif run.threshold is null and not exists (select from ragdb.eval_assert_results r
        where r.corpus_id = run.corpus_id and r.run_id = run.run_id and r.required) then
      run.reasons := run.reasons
        || 'nothing is required: every assertion is advisory, and no metric has a threshold'::text;
    end if;
    if exists (select from ragdb.corpora c where c.corpus_id = run.corpus_id
      and c.version <> run.corpus_version)
      and ragdb._documents_hash(run.corpus_id) <> run.documents_hash
    then
      run.reasons := run.reasons || 'the documents changed while it ran'::text;
    end if;
    if run.stale_labels > 0 and not exists (select from ragdb.eval_case_results c
        where c.corpus_id = run.corpus_id and c.run_id = run.run_id and c.labels > c.stale_labels)
          then
      run.reasons := run.reasons || 'all labels are stale'::text;
    end if;
    run.status := case when run.passed_cases = run.cases and run.reasons = '{}' then 'passed'
      else 'failed' end;
  end if;
  run.elapsed_ms := 1000 * extract(epoch from clock_timestamp() - started)::float8;
  update ragdb.eval_runs r
    set (metric_value, cases, passed_cases, assertions, passed_assertions, stale_labels, status,
      reasons, elapsed_ms)
    = (run.metric_value, run.cases, run.passed_cases, run.assertions, run.passed_assertions,
      run.stale_labels, run.status, run.reasons, run.elapsed_ms)
    where r.corpus_id = run.corpus_id and r.run_id = run.run_id;
  return run;
end $$;
comment on function ragdb._close_run(ragdb.eval_runs, timestamptz) is
  'Writes the metrics and the verdict of a run whose cases are written: what is vacuous fails.';

create or replace function ragdb._new_run(setting ragdb.eval_setting, tags text[], label text)
  returns ragdb.eval_runs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs;
begin
  v_run.corpus_id := (setting.corpus).corpus_id;
  v_run.run_id := ragdb._uuid7(ragdb._now());
  v_run.created_at := ragdb._uuid_time(v_run.run_id);
  v_run.corpus := (setting.corpus).name;
  v_run.corpus_version := (setting.corpus).version;
  v_run.documents_hash := ragdb._documents_hash(v_run.corpus_id);
  v_run.contract := (setting.rag).contract;
  v_run.contract_version := (setting.rag).version;
  v_run.rag := (setting.rag).name;
  v_run.eval := (setting.eval).name;
  v_run.retriever := (setting.retriever).name;
  v_run.rank_mode := (setting.settings).mode;
  v_run.top_k := (setting.settings).k;
  v_run.min_score := (setting.settings).min_score;
  v_run.embedding_model := case when v_run.rank_mode in ('semantic', 'hybrid')
    then (setting.settings).embedding_model end;
  v_run.ranking_hash := ragdb._ranking_hash(setting.corpus);
  v_run.reranker := (setting.settings).reranker;
  v_run.semantics_version := 1;
  v_run.label := label;
  v_run.tags := tags;
  v_run.metric := setting.metric;
  v_run.threshold := setting.threshold;
  v_run.cases := 0;
  v_run.passed_cases := 0;
  v_run.assertions := 0;
  v_run.passed_assertions := 0;
  v_run.stale_labels := 0;
  v_run.status := 'empty';
  v_run.reasons := '{}';
  v_run.elapsed_ms := 0;
  v_run.caller := ragdb._caller();
  return v_run;
end $$;
comment on function ragdb._new_run(ragdb.eval_setting, text[], text) is
  'Returns a run that begins now and has nothing yet.';

create or replace function ragdb.run_eval(
  rag text, eval text default null, tags text[] default null, label text default null,
    rerank_scores jsonb default null)
returns ragdb.eval_runs
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started constant timestamptz := clock_timestamp();
  v_setting ragdb.eval_setting := ragdb._eval_setting(rag, eval, rerank_scores);
  v_run ragdb.eval_runs := ragdb._new_run(v_setting, tags, label);
  v_depth integer := nullif(split_part(v_setting.metric, '@', 2), '')::integer;
  v_case record;
  v_answer ragdb.contract_nodes;
  v_answers jsonb := '{}';
  v_retrieved ragdb.eval_retrieval;
  v_batch ragdb.eval_retrieval[] := '{}';
  v_nos integer[] := '{}';
  v_expected jsonb[] := '{}';
  v_asserts jsonb[] := '{}';
  v_imported boolean[] := '{}';
  v_names text[] := '{}';
  v_tags jsonb := '[]';
  v_case_no integer := 0;
  v_result jsonb;
begin
  perform ragdb._check_rerank_scores(v_setting);
  perform ragdb._lock_eval(v_run.corpus_id, v_setting.eval, false);
  insert into ragdb.eval_runs select v_run.*;
  -- answers first: cases of the same query may assert something of them
  for v_answer in
    select n.* from ragdb.contract_nodes n
    where n.contract = v_run.contract and n.version = v_run.contract_version
      and n.node = 'ragAnswerContract' and n.rag = v_run.rag order by n.node_no
  loop
    v_case_no := v_case_no + 1;
    v_retrieved := ragdb._retrieve_case(v_setting, v_case_no, v_answer.name,
      v_answer.keys ->> 'query', null, null, null, null);
    v_result := ragdb.evaluate_answer(ragdb._answer_contract(v_answer, null),
      case when (v_retrieved.outcome).error is null
      then ragdb._rag_context(v_answer.keys ->> 'query', v_retrieved.hits, v_setting.max_context)
        else jsonb_build_object('error', (v_retrieved.outcome).error) end);
    v_answers := v_answers || jsonb_build_object(v_answer.keys ->> 'query', v_result);
    insert into ragdb.eval_case_results (corpus_id, run_id, case_no, kind, name, query, tags,
      status, trace_id, elapsed_ms, error_code, hits, labels, stale_labels)
      values (v_run.corpus_id, v_run.run_id, v_case_no, 'answer', v_answer.name,
        v_answer.keys ->> 'query', '{}',
        case when (v_result ->> 'passed')::boolean then 'passed'
          when (v_retrieved.outcome).error is not null then 'error' else 'failed' end,
        (v_retrieved.outcome).trace_id, (v_retrieved.outcome).elapsed_ms,
          (v_retrieved.outcome).error_code, cardinality(v_retrieved.hits), 0, 0);
    insert into ragdb.eval_assert_results (corpus_id, run_id, case_no, assert_no, kind, required,
      passed, code, message, expected, actual)
      select v_run.corpus_id, v_run.run_id, v_case_no, d.n, d.kind, true, d.code = 'PASS', d.code,
        d.message, v_answer.keys -> 'minGroundingCoverage', v_result -> 'groundingCoverage'
      from (
        select 1 as n, 'answer' as kind, 'PASS' as code,
          format('answer is %s', v_result ->> 'status') as message
          where (v_result ->> 'passed')::boolean
        union all
        select x.n, x.d ->> 'code',
          case x.d ->> 'code' when 'RETRIEVER_ERROR' then 'RETRIEVER_ERROR'
          else 'ASSERTION_FAIL' end,
          (x.d ->> 'message') || coalesce(' (span ' || (x.d ->> 'spanIndex') || ')', '')
        from jsonb_array_elements(v_result -> 'diagnostics') with ordinality x (d, n)) d;
    insert into ragdb.eval_metrics (corpus_id, run_id, case_no, metric, value)
      values (v_run.corpus_id, v_run.run_id, v_case_no, 'faithfulness',
        (v_result ->> 'groundingCoverage')::float8);
  end loop;
  for v_case in
    select c.*, count(*) over () as total
      from ragdb._eval_cases(v_setting.eval, v_run.corpus_id, tags) c order by c.case_no
  loop
    v_case_no := v_case_no + 1;
    v_retrieved := ragdb._retrieve_case(v_setting, v_case_no, v_case.name, v_case.query, v_case.k,
      v_case.min_score, v_case.anchor, v_case.policy);
    v_retrieved.outcome.answer := v_answers -> v_case.query;
    v_batch := v_batch || v_retrieved;
    v_nos := v_nos || v_case_no;
    v_expected := v_expected || v_case.expected;
    v_asserts := v_asserts || v_case.asserts;
    v_imported := v_imported || v_case.is_imported;
    v_names := v_names || v_case.name;
    v_tags := v_tags || jsonb_build_array(to_jsonb(v_case.tags));
    -- appending copies the array
    if cardinality(v_batch) = 100 or v_case.case_no = v_case.total then
      perform ragdb._write_cases(v_run, v_batch,
        array(select a from unnest(v_nos, v_expected, v_asserts) c (case_no, expected, asserts)
          cross join lateral ragdb._typed_assertions(c.case_no, c.expected, c.asserts) a),
        array(select l from unnest(v_nos, v_names, v_expected, v_imported) c (case_no, name,
          expected, is_imported)
          cross join lateral ragdb._case_labels(v_setting.eval, v_run.corpus_id, c.case_no, c.name,
            c.expected, c.is_imported) l),
        v_names, v_tags, v_depth);
      v_batch := '{}';
      v_nos := '{}';
      v_expected := '{}';
      v_asserts := '{}';
      v_imported := '{}';
      v_names := '{}';
      v_tags := '[]';
    end if;
  end loop;
  return ragdb._close_run(v_run, v_started);
end $$;
comment on function ragdb.run_eval(text, text, text[], text, jsonb) is
  'Runs the cases of an eval (the only one of the rag unless named; those with one of the tags, '
  'all when null) and the answer contracts of its rag through the rag''s retriever, each retrieval '
  'recorded, and returns the run with its verdict. A case whose retriever raises has '
  'RETRIEVER_ERROR and the others go on. Where the retriever declares a reranker, rerank_scores is '
  'what that gave to the rows of ragdb.eval_candidates: {"query": {"chunk_id": score}}. Raises '
  'RG404, RG415, RG417, RG441, RG442.';

-- ── reading ──────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.get_eval_run(run_id uuid) returns ragdb.eval_runs
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs;
begin
  select r.* into v_run from ragdb.eval_runs r join ragdb.corpora c on c.corpus_id = r.corpus_id
    where r.run_id = get_eval_run.run_id
      and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0;
  if not found then
    raise exception 'run % does not exist', ragdb._quote(run_id::text)
      using errcode = 'RG443', detail = 'no run of that id is visible to role '
        || ragdb._quote(ragdb._caller()),
            hint = 'ragdb.list_eval_runs() lists the latest';
  end if;
  return v_run;
end $$;
comment on function ragdb.get_eval_run(uuid) is
  'Returns a run of an eval whose corpus the caller may read. Raises RG443.';

create or replace function ragdb.list_eval_runs(rag text default null, eval text default null,
  count integer default 50)
returns setof ragdb.eval_runs
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if count is null or count not between 1 and 10000 then
    raise exception 'count is %', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'count is the number of runs returned at most',
        hint = 'give 1 to 10000';
  end if;
  return query
    select r.* from ragdb.eval_runs r join ragdb.corpora c on c.corpus_id = r.corpus_id
    where ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0
      and (list_eval_runs.rag is null or r.rag = list_eval_runs.rag)
        and (list_eval_runs.eval is null or r.eval = list_eval_runs.eval)
    order by r.run_id desc limit list_eval_runs.count;
end $$;
comment on function ragdb.list_eval_runs(text, text, integer) is
  'Returns the latest runs, newest first, of one rag and eval or of all that the caller may see; '
  'count is 1 to 10000. Raises RG400.';

create or replace function ragdb.eval_case_results(run_id uuid)
  returns setof ragdb.eval_case_results
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  return query select c.* from ragdb.eval_case_results c
    where c.corpus_id = v_run.corpus_id and c.run_id = v_run.run_id order by c.case_no;
end $$;
comment on function ragdb.eval_case_results(uuid) is
  'Returns the cases of a run in their order. Raises RG443.';

create or replace function ragdb.eval_assert_results(run_id uuid)
  returns setof ragdb.eval_assert_results
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  return query select a.* from ragdb.eval_assert_results a
    where a.corpus_id = v_run.corpus_id and a.run_id = v_run.run_id order by a.case_no, a.assert_no;
end $$;
comment on function ragdb.eval_assert_results(uuid) is
  'Returns the outcome of every assertion of a run in their order. Raises RG443.';

create or replace function ragdb.eval_metrics(run_id uuid) returns setof ragdb.eval_metrics
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  return query select m.* from ragdb.eval_metrics m
    where m.corpus_id = v_run.corpus_id and m.run_id = v_run.run_id order by m.case_no, m.metric;
end $$;
comment on function ragdb.eval_metrics(uuid) is
  'Returns the metrics of a run (case 0) and of its cases. Raises RG443.';

-- What has to be embedded before a run by meaning.
create or replace function ragdb.eval_queries(rag text, eval text default null,
  tags text[] default null)
returns table (corpus text, query text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting ragdb.eval_setting := ragdb._eval_setting(rag, eval);
begin
  if (v_setting.settings).mode not in ('semantic', 'hybrid') then
    return;
  end if;
  return query
    select (v_setting.corpus).name, q.query from (
      select c.query from ragdb._eval_cases(v_setting.eval, (v_setting.corpus).corpus_id, tags) c
      union
      select n.keys ->> 'query' from ragdb.contract_nodes n
      where n.contract = (v_setting.rag).contract and n.version = (v_setting.rag).version
        and n.node = 'ragAnswerContract' and n.rag = (v_setting.rag).name) q
    order by q.query collate "C";
end $$;
comment on function ragdb.eval_queries(text, text, text[]) is
  'Returns the queries that a run needs the embeddings of; none when its retriever ranks by words. '
  'Raises RG404, RG417, RG441.';

-- What has to be scored before a reranked run. A query that cannot be searched has none, and fails
-- its case in the run.
create or replace function ragdb.eval_candidates(rag text, eval text default null,
  tags text[] default null)
returns table (reranker text, query text, chunk_id text, passage text)
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting ragdb.eval_setting := ragdb._eval_setting(rag, eval);
  v_settings ragdb.retriever_settings := v_setting.settings;
  v_case record;
begin
  if v_settings.reranker is null then
    return;
  end if;
  for v_case in
    select c.query, c.k, c.min_score, c.anchor,
      c.policy from ragdb._eval_cases(v_setting.eval, (v_setting.corpus).corpus_id, tags) c
    union
    select n.keys ->> 'query', null, null, null, null from ragdb.contract_nodes n
    where n.contract = (v_setting.rag).contract and n.version = (v_setting.rag).version
      and n.node = 'ragAnswerContract' and n.rag = (v_setting.rag).name
    order by 1, 2, 3, 4, 5
  loop
    begin
      return query
        select v_settings.reranker, v_case.query, h.chunk_id,
          ragdb._searched_text(d.title, c.heading, c.text)
        from unnest(case when v_case.anchor is null then array(
            select s.chunk_id from ragdb.search(v_settings.corpus, v_case.query,
              ragdb.rerank_depth(coalesce(v_case.k, v_settings.k)), v_settings.mode,
              coalesce(v_case.min_score, v_settings.min_score)) s)
          else array(
            select s.chunk_id from ragdb.search_slice(v_settings.corpus, v_case.query,
              anchor => v_case.anchor,
              policy => ragdb._policy_reference(v_case.policy),
              k => ragdb.rerank_depth(coalesce(v_case.k, v_settings.k)), mode => v_settings.mode,
              min_score => coalesce(v_case.min_score, v_settings.min_score)) s) end) h (chunk_id)
          join ragdb.chunks c on c.corpus_id = (v_setting.corpus).corpus_id
            and c.chunk_id = h.chunk_id
          join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no;
    exception when sqlstate 'RG000' or data_exception then
      null;
    end;
  end loop;
end $$;
comment on function ragdb.eval_candidates(text, text, text[]) is
  'Returns what a reranker has to score for a run: its name, and each query with the chunks that '
  'the retriever finds (four times topK, at most 1000) and the passages to give it; nothing when '
  'the retriever declares none. Raises RG404, RG417, RG441.';
