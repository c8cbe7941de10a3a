-- The rights to corpora, and what stands for a role, against the events that gave and took them.

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

-- Returns the roles, quoted, that events bound to a role, or to one that was bound to it.
create or replace function ragdb_internal.roles_bound_to(role text) returns setof text
language sql stable parallel safe
begin atomic
  with recursive bound (name, is_bound) as (
    select ragdb_internal.quote(roles_bound_to.role), false
    union
    select pg_catalog.left(e.what, -pg_catalog.length(' to ' || b.name)), true
      from bound b join ragdb.access_events e
        on e.corpus_id is null and e.kind = 'bind_role'
          and pg_catalog.right(e.what, pg_catalog.length(' to ' || b.name)) = ' to ' || b.name)
  select b.name from bound b where b.is_bound;
end;

-- Returns the roles, quoted, whose rights a role may have: itself, and those that were bound to it.
create or replace function ragdb_internal.held_by(role text) returns setof text
language sql stable parallel safe
begin atomic
  select ragdb_internal.quote(held_by.role)
  union
  select b from ragdb_internal.roles_bound_to(held_by.role) b;
end;

-- Returns the rights to corpora that no event accounts for. One time may be that of several events
-- of one transaction: nothing of the same time contradicts.
create or replace function ragdb_internal.unexplained_grants() returns setof ragdb.finding
language sql stable parallel safe
begin atomic
  select 'rights', ragdb_internal.severity_of_unexplained(), 'corpus ' || c.name,
      g.role || ' has the right ' || g.privilege || ', and no event says who gave it',
      'revoke it where nobody knows it; compare ragdb.access_events with a backup'
    from ragdb.corpus_grants g join ragdb.corpora c on c.corpus_id = g.corpus_id
    where not exists (
        select from ragdb_internal.held_by(g.role) h (name) join ragdb.access_events e
          on e.corpus_id = g.corpus_id and e.kind = 'grant'
            and e.what = g.privilege || ' to ' || h.name
        where not exists (
            select from ragdb.access_events l
            where l.corpus_id = e.corpus_id and l.created_at > e.created_at and (
              l.kind = 'unrestrict'
              or l.kind = 'revoke' and l.what = 'from ' || h.name
              or l.kind = 'grant' and l.what <> e.what
                and ragdb_internal.granted_role(l.what) = h.name)));
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
    where c.personal_of is not null and ragdb_internal.quote(r.caller) <> all (
      select h from ragdb_internal.held_by(c.personal_of) h);
end;

-- Returns the bindings of roles and the tokens that no event accounts for: who has one reads what a
-- role asked, or acts as it.
create or replace function ragdb_internal.unexplained_proxies() returns setof ragdb.finding
language sql stable parallel safe
begin atomic
  select 'rights', ragdb_internal.severity_of_unexplained(), 'role ' || b.bound_to,
      'what ' || b.role || ' held is bound to it, and no event says by whom',
      'delete it from ragdb.role_bindings where nobody knows it'
    from ragdb.role_bindings b
    where ragdb_internal.quote(b.role) <> all (
      select r from ragdb_internal.roles_bound_to(b.bound_to) r)
  union all
  select 'rights', ragdb_internal.severity_of_unexplained(), 'token ' || t.name,
      'it is for role ' || t.role || ', and no event says who made it',
      'revoke it where nobody knows it: ragdb token revoke'
    from ragdb.http_tokens t
      left join (
        select e.what, max(e.created_at) as last_at from ragdb.access_events e
        where e.corpus_id is null and e.kind = 'revoke_token' group by e.what) r
        on r.what = ragdb_internal.quote(t.name)
    where not exists (
      select from ragdb_internal.held_by(t.role) h (name) join ragdb.access_events m
        on m.corpus_id is null and m.kind = 'create_token'
          and m.what = ragdb_internal.quote(t.name) || ' for ' || h.name
      where r.last_at is null or m.created_at >= r.last_at);
end;

-- Returns the rights that events gave and that are gone, and the corpora that no event opened.
create or replace function ragdb_internal.missing_grants() returns setof ragdb.finding
language sql stable parallel safe
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
          and (l.kind = 'unrestrict' or l.kind = 'revoke'
            and l.what = 'from ' || ragdb_internal.granted_role(e.what)))
      and not exists (
        select from ragdb.access_events l where l.corpus_id is null and l.kind = 'bind_role'
          and pg_catalog.starts_with(l.what, ragdb_internal.granted_role(e.what) || ' to ')
          -- one of the same name has it still
          and l.what <> ragdb_internal.granted_role(e.what) || ' to '
            || ragdb_internal.granted_role(e.what))
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
