-- State of the surfaces: who put a blob, jobs of the wire capabilities, tokens of the HTTP server.

-- a cid can be guessed by whoever guesses the bytes: only who has put them, or may read them, ingests them
create table ragdb.blob_uploads (
  cid text collate "C" not null
    constraint blob_uploads_blob_exists references ragdb.blobs on delete cascade,
  role text collate "C" not null,
  put_at timestamptz not null,
  constraint blob_uploads_are_unique primary key (cid, role)
);

create table ragdb.ingest_jobs (
  corpus_id integer not null
    constraint ingest_jobs_corpus_exists references ragdb.corpora on delete cascade,
  doc_cid text collate "C" not null
    constraint ingest_jobs_cid_is_a_sha256 check (doc_cid ~ '^sha256:[0-9a-f]{64}$'),
  job_id uuid not null constraint ingest_jobs_id_is_unique unique,
  title text,
  language text,
  metadata jsonb not null
    constraint ingest_jobs_metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
  requested_by text collate "C" not null,
  -- rises with every claim, and fences the completion
  attempt integer not null default 0,
  failures integer not null default 0,
  worker text,
  due_at timestamptz not null,
  error text,
  message text,
  hint text,
  failed_at timestamptz,
  created_at timestamptz not null,
  constraint ingest_jobs_document_is_unique_per_corpus primary key (corpus_id, doc_cid),
  constraint ingest_jobs_failed_for_a_reason
    check (failed_at is null or (error is not null and message is not null))
);
create index ingest_jobs_by_due on ragdb.ingest_jobs (due_at) where failed_at is null;

create table ragdb.embed_jobs (
  embedder_id integer not null
    constraint embed_jobs_embedder_exists references ragdb.embedders,
  request_hash bytea not null,
  job_id uuid not null constraint embed_jobs_id_is_unique unique,
  -- kept only until the worker has answered
  texts text[],
  embeddings real[],
  requested_by text collate "C" not null,
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

create table ragdb.http_tokens (
  name text collate "C" constraint http_tokens_name_is_unique primary key
    constraint http_tokens_name_is_short check (length(name) between 1 and 200),
  token_hash bytea not null constraint http_tokens_hash_is_unique unique
    constraint http_tokens_hash_is_a_sha256 check (octet_length(token_hash) = 32),
  role text collate "C" not null,
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz
);
