-- What a filter and a list of ids demand of a search: to be in the list of what they leave, or,
-- where that is long, to meet the filter.

-- Returns how many chunks of a corpus meet conditions of a filter, about: a look at some points of
-- it tells. Multiples of the golden section fall into no step with a period of the metadata.
create or replace function ragdb_internal.sampled_count(
  corpus ragdb.corpora, conditions jsonb[], points integer)
returns integer
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count integer;
begin
  execute 'select count(*) * $3 / $4 from ('
    '  select $2 as corpus_id, (i::bigint * 618033989 % 1000000000 * $3 / 1000000000)::integer'
    '    as chunk_no from generate_series(1, $4) i) x' || ragdb_internal.filter_joins(conditions)
    into v_count using conditions, corpus.corpus_id, corpus.next_chunk_no, points;
  return v_count;
end $$;

-- What chunks must meet besides words: a list that they are in, or a filter, which about so many
-- meet; all null for nothing.
create type ragdb_internal.restriction as (filter jsonb, chunk_nos integer[], count integer);

-- Returns how many chunks meet a restriction, of a filter about how many; null where all do.
create or replace function ragdb_internal.restricted_count(restriction ragdb_internal.restriction)
returns integer
language sql immutable parallel safe
return coalesce((restricted_count.restriction).count,
  pg_catalog.cardinality((restricted_count.restriction).chunk_nos));

-- Returns how many chunks may be left of a corpus before its best are looked at first, and only
-- then whether these are among them.
create or replace function ragdb_internal.many_chunks(corpus ragdb.corpora) returns integer
language sql immutable parallel safe
return greatest(5000, 20 * pg_catalog.sqrt((many_chunks.corpus).chunks))::integer;

-- Returns how many chunks a search looks at for the best that meet a filter before it lists all
-- that do; null where a restriction is not a filter. To list what a filter leaves takes as long as
-- to look at a sixth as many chunks; where no index has what it asks, at a twentieth as many as
-- there are documents (measured).
create or replace function ragdb_internal.patience(
  corpus ragdb.corpora, restriction ragdb_internal.restriction)
returns integer
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when restriction.filter is not null then 1000 + case
    when ragdb_internal.is_found_by_index(ragdb_internal.condition_array(restriction.filter))
      then restriction.count / 6 else corpus.documents / 20 end end;
end $$;

-- Returns what a filter and a list of chunk ids demand of so many chunks that are wanted of a
-- corpus: to be in the list of those that they leave, or to meet the filter where it leaves many.
-- To list what a filter leaves takes the longer the more that is, and to hold the best to it the
-- longer the less it is, and the more are wanted. Both take as long at three times the root of how
-- many are wanted times how many there are (bench/results.md). Raises RG410.
create or replace function ragdb_internal.restriction(
  corpus ragdb.corpora, filter jsonb, chunk_ids text[], wanted integer)
returns ragdb_internal.restriction
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_many constant float8 := greatest(
    ragdb_internal.many_chunks(corpus), 3 * sqrt(corpus.chunks::float8 * wanted));
  v_conditions jsonb[];
  v_count integer;
  v_restriction ragdb_internal.restriction;
begin
  if filter <> '{}' and chunk_ids is null and corpus.chunks > v_many then
    v_conditions := ragdb_internal.condition_array(restriction.filter);
    v_count := ragdb_internal.sampled_count(corpus, v_conditions, 32);
    if v_count > 0 then
      v_count := ragdb_internal.sampled_count(corpus, v_conditions, 128);
    end if;
  end if;
  if v_count > v_many then
    v_restriction.filter := restriction.filter;
    v_restriction.count := v_count;
  else
    v_restriction.chunk_nos := ragdb_internal.filtered_chunks(
      corpus.corpus_id, restriction.filter, restriction.chunk_ids);
  end if;
  return v_restriction;
end $$;
