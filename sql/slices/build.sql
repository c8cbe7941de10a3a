-- Slices: the chunks that a policy admits around an anchor. Policies are immutable; a slice is a
-- pure function of corpus content, anchor and policy, and its fingerprint covers all three.

-- Builds the slice of a resolved policy around an anchor, with each member's distance in order of
-- selection. Raises RG434.
create or replace function ragdb_internal.assemble_slice(
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
    raise exception 'anchor % is not in corpus %',
        ragdb_internal.quote(anchor), ragdb_internal.quote(corpus.name)
      using errcode = 'RG434',
        detail = 'a slice is built around a chunk that exists',
        hint = 'ragdb.search() gives chunk ids; ids of turns are UUIDs in lower case';
  end if;
  select e.chunk_ids, e.distances into strict slice.selection_order, distances
    from ragdb_internal.expand_slice(corpus.corpus_id, v_anchor_no, policy.policy) e;
  slice.anchor_chunk_id := anchor;
  slice.policy_id := policy.policy_id;
  slice.params_hash := policy.params_hash;
  slice.chunk_ids := array(select u collate "C" from unnest(slice.selection_order) u order by 1);
  slice := ragdb_internal.fingerprinted(corpus, slice);
end $$;

-- Stores a slice that was just built; the same graph state is stored once. A policy that is not
-- registered is, where the caller may register one. The caller holds the corpus. Only an admin says
-- what counts as evidence: a reader's own policy could admit everything. Raises RG409, RG431.
create or replace function ragdb_internal.store_slice(
  slice ragdb.slices, policy ragdb.slice_policies)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if (ragdb_internal.known_policy(policy.policy_id, policy.params_hash)).policy_id is not null
    or has_function_privilege(ragdb_internal.caller(), 'ragdb.register_policy(jsonb)', 'execute')
  then
    perform ragdb_internal.store_policy(policy);
  else
    raise exception 'policy % with params_hash % is not registered',
        ragdb_internal.quote(policy.policy_id), policy.params_hash
      using errcode = 'RG431',
        detail = 'a slice is kept as evidence only by the default policy or a registered one',
        hint = 'an admin calls ragdb.register_policy(); ragdb.build_slice() and '
          'ragdb.search_slice() take any policy and keep nothing';
  end if;
  slice.created_at := ragdb_internal.now();
  insert into ragdb.slices values (slice.*) on conflict do nothing;
  if found then
    perform ragdb_internal.note('slice', slice.corpus_id || '/' || slice.slice_id);
  end if;
end $$;

create type ragdb.built_slice as (
  slice_id text, anchor_chunk_id text, chunk_ids text[], selection_order text[],
  distances integer[], edge_count integer, policy_id text, params_hash text, schema_version text,
  graph_snapshot_hash text, admissibility_token text);
comment on type ragdb.built_slice is
  'A slice as it is handed out: members sorted and in order of selection with their distances, '
  'fingerprints, and the token where it is signed.';

-- Returns a slice as it is handed out.
create or replace function ragdb_internal.built_slice(
  slice ragdb.slices, distances integer[], token text) returns ragdb.built_slice
language sql immutable parallel safe
return row((slice).slice_id, (slice).anchor_chunk_id, (slice).chunk_ids, (slice).selection_order,
  distances, (slice).edge_count, (slice).policy_id, (slice).params_hash, (slice).schema_version,
  (slice).graph_snapshot_hash, token)::ragdb.built_slice;

-- Definer, like the two below: chunks, edges, slices and keys are granted to nobody.
create or replace function ragdb.build_slice(
  corpus text, anchor text, policy jsonb default null, sign boolean default true,
  as_of bigint default null)
returns setof ragdb.built_slice
language plpgsql stable security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(build_slice.corpus, 'read');
  v_policy ragdb.slice_policies := ragdb_internal.resolve_policy(build_slice.policy);
  v_made record;
begin
  if as_of is not null then
    v_made := ragdb_internal.assemble_slice_then(
      (ragdb_internal.corpus_at(v_corpus, as_of)).corpus, anchor, v_policy);
    return next ragdb_internal.built_slice(v_made.slice, v_made.distances, null);
    return;
  end if;
  v_made := ragdb_internal.assemble_slice(v_corpus, anchor, v_policy);
  return next ragdb_internal.built_slice(v_made.slice, v_made.distances,
    case when sign then ragdb_internal.issue_token(v_corpus, v_made.slice, v_policy) end);
end $$;
comment on function ragdb.build_slice is
  'Builds the slice that a policy (in full, by reference, or null for the default) admits around '
  'an anchor chunk, without writing: members, fingerprints and, with sign, the admissibility '
  'token. as_of is a version of a corpus that keeps its history: the slice is the one of then, and '
  'has no token, which vouches for evidence that is there. Raises RG400, RG404, RG430, RG431, '
  'RG433, RG434, RG437.';

create or replace function ragdb.build_slices(
  corpus text, anchors text[], policy jsonb default null, sign boolean default true)
returns table (
  anchor_chunk_id text, slice_id text, chunk_ids text[], selection_order text[],
  distances integer[], edge_count integer, policy_id text, params_hash text, schema_version text,
  graph_snapshot_hash text, admissibility_token text, error_code text, error text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(build_slices.corpus, 'read');
  v_policy ragdb.slice_policies;
  v_anchor text;
  v_made record;
begin
  if coalesce(cardinality(anchors) not between 1 and 1000, true) then
    raise exception 'anchors are 1 to 1000 chunk ids, not %',
        coalesce(cardinality(anchors)::text, 'null')
      using errcode = 'RG400',
        detail = 'one slice is built for each',
        hint = 'split a longer list';
  end if;
  foreach v_anchor in array anchors loop
    -- an anchor that is missing is that anchor's failure; anything else is everyone's
    if not exists (select from ragdb.chunks c
      where c.corpus_id = v_corpus.corpus_id and c.chunk_id = v_anchor)
    then
      anchor_chunk_id := v_anchor;
      error_code := 'RG434';
      error := format('anchor %s is not in corpus %s', ragdb_internal.quote(v_anchor),
        ragdb_internal.quote(v_corpus.name));
      return next;
      continue;
    end if;
    if v_policy.policy_id is null then
      v_policy := ragdb_internal.resolve_policy(build_slices.policy);
    end if;
    v_made := ragdb_internal.assemble_slice(v_corpus, v_anchor, v_policy);
    return query
      select s.anchor_chunk_id, s.slice_id, s.chunk_ids, s.selection_order, s.distances,
          s.edge_count, s.policy_id, s.params_hash, s.schema_version, s.graph_snapshot_hash,
          s.admissibility_token, null::text, null::text
        from ragdb_internal.built_slice(v_made.slice, v_made.distances, case when sign
          then ragdb_internal.issue_token(v_corpus, v_made.slice, v_policy) end) s;
  end loop;
end $$;
comment on function ragdb.build_slices is
  'Builds a slice for each of 1 to 1000 anchors; an anchor that does not exist gives a row with '
  'error_code and error instead. Raises RG400, RG404, RG430, RG431, RG433.';

create or replace function ragdb.export_slice(corpus text, anchor text, policy jsonb default null)
returns setof ragdb.built_slice
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(export_slice.corpus, 'read');
  v_policy ragdb.slice_policies := ragdb_internal.resolve_policy(export_slice.policy);
  v_made record;
begin
  v_made := ragdb_internal.assemble_slice(v_corpus, anchor, v_policy);
  perform ragdb_internal.hold_corpus(v_corpus.corpus_id);
  perform ragdb_internal.store_slice(v_made.slice, v_policy);
  return next ragdb_internal.built_slice(v_made.slice, v_made.distances,
    ragdb_internal.issue_token(v_corpus, v_made.slice, v_policy));
end $$;
comment on function ragdb.export_slice is
  'Builds, signs and stores a slice, so that it can be searched by its id. Raises RG400, RG404, '
  'RG430, RG431, RG433, RG434.';
