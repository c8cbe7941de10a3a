-- Where a product of singles is too small for one, PostgreSQL raises 22003; existing slices have 0.
-- The product of two singles is exact as a double; up to 2^-150, half of the smallest single, it is
-- 0.
create or replace function ragdb_internal.slice_product(a real, b real) returns real
language sql immutable parallel safe
return case when slice_product.a::float8 * slice_product.b::float8
  <= 7.006492321624085e-46::float8 then 0::real
  else slice_product.a * slice_product.b end;
comment on function ragdb_internal.slice_product(real, real) is
  'Returns the product of two numbers of 0 or more in single precision, 0 where it is too small '
  'for that.';

-- A chunk that is no turn counts as exploration of middling salience.
create or replace function ragdb_internal.slice_weight(
  phase text, salience real, phases text[], weights real[], salience_weight real) returns real
language sql immutable parallel safe
return weights[coalesce(pg_catalog.array_position(phases, phase), 5)] + ragdb_internal.slice_product(
  coalesce(salience, 0.5::real), salience_weight);
comment on function ragdb_internal.slice_weight(text, real, text[], real[], real) is
  'Returns a chunk''s priority at distance 0: the weight of its phase plus its weighted salience, '
  'in single precision.';

-- Parents and children apart, because either side alone may be the crowd.
create or replace function ragdb_internal.slice_best_neighbours(
  corpus_id integer, chunk_no integer, factor real, count integer, phases text[], weights real[],
    salience_weight real)
returns table (chunk_no integer, chunk_id text, weight real)
language sql stable parallel safe
begin atomic
  (select n.parent_no, c.chunk_id, w.weight
    from (select distinct e.parent_no from ragdb.edges e
      where e.corpus_id = slice_best_neighbours.corpus_id
        and e.child_no = slice_best_neighbours.chunk_no) n
    join ragdb.chunks c on c.corpus_id = slice_best_neighbours.corpus_id
      and c.chunk_no = n.parent_no
    left join ragdb.turns t on t.corpus_id = slice_best_neighbours.corpus_id
      and t.chunk_no = n.parent_no
    cross join lateral (select ragdb_internal.slice_weight(t.phase, t.salience, phases, weights,
      salience_weight) as weight) w
    order by ragdb_internal.slice_product(w.weight, factor) desc, c.chunk_id desc limit count)
  union all
  (select n.child_no, c.chunk_id, w.weight
    from (select distinct e.child_no from ragdb.edges e
      where e.corpus_id = slice_best_neighbours.corpus_id
        and e.parent_no = slice_best_neighbours.chunk_no) n
    join ragdb.chunks c on c.corpus_id = slice_best_neighbours.corpus_id
      and c.chunk_no = n.child_no
    left join ragdb.turns t on t.corpus_id = slice_best_neighbours.corpus_id
      and t.chunk_no = n.child_no
    cross join lateral (select ragdb_internal.slice_weight(t.phase, t.salience, phases, weights,
      salience_weight) as weight) w
    order by ragdb_internal.slice_product(w.weight, factor) desc, c.chunk_id desc limit count);
end;
comment on function ragdb_internal.slice_best_neighbours(integer, integer, real, integer, text[], real[],
  real) is
  'Returns the best `count` parents and the best `count` children of a chunk by priority, then '
  'larger id.';

-- Best-first expansion, the inner loop of every slice. Few and short statements fetch what a
-- selected node adds to the frontier; what is known lives in arrays under small local numbers,
-- found again through an open-addressing table, and the frontier is a binary heap: the cost follows
-- the slice and not the graph. Priorities are single precision with the power by repeated squaring,
-- as in existing slices. Three shortcuts change no result. Of more than max_nodes neighbours only
-- the best max_nodes are fetched: the others could never be selected, and v_hubs keeps them
-- visited. Where every parent has been expanded, all siblings have been visited. Children of the
-- same parents share one list of siblings.
create or replace function ragdb_internal.expand_slice(corpus_id integer, anchor_no integer, policy jsonb)
returns table (chunk_nos integer[], chunk_ids text[], distances integer[])
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_corpus constant integer := expand_slice.corpus_id;
  v_max_nodes constant integer := (policy ->> 'max_nodes')::numeric;
  v_max_radius constant integer := (policy ->> 'max_radius')::numeric;
  v_max_siblings constant integer := case when (policy ->> 'include_siblings')::boolean
    then (policy ->> 'max_siblings_per_node')::numeric else 0 end;
  v_salience_weight constant real := (policy ->> 'salience_weight')::real;
  v_decay constant real := (policy ->> 'distance_decay')::real;
  v_phases constant text[] :=
    array['synthesis', 'planning', 'consolidation', 'debugging', 'exploration'];
  v_weights constant real[] := array(select (policy -> 'phase_weights' ->> p)::real
    from unnest(v_phases) with ordinality u(p, n) order by n);
  v_powers real[] := array[1]; v_power real; v_base real; v_exponent integer;
  -- nodes met so far, by local number; every one of them has been pushed
  v_nodes integer := 0;
  v_no integer[] := '{}'; v_id text[] := '{}';
  v_priority real[] := '{}'; v_distance integer[] := '{}';
  v_slots integer[] := array_fill(0, array[4096]); v_mask integer := 4095;
  v_heap integer[] := '{}'; v_size integer := 0;
  v_expanded integer[] := '{}'; v_hubs integer[] := '{}';
  v_is_hub boolean := false; v_has_hubs boolean := false;
  -- what the selected node adds: neighbours, then siblings
  v_parents integer[]; v_children integer[]; v_neighbours integer;
  v_new integer[]; v_new_no integer[]; v_new_id text[]; v_new_weight real[];
  v_kin_of integer[]; v_kin_no integer[]; v_kin_id text[]; v_kin_weight real[]; v_place integer;
  v_picked integer := 0; v_node integer; v_here integer; v_d integer; v_p real; v_other integer;
  i integer; j integer; c integer; n integer;
begin
  for n in 1..v_max_radius loop
    v_power := 1; v_base := v_decay; v_exponent := n;
    loop
      if v_exponent & 1 = 1 then v_power := ragdb_internal.slice_product(v_power, v_base); end if;
      v_exponent := v_exponent >> 1;
      exit when v_exponent = 0;
      v_base := ragdb_internal.slice_product(v_base, v_base);
    end loop;
    v_powers[n + 1] := v_power;
  end loop;
  v_new_no := array[anchor_no];
  select array[c.chunk_id],
      array[ragdb_internal.slice_weight(t.phase, t.salience, v_phases, v_weights, v_salience_weight)]
    into strict v_new_id, v_new_weight
    from ragdb.chunks c left join ragdb.turns t using (corpus_id, chunk_no)
    where c.corpus_id = v_corpus and c.chunk_no = anchor_no;
  v_d := -1; v_neighbours := 1;

  loop
    -- push what is new
    for k in 1..coalesce(cardinality(v_new_no), 0) loop
      n := v_new_no[k];
      i := ((n * 40503::bigint) & v_mask)::integer;
      loop
        c := v_slots[i + 1];
        exit when c = 0 or v_no[c] = n;
        i := (i + 1) & v_mask;
      end loop;
      continue when c <> 0;
      continue when v_has_hubs and (
        exists (select from ragdb.edges e where e.corpus_id = v_corpus
          and e.parent_no = any (v_hubs) and e.child_no = n)
        or exists (select from ragdb.edges e where e.corpus_id = v_corpus
          and e.child_no = any (v_hubs) and e.parent_no = n));
      v_nodes := v_nodes + 1; c := v_nodes;
      v_slots[i + 1] := c;
      v_other := case when k <= v_neighbours then v_d + 1 else v_d end;
      v_p := ragdb_internal.slice_product(v_new_weight[k], v_powers[v_other + 1]);
      v_no[c] := n; v_id[c] := v_new_id[k]; v_priority[c] := v_p; v_distance[c] := v_other;
      v_size := v_size + 1; i := v_size;
      while i > 1 loop
        j := v_heap[i / 2];
        exit when v_priority[j] > v_p or v_priority[j] = v_p and (v_distance[j] < v_other
          or v_distance[j] = v_other and v_id[j] collate "C" > v_new_id[k]);
        v_heap[i] := j; i := i / 2;
      end loop;
      v_heap[i] := c;
      if 2 * v_nodes > v_mask then
        v_mask := 2 * v_mask + 1; v_slots := array_fill(0, array[v_mask + 1]);
        for m in 1..v_nodes loop
          i := ((v_no[m] * 40503::bigint) & v_mask)::integer;
          while v_slots[i + 1] <> 0 loop i := (i + 1) & v_mask; end loop;
          v_slots[i + 1] := m;
        end loop;
      end if;
    end loop;
    v_new_no := '{}';
    if v_is_hub then v_hubs := v_hubs || v_here; v_has_hubs := true; end if;
    v_is_hub := false;
    exit when v_size = 0;

    -- pop the best: higher priority, then smaller distance, then larger id
    v_node := v_heap[1];
    v_other := v_heap[v_size]; v_size := v_size - 1; i := 1;
    v_p := v_priority[v_other]; v_d := v_distance[v_other];
    loop
      j := 2 * i;
      exit when j > v_size;
      c := v_heap[j];
      if j < v_size then
        n := v_heap[j + 1];
        if v_priority[n] > v_priority[c] or v_priority[n] = v_priority[c] and (
          v_distance[n] < v_distance[c]
          or v_distance[n] = v_distance[c] and v_id[n] collate "C" > v_id[c])
        then
          j := j + 1; c := n;
        end if;
      end if;
      exit when v_p > v_priority[c] or v_p = v_priority[c] and (v_d < v_distance[c]
        or v_d = v_distance[c] and v_id[v_other] collate "C" > v_id[c]);
      v_heap[i] := c; i := j;
    end loop;
    v_heap[i] := v_other;

    v_here := v_no[v_node];
    v_d := v_distance[v_node];
    v_picked := v_picked + 1;
    chunk_nos[v_picked] := v_here; chunk_ids[v_picked] := v_id[v_node];
    distances[v_picked] := v_d;
    exit when v_picked = v_max_nodes;
    continue when v_d = v_max_radius;

    -- look around
    v_parents := array(select distinct e.parent_no from ragdb.edges e
      where e.corpus_id = v_corpus and e.child_no = v_here);
    v_children := array(select e.child_no from ragdb.edges e
      where e.corpus_id = v_corpus and e.parent_no = v_here
      order by e.child_no limit v_max_nodes + 1);
    v_is_hub := cardinality(v_parents) > v_max_nodes or cardinality(v_children) > v_max_nodes;
    if v_is_hub then
      select array_agg(h.chunk_no), array_agg(h.chunk_id), array_agg(h.weight)
        into v_new_no, v_new_id, v_new_weight
        from ragdb_internal.slice_best_neighbours(v_corpus, v_here, v_powers[v_d + 2], v_max_nodes,
          v_phases, v_weights, v_salience_weight) h;
    else
      v_new := '{}';
      foreach n in array v_parents || v_children loop
        i := ((n * 40503::bigint) & v_mask)::integer;
        loop
          c := v_slots[i + 1];
          exit when c = 0 or v_no[c] = n;
          i := (i + 1) & v_mask;
        end loop;
        if c = 0 then v_new := v_new || n; end if;
      end loop;
      if v_new <> '{}' then
        select array_agg(c.chunk_no), array_agg(c.chunk_id), array_agg(
            ragdb_internal.slice_weight(t.phase, t.salience, v_phases, v_weights, v_salience_weight))
          into v_new_no, v_new_id, v_new_weight
          from unnest(v_new) u (chunk_no)
          join ragdb.chunks c on c.corpus_id = v_corpus and c.chunk_no = u.chunk_no
          left join ragdb.turns t on t.corpus_id = v_corpus and t.chunk_no = u.chunk_no;
      end if;
    end if;
    v_neighbours := coalesce(cardinality(v_new_no), 0);

    if v_max_siblings > 0 and not v_parents <@ v_expanded then
      if v_kin_of is distinct from v_parents then
        v_kin_of := v_parents;
        select array_agg(k.child_no order by k.salience desc, k.chunk_id),
            array_agg(k.chunk_id order by k.salience desc, k.chunk_id),
            array_agg(ragdb_internal.slice_weight(t.phase, t.salience, v_phases, v_weights,
              v_salience_weight) order by k.salience desc, k.chunk_id)
          into v_kin_no, v_kin_id, v_kin_weight
          from (
            select e.child_no, c.chunk_id, max(e.child_salience) as salience
              from ragdb.edges e
              join ragdb.chunks c on c.corpus_id = e.corpus_id and c.chunk_no = e.child_no
              where e.corpus_id = v_corpus and e.parent_no = any (v_parents)
              group by e.child_no, c.chunk_id
              order by 3 desc, 2 limit v_max_siblings + 1) k
          left join ragdb.turns t on t.corpus_id = v_corpus and t.chunk_no = k.child_no;
      end if;
      -- one more was fetched for the node itself, which is none of its siblings
      v_place := coalesce(array_position(v_kin_no, v_here), v_max_siblings + 1);
      v_new_no := v_new_no || v_kin_no[:v_place - 1] || v_kin_no[v_place + 1:];
      v_new_id := v_new_id[:v_neighbours] || v_kin_id[:v_place - 1] || v_kin_id[v_place + 1:];
      v_new_weight := v_new_weight[:v_neighbours]
        || v_kin_weight[:v_place - 1] || v_kin_weight[v_place + 1:];
    end if;
    v_expanded := v_expanded || v_here;
  end loop;
  return next;
end $$;
comment on function ragdb_internal.expand_slice(integer, integer, jsonb) is
  'Returns the chunks that a complete policy admits around an anchor, in order of selection, with '
  'their distance of discovery.';
