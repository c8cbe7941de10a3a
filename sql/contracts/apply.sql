-- Contracts: what each node and key may be, validation, storage by version, retrieval through a
-- retriever.

create or replace function ragdb_internal.stored_keys(item ragdb_internal.contract_item) returns jsonb
language sql immutable parallel safe
return case
  when (item).node = 'source' and coalesce((item).keys ->> 'kind', 'local') = 'local'
    then (item).keys
    || pg_catalog.jsonb_build_object('uri',
      pg_catalog.regexp_replace((item).keys ->> 'uri', '^(\./+)+', ''))
  when (item).node = 'ragCase' and (item).keys ? 'sources' then (item).keys
    || pg_catalog.jsonb_build_object('sources',
    pg_catalog.array_to_string(array(select pg_catalog.regexp_replace(s.source, '^(\./+)+', '')
      from pg_catalog.unnest(ragdb_internal.list((item).keys ->> 'sources')) with ordinality s (source, n)
        order by s.n), ','))
  else (item).keys
end;
comment on function ragdb_internal.stored_keys(ragdb_internal.contract_item) is
  'Returns the keys of a node as they are stored: sources relative to the contract, without a '
  'leading ./.';

-- The corpus of a contract as its rows say it: made, titled, and its rights given.
create or replace function ragdb_internal.apply_corpus(
  corpus text, title text, tenant text, readers text[], was_tenant text, was_readers text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
  v_role text;
  v_owner text := coalesce(tenant, case when readers <> '{}' then ragdb_internal.caller() end);
begin
  if exists (select from ragdb.corpora c where c.name = apply_corpus.corpus
      and c.personal_of is not distinct from case when apply_corpus.corpus = 'personal'
        then ragdb_internal.caller() end) then
    v_corpus := ragdb_internal.open_corpus(corpus, 'write');
  else
    perform ragdb.create_corpus(corpus, title);
    v_corpus := ragdb_internal.open_corpus(corpus, 'write');
  end if;
  if title is not null then
    update ragdb.corpora c set title = apply_corpus.title
      where c.corpus_id = v_corpus.corpus_id and c.title is distinct from apply_corpus.title;
  end if;
  -- rights that the version before gave and this one does not
  foreach v_role in array was_readers || was_tenant loop
    if v_role is not null and v_role <> all (readers) and v_role is distinct from v_owner
      and exists (select from ragdb.corpus_grants g where g.corpus_id = v_corpus.corpus_id
        and g.role = v_role)
    then
      perform ragdb.revoke_corpus(corpus, v_role);
    end if;
  end loop;
  if v_owner is not null and not exists (select from ragdb.corpus_grants g
      where g.corpus_id = v_corpus.corpus_id and g.role = v_owner and g.privilege = 'admin') then
    perform ragdb.grant_corpus(corpus, v_owner, 'admin');
  end if;
  foreach v_role in array readers loop
    if not exists (select from ragdb.corpus_grants g where g.corpus_id = v_corpus.corpus_id
      and g.role = v_role) then
      perform ragdb.grant_corpus(corpus, v_role, 'read');
    end if;
  end loop;
end $$;
comment on function ragdb_internal.apply_corpus(text, text, text, text[], text, text[]) is
  'Makes a corpus of a contract, or brings its title and grants in line. Raises RG400, RG401.';

-- A model is known by its own name, or by that of an embedder that promises it.
create or replace function ragdb_internal.apply_embedder(corpus text, model text, dims integer, metric text)
  returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders;
begin
  select e.* into v_embedder from ragdb.embedders e
    where e.name = apply_embedder.model or e.model = apply_embedder.model
    order by e.name = apply_embedder.model desc, e.embedder_id limit 1;
  if not found then
    v_embedder := ragdb.create_embedder(model, dims, metric => metric);
  elsif v_embedder.dims <> dims or v_embedder.metric <> metric then
    raise exception 'model % has % dimensions and metric %', ragdb_internal.quote(model), v_embedder.dims,
      v_embedder.metric
      using errcode = 'RG417', detail = format('the contract says %s and %s', dims, metric),
            hint = 'correct the contract, or name another model';
  end if;
  perform ragdb.embed_corpus(corpus, v_embedder.name);
end $$;
comment on function ragdb_internal.apply_embedder(text, text, integer, text) is
  'Has a corpus embedded by the model of a contract, creating its embedder. Raises RG400, RG417.';

create or replace function ragdb.apply_contract(contract jsonb)
returns table (name text, version integer, is_new boolean, corpora text[], nodes integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := coalesce(contract ->> 'contract', 'contract');
  v_items ragdb_internal.contract_item[];
  v_old integer;
  v_problem record;
  v_errors integer;
  v_corpus record;
  v_hash bytea;
begin
  select count(*) over () as errors, p.* into v_problem
    from ragdb.validate_contract(contract) p where p.severity = 'error' limit 1;
  if found then
    raise exception 'contract %: %', ragdb_internal.quote(v_name), v_problem.message
      using errcode = 'RG440',
            detail = format('rule %s%s; %s error(s) in all', v_problem.rule,
              coalesce(' in line ' || v_problem.line, ''), v_problem.errors),
            hint = coalesce(v_problem.hint || '; ', '')
              || 'ragdb.validate_contract() lists them all';
  end if;
  v_items := array(select i from ragdb_internal.contract_items(contract) i);
  perform pg_advisory_xact_lock(hashtextextended('ragdb.apply_contract', 0));
  for v_problem in
    select i.node, i.name,
      case when ragdb_internal.may_read_contract(o.contract, o.version) then 'contract '
      || ragdb_internal.quote(o.contract)
        else 'one that is not visible to role ' || ragdb_internal.quote(ragdb_internal.caller()) end as contract
    from unnest(v_items) i
      join ragdb.contract_nodes o on o.name = i.name and o.contract <> v_name
        and (o.node = i.node or o.node in ('tool', 'prompt') and i.node in ('tool', 'prompt'))
      join ragdb.contracts k on k.contract = o.contract and k.version = o.version and k.is_current
    where i.node in ('retriever', 'rag', 'tool', 'prompt') limit 1
  loop
    raise exception '% % is declared by another contract', v_problem.node,
      ragdb_internal.quote(v_problem.name)
      using errcode = 'RG409',
        detail = v_problem.contract || ' has it, and evaluations and tools name it alone',
            hint = 'give it another name';
  end loop;
  -- whoever may not write a corpus of the version in force may not put another in its place
  select k.version into v_old from ragdb.contracts k where k.contract = v_name and k.is_current;
  if not ragdb_internal.may_read_contract(v_name, v_old)
    and (ragdb_internal.is_others_contract(v_name, v_old) or exists (
      select from ragdb.contract_nodes o join ragdb.corpora c on c.name = o.corpus
      where o.contract = v_name and o.version = v_old and o.node = 'corpus'))
  then
    raise exception 'contract % exists already', ragdb_internal.quote(v_name)
      using errcode = 'RG409',
        detail = 'it is not visible to role ' || ragdb_internal.quote(ragdb_internal.caller()),
            hint = 'a contract has the name of its file: give that another name';
  end if;
  perform ragdb_internal.open_corpus(o.corpus, 'write')
    from ragdb.contract_nodes o where o.contract = v_name and o.version = v_old
      and o.node = 'corpus'
      and exists (select from ragdb.corpora c where c.name = o.corpus);
  for v_corpus in
    select ragdb_internal.contract_slug(i.name) as slug, i.keys ->> 'title' as title,
      nullif(i.keys ->> 'tenant', '') as tenant,
      (select coalesce(min(ragdb_internal.list(s.keys ->> 'acl')), '{}') from unnest(v_items) s
        where s.node = 'source' and s.corpus = i.name) as readers,
      (select o.keys ->> 'tenant' from ragdb.contract_nodes o where o.contract = v_name
        and o.version = v_old
        and o.node = 'corpus' and o.corpus = ragdb_internal.contract_slug(i.name)) as was_tenant,
      (select coalesce(min(ragdb_internal.list(o.keys ->> 'acl')), '{}') from ragdb.contract_nodes o
        where o.contract = v_name and o.version = v_old
        and o.node = 'source' and o.corpus = ragdb_internal.contract_slug(i.name)) as was_readers
    from unnest(v_items) i where i.node = 'corpus' order by 1
  loop
    perform ragdb_internal.apply_corpus(v_corpus.slug, v_corpus.title, v_corpus.tenant, v_corpus.readers,
      v_corpus.was_tenant, v_corpus.was_readers);
  end loop;
  perform ragdb_internal.apply_embedder(ragdb_internal.contract_slug(i.corpus), i.keys ->> 'model',
    (i.keys ->> 'dims')::integer, coalesce(i.keys ->> 'metric', 'cosine'))
    from unnest(v_items) i where i.node = 'embed';
  select sha256(ragdb_internal.utf8(jsonb_agg(jsonb_build_array(i.node, i.parent_no, ragdb_internal.stored_keys(i),
    i.prompt_sha256) order by i.node_no)::text))
    into v_hash from unnest(v_items) i;
  name := v_name;
  corpora := array(select ragdb_internal.contract_slug(i.name) from unnest(v_items) i
    where i.node = 'corpus' order by 1);
  nodes := cardinality(v_items);
  is_new := not exists (select from ragdb.contracts k where k.contract = v_name
    and k.version = v_old and k.nodes_hash = v_hash);
  version := v_old;
  if is_new then
    version := coalesce((select max(k.version) from ragdb.contracts k where k.contract = v_name),
      0) + 1;
    update ragdb.contracts k set is_current = false where k.contract = v_name and k.is_current;
    insert into ragdb.contracts (contract, version, is_current, nodes_hash, applied_at, applied_by)
      values (v_name, apply_contract.version, true, v_hash, ragdb_internal.now(), ragdb_internal.caller());
    insert into ragdb.contract_nodes (contract, version, node_no, parent_no, node, name, corpus,
      rag, keys, columns, prompt_sha256, line, "column")
      select v_name, apply_contract.version, i.node_no, i.parent_no, i.node, i.name,
        ragdb_internal.contract_slug(i.corpus), i.rag,
        ragdb_internal.stored_keys(i), i.columns, i.prompt_sha256, i.line, i."column"
      from unnest(v_items) i;
  end if;
  return next;
end $$;
comment on function ragdb.apply_contract(jsonb) is
  'Puts a contract in force, in one transaction: makes its corpora, their grants (tenant: admin, '
  'acl: read) and embedders, and stores it as a new version unless nothing changed. Raises RG400, '
  'RG401, RG409, RG417, RG440.';
