-- The syntax web of a query: "quoted phrase", +word and -word, as web search engines have them.
-- Everything else only ranks. A question in plain syntax is made one without clauses here, and the
-- rest of the ranking knows nothing of it.
--
-- A sign counts before a letter or a quote: "+1 nucleosome" and "-5 degrees" are plain words.

-- Says what is wrong with a query that ragdb_internal.check_query() refuses. Raises RG400.
create or replace function ragdb_internal.refuse_query(query text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'query is %', case when query is null then 'null'
      when length(query) > 32768 then 'too long' else 'empty' end
    using errcode = 'RG400', detail = 'a query has 1 to 32768 characters',
      hint = case when length(query) > 32768 then 'keep the words that matter; a long text '
          'is for a document, not for a query'
        else 'pass the question as query' end;
end $$;

-- Refuses a query that is null, empty or longer than 32,768 characters. Raises RG400.
create or replace function ragdb_internal.check_query(query text) returns void
language sql immutable parallel safe
return case
  when (query ~ '\S' and pg_catalog.length(query) <= 32768) is not true
    then ragdb_internal.refuse_query(query) end;

-- Splits a query into clauses: rank (a word), must (+word, "phrase") and not (-word, -"phrase").
create or replace function ragdb_internal.query_clauses(query text)
returns table (kind text, is_phrase boolean, text text)
language sql immutable parallel safe
begin atomic
  select
    case
      when m.part[1] = '-' then 'not'
      when m.part[1] = '+' or m.part[2] is not null then 'must'
      else 'rank'
    end,
    m.part[2] is not null, coalesce(m.part[2], m.part[3])
  from pg_catalog.regexp_matches(query_clauses.query,
    '(?:(?<![^\s])([+-])(?=[^\u0001-\u0040[-\u0060{-\u007f]|"))?(?:"([^"]*)"|([^\s"]+|"))',
    'g') m (part);
end;

-- Whether a query has more than words that rank.
create or replace function ragdb_internal.has_clauses(query text) returns boolean
language sql immutable parallel safe
return has_clauses.query ~ '"|(^|\s)[+-][^\u0001-\u0040[-\u0060{-\u007f]';

-- Returns a query whose quotes and signs are gone, so that all its words only rank.
create or replace function ragdb_internal.without_clauses(query text) returns text
language sql immutable parallel safe
return case when ragdb_internal.has_clauses(without_clauses.query)
  then pg_catalog.regexp_replace(pg_catalog.replace(without_clauses.query, '"', ' '),
    '(^|\s)[+-](?=[^\u0001-\u0040[-\u0060{-\u007f])', '\1', 'g')
  else without_clauses.query end;

-- Returns what a query ranks by: its words and phrases without signs and quotes, and without the
-- clauses that a chunk must not have; null when nothing is left.
create or replace function ragdb_internal.ranking_text(query text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if not ragdb_internal.has_clauses(query) then
    return ranking_text.query;
  end if;
  return (select string_agg(c.text, ' ') from ragdb_internal.query_clauses(query) c
    where c.kind <> 'not');
end $$;

-- What chunks must have, or must not (is_not): for each place one of its terms, which stand in
-- term_ids beside their places and in units as a sparse vector for each place; and a phrase of
-- lexemes (null: the words in any order). The order of the words of a chunk that has it is like all
-- patterns, and like one of orders (null: any). A chunk whose order is has the phrase if it has
-- each of bytes, place by place, only where it has the word (null: its text tells).
create type ragdb_internal.demand as (
  is_not boolean, term_ids integer[], places integer[], units sparsevec[], phrase tsquery,
  patterns bytea[], orders bytea[], bytes bytea[]);

-- Returns patterns of which the order of words is like one where words have these bytes in a row,
-- each at a distance from the one before it, in words; null for more than 16. Where a phrase has
-- stop words, a chunk may have other words instead, or some that do not count, which are one byte
-- however many they are.
create or replace function ragdb_internal.phrase_orders(bytes bytea[], distances integer[])
returns bytea[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_orders bytea[] := array['%'::bytea];
begin
  for v_i in 1 .. cardinality(bytes) loop
    if cardinality(v_orders) * distances[v_i] > 16 then
      return null;
    end if;
    v_orders := array(
      select o || decode(repeat('5f', n), 'hex') || bytes[v_i]  -- 5f is _, any byte
      from unnest(v_orders) o
        cross join generate_series(least(1, distances[v_i] - 1), distances[v_i] - 1) n);
  end loop;
  return array(select o || '%'::bytea from unnest(v_orders) o);
end $$;

-- Returns the words of a clause as a tsquery over lexemes: all of them, for a phrase in their order
-- and with their distances. Lexemes of one position are forms of one word: any of them will do.
create or replace function ragdb_internal.lexeme_query(words tsvector, is_phrase boolean)
returns tsquery
language sql immutable parallel safe
return (
  select pg_catalog.string_agg(
    case
      when p.before is null then ''
      when lexeme_query.is_phrase then '<' || p.position - p.before || '>'
      else '&' end
      || '(' || p.forms || ')', '' order by p.position)
  from (
    select u.position, lag(u.position) over (order by u.position) as before, u.forms
    from (
      select o.position,
        pg_catalog.string_agg(pg_catalog.array_to_tsvector(array[w.lexeme])::text, '|') as forms
      from pg_catalog.unnest(lexeme_query.words) w
        cross join pg_catalog.unnest(w.positions) o (position)
      group by o.position) u) p)::tsquery;

-- Returns what a clause demands of chunks; null when the corpus lacks one of its words.
create or replace function ragdb_internal.demanded(
  corpus_id integer, kind text, is_phrase boolean, words tsvector)
returns ragdb_internal.demand
language sql stable parallel safe
return (
  with forms as materialized (
    select p.position, w.lexeme, l.term_id
    from pg_catalog.unnest(demanded.words) w
      cross join pg_catalog.unnest(w.positions) p (position)
      left join lateral (select k.term_id from ragdb.lexemes k
        where k.corpus_id = demanded.corpus_id and k.lexeme = w.lexeme and k.df > 0
        offset 0) l on true
  ), places as (
    select f.position, bool_or(f.term_id is not null) as is_known,
      ragdb_internal.sparse(pg_catalog.string_agg(f.term_id || ':1', ',')) as unit,
      case when count(*) = 1
        then ragdb_internal.word_byte(ragdb_internal.word_number(min(f.lexeme)))
        else '_' end as byte,
      f.position - lag(f.position) over (order by f.position) as distance
    from forms f group by f.position
  )
  select row(demanded.kind = 'not',
      array(select f.term_id from forms f where f.term_id is not null order by 1),
      array(select f.position from forms f where f.term_id is not null order by f.term_id),
      array(select p.unit from places p order by p.position),
      case when demanded.is_phrase and (select count(*) from places) > 1
        then ragdb_internal.lexeme_query(demanded.words, true) end,
      case when demanded.is_phrase
        then array['%' || (select pg_catalog.string_agg(
            case when p.distance > 1 then '%' else '' end::bytea || p.byte, ''::bytea
            order by p.position) from places p) || '%']
        else array(select '%' || p.byte || '%' from places p) end,
      case when demanded.is_phrase and (select max(p.distance) from places p) > 1
        then (select ragdb_internal.phrase_orders(
            pg_catalog.array_agg(p.byte order by p.position),
            pg_catalog.array_agg(coalesce(p.distance, 1) order by p.position))
          from places p) end,
      case when demanded.is_phrase and (
          select max(p.distance) = 1 and bool_and(p.byte <> '_') from places p)
        then array(select p.byte from places p order by p.position) end)::ragdb_internal.demand
  where (select bool_and(p.is_known) from places p));

-- Returns the phrases, +words and -words of a query that have words. Raises RG400 for more than
-- 1,000 words.
create or replace function ragdb_internal.demand_clauses(query text, config text)
returns table (kind text, is_phrase boolean, words tsvector)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words bigint := 0;
begin
  if not ragdb_internal.has_clauses(query) then
    return;
  end if;
  for kind, is_phrase, words in
    select c.kind, c.is_phrase, ragdb_internal.words(c.text, config)
    from ragdb_internal.query_clauses(query) c where c.kind <> 'rank'
  loop
    continue when words = '';
    v_words := v_words
      + (select count(distinct p) from unnest(words) w cross join unnest(w.positions) p);
    if v_words > 1000 then
      raise exception 'query demands % words', v_words
        using errcode = 'RG400',
              detail = 'what has + or - before it or quotes around it is demanded',
              hint = 'demand at most 1000 words; what is not demanded ranks';
    end if;
    return next;
  end loop;
end $$;

-- Returns what the phrases, +words and -words of a query demand; empty for nothing, and null when
-- no chunk of the corpus meets it. Raises RG400 for more than 1,000 words.
create or replace function ragdb_internal.demands(corpus ragdb.corpora, query text)
returns ragdb_internal.demand[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_clause record;
  v_demand ragdb_internal.demand;
  v_demands ragdb_internal.demand[] := '{}';
begin
  for v_clause in
    select c.* from ragdb_internal.demand_clauses(query, corpus.text_config) c
  loop
    v_demand := ragdb_internal.demanded(
      corpus.corpus_id, v_clause.kind, v_clause.is_phrase, v_clause.words);
    if v_demand.is_not is not null then
      v_demands := v_demands || v_demand;
    elsif v_clause.kind = 'must' then
      return null;
    end if;
  end loop;
  return v_demands;
end $$;

-- Returns what the phrases, +words and -words of a query demand as a tsquery over lexemes; null for
-- nothing. Raises RG400 for more than 1,000 words.
create or replace function ragdb_internal.demand_query(query text, config text) returns tsquery
language sql stable parallel safe
return (
  select pg_catalog.string_agg(case when c.kind = 'not' then '!' else '' end
    || '(' || ragdb_internal.lexeme_query(c.words, c.is_phrase) || ')', '&')
  from ragdb_internal.demand_clauses(demand_query.query, demand_query.config) c)::tsquery;
