-- A corpus in one file: what goes out, how it comes in again, and the digest that both sides must
-- agree on.
--
-- What a corpus is made of goes along: settings, documents with their sources, chunks, links and
-- turns, embeddings of the current space. What follows from these (ids, edges, postings, counters,
-- salience) is made anew, and what a database says about a corpus (traces, rights, keys, events,
-- contracts) stays there.

-- jsonb writes its keys in one order on every server, so the text of this can be hashed.
create or replace function ragdb_internal.exported_document(corpus_id integer, doc_no integer) returns jsonb
language sql stable parallel safe
begin atomic
  with chunk as (
    select c.chunk_no, c.ordinal, c.chunk_id, c.text, c.start_offset, c.end_offset, c.token_count,
      c.page, c.heading,
      t.session_id, t.role, t.given, t.created_at
    from ragdb.chunks c left join ragdb.turns t on t.corpus_id = c.corpus_id
      and t.chunk_no = c.chunk_no
    where c.corpus_id = exported_document.corpus_id and c.doc_no = exported_document.doc_no
  )
  select jsonb_build_object('doc_cid', d.doc_cid, 'title', d.title, 'language', d.language,
    'media_type', d.media_type,
      'metadata', d.metadata, 'chunking', d.chunking, 'external_id', d.external_id, 'size_bytes',
        d.size_bytes,
      'pages', d.pages, 'sources', (
        select jsonb_agg(jsonb_build_object('uri', s.uri, 'source_name', s.source_name, 'etag',
          s.etag) order by s.uri)
        from ragdb.document_sources s where s.corpus_id = d.corpus_id and s.doc_no = d.doc_no))
    || case when exists (select from chunk k where k.session_id is not null) then
      jsonb_build_object('session', (select min(k.session_id) from chunk k), 'messages', (
        select jsonb_agg(k.given || jsonb_build_object('id', k.chunk_id, 'role', k.role, 'text',
          k.text,
            'created_at', to_char(k.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
            'parents', coalesce((
              select jsonb_agg(jsonb_build_object('id', p.chunk_id, 'edge_type', e.edge_type)
                order by p.chunk_id, e.edge_type)
              from ragdb.edges e
                join ragdb.turns t on t.corpus_id = e.corpus_id and t.chunk_no = e.parent_no
                join ragdb.chunks p on p.corpus_id = e.corpus_id and p.chunk_no = e.parent_no
              where e.corpus_id = d.corpus_id and e.child_no = k.chunk_no), '[]'))
                order by k.ordinal)
        from chunk k))
    else
      jsonb_build_object('chunks', coalesce((
        select jsonb_agg(jsonb_build_object('text', k.text, 'start', k.start_offset, 'end',
          k.end_offset,
            'tokens', k.token_count, 'page', k.page, 'heading', k.heading)
          || case when d.chunking ->> 'chunker' = 'turns/1'
            then jsonb_build_object('id', k.chunk_id) else '{}' end
          order by k.ordinal)
        from chunk k), '[]'), 'links', coalesce((
        select jsonb_agg(jsonb_build_object('chunk', k.ordinal, 'target', l.target)
          order by k.ordinal, l.target)
        from chunk k join ragdb.document_links l on l.corpus_id = d.corpus_id
          and l.chunk_no = k.chunk_no), '[]'))
    end
  from ragdb.documents d
  where d.corpus_id = exported_document.corpus_id and d.doc_no = exported_document.doc_no;
end;
comment on function ragdb_internal.exported_document(integer, integer) is
  'Returns a document as an export has it: as put_documents or put_conversations takes it, with '
  'sources in place of uri, source_name and etag.';

create or replace function ragdb_internal.export_header(corpus ragdb.corpora) returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1 -- numbers as exact as they are
set jit = off
as $$
declare
  v_id constant integer := corpus.corpus_id;
  v_space constant ragdb.embedding_spaces := ragdb_internal.space(v_id, 'current');
  v_settings constant jsonb := jsonb_build_object('title', corpus.title, 'text_config',
    corpus.text_config,
    'k1', corpus.k1, 'b', corpus.b, 'pivot', corpus.pivot, 'record_query_text',
      corpus.record_query_text);
  v_embedder jsonb;
  v_provider jsonb;
  v_documents bytea;
begin
  select jsonb_build_object('name', e.name, 'model', e.model, 'revision', e.revision, 'dims',
    e.dims, 'metric', e.metric,
      'max_tokens', e.max_tokens, 'query_prefix', e.query_prefix, 'passage_prefix',
        e.passage_prefix,
      'weights_sha256', e.weights_sha256, 'm', v_space.m, 'ef_construction',
        v_space.ef_construction),
    jsonb_build_object('provider', e.provider,
      -- a path says something of this machine, and nothing to another
      'provider_model', case when e.provider <> 'sentence-transformers'
        or e.provider_model = 'packaged' then e.provider_model end)
    into v_embedder, v_provider
    from ragdb.embedders e where e.embedder_id = v_space.embedder_id;
  select string_agg(sha256(convert_to(ragdb_internal.exported_document(v_id, d.doc_no)::text, 'UTF8')
    || coalesce(v.hashes, '')), ''
      order by d.doc_cid)
    into v_documents
    from ragdb.documents d
      cross join lateral (
        select string_agg(int4send(c.ordinal) || sha256(ragdb_internal.embedding_bytes(e.embedding)),
          '' order by c.ordinal) as hashes
        from ragdb.chunks c
          join ragdb.chunk_embeddings e
            on e.space_id = v_space.space_id and e.corpus_id = c.corpus_id
              and e.chunk_no = c.chunk_no
        where c.corpus_id = d.corpus_id and c.doc_no = d.doc_no) v
    where d.corpus_id = v_id;
  return jsonb_build_object('format', 'ragdb-corpus/1',
    'corpus', v_settings || jsonb_build_object('name', corpus.name, 'is_restricted',
      corpus.personal_of is not null
      or exists (select from ragdb.corpus_grants g where g.corpus_id = v_id)),
    'embedder', v_embedder || v_provider,
    'counts', jsonb_build_object(
      'documents', (select count(*) from ragdb.documents d where d.corpus_id = v_id),
      'chunks', (select count(*) from ragdb.chunks c where c.corpus_id = v_id),
      'turns', (select count(*) from ragdb.turns t where t.corpus_id = v_id),
      'embeddings', (select count(*) from ragdb.chunk_embeddings e
        where e.space_id = v_space.space_id)),
    'digest', encode(sha256(ragdb_internal.packed('ragdb-corpus-1') || ragdb_internal.packed(v_settings::text)
      || ragdb_internal.packed(coalesce(v_embedder::text, '')) || coalesce(v_documents, '')), 'hex'));
end $$;
comment on function ragdb_internal.export_header(ragdb.corpora) is
  'Returns the first line of an export: settings, embedder, counts and the digest of all that '
  'follows.';

-- Definers, because tables are granted to nobody. The right to read is enough: what goes out are
-- things that can be read one by one.
create or replace function ragdb.export_corpus(corpus text) returns jsonb
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
return ragdb_internal.export_header(ragdb_internal.open_corpus(export_corpus.corpus, 'read'));
comment on function ragdb.export_corpus(text) is
  'Returns what an export of a corpus begins with: its settings, its embedder, counts, and a '
  'digest (64 hex digits of SHA-256) over settings, documents and embeddings that is equal '
  'wherever these are equal, under whatever name. Raises RG400, RG404.';

-- On a plan that is kept: custom plans would be made anew for every document, too.
create or replace function ragdb.export_documents(corpus text, after integer default 0,
  count integer default 1000)
returns table ("position" integer, doc_cid text, chunks integer, document text, has_blob boolean)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  v_id constant integer := (ragdb_internal.open_corpus(export_documents.corpus, 'read')).corpus_id;
begin
  perform ragdb_internal.check_page(after, count);
  return query
    select d.doc_no, d.doc_cid, d.chunks, ragdb_internal.exported_document(v_id, d.doc_no)::text,
      exists (select from ragdb.blobs b where b.cid = d.doc_cid)
    from (
      select p.doc_no, p.doc_cid, p.chunks,
        sum(greatest(p.chunks, 1)) over (order by p.doc_no) - greatest(p.chunks, 1) as before
      from (select o.doc_no, o.doc_cid, o.chunks from ragdb.documents o
        where o.corpus_id = v_id and o.doc_no > export_documents.after
        order by o.doc_no limit export_documents.count) p) d
    where d.before < export_documents.count
    order by d.doc_no;
end $$;
comment on function ragdb.export_documents(text, integer, integer) is
  'Returns the documents of a corpus after a position, as many as have together about count chunks '
  '(1 to 1000) and at least one: each as the JSON that ragdb.import_documents takes, and whether '
  'ragdb.get_blob has its original. Raises RG400, RG404.';

create or replace function ragdb.export_embeddings(corpus text, after integer default 0,
  count integer default 1000)
returns table ("position" integer, doc_cids text[], ordinals integer[], embeddings bytea)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  v_id constant integer := (ragdb_internal.open_corpus(export_embeddings.corpus, 'read')).corpus_id;
  v_space constant ragdb.embedding_spaces := ragdb_internal.space(v_id, 'current');
begin
  perform ragdb_internal.check_page(after, count);
  return query
    select max(e.chunk_no), array_agg(d.doc_cid order by e.chunk_no),
      array_agg(c.ordinal order by e.chunk_no),
      string_agg(ragdb_internal.embedding_bytes(e.embedding), '' order by e.chunk_no)
    from (
      select v.chunk_no, v.embedding from ragdb.chunk_embeddings v
      where v.space_id = v_space.space_id and v.corpus_id = v_id
        and v.chunk_no > export_embeddings.after
      order by v.chunk_no limit export_embeddings.count) e
      join ragdb.chunks c on c.corpus_id = v_id and c.chunk_no = e.chunk_no
      join ragdb.documents d on d.corpus_id = v_id and d.doc_no = c.doc_no
    having count(*) > 0;
end $$;
comment on function ragdb.export_embeddings(text, integer, integer) is
  'Returns the next 1 to 1000 embeddings of the current space of a corpus after a position: '
  'document and ordinal of each chunk, and their numbers one behind the other as big-endian '
  'float4; no row when there are no more. Raises RG400, RG404.';
