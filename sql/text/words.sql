-- Text: how words become lexemes, and the tokens, the score and the hash of the reference ranking.
--
-- The same text must give the same lexemes in every database, but PostgreSQL's parser and lower()
-- follow the locale, and its case mapping follows the major version. So the parser sees ASCII only,
-- where all agree; other words are cut by our own classes (29_unicode.sql) and go to the
-- dictionaries one by one. What a dictionary makes of a word is Snowball's, which the major version
-- of the server fixes.

create or replace function ragdb_internal.config_language(text_config text) returns text
language sql immutable parallel safe
return case config_language.text_config
  when 'arabic' then 'ar' when 'armenian' then 'hy' when 'basque' then 'eu' when 'catalan' then 'ca'
  when 'danish' then 'da' when 'dutch' then 'nl' when 'english' then 'en' when 'estonian' then 'et'
  when 'finnish' then 'fi' when 'french' then 'fr' when 'german' then 'de' when 'greek' then 'el'
  when 'hindi' then 'hi' when 'hungarian' then 'hu' when 'indonesian' then 'id'
    when 'irish' then 'ga'
  when 'italian' then 'it' when 'lithuanian' then 'lt' when 'nepali' then 'ne'
    when 'norwegian' then 'no'
  when 'portuguese' then 'pt' when 'romanian' then 'ro' when 'russian' then 'ru'
    when 'serbian' then 'sr'
  when 'spanish' then 'es' when 'swedish' then 'sv' when 'tamil' then 'ta' when 'turkish' then 'tr'
  when 'yiddish' then 'yi' end;
comment on function ragdb_internal.config_language(text) is
  'Returns the language code that a text configuration is for; null for simple.';

-- The configurations of every version from 16 on. `asciis` is the dictionary of words in ASCII
-- letters.
create or replace function ragdb_internal.text_configs()
  returns table (config text, asciis text, words text)
language sql immutable parallel safe
begin atomic
  select c.config,
    case when c.config = 'simple' then 'simple'
      when c.config in ('hindi', 'russian') then 'english_stem'
      else c.config || '_stem' end,
    case when c.config = 'simple' then 'simple' else c.config || '_stem' end
  from unnest(array[
    'arabic', 'armenian', 'basque', 'catalan', 'danish', 'dutch', 'english', 'finnish', 'french',
      'german',
    'greek', 'hindi', 'hungarian', 'indonesian', 'irish', 'italian', 'lithuanian', 'nepali',
      'norwegian',
    'portuguese', 'romanian', 'russian', 'serbian', 'simple', 'spanish', 'swedish', 'tamil',
      'turkish',
    'yiddish']) c (config);
end;
comment on function ragdb_internal.text_configs() is
  'Lists the text configurations a corpus may have, each with its dictionaries of ASCII and of '
  'other words.';

create or replace function ragdb_internal.ascii_vector(words text, config text) returns tsvector
language sql immutable parallel safe
return to_tsvector(config::regconfig,
  -- what would make the parser see a path, a host, a tag, an entity or a signed number
  replace(replace(replace(replace(replace(replace(replace(replace(
    -- a tsvector holds words of up to 2,046 bytes
    case when octet_length(words) > 2040 and words ~ '[a-z0-9]{255}'
      then regexp_replace(words, '((?:[a-z0-9]{255}){8})[a-z0-9]+', '\1', 'g') else words end,
    '-', ' '), '_', ' '), '.', ' '), '/', ' '), '<', ' '), '+', ' '), '&', ' '), '~', ' '));
comment on function ragdb_internal.ascii_vector(text, text) is
  'Returns the lexemes of lower-case ASCII text, cut at everything that is not a letter or a '
  'digit.';

-- Words of ASCII letters and digits go to PostgreSQL's parser, the rest word by word to the
-- dictionary. Runs of a script without spaces become the overlapping pairs of their letters (with
-- the marks of each).
create or replace function ragdb_internal.text_vector(words text, config text) returns tsvector
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words text := lower(words collate "C");
  v_asciis regdictionary;
  v_others regdictionary;
  v_lexemes tsvector := '';
  v_list text[];
  v_positions smallint[];
begin
  if octet_length(v_words) = length(v_words) then
    return ragdb_internal.ascii_vector(v_words, config);
  end if;
  if v_words ~ ('[' || ragdb_internal.spaceless() || ']') then
    v_words := regexp_replace(v_words, '([' || ragdb_internal.spaceless() || ']+)', ' \1 ', 'g');
    -- a letter before another of its run ends in U+0001
    v_words := regexp_replace(v_words,
      '([' || ragdb_internal.spaceless_letters() || '](?:[' || ragdb_internal.spaceless_marks() || ']|['
        || ragdb_internal.stackers() || '][' || ragdb_internal.spaceless_letters() || '])*)(?=['
          || ragdb_internal.spaceless_letters() || '])',
      E'\\1\x01 ', 'g');
    v_list := array(
      select p.pair
      from (
        select w.ordinal,
          case when w.word like E'%\x01' then translate(w.word || lead(w.word) over by_ordinal,
            E'\x01', '')
            when lag(w.word) over by_ordinal like E'%\x01' then null
            else w.word end as pair
        from (select m.word[1] as word, m.ordinal
          from regexp_matches(v_words, E'[a-z0-9\x01' || ragdb_internal.wordly() || ']+', 'g')
            with ordinality m (word, ordinal)) w
        window by_ordinal as (order by w.ordinal)) p
      where p.pair is not null order by p.ordinal);
  else
    v_list := array(select (regexp_matches(v_words,
      '[a-z0-9]*[' || ragdb_internal.wordly() || '][a-z0-9' || ragdb_internal.wordly() || ']*', 'g'))[1]);
    if cardinality(v_list) < 255 and cardinality(v_list) * 16 < length(v_words)
      and strpos(v_words, '0q0') = 0 then
      -- a few among many: the parser finds their places by the word 0q0, which no dictionary
      -- changes
      v_lexemes := ragdb_internal.ascii_vector(regexp_replace(v_words,
        '[a-z0-9]*[' || ragdb_internal.wordly() || '][a-z0-9' || ragdb_internal.wordly() || ']*', ' 0q0 ', 'g'),
          config);
      select u.positions into v_positions from unnest(v_lexemes) u where u.lexeme = '0q0';
      v_lexemes := ts_delete(v_lexemes, '0q0');
    else
      -- the parser cuts 1e5abc into 1e5 and abc
      if v_words ~ '[0-9]e[0-9]+[a-z]' then
        v_words := regexp_replace(v_words,
          '((?:^|[^a-z0-9' || ragdb_internal.wordly() || '])[0-9]+e[0-9]+)([a-z])', '\1 \2', 'g');
      end if;
      v_list := array(select (regexp_matches(v_words, '[a-z0-9' || ragdb_internal.wordly() || ']+',
        'g'))[1]);
    end if;
  end if;
  select c.asciis, c.words into v_asciis, v_others from ragdb_internal.text_configs() c
    where c.config = text_vector.config;
  return (
    select concat(v_lexemes, ' ', string_agg('''' || l.lexeme || ''':' || f.positions, ' '))
    from (
      select case when octet_length(w.word) > 2040 then left(w.word, 510)
          when octet_length(w.word) = length(w.word) then w.word
          when w.word ~ ('[' || ragdb_internal.foldable() || ']') then ragdb_internal.fold(w.word)
            else w.word end as word,
        w.positions
      from (
        select u.word, array_to_string(
          (array_agg(coalesce(v_positions[u.ordinal], least(u.ordinal, 16383))
            order by u.ordinal))[:255], ',') as positions
        from unnest(v_list) with ordinality u (word, ordinal)
        group by u.word) w
      offset 0) f
      cross join unnest(ts_lexize(case when f.word ~ '[0-9]' then 'simple'::regdictionary
        when octet_length(f.word) = length(f.word) then v_asciis else v_others end, f.word)) l
          (lexeme))::tsvector;
end $$;
comment on function ragdb_internal.text_vector(text, text) is
  'Returns the lexemes of plain text, each with its positions, after a text configuration.';

create or replace function ragdb_internal.words(text text, config text) returns tsvector
language sql immutable parallel safe
return ragdb_internal.text_vector(ragdb_internal.plain(text), config);
comment on function ragdb_internal.words(text, text) is
  'Returns the lexemes of the words of a text with their positions and nothing else: what a phrase '
  'is made of.';
