-- The nodes of a contract written as text, from which the same nodes are read.

-- Returns a node as the line of a contract, without its children. jsonb keeps no order of keys, so
-- that their columns say it.
create or replace function ragdb_internal.written_line(written jsonb) returns text
language sql stable parallel safe
return (written ->> 'node') || coalesce((
  select pg_catalog.string_agg(
    ' ' || k.key || '=' || ragdb_internal.written_value(k.value), ''
    order by ragdb_internal.whole(written -> 'columns' ->> k.key, 1, 10000000) nulls first, k.n)
  from pg_catalog.jsonb_each(ragdb_internal.json_part(written, 'keys', 'object'))
    with ordinality k (key, value, n)), '');

-- Refuses what the line syntax cannot say. Raises RG440.
create or replace function ragdb_internal.check_writable(contract jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if ragdb_internal.is_contract(contract) and not exists (
    select from ragdb_internal.written_nodes(contract) w
    where w.depth > 16 or not ragdb_internal.is_contract_node(w.written)
      or w.written ->> 'node' !~ '^[A-Za-z_][A-Za-z0-9_-]*$'
      or exists (
        select from jsonb_object_keys(ragdb_internal.json_part(w.written, 'keys', 'object')) k (key)
        where k.key !~ '^[A-Za-z_][A-Za-z0-9_-]*$'))
  then
    return;
  end if;
  raise exception 'the contract cannot be written as text'
    using errcode = 'RG440',
      detail = 'it is not {"contract": name, "nodes": [{"node", "keys", "children"}]} with words '
        'as names of nodes and keys, up to 16 levels deep',
      hint = 'ragdb.validate_contract() says what is wrong';
end $$;

-- Definer: it calls private functions, and reads and writes nothing.
create or replace function ragdb.write_contract(contract jsonb) returns text
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
begin
  perform ragdb_internal.check_writable(contract);
  return coalesce((
    select string_agg(repeat('  ', w.depth - 1) || ragdb_internal.written_line(w.written) || E'\n',
      '' order by w.path)
    from ragdb_internal.written_nodes(contract) w), '');
end $$;
comment on function ragdb.write_contract is
  'Returns a contract in the line syntax, from which ragdb.parse_contract reads the same nodes and '
  'keys, a number of more than 18 digits or 15 decimals as a text. Raises RG440.';
