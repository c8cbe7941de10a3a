-- The cases of an eval, declared in its contract or imported, and what a run of it rests on.

create or replace function ragdb_internal.eval_node(rag text, eval text)
  returns ragdb.contract_nodes
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rag ragdb.contract_nodes := ragdb_internal.contract_node('rag', rag);
  v_names text[];
  v_eval ragdb.contract_nodes;
begin
  v_names := array(select n.name from ragdb.contract_nodes n
    where n.contract = v_rag.contract and n.version = v_rag.version and n.node = 'ragEval'
      and n.rag = v_rag.name order by n.node_no);
  if eval is null and cardinality(v_names) <> 1 then
    raise exception 'rag % has % evals', ragdb_internal.quote(rag), cardinality(v_names)
      using errcode = 'RG441',
        detail = 'one has to be named'
          || coalesce(': ' || nullif(array_to_string(v_names, ', '), ''), ''),
        hint = 'pass eval, or declare a ragEval in the contract';
  end if;
  select n.* into v_eval from ragdb.contract_nodes n
    where n.contract = v_rag.contract and n.version = v_rag.version and n.node = 'ragEval'
      and n.rag = v_rag.name and n.name = coalesce(eval, v_names[1]);
  if not found then
    raise exception 'rag % has no eval %', ragdb_internal.quote(rag), ragdb_internal.quote(eval)
      using errcode = 'RG441',
        detail = 'its evals are ' || coalesce(nullif(array_to_string(v_names, ', '), ''), 'none'),
        hint = coalesce('did you mean ' || ragdb_internal.nearest_name(eval, v_names) || '?',
              'declare a ragEval in the contract');
  end if;
  return v_eval;
end $$;
comment on function ragdb_internal.eval_node(text, text) is
  'Returns an eval of a rag; its only one when none is named. Raises RG441.';

create or replace function ragdb_internal.eval_cases(declared ragdb.contract_nodes,
  corpus_id integer, tags text[])
returns table (case_no integer, name text, query text, tags text[], k integer, min_score float8,
  anchor text, policy text, expected jsonb, asserts jsonb, is_imported boolean)
language sql stable parallel safe
begin atomic
  -- once, not for each case
  with a as materialized (
    select n.parent_no, pg_catalog.jsonb_agg(n.keys order by n.node_no) as asserts
      from ragdb.contract_nodes n
    where n.contract = (declared).contract and n.version = (declared).version
      and n.node = 'ragAssert' group by n.parent_no)
  select pg_catalog.row_number() over (order by x.is_imported, x.ordinal, x.name)::integer,
    x.name, x.query, x.tags, x.k, x.min_score, x.anchor, x.policy,
    x.expected, x.asserts, x.is_imported
  from (
    select false as is_imported, c.node_no as ordinal, c.name, c.keys ->> 'query' as query,
      ragdb_internal.list(coalesce(c.keys ->> 'tags', '')) as tags,
      (c.keys ->> 'topK')::integer as k, (c.keys ->> 'minScore')::float8 as min_score,
        c.keys ->> 'anchor' as anchor, c.keys ->> 'policy' as policy,
      pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('topK',
        (c.keys ->> 'topK')::integer, 'minScore', (c.keys ->> 'minScore')::float8,
        'chunkCount', (c.keys ->> 'chunkCount')::integer, 'sources',
        case when c.keys ? 'sources'
          then pg_catalog.to_jsonb(ragdb_internal.list(c.keys ->> 'sources')) end)) as expected,
      coalesce(a.asserts, '[]') as asserts
    from ragdb.contract_nodes c
      left join a on a.parent_no = c.node_no
    where c.contract = (declared).contract and c.version = (declared).version
      and c.parent_no = (declared).node_no and c.node = 'ragCase'
    union all
    select true, i.ordinal, i.name, i.query, i.tags, null, null, null, null, '{}', i.asserts
    from ragdb.eval_cases i where i.corpus_id = eval_cases.corpus_id and i.rag = (declared).rag
      and i.eval = (declared).name
  ) x
  where eval_cases.tags is null or x.tags && eval_cases.tags;
end;
comment on function ragdb_internal.eval_cases(ragdb.contract_nodes, integer, text[]) is
  'Returns the cases of an eval, declared and imported, that have one of the tags (null: all).';

-- Runs read cases and labels by several statements, hence from several states: an import waits for
-- them, and they for it.
create or replace function ragdb_internal.lock_eval(corpus_id integer, eval ragdb.contract_nodes,
  is_writer boolean) returns void
language sql
return ragdb_internal.hold(
  pg_catalog.format('eval %s %L %L', corpus_id, (eval).rag, (eval).name), not is_writer);
comment on function ragdb_internal.lock_eval(integer, ragdb.contract_nodes, boolean) is
  'Has whoever imports cases of an eval (is_writer) and whoever runs it wait for each other until '
  'the transaction ends.';

create or replace function ragdb_internal.setting_of_eval(rag text, eval text,
  rerank_scores jsonb default null) returns ragdb_internal.eval_setting
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting ragdb_internal.eval_setting;
begin
  v_setting.rag := ragdb_internal.contract_node('rag', rag);
  v_setting.eval := ragdb_internal.eval_node(rag, eval);
  v_setting.retriever :=
    ragdb_internal.contract_node('retriever', (v_setting.rag).keys ->> 'retriever');
  v_setting.settings := ragdb_internal.open_retriever(v_setting.retriever, null);
  v_setting.corpus := ragdb_internal.open_corpus((v_setting.settings).corpus, 'read');
  v_setting.metric := ragdb_internal.eval_metric((v_setting.eval).keys ->> 'metric');
  v_setting.threshold := ((v_setting.eval).keys ->> 'threshold')::float8;
  select (g.keys ->> 'maxContext')::integer into v_setting.max_context from ragdb.contract_nodes g
    where g.contract = (v_setting.rag).contract and g.version = (v_setting.rag).version
      and g.node = 'grounding' and g.rag = (v_setting.rag).name;
  v_setting.rerank_scores := rerank_scores;
  return v_setting;
end $$;
comment on function ragdb_internal.setting_of_eval(text, text, jsonb) is
  'Returns what a run of an eval rests on. Raises RG404, RG417, RG441.';

create or replace function ragdb_internal.check_rerank_scores(setting ragdb_internal.eval_setting)
  returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_reranker text := (setting.settings).reranker;
begin
  if jsonb_typeof(setting.rerank_scores) <> 'object' then
    raise exception 'rerank_scores is not an object'
      using errcode = 'RG442',
        detail = 'it is what the reranker gave each chunk of ragdb.eval_candidates()',
        hint = '{"query": {"chunk_id": score}}';
  end if;
  if v_reranker is not null and setting.rerank_scores is null then
    raise exception 'retriever % is reranked by %', ragdb_internal.quote((setting.retriever).name),
      ragdb_internal.quote(v_reranker)
      using errcode = 'RG415',
        detail = 'a reranker runs in the client, and no scores of it are given',
        hint = '`ragdb eval run` reranks; or score ragdb.eval_candidates() and pass '
          'rerank_scores';
  end if;
end $$;
comment on function ragdb_internal.check_rerank_scores(ragdb_internal.eval_setting) is
  'Refuses a run of a reranked retriever without scores, and scores of another form. Raises RG415, '
  'RG442.';
