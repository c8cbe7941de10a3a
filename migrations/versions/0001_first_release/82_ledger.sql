-- The sealed ledger: a log in which every row that counts as evidence is entered once, in a Merkle
-- tree of RFC 6962.

-- Without a key or index: who writes evidence only inserts, and waits for nobody.
create table ragdb.ledger_pending (
  kind text collate "C" not null,
  id text collate "C" not null,
  hash bytea
);
-- without a key nothing may be deleted where a publication has the table
alter table ragdb.ledger_pending replica identity full;
comment on table ragdb.ledger_pending is
  'Rows of evidence that wait to be sealed. Read their number through ragdb.ledger_status.';
comment on column ragdb.ledger_pending.kind is 'Kind of the row, such as trace.';
comment on column ragdb.ledger_pending.id is
  'Id of the row: of what belongs to a corpus, the number of the corpus, / and its own id.';
comment on column ragdb.ledger_pending.hash is
  'SHA-256 of the row, where its writer had it; null where the sealer computes it.';

create table ragdb.ledger_leaves (
  number bigint constraint ledger_leaves_number_is_unique primary key
    constraint ledger_leaves_number_is_not_negative check (number >= 0),
  kind text collate "C" not null
    constraint ledger_leaves_kind_is_short check (length(kind) between 1 and 64),
  id text collate "C" not null
    constraint ledger_leaves_id_is_short check (length(id) between 1 and 1000),
  hash bytea not null constraint ledger_leaves_hash_is_a_sha256 check (length(hash) = 32),
  sealed_at timestamptz not null,
  constraint ledger_leaves_row_is_sealed_once unique (kind, id)
);
comment on table ragdb.ledger_leaves is
  'The entries of the ledger, one for each row of evidence, numbered from 0 without a gap. '
  'Append-only. Read it through ragdb.ledger_entries.';
comment on column ragdb.ledger_leaves.number is 'Place in the ledger, from 0.';
comment on column ragdb.ledger_leaves.kind is 'Kind of the row (see ragdb.ledger_kinds).';
comment on column ragdb.ledger_leaves.id is 'Id of the row.';
comment on column ragdb.ledger_leaves.hash is
  'SHA-256 of the row when it was sealed; 32 zero bytes where it was gone before.';
comment on column ragdb.ledger_leaves.sealed_at is
  'When the entry was sealed. It never falls, even when the machine''s clock does.';

create table ragdb.ledger_tiles (
  level smallint not null constraint ledger_tiles_level_is_known check (level between 0 and 7),
  index bigint not null constraint ledger_tiles_index_is_not_negative check (index >= 0),
  -- hashes do not compress, and a part of one is read without the rest
  hashes bytea storage external not null constraint ledger_tiles_hashes_are_sha256
    check (length(hashes) % 32 = 0 and length(hashes) between 32 and 8192),
  constraint ledger_tiles_are_unique primary key (level, index)
);
comment on table ragdb.ledger_tiles is
  'The Merkle tree over the entries, as C2SP tlog-tiles cuts it. Read it through '
  'ragdb.ledger_tile.';
comment on column ragdb.ledger_tiles.level is
  'Level: 0 holds the hashes of leaves, each higher one the roots of the full tiles below.';
comment on column ragdb.ledger_tiles.index is 'Place in the level, from 0.';
comment on column ragdb.ledger_tiles.hashes is 'Up to 256 hashes of 32 bytes.';

create table ragdb.ledger_head (
  id boolean constraint ledger_head_has_one_row primary key
    constraint ledger_head_row_is_true check (id),
  size bigint not null,
  sealed_at timestamptz not null
);
comment on table ragdb.ledger_head is
  'Where the ledger ends, a single row. Whoever seals locks it, so that one seals at a time. Read '
  'it through ragdb.ledger_status.';
comment on column ragdb.ledger_head.id is 'Always true.';
comment on column ragdb.ledger_head.size is 'Number of entries.';
comment on column ragdb.ledger_head.sealed_at is 'When the last entry was sealed.';

create table ragdb.ledger_acts (
  act_id uuid constraint ledger_acts_id_is_unique primary key,
  created_at timestamptz not null,
  act text not null,
  caller text not null,
  kinds text[] not null,
  corpus_id integer,
  from_at timestamptz,
  to_at timestamptz,
  entries text[] collate "C" not null,
  reason text not null
);
-- who verifies asks it of each row that is gone, and would read all that is pending each time
create index ledger_acts_by_entry on ragdb.ledger_acts using gin (entries) with (fastupdate = off);
comment on table ragdb.ledger_acts is
  'What was done to evidence on purpose: rows dropped by age, erased or dropped with a corpus, '
  'documents deleted, history erased or dropped, and the ledger switched on or off. Append-only. '
  'Read it through ragdb.list_ledger_acts.';
comment on column ragdb.ledger_acts.act_id is 'UUID of version 7.';
comment on column ragdb.ledger_acts.created_at is 'When it was done.';
comment on column ragdb.ledger_acts.act is
  'retention, erasure, corpus_dropped, traces_erased, caller_erased, deletion, history_erased, '
  'history_dropped, ledger_on or ledger_off.';
comment on column ragdb.ledger_acts.caller is 'Role that did it.';
comment on column ragdb.ledger_acts.kinds is 'Kinds of the rows that it took away or changed.';
comment on column ragdb.ledger_acts.corpus_id is
  'Corpus whose rows it took away; null where it was not one corpus.';
comment on column ragdb.ledger_acts.from_at is
  'Time from which on it took rows away; null without a first time.';
comment on column ragdb.ledger_acts.to_at is
  'Time before which it took rows away; null without a last time.';
comment on column ragdb.ledger_acts.entries is
  'Rows that it took away or changed one by one, each as kind:id; of a document the id is its '
  'event.';
comment on column ragdb.ledger_acts.reason is 'Why, and how much.';

create table ragdb.recorded_states (
  state_id uuid constraint recorded_states_id_is_unique primary key,
  created_at timestamptz not null,
  corpus_id integer,
  kind text collate "C" not null,
  key text collate "C" not null,
  nth integer not null,
  hash bytea,
  caller text not null,
  constraint recorded_states_are_numbered
    unique nulls not distinct (corpus_id, kind, key, nth)
);
comment on table ragdb.recorded_states is
  'What settings, synonyms, cases, baselines, added edges, originals and the contract in force '
  'were after each change. '
  'Append-only. Read it through ragdb.verify.';
comment on column ragdb.recorded_states.state_id is 'UUID of version 7.';
comment on column ragdb.recorded_states.created_at is 'When it was changed.';
comment on column ragdb.recorded_states.corpus_id is
  'Corpus that it belongs to; null for a contract. It may be gone.';
comment on column ragdb.recorded_states.kind is
  'settings, synonyms, cases, baseline, contract, edge or original.';
comment on column ragdb.recorded_states.key is
  'Which of its kind: rag and eval, for a baseline its name too, the contract, the chunks and '
  'the type of an edge, or the cid of an original; else empty.';
comment on column ragdb.recorded_states.nth is
  'Number among the records of the same thing, from 1; the last one counts, whatever the clock.';
comment on column ragdb.recorded_states.hash is
  'SHA-256 of it after the change; null where there is none since.';
comment on column ragdb.recorded_states.caller is 'Role that changed it.';

create table ragdb.ledger_checkpoints (
  size bigint constraint ledger_checkpoints_size_is_unique primary key,
  root bytea not null constraint ledger_checkpoints_root_is_a_sha256 check (length(root) = 32),
  note text not null,
  created_at timestamptz not null
);
comment on table ragdb.ledger_checkpoints is
  'Signed checkpoints of the ledger. Each is kept outside too: the database alone proves nothing '
  'against its owner. Read it through ragdb.list_checkpoints.';
comment on column ragdb.ledger_checkpoints.size is 'Number of entries that it signs.';
comment on column ragdb.ledger_checkpoints.root is 'Root of the tree over them.';
comment on column ragdb.ledger_checkpoints.note is
  'The signed note (C2SP tlog-checkpoint), with the signatures of witnesses.';
comment on column ragdb.ledger_checkpoints.created_at is 'When it was first stored.';
