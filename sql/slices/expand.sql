-- Best-first expansion, the inner loop of every slice: it takes the best node of the frontier, then
-- adds that node's neighbours and siblings to the frontier. The cost follows the slice and not the
-- graph.

-- Some of the chunks that an expansion has met. A chunk that was met once is not met again. Met
-- chunks lie in 4,096 buckets by their number, so that a look into one is short.
create type ragdb_internal.met_bucket as (chunk_nos integer[]);

-- Returns the chunks that a complete policy admits around an anchor, in order of selection, with
-- their distance of discovery. The frontier is a binary heap, because PL/pgSQL changes one element
-- of its own array in constant time. It would copy the array into every function that it called, so
-- the heap and the met chunks stay in this one body. Two shortcuts change no result. Of more than
-- max_nodes neighbours only the best max_nodes that are new are met: the others could never be
-- taken, and v_hubs keeps them out. Where every parent of a chunk has been expanded, all its
-- siblings have been met.
create or replace function ragdb_internal.expand_slice(
  corpus_id integer, anchor_no integer, policy jsonb)
returns table (chunk_ids text[], distances integer[])
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_corpus constant integer := expand_slice.corpus_id;
  v_rules constant ragdb_internal.slice_rules := ragdb_internal.slice_rules(policy);
  v_frontier ragdb_internal.slice_node[] := '{}';
  v_waiting integer := 0;
  v_at integer;
  v_below integer;
  v_node ragdb_internal.slice_node;
  v_taken ragdb_internal.slice_node;
  v_count integer := 0;
  v_met ragdb_internal.met_bucket[] := array_fill(null::ragdb_internal.met_bucket, array[4096]);
  v_bucket integer;
  v_chunk_no integer;
  v_new integer[];
  v_parents integer[];
  v_children integer[];
  v_neighbours integer[] := array[anchor_no];
  v_siblings integer[] := '{}';
  v_expanded integer[] := '{}';
  v_hubs integer[] := '{}';
  v_is_hub boolean := false;
begin
  v_taken.nearness := 1;  -- the anchor is its neighbour, hence at 0
  loop
    -- meet what is new
    v_new := '{}';
    foreach v_chunk_no in array v_neighbours || v_siblings loop
      v_bucket := v_chunk_no % 4096 + 1;
      continue when v_chunk_no = any (v_met[v_bucket].chunk_nos)
        or v_hubs <> '{}' and ragdb_internal.is_beside(v_corpus, v_hubs, v_chunk_no);
      v_met[v_bucket].chunk_nos := v_met[v_bucket].chunk_nos || v_chunk_no;
      v_new := v_new || v_chunk_no;
    end loop;
    if v_is_hub then
      v_hubs := v_hubs || v_taken.chunk_no;
    end if;

    -- push it: up from the end while what stands above is smaller
    if v_new <> '{}' then
      foreach v_node in array array(select n from ragdb_internal.slice_nodes(
        v_corpus, v_new, v_neighbours, v_taken.nearness, v_rules) n)
      loop
        v_waiting := v_waiting + 1;
        v_at := v_waiting;
        while v_at > 1 and v_frontier[v_at / 2] < v_node loop
          v_frontier[v_at] := v_frontier[v_at / 2];
          v_at := v_at / 2;
        end loop;
        v_frontier[v_at] := v_node;
      end loop;
    end if;
    exit when v_waiting = 0;

    -- take the best; the last sinks from its place while what stands below is greater
    v_taken := v_frontier[1];
    v_node := v_frontier[v_waiting];
    v_waiting := v_waiting - 1;
    v_at := 1;
    loop
      v_below := 2 * v_at;
      if v_below < v_waiting and v_frontier[v_below + 1] > v_frontier[v_below] then
        v_below := v_below + 1;
      end if;
      exit when v_below > v_waiting or v_frontier[v_below] < v_node;
      v_frontier[v_at] := v_frontier[v_below];
      v_at := v_below;
    end loop;
    v_frontier[v_at] := v_node;
    v_count := v_count + 1;
    chunk_ids[v_count] := v_taken.chunk_id;
    distances[v_count] := -v_taken.nearness;
    exit when v_count = v_rules.max_nodes;

    -- look around
    v_neighbours := '{}';
    v_siblings := '{}';
    v_is_hub := false;
    continue when -v_taken.nearness = v_rules.max_radius;
    v_parents := array(select distinct e.parent_no from ragdb.edges e
      where e.corpus_id = v_corpus and e.child_no = v_taken.chunk_no);
    v_children := array(select e.child_no from ragdb.edges e
      where e.corpus_id = v_corpus and e.parent_no = v_taken.chunk_no
      order by e.child_no limit v_rules.max_nodes + 1);
    v_is_hub :=
      greatest(cardinality(v_parents), cardinality(v_children)) > v_rules.max_nodes;
    if v_is_hub then
      v_neighbours := array(select b from ragdb_internal.slice_best_neighbours(
        v_corpus, v_taken.chunk_no,
        array(select u from unnest(v_met) m cross join unnest(m.chunk_nos) u),
        v_hubs, v_taken.nearness - 1, v_rules) b);
    else
      v_neighbours := v_parents || v_children;
    end if;
    if v_rules.max_siblings > 0 and not v_parents <@ v_expanded then
      v_siblings := array(select s from ragdb_internal.slice_siblings(
        v_corpus, v_taken.chunk_no, v_parents, v_rules.max_siblings) s
        -- of a hub, a sibling that is a neighbour too is met as a neighbour, or is never taken
        where not (v_is_hub
          and ragdb_internal.is_beside(v_corpus, array[v_taken.chunk_no], s)));
    end if;
    v_expanded := v_expanded || v_taken.chunk_no;
  end loop;
  return next;
end $$;
