-- Wire capabilities: requests and answers as JSON objects, for HTTP, for other programs, and for
-- psql.
--
-- They answer from what is stored. What a model or a reader of files must do first becomes a job,
-- and the answer is {"error": "partition", "retry_after_ms", "job_id"}: the caller commits, waits
-- and asks the same again. Errors are answers too, with the word of ragdb.error_codes(): each
-- capability catches the class RG, whose name as a condition is RG000, and answers with
-- ragdb_internal.wire_error_of. What is not an error of the request (a read-only server, a full
-- disk) is raised.

-- Returns the trust level of the caller: anchor (ragdb_admin), trusted (ragdb_writer), member
-- (ragdb_reader) or unknown.
create or replace function ragdb_internal.trust() returns text
language sql stable parallel safe
return case
  when pg_catalog.pg_has_role(ragdb_internal.caller(), 'ragdb_admin', 'usage')
    or pg_catalog.pg_has_role(ragdb_internal.caller(), 'ragdb_owner', 'usage') then 'anchor'
  when pg_catalog.pg_has_role(ragdb_internal.caller(), 'ragdb_writer', 'usage') then 'trusted'
  when pg_catalog.pg_has_role(ragdb_internal.caller(), 'ragdb_reader', 'usage') then 'member'
  else 'unknown' end;

-- Refuses a caller without the trust that a capability takes. Raises RG401.
create or replace function ragdb_internal.check_trust(capability text, required text)
  returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_levels constant text[] := array['unknown', 'member', 'trusted', 'anchor'];
begin
  if array_position(v_levels, ragdb_internal.trust()) < array_position(v_levels, required) then
    raise exception '% takes trust level %', capability, required
      using errcode = 'RG401',
        detail = format('role %s is %s', ragdb_internal.quote(ragdb_internal.caller()),
          ragdb_internal.trust()),
        hint = 'unknown < member (ragdb_reader) < trusted (ragdb_writer) < anchor (ragdb_admin)';
  end if;
end $$;

-- Refuses a part of a request that is not an object with the fields it needs and no others. Raises
-- RG400.
create or replace function ragdb_internal.check_fields(part text, fields jsonb, needs text[],
  takes text[]) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_field text;
begin
  if jsonb_typeof(fields) <> 'object' then
    raise exception '% is not an object', part
      using errcode = 'RG400', detail = 'it is of type ' || jsonb_typeof(fields),
        hint = 'ragdb.capabilities() has the schema of each request';
  end if;
  select n into v_field from unnest(needs) n where not coalesce(fields, '{}') ? n limit 1;
  if found then
    raise exception '% lacks %', part, v_field
      using errcode = 'RG400', detail = 'it must have ' || array_to_string(needs, ', '),
        hint = 'ragdb.capabilities() has the schema of each request';
  end if;
  select k into v_field from jsonb_object_keys(coalesce(fields, '{}')) k
    where k <> all (takes) limit 1;
  if found then
    raise exception '% has no field %', part, ragdb_internal.quote(v_field)
      using errcode = 'RG400',
        detail = 'a field that nothing obeys would promise what does not happen',
        hint = case when takes = '{}' then part || ' has no fields'
          else 'fields are ' || array_to_string(takes, ', ') end;
  end if;
end $$;

-- Takes one of the caller's slots of a capability until the transaction ends. Raises RG450.
create or replace function ragdb_internal.take_slot(capability text, slots integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if ragdb_internal.take_slot_of(capability, slots) then
    return;
  end if;
  raise exception 'all % slots of % are in use', slots, capability
    using errcode = 'RG450',
      detail = format('role %s has that many calls in transactions that are open',
        ragdb_internal.quote(ragdb_internal.caller())),
      hint = 'try again in a moment';
end $$;

-- Refuses a caller without the trust that a capability takes, a request of another shape, and one
-- call too many at a time. Trust, then shape, then capacity. Raises RG400, RG401, RG450.
create or replace function ragdb_internal.enter_capability(capability text, request jsonb)
  returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limits record;
begin
  select l.* into strict v_limits from ragdb_internal.capability_limits() l
    where l.name = capability;
  perform ragdb_internal.check_trust(capability, v_limits.trust_required);
  if request is null or jsonb_typeof(request) <> 'object' then
    raise exception 'a request is a JSON object, not %', coalesce(jsonb_typeof(request), 'null')
      using errcode = 'RG400', detail = 'its fields are params and input',
        hint = 'ragdb.capabilities() has the schema of each request';
  end if;
  perform ragdb_internal.check_fields('the request', request, '{}', array['params', 'input']);
  perform ragdb_internal.check_fields('params', request -> 'params', v_limits.needs_params,
    v_limits.takes_params);
  perform ragdb_internal.check_fields('input', request -> 'input', v_limits.needs_input,
    v_limits.takes_input);
  perform ragdb_internal.take_slot(capability, v_limits.max_concurrent);
end $$;

-- Returns an error as a capability answers it.
create or replace function ragdb_internal.wire_error(
  error text, message text, hint text default null, retry_after_ms integer default null,
  job_id uuid default null, sqlstate text default null)
returns jsonb
language sql immutable parallel safe
return pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
  'error', error, 'message', message, 'hint', hint, 'retry_after_ms', retry_after_ms,
  'job_id', job_id, 'sqlstate', sqlstate));

-- Returns an error of class RG as a capability answers it; null for a code that is not ours.
create or replace function ragdb_internal.wire_error_of(sqlstate text, message text, detail text,
  hint text) returns jsonb
language sql stable parallel safe
return (
  select ragdb_internal.wire_error(c.wire_word, wire_error_of.message || coalesce(': '
      || nullif(wire_error_of.detail, ''), ''), nullif(wire_error_of.hint, ''),
    case c.http_status when 429 then 200 end, null, c.sqlstate)
  from ragdb.error_codes() c where c.sqlstate = wire_error_of.sqlstate);

-- Returns the answer of a capability whose result a worker makes meanwhile, or would if the
-- embedder (null: none is needed) were bound.
create or replace function ragdb_internal.wait_for_worker(
  embedder ragdb.embedders, waits text, last_error text, retry_after_ms integer, job_id uuid)
returns jsonb
language sql stable parallel safe
return case when (embedder).name is not null and (embedder).provider is null
  then ragdb_internal.wire_error('partition',
    pg_catalog.format('embedder %s is bound to no provider', ragdb_internal.quote((embedder).name)),
    'ragdb embedder bind names what runs it; then ask again', 30000, wait_for_worker.job_id)
  else ragdb_internal.wire_error('partition',
    wait_for_worker.waits
      || coalesce('; the last attempt failed: ' || wait_for_worker.last_error, ''),
    'ask again after retry_after_ms; ragdb worker must run', wait_for_worker.retry_after_ms,
    wait_for_worker.job_id) end;

-- Returns a field of a request that is a text; null when it is null or missing. Raises RG400.
create or replace function ragdb_internal.wire_text(fields jsonb, field text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(fields -> field) not in ('string', 'null') then
    raise exception '% is not a text', field
      using errcode = 'RG400', detail = 'it is of type ' || jsonb_typeof(fields -> field),
        hint = 'ragdb.capabilities() has the schema of each request';
  end if;
  return fields ->> field;
end $$;

-- Returns a corpus as ragdb_internal.open_corpus does, but no personal one. `personal` is nobody's
-- to route to, not even its owner's. Raises RG400, RG401, RG404.
create or replace function ragdb_internal.routable_corpus(
  corpus text, privilege text, takes_parts boolean default false)
returns ragdb.corpora
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if corpus = 'personal' then
    raise exception 'corpus "personal" does not exist'
      using errcode = 'RG404', detail = 'a personal corpus is served by no capability',
        hint = 'its owner searches it in SQL, in Python and at the command line';
  end if;
  return ragdb_internal.open_corpus(corpus, privilege, takes_parts);
end $$;

-- Returns the filter of a request as ragdb.search takes it: min_year and max_year, with a number,
-- bound the field year, beside what it says of year itself. Raises RG410.
create or replace function ragdb_internal.wire_filter(filter jsonb) returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bounds text[];
  v_bound text;
  v_operator text;
  v_field text;
  v_beside jsonb;
  v_filter jsonb := nullif(filter, 'null');
begin
  if jsonb_typeof(v_filter) <> 'object' then
    return v_filter;  -- ragdb.search refuses it
  end if;
  v_bounds := array(select f.key from jsonb_each(filter) f
    where f.key ~ '^(min|max)_.' and jsonb_typeof(f.value) = 'number' order by f.key collate "C");
  v_filter := v_filter - v_bounds;
  foreach v_bound in array v_bounds loop
    v_field := substr(v_bound, 5);
    v_operator := case left(v_bound, 4) when 'min_' then 'gte' else 'lte' end;
    v_beside := v_filter -> v_field;
    v_beside := case coalesce(jsonb_typeof(v_beside), 'none') when 'none' then '{}'
      when 'object' then v_beside
      when 'array' then jsonb_build_object('all', v_beside)
        else jsonb_build_object('eq', v_beside) end;
    if v_beside ? v_operator then
      raise exception 'filter bounds % twice', ragdb_internal.quote(v_field)
        using errcode = 'RG410',
          detail = format('by %s and by %s', ragdb_internal.quote(v_bound), v_operator),
          hint = 'leave one of them out';
    end if;
    v_filter := v_filter || jsonb_build_object(v_field,
      v_beside || jsonb_build_object(v_operator, filter -> v_bound));
  end loop;
  return v_filter;
end $$;

-- Returns a time in UTC as RFC 3339 has it, to the millisecond.
create or replace function ragdb_internal.wire_time(at timestamptz) returns text
language sql stable parallel safe
return pg_catalog.to_char(wire_time.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
