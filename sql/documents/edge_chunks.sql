-- Edges join chunks that are there, and go with them.
--
-- Not foreign keys: these look up both ends of each edge by a statement of its own, and look for
-- the edges of each chunk that goes: a twentieth of a put. Here a statement looks up all of its
-- rows. It holds the chunks as a foreign key does, so that none goes before the edge is there.

-- Trigger of ragdb.edges: refuses edges of chunks that are not there, and holds the others to the
-- end of the transaction.
create or replace function ragdb_internal.check_edge_chunks() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_missing record;
begin
  select n.* into v_missing
    from (
      select a.corpus_id, a.parent_no as chunk_no from added a
      union select a.corpus_id, a.child_no from added a offset 0) n
      left join lateral (
        select c.chunk_no from ragdb.chunks c
        where c.corpus_id = n.corpus_id and c.chunk_no = n.chunk_no for key share) c on true
    where c.chunk_no is null limit 1;
  if found then
    raise exception 'an edge joins chunk % of corpus %, which does not exist',
        v_missing.chunk_no, v_missing.corpus_id
      using errcode = 'foreign_key_violation', schema = 'ragdb', table = 'edges',
        constraint = tg_name, detail = 'an edge joins two chunks of its corpus',
        hint = 'put the chunk first';
  end if;
  return null;
end $$;

create or replace trigger edges_join_chunks after insert on ragdb.edges
  referencing new table as added for each statement
  execute function ragdb_internal.check_edge_chunks();

-- Trigger of ragdb.chunks: removes the edges of the chunks that went.
create or replace function ragdb_internal.drop_edges() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
  delete from ragdb.edges e where e.ctid = any (array(
    select o.ctid
    from gone g
      cross join lateral (
        select p.ctid from ragdb.edges p
        where p.corpus_id = g.corpus_id and p.parent_no = g.chunk_no
        union all
        select c.ctid from ragdb.edges c
        where c.child_no = g.chunk_no and c.corpus_id = g.corpus_id offset 0) o));
  return null;
end $$;

create or replace trigger edges_go_with_chunks after delete on ragdb.chunks
  referencing old table as gone for each statement
  execute function ragdb_internal.drop_edges();
