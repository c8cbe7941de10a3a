-- The header of an export, as an import reads it, and the embedder that it brings along.

-- Lists the fields of an export's header, of its corpus and of its embedder, with their JSON types
-- (whole is a number); an optional one may be null.
create or replace function ragdb_internal.header_fields()
returns table (object text, name text, type text, is_optional boolean)
language sql immutable parallel safe
begin atomic
  select f.object, f.name, rtrim(f.type, '?'), f.type like '%?'
  from (values
    ('header', 'corpus', 'object'), ('header', 'counts', 'object'),
    ('header', 'digest', 'string'), ('header', 'embedder', 'object?'),
    ('corpus', 'name', 'string'), ('corpus', 'title', 'string?'),
    ('corpus', 'text_config', 'string'), ('corpus', 'k1', 'number'), ('corpus', 'b', 'number'),
    ('corpus', 'pivot', 'number'), ('corpus', 'record_query_text', 'string'),
    ('corpus', 'is_restricted', 'boolean'),
    ('embedder', 'name', 'string'), ('embedder', 'model', 'string'),
    ('embedder', 'revision', 'string?'), ('embedder', 'dims', 'whole'),
    ('embedder', 'metric', 'string'), ('embedder', 'max_tokens', 'whole'),
    ('embedder', 'query_prefix', 'string'), ('embedder', 'passage_prefix', 'string'),
    ('embedder', 'weights_sha256', 'string?'), ('embedder', 'm', 'whole'),
    ('embedder', 'ef_construction', 'whole'), ('embedder', 'provider', 'string?'),
    ('embedder', 'provider_model', 'string?')
  ) f (object, name, type);
end;

-- Whether a field of a header has its JSON type, and a number is within a thousand million and a
-- double. jsonb holds numbers that no column does: a cast would raise an error of its own.
create or replace function ragdb_internal.is_of_type(value jsonb, type text) returns boolean
language sql immutable parallel safe
return case when is_of_type.type not in ('number', 'whole')
    then pg_catalog.jsonb_typeof(is_of_type.value) = is_of_type.type
  when pg_catalog.jsonb_typeof(is_of_type.value) = 'number'
    then pg_catalog.abs(is_of_type.value::numeric) <= 1e9
      and (is_of_type.value::numeric = 0 or pg_catalog.abs(is_of_type.value::numeric) >= 1e-300)
      and (is_of_type.type = 'number'
        or is_of_type.value::numeric = pg_catalog.trunc(is_of_type.value::numeric))
  else false end;

-- Refuses what is not an export, and one of another format, which may be whole. Raises RG455.
create or replace function ragdb_internal.check_format(header jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mine constant text := ragdb_internal.export_format();
  v_its constant text := coalesce(header ->> 'format', '');
begin
  if v_its ~ '^ragdb-corpus/[0-9]{1,9}$' and v_its <> v_mine then
    raise exception 'this export has the format "%", and this database takes "%"', v_its, v_mine
      using errcode = 'RG455',
        detail = format('it was made by %s; what its digest covers is other',
          coalesce(ragdb_internal.quote(header ->> 'made_by'), 'another version of ragdb')),
        hint = 'export the corpus again with this version of ragdb, or import the file with the '
          'one that made it';
  elsif v_its <> v_mine then
    perform ragdb_internal.refuse_import('its format is '
      || ragdb_internal.quote(header ->> 'format') || format(', not "%s"', v_mine));
  end if;
end $$;

-- Refuses a header of an export that is not one, or not whole. Raises RG455.
create or replace function ragdb_internal.check_header(header jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wrong text;
begin
  perform ragdb_internal.check_format(header);
  select f.name into v_wrong
  from ragdb_internal.header_fields() f
    cross join lateral (
      select case f.object when 'header' then header
        else nullif(header -> f.object, 'null') end) o (object)
  where o.object is not null
    and not coalesce(ragdb_internal.is_of_type(o.object -> f.name, f.type), false)
    and not (f.is_optional and coalesce(o.object -> f.name, 'null') = 'null')
  limit 1;
  if v_wrong is not null then
    perform ragdb_internal.refuse_import(
      'its header has no right ' || ragdb_internal.quote(v_wrong));
  end if;
  if octet_length(header::text) > 1000000 then
    perform ragdb_internal.refuse_import('its header is over a million bytes long');
  end if;
end $$;

-- Makes the embedder of an import known, and binds it where that needs nothing but the package.
-- Raises RG401, RG417.
create or replace function ragdb_internal.import_embedder(embedder jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_is_writer constant boolean := pg_has_role(ragdb_internal.caller(), 'ragdb_writer', 'usage');
  v_known ragdb.embedders;
begin
  -- raises where one of that name promises something else
  v_known := ragdb.create_embedder(
    embedder ->> 'name', (embedder ->> 'dims')::numeric::integer, embedder ->> 'model',
    embedder ->> 'metric', (embedder ->> 'max_tokens')::numeric::integer, embedder ->> 'revision',
    embedder ->> 'query_prefix', embedder ->> 'passage_prefix', embedder ->> 'weights_sha256');
  if v_known.provider is null then
    -- the two that need no address, no path and no admin; other corpora may have it too
    if v_is_writer and (embedder ->> 'provider' = 'hash'
        or embedder ->> 'provider_model' = 'packaged' and v_known.weights_sha256 is not null) then
      perform ragdb.bind_embedder(
        v_known.name, embedder ->> 'provider', embedder ->> 'provider_model');
    end if;
  elsif v_known.weights_sha256 is null and (v_known.provider <> embedder ->> 'provider'
      or v_known.provider <> 'sentence-transformers'
        and v_known.provider_model <> embedder ->> 'provider_model') then
    raise exception 'embedder % is run by % here and by % there',
        ragdb_internal.quote(v_known.name), v_known.provider,
        ragdb_internal.quote(embedder ->> 'provider')
      using errcode = 'RG417',
        detail = 'vectors of two models would mix, and no digest of the weights tells that they '
          'are one',
        hint = 'bind it alike in both databases, or give one of them another embedder with '
          'ragdb.reembed_corpus()';
  end if;
end $$;
