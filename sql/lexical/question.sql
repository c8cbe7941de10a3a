-- A query as a corpus sees it: its terms, what each weighs, and what a chunk can score at most.
--
-- Weights may come from the statistics of another corpus, so that corpora that are searched apart
-- share one scale.
create or replace function ragdb_internal.query_terms(
  corpus ragdb.corpora, statistics ragdb.corpora, text text)
returns table (
  lexeme text, term_id integer, df integer, max_impact real, block_weight float8,
  frequency integer, common_df integer, idf float8)
language sql stable parallel safe
begin atomic
  select w.lexeme collate "C", l.term_id, coalesce(l.df, 0), l.max_impact, l.block_weight,
    pg_catalog.cardinality(w.positions), n.df,
    ragdb_internal.idf((query_terms.statistics).chunks, n.df)
  from pg_catalog.unnest(
      ragdb_internal.lexemes(query_terms.text, (query_terms.corpus).text_config)) w
    left join lateral (select d.term_id, d.df, d.max_impact, d.block_weight from ragdb.lexemes d
      where d.corpus_id = (query_terms.corpus).corpus_id and d.lexeme = w.lexeme offset 0) l on true
    cross join lateral (
      select coalesce(
        case when (query_terms.statistics).corpus_id = (query_terms.corpus).corpus_id then l.df
          else (select d.df from ragdb.lexemes d
            where d.corpus_id = (query_terms.statistics).corpus_id and d.lexeme = w.lexeme)
        end, 0) as df
      offset 0) n;
end;
comment on function ragdb_internal.query_terms(ragdb.corpora, ragdb.corpora, text) is
  'Returns the terms of a text: what a corpus knows of each (no term_id and df 0 where it knows '
  'none), its frequency in the text, and its df and idf by the statistics of a corpus.';

create type ragdb_internal.question_term as (
  term_id integer, weight float8, max_score float8, block_weight float8);
comment on type ragdb_internal.question_term is
  'A term of a question that the corpus has: its weight (idf times frequency), the most that it '
  'adds to the BM25 of a chunk, and its weight in the blocks (null: it has none).';

-- The vector is kept as its text: one in a row is packed, and would be unpacked for every chunk.
create type ragdb_internal.question as (
  terms ragdb_internal.question_term[], weights text, weight float8, max_score float8,
  postings bigint);
comment on type ragdb_internal.question is
  'A query to a corpus: the terms that it has, by lexeme (null: none), and their weights as the '
  'entries of a sparse vector; the weight of all terms, also of those that it lacks; the most that '
  'a chunk can score; and how many postings the terms have.';

create or replace function ragdb_internal.question(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, out question ragdb_internal.question)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  select array_agg(row(t.term_id, t.weight, t.weight * t.max_impact, t.block_weight)
      ::ragdb_internal.question_term order by t.lexeme) filter (where t.df > 0),
    string_agg(t.term_id || ':' || t.weight::real, ',' order by t.lexeme) filter (where t.df > 0),
    sum(t.weight order by t.lexeme),
    sum(t.weight * t.max_impact order by t.lexeme) filter (where t.df > 0),
    sum(t.df)
  into question
  from (
    select q.*, q.frequency * q.idf as weight
    from ragdb_internal.query_terms(
      corpus, statistics, ragdb_internal.ranking_text(query)) q
    offset 0) t;
end $$;
comment on function ragdb_internal.question(ragdb.corpora, ragdb.corpora, text) is
  'Returns a query, without its clauses, as a corpus sees it, weighed by the statistics of a '
  'corpus.';
