-- Removes spaces. Whoever drops a table locks the one of all spaces to the end of its transaction,
-- and while it waits for that, behind whoever reads, all who come after wait for it. So a space is
-- emptied by the transaction that removes it, and its table is dropped by ragdb.maintain().

-- Returns the key of the setting that says that a space left its table; without a space what all
-- such keys begin with.
create or replace function ragdb_internal.left_space_key(space_id integer default null) returns text
language sql immutable parallel safe
return 'left_space ' || coalesce(left_space_key.space_id::text, '');

-- Removes a space; the caller holds the corpus lock.
create or replace function ragdb_internal.remove_space(space ragdb.embedding_spaces) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_history constant text := coalesce(current_setting('ragdb.history', true), '');
begin
  delete from ragdb.embedding_spaces s
    where s.corpus_id = space.corpus_id and s.space_id = space.space_id;
  -- what goes with its space is not kept as it was
  perform set_config('ragdb.history', 'off', true);
  execute 'delete from ragdb.' || ragdb_internal.space_table(space.space_id);
  perform set_config('ragdb.history', v_history, true);
  insert into ragdb.settings (key, value)
    values (ragdb_internal.left_space_key(space.space_id), to_jsonb(space.space_id));
end $$;

-- Removes all spaces of a corpus; the caller holds the corpus lock.
create or replace function ragdb_internal.remove_spaces(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.remove_space(s) from ragdb.embedding_spaces s
    where s.corpus_id = remove_spaces.corpus_id;
end $$;

-- Drops tables that spaces left, until one is not to be had within a moment, and returns their
-- names. Not more than twenty: who comes to the table of all spaces meanwhile waits.
create or replace function ragdb_internal.drop_left_tables() returns setof text
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '50ms'
as $$
declare
  v_left ragdb.settings;
  v_table text;
begin
  for v_left in
    select s.* from ragdb.settings s where s.key ^@ ragdb_internal.left_space_key() limit 20
  loop
    v_table := ragdb_internal.space_table(v_left.value::integer);
    begin
      execute 'drop table if exists ragdb.' || v_table;
    exception when lock_not_available then
      return;
    end;
    delete from ragdb.settings s where s.key = v_left.key;
    return next v_table;
  end loop;
end $$;
