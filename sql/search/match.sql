-- Search by a vector: the chunks that are nearest to one of the corpus, and to a given embedding.
create or replace function ragdb.similar(
  corpus text, chunk_id text, k integer default 10, min_score float8 default 0,
  filter jsonb default null)
returns setof ragdb.hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus("similar".corpus, 'read');
  v_space ragdb.embedding_spaces := ragdb_internal.current_space(v_corpus);
  v_chunk_no integer;
  v_embedding ragdb.chunk_embeddings.embedding%type;
  v_among integer[];
  v_ranked ragdb_internal.ranked[];
begin
  perform ragdb_internal.check_k(k), ragdb_internal.check_min_score(min_score);
  v_chunk_no := (ragdb_internal.chunk(v_corpus, "similar".chunk_id)).chunk_no;
  select e.embedding into v_embedding from ragdb.chunk_embeddings e
    where e.space_id = v_space.space_id and e.corpus_id = v_corpus.corpus_id
      and e.chunk_no = v_chunk_no;
  if not found then
    raise exception 'chunk % has no embedding yet', ragdb_internal.quote("similar".chunk_id)
      using errcode = 'RG415', detail = 'it waits in the queue, or failed',
            hint = 'ragdb.embedding_status() shows the queue; ragdb worker empties it';
  end if;
  v_among := ragdb_internal.filtered_chunks(v_corpus.corpus_id, filter, null);
  v_ranked := array(
    select r from ragdb_internal.rank_semantic(
      v_corpus, v_space, v_embedding, least(1001, k + 1), v_among) r
    where r.chunk_no <> v_chunk_no and r.score >= min_score);
  return query
    select h.* from ragdb_internal.hits(array[v_corpus], v_ranked, k, 'semantic') h order by h.rank;
end $$;
comment on function ragdb.similar(text, text, integer, float8, jsonb) is
  'Returns the k (1 to 1000) chunks of a corpus nearest in meaning to one of its chunks, without '
  'that one. Raises RG400, RG401, RG404, RG406, RG410, RG415.';

create or replace function ragdb_internal.only_embedded_corpus() returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_names constant text[] := array(
    select s.corpus from ragdb.embedding_status() s where s.state = 'current' order by s.corpus
      limit 2);
begin
  if cardinality(v_names) <> 1 then
    raise exception 'corpus is not named'
      using errcode = 'RG400',
            detail = case cardinality(v_names) when 0 then 'no readable corpus has embeddings'
              else 'several readable corpora have embeddings' end,
            hint = 'pass corpus => …';
  end if;
  return v_names[1];
end $$;
comment on function ragdb_internal.only_embedded_corpus() is
  'Returns the name of the only corpus with embeddings that the caller may read. Raises RG400.';

-- Named as in Supabase's guide, with its columns.
create or replace function ragdb.match_documents(
  query_embedding float8[], match_threshold float8 default 0, match_count integer default 10,
  filter jsonb default '{}', corpus text default null)
returns table (id text, content text, metadata jsonb, similarity float8)
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_request ragdb_internal.search_request;
  v_corpus ragdb.corpora;
  v_ranked ragdb_internal.ranked[];
begin
  if query_embedding is null or match_count is null or match_count not between 1 and 1000
    or match_threshold is null or not match_threshold between -1 and 1
  then
    raise exception 'query_embedding, match_threshold or match_count is null or out of range'
      using errcode = 'RG400', detail = 'match_threshold is a cosine, match_count a number of rows',
            hint = 'pass an embedding, a threshold from -1 to 1 and a count from 1 to 1000';
  end if;
  v_corpus := ragdb_internal.open_corpus(
    coalesce(match_documents.corpus, ragdb_internal.only_embedded_corpus()), 'read');
  v_request.query := '';
  v_request.k := match_count;
  v_request.mode := 'semantic';
  v_request.filter := nullif(match_documents.filter, '{}');
  v_request.query_embedding := ragdb_internal.single(match_documents.query_embedding);
  v_ranked := array(
    select r from ragdb_internal.rank_near(v_corpus, v_corpus, v_request) r
    where r.score >= match_threshold);
  return query
    select h.chunk_id, h.text, h.metadata, h.score
    from ragdb_internal.hits(array[v_corpus], v_ranked, match_count, 'semantic') h
    order by h.rank;
end $$;
comment on function ragdb.match_documents(float8[], float8, integer, jsonb, text) is
  'Returns the match_count (1 to 1000) chunks nearest to an embedding with a similarity of at '
  'least match_threshold (-1 to 1), in the columns of Supabase''s guide; corpus may be left out '
  'where one readable corpus alone has embeddings. Raises RG400, RG401, RG404, RG410, RG415, '
  'RG418.';
