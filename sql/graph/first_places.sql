-- Where a session is to be derived anew from: nothing before the first turn that a change touches
-- depends on it.

-- Returns the first place of some turns and of what answers them. Clocks differ: an answer may
-- stand before what it answers.
create or replace function ragdb_internal.first_below(corpus_id integer, chunk_nos integer[])
returns ragdb_internal.turn_place
language sql stable parallel safe
set enable_seqscan = off
set cpu_index_tuple_cost = 1000
return (
  with recursive below as (
    select n.chunk_no from pg_catalog.unnest(first_below.chunk_nos) n (chunk_no)
    union
    select e.child_no from below b
      cross join lateral (
        select o.child_no from ragdb.edges o
          where o.corpus_id = first_below.corpus_id and o.parent_no = b.chunk_no
            and o.edge_type in ('reply', 'branch')
          offset 0) e
  )
  select row(t.created_at, t.place, t.turn_id)::ragdb_internal.turn_place
    from below b
    cross join lateral (
      select t.* from ragdb.turns t
        where t.corpus_id = first_below.corpus_id and t.chunk_no = b.chunk_no
        offset 0) t
    order by t.created_at, t.place, t.turn_id limit 1);

-- Returns the first place of what stands at some sources, and of what answers it.
create or replace function ragdb_internal.first_at_sources(corpus_id integer, uris text[])
returns ragdb_internal.turn_place
language sql stable parallel safe
set enable_seqscan = off
set cpu_index_tuple_cost = 1000
return ragdb_internal.first_below(first_at_sources.corpus_id, array(
  select c.chunk_no
    from pg_catalog.unnest(first_at_sources.uris) u (uri)
    cross join lateral (
      select o.doc_no from ragdb.document_sources o
        where o.corpus_id = first_at_sources.corpus_id and o.uri = u.uri offset 0) s
    cross join lateral (
      select o.chunk_no from ragdb.chunks o
        where o.corpus_id = first_at_sources.corpus_id and o.doc_no = s.doc_no offset 0) c));

-- Returns the first place that conversations touch which were written: by what stood there before
-- (before: of each conversation of the call) and by what stands there now.
create or replace function ragdb_internal.first_written(
  corpus_id integer, before ragdb_internal.turn_place[], written integer[],
  turns ragdb_internal.parsed_turn[])
returns ragdb_internal.turn_place
language sql stable parallel safe
set enable_seqscan = off
set cpu_index_tuple_cost = 1000
return (
  select row(p.created_at, p.place, p.turn_id)::ragdb_internal.turn_place
    from (
      select b.created_at, b.place, b.turn_id
        from pg_catalog.unnest(first_written.before) with ordinality
          b (created_at, place, turn_id, n)
        where b.n - 1 = any (first_written.written)
      union all
      select (f.place).*
        from (select ragdb_internal.first_below(first_written.corpus_id, array(
            select c.chunk_no from pg_catalog.unnest(first_written.turns) t
              cross join lateral (
                select c.chunk_no from ragdb.chunks c
                  where c.corpus_id = first_written.corpus_id and c.chunk_id = t.chunk_id
                  offset 0) c)) as place) f) p
    where p.created_at is not null
    order by p.created_at, p.place, p.turn_id limit 1);
