-- Words that differ from others in accents alone: creme and crème, Zürich and Zurich.
--
-- The index keeps accents, and the lexemes of both spellings may end in other letters. So a word is
-- walked down the dictionary letter by letter, each as it is and with every accent that a lexeme
-- has there: a look at the index for each. What a corpus has else does not count.

-- By code point, as the dictionary has them. The last letters of d, h, i, l, o and t have a stroke
-- or no dot, which Unicode takes for no accent, and are typed without it all the same.
create or replace function ragdb_internal.accented() returns text[]
language sql immutable parallel safe
return array[
  'aàáâãäåāăąǎǟǡǻȁȃȧḁạảấầẩẫậắằẳẵặ', 'bḃḅḇ', 'cçćĉċčḉ', 'dďđḋḍḏḑḓ',
  'eèéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệ', 'fḟ', 'gĝğġģǧǵḡ', 'hĥħȟḣḥḧḩḫẖ', 'iìíîïĩīĭįıǐȉȋḭḯỉị', 'jĵǰ',
  'kķǩḱḳḵ', 'lĺļľłḷḹḻḽ', 'mḿṁṃ', 'nñńņňǹṅṇṉṋ', 'oòóôõöøōŏőơǒǫǭȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợ', 'pṕṗ',
  'q', 'rŕŗřȑȓṙṛṝṟ', 'sśŝşšșṡṣṥṧṩ', 'tţťŧțṫṭṯṱẗ', 'uùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự', 'vṽṿ',
  'wŵẁẃẅẇẉẘ', 'xẋẍ', 'yýÿŷȳẏẙỳỵỷỹ', 'zźżžẑẓẕ'];
comment on function ragdb_internal.accented() is
  'Returns for each letter of a to z all that differ from it in accents alone, it first.';

create or replace function ragdb_internal.unaccented(word text) returns text
language sql immutable parallel safe
return case when pg_catalog.octet_length(word) = pg_catalog.length(word) then word
  else pg_catalog.translate(
    pg_catalog.regexp_replace(normalize(word, nfd), '[\u0300-\u036F]', '', 'g'),
    'đħıłøŧ', 'dhilot') end;
comment on function ragdb_internal.unaccented(text) is
  'Returns a plain lower-case word without its accents.';

create or replace function ragdb_internal.accented_as(word text, lexeme text, config text)
returns text
language sql stable parallel safe
return (
  select a.word
  from (select accented_as.lexeme
      || pg_catalog.substr(w.word, pg_catalog.length(accented_as.lexeme) + 1) as word
    from (select ragdb_internal.dictionary_word(accented_as.word) as word offset 0) w
    where pg_catalog.starts_with(ragdb_internal.unaccented(w.word),
      ragdb_internal.unaccented(accented_as.lexeme)) offset 0) a
  where ragdb_internal.letter_lexemes(array[a.word], accented_as.config)
    = array[accented_as.lexeme]);
comment on function ragdb_internal.accented_as(text, text, text) is
  'Returns what has a lexeme and differs from a word in accents alone; null for nothing.';

create or replace function ragdb_internal.accents_of(letter text) returns text
language sql immutable parallel safe
return pg_catalog.substr((ragdb_internal.accented())[
  case when letter between 'a' and 'z' then pg_catalog.ascii(letter) - 96 end], 2);
comment on function ragdb_internal.accents_of(text) is
  'Returns all that differ from a letter of a to z in accents alone; null for other letters.';

-- What differs from a word of ASCII has its first accent behind some letters of the word. Between
-- the accents of a first letter stand the words of other alphabets, so each is looked for. A corpus
-- in several languages has accents behind most beginnings, so the lexemes there are looked at too;
-- where they are three hundred, the walk does that.
create or replace function ragdb_internal.accentable(corpus_id integer, word text, config text)
returns table (word text)
language sql stable parallel safe rows 1
begin atomic
  select accentable.word
  where pg_catalog.octet_length(accentable.word) > pg_catalog.length(accentable.word)
    or exists (
      select
      from (
          select l.n, pg_catalog.left(accentable.word, l.n - 1) as before,
            ragdb_internal.accents_of(l.letter) as accents,
            l.next || coalesce(ragdb_internal.accents_of(l.next), '') as next
          from (
            select n, pg_catalog.substr(accentable.word, n, 1) as letter,
              pg_catalog.substr(accentable.word, n + 1, 1) as next
            from pg_catalog.generate_series(1, pg_catalog.length(accentable.word)) n) l
          offset 0) w
        cross join lateral (
          select pg_catalog.string_to_table(w.accents, null) as first, null as last
          where w.n = 1
          union all
          select pg_catalog.left(w.accents, 1), pg_catalog.right(w.accents, 1)
          where w.n > 1 and w.accents <> '') r
        cross join lateral (
          select from (
            select d.lexeme from ragdb.lexemes d
            where d.corpus_id = accentable.corpus_id
              and d.lexeme between w.before || r.first
                and w.before || coalesce(r.last, r.first) || U&'\+10FFFF'
            limit 300) d
          having count(*) = 300 or bool_or(case
            when pg_catalog.strpos(w.next, pg_catalog.substr(d.lexeme, w.n + 1, 1)) > 0
              and pg_catalog.strpos(w.accents, pg_catalog.substr(d.lexeme, w.n, 1)) > 0
              and pg_catalog.starts_with(accentable.word, ragdb_internal.unaccented(d.lexeme))
            then (pg_catalog.ts_lexize(ragdb_internal.word_dictionary(accentable.config),
              d.lexeme || pg_catalog.substr(accentable.word, pg_catalog.length(d.lexeme) + 1)))[1]
              = d.lexeme end)) d);
end;
comment on function ragdb_internal.accentable(integer, text, text) is
  'Returns a plain lower-case word if a lexeme of a corpus may be its own but for accents, else '
  'nothing.';

create or replace function ragdb_internal.letters_accented(word text)
returns table (letters text[])
language sql immutable parallel safe rows 1
begin atomic
  select pg_catalog.array_agg(l.letter || coalesce(ragdb_internal.accents_of(l.letter), '')
    order by l.n)
  from pg_catalog.string_to_table(
    ragdb_internal.unaccented(ragdb_internal.dictionary_word(letters_accented.word)), null)
    with ordinality l (letter, n);
end;
comment on function ragdb_internal.letters_accented(text) is
  'Returns for each letter of a plain lower-case word that letter without its accent and all that '
  'differ from it in accents alone.';

-- Not a part of its callers, because to begin this statement takes longer than the looks that tell
-- whether it is worth it. The walk ends after so many looks at the index: a dictionary may be made
-- such that every accent of every letter is in it.
create or replace function ragdb_internal.accented_lexeme(corpus_id integer, word text, config text)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    with recursive letters as materialized (
      select a.letters from ragdb_internal.letters_accented(accented_lexeme.word) a
    ), walk (prefix, n, start) as (
      select '' collate "C", 1, left(l.letters[1], 1) collate "C" from letters l
      union all
      select x.prefix, x.n, x.start
      from walk w
        cross join letters l
        cross join lateral (
          select d.lexeme, substr(d.lexeme, w.n, 1) as letter
          from ragdb.lexemes d
          where d.corpus_id = accented_lexeme.corpus_id and d.lexeme >= w.prefix || w.start
          order by d.lexeme limit 1) d
        cross join lateral (
          select w.prefix || d.letter, w.n + 1, left(l.letters[w.n + 1], 1)
          where strpos(l.letters[w.n], d.letter) > 0
          union all
          select w.prefix, w.n, case when d.letter < E'\u0080' then substr(l.letters[w.n], 2, 1)
            else (select min(v collate "C") from string_to_table(l.letters[w.n], null) v
              where v > d.letter) end) x (prefix, n, start)
      where w.start <> '' and starts_with(d.lexeme, w.prefix))
    select k.lexeme
    from (select w.prefix from walk w limit 500) w
      cross join lateral (
        select d.lexeme, d.df from ragdb.lexemes d
        where d.corpus_id = accented_lexeme.corpus_id and d.lexeme = w.prefix and d.df > 0
        offset 0) k
    where not starts_with(accented_lexeme.word, w.prefix)
      and ragdb_internal.accented_as(accented_lexeme.word, k.lexeme, accented_lexeme.config)
        is not null
    order by k.df desc, k.lexeme
    limit 1);
end $$;
comment on function ragdb_internal.accented_lexeme(integer, text, text) is
  'Returns the lexeme of a corpus that differs from a word in accents alone and that most chunks '
  'have; null where there is none.';
