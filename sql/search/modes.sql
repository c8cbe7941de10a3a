-- The modes of a search: the one list that contracts, traces and evaluations read too.

-- Lists the modes of a search.
create or replace function ragdb_internal.search_modes() returns text[]
language sql immutable parallel safe
return array['lexical', 'semantic', 'hybrid', 'reference'];

-- Whether a search of this mode compares the embedding of its query with those of chunks; null for
-- a mode that is null.
create or replace function ragdb_internal.uses_embeddings(mode text) returns boolean
language sql immutable parallel safe
return mode in ('semantic', 'hybrid');

-- Refuses an unknown mode of a search; null is none. Raises RG400.
create or replace function ragdb_internal.check_mode(mode text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if mode <> all (ragdb_internal.search_modes()) then
    raise exception 'mode % is unknown', ragdb_internal.quote(mode)
      using errcode = 'RG400', detail = 'modes are lexical, reference, semantic and hybrid',
            hint = 'leave mode out for the default';
  end if;
end $$;
