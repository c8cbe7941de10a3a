create or replace function ragdb_internal.micro(value float8) returns bigint
language sql immutable strict parallel safe
return pg_catalog.floor(value::real::float8 * 1000000::float8 + 0.5::float8)::bigint;
comment on function ragdb_internal.micro(float8) is
  'Quantises a weight of 0..1: its single-precision value times a million, rounded half away from '
  'zero.';

create or replace function ragdb_internal.default_policy() returns jsonb
language sql immutable parallel safe
return '{"version": "slice_policy_v1", "max_nodes": 256, "max_radius": 10,
  "phase_weights": {"synthesis": 1.0, "planning": 0.9, "consolidation": 0.6, "debugging": 0.5,
    "exploration": 0.3},
  "salience_weight": 0.3, "distance_decay": 0.9, "include_siblings": true,
    "max_siblings_per_node": 5}'::jsonb;
comment on function ragdb_internal.default_policy() is
  'Returns the slice policy that is used when none is given.';

-- Fills in defaults and refuses what does not belong: a policy that is stored is a policy that can
-- be obeyed.
create or replace function ragdb_internal.complete_policy(policy jsonb) returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_default constant jsonb := ragdb_internal.default_policy();
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
        || ragdb_internal.quote((policy -> 'phase_weights')::text),
            hint = 'give a weight of 0 to 1 for each phase';
  end if;
  for v_key in
    select k from jsonb_object_keys(policy) k where not v_default ? k
    union all
    select 'phase_weights.' || k from jsonb_object_keys(coalesce(policy -> 'phase_weights', '{}')) k
      where not v_default -> 'phase_weights' ? k
  loop
    raise exception 'a slice policy has no field %', ragdb_internal.quote(v_key)
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
        || ragdb_internal.quote((v_policy -> 'version')::text),
            hint = 'the default is slice_policy_v1';
  end if;
  if jsonb_typeof(v_policy -> 'include_siblings') <> 'boolean' then
    raise exception 'include_siblings is not true or false'
      using errcode = 'RG430', detail = 'its value is '
        || ragdb_internal.quote((v_policy -> 'include_siblings')::text),
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
        using errcode = 'RG430', detail = 'its value is ' || ragdb_internal.quote(v_value::text),
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
        using errcode = 'RG430', detail = 'its value is ' || ragdb_internal.quote(v_value::text),
          hint = 'weights are shares';
    end if;
    -- what has the same canonical form has to admit the same chunks
    v_weight := trim_scale(ragdb_internal.micro(ragdb_internal.double(round(v_value::numeric, 30))) / 1000000.0);
    if v_weight <> v_value::numeric then
      v_policy := jsonb_set(v_policy, string_to_array(v_key, '.'), to_jsonb(v_weight));
    end if;
  end loop;
  return v_policy;
end $$;
comment on function ragdb_internal.complete_policy(jsonb) is
  'Returns a slice policy with its defaults filled in and its weights to six decimals, as its hash '
  'has them. Raises RG430 for a field that is unknown or out of range.';

-- Declaration order, no white space, every float as an integer of millionths: the same bytes in
-- every language.
create or replace function ragdb_internal.policy_canonical(policy jsonb) returns text
language sql immutable strict parallel safe
return '{"version":"' || (policy ->> 'version')
  || '","max_nodes":' || (policy ->> 'max_nodes')::numeric::integer
  || ',"max_radius":' || (policy ->> 'max_radius')::numeric::integer
  || ',"phase_weights":{"synthesis":'
    || ragdb_internal.micro((policy -> 'phase_weights' ->> 'synthesis')::float8)
  || ',"planning":' || ragdb_internal.micro((policy -> 'phase_weights' ->> 'planning')::float8)
  || ',"consolidation":' || ragdb_internal.micro((policy -> 'phase_weights' ->> 'consolidation')::float8)
  || ',"debugging":' || ragdb_internal.micro((policy -> 'phase_weights' ->> 'debugging')::float8)
  || ',"exploration":' || ragdb_internal.micro((policy -> 'phase_weights' ->> 'exploration')::float8)
  || '},"salience_weight":' || ragdb_internal.micro((policy ->> 'salience_weight')::float8)
  || ',"distance_decay":' || ragdb_internal.micro((policy ->> 'distance_decay')::float8)
  || ',"include_siblings":' || (policy ->> 'include_siblings')
  || ',"max_siblings_per_node":' || (policy ->> 'max_siblings_per_node')::numeric::integer || '}';
comment on function ragdb_internal.policy_canonical(jsonb) is
  'Returns the canonical JSON of a complete slice policy: what params_hash (xxHash64) and its '
  'sha256 are taken of.';

-- Definer, because what it calls is granted to nobody.
create or replace function ragdb.policy_hash(policy jsonb) returns text
language sql stable parallel safe security definer
return ragdb.xxh64(pg_catalog.convert_to(ragdb_internal.policy_canonical(ragdb_internal.complete_policy(policy)),
  'UTF8'));
comment on function ragdb.policy_hash(jsonb) is
  'Returns the params_hash of a slice policy: 16 hex digits of xxHash64 over its canonical JSON. '
  'Raises RG430.';

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
comment on function ragdb_internal.hashed_policy(jsonb) is
  'Returns a policy completed, with its reference and canonical form, registered or not. Raises '
  'RG430.';
