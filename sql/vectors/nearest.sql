-- The nearest chunks of a space.
--
-- There are three ways to look at a space: for the nearest of all or of given chunks (scan_space),
-- for the distances of given chunks (chunk_distances), and by the index (walk_space). Each is one
-- statement on the space's partition that is planned each time, because a width cannot be a
-- parameter and a plan for the parent opens every partition. The distances are taken where the
-- vectors are found; callers make scores of them, because what a statement inlines takes as long to
-- plan as the rest of it.

-- Returns the operator, with its schema, by which a metric compares two vectors.
create or replace function ragdb_internal.distance_operator(metric text) returns text
language sql stable parallel safe
return pg_catalog.format('operator(%I.%s)', ragdb_internal.vector_schema(),
  case metric when 'cosine' then '<=>' when 'ip' then '<#>' else '<->' end);

-- Returns the name of the partition of a space that is about to be read. Where the statement that
-- found the space was another, it may be empty by now; once it is dropped, a snapshot that is older
-- still shows its row. To ask for the size waits for that drop, as the search itself would. Raises
-- RG415.
create or replace function ragdb_internal.searched_table(space ragdb.embedding_spaces)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table constant text := ragdb_internal.space_table(space.space_id);
begin
  if not exists (select from ragdb.embedding_spaces s where s.space_id = space.space_id)
    or pg_relation_size(to_regclass('ragdb.' || v_table)) is null
  then
    raise exception 'the embeddings of the corpus were dropped a moment ago'
      using errcode = 'RG415', detail = 'this transaction began to read before that',
        hint = 'ask again in a new transaction';
  end if;
  return v_table;
end $$;

-- Returns the current space of a corpus, which is about to be read; null without one. For who reads
-- the vectors of all spaces, which has no rows of a space that is gone. Raises RG415.
create or replace function ragdb_internal.read_space(corpus_id integer)
returns ragdb.embedding_spaces
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space constant ragdb.embedding_spaces := ragdb_internal.space(corpus_id, 'current');
begin
  if v_space.space_id is not null then
    perform ragdb_internal.searched_table(v_space);
  end if;
  return v_space;
end $$;

-- Returns the k chunks of a space that are nearest to a vector, and all that tie with the last,
-- looking at every one, or at the given ones when not null; more is how many are taken at first to
-- see what ties. All that tie at the k-th place stay: they share its rank. What ties has the same
-- score, not the same distance. So a few more than k are taken, and all only where these tie.
create or replace function ragdb_internal.scan_space(
  space ragdb.embedding_spaces, metric text, query vector, k integer, chunk_nos integer[],
  more integer default 50)
returns table (chunk_no integer, score float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_chunk_nos integer[];
  v_scores float8[];
begin
  execute format(
    'select array_agg(n.chunk_no), array_agg(ragdb_internal.nearness(n.distance, %L)) from ('
    '  select s.chunk_no, s.%I %s $1::%s as distance from ragdb.%I s%s'
    '  order by distance limit $2) n',
    metric, ragdb_internal.stored_column(space), ragdb_internal.distance_operator(metric),
    ragdb_internal.query_type(space), ragdb_internal.searched_table(space),
    case when scan_space.chunk_nos is not null then
      ' where s.corpus_id = $3 and s.chunk_no = any (array(select pg_catalog.unnest($4)))' end)
    into v_chunk_nos, v_scores using query, k::bigint + more, space.corpus_id, scan_space.chunk_nos;
  if v_scores[k + more] = v_scores[k] and more > 0 then
    return query select s.chunk_no, s.score
      from ragdb_internal.scan_space(space, metric, query, k, scan_space.chunk_nos,
        2147483647 - k) s;
    return;
  end if;
  return query select u.chunk_no, u.score from unnest(v_chunk_nos, v_scores) u (chunk_no, score)
    where u.score >= coalesce(v_scores[k], 0);
end $$;

-- Returns the distances of the given chunks of a space from a vector; chunks without an embedding
-- have no row.
create or replace function ragdb_internal.chunk_distances(
  space ragdb.embedding_spaces, metric text, query vector, chunk_nos integer[])
returns table (chunk_no integer, distance float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = on
as $$
begin
  if cardinality(chunk_nos) = 0 then
    return;
  end if;
  return query execute format(
    'select s.chunk_no, s.%I %s $1::%s from ragdb.%I s'
    ' where s.corpus_id = $3 and s.chunk_no = any (array(select pg_catalog.unnest($2)))',
    ragdb_internal.stored_column(space), ragdb_internal.distance_operator(metric),
    ragdb_internal.query_type(space), ragdb_internal.searched_table(space))
    using query, chunk_nos, space.corpus_id;
end $$;

-- Returns about the k nearest chunks of a space by its HNSW index with their distances; or of the
-- most that it meets at all those that meet a restriction, where most is not null; ef_search (null:
-- the space's own) is how many it looks at. Nothing may take the place of the index: other scans
-- and sorts are off, and a list is a hashed subplan, which no index answers (and which is planned
-- at once, where `= any` looks at every element). Of what the index finds the distance is taken as
-- it is stored on the way. That of halves is written as the order is, so that a cosine is worked
-- out once. Under a restriction it is asked of each chunk in turn. The settings are made in an
-- assignment, because `perform` starts a statement.
create or replace function ragdb_internal.walk_space(
  space ragdb.embedding_spaces, dims integer, metric text, query vector, k integer,
  among ragdb_internal.restriction, ef_search integer default null, most integer default null)
returns table (chunk_no integer, distance float8)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_sort = off
as $$
declare
  v_ef text := current_setting('hnsw.ef_search');
  v_iterative text := current_setting('hnsw.iterative_scan');
  v_tuples text := current_setting('hnsw.max_scan_tuples');
  v_set text[];
  v_schema constant text := ragdb_internal.vector_schema();
  v_indexed constant text := ragdb_internal.indexed_expression(
    space, v_schema, 'e.' || ragdb_internal.stored_column(space), dims);
  v_point constant text := ragdb_internal.indexed_expression(space, v_schema, '$2', dims);
  v_conditions jsonb[];
  v_walk text := format(
    'select e.chunk_no, %s %s %s as distance from ragdb.%I e order by %s operator(%I.<=>) %s'
    ' limit $3', case when space.is_half then v_indexed else 'e.embedding' end,
    ragdb_internal.distance_operator(metric), case when space.is_half then v_point else '$2' end,
    ragdb_internal.searched_table(space), v_indexed, v_schema, v_point);
begin
  if among.filter is not null then
    v_conditions := ragdb_internal.condition_array(among.filter);
  end if;
  if most is not null then
    v_walk := 'select x.chunk_no, x.distance from (select $5 as corpus_id, w.* from (' || v_walk
      || ') w) x' || case when among.filter is not null
        then ragdb_internal.filter_joins(v_conditions)
        else ' where (x.chunk_no in (select unnest($6))) is true' end || ' limit $4';
  end if;
  v_set := array[
    set_config('hnsw.ef_search',
      least(1000, greatest(coalesce(ef_search, space.ef_search), k))::text, true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.max_scan_tuples', '2147483647', true)];
  return query execute v_walk using v_conditions, query, greatest(k, most), k,
    space.corpus_id, among.chunk_nos;
  v_set := array[
    set_config('hnsw.ef_search', v_ef, true),
    set_config('hnsw.iterative_scan', v_iterative, true),
    set_config('hnsw.max_scan_tuples', v_tuples, true)];
end $$;

-- Returns how many chunks a walk is asked for where k are wanted.
create or replace function ragdb_internal.walked_depth(k integer) returns integer
language sql immutable parallel safe
return greatest(walked_depth.k, least(1000, walked_depth.k + walked_depth.k / 4 + 16));

-- Whether the nearest chunks of all in the space of a corpus are found by its index.
create or replace function ragdb_internal.is_walked(
  corpus ragdb.corpora, space ragdb.embedding_spaces)
returns boolean
language sql immutable parallel safe
return (space).is_indexed and (corpus).chunks >= ragdb_internal.indexed_chunks();

-- Returns the rank of a score among so many scores of which it is one, in ascending order: 1 and
-- how many are higher. Equal scores share a rank: an id is not evidence. A window function takes
-- three times as long. The list is used once, so that a subquery can be it: a variable would be
-- copied at each call.
create or replace function ragdb_internal.rank_among(
  score float8, ascending float8[], count integer)
returns integer
language sql immutable parallel safe
return rank_among.count + 1 - pg_catalog.width_bucket(rank_among.score, rank_among.ascending);

-- Returns the k chunks nearest to a vector, and what ties with the last, under a restriction, with
-- similarity and rank, and whether none was passed over; ef_search (null: that of the space) is how
-- many a walk of the index looks at where there is none. To meet a chunk in a walk takes as long as
-- to compare 10 to 20, or as to find 5 by a filter and compare them (measured). A walk that passes
-- over some has to look at so many more. It is not begun where that takes longer than to compare
-- all, and given up there, since what a filter leaves may lie far from what is asked. A walk is
-- asked for more than is wanted: the index orders by halves, and what it swaps at the end is put
-- right here. Where a width is given, that does not widen it.
create or replace function ragdb_internal.nearest(
  corpus ragdb.corpora, space ragdb.embedding_spaces, query vector, k integer,
  among ragdb_internal.restriction, ef_search integer default null)
returns table (chunk_no integer, score float8, rank integer, is_exact boolean)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders;
  v_wanted constant integer := greatest(
    k, least(ragdb_internal.walked_depth(k), nearest.ef_search));
  v_count constant integer := ragdb_internal.restricted_count(among);
  v_most constant integer := v_count / case when among.filter is null then 30 else 5 end;
  v_width constant bigint := coalesce(nearest.ef_search, space.ef_search)
    + coalesce(v_wanted * corpus.chunks::bigint / nullif(v_count, 0), 0);
  v_found integer[];
  v_scores float8[];
  v_ascending float8[];
  v_is_exact boolean;
begin
  select e.* into strict v_embedder from ragdb.embedders e where e.embedder_id = space.embedder_id;
  if ragdb_internal.is_walked(corpus, space) and coalesce(v_width <= v_most, true) then
    select array_agg(w.chunk_no), array_agg(w.score), array_agg(w.score order by w.score)
      into v_found, v_scores, v_ascending
      from (
        select s.chunk_no, ragdb_internal.nearness(s.distance, v_embedder.metric) as score
        from ragdb_internal.walk_space(space, v_embedder.dims, v_embedder.metric, query, v_wanted,
          among, least(1000, v_width)::integer, v_most) s
        offset 0) w;
  end if;
  v_is_exact := coalesce(cardinality(v_found) < k, true);
  if v_is_exact then
    if among.filter is not null then
      among.chunk_nos := ragdb_internal.filtered_chunks(corpus.corpus_id, among.filter, null);
    end if;
    select array_agg(s.chunk_no), array_agg(s.score), array_agg(s.score order by s.score)
      into v_found, v_scores, v_ascending
      from ragdb_internal.scan_space(space, v_embedder.metric, query, k, among.chunk_nos) s;
  end if;
  return query
    select n.chunk_no, n.score, ragdb_internal.rank_among(
      n.score, (select v_ascending), cardinality(v_ascending)), v_is_exact
    from (select unnest(v_found) as chunk_no, unnest(v_scores) as score) n
    where n.score >= coalesce(v_ascending[cardinality(v_ascending) + 1 - k], 0);
end $$;
