-- Words that differ from others in accents alone: creme and crème, Zürich and Zurich.
--
-- The index keeps accents, and the lexemes of both spellings may end in other letters. Lexemes with
-- accents are in an index of their own, by their letters without them, and every beginning of a
-- word is looked up there at once.

-- Returns a plain lower-case word without its accents. The letters đ, ħ, ı, ł, ø and ŧ have a
-- stroke or no dot, which Unicode takes for no accent, and are typed without it all the same.
create or replace function ragdb_internal.unaccented(word text) returns text
language sql immutable parallel safe
return case when pg_catalog.octet_length(word) = pg_catalog.length(word) then word
  else pg_catalog.translate(
    pg_catalog.regexp_replace(normalize(word, nfd), '[\u0300-\u036F]', '', 'g'),
    'đħıłøŧ', 'dhilot') end;

-- Returns a pattern in which each of the letters that most often have accents may have one: texts
-- are a hundred times as long as a pattern, and take as much longer to be rid of theirs.
create or replace function ragdb_internal.with_accents(pattern text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pattern text := pattern;
  v_letters text;
begin
  foreach v_letters in array string_to_array('aàáâãäåāăą cçćĉċč dđď eèéêëēĕėęě gğģ hħ iìíîïĩīĭįı '
    'kķ lĺļľł nñńņň oòóôõöøōŏő rŕř sśşšș tţťŧț uùúûüũūŭůűų yýÿ zźżž '
    'αά εέ ηή ιίϊΐ οό υύϋΰ ωώ её ий', ' ')
  loop
    v_pattern := replace(v_pattern, left(v_letters, 1), '[' || v_letters || ']');
  end loop;
  return v_pattern;
end $$;

-- Returns a pattern of the lower-case Latin letters that may have accents.
create or replace function ragdb_internal.accented_letters() returns text
language sql immutable parallel safe
return '[\u00E0-\u024F\u1E00-\u1EFF]';

-- Returns what has a lexeme and differs from a word in accents alone; null for nothing. In
-- PL/pgSQL, because it is for few words, and what is inlined is made ready for all.
create or replace function ragdb_internal.accented_as(word text, lexeme text, config text)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_word constant text := ragdb_internal.dictionary_word(word);
  v_accented constant text := lexeme || substr(v_word, length(lexeme) + 1);
begin
  if starts_with(ragdb_internal.unaccented(v_word), ragdb_internal.unaccented(lexeme))
    and (ragdb_internal.lexized(v_accented, ragdb_internal.ascii_dictionary(config),
      ragdb_internal.word_dictionary(config)))[1] = lexeme
  then
    return v_accented;
  end if;
  return null;
end $$;

-- Returns all that a plain lower-case word begins with, from a letter to itself, without accents.
create or replace function ragdb_internal.unaccented_beginnings(word text) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_word text := word;
  v_beginnings text[] := '{}';
begin
  if octet_length(word) > length(word) then
    v_word := ragdb_internal.unaccented(ragdb_internal.dictionary_word(word));
  end if;
  for v_n in 1 .. length(v_word) loop
    v_beginnings := v_beginnings || left(v_word, v_n);
  end loop;
  return v_beginnings;
end $$;

-- Returns the lexeme of a corpus that differs from a word in accents alone and that most chunks
-- have. What is looked for in an index is written as it is there: a function has another collation.
-- A dictionary may be made such that every accent of every letter is in it, so the looks end. Each
-- beginning is looked up by itself: to look for all at once, a planner that was told of an empty
-- table, as in a first load, reads a corpus.
create or replace function ragdb_internal.accented_lexeme(corpus_id integer, word text, config text)
returns table (lexeme text)
language sql stable parallel safe rows 1
begin atomic
  select k.lexeme
  from (
    select d.lexeme, d.df
    from (
        select b.beginning,
          pg_catalog.octet_length(accented_lexeme.word) = pg_catalog.length(accented_lexeme.word)
            as is_ascii
        from unnest(ragdb_internal.unaccented_beginnings(accented_lexeme.word)) b (beginning)
        offset 0) b
      cross join lateral (
        select d.lexeme, d.df from ragdb.lexemes d
        where d.corpus_id = accented_lexeme.corpus_id and d.df > 0
          and d.lexeme ~ ragdb_internal.accented_letters()
          and pg_catalog.translate(pg_catalog.regexp_replace(
              normalize(d.lexeme, nfd), '[\u0300-\u036F]', '', 'g'), 'đħıłøŧ', 'dhilot')
            = b.beginning
          and (not b.is_ascii
            or (pg_catalog.ts_lexize(ragdb_internal.word_dictionary(accented_lexeme.config),
                d.lexeme || pg_catalog.substr(
                  accented_lexeme.word, pg_catalog.length(d.lexeme) + 1)))[1] = d.lexeme)
        union all
        select d.lexeme, d.df from ragdb.lexemes d
        where not b.is_ascii and d.corpus_id = accented_lexeme.corpus_id and d.df > 0
          and d.lexeme = b.beginning) d
    limit 500) k
  where not pg_catalog.starts_with(accented_lexeme.word, k.lexeme)
    and ragdb_internal.accented_as(accented_lexeme.word, k.lexeme, accented_lexeme.config)
      is not null
  order by k.df desc, k.lexeme
  limit 1;
end;
