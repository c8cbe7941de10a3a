-- Text: how words become lexemes, and the tokens, the score and the hash of the reference ranking.
--
-- The same text must give the same lexemes in every database, but PostgreSQL's parser and lower()
-- follow the locale, and its case mapping follows the major version. So the parser sees ASCII only,
-- where all agree; other words are cut by our own classes (29_unicode.sql) and go to the
-- dictionaries one by one. What a dictionary makes of a word is Snowball's, which the major version
-- of the server fixes.

-- The configurations of every version from 16 on. `asciis` is the dictionary of words in ASCII
-- letters.
create or replace function ragdb._text_configs()
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
comment on function ragdb._text_configs() is
  'Lists the text configurations a corpus may have, each with its dictionaries of ASCII and of '
  'other words.';

-- Every step leaves a text as it was when done twice. Positions end at 16,383, hence the cut:
-- 65,536 characters are some 11,000 words of English, and no text of that length overflows a
-- tsvector.
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
  if v_text !~ ('[' || ragdb._unstable() || ']') then
    return v_text;
  end if;
  v_text := regexp_replace(v_text, '[' || ragdb._unassigned() || ']+', ' ', 'g');
  v_text := regexp_replace(v_text, '[' || ragdb._invisible() || ']+', '', 'g');
  -- normalisation makes fraction slashes and stretches of its own
  v_text := replace(left(normalize(v_text, nfkc), 65536), 'ـ', '');
  return regexp_replace(v_text, '[' || ragdb._inert() || ']+', ' ', 'g');
end $$;
comment on function ragdb._plain(text) is
  'Returns the first 65,536 characters of a text in NFKC, with ASCII quotes and hyphens, all other '
  'separators past ASCII as spaces, and without characters that a reader does not see.';

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
  'Folds the case of a normalised word by Unicode 15.0, in one way for all languages, and its '
  'digits to ASCII.';

create or replace function ragdb._ascii_vector(words text, config text) returns tsvector
language sql immutable parallel safe
return to_tsvector(config::regconfig,
  -- what would make the parser see a path, a host, a tag, an entity or a signed number
  replace(replace(replace(replace(replace(replace(replace(replace(
    -- a tsvector holds words of up to 2,046 bytes
    case when octet_length(words) > 2040 and words ~ '[a-z0-9]{255}'
      then regexp_replace(words, '((?:[a-z0-9]{255}){8})[a-z0-9]+', '\1', 'g') else words end,
    '-', ' '), '_', ' '), '.', ' '), '/', ' '), '<', ' '), '+', ' '), '&', ' '), '~', ' '));
comment on function ragdb._ascii_vector(text, text) is
  'Returns the lexemes of lower-case ASCII text, cut at everything that is not a letter or a '
  'digit.';

-- Words of ASCII letters and digits go to PostgreSQL's parser, the rest word by word to the
-- dictionary. Runs of a script without spaces become the overlapping pairs of their letters (with
-- the marks of each).
create or replace function ragdb._vector(words text, config text) returns tsvector
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
    return ragdb._ascii_vector(v_words, config);
  end if;
  if v_words ~ ('[' || ragdb._spaceless() || ']') then
    v_words := regexp_replace(v_words, '([' || ragdb._spaceless() || ']+)', ' \1 ', 'g');
    -- a letter before another of its run ends in U+0001
    v_words := regexp_replace(v_words,
      '([' || ragdb._spaceless_letters() || '](?:[' || ragdb._spaceless_marks() || ']|['
        || ragdb._stackers() || '][' || ragdb._spaceless_letters() || '])*)(?=['
          || ragdb._spaceless_letters() || '])',
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
          from regexp_matches(v_words, E'[a-z0-9\x01' || ragdb._wordly() || ']+', 'g')
            with ordinality m (word, ordinal)) w
        window by_ordinal as (order by w.ordinal)) p
      where p.pair is not null order by p.ordinal);
  else
    v_list := array(select (regexp_matches(v_words,
      '[a-z0-9]*[' || ragdb._wordly() || '][a-z0-9' || ragdb._wordly() || ']*', 'g'))[1]);
    if cardinality(v_list) < 255 and cardinality(v_list) * 16 < length(v_words)
      and strpos(v_words, '0q0') = 0 then
      -- a few among many: the parser finds their places by the word 0q0, which no dictionary
      -- changes
      v_lexemes := ragdb._ascii_vector(regexp_replace(v_words,
        '[a-z0-9]*[' || ragdb._wordly() || '][a-z0-9' || ragdb._wordly() || ']*', ' 0q0 ', 'g'),
          config);
      select u.positions into v_positions from unnest(v_lexemes) u where u.lexeme = '0q0';
      v_lexemes := ts_delete(v_lexemes, '0q0');
    else
      -- the parser cuts 1e5abc into 1e5 and abc
      if v_words ~ '[0-9]e[0-9]+[a-z]' then
        v_words := regexp_replace(v_words,
          '((?:^|[^a-z0-9' || ragdb._wordly() || '])[0-9]+e[0-9]+)([a-z])', '\1 \2', 'g');
      end if;
      v_list := array(select (regexp_matches(v_words, '[a-z0-9' || ragdb._wordly() || ']+',
        'g'))[1]);
    end if;
  end if;
  select c.asciis, c.words into v_asciis, v_others from ragdb._text_configs() c
    where c.config = _vector.config;
  return (
    select concat(v_lexemes, ' ', string_agg('''' || l.lexeme || ''':' || f.positions, ' '))
    from (
      select case when octet_length(w.word) > 2040 then left(w.word, 510)
          when octet_length(w.word) = length(w.word) then w.word
          when w.word ~ ('[' || ragdb._foldable() || ']') then ragdb._fold(w.word)
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
comment on function ragdb._vector(text, text) is
  'Returns the lexemes of plain text, each with its positions, after a text configuration.';

create or replace function ragdb._words(text text, config text) returns tsvector
language sql immutable parallel safe
return ragdb._vector(ragdb._plain(text), config);
comment on function ragdb._words(text, text) is
  'Returns the lexemes of the words of a text with their positions and nothing else: what a phrase '
  'is made of.';

-- Behind the words come the names: user_id, userId and e-mail are found as userid and email too,
-- and 2.0.1, C++ and .net as they are. Most texts of a manual have some: one pass finds them, all
-- else looks at them alone.
create or replace function ragdb._lexemes(text text, config text) returns tsvector
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text := case when octet_length(text) = length(text) and octet_length(text) <= 65536
    then text
    else ragdb._plain(text) end;
  v_is_ascii boolean := octet_length(v_text) = length(v_text);
  v_names text;
  v_exact text;
  v_lexemes tsvector;
begin
  if v_is_ascii then
    v_names := array_to_string(array(select (regexp_matches(v_text,
      '[A-Za-z0-9]*(?:[a-z][A-Z]|[A-Z][A-Z][a-z][a-z]|[A-Za-z0-9][-_./:@\\]+[A-Za-z0-9])'
      '(?:[-_./:@\\]*[A-Za-z0-9])*',
      'g'))[1]), ' ');
  else
    v_names := array_to_string(array(select (regexp_matches(v_text, replace(
      '[A-Za-z0-9&]*(?:[a-z][A-Z]|[A-Z][A-Z][a-z][a-z]|[A-Za-z0-9&][-_./:@\\]+[A-Za-z0-9&])'
      '(?:[-_./:@\\]*[A-Za-z0-9&])*',
      '&', ragdb._spaced()), 'g'))[1]), ' ');
  end if;
  if v_text ~ '[A-Za-z](?:\+\+|#)|(?:^|[\s"`(])\.[A-Za-z]' then
    select string_agg('''' || lower(left(coalesce(m.name[1], m.name[2]), 2040) collate "C") || ''':'
      || m.ordinal, ' ')
    into v_exact
    from regexp_matches(v_text, '(?:^|[\s"`(])(\.[A-Za-z]+)|([A-Za-z](?:\+\+|#))(?![A-Za-z0-9])',
      'g')
      with ordinality m (name, ordinal);
  end if;
  if v_names <> '' then
    if v_names ~ '[a-z][A-Z]|[A-Z][A-Z][a-z][a-z]' then
      v_text := regexp_replace(v_text, '([a-z](?=[A-Z])|[A-Z](?=[A-Z][a-z][a-z]))', '\1 ', 'g');
    end if;
    if v_names ~ '[0-9]\.[0-9]' then
      select concat(v_exact, ' ',
        string_agg('''' || left(m.name[1], 2040) || ''':' || m.ordinal, ' ')) into v_exact
      from regexp_matches(v_names, '[0-9]+(?:\.[0-9]+)+', 'g') with ordinality m (name, ordinal);
      v_names := regexp_replace(v_names, '(?:^| )[Vv]?[0-9]+(?:\.[0-9]+)+(?= |$)', ' ', 'g');
    end if;
    v_text := v_text || ' ' || replace(replace(replace(replace(replace(replace(replace(v_names,
      '-', ''), '_', ''), '.', ''), '/', ''), ':', ''), '@', ''), '\', '');
  end if;
  if v_is_ascii then
    v_lexemes := ragdb._ascii_vector(lower(v_text collate "C"), config);
  else
    v_lexemes := ragdb._vector(v_text, config);
  end if;
  if v_exact is not null then
    v_lexemes := v_lexemes || v_exact::tsvector;
  end if;
  if length(v_lexemes) > 16000 then
    -- the most that a chunk may have: the first ones stay
    v_lexemes := ts_delete(v_lexemes, array(
      select u.lexeme from unnest(v_lexemes) u order by u.positions[1],
        u.lexeme collate "C" offset 16000));
  end if;
  return v_lexemes;
end $$;
comment on function ragdb._lexemes(text, text) is
  'Returns the lexemes of a text, chunk or query alike: those of its words with their positions '
  'and behind them those of the names in it.';

-- The reference ranking: sets of words, as KERN's runtime cuts them.

-- lower() of one context and one expansion: a sigma that ends a word is final, and a dotted capital
-- I keeps its dot.
create or replace function ragdb._reference_lower(text text) returns text
language sql immutable parallel safe
return pg_catalog.replace(
  case when pg_catalog.strpos(text, 'Σ') = 0 then text else pg_catalog.regexp_replace(text,
    '([' || ragdb._cased() || '][' || ragdb._case_ignorable() || ']*)Σ'
      || '(?![' || ragdb._case_ignorable() || ']*[' || ragdb._cased() || '])', '\1ς', 'g') end,
  'İ', U&'i\0307');
comment on function ragdb._reference_lower(text) is
  'Writes the two letters in lower case whose lower case depends on their place or is two '
  'characters.';

create or replace function ragdb._reference_tokens(text text) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text := text;
begin
  if octet_length(v_text) <> length(v_text) then
    v_text := ragdb._reference_lower(
      normalize(regexp_replace(v_text, '[' || ragdb._unassigned() || ']+', ' ', 'g'), nfkc));
  end if;
  return array(
    select t.token
    from (
      select case when octet_length(w.word[1]) > length(w.word[1])
        and w.word[1] ~ ('[' || ragdb._capitals() || ']')
          then translate(w.word[1], ragdb._capitals(), ragdb._smalls()) else w.word[1] end as token,
        w.ordinal
      from regexp_matches(lower(v_text collate "C"), '[a-z0-9' || ragdb._wordly() || ']+', 'g')
        with ordinality w (word, ordinal)) t
    group by t.token
    order by min(t.ordinal));
end $$;
comment on function ragdb._reference_tokens(text) is
  'Returns the distinct runs of letters, marks and numbers (Unicode 15.0) of a text in NFKC and '
  'lower case, in the order of their first places.';

create or replace function ragdb._jaccard(a text[], b text[]) returns float8
language sql immutable parallel safe
return (
  select coalesce(n.both / nullif(cardinality(_jaccard.a) + cardinality(_jaccard.b) - n.both,
    0)::float8, 0)
  from (select count(*) as both from unnest(_jaccard.a) x (token)
    where x.token = any (_jaccard.b)) n);
comment on function ragdb._jaccard(text[], text[]) is
  'Returns the Jaccard coefficient of two sets of tokens, in [0, 1]; 0 for two empty sets.';

-- Two lanes of FNV-1a over the bytes, modulo 2^64. A lane is kept in two halves of 32 bits: the
-- prime is 2^40 + 435, and no product of halves overflows.
create or replace function ragdb.kern_chunk_hash(text text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bytes bytea := convert_to(text, 'UTF8');
  v_byte bigint;
  v_left_high bigint := x'cbf29ce4'::bigint;
  v_left_low bigint := x'84222325'::bigint;
  v_right_high bigint := x'84222325'::bigint;
  v_right_low bigint := x'cbf29ce4'::bigint;
begin
  if text is null then
    raise exception 'text is null'
      using errcode = 'RG400', detail = 'kern_chunk_hash needs the text of a chunk',
            hint = 'the text may be empty';
  end if;
  for v_at in 0 .. length(v_bytes) - 1 loop
    v_byte := get_byte(v_bytes, v_at);
    v_left_low := v_left_low # v_byte;
    v_left_high := (v_left_high * 435 + (v_left_low * 435 >> 32) + (v_left_low << 8)) & 4294967295;
    v_left_low := v_left_low * 435 & 4294967295;
    v_right_low := v_right_low # (v_byte + 158);
    v_right_high := (v_right_high * 435 + (v_right_low * 435 >> 32) + (v_right_low << 8))
      & 4294967295;
    v_right_low := v_right_low * 435 & 4294967295;
  end loop;
  return lpad(to_hex(v_left_high), 8, '0') || lpad(to_hex(v_left_low), 8, '0')
    || lpad(to_hex(v_right_high), 8, '0') || lpad(to_hex(v_right_low), 8, '0');
end $$;
comment on function ragdb.kern_chunk_hash(text) is
  'Returns KERN''s hash of a chunk''s text: 32 hexadecimal digits, two FNV-1a lanes over its UTF-8 '
  'bytes. Raises RG400.';
