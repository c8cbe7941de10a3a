-- Search by a chunk or a vector: what is most like a chunk of the corpus, by meaning or by words,
-- and what is nearest to a given embedding.

-- Returns the 25 lexemes that weigh most in a chunk, with the idf of each: as often in it, and in
-- as few others, as any. More than 25 cost time and change little.
create or replace function ragdb_internal.heaviest_terms(own ragdb.chunks)
returns table (lexeme text, weight float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_corpus constant ragdb.corpora := (
    select c from ragdb.corpora c where c.corpus_id = own.corpus_id);
  v_whole constant ragdb.corpora := ragdb_internal.whole_of(v_corpus);
begin
  return query
    select l.lexeme, l.idf
    from ragdb.chunk_lexemes x
      cross join lateral (select ragdb_internal.length_norm(
        x.lexeme_count, v_corpus.k1, v_corpus.b, v_corpus.pivot) as norm offset 0) n
      cross join lateral (select ragdb_internal.entries(x.impacts) as entries offset 0) e
      cross join generate_series(1, cardinality(e.entries), 2) i
      cross join lateral (
        select d.lexeme, ragdb_internal.idf(v_whole.chunks,
          case when v_corpus.part_of is null then d.df else coalesce((
            select c.df from ragdb.lexemes c
            where c.corpus_id = v_corpus.part_of and c.lexeme = d.lexeme), 0) end) as idf
        from ragdb.lexemes d
        where d.corpus_id = own.corpus_id and d.term_id = e.entries[i]::integer offset 0) l
    where x.corpus_id = own.corpus_id and x.chunk_no = own.chunk_no
    order by l.idf * ragdb_internal.impact(
        ragdb_internal.frequency(e.entries[i + 1], n.norm, v_corpus.k1), n.norm, v_corpus.k1) desc,
      l.lexeme
    limit 25;
end $$;

-- Returns the 25 terms that weigh most in a chunk as a question to a corpus, that of the chunk or
-- another part, each weighed by its idf.
create or replace function ragdb_internal.likeness_question(
  corpus ragdb.corpora, own ragdb.chunks)
returns ragdb_internal.question
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
  return (
    select w from ragdb_internal.weighed_question(array(
      select row(t.lexeme, l.term_id, l.df, l.max_impact, l.in_blocks,
        l.chunk_nos, t.weight, t.weight)::ragdb_internal.weighed_term
      from ragdb_internal.heaviest_terms(own) t
        left join lateral (
          select d.term_id, d.df, d.max_impact, d.in_blocks, d.chunk_nos
          from ragdb.lexemes d
          where d.corpus_id = corpus.corpus_id and d.lexeme = t.lexeme offset 0) l on true),
      null) w);
end $$;

-- Returns at least the k chunks of a corpus, among the given when not null, that have most of what
-- a chunk says, in no order: by BM25 of its 25 heaviest terms.
create or replace function ragdb_internal.rank_alike(
  corpus ragdb.corpora, own ragdb.chunks, k integer, among integer[])
returns setof ragdb_internal.ranked
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_question constant ragdb_internal.question :=
    ragdb_internal.likeness_question(corpus, own);
begin
  if v_question.terms is null then
    return;
  end if;
  return query
    select r.* from unnest(ragdb_internal.rank_question(corpus, v_question,
      row(rank_alike.among, null, '{}', null, null, null, null)::ragdb_internal.scope,
      rank_alike.k)) r;
end $$;

-- Returns the embedding of a chunk; null where it has none, unless the mode is semantic. Raises
-- RG415.
create or replace function ragdb_internal.embedding_of(own ragdb.chunks, mode text)
returns vector
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space constant ragdb.embedding_spaces := ragdb_internal.read_space(own.corpus_id);
  v_embedding ragdb.chunk_embeddings.embedding%type;
begin
  select v.embedding into v_embedding from ragdb_internal.vectors_of(
    v_space.space_id, own.corpus_id, array[own.chunk_no]) v;
  if not found and mode = 'semantic' then
    raise exception 'chunk % has no embedding yet', ragdb_internal.quote(own.chunk_id)
      using errcode = 'RG415', detail = 'it waits in the queue, or failed',
        hint = 'ragdb.embedding_status() shows the queue; or pass mode => ''lexical''';
  end if;
  return v_embedding;
end $$;

-- Returns at least the k chunks of a corpus, or of its parts, that are nearest to an embedding.
-- Raises RG410, RG415.
create or replace function ragdb_internal.rank_nearest(
  corpora ragdb.corpora[], embedding vector, k integer, filter jsonb)
returns ragdb_internal.ranked[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_request ragdb_internal.search_request;
  v_ranked constant ragdb_internal.ranked[] := array(
    select r from unnest(corpora) c
      cross join lateral ragdb_internal.rank_semantic(c, ragdb_internal.current_space(c), embedding,
        k, ragdb_internal.restriction(
          c, filter, null, ragdb_internal.looked_for('semantic', k))) r);
begin
  v_request.k := k;
  return case when ragdb_internal.are_parts_of_one(corpora)
    then array(select m from ragdb_internal.merged_legs(corpora, v_ranked, v_request) m)
    else v_ranked end;
end $$;

create or replace function ragdb.similar(
  corpus text, chunk_id text, k integer default 10, min_score float8 default 0,
  filter jsonb default null, mode text default null)
returns setof ragdb.hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpora constant ragdb.corpora[] := ragdb_internal.open_with_parts("similar".corpus);
  v_own ragdb.chunks;
  v_embedding ragdb.chunk_embeddings.embedding%type;
  v_ranked ragdb_internal.ranked[];
begin
  perform ragdb_internal.check_k(k), ragdb_internal.check_min_score(min_score);
  if mode not in ('semantic', 'lexical') then
    raise exception 'mode % is unknown', ragdb_internal.quote(mode)
      using errcode = 'RG400', detail = 'chunks are like by meaning or by words',
        hint = 'pass semantic or lexical, or leave mode out';
  end if;
  v_own := ragdb_internal.chunk(v_corpora, "similar".chunk_id);
  if mode is distinct from 'lexical' then
    v_embedding := ragdb_internal.embedding_of(v_own, mode);
  end if;
  if v_embedding is not null then
    perform ragdb_internal.check_one_embedder(v_corpora);
  end if;
  v_ranked := case when v_embedding is not null
    then ragdb_internal.rank_nearest(v_corpora, v_embedding, least(1001, k + 1), filter)
    else array(select r from unnest(v_corpora) c
      cross join lateral ragdb_internal.rank_alike(c, v_own, k + 1,
        ragdb_internal.filtered_chunks(c.corpus_id, filter, null)) r) end;
  return query
    select h.* from ragdb_internal.hits(v_corpora, array(
        select r from unnest(v_ranked) r
        where (r.corpus_id, r.chunk_no) <> (v_own.corpus_id, v_own.chunk_no)
          and r.score >= min_score), k,
      case when v_embedding is null then 'lexical' else 'semantic' end) h
    order by h.rank;
end $$;
comment on function ragdb.similar is
  'Returns the k (1 to 1000) chunks of a corpus most like one of its chunks, without that one: '
  'nearest in meaning (mode semantic) or by the BM25 of the 25 terms that weigh most in it '
  '(lexical); when mode is left out semantic where the chunk has an embedding. Raises RG400, '
  'RG401, RG404, RG406, RG410, RG415, RG417.';

-- Returns the name of the only corpus with embeddings that the caller may read. Raises RG400.
create or replace function ragdb_internal.only_embedded_corpus() returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_names constant text[] := array(
    select distinct (ragdb_internal.whole_of(c)).name
    from ragdb.embedding_status() s join ragdb.corpora c on c.name = s.corpus
    where s.state = 'current' order by 1 limit 2);
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
  v_corpora ragdb.corpora[];
  v_ranked ragdb_internal.ranked[];
begin
  if query_embedding is null or match_count is null or match_count not between 1 and 1000
    or match_threshold is null or not match_threshold between -1 and 1
  then
    raise exception 'query_embedding, match_threshold or match_count is null or out of range'
      using errcode = 'RG400', detail = 'match_threshold is a cosine, match_count a number of rows',
            hint = 'pass an embedding, a threshold from -1 to 1 and a count from 1 to 1000';
  end if;
  v_corpora := ragdb_internal.open_with_parts(
    coalesce(match_documents.corpus, ragdb_internal.only_embedded_corpus()));
  perform ragdb_internal.check_one_embedder(v_corpora);
  v_request.query := '';
  v_request.k := match_count;
  v_request.mode := 'semantic';
  v_request.filter := nullif(match_documents.filter, '{}');
  v_request.query_embedding := ragdb_internal.single(match_documents.query_embedding);
  v_ranked := array(
    select r from unnest(v_corpora) c
      cross join lateral unnest(ragdb_internal.rank_near(c, c, v_request)) r
    where r.score >= match_threshold);
  return query
    select h.chunk_id, h.text, h.metadata, h.score
    from ragdb_internal.hits(v_corpora, v_ranked, match_count, 'semantic') h
    order by h.rank;
end $$;
comment on function ragdb.match_documents is
  'Returns the match_count (1 to 1000) chunks nearest to an embedding with a similarity of at '
  'least match_threshold (-1 to 1), in the columns of Supabase''s guide; corpus may be left out '
  'where one readable corpus alone has embeddings. Raises RG400, RG401, RG404, RG410, RG415, '
  'RG417, RG418.';
