-- Two spaces of a corpus beside each other: what a change of the model would change, before it is
-- made.

create or replace function ragdb_internal.corpus_cases(corpus ragdb.corpora)
returns table (query text, labels ragdb_internal.eval_label[])
language sql stable parallel safe
begin atomic
  select c.query, ragdb_internal.resolved_labels((corpus_cases.corpus).corpus_id, array(
    select l from ragdb_internal.case_labels(e, (corpus_cases.corpus).corpus_id, c.case_no, c.name,
      c.expected, c.is_imported) l))
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
comment on function ragdb_internal.corpus_cases(ragdb.corpora) is
  'Returns the questions of the evals of a corpus with their labels.';

create or replace function ragdb_internal.judged_items(corpus_id integer, chunk_nos integer[],
  labels ragdb_internal.eval_label[])
returns ragdb_internal.eval_item[]
language sql stable parallel safe
return array(
  select i from ragdb_internal.label_items(judged_items.corpus_id, array(
    select row((judged_items.labels)[1].case_no, n.rank::integer, c.chunk_id, c.source, null, null,
      null, null, null, d.doc_cid,
      c.start_offset, c.end_offset)::ragdb_internal.eval_hit
    from pg_catalog.unnest(judged_items.chunk_nos) with ordinality n (chunk_no, rank)
      join ragdb.chunks c on c.corpus_id = judged_items.corpus_id and c.chunk_no = n.chunk_no
      join ragdb.documents d on d.corpus_id = judged_items.corpus_id and d.doc_no = c.doc_no
    order by n.rank), judged_items.labels) i order by i.rank);
comment on function ragdb_internal.judged_items(integer, integer[], ragdb_internal.eval_label[]) is
  'Returns a ranking of chunks as the labels of one case see it.';

-- Questions are those that somebody wrote down; without any, what the corpus itself says stands in
-- for them.
create or replace function ragdb.space_questions(corpus text, count integer default 200)
returns table (origin text, query text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(space_questions.corpus, 'admin');
begin
  if count is null or count not between 1 and 10000 then
    raise exception 'count is %', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'it is the number of questions at most',
        hint = 'pass count from 1 to 10000';
  end if;
  return query
    select 'eval', q.query from (select distinct c.query from ragdb_internal.corpus_cases(v_corpus) c) q
    order by q.query collate "C" limit space_questions.count;
  if not found then
    return query
      select 'trace', t.query_text from ragdb.retrieval_traces t
      where t.corpus_id = v_corpus.corpus_id and t.query_text is not null and t.error_code is null
      group by t.query_text order by max(t.id::text) desc limit space_questions.count;
  end if;
  if not found then
    return query
      select 'chunk', h.query from (
        select distinct coalesce(nullif(c.heading[cardinality(c.heading)], ''), nullif(d.title, ''),
          left(c.text, 200)) as query
        from (select (n * v_corpus.next_chunk_no::bigint / space_questions.count)::integer
          as chunk_no
            from generate_series(0, space_questions.count - 1) n) n
          cross join lateral (select k.heading, k.text, k.doc_no from ragdb.chunks k
            where k.corpus_id = v_corpus.corpus_id and k.chunk_no >= n.chunk_no order by k.chunk_no
              limit 1) c
          join ragdb.documents d on d.corpus_id = v_corpus.corpus_id and d.doc_no = c.doc_no) h
      where h.query ~ '\S' order by h.query collate "C";
  end if;
end $$;
comment on function ragdb.space_questions(text, integer) is
  'Returns up to count (1 to 10000) questions to compare two embedders of a corpus by: those of '
  'its evals, else recorded ones (their text must have been kept), else headings and titles. '
  'Raises RG400, RG401, RG404.';

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
      select s.* from ragdb_internal.rank_semantic(corpus, space, ragdb_internal.pgvector(embedding), k) s
        where mode = 'semantic'
      union all
      select h.* from ragdb_internal.rank_hybrid(corpus, corpus, query, space, ragdb_internal.pgvector(embedding), k,
        null,
        null, 'convex', 0.5) h where mode = 'hybrid') r
      join ragdb.chunks c on c.corpus_id = corpus.corpus_id and c.chunk_no = r.chunk_no
    order by r.score desc, c.chunk_id limit k);
end $$;
comment on function ragdb_internal.best_in_space(ragdb.corpora, ragdb.embedding_spaces, text, real[],
  integer, text) is
  'Returns the k best chunks of a corpus for a query by one of its spaces, semantic or hybrid, '
  'best first.';

create or replace function ragdb.compare_spaces(
  corpus text, embedder text, queries text[], current_embeddings real[], embeddings real[],
  k integer default 10, mode text default 'hybrid')
returns table (query text, overlap float8, current_ndcg float8, ndcg float8)
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(compare_spaces.corpus, 'admin');
  v_embedder ragdb.embedders := ragdb_internal.embedder(embedder);
  v_current ragdb.embedding_spaces := ragdb_internal.current_space(v_corpus);
  v_space ragdb.embedding_spaces;
  v_dims integer;
  v_metric text;
  v_asked record;
  v_before integer[];
  v_after integer[];
  v_grades integer[];
begin
  if k is null or k not between 1 and 100 or not coalesce(ragdb_internal.uses_embeddings(mode), false)
    or queries is null or not ragdb_internal.is_list(queries) or cardinality(queries) > 10000
  then
    raise exception 'k, mode or queries is out of range'
      using errcode = 'RG400', detail = 'two spaces are compared by the k best of each query',
            hint = 'pass k from 1 to 100, mode semantic or hybrid, and at most 10000 queries';
  end if;
  select s.* into v_space from ragdb.embedding_spaces s
    where s.corpus_id = v_corpus.corpus_id and s.embedder_id = v_embedder.embedder_id;
  if not found then
    raise exception 'corpus % has no space of embedder %', ragdb_internal.quote(corpus),
      ragdb_internal.quote(embedder)
      using errcode = 'RG416', detail = 'there is nothing to compare the current one with',
            hint = 'ragdb.reembed_corpus() starts one';
  end if;
  if cardinality(queries) = 0 then
    return;
  end if;
  select e.dims, e.metric into strict v_dims, v_metric from ragdb.embedders e
    where e.embedder_id = v_current.embedder_id;
  perform ragdb_internal.check_embeddings(current_embeddings, v_dims, v_metric,
    array(select 'query ' || n from generate_series(1, cardinality(queries)) n));
  perform ragdb_internal.check_embeddings(embeddings, v_embedder.dims, v_embedder.metric,
    array(select 'query ' || n from generate_series(1, cardinality(queries)) n));
  -- of two cases that ask the same, the first
  for v_asked in
    select q.query, q.n::integer as n, c.labels
    from unnest(queries) with ordinality q (query, n)
      left join (select distinct on (c.query) c.query, c.labels from ragdb_internal.corpus_cases(v_corpus) c
        order by c.query) c
        on c.query = q.query
    order by q.n
  loop
    query := v_asked.query;
    v_before := ragdb_internal.best_in_space(v_corpus, v_current, query,
      current_embeddings[(v_asked.n - 1) * v_dims + 1 : v_asked.n * v_dims], k, mode);
    v_after := ragdb_internal.best_in_space(v_corpus, v_space, query,
      embeddings[(v_asked.n - 1) * v_embedder.dims + 1 : v_asked.n * v_embedder.dims], k, mode);
    overlap := (select count(*) from unnest(v_before) n where n = any (v_after))::float8
      / nullif(greatest(cardinality(v_before), cardinality(v_after)), 0);
    v_grades := array(select l.grade from unnest(v_asked.labels) l where not l.is_stale
      order by l.grade desc);
    current_ndcg := ragdb_internal.rank_metric('ndcg', k,
      ragdb_internal.judged_items(v_corpus.corpus_id, v_before, v_asked.labels), v_grades);
    ndcg := ragdb_internal.rank_metric('ndcg', k,
      ragdb_internal.judged_items(v_corpus.corpus_id, v_after, v_asked.labels), v_grades);
    return next;
  end loop;
end $$;
comment on function ragdb.compare_spaces(text, text, text[], real[], real[], integer, text) is
  'Compares the current space of a corpus with its space of another embedder, query by query: the '
  'share of the k (1 to 100) best that both find (0 to 1), and the nDCG of each where an eval of '
  'the corpus labels the query; mode is semantic or hybrid, embeddings of the queries by both '
  'embedders come one behind the other. Raises RG400, RG401, RG404, RG415, RG416, RG418.';
