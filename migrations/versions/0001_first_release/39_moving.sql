-- Moves of corpora between databases: each side keeps what it has come to, so that a move can be
-- taken up again or left after any accident.

create table ragdb.moves (
  move_id uuid not null,
  direction text collate "C" not null
    constraint moves_direction_is_known check (direction in ('out', 'in')),
  corpus_id integer not null,
  corpus text collate "C" not null,
  peer text not null,
  state text collate "C" not null
    constraint moves_state_is_known check (state in (
      'copying', 'ready', 'done', 'left')),
  begun_at timestamptz not null,
  begun_by text collate "C" not null,
  header jsonb not null
    constraint moves_header_is_an_object check (jsonb_typeof(header) = 'object'),
  receipt bytea,
  page_no integer not null default 0,
  walked_to integer not null default 0,
  is_walked boolean not null default false,
  page_to integer,
  page_version bigint,
  page_keys text[] collate "C" not null default '{}',
  held_xid xid8,
  held_at timestamptz,
  held_until timestamptz,
  digest jsonb,
  ended_at timestamptz,
  constraint moves_are_unique primary key (move_id, direction)
);
create index moves_by_corpus on ragdb.moves (corpus_id);
comment on table ragdb.moves is
  'Moves of corpora out of this database and into it, those that are over too. Read it through '
  'ragdb.list_moves.';
comment on column ragdb.moves.move_id is 'Id of the move, the same on both sides.';
comment on column ragdb.moves.direction is 'out of this database or in.';
comment on column ragdb.moves.corpus_id is 'The corpus here.';
comment on column ragdb.moves.corpus is 'Its name.';
comment on column ragdb.moves.peer is 'The other database, as whoever moves the corpus calls it.';
comment on column ragdb.moves.state is
  'copying, ready (all is here and compared, but nobody sees it), done, or left (given up).';
comment on column ragdb.moves.begun_at is 'When it began.';
comment on column ragdb.moves.begun_by is 'Role that began it.';
comment on column ragdb.moves.header is 'Settings, embedder and rights of the corpus as it began.';
comment on column ragdb.moves.receipt is
  'Proof that the corpus is closed where it was, 32 bytes: where it leaves the proof, where it '
  'arrives, and is opened by it, the SHA-256 of it.';
comment on column ragdb.moves.page_no is 'Number of the page that was made last.';
comment on column ragdb.moves.walked_to is
  'Number of the last document of the first copy that has arrived.';
comment on column ragdb.moves.is_walked is 'Whether the first copy has arrived.';
comment on column ragdb.moves.page_to is
  'Number of the last document of the page; null where it is a page of changes.';
comment on column ragdb.moves.page_version is 'Version of the corpus up to which its changes are.';
comment on column ragdb.moves.page_keys is 'Changes of the page: d and a number, or s and a uri.';
comment on column ragdb.moves.held_xid is 'Transaction that held the writers.';
comment on column ragdb.moves.held_at is 'When it took them.';
comment on column ragdb.moves.held_until is 'When it had to have let them go.';
comment on column ragdb.moves.digest is 'What both sides agreed on at the end.';
comment on column ragdb.moves.ended_at is 'When it was done or left; null before.';

create table ragdb.move_changes (
  corpus_id integer not null
    constraint move_changes_corpus_exists references ragdb.corpora on delete cascade,
  key text collate "C" not null,
  version bigint not null,
  constraint move_changes_are_unique primary key (corpus_id, key, version)
);
comment on table ragdb.move_changes is
  'What was written to a corpus since it began to leave, until it has arrived. ragdb.move_page '
  'reads it.';
comment on column ragdb.move_changes.corpus_id is 'The corpus.';
comment on column ragdb.move_changes.key is
  'd and the number of a document that changed or is gone, or s and the uri of a source.';
comment on column ragdb.move_changes.version is 'Version of the corpus that changed it.';

create table ragdb.move_documents (
  corpus_id integer not null
    constraint move_documents_corpus_exists references ragdb.corpora on delete cascade,
  number integer not null,
  source text collate "C" not null,
  hash bytea not null,
  is_checked boolean not null default false,
  constraint move_documents_are_unique primary key (corpus_id, number)
);
create index move_documents_unchecked on ragdb.move_documents (corpus_id, number)
  where not is_checked;
comment on table ragdb.move_documents is
  'The documents of a moving corpus as they left, on both sides. ragdb.move_digest reads it.';
comment on column ragdb.move_documents.corpus_id is 'The corpus here.';
comment on column ragdb.move_documents.number is 'Number of the document where it left.';
comment on column ragdb.move_documents.source is 'Its first source.';
comment on column ragdb.move_documents.hash is
  'SHA-256 of the document with its chunks, edges and embeddings as it left.';
comment on column ragdb.move_documents.is_checked is
  'Whether what arrived was found to have this hash.';
