-- What a chunk is searched by. Behind the words of a text come the names in it: user_id, userId and
-- e-mail are found as userid and email too, GPUs as gpu, and 2.0.1, C++ and .net as they are. Most
-- texts of a manual have some: one pass finds them, all else looks at them alone.

-- Returns the pattern of a name, such as userId or user_id; letters are those past ASCII that count
-- as letters.
create or replace function ragdb_internal.name_pattern(letters text) returns text
language sql immutable parallel safe
return pg_catalog.replace(
  '[A-Za-z0-9&]*(?:[a-z][A-Z]|[A-Z][A-Z][a-z][a-z]|[A-Za-z0-9&][-_./:@\\]+[A-Za-z0-9&])'
  '(?:[-_./:@\\]*[A-Za-z0-9&])*', '&', letters);

-- Returns the names of a text that begin or end with signs, such as .net and C++, as a tsvector is
-- written; null for none.
create or replace function ragdb_internal.sign_lexemes(text text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select string_agg(
      '''' || lower(left(coalesce(m.name[1], m.name[2]),
        (ragdb_internal.limits()).lexeme_bytes) collate "C") || ''':' || m.ordinal, ' ')
    from regexp_matches(
      text, E'(?:^|[\\s"`(])(\\.[A-Za-z]+)|([A-Za-z](?:\\+\\+|#))(?![A-Za-z0-9])', 'g')
      with ordinality m (name, ordinal));
end $$;

-- Returns the versions among some names, such as 2.0.1, as a tsvector is written.
create or replace function ragdb_internal.version_lexemes(names text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select string_agg('''' || left(m.name[1], (ragdb_internal.limits()).lexeme_bytes)
      || ''':' || m.ordinal, ' ')
    from regexp_matches(names, E'[0-9]+(?:\\.[0-9]+)+', 'g') with ordinality m (name, ordinal));
end $$;

-- Returns the abbreviations that a text has in the plural, such as GPU for GPUs and mRNA for mRNAs,
-- but those whose plural the stemmer knows, as it does APIs. To most stemmers what has no vowel
-- before its end is no plural.
create or replace function ragdb_internal.abbreviations(text text, config text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select string_agg(w.word, ' ')
    from regexp_matches(
        text, '((?:[A-Za-z0-9]*[a-z])?([A-Z0-9]*[A-Z]{2}))s(?![A-Za-z0-9])', 'g') m
      -- miRNA of miRNAs, and RNA, because a capital within parts a word
      cross join lateral (select distinct lower(p collate "C") as word from unnest(m) p) w
    where ragdb_internal.ascii_vector(w.word, config)
      <> ragdb_internal.ascii_vector(w.word || 's', config));
end $$;

-- Returns the lexemes of a text, chunk or query alike: those of its words with their positions and
-- behind them those of the names in it.
create or replace function ragdb_internal.lexemes(text text, config text) returns tsvector
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text := case when octet_length(text) = length(text)
      and octet_length(text) <= (ragdb_internal.limits()).indexed_characters then text
    else ragdb_internal.plain(text) end;
  v_is_ascii constant boolean := octet_length(v_text) = length(v_text);
  v_name constant text := case when v_is_ascii then ragdb_internal.name_pattern('')
    else ragdb_internal.name_pattern(ragdb_internal.spaced()) end;
  v_names text;
  v_exact text;
  v_lexemes tsvector;
begin
  if v_text ~ E'[A-Za-z](?:\\+\\+|#)|(?:^|[\\s"`(])\\.[A-Za-z]|[A-Z]{2}s(?:[^A-Za-z0-9]|$)' then
    v_exact := ragdb_internal.sign_lexemes(v_text);
    v_text := concat_ws(' ', v_text, ragdb_internal.abbreviations(v_text, config));
  end if;
  if v_text ~ v_name then  -- questions seldom have one, and a statement takes longer than this
    v_names := array_to_string(array(select (regexp_matches(v_text, v_name, 'g'))[1]), ' ');
    if v_names ~ '[a-z][A-Z]|[A-Z][A-Z][a-z][a-z]' then
      v_text := regexp_replace(v_text, '([a-z](?=[A-Z])|[A-Z](?=[A-Z][a-z][a-z]))', E'\\1 ', 'g');
    end if;
    if v_names ~ E'[0-9]\\.[0-9]' then
      v_exact := concat(v_exact, ' ', ragdb_internal.version_lexemes(v_names));
      v_names := regexp_replace(v_names, E'(?:^| )[Vv]?[0-9]+(?:\\.[0-9]+)+(?= |$)', ' ', 'g');
    end if;
    v_text := v_text || ' ' || replace(replace(replace(replace(replace(replace(replace(v_names,
      '-', ''), '_', ''), '.', ''), '/', ''), ':', ''), '@', ''), E'\\', '');
  end if;
  v_text := lower(v_text collate "C");
  v_lexemes := case when v_is_ascii then ragdb_internal.ascii_vector(v_text, config)
    else ragdb_internal.text_vector(v_text, config) end;
  if v_exact is not null then
    v_lexemes := v_lexemes || v_exact::tsvector;
  end if;
  if length(v_lexemes) > (ragdb_internal.limits()).chunk_lexemes then  -- the first ones stay
    v_lexemes := ts_delete(v_lexemes, array(
      select u.lexeme from unnest(v_lexemes) u order by u.positions[1], u.lexeme collate "C"
      offset (ragdb_internal.limits()).chunk_lexemes));
  end if;
  return v_lexemes;
end $$;

-- Returns what a chunk is searched by: its document's title, its heading path and its text, joined
-- by newlines.
create or replace function ragdb_internal.searched_text(title text, heading text[], text text)
returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return concat_ws(E'\n', nullif(title, ''), nullif(array_to_string(heading, E'\n'), ''), text);
end $$;
