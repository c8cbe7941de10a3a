-- Abbreviations: a text that spells out what a question abbreviates says it, as European Union says
-- EU, and so does one that abbreviates what the question spells out.

-- Returns the runs of two words or more with a capital in a text, without small words between them,
-- and their initials, as US for United States.
create or replace function ragdb_internal.capital_runs(text text)
returns table (words text[], initials text)
language sql immutable parallel safe
begin atomic
  select w.words, regexp_replace(array_to_string(w.words, ''), '[^A-Z]', '', 'g')
  from regexp_matches(capital_runs.text, '\m([A-Z][a-zß-ɏ]+(?:[\s-]+'
      '(?:(?:of|the|and|for|de|des|du|la|der|für|und)\s+)?[A-Z][a-zß-ɏ]+)+)', 'g') r (run)
    cross join lateral (
      select array_agg(p[1] order by n) as words
      from regexp_matches(r.run[1], '[A-Z][a-zß-ɏ]+', 'g') with ordinality m (p, n)) w;
end;

-- Returns the lexemes of a name: in small letters, because a capital within parts a word.
create or replace function ragdb_internal.lexemes_of_name(name text, config text) returns text[]
language sql immutable parallel safe
return pg_catalog.tsvector_to_array(
  ragdb_internal.lexemes(pg_catalog.lower(lexemes_of_name.name collate "C"), config));

-- Returns what abbreviations in what is asked stand for in some texts, and what there stands for
-- its runs of words with a capital: lexemes asked for, each with one that stands for it and the
-- share of it that this does; of 16 of each at most. Of what one may stand for the most frequent
-- counts.
create or replace function ragdb_internal.stands_for(asked text, texts text, config text)
returns table (term text, lexeme text, share float8)
language sql immutable parallel safe
begin atomic
  with said as materialized (
    select * from ragdb_internal.capital_runs(stands_for.texts)
  )
  select l.lexeme, s.lexeme, 1::float8 / count(*) over (partition by a.written, l.lexeme)
  from (
      select distinct m[1] as written, translate(m[1], '.', '') as initials
      from regexp_matches(stands_for.asked,
        '(?<![A-Za-z0-9])([A-Z]{2,6}|(?:[A-Z]\.){2,6})(?![A-Za-z0-9])', 'g') m
      order by 1 limit 16) a
    cross join lateral (
      select r.words[p : p + length(a.initials) - 1] as words
      from said r
        cross join lateral strpos(r.initials, a.initials) p
      where p > 0 group by 1 order by count(*) desc, 1 limit 1) w
    cross join lateral unnest(ragdb_internal.lexemes_of_name(a.written, config)) l (lexeme)
    cross join lateral unnest(ragdb_internal.lexemes_of_name(
      array_to_string(w.words, ' '), config)) s (lexeme)
  union all
  select l.lexeme, s.lexeme, 1
  from (
      select v.*
      from ragdb_internal.capital_runs(stands_for.asked) r
        -- a sentence begins with a capital too
        cross join lateral (values (r.words, r.initials), (r.words[2:], substr(r.initials, 2)))
          v (words, initials)
      where length(v.initials) between 2 and 6 limit 16) v
    cross join lateral unnest(ragdb_internal.lexemes_of_name(v.initials, config)) s (lexeme)
    cross join lateral unnest(ragdb_internal.lexemes_of_name(
      array_to_string(v.words, ' '), config)) l (lexeme)
  where ragdb_internal.apart_at(stands_for.texts, v.initials) > 0;
end;

-- Returns what the texts of evidence, and what stands over them, say otherwise of what is asked, as
-- ragdb_internal.stands_for does. Few questions have an abbreviation or a run of names, and none
-- has where all is in capitals.
create or replace function ragdb_internal.otherwise_named(
  asked text, evidence jsonb, config text)
returns table (term text, lexeme text, share float8)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if asked ~ E'[A-Z]\\.?[A-Z]|[A-Z]\\S+\\s(?:of\\s|the\\s|for\\s|and\\s)*[A-Z]'
    and asked <> upper(asked collate "C")
  then
    return query select s.* from ragdb_internal.stands_for(asked, (
      select string_agg(ragdb_internal.said_in_chunk(c.chunk), E'\n' order by c.n)
      from jsonb_array_elements(evidence -> 'chunks') with ordinality c (chunk, n)), config) s;
  end if;
end $$;

-- Returns the abbreviation that a question asks what it stands for, as URL in "In HTTP, what does
-- URL stand for?" and "Wofür steht URL?"; null for none, as where it asks what a party in the UK
-- stands for, or what "HTTP 404" means.
create or replace function ragdb_internal.asked_letters(question text) returns text
language sql immutable parallel safe
return coalesce(pg_catalog.substring(
    question, '(?<!in the )\m([A-Z]{2,6})\M[^A-Za-z0-9]{1,4}stands?\s+for'),
  pg_catalog.substring(question, '(?:[Ww]ofür\s+steh(?:t|en)|[Qq]ue\s+(?:signifie|veut\s+dire)'
    '|[Qq]u[ée]\s+(?:significan?|quieren?\s+decir))\s+(?:(?:d(?:er|ie|as)|l[ae]s?|el|los)\s+'
    '|l[''’])?(?:(?:Abkürzung|Kürzel|abréviation|sigle|acronyme|abreviatura|acrónimo|siglas?)\s+)?'
    '[^[:alnum:][:space:]]{0,2}([A-Z]{2,6})\M(?!\s+[0-9])'));

-- Returns a pattern of words that have the letters of an abbreviation in their order, some of them
-- within a word, as Hypertext Transfer Protocol.
create or replace function ragdb_internal.spelled_within(letters text) returns text
language sql immutable parallel safe
return (
  select '\m' || pg_catalog.string_agg(case when u.n = 1 then u.letter
    else pg_catalog.format('(?:(?:[\s-]+(?:of|the|and|for|to|in))*[\s-]+%s|[%1$s%s])',
      u.letter, pg_catalog.lower(u.letter collate "C")) end, '[a-z''’]*' order by u.n)
  from pg_catalog.string_to_table(spelled_within.letters, null) with ordinality u (letter, n));

-- Tells whether a sentence says what the abbreviation in a question stands for: by saying so, by
-- brackets, or by words that begin with its letters; by words that have them where these have
-- capitals or follow the abbreviation.
create or replace function ragdb_internal.expands(sentence text, question text)
returns boolean
language sql immutable parallel safe
return (
  select sentence ~ ('[(]' || a.letters || 's?[)]|\m' || a.letters || 's?[*_`]* ?[(]')
    or pg_catalog.strpos(sentence, a.letters) > 0
      and sentence ~ ('\m' || a.letters || '[^A-Za-z0-9]{1,4}(?:(?:an?|the)\s+)?'
        || ragdb_internal.spelled_within(pg_catalog.lower(a.letters collate "C")))
    or sentence ~* ('st(?:an|oo)d(?:s|ing)?\s+for|short\s+for|acr[oó]n[iy]m|abbreviat'
      '|steh(?:t|en)\s+für|abkürzung|siglas?\M|\m'
      || pg_catalog.regexp_replace(a.letters, '(.)(?=.)',
        '\1[a-z''’]+(?:[\s-]+(?:of|the|and|for|to|in))*[\s-]+', 'g'))
    -- most sentences have no such word
    or sentence ~ ('\m' || pg_catalog.left(a.letters, 1) || '[a-z]') and exists (
      select from pg_catalog.regexp_matches(
        sentence, ragdb_internal.spelled_within(a.letters), 'g') m
      where m[1] ~ '[\s-]')
  from (select ragdb_internal.asked_letters(question) as letters offset 0) a);
