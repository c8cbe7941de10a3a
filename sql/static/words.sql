-- The words of a text, as static embedders count them.

-- Returns a text with a space for each ASCII character that is neither a letter nor a digit. A pass
-- for each sign costs a fifth of what translate() or a regular expression do.
create or replace function ragdb_internal.without_signs(text text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words text := replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
    replace(replace(text, E'\n', ' '), '.', ' '), ',', ' '), '-', ' '), '(', ' '), ')', ' '),
    '/', ' '), ':', ' '), '''', ' '), '"', ' '), '_', ' '), '`', ' ');
begin
  if v_words !~ E'[\\x01-\\x1f!#-&*+;-@[-^{-\\x7f]' then
    return v_words;
  end if;
  v_words := replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
    replace(replace(v_words, ';', ' '), '=', ' '), '%', ' '), '[', ' '), ']', ' '), '?', ' '),
    '*', ' '), '<', ' '), '>', ' '), '#', ' '), '{', ' '), '}', ' ');
  return regexp_replace(v_words, E'[\\x01-\\x1f!#-&*+;-@[-^{-\\x7f]+', ' ', 'g');
end $$;

-- Returns the words of a text with spaces between them, folded by none, case or accents. A word is
-- a run of letters, marks and numbers. In scripts without spaces every letter begins one. The case
-- is folded first where the model knows one case only.
create or replace function ragdb_internal.spaced_words(text text, folding text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words text := ragdb_internal.without_signs(ragdb_internal.plain(text));
begin
  if octet_length(v_words) = length(v_words) then
    return case folding when 'none' then v_words else lower(v_words collate "C") end;
  end if;
  if v_words ~ ('[' || ragdb_internal.spaceless_letters() || ']') then
    v_words := regexp_replace(
      v_words, '([' || ragdb_internal.spaceless_letters() || '])', E' \\1', 'g');
  end if;
  if folding <> 'none' then
    v_words := ragdb_internal.fold(v_words);
  end if;
  if folding = 'accents' then
    v_words := normalize(
      regexp_replace(normalize(v_words, nfd), E'[\\u0300-\\u036F]+', '', 'g'), nfc);
  end if;
  return v_words;
end $$;

-- A word of the n-th of some texts, and its weight there in eighths.
create type ragdb_internal.counted_word as (n integer, word text, eighths integer);

-- Returns the different words of each of some texts, cut to 64 characters, with their weights. A
-- word weighs the square root of how often it stands in a text, rounded to an eighth: sums of whole
-- numbers of eighths are exact in whatever order they are made.
create or replace function ragdb_internal.counted_words(texts text[], folding text)
returns setof ragdb_internal.counted_word
language sql immutable parallel safe
begin atomic
  select t.n::integer, w.word, pg_catalog.round(8 * pg_catalog.sqrt(w.times::float8))::integer
  from pg_catalog.unnest(counted_words.texts) with ordinality t (text, n)
    cross join lateral (
      select case when pg_catalog.octet_length(u.word) > 64 then pg_catalog.left(u.word, 64)
          else u.word end collate "C" as word, count(*) as times
      from (
        select pg_catalog.unnest(pg_catalog.string_to_array(replace(replace(replace(
          ragdb_internal.spaced_words(t.text, counted_words.folding),
          '    ', ' '), '  ', ' '), '  ', ' '), ' ')) as word) u
      where u.word <> ''
      group by 1) w;
end;
