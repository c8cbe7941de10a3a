-- What goes out: documents as they are put, embeddings of the current space, header and digest.

-- Returns in one row the session and the messages of a conversation as put_conversations takes
-- them; null for any other document.
create or replace function ragdb_internal.exported_conversations(document ragdb.documents)
returns table (content jsonb)
language sql stable parallel safe
begin atomic
  select case when count(*) > 0 then jsonb_build_object(
    'session', min(t.session_id),
    'messages', jsonb_agg(t.given || jsonb_build_object(
      'id', c.chunk_id, 'role', t.role, 'text', c.text,
      'created_at', to_char(t.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'parents', coalesce((
        select jsonb_agg(jsonb_build_object('id', p.chunk_id, 'edge_type', e.edge_type)
          order by p.chunk_id, e.edge_type)
        from ragdb.edges e
          cross join lateral (select from ragdb.turns h
            where h.corpus_id = document.corpus_id and h.chunk_no = e.parent_no offset 0) u
          cross join lateral (select h.chunk_id from ragdb.chunks h
            where h.corpus_id = document.corpus_id and h.chunk_no = e.parent_no offset 0) p
        where e.corpus_id = document.corpus_id and e.child_no = c.chunk_no and not e.is_added),
        '[]'))
      order by c.ordinal)) end
  from ragdb.chunks c cross join lateral (select h.* from ragdb.turns h
      where h.corpus_id = document.corpus_id and h.chunk_no = c.chunk_no offset 0) t
  where c.corpus_id = document.corpus_id and c.doc_no = document.doc_no;
end;

-- Returns in one row the chunks and the links of a document as put_documents takes them.
create or replace function ragdb_internal.exported_contents(document ragdb.documents)
returns table (content jsonb)
language sql stable parallel safe
begin atomic
  select jsonb_build_object(
    'chunks', coalesce((
      select jsonb_agg(jsonb_build_object(
          'text', c.text, 'start', c.start_offset, 'end', c.end_offset, 'tokens', c.token_count,
          'page', c.page, 'heading', c.heading)
        || case when ragdb_internal.has_turns(document.chunking)
          then jsonb_build_object('id', c.chunk_id) else '{}' end
        || case when c.citation is null then '{}'
          else jsonb_build_object('citation', c.citation) end
        order by c.ordinal)
      from ragdb.chunks c
      where c.corpus_id = document.corpus_id and c.doc_no = document.doc_no), '[]'),
    'links', coalesce((
      select jsonb_agg(jsonb_build_object('chunk', c.ordinal, 'target', l.target)
        order by c.ordinal, l.target)
      from ragdb.chunks c cross join lateral (select h.target from ragdb.document_links h
          where h.corpus_id = document.corpus_id and h.chunk_no = c.chunk_no offset 0) l
      where c.corpus_id = document.corpus_id and c.doc_no = document.doc_no), '[]'));
end;

-- Returns a document as an export has it: as put_documents or put_conversations takes it, with
-- sources in place of uri, source_name and etag. jsonb writes its keys in one order on every
-- server, so the text of this can be hashed. Its plan is kept for the next document: PostgreSQL 16
-- keeps none of a function in SQL.
create or replace function ragdb_internal.exported_document(corpus_id integer, doc_no integer)
returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
  return (select jsonb_build_object(
      'doc_cid', d.doc_cid, 'title', d.title, 'language', d.language, 'media_type', d.media_type,
      'metadata', d.metadata, 'chunking', d.chunking, 'external_id', d.external_id,
      'size_bytes', d.size_bytes, 'pages', d.pages,
      'sources', (
        select jsonb_agg(jsonb_build_object(
          'uri', s.uri, 'source_name', s.source_name, 'etag', s.etag) order by s.uri)
        from (select h.* from ragdb.document_sources h
          where h.corpus_id = d.corpus_id and h.doc_no = d.doc_no offset 0) s))
    || coalesce((select c.content from ragdb_internal.exported_conversations(d) c),
      (select c.content from ragdb_internal.exported_contents(d) c))
    || coalesce((select c.content from ragdb_internal.exported_edges(d) c), '{}')
  from ragdb.documents d
  where d.corpus_id = exported_document.corpus_id and d.doc_no = exported_document.doc_no);
end $$;

-- Returns what an export says of the embedder of a space; null without a space.
create or replace function ragdb_internal.exported_embedder(space ragdb.embedding_spaces)
returns jsonb
language sql stable parallel safe
return (
  select pg_catalog.jsonb_build_object(
    'name', e.name, 'model', e.model, 'revision', e.revision, 'dims', e.dims, 'metric', e.metric,
    'max_tokens', e.max_tokens, 'query_prefix', e.query_prefix,
    'passage_prefix', e.passage_prefix, 'weights_sha256', e.weights_sha256, 'm', (space).m,
    'ef_construction', (space).ef_construction)
  from ragdb.embedders e where e.embedder_id = (space).embedder_id);

-- Returns what an export says of who runs the embedder of a space; null without a space. A path
-- says something of this machine, and nothing to another.
create or replace function ragdb_internal.exported_provider(space ragdb.embedding_spaces)
returns jsonb
language sql stable parallel safe
return (
  select pg_catalog.jsonb_build_object(
    'provider', e.provider,
    'provider_model', case
      when e.provider <> 'sentence-transformers' or e.provider_model = 'packaged'
        then e.provider_model end)
  from ragdb.embedders e where e.embedder_id = (space).embedder_id);

-- Returns the hashes of the documents of a corpus with their embeddings, in the order of their
-- first sources, one behind the other.
create or replace function ragdb_internal.exported_hashes(
  corpus_id integer, space ragdb.embedding_spaces)
returns bytea
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_id constant integer := exported_hashes.corpus_id;
begin
  return (
    select string_agg(
      sha256(convert_to(ragdb_internal.exported_document(v_id, d.doc_no)::text, 'UTF8')
        || coalesce(v.hashes, '')), ''
      order by d.source)
    from ragdb.documents d
      cross join lateral (
        select string_agg(
          int4send(c.ordinal) || sha256(ragdb_internal.embedding_bytes(e)), ''
          order by c.ordinal) as hashes
        from ragdb.chunks c
          join ragdb.chunk_embeddings e on e.space_id = space.space_id
            and e.corpus_id = c.corpus_id and e.chunk_no = c.chunk_no
        where c.corpus_id = d.corpus_id and c.doc_no = d.doc_no) v
    where d.corpus_id = v_id);
end $$;

-- Returns the first line of an export: settings, embedder, counts and the digest of all that
-- follows. Raises RG415.
create or replace function ragdb_internal.export_header(corpus ragdb.corpora) returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1 -- numbers as exact as they are
as $$
declare
  v_id constant integer := corpus.corpus_id;
  v_space constant ragdb.embedding_spaces := ragdb_internal.read_space(v_id);
  v_settings constant jsonb := ragdb_internal.exported_settings(corpus);
  v_embedder constant jsonb := ragdb_internal.exported_embedder(v_space);
begin
  return jsonb_build_object(
    'format', ragdb_internal.export_format(),
    'corpus', v_settings || jsonb_build_object(
      'name', corpus.name,
      'is_restricted', corpus.personal_of is not null or corpus.is_restricted),
    'embedder', v_embedder || ragdb_internal.exported_provider(v_space),
    'counts', jsonb_build_object(
      'documents', (select count(*) from ragdb.documents d where d.corpus_id = v_id),
      'chunks', (select count(*) from ragdb.chunks c where c.corpus_id = v_id),
      'turns', (select count(*) from ragdb.turns t where t.corpus_id = v_id),
      'embeddings', ragdb_internal.stored_embeddings(v_space.space_id)),
    'digest', encode(sha256(
      ragdb_internal.packed(ragdb_internal.export_format())
      || ragdb_internal.packed(v_settings::text)
      || ragdb_internal.packed(coalesce(v_embedder::text, ''))
      || coalesce(ragdb_internal.exported_hashes(v_id, v_space), '')
      || coalesce(ragdb_internal.exported_synonyms(v_id), '')), 'hex'));
end $$;

-- Definers, because tables are granted to nobody. The right to read is enough: what goes out are
-- things that can be read one by one.
create or replace function ragdb.export_corpus(corpus text) returns jsonb
language sql security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
return ragdb_internal.export_header(ragdb_internal.open_export(export_corpus.corpus, 'header'));
comment on function ragdb.export_corpus is
  'Returns what an export of a corpus begins with: its settings, its embedder, counts, and a '
  'digest (64 hex digits of SHA-256) over settings, documents, embeddings and synonyms that is '
  'equal wherever these are equal, under whatever name. Raises RG400, RG404, RG415.';

-- On a plan that is kept: custom plans would be made anew for every document, too.
create or replace function ragdb.export_documents(
  corpus text, after integer default 0, count integer default 1000)
returns table ("position" integer, doc_cid text, chunks integer, document text, has_blob boolean)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_id constant integer :=
    (ragdb_internal.open_export(export_documents.corpus, 'documents')).corpus_id;
  v_bytes bigint := 0;
begin
  perform ragdb_internal.check_page(after, count);
  for position, doc_cid, chunks, has_blob in
    select d.doc_no, d.doc_cid, d.chunks, exists (
      select from ragdb.corpus_blobs b where b.corpus_id = v_id and b.cid = d.doc_cid)
    from unnest(ragdb_internal.next_documents(v_id, after, count)) n (doc_no)
      join ragdb.documents d on d.corpus_id = v_id and d.doc_no = n.doc_no
    order by d.doc_no
  loop
    document := ragdb_internal.exported_document(v_id, position);
    exit when v_bytes > 0
      and v_bytes + octet_length(document) > (ragdb_internal.limits()).page_bytes;
    v_bytes := v_bytes + octet_length(document);
    return next;
  end loop;
end $$;
comment on function ragdb.export_documents is
  'Returns the documents of a corpus after a position, at least one and as many as have about '
  'count chunks (1 to 1000) and four million bytes: each as the JSON for ragdb.import_documents, '
  'and whether ragdb.get_blob has its original. Raises RG400, RG404.';

create or replace function ragdb.export_embeddings(
  corpus text, after integer default 0, count integer default 1000)
returns table ("position" integer, sources text[], ordinals integer[], embeddings bytea)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_id constant integer :=
    (ragdb_internal.open_export(export_embeddings.corpus, 'embeddings')).corpus_id;
  v_space constant ragdb.embedding_spaces := ragdb_internal.read_space(v_id);
begin
  perform ragdb_internal.check_page(after, count);
  return query
    select max(e.chunk_no), array_agg(d.source order by e.chunk_no),
      array_agg(c.ordinal order by e.chunk_no),
      string_agg(ragdb_internal.embedding_bytes(e.stored), '' order by e.chunk_no)
    from (
      select v as stored, v.chunk_no from ragdb.chunk_embeddings v
      where v.space_id = v_space.space_id and v.corpus_id = v_id
        and v.chunk_no > export_embeddings.after
      order by v.chunk_no limit export_embeddings.count) e
      join ragdb.chunks c on c.corpus_id = v_id and c.chunk_no = e.chunk_no
      join ragdb.documents d on d.corpus_id = v_id and d.doc_no = c.doc_no
    having count(*) > 0;
end $$;
comment on function ragdb.export_embeddings is
  'Returns the next 1 to 1000 embeddings of the current space of a corpus after a position: '
  'document (its first source) and ordinal of each chunk, and their numbers one behind the other '
  'as big-endian float4; no row when there are no more. Raises RG400, RG404, RG415.';
