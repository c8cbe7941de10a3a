-- Reading traces: everybody reads their own, an auditor reads all. Whoever asks a question tells
-- something of themselves, and other readers of the corpus have no need to know it.

-- Behind a pooler the next transaction may be another client's, whose setting this would be; hence
-- the setting names its transaction, too.
create or replace function ragdb.last_trace_id() returns uuid
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_recorded text := current_setting('ragdb.last_trace_id', true);
begin
  if (split_part(v_recorded, ' ', 1) = pg_current_xact_id_if_assigned()::text) is not true then
    raise exception 'this transaction recorded no trace'
      using errcode = 'RG407',
        detail = 'outside a transaction block each statement is a transaction of its own',
        hint = 'each hit has its trace_id; or begin, retrieve, and ask before you commit';
  end if;
  return split_part(v_recorded, ' ', 2)::uuid;
end $$;
comment on function ragdb.last_trace_id is
  'Returns the id of the trace that this transaction recorded last, also when the retrieval had no '
  'hits. Raises RG407 where it recorded none, hence outside a transaction block: there each hit '
  'has its trace_id.';

-- Returns the trace of an id and its time (ragdb_internal.uuid_time). By the time, and no other
-- condition on the table (offset 0): to a planner that knows of no rows in a partition, each index
-- that begins with the corpus looks as good as the key, and then all traces of the corpus would be
-- read for one.
create or replace function ragdb_internal.trace_at(trace_id uuid, created_at timestamptz)
returns table (corpus_id integer, trace ragdb.retrieval_traces)
language sql stable parallel safe
begin atomic
  select t.corpus_id, t.trace from (
    select r.corpus_id, r.id, r as trace from ragdb.retrieval_traces r
    where r.created_at = trace_at.created_at offset 0) t
  where t.id = trace_at.trace_id;
end;

-- Whether the caller sees what others asked and did: a member of ragdb_auditor, or the owner. The
-- owner can read the table itself, so to refuse it here would only pretend.
create or replace function ragdb_internal.is_auditor() returns boolean
language sql stable parallel safe
return coalesce(pg_catalog.pg_has_role(ragdb_internal.caller_oid(), 'ragdb_auditor', 'usage')
  or pg_catalog.pg_has_role(ragdb_internal.caller_oid(), 'ragdb_owner', 'usage'), false);

-- Under which name, and until when, traces were recorded that are somebody's: by the role that has
-- role_oid, or (not is_of_now) by an earlier one of that name.
create type ragdb_internal.asker as (
  name text collate "C", role_oid oid, is_of_now boolean, until timestamptz);

-- Returns as whom a role recorded traces. Where a role that is gone was bound to it, its traces are
-- theirs. Like those below not in SQL, of which PostgreSQL 16 keeps no plan: they are asked of each
-- of many rows.
create or replace function ragdb_internal.askers_of(role text, role_oid oid)
returns ragdb_internal.asker[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(askers_of.role, askers_of.role_oid, true, 'infinity'::timestamptz)
      ::ragdb_internal.asker
    union all
    select row(b.role, ragdb_internal.role_oid(b.role), false, b.bound_at)::ragdb_internal.asker
    from ragdb.role_bindings b
    where b.bound_to = askers_of.role and b.bound_oid = askers_of.role_oid);
end $$;

-- Returns as whom the caller recorded traces, also as the login behind ragdb_admin.
create or replace function ragdb_internal.own_askers() returns ragdb_internal.asker[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return ragdb_internal.askers_of(ragdb_internal.caller(), ragdb_internal.caller_oid()) || array(
    select row(l.login, ragdb_internal.role_oid(l.login), true, 'infinity'::timestamptz)
      ::ragdb_internal.asker
    from (select ragdb_internal.login_of_admin() as login offset 0) l where l.login is not null);
end $$;

-- Whether a trace of a role was recorded by an asker. Nothing is looked up in it, so that it costs
-- little for each of many rows.
create or replace function ragdb_internal.is_of_asker(
  caller text, caller_oid oid, created_at timestamptz, asker ragdb_internal.asker)
returns boolean
language sql immutable parallel safe
return is_of_asker.caller = (asker).name and is_of_asker.created_at <= (asker).until
  and (is_of_asker.caller_oid is not distinct from (asker).role_oid) = (asker).is_of_now;

-- Whether the caller recorded the trace of a role, also as the login behind ragdb_admin.
create or replace function ragdb_internal.is_own_trace(
  caller text, caller_oid oid, created_at timestamptz)
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (
    select from unnest(ragdb_internal.own_askers()) o
    where ragdb_internal.is_of_asker(
      is_own_trace.caller, is_own_trace.caller_oid, is_own_trace.created_at, o));
end $$;

-- Whether the caller may read a trace: their own in a corpus that they may read, or as an auditor
-- all in such corpora, and with is_audit in every corpus that is not somebody's personal. The gate
-- to a trace. Who audits need not be able to read the corpus: a trace has no text of it. The
-- personal corpora of others are closed to auditors too.
create or replace function ragdb_internal.may_open_trace(
  trace ragdb.retrieval_traces, is_audit boolean)
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (
    select from ragdb.corpora c
    where c.corpus_id = trace.corpus_id
      and (ragdb_internal.privilege(c) > 0
          and (ragdb_internal.is_auditor() or ragdb_internal.is_own_trace(
            trace.caller, trace.caller_oid, trace.created_at))
        or is_audit and c.personal_of is null and ragdb_internal.is_auditor()));
end $$;

-- Returns a trace that the caller may read; is_audit where the answer has no text of the corpus. A
-- plan that a session made when a month had few traces is kept: without scans of the month, here
-- and below. Raises RG400, RG407.
create or replace function ragdb_internal.open_trace(trace_id uuid, is_audit boolean default false)
returns ragdb.retrieval_traces
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_created_at constant timestamptz := ragdb_internal.uuid_time(trace_id);
  v_trace ragdb.retrieval_traces;
begin
  if trace_id is null then
    raise exception 'trace_id is null'
      using errcode = 'RG400',
        detail = 'a trace is named by its id',
        hint = 'ragdb.list_traces() lists them';
  end if;
  select (t.trace).* into v_trace from ragdb_internal.trace_at(trace_id, v_created_at) t;
  if not found or not ragdb_internal.may_open_trace(v_trace, is_audit) then
    raise exception 'trace % does not exist', ragdb_internal.quote(trace_id::text)
      using errcode = 'RG407',
        detail = 'no trace of that id is visible to role '
          || ragdb_internal.quote(ragdb_internal.caller()),
        hint = 'ragdb.list_traces() lists the latest; a trace is read by the role that asked and '
          'by members of ragdb_auditor';
  end if;
  return v_trace;
end $$;

-- Holds a trace to the end of the transaction for what is written of it, so that
-- ragdb.erase_caller takes that along or comes first. Raises RG407.
create or replace function ragdb_internal.hold_trace(corpus_id integer, trace_id uuid)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  -- as ragdb_internal.trace_at does, whose rows cannot be locked
  perform from (
    select r.* from ragdb.retrieval_traces r
    where r.created_at = ragdb_internal.uuid_time(hold_trace.trace_id) offset 0) t
    where t.corpus_id = hold_trace.corpus_id and t.id = hold_trace.trace_id
    for key share;
  if not found then
    perform ragdb_internal.open_trace(trace_id); -- which says that it is gone
  end if;
end $$;

-- Definer, like those below: the tables are granted to nobody.
create or replace function ragdb.get_trace(trace_id uuid) returns ragdb.retrieval_traces
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return ragdb_internal.open_trace(trace_id, is_audit => true);
end $$;
comment on function ragdb.get_trace is
  'Returns one trace: the caller''s own of a corpus that they may read, or for an auditor any. '
  'Raises RG400, RG407.';

create or replace function ragdb.trace_hits(trace_id uuid) returns setof ragdb.retrieval_hits
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces := ragdb_internal.open_trace(trace_id, is_audit => true);
begin
  return query select h.* from ragdb.retrieval_hits h
    where h.corpus_id = v_trace.corpus_id and h.trace_id = v_trace.id
      and h.created_at = v_trace.created_at
    order by h.rank;
end $$;
comment on function ragdb.trace_hits is
  'Returns the hits of one trace, best first, without the text of the chunks. Raises RG400, RG407.';

create or replace function ragdb.find_trace(prefix text) returns uuid
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_range constant ragdb_internal.id_range := ragdb_internal.id_range(prefix);
  v_id uuid;
begin
  v_id := ragdb_internal.only_id(array(
    select t.id from ragdb.corpora c join ragdb.retrieval_traces t on t.corpus_id = c.corpus_id
      where t.id between v_range.low and v_range.high
        and t.created_at between ragdb_internal.uuid_time(v_range.low)
          and ragdb_internal.uuid_time(v_range.high)
        and ragdb_internal.may_open_trace(t, true)
      order by t.id limit 2), 'trace', prefix);
  if v_id is null then
    raise exception 'no trace begins with %', ragdb_internal.quote(prefix)
      using errcode = 'RG407', detail = 'no trace of such an id is visible to role '
          || ragdb_internal.quote(ragdb_internal.caller()),
        hint = 'ragdb.list_traces() lists the latest';
  end if;
  return v_id;
end $$;
comment on function ragdb.find_trace is
  'Returns the id of the one trace that the caller may read and whose id begins so: 8 to 32 '
  'hexadecimal digits, with or without hyphens. Raises RG400, also where two do, and RG407.';
