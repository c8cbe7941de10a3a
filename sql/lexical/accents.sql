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

-- The walk ends after so many looks at the index: a dictionary may be made such that every accent
-- of every letter is in it.
create or replace function ragdb_internal.accented_lexeme(corpus_id integer, word text, config text)
returns table (lexeme text)
language sql stable parallel safe rows 1
begin atomic
  with recursive letters as materialized (
    select pg_catalog.array_agg(coalesce((ragdb_internal.accented())[
      case when l.letter between 'a' and 'z' then pg_catalog.ascii(l.letter) - 96 end], l.letter)
      order by l.n) as letters
    from pg_catalog.string_to_table(
      ragdb_internal.unaccented(ragdb_internal.dictionary_word(accented_lexeme.word)), null)
      with ordinality l (letter, n)
  ), walk (prefix, n, start) as (
    select '' collate "C", 1, pg_catalog.left(l.letters[1], 1) collate "C" from letters l
    union all
    select x.prefix, x.n, x.start
    from walk w
      cross join letters l
      cross join lateral (
        select d.lexeme, pg_catalog.substr(d.lexeme, w.n, 1) as letter
        from ragdb.lexemes d
        where d.corpus_id = accented_lexeme.corpus_id and d.lexeme >= w.prefix || w.start
        order by d.lexeme limit 1) d
      cross join lateral (
        select w.prefix || d.letter, w.n + 1, pg_catalog.left(l.letters[w.n + 1], 1)
        where pg_catalog.strpos(l.letters[w.n], d.letter) > 0
        union all
        select w.prefix, w.n, case when d.letter < U&'\0080'
          then pg_catalog.substr(l.letters[w.n], 2, 1)
          else (select min(v collate "C") from pg_catalog.string_to_table(l.letters[w.n], null) v
            where v > d.letter) end) x (prefix, n, start)
    where w.start <> '' and pg_catalog.starts_with(d.lexeme, w.prefix))
  select k.lexeme
  from (select w.prefix from walk w limit 500) w
    join ragdb.lexemes k on k.corpus_id = accented_lexeme.corpus_id and k.lexeme = w.prefix
  where k.df > 0 and not pg_catalog.starts_with(accented_lexeme.word, w.prefix)
    and ragdb_internal.accented_as(accented_lexeme.word, k.lexeme, accented_lexeme.config)
      is not null
  order by k.df desc, k.lexeme
  limit 1;
end;
comment on function ragdb_internal.accented_lexeme(integer, text, text) is
  'Returns the lexeme of a corpus that differs from a word in accents alone and that most chunks '
  'have.';
