-- What one edit makes of a word, and of which lexemes.
--
-- Whole words are edited, not lexemes: two letters swapped in an ending change what the stemmer
-- makes of it, and without a letter that is missing it may not see an ending at all.

-- Returns the letters of ASCII, with spaces between.
create or replace function ragdb_internal.latin() returns text
language sql immutable parallel safe
return 'a b c d e f g h i j k l m n o p q r s t u v w x y z';

-- Returns the letters that words like a word are written in, with spaces between. Of a script other
-- than Latin it is the letters that stand near those of the word in Unicode.
create or replace function ragdb_internal.alphabet(word text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return concat_ws(' ',
    case when word ~ '[a-z]' then ragdb_internal.latin() end,
    case when octet_length(word) > length(word) then (
      select string_agg(chr(b.base + o.n), ' ')
      from (select distinct ascii(l.letter) / 64 * 64 as base
          from regexp_split_to_table(word, '') l (letter)
          where ascii(l.letter) > 127) b
        cross join generate_series(0, 63) o (n)
      where chr(b.base + o.n) ~ ('[' || ragdb_internal.wordly() || ']')
        and ragdb_internal.fold(chr(b.base + o.n)) = chr(b.base + o.n)) end);
end $$;

-- Returns what one edit makes of a word: first two letters swapped, at each place but the last, nor
-- the first of three letters, and, behind so many letters, from first to last, one dropped behind
-- its like or put in, and how many these are; then another one dropped, or one replaced. Few
-- misspelt words are wrong in their first letter (Yannakoudakis and Fawthrop, "The Rules of
-- Spelling Errors", Information Processing and Management, 1983), and a third of the right words
-- that a corpus lacks are near another one by it alone (islam, slam). So of three letters the first
-- is not swapped either (ons, nos). At each place all letters are written at once: with "t c" for
-- its spaces, the alphabet between "c" and "t" is every "c_t".
create or replace function ragdb_internal.edits(word text, first integer, last integer)
returns table (edits text[], likely integer)
language sql immutable parallel safe rows 1
begin atomic
  select m.likely || m.others, pg_catalog.cardinality(m.likely)
  from (
    select coalesce(pg_catalog.array_agg(p.before || pg_catalog.left(p.behind, 1) || p.letter
          || pg_catalog.substr(p.behind, 2))
        filter (where p.behind <> '' and (p.before <> '' or pg_catalog.length(edits.word) > 3)),
        '{}')
      || pg_catalog.array_agg(p.before || p.behind) filter (where
        p.is_edited and p.letter = pg_catalog.right(p.before, 1) and p.letter <> '')
      || coalesce(pg_catalog.string_to_array(pg_catalog.string_agg(
        p.before || pg_catalog.replace(a.alphabet, ' ', p.letter || p.behind || ' ' || p.before)
          || p.letter || p.behind, ' ') filter (where p.is_edited), ' '), '{}') as likely,
      coalesce(pg_catalog.array_agg(p.before || p.behind)
          filter (where
            p.is_edited and p.letter <> pg_catalog.right(p.before, 1) and p.letter <> '')
        || pg_catalog.string_to_array(pg_catalog.string_agg(
          p.before || pg_catalog.replace(a.alphabet, ' ', p.behind || ' ' || p.before)
            || p.behind, ' ') filter (where p.is_edited and p.letter <> ''), ' '), '{}') as others
    from (
        select case when edits.word ~ '^[a-z]*$' then ragdb_internal.latin()
          else ragdb_internal.alphabet(edits.word) end as alphabet
        offset 0) a
      cross join (
        select pg_catalog.left(edits.word, s.n) as before,
          pg_catalog.substr(edits.word, s.n + 1, 1) as letter,
          pg_catalog.substr(edits.word, s.n + 2) as behind,
          s.n between edits.first and edits.last as is_edited
        from (select pg_catalog.generate_series(0, pg_catalog.length(edits.word)) as n) s
        offset 0) p
    offset 0) m;
end;

-- Returns the edits of a word folded, unless its letters are folded otherwise together than one by
-- one. The alphabet has no letter that a dictionary folds, so edits have only those of the word. To
-- fold takes a microsecond a letter: each of these is folded once, and not in hundreds of edits.
create or replace function ragdb_internal.folded_edits(edits text[], word text) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_letters text[];
  v_folded text[];
  v_edits text;
begin
  if word !~ ('[' || ragdb_internal.may_fold() || ']')
      or word !~ ('[' || ragdb_internal.foldable() || ']') then
    return edits;
  end if;
  v_letters := string_to_array(word, null);
  v_folded := array(select ragdb_internal.fold(l) from unnest(v_letters) l);
  if array_to_string(v_folded, '') <> ragdb_internal.fold(word) then
    return edits;
  end if;
  v_edits := array_to_string(edits, ' ');
  for v_n in 1 .. cardinality(v_letters) loop
    continue when v_folded[v_n] = v_letters[v_n];
    v_edits := replace(v_edits, v_letters[v_n], v_folded[v_n]);
  end loop;
  return string_to_array(v_edits, ' ');
end $$;

-- Returns the lexemes of what one letter dropped behind its like or put in makes of a word of a to
-- z, behind 1 to so many letters, none of them near its end, and of what another one dropped, or
-- one replaced, does. What a stemmer cuts off a word follows from its ending, and from where vowels
-- and consonants are before that, not from which they are (R1, R2 and RV of the Snowball stemmers).
-- So one vowel and one consonant show what becomes of all others. A letter inside of a longer
-- ending than six (generalizaeions) is missed.
create or replace function ragdb_internal.begun_lexemes(
  word text, dictionary regdictionary, last integer)
returns table (likely text[], others text[])
language sql immutable parallel safe rows 1
begin atomic
  select coalesce(pg_catalog.array_agg(
        (pg_catalog.ts_lexize(begun_lexemes.dictionary, n.before || n.behind))[1])
      filter (where
        l.shown = 'o' and l.keeps and n.letter = pg_catalog.right(n.before, 1))
    || pg_catalog.string_to_array(pg_catalog.string_agg(n.before
      || pg_catalog.replace(l.letters, ' ', e.ending || ' ' || n.before) || e.ending, ' ')
      filter (where l.keeps), ' '), '{}'),
    coalesce(pg_catalog.array_agg(
        (pg_catalog.ts_lexize(begun_lexemes.dictionary, n.before || n.behind))[1])
      filter (where
        l.shown = 'o' and not l.keeps and n.letter <> pg_catalog.right(n.before, 1))
    || pg_catalog.string_to_array(pg_catalog.string_agg(n.before
      || pg_catalog.replace(l.letters, ' ', e.ending || ' ' || n.before) || e.ending, ' ')
      filter (where not l.keeps), ' '), '{}')
  from (
      select pg_catalog.left(begun_lexemes.word, s.g) as before,
        pg_catalog.substr(begun_lexemes.word, s.g + 1, 1) as letter,
        pg_catalog.substr(begun_lexemes.word, s.g + 2) as behind
      from (select pg_catalog.generate_series(1, begun_lexemes.last) as g) s
      offset 0) n
    cross join (values
      ('o', 'a e i o u y', true), ('k', 'b c d f g h j k l m n p q r s t v w x z', true),
      ('o', 'a e i o u y', false), ('k', 'b c d f g h j k l m n p q r s t v w x z', false))
      l (shown, letters, keeps)
    cross join lateral (
      select pg_catalog.substr((pg_catalog.ts_lexize(begun_lexemes.dictionary,
        n.before || l.shown || case when l.keeps then n.letter else '' end || n.behind))[1],
        pg_catalog.length(n.before) + 2) as ending
      offset 0) e;
end;

-- Returns the lexemes of what one edit makes of a word, the likely ones first, and how many these
-- are, as edits() does behind 1 to so many letters; of a word of three letters only those of two
-- letters swapped. Null stands for one that does not count.
create or replace function ragdb_internal.near_lexemes(
  word text, asciis regdictionary, config text, last integer)
returns table (near text[], likely integer)
language sql stable parallel safe rows 1
begin atomic
  select b.likely || l.lexemes || b.others, pg_catalog.cardinality(b.likely) + e.likely
  from (
      select case when pg_catalog.length(near_lexemes.word) > 3 then near_lexemes.last else 0 end
          as last,
        case when near_lexemes.word ~ '^[a-z]*$'
          then greatest(0, least(pg_catalog.length(near_lexemes.word) - 7, near_lexemes.last))
          else 0 end as begun,
        pg_catalog.octet_length(near_lexemes.word) = pg_catalog.length(near_lexemes.word)
          as is_ascii
      offset 0) d
    cross join lateral ragdb_internal.edits(near_lexemes.word, d.begun + 1, d.last) e
    cross join lateral ragdb_internal.letter_lexemes(
      case when d.is_ascii then e.edits
        else ragdb_internal.folded_edits(e.edits, near_lexemes.word) end,
      d.is_ascii, near_lexemes.asciis, near_lexemes.config) l
    cross join lateral ragdb_internal.begun_lexemes(
      near_lexemes.word, near_lexemes.asciis, d.begun) b
  offset 0;
end;
