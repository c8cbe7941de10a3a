-- Words that a corpus lacks, and what was probably meant: what differs from them in accents alone,
-- else the words one edit away whose lexemes the corpus has.
--
-- All words one edit away that a lexeme may begin like are written out and looked up in the
-- dictionary at once, one to three hundred keys a word. So nothing is kept beside the dictionary,
-- nothing is written when chunks are indexed, and it costs the same in a corpus of any size.

-- Returns the words of a text that may be misspelt and have one of some lexemes, with these and how
-- often each stands there. Numbers, versions and the pairs of a script without spaces are not words
-- that are misspelt.
create or replace function ragdb_internal.spelt_words(
  text text, asciis regdictionary, config text, lexemes text[])
returns table (word text, lexeme text, frequency integer)
language sql stable parallel safe
begin atomic
  select w.word, w.lexeme collate "C", count(*)::integer
  from (
      select ragdb_internal.all_words(
        pg_catalog.lower(ragdb_internal.plain(spelt_words.text) collate "C")) as words
      offset 0) t
    cross join lateral ragdb_internal.letter_lexemes(t.words,
      pg_catalog.octet_length(spelt_words.text) = pg_catalog.length(spelt_words.text),
      spelt_words.asciis, spelt_words.config) l
    cross join lateral (
      select pg_catalog.unnest(t.words) as word, pg_catalog.unnest(l.lexemes) as lexeme) w
    join (select pg_catalog.unnest(spelt_words.lexemes) as lexeme) a on a.lexeme = w.lexeme
  where pg_catalog.length(w.word) between 3 and 32
    and w.word !~ ('[0-9' || ragdb_internal.spaceless() || ']')
  group by w.word, w.lexeme;
end;

-- Returns the words of a text that may be misspelt, as ragdb_internal.spelt_words does, by the text
-- configuration of a corpus. The lexemes of the text are worked out once, where an argument would
-- be for each of its words.
create or replace function ragdb_internal.spelt_words_for(corpus ragdb.corpora, text text)
returns table (word text, lexeme text, frequency integer)
language sql stable parallel safe
begin atomic
  select w.word, w.lexeme, w.frequency
  from (select pg_catalog.tsvector_to_array(ragdb_internal.lexemes(
        spelt_words_for.text, (corpus).text_config)) as lexemes offset 0) l
    cross join lateral ragdb_internal.spelt_words(spelt_words_for.text,
      ragdb_internal.ascii_dictionary((corpus).text_config), (corpus).text_config, l.lexemes) w;
end;

-- Returns the words of a text, of those that may be misspelt, that chunks of a corpus have.
create or replace function ragdb_internal.known_words(corpus ragdb.corpora, text text)
returns table (word text)
language sql stable parallel safe
begin atomic
  select w.word
  from ragdb_internal.spelt_words_for(known_words.corpus, known_words.text) w
    cross join lateral (
      select from ragdb.lexemes d
      where d.corpus_id = (corpus).corpus_id and d.lexeme = w.lexeme and d.df > 0
      offset 0) d;
end;

-- Whether a corpus lacks half or more of the words of a text, but those known elsewhere, and for
-- less than half of these something near was found (mended). Of a question in another language most
-- words are lacking, and some are near to one by chance.
create or replace function ragdb_internal.is_strange(
  corpus ragdb.corpora, text text, known text[], mended integer)
returns boolean
language sql stable parallel safe
return (
  select 2 * s.lacking >= s.words and 2 * is_strange.mended < s.lacking
  from (
    select count(distinct w.word) as words, count(distinct w.word) filter (
        where w.word <> all (is_strange.known) and w.word not in (
          select k.word from ragdb_internal.known_words(is_strange.corpus, is_strange.text) k))
      as lacking
    from ragdb_internal.spelt_words_for(is_strange.corpus, is_strange.text) w) s);

-- Returns how many words of a text that a corpus lacks are replaced at most: the longest. A
-- question that lacks more words is about something else, or long, where each word weighs little.
-- The longer a word is, the seldomer is another real word a letter away.
create or replace function ragdb_internal.most_replaced() returns integer
language sql immutable parallel safe
return 3;

-- Returns the longest words of a text that have one of some lexemes, which no chunk of a corpus
-- has, as ragdb_internal.spelt_words does.
create or replace function ragdb_internal.lacking_words(
  corpus ragdb.corpora, asciis regdictionary, text text, lexemes text[])
returns table (word text, lexeme text, frequency integer)
language sql stable parallel safe
begin atomic
  select w.word, w.lexeme, w.frequency
  from ragdb_internal.spelt_words(
    lacking_words.text, lacking_words.asciis, (corpus).text_config, lacking_words.lexemes) w
  order by pg_catalog.length(w.word) desc, w.word
  limit ragdb_internal.most_replaced();
end;

-- Returns how likely a lexeme is the one that was meant by a word, of those that one edit makes of
-- it (near, the likely ones first): what most chunks have, because the more often a word is
-- written, the more often it is misspelt; 32 times as likely where a letter was left out or doubled
-- or two were swapped, because a wrong letter could have been any other; and twice as likely for
-- each letter that the lexeme has: what many letters are cut off is seldom a word of the corpus.
-- So half of what two letters swapped before all else, then the chunks, mend wrongly is meant
-- (bench/results.md, "Misspelt words"); factors of 8 to 64, and of 2 to 4, give half a percent less
-- or none.
create or replace function ragdb_internal.likelihood(
  lexeme text, df integer, near text[], likely integer)
returns float8
language sql immutable parallel safe
return likelihood.df * 2.0::float8 ^ pg_catalog.length(likelihood.lexeme)
  * case when pg_catalog.array_position(likelihood.near, likelihood.lexeme) <= likelihood.likely
    then 32 else 1 end;

-- Returns behind how many letters of a word an edit may make it a word of a corpus, at most. What
-- is edited behind more letters than any lexeme begins with is one of the corpus only if its ending
-- is cut off before the edit. A stemmer leaves five letters, or all but four (runn-ing), of all but
-- 22 of 8,105 words of manuals; a misspelt word may have a letter more. The lexeme that begins with
-- most letters of a word stands beside it in the index.
create or replace function ragdb_internal.last_edited(corpus_id integer, word text, lexeme text)
returns table (last integer)
language sql stable parallel safe rows 1
begin atomic
  select case
      when k.known = pg_catalog.length(last_edited.lexeme) or exists (
        select
        from (select pg_catalog.generate_series(
              least(5, greatest(3, pg_catalog.length(last_edited.word) - 5)), k.known) as n) s
          cross join lateral (
            select from ragdb.lexemes d
            where d.corpus_id = last_edited.corpus_id
              and d.lexeme = pg_catalog.left(last_edited.lexeme, s.n)
            offset 0) d)
        then pg_catalog.length(last_edited.word)
      else k.known end
  from (
    select count(*)::integer as known
    from (
        select (
            select d.lexeme from ragdb.lexemes d
            where d.corpus_id = last_edited.corpus_id and d.lexeme >= last_edited.lexeme
            order by d.lexeme limit 1) as next,
          (
            select d.lexeme from ragdb.lexemes d
            where d.corpus_id = last_edited.corpus_id and d.lexeme < last_edited.lexeme
            order by d.lexeme desc limit 1) as last
        offset 0) b
      cross join (
        select pg_catalog.generate_series(1, pg_catalog.length(last_edited.lexeme)) as n) s
    where pg_catalog.starts_with(b.next, pg_catalog.left(last_edited.lexeme, s.n))
      or pg_catalog.starts_with(b.last, pg_catalog.left(last_edited.lexeme, s.n))
    offset 0) k
  offset 0;
end;

-- Returns for each word of a text that has one of some lexemes, which a corpus lacks, the lexeme
-- that was probably meant, and its own. One statement for all words, and a part of its callers: to
-- begin one takes as long as half of a word. For hundreds of keys it may look cheaper to read all
-- lexemes by another index, so callers plan it without knowing how many they are.
create or replace function ragdb_internal.meant_words(
  corpus ragdb.corpora, text text, lexemes text[])
returns table (lexeme text, stands_for text, word text, frequency integer)
language sql stable parallel safe
begin atomic
  select d.lexeme, w.lexeme, w.word, w.frequency
  from (select ragdb_internal.ascii_dictionary((corpus).text_config) as asciis offset 0) c
    cross join lateral ragdb_internal.lacking_words(
      meant_words.corpus, c.asciis, meant_words.text, meant_words.lexemes) w
    cross join lateral (
      select a.lexeme
      from ragdb_internal.accented_lexeme((corpus).corpus_id, w.word, (corpus).text_config) a
      union all
      select k.lexeme
      from ragdb_internal.last_edited((corpus).corpus_id, w.word, w.lexeme) e
        cross join lateral ragdb_internal.near_lexemes(
          w.word, c.asciis, (corpus).text_config, e.last) n
        cross join lateral (
          select l.lexeme from ragdb.lexemes l
          where l.corpus_id = (corpus).corpus_id and l.lexeme = any (n.near) and l.df > 0
          order by case when count(*) over () > 1  -- most are one
            then ragdb_internal.likelihood(l.lexeme, l.df, n.near, n.likely) end desc, l.lexeme
          limit 1) k
      limit 1) d;
end;
