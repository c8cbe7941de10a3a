-- The language that a text is written in, for its document and for the configuration of a corpus
-- that it makes.
--
-- A word speaks for the languages that take it for a stop word, and for those whose letters it is
-- written in; a letter that a language does not write speaks against it. The stop words are those
-- of PostgreSQL's dictionaries, the same in every version. It has none for some languages: those
-- have a few of the commonest words here, and so have Danish, whose own are nearly all in the list
-- of Norwegian too, and languages that have no configuration. Without these their texts would
-- pass for those of a neighbour.

-- Lists languages by their codes, null for letters that several write, with the letters past ASCII
-- of each, as the inside of a bracket expression, common words, and the text configuration, null
-- where there is none.
create or replace function ragdb_internal.language_signs()
returns table (language text, config text, letters text, words text)
language sql immutable parallel safe
begin atomic
  select s.language, c.config, s.letters, s.words
  from (values
    ('eu', 'ñ', 'eta da ez ere dira izan zen bat egin du dute edo'),
    ('ca', 'àçèéíïòóúü', 'de en els les dels amb per una un és al com aquest però ha són'),
    ('da', 'æøåéó', 'af kan ved så før kun hver ingen samme'),
    ('nl', 'éëïöüè', ''), ('en', 'é', ''), ('fi', 'äöåšž', ''), ('fr', 'àâæçèéêëîïôœùûü', ''),
    ('de', 'äöü', ''), ('hu', 'áéíóöőúüű', ''),
    ('id', 'é', 'yang dan di dengan untuk dari ini pada itu dalam tidak akan oleh atau'),
    ('ga', 'áéíóú', 'agus an na is ar go ag le do bhí sé tá ní leis nach'),
    ('it', 'àèéìíîòóù', ''),
    ('lt', 'ąčęėįšųūž', 'ir yra kad iš su tai kaip bet ne buvo ar apie po už'),
    ('no', 'æøåéòóôê', ''), ('pt', 'áâãàçéêíóôõúü', ''),
    ('ro', 'ăâîșşțţ', 'și de la în cu pe nu să din un că este pentru mai sau'),
    ('es', 'áéíóúñü', ''), ('sv', 'åäöéüà', ''), ('tr', 'çğıöşüâîû', ''),
    -- of Czech and Slovak, and of Croatian and Slovene
    (null, 'áčďéěíňóřšťúůýžľĺŕäô', ''), (null, 'čćđšž', ''), ('lv', 'āčēģīķļņšūž', ''),
    ('pl', 'ąćęłńóśźż', 'jest nie do'), ('et', 'äöõüšž', 'ja on ei see või ning kui seda'),
    ('is', 'áðéíóúýþæö', ''), ('vi', 'àáâãèéêìíòóôõùúýăđĩũơưạ-ỹ', ''),
    ('hy', 'ա-և', ''), ('el', 'ΐ-ώἀ-῿', ''), ('ta', '஀-௿', ''), ('ru', 'а-щьыэюяё', ''),
    ('sr', 'а-ик-шјљњћђџ', 'и у на да се је за од са не су или'),
    ('uk', 'а-щьюяєіїґ', 'і в у на не з що та за до'),
    ('bg', 'а-ъью-я', 'и в на с за от по да не е са се ще като'),
    ('mk', 'а-ик-шјљњќѓѕџ', 'и во на се од за да е не со'), ('kk', 'а-яёәғқңұүһөі', ''),
    ('ar', 'ء-يً-ْ', ''), ('fa', 'ءآاب-تث-خد-ضط-غفقلمنوهپچژگکیئؤأ', ''),
    ('ur', 'اآبپتٹثجچحخدڈذرڑزژسشصضطظعغفقکگلمنںوہھءیئےؤۓ', ''),
    -- by number, because the marks of Devanagari join what stands before them
    ('hi', E'\u0900-\u0932\u0934-\u0963',
      'का की के को में है हैं और से ने पर यह कि भी था नहीं कर लिए'),
    ('ne', E'\u0900-\u0932\u0934-\u093b\u093d-\u0963', ''),
    ('mr', E'\u0900-\u093b\u093d-\u0963', 'आहे आहेत आणि व या ते हे होते तो मध्ये नाही'),
    -- Hebrew, Bengali to Oriya, Telugu to Georgian and Korean, Khmer, Japanese and Chinese
    (null, E'\u0590-\u05ff\u0980-\u0b7f\u0c00-\u11ff\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff'
      '\uac00-\ud7af', '')) s (language, letters, words)
    left join ragdb_internal.text_configs() c on c.language = s.language;
end;

-- Returns the language of the script that most characters of a text past ASCII are of, where it is
-- the only one that writes it; null for none. Japanese writes some words in the letters of Chinese.
create or replace function ragdb_internal.script_language(text text) returns text
language sql immutable parallel safe
begin atomic
  select l.language
  from (values
    ('he', E'[\u0590-\u05ff]', ''), ('bn', E'[\u0980-\u09ff]', ''),
    ('gu', E'[\u0a80-\u0aff]', ''), ('te', E'[\u0c00-\u0c7f]', ''),
    ('kn', E'[\u0c80-\u0cff]', ''), ('ml', E'[\u0d00-\u0d7f]', ''),
    ('th', E'[\u0e00-\u0e7f]', ''), ('ka', E'[\u10a0-\u10ff]', ''),
    ('ko', E'[\uac00-\ud7af]', ''), ('ja', E'[\u3040-\u30ff\u3400-\u9fff]', E'[\u3040-\u30ff]'),
    ('zh', E'[\u3400-\u9fff]', '')) l (language, letters, needed)
  where text ~ l.needed
    and regexp_count(text, l.letters) * 2 > regexp_count(text, E'[^\\x01-\\x7f]')
  order by regexp_count(text, l.letters) desc, l.language limit 1;
end;

-- Tells whether the letters of a word say something of its language. One past ASCII alone may be a
-- sign, and those that stand with Latin ones may be a unit.
create or replace function ragdb_internal.has_telling_letters(word text) returns boolean
language sql immutable parallel safe
return length(word) > 1 and octet_length(word) > length(word)
  and not (word ~ '[a-z0-9]' and word ~ '[^a-z0-9À-ʯḀ-ỿ]');

-- Returns the languages that the beginnings of some texts are in, by the number of the text: its
-- code, null for one that shares its letters, and the text configuration, english for a language
-- that has none. A text whose language cannot be told has no row.
--
-- A word of one ASCII letter is of an option or of what an apostrophe cut. What a word says is
-- found once for all texts, and language by language: few patterns stay compiled at once. Most
-- words speak against most languages: that is counted by text, and a word is joined with those
-- alone that it speaks for.
create or replace function ragdb_internal.guessed_languages(texts text[])
returns table (n integer, language text, config text)
language sql stable parallel safe
begin atomic
  with word as materialized (
    select t.n::integer, w.word, ragdb_internal.has_telling_letters(w.word) as is_lettered,
      count(*) as times
    from unnest(texts) with ordinality t (text, n)
      cross join lateral unnest((ragdb_internal.words_and_pairs(ragdb_internal.fold(
        ragdb_internal.plain(left(t.text, 1500)))))[:200]) w (word)
    where octet_length(w.word) > 1 and w.word !~ '^[0-9]'
    group by t.n, w.word
  ), different as materialized (
    select distinct w.word, w.is_lettered from word w
  ), sign as materialized (
    select p.word, p.points, l.language, coalesce(l.config, 'english') as config, l.letters
    from (
      select s.*, '^[a-z0-9' || s.letters || ']+$' as written,
        string_to_array(s.words, ' ') as common, ragdb_internal.word_dictionary(s.config) as stems
      from ragdb_internal.language_signs() s offset 0) l
      cross join lateral (
        select w.word,
          case when w.word = any (l.common) or ts_lexize(l.stems, w.word) = '{}' then 1 else 0 end
          + case when w.is_lettered and w.word ~ l.written then 2 else 0 end as points
        from different w offset 0) p
    where p.points > 0
  ), language as (
    select w.n, s.config, s.language, sum(w.times * s.points) as points,
      rank() over (partition by w.n order by sum(w.times * s.points) desc) as place
    from word w join sign s on s.word = w.word
    group by w.n, s.config, s.language, s.letters
  ), text as (
    select w.n, sum(w.times) as words, sum(w.times * w.is_lettered::integer) as against
    from word w group by w.n
  )
  select l.n, case when count(*) = 1 then coalesce(min(l.language), ragdb_internal.script_language(
      left(texts[array_lower(texts, 1) + l.n - 1], 1500))) end, min(l.config)
  from language l join text t on t.n = l.n
  where l.place = 1
  group by l.n, t.words, t.against
  having count(distinct l.config) = 1 and max(l.points) - t.against >= 2
    and (max(l.points) - t.against) * 8 >= t.words;
end;

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
