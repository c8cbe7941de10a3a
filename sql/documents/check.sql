-- Everything is looked at before anything is written: a constraint's own message would print the
-- row.

-- Refuses documents with a field that is missing, wrong or unknown. Raises RG412.
create or replace function ragdb_internal.check_document_fields(documents jsonb) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fields constant ragdb_internal.given_field[] :=
    array(select f from ragdb_internal.document_fields() f);
  v_bad record;
begin
  select d.n - 1 as position, p.problem into v_bad
  from jsonb_array_elements(documents) with ordinality d (v, n)
    cross join lateral ragdb_internal.field_problems(d.v, 'document', v_fields) p
  where p.problem is not null
  order by d.n limit 1;
  if found then
    raise exception 'document %: %', v_bad.position, v_bad.problem
      using errcode = 'RG412', detail = 'documents count from 0; nothing was written',
        hint = 'ragdb.put_documents is described in docs/reference.md';
  end if;
end $$;

-- Refuses documents that say that they are conversations: they would have no turns, and those of a
-- conversation at their source would go. Raises RG412.
create or replace function ragdb_internal.check_plain(documents jsonb) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_position bigint;
begin
  select d.n - 1 into v_position
  from jsonb_array_elements(documents) with ordinality d (v, n)
  where ragdb_internal.has_turns(d.v -> 'chunking')
  order by d.n limit 1;
  if found then
    raise exception 'document %: its chunker is turns/1, which is that of conversations', v_position
      using errcode = 'RG412', detail = 'documents count from 0; nothing was written',
        hint = 'ragdb.put_conversations() takes conversations; of a text, name how it was cut';
  end if;
end $$;

-- Refuses documents with a chunk that is incomplete or contradicts itself. Raises RG412.
create or replace function ragdb_internal.check_chunk_fields(documents jsonb, are_turns boolean)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fields constant ragdb_internal.given_field[] :=
    array(select f from ragdb_internal.chunk_fields() f);
  v_bad record;
begin
  select d.n - 1 as position, c.n - 1 as ordinal, k.problem,
    length(c.v ->> 'text') > (ragdb_internal.limits()).chunk_characters as is_long into v_bad
  from jsonb_array_elements(documents) with ordinality d (v, n)
    cross join lateral jsonb_array_elements(d.v -> 'chunks') with ordinality c (v, n)
    cross join lateral ragdb_internal.field_problems(c.v, 'chunk', v_fields) p
    cross join lateral (
      select coalesce(p.problem, ragdb_internal.chunk_contradiction(c.v, are_turns))) k (problem)
  where k.problem is not null
  order by d.n, c.n limit 1;
  if found then
    raise exception 'chunk % of document %: %', v_bad.ordinal, v_bad.position, v_bad.problem
      using errcode = 'RG412', detail = 'chunks and documents count from 0; nothing was written',
        hint = case when v_bad.is_long
          then 'a word is never cut: put spaces into a longer one'
          else 'offsets are characters, and text is exactly what lies between them' end;
  end if;
end $$;

-- Refuses documents with a link that has no target or no chunk. Raises RG412.
create or replace function ragdb_internal.check_links(documents jsonb) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad record;
begin
  select d.n - 1 as position, l.n - 1 as ordinal into v_bad
  from jsonb_array_elements(documents) with ordinality d (v, n)
    -- of a large document all chunks would be copied for each link
    cross join lateral (
      select jsonb_array_length(d.v -> 'chunks') as chunks, nullif(d.v -> 'links', 'null') as links
      offset 0) c
    cross join lateral jsonb_array_elements(c.links) with ordinality l (v, n)
  where (jsonb_typeof(l.v -> 'target') = 'string' and jsonb_typeof(l.v -> 'chunk') = 'number'
    and l.v ->> 'chunk' ~ '^[0-9]{1,9}$'
    and (l.v ->> 'chunk')::integer < c.chunks) is not true
  order by d.n, l.n limit 1;
  if found then
    raise exception
      'link % of document %: it must have "target", a text, and "chunk", the position of a chunk',
        v_bad.ordinal, v_bad.position
      using errcode = 'RG412',
        detail = 'links, chunks and documents count from 0; nothing was written',
        hint = 'give the chunk that holds the link, and its target without the fragment';
  end if;
end $$;

-- Refuses documents in what is not a language. Raises RG412.
create or replace function ragdb_internal.check_languages(documents jsonb) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad record;
begin
  select g.position, g.language into v_bad
  from (
    -- many documents have few languages
    select d.v ->> 'language' as language, min(d.n) - 1 as position
    from jsonb_array_elements(documents) with ordinality d (v, n)
    group by 1 offset 0) g
  where g.language is not null and ragdb_internal.language_code(g.language) is null
  order by g.position limit 1;
  if found then
    raise exception 'document %: "language" is %, which is not a language', v_bad.position,
        ragdb_internal.quote(v_bad.language)
      using errcode = 'RG412', detail = 'documents count from 0; nothing was written',
        hint = 'give its code, such as de, or leave it out';
  end if;
end $$;

-- Refuses two documents of one source. Raises RG409.
create or replace function ragdb_internal.check_uris(documents jsonb) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad record;
begin
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

-- Raises RG409, RG412 or RG413 with the position and the field when documents are not what
-- ragdb.put_documents takes, or not what conversations become.
create or replace function ragdb_internal.check_documents(documents jsonb, are_turns boolean)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if documents is null or jsonb_typeof(documents) <> 'array' then
    raise exception 'documents is not an array'
      using errcode = 'RG412', detail = 'put_documents takes a JSON array of documents',
        hint = 'one document goes in an array of one';
  end if;
  if jsonb_array_length(documents) > (ragdb_internal.limits()).call_documents then
    raise exception '% documents in one call', jsonb_array_length(documents)
      using errcode = 'RG413', detail = 'a call is one transaction',
        hint = format('put at most %s documents in a call',
          (ragdb_internal.limits()).call_documents);
  end if;
  perform ragdb_internal.check_document_fields(documents);
  perform ragdb_internal.check_languages(documents);
  if not are_turns then perform ragdb_internal.check_plain(documents); end if;
  perform ragdb_internal.check_chunk_fields(documents, are_turns);
  perform ragdb_internal.check_links(documents);
  perform ragdb_internal.check_uris(documents);
end $$;
