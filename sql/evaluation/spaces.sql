-- Two spaces of a corpus beside each other: what a change of the model would change, before it is
-- made.

-- Returns the questions of the evals of a corpus in the order of their contracts, with their
-- labels.
create or replace function ragdb_internal.corpus_cases(corpus ragdb.corpora)
returns table (place bigint, query text, labels ragdb_internal.eval_label[])
language sql stable parallel safe
begin atomic
  select pg_catalog.row_number() over (order by e.contract, e.node_no, c.case_no), c.query,
    ragdb_internal.resolved_labels((corpus_cases.corpus).corpus_id, array(
      select l from ragdb_internal.case_labels(e, (corpus_cases.corpus).corpus_id, c.case_no,
        c.name) l))
  from ragdb.contract_nodes e
    join ragdb.contracts k on k.contract = e.contract and k.version = e.version and k.is_current
    join ragdb.contract_nodes r on r.contract = e.contract and r.version = e.version
      and r.node = 'rag' and r.name = e.rag
    join ragdb.contract_nodes t on t.contract = e.contract and t.version = e.version
      and t.node = 'retriever'
      and t.name = r.keys ->> 'retriever' and t.corpus = (corpus_cases.corpus).name
    cross join lateral ragdb_internal.eval_cases(e, (corpus_cases.corpus).corpus_id, null) c
  where e.node = 'ragEval' and c.anchor is null;
end;

-- Returns a ranking of chunks as the labels of one case see it.
create or replace function ragdb_internal.judged_items(corpus_id integer, chunk_nos integer[],
  labels ragdb_internal.eval_label[])
returns ragdb_internal.eval_item[]
language sql stable parallel safe
return array(
  select i from ragdb_internal.label_items(judged_items.corpus_id, array(
    select row((judged_items.labels)[1].case_no, n.rank::integer, c.chunk_id, c.source, null, null,
      null, null, null, d.doc_cid, c.start_offset, c.end_offset)::ragdb_internal.eval_hit
    from pg_catalog.unnest(judged_items.chunk_nos) with ordinality n (chunk_no, rank)
      join ragdb.chunks c on c.corpus_id = judged_items.corpus_id and c.chunk_no = n.chunk_no
      join ragdb.documents d on d.corpus_id = judged_items.corpus_id and d.doc_no = c.doc_no
    order by n.rank), judged_items.labels) i order by i.rank);

-- Questions are those that somebody wrote down; without any, what the corpus itself says stands in
-- for them.
create or replace function ragdb.space_questions(corpus text, count integer default 200)
returns table (origin text, query text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(space_questions.corpus, 'admin');
  v_askers constant ragdb_internal.asker[] := ragdb_internal.traced_askers();
begin
  perform ragdb_internal.check_listed(count, 'questions');
  return query
    select 'eval', q.query
    from (select distinct c.query from ragdb_internal.corpus_cases(v_corpus) c) q
    order by q.query collate "C" limit space_questions.count;
  if not found then
    return query
      select 'trace', t.query_text from ragdb.retrieval_traces t
      where t.corpus_id = v_corpus.corpus_id and t.query_text is not null and t.error_code is null
        and exists (select from unnest(v_askers) a where a is null
          or ragdb_internal.is_of_asker(t.caller, t.caller_oid, t.created_at, a))
      group by t.query_text order by max(t.id::text) desc limit space_questions.count;
  end if;
  if not found then
    return query
      select 'chunk', h.query from (
        select distinct coalesce(nullif(c.heading[cardinality(c.heading)], ''), nullif(d.title, ''),
          left(c.text, 200)) as query
        from (
          select (n * v_corpus.next_chunk_no::bigint / space_questions.count)::integer as chunk_no
          from generate_series(0, space_questions.count - 1) n) n
          cross join lateral (
            select k.heading, k.text, k.doc_no from ragdb.chunks k
            where k.corpus_id = v_corpus.corpus_id and k.chunk_no >= n.chunk_no
            order by k.chunk_no limit 1) c
          join ragdb.documents d on d.corpus_id = v_corpus.corpus_id and d.doc_no = c.doc_no) h
      where h.query ~ E'\\S' order by h.query collate "C";
  end if;
end $$;
comment on function ragdb.space_questions is
  'Returns up to count (1 to 10000) questions to compare two embedders of a corpus by: those of '
  'its evals, else recorded ones of the caller, or of all for an auditor (their text must have '
  'been kept), else headings and titles. '
  'Raises RG400, RG401, RG404.';

-- Returns the k best chunks of a corpus for a query by one of its spaces, semantic or hybrid, best
-- first.
create or replace function ragdb_internal.best_in_space(
  corpus ragdb.corpora, space ragdb.embedding_spaces, query text, embedding real[], k integer,
  mode text)
returns integer[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select r.chunk_no from (
      select s.*
      from ragdb_internal.rank_semantic(corpus, space, ragdb_internal.pgvector(embedding), k) s
      where mode = 'semantic'
      union all
      select h.*
      from unnest(ragdb_internal.rank_hybrid(corpus, corpus,
        ragdb_internal.without_clauses(query), space, ragdb_internal.pgvector(embedding), k, null,
        null, 'convex', ragdb_internal.lexical_weight(space.embedder_id), true)) h
      where mode = 'hybrid') r
      join ragdb.chunks c on c.corpus_id = corpus.corpus_id and c.chunk_no = r.chunk_no
    order by r.score desc, c.chunk_id limit k);
end $$;

-- Refuses arguments of a comparison of two spaces that are out of range. Raises RG400.
create or replace function ragdb_internal.check_comparison(queries text[], k integer, mode text)
  returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if k is null or k not between 1 and 100
    or not coalesce(ragdb_internal.uses_embeddings(mode), false)
    or queries is null or not ragdb_internal.is_list(queries) or cardinality(queries) > 10000
  then
    raise exception 'k, mode or queries is out of range'
      using errcode = 'RG400', detail = 'two spaces are compared by the k best of each query',
        hint = 'pass k from 1 to 100, mode semantic or hybrid, and at most 10000 queries';
  end if;
end $$;

-- Refuses what is not so many embeddings of an embedder, one behind the other. Raises RG418.
create or replace function ragdb_internal.check_query_embeddings(embeddings real[],
  embedder ragdb.embedders, count integer) returns void
language sql immutable parallel safe
return ragdb_internal.check_embeddings(check_query_embeddings.embeddings, (embedder).dims,
  (embedder).metric, array(
    select 'query ' || n from pg_catalog.generate_series(1, check_query_embeddings.count) n));

-- Returns the n-th (from 1) of embeddings that come one behind the other.
create or replace function ragdb_internal.nth_embedding(embeddings real[], dims integer, n integer)
  returns real[]
language sql immutable parallel safe
return embeddings[(nth_embedding.n - 1) * nth_embedding.dims + 1
  : nth_embedding.n * nth_embedding.dims];

-- Returns the share (0 to 1) of the longer of two lists that is in both; null for empty ones.
create or replace function ragdb_internal.share_in_both(a integer[], b integer[]) returns float8
language sql immutable parallel safe
return (select pg_catalog.count(*) from pg_catalog.unnest(a) n where n = any (b))::float8
  / nullif(greatest(pg_catalog.cardinality(a), pg_catalog.cardinality(b)), 0);

-- Returns the nDCG of a ranking of chunks by the labels of one case; null without a label.
create or replace function ragdb_internal.ndcg_of(corpus_id integer, chunk_nos integer[],
  labels ragdb_internal.eval_label[], k integer) returns float8
language sql stable parallel safe
return ragdb_internal.rank_metric('ndcg', ndcg_of.k,
  ragdb_internal.judged_items(ndcg_of.corpus_id, chunk_nos, labels),
  array(select l.grade from ragdb_internal.measuring_labels(labels) l order by l.grade desc));

create or replace function ragdb.compare_spaces(
  corpus text, embedder text, queries text[], current_embeddings real[], embeddings real[],
  k integer default 10, mode text default 'hybrid')
returns table (query text, overlap float8, current_ndcg float8, ndcg float8)
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(compare_spaces.corpus, 'admin');
  v_embedder constant ragdb.embedders := ragdb_internal.embedder(embedder);
  v_current constant ragdb.embedding_spaces := ragdb_internal.current_space(v_corpus);
  v_current_embedder ragdb.embedders;
  v_space ragdb.embedding_spaces;
  v_asked record;
  v_before integer[];
  v_after integer[];
begin
  perform ragdb_internal.check_comparison(queries, k, mode);
  v_space := ragdb_internal.space_of_embedder(v_corpus, v_embedder);
  select e.* into strict v_current_embedder from ragdb.embedders e
    where e.embedder_id = v_current.embedder_id;
  if queries <> '{}' then
    perform ragdb_internal.check_query_embeddings(current_embeddings, v_current_embedder,
      cardinality(queries));
    perform ragdb_internal.check_query_embeddings(embeddings, v_embedder, cardinality(queries));
  end if;
  for v_asked in
    -- of two cases that ask the same, the first
    select q.query, q.n::integer as n, c.labels
    from unnest(queries) with ordinality q (query, n)
      left join (
        select distinct on (c.query) c.* from ragdb_internal.corpus_cases(v_corpus) c
        order by c.query, c.place) c on c.query = q.query
    order by q.n
  loop
    query := v_asked.query;
    v_before := ragdb_internal.best_in_space(v_corpus, v_current, query,
      ragdb_internal.nth_embedding(current_embeddings, v_current_embedder.dims, v_asked.n), k,
      mode);
    v_after := ragdb_internal.best_in_space(v_corpus, v_space, query,
      ragdb_internal.nth_embedding(embeddings, v_embedder.dims, v_asked.n), k, mode);
    overlap := ragdb_internal.share_in_both(v_before, v_after);
    current_ndcg := ragdb_internal.ndcg_of(v_corpus.corpus_id, v_before, v_asked.labels, k);
    ndcg := ragdb_internal.ndcg_of(v_corpus.corpus_id, v_after, v_asked.labels, k);
    return next;
  end loop;
end $$;
comment on function ragdb.compare_spaces is
  'Compares the current space of a corpus with its space of another embedder, query by query: the '
  'share of the k (1 to 100) best that both find (0 to 1), and the nDCG of each where an eval of '
  'the corpus labels the query; mode is semantic or hybrid, embeddings of the queries by both '
  'embedders come one behind the other. Raises RG400, RG401, RG404, RG415, RG416, RG418.';
