-- The fields of a given document and of its chunks, one row a field: what it may be, and how it is
-- described to who gives something else. A new field is one row here.

create type ragdb_internal.given_field as (
  place integer,
  name text,
  types text[],
  pattern text,
  fewest integer,
  most integer,
  must_be text);
comment on type ragdb_internal.given_field is
  'A field of a document or a chunk: its JSON types (null: it may be missing), the pattern of its '
  'text, the fewest and most bytes of that, and what it must be, as a format of these two.';

create or replace function ragdb_internal.document_fields()
returns setof ragdb_internal.given_field
language sql immutable parallel safe
begin atomic
  select * from (values
    (1, 'doc_cid', '{string}'::text[], '^sha256:[0-9a-f]{64}$', null, null,
      'sha256: and 64 hex digits'),
    (2, 'uri', '{string}', null, 1, 2000, 'a text of %2$s to %3$s bytes'),
    (3, 'source_name', '{string,null}', null, 0, 200, 'a text of at most %3$s bytes'),
    (4, 'title', '{string,null}', null, 0, 10000, 'a text of at most %3$s bytes, or null'),
    (5, 'language', '{string,null}', null, 1, 64, 'a text of %2$s to %3$s bytes, or null'),
    (6, 'media_type', '{string}', null, 1, 200, 'a text of %2$s to %3$s bytes'),
    (7, 'metadata', '{object,null}', null, null, null, 'an object'),
    (8, 'external_id', '{string,null}', null, 1, 500, 'a text of %2$s to %3$s bytes, or null'),
    (9, 'size_bytes', '{number}', '^[0-9]+$', 1, 15, 'a whole number of at most %3$s digits'),
    (10, 'pages', '{number,null}', '^[0-9]+$', 1, 9,
      'a whole number of at most %3$s digits, or null'),
    (11, 'etag', '{string,null}', null, 0, 1000, 'a text of at most %3$s bytes, or null'),
    (12, 'chunking', '{object}', null, null, null, 'an object that says how the text was cut'),
    (13, 'chunks', '{array}', null, null, null, 'an array'),
    (14, 'links', '{array,null}', null, null, null, 'an array')
  ) f (place, name, types, pattern, fewest, most, must_be);
end;
comment on function ragdb_internal.document_fields() is
  'Lists the fields that a given document may have.';

create or replace function ragdb_internal.chunk_fields()
returns setof ragdb_internal.given_field
language sql immutable parallel safe
begin atomic
  select * from (values
    (1, 'text', '{string}'::text[], '[^ \t\n\r\f\v]', null, null, 'a text with something in it'),
    (2, 'start', '{number}', '^[0-9]+$', 1, 9, 'a whole number of at most %3$s digits'),
    (3, 'end', '{number}', '^[0-9]+$', 1, 9, 'a whole number of at most %3$s digits'),
    (4, 'tokens', '{number}', '^[0-9]+$', 1, 9, 'a whole number of at most %3$s digits'),
    (5, 'page', '{number,null}', '^[1-9][0-9]*$', 1, 9,
      'a whole number from 1 of at most %3$s digits, or null'),
    (6, 'heading', '{array,null}', null, null, null, 'an array of at most 100 texts'),
    (7, 'id', '{string,null}', null, 1, 500, 'a text of %2$s to %3$s bytes')
  ) f (place, name, types, pattern, fewest, most, must_be);
end;
comment on function ragdb_internal.chunk_fields() is
  'Lists the fields that a chunk of a given document may have.';

create or replace function ragdb_internal.fits_field(
  object jsonb, field ragdb_internal.given_field)
returns boolean
language sql immutable parallel safe
return coalesce(pg_catalog.jsonb_typeof(object -> (field).name), 'null') = any ((field).types)
  and coalesce((object ->> (field).name) ~ (field).pattern, true)
  and ((field).most is null or coalesce(pg_catalog.octet_length(object ->> (field).name)
    between (field).fewest and (field).most, true));
comment on function ragdb_internal.fits_field(jsonb, ragdb_internal.given_field) is
  'Tells whether an object has what a field must be.';

create or replace function ragdb_internal.field_problems(
  object jsonb, what text, fields ragdb_internal.given_field[])
returns table (place integer, problem text)
language sql stable parallel safe
begin atomic
  select 0, 'it must be an object' where jsonb_typeof(field_problems.object) <> 'object'
  union all
  select f.place, format('"%1$s" must be ' || f.must_be, f.name, f.fewest, f.most)
  from unnest(field_problems.fields) f
  where not ragdb_internal.fits_field(field_problems.object, f)
  union all
  select 1000, format('%s is not a field of a %s', ragdb_internal.quote(k), field_problems.what)
  from jsonb_object_keys(
    case jsonb_typeof(field_problems.object) when 'object' then field_problems.object end) k
  where k not in (select f.name from unnest(field_problems.fields) f);
end;
comment on function ragdb_internal.field_problems(jsonb, text, ragdb_internal.given_field[]) is
  'Returns what is wrong with the fields of an object, a document or a chunk as what says; the '
  'least place comes first.';

create or replace function ragdb_internal.chunk_problems(chunk jsonb, has_turns boolean)
returns table (place integer, problem text)
language sql stable parallel safe
begin atomic
  select 100, format('"end" minus "start" must be the length of "text", %s characters',
    length(chunk ->> 'text'))
  where case when chunk ->> 'start' ~ '^[0-9]{1,9}$' and chunk ->> 'end' ~ '^[0-9]{1,9}$'
    then (chunk ->> 'end')::integer - (chunk ->> 'start')::integer <> length(chunk ->> 'text') end
  union all
  select 101, '"heading" must be an array of at most 100 texts'
  where case when jsonb_typeof(chunk -> 'heading') = 'array'
    then jsonb_array_length(chunk -> 'heading') > 100
      or exists (select from jsonb_array_elements(chunk -> 'heading') h
        where jsonb_typeof(h) <> 'string') end
  union all
  select 102, '"id" must be a text of 1 to 500 bytes where the chunker is turns/1, and is not '
    'given elsewhere'
  where has_turns <> (chunk ? 'id') or chunk -> 'id' = 'null';
end;
comment on function ragdb_internal.chunk_problems(jsonb, boolean) is
  'Returns in what a chunk of a given document contradicts itself or its document.';
