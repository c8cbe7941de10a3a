-- The best scores of a corpus for some questions, which its floors are measured by.
--
-- The embeddings are looked at once for all questions: a search for each of 72 took eight times as
-- long. Then a question is looked up by its words, and what these find is compared with it. A chunk
-- that they do not find scores in a hybrid search at most what the last found scores by words, and
-- what the nearest of all scores by meaning. A whole search is made only where that is more than
-- the best so far, and where an index finds what is near.

-- The best score of a corpus for a question in a mode.
create type ragdb_internal.best_score as (mode text, score float8);

-- Returns the similarity of the nearest chunk of some corpora to each of some vectors, looking at
-- every chunk; null for a vector that is null, and in place of all where an index finds what is
-- near, or another embedder embeds. Each question is a constant of its own in the statement, which
-- costs a third of a join.
create or replace function ragdb_internal.best_similarities(
  corpora ragdb.corpora[], embedder ragdb.embedders, queries vector[])
returns float8[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
  v_space ragdb.embedding_spaces;
  v_found float8[];
  v_best float8[];
begin
  foreach v_corpus in array corpora loop
    v_space := ragdb_internal.space(v_corpus.corpus_id, 'current');
    if (v_space.embedder_id = embedder.embedder_id) is not true
      or ragdb_internal.is_walked(v_corpus, v_space)
    then
      return null;
    end if;
    execute format('select array[%s] from ragdb.%I s', (
        select string_agg(format('min(s.%I %s $1[%s]::%s)', ragdb_internal.stored_column(v_space),
          ragdb_internal.distance_operator(embedder.metric), n,
          ragdb_internal.query_type(v_space)), ', ' order by n)
        from generate_series(1, cardinality(queries)) n),
      ragdb_internal.searched_table(v_space)) into v_found using queries;
    v_best := array(
      select greatest(b, case when f is not null then
        ragdb_internal.nearness(f, embedder.metric) end)
      from unnest(v_best, v_found) with ordinality u (b, f, n) order by n);
  end loop;
  return v_best;
end $$;

-- Returns what a search of some corpora for k hits ranks: by words, and by meaning too where an
-- embedding is given.
create or replace function ragdb_internal.searched_scores(
  corpora ragdb.corpora[], question text, embedding real[], k integer default 1)
returns setof ragdb_internal.ranked
language sql stable parallel restricted
begin atomic
  select r.*
  from pg_catalog.unnest(ragdb_internal.rank_corpora(searched_scores.corpora, null,
    row(searched_scores.question, searched_scores.k,
      case when searched_scores.embedding is null then 'lexical' else 'hybrid' end, 0, null, null,
      searched_scores.embedding, 'convex', null, 0, 0, row('plain', null, false, 0, 0, false, true)
        ::ragdb_internal.search_options, true)::ragdb_internal.search_request)) r;
end;

-- Returns the scores of the chunks of some corpora that a hybrid search would find by words: by
-- these, and by meaning.
create or replace function ragdb_internal.worded_scores(
  corpora ragdb.corpora[], embedder ragdb.embedders, question text, embedding vector)
returns table (lexical_score float8, semantic_score float8)
language sql stable parallel restricted
begin atomic
  with worded as materialized (
    select r.corpus_id, r.chunk_no, r.score
    from ragdb_internal.searched_scores(worded_scores.corpora, worded_scores.question, null,
      ragdb_internal.worded_depth(1)) r
  )
  select w.score, ragdb_internal.nearness(d.distance, (worded_scores.embedder).metric)
  from worded w
    left join (
      select g.corpus_id, c.chunk_no, c.distance
      from (
        select o.corpus_id, pg_catalog.array_agg(o.chunk_no) as chunk_nos
        from worded o group by o.corpus_id) g
        cross join lateral ragdb_internal.chunk_distances(
          ragdb_internal.space(g.corpus_id, 'current'), (worded_scores.embedder).metric,
          worded_scores.embedding, g.chunk_nos) c) d
      on (d.corpus_id, d.chunk_no) = (w.corpus_id, w.chunk_no);
end;

-- Returns the best scores of some corpora for a question: by words, and where it has an embedding
-- in the modes that need one; nearest is the similarity of the nearest chunk, null where nobody
-- looked.
create or replace function ragdb_internal.best_for(
  corpora ragdb.corpora[], embedder ragdb.embedders, question text, embedding real[],
  nearest float8)
returns setof ragdb_internal.best_score
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_weight constant float8 := ragdb_internal.lexical_weight(embedder.embedder_id);
  v_lexical float8;
  v_last float8;
  v_hybrid float8 := ragdb_internal.fused('convex', v_weight, 0, nearest, null, null);
begin
  if nearest is not null then
    select coalesce(max(w.lexical_score), 0), coalesce((array_agg(w.lexical_score
          order by w.lexical_score desc))[ragdb_internal.worded_depth(1)], 0),
        greatest(v_hybrid, max(ragdb_internal.fused(
          'convex', v_weight, w.lexical_score, w.semantic_score, null, null)))
      into v_lexical, v_last, v_hybrid
      from ragdb_internal.worded_scores(
        corpora, embedder, question, ragdb_internal.pgvector(embedding)) w;
    if v_hybrid >= ragdb_internal.fused('convex', v_weight, v_last, nearest, null, null) then
      return query
        values ('lexical', v_lexical), ('semantic', nearest), ('hybrid', v_hybrid);
      return;
    end if;
  end if;
  return query
    select m.mode, coalesce(m.score, 0)
    from (
        select max(r.score) as score, max(r.lexical_score) as lexical_score,
          max(r.semantic_score) as semantic_score
        from ragdb_internal.searched_scores(corpora, question, embedding) r) b
      cross join lateral (values ('lexical', b.lexical_score), ('semantic', b.semantic_score),
        ('hybrid', b.score)) m (mode, score)
    where m.mode = 'lexical' or embedding is not null;
end $$;

-- Returns the best scores of a corpus for some questions: by words, and where the question has an
-- embedding in the modes that need one. No workers: in a first load the planner takes a space for
-- eight times as large, and to start them takes as long as the look at 16,000 embeddings.
create or replace function ragdb_internal.best_scores(corpus ragdb.corpora, questions text[])
returns setof ragdb_internal.best_score
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
set max_parallel_workers_per_gather = 0
as $$
declare
  v_members constant ragdb.corpora[] := ragdb_internal.members(corpus);
  v_embedder ragdb.embedders;
begin
  select e.* into v_embedder from ragdb.embedders e where e.embedder_id = (
    ragdb_internal.space(ragdb_internal.embedded_as(corpus), 'current')).embedder_id;
  return query
    with asked as materialized (
      select q.n, q.question, ragdb_internal.query_embedding(
        corpus.corpus_id, v_embedder.embedder_id, q.question) as embedding
      from unnest(questions) with ordinality q (question, n)
    ), near as materialized (
      select ragdb_internal.best_similarities(v_members, v_embedder,
        array(select ragdb_internal.pgvector(a.embedding) from asked a order by a.n)) as scores
    )
    select s.*
    from asked a cross join near
      cross join lateral ragdb_internal.best_for(
        v_members, v_embedder, a.question, a.embedding, near.scores[a.n]) s;
end $$;
