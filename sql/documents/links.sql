-- Nothing is known of how many rows a call's arrays hold, and one wrong guess is a nested loop over
-- all pairs.
create or replace function ragdb_internal.document_edges(
  chunk_nos integer[], doc_nos integer[], ordinals integer[], headings jsonb[],
    except_doc_nos integer[]
) returns table (parent_no integer, child_no integer, edge_type text)
language sql stable parallel safe
set enable_nestloop = off
set enable_mergejoin = off
begin atomic
  with chunk as materialized (
    select k.*, lead(k.chunk_no) over (partition by k.doc_no order by k.ordinal) as next_no,
      first_value(k.chunk_no) over (partition by k.doc_no, k.heading order by k.ordinal) as head_no
    from unnest(chunk_nos, doc_nos, ordinals, headings) k (chunk_no, doc_no, ordinal, heading)
    where k.doc_no <> all (except_doc_nos)
  ), head as materialized (
    select c.chunk_no, c.doc_no, array(select jsonb_array_elements_text(c.heading)) as heading
    from chunk c where c.head_no = c.chunk_no and c.heading <> '[]'
  ), above as materialized (
    -- apart, or the join below is one of all sections of a document with each other
    select h.chunk_no, h.doc_no, n, h.heading[1:n] as heading
    from head h, generate_series(1, cardinality(h.heading) - 1) n
  )
  select c.chunk_no, c.next_no, 'default' from chunk c where c.next_no is not null
  union all
  select c.head_no, c.chunk_no, 'branch' from chunk c where c.head_no <> c.chunk_no
    and c.heading <> '[]'
  union all
  (select distinct on (o.chunk_no) a.chunk_no, o.chunk_no, 'branch'
  from above o join head a on a.doc_no = o.doc_no and a.heading = o.heading
  order by o.chunk_no, o.n desc);
end;
comment on function ragdb_internal.document_edges(integer[], integer[], integer[], jsonb[], integer[]) is
  'Returns the edges between chunks of documents: next chunk (default), chunk of a section and '
  'section below (branch).';

-- Edges and links of documents are worked out anew and compared: an edge that stays is not touched.
-- What is written is gathered first: the checks of foreign keys follow a statement under its
-- plan_cache_mode, and to plan each of them anew takes longer than all the rest of a row.
create or replace function ragdb_internal.link_chunks(
  corpus_id integer, chunk_nos integer[], doc_nos integer[], ordinals integer[], headings jsonb[],
  link_doc_nos integer[], link_ordinals integer[], link_targets text[], kept integer[], uris text[]
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_id integer := link_chunks.corpus_id;
  v_turns integer[];
  v_parents integer[];
  v_children integer[];
  v_types text[];
  v_linking integer[];
  v_targets text[];
begin
  -- the edges of turns are what was said to what: ragdb.put_conversations writes them
  v_turns := array(select d.doc_no from (select distinct k from unnest(doc_nos) k) k
    join ragdb.documents d on d.corpus_id = v_id and d.doc_no = k.k
      where d.chunking ->> 'chunker' = 'turns/1');
  select array_agg(e.parent_no), array_agg(e.child_no), array_agg(e.edge_type) into v_parents,
    v_children, v_types
    from ragdb_internal.document_edges(chunk_nos, doc_nos, ordinals, headings, v_turns) e;
  select array_agg(k.chunk_no), array_agg(l.target) into v_linking, v_targets
    from unnest(link_doc_nos, link_ordinals, link_targets) l (doc_no, ordinal, target)
      join unnest(chunk_nos, doc_nos, ordinals) k (chunk_no, doc_no, ordinal)
        on k.doc_no = l.doc_no and k.ordinal = l.ordinal;
  if cardinality(kept) > 0 then
    delete from ragdb.edges e using unnest(kept) k (chunk_no)
      where e.corpus_id = v_id and e.parent_no = k.chunk_no and e.edge_type in ('default', 'branch')
        and not exists (select from ragdb.turns t where t.corpus_id = v_id
          and t.chunk_no = e.parent_no)
        and not exists (select from unnest(v_parents, v_children, v_types) d (parent_no, child_no,
          edge_type)
          where (d.parent_no, d.child_no, d.edge_type) = (e.parent_no, e.child_no, e.edge_type));
    delete from ragdb.document_links l using unnest(kept) k (chunk_no)
      where l.corpus_id = v_id and l.chunk_no = k.chunk_no
        and not exists (select from unnest(v_linking, v_targets) d (chunk_no, target)
          where d.chunk_no = l.chunk_no and d.target = l.target);
  end if;
  set local plan_cache_mode = auto;
  insert into ragdb.edges (corpus_id, parent_no, child_no, edge_type)
    select v_id, d.parent_no, d.child_no, d.edge_type
    from unnest(v_parents, v_children, v_types) d (parent_no, child_no, edge_type)
    order by d.parent_no, d.child_no
    on conflict on constraint edges_are_unique do nothing;
  insert into ragdb.document_links (corpus_id, chunk_no, target)
    select v_id, d.chunk_no, d.target from unnest(v_linking, v_targets) d (chunk_no, target)
    order by d.chunk_no, d.target
    on conflict on constraint document_links_are_unique do nothing;
  set local plan_cache_mode = force_custom_plan;

  v_linking := array(
    select k from unnest(kept || v_linking) k
    union
    select l.chunk_no from unnest(uris) u (uri) join ragdb.document_links l on l.corpus_id = v_id
      and l.target = u.uri);
  if cardinality(v_linking) = 0 then
    return;
  end if;
  select array_agg(d.parent_no), array_agg(d.child_no) into v_parents, v_children
  from (
    select distinct l.chunk_no as parent_no, c.chunk_no as child_no
    from unnest(v_linking) a (chunk_no)
      join ragdb.document_links l on l.corpus_id = v_id and l.chunk_no = a.chunk_no
      join ragdb.document_sources s on s.corpus_id = v_id and s.uri = l.target
      join ragdb.chunks c on c.corpus_id = v_id and c.doc_no = s.doc_no and c.ordinal = 0
    where l.chunk_no <> c.chunk_no) d;
  delete from ragdb.edges e using unnest(v_linking) a (chunk_no)
    where e.corpus_id = v_id and e.parent_no = a.chunk_no and e.edge_type = 'reference'
      and not exists (select from ragdb.turns t where t.corpus_id = v_id
        and t.chunk_no = e.parent_no)
      and not exists (select from unnest(v_parents, v_children) d (parent_no, child_no)
        where d.parent_no = e.parent_no and d.child_no = e.child_no);
  set local plan_cache_mode = auto;
  insert into ragdb.edges (corpus_id, parent_no, child_no, edge_type)
    select v_id, d.parent_no, d.child_no,
      'reference' from unnest(v_parents, v_children) d (parent_no, child_no)
    order by d.parent_no, d.child_no
    on conflict on constraint edges_are_unique do nothing;
end $$;
comment on function ragdb_internal.link_chunks(integer, integer[], integer[], integer[], jsonb[], integer[],
  integer[], text[], integer[], text[]) is
  'Makes the edges and links of the given chunks what they shall be, and resolves links to the '
  'given uris again.';
