-- A contract over `personal` says of its owner what the corpus does, and is as much theirs alone.
create or replace function ragdb_internal.is_others_contract(contract text, version integer) returns boolean
language sql stable parallel safe
return exists (
  select from ragdb.contracts k join ragdb.contract_nodes n on n.contract = k.contract
    and n.version = k.version
  where k.contract = is_others_contract.contract and k.version = is_others_contract.version
    and n.node = 'corpus' and n.corpus = 'personal' and k.applied_by <> ragdb_internal.caller());
comment on function ragdb_internal.is_others_contract(text, integer) is
  'Whether a version of a contract is over the corpus personal of another role than the caller.';

-- Who may read a corpus of a contract may read the contract.
create or replace function ragdb_internal.may_read_contract(contract text, version integer) returns boolean
language sql stable parallel safe
return (exists (
  select from ragdb.contract_nodes n
    join ragdb.corpora c on c.name = n.corpus
      and c.personal_of is not distinct from case when c.name = 'personal' then ragdb_internal.caller() end
  where n.contract = may_read_contract.contract and n.version = may_read_contract.version
    and n.node = 'corpus'
    and ragdb_internal.privilege(c.corpus_id, c.personal_of, c.name) > 0)
  or pg_catalog.pg_has_role(ragdb_internal.caller(), 'ragdb_admin', 'usage'))
  and not ragdb_internal.is_others_contract(may_read_contract.contract, may_read_contract.version);
comment on function ragdb_internal.may_read_contract(text, integer) is
  'Whether the caller may read a corpus of a contract, or is an admin; of one over the corpus '
  'personal, whether the caller applied it.';

-- Level by level from the deepest: a look at all nodes for each of them would take their number
-- squared.
create or replace function ragdb_internal.contract_tree(contract text, version integer) returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_nodes integer[];
  v_depths integer[];
  v_parents integer[] := '{}';
  v_children jsonb[] := '{}';
begin
  with recursive walk as (
    select n.node_no, 1 as depth from ragdb.contract_nodes n
    where n.contract = contract_tree.contract and n.version = contract_tree.version
      and n.parent_no is null
    union all
    select n.node_no, w.depth + 1 from walk w
      join ragdb.contract_nodes n on n.contract = contract_tree.contract
        and n.version = contract_tree.version and n.parent_no = w.node_no
  )
  select array_agg(w.node_no), array_agg(w.depth) into v_nodes, v_depths from walk w;
  for v_depth in reverse (select max(d) from unnest(v_depths) d) .. 1 loop
    select array_agg(p.parent_no), array_agg(p.children) into v_parents, v_children from (
      select coalesce(n.parent_no, 0) as parent_no, jsonb_agg(
        jsonb_build_object('node', n.node, 'line', n.line, 'column', n."column", 'keys', n.keys,
          'columns', n.columns,
          'children', coalesce(c.children, '[]'))
        || case when n.prompt_sha256 is null then '{}'
          else jsonb_build_object('prompt_sha256', n.prompt_sha256) end order by n.node_no)
          as children
      from unnest(v_nodes, v_depths) w (node_no, depth)
        join ragdb.contract_nodes n on n.contract = contract_tree.contract
          and n.version = contract_tree.version and n.node_no = w.node_no
        left join unnest(v_parents, v_children) c (node_no, children) on c.node_no = n.node_no
      where w.depth = v_depth group by n.parent_no) p;
  end loop;
  return v_children[1];
end $$;
comment on function ragdb_internal.contract_tree(text, integer) is
  'Returns the top nodes of a contract with all below them, as JSON.';

create or replace function ragdb.export_contract(contract text, version integer default null)
  returns jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_version integer;
begin
  select k.version into v_version from ragdb.contracts k
    where k.contract = export_contract.contract
      and case when export_contract.version is null then k.is_current
        else k.version = export_contract.version end
      and ragdb_internal.may_read_contract(k.contract, k.version);
  if not found then
    raise exception 'contract % does not exist', ragdb_internal.quote(contract)
      using errcode = 'RG441',
        detail = coalesce('there is no version ' || version || ' of it that', 'none of that name')
              || ' is visible to role ' || ragdb_internal.quote(ragdb_internal.caller()),
            hint = 'ragdb.list_contracts() lists them; ragdb apply FILE puts one in force';
  end if;
  return jsonb_build_object('contract', contract, 'version', v_version,
    'nodes', ragdb_internal.contract_tree(contract, v_version));
end $$;
comment on function ragdb.export_contract(text, integer) is
  'Returns an applied contract (the version in force unless another is named) in the form that '
  'ragdb.apply_contract takes. Raises RG441.';

create or replace function ragdb.list_contracts()
returns table (name text, version integer, is_current boolean, corpora text[], rags text[],
  applied_at timestamptz, applied_by text)
language sql stable parallel safe security definer
begin atomic
  select k.contract, k.version, k.is_current,
    array(select n.corpus from ragdb.contract_nodes n where n.contract = k.contract
      and n.version = k.version and n.node = 'corpus' order by 1),
    array(select n.name from ragdb.contract_nodes n where n.contract = k.contract
      and n.version = k.version and n.node = 'rag' order by n.node_no),
    k.applied_at, k.applied_by
  from ragdb.contracts k where ragdb_internal.may_read_contract(k.contract, k.version)
  order by k.contract, k.version desc;
end;
comment on function ragdb.list_contracts() is
  'Lists every version of the contracts that the caller may read, the newest of each first.';
