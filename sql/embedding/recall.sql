-- How far a walk of an HNSW index must look: measured when the index is built.
--
-- What is asked for lies a quarter of the way from one chunk to another. Chunks themselves are
-- found far more easily than questions of people, points halfway take three times the ef_search of
-- such questions, and these points take as much as they do (measured with all-MiniLM-L6-v2 on four
-- collections). Of a static embedder these points take twice as much as questions, but it embeds
-- here: so it is asked a few words of the texts.

-- Returns 512 pairs of chunks of a space, spread evenly over it.
create or replace function ragdb_internal.sampled_pairs(
  space ragdb.embedding_spaces, out ones integer[], out others integer[])
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format(
    'select array_agg(c.chunk_no order by n.i) filter (where n.i %% 2 = 0),'
    ' array_agg(c.chunk_no order by n.i) filter (where n.i %% 2 = 1)'
    ' from (select i %% 512 * 2 + i / 512 as i, r.low + (r.high - r.low)::bigint * i / 1023 as n'
    '   from (select min(s.chunk_no) as low, max(s.chunk_no) as high from ragdb.%1$I s) r,'
    '     generate_series(0, 1023) i) n'
    ' cross join lateral (select s.chunk_no from ragdb.%1$I s'
    '   where s.corpus_id = $1 and s.chunk_no >= n.n order by s.chunk_no limit 1) c',
    ragdb_internal.space_table(space.space_id))
    into ones, others using space.corpus_id;
end $$;

-- Returns a subquery (n, between) for the points a quarter of the way from chunks $1 of a space to
-- chunks $2; $3 is the corpus.
create or replace function ragdb_internal.points_between(space ragdb.embedding_spaces)
returns text
language sql stable parallel safe
return pg_catalog.format(
  '(select q.n, %1$I.l2_normalize(a.embedding) operator(%1$I.+) %1$I.l2_normalize('
  '   %1$I.l2_normalize(a.embedding) operator(%1$I.+) %1$I.l2_normalize(b.embedding)) as between'
  ' from unnest($1, $2) with ordinality q (one, other, n)'
  '   join ragdb.%2$I a on a.corpus_id = $3 and a.chunk_no = q.one'
  '   join ragdb.%2$I b on b.corpus_id = $3 and b.chunk_no = q.other offset 0)',
  ragdb_internal.vector_schema(), ragdb_internal.space_table((points_between.space).space_id));

-- Returns a subquery (n, between) for what is asked of a space ($4) to measure its index: by a
-- static embedder pieces of the texts of chunks $1, else points between these and chunks $2; $3 is
-- the corpus.
create or replace function ragdb_internal.asked_points(
  space ragdb.embedding_spaces, embedder ragdb.embedders)
returns text
language sql stable parallel safe
return case when embedder.provider = 'static'
  then '(select q.n, coalesce(ragdb_internal.pgvector(ragdb_internal.known_embedding('
    '   ragdb_internal.static_model($4.embedder_id),'
    '   substr(c.text, 1 + length(c.text) / 3, 64), 0)), ragdb_internal.full_vector(e)) as between'
    ' from unnest($1) with ordinality q (one, n)'
    '   join ragdb.chunks c on c.corpus_id = $3 and c.chunk_no = q.one'
    '   join ragdb.' || ragdb_internal.space_table((asked_points.space).space_id) || ' e'
    '     on e.corpus_id = $3 and e.chunk_no = q.one offset 0)'
  else ragdb_internal.points_between(asked_points.space) end;

-- Returns the scores of the ten best that a walk of the index of a space finds near a point.
create or replace function ragdb_internal.best_walked(
  space ragdb.embedding_spaces, embedder ragdb.embedders, point vector, ef_search integer)
returns setof float8
language sql stable parallel restricted
begin atomic
  select ragdb_internal.nearness(w.distance, 'cosine')
  from ragdb_internal.walk_space(best_walked.space, (best_walked.embedder).dims, 'cosine',
    best_walked.point, 28, null, best_walked.ef_search) w
  order by w.distance limit 10;
end;

-- Returns the ef_search (50 to 1000) with which the index of a space finds 98 in 100 of the ten
-- that it finds with 1000 near some points, or of as many as there are, and a quarter more. Few
-- points take much more than the others, so it takes hundreds to tell: with 64 of them the same
-- index was given 50 and 500. Most are answered at once, and only the others are asked again. Equal
-- scores count as found, whichever chunk has them.
create or replace function ragdb_internal.sufficient_ef_search(
  space ragdb.embedding_spaces, embedder ragdb.embedders, points vector[])
returns integer
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_left integer[] := array(select generate_series(1, cardinality(points)));
  v_bounds float8[];
  v_found integer[];
  v_all bigint;
  v_missing bigint;
  v_ef integer;
begin
  select array_agg(f.bound order by p.n), array_agg(f.found order by p.n), sum(f.found)
    into v_bounds, v_found, v_all
    from unnest(v_left) p (n) cross join lateral (
      select min(b) as bound, count(*) as found
      from ragdb_internal.best_walked(space, embedder, points[p.n], 1000) b) f;
  foreach v_ef in array array[40, 60, 80, 100, 130, 160, 200, 250, 320, 400, 500, 640, 800] loop
    select array_agg(p.n) filter (where f.missing > 0), sum(f.missing) into v_left, v_missing
      from unnest(v_left) p (n) cross join lateral (
        select v_found[p.n] - count(*) filter (where b >= v_bounds[p.n] - 0.000002) as missing
        from ragdb_internal.best_walked(space, embedder, points[p.n], v_ef) b) f;
    exit when v_missing <= 0.02 * v_all;
  end loop;
  return v_ef * 5 / 4;
end $$;

-- Returns the ef_search (50 to 1000) that suffices for what is asked of a space.
create or replace function ragdb_internal.measure_ef_search(
  space ragdb.embedding_spaces, embedder ragdb.embedders)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pairs constant record := ragdb_internal.sampled_pairs(space);
  v_ef integer;
begin
  execute format(
    'select ragdb_internal.sufficient_ef_search($4, $5, array_agg(p.between order by p.n))'
    ' from %s p',
    ragdb_internal.asked_points(space, embedder))
    into v_ef using v_pairs.ones, v_pairs.others, space.corpus_id, space, embedder;
  return v_ef;
end $$;
