-- What a filter may ask: its operators and its built-in fields, one row each. The check of a
-- filter, its hints and its SQL all read these lists, so a new operator or a new field is one row.
--
-- Every field that is not built in is a key of the metadata, whose values are of any JSON type;
-- `metadata.` before a key says so of one that has the name of a built-in field.

-- Returns a template of a filter operator with its short forms written out: {eq}, that the metadata
-- has the given value or an array with it, {has_some}, that it does so of one of the given values,
-- and {members}, the items of the metadata's value where it is an array. jsonb_set is immutable, so
-- its object is made once, where jsonb_build_object makes one for each document. The index takes
-- [{"a": 1}] for the whole of [{"a": 1, "b": 2}], so it does not tell of items that are arrays or
-- objects.
create or replace function ragdb_internal.written_out(template text) returns text
language sql immutable parallel safe
return pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(
  written_out.template,
  '{eq}', 'd.metadata @> any (array[pg_catalog.jsonb_set(''{}'', array[{key}], {json}),'
  ' pg_catalog.jsonb_set(''{}'', array[{key}], pg_catalog.jsonb_set(''[]'', ''{0}'', {json}))])'
  ' and (pg_catalog.jsonb_typeof({json}) not in (''array'', ''object'')'
  ' or d.metadata -> {key} = {json} or exists (select from {members} m where m = {json}))'),
  '{has_some}', '{some} and ({plain} or d.metadata -> {key} = any ({values})'
  ' or exists (select from {members} m where m = any ({values})))'),
  '{members}', 'pg_catalog.jsonb_array_elements(case'
  ' when pg_catalog.jsonb_typeof(d.metadata -> {key}) = ''array'' then d.metadata -> {key} end)'),
  '{values}', 'array(select e from pg_catalog.jsonb_array_elements({json}) e)');

-- Returns the template of a condition that an index answers, which all metadata meets that has one
-- of the given items, or an array with one.
create or replace function ragdb_internal.some_item() returns text
language sql immutable parallel safe
return 'd.metadata @> any (array(select o'
  ' from pg_catalog.jsonb_array_elements({json}) e cross join lateral (values'
  ' (pg_catalog.jsonb_set(''{}'', array[{key}], e)),'
  ' (pg_catalog.jsonb_set(''{}'', array[{key}],'
  ' pg_catalog.jsonb_set(''[]'', ''{0}'', e)))) v (o)))';

-- Returns the template of whether none of the given items is an array or an object. Worked out when
-- the statement is planned. In strict mode an item that is an array stays one.
create or replace function ragdb_internal.plain_items() returns text
language sql immutable parallel safe
return 'not pg_catalog.jsonb_path_exists({json},'
  ' ''strict $[*] ? (@.type() == "array" || @.type() == "object")'')';

-- Lists the operators of filters: the JSON types of the value that each takes (null: any), in words
-- and by name; what must be of the type of a built-in field, the value, its items or (null)
-- nothing; whether the index over metadata serves it; whether what is null may meet it; its SQL for
-- one value of a built-in field and for the field, and for metadata. The templates speak of
-- documents d and chunks c. In them {field} is what is compared: a column, or the metadata's value
-- where it is of the type of the given value; {value} is the given value of that type, {items} an
-- array of the given items of that type, {json} and {text} are the given value as it is, and {key}
-- is the key in the metadata. {met} is whether a value of the field, one of several where a
-- document has many, meets of_value. {some} is what the index answers of a condition that has more
-- to it: where documents are looked at one by one it would only take time. {plain} or is there with
-- it: of plain items the index answers all.
create or replace function ragdb_internal.filter_operators()
returns table (
  operator text, takes text, types text[], compares text, uses_index boolean, meets_null boolean,
  of_value text, of_column text, of_metadata text)
language sql immutable parallel safe
begin atomic
  select o.operator, o.takes, o.types, o.compares, o.uses_index, o.meets_null, o.of_value,
    o.of_column, ragdb_internal.written_out(o.metadata_sql)
  from (values
    ('eq', 'any value', null::text[], 'value', true, false, '{field} = {value}', '{met}',
      '{eq}'),
    ('ne', 'any value', null, 'value', false, true, '{field} = {value}', '({met}) is not true',
      '({eq}) is not true'),
    ('gt', 'a number or a string', '{number,string}', 'value', false, false, '{field} > {value}',
      '{met}', '{field} > {value}'),
    ('gte', 'a number or a string', '{number,string}', 'value', false, false, '{field} >= {value}',
      '{met}', '{field} >= {value}'),
    ('lt', 'a number or a string', '{number,string}', 'value', false, false, '{field} < {value}',
      '{met}', '{field} < {value}'),
    ('lte', 'a number or a string', '{number,string}', 'value', false, false, '{field} <= {value}',
      '{met}', '{field} <= {value}'),
    ('in', 'an array', '{array}', 'items', true, false, '{field} = any ({items})', '{met}',
      '{has_some}'),
    ('any', 'an array', '{array}', 'items', true, false, '{field} = any ({items})', '{met}',
      '{has_some}'),
    ('all', 'an array', '{array}', 'items', true, true, '{field} = i.item',
      'not exists (select from pg_catalog.unnest({items}) i (item) where ({met}) is not true)',
      'd.metadata @> pg_catalog.jsonb_set(''{}'', array[{key}], {json}) and ({plain} or not exists'
      ' (select from pg_catalog.jsonb_array_elements({json}) e'
      ' where not exists (select from {members} m where m = e)))'),
    ('exists', 'a boolean', '{boolean}', null, false, true, '{field} is not null',
      '({met}) = ({text})::boolean',
      'pg_catalog.jsonb_exists(d.metadata, {key}) = ({text})::boolean'),
    ('glob', 'a string', '{string}', 'value', false, false,
      '{field} like ragdb_internal.glob_pattern({text})', '{met}',
      '{field} like ragdb_internal.glob_pattern({text})')
  ) o (operator, takes, types, compares, uses_index, meets_null, of_value, of_column,
    metadata_sql);
end;

-- Returns the SQL of what the turn t that chunk c is says of itself; null where it is none, or one
-- that does not meet a condition (null: all do).
create or replace function ragdb_internal.said(of_turn text, given_sql text default null)
returns text
language sql immutable parallel safe
return '(select ' || said.of_turn || ' from ragdb.turns t'
  ' where t.corpus_id = c.corpus_id and t.chunk_no = c.chunk_no'
  || coalesce(' and ' || said.given_sql, '') || ')';

-- Returns the SQL of when a turn t was said, by which ragdb.turns_by_time finds it.
create or replace function ragdb_internal.said_at_sql() returns text
language sql immutable parallel safe
return 't.created_at at time zone ''UTC''';

-- Returns the SQL of whether a turn t came with a time: ragdb_internal.parsed_turns writes the
-- place of one that did not.
create or replace function ragdb_internal.has_time_sql() returns text
language sql immutable parallel safe
return 't.created_at <> pg_catalog.to_timestamp(t.place + 1)';

-- Lists the built-in fields of filters: their JSON type, whether they are of chunks or of
-- documents, whether of chunks that are turns, what is compared, of documents d, chunks c or turns
-- t, which turns have it (null: all), the condition around the comparison, and what facets count,
-- of documents d or chunks c. The type time is a string of JSON that ragdb_internal.is_time takes.
create or replace function ragdb_internal.filter_fields()
returns table (
  field text, type text, of_chunks boolean, of_turns boolean, column_sql text,
  given_sql text, condition_sql text, facet_sql text)
language sql immutable parallel safe
begin atomic
  select * from (values
    ('source', 'string', false, false, 'd.source', null, '{condition}', 'd.source'),
    ('language', 'string', false, false, 'd.language collate "C"', null, '{condition}',
      'd.language'),
    ('title', 'string', false, false, 'd.title collate "C"', null, '{condition}', 'd.title'),
    ('page', 'number', true, false, 'c.page::numeric', null, '{condition}', 'c.page'),
    ('doc_cid', 'string', false, false, 'd.doc_cid', null, '{condition}', 'd.doc_cid'),
    ('media_type', 'string', false, false, 'd.media_type collate "C"', null, '{condition}',
      'd.media_type'),
    ('uri', 'string', false, false, 's.uri', null,
      'exists (select from ragdb.document_sources s'
      ' where s.corpus_id = d.corpus_id and s.doc_no = d.doc_no and {condition})',
      'array(select s.uri from ragdb.document_sources s'
      ' where s.corpus_id = d.corpus_id and s.doc_no = d.doc_no)'),
    ('role', 'string', true, true, 't.role', null, '{condition}',
      ragdb_internal.said('t.role')),
    ('speaker', 'string', true, true, '(t.given ->> ''speaker'') collate "C"', null,
      '{condition}', ragdb_internal.said('t.given ->> ''speaker''')),
    ('session', 'string', true, true, 't.session_id', null, '{condition}',
      ragdb_internal.said('t.session_id')),
    ('said_at', 'time', true, true, ragdb_internal.said_at_sql(), ragdb_internal.has_time_sql(),
      '{condition}',
      ragdb_internal.said(ragdb_internal.said_at_sql(), ragdb_internal.has_time_sql()))
  ) f (field, type, of_chunks, of_turns, column_sql, given_sql, condition_sql, facet_sql);
end;

-- Returns the key of the metadata that a field that is not built in names.
create or replace function ragdb_internal.metadata_key(field text) returns text
language sql immutable parallel safe
return case when pg_catalog.starts_with(metadata_key.field, 'metadata.')
  then pg_catalog.substr(metadata_key.field, 10) else metadata_key.field end;

-- Returns the operators of filters, separated by commas.
create or replace function ragdb_internal.operator_names() returns text
language sql immutable parallel safe
return (
  select pg_catalog.string_agg(o.operator, ', ' order by o.n)
  from ragdb_internal.filter_operators() with ordinality
    o (operator, takes, types, compares, uses_index, meets_null, of_value, of_column, of_metadata,
      n));
