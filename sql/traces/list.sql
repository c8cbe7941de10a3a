-- Lists of traces, by what was asked and what came of it, in pages.

-- Returns as whom the traces were recorded that the caller may read, or one null for everybody. One
-- null stands for everybody: it is joined with, as the others are.
create or replace function ragdb_internal.traced_askers() returns ragdb_internal.asker[]
language sql stable parallel safe
return case when ragdb_internal.is_auditor() then array[null::ragdb_internal.asker]
  else ragdb_internal.own_askers() end;

-- Returns the corpus whose traces are asked for, or all where the caller has any. Raises RG404.
create or replace function ragdb_internal.traced_corpora(corpus text) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_is_auditor constant boolean := ragdb_internal.is_auditor();
begin
  if corpus is null then
    return array(select c.corpus_id from ragdb_internal.corpora_to_read() c
      union select c.corpus_id from ragdb.corpora c where v_is_auditor and c.personal_of is null);
  elsif v_is_auditor and exists (select from ragdb.corpora c
      where c.name = traced_corpora.corpus and c.personal_of is null) then
    return array[ragdb_internal.corpus_number(corpus)];
  end if;
  return array[(ragdb_internal.open_corpus(corpus, 'read', true, true)).corpus_id];
end $$;

-- Refuses the arguments of a list of traces that are out of range or unknown words. Raises RG400.
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

-- Which traces a list shall have, and how many.
create type ragdb_internal.traces_asked as (
  since timestamptz, until timestamptz, mode text, outcome text, min_elapsed_ms float8,
  before uuid, count integer);

-- Whether a trace is as asked, but for how long it took. Without a query in it, it becomes part of
-- the one that calls it, which then finds indexes.
create or replace function ragdb_internal.is_asked_trace(
  trace ragdb.retrieval_traces, asker ragdb_internal.asker, asked ragdb_internal.traces_asked)
returns boolean
language sql stable parallel safe
return ((asker).name is null or ragdb_internal.is_of_asker(
    (trace).caller, (trace).caller_oid, (trace).created_at, asker))
  and ((asked).since is null or (trace).created_at >= (asked).since
    and (trace).id >= ragdb_internal.first_uuid7((asked).since))
  and ((asked).until is null or (trace).created_at < (asked).until
    and (trace).id < ragdb_internal.first_uuid7((asked).until))
  and ((asked).before is null or (trace).id < (asked).before
    and (trace).created_at <= ragdb_internal.uuid_time((asked).before))
  and ((asked).mode is null or (trace).rank_mode = (asked).mode)
  and ((asked).outcome is distinct from 'failed' or (trace).error_code is not null)
  and ((asked).outcome is distinct from 'short' or (trace).admissibility_shortfall)
  and ((asked).outcome is distinct from 'empty'
    or (trace).limit_returned = 0 and (trace).error_code is null)
  and ((asked).outcome is distinct from 'found' or (trace).limit_returned > 0);

-- Returns how many traces of a corpus are read by how long they took before they are read in the
-- order of time.
create or replace function ragdb_internal.slow_traces() returns integer
language sql immutable parallel safe
return 10000;

-- Whether so few traces of each of some corpora took so many milliseconds that all of them can be
-- read.
create or replace function ragdb_internal.has_few_slow_traces(
  corpora integer[], min_elapsed_ms float8)
returns boolean
language sql stable parallel safe
return (
  select coalesce(pg_catalog.bool_and(s.found <= ragdb_internal.slow_traces()), true)
  from pg_catalog.unnest(corpora) c cross join lateral (
    select pg_catalog.count(*) as found from (
      select from ragdb.retrieval_traces r
      where r.corpus_id = c and r.elapsed_ms >= has_few_slow_traces.min_elapsed_ms
      order by r.elapsed_ms desc limit ragdb_internal.slow_traces() + 1) t) s);

-- Returns the latest traces of some corpora that an asker (null: anybody) recorded, and that are as
-- asked. Planned each time, for what was asked: ids are in the order of time, so a corpus is one
-- range of each partition's key, and a role in it one of another index, read backwards; what is
-- rare has an index of its own.
create or replace function ragdb_internal.traces_listed(
  corpora integer[], asker ragdb_internal.asker, asked ragdb_internal.traces_asked)
returns setof ragdb.retrieval_traces
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
begin
  -- the planner knows no better than to a hundredth how many were slow: it is counted, and where
  -- they are few, the index by duration is read first, whatever else was asked
  if asked.min_elapsed_ms is not null
    and ragdb_internal.has_few_slow_traces(corpora, asked.min_elapsed_ms)
  then
    return query
      select t.* from unnest(corpora) c
        cross join lateral (
          select r.* from (
            select s.* from ragdb.retrieval_traces s
            where s.corpus_id = c and s.elapsed_ms >= asked.min_elapsed_ms
            order by s.elapsed_ms desc limit ragdb_internal.slow_traces()) r
          where ragdb_internal.is_asked_trace(r, asker, asked)
          order by r.id desc limit asked.count) t
        order by t.id desc limit asked.count;
  else
    return query
      select t.* from unnest(corpora) c
        cross join lateral (
          select r.* from ragdb.retrieval_traces r
          where r.corpus_id = c and ragdb_internal.is_asked_trace(r, asker, asked)
            -- many are: the sum keeps the planner from the index by duration
            and (asked.min_elapsed_ms is null or r.elapsed_ms + 0 >= asked.min_elapsed_ms)
          order by r.id desc limit asked.count) t
        order by t.id desc limit asked.count;
  end if;
end $$;

-- Returns the latest traces of some corpora that the caller may see and that are as asked.
create or replace function ragdb_internal.latest_traces(
  corpora integer[], asked ragdb_internal.traces_asked)
returns setof ragdb.retrieval_traces
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select t.* from unnest(ragdb_internal.traced_askers()) a
    cross join lateral ragdb_internal.traces_listed(corpora, a, asked) t
    order by t.id desc limit asked.count;
end $$;

create or replace function ragdb.list_traces(
  corpus text default null, since timestamptz default null, count integer default 50,
  until timestamptz default null, mode text default null, outcome text default null,
  min_elapsed_ms float8 default null, before uuid default null)
returns setof ragdb.retrieval_traces
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_asked constant ragdb_internal.traces_asked :=
    row(since, until, mode, outcome, min_elapsed_ms, before, count);
begin
  perform ragdb_internal.check_trace_list(count, mode, outcome, min_elapsed_ms);
  return query select t.*
    from ragdb_internal.latest_traces(ragdb_internal.traced_corpora(corpus), v_asked) t;
end $$;
comment on function ragdb.list_traces is
  'Returns the caller''s latest traces, newest first, of one corpus or of all that the caller may '
  'read, recorded at or after since and before until; for an auditor those of every role. mode is '
  'lexical, semantic, hybrid or reference; outcome found (with hits), empty (without), short (a '
  'slice that could not be searched whole) or failed; min_elapsed_ms how many milliseconds a '
  'search took at least; before the last id of the page before. count is 1 to 10000. Raises '
  'RG400, RG404.';
