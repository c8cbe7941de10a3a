-- A score taken apart: what each word and the meaning give to it, in parts that add up to it, and
-- the most that each could have given.

-- Returns how a search scores chunks whatever else there is; none of those that do not rank and, by
-- rrf, the first 1000 of all. An rrf is made of ranks, which only the whole ranking has.
create or replace function ragdb_internal.ranked_among(
  corpora ragdb.corpora[], statistics ragdb.corpora, request ragdb_internal.search_request,
  chunk_ids text[])
returns ragdb_internal.ranked[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_needs_ranks constant boolean := request.mode = 'hybrid' and request.fusion = 'rrf';
begin
  request.k := case when v_needs_ranks then 1000 else cardinality(chunk_ids) end;
  request.chunk_ids := case when not v_needs_ranks then chunk_ids end;
  request.filter := null;
  request.min_score := 0;
  request.min_lexical := 0;
  request.min_semantic := 0;
  return ragdb_internal.rank_corpora(corpora, statistics, request);
end $$;

-- A part of the score of a chunk, as ragdb.explain_score returns it.
create type ragdb_internal.score_part as (
  chunk_no integer, part text, lexeme text, stands_for text, df integer, tf integer,
  value float8, points float8, most float8);

-- Returns what each term and the meaning give to the scores of chunks; words is the share (0 to 1)
-- of the words in a hybrid search. What only stands for a word, and no chunk has, can give nothing.
create or replace function ragdb_internal.score_parts(
  corpus ragdb.corpora, statistics ragdb.corpora, request ragdb_internal.search_request,
  chunk_nos integer[], words float8, ranked ragdb_internal.ranked[])
returns setof ragdb_internal.score_part
language sql stable parallel safe
begin atomic
  with legs as (
    select case (request).mode when 'hybrid' then words when 'semantic' then 0 else 1 end as words,
      case (request).mode when 'hybrid' then 1 - words when 'semantic' then 1 else 0 end as meaning,
      (request).mode = 'hybrid' and (request).fusion = 'rrf' as is_rrf,
      (ragdb_internal.rrf_constant() + 1)::float8 as first
  ), given as (
    select c.chunk_no, l.*, r.score, r.semantic_score,
      case when l.is_rrf
        then coalesce(l.first * l.words / (ragdb_internal.rrf_constant() + r.lexical_rank), 0)
        else l.words * coalesce(r.lexical_score, 0) end as by_words,
      case when l.is_rrf
        then coalesce(l.first * l.meaning / (ragdb_internal.rrf_constant() + r.semantic_rank), 0)
        else l.meaning * coalesce(r.semantic_score, 0) end as by_meaning
    from pg_catalog.unnest(chunk_nos) c (chunk_no) cross join legs l
      left join pg_catalog.unnest(ranked) r on r.chunk_no = c.chunk_no
  ), terms as materialized (
    select t.*, pg_catalog.sum(t.contribution) over w as bm25,
      pg_catalog.sum(t.weight) filter (where t.stands_for is null) over w as weights
    from ragdb_internal.terms_in_chunks(score_parts.corpus, score_parts.statistics,
      (request).query, score_parts.chunk_nos, ((request).options).syntax,
      ((request).options).typos) t
    where (request).mode in ('lexical', 'hybrid')
    -- in one order, whatever the plan: the last digit of a sum rests on it
    window w as (partition by t.chunk_no order by t.lexeme collate "C"
      rows between unbounded preceding and unbounded following)
  )
  select g.chunk_no, 'word', t.lexeme, t.stands_for, t.df, t.tf, t.impact,
    coalesce(g.by_words * t.contribution / nullif(t.bm25, 0), 0),
    coalesce(g.words * case when g.is_rrf then t.contribution / nullif(t.bm25, 0)
      when t.stands_for is null or t.df > 0 then t.weight / nullif(t.weights, 0) end, 0)
  from given g join terms t using (chunk_no)
  union all
  select g.chunk_no, 'meaning', null, null, null, null, g.semantic_score, g.by_meaning, g.meaning
  from given g where g.meaning > 0
  union all
  select g.chunk_no, 'overlap', null, null, null, null, g.score, coalesce(g.score, 0), 1
  from given g where (request).mode = 'reference';
end;

-- Checks the chunks whose scores are asked for. Raises RG400.
create or replace function ragdb_internal.check_explained(chunk_ids text[]) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if not coalesce(ragdb_internal.is_list(chunk_ids) and cardinality(chunk_ids) between 1 and 100
    and cardinality(chunk_ids) = (select count(distinct i.id) from unnest(chunk_ids) i (id)), false)
  then
    raise exception 'chunk_ids is not a list of 1 to 100 different chunks'
      using errcode = 'RG400', detail = 'the score of each is taken apart',
        hint = 'give the chunk_id of hits, each once';
  end if;
end $$;

create or replace function ragdb.explain_scores(
  corpus text, query text, chunk_ids text[], mode text default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
  lexical_weight float8 default null, syntax text default 'plain', typos boolean default true)
returns table (chunk_id text, part text, lexeme text, stands_for text, df integer, tf integer,
  value float8, points float8, most float8)
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_request ragdb_internal.search_request := row(explain_scores.query, 1, explain_scores.mode, 0,
    null, null, ragdb_internal.single(explain_scores.query_embedding), explain_scores.fusion,
    explain_scores.lexical_weight, 0, 0,
    row(explain_scores.syntax, null, false, 0, 0, false, explain_scores.typos)
      ::ragdb_internal.search_options, null);
  v_corpora ragdb.corpora[];
  v_statistics ragdb.corpora;
  v_chunks ragdb.chunks[];
  v_ranked ragdb_internal.ranked[];
begin
  perform ragdb_internal.check_request(v_request);
  perform ragdb_internal.check_explained(explain_scores.chunk_ids);
  v_corpora := ragdb_internal.open_with_parts(explain_scores.corpus);
  v_statistics := case when explain_scores.statistics is null
    then ragdb_internal.whole_of(v_corpora[1])
    else ragdb_internal.open_corpus(explain_scores.statistics, 'read', true) end;
  v_chunks := array(select ragdb_internal.chunk(v_corpora, i.id)
    from unnest(chunk_ids) with ordinality i (id, n) order by i.n);
  v_request := ragdb_internal.with_mode(v_corpora, v_request);
  v_ranked := ragdb_internal.ranked_among(v_corpora, v_statistics, v_request, chunk_ids);
  return query
    select h.chunk_id, p.part, p.lexeme, p.stands_for, p.df, p.tf, p.value, p.points, p.most
    from unnest(v_corpora) c
      cross join lateral ragdb_internal.score_parts(c, v_statistics, v_request,
        array(select h.chunk_no from unnest(v_chunks) h where h.corpus_id = c.corpus_id),
        coalesce(explain_scores.lexical_weight, ragdb_internal.lexical_weight(
          (ragdb_internal.space(c.corpus_id, 'current')).embedder_id), 0.5),
        array(select r from unnest(v_ranked) r where r.corpus_id = c.corpus_id)) p
      join unnest(v_chunks) with ordinality h
        on h.corpus_id = c.corpus_id and h.chunk_no = p.chunk_no
    order by h.ordinality, p.part desc, p.points desc, p.most desc, p.lexeme;
end $$;
comment on function ragdb.explain_scores is
  'Does for 1 to 100 different chunks what ragdb.explain_score does for one, in the order of the '
  'ids. Raises RG400, RG401, RG404, RG406, RG415, RG418.';

create or replace function ragdb.explain_score(
  corpus text, query text, chunk_id text, mode text default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
  lexical_weight float8 default null, syntax text default 'plain', typos boolean default true)
returns table (part text, lexeme text, stands_for text, df integer, tf integer, value float8,
  points float8, most float8)
language sql stable parallel restricted
begin atomic
  select s.part, s.lexeme, s.stands_for, s.df, s.tf, s.value, s.points, s.most
  from ragdb.explain_scores(explain_score.corpus, explain_score.query,
    array[explain_score.chunk_id], explain_score.mode, explain_score.statistics,
    explain_score.query_embedding, explain_score.fusion, explain_score.lexical_weight,
    explain_score.syntax, explain_score.typos) s;
end;
comment on function ragdb.explain_score is
  'Takes the score of a chunk in a search with these arguments apart: a row for each term of the '
  'query (part word, with the chunks that have it, its frequency in this one and its impact as '
  'value), one for the meaning (its similarity as value), or one for the overlap of mode '
  'reference. points are what a part gives to the score and add up to it (0 to 1, to its rounding '
  'of 1e-6); most is what it could have given: that of the words of the query and of the meaning '
  'adds up to 1, and of a word and all that stands for it only the best has points. By rrf the '
  'words share what their rank gives as they share the BM25, and a chunk past the first 1000 has '
  'no points. Raises RG400, RG401, RG404, RG406, RG415, RG418.';
