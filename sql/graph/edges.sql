-- Edges that are added by themselves: between turns of different sessions, between turns and
-- documents. They stay as long as both chunks.

create type ragdb.edge as (parent_id text, child_id text, edge_type text, is_added boolean);
comment on type ragdb.edge is
  'An edge between two chunks; is_added where it was added by itself, so that no document says it.';

-- An edge as it is given, with its position from 0.
create type ragdb_internal.given_edge as (n bigint, parent_id text, child_id text, edge_type text);

-- Reads edges, at most 10000; a type that is not given is reference. Raises RG412.
create or replace function ragdb_internal.given_edges(edges jsonb)
returns ragdb_internal.given_edge[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_most constant integer := (ragdb_internal.limits()).call_documents;
  v_bad bigint;
begin
  if coalesce(jsonb_typeof(edges), 'null') <> 'array' or jsonb_array_length(edges) > v_most then
    raise exception 'edges is not an array of at most %', v_most
      using errcode = 'RG412', detail = 'a call is one transaction',
        hint = 'one edge goes in an array of one';
  end if;
  select e.n - 1 into v_bad from jsonb_array_elements(edges) with ordinality e (v, n)
    where coalesce(jsonb_typeof(e.v) <> 'object' or jsonb_typeof(e.v -> 'parent') <> 'string'
        or jsonb_typeof(e.v -> 'child') <> 'string' or e.v ->> 'parent' = e.v ->> 'child'
        or ragdb_internal.edge_order(coalesce(e.v ->> 'edge_type', 'reference')) is null
        or e.v - array['parent', 'child', 'edge_type'] <> '{}', true)
    order by e.n limit 1;
  if v_bad is not null then
    raise exception 'edge at position % does not lead from one chunk to another', v_bad
      using errcode = 'RG412', detail = 'positions count from 0; nothing was written',
        hint = 'an edge is {"parent", "child", "edge_type"}: two chunk ids, and reply, branch, '
          'reference or default; ids of turns are UUIDs in lower case';
  end if;
  return array(
    select row(e.n - 1, e.v ->> 'parent', e.v ->> 'child',
        coalesce(e.v ->> 'edge_type', 'reference'))::ragdb_internal.given_edge
      from jsonb_array_elements(edges) with ordinality e (v, n) order by e.n);
end $$;

-- Returns edges by the numbers of their chunks. Raises RG406.
create or replace function ragdb_internal.numbered_ends(
  corpus_id integer, edges ragdb_internal.given_edge[])
returns ragdb_internal.chunk_edge[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set cpu_index_tuple_cost = 1000
as $$
#variable_conflict use_column
declare
  v_missing record;
begin
  select g.n, i.id into v_missing from unnest(edges) g
    cross join lateral (values (g.parent_id), (g.child_id)) i (id)
    left join lateral (select c.chunk_no from ragdb.chunks c
      where c.corpus_id = numbered_ends.corpus_id and c.chunk_id = i.id offset 0) k on true
    where k.chunk_no is null
    order by g.n limit 1;
  if found then
    raise exception 'edge at position %: the corpus has no chunk %', v_missing.n,
        ragdb_internal.quote(v_missing.id)
      using errcode = 'RG406', detail = 'an edge joins two chunks of one corpus',
        hint = 'ragdb.search() gives chunk ids; ids of turns are UUIDs in lower case';
  end if;
  return array(
    select distinct row(p.chunk_no, k.chunk_no, g.edge_type)::ragdb_internal.chunk_edge
      from unnest(edges) g
      cross join lateral (select c.chunk_no from ragdb.chunks c
        where c.corpus_id = numbered_ends.corpus_id and c.chunk_id = g.parent_id offset 0) p
      cross join lateral (select c.chunk_no from ragdb.chunks c
        where c.corpus_id = numbered_ends.corpus_id and c.chunk_id = g.child_id offset 0) k);
end $$;

-- Derives what edges that were added or removed change. A reply within a session moves what is
-- below it, and who stands beside that; of any other edge the child alone is weighed
-- (referred.sql).
create or replace function ragdb_internal.derive_joined(
  corpus_id integer, edges ragdb_internal.chunk_edge[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set cpu_index_tuple_cost = 1000
as $$
#variable_conflict use_column
declare
  v_sessions constant text[] := array(
    select distinct k.session_id from unnest(edges) e
      cross join lateral (select t.session_id from ragdb.turns t
        where t.corpus_id = derive_joined.corpus_id and t.chunk_no = e.parent_no offset 0) p
      cross join lateral (select t.session_id from ragdb.turns t
        where t.corpus_id = derive_joined.corpus_id and t.chunk_no = e.child_no offset 0) k
      where e.edge_type in ('reply', 'branch') and p.session_id = k.session_id);
begin
  perform ragdb_internal.derive_turns(derive_joined.corpus_id, v_sessions,
    ragdb_internal.first_below(derive_joined.corpus_id, array(
      select e.child_no from unnest(edges) e where e.edge_type in ('reply', 'branch'))));
  perform ragdb_internal.spread_salience(derive_joined.corpus_id, array(
    select distinct e.child_no from unnest(edges) e));
end $$;

-- Stores edges that are added, on record, derives what they change, and returns how many are new;
-- the caller holds the corpus lock. Raises RG412.
create or replace function ragdb_internal.join_chunks(
  corpus_id integer, edges ragdb_internal.chunk_edge[])
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = auto
as $$
declare
  v_joined ragdb_internal.chunk_edge[];
begin
  with joined as (
    insert into ragdb.edges as e (corpus_id, parent_no, child_no, edge_type, is_added)
      select join_chunks.corpus_id, n.parent_no, n.child_no, n.edge_type, true
        from unnest(edges) n order by n.parent_no, n.child_no, n.edge_type
      on conflict on constraint edges_are_unique do nothing
      returning e.parent_no, e.child_no, e.edge_type
  )
  select coalesce(array_agg(row(j.*)::ragdb_internal.chunk_edge), '{}') into v_joined
    from joined j;
  perform ragdb_internal.record_edges(join_chunks.corpus_id, v_joined, true);
  perform ragdb_internal.check_acyclic(join_chunks.corpus_id, edges);
  perform ragdb_internal.derive_joined(join_chunks.corpus_id, edges);
  return cardinality(v_joined);
end $$;

create or replace function ragdb.add_edges(corpus text, edges jsonb) returns integer
language plpgsql security definer -- edges are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(add_edges.corpus, 'write');
  v_given constant ragdb_internal.given_edge[] := ragdb_internal.given_edges(add_edges.edges);
begin
  v_corpus := ragdb_internal.lock_corpus(add_edges.corpus, 'write');
  return ragdb_internal.join_chunks(v_corpus.corpus_id,
    ragdb_internal.numbered_ends(v_corpus.corpus_id, v_given));
end $$;
comment on function ragdb.add_edges is
  'Joins chunks of a corpus, turns of any sessions and chunks of documents, by at most 10000 edges '
  '{"parent", "child", "edge_type"}: two chunk ids, and reply, branch, reference (the default) or '
  'default. Returns how many are new. They stay as long as both chunks. A reply within a session '
  'has the turns from it on derived anew. Raises RG400, RG401, RG404, RG406, RG412.';

-- Takes added edges away, on record, derives what they change, and returns how many went; the
-- caller holds the corpus lock. What a document has come to say since is an edge of its own then.
create or replace function ragdb_internal.part_chunks(
  corpus_id integer, edges ragdb_internal.chunk_edge[])
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_parted ragdb_internal.chunk_edge[];
  v_doc_nos integer[];
begin
  with parted as (
    delete from ragdb.edges e using unnest(edges) g
      where e.corpus_id = part_chunks.corpus_id and e.parent_no = g.parent_no
        and e.child_no = g.child_no and e.edge_type = g.edge_type and e.is_added
      returning g.*
  )
  select coalesce(array_agg(row(p.*)::ragdb_internal.chunk_edge), '{}') into v_parted
    from parted p;
  v_doc_nos := array(
    select distinct c.doc_no from unnest(v_parted) p
      cross join lateral (select o.doc_no from ragdb.chunks o
        where o.corpus_id = part_chunks.corpus_id and o.chunk_no = p.parent_no offset 0) c);
  perform ragdb_internal.record_edges(part_chunks.corpus_id, v_parted, false),
    ragdb_internal.insert_edges(part_chunks.corpus_id, array(
      select s from ragdb_internal.said_edges(part_chunks.corpus_id, v_doc_nos) s
      where s = any (v_parted)));
  perform ragdb_internal.derive_joined(part_chunks.corpus_id, edges);
  return cardinality(v_parted);
end $$;

create or replace function ragdb.remove_edges(corpus text, edges jsonb) returns integer
language plpgsql security definer -- edges are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(remove_edges.corpus, 'write');
  v_given constant ragdb_internal.given_edge[] := ragdb_internal.given_edges(remove_edges.edges);
begin
  v_corpus := ragdb_internal.lock_corpus(remove_edges.corpus, 'write');
  return ragdb_internal.part_chunks(v_corpus.corpus_id,
    ragdb_internal.numbered_ends(v_corpus.corpus_id, v_given));
end $$;
comment on function ragdb.remove_edges is
  'Takes away edges that ragdb.add_edges added, given as it takes them, and returns how many. An '
  'edge that a document or a conversation says stays. Raises RG400, RG401, RG404, RG406, RG412.';
