-- The language that a text is written in, for the text configuration of a corpus that it makes.
--
-- A word speaks for the languages that take it for a stop word, and for those whose letters it is
-- written in; a letter that a language does not write speaks against it. The stop words are those
-- of PostgreSQL's dictionaries, the same in every version. It has none for some languages: those
-- have a few of the commonest words here, and so have Danish, whose own are nearly all in the list
-- of Norwegian too, and languages that have no configuration. Without these their texts would
-- pass for those of a neighbour.

-- Lists languages by their text configuration, null for one that has none, with the letters past
-- ASCII of each, as the inside of a bracket expression, and common words.
create or replace function ragdb_internal.language_signs()
returns table (config text, letters text, words text)
language sql immutable parallel safe
begin atomic
  select s.config, s.letters, s.words
  from (values
    ('basque', 'ñ', 'eta da ez ere dira izan zen bat egin du dute edo'),
    ('catalan', 'àçèéíïòóúü', 'de en els les dels amb per una un és al com aquest però ha són'),
    ('danish', 'æøåéó', 'af kan ved så før kun hver ingen samme'),
    ('dutch', 'éëïöüè', ''), ('english', 'é', ''), ('finnish', 'äöåšž', ''), ('french',
      'àâæçèéêëîïôœùûü', ''), ('german', 'äöü', ''), ('hungarian', 'áéíóöőúüű', ''),
    ('indonesian', 'é', 'yang dan di dengan untuk dari ini pada itu dalam tidak akan oleh atau'),
    ('irish', 'áéíóú', 'agus an na is ar go ag le do bhí sé tá ní leis nach'),
    ('italian', 'àèéìíîòóù', ''),
    ('lithuanian', 'ąčęėįšųūž', 'ir yra kad iš su tai kaip bet ne buvo ar apie po už'),
    ('norwegian', 'æøåéòóôê', ''), ('portuguese', 'áâãàçéêíóôõúü', ''),
    ('romanian', 'ăâîșşțţ', 'și de la în cu pe nu să din un că este pentru mai sau'),
    ('spanish', 'áéíóúñü', ''), ('swedish', 'åäöéüà', ''), ('turkish', 'çğıöşüâîû', ''),
    -- Czech and Slovak, Croatian and Slovene, Latvian, Polish, Estonian, Icelandic, Vietnamese
    (null, 'áčďéěíňóřšťúůýžľĺŕäô', ''), (null, 'čćđšž', ''), (null, 'āčēģīķļņšūž', ''),
    (null, 'ąćęłńóśźż', 'jest nie do'), (null, 'äöõüšž', 'ja on ei see või ning kui seda'),
    (null, 'áðéíóúýþæö', ''), (null, 'àáâãèéêìíòóôõùúýăđĩũơưạ-ỹ', ''),
    ('armenian', 'ա-և', ''), ('greek', 'ΐ-ώἀ-῿', ''), ('tamil', '஀-௿', ''),
    ('russian', 'а-щьыэюяё', ''),
    ('serbian', 'а-ик-шјљњћђџ', 'и у на да се је за од са не су или'),
    -- Ukrainian, Bulgarian, Macedonian, Kazakh
    (null, 'а-щьюяєіїґ', 'і в у на не з що та за до'),
    (null, 'а-ъью-я', 'и в на с за от по да не е са се ще като'),
    (null, 'а-ик-шјљњќѓѕџ', 'и во на се од за да е не со'), (null, 'а-яёәғқңұүһөі', ''),
    -- with Persian and Urdu
    ('arabic', 'ء-يً-ْ', ''),
    (null, 'ءآاب-تث-خد-ضط-غفقلمنوهپچژگکیئؤأ', ''),
    (null, 'اآبپتٹثجچحخدڈذرڑزژسشصضطظعغفقکگلمنںوہھءیئےؤۓ', ''),
    -- by number, because the marks of Devanagari join what stands before them
    ('hindi', E'\u0900-\u0932\u0934-\u0963',
      'का की के को में है हैं और से ने पर यह कि भी था नहीं कर लिए'),
    ('nepali', E'\u0900-\u0932\u0934-\u093b\u093d-\u0963', ''),
    -- Marathi
    (null, E'\u0900-\u093b\u093d-\u0963', 'आहे आहेत आणि व या ते हे होते तो मध्ये नाही'),
    -- Hebrew, Bengali to Oriya, Telugu to Georgian and Korean, Khmer, Japanese and Chinese
    (null, E'\u0590-\u05ff\u0980-\u0b7f\u0c00-\u11ff\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff'
      '\uac00-\ud7af', '')) s (config, letters, words);
end;

-- Returns the text configuration for the language that the beginning of a text is in: english for a
-- language that has none, null where it cannot be told. A word of one ASCII letter is of an option
-- or of what an apostrophe cut. Another letter alone may be a sign, and letters that stand with
-- Latin ones may be a unit: those of such words say nothing.
create or replace function ragdb_internal.guessed_config(text text) returns text
language sql stable parallel safe
begin atomic
  with word as materialized (
    select w.word, count(*) as times,
      length(w.word) > 1 and octet_length(w.word) > length(w.word)
        and not (w.word ~ '[a-z0-9]' and w.word ~ '[^a-z0-9À-ʯḀ-ỿ]') as is_lettered
    from unnest((ragdb_internal.words_and_pairs(ragdb_internal.fold(ragdb_internal.plain(
      left(guessed_config.text, 1500)))))[:200]) w (word)
    where octet_length(w.word) > 1 and w.word !~ '^[0-9]'
    group by w.word
  ), points as (
    -- language by language: few patterns stay compiled at once
    select coalesce(l.config, 'english') as config, p.points
    from (
      select s.config, '^[a-z0-9' || s.letters || ']+$' as written,
        string_to_array(s.words, ' ') as words,
        ragdb_internal.word_dictionary(s.config) as dictionary
      from ragdb_internal.language_signs() s offset 0) l
      cross join lateral (
        select sum(w.times * (
          case when w.word = any (l.words) or ts_lexize(l.dictionary, w.word) = '{}'
            then 1 else 0 end
          + case when not w.is_lettered then 0 when w.word ~ l.written then 1 else -1 end))
          as points
        from word w offset 0) p
  ), best as (
    select p.config, max(p.points) as points, rank() over (order by max(p.points) desc) as place
    from points p group by p.config
  )
  select min(b.config) from best b where b.place = 1
  having count(*) = 1 and max(b.points) >= 2
    and max(b.points) * 8 >= (select sum(w.times) from word w);
end;

-- Returns the code of a language from a code or a name in English, as en, en-US or English; null
-- for what is neither.
create or replace function ragdb_internal.language_code(language text) returns text
language sql immutable parallel safe
return (
  select coalesce(
    (select c.language from ragdb_internal.text_configs() c where c.config = p.primary_part),
    case when p.primary_part in ('nb', 'nn') then 'no'
      when p.primary_part ~ '^[a-z]{2,3}$' then p.primary_part end)
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
    from unnest(config_for.texts) with ordinality t (text, n)
      cross join lateral ragdb_internal.guessed_config(t.text) g (config)
    where t.n * 100 / greatest(cardinality(config_for.texts), 100)
        > (t.n - 1) * 100 / greatest(cardinality(config_for.texts), 100)
      and g.config is not null
    group by g.config) v
  where 2 * v.texts > v.known), 'english');
