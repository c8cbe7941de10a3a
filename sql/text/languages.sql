-- The language that a text is written in, for its document and for the configuration of a corpus
-- that it makes.
--
-- A common word speaks for the languages that have it, and a letter past ASCII for those that write
-- it; a letter that a language does not write speaks against it.

-- Tells whether the letters of a word say something of its language. One past ASCII alone may be a
-- sign, and those that stand with Latin ones may be a unit.
create or replace function ragdb_internal.has_telling_letters(word text) returns boolean
language sql immutable parallel safe
return length(word) > 1 and octet_length(word) > length(word)
  and not (word ~ '[a-z0-9]' and word ~ '[^a-z0-9À-ʯḀ-ỿ]');

-- Returns the beginning of a text as words between spaces: letters, and no signs or digits.
create or replace function ragdb_internal.first_words(text text) returns text
language sql immutable parallel safe
return regexp_replace(ragdb_internal.fold(ragdb_internal.plain(left(first_words.text, 1000))),
  E'[\u0001-\u0060\u007b-\u00bf×÷،؛؟۔٠-٩۰-۹\u0964-\u096f\u2000-\u2bff\u3000-\u3004\u3006-\u303f'
    '\uff00-\uffff\U0001f000-\U0001faff]+', ' ', 'g');

-- Returns how often some beginnings have each common word of a language, by the number of the text;
-- null is for all other words. One ASCII letter is of an option or of what an apostrophe cut.
create or replace function ragdb_internal.common_words(beginnings text[], common text[])
returns table (n integer, word text, times bigint)
language sql stable parallel safe
begin atomic
  select t.n::integer, c.word, count(*)
  from unnest(common_words.beginnings) with ordinality t (text, n)
    cross join lateral string_to_table(t.text, ' ') w (word)
    left join unnest(common_words.common) c (word) on c.word = w.word
  where octet_length(w.word) > 1
  group by t.n, c.word;
end;

-- Returns how often some beginnings have each letter past ASCII, by the number of the text. Of what
-- is written without spaces 40 letters are looked at.
create or replace function ragdb_internal.telling_letters(beginnings text[])
returns table (n integer, letter text, times bigint)
language sql stable parallel safe
begin atomic
  select t.n::integer, l.letter, count(*)
  from unnest(telling_letters.beginnings) with ordinality t (text, n)
    cross join lateral string_to_table(t.text, ' ') w (word)
    cross join lateral string_to_table(left(w.word, 40), null) l (letter)
  where octet_length(t.text) > length(t.text) and ragdb_internal.has_telling_letters(w.word)
    and octet_length(l.letter) > 1
  group by t.n, l.letter;
end;

-- Returns what the beginnings of some texts say: for each text, by its number, how many words and
-- telling letters it has (sign: null), and for each sign, by its number, its points, and how many
-- different words and letters they are for.
--
-- What a letter says is found once for all texts, and language by language: few patterns stay
-- compiled at once. Most letters speak against most languages: that is counted by text, and a
-- letter is joined with those alone that it speaks for.
create or replace function ragdb_internal.language_points(beginnings text[])
returns table (
  n integer, sign bigint, points bigint, different bigint, words bigint, letters bigint)
language sql stable parallel safe
begin atomic
  with sign as materialized (
    select s.n, s.letters, s.words from ragdb_internal.language_signs() s
  ), common as materialized (
    select c.word, s.n as sign from sign s cross join lateral string_to_table(s.words, ' ') c (word)
  ), word as materialized (
    select w.* from ragdb_internal.common_words(
      language_points.beginnings, array(select distinct c.word from common c)) w
  ), letter as materialized (
    select l.* from ragdb_internal.telling_letters(language_points.beginnings) l
  ), written as materialized (
    select d.letter, s.n as sign
    from sign s cross join lateral (
      select d.letter from (select distinct l.letter from letter l) d
      where d.letter ~ ('[' || s.letters || ']') offset 0) d
  )
  select p.n, p.sign, sum(p.points)::bigint, count(*), sum(p.words)::bigint, sum(p.letters)::bigint
  from (
    select w.n, null::bigint as sign, 0 as points, w.times as words, 0 as letters from word w
    union all select l.n, null, 0, 0, l.times from letter l
    union all
    select w.n, c.sign, w.times, 0, 0 from word w join common c on c.word = w.word
    union all
    select l.n, s.sign, 2 * l.times, 0, 0 from letter l join written s on s.letter = l.letter) p
  group by p.n, p.sign;
end;

-- Returns the languages that the beginnings of some texts are in, by the number of the text: its
-- code, null for one that shares its letters, and the text configuration, english for a language
-- that has none. A text whose language cannot be told has no row: one word, be it a name, tells
-- none. What may be Japanese and has none of its own letters is Chinese.
--
-- A session keeps the plan: to make one takes longer than a text.
create or replace function ragdb_internal.guessed_languages(texts text[])
returns table (n integer, language text, config text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_beginnings constant text[] := array(
    select ragdb_internal.first_words(t.text)
    from unnest(texts) with ordinality t (text, n) order by t.n);
begin
  return query
    with point as materialized (select p.* from ragdb_internal.language_points(v_beginnings) p)
    select b.n, case when count(*) = 1 then min(b.language) end, min(b.config)
    from (
      select p.n, s.language, s.config, p.points, p.different,
        rank() over (partition by p.n order by p.points desc, (s.language = 'zh') desc) as place
      from point p
        join ragdb_internal.language_signs() s on s.n = p.sign) b
      join point t on t.n = b.n and t.sign is null
    where b.place = 1 and b.different > 1 and b.points - t.letters >= 2
      and (b.points - t.letters) * 8 >= t.words
    group by b.n having count(distinct b.config) = 1;
end $$;

create or replace function ragdb.guess_languages(texts text[])
returns table ("position" integer, language text, text_config text)
language plpgsql stable parallel safe security definer rows 1000 -- the rule is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
begin
  if texts is null or not ragdb_internal.is_list(texts) then
    raise exception 'texts is null, has a null, or more than one dimension'
      using errcode = 'RG400', detail = 'the language of each text is told by its beginning',
        hint = 'pass a list of texts, which may be empty';
  end if;
  return query
    select g.n - 1, g.language, g.config
    from ragdb_internal.guessed_languages(texts) g order by g.n;
end $$;
comment on function ragdb.guess_languages is
  'Tells which language each of some texts is in, by the first 1000 characters: by the position of '
  'the text, from 0, the code of its language, null for one that shares its letters, and the text '
  'configuration for it (english for a language that has none). A text whose language cannot be '
  'told has no row. Raises RG400.';

-- Returns the code of a language from a code or a name in English, as en, en-US or English; null
-- for what is neither. Codes come first: a name takes longer to look up, and documents have codes.
create or replace function ragdb_internal.language_code(language text) returns text
language sql immutable parallel safe
return (
  select case
    when p.primary_part in ('nb', 'nn') then 'no'
    when p.primary_part = 'iw' then 'he'
    when p.primary_part = 'in' then 'id'
    when p.primary_part ~ '^[a-z]{2,3}$' then p.primary_part
    when p.primary_part = 'estonian' then 'et' -- whose configuration PostgreSQL 16 lacks
    else (select c.language from ragdb_internal.text_configs() c
      where c.config = p.primary_part) end
  from (select pg_catalog.substring(
    pg_catalog.lower(pg_catalog.btrim(language_code.language) collate "C"),
    '^[^-_.]*') as primary_part) p);

-- Returns the text configuration for a language by its code or its name in English: english for one
-- that has none, null for what is neither.
create or replace function ragdb_internal.language_config(language text) returns text
language sql immutable parallel safe
return (
  select coalesce(
    (select c.config from ragdb_internal.text_configs() c where c.language = l.code), 'english')
  from ragdb_internal.language_code(language_config.language) l (code) where l.code is not null);

-- Returns the text configuration for a corpus of some texts: that of the language of over half of
-- those whose language is known, else english. It looks at 100 of them at most, from first to last.
create or replace function ragdb_internal.config_for(texts text[]) returns text
language sql stable parallel safe
return coalesce((
  select v.config
  from (
    select g.config, count(*) as texts, sum(count(*)) over () as known
    from ragdb_internal.guessed_languages(array(
      select t.text from unnest(config_for.texts) with ordinality t (text, n)
      where t.n * 100 / greatest(cardinality(config_for.texts), 100)
        > (t.n - 1) * 100 / greatest(cardinality(config_for.texts), 100))) g
    group by g.config) v
  where 2 * v.texts > v.known), 'english');

-- Returns in words that a question is in another language than the texts that a configuration is
-- for; null where it is not, or where that cannot be told.
create or replace function ragdb_internal.other_language(question text, config text) returns text
language sql stable parallel safe
return (
  select 'the question is in ' || pg_catalog.initcap(g.config collate "C")
    || ', and the corpus is read as ' || pg_catalog.initcap(other_language.config collate "C")
  from ragdb_internal.guessed_languages(array[other_language.question]) g
  where g.language is not null and g.config <> other_language.config
    and other_language.config <> 'simple');
