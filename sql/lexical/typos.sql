-- Words that a corpus lacks, and what was probably meant: the words one edit away whose lexemes the
-- corpus has.
--
-- All words one edit away are written out and looked up in the dictionary at once, a few hundred
-- keys a word. So nothing is kept beside the dictionary, nothing is written when chunks are
-- indexed, and it costs the same in a corpus of any size. Whole words are edited, not lexemes: two
-- letters swapped in an ending change what the stemmer makes of it, and without a letter that is
-- missing it may not see an ending at all.

-- Of a script other than Latin it is the letters that stand near those of the word in Unicode.
create or replace function ragdb_internal.alphabet(word text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return concat_ws(' ',
    case when word ~ '[a-z]' then 'a b c d e f g h i j k l m n o p q r s t u v w x y z' end,
    case when octet_length(word) > length(word) then (
      select string_agg(chr(b.base + o.n), ' ')
      from (select distinct ascii(l.letter) / 64 * 64 as base
          from regexp_split_to_table(word, '') l (letter)
          where ascii(l.letter) > 127) b
        cross join generate_series(0, 63) o (n)
      where chr(b.base + o.n) ~ ('[' || ragdb_internal.wordly() || ']')
        and ragdb_internal.fold(chr(b.base + o.n)) = chr(b.base + o.n)) end);
end $$;
comment on function ragdb_internal.alphabet(text) is
  'Returns the letters that words like a word are written in, with spaces between.';

-- Few misspelt words are wrong in their first letter (Yannakoudakis and Fawthrop, "The Rules of
-- Spelling Errors", Information Processing and Management, 1983), and a third of the right words
-- that a corpus lacks are near another one by it alone (islam, slam). At each place all letters are
-- written at once: with "t c" for its spaces, the alphabet between "c" and "t" is every "c_t".
create or replace function ragdb_internal.edits(word text) returns text[]
language sql immutable parallel safe
begin atomic
  select pg_catalog.array_agg(p.before || pg_catalog.left(p.behind, 1) || p.letter
      || pg_catalog.substr(p.behind, 2)) filter (where p.behind <> '')
    || case when pg_catalog.length(edits.word) > 3 then
      pg_catalog.array_agg(p.before || p.behind)
        filter (where p.before <> '' and p.letter <> '')
      || pg_catalog.string_to_array(pg_catalog.string_agg(
        p.before || pg_catalog.replace(p.alphabet, ' ', p.letter || p.behind || ' ' || p.before)
          || p.letter || p.behind, ' ') filter (where p.before <> ''), ' ')
      || pg_catalog.string_to_array(pg_catalog.string_agg(
        p.before || pg_catalog.replace(p.alphabet, ' ', p.behind || ' ' || p.before)
          || p.behind, ' ') filter (where p.before <> '' and p.letter <> ''), ' ') end
  from (
    select a.alphabet, pg_catalog.left(edits.word, n) as before,
      pg_catalog.substr(edits.word, n + 1, 1) as letter,
      pg_catalog.substr(edits.word, n + 2) as behind
    from (select ragdb_internal.alphabet(edits.word) as alphabet offset 0) a
      cross join pg_catalog.generate_series(0, pg_catalog.length(edits.word)) n
    offset 0) p;
end;
comment on function ragdb_internal.edits(text) is
  'Returns what one edit makes of a word: first two letters swapped, at each place but the last; '
  'then of more than three letters one dropped, put in or replaced, never the first.';

-- Numbers, versions and the pairs of a script without spaces are not words that are misspelt.
create or replace function ragdb_internal.spelt_words(text text, config text)
returns table (word text, lexeme text, frequency integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words constant text[] := array(
    select w from unnest(ragdb_internal.all_words(
      lower(ragdb_internal.plain(spelt_words.text) collate "C"))) w
    where length(w) between 3 and 32 and w !~ ('[0-9' || ragdb_internal.spaceless() || ']'));
begin
  return query
    select w.word, w.lexeme collate "C", count(*)::integer
    from unnest(v_words, ragdb_internal.letter_lexemes(v_words, config)) w (word, lexeme)
    where w.lexeme is not null
    group by w.word, w.lexeme;
end $$;
comment on function ragdb_internal.spelt_words(text, text) is
  'Returns the words of a text that may be misspelt, with their lexemes and how often each stands '
  'there.';

-- A question that lacks more words is about something else, or long, where each word weighs little.
-- The longer a word is, the seldomer is another real word a letter away.
create or replace function ragdb_internal.most_replaced() returns integer
language sql immutable parallel safe
return 3;
comment on function ragdb_internal.most_replaced() is
  'Returns how many words of a text that a corpus lacks are replaced at most: the longest.';

create or replace function ragdb_internal.lacking_words(corpus ragdb.corpora, text text)
returns table (word text, lexeme text, frequency integer)
language sql stable parallel safe
begin atomic
  select w.word, w.lexeme, w.frequency
  from ragdb_internal.spelt_words(lacking_words.text, (corpus).text_config) w
  where coalesce((select d.df from ragdb.lexemes d
      where d.corpus_id = (corpus).corpus_id and d.lexeme = w.lexeme), 0) = 0
  order by pg_catalog.length(w.word) desc, w.word
  limit ragdb_internal.most_replaced();
end;
comment on function ragdb_internal.lacking_words(ragdb.corpora, text) is
  'Returns the longest words of a text that no chunk of a corpus has, with their lexemes.';

-- A letter swapped, then what most chunks have: the more often a word is written, the more often it
-- is misspelt.
create or replace function ragdb_internal.is_swapped(word text, edited text[], lexeme text)
returns boolean
language sql immutable parallel safe
return pg_catalog.array_position(is_swapped.edited, is_swapped.lexeme)
  < pg_catalog.length(is_swapped.word);
comment on function ragdb_internal.is_swapped(text, text[], text) is
  'Whether two letters of a word swapped have a lexeme; edited are the lexemes of its edits.';

-- For hundreds of keys it may look cheaper to read all lexemes by another index, so the plan is
-- made without knowing how many they are.
create or replace function ragdb_internal.nearest_word(
  corpus ragdb.corpora, word text, out lexeme text, out edited text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_edits constant text[] := ragdb_internal.edits(word);
  v_lexemes constant text[] := ragdb_internal.letter_lexemes(v_edits, corpus.text_config);
begin
  select d.lexeme into lexeme
    from ragdb.lexemes d
    where d.corpus_id = corpus.corpus_id and d.lexeme = any (v_lexemes) and d.df > 0
    order by ragdb_internal.is_swapped(word, v_lexemes, d.lexeme) desc, d.df desc, d.lexeme
    limit 1;
  edited := v_edits[array_position(v_lexemes, lexeme)];
end $$;
comment on function ragdb_internal.nearest_word(ragdb.corpora, text) is
  'Returns the lexeme of a corpus that was probably meant by a word that it lacks, and the word '
  'one edit away that has it; nulls where there is none.';

create or replace function ragdb_internal.meant_words(corpus ragdb.corpora, text text)
returns table (lexeme text, stands_for text, word text, meant text, frequency integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
  return query
    select n.lexeme, w.lexeme, w.word, n.edited, w.frequency
    from ragdb_internal.lacking_words(corpus, meant_words.text) w
      cross join lateral ragdb_internal.nearest_word(corpus, w.word) n
    where n.lexeme is not null;
end $$;
comment on function ragdb_internal.meant_words(ragdb.corpora, text) is
  'Returns for each word of a text that a corpus lacks the word that was probably meant, with the '
  'lexemes of both.';
