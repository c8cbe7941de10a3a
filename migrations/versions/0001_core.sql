-- State of the core: corpora, documents, chunks, the graph between chunks, the lexical index, traces.
-- Runs once, as ragdb_owner, with pgvector's schema in the search path. Comments live in sql/.
-- Corpus id comes first in every key, so that the schema can be distributed and partitioned by corpus.

create table ragdb.settings (
  key text collate "C" constraint settings_key_is_unique primary key,
  value jsonb not null
);

create table ragdb.corpora (
  corpus_id integer constraint corpora_id_is_unique primary key,
  name text collate "C" not null
    constraint corpora_name_is_a_slug check (name ~ '^[a-z0-9-]{1,64}$'),
  -- the role whose corpus `personal` this is; null for every corpus that roles may share
  personal_of text collate "C",
  title text,
  text_config text collate "C" not null,
  k1 float8 not null constraint corpora_k1_is_in_range check (k1 between 0 and 10),
  b float8 not null constraint corpora_b_is_in_range check (b between 0 and 1),
  pivot float8 not null constraint corpora_pivot_is_positive check (pivot > 0),
  record_query_text text not null default 'full'
    constraint corpora_record_query_text_is_known check (record_query_text in ('full', 'hash', 'none')),
  version bigint not null default 0,
  version_xid xid8,
  documents integer not null default 0,
  chunks integer not null default 0,
  lexeme_count bigint not null default 0,
  token_count bigint not null default 0,
  size_bytes bigint not null default 0,
  next_doc_no integer not null default 1,
  next_chunk_no integer not null default 1,
  next_term_id integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint corpora_name_is_unique unique nulls not distinct (name, personal_of),
  constraint corpora_personal_has_a_role check ((name = 'personal') = (personal_of is not null))
);

create table ragdb.corpus_grants (
  corpus_id integer not null
    constraint corpus_grants_corpus_exists references ragdb.corpora on delete cascade,
  role text collate "C" not null,
  privilege text not null
    constraint corpus_grants_privilege_is_known check (privilege in ('read', 'write', 'admin')),
  constraint corpus_grants_role_is_unique_per_corpus primary key (corpus_id, role)
);

create table ragdb.blobs (
  cid text collate "C" constraint blobs_cid_is_unique primary key,
  bytes bytea not null,
  media_type text not null,
  size bigint not null
);
-- file bytes are mostly compressed already: out of line and untouched
alter table ragdb.blobs alter bytes set storage external;

create table ragdb.documents (
  corpus_id integer not null
    constraint documents_corpus_exists references ragdb.corpora on delete cascade,
  doc_no integer not null,
  doc_cid text collate "C" not null
    constraint documents_cid_is_a_sha256 check (doc_cid ~ '^sha256:[0-9a-f]{64}$'),
  title text,
  language text,
  media_type text not null,
  metadata jsonb not null default '{}'
    constraint documents_metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
  -- {"chunker": "para-sent/1", "strategy": …, "max_tokens": …, "overlap": …, "unit": …}
  chunking jsonb not null,
  -- ids that the caller gave: front matter `id`, JSONL `_id`
  external_id text collate "C",
  -- what its chunks are named after; the byte-wise smallest of its sources
  source_name text collate "C" not null,
  source text collate "C" not null,
  size_bytes bigint not null,
  pages integer,
  chunks integer not null,
  tokens bigint not null,
  event_id uuid not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint documents_number_is_unique_per_corpus primary key (corpus_id, doc_no),
  constraint documents_cid_is_unique_per_corpus unique (corpus_id, doc_cid)
);
create index documents_by_metadata on ragdb.documents using gin (metadata jsonb_path_ops);
create index documents_by_source on ragdb.documents (corpus_id, source);

create table ragdb.document_sources (
  corpus_id integer not null,
  uri text collate "C" not null,
  doc_no integer not null,
  source_name text collate "C" not null default '',
  etag text,
  seen_at timestamptz not null,
  constraint document_sources_uri_is_unique_per_corpus primary key (corpus_id, uri),
  constraint document_sources_document_exists foreign key (corpus_id, doc_no)
    references ragdb.documents on delete cascade
);
create index document_sources_by_document on ragdb.document_sources (corpus_id, doc_no);

create table ragdb.chunks (
  corpus_id integer not null,
  chunk_no integer not null,
  doc_no integer not null,
  ordinal integer not null,
  chunk_id text collate "C" not null,
  source text collate "C" not null,
  heading text[] not null default '{}',
  page integer,
  start_offset integer not null,
  end_offset integer not null,
  token_count integer not null,
  content_hash bytea not null,
  citation jsonb,
  text text not null,
  -- with the id, because a slice reads it of every neighbour and nothing else
  constraint chunks_number_is_unique_per_corpus primary key (corpus_id, chunk_no) include (chunk_id),
  constraint chunks_id_is_unique_per_corpus unique (corpus_id, chunk_id),
  constraint chunks_ordinal_is_unique_per_document
    unique (corpus_id, doc_no, ordinal) deferrable initially immediate,
  constraint chunks_document_exists foreign key (corpus_id, doc_no)
    references ragdb.documents on delete cascade,
  constraint chunks_offsets_are_a_range check (0 <= start_offset and start_offset <= end_offset)
);

create table ragdb.edges (
  corpus_id integer not null,
  parent_no integer not null,
  child_no integer not null,
  edge_type text collate "C" not null
    constraint edges_type_is_known check (edge_type in ('reply', 'branch', 'reference', 'default')),
  -- the child's, kept here so that the best children of a hub are one index range
  child_salience real not null default 0.5,
  constraint edges_are_unique primary key (corpus_id, parent_no, child_no, edge_type),
  constraint edges_join_two_chunks check (parent_no <> child_no),
  constraint edges_parent_exists foreign key (corpus_id, parent_no)
    references ragdb.chunks on delete cascade,
  constraint edges_child_exists foreign key (corpus_id, child_no)
    references ragdb.chunks on delete cascade
);
create index edges_by_salience on ragdb.edges (corpus_id, parent_no, child_salience desc, child_no);
create index edges_by_child on ragdb.edges (corpus_id, child_no, parent_no);

-- hyperlinks as written; one becomes a reference edge when its target is in the corpus
create table ragdb.document_links (
  corpus_id integer not null,
  chunk_no integer not null,
  target text collate "C" not null,
  constraint document_links_are_unique primary key (corpus_id, chunk_no, target),
  constraint document_links_chunk_exists foreign key (corpus_id, chunk_no)
    references ragdb.chunks on delete cascade
);
create index document_links_by_target on ragdb.document_links (corpus_id, target);

-- one row: the clock of events. Its row lock orders writers, so that a reader who has seen tick n has seen all before
create table ragdb.event_clock (
  id boolean constraint event_clock_has_one_row primary key
    constraint event_clock_row_is_true check (id),
  lamport bigint not null,
  -- time of the last event's id; ids never go back, even when the machine's clock does
  at timestamptz not null
);

create table ragdb.events (
  lamport bigint constraint events_lamport_is_unique primary key,
  event_id uuid not null constraint events_id_is_unique unique,
  kind text not null,
  created_at timestamptz not null,
  author text not null,
  corpus_id integer not null,
  corpus text not null,
  doc_cid text not null,
  title text,
  language text,
  chunks integer not null
);

-- The lexical index. It is derived: `repair` rebuilds it from chunks, so it carries no foreign keys.
create table ragdb.lexemes (
  corpus_id integer not null,
  lexeme text collate "C" not null,
  term_id integer not null,
  df integer not null,
  max_impact real not null,
  constraint lexemes_are_unique_per_corpus primary key (corpus_id, lexeme),
  constraint lexemes_term_id_is_unique_per_corpus unique (corpus_id, term_id)
);

create table ragdb.chunk_lexemes (
  corpus_id integer not null,
  chunk_no integer not null,
  lexeme_count integer not null,
  impacts sparsevec not null,
  lexemes tsvector not null,
  constraint chunk_lexemes_chunk_is_unique primary key (corpus_id, chunk_no)
);
-- scoring reads impacts of every candidate and never lexemes
alter table ragdb.chunk_lexemes alter impacts set storage main;
alter table ragdb.chunk_lexemes alter lexemes set storage external;
-- ragdb._index_chunks empties the pending list before it returns; in kB, more than one call adds
create index chunk_lexemes_by_lexeme on ragdb.chunk_lexemes
  using gin (lexemes) with (gin_pending_list_limit = 262144);

-- Frequent lexemes turned the other way round: a row has what one of them weighs in 16,000 chunks
create table ragdb.block_states (
  corpus_id integer constraint block_states_corpus_is_unique primary key
    constraint block_states_corpus_exists references ragdb.corpora on delete cascade,
  last_chunk_no integer not null,
  stale_chunks integer[] not null default '{}'
);

create table ragdb.term_blocks (
  corpus_id integer not null
    constraint term_blocks_state_exists references ragdb.block_states on delete cascade,
  term_id integer not null,
  block_no integer not null,
  weight float8 not null,
  scores sparsevec not null,
  constraint term_blocks_are_unique primary key (corpus_id, term_id, block_no)
);
alter table ragdb.term_blocks alter scores set storage external;
-- Of a corpus that is new since the last analyze, statistics say that it has no rows, and then any index that begins
-- with corpus_id looks as good as the right one: 10,000 lookups scanned the corpus each. Without statistics of that
-- column a corpus is taken for a two-hundredth of the table, and a unique key for the one row that it is.
alter table ragdb.documents alter corpus_id set statistics 0;
alter table ragdb.document_sources alter corpus_id set statistics 0;
alter table ragdb.chunks alter corpus_id set statistics 0;
alter table ragdb.edges alter corpus_id set statistics 0;
alter table ragdb.document_links alter corpus_id set statistics 0;
alter table ragdb.lexemes alter corpus_id set statistics 0;
alter table ragdb.chunk_lexemes alter corpus_id set statistics 0;

-- Traces: append-only, partitioned by month. Keys, indexes and triggers are put on each partition by
-- ragdb._make_partition, because a parent that carries them restores empty from an extension's dump.
create table ragdb.retrieval_traces (
  corpus_id integer not null,
  id uuid not null,
  created_at timestamptz not null,
  corpus text not null,
  retriever text,
  rag text,
  retrieval_mode text not null
    constraint traces_retrieval_mode_is_known check (retrieval_mode in ('slice', 'global')),
  rank_mode text
    constraint traces_rank_mode_is_known
      check (rank_mode in ('lexical', 'semantic', 'hybrid', 'reference')),
  query_text text,
  query_hash text,
  query_embedding_hash text,
  embedding_model text,
  slice_id text,
  anchor_chunk_id text,
  slice_chunk_count integer,
  slice_edge_count integer,
  policy_id text,
  policy_params_hash text,
  schema_version text,
  graph_snapshot_hash text,
  admissibility_token text,
  is_admissible boolean not null default false,
  admissibility_shortfall boolean not null default false,
  shortfall_reason text,
  limit_requested integer,
  limit_returned integer not null,
  min_score float8,
  filters jsonb,
  chunk_ids text[],
  statistics text,
  ranking_hash text,
  result_hash text,
  corpus_version bigint not null,
  is_exact boolean not null,
  elapsed_ms float8 not null,
  error_code text,
  client text,
  caller text not null,
  otel_trace_id text,
  otel_span_id text,
  trace_hash bytea not null,
  trace_mac bytea,
  -- a call that failed may have failed for want of either
  constraint traces_success_has_its_arguments
    check (error_code is not null or (rank_mode is not null and limit_requested is not null)),
  constraint traces_admissible_means_a_complete_slice check (
    not is_admissible or (retrieval_mode = 'slice' and slice_id is not null
      and anchor_chunk_id is not null and policy_id is not null and policy_params_hash is not null
      and schema_version is not null and graph_snapshot_hash is not null
      and admissibility_token is not null and not admissibility_shortfall and error_code is null)),
  constraint traces_shortfall_has_a_reason check (admissibility_shortfall = (shortfall_reason is not null))
) partition by range (created_at);

create table ragdb.retrieval_hits (
  corpus_id integer not null,
  trace_id uuid not null,
  created_at timestamptz not null,
  rank integer not null,
  chunk_id text collate "C" not null,
  content_hash bytea not null,
  score float8 not null,
  lexical_score float8,
  semantic_score float8,
  lexical_rank integer,
  semantic_rank integer
) partition by range (created_at);
