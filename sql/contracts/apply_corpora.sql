-- The corpora of a contract as it declares them: their titles, rights and embedders.

-- Brings the grants of a corpus in line with a contract: admin to its tenant, read to its readers,
-- and nothing to those of the version before. Whoever gives readers a right must have it, so where
-- no tenant is named the applier does. Raises RG400, RG401.
create or replace function ragdb_internal.apply_grants(corpus text, corpus_id integer, tenant text,
  readers text[], was_tenant text, was_readers text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_role text;
  v_owner text := coalesce(tenant, case when readers <> '{}' then ragdb_internal.caller() end);
begin
  -- rights that the version before gave and this one does not
  foreach v_role in array was_readers || was_tenant loop
    if v_role is not null and v_role <> all (readers) and v_role is distinct from v_owner
      and exists (select from ragdb.corpus_grants g
        where g.corpus_id = apply_grants.corpus_id and g.role = v_role)
    then
      perform ragdb.revoke_corpus(corpus, v_role);
    end if;
  end loop;
  if v_owner is not null and not exists (select from ragdb.corpus_grants g
      where g.corpus_id = apply_grants.corpus_id and g.role = v_owner
        and g.role_oid = ragdb_internal.role_oid(v_owner) and g.privilege = 'admin') then
    perform ragdb.grant_corpus(corpus, v_owner, 'admin');
  end if;
  foreach v_role in array readers loop
    if not exists (select from ragdb.corpus_grants g
        where g.corpus_id = apply_grants.corpus_id and g.role = v_role
          and g.role_oid = ragdb_internal.role_oid(v_role)
        -- who was the tenant is a reader like the others
        and (g.privilege = 'read' or v_role is distinct from was_tenant or v_role = v_owner)) then
      perform ragdb.grant_corpus(corpus, v_role, 'read');
    end if;
  end loop;
end $$;

-- Makes a corpus of a contract, or brings its title and grants in line. Raises RG400, RG401.
create or replace function ragdb_internal.apply_corpus(
  corpus text, title text, tenant text, readers text[], was_tenant text, was_readers text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
begin
  if ragdb_internal.corpus_number(corpus) is null then
    perform ragdb.create_corpus(corpus, title);
  end if;
  v_corpus := ragdb_internal.open_corpus(corpus, 'write', true);
  if title is not null then
    update ragdb.corpora c set title = apply_corpus.title
      where c.corpus_id = v_corpus.corpus_id and c.title is distinct from apply_corpus.title;
    perform ragdb_internal.record_state('settings', v_corpus.corpus_id) where found;
  end if;
  perform ragdb_internal.apply_grants(corpus, v_corpus.corpus_id, tenant, readers, was_tenant,
    was_readers);
end $$;

-- Makes the corpora of a contract, or brings them in line, in the order of their names. What the
-- version before gave is taken from the stored nodes, so that it can be taken back. Raises RG400,
-- RG401.
create or replace function ragdb_internal.apply_corpora(items ragdb_internal.contract_item[],
  contract text, old_version integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus record;
begin
  for v_corpus in
    select c.slug, i.keys ->> 'title' as title, nullif(i.keys ->> 'tenant', '') as tenant,
      (select coalesce(min(ragdb_internal.list(s.keys ->> 'acl')), '{}') from unnest(items) s
        where s.node = 'source' and s.corpus = i.name) as readers,
      max(o.keys ->> 'tenant') filter (where o.node = 'corpus') as was_tenant,
      coalesce(min(ragdb_internal.list(o.keys ->> 'acl')) filter (where o.node = 'source'), '{}')
        as was_readers
    from unnest(items) i
      cross join lateral (select ragdb_internal.contract_slug(i.name) as slug) c
      left join ragdb.contract_nodes o on o.contract = apply_corpora.contract
        and o.version = old_version and o.node in ('corpus', 'source') and o.corpus = c.slug
    where i.node = 'corpus'
    group by c.slug, i.name, i.keys order by c.slug
  loop
    perform ragdb_internal.apply_corpus(v_corpus.slug, v_corpus.title, v_corpus.tenant,
      v_corpus.readers, v_corpus.was_tenant, v_corpus.was_readers);
  end loop;
end $$;

-- Has a corpus embedded by the model of a contract, and creates its embedder where there is none. A
-- model is known by its own name, or by that of an embedder that promises it. Raises RG400, RG401,
-- RG417.
create or replace function ragdb_internal.apply_embedder(corpus text, model text, dims integer,
  metric text)
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
    perform ragdb_internal.check_may_create_embedder(model);
    v_embedder := ragdb.create_embedder(model, dims, metric => metric);
  elsif v_embedder.dims <> dims or v_embedder.metric <> metric then
    raise exception 'model % has % dimensions and metric %', ragdb_internal.quote(model),
        v_embedder.dims, v_embedder.metric
      using errcode = 'RG417', detail = format('the contract says %s and %s', dims, metric),
        hint = 'correct the contract, or name another model';
  end if;
  perform ragdb.embed_corpus(corpus, v_embedder.name);
end $$;

-- Refuses a contract over corpora that the caller may neither write nor create. Before any name is
-- compared, for whoever may apply nothing shall not learn what others declare. Raises RG401.
create or replace function ragdb_internal.check_may_apply(items ragdb_internal.contract_item[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text;
begin
  for v_name in
    select ragdb_internal.contract_slug(i.name) from unnest(items) i where i.node = 'corpus'
    order by 1
  loop
    if exists (
      select from ragdb.corpora c where c.corpus_id = ragdb_internal.corpus_number(v_name)
        and ragdb_internal.privilege(c) > 0)
    then
      perform ragdb_internal.open_corpus(v_name, 'write', true);
    else
      perform ragdb_internal.check_may_create(v_name);
    end if;
  end loop;
end $$;
