-- A turn weighs by the references to it that are there. They come with documents that link to its
-- conversation, with what was said elsewhere and with edges that were added, and go with any of
-- these: so each reference that comes or goes has its turn weighed.

-- Trigger of ragdb.edges: weighs anew the turns to which references came, or from which they went.
create or replace function ragdb_internal.weigh_referred() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
  perform ragdb_internal.weigh_turns(r.corpus_id, r.chunk_nos)
    from (
      select t.corpus_id, array_agg(t.chunk_no) as chunk_nos
        from (select distinct c.corpus_id, c.child_no from changed c
            where c.edge_type = 'reference' offset 0) n
          cross join lateral (
            select h.corpus_id, h.chunk_no from ragdb.turns h
            where h.corpus_id = n.corpus_id and h.chunk_no = n.child_no offset 0) t
        group by t.corpus_id) r;
  return null;
end $$;

create or replace trigger references_that_come_weigh after insert on ragdb.edges
  referencing new table as changed for each statement
  execute function ragdb_internal.weigh_referred();
create or replace trigger references_that_go_weigh after delete on ragdb.edges
  referencing old table as changed for each statement
  execute function ragdb_internal.weigh_referred();
