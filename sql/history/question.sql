-- A query as a corpus was asked it then: its terms and what each weighed, by the formulas of
-- lexical/question.sql, and which chunks its clauses demanded.

-- Returns some lexemes: how many chunks of a corpus as it was had each, how often it stands among
-- them, and its df and idf then, or by the statistics of another corpus today.
create or replace function ragdb_internal.facts_then(
  past ragdb_internal.past, statistics ragdb.corpora, words tsvector)
returns table (lexeme text, df integer, frequency integer, common_df integer, idf float8)
language sql stable parallel safe
begin atomic
  select k.lexeme, k.df, pg_catalog.cardinality(w.positions), n.df,
    ragdb_internal.idf(
      case when (facts_then.statistics).corpus_id is null then ((past).corpus).chunks
        else (facts_then.statistics).chunks end, n.df)
  from pg_catalog.unnest(facts_then.words) w
    join ragdb_internal.known_then(facts_then.past,
      pg_catalog.tsvector_to_array(facts_then.words)) k on k.lexeme = w.lexeme
    cross join lateral (
      select case when (facts_then.statistics).corpus_id is null then k.df
        else coalesce((select d.df from ragdb.lexemes d
          where d.corpus_id = (facts_then.statistics).corpus_id and d.lexeme = k.lexeme), 0)
        end as df
      offset 0) n;
end;

-- Returns what ragdb_internal.accented_lexeme would have returned of a corpus as it was. What
-- lexical/accents.sql looks up, by a look at the whole dictionary: that of then is nowhere.
create or replace function ragdb_internal.accented_then(past ragdb_internal.past, word text)
returns text
language sql stable parallel safe
begin atomic
  select k.lexeme
  from ragdb_internal.known_then(accented_then.past, array(
    select d.lexeme
    from (
        select ragdb_internal.unaccented(ragdb_internal.dictionary_word(accented_then.word))
          as word
        offset 0) u
      cross join lateral (
        select t.lexeme from ragdb.lexemes t where t.corpus_id = ((past).corpus).corpus_id
        union
        select o.lexeme collate "C" from pg_catalog.unnest((past).lexemes) o (lexeme)) d
    where not pg_catalog.starts_with(accented_then.word, d.lexeme)
      and pg_catalog.starts_with(u.word,
        case when d.lexeme ~ ragdb_internal.accented_letters()
          then ragdb_internal.unaccented(d.lexeme) else d.lexeme end)
      and ragdb_internal.accented_as(
        accented_then.word, d.lexeme, ((past).corpus).text_config) is not null)) k
  where k.df > 0
  order by k.df desc, k.lexeme
  limit 1;
end;

-- Returns the lexemes of what was probably meant by words of a text that a corpus lacked, with the
-- lexemes of these words and how often each stands there.
create or replace function ragdb_internal.meant_then(past ragdb_internal.past, text text)
returns table (lexeme text, stands_for text, frequency integer)
language sql stable parallel safe
begin atomic
  with spelt as materialized (
    select w.* from ragdb_internal.spelt_words_for((past).corpus, meant_then.text) w
  ), lacking as materialized (
    select s.word, s.lexeme, s.frequency, n.near, n.likely
    from spelt s
      cross join lateral ragdb_internal.near_lexemes(
        s.word, ragdb_internal.ascii_dictionary(((past).corpus).text_config),
        ((past).corpus).text_config, pg_catalog.length(s.word)) n
      join ragdb_internal.known_then(meant_then.past,
        array(select o.lexeme from spelt o)) k on k.lexeme = s.lexeme and k.df <= 0
    order by pg_catalog.length(s.word) desc, s.word
    limit ragdb_internal.most_replaced()
  ), known as materialized (
    select k.* from ragdb_internal.known_then(meant_then.past, array(
      select pg_catalog.unnest(l.near) from lacking l)) k
    where k.df > 0
  )
  select d.lexeme, l.lexeme, l.frequency
  from lacking l
    cross join lateral (
      select a.lexeme
      from ragdb_internal.accented_then(meant_then.past, l.word) a (lexeme)
      where a.lexeme is not null
      union all
      (select k.lexeme from known k
        where k.lexeme = any (l.near)
        order by ragdb_internal.likelihood(k.lexeme, k.df, l.near, l.likely) desc, k.lexeme
        limit 1)
      limit 1) d;
end;

-- Returns what stood for words of a text, as ragdb_internal.stand_ins does for today.
create or replace function ragdb_internal.stand_ins_then(
  past ragdb_internal.past, text text, typos boolean)
returns setof ragdb_internal.stand_in
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_config constant text := (past.corpus).text_config;
begin
  if typos then
    return query
      select m.lexeme, m.stands_for, sum(m.frequency)::integer, ragdb_internal.stand_in_share(),
        array[m.lexeme]
      from ragdb_internal.meant_then(past, text) m
      group by m.lexeme, m.stands_for;
  end if;
  return query
    with measure as materialized (
      select m.* from ragdb_internal.measures(text, v_config) m
    )
    select m.*
    from measure m
      join ragdb_internal.known_then(past, array(select o.lexeme from measure o)) k
        on k.lexeme = m.lexeme and k.df > 0;
  if (past.corpus).has_synonyms then
    return query
      select l.lexeme collate "C", s.lexeme, cardinality(w.positions),
        ragdb_internal.stand_in_share() / length(m.words), tsvector_to_array(m.words)
      from unnest(ragdb_internal.lexemes(text, v_config)) w
        join ragdb_internal.synonyms_then(past.corpus) s on s.lexeme = w.lexeme
        cross join lateral (
          select ragdb_internal.lexemes(s.means, v_config) as words offset 0) m
        cross join lateral unnest(m.words) l
      where l.lexeme <> w.lexeme;
  end if;
end $$;

-- A term of a query: its weight, and which word it counts for, by itself or in an alternative.
create type ragdb_internal.past_term as (
  lexeme text, weight float8, asked integer, alternative integer);

-- Returns the terms of a query that a corpus as it was had, by the words that they count for, the
-- weight of these, and whether the corpus had several alternatives for some.
create or replace function ragdb_internal.question_then(
  past ragdb_internal.past, statistics ragdb.corpora, query text, typos boolean,
  out terms ragdb_internal.past_term[], out weight float8, out is_widened boolean)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text constant text := ragdb_internal.ranking_text(query);
begin
  with asked as materialized (
    select f.* from ragdb_internal.facts_then(past, statistics,
      ragdb_internal.lexemes(v_text, (past.corpus).text_config)) f
  ), parts as (
    select a.lexeme, a.df, a.frequency * a.idf as weight, a.lexeme as asked, null as stands_for,
      null::text[] as means
    from asked a
    union all
    select f.lexeme, f.df, max(s.share) * max(s.frequency) * least(f.idf, a.idf), a.lexeme,
      a.lexeme, s.means
    from ragdb_internal.stand_ins_then(past, v_text, typos) s
      join asked a on a.lexeme = s.stands_for
      cross join lateral ragdb_internal.facts_then(
        past, statistics, array_to_tsvector(array[s.lexeme])) f
    group by f.lexeme, f.df, f.idf, a.lexeme, a.idf, s.means
  ), numbered as (
    select p.*, dense_rank() over (order by p.asked collate "C") as nth,
      dense_rank() over (order by p.asked, p.means) as alternative
    from parts p
  ), present as (
    select * from numbered where df > 0
  )
  select w.is_widened, nullif(case when w.is_widened then array(
      select row(n.lexeme, n.weight, n.nth, n.alternative)::ragdb_internal.past_term
      from present n order by n.nth, n.alternative, n.lexeme)
    else array(
      select row(n.lexeme, sum(n.weight order by n.weight), min(n.nth), min(n.alternative))
        ::ragdb_internal.past_term
      from present n group by n.lexeme order by n.lexeme) end, '{}'),
    (select sum(n.weight order by n.nth) from numbered n where n.stands_for is null)
  into is_widened, terms, weight
  from (select count(distinct n.alternative) > count(distinct n.nth) as is_widened
    from present n) w;
end $$;

-- Returns those of the given chunks (null: all) of a corpus as it was that satisfy the +words,
-- -words and phrases of a query; what it was given when the query has none.
create or replace function ragdb_internal.demanded_then(
  past ragdb_internal.past, query text, among integer[])
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_corpus constant ragdb.corpora := past.corpus;
  v_then constant tsquery := ragdb_internal.demand_query(query, v_corpus.text_config);
  v_today ragdb_internal.demand[];
begin
  if v_then is null then
    return among;
  end if;
  v_today := ragdb_internal.demands(v_corpus, query);
  return array(
    select n from unnest(ragdb_internal.meeting(v_corpus, v_today, coalesce(among,
      ragdb_internal.chunks_demanded(v_corpus.corpus_id, v_today),
      array(select x.chunk_no from ragdb.chunk_lexemes x
        where x.corpus_id = v_corpus.corpus_id)))) n
      where v_today is not null and n <> all (past.stale)
    union all
    select o.chunk_no from unnest(past.old) o
      where o.words @@ v_then and (among is null or o.chunk_no = any (among)));
end $$;

-- Tells whether a query demands a word that a corpus as it was lacked.
create or replace function ragdb_internal.demand_fails_then(past ragdb_internal.past, query text)
returns boolean
language sql stable parallel safe
return exists (
  select from ragdb_internal.query_clauses(demand_fails_then.query) c
    cross join lateral (
      select ragdb_internal.words(c.text, ((past).corpus).text_config) as words offset 0) w
    cross join lateral (
      select from pg_catalog.unnest(w.words) u
        cross join lateral pg_catalog.unnest(u.positions) p (position)
        join ragdb_internal.known_then(demand_fails_then.past,
          pg_catalog.tsvector_to_array(w.words)) k on k.lexeme = u.lexeme
      group by p.position having not bool_or(k.df > 0)) lacking
  where c.kind = 'must');
