comment on table ragdb.blob_uploads is 'Who has put which blob, and so may have it ingested.';
comment on column ragdb.blob_uploads.cid is 'The blob.';
comment on column ragdb.blob_uploads.role is 'Database role that put it.';
comment on column ragdb.blob_uploads.put_at is 'When it was put by that role first.';
comment on table ragdb.ingest_jobs is
  'Blobs that wait for a worker to read them, or could not be read.';
comment on column ragdb.ingest_jobs.corpus_id is 'The corpus they shall be in.';
comment on column ragdb.ingest_jobs.doc_cid is 'The blob, and the document that it shall be.';
comment on column ragdb.ingest_jobs.job_id is 'Id that the caller was given, a UUID of version 7.';
comment on column ragdb.ingest_jobs.title is 'Title asked for; null for the one in the file.';
comment on column ragdb.ingest_jobs.language is 'Language asked for; null for the one in the file.';
comment on column ragdb.ingest_jobs.metadata is 'Metadata asked for, over those in the file.';
comment on column ragdb.ingest_jobs.requested_by is 'Role that asked; the author of the event.';
comment on column ragdb.ingest_jobs.attempt is 'Claims so far; a completion must name the last.';
comment on column ragdb.ingest_jobs.failures is 'Failures that may pass, so far; five are final.';
comment on column ragdb.ingest_jobs.worker is 'Who claimed it; null when it waits.';
comment on column ragdb.ingest_jobs.due_at is
  'When it may be claimed: the end of a back-off or of a lease.';
comment on column ragdb.ingest_jobs.error is 'Wire word of the last failure.';
comment on column ragdb.ingest_jobs.message is 'The last failure.';
comment on column ragdb.ingest_jobs.hint is 'What to do about it; null where nothing is known.';
comment on column ragdb.ingest_jobs.failed_at is
  'When it failed for good; null while it may succeed.';
comment on column ragdb.ingest_jobs.created_at is 'When it was asked for.';
comment on table ragdb.embed_jobs is
  'Texts that ragdb.embed_text was asked to embed, and for a day the answers.';
comment on column ragdb.embed_jobs.embedder_id is 'The embedder.';
comment on column ragdb.embed_jobs.request_hash is 'SHA-256 of the texts, each behind its length.';
comment on column ragdb.embed_jobs.job_id is 'Id that the caller was given, a UUID of version 7.';
comment on column ragdb.embed_jobs.texts is 'The texts, only while they wait.';
comment on column ragdb.embed_jobs.embeddings is
  'Their embeddings, one behind the other; null until they are made.';
comment on column ragdb.embed_jobs.requested_by is 'Role that asked first.';
comment on column ragdb.embed_jobs.attempt is 'Claims so far; a completion must name the last.';
comment on column ragdb.embed_jobs.failures is 'Failures that may pass, so far; five are final.';
comment on column ragdb.embed_jobs.worker is 'Who claimed it; null when it waits.';
comment on column ragdb.embed_jobs.due_at is
  'When it may be claimed: the end of a back-off or of a lease.';
comment on column ragdb.embed_jobs.message is 'The last failure.';
comment on column ragdb.embed_jobs.failed_at is
  'When it failed for good; null while it may succeed.';
comment on column ragdb.embed_jobs.created_at is 'When it was asked for.';
comment on table ragdb.http_tokens is
  'Bearer tokens of the HTTP server, by their hash, and the role that each stands for.';
comment on column ragdb.http_tokens.name is 'Name, 1 to 200 characters.';
comment on column ragdb.http_tokens.token_hash is
  'SHA-256 of the token; the token itself is kept nowhere.';
comment on column ragdb.http_tokens.role is 'Database role that a request with it has.';
comment on column ragdb.http_tokens.created_by is 'Role that made it.';
comment on column ragdb.http_tokens.created_at is 'When it was made.';
comment on column ragdb.http_tokens.expires_at is 'From when on it is refused; null for never.';
