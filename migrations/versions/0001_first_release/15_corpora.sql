-- Corpora, and who may do what with them.

create table ragdb.corpora (
  corpus_id integer constraint corpora_id_is_unique primary key,
  name text collate "C" not null
    constraint corpora_name_is_a_slug check (name ~ '^[a-z0-9-]{1,64}$'),
  personal_of text collate "C",
  personal_oid oid,
  part_of integer,
  parts integer not null default 0
    constraint corpora_parts_are_counted check (parts >= 0),
  is_restricted boolean not null default false,
  record_reads text not null default 'off'
    constraint corpora_record_reads_is_known
      check (record_reads in ('off', 'on', 'required')),
  title text,
  text_config text collate "C" not null,
  k1 float8 not null constraint corpora_k1_is_in_range check (k1 between 0 and 10),
  b float8 not null constraint corpora_b_is_in_range check (b between 0 and 1),
  pivot float8 not null constraint corpora_pivot_is_positive check (pivot > 0),
  record_query_text text not null default 'full'
    constraint corpora_record_query_text_is_known
      check (record_query_text in ('full', 'hash', 'none')),
  version bigint not null default 0,
  version_xid xid8,
  lamport bigint not null default 0,
  import_xid xid8,
  moving text collate "C"
    constraint corpora_moving_is_known check (moving in ('leaving', 'moved', 'arriving')),
  documents integer not null default 0,
  chunks integer not null default 0,
  lexeme_count bigint not null default 0,
  token_count bigint not null default 0,
  size_bytes bigint not null default 0,
  languages jsonb not null default '{}'
    constraint corpora_languages_are_counts check (jsonb_typeof(languages) = 'object'),
  next_doc_no integer not null default 1,
  next_chunk_no integer not null default 1,
  next_term_id integer not null default 1,
  optimized_to integer not null default 1,
  analysed_by integer not null default current_setting('server_version_num')::integer / 10000,
  has_synonyms boolean not null default false,
  history interval constraint corpora_history_is_positive check (history > interval '0'),
  history_from bigint,
  history_since timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint corpora_name_is_unique
    unique nulls not distinct (name, personal_of, personal_oid),
  constraint corpora_personal_has_a_role check (
    (name = 'personal') = (personal_of is not null)
    and (personal_of is null) = (personal_oid is null)),
  constraint corpora_part_has_no_parts check (part_of is null or parts = 0 and name <> 'personal'),
  constraint corpora_history_has_a_beginning check (
    (history is null) = (history_from is null) and (history is null) = (history_since is null))
);
-- one corpus is dropped, and whoever lists the parts of one reads those alone
create index corpora_by_whole on ragdb.corpora (part_of) where part_of is not null;
comment on table ragdb.corpora is
  'Named sets of documents, how each is searched, and their exact counters. Whoever writes to a '
  'corpus locks its row. Read it through ragdb.list_corpora, ragdb.corpus_info and bi.dim_corpus.';
comment on column ragdb.corpora.corpus_id is
  'Number of the corpus. It is never given out again, so old traces stay with their corpus.';
comment on column ragdb.corpora.name is 'Name: 1 to 64 of a-z, 0-9 and -.';
comment on column ragdb.corpora.personal_of is
  'Role that the corpus "personal" belongs to; null for a corpus that roles may share.';
comment on column ragdb.corpora.personal_oid is
  'Oid of that role. Another role of the same name has another oid, and no right to it.';
comment on column ragdb.corpora.part_of is
  'Corpus that it is a part of; null for one that stands alone. A part ranks by the pivot and the '
  'statistics of its whole.';
comment on column ragdb.corpora.parts is
  'How many parts it has. A corpus with parts has no documents: its chunks, lexemes and pivot are '
  'what its parts rank by.';
comment on column ragdb.corpora.is_restricted is
  'Whether only admins and the roles of corpus_grants have a right to it. It stays true, also '
  'without any grant, until ragdb.unrestrict_corpus.';
comment on column ragdb.corpora.record_reads is
  'Whether reads of it are events of access: off, on (where the transaction can write), or '
  'required (a read that cannot be recorded is refused).';
comment on column ragdb.corpora.title is 'Title for people.';
comment on column ragdb.corpora.text_config is
  'Text configuration of pg_catalog that turns its texts and queries into lexemes.';
comment on column ragdb.corpora.k1 is 'BM25 saturation of term frequency, 0 to 10.';
comment on column ragdb.corpora.b is 'BM25 weight of length, 0 to 1.';
comment on column ragdb.corpora.pivot is
  'Length in lexemes at which BM25 neither rewards nor punishes. The first '
  'chunks set it where they are 1,000 at least; then it stays until ragdb.optimize_corpus.';
comment on column ragdb.corpora.record_query_text is
  'What traces keep of a query: full, hash or none.';
comment on column ragdb.corpora.version is
  'Number that every transaction that writes to the corpus raises once.';
comment on column ragdb.corpora.version_xid is 'Transaction that raised the version last.';
comment on column ragdb.corpora.lamport is
  'Tick of its last event, in microseconds since 1970; before the first, of the last event of a '
  'corpus of that name that was dropped. It never goes back, even when the machine''s clock does.';
comment on column ragdb.corpora.import_xid is
  'Transaction that is importing the corpus; null when none is.';
comment on column ragdb.corpora.moving is
  'What its move to another database, or from one, has come to: leaving (its changes are noted), '
  'moved (closed, and open elsewhere), arriving (not there for anybody yet); null where it does '
  'not move.';
comment on column ragdb.corpora.documents is 'Number of documents of the corpus.';
comment on column ragdb.corpora.chunks is
  'Number of chunks of the corpus: N of BM25. Of a corpus with parts, theirs as of the last '
  'ragdb.sync_statistics, with those of parts on other servers.';
comment on column ragdb.corpora.lexeme_count is 'Lexemes of all chunks, each occurrence counted.';
comment on column ragdb.corpora.token_count is 'Tokens of all chunks, as the chunker counted them.';
comment on column ragdb.corpora.size_bytes is 'Bytes of all documents.';
comment on column ragdb.corpora.languages is
  'Number of documents by language, an object of counts over 0. Documents without a language are '
  'not counted.';
comment on column ragdb.corpora.next_doc_no is 'Number of the next document.';
comment on column ragdb.corpora.next_chunk_no is 'Number of the next chunk.';
comment on column ragdb.corpora.next_term_id is 'Number of the next lexeme.';
comment on column ragdb.corpora.optimized_to is
  'What next_chunk_no was when the index was brought up to date last.';
comment on column ragdb.corpora.analysed_by is
  'Major version of PostgreSQL in which the corpus was made, or repaired last: its lexemes are of '
  'this version or a later one.';
comment on column ragdb.corpora.has_synonyms is 'Whether ragdb.synonyms has rows of the corpus.';
comment on column ragdb.corpora.history is
  'How long the corpus can still be searched as it was; null where it keeps no history.';
comment on column ragdb.corpora.history_from is
  'Earliest version that it can be searched as of; null where it keeps no history.';
comment on column ragdb.corpora.history_since is
  'When that version was the present one, at the latest; null where it keeps no history.';
comment on column ragdb.corpora.created_at is 'When the corpus was created.';
comment on column ragdb.corpora.updated_at is
  'Start of the transaction that wrote to the corpus last.';

create table ragdb.part_states (
  corpus_id integer constraint part_states_corpus_is_unique primary key
    constraint part_states_corpus_exists references ragdb.corpora on delete cascade,
  version bigint not null,
  chunks integer not null,
  lexeme_count bigint not null,
  lexemes text[] collate "C" not null,
  dfs integer[] not null,
  synced_at timestamptz not null,
  digest bytea not null
);
comment on table ragdb.part_states is
  'What the statistics of a whole count of each of its parts, as of the last '
  'ragdb.sync_statistics. Read it through ragdb.list_parts.';
comment on column ragdb.part_states.corpus_id is 'The part.';
comment on column ragdb.part_states.version is 'Version of the part that was counted.';
comment on column ragdb.part_states.chunks is 'Its chunks then.';
comment on column ragdb.part_states.lexeme_count is 'Its lexemes then, each occurrence counted.';
comment on column ragdb.part_states.lexemes is 'The lexemes that it had then.';
comment on column ragdb.part_states.dfs is 'How many of its chunks had each of these lexemes.';
comment on column ragdb.part_states.synced_at is 'When it was counted.';
comment on column ragdb.part_states.digest is
  'SHA-256 of chunks, lexeme_count, lexemes and dfs: servers see by it whether they count alike.';

create table ragdb.parts_elsewhere (
  corpus_id integer not null
    constraint parts_elsewhere_corpus_exists references ragdb.corpora on delete cascade,
  name text collate "C" not null
    constraint parts_elsewhere_name_is_a_slug check (name ~ '^[a-z0-9-]{1,64}$'),
  version bigint not null,
  chunks integer not null,
  lexeme_count bigint not null,
  lexemes text[] collate "C" not null,
  dfs integer[] not null,
  synced_at timestamptz not null,
  digest bytea not null,
  constraint parts_elsewhere_name_is_unique_per_corpus primary key (corpus_id, name)
);
comment on table ragdb.parts_elsewhere is
  'What the statistics of a whole count of its parts on other servers, as these gave it. Read it '
  'through ragdb.list_parts and ragdb.part_statistics.';
comment on column ragdb.parts_elsewhere.corpus_id is 'The whole.';
comment on column ragdb.parts_elsewhere.name is
  'Name of the part, which is its own on all servers.';
comment on column ragdb.parts_elsewhere.version is 'Version of the part that was counted there.';
comment on column ragdb.parts_elsewhere.chunks is 'Its chunks then.';
comment on column ragdb.parts_elsewhere.lexeme_count is
  'Its lexemes then, each occurrence counted.';
comment on column ragdb.parts_elsewhere.lexemes is 'The lexemes that it had then.';
comment on column ragdb.parts_elsewhere.dfs is 'How many of its chunks had each of these lexemes.';
comment on column ragdb.parts_elsewhere.synced_at is 'When it was counted there.';
comment on column ragdb.parts_elsewhere.digest is
  'SHA-256 of chunks, lexeme_count, lexemes and dfs, as this server computed it.';

create table ragdb.corpus_grants (
  corpus_id integer not null
    constraint corpus_grants_corpus_exists references ragdb.corpora on delete cascade,
  role text collate "C" not null,
  role_oid oid not null,
  privilege text not null
    constraint corpus_grants_privilege_is_known check (privilege in ('read', 'write', 'admin')),
  constraint corpus_grants_role_is_unique_per_corpus
    primary key (corpus_id, role, role_oid)
);
comment on table ragdb.corpus_grants is
  'Rights of roles to a restricted corpus. A corpus that is not restricted is open to '
  'ragdb_reader and ragdb_writer and has no row here. Read it through ragdb.list_grants; the '
  'caller reads its own right through ragdb.corpus_info.';
comment on column ragdb.corpus_grants.corpus_id is 'The corpus.';
comment on column ragdb.corpus_grants.role is 'Database role. Its members have the right too.';
comment on column ragdb.corpus_grants.role_oid is
  'Oid of that role. Another role of the same name has another oid, and not the right.';
comment on column ragdb.corpus_grants.privilege is
  'The right: read, write (may read too) or admin (may write too).';

create table ragdb.role_bindings (
  role text collate "C" not null,
  bound_to text collate "C" not null,
  bound_oid oid not null,
  bound_at timestamptz not null,
  bound_by text not null,
  constraint role_bindings_are_unique primary key (role, bound_to, bound_oid)
);
comment on table ragdb.role_bindings is
  'Whom the owner of the database said a role that was gone to be. Traces cannot be rewritten, so '
  'whoever is bound reads those of the earlier role through this. Written by ragdb.bind_role. '
  'Read it through ragdb.dead_roles.';
comment on column ragdb.role_bindings.role is 'Name of the role that was gone.';
comment on column ragdb.role_bindings.bound_to is 'Role that has its rights since.';
comment on column ragdb.role_bindings.bound_oid is 'Oid of that role.';
comment on column ragdb.role_bindings.bound_at is 'When it was bound. Later traces are not meant.';
comment on column ragdb.role_bindings.bound_by is 'Role that said so.';
