-- One way to write a text: Unicode's normal form, ASCII quotes and hyphens, one case for all
-- languages. Lexemes and the reference ranking both begin with it.

-- Returns the first 65,536 characters of a text in NFKC, with ASCII quotes and hyphens, all other
-- separators past ASCII as spaces, and without characters that a reader does not see. Every step
-- leaves a text as it was when done twice. Positions in a tsvector end at 16,383, hence the cut:
-- 65,536 characters are some 11,000 words of English, and no text of that length overflows a
-- tsvector.
create or replace function ragdb_internal.plain(text text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_most constant integer := (ragdb_internal.limits()).indexed_characters;
  v_text text := case when octet_length(text) > v_most then left(text, v_most) else text end;
begin
  if octet_length(v_text) = length(v_text) then
    return v_text;
  end if;
  v_text := left(replace(replace(replace(replace(replace(replace(replace(replace(replace(v_text,
    '’', ''''), '‘', ''''), 'ʼ', ''''), '“', '"'), '”', '"'), '–', '-'), '‑', '-'), '‐', '-'),
    '…', '...'), v_most);
  if octet_length(v_text) = length(v_text) then
    return v_text;
  end if;
  v_text := regexp_replace(v_text, '[' || ragdb_internal.inert() || ']+', ' ', 'g');
  if octet_length(v_text) = length(v_text) then
    return v_text;
  end if;
  -- letters of Latin, Greek, Cyrillic and Chinese that stay as they are, before a pattern of all
  -- that do: it takes milliseconds to compile, and few patterns stay compiled at once
  if v_text !~ E'[^\\u0001-\\u007fÀ-ÖØ-öø-ıŊ-žΣ-ώЀ-ҁҊ-ԯ\\u4e00-\\u9fff]'
      or v_text !~ ('[' || ragdb_internal.unstable() || ']') then
    return v_text;
  end if;
  v_text := regexp_replace(v_text, '[' || ragdb_internal.unassigned() || ']+', ' ', 'g');
  v_text := regexp_replace(v_text, '[' || ragdb_internal.invisible() || ']+', '', 'g');
  -- normalisation makes fraction slashes, stretches and an apostrophe of its own
  v_text := replace(replace(left(normalize(v_text, nfkc), v_most), 'ـ', ''), 'ʼ', '''');
  return regexp_replace(v_text, '[' || ragdb_internal.inert() || ']+', ' ', 'g');
end $$;

-- Returns a class of characters that Unicode 15.0 assigns, which most texts have no others of, as a
-- class of a pattern: a look at it first spares to compile that of all, which takes milliseconds.
create or replace function ragdb_internal.surely_assigned() returns text
language sql immutable parallel safe
return '\u0001-\u0377\u0400-\u052f\u2010-\u2027\u2030-\u205e\u2190-\u23ff\u4e00-\u9fff';

-- Returns a class of characters that has all that fold, and more. The class of these alone takes a
-- millisecond to compile, and few patterns stay compiled at once: it is for what has one of those.
create or replace function ragdb_internal.may_fold() returns text
language sql immutable parallel safe
return E'µÀ-ßĀ-\\u042f\\u0450-\\u1fff\\u2100-\\u218f\\u2c00-\\U0010ffff';

-- Folds the case of a normalised text by Unicode 15.0, in one way for all languages, and its digits
-- to ASCII. translate() compares each character of a text with all that fold, one after the other:
-- it gets those that the text has. Of most words that is the first.
create or replace function ragdb_internal.fold(text text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_foldable constant text := '[' || ragdb_internal.foldable() || ']';
  v_text constant text := replace(replace(replace(replace(
    lower(text collate "C"), 'ß', 'ss'), 'ẞ', 'ss'), 'և', 'եւ'), E'i\u0307', 'i');
  v_letters text := left(v_text, 1);
begin
  if octet_length(v_text) = length(v_text) then
    return v_text;
  elsif substr(v_text, 2) ~ ('[' || ragdb_internal.may_fold() || ']')
      and substr(v_text, 2) ~ v_foldable then
    v_letters := array_to_string(array(
      select distinct (regexp_matches(v_text, v_foldable, 'g'))[1]), '');
  end if;
  return normalize(translate(v_text, v_letters, case
    when v_letters ~ E'[\\u0530-\\U0010FFFF]'
      then translate(v_letters, ragdb_internal.folded(), ragdb_internal.folds())
    else translate(v_letters, ragdb_internal.folded_near(), ragdb_internal.folds_near()) end),
    nfkc);
end $$;

-- Writes the two letters in lower case whose lower case depends on their place or is two
-- characters. lower() of one context and one expansion: a sigma that ends a word is final, and a
-- dotted capital I keeps its dot.
create or replace function ragdb_internal.reference_lower(text text) returns text
language sql immutable parallel safe
return pg_catalog.replace(
  case when pg_catalog.strpos(text, 'Σ') = 0 then text
    else pg_catalog.regexp_replace(
      text,
      '([' || ragdb_internal.cased() || '][' || ragdb_internal.case_ignorable() || ']*)Σ'
        || '(?![' || ragdb_internal.case_ignorable() || ']*[' || ragdb_internal.cased() || '])',
      '\1ς', 'g') end,
  'İ', U&'i\0307');
