-- The cases of contracts in force, as rows beside those that users give an eval. What a contract
-- declares is read from its nodes here and nowhere else: runs read the rows.

-- Has whoever writes cases of the evals of a rag (is_writer) and whoever runs them wait for each
-- other until the transaction ends. Runs read cases and labels by several statements, hence from
-- several states: whoever writes cases waits for them, and they for it. A rag is of one contract in
-- force.
create or replace function ragdb_internal.lock_evals(rag text, is_writer boolean) returns void
language sql
return ragdb_internal.hold('evals of ' || lock_evals.rag, not is_writer);

-- Returns the cases that a version of a contract declares, with the corpora that they search, as
-- far as these exist. All is hashed: of a version that is new the planner expects one row, and
-- would go through all assertions for each case.
create or replace function ragdb_internal.declared_cases(contract text, version integer)
returns table (corpus_id integer, rag text, eval text, name text, ordinal integer, query text,
  tags text[], k integer, min_score float8, chunk_count integer, anchor text, policy text,
  asserts jsonb, sources text[])
language sql stable parallel safe
set enable_nestloop = off
set enable_mergejoin = off
begin atomic
  with n as materialized (
    select x.* from ragdb.contract_nodes x
    where x.contract = declared_cases.contract and x.version = declared_cases.version
      and x.node in ('retriever', 'rag', 'ragEval')
  ), asserted as materialized (
    select x.parent_no, pg_catalog.jsonb_agg(x.keys order by x.node_no) as asserts
    from ragdb.contract_nodes x
    where x.contract = declared_cases.contract and x.version = declared_cases.version
      and x.node = 'ragAssert'
    group by x.parent_no
  )
  select o.corpus_id, e.rag, e.name, c.name,
    pg_catalog.row_number() over (partition by e.node_no order by c.node_no)::integer,
    c.keys ->> 'query', ragdb_internal.list(coalesce(c.keys ->> 'tags', '')),
    (c.keys ->> 'topK')::integer, (c.keys ->> 'minScore')::float8,
    (c.keys ->> 'chunkCount')::integer, c.keys ->> 'anchor', c.keys ->> 'policy',
    coalesce(a.asserts, '[]'), ragdb_internal.list(coalesce(c.keys ->> 'sources', ''))
  from n e
    join ragdb.contract_nodes c on c.contract = e.contract and c.version = e.version
      and c.parent_no = e.node_no and c.node = 'ragCase'
    left join asserted a on a.parent_no = c.node_no
    join n g on g.node = 'rag' and g.name = e.rag
    join n r on r.node = 'retriever' and r.name = g.keys ->> 'retriever'
    join ragdb.contracts k on k.contract = c.contract and k.version = c.version
    join ragdb.corpora o on o.name = r.corpus and (o.personal_of is null
      or (o.personal_of, o.personal_oid) = (k.applied_by, k.applied_by_oid))
  where e.node = 'ragEval';
end;

-- Stores the cases that a version of a contract declares, of one corpus or of all (null), with
-- their sources as labels.
create or replace function ragdb_internal.put_declared_cases(contract text, version integer,
  corpus_id integer default null) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into ragdb.eval_cases (corpus_id, rag, eval, name, origin, contract, contract_version,
      ordinal, query, tags, k, min_score, chunk_count, anchor, policy, asserts)
    select d.corpus_id, d.rag, d.eval, d.name, 'contract', put_declared_cases.contract,
      put_declared_cases.version, d.ordinal, d.query, d.tags, d.k, d.min_score, d.chunk_count,
      d.anchor, d.policy, d.asserts
    from ragdb_internal.declared_cases(contract, version) d
    where d.corpus_id = coalesce(put_declared_cases.corpus_id, d.corpus_id);
  insert into ragdb.eval_labels (corpus_id, rag, eval, name, label_no, source, grade)
    select d.corpus_id, d.rag, d.eval, d.name,
      row_number() over (partition by d.corpus_id, d.rag, d.eval, d.name order by min(s.n)),
      s.source, 1
    from ragdb_internal.declared_cases(contract, version) d
      cross join lateral unnest(d.sources) with ordinality s (source, n)
    where d.corpus_id = coalesce(put_declared_cases.corpus_id, d.corpus_id)
    group by d.corpus_id, d.rag, d.eval, d.name, s.source;
end $$;

-- Refuses a version of a contract that declares a case whose name an imported or asked one has.
-- Raises RG409.
create or replace function ragdb_internal.check_declared_cases(contract text, version integer)
  returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_taken record;
begin
  select c.rag, c.eval, c.name, c.origin into v_taken
    from ragdb_internal.declared_cases(contract, version) d
      join ragdb.eval_cases c on c.corpus_id = d.corpus_id and c.rag = d.rag and c.eval = d.eval
        and c.name = d.name and c.contract is distinct from check_declared_cases.contract
    order by c.rag, c.eval, c.name limit 1;
  if found then
    raise exception 'eval % of rag % has a case % already', ragdb_internal.quote(v_taken.eval),
        ragdb_internal.quote(v_taken.rag), ragdb_internal.quote(v_taken.name)
      using errcode = 'RG409',
        detail = case v_taken.origin when 'asked' then 'it was made of a question'
          else 'it was imported' end || ', and a contract does not replace it',
        hint = 'give the case of the contract another name, or import the cases of the eval '
          'without it';
  end if;
end $$;

-- Puts the cases of a new version of a contract in the place of those of the version before, under
-- ragdb_internal.lock_evals. Raises RG409.
create or replace function ragdb_internal.replace_declared_cases(contract text, version integer)
  returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from ragdb.eval_cases c where c.contract = replace_declared_cases.contract;
  perform ragdb_internal.check_declared_cases(contract, version);
  perform ragdb_internal.put_declared_cases(contract, version);
end $$;

-- Whether a contract, in force or not, has a retriever of a corpus of that name.
create or replace function ragdb_internal.is_declared(corpus text) returns boolean
language sql stable parallel safe
return exists (select from ragdb.contract_nodes n
  where n.node = 'retriever' and n.corpus = is_declared.corpus);

-- Whether a contract that the caller did not apply, in force or not, has a corpus of that name.
create or replace function ragdb_internal.is_declared_by_others(corpus text) returns boolean
language sql stable parallel safe
return exists (
  select from ragdb.contract_nodes n
    join ragdb.contracts k on k.contract = n.contract and k.version = n.version
  where n.node = 'corpus' and n.corpus = is_declared_by_others.corpus
    and not (ragdb_internal.is_role(k.applied_by, k.applied_by_oid) and coalesce(
      pg_catalog.pg_has_role(ragdb_internal.caller_oid(), k.applied_by_oid, 'usage'), false)));

-- Stores the cases of the contracts in force that search a corpus which was dropped and is made
-- again; no other version is put in force since ragdb_internal.insert_corpus.
create or replace function ragdb_internal.restore_declared_cases(corpus_id integer, corpus text)
  returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not ragdb_internal.is_declared(restore_declared_cases.corpus) then
    return;
  end if;
  perform ragdb_internal.put_declared_cases(k.contract, k.version, restore_declared_cases.corpus_id)
    from ragdb.contracts k
    where k.is_current and exists (
      select from ragdb.contract_nodes n
      where n.contract = k.contract and n.version = k.version and n.node = 'retriever'
        and n.corpus = restore_declared_cases.corpus);
end $$;
