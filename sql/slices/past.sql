-- Slices of a corpus as it was. The order of selection is that of slices/expand.sql, found the
-- plain way: every step looks at the whole frontier.

-- Returns the edges of a corpus as it was that leave some chunks or point to others; changed are
-- those that are not in the graph of today.
create or replace function ragdb_internal.edges_beside(
  corpus ragdb.corpora, changed ragdb.edges[], parents integer[], children integer[])
returns setof ragdb.edges
language sql stable parallel safe
begin atomic
  select e.* from ragdb.edges e
  where e.corpus_id = (edges_beside.corpus).corpus_id
    and (e.parent_no = any (edges_beside.parents) or e.child_no = any (edges_beside.children))
    and e.parent_no < (edges_beside.corpus).next_chunk_no
    and e.child_no < (edges_beside.corpus).next_chunk_no
    and not exists (
      select from ragdb_internal.changed_since(edges_beside.corpus, 'edge') k
      where k.key = pg_catalog.concat_ws(' ', e.parent_no, e.child_no, e.edge_type))
  union all
  select c.* from pg_catalog.unnest(edges_beside.changed) c
  where c.parent_no = any (edges_beside.parents) or c.child_no = any (edges_beside.children);
end;

-- Returns the edges of a corpus as it was that have changed or gone since.
create or replace function ragdb_internal.changed_edges(corpus ragdb.corpora)
returns ragdb.edges[]
language sql stable parallel safe
return array(
  select r from ragdb_internal.images(changed_edges.corpus, 'edge') i
    cross join lateral pg_catalog.jsonb_populate_record(null::ragdb.edges, i.was) r
  where i.was is not null
    and r.parent_no < (changed_edges.corpus).next_chunk_no
    and r.child_no < (changed_edges.corpus).next_chunk_no);

-- Returns some chunks of a corpus as it was as nodes of a nearness, which is minus the distance.
create or replace function ragdb_internal.slice_nodes_then(
  corpus ragdb.corpora, chunk_nos integer[], nearness integer, rules ragdb_internal.slice_rules)
returns ragdb_internal.slice_node[]
language sql stable parallel safe
return array(
  select row(ragdb_internal.slice_priority(t.phase, t.salience, slice_nodes_then.nearness, rules),
    slice_nodes_then.nearness, c.chunk_id, c.chunk_no)::ragdb_internal.slice_node
  from ragdb_internal.chunks_then(slice_nodes_then.corpus) c
    left join ragdb_internal.turns_then(slice_nodes_then.corpus) t on t.chunk_no = c.chunk_no
  where c.chunk_no = any (slice_nodes_then.chunk_nos));

-- Returns the siblings of a chunk as ragdb_internal.slice_siblings does for today.
create or replace function ragdb_internal.siblings_then(
  corpus ragdb.corpora, changed ragdb.edges[], chunk_no integer, parents integer[],
  max_siblings integer)
returns integer[]
language sql stable parallel safe
return array(
  select s.child_no
  from (
      select e.child_no, pg_catalog.max(e.child_salience) as salience
      from ragdb_internal.edges_beside(siblings_then.corpus, siblings_then.changed,
        siblings_then.parents, '{}') e
      where e.child_no <> siblings_then.chunk_no
      group by e.child_no) s
    join ragdb_internal.chunks_then(siblings_then.corpus) c on c.chunk_no = s.child_no
  order by s.salience desc, c.chunk_id limit siblings_then.max_siblings);

-- Returns the chunks that a complete policy admitted around an anchor of a corpus as it was, in
-- order of selection, with their distances.
create or replace function ragdb_internal.expand_then(
  corpus ragdb.corpora, anchor_no integer, policy jsonb, out chunk_ids text[],
  out distances integer[])
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rules constant ragdb_internal.slice_rules := ragdb_internal.slice_rules(policy);
  v_changed constant ragdb.edges[] := ragdb_internal.changed_edges(corpus);
  v_frontier ragdb_internal.slice_node[] :=
    ragdb_internal.slice_nodes_then(corpus, array[anchor_no], 0, v_rules);
  v_met integer[] := array[anchor_no];
  v_taken ragdb_internal.slice_node;
  v_parents integer[];
  v_new integer[];
begin
  while v_frontier <> '{}' and coalesce(cardinality(chunk_ids), 0) < v_rules.max_nodes loop
    select n.* into v_taken from unnest(v_frontier) n order by n desc limit 1;
    v_frontier := array(
      select n from unnest(v_frontier) n where n.chunk_no <> v_taken.chunk_no);
    chunk_ids := chunk_ids || v_taken.chunk_id;
    distances := distances || -v_taken.nearness;
    continue when -v_taken.nearness >= v_rules.max_radius;
    v_parents := array(
      select distinct e.parent_no from ragdb_internal.edges_beside(
        corpus, v_changed, '{}', array[v_taken.chunk_no]) e);
    v_new := array(
      select unnest(v_parents)
      union
      select e.child_no from ragdb_internal.edges_beside(
        corpus, v_changed, array[v_taken.chunk_no], '{}') e
      except
      select unnest(v_met));
    v_met := v_met || v_new;
    v_frontier := v_frontier || ragdb_internal.slice_nodes_then(
      corpus, v_new, v_taken.nearness - 1, v_rules);
    v_new := array(
      select unnest(ragdb_internal.siblings_then(
        corpus, v_changed, v_taken.chunk_no, v_parents, v_rules.max_siblings))
      except
      select unnest(v_met));
    v_met := v_met || v_new;
    v_frontier := v_frontier || ragdb_internal.slice_nodes_then(
      corpus, v_new, v_taken.nearness, v_rules);
  end loop;
end $$;

-- Reads what the fingerprints of a slice cover of a corpus as it was.
create or replace function ragdb_internal.slice_content_then(corpus ragdb.corpora, ids text[])
returns ragdb_internal.slice_content
language sql stable parallel safe
begin atomic
  with member as materialized (
    select i.chunk_id collate "C" as chunk_id, c.chunk_no,
      ragdb_internal.content_hash(c.text) as content_hash
    from pg_catalog.unnest(slice_content_then.ids) i (chunk_id)
      left join ragdb_internal.chunks_then(slice_content_then.corpus) c on c.chunk_id = i.chunk_id
  ), inward as materialized (
    select p.chunk_id as parent_id, k.chunk_id as child_id, e.edge_type
    from ragdb_internal.edges_beside(slice_content_then.corpus,
        ragdb_internal.changed_edges(slice_content_then.corpus),
        array(select m.chunk_no from member m), '{}') e
      join member p on p.chunk_no = e.parent_no
      join member k on k.chunk_no = e.child_no
  )
  select row(
    (select pg_catalog.string_agg(ragdb_internal.packed(m.chunk_id)
        || coalesce(ragdb_internal.packed(m.content_hash), '\xffffffff'), '' order by m.chunk_id)
      from member m),
    (select pg_catalog.array_agg(m.content_hash order by m.chunk_id) from member m),
    (select pg_catalog.string_agg(ragdb_internal.packed(i.parent_id)
        || ragdb_internal.packed(i.child_id) || ragdb_internal.packed(i.edge_type), ''
        order by i.parent_id, i.child_id, ragdb_internal.edge_order(i.edge_type)) from inward i),
    (select count(*) from inward))::ragdb_internal.slice_content;
end;

-- Builds the slice of a resolved policy around an anchor of a corpus as it was. Raises RG434.
create or replace function ragdb_internal.assemble_slice_then(
  corpus ragdb.corpora, anchor text, policy ragdb.slice_policies,
  out slice ragdb.slices, out distances integer[])
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_anchor_no constant integer := (
    select c.chunk_no from ragdb_internal.chunks_then(corpus) c where c.chunk_id = anchor);
  v_found record;
begin
  if v_anchor_no is null then
    raise exception 'anchor % was not in corpus % at version %',
        ragdb_internal.quote(anchor), ragdb_internal.quote(corpus.name), corpus.version
      using errcode = 'RG434', detail = 'a slice is built around a chunk that was there',
        hint = 'ragdb.search() with the same as_of gives chunk ids';
  end if;
  v_found := ragdb_internal.expand_then(corpus, v_anchor_no, policy.policy);
  slice.anchor_chunk_id := anchor;
  slice.policy_id := policy.policy_id;
  slice.params_hash := policy.params_hash;
  slice.selection_order := v_found.chunk_ids;
  slice.chunk_ids := array(
    select u collate "C" from unnest(v_found.chunk_ids) u order by 1);
  slice := ragdb_internal.with_fingerprint(
    corpus, slice, ragdb_internal.slice_content_then(corpus, slice.chunk_ids));
  distances := v_found.distances;
end $$;
