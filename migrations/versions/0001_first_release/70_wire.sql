-- The wire: uploads of blobs, jobs of its capabilities, tokens of the HTTP server.

create table ragdb.blob_uploads (
  cid text collate "C" not null
    constraint blob_uploads_blob_exists references ragdb.blobs on delete cascade,
  role text collate "C" not null,
  role_oid oid not null,
  media_type text not null,
  constraint blob_uploads_are_unique primary key (cid, role, role_oid)
);
create index blob_uploads_by_role on ragdb.blob_uploads (role, role_oid);
comment on table ragdb.blob_uploads is
  'Which role has put which blob. Only those who put a blob, or may read it, may have it ingested, '
  'because whoever guesses the bytes can guess the cid.';
comment on column ragdb.blob_uploads.cid is 'The blob.';
comment on column ragdb.blob_uploads.role is 'Database role that put the blob.';
comment on column ragdb.blob_uploads.role_oid is
  'Oid of that role.';
comment on column ragdb.blob_uploads.media_type is 'Media type that the role gave.';

create table ragdb.ingest_jobs (
  corpus_id integer not null
    constraint ingest_jobs_corpus_exists references ragdb.corpora on delete cascade,
  doc_cid text collate "C" not null
    constraint ingest_jobs_cid_is_a_sha256 check (doc_cid ~ '^sha256:[0-9a-f]{64}$'),
  source text collate "C" not null,
  job_id uuid not null constraint ingest_jobs_id_is_unique unique,
  media_type text not null,
  title text,
  language text,
  metadata jsonb not null
    constraint ingest_jobs_metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
  requested_by text collate "C" not null,
  requested_by_oid oid not null,
  attempt integer not null default 0,
  failures integer not null default 0,
  worker text,
  due_at timestamptz not null,
  error text,
  message text,
  hint text,
  failed_at timestamptz,
  created_at timestamptz not null,
  constraint ingest_jobs_document_is_unique_per_corpus primary key (corpus_id, doc_cid, source),
  constraint ingest_jobs_failed_for_a_reason
    check (failed_at is null or (error is not null and message is not null))
);
create index ingest_jobs_by_due on ragdb.ingest_jobs (due_at) where failed_at is null;
comment on table ragdb.ingest_jobs is
  'Blobs that wait for a worker to read them, or could not be read. Read the state of a job '
  'through ragdb.job_state.';
comment on column ragdb.ingest_jobs.corpus_id is 'The corpus that the document is for.';
comment on column ragdb.ingest_jobs.doc_cid is 'The blob, and the document that it becomes.';
comment on column ragdb.ingest_jobs.source is
  'Source of the document; its doc_cid where none was named.';
comment on column ragdb.ingest_jobs.job_id is 'Id that the caller was given, a UUID of version 7.';
comment on column ragdb.ingest_jobs.media_type is 'Media type of the blob, as who asked sees it.';
comment on column ragdb.ingest_jobs.title is 'Title asked for; null for the one in the file.';
comment on column ragdb.ingest_jobs.language is 'Language asked for; null for the one in the file.';
comment on column ragdb.ingest_jobs.metadata is
  'Metadata asked for. It takes precedence over the metadata in the file.';
comment on column ragdb.ingest_jobs.requested_by is
  'Role that asked. It becomes the author of the event.';
comment on column ragdb.ingest_jobs.requested_by_oid is
  'Oid of that role.';
comment on column ragdb.ingest_jobs.attempt is
  'Claims so far. A completion must name the last one.';
comment on column ragdb.ingest_jobs.failures is 'Temporary failures so far. The fifth is final.';
comment on column ragdb.ingest_jobs.worker is 'Worker that claimed the job; null while it waits.';
comment on column ragdb.ingest_jobs.due_at is
  'When the job may be claimed: the end of a back-off or of a lease.';
comment on column ragdb.ingest_jobs.error is 'Wire word of the last failure.';
comment on column ragdb.ingest_jobs.message is 'Message of the last failure.';
comment on column ragdb.ingest_jobs.hint is
  'What to do about the last failure; null where nothing is known.';
comment on column ragdb.ingest_jobs.failed_at is
  'When the job failed for good; null while it may succeed.';
comment on column ragdb.ingest_jobs.created_at is 'When the job was asked for.';

create table ragdb.embed_jobs (
  embedder_id integer not null
    constraint embed_jobs_embedder_exists references ragdb.embedders,
  request_hash bytea not null,
  job_id uuid not null constraint embed_jobs_id_is_unique unique,
  texts text[],
  embeddings real[],
  requested_by text collate "C" not null,
  requested_by_oid oid not null,
  attempt integer not null default 0,
  failures integer not null default 0,
  worker text,
  due_at timestamptz not null,
  message text,
  failed_at timestamptz,
  created_at timestamptz not null,
  constraint embed_jobs_request_is_unique_per_embedder primary key (embedder_id, request_hash),
  constraint embed_jobs_wait_or_are_done_or_failed
    check (num_nonnulls(texts, embeddings, failed_at) = 1),
  constraint embed_jobs_failed_for_a_reason check (failed_at is null or message is not null)
);
create index embed_jobs_by_due on ragdb.embed_jobs (due_at) where texts is not null;
comment on table ragdb.embed_jobs is
  'Texts that ragdb.embed_text was asked to embed, and for a day the answers. Read the state of a '
  'job through ragdb.job_state.';
comment on column ragdb.embed_jobs.embedder_id is 'The embedder.';
comment on column ragdb.embed_jobs.request_hash is
  'SHA-256 of the role that asked, its oid and the texts, each after its length.';
comment on column ragdb.embed_jobs.job_id is 'Id that the caller was given, a UUID of version 7.';
comment on column ragdb.embed_jobs.texts is 'The texts, kept only while they wait.';
comment on column ragdb.embed_jobs.embeddings is
  'Their embeddings, one after the other; null until they are made.';
comment on column ragdb.embed_jobs.requested_by is 'Role that asked.';
comment on column ragdb.embed_jobs.requested_by_oid is
  'Oid of that role.';
comment on column ragdb.embed_jobs.attempt is 'Claims so far. A completion must name the last one.';
comment on column ragdb.embed_jobs.failures is 'Temporary failures so far. The fifth is final.';
comment on column ragdb.embed_jobs.worker is 'Worker that claimed the job; null while it waits.';
comment on column ragdb.embed_jobs.due_at is
  'When the job may be claimed: the end of a back-off or of a lease.';
comment on column ragdb.embed_jobs.message is 'Message of the last failure.';
comment on column ragdb.embed_jobs.failed_at is
  'When the job failed for good; null while it may succeed.';
comment on column ragdb.embed_jobs.created_at is 'When the job was asked for.';

create table ragdb.http_tokens (
  name text collate "C" constraint http_tokens_name_is_unique primary key
    constraint http_tokens_name_is_short check (length(name) between 1 and 200),
  token_hash bytea not null constraint http_tokens_hash_is_unique unique
    constraint http_tokens_hash_is_a_sha256 check (octet_length(token_hash) = 32),
  role text collate "C" not null,
  role_oid oid not null,
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz
);
comment on table ragdb.http_tokens is
  'Bearer tokens of the HTTP server, by their hash, and the role that each stands for. Read it, '
  'without the hashes, through ragdb.list_http_tokens.';
comment on column ragdb.http_tokens.name is 'Name, 1 to 200 characters.';
comment on column ragdb.http_tokens.token_hash is
  'SHA-256 of the token. The token itself is not stored.';
comment on column ragdb.http_tokens.role is 'Database role that a request with the token has.';
comment on column ragdb.http_tokens.role_oid is
  'Oid of that role. The token of a role that was dropped is refused, also when another role has '
  'its name.';
comment on column ragdb.http_tokens.created_by is 'Role that made the token.';
comment on column ragdb.http_tokens.created_at is 'When the token was made.';
comment on column ragdb.http_tokens.expires_at is
  'From this time on the token is refused; null for never.';

create table ragdb.http_sessions (
  session_hash bytea constraint http_sessions_hash_is_unique primary key
    constraint http_sessions_hash_is_a_sha256 check (octet_length(session_hash) = 32),
  token_name text collate "C"
    constraint http_sessions_token_exists references ragdb.http_tokens on delete cascade,
  role text collate "C" not null,
  role_oid oid not null,
  created_at timestamptz not null,
  seen_at timestamptz not null
);
create index http_sessions_by_token on ragdb.http_sessions (token_name);
comment on table ragdb.http_sessions is
  'Browsers that have logged in to the HTTP server, by the hash of their cookie. A session ends '
  'after 12 hours, after an hour without a request, and with its token.';
comment on column ragdb.http_sessions.session_hash is
  'SHA-256 of the session''s secret. The secret itself is not stored.';
comment on column ragdb.http_sessions.token_name is
  'The token that was given at the login; null for a session that the server''s own login opened.';
comment on column ragdb.http_sessions.role is 'Database role that a request of the session has.';
comment on column ragdb.http_sessions.role_oid is
  'Oid of that role. The session of a role that was dropped is refused.';
comment on column ragdb.http_sessions.created_at is 'When the session was opened.';
comment on column ragdb.http_sessions.seen_at is
  'When its last request came, to the minute.';
