create or replace function ragdb_internal.candidates(condition tsquery, weights sparsevec, k integer)
returns table (chunk_no integer, score float8)
language sql stable parallel safe
begin atomic
  select x.chunk_no, ragdb_internal.inner_product(x.impacts, candidates.weights)
  from ragdb.chunk_lexemes x
  where x.lexemes @@ candidates.condition
  order by 2 desc
  limit candidates.k;
end;
comment on function ragdb_internal.candidates(tsquery, sparsevec, integer) is
  'Returns the k best chunks under a condition by their scores in float4, which only pre-rank.';

create or replace function ragdb_internal.chunks_meeting(condition tsquery, most integer) returns integer[]
language sql stable parallel safe
return array(select x.chunk_no from ragdb.chunk_lexemes x
  where x.lexemes @@ chunks_meeting.condition limit chunks_meeting.most);
comment on function ragdb_internal.chunks_meeting(tsquery, integer) is
  'Returns the chunks under a condition, so many at most.';

-- The other way round: its cost follows the number of chunks given. A list of keys in one scan
-- costs half of a scan for each.
create or replace function ragdb_internal.candidates_among(
  corpus_id integer, chunk_nos integer[], condition tsquery, weights sparsevec, k integer)
returns table (chunk_no integer, score float8)
language sql stable parallel safe
begin atomic
  select c.chunk_no, c.score
  from (
    select x.chunk_no, ragdb_internal.inner_product(x.impacts, candidates_among.weights) as score
    from ragdb.chunk_lexemes x
    where x.corpus_id = candidates_among.corpus_id
      and x.chunk_no = any (candidates_among.chunk_nos)
      and (candidates_among.condition is null or x.lexemes @@ candidates_among.condition)
    offset 0) c
  where c.score > 0
  order by c.score desc
  limit candidates_among.k;
end;
comment on function ragdb_internal.candidates_among(integer, integer[], tsquery, sparsevec, integer) is
  'Returns the k best of the given chunks that have a term and meet a condition (null: none) by '
  'their scores in float4.';

-- The same of groups of four chunks.
create or replace function ragdb_internal.candidates_in_groups(corpus_id integer, group_nos integer[],
  weights sparsevec)
returns table (chunk_no integer, score float8)
language sql stable parallel safe
begin atomic
  select x.chunk_no, ragdb_internal.inner_product(x.impacts, candidates_in_groups.weights)
  from ragdb.chunk_lexemes x
  where x.corpus_id = candidates_in_groups.corpus_id
    and x.chunk_no = any (array(
      select 4 * g.group_no + i
      from pg_catalog.unnest(candidates_in_groups.group_nos) g (group_no)
        cross join pg_catalog.generate_series(1, 4) i));
end;
comment on function ragdb_internal.candidates_in_groups(integer, integer[], sparsevec) is
  'Returns the chunks of the given groups (from 0) with their scores in float4.';
