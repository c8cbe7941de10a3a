-- A corpus drawn flat: its embeddings on the two axes along which they lie farthest apart. An axis
-- is found as PCA-L1 finds it: from a far point on, again and again the sum of all points, those
-- behind it turned round. It needs only sums and products, which pgvector does at once.

create type ragdb.map_point as (
  chunk_id text, source text, heading text[], x float8, y float8);
comment on type ragdb.map_point is
  'A chunk of a map: where it stands among the others, -1 to 1; the question, where the rest is '
  'null. The axes mean nothing by themselves.';

-- Returns what is left of a vector without its part along a unit vector (null: all of it).
create or replace function ragdb_internal.without_axis(point vector, axis vector) returns vector
language sql immutable parallel safe
return case when axis is null then point else point + axis * pg_catalog.array_fill(
  ((point <#> axis))::real, array[vector_dims(axis)])::vector end;

-- Returns an axis along which points lie farther apart than along a given one, at a right angle to
-- another (null: any).
create or replace function ragdb_internal.next_axis(points vector[], axis vector, other vector)
  returns vector
language sql immutable parallel safe
return (
  select coalesce(l2_normalize(ragdb_internal.without_axis(
      coalesce(sum(p) filter (where (p <#> next_axis.axis) <= 0),
        l2_normalize(next_axis.axis))
      - coalesce(sum(p) filter (where (p <#> next_axis.axis) > 0),
        next_axis.axis - next_axis.axis), next_axis.other)), next_axis.axis)
  from pg_catalog.unnest(points) p);

-- Returns the axis along which points lie farthest apart, at a right angle to another (null: any);
-- the points are around zero. It settles within a few steps; eight are as good as fifty to the eye.
create or replace function ragdb_internal.map_axis(points vector[], other vector) returns vector
language sql immutable parallel safe
return (
  with recursive start as (
    select l2_normalize(ragdb_internal.without_axis(u.p, map_axis.other)) as axis
    from pg_catalog.unnest(points) with ordinality u (p, n)
    order by vector_norm(ragdb_internal.without_axis(u.p, map_axis.other)) desc, u.n limit 1),
  steps as (
    select 0 as i, s.axis from start s
    union all
    select t.i + 1, ragdb_internal.next_axis(points, t.axis, map_axis.other)
    from steps t where t.i < 8)
  select t.axis from steps t order by t.i desc limit 1);

-- Returns so many numbers at most, evenly spread over those of the chunks of a corpus. By number,
-- not by chance: the same corpus has the same map.
create or replace function ragdb_internal.sampled_chunks(corpus_id integer, count integer)
  returns setof integer
language sql stable parallel safe
begin atomic
  select pg_catalog.generate_series(m.low, m.high,
    greatest(1, pg_catalog.ceil((m.high - m.low + 1)::float8 / sampled_chunks.count)::integer))
  from (select pg_catalog.min(c.chunk_no) as low, pg_catalog.max(c.chunk_no) as high
    from ragdb.chunks c where c.corpus_id = sampled_chunks.corpus_id) m
  where m.low is not null;
end;

-- Returns a place on an axis as a share of the farthest one, -1 to 1.
create or replace function ragdb_internal.map_place(part float8, most float8) returns float8
language sql immutable parallel safe
return pg_catalog.round(
  greatest(-1, least(1, map_place.part / map_place.most))::numeric, 4)::float8;

-- Returns places, -1 to 1, of sampled chunks of a space, a few hundred of which set the axes; and
-- of what sets none, at the edge if it is beyond: of named chunks, and of the vector that was asked
-- for (null: none), without a number.
create or replace function ragdb_internal.map_points(corpus_id integer, space_id integer,
  count integer, named integer[], asked vector)
returns table (chunk_no integer, x float8, y float8)
language sql stable parallel safe
begin atomic
  with taken as materialized (
    select v.chunk_no, v.embedding
    from ragdb_internal.vectors_of(map_points.space_id, map_points.corpus_id, array(
      select ragdb_internal.sampled_chunks(map_points.corpus_id, map_points.count))) v),
  middle as materialized (select avg(t.embedding) as point from taken t),
  around as materialized (
    select pg_catalog.array_agg(t.embedding - m.point order by t.n) as points,
      pg_catalog.array_agg(t.chunk_no order by t.n) as numbers,
      pg_catalog.array_agg(t.embedding - m.point order by t.n)
        filter (where t.n % (1 + t.total / 400) = 0) as some
    from (select k.*, pg_catalog.row_number() over (order by k.chunk_no) as n,
        pg_catalog.count(*) over () as total from taken k) t
      cross join middle m),
  first as materialized (
    select ragdb_internal.map_axis(a.some, null) as axis from around a),
  second as materialized (
    select ragdb_internal.map_axis(a.some, f.axis) as axis from around a cross join first f),
  placed as materialized (
    select u.chunk_no, u.is_taken, -(u.p <#> f.axis) as x, -(u.p <#> s.axis) as y
    from around a cross join first f cross join second s
      cross join lateral (
        select v.chunk_no, true as is_taken, v.p from unnest(a.numbers, a.points) v (chunk_no, p)
        union all
        select v.chunk_no, false, v.embedding - m.point
        from middle m cross join ragdb_internal.vectors_of(
          map_points.space_id, map_points.corpus_id, map_points.named) v
        where v.chunk_no <> all (a.numbers)
        union all
        select null, false, map_points.asked - m.point from middle m
        where map_points.asked is not null) u)
  select p.chunk_no, ragdb_internal.map_place(p.x, m.most),
    ragdb_internal.map_place(p.y, m.most)
  from placed p cross join (
    select greatest(pg_catalog.max(pg_catalog.abs(o.x)), pg_catalog.max(pg_catalog.abs(o.y)),
      1e-9) as most from placed o where o.is_taken) m;
end;

create or replace function ragdb.map_corpus(
  corpus text, count integer default 2000, query text default null,
  chunk_ids text[] default null)
returns setof ragdb.map_point
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(corpus, 'read');
  v_space constant ragdb.embedding_spaces := ragdb_internal.read_space(v_corpus.corpus_id);
begin
  perform ragdb_internal.check_listed(count, 'points', 2000);
  if chunk_ids is not null
    and not (cardinality(chunk_ids) <= 1000 and ragdb_internal.is_list(chunk_ids))
  then
    raise exception 'chunk_ids is not a list of ids'
      using errcode = 'RG400', detail = 'a list has one dimension, no null and 1,000 ids at most',
        hint = 'pass an array, such as array[''a'', ''b'']';
  end if;
  return query
    select c.chunk_id, c.source, c.heading, p.x, p.y
    from ragdb_internal.map_points(v_corpus.corpus_id, v_space.space_id, count,
        ragdb_internal.chunk_numbers(v_corpus.corpus_id, chunk_ids),
        ragdb_internal.pgvector(ragdb_internal.query_embedding(
          v_corpus.corpus_id, v_space.embedder_id, query))) p
      left join ragdb.chunks c on c.corpus_id = v_corpus.corpus_id and c.chunk_no = p.chunk_no
    order by c.source, c.chunk_no;
end $$;
comment on function ragdb.map_corpus is
  'Returns chunks of a corpus as points of a plane, near each other where their embeddings are: '
  'at most count of them (1 to 2000), evenly taken, the same each time; none without embeddings. '
  'Those of chunk_ids (1,000 at most) are among them, and change nothing of the others. '
  'With a query whose embedding is known, its place comes last, without a chunk. The axes are '
  'those along which the embeddings lie farthest apart and mean nothing by themselves. Raises '
  'RG400, RG401, RG404, RG415.';
