-- Contracts against the hashes that they were applied with, and their cases against their nodes.

-- Says in what a version of a contract differs from what was applied; null when in nothing.
create or replace function ragdb_internal.contract_problem(contract text, version integer)
returns text
language sql stable parallel safe
begin atomic
  with stored as (
    select c.corpus_id, c.rag, c.eval, c.name, c.ordinal, c.query, c.tags, c.k, c.min_score,
      c.chunk_count, c.anchor, c.policy, c.asserts, array(
        select l.source from ragdb.eval_labels l
        where (l.corpus_id, l.rag, l.eval, l.name) = (c.corpus_id, c.rag, c.eval, c.name)
        order by l.label_no) as sources
    from ragdb.eval_cases c
    where c.contract = contract_problem.contract and c.contract_version = contract_problem.version
  ), declared as (
    select d.corpus_id, d.rag, d.eval, d.name, d.ordinal, d.query, d.tags, d.k, d.min_score,
      d.chunk_count, d.anchor, d.policy, d.asserts, array(
        select s.source from pg_catalog.unnest(d.sources) with ordinality s (source, n)
        group by s.source order by min(s.n)) as sources
    from ragdb_internal.declared_cases(contract_problem.contract, contract_problem.version) d
  )
  select case
      when k.nodes_hash is distinct from ragdb_internal.stored_items_hash(k.contract, k.version)
        then 'its nodes are not those that were applied'
      when k.is_current and exists (select from ragdb.contracts n
          where n.contract = k.contract and n.version > k.version)
        then 'a later version was in force'
      when k.is_current and exists (
          (select * from stored except select * from declared)
          union all (select * from declared except select * from stored))
        then 'its cases are not those that it declares' end
    from ragdb.contracts k
    where k.contract = contract_problem.contract and k.version = contract_problem.version;
end;

-- Compares the contracts in all their versions with their hashes, and the cases of those in force
-- with their nodes.
create or replace function ragdb_internal.verify_contracts(after jsonb, most integer)
returns ragdb_internal.verified
language sql stable parallel safe
return (
  select row(count(*), null, coalesce(pg_catalog.array_agg(row('contracts', 'error',
      pg_catalog.format('contract %s, version %s', k.contract, k.version), p.problem,
      'apply it again from its file')::ragdb.finding order by k.contract, k.version)
    filter (where p.problem is not null), '{}'))::ragdb_internal.verified
  from ragdb.contracts k
    cross join lateral ragdb_internal.contract_problem(k.contract, k.version) p (problem));
