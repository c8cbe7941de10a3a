-- A tsquery that every chunk meets whose upper bounds reach `need`: exact down to `depth` terms,
-- below that "one of those without which the rest cannot". GIN evaluates the tree at every posting
-- it cannot skip, so a small tree that lets some more chunks through beats the exact one (measured:
-- three levels). '' is always true, null never.
create or replace function ragdb_internal.bound_condition(
  tokens text[], bounds float8[], rests float8[], place integer, need float8, depth integer)
returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last integer := cardinality(tokens);
  v_without text;
  v_with text;
begin
  if need <= 0 then
    return '';
  elsif rests[place] < need then
    return null;
  elsif depth = 0 or place = v_last then
    while rests[v_last] < need loop
      v_last := v_last - 1;
    end loop;
    return '(' || array_to_string(tokens[place:v_last], '|') || ')';
  end if;
  v_without := ragdb_internal.bound_condition(tokens, bounds, rests, place + 1, need, depth - 1);
  v_with := ragdb_internal.bound_condition(tokens, bounds, rests, place + 1, need - bounds[place],
    depth - 1);
  if v_with = '' then
    v_with := tokens[place];
  elsif v_with = v_without then
    return v_with;
  else
    v_with := '(' || tokens[place] || '&' || v_with || ')';
  end if;
  return case when v_without is null then v_with when v_with is null then v_without
    else '(' || v_with || '|' || v_without || ')' end;
end $$;
comment on function ragdb_internal.bound_condition(text[], float8[], float8[], integer, float8, integer) is
  'Returns a tsquery, as text, that is true of every chunk whose terms, by their bounds from place '
  'on, can reach need; rests[i] is the sum of bounds from i on.';
