-- How long the stages of a recorded search took, as the functions that run them tell.
--
-- They are deep in a ranking whose rows have no place for it, so they leave it in a setting of the
-- transaction. Only a retrieval, which writes and hence is never part of a parallel plan, asks.

create or replace function ragdb_internal.ask_for_stages() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform set_config('ragdb.stages', '{}', true);
end $$;
comment on function ragdb_internal.ask_for_stages() is
  'Begins to note the stages of a search, until ragdb_internal.noted_stages() is called.';

create or replace function ragdb_internal.note_stage(stage text, started timestamptz) returns void
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_noted constant text := current_setting('ragdb.stages', true);
  v_ms constant float8 := 1000 * extract(epoch from clock_timestamp() - started)::float8;
begin
  if v_noted <> '' then
    -- a ranking that has to go deeper runs its legs again
    perform set_config('ragdb.stages', (v_noted::jsonb || jsonb_build_object(
      stage, coalesce((v_noted::jsonb ->> stage)::float8, 0) + v_ms))::text, true);
  end if;
end $$;
comment on function ragdb_internal.note_stage(text, timestamptz) is
  'Notes that a stage has run since then, where a retrieval has asked for it.';

create or replace function ragdb_internal.noted_stages() returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_noted constant jsonb := nullif(current_setting('ragdb.stages')::jsonb, '{}');
begin
  perform set_config('ragdb.stages', '', true);
  return v_noted;
end $$;
comment on function ragdb_internal.noted_stages() is
  'Returns the milliseconds of each stage that was noted, and ends it; null where none was.';
