-- Documents: what is stored of a file, how its chunks are named, the graph between chunks, and
-- events.

do $$
begin
  if to_regtype('ragdb.put_result') is null then
    create type ragdb.put_result as ("position" integer, doc_cid text, chunks_indexed integer,
      tokens_indexed bigint,
      ingest_event_id uuid, was_duplicate boolean, ms float8);
  end if;
  if to_regtype('ragdb.document') is null then
    create type ragdb.document as (doc_cid text, source text, sources text[], title text,
      language text, media_type text,
      metadata jsonb, chunking jsonb, external_id text, source_name text, size_bytes bigint,
        pages integer, chunks integer,
      tokens bigint, event_id uuid, created_at timestamptz, updated_at timestamptz);
  end if;
  if to_regtype('ragdb.chunk') is null then
    create type ragdb.chunk as (chunk_id text, doc_cid text, ordinal integer, source text,
      title text, heading text[],
      page integer, start_offset integer, end_offset integer, tokens integer, text text,
        citation jsonb, content_hash text,
      metadata jsonb);
  end if;
  if to_regtype('ragdb.blob') is null then
    create type ragdb.blob as (cid text, media_type text, size bigint, bytes bytea);
  end if;
end $$;
comment on type ragdb.put_result is
  'What became of one document of ragdb.put_documents; ms is the time of the whole call.';
comment on type ragdb.document is
  'A document with its sources, the first of them in byte order as source.';
comment on type ragdb.chunk is
  'A chunk with what a citation needs; offsets are characters, content_hash is hex.';
comment on type ragdb.blob is 'The original bytes of a document.';

-- ── names and hashes ─────────────────────────────────────────────────────────────────────────────

-- They always give the same, but convert_to is marked stable, and nothing that calls it and says
-- immutable is inlined.

create or replace function ragdb._content_hash(text text) returns bytea
language sql stable parallel safe
return pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.btrim(
  pg_catalog.replace(pg_catalog.replace(_content_hash.text, E'\r\n', E'\n'), E'\r', E'\n'),
    E' \t\n\r\f\v'), 'UTF8'));
comment on function ragdb._content_hash(text) is
  'Returns the SHA-256 of a text''s canonical form: CRLF and CR as LF, outer white space (space '
  'and \t to \r) trimmed, UTF-8.';

-- A list whose parts cannot run into each other: ('ab', 'c') and ('a', 'bc') differ.
create or replace function ragdb._packed(part bytea) returns bytea
language sql immutable parallel safe
return pg_catalog.int4send(pg_catalog.octet_length(_packed.part)) || _packed.part;
comment on function ragdb._packed(bytea) is
  'Returns some bytes behind their number, four bytes, most significant first.';

create or replace function ragdb._packed(part text) returns bytea
language sql stable parallel safe
return ragdb._packed(pg_catalog.convert_to(_packed.part, 'UTF8'));
comment on function ragdb._packed(text) is
  'Returns a text in UTF-8 behind its length in bytes, four bytes, most significant first.';

create or replace function ragdb._slug(name text) returns text
language sql immutable parallel safe
return coalesce(nullif(pg_catalog.btrim(pg_catalog.right(pg_catalog.regexp_replace(
  pg_catalog.lower(_slug.name collate "C"), '[^a-z0-9]+', '-', 'g'), 64), '-'), ''), 'document');
comment on function ragdb._slug(text) is
  'Returns the readable part of a chunk id: lower-case ASCII letters and digits, - for the rest, '
  'the last 64 characters.';

create or replace function ragdb._chunk_id(corpus text, source_name text, source text,
  content_hash bytea, n bigint)
returns text
language sql stable parallel safe
return ragdb._slug(pg_catalog.concat_ws('/', nullif(_chunk_id.source_name, ''), _chunk_id.source))
  || ':'
  || pg_catalog.left(
    pg_catalog.encode(pg_catalog.sha256(ragdb._packed('ragdb-chunk-1')
      || ragdb._packed(_chunk_id.corpus)
    || ragdb._packed(_chunk_id.source_name) || ragdb._packed(_chunk_id.source)
    || ragdb._packed(pg_catalog.encode(_chunk_id.content_hash, 'hex'))
      || ragdb._packed(_chunk_id.n::text)), 'hex'), 24);
comment on function ragdb._chunk_id(text, text, text, bytea, bigint) is
  'Returns the id of a chunk from its corpus, source and content; n is how many chunks before it '
  'in its document have that content.';

create or replace function ragdb._language(text_config text) returns text
language sql immutable parallel safe
return case _language.text_config
  when 'arabic' then 'ar' when 'armenian' then 'hy' when 'basque' then 'eu' when 'catalan' then 'ca'
  when 'danish' then 'da' when 'dutch' then 'nl' when 'english' then 'en' when 'estonian' then 'et'
  when 'finnish' then 'fi' when 'french' then 'fr' when 'german' then 'de' when 'greek' then 'el'
  when 'hindi' then 'hi' when 'hungarian' then 'hu' when 'indonesian' then 'id'
    when 'irish' then 'ga'
  when 'italian' then 'it' when 'lithuanian' then 'lt' when 'nepali' then 'ne'
    when 'norwegian' then 'no'
  when 'portuguese' then 'pt' when 'romanian' then 'ro' when 'russian' then 'ru'
    when 'serbian' then 'sr'
  when 'spanish' then 'es' when 'swedish' then 'sv' when 'tamil' then 'ta' when 'turkish' then 'tr'
  when 'yiddish' then 'yi' end;
comment on function ragdb._language(text) is
  'Returns the language code that a text configuration is for; null for simple.';

-- ── writing ──────────────────────────────────────────────────────────────────────────────────────

-- Everything is looked at before anything is written: a constraint's own message would print the
-- row.
create or replace function ragdb._check_documents(documents jsonb) returns void
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
        select ragdb._quote(k) || ' is no field of a document' from jsonb_object_keys(d.v) k
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
        select ragdb._quote(k) || ' is no field of a chunk' from jsonb_object_keys(c.v) k
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
      ragdb._quote(v_bad.uri)
      using errcode = 'RG409', detail = 'one source has one document; nothing was written',
            hint = 'name a record of a file as file#record, and put each once';
  end if;
end $$;
comment on function ragdb._check_documents(jsonb) is
  'Raises RG409, RG412 or RG413 with the position and the field when documents are not what '
  'ragdb.put_documents takes.';

create or replace function ragdb._document_languages(corpus_id integer, doc_nos integer[])
  returns jsonb
language sql stable parallel safe
return (
  select coalesce(pg_catalog.jsonb_object_agg(l.language, l.documents), '{}')
  from (
    select d.language, count(*) as documents
    from pg_catalog.unnest(_document_languages.doc_nos) x (doc_no)
      cross join lateral (select o.language from ragdb.documents o
        where o.corpus_id = _document_languages.corpus_id and o.doc_no = x.doc_no offset 0) d
    where d.language is not null
    group by d.language) l);
comment on function ragdb._document_languages(integer, integer[]) is
  'Counts some documents of a corpus by language, those of none left out.';

create or replace function ragdb._recounted(counts jsonb, gone jsonb, come jsonb) returns jsonb
language sql immutable parallel safe
return (
  select coalesce(pg_catalog.jsonb_object_agg(n.key, n.count), '{}')
  from (
    select c.key, sum(c.count) as count
    from (
      select l.key, l.value::integer as count from pg_catalog.jsonb_each_text(_recounted.counts) l
      union all
      select l.key, -l.value::integer from pg_catalog.jsonb_each_text(_recounted.gone) l
      union all
      select l.key, l.value::integer from pg_catalog.jsonb_each_text(_recounted.come) l) c
    group by c.key
    having sum(c.count) <> 0) n);
comment on function ragdb._recounted(jsonb, jsonb, jsonb) is
  'Returns counts by key without what is gone and with what has come.';

create or replace function ragdb._drop_unused_blobs(cids text[]) returns void
language sql
begin atomic
  delete from ragdb.blobs b where b.cid = any (_drop_unused_blobs.cids)
    and not exists (select from ragdb.corpora c join ragdb.documents d on d.corpus_id = c.corpus_id
      where d.doc_cid = b.cid);
end;
comment on function ragdb._drop_unused_blobs(text[]) is
  'Removes those of the given blobs that no document has.';

-- Nothing is known of how many rows a call's arrays hold, and one wrong guess is a nested loop over
-- all pairs.
create or replace function ragdb._document_edges(
  chunk_nos integer[], doc_nos integer[], ordinals integer[], headings jsonb[],
    except_doc_nos integer[]
) returns table (parent_no integer, child_no integer, edge_type text)
language sql stable parallel safe
set enable_nestloop = off
set enable_mergejoin = off
begin atomic
  with chunk as materialized (
    select k.*, lead(k.chunk_no) over (partition by k.doc_no order by k.ordinal) as next_no,
      first_value(k.chunk_no) over (partition by k.doc_no, k.heading order by k.ordinal) as head_no
    from unnest(chunk_nos, doc_nos, ordinals, headings) k (chunk_no, doc_no, ordinal, heading)
    where k.doc_no <> all (except_doc_nos)
  ), head as materialized (
    select c.chunk_no, c.doc_no, array(select jsonb_array_elements_text(c.heading)) as heading
    from chunk c where c.head_no = c.chunk_no and c.heading <> '[]'
  ), above as materialized (
    -- apart, or the join below is one of all sections of a document with each other
    select h.chunk_no, h.doc_no, n, h.heading[1:n] as heading
    from head h, generate_series(1, cardinality(h.heading) - 1) n
  )
  select c.chunk_no, c.next_no, 'default' from chunk c where c.next_no is not null
  union all
  select c.head_no, c.chunk_no, 'branch' from chunk c where c.head_no <> c.chunk_no
    and c.heading <> '[]'
  union all
  (select distinct on (o.chunk_no) a.chunk_no, o.chunk_no, 'branch'
  from above o join head a on a.doc_no = o.doc_no and a.heading = o.heading
  order by o.chunk_no, o.n desc);
end;
comment on function ragdb._document_edges(integer[], integer[], integer[], jsonb[], integer[]) is
  'Returns the edges between chunks of documents: next chunk (default), chunk of a section and '
  'section below (branch).';

-- Edges and links of documents are worked out anew and compared: an edge that stays is not touched.
-- What is written is gathered first: the checks of foreign keys follow a statement under its
-- plan_cache_mode, and to plan each of them anew takes longer than all the rest of a row.
create or replace function ragdb._link_chunks(
  corpus_id integer, chunk_nos integer[], doc_nos integer[], ordinals integer[], headings jsonb[],
  link_doc_nos integer[], link_ordinals integer[], link_targets text[], kept integer[], uris text[]
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_id integer := _link_chunks.corpus_id;
  v_turns integer[];
  v_parents integer[];
  v_children integer[];
  v_types text[];
  v_linking integer[];
  v_targets text[];
begin
  -- the edges of turns are what was said to what: ragdb.put_conversations writes them
  v_turns := array(select d.doc_no from (select distinct k from unnest(doc_nos) k) k
    join ragdb.documents d on d.corpus_id = v_id and d.doc_no = k.k
      where d.chunking ->> 'chunker' = 'turns/1');
  select array_agg(e.parent_no), array_agg(e.child_no), array_agg(e.edge_type) into v_parents,
    v_children, v_types
    from ragdb._document_edges(chunk_nos, doc_nos, ordinals, headings, v_turns) e;
  select array_agg(k.chunk_no), array_agg(l.target) into v_linking, v_targets
    from unnest(link_doc_nos, link_ordinals, link_targets) l (doc_no, ordinal, target)
      join unnest(chunk_nos, doc_nos, ordinals) k (chunk_no, doc_no, ordinal)
        on k.doc_no = l.doc_no and k.ordinal = l.ordinal;
  if cardinality(kept) > 0 then
    delete from ragdb.edges e using unnest(kept) k (chunk_no)
      where e.corpus_id = v_id and e.parent_no = k.chunk_no and e.edge_type in ('default', 'branch')
        and not exists (select from ragdb.turns t where t.corpus_id = v_id
          and t.chunk_no = e.parent_no)
        and not exists (select from unnest(v_parents, v_children, v_types) d (parent_no, child_no,
          edge_type)
          where (d.parent_no, d.child_no, d.edge_type) = (e.parent_no, e.child_no, e.edge_type));
    delete from ragdb.document_links l using unnest(kept) k (chunk_no)
      where l.corpus_id = v_id and l.chunk_no = k.chunk_no
        and not exists (select from unnest(v_linking, v_targets) d (chunk_no, target)
          where d.chunk_no = l.chunk_no and d.target = l.target);
  end if;
  set local plan_cache_mode = auto;
  insert into ragdb.edges (corpus_id, parent_no, child_no, edge_type)
    select v_id, d.parent_no, d.child_no, d.edge_type
    from unnest(v_parents, v_children, v_types) d (parent_no, child_no, edge_type)
    order by d.parent_no, d.child_no
    on conflict on constraint edges_are_unique do nothing;
  insert into ragdb.document_links (corpus_id, chunk_no, target)
    select v_id, d.chunk_no, d.target from unnest(v_linking, v_targets) d (chunk_no, target)
    order by d.chunk_no, d.target
    on conflict on constraint document_links_are_unique do nothing;
  set local plan_cache_mode = force_custom_plan;

  v_linking := array(
    select k from unnest(kept || v_linking) k
    union
    select l.chunk_no from unnest(uris) u (uri) join ragdb.document_links l on l.corpus_id = v_id
      and l.target = u.uri);
  if cardinality(v_linking) = 0 then
    return;
  end if;
  select array_agg(d.parent_no), array_agg(d.child_no) into v_parents, v_children
  from (
    select distinct l.chunk_no as parent_no, c.chunk_no as child_no
    from unnest(v_linking) a (chunk_no)
      join ragdb.document_links l on l.corpus_id = v_id and l.chunk_no = a.chunk_no
      join ragdb.document_sources s on s.corpus_id = v_id and s.uri = l.target
      join ragdb.chunks c on c.corpus_id = v_id and c.doc_no = s.doc_no and c.ordinal = 0
    where l.chunk_no <> c.chunk_no) d;
  delete from ragdb.edges e using unnest(v_linking) a (chunk_no)
    where e.corpus_id = v_id and e.parent_no = a.chunk_no and e.edge_type = 'reference'
      and not exists (select from ragdb.turns t where t.corpus_id = v_id
        and t.chunk_no = e.parent_no)
      and not exists (select from unnest(v_parents, v_children) d (parent_no, child_no)
        where d.parent_no = e.parent_no and d.child_no = e.child_no);
  set local plan_cache_mode = auto;
  insert into ragdb.edges (corpus_id, parent_no, child_no, edge_type)
    select v_id, d.parent_no, d.child_no,
      'reference' from unnest(v_parents, v_children) d (parent_no, child_no)
    order by d.parent_no, d.child_no
    on conflict on constraint edges_are_unique do nothing;
end $$;
comment on function ragdb._link_chunks(integer, integer[], integer[], integer[], jsonb[], integer[],
  integer[], text[], integer[], text[]) is
  'Makes the edges and links of the given chunks what they shall be, and resolves links to the '
  'given uris again.';

-- Called last: the clock's row is held to the end of the transaction, and everybody who writes
-- waits for it.
create or replace function ragdb._write_events(corpus ragdb.corpora, doc_nos integer[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_now constant timestamptz := ragdb._now();
  v_caller constant text := ragdb._caller();
  v_tick bigint;
  v_at timestamptz;
  v_event uuid;
begin
  if cardinality(doc_nos) = 0 then
    return;
  end if;
  insert into ragdb.event_clock as t (id, lamport, at)
    values (true, 0, v_now)
    on conflict on constraint event_clock_has_one_row do update
      set at = greatest(ragdb._now(), t.at)
    returning t.lamport, t.at into v_tick, v_at;
  with written as (
    insert into ragdb.events (lamport, event_id, kind, created_at, author, corpus_id, corpus,
      doc_cid, title, language, chunks)
    select v_tick + h.nth, ragdb._uuid7(v_at + h.nth * interval '1 microsecond'),
      'rag.document.ingested', v_now,
      v_caller, corpus.corpus_id, corpus.name, d.doc_cid, d.title, d.language, d.chunks
    from unnest(doc_nos) with ordinality h (doc_no, nth)
      join ragdb.documents d on d.corpus_id = corpus.corpus_id and d.doc_no = h.doc_no
    order by h.nth
    returning lamport, event_id, doc_cid
  ), ticked as (
    update ragdb.event_clock t
      set lamport = v_tick + cardinality(doc_nos),
        at = v_at + cardinality(doc_nos) * interval '1 microsecond'
  ), noted as (
    update ragdb.documents d set event_id = w.event_id
    from written w where d.corpus_id = corpus.corpus_id and d.doc_cid = w.doc_cid
  )
  select w.event_id into v_event from written w order by w.lamport desc limit 1;
  perform pg_notify('ragdb_events', json_build_object('id', v_event, 'corpus', corpus.name)::text);
end $$;
comment on function ragdb._write_events(ragdb.corpora, integer[]) is
  'Writes an event for each of some documents, in their order, and tells who listens; the caller '
  'holds the corpus lock.';

-- The one function that writes documents. It works out which documents a call touches, what they
-- and their chunks shall be, and changes only what differs: a row that stays keeps its number, its
-- vector and its edges.
--
-- The first source of a document, in byte order, decides its title, language, metadata and chunking
-- and names its chunks, so that the order in which files arrive decides nothing.
create or replace function ragdb._write_documents(
  corpus ragdb.corpora, documents jsonb, force boolean, gone_uris text[]
) returns table ("position" integer, doc_cid text, chunks_indexed integer, tokens_indexed bigint,
  ingest_event_id uuid, was_duplicate boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_id integer := corpus.corpus_id;
  v_now timestamptz := ragdb._now();
  v_language text := ragdb._language(corpus.text_config);
  -- documents touched: number, cid, title before, position of the input that decides, and what
  -- becomes of it
  d_no integer[];
  d_cid text[];
  d_old_title text[];
  d_position integer[];
  d_uri text[];
  d_source_name text[];
  d_state text[];
  -- document of each position of the input
  i_doc integer[];
  v_new_docs integer;
  v_documents integer;
  v_tokens bigint;
  v_bytes bigint;
  v_languages jsonb;
  v_moved text[];
  -- chunks that there shall be, in the order of their documents
  k_no integer[];
  k_doc integer[];
  k_ordinal integer[];
  k_id text[];
  k_source text[];
  k_heading jsonb[];
  k_page integer[];
  k_start integer[];
  k_end integer[];
  k_tokens integer[];
  k_hash bytea[];
  k_n bigint[];
  k_text text[];
  v_kept integer[];
  v_gone integer[] := '{}';
  v_reindexed integer[] := '{}';
  -- hyperlinks that there shall be
  l_doc integer[];
  l_ordinal integer[];
  l_target text[];
  v_duplicate text;
begin
  with input as materialized (
    select (d.n - 1)::integer as position, d.v ->> 'doc_cid' as doc_cid, d.v ->> 'uri' as uri,
      coalesce(d.v ->> 'source_name', '') as source_name, d.v ->> 'title' as title,
      coalesce(d.v ->> 'language', v_language) as language, d.v ->> 'media_type' as media_type,
      coalesce(nullif(d.v -> 'metadata', 'null'), '{}') as metadata, d.v -> 'chunking' as chunking,
      d.v ->> 'external_id' as external_id
    from jsonb_array_elements(documents) with ordinality d (v, n)
  ), left_uris as materialized (
    select i.uri from input i union select unnest(gone_uris)
  ), touched as (
    select s.doc_no from left_uris u join ragdb.document_sources s on s.corpus_id = v_id
      and s.uri = u.uri
    union
    select d.doc_no from input i join ragdb.documents d on d.corpus_id = v_id
      and d.doc_cid = i.doc_cid
  ), old as materialized (
    select d.* from touched t
      cross join lateral (select o.* from ragdb.documents o where o.corpus_id = v_id
        and o.doc_no = t.doc_no offset 0) d
  ), sources as (
    select o.doc_cid, s.uri, s.source_name, null as position
    from old o join ragdb.document_sources s on s.corpus_id = v_id and s.doc_no = o.doc_no
      left join left_uris u on u.uri = s.uri
    where u.uri is null
    union all
    select i.doc_cid, i.uri, i.source_name, i.position from input i
  ), firsts as (
    select distinct on (s.doc_cid) s.doc_cid, s.uri, s.source_name, s.position
    from sources s order by s.doc_cid, s.uri collate "C"
  ), decided as (
    select coalesce(o.doc_no, corpus.next_doc_no - 1
          + (row_number() over (partition by o.doc_no is null order by f.position))::integer)
            as doc_no,
      coalesce(o.doc_cid, f.doc_cid) as doc_cid, o.title, f.position, f.uri, f.source_name,
      case
        when f.doc_cid is null then 'gone'
        when o.doc_no is null then 'new'
        when f.position is not null and (force
          or (o.title, o.language, o.media_type, o.metadata, o.chunking, o.external_id)
            is distinct from (i.title, i.language, i.media_type, i.metadata, i.chunking,
              i.external_id)) then 'written'
        when (o.source, o.source_name) is distinct from (f.uri, f.source_name) then 'renamed'
        else 'same'
      end as state
    from old o full join firsts f on f.doc_cid = o.doc_cid
      left join input i on i.position = f.position
  )
  select array_agg(x.doc_no order by x.doc_no), array_agg(x.doc_cid order by x.doc_no),
    array_agg(x.title order by x.doc_no), array_agg(x.position order by x.doc_no),
    array_agg(x.uri order by x.doc_no), array_agg(x.source_name order by x.doc_no),
    array_agg(x.state order by x.doc_no), count(*) filter (where x.state = 'new')
  into d_no, d_cid, d_old_title, d_position, d_uri, d_source_name, d_state, v_new_docs
  from decided x;

  select coalesce(-count(*), 0), coalesce(-sum(d.tokens), 0), coalesce(-sum(d.size_bytes), 0)
    into v_documents, v_tokens, v_bytes
    from unnest(d_no) x (doc_no) join ragdb.documents d on d.corpus_id = v_id
      and d.doc_no = x.doc_no;
  v_languages := ragdb._document_languages(v_id, d_no);

  i_doc := array(
    select x.doc_no
    from jsonb_array_elements(documents) with ordinality i (v, n)
      join unnest(d_no, d_cid) x (doc_no, doc_cid) on x.doc_cid = i.v ->> 'doc_cid'
    order by i.n);

  -- Documents and their sources. The check of a foreign key is planned under the plan_cache_mode of
  -- its statement, and to plan one for each row takes longer than to write it: what is written so
  -- has one plan only.
  set local plan_cache_mode = auto;
  insert into ragdb.documents (corpus_id, doc_no, doc_cid, title, language, media_type, metadata,
    chunking, external_id,
      source_name, source, size_bytes, pages, chunks, tokens, event_id, created_at, updated_at)
    select v_id, x.doc_no, x.doc_cid, i.v ->> 'title', coalesce(i.v ->> 'language', v_language),
      i.v ->> 'media_type',
      coalesce(nullif(i.v -> 'metadata', 'null'), '{}'), i.v -> 'chunking', i.v ->> 'external_id',
        x.source_name, x.uri,
      (i.v ->> 'size_bytes')::bigint, (i.v ->> 'pages')::integer,
        jsonb_array_length(i.v -> 'chunks'),
      (select coalesce(sum((c ->> 'tokens')::bigint), 0)
        from jsonb_array_elements(i.v -> 'chunks') c),
      -- until its event has an id, below
      '00000000-0000-0000-0000-000000000000', v_now, v_now
    from unnest(d_no, d_cid, d_position, d_uri, d_source_name, d_state) x (doc_no, doc_cid,
      position, uri, source_name, state)
      cross join lateral (select documents -> x.position as v offset 0) i
    where x.state in ('new', 'written')
    order by x.doc_no
    on conflict on constraint documents_number_is_unique_per_corpus do update
      set (title, language, media_type, metadata, chunking, external_id, source_name, source,
        size_bytes, pages, chunks,
          tokens, updated_at)
        = (excluded.title, excluded.language, excluded.media_type, excluded.metadata,
          excluded.chunking,
          excluded.external_id, excluded.source_name, excluded.source, excluded.size_bytes,
            excluded.pages, excluded.chunks,
          excluded.tokens, excluded.updated_at);
  set local plan_cache_mode = force_custom_plan;
  update ragdb.documents d set source = x.uri, source_name = x.source_name, updated_at = v_now
    from unnest(d_no, d_uri, d_source_name, d_state) x (doc_no, uri, source_name, state)
    where d.corpus_id = v_id and d.doc_no = x.doc_no and x.state = 'renamed';
  delete from ragdb.document_sources s using unnest(gone_uris) u (uri) where s.corpus_id = v_id
    and s.uri = u.uri;
  set local plan_cache_mode = auto;
  with put as (
    insert into ragdb.document_sources as s (corpus_id, uri, doc_no, source_name, etag, seen_at)
      select v_id, i.v ->> 'uri', x.doc_no, coalesce(i.v ->> 'source_name', ''), i.v ->> 'etag',
        v_now
      from unnest(i_doc) with ordinality x (doc_no, n)
        cross join lateral (select documents -> x.n::integer - 1 as v offset 0) i
      order by 2
      on conflict on constraint document_sources_uri_is_unique_per_corpus do update
        set doc_no = excluded.doc_no, source_name = excluded.source_name, etag = excluded.etag,
          seen_at = case s.doc_no when excluded.doc_no then s.seen_at else excluded.seen_at end
        where (s.doc_no, s.source_name, s.etag) is distinct from (excluded.doc_no,
          excluded.source_name, excluded.etag)
      returning uri
  )
  select gone_uris || coalesce(array_agg(p.uri), '{}') into v_moved from put p;
  set local plan_cache_mode = force_custom_plan;

  -- the chunks that there shall be: those given for a document that is written, its own for one
  -- that is renamed
  with desired as (
    select x.doc_no, (c.n - 1)::integer as ordinal,
      coalesce(nullif(c.v -> 'heading', 'null'), '[]') as heading,
      (c.v ->> 'page')::integer as page, (c.v ->> 'start')::integer as start_offset,
        (c.v ->> 'end')::integer as end_offset,
      (c.v ->> 'tokens')::integer as token_count,
        ragdb._content_hash(c.v ->> 'text') as content_hash, c.v ->> 'text' as text,
      c.v ->> 'id' as given_id
    from unnest(d_no, d_position, d_state) x (doc_no, position, state)
      join jsonb_array_elements(documents) with ordinality i (v, n) on i.n = x.position + 1,
      jsonb_array_elements(i.v -> 'chunks') with ordinality c (v, n)
    where x.state in ('new', 'written')
    union all
    select c.doc_no, c.ordinal, to_jsonb(c.heading), c.page, c.start_offset, c.end_offset,
      c.token_count, c.content_hash, c.text,
      case when d.chunking ->> 'chunker' = 'turns/1' then c.chunk_id end
    from unnest(d_no, d_state) x (doc_no, state)
      cross join lateral (select o.* from ragdb.documents o where o.corpus_id = v_id
        and o.doc_no = x.doc_no offset 0) d
      cross join lateral (select h.* from ragdb.chunks h where h.corpus_id = v_id
        and h.doc_no = x.doc_no offset 0) c
    where x.state = 'renamed'
  ), counted as (
    select x.*, row_number() over (partition by x.doc_no, x.content_hash order by x.ordinal) - 1
      as n from desired x
  ), named as (
    select x.*, d.source, case
        when x.given_id is not null then x.given_id
        when d.external_id is null then ragdb._chunk_id(corpus.name, d.source_name, d.source,
          x.content_hash, x.n)
        when d.chunks = 1 then d.external_id
        else d.external_id || '#' || x.ordinal + 1
      end as chunk_id
    from counted x
      cross join lateral (select o.* from ragdb.documents o where o.corpus_id = v_id
        and o.doc_no = x.doc_no offset 0) d
    order by x.doc_no, x.ordinal
  )
  select array_agg(x.doc_no), array_agg(x.ordinal), array_agg(x.chunk_id), array_agg(x.source),
    array_agg(x.heading),
    array_agg(x.page), array_agg(x.start_offset), array_agg(x.end_offset), array_agg(x.token_count),
    array_agg(x.content_hash), array_agg(x.n), array_agg(x.text)
  into k_doc, k_ordinal, k_id, k_source, k_heading, k_page, k_start, k_end, k_tokens, k_hash, k_n,
    k_text
  from named x;
  select array_agg(x.doc_no), array_agg(x.ordinal), array_agg(x.target) into l_doc, l_ordinal,
    l_target
  from (
    select x.doc_no, (l.v ->> 'chunk')::integer as ordinal, l.v ->> 'target' as target
    from unnest(d_no, d_position, d_state) x (doc_no, position, state)
      join jsonb_array_elements(documents) with ordinality i (v, n) on i.n = x.position + 1,
      jsonb_array_elements(nullif(i.v -> 'links', 'null')) l (v)
    -- a target that no uri can equal needs no row
    where x.state in ('new', 'written') and octet_length(l.v ->> 'target') <= 2000
    union
    select c.doc_no, c.ordinal, l.target
    from unnest(d_no, d_state) x (doc_no, state)
      join ragdb.chunks c on c.corpus_id = v_id and c.doc_no = x.doc_no
      join ragdb.document_links l on l.corpus_id = v_id and l.chunk_no = c.chunk_no
    where x.state = 'renamed'
  ) x;

  select min(k.chunk_id) into v_duplicate
  from (select k.chunk_id from unnest(k_id) k (chunk_id) group by 1 having count(*) > 1) k;
  if v_duplicate is null then
    -- lateral and limit: an index look-up for each, whatever the planner believes to find
    select min(k.chunk_id) into v_duplicate
    from unnest(k_id) k (chunk_id)
      cross join lateral (select c.doc_no from ragdb.chunks c
        where c.corpus_id = v_id and c.chunk_id = k.chunk_id limit 1) c
    where c.doc_no not in (select x.doc_no from unnest(d_no, d_state) x (doc_no, state)
      where x.state <> 'same');
  end if;
  if v_duplicate is not null then
    raise exception 'two documents want the chunk id %', ragdb._quote(v_duplicate)
      using errcode = 'RG409',
        detail = 'an external id names one document of a corpus; nothing was written',
            hint = 'give every document an external_id of its own, or none; or delete the document '
                   'that has it';
  end if;

  -- which rows stay: first those with the same id, then those with the same content in a document
  -- that is renamed
  with existing as materialized (
    select c.chunk_no, c.doc_no, c.chunk_id, c.content_hash,
      row_number() over (partition by c.doc_no, c.content_hash order by c.ordinal) - 1 as n
    from unnest(d_no, d_state) x (doc_no, state)
      join ragdb.chunks c on c.corpus_id = v_id and c.doc_no = x.doc_no
    where x.state in ('written', 'renamed', 'gone')
  ), desired as materialized (
    select * from unnest(k_doc, k_id, k_hash, k_n)
      with ordinality k (doc_no, chunk_id, content_hash, n, i)
  ), same_id as materialized (
    select d.i, e.chunk_no from desired d join existing e on e.chunk_id = d.chunk_id
  ), same_content as materialized (
    select d.i, e.chunk_no
    from desired d join existing e on (e.doc_no, e.content_hash, e.n) = (d.doc_no, d.content_hash,
      d.n)
    where d.i not in (select s.i from same_id s)
      and e.chunk_no not in (select s.chunk_no from same_id s)
  ), stays as (
    select * from same_id union all select * from same_content
  )
  select array_agg(s.chunk_no order by d.i),
    array_agg(s.chunk_no) filter (where s.chunk_no is not null),
    (select coalesce(array_agg(e.chunk_no), '{}') from existing e
      where e.chunk_no not in (select chunk_no from stays))
  into k_no, v_kept, v_gone
  from desired d left join stays s on s.i = d.i;

  -- of those that stay, the ones that are searched by something else than before
  if v_kept is not null then
    select coalesce(array_agg(c.chunk_no), '{}') into v_reindexed
    from unnest(k_no, k_doc, k_heading, k_text) k (chunk_no, doc_no, heading, text)
      join ragdb.chunks c on c.corpus_id = v_id and c.chunk_no = k.chunk_no
      join ragdb.documents d on d.corpus_id = v_id and d.doc_no = k.doc_no
      join unnest(d_no, d_old_title) o (doc_no, title) on o.doc_no = c.doc_no
    where force or d.title is distinct from o.title or to_jsonb(c.heading) <> k.heading
      or c.text <> k.text;
  end if;
  if cardinality(v_gone || v_reindexed) > 0 then
    perform ragdb._unindex_chunks(v_id, v_gone || v_reindexed);
  end if;
  delete from ragdb.chunks c using unnest(v_gone) g (chunk_no) where c.corpus_id = v_id
    and c.chunk_no = g.chunk_no;
  if v_kept is not null then
    update ragdb.chunks c
    set doc_no = k.doc_no, ordinal = k.ordinal, chunk_id = k.chunk_id, source = k.source,
      page = k.page,
      heading = array(select jsonb_array_elements_text(k.heading)), start_offset = k.start_offset,
      end_offset = k.end_offset, token_count = k.token_count, content_hash = k.content_hash,
        text = k.text
    from unnest(k_no, k_doc, k_ordinal, k_id, k_source, k_heading, k_page, k_start, k_end, k_tokens,
      k_hash, k_text)
      k (chunk_no, doc_no, ordinal, chunk_id, source, heading, page, start_offset, end_offset,
        token_count, content_hash, text)
    where c.corpus_id = v_id and c.chunk_no = k.chunk_no
      and (c.doc_no, c.ordinal, c.chunk_id, c.source, to_jsonb(c.heading), c.page, c.start_offset,
        c.end_offset, c.token_count,
          c.content_hash, c.text)
        is distinct from (k.doc_no, k.ordinal, k.chunk_id, k.source, k.heading, k.page,
          k.start_offset, k.end_offset,
          k.token_count, k.content_hash, k.text);
  end if;
  -- numbers for the new ones
  select array_agg(coalesce(k.chunk_no, corpus.next_chunk_no - 1 + k.nth) order by k.i) into k_no
  from (select k.*, (row_number() over (partition by k.chunk_no is null order by k.i))::integer
    as nth
        from unnest(k_no) with ordinality k (chunk_no, i)) k;
  set local plan_cache_mode = auto;
  insert into ragdb.chunks (corpus_id, chunk_no, doc_no, ordinal, chunk_id, source, heading, page,
    start_offset, end_offset,
      token_count, content_hash, text)
    select v_id, k.chunk_no, k.doc_no, k.ordinal, k.chunk_id, k.source,
      array(select jsonb_array_elements_text(k.heading)), k.page,
      k.start_offset, k.end_offset, k.token_count, k.content_hash, k.text
    from unnest(k_no, k_doc, k_ordinal, k_id, k_source, k_heading, k_page, k_start, k_end, k_tokens,
      k_hash, k_text)
      k (chunk_no, doc_no, ordinal, chunk_id, source, heading, page, start_offset, end_offset,
        token_count, content_hash, text)
    where k.chunk_no >= corpus.next_chunk_no
    order by k.chunk_no;
  set local plan_cache_mode = force_custom_plan;
  delete from ragdb.documents d using unnest(d_no, d_state) x (doc_no, state)
    where d.corpus_id = v_id and d.doc_no = x.doc_no and x.state = 'gone';

  perform ragdb._link_chunks(v_id, k_no, k_doc, k_ordinal, k_heading, l_doc, l_ordinal, l_target,
    coalesce(v_kept, '{}'), v_moved
    || coalesce((select array_agg(s.uri) from unnest(d_no, d_state) x (doc_no, state)
        join ragdb.document_sources s on s.corpus_id = v_id and s.doc_no = x.doc_no
          where x.state <> 'same'), '{}'));

  select v_documents + count(*), v_tokens + coalesce(sum(d.tokens), 0),
    v_bytes + coalesce(sum(d.size_bytes), 0)
    into v_documents, v_tokens, v_bytes
    from unnest(d_no) x (doc_no) join ragdb.documents d on d.corpus_id = v_id
      and d.doc_no = x.doc_no;
  update ragdb.corpora c
    set documents = c.documents + v_documents, token_count = c.token_count + v_tokens,
      size_bytes = c.size_bytes + v_bytes,
      languages = ragdb._recounted(c.languages, v_languages, ragdb._document_languages(v_id, d_no)),
      next_doc_no = c.next_doc_no + v_new_docs,
      next_chunk_no = greatest(c.next_chunk_no,
        coalesce((select max(k) from unnest(k_no) k), 0) + 1)
    where c.corpus_id = v_id;
  v_reindexed := v_reindexed || array(select k from unnest(k_no) k where k >= corpus.next_chunk_no);
  if cardinality(v_reindexed) > 0 then
    perform ragdb._index_chunks(v_id, v_reindexed);
  end if;
  perform ragdb._drop_unused_blobs((select array_agg(x.doc_cid)
    from unnest(d_cid, d_state) x (doc_cid, state) where x.state = 'gone'));

  -- those of an import come with its end
  if corpus.import_xid is distinct from pg_current_xact_id() then
    perform ragdb._write_events(corpus, array(
      select x.doc_no from unnest(d_no, d_position, d_state) x (doc_no, position, state)
      where x.state in ('new', 'written') or x.state = 'renamed' and x.position is not null
      order by x.position));
  end if;

  return query
    select (i.n - 1)::integer, d.doc_cid, d.chunks, d.tokens, d.event_id,
      x.state = 'same' or x.position is distinct from i.n - 1
    from jsonb_array_elements(documents) with ordinality i (v, n)
      join ragdb.documents d on d.corpus_id = v_id and d.doc_cid = i.v ->> 'doc_cid'
      join unnest(d_no, d_position, d_state) x (doc_no, position, state) on x.doc_no = d.doc_no
    order by i.n;
end $$;
comment on function ragdb._write_documents(ragdb.corpora, jsonb, boolean, text[]) is
  'Puts checked documents and takes sources away, changing only what differs; the caller holds the '
  'corpus lock. Raises RG409.';

-- A definer, as all that follow, because nobody but the owner touches the tables.
create or replace function ragdb.put_documents(corpus text, documents jsonb,
  force boolean default false)
returns setof ragdb.put_result
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_began timestamptz := clock_timestamp();
  v_corpus ragdb.corpora := ragdb._open_corpus(put_documents.corpus, 'write');
  v_language text := ragdb._language(v_corpus.text_config);
begin
  perform ragdb._check_documents(documents);
  if force is null then
    raise exception 'force is null'
      using errcode = 'RG400',
        detail = 'it says whether documents that are there already are written again',
        hint = 'the default is false';
  end if;
  -- where all of it is there already, nothing is written: not even the corpus row is locked
  if not force then
    return query
      select (i.n - 1)::integer, d.doc_cid, d.chunks, d.tokens, d.event_id, true,
        extract(epoch from clock_timestamp() - v_began)::float8 * 1000
      from jsonb_array_elements(documents) with ordinality i (v, n)
        join ragdb.documents d on d.corpus_id = v_corpus.corpus_id and d.doc_cid = i.v ->> 'doc_cid'
      where not exists (
        select from jsonb_array_elements(documents) i (v)
          left join ragdb.document_sources s on s.corpus_id = v_corpus.corpus_id
            and s.uri = i.v ->> 'uri'
          left join ragdb.documents d on d.corpus_id = s.corpus_id and d.doc_no = s.doc_no
        where d.doc_cid is distinct from i.v ->> 'doc_cid'
          or (s.source_name, s.etag) is distinct from (coalesce(i.v ->> 'source_name', ''),
            i.v ->> 'etag')
          or d.source = s.uri
            and (d.title, d.language, d.media_type, d.metadata, d.chunking, d.external_id)
              is distinct from
              (i.v ->> 'title', coalesce(i.v ->> 'language', v_language), i.v ->> 'media_type',
                coalesce(nullif(i.v -> 'metadata', 'null'), '{}'), i.v -> 'chunking',
                  i.v ->> 'external_id'))
      order by i.n;
    if found then
      return;
    end if;
  end if;
  if jsonb_array_length(documents) = 0 then
    return;
  end if;
  v_corpus := ragdb._lock_corpus(put_documents.corpus, 'write');
  return query
    select w.*, extract(epoch from clock_timestamp() - v_began)::float8 * 1000
    from ragdb._write_documents(v_corpus, documents, force, '{}') w;
end $$;
comment on function ragdb.put_documents(text, jsonb, boolean) is
  'Stores documents with their chunks, at most 10000, in one transaction and returns a row for '
  'each: its position from 0, its identity, chunks, tokens and event, whether it was there '
  'already, and the milliseconds of the whole call. What is there already is not written again '
  'unless force is true. A document is {"doc_cid", "uri", "media_type", "size_bytes", "chunking": '
  '{…}, "chunks": [{"text", "start", "end", "tokens", "page", "heading": […]}], "title", '
  '"language", "metadata": {…}, "external_id", "source_name", "pages", "etag", "links": [{"chunk", '
  '"target"}]}; those from "title" on, "page" and "heading" may be missing. Raises RG400, RG401, '
  'RG404, RG409, RG412, RG413.';

create or replace function ragdb.put_document(
  corpus text, doc_cid text, uri text, chunks jsonb, chunking jsonb, title text default null,
    language text default null,
  media_type text default 'text/plain', metadata jsonb default '{}', external_id text default null,
  source_name text default '', size_bytes bigint default null, pages integer default null,
    etag text default null,
  links jsonb default '[]', force boolean default false
) returns setof ragdb.put_result
language sql rows 1
begin atomic
  select * from ragdb.put_documents(put_document.corpus, jsonb_build_array(jsonb_build_object(
    'doc_cid', put_document.doc_cid, 'uri', put_document.uri, 'chunks', put_document.chunks,
      'chunking', put_document.chunking,
    'title', put_document.title, 'language', put_document.language, 'media_type',
      put_document.media_type,
    'metadata', put_document.metadata, 'external_id', put_document.external_id,
    'source_name', put_document.source_name, 'pages', put_document.pages, 'etag', put_document.etag,
    'links', put_document.links, 'size_bytes', coalesce(put_document.size_bytes,
      (select sum(octet_length(c ->> 'text')) from jsonb_array_elements(
        case jsonb_typeof(put_document.chunks) when 'array' then put_document.chunks end) c), 0))),
    put_document.force);
end;
comment on function ragdb.put_document(text, text, text, jsonb, jsonb, text, text, text, jsonb,
  text, text, bigint, integer, text, jsonb, boolean) is
  'Stores one document, as ragdb.put_documents does; size_bytes defaults to the bytes of its '
  'chunks. Raises RG400, RG401, RG404, RG409, RG412.';

create or replace function ragdb.put_text(
  corpus text, source text, text text, title text default null, language text default null,
    metadata jsonb default '{}',
  external_id text default null, strategy text default 'paragraph', max_tokens integer default 240,
  overlap integer default 48, unit text default 'token', media_type text default 'text/plain',
    force boolean default false
) returns setof ragdb.put_result
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  v_bytes bytea := convert_to(text, 'UTF8');
begin
  if text is null then
    raise exception 'text is null'
      using errcode = 'RG400',
        detail = 'an empty text is a document without chunks, null is no document',
        hint = 'pass a text';
  end if;
  return query
    select p.* from ragdb.put_document(
      corpus => corpus, doc_cid => 'sha256:' || encode(sha256(v_bytes), 'hex'), uri => source,
      chunks => (
        select coalesce(jsonb_agg(jsonb_build_object('text', c.content, 'start', c.start_offset,
          'end', c.end_offset, 'tokens', c.token_count) order by c.ordinal), '[]')
        from ragdb._chunk_text(text, strategy, max_tokens, overlap, unit) c),
      chunking => jsonb_build_object('chunker', 'para-sent/1', 'strategy', strategy, 'max_tokens',
        max_tokens,
        'overlap', overlap, 'unit', ragdb._unit(unit)),
      title => title, language => language, media_type => media_type, metadata => metadata,
        external_id => external_id,
      size_bytes => octet_length(v_bytes)::bigint, force => force) p;
end $$;
comment on function ragdb.put_text(text, text, text, text, text, jsonb, text, text, integer,
  integer, text, text, boolean) is
  'Cuts a text by the chunker para-sent/1 (docs/chunker.md) and stores it as the document of a '
  'source, as ragdb.put_documents does. Raises RG400, RG401, RG404, RG409, RG412.';

create or replace function ragdb.delete_source(corpus text, uri text)
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._lock_corpus(delete_source.corpus, 'write');
begin
  if uri is null or not exists (select from ragdb.document_sources s
      where s.corpus_id = v_corpus.corpus_id and s.uri = delete_source.uri) then
    raise exception 'corpus % has no source %', ragdb._quote(corpus), ragdb._quote(uri)
      using errcode = 'RG405', detail = 'a source is what uri was when the document was put',
            hint = 'ragdb.list_documents() lists the sources';
  end if;
  return query select * from ragdb._remove_sources(v_corpus, array[uri]);
end $$;
comment on function ragdb.delete_source(text, text) is
  'Forgets one source, and its document when that was the last one; returns how many documents and '
  'chunks went. Raises RG400, RG401, RG404, RG405.';

create or replace function ragdb._remove_sources(corpus ragdb.corpora, uris text[])
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb._write_documents(corpus, '[]', false, uris);
  return query select corpus.documents - c.documents, corpus.chunks - c.chunks
    from ragdb.corpora c where c.corpus_id = corpus.corpus_id;
end $$;
comment on function ragdb._remove_sources(ragdb.corpora, text[]) is
  'Takes sources away and counts what went with them; the caller holds the corpus lock.';

create or replace function ragdb.delete_document(corpus text, doc_cid text)
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._lock_corpus(delete_document.corpus, 'write');
  v_no integer := (ragdb._find_document(v_corpus, delete_document.doc_cid)).doc_no;
begin
  return query select r.* from ragdb._remove_sources(v_corpus, array(
    select s.uri from ragdb.document_sources s where s.corpus_id = v_corpus.corpus_id
      and s.doc_no = v_no)) r;
end $$;
comment on function ragdb.delete_document(text, text) is
  'Removes a document with all its sources and chunks; returns how many documents and chunks went. '
  'Raises RG400, RG401, RG404, RG405.';

create or replace function ragdb._find_document(corpus ragdb.corpora, doc_cid text)
  returns ragdb.documents
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_document ragdb.documents;
begin
  select d.* into v_document from ragdb.documents d
    where d.corpus_id = corpus.corpus_id and d.doc_cid = _find_document.doc_cid;
  if not found then
    raise exception 'corpus % has no document %', ragdb._quote(corpus.name), ragdb._quote(doc_cid)
      using errcode = 'RG405', detail = 'a document is named by sha256: and the hash of its bytes',
            hint = 'ragdb.list_documents() lists them';
  end if;
  return v_document;
end $$;
comment on function ragdb._find_document(ragdb.corpora, text) is
  'Returns the row of a document. Raises RG405.';

create or replace function ragdb.prune_sources(corpus text, prefix text, keep text[])
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(prune_sources.corpus, 'write');
  v_uris text[];
begin
  if prefix is null or keep is null or not ragdb._is_list(keep) then
    raise exception '%',
      case when prefix is null or keep is null then 'prefix or keep is null'
      else 'keep is no list of sources' end
      using errcode = 'RG400',
        detail = 'sources that begin with prefix and are not in keep are removed',
            hint = 'an empty prefix means every source, an empty keep means none';
  end if;
  v_uris := array(select s.uri from ragdb.document_sources s
    where s.corpus_id = v_corpus.corpus_id and starts_with(s.uri, prefix)
      and s.uri not in (select unnest(keep)));
  if cardinality(v_uris) = 0 then
    return query select 0, 0;
    return;
  end if;
  v_corpus := ragdb._lock_corpus(prune_sources.corpus, 'write');
  return query select r.* from ragdb._remove_sources(v_corpus, v_uris) r;
end $$;
comment on function ragdb.prune_sources(text, text, text[]) is
  'Forgets the sources that begin with a prefix and are not among those to keep, and every '
  'document that is left without one; returns how many documents and chunks went. Raises RG400, '
  'RG401, RG404.';

-- ── blobs ────────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.put_blob(bytes bytea, media_type text) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cid text := 'sha256:' || encode(sha256(bytes), 'hex');
begin
  if bytes is null or media_type is null then
    raise exception 'bytes or media_type is null'
      using errcode = 'RG400', detail = 'a blob is bytes and their media type',
        hint = 'application/octet-stream is a media type';
  end if;
  if not exists (select from ragdb.corpora c
    where ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 2) then
    raise exception 'role % may not store blobs', ragdb._quote(ragdb._caller())
      using errcode = 'RG401', detail = 'it has no corpus that it may write to',
        hint = 'create a corpus first';
  end if;
  insert into ragdb.blobs (cid, bytes, media_type, size)
    values (v_cid, put_blob.bytes, put_blob.media_type, octet_length(put_blob.bytes))
    on conflict on constraint blobs_cid_is_unique do nothing;
  insert into ragdb.blob_uploads (cid, role, put_at)
    values (v_cid, ragdb._caller(), ragdb._now())
    on conflict on constraint blob_uploads_are_unique do nothing;
  return v_cid;
end $$;
comment on function ragdb.put_blob(bytea, text) is
  'Keeps bytes once for all corpora and returns their identity, sha256: and 64 hex digits; the '
  'media type given first stays. Raises RG400, RG401.';

create or replace function ragdb.get_blob(cid text)
returns setof ragdb.blob
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select b.cid, b.media_type, b.size, b.bytes from ragdb.blobs b
    where b.cid = get_blob.cid and exists (
      select from ragdb.corpora c join ragdb.documents d on d.corpus_id = c.corpus_id
        and d.doc_cid = b.cid
      where ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 1);
  if not found then
    raise exception 'no blob %', ragdb._quote(get_blob.cid)
      using errcode = 'RG408',
        detail = 'bytes are shown to who may read a corpus with their document',
            hint = 'originals are not kept where documents were put without them';
  end if;
end $$;
comment on function ragdb.get_blob(text) is
  'Returns the original bytes of a document that the caller may read. Raises RG408.';

-- ── reading ──────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.list_documents(corpus text, prefix text default '',
  after text default '', count integer default 100)
returns setof ragdb.document
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_id integer := (ragdb._open_corpus(list_documents.corpus, 'read')).corpus_id;
begin
  if prefix is null or after is null or count is null or count not between 1 and 10000 then
    raise exception 'prefix or after is null, or count is not 1 to 10000'
      using errcode = 'RG400', detail = 'count is ' || coalesce(count::text, 'null'),
            hint = 'for the next page, give the last source as after';
  end if;
  return query
    select d.doc_cid, d.source, array(select s.uri from ragdb.document_sources s
        where s.corpus_id = v_id and s.doc_no = d.doc_no order by s.uri),
      d.title, d.language, d.media_type, d.metadata, d.chunking, d.external_id, d.source_name,
        d.size_bytes, d.pages,
      d.chunks, d.tokens, d.event_id, d.created_at, d.updated_at
    from ragdb.documents d
    where d.corpus_id = v_id and starts_with(d.source, prefix) and d.source > after collate "C"
    order by d.source limit count;
end $$;
comment on function ragdb.list_documents(text, text, text, integer) is
  'Lists the documents of a corpus by their first source: those whose source begins with a prefix '
  'and comes after a given one, at most count (1 to 10000). Raises RG400, RG404.';

create or replace function ragdb.get_document(corpus text, doc_cid text)
returns setof ragdb.document
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(get_document.corpus, 'read');
  v_document ragdb.documents := ragdb._find_document(v_corpus, get_document.doc_cid);
begin
  return query
    select v_document.doc_cid, v_document.source, array(select s.uri from ragdb.document_sources s
        where s.corpus_id = v_document.corpus_id and s.doc_no = v_document.doc_no order by s.uri),
      v_document.title, v_document.language, v_document.media_type, v_document.metadata,
        v_document.chunking,
      v_document.external_id, v_document.source_name, v_document.size_bytes, v_document.pages,
        v_document.chunks,
      v_document.tokens, v_document.event_id, v_document.created_at, v_document.updated_at;
end $$;
comment on function ragdb.get_document(text, text) is
  'Returns one document by its identity, as ragdb.list_documents does. Raises RG400, RG404, RG405.';

-- Definer: document_sources is granted to nobody.
create or replace function ragdb.get_source(corpus text, uri text)
returns table (
  doc_cid text, source_name text, etag text, chunking jsonb, seen_at timestamptz)
language plpgsql stable parallel safe security definer rows 2 -- none or one; `rows 1` promises one
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(get_source.corpus, 'read');
begin
  if get_source.uri is null then
    raise exception 'uri is null'
      using errcode = 'RG400', detail = 'a source is named by its uri',
            hint = 'ragdb.list_documents() lists them';
  end if;
  return query
    select d.doc_cid, s.source_name, s.etag, d.chunking, s.seen_at
      from ragdb.document_sources s join ragdb.documents d using (corpus_id, doc_no)
      where s.corpus_id = v_corpus.corpus_id and s.uri = get_source.uri;
end $$;
comment on function ragdb.get_source(text, text) is
  'Returns what document a source gave last, with the version that its store named (etag), its '
  'chunking and when that was; no row for a source that is not there. Raises RG400, RG404.';

create or replace function ragdb._chunk_rows(corpus_id integer, doc_no integer, chunk_id text)
returns setof ragdb.chunk
language sql stable parallel safe
begin atomic
  select c.chunk_id, d.doc_cid, c.ordinal, c.source, d.title, c.heading, c.page, c.start_offset,
    c.end_offset, c.token_count,
    c.text, coalesce(c.citation, jsonb_build_object('uri', c.source)),
      encode(c.content_hash, 'hex'), d.metadata
  from ragdb.chunks c join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no
  where c.corpus_id = _chunk_rows.corpus_id
    and (c.doc_no = _chunk_rows.doc_no or c.chunk_id = _chunk_rows.chunk_id)
  order by c.ordinal;
end;
comment on function ragdb._chunk_rows(integer, integer, text) is
  'Returns the chunks of a document in order, or the one of an id; give one of the two.';

create or replace function ragdb.get_chunk(corpus text, chunk_id text) returns setof ragdb.chunk
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(get_chunk.corpus, 'read');
begin
  return query select * from ragdb._chunk_rows(v_corpus.corpus_id, null, get_chunk.chunk_id);
  if not found then
    raise exception 'corpus % has no chunk %', ragdb._quote(corpus), ragdb._quote(chunk_id)
      using errcode = 'RG406', detail = 'the id of a chunk changes with its text and its source',
            hint = 'ragdb.document_chunks() lists the chunks of a document';
  end if;
end $$;
comment on function ragdb.get_chunk(text, text) is
  'Returns one chunk by its id. Raises RG400, RG404, RG406.';

create or replace function ragdb.document_chunks(corpus text, doc_cid text)
  returns setof ragdb.chunk
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(document_chunks.corpus, 'read');
begin
  return query select c.* from ragdb._chunk_rows(v_corpus.corpus_id,
    (ragdb._find_document(v_corpus, document_chunks.doc_cid)).doc_no, null) c;
end $$;
comment on function ragdb.document_chunks(text, text) is
  'Returns the chunks of a document in order. Raises RG400, RG404, RG405.';

-- Chunks overlap, and leave the white space between them out.
create or replace function ragdb.document_text(corpus text, doc_cid text) returns text
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(document_text.corpus, 'read');
  v_document ragdb.documents := ragdb._find_document(v_corpus, document_text.doc_cid);
begin
  return (
    select string_agg(
      -- turns have no offsets
      repeat(E'\n', case when x.ordinal = 0 then 0
        else least(greatest(coalesce(x.start_offset - x.covered, 2), 0), 2) end)
        || substr(x.text, greatest(coalesce(x.covered - x.start_offset, 0), 0) + 1),
          '' order by x.ordinal)
    from (
      select c.*, coalesce(max(c.end_offset) over
        (order by c.ordinal rows between unbounded preceding and 1 preceding), 0) as covered
      from ragdb.chunks c where c.corpus_id = v_document.corpus_id
        and c.doc_no = v_document.doc_no) x);
end $$;
comment on function ragdb.document_text(text, text) is
  'Returns the text of a document as its chunks have it: each character once, with a line end or '
  'two for white space that no chunk has; null without chunks. Raises RG400, RG404, RG405.';

-- ── events ───────────────────────────────────────────────────────────────────────────────────────

-- A writer holds the clock's row from its event to its commit, so ticks become visible in their
-- order: whoever has seen one has seen all before it. Ids are in the order of ticks, so an id is a
-- place to go on from, even when its event is gone with its corpus.
create or replace function ragdb.events_after(id uuid default null, count integer default 100)
returns table (event_id uuid, lamport bigint, kind text, created_at timestamptz, author text,
  corpus text, doc_cid text,
  title text, language text, chunks integer)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  if count is null or count not between 1 and 10000 then
    raise exception 'count is %, not 1 to 10000', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'it is the number of events to read',
        hint = 'the default is 100';
  end if;
  return query
    with readable as materialized (
      select c.corpus_id from ragdb.corpora c
        where ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0
    )
    select e.event_id, e.lamport, e.kind, e.created_at, e.author, e.corpus, e.doc_cid, e.title,
      e.language, e.chunks
    from ragdb.events e
    where e.corpus_id in (select r.corpus_id from readable r)
      and e.event_id > coalesce(events_after.id, '00000000-0000-0000-0000-000000000000')
    order by e.event_id limit events_after.count;
end $$;
comment on function ragdb.events_after(uuid, integer) is
  'Returns the events after a given one (null: from the beginning), oldest first, at most count (1 '
  'to 10000), of the corpora that the caller may read. Raises RG400.';

-- ── checking ─────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.check_corpus(corpus text, deep boolean default true)
returns table ("check" text, expected text, found text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(check_corpus.corpus, 'read');
  v_id integer := v_corpus.corpus_id;
begin
  if deep is null then
    raise exception 'deep is null'
      using errcode = 'RG400', detail = 'it says whether chunks are analysed again',
        hint = 'the default is true';
  end if;
  return query
    with document as (
      select count(*) as documents, coalesce(sum(d.tokens), 0) as tokens,
        coalesce(sum(d.size_bytes), 0) as bytes,
        ragdb._document_languages(v_id, array_agg(d.doc_no)) as languages
      from ragdb.documents d where d.corpus_id = v_id
    ), chunk as (
      select count(*) as chunks, count(*) filter (where x.chunk_no is null) as unindexed,
        count(*) filter (where c.end_offset - c.start_offset <> length(c.text)) as offsets,
        count(*) filter (where c.content_hash <> ragdb._content_hash(c.text)) as hashes,
        count(*) filter (where c.chunk_id <> c.named) as ids
      from (
        select c.*, case when d.chunking ->> 'chunker' = 'turns/1' then c.chunk_id
          when d.external_id is null then ragdb._chunk_id(v_corpus.name, d.source_name, d.source,
            c.content_hash,
            row_number() over (partition by c.doc_no, c.content_hash order by c.ordinal) - 1)
          when d.chunks = 1 then d.external_id
            else d.external_id || '#' || c.ordinal + 1 end as named
        from ragdb.chunks c join ragdb.documents d on d.corpus_id = c.corpus_id
          and d.doc_no = c.doc_no
        where c.corpus_id = v_id
      ) c left join ragdb.chunk_lexemes x on x.corpus_id = c.corpus_id and x.chunk_no = c.chunk_no
    ), half as (
      select count(*) filter (where d.chunks <> coalesce(c.chunks, 0)
        or d.tokens <> coalesce(c.tokens, 0)
          or c.chunks <> c.last + 1) as documents,
        count(*) filter (where s.uri is distinct from d.source) as sources
      from ragdb.documents d
        left join (select c.doc_no, count(*) as chunks, sum(c.token_count) as tokens,
          max(c.ordinal) as last
          from ragdb.chunks c where c.corpus_id = v_id group by c.doc_no) c on c.doc_no = d.doc_no
        left join (select s.doc_no, min(s.uri) as uri
          from ragdb.document_sources s where s.corpus_id = v_id group by s.doc_no) s
            on s.doc_no = d.doc_no
      where d.corpus_id = v_id
    ), indexed as (
      select count(*) as chunks, coalesce(sum(x.lexeme_count), 0) as lexemes,
        count(*) filter (where not exists (select from ragdb.chunks c
          where c.corpus_id = v_id and c.chunk_no = x.chunk_no)) as stray
      from ragdb.chunk_lexemes x where x.corpus_id = v_id
    ), df as (
      select count(*) as wrong
      from (select l.term_id, l.df from ragdb.lexemes l where l.corpus_id = v_id and l.df <> 0) l
        full join (select ragdb._term_id(w.lexeme) as term_id, count(*) as df
          from ragdb.chunk_lexemes x, unnest(x.lexemes) w where x.corpus_id = v_id group by 1) n
            on n.term_id = l.term_id
      where l.df is distinct from n.df
    ), analysed as (
      select count(*) as wrong
      from ragdb.chunks c
        join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no
        join ragdb.chunk_lexemes x on x.corpus_id = c.corpus_id and x.chunk_no = c.chunk_no
      where c.corpus_id = v_id and deep
        and (select array_agg((w.lexeme, w.positions)::text order by w.lexeme collate "C")
            from unnest(ragdb._lexemes(ragdb._searched_text(d.title, c.heading, c.text),
              v_corpus.text_config)) w)
          is distinct from
          (select array_agg((l.lexeme, w.positions)::text order by l.lexeme)
            from unnest(x.lexemes) w
              join ragdb.lexemes l on l.corpus_id = v_id and l.term_id = ragdb._term_id(w.lexeme))
    )
    select r.what, r.expected::text, r.found::text
    from document, chunk, half, indexed, df, analysed, lateral (values
      ('documents', document.documents, v_corpus.documents::numeric),
      ('chunks', chunk.chunks, v_corpus.chunks),
      ('tokens', document.tokens, v_corpus.token_count),
      ('size_bytes', document.bytes, v_corpus.size_bytes),
      ('lexemes', indexed.lexemes, v_corpus.lexeme_count),
      ('languages with a wrong number of documents', 0,
        (select count(*) from jsonb_object_keys(ragdb._recounted(v_corpus.languages,
          document.languages, '{}')))),
      ('chunks that are not indexed', 0, chunk.unindexed),
      ('index rows without a chunk', 0, indexed.stray),
      ('lexemes with a wrong number of chunks', 0, df.wrong),
      ('chunks that are indexed by another text', 0, analysed.wrong),
      ('documents whose chunks are not all there', 0, half.documents),
      ('documents not named after their first source', 0, half.sources),
      ('chunks whose offsets are not their text''s', 0, chunk.offsets),
      ('chunks whose content_hash is not their text''s', 0, chunk.hashes),
      ('chunks whose id is not their content''s', 0, chunk.ids)
    ) r (what, expected, found)
    where r.expected <> r.found;
end $$;
comment on function ragdb.check_corpus(text, boolean) is
  'Recounts and recomputes a corpus and returns what differs from what is stored: no row means '
  'that all is well. With deep, every chunk is analysed again, which takes as long as indexing it. '
  'Raises RG400, RG404.';

create or replace function ragdb.repair_corpus(corpus text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id integer := (ragdb._lock_corpus(repair_corpus.corpus, 'admin')).corpus_id;
begin
  delete from ragdb.chunk_lexemes x where x.corpus_id = v_id;
  delete from ragdb.lexemes l where l.corpus_id = v_id;
  update ragdb.corpora c
    set (documents, token_count, size_bytes, languages, chunks, lexeme_count, next_term_id) = (
      select count(*), coalesce(sum(d.tokens), 0), coalesce(sum(d.size_bytes), 0),
        ragdb._document_languages(v_id, array_agg(d.doc_no)), 0, 0, 1
      from ragdb.documents d where d.corpus_id = v_id)
    where c.corpus_id = v_id;
  perform ragdb._index_chunks(v_id, array(
    select c.chunk_no from ragdb.chunks c where c.corpus_id = v_id order by c.chunk_no));
end $$;
comment on function ragdb.repair_corpus(text) is
  'Rebuilds a corpus''s counters and lexical index from its documents and chunks. Raises RG400, '
  'RG401, RG404.';
