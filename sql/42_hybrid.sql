-- Ranking by meaning, and by words and meaning together.
--
-- Each leg runs once, to the same depth; a candidate of one leg gets its exact score of the other by key. Both
-- scores have fixed bounds, so that a score, and a threshold on it, mean the same for every query.

-- The chunks that rank, with what each leg said of them
do $$ begin
  if pg_catalog.to_regtype('ragdb.ranked') is null then
    create type ragdb.ranked as (
      chunk_no integer, score float8, lexical_score float8, semantic_score float8,
      lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8, is_exact boolean);
  end if;
end $$;
comment on type ragdb.ranked is
  'A chunk in a ranking: its score, and score and rank in each leg; null where a leg did not run or lacks an embedding.';

create or replace function ragdb._rank_semantic(
  corpus ragdb.corpora, space ragdb.embedding_spaces, embedding vector, k integer,
  chunk_nos integer[] default null)
returns setof ragdb.ranked
language sql stable parallel restricted
begin atomic
  select r.chunk_no, r.score, null::float8, r.score, null::integer, r.rank, null::float8, null::float8, r.is_exact
  from (
    select n.chunk_no, n.score, n.is_exact,
      pg_catalog.row_number() over (order by n.score desc, c.chunk_id)::integer as rank
    from ragdb._nearest(_rank_semantic.corpus, _rank_semantic.space, _rank_semantic.embedding,
        _rank_semantic.k, _rank_semantic.chunk_nos) n
      join ragdb.chunks c on c.corpus_id = (_rank_semantic.corpus).corpus_id and c.chunk_no = n.chunk_no
  ) r
  where r.rank <= _rank_semantic.k;
end;
comment on function ragdb._rank_semantic(ragdb.corpora, ragdb.embedding_spaces, vector, integer, integer[]) is
  'Returns the k chunks of a corpus nearest to an embedding, among the given ones when not null.';

create or replace function ragdb._query_terms(corpus ragdb.corpora, statistics ragdb.corpora, text text)
returns table (lexeme text, term_id integer, weight float8)
language sql stable parallel safe
begin atomic
  select w.lexeme collate "C", l.term_id,
    pg_catalog.cardinality(w.positions) * pg_catalog.ln(1 + ((statistics).chunks - coalesce(s.df, 0) + 0.5::float8)
      / (coalesce(s.df, 0) + 0.5::float8))
  from pg_catalog.unnest(ragdb._lexemes(_query_terms.text, (corpus).text_config)) w
    left join ragdb.lexemes l on l.corpus_id = (corpus).corpus_id and l.lexeme = w.lexeme and l.df > 0
    left join ragdb.lexemes s on s.corpus_id = (statistics).corpus_id and s.lexeme = w.lexeme;
end;
comment on function ragdb._query_terms(ragdb.corpora, ragdb.corpora, text) is
  'Returns the terms of a text with their idf times frequency; term_id is null for a term that the corpus lacks.';

-- "phrase", +word and -word bind the semantic leg too
create or replace function ragdb._demanded_chunks(corpus ragdb.corpora, query text, chunk_nos integer[])
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_clause record;
  v_condition text;
  v_all text;
begin
  if query !~ '"|(^|\s)[+-]\S' then
    return chunk_nos;
  end if;
  for v_clause in
    select c.kind, c.is_phrase, ragdb._lexemes(c.text, corpus.text_config) as words
    from ragdb._query_clauses(query) c where c.kind <> 'rank'
  loop
    continue when v_clause.words = '';
    v_condition := ragdb._clause_condition(corpus.corpus_id, v_clause.words, v_clause.is_phrase);
    if v_condition is null and v_clause.kind = 'must' then
      return '{}';
    end if;
    if v_condition is not null then
      v_all := concat_ws('&', v_all, case v_clause.kind when 'not' then '!' end || v_condition, case v_clause.kind when 'must' then v_condition end);
    end if;
  end loop;
  if v_all is null then
    return chunk_nos;
  end if;
  return array(
    select x.chunk_no from ragdb.chunk_lexemes x
    where x.corpus_id = corpus.corpus_id and x.lexemes @@ v_all::tsquery
      and (_demanded_chunks.chunk_nos is null or x.chunk_no = any (_demanded_chunks.chunk_nos)));
end $$;
comment on function ragdb._demanded_chunks(ragdb.corpora, text, integer[]) is
  'Returns those of the given chunks (all of the corpus when null) that satisfy the +words, -words and phrases of a query; what it was given when the query has none.';

create or replace function ragdb._score_lexical(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, chunk_nos integer[])
returns table (chunk_no integer, score float8, bm25 float8, coverage float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_text text := query;
  v_ids integer[];
  v_weights float8[];
  v_asked float8;
begin
  if query ~ '"|(^|\s)[+-]\S' then
    select string_agg(c.text, ' ') filter (where c.kind <> 'not') into v_text from ragdb._query_clauses(query) c;
  end if;
  select array_agg(t.term_id order by t.lexeme) filter (where t.term_id is not null),
    array_agg(t.weight order by t.lexeme) filter (where t.term_id is not null),
    sum(t.weight order by t.lexeme)
    into v_ids, v_weights, v_asked
    from ragdb._query_terms(corpus, statistics, v_text) t;
  return query
    select b.chunk_no, b.bm25 / (v_asked * (corpus.k1 + 1)), b.bm25, b.matched / v_asked
    from ragdb._bm25(corpus, chunk_nos, v_ids, v_weights) b;
end $$;
comment on function ragdb._score_lexical(ragdb.corpora, ragdb.corpora, text, integer[]) is
  'Returns the exact lexical score of the given chunks for a query.';

-- The two legs in one statement. weight is the lexical leg's; what a leg lacks counts 0.
create or replace function ragdb._rank_hybrid(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, space ragdb.embedding_spaces, embedding vector,
  k integer, filter jsonb, chunk_ids text[], chunk_nos integer[], fusion text, weight float8)
returns setof ragdb.ranked
language sql stable parallel restricted
begin atomic
  with near as materialized (
    select s.chunk_no, s.semantic_score as score, s.semantic_rank as rank, s.is_exact
    from ragdb._rank_semantic(_rank_hybrid.corpus, _rank_hybrid.space, _rank_hybrid.embedding,
      least(1000, greatest(50, 4 * _rank_hybrid.k)), _rank_hybrid.chunk_nos) s
  ), words as materialized (
    select w.* from (
      select r.chunk_no, r.score, r.bm25, r.coverage,
        pg_catalog.row_number() over (order by r.score desc, c.chunk_id)::integer as rank
      from ragdb._rank_lexical(_rank_hybrid.corpus, _rank_hybrid.statistics, _rank_hybrid.query,
          least(1000, greatest(50, 4 * _rank_hybrid.k)), _rank_hybrid.filter, _rank_hybrid.chunk_ids) r
        join ragdb.chunks c on c.corpus_id = (_rank_hybrid.corpus).corpus_id and c.chunk_no = r.chunk_no
    ) w where w.rank <= least(1000, greatest(50, 4 * _rank_hybrid.k))
  ), candidates as (
    select coalesce(n.chunk_no, w.chunk_no) as chunk_no, coalesce(w.score, l.score, 0) as lexical_score,
      coalesce(n.score, s.score) as semantic_score, w.rank as lexical_rank, n.rank as semantic_rank,
      coalesce(w.bm25, l.bm25, 0) as bm25, coalesce(w.coverage, l.coverage, 0) as coverage
    from near n
      full join words w on w.chunk_no = n.chunk_no
      left join ragdb._score_lexical(_rank_hybrid.corpus, _rank_hybrid.statistics, _rank_hybrid.query,
        array(select a.chunk_no from near a where a.chunk_no not in (select b.chunk_no from words b))) l
        on l.chunk_no = n.chunk_no
      left join ragdb._score_chunks(_rank_hybrid.space,
        (select e.metric from ragdb.embedders e where e.embedder_id = (_rank_hybrid.space).embedder_id),
        _rank_hybrid.embedding,
        array(select a.chunk_no from words a where a.chunk_no not in (select b.chunk_no from near b))) s
        on s.chunk_no = w.chunk_no
  )
  select c.chunk_no,
    pg_catalog.round(1000000::float8 * case _rank_hybrid.fusion
      when 'rrf' then 61::float8 * (coalesce(_rank_hybrid.weight / (60 + c.lexical_rank), 0)
        + coalesce((1::float8 - _rank_hybrid.weight) / (60 + c.semantic_rank), 0))
      else _rank_hybrid.weight * c.lexical_score
        + (1::float8 - _rank_hybrid.weight) * coalesce(c.semantic_score, 0)
    end) / 1000000::float8,
    c.lexical_score, c.semantic_score, c.lexical_rank, c.semantic_rank, c.bm25, c.coverage,
    coalesce((select pg_catalog.bool_and(n.is_exact) from near n), true)
  from candidates c;
end;
comment on function ragdb._rank_hybrid(ragdb.corpora, ragdb.corpora, text, ragdb.embedding_spaces, vector, integer, jsonb, text[], integer[], text, float8) is
  'Returns the candidates of both legs with their fused score: convex (weight times lexical plus the rest times semantic) or rrf.';
