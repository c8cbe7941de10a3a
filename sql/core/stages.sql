-- How long the stages of a recorded search took, as the functions that run them tell.
--
-- They are deep in a ranking whose rows have no place for it, so they leave it in a setting of the
-- transaction. Only a retrieval, which writes and hence is never part of a parallel plan, asks.

-- Begins to note the stages of a search, until ragdb_internal.noted_stages() is called. The two
-- that run in every retrieval are single expressions, which become part of their callers. An
-- assignment evaluates one at once, where `perform` starts a statement.
create or replace function ragdb_internal.ask_for_stages() returns text
language sql
return pg_catalog.set_config('ragdb.stages', ';', true);

-- Notes that a stage has run since then, and returns when the next begins.
create or replace function ragdb_internal.keep_stage(stage text, started timestamptz)
returns timestamptz
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform set_config('ragdb.stages', current_setting('ragdb.stages') || stage || ' '
    || 1000 * extract(epoch from clock_timestamp() - started) || ';', true);
  return clock_timestamp();
end $$;

-- Notes that a stage has run since then, where a retrieval has asked for it, and returns when the
-- next begins.
create or replace function ragdb_internal.note_stage(stage text, started timestamptz)
returns timestamptz
language sql
return case when pg_catalog.current_setting('ragdb.stages', true) <> ''
  then ragdb_internal.keep_stage(stage, started) else pg_catalog.clock_timestamp() end;

-- Returns the milliseconds of each stage that was noted, and ends it; null where none was. A
-- ranking that has to go deeper runs its legs again.
create or replace function ragdb_internal.noted_stages() returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_noted constant text := trim(both ';' from current_setting('ragdb.stages'));
begin
  perform set_config('ragdb.stages', '', true);
  return (
    select jsonb_object_agg(s.stage, s.ms)
    from (select split_part(n.note, ' ', 1) as stage,
        sum(split_part(n.note, ' ', 2)::float8) as ms
      from string_to_table(nullif(v_noted, ''), ';') n (note) group by 1) s);
end $$;
