-- A corpus in one file: what goes out, how it comes in again, and the digest that both sides must
-- agree on.
--
-- What a corpus is made of goes along: settings, documents with their sources, chunks, links and
-- turns, embeddings of the current space. What follows from these (ids, edges, postings, counters,
-- salience) is made anew, and what a database says about a corpus (traces, rights, keys, events,
-- contracts) stays there.

create or replace function ragdb._embedding_bytes(embedding vector) returns bytea
language sql immutable parallel safe
-- behind the width, two bytes, and two that are unused
return pg_catalog.substr(vector_send(_embedding_bytes.embedding), 5);
comment on function ragdb._embedding_bytes(vector) is
  'Returns the numbers of a vector as big-endian float4.';

-- jsonb writes its keys in one order on every server, so the text of this can be hashed.
create or replace function ragdb._exported_document(corpus_id integer, doc_no integer) returns jsonb
language sql stable parallel safe
begin atomic
  with chunk as (
    select c.chunk_no, c.ordinal, c.chunk_id, c.text, c.start_offset, c.end_offset, c.token_count,
      c.page, c.heading,
      t.session_id, t.role, t.given, t.created_at
    from ragdb.chunks c left join ragdb.turns t on t.corpus_id = c.corpus_id
      and t.chunk_no = c.chunk_no
    where c.corpus_id = _exported_document.corpus_id and c.doc_no = _exported_document.doc_no
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
  where d.corpus_id = _exported_document.corpus_id and d.doc_no = _exported_document.doc_no;
end;
comment on function ragdb._exported_document(integer, integer) is
  'Returns a document as an export has it: as put_documents or put_conversations takes it, with '
  'sources in place of uri, source_name and etag.';

create or replace function ragdb._export_header(corpus ragdb.corpora) returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1 -- numbers as exact as they are
set jit = off
as $$
declare
  v_id constant integer := corpus.corpus_id;
  v_space constant ragdb.embedding_spaces := ragdb._space(v_id, 'current');
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
  select string_agg(sha256(convert_to(ragdb._exported_document(v_id, d.doc_no)::text, 'UTF8')
    || coalesce(v.hashes, '')), ''
      order by d.doc_cid)
    into v_documents
    from ragdb.documents d
      cross join lateral (
        select string_agg(int4send(c.ordinal) || sha256(ragdb._embedding_bytes(e.embedding)),
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
    'digest', encode(sha256(ragdb._packed('ragdb-corpus-1') || ragdb._packed(v_settings::text)
      || ragdb._packed(coalesce(v_embedder::text, '')) || coalesce(v_documents, '')), 'hex'));
end $$;
comment on function ragdb._export_header(ragdb.corpora) is
  'Returns the first line of an export: settings, embedder, counts and the digest of all that '
  'follows.';

-- Definers, because tables are granted to nobody. The right to read is enough: what goes out are
-- things that can be read one by one.
create or replace function ragdb.export_corpus(corpus text) returns jsonb
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
return ragdb._export_header(ragdb._open_corpus(export_corpus.corpus, 'read'));
comment on function ragdb.export_corpus(text) is
  'Returns what an export of a corpus begins with: its settings, its embedder, counts, and a '
  'digest (64 hex digits of SHA-256) over settings, documents and embeddings that is equal '
  'wherever these are equal, under whatever name. Raises RG400, RG404.';

create or replace function ragdb._check_page(after integer, count integer) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if after is null or count is null or count not between 1 and 1000 then
    raise exception 'after is null, or count is not 1 to 1000'
      using errcode = 'RG400', detail = 'count is ' || coalesce(count::text, 'null'),
            hint = 'for the next page, give the last position as after; begin with 0';
  end if;
end $$;
comment on function ragdb._check_page(integer, integer) is
  'Refuses a page of an export that is none. Raises RG400.';

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
  v_id constant integer := (ragdb._open_corpus(export_documents.corpus, 'read')).corpus_id;
begin
  perform ragdb._check_page(after, count);
  return query
    select d.doc_no, d.doc_cid, d.chunks, ragdb._exported_document(v_id, d.doc_no)::text,
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
  v_id constant integer := (ragdb._open_corpus(export_embeddings.corpus, 'read')).corpus_id;
  v_space constant ragdb.embedding_spaces := ragdb._space(v_id, 'current');
begin
  perform ragdb._check_page(after, count);
  return query
    select max(e.chunk_no), array_agg(d.doc_cid order by e.chunk_no),
      array_agg(c.ordinal order by e.chunk_no),
      string_agg(ragdb._embedding_bytes(e.embedding), '' order by e.chunk_no)
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

-- ── coming in ────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb._refuse_import(problem text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'this is no whole export: %', problem
    using errcode = 'RG455', detail = 'nothing of it is kept when the transaction is rolled back',
          hint = 'export the corpus again; exports are made by ragdb export or '
                 'ragdb.export_corpus()';
end $$;
comment on function ragdb._refuse_import(text) is
  'Raises RG455, saying what is wrong with what is imported.';

create or replace function ragdb._importing(corpus text) returns ragdb.corpora
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._lock_corpus(corpus, 'write');
begin
  if v_corpus.import_xid is distinct from pg_current_xact_id() then
    raise exception 'corpus % is not being imported', ragdb._quote(corpus)
      using errcode = 'RG455', detail = 'an import is one transaction',
            hint = 'call ragdb.import_corpus() first, in the same transaction';
  end if;
  return v_corpus;
end $$;
comment on function ragdb._importing(text) is
  'Locks and returns a corpus that this transaction imports. Raises RG400, RG401, RG404, RG455.';

create or replace function ragdb.import_corpus(header jsonb, corpus text default null) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_settings constant jsonb := header -> 'corpus';
  v_embedder constant jsonb := nullif(header -> 'embedder', 'null');
  v_name constant text := coalesce(import_corpus.corpus, v_settings ->> 'name');
  v_caller constant text := ragdb._caller();
  v_known ragdb.embedders;
  v_corpus ragdb.corpora;
  v_wrong text;
begin
  if coalesce(header ->> 'format', '') <> 'ragdb-corpus/1' then
    perform ragdb._refuse_import('its format is ' || ragdb._quote(header ->> 'format')
      || ', not "ragdb-corpus/1"');
  end if;
  select f.name into v_wrong
    from (values
      ('corpus', header, 'object'), ('counts', header, 'object'), ('digest', header, 'string'),
        ('name', v_settings, 'string'),
      ('title', v_settings, 'string?'), ('text_config', v_settings, 'string'),
        ('k1', v_settings, 'number'),
      ('b', v_settings, 'number'), ('pivot', v_settings, 'number'),
        ('record_query_text', v_settings, 'string'),
      ('is_restricted', v_settings, 'boolean'), ('embedder', header, 'object?'),
      ('name', v_embedder, 'string'), ('model', v_embedder, 'string'),
        ('revision', v_embedder, 'string?'),
      ('dims', v_embedder, 'number'), ('metric', v_embedder, 'string'),
        ('max_tokens', v_embedder, 'number'),
      ('query_prefix', v_embedder, 'string'), ('passage_prefix', v_embedder, 'string'),
      ('weights_sha256', v_embedder, 'string?'), ('m', v_embedder, 'number'),
        ('ef_construction', v_embedder, 'number'),
      ('provider', v_embedder, 'string?'), ('provider_model', v_embedder, 'string?')
    ) f (name, object, type)
    where f.object is not null
      and coalesce(jsonb_typeof(f.object -> f.name), 'null') <> rtrim(f.type, '?')
      and not (f.type like '%?' and coalesce(f.object -> f.name, 'null') = 'null')
    limit 1;
  if v_wrong is not null then
    perform ragdb._refuse_import('its header has no right ' || ragdb._quote(v_wrong));
  end if;
  if octet_length(header::text) > 1000000 then
    perform ragdb._refuse_import('its header is over a million bytes long');
  end if;
  perform ragdb.create_corpus(v_name, v_settings ->> 'title', v_settings ->> 'text_config',
    (v_settings ->> 'k1')::float8,
    (v_settings ->> 'b')::float8, v_settings ->> 'record_query_text');
  if not coalesce((v_settings ->> 'pivot')::float8 between 1e-6 and 1e9, false) then
    perform ragdb._refuse_import('its pivot is ' || ragdb._quote(v_settings ->> 'pivot'));
  end if;
  update ragdb.corpora c set pivot = (v_settings ->> 'pivot')::float8,
    import_xid = pg_current_xact_id()
    where c.name = v_name
      and c.personal_of is not distinct from case when v_name = 'personal' then v_caller end
    returning c.* into strict v_corpus;
  -- what few could read there is not for all to read here
  if (v_settings ->> 'is_restricted')::boolean and v_name not in ('personal', 'system') then
    insert into ragdb.corpus_grants (corpus_id, role, privilege) values (v_corpus.corpus_id,
      v_caller, 'admin');
  end if;
  if v_embedder is null then
    return v_name;
  end if;
  select e.* into v_known from ragdb.embedders e where e.name = v_embedder ->> 'name';
  if not found and not pg_has_role(v_caller, 'ragdb_writer', 'usage')
    and not pg_has_role(v_caller, 'ragdb_owner', 'usage') then
    raise exception 'role % may not create embedder %', ragdb._quote(v_caller),
      ragdb._quote(v_embedder ->> 'name')
      using errcode = 'RG401',
        detail = 'the corpus has embeddings by it, and this database does not know it',
            hint = 'ask somebody with ragdb_writer to call ragdb.create_embedder()';
  end if;
  -- raises where one of that name promises something else
  v_known := ragdb.create_embedder(v_embedder ->> 'name', (v_embedder ->> 'dims')::integer,
    v_embedder ->> 'model',
    v_embedder ->> 'metric', (v_embedder ->> 'max_tokens')::integer, v_embedder ->> 'revision',
      v_embedder ->> 'query_prefix',
    v_embedder ->> 'passage_prefix', v_embedder ->> 'weights_sha256');
  if v_known.provider is null then
    -- the two that need no address, no path and no admin
    if v_embedder ->> 'provider' = 'hash'
      or v_embedder ->> 'provider_model' = 'packaged' and v_known.weights_sha256 is not null
        and pg_has_role(v_caller, 'ragdb_writer', 'usage')
    then
      perform ragdb.bind_embedder(v_known.name, v_embedder ->> 'provider',
        v_embedder ->> 'provider_model');
    end if;
  elsif v_known.weights_sha256 is null and (v_known.provider <> v_embedder ->> 'provider'
      or v_known.provider <> 'sentence-transformers'
        and v_known.provider_model <> v_embedder ->> 'provider_model')
  then
    raise exception 'embedder % is run by % here and by % there', ragdb._quote(v_known.name),
      v_known.provider,
        ragdb._quote(v_embedder ->> 'provider')
      using errcode = 'RG417',
        detail = 'vectors of two models would mix, and no digest of the weights tells that they '
                 'are one',
            hint = 'bind it alike in both databases, or give one of them another embedder with '
                   'ragdb.reembed_corpus()';
  end if;
  return v_name;
end $$;
comment on function ragdb.import_corpus(jsonb, text) is
  'Begins the import of a corpus, in one transaction that ragdb.finish_import ends: makes it, '
  'under the name of its header or another, with its settings and its embedder. Where it was '
  'restricted only the caller and admins may read it; rights are not part of an export. Raises '
  'RG400, RG401, RG409, RG411, RG417, RG455.';

create or replace function ragdb.import_documents(corpus text, documents jsonb) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb._importing(import_documents.corpus);
  v_documents jsonb;
  v_conversations jsonb;
  v_copies jsonb;
  v_chunks integer;
begin
  if coalesce(jsonb_typeof(documents), '') <> 'array' or exists (
      select from jsonb_array_elements(documents) d
      where jsonb_typeof(d) <> 'object' or coalesce(jsonb_typeof(d -> 'sources'), '') <> 'array'
        or jsonb_array_length(case jsonb_typeof(d -> 'sources') when 'array' then d -> 'sources'
          else '[]' end) = 0)
  then
    perform ragdb._refuse_import('documents is no array of documents with sources');
  end if;
  -- the first source decides; at the others, the same bytes are found too
  with source as materialized (
    select d.n, d.v - 'sources' as document,
      jsonb_build_object('uri', s.v -> 'uri', 'source_name', s.v -> 'source_name',
        'etag', s.v -> 'etag') as source,
      row_number() over (partition by d.n order by (s.v ->> 'uri') collate "C") as nth
    from jsonb_array_elements(documents) with ordinality d (v, n),
      jsonb_array_elements(d.v -> 'sources') s (v)
  )
  select jsonb_agg(s.document || s.source order by s.n) filter (where s.nth = 1
    and not s.document ? 'messages'),
      jsonb_agg(s.document || s.source order by s.n) filter (where s.nth = 1
        and s.document ? 'messages'),
      jsonb_agg((s.document - 'session' - 'messages') || s.source || '{"chunks": [], "links": []}'
        order by s.n, s.nth)
        filter (where s.nth > 1)
    into v_documents, v_conversations, v_copies
    from source s;
  select coalesce(sum(p.chunks_indexed), 0) into v_chunks from (
    select d.chunks_indexed from ragdb.put_documents(v_corpus.name, coalesce(v_documents, '[]')) d
    union all
    select c.chunks_indexed
      from ragdb.put_conversations(v_corpus.name, coalesce(v_conversations, '[]')) c) p;
  perform ragdb.put_documents(v_corpus.name, coalesce(v_copies, '[]'));
  return v_chunks;
end $$;
comment on function ragdb.import_documents(text, jsonb) is
  'Puts documents of an export, an array of what ragdb.export_documents returns, into the corpus '
  'that this transaction imports, and returns the number of their chunks; ids, links, edges and '
  'the index are made anew. Raises RG400, RG401, RG404, RG409, RG412, RG413, RG455.';

create or replace function ragdb.import_embeddings(
  corpus text, doc_cids text[], ordinals integer[], embeddings real[])
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_corpus constant ragdb.corpora := ragdb._importing(import_embeddings.corpus);
  v_space ragdb.embedding_spaces := ragdb._space(v_corpus.corpus_id, 'current');
  v_embedder ragdb.embedders;
  v_stored integer[];
begin
  if doc_cids is null or cardinality(doc_cids) not between 1 and 1000
    or cardinality(ordinals) is distinct from cardinality(doc_cids) then
    perform ragdb._refuse_import('doc_cids and ordinals are not of one length of 1 to 1000');
  end if;
  if v_space.space_id is null then
    perform ragdb._refuse_import('its header names no embedder');
  end if;
  select e.* into strict v_embedder from ragdb.embedders e
    where e.embedder_id = v_space.embedder_id;
  perform ragdb._check_embeddings(embeddings, v_embedder.dims, v_embedder.metric, array(
    select format('chunk %s of %s', o.ordinal, ragdb._quote(o.doc_cid))
    from unnest(doc_cids, ordinals) with ordinality o (doc_cid, ordinal, n) order by o.n));
  with place as materialized (
    select c.chunk_no, o.n
    from unnest(doc_cids, ordinals) with ordinality o (doc_cid, ordinal, n)
      cross join lateral (select d.doc_no from ragdb.documents d
        where d.corpus_id = v_corpus.corpus_id and d.doc_cid = o.doc_cid offset 0) d
      cross join lateral (select k.chunk_no from ragdb.chunks k
        where k.corpus_id = v_corpus.corpus_id and k.doc_no = d.doc_no
          and k.ordinal = o.ordinal offset 0) c
  ), stored as (
    insert into ragdb.chunk_embeddings (space_id, corpus_id, chunk_no, input_hash, embedding)
    select v_space.space_id, v_corpus.corpus_id, p.chunk_no, sha256(convert_to(i.input, 'UTF8')),
      v.embedding
    from ragdb._embedding_inputs(v_corpus.corpus_id, array(select p.chunk_no from place p),
      v_embedder.passage_prefix) i
      join place p on p.chunk_no = i.chunk_no
      join ragdb._cut(embeddings, v_embedder.dims) v on v.n = p.n
    order by p.chunk_no
    on conflict do nothing
    returning chunk_no
  )
  select array_agg(s.chunk_no) into v_stored from stored s;
  if coalesce(cardinality(v_stored), 0) <> cardinality(doc_cids) then
    perform ragdb._refuse_import('it has embeddings of chunks that are not there, or two of one');
  end if;
  perform ragdb._derive_embedded_turns(v_space, v_stored);
  return cardinality(v_stored);
end $$;
comment on function ragdb.import_embeddings(text, text[], integer[], real[]) is
  'Stores embeddings, one behind the other, of chunks (document and ordinal) of the corpus that '
  'this transaction imports, and returns their number. Raises RG400, RG401, RG404, RG418, RG455.';

create or replace function ragdb.finish_import(corpus text, header jsonb) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._importing(finish_import.corpus);
  v_found constant jsonb := ragdb._export_header(v_corpus);
begin
  if v_found -> 'counts' is distinct from header -> 'counts' then
    perform ragdb._refuse_import(format('it has %s, and its header says %s', v_found -> 'counts',
      ragdb._quote(header ->> 'counts')));
  end if;
  if v_found -> 'digest' is distinct from header -> 'digest' then
    perform ragdb._refuse_import(
      'its settings, documents or embeddings are not those of its digest');
  end if;
  perform ragdb._build_blocks(v_corpus);
  update ragdb.corpora c set import_xid = null where c.corpus_id = v_corpus.corpus_id;
  perform ragdb._write_events(v_corpus, array(
    select d.doc_no from ragdb.documents d where d.corpus_id = v_corpus.corpus_id
      order by d.doc_no));
end $$;
comment on function ragdb.finish_import(text, jsonb) is
  'Ends an import: compares what came with the counts and the digest of the header, makes the '
  'blocks of the lexical index and writes the events. Raises RG400, RG401, RG404, RG455.';
