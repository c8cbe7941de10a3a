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

-- Tells whether a version of pgvector builds HNSW indexes without writing behind its memory.
create or replace function ragdb_internal.may_build_hnsw(version text) returns boolean
language sql immutable parallel safe
return coalesce(ragdb_internal.version_numbers(version) >= '{0,8,2}', false);

-- Tells whether vacuum keeps HNSW indexes intact in a version of pgvector.
create or replace function ragdb_internal.may_vacuum_hnsw(version text) returns boolean
language sql immutable parallel safe
return coalesce(ragdb_internal.version_numbers(version) >= '{0,8,4}', false);

-- Refuses to build an HNSW index by a pgvector before 0.8.2, and warns before 0.8.4. Raises RG424.
create or replace function ragdb_internal.check_may_index() returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_version constant text := ragdb_internal.pgvector_version();
begin
  if not ragdb_internal.may_build_hnsw(v_version) then
    raise exception 'pgvector % builds no HNSW index here', coalesce(v_version, 'that is missing')
      using errcode = 'RG424',
        detail = 'a parallel build of such an index overflows a buffer before version 0.8.2',
        hint = 'install pgvector 0.8.4 or newer, then: alter extension vector update';
  elsif not ragdb_internal.may_vacuum_hnsw(v_version) then
    raise warning 'vacuum can corrupt HNSW indexes of pgvector %', v_version
      using hint = 'install pgvector 0.8.4 or newer, then: alter extension vector update';
  end if;
end $$;
