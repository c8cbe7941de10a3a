-- The graph of a slice as rows: a chunk each, with its edges to the others.

-- Says in a sentence why a slice did not take a chunk.
create or replace function ragdb_internal.refusal_detail(
  reason text, rules ragdb_internal.slice_rules)
returns text
language sql immutable parallel safe
return case refusal_detail.reason
  when 'score' then 'others had a higher priority, and the policy takes '
    || ragdb_internal.counted((rules).max_nodes, 'chunk')
  when 'budget' then 'the policy takes ' || ragdb_internal.counted((rules).max_nodes, 'chunk')
    || ', which it had before anything led here'
  when 'depth' then 'it is farther than '
    || ragdb_internal.counted((rules).max_radius, 'step') || ' from the anchor'
  when 'policy' then case when (rules).max_siblings = 0 then 'the policy takes no siblings'
    else 'of the siblings of a chunk the policy takes ' || (rules).max_siblings end
  when 'changed' then 'it would be taken now: the graph has changed since' end;

-- Returns what is shown of the chunks of a graph, with the edges that lead to each from another.
create or replace function ragdb_internal.slice_graph_rows(
  corpus_id integer, nodes ragdb_internal.slice_refusal[], rules ragdb_internal.slice_rules)
returns table (chunk_no integer, chunk_id text, source text, text text, content_hash bytea,
  session_id text, role text, phase text, salience real, priority real, parents text[],
  edge_types text[])
language sql stable parallel safe
begin atomic
  select n.chunk_no, c.chunk_id, c.source, c.text, ragdb_internal.content_hash(c.text),
    t.session_id, t.role, t.phase, t.salience,
    ragdb_internal.slice_priority(t.phase, t.salience, -n.distance, rules), e.parents, e.edge_types
  from pg_catalog.unnest(slice_graph_rows.nodes) n
  cross join lateral (
    select c.chunk_id, c.source, c.text from ragdb.chunks c
      where c.corpus_id = slice_graph_rows.corpus_id and c.chunk_no = n.chunk_no offset 0) c
  left join lateral (
    select t.session_id, t.role, t.phase, t.salience from ragdb.turns t
      where t.corpus_id = slice_graph_rows.corpus_id and t.chunk_no = n.chunk_no offset 0) t on true
  cross join lateral (
    select coalesce(pg_catalog.array_agg(p.chunk_id order by p.chunk_id, g.edge_type), '{}')
        as parents,
      coalesce(pg_catalog.array_agg(g.edge_type order by p.chunk_id, g.edge_type), '{}')
        as edge_types
    from ragdb.edges g
      join ragdb.chunks p on p.corpus_id = g.corpus_id and p.chunk_no = g.parent_no
    where g.corpus_id = slice_graph_rows.corpus_id and g.child_no = n.chunk_no
      and g.parent_no = any (
        array(select o.chunk_no from pg_catalog.unnest(slice_graph_rows.nodes) o))) e;
end;

-- Returns the members of a slice in order of selection, then the nearest of what it refused, at
-- most so many.
create or replace function ragdb_internal.graph_nodes(
  corpus_id integer, slice ragdb.slices, rules ragdb_internal.slice_rules, refused integer)
returns ragdb_internal.slice_refusal[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_nos constant integer[] := array(
    select c.chunk_no from unnest(slice.selection_order) with ordinality o (chunk_id, place)
      left join lateral (select c.chunk_no from ragdb.chunks c
        where c.corpus_id = graph_nodes.corpus_id and c.chunk_id = o.chunk_id offset 0) c on true
      order by o.place);
  v_meetings constant ragdb_internal.slice_meeting[] := array(
    select m from ragdb_internal.slice_meetings(graph_nodes.corpus_id, v_nos, rules) m);
  v_distances constant integer[] :=
    ragdb_internal.slice_distances(v_meetings, v_nos, rules.max_radius);
begin
  return array(
      select row(m.chunk_no, v_distances[m.place], null, m.place)::ragdb_internal.slice_refusal
        from unnest(v_nos) with ordinality m (chunk_no, place))
    || array(
      select r from ragdb_internal.slice_refusals(v_meetings, v_nos, v_distances, rules) r
        order by r.distance, r.beside, r.chunk_no limit graph_nodes.refused);
end $$;

-- Definer: chunks, edges and slices are granted to nobody.
create or replace function ragdb.slice_graph(
  corpus text, slice_id text default null, anchor text default null, policy jsonb default null,
  refused integer default 100)
returns table (
  chunk_id text, is_admitted boolean, place integer, distance integer, priority real, reason text,
  detail text, is_unchanged boolean, source text, session_id text, role text, phase text,
  salience real, text text, parents text[], edge_types text[])
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(slice_graph.corpus, 'read', false, true);
  v_named record;
  v_slice ragdb.slices;
  v_rules ragdb_internal.slice_rules;
  v_nodes ragdb_internal.slice_refusal[];
begin
  if slice_graph.refused is null or slice_graph.refused not between 0 and 10000 then
    raise exception 'refused is %', coalesce(slice_graph.refused::text, 'null')
      using errcode = 'RG400', hint = 'give 0 to 10000',
        detail = 'it is how many of the chunks that were not admitted are returned at most';
  end if;
  v_named := ragdb_internal.named_slice(
    v_corpus, slice_graph.slice_id, slice_graph.anchor, slice_graph.policy);
  v_slice := v_named.slice;
  v_rules := ragdb_internal.slice_rules((v_named.resolved).policy);
  v_nodes := ragdb_internal.graph_nodes(
    v_corpus.corpus_id, v_slice, v_rules, slice_graph.refused);
  return query
    select coalesce(g.chunk_id, v_slice.selection_order[n.place]), n.reason is null,
        case when n.reason is null then n.place::integer end, n.distance, g.priority, n.reason,
        ragdb_internal.refusal_detail(n.reason, v_rules),
        case when n.reason is null then g.content_hash is not distinct from h.content_hash end,
        g.source, g.session_id, g.role, g.phase, g.salience, left(g.text, 400),
        coalesce(g.parents, '{}'), coalesce(g.edge_types, '{}')
      from rows from (unnest(v_nodes)) with ordinality
          n (chunk_no, distance, reason, beside, place)
        left join ragdb_internal.slice_graph_rows(v_corpus.corpus_id, v_nodes, v_rules) g
          on g.chunk_no = n.chunk_no
        left join unnest(v_slice.chunk_ids, v_slice.content_hashes) h (chunk_id, content_hash)
          on n.reason is null and h.chunk_id = v_slice.selection_order[n.place]
      order by n.place;
end $$;
comment on function ragdb.slice_graph is
  'Returns the chunks of a slice (by the id of a stored one, or by anchor and policy) in order of '
  'selection, then those beside them that it refused, nearest first, at most refused (0 to '
  '10000), each with its edges: parents are the ids of shown chunks that lead to it, edge_types '
  'the type of each edge. reason says why a chunk was refused: score (others had a higher '
  'priority), budget (max_nodes were taken before), depth (past max_radius), policy (a sibling '
  'that it does not take), or changed (it would be taken now). place and distance count from 1 '
  'and 0; priority is null past the radius; is_unchanged is whether a member says what it said; '
  'text is the first 400 characters. Raises RG400, RG404, RG430, RG431, RG434, RG435.';
