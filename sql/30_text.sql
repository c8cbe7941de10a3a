-- Text: how words become lexemes, and the tokens, the score and the hash of the reference ranking.
--
-- The same text must give the same lexemes in every database, but PostgreSQL's parser and lower() follow the
-- locale, and its case mapping follows the major version. So the parser sees ASCII only, where all agree; other
-- words are cut by our own classes (29_unicode.sql) and go to the dictionaries one by one. What a dictionary
-- makes of a word is Snowball's, which the major version of the server fixes.

-- The configurations of every version from 16 on. `asciis` is the dictionary of words in ASCII letters.
create or replace function ragdb._text_configs() returns table (config text, asciis text, words text)
language sql immutable parallel safe
begin atomic
  select c.config,
    case when c.config = 'simple' then 'simple' when c.config in ('hindi', 'russian') then 'english_stem'
      else c.config || '_stem' end,
    case when c.config = 'simple' then 'simple' else c.config || '_stem' end
  from unnest(array[
    'arabic', 'armenian', 'basque', 'catalan', 'danish', 'dutch', 'english', 'finnish', 'french', 'german',
    'greek', 'hindi', 'hungarian', 'indonesian', 'irish', 'italian', 'lithuanian', 'nepali', 'norwegian',
    'portuguese', 'romanian', 'russian', 'serbian', 'simple', 'spanish', 'swedish', 'tamil', 'turkish',
    'yiddish']) c (config);
end;
comment on function ragdb._text_configs() is
  'Lists the text configurations a corpus may have, each with its dictionaries of ASCII and of other words.';

-- Every step leaves a text as it was when done twice. Positions end at 16,383, hence the cut: 65,536 characters
-- are some 11,000 words of English, and no text of that length overflows a tsvector.
create or replace function ragdb._plain(text text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text := case when octet_length(text) > 65536 then left(text, 65536) else text end;
begin
  if octet_length(v_text) = length(v_text) then
    return v_text;
  end if;
  v_text := replace(replace(replace(replace(replace(replace(replace(replace(v_text,
    '’', ''''), '‘', ''''), 'ʼ', ''''), '“', '"'), '”', '"'), '–', '-'), '‑', '-'), '‐', '-');
  if octet_length(v_text) = length(v_text) then
    return v_text;
  end if;
  v_text := regexp_replace(v_text, '[' || ragdb._inert() || ']+', ' ', 'g');
  if octet_length(v_text) = length(v_text) then
    return v_text;
  end if;
  v_text := regexp_replace(v_text, '[' || ragdb._unassigned() || ']+', ' ', 'g');
  v_text := regexp_replace(v_text, '[' || ragdb._invisible() || ']+', '', 'g');
  return left(normalize(v_text, nfkc), 65536);
end $$;
comment on function ragdb._plain(text) is
  'Returns the first 65,536 characters of a text in NFKC, with ASCII quotes and hyphens, without characters that a reader does not see.';

create or replace function ragdb._fold(word text) returns text
language sql immutable parallel safe
return normalize(
  pg_catalog.translate(
    pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(
      pg_catalog.lower(word collate "C"), 'ß', 'ss'), 'ẞ', 'ss'), 'և', 'եւ'), U&'i\0307', 'i'),
    case when word ~ '[\u0530-\U0010FFFF]' then ragdb._folded() else ragdb._folded_near() end,
    case when word ~ '[\u0530-\U0010FFFF]' then ragdb._folds() else ragdb._folds_near() end),
  nfkc);
comment on function ragdb._fold(text) is
  'Folds the case of a normalised word by Unicode 15.0, in one way for all languages, and its digits to ASCII.';

-- Words of ASCII letters and digits go to PostgreSQL's parser, the rest word by word to the dictionary. Runs of a
-- script without spaces become the overlapping pairs of their letters (with the marks of each).
create or replace function ragdb._vector(words text, config text) returns tsvector
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words text := lower(words collate "C");
  v_asciis regdictionary;
  v_others regdictionary;
  v_list text[];
begin
  if octet_length(v_words) = length(v_words) then
    -- what would make the parser see a path, a host, a tag or a signed number
    v_words := replace(replace(replace(replace(replace(replace(v_words,
      '-', ' '), '_', ' '), '.', ' '), '/', ' '), '<', ' '), '+', ' ');
    -- a tsvector holds words of up to 2,046 bytes
    if octet_length(v_words) > 2040 and v_words ~ '[a-z0-9]{255}' then
      v_words := regexp_replace(v_words, '((?:[a-z0-9]{255}){8})[a-z0-9]+', '\1', 'g');
    end if;
    return to_tsvector(config::regconfig, v_words);
  end if;
  -- the parser cuts 1e5abc into 1e5 and abc
  if v_words ~ '[0-9]e[0-9]+[a-z]' then
    v_words := regexp_replace(v_words, '((?:^|[^a-z0-9' || ragdb._wordly() || '])[0-9]+e[0-9]+)([a-z])', '\1 \2', 'g');
  end if;
  if v_words ~ ('[' || ragdb._spaceless() || ']') then
    -- a letter before another of its run ends in U+0001
    v_words := regexp_replace(v_words, '([' || ragdb._spaceless() || ']+)', ' \1 ', 'g');
    v_words := regexp_replace(v_words,
      '([' || ragdb._spaceless_letters() || '](?:[' || ragdb._spaceless_marks() || ']|['
        || ragdb._stackers() || '][' || ragdb._spaceless_letters() || '])*)(?=[' || ragdb._spaceless() || '])',
      E'\\1\x01 ', 'g');
    select array_agg(p.pair order by p.ordinal) into v_list
    from (
      select w.ordinal,
        case when w.word like E'%\x01' then rtrim(w.word || lead(w.word) over by_ordinal, E'\x01')
          when lag(w.word) over by_ordinal like E'%\x01' then null
          else w.word end as pair
      from (select m.word[1] as word, m.ordinal
        from regexp_matches(v_words, E'[a-z0-9\x01' || ragdb._wordly() || ']+', 'g')
          with ordinality m (word, ordinal)) w
      window by_ordinal as (order by w.ordinal)) p
    where p.pair is not null;
    v_list := array(select replace(u.word, E'\x01', '') from unnest(v_list) with ordinality u (word, ordinal) order by u.ordinal);
  else
    v_list := array(select (regexp_matches(v_words, '[a-z0-9' || ragdb._wordly() || ']+', 'g'))[1]);
  end if;
  select c.asciis, c.words into v_asciis, v_others from ragdb._text_configs() c where c.config = _vector.config;
  return (
    select coalesce(string_agg('''' || l.lexeme || ''':' || w.positions, ' '), '')
    from (
      select f.word, string_agg(least(f.position, 16383)::text, ',') as positions
      from (
        select u.position, case when octet_length(u.word) > 2040 then left(u.word, 510)
          when u.word ~ ('[' || ragdb._foldable() || ']') then ragdb._fold(u.word) else u.word end as word
        from unnest(v_list) with ordinality u (word, position)) f
      group by f.word) w
      cross join unnest(ts_lexize(case when w.word ~ '^[a-z]+$' then v_asciis
        when w.word ~ '[0-9]' then 'simple'::regdictionary else v_others end, w.word)) l (lexeme))::tsvector;
end $$;
comment on function ragdb._vector(text, text) is
  'Returns the lexemes of plain text, each with its positions, after a text configuration.';

create or replace function ragdb._words(text text, config text) returns tsvector
language sql immutable parallel safe
return ragdb._vector(ragdb._plain(text), config);
comment on function ragdb._words(text, text) is
  'Returns the lexemes of the words of a text with their positions and nothing else: what a phrase is made of.';

-- Behind the words come the names: user_id and e-mail are found as userid and email too, camelCase by its parts,
-- and 2.0.1, C++ and .net as they are.
create or replace function ragdb._lexemes(text text, config text) returns tsvector
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text := ragdb._plain(text);
  v_names text;
  v_parts text := '';
  v_exact text;
  v_lexemes tsvector;
begin
  if octet_length(v_text) = length(v_text) then
    v_names := array_to_string(array(select (regexp_matches(v_text,
      '[A-Za-z0-9]*(?:[a-z][A-Z]|[A-Z][A-Z][a-z][a-z]|[A-Za-z0-9][-_./:@\\]+[A-Za-z0-9])(?:[-_./:@\\]*[A-Za-z0-9])*|[A-Za-z](?:\+\+|#(?![A-Za-z0-9]))|[\s"`(]\.[A-Za-z]+',
      'g'))[1]), ' ');
  else
    v_names := array_to_string(array(select (regexp_matches(v_text, replace(
      '[A-Za-z0-9&]*(?:[a-z][A-Z]|[A-Z][A-Z][a-z][a-z]|[A-Za-z0-9&][-_./:@\\]+[A-Za-z0-9&])(?:[-_./:@\\]*[A-Za-z0-9&])*|[A-Za-z](?:\+\+|#(?![A-Za-z0-9]))|[\s"`(]\.[A-Za-z]+',
      '&', ragdb._spaced()), 'g'))[1]), ' ');
  end if;
  if v_names = '' then
    return ragdb._vector(v_text, config);
  end if;
  if v_names ~ '[0-9]\.[0-9]|[+#]|(?:^|\s)["`(]?\.' then
    select string_agg('''' || lower(left(m.name[1], 2040) collate "C") || ''':' || m.ordinal, ' ') into v_exact
    from regexp_matches(v_names, '[0-9]+(?:\.[0-9]+)+|[A-Za-z](?:\+\+|#)|(?<![^\s"`(])\.[A-Za-z]+', 'g')
      with ordinality m (name, ordinal);
    v_names := regexp_replace(v_names,
      '(?:^| )[Vv]?[0-9]+(?:\.[0-9]+)+(?= |$)|[A-Za-z](?:\+\+|#)|(?<![^\s"`(])\.[A-Za-z]+', ' ', 'g');
  end if;
  if v_names ~ '[a-z][A-Z]|[A-Z][A-Z][a-z][a-z]' then
    v_parts := array_to_string(array(select (regexp_matches(v_names,
      '[A-Za-z0-9]*(?:[a-z][A-Z]|[A-Z][A-Z][a-z][a-z])[A-Za-z0-9]*', 'g'))[1]), ' ');
    v_parts := regexp_replace(regexp_replace(v_parts,
      '([a-z0-9])([A-Z])', '\1 \2', 'g'), '([A-Z])([A-Z][a-z][a-z])', '\1 \2', 'g');
    -- camelCase alone stands among the words as a whole
    v_names := regexp_replace(v_names, '(?:^| )[A-Za-z0-9]+(?= |$)', '', 'g');
  end if;
  v_names := replace(replace(replace(replace(replace(replace(replace(v_names,
    '-', ''), '_', ''), '.', ''), '/', ''), ':', ''), '@', ''), '\', '');
  v_lexemes := ragdb._vector(v_text || ' ' || v_names || ' ' || v_parts, config);
  if v_exact is not null then
    v_lexemes := v_lexemes || v_exact::tsvector;
  end if;
  return v_lexemes;
end $$;
comment on function ragdb._lexemes(text, text) is
  'Returns the lexemes of a text, chunk or query alike: those of its words with their positions and behind them those of the names in it.';
