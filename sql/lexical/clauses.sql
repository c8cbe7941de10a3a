-- The syntax web of a query: "quoted phrase", +word and -word, as web search engines have them.
-- Everything else only ranks. A question in plain syntax is made one without clauses here, and the
-- rest of the ranking knows nothing of it.
--
-- A sign counts before a letter or a quote: "+1 nucleosome" and "-5 degrees" are plain words.
create or replace function ragdb_internal.check_query(query text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if query is null or query !~ '\S' or length(query) > 32768 then
    raise exception 'query is %', case when query is null then 'null'
        when length(query) > 32768 then 'too long' else 'empty' end
      using errcode = 'RG400', detail = 'a query has 1 to 32768 characters',
            hint = 'pass the question as query';
  end if;
end $$;
comment on function ragdb_internal.check_query(text) is
  'Refuses a query that is null, empty or longer than 32,768 characters. Raises RG400.';

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
comment on function ragdb_internal.query_clauses(text) is
  'Splits a query into clauses: rank (a word), must (+word, "phrase") and not (-word, -"phrase").';

create or replace function ragdb_internal.has_clauses(query text) returns boolean
language sql immutable parallel safe
return has_clauses.query ~ '"|(^|\s)[+-][^\u0001-\u0040[-\u0060{-\u007f]';
comment on function ragdb_internal.has_clauses(text) is
  'Whether a query has more than words that rank.';

create or replace function ragdb_internal.without_clauses(query text) returns text
language sql immutable parallel safe
return case when ragdb_internal.has_clauses(without_clauses.query)
  then pg_catalog.regexp_replace(pg_catalog.replace(without_clauses.query, '"', ' '),
    '(^|\s)[+-](?=[^\u0001-\u0040[-\u0060{-\u007f])', '\1', 'g')
  else without_clauses.query end;
comment on function ragdb_internal.without_clauses(text) is
  'Returns a query whose quotes and signs are gone, so that all its words only rank.';

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
comment on function ragdb_internal.ranking_text(text) is
  'Returns what a query ranks by: its words and phrases without signs and quotes, and without the '
  'clauses that a chunk must not have; null when nothing is left.';

create or replace function ragdb_internal.clause_condition(
  corpus_id integer, words tsvector, is_phrase boolean)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_place record;
  v_last integer;
  v_condition text;
begin
  -- lexemes of one position are forms of one word: any of them will do
  for v_place in
    select p.position, '(' || string_agg(case when clause_condition.corpus_id is null
        then '''' || replace(replace(w.lexeme, '\', '\\'), '''', '''''') || ''''
        else ragdb_internal.token(l.corpus_id, l.term_id) end, '|' order by l.term_id)
      || ')' as tokens
    from unnest(clause_condition.words) w cross join unnest(w.positions) p (position)
      left join ragdb.lexemes l
        on l.corpus_id = clause_condition.corpus_id and l.lexeme = w.lexeme and l.df > 0
    group by p.position order by p.position
  loop
    if v_place.tokens is null then
      return null;
    end if;
    v_condition := concat(v_condition,
      case
        when v_last is null then ''
        when is_phrase then '<' || v_place.position - v_last || '>'
        else '&'
      end, v_place.tokens);
    v_last := v_place.position;
  end loop;
  return '(' || v_condition || ')';
end $$;
comment on function ragdb_internal.clause_condition(integer, tsvector, boolean) is
  'Returns a tsquery over tokens, as text, that is true of chunks with all words of a clause (in '
  'order for a phrase); null when the corpus lacks one of the words. Without a corpus it is over '
  'the lexemes themselves.';

create or replace function ragdb_internal.query_condition(corpus ragdb.corpora, query text)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_clause record;
  v_condition text;
  v_all text := '';
  v_words bigint := 0;
begin
  if not ragdb_internal.has_clauses(query) then
    return '';
  end if;
  for v_clause in
    select c.kind, c.is_phrase, ragdb_internal.words(c.text, corpus.text_config) as words
    from ragdb_internal.query_clauses(query) c where c.kind <> 'rank'
  loop
    continue when v_clause.words = '';
    v_words := v_words
      + (select count(distinct p) from unnest(v_clause.words) w cross join unnest(w.positions) p);
    if v_words > 1000 then
      raise exception 'query demands % words', v_words
        using errcode = 'RG400',
              detail = 'what has + or - before it or quotes around it is demanded',
              hint = 'demand at most 1000 words; what is not demanded ranks';
    end if;
    v_condition := ragdb_internal.clause_condition(
      corpus.corpus_id, v_clause.words, v_clause.is_phrase);
    if v_clause.kind = 'must' then
      v_all := v_all || '&' || v_condition;
    elsif v_condition is not null then
      v_all := v_all || '&!' || v_condition;
    end if;
  end loop;
  return v_all;
end $$;
comment on function ragdb_internal.query_condition(ragdb.corpora, text) is
  'Returns what the phrases, +words and -words of a query demand, as the rest of a tsquery ("&…"); '
  'empty for nothing, and null when no chunk of the corpus meets it. Raises RG400 for more than '
  '1,000 words.';
