-- Breaches of the rules about retrievers, rags and groundings.

-- Returns the retrievers whose embed is missing, unknown or of another corpus.
create or replace function ragdb_internal.breaches_of_retrievers(
  items ragdb_internal.contract_item[])
returns setof ragdb_internal.breach
language sql immutable parallel safe
begin atomic
  with embeds as materialized (
    select n.name, pg_catalog.min(n.corpus) as corpus
    from pg_catalog.unnest(items) n where n.node = 'embed' group by n.name
  ), retrievers as materialized (
    select n as item, n.corpus, n.keys, n.keys ->> 'embed' as embed
    from pg_catalog.unnest(items) n where n.node = 'retriever'
  )
  select ragdb_internal.breach('rag-retriever-unknown-embed', r.item, 'embed',
    array[ragdb_internal.quote(r.embed)],
    ragdb_internal.meant_name(pg_catalog.row_number() over (order by (r.item).node_no),
      r.embed, array(select e.name from embeds e)))
  from retrievers r
  where r.keys ? 'embed' and not exists (select from embeds e where e.name = r.embed)
  union all
  select ragdb_internal.breach('rag-retriever-embed-corpus-mismatch', r.item, 'embed',
    array[ragdb_internal.quote(r.corpus), ragdb_internal.quote(e.corpus)])
  from retrievers r join embeds e on e.name = r.embed where e.corpus <> r.corpus
  union all
  select ragdb_internal.breach('rag-retriever-embed-required', r.item, 'mode',
    array[r.keys ->> 'mode'])
  from retrievers r
  where ragdb_internal.uses_embeddings(r.keys ->> 'mode') and not r.keys ? 'embed';
end;

-- Returns the nodes whose rag is missing or unknown, the rags whose retriever is unknown or whose
-- grounding does not require citations as they do, and the second groundings of a rag.
create or replace function ragdb_internal.breaches_of_rags(items ragdb_internal.contract_item[],
  declared ragdb_internal.contract_names)
returns setof ragdb_internal.breach
language sql immutable parallel safe
begin atomic
  with parts as (
    select n as item, n.rag, u.missing, u.unknown
    from pg_catalog.unnest(items) n
      join (values
        ('grounding', 'rag-grounding-missing-rag', 'rag-grounding-unknown-rag'),
        ('ragEval', 'rag-eval-missing-rag', 'rag-eval-unknown-rag'),
        ('ragAnswerContract', 'rag-answer-contract-missing-rag', 'rag-answer-contract-unknown-rag')
      ) u (node, missing, unknown) on u.node = n.node
  )
  select ragdb_internal.breach(p.missing, p.item, words => 'no-rag')
  from parts p where p.rag is null
  union all
  select ragdb_internal.breach(p.unknown, p.item, 'rag', array[ragdb_internal.quote(p.rag)],
    ragdb_internal.meant_name(pg_catalog.row_number() over (order by (p.item).node_no),
      p.rag, (declared).rags), 'unknown-rag')
  from parts p where p.rag is not null and p.rag <> all ((declared).rags)
  union all
  select ragdb_internal.breach('rag-unknown-retriever', n, 'retriever',
    array[ragdb_internal.quote(n.keys ->> 'retriever')],
    ragdb_internal.meant_name(pg_catalog.row_number() over (order by n.node_no),
      n.keys ->> 'retriever', (declared).retrievers),
    'unknown-retriever')
  from pg_catalog.unnest(items) n
  where n.node = 'rag' and (n.keys ->> 'retriever') ~ '\S'
    and n.keys ->> 'retriever' <> all ((declared).retrievers)
  union all
  select ragdb_internal.breach('rag-citations-require-grounding', n, 'citations')
  from pg_catalog.unnest(items) n
  where n.node = 'rag' and n.keys ->> 'citations' = 'true'
    and coalesce(n.name <> all ((declared).grounded_rags), true)
  union all
  select ragdb_internal.breach('rag-grounding-duplicate', g.item,
    details => array[ragdb_internal.quote((g.item).rag)])
  from (
    select n as item, pg_catalog.row_number() over (partition by n.rag order by n.node_no) as nth
    from pg_catalog.unnest(items) n where n.node = 'grounding' and n.rag is not null) g
  where g.nth > 1;
end;
