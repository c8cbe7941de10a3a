-- Words of a corpus that stand for others, and with the words that were probably meant all that a
-- query is widened by.

-- What stands for a word of a text, how often that word is there, how much of its weight this has,
-- and whether that counts into the most that the query can reach.
create type ragdb_internal.stand_in as (
  lexeme text, stands_for text, frequency integer, share float8, adds boolean);

-- Returns what stands for words of a text: what was probably meant by those that have one of some
-- lexemes, which a corpus lacks (null: of none), and the synonyms of its lexemes.
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
      select row(m.lexeme, m.stands_for, m.frequency, 0.7, false)::ragdb_internal.stand_in
      from ragdb_internal.meant_words(corpus, text, lacking) m);
  end if;
  if corpus.has_synonyms then
    v_stand_ins := v_stand_ins || array(
      select row(l.lexeme collate "C", s.lexeme, cardinality(w.positions),
        0.7::float8 / length(m.words), true)::ragdb_internal.stand_in
      from unnest(words) w
        join ragdb.synonyms s on s.corpus_id = corpus.corpus_id and s.lexeme = w.lexeme
        cross join lateral (
          select ragdb_internal.lexemes(s.means, corpus.text_config) as words offset 0) m
        cross join lateral unnest(m.words) l
      where l.lexeme <> w.lexeme);
  end if;
  return v_stand_ins;
end $$;
