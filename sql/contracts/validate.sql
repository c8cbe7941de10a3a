-- Scores of what ranked first in this corpus lately: what a threshold has to be compared with.
create or replace function ragdb_internal.top_scores(corpus_id integer, mode text) returns float8[]
language sql stable parallel safe
return array(
  select h.score from (
    select t.id, t.created_at from ragdb.retrieval_traces t
    where t.corpus_id = top_scores.corpus_id and t.retrieval_mode = 'global'
      and t.rank_mode = top_scores.mode and t.error_code is null
    order by t.id desc limit 1000) t
  join ragdb.retrieval_hits h on h.corpus_id = top_scores.corpus_id and h.trace_id = t.id
    and h.created_at = t.created_at and h.rank = 1);
comment on function ragdb_internal.top_scores(integer, text) is
  'Returns the best score of each of the last 1,000 recorded retrievals of a corpus in a mode.';

-- Definer: it looks at rerankers, and at corpora and their recorded scores, of those only that the
-- caller may read.
create or replace function ragdb.validate_contract(contract jsonb)
returns table (rule text, severity text, node text, line integer, "column" integer, message text,
  hint text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_items ragdb_internal.contract_item[];
begin
  if contract is null then
    raise exception 'contract is null'
      using errcode = 'RG400', detail = 'there is nothing to validate',
        hint = 'pass {"contract": name, "nodes": […]}';
  end if;
  if not ragdb_internal.is_contract(contract) then
    return query select 'contract-malformed', 'error', null::text, null::integer, null::integer,
      'the contract is not {"contract": name, "nodes": […]}',
        'a name has 1 to 128 of A-Z, a-z, 0-9, . _ -';
    return;
  end if;
  v_items := array(select i from ragdb_internal.contract_items(contract) i);
  if v_items = '{}' then
    return query select 'contract-empty', 'error', null::text, null::integer, null::integer,
      'the contract has no node', 'begin with: corpus name=…';
  end if;
  return query
    select p.rule, p.severity, i.node,
      i.line, coalesce(ragdb_internal.whole(i.columns ->> p.key, 1, 10000000)::integer, i."column"),
        p.message, p.hint
    from ragdb_internal.contract_problems(v_items) p join unnest(v_items) i on i.node_no = p.node_no
    union all
    select 'rag-' || case i.node when 'ragCase' then 'case'
      else 'retriever' end || '-minscore-unreachable', 'warning', i.node, i.line,
      coalesce(ragdb_internal.whole(i.columns ->> 'minScore', 1, 10000000)::integer, i."column"),
      format('minScore %s is above the 95th percentile of the best scores of corpus %s (%s)',
        i.keys ->> 'minScore',
        ragdb_internal.quote(c.name), round(q.p95::numeric, 3)),
      'few queries reach it: the guide says how scores are distributed'
    from unnest(v_items) i
      left join unnest(v_items) e on e.node_no = i.parent_no
      left join unnest(v_items) r on r.node = 'rag' and r.name = i.rag
      join unnest(v_items) t on t.node = 'retriever'
        and t.name = case i.node when 'retriever' then i.name else r.keys ->> 'retriever' end
      join ragdb.corpora c on c.name = ragdb_internal.contract_slug(t.corpus)
        and c.personal_of is not distinct from case when c.name = 'personal'
          then ragdb_internal.caller() end
        and ragdb_internal.privilege(c.corpus_id, c.personal_of, c.name) > 0
      cross join lateral (select percentile_cont(0.95) within group (order by s.score) as p95,
        count(*) as n
        from unnest(ragdb_internal.top_scores(c.corpus_id,
          coalesce(t.keys ->> 'mode', case when t.keys ? 'embed' then 'hybrid' else 'lexical' end)))
          s (score)) q
    where i.node in ('retriever', 'ragCase') and q.n >= 20
      and ragdb_internal.number(i.keys ->> 'minScore', 0, 1) > q.p95
    union all
    select 'rag-retriever-rerank-invalid', 'error', i.node, i.line,
      coalesce(ragdb_internal.whole(i.columns ->> 'rerank', 1, 10000000)::integer, i."column"),
      format('rerank of retriever %s is %s, not none or a reranker that was bound',
        ragdb_internal.quote(i.name), ragdb_internal.quote(i.keys ->> 'rerank')),
      coalesce('did you mean ' || ragdb_internal.nearest_name(i.keys ->> 'rerank',
        array(select r.name from ragdb.rerankers r)) || '?',
        'ragdb reranker bind makes one')
    from unnest(v_items) i
    where i.node = 'retriever' and i.keys ->> 'rerank' <> 'none'
      and not exists (select from ragdb.rerankers r where r.name = i.keys ->> 'rerank')
    order by 4 nulls first, 5, 2, 1, 6;
end $$;
comment on function ragdb.validate_contract(jsonb) is
  'Returns everything that is wrong with a contract, {"contract": name, "nodes": [{"node", "keys", '
  '"children", "line", "column"}]}, in the order of its lines: the rule, error or warning, where, '
  'what and what to do. No row with severity error: it can be applied. Raises RG400.';
