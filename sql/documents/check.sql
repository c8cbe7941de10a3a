-- Everything is looked at before anything is written: a constraint's own message would print the
-- row.
create or replace function ragdb_internal.check_documents(documents jsonb) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad record;
begin
  if documents is null or jsonb_typeof(documents) <> 'array' then
    raise exception 'documents is not an array'
      using errcode = 'RG412', detail = 'put_documents takes a JSON array of documents',
            hint = 'one document goes in an array of one';
  end if;
  if jsonb_array_length(documents) > 10000 then
    raise exception '% documents in one call', jsonb_array_length(documents)
      using errcode = 'RG413', detail = 'a call is one transaction',
        hint = 'put at most 10000 documents in a call';
  end if;
  select b.n - 1 as position, b.problem into v_bad from (
    select d.n, case
      when jsonb_typeof(d.v) <> 'object' then 'it must be an object'
      when (d.v ->> 'doc_cid' ~ '^sha256:[0-9a-f]{64}$') is not true
        then '"doc_cid" must be sha256: and 64 hex digits'
      when coalesce(jsonb_typeof(d.v -> 'uri'), '') <> 'string'
        or octet_length(d.v ->> 'uri') not between 1 and 2000
        then '"uri" must be a text of 1 to 2000 bytes'
      when coalesce(jsonb_typeof(d.v -> 'source_name'), 'null') not in ('string', 'null')
        or octet_length(d.v ->> 'source_name') > 200
          then '"source_name" must be a text of at most 200 bytes'
      when coalesce(jsonb_typeof(d.v -> 'title'), 'null') not in ('string', 'null')
        or octet_length(d.v ->> 'title') > 10000
          then '"title" must be a text of at most 10000 bytes, or null'
      when coalesce(jsonb_typeof(d.v -> 'language'), 'null') not in ('string', 'null')
        or octet_length(d.v ->> 'language') not between 1 and 64
          then '"language" must be a text of 1 to 64 bytes, or null'
      when coalesce(jsonb_typeof(d.v -> 'media_type'), '') <> 'string'
        or octet_length(d.v ->> 'media_type') not between 1 and 200
          then '"media_type" must be a text of 1 to 200 bytes'
      when coalesce(jsonb_typeof(d.v -> 'metadata'), 'null') not in ('object', 'null')
        then '"metadata" must be an object'
      when coalesce(jsonb_typeof(d.v -> 'external_id'), 'null') not in ('string', 'null')
        or octet_length(d.v ->> 'external_id') not between 1 and 500
        then '"external_id" must be a text of 1 to 500 bytes, or null'
      when jsonb_typeof(d.v -> 'size_bytes') is distinct from 'number'
        or d.v ->> 'size_bytes' !~ '^[0-9]{1,15}$'
        then '"size_bytes" must be a whole number of at most 15 digits'
      when coalesce(jsonb_typeof(d.v -> 'pages'), 'null') not in ('number', 'null')
        or d.v ->> 'pages' !~ '^[0-9]{1,9}$'
        then '"pages" must be a whole number of at most 9 digits, or null'
      when coalesce(jsonb_typeof(d.v -> 'etag'), 'null') not in ('string', 'null')
        or octet_length(d.v ->> 'etag') > 1000
          then '"etag" must be a text of at most 1000 bytes, or null'
      when jsonb_typeof(d.v -> 'chunking') is distinct from 'object'
        then '"chunking" must be an object that says how the text was cut'
      when jsonb_typeof(d.v -> 'chunks') is distinct from 'array' then '"chunks" must be an array'
      when coalesce(jsonb_typeof(d.v -> 'links'), 'null') not in ('array', 'null')
        then '"links" must be an array'
      else (
        select ragdb_internal.quote(k) || ' is no field of a document' from jsonb_object_keys(d.v) k
        where k not in ('doc_cid', 'uri', 'source_name', 'title', 'language', 'media_type',
          'metadata', 'external_id',
          'size_bytes', 'pages', 'etag', 'chunking', 'chunks', 'links') limit 1)
    end as problem
    from jsonb_array_elements(documents) with ordinality d (v, n)
  ) b where b.problem is not null order by b.n limit 1;
  if found then
    raise exception 'document %: %', v_bad.position, v_bad.problem
      using errcode = 'RG412', detail = 'documents count from 0; nothing was written',
            hint = 'ragdb.put_documents is described in docs/reference.md';
  end if;
  select b.n - 1 as position, b.ordinal - 1 as ordinal, b.problem into v_bad from (
    select d.n, c.n as ordinal, case
      when jsonb_typeof(c.v) <> 'object' then 'it must be an object'
      when coalesce(jsonb_typeof(c.v -> 'text'), '') <> 'string'
        or btrim(c.v ->> 'text', E' \t\n\r\f\v') = ''
        then '"text" must be a text with something in it'
      when jsonb_typeof(c.v -> 'start') is distinct from 'number'
        or c.v ->> 'start' !~ '^[0-9]{1,9}$'
        then '"start" must be a whole number of at most 9 digits'
      when jsonb_typeof(c.v -> 'end') is distinct from 'number' or c.v ->> 'end' !~ '^[0-9]{1,9}$'
        then '"end" must be a whole number of at most 9 digits'
      when (c.v ->> 'end')::integer - (c.v ->> 'start')::integer <> length(c.v ->> 'text')
        then '"end" minus "start" must be the length of "text", ' || length(c.v ->> 'text')
          || ' characters'
      when jsonb_typeof(c.v -> 'tokens') is distinct from 'number'
        or c.v ->> 'tokens' !~ '^[0-9]{1,9}$'
        then '"tokens" must be a whole number of at most 9 digits'
      when coalesce(jsonb_typeof(c.v -> 'page'), 'null') not in ('number', 'null')
        or c.v ->> 'page' !~ '^[1-9][0-9]{0,8}$'
        then '"page" must be a whole number from 1, or null'
      when coalesce(jsonb_typeof(c.v -> 'heading'), 'null') not in ('array', 'null')
        or jsonb_typeof(c.v -> 'heading') = 'array' and (
          jsonb_array_length(c.v -> 'heading') > 100
          or exists (select from jsonb_array_elements(c.v -> 'heading') h
            where jsonb_typeof(h) <> 'string'))
        then '"heading" must be an array of at most 100 texts'
      when (d.v -> 'chunking' ->> 'chunker' is not distinct from 'turns/1') <> (c.v ? 'id')
        or c.v ? 'id' and (jsonb_typeof(c.v -> 'id') <> 'string'
          or octet_length(c.v ->> 'id') not between 1 and 500)
        then '"id" must be a text of 1 to 500 bytes where the chunker is turns/1, and is not given '
             'elsewhere'
      else (
        select ragdb_internal.quote(k) || ' is no field of a chunk' from jsonb_object_keys(c.v) k
        where k not in ('id', 'text', 'start', 'end', 'tokens', 'page', 'heading') limit 1)
    end as problem
    from jsonb_array_elements(documents) with ordinality d (v, n),
      jsonb_array_elements(d.v -> 'chunks') with ordinality c (v, n)
  ) b where b.problem is not null order by b.n, b.ordinal limit 1;
  if found then
    raise exception 'chunk % of document %: %', v_bad.ordinal, v_bad.position, v_bad.problem
      using errcode = 'RG412', detail = 'chunks and documents count from 0; nothing was written',
            hint = 'offsets are characters, and text is exactly what lies between them';
  end if;
  select d.n - 1 as position, l.n - 1 as ordinal into v_bad
    from jsonb_array_elements(documents) with ordinality d (v, n),
      jsonb_array_elements(nullif(d.v -> 'links', 'null')) with ordinality l (v, n)
    where (jsonb_typeof(l.v -> 'target') = 'string' and jsonb_typeof(l.v -> 'chunk') = 'number'
      and l.v ->> 'chunk' ~ '^[0-9]{1,9}$'
      and (l.v ->> 'chunk')::integer < jsonb_array_length(d.v -> 'chunks')) is not true
    order by d.n, l.n limit 1;
  if found then
    raise exception 'link % of document %: it must have "target", a text, and "chunk", the '
                    'position of a chunk',
        v_bad.ordinal, v_bad.position
      using errcode = 'RG412',
        detail = 'links, chunks and documents count from 0; nothing was written',
            hint = 'give the chunk that holds the link, and its target without the fragment';
  end if;
  select d.v ->> 'uri' as uri, min(d.n) - 1 as one, max(d.n) - 1 as other into v_bad
    from jsonb_array_elements(documents) with ordinality d (v, n)
    group by d.v ->> 'uri' having count(*) > 1 order by 2 limit 1;
  if found then
    raise exception 'documents % and % have the same uri %', v_bad.one, v_bad.other,
      ragdb_internal.quote(v_bad.uri)
      using errcode = 'RG409', detail = 'one source has one document; nothing was written',
            hint = 'name a record of a file as file#record, and put each once';
  end if;
end $$;
comment on function ragdb_internal.check_documents(jsonb) is
  'Raises RG409, RG412 or RG413 with the position and the field when documents are not what '
  'ragdb.put_documents takes.';
