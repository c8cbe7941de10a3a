-- What belongs to roles that are gone: dropped, renamed, or of the server that a dump came from. It
-- is nobody's until the owner of the database says whose.

-- Returns what is judged by a role, one row for each thing.
create or replace function ragdb_internal.held() returns table (role text, role_oid oid, what text)
language sql stable parallel safe
begin atomic
  select c.personal_of, c.personal_oid, 'personal' from ragdb.corpora c
    where c.personal_of is not null
  union all select g.role, g.role_oid, 'grants' from ragdb.corpus_grants g
  union all select t.role, t.role_oid, 'tokens' from ragdb.http_tokens t
  union all select u.role, u.role_oid, 'uploads' from ragdb.blob_uploads u
  union all select j.requested_by, j.requested_by_oid, 'jobs' from ragdb.ingest_jobs j
  union all select j.requested_by, j.requested_by_oid, 'jobs' from ragdb.embed_jobs j
  union all select k.applied_by, k.applied_by_oid, 'contracts' from ragdb.contracts k
  union all select b.bound_to, b.bound_oid, 'traces' from ragdb.role_bindings b
  union all select q.role, q.role_oid, 'quotas' from ragdb.role_quotas q where q.role <> 'public';
end;

create or replace function ragdb.dead_roles()
returns table (role text, role_oid oid, holds text[], name_is_taken boolean)
language sql stable parallel safe security definer
begin atomic
  select h.role, h.role_oid, pg_catalog.array_agg(distinct h.what order by h.what),
    ragdb_internal.role_oid(h.role) is not null
  from (select d.role, d.role_oid, d.what from ragdb_internal.held() d
    group by d.role, d.role_oid, d.what) h
  where not ragdb_internal.is_role(h.role, h.role_oid)
  group by h.role, h.role_oid order by h.role collate "C", h.role_oid;
end;
comment on function ragdb.dead_roles is
  'Lists the roles that are gone and still hold something (personal, grants, tokens, uploads, '
  'jobs, contracts, quotas, traces), and whether another role has the name now. After a restore '
  'on another server that is every role.';

-- Refuses to give what a role held to another. Raises RG400, RG401, RG409.
create or replace function ragdb_internal.check_may_bind(role text, becomes text) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if not pg_has_role(ragdb_internal.caller_oid(), 'ragdb_owner', 'usage') then
    raise exception 'role % may not bind roles', ragdb_internal.quote(ragdb_internal.caller())
      using errcode = 'RG401',
        detail = 'who binds a role gives away its corpus "personal" too, which no admin may read',
        hint = 'a member of ragdb_owner binds them, after: set role ragdb_owner';
  end if;
  if role is null or ragdb_internal.role_oid(becomes) is null then
    raise exception 'role % does not exist', ragdb_internal.quote(becomes)
      using errcode = 'RG400', detail = 'what a role held is given to one that is there',
        hint = 'create role makes one; the second argument names a role of another name';
  end if;
  if exists (select from ragdb.corpora c where ragdb_internal.is_role(c.personal_of, c.personal_oid)
      and c.personal_of = becomes)
    and exists (select from ragdb.corpora c where c.personal_of = check_may_bind.role
      and not ragdb_internal.is_role(c.personal_of, c.personal_oid))
  then
    raise exception 'role % has a corpus "personal" already', ragdb_internal.quote(becomes)
      using errcode = 'RG409', detail = 'a role has one such corpus',
        hint = 'have it dropped, or exported and imported under another name, before';
  end if;
end $$;

-- Gives what dead roles of a name held to a role. A role that lives keeps what it has, so nobody is
-- robbed by a binding. Where several dead roles of the name had the same thing, that of the last
-- one counts. Of corpora "personal" the others stay as they are, until there is room for the next
-- one.
create or replace function ragdb_internal.move_held(role text, becomes text, becomes_oid oid)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_column record;
begin
  for v_column in
    select * from (values ('corpora', 'personal_of', 'personal_oid'),
      ('corpus_grants', 'role', 'role_oid'), ('http_tokens', 'role', 'role_oid'),
      ('blob_uploads', 'role', 'role_oid'), ('ingest_jobs', 'requested_by', 'requested_by_oid'),
      ('embed_jobs', 'requested_by', 'requested_by_oid'),
      ('contracts', 'applied_by', 'applied_by_oid'),
      ('role_bindings', 'bound_to', 'bound_oid'),
      ('role_quotas', 'role', 'role_oid')) v (t, name, oid)
  loop
    if v_column.t in ('corpus_grants', 'blob_uploads', 'role_bindings', 'role_quotas') then
      execute format('delete from ragdb.%1$I x using ragdb.%1$I y where x.%2$I = $1'
        ' and not ragdb_internal.is_role(x.%2$I, x.%3$I) and y.%4$I = x.%4$I'
        ' and (y.%2$I = $2 and y.%3$I = $3 or y.%2$I = $1 and y.%3$I > x.%3$I'
        '   and not ragdb_internal.is_role(y.%2$I, y.%3$I))',
        v_column.t, v_column.name, v_column.oid,
        case v_column.t when 'corpus_grants' then 'corpus_id' when 'blob_uploads' then 'cid'
          when 'role_quotas' then 'tableoid' else 'role' end) using role, becomes, becomes_oid;
    end if;
    execute format('update ragdb.%1$I x set %2$I = $2, %3$I = $3 where x.%2$I = $1'
      ' and not ragdb_internal.is_role(x.%2$I, x.%3$I) and (%1$L <> ''corpora'' or not exists ('
      '   select from ragdb.%1$I y where y.%2$I = $1 and y.%3$I > x.%3$I'
      '   and not ragdb_internal.is_role(y.%2$I, y.%3$I)))',
      v_column.t, v_column.name, v_column.oid)
      using role, becomes, becomes_oid;
  end loop;
end $$;

create or replace function ragdb.bind_role(role text, becomes text default null) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_becomes constant text := coalesce(becomes, role);
  v_kinds constant text[] := '{rights,token,quota}';
  v_otherwise jsonb;
begin
  perform ragdb_internal.hold('role_bindings');
  perform ragdb_internal.check_may_bind(role, v_becomes);
  v_otherwise := ragdb_internal.states_otherwise(v_kinds);
  perform ragdb_internal.move_held(role, v_becomes, ragdb_internal.role_oid(v_becomes));
  perform ragdb_internal.record_changed_states(v_kinds, v_otherwise);
  insert into ragdb.role_bindings as b (role, bound_to, bound_oid, bound_at, bound_by)
    values (bind_role.role, v_becomes, ragdb_internal.role_oid(v_becomes), ragdb_internal.now(),
      ragdb_internal.caller())
    on conflict on constraint role_bindings_are_unique do update
      set bound_at = excluded.bound_at, bound_by = excluded.bound_by;
  perform ragdb_internal.record_access('bind_role', null, null,
    format('%s to %s', ragdb_internal.quote(role), ragdb_internal.quote(v_becomes)));
end $$;
comment on function ragdb.bind_role is
  'Gives what dead roles of a name held (ragdb.dead_roles lists it) and their traces to the role '
  'of that name now, or to becomes. Only the owner of the database may. After a restore on another '
  'server: select ragdb.bind_role(role) from ragdb.dead_roles() where name_is_taken. Raises RG400, '
  'RG401, RG409.';
