-- The cases of an eval, and what a run of it rests on.

-- Returns an eval of a rag; its only one when none is named. Raises RG441.
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

-- Returns the cases of an eval that have one of the tags (null: all), those of its contract first.
-- A contract expects of a case its sources and no others; other labels are only measured. Labels
-- are hashed: of those that were just written the planner expects one row, and would go through all
-- for each case.
create or replace function ragdb_internal.eval_cases(declared ragdb.contract_nodes,
  corpus_id integer, tags text[])
returns table (case_no integer, name text, origin text, query text, tags text[], k integer,
  min_score float8, anchor text, policy text, expected jsonb, asserts jsonb)
language sql stable parallel safe
set enable_nestloop = off
begin atomic
  -- once, not for each case
  with s as materialized (
    select l.name, pg_catalog.jsonb_agg(l.source order by l.label_no) as sources
    from ragdb.eval_labels l
    where l.corpus_id = eval_cases.corpus_id and l.rag = (declared).rag and l.eval = (declared).name
    group by l.name)
  select pg_catalog.row_number() over (
      order by c.origin <> 'contract', c.ordinal, c.name)::integer,
    c.name, c.origin, c.query, c.tags, c.k, c.min_score, c.anchor, c.policy,
    pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('topK', c.k,
      'minScore', c.min_score, 'chunkCount', c.chunk_count,
      'sources', case when c.origin = 'contract' then s.sources end)), c.asserts
  from ragdb.eval_cases c left join s on s.name = c.name
  where c.corpus_id = eval_cases.corpus_id and c.rag = (declared).rag
    and c.eval = (declared).name
    and (eval_cases.tags is null or c.tags && eval_cases.tags);
end;

-- Returns what a run of an eval rests on. Raises RG404, RG417, RG441.
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
  v_setting.settings := ragdb_internal.open_retriever(v_setting.retriever);
  v_setting.corpus := ragdb_internal.open_corpus((v_setting.settings).corpus, 'read', true);
  v_setting.metric := ragdb_internal.eval_metric((v_setting.eval).keys ->> 'metric');
  v_setting.threshold := ((v_setting.eval).keys ->> 'threshold')::float8;
  select (g.keys ->> 'maxContext')::integer into v_setting.max_context from ragdb.contract_nodes g
    where g.contract = (v_setting.rag).contract and g.version = (v_setting.rag).version
      and g.node = 'grounding' and g.rag = (v_setting.rag).name;
  v_setting.rerank_scores := rerank_scores;
  return v_setting;
end $$;

-- Returns what a run of an eval rests on, which stays so until the transaction ends. Raises RG404,
-- RG417, RG441.
create or replace function ragdb_internal.locked_setting(rag text, eval text, rerank_scores jsonb)
  returns ragdb_internal.eval_setting
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.contract_node('rag', rag);
  perform ragdb_internal.lock_evals(rag, false);
  return ragdb_internal.setting_of_eval(rag, eval, rerank_scores);
end $$;

-- Returns how the rag of an eval retrieves. Raises RG404.
create or replace function ragdb_internal.settings_of(eval ragdb.contract_nodes)
  returns ragdb.retriever_settings
language sql stable parallel safe
return ragdb_internal.retriever_settings(ragdb_internal.contract_node('retriever',
  (ragdb_internal.contract_node('rag', (eval).rag)).keys ->> 'retriever'));

-- Returns an eval that a user gives cases, how its rag retrieves, and the corpus, which the caller
-- may write. All of it stays so until the transaction ends. Who may not write waits for nobody, and
-- a contract that is applied during the wait may have taken the eval or changed its corpus. Raises
-- RG401, RG404, RG441.
create or replace function ragdb_internal.locked_eval(rag text, eval text,
  out node ragdb.contract_nodes, out settings ragdb.retriever_settings, out corpus ragdb.corpora)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  node := ragdb_internal.eval_node(rag, eval);
  corpus := ragdb_internal.open_corpus(
    (ragdb_internal.settings_of(node)).corpus, 'write', true);
  perform ragdb_internal.lock_evals(node.rag, true);
  node := ragdb_internal.eval_node(rag, eval);
  settings := ragdb_internal.settings_of(node);
  corpus := ragdb_internal.open_corpus(settings.corpus, 'write', true);
  perform ragdb_internal.hold_corpus(corpus.corpus_id);
  corpus := ragdb_internal.open_again(corpus, 'write', true);
end $$;

create or replace function ragdb.list_eval_cases(
  rag text, eval text default null, after integer default 0, count integer default null)
returns table (case_no integer, name text, origin text, query text, tags text[], k integer,
  min_score float8, anchor text, policy text, expected jsonb, asserts jsonb, labels jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting constant ragdb_internal.eval_setting := ragdb_internal.setting_of_eval(rag, eval);
  v_corpus_id constant integer := (v_setting.corpus).corpus_id;
begin
  perform ragdb_internal.check_listed(coalesce(count, 1), 'cases');
  return query
    select c.case_no, c.name, c.origin, c.query, c.tags, c.k, c.min_score, c.anchor, c.policy,
      c.expected, c.asserts, coalesce((
        select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('source', l.source,
          'start', l.start_offset, 'end', l.end_offset, 'grade', l.grade,
          'sha256', nullif(encode(l.span_hash, 'hex'), ''))) order by l.label_no)
        from ragdb.eval_labels l
        where l.corpus_id = v_corpus_id and l.rag = (v_setting.eval).rag
          and l.eval = (v_setting.eval).name and l.name = c.name), '[]')
    from ragdb_internal.eval_cases(v_setting.eval, v_corpus_id, null) c
    where c.case_no > coalesce(after, 0)
    order by c.case_no limit count;
end $$;
comment on function ragdb.list_eval_cases is
  'Lists the cases of an eval (the only one of the rag unless named) in the order in which a run '
  'takes them: origin is contract, imported or asked; expected is what a contract holds the case '
  'to (topK, minScore, chunkCount, sources), asserts what is tested beside it, labels what should '
  'be found (sha256: that of the characters of a span as it was labelled, without white space). '
  'A page begins after a case_no, and has at most count (1 to 10000; null: all). Raises '
  'RG400, RG404, RG417, RG441.';

-- Refuses a run of a reranked retriever without scores, and scores of another form. Raises RG415,
-- RG442.
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
