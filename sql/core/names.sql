-- The nearest of some names, for hints about a name that is not known.

-- Returns the Levenshtein distance of two words, ignoring case. Levenshtein over lower case; only
-- for short words.
create or replace function ragdb_internal.edit_distance(a text, b text) returns integer
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_row integer[] := array(select generate_series(0, length(b)));
  v_diagonal integer;
  v_above integer;
begin
  for i in 1 .. length(a) loop
    v_diagonal := v_row[1];
    v_row[1] := i;
    for j in 1 .. length(b) loop
      v_above := v_row[j + 1];
      v_row[j + 1] := least(v_above + 1, v_row[j] + 1,
        v_diagonal + (lower(substr(a, i, 1)) <> lower(substr(b, j, 1)))::integer);
      v_diagonal := v_above;
    end loop;
  end loop;
  return v_row[length(b) + 1];
end $$;

-- Returns the name nearest to a word; null when there is none, or no word.
create or replace function ragdb_internal.nearest_name(word text, names text[]) returns text
language sql immutable parallel safe
return (
  select pg_catalog.left(n.name, 64) from pg_catalog.unnest(nearest_name.names) n (name)
  where n.name is not null and nearest_name.word is not null
  order by
    ragdb_internal.edit_distance(
      pg_catalog.left(nearest_name.word, 40), pg_catalog.left(n.name, 64)),
    n.name collate "C"
  limit 1);
