-- Embedders: what a model promises about its vectors, and which provider runs it here.

-- Refuses embeddings, one behind the other, that are not finite, zero, of another width, or not of
-- length 1 where the metric needs it; labels name them. Checked here, so that the message names
-- what is wrong and pgvector's own never shows. Raises RG418.
create or replace function ragdb_internal.check_embeddings(
  embeddings real[], dims integer, metric text, labels text[])
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wrong text;
  v_n integer;
begin
  if coalesce(array_ndims(embeddings), 0) <> 1
    or cardinality(embeddings) <> dims * cardinality(labels)
  then
    v_wrong := format('has %s numbers in %s dimension(s)',
      coalesce(cardinality(embeddings)::text, 'null'), coalesce(array_ndims(embeddings), 0));
    raise exception 'the embedding of % %', labels[1],
        case when cardinality(labels) > 1 then 'and others ' else '' end || v_wrong
      using errcode = 'RG418',
            detail = format('its width must be %s: %s in all', dims, dims * cardinality(labels)),
            hint = 'embed it with the model of the corpus; ragdb.embedding_status() names it';
  end if;
  v_n := coalesce(array_position(embeddings, null), array_position(embeddings, 'nan'::real),
    array_position(embeddings, 'infinity'::real), array_position(embeddings, '-infinity'::real));
  if v_n is not null then
    v_wrong := 'is not finite';
    v_n := (v_n - array_lower(embeddings, 1)) / dims + 1;
  else
    select c.n, case when c.norm between 1e-12 and 1e12 then 'is not of length 1'
      else 'is zero or out of range' end
      into v_n, v_wrong
      from ragdb_internal.cut(embeddings, dims) c
      where not c.norm between 1e-12 and 1e12 or (metric <> 'cosine' and abs(c.norm - 1) > 0.001)
      order by c.n limit 1;
  end if;
  if v_wrong is not null then
    raise exception 'the embedding of % %', labels[v_n], v_wrong
      using errcode = 'RG418',
            detail = case when metric = 'cosine' then 'it must be finite and not zero'
              else 'metric ' || metric || ' compares unit vectors' end,
            hint = 'the model or the endpoint gave a bad vector; nothing was stored';
  end if;
end $$;

-- Returns the row of an embedder. Raises RG416.
create or replace function ragdb_internal.embedder(embedder text) returns ragdb.embedders
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders;
begin
  select e.* into v_embedder from ragdb.embedders e where e.name = embedder;
  if not found then
    raise exception 'embedder % does not exist', ragdb_internal.quote(embedder)
      using errcode = 'RG416', detail = 'no embedder of that name was created',
            hint = 'ragdb.list_embedders() lists them; ragdb.create_embedder() makes one';
  end if;
  return v_embedder;
end $$;

-- Waits until no other transaction loads or binds an embedder, holds it to the end of this one, and
-- returns its row. Raises RG416.
create or replace function ragdb_internal.hold_embedder(embedder text) returns ragdb.embedders
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from ragdb.embedders e where e.name = hold_embedder.embedder for no key update;
  return ragdb_internal.embedder(hold_embedder.embedder);
end $$;

-- Refuses an embedder that this database does not know from a caller who may not create one. Of a
-- name that is there, anybody may promise the same again. Raises RG401.
create or replace function ragdb_internal.check_may_create_embedder(name text) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller constant text := ragdb_internal.caller();
begin
  if not (pg_has_role(v_caller, 'ragdb_writer', 'usage')
      or pg_has_role(v_caller, 'ragdb_owner', 'usage')
      or exists (select from ragdb.embedders e
        where e.name = check_may_create_embedder.name)) then
    raise exception 'role % may not create embedder %',
        ragdb_internal.quote(v_caller), ragdb_internal.quote(name)
      using errcode = 'RG401',
        detail = 'this database does not know it, and creating one takes ragdb_writer',
        hint = 'ask somebody with ragdb_writer to call ragdb.create_embedder()';
  end if;
end $$;

create or replace function ragdb.create_embedder(
  name text, dims integer, model text default null, metric text default 'cosine',
  max_tokens integer default 256, revision text default null, query_prefix text default '',
  passage_prefix text default '', weights_sha256 text default null)
returns ragdb.embedders
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_new ragdb.embedders;
  v_old ragdb.embedders;
begin
  if name is null or length(name) not between 1 and 200
    or dims is null or dims not between 1 and 4000
    or metric is null or metric not in ('cosine', 'ip', 'l2')
    or max_tokens is null or max_tokens < 1
    or query_prefix is null or passage_prefix is null
    or weights_sha256 !~ '^[0-9a-f]{64}$'
  then
    raise exception 'embedder % is not described correctly', ragdb_internal.quote(name)
      using errcode = 'RG400',
            detail = format('dims %s, metric %s, max_tokens %s',
              dims, ragdb_internal.quote(metric), max_tokens),
            hint = 'a name of 1 to 200 characters, dims 1 to 4000, metric cosine, ip or l2, '
                   'max_tokens from 1, prefixes not null, weights_sha256 64 hex digits or null';
  end if;
  perform ragdb_internal.hold('embedders');
  v_new := row(coalesce((select max(e.embedder_id) from ragdb.embedders e), 0) + 1, name,
    coalesce(model, name), revision, dims, metric, max_tokens, query_prefix, passage_prefix,
    weights_sha256, null, null, ragdb_internal.now());
  select e.* into v_old from ragdb.embedders e where e.name = create_embedder.name;
  if not found then
    insert into ragdb.embedders select v_new.*;
    perform ragdb_internal.record_state('embedder', null, name);
    return v_new;
  end if;
  if row(v_old.model, v_old.revision, v_old.dims, v_old.metric, v_old.max_tokens,
      v_old.query_prefix, v_old.passage_prefix, v_old.weights_sha256)
    is distinct from row(v_new.model, v_new.revision, v_new.dims, v_new.metric, v_new.max_tokens,
      v_new.query_prefix, v_new.passage_prefix, v_new.weights_sha256)
  then
    raise exception 'embedder % exists and promises something else', ragdb_internal.quote(name)
      using errcode = 'RG409',
            detail = 'what an embedder promises never changes, because vectors rest on it',
            hint = 'create one under another name and move the corpus with ragdb.reembed_corpus()';
  end if;
  return v_old;
end $$;
comment on function ragdb.create_embedder is
  'Creates an embedder, or returns it when it exists with the same promises; dims 1 to 4000, '
  'metric cosine, ip or l2, weights_sha256 64 hex digits. Raises RG400, RG409.';

-- Refuses a provider that the caller may not name, and one that would mix its vectors with those of
-- another. Raises RG401, RG409, RG417.
create or replace function ragdb_internal.check_binding(
  embedder ragdb.embedders, provider text, provider_model text)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  -- a worker loads what is named here, for every corpus of the embedder: a writer may name only
  -- what cannot harm, and nothing in the place of what is named already
  if not (pg_has_role(ragdb_internal.caller(), 'ragdb_admin', 'usage')
    or (provider = 'hash' or provider_model = 'packaged' and embedder.weights_sha256 is not null)
      and (embedder.provider is null or (embedder.provider, embedder.provider_model)
        = (check_binding.provider, check_binding.provider_model)))
  then
    raise exception 'role % may not bind an embedder to %',
        ragdb_internal.quote(ragdb_internal.caller()), ragdb_internal.quote(provider_model)
      using errcode = 'RG401',
            detail = 'a writer may bind to hash-v1 and to packaged weights of a known digest, once',
            hint = 'ask an admin, who may call ragdb.bind_embedder()';
  end if;
  if embedder.provider = 'static' then
    raise exception 'embedder % runs inside the database', ragdb_internal.quote(embedder.name)
      using errcode = 'RG409', detail = 'its vectors rest on the pieces that it was loaded with',
            hint = 'create an embedder under another name for another provider';
  end if;
  if embedder.provider is not null
    and (embedder.provider, embedder.provider_model) is distinct from (provider, provider_model)
    and embedder.weights_sha256 is null
    and exists (select from ragdb.embedding_spaces s
      where s.embedder_id = embedder.embedder_id
        and ragdb_internal.stored_embeddings(s.space_id) > 0)
  then
    raise exception 'embedder % has vectors of provider %',
        ragdb_internal.quote(embedder.name), embedder.provider
      using errcode = 'RG417',
            detail = 'vectors of two models would mix, and no digest of the weights tells that '
                     'they are one',
            hint = 'create an embedder under another name and move the corpus with '
                   'ragdb.reembed_corpus()';
  end if;
end $$;

create or replace function ragdb.bind_embedder(name text, provider text, provider_model text)
returns ragdb.embedders
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders := ragdb_internal.hold_embedder(name);
begin
  if provider is null or provider not in ('sentence-transformers', 'openai', 'hash')
    or provider_model is null or provider_model = ''
  then
    raise exception 'provider % with model % cannot be bound',
        ragdb_internal.quote(provider), ragdb_internal.quote(provider_model)
      using errcode = 'RG400', detail = 'providers are sentence-transformers, openai and hash',
            hint = 'give the name that the provider has for the model (packaged, a path, a hub or '
                   'endpoint name, or hash-v1)';
  end if;
  perform ragdb_internal.check_binding(v_embedder, provider, provider_model);
  update ragdb.embedders e
    set provider = bind_embedder.provider, provider_model = bind_embedder.provider_model
    where e.embedder_id = v_embedder.embedder_id
    returning e.* into v_embedder;
  perform ragdb_internal.record_state('embedder', null, name);
  return v_embedder;
end $$;
comment on function ragdb.bind_embedder is
  'Binds an embedder to the provider that runs it: sentence-transformers, openai or hash; to a '
  'path, a hub or an endpoint only as an admin. Raises RG400, RG401, RG409, RG416, RG417.';

create or replace function ragdb.list_embedders() returns setof ragdb.embedders
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select e.* from ragdb.embedders e order by e.name;
end;
comment on function ragdb.list_embedders is 'Lists the embedders by name.';
