-- Validation of a contract: all breaches of its rules, in the words of ragdb_internal.rule_words(),
-- in the order of its lines.

-- Returns the best score of each of the last 1,000 recorded retrievals of a corpus in a mode; where
-- one found nothing, the threshold (below) that its best score did not reach. What a threshold has
-- to be compared with: the scores of what ranked first lately. A retrieval that found nothing has
-- none, and tells that its best score was below the threshold it had. The hits of a thousand
-- retrievals are looked up: there may be millions of others.
create or replace function ragdb_internal.top_scores(corpus_id integer, mode text)
returns table (score float8, below float8)
language sql stable parallel safe
set enable_nestloop = on
begin atomic
  select h.score, case when h.score is null then t.min_score end
  from (
    select t.id, t.created_at, t.min_score from ragdb.retrieval_traces t
    where t.corpus_id = top_scores.corpus_id and t.retrieval_mode = 'global'
      and t.rank_mode = top_scores.mode and t.error_code is null
    order by t.id desc limit 1000) t
    left join ragdb.retrieval_hits h on h.corpus_id = top_scores.corpus_id and h.trace_id = t.id
      and h.created_at = t.created_at and h.rank = 1;
end;

-- Returns the retrievers and cases whose minScore few queries of their corpus reach; only of
-- corpora that the caller may read. Twenty retrievals are the fewest that say how scores are
-- distributed.
create or replace function ragdb_internal.breaches_of_thresholds(
  items ragdb_internal.contract_item[])
returns setof ragdb_internal.breach
language sql stable parallel safe
begin atomic
  with thresholds as materialized (
    select n as item, u.rule, n.keys ->> 'minScore' as written,
      ragdb_internal.number(n.keys ->> 'minScore', 0, 1) as min_score,
      ragdb_internal.contract_slug(t.corpus) as corpus,
      ragdb_internal.retriever_mode(t.keys) as mode
    from pg_catalog.unnest(items) n
      join (values
        ('retriever', 'rag-retriever-minscore-unreachable'),
        ('ragCase', 'rag-case-minscore-unreachable')) u (node, rule) on u.node = n.node
      left join pg_catalog.unnest(items) r on r.node = 'rag' and r.name = n.rag
      join pg_catalog.unnest(items) t on t.node = 'retriever'
        and t.name = case n.node when 'retriever' then n.name else r.keys ->> 'retriever' end
    where n.keys ? 'minScore'
  ), reached as materialized (
    select w.corpus, w.mode, w.min_score, s.n
    from (select distinct t.corpus, t.mode, t.min_score from thresholds t) w
      join ragdb.corpora c on c.corpus_id = ragdb_internal.corpus_number(w.corpus)
        and ragdb_internal.privilege(c) > 0
      cross join lateral (
        select pg_catalog.count(*) as n,
          pg_catalog.count(*) filter (where s.score >= w.min_score) as enough
        from ragdb_internal.top_scores(c.corpus_id, w.mode) s
        where s.score is not null or s.below between 1e-9 and w.min_score) s
    where s.n >= 20 and s.enough < 0.05 * s.n
  )
  select ragdb_internal.breach(t.rule, t.item, 'minScore',
    array[t.written, ragdb_internal.quote(t.corpus), r.n::text], words => 'minscore-unreachable')
  from thresholds t
    join reached r on r.corpus = t.corpus and r.mode = t.mode and r.min_score = t.min_score;
end;

-- Returns the retrievers that name a reranker which was not bound.
create or replace function ragdb_internal.breaches_of_rerankers(
  items ragdb_internal.contract_item[])
returns setof ragdb_internal.breach
language sql stable parallel safe
begin atomic
  select ragdb_internal.breach('rag-retriever-rerank-invalid', n, 'rerank',
    array[ragdb_internal.quote(n.keys ->> 'rerank')],
    ragdb_internal.meant_name(pg_catalog.row_number() over (order by n.node_no),
      n.keys ->> 'rerank', array(select r.name from ragdb.rerankers r)))
  from pg_catalog.unnest(items) n
  where n.node = 'retriever' and n.keys ->> 'rerank' <> 'none'
    and not exists (select from ragdb.rerankers r where r.name = n.keys ->> 'rerank');
end;

-- Returns every breach of a rule by the nodes of a contract, in no order. The planner takes the
-- nodes for few, and would go through all for each.
create or replace function ragdb_internal.contract_breaches(items ragdb_internal.contract_item[])
  returns setof ragdb_internal.breach
language sql stable parallel safe
set enable_nestloop = off
begin atomic
  with n as materialized (select ragdb_internal.contract_names(items) as declared)
  select b.* from ragdb_internal.breaches_of_form(items) b
  union all select b.* from ragdb_internal.breaches_of_keys(items) b
  union all select b.* from ragdb_internal.breaches_of_names(items) b
  union all select b.* from n, ragdb_internal.breaches_of_corpora(items, n.declared) b
  union all select b.* from ragdb_internal.breaches_of_sources(items) b
  union all select b.* from ragdb_internal.breaches_of_chunkings(items) b
  union all select b.* from ragdb_internal.breaches_of_retrievers(items) b
  union all select b.* from n, ragdb_internal.breaches_of_rags(items, n.declared) b
  union all select b.* from n, ragdb_internal.breaches_of_evals(items, n.declared) b
  union all select b.* from ragdb_internal.breaches_of_kinds(items) b
  union all select b.* from n, ragdb_internal.breaches_of_assertions(items, n.declared) b
  union all select b.* from n, ragdb_internal.breaches_of_answers(items, n.declared) b
  union all select b.* from ragdb_internal.breaches_of_tools(items) b
  union all select b.* from n, ragdb_internal.breaches_of_retrieves(items, n.declared) b
  union all select b.* from n, ragdb_internal.breaches_of_output(items, n.declared) b
  union all select b.* from ragdb_internal.breaches_of_fields(items) b
  union all select b.* from ragdb_internal.breaches_of_thresholds(items) b
  union all select b.* from ragdb_internal.breaches_of_rerankers(items) b;
end;

-- Returns breaches by nodes in words, in the order of their lines.
create or replace function ragdb_internal.told_breaches(items ragdb_internal.contract_item[],
  breaches ragdb_internal.breach[])
returns table (rule text, severity text, node text, line integer, "column" integer, message text,
  hint text)
language sql immutable parallel safe
begin atomic
  select b.rule, w.severity, i.node, i.line,
    coalesce(ragdb_internal.whole(i.columns ->> b.key, 1, 10000000)::integer, i."column"),
    pg_catalog.format(w.message, variadic b.title || b.details),
    case when b.nearest is null then pg_catalog.format(w.hint, variadic b.title || b.details)
      else 'did you mean ' || b.nearest || '?' end
  from pg_catalog.unnest(breaches) b
    join ragdb_internal.rule_words() w on w.words = b.words
    left join pg_catalog.unnest(items) i on i.node_no = b.node_no
  order by i.line nulls first, 5, w.severity, b.rule, 6;
end;

-- Definer: it looks at rerankers, and at those corpora and recorded scores that the caller may
-- read. Its plans are kept for the next contract: to make them takes longer than to validate one.
create or replace function ragdb.validate_contract(contract jsonb)
returns table (rule text, severity text, node text, line integer, "column" integer, message text,
  hint text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_items ragdb_internal.contract_item[] := '{}';
  v_breaches ragdb_internal.breach[];
begin
  if contract is null then
    raise exception 'contract is null'
      using errcode = 'RG400', detail = 'there is nothing to validate',
        hint = 'pass {"contract": name, "nodes": […]}';
  end if;
  if not ragdb_internal.is_contract(contract) then
    v_breaches := array[ragdb_internal.breach('contract-malformed', null,
      words => 'unreadable')];
  elsif contract -> 'nodes' = '[]' then
    v_breaches := array[ragdb_internal.breach('contract-empty', null)];
  else
    v_items := array(select i from ragdb_internal.contract_items(contract) i);
    v_breaches := array(select b from ragdb_internal.contract_breaches(v_items) b);
  end if;
  return query select t.* from ragdb_internal.told_breaches(v_items, v_breaches) t;
end $$;
comment on function ragdb.validate_contract(jsonb) is
  'Returns everything that is wrong with a contract, {"contract": name, "nodes": [{"node", "keys", '
  '"children", "line", "column"}]}, in the order of its lines: the rule, error or warning, where, '
  'what is wrong and what to do. A contract without a row of severity error can be applied, unless '
  'a right, a role, an embedder of a corpus or another contract does not allow it. Raises RG400.';

-- Raises RG440 with the first problem of a contract and the number of all.
create or replace function ragdb_internal.refuse_contract(name text, rule text, line integer,
  "column" integer, message text, hint text, errors bigint) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'contract %: %', ragdb_internal.quote(name), message
    using errcode = 'RG440',
      detail = format('rule %s%s; %s error(s) in all', rule, coalesce(' in line ' || line
        || coalesce(', column ' || "column", ''), ''), errors),
      hint = coalesce(hint || '; ', '') || 'ragdb.validate_contract() lists them all';
end $$;

-- Returns problems of a text in words, as ragdb.validate_contract does.
create or replace function ragdb_internal.problem_rows(problems ragdb_internal.syntax_problem[])
returns table (rule text, severity text, node text, line integer, "column" integer, message text,
  hint text)
language sql immutable parallel safe
begin atomic
  select 'contract-syntax', w.severity, null::text, p.line, p."column",
    pg_catalog.format(w.message, variadic ''::text || p.details),
    pg_catalog.format(w.hint, variadic ''::text || p.details)
  from pg_catalog.unnest(problems) with ordinality p (line, "column", words, details, n)
    join ragdb_internal.rule_words() w on w.words = p.words
  order by p.n;
end;

-- Definer: it calls private functions, and reads and writes nothing.
create or replace function ragdb.parse_contract(contract text,
  contract_name text default 'contract')
returns jsonb
language plpgsql immutable security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_read constant ragdb_internal.contract_text :=
    ragdb_internal.read_contract(contract, contract_name);
begin
  if v_read.contract is null then
    perform ragdb_internal.refuse_contract(contract_name, p.rule, p.line, p."column", p.message,
        p.hint, cardinality(v_read.problems))
      from ragdb_internal.problem_rows(v_read.problems[:1]) p;
  end if;
  return v_read.contract;
end $$;
comment on function ragdb.parse_contract is
  'Returns the text of a contract (up to 10000000 characters, in the line syntax or as JSON) as '
  '{"contract": name, "nodes": [{"node", "line", "column", "keys", "columns", "children"}]}, which '
  'ragdb.apply_contract takes; lines and columns count from 1, and a column is a character. What '
  'the nodes mean is not checked. Raises RG400, RG413, RG440.';

-- Definer: as the other.
create or replace function ragdb.validate_contract(contract text,
  contract_name text default 'contract')
returns table (rule text, severity text, node text, line integer, "column" integer, message text,
  hint text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_read constant ragdb_internal.contract_text :=
    ragdb_internal.read_contract(contract, contract_name);
begin
  if v_read.contract is null then
    return query select p.* from ragdb_internal.problem_rows(v_read.problems) p;
  else
    return query
      select p.* from ragdb.validate_contract(case when ragdb_internal.is_json(contract)
        then ragdb_internal.placed_nodes(contract, v_read.contract) else v_read.contract end) p;
  end if;
end $$;
comment on function ragdb.validate_contract(text, text) is
  'Returns everything that is wrong with the text of a contract, in the order of its lines, as '
  'ragdb.validate_contract does for a contract in JSON. Rows of rule contract-syntax (the first '
  '1000) say what cannot be read; as long as there are any, there are no others. Raises RG400, '
  'RG413.';
