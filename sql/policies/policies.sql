-- Registered policies: immutable rows, named by policy_id and params_hash.

select ragdb_internal.make_append_only('slice_policies');

-- Returns a policy by its reference; null when it is neither registered nor the default, or its row
-- is not what was registered. The default policy exists without being registered. A row that is not
-- what its hashes say was edited, and is not a policy.
create or replace function ragdb_internal.known_policy(policy_id text, params_hash text)
returns ragdb.slice_policies
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_policy ragdb.slice_policies;
  v_made ragdb.slice_policies;
begin
  select p.* into v_policy from ragdb.slice_policies p
    where p.policy_id = known_policy.policy_id and p.params_hash = known_policy.params_hash;
  v_made := ragdb_internal.hashed_policy(coalesce(v_policy.policy, '{}'));
  if (v_made.policy_id, v_made.params_hash)
      is distinct from (known_policy.policy_id, known_policy.params_hash)
    or (v_policy.canonical, v_policy.sha256) is distinct from (v_made.canonical, v_made.sha256)
      and v_policy.policy_id is not null
  then
    return null;
  end if;
  return v_made;
end $$;

-- Returns a policy with its reference and canonical form, from a reference, a policy in full or
-- null (the default). Null is the default policy; {"policy_id", "params_hash"} names a registered
-- one; anything else is a policy in full. Raises RG430, RG431.
create or replace function ragdb_internal.resolve_policy(policy jsonb) returns ragdb.slice_policies
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_policy ragdb.slice_policies;
begin
  if policy is null or not policy ? 'policy_id' then
    return ragdb_internal.hashed_policy(coalesce(policy, '{}'));
  end if;
  v_policy := ragdb_internal.known_policy(policy ->> 'policy_id', policy ->> 'params_hash');
  if v_policy.policy_id is null then
    raise exception 'policy % with params_hash % is not registered',
        ragdb_internal.quote(policy ->> 'policy_id'), ragdb_internal.quote(policy ->> 'params_hash')
      using errcode = 'RG431',
        detail = 'a reference needs policy_id and params_hash, and a row that is as it was '
          'registered',
        hint = 'ragdb.list_policies() lists them; ragdb.register_policy() adds one';
  end if;
  return v_policy;
end $$;

-- Returns the reference of a policy named id@params_hash, or by its id where one policy has that;
-- null for null. The command line and contracts name a policy so. Its id alone is enough while it
-- names one. Raises RG431.
create or replace function ragdb_internal.policy_reference(policy text) returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hashes text[];
begin
  if policy like '%@%' then
    return jsonb_build_object(
      'policy_id', split_part(policy, '@', 1), 'params_hash', split_part(policy, '@', 2));
  elsif policy is null then
    return null;
  end if;
  v_hashes := array(
    select p.params_hash from ragdb.slice_policies p where p.policy_id = policy_reference.policy
    union
    select d.params_hash from ragdb_internal.hashed_policy('{}') d
      where d.policy_id = policy_reference.policy
    order by 1);
  if cardinality(v_hashes) <> 1 then
    raise exception '% policies are named %', cardinality(v_hashes), ragdb_internal.quote(policy)
      using errcode = 'RG431',
        detail = coalesce(
          'their hashes are ' || nullif(array_to_string(v_hashes[:10], ', '), ''),
          'none is registered'),
        hint = 'a policy is named id@params_hash; ragdb.list_policies() lists them';
  end if;
  return jsonb_build_object('policy_id', policy, 'params_hash', v_hashes[1]);
end $$;

-- Stores a resolved policy; one that is stored already is left alone. Raises RG409.
create or replace function ragdb_internal.store_policy(policy ragdb.slice_policies) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into ragdb.slice_policies
    values (policy.policy_id, policy.params_hash, policy.canonical, policy.sha256, policy.policy,
      ragdb_internal.now(), ragdb_internal.caller())
    on conflict do nothing;
  if found then
    perform ragdb_internal.note('policy', policy.policy_id || '@' || policy.params_hash);
  end if;
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

-- Definer, like those below: slice_policies is granted to nobody.
create or replace function ragdb.register_policy(policy jsonb)
returns table (policy_id text, params_hash text)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_policy ragdb.slice_policies := ragdb_internal.hashed_policy(register_policy.policy);
begin
  perform ragdb_internal.store_policy(v_policy);
  return query select v_policy.policy_id, v_policy.params_hash;
end $$;
comment on function ragdb.register_policy is
  'Registers a slice policy (fields left out have their defaults, weights count to six decimals) '
  'and returns its reference; registering it again changes nothing. Raises RG409, RG430.';

create or replace function ragdb.list_policies()
returns table (
  policy_id text, params_hash text, policy jsonb, created_at timestamptz, created_by text)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select p.policy_id, p.params_hash, p.policy, p.created_at, p.created_by
    from ragdb.slice_policies p
  union all
  select d.policy_id, d.params_hash, d.policy, null, null
    from ragdb_internal.hashed_policy('{}') d
    where not exists (select from ragdb.slice_policies p
      where p.policy_id = d.policy_id and p.params_hash = d.params_hash)
  order by 1, 2;
end;
comment on function ragdb.list_policies is
  'Lists the slice policies that may be named, by reference: the registered ones, and the default, '
  'which has no created_at and no created_by until a slice is stored under it.';

create or replace function ragdb.registry_fingerprint() returns text
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
return ragdb.xxh64(pg_catalog.convert_to('[' || (
    select pg_catalog.string_agg(
        '{"policy_id":"' || p.policy_id || '","params_hash":"' || p.params_hash || '"}', ','
        order by p.policy_id, p.params_hash)
      from ragdb.list_policies() p) || ']', 'UTF8'));
comment on function ragdb.registry_fingerprint is
  'Returns xxHash64 over the ordered JSON list of the references that ragdb.list_policies returns: '
  'equal registries have equal fingerprints.';
