-- Sessions of browsers: a token, given once, becomes a cookie that ends by itself.

-- Returns whether a session has ended: 12 hours after its login, an hour after its last request, or
-- with its token or its role.
create or replace function ragdb_internal.session_is_over(session ragdb.http_sessions)
returns boolean
language sql stable parallel safe
return (session).created_at <= ragdb_internal.now() - interval '12 hours'
  -- the clock was ahead then: it would not end for as long
  or (session).created_at > ragdb_internal.now() + interval '1 minute'
  or (session).seen_at <= ragdb_internal.now() - interval '1 hour'
  or ragdb_internal.role_oid((session).role) is distinct from (session).role_oid
  or ragdb_internal.is_mighty((session).role_oid)
  or exists (select from ragdb.http_tokens t
    where t.name = (session).token_name and t.expires_at <= ragdb_internal.now());

-- Returns the role of a session that a login opens for itself: the login, and ragdb_admin for a
-- superuser and for the owner of the database. A browser must not be a superuser: whoever makes it
-- send a request would be one, too.
create or replace function ragdb_internal.own_session_role() returns name
language sql stable parallel safe
return case when ragdb_internal.is_mighty(ragdb_internal.caller_oid()) then 'ragdb_admin'
  when ragdb_internal.caller_oid() is not null then ragdb_internal.caller() end;

create or replace function ragdb.open_http_session(token_hash bytea default null) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  -- as a token: 488 random bits
  v_secret constant text := 'rgs_'
    || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
    || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
  v_token text;
  v_role text;
begin
  -- who revokes the token has done so, or waits and ends this session too
  select t.name into v_token from ragdb.http_tokens t
    where t.token_hash = open_http_session.token_hash for key share;
  v_role := case when open_http_session.token_hash is null
    then ragdb_internal.own_session_role()
    else ragdb.http_token_role(open_http_session.token_hash) end;
  delete from ragdb.http_sessions s where ragdb_internal.session_is_over(s);
  if v_role is null then
    return null;
  end if;
  insert into ragdb.http_sessions (session_hash, token_name, role, role_oid, created_at, seen_at)
    values (sha256(convert_to(v_secret, 'UTF8')), v_token, v_role,
      ragdb_internal.role_oid(v_role), ragdb_internal.now(), ragdb_internal.now());
  return v_secret;
end $$;
comment on function ragdb.open_http_session is
  'Opens a session of a browser for a bearer token, given by its SHA-256, and returns its secret '
  'this once; null when the token is not good. Without a token the session has the role of the '
  'caller, and ragdb_admin when the caller is a superuser or the owner of the database.';

create or replace function ragdb.http_session_role(session_hash bytea) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_session ragdb.http_sessions;
begin
  select * into v_session from ragdb.http_sessions s
    where s.session_hash = http_session_role.session_hash;
  if not found or ragdb_internal.session_is_over(v_session) then
    return null;
  end if;
  -- once a minute, and never in the way of a request of the same session that runs for long
  if v_session.seen_at <= ragdb_internal.now() - interval '1 minute'
    and current_setting('transaction_read_only') = 'off'
  then
    update ragdb.http_sessions s set seen_at = ragdb_internal.now()
      where s.session_hash = (select o.session_hash from ragdb.http_sessions o
        where o.session_hash = http_session_role.session_hash for update skip locked);
  end if;
  return v_session.role;
end $$;
comment on function ragdb.http_session_role is
  'Returns the role of a browser''s session, by the SHA-256 of its secret; null when it is unknown '
  'or has ended.';

create or replace function ragdb.close_http_session(session_hash bytea) returns void
language sql security definer
begin atomic
  delete from ragdb.http_sessions s where s.session_hash = close_http_session.session_hash;
end;
comment on function ragdb.close_http_session is
  'Ends a session of a browser, by the SHA-256 of its secret. An unknown one is let pass.';
