-- Words of a corpus that stand for others, and with the words that were probably meant all that a
-- query is widened by.
create type ragdb_internal.stand_in as (
  lexeme text, stands_for text, frequency integer, share float8, adds boolean);
comment on type ragdb_internal.stand_in is
  'What stands for a word of a text, how often that word is there, how much of its weight this '
  'has, and whether that counts into the most that the query can reach.';

create or replace function ragdb_internal.stand_ins(
  corpus ragdb.corpora, text text, typos boolean)
returns setof ragdb_internal.stand_in
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if typos then
    return query
      select m.lexeme, m.stands_for, m.frequency, 0.7::float8, false
      from ragdb_internal.meant_words(corpus, text) m;
  end if;
  if corpus.has_synonyms then
    return query
      select l.lexeme collate "C", s.lexeme, cardinality(w.positions),
        0.7::float8 / length(m.words), true
      from unnest(ragdb_internal.lexemes(text, corpus.text_config)) w
        join ragdb.synonyms s on s.corpus_id = corpus.corpus_id and s.lexeme = w.lexeme
        cross join lateral (
          select ragdb_internal.lexemes(s.means, corpus.text_config) as words offset 0) m
        cross join lateral unnest(m.words) l
      where l.lexeme <> w.lexeme;
  end if;
end $$;
comment on function ragdb_internal.stand_ins(ragdb.corpora, text, boolean) is
  'Returns what stands for words of a text: what was probably meant by those that a corpus lacks, '
  'and its synonyms.';
