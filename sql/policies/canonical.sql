-- A slice policy in full, its canonical form, and the hashes of that.

-- Quantises a weight of 0..1: its single-precision value times a million, rounded half away from
-- zero.
create or replace function ragdb_internal.micro(value float8) returns bigint
language sql immutable strict parallel safe
return pg_catalog.floor(value::real::float8 * 1000000::float8 + 0.5::float8)::bigint;

-- Returns the slice policy that is used when none is given.
create or replace function ragdb_internal.default_policy() returns jsonb
language sql immutable parallel safe
return '{
  "version": "slice_policy_v1", "max_nodes": 256, "max_radius": 10,
  "phase_weights": {"synthesis": 1.0, "planning": 0.9, "consolidation": 0.6, "debugging": 0.5,
    "exploration": 0.3},
  "salience_weight": 0.3, "distance_decay": 0.9,
  "include_siblings": true, "max_siblings_per_node": 5}'::jsonb;

-- Returns the weights of a slice policy with their paths, such as phase_weights.planning.
create or replace function ragdb_internal.policy_weights(policy jsonb)
returns table (n bigint, path text, value jsonb)
language sql immutable parallel safe
begin atomic
  select pg_catalog.row_number() over (), w.path, w.value
    from (
      select k.name as path, policy -> k.name as value
        from (values ('salience_weight'), ('distance_decay')) k (name)
      union all
      select 'phase_weights.' || e.key, e.value
        from pg_catalog.jsonb_each(policy -> 'phase_weights') e) w;
end;

-- Refuses what is not an object of the fields of a slice policy. Raises RG430.
create or replace function ragdb_internal.check_policy_fields(policy jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_default constant jsonb := ragdb_internal.default_policy();
  v_fields constant text := 'fields: version, max_nodes, max_radius, phase_weights, '
    'salience_weight, distance_decay, include_siblings, max_siblings_per_node';
  v_unknown text;
begin
  if policy is null or jsonb_typeof(policy) <> 'object' then
    raise exception 'a slice policy is a JSON object, not %',
        coalesce(jsonb_typeof(policy), 'null')
      using errcode = 'RG430',
        detail = v_fields,
        hint = 'leave a field out for its default';
  end if;
  if jsonb_typeof(coalesce(policy -> 'phase_weights', '{}')) <> 'object' then
    raise exception 'phase_weights is not an object'
      using errcode = 'RG430',
        detail = 'its value is ' || ragdb_internal.quote((policy -> 'phase_weights')::text),
        hint = 'give a weight of 0 to 1 for each phase';
  end if;
  select u.name into v_unknown from (
    select k as name from jsonb_object_keys(policy) k where not v_default ? k
    union all
    select 'phase_weights.' || k
      from jsonb_object_keys(coalesce(policy -> 'phase_weights', '{}')) k
      where not v_default -> 'phase_weights' ? k) u limit 1;
  if found then
    raise exception 'a slice policy has no field %', ragdb_internal.quote(v_unknown)
      using errcode = 'RG430',
        detail = 'a field that nothing obeys would promise what does not happen',
        hint = v_fields;
  end if;
end $$;

-- Refuses a slice policy with all its fields of which one is out of range. Raises RG430.
create or replace function ragdb_internal.check_policy_values(policy jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_problem text;
  v_value jsonb;
  v_hint text;
begin
  select c.problem, c.value, c.hint into v_problem, v_value, v_hint from (
    select 1 as n, policy -> 'version' as value, 'the default is slice_policy_v1' as hint,
        coalesce(policy ->> 'version' ~ '^[A-Za-z0-9_.-]{1,64}$', false)
          and jsonb_typeof(policy -> 'version') = 'string' as is_fine,
        'version of a slice policy is not 1 to 64 letters, digits, _ . or -' as problem
    union all
    select 2, policy -> 'include_siblings', 'the default is true',
        jsonb_typeof(policy -> 'include_siblings') = 'boolean',
        'include_siblings is not true or false'
    union all
    select 2 + f.n, policy -> f.name,
        'the default is ' || (ragdb_internal.default_policy() ->> f.name),
        case when jsonb_typeof(policy -> f.name) = 'number' then
          (policy ->> f.name)::numeric = trunc((policy ->> f.name)::numeric)
          and (policy ->> f.name)::numeric between f.least and 10000 else false end,
        format('%s is not a whole number of %s to 10000', f.name, f.least)
      from (values (1, 'max_nodes', 1), (2, 'max_radius', 0), (3, 'max_siblings_per_node', 0))
        f (n, name, least)
    union all
    select 5 + w.n, w.value, 'weights are shares',
        case when jsonb_typeof(w.value) = 'number' then w.value::numeric between 0 and 1
          else false end,
        w.path || ' is not a number of 0 to 1'
      from ragdb_internal.policy_weights(policy) w) c
    where not c.is_fine order by c.n limit 1;
  if found then
    raise exception '%', v_problem
      using errcode = 'RG430',
        detail = 'its value is ' || ragdb_internal.quote(v_value::text),
        hint = v_hint;
  end if;
end $$;

-- Returns a slice policy with its defaults filled in and its weights to six decimals, as its hash
-- has them. Fills in defaults and refuses what does not belong: a policy that is stored is a policy
-- that can be obeyed. What has the same canonical form has to admit the same chunks, so weights are
-- kept as that form has them. Raises RG430 for a field that is unknown or out of range.
create or replace function ragdb_internal.complete_policy(policy jsonb) returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_default constant jsonb := ragdb_internal.default_policy();
  v_policy jsonb;
  v_path text;
  v_value numeric;
  v_weight numeric;
begin
  perform ragdb_internal.check_policy_fields(policy);
  v_policy := v_default || policy || jsonb_build_object('phase_weights',
    v_default -> 'phase_weights' || coalesce(policy -> 'phase_weights', '{}'));
  perform ragdb_internal.check_policy_values(v_policy);
  for v_path, v_value in
    select w.path, w.value::numeric from ragdb_internal.policy_weights(v_policy) w
  loop
    v_weight := trim_scale(
      ragdb_internal.micro(ragdb_internal.double(round(v_value, 30))) / 1000000.0);
    if v_weight <> v_value then
      v_policy := jsonb_set(v_policy, string_to_array(v_path, '.'), to_jsonb(v_weight));
    end if;
  end loop;
  return v_policy;
end $$;

-- Returns the canonical JSON of a complete slice policy: what params_hash (xxHash64) and its sha256
-- are taken of. Declaration order, no white space, every float as an integer of millionths: the
-- same bytes in every language.
create or replace function ragdb_internal.policy_canonical(policy jsonb) returns text
language sql immutable strict parallel safe
return '{"version":"' || (policy ->> 'version')
  || '","max_nodes":' || (policy ->> 'max_nodes')::numeric::integer
  || ',"max_radius":' || (policy ->> 'max_radius')::numeric::integer
  || ',"phase_weights":{' || (
    select pg_catalog.string_agg('"' || p.phase || '":'
        || ragdb_internal.micro((policy -> 'phase_weights' ->> p.phase)::float8), ',' order by p.n)
      from pg_catalog.unnest(ragdb_internal.phases()) with ordinality p (phase, n))
  || '},"salience_weight":' || ragdb_internal.micro((policy ->> 'salience_weight')::float8)
  || ',"distance_decay":' || ragdb_internal.micro((policy ->> 'distance_decay')::float8)
  || ',"include_siblings":' || (policy ->> 'include_siblings')
  || ',"max_siblings_per_node":' || (policy ->> 'max_siblings_per_node')::numeric::integer || '}';

-- Definer, because what it calls is granted to nobody.
create or replace function ragdb.policy_hash(policy jsonb) returns text
language sql stable parallel safe security definer
return ragdb.xxh64(pg_catalog.convert_to(
  ragdb_internal.policy_canonical(ragdb_internal.complete_policy(policy)), 'UTF8'));
comment on function ragdb.policy_hash is
  'Returns the params_hash of a slice policy: 16 hex digits of xxHash64 over its canonical JSON. '
  'Raises RG430.';

-- Returns a policy completed, with its reference and canonical form, registered or not. Raises
-- RG430.
create or replace function ragdb_internal.hashed_policy(policy jsonb) returns ragdb.slice_policies
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_policy ragdb.slice_policies;
begin
  v_policy.policy := ragdb_internal.complete_policy(policy);
  v_policy.policy_id := v_policy.policy ->> 'version';
  v_policy.canonical := ragdb_internal.policy_canonical(v_policy.policy);
  v_policy.params_hash := ragdb.xxh64(convert_to(v_policy.canonical, 'UTF8'));
  v_policy.sha256 := sha256(convert_to(v_policy.canonical, 'UTF8'));
  return v_policy;
end $$;
