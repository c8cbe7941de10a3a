-- Which characters of an answer count, where they stand, and how two texts are compared.

-- Returns a regular expression for a run of white space. White space as JavaScript has it, which is
-- more than that of ASCII.
create or replace function ragdb_internal.white_space() returns text
language sql immutable parallel safe
return U&'[\0009-\000D\0020\00A0\1680\2000-\200A\2028\2029\202F\205F\3000\FEFF]+';

-- Returns a text without its white space, that of Unicode included.
create or replace function ragdb_internal.without_space(text text) returns text
language sql immutable parallel safe
return pg_catalog.regexp_replace(without_space.text,
  ragdb_internal.white_space() collate "C", '', 'g');

-- Returns a text as lexical support compares it: in NFKC, in one case, with one space for each run
-- of punctuation and white space.
create or replace function ragdb_internal.support_form(text text) returns text
language sql immutable parallel safe
return pg_catalog.btrim(pg_catalog.regexp_replace(
  pg_catalog.regexp_replace(
    ragdb_internal.fold(normalize(pg_catalog.replace(support_form.text, U&'\00AD', ''), nfkc)),
    '[.,;:!?]+', ' ', 'g'),
  ragdb_internal.white_space() collate "C", ' ', 'g'));

-- Returns the number of code points before each offset of a text, from offset 0, in the unit utf16
-- or byte; null for an offset inside a character. Offsets arrive in the unit of their maker; we
-- count in code points.
create or replace function ragdb_internal.code_point_offsets(text text, unit text) returns integer[]
language sql immutable parallel safe
return array(
  select case w.i when 1 then c.n - 1 end
  from pg_catalog.string_to_table(code_point_offsets.text, null) with ordinality c (c, n)
    cross join lateral pg_catalog.generate_series(1,
      case unit when 'utf16' then case pg_catalog.octet_length(c.c) when 4 then 2 else 1 end
        else pg_catalog.octet_length(c.c) end) w (i)
  order by c.n, w.i) || pg_catalog.length(code_point_offsets.text);

-- Returns how many characters of an answer, other than white space, stand in some spans.
create or replace function ragdb_internal.covered_characters(answer text, spans int4multirange)
  returns bigint
language sql immutable parallel safe
return (
  select coalesce(pg_catalog.sum(pg_catalog.length(ragdb_internal.without_space(pg_catalog.substr(
    answer, pg_catalog.lower(r) + 1, pg_catalog.upper(r) - pg_catalog.lower(r))))), 0)
  from pg_catalog.unnest(spans) r);

-- Returns the numbers of a text, each as it is written. A decimal point or comma that no digit
-- follows ends a sentence, and not a number.
create or replace function ragdb_internal.numbers_in(text text) returns setof text
language sql immutable parallel safe
begin atomic
  select m.number[1]
  from pg_catalog.regexp_matches(numbers_in.text, '[0-9]+(?:[.,][0-9]+)*', 'g') m (number);
end;

-- Whether each number of what is said stands in one of some texts.
create or replace function ragdb_internal.has_numbers(said text, texts text[]) returns boolean
language sql immutable parallel safe
return not exists (
  select ragdb_internal.numbers_in(said)
  except
  select n.number from pg_catalog.unnest(texts) t (text)
    cross join lateral ragdb_internal.numbers_in(t.text) n (number));
