-- A score taken apart: what each word and the meaning give to it, in parts that add up to it, and
-- the most that each could have given.

-- An rrf is made of ranks, which only the whole ranking has.
create or replace function ragdb_internal.ranked_alone(
  corpus ragdb.corpora, statistics ragdb.corpora, request ragdb_internal.search_request,
  chunk ragdb.chunks)
returns ragdb_internal.ranked
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_needs_ranks constant boolean := request.mode = 'hybrid' and request.fusion = 'rrf';
  v_ranked ragdb_internal.ranked;
begin
  request.k := case when v_needs_ranks then 1000 else 1 end;
  request.chunk_ids := case when not v_needs_ranks then array[chunk.chunk_id] end;
  request.filter := null;
  request.min_score := 0;
  request.min_lexical := 0;
  request.min_semantic := 0;
  select r.* into v_ranked
    from unnest(ragdb_internal.rank_corpora(array[corpus], statistics, request)) r
    where r.chunk_no = chunk.chunk_no;
  return v_ranked;
end $$;
comment on function ragdb_internal.ranked_alone(
  ragdb.corpora, ragdb.corpora, ragdb_internal.search_request, ragdb.chunks) is
  'Returns how a search scores a chunk whatever else there is; nulls where it does not rank, and '
  'by rrf where it is not among the first 1000.';

create type ragdb_internal.score_part as (
  part text, lexeme text, stands_for text, df integer, tf integer, value float8, points float8,
  most float8);
comment on type ragdb_internal.score_part is
  'A part of a score, as ragdb.explain_score returns it.';

create or replace function ragdb_internal.score_parts(
  corpus ragdb.corpora, statistics ragdb.corpora, request ragdb_internal.search_request,
  chunk ragdb.chunks, words float8, ranked ragdb_internal.ranked)
returns setof ragdb_internal.score_part
language sql stable parallel safe
begin atomic
  with legs as (
    select case (request).mode when 'hybrid' then words when 'semantic' then 0 else 1 end as words,
      case (request).mode when 'hybrid' then 1 - words when 'semantic' then 1 else 0 end as meaning,
      (request).mode = 'hybrid' and (request).fusion = 'rrf' as is_rrf
  ), given as (
    select l.*,
      case when l.is_rrf then coalesce(61::float8 * l.words / (60 + (ranked).lexical_rank), 0)
        else l.words * coalesce((ranked).lexical_score, 0) end as by_words,
      case when l.is_rrf then coalesce(61::float8 * l.meaning / (60 + (ranked).semantic_rank), 0)
        else l.meaning * coalesce((ranked).semantic_score, 0) end as by_meaning
    from legs l
  ), terms as materialized (
    select t.*, pg_catalog.sum(t.weight) over () as weights,
      pg_catalog.sum(t.weight * t.impact) over () as bm25
    from ragdb_internal.terms_in_chunk(score_parts.corpus, score_parts.statistics,
      (request).query, (chunk).chunk_no, ((request).options).syntax,
      ((request).options).typos) t
    where (request).mode in ('lexical', 'hybrid')
  )
  select 'word', t.lexeme, t.stands_for, t.df, t.tf, t.impact,
    coalesce(g.by_words * t.weight * t.impact / nullif(t.bm25, 0), 0),
    coalesce(g.words * case when g.is_rrf then t.weight * t.impact / nullif(t.bm25, 0)
      else t.weight / nullif(t.weights, 0) end, 0)
  from terms t cross join given g
  union all
  select 'meaning', null, null, null, null, (ranked).semantic_score, g.by_meaning, g.meaning
  from given g where g.meaning > 0
  union all
  select 'overlap', null, null, null, null, (ranked).score, coalesce((ranked).score, 0), 1
  where (request).mode = 'reference';
end;
comment on function ragdb_internal.score_parts(
  ragdb.corpora, ragdb.corpora, ragdb_internal.search_request, ragdb.chunks, float8,
  ragdb_internal.ranked) is
  'Returns what each term and the meaning give to the score of a chunk; words is the share (0 to '
  '1) of the words in a hybrid search.';

create or replace function ragdb.explain_score(
  corpus text, query text, chunk_id text, mode text default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
  lexical_weight float8 default null, syntax text default 'plain', typos boolean default true)
returns table (part text, lexeme text, stands_for text, df integer, tf integer, value float8,
  points float8, most float8)
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_request ragdb_internal.search_request := row(explain_score.query, 1, explain_score.mode, 0,
    null, null, ragdb_internal.single(explain_score.query_embedding), explain_score.fusion,
    explain_score.lexical_weight, 0, 0,
    row(explain_score.syntax, null, false, 0, 0, false, explain_score.typos)
      ::ragdb_internal.search_options);
  v_corpus ragdb.corpora;
  v_statistics ragdb.corpora;
  v_chunk ragdb.chunks;
begin
  perform ragdb_internal.check_request(v_request);
  v_corpus := ragdb_internal.open_corpus(explain_score.corpus, 'read');
  v_statistics := case when explain_score.statistics is null
    then ragdb_internal.whole_of(v_corpus)
    else ragdb_internal.open_corpus(explain_score.statistics, 'read', true) end;
  v_chunk := ragdb_internal.chunk(v_corpus, explain_score.chunk_id);
  v_request := ragdb_internal.with_mode(array[v_corpus], v_request);
  return query
    select p.* from ragdb_internal.score_parts(v_corpus, v_statistics, v_request, v_chunk,
      coalesce(explain_score.lexical_weight, ragdb_internal.lexical_weight(
        (ragdb_internal.space(v_corpus.corpus_id, 'current')).embedder_id), 0.5),
      ragdb_internal.ranked_alone(v_corpus, v_statistics, v_request, v_chunk)) p
    order by p.part desc, p.points desc, p.most desc, p.lexeme;
end $$;
comment on function ragdb.explain_score(
  text, text, text, text, text, float8[], text, float8, text, boolean) is
  'Takes the score of a chunk in a search with these arguments apart: a row for each term of the '
  'query (part word, with the chunks that have it, its frequency in this one and its impact as '
  'value), one for the meaning (its similarity as value), or one for the overlap of mode '
  'reference. points are what a part gives to the score and add up to it (0 to 1, to its rounding '
  'of 1e-6); most is what it could have given, and adds up to 1. By rrf the words share what their '
  'rank gives as they share the BM25, and a chunk past the first 1000 has no points. Raises '
  'RG400, RG401, RG404, RG406, RG415, RG418.';
