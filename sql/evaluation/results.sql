create or replace function ragdb.get_eval_run(run_id uuid) returns ragdb.eval_runs
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs;
begin
  select r.* into v_run from ragdb.eval_runs r join ragdb.corpora c on c.corpus_id = r.corpus_id
    where r.run_id = get_eval_run.run_id
      and ragdb_internal.privilege(c.corpus_id, c.personal_of, c.name) > 0;
  if not found then
    raise exception 'run % does not exist', ragdb_internal.quote(run_id::text)
      using errcode = 'RG443', detail = 'no run of that id is visible to role '
        || ragdb_internal.quote(ragdb_internal.caller()),
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
    where ragdb_internal.privilege(c.corpus_id, c.personal_of, c.name) > 0
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
  v_setting ragdb_internal.eval_setting := ragdb_internal.setting_of_eval(rag, eval);
begin
  if (v_setting.settings).mode not in ('semantic', 'hybrid') then
    return;
  end if;
  return query
    select (v_setting.corpus).name, q.query from (
      select c.query from ragdb_internal.eval_cases(v_setting.eval, (v_setting.corpus).corpus_id, tags) c
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
  v_setting ragdb_internal.eval_setting := ragdb_internal.setting_of_eval(rag, eval);
  v_settings ragdb.retriever_settings := v_setting.settings;
  v_case record;
begin
  if v_settings.reranker is null then
    return;
  end if;
  for v_case in
    select c.query, c.k, c.min_score, c.anchor,
      c.policy from ragdb_internal.eval_cases(v_setting.eval, (v_setting.corpus).corpus_id, tags) c
    union
    select n.keys ->> 'query', null, null, null, null from ragdb.contract_nodes n
    where n.contract = (v_setting.rag).contract and n.version = (v_setting.rag).version
      and n.node = 'ragAnswerContract' and n.rag = (v_setting.rag).name
    order by 1, 2, 3, 4, 5
  loop
    begin
      return query
        select v_settings.reranker, v_case.query, h.chunk_id,
          ragdb_internal.searched_text(d.title, c.heading, c.text)
        from unnest(case when v_case.anchor is null then array(
            select s.chunk_id from ragdb.search(v_settings.corpus, v_case.query,
              ragdb.rerank_depth(coalesce(v_case.k, v_settings.k)), v_settings.mode,
              coalesce(v_case.min_score, v_settings.min_score)) s)
          else array(
            select s.chunk_id from ragdb.search_slice(v_settings.corpus, v_case.query,
              anchor => v_case.anchor,
              policy => ragdb_internal.policy_reference(v_case.policy),
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
