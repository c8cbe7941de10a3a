-- Words of a corpus that stand for others, numbers with their units, and with the words that were
-- probably meant all that a query is widened by.

-- What stands for a word of a text, by itself or as one of several words (means), how often that
-- word is there, and how much of its weight this has.
create type ragdb_internal.stand_in as (
  lexeme text, stands_for text, frequency integer, share float8, means text[]);

-- Returns what a word weighs that stands for another one, as a share of that one's weight.
create or replace function ragdb_internal.stand_in_share() returns float8
language sql immutable parallel safe
return 0.7;

-- Returns the pattern of a number and its unit, such as 10 MB, 100km and 64 bit: up to three
-- consonants, or an i between two, which few other words are. 19th, 1980s and the end of a name
-- such as GLP-1R are none.
create or replace function ragdb_internal.measure_pattern() returns text
language sql immutable parallel safe
return pg_catalog.replace(E'(?<![A-Za-z0-9_/:@]|[A-Za-z]-)([0-9]+)([ \u00a0\u202f]?)'
  '(?!st|[nr]d|th|s)(L(?:i?L|LL)?)(?![A-Za-z0-9À-ɏЀ-ӿ])', 'L',
  '[B-DF-HJ-NP-TV-XZb-df-hj-np-tv-xzµμБ-ДЖЗЙ-НП-ТФ-Щб-джзй-нп-тф-щ]');

-- Returns the lexemes of numbers and their units that a text has as one word, as two, and those of
-- two words as one, with the lexeme that each stands for, how often, its share of that one's weight
-- and what it is one of. A query looks for both: to look through each chunk for them would make its
-- analysis 5 % longer.
create or replace function ragdb_internal.measures(text text, config text)
returns table (lexeme text, stands_for text, frequency integer, share float8, means text[])
language sql immutable parallel safe
begin atomic
  select l.lexeme collate "C", a.lexeme collate "C", count(*)::integer,
    ragdb_internal.stand_in_share() / pg_catalog.length(w.means),
    pg_catalog.tsvector_to_array(w.means)
  from pg_catalog.regexp_matches(pg_catalog.lower(measures.text collate "C"),
      ragdb_internal.measure_pattern(), 'g') m
    cross join lateral (
      select ragdb_internal.lexemes(m[1] || m[2] || m[3], measures.config) as asked,
        ragdb_internal.lexemes(m[1] || case when m[2] = '' then ' ' else '' end || m[3],
          measures.config) as means
      offset 0) w
    cross join lateral pg_catalog.unnest(w.means) l
    cross join lateral pg_catalog.unnest(w.asked) a
  group by l.lexeme, a.lexeme, w.means;
end;

-- Returns what stands for words of a text: what was probably meant by those that have one of some
-- lexemes, which a corpus lacks (null: of none), its numbers with their units as the corpus has
-- them too, and the synonyms of its lexemes.
create or replace function ragdb_internal.stand_ins(
  corpus ragdb.corpora, text text, words tsvector, lacking text[])
returns ragdb_internal.stand_in[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_stand_ins ragdb_internal.stand_in[] := '{}';
begin
  if lacking is not null then
    v_stand_ins := array(
      select row(m.lexeme, m.stands_for, sum(m.frequency), ragdb_internal.stand_in_share(),
        array[m.lexeme])::ragdb_internal.stand_in
      from ragdb_internal.meant_words(corpus, text, lacking) m
      group by m.lexeme, m.stands_for);
  end if;
  if text ~ ragdb_internal.measure_pattern() then
    v_stand_ins := v_stand_ins || array(
      select row(m.*)::ragdb_internal.stand_in
      from ragdb_internal.measures(text, corpus.text_config) m
        cross join lateral (
          select from ragdb.lexemes d
          where d.corpus_id = corpus.corpus_id and d.lexeme = m.lexeme and d.df > 0 offset 0) d);
  end if;
  if corpus.has_synonyms then
    v_stand_ins := v_stand_ins || array(
      select row(l.lexeme collate "C", s.lexeme, cardinality(w.positions),
        ragdb_internal.stand_in_share() / length(m.words),
        tsvector_to_array(m.words))::ragdb_internal.stand_in
      from unnest(words) w
        cross join lateral (  -- by the index for each word, else all synonyms were read
          select y.lexeme, y.means from ragdb.synonyms y
          where y.corpus_id = corpus.corpus_id and y.lexeme = w.lexeme offset 0) s
        cross join lateral (
          select ragdb_internal.lexemes(s.means, corpus.text_config) as words offset 0) m
        cross join lateral unnest(m.words) l
      where l.lexeme <> w.lexeme);
  end if;
  return v_stand_ins;
end $$;

-- Returns the lexeme by which a query finds a word that has synonyms; null for what is several
-- words or a stop word, which is found by the others and finds none.
create or replace function ragdb_internal.synonym_lexeme(word text, text_config text)
returns text
language sql stable parallel safe
return (
  select min(w.lexeme)
  from unnest(ragdb_internal.words(synonym_lexeme.word, synonym_lexeme.text_config)) w
  having sum(cardinality(w.positions)) = 1);

-- Stems the synonyms of a corpus again; the caller holds the corpus lock. What this changes is
-- recorded where nothing else was: else somebody's repair would vouch for who edited the table.
create or replace function ragdb_internal.stem_synonyms(corpus ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_was constant bytea := ragdb_internal.synonyms_hash(corpus);
begin
  update ragdb.synonyms s set lexeme = n.lexeme
    from (
      select d.word, ragdb_internal.synonym_lexeme(d.word, corpus.text_config) as lexeme
      from (
        select distinct y.word from ragdb.synonyms y
        where y.corpus_id = corpus.corpus_id) d offset 0) n
    where s.corpus_id = corpus.corpus_id and s.word = n.word and s.lexeme <> n.lexeme;
  if found and v_was = ragdb_internal.last_state(corpus.corpus_id, 'synonyms', '') then
    perform ragdb_internal.record_state('synonyms', corpus.corpus_id);
  end if;
end $$;
