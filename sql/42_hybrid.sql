-- Ranking by meaning, and by words and meaning together.
--
-- Each leg runs once, to the same depth; a candidate of one leg gets its exact score of the other
-- by key. Both scores have fixed bounds, so that a score, and a threshold on it, mean the same for
-- every query.

-- Ids order what ties, and nothing else needs them here
create or replace function ragdb._rank_semantic(
  corpus ragdb.corpora, space ragdb.embedding_spaces, embedding vector, k integer,
  chunk_nos integer[] default null)
returns setof ragdb.ranked
language sql stable parallel restricted
begin atomic
  select r.chunk_no, r.score, null::float8, r.score, null::integer, r.rank, null::float8,
    null::float8, r.is_exact
  from (
    select t.chunk_no, t.score, t.is_exact,
      pg_catalog.row_number() over (order by t.score desc, t.chunk_id)::integer as rank
    from (
      select n.chunk_no, n.score, n.is_exact,
        case when count(*) over (partition by n.score) > 1
          then (select c.chunk_id from ragdb.chunks c
          where c.corpus_id = (_rank_semantic.corpus).corpus_id and c.chunk_no = n.chunk_no)
            end as chunk_id
      from ragdb._nearest(_rank_semantic.corpus, _rank_semantic.space, _rank_semantic.embedding,
          _rank_semantic.k, _rank_semantic.chunk_nos) n
    ) t
  ) r
  where r.rank <= _rank_semantic.k;
end;
comment on function ragdb._rank_semantic(ragdb.corpora, ragdb.embedding_spaces, vector, integer,
  integer[]) is
  'Returns the k chunks of a corpus nearest to an embedding, among the given ones when not null.';

create or replace function ragdb._demanded_chunks(corpus ragdb.corpora, query text,
  chunk_nos integer[])
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_condition text;
begin
  if not ragdb._has_clauses(query) then
    return chunk_nos;
  end if;
  v_condition := ragdb._query_condition(corpus, query);
  if v_condition = '' then
    return chunk_nos;
  end if;
  return array(
    select x.chunk_no from ragdb.chunk_lexemes x
    where x.corpus_id = corpus.corpus_id and x.lexemes @@ substr(v_condition, 2)::tsquery
      and (_demanded_chunks.chunk_nos is null or x.chunk_no = any (_demanded_chunks.chunk_nos)));
end $$;
comment on function ragdb._demanded_chunks(ragdb.corpora, text, integer[]) is
  'Returns those of the given chunks (all of the corpus when null) that satisfy the +words, -words '
  'and phrases of a query; what it was given when the query has none.';

-- Planned once: what needs to see its arguments plans for itself, inside. A leg without a score
-- counts 0.
create or replace function ragdb._rank_hybrid(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, space ragdb.embedding_spaces,
    embedding vector,
  k integer, among integer[], chunk_nos integer[], fusion text, lexical_weight float8)
returns setof ragdb.ranked
language plpgsql stable parallel restricted rows 100
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  v_depth constant integer := least(1000, greatest(25, 5 * k / 2));
  v_demanded constant integer[] := ragdb._demanded_chunks(corpus, query, null);
  v_metric text;
begin
  select e.metric into strict v_metric from ragdb.embedders e
    where e.embedder_id = space.embedder_id;
  return query
    with near as materialized (
      select s.chunk_no, s.semantic_score as score, s.semantic_rank as rank, s.is_exact
      from ragdb._rank_semantic(corpus, space, embedding, v_depth, chunk_nos) s
    ), scored as materialized (
      select t.chunk_no, t.score, t.bm25, t.coverage,
        row_number() over (order by t.score desc, t.chunk_id)::integer as rank
      from (
        select r.chunk_no, r.score, r.bm25, r.coverage,
          case when r.bm25 > 0 and count(*) over (partition by r.score) > 1 then (select c.chunk_id
            from ragdb.chunks c where c.corpus_id = corpus.corpus_id and c.chunk_no = r.chunk_no)
              end as chunk_id
        from ragdb._rank_lexical(corpus, statistics, query, v_depth, null, null, among,
            array(select n.chunk_no from near n)) r) t
    ), legs as materialized (
      select s.chunk_no, s.score as lexical_score, s.bm25, s.coverage,
        case when s.rank <= v_depth and s.bm25 > 0
          and (v_demanded is null or s.chunk_no = any (v_demanded))
          then s.rank end as lexical_rank,
        null::float8 as semantic_score, null::integer as semantic_rank
      from scored s
      union all
      select n.chunk_no, null, null, null, null, n.score, n.rank from near n
    ), candidates as (
      select l.chunk_no, coalesce(max(l.lexical_score), 0) as lexical_score,
        coalesce(max(l.bm25), 0) as bm25,
        coalesce(max(l.coverage), 0) as coverage, max(l.lexical_rank) as lexical_rank,
        max(l.semantic_score) as semantic_score, max(l.semantic_rank) as semantic_rank
      from (
        select g.* from legs g
        union all
        select a.chunk_no, null, null, null, null, a.score, null
        from ragdb._score_chunks(space, v_metric, embedding, array(
          select g.chunk_no from legs g group by g.chunk_no
          having max(g.lexical_rank) is not null and max(g.semantic_rank) is null)) a) l
      group by l.chunk_no
      having max(l.lexical_rank) is not null or max(l.semantic_rank) is not null
    )
    select c.chunk_no,
      round(1000000::float8 * case fusion
        when 'rrf' then 61::float8 * (coalesce(lexical_weight / (60 + c.lexical_rank), 0)
          + coalesce((1 - lexical_weight) / (60 + c.semantic_rank), 0))
        else lexical_weight * c.lexical_score + (1 - lexical_weight) * coalesce(c.semantic_score, 0)
      end) / 1000000::float8,
      c.lexical_score, c.semantic_score, c.lexical_rank, c.semantic_rank, c.bm25, c.coverage,
      coalesce((select bool_and(n.is_exact) from near n), true)
    from candidates c;
end $$;
comment on function ragdb._rank_hybrid(ragdb.corpora, ragdb.corpora, text, ragdb.embedding_spaces,
  vector, integer, integer[], integer[], text, float8) is
  'Returns the candidates of both legs, each to depth min(1000, max(25, 2.5 k)), by words among '
  'some chunks and by meaning among others (null: all of the corpus), with their fused score: '
  'convex (weight times lexical plus the rest times semantic) or rrf over its maximum. Raises '
  'RG410.';

-- A corpus and the embedding to search it by: the one given, or the one kept for the query. Null
-- without one.
create or replace function ragdb._query_vector(
  corpus ragdb.corpora, space ragdb.embedding_spaces, query text, query_embedding real[])
returns real[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders;
begin
  if query_embedding is null then
    return ragdb._query_embedding(corpus.corpus_id, space.embedder_id, query);
  end if;
  select e.* into strict v_embedder from ragdb.embedders e where e.embedder_id = space.embedder_id;
  perform ragdb._check_embeddings(query_embedding, v_embedder.dims, v_embedder.metric,
    array[format('the query for corpus %s (embedder %s)', ragdb._quote(corpus.name),
      ragdb._quote(v_embedder.name))]);
  return query_embedding;
end $$;
comment on function ragdb._query_vector(ragdb.corpora, ragdb.embedding_spaces, text, real[]) is
  'Returns the embedding to search a corpus by: the one given, checked, or the one kept for the '
  'query, or null. Raises RG418.';

create or replace function ragdb._search_mode(
  corpora ragdb.corpora[], mode text, query text, query_embedding real[])
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
  v_space ragdb.embedding_spaces;
begin
  if mode not in ('lexical', 'reference', 'semantic', 'hybrid') then
    raise exception 'mode % is unknown', ragdb._quote(mode)
      using errcode = 'RG400', detail = 'modes are lexical, reference, semantic and hybrid',
            hint = 'leave mode out for the default';
  elsif mode in ('lexical', 'reference') then
    return mode;
  end if;
  foreach v_corpus in array corpora loop
    v_space := ragdb._space(v_corpus.corpus_id, 'current');
    if v_space.space_id is null then
      if mode is null then
        return 'lexical';
      end if;
      v_space := ragdb._current_space(v_corpus);
    elsif query_embedding is null
      and ragdb._query_embedding(v_corpus.corpus_id, v_space.embedder_id, query) is null
    then
      if mode is null then
        return 'lexical';
      end if;
      raise exception 'mode % needs the embedding of the query', ragdb._quote(mode)
        using errcode = 'RG415',
              detail = format('none is given, and none is kept for it in corpus %s',
                ragdb._quote(v_corpus.name)),
              hint = 'pass query_embedding, or have a worker make it with call '
                     'ragdb.embed_query(…)';
    end if;
  end loop;
  return coalesce(mode, 'hybrid');
end $$;
comment on function ragdb._search_mode(ragdb.corpora[], text, text, real[]) is
  'Returns the mode of a search: the one asked for, or hybrid where every corpus has embeddings '
  'and the query has one, else lexical. Raises RG400, RG415.';

create or replace function ragdb._rank_near(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, k integer, mode text, filter jsonb,
  chunk_ids text[], query_embedding real[], fusion text, lexical_weight float8)
returns setof ragdb.ranked
language plpgsql stable parallel restricted rows 100
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_space constant ragdb.embedding_spaces := ragdb._current_space(corpus);
  v_embedding ragdb.chunk_embeddings.embedding%type;
  v_among integer[];
  v_chunk_nos integer[];
begin
  v_embedding := ragdb._vector(ragdb._query_vector(corpus, v_space, query, query_embedding));
  if filter is not null or chunk_ids is not null then
    v_among := ragdb._filtered_chunks(corpus.corpus_id, filter, chunk_ids);
  end if;
  -- what has a sign, + or -, binds the semantic leg too; a mere phrase does not: questions quote
  -- what no text says in these words
  v_chunk_nos := ragdb._demanded_chunks(corpus,
    regexp_replace(query, '(^|[^+-])"[^"]*"', '\1 ', 'g'), v_among);
  if mode = 'semantic' then
    return query select r.*
      from ragdb._rank_semantic(corpus, v_space, v_embedding, k, v_chunk_nos) r;
  else
    return query select r.* from ragdb._rank_hybrid(corpus, statistics, query, v_space, v_embedding,
      k, v_among,
      v_chunk_nos, fusion, lexical_weight) r;
  end if;
end $$;
comment on function ragdb._rank_near(ragdb.corpora, ragdb.corpora, text, integer, text, jsonb,
  text[], real[], text, float8) is
  'Ranks a corpus by meaning (semantic) or by words and meaning (hybrid). Raises RG410, RG415, '
  'RG418.';

-- By a chunk

create or replace function ragdb._hits(corpus ragdb.corpora, ranked ragdb.ranked[], k integer,
  mode text)
returns setof ragdb.hit
language sql stable parallel safe
begin atomic
  select t.rank, (_hits.corpus).name, t.chunk_id, d.doc_cid, t.source, d.title, t.heading, t.page,
    t.start_offset,
    t.end_offset, t.text, t.citation, t.score, t.lexical_score, t.semantic_score, t.lexical_rank,
      t.semantic_rank,
    t.bm25, t.coverage, pg_catalog.encode(t.content_hash, 'hex'), d.metadata, _hits.mode, t.is_exact
  from (
    select r.*, c.doc_no, c.chunk_id, c.source, c.heading, c.page, c.start_offset, c.end_offset,
      c.text, c.citation,
      c.content_hash, pg_catalog.row_number() over (order by r.score desc, c.chunk_id)::integer
        as rank
    from pg_catalog.unnest(_hits.ranked) r
      join ragdb.chunks c on c.corpus_id = (_hits.corpus).corpus_id and c.chunk_no = r.chunk_no
  ) t join ragdb.documents d on d.corpus_id = (_hits.corpus).corpus_id and d.doc_no = t.doc_no
  where t.rank <= _hits.k
  order by t.rank;
end;
comment on function ragdb._hits(ragdb.corpora, ragdb.ranked[], integer, text) is
  'Returns the k best of ranked chunks as hits.';

create or replace function ragdb.similar(
  corpus text, chunk_id text, k integer default 10, min_score float8 default 0,
    filter jsonb default null)
returns setof ragdb.hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus("similar".corpus, 'read');
  v_space ragdb.embedding_spaces := ragdb._current_space(v_corpus);
  v_embedding ragdb.chunk_embeddings.embedding%type;
  v_chunk_no integer;
begin
  if k is null or k not between 1 and 1000 then
    raise exception 'k is %', coalesce(k::text, 'null')
      using errcode = 'RG400', detail = 'k is the number of hits to return',
        hint = 'pass k from 1 to 1000';
  end if;
  if min_score is null or not min_score between 0 and 1 then
    raise exception 'min_score is %', coalesce(min_score::text, 'null')
      using errcode = 'RG400', detail = 'scores lie in [0, 1]', hint = 'pass min_score from 0 to 1';
  end if;
  select c.chunk_no into v_chunk_no from ragdb.chunks c
    where c.corpus_id = v_corpus.corpus_id and c.chunk_id = "similar".chunk_id;
  if not found then
    raise exception 'chunk % does not exist', ragdb._quote("similar".chunk_id)
      using errcode = 'RG406', detail = 'corpus ' || ragdb._quote(corpus) || ' has no such chunk',
            hint = 'ragdb.search() returns chunk ids';
  end if;
  select e.embedding into v_embedding from ragdb.chunk_embeddings e
    where e.space_id = v_space.space_id and e.corpus_id = v_corpus.corpus_id
      and e.chunk_no = v_chunk_no;
  if not found then
    raise exception 'chunk % has no embedding yet', ragdb._quote("similar".chunk_id)
      using errcode = 'RG415', detail = 'it waits in the queue, or failed',
            hint = 'ragdb.embedding_status() shows the queue; ragdb worker empties it';
  end if;
  return query
    select h.* from ragdb._hits(v_corpus, array(
        select r from ragdb._rank_semantic(v_corpus, v_space, v_embedding, least(1001, k + 1),
          ragdb._filtered_chunks(v_corpus.corpus_id, filter, null)) r
        where r.chunk_no <> v_chunk_no and r.score >= min_score), k, 'semantic') h;
end $$;
comment on function ragdb.similar(text, text, integer, float8, jsonb) is
  'Returns the k (1 to 1000) chunks of a corpus nearest in meaning to one of its chunks, without '
  'that one. Raises RG400, RG401, RG404, RG406, RG410, RG415.';

-- The names and columns that Supabase's guide has
create or replace function ragdb.match_documents(
  query_embedding float8[], match_threshold float8 default 0, match_count integer default 10,
  filter jsonb default '{}', corpus text default null)
returns table (id text, content text, metadata jsonb, similarity float8)
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_names text[];
  v_corpus ragdb.corpora;
begin
  if query_embedding is null or match_count is null or match_count not between 1 and 1000
    or match_threshold is null or not match_threshold between -1 and 1
  then
    raise exception 'query_embedding, match_threshold or match_count is null or out of range'
      using errcode = 'RG400', detail = 'match_threshold is a cosine, match_count a number of rows',
            hint = 'pass an embedding, a threshold from -1 to 1 and a count from 1 to 1000';
  end if;
  v_names := case when corpus is not null then array[match_documents.corpus] else array(
    select s.corpus from ragdb.embedding_status() s where s.state = 'current' order by s.corpus
      limit 2) end;
  if cardinality(v_names) <> 1 then
    raise exception 'corpus is not named'
      using errcode = 'RG400',
            detail = case cardinality(v_names) when 0 then 'no readable corpus has embeddings'
              else 'several readable corpora have embeddings' end,
            hint = 'pass corpus => …';
  end if;
  v_corpus := ragdb._open_corpus(v_names[1], 'read');
  return query
    select h.chunk_id, h.text, h.metadata, h.score
    from ragdb._hits(v_corpus, array(
      select r from ragdb._rank_near(v_corpus, v_corpus, '', match_count, 'semantic',
        nullif(filter, '{}'), null,
        ragdb._single(query_embedding), 'convex', 0.5) r
      where r.score >= match_threshold), match_count, 'semantic') h
    order by h.rank;
end $$;
comment on function ragdb.match_documents(float8[], float8, integer, jsonb, text) is
  'Returns the match_count (1 to 1000) chunks nearest to an embedding with a similarity of at '
  'least match_threshold (-1 to 1), in the columns of Supabase''s guide; corpus may be left out '
  'where one readable corpus alone has embeddings. Raises RG400, RG401, RG404, RG410, RG415, '
  'RG418.';
