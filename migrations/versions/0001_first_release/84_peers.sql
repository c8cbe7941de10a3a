-- Peers: other databases, the corpora that are shared with them, and the signed events by which the
-- copies of a corpus become alike. Nothing is shared until somebody shares it.

create table ragdb.peers (
  name text collate "C" constraint peers_name_is_unique primary key
    constraint peers_name_is_a_name check (name ~ '^[a-z0-9-]{1,64}$'),
  public_key bytea not null constraint peers_key_is_unique unique
    constraint peers_key_is_of_ed25519 check (length(public_key) = 32),
  url text,
  trust text not null constraint peers_trust_is_known check (trust in ('member', 'trusted')),
  added_by text not null,
  added_at timestamptz not null,
  revoked_at timestamptz,
  revoked_because text,
  constraint peers_are_revoked_for_a_reason
    check ((revoked_at is null) = (revoked_because is null))
);
comment on table ragdb.peers is
  'Other databases that this one knows, each with the key that signs its events. No token and no '
  'private key is kept. Read it through ragdb.list_peers.';
comment on column ragdb.peers.name is
  'Name that this database gives it: 1 to 64 of a-z, 0-9 and -.';
comment on column ragdb.peers.public_key is 'Its public key of Ed25519, 32 bytes.';
comment on column ragdb.peers.url is
  'Where its HTTP server is; null for one whose events come through others.';
comment on column ragdb.peers.trust is
  'What it may do here: member may be asked questions, trusted may also change shared corpora.';
comment on column ragdb.peers.added_by is 'Role that added it.';
comment on column ragdb.peers.added_at is 'When it was added.';
comment on column ragdb.peers.revoked_at is
  'When its key was revoked: no further event of it is taken. Null while it is good.';
comment on column ragdb.peers.revoked_because is 'Why its key was revoked.';

create table ragdb.shared_corpora (
  corpus_id integer constraint shared_corpora_corpus_is_shared_once primary key
    constraint shared_corpora_corpus_exists references ragdb.corpora on delete cascade,
  feed uuid not null constraint shared_corpora_feed_is_unique unique,
  author bytea constraint shared_corpora_author_is_of_ed25519 check (length(author) = 32),
  lamport bigint not null default 0,
  last_position bigint not null default 0,
  shared_by text not null,
  shared_at timestamptz not null
);
comment on table ragdb.shared_corpora is
  'Corpora that are shared with peers. Read it through ragdb.shared_feed.';
comment on column ragdb.shared_corpora.corpus_id is 'The corpus.';
comment on column ragdb.shared_corpora.feed is
  'What the corpus is at every peer, under whatever name. Each event is signed with it.';
comment on column ragdb.shared_corpora.author is
  'Public key of what signs the changes that are made here; null where none are published.';
comment on column ragdb.shared_corpora.lamport is 'Highest Lamport time of its events.';
comment on column ragdb.shared_corpora.last_position is 'Position of the last event that came.';
comment on column ragdb.shared_corpora.shared_by is 'Role that shared it.';
comment on column ragdb.shared_corpora.shared_at is 'When it was shared.';

create table ragdb.peer_corpora (
  corpus_id integer not null
    constraint peer_corpora_corpus_is_shared references ragdb.shared_corpora on delete cascade,
  peer text collate "C" not null
    constraint peer_corpora_peer_exists references ragdb.peers on delete cascade,
  remote text not null,
  "position" bigint not null default 0,
  pulled_at timestamptz,
  constraint peer_corpora_are_unique primary key (corpus_id, peer)
);
comment on table ragdb.peer_corpora is
  'Which peer has which shared corpus, and how far it was read. Read it through '
  'ragdb.list_peer_corpora.';
comment on column ragdb.peer_corpora.corpus_id is 'The corpus.';
comment on column ragdb.peer_corpora.peer is 'The peer.';
comment on column ragdb.peer_corpora.remote is 'Name of the corpus at the peer.';
comment on column ragdb.peer_corpora."position" is
  'Position, at the peer, of the last event that was taken from it.';
comment on column ragdb.peer_corpora.pulled_at is 'When events were taken from it last.';

create table ragdb.shared_events (
  corpus_id integer not null
    constraint shared_events_corpus_is_shared references ragdb.shared_corpora on delete cascade,
  "position" bigint not null,
  hash bytea not null constraint shared_events_hash_is_a_sha256 check (length(hash) = 32),
  author bytea not null constraint shared_events_author_is_of_ed25519 check (length(author) = 32),
  seq bigint not null constraint shared_events_seq_is_positive check (seq > 0),
  lamport bigint not null constraint shared_events_lamport_is_positive check (lamport > 0),
  kind text not null constraint shared_events_kind_is_known
    check (kind in ('rag.document.ingested', 'rag.document.erased')),
  source text collate "C" not null,
  replaces bytea[] not null,
  body_hash bytea constraint shared_events_body_hash_is_a_sha256 check (length(body_hash) = 32),
  event text not null,
  signature bytea not null constraint shared_events_signature_is_of_ed25519
    check (length(signature) = 64),
  is_head boolean not null,
  peer text,
  peer_position bigint,
  arrived_at timestamptz not null,
  constraint shared_events_position_is_unique primary key (corpus_id, "position"),
  constraint shared_events_hash_is_unique unique (corpus_id, hash),
  constraint shared_events_author_signs_each_once unique (corpus_id, author, seq)
);
-- as for ragdb.documents
alter table ragdb.shared_events alter corpus_id set statistics 0;
create index shared_events_by_source on ragdb.shared_events (corpus_id, source);
comment on table ragdb.shared_events is
  'Signed events of shared corpora, without any text of documents. Read it through '
  'ragdb.list_shared_events.';
comment on column ragdb.shared_events.corpus_id is 'The corpus.';
comment on column ragdb.shared_events."position" is 'In which order the events came here, from 1.';
comment on column ragdb.shared_events.hash is 'SHA-256 of what was signed.';
comment on column ragdb.shared_events.author is 'Public key of the author.';
comment on column ragdb.shared_events.seq is
  'Number of the event among those of its author, from 1 without a gap.';
comment on column ragdb.shared_events.lamport is
  'Lamport time: one more than that of all events that its author had.';
comment on column ragdb.shared_events.kind is
  'rag.document.ingested, or rag.document.erased where the source is gone.';
comment on column ragdb.shared_events.source is 'Source of the document.';
comment on column ragdb.shared_events.replaces is
  'Hashes of the events of the source that its author had and that nothing had replaced.';
comment on column ragdb.shared_events.body_hash is
  'SHA-256 of the document as it is sent; null of an erasure.';
comment on column ragdb.shared_events.event is 'The event as it was signed: JSON.';
comment on column ragdb.shared_events.signature is 'Ed25519 signature of the author.';
comment on column ragdb.shared_events.is_head is 'Whether no other event replaces it.';
comment on column ragdb.shared_events.peer is 'Peer that brought it; null for one made here.';
comment on column ragdb.shared_events.peer_position is
  'Position that it has at that peer; null where that was removed since.';
comment on column ragdb.shared_events.arrived_at is 'When it was stored here.';

create table ragdb.shared_documents (
  corpus_id integer not null
    constraint shared_documents_corpus_is_shared references ragdb.shared_corpora on delete cascade,
  source text collate "C" not null,
  hash bytea not null,
  state text not null constraint shared_documents_state_is_known
    check (state in ('present', 'erased', 'waiting')),
  event_id uuid,
  constraint shared_documents_source_is_unique primary key (corpus_id, source)
);
-- as for ragdb.documents
alter table ragdb.shared_documents alter corpus_id set statistics 0;
comment on table ragdb.shared_documents is
  'The event that decides each source of a shared corpus. Read it through '
  'ragdb.list_shared_documents.';
comment on column ragdb.shared_documents.corpus_id is 'The corpus.';
comment on column ragdb.shared_documents.source is 'The source.';
comment on column ragdb.shared_documents.hash is 'Hash of the event that decides.';
comment on column ragdb.shared_documents.state is
  'present, erased, or waiting where the text of the event has not come yet.';
comment on column ragdb.shared_documents.event_id is
  'Event of ragdb.events by which the document got here what the event says. Another one means '
  'that it was changed here since.';

create table ragdb.shared_conflicts (
  corpus_id integer not null
    constraint shared_conflicts_corpus_is_shared references ragdb.shared_corpora on delete cascade,
  loser bytea not null,
  winner bytea not null,
  source text collate "C" not null,
  body text,
  found_at timestamptz not null,
  constraint shared_conflicts_loser_is_unique primary key (corpus_id, loser)
);
create index shared_conflicts_by_source on ragdb.shared_conflicts (corpus_id, source);
comment on table ragdb.shared_conflicts is
  'Changes of one source whose authors did not know of each other: which was taken, and what the '
  'other one said. Read it through ragdb.list_conflicts.';
comment on column ragdb.shared_conflicts.corpus_id is 'The corpus.';
comment on column ragdb.shared_conflicts.loser is 'Hash of the event that was not taken.';
comment on column ragdb.shared_conflicts.winner is 'Hash of the event that was taken.';
comment on column ragdb.shared_conflicts.source is 'The source.';
comment on column ragdb.shared_conflicts.body is
  'Document of the event that was not taken; null where it was erased or never came.';
comment on column ragdb.shared_conflicts.found_at is 'When the conflict was found here.';
