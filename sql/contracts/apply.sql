-- Applying a contract: who may put it in force, and its nodes stored as a version.

-- Returns a path without a leading ./.
create or replace function ragdb_internal.without_dot(path text) returns text
language sql immutable parallel safe
return pg_catalog.regexp_replace(without_dot.path, '^(\./+)+', '');

-- Returns a list of paths, each without a leading ./.
create or replace function ragdb_internal.without_dots(paths text) returns text
language sql immutable parallel safe
return pg_catalog.array_to_string(array(
  select ragdb_internal.without_dot(p.path)
  from pg_catalog.unnest(ragdb_internal.list(paths)) with ordinality p (path, n)
  order by p.n), ',');

-- Returns the value of an assertion whose kind compares it with sources; null for other kinds.
create or replace function ragdb_internal.asserted_source(kind text, value text) returns text
language sql immutable parallel safe
return (
  select case when k.splits then ragdb_internal.without_dots(asserted_source.value)
    else ragdb_internal.without_dot(asserted_source.value) end
  from ragdb_internal.assertion_kinds() k
  where k.kind = asserted_source.kind
    and (k.seeks in ('source', 'glob', 'item') or k.kind = 'topSourceEq'));

-- Returns the keys of a node as they are stored: sources are relative to the contract, without a
-- leading ./.
create or replace function ragdb_internal.stored_keys(item ragdb_internal.contract_item)
  returns jsonb
language sql immutable parallel safe
return case
  when (item).node = 'source' and coalesce((item).keys ->> 'kind', 'local') = 'local'
    then (item).keys || pg_catalog.jsonb_build_object('uri',
      ragdb_internal.without_dot((item).keys ->> 'uri'))
  when (item).node = 'ragCase' and (item).keys ? 'sources'
    then (item).keys || pg_catalog.jsonb_build_object('sources',
      ragdb_internal.without_dots((item).keys ->> 'sources'))
  when (item).node = 'ragAssert'
    then (item).keys || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('value',
      ragdb_internal.asserted_source((item).keys ->> 'kind', (item).keys ->> 'value')))
  else (item).keys
end;

-- Refuses a contract in which something is wrong. Raises RG440.
create or replace function ragdb_internal.check_is_sound(contract jsonb, name text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_problem record;
begin
  select p.*, count(*) over () as errors into v_problem
    from ragdb.validate_contract(contract) p where p.severity = 'error' limit 1;
  if found then
    perform ragdb_internal.refuse_contract(name, v_problem.rule, v_problem.line,
      v_problem."column", v_problem.message, v_problem.hint, v_problem.errors);
  end if;
end $$;

-- Refuses a contract that declares a name of another contract in force. Tools and prompts share
-- their names, for clients see both as one list. What a source read is known by its name and its
-- corpus: where two contracts have both, to prune what is gone from one takes what the other read.
-- Raises RG409.
create or replace function ragdb_internal.check_names_are_free(items ragdb_internal.contract_item[],
  contract text)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_taken record;
begin
  select i.node, i.name, o.contract, o.version into v_taken
    from unnest(items) i
      join ragdb.contract_nodes o on o.name = i.name
        and o.contract <> check_names_are_free.contract
        and (o.node = i.node or o.node in ('tool', 'prompt') and i.node in ('tool', 'prompt'))
      join ragdb.contracts k on k.contract = o.contract and k.version = o.version
        and k.is_current
    where i.node in ('retriever', 'rag', 'tool', 'prompt')
      or i.node = 'source' and o.corpus = i.corpus
    limit 1;
  if found then
    raise exception '% % is declared by another contract', v_taken.node,
        ragdb_internal.quote(v_taken.name)
      using errcode = 'RG409',
        detail = case when ragdb_internal.may_read_contract(v_taken.contract, v_taken.version)
            then 'contract ' || ragdb_internal.quote(v_taken.contract)
            else 'one that is not visible to role '
              || ragdb_internal.quote(ragdb_internal.caller()) end
          || ' has it, and ' || case v_taken.node
            when 'source' then 'what it read into its corpus is known by its name alone'
            else 'evaluations and tools name it alone' end,
        hint = 'give it another name, or take the other out of force: ragdb.withdraw_contract()';
  end if;
end $$;

-- Refuses to replace a version of a contract (null: there is none) unless the caller may write its
-- corpora. Whoever may not write a corpus of the version in force may not put another in its place.
-- Raises RG401, RG409.
create or replace function ragdb_internal.check_may_replace(contract text, version integer)
  returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not ragdb_internal.may_read_contract(contract, version)
    and (ragdb_internal.is_others_contract(contract, version) or exists (
      select from ragdb.contract_nodes o join ragdb.corpora c on c.name = o.corpus
      where o.contract = check_may_replace.contract and o.version = check_may_replace.version
        and o.node = 'corpus'))
  then
    raise exception 'contract % exists already', ragdb_internal.quote(contract)
      using errcode = 'RG409',
        detail = 'it is not visible to role ' || ragdb_internal.quote(ragdb_internal.caller()),
        hint = 'a contract has the name of its file: give that another name';
  end if;
  perform ragdb_internal.open_corpus(o.corpus, 'write', true)
    from ragdb.contract_nodes o
    where o.contract = check_may_replace.contract and o.version = check_may_replace.version
      and o.node = 'corpus' and exists (select from ragdb.corpora c where c.name = o.corpus);
end $$;

-- Stores a contract as its next version, puts that with its cases in force and returns its number.
-- Raises RG409.
create or replace function ragdb_internal.store_contract(contract text, nodes_hash bytea,
  items ragdb_internal.contract_item[])
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_version integer := coalesce((select max(k.version) from ragdb.contracts k
    where k.contract = store_contract.contract), 0) + 1;
begin
  update ragdb.contracts k set is_current = false
    where k.contract = store_contract.contract and k.is_current;
  insert into ragdb.contracts (contract, version, is_current, nodes_hash, applied_at, applied_by,
      applied_by_oid)
    values (store_contract.contract, v_version, true, store_contract.nodes_hash,
      ragdb_internal.now(), ragdb_internal.caller(), ragdb_internal.caller_oid());
  insert into ragdb.contract_nodes (contract, version, node_no, parent_no, node, name, corpus,
    rag, keys, columns, prompt_sha256, line, "column")
    select store_contract.contract, v_version, i.node_no, i.parent_no, i.node, i.name,
      ragdb_internal.contract_slug(i.corpus), i.rag, ragdb_internal.stored_keys(i), i.columns,
      i.prompt_sha256, i.line, i."column"
    from unnest(items) i;
  perform ragdb_internal.renew_statistics('{ragdb.contract_nodes}'),
    ragdb_internal.note('contract', store_contract.contract || '@' || v_version),
    ragdb_internal.record_state('contract', null, store_contract.contract);
  perform ragdb_internal.replace_declared_cases(contract, v_version);
  return v_version;
end $$;

-- Returns the SHA-256 of the nodes and keys of a contract, wherever they stand in its text.
create or replace function ragdb_internal.items_hash(items ragdb_internal.contract_item[])
  returns bytea
language sql immutable parallel safe
return (
  select pg_catalog.sha256(ragdb_internal.utf8(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(
    i.node, i.parent_no, i.name, ragdb_internal.contract_slug(i.corpus), i.rag,
    ragdb_internal.stored_keys(i), i.prompt_sha256) order by i.node_no)::text))
  from pg_catalog.unnest(items) i);

-- Returns what ragdb_internal.items_hash returned when a version of a contract was applied, by its
-- rows now.
create or replace function ragdb_internal.stored_items_hash(contract text, version integer)
  returns bytea
language sql stable parallel safe
return (
  select pg_catalog.sha256(ragdb_internal.utf8(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(
    n.node, n.parent_no, n.name, n.corpus, n.rag, n.keys, n.prompt_sha256)
    order by n.node_no)::text))
  from ragdb.contract_nodes n
  where n.contract = stored_items_hash.contract and n.version = stored_items_hash.version);

-- Waits for the runs of the evals of a contract and of its version before, and has them wait.
-- Before any corpus is locked, as everybody else does.
create or replace function ragdb_internal.lock_rags(items ragdb_internal.contract_item[],
  contract text, old_version integer) returns void
language sql
begin atomic
  select ragdb_internal.lock_evals(r.name, true)
  from (
    select i.name from pg_catalog.unnest(items) i where i.node = 'rag'
    union
    select n.name from ragdb.contract_nodes n
    where n.contract = lock_rags.contract and n.version = old_version and n.node = 'rag'
    order by 1) r;
end;

-- Definer: contracts are granted to nobody. One at a time, for names are unique over all contracts.
-- Its plans are kept for the next one.
create or replace function ragdb.apply_contract(contract jsonb)
returns table (name text, version integer, is_new boolean, corpora text[], nodes integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_items ragdb_internal.contract_item[];
  v_hash bytea;
begin
  name := coalesce(contract ->> 'contract', 'contract');
  perform ragdb_internal.check_is_sound(contract, name);
  v_items := array(select i from ragdb_internal.contract_items(contract) i);
  v_hash := ragdb_internal.items_hash(v_items);
  perform ragdb_internal.check_may_apply(v_items);
  perform ragdb_internal.hold('apply_contract');
  perform ragdb_internal.check_names_are_free(v_items, name);
  select k.version, k.nodes_hash <> v_hash into version, is_new from ragdb.contracts k
    where k.contract = apply_contract.name and k.is_current;
  is_new := coalesce(is_new, true);
  perform ragdb_internal.check_may_replace(name, version);
  if is_new then
    perform ragdb_internal.lock_rags(v_items, name, version);
  end if;
  perform ragdb_internal.apply_corpora(v_items, name, version);
  perform ragdb_internal.apply_embedder(ragdb_internal.contract_slug(i.corpus), i.keys ->> 'model',
      (i.keys ->> 'dims')::integer, coalesce(i.keys ->> 'metric', 'cosine'))
    from unnest(v_items) i where i.node = 'embed';
  if is_new then
    version := ragdb_internal.store_contract(name, v_hash, v_items);
  end if;
  corpora := array(select ragdb_internal.contract_slug(i.name) from unnest(v_items) i
    where i.node = 'corpus' order by 1);
  nodes := cardinality(v_items);
  return next;
end $$;
comment on function ragdb.apply_contract(jsonb) is
  'Puts a contract in force, in one transaction: makes its corpora, their grants (tenant: admin, '
  'acl: read) and embedders, and stores it as a new version unless nothing changed. Raises RG400, '
  'RG401, RG409, RG417, RG440.';

-- Definer: it is for the other to look up the rights of the caller.
create or replace function ragdb.apply_contract(contract text,
  contract_name text default 'contract')
returns table (name text, version integer, is_new boolean, corpora text[], nodes integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select a.* from ragdb.apply_contract(ragdb.parse_contract(contract, contract_name)) a;
end $$;
comment on function ragdb.apply_contract(text, text) is
  'Puts the text of a contract (up to 10000000 characters, in the line syntax or as JSON) in '
  'force, as ragdb.apply_contract does for a contract in JSON. Raises RG400, RG401, RG409, RG413, '
  'RG417, RG440.';
