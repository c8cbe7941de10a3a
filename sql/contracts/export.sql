-- Stored contracts: who may read them, and how they are listed and given back.

-- Whether a version of a contract is over the corpus personal of another role than the caller. A
-- contract over `personal` tells of its owner what the corpus does, so it is theirs alone. Lists
-- ask it of each contract; in SQL it would start a statement anew for each.
create or replace function ragdb_internal.is_others_contract(contract text, version integer)
  returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (
    select from ragdb.contract_nodes n
      join ragdb.contracts k on k.contract = n.contract and k.version = n.version
    where n.contract = is_others_contract.contract and n.version = is_others_contract.version
      and n.node = 'corpus' and n.corpus = 'personal'
      and not ragdb_internal.is_caller(k.applied_by, k.applied_by_oid));
end $$;

-- Whether the caller may read a corpus of a contract, or is an admin; of a contract over the corpus
-- personal, whether the caller applied it.
create or replace function ragdb_internal.may_read_contract(contract text, version integer)
  returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return (pg_has_role(ragdb_internal.caller(), 'ragdb_admin', 'usage') or exists (
      select from ragdb.contract_nodes n
        join ragdb.corpora c on c.corpus_id = ragdb_internal.corpus_number(n.corpus)
      where n.contract = may_read_contract.contract and n.version = may_read_contract.version
        and n.node = 'corpus'
        and ragdb_internal.privilege(c) > 0))
    and not ragdb_internal.is_others_contract(contract, version);
end $$;

-- Returns a stored node as ragdb.apply_contract takes it, without those below it.
create or replace function ragdb_internal.node_json(node ragdb.contract_nodes) returns jsonb
language sql immutable parallel safe
return pg_catalog.jsonb_build_object('node', (node).node, 'line', (node).line,
    'column', (node)."column", 'keys', (node).keys, 'columns', (node).columns)
  || case when (node).prompt_sha256 is null then '{}'
    else pg_catalog.jsonb_build_object('prompt_sha256', (node).prompt_sha256) end;

-- Returns the top nodes of a contract with all below them, as JSON.
create or replace function ragdb_internal.contract_tree(contract text, version integer)
  returns jsonb
language sql stable parallel safe
begin atomic
  with recursive walk as (
    select n.node_no, 1 as depth from ragdb.contract_nodes n
    where n.contract = contract_tree.contract and n.version = contract_tree.version
      and n.parent_no is null
    union all
    select n.node_no, w.depth + 1 from walk w
      join ragdb.contract_nodes n on n.contract = contract_tree.contract
        and n.version = contract_tree.version and n.parent_no = w.node_no
  )
  select ragdb_internal.nested_nodes(pg_catalog.array_agg(row(n.node_no, w.depth,
    ragdb_internal.node_json(n)::text)::ragdb_internal.flat_node))
  from walk w
    join ragdb.contract_nodes n on n.contract = contract_tree.contract
      and n.version = contract_tree.version and n.node_no = w.node_no;
end;

-- Returns a version of a contract (null: the one in force) that the caller may read. Raises RG441.
create or replace function ragdb_internal.contract_version(contract text, version integer)
  returns integer
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_version integer;
  v_latest integer;
begin
  select k.version into v_version from ragdb.contracts k
    where k.contract = contract_version.contract
      and case when contract_version.version is null then k.is_current
        else k.version = contract_version.version end
      and ragdb_internal.may_read_contract(k.contract, k.version);
  if not found and version is null then
    select max(k.version) into v_latest from ragdb.contracts k
      where k.contract = contract_version.contract
        and ragdb_internal.may_read_contract(k.contract, k.version);
  end if;
  if v_version is null then
    raise exception 'contract % %', ragdb_internal.quote(contract),
        case when v_latest is null then 'does not exist' else 'is not in force' end
      using errcode = 'RG441',
        detail = coalesce('version ' || v_latest || ', the latest,',
            'there is no version ' || version || ' of it that', 'none of that name')
          || ' is visible to role ' || ragdb_internal.quote(ragdb_internal.caller()),
        hint = case when v_latest is null then 'ragdb.list_contracts() lists them; '
          else 'name a version; ' end || 'ragdb.apply_contract() puts one in force';
  end if;
  return v_version;
end $$;

-- Definer: contracts are granted to nobody; who may read one of its corpora may read a contract.
create or replace function ragdb.export_contract(contract text, version integer default null)
  returns jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_version constant integer := ragdb_internal.contract_version(contract, version);
begin
  return jsonb_build_object('contract', contract, 'version', v_version,
    'nodes', ragdb_internal.contract_tree(contract, v_version));
end $$;
comment on function ragdb.export_contract is
  'Returns an applied contract (the version in force unless another is named) in the form that '
  'ragdb.apply_contract takes. Raises RG441.';

create or replace function ragdb.list_contracts(
  only_current boolean default false, prefix text default '', after text default '',
  count integer default null)
returns table (name text, version integer, is_current boolean, corpora text[], rags text[],
  applied_at timestamptz, applied_by text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform ragdb_internal.check_paged(prefix, after, 'name'),
    ragdb_internal.check_listed(coalesce(count, 1), 'contracts');
  return query
    select k.contract, k.version, k.is_current,
      array(select n.corpus from ragdb.contract_nodes n
        where n.contract = k.contract and n.version = k.version and n.node = 'corpus' order by 1),
      array(select n.name from ragdb.contract_nodes n
        where n.contract = k.contract and n.version = k.version and n.node = 'rag'
        order by n.node_no),
      k.applied_at, k.applied_by
    from (
      select x.* from (
        select c.* from ragdb.contracts c
        where c.contract >= prefix collate "C" and starts_with(c.contract, prefix)
          and c.contract > after collate "C" and (c.is_current or not only_current)
        -- offset 0: whether it may be read is asked of those of the page alone
        order by c.contract offset 0) x
      where ragdb_internal.may_read_contract(x.contract, x.version)
      order by x.contract fetch first (coalesce(count, 2147483647)) rows with ties) k
    order by k.contract, k.version desc;
end $$;
comment on function ragdb.list_contracts is
  'Lists the contracts that the caller may read, every version or those in force, the newest of '
  'each first: those whose name begins with a prefix and comes after a given one, at most count '
  '(1 to 10000; null: all) and what other versions the last contract has. Raises RG400.';
