-- Behind the words come the names: user_id, userId and e-mail are found as userid and email too,
-- and 2.0.1, C++ and .net as they are. Most texts of a manual have some: one pass finds them, all
-- else looks at them alone.
create or replace function ragdb_internal.lexemes(text text, config text) returns tsvector
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text := case when octet_length(text) = length(text) and octet_length(text) <= 65536
    then text
    else ragdb_internal.plain(text) end;
  v_is_ascii boolean := octet_length(v_text) = length(v_text);
  v_names text;
  v_exact text;
  v_lexemes tsvector;
begin
  if v_is_ascii then
    v_names := array_to_string(array(select (regexp_matches(v_text,
      '[A-Za-z0-9]*(?:[a-z][A-Z]|[A-Z][A-Z][a-z][a-z]|[A-Za-z0-9][-_./:@\\]+[A-Za-z0-9])'
      '(?:[-_./:@\\]*[A-Za-z0-9])*',
      'g'))[1]), ' ');
  else
    v_names := array_to_string(array(select (regexp_matches(v_text, replace(
      '[A-Za-z0-9&]*(?:[a-z][A-Z]|[A-Z][A-Z][a-z][a-z]|[A-Za-z0-9&][-_./:@\\]+[A-Za-z0-9&])'
      '(?:[-_./:@\\]*[A-Za-z0-9&])*',
      '&', ragdb_internal.spaced()), 'g'))[1]), ' ');
  end if;
  if v_text ~ '[A-Za-z](?:\+\+|#)|(?:^|[\s"`(])\.[A-Za-z]' then
    select string_agg('''' || lower(left(coalesce(m.name[1], m.name[2]), 2040) collate "C") || ''':'
      || m.ordinal, ' ')
    into v_exact
    from regexp_matches(v_text, '(?:^|[\s"`(])(\.[A-Za-z]+)|([A-Za-z](?:\+\+|#))(?![A-Za-z0-9])',
      'g')
      with ordinality m (name, ordinal);
  end if;
  if v_names <> '' then
    if v_names ~ '[a-z][A-Z]|[A-Z][A-Z][a-z][a-z]' then
      v_text := regexp_replace(v_text, '([a-z](?=[A-Z])|[A-Z](?=[A-Z][a-z][a-z]))', '\1 ', 'g');
    end if;
    if v_names ~ '[0-9]\.[0-9]' then
      select concat(v_exact, ' ',
        string_agg('''' || left(m.name[1], 2040) || ''':' || m.ordinal, ' ')) into v_exact
      from regexp_matches(v_names, '[0-9]+(?:\.[0-9]+)+', 'g') with ordinality m (name, ordinal);
      v_names := regexp_replace(v_names, '(?:^| )[Vv]?[0-9]+(?:\.[0-9]+)+(?= |$)', ' ', 'g');
    end if;
    v_text := v_text || ' ' || replace(replace(replace(replace(replace(replace(replace(v_names,
      '-', ''), '_', ''), '.', ''), '/', ''), ':', ''), '@', ''), '\', '');
  end if;
  if v_is_ascii then
    v_lexemes := ragdb_internal.ascii_vector(lower(v_text collate "C"), config);
  else
    v_lexemes := ragdb_internal.text_vector(v_text, config);
  end if;
  if v_exact is not null then
    v_lexemes := v_lexemes || v_exact::tsvector;
  end if;
  if length(v_lexemes) > 16000 then
    -- the most that a chunk may have: the first ones stay
    v_lexemes := ts_delete(v_lexemes, array(
      select u.lexeme from unnest(v_lexemes) u order by u.positions[1],
        u.lexeme collate "C" offset 16000));
  end if;
  return v_lexemes;
end $$;
comment on function ragdb_internal.lexemes(text, text) is
  'Returns the lexemes of a text, chunk or query alike: those of its words with their positions '
  'and behind them those of the names in it.';

create or replace function ragdb_internal.searched_text(title text, heading text[], text text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return concat_ws(E'\n', nullif(title, ''), nullif(array_to_string(heading, E'\n'), ''), text);
end $$;
comment on function ragdb_internal.searched_text(text, text[], text) is
  'Returns what a chunk is searched by: its document''s title, its heading path and its text, '
  'joined by newlines.';
