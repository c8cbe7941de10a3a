-- Which chunks may be ranked for a query: by its clauses, a filter, chunk ids or a list.

-- The chunks that may be ranked: those of a list (null: all of the corpus) that meet a restriction
-- (null: none) and demands (null: no chunk meets them). Their orders of words are like all patterns
-- (null: any), and like one of orders (null: any); of a demanded word the dictionary lists chunks
-- that blocks lack. What scores less than lowest (null: 0) need not be found.
create type ragdb_internal.scope as (
  chunk_nos integer[], restriction ragdb_internal.restriction, demands ragdb_internal.demand[],
  patterns bytea[], orders bytea[], listed integer[], lowest float8);

-- Whether every chunk that a scope lists (all where it does not list any) may be ranked.
create or replace function ragdb_internal.is_free(scope ragdb_internal.scope) returns boolean
language sql immutable parallel safe
return (is_free.scope).restriction is null
  and pg_catalog.cardinality((is_free.scope).demands) = 0;

-- Whether a scope demands a phrase, or demands that there is none.
create or replace function ragdb_internal.has_phrases(scope ragdb_internal.scope) returns boolean
language sql immutable parallel safe
return exists (
  select from pg_catalog.unnest((has_phrases.scope).demands) d where d.phrase is not null);

-- Returns those of the given chunks of a corpus that meet the filter of a restriction.
create or replace function ragdb_internal.restricted(
  corpus ragdb.corpora, restriction ragdb_internal.restriction, chunk_nos integer[])
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_met integer[];
begin
  if cardinality(restricted.chunk_nos) > ragdb_internal.patience(corpus, restriction) then
    v_met := ragdb_internal.filtered_chunks(corpus.corpus_id, restriction.filter, null);
    return array(
      select n from unnest(restricted.chunk_nos) n where n in (select unnest(v_met)));
  end if;
  return ragdb_internal.meeting_conditions(corpus.corpus_id,
    ragdb_internal.condition_array(restriction.filter), restricted.chunk_nos);
end $$;

-- Returns which chunks of a corpus may be ranked for a query, under its clauses and a restriction.
-- Raises RG400, RG410.
create or replace function ragdb_internal.scope(
  corpus ragdb.corpora, query text, among ragdb_internal.restriction)
returns ragdb_internal.scope
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_scope ragdb_internal.scope;
  v_is_complete boolean;
begin
  v_scope.demands := case when ragdb_internal.has_clauses(query)
    then ragdb_internal.demands(corpus, query) else '{}' end;
  if among is null and cardinality(v_scope.demands) = 0 then
    return v_scope;
  end if;
  -- to look at the best of a list first begins to pay at twice as many as of a filter (measured)
  if ragdb_internal.restricted_count(among) > ragdb_internal.many_chunks(corpus)
    * (case when among.filter is null then 2 else 1 end)
  then
    v_scope.restriction := among;
  else
    v_scope.chunk_nos := among.chunk_nos;
  end if;
  if cardinality(v_scope.demands) > 0 then
    v_scope.patterns := (
      select array_agg(p) from unnest(v_scope.demands) d cross join unnest(d.patterns) p
      where not d.is_not);
    v_scope.orders := (
      select d.orders from unnest(v_scope.demands) d
      where not d.is_not and d.orders is not null limit 1);
  end if;
  if v_scope.chunk_nos is null and v_scope.patterns is not null then
    select l.chunk_nos, l.is_complete into v_scope.listed, v_is_complete
      from ragdb_internal.demanded_terms(v_scope.demands) t
        cross join lateral ragdb_internal.listed_holding(corpus.corpus_id, t.term_ids, t.places) l;
    if v_is_complete then
      v_scope.chunk_nos := v_scope.listed;
    end if;
  end if;
  return v_scope;
end $$;

-- Returns those of some candidates, best first, that are in a scope; once k of them are, those that
-- rank below are left out. To look for a phrase in a text takes longer than all else, and to ask
-- whether a chunk meets a filter longer than to score it. So the best come first, and the others
-- only until k have passed.
create or replace function ragdb_internal.passing(
  corpus ragdb.corpora, scope ragdb_internal.scope, ranked ragdb_internal.candidate[],
  k integer)
returns ragdb_internal.candidate[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_restriction constant ragdb_internal.restriction := scope.restriction;
  v_each integer;
  v_left ragdb_internal.candidate[] := ranked;
  v_passing ragdb_internal.candidate[] := '{}';
  v_chunk_nos integer[];
  v_at integer := 0;
  v_until integer;
begin
  if cardinality(ranked) = 0 then
    return ranked;
  elsif v_restriction.chunk_nos is not null then
    v_left := array(
      select f from unnest(ranked) f where f.chunk_no in (select unnest(v_restriction.chunk_nos))
      order by f.score desc);
  end if;
  v_each := coalesce(corpus.chunks / v_restriction.count + 1,
    case when ragdb_internal.has_phrases(scope) then 1 end);
  while v_at < cardinality(v_left) loop
    exit when v_left[v_at + 1].score < ragdb_internal.at_least(v_passing[k].score, 2);
    v_until := least(cardinality(v_left),
      v_at + greatest(4, v_each::bigint * (k - cardinality(v_passing)), v_at));
    v_chunk_nos := array(select f.chunk_no from unnest(v_left[v_at + 1 : v_until]) f);
    if v_restriction.filter is not null then
      v_chunk_nos := ragdb_internal.restricted(corpus, v_restriction, v_chunk_nos);
    end if;
    v_chunk_nos := ragdb_internal.meeting(corpus, scope.demands, v_chunk_nos);
    v_passing := v_passing || array(select f from unnest(v_left[v_at + 1 : v_until]) f
      where f.chunk_no in (select unnest(v_chunk_nos)) order by f.score desc);
    v_at := v_until;
  end loop;
  return v_passing;
end $$;
