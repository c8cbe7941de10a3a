-- Edges as they are read: what leads to a chunk, what leads from it, and what is between some.
--
-- Definers, because chunks and edges are granted to nobody.

-- Returns the number of a chunk. Raises RG406.
create or replace function ragdb_internal.anchored(corpus ragdb.corpora, chunk_id text)
returns integer
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_chunk_no integer;
begin
  select c.chunk_no into v_chunk_no from ragdb.chunks c
    where c.corpus_id = corpus.corpus_id and c.chunk_id = anchored.chunk_id;
  if not found then
    perform ragdb_internal.missing_chunk(corpus, anchored.chunk_id);
  end if;
  return v_chunk_no;
end $$;

-- Refuses a page of edges that cannot be. Raises RG400.
create or replace function ragdb_internal.check_edges_paged(after text, count integer, what text)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_listed(count, 'edges');
  if after is null then
    raise exception 'after is null'
      using errcode = 'RG400', detail = format('edges are read in the order of the %s', what),
        hint = 'after is the last of them seen, and empty at the beginning';
  end if;
end $$;

create or replace function ragdb.get_parents(
  corpus text, chunk_id text, after text default '', count integer default 1000)
returns setof ragdb.edge
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_with_chunk(get_parents.corpus, get_parents.chunk_id);
  v_chunk_no constant integer := ragdb_internal.anchored(v_corpus, get_parents.chunk_id);
begin
  perform ragdb_internal.check_edges_paged(after, count, 'parents');
  return query
    select o.chunk_id, get_parents.chunk_id, o.edge_type, o.is_added
      from (
        select p.chunk_id, e.edge_type, e.is_added from ragdb.edges e
          cross join lateral (select c.chunk_id from ragdb.chunks c
            where c.corpus_id = e.corpus_id and c.chunk_no = e.parent_no offset 0) p
          where e.corpus_id = v_corpus.corpus_id and e.child_no = v_chunk_no
            and p.chunk_id > get_parents.after
          order by p.chunk_id fetch first (get_parents.count) rows with ties) o
      order by o.chunk_id, ragdb_internal.edge_order(o.edge_type);
end $$;
comment on function ragdb.get_parents is
  'Returns the edges that lead to a chunk from parents whose id is greater than after, in the '
  'order of the parents and then reply, branch, reference, default, count (1 to 10000) of them and '
  'the others of the last parent. Raises RG400, RG404, RG406.';

create or replace function ragdb.get_children(
  corpus text, chunk_id text, after text default '', count integer default 1000)
returns setof ragdb.edge
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_with_chunk(get_children.corpus, get_children.chunk_id);
  v_chunk_no constant integer := ragdb_internal.anchored(v_corpus, get_children.chunk_id);
begin
  perform ragdb_internal.check_edges_paged(after, count, 'children');
  return query
    select get_children.chunk_id, o.chunk_id, o.edge_type, o.is_added
      from (
        select k.chunk_id, e.edge_type, e.is_added from ragdb.edges e
          cross join lateral (select c.chunk_id from ragdb.chunks c
            where c.corpus_id = e.corpus_id and c.chunk_no = e.child_no offset 0) k
          where e.corpus_id = v_corpus.corpus_id and e.parent_no = v_chunk_no
            and k.chunk_id > get_children.after
          order by k.chunk_id fetch first (get_children.count) rows with ties) o
      order by o.chunk_id, ragdb_internal.edge_order(o.edge_type);
end $$;
comment on function ragdb.get_children is
  'Returns the edges that lead from a chunk to children whose id is greater than after, in the '
  'order of the children, count (1 to 10000) of them and the others of the last child. Raises '
  'RG400, RG404, RG406.';

create or replace function ragdb.get_edges(corpus text, chunk_ids text[]) returns setof ragdb.edge
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(get_edges.corpus, 'read');
  v_most constant integer := (ragdb_internal.limits()).page_rows;
begin
  if coalesce(cardinality(get_edges.chunk_ids) > v_most, true) then
    raise exception 'chunk_ids is not a list of at most %', v_most
      using errcode = 'RG400', detail = 'edges between these chunks are returned',
        hint = 'the chunk_ids of ragdb.build_slice() are such a list';
  end if;
  return query
    with member as materialized (
      select c.chunk_no, c.chunk_id
        from (select distinct u.id from unnest(get_edges.chunk_ids) u (id)) u
        cross join lateral (select c.chunk_no, c.chunk_id from ragdb.chunks c
          where c.corpus_id = v_corpus.corpus_id and c.chunk_id = u.id offset 0) c
    )
    select p.chunk_id, k.chunk_id, e.edge_type, e.is_added from member k
      cross join lateral (select e.parent_no, e.edge_type, e.is_added from ragdb.edges e
        where e.corpus_id = v_corpus.corpus_id and e.child_no = k.chunk_no offset 0) e
      join member p on p.chunk_no = e.parent_no
      order by p.chunk_id, k.chunk_id, ragdb_internal.edge_order(e.edge_type);
end $$;
comment on function ragdb.get_edges is
  'Returns the edges both of whose ends are among some chunks, at most 10000, as a slice has them: '
  'in the order of parent, child and then reply, branch, reference, default. Raises RG400, RG404.';
