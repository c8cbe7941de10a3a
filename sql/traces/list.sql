-- Lists of traces, by what was asked and what came of it, in pages.

-- The names under which the caller's own traces were recorded; null stands for every name.
create or replace function ragdb_internal.traced_names() returns text[]
language sql stable parallel safe
return case when ragdb_internal.is_auditor() then array[null::text]
  else array(select ragdb_internal.caller()::text
    union select ragdb_internal.login_of_admin() where ragdb_internal.login_of_admin() is not null
    union select b.role from ragdb.role_bindings b
      where ragdb_internal.is_caller(b.bound_to, b.bound_oid)) end;
comment on function ragdb_internal.traced_names() is
  'Returns the names of the roles whose traces the caller may read, or one null for all.';

create or replace function ragdb_internal.traced_corpora(corpus text) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_is_auditor constant boolean := ragdb_internal.is_auditor();
begin
  if corpus is null then
    return array(select c.corpus_id from ragdb.corpora c
      where ragdb_internal.privilege(c) > 0 or v_is_auditor and c.personal_of is null);
  elsif v_is_auditor and exists (select from ragdb.corpora c
      where c.name = traced_corpora.corpus and c.personal_of is null) then
    return array[ragdb_internal.corpus_number(corpus)];
  end if;
  return array[(ragdb_internal.open_corpus(corpus, 'read')).corpus_id];
end $$;
comment on function ragdb_internal.traced_corpora(text) is
  'Returns the corpus whose traces are asked for, or all where the caller has any. Raises RG404.';

create or replace function ragdb_internal.check_trace_list(
  count integer, mode text, outcome text, min_elapsed_ms float8)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_listed(count, 'traces');
  if mode <> all (ragdb_internal.search_modes()) then
    raise exception 'mode % is unknown', ragdb_internal.quote(mode)
      using errcode = 'RG400', detail = 'modes are lexical, reference, semantic and hybrid',
        hint = 'leave mode out for all of them';
  elsif outcome <> all (array['found', 'empty', 'short', 'failed']) then
    raise exception 'outcome % is unknown', ragdb_internal.quote(outcome)
      using errcode = 'RG400',
        detail = 'outcomes are found (hits), empty (none), short (a shortfall) and failed',
        hint = 'leave outcome out for all of them';
  elsif min_elapsed_ms < 0 or min_elapsed_ms = 'NaN' then
    raise exception 'min_elapsed_ms is %', min_elapsed_ms
      using errcode = 'RG400', detail = 'it is how many milliseconds a search took at least',
        hint = 'give 0 or more';
  end if;
end $$;
comment on function ragdb_internal.check_trace_list(integer, text, text, float8) is
  'Refuses the arguments of a list of traces that are out of range or unknown words. Raises RG400.';

-- Planned each time, for what was asked: ids are in the order of time, so a corpus is one range of
-- each partition's key, and a role in it one of another index, read backwards; what is rare has an
-- index of its own.
create or replace function ragdb_internal.traces_listed(
  corpora integer[], names text[], since timestamptz, until timestamptz, mode text, outcome text,
  min_elapsed_ms float8, before uuid, count integer)
returns setof ragdb.retrieval_traces
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_is_all constant boolean := names[1] is null;
begin
  return query
    select t.* from unnest(corpora) c
      cross join unnest(names) n
      cross join lateral (
        select r.* from ragdb.retrieval_traces r
          where r.corpus_id = c
            and (v_is_all or r.caller = n
              and ragdb_internal.is_own_trace(r.caller, r.caller_oid, r.created_at))
            and (since is null
              or r.created_at >= since and r.id >= ragdb_internal.first_uuid7(since))
            and (until is null
              or r.created_at < until and r.id < ragdb_internal.first_uuid7(until))
            and (before is null
              or r.id < before and r.created_at <= ragdb_internal.uuid_time(before))
            and (traces_listed.mode is null or r.rank_mode = traces_listed.mode)
            and (outcome is distinct from 'failed' or r.error_code is not null)
            and (outcome is distinct from 'short' or r.admissibility_shortfall)
            and (outcome is distinct from 'empty'
              or r.limit_returned = 0 and r.error_code is null)
            and (outcome is distinct from 'found' or r.limit_returned > 0)
            and (min_elapsed_ms is null or r.elapsed_ms >= min_elapsed_ms)
          order by r.id desc limit traces_listed.count) t
      order by t.id desc limit traces_listed.count;
end $$;
comment on function ragdb_internal.traces_listed(
  integer[], text[], timestamptz, timestamptz, text, text, float8, uuid, integer) is
  'Returns the latest traces of some corpora that some roles (one null: all) recorded, and that '
  'are as asked.';

create or replace function ragdb.list_traces(
  corpus text default null, since timestamptz default null, count integer default 50,
  until timestamptz default null, mode text default null, outcome text default null,
  min_elapsed_ms float8 default null, before uuid default null)
returns setof ragdb.retrieval_traces
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_trace_list(count, mode, outcome, min_elapsed_ms);
  return query select t.* from ragdb_internal.traces_listed(
    ragdb_internal.traced_corpora(corpus), ragdb_internal.traced_names(), since, until, mode,
    outcome, min_elapsed_ms, before, count) t;
end $$;
comment on function ragdb.list_traces(
  text, timestamptz, integer, timestamptz, text, text, float8, uuid) is
  'Returns the caller''s latest traces, newest first, of one corpus or of all that the caller may '
  'read, recorded at or after since and before until; for an auditor those of every role. mode is '
  'lexical, semantic, hybrid or reference; outcome found (with hits), empty (without), short (a '
  'slice that could not be searched whole) or failed; min_elapsed_ms how many milliseconds a '
  'search took at least; before the last id of the page before. count is 1 to 10000. Raises '
  'RG400, RG404.';
