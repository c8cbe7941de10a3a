-- Who read what and changed which right, how much a role may take, and locks that no role can take.

create table ragdb.access_events (
  id uuid not null constraint access_events_ids_are_unique primary key,
  created_at timestamptz not null,
  kind text collate "C" not null
    constraint access_events_kind_is_known check (kind in (
      'read', 'refused', 'export', 'export_keys', 'grant', 'revoke', 'restrict', 'unrestrict',
      'record_reads', 'bind_role', 'set_quota', 'create_token', 'revoke_token', 'drop_events')),
  role text collate "C" not null,
  role_oid oid,
  session_role text collate "C" not null,
  corpus_id integer,
  corpus text collate "C",
  what text not null,
  event_hash bytea not null
);
create index access_events_by_corpus on ragdb.access_events (corpus, id);
-- of reads there are many, and ragdb.verify compares grants and tokens with these
create index access_events_of_rights on ragdb.access_events (corpus_id, created_at)
  where kind in (
    'grant', 'revoke', 'restrict', 'unrestrict', 'bind_role', 'create_token', 'revoke_token');
comment on table ragdb.access_events is
  'Who read, exported, granted, revoked or was refused what. Append-only. Auditors read it with '
  'ragdb.list_access_events.';
comment on column ragdb.access_events.id is 'UUID of version 7: ids are in the order of time.';
comment on column ragdb.access_events.created_at is
  'When it happened: the millisecond in the id. The transaction may have ended later.';
comment on column ragdb.access_events.kind is 'What happened, as ragdb.list_access_events says.';
comment on column ragdb.access_events.role is 'Database role on whose behalf it happened.';
comment on column ragdb.access_events.role_oid is 'Oid of that role; null where it was gone.';
comment on column ragdb.access_events.session_role is 'Database role that had logged in.';
comment on column ragdb.access_events.corpus_id is 'The corpus; null where none is concerned.';
comment on column ragdb.access_events.corpus is 'Name of the corpus at that time.';
comment on column ragdb.access_events.what is
  'The function that read, the role and right that were granted, or the SQLSTATE of a refusal.';
comment on column ragdb.access_events.event_hash is
  'SHA-256 of the other columns in their order, each after its length.';

create table ragdb.role_quotas (
  role text collate "C" not null,
  role_oid oid not null,
  blob_bytes bigint constraint role_quotas_blob_bytes_are_positive check (blob_bytes >= 0),
  hourly_failures integer
    constraint role_quotas_hourly_failures_are_positive check (hourly_failures >= 0),
  concurrent_calls integer
    constraint role_quotas_concurrent_calls_are_few check (concurrent_calls between 1 and 1000),
  corpus_chunks integer
    constraint role_quotas_corpus_chunks_are_positive check (corpus_chunks >= 0),
  set_at timestamptz not null,
  set_by text not null,
  constraint role_quotas_are_unique primary key (role, role_oid),
  constraint role_quotas_public_is_not_a_role check ((role = 'public') = (role_oid = 0))
);
comment on table ragdb.role_quotas is
  'How much a role may take. A role without a row has that of public, and without that there is no '
  'limit. Read it through ragdb.list_quotas.';
comment on column ragdb.role_quotas.role is 'Database role, or public for those without a row.';
comment on column ragdb.role_quotas.role_oid is 'Oid of that role, 0 for public.';
comment on column ragdb.role_quotas.blob_bytes is 'Bytes of the blobs that it has put; null: any.';
comment on column ragdb.role_quotas.hourly_failures is
  'Failed retrievals and refusals that it may record in an hour; null: any.';
comment on column ragdb.role_quotas.concurrent_calls is
  'Transactions of it, 1 to 1000, that may use corpora at once; null: any.';
comment on column ragdb.role_quotas.corpus_chunks is
  'Chunks, 0 or more, that a corpus may have after it wrote there; null: any.';
comment on column ragdb.role_quotas.set_at is 'When the quota was set.';
comment on column ragdb.role_quotas.set_by is 'Role that set it.';

create table ragdb.locks (
  name text collate "C" constraint locks_are_unique primary key
);
comment on table ragdb.locks is
  'What only one transaction may do at a time, such as making partitions. Whoever does it holds '
  'the row, which no other role can lock, as it could an advisory lock. Nobody reads it.';
comment on column ragdb.locks.name is 'What is done.';
