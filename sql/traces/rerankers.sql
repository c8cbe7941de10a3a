-- Rerankers: models in the client that are known to the database by name and weights.

-- Returns the row of a reranker. Raises RG421.
create or replace function ragdb_internal.reranker(reranker text) returns ragdb.rerankers
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_reranker ragdb.rerankers;
begin
  select r.* into v_reranker from ragdb.rerankers r where r.name = reranker;
  if not found then
    raise exception 'reranker % does not exist', ragdb_internal.quote(reranker)
      using errcode = 'RG421',
        detail = 'no reranker of that name was bound',
        hint = coalesce('did you mean ' || ragdb_internal.nearest_name(
            reranker, array(select r.name from ragdb.rerankers r)) || '?',
          'ragdb reranker bind makes one');
  end if;
  return v_reranker;
end $$;

-- Definer, and an admin's: clients load what is named here.
create or replace function ragdb.bind_reranker(
  name text, source text, weights_sha256 text, max_tokens integer default 512,
  revision text default null)
returns ragdb.rerankers
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bound ragdb.rerankers;
begin
  if name is null or length(name) not between 1 and 200 or name = 'none'
    or source is null or source !~ E'\\S'
    or weights_sha256 is null or weights_sha256 !~ '^[0-9a-f]{64}$'
    or max_tokens is null or max_tokens not between 8 and 1000000
  then
    raise exception 'reranker % is not described correctly', ragdb_internal.quote(name)
      using errcode = 'RG400',
        detail = format('source %s, max_tokens %s',
          ragdb_internal.quote(source), coalesce(max_tokens::text, 'null')),
        hint = 'a name of 1 to 200 characters other than none, a source, weights_sha256 of 64 '
          'hex digits, max_tokens 8 to 1000000';
  end if;
  insert into ragdb.rerankers as r (name, max_tokens, weights_sha256, source, revision, created_at)
    values (bind_reranker.name, bind_reranker.max_tokens, bind_reranker.weights_sha256,
      bind_reranker.source, bind_reranker.revision, ragdb_internal.now())
    on conflict on constraint rerankers_name_is_unique do update
      set source = excluded.source, revision = excluded.revision
      where (r.max_tokens, r.weights_sha256) = (excluded.max_tokens, excluded.weights_sha256)
    returning r.* into v_bound;
  if not found then
    raise exception 'reranker % exists and promises something else', ragdb_internal.quote(name)
      using errcode = 'RG409',
        detail = 'its weights and max_tokens never change, because recorded scores rest on them',
        hint = 'bind it under another name, and name that in contracts';
  end if;
  perform ragdb_internal.record_state('reranker', null, name);
  return v_bound;
end $$;
comment on function ragdb.bind_reranker is
  'Makes a reranker, or says where an existing one with the same weights and max_tokens lies: '
  'source is a path, or a name on the hub with its revision, weights_sha256 the digest of its '
  'model.safetensors (64 hex digits), max_tokens (8 to 1000000) what it reads of query and passage '
  'together. Raises RG400, RG409.';

create or replace function ragdb.list_rerankers() returns setof ragdb.rerankers
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select r.* from ragdb.rerankers r order by r.name;
end;
comment on function ragdb.list_rerankers is 'Lists the rerankers by name.';

create or replace function ragdb.rerank_depth(k integer) returns integer
language sql immutable parallel safe
return greatest(rerank_depth.k, least(1000, 4 * rerank_depth.k::bigint))::integer;
comment on function ragdb.rerank_depth is
  'Returns how many hits to retrieve for a reranker that is to leave k of them: 4 k, at most 1000.';
