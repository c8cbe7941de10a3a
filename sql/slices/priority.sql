-- The priority by which a slice takes its next chunk, in single precision as in existing slices:
-- (weight of the phase + weighted salience) * decay ^ distance.

-- A slice policy as the expansion reads it: limits, the weights of the phases in the order of
-- ragdb_internal.phases, and the factor of each distance from 0. Of a policy, what the expansion
-- reads for every chunk. decays has the factor of each distance, from 0.
create type ragdb_internal.slice_rules as (
  max_nodes integer, max_radius integer, max_siblings integer, phase_weights real[],
  salience_weight real, decays real[]);

-- A chunk that a slice may take; the greater of two is taken first. nearness is minus the distance.
-- The order of the fields is the order of selection: of two nodes the greater is taken first, by
-- higher priority, then smaller distance (nearness is minus the distance), then larger id.
create type ragdb_internal.slice_node as (
  priority real, nearness integer, chunk_id text collate "C", chunk_no integer);

-- Returns the product of two numbers of 0 or more in single precision, 0 where it is too small for
-- that. PostgreSQL raises 22003 where a product of singles is too small for a single; existing
-- slices have 0 there. The product of two singles is exact as a double; up to 2^-150, half of the
-- smallest single, it rounds to 0.
create or replace function ragdb_internal.slice_product(a real, b real) returns real
language sql immutable parallel safe
return case
  when slice_product.a::float8 * slice_product.b::float8 <= 7.006492321624085e-46::float8
    then 0::real
  else slice_product.a * slice_product.b end;

-- Returns decay (0 to 1) to the power of a distance, in single precision. The power by repeated
-- squaring, as in existing slices.
create or replace function ragdb_internal.slice_decay(decay real, distance integer) returns real
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_factor real := 1;
  v_square real := decay;
  v_exponent integer := distance;
begin
  loop
    if v_exponent & 1 = 1 then
      v_factor := ragdb_internal.slice_product(v_factor, v_square);
    end if;
    v_exponent := v_exponent >> 1;
    exit when v_exponent = 0;
    v_square := ragdb_internal.slice_product(v_square, v_square);
  end loop;
  return v_factor;
end $$;

-- Returns what the expansion reads of a complete slice policy.
create or replace function ragdb_internal.slice_rules(policy jsonb)
returns ragdb_internal.slice_rules
language sql immutable parallel safe
return row(
  (policy ->> 'max_nodes')::numeric::integer,
  (policy ->> 'max_radius')::numeric::integer,
  case when (policy ->> 'include_siblings')::boolean
    then (policy ->> 'max_siblings_per_node')::numeric::integer else 0 end,
  array(
    select (policy -> 'phase_weights' ->> p.phase)::real
      from pg_catalog.unnest(ragdb_internal.phases()) with ordinality p (phase, n) order by p.n),
  (policy ->> 'salience_weight')::real,
  array(
    select ragdb_internal.slice_decay((policy ->> 'distance_decay')::real, d.distance)
      from pg_catalog.generate_series(0, (policy ->> 'max_radius')::numeric::integer) d (distance)
      order by d.distance))::ragdb_internal.slice_rules;

-- Returns the priority of a chunk at a distance (nearness is minus the distance) by its phase and
-- salience, null for a chunk that is not a turn. A chunk that is not a turn counts as exploration,
-- the last of the phases, of middling salience.
create or replace function ragdb_internal.slice_priority(
  phase text, salience real, nearness integer, rules ragdb_internal.slice_rules)
returns real
language sql immutable parallel safe
return ragdb_internal.slice_product(
  (rules).phase_weights[
      coalesce(pg_catalog.array_position(ragdb_internal.phases(), phase), 5)]
    + ragdb_internal.slice_product(coalesce(salience, 0.5::real), (rules).salience_weight),
  (rules).decays[1 - nearness]);
