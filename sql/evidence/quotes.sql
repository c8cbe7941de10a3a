-- The letters that quotes and texts are compared by, and which words may be misread ones. Places
-- are kept beside the letters, because an answer is told where in the chunk its quote stands.

-- Returns what a class of characters in a regular expression lists for raised and lowered digits.
create or replace function ragdb_internal.exponents() returns text
language sql immutable parallel safe
return '\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u2080-\u2089';

-- Returns the letters of a text as quotes are compared, and for each its place in the text, from 1.
-- Letters as a reader compares them, each with the place it came from: decomposed, without case,
-- white space as one space, quotation marks and dashes as ASCII, soft hyphens, what cannot be seen
-- and the vowel marks of Arabic gone.
create or replace function ragdb_internal.quotable(
  text text, out letters text, out places integer[])
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  with letter as materialized (
    select c.letter, c.n from string_to_table(text, null) with ordinality c (letter, n)
  ), form as materialized (
    select d.letter, d.letter ~ ('[' || ragdb_internal.exponents() || ']') as is_exponent, case
      when d.letter ~ E'[\\u0001-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029'
        '\\u202f\\u205f\\u3000]' then ' '
      when d.letter ~ E'[\\u00ad\\u061c\\u0640\\u064b-\\u0652\\u0670\\u180e\\u200b-\\u200f'
        '\\u202a-\\u202e\\u2060-\\u206f\\ufe00-\\ufe0f\\ufeff]' then ''
      when d.letter ~ E'[\\u2018-\\u201b\\u2032\\u02bc\\u0060\\u00b4\\u2039\\u203a]' then ''''
      when d.letter ~ E'[\\u201c-\\u201f\\u2033\\u00ab\\u00bb]' then '"'
      when d.letter ~ E'[\\u2010-\\u2015\\u2212\\ufe58\\ufe63\\uff0d]' then '-'
      when octet_length(d.letter) = 1 then lower(d.letter collate "C")
      when d.letter in ('œ', 'Œ') then 'oe'
      when d.letter ~ ('[^' || ragdb_internal.surely_assigned() || ']')
        and d.letter ~ ('[' || ragdb_internal.unassigned() || ']') then d.letter
      -- a letter such as ´ is a space and a mark when decomposed
      else normalize(ragdb_internal.fold(normalize(d.letter, nfkc)), nfkd) end as form
    from (select distinct l.letter from letter l) d
  ), spread as (
    select l.n, case
        -- 10² is not 102
        when f.is_exponent
          and lag(l.letter) over (order by l.n) ~ ('[0-9' || ragdb_internal.exponents() || ']')
          then l.letter
        else f.form end as form,
      lag(f.form) over (order by l.n) as before
    from letter l join form f using (letter) where f.form <> ''
  ), kept as (
    select s.n, s.form from spread s where not (s.form = ' ' and coalesce(s.before, ' ') = ' ')
  )
  select coalesce(string_agg(k.form, '' order by k.n), ''),
    coalesce(array_agg(k.n::integer order by k.n), '{}')
  into letters, places
  from (
    select k.n, u.form
    from kept k, string_to_table(k.form, null) with ordinality u (form, m)) k;
end $$;

-- Returns how many letters a quote has, white space left out. A Chinese one, which is a word or
-- half of one, counts as two. ASCII is its own letters.
create or replace function ragdb_internal.quoted_letters(quote text) returns integer
language sql immutable parallel safe
return case
  when pg_catalog.octet_length(quoted_letters.quote) = pg_catalog.length(quoted_letters.quote)
    then pg_catalog.length(pg_catalog.regexp_replace(
      quoted_letters.quote, '[\u0001-\u0020]+', '', 'g'))
  else (
    select pg_catalog.length(q.letters) + pg_catalog.length(pg_catalog.regexp_replace(
        q.letters, '[^\u3400-\u9fff]+', '', 'g'))
    from (select pg_catalog.replace(
      (ragdb_internal.quotable(quoted_letters.quote)).letters, ' ', '') as letters offset 0) q)
end;

-- Returns what a class of characters in a regular expression lists for the space and the
-- punctuation of ASCII, without |, which scanners read for l.
create or replace function ragdb_internal.punctuation() returns text
language sql immutable parallel safe
return '\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e';

-- Returns letters without white space and ASCII punctuation, those that scanners confuse (0 o, 1 i
-- l |, rn m, vv w, cl d) made one. What scanners take for each other is made the same; white space
-- and punctuation go. Not for digits: they must be read right, so they are compared apart.
create or replace function ragdb_internal.skeleton(letters text) returns text
language sql immutable parallel safe
return pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.translate(
  pg_catalog.regexp_replace(skeleton.letters,
    '[' || ragdb_internal.punctuation() || ']+', '', 'g'),
  '01|i', 'olll'), 'rn', 'm'), 'vv', 'w'), 'cl', 'd');

-- Tells whether a character is a letter, a mark or a digit of a script with spaces between words.
create or replace function ragdb_internal.is_in_word(letter text) returns boolean
language sql immutable parallel safe
return letter ~ '[0-9A-Za-z]' or pg_catalog.octet_length(letter) > 1
  and letter ~ ('[' || ragdb_internal.spaced() || ']')
  and letter !~ ('[' || ragdb_internal.exponents() || ']');

-- Tells whether a part of a text begins and ends between words and numbers; before and after are
-- the two characters on its sides. "void" is not said by "voidable", nor "5" by "1.5".
create or replace function ragdb_internal.stands_apart(before text, part text, after text)
returns boolean
language sql immutable parallel safe
return not (
  ragdb_internal.is_in_word(pg_catalog.right(before, 1))
    and ragdb_internal.is_in_word(pg_catalog.left(part, 1))
  or ragdb_internal.is_in_word(pg_catalog.right(part, 1))
    and ragdb_internal.is_in_word(pg_catalog.left(after, 1))
  or part ~ '^[0-9]' and before ~ '([0-9][.,:]|(^|[^0-9A-Za-z])-)$'
  or part ~ '[0-9]$' and after ~ ('^([.,:][0-9]|[' || ragdb_internal.exponents() || '])'));

-- Returns the first place (from 1) where a part of a text begins and ends between words; 0 for
-- none. In one pass, however often the part stands there.
create or replace function ragdb_internal.apart_at(text text, part text) returns integer
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_between text[];
  v_last integer;
  v_at integer := 1;
begin
  if coalesce(strpos(text, part), 0) = 0 or part = '' then
    return 0;
  end if;
  v_between := string_to_array(text, part);
  v_last := cardinality(v_between);
  for i in 1 .. v_last - 1 loop
    v_at := v_at + length(v_between[i]);
    if ragdb_internal.stands_apart(
      right(case when i > 1 then part else '' end || v_between[i], 2), part,
      left(v_between[i + 1] || case when i + 1 < v_last then part else '' end, 2))
    then
      return v_at;
    end if;
    v_at := v_at + length(part);
  end loop;
  return 0;
end $$;

-- Returns a pattern of a letter that makes a number beside it a part of a word. Letters are those
-- of our own classes, not of the locale of the database. In scripts without spaces a number stands
-- between letters, as in 30天.
create or replace function ragdb_internal.letter_of_word(letters text) returns text
language sql immutable parallel safe
return case when pg_catalog.octet_length(letters) = pg_catalog.length(letters) then '[A-Za-z]'
  -- Latin, Greek and Cyrillic: a pattern of all letters takes a millisecond to make ready
  when letters !~ '[^\u0001-\u04ff\u2000-\u20ff]' then '[A-Za-zªµºÀ-ÖØ-öø-ʯ\u0300-\u0373Ά-ӿ]'
  else '(?:[A-Za-z]|(?![' || ragdb_internal.exponents() || '])['
    || ragdb_internal.spaced() || '])' end;

-- Returns the numbers of a text in their order, thousands without the signs between them: 1,234.56
-- and 1.234,56. Digits inside a word are not a number.
create or replace function ragdb_internal.numerals(letters text) returns text[]
language sql immutable parallel safe
return array(
  select case
    when m.numeral[1] ~ '^-?[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+$'
      then pg_catalog.replace(m.numeral[1], '.', '')
    else pg_catalog.regexp_replace(m.numeral[1], '([0-9]),(?=[0-9]{3}(?![0-9]))', '\1', 'g') end
  from (select ragdb_internal.letter_of_word(numerals.letters) as letter offset 0) l
    cross join pg_catalog.regexp_matches(
      pg_catalog.translate(numerals.letters, '٬٫', ',.'), pg_catalog.replace(
        '(?<!L)((?:(?<![0-9]|L)-)?[0-9]+(?:[.,:][0-9]+)*)(?!L)', 'L', l.letter), 'g')
      with ordinality m (numeral, n) order by m.n);

-- Whether one word may be a scanner's reading of another: alike after ragdb_internal.skeleton, or
-- of 5 letters or more, the first the same, with one edit. Words may differ as scanners differ: the
-- first letter right, one letter in five wrong, and no digit.
create or replace function ragdb_internal.is_misread(a text, b text) returns boolean
language sql immutable parallel safe
return a = b or ragdb_internal.skeleton(a) = ragdb_internal.skeleton(b)
  or (a !~ '[0-9]' and b !~ '[0-9]' and pg_catalog.left(a, 1) = pg_catalog.left(b, 1)
    and pg_catalog.length(a) between 5 and 100 and pg_catalog.length(b) between 5 and 100
    and pg_catalog.abs(pg_catalog.length(a) - pg_catalog.length(b)) <= 1
    and ragdb_internal.edit_distance(a, b) <= 1);
