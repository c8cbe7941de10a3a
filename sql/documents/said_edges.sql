-- Which edges documents say: to the next chunk, to the chunks of a section and the sections below
-- it, and along hyperlinks. Who writes them and who verifies them ask here.

-- An edge between two chunks of a corpus.
create type ragdb_internal.chunk_edge as (parent_no integer, child_no integer, edge_type text);

-- Returns the edges between chunks of documents: next chunk (default), chunk of a section and
-- section below (branch). Nothing is known of how many rows a call's array holds, and one wrong
-- guess is a nested loop over all pairs.
create or replace function ragdb_internal.document_edges(
  planned ragdb_internal.planned_chunk[], except_doc_nos integer[])
returns setof ragdb_internal.chunk_edge
language sql stable parallel safe
set enable_nestloop = off
set enable_mergejoin = off
begin atomic
  with chunk as materialized (
    select p.chunk_no, p.doc_no, p.heading,
      lead(p.chunk_no) over (partition by p.doc_no order by p.ordinal) as next_no,
      first_value(p.chunk_no) over (partition by p.doc_no, p.heading order by p.ordinal) as head_no
    from unnest(document_edges.planned) p
    where p.doc_no <> all (document_edges.except_doc_nos)
  ), head as materialized (
    select c.chunk_no, c.doc_no, c.heading from chunk c
    where c.head_no = c.chunk_no and c.heading <> '{}'
  ), above as materialized (
    -- apart, or the join below is one of all sections of a document with each other
    select h.chunk_no, h.doc_no, n, h.heading[1:n] as heading
    from head h, generate_series(1, cardinality(h.heading) - 1) n
  )
  select c.chunk_no, c.next_no, 'default' from chunk c where c.next_no is not null
  union all
  select c.head_no, c.chunk_no, 'branch' from chunk c
  where c.head_no <> c.chunk_no and c.heading <> '{}'
  union all
  (select distinct on (o.chunk_no) a.chunk_no, o.chunk_no, 'branch'
  from above o join head a on a.doc_no = o.doc_no and a.heading = o.heading
  order by o.chunk_no, o.n desc);
end;

-- Returns the reference edges that the hyperlinks of some chunks say: an edge to the first chunk of
-- each document that a link leads to.
create or replace function ragdb_internal.linked_edges(corpus_id integer, linking integer[])
returns setof ragdb_internal.chunk_edge
language sql stable parallel safe
set enable_nestloop = off
begin atomic
  select distinct a.chunk_no, c.chunk_no, 'reference'
  from unnest(linked_edges.linking) a (chunk_no)
    cross join lateral (
      select h.target from ragdb.document_links h
      where h.corpus_id = linked_edges.corpus_id and h.chunk_no = a.chunk_no offset 0) l
    cross join lateral (
      select h.doc_no from ragdb.document_sources h
      where h.corpus_id = linked_edges.corpus_id and h.uri = l.target offset 0) s
    cross join lateral (
      select h.chunk_no from ragdb.chunks h
      where h.corpus_id = linked_edges.corpus_id and h.doc_no = s.doc_no and h.ordinal = 0
      offset 0) c
  where a.chunk_no <> c.chunk_no;
end;

-- Returns those of some documents that are conversations. The edges of turns are what was said to
-- what: ragdb.put_conversations writes them.
create or replace function ragdb_internal.conversations_among(
  corpus_id integer, doc_nos integer[])
returns integer[]
language sql stable parallel safe
return array(
  select n.doc_no from unnest(doc_nos) n (doc_no)
    cross join lateral (
      select h.chunking from ragdb.documents h
      where h.corpus_id = conversations_among.corpus_id and h.doc_no = n.doc_no offset 0) d
  where ragdb_internal.has_turns(d.chunking));

-- Tells whether two chunks are turns of one conversation, so that the edges between them are what
-- it says.
create or replace function ragdb_internal.is_answer(
  corpus_id integer, parent_no integer, child_no integer)
returns boolean
language sql stable parallel safe
return exists (
  select from ragdb.turns p
    join ragdb.turns k on k.corpus_id = p.corpus_id and k.chunk_no = is_answer.child_no
    join ragdb.chunks a on a.corpus_id = p.corpus_id and a.chunk_no = p.chunk_no
    join ragdb.chunks b on b.corpus_id = k.corpus_id and b.chunk_no = k.chunk_no
  where p.corpus_id = is_answer.corpus_id and p.chunk_no = is_answer.parent_no
    and a.doc_no = b.doc_no);

-- Returns the edges that leave the chunks of some documents because these say so, but for those
-- within a conversation.
create or replace function ragdb_internal.said_edges(corpus_id integer, doc_nos integer[])
returns setof ragdb_internal.chunk_edge
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_chunks constant ragdb_internal.planned_chunk[] := array(
    select row(c.chunk_no, c.doc_no, null, c.ordinal, null, c.heading, null, null, null, null, null,
        null, null, null)::ragdb_internal.planned_chunk
      from unnest(doc_nos) d (doc_no)
        cross join lateral (
          select o.* from ragdb.chunks o
          where o.corpus_id = said_edges.corpus_id and o.doc_no = d.doc_no offset 0) c);
begin
  return query
    select e.* from ragdb_internal.document_edges(
      v_chunks, ragdb_internal.conversations_among(corpus_id, doc_nos)) e
    union all
    select e.* from ragdb_internal.linked_edges(
      corpus_id, array(select c.chunk_no from unnest(v_chunks) c)) e;
end $$;
