-- How words become lexemes.
--
-- The same text must give the same lexemes in every database, but PostgreSQL's parser and lower()
-- follow the locale, and its case mapping follows the major version. So the parser sees ASCII only,
-- where all agree; other words are cut by our own classes (unicode.sql) and go to the dictionaries
-- one by one. What a dictionary makes of a word is Snowball's, which the major version of the
-- server fixes.

-- Returns the lexemes of lower-case ASCII text, cut at everything that is not a letter or a digit.
-- Deterministic, but the cast is declared stable, and PostgreSQL does not inline an immutable
-- function with it.
create or replace function ragdb_internal.ascii_vector(words text, config text) returns tsvector
language sql stable parallel safe
return to_tsvector(config::regconfig,
  -- what would make the parser see a path, a host, a tag, an entity or a signed number
  replace(replace(replace(replace(replace(replace(replace(replace(
    -- 8 times 255 is lexeme_bytes; a repetition of a pattern ends at 255
    case when octet_length(words) > (ragdb_internal.limits()).lexeme_bytes
        and words ~ '[a-z0-9]{255}'
      then regexp_replace(words, '((?:[a-z0-9]{255}){8})[a-z0-9]+', '\1', 'g') else words end,
    '-', ' '), '_', ' '), '.', ' '), '/', ' '), '<', ' '), '+', ' '), '&', ' '), '~', ' '));

-- Returns the words of a lower-case text in order, runs of a script without spaces as pairs of
-- letters. A run of a script without spaces becomes the overlapping pairs of its letters, with the
-- marks of each.
create or replace function ragdb_internal.words_and_pairs(words text) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_letter constant text := '[' || ragdb_internal.spaceless_letters() || ']';
  v_stacked constant text := '[' || ragdb_internal.stackers() || ']' || v_letter;
  v_words text := regexp_replace(
    replace(words, E'\x01', ' '), '([' || ragdb_internal.spaceless() || ']+)', E' \\1 ', 'g');
begin
  -- a letter before another of its run ends in U+0001
  v_words := regexp_replace(
    v_words,
    '(' || v_letter || '(?:[' || ragdb_internal.spaceless_marks() || ']|' || v_stacked || ')*)'
      || '(?=' || v_letter || ')',
    E'\\1\x01 ', 'g');
  return array(
    select p.pair
    from (
      select w.ordinal,
        case
          when w.word like E'%\x01'
            then translate(w.word || lead(w.word) over by_ordinal, E'\x01', '')
          when lag(w.word) over by_ordinal like E'%\x01' then null
          else w.word end as pair
      from (
        select m.word[1] as word, m.ordinal
        from regexp_matches(v_words, E'[a-z0-9\x01' || ragdb_internal.wordly() || ']+', 'g')
          with ordinality m (word, ordinal)) w
      window by_ordinal as (order by w.ordinal)) p
    where p.pair is not null order by p.ordinal);
end $$;

-- Returns the words of a lower-case text in order.
create or replace function ragdb_internal.all_words(words text) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_others constant text :=
    case when octet_length(words) > length(words) then ragdb_internal.wordly() else '' end;
  v_words text := words;
begin
  -- as the parser, which cuts 1e5abc into 1e5 and abc
  if v_words ~ '[0-9]e[0-9]+[a-z]' then
    v_words := regexp_replace(
      v_words, '((?:^|[^a-z0-9' || v_others || '])[0-9]+e[0-9]+)([a-z])', E'\\1 \\2', 'g');
  end if;
  -- at an end that is no word there is an empty one
  return array_remove(regexp_split_to_array(v_words, '[^a-z0-9' || v_others || ']+'), '');
end $$;

-- Returns the pattern of a word that is not all of ASCII letters and digits.
create or replace function ragdb_internal.other_word() returns text
language sql immutable parallel safe
return '[a-z0-9]*[' || ragdb_internal.wordly() || '][a-z0-9' || ragdb_internal.wordly() || ']*';

-- Returns a word as a dictionary gets it: folded, and of at most lexeme_bytes. Who types French
-- writes œ or oe; what folds it would change what static embedders are made of.
create or replace function ragdb_internal.dictionary_word(word text) returns text
language sql immutable parallel safe
return case
  when pg_catalog.octet_length(word) > (ragdb_internal.limits()).lexeme_bytes
    then pg_catalog.left(word, (ragdb_internal.limits()).lexeme_bytes / 4)
  when pg_catalog.octet_length(word) = pg_catalog.length(word) then word
  when word ~ ('[' || ragdb_internal.may_fold() || ']')
      and word ~ ('[' || ragdb_internal.foldable() || ']')
    then pg_catalog.replace(ragdb_internal.fold(word), 'œ', 'oe')
  else pg_catalog.replace(word, 'œ', 'oe')
end;

-- Returns the lexemes that dictionaries of ASCII and of other words make of a word.
create or replace function ragdb_internal.lexized(
  word text, asciis regdictionary, others regdictionary)
returns text[]
language sql immutable parallel safe
return pg_catalog.ts_lexize(
  case
    when lexized.word ~ '[0-9]' then 'simple'::regdictionary
    when pg_catalog.octet_length(lexized.word) = pg_catalog.length(lexized.word)
      then lexized.asciis
    else lexized.others end,
  lexized.word);

-- Returns the lexeme of each of some plain lower-case words without digits; null for one that does
-- not count. Hundreds of words at once: what is not needed for those of ASCII letters is left out.
create or replace function ragdb_internal.letter_lexemes(words text[], config text)
returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text constant text := array_to_string(words, '');
  v_asciis constant regdictionary := ragdb_internal.ascii_dictionary(config);
  v_others constant regdictionary := ragdb_internal.word_dictionary(config);
begin
  if octet_length(v_text) = length(v_text) then
    return array(select (ts_lexize(v_asciis, w))[1] from unnest(words) w);
  end if;
  return array(
    select (ragdb_internal.lexized(f.word, v_asciis, v_others))[1]
    from (select ragdb_internal.dictionary_word(w) as word from unnest(words) w offset 0) f);
end $$;

-- Returns what ragdb_internal.letter_lexemes does, of words that are all of ASCII or not, by a text
-- configuration and its dictionary for ASCII. Where all letters are ASCII it is one piece with its
-- caller: that call takes 2 % of a search. The dictionary is looked up once for all of them.
create or replace function ragdb_internal.letter_lexemes(
  words text[], is_ascii boolean, asciis regdictionary, config text)
returns table (lexemes text[])
language sql stable parallel safe rows 1
begin atomic
  select case when letter_lexemes.is_ascii then array(
      select (pg_catalog.ts_lexize(letter_lexemes.asciis, w.word))[1]
      from (select pg_catalog.unnest(letter_lexemes.words) as word) w)
    else ragdb_internal.letter_lexemes(letter_lexemes.words, letter_lexemes.config) end;
end;

-- Returns lexemes with those of some words, which go to the dictionaries one by one; positions are
-- those of the words, 1, 2, 3, … where they are null.
create or replace function ragdb_internal.add_words(
  lexemes tsvector, words text[], positions smallint[], config text)
returns tsvector
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_asciis constant regdictionary := ragdb_internal.ascii_dictionary(config);
  v_others constant regdictionary := ragdb_internal.word_dictionary(config);
begin
  return (
    select concat(lexemes, ' ', string_agg(''''
      || (ragdb_internal.lexized(f.word, v_asciis, v_others))[1] || ''':' || f.positions, ' '))
    from (
      select ragdb_internal.dictionary_word(w.word) as word, w.positions
      from (
        select u.word, array_to_string(
          (array_agg(coalesce(add_words.positions[u.ordinal], least(u.ordinal, 16383))
            order by u.ordinal))[:255], ',') as positions
        from unnest(words) with ordinality u (word, ordinal)
        group by u.word) w
      offset 0) f)::tsvector;
end $$;

-- Returns the lexemes of plain text, each with its positions, after a text configuration. Words of
-- ASCII letters and digits go to PostgreSQL's parser, the rest word by word to the dictionary.
create or replace function ragdb_internal.text_vector(words text, config text) returns tsvector
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words constant text := lower(words collate "C");
  v_others text[];
  v_lexemes tsvector;
  v_positions smallint[];
begin
  if octet_length(v_words) = length(v_words) then
    return ragdb_internal.ascii_vector(v_words, config);
  elsif v_words ~ ('[' || ragdb_internal.spaceless() || ']') then
    return ragdb_internal.add_words(
      '', ragdb_internal.words_and_pairs(v_words), null, config);
  end if;
  v_others := array(select (regexp_matches(v_words, ragdb_internal.other_word(), 'g'))[1]);
  if cardinality(v_others) >= 255 or cardinality(v_others) * 16 >= length(v_words)
      or strpos(v_words, '0q0') > 0 then
    return ragdb_internal.add_words('', ragdb_internal.all_words(v_words), null, config);
  end if;
  -- a few among many: the parser finds their places by the word 0q0, which no dictionary changes
  v_lexemes := ragdb_internal.ascii_vector(
    regexp_replace(v_words, ragdb_internal.other_word(), ' 0q0 ', 'g'), config);
  select u.positions into v_positions
    from unnest(ts_filter(setweight(v_lexemes, 'A', '{0q0}'), '{a}')) u;
  return ragdb_internal.add_words(
    ts_delete(v_lexemes, '0q0'), v_others, v_positions, config);
end $$;

-- Returns the lexemes of the words of a text with their positions and nothing else: what a phrase
-- is made of.
create or replace function ragdb_internal.words(text text, config text) returns tsvector
language sql immutable parallel safe
return ragdb_internal.text_vector(ragdb_internal.plain(text), config);
