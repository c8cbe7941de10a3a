-- The fields of a given document and of its chunks, one row a field: what it may be, and how it is
-- described to who gives something else. A new field is one row here.

-- A field of a document or a chunk: its JSON types (null: it may be missing), the pattern of its
-- text or the fewest and most bytes of it, and what it must be, as a format of name, fewest and
-- most.
create type ragdb_internal.given_field as (
  name text,
  types text[],
  pattern text,
  fewest integer,
  most integer,
  must_be text);

-- Lists the fields that a given document may have.
create or replace function ragdb_internal.document_fields()
returns setof ragdb_internal.given_field
language sql immutable parallel safe
begin atomic
  select * from (values
    ('doc_cid', '{string}'::text[], '^sha256:[0-9a-f]{64}$', null, null,
      '"%s" must be sha256: and 64 hex digits'),
    ('uri', '{string}', null, 1, 2000, '"%s" must be a text of %s to %s bytes'),
    ('source_name', '{string,"null"}', null, 0, 200, '"%1$s" must be a text of at most %3$s bytes'),
    ('title', '{string,"null"}', null, 0, 10000,
      '"%1$s" must be a text of at most %3$s bytes, or null'),
    ('language', '{string,"null"}', null, 1, 64, '"%s" must be a text of %s to %s bytes, or null'),
    ('media_type', '{string}', null, 1, 200, '"%s" must be a text of %s to %s bytes'),
    ('metadata', '{object,"null"}', null, null, null, '"%s" must be an object'),
    ('external_id', '{string,"null"}', null, 1, 500,
      '"%s" must be a text of %s to %s bytes, or null'),
    ('size_bytes', '{number}', '^[0-9]{1,15}$', null, null,
      '"%s" must be a whole number of at most 15 digits'),
    ('pages', '{number,"null"}', '^[0-9]{1,9}$', null, null,
      '"%s" must be a whole number of at most 9 digits, or null'),
    ('etag', '{string,"null"}', null, 0, 1000,
      '"%1$s" must be a text of at most %3$s bytes, or null'),
    ('root', '{string,"null"}', null, 1, 4000, '"%s" must be a text of %s to %s bytes, or null'),
    ('adopt', '{boolean,"null"}', null, null, null,
      '"%s" must be true where the source may have come from another root'),
    ('chunking', '{object}', null, null, null,
      '"%s" must be an object that says how the text was cut'),
    ('chunks', '{array}', null, null, null, '"%s" must be an array'),
    ('links', '{array,"null"}', null, null, null, '"%s" must be an array')
  ) f (name, types, pattern, fewest, most, must_be);
end;

-- Lists the fields that a chunk of a given document may have.
create or replace function ragdb_internal.chunk_fields()
returns setof ragdb_internal.given_field
language sql immutable parallel safe
begin atomic
  select * from (values
    ('text', '{string}'::text[], '[^ \t\n\r\f\v]', null::integer, null::integer,
      '"%s" must be a text with something in it'),
    ('start', '{number}', '^[0-9]{1,9}$', null, null,
      '"%s" must be a whole number of at most 9 digits'),
    ('end', '{number}', '^[0-9]{1,9}$', null, null,
      '"%s" must be a whole number of at most 9 digits'),
    ('tokens', '{number}', '^[0-9]{1,9}$', null, null,
      '"%s" must be a whole number of at most 9 digits'),
    ('page', '{number,"null"}', '^[1-9][0-9]{0,8}$', null, null,
      '"%s" must be a whole number from 1 of at most 9 digits, or null'),
    ('heading', '{array,"null"}', null, null, null, '"%s" must be an array of at most 100 texts'),
    ('citation', '{object,"null"}', null, 0, 4000,
      '"%1$s" must be an object of at most %3$s bytes, or null'),
    ('id', '{string,"null"}', null, 1, 500,
      '"%s" is that of a turn, a text of %s to %s bytes')
  ) f (name, types, pattern, fewest, most, must_be);
end;

-- Tells whether an object has in a field what that must be.
create or replace function ragdb_internal.fits_field(
  object jsonb, field ragdb_internal.given_field)
returns boolean
language sql immutable parallel safe
return case
  when coalesce(pg_catalog.jsonb_typeof(object -> (field).name), 'null') <> all ((field).types)
    then false
  when (field).pattern is not null
    then coalesce(object ->> (field).name ~ (field).pattern, true)
  when (field).most is not null then coalesce(
    pg_catalog.octet_length(object ->> (field).name) between (field).fewest and (field).most, true)
  else true
end;

-- Returns in one row what is wrong with the fields of an object, a document or a chunk as what
-- says; null for nothing. A function of sets, because only these are inlined with a query in them:
-- one that is not takes as long for a chunk as all the rest of the check.
create or replace function ragdb_internal.field_problems(
  object jsonb, what text, fields ragdb_internal.given_field[])
returns table (problem text)
language sql stable parallel safe
begin atomic
  select case
    when jsonb_typeof(field_problems.object) <> 'object' then 'it must be an object'
    else coalesce(
      -- the first in the list
      (select format(f.must_be, f.name, f.fewest, f.most)
        from unnest(field_problems.fields) f
        where not ragdb_internal.fits_field(field_problems.object, f) limit 1),
      case when field_problems.object - array(
          select f.name from unnest(field_problems.fields) f) <> '{}' then
        (select format('%s is not a field of a %s', ragdb_internal.quote(k), field_problems.what)
        from jsonb_object_keys(field_problems.object) k
        where k not in (select f.name from unnest(field_problems.fields) f) limit 1) end)
  end;
end;

-- Whether a citation has a uri or a locator that is not blank.
create or replace function ragdb_internal.is_cited(citation jsonb) returns boolean
language sql immutable parallel safe
return coalesce((is_cited.citation ->> 'uri') ~ '\S', false)
  or coalesce((is_cited.citation ->> 'locator') ~ '\S', false);

-- Whether a value is an object whose uri and locator are texts where it has them.
create or replace function ragdb_internal.is_citation(value jsonb) returns boolean
language sql immutable parallel safe
return pg_catalog.jsonb_typeof(value) = 'object'
  and coalesce(pg_catalog.jsonb_typeof(value -> 'uri'), 'string') = 'string'
  and coalesce(pg_catalog.jsonb_typeof(value -> 'locator'), 'string') = 'string';

-- Returns in what a chunk whose fields are right contradicts itself or its document; null for
-- nothing.
create or replace function ragdb_internal.chunk_contradiction(chunk jsonb, has_turns boolean)
returns text
language sql stable parallel safe
return case
  when pg_catalog.length(chunk ->> 'text') > (ragdb_internal.limits()).chunk_characters
    then pg_catalog.format('"text" must have at most %s characters',
      (ragdb_internal.limits()).chunk_characters)
  when (chunk ->> 'end')::integer - (chunk ->> 'start')::integer
      <> pg_catalog.length(chunk ->> 'text')
    then pg_catalog.format('"end" minus "start" must be the length of "text", %s characters',
      pg_catalog.length(chunk ->> 'text'))
  when pg_catalog.jsonb_array_length(nullif(chunk -> 'heading', 'null')) > 100
      or pg_catalog.jsonb_path_exists(
        chunk, 'strict $.heading[*] ? (@.type() != "string")', silent => true)
    then '"heading" must be an array of at most 100 texts'
  when chunk -> 'citation' <> 'null' and not (ragdb_internal.is_citation(chunk -> 'citation')
      and ragdb_internal.is_cited(chunk -> 'citation'))
    then '"citation" must have a "uri" or a "locator", each a text that is not blank'
  when has_turns <> (chunk ? 'id') or chunk -> 'id' = 'null'
    then '"id" is that of a turn: ragdb.put_conversations() takes it'
end;
