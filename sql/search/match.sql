-- Search by a chunk or a vector: what is most like a chunk of the corpus, by meaning or by words,
-- and what is nearest to a given embedding.
-- The terms that say most of a chunk: as often in it, and in as few others, as any. More than 25
-- cost time and change little.
create or replace function ragdb_internal.likeness_question(
  corpus ragdb.corpora, chunk_no integer, out question ragdb_internal.question)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_whole constant ragdb.corpora := ragdb_internal.whole_of(corpus);
begin
  select array_agg(row(t.term_id, t.weight, t.weight * t.max_impact, t.in_blocks)
      ::ragdb_internal.question_term order by t.lexeme),
    string_agg(t.term_id || ':' || t.weight::real, ',' order by t.lexeme),
    sum(t.weight order by t.lexeme), sum(t.weight * t.max_impact order by t.lexeme),
    bool_or(t.in_blocks), string_agg(nullif(array_to_string(t.chunk_nos, ','), ''), ',')
  into question.terms, question.weights, question.weight, question.max_score, question.in_blocks,
    question.listed
  from (
    select l.lexeme, l.term_id, l.df, l.max_impact, l.in_blocks, l.chunk_nos,
      ragdb_internal.idf(v_whole.chunks, l.common_df) as weight
    from ragdb.chunk_lexemes x
      cross join lateral (select ragdb_internal.length_norm(
        x.lexeme_count, corpus.k1, corpus.b, corpus.pivot) as norm offset 0) n
      cross join lateral (select ragdb_internal.entries(x.impacts) as entries offset 0) e
      cross join generate_series(1, cardinality(e.entries), 2) i
      cross join lateral (
        select d.*, case when corpus.part_of is null then d.df else coalesce((
            select c.df from ragdb.lexemes c
            where c.corpus_id = corpus.part_of and c.lexeme = d.lexeme), 0) end as common_df
        from ragdb.lexemes d
        where d.corpus_id = corpus.corpus_id and d.term_id = e.entries[i]::integer offset 0) l
    where x.corpus_id = corpus.corpus_id and x.chunk_no = likeness_question.chunk_no
    order by ragdb_internal.idf(v_whole.chunks, l.common_df) * ragdb_internal.impact(
        ragdb_internal.frequency(e.entries[i + 1], n.norm, corpus.k1), n.norm, corpus.k1) desc,
      l.lexeme
    limit 25) t;
end $$;
comment on function ragdb_internal.likeness_question(ragdb.corpora, integer) is
  'Returns the 25 terms that weigh most in a chunk as a question, each weighed by its idf.';

create or replace function ragdb_internal.rank_alike(
  corpus ragdb.corpora, chunk_no integer, k integer, among integer[])
returns setof ragdb_internal.ranked
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_question constant ragdb_internal.question :=
    ragdb_internal.likeness_question(corpus, chunk_no);
begin
  if v_question.terms is null then
    return;
  end if;
  return query
    select corpus.corpus_id, r.chunk_no, r.score, r.score, null::float8, null::integer,
      null::integer, r.bm25, r.coverage, true
    from ragdb_internal.rank_question(corpus, v_question,
      row(rank_alike.among, null, '{}', null, null, null)::ragdb_internal.scope, rank_alike.k) r;
end $$;
comment on function ragdb_internal.rank_alike(ragdb.corpora, integer, integer, integer[]) is
  'Returns at least the k chunks of a corpus, among the given when not null, that have most of '
  'what a chunk says, in no order: by BM25 of its 25 heaviest terms.';

create or replace function ragdb_internal.rank_nearest(
  corpus ragdb.corpora, own ragdb.chunks, k integer, among integer[], mode text,
  out ranked ragdb_internal.ranked[])
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space constant ragdb.embedding_spaces := case mode when 'semantic'
    then ragdb_internal.current_space(corpus)
    else ragdb_internal.space(corpus.corpus_id, 'current') end;
  v_embedding ragdb.chunk_embeddings.embedding%type;
begin
  select e.embedding into v_embedding from ragdb.chunk_embeddings e
    where e.space_id = v_space.space_id and e.corpus_id = corpus.corpus_id
      and e.chunk_no = own.chunk_no;
  if found then
    ranked := array(select r from ragdb_internal.rank_semantic(
      corpus, v_space, v_embedding, k, among) r);
  elsif mode = 'semantic' then
    raise exception 'chunk % has no embedding yet', ragdb_internal.quote(own.chunk_id)
      using errcode = 'RG415', detail = 'it waits in the queue, or failed',
        hint = 'ragdb.embedding_status() shows the queue; or pass mode => ''lexical''';
  end if;
end $$;
comment on function ragdb_internal.rank_nearest(
  ragdb.corpora, ragdb.chunks, integer, integer[], text) is
  'Returns the k chunks nearest to one by their embeddings; null where it has none, unless the '
  'mode is semantic. Raises RG415.';

create or replace function ragdb.similar(
  corpus text, chunk_id text, k integer default 10, min_score float8 default 0,
  filter jsonb default null, mode text default null)
returns setof ragdb.hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus("similar".corpus, 'read');
  v_own ragdb.chunks;
  v_among integer[];
  v_ranked ragdb_internal.ranked[];
begin
  perform ragdb_internal.check_k(k), ragdb_internal.check_min_score(min_score);
  if mode not in ('semantic', 'lexical') then
    raise exception 'mode % is unknown', ragdb_internal.quote(mode)
      using errcode = 'RG400', detail = 'chunks are like by meaning or by words',
        hint = 'pass semantic or lexical, or leave mode out';
  end if;
  v_own := ragdb_internal.chunk(v_corpus, "similar".chunk_id);
  v_among := ragdb_internal.filtered_chunks(v_corpus.corpus_id, filter, null);
  if mode is distinct from 'lexical' then
    v_ranked := ragdb_internal.rank_nearest(v_corpus, v_own, least(1001, k + 1), v_among, mode);
  end if;
  mode := case when v_ranked is null then 'lexical' else 'semantic' end;
  v_ranked := coalesce(v_ranked, array(
    select r from ragdb_internal.rank_alike(v_corpus, v_own.chunk_no, k + 1, v_among) r));
  return query
    select h.* from ragdb_internal.hits(array[v_corpus], array(
        select r from unnest(v_ranked) r
        where r.chunk_no <> v_own.chunk_no and r.score >= min_score), k, mode) h
    order by h.rank;
end $$;
comment on function ragdb.similar(text, text, integer, float8, jsonb, text) is
  'Returns the k (1 to 1000) chunks of a corpus most like one of its chunks, without that one: '
  'nearest in meaning (mode semantic) or by the BM25 of the 25 terms that weigh most in it '
  '(lexical); when mode is left out semantic where the chunk has an embedding. Raises RG400, '
  'RG401, RG404, RG406, RG410, RG415.';

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
