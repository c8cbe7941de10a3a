-- Which database this is. Signatures cover it, so that what another database signed is not taken
-- for this one's. A restored copy is the same database by it, because its evidence is the same.

-- Gives this database its id and its name, once.
create or replace function ragdb_internal.make_origin() returns void
language sql
begin atomic
  insert into ragdb.settings (key, value)
    values ('origin', pg_catalog.jsonb_build_object(
      'id', pg_catalog.gen_random_uuid(), 'name', pg_catalog.current_database()))
    on conflict on constraint settings_key_is_unique do nothing;
end;

-- Returns the id of this database as signatures cover it: 16 bytes, or none before it has one.
create or replace function ragdb_internal.origin_bytes() returns bytea
language sql stable parallel safe
return coalesce((
  select pg_catalog.uuid_send((s.value ->> 'id')::uuid)
    from ragdb.settings s where s.key = 'origin'), '');

create or replace function ragdb.origin() returns table (id uuid, name text)
language sql stable parallel safe security definer rows 1 -- settings are granted to nobody
set search_path = pg_catalog, pg_temp
begin atomic
  select (s.value ->> 'id')::uuid, s.value ->> 'name'
    from ragdb.settings s where s.key = 'origin';
end;
comment on function ragdb.origin is
  'Returns the id of this database, which signatures cover, and the name that it had when the id '
  'was made with its first key; no row before. A restored copy has the same id.';
