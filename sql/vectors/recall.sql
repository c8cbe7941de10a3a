-- The smallest of some ef_search with which the index finds 98 in 100 of what a scan finds, and a
-- quarter on top for what 64 questions do not tell. What is asked for lies a quarter of the way
-- from one chunk to another: chunks themselves are found far more easily than questions of people,
-- what lies halfway takes three times their ef_search, this as much as they do (measured with
-- all-MiniLM-L6-v2 on four collections). Equal scores count as found, whichever chunk has them.
create or replace function ragdb_internal.measure_ef_search(space ragdb.embedding_spaces,
  embedder ragdb.embedders)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_table constant text := ragdb_internal.space_table(space.space_id);
  v_schema constant text := ragdb_internal.vector_schema();
  v_between text;
  v_pairs text;
  v_ones integer[];
  v_others integer[];
  v_bounds float8[];
  v_found bigint;
  v_ef integer;
begin
  execute format('select array_agg(c.chunk_no order by n.i) filter (where n.i %% 2 = 0), '
                 'array_agg(c.chunk_no order by n.i) filter (where n.i %% 2 = 1)'
    ' from (select i %% 64 * 2 + i / 64 as i, r.low + (r.high - r.low)::bigint * i / 127 as n'
    ' from (select min(s.chunk_no) as low, max(s.chunk_no) as high from ragdb.%1$I s) r, '
    'generate_series(0, 127) i) n'
    ' cross join lateral (select s.chunk_no from ragdb.%1$I s where s.corpus_id = $1 and '
    's.chunk_no >= n.n'
    ' order by s.chunk_no limit 1) c', v_table)
    into v_ones, v_others using space.corpus_id;
  v_pairs := format('(select q.n, %1$I.l2_normalize(a.embedding) operator(%1$I.+) '
                    '%1$I.l2_normalize('
    '%1$I.l2_normalize(a.embedding) operator(%1$I.+) %1$I.l2_normalize(b.embedding)) as between'
    ' from unnest($1, $2) with ordinality q (one, other, n)'
    ' join ragdb.%2$I a on a.corpus_id = $3 and a.chunk_no = q.one'
    ' join ragdb.%2$I b on b.corpus_id = $3 and b.chunk_no = q.other offset 0) p', v_schema,
      v_table);
  execute format('select array_agg(b.bound order by p.n) from %s cross join lateral (select '
                 'min(t.score) as bound'
    ' from (select ragdb_internal.similarity(s.embedding, p.between, ''cosine'') as score from ragdb.%I s'
    ' order by 1 desc limit 10) t) b', v_pairs, v_table)
    into v_bounds using v_ones, v_others, space.corpus_id;
  foreach v_ef in array array[40, 60, 80, 100, 130, 160, 200, 250, 320, 400, 500, 640, 800] loop
    execute format('select count(*) from %s cross join lateral (select w.score'
      ' from ragdb_internal.walk_space($4, $5, ''cosine'', p.between, 28, null, $6) w order by 1 desc '
      'limit 10) w'
      ' where w.score >= ($7)[p.n] - 0.000002', v_pairs)
      into v_found using v_ones, v_others, space.corpus_id, space, embedder.dims, v_ef, v_bounds;
    if v_found >= 0.98 * 10 * cardinality(v_bounds) then
      return v_ef * 5 / 4;
    end if;
  end loop;
  return 1000;
end $$;
comment on function ragdb_internal.measure_ef_search(ragdb.embedding_spaces, ragdb.embedders) is
  'Returns the ef_search (50 to 1000) with which the index of a space finds 98 in 100 of the ten '
  'nearest to points between two of its chunks, and more.';
