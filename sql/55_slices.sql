-- Slices: the chunks that a policy admits around an anchor. Policies are immutable; a slice is a
-- pure function of
-- corpus content, anchor and policy, and its fingerprint covers all three.

-- int8 has no unsigned arithmetic: numeric computes exactly, this brings the result back modulo
-- 2^64. The value is named once, so that the call is inlined.
create or replace function ragdb._wrap64(value numeric) returns bigint
language sql immutable strict parallel safe
return (pg_catalog.mod(pg_catalog.mod(value, 18446744073709551616) + 27670116110564327424,
  18446744073709551616) - 9223372036854775808)::bigint;
comment on function ragdb._wrap64(numeric) is
  'Reduces an integer modulo 2^64 to a two''s complement bigint.';

create or replace function ragdb._rotl64(value bigint, bits integer) returns bigint
language sql immutable strict parallel safe
return (value << bits) | ((value >> (64 - bits)) & ((1::bigint << bits) - 1));
comment on function ragdb._rotl64(bigint, integer) is
  'Rotates 64 bits to the left by 1 to 62 places.';

create or replace function ragdb._le_bytes(data bytea, start integer, count integer) returns bigint
language sql immutable strict parallel safe
return pg_catalog.get_byte(data, start)::bigint
  | (pg_catalog.get_byte(data, start + 1)::bigint << 8)
  | (pg_catalog.get_byte(data, start + 2)::bigint << 16)
  | (pg_catalog.get_byte(data, start + 3)::bigint << 24)
  | case count when 8 then (pg_catalog.get_byte(data, start + 4)::bigint << 32)
      | (pg_catalog.get_byte(data, start + 5)::bigint << 40)
      | (pg_catalog.get_byte(data, start + 6)::bigint << 48)
      | (pg_catalog.get_byte(data, start + 7)::bigint << 56) else 0 end;
comment on function ragdb._le_bytes(bytea, integer, integer) is
  'Reads 4 or 8 bytes from a position (from 0) as a little-endian integer.';

-- The hash that existing policy registries use for params_hash. It identifies; it does not protect:
-- tokens cover sha256.
-- Definer: what it calls is private.
create or replace function ragdb.xxh64(data bytea) returns text
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  p1 constant numeric := 11400714785074694791;
  p2 constant numeric := 14029467366897019727;
  p3 constant numeric := 1609587929392839161;
  p4 constant numeric := 9650029242287828579;
  p5 constant numeric := 2870177450012600261;
  v_length constant integer := length(data);
  v_at integer := 0;
  v_lanes bigint[] := array[ragdb._wrap64(p1 + p2), ragdb._wrap64(p2), 0, ragdb._wrap64(-p1)];
  h bigint;
begin
  if v_length >= 32 then
    while v_at + 32 <= v_length loop
      for i in 1..4 loop
        v_lanes[i] := ragdb._wrap64(p1 * ragdb._rotl64(
          ragdb._wrap64(v_lanes[i] + p2 * ragdb._le_bytes(data, v_at, 8)), 31));
        v_at := v_at + 8;
      end loop;
    end loop;
    h := ragdb._wrap64(ragdb._rotl64(v_lanes[1], 1)::numeric + ragdb._rotl64(v_lanes[2], 7)
      + ragdb._rotl64(v_lanes[3], 12) + ragdb._rotl64(v_lanes[4], 18));
    for i in 1..4 loop
      h := ragdb._wrap64(p4 + p1 * (h # ragdb._wrap64(
        p1 * ragdb._rotl64(ragdb._wrap64(p2 * v_lanes[i]), 31))));
    end loop;
  else
    h := ragdb._wrap64(p5);
  end if;
  h := ragdb._wrap64(h::numeric + v_length);
  while v_at + 8 <= v_length loop
    h := h # ragdb._wrap64(p1 * ragdb._rotl64(ragdb._wrap64(p2 * ragdb._le_bytes(data, v_at, 8)),
      31));
    h := ragdb._wrap64(p4 + p1 * ragdb._rotl64(h, 27));
    v_at := v_at + 8;
  end loop;
  if v_at + 4 <= v_length then
    h := h # ragdb._wrap64(p1 * ragdb._le_bytes(data, v_at, 4));
    h := ragdb._wrap64(p3 + p2 * ragdb._rotl64(h, 23));
    v_at := v_at + 4;
  end if;
  while v_at < v_length loop
    h := ragdb._wrap64(p1 * ragdb._rotl64(h # ragdb._wrap64(p5 * get_byte(data, v_at)), 11));
    v_at := v_at + 1;
  end loop;
  h := ragdb._wrap64(p2 * (h # ((h >> 33) & 2147483647)));
  h := ragdb._wrap64(p3 * (h # ((h >> 29) & 34359738367)));
  return lpad(to_hex(h # ((h >> 32) & 4294967295)), 16, '0');
end $$;
comment on function ragdb.xxh64(bytea) is
  'Returns xxHash64 (seed 0) as 16 hex digits; a fingerprint that names things and proves nothing.';

create or replace function ragdb._micro(value float8) returns bigint
language sql immutable strict parallel safe
return pg_catalog.floor(value::real::float8 * 1000000::float8 + 0.5::float8)::bigint;
comment on function ragdb._micro(float8) is
  'Quantises a weight of 0..1: its single-precision value times a million, rounded half away from '
  'zero.';

create or replace function ragdb._default_policy() returns jsonb
language sql immutable parallel safe
return '{"version": "slice_policy_v1", "max_nodes": 256, "max_radius": 10,
  "phase_weights": {"synthesis": 1.0, "planning": 0.9, "consolidation": 0.6, "debugging": 0.5,
    "exploration": 0.3},
  "salience_weight": 0.3, "distance_decay": 0.9, "include_siblings": true,
    "max_siblings_per_node": 5}'::jsonb;
comment on function ragdb._default_policy() is
  'Returns the slice policy that is used when none is given.';

-- Fills in defaults and refuses what does not belong: a policy that is stored is a policy that can
-- be obeyed.
create or replace function ragdb._complete_policy(policy jsonb) returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_default constant jsonb := ragdb._default_policy();
  v_policy jsonb;
  v_key text;
  v_value jsonb;
  v_weight numeric;
begin
  if policy is null or jsonb_typeof(policy) <> 'object' then
    raise exception 'a slice policy is a JSON object, not %', coalesce(jsonb_typeof(policy), 'null')
      using errcode = 'RG430',
        detail = 'fields: version, max_nodes, max_radius, phase_weights, salience_weight, '
        'distance_decay, include_siblings, max_siblings_per_node',
          hint = 'leave a field out for its default';
  end if;
  if jsonb_typeof(coalesce(policy -> 'phase_weights', '{}')) <> 'object' then
    raise exception 'phase_weights is not an object'
      using errcode = 'RG430', detail = 'its value is '
        || ragdb._quote((policy -> 'phase_weights')::text),
            hint = 'give a weight of 0 to 1 for each phase';
  end if;
  for v_key in
    select k from jsonb_object_keys(policy) k where not v_default ? k
    union all
    select 'phase_weights.' || k from jsonb_object_keys(coalesce(policy -> 'phase_weights', '{}')) k
      where not v_default -> 'phase_weights' ? k
  loop
    raise exception 'a slice policy has no field %', ragdb._quote(v_key)
      using errcode = 'RG430',
        detail = 'a field that nothing obeys would promise what does not happen',
            hint = 'fields: version, max_nodes, max_radius, phase_weights, salience_weight, '
                   'distance_decay, '
              'include_siblings, max_siblings_per_node';
  end loop;
  v_policy := v_default || policy || jsonb_build_object('phase_weights',
    v_default -> 'phase_weights' || coalesce(policy -> 'phase_weights', '{}'));
  if jsonb_typeof(v_policy -> 'version') <> 'string'
    or v_policy ->> 'version' !~ '^[A-Za-z0-9_.-]{1,64}$' then
    raise exception 'version of a slice policy is not 1 to 64 letters, digits, _ . or -'
      using errcode = 'RG430', detail = 'its value is '
        || ragdb._quote((v_policy -> 'version')::text),
            hint = 'the default is slice_policy_v1';
  end if;
  if jsonb_typeof(v_policy -> 'include_siblings') <> 'boolean' then
    raise exception 'include_siblings is not true or false'
      using errcode = 'RG430', detail = 'its value is '
        || ragdb._quote((v_policy -> 'include_siblings')::text),
            hint = 'the default is true';
  end if;
  for v_key, v_value in
    select k, v_policy -> k from unnest(array['max_nodes', 'max_radius', 'max_siblings_per_node']) k
  loop
    if jsonb_typeof(v_value) <> 'number' or v_value::numeric <> trunc(v_value::numeric)
        or not v_value::numeric between (case v_key when 'max_nodes' then 1 else 0 end)
          and 10000 then
      raise exception '% is not a whole number of % to 10000', v_key, case v_key when 'max_nodes'
        then 1 else 0 end
        using errcode = 'RG430', detail = 'its value is ' || ragdb._quote(v_value::text),
              hint = 'the default is ' || (v_default ->> v_key);
    end if;
  end loop;
  for v_key, v_value in
    select k, v_policy -> k from unnest(array['salience_weight', 'distance_decay']) k
    union all
    select 'phase_weights.' || e.key, e.value from jsonb_each(v_policy -> 'phase_weights') e
  loop
    if jsonb_typeof(v_value) <> 'number' or not v_value::numeric between 0 and 1 then
      raise exception '% is not a number of 0 to 1', v_key
        using errcode = 'RG430', detail = 'its value is ' || ragdb._quote(v_value::text),
          hint = 'weights are shares';
    end if;
    -- what has the same canonical form has to admit the same chunks
    v_weight := trim_scale(ragdb._micro(ragdb._double(round(v_value::numeric, 30))) / 1000000.0);
    if v_weight <> v_value::numeric then
      v_policy := jsonb_set(v_policy, string_to_array(v_key, '.'), to_jsonb(v_weight));
    end if;
  end loop;
  return v_policy;
end $$;
comment on function ragdb._complete_policy(jsonb) is
  'Returns a slice policy with its defaults filled in and its weights to six decimals, as its hash '
  'has them. Raises RG430 for a field that is unknown or out of range.';

-- Declaration order, no white space, every float as an integer of millionths: the same bytes in
-- every language.
create or replace function ragdb._policy_canonical(policy jsonb) returns text
language sql immutable strict parallel safe
return '{"version":"' || (policy ->> 'version')
  || '","max_nodes":' || (policy ->> 'max_nodes')::numeric::integer
  || ',"max_radius":' || (policy ->> 'max_radius')::numeric::integer
  || ',"phase_weights":{"synthesis":'
    || ragdb._micro((policy -> 'phase_weights' ->> 'synthesis')::float8)
  || ',"planning":' || ragdb._micro((policy -> 'phase_weights' ->> 'planning')::float8)
  || ',"consolidation":' || ragdb._micro((policy -> 'phase_weights' ->> 'consolidation')::float8)
  || ',"debugging":' || ragdb._micro((policy -> 'phase_weights' ->> 'debugging')::float8)
  || ',"exploration":' || ragdb._micro((policy -> 'phase_weights' ->> 'exploration')::float8)
  || '},"salience_weight":' || ragdb._micro((policy ->> 'salience_weight')::float8)
  || ',"distance_decay":' || ragdb._micro((policy ->> 'distance_decay')::float8)
  || ',"include_siblings":' || (policy ->> 'include_siblings')
  || ',"max_siblings_per_node":' || (policy ->> 'max_siblings_per_node')::numeric::integer || '}';
comment on function ragdb._policy_canonical(jsonb) is
  'Returns the canonical JSON of a complete slice policy: what params_hash (xxHash64) and its '
  'sha256 are taken of.';

-- Definer, because what it calls is granted to nobody.
create or replace function ragdb.policy_hash(policy jsonb) returns text
language sql stable parallel safe security definer
return ragdb.xxh64(pg_catalog.convert_to(ragdb._policy_canonical(ragdb._complete_policy(policy)),
  'UTF8'));
comment on function ragdb.policy_hash(jsonb) is
  'Returns the params_hash of a slice policy: 16 hex digits of xxHash64 over its canonical JSON. '
  'Raises RG430.';

-- Where a product of singles is too small for one, PostgreSQL raises 22003; existing slices have 0.
-- The product of two singles is exact as a double; up to 2^-150, half of the smallest single, it is
-- 0.
create or replace function ragdb._slice_product(a real, b real) returns real
language sql immutable parallel safe
return case when _slice_product.a::float8 * _slice_product.b::float8
  <= 7.006492321624085e-46::float8 then 0::real
  else _slice_product.a * _slice_product.b end;
comment on function ragdb._slice_product(real, real) is
  'Returns the product of two numbers of 0 or more in single precision, 0 where it is too small '
  'for that.';

-- A chunk that is no turn counts as exploration of middling salience.
create or replace function ragdb._slice_weight(
  phase text, salience real, phases text[], weights real[], salience_weight real) returns real
language sql immutable parallel safe
return weights[coalesce(pg_catalog.array_position(phases, phase), 5)] + ragdb._slice_product(
  coalesce(salience, 0.5::real), salience_weight);
comment on function ragdb._slice_weight(text, real, text[], real[], real) is
  'Returns a chunk''s priority at distance 0: the weight of its phase plus its weighted salience, '
  'in single precision.';

-- Parents and children apart, because either side alone may be the crowd.
create or replace function ragdb._slice_best_neighbours(
  corpus_id integer, chunk_no integer, factor real, count integer, phases text[], weights real[],
    salience_weight real)
returns table (chunk_no integer, chunk_id text, weight real)
language sql stable parallel safe
begin atomic
  (select n.parent_no, c.chunk_id, w.weight
    from (select distinct e.parent_no from ragdb.edges e
      where e.corpus_id = _slice_best_neighbours.corpus_id
        and e.child_no = _slice_best_neighbours.chunk_no) n
    join ragdb.chunks c on c.corpus_id = _slice_best_neighbours.corpus_id
      and c.chunk_no = n.parent_no
    left join ragdb.turns t on t.corpus_id = _slice_best_neighbours.corpus_id
      and t.chunk_no = n.parent_no
    cross join lateral (select ragdb._slice_weight(t.phase, t.salience, phases, weights,
      salience_weight) as weight) w
    order by ragdb._slice_product(w.weight, factor) desc, c.chunk_id desc limit count)
  union all
  (select n.child_no, c.chunk_id, w.weight
    from (select distinct e.child_no from ragdb.edges e
      where e.corpus_id = _slice_best_neighbours.corpus_id
        and e.parent_no = _slice_best_neighbours.chunk_no) n
    join ragdb.chunks c on c.corpus_id = _slice_best_neighbours.corpus_id
      and c.chunk_no = n.child_no
    left join ragdb.turns t on t.corpus_id = _slice_best_neighbours.corpus_id
      and t.chunk_no = n.child_no
    cross join lateral (select ragdb._slice_weight(t.phase, t.salience, phases, weights,
      salience_weight) as weight) w
    order by ragdb._slice_product(w.weight, factor) desc, c.chunk_id desc limit count);
end;
comment on function ragdb._slice_best_neighbours(integer, integer, real, integer, text[], real[],
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
create or replace function ragdb._expand_slice(corpus_id integer, anchor_no integer, policy jsonb)
returns table (chunk_nos integer[], chunk_ids text[], distances integer[])
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_corpus constant integer := _expand_slice.corpus_id;
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
      if v_exponent & 1 = 1 then v_power := ragdb._slice_product(v_power, v_base); end if;
      v_exponent := v_exponent >> 1;
      exit when v_exponent = 0;
      v_base := ragdb._slice_product(v_base, v_base);
    end loop;
    v_powers[n + 1] := v_power;
  end loop;
  v_new_no := array[anchor_no];
  select array[c.chunk_id],
      array[ragdb._slice_weight(t.phase, t.salience, v_phases, v_weights, v_salience_weight)]
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
      v_p := ragdb._slice_product(v_new_weight[k], v_powers[v_other + 1]);
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
        from ragdb._slice_best_neighbours(v_corpus, v_here, v_powers[v_d + 2], v_max_nodes,
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
            ragdb._slice_weight(t.phase, t.salience, v_phases, v_weights, v_salience_weight))
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
            array_agg(ragdb._slice_weight(t.phase, t.salience, v_phases, v_weights,
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
comment on function ragdb._expand_slice(integer, integer, jsonb) is
  'Returns the chunks that a complete policy admits around an anchor, in order of selection, with '
  'their distance of discovery.';

-- ── policies ────────────────────────────────────────────────────────────────────────────────────

create or replace trigger slice_policies_are_immutable
  before update or delete on ragdb.slice_policies
  for each row execute function ragdb._refuse_change();
create or replace trigger slice_policies_are_not_truncated
  before truncate on ragdb.slice_policies
  for each statement execute function ragdb._refuse_change();
alter table ragdb.slice_policies enable always trigger slice_policies_are_immutable;
alter table ragdb.slice_policies enable always trigger slice_policies_are_not_truncated;

create or replace function ragdb._hashed_policy(policy jsonb) returns ragdb.slice_policies
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_policy ragdb.slice_policies;
begin
  v_policy.policy := ragdb._complete_policy(policy);
  v_policy.policy_id := v_policy.policy ->> 'version';
  v_policy.canonical := ragdb._policy_canonical(v_policy.policy);
  v_policy.params_hash := ragdb.xxh64(convert_to(v_policy.canonical, 'UTF8'));
  v_policy.sha256 := sha256(convert_to(v_policy.canonical, 'UTF8'));
  return v_policy;
end $$;
comment on function ragdb._hashed_policy(jsonb) is
  'Returns a policy completed, with its reference and canonical form, registered or not. Raises '
  'RG430.';

-- The default policy exists without being registered. A row that is not what its hashes say was
-- edited, and is no policy.
create or replace function ragdb._known_policy(policy_id text, params_hash text)
returns ragdb.slice_policies
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_policy ragdb.slice_policies;
  v_made ragdb.slice_policies;
begin
  select p.* into v_policy from ragdb.slice_policies p
    where p.policy_id = _known_policy.policy_id and p.params_hash = _known_policy.params_hash;
  v_made := ragdb._hashed_policy(coalesce(v_policy.policy, '{}'));
  if (v_made.policy_id, v_made.params_hash)
      is distinct from (_known_policy.policy_id, _known_policy.params_hash)
    or (v_policy.canonical, v_policy.sha256) is distinct from (v_made.canonical, v_made.sha256)
      and v_policy.policy_id is not null
  then
    return null;
  end if;
  return v_made;
end $$;
comment on function ragdb._known_policy(text, text) is
  'Returns a policy by its reference; null when it is neither registered nor the default, or its '
  'row is not what was registered.';

-- Null is the default policy; {"policy_id", "params_hash"} names a registered one; anything else is
-- a policy in full.
create or replace function ragdb._resolve_policy(policy jsonb) returns ragdb.slice_policies
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_policy ragdb.slice_policies;
begin
  if policy is null or not policy ? 'policy_id' then
    return ragdb._hashed_policy(coalesce(policy, '{}'));
  end if;
  v_policy := ragdb._known_policy(policy ->> 'policy_id', policy ->> 'params_hash');
  if v_policy.policy_id is null then
    raise exception 'policy % with params_hash % is not registered',
        ragdb._quote(policy ->> 'policy_id'), ragdb._quote(policy ->> 'params_hash')
      using errcode = 'RG431',
            detail = 'a reference needs policy_id and params_hash, and a row that is as it was '
                     'registered',
            hint = 'ragdb.list_policies() lists them; ragdb.register_policy() adds one';
  end if;
  return v_policy;
end $$;
comment on function ragdb._resolve_policy(jsonb) is
  'Returns a policy with its reference and canonical form, from a reference, a policy in full or '
  'null (the default). Raises RG430, RG431.';

-- As the command line and contracts name a policy. The id alone will do as long as it names one.
create or replace function ragdb._policy_reference(policy text) returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hashes text[];
begin
  if policy like '%@%' then
    return jsonb_build_object('policy_id', split_part(policy, '@', 1), 'params_hash',
      split_part(policy, '@', 2));
  elsif policy is null then
    return null;
  end if;
  v_hashes := array(
    select p.params_hash from ragdb.slice_policies p where p.policy_id = _policy_reference.policy
    union
    select d.params_hash from ragdb._hashed_policy('{}') d
      where d.policy_id = _policy_reference.policy
    order by 1);
  if cardinality(v_hashes) <> 1 then
    raise exception '% policies are named %', cardinality(v_hashes), ragdb._quote(policy)
      using errcode = 'RG431',
            detail = coalesce('their hashes are ' || nullif(array_to_string(v_hashes[:10], ', '),
              ''), 'none is registered'),
            hint = 'a policy is named id@params_hash; ragdb.list_policies() lists them';
  end if;
  return jsonb_build_object('policy_id', policy, 'params_hash', v_hashes[1]);
end $$;
comment on function ragdb._policy_reference(text) is
  'Returns the reference of a policy named id@params_hash, or by its id where one policy has that; '
  'null for null. Raises RG431.';

create or replace function ragdb._register_policy(policy ragdb.slice_policies) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into ragdb.slice_policies
    values (policy.policy_id, policy.params_hash, policy.canonical, policy.sha256, policy.policy,
      ragdb._now(), ragdb._caller())
    on conflict do nothing;
  if not exists (select from ragdb.slice_policies p
    where p.policy_id = policy.policy_id and p.params_hash = policy.params_hash
      and p.canonical = policy.canonical)
  then
    raise exception 'another policy has the params_hash %', policy.params_hash
      using errcode = 'RG409',
            detail = 'xxHash64 names a policy and does not prove it; the canonical forms differ',
            hint = 'change any parameter by a millionth';
  end if;
end $$;
comment on function ragdb._register_policy(ragdb.slice_policies) is
  'Stores a resolved policy; one that is stored already is left alone. Raises RG409.';

-- Definer, like its sister below: slice_policies is granted to nobody.
create or replace function ragdb.register_policy(policy jsonb)
returns table (policy_id text, params_hash text)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_policy ragdb.slice_policies := ragdb._hashed_policy(register_policy.policy);
begin
  perform ragdb._register_policy(v_policy);
  return query select v_policy.policy_id, v_policy.params_hash;
end $$;
comment on function ragdb.register_policy(jsonb) is
  'Registers a slice policy (fields left out have their defaults, weights count to six decimals) '
  'and returns its reference; registering it again changes nothing. Raises RG409, RG430.';

create or replace function ragdb.list_policies()
returns table (
  policy_id text, params_hash text, policy jsonb, created_at timestamptz, created_by text)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select p.policy_id, p.params_hash, p.policy, p.created_at, p.created_by
    from ragdb.slice_policies p order by p.policy_id, p.params_hash;
end;
comment on function ragdb.list_policies() is 'Lists the registered slice policies by reference.';

create or replace function ragdb.registry_fingerprint() returns text
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
return ragdb.xxh64(pg_catalog.convert_to('[' || coalesce((
  select pg_catalog.string_agg(
      '{"policy_id":"' || p.policy_id || '","params_hash":"' || p.params_hash || '"}', ','
      order by p.policy_id, p.params_hash)
    from ragdb.slice_policies p), '') || ']', 'UTF8'));
comment on function ragdb.registry_fingerprint() is
  'Returns xxHash64 over the ordered JSON list of policy references: equal registries have equal '
  'fingerprints.';

-- ── signing keys and tokens ─────────────────────────────────────────────────────────────────────

-- RFC 2104 over the server's own sha256; the pads are applied eight bytes at a time, which is what
-- SQL can exclusive-or.
create or replace function ragdb._hmac_sha256(key bytea, message bytea) returns bytea
language sql immutable strict parallel safe
begin atomic
  with k as (
    select pg_catalog.encode(case when pg_catalog.octet_length(key) > 64
      then pg_catalog.sha256(key) else key end, 'hex') as hex
  ), words as (
    select n, ('x' || pg_catalog.substr(pg_catalog.rpad(k.hex, 128, '0'), 16 * n + 1, 16))
        ::bit(64)::bigint as word
      from k, pg_catalog.generate_series(0, 7) n
  ), pads as (
    select
        pg_catalog.string_agg(pg_catalog.int8send(word # 3906369333256140342), '' order by n)
          as inner_pad,
        pg_catalog.string_agg(pg_catalog.int8send(word # 6655295901103053916), '' order by n)
          as outer_pad
      from words
  )
  select pg_catalog.sha256(p.outer_pad || pg_catalog.sha256(p.inner_pad || message)) from pads p;
end;
comment on function ragdb._hmac_sha256(bytea, bytea) is
  'Returns HMAC-SHA256 (RFC 2104): 32 bytes.';

-- One is active at most: who makes or changes a key does so alone.
create or replace function ragdb._lock_signing_keys() returns void
language sql
return pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('ragdb.signing_keys', 0));
comment on function ragdb._lock_signing_keys() is
  'Waits for other transactions that make or change signing keys, and has others wait until this '
  'one ends.';

-- To the millisecond, as the times of traces are.
create or replace function ragdb._retire_signing_key() returns void
language sql
begin atomic
  update ragdb.signing_keys
    set state = 'verify_only', active_until = pg_catalog.date_trunc('milliseconds', ragdb._now())
    where state = 'active';
end;
comment on function ragdb._retire_signing_key() is
  'Makes the active key, if there is one, a key that only verifies.';

create or replace function ragdb._check_key_id(key_id text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if key_id is null or key_id !~ '^[A-Za-z0-9_-]{1,64}$' then
    raise exception 'key id % is not 1 to 64 letters, digits, _ or -', ragdb._quote(key_id)
      using errcode = 'RG400', detail = 'the id is part of every token',
            hint = 'such as key-2026; ragdb.create_signing_key() can make one of the time';
  end if;
end $$;
comment on function ragdb._check_key_id(text) is
  'Refuses what cannot be the id of a key. Raises RG400.';

-- Definer, like all functions of keys: signing_keys is granted to nobody.
create or replace function ragdb.create_signing_key(key_id text default null) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id constant text := coalesce(create_signing_key.key_id,
    'k' || to_char(ragdb._now() at time zone 'UTC', 'YYYYMMDDHH24MISS'));
begin
  perform ragdb._check_key_id(v_id);
  perform ragdb._lock_signing_keys();
  if exists (select from ragdb.signing_keys s where s.key_id = v_id) then
    raise exception 'signing key % exists already', ragdb._quote(v_id)
      using errcode = 'RG409', detail = 'keys are never overwritten', hint = 'choose another id';
  end if;
  perform ragdb._retire_signing_key();
  -- four random uuids carry 488 random bits from the server's strong generator
  insert into ragdb.signing_keys (key_id, secret, state, created_at)
    values (v_id, sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
      || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'active', ragdb._now());
  return v_id;
end $$;
comment on function ragdb.create_signing_key(text) is
  'Makes the key that signs from now on and returns its id; the key that signed before still '
  'verifies. Raises RG400, RG409.';

create or replace function ragdb.revoke_signing_key(key_id text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb._lock_signing_keys();
  update ragdb.signing_keys s
    set state = 'revoked',
        active_until = coalesce(s.active_until, date_trunc('milliseconds', ragdb._now()))
    where s.key_id = revoke_signing_key.key_id;
  if not found then
    raise exception 'signing key % does not exist', ragdb._quote(revoke_signing_key.key_id)
      using errcode = 'RG432', detail = 'nothing was revoked',
            hint = 'ragdb.list_signing_keys() lists the ids';
  end if;
end $$;
comment on function ragdb.revoke_signing_key(text) is
  'Revokes a key: every token it signed fails from now on. Raises RG432.';

create or replace function ragdb.list_signing_keys()
returns table (
  key_id text, state text, created_at timestamptz, active_until timestamptz, not_after timestamptz)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select k.key_id, k.state, k.created_at, k.active_until, k.not_after
    from ragdb.signing_keys k order by k.created_at, k.key_id;
end;
comment on function ragdb.list_signing_keys() is 'Lists the signing keys without their secrets.';

create or replace function ragdb.export_signing_keys()
returns table (
  key_id text, secret text, state text, created_at timestamptz, active_until timestamptz,
  not_after timestamptz)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select k.key_id, pg_catalog.encode(k.secret, 'hex'), k.state, k.created_at, k.active_until,
      k.not_after
    from ragdb.signing_keys k order by k.created_at, k.key_id;
end;
comment on function ragdb.export_signing_keys() is
  'Returns the signing keys with their secrets in hex, to be kept apart from the dump and imported '
  'into a restored copy.';

create or replace function ragdb.import_signing_key(
  key_id text, secret text, state text default 'verify_only', created_at timestamptz default null,
  active_until timestamptz default null, not_after timestamptz default null)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_secret bytea;
  v_until timestamptz;
begin
  perform ragdb._check_key_id(import_signing_key.key_id);
  if coalesce(import_signing_key.secret !~ '^([0-9a-fA-F]{2}){32,128}$', true)
    or coalesce(import_signing_key.state not in ('active', 'verify_only', 'revoked'), true)
  then
    raise exception 'the secret of key % is not 32 to 128 bytes in hex, or its state is unknown',
        ragdb._quote(import_signing_key.key_id)
      using errcode = 'RG400', detail = 'the state is active, verify_only or revoked',
            hint = 'import what ragdb.export_signing_keys() gave';
  end if;
  v_secret := decode(import_signing_key.secret, 'hex');
  perform ragdb._lock_signing_keys();
  if exists (select from ragdb.signing_keys s
    where s.key_id = import_signing_key.key_id and s.secret <> v_secret)
  then
    raise exception 'signing key % exists with another secret',
        ragdb._quote(import_signing_key.key_id)
      using errcode = 'RG409', detail = 'keys are never overwritten',
            hint = 'import it under another id';
  end if;
  if import_signing_key.state = 'active' then
    perform ragdb._retire_signing_key();
  else
    v_until := coalesce(import_signing_key.active_until,
      date_trunc('milliseconds', ragdb._now()));
  end if;
  insert into ragdb.signing_keys as s
    values (import_signing_key.key_id, v_secret, import_signing_key.state,
      coalesce(import_signing_key.created_at, ragdb._now()), v_until, import_signing_key.not_after)
    on conflict on constraint signing_keys_id_is_unique do update
      set state = excluded.state, active_until = excluded.active_until,
          not_after = excluded.not_after;
end $$;
comment on function ragdb.import_signing_key(text, text, text, timestamptz, timestamptz,
  timestamptz) is
  'Puts back an exported key, so that a restored copy verifies the tokens and traces of the '
  'original; an active one signs from now on. Raises RG400, RG409.';

-- The bytes that a token signs. There is no function that signs bytes of the caller's choice.
create or replace function ragdb._token_message(
  key_id text, corpus text, slice_id text, anchor_chunk_id text, policy_id text,
  policy_sha256 bytea, graph_snapshot_hash text, schema_version text, issued_at bigint,
  expires_at bigint)
returns bytea
language sql stable parallel safe
return ragdb._packed('rgt1') || ragdb._packed(key_id) || ragdb._packed('admissible slice')
  || ragdb._packed(corpus) || ragdb._packed(slice_id) || ragdb._packed(anchor_chunk_id)
  || ragdb._packed(policy_id) || ragdb._packed(policy_sha256)
  || ragdb._packed(graph_snapshot_hash) || ragdb._packed(schema_version)
  || ragdb._packed(pg_catalog.int8send(issued_at))
  || ragdb._packed(pg_catalog.int8send(expires_at));
comment on function ragdb._token_message(text, text, text, text, text, bytea, text, text, bigint,
  bigint) is
  'Returns the length-prefixed fields that an admissibility token signs; times in seconds since '
  '1970.';

create or replace function ragdb._signing_key() returns ragdb.signing_keys
language sql stable parallel safe
return (select k from ragdb.signing_keys k
  where k.state = 'active' and (k.not_after is null or k.not_after > ragdb._now()));
comment on function ragdb._signing_key() is
  'Returns the key that signs now; null when there is none.';

create or replace function ragdb._issue_token(
  corpus ragdb.corpora, slice ragdb.slices, policy ragdb.slice_policies)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key ragdb.signing_keys := ragdb._signing_key();
  v_issued constant bigint := floor(extract(epoch from ragdb._now()));
  v_expires constant bigint := v_issued + 30 * 86400;
begin
  if v_key.key_id is null then
    raise exception 'there is no signing key'
      using errcode = 'RG433',
            detail = 'an admissibility token is signed, and nothing is signed with a default '
                     'secret',
            hint = 'an admin calls ragdb.create_signing_key() once (ragdb keys create); '
              'or build the slice with sign => false';
  end if;
  return format('rgt1.%s.%s.%s.%s', v_key.key_id, v_issued, v_expires,
    encode(ragdb._hmac_sha256(v_key.secret, ragdb._token_message(v_key.key_id, corpus.name,
      slice.slice_id, slice.anchor_chunk_id, slice.policy_id, policy.sha256,
      slice.graph_snapshot_hash, slice.schema_version, v_issued, v_expires)), 'hex'));
end $$;
comment on function ragdb._issue_token(ragdb.corpora, ragdb.slices, ragdb.slice_policies) is
  'Signs a slice with the active key, for 30 days. Raises RG433.';

-- A trace is signed by its hash. Whoever has no key can change rows and hashes, and cannot make
-- this.
create or replace function ragdb._trace_mac(trace_hash bytea, secret bytea) returns bytea
language sql immutable strict parallel safe
return ragdb._hmac_sha256(secret, ragdb._packed('ragdb-trace-1'::bytea)
  || ragdb._packed(trace_hash));
comment on function ragdb._trace_mac(bytea, bytea) is
  'Signs the hash of a trace with a secret; null where either is.';

create or replace function ragdb._matching_mac(hash bytea, mac bytea, created_at timestamptz)
  returns bytea
language sql stable parallel safe
return (
  with signers as (
    select k.secret, k.created_at <= _matching_mac.created_at as is_older,
        coalesce(least(k.active_until, k.not_after) > _matching_mac.created_at, true) as was_active
      from ragdb.signing_keys k
  )
  select case
      -- no key was there to sign it
      when _matching_mac.mac is null
        and not exists (select from signers s where s.is_older and s.was_active) then null
      -- the key that signed it is not here: a restored copy without its keys
      when _matching_mac.mac is not null
        and not exists (select from signers s where s.is_older) then _matching_mac.mac
      else coalesce((select m.mac from signers s
          cross join lateral (select ragdb._trace_mac(_matching_mac.hash, s.secret) as mac) m
          where m.mac = _matching_mac.mac limit 1), '\x00')
    end);
comment on function ragdb._matching_mac(bytea, bytea, timestamptz) is
  'Returns the signature that the hash of a trace of that time should have: its own when a key '
  'made it or the key is not here, null when no key was active then, else a byte that no signature '
  'is.';

-- ── slices ──────────────────────────────────────────────────────────────────────────────────────

-- Recomputed from the rows each time, for building and for verifying alike, on one plan whatever
-- the statistics say: members are found by their ids, edges by their parent, and the plan expects
-- as many as there are. A hub's edges are not read: those to other members are looked up one by
-- one.
create or replace function ragdb._fingerprinted(corpus ragdb.corpora, slice ragdb.slices)
returns ragdb.slices
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  v_ids constant text[] := slice.chunk_ids;
  v_contents bytea;
  v_edges bytea;
begin
  slice.corpus_id := corpus.corpus_id;
  slice.schema_version := '1.0.0';
  with members as materialized (
    select v_ids[i] collate "C" as chunk_id, c.chunk_no, c.content_hash,
        ragdb._packed(v_ids[i]) as packed
      from generate_subscripts(v_ids, 1) i
      left join lateral (
        select c.chunk_no, c.content_hash from ragdb.chunks c
          where c.corpus_id = corpus.corpus_id and c.chunk_id = v_ids[i] limit 1) c on true
  ), contents as (
    -- a member that is gone counts too, as one without content
    select string_agg(m.packed || coalesce(ragdb._packed(m.content_hash), '\xffffffff'), ''
          order by m.chunk_id) as bytes,
        array_agg(m.content_hash order by m.chunk_id) as hashes
      from members m
  ), outward as materialized (
    select p.chunk_no as parent_no, e.child_no, e.edge_type,
        count(*) over (partition by p.chunk_no) > 256 as is_cut
      from members p
      cross join lateral (
        select e.child_no, e.edge_type from ragdb.edges e
          where e.corpus_id = corpus.corpus_id and e.parent_no = p.chunk_no
          order by e.child_no limit 257) e
  ), inward as (
    select o.parent_no, o.child_no, o.edge_type from outward o where not o.is_cut
    union all
    select h.parent_no, k.chunk_no, e.edge_type
      from (select distinct o.parent_no from outward o where o.is_cut) h
      cross join members k
      cross join lateral (
        select e.edge_type from ragdb.edges e
          where e.corpus_id = corpus.corpus_id and e.parent_no = h.parent_no
            and e.child_no = k.chunk_no order by e.edge_type limit 4) e
  ), edges as (
    select count(*) as count, string_agg(p.packed || k.packed || ragdb._packed(e.edge_type), ''
        order by p.chunk_id, k.chunk_id,
          array_position(array['reply', 'branch', 'reference', 'default'], e.edge_type)) as bytes
      from inward e
      join members p on p.chunk_no = e.parent_no
      join members k on k.chunk_no = e.child_no
  )
  select coalesce(c.bytes, ''), coalesce(c.hashes, '{}'), coalesce(e.bytes, ''), e.count
    into strict v_contents, slice.content_hashes, v_edges, slice.edge_count
    from contents c, edges e;
  slice.slice_id := encode(sha256(
    ragdb._packed('ragdb-slice-1') || ragdb._packed(corpus.name)
    || ragdb._packed(slice.anchor_chunk_id) || ragdb._packed(slice.policy_id)
    || ragdb._packed(slice.params_hash) || ragdb._packed(v_contents) || ragdb._packed(v_edges)
    || ragdb._packed(slice.schema_version)), 'hex');
  slice.graph_snapshot_hash := encode(sha256(
    ragdb._packed('ragdb-snapshot-1') || ragdb._packed(v_contents)
    || ragdb._packed(int4send(slice.edge_count)) || ragdb._packed(slice.schema_version)), 'hex');
  return slice;
end $$;
comment on function ragdb._fingerprinted(ragdb.corpora, ragdb.slices) is
  'Returns a slice (corpus, anchor, policy reference, members) with slice_id, snapshot hash (64 '
  'hex digits each), edge count and content hashes recomputed from the rows.';

create or replace function ragdb._build_slice(
  corpus ragdb.corpora, anchor text, policy ragdb.slice_policies,
  out slice ragdb.slices, out distances integer[])
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_anchor_no integer;
begin
  select c.chunk_no into v_anchor_no from ragdb.chunks c
    where c.corpus_id = corpus.corpus_id and c.chunk_id = anchor;
  if not found then
    raise exception 'anchor % is not in corpus %', ragdb._quote(anchor), ragdb._quote(corpus.name)
      using errcode = 'RG434', detail = 'a slice is built around a chunk that exists',
            hint = 'ragdb.search() gives chunk ids; ids of turns are UUIDs in lower case';
  end if;
  select e.chunk_ids, e.distances into strict slice.selection_order, distances
    from ragdb._expand_slice(corpus.corpus_id, v_anchor_no, policy.policy) e;
  slice.anchor_chunk_id := anchor;
  slice.policy_id := policy.policy_id;
  slice.params_hash := policy.params_hash;
  slice.chunk_ids := array(select u collate "C" from unnest(slice.selection_order) u order by 1);
  slice := ragdb._fingerprinted(corpus, slice);
end $$;
comment on function ragdb._build_slice(ragdb.corpora, text, ragdb.slice_policies) is
  'Builds the slice of a resolved policy around an anchor, with each member''s distance in order '
  'of selection. Raises RG434.';

-- What counts as evidence is an admin's to say: a reader's own policy could admit everything.
create or replace function ragdb._store_slice(slice ragdb.slices, policy ragdb.slice_policies)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if (ragdb._known_policy(policy.policy_id, policy.params_hash)).policy_id is not null
    or has_function_privilege(ragdb._caller(), 'ragdb.register_policy(jsonb)', 'execute')
  then
    perform ragdb._register_policy(policy);
  else
    raise exception 'policy % with params_hash % is not registered',
        ragdb._quote(policy.policy_id), policy.params_hash
      using errcode = 'RG431',
            detail = 'a slice is kept as evidence only by the default policy or a registered one',
            hint = 'an admin calls ragdb.register_policy(); ragdb.build_slice() and '
              'ragdb.search_slice() take any policy and keep nothing';
  end if;
  perform ragdb._hold_corpus(slice.corpus_id);
  slice.created_at := ragdb._now();
  insert into ragdb.slices values (slice.*) on conflict do nothing;
end $$;
comment on function ragdb._store_slice(ragdb.slices, ragdb.slice_policies) is
  'Stores a slice that was just built; the same graph state is stored once. A policy that is not '
  'registered is, where the caller may register one. Raises RG404, RG409, RG431.';

do $$ begin
  if pg_catalog.to_regtype('ragdb.built_slice') is null then
    create type ragdb.built_slice as (
      slice_id text, anchor_chunk_id text, chunk_ids text[], selection_order text[],
      distances integer[], edge_count integer, policy_id text, params_hash text,
      schema_version text, graph_snapshot_hash text, admissibility_token text);
  end if;
end $$;
comment on type ragdb.built_slice is
  'A slice as it is handed out: members sorted and in order of selection with their distances, '
  'fingerprints, and the token where it is signed.';

create or replace function ragdb._built_slice(
  slice ragdb.slices, distances integer[], token text) returns ragdb.built_slice
language sql immutable parallel safe
return row((slice).slice_id, (slice).anchor_chunk_id, (slice).chunk_ids, (slice).selection_order,
  distances, (slice).edge_count, (slice).policy_id, (slice).params_hash, (slice).schema_version,
  (slice).graph_snapshot_hash, token)::ragdb.built_slice;
comment on function ragdb._built_slice(ragdb.slices, integer[], text) is
  'Returns a slice as it is handed out.';

-- Definer, like all that follow: chunks, edges, slices and keys are granted to nobody.
create or replace function ragdb.build_slice(
  corpus text, anchor text, policy jsonb default null, sign boolean default true)
returns setof ragdb.built_slice
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(build_slice.corpus, 'read');
  v_policy ragdb.slice_policies := ragdb._resolve_policy(build_slice.policy);
  v_made record;
begin
  v_made := ragdb._build_slice(v_corpus, anchor, v_policy);
  return next ragdb._built_slice(v_made.slice, v_made.distances,
    case when sign then ragdb._issue_token(v_corpus, v_made.slice, v_policy) end);
end $$;
comment on function ragdb.build_slice(text, text, jsonb, boolean) is
  'Builds the slice that a policy (in full, by reference, or null for the default) admits around '
  'an anchor chunk, without writing: members, fingerprints and, with sign, the admissibility '
  'token. Raises RG400, RG404, RG430, RG431, RG433, RG434.';

create or replace function ragdb.build_slices(
  corpus text, anchors text[], policy jsonb default null, sign boolean default true)
returns table (
  anchor_chunk_id text, slice_id text, chunk_ids text[], selection_order text[],
  distances integer[], edge_count integer, policy_id text, params_hash text, schema_version text,
  graph_snapshot_hash text, admissibility_token text, error_code text, error text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(build_slices.corpus, 'read');
  v_anchor text;
begin
  if coalesce(cardinality(anchors) not between 1 and 1000, true) then
    raise exception 'anchors are 1 to 1000 chunk ids, not %',
        coalesce(cardinality(anchors)::text, 'null')
      using errcode = 'RG400', detail = 'one slice is built for each',
            hint = 'split a longer list';
  end if;
  foreach v_anchor in array anchors loop
    -- an anchor that is missing is that anchor's failure; anything else is everyone's
    if not exists (select from ragdb.chunks c
      where c.corpus_id = v_corpus.corpus_id and c.chunk_id = v_anchor)
    then
      anchor_chunk_id := v_anchor;
      error_code := 'RG434';
      error := format('anchor %s is not in corpus %s', ragdb._quote(v_anchor),
        ragdb._quote(v_corpus.name));
      return next;
      continue;
    end if;
    return query
      select s.anchor_chunk_id, s.slice_id, s.chunk_ids, s.selection_order, s.distances,
          s.edge_count, s.policy_id, s.params_hash, s.schema_version, s.graph_snapshot_hash,
          s.admissibility_token, null::text, null::text
        from ragdb.build_slice(build_slices.corpus, v_anchor, build_slices.policy,
          build_slices.sign) s;
  end loop;
end $$;
comment on function ragdb.build_slices(text, text[], jsonb, boolean) is
  'Builds a slice for each of 1 to 1000 anchors; an anchor that does not exist gives a row with '
  'error_code and error instead. Raises RG400, RG404, RG430, RG431, RG433.';

create or replace function ragdb.export_slice(corpus text, anchor text, policy jsonb default null)
returns setof ragdb.built_slice
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(export_slice.corpus, 'read');
  v_policy ragdb.slice_policies := ragdb._resolve_policy(export_slice.policy);
  v_made record;
begin
  v_made := ragdb._build_slice(v_corpus, anchor, v_policy);
  perform ragdb._store_slice(v_made.slice, v_policy);
  return next ragdb._built_slice(v_made.slice, v_made.distances,
    ragdb._issue_token(v_corpus, v_made.slice, v_policy));
end $$;
comment on function ragdb.export_slice(text, text, jsonb) is
  'Builds, signs and stores a slice, so that it can be searched by its id. Raises RG400, RG404, '
  'RG430, RG431, RG433, RG434.';

create or replace function ragdb._changed_members(slice ragdb.slices) returns text[]
language sql stable parallel safe
return array(
  select o.chunk_id
    from unnest((slice).chunk_ids, (slice).content_hashes) o (chunk_id, content_hash)
    left join ragdb.chunks c on c.corpus_id = (slice).corpus_id and c.chunk_id = o.chunk_id
    where c.content_hash is distinct from o.content_hash
    order by o.chunk_id collate "C");
comment on function ragdb._changed_members(ragdb.slices) is
  'Returns the members of a stored slice that are gone or say something else now.';

create or replace function ragdb._slice_changes(slice ragdb.slices) returns text
language sql stable parallel safe
return coalesce('chunks changed or gone since: ' || nullif(pg_catalog.left(
  pg_catalog.array_to_string(ragdb._changed_members(slice), ', '), 500), ''),
  'edges between the members changed since');
comment on function ragdb._slice_changes(ragdb.slices) is
  'Says what has changed about a stored slice whose fingerprint is no longer the same.';

-- The token says who signed what and until when; the rows say whether what was signed is still
-- there. Both must agree.
create or replace function ragdb.verify_token(
  corpus text, token text, slice_id text, anchor_chunk_id text, policy_id text, params_hash text,
  graph_snapshot_hash text, schema_version text, chunk_ids text[] default null)
returns table (valid boolean, reason text)
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(verify_token.corpus, 'read');
  v_parts constant text[] := string_to_array(verify_token.token, '.');
  v_now constant bigint := floor(extract(epoch from ragdb._now()));
  v_key ragdb.signing_keys;
  v_policy ragdb.slice_policies;
  v_stored ragdb.slices;
  v_slice ragdb.slices;
  v_found ragdb.slices;
begin
  valid := false;
  if verify_token.token is null or verify_token.token
    !~ '^rgt1\.[A-Za-z0-9_-]{1,64}\.[0-9]{1,12}\.[0-9]{1,12}\.[0-9a-f]{64}$'
  then
    reason := 'malformed: a token is rgt1.<key>.<issued>.<expires>.<64 hex digits>';
    return next; return;
  end if;
  select k.* into v_key from ragdb.signing_keys k where k.key_id = v_parts[2];
  if not found then
    reason := format('key_unknown: this database has no key %s; import it if the token comes '
      'from the original of this copy', ragdb._quote(v_parts[2]));
    return next; return;
  end if;
  if v_key.state = 'revoked' or v_key.not_after <= ragdb._now() then
    reason := format('key_revoked: key %s verifies nothing any more', ragdb._quote(v_key.key_id));
    return next; return;
  end if;
  v_policy := ragdb._known_policy(verify_token.policy_id, verify_token.params_hash);
  if v_policy.policy_id is null then
    reason := format('policy_unknown: policy %s with params_hash %s is not registered, or its row '
      'was changed since',
      ragdb._quote(verify_token.policy_id), ragdb._quote(verify_token.params_hash));
    return next; return;
  end if;
  -- both sides are hashed again, so that the time of the comparison tells nothing of the signature
  if sha256(ragdb._hmac_sha256(v_key.secret, ragdb._token_message(v_key.key_id, v_corpus.name,
      verify_token.slice_id, verify_token.anchor_chunk_id, verify_token.policy_id, v_policy.sha256,
      verify_token.graph_snapshot_hash, verify_token.schema_version, v_parts[3]::bigint,
      v_parts[4]::bigint))) is distinct from sha256(decode(v_parts[5], 'hex'))
  then
    reason := 'signature: the token was not issued for these fields';
    return next; return;
  end if;
  if v_parts[4]::bigint <= v_now then
    reason := format('expired: the token ended %s seconds ago', v_now - v_parts[4]::bigint);
    return next; return;
  end if;
  if verify_token.chunk_ids is distinct from array(
      select distinct u collate "C" from unnest(verify_token.chunk_ids) u order by 1)
    and verify_token.chunk_ids is not null
  then
    reason := 'evidence: the chunk ids are not the sorted, distinct members of a slice';
    return next; return;
  end if;
  select s.* into v_stored from ragdb.slices s
    where s.corpus_id = v_corpus.corpus_id and s.slice_id = verify_token.slice_id;
  v_slice.anchor_chunk_id := verify_token.anchor_chunk_id;
  v_slice.policy_id := verify_token.policy_id;
  v_slice.params_hash := verify_token.params_hash;
  v_slice.chunk_ids := coalesce(verify_token.chunk_ids, v_stored.chunk_ids);
  if v_slice.chunk_ids is not null then
    v_found := ragdb._fingerprinted(v_corpus, v_slice);
  elsif exists (select from ragdb.chunks c
    where c.corpus_id = v_corpus.corpus_id and c.chunk_id = verify_token.anchor_chunk_id)
  then
    v_found := (ragdb._build_slice(v_corpus, verify_token.anchor_chunk_id, v_policy)).slice;
  end if;
  valid := coalesce(v_found.slice_id = verify_token.slice_id
    and v_found.graph_snapshot_hash = verify_token.graph_snapshot_hash, false);
  if not valid then
    reason := 'evidence: ' || case
      when v_found.chunk_ids = v_stored.chunk_ids then ragdb._slice_changes(v_stored)
      else 'the chunks, their contents or their edges are not those that were signed' end;
  end if;
  return next;
end $$;
comment on function ragdb.verify_token(text, text, text, text, text, text, text, text, text[]) is
  'Tells whether a token was signed here for exactly these fields, has not ended, and whether the '
  'slice recomputed from the rows (the given members, the stored slice, or a new build) is the one '
  'signed; reason says why not. Raises RG400, RG404.';

create or replace function ragdb._stored_slice(corpus_id integer, slice_id text)
returns ragdb.slices
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_slice ragdb.slices;
begin
  select s.* into v_slice from ragdb.slices s
    where s.corpus_id = _stored_slice.corpus_id and s.slice_id = _stored_slice.slice_id;
  if not found then
    raise exception 'slice % is not stored', ragdb._quote(_stored_slice.slice_id)
      using errcode = 'RG435', detail = 'build_slice computes without storing',
            hint = 'call ragdb.export_slice(corpus, anchor, policy) first, '
              'or search by anchor and policy';
  end if;
  return v_slice;
end $$;
comment on function ragdb._stored_slice(integer, text) is
  'Returns a stored slice. Raises RG435.';

create or replace function ragdb.slice_members(corpus text, slice_id text)
returns table (place bigint, chunk_id text, source text, content_hash text, is_unchanged boolean)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(slice_members.corpus, 'read');
  v_slice ragdb.slices := ragdb._stored_slice(v_corpus.corpus_id, slice_members.slice_id);
begin
  return query
    select o.place, o.chunk_id, c.source, encode(m.content_hash, 'hex'),
        c.content_hash is not distinct from m.content_hash
      from unnest(v_slice.selection_order) with ordinality o (chunk_id, place)
      join unnest(v_slice.chunk_ids, v_slice.content_hashes) m (chunk_id, content_hash)
        on m.chunk_id = o.chunk_id
      left join ragdb.chunks c
        on c.corpus_id = v_corpus.corpus_id and c.chunk_id = o.chunk_id
      order by o.place;
end $$;
comment on function ragdb.slice_members(text, text) is
  'Returns the members of a stored slice in the order in which they were chosen, and whether each '
  'still says what it said. Raises RG400, RG404, RG435.';

create or replace function ragdb.filter_admissible(corpus text, slice_id text, chunk_ids text[])
returns text[]
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(filter_admissible.corpus, 'read');
  v_slice ragdb.slices := ragdb._stored_slice(v_corpus.corpus_id, filter_admissible.slice_id);
begin
  if filter_admissible.chunk_ids is null then
    raise exception 'chunk_ids is null'
      using errcode = 'RG400', detail = 'those that the slice admits are returned',
            hint = 'pass an array of chunk ids';
  end if;
  return array(select u.id from unnest(filter_admissible.chunk_ids) with ordinality u (id, n)
    where u.id = any (v_slice.chunk_ids) order by u.n);
end $$;
comment on function ragdb.filter_admissible(text, text, text[]) is
  'Returns those of the chunk ids that are members of a stored slice, in the order given. Raises '
  'RG400, RG404, RG435.';

create or replace function ragdb.is_admissible(corpus text, slice_id text, chunk_id text)
returns boolean
language sql stable parallel safe
return ragdb.filter_admissible(is_admissible.corpus, is_admissible.slice_id,
  array[is_admissible.chunk_id]) <> '{}';
comment on function ragdb.is_admissible(text, text, text) is
  'Tells whether a chunk is a member of a stored slice. Raises RG400, RG404, RG435.';
