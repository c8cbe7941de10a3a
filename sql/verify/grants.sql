-- The rights to corpora, and what stands for a role, against the events that gave and took them.
-- Where there are many rows on both sides, none is compared with each, whatever the planner
-- believes of tables that were not analyzed.

-- Returns to whom an event of a grant gave its right, quoted.
create or replace function ragdb_internal.granted_role(what text) returns text
language sql immutable parallel safe
return pg_catalog.substr(granted_role.what, pg_catalog.strpos(granted_role.what, ' to ') + 4);

-- Returns how severe it is that no event accounts for a right: where events were dropped, one of
-- them may have.
create or replace function ragdb_internal.severity_of_unexplained() returns text
language sql stable parallel safe
return case when exists (select from ragdb.access_events e
    where e.corpus_id is null and e.kind = 'drop_events') then 'warning' else 'error' end;

-- Returns which roles, quoted, events bound to which. A name may have " to " in it: an event is
-- parted wherever it could be.
create or replace function ragdb_internal.bound_roles() returns table (role text, bound_to text)
language sql stable parallel safe
begin atomic
  select pg_catalog.left(e.what, i - 1), pg_catalog.substr(e.what, i + 4)
    from ragdb.access_events e
      cross join pg_catalog.generate_series(1, pg_catalog.length(e.what)) i
    where e.corpus_id is null and e.kind = 'bind_role'
      and pg_catalog.substr(e.what, i, 4) = ' to ';
end;

-- Returns the roles that have something, and for each the roles, quoted, whose rights it may have:
-- itself, and those that were bound to it or to one that was. All at once: for each role alone all
-- events would be read again.
create or replace function ragdb_internal.held_roles()
returns table (role text, held text, is_bound boolean)
language sql stable parallel safe
begin atomic
  with recursive bound as materialized (
    select b.role, b.bound_to from ragdb_internal.bound_roles() b
  ),
  held (role, held, is_bound) as (
    select h.role, ragdb_internal.quote(h.role), false
      from (
        select g.role from ragdb.corpus_grants g
        union select c.personal_of from ragdb.corpora c
        union select b.bound_to from ragdb.role_bindings b
        union select t.role from ragdb.http_tokens t) h (role)
    union
    select h.role, b.role, true from held h join bound b on b.bound_to = h.held)
  select h.role, h.held, h.is_bound from held h;
end;

-- Returns the grants of rights that nothing has taken since. One time may be that of several events
-- of one transaction: nothing of the same time contradicts.
create or replace function ragdb_internal.granted_last()
returns table (corpus_id integer, what text, role text)
language sql stable parallel safe
begin atomic
  with changed as materialized (
    select e.corpus_id, e.kind, e.what, e.created_at, r.role,
        pg_catalog.max(e.created_at) over (partition by e.corpus_id, r.role) as last_at
      from ragdb.access_events e
        cross join lateral (select case e.kind
          when 'grant' then ragdb_internal.granted_role(e.what)
          else pg_catalog.substr(e.what, 6) end) r (role) -- from …
      where e.corpus_id is not null and e.kind in ('grant', 'revoke'))
  select c.corpus_id, c.what, c.role from changed c
    where c.kind = 'grant' and c.created_at = c.last_at
      and not exists (
        select from ragdb.access_events u where u.corpus_id = c.corpus_id
          and u.kind = 'unrestrict' and u.created_at > c.created_at);
end;

-- Returns the rights to corpora that no event accounts for.
create or replace function ragdb_internal.unexplained_grants() returns setof ragdb.finding
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
begin atomic
  select 'rights', ragdb_internal.severity_of_unexplained(), 'corpus ' || c.name,
      g.role || ' has the right ' || g.privilege || ', and no event says who gave it',
      'revoke it where nobody knows it; compare ragdb.access_events with a backup'
    from (
      select g.corpus_id, g.role, g.privilege from ragdb.corpus_grants g
      except
      select g.corpus_id, g.role, g.privilege
        from ragdb.corpus_grants g
          join ragdb_internal.held_roles() h on h.role = g.role
          join ragdb_internal.granted_last() e on e.corpus_id = g.corpus_id and e.role = h.held
            and e.what = g.privilege || ' to ' || h.held) g
      join ragdb.corpora c on c.corpus_id = g.corpus_id;
end;

-- Returns the corpora "personal" that belong to another role than the one that made them, which was
-- not bound to it.
create or replace function ragdb_internal.unexplained_owners() returns setof ragdb.finding
language sql stable parallel safe
begin atomic
  select 'rights', ragdb_internal.severity_of_unexplained(), 'corpus ' || c.name,
      'it belongs to ' || c.personal_of || ' and was made by ' || r.caller
        || ', and no event says who gave it away',
      'find out who has read it; ragdb.bind_role() gives it on record'
    from ragdb.corpora c
      join ragdb.recorded_states r on r.corpus_id = c.corpus_id and r.kind = 'settings'
        and r.key = '' and r.nth = 1
    where c.personal_of is not null and not exists (
      select from ragdb_internal.held_roles() h
      where h.role = c.personal_of and h.held = ragdb_internal.quote(r.caller));
end;

-- Returns the bindings of roles and the tokens that no event accounts for: who has one reads what a
-- role asked, or acts as it.
create or replace function ragdb_internal.unexplained_proxies() returns setof ragdb.finding
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
begin atomic
  select 'rights', ragdb_internal.severity_of_unexplained(), 'role ' || b.bound_to,
      'what ' || b.role || ' held is bound to it, and no event says by whom',
      'delete it from ragdb.role_bindings where nobody knows it'
    from ragdb.role_bindings b
    where not exists (
      select from ragdb_internal.held_roles() h
      where h.role = b.bound_to and h.held = ragdb_internal.quote(b.role) and h.is_bound)
  union all
  select 'rights', ragdb_internal.severity_of_unexplained(), 'token ' || t.name,
      'it is for role ' || t.role || ', and no event says who made it',
      'revoke it where nobody knows it: ragdb token revoke'
    from (
      select t.name, t.role from ragdb.http_tokens t
      except
      select t.name, t.role
        from ragdb.http_tokens t
          join ragdb_internal.held_roles() h on h.role = t.role
          join ragdb.access_events m on m.corpus_id is null and m.kind = 'create_token'
            and m.what = ragdb_internal.quote(t.name) || ' for ' || h.held
          left join (
            select e.what, pg_catalog.max(e.created_at) as last_at from ragdb.access_events e
            where e.corpus_id is null and e.kind = 'revoke_token' group by e.what) r
            on r.what = ragdb_internal.quote(t.name)
        where r.last_at is null or m.created_at >= r.last_at) t;
end;

-- Returns the rights that events gave and that are gone, and the corpora that no event opened.
create or replace function ragdb_internal.missing_grants() returns setof ragdb.finding
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
begin atomic
  select distinct 'rights', 'error', 'corpus ' || c.name,
      ragdb_internal.granted_role(e.what)
        || ' was given a right, and has none, and no event says who took it',
      'grant it again where it is still due; find out who took it'
    from ragdb.access_events e join ragdb.corpora c on c.corpus_id = e.corpus_id
    where e.kind = 'grant'
      and not exists (
        select from ragdb.corpus_grants g where g.corpus_id = e.corpus_id
          and ragdb_internal.quote(g.role) = ragdb_internal.granted_role(e.what))
      and not exists (
        select from ragdb.access_events l
        where l.corpus_id = e.corpus_id and l.created_at >= e.created_at
          and l.kind = 'unrestrict')
      and not exists (
        select from ragdb.access_events l
        where l.corpus_id = e.corpus_id and l.created_at >= e.created_at and l.kind = 'revoke'
          and l.what = 'from ' || ragdb_internal.granted_role(e.what))
      and not exists (
        select from ragdb_internal.bound_roles() b
        where b.role = ragdb_internal.granted_role(e.what)
          and b.bound_to <> b.role) -- one of the same name has it still
  union all
  select 'rights', 'error', 'corpus ' || c.name,
      'it is open to all readers, and no event says who opened it',
      'ragdb.restrict_corpus() closes it; find out who opened it'
    from ragdb.corpora c
    where not c.is_restricted
      and exists (
        select from ragdb.access_events e
        where e.corpus_id = c.corpus_id and e.kind in ('grant', 'restrict')
          and not exists (
            select from ragdb.access_events l where l.corpus_id = e.corpus_id
              and l.kind = 'unrestrict' and l.created_at >= e.created_at));
end;

-- Returns the corpora whose reads are recorded otherwise than the last event about that says. Those
-- of the parts of a corpus are chosen with its own.
create or replace function ragdb_internal.unexplained_silence() returns setof ragdb.finding
language sql stable parallel safe
begin atomic
  select 'rights', 'error', 'corpus ' || c.name, 'whether its reads are recorded was set to '
      || c.record_reads || ', and no event says by whom',
    'ragdb.record_reads() sets it on record; find out who did it without'
  from ragdb.corpora c
    cross join lateral (
      select e.what from ragdb.access_events e
      where e.corpus_id = (ragdb_internal.whole_of(c)).corpus_id and e.kind = 'record_reads'
      order by e.created_at desc, e.id desc limit 1) l
  where l.what <> c.record_reads;
end;
