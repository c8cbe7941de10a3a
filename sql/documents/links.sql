-- The graph between chunks of documents, as it is stored. Edges and links are worked out anew and
-- compared with those of today: an edge that stays is not touched.
--
-- Hyperlinks are kept as written in ragdb.document_links. One whose target is a source of the
-- corpus is an edge too, and becomes one when its target arrives.
--
-- The functions that insert have a plan_cache_mode of their own: the checks of foreign keys are
-- planned under that of their statement, and to plan them anew for each row takes longer than all
-- the rest of the row.

-- A hyperlink of a chunk, as written.
create type ragdb_internal.chunk_link as (chunk_no integer, target text);

-- Returns the hyperlinks that there shall be: those given for a document that is new or written,
-- its own for one that is renamed.
create or replace function ragdb_internal.planned_links(
  corpus_id integer, documents jsonb, touched ragdb_internal.touched_document[],
  planned ragdb_internal.planned_chunk[])
returns ragdb_internal.chunk_link[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
as $$
begin
  return array(
    select row(p.chunk_no, l.target)::ragdb_internal.chunk_link
    from (
      select t.doc_no, (g.v ->> 'chunk')::integer as ordinal, g.v ->> 'target' as target
      from unnest(touched) t
        cross join lateral (select documents -> t.position -> 'links' as given offset 0) d
        cross join lateral jsonb_array_elements(nullif(d.given, 'null')) g (v)
      -- a target that no uri can equal needs no row
      where t.state in ('new', 'written') and octet_length(g.v ->> 'target') <= 2000
      union
      select t.doc_no, c.ordinal, k.target
      from unnest(touched) t
        cross join lateral (
          select h.chunk_no, h.ordinal from ragdb.chunks h
          where h.corpus_id = planned_links.corpus_id and h.doc_no = t.doc_no offset 0) c
        cross join lateral (
          select h.target from ragdb.document_links h
          where h.corpus_id = planned_links.corpus_id and h.chunk_no = c.chunk_no offset 0) k
      where t.state = 'renamed') l
      join unnest(planned) p on p.doc_no = l.doc_no and p.ordinal = l.ordinal);
end $$;

-- Tells whether a chunk is a message of a conversation.
create or replace function ragdb_internal.is_turn(corpus_id integer, chunk_no integer)
returns boolean
language sql stable parallel safe
return exists (
  select from ragdb.turns t
  where t.corpus_id = is_turn.corpus_id and t.chunk_no = is_turn.chunk_no);

-- Removes the edges within documents and the links of chunks that stay, except the given ones. Rows
-- that are taken away or changed are found by key, and then by where they are: a join with what is
-- given would be planned by what the statistics say. The lock of the corpus keeps them there.
create or replace function ragdb_internal.drop_old_edges(
  corpus_id integer, kept integer[], edges ragdb_internal.chunk_edge[],
  links ragdb_internal.chunk_link[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
as $$
begin
  delete from ragdb.edges e where e.ctid = any (array(
    select o.ctid from unnest(kept) k (chunk_no)
      cross join lateral (
        select h.ctid, h.child_no, h.edge_type from ragdb.edges h
        where h.corpus_id = drop_old_edges.corpus_id and h.parent_no = k.chunk_no
          and h.edge_type in ('default', 'branch') and not h.is_added offset 0) o
    where not ragdb_internal.is_turn(drop_old_edges.corpus_id, k.chunk_no)
      and not exists (select from unnest(edges) n
        where (n.parent_no, n.child_no, n.edge_type) = (k.chunk_no, o.child_no, o.edge_type))));
  delete from ragdb.document_links l where l.ctid = any (array(
    select o.ctid from unnest(kept) k (chunk_no)
      cross join lateral (
        select h.ctid, h.target from ragdb.document_links h
        where h.corpus_id = drop_old_edges.corpus_id and h.chunk_no = k.chunk_no offset 0) o
    where not exists (select from unnest(links) n
      where n.chunk_no = k.chunk_no and n.target = o.target)));
end $$;

-- Stores edges between chunks, references with the salience of the turns that they lead to; one
-- that is there already stays.
create or replace function ragdb_internal.insert_edges(
  corpus_id integer, edges ragdb_internal.chunk_edge[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = auto
as $$
begin
  insert into ragdb.edges (corpus_id, parent_no, child_no, edge_type, child_salience)
    select insert_edges.corpus_id, n.parent_no, n.child_no, n.edge_type,
      coalesce(case n.edge_type when 'reference' then (
        select t.salience from ragdb.turns t
        where t.corpus_id = insert_edges.corpus_id and t.chunk_no = n.child_no) end, 0.5)
    from unnest(edges) n
    order by n.parent_no, n.child_no
    on conflict on constraint edges_are_unique do nothing;
end $$;

-- Stores hyperlinks of chunks; one that is there already stays.
create or replace function ragdb_internal.insert_links(
  corpus_id integer, links ragdb_internal.chunk_link[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = auto
as $$
begin
  insert into ragdb.document_links (corpus_id, chunk_no, target)
    select insert_links.corpus_id, n.chunk_no, n.target from unnest(links) n
    order by n.chunk_no, n.target
    on conflict on constraint document_links_are_unique do nothing;
end $$;

-- Makes the reference edges of some chunks what their hyperlinks say: an edge to the first chunk of
-- each document that a link leads to.
create or replace function ragdb_internal.resolve_links(corpus_id integer, linking integer[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
as $$
declare
  v_edges constant ragdb_internal.chunk_edge[] := array(
    select e from ragdb_internal.linked_edges(corpus_id, linking) e);
begin
  delete from ragdb.edges e where e.ctid = any (array(
    select o.ctid from unnest(linking) a (chunk_no)
      cross join lateral (
        select h.ctid, h.child_no from ragdb.edges h
        where h.corpus_id = resolve_links.corpus_id and h.parent_no = a.chunk_no
          and h.edge_type = 'reference' and not h.is_added offset 0) o
    where not ragdb_internal.is_answer(resolve_links.corpus_id, a.chunk_no, o.child_no)
      and not exists (select from unnest(v_edges) n
        where n.parent_no = a.chunk_no and n.child_no = o.child_no)));
  perform ragdb_internal.insert_edges(resolve_links.corpus_id, v_edges);
end $$;

-- Makes the edges and links of the given chunks what they shall be, and resolves links to the given
-- uris again.
create or replace function ragdb_internal.link_chunks(
  corpus_id integer, planned ragdb_internal.planned_chunk[], links ragdb_internal.chunk_link[],
  kept integer[], uris text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_id constant integer := link_chunks.corpus_id;
  -- the edges of turns are what was said to what: ragdb.put_conversations writes them
  v_conversations constant integer[] := ragdb_internal.conversations_among(
    v_id, array(select distinct p.doc_no from unnest(planned) p));
  v_edges constant ragdb_internal.chunk_edge[] := array(
    select e from ragdb_internal.document_edges(planned, v_conversations) e);
  v_linking integer[];
begin
  if cardinality(kept) > 0 then
    perform ragdb_internal.drop_old_edges(v_id, kept, v_edges, links);
  end if;
  perform ragdb_internal.insert_edges(v_id, v_edges);
  perform ragdb_internal.insert_links(v_id, links);
  perform ragdb_internal.renew_statistics('{ragdb.edges,ragdb.document_links}');
  v_linking := array(
    select k from unnest(kept) k
    union
    select l.chunk_no from unnest(links) l
    union
    select l.chunk_no from unnest(uris) u (uri)
      cross join lateral (
        select h.chunk_no from ragdb.document_links h
        where h.corpus_id = v_id and h.target = u.uri offset 0) l);
  if cardinality(v_linking) > 0 then
    perform ragdb_internal.resolve_links(v_id, v_linking);
  end if;
end $$;
