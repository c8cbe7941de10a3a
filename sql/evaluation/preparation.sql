-- What a run needs that no database makes: embeddings of queries, scores of a reranker.

-- What has to be embedded before a run by meaning.
create or replace function ragdb.eval_queries(rag text, eval text default null,
  tags text[] default null)
returns table (corpus text, query text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting ragdb_internal.eval_setting := ragdb_internal.setting_of_eval(rag, eval);
begin
  if not ragdb_internal.uses_embeddings((v_setting.settings).mode)
    or ragdb_internal.is_static((ragdb_internal.space(
      ragdb_internal.embedded_as(v_setting.corpus), 'current')).embedder_id)
  then
    return;
  end if;
  return query
    select (v_setting.corpus).name, q.query from (
      select c.query
      from ragdb_internal.eval_cases(v_setting.eval, (v_setting.corpus).corpus_id, tags) c
      union
      select n.keys ->> 'query' from ragdb.contract_nodes n
      where n.contract = (v_setting.rag).contract and n.version = (v_setting.rag).version
        and n.node = 'ragAnswerContract' and n.rag = (v_setting.rag).name) q
    order by q.query collate "C";
end $$;
comment on function ragdb.eval_queries is
  'Returns the queries that a run needs the embeddings of; none when its retriever ranks by words '
  'or a static embedder makes them. '
  'Raises RG404, RG417, RG441.';

-- Returns the chunks that a reranker has to score for a case, with their passages.
create or replace function ragdb_internal.case_candidates(setting ragdb_internal.eval_setting,
  query text, k integer, min_score float8, anchor text, policy text)
returns table (chunk_id text, passage text)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_settings constant ragdb.retriever_settings := setting.settings;
  v_depth constant integer := ragdb.rerank_depth(coalesce(k, v_settings.k));
  v_min_score constant float8 := coalesce(min_score, v_settings.min_score);
  v_found text[];
begin
  if anchor is null then
    v_found := array(
      select s.chunk_id from ragdb.search(v_settings.corpus, query, v_depth, v_settings.mode,
        v_min_score) s);
  else
    v_found := array(
      select s.chunk_id from ragdb.search_slice(v_settings.corpus, query, anchor => anchor,
        policy => ragdb_internal.policy_reference(policy), k => v_depth,
        mode => v_settings.mode, min_score => v_min_score) s);
  end if;
  return query
    select c.chunk_id, ragdb_internal.searched_text(d.title, c.heading, c.text)
    from unnest(v_found) h (chunk_id)
      cross join lateral ragdb_internal.chunk_of((setting.corpus).corpus_id, h.chunk_id) c
      join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no;
end $$;

-- What has to be scored before a reranked run. A query that cannot be searched has none, and fails
-- its case in the run.
create or replace function ragdb.eval_candidates(rag text, eval text default null,
  tags text[] default null)
returns table (reranker text, query text, chunk_id text, passage text)
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting constant ragdb_internal.eval_setting := ragdb_internal.setting_of_eval(rag, eval);
  v_case record;
begin
  if (v_setting.settings).reranker is null then
    return;
  end if;
  for v_case in
    select c.query, c.k, c.min_score, c.anchor, c.policy
    from ragdb_internal.eval_cases(v_setting.eval, (v_setting.corpus).corpus_id, tags) c
    union
    select n.keys ->> 'query', null, null, null, null from ragdb.contract_nodes n
    where n.contract = (v_setting.rag).contract and n.version = (v_setting.rag).version
      and n.node = 'ragAnswerContract' and n.rag = (v_setting.rag).name
    order by 1, 2, 3, 4, 5
  loop
    begin
      return query
        select (v_setting.settings).reranker, v_case.query, c.chunk_id, c.passage
        from ragdb_internal.case_candidates(v_setting, v_case.query, v_case.k, v_case.min_score,
          v_case.anchor, v_case.policy) c;
    exception when sqlstate 'RG000' or data_exception then
      null;
    end;
  end loop;
end $$;
comment on function ragdb.eval_candidates is
  'Returns what a reranker has to score for a run: its name, and each query with the chunks that '
  'the retriever finds (four times topK, at most 1000) and the passages to give it; nothing when '
  'the retriever declares none. Raises RG404, RG417, RG441.';
