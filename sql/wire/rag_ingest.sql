-- Capability rag.ingest: a blob becomes a document, once a worker has read it.

-- Lists the media types of blobs that a worker reads; what an octet stream is, its first bytes say.
create or replace function ragdb_internal.readable_types() returns text[]
language sql immutable parallel safe
return array['text/plain', 'text/markdown', 'text/x-markdown', 'text/mdx', 'text/x-rst',
  'text/asciidoc', 'text/html', 'application/xhtml+xml', 'text/csv', 'text/tab-separated-values',
  'application/json', 'text/json', 'application/yaml', 'application/x-yaml', 'text/yaml',
  'text/x-yaml', 'application/x-ipynb+json', 'application/xml', 'text/xml', 'application/rtf',
  'text/rtf', 'message/rfc822', 'application/pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'application/vnd.ms-excel',
  'application/vnd.oasis.opendocument.spreadsheet', 'application/vnd.oasis.opendocument.text',
  'application/epub+zip', 'application/octet-stream'];

-- Says whether a blob may be a document that the readers know, by its media type or its first
-- bytes. Contents decide, so what is declared refuses only what begins like no packed file.
create or replace function ragdb_internal.is_readable(media_type text, head bytea) returns boolean
language sql immutable parallel safe
return pg_catalog.lower(
      pg_catalog.btrim(pg_catalog.split_part(is_readable.media_type, ';', 1)) collate "C")
    = any (ragdb_internal.readable_types())
  or pg_catalog.substr(is_readable.head, 1, 5) = '%PDF-'::bytea
  or pg_catalog.substr(is_readable.head, 1, 4) = '\x504b0304'::bytea;

-- Refuses another job of a caller who has 1000 waiting. Raises RG451.
create or replace function ragdb_internal.check_waiting_jobs() returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_waiting bigint;
begin
  select count(*) into v_waiting from (
    select from ragdb.ingest_jobs j
    where ragdb_internal.is_caller(j.requested_by, j.requested_by_oid) and j.failed_at is null
    union all
    select from ragdb.embed_jobs j
    where ragdb_internal.is_caller(j.requested_by, j.requested_by_oid) and j.texts is not null) w;
  if v_waiting >= 1000 then
    raise exception 'role % has % jobs waiting', ragdb_internal.quote(ragdb_internal.caller()),
      v_waiting
      using errcode = 'RG451', detail = 'a role may have 1000 jobs waiting for workers',
        hint = 'wait until workers have done some, or start more of them: ragdb worker';
  end if;
end $$;

-- Returns the embedder of a corpus when nothing is bound to run it, else null.
create or replace function ragdb_internal.unbound_embedder(corpus_id integer)
  returns ragdb.embedders
language sql stable parallel safe
return (select e from ragdb_internal.space(unbound_embedder.corpus_id, 'current') s
  join ragdb.embedders e on e.embedder_id = s.embedder_id where e.provider is null);

-- Refuses the input of rag.ingest when it is not what the schema says. Raises RG400.
create or replace function ragdb_internal.check_ingest(doc_cid text, source text, title text,
  language text, metadata jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(doc_cid !~ '^sha256:[0-9a-f]{64}$', true) then
    raise exception 'doc_cid is %', ragdb_internal.quote(doc_cid)
      using errcode = 'RG400', detail = 'it is sha256: and 64 hex digits in lower case',
        hint = 'ragdb.put_blob() returns it';
  end if;
  if octet_length(source) not between 1 and 2000 then
    raise exception 'source is %', ragdb_internal.quote(source)
      using errcode = 'RG400', detail = 'it has 1 to 2000 bytes',
        hint = 'leave it out, and the document is called as its doc_cid';
  end if;
  if length(title) > 2500 or length(language) > 64
    or language is not null and ragdb_internal.language_code(language) is null
    or coalesce(jsonb_typeof(metadata), 'null') not in ('object', 'null')
  then
    raise exception 'title, language or metadata is not what it must be'
      using errcode = 'RG400',
        detail = 'a title has at most 2500 characters, a language is a code such as en, metadata '
          'is an object',
        hint = 'leave out what is not known';
  end if;
end $$;

-- Refuses a blob that is not the caller's to ingest, or that no reader knows. Raises RG408, RG452.
create or replace function ragdb_internal.check_blob(cid text) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_blob record;
begin
  select t.media_type, substring(b.bytes from 1 for 8) as head into v_blob
    from ragdb.blobs b cross join lateral ragdb_internal.blob_type(b.cid) t (media_type)
    where b.cid = check_blob.cid and t.media_type is not null;
  if not found then
    raise exception 'no blob %', ragdb_internal.quote(check_blob.cid)
      using errcode = 'RG408',
        detail = 'a blob is ingested by who has put it, or may read a corpus that it came to',
        hint = 'put the bytes first: ragdb.put_blob()';
  end if;
  if not ragdb_internal.is_readable(v_blob.media_type, v_blob.head) then
    raise exception 'blobs of type % are not read', ragdb_internal.quote(v_blob.media_type)
      using errcode = 'RG452', detail = 'one document is one blob',
        hint = 'put the bytes again with the media type of their file, such as text/markdown; '
          'docs/ingest.md lists what is read, and ragdb ingest reads JSONL and mbox, too';
  end if;
end $$;

-- Has a worker read a blob, again where that failed, and returns the job. Raises RG404, RG451.
create or replace function ragdb_internal.queue_ingest(corpus_id integer, doc_cid text, source text,
  title text, language text, metadata jsonb) returns ragdb.ingest_jobs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.ingest_jobs;
begin
  perform ragdb_internal.hold_corpus(queue_ingest.corpus_id);
  perform ragdb_internal.check_waiting_jobs();
  insert into ragdb.ingest_jobs as j (corpus_id, doc_cid, source, job_id, media_type, title,
      language, metadata, requested_by, requested_by_oid, due_at, created_at)
    values (queue_ingest.corpus_id, queue_ingest.doc_cid, queue_ingest.source,
      ragdb_internal.uuid7(ragdb_internal.now()), ragdb_internal.blob_type(doc_cid),
      queue_ingest.title, queue_ingest.language,
      coalesce(nullif(queue_ingest.metadata, 'null'), '{}'), ragdb_internal.caller(),
      ragdb_internal.caller_oid(), clock_timestamp(), ragdb_internal.now())
    on conflict on constraint ingest_jobs_document_is_unique_per_corpus do update
      set media_type = excluded.media_type, title = excluded.title, language = excluded.language,
        metadata = excluded.metadata, requested_by = excluded.requested_by,
        requested_by_oid = excluded.requested_by_oid, failures = 0, attempt = j.attempt + 1,
        worker = null, due_at = excluded.due_at, error = null, message = null, hint = null,
        failed_at = null
      where j.failed_at is not null;
  select j.* into strict v_job from ragdb.ingest_jobs j
    where j.corpus_id = queue_ingest.corpus_id and j.doc_cid = queue_ingest.doc_cid
      and j.source = queue_ingest.source;
  perform ragdb_internal.notify('ragdb_embeddings');
  return v_job;
end $$;

-- Returns the answer of rag.ingest: the document, or what a worker is doing about it. What failed a
-- moment ago would fail again; later it may have been put right. Raises RG400, RG408, RG451, RG452.
create or replace function ragdb_internal.answer_ingest(corpus ragdb.corpora, doc_cid text,
  input jsonb, began timestamptz) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_source constant text := ragdb_internal.wire_text(input, 'source');
  v_title constant text := ragdb_internal.wire_text(input, 'title');
  v_language constant text := ragdb_internal.wire_text(input, 'language');
  v_document ragdb.documents;
  v_job ragdb.ingest_jobs;
begin
  perform ragdb_internal.check_ingest(doc_cid, v_source, v_title, v_language, input -> 'metadata');
  -- without a source under whatever name these bytes were read; first what a worker made of them
  select d.* into v_document from ragdb.documents d
    where d.corpus_id = corpus.corpus_id and d.doc_cid = answer_ingest.doc_cid
      and (v_source is null or exists (select from ragdb.document_sources s
        where s.corpus_id = d.corpus_id and s.doc_no = d.doc_no and s.uri = v_source))
    order by d.source = d.doc_cid desc, d.doc_no limit 1;
  -- a document whose bytes nobody brought may say what it likes: a worker reads those that came
  if found and (ragdb_internal.blob_type(doc_cid) is null or exists (
    select from ragdb.corpus_blobs b
    where b.corpus_id = corpus.corpus_id and b.cid = answer_ingest.doc_cid))
  then
    return jsonb_build_object(
      'output', jsonb_build_object('doc_cid', v_document.doc_cid,
        'chunks_indexed', v_document.chunks, 'tokens_indexed', v_document.tokens),
      'meta', jsonb_build_object('corpus', corpus.name, 'ms', ragdb_internal.ms_since(began),
        'ingest_event_id', v_document.event_id));
  end if;
  perform ragdb_internal.check_blob(doc_cid);
  select j.* into v_job from ragdb.ingest_jobs j
    where j.corpus_id = corpus.corpus_id and j.doc_cid = answer_ingest.doc_cid
      and j.source = coalesce(v_source, answer_ingest.doc_cid);
  if v_job.failed_at > clock_timestamp() - interval '1 minute' then
    return ragdb_internal.wire_error(v_job.error, v_job.message, v_job.hint,
      job_id => v_job.job_id);
  end if;
  if v_job.job_id is null or v_job.failed_at is not null then
    v_job := ragdb_internal.queue_ingest(corpus.corpus_id, doc_cid, coalesce(v_source, doc_cid),
      v_title, v_language, input -> 'metadata');
  end if;
  return ragdb_internal.wait_for_worker(ragdb_internal.unbound_embedder(corpus.corpus_id),
    'the blob waits for a worker that reads it', v_job.message, 250, v_job.job_id);
end $$;

create or replace function ragdb.rag_ingest(request jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_input constant jsonb := request -> 'input';
  v_corpus ragdb.corpora;
  v_detail text;
  v_hint text;
begin
  perform ragdb_internal.enter_capability('rag.ingest', request);
  v_corpus := ragdb_internal.routable_corpus(
    ragdb_internal.wire_text(request -> 'params', 'corpus'), 'write');
  return ragdb_internal.answer_ingest(v_corpus, ragdb_internal.wire_text(v_input, 'doc_cid'),
    v_input, v_began);
exception when sqlstate 'RG000' then
  get stacked diagnostics v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  return ragdb_internal.wire_error_of(sqlstate, sqlerrm, v_detail, v_hint);
end $$;
comment on function ragdb.rag_ingest is
  'Capability rag.ingest@1.0: {"params": {"corpus"}, "input": {"doc_cid" (of a blob), "source" '
  '(the doc_cid, unless given), "title", "language", "metadata"}} gives {"output": {"doc_cid", '
  '"chunks_indexed", "tokens_indexed"}, "meta": {"corpus", "ms", "ingest_event_id"}}, of a '
  'document that is there already its existing result; or {"error"} with not_found, bad_request, '
  'unauthorized, rate_limited, capacity_exceeded, or partition while a worker reads the blob.';
