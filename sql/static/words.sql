-- The words of a text, as static embedders count them.

-- A word is a run of letters, marks and numbers. In scripts without spaces every letter begins one.
-- The case is folded first where the model knows one case only.
create or replace function ragdb_internal.spaced_words(text text, folding text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_signs constant text := E'\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\f\r\x0e\x0f'
    '\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f'
    '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~\x7f';
  v_words text := translate(ragdb_internal.plain(text), v_signs, repeat(' ', length(v_signs)));
begin
  if octet_length(v_words) = length(v_words) then
    return case folding when 'none' then v_words else lower(v_words collate "C") end;
  end if;
  if v_words ~ ('[' || ragdb_internal.spaceless_letters() || ']') then
    v_words := regexp_replace(
      v_words, '([' || ragdb_internal.spaceless_letters() || '])', ' \1', 'g');
  end if;
  if folding <> 'none' then
    v_words := ragdb_internal.fold(v_words);
  end if;
  if folding = 'accents' then
    v_words := normalize(
      regexp_replace(normalize(v_words, nfd), '[\u0300-\u036F]+', '', 'g'), nfc);
  end if;
  return v_words;
end $$;
comment on function ragdb_internal.spaced_words(text, text) is
  'Returns the words of a text with spaces between them, folded by none, case or accents.';

create type ragdb_internal.counted_word as (n integer, word text, eighths integer);
comment on type ragdb_internal.counted_word is
  'A word of the n-th of some texts, and its weight there in eighths.';

-- A word weighs the square root of how often it stands in a text, rounded to an eighth: sums of
-- whole numbers of eighths are exact in whatever order they are made.
create or replace function ragdb_internal.counted_words(texts text[], folding text)
returns setof ragdb_internal.counted_word
language sql immutable parallel safe
set jit = off
begin atomic
  select t.n::integer, w.word, pg_catalog.round(8 * pg_catalog.sqrt(count(*)::float8))::integer
  from pg_catalog.unnest(counted_words.texts) with ordinality t (text, n)
    cross join lateral (
      select pg_catalog.left(s.word, 64) collate "C" as word
      from pg_catalog.string_to_table(
        ragdb_internal.spaced_words(t.text, counted_words.folding), ' ') s (word)) w
  where w.word <> ''
  group by t.n, w.word;
end;
comment on function ragdb_internal.counted_words(text[], text) is
  'Returns the different words of each of some texts, cut to 64 characters, with their weights.';
