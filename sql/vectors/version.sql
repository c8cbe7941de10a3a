-- Which version of pgvector this is, and what is known to be wrong with it.

-- Returns the numbers that a version begins with, which compare as versions do; null without any.
create or replace function ragdb_internal.version_numbers(version text) returns integer[]
language sql immutable parallel safe
return pg_catalog.string_to_array(
  pg_catalog.substring(version, '^[0-9]{1,8}(?:[.][0-9]{1,8}){0,3}'), '.')::integer[];

-- Returns the version of pgvector in this database.
create or replace function ragdb_internal.pgvector_version() returns text
language sql stable parallel safe
return (select e.extversion from pg_catalog.pg_extension e where e.extname = 'vector');

-- Tells whether several processes may build an HNSW index in a version of pgvector. Before 0.8.2
-- they write behind their memory.
create or replace function ragdb_internal.may_build_in_parallel(version text) returns boolean
language sql immutable parallel safe
return coalesce(ragdb_internal.version_numbers(version) >= '{0,8,2}', false);

-- Tells whether vacuum keeps HNSW indexes intact in a version of pgvector.
create or replace function ragdb_internal.may_vacuum_hnsw(version text) returns boolean
language sql immutable parallel safe
return coalesce(ragdb_internal.version_numbers(version) >= '{0,8,4}', false);

-- Warns whoever builds an HNSW index by a pgvector before 0.8.4.
create or replace function ragdb_internal.warn_of_pgvector() returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_version constant text := ragdb_internal.pgvector_version();
begin
  if not ragdb_internal.may_vacuum_hnsw(v_version) then
    raise warning 'vacuum can corrupt HNSW indexes of pgvector %', coalesce(v_version, '?')
      using hint = 'install pgvector 0.8.4 or newer, then: alter extension vector update';
  end if;
end $$;
