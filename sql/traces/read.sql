-- Reading traces: who may read a corpus may read its traces.

create or replace function ragdb.last_trace_id() returns uuid
language sql stable parallel safe
return nullif(pg_catalog.current_setting('ragdb.last_trace_id', true), '')::uuid;
comment on function ragdb.last_trace_id() is
  'Returns the id of the trace that this session recorded last, also when the retrieval had no '
  'hits; null when it recorded none.';

-- The gate to a trace: who may read its corpus may read it.
create or replace function ragdb_internal.open_trace(trace_id uuid) returns ragdb.retrieval_traces
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_created_at timestamptz := ragdb_internal.uuid_time(trace_id);
  v_trace ragdb.retrieval_traces;
begin
  if trace_id is null then
    raise exception 'trace_id is null'
      using errcode = 'RG400',
        detail = 'a trace is named by its id',
        hint = 'ragdb.list_traces() lists them';
  end if;
  -- the time leaves one partition, the corpus its key
  select t.* into v_trace
    from ragdb.corpora c join ragdb.retrieval_traces t on t.corpus_id = c.corpus_id
    where t.id = open_trace.trace_id and t.created_at = v_created_at;
  if not found or not exists (select from ragdb.corpora c where c.corpus_id = v_trace.corpus_id
    and ragdb_internal.privilege(c) > 0)
  then
    raise exception 'trace % does not exist', ragdb_internal.quote(trace_id::text)
      using errcode = 'RG407',
        detail = 'no trace of that id is visible to role '
          || ragdb_internal.quote(ragdb_internal.caller()),
        hint = 'ragdb.list_traces() lists the latest';
  end if;
  return v_trace;
end $$;
comment on function ragdb_internal.open_trace(uuid) is
  'Returns a trace of a corpus that the caller may read. Raises RG400, RG407.';

-- Definer, like those below: the tables are granted to nobody.
create or replace function ragdb.get_trace(trace_id uuid) returns ragdb.retrieval_traces
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return ragdb_internal.open_trace(trace_id);
end $$;
comment on function ragdb.get_trace(uuid) is
  'Returns one trace of a corpus that the caller may read. Raises RG400, RG407.';

create or replace function ragdb.trace_hits(trace_id uuid) returns setof ragdb.retrieval_hits
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces := ragdb_internal.open_trace(trace_id);
begin
  return query select h.* from ragdb.retrieval_hits h
    where h.corpus_id = v_trace.corpus_id and h.trace_id = v_trace.id
      and h.created_at = v_trace.created_at
    order by h.rank;
end $$;
comment on function ragdb.trace_hits(uuid) is
  'Returns the hits of one trace, best first, without the text of the chunks. Raises RG400, RG407.';

create or replace function ragdb.list_traces(
  corpus text default null, since timestamptz default null, count integer default 50)
returns setof ragdb.retrieval_traces
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpora integer[];
begin
  if count is null or count not between 1 and 10000 then
    raise exception 'count is %', coalesce(count::text, 'null')
      using errcode = 'RG400',
        detail = 'count is the number of traces returned at most',
        hint = 'give 1 to 10000';
  end if;
  if corpus is not null then
    v_corpora := array[(ragdb_internal.open_corpus(corpus, 'read')).corpus_id];
  else
    v_corpora := array(select c.corpus_id from ragdb.corpora c
      where ragdb_internal.privilege(c) > 0);
  end if;
  -- ids are in the order of time, so each corpus is one range of each partition's key, read
  -- backwards
  return query
    select t.* from unnest(v_corpora) c
      cross join lateral (
        select r.* from ragdb.retrieval_traces r
          where r.corpus_id = c and r.created_at >= coalesce(list_traces.since, '-infinity')
          order by r.id desc limit list_traces.count) t
      order by t.id desc limit list_traces.count;
end $$;
comment on function ragdb.list_traces(text, timestamptz, integer) is
  'Returns the latest traces, newest first, of one corpus or of all that the caller may read, '
  'recorded at or after since; count is 1 to 10000. Raises RG400, RG401, RG404.';
