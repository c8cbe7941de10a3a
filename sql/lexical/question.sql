-- A query as a corpus sees it: its terms, what each weighs, and what a chunk can score at most.
--
-- Weights may come from the statistics of another corpus, so that corpora that are searched apart
-- share one scale.

-- Returns some lexemes: what a corpus knows of each (no term_id and df 0 where it knows none), how
-- often it stands among them, and its df and idf by the statistics of a corpus.
create or replace function ragdb_internal.term_facts(
  corpus ragdb.corpora, statistics ragdb.corpora, words tsvector)
returns table (
  lexeme text, term_id integer, df integer, max_impact real, in_blocks boolean,
  listed bytea, frequency integer, common_df integer, idf float8)
language sql stable parallel safe
begin atomic
  select w.lexeme collate "C", l.term_id, coalesce(l.df, 0), l.max_impact, l.in_blocks,
    l.chunk_nos, pg_catalog.cardinality(w.positions), n.df,
    ragdb_internal.idf((term_facts.statistics).chunks, n.df)
  from pg_catalog.unnest(term_facts.words) w
    left join lateral (
      select d.term_id, d.df, d.max_impact, d.in_blocks, d.chunk_nos from ragdb.lexemes d
      where d.corpus_id = (term_facts.corpus).corpus_id and d.lexeme = w.lexeme offset 0) l on true
    cross join lateral (
      select coalesce(
        case when (term_facts.statistics).corpus_id = (term_facts.corpus).corpus_id then l.df
          else (select d.df from ragdb.lexemes d
            where d.corpus_id = (term_facts.statistics).corpus_id and d.lexeme = w.lexeme)
        end, 0) as df
      offset 0) n;
end;

-- Returns those of some lexemes that no chunk of a corpus has.
create or replace function ragdb_internal.lacking(corpus ragdb.corpora, words tsvector)
returns text[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select t.lexeme from ragdb_internal.term_facts(corpus, corpus, words) t where t.df = 0);
end $$;

-- Returns some lexemes as ragdb_internal.term_facts does, and what stands for some of them, with
-- the weight of each and what it adds to the weight of all. What stands for another word weighs
-- less than if it had been asked for: 0.7 of it, or its share where several words (means) stand for
-- one, and less than the word, too: else a synonym that is rare would be found before what was
-- asked for. The weight of all is that of the words, and a word that the corpus lacks weighs the
-- most there is: what else is looked for lowers no score, or the floors of a corpus would refuse
-- what they let pass before.
create or replace function ragdb_internal.query_terms(
  corpus ragdb.corpora, statistics ragdb.corpora, words tsvector,
  stand_ins ragdb_internal.stand_in[])
returns table (
  lexeme text, term_id integer, df integer, max_impact real, in_blocks boolean,
  listed bytea, frequency integer, common_df integer, idf float8, weight float8,
  stands_for text, means text[])
language sql stable parallel safe
begin atomic
  select t.lexeme, t.term_id, t.df, t.max_impact, t.in_blocks, t.listed, s.frequency, t.common_df,
    t.idf, s.share * s.frequency * least(t.idf, max(t.idf) filter (where s.stands_for is null)
      over (partition by coalesce(s.stands_for, s.lexeme))),
    s.stands_for, s.means
  from (
      select w.lexeme, null::text as stands_for, pg_catalog.cardinality(w.positions) as frequency,
        1::float8 as share, array[w.lexeme] as means
      from pg_catalog.unnest(query_terms.words) w
      union all
      select i.lexeme, i.stands_for, max(i.frequency), max(i.share), i.means
      from pg_catalog.unnest(query_terms.stand_ins) i
      where i.stands_for = any (pg_catalog.tsvector_to_array(query_terms.words))
      group by i.lexeme, i.stands_for, i.means) s
    cross join lateral ragdb_internal.term_facts(query_terms.corpus, query_terms.statistics,
      pg_catalog.array_to_tsvector(array[s.lexeme])) t;
end;

-- A term of a question that the corpus has: its weight (idf times frequency), the most that it adds
-- to the BM25 of a chunk, and whether blocks say where it is.
create type ragdb_internal.question_term as (
  term_id integer, weight float8, max_score float8, in_blocks boolean);

-- What a chunk may have for a word of a query (asked, by number): the word itself, or another
-- alternative that stands for it, which may be several terms. Of all that a chunk has for a word
-- only the best counts: else many synonyms, each used once, would be found before the word.
create type ragdb_internal.question_part as (
  asked integer, alternative integer, term_id integer, weight float8);

-- A query to a corpus: the terms that it has, by lexeme (null: none), and their weights as the
-- entries of a sparse vector; the weight of all its words, also of those that the corpus lacks; the
-- most that a chunk can score; whether blocks say where a term is; the chunks that the dictionary
-- lists for its terms, four bytes each (null: none); and what counts for each word, where the
-- corpus has several alternatives for some (null: all terms). Terms add up to what a chunk scores,
-- or to more where only the best of some counts. The vector is kept as its text: one in a row is
-- packed, and would be unpacked for every chunk.
create type ragdb_internal.question as (
  terms ragdb_internal.question_term[], weights text, weight float8, max_score float8,
  in_blocks boolean, listed bytea, parts ragdb_internal.question_part[]);

-- A term as a corpus knows it, its weight, and what that adds to the weight of all.
create type ragdb_internal.weighed_term as (
  lexeme text collate "C", term_id integer, df integer, max_impact real, in_blocks boolean,
  listed bytea, weight float8, most float8);

-- Returns some terms as a question to the corpus that they are of. A table, so that it becomes a
-- part of its callers: PostgreSQL 16 would plan it at each call.
create or replace function ragdb_internal.weighed_question(
  terms ragdb_internal.weighed_term[], parts ragdb_internal.question_part[])
returns setof ragdb_internal.question
language sql immutable parallel safe rows 1
begin atomic
  select pg_catalog.array_agg(row(t.term_id, t.weight, t.weight * t.max_impact, t.in_blocks)
      ::ragdb_internal.question_term order by t.lexeme) filter (where t.df > 0),
    pg_catalog.string_agg(t.term_id || ':' || t.weight::real, ',' order by t.lexeme)
      filter (where t.df > 0),
    sum(t.most order by t.lexeme),
    sum(t.weight * t.max_impact order by t.lexeme) filter (where t.df > 0),
    bool_or(t.in_blocks),
    pg_catalog.string_agg(t.listed, ''),
    weighed_question.parts
  from pg_catalog.unnest(weighed_question.terms) t;
end;

-- Returns some lexemes as a question, with what stands for some of them; a term that is asked for
-- and stands for another word too has both weights.
create or replace function ragdb_internal.widened_question(
  corpus ragdb.corpora, statistics ragdb.corpora, words tsvector,
  stand_ins ragdb_internal.stand_in[])
returns ragdb_internal.question
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    with terms as materialized (
      select q.*,
        dense_rank() over (order by coalesce(q.stands_for, q.lexeme) collate "C") as asked,
        dense_rank() over (order by q.stands_for, q.means) as alternative
      from ragdb_internal.query_terms(corpus, statistics, words, stand_ins) q
    )
    select w
    from (
        select array(
          select row(q.lexeme, min(q.term_id), min(q.df), min(q.max_impact), bool_or(q.in_blocks),
            any_value(q.listed), sum(q.weight order by q.weight),
            coalesce(sum(q.weight) filter (where q.stands_for is null), 0))
            ::ragdb_internal.weighed_term
          from terms q
          group by q.lexeme) as terms,
        (
          select array_agg(row(q.asked, q.alternative, q.term_id, q.weight)
            ::ragdb_internal.question_part order by q.asked, q.alternative, q.lexeme)
          from terms q where q.df > 0
          having count(distinct q.alternative) > count(distinct q.asked)) as parts
        offset 0) t
      cross join lateral ragdb_internal.weighed_question(t.terms, t.parts) w);
end $$;

-- Returns a query, without its clauses, as a corpus sees it, weighed by the statistics of a corpus,
-- with what was probably meant by words that it lacks (typos) and with its synonyms. What a part
-- lacks another may have, and its synonyms are those of its whole. The terms of the query itself
-- are what most queries have; what stands for others is looked for where a corpus lacks one of them
-- or has synonyms.
create or replace function ragdb_internal.question(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, typos boolean default false,
  out question ragdb_internal.question)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_text constant text := ragdb_internal.ranking_text(query);
  v_words constant tsvector := ragdb_internal.lexemes(v_text, corpus.text_config);
  v_lacking text[];
  v_whole ragdb.corpora := corpus;
  v_stand_ins ragdb_internal.stand_in[];
begin
  select array_agg(row(t.term_id, t.weight, t.weight * t.max_impact, t.in_blocks)
      ::ragdb_internal.question_term) filter (where t.df > 0),
    string_agg(t.term_id || ':' || t.weight::real, ',') filter (where t.df > 0),
    sum(t.weight),
    sum(t.weight * t.max_impact) filter (where t.df > 0),
    bool_or(t.in_blocks), string_agg(t.listed, ''),
    array_agg(t.lexeme) filter (
      where t.df = 0 and (corpus.part_of is null or t.common_df = 0))
  into question.terms, question.weights, question.weight, question.max_score, question.in_blocks,
    question.listed, v_lacking
  from (
    select q.*, q.frequency * q.idf as weight
    from ragdb_internal.term_facts(corpus, statistics, v_words) q
    order by q.lexeme offset 0) t;  -- one order for all
  if corpus.part_of is not null then
    v_whole := ragdb_internal.whole_of(corpus);
  end if;
  if v_lacking is not null and typos or v_whole.has_synonyms
      or v_text ~ ragdb_internal.measure_pattern() then
    if corpus.part_of <> statistics.corpus_id then
      v_lacking := ragdb_internal.lacking(v_whole, v_words);
    end if;
    v_stand_ins := ragdb_internal.stand_ins(
      v_whole, v_text, v_words, case when typos then v_lacking end);
  end if;
  if v_stand_ins <> '{}' then
    question := ragdb_internal.widened_question(corpus, statistics, v_words, v_stand_ins);
  end if;
end $$;
