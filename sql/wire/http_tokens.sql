-- Bearer tokens of the HTTP server: each stands for a database role, and only its hash is kept.

-- Refuses the name and the life of a token when they are out of range. Raises RG400.
create or replace function ragdb_internal.check_token(name text, expires_in interval) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if name is null or length(name) not between 1 and 200 or name ~ '[[:cntrl:]]' then
    raise exception 'token name % is not 1 to 200 characters', ragdb_internal.quote(name)
      using errcode = 'RG400', detail = 'it names the token where it is listed and revoked',
        hint = 'such as the program that uses it';
  end if;
  if expires_in <= interval '0' or expires_in > interval '100 years' then
    raise exception 'expires_in is %', expires_in
      using errcode = 'RG400', detail = 'it is the time from now on that the token is good for',
        hint = 'leave it out for a token that is good until it is revoked';
  end if;
end $$;

-- Returns a role that the caller may make a token for. Raises RG400, RG401.
create or replace function ragdb_internal.role_of_token(role text) returns name
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_role pg_roles;
begin
  select r.* into v_role from pg_roles r where r.rolname = role_of_token.role;
  perform ragdb_internal.check_role(role, v_role.oid, 'a token stands for a database role');
  if ragdb_internal.is_mighty(v_role.oid) then
    raise exception 'role % is too mighty for a token', ragdb_internal.quote(role_of_token.role)
      using errcode = 'RG401', detail = 'it is a superuser or a member of ragdb_owner',
        hint = 'make a role in ragdb_reader, ragdb_writer or ragdb_admin for the program';
  end if;
  if not pg_has_role(ragdb_internal.caller(), v_role.oid, 'set') then
    raise exception 'role % may not act as role %', ragdb_internal.quote(ragdb_internal.caller()),
      ragdb_internal.quote(role_of_token.role)
      using errcode = 'RG401', detail = 'nobody hands out rights that are not theirs',
        hint = format('whoever may give it runs: grant %I to %I', v_role.rolname,
          ragdb_internal.caller());
  end if;
  return v_role.rolname;
end $$;

create or replace function ragdb.create_http_token(role text, name text,
  expires_in interval default null)
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  -- four random uuids carry 488 random bits from the server's strong generator
  v_token constant text := 'rgh_'
    || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
    || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
begin
  perform ragdb_internal.check_token(create_http_token.name, expires_in);
  insert into ragdb.http_tokens (name, token_hash, role, role_oid, created_by, created_at,
      expires_at)
    values (create_http_token.name, sha256(convert_to(v_token, 'UTF8')),
      ragdb_internal.role_of_token(create_http_token.role),
      ragdb_internal.role_oid(create_http_token.role), ragdb_internal.caller(),
      ragdb_internal.now(), ragdb_internal.now() + expires_in)
    on conflict on constraint http_tokens_name_is_unique do nothing;
  if not found then
    raise exception 'token % exists already', ragdb_internal.quote(create_http_token.name)
      using errcode = 'RG409', detail = 'a token is never shown again',
        hint = 'revoke it, or choose another name';
  end if;
  perform ragdb_internal.record_state('token', null, name);
  perform ragdb_internal.record_access('create_token', null, null,
    format('%s for %s', ragdb_internal.quote(name), ragdb_internal.quote(role)));
  return v_token;
end $$;
comment on function ragdb.create_http_token is
  'Makes a bearer token of the HTTP server for a role that the caller may act as, and returns it '
  'this once: only its hash is kept. Raises RG400, RG401, RG409.';

create or replace function ragdb.revoke_http_token(name text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from ragdb.http_tokens t where t.name = revoke_http_token.name;
  if not found then
    raise exception 'token % does not exist', ragdb_internal.quote(revoke_http_token.name)
      using errcode = 'RG454', detail = 'nothing was revoked',
        hint = 'ragdb.list_http_tokens() lists the names';
  end if;
  perform ragdb_internal.record_state('token', null, name);
  perform ragdb_internal.record_access('revoke_token', null, null, ragdb_internal.quote(name));
end $$;
comment on function ragdb.revoke_http_token is
  'Revokes a bearer token: the next request with it is refused. Raises RG454.';

create or replace function ragdb.list_http_tokens()
returns table (name text, role text, created_by text, created_at timestamptz,
  expires_at timestamptz)
language sql stable parallel safe security definer
begin atomic
  select t.name, t.role, t.created_by, t.created_at, t.expires_at
  from ragdb.http_tokens t order by t.name;
end;
comment on function ragdb.list_http_tokens is
  'Lists the bearer tokens of the HTTP server by name, without anything of the tokens.';

-- The hash of a token is as hard to come by as the token: whoever asks has been given it.
create or replace function ragdb.http_token_role(token_hash bytea) returns text
language sql stable parallel safe security definer
return (select t.role from ragdb.http_tokens t
  where t.token_hash = http_token_role.token_hash
    and t.role_oid = ragdb_internal.role_oid(t.role)
    -- it may have become so since
    and not ragdb_internal.is_mighty(t.role_oid)
    and (t.expires_at is null or t.expires_at > ragdb_internal.now()));
comment on function ragdb.http_token_role is
  'Returns the role that a bearer token stands for, by the SHA-256 of the token; null when it is '
  'unknown, has expired, or stands for a role that is gone, a superuser or the owner of the '
  'database.';
