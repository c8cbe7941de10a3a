-- Taking a contract out of force.

-- Definer: contracts are granted to nobody.
create or replace function ragdb.withdraw_contract(contract text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_version integer;
begin
  perform ragdb_internal.hold('apply_contract');
  v_version := ragdb_internal.contract_version(contract, null);
  perform ragdb_internal.check_may_replace(contract, v_version);
  perform ragdb_internal.lock_rags('{}', contract, v_version);
  update ragdb.contracts k set is_current = false
    where k.contract = withdraw_contract.contract and k.version = v_version;
  delete from ragdb.eval_cases c where c.contract = withdraw_contract.contract;
  perform ragdb_internal.record_state('contract', null, contract);
end $$;
comment on function ragdb.withdraw_contract is
  'Takes a contract out of force: its retrievers, rags, tools and cases go, and their names are '
  'free. Its versions, runs, corpora, grants and embedders stay; ragdb.apply_contract puts it in '
  'force again. Raises RG401, RG441.';
