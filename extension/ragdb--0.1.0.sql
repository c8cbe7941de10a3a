-- Made from migrations/ and sql/ by `make extension`; edit those.
\echo use "create extension ragdb cascade" to load this file \quit

-- Roles are the whole server's; making them takes createrole, having them takes nothing.
do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'ragdb_owner') then
    create role ragdb_owner nologin;
  end if;
  if not exists (select from pg_catalog.pg_roles where rolname = 'ragdb_reader') then
    create role ragdb_reader nologin;
  end if;
  if not exists (select from pg_catalog.pg_roles where rolname = 'ragdb_writer') then
    create role ragdb_writer nologin;
    grant ragdb_reader to ragdb_writer;
  end if;
  if not exists (select from pg_catalog.pg_roles where rolname = 'ragdb_admin') then
    create role ragdb_admin nologin;
    grant ragdb_writer to ragdb_admin;
  end if;
  if not pg_catalog.pg_has_role('ragdb_owner', 'set') then
    execute format('grant ragdb_owner to %I with inherit false, set true', current_user);
  end if;
end $$;

-- All belongs to ragdb_owner, whoever installs.
alter schema ragdb owner to ragdb_owner;
set local role ragdb_owner;
set local search_path = pg_catalog, @extschema:vector@;

---- migrations/versions/0001_core.sql

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

---- migrations/versions/0002_vectors.sql

-- State of vectors: embedders, the spaces of a corpus, embeddings of chunks and queries, the queue.
-- Runs once, as ragdb_owner, with pgvector's schema in the search path. Comments live in sql/.

-- What a model promises, whoever runs it; and, last, who runs it here.
create table ragdb.embedders (
  embedder_id integer constraint embedders_id_is_unique primary key,
  name text collate "C" not null constraint embedders_name_is_unique unique
    constraint embedders_name_is_short check (length(name) between 1 and 200),
  model text not null,
  revision text,
  -- the most that an HNSW index over halfvec takes
  dims integer not null constraint embedders_dims_are_in_range check (dims between 1 and 4000),
  metric text not null
    constraint embedders_metric_is_known check (metric in ('cosine', 'ip', 'l2')),
  max_tokens integer not null constraint embedders_max_tokens_are_positive check (max_tokens > 0),
  query_prefix text not null,
  passage_prefix text not null,
  weights_sha256 text collate "C"
    constraint embedders_weights_are_a_sha256 check (weights_sha256 ~ '^[0-9a-f]{64}$'),
  provider text
    constraint embedders_provider_is_known
      check (provider in ('sentence-transformers', 'openai', 'hash')),
  -- what the provider calls the model: a path, a name on the hub or at the endpoint, or hash-v1
  provider_model text,
  created_at timestamptz not null,
  constraint embedders_binding_is_whole check ((provider is null) = (provider_model is null))
);

create table ragdb.embedding_spaces (
  corpus_id integer not null
    constraint embedding_spaces_corpus_exists references ragdb.corpora on delete cascade,
  space_id integer not null constraint embedding_spaces_id_is_unique unique,
  embedder_id integer not null
    constraint embedding_spaces_embedder_exists references ragdb.embedders,
  state text not null
    constraint embedding_spaces_state_is_known check (state in ('building', 'current', 'retired')),
  m integer not null constraint embedding_spaces_m_is_in_range check (m between 2 and 100),
  ef_construction integer not null
    constraint embedding_spaces_ef_construction_is_in_range
      check (ef_construction between 4 and 1000 and ef_construction >= 2 * m),
  is_indexed boolean not null default false,
  -- chunks up to this number are embedded or in the queue
  queued_to integer not null default 0,
  created_at timestamptz not null,
  current_since timestamptz,
  constraint embedding_spaces_id_is_unique_per_corpus primary key (corpus_id, space_id),
  constraint embedding_spaces_embedder_is_unique_per_corpus unique (corpus_id, embedder_id)
);
create unique index embedding_spaces_current_is_one_per_corpus
  on ragdb.embedding_spaces (corpus_id) where state = 'current';

-- One partition a space, with its own key, foreign key and HNSW index: ragdb._make_space makes it. The
-- width is the space's, so the column has none.
create table ragdb.chunk_embeddings (
  space_id integer not null,
  corpus_id integer not null,
  chunk_no integer not null,
  input_hash bytea not null,
  embedding vector not null
) partition by list (space_id);

-- Work to do: one row an input, with the chunks that wait for it. Derived from the chunks without an embedding.
create table ragdb.embedding_jobs (
  corpus_id integer not null,
  space_id integer not null,
  input_hash bytea not null,
  chunk_nos integer[] not null,
  is_dead boolean not null default false,
  -- rises with every claim, and fences the completion
  attempt integer not null default 0,
  failures integer not null default 0,
  worker text,
  due_at timestamptz not null,
  last_error text,
  created_at timestamptz not null,
  constraint embedding_jobs_input_is_unique_per_space primary key (corpus_id, space_id, input_hash),
  constraint embedding_jobs_space_exists foreign key (corpus_id, space_id)
    references ragdb.embedding_spaces on delete cascade
);
create index embedding_jobs_by_due on ragdb.embedding_jobs (corpus_id, space_id, due_at)
  where not is_dead;

-- Under the hash of their own bytes, so that nobody can put another's in place
create table ragdb.query_embeddings (
  corpus_id integer not null
    constraint query_embeddings_corpus_exists references ragdb.corpora on delete cascade,
  embedding_hash bytea not null,
  embedder_id integer not null
    constraint query_embeddings_embedder_exists references ragdb.embedders,
  embedding vector not null,
  created_at timestamptz not null,
  constraint query_embeddings_hash_is_unique_per_corpus
    primary key (corpus_id, embedder_id, embedding_hash)
);

-- Which embedding a query has; without one, it waits for a worker
create table ragdb.embedded_queries (
  corpus_id integer not null
    constraint embedded_queries_corpus_exists references ragdb.corpora on delete cascade,
  embedder_id integer not null
    constraint embedded_queries_embedder_exists references ragdb.embedders,
  query_hash bytea not null,
  embedding_hash bytea,
  -- kept only until the worker has answered
  query_text text,
  attempt integer not null default 0,
  due_at timestamptz not null,
  last_error text,
  constraint embedded_queries_are_unique_per_embedder primary key (corpus_id, embedder_id, query_hash),
  constraint embedded_queries_wait_or_have_an_embedding
    check ((embedding_hash is null) = (query_text is not null)),
  constraint embedded_queries_embedding_exists foreign key (corpus_id, embedder_id, embedding_hash)
    references ragdb.query_embeddings on delete cascade
);
create index embedded_queries_waiting on ragdb.embedded_queries (due_at)
  where embedding_hash is null;

alter table ragdb.retrieval_traces add column ranking jsonb;

---- migrations/versions/0003_graph.sql

-- State of the graph: turns, slice policies, slices, signing keys, atoms, proposals, incidents.

create table ragdb.turns (
  corpus_id integer not null,
  chunk_no integer not null,
  session_id text collate "C" not null,
  role text not null
    constraint turns_role_is_known check (role in ('user', 'assistant', 'system', 'tool')),
  phase text not null constraint turns_phase_is_known
    check (phase in ('exploration', 'debugging', 'planning', 'consolidation', 'synthesis')),
  salience real not null constraint turns_salience_is_a_share check (salience between 0 and 1),
  depth integer not null constraint turns_depth_is_not_negative check (depth >= 0),
  sibling_order integer not null
    constraint turns_sibling_order_is_not_negative check (sibling_order >= 0),
  homogeneity real not null
    constraint turns_homogeneity_is_a_share check (homogeneity between 0 and 1),
  temporal real not null constraint turns_temporal_is_a_share check (temporal between 0 and 1),
  complexity real not null constraint turns_complexity_is_not_negative check (complexity >= 0),
  -- of phase, salience and feedback, what the author of the conversation gave
  given jsonb not null default '{}',
  created_at timestamptz not null,
  constraint turns_are_unique primary key (corpus_id, chunk_no) include (phase, salience),
  constraint turns_chunk_exists foreign key (corpus_id, chunk_no)
    references ragdb.chunks on delete cascade
);
create index turns_by_session on ragdb.turns (corpus_id, session_id, created_at);
create index turns_by_time on ragdb.turns (corpus_id, created_at);

create table ragdb.slice_policies (
  policy_id text collate "C" not null,
  params_hash text collate "C" not null
    constraint slice_policies_params_hash_is_xxh64 check (params_hash ~ '^[0-9a-f]{16}$'),
  -- the bytes that both hashes cover; 64 bits can collide by intent, so tokens cover the sha256
  canonical text collate "C" not null,
  sha256 bytea not null,
  policy jsonb not null,
  created_at timestamptz not null,
  created_by text not null,
  constraint slice_policies_are_unique primary key (policy_id, params_hash)
);

create table ragdb.slices (
  corpus_id integer not null
    constraint slices_corpus_exists references ragdb.corpora on delete cascade,
  slice_id text collate "C" not null,
  anchor_chunk_id text collate "C" not null,
  policy_id text collate "C" not null,
  params_hash text collate "C" not null,
  chunk_ids text[] not null,
  content_hashes bytea[] not null,
  selection_order text[] not null,
  edge_count integer not null,
  schema_version text not null,
  graph_snapshot_hash text not null,
  created_at timestamptz not null,
  constraint slices_are_unique_per_corpus primary key (corpus_id, slice_id),
  constraint slices_policy_exists
    foreign key (policy_id, params_hash) references ragdb.slice_policies
);

create table ragdb.signing_keys (
  key_id text collate "C" constraint signing_keys_id_is_unique primary key
    constraint signing_keys_id_is_a_word check (key_id ~ '^[A-Za-z0-9_-]{1,64}$'),
  secret bytea not null
    constraint signing_keys_secret_is_long_enough check (length(secret) between 32 and 128),
  state text collate "C" not null
    constraint signing_keys_state_is_known check (state in ('active', 'verify_only', 'revoked')),
  created_at timestamptz not null,
  active_until timestamptz,
  not_after timestamptz,
  constraint signing_keys_active_has_no_end
    check ((state = 'active') = (active_until is null))
);
create unique index signing_keys_one_is_active on ragdb.signing_keys (state) where state = 'active';

create table ragdb.semantic_atoms (
  corpus_id integer not null
    constraint semantic_atoms_corpus_exists references ragdb.corpora on delete cascade,
  atom_id uuid not null,
  text text not null,
  source_chunk_ids text[] not null,
  source_slice_id text not null,
  trace_id uuid not null,
  created_at timestamptz not null,
  created_by text not null,
  lexemes tsvector not null,
  constraint semantic_atoms_are_unique_per_corpus primary key (corpus_id, atom_id)
);

create table ragdb.semantic_proposals (
  corpus_id integer not null
    constraint semantic_proposals_corpus_exists references ragdb.corpora on delete cascade,
  proposal_id uuid not null,
  text text not null,
  source_atoms uuid[] not null,
  source_slice_id text not null,
  status text not null constraint semantic_proposals_status_is_known
    check (status in ('open', 'accepted', 'rejected')),
  created_at timestamptz not null,
  created_by text not null,
  lexemes tsvector not null,
  constraint semantic_proposals_are_unique_per_corpus primary key (corpus_id, proposal_id)
);

create table ragdb.admissibility_incidents (
  incident_id uuid constraint admissibility_incidents_id_is_unique primary key,
  created_at timestamptz not null,
  corpus_id integer,
  kind text not null constraint admissibility_incidents_kind_is_known check (kind in (
    'slice_boundary_violation', 'unverified_evidence_usage', 'content_hash_mismatch',
    'token_verification_failure', 'insufficient_evidence', 'other')),
  severity text not null constraint admissibility_incidents_severity_is_known
    check (severity in ('low', 'medium', 'high', 'critical')),
  trace_id uuid,
  caller text not null,
  reason text not null
);
create index admissibility_incidents_by_time on ragdb.admissibility_incidents (created_at);

---- migrations/versions/0004_contracts.sql

-- State of contracts and evaluation. A contract's versions stay; a run refers to the one that it ran.

create table ragdb.contracts (
  contract text collate "C" not null
    constraint contracts_name_is_a_word check (contract ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'),
  version integer not null constraint contracts_version_is_positive check (version > 0),
  is_current boolean not null,
  nodes_hash bytea not null,
  applied_at timestamptz not null,
  applied_by text not null,
  constraint contracts_are_unique primary key (contract, version)
);
create unique index contracts_one_version_is_current on ragdb.contracts (contract) where is_current;

create table ragdb.contract_nodes (
  contract text collate "C" not null,
  version integer not null,
  node_no integer not null,
  parent_no integer,
  node text collate "C" not null,
  name text collate "C",
  -- the corpus that the node is about; null for a node about none
  corpus text collate "C",
  -- the rag that the node is below or names
  rag text collate "C",
  keys jsonb not null constraint contract_nodes_keys_are_an_object check (jsonb_typeof(keys) = 'object'),
  -- where each key stood in its line: their order
  columns jsonb not null,
  prompt_sha256 text,
  line integer,
  "column" integer,
  constraint contract_nodes_are_unique primary key (contract, version, node_no),
  constraint contract_nodes_contract_exists foreign key (contract, version)
    references ragdb.contracts on delete cascade
);
create index contract_nodes_by_name on ragdb.contract_nodes (node, name);
create index contract_nodes_by_parent on ragdb.contract_nodes (contract, version, parent_no);

create table ragdb.eval_cases (
  corpus_id integer not null
    constraint eval_cases_corpus_exists references ragdb.corpora on delete cascade,
  rag text collate "C" not null,
  eval text collate "C" not null,
  name text collate "C" not null,
  ordinal integer not null,
  query text not null constraint eval_cases_query_has_words check (query ~ '\S'),
  tags text[] not null,
  constraint eval_cases_name_is_unique_per_eval primary key (corpus_id, rag, eval, name)
);

create table ragdb.eval_labels (
  corpus_id integer not null,
  rag text collate "C" not null,
  eval text collate "C" not null,
  name text collate "C" not null,
  label_no integer not null,
  -- uri or external id of a document
  source text collate "C" not null,
  start_offset integer,
  end_offset integer,
  grade integer not null,
  -- of the characters of the span that are not white space, when it was labelled
  span_hash bytea,
  constraint eval_labels_are_unique_per_case primary key (corpus_id, rag, eval, name, label_no),
  constraint eval_labels_case_exists foreign key (corpus_id, rag, eval, name)
    references ragdb.eval_cases on delete cascade,
  constraint eval_labels_span_is_a_range
    check ((start_offset is null) = (end_offset is null) and 0 <= start_offset and start_offset < end_offset),
  constraint eval_labels_span_has_a_hash check ((start_offset is null) = (span_hash is null))
);

create table ragdb.eval_runs (
  corpus_id integer not null,
  run_id uuid not null,
  created_at timestamptz not null,
  corpus text not null,
  corpus_version bigint not null,
  -- of the documents, however they are cut
  documents_hash text not null,
  contract text not null,
  contract_version integer not null,
  rag text collate "C" not null,
  eval text collate "C" not null,
  retriever text not null,
  rank_mode text not null,
  top_k integer not null,
  min_score float8 not null,
  embedding_model text,
  ranking_hash text not null,
  semantics_version integer not null,
  label text,
  tags text[],
  metric text,
  threshold float8,
  metric_value float8,
  cases integer not null,
  passed_cases integer not null,
  assertions integer not null,
  passed_assertions integer not null,
  stale_labels integer not null,
  status text not null
    constraint eval_runs_status_is_known check (status in ('passed', 'failed', 'empty')),
  -- why a run failed although every case passed
  reasons text[] not null,
  elapsed_ms float8 not null,
  caller text not null,
  constraint eval_runs_are_unique primary key (corpus_id, run_id)
);
create unique index eval_runs_by_id on ragdb.eval_runs (run_id);
create index eval_runs_by_eval on ragdb.eval_runs (corpus_id, rag, eval, created_at);

create table ragdb.eval_case_results (
  corpus_id integer not null,
  run_id uuid not null,
  case_no integer not null,
  kind text not null constraint eval_case_results_kind_is_known check (kind in ('case', 'answer')),
  name text not null,
  query text not null,
  tags text[] not null,
  status text not null
    constraint eval_case_results_status_is_known check (status in ('passed', 'failed', 'error')),
  trace_id uuid,
  elapsed_ms float8,
  error_code text,
  hits integer not null,
  labels integer not null,
  stale_labels integer not null,
  constraint eval_case_results_are_unique primary key (corpus_id, run_id, case_no),
  constraint eval_case_results_run_exists foreign key (corpus_id, run_id)
    references ragdb.eval_runs on delete cascade
);

create table ragdb.eval_assert_results (
  corpus_id integer not null,
  run_id uuid not null,
  case_no integer not null,
  assert_no integer not null,
  kind text not null,
  required boolean not null,
  passed boolean not null,
  code text not null,
  message text not null,
  expected jsonb,
  actual jsonb,
  constraint eval_assert_results_are_unique primary key (corpus_id, run_id, case_no, assert_no),
  constraint eval_assert_results_case_exists foreign key (corpus_id, run_id, case_no)
    references ragdb.eval_case_results on delete cascade,
  constraint eval_assert_results_passed_has_code_pass check (passed = (code = 'PASS'))
);

-- case 0 is the run as a whole
create table ragdb.eval_metrics (
  corpus_id integer not null,
  run_id uuid not null,
  case_no integer not null,
  metric text collate "C" not null,
  value float8 not null,
  constraint eval_metrics_are_unique primary key (corpus_id, run_id, case_no, metric),
  constraint eval_metrics_run_exists foreign key (corpus_id, run_id)
    references ragdb.eval_runs on delete cascade
);

-- what was ranked, as the metrics and the exports to TREC see it: a document or a labelled span once
create table ragdb.eval_items (
  corpus_id integer not null,
  run_id uuid not null,
  case_no integer not null,
  rank integer not null,
  item text not null,
  -- null for what nobody judged
  grade integer,
  constraint eval_items_are_unique primary key (corpus_id, run_id, case_no, rank),
  constraint eval_items_case_exists foreign key (corpus_id, run_id, case_no)
    references ragdb.eval_case_results on delete cascade
);

create table ragdb.eval_baselines (
  corpus_id integer not null,
  rag text collate "C" not null,
  eval text collate "C" not null,
  name text collate "C" not null
    constraint eval_baselines_name_is_short check (length(name) between 1 and 64),
  run_id uuid not null,
  blessed_at timestamptz not null,
  blessed_by text not null,
  reason text,
  constraint eval_baselines_name_is_unique_per_eval primary key (corpus_id, rag, eval, name),
  constraint eval_baselines_run_exists foreign key (corpus_id, run_id) references ragdb.eval_runs
);

---- migrations/versions/0005_answers.sql

-- State of gates and answers: append-only, partitioned by month like the traces that they are about, and with them gone.

create table ragdb.evidence_gates (
  corpus_id integer not null,
  id uuid not null,
  created_at timestamptz not null,
  -- null for a pack that no retrieval found
  trace_id uuid,
  query_hash text,
  pack_hash text not null,
  is_enough boolean not null,
  chunks integer not null,
  min_chunks integer not null,
  best_score float8,
  min_score float8 not null,
  terms integer not null,
  coverage float8 not null,
  min_coverage float8 not null,
  missing_terms text[],
  client text,
  caller text not null
) partition by range (created_at);

create table ragdb.evidence_answers (
  corpus_id integer not null,
  id uuid not null,
  created_at timestamptz not null,
  trace_id uuid,
  pack_hash text not null,
  answer_hash text,
  is_insufficient boolean not null,
  is_verified boolean not null,
  citations integer not null,
  problems integer not null,
  task text,
  model text,
  attempt integer not null,
  client text,
  caller text not null,
  constraint evidence_answers_are_verified_without_problems check (is_verified = (problems = 0))
) partition by range (created_at);

create table ragdb.answer_citations (
  corpus_id integer not null,
  answer_id uuid not null,
  created_at timestamptz not null,
  -- a citation has a row for each thing that is wrong with it
  row_no integer not null,
  -- null for what is wrong with the answer as a whole
  citation integer,
  code text,
  is_advisory boolean not null,
  source_id text,
  chunk_id text collate "C",
  method text
    constraint answer_citations_method_is_known check (method in ('exact', 'normalised', 'approximate')),
  start_offset integer,
  end_offset integer,
  unit text not null
    constraint answer_citations_unit_is_known check (unit in ('codepoint', 'utf16', 'byte')),
  similarity float8,
  constraint answer_citations_place_is_a_range check (start_offset < end_offset)
) partition by range (created_at);

---- migrations/versions/0006_blocks.sql

-- What stands in them was made for blocks of single chunks;
-- searches do without.
delete from ragdb.block_states;
-- a row is read whole: inside its page it costs a third of what it does beside it
alter table ragdb.term_blocks set (toast_tuple_target = 8160);
-- every batch of documents counts most of its lexemes anew: with room on its page a row moves without touching an index
alter table ragdb.lexemes set (fillfactor = 60);

---- migrations/versions/0007_surfaces.sql

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

---- migrations/versions/0008_recall.sql

-- Measured when the index is built, so that it finds what a scan finds: data differ more than any constant allows.
-- Runs once, as ragdb_owner. Comments live in sql/.

alter table ragdb.embedding_spaces add column ef_search integer not null default 240
  constraint embedding_spaces_ef_search_is_in_range check (ef_search between 1 and 1000);

---- migrations/versions/0009_decisions.sql

-- Who accepted or rejected a proposal, and why.

alter table ragdb.semantic_proposals
  add column decided_at timestamptz,
  add column decided_by text,
  add column decision_reason text,
  add constraint semantic_proposals_decision_has_a_time_and_a_role check (
    (status = 'open') = (decided_at is null) and (decided_at is null) = (decided_by is null)
    and (decision_reason is null or decided_at is not null));

---- sql/05_errors.sql

-- One table of what can go wrong. Python classes, HTTP statuses and docs/errors.md are made from it.

-- A SQLSTATE of class RG is our contract with callers: they match on it, never on the text.
create or replace function ragdb.error_codes()
returns table (sqlstate text, name text, wire_word text, http_status integer, meaning text)
language sql immutable parallel safe
begin atomic
  select * from (values
    ('RG400', 'InvalidArgument', 'bad_request', 400, 'an argument is null, of the wrong form or out of range'),
    ('RG401', 'NotAuthorized', 'unauthorized', 401, 'the caller''s role lacks the right to the corpus'),
    ('RG404', 'CorpusNotFound', 'not_found', 404, 'no corpus of that name is visible to the caller'),
    ('RG405', 'DocumentNotFound', 'not_found', 404, 'the corpus has no such document or source'),
    ('RG406', 'ChunkNotFound', 'not_found', 404, 'the corpus has no such chunk'),
    ('RG407', 'TraceNotFound', 'not_found', 404, 'no trace of that id is visible to the caller'),
    ('RG408', 'BlobNotFound', 'not_found', 404, 'no blob of that cid is visible to the caller'),
    ('RG409', 'AlreadyExists', 'conflict', 409, 'something of that name exists already'),
    ('RG410', 'InvalidFilter', 'bad_request', 400, 'a filter has an unknown operator or a value of the wrong type'),
    ('RG411', 'InvalidName', 'bad_request', 400, 'a corpus name is not 1 to 64 of a-z, 0-9 and -'),
    ('RG412', 'InvalidDocument', 'bad_request', 400, 'a document given to put_documents is incomplete or contradicts itself'),
    ('RG413', 'TooLarge', 'bad_request', 400, 'a value is over the limit that the hint names'),
    ('RG414', 'AppendOnly', 'conflict', 409, 'rows of this table may not be changed or removed'),
    ('RG415', 'ModeNotAvailable', 'bad_request', 400, 'the corpus cannot be searched in the mode asked for'),
    ('RG416', 'EmbedderNotFound', 'not_found', 404, 'no embedder of that name is known, or it is bound to no provider'),
    ('RG417', 'EmbedderMismatch', 'conflict', 409, 'a model, its weights or its dimensions are not those that the corpus is embedded by'),
    ('RG418', 'InvalidEmbedding', 'bad_request', 400, 'an embedding has another width than its space, or is zero or not finite'),
    ('RG419', 'InTransaction', 'bad_request', 400, 'a procedure that commits was called inside a transaction block'),
    ('RG420', 'NoAnswer', 'timeout', 408, 'no worker answered in time'),
    ('RG430', 'InvalidPolicy', 'bad_request', 400, 'a slice policy has an unknown field or a value out of range'),
    ('RG431', 'PolicyNotFound', 'not_found', 404, 'no slice policy of that reference is registered'),
    ('RG432', 'SigningKeyNotFound', 'not_found', 404, 'there is no signing key of that id'),
    ('RG433', 'NoSigningKey', 'conflict', 409, 'a token was to be signed and no key is active'),
    ('RG434', 'AnchorNotFound', 'not_found', 404, 'the chunk to build a slice around is not in the corpus'),
    ('RG435', 'SliceNotFound', 'not_found', 404, 'no slice of that id is stored'),
    ('RG436', 'NotAdmissible', 'conflict', 409, 'something claimed to be admissible that is not'),
    ('RG440', 'InvalidContract', 'bad_request', 400, 'a contract breaks a rule of ragdb.validate_contract'),
    ('RG441', 'ContractNotFound', 'not_found', 404, 'no applied contract, or retriever, rag or eval of one, has that name and is visible to the caller'),
    ('RG442', 'InvalidEvaluation', 'bad_request', 400, 'cases, labels or spans given to an evaluation are incomplete or contradict each other'),
    ('RG443', 'RunNotFound', 'not_found', 404, 'no evaluation run or baseline of that name is visible to the caller'),
    ('RG444', 'RunFailed', 'conflict', 409, 'an evaluation run did not pass and was asserted to'),
    ('RG445', 'EvidenceMissing', 'conflict', 409, 'a tool requires evidence, or a citation of every chunk, and what it found has none'),
    ('RG450', 'CapacityExceeded', 'capacity_exceeded', 429, 'a capability has as many calls of the caller at work as it may'),
    ('RG451', 'RateLimited', 'rate_limited', 429, 'a role has as many jobs waiting for workers as it may'),
    ('RG452', 'UnreadableBlob', 'bad_request', 400, 'a blob is of a type that no reader knows'),
    ('RG453', 'JobNotFound', 'not_found', 404, 'no job of that id waits, or it is another worker''s by now'),
    ('RG454', 'TokenNotFound', 'not_found', 404, 'there is no bearer token of that name'),
    ('RG460', 'InvalidEvidence', 'bad_request', 400, 'evidence is no pack, or an output no object')
  ) as c (sqlstate, name, wire_word, http_status, meaning);
end;
comment on function ragdb.error_codes() is
  'Lists every SQLSTATE of class RG with its class name in Python, its wire word, its HTTP status and its meaning.';

---- sql/10_corpora.sql

-- Corpora: who calls, what they may do, and the life of a corpus.

-- The clock. A test may pin it, and only where the owner has allowed that in the settings.
create or replace function ragdb._now() returns timestamptz
language sql stable parallel safe
begin atomic
  select case
    when nullif(pg_catalog.current_setting('ragdb.now', true), '') is not null
      and exists (select from ragdb.settings s where s.key = 'allow_test_clock' and s.value = 'true'::jsonb)
    then pg_catalog.current_setting('ragdb.now', true)::timestamptz
    else pg_catalog.clock_timestamp()
  end;
end;
comment on function ragdb._now() is
  'Returns the database clock; the setting ragdb.now replaces it where settings.allow_test_clock is true.';

-- Inside a definer function current_user is the owner and session_user ignores `set role`; only `set role`,
-- which checks membership, can move this one.
create or replace function ragdb._caller() returns text
language sql stable parallel safe
return coalesce(nullif(pg_catalog.current_setting('role'), 'none'), session_user);
comment on function ragdb._caller() is 'Returns the role on whose behalf the statement runs.';

-- Errors quote user text, and never more than 80 characters of it.
create or replace function ragdb._quote(value text) returns text
language sql immutable parallel safe
return case
  when value is null then 'null'
  when pg_catalog.length(value) > 80 then '"' || pg_catalog.left(value, 79) || '…"'
  else '"' || value || '"'
end;
comment on function ragdb._quote(text) is 'Quotes a value for an error message, shortened to 80 characters.';

-- 0 none, 1 read, 2 write, 3 admin. Decided once, at the entry of a function (never per row).
create or replace function ragdb._privilege(corpus_id integer, personal_of text, name text)
returns integer
language sql stable parallel safe
return case
  when _privilege.personal_of is not null then
    case when _privilege.personal_of = ragdb._caller() then 3 else 0 end
  when pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_owner', 'usage') then 3
  when _privilege.name = 'system' then
    case when pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_reader', 'usage') then 1 else 0 end
  when pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_admin', 'usage') then 3
  when exists (select from ragdb.corpus_grants g where g.corpus_id = _privilege.corpus_id) then
    coalesce((select max(case g.privilege when 'read' then 1 when 'write' then 2 else 3 end)
      from ragdb.corpus_grants g join pg_catalog.pg_roles r on r.rolname = g.role
      where g.corpus_id = _privilege.corpus_id
        and pg_catalog.pg_has_role(ragdb._caller(), r.oid, 'usage')), 0)
  when pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_writer', 'usage') then 2
  when pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_reader', 'usage') then 1
  else 0
end;
comment on function ragdb._privilege(integer, text, text) is
  'Returns the caller''s right to a corpus: 0 none, 1 read, 2 write, 3 admin.';

-- The one gate to a corpus. A corpus that the caller may not read does not exist for them. It is passed by every call,
-- and to plan its statement anew would cost five times what that does.
create or replace function ragdb._open_corpus(corpus text, privilege text)
returns ragdb.corpora
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_corpus ragdb.corpora;
  v_has integer;
begin
  if corpus is null then
    raise exception 'corpus is null'
      using errcode = 'RG400', detail = 'every function of a corpus needs its name',
            hint = 'ragdb.list_corpora() lists the names';
  end if;
  select c.* into v_corpus from ragdb.corpora c
    where c.name = corpus and c.personal_of is not distinct from
      case when corpus = 'personal' then ragdb._caller() end;
  if found then
    v_has := ragdb._privilege(v_corpus.corpus_id, v_corpus.personal_of, v_corpus.name);
  end if;
  if coalesce(v_has, 0) = 0 then
    raise exception 'corpus % does not exist', ragdb._quote(corpus)
      using errcode = 'RG404',
            detail = 'no corpus of that name is visible to role ' || ragdb._quote(ragdb._caller()),
            hint = 'ragdb.list_corpora() lists the names; ragdb.create_corpus() makes one';
  end if;
  if v_has < (case privilege when 'read' then 1 when 'write' then 2 else 3 end) then
    raise exception 'role % has no % right to corpus %',
        ragdb._quote(ragdb._caller()), privilege, ragdb._quote(corpus)
      using errcode = 'RG401',
            detail = 'its right is ' || case v_has when 1 then 'read' else 'write' end,
            hint = case when corpus = 'system' then 'the system corpus is read-only; use a corpus of your own'
              else 'an admin of the corpus can call ragdb.grant_corpus()' end;
  end if;
  return v_corpus;
end $$;
comment on function ragdb._open_corpus(text, text) is
  'Returns the row of a corpus that the caller has at least the given right to (read, write, admin). Raises RG400, RG401, RG404.';

-- Everything that writes to a corpus holds its row lock to the end of the transaction: writers of one corpus
-- are in a queue, so counters are exact and no two of them can deadlock. The version moves once per transaction.
create or replace function ragdb._lock_corpus(corpus text, privilege text)
returns ragdb.corpora
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
begin
  v_corpus := ragdb._open_corpus(corpus, privilege);
  update ragdb.corpora c
    set version = c.version + case when c.version_xid = pg_current_xact_id() and c.updated_at = now()
          then 0 else 1 end,
        version_xid = pg_current_xact_id(), updated_at = now()
    where c.corpus_id = v_corpus.corpus_id
    returning c.* into v_corpus;
  if not found then
    raise exception 'corpus % does not exist', ragdb._quote(corpus)
      using errcode = 'RG404', detail = 'it was dropped a moment ago',
            hint = 'ragdb.list_corpora() lists the names';
  end if;
  return v_corpus;
end $$;
comment on function ragdb._lock_corpus(text, text) is
  'Locks the row of a corpus to the end of the transaction, raises its version once, and returns it. Raises RG400, RG401, RG404.';

-- PostgreSQL 18 has uuidv7(), 16 has not. The twelve bits after the milliseconds hold their fraction, as there.
create or replace function ragdb._uuid7(at timestamptz) returns uuid
language sql volatile parallel safe
begin atomic
  select (pg_catalog.lpad(pg_catalog.to_hex(t.us / 1000), 12, '0') || '7'
    || pg_catalog.lpad(pg_catalog.to_hex(t.us % 1000 * 4096 / 1000), 3, '0')
    || pg_catalog.right(pg_catalog.encode(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()), 'hex'), 16))::uuid
  from (select (extract(epoch from _uuid7.at) * 1000000)::bigint as us) t;
end;
comment on function ragdb._uuid7(timestamptz) is
  'Returns a new UUID of version 7 whose time is the given one, to a quarter of a microsecond.';

comment on table ragdb.settings is
  'Settings and counters of the whole database; only the owner writes it.';
comment on column ragdb.settings.key is
  'Name: allow_test_clock, corpora_created (the last corpus id given out) and those of later chapters.';
comment on column ragdb.settings.value is 'Value of the setting.';

comment on table ragdb.corpora is
  'Named sets of documents, with how they are searched and their exact counters. A writer of a corpus holds its row.';
comment on column ragdb.corpora.corpus_id is 'Number of the corpus; never given out again, so that old traces stay its own.';
comment on column ragdb.corpora.name is 'Name, 1 to 64 of a-z, 0-9 and -.';
comment on column ragdb.corpora.personal_of is 'Role whose corpus "personal" this is; null for a corpus that roles may share.';
comment on column ragdb.corpora.title is 'Title for people.';
comment on column ragdb.corpora.text_config is 'Text configuration of pg_catalog by which its texts and queries become lexemes.';
comment on column ragdb.corpora.k1 is 'BM25 saturation of term frequency, 0 to 10.';
comment on column ragdb.corpora.b is 'BM25 weight of length, 0 to 1.';
comment on column ragdb.corpora.pivot is
  'Length in lexemes at which BM25 neither rewards nor punishes; pinned until ragdb.optimize_corpus.';
comment on column ragdb.corpora.record_query_text is
  'What traces keep of a query: full, hash or none.';
comment on column ragdb.corpora.version is 'Raised once by every transaction that writes to the corpus.';
comment on column ragdb.corpora.version_xid is 'Transaction that raised the version last.';
comment on column ragdb.corpora.documents is 'Documents of the corpus.';
comment on column ragdb.corpora.chunks is 'Chunks of the corpus: N of BM25.';
comment on column ragdb.corpora.lexeme_count is 'Lexemes of all chunks, each occurrence counted.';
comment on column ragdb.corpora.token_count is 'Tokens of all chunks, as the chunker counted them.';
comment on column ragdb.corpora.size_bytes is 'Bytes of all documents.';
comment on column ragdb.corpora.next_doc_no is 'Number of the next document.';
comment on column ragdb.corpora.next_chunk_no is 'Number of the next chunk.';
comment on column ragdb.corpora.next_term_id is 'Number of the next lexeme.';
comment on column ragdb.corpora.created_at is 'When it was created.';
comment on column ragdb.corpora.updated_at is 'Start of the transaction that wrote to it last.';

comment on table ragdb.corpus_grants is
  'Rights of roles to a corpus. A corpus with no row here is open to ragdb_reader and ragdb_writer.';
comment on column ragdb.corpus_grants.corpus_id is 'The corpus.';
comment on column ragdb.corpus_grants.role is 'Database role; its members have the right too.';
comment on column ragdb.corpus_grants.privilege is 'The right: read, write (reads too) or admin (writes too).';

-- A definer because nobody but the owner touches the tables.
create or replace function ragdb.create_corpus(
  corpus text, title text default null, text_config text default 'english',
  k1 float8 default 1.2, b float8 default 0.75, record_query_text text default 'full'
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller text := ragdb._caller();
  v_id integer;
begin
  if corpus is null or corpus !~ '^[a-z0-9-]{1,64}$' then
    raise exception '% is not a corpus name', ragdb._quote(corpus)
      using errcode = 'RG411', detail = 'a name is 1 to 64 of a-z, 0-9 and -',
            hint = 'write it in lower case, with - for every other character';
  end if;
  if text_config is null or not exists (
      select from ragdb._text_configs() c where c.config = create_corpus.text_config) then
    raise exception 'text configuration % is not one that every version of PostgreSQL has', ragdb._quote(text_config)
      using errcode = 'RG400', detail = 'a corpus is analysed by a configuration of pg_catalog, the same on every server',
            hint = (select 'it is one of ' || string_agg(c.config, ', ' order by c.config)
                    from ragdb._text_configs() c);
  end if;
  if k1 is null or not k1 between 0 and 10 then
    raise exception 'k1 is %, not 0 to 10', coalesce(k1::text, 'null')
      using errcode = 'RG400', detail = 'k1 is how slowly a repeated word stops counting', hint = 'the default is 1.2';
  end if;
  if b is null or not b between 0 and 1 then
    raise exception 'b is %, not 0 to 1', coalesce(b::text, 'null')
      using errcode = 'RG400', detail = 'b is how much a chunk''s length counts', hint = 'the default is 0.75';
  end if;
  if record_query_text is null or record_query_text not in ('full', 'hash', 'none') then
    raise exception 'record_query_text is %, not full, hash or none', ragdb._quote(record_query_text)
      using errcode = 'RG400', detail = 'it is what traces keep of a query', hint = 'the default is full';
  end if;
  if corpus = 'system' and not pg_has_role(v_caller, 'ragdb_owner', 'usage') then
    raise exception 'role % may not create corpus "system"', ragdb._quote(v_caller)
      using errcode = 'RG401', detail = 'it is made and filled by whoever installs ragdb', hint = 'use a corpus of your own';
  end if;
  if corpus not in ('personal', 'system') and not pg_has_role(v_caller, 'ragdb_writer', 'usage')
    and not pg_has_role(v_caller, 'ragdb_owner', 'usage')
  then
    raise exception 'role % may not create corpora', ragdb._quote(v_caller)
      using errcode = 'RG401', detail = 'creating a corpus takes ragdb_writer',
            hint = 'create "personal", which every role may, or ask for ragdb_writer';
  end if;
  insert into ragdb.settings as s (key, value) values ('corpora_created', '1')
    on conflict on constraint settings_key_is_unique do update set value = to_jsonb(s.value::integer + 1)
    returning s.value::integer into v_id;
  insert into ragdb.corpora (corpus_id, name, personal_of, title, text_config, k1, b, pivot,
      record_query_text, created_at, updated_at)
    values (v_id, corpus, case when corpus = 'personal' then v_caller end, title, text_config, k1, b,
      -- until ragdb.optimize_corpus: about a chunk of 240 tokens, with stop words and without
      case text_config when 'simple' then 160 else 100 end, record_query_text, ragdb._now(), ragdb._now())
    on conflict on constraint corpora_name_is_unique do nothing;
  if not found then
    raise exception 'corpus % exists already', ragdb._quote(corpus)
      using errcode = 'RG409', detail = 'names are unique; "personal" is unique for each role',
            hint = 'use it, choose another name, or drop it with ragdb.drop_corpus()';
  end if;
  perform ragdb.maintain();
end $$;
comment on function ragdb.create_corpus(text, text, text, float8, float8, text) is
  'Creates an empty corpus: name 1 to 64 of a-z, 0-9 and -, text configuration of pg_catalog, k1 0 to 10, b 0 to 1, record_query_text full, hash or none. Raises RG400, RG401, RG409, RG411.';

create or replace function ragdb.drop_corpus(corpus text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id integer := (ragdb._lock_corpus(corpus, 'admin')).corpus_id;
  v_cids text[];
begin
  select array_agg(d.doc_cid) into v_cids from ragdb.documents d where d.corpus_id = v_id;
  perform ragdb._drop_spaces(v_id);
  delete from ragdb.chunk_lexemes x where x.corpus_id = v_id;
  delete from ragdb.lexemes l where l.corpus_id = v_id;
  delete from ragdb.edges e where e.corpus_id = v_id;
  delete from ragdb.document_links l where l.corpus_id = v_id;
  delete from ragdb.chunks c where c.corpus_id = v_id;
  delete from ragdb.documents d where d.corpus_id = v_id;
  delete from ragdb.events e where e.corpus_id = v_id;
  delete from ragdb.corpora c where c.corpus_id = v_id;
  perform ragdb._drop_unused_blobs(v_cids);
end $$;
comment on function ragdb.drop_corpus(text) is
  'Removes a corpus with its documents, index, grants and events; its traces stay. Raises RG400, RG401, RG404.';

-- The personal corpora of other roles are not in it, for anybody.
create or replace function ragdb.list_corpora()
returns table (name text, title text, documents integer, chunks integer, tokens bigint, size_bytes bigint,
  language_majority text, drift float8, version bigint, created_at timestamptz, updated_at timestamptz)
language sql stable parallel safe security definer
begin atomic
  select c.name, c.title, c.documents, c.chunks, c.token_count, c.size_bytes,
    (select d.language from ragdb.documents d
      where d.corpus_id = c.corpus_id and d.language is not null
      group by d.language order by count(*) desc, d.language collate "C" limit 1),
    c.lexeme_count::float8 / nullif(c.chunks, 0) / c.pivot - 1,
    c.version, c.created_at, c.updated_at
  from ragdb.corpora c
  where ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0
  order by c.name;
end;
comment on function ragdb.list_corpora() is
  'Lists the corpora that the caller may read: counts, the language of most documents, and the drift of the mean length from the pivot (0.1 is 10 % longer; null without chunks).';

create or replace function ragdb.corpus_info(corpus text)
returns table (name text, title text, documents integer, chunks integer, tokens bigint, size_bytes bigint,
  language_majority text, drift float8, version bigint, created_at timestamptz, updated_at timestamptz,
  text_config text, k1 float8, b float8, pivot float8, lexemes bigint, record_query_text text, privilege text)
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(corpus, 'read');
begin
  return query
    select l.*, v_corpus.text_config, v_corpus.k1, v_corpus.b, v_corpus.pivot, v_corpus.lexeme_count,
      v_corpus.record_query_text,
      case ragdb._privilege(v_corpus.corpus_id, v_corpus.personal_of, v_corpus.name)
        when 1 then 'read' when 2 then 'write' else 'admin' end
    from ragdb.list_corpora() l where l.name = v_corpus.name;
end $$;
comment on function ragdb.corpus_info(text) is
  'Returns one corpus as ragdb.list_corpora does, with how it is searched, its lexemes (each occurrence counted) and the caller''s right to it. Raises RG400, RG404.';

create or replace function ragdb.grant_corpus(corpus text, role text, privilege text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(corpus, 'admin');
begin
  if corpus in ('personal', 'system') then
    raise exception 'corpus % cannot be granted', ragdb._quote(corpus)
      using errcode = 'RG400',
            detail = case corpus when 'personal' then 'it belongs to one role' else 'every reader may read it, only the installer writes it' end,
            hint = 'put the documents into a corpus of another name';
  end if;
  if role is null or not exists (select from pg_roles r where r.rolname = role) then
    raise exception 'role % does not exist', ragdb._quote(role)
      using errcode = 'RG400', detail = 'a right is given to a database role', hint = 'create role makes one';
  end if;
  if privilege is null or privilege not in ('read', 'write', 'admin') then
    raise exception 'privilege is %, not read, write or admin', ragdb._quote(privilege)
      using errcode = 'RG400', detail = 'each of them includes the ones before it', hint = 'read is enough to search';
  end if;
  insert into ragdb.corpus_grants (corpus_id, role, privilege)
    values (v_corpus.corpus_id, grant_corpus.role, grant_corpus.privilege)
    on conflict on constraint corpus_grants_role_is_unique_per_corpus do update set privilege = excluded.privilege;
end $$;
comment on function ragdb.grant_corpus(text, text, text) is
  'Gives a role the right read, write or admin to a corpus, in place of the right it had; the first grant closes the corpus to all other readers and writers. Raises RG400, RG401, RG404.';

create or replace function ragdb.revoke_corpus(corpus text, role text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(corpus, 'admin');
begin
  delete from ragdb.corpus_grants g where g.corpus_id = v_corpus.corpus_id and g.role = revoke_corpus.role;
  if not found then
    raise exception 'role % has no grant on corpus %', ragdb._quote(role), ragdb._quote(corpus)
      using errcode = 'RG400', detail = 'there is nothing to revoke',
            hint = 'a corpus without grants is open to ragdb_reader; a right may come from a role that it is a member of';
  end if;
end $$;
comment on function ragdb.revoke_corpus(text, text) is
  'Takes a role''s right to a corpus away; without any grant left the corpus is open to every reader and writer again. Raises RG400, RG401, RG404.';

---- sql/20_documents.sql

-- Documents: what is stored of a file, how its chunks are named, the graph between chunks, and events.

comment on table ragdb.blobs is 'Original bytes of documents, kept once for all corpora.';
comment on column ragdb.blobs.cid is 'sha256: and the SHA-256 of the bytes in hex; the doc_cid of the document.';
comment on column ragdb.blobs.bytes is 'The bytes.';
comment on column ragdb.blobs.media_type is 'Media type of the bytes.';
comment on column ragdb.blobs.size is 'Number of bytes.';

comment on table ragdb.documents is 'One file, page or record of a corpus, whatever the number of places it is found at.';
comment on column ragdb.documents.corpus_id is 'The corpus.';
comment on column ragdb.documents.doc_no is 'Number of the document in its corpus.';
comment on column ragdb.documents.doc_cid is 'Identity: sha256: and the SHA-256 of its bytes in hex.';
comment on column ragdb.documents.title is 'Title; searched with every chunk.';
comment on column ragdb.documents.language is 'Language code; that of the corpus''s text configuration when none was given.';
comment on column ragdb.documents.media_type is 'Media type of the bytes.';
comment on column ragdb.documents.metadata is 'What filters ask for.';
comment on column ragdb.documents.chunking is 'How it was cut: chunker, strategy, max_tokens, overlap, unit.';
comment on column ragdb.documents.external_id is 'Id that the caller gave it; its chunks are named after it.';
comment on column ragdb.documents.source_name is 'Name of the contract''s source that its first source came from, or empty.';
comment on column ragdb.documents.source is 'First of its sources in byte order; its chunks are named after it.';
comment on column ragdb.documents.size_bytes is 'Number of bytes of the original.';
comment on column ragdb.documents.pages is 'Number of pages, where it has pages.';
comment on column ragdb.documents.chunks is 'Number of its chunks.';
comment on column ragdb.documents.tokens is 'Tokens of its chunks.';
comment on column ragdb.documents.event_id is 'Event of its last change.';
comment on column ragdb.documents.created_at is 'When it was put first.';
comment on column ragdb.documents.updated_at is 'When it was changed last.';

comment on table ragdb.document_sources is 'Where documents were found; a document goes with its last source.';
comment on column ragdb.document_sources.corpus_id is 'The corpus.';
comment on column ragdb.document_sources.uri is 'Path, URL, or file and record ("corpus.jsonl#17").';
comment on column ragdb.document_sources.doc_no is 'The document found there.';
comment on column ragdb.document_sources.source_name is 'Name of the contract''s source, or empty.';
comment on column ragdb.document_sources.etag is 'Version that the store gave the object.';
comment on column ragdb.document_sources.seen_at is 'When this document was first found there.';

comment on table ragdb.chunks is 'The unit of retrieval: a range of a document''s text.';
comment on column ragdb.chunks.corpus_id is 'The corpus.';
comment on column ragdb.chunks.chunk_no is 'Number of the chunk in its corpus; stays with it through changes around it.';
comment on column ragdb.chunks.doc_no is 'The document.';
comment on column ragdb.chunks.ordinal is 'Position in the document, from 0.';
comment on column ragdb.chunks.chunk_id is 'Identity: the same text at the same source has the same id in every database.';
comment on column ragdb.chunks.source is 'Source of the document, for display.';
comment on column ragdb.chunks.heading is 'Headings above the start of the chunk, outermost first; searched with it.';
comment on column ragdb.chunks.page is 'Page of its start, from 1.';
comment on column ragdb.chunks.start_offset is 'First character in the document''s text, from 0.';
comment on column ragdb.chunks.end_offset is 'Character after its last.';
comment on column ragdb.chunks.token_count is 'Tokens of its text.';
comment on column ragdb.chunks.content_hash is
  'SHA-256 of its text in UTF-8 with CRLF and CR as LF and outer white space trimmed.';
comment on column ragdb.chunks.citation is 'What a citation of it carries; null means {"uri": source}.';
comment on column ragdb.chunks.text is 'Its text.';

comment on table ragdb.edges is 'Typed links between chunks.';
comment on column ragdb.edges.corpus_id is 'The corpus.';
comment on column ragdb.edges.parent_no is 'Chunk that the edge leaves.';
comment on column ragdb.edges.child_no is 'Chunk that it points to.';
comment on column ragdb.edges.edge_type is
  'default: next chunk; branch: chunk of the section, or head of a section below; reference: hyperlink; reply: answer in a conversation.';
comment on column ragdb.edges.child_salience is 'Salience of the child, 0 to 1.';

comment on table ragdb.document_links is 'Hyperlinks of chunks, as written; those whose target is in the corpus are edges too.';
comment on column ragdb.document_links.corpus_id is 'The corpus.';
comment on column ragdb.document_links.chunk_no is 'Chunk that holds the link.';
comment on column ragdb.document_links.target is 'Path or URL it leads to, without fragment.';

comment on table ragdb.event_clock is 'One row: the clock of events. Whoever writes an event holds it, so events are seen in order.';
comment on column ragdb.event_clock.id is 'Always true.';
comment on column ragdb.event_clock.lamport is 'Tick of the last event.';
comment on column ragdb.event_clock.at is 'Time in the last event''s id.';

comment on table ragdb.events is 'What happened to documents, for consumers that poll ragdb.events_after.';
comment on column ragdb.events.lamport is 'Tick; without gaps for the reader who has seen the one before.';
comment on column ragdb.events.event_id is 'UUID of version 7, in the order of the ticks.';
comment on column ragdb.events.kind is 'rag.document.ingested.';
comment on column ragdb.events.created_at is 'Wall clock.';
comment on column ragdb.events.author is 'Role that did it.';
comment on column ragdb.events.corpus_id is 'The corpus.';
comment on column ragdb.events.corpus is 'Name of the corpus.';
comment on column ragdb.events.doc_cid is 'The document.';
comment on column ragdb.events.title is 'Title of the document then.';
comment on column ragdb.events.language is 'Language of the document then.';
comment on column ragdb.events.chunks is 'Chunks of the document then.';

do $$
begin
  if to_regtype('ragdb.put_result') is null then
    create type ragdb.put_result as ("position" integer, doc_cid text, chunks_indexed integer, tokens_indexed bigint,
      ingest_event_id uuid, was_duplicate boolean, ms float8);
  end if;
  if to_regtype('ragdb.document') is null then
    create type ragdb.document as (doc_cid text, source text, sources text[], title text, language text, media_type text,
      metadata jsonb, chunking jsonb, external_id text, source_name text, size_bytes bigint, pages integer, chunks integer,
      tokens bigint, event_id uuid, created_at timestamptz, updated_at timestamptz);
  end if;
  if to_regtype('ragdb.chunk') is null then
    create type ragdb.chunk as (chunk_id text, doc_cid text, ordinal integer, source text, title text, heading text[],
      page integer, start_offset integer, end_offset integer, tokens integer, text text, citation jsonb, content_hash text,
      metadata jsonb);
  end if;
  if to_regtype('ragdb.blob') is null then
    create type ragdb.blob as (cid text, media_type text, size bigint, bytes bytea);
  end if;
end $$;
comment on type ragdb.put_result is 'What became of one document of ragdb.put_documents; ms is the time of the whole call.';
comment on type ragdb.document is 'A document with its sources, the first of them in byte order as source.';
comment on type ragdb.chunk is 'A chunk with what a citation needs; offsets are characters, content_hash is hex.';
comment on type ragdb.blob is 'The original bytes of a document.';

-- ── names and hashes ────────────────────────────────────────────────────────────────────────────────

-- They always give the same, but convert_to is marked stable, and nothing that calls it and says immutable is inlined.

create or replace function ragdb._content_hash(text text) returns bytea
language sql stable parallel safe
return pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.btrim(
  pg_catalog.replace(pg_catalog.replace(_content_hash.text, E'\r\n', E'\n'), E'\r', E'\n'), E' \t\n\r\f\v'), 'UTF8'));
comment on function ragdb._content_hash(text) is
  'Returns the SHA-256 of a text''s canonical form: CRLF and CR as LF, outer white space (space and \t to \r) trimmed, UTF-8.';

-- A list whose parts cannot run into each other: ('ab', 'c') and ('a', 'bc') differ.
create or replace function ragdb._packed(part bytea) returns bytea
language sql immutable parallel safe
return pg_catalog.int4send(pg_catalog.octet_length(_packed.part)) || _packed.part;
comment on function ragdb._packed(bytea) is
  'Returns some bytes behind their number, four bytes, most significant first.';

create or replace function ragdb._packed(part text) returns bytea
language sql stable parallel safe
return ragdb._packed(pg_catalog.convert_to(_packed.part, 'UTF8'));
comment on function ragdb._packed(text) is
  'Returns a text in UTF-8 behind its length in bytes, four bytes, most significant first.';

create or replace function ragdb._slug(name text) returns text
language sql immutable parallel safe
return coalesce(nullif(pg_catalog.btrim(pg_catalog.right(pg_catalog.regexp_replace(
  pg_catalog.lower(_slug.name collate "C"), '[^a-z0-9]+', '-', 'g'), 64), '-'), ''), 'document');
comment on function ragdb._slug(text) is
  'Returns the readable part of a chunk id: lower-case ASCII letters and digits, - for the rest, the last 64 characters.';

create or replace function ragdb._chunk_id(corpus text, source_name text, source text, content_hash bytea, n bigint)
returns text
language sql stable parallel safe
return ragdb._slug(pg_catalog.concat_ws('/', nullif(_chunk_id.source_name, ''), _chunk_id.source)) || ':'
  || pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(ragdb._packed('ragdb-chunk-1') || ragdb._packed(_chunk_id.corpus)
    || ragdb._packed(_chunk_id.source_name) || ragdb._packed(_chunk_id.source)
    || ragdb._packed(pg_catalog.encode(_chunk_id.content_hash, 'hex')) || ragdb._packed(_chunk_id.n::text)), 'hex'), 24);
comment on function ragdb._chunk_id(text, text, text, bytea, bigint) is
  'Returns the id of a chunk from its corpus, source and content; n is how many chunks before it in its document have that content.';

create or replace function ragdb._language(text_config text) returns text
language sql immutable parallel safe
return case _language.text_config
  when 'arabic' then 'ar' when 'armenian' then 'hy' when 'basque' then 'eu' when 'catalan' then 'ca'
  when 'danish' then 'da' when 'dutch' then 'nl' when 'english' then 'en' when 'estonian' then 'et'
  when 'finnish' then 'fi' when 'french' then 'fr' when 'german' then 'de' when 'greek' then 'el'
  when 'hindi' then 'hi' when 'hungarian' then 'hu' when 'indonesian' then 'id' when 'irish' then 'ga'
  when 'italian' then 'it' when 'lithuanian' then 'lt' when 'nepali' then 'ne' when 'norwegian' then 'no'
  when 'portuguese' then 'pt' when 'romanian' then 'ro' when 'russian' then 'ru' when 'serbian' then 'sr'
  when 'spanish' then 'es' when 'swedish' then 'sv' when 'tamil' then 'ta' when 'turkish' then 'tr'
  when 'yiddish' then 'yi' end;
comment on function ragdb._language(text) is
  'Returns the language code that a text configuration is for; null for simple.';

-- ── writing ─────────────────────────────────────────────────────────────────────────────────────────

-- Everything is looked at before anything is written: a constraint's own message would print the row.
create or replace function ragdb._check_documents(documents jsonb) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad record;
begin
  if documents is null or jsonb_typeof(documents) <> 'array' then
    raise exception 'documents is not an array'
      using errcode = 'RG412', detail = 'put_documents takes a JSON array of documents',
            hint = 'one document goes in an array of one';
  end if;
  if jsonb_array_length(documents) > 10000 then
    raise exception '% documents in one call', jsonb_array_length(documents)
      using errcode = 'RG413', detail = 'a call is one transaction', hint = 'put at most 10000 documents in a call';
  end if;
  select b.n - 1 as position, b.problem into v_bad from (
    select d.n, case
      when jsonb_typeof(d.v) <> 'object' then 'it must be an object'
      when (d.v ->> 'doc_cid' ~ '^sha256:[0-9a-f]{64}$') is not true then '"doc_cid" must be sha256: and 64 hex digits'
      when coalesce(jsonb_typeof(d.v -> 'uri'), '') <> 'string' or octet_length(d.v ->> 'uri') not between 1 and 2000
        then '"uri" must be a text of 1 to 2000 bytes'
      when coalesce(jsonb_typeof(d.v -> 'source_name'), 'null') not in ('string', 'null')
        or octet_length(d.v ->> 'source_name') > 200 then '"source_name" must be a text of at most 200 bytes'
      when coalesce(jsonb_typeof(d.v -> 'title'), 'null') not in ('string', 'null')
        or octet_length(d.v ->> 'title') > 10000 then '"title" must be a text of at most 10000 bytes, or null'
      when coalesce(jsonb_typeof(d.v -> 'language'), 'null') not in ('string', 'null')
        or octet_length(d.v ->> 'language') not between 1 and 64 then '"language" must be a text of 1 to 64 bytes, or null'
      when coalesce(jsonb_typeof(d.v -> 'media_type'), '') <> 'string'
        or octet_length(d.v ->> 'media_type') not between 1 and 200 then '"media_type" must be a text of 1 to 200 bytes'
      when coalesce(jsonb_typeof(d.v -> 'metadata'), 'null') not in ('object', 'null') then '"metadata" must be an object'
      when coalesce(jsonb_typeof(d.v -> 'external_id'), 'null') not in ('string', 'null')
        or octet_length(d.v ->> 'external_id') not between 1 and 500
        then '"external_id" must be a text of 1 to 500 bytes, or null'
      when jsonb_typeof(d.v -> 'size_bytes') is distinct from 'number' or d.v ->> 'size_bytes' !~ '^[0-9]{1,15}$'
        then '"size_bytes" must be a whole number of at most 15 digits'
      when coalesce(jsonb_typeof(d.v -> 'pages'), 'null') not in ('number', 'null') or d.v ->> 'pages' !~ '^[0-9]{1,9}$'
        then '"pages" must be a whole number of at most 9 digits, or null'
      when coalesce(jsonb_typeof(d.v -> 'etag'), 'null') not in ('string', 'null')
        or octet_length(d.v ->> 'etag') > 1000 then '"etag" must be a text of at most 1000 bytes, or null'
      when jsonb_typeof(d.v -> 'chunking') is distinct from 'object'
        then '"chunking" must be an object that says how the text was cut'
      when jsonb_typeof(d.v -> 'chunks') is distinct from 'array' then '"chunks" must be an array'
      when coalesce(jsonb_typeof(d.v -> 'links'), 'null') not in ('array', 'null') then '"links" must be an array'
      else (
        select ragdb._quote(k) || ' is no field of a document' from jsonb_object_keys(d.v) k
        where k not in ('doc_cid', 'uri', 'source_name', 'title', 'language', 'media_type', 'metadata', 'external_id',
          'size_bytes', 'pages', 'etag', 'chunking', 'chunks', 'links') limit 1)
    end as problem
    from jsonb_array_elements(documents) with ordinality d (v, n)
  ) b where b.problem is not null order by b.n limit 1;
  if found then
    raise exception 'document %: %', v_bad.position, v_bad.problem
      using errcode = 'RG412', detail = 'documents count from 0; nothing was written',
            hint = 'ragdb.put_documents is described in docs/reference.md';
  end if;
  select b.n - 1 as position, b.ordinal - 1 as ordinal, b.problem into v_bad from (
    select d.n, c.n as ordinal, case
      when jsonb_typeof(c.v) <> 'object' then 'it must be an object'
      when coalesce(jsonb_typeof(c.v -> 'text'), '') <> 'string' or btrim(c.v ->> 'text', E' \t\n\r\f\v') = ''
        then '"text" must be a text with something in it'
      when jsonb_typeof(c.v -> 'start') is distinct from 'number' or c.v ->> 'start' !~ '^[0-9]{1,9}$'
        then '"start" must be a whole number of at most 9 digits'
      when jsonb_typeof(c.v -> 'end') is distinct from 'number' or c.v ->> 'end' !~ '^[0-9]{1,9}$'
        then '"end" must be a whole number of at most 9 digits'
      when (c.v ->> 'end')::integer - (c.v ->> 'start')::integer <> length(c.v ->> 'text')
        then '"end" minus "start" must be the length of "text", ' || length(c.v ->> 'text') || ' characters'
      when jsonb_typeof(c.v -> 'tokens') is distinct from 'number' or c.v ->> 'tokens' !~ '^[0-9]{1,9}$'
        then '"tokens" must be a whole number of at most 9 digits'
      when coalesce(jsonb_typeof(c.v -> 'page'), 'null') not in ('number', 'null') or c.v ->> 'page' !~ '^[1-9][0-9]{0,8}$'
        then '"page" must be a whole number from 1, or null'
      when coalesce(jsonb_typeof(c.v -> 'heading'), 'null') not in ('array', 'null')
        or jsonb_typeof(c.v -> 'heading') = 'array' and (
          jsonb_array_length(c.v -> 'heading') > 100
          or exists (select from jsonb_array_elements(c.v -> 'heading') h where jsonb_typeof(h) <> 'string'))
        then '"heading" must be an array of at most 100 texts'
      when (d.v -> 'chunking' ->> 'chunker' is not distinct from 'turns/1') <> (c.v ? 'id')
        or c.v ? 'id' and (jsonb_typeof(c.v -> 'id') <> 'string' or octet_length(c.v ->> 'id') not between 1 and 500)
        then '"id" must be a text of 1 to 500 bytes where the chunker is turns/1, and is not given elsewhere'
      else (
        select ragdb._quote(k) || ' is no field of a chunk' from jsonb_object_keys(c.v) k
        where k not in ('id', 'text', 'start', 'end', 'tokens', 'page', 'heading') limit 1)
    end as problem
    from jsonb_array_elements(documents) with ordinality d (v, n),
      jsonb_array_elements(d.v -> 'chunks') with ordinality c (v, n)
  ) b where b.problem is not null order by b.n, b.ordinal limit 1;
  if found then
    raise exception 'chunk % of document %: %', v_bad.ordinal, v_bad.position, v_bad.problem
      using errcode = 'RG412', detail = 'chunks and documents count from 0; nothing was written',
            hint = 'offsets are characters, and text is exactly what lies between them';
  end if;
  select d.n - 1 as position, l.n - 1 as ordinal into v_bad
    from jsonb_array_elements(documents) with ordinality d (v, n),
      jsonb_array_elements(nullif(d.v -> 'links', 'null')) with ordinality l (v, n)
    where (jsonb_typeof(l.v -> 'target') = 'string' and jsonb_typeof(l.v -> 'chunk') = 'number'
      and l.v ->> 'chunk' ~ '^[0-9]{1,9}$'
      and (l.v ->> 'chunk')::integer < jsonb_array_length(d.v -> 'chunks')) is not true
    order by d.n, l.n limit 1;
  if found then
    raise exception 'link % of document %: it must have "target", a text, and "chunk", the position of a chunk',
        v_bad.ordinal, v_bad.position
      using errcode = 'RG412', detail = 'links, chunks and documents count from 0; nothing was written',
            hint = 'give the chunk that holds the link, and its target without the fragment';
  end if;
  select d.v ->> 'uri' as uri, min(d.n) - 1 as one, max(d.n) - 1 as other into v_bad
    from jsonb_array_elements(documents) with ordinality d (v, n)
    group by d.v ->> 'uri' having count(*) > 1 order by 2 limit 1;
  if found then
    raise exception 'documents % and % have the same uri %', v_bad.one, v_bad.other, ragdb._quote(v_bad.uri)
      using errcode = 'RG409', detail = 'one source has one document; nothing was written',
            hint = 'name a record of a file as file#record, and put each once';
  end if;
end $$;
comment on function ragdb._check_documents(jsonb) is
  'Raises RG409, RG412 or RG413 with the position and the field when documents are not what ragdb.put_documents takes.';

create or replace function ragdb._drop_unused_blobs(cids text[]) returns void
language sql
begin atomic
  delete from ragdb.blobs b where b.cid = any (_drop_unused_blobs.cids)
    and not exists (select from ragdb.corpora c join ragdb.documents d on d.corpus_id = c.corpus_id
      where d.doc_cid = b.cid);
end;
comment on function ragdb._drop_unused_blobs(text[]) is 'Removes those of the given blobs that no document has.';

-- Nothing is known of how many rows a call's arrays hold, and one wrong guess is a nested loop over all pairs.
create or replace function ragdb._document_edges(
  chunk_nos integer[], doc_nos integer[], ordinals integer[], headings jsonb[], except_doc_nos integer[]
) returns table (parent_no integer, child_no integer, edge_type text)
language sql stable parallel safe
set enable_nestloop = off
begin atomic
  with chunk as materialized (
    select k.*, lead(k.chunk_no) over (partition by k.doc_no order by k.ordinal) as next_no,
      first_value(k.chunk_no) over (partition by k.doc_no, k.heading order by k.ordinal) as head_no
    from (
      select k.chunk_no, k.doc_no, k.ordinal, array(select jsonb_array_elements_text(k.heading)) as heading
      from unnest(chunk_nos, doc_nos, ordinals, headings) k (chunk_no, doc_no, ordinal, heading)
      where k.doc_no <> all (except_doc_nos)
    ) k
  ), head as materialized (
    select c.chunk_no, c.doc_no, c.heading from chunk c where c.head_no = c.chunk_no and cardinality(c.heading) > 0
  )
  select c.chunk_no, c.next_no, 'default' from chunk c where c.next_no is not null
  union all
  select c.head_no, c.chunk_no, 'branch' from chunk c where c.head_no <> c.chunk_no and cardinality(c.heading) > 0
  union all
  (select distinct on (h.chunk_no) a.chunk_no, h.chunk_no, 'branch'
  from (select h.chunk_no, h.doc_no, n, h.heading[1:n] as above
        from head h, generate_series(1, cardinality(h.heading) - 1) n) h
    join head a on a.doc_no = h.doc_no and a.heading = h.above
  order by h.chunk_no, h.n desc);
end;
comment on function ragdb._document_edges(integer[], integer[], integer[], jsonb[], integer[]) is
  'Returns the edges between chunks of documents: next chunk (default), chunk of a section and section below (branch).';

-- Edges and links of documents are worked out anew and compared: an edge that stays is not touched.
create or replace function ragdb._link_chunks(
  corpus_id integer, chunk_nos integer[], doc_nos integer[], ordinals integer[], headings jsonb[],
  link_doc_nos integer[], link_ordinals integer[], link_targets text[], kept integer[], uris text[]
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_id integer := _link_chunks.corpus_id;
  v_turns integer[];
begin
  -- the edges of turns are what was said to what: ragdb.put_conversations writes them
  v_turns := array(select d.doc_no from (select distinct k from unnest(doc_nos) k) k
    join ragdb.documents d on d.corpus_id = v_id and d.doc_no = k.k where d.chunking ->> 'chunker' = 'turns/1');
  with desired as materialized (
    select e.* from ragdb._document_edges(chunk_nos, doc_nos, ordinals, headings, v_turns) e
  ), gone as (
    delete from ragdb.edges e using unnest(kept) k (chunk_no)
    where e.corpus_id = v_id and e.parent_no = k.chunk_no and e.edge_type in ('default', 'branch')
      and not exists (select from ragdb.turns t where t.corpus_id = v_id and t.chunk_no = e.parent_no)
      and not exists (select from desired d
        where (d.parent_no, d.child_no, d.edge_type) = (e.parent_no, e.child_no, e.edge_type))
  )
  insert into ragdb.edges (corpus_id, parent_no, child_no, edge_type)
    select v_id, d.parent_no, d.child_no, d.edge_type from desired d
    order by d.parent_no, d.child_no
    on conflict on constraint edges_are_unique do nothing;

  with desired as materialized (
    select k.chunk_no, l.target
    from unnest(link_doc_nos, link_ordinals, link_targets) l (doc_no, ordinal, target)
      join unnest(chunk_nos, doc_nos, ordinals) k (chunk_no, doc_no, ordinal)
        on k.doc_no = l.doc_no and k.ordinal = l.ordinal
  ), gone as (
    delete from ragdb.document_links l using unnest(kept) k (chunk_no)
    where l.corpus_id = v_id and l.chunk_no = k.chunk_no
      and not exists (select from desired d where d.chunk_no = l.chunk_no and d.target = l.target)
  )
  insert into ragdb.document_links (corpus_id, chunk_no, target)
    select v_id, d.chunk_no, d.target from desired d order by d.chunk_no, d.target
    on conflict on constraint document_links_are_unique do nothing;

  with again as materialized (
    select k.chunk_no from unnest(kept) k (chunk_no)
    union
    select k.chunk_no from unnest(chunk_nos) k (chunk_no)
      join ragdb.document_links l on l.corpus_id = v_id and l.chunk_no = k.chunk_no
    union
    select l.chunk_no from unnest(uris) u (uri) join ragdb.document_links l on l.corpus_id = v_id and l.target = u.uri
  ), desired as materialized (
    select distinct l.chunk_no as parent_no, c.chunk_no as child_no
    from again a
      join ragdb.document_links l on l.corpus_id = v_id and l.chunk_no = a.chunk_no
      join ragdb.document_sources s on s.corpus_id = v_id and s.uri = l.target
      join ragdb.chunks c on c.corpus_id = v_id and c.doc_no = s.doc_no and c.ordinal = 0
    where l.chunk_no <> c.chunk_no
  ), gone as (
    delete from ragdb.edges e using again a
    where e.corpus_id = v_id and e.parent_no = a.chunk_no and e.edge_type = 'reference'
      and not exists (select from ragdb.turns t where t.corpus_id = v_id and t.chunk_no = e.parent_no)
      and not exists (select from desired d where d.parent_no = e.parent_no and d.child_no = e.child_no)
  )
  insert into ragdb.edges (corpus_id, parent_no, child_no, edge_type)
    select v_id, d.parent_no, d.child_no, 'reference' from desired d order by d.parent_no, d.child_no
    on conflict on constraint edges_are_unique do nothing;
end $$;
comment on function ragdb._link_chunks(integer, integer[], integer[], integer[], jsonb[], integer[], integer[], text[], integer[], text[]) is
  'Makes the edges and links of the given chunks what they shall be, and resolves links to the given uris again.';

-- The one function that writes documents. It works out which documents a call touches, what they and their
-- chunks shall be, and changes only what differs: a row that stays keeps its number, its vector and its edges.
--
-- The first source of a document, in byte order, decides its title, language, metadata and chunking and names its
-- chunks, so that the order in which files arrive decides nothing.
create or replace function ragdb._write_documents(
  corpus ragdb.corpora, documents jsonb, force boolean, gone_uris text[]
) returns table ("position" integer, doc_cid text, chunks_indexed integer, tokens_indexed bigint,
  ingest_event_id uuid, was_duplicate boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_id integer := corpus.corpus_id;
  v_now timestamptz := ragdb._now();
  v_caller text := ragdb._caller();
  v_language text := ragdb._language(corpus.text_config);
  -- documents touched: number, cid, title before, position of the input that decides, and what becomes of it
  d_no integer[];
  d_cid text[];
  d_old_title text[];
  d_position integer[];
  d_uri text[];
  d_source_name text[];
  d_state text[];
  v_new_docs integer;
  v_documents integer;
  v_tokens bigint;
  v_bytes bigint;
  v_moved text[];
  -- chunks that there shall be, in the order of their documents
  k_no integer[];
  k_doc integer[];
  k_ordinal integer[];
  k_id text[];
  k_source text[];
  k_heading jsonb[];
  k_page integer[];
  k_start integer[];
  k_end integer[];
  k_tokens integer[];
  k_hash bytea[];
  k_n bigint[];
  k_text text[];
  v_kept integer[];
  v_gone integer[] := '{}';
  v_reindexed integer[] := '{}';
  -- hyperlinks that there shall be
  l_doc integer[];
  l_ordinal integer[];
  l_target text[];
  v_duplicate text;
  v_tick bigint;
  v_at timestamptz;
  v_event uuid;
begin
  with input as materialized (
    select (d.n - 1)::integer as position, d.v ->> 'doc_cid' as doc_cid, d.v ->> 'uri' as uri,
      coalesce(d.v ->> 'source_name', '') as source_name, d.v ->> 'title' as title,
      coalesce(d.v ->> 'language', v_language) as language, d.v ->> 'media_type' as media_type,
      coalesce(nullif(d.v -> 'metadata', 'null'), '{}') as metadata, d.v -> 'chunking' as chunking,
      d.v ->> 'external_id' as external_id
    from jsonb_array_elements(documents) with ordinality d (v, n)
  ), left_uris as materialized (
    select i.uri from input i union select unnest(gone_uris)
  ), touched as (
    select s.doc_no from left_uris u join ragdb.document_sources s on s.corpus_id = v_id and s.uri = u.uri
    union
    select d.doc_no from input i join ragdb.documents d on d.corpus_id = v_id and d.doc_cid = i.doc_cid
  ), old as materialized (
    select d.* from touched t join ragdb.documents d on d.corpus_id = v_id and d.doc_no = t.doc_no
  ), sources as (
    select o.doc_cid, s.uri, s.source_name, null as position
    from old o join ragdb.document_sources s on s.corpus_id = v_id and s.doc_no = o.doc_no
      left join left_uris u on u.uri = s.uri
    where u.uri is null
    union all
    select i.doc_cid, i.uri, i.source_name, i.position from input i
  ), firsts as (
    select distinct on (s.doc_cid) s.doc_cid, s.uri, s.source_name, s.position
    from sources s order by s.doc_cid, s.uri collate "C"
  ), decided as (
    select coalesce(o.doc_no, corpus.next_doc_no - 1
          + (row_number() over (partition by o.doc_no is null order by f.position))::integer) as doc_no,
      coalesce(o.doc_cid, f.doc_cid) as doc_cid, o.title, f.position, f.uri, f.source_name,
      case
        when f.doc_cid is null then 'gone'
        when o.doc_no is null then 'new'
        when f.position is not null and (force
          or (o.title, o.language, o.media_type, o.metadata, o.chunking, o.external_id)
            is distinct from (i.title, i.language, i.media_type, i.metadata, i.chunking, i.external_id)) then 'written'
        when (o.source, o.source_name) is distinct from (f.uri, f.source_name) then 'renamed'
        else 'same'
      end as state
    from old o full join firsts f on f.doc_cid = o.doc_cid left join input i on i.position = f.position
  )
  select array_agg(x.doc_no order by x.doc_no), array_agg(x.doc_cid order by x.doc_no),
    array_agg(x.title order by x.doc_no), array_agg(x.position order by x.doc_no),
    array_agg(x.uri order by x.doc_no), array_agg(x.source_name order by x.doc_no),
    array_agg(x.state order by x.doc_no), count(*) filter (where x.state = 'new')
  into d_no, d_cid, d_old_title, d_position, d_uri, d_source_name, d_state, v_new_docs
  from decided x;

  select coalesce(-count(*), 0), coalesce(-sum(d.tokens), 0), coalesce(-sum(d.size_bytes), 0)
    into v_documents, v_tokens, v_bytes
    from unnest(d_no) x (doc_no) join ragdb.documents d on d.corpus_id = v_id and d.doc_no = x.doc_no;

  -- documents and their sources
  insert into ragdb.documents (corpus_id, doc_no, doc_cid, title, language, media_type, metadata, chunking, external_id,
      source_name, source, size_bytes, pages, chunks, tokens, event_id, created_at, updated_at)
    select v_id, x.doc_no, x.doc_cid, i.v ->> 'title', coalesce(i.v ->> 'language', v_language), i.v ->> 'media_type',
      coalesce(nullif(i.v -> 'metadata', 'null'), '{}'), i.v -> 'chunking', i.v ->> 'external_id', x.source_name, x.uri,
      (i.v ->> 'size_bytes')::bigint, (i.v ->> 'pages')::integer, jsonb_array_length(i.v -> 'chunks'),
      (select coalesce(sum((c ->> 'tokens')::bigint), 0) from jsonb_array_elements(i.v -> 'chunks') c),
      -- until its event has an id, below
      '00000000-0000-0000-0000-000000000000', v_now, v_now
    from unnest(d_no, d_cid, d_position, d_uri, d_source_name, d_state) x (doc_no, doc_cid, position, uri, source_name, state)
      join jsonb_array_elements(documents) with ordinality i (v, n) on i.n = x.position + 1
    where x.state in ('new', 'written')
    order by x.doc_no
    on conflict on constraint documents_number_is_unique_per_corpus do update
      set (title, language, media_type, metadata, chunking, external_id, source_name, source, size_bytes, pages, chunks,
          tokens, updated_at)
        = (excluded.title, excluded.language, excluded.media_type, excluded.metadata, excluded.chunking,
          excluded.external_id, excluded.source_name, excluded.source, excluded.size_bytes, excluded.pages, excluded.chunks,
          excluded.tokens, excluded.updated_at);
  update ragdb.documents d set source = x.uri, source_name = x.source_name, updated_at = v_now
    from unnest(d_no, d_uri, d_source_name, d_state) x (doc_no, uri, source_name, state)
    where d.corpus_id = v_id and d.doc_no = x.doc_no and x.state = 'renamed';
  delete from ragdb.document_sources s using unnest(gone_uris) u (uri) where s.corpus_id = v_id and s.uri = u.uri;
  with put as (
    insert into ragdb.document_sources as s (corpus_id, uri, doc_no, source_name, etag, seen_at)
      select v_id, i.v ->> 'uri', x.doc_no, coalesce(i.v ->> 'source_name', ''), i.v ->> 'etag', v_now
      from jsonb_array_elements(documents) i (v) join unnest(d_no, d_cid) x (doc_no, doc_cid) on x.doc_cid = i.v ->> 'doc_cid'
      order by 2
      on conflict on constraint document_sources_uri_is_unique_per_corpus do update
        set doc_no = excluded.doc_no, source_name = excluded.source_name, etag = excluded.etag,
          seen_at = case s.doc_no when excluded.doc_no then s.seen_at else excluded.seen_at end
        where (s.doc_no, s.source_name, s.etag) is distinct from (excluded.doc_no, excluded.source_name, excluded.etag)
      returning uri
  )
  select gone_uris || coalesce(array_agg(p.uri), '{}') into v_moved from put p;

  -- the chunks that there shall be: those given for a document that is written, its own for one that is renamed
  with desired as (
    select x.doc_no, (c.n - 1)::integer as ordinal, coalesce(nullif(c.v -> 'heading', 'null'), '[]') as heading,
      (c.v ->> 'page')::integer as page, (c.v ->> 'start')::integer as start_offset, (c.v ->> 'end')::integer as end_offset,
      (c.v ->> 'tokens')::integer as token_count, ragdb._content_hash(c.v ->> 'text') as content_hash, c.v ->> 'text' as text,
      c.v ->> 'id' as given_id
    from unnest(d_no, d_position, d_state) x (doc_no, position, state)
      join jsonb_array_elements(documents) with ordinality i (v, n) on i.n = x.position + 1,
      jsonb_array_elements(i.v -> 'chunks') with ordinality c (v, n)
    where x.state in ('new', 'written')
    union all
    select c.doc_no, c.ordinal, to_jsonb(c.heading), c.page, c.start_offset, c.end_offset, c.token_count, c.content_hash, c.text,
      case when d.chunking ->> 'chunker' = 'turns/1' then c.chunk_id end
    from unnest(d_no, d_state) x (doc_no, state)
      join ragdb.documents d on d.corpus_id = v_id and d.doc_no = x.doc_no
      join ragdb.chunks c on c.corpus_id = v_id and c.doc_no = x.doc_no
    where x.state = 'renamed'
  ), counted as (
    select x.*, row_number() over (partition by x.doc_no, x.content_hash order by x.ordinal) - 1 as n from desired x
  ), named as (
    select x.*, d.source, case
        when x.given_id is not null then x.given_id
        when d.external_id is null then ragdb._chunk_id(corpus.name, d.source_name, d.source, x.content_hash, x.n)
        when d.chunks = 1 then d.external_id
        else d.external_id || '#' || x.ordinal + 1
      end as chunk_id
    from counted x join ragdb.documents d on d.corpus_id = v_id and d.doc_no = x.doc_no
    order by x.doc_no, x.ordinal
  )
  select array_agg(x.doc_no), array_agg(x.ordinal), array_agg(x.chunk_id), array_agg(x.source), array_agg(x.heading),
    array_agg(x.page), array_agg(x.start_offset), array_agg(x.end_offset), array_agg(x.token_count),
    array_agg(x.content_hash), array_agg(x.n), array_agg(x.text)
  into k_doc, k_ordinal, k_id, k_source, k_heading, k_page, k_start, k_end, k_tokens, k_hash, k_n, k_text
  from named x;
  select array_agg(x.doc_no), array_agg(x.ordinal), array_agg(x.target) into l_doc, l_ordinal, l_target
  from (
    select x.doc_no, (l.v ->> 'chunk')::integer as ordinal, l.v ->> 'target' as target
    from unnest(d_no, d_position, d_state) x (doc_no, position, state)
      join jsonb_array_elements(documents) with ordinality i (v, n) on i.n = x.position + 1,
      jsonb_array_elements(nullif(i.v -> 'links', 'null')) l (v)
    -- a target that no uri can equal needs no row
    where x.state in ('new', 'written') and octet_length(l.v ->> 'target') <= 2000
    union
    select c.doc_no, c.ordinal, l.target
    from unnest(d_no, d_state) x (doc_no, state)
      join ragdb.chunks c on c.corpus_id = v_id and c.doc_no = x.doc_no
      join ragdb.document_links l on l.corpus_id = v_id and l.chunk_no = c.chunk_no
    where x.state = 'renamed'
  ) x;

  select min(k.chunk_id) into v_duplicate
  from (select k.chunk_id from unnest(k_id) k (chunk_id) group by 1 having count(*) > 1) k;
  if v_duplicate is null then
    -- lateral and limit: an index look-up for each, whatever the planner believes to find
    select min(k.chunk_id) into v_duplicate
    from unnest(k_id) k (chunk_id)
      cross join lateral (select c.doc_no from ragdb.chunks c
        where c.corpus_id = v_id and c.chunk_id = k.chunk_id limit 1) c
    where c.doc_no not in (select x.doc_no from unnest(d_no, d_state) x (doc_no, state) where x.state <> 'same');
  end if;
  if v_duplicate is not null then
    raise exception 'two documents want the chunk id %', ragdb._quote(v_duplicate)
      using errcode = 'RG409', detail = 'an external id names one document of a corpus; nothing was written',
            hint = 'give every document an external_id of its own, or none; or delete the document that has it';
  end if;

  -- which rows stay: first those with the same id, then those with the same content in a document that is renamed
  with existing as materialized (
    select c.chunk_no, c.doc_no, c.chunk_id, c.content_hash,
      row_number() over (partition by c.doc_no, c.content_hash order by c.ordinal) - 1 as n
    from unnest(d_no, d_state) x (doc_no, state)
      join ragdb.chunks c on c.corpus_id = v_id and c.doc_no = x.doc_no
    where x.state in ('written', 'renamed', 'gone')
  ), desired as materialized (
    select * from unnest(k_doc, k_id, k_hash, k_n) with ordinality k (doc_no, chunk_id, content_hash, n, i)
  ), same_id as materialized (
    select d.i, e.chunk_no from desired d join existing e on e.chunk_id = d.chunk_id
  ), same_content as materialized (
    select d.i, e.chunk_no
    from desired d join existing e on (e.doc_no, e.content_hash, e.n) = (d.doc_no, d.content_hash, d.n)
    where d.i not in (select s.i from same_id s) and e.chunk_no not in (select s.chunk_no from same_id s)
  ), stays as (
    select * from same_id union all select * from same_content
  )
  select array_agg(s.chunk_no order by d.i), array_agg(s.chunk_no) filter (where s.chunk_no is not null),
    (select coalesce(array_agg(e.chunk_no), '{}') from existing e where e.chunk_no not in (select chunk_no from stays))
  into k_no, v_kept, v_gone
  from desired d left join stays s on s.i = d.i;

  -- of those that stay, the ones that are searched by something else than before
  if v_kept is not null then
    select coalesce(array_agg(c.chunk_no), '{}') into v_reindexed
    from unnest(k_no, k_doc, k_heading, k_text) k (chunk_no, doc_no, heading, text)
      join ragdb.chunks c on c.corpus_id = v_id and c.chunk_no = k.chunk_no
      join ragdb.documents d on d.corpus_id = v_id and d.doc_no = k.doc_no
      join unnest(d_no, d_old_title) o (doc_no, title) on o.doc_no = c.doc_no
    where force or d.title is distinct from o.title or to_jsonb(c.heading) <> k.heading or c.text <> k.text;
  end if;
  if cardinality(v_gone || v_reindexed) > 0 then
    perform ragdb._unindex_chunks(v_id, v_gone || v_reindexed);
  end if;
  delete from ragdb.chunks c using unnest(v_gone) g (chunk_no) where c.corpus_id = v_id and c.chunk_no = g.chunk_no;
  if v_kept is not null then
    update ragdb.chunks c
    set doc_no = k.doc_no, ordinal = k.ordinal, chunk_id = k.chunk_id, source = k.source, page = k.page,
      heading = array(select jsonb_array_elements_text(k.heading)), start_offset = k.start_offset,
      end_offset = k.end_offset, token_count = k.token_count, content_hash = k.content_hash, text = k.text
    from unnest(k_no, k_doc, k_ordinal, k_id, k_source, k_heading, k_page, k_start, k_end, k_tokens, k_hash, k_text)
      k (chunk_no, doc_no, ordinal, chunk_id, source, heading, page, start_offset, end_offset, token_count, content_hash, text)
    where c.corpus_id = v_id and c.chunk_no = k.chunk_no
      and (c.doc_no, c.ordinal, c.chunk_id, c.source, to_jsonb(c.heading), c.page, c.start_offset, c.end_offset, c.token_count,
          c.content_hash, c.text)
        is distinct from (k.doc_no, k.ordinal, k.chunk_id, k.source, k.heading, k.page, k.start_offset, k.end_offset,
          k.token_count, k.content_hash, k.text);
  end if;
  -- numbers for the new ones
  select array_agg(coalesce(k.chunk_no, corpus.next_chunk_no - 1 + k.nth) order by k.i) into k_no
  from (select k.*, (row_number() over (partition by k.chunk_no is null order by k.i))::integer as nth
        from unnest(k_no) with ordinality k (chunk_no, i)) k;
  insert into ragdb.chunks (corpus_id, chunk_no, doc_no, ordinal, chunk_id, source, heading, page, start_offset, end_offset,
      token_count, content_hash, text)
    select v_id, k.chunk_no, k.doc_no, k.ordinal, k.chunk_id, k.source, array(select jsonb_array_elements_text(k.heading)), k.page,
      k.start_offset, k.end_offset, k.token_count, k.content_hash, k.text
    from unnest(k_no, k_doc, k_ordinal, k_id, k_source, k_heading, k_page, k_start, k_end, k_tokens, k_hash, k_text)
      k (chunk_no, doc_no, ordinal, chunk_id, source, heading, page, start_offset, end_offset, token_count, content_hash, text)
    where k.chunk_no >= corpus.next_chunk_no
    order by k.chunk_no;
  delete from ragdb.documents d using unnest(d_no, d_state) x (doc_no, state)
    where d.corpus_id = v_id and d.doc_no = x.doc_no and x.state = 'gone';

  perform ragdb._link_chunks(v_id, k_no, k_doc, k_ordinal, k_heading, l_doc, l_ordinal, l_target, coalesce(v_kept, '{}'), v_moved
    || coalesce((select array_agg(s.uri) from unnest(d_no, d_state) x (doc_no, state)
        join ragdb.document_sources s on s.corpus_id = v_id and s.doc_no = x.doc_no where x.state <> 'same'), '{}'));

  select v_documents + count(*), v_tokens + coalesce(sum(d.tokens), 0), v_bytes + coalesce(sum(d.size_bytes), 0)
    into v_documents, v_tokens, v_bytes
    from unnest(d_no) x (doc_no) join ragdb.documents d on d.corpus_id = v_id and d.doc_no = x.doc_no;
  update ragdb.corpora c
    set documents = c.documents + v_documents, token_count = c.token_count + v_tokens, size_bytes = c.size_bytes + v_bytes,
      next_doc_no = c.next_doc_no + v_new_docs,
      next_chunk_no = greatest(c.next_chunk_no, coalesce((select max(k) from unnest(k_no) k), 0) + 1)
    where c.corpus_id = v_id;
  v_reindexed := v_reindexed || array(select k from unnest(k_no) k where k >= corpus.next_chunk_no);
  if cardinality(v_reindexed) > 0 then
    perform ragdb._index_chunks(v_id, v_reindexed);
  end if;
  perform ragdb._drop_unused_blobs((select array_agg(x.doc_cid) from unnest(d_cid, d_state) x (doc_cid, state) where x.state = 'gone'));

  -- events last: the clock's row is held to the end of the transaction, and everybody who writes waits for it
  if exists (select from unnest(d_position, d_state) x (position, state)
      where x.state in ('new', 'written') or x.state = 'renamed' and x.position is not null) then
    insert into ragdb.event_clock as t (id, lamport, at)
      values (true, 0, v_now)
      on conflict on constraint event_clock_has_one_row do update set at = greatest(ragdb._now(), t.at)
      returning t.lamport, t.at into v_tick, v_at;
    with happened as (
      select x.doc_no, (row_number() over (order by x.position))::integer as nth
      from unnest(d_no, d_position, d_state) x (doc_no, position, state)
      where x.state in ('new', 'written') or x.state = 'renamed' and x.position is not null
    ), written as (
      insert into ragdb.events (lamport, event_id, kind, created_at, author, corpus_id, corpus, doc_cid, title, language, chunks)
      select v_tick + h.nth, ragdb._uuid7(v_at + h.nth * interval '1 microsecond'), 'rag.document.ingested', v_now, v_caller,
        v_id, corpus.name, d.doc_cid, d.title, d.language, d.chunks
      from happened h join ragdb.documents d on d.corpus_id = v_id and d.doc_no = h.doc_no
      order by h.nth
      returning lamport, event_id, doc_cid
    ), ticked as (
      update ragdb.event_clock t set lamport = v_tick + n, at = v_at + n * interval '1 microsecond'
      from (select count(*) as n from happened) h
    ), noted as (
      update ragdb.documents d set event_id = w.event_id
      from written w where d.corpus_id = v_id and d.doc_cid = w.doc_cid
    )
    select w.event_id into v_event from written w order by w.lamport desc limit 1;
    perform pg_notify('ragdb_events', json_build_object('id', v_event, 'corpus', corpus.name)::text);
  end if;

  return query
    select (i.n - 1)::integer, d.doc_cid, d.chunks, d.tokens, d.event_id,
      x.state = 'same' or x.position is distinct from i.n - 1
    from jsonb_array_elements(documents) with ordinality i (v, n)
      join ragdb.documents d on d.corpus_id = v_id and d.doc_cid = i.v ->> 'doc_cid'
      join unnest(d_no, d_position, d_state) x (doc_no, position, state) on x.doc_no = d.doc_no
    order by i.n;
end $$;
comment on function ragdb._write_documents(ragdb.corpora, jsonb, boolean, text[]) is
  'Puts checked documents and takes sources away, changing only what differs; the caller holds the corpus lock. Raises RG409.';

-- A definer, as all that follow, because nobody but the owner touches the tables.
create or replace function ragdb.put_documents(corpus text, documents jsonb, force boolean default false)
returns setof ragdb.put_result
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_began timestamptz := clock_timestamp();
  v_corpus ragdb.corpora := ragdb._open_corpus(put_documents.corpus, 'write');
  v_language text := ragdb._language(v_corpus.text_config);
begin
  perform ragdb._check_documents(documents);
  if force is null then
    raise exception 'force is null'
      using errcode = 'RG400', detail = 'it says whether documents that are there already are written again', hint = 'the default is false';
  end if;
  -- where all of it is there already, nothing is written: not even the corpus row is locked
  if not force then
    return query
      select (i.n - 1)::integer, d.doc_cid, d.chunks, d.tokens, d.event_id, true,
        extract(epoch from clock_timestamp() - v_began)::float8 * 1000
      from jsonb_array_elements(documents) with ordinality i (v, n)
        join ragdb.documents d on d.corpus_id = v_corpus.corpus_id and d.doc_cid = i.v ->> 'doc_cid'
      where not exists (
        select from jsonb_array_elements(documents) i (v)
          left join ragdb.document_sources s on s.corpus_id = v_corpus.corpus_id and s.uri = i.v ->> 'uri'
          left join ragdb.documents d on d.corpus_id = s.corpus_id and d.doc_no = s.doc_no
        where d.doc_cid is distinct from i.v ->> 'doc_cid'
          or (s.source_name, s.etag) is distinct from (coalesce(i.v ->> 'source_name', ''), i.v ->> 'etag')
          or d.source = s.uri
            and (d.title, d.language, d.media_type, d.metadata, d.chunking, d.external_id) is distinct from
              (i.v ->> 'title', coalesce(i.v ->> 'language', v_language), i.v ->> 'media_type',
                coalesce(nullif(i.v -> 'metadata', 'null'), '{}'), i.v -> 'chunking', i.v ->> 'external_id'))
      order by i.n;
    if found then
      return;
    end if;
  end if;
  if jsonb_array_length(documents) = 0 then
    return;
  end if;
  v_corpus := ragdb._lock_corpus(put_documents.corpus, 'write');
  return query
    select w.*, extract(epoch from clock_timestamp() - v_began)::float8 * 1000
    from ragdb._write_documents(v_corpus, documents, force, '{}') w;
end $$;
comment on function ragdb.put_documents(text, jsonb, boolean) is
  'Stores documents with their chunks, at most 10000, in one transaction and returns a row for each: its position from 0, its identity, chunks, tokens and event, whether it was there already, and the milliseconds of the whole call. What is there already is not written again unless force is true. A document is {"doc_cid", "uri", "media_type", "size_bytes", "chunking": {…}, "chunks": [{"text", "start", "end", "tokens", "page", "heading": […]}], "title", "language", "metadata": {…}, "external_id", "source_name", "pages", "etag", "links": [{"chunk", "target"}]}; those from "title" on, "page" and "heading" may be missing. Raises RG400, RG401, RG404, RG409, RG412, RG413.';

create or replace function ragdb.put_document(
  corpus text, doc_cid text, uri text, chunks jsonb, chunking jsonb, title text default null, language text default null,
  media_type text default 'text/plain', metadata jsonb default '{}', external_id text default null,
  source_name text default '', size_bytes bigint default null, pages integer default null, etag text default null,
  links jsonb default '[]', force boolean default false
) returns setof ragdb.put_result
language sql rows 1
begin atomic
  select * from ragdb.put_documents(put_document.corpus, jsonb_build_array(jsonb_build_object(
    'doc_cid', put_document.doc_cid, 'uri', put_document.uri, 'chunks', put_document.chunks, 'chunking', put_document.chunking,
    'title', put_document.title, 'language', put_document.language, 'media_type', put_document.media_type,
    'metadata', put_document.metadata, 'external_id', put_document.external_id,
    'source_name', put_document.source_name, 'pages', put_document.pages, 'etag', put_document.etag,
    'links', put_document.links, 'size_bytes', coalesce(put_document.size_bytes,
      (select sum(octet_length(c ->> 'text')) from jsonb_array_elements(
        case jsonb_typeof(put_document.chunks) when 'array' then put_document.chunks end) c), 0))),
    put_document.force);
end;
comment on function ragdb.put_document(text, text, text, jsonb, jsonb, text, text, text, jsonb, text, text, bigint, integer, text, jsonb, boolean) is
  'Stores one document, as ragdb.put_documents does; size_bytes defaults to the bytes of its chunks. Raises RG400, RG401, RG404, RG409, RG412.';

create or replace function ragdb.put_text(
  corpus text, source text, text text, title text default null, language text default null, metadata jsonb default '{}',
  external_id text default null, strategy text default 'paragraph', max_tokens integer default 240,
  overlap integer default 48, unit text default 'token', media_type text default 'text/plain', force boolean default false
) returns setof ragdb.put_result
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  v_bytes bytea := convert_to(text, 'UTF8');
begin
  if text is null then
    raise exception 'text is null'
      using errcode = 'RG400', detail = 'an empty text is a document without chunks, null is no document', hint = 'pass a text';
  end if;
  return query
    select p.* from ragdb.put_document(
      corpus => corpus, doc_cid => 'sha256:' || encode(sha256(v_bytes), 'hex'), uri => source,
      chunks => (
        select coalesce(jsonb_agg(jsonb_build_object('text', c.content, 'start', c.start_offset,
          'end', c.end_offset, 'tokens', c.token_count) order by c.ordinal), '[]')
        from ragdb._chunk_text(text, strategy, max_tokens, overlap, unit) c),
      chunking => jsonb_build_object('chunker', 'para-sent/1', 'strategy', strategy, 'max_tokens', max_tokens,
        'overlap', overlap, 'unit', ragdb._unit(unit)),
      title => title, language => language, media_type => media_type, metadata => metadata, external_id => external_id,
      size_bytes => octet_length(v_bytes)::bigint, force => force) p;
end $$;
comment on function ragdb.put_text(text, text, text, text, text, jsonb, text, text, integer, integer, text, text, boolean) is
  'Cuts a text by the chunker para-sent/1 (docs/chunker.md) and stores it as the document of a source, as ragdb.put_documents does. Raises RG400, RG401, RG404, RG409, RG412.';

create or replace function ragdb.delete_source(corpus text, uri text)
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._lock_corpus(delete_source.corpus, 'write');
begin
  if uri is null or not exists (select from ragdb.document_sources s
      where s.corpus_id = v_corpus.corpus_id and s.uri = delete_source.uri) then
    raise exception 'corpus % has no source %', ragdb._quote(corpus), ragdb._quote(uri)
      using errcode = 'RG405', detail = 'a source is what uri was when the document was put',
            hint = 'ragdb.list_documents() lists the sources';
  end if;
  return query select * from ragdb._remove_sources(v_corpus, array[uri]);
end $$;
comment on function ragdb.delete_source(text, text) is
  'Forgets one source, and its document when that was the last one; returns how many documents and chunks went. Raises RG400, RG401, RG404, RG405.';

create or replace function ragdb._remove_sources(corpus ragdb.corpora, uris text[])
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb._write_documents(corpus, '[]', false, uris);
  return query select corpus.documents - c.documents, corpus.chunks - c.chunks
    from ragdb.corpora c where c.corpus_id = corpus.corpus_id;
end $$;
comment on function ragdb._remove_sources(ragdb.corpora, text[]) is
  'Takes sources away and counts what went with them; the caller holds the corpus lock.';

create or replace function ragdb.delete_document(corpus text, doc_cid text)
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._lock_corpus(delete_document.corpus, 'write');
  v_no integer := (ragdb._find_document(v_corpus, delete_document.doc_cid)).doc_no;
begin
  return query select r.* from ragdb._remove_sources(v_corpus, array(
    select s.uri from ragdb.document_sources s where s.corpus_id = v_corpus.corpus_id and s.doc_no = v_no)) r;
end $$;
comment on function ragdb.delete_document(text, text) is
  'Removes a document with all its sources and chunks; returns how many documents and chunks went. Raises RG400, RG401, RG404, RG405.';

create or replace function ragdb._find_document(corpus ragdb.corpora, doc_cid text) returns ragdb.documents
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_document ragdb.documents;
begin
  select d.* into v_document from ragdb.documents d
    where d.corpus_id = corpus.corpus_id and d.doc_cid = _find_document.doc_cid;
  if not found then
    raise exception 'corpus % has no document %', ragdb._quote(corpus.name), ragdb._quote(doc_cid)
      using errcode = 'RG405', detail = 'a document is named by sha256: and the hash of its bytes',
            hint = 'ragdb.list_documents() lists them';
  end if;
  return v_document;
end $$;
comment on function ragdb._find_document(ragdb.corpora, text) is 'Returns the row of a document. Raises RG405.';

create or replace function ragdb.prune_sources(corpus text, prefix text, keep text[])
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(prune_sources.corpus, 'write');
  v_uris text[];
begin
  if prefix is null or keep is null or array_position(keep, null) is not null then
    raise exception 'prefix or keep is null'
      using errcode = 'RG400', detail = 'sources that begin with prefix and are not in keep are removed',
            hint = 'an empty prefix means every source, an empty keep means none';
  end if;
  v_uris := array(select s.uri from ragdb.document_sources s
    where s.corpus_id = v_corpus.corpus_id and starts_with(s.uri, prefix) and s.uri not in (select unnest(keep)));
  if cardinality(v_uris) = 0 then
    return query select 0, 0;
    return;
  end if;
  v_corpus := ragdb._lock_corpus(prune_sources.corpus, 'write');
  return query select r.* from ragdb._remove_sources(v_corpus, v_uris) r;
end $$;
comment on function ragdb.prune_sources(text, text, text[]) is
  'Forgets the sources that begin with a prefix and are not among those to keep, and every document that is left without one; returns how many documents and chunks went. Raises RG400, RG401, RG404.';

-- ── blobs ───────────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.put_blob(bytes bytea, media_type text) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cid text := 'sha256:' || encode(sha256(bytes), 'hex');
begin
  if bytes is null or media_type is null then
    raise exception 'bytes or media_type is null'
      using errcode = 'RG400', detail = 'a blob is bytes and their media type', hint = 'application/octet-stream is a media type';
  end if;
  if not exists (select from ragdb.corpora c where ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 2) then
    raise exception 'role % may not store blobs', ragdb._quote(ragdb._caller())
      using errcode = 'RG401', detail = 'it has no corpus that it may write to', hint = 'create a corpus first';
  end if;
  insert into ragdb.blobs (cid, bytes, media_type, size)
    values (v_cid, put_blob.bytes, put_blob.media_type, octet_length(put_blob.bytes))
    on conflict on constraint blobs_cid_is_unique do nothing;
  insert into ragdb.blob_uploads (cid, role, put_at)
    values (v_cid, ragdb._caller(), ragdb._now())
    on conflict on constraint blob_uploads_are_unique do nothing;
  return v_cid;
end $$;
comment on function ragdb.put_blob(bytea, text) is
  'Keeps bytes once for all corpora and returns their identity, sha256: and 64 hex digits; the media type given first stays. Raises RG400, RG401.';

create or replace function ragdb.get_blob(cid text)
returns setof ragdb.blob
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select b.cid, b.media_type, b.size, b.bytes from ragdb.blobs b
    where b.cid = get_blob.cid and exists (
      select from ragdb.corpora c join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_cid = b.cid
      where ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 1);
  if not found then
    raise exception 'no blob %', ragdb._quote(get_blob.cid)
      using errcode = 'RG408', detail = 'bytes are shown to who may read a corpus with their document',
            hint = 'originals are not kept where documents were put without them';
  end if;
end $$;
comment on function ragdb.get_blob(text) is
  'Returns the original bytes of a document that the caller may read. Raises RG408.';

-- ── reading ─────────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.list_documents(corpus text, prefix text default '', after text default '', count integer default 100)
returns setof ragdb.document
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_id integer := (ragdb._open_corpus(list_documents.corpus, 'read')).corpus_id;
begin
  if prefix is null or after is null or count is null or count not between 1 and 10000 then
    raise exception 'prefix or after is null, or count is not 1 to 10000'
      using errcode = 'RG400', detail = 'count is ' || coalesce(count::text, 'null'),
            hint = 'for the next page, give the last source as after';
  end if;
  return query
    select d.doc_cid, d.source, array(select s.uri from ragdb.document_sources s
        where s.corpus_id = v_id and s.doc_no = d.doc_no order by s.uri),
      d.title, d.language, d.media_type, d.metadata, d.chunking, d.external_id, d.source_name, d.size_bytes, d.pages,
      d.chunks, d.tokens, d.event_id, d.created_at, d.updated_at
    from ragdb.documents d
    where d.corpus_id = v_id and starts_with(d.source, prefix) and d.source > after collate "C"
    order by d.source limit count;
end $$;
comment on function ragdb.list_documents(text, text, text, integer) is
  'Lists the documents of a corpus by their first source: those whose source begins with a prefix and comes after a given one, at most count (1 to 10000). Raises RG400, RG404.';

create or replace function ragdb.get_document(corpus text, doc_cid text)
returns setof ragdb.document
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(get_document.corpus, 'read');
  v_document ragdb.documents := ragdb._find_document(v_corpus, get_document.doc_cid);
begin
  return query
    select v_document.doc_cid, v_document.source, array(select s.uri from ragdb.document_sources s
        where s.corpus_id = v_document.corpus_id and s.doc_no = v_document.doc_no order by s.uri),
      v_document.title, v_document.language, v_document.media_type, v_document.metadata, v_document.chunking,
      v_document.external_id, v_document.source_name, v_document.size_bytes, v_document.pages, v_document.chunks,
      v_document.tokens, v_document.event_id, v_document.created_at, v_document.updated_at;
end $$;
comment on function ragdb.get_document(text, text) is
  'Returns one document by its identity, as ragdb.list_documents does. Raises RG400, RG404, RG405.';

-- Definer: document_sources is granted to nobody.
create or replace function ragdb.get_source(corpus text, uri text)
returns table (
  doc_cid text, source_name text, etag text, chunking jsonb, seen_at timestamptz)
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(get_source.corpus, 'read');
begin
  if get_source.uri is null then
    raise exception 'uri is null'
      using errcode = 'RG400', detail = 'a source is named by its uri',
            hint = 'ragdb.list_documents() lists them';
  end if;
  return query
    select d.doc_cid, s.source_name, s.etag, d.chunking, s.seen_at
      from ragdb.document_sources s join ragdb.documents d using (corpus_id, doc_no)
      where s.corpus_id = v_corpus.corpus_id and s.uri = get_source.uri;
end $$;
comment on function ragdb.get_source(text, text) is
  'Returns what document a source gave last, with the version that its store named (etag), its chunking and when that was; no row for a source that is not there. Raises RG400, RG404.';

create or replace function ragdb._chunk_rows(corpus_id integer, doc_no integer, chunk_id text)
returns setof ragdb.chunk
language sql stable parallel safe
begin atomic
  select c.chunk_id, d.doc_cid, c.ordinal, c.source, d.title, c.heading, c.page, c.start_offset, c.end_offset, c.token_count,
    c.text, coalesce(c.citation, jsonb_build_object('uri', c.source)), encode(c.content_hash, 'hex'), d.metadata
  from ragdb.chunks c join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no
  where c.corpus_id = _chunk_rows.corpus_id and (c.doc_no = _chunk_rows.doc_no or c.chunk_id = _chunk_rows.chunk_id)
  order by c.ordinal;
end;
comment on function ragdb._chunk_rows(integer, integer, text) is
  'Returns the chunks of a document in order, or the one of an id; give one of the two.';

create or replace function ragdb.get_chunk(corpus text, chunk_id text) returns setof ragdb.chunk
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(get_chunk.corpus, 'read');
begin
  return query select * from ragdb._chunk_rows(v_corpus.corpus_id, null, get_chunk.chunk_id);
  if not found then
    raise exception 'corpus % has no chunk %', ragdb._quote(corpus), ragdb._quote(chunk_id)
      using errcode = 'RG406', detail = 'the id of a chunk changes with its text and its source',
            hint = 'ragdb.document_chunks() lists the chunks of a document';
  end if;
end $$;
comment on function ragdb.get_chunk(text, text) is 'Returns one chunk by its id. Raises RG400, RG404, RG406.';

create or replace function ragdb.document_chunks(corpus text, doc_cid text) returns setof ragdb.chunk
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(document_chunks.corpus, 'read');
begin
  return query select c.* from ragdb._chunk_rows(v_corpus.corpus_id,
    (ragdb._find_document(v_corpus, document_chunks.doc_cid)).doc_no, null) c;
end $$;
comment on function ragdb.document_chunks(text, text) is
  'Returns the chunks of a document in order. Raises RG400, RG404, RG405.';

-- Chunks overlap, and leave the white space between them out.
create or replace function ragdb.document_text(corpus text, doc_cid text) returns text
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(document_text.corpus, 'read');
  v_document ragdb.documents := ragdb._find_document(v_corpus, document_text.doc_cid);
begin
  return (
    select string_agg(
      -- turns have no offsets
      repeat(E'\n', case when x.ordinal = 0 then 0 else least(greatest(coalesce(x.start_offset - x.covered, 2), 0), 2) end)
        || substr(x.text, greatest(coalesce(x.covered - x.start_offset, 0), 0) + 1), '' order by x.ordinal)
    from (
      select c.*, coalesce(max(c.end_offset) over (order by c.ordinal rows between unbounded preceding and 1 preceding), 0) as covered
      from ragdb.chunks c where c.corpus_id = v_document.corpus_id and c.doc_no = v_document.doc_no) x);
end $$;
comment on function ragdb.document_text(text, text) is
  'Returns the text of a document as its chunks have it: each character once, with a line end or two for white space that no chunk has; null without chunks. Raises RG400, RG404, RG405.';

-- ── events ──────────────────────────────────────────────────────────────────────────────────────────

-- A writer holds the clock's row from its event to its commit, so ticks become visible in their order: whoever
-- has seen one has seen all before it. Ids are in the order of ticks, so an id is a place to go on from, even
-- when its event is gone with its corpus.
create or replace function ragdb.events_after(id uuid default null, count integer default 100)
returns table (event_id uuid, lamport bigint, kind text, created_at timestamptz, author text, corpus text, doc_cid text,
  title text, language text, chunks integer)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  if count is null or count not between 1 and 10000 then
    raise exception 'count is %, not 1 to 10000', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'it is the number of events to read', hint = 'the default is 100';
  end if;
  return query
    with readable as materialized (
      select c.corpus_id from ragdb.corpora c where ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0
    )
    select e.event_id, e.lamport, e.kind, e.created_at, e.author, e.corpus, e.doc_cid, e.title, e.language, e.chunks
    from ragdb.events e
    where e.corpus_id in (select r.corpus_id from readable r)
      and e.event_id > coalesce(events_after.id, '00000000-0000-0000-0000-000000000000')
    order by e.event_id limit events_after.count;
end $$;
comment on function ragdb.events_after(uuid, integer) is
  'Returns the events after a given one (null: from the beginning), oldest first, at most count (1 to 10000), of the corpora that the caller may read. Raises RG400.';

-- ── checking ────────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.check_corpus(corpus text, deep boolean default true)
returns table ("check" text, expected text, found text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(check_corpus.corpus, 'read');
  v_id integer := v_corpus.corpus_id;
begin
  if deep is null then
    raise exception 'deep is null'
      using errcode = 'RG400', detail = 'it says whether chunks are analysed again', hint = 'the default is true';
  end if;
  return query
    with document as (
      select count(*) as documents, coalesce(sum(d.tokens), 0) as tokens, coalesce(sum(d.size_bytes), 0) as bytes
      from ragdb.documents d where d.corpus_id = v_id
    ), chunk as (
      select count(*) as chunks, count(*) filter (where x.chunk_no is null) as unindexed,
        count(*) filter (where c.end_offset - c.start_offset <> length(c.text)) as offsets,
        count(*) filter (where c.content_hash <> ragdb._content_hash(c.text)) as hashes,
        count(*) filter (where c.chunk_id <> c.named) as ids
      from (
        select c.*, case when d.chunking ->> 'chunker' = 'turns/1' then c.chunk_id
          when d.external_id is null then ragdb._chunk_id(v_corpus.name, d.source_name, d.source, c.content_hash,
            row_number() over (partition by c.doc_no, c.content_hash order by c.ordinal) - 1)
          when d.chunks = 1 then d.external_id else d.external_id || '#' || c.ordinal + 1 end as named
        from ragdb.chunks c join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no
        where c.corpus_id = v_id
      ) c left join ragdb.chunk_lexemes x on x.corpus_id = c.corpus_id and x.chunk_no = c.chunk_no
    ), half as (
      select count(*) filter (where d.chunks <> coalesce(c.chunks, 0) or d.tokens <> coalesce(c.tokens, 0)
          or c.chunks <> c.last + 1) as documents,
        count(*) filter (where s.uri is distinct from d.source) as sources
      from ragdb.documents d
        left join (select c.doc_no, count(*) as chunks, sum(c.token_count) as tokens, max(c.ordinal) as last
          from ragdb.chunks c where c.corpus_id = v_id group by c.doc_no) c on c.doc_no = d.doc_no
        left join (select s.doc_no, min(s.uri) as uri
          from ragdb.document_sources s where s.corpus_id = v_id group by s.doc_no) s on s.doc_no = d.doc_no
      where d.corpus_id = v_id
    ), indexed as (
      select count(*) as chunks, coalesce(sum(x.lexeme_count), 0) as lexemes,
        count(*) filter (where not exists (select from ragdb.chunks c
          where c.corpus_id = v_id and c.chunk_no = x.chunk_no)) as stray
      from ragdb.chunk_lexemes x where x.corpus_id = v_id
    ), df as (
      select count(*) as wrong
      from (select l.term_id, l.df from ragdb.lexemes l where l.corpus_id = v_id and l.df <> 0) l
        full join (select ragdb._term_id(w.lexeme) as term_id, count(*) as df
          from ragdb.chunk_lexemes x, unnest(x.lexemes) w where x.corpus_id = v_id group by 1) n on n.term_id = l.term_id
      where l.df is distinct from n.df
    ), analysed as (
      select count(*) as wrong
      from ragdb.chunks c
        join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no
        join ragdb.chunk_lexemes x on x.corpus_id = c.corpus_id and x.chunk_no = c.chunk_no
      where c.corpus_id = v_id and deep
        and (select array_agg((w.lexeme, w.positions)::text order by w.lexeme collate "C")
            from unnest(ragdb._lexemes(ragdb._searched_text(d.title, c.heading, c.text), v_corpus.text_config)) w)
          is distinct from
          (select array_agg((l.lexeme, w.positions)::text order by l.lexeme)
            from unnest(x.lexemes) w
              join ragdb.lexemes l on l.corpus_id = v_id and l.term_id = ragdb._term_id(w.lexeme))
    )
    select r.what, r.expected::text, r.found::text
    from document, chunk, half, indexed, df, analysed, lateral (values
      ('documents', document.documents, v_corpus.documents::numeric),
      ('chunks', chunk.chunks, v_corpus.chunks),
      ('tokens', document.tokens, v_corpus.token_count),
      ('size_bytes', document.bytes, v_corpus.size_bytes),
      ('lexemes', indexed.lexemes, v_corpus.lexeme_count),
      ('chunks that are not indexed', 0, chunk.unindexed),
      ('index rows without a chunk', 0, indexed.stray),
      ('lexemes with a wrong number of chunks', 0, df.wrong),
      ('chunks that are indexed by another text', 0, analysed.wrong),
      ('documents whose chunks are not all there', 0, half.documents),
      ('documents not named after their first source', 0, half.sources),
      ('chunks whose offsets are not their text''s', 0, chunk.offsets),
      ('chunks whose content_hash is not their text''s', 0, chunk.hashes),
      ('chunks whose id is not their content''s', 0, chunk.ids)
    ) r (what, expected, found)
    where r.expected <> r.found;
end $$;
comment on function ragdb.check_corpus(text, boolean) is
  'Recounts and recomputes a corpus and returns what differs from what is stored: no row means that all is well. With deep, every chunk is analysed again, which takes as long as indexing it. Raises RG400, RG404.';

create or replace function ragdb.repair_corpus(corpus text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id integer := (ragdb._lock_corpus(repair_corpus.corpus, 'admin')).corpus_id;
begin
  delete from ragdb.chunk_lexemes x where x.corpus_id = v_id;
  delete from ragdb.lexemes l where l.corpus_id = v_id;
  update ragdb.corpora c
    set (documents, token_count, size_bytes, chunks, lexeme_count, next_term_id) = (
      select count(*), coalesce(sum(d.tokens), 0), coalesce(sum(d.size_bytes), 0), 0, 0, 1
      from ragdb.documents d where d.corpus_id = v_id)
    where c.corpus_id = v_id;
  perform ragdb._index_chunks(v_id, array(
    select c.chunk_no from ragdb.chunks c where c.corpus_id = v_id order by c.chunk_no));
end $$;
comment on function ragdb.repair_corpus(text) is
  'Rebuilds a corpus''s counters and lexical index from its documents and chunks. Raises RG400, RG401, RG404.';

---- sql/25_chunker.sql

-- The chunker para-sent/1, step by step as docs/chunker.md has it; ragdb/chunker.py is its twin.

create or replace function ragdb._unit(unit text) returns text
language sql immutable parallel safe
return case when _unit.unit in ('token', 'tokens', 'word', 'words', 'char', 'chars') then pg_catalog.rtrim(_unit.unit, 's') end;
comment on function ragdb._unit(text) is 'Returns a unit of the chunker in the singular, null when it is none.';

create or replace function ragdb._chunk_text(
  text text, strategy text default 'paragraph', max_tokens integer default 240, overlap integer default 48,
  unit text default 'token'
) returns table (ordinal integer, start_offset integer, end_offset integer, token_count integer, content text)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  v_unit text := ragdb._unit(unit);
  -- words, from 1: first character, character after the last, the same in bytes, level of the break before
  w_start integer[];
  w_end integer[];
  w_byte integer[];
  w_byte_end integer[];
  w_level integer[];
  w_line boolean[];
  v_bytes bytea;
  v_words integer;
  v_marks integer[];
  v_kinds text[];
  v_close integer;
  v_headings integer[];
  v_sections integer[] := '{1}';
  v_body boolean := false;
  v_next integer;
  -- packing; words lo … hi - 1
  v_lo integer;
  v_hi integer;
  v_end integer;
  v_limit integer;
  v_first integer;
  v_room integer;
  v_cut integer;
  v_filled integer;
  v_last integer;
  v_per integer;
  v_from integer[];
  v_to integer[];
  c_first integer[] := '{}';
  c_end integer[] := '{}';
begin
  if text is null then
    raise exception 'text is null'
      using errcode = 'RG400', detail = 'an empty text has no chunks, null is no text', hint = 'pass a text';
  end if;
  if strategy is null or strategy not in ('paragraph', 'semantic', 'page', 'window') then
    raise exception 'strategy is %, not paragraph, semantic, page or window', ragdb._quote(strategy)
      using errcode = 'RG400', detail = 'it says which breaks of a text are kept', hint = 'the default is paragraph';
  end if;
  if v_unit is null then
    raise exception 'unit is %, not token, word or char', ragdb._quote(unit)
      using errcode = 'RG400', detail = 'max_tokens and overlap are counted in it; a token is four characters',
            hint = 'the default is token';
  end if;
  if max_tokens is null or max_tokens not between 1 and 1000000 then
    raise exception 'max_tokens is %, not 1 to 1000000', coalesce(max_tokens::text, 'null')
      using errcode = 'RG400', detail = 'it is the size of a chunk', hint = 'the default is 240';
  end if;
  if overlap is null or overlap < 0 or overlap >= max_tokens then
    raise exception 'overlap is %, not 0 to %', coalesce(overlap::text, 'null'), max_tokens - 1
      using errcode = 'RG400', detail = 'it is what two chunks may share, less than max_tokens', hint = 'the default is 48';
  end if;

  with piece as materialized (
    select m.n, m.part[1] as gap, m.part[2] as word
    from regexp_matches(text, '([ \t\n\r\f\v]*)('
      '[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff][、。」』】）〉》！？，．：；”’]*'
      '|[^ \t\n\r\f\v\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+)', 'g') with ordinality m (part, n)
  ), word as (
    select p.n, p.gap, p.word, p.gap ~ '[\n\r\f]' as has_line_end,
      lag(right(p.word, 8) ~ '[.!?。！？]["''”’»)}」』】）》〉\]]*$') over w as after_sentence,
      sum(length(p.gap) + length(p.word)) over w as end_offset,
      sum(octet_length(p.gap) + octet_length(p.word)) over w as byte_end
    from piece p window w as (order by p.n)
  )
  select array_agg(w.end_offset - length(w.word) order by w.n), array_agg(w.end_offset order by w.n),
    array_agg(w.byte_end - octet_length(w.word) order by w.n), array_agg(w.byte_end order by w.n),
    array_agg(case
      when strategy = 'window' then 0
      when strategy = 'page' and w.gap ~ '\f' then 5
      when (w.has_line_end or w.n = 1) and w.word ~ '^#{1,6}$' then 4
      when w.has_line_end and w.gap ~ '\n[ \t\r\f\v]*\n|\r[ \t\f\v]*\r|\f' then 3
      when w.after_sentence then 2
      when w.has_line_end then 1
      else 0 end order by w.n),
    array_agg(w.has_line_end or w.n = 1 order by w.n),
    array_agg(w.n order by w.n) filter (where (w.has_line_end or w.n = 1) and w.word ~ '^(```|~~~)'),
    array_agg(left(w.word, 3) order by w.n) filter (where (w.has_line_end or w.n = 1) and w.word ~ '^(```|~~~)')
  into w_start, w_end, w_byte, w_byte_end, w_level, w_line, v_marks, v_kinds
  from word w;
  v_words := coalesce(cardinality(w_start), 0);
  if v_words = 0 then
    return;
  end if;
  v_bytes := convert_to(text, 'UTF8');

  -- code fences
  if v_marks is not null and strategy <> 'window' then
    v_next := 1;
    while v_next < cardinality(v_marks) loop
      v_close := v_next + 1;
      while v_close <= cardinality(v_marks) and v_kinds[v_close] <> v_kinds[v_next] loop
        v_close := v_close + 1;
      end loop;
      if v_close > cardinality(v_marks) then
        v_next := v_next + 1;
        continue;
      end if;
      v_last := v_marks[v_close];
      for i in v_marks[v_next] + 1 .. v_words loop
        exit when i > v_last and w_line[i];
        if w_level[i] < 5 then
          w_level[i] := case when w_line[i] then -1 else -2 end;
        end if;
      end loop;
      v_next := v_close + 1;
    end loop;
  end if;

  -- sections
  if strategy = 'semantic' then
    v_headings := array(select l.i::integer from unnest(w_level) with ordinality l (level, i) where l.level = 4 order by l.i);
    v_body := cardinality(v_headings) > 0 and v_headings[1] > 1;
    for h in 1 .. cardinality(v_headings) loop
      if h > 1 and not v_body then
        v_next := v_headings[h - 1] + 1;
        while not w_line[v_next] loop
          v_next := v_next + 1;
        end loop;
        v_body := v_next < v_headings[h];
      end if;
      if v_body then
        v_sections := v_sections || v_headings[h];
        v_body := false;
      end if;
    end loop;
  elsif strategy = 'page' then
    v_sections := v_sections || array(
      select l.i::integer from unnest(w_level) with ordinality l (level, i) where l.level = 5 and l.i > 1 order by l.i);
  end if;

  -- packing, from the end. With words, size is a difference of numbers; else of characters, by four for tokens
  v_per := case v_unit when 'token' then 4 else 1 end;
  if v_unit = 'word' then
    v_from := array(select generate_series(0, v_words - 1));
    v_to := array(select generate_series(1, v_words));
  else
    v_from := w_start;
    v_to := w_end;
  end if;
  for v_section in reverse cardinality(v_sections) .. 1 loop
    v_lo := v_sections[v_section];
    v_hi := coalesce(v_sections[v_section + 1], v_words + 1);
    v_end := v_hi;
    v_limit := v_hi;
    loop
      v_first := v_limit - 1;
      while v_first > v_lo and (v_to[v_end - 1] - v_from[v_first - 1] + v_per - 1) / v_per <= max_tokens loop
        v_first := v_first - 1;
      end loop;
      if v_first = v_lo then
        c_first := c_first || v_lo;
        c_end := c_end || v_end;
        exit;
      end if;
      v_room := max_tokens - case when v_limit = v_end then 0
        else (v_to[v_end - 1] - v_from[v_limit] + v_per - 1) / v_per end;
      v_cut := null;
      v_filled := null;
      for c in v_first .. v_limit - 1 loop
        if v_cut is null or w_level[c] > w_level[v_cut] then
          v_cut := c;
        end if;
        if (v_filled is null or w_level[c] > w_level[v_filled])
            and 4 * ((v_to[v_limit - 1] - v_from[c] + v_per - 1) / v_per) >= v_room then
          v_filled := c;
        end if;
      end loop;
      if w_level[v_filled] >= 0 then
        v_cut := v_filled;
      end if;
      c_first := c_first || v_cut;
      c_end := c_end || v_end;
      v_last := v_end;
      v_end := v_cut;
      v_limit := v_cut;
      if w_level[v_cut] < 3 then
        v_next := v_cut + 1;
        while v_next < v_last
            and (v_to[v_next - 1] - v_from[v_cut] + v_per - 1) / v_per <= overlap
            and (v_to[v_next - 1] - v_from[v_cut - 1] + v_per - 1) / v_per <= max_tokens loop
          if w_level[v_next] >= w_level[v_cut] then
            v_end := v_next;
          end if;
          v_next := v_next + 1;
        end loop;
      end if;
    end loop;
  end loop;
  return query
    select (cardinality(c_first) - c.n)::integer, c.start_offset, c.end_offset,
      (c.end_offset - c.start_offset + 3) / 4,
      convert_from(substring(v_bytes from c.byte + 1 for c.byte_end - c.byte), 'UTF8')
    from (select x.n, w_start[x.first] as start_offset, w_end[x.after - 1] as end_offset, w_byte[x.first] as byte,
            w_byte_end[x.after - 1] as byte_end
          from unnest(c_first, c_end) with ordinality x (first, after, n)) c
    order by c.n desc;
end $$;
comment on function ragdb._chunk_text(text, text, integer, integer, text) is
  'Cuts a text into chunks by para-sent/1: strategy paragraph, semantic, page or window; max_tokens 1 to 1000000, overlap less, both in tokens of four characters, words or chars. Raises RG400.';

---- sql/29_unicode.sql

-- Written by tools/unicode_classes.py from Unicode 15.0.0; do not edit. A class is
-- the inside of a bracket expression of code points past ASCII; where it helps, gaps of
-- unassigned ones are filled.

create or replace function ragdb._unassigned() returns text
language sql immutable parallel safe
return
  '\u0378-\u0379\u0380-\u0383\u038B\u038D\u03A2\u0530\u0557-\u0558\u058B-\u058C\u0590\u05C8-\u0'
  || '5CF\u05EB-\u05EE\u05F5-\u05FF\u070E\u074B-\u074C\u07B2-\u07BF\u07FB-\u07FC\u082E-\u082F\u083'
  || 'F\u085C-\u085D\u085F\u086B-\u086F\u088F\u0892-\u0897\u0984\u098D-\u098E\u0991-\u0992\u09A9\u'
  || '09B1\u09B3-\u09B5\u09BA-\u09BB\u09C5-\u09C6\u09C9-\u09CA\u09CF-\u09D6\u09D8-\u09DB\u09DE\u09'
  || 'E4-\u09E5\u09FF-\u0A00\u0A04\u0A0B-\u0A0E\u0A11-\u0A12\u0A29\u0A31\u0A34\u0A37\u0A3A-\u0A3B\'
  || 'u0A3D\u0A43-\u0A46\u0A49-\u0A4A\u0A4E-\u0A50\u0A52-\u0A58\u0A5D\u0A5F-\u0A65\u0A77-\u0A80\u0'
  || 'A84\u0A8E\u0A92\u0AA9\u0AB1\u0AB4\u0ABA-\u0ABB\u0AC6\u0ACA\u0ACE-\u0ACF\u0AD1-\u0ADF\u0AE4-\'
  || 'u0AE5\u0AF2-\u0AF8\u0B00\u0B04\u0B0D-\u0B0E\u0B11-\u0B12\u0B29\u0B31\u0B34\u0B3A-\u0B3B\u0B4'
  || '5-\u0B46\u0B49-\u0B4A\u0B4E-\u0B54\u0B58-\u0B5B\u0B5E\u0B64-\u0B65\u0B78-\u0B81\u0B84\u0B8B-'
  || '\u0B8D\u0B91\u0B96-\u0B98\u0B9B\u0B9D\u0BA0-\u0BA2\u0BA5-\u0BA7\u0BAB-\u0BAD\u0BBA-\u0BBD\u0'
  || 'BC3-\u0BC5\u0BC9\u0BCE-\u0BCF\u0BD1-\u0BD6\u0BD8-\u0BE5\u0BFB-\u0BFF\u0C0D\u0C11\u0C29\u0C3A'
  || '-\u0C3B\u0C45\u0C49\u0C4E-\u0C54\u0C57\u0C5B-\u0C5C\u0C5E-\u0C5F\u0C64-\u0C65\u0C70-\u0C76\u'
  || '0C8D\u0C91\u0CA9\u0CB4\u0CBA-\u0CBB\u0CC5\u0CC9\u0CCE-\u0CD4\u0CD7-\u0CDC\u0CDF\u0CE4-\u0CE5'
  || '\u0CF0\u0CF4-\u0CFF\u0D0D\u0D11\u0D45\u0D49\u0D50-\u0D53\u0D64-\u0D65\u0D80\u0D84\u0D97-\u0D'
  || '99\u0DB2\u0DBC\u0DBE-\u0DBF\u0DC7-\u0DC9\u0DCB-\u0DCE\u0DD5\u0DD7\u0DE0-\u0DE5\u0DF0-\u0DF1\'
  || 'u0DF5-\u0E00\u0E3B-\u0E3E\u0E5C-\u0E80\u0E83\u0E85\u0E8B\u0EA4\u0EA6\u0EBE-\u0EBF\u0EC5\u0EC'
  || '7\u0ECF\u0EDA-\u0EDB\u0EE0-\u0EFF\u0F48\u0F6D-\u0F70\u0F98\u0FBD\u0FCD\u0FDB-\u0FFF\u10C6\u1'
  || '0C8-\u10CC\u10CE-\u10CF\u1249\u124E-\u124F\u1257\u1259\u125E-\u125F\u1289\u128E-\u128F\u12B1'
  || '\u12B6-\u12B7\u12BF\u12C1\u12C6-\u12C7\u12D7\u1311\u1316-\u1317\u135B-\u135C\u137D-\u137F\u1'
  || '39A-\u139F\u13F6-\u13F7\u13FE-\u13FF\u169D-\u169F\u16F9-\u16FF\u1716-\u171E\u1737-\u173F\u17'
  || '54-\u175F\u176D\u1771\u1774-\u177F\u17DE-\u17DF\u17EA-\u17EF\u17FA-\u17FF\u181A-\u181F\u1879'
  || '-\u187F\u18AB-\u18AF\u18F6-\u18FF\u191F\u192C-\u192F\u193C-\u193F\u1941-\u1943\u196E-\u196F\'
  || 'u1975-\u197F\u19AC-\u19AF\u19CA-\u19CF\u19DB-\u19DD\u1A1C-\u1A1D\u1A5F\u1A7D-\u1A7E\u1A8A-\u'
  || '1A8F\u1A9A-\u1A9F\u1AAE-\u1AAF\u1ACF-\u1AFF\u1B4D-\u1B4F\u1B7F\u1BF4-\u1BFB\u1C38-\u1C3A\u1C'
  || '4A-\u1C4C\u1C89-\u1C8F\u1CBB-\u1CBC\u1CC8-\u1CCF\u1CFB-\u1CFF\u1F16-\u1F17\u1F1E-\u1F1F\u1F4'
  || '6-\u1F47\u1F4E-\u1F4F\u1F58\u1F5A\u1F5C\u1F5E\u1F7E-\u1F7F\u1FB5\u1FC5\u1FD4-\u1FD5\u1FDC\u1'
  || 'FF0-\u1FF1\u1FF5\u1FFF\u2065\u2072-\u2073\u208F\u209D-\u209F\u20C1-\u20CF\u20F1-\u20FF\u218C'
  || '-\u218F\u2427-\u243F\u244B-\u245F\u2B74-\u2B75\u2B96\u2CF4-\u2CF8\u2D26\u2D28-\u2D2C\u2D2E-\'
  || 'u2D2F\u2D68-\u2D6E\u2D71-\u2D7E\u2D97-\u2D9F\u2DA7\u2DAF\u2DB7\u2DBF\u2DC7\u2DCF\u2DD7\u2DDF'
  || '\u2E5E-\u2E7F\u2E9A\u2EF4-\u2EFF\u2FD6-\u2FEF\u2FFC-\u2FFF\u3040\u3097-\u3098\u3100-\u3104\u'
  || '3130\u318F\u31E4-\u31EF\u321F\uA48D-\uA48F\uA4C7-\uA4CF\uA62C-\uA63F\uA6F8-\uA6FF\uA7CB-\uA7'
  || 'CF\uA7D2\uA7D4\uA7DA-\uA7F1\uA82D-\uA82F\uA83A-\uA83F\uA878-\uA87F\uA8C6-\uA8CD\uA8DA-\uA8DF'
  || '\uA954-\uA95E\uA97D-\uA97F\uA9CE\uA9DA-\uA9DD\uA9FF\uAA37-\uAA3F\uAA4E-\uAA4F\uAA5A-\uAA5B\u'
  || 'AAC3-\uAADA\uAAF7-\uAB00\uAB07-\uAB08\uAB0F-\uAB10\uAB17-\uAB1F\uAB27\uAB2F\uAB6C-\uAB6F\uAB'
  || 'EE-\uABEF\uABFA-\uABFF\uD7A4-\uD7AF\uD7C7-\uD7CA\uD7FC-\uDFFF\uFA6E-\uFA6F\uFADA-\uFAFF\uFB0'
  || '7-\uFB12\uFB18-\uFB1C\uFB37\uFB3D\uFB3F\uFB42\uFB45\uFBC3-\uFBD2\uFD90-\uFD91\uFDC8-\uFDCE\u'
  || 'FDD0-\uFDEF\uFE1A-\uFE1F\uFE53\uFE67\uFE6C-\uFE6F\uFE75\uFEFD-\uFEFE\uFF00\uFFBF-\uFFC1\uFFC'
  || '8-\uFFC9\uFFD0-\uFFD1\uFFD8-\uFFD9\uFFDD-\uFFDF\uFFE7\uFFEF-\uFFF8\uFFFE-\uFFFF\U0001000C\U0'
  || '0010027\U0001003B\U0001003E\U0001004E-\U0001004F\U0001005E-\U0001007F\U000100FB-\U000100FF\U'
  || '00010103-\U00010106\U00010134-\U00010136\U0001018F\U0001019D-\U0001019F\U000101A1-\U000101CF'
  || '\U000101FE-\U0001027F\U0001029D-\U0001029F\U000102D1-\U000102DF\U000102FC-\U000102FF\U000103'
  || '24-\U0001032C\U0001034B-\U0001034F\U0001037B-\U0001037F\U0001039E\U000103C4-\U000103C7\U0001'
  || '03D6-\U000103FF\U0001049E-\U0001049F\U000104AA-\U000104AF\U000104D4-\U000104D7\U000104FC-\U0'
  || '00104FF\U00010528-\U0001052F\U00010564-\U0001056E\U0001057B\U0001058B\U00010593\U00010596\U0'
  || '00105A2\U000105B2\U000105BA\U000105BD-\U000105FF\U00010737-\U0001073F\U00010756-\U0001075F\U'
  || '00010768-\U0001077F\U00010786\U000107B1\U000107BB-\U000107FF\U00010806-\U00010807\U00010809\'
  || 'U00010836\U00010839-\U0001083B\U0001083D-\U0001083E\U00010856\U0001089F-\U000108A6\U000108B0'
  || '-\U000108DF\U000108F3\U000108F6-\U000108FA\U0001091C-\U0001091E\U0001093A-\U0001093E\U000109'
  || '40-\U0001097F\U000109B8-\U000109BB\U000109D0-\U000109D1\U00010A04\U00010A07-\U00010A0B\U0001'
  || '0A14\U00010A18\U00010A36-\U00010A37\U00010A3B-\U00010A3E\U00010A49-\U00010A4F\U00010A59-\U00'
  || '010A5F\U00010AA0-\U00010ABF\U00010AE7-\U00010AEA\U00010AF7-\U00010AFF\U00010B36-\U00010B38\U'
  || '00010B56-\U00010B57\U00010B73-\U00010B77\U00010B92-\U00010B98\U00010B9D-\U00010BA8\U00010BB0'
  || '-\U00010BFF\U00010C49-\U00010C7F\U00010CB3-\U00010CBF\U00010CF3-\U00010CF9\U00010D28-\U00010'
  || 'D2F\U00010D3A-\U00010E5F\U00010E7F\U00010EAA\U00010EAE-\U00010EAF\U00010EB2-\U00010EFC\U0001'
  || '0F28-\U00010F2F\U00010F5A-\U00010F6F\U00010F8A-\U00010FAF\U00010FCC-\U00010FDF\U00010FF7-\U0'
  || '0010FFF\U0001104E-\U00011051\U00011076-\U0001107E\U000110C3-\U000110CC\U000110CE-\U000110CF\'
  || 'U000110E9-\U000110EF\U000110FA-\U000110FF\U00011135\U00011148-\U0001114F\U00011177-\U0001117'
  || 'F\U000111E0\U000111F5-\U000111FF\U00011212\U00011242-\U0001127F\U00011287\U00011289\U0001128'
  || 'E\U0001129E\U000112AA-\U000112AF\U000112EB-\U000112EF\U000112FA-\U000112FF\U00011304\U000113'
  || '0D-\U0001130E\U00011311-\U00011312\U00011329\U00011331\U00011334\U0001133A\U00011345-\U00011'
  || '346\U00011349-\U0001134A\U0001134E-\U0001134F\U00011351-\U00011356\U00011358-\U0001135C\U000'
  || '11364-\U00011365\U0001136D-\U0001136F\U00011375-\U000113FF\U0001145C\U00011462-\U0001147F\U0'
  || '00114C8-\U000114CF\U000114DA-\U0001157F\U000115B6-\U000115B7\U000115DE-\U000115FF\U00011645-'
  || '\U0001164F\U0001165A-\U0001165F\U0001166D-\U0001167F\U000116BA-\U000116BF\U000116CA-\U000116'
  || 'FF\U0001171B-\U0001171C\U0001172C-\U0001172F\U00011747-\U000117FF\U0001183C-\U0001189F\U0001'
  || '18F3-\U000118FE\U00011907-\U00011908\U0001190A-\U0001190B\U00011914\U00011917\U00011936\U000'
  || '11939-\U0001193A\U00011947-\U0001194F\U0001195A-\U0001199F\U000119A8-\U000119A9\U000119D8-\U'
  || '000119D9\U000119E5-\U000119FF\U00011A48-\U00011A4F\U00011AA3-\U00011AAF\U00011AF9-\U00011AFF'
  || '\U00011B0A-\U00011BFF\U00011C09\U00011C37\U00011C46-\U00011C4F\U00011C6D-\U00011C6F\U00011C9'
  || '0-\U00011C91\U00011CA8\U00011CB7-\U00011CFF\U00011D07\U00011D0A\U00011D37-\U00011D39\U00011D'
  || '3B\U00011D3E\U00011D48-\U00011D4F\U00011D5A-\U00011D5F\U00011D66\U00011D69\U00011D8F\U00011D'
  || '92\U00011D99-\U00011D9F\U00011DAA-\U00011EDF\U00011EF9-\U00011EFF\U00011F11\U00011F3B-\U0001'
  || '1F3D\U00011F5A-\U00011FAF\U00011FB1-\U00011FBF\U00011FF2-\U00011FFE\U0001239A-\U000123FF\U00'
  || '01246F\U00012475-\U0001247F\U00012544-\U00012F8F\U00012FF3-\U00012FFF\U00013456-\U000143FF\U'
  || '00014647-\U000167FF\U00016A39-\U00016A3F\U00016A5F\U00016A6A-\U00016A6D\U00016ABF\U00016ACA-'
  || '\U00016ACF\U00016AEE-\U00016AEF\U00016AF6-\U00016AFF\U00016B46-\U00016B4F\U00016B5A\U00016B6'
  || '2\U00016B78-\U00016B7C\U00016B90-\U00016E3F\U00016E9B-\U00016EFF\U00016F4B-\U00016F4E\U00016'
  || 'F88-\U00016F8E\U00016FA0-\U00016FDF\U00016FE5-\U00016FEF\U00016FF2-\U00016FFF\U000187F8-\U00'
  || '0187FF\U00018CD6-\U00018CFF\U00018D09-\U0001AFEF\U0001AFF4\U0001AFFC\U0001AFFF\U0001B123-\U0'
  || '001B131\U0001B133-\U0001B14F\U0001B153-\U0001B154\U0001B156-\U0001B163\U0001B168-\U0001B16F\'
  || 'U0001B2FC-\U0001BBFF\U0001BC6B-\U0001BC6F\U0001BC7D-\U0001BC7F\U0001BC89-\U0001BC8F\U0001BC9'
  || 'A-\U0001BC9B\U0001BCA4-\U0001CEFF\U0001CF2E-\U0001CF2F\U0001CF47-\U0001CF4F\U0001CFC4-\U0001'
  || 'CFFF\U0001D0F6-\U0001D0FF\U0001D127-\U0001D128\U0001D1EB-\U0001D1FF\U0001D246-\U0001D2BF\U00'
  || '01D2D4-\U0001D2DF\U0001D2F4-\U0001D2FF\U0001D357-\U0001D35F\U0001D379-\U0001D3FF\U0001D455\U'
  || '0001D49D\U0001D4A0-\U0001D4A1\U0001D4A3-\U0001D4A4\U0001D4A7-\U0001D4A8\U0001D4AD\U0001D4BA\'
  || 'U0001D4BC\U0001D4C4\U0001D506\U0001D50B-\U0001D50C\U0001D515\U0001D51D\U0001D53A\U0001D53F\U'
  || '0001D545\U0001D547-\U0001D549\U0001D551\U0001D6A6-\U0001D6A7\U0001D7CC-\U0001D7CD\U0001DA8C-'
  || '\U0001DA9A\U0001DAA0\U0001DAB0-\U0001DEFF\U0001DF1F-\U0001DF24\U0001DF2B-\U0001DFFF\U0001E00'
  || '7\U0001E019-\U0001E01A\U0001E022\U0001E025\U0001E02B-\U0001E02F\U0001E06E-\U0001E08E\U0001E0'
  || '90-\U0001E0FF\U0001E12D-\U0001E12F\U0001E13E-\U0001E13F\U0001E14A-\U0001E14D\U0001E150-\U000'
  || '1E28F\U0001E2AF-\U0001E2BF\U0001E2FA-\U0001E2FE\U0001E300-\U0001E4CF\U0001E4FA-\U0001E7DF\U0'
  || '001E7E7\U0001E7EC\U0001E7EF\U0001E7FF\U0001E8C5-\U0001E8C6\U0001E8D7-\U0001E8FF\U0001E94C-\U'
  || '0001E94F\U0001E95A-\U0001E95D\U0001E960-\U0001EC70\U0001ECB5-\U0001ED00\U0001ED3E-\U0001EDFF'
  || '\U0001EE04\U0001EE20\U0001EE23\U0001EE25-\U0001EE26\U0001EE28\U0001EE33\U0001EE38\U0001EE3A\'
  || 'U0001EE3C-\U0001EE41\U0001EE43-\U0001EE46\U0001EE48\U0001EE4A\U0001EE4C\U0001EE50\U0001EE53\'
  || 'U0001EE55-\U0001EE56\U0001EE58\U0001EE5A\U0001EE5C\U0001EE5E\U0001EE60\U0001EE63\U0001EE65-\'
  || 'U0001EE66\U0001EE6B\U0001EE73\U0001EE78\U0001EE7D\U0001EE7F\U0001EE8A\U0001EE9C-\U0001EEA0\U'
  || '0001EEA4\U0001EEAA\U0001EEBC-\U0001EEEF\U0001EEF2-\U0001EFFF\U0001F02C-\U0001F02F\U0001F094-'
  || '\U0001F09F\U0001F0AF-\U0001F0B0\U0001F0C0\U0001F0D0\U0001F0F6-\U0001F0FF\U0001F1AE-\U0001F1E'
  || '5\U0001F203-\U0001F20F\U0001F23C-\U0001F23F\U0001F249-\U0001F24F\U0001F252-\U0001F25F\U0001F'
  || '266-\U0001F2FF\U0001F6D8-\U0001F6DB\U0001F6ED-\U0001F6EF\U0001F6FD-\U0001F6FF\U0001F777-\U00'
  || '01F77A\U0001F7DA-\U0001F7DF\U0001F7EC-\U0001F7EF\U0001F7F1-\U0001F7FF\U0001F80C-\U0001F80F\U'
  || '0001F848-\U0001F84F\U0001F85A-\U0001F85F\U0001F888-\U0001F88F\U0001F8AE-\U0001F8AF\U0001F8B2'
  || '-\U0001F8FF\U0001FA54-\U0001FA5F\U0001FA6E-\U0001FA6F\U0001FA7D-\U0001FA7F\U0001FA89-\U0001F'
  || 'A8F\U0001FABE\U0001FAC6-\U0001FACD\U0001FADC-\U0001FADF\U0001FAE9-\U0001FAEF\U0001FAF9-\U000'
  || '1FAFF\U0001FB93\U0001FBCB-\U0001FBEF\U0001FBFA-\U0001FFFF\U0002A6E0-\U0002A6FF\U0002B73A-\U0'
  || '002B73F\U0002B81E-\U0002B81F\U0002CEA2-\U0002CEAF\U0002EBE1-\U0002F7FF\U0002FA1E-\U0002FFFF\'
  || 'U0003134B-\U0003134F\U000323B0-\U000E0000\U000E0002-\U000E001F\U000E0080-\U000E00FF\U000E01F'
  || '0-\U000EFFFF\U000FFFFE-\U000FFFFF\U0010FFFE-\U0010FFFF';
comment on function ragdb._unassigned() is
  'Returns the class of code points that Unicode 15.0 has not assigned.';

create or replace function ragdb._wordly() returns text
language sql immutable parallel safe
return
  '\u00AA\u00B2-\u00B3\u00B5\u00B9-\u00BA\u00BC-\u00BE\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02C1\u'
  || '02C6-\u02D1\u02E0-\u02E4\u02EC\u02EE\u0300-\u0374\u0376-\u037D\u037F\u0386\u0388-\u03F5\u03F'
  || '7-\u0481\u0483-\u0559\u0560-\u0588\u0591-\u05BD\u05BF\u05C1-\u05C2\u05C4-\u05C5\u05C7-\u05F2'
  || '\u0610-\u061A\u0620-\u0669\u066E-\u06D3\u06D5-\u06DC\u06DF-\u06E8\u06EA-\u06FC\u06FF\u0710-\'
  || 'u07F5\u07FA-\u07FD\u0800-\u082D\u0840-\u085B\u0860-\u0887\u0889-\u088E\u0898-\u08E1\u08E3-\u'
  || '0963\u0966-\u096F\u0971-\u09F1\u09F4-\u09F9\u09FC\u09FE-\u0A75\u0A81-\u0AEF\u0AF9-\u0B6F\u0B'
  || '71-\u0BF2\u0C00-\u0C6F\u0C78-\u0C7E\u0C80-\u0C83\u0C85-\u0D4E\u0D54-\u0D78\u0D7A-\u0DF3\u0E0'
  || '1-\u0E3A\u0E40-\u0E4E\u0E50-\u0E59\u0E81-\u0F00\u0F18-\u0F19\u0F20-\u0F33\u0F35\u0F37\u0F39\'
  || 'u0F3E-\u0F84\u0F86-\u0FBC\u0FC6\u1000-\u1049\u1050-\u109D\u10A0-\u10FA\u10FC-\u135F\u1369-\u'
  || '138F\u13A0-\u13FD\u1401-\u166C\u166F-\u167F\u1681-\u169A\u16A0-\u16EA\u16EE-\u1734\u1740-\u1'
  || '7D3\u17D7\u17DC-\u17F9\u180B-\u180D\u180F-\u193B\u1946-\u19DA\u1A00-\u1A1B\u1A20-\u1A99\u1AA'
  || '7\u1AB0-\u1B59\u1B6B-\u1B73\u1B80-\u1BF3\u1C00-\u1C37\u1C40-\u1C7D\u1C80-\u1CBF\u1CD0-\u1CD2'
  || '\u1CD4-\u1FBC\u1FBE\u1FC2-\u1FCC\u1FD0-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FFC\u2070-\u2079\u207F-\'
  || 'u2089\u2090-\u209C\u20D0-\u20F0\u2102\u2107\u210A-\u2113\u2115\u2119-\u211D\u2124\u2126\u212'
  || '8\u212A-\u212D\u212F-\u2139\u213C-\u213F\u2145-\u2149\u214E\u2150-\u2189\u2460-\u249B\u24EA-'
  || '\u24FF\u2776-\u2793\u2C00-\u2CE4\u2CEB-\u2CF3\u2CFD\u2D00-\u2D6F\u2D7F-\u2DFF\u2E2F\u3005-\u'
  || '3007\u3021-\u302F\u3031-\u3035\u3038-\u303C\u3041-\u309A\u309D-\u309F\u30A1-\u30FA\u30FC-\u3'
  || '18E\u3192-\u3195\u31A0-\u31BF\u31F0-\u31FF\u3220-\u3229\u3248-\u324F\u3251-\u325F\u3280-\u32'
  || '89\u32B1-\u32BF\u3400-\u4DBF\u4E00-\uA48C\uA4D0-\uA4FD\uA500-\uA60C\uA610-\uA672\uA674-\uA67'
  || 'D\uA67F-\uA6F1\uA717-\uA71F\uA722-\uA788\uA78B-\uA827\uA82C-\uA835\uA840-\uA873\uA880-\uA8C5'
  || '\uA8D0-\uA8F7\uA8FB\uA8FD-\uA92D\uA930-\uA953\uA960-\uA9C0\uA9CF-\uA9D9\uA9E0-\uAA59\uAA60-\'
  || 'uAA76\uAA7A-\uAADD\uAAE0-\uAAEF\uAAF2-\uAB5A\uAB5C-\uAB69\uAB70-\uABEA\uABEC-\uD7FB\uF900-\u'
  || 'FB28\uFB2A-\uFBB1\uFBD3-\uFD3D\uFD50-\uFDC7\uFDF0-\uFDFB\uFE00-\uFE0F\uFE20-\uFE2F\uFE70-\uF'
  || 'EFC\uFF10-\uFF19\uFF21-\uFF3A\uFF41-\uFF5A\uFF66-\uFFDC\U00010000-\U000100FA\U00010107-\U000'
  || '10133\U00010140-\U00010178\U0001018A-\U0001018B\U000101FD-\U0001039D\U000103A0-\U000103CF\U0'
  || '00103D1-\U00010563\U00010570-\U00010855\U00010858-\U00010876\U00010879-\U0001091B\U00010920-'
  || '\U00010939\U00010980-\U00010A48\U00010A60-\U00010A7E\U00010A80-\U00010AC7\U00010AC9-\U00010A'
  || 'EF\U00010B00-\U00010B35\U00010B40-\U00010B91\U00010BA9-\U00010EAC\U00010EB0-\U00010F54\U0001'
  || '0F70-\U00010F85\U00010FB0-\U00011046\U00011052-\U000110BA\U000110C2\U000110D0-\U0001113F\U00'
  || '011144-\U00011173\U00011176-\U000111C4\U000111C9-\U000111CC\U000111CE-\U000111DA\U000111DC\U'
  || '000111E1-\U00011237\U0001123E-\U000112A8\U000112B0-\U0001144A\U00011450-\U00011459\U0001145E'
  || '-\U000114C5\U000114C7-\U000115C0\U000115D8-\U00011640\U00011644-\U00011659\U00011680-\U00011'
  || '6B8\U000116C0-\U0001173B\U00011740-\U0001183A\U000118A0-\U00011943\U00011950-\U000119E1\U000'
  || '119E3-\U00011A3E\U00011A47-\U00011A99\U00011A9D\U00011AB0-\U00011AF8\U00011C00-\U00011C40\U0'
  || '0011C50-\U00011C6C\U00011C72-\U00011EF6\U00011F00-\U00011F42\U00011F50-\U00011FD4\U00012000-'
  || '\U0001246E\U00012480-\U00012FF0\U00013000-\U0001342F\U00013440-\U00016A69\U00016A70-\U00016A'
  || 'F4\U00016B00-\U00016B36\U00016B40-\U00016B43\U00016B50-\U00016E96\U00016F00-\U00016FE1\U0001'
  || '6FE3-\U0001BC99\U0001BC9D-\U0001BC9E\U0001CF00-\U0001CF46\U0001D165-\U0001D169\U0001D16D-\U0'
  || '001D172\U0001D17B-\U0001D182\U0001D185-\U0001D18B\U0001D1AA-\U0001D1AD\U0001D242-\U0001D244\'
  || 'U0001D2C0-\U0001D2F3\U0001D360-\U0001D6C0\U0001D6C2-\U0001D6DA\U0001D6DC-\U0001D6FA\U0001D6F'
  || 'C-\U0001D714\U0001D716-\U0001D734\U0001D736-\U0001D74E\U0001D750-\U0001D76E\U0001D770-\U0001'
  || 'D788\U0001D78A-\U0001D7A8\U0001D7AA-\U0001D7C2\U0001D7C4-\U0001D7FF\U0001DA00-\U0001DA36\U00'
  || '01DA3B-\U0001DA6C\U0001DA75\U0001DA84\U0001DA9B-\U0001E14E\U0001E290-\U0001E2F9\U0001E4D0-\U'
  || '0001E959\U0001EC71-\U0001ECAB\U0001ECAD-\U0001ECAF\U0001ECB1-\U0001ED2D\U0001ED2F-\U0001EEBB'
  || '\U0001F100-\U0001F10C\U0001FBF0-\U000323AF\U000E0100-\U000E01EF';
comment on function ragdb._wordly() is
  'Returns the class of letters, marks and numbers.';

create or replace function ragdb._spaced() returns text
language sql immutable parallel safe
return
  '\u00AA\u00B2-\u00B3\u00B5\u00B9-\u00BA\u00BC-\u00BE\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02C1\u'
  || '02C6-\u02D1\u02E0-\u02E4\u02EC\u02EE\u0300-\u0374\u0376-\u037D\u037F\u0386\u0388-\u03F5\u03F'
  || '7-\u0481\u0483-\u0559\u0560-\u0588\u0591-\u05BD\u05BF\u05C1-\u05C2\u05C4-\u05C5\u05C7-\u05F2'
  || '\u0610-\u061A\u0620-\u0669\u066E-\u06D3\u06D5-\u06DC\u06DF-\u06E8\u06EA-\u06FC\u06FF\u0710-\'
  || 'u07F5\u07FA-\u07FD\u0800-\u082D\u0840-\u085B\u0860-\u0887\u0889-\u088E\u0898-\u08E1\u08E3-\u'
  || '0963\u0966-\u096F\u0971-\u09F1\u09F4-\u09F9\u09FC\u09FE-\u0A75\u0A81-\u0AEF\u0AF9-\u0B6F\u0B'
  || '71-\u0BF2\u0C00-\u0C6F\u0C78-\u0C7E\u0C80-\u0C83\u0C85-\u0D4E\u0D54-\u0D78\u0D7A-\u0DF3\u0E3'
  || '3\u0E50-\u0E59\u0EB3\u0ED0-\u0EDD\u0F00\u0F18-\u0F19\u0F20-\u0F33\u0F35\u0F37\u0F39\u0F3E-\u'
  || '0F84\u0F86-\u0FBC\u0FC6\u1040-\u1049\u1090-\u1099\u10A0-\u10FA\u10FC-\u10FF\u1200-\u135F\u13'
  || '69-\u138F\u13A0-\u13FD\u1401-\u166C\u166F-\u167F\u1681-\u169A\u16A0-\u16EA\u16EE-\u1734\u174'
  || '0-\u1773\u17E0-\u17F9\u180B-\u180D\u180F-\u193B\u1946-\u19DA\u1A00-\u1A1B\u1A20-\u1A99\u1AA7'
  || '\u1AB0-\u1B59\u1B6B-\u1B73\u1B80-\u1BF3\u1C00-\u1C37\u1C40-\u1C7D\u1C80-\u1CBF\u1CD0-\u1CD2\'
  || 'u1CD4-\u1FBC\u1FBE\u1FC2-\u1FCC\u1FD0-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FFC\u2070-\u2079\u207F-\u'
  || '2089\u2090-\u209C\u20D0-\u20F0\u2102\u2107\u210A-\u2113\u2115\u2119-\u211D\u2124\u2126\u2128'
  || '\u212A-\u212D\u212F-\u2139\u213C-\u213F\u2145-\u2149\u214E\u2150-\u2189\u2460-\u249B\u24EA-\'
  || 'u24FF\u2776-\u2793\u2C00-\u2CE4\u2CEB-\u2CF3\u2CFD\u2D00-\u2D6F\u2D7F-\u2DFF\u3038-\u303A\u3'
  || '03C\u3099-\u309A\u309F\u30FF-\u318E\u3192-\u3195\u31A0-\u31BF\u3220-\u3229\u3248-\u324F\u325'
  || '1-\u325F\u3280-\u3289\u32B1-\u32BF\uA000-\uA48C\uA4D0-\uA4FD\uA500-\uA60C\uA610-\uA672\uA674'
  || '-\uA67D\uA67F-\uA6F1\uA717-\uA71F\uA722-\uA788\uA78B-\uA827\uA82C-\uA835\uA840-\uA873\uA880-'
  || '\uA8C5\uA8D0-\uA8F7\uA8FB\uA8FD-\uA92D\uA930-\uA953\uA980-\uA9C0\uA9CF-\uA9D9\uA9F0-\uA9F9\u'
  || 'AA00-\uAA59\uAA80-\uAADD\uAAE0-\uAAEF\uAAF2-\uAB5A\uAB5C-\uAB69\uAB70-\uABEA\uABEC-\uABF9\uF'
  || '900-\uFA0D\uFA10\uFA12\uFA15-\uFA1E\uFA20\uFA22\uFA25-\uFA26\uFA2A-\uFB28\uFB2A-\uFBB1\uFBD3'
  || '-\uFD3D\uFD50-\uFDC7\uFDF0-\uFDFB\uFE00-\uFE0F\uFE20-\uFE2F\uFE70-\uFEFC\uFF10-\uFF19\uFF21-'
  || '\uFF3A\uFF41-\uFF5A\uFF66-\uFFDC\U00010000-\U000100FA\U00010107-\U00010133\U00010140-\U00010'
  || '178\U0001018A-\U0001018B\U000101FD-\U0001039D\U000103A0-\U000103CF\U000103D1-\U00010563\U000'
  || '10570-\U00010855\U00010858-\U00010876\U00010879-\U0001091B\U00010920-\U00010939\U00010980-\U'
  || '00010A48\U00010A60-\U00010A7E\U00010A80-\U00010AC7\U00010AC9-\U00010AEF\U00010B00-\U00010B35'
  || '\U00010B40-\U00010B91\U00010BA9-\U00010EAC\U00010EB0-\U00010F54\U00010F70-\U00010F85\U00010F'
  || 'B0-\U00011046\U00011052-\U000110BA\U000110C2\U000110D0-\U0001113F\U00011144-\U00011173\U0001'
  || '1176-\U000111C4\U000111C9-\U000111CC\U000111CE-\U000111DA\U000111DC\U000111E1-\U00011237\U00'
  || '01123E-\U000112A8\U000112B0-\U0001144A\U00011450-\U00011459\U0001145E-\U000114C5\U000114C7-\'
  || 'U000115C0\U000115D8-\U00011640\U00011644-\U00011659\U00011680-\U000116B8\U000116C0-\U0001173'
  || 'B\U00011740-\U0001183A\U000118A0-\U00011943\U00011950-\U000119E1\U000119E3-\U00011A3E\U00011'
  || 'A47-\U00011A99\U00011A9D\U00011AB0-\U00011AF8\U00011C00-\U00011C40\U00011C50-\U00011C6C\U000'
  || '11C72-\U00011EF6\U00011F00-\U00011F42\U00011F50-\U00011FD4\U00012000-\U0001246E\U00012480-\U'
  || '00012FF0\U00013000-\U0001342F\U00013440-\U00016A69\U00016A70-\U00016AF4\U00016B00-\U00016B36'
  || '\U00016B40-\U00016B43\U00016B50-\U00016E96\U00016F00-\U00016FE1\U00016FE3-\U00018D08\U0001B1'
  || '70-\U0001BC99\U0001BC9D-\U0001BC9E\U0001CF00-\U0001CF46\U0001D165-\U0001D169\U0001D16D-\U000'
  || '1D172\U0001D17B-\U0001D182\U0001D185-\U0001D18B\U0001D1AA-\U0001D1AD\U0001D242-\U0001D244\U0'
  || '001D2C0-\U0001D2F3\U0001D360-\U0001D6C0\U0001D6C2-\U0001D6DA\U0001D6DC-\U0001D6FA\U0001D6FC-'
  || '\U0001D714\U0001D716-\U0001D734\U0001D736-\U0001D74E\U0001D750-\U0001D76E\U0001D770-\U0001D7'
  || '88\U0001D78A-\U0001D7A8\U0001D7AA-\U0001D7C2\U0001D7C4-\U0001D7FF\U0001DA00-\U0001DA36\U0001'
  || 'DA3B-\U0001DA6C\U0001DA75\U0001DA84\U0001DA9B-\U0001E14E\U0001E290-\U0001E2F9\U0001E4D0-\U00'
  || '01E959\U0001EC71-\U0001ECAB\U0001ECAD-\U0001ECAF\U0001ECB1-\U0001ED2D\U0001ED2F-\U0001EEBB\U'
  || '0001F100-\U0001F10C\U0001FBF0-\U0001FBF9\U0002F800-\U0002FA1D\U000E0100-\U000E01EF';
comment on function ragdb._spaced() is
  'Returns the class of letters, marks and numbers of scripts with spaces between words.';

create or replace function ragdb._spaceless() returns text
language sql immutable parallel safe
return
  '\u0E01-\u0E32\u0E34-\u0E3A\u0E40-\u0E4E\u0E81-\u0E82\u0E84\u0E86-\u0E8A\u0E8C-\u0EA3\u0EA5\u'
  || '0EA7-\u0EB2\u0EB4-\u0EBD\u0EC0-\u0EC4\u0EC6\u0EC8-\u0ECE\u0EDE-\u0EDF\u1000-\u103F\u1050-\u1'
  || '08F\u109A-\u109D\u1100-\u11FF\u1780-\u17D3\u17D7\u17DC-\u17DD\u2E2F\u3005-\u3007\u3021-\u302'
  || 'F\u3031-\u3035\u303B\u3041-\u3096\u309D-\u309E\u30A1-\u30FA\u30FC-\u30FE\u31F0-\u31FF\u3400-'
  || '\u4DBF\u4E00-\u9FFF\uA960-\uA97C\uA9E0-\uA9EF\uA9FA-\uA9FE\uAA60-\uAA76\uAA7A-\uAA7F\uAC00-\'
  || 'uD7A3\uD7B0-\uD7C6\uD7CB-\uD7FB\uFA0E-\uFA0F\uFA11\uFA13-\uFA14\uFA1F\uFA21\uFA23-\uFA24\uFA'
  || '27-\uFA29\U0001AFF0-\U0001AFF3\U0001AFF5-\U0001AFFB\U0001AFFD-\U0001AFFE\U0001B000-\U0001B12'
  || '2\U0001B132\U0001B150-\U0001B152\U0001B155\U0001B164-\U0001B167\U00020000-\U0002A6DF\U0002A7'
  || '00-\U0002B739\U0002B740-\U0002B81D\U0002B820-\U0002CEA1\U0002CEB0-\U0002EBE0\U00030000-\U000'
  || '3134A\U00031350-\U000323AF';
comment on function ragdb._spaceless() is
  'Returns the class of letters and marks of scripts without spaces between words.';

create or replace function ragdb._spaceless_letters() returns text
language sql immutable parallel safe
return
  '\u0E01-\u0E30\u0E32\u0E40-\u0E46\u0E81-\u0E82\u0E84\u0E86-\u0E8A\u0E8C-\u0EA3\u0EA5\u0EA7-\u'
  || '0EB0\u0EB2\u0EBD\u0EC0-\u0EC4\u0EC6\u0EDE-\u0EDF\u1000-\u102A\u103F\u1050-\u1055\u105A-\u105'
  || 'D\u1061\u1065-\u1066\u106E-\u1070\u1075-\u1081\u108E\u1100-\u11FF\u1780-\u17B3\u17D7\u17DC\u'
  || '2E2F\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303B\u3041-\u3096\u309D-\u309E\u30A1-\u30FA\u30'
  || 'FC-\u30FE\u31F0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uA960-\uA97C\uA9E0-\uA9E4\uA9E6-\uA9EF\uA9F'
  || 'A-\uA9FE\uAA60-\uAA76\uAA7A\uAA7E-\uAA7F\uAC00-\uD7A3\uD7B0-\uD7C6\uD7CB-\uD7FB\uFA0E-\uFA0F'
  || '\uFA11\uFA13-\uFA14\uFA1F\uFA21\uFA23-\uFA24\uFA27-\uFA29\U0001AFF0-\U0001AFF3\U0001AFF5-\U0'
  || '001AFFB\U0001AFFD-\U0001AFFE\U0001B000-\U0001B122\U0001B132\U0001B150-\U0001B152\U0001B155\U'
  || '0001B164-\U0001B167\U00020000-\U0002A6DF\U0002A700-\U0002B739\U0002B740-\U0002B81D\U0002B820'
  || '-\U0002CEA1\U0002CEB0-\U0002EBE0\U00030000-\U0003134A\U00031350-\U000323AF';
comment on function ragdb._spaceless_letters() is
  'Returns the class of letters of scripts without spaces between words.';

create or replace function ragdb._spaceless_marks() returns text
language sql immutable parallel safe
return
  '\u0E31\u0E34-\u0E3A\u0E47-\u0E4E\u0EB1\u0EB4-\u0EBC\u0EC8-\u0ECE\u102B-\u103E\u1056-\u1059\u'
  || '105E-\u1060\u1062-\u1064\u1067-\u106D\u1071-\u1074\u1082-\u108D\u108F\u109A-\u109D\u17B4-\u1'
  || '7D3\u17DD\u302A-\u302F\uA9E5\uAA7B-\uAA7D';
comment on function ragdb._spaceless_marks() is
  'Returns the class of marks of scripts without spaces between words.';

create or replace function ragdb._stackers() returns text
language sql immutable parallel safe
return
  '\u1039\u17D2';
comment on function ragdb._stackers() is
  'Returns the class of signs that set the next letter below the last one.';

create or replace function ragdb._invisible() returns text
language sql immutable parallel safe
return
  '\u00AD\u034F\u061C\u0640\u180B-\u180E\u200C-\u200F\u202A-\u202E\u2060-\u206F\uFE00-\uFE0F\uF'
  || 'EFF\U000E0100-\U000E01EF';
comment on function ragdb._invisible() is
  'Returns the class of characters that a reader does not see.';

create or replace function ragdb._inert() returns text
language sql immutable parallel safe
return
  '\u0080-\u009F\u00A1-\u00A7\u00A9\u00AB-\u00AC\u00AE\u00B0-\u00B1\u00B6-\u00B7\u00BB\u00BF\u0'
  || '0D7\u00F7\u02C2-\u02C5\u02D2-\u02D7\u02DE-\u02DF\u02E5-\u02EB\u02ED\u02EF-\u02FF\u0375\u03F6'
  || '\u0482\u055A-\u055F\u0589-\u058F\u05BE\u05C0\u05C3\u05C6\u05F3-\u060F\u061B\u061D-\u061F\u06'
  || '6A-\u066D\u06D4\u06DD-\u06DE\u06E9\u06FD-\u06FE\u0700-\u070F\u07F6-\u07F9\u07FE-\u07FF\u0830'
  || '-\u083E\u085E\u0888\u0890-\u0891\u08E2\u0964-\u0965\u0970\u09F2-\u09F3\u09FA-\u09FB\u09FD\u0'
  || 'A76\u0AF0-\u0AF1\u0B70\u0BF3-\u0BFA\u0C77\u0C7F\u0C84\u0D4F\u0D79\u0DF4\u0E3F\u0E4F\u0E5A-\u'
  || '0E5B\u0F01-\u0F0B\u0F0D-\u0F17\u0F1A-\u0F1F\u0F34\u0F36\u0F38\u0F3A-\u0F3D\u0F85\u0FBE-\u0FC'
  || '5\u0FC7-\u0FDA\u104A-\u104F\u109E-\u109F\u10FB\u1360-\u1368\u1390-\u1399\u1400\u166D-\u166E\'
  || 'u1680\u169B-\u169C\u16EB-\u16ED\u1735-\u1736\u17D4-\u17D6\u17D8-\u17DB\u1800-\u180A\u1940-\u'
  || '1945\u19DE-\u19FF\u1A1E-\u1A1F\u1AA0-\u1AA6\u1AA8-\u1AAD\u1B5A-\u1B6A\u1B74-\u1B7E\u1BFC-\u1'
  || 'BFF\u1C3B-\u1C3F\u1C7E-\u1C7F\u1CC0-\u1CC7\u1CD3\u200B\u2010\u2012-\u2016\u2018-\u2023\u2027'
  || '-\u2029\u2030-\u2032\u2035\u2038-\u203B\u203D\u203F-\u2046\u204A-\u2056\u2058-\u205E\u20A0-\'
  || 'u20A7\u20A9-\u20C0\u2104\u2108\u2114\u2117-\u2118\u211E-\u211F\u2123\u2125\u2127\u2129\u212E'
  || '\u213A\u2141-\u2144\u214A-\u214D\u214F\u218A-\u222B\u222E\u2231-\u2328\u232B-\u244A\u2500-\u'
  || '2775\u2794-\u2A0B\u2A0D-\u2A73\u2A77-\u2ADB\u2ADD-\u2BFF\u2CE5-\u2CEA\u2CF9-\u2CFC\u2CFE-\u2'
  || 'CFF\u2D70\u2E00-\u2E2E\u2E30-\u2E9E\u2EA0-\u2EF2\u2FF0-\u2FFB\u3001-\u3004\u3008-\u3020\u303'
  || '0\u3037\u303D-\u303F\u30A0\u30FB\u3190-\u3191\u31C0-\u31E3\u327F\u4DC0-\u4DFF\uA490-\uA4C6\u'
  || 'A4FE-\uA4FF\uA60D-\uA60F\uA673\uA67E\uA6F2-\uA716\uA720-\uA721\uA789-\uA78A\uA828-\uA82B\uA8'
  || '36-\uA839\uA874-\uA877\uA8CE-\uA8CF\uA8F8-\uA8FA\uA8FC\uA92E-\uA92F\uA95F\uA9C1-\uA9CD\uA9DE'
  || '-\uA9DF\uAA5C-\uAA5F\uAA77-\uAA79\uAADE-\uAADF\uAAF0-\uAAF1\uAB5B\uAB6A-\uAB6B\uABEB\uE000-\'
  || 'uF8FF\uFBB2-\uFBC2\uFD3E-\uFD4F\uFDCF\uFDFD-\uFDFF\uFE45-\uFE46\uFFF9-\uFFFD\U00010100-\U000'
  || '10102\U00010137-\U0001013F\U00010179-\U00010189\U0001018C-\U000101FC\U0001039F\U000103D0\U00'
  || '01056F\U00010857\U00010877-\U00010878\U0001091F\U0001093F\U00010A50-\U00010A58\U00010A7F\U00'
  || '010AC8\U00010AF0-\U00010AF6\U00010B39-\U00010B3F\U00010B99-\U00010B9C\U00010EAD\U00010F55-\U'
  || '00010F59\U00010F86-\U00010F89\U00011047-\U0001104D\U000110BB-\U000110C1\U000110CD\U00011140-'
  || '\U00011143\U00011174-\U00011175\U000111C5-\U000111C8\U000111CD\U000111DB\U000111DD-\U000111D'
  || 'F\U00011238-\U0001123D\U000112A9\U0001144B-\U0001144F\U0001145A-\U0001145D\U000114C6\U000115'
  || 'C1-\U000115D7\U00011641-\U00011643\U00011660-\U0001166C\U000116B9\U0001173C-\U0001173F\U0001'
  || '183B\U00011944-\U00011946\U000119E2\U00011A3F-\U00011A46\U00011A9A-\U00011A9C\U00011A9E-\U00'
  || '011AA2\U00011B00-\U00011B09\U00011C41-\U00011C45\U00011C70-\U00011C71\U00011EF7-\U00011EF8\U'
  || '00011F43-\U00011F4F\U00011FD5-\U00011FFF\U00012470-\U00012474\U00012FF1-\U00012FF2\U00013430'
  || '-\U0001343F\U00016A6E-\U00016A6F\U00016AF5\U00016B37-\U00016B3F\U00016B44-\U00016B45\U00016E'
  || '97-\U00016E9A\U00016FE2\U0001BC9C\U0001BC9F-\U0001BCA3\U0001CF50-\U0001D15D\U0001D16A-\U0001'
  || 'D16C\U0001D173-\U0001D17A\U0001D183-\U0001D184\U0001D18C-\U0001D1A9\U0001D1AE-\U0001D1BA\U00'
  || '01D1C1-\U0001D241\U0001D245\U0001D300-\U0001D356\U0001D800-\U0001D9FF\U0001DA37-\U0001DA3A\U'
  || '0001DA6D-\U0001DA74\U0001DA76-\U0001DA83\U0001DA85-\U0001DA8B\U0001E14F\U0001E2FF\U0001E95E-'
  || '\U0001E95F\U0001ECAC\U0001ECB0\U0001ED2E\U0001EEF0-\U0001F0F5\U0001F10D-\U0001F10F\U0001F12F'
  || '\U0001F150-\U0001F169\U0001F16D-\U0001F18F\U0001F191-\U0001F1FF\U0001F260-\U0001FBCA\U000E00'
  || '01-\U000E007F\U000F0000-\U0010FFFD';
comment on function ragdb._inert() is
  'Returns the class of separators that normalisation leaves as they are.';

create or replace function ragdb._unstable() returns text
language sql immutable parallel safe
return
  '\u00A0\u00A8\u00AA\u00AD\u00AF\u00B2-\u00B5\u00B8-\u00BA\u00BC-\u00BE\u0132-\u0133\u013F-\u0'
  || '140\u0149\u017F\u01C4-\u01CC\u01F1-\u01F3\u02B0-\u02B8\u02D8-\u02DD\u02E0-\u02E4\u0300-\u036'
  || 'F\u0374\u0378-\u037A\u037E\u0380-\u0385\u0387\u038B\u038D\u03A2\u03D0-\u03D6\u03F0-\u03F2\u0'
  || '3F4-\u03F5\u03F9\u0483-\u0487\u0530\u0557-\u0558\u0587\u058B-\u058C\u0590-\u05BD\u05BF\u05C1'
  || '-\u05C2\u05C4-\u05C5\u05C7-\u05CF\u05EB-\u05EE\u05F5-\u05FF\u0610-\u061A\u061C\u0640\u064B-\'
  || 'u065F\u0670\u0675-\u0678\u06D6-\u06DC\u06DF-\u06E4\u06E7-\u06E8\u06EA-\u06ED\u070E\u0711\u07'
  || '30-\u074C\u07B2-\u07BF\u07EB-\u07F3\u07FB-\u07FD\u0816-\u0819\u081B-\u0823\u0825-\u0827\u082'
  || '9-\u082F\u083F\u0859-\u085D\u085F\u086B-\u086F\u088F\u0892-\u089F\u08CA-\u08E1\u08E3-\u08FF\'
  || 'u093C\u094D\u0951-\u0954\u0958-\u095F\u0984\u098D-\u098E\u0991-\u0992\u09A9\u09B1\u09B3-\u09'
  || 'B5\u09BA-\u09BC\u09BE\u09C5-\u09C6\u09C9-\u09CA\u09CD\u09CF-\u09DF\u09E4-\u09E5\u09FE-\u0A00'
  || '\u0A04\u0A0B-\u0A0E\u0A11-\u0A12\u0A29\u0A31\u0A33-\u0A34\u0A36-\u0A37\u0A3A-\u0A3D\u0A43-\u'
  || '0A46\u0A49-\u0A4A\u0A4D-\u0A50\u0A52-\u0A5B\u0A5D-\u0A65\u0A77-\u0A80\u0A84\u0A8E\u0A92\u0AA'
  || '9\u0AB1\u0AB4\u0ABA-\u0ABC\u0AC6\u0ACA\u0ACD-\u0ACF\u0AD1-\u0ADF\u0AE4-\u0AE5\u0AF2-\u0AF8\u'
  || '0B00\u0B04\u0B0D-\u0B0E\u0B11-\u0B12\u0B29\u0B31\u0B34\u0B3A-\u0B3C\u0B3E\u0B45-\u0B46\u0B49'
  || '-\u0B4A\u0B4D-\u0B54\u0B56-\u0B5E\u0B64-\u0B65\u0B78-\u0B81\u0B84\u0B8B-\u0B8D\u0B91\u0B96-\'
  || 'u0B98\u0B9B\u0B9D\u0BA0-\u0BA2\u0BA5-\u0BA7\u0BAB-\u0BAD\u0BBA-\u0BBE\u0BC3-\u0BC5\u0BC9\u0B'
  || 'CD-\u0BCF\u0BD1-\u0BE5\u0BFB-\u0BFF\u0C0D\u0C11\u0C29\u0C3A-\u0C3C\u0C45\u0C49\u0C4D-\u0C57\'
  || 'u0C5B-\u0C5C\u0C5E-\u0C5F\u0C64-\u0C65\u0C70-\u0C76\u0C8D\u0C91\u0CA9\u0CB4\u0CBA-\u0CBC\u0C'
  || 'C2\u0CC5\u0CC9\u0CCD-\u0CDC\u0CDF\u0CE4-\u0CE5\u0CF0\u0CF4-\u0CFF\u0D0D\u0D11\u0D3B-\u0D3C\u'
  || '0D3E\u0D45\u0D49\u0D4D\u0D50-\u0D53\u0D57\u0D64-\u0D65\u0D80\u0D84\u0D97-\u0D99\u0DB2\u0DBC\'
  || 'u0DBE-\u0DBF\u0DC7-\u0DCF\u0DD5\u0DD7\u0DDF-\u0DE5\u0DF0-\u0DF1\u0DF5-\u0E00\u0E33\u0E38-\u0'
  || 'E3E\u0E48-\u0E4B\u0E5C-\u0E80\u0E83\u0E85\u0E8B\u0EA4\u0EA6\u0EB3\u0EB8-\u0EBA\u0EBE-\u0EBF\'
  || 'u0EC5\u0EC7-\u0ECB\u0ECF\u0EDA-\u0EDD\u0EE0-\u0EFF\u0F0C\u0F18-\u0F19\u0F35\u0F37\u0F39\u0F4'
  || '3\u0F48\u0F4D\u0F52\u0F57\u0F5C\u0F69\u0F6D-\u0F7D\u0F80-\u0F84\u0F86-\u0F87\u0F93\u0F98\u0F'
  || '9D\u0FA2\u0FA7\u0FAC\u0FB5\u0FB7\u0FB9\u0FBD\u0FC6\u0FCD\u0FDB-\u0FFF\u102E\u1037\u1039-\u10'
  || '3A\u108D\u10C6\u10C8-\u10CC\u10CE-\u10CF\u10FC\u1161-\u1175\u11A8-\u11C2\u1249\u124E-\u124F\'
  || 'u1257\u1259\u125E-\u125F\u1289\u128E-\u128F\u12B1\u12B6-\u12B7\u12BF\u12C1\u12C6-\u12C7\u12D'
  || '7\u1311\u1316-\u1317\u135B-\u135F\u137D-\u137F\u139A-\u139F\u13F6-\u13F7\u13FE-\u13FF\u169D-'
  || '\u169F\u16F9-\u16FF\u1714-\u171E\u1734\u1737-\u173F\u1754-\u175F\u176D\u1771\u1774-\u177F\u1'
  || '7D2\u17DD-\u17DF\u17EA-\u17EF\u17FA-\u17FF\u180B-\u180E\u181A-\u181F\u1879-\u187F\u18A9\u18A'
  || 'B-\u18AF\u18F6-\u18FF\u191F\u192C-\u192F\u1939-\u193F\u1941-\u1943\u196E-\u196F\u1975-\u197F'
  || '\u19AC-\u19AF\u19CA-\u19CF\u19DB-\u19DD\u1A17-\u1A18\u1A1C-\u1A1D\u1A5F-\u1A60\u1A75-\u1A7F\'
  || 'u1A8A-\u1A8F\u1A9A-\u1A9F\u1AAE-\u1ABD\u1ABF-\u1AFF\u1B34-\u1B35\u1B44\u1B4D-\u1B4F\u1B6B-\u'
  || '1B73\u1B7F\u1BAA-\u1BAB\u1BE6\u1BF2-\u1BFB\u1C37-\u1C3A\u1C4A-\u1C4C\u1C89-\u1C8F\u1CBB-\u1C'
  || 'BC\u1CC8-\u1CD2\u1CD4-\u1CE0\u1CE2-\u1CE8\u1CED\u1CF4\u1CF8-\u1CF9\u1CFB-\u1CFF\u1D2C-\u1D2E'
  || '\u1D30-\u1D3A\u1D3C-\u1D4D\u1D4F-\u1D6A\u1D78\u1D9B-\u1DFF\u1E9A-\u1E9B\u1F16-\u1F17\u1F1E-\'
  || 'u1F1F\u1F46-\u1F47\u1F4E-\u1F4F\u1F58\u1F5A\u1F5C\u1F5E\u1F71\u1F73\u1F75\u1F77\u1F79\u1F7B\'
  || 'u1F7D-\u1F7F\u1FB5\u1FBB\u1FBD-\u1FC1\u1FC5\u1FC9\u1FCB\u1FCD-\u1FCF\u1FD3-\u1FD5\u1FDB-\u1F'
  || 'DF\u1FE3\u1FEB\u1FED-\u1FF1\u1FF5\u1FF9\u1FFB\u1FFD-\u200A\u200C-\u200F\u2011\u2017\u2024-\u'
  || '2026\u202A-\u202F\u2033-\u2034\u2036-\u2037\u203C\u203E\u2047-\u2049\u2057\u205F-\u209F\u20A'
  || '8\u20C1-\u20DC\u20E1\u20E5-\u2103\u2105-\u2107\u2109-\u2113\u2115-\u2116\u2119-\u211D\u2120-'
  || '\u2122\u2124\u2126\u2128\u212A-\u212D\u212F-\u2131\u2133-\u2139\u213B-\u2140\u2145-\u2149\u2'
  || '150-\u217F\u2189\u218C-\u218F\u222C-\u222D\u222F-\u2230\u2329-\u232A\u2427-\u243F\u244B-\u24'
  || 'EA\u2A0C\u2A74-\u2A76\u2ADC\u2B74-\u2B75\u2B96\u2C7C-\u2C7D\u2CEF-\u2CF1\u2CF4-\u2CF8\u2D26\'
  || 'u2D28-\u2D2C\u2D2E-\u2D2F\u2D68-\u2D6F\u2D71-\u2D7F\u2D97-\u2D9F\u2DA7\u2DAF\u2DB7\u2DBF\u2D'
  || 'C7\u2DCF\u2DD7\u2DDF-\u2DFF\u2E5E-\u2E7F\u2E9A\u2E9F\u2EF3-\u2FEF\u2FFC-\u3000\u302A-\u302F\'
  || 'u3036\u3038-\u303A\u3040\u3097-\u309C\u309F\u30FF-\u3104\u3130-\u318F\u3192-\u319F\u31E4-\u3'
  || '1EF\u3200-\u3247\u3250-\u327E\u3280-\u33FF\uA48D-\uA48F\uA4C7-\uA4CF\uA62C-\uA63F\uA66F\uA67'
  || '4-\uA67D\uA69C-\uA69F\uA6F0-\uA6F1\uA6F8-\uA6FF\uA770\uA7CB-\uA7CF\uA7D2\uA7D4\uA7DA-\uA7F4\'
  || 'uA7F8-\uA7F9\uA806\uA82C-\uA82F\uA83A-\uA83F\uA878-\uA87F\uA8C4\uA8C6-\uA8CD\uA8DA-\uA8F1\uA'
  || '92B-\uA92D\uA953-\uA95E\uA97D-\uA97F\uA9B3\uA9C0\uA9CE\uA9DA-\uA9DD\uA9FF\uAA37-\uAA3F\uAA4E'
  || '-\uAA4F\uAA5A-\uAA5B\uAAB0\uAAB2-\uAAB4\uAAB7-\uAAB8\uAABE-\uAABF\uAAC1\uAAC3-\uAADA\uAAF6-\'
  || 'uAB00\uAB07-\uAB08\uAB0F-\uAB10\uAB17-\uAB1F\uAB27\uAB2F\uAB5C-\uAB5F\uAB69\uAB6C-\uAB6F\uAB'
  || 'ED-\uABEF\uABFA-\uABFF\uD7A4-\uD7AF\uD7C7-\uD7CA\uD7FC-\uDFFF\uF900-\uFA0D\uFA10\uFA12\uFA15'
  || '-\uFA1E\uFA20\uFA22\uFA25-\uFA26\uFA2A-\uFBB1\uFBC3-\uFD3D\uFD50-\uFDCE\uFDD0-\uFDFC\uFE00-\'
  || 'uFE44\uFE47-\uFE72\uFE74-\uFFF8\uFFFE-\uFFFF\U0001000C\U00010027\U0001003B\U0001003E\U000100'
  || '4E-\U0001004F\U0001005E-\U0001007F\U000100FB-\U000100FF\U00010103-\U00010106\U00010134-\U000'
  || '10136\U0001018F\U0001019D-\U0001019F\U000101A1-\U000101CF\U000101FD-\U0001027F\U0001029D-\U0'
  || '001029F\U000102D1-\U000102E0\U000102FC-\U000102FF\U00010324-\U0001032C\U0001034B-\U0001034F\'
  || 'U00010376-\U0001037F\U0001039E\U000103C4-\U000103C7\U000103D6-\U000103FF\U0001049E-\U0001049'
  || 'F\U000104AA-\U000104AF\U000104D4-\U000104D7\U000104FC-\U000104FF\U00010528-\U0001052F\U00010'
  || '564-\U0001056E\U0001057B\U0001058B\U00010593\U00010596\U000105A2\U000105B2\U000105BA\U000105'
  || 'BD-\U000105FF\U00010737-\U0001073F\U00010756-\U0001075F\U00010768-\U0001077F\U00010781-\U000'
  || '107FF\U00010806-\U00010807\U00010809\U00010836\U00010839-\U0001083B\U0001083D-\U0001083E\U00'
  || '010856\U0001089F-\U000108A6\U000108B0-\U000108DF\U000108F3\U000108F6-\U000108FA\U0001091C-\U'
  || '0001091E\U0001093A-\U0001093E\U00010940-\U0001097F\U000109B8-\U000109BB\U000109D0-\U000109D1'
  || '\U00010A04\U00010A07-\U00010A0B\U00010A0D\U00010A0F\U00010A14\U00010A18\U00010A36-\U00010A3F'
  || '\U00010A49-\U00010A4F\U00010A59-\U00010A5F\U00010AA0-\U00010ABF\U00010AE5-\U00010AEA\U00010A'
  || 'F7-\U00010AFF\U00010B36-\U00010B38\U00010B56-\U00010B57\U00010B73-\U00010B77\U00010B92-\U000'
  || '10B98\U00010B9D-\U00010BA8\U00010BB0-\U00010BFF\U00010C49-\U00010C7F\U00010CB3-\U00010CBF\U0'
  || '0010CF3-\U00010CF9\U00010D24-\U00010D2F\U00010D3A-\U00010E5F\U00010E7F\U00010EAA-\U00010EAC\'
  || 'U00010EAE-\U00010EAF\U00010EB2-\U00010EFF\U00010F28-\U00010F2F\U00010F46-\U00010F50\U00010F5'
  || 'A-\U00010F6F\U00010F82-\U00010F85\U00010F8A-\U00010FAF\U00010FCC-\U00010FDF\U00010FF7-\U0001'
  || '0FFF\U00011046\U0001104E-\U00011051\U00011070\U00011076-\U0001107F\U000110B9-\U000110BA\U000'
  || '110C3-\U000110CC\U000110CE-\U000110CF\U000110E9-\U000110EF\U000110FA-\U00011102\U00011127\U0'
  || '0011133-\U00011135\U00011148-\U0001114F\U00011173\U00011177-\U0001117F\U000111C0\U000111CA\U'
  || '000111E0\U000111F5-\U000111FF\U00011212\U00011235-\U00011236\U00011242-\U0001127F\U00011287\'
  || 'U00011289\U0001128E\U0001129E\U000112AA-\U000112AF\U000112E9-\U000112EF\U000112FA-\U000112FF'
  || '\U00011304\U0001130D-\U0001130E\U00011311-\U00011312\U00011329\U00011331\U00011334\U0001133A'
  || '-\U0001133C\U0001133E\U00011345-\U00011346\U00011349-\U0001134A\U0001134D-\U0001134F\U000113'
  || '51-\U0001135C\U00011364-\U000113FF\U00011442\U00011446\U0001145C\U0001145E\U00011462-\U00011'
  || '47F\U000114B0\U000114BA\U000114BD\U000114C2-\U000114C3\U000114C8-\U000114CF\U000114DA-\U0001'
  || '157F\U000115AF\U000115B6-\U000115B7\U000115BF-\U000115C0\U000115DE-\U000115FF\U0001163F\U000'
  || '11645-\U0001164F\U0001165A-\U0001165F\U0001166D-\U0001167F\U000116B6-\U000116B7\U000116BA-\U'
  || '000116BF\U000116CA-\U000116FF\U0001171B-\U0001171C\U0001172B-\U0001172F\U00011747-\U000117FF'
  || '\U00011839-\U0001183A\U0001183C-\U0001189F\U000118F3-\U000118FE\U00011907-\U00011908\U000119'
  || '0A-\U0001190B\U00011914\U00011917\U00011930\U00011936\U00011939-\U0001193A\U0001193D-\U00011'
  || '93E\U00011943\U00011947-\U0001194F\U0001195A-\U0001199F\U000119A8-\U000119A9\U000119D8-\U000'
  || '119D9\U000119E0\U000119E5-\U000119FF\U00011A34\U00011A47-\U00011A4F\U00011A99\U00011AA3-\U00'
  || '011AAF\U00011AF9-\U00011AFF\U00011B0A-\U00011BFF\U00011C09\U00011C37\U00011C3F\U00011C46-\U0'
  || '0011C4F\U00011C6D-\U00011C6F\U00011C90-\U00011C91\U00011CA8\U00011CB7-\U00011CFF\U00011D07\U'
  || '00011D0A\U00011D37-\U00011D39\U00011D3B\U00011D3E\U00011D42\U00011D44-\U00011D45\U00011D48-\'
  || 'U00011D4F\U00011D5A-\U00011D5F\U00011D66\U00011D69\U00011D8F\U00011D92\U00011D97\U00011D99-\'
  || 'U00011D9F\U00011DAA-\U00011EDF\U00011EF9-\U00011EFF\U00011F11\U00011F3B-\U00011F3D\U00011F41'
  || '-\U00011F42\U00011F5A-\U00011FAF\U00011FB1-\U00011FBF\U00011FF2-\U00011FFE\U0001239A-\U00012'
  || '3FF\U0001246F\U00012475-\U0001247F\U00012544-\U00012F8F\U00012FF3-\U00012FFF\U00013456-\U000'
  || '143FF\U00014647-\U000167FF\U00016A39-\U00016A3F\U00016A5F\U00016A6A-\U00016A6D\U00016ABF\U00'
  || '016ACA-\U00016ACF\U00016AEE-\U00016AF4\U00016AF6-\U00016AFF\U00016B30-\U00016B36\U00016B46-\'
  || 'U00016B4F\U00016B5A\U00016B62\U00016B78-\U00016B7C\U00016B90-\U00016E3F\U00016E9B-\U00016EFF'
  || '\U00016F4B-\U00016F4E\U00016F88-\U00016F8E\U00016FA0-\U00016FDF\U00016FE5-\U00016FFF\U000187'
  || 'F8-\U000187FF\U00018CD6-\U00018CFF\U00018D09-\U0001AFEF\U0001AFF4\U0001AFFC\U0001AFFF\U0001B'
  || '123-\U0001B131\U0001B133-\U0001B14F\U0001B153-\U0001B154\U0001B156-\U0001B163\U0001B168-\U00'
  || '01B16F\U0001B2FC-\U0001BBFF\U0001BC6B-\U0001BC6F\U0001BC7D-\U0001BC7F\U0001BC89-\U0001BC8F\U'
  || '0001BC9A-\U0001BC9B\U0001BC9E\U0001BCA4-\U0001CEFF\U0001CF2E-\U0001CF2F\U0001CF47-\U0001CF4F'
  || '\U0001CFC4-\U0001CFFF\U0001D0F6-\U0001D0FF\U0001D127-\U0001D128\U0001D15E-\U0001D169\U0001D1'
  || '6D-\U0001D172\U0001D17B-\U0001D182\U0001D185-\U0001D18B\U0001D1AA-\U0001D1AD\U0001D1BB-\U000'
  || '1D1C0\U0001D1EB-\U0001D1FF\U0001D242-\U0001D244\U0001D246-\U0001D2BF\U0001D2D4-\U0001D2DF\U0'
  || '001D2F4-\U0001D2FF\U0001D357-\U0001D35F\U0001D379-\U0001D7FF\U0001DA8C-\U0001DA9A\U0001DAA0\'
  || 'U0001DAB0-\U0001DEFF\U0001DF1F-\U0001DF24\U0001DF2B-\U0001E0FF\U0001E12D-\U0001E136\U0001E13'
  || 'E-\U0001E13F\U0001E14A-\U0001E14D\U0001E150-\U0001E28F\U0001E2AE-\U0001E2BF\U0001E2EC-\U0001'
  || 'E2EF\U0001E2FA-\U0001E2FE\U0001E300-\U0001E4CF\U0001E4EC-\U0001E4EF\U0001E4FA-\U0001E7DF\U00'
  || '01E7E7\U0001E7EC\U0001E7EF\U0001E7FF\U0001E8C5-\U0001E8C6\U0001E8D0-\U0001E8FF\U0001E944-\U0'
  || '001E94A\U0001E94C-\U0001E94F\U0001E95A-\U0001E95D\U0001E960-\U0001EC70\U0001ECB5-\U0001ED00\'
  || 'U0001ED3E-\U0001EEEF\U0001EEF2-\U0001EFFF\U0001F02C-\U0001F02F\U0001F094-\U0001F09F\U0001F0A'
  || 'F-\U0001F0B0\U0001F0C0\U0001F0D0\U0001F0F6-\U0001F10A\U0001F110-\U0001F12E\U0001F130-\U0001F'
  || '14F\U0001F16A-\U0001F16C\U0001F190\U0001F1AE-\U0001F1E5\U0001F200-\U0001F25F\U0001F266-\U000'
  || '1F2FF\U0001F6D8-\U0001F6DB\U0001F6ED-\U0001F6EF\U0001F6FD-\U0001F6FF\U0001F777-\U0001F77A\U0'
  || '001F7DA-\U0001F7DF\U0001F7EC-\U0001F7EF\U0001F7F1-\U0001F7FF\U0001F80C-\U0001F80F\U0001F848-'
  || '\U0001F84F\U0001F85A-\U0001F85F\U0001F888-\U0001F88F\U0001F8AE-\U0001F8AF\U0001F8B2-\U0001F8'
  || 'FF\U0001FA54-\U0001FA5F\U0001FA6E-\U0001FA6F\U0001FA7D-\U0001FA7F\U0001FA89-\U0001FA8F\U0001'
  || 'FABE\U0001FAC6-\U0001FACD\U0001FADC-\U0001FADF\U0001FAE9-\U0001FAEF\U0001FAF9-\U0001FAFF\U00'
  || '01FB93\U0001FBCB-\U0001FFFF\U0002A6E0-\U0002A6FF\U0002B73A-\U0002B73F\U0002B81E-\U0002B81F\U'
  || '0002CEA2-\U0002CEAF\U0002EBE1-\U0002FFFF\U0003134B-\U0003134F\U000323B0-\U000E0000\U000E0002'
  || '-\U000E001F\U000E0080-\U000EFFFF\U000FFFFE-\U000FFFFF\U0010FFFE-\U0010FFFF';
comment on function ragdb._unstable() is
  'Returns the class of characters without which a text is plain.';

create or replace function ragdb._foldable() returns text
language sql immutable parallel safe
return
  '\u00B5\u00C0-\u00D6\u00D8-\u00DF\u0100\u0102\u0104\u0106\u0108\u010A\u010C\u010E\u0110\u0112'
  || '\u0114\u0116\u0118\u011A\u011C\u011E\u0120\u0122\u0124\u0126\u0128\u012A\u012C\u012E\u0130\u'
  || '0132\u0134\u0136\u0139\u013B\u013D\u013F\u0141\u0143\u0145\u0147\u014A\u014C\u014E\u0150\u01'
  || '52\u0154\u0156\u0158\u015A\u015C\u015E\u0160\u0162\u0164\u0166\u0168\u016A\u016C\u016E\u0170'
  || '\u0172\u0174\u0176\u0178-\u0179\u017B\u017D\u017F\u0181-\u0182\u0184\u0186-\u0187\u0189-\u01'
  || '8B\u018E-\u0191\u0193-\u0194\u0196-\u0198\u019C-\u019D\u019F-\u01A0\u01A2\u01A4\u01A6-\u01A7'
  || '\u01A9\u01AC\u01AE-\u01AF\u01B1-\u01B3\u01B5\u01B7-\u01B8\u01BC\u01C4-\u01C5\u01C7-\u01C8\u0'
  || '1CA-\u01CB\u01CD\u01CF\u01D1\u01D3\u01D5\u01D7\u01D9\u01DB\u01DE\u01E0\u01E2\u01E4\u01E6\u01'
  || 'E8\u01EA\u01EC\u01EE\u01F1-\u01F2\u01F4\u01F6-\u01F8\u01FA\u01FC\u01FE\u0200\u0202\u0204\u02'
  || '06\u0208\u020A\u020C\u020E\u0210\u0212\u0214\u0216\u0218\u021A\u021C\u021E\u0220\u0222\u0224'
  || '\u0226\u0228\u022A\u022C\u022E\u0230\u0232\u023A-\u023B\u023D-\u023E\u0241\u0243-\u0246\u024'
  || '8\u024A\u024C\u024E\u0300-\u0370\u0372\u0376\u037F\u0386\u0388-\u038A\u038C\u038E-\u038F\u03'
  || '91-\u03A1\u03A3-\u03AB\u03C2\u03CF-\u03D1\u03D5-\u03D6\u03D8\u03DA\u03DC\u03DE\u03E0\u03E2\u'
  || '03E4\u03E6\u03E8\u03EA\u03EC\u03EE\u03F0-\u03F1\u03F4-\u03F5\u03F7\u03F9-\u03FA\u03FD-\u042F'
  || '\u0460\u0462\u0464\u0466\u0468\u046A\u046C\u046E\u0470\u0472\u0474\u0476\u0478\u047A\u047C\u'
  || '047E\u0480\u048A\u048C\u048E\u0490\u0492\u0494\u0496\u0498\u049A\u049C\u049E\u04A0\u04A2\u04'
  || 'A4\u04A6\u04A8\u04AA\u04AC\u04AE\u04B0\u04B2\u04B4\u04B6\u04B8\u04BA\u04BC\u04BE\u04C0-\u04C'
  || '1\u04C3\u04C5\u04C7\u04C9\u04CB\u04CD\u04D0\u04D2\u04D4\u04D6\u04D8\u04DA\u04DC\u04DE\u04E0\'
  || 'u04E2\u04E4\u04E6\u04E8\u04EA\u04EC\u04EE\u04F0\u04F2\u04F4\u04F6\u04F8\u04FA\u04FC\u04FE\u0'
  || '500\u0502\u0504\u0506\u0508\u050A\u050C\u050E\u0510\u0512\u0514\u0516\u0518\u051A\u051C\u051'
  || 'E\u0520\u0522\u0524\u0526\u0528\u052A\u052C\u052E\u0531-\u0556\u0587\u0660-\u0669\u06F0-\u06'
  || 'F9\u07C0-\u07C9\u0966-\u096F\u09E6-\u09EF\u0A66-\u0A6F\u0AE6-\u0AEF\u0B66-\u0B6F\u0BE6-\u0BE'
  || 'F\u0C66-\u0C6F\u0CE6-\u0CEF\u0D66-\u0D6F\u0DE6-\u0DEF\u0E50-\u0E59\u0ED0-\u0ED9\u0F20-\u0F29'
  || '\u1040-\u1049\u1090-\u1099\u10A0-\u10C5\u10C7\u10CD\u13A0-\u13F5\u17E0-\u17E9\u1810-\u1819\u'
  || '1946-\u194F\u19D0-\u19D9\u1A80-\u1A89\u1A90-\u1A99\u1B50-\u1B59\u1BB0-\u1BB9\u1C40-\u1C49\u1'
  || 'C50-\u1C59\u1C80-\u1C88\u1C90-\u1CBA\u1CBD-\u1CBF\u1E00\u1E02\u1E04\u1E06\u1E08\u1E0A\u1E0C\'
  || 'u1E0E\u1E10\u1E12\u1E14\u1E16\u1E18\u1E1A\u1E1C\u1E1E\u1E20\u1E22\u1E24\u1E26\u1E28\u1E2A\u1'
  || 'E2C\u1E2E\u1E30\u1E32\u1E34\u1E36\u1E38\u1E3A\u1E3C\u1E3E\u1E40\u1E42\u1E44\u1E46\u1E48\u1E4'
  || 'A\u1E4C\u1E4E\u1E50\u1E52\u1E54\u1E56\u1E58\u1E5A\u1E5C\u1E5E\u1E60\u1E62\u1E64\u1E66\u1E68\'
  || 'u1E6A\u1E6C\u1E6E\u1E70\u1E72\u1E74\u1E76\u1E78\u1E7A\u1E7C\u1E7E\u1E80\u1E82\u1E84\u1E86\u1'
  || 'E88\u1E8A\u1E8C\u1E8E\u1E90\u1E92\u1E94\u1E9B\u1E9E\u1EA0\u1EA2\u1EA4\u1EA6\u1EA8\u1EAA\u1EA'
  || 'C\u1EAE\u1EB0\u1EB2\u1EB4\u1EB6\u1EB8\u1EBA\u1EBC\u1EBE\u1EC0\u1EC2\u1EC4\u1EC6\u1EC8\u1ECA\'
  || 'u1ECC\u1ECE\u1ED0\u1ED2\u1ED4\u1ED6\u1ED8\u1EDA\u1EDC\u1EDE\u1EE0\u1EE2\u1EE4\u1EE6\u1EE8\u1'
  || 'EEA\u1EEC\u1EEE\u1EF0\u1EF2\u1EF4\u1EF6\u1EF8\u1EFA\u1EFC\u1EFE\u1F08-\u1F0F\u1F18-\u1F1D\u1'
  || 'F28-\u1F2F\u1F38-\u1F3F\u1F48-\u1F4D\u1F59\u1F5B\u1F5D\u1F5F\u1F68-\u1F6F\u1F88-\u1F8F\u1F98'
  || '-\u1F9F\u1FA8-\u1FAF\u1FB8-\u1FBC\u1FBE\u1FC8-\u1FCC\u1FD8-\u1FDB\u1FE8-\u1FEC\u1FF8-\u1FFC\'
  || 'u2126\u212A-\u212B\u2132\u2160-\u216F\u2183\u2C00-\u2C2F\u2C60\u2C62-\u2C64\u2C67\u2C69\u2C6'
  || 'B\u2C6D-\u2C70\u2C72\u2C75\u2C7E-\u2C80\u2C82\u2C84\u2C86\u2C88\u2C8A\u2C8C\u2C8E\u2C90\u2C9'
  || '2\u2C94\u2C96\u2C98\u2C9A\u2C9C\u2C9E\u2CA0\u2CA2\u2CA4\u2CA6\u2CA8\u2CAA\u2CAC\u2CAE\u2CB0\'
  || 'u2CB2\u2CB4\u2CB6\u2CB8\u2CBA\u2CBC\u2CBE\u2CC0\u2CC2\u2CC4\u2CC6\u2CC8\u2CCA\u2CCC\u2CCE\u2'
  || 'CD0\u2CD2\u2CD4\u2CD6\u2CD8\u2CDA\u2CDC\u2CDE\u2CE0\u2CE2\u2CEB\u2CED\u2CF2\uA620-\uA629\uA6'
  || '40\uA642\uA644\uA646\uA648\uA64A\uA64C\uA64E\uA650\uA652\uA654\uA656\uA658\uA65A\uA65C\uA65E'
  || '\uA660\uA662\uA664\uA666\uA668\uA66A\uA66C\uA680\uA682\uA684\uA686\uA688\uA68A\uA68C\uA68E\u'
  || 'A690\uA692\uA694\uA696\uA698\uA69A\uA722\uA724\uA726\uA728\uA72A\uA72C\uA72E\uA732\uA734\uA7'
  || '36\uA738\uA73A\uA73C\uA73E\uA740\uA742\uA744\uA746\uA748\uA74A\uA74C\uA74E\uA750\uA752\uA754'
  || '\uA756\uA758\uA75A\uA75C\uA75E\uA760\uA762\uA764\uA766\uA768\uA76A\uA76C\uA76E\uA779\uA77B\u'
  || 'A77D-\uA77E\uA780\uA782\uA784\uA786\uA78B\uA78D\uA790\uA792\uA796\uA798\uA79A\uA79C\uA79E\uA'
  || '7A0\uA7A2\uA7A4\uA7A6\uA7A8\uA7AA-\uA7AE\uA7B0-\uA7B4\uA7B6\uA7B8\uA7BA\uA7BC\uA7BE\uA7C0\uA'
  || '7C2\uA7C4-\uA7C7\uA7C9\uA7D0\uA7D6\uA7D8\uA7F5\uA8D0-\uA8D9\uA900-\uA909\uA9D0-\uA9D9\uA9F0-'
  || '\uA9F9\uAA50-\uAA59\uABF0-\uABF9\uFF10-\uFF19\uFF21-\uFF3A\U00010400-\U00010427\U000104A0-\U'
  || '000104A9\U000104B0-\U000104D3\U00010570-\U0001057A\U0001057C-\U0001058A\U0001058C-\U00010592'
  || '\U00010594-\U00010595\U00010C80-\U00010CB2\U00010D30-\U00010D39\U00011066-\U0001106F\U000110'
  || 'F0-\U000110F9\U00011136-\U0001113F\U000111D0-\U000111D9\U000112F0-\U000112F9\U00011450-\U000'
  || '11459\U000114D0-\U000114D9\U00011650-\U00011659\U000116C0-\U000116C9\U00011730-\U00011739\U0'
  || '00118A0-\U000118BF\U000118E0-\U000118E9\U00011950-\U00011959\U00011C50-\U00011C59\U00011D50-'
  || '\U00011D59\U00011DA0-\U00011DA9\U00011F50-\U00011F59\U00016A60-\U00016A69\U00016AC0-\U00016A'
  || 'C9\U00016B50-\U00016B59\U00016E40-\U00016E5F\U0001D7CE-\U0001D7FF\U0001E140-\U0001E149\U0001'
  || 'E2F0-\U0001E2F9\U0001E4F0-\U0001E4F9\U0001E900-\U0001E921\U0001E950-\U0001E959\U0001FBF0-\U0'
  || '001FBF9';
comment on function ragdb._foldable() is
  'Returns the class of characters that folding changes.';

create or replace function ragdb._folded_near() returns text
language sql immutable parallel safe
return
  'µÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮİĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹ'
  || 'ŻŽſƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƠƢƤƦƧƩƬƮƯƱƲƳƵƷƸƼǄǅǇǈǊǋǍǏǑǓǕǗǙǛǞǠǢǤǦǨǪǬǮǱǲǴǶǷǸǺǼǾȀȂȄȆȈȊȌȎȐȒȔȖȘȚȜȞȠȢȤȦȨ'
  || 'ȪȬȮȰȲȺȻȽȾɁɃɄɅɆɈɊɌɎͅͰͲͶͿΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫςϏϐϑϕϖϘϚϜϞϠϢϤϦϨϪϬϮϰϱϴϵϷϹϺϽϾϿЀЁЂЃЄЅІЇ'
  || 'ЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѶѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӁӃӅӇӉӋӍ'
  || 'ӐӒӔӖӘӚӜӞӠӢӤӦӨӪӬӮӰӲӴӶӸӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮ';
comment on function ragdb._folded_near() is
  'Returns what folds before U+0530.';

create or replace function ragdb._folds_near() returns text
language sql immutable parallel safe
return
  'μàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįiĳĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷÿź'
  || 'żžsɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵơƣƥʀƨʃƭʈưʊʋƴƶʒƹƽǆǆǉǉǌǌǎǐǒǔǖǘǚǜǟǡǣǥǧǩǫǭǯǳǳǵƕƿǹǻǽǿȁȃȅȇȉȋȍȏȑȓȕȗșțȝȟƞȣȥȧȩ'
  || 'ȫȭȯȱȳⱥȼƚⱦɂƀʉʌɇɉɋɍɏιͱͳͷϳάέήίόύώαβγδεζηθικλμνξοπρστυφχψωϊϋσϗβθφπϙϛϝϟϡϣϥϧϩϫϭϯκρθεϸϲϻͻͼͽѐёђѓєѕії'
  || 'јљњћќѝўџабвгдежзийклмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѷѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӂӄӆӈӊӌӎ'
  || 'ӑӓӕӗәӛӝӟӡӣӥӧөӫӭӯӱӳӵӷӹӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯ';
comment on function ragdb._folds_near() is
  'Returns what they fold to, in order.';

create or replace function ragdb._folded() returns text
language sql immutable parallel safe
return
  'µÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮİĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹ'
  || 'ŻŽſƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƠƢƤƦƧƩƬƮƯƱƲƳƵƷƸƼǄǅǇǈǊǋǍǏǑǓǕǗǙǛǞǠǢǤǦǨǪǬǮǱǲǴǶǷǸǺǼǾȀȂȄȆȈȊȌȎȐȒȔȖȘȚȜȞȠȢȤȦȨ'
  || 'ȪȬȮȰȲȺȻȽȾɁɃɄɅɆɈɊɌɎͅͰͲͶͿΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫςϏϐϑϕϖϘϚϜϞϠϢϤϦϨϪϬϮϰϱϴϵϷϹϺϽϾϿЀЁЂЃЄЅІЇ'
  || 'ЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѶѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӁӃӅӇӉӋӍ'
  || 'ӐӒӔӖӘӚӜӞӠӢӤӦӨӪӬӮӰӲӴӶӸӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖ٠١٢٣٤٥'
  || '٦٧٨٩۰۱۲۳۴۵۶۷۸۹߀߁߂߃߄߅߆߇߈߉०१२३४५६७८९০১২৩৪৫৬৭৮৯੦੧੨੩੪੫੬੭੮੯૦૧૨૩૪૫૬૭૮૯୦୧୨୩୪୫୬୭୮୯௦௧௨௩௪௫௬௭௮௯౦౧౨౩౪౫౬౭'
  || '౮౯೦೧೨೩೪೫೬೭೮೯൦൧൨൩൪൫൬൭൮൯෦෧෨෩෪෫෬෭෮෯๐๑๒๓๔๕๖๗๘๙໐໑໒໓໔໕໖໗໘໙༠༡༢༣༤༥༦༧༨༩၀၁၂၃၄၅၆၇၈၉႐႑႒႓႔႕႖႗႘႙ႠႡႢႣႤႥႦႧႨႩ'
  || 'ႪႫႬႭႮႯႰႱႲႳႴႵႶႷႸႹႺႻႼႽႾႿჀჁჂჃჄჅჇჍᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪᎫᎬᎭᎮᎯᎰᎱᎲᎳᎴᎵᎶᎷᎸᎹᎺᎻᎼᎽᎾᎿᏀᏁᏂᏃᏄᏅᏆᏇᏈᏉᏊᏋᏌᏍᏎᏏᏐᏑᏒᏓᏔᏕᏖᏗᏘᏙᏚᏛᏜᏝ'
  || 'ᏞᏟᏠᏡᏢᏣᏤᏥᏦᏧᏨᏩᏪᏫᏬᏭᏮᏯᏰᏱᏲᏳᏴᏵ០១២៣៤៥៦៧៨៩᠐᠑᠒᠓᠔᠕᠖᠗᠘᠙᥆᥇᥈᥉᥊᥋᥌᥍᥎᥏᧐᧑᧒᧓᧔᧕᧖᧗᧘᧙᪀᪁᪂᪃᪄᪅᪆᪇᪈᪉᪐᪑᪒᪓᪔᪕᪖᪗᪘᪙᭐᭑᭒᭓᭔᭕᭖᭗'
  || '᭘᭙᮰᮱᮲᮳᮴᮵᮶᮷᮸᮹᱀᱁᱂᱃᱄᱅᱆᱇᱈᱉᱐᱑᱒᱓᱔᱕᱖᱗᱘᱙ᲀᲁᲂᲃᲄᲅᲆᲇᲈᲐᲑᲒᲓᲔᲕᲖᲗᲘᲙᲚᲛᲜᲝᲞᲟᲠᲡᲢᲣᲤᲥᲦᲧᲨᲩᲪᲫᲬᲭᲮᲯᲰᲱᲲᲳᲴᲵᲶᲷᲸᲹᲺᲽᲾᲿḀḂḄḆḈ'
  || 'ḊḌḎḐḒḔḖḘḚḜḞḠḢḤḦḨḪḬḮḰḲḴḶḸḺḼḾṀṂṄṆṈṊṌṎṐṒṔṖṘṚṜṞṠṢṤṦṨṪṬṮṰṲṴṶṸṺṼṾẀẂẄẆẈẊẌẎẐẒẔẛẞẠẢẤẦẨẪẬẮẰẲẴẶẸẺẼẾỀỂỄỆ'
  || 'ỈỊỌỎỐỒỔỖỘỚỜỞỠỢỤỦỨỪỬỮỰỲỴỶỸỺỼỾἈἉἊἋἌἍἎἏἘἙἚἛἜἝἨἩἪἫἬἭἮἯἸἹἺἻἼἽἾἿὈὉὊὋὌὍὙὛὝὟὨὩὪὫὬὭὮὯᾈᾉᾊᾋᾌᾍᾎᾏᾘᾙᾚᾛᾜᾝᾞᾟ'
  || 'ᾨᾩᾪᾫᾬᾭᾮᾯᾸᾹᾺΆᾼιῈΈῊΉῌῘῙῚΊῨῩῪΎῬῸΌῺΏῼΩKÅℲⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩⅪⅫⅬⅭⅮⅯↃⰀⰁⰂⰃⰄⰅⰆⰇⰈⰉⰊⰋⰌⰍⰎⰏⰐⰑⰒⰓⰔⰕⰖⰗⰘⰙⰚⰛⰜⰝⰞⰟⰠⰡⰢⰣⰤⰥ'
  || 'ⰦⰧⰨⰩⰪⰫⰬⰭⰮⰯⱠⱢⱣⱤⱧⱩⱫⱭⱮⱯⱰⱲⱵⱾⱿⲀⲂⲄⲆⲈⲊⲌⲎⲐⲒⲔⲖⲘⲚⲜⲞⲠⲢⲤⲦⲨⲪⲬⲮⲰⲲⲴⲶⲸⲺⲼⲾⳀⳂⳄⳆⳈⳊⳌⳎⳐⳒⳔⳖⳘⳚⳜⳞⳠⳢⳫⳭⳲ꘠꘡꘢꘣꘤꘥꘦꘧꘨꘩ꙀꙂꙄꙆ'
  || 'ꙈꙊꙌꙎꙐꙒꙔꙖꙘꙚꙜꙞꙠꙢꙤꙦꙨꙪꙬꚀꚂꚄꚆꚈꚊꚌꚎꚐꚒꚔꚖꚘꚚꜢꜤꜦꜨꜪꜬꜮꜲꜴꜶꜸꜺꜼꜾꝀꝂꝄꝆꝈꝊꝌꝎꝐꝒꝔꝖꝘꝚꝜꝞꝠꝢꝤꝦꝨꝪꝬꝮꝹꝻꝽꝾꞀꞂꞄꞆꞋꞍꞐꞒꞖꞘꞚꞜꞞꞠꞢꞤꞦ'
  || 'ꞨꞪꞫꞬꞭꞮꞰꞱꞲꞳꞴꞶꞸꞺꞼꞾꟀꟂꟄꟅꟆꟇꟉꟐꟖꟘꟵ꣐꣑꣒꣓꣔꣕꣖꣗꣘꣙꤀꤁꤂꤃꤄꤅꤆꤇꤈꤉꧐꧑꧒꧓꧔꧕꧖꧗꧘꧙꧰꧱꧲꧳꧴꧵꧶꧷꧸꧹꩐꩑꩒꩓꩔꩕꩖꩗꩘꩙꯰꯱꯲꯳꯴꯵꯶꯷꯸꯹０１２３４'
  || '５６７８９ＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺ𐐀𐐁𐐂𐐃𐐄𐐅𐐆𐐇𐐈𐐉𐐊𐐋𐐌𐐍𐐎𐐏𐐐𐐑𐐒𐐓𐐔𐐕𐐖𐐗𐐘𐐙𐐚𐐛𐐜𐐝𐐞𐐟𐐠𐐡𐐢𐐣𐐤𐐥𐐦𐐧𐒠𐒡𐒢𐒣𐒤𐒥𐒦𐒧𐒨𐒩𐒰𐒱𐒲𐒳𐒴𐒵𐒶𐒷𐒸𐒹𐒺'
  || '𐒻𐒼𐒽𐒾𐒿𐓀𐓁𐓂𐓃𐓄𐓅𐓆𐓇𐓈𐓉𐓊𐓋𐓌𐓍𐓎𐓏𐓐𐓑𐓒𐓓𐕰𐕱𐕲𐕳𐕴𐕵𐕶𐕷𐕸𐕹𐕺𐕼𐕽𐕾𐕿𐖀𐖁𐖂𐖃𐖄𐖅𐖆𐖇𐖈𐖉𐖊𐖌𐖍𐖎𐖏𐖐𐖑𐖒𐖔𐖕𐲀𐲁𐲂𐲃𐲄𐲅𐲆𐲇𐲈𐲉𐲊𐲋𐲌𐲍𐲎𐲏𐲐𐲑𐲒𐲓𐲔𐲕𐲖𐲗𐲘𐲙𐲚𐲛𐲜𐲝𐲞𐲟'
  || '𐲠𐲡𐲢𐲣𐲤𐲥𐲦𐲧𐲨𐲩𐲪𐲫𐲬𐲭𐲮𐲯𐲰𐲱𐲲𐴰𐴱𐴲𐴳𐴴𐴵𐴶𐴷𐴸𐴹𑁦𑁧𑁨𑁩𑁪𑁫𑁬𑁭𑁮𑁯𑃰𑃱𑃲𑃳𑃴𑃵𑃶𑃷𑃸𑃹𑄶𑄷𑄸𑄹𑄺𑄻𑄼𑄽𑄾𑄿𑇐𑇑𑇒𑇓𑇔𑇕𑇖𑇗𑇘𑇙𑋰𑋱𑋲𑋳𑋴𑋵𑋶𑋷𑋸𑋹𑑐𑑑𑑒𑑓𑑔𑑕𑑖𑑗𑑘𑑙𑓐𑓑𑓒'
  || '𑓓𑓔𑓕𑓖𑓗𑓘𑓙𑙐𑙑𑙒𑙓𑙔𑙕𑙖𑙗𑙘𑙙𑛀𑛁𑛂𑛃𑛄𑛅𑛆𑛇𑛈𑛉𑜰𑜱𑜲𑜳𑜴𑜵𑜶𑜷𑜸𑜹𑢠𑢡𑢢𑢣𑢤𑢥𑢦𑢧𑢨𑢩𑢪𑢫𑢬𑢭𑢮𑢯𑢰𑢱𑢲𑢳𑢴𑢵𑢶𑢷𑢸𑢹𑢺𑢻𑢼𑢽𑢾𑢿𑣠𑣡𑣢𑣣𑣤𑣥𑣦𑣧𑣨𑣩𑥐𑥑𑥒𑥓𑥔𑥕𑥖𑥗𑥘𑥙𑱐𑱑𑱒'
  || '𑱓𑱔𑱕𑱖𑱗𑱘𑱙𑵐𑵑𑵒𑵓𑵔𑵕𑵖𑵗𑵘𑵙𑶠𑶡𑶢𑶣𑶤𑶥𑶦𑶧𑶨𑶩𑽐𑽑𑽒𑽓𑽔𑽕𑽖𑽗𑽘𑽙𖩠𖩡𖩢𖩣𖩤𖩥𖩦𖩧𖩨𖩩𖫀𖫁𖫂𖫃𖫄𖫅𖫆𖫇𖫈𖫉𖭐𖭑𖭒𖭓𖭔𖭕𖭖𖭗𖭘𖭙𖹀𖹁𖹂𖹃𖹄𖹅𖹆𖹇𖹈𖹉𖹊𖹋𖹌𖹍𖹎𖹏𖹐𖹑𖹒𖹓𖹔𖹕𖹖𖹗𖹘'
  || '𖹙𖹚𖹛𖹜𖹝𖹞𖹟𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗𝟘𝟙𝟚𝟛𝟜𝟝𝟞𝟟𝟠𝟡𝟢𝟣𝟤𝟥𝟦𝟧𝟨𝟩𝟪𝟫𝟬𝟭𝟮𝟯𝟰𝟱𝟲𝟳𝟴𝟵𝟶𝟷𝟸𝟹𝟺𝟻𝟼𝟽𝟾𝟿𞅀𞅁𞅂𞅃𞅄𞅅𞅆𞅇𞅈𞅉𞋰𞋱𞋲𞋳𞋴𞋵𞋶𞋷𞋸𞋹𞓰𞓱𞓲𞓳𞓴𞓵𞓶𞓷𞓸𞓹𞤀𞤁𞤂𞤃𞤄'
  || '𞤅𞤆𞤇𞤈𞤉𞤊𞤋𞤌𞤍𞤎𞤏𞤐𞤑𞤒𞤓𞤔𞤕𞤖𞤗𞤘𞤙𞤚𞤛𞤜𞤝𞤞𞤟𞤠𞤡𞥐𞥑𞥒𞥓𞥔𞥕𞥖𞥗𞥘𞥙🯰🯱🯲🯳🯴🯵🯶🯷🯸🯹';
comment on function ragdb._folded() is
  'Returns what folds to one other character.';

create or replace function ragdb._folds() returns text
language sql immutable parallel safe
return
  'μàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįiĳĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷÿź'
  || 'żžsɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵơƣƥʀƨʃƭʈưʊʋƴƶʒƹƽǆǆǉǉǌǌǎǐǒǔǖǘǚǜǟǡǣǥǧǩǫǭǯǳǳǵƕƿǹǻǽǿȁȃȅȇȉȋȍȏȑȓȕȗșțȝȟƞȣȥȧȩ'
  || 'ȫȭȯȱȳⱥȼƚⱦɂƀʉʌɇɉɋɍɏιͱͳͷϳάέήίόύώαβγδεζηθικλμνξοπρστυφχψωϊϋσϗβθφπϙϛϝϟϡϣϥϧϩϫϭϯκρθεϸϲϻͻͼͽѐёђѓєѕії'
  || 'јљњћќѝўџабвгдежзийклмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѷѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӂӄӆӈӊӌӎ'
  || 'ӑӓӕӗәӛӝӟӡӣӥӧөӫӭӯӱӳӵӷӹӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯաբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ012345'
  || '67890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567'
  || '8901234567890123456789012345678901234567890123456789012345678901234567890123456789ⴀⴁⴂⴃⴄⴅⴆⴇⴈⴉ'
  || 'ⴊⴋⴌⴍⴎⴏⴐⴑⴒⴓⴔⴕⴖⴗⴘⴙⴚⴛⴜⴝⴞⴟⴠⴡⴢⴣⴤⴥⴧⴭꭰꭱꭲꭳꭴꭵꭶꭷꭸꭹꭺꭻꭼꭽꭾꭿꮀꮁꮂꮃꮄꮅꮆꮇꮈꮉꮊꮋꮌꮍꮎꮏꮐꮑꮒꮓꮔꮕꮖꮗꮘꮙꮚꮛꮜꮝꮞꮟꮠꮡꮢꮣꮤꮥꮦꮧꮨꮩꮪꮫꮬꮭ'
  || 'ꮮꮯꮰꮱꮲꮳꮴꮵꮶꮷꮸꮹꮺꮻꮼꮽꮾꮿᏸᏹᏺᏻᏼᏽ01234567890123456789012345678901234567890123456789012345678901234567'
  || '89012345678901234567890123456789вдосттъѣꙋაბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰჱჲჳჴჵჶჷჸჹჺჽჾჿḁḃḅḇḉ'
  || 'ḋḍḏḑḓḕḗḙḛḝḟḡḣḥḧḩḫḭḯḱḳḵḷḹḻḽḿṁṃṅṇṉṋṍṏṑṓṕṗṙṛṝṟṡṣṥṧṩṫṭṯṱṳṵṷṹṻṽṿẁẃẅẇẉẋẍẏẑẓẕṡßạảấầẩẫậắằẳẵặẹẻẽếềểễệ'
  || 'ỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹỻỽỿἀἁἂἃἄἅἆἇἐἑἒἓἔἕἠἡἢἣἤἥἦἧἰἱἲἳἴἵἶἷὀὁὂὃὄὅὑὓὕὗὠὡὢὣὤὥὦὧᾀᾁᾂᾃᾄᾅᾆᾇᾐᾑᾒᾓᾔᾕᾖᾗ'
  || 'ᾠᾡᾢᾣᾤᾥᾦᾧᾰᾱὰάᾳιὲέὴήῃῐῑὶίῠῡὺύῥὸόὼώῳωkåⅎⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹⅺⅻⅼⅽⅾⅿↄⰰⰱⰲⰳⰴⰵⰶⰷⰸⰹⰺⰻⰼⰽⰾⰿⱀⱁⱂⱃⱄⱅⱆⱇⱈⱉⱊⱋⱌⱍⱎⱏⱐⱑⱒⱓⱔⱕ'
  || 'ⱖⱗⱘⱙⱚⱛⱜⱝⱞⱟⱡɫᵽɽⱨⱪⱬɑɱɐɒⱳⱶȿɀⲁⲃⲅⲇⲉⲋⲍⲏⲑⲓⲕⲗⲙⲛⲝⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱⲳⲵⲷⲹⲻⲽⲿⳁⳃⳅⳇⳉⳋⳍⳏⳑⳓⳕⳗⳙⳛⳝⳟⳡⳣⳬⳮⳳ0123456789ꙁꙃꙅꙇ'
  || 'ꙉꙋꙍꙏꙑꙓꙕꙗꙙꙛꙝꙟꙡꙣꙥꙧꙩꙫꙭꚁꚃꚅꚇꚉꚋꚍꚏꚑꚓꚕꚗꚙꚛꜣꜥꜧꜩꜫꜭꜯꜳꜵꜷꜹꜻꜽꜿꝁꝃꝅꝇꝉꝋꝍꝏꝑꝓꝕꝗꝙꝛꝝꝟꝡꝣꝥꝧꝩꝫꝭꝯꝺꝼᵹꝿꞁꞃꞅꞇꞌɥꞑꞓꞗꞙꞛꞝꞟꞡꞣꞥꞧ'
  || 'ꞩɦɜɡɬɪʞʇʝꭓꞵꞷꞹꞻꞽꞿꟁꟃꞔʂᶎꟈꟊꟑꟗꟙꟶ01234567890123456789012345678901234567890123456789012345678901234'
  || '56789ａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ𐐨𐐩𐐪𐐫𐐬𐐭𐐮𐐯𐐰𐐱𐐲𐐳𐐴𐐵𐐶𐐷𐐸𐐹𐐺𐐻𐐼𐐽𐐾𐐿𐑀𐑁𐑂𐑃𐑄𐑅𐑆𐑇𐑈𐑉𐑊𐑋𐑌𐑍𐑎𐑏0123456789𐓘𐓙𐓚𐓛𐓜𐓝𐓞𐓟𐓠𐓡𐓢'
  || '𐓣𐓤𐓥𐓦𐓧𐓨𐓩𐓪𐓫𐓬𐓭𐓮𐓯𐓰𐓱𐓲𐓳𐓴𐓵𐓶𐓷𐓸𐓹𐓺𐓻𐖗𐖘𐖙𐖚𐖛𐖜𐖝𐖞𐖟𐖠𐖡𐖣𐖤𐖥𐖦𐖧𐖨𐖩𐖪𐖫𐖬𐖭𐖮𐖯𐖰𐖱𐖳𐖴𐖵𐖶𐖷𐖸𐖹𐖻𐖼𐳀𐳁𐳂𐳃𐳄𐳅𐳆𐳇𐳈𐳉𐳊𐳋𐳌𐳍𐳎𐳏𐳐𐳑𐳒𐳓𐳔𐳕𐳖𐳗𐳘𐳙𐳚𐳛𐳜𐳝𐳞𐳟'
  || '𐳠𐳡𐳢𐳣𐳤𐳥𐳦𐳧𐳨𐳩𐳪𐳫𐳬𐳭𐳮𐳯𐳰𐳱𐳲0123456789012345678901234567890123456789012345678901234567890123456789012'
  || '3456789012345678901234567890123456789𑣀𑣁𑣂𑣃𑣄𑣅𑣆𑣇𑣈𑣉𑣊𑣋𑣌𑣍𑣎𑣏𑣐𑣑𑣒𑣓𑣔𑣕𑣖𑣗𑣘𑣙𑣚𑣛𑣜𑣝𑣞𑣟01234567890123456789012'
  || '3456789012345678901234567890123456789012345678901234567890123456789𖹠𖹡𖹢𖹣𖹤𖹥𖹦𖹧𖹨𖹩𖹪𖹫𖹬𖹭𖹮𖹯𖹰𖹱𖹲𖹳𖹴𖹵𖹶𖹷𖹸'
  || '𖹹𖹺𖹻𖹼𖹽𖹾𖹿01234567890123456789012345678901234567890123456789012345678901234567890123456789𞤢𞤣𞤤𞤥𞤦'
  || '𞤧𞤨𞤩𞤪𞤫𞤬𞤭𞤮𞤯𞤰𞤱𞤲𞤳𞤴𞤵𞤶𞤷𞤸𞤹𞤺𞤻𞤼𞤽𞤾𞤿𞥀𞥁𞥂𞥃01234567890123456789';
comment on function ragdb._folds() is
  'Returns what they fold to, in order.';

create or replace function ragdb._capitals() returns text
language sql immutable parallel safe
return
  'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽ'
  || 'ƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƠƢƤƦƧƩƬƮƯƱƲƳƵƷƸƼǄǅǇǈǊǋǍǏǑǓǕǗǙǛǞǠǢǤǦǨǪǬǮǱǲǴǶǷǸǺǼǾȀȂȄȆȈȊȌȎȐȒȔȖȘȚȜȞȠȢȤȦȨȪȬȮ'
  || 'ȰȲȺȻȽȾɁɃɄɅɆɈɊɌɎͰͲͶͿΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫϏϘϚϜϞϠϢϤϦϨϪϬϮϴϷϹϺϽϾϿЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГ'
  || 'ДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѶѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӁӃӅӇӉӋӍӐӒӔӖӘӚӜӞӠӢӤӦ'
  || 'ӨӪӬӮӰӲӴӶӸӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖႠႡႢႣႤႥႦႧႨႩႪႫႬႭႮႯႰႱ'
  || 'ႲႳႴႵႶႷႸႹႺႻႼႽႾႿჀჁჂჃჄჅჇჍᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪᎫᎬᎭᎮᎯᎰᎱᎲᎳᎴᎵᎶᎷᎸᎹᎺᎻᎼᎽᎾᎿᏀᏁᏂᏃᏄᏅᏆᏇᏈᏉᏊᏋᏌᏍᏎᏏᏐᏑᏒᏓᏔᏕᏖᏗᏘᏙᏚᏛᏜᏝᏞᏟᏠᏡᏢᏣᏤᏥ'
  || 'ᏦᏧᏨᏩᏪᏫᏬᏭᏮᏯᏰᏱᏲᏳᏴᏵᲐᲑᲒᲓᲔᲕᲖᲗᲘᲙᲚᲛᲜᲝᲞᲟᲠᲡᲢᲣᲤᲥᲦᲧᲨᲩᲪᲫᲬᲭᲮᲯᲰᲱᲲᲳᲴᲵᲶᲷᲸᲹᲺᲽᲾᲿḀḂḄḆḈḊḌḎḐḒḔḖḘḚḜḞḠḢḤḦḨḪḬḮḰḲḴḶḸḺ'
  || 'ḼḾṀṂṄṆṈṊṌṎṐṒṔṖṘṚṜṞṠṢṤṦṨṪṬṮṰṲṴṶṸṺṼṾẀẂẄẆẈẊẌẎẐẒẔẞẠẢẤẦẨẪẬẮẰẲẴẶẸẺẼẾỀỂỄỆỈỊỌỎỐỒỔỖỘỚỜỞỠỢỤỦỨỪỬỮỰỲỴỶỸỺ'
  || 'ỼỾἈἉἊἋἌἍἎἏἘἙἚἛἜἝἨἩἪἫἬἭἮἯἸἹἺἻἼἽἾἿὈὉὊὋὌὍὙὛὝὟὨὩὪὫὬὭὮὯᾈᾉᾊᾋᾌᾍᾎᾏᾘᾙᾚᾛᾜᾝᾞᾟᾨᾩᾪᾫᾬᾭᾮᾯᾸᾹᾺΆᾼῈΈῊΉῌῘῙῚΊῨῩῪΎ'
  || 'ῬῸΌῺΏῼΩKÅℲⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩⅪⅫⅬⅭⅮⅯↃⒶⒷⒸⒹⒺⒻⒼⒽⒾⒿⓀⓁⓂⓃⓄⓅⓆⓇⓈⓉⓊⓋⓌⓍⓎⓏⰀⰁⰂⰃⰄⰅⰆⰇⰈⰉⰊⰋⰌⰍⰎⰏⰐⰑⰒⰓⰔⰕⰖⰗⰘⰙⰚⰛⰜⰝⰞⰟⰠⰡⰢⰣⰤⰥⰦ'
  || 'ⰧⰨⰩⰪⰫⰬⰭⰮⰯⱠⱢⱣⱤⱧⱩⱫⱭⱮⱯⱰⱲⱵⱾⱿⲀⲂⲄⲆⲈⲊⲌⲎⲐⲒⲔⲖⲘⲚⲜⲞⲠⲢⲤⲦⲨⲪⲬⲮⲰⲲⲴⲶⲸⲺⲼⲾⳀⳂⳄⳆⳈⳊⳌⳎⳐⳒⳔⳖⳘⳚⳜⳞⳠⳢⳫⳭⳲꙀꙂꙄꙆꙈꙊꙌꙎꙐꙒꙔꙖꙘꙚꙜ'
  || 'ꙞꙠꙢꙤꙦꙨꙪꙬꚀꚂꚄꚆꚈꚊꚌꚎꚐꚒꚔꚖꚘꚚꜢꜤꜦꜨꜪꜬꜮꜲꜴꜶꜸꜺꜼꜾꝀꝂꝄꝆꝈꝊꝌꝎꝐꝒꝔꝖꝘꝚꝜꝞꝠꝢꝤꝦꝨꝪꝬꝮꝹꝻꝽꝾꞀꞂꞄꞆꞋꞍꞐꞒꞖꞘꞚꞜꞞꞠꞢꞤꞦꞨꞪꞫꞬꞭꞮꞰꞱꞲꞳꞴ'
  || 'ꞶꞸꞺꞼꞾꟀꟂꟄꟅꟆꟇꟉꟐꟖꟘꟵＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺ𐐀𐐁𐐂𐐃𐐄𐐅𐐆𐐇𐐈𐐉𐐊𐐋𐐌𐐍𐐎𐐏𐐐𐐑𐐒𐐓𐐔𐐕𐐖𐐗𐐘𐐙𐐚𐐛𐐜𐐝𐐞𐐟𐐠𐐡𐐢𐐣𐐤𐐥𐐦𐐧𐒰𐒱𐒲𐒳𐒴𐒵𐒶𐒷𐒸𐒹'
  || '𐒺𐒻𐒼𐒽𐒾𐒿𐓀𐓁𐓂𐓃𐓄𐓅𐓆𐓇𐓈𐓉𐓊𐓋𐓌𐓍𐓎𐓏𐓐𐓑𐓒𐓓𐕰𐕱𐕲𐕳𐕴𐕵𐕶𐕷𐕸𐕹𐕺𐕼𐕽𐕾𐕿𐖀𐖁𐖂𐖃𐖄𐖅𐖆𐖇𐖈𐖉𐖊𐖌𐖍𐖎𐖏𐖐𐖑𐖒𐖔𐖕𐲀𐲁𐲂𐲃𐲄𐲅𐲆𐲇𐲈𐲉𐲊𐲋𐲌𐲍𐲎𐲏𐲐𐲑𐲒𐲓𐲔𐲕𐲖𐲗𐲘𐲙𐲚𐲛𐲜𐲝𐲞'
  || '𐲟𐲠𐲡𐲢𐲣𐲤𐲥𐲦𐲧𐲨𐲩𐲪𐲫𐲬𐲭𐲮𐲯𐲰𐲱𐲲𑢠𑢡𑢢𑢣𑢤𑢥𑢦𑢧𑢨𑢩𑢪𑢫𑢬𑢭𑢮𑢯𑢰𑢱𑢲𑢳𑢴𑢵𑢶𑢷𑢸𑢹𑢺𑢻𑢼𑢽𑢾𑢿𖹀𖹁𖹂𖹃𖹄𖹅𖹆𖹇𖹈𖹉𖹊𖹋𖹌𖹍𖹎𖹏𖹐𖹑𖹒𖹓𖹔𖹕𖹖𖹗𖹘𖹙𖹚𖹛𖹜𖹝𖹞𖹟𞤀𞤁𞤂𞤃𞤄𞤅𞤆𞤇'
  || '𞤈𞤉𞤊𞤋𞤌𞤍𞤎𞤏𞤐𞤑𞤒𞤓𞤔𞤕𞤖𞤗𞤘𞤙𞤚𞤛𞤜𞤝𞤞𞤟𞤠𞤡';
comment on function ragdb._capitals() is
  'Returns what has one lower-case character.';

create or replace function ragdb._smalls() returns text
language sql immutable parallel safe
return
  'àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĳĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷÿźżž'
  || 'ɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵơƣƥʀƨʃƭʈưʊʋƴƶʒƹƽǆǆǉǉǌǌǎǐǒǔǖǘǚǜǟǡǣǥǧǩǫǭǯǳǳǵƕƿǹǻǽǿȁȃȅȇȉȋȍȏȑȓȕȗșțȝȟƞȣȥȧȩȫȭȯ'
  || 'ȱȳⱥȼƚⱦɂƀʉʌɇɉɋɍɏͱͳͷϳάέήίόύώαβγδεζηθικλμνξοπρστυφχψωϊϋϗϙϛϝϟϡϣϥϧϩϫϭϯθϸϲϻͻͼͽѐёђѓєѕіїјљњћќѝўџабвг'
  || 'дежзийклмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѷѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӂӄӆӈӊӌӎӑӓӕӗәӛӝӟӡӣӥӧ'
  || 'өӫӭӯӱӳӵӷӹӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯաբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆⴀⴁⴂⴃⴄⴅⴆⴇⴈⴉⴊⴋⴌⴍⴎⴏⴐⴑ'
  || 'ⴒⴓⴔⴕⴖⴗⴘⴙⴚⴛⴜⴝⴞⴟⴠⴡⴢⴣⴤⴥⴧⴭꭰꭱꭲꭳꭴꭵꭶꭷꭸꭹꭺꭻꭼꭽꭾꭿꮀꮁꮂꮃꮄꮅꮆꮇꮈꮉꮊꮋꮌꮍꮎꮏꮐꮑꮒꮓꮔꮕꮖꮗꮘꮙꮚꮛꮜꮝꮞꮟꮠꮡꮢꮣꮤꮥꮦꮧꮨꮩꮪꮫꮬꮭꮮꮯꮰꮱꮲꮳꮴꮵ'
  || 'ꮶꮷꮸꮹꮺꮻꮼꮽꮾꮿᏸᏹᏺᏻᏼᏽაბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰჱჲჳჴჵჶჷჸჹჺჽჾჿḁḃḅḇḉḋḍḏḑḓḕḗḙḛḝḟḡḣḥḧḩḫḭḯḱḳḵḷḹḻ'
  || 'ḽḿṁṃṅṇṉṋṍṏṑṓṕṗṙṛṝṟṡṣṥṧṩṫṭṯṱṳṵṷṹṻṽṿẁẃẅẇẉẋẍẏẑẓẕßạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹỻ'
  || 'ỽỿἀἁἂἃἄἅἆἇἐἑἒἓἔἕἠἡἢἣἤἥἦἧἰἱἲἳἴἵἶἷὀὁὂὃὄὅὑὓὕὗὠὡὢὣὤὥὦὧᾀᾁᾂᾃᾄᾅᾆᾇᾐᾑᾒᾓᾔᾕᾖᾗᾠᾡᾢᾣᾤᾥᾦᾧᾰᾱὰάᾳὲέὴήῃῐῑὶίῠῡὺύ'
  || 'ῥὸόὼώῳωkåⅎⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹⅺⅻⅼⅽⅾⅿↄⓐⓑⓒⓓⓔⓕⓖⓗⓘⓙⓚⓛⓜⓝⓞⓟⓠⓡⓢⓣⓤⓥⓦⓧⓨⓩⰰⰱⰲⰳⰴⰵⰶⰷⰸⰹⰺⰻⰼⰽⰾⰿⱀⱁⱂⱃⱄⱅⱆⱇⱈⱉⱊⱋⱌⱍⱎⱏⱐⱑⱒⱓⱔⱕⱖ'
  || 'ⱗⱘⱙⱚⱛⱜⱝⱞⱟⱡɫᵽɽⱨⱪⱬɑɱɐɒⱳⱶȿɀⲁⲃⲅⲇⲉⲋⲍⲏⲑⲓⲕⲗⲙⲛⲝⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱⲳⲵⲷⲹⲻⲽⲿⳁⳃⳅⳇⳉⳋⳍⳏⳑⳓⳕⳗⳙⳛⳝⳟⳡⳣⳬⳮⳳꙁꙃꙅꙇꙉꙋꙍꙏꙑꙓꙕꙗꙙꙛꙝ'
  || 'ꙟꙡꙣꙥꙧꙩꙫꙭꚁꚃꚅꚇꚉꚋꚍꚏꚑꚓꚕꚗꚙꚛꜣꜥꜧꜩꜫꜭꜯꜳꜵꜷꜹꜻꜽꜿꝁꝃꝅꝇꝉꝋꝍꝏꝑꝓꝕꝗꝙꝛꝝꝟꝡꝣꝥꝧꝩꝫꝭꝯꝺꝼᵹꝿꞁꞃꞅꞇꞌɥꞑꞓꞗꞙꞛꞝꞟꞡꞣꞥꞧꞩɦɜɡɬɪʞʇʝꭓꞵ'
  || 'ꞷꞹꞻꞽꞿꟁꟃꞔʂᶎꟈꟊꟑꟗꟙꟶａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ𐐨𐐩𐐪𐐫𐐬𐐭𐐮𐐯𐐰𐐱𐐲𐐳𐐴𐐵𐐶𐐷𐐸𐐹𐐺𐐻𐐼𐐽𐐾𐐿𐑀𐑁𐑂𐑃𐑄𐑅𐑆𐑇𐑈𐑉𐑊𐑋𐑌𐑍𐑎𐑏𐓘𐓙𐓚𐓛𐓜𐓝𐓞𐓟𐓠𐓡'
  || '𐓢𐓣𐓤𐓥𐓦𐓧𐓨𐓩𐓪𐓫𐓬𐓭𐓮𐓯𐓰𐓱𐓲𐓳𐓴𐓵𐓶𐓷𐓸𐓹𐓺𐓻𐖗𐖘𐖙𐖚𐖛𐖜𐖝𐖞𐖟𐖠𐖡𐖣𐖤𐖥𐖦𐖧𐖨𐖩𐖪𐖫𐖬𐖭𐖮𐖯𐖰𐖱𐖳𐖴𐖵𐖶𐖷𐖸𐖹𐖻𐖼𐳀𐳁𐳂𐳃𐳄𐳅𐳆𐳇𐳈𐳉𐳊𐳋𐳌𐳍𐳎𐳏𐳐𐳑𐳒𐳓𐳔𐳕𐳖𐳗𐳘𐳙𐳚𐳛𐳜𐳝𐳞'
  || '𐳟𐳠𐳡𐳢𐳣𐳤𐳥𐳦𐳧𐳨𐳩𐳪𐳫𐳬𐳭𐳮𐳯𐳰𐳱𐳲𑣀𑣁𑣂𑣃𑣄𑣅𑣆𑣇𑣈𑣉𑣊𑣋𑣌𑣍𑣎𑣏𑣐𑣑𑣒𑣓𑣔𑣕𑣖𑣗𑣘𑣙𑣚𑣛𑣜𑣝𑣞𑣟𖹠𖹡𖹢𖹣𖹤𖹥𖹦𖹧𖹨𖹩𖹪𖹫𖹬𖹭𖹮𖹯𖹰𖹱𖹲𖹳𖹴𖹵𖹶𖹷𖹸𖹹𖹺𖹻𖹼𖹽𖹾𖹿𞤢𞤣𞤤𞤥𞤦𞤧𞤨𞤩'
  || '𞤪𞤫𞤬𞤭𞤮𞤯𞤰𞤱𞤲𞤳𞤴𞤵𞤶𞤷𞤸𞤹𞤺𞤻𞤼𞤽𞤾𞤿𞥀𞥁𞥂𞥃';
comment on function ragdb._smalls() is
  'Returns those lower-case characters, in order.';

create or replace function ragdb._cased() returns text
language sql immutable parallel safe
return
  'A-Za-z\u00AA\u00B5\u00BA\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0'
  || '295-\u02AF\u0370-\u0373\u0376-\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A'
  || '1\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u0560-\u0588\u10A0-\u10C5\u10C7\u10CD\'
  || 'u10D0-\u10FA\u10FD-\u10FF\u13A0-\u13F5\u13F8-\u13FD\u1C80-\u1C88\u1C90-\u1CBA\u1CBD-\u1CBF\u'
  || '1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1'
  || 'F50-\u1F57\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6'
  || '-\u1FCC\u1FD0-\u1FD3\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107\u210A-\'
  || 'u2113\u2115\u2119-\u211D\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139\u213C-\u213F\u214'
  || '5-\u2149\u214E\u2160-\u217F\u2183-\u2184\u24B6-\u24E9\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE'
  || '\u2CF2-\u2CF3\u2D00-\u2D25\u2D27\u2D2D\uA640-\uA66D\uA680-\uA69B\uA722-\uA76F\uA771-\uA787\u'
  || 'A78B-\uA78E\uA790-\uA7CA\uA7D0-\uA7D1\uA7D3\uA7D5-\uA7D9\uA7F5-\uA7F6\uA7FA\uAB30-\uAB5A\uAB'
  || '60-\uAB68\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A\U00010400-\U00010'
  || '44F\U000104B0-\U000104D3\U000104D8-\U000104FB\U00010570-\U0001057A\U0001057C-\U0001058A\U000'
  || '1058C-\U00010592\U00010594-\U00010595\U00010597-\U000105A1\U000105A3-\U000105B1\U000105B3-\U'
  || '000105B9\U000105BB-\U000105BC\U00010C80-\U00010CB2\U00010CC0-\U00010CF2\U000118A0-\U000118DF'
  || '\U00016E40-\U00016E7F\U0001D400-\U0001D454\U0001D456-\U0001D49C\U0001D49E-\U0001D49F\U0001D4'
  || 'A2\U0001D4A5-\U0001D4A6\U0001D4A9-\U0001D4AC\U0001D4AE-\U0001D4B9\U0001D4BB\U0001D4BD-\U0001'
  || 'D4C3\U0001D4C5-\U0001D505\U0001D507-\U0001D50A\U0001D50D-\U0001D514\U0001D516-\U0001D51C\U00'
  || '01D51E-\U0001D539\U0001D53B-\U0001D53E\U0001D540-\U0001D544\U0001D546\U0001D54A-\U0001D550\U'
  || '0001D552-\U0001D6A5\U0001D6A8-\U0001D6C0\U0001D6C2-\U0001D6DA\U0001D6DC-\U0001D6FA\U0001D6FC'
  || '-\U0001D714\U0001D716-\U0001D734\U0001D736-\U0001D74E\U0001D750-\U0001D76E\U0001D770-\U0001D'
  || '788\U0001D78A-\U0001D7A8\U0001D7AA-\U0001D7C2\U0001D7C4-\U0001D7CB\U0001DF00-\U0001DF09\U000'
  || '1DF0B-\U0001DF1E\U0001E900-\U0001E943\U0001F130-\U0001F149\U0001F150-\U0001F169\U0001F170-\U'
  || '0001F189';
comment on function ragdb._cased() is
  'Returns the class of letters with case that make a following capital sigma final.';

create or replace function ragdb._case_ignorable() returns text
language sql immutable parallel safe
return
  '''.:\^`\u00A8\u00AD\u00AF\u00B4\u00B7-\u00B8\u02B0-\u036F\u0374-\u0375\u037A\u0384-\u0385\u0'
  || '387\u0483-\u0489\u0559\u055F\u0591-\u05BD\u05BF\u05C1-\u05C2\u05C4-\u05C5\u05C7\u05F4\u0600-'
  || '\u0605\u0610-\u061A\u061C\u0640\u064B-\u065F\u0670\u06D6-\u06DD\u06DF-\u06E8\u06EA-\u06ED\u0'
  || '70F\u0711\u0730-\u074A\u07A6-\u07B0\u07EB-\u07F5\u07FA\u07FD\u0816-\u082D\u0859-\u085B\u0888'
  || '\u0890-\u0891\u0898-\u089F\u08C9-\u0902\u093A\u093C\u0941-\u0948\u094D\u0951-\u0957\u0962-\u'
  || '0963\u0971\u0981\u09BC\u09C1-\u09C4\u09CD\u09E2-\u09E3\u09FE\u0A01-\u0A02\u0A3C\u0A41-\u0A42'
  || '\u0A47-\u0A48\u0A4B-\u0A4D\u0A51\u0A70-\u0A71\u0A75\u0A81-\u0A82\u0ABC\u0AC1-\u0AC5\u0AC7-\u'
  || '0AC8\u0ACD\u0AE2-\u0AE3\u0AFA-\u0AFF\u0B01\u0B3C\u0B3F\u0B41-\u0B44\u0B4D\u0B55-\u0B56\u0B62'
  || '-\u0B63\u0B82\u0BC0\u0BCD\u0C00\u0C04\u0C3C\u0C3E-\u0C40\u0C46-\u0C48\u0C4A-\u0C4D\u0C55-\u0'
  || 'C56\u0C62-\u0C63\u0C81\u0CBC\u0CBF\u0CC6\u0CCC-\u0CCD\u0CE2-\u0CE3\u0D00-\u0D01\u0D3B-\u0D3C'
  || '\u0D41-\u0D44\u0D4D\u0D62-\u0D63\u0D81\u0DCA\u0DD2-\u0DD4\u0DD6\u0E31\u0E34-\u0E3A\u0E46-\u0'
  || 'E4E\u0EB1\u0EB4-\u0EBC\u0EC6\u0EC8-\u0ECD\u0F18-\u0F19\u0F35\u0F37\u0F39\u0F71-\u0F7E\u0F80-'
  || '\u0F84\u0F86-\u0F87\u0F8D-\u0F97\u0F99-\u0FBC\u0FC6\u102D-\u1030\u1032-\u1037\u1039-\u103A\u'
  || '103D-\u103E\u1058-\u1059\u105E-\u1060\u1071-\u1074\u1082\u1085-\u1086\u108D\u109D\u10FC\u135'
  || 'D-\u135F\u1712-\u1714\u1732-\u1733\u1752-\u1753\u1772-\u1773\u17B4-\u17B5\u17B7-\u17BD\u17C6'
  || '\u17C9-\u17D3\u17D7\u17DD\u180B-\u180F\u1843\u1885-\u1886\u18A9\u1920-\u1922\u1927-\u1928\u1'
  || '932\u1939-\u193B\u1A17-\u1A18\u1A1B\u1A56\u1A58-\u1A5E\u1A60\u1A62\u1A65-\u1A6C\u1A73-\u1A7C'
  || '\u1A7F\u1AA7\u1AB0-\u1ACE\u1B00-\u1B03\u1B34\u1B36-\u1B3A\u1B3C\u1B42\u1B6B-\u1B73\u1B80-\u1'
  || 'B81\u1BA2-\u1BA5\u1BA8-\u1BA9\u1BAB-\u1BAD\u1BE6\u1BE8-\u1BE9\u1BED\u1BEF-\u1BF1\u1C2C-\u1C3'
  || '3\u1C36-\u1C37\u1C78-\u1C7D\u1CD0-\u1CD2\u1CD4-\u1CE0\u1CE2-\u1CE8\u1CED\u1CF4\u1CF8-\u1CF9\'
  || 'u1D2C-\u1D6A\u1D78\u1D9B-\u1DFF\u1FBD\u1FBF-\u1FC1\u1FCD-\u1FCF\u1FDD-\u1FDF\u1FED-\u1FEF\u1'
  || 'FFD-\u1FFE\u200B-\u200F\u2018-\u2019\u2024\u2027\u202A-\u202E\u2060-\u2064\u2066-\u206F\u207'
  || '1\u207F\u2090-\u209C\u20D0-\u20F0\u2C7C-\u2C7D\u2CEF-\u2CF1\u2D6F\u2D7F\u2DE0-\u2DFF\u2E2F\u'
  || '3005\u302A-\u302D\u3031-\u3035\u303B\u3099-\u309E\u30FC-\u30FE\uA015\uA4F8-\uA4FD\uA60C\uA66'
  || 'F-\uA672\uA674-\uA67D\uA67F\uA69C-\uA69F\uA6F0-\uA6F1\uA700-\uA721\uA770\uA788-\uA78A\uA7F2-'
  || '\uA7F4\uA7F8-\uA7F9\uA802\uA806\uA80B\uA825-\uA826\uA82C\uA8C4-\uA8C5\uA8E0-\uA8F1\uA8FF\uA9'
  || '26-\uA92D\uA947-\uA951\uA980-\uA982\uA9B3\uA9B6-\uA9B9\uA9BC-\uA9BD\uA9CF\uA9E5-\uA9E6\uAA29'
  || '-\uAA2E\uAA31-\uAA32\uAA35-\uAA36\uAA43\uAA4C\uAA70\uAA7C\uAAB0\uAAB2-\uAAB4\uAAB7-\uAAB8\uA'
  || 'ABE-\uAABF\uAAC1\uAADD\uAAEC-\uAAED\uAAF3-\uAAF4\uAAF6\uAB5B-\uAB5F\uAB69-\uAB6B\uABE5\uABE8'
  || '\uABED\uFB1E\uFBB2-\uFBC2\uFE00-\uFE0F\uFE13\uFE20-\uFE2F\uFE52\uFE55\uFEFF\uFF07\uFF0E\uFF1'
  || 'A\uFF3E\uFF40\uFF70\uFF9E-\uFF9F\uFFE3\uFFF9-\uFFFB\U000101FD\U000102E0\U00010376-\U0001037A'
  || '\U00010780-\U00010785\U00010787-\U000107B0\U000107B2-\U000107BA\U00010A01-\U00010A03\U00010A'
  || '05-\U00010A06\U00010A0C-\U00010A0F\U00010A38-\U00010A3A\U00010A3F\U00010AE5-\U00010AE6\U0001'
  || '0D24-\U00010D27\U00010EAB-\U00010EAC\U00010F46-\U00010F50\U00010F82-\U00010F85\U00011001\U00'
  || '011038-\U00011046\U00011070\U00011073-\U00011074\U0001107F-\U00011081\U000110B3-\U000110B6\U'
  || '000110B9-\U000110BA\U000110BD\U000110C2\U000110CD\U00011100-\U00011102\U00011127-\U0001112B\'
  || 'U0001112D-\U00011134\U00011173\U00011180-\U00011181\U000111B6-\U000111BE\U000111C9-\U000111C'
  || 'C\U000111CF\U0001122F-\U00011231\U00011234\U00011236-\U00011237\U0001123E\U000112DF\U000112E'
  || '3-\U000112EA\U00011300-\U00011301\U0001133B-\U0001133C\U00011340\U00011366-\U0001136C\U00011'
  || '370-\U00011374\U00011438-\U0001143F\U00011442-\U00011444\U00011446\U0001145E\U000114B3-\U000'
  || '114B8\U000114BA\U000114BF-\U000114C0\U000114C2-\U000114C3\U000115B2-\U000115B5\U000115BC-\U0'
  || '00115BD\U000115BF-\U000115C0\U000115DC-\U000115DD\U00011633-\U0001163A\U0001163D\U0001163F-\'
  || 'U00011640\U000116AB\U000116AD\U000116B0-\U000116B5\U000116B7\U0001171D-\U0001171F\U00011722-'
  || '\U00011725\U00011727-\U0001172B\U0001182F-\U00011837\U00011839-\U0001183A\U0001193B-\U000119'
  || '3C\U0001193E\U00011943\U000119D4-\U000119D7\U000119DA-\U000119DB\U000119E0\U00011A01-\U00011'
  || 'A0A\U00011A33-\U00011A38\U00011A3B-\U00011A3E\U00011A47\U00011A51-\U00011A56\U00011A59-\U000'
  || '11A5B\U00011A8A-\U00011A96\U00011A98-\U00011A99\U00011C30-\U00011C36\U00011C38-\U00011C3D\U0'
  || '0011C3F\U00011C92-\U00011CA7\U00011CAA-\U00011CB0\U00011CB2-\U00011CB3\U00011CB5-\U00011CB6\'
  || 'U00011D31-\U00011D36\U00011D3A\U00011D3C-\U00011D3D\U00011D3F-\U00011D45\U00011D47\U00011D90'
  || '-\U00011D91\U00011D95\U00011D97\U00011EF3-\U00011EF4\U00013430-\U00013438\U00016AF0-\U00016A'
  || 'F4\U00016B30-\U00016B36\U00016B40-\U00016B43\U00016F4F\U00016F8F-\U00016F9F\U00016FE0-\U0001'
  || '6FE1\U00016FE3-\U00016FE4\U0001AFF0-\U0001AFF3\U0001AFF5-\U0001AFFB\U0001AFFD-\U0001AFFE\U00'
  || '01BC9D-\U0001BC9E\U0001BCA0-\U0001BCA3\U0001CF00-\U0001CF2D\U0001CF30-\U0001CF46\U0001D167-\'
  || 'U0001D169\U0001D173-\U0001D182\U0001D185-\U0001D18B\U0001D1AA-\U0001D1AD\U0001D242-\U0001D24'
  || '4\U0001DA00-\U0001DA36\U0001DA3B-\U0001DA6C\U0001DA75\U0001DA84\U0001DA9B-\U0001DA9F\U0001DA'
  || 'A1-\U0001DAAF\U0001E000-\U0001E006\U0001E008-\U0001E018\U0001E01B-\U0001E021\U0001E023-\U000'
  || '1E024\U0001E026-\U0001E02A\U0001E130-\U0001E13D\U0001E2AE\U0001E2EC-\U0001E2EF\U0001E8D0-\U0'
  || '001E8D6\U0001E944-\U0001E94B\U0001F3FB-\U0001F3FF\U000E0001\U000E0020-\U000E007F\U000E0100-\'
  || 'U000E01EF';
comment on function ragdb._case_ignorable() is
  'Returns the class of characters that the rule of the final sigma looks through.';

---- sql/30_text.sql

-- Text: how words become lexemes, and the tokens, the score and the hash of the reference ranking.
--
-- The same text must give the same lexemes in every database, but PostgreSQL's parser and lower() follow the
-- locale, and its case mapping follows the major version. So the parser sees ASCII only, where all agree; other
-- words are cut by our own classes (29_unicode.sql) and go to the dictionaries one by one. What a dictionary
-- makes of a word is Snowball's, which the major version of the server fixes.

-- The configurations of every version from 16 on. `asciis` is the dictionary of words in ASCII letters.
create or replace function ragdb._text_configs() returns table (config text, asciis text, words text)
language sql immutable parallel safe
begin atomic
  select c.config,
    case when c.config = 'simple' then 'simple' when c.config in ('hindi', 'russian') then 'english_stem'
      else c.config || '_stem' end,
    case when c.config = 'simple' then 'simple' else c.config || '_stem' end
  from unnest(array[
    'arabic', 'armenian', 'basque', 'catalan', 'danish', 'dutch', 'english', 'finnish', 'french', 'german',
    'greek', 'hindi', 'hungarian', 'indonesian', 'irish', 'italian', 'lithuanian', 'nepali', 'norwegian',
    'portuguese', 'romanian', 'russian', 'serbian', 'simple', 'spanish', 'swedish', 'tamil', 'turkish',
    'yiddish']) c (config);
end;
comment on function ragdb._text_configs() is
  'Lists the text configurations a corpus may have, each with its dictionaries of ASCII and of other words.';

-- Every step leaves a text as it was when done twice. Positions end at 16,383, hence the cut: 65,536 characters
-- are some 11,000 words of English, and no text of that length overflows a tsvector.
create or replace function ragdb._plain(text text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text := case when octet_length(text) > 65536 then left(text, 65536) else text end;
begin
  if octet_length(v_text) = length(v_text) then
    return v_text;
  end if;
  v_text := replace(replace(replace(replace(replace(replace(replace(replace(v_text,
    '’', ''''), '‘', ''''), 'ʼ', ''''), '“', '"'), '”', '"'), '–', '-'), '‑', '-'), '‐', '-');
  if octet_length(v_text) = length(v_text) then
    return v_text;
  end if;
  v_text := regexp_replace(v_text, '[' || ragdb._inert() || ']+', ' ', 'g');
  if octet_length(v_text) = length(v_text) then
    return v_text;
  end if;
  if v_text !~ ('[' || ragdb._unstable() || ']') then
    return v_text;
  end if;
  v_text := regexp_replace(v_text, '[' || ragdb._unassigned() || ']+', ' ', 'g');
  v_text := regexp_replace(v_text, '[' || ragdb._invisible() || ']+', '', 'g');
  -- normalisation makes fraction slashes and stretches of its own
  v_text := replace(left(normalize(v_text, nfkc), 65536), 'ـ', '');
  return regexp_replace(v_text, '[' || ragdb._inert() || ']+', ' ', 'g');
end $$;
comment on function ragdb._plain(text) is
  'Returns the first 65,536 characters of a text in NFKC, with ASCII quotes and hyphens, all other separators past ASCII as spaces, and without characters that a reader does not see.';

create or replace function ragdb._fold(word text) returns text
language sql immutable parallel safe
return normalize(
  pg_catalog.translate(
    pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(
      pg_catalog.lower(word collate "C"), 'ß', 'ss'), 'ẞ', 'ss'), 'և', 'եւ'), U&'i\0307', 'i'),
    case when word ~ '[\u0530-\U0010FFFF]' then ragdb._folded() else ragdb._folded_near() end,
    case when word ~ '[\u0530-\U0010FFFF]' then ragdb._folds() else ragdb._folds_near() end),
  nfkc);
comment on function ragdb._fold(text) is
  'Folds the case of a normalised word by Unicode 15.0, in one way for all languages, and its digits to ASCII.';

create or replace function ragdb._ascii_vector(words text, config text) returns tsvector
language sql immutable parallel safe
return to_tsvector(config::regconfig,
  -- what would make the parser see a path, a host, a tag, an entity or a signed number
  replace(replace(replace(replace(replace(replace(replace(replace(
    -- a tsvector holds words of up to 2,046 bytes
    case when octet_length(words) > 2040 and words ~ '[a-z0-9]{255}'
      then regexp_replace(words, '((?:[a-z0-9]{255}){8})[a-z0-9]+', '\1', 'g') else words end,
    '-', ' '), '_', ' '), '.', ' '), '/', ' '), '<', ' '), '+', ' '), '&', ' '), '~', ' '));
comment on function ragdb._ascii_vector(text, text) is
  'Returns the lexemes of lower-case ASCII text, cut at everything that is not a letter or a digit.';

-- Words of ASCII letters and digits go to PostgreSQL's parser, the rest word by word to the dictionary. Runs of a
-- script without spaces become the overlapping pairs of their letters (with the marks of each).
create or replace function ragdb._vector(words text, config text) returns tsvector
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words text := lower(words collate "C");
  v_asciis regdictionary;
  v_others regdictionary;
  v_lexemes tsvector := '';
  v_list text[];
  v_positions smallint[];
begin
  if octet_length(v_words) = length(v_words) then
    return ragdb._ascii_vector(v_words, config);
  end if;
  if v_words ~ ('[' || ragdb._spaceless() || ']') then
    v_words := regexp_replace(v_words, '([' || ragdb._spaceless() || ']+)', ' \1 ', 'g');
    -- a letter before another of its run ends in U+0001
    v_words := regexp_replace(v_words,
      '([' || ragdb._spaceless_letters() || '](?:[' || ragdb._spaceless_marks() || ']|['
        || ragdb._stackers() || '][' || ragdb._spaceless_letters() || '])*)(?=[' || ragdb._spaceless_letters() || '])',
      E'\\1\x01 ', 'g');
    v_list := array(
      select p.pair
      from (
        select w.ordinal,
          case when w.word like E'%\x01' then translate(w.word || lead(w.word) over by_ordinal, E'\x01', '')
            when lag(w.word) over by_ordinal like E'%\x01' then null
            else w.word end as pair
        from (select m.word[1] as word, m.ordinal
          from regexp_matches(v_words, E'[a-z0-9\x01' || ragdb._wordly() || ']+', 'g')
            with ordinality m (word, ordinal)) w
        window by_ordinal as (order by w.ordinal)) p
      where p.pair is not null order by p.ordinal);
  else
    v_list := array(select (regexp_matches(v_words,
      '[a-z0-9]*[' || ragdb._wordly() || '][a-z0-9' || ragdb._wordly() || ']*', 'g'))[1]);
    if cardinality(v_list) < 255 and cardinality(v_list) * 16 < length(v_words) and strpos(v_words, '0q0') = 0 then
      -- a few among many: the parser finds their places by the word 0q0, which no dictionary changes
      v_lexemes := ragdb._ascii_vector(regexp_replace(v_words,
        '[a-z0-9]*[' || ragdb._wordly() || '][a-z0-9' || ragdb._wordly() || ']*', ' 0q0 ', 'g'), config);
      select u.positions into v_positions from unnest(v_lexemes) u where u.lexeme = '0q0';
      v_lexemes := ts_delete(v_lexemes, '0q0');
    else
      -- the parser cuts 1e5abc into 1e5 and abc
      if v_words ~ '[0-9]e[0-9]+[a-z]' then
        v_words := regexp_replace(v_words, '((?:^|[^a-z0-9' || ragdb._wordly() || '])[0-9]+e[0-9]+)([a-z])', '\1 \2', 'g');
      end if;
      v_list := array(select (regexp_matches(v_words, '[a-z0-9' || ragdb._wordly() || ']+', 'g'))[1]);
    end if;
  end if;
  select c.asciis, c.words into v_asciis, v_others from ragdb._text_configs() c where c.config = _vector.config;
  return (
    select concat(v_lexemes, ' ', string_agg('''' || l.lexeme || ''':' || f.positions, ' '))
    from (
      select case when octet_length(w.word) > 2040 then left(w.word, 510)
          when octet_length(w.word) = length(w.word) then w.word
          when w.word ~ ('[' || ragdb._foldable() || ']') then ragdb._fold(w.word) else w.word end as word,
        w.positions
      from (
        select u.word, array_to_string(
          (array_agg(coalesce(v_positions[u.ordinal], least(u.ordinal, 16383)) order by u.ordinal))[:255], ',') as positions
        from unnest(v_list) with ordinality u (word, ordinal)
        group by u.word) w
      offset 0) f
      cross join unnest(ts_lexize(case when f.word ~ '[0-9]' then 'simple'::regdictionary
        when octet_length(f.word) = length(f.word) then v_asciis else v_others end, f.word)) l (lexeme))::tsvector;
end $$;
comment on function ragdb._vector(text, text) is
  'Returns the lexemes of plain text, each with its positions, after a text configuration.';

create or replace function ragdb._words(text text, config text) returns tsvector
language sql immutable parallel safe
return ragdb._vector(ragdb._plain(text), config);
comment on function ragdb._words(text, text) is
  'Returns the lexemes of the words of a text with their positions and nothing else: what a phrase is made of.';

-- Behind the words come the names: user_id, userId and e-mail are found as userid and email too, and 2.0.1, C++
-- and .net as they are. Most texts of a manual have some: one pass finds them, all else looks at them alone.
create or replace function ragdb._lexemes(text text, config text) returns tsvector
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text := case when octet_length(text) = length(text) and octet_length(text) <= 65536 then text
    else ragdb._plain(text) end;
  v_is_ascii boolean := octet_length(v_text) = length(v_text);
  v_names text;
  v_exact text;
  v_lexemes tsvector;
begin
  if v_is_ascii then
    v_names := array_to_string(array(select (regexp_matches(v_text,
      '[A-Za-z0-9]*(?:[a-z][A-Z]|[A-Z][A-Z][a-z][a-z]|[A-Za-z0-9][-_./:@\\]+[A-Za-z0-9])(?:[-_./:@\\]*[A-Za-z0-9])*',
      'g'))[1]), ' ');
  else
    v_names := array_to_string(array(select (regexp_matches(v_text, replace(
      '[A-Za-z0-9&]*(?:[a-z][A-Z]|[A-Z][A-Z][a-z][a-z]|[A-Za-z0-9&][-_./:@\\]+[A-Za-z0-9&])(?:[-_./:@\\]*[A-Za-z0-9&])*',
      '&', ragdb._spaced()), 'g'))[1]), ' ');
  end if;
  if v_text ~ '[A-Za-z](?:\+\+|#)|(?:^|[\s"`(])\.[A-Za-z]' then
    select string_agg('''' || lower(left(coalesce(m.name[1], m.name[2]), 2040) collate "C") || ''':' || m.ordinal, ' ')
    into v_exact
    from regexp_matches(v_text, '(?:^|[\s"`(])(\.[A-Za-z]+)|([A-Za-z](?:\+\+|#))(?![A-Za-z0-9])', 'g')
      with ordinality m (name, ordinal);
  end if;
  if v_names <> '' then
    if v_names ~ '[a-z][A-Z]|[A-Z][A-Z][a-z][a-z]' then
      v_text := regexp_replace(v_text, '([a-z](?=[A-Z])|[A-Z](?=[A-Z][a-z][a-z]))', '\1 ', 'g');
    end if;
    if v_names ~ '[0-9]\.[0-9]' then
      select concat(v_exact, ' ', string_agg('''' || left(m.name[1], 2040) || ''':' || m.ordinal, ' ')) into v_exact
      from regexp_matches(v_names, '[0-9]+(?:\.[0-9]+)+', 'g') with ordinality m (name, ordinal);
      v_names := regexp_replace(v_names, '(?:^| )[Vv]?[0-9]+(?:\.[0-9]+)+(?= |$)', ' ', 'g');
    end if;
    v_text := v_text || ' ' || replace(replace(replace(replace(replace(replace(replace(v_names,
      '-', ''), '_', ''), '.', ''), '/', ''), ':', ''), '@', ''), '\', '');
  end if;
  if v_is_ascii then
    v_lexemes := ragdb._ascii_vector(lower(v_text collate "C"), config);
  else
    v_lexemes := ragdb._vector(v_text, config);
  end if;
  if v_exact is not null then
    v_lexemes := v_lexemes || v_exact::tsvector;
  end if;
  if length(v_lexemes) > 16000 then
    -- the most that a chunk may have: the first ones stay
    v_lexemes := ts_delete(v_lexemes, array(
      select u.lexeme from unnest(v_lexemes) u order by u.positions[1], u.lexeme collate "C" offset 16000));
  end if;
  return v_lexemes;
end $$;
comment on function ragdb._lexemes(text, text) is
  'Returns the lexemes of a text, chunk or query alike: those of its words with their positions and behind them those of the names in it.';

-- The reference ranking: sets of words, as KERN's runtime cuts them.

-- lower() of one context and one expansion: a sigma that ends a word is final, and a dotted capital I keeps its dot.
create or replace function ragdb._reference_lower(text text) returns text
language sql immutable parallel safe
return pg_catalog.replace(
  case when pg_catalog.strpos(text, 'Σ') = 0 then text else pg_catalog.regexp_replace(text,
    '([' || ragdb._cased() || '][' || ragdb._case_ignorable() || ']*)Σ'
      || '(?![' || ragdb._case_ignorable() || ']*[' || ragdb._cased() || '])', '\1ς', 'g') end,
  'İ', U&'i\0307');
comment on function ragdb._reference_lower(text) is
  'Writes the two letters in lower case whose lower case depends on their place or is two characters.';

create or replace function ragdb._reference_tokens(text text) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text := text;
begin
  if octet_length(v_text) <> length(v_text) then
    v_text := ragdb._reference_lower(
      normalize(regexp_replace(v_text, '[' || ragdb._unassigned() || ']+', ' ', 'g'), nfkc));
  end if;
  return array(
    select t.token
    from (
      select case when octet_length(w.word[1]) > length(w.word[1]) and w.word[1] ~ ('[' || ragdb._capitals() || ']')
          then translate(w.word[1], ragdb._capitals(), ragdb._smalls()) else w.word[1] end as token,
        w.ordinal
      from regexp_matches(lower(v_text collate "C"), '[a-z0-9' || ragdb._wordly() || ']+', 'g')
        with ordinality w (word, ordinal)) t
    group by t.token
    order by min(t.ordinal));
end $$;
comment on function ragdb._reference_tokens(text) is
  'Returns the distinct runs of letters, marks and numbers (Unicode 15.0) of a text in NFKC and lower case, in the order of their first places.';

create or replace function ragdb._jaccard(a text[], b text[]) returns float8
language sql immutable parallel safe
return (
  select coalesce(n.both / nullif(cardinality(_jaccard.a) + cardinality(_jaccard.b) - n.both, 0)::float8, 0)
  from (select count(*) as both from unnest(_jaccard.a) x (token) where x.token = any (_jaccard.b)) n);
comment on function ragdb._jaccard(text[], text[]) is
  'Returns the Jaccard coefficient of two sets of tokens, in [0, 1]; 0 for two empty sets.';

-- Two lanes of FNV-1a over the bytes, modulo 2^64. A lane is kept in two halves of 32 bits: the prime is
-- 2^40 + 435, and no product of halves overflows.
create or replace function ragdb.kern_chunk_hash(text text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bytes bytea := convert_to(text, 'UTF8');
  v_byte bigint;
  v_left_high bigint := x'cbf29ce4'::bigint;
  v_left_low bigint := x'84222325'::bigint;
  v_right_high bigint := x'84222325'::bigint;
  v_right_low bigint := x'cbf29ce4'::bigint;
begin
  if text is null then
    raise exception 'text is null'
      using errcode = 'RG400', detail = 'kern_chunk_hash needs the text of a chunk',
            hint = 'the text may be empty';
  end if;
  for v_at in 0 .. length(v_bytes) - 1 loop
    v_byte := get_byte(v_bytes, v_at);
    v_left_low := v_left_low # v_byte;
    v_left_high := (v_left_high * 435 + (v_left_low * 435 >> 32) + (v_left_low << 8)) & 4294967295;
    v_left_low := v_left_low * 435 & 4294967295;
    v_right_low := v_right_low # (v_byte + 158);
    v_right_high := (v_right_high * 435 + (v_right_low * 435 >> 32) + (v_right_low << 8)) & 4294967295;
    v_right_low := v_right_low * 435 & 4294967295;
  end loop;
  return lpad(to_hex(v_left_high), 8, '0') || lpad(to_hex(v_left_low), 8, '0')
    || lpad(to_hex(v_right_high), 8, '0') || lpad(to_hex(v_right_low), 8, '0');
end $$;
comment on function ragdb.kern_chunk_hash(text) is
  'Returns KERN''s hash of a chunk''s text: 32 hexadecimal digits, two FNV-1a lanes over its UTF-8 bytes. Raises RG400.';

---- sql/35_lexical.sql

-- The lexical index: what a chunk's words weigh, and which chunks hold them.
--
-- One row a chunk: `impacts` maps term id to tf·(k1 + 1) / (tf + k1·(1 − b + b·length / pivot)), so that BM25
-- is its inner product with the query's idf; `lexemes` carries the GIN index that finds the candidates. A lexeme
-- there is written hex(corpus id).hex(term id): the posting lists of a corpus are its own, whatever lies beside it.

comment on table ragdb.lexemes is
  'Dictionary of a corpus: every lexeme with its number, the chunks that have it (df, exact) and the largest impact it may have (never too small).';
comment on column ragdb.lexemes.corpus_id is 'The corpus.';
comment on column ragdb.lexemes.lexeme is 'The lexeme as ragdb._lexemes writes it.';
comment on column ragdb.lexemes.term_id is 'Number of the lexeme in its corpus; the index of ragdb.chunk_lexemes.impacts.';
comment on column ragdb.lexemes.df is 'Chunks of the corpus that have the lexeme; 0 until the next ragdb.optimize_corpus once the last one is gone.';
comment on column ragdb.lexemes.max_impact is 'Upper bound of the lexeme''s impacts, 0 to k1 + 1.';
comment on table ragdb.chunk_lexemes is
  'The lexical index, one row a chunk, derived from ragdb.chunks and ragdb.documents.';
comment on column ragdb.chunk_lexemes.corpus_id is 'The corpus.';
comment on column ragdb.chunk_lexemes.chunk_no is 'The chunk.';
comment on column ragdb.chunk_lexemes.lexeme_count is 'Length of the chunk: its lexemes, each occurrence counted.';
comment on column ragdb.chunk_lexemes.impacts is 'Impact of every lexeme of the chunk, by term id.';
comment on column ragdb.chunk_lexemes.lexemes is 'Term ids of the chunk with their positions, as hex(corpus id).hex(term id).';

comment on table ragdb.block_states is
  'Which chunks of a corpus ragdb.term_blocks speaks of, as of the last ragdb.optimize_corpus; no row where it has none.';
comment on column ragdb.block_states.corpus_id is 'The corpus.';
comment on column ragdb.block_states.last_chunk_no is 'The blocks know the chunks up to this number.';
comment on column ragdb.block_states.stale_chunks is 'Those of them that were indexed anew since, 1,000 at most.';
comment on table ragdb.term_blocks is
  'What each frequent lexeme of a corpus scores at most in groups of four chunks, 8,000 groups at a time; derived from ragdb.chunk_lexemes.';
comment on column ragdb.term_blocks.corpus_id is 'The corpus.';
comment on column ragdb.term_blocks.term_id is 'The lexeme''s number in its corpus.';
comment on column ragdb.term_blocks.block_no is 'Block of groups: the group''s number, from 0, modulo the number of blocks.';
comment on column ragdb.term_blocks.weight is 'The lexeme''s idf when the blocks were made.';
comment on column ragdb.term_blocks.scores is 'Weight times the largest impact of the lexeme in a group, by the group''s place in the block, from 1.';

-- pgvector's type and operator are named here and nowhere else: its schema differs by host, and these bodies are
-- bound when they are created. Both disappear into the statements that call them.
create or replace function ragdb._sparse(entries text) returns sparsevec
language sql immutable parallel safe
return ('{' || coalesce(_sparse.entries, '') || '}/1000000000')::sparsevec;
comment on function ragdb._sparse(text) is
  'Makes a sparse vector of the entries "index:value,…", in any order.';

create or replace function ragdb._inner_product(a sparsevec, b sparsevec) returns float8
language sql immutable parallel safe
return -(_inner_product.a <#> _inner_product.b);
comment on function ragdb._inner_product(sparsevec, sparsevec) is
  'Returns the inner product of two sparse vectors, computed in float4.';

create or replace function ragdb._sparse_block(entries text) returns sparsevec
language sql immutable parallel safe
return ('{' || _sparse_block.entries || '}/8000')::sparsevec;
comment on function ragdb._sparse_block(text) is
  'Makes the sparse vector of a block of the entries "place:value,…", in any order.';

-- doubled four times: a long array made at once takes ten times as long to become a vector
create or replace function ragdb._even(value float8) returns vector
language sql immutable parallel safe
return (
  select d.v || d.v
  from (select c.v || c.v as v
    from (select b.v || b.v as v
      from (select a.v || a.v as v
        from (select pg_catalog.array_fill(_even.value::real, array[500])::vector as v offset 0) a offset 0) b
      offset 0) c
    offset 0) d);
comment on function ragdb._even(float8) is 'Returns a vector of a block''s size with one value throughout.';

-- What a query scores at most in every group of four chunks is a sum of vectors, which pgvector adds several numbers an
-- instruction: a few groups remain whose chunks have to be looked at (block-max pruning: Mallia, Suel and Tonellotto,
-- "Faster Learned Sparse Retrieval with Block-Max Pruning", SIGIR 2024). Vectors are no longer weighed here: a level
-- holds the terms that count once more, as the text of an array. Sums go block by block; all at once they would touch
-- new memory for each.
create or replace function ragdb._levels(term_ids integer[], times integer[]) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if 2 > all (times) then
    return array[term_ids::text];
  end if;
  return array(
    select array_agg(t.term_id)::text
    from unnest(_levels.term_ids, _levels.times) t (term_id, times) cross join lateral generate_series(1, t.times) l (level)
    group by l.level);
end $$;
comment on function ragdb._levels(integer[], integer[]) is
  'Returns the terms that count at least once, twice and so on, each the text of an array.';

create or replace function ragdb._block_score(corpus_id integer, block_no integer, levels text[]) returns vector
language sql stable parallel safe
return (
  select sum(b.scores::vector)
  from pg_catalog.unnest(_block_score.levels) l (term_ids)
    cross join lateral (select k.scores from ragdb.term_blocks k
      where k.corpus_id = _block_score.corpus_id and k.term_id = any (l.term_ids::integer[])
        and k.block_no = _block_score.block_no
      offset 0) b);
comment on function ragdb._block_score(integer, integer, text[]) is
  'Returns the sums, in float4, of the scores of the groups of one block in some terms; null where it has none of them.';

create or replace function ragdb._count_above(score vector, need float8) returns bigint
language sql immutable parallel safe
return pg_catalog.bit_count(binary_quantize(_count_above.score - ragdb._even(_count_above.need)));
comment on function ragdb._count_above(vector, float8) is 'Counts the groups of a block with a score over need.';

create or replace function ragdb._blocks_above(
  corpus_id integer, blocks integer, levels text[], need float8,
  out block_nos integer[], out bits bit varying[], out count bigint)
language sql stable parallel safe
begin atomic
  select pg_catalog.array_agg(q.block_no), pg_catalog.array_agg(q.bits), coalesce(sum(q.count), 0)::bigint
  from (
    select a.block_no, a.bits, pg_catalog.bit_count(a.bits) as count
    from (
      select n.block_no, binary_quantize(s.score - (select ragdb._even(_blocks_above.need)))::bit varying as bits
      from pg_catalog.generate_series(0, _blocks_above.blocks - 1) n (block_no)
        cross join lateral (
          select sum(b.scores::vector) as score
          from pg_catalog.unnest(_blocks_above.levels) l (term_ids)
            cross join lateral (select k.scores from ragdb.term_blocks k
              where k.corpus_id = _blocks_above.corpus_id and k.term_id = any (l.term_ids::integer[])
                and k.block_no = n.block_no
              offset 0) b
          offset 0) s
      offset 0) a
    offset 0) q
  where q.count > 0;
end;
comment on function ragdb._blocks_above(integer, integer, text[], float8) is
  'Returns the blocks that have sums over need, a bit for each of their groups, and the number of these sums.';

-- position() looks at every bit; most pieces have none that is set
create or replace function ragdb._set_bits(bits bit varying) returns integer[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_found integer[] := '{}';
  v_piece bit varying;
  v_start integer := 1;
  v_place integer;
begin
  while v_start <= length(bits) loop
    v_piece := substring(bits from v_start for 500);
    for v_i in 1..bit_count(v_piece) loop
      v_place := position(B'1' in v_piece);
      v_found := v_found || v_start + v_place - 1;
      v_piece := set_bit(v_piece, v_place - 1, 0);
    end loop;
    v_start := v_start + 500;
  end loop;
  return v_found;
end $$;
comment on function ragdb._set_bits(bit varying) is 'Returns the places of the ones among some bits, from 1.';

create or replace function ragdb._token(corpus_id integer, term_id integer) returns text
language sql immutable parallel safe
return pg_catalog.to_hex(_token.corpus_id) || '.' || pg_catalog.to_hex(_token.term_id);
comment on function ragdb._token(integer, integer) is
  'Returns the word that stands for a term of a corpus in ragdb.chunk_lexemes.lexemes.';

create or replace function ragdb._term_id(token text) returns integer
language sql immutable parallel safe
return ('x' || pg_catalog.lpad(pg_catalog.split_part(_term_id.token, '.', 2), 8, '0'))::bit(32)::integer;
comment on function ragdb._term_id(text) is 'Returns the term id in a word made by ragdb._token.';

create or replace function ragdb._searched_text(title text, heading text[], text text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return concat_ws(E'\n', nullif(title, ''), nullif(array_to_string(heading, E'\n'), ''), text);
end $$;
comment on function ragdb._searched_text(text, text[], text) is
  'Returns what a chunk is searched by: its document''s title, its heading path and its text, joined by newlines.';

-- One statement, so that a text is analysed once and nothing is kept in between. What the planner believes of
-- tables that grow within a transaction is worthless, so it has no choice: lookups go by key (lateral, offset 0),
-- and what is joined in memory is hashed.
create or replace function ragdb._index_chunks(corpus_id integer, chunk_nos integer[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
set jit = off
as $$
declare
  v_corpus ragdb.corpora;
begin
  select c.* into strict v_corpus from ragdb.corpora c where c.corpus_id = _index_chunks.corpus_id;
  with analysed as materialized (
    select n.chunk_no, ragdb._lexemes(ragdb._searched_text(d.title, c.heading, c.text), v_corpus.text_config) as words
    from unnest(_index_chunks.chunk_nos) n (chunk_no)
      cross join lateral (select h.doc_no, h.heading, h.text from ragdb.chunks h
        where h.corpus_id = v_corpus.corpus_id and h.chunk_no = n.chunk_no offset 0) c
      cross join lateral (select o.title from ragdb.documents o
        where o.corpus_id = v_corpus.corpus_id and o.doc_no = c.doc_no offset 0) d
  ), measured as materialized (
    select a.chunk_no, a.words,
      (select coalesce(sum(cardinality(w.positions)), 0)::integer from unnest(a.words) w) as length
    from analysed a
  ), postings as materialized (
    select m.chunk_no, w.lexeme collate "C" as lexeme,
      case cardinality(w.positions) when 1 then w.positions[1]::text else array_to_string(w.positions, ',') end as positions,
      ((v_corpus.k1 + 1) * cardinality(w.positions) / (cardinality(w.positions)
        + v_corpus.k1 * (1 - v_corpus.b + v_corpus.b * m.length / v_corpus.pivot)))::real as impact
    from measured m cross join lateral unnest(m.words) w
  ), terms as materialized (
    select t.lexeme, t.df, t.max_impact, l.term_id,
      row_number() over (partition by l.term_id is null order by t.lexeme)::integer as ordinal
    from (select p.lexeme, count(*)::integer as df, max(p.impact) as max_impact from postings p group by p.lexeme) t
      left join lateral (select k.term_id from ragdb.lexemes k
        where k.corpus_id = v_corpus.corpus_id and k.lexeme = t.lexeme offset 0) l on true
  ), numbered as materialized (
    select t.lexeme, t.df, t.max_impact, t.term_id is null as is_new,
      coalesce(t.term_id, v_corpus.next_term_id + t.ordinal - 1) as term_id
    from terms t
  ), counted as (
    insert into ragdb.lexemes as l (corpus_id, lexeme, term_id, df, max_impact)
    select v_corpus.corpus_id, n.lexeme, n.term_id, n.df, n.max_impact from numbered n order by n.lexeme
    on conflict on constraint lexemes_are_unique_per_corpus do update
      set df = l.df + excluded.df, max_impact = greatest(l.max_impact, excluded.max_impact)
  ), indexed as (
    insert into ragdb.chunk_lexemes (corpus_id, chunk_no, lexeme_count, impacts, lexemes)
    select v_corpus.corpus_id, m.chunk_no, m.length, ragdb._sparse(g.impacts), coalesce(g.lexemes, '')::tsvector
    from measured m
      left join (
        select p.chunk_no, string_agg(n.term_id || ':' || p.impact, ',') as impacts,
          string_agg(ragdb._token(v_corpus.corpus_id, n.term_id) || ':' || p.positions, ' ') as lexemes
        from postings p join numbered n on n.lexeme = p.lexeme
        group by p.chunk_no
      ) g on g.chunk_no = m.chunk_no
    order by m.chunk_no
  )
  update ragdb.corpora c
    set chunks = c.chunks + (select count(*) from measured),
      lexeme_count = c.lexeme_count + (select coalesce(sum(m.length), 0) from measured m),
      next_term_id = c.next_term_id + (select count(*) from numbered n where n.is_new)
    where c.corpus_id = v_corpus.corpus_id;
  -- many entries at once cost a fifth of one by one; the list is empty again before anybody searches
  perform gin_clean_pending_list('ragdb.chunk_lexemes_by_lexeme');
  -- what was indexed anew, the blocks know wrongly; where term ids begin anew, they know nothing
  update ragdb.block_states t
    set stale_chunks = t.stale_chunks || array(
      select n.chunk_no from unnest(_index_chunks.chunk_nos) n (chunk_no)
      where n.chunk_no <= t.last_chunk_no and n.chunk_no <> all (t.stale_chunks))
    where t.corpus_id = v_corpus.corpus_id;
  delete from ragdb.block_states t
    where t.corpus_id = v_corpus.corpus_id and (v_corpus.next_term_id = 1 or cardinality(t.stale_chunks) > 1000);
end $$;
comment on function ragdb._index_chunks(integer, integer[]) is
  'Adds chunks to the lexical index and the counters of their corpus; the caller holds the corpus lock.';

create or replace function ragdb._unindex_chunks(corpus_id integer, chunk_nos integer[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
declare
  v_terms integer[];
  v_dfs integer[];
begin
  with gone as materialized (
    delete from ragdb.chunk_lexemes x
    where x.corpus_id = _unindex_chunks.corpus_id and x.chunk_no = any (_unindex_chunks.chunk_nos)
    returning x.lexeme_count, x.lexemes
  ), lost as (
    select ragdb._term_id(w.lexeme) as term_id, count(*)::integer as df
    from gone g cross join lateral unnest(g.lexemes) w
    group by 1
  ), counted as (
    update ragdb.corpora c
      set chunks = c.chunks - (select count(*) from gone),
        lexeme_count = c.lexeme_count - (select coalesce(sum(g.lexeme_count), 0) from gone g)
      where c.corpus_id = _unindex_chunks.corpus_id
  )
  select array_agg(l.term_id), array_agg(l.df) into v_terms, v_dfs from lost l;
  update ragdb.lexemes l set df = l.df - t.df
    from unnest(v_terms, v_dfs) t (term_id, df)
    where l.corpus_id = _unindex_chunks.corpus_id and l.term_id = t.term_id;
end $$;
comment on function ragdb._unindex_chunks(integer, integer[]) is
  'Takes chunks out of the lexical index and the counters of their corpus; the caller holds the corpus lock.';

create or replace function ragdb._blocks(last_chunk_no integer) returns integer
language sql immutable parallel safe
return (_blocks.last_chunk_no + 31999) / 32000;
comment on function ragdb._blocks(integer) is 'Returns the number of blocks that chunks up to a number need.';

-- A lexeme of 64 chunks is worth a block; of fewer chunks than these 2,000 in all, no lexeme is. Group by group, so that
-- what is kept in memory is the largest impacts alone. Groups are dealt out, so that any block is a fair sample.
create or replace function ragdb._build_blocks(corpus ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_mergejoin = off
set enable_seqscan = off
set work_mem = '64MB'
set jit = off
as $$
declare
  v_blocks constant integer := ragdb._blocks(corpus.next_chunk_no - 1);
begin
  delete from ragdb.block_states t where t.corpus_id = corpus.corpus_id;
  if corpus.chunks < 2000 then
    return;
  end if;
  insert into ragdb.block_states (corpus_id, last_chunk_no) values (corpus.corpus_id, corpus.next_chunk_no - 1);
  with weights as materialized (
    select l.term_id, ln(1 + (corpus.chunks - l.df + 0.5::float8) / (l.df + 0.5::float8)) as weight
    from ragdb.lexemes l where l.corpus_id = corpus.corpus_id and l.df >= 64
  )
  insert into ragdb.term_blocks (corpus_id, term_id, block_no, weight, scores)
  select corpus.corpus_id, g.term_id, g.block_no, w.weight, ragdb._sparse_block(g.scores)
  from (
    select p.term_id, n.group_no % v_blocks as block_no,
      string_agg(n.group_no / v_blocks + 1 || ':' || (w.weight * p.impact)::real, ',') as scores
    from generate_series(0, (corpus.next_chunk_no - 2) / 4) n (group_no)
      cross join lateral (
        select ragdb._term_id(u.lexeme) as term_id, max((corpus.k1 + 1) * cardinality(u.positions) / (cardinality(u.positions)
            + corpus.k1 * (1 - corpus.b + corpus.b * x.lexeme_count / corpus.pivot))) as impact
        from ragdb.chunk_lexemes x cross join lateral unnest(x.lexemes) u
        where x.corpus_id = corpus.corpus_id and x.chunk_no between 4 * n.group_no + 1 and 4 * n.group_no + 4
        group by u.lexeme
        offset 0) p
      join weights w on w.term_id = p.term_id
    group by p.term_id, n.group_no % v_blocks) g
    join weights w on w.term_id = g.term_id
  order by g.term_id, g.block_no;
end $$;
comment on function ragdb._build_blocks(ragdb.corpora) is
  'Makes the blocks of a corpus anew; the caller holds the corpus lock.';

-- The pivot is pinned between two calls, so that putting a document never moves the score of another one. Both
-- passes go chunk by chunk: what is kept in memory is one row of the dictionary per lexeme.
create or replace function ragdb.optimize_corpus(corpus text)
returns table (chunks integer, pivot_before float8, pivot float8, lexemes_dropped integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
set jit = off
as $$
declare
  v_corpus ragdb.corpora := ragdb._lock_corpus(optimize_corpus.corpus, 'write');
  v_before float8 := v_corpus.pivot;
  v_pivot float8 := v_corpus.pivot;
  v_dropped integer;
begin
  if v_corpus.lexeme_count > 0 then
    v_pivot := v_corpus.lexeme_count::float8 / v_corpus.chunks;
  end if;
  update ragdb.lexemes l set max_impact = m.max_impact
    from (
      select ragdb._term_id(p.token) as term_id, p.max_impact
      from (
        select w.lexeme as token, max((v_corpus.k1 + 1) * cardinality(w.positions) / (cardinality(w.positions)
          + v_corpus.k1 * (1 - v_corpus.b + v_corpus.b * x.lexeme_count / v_pivot)))::real as max_impact
        from ragdb.chunk_lexemes x cross join lateral unnest(x.lexemes) w
        where x.corpus_id = v_corpus.corpus_id
        group by w.lexeme) p) m
    where l.corpus_id = v_corpus.corpus_id and l.term_id = m.term_id and l.max_impact <> m.max_impact;
  if v_pivot <> v_corpus.pivot then
    update ragdb.corpora c set pivot = v_pivot where c.corpus_id = v_corpus.corpus_id;
    update ragdb.chunk_lexemes x set impacts = ragdb._sparse((
        select string_agg(ragdb._term_id(w.lexeme) || ':' || ((v_corpus.k1 + 1) * cardinality(w.positions)
          / (cardinality(w.positions) + v_corpus.k1
            * (1 - v_corpus.b + v_corpus.b * x.lexeme_count / v_pivot)))::real, ',')
        from unnest(x.lexemes) w))
      where x.corpus_id = v_corpus.corpus_id;
  end if;
  delete from ragdb.lexemes l where l.corpus_id = v_corpus.corpus_id and l.df = 0;
  get diagnostics v_dropped = row_count;
  perform gin_clean_pending_list('ragdb.chunk_lexemes_by_lexeme');
  select c.* into strict v_corpus from ragdb.corpora c where c.corpus_id = v_corpus.corpus_id;
  perform ragdb._build_blocks(v_corpus);
  return query select v_corpus.chunks, v_before, v_pivot, v_dropped;
end $$;
comment on function ragdb.optimize_corpus(text) is
  'Sets a corpus''s pivot to the mean length of its chunks, recomputes impacts, bounds and blocks and drops lexemes that no chunk has. Raises RG400, RG401, RG404.';

---- sql/37_vectors.sql

-- Vectors: embedders, the spaces of a corpus, and the nearest chunks of a space.
--
-- A space is one corpus under one embedder: a partition of chunk_embeddings with its own HNSW index over
-- halfvec, which finds candidates; the score that counts is computed from the vectors in full precision.
-- Callers speak real[]: pgvector's types stay inside, and every check is ours.

comment on table ragdb.embedders is
  'What an embedding model promises whoever runs it, and which provider runs it here.';
comment on column ragdb.embedders.embedder_id is 'Number of the embedder.';
comment on column ragdb.embedders.name is 'Name that contracts and corpora use.';
comment on column ragdb.embedders.model is 'The model, as its makers name it.';
comment on column ragdb.embedders.revision is 'Revision of the model; null when it has none.';
comment on column ragdb.embedders.dims is 'Width of its vectors, 1 to 4000.';
comment on column ragdb.embedders.metric is 'How its vectors are compared: cosine, ip or l2; the last two want unit vectors.';
comment on column ragdb.embedders.max_tokens is 'Tokens of an input that it reads; the rest is cut.';
comment on column ragdb.embedders.query_prefix is 'Put before a query that is embedded.';
comment on column ragdb.embedders.passage_prefix is 'Put before a chunk that is embedded.';
comment on column ragdb.embedders.weights_sha256 is 'SHA-256 (hex) of its weights, checked when they are loaded; null to trust the provider.';
comment on column ragdb.embedders.provider is 'Who runs it: sentence-transformers, openai (any compatible endpoint) or hash; null until bound.';
comment on column ragdb.embedders.provider_model is 'What the provider calls the model: packaged, a path, a name on the hub or at the endpoint, or hash-v1.';
comment on column ragdb.embedders.created_at is 'When it was created.';
comment on table ragdb.embedding_spaces is
  'The spaces of a corpus: one an embedder, of which at most one is current, and searched.';
comment on column ragdb.embedding_spaces.corpus_id is 'The corpus.';
comment on column ragdb.embedding_spaces.space_id is 'Number of the space, and of its partition of ragdb.chunk_embeddings.';
comment on column ragdb.embedding_spaces.embedder_id is 'The embedder.';
comment on column ragdb.embedding_spaces.state is 'building (filled beside the current one), current (searched) or retired (kept for a rollback, no longer filled).';
comment on column ragdb.embedding_spaces.m is 'Links of an HNSW node, 2 to 100.';
comment on column ragdb.embedding_spaces.ef_construction is 'Candidates looked at when the HNSW index is built, 4 to 1000.';
comment on column ragdb.embedding_spaces.is_indexed is 'Whether the HNSW index is there.';
comment on column ragdb.embedding_spaces.ef_search is 'Candidates that a walk of the index looks at, 1 to 1000: as many as it took, when the index was built, to find nearly all that a scan finds.';
comment on column ragdb.embedding_spaces.queued_to is 'Largest number of a chunk that has been given an embedding or a job.';
comment on column ragdb.embedding_spaces.created_at is 'When it was made.';
comment on column ragdb.embedding_spaces.current_since is 'When it last became current; null if never.';
comment on table ragdb.chunk_embeddings is 'Embeddings of chunks, partitioned by space.';
comment on column ragdb.chunk_embeddings.space_id is 'The space.';
comment on column ragdb.chunk_embeddings.corpus_id is 'The corpus.';
comment on column ragdb.chunk_embeddings.chunk_no is 'The chunk.';
comment on column ragdb.chunk_embeddings.input_hash is 'SHA-256 of what was embedded: passage prefix, then title, heading path and text joined by newlines.';
comment on column ragdb.chunk_embeddings.embedding is 'The vector, as the model gave it.';
comment on table ragdb.query_embeddings is 'Embeddings of queries, under the hash of their own bytes.';
comment on column ragdb.query_embeddings.corpus_id is 'The corpus that was asked.';
comment on column ragdb.query_embeddings.embedding_hash is 'SHA-256 of the numbers as big-endian float4.';
comment on column ragdb.query_embeddings.embedder_id is 'The embedder.';
comment on column ragdb.query_embeddings.embedding is 'The vector.';
comment on column ragdb.query_embeddings.created_at is 'When it was kept.';

-- pgvector, named in bound bodies only

create or replace function ragdb._vector(embedding real[]) returns vector
language sql immutable parallel safe
return _vector.embedding::vector;
comment on function ragdb._vector(real[]) is 'Makes a vector of numbers.';

create or replace function ragdb._numbers(embedding vector) returns real[]
language sql immutable parallel safe
return _numbers.embedding::real[];
comment on function ragdb._numbers(vector) is 'Returns the numbers of a vector.';

-- Rounded to 1e-6: pgvector's sums differ by CPU in the last digits.
create or replace function ragdb._similarity(a vector, b vector, metric text) returns float8
language sql immutable parallel safe
return pg_catalog.round(1000000::float8 * greatest(0::float8, least(1::float8, case metric
    when 'cosine' then 1::float8 - (a <=> b)
    when 'ip' then -(a <#> b)
    else 1::float8 - (a <-> b) * (a <-> b) / 2::float8
  end))) / 1000000::float8;
comment on function ragdb._similarity(vector, vector, text) is
  'Returns the similarity of two vectors in [0, 1], rounded to 1e-6: max(0, cosine), max(0, inner product) or max(0, 1 - distance² / 2).';

create or replace function ragdb._vector_hash(embedding real[]) returns bytea
language sql immutable parallel safe
return (select pg_catalog.sha256(pg_catalog.string_agg(pg_catalog.float4send(e.value), ''::bytea order by e.n))
  from pg_catalog.unnest(_vector_hash.embedding) with ordinality as e (value, n));
comment on function ragdb._vector_hash(real[]) is
  'Returns the sha256 of an embedding: its numbers as big-endian float4.';

create or replace function ragdb._cut(embeddings real[], dims integer)
returns table (n integer, embedding vector, norm float8)
language sql immutable parallel safe
begin atomic
  select v.n, v.embedding, vector_norm(v.embedding)
  from (select i.n, (_cut.embeddings[(i.n - 1) * _cut.dims + 1 : i.n * _cut.dims])::vector as embedding
    from pg_catalog.generate_series(1, pg_catalog.cardinality(_cut.embeddings) / _cut.dims) i (n)
    offset 0) v;
end;
comment on function ragdb._cut(real[], integer) is
  'Cuts a row of numbers into vectors of a width, with their norms.';

-- Dynamic text names pgvector where it is
create or replace function ragdb._vector_schema() returns text
language sql stable parallel safe
return (select n.nspname::text
  from pg_catalog.pg_attribute a
    join pg_catalog.pg_type t on t.oid = a.atttypid
    join pg_catalog.pg_namespace n on n.oid = t.typnamespace
  where a.attrelid = 'ragdb.chunk_embeddings'::pg_catalog.regclass and a.attname = 'embedding');
comment on function ragdb._vector_schema() is 'Returns the schema that pgvector is installed in.';

create or replace function ragdb._space_table(space_id integer) returns text
language sql immutable parallel safe
return 'chunk_embeddings_' || _space_table.space_id;
comment on function ragdb._space_table(integer) is 'Returns the name of the partition of a space.';

-- Unit vectors order alike under every metric, and fit a half whatever the model's scale.
create or replace function ragdb._indexed_expression(schema text, value text, dims integer) returns text
language sql immutable parallel safe
return pg_catalog.format('%1$I.l2_normalize(%2$s)::%1$I.halfvec(%3$s)',
  _indexed_expression.schema, _indexed_expression.value, _indexed_expression.dims);
comment on function ragdb._indexed_expression(text, text, integer) is
  'Returns the text of what the HNSW index of a space is over, for a value; schema is pgvector''s.';

-- Each of the three ways to look at a space is one statement on its partition, planned anew (a width cannot be a
-- parameter, and a plan for the parent opens every partition): the vectors are scored where they are found.
-- Each of the three ways to look at a space is one statement on its partition, planned anew: a width cannot be a
-- parameter, and a plan for the parent opens every partition.

-- Ties at the k-th place all stay: only the caller knows the ids that order them.
create or replace function ragdb._scan_space(
  space ragdb.embedding_spaces, metric text, query vector, k integer)
returns table (chunk_no integer, score float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
begin
  return query execute format(
    'with scored (chunk_no, score) as materialized ('
    'select s.chunk_no, ragdb._similarity(s.embedding, $1, %L) from ragdb.%I s)'
    ' select s.chunk_no, s.score from scored s where s.score >= coalesce('
    '(select l.score from scored l order by l.score desc limit 1 offset $2 - 1), 0)',
    metric, ragdb._space_table(space.space_id))
    using query, k;
end $$;
comment on function ragdb._scan_space(ragdb.embedding_spaces, text, vector, integer) is
  'Returns the k chunks of a space that are nearest to a vector, and all that tie with the last, looking at every one.';

create or replace function ragdb._score_chunks(
  space ragdb.embedding_spaces, metric text, query vector, chunk_nos integer[])
returns table (chunk_no integer, score float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = on
set enable_hashjoin = on
set jit = off
as $$
begin
  if cardinality(chunk_nos) = 0 then
    return;
  end if;
  return query execute format(
    'select s.chunk_no, ragdb._similarity(s.embedding, $1, %L)'
    ' from pg_catalog.unnest($2) n (chunk_no) join ragdb.%I s on s.corpus_id = $3 and s.chunk_no = n.chunk_no',
    metric, ragdb._space_table(space.space_id))
    using query, chunk_nos, space.corpus_id;
end $$;
comment on function ragdb._score_chunks(ragdb.embedding_spaces, text, vector, integer[]) is
  'Returns the similarity of the given chunks of a space to a vector; chunks without an embedding have no row.';

-- The search of the index. Nothing may take its place: other scans and sorts are off, and a filter is a hashed
-- subplan, which no index answers (and which is planned at once, where `= any` looks at every element). What it
-- finds is scored in full precision on the way.
create or replace function ragdb._walk_space(
  space ragdb.embedding_spaces, dims integer, metric text, query vector, k integer, chunk_nos integer[],
  ef_search integer default null)
returns table (chunk_no integer, score float8)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_sort = off
set jit = off
as $$
declare
  v_ef text := current_setting('hnsw.ef_search');
  v_iterative text := current_setting('hnsw.iterative_scan');
  v_tuples text := current_setting('hnsw.max_scan_tuples');
  v_schema constant text := ragdb._vector_schema();
begin
  perform set_config('hnsw.ef_search', least(1000, greatest(coalesce(ef_search, space.ef_search), k))::text, true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.max_scan_tuples', '2147483647', true);
  return query execute format(
    'select s.chunk_no, ragdb._similarity(s.embedding, $1, %L)'
    ' from (select e.chunk_no, e.embedding from ragdb.%I e %s'
    ' order by %s operator(%I.<#>) %s limit $2) s',
    metric, ragdb._space_table(space.space_id),
    case when chunk_nos is not null then 'where (e.chunk_no in (select unnest($3))) is true' end,
    ragdb._indexed_expression(v_schema, 'e.embedding', dims), v_schema,
    ragdb._indexed_expression(v_schema, '$1', dims))
    using query, k, chunk_nos;
  perform set_config('hnsw.ef_search', v_ef, true),
    set_config('hnsw.iterative_scan', v_iterative, true),
    set_config('hnsw.max_scan_tuples', v_tuples, true);
end $$;
comment on function ragdb._walk_space(ragdb.embedding_spaces, integer, text, vector, integer, integer[], integer) is
  'Returns about the k nearest chunks of a space by its HNSW index with their similarity, among the given ones when not null; ef_search (null: the space''s own) is how many it looks at.';

create or replace function ragdb._nearest(
  corpus ragdb.corpora, space ragdb.embedding_spaces, query vector, k integer,
  chunk_nos integer[] default null)
returns table (chunk_no integer, score float8, is_exact boolean)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders;
  v_found integer[];
  v_scores float8[];
begin
  select e.* into strict v_embedder from ragdb.embedders e where e.embedder_id = space.embedder_id;
  -- a walk takes the longer the less of the graph is wanted, a look at every wanted chunk the longer the more:
  -- they meet near 20 √chunks (measured)
  -- and a slice, of at most 10,000 chunks, is always looked at whole
  if space.is_indexed and corpus.chunks >= 20000
    and (chunk_nos is null or cardinality(chunk_nos) > greatest(10000, 20 * sqrt(corpus.chunks)))
  then
    -- more than asked for: the index orders by halves, and what it swaps at the end is put right here
    select array_agg(s.chunk_no), array_agg(s.score) into v_found, v_scores
      from ragdb._walk_space(space, v_embedder.dims, v_embedder.metric, query,
        greatest(k, least(1000, k + k / 4 + 16)), chunk_nos) s;
    if cardinality(v_found) >= k then
      return query select s.chunk_no, s.score, false
        from unnest(v_found, v_scores) s (chunk_no, score);
      return;
    end if;
  end if;
  if chunk_nos is null then
    return query select s.chunk_no, s.score, true
      from ragdb._scan_space(space, v_embedder.metric, query, k) s;
  else
    return query select s.chunk_no, s.score, true
      from ragdb._score_chunks(space, v_embedder.metric, query, chunk_nos) s;
  end if;
end $$;
comment on function ragdb._nearest(ragdb.corpora, ragdb.embedding_spaces, vector, integer, integer[]) is
  'Returns at least the k chunks nearest to a vector with their similarity, among the given ones when not null, and whether none was passed over.';

-- Checked here, so that the message names what is wrong and pgvector's never shows
create or replace function ragdb._check_embeddings(
  embeddings real[], dims integer, metric text, labels text[])
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wrong text;
  v_n integer;
begin
  if coalesce(array_ndims(embeddings), 0) <> 1
    or cardinality(embeddings) <> dims * cardinality(labels)
  then
    v_wrong := format('has %s numbers in %s dimension(s)',
      coalesce(cardinality(embeddings)::text, 'null'), coalesce(array_ndims(embeddings), 0));
    raise exception 'the embedding of % %', labels[1],
        case when cardinality(labels) > 1 then 'and others ' else '' end || v_wrong
      using errcode = 'RG418', detail = format('its width must be %s: %s in all', dims, dims * cardinality(labels)),
            hint = 'embed it with the model of the corpus; ragdb.embedding_status() names it';
  end if;
  v_n := coalesce(array_position(embeddings, null), array_position(embeddings, 'nan'::real),
    array_position(embeddings, 'infinity'::real), array_position(embeddings, '-infinity'::real));
  if v_n is not null then
    v_wrong := 'is not finite';
    v_n := (v_n - 1) / dims + 1;
  else
    select c.n, case when c.norm between 1e-12 and 1e12 then 'is not of length 1' else 'is zero or out of range' end
      into v_n, v_wrong
      from ragdb._cut(embeddings, dims) c
      where not c.norm between 1e-12 and 1e12 or (metric <> 'cosine' and abs(c.norm - 1) > 0.001)
      order by c.n limit 1;
  end if;
  if v_wrong is not null then
    raise exception 'the embedding of % %', labels[v_n], v_wrong
      using errcode = 'RG418',
            detail = case when metric = 'cosine' then 'it must be finite and not zero'
              else 'metric ' || metric || ' compares unit vectors' end,
            hint = 'the model or the endpoint gave a bad vector; nothing was stored';
  end if;
end $$;
comment on function ragdb._check_embeddings(real[], integer, text, text[]) is
  'Refuses embeddings, one behind the other, that are not finite, zero, of another width, or not of length 1 where the metric needs it; labels name them. Raises RG418.';

-- Embedders

create or replace function ragdb._embedder(embedder text) returns ragdb.embedders
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders;
begin
  select e.* into v_embedder from ragdb.embedders e where e.name = embedder;
  if not found then
    raise exception 'embedder % does not exist', ragdb._quote(embedder)
      using errcode = 'RG416', detail = 'no embedder of that name was created',
            hint = 'ragdb.list_embedders() lists them; ragdb.create_embedder() makes one';
  end if;
  return v_embedder;
end $$;
comment on function ragdb._embedder(text) is 'Returns the row of an embedder. Raises RG416.';

create or replace function ragdb.create_embedder(
  name text, dims integer, model text default null, metric text default 'cosine',
  max_tokens integer default 256, revision text default null, query_prefix text default '',
  passage_prefix text default '', weights_sha256 text default null)
returns ragdb.embedders
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_new ragdb.embedders;
  v_old ragdb.embedders;
begin
  if name is null or length(name) not between 1 and 200 or dims is null or dims not between 1 and 4000
    or metric is null or metric not in ('cosine', 'ip', 'l2') or max_tokens is null or max_tokens < 1
    or query_prefix is null or passage_prefix is null or weights_sha256 !~ '^[0-9a-f]{64}$'
  then
    raise exception 'embedder % is not described correctly', ragdb._quote(name)
      using errcode = 'RG400',
            detail = format('dims %s, metric %s, max_tokens %s', dims, ragdb._quote(metric), max_tokens),
            hint = 'a name of 1 to 200 characters, dims 1 to 4000, metric cosine, ip or l2, max_tokens from 1, prefixes not null, weights_sha256 64 hex digits or null';
  end if;
  lock table ragdb.embedders in share row exclusive mode;
  v_new := row(coalesce((select max(e.embedder_id) from ragdb.embedders e), 0) + 1, name,
    coalesce(model, name), revision, dims, metric, max_tokens, query_prefix, passage_prefix,
    weights_sha256, null, null, ragdb._now());
  select e.* into v_old from ragdb.embedders e where e.name = create_embedder.name;
  if not found then
    insert into ragdb.embedders select v_new.*;
    return v_new;
  end if;
  if row(v_old.model, v_old.revision, v_old.dims, v_old.metric, v_old.max_tokens, v_old.query_prefix,
      v_old.passage_prefix, v_old.weights_sha256)
    is distinct from row(v_new.model, v_new.revision, v_new.dims, v_new.metric, v_new.max_tokens,
      v_new.query_prefix, v_new.passage_prefix, v_new.weights_sha256)
  then
    raise exception 'embedder % exists and promises something else', ragdb._quote(name)
      using errcode = 'RG409', detail = 'what an embedder promises never changes, because vectors rest on it',
            hint = 'create one under another name and move the corpus with ragdb.reembed_corpus()';
  end if;
  return v_old;
end $$;
comment on function ragdb.create_embedder(text, integer, text, text, integer, text, text, text, text) is
  'Creates an embedder, or returns it when it exists with the same promises; dims 1 to 4000, metric cosine, ip or l2, weights_sha256 64 hex digits. Raises RG400, RG409.';

create or replace function ragdb.bind_embedder(name text, provider text, provider_model text)
returns ragdb.embedders
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders := ragdb._embedder(name);
begin
  if provider is null or provider not in ('sentence-transformers', 'openai', 'hash')
    or provider_model is null or provider_model = ''
  then
    raise exception 'provider % with model % cannot be bound',
        ragdb._quote(provider), ragdb._quote(provider_model)
      using errcode = 'RG400', detail = 'providers are sentence-transformers, openai and hash',
            hint = 'give the name that the provider has for the model (packaged, a path, a hub or endpoint name, or hash-v1)';
  end if;
  -- a worker loads what is named here: a writer may name only what cannot harm
  if not (pg_has_role(ragdb._caller(), 'ragdb_admin', 'usage') or provider = 'hash'
    or (provider_model = 'packaged' and v_embedder.weights_sha256 is not null))
  then
    raise exception 'role % may not bind an embedder to %', ragdb._quote(ragdb._caller()), ragdb._quote(provider_model)
      using errcode = 'RG401', detail = 'a writer may bind to hash-v1 and to packaged weights of a known digest',
            hint = 'ask an admin, who may call ragdb.bind_embedder()';
  end if;
  if v_embedder.provider is not null
    and (v_embedder.provider, v_embedder.provider_model) is distinct from (provider, provider_model)
    and v_embedder.weights_sha256 is null
    and exists (select from ragdb.embedding_spaces s join ragdb.chunk_embeddings c on c.space_id = s.space_id
      where s.embedder_id = v_embedder.embedder_id)
  then
    raise exception 'embedder % has vectors of provider %', ragdb._quote(name), v_embedder.provider
      using errcode = 'RG417',
            detail = 'vectors of two models would mix, and no digest of the weights tells that they are one',
            hint = 'create an embedder under another name and move the corpus with ragdb.reembed_corpus()';
  end if;
  update ragdb.embedders e
    set provider = bind_embedder.provider, provider_model = bind_embedder.provider_model
    where e.embedder_id = v_embedder.embedder_id
    returning e.* into v_embedder;
  return v_embedder;
end $$;
comment on function ragdb.bind_embedder(text, text, text) is
  'Binds an embedder to the provider that runs it: sentence-transformers, openai or hash; to a path, a hub or an endpoint only as an admin. Raises RG400, RG401, RG416, RG417.';

create or replace function ragdb.list_embedders() returns setof ragdb.embedders
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select e.* from ragdb.embedders e order by e.name;
end;
comment on function ragdb.list_embedders() is 'Lists the embedders by name.';

-- Spaces

create or replace function ragdb._make_space(
  corpus_id integer, embedder ragdb.embedders, state text, m integer, ef_construction integer)
returns ragdb.embedding_spaces
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space ragdb.embedding_spaces;
  v_table text;
begin
  if m is null or m not between 2 and 100 or ef_construction is null
    or ef_construction not between 4 and 1000 or ef_construction < 2 * m
  then
    raise exception 'm is % and ef_construction is %', coalesce(m::text, 'null'), coalesce(ef_construction::text, 'null')
      using errcode = 'RG400', detail = 'they shape the HNSW index of the space',
            hint = 'give m from 2 to 100 and ef_construction from 2 m to 1000';
  end if;
  lock table ragdb.embedding_spaces in share row exclusive mode;
  insert into ragdb.embedding_spaces (corpus_id, space_id, embedder_id, state, m, ef_construction, created_at, current_since)
  select _make_space.corpus_id, coalesce(max(s.space_id), 0) + 1, embedder.embedder_id,
    _make_space.state, _make_space.m, _make_space.ef_construction, ragdb._now(),
    case when _make_space.state = 'current' then ragdb._now() end
  from ragdb.embedding_spaces s
  returning * into v_space;
  v_table := ragdb._space_table(v_space.space_id);
  execute format('drop table if exists ragdb.%I', v_table);
  execute format('create table ragdb.%1$I (like ragdb.chunk_embeddings including all,'
    ' constraint %2$I primary key (corpus_id, chunk_no),'
    ' constraint %3$I foreign key (corpus_id, chunk_no) references ragdb.chunks on delete cascade)',
    v_table, v_table || '_chunk_is_unique', v_table || '_chunk_exists');
  execute format('create index %2$I on ragdb.%1$I (input_hash)', v_table, v_table || '_by_input');
  -- inline while it fits a page: a scan reads every vector
  execute format('alter table ragdb.%I alter embedding set storage %s', v_table,
    case when embedder.dims <= 1900 then 'main' else 'external' end);
  execute format('comment on table ragdb.%I is %L', v_table,
    format('Embeddings of space %s: corpus %s under embedder %s.', v_space.space_id, corpus_id, embedder.embedder_id));
  execute format('alter table ragdb.chunk_embeddings attach partition ragdb.%I for values in (%s)',
    v_table, v_space.space_id);
  return v_space;
end $$;
comment on function ragdb._make_space(integer, ragdb.embedders, text, integer, integer) is
  'Makes a space with its partition; the caller holds the corpus lock. Raises RG400.';

create or replace function ragdb._drop_space(space ragdb.embedding_spaces) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('drop table ragdb.%I', ragdb._space_table(space.space_id));
  delete from ragdb.embedding_spaces s where s.corpus_id = space.corpus_id and s.space_id = space.space_id;
end $$;
comment on function ragdb._drop_space(ragdb.embedding_spaces) is
  'Drops a space and its partition; the caller holds the corpus lock.';

create or replace function ragdb._drop_spaces(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb._drop_space(s) from ragdb.embedding_spaces s where s.corpus_id = _drop_spaces.corpus_id;
end $$;
comment on function ragdb._drop_spaces(integer) is
  'Drops all spaces of a corpus; the caller holds the corpus lock.';

create or replace function ragdb._space(corpus_id integer, state text) returns ragdb.embedding_spaces
language sql stable parallel safe
return (select s from ragdb.embedding_spaces s
  where s.corpus_id = _space.corpus_id and s.state = _space.state
  order by s.current_since desc nulls last, s.space_id desc limit 1);
comment on function ragdb._space(integer, text) is
  'Returns the space of a corpus in a state, the last one where there are several; null when there is none.';

create or replace function ragdb.embed_corpus(
  corpus text, embedder text, m integer default 16, ef_construction integer default 128)
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders := ragdb._embedder(embedder);
  v_corpus ragdb.corpora := ragdb._open_corpus(embed_corpus.corpus, 'write');
  v_space ragdb.embedding_spaces := ragdb._space(v_corpus.corpus_id, 'current');
begin
  if v_space.space_id is null then
    v_corpus := ragdb._lock_corpus(embed_corpus.corpus, 'write');
    v_space := ragdb._space(v_corpus.corpus_id, 'current');
  end if;
  if v_space.space_id is null then
    v_space := ragdb._make_space(v_corpus.corpus_id, v_embedder, 'current', m, ef_construction);
    perform pg_notify('ragdb_embeddings', '');
  elsif v_space.embedder_id <> v_embedder.embedder_id then
    raise exception 'corpus % is not embedded by %', ragdb._quote(corpus), ragdb._quote(embedder)
      using errcode = 'RG417',
            detail = 'it is embedded by ' || (select ragdb._quote(e.name) from ragdb.embedders e
              where e.embedder_id = v_space.embedder_id),
            hint = format('ragdb reembed %s --model %s changes the model without downtime', corpus, embedder);
  end if;
  return v_space.space_id;
end $$;
comment on function ragdb.embed_corpus(text, text, integer, integer) is
  'Has a corpus embedded by an embedder from now on, and returns its space; once it is, by no other. m 2 to 100, ef_construction 2 m to 1000. Raises RG400, RG401, RG404, RG416, RG417.';

create or replace function ragdb.reembed_corpus(
  corpus text, embedder text, m integer default 16, ef_construction integer default 128)
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders := ragdb._embedder(embedder);
  v_corpus ragdb.corpora := ragdb._lock_corpus(reembed_corpus.corpus, 'admin');
  v_space ragdb.embedding_spaces;
begin
  select s.* into v_space from ragdb.embedding_spaces s
    where s.corpus_id = v_corpus.corpus_id and s.embedder_id = v_embedder.embedder_id;
  if found and v_space.state = 'current' then
    raise exception 'corpus % is embedded by % already', ragdb._quote(corpus), ragdb._quote(embedder)
      using errcode = 'RG409', detail = 'its space is current', hint = 'name another embedder';
  elsif found then
    update ragdb.embedding_spaces s set state = 'building', queued_to = 0
      where s.space_id = v_space.space_id;
  else
    v_space := ragdb._make_space(v_corpus.corpus_id, v_embedder, 'building', m, ef_construction);
  end if;
  perform pg_notify('ragdb_embeddings', '');
  return v_space.space_id;
end $$;
comment on function ragdb.reembed_corpus(text, text, integer, integer) is
  'Starts, or takes up again, a second space of a corpus under another embedder, beside the current one, and returns it; workers fill it. Raises RG400, RG401, RG404, RG409, RG416.';

create or replace function ragdb._missing_embeddings(space ragdb.embedding_spaces) returns bigint
language sql stable parallel safe
return (select count(*) from ragdb.chunks c
  where c.corpus_id = (_missing_embeddings.space).corpus_id
    and not exists (select from ragdb.chunk_embeddings e
      where e.space_id = (_missing_embeddings.space).space_id
        and e.corpus_id = c.corpus_id and e.chunk_no = c.chunk_no));
comment on function ragdb._missing_embeddings(ragdb.embedding_spaces) is
  'Returns the number of chunks that a space has no embedding of.';

create or replace function ragdb.cutover_corpus(corpus text, embedder text, force boolean default false)
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders := ragdb._embedder(embedder);
  v_corpus ragdb.corpora := ragdb._lock_corpus(cutover_corpus.corpus, 'admin');
  v_space ragdb.embedding_spaces;
  v_missing bigint;
begin
  select s.* into v_space from ragdb.embedding_spaces s
    where s.corpus_id = v_corpus.corpus_id and s.embedder_id = v_embedder.embedder_id
      and s.state <> 'current';
  if not found then
    raise exception 'corpus % has no second space of embedder %', ragdb._quote(corpus), ragdb._quote(embedder)
      using errcode = 'RG409', detail = 'the space is current already, or was never started',
            hint = 'ragdb.reembed_corpus() starts one';
  end if;
  v_missing := ragdb._missing_embeddings(v_space);
  if v_missing > 0 and not coalesce(force, false) then
    raise exception 'the space of embedder % lacks % of % chunks', ragdb._quote(embedder), v_missing, v_corpus.chunks
      using errcode = 'RG409', detail = 'after the change those would not be found by meaning',
            hint = 'let a worker finish, see ragdb.embedding_status(), or pass force => true';
  end if;
  update ragdb.embedding_spaces s set state = 'retired'
    where s.corpus_id = v_corpus.corpus_id and s.state = 'current';
  update ragdb.embedding_spaces s set state = 'current', current_since = ragdb._now(),
      queued_to = case when v_missing > 0 then 0 else s.queued_to end
    where s.space_id = v_space.space_id;
  -- what follows from the embeddings of turns follows from the current ones
  perform ragdb._derive_turns(v_corpus.corpus_id, array(
    select distinct t.session_id from ragdb.turns t where t.corpus_id = v_corpus.corpus_id));
  perform pg_notify('ragdb_embeddings', '');
  return v_space.space_id;
end $$;
comment on function ragdb.cutover_corpus(text, text, boolean) is
  'Makes the second space of a corpus the current one, in one transaction, and keeps the other for a rollback; refused while chunks are missing unless forced. Raises RG401, RG404, RG409, RG416.';

create or replace function ragdb.rollback_corpus(corpus text) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._lock_corpus(rollback_corpus.corpus, 'admin');
  v_space ragdb.embedding_spaces := ragdb._space(v_corpus.corpus_id, 'retired');
  v_embedder text;
begin
  if v_space.space_id is null then
    raise exception 'corpus % has no retired space', ragdb._quote(corpus)
      using errcode = 'RG409', detail = 'there is nothing to go back to',
            hint = 'ragdb.embedding_status() lists the spaces';
  end if;
  select e.name into strict v_embedder from ragdb.embedders e where e.embedder_id = v_space.embedder_id;
  perform ragdb.cutover_corpus(corpus, v_embedder, force => true);
  return v_embedder;
end $$;
comment on function ragdb.rollback_corpus(text) is
  'Makes the space that was current before current again, and returns its embedder; chunks that came since are queued for it. Raises RG401, RG404, RG409.';

create or replace function ragdb.drop_space(corpus text, embedder text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders := ragdb._embedder(embedder);
  v_corpus ragdb.corpora := ragdb._lock_corpus(drop_space.corpus, 'admin');
  v_space ragdb.embedding_spaces;
begin
  select s.* into v_space from ragdb.embedding_spaces s
    where s.corpus_id = v_corpus.corpus_id and s.embedder_id = v_embedder.embedder_id;
  if not found then
    raise exception 'corpus % has no space of embedder %', ragdb._quote(corpus), ragdb._quote(embedder)
      using errcode = 'RG416', detail = 'it was never embedded by it, or dropped before',
            hint = 'ragdb.embedding_status() lists the spaces';
  end if;
  perform ragdb._drop_space(v_space);
end $$;
comment on function ragdb.drop_space(text, text) is
  'Drops the space of a corpus under an embedder with all its embeddings. Raises RG401, RG404, RG416.';

-- The smallest of some ef_search with which the index finds 98 in 100 of what a scan finds. What is asked for lies
-- halfway between two chunks: chunks themselves are found far more easily than queries (measured), this a little
-- less. Equal scores count as found, whichever chunk has them.
create or replace function ragdb._measure_ef_search(space ragdb.embedding_spaces, embedder ragdb.embedders)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_table constant text := ragdb._space_table(space.space_id);
  v_schema constant text := ragdb._vector_schema();
  v_between text;
  v_pairs text;
  v_ones integer[];
  v_others integer[];
  v_bounds float8[];
  v_found bigint;
  v_ef integer;
begin
  execute format('select array_agg(c.chunk_no order by n.i) filter (where n.i %% 2 = 0), array_agg(c.chunk_no order by n.i) filter (where n.i %% 2 = 1)'
    ' from (select i %% 32 * 2 + i / 32 as i, r.low + (r.high - r.low)::bigint * i / 63 as n'
    ' from (select min(s.chunk_no) as low, max(s.chunk_no) as high from ragdb.%1$I s) r, generate_series(0, 63) i) n'
    ' cross join lateral (select s.chunk_no from ragdb.%1$I s where s.corpus_id = $1 and s.chunk_no >= n.n'
    ' order by s.chunk_no limit 1) c', v_table)
    into v_ones, v_others using space.corpus_id;
  v_pairs := format('(select q.n, %1$I.l2_normalize(a.embedding) operator(%1$I.+) %1$I.l2_normalize(b.embedding) as between'
    ' from unnest($1, $2) with ordinality q (one, other, n)'
    ' join ragdb.%2$I a on a.corpus_id = $3 and a.chunk_no = q.one'
    ' join ragdb.%2$I b on b.corpus_id = $3 and b.chunk_no = q.other offset 0) p', v_schema, v_table);
  execute format('select array_agg(b.bound order by p.n) from %s cross join lateral (select min(t.score) as bound'
    ' from (select ragdb._similarity(s.embedding, p.between, ''cosine'') as score from ragdb.%I s'
    ' order by 1 desc limit 10) t) b', v_pairs, v_table)
    into v_bounds using v_ones, v_others, space.corpus_id;
  foreach v_ef in array array[40, 60, 80, 100, 130, 160, 200, 250, 320, 400, 500, 640, 800] loop
    execute format('select count(*) from %s cross join lateral (select w.score'
      ' from ragdb._walk_space($4, $5, ''cosine'', p.between, 28, null, $6) w order by 1 desc limit 10) w'
      ' where w.score >= ($7)[p.n] - 0.000002', v_pairs)
      into v_found using v_ones, v_others, space.corpus_id, space, embedder.dims, v_ef, v_bounds;
    if v_found >= 0.98 * 10 * cardinality(v_bounds) then
      return v_ef;
    end if;
  end loop;
  return 1000;
end $$;
comment on function ragdb._measure_ef_search(ragdb.embedding_spaces, ragdb.embedders) is
  'Returns the ef_search (40 to 1000) with which the index of a space finds 98 in 100 of the ten nearest to points between its chunks.';

-- Built once the bulk is in: several times faster than growing it row by row.
create or replace function ragdb.index_space(corpus text, embedder text default null) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(index_space.corpus, 'write');
  v_space ragdb.embedding_spaces;
  v_embedder ragdb.embedders;
  v_table text;
begin
  select s.* into v_space from ragdb.embedding_spaces s join ragdb.embedders e on e.embedder_id = s.embedder_id
    where s.corpus_id = v_corpus.corpus_id
      and case when embedder is null then s.state = 'current' else e.name = embedder end
    for update of s;
  if not found or v_space.is_indexed or v_corpus.chunks < 20000 then
    return false;
  end if;
  select e.* into strict v_embedder from ragdb.embedders e where e.embedder_id = v_space.embedder_id;
  v_table := ragdb._space_table(v_space.space_id);
  -- the graph is built in memory when it fits; up to 4 GB, more where the server allows more
  perform set_config('maintenance_work_mem', greatest(
      (select s.setting::bigint from pg_settings s where s.name = 'maintenance_work_mem'),
      least(4194304, 65536 + v_corpus.chunks * (v_embedder.dims * 2 + v_space.m * 40 + 200)::bigint / 1024))
    || 'kB', true);
  execute format('create index %I on ragdb.%I using hnsw ((%s) %I.halfvec_ip_ops)'
    ' with (m = %s, ef_construction = %s)', v_table || '_by_nearness', v_table,
    ragdb._indexed_expression(ragdb._vector_schema(), 'embedding', v_embedder.dims), ragdb._vector_schema(),
    v_space.m, v_space.ef_construction);
  execute format('analyze ragdb.%I', v_table);
  update ragdb.embedding_spaces s
    set is_indexed = true, ef_search = ragdb._measure_ef_search(v_space, v_embedder)
    where s.space_id = v_space.space_id;
  return true;
end $$;
comment on function ragdb.index_space(text, text) is
  'Builds the HNSW index of a space of a corpus (the current one unless an embedder is named) when it has 20,000 chunks and none yet, and says whether it did. Raises RG400, RG401, RG404.';

---- sql/38_embedding_queue.sql

-- The embedding queue: what has no embedding yet, who is at work on it, and what went wrong.
--
-- The work is a set difference, the chunks of a space without an embedding; jobs are that difference written
-- down, one row an input, so that equal inputs are computed once. A worker claims (commit), computes with no
-- transaction open, and completes; every completion is fenced by the number of the claim.

comment on table ragdb.embedding_jobs is 'Inputs that wait for an embedding or failed to get one.';
comment on column ragdb.embedding_jobs.corpus_id is 'The corpus.';
comment on column ragdb.embedding_jobs.space_id is 'The space.';
comment on column ragdb.embedding_jobs.input_hash is 'SHA-256 of the input.';
comment on column ragdb.embedding_jobs.chunk_nos is 'Chunks that had that input when they were queued.';
comment on column ragdb.embedding_jobs.is_dead is 'Whether it failed too often; ragdb.retry_failed() revives it.';
comment on column ragdb.embedding_jobs.attempt is 'Claims so far; a completion must name the last.';
comment on column ragdb.embedding_jobs.failures is 'Failures reported so far; five kill it.';
comment on column ragdb.embedding_jobs.worker is 'Who claimed it; null when it waits.';
comment on column ragdb.embedding_jobs.due_at is 'When it may be claimed: the end of a back-off or of a lease.';
comment on column ragdb.embedding_jobs.last_error is 'The last failure.';
comment on column ragdb.embedding_jobs.created_at is 'When it was queued.';
comment on table ragdb.embedded_queries is 'Queries by hash, with the hash of their embedding or waiting for one.';
comment on column ragdb.embedded_queries.corpus_id is 'The corpus that is asked.';
comment on column ragdb.embedded_queries.embedder_id is 'The embedder.';
comment on column ragdb.embedded_queries.query_hash is 'SHA-256 of the query as it was typed.';
comment on column ragdb.embedded_queries.embedding_hash is 'Its embedding in ragdb.query_embeddings; null while it waits.';
comment on column ragdb.embedded_queries.query_text is 'The query, only while it waits.';
comment on column ragdb.embedded_queries.attempt is 'Claims so far.';
comment on column ragdb.embedded_queries.due_at is 'When it may be claimed.';
comment on column ragdb.embedded_queries.last_error is 'The last failure.';

-- By key, and each text put together once, whatever the caller does with it
create or replace function ragdb._embedding_inputs(
  corpus_id integer, chunk_nos integer[], prefix text)
returns table (chunk_no integer, input text)
language sql stable parallel safe
begin atomic
  select n.chunk_no, i.input
  from pg_catalog.unnest(_embedding_inputs.chunk_nos) n (chunk_no)
    cross join lateral (
      select _embedding_inputs.prefix || ragdb._searched_text(d.title, c.heading, c.text) as input
      from (select h.doc_no, h.heading, h.text from ragdb.chunks h
          where h.corpus_id = _embedding_inputs.corpus_id and h.chunk_no = n.chunk_no offset 0) c
        cross join lateral (select o.title from ragdb.documents o
          where o.corpus_id = _embedding_inputs.corpus_id and o.doc_no = c.doc_no offset 0) d
      offset 0) i;
end;
comment on function ragdb._embedding_inputs(integer, integer[], text) is
  'Returns what is embedded of chunks: the prefix, then title, heading path and text joined by newlines.';

-- Copies the embedding of an equal input where there is one and queues the rest; the caller holds the corpus lock
-- or the space's row.
create or replace function ragdb._queue_chunks(space ragdb.embedding_spaces, chunk_nos integer[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_copied integer[];
begin
  with inputs as materialized (
    select i.chunk_no, sha256(convert_to(i.input, 'UTF8')) as hash
    from ragdb.embedders e,
      ragdb._embedding_inputs(space.corpus_id, _queue_chunks.chunk_nos, e.passage_prefix) i
    where e.embedder_id = space.embedder_id
  ), copied as (
    insert into ragdb.chunk_embeddings (space_id, corpus_id, chunk_no, input_hash, embedding)
    select space.space_id, space.corpus_id, i.chunk_no, i.hash, k.embedding
    from inputs i cross join lateral (
      select c.embedding from ragdb.chunk_embeddings c
      where c.space_id = space.space_id and c.input_hash = i.hash limit 1) k
    on conflict do nothing
    returning chunk_no
  ), queued as (
    insert into ragdb.embedding_jobs as j (corpus_id, space_id, input_hash, chunk_nos, due_at, created_at)
    select space.corpus_id, space.space_id, i.hash, array_agg(i.chunk_no order by i.chunk_no),
      clock_timestamp(), clock_timestamp()
    from inputs i
    where i.chunk_no not in (select c.chunk_no from copied c)
    group by i.hash order by i.hash
    on conflict on constraint embedding_jobs_input_is_unique_per_space do update
      set chunk_nos = array(select distinct n from unnest(j.chunk_nos || excluded.chunk_nos) n order by n)
  )
  select array_agg(c.chunk_no) into v_copied from copied c;
  perform ragdb._derive_embedded_turns(space, v_copied);
end $$;
comment on function ragdb._queue_chunks(ragdb.embedding_spaces, integer[]) is
  'Gives chunks the embedding of an equal input of their space, or a job.';

-- Chunk numbers only rise and commit in order (writers of a corpus queue up), so those above queued_to are new.
create or replace function ragdb._queue_new_chunks(space_id integer, count integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_space ragdb.embedding_spaces;
  v_chunks integer[];
  v_last integer;
begin
  select s.* into v_space from ragdb.embedding_spaces s
    where s.space_id = _queue_new_chunks.space_id for update;
  select coalesce(array_agg(n.chunk_no) filter (where not n.is_embedded), '{}'), max(n.chunk_no)
    into v_chunks, v_last
    from (
      select c.chunk_no, exists (select from ragdb.chunk_embeddings e where e.space_id = v_space.space_id
        and e.corpus_id = c.corpus_id and e.chunk_no = c.chunk_no) as is_embedded
      from ragdb.chunks c
      where c.corpus_id = v_space.corpus_id and c.chunk_no > v_space.queued_to
      order by c.chunk_no limit count) n;
  if v_last is null then
    return 0;
  end if;
  perform ragdb._queue_chunks(v_space, v_chunks);
  update ragdb.embedding_spaces s set queued_to = v_last where s.space_id = v_space.space_id;
  return cardinality(v_chunks);
end $$;
comment on function ragdb._queue_new_chunks(integer, integer) is
  'Queues the next chunks of a space that were never queued, and returns how many of them had no embedding.';

-- A chunk may keep its number and get another heading, text or document: what counts is whether its input changed.
create or replace function ragdb._refresh_embeddings(corpus_id integer, chunk_nos integer[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_space ragdb.embedding_spaces;
  v_changed integer[];
begin
  for v_space in
    select s.* from ragdb.embedding_spaces s where s.corpus_id = _refresh_embeddings.corpus_id order by s.space_id
  loop
    with inputs as materialized (
      select i.chunk_no, sha256(convert_to(i.input, 'UTF8')) as hash
      from ragdb.embedders e, ragdb._embedding_inputs(v_space.corpus_id, chunk_nos, e.passage_prefix) i
      where e.embedder_id = v_space.embedder_id
    ), gone as (
      delete from ragdb.chunk_embeddings e using inputs i
      where e.space_id = v_space.space_id and e.corpus_id = v_space.corpus_id
        and e.chunk_no = i.chunk_no and e.input_hash <> i.hash
      returning e.chunk_no
    )
    -- a chunk that still waits has a job under its old input
    select array_agg(i.chunk_no) into v_changed
      from inputs i
      where i.chunk_no <= v_space.queued_to and (
        i.chunk_no in (select g.chunk_no from gone g)
        or not exists (select from ragdb.chunk_embeddings e where e.space_id = v_space.space_id
          and e.corpus_id = v_space.corpus_id and e.chunk_no = i.chunk_no));
    if v_changed is not null and v_space.state <> 'retired' then
      perform ragdb._queue_chunks(v_space, v_changed);
    end if;
  end loop;
end $$;
comment on function ragdb._refresh_embeddings(integer, integer[]) is
  'Drops the embeddings of chunks whose input has changed, in every space of the corpus, and queues them; the caller holds the corpus lock.';

create or replace function ragdb._refresh_changed_chunks() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb._refresh_embeddings(c.corpus_id, array_agg(c.chunk_no)) from changed c group by c.corpus_id;
  return null;
end $$;
comment on function ragdb._refresh_changed_chunks() is
  'Trigger of ragdb.chunks: keeps embeddings true to the chunks that an update changed.';

create or replace function ragdb._refresh_retitled_documents() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb._refresh_embeddings(c.corpus_id, array_agg(c.chunk_no))
    from changed n
      join before o on o.corpus_id = n.corpus_id and o.doc_no = n.doc_no and o.title is distinct from n.title
      join ragdb.chunks c on c.corpus_id = n.corpus_id and c.doc_no = n.doc_no
    group by c.corpus_id;
  return null;
end $$;
comment on function ragdb._refresh_retitled_documents() is
  'Trigger of ragdb.documents: keeps embeddings true to a changed title.';

-- updates only: a trigger on insert would run at restore
create or replace trigger embeddings_follow_chunks after update on ragdb.chunks
  referencing new table as changed for each statement execute function ragdb._refresh_changed_chunks();
create or replace trigger embeddings_follow_titles after update on ragdb.documents
  referencing old table as before new table as changed
  for each statement execute function ragdb._refresh_retitled_documents();

create or replace function ragdb._check_worker(worker text, lease interval) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if worker is null or worker = '' or length(worker) > 200 or lease is null
    or lease not between interval '1 second' and interval '1 day'
  then
    raise exception 'worker is % and lease %', ragdb._quote(worker), coalesce(lease::text, 'null')
      using errcode = 'RG400', detail = 'a claim belongs to a worker for the time of its lease',
            hint = 'give a name of 1 to 200 characters and a lease from 1 second to 1 day';
  end if;
end $$;
comment on function ragdb._check_worker(text, interval) is
  'Refuses a worker without a name or a lease outside 1 second to 1 day. Raises RG400.';

create or replace function ragdb.claim_embeddings(
  worker text, count integer default 256, lease interval default '60 seconds',
  only_corpus text default null, only_embedder text default null)
returns table (space_id integer, corpus text, embedder text, input_hash bytea, attempt integer, input text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_space record;
  v_claimed ragdb.embedding_jobs[];
  v_only integer;
begin
  perform ragdb._check_worker(worker, lease);
  if count is null or count not between 1 and 10000 then
    raise exception 'count is %', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'a claim takes that many inputs', hint = 'pass count from 1 to 10000';
  end if;
  if only_corpus is not null then
    v_only := (ragdb._open_corpus(only_corpus, 'write')).corpus_id;
  end if;
  if only_embedder is not null then
    perform ragdb._embedder(only_embedder);
  end if;
  for v_space in
    select s.corpus_id, s.space_id, c.name as corpus, e.name as embedder, e.passage_prefix
    from ragdb.embedding_spaces s
      join ragdb.corpora c on c.corpus_id = s.corpus_id
      join ragdb.embedders e on e.embedder_id = s.embedder_id
    where s.state <> 'retired' and s.corpus_id = coalesce(v_only, s.corpus_id)
      and e.name = coalesce(only_embedder, e.name)
      and ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 2
    order by s.state desc, s.space_id
  loop
    loop
      -- a worker that dies takes its claim along; an input that kills twenty workers is to blame
      with fatal as materialized (
        select j.input_hash from ragdb.embedding_jobs j
        where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id
          and not j.is_dead and j.due_at <= clock_timestamp() and j.attempt >= j.failures + 20
        for update skip locked
      )
      update ragdb.embedding_jobs j set is_dead = true, worker = null,
          last_error = coalesce(j.last_error, 'twenty workers died or lost their lease on it')
        from fatal f
        where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id and j.input_hash = f.input_hash;
      with due as materialized (
        select j.input_hash from ragdb.embedding_jobs j
        where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id
          and not j.is_dead and j.due_at <= clock_timestamp()
        order by j.due_at limit claim_embeddings.count
        for update skip locked
      ), claimed as (
        update ragdb.embedding_jobs j
        set attempt = j.attempt + 1, worker = claim_embeddings.worker,
            due_at = clock_timestamp() + claim_embeddings.lease
        from due d
        where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id
          and j.input_hash = d.input_hash
        returning j as job
      )
      select coalesce(array_agg(c.job), '{}') into v_claimed from claimed c;
      return query
        select v_space.space_id, v_space.corpus, v_space.embedder, j.input_hash, j.attempt, i.input
        from unnest(v_claimed) j
          -- one chunk that has the input still speaks for all
          cross join lateral (
            select e.input
            from ragdb._embedding_inputs(v_space.corpus_id, j.chunk_nos, v_space.passage_prefix) e
            where sha256(convert_to(e.input, 'UTF8')) = j.input_hash limit 1) i;
      if found then
        return;
      end if;
      -- none of the claimed is wanted any more: their chunks are gone or have changed
      delete from ragdb.embedding_jobs j using unnest(v_claimed) c
        where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id
          and j.input_hash = c.input_hash;
      exit when cardinality(v_claimed) = 0
        and ragdb._queue_new_chunks(v_space.space_id, 10 * claim_embeddings.count) = 0;
    end loop;
  end loop;
end $$;
comment on function ragdb.claim_embeddings(text, integer, interval, text, text) is
  'Claims up to count (1 to 10000) inputs of one space that wait for an embedding, for the time of the lease (1 s to 1 day), of all corpora that the caller may write or of one. Commit before computing. Raises RG400, RG401, RG404, RG416.';

create or replace function ragdb.renew_embeddings(worker text, lease interval default '60 seconds') returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_renewed integer;
begin
  perform ragdb._check_worker(worker, lease);
  -- what the worker is completing at this moment is locked, and needs no lease: waiting for it would deadlock
  with mine as materialized (
    select j.corpus_id, j.space_id, j.input_hash
    from ragdb.embedding_jobs j join ragdb.corpora c on c.corpus_id = j.corpus_id
    where j.worker = renew_embeddings.worker and not j.is_dead and j.due_at > clock_timestamp()
      and ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 2
    for update of j skip locked
  )
  update ragdb.embedding_jobs j set due_at = clock_timestamp() + lease
    from mine m
    where j.corpus_id = m.corpus_id and j.space_id = m.space_id and j.input_hash = m.input_hash;
  get diagnostics v_renewed = row_count;
  return v_renewed;
end $$;
comment on function ragdb.renew_embeddings(text, interval) is
  'Renews the lease (1 s to 1 day) of all that a worker has claimed and not lost, and returns how many inputs that is. Raises RG400.';

create or replace function ragdb._space_of(space_id integer) returns ragdb.embedding_spaces
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space ragdb.embedding_spaces;
  v_corpus ragdb.corpora;
begin
  select s.* into v_space from ragdb.embedding_spaces s where s.space_id = _space_of.space_id;
  select c.* into v_corpus from ragdb.corpora c where c.corpus_id = v_space.corpus_id;
  if v_corpus.corpus_id is null
    or ragdb._privilege(v_corpus.corpus_id, v_corpus.personal_of, v_corpus.name) < 2
  then
    raise exception 'space % does not exist', coalesce(space_id::text, 'null')
      using errcode = 'RG404', detail = 'it was dropped, or the caller may not write to its corpus',
            hint = 'ragdb.embedding_status() lists the spaces';
  end if;
  return v_space;
end $$;
comment on function ragdb._space_of(integer) is
  'Returns a space whose corpus the caller may write. Raises RG404.';

create or replace function ragdb.complete_embeddings(
  space_id integer, input_hashes bytea[], attempts integer[], embeddings real[])
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_space ragdb.embedding_spaces := ragdb._space_of(space_id);
  v_embedder ragdb.embedders;
  v_corpus ragdb.corpora;
  v_stored integer[];
begin
  select e.* into strict v_embedder from ragdb.embedders e where e.embedder_id = v_space.embedder_id;
  if input_hashes is null or coalesce(cardinality(attempts), -1) <> cardinality(input_hashes) then
    raise exception 'input_hashes and attempts are not of one length'
      using errcode = 'RG400', detail = 'they are parallel, one entry an input',
            hint = 'pass them as ragdb.claim_embeddings() returned them';
  end if;
  if cardinality(input_hashes) = 0 then
    return 0;
  end if;
  perform ragdb._check_embeddings(embeddings, v_embedder.dims, v_embedder.metric, array(
    select coalesce('chunk ' || ragdb._quote((
        select c.chunk_id from ragdb.embedding_jobs j
          join ragdb.chunks c on c.corpus_id = j.corpus_id and c.chunk_no = any (j.chunk_nos)
        where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id and j.input_hash = h.hash
        order by c.chunk_id limit 1)), 'input ' || h.n)
    from unnest(input_hashes) with ordinality h (hash, n) order by h.n));
  -- no chunk may change between the look at it and the commit
  select c.name into strict v_corpus.name from ragdb.corpora c where c.corpus_id = v_space.corpus_id;
  v_corpus := ragdb._lock_corpus(v_corpus.name, 'write');
  with given as materialized (
    select h.hash, attempts[h.n] as attempt, k.embedding
    from unnest(input_hashes) with ordinality h (hash, n)
      join ragdb._cut(embeddings, v_embedder.dims) k on k.n = h.n
  ), done as (
    delete from ragdb.embedding_jobs j using given g
    where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id
      and j.input_hash = g.hash and j.attempt = g.attempt
    returning j.input_hash, j.chunk_nos, g.embedding
  ), stored as (
    insert into ragdb.chunk_embeddings (space_id, corpus_id, chunk_no, input_hash, embedding)
    select v_space.space_id, v_space.corpus_id, i.chunk_no, d.input_hash, d.embedding
    from done d cross join lateral
      ragdb._embedding_inputs(v_space.corpus_id, d.chunk_nos, v_embedder.passage_prefix) i
    where sha256(convert_to(i.input, 'UTF8')) = d.input_hash
    order by i.chunk_no
    on conflict do nothing
    returning chunk_no
  )
  select array_agg(s.chunk_no) into v_stored from stored s;
  perform ragdb._derive_embedded_turns(v_space, v_stored);
  return coalesce(cardinality(v_stored), 0);
end $$;
comment on function ragdb.complete_embeddings(integer, bytea[], integer[], real[]) is
  'Stores the embeddings (one behind the other) of claimed inputs for all chunks that have these inputs still, and returns how many chunks that is; claims lost meanwhile are left alone. Raises RG400, RG404, RG418.';

create or replace function ragdb.fail_embeddings(
  space_id integer, input_hashes bytea[], attempts integer[], error text,
  retry_after interval default null)
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space ragdb.embedding_spaces := ragdb._space_of(space_id);
  v_dead integer;
begin
  if input_hashes is null or coalesce(cardinality(attempts), -1) <> cardinality(input_hashes) or error is null then
    raise exception 'input_hashes and attempts are not of one length, or error is null'
      using errcode = 'RG400', detail = 'they are parallel, one entry an input',
            hint = 'pass them as ragdb.claim_embeddings() returned them';
  end if;
  -- 2, 4, 8 and 16 seconds, give or take a half, so that many workers do not come back at once;
  -- retry_after says that the provider is at fault, not the input, and counts no failure
  with failed as (
    update ragdb.embedding_jobs j
    set worker = null, last_error = left(error, 500),
        failures = j.failures + case when retry_after is null then 1 else 0 end,
        attempt = j.attempt,
        is_dead = retry_after is null and j.failures + 1 >= 5,
        due_at = clock_timestamp() + coalesce(retry_after,
          make_interval(secs => 2 ^ least(j.failures + 1, 8))) * (0.5 + random())
    from unnest(input_hashes, attempts) g (hash, attempt)
    where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id
      and j.input_hash = g.hash and j.attempt = g.attempt
    returning j.is_dead
  )
  select count(*) filter (where f.is_dead) into v_dead from failed f;
  return v_dead;
end $$;
comment on function ragdb.fail_embeddings(integer, bytea[], integer[], text, interval) is
  'Gives claimed inputs back after a failure, to be tried again after a back-off, or after about retry_after when the provider and not the input failed; the fifth failure kills a job. Returns how many died. Raises RG400, RG404.';

create or replace function ragdb.retry_failed(corpus text default null) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_only integer;
  v_revived integer;
begin
  if corpus is not null then
    v_only := (ragdb._open_corpus(retry_failed.corpus, 'write')).corpus_id;
  end if;
  update ragdb.embedding_jobs j
    set is_dead = false, failures = 0, attempt = j.attempt + 1, worker = null, due_at = clock_timestamp()
    from ragdb.corpora c
    where c.corpus_id = j.corpus_id and j.corpus_id = coalesce(v_only, j.corpus_id)
      and ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 2
      and j.worker is null and j.failures > 0;
  get diagnostics v_revived = row_count;
  perform pg_notify('ragdb_embeddings', '');
  return v_revived;
end $$;
comment on function ragdb.retry_failed(text) is
  'Makes all inputs that failed, dead or backing off, due at once, of one corpus or all that the caller may write, and returns how many. Raises RG401, RG404.';

-- Everything a claim can miss: rows restored from elsewhere, jobs removed by hand, a space that was retired.
create or replace function ragdb.requeue_embeddings(corpus text default null) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_only integer;
  v_queued integer;
begin
  if corpus is not null then
    v_only := (ragdb._open_corpus(requeue_embeddings.corpus, 'write')).corpus_id;
  end if;
  update ragdb.embedding_spaces s set queued_to = 0
    from ragdb.corpora c
    where c.corpus_id = s.corpus_id and s.corpus_id = coalesce(v_only, s.corpus_id) and s.queued_to > 0
      and s.state <> 'retired' and ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 2;
  get diagnostics v_queued = row_count;
  return v_queued;
end $$;
comment on function ragdb.requeue_embeddings(text) is
  'Has workers look again at every chunk without an embedding, of one corpus or all that the caller may write, and returns the number of spaces. Raises RG401, RG404.';

create or replace function ragdb.embedding_status(only_corpus text default null)
returns table (
  corpus text, embedder text, model text, provider text, provider_model text, dims integer, metric text,
  state text, chunks integer, embedded bigint, coverage float8, backlog bigint, in_work bigint, failing bigint,
  dead bigint, oldest interval, last_error text, is_indexed boolean)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_only integer;
begin
  if only_corpus is not null then
    v_only := (ragdb._open_corpus(only_corpus, 'read')).corpus_id;
  end if;
  return query
    select c.name, e.name, e.model, e.provider, e.provider_model, e.dims, e.metric, s.state, c.chunks, n.embedded,
      case when c.chunks = 0 then 1 else n.embedded::float8 / c.chunks end,
      c.chunks - n.embedded - j.dead, j.in_work, j.failing, j.dead, j.oldest, j.last_error, s.is_indexed
    from ragdb.embedding_spaces s
      join ragdb.corpora c on c.corpus_id = s.corpus_id
      join ragdb.embedders e on e.embedder_id = s.embedder_id
      cross join lateral (select count(*) as embedded from ragdb.chunk_embeddings k
        where k.space_id = s.space_id) n
      cross join lateral (select
          coalesce(sum(cardinality(b.chunk_nos)) filter (where b.is_dead), 0)::bigint as dead,
          count(*) filter (where b.worker is not null and b.due_at > clock_timestamp()) as in_work,
          count(*) filter (where not b.is_dead and b.failures > 0) as failing,
          clock_timestamp() - min(b.created_at) filter (where not b.is_dead) as oldest,
          (array_agg(b.last_error order by b.due_at desc) filter (where b.last_error is not null))[1] as last_error
        from ragdb.embedding_jobs b
        where b.corpus_id = s.corpus_id and b.space_id = s.space_id) j
    where s.corpus_id = coalesce(v_only, s.corpus_id)
      and ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 1
    order by c.name, s.state = 'current' desc, s.space_id;
end $$;
comment on function ragdb.embedding_status(text) is
  'Lists the spaces of one corpus or all that the caller may read: coverage (0 to 1), chunks that wait, inputs in work, failing and dead, the age of the oldest job and the last error. Raises RG401, RG404.';

create or replace view ragdb.embedding_status with (security_invoker = true) as
select * from ragdb.embedding_status();
comment on view ragdb.embedding_status is 'The spaces of all corpora that the reader may read; see the function of that name.';
comment on column ragdb.embedding_status.corpus is 'Name of the corpus.';
comment on column ragdb.embedding_status.embedder is 'Embedder of the space.';
comment on column ragdb.embedding_status.model is 'Model that the embedder promises.';
comment on column ragdb.embedding_status.provider is 'Provider that it is bound to; null while it is bound to none.';
comment on column ragdb.embedding_status.provider_model is 'Model as the provider calls it.';
comment on column ragdb.embedding_status.dims is 'Width of a vector.';
comment on column ragdb.embedding_status.metric is 'cosine, ip or l2.';
comment on column ragdb.embedding_status.state is 'building, current or retired.';
comment on column ragdb.embedding_status.chunks is 'Chunks of the corpus.';
comment on column ragdb.embedding_status.embedded is 'Chunks that have a vector.';
comment on column ragdb.embedding_status.coverage is 'Share of the chunks that have one, 0 to 1.';
comment on column ragdb.embedding_status.backlog is 'Chunks that wait for one.';
comment on column ragdb.embedding_status.in_work is 'Inputs that a worker has claimed.';
comment on column ragdb.embedding_status.failing is 'Inputs that failed and will be tried again.';
comment on column ragdb.embedding_status.dead is 'Inputs that are not tried any more.';
comment on column ragdb.embedding_status.oldest is 'How long the oldest input has waited.';
comment on column ragdb.embedding_status.last_error is 'Error of the latest failure.';
comment on column ragdb.embedding_status.is_indexed is 'Whether the space has an HNSW index.';

create or replace function ragdb.list_failed_embeddings(corpus text)
returns table (embedder text, chunk_id text, is_dead boolean, failures integer, last_error text, due_at timestamptz)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select e.name, c.chunk_id, j.is_dead, j.failures, j.last_error, j.due_at
  from ragdb._open_corpus(list_failed_embeddings.corpus, 'read') o
    join ragdb.embedding_jobs j on j.corpus_id = o.corpus_id
    join ragdb.embedding_spaces s on s.corpus_id = j.corpus_id and s.space_id = j.space_id
    join ragdb.embedders e on e.embedder_id = s.embedder_id
    join ragdb.chunks c on c.corpus_id = j.corpus_id and c.chunk_no = any (j.chunk_nos)
  where j.last_error is not null
  order by e.name, c.chunk_id;
end;
comment on function ragdb.list_failed_embeddings(text) is
  'Lists the chunks of a corpus whose embedding failed, with the error, dead ones and those to be tried again. Raises RG400, RG401, RG404.';

-- Queries

create or replace function ragdb._keep_query_embedding(corpus_id integer, embedder_id integer, embedding real[])
returns bytea
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hash bytea := ragdb._vector_hash(embedding);
begin
  insert into ragdb.query_embeddings (corpus_id, embedding_hash, embedder_id, embedding, created_at)
    values (_keep_query_embedding.corpus_id, v_hash, _keep_query_embedding.embedder_id,
      ragdb._vector(_keep_query_embedding.embedding), ragdb._now())
    on conflict do nothing;
  return v_hash;
end $$;
comment on function ragdb._keep_query_embedding(integer, integer, real[]) is
  'Keeps an embedding under its own hash, and returns that.';

create or replace function ragdb._query_embedding(corpus_id integer, embedder_id integer, query text) returns real[]
language sql stable parallel safe
return (select ragdb._numbers(v.embedding)
  from ragdb.embedded_queries q
    join ragdb.query_embeddings v on v.corpus_id = q.corpus_id and v.embedder_id = q.embedder_id
      and v.embedding_hash = q.embedding_hash
  where q.corpus_id = _query_embedding.corpus_id and q.embedder_id = _query_embedding.embedder_id
    and q.query_hash = pg_catalog.sha256(pg_catalog.convert_to(_query_embedding.query, 'UTF8')));
comment on function ragdb._query_embedding(integer, integer, text) is
  'Returns the embedding kept for a query; null when there is none.';

-- For writers only: what is kept here answers every reader who asks the same
create or replace function ragdb.put_query_embedding(corpus text, query text, embedding float8[]) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(put_query_embedding.corpus, 'write');
  v_space ragdb.embedding_spaces := ragdb._current_space(v_corpus);
  v_embedder ragdb.embedders;
  v_hash bytea;
begin
  if query is null or query = '' then
    raise exception 'query is %', case when query is null then 'null' else 'empty' end
      using errcode = 'RG400', detail = 'an embedding is kept under its query', hint = 'pass the query as it is asked';
  end if;
  select e.* into strict v_embedder from ragdb.embedders e where e.embedder_id = v_space.embedder_id;
  perform ragdb._check_embeddings(embedding::real[], v_embedder.dims, v_embedder.metric, array['the query']);
  v_hash := ragdb._keep_query_embedding(v_corpus.corpus_id, v_embedder.embedder_id, embedding::real[]);
  insert into ragdb.embedded_queries (corpus_id, embedder_id, query_hash, embedding_hash, due_at)
    values (v_corpus.corpus_id, v_embedder.embedder_id, sha256(convert_to(query, 'UTF8')), v_hash, ragdb._now())
    on conflict on constraint embedded_queries_are_unique_per_embedder do update
      set embedding_hash = excluded.embedding_hash, query_text = null;
  return encode(v_hash, 'hex');
end $$;
comment on function ragdb.put_query_embedding(text, text, float8[]) is
  'Keeps the embedding of a query for a corpus''s current embedder, so that everyone can search by it, and returns its hash. Raises RG400, RG401, RG404, RG415, RG418.';

create or replace function ragdb._current_space(corpus ragdb.corpora) returns ragdb.embedding_spaces
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space ragdb.embedding_spaces := ragdb._space(corpus.corpus_id, 'current');
begin
  if v_space.space_id is null then
    raise exception 'corpus % has no embeddings', ragdb._quote(corpus.name)
      using errcode = 'RG415', detail = 'it can be searched by words only',
            hint = format('ragdb embed %s makes them; or pass mode => ''lexical''', corpus.name);
  end if;
  return v_space;
end $$;
comment on function ragdb._current_space(ragdb.corpora) is
  'Returns the current space of a corpus. Raises RG415.';

create or replace function ragdb.request_query_embedding(corpus text, query text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(request_query_embedding.corpus, 'read');
  v_space ragdb.embedding_spaces := ragdb._current_space(v_corpus);
begin
  if query is null or query !~ '\S' or length(query) > 32768 then
    raise exception 'query is %', case when query is null then 'null' when length(query) > 32768 then 'too long' else 'empty' end
      using errcode = 'RG400', detail = 'a query has 1 to 32768 characters', hint = 'pass the question as query';
  end if;
  if ragdb._query_embedding(v_corpus.corpus_id, v_space.embedder_id, query) is not null then
    return true;
  end if;
  insert into ragdb.embedded_queries as q (corpus_id, embedder_id, query_hash, query_text, due_at)
    values (v_corpus.corpus_id, v_space.embedder_id, sha256(convert_to(query, 'UTF8')), query, clock_timestamp())
    on conflict on constraint embedded_queries_are_unique_per_embedder do update
      set due_at = least(q.due_at, excluded.due_at), last_error = null;
  perform pg_notify('ragdb_embeddings', 'query');
  return false;
end $$;
comment on function ragdb.request_query_embedding(text, text) is
  'Asks the workers for the embedding of a query (1 to 32768 characters) and says whether it is there already. Raises RG400, RG401, RG404, RG415.';

create or replace function ragdb.query_embedding_state(corpus text, query text)
returns table (is_ready boolean, last_error text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(query_embedding_state.corpus, 'read');
  v_space ragdb.embedding_spaces := ragdb._current_space(v_corpus);
begin
  select q.embedding_hash is not null, q.last_error into is_ready, last_error
    from ragdb.embedded_queries q
    where q.corpus_id = v_corpus.corpus_id and q.embedder_id = v_space.embedder_id
      and q.query_hash = sha256(convert_to(query, 'UTF8'));
  is_ready := coalesce(is_ready, false);
  return next;
end $$;
comment on function ragdb.query_embedding_state(text, text) is
  'Says whether a query''s embedding is kept, and why a worker failed to make it. Raises RG400, RG401, RG404, RG415.';

create or replace function ragdb.claim_queries(
  worker text, count integer default 16, lease interval default '60 seconds', only_embedder text default null)
returns table (corpus text, embedder text, query_hash bytea, attempt integer, query text, input text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform ragdb._check_worker(worker, lease);
  if count is null or count not between 1 and 1000 then
    raise exception 'count is %', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'a claim takes that many queries', hint = 'pass count from 1 to 1000';
  end if;
  return query
    with due as materialized (
      select q.corpus_id, q.embedder_id, q.query_hash, c.name as corpus, e.name as embedder, e.query_prefix
      from ragdb.embedded_queries q
        join ragdb.corpora c on c.corpus_id = q.corpus_id
        join ragdb.embedders e on e.embedder_id = q.embedder_id
      where q.embedding_hash is null and q.due_at <= clock_timestamp()
        and e.name = coalesce(only_embedder, e.name)
        and ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 2
      order by q.due_at limit claim_queries.count
      for update of q skip locked
    )
    update ragdb.embedded_queries q
    set attempt = q.attempt + 1, due_at = clock_timestamp() + claim_queries.lease
    from due d
    where q.corpus_id = d.corpus_id and q.embedder_id = d.embedder_id and q.query_hash = d.query_hash
    returning d.corpus, d.embedder, q.query_hash, q.attempt, q.query_text, d.query_prefix || q.query_text;
end $$;
comment on function ragdb.claim_queries(text, integer, interval, text) is
  'Claims up to count (1 to 1000) queries that wait for an embedding, of corpora that the caller may write. Answer each with ragdb.put_query_embedding() or ragdb.fail_query(). Raises RG400.';

create or replace function ragdb.fail_query(corpus text, embedder text, query_hash bytea, attempt integer, error text)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(fail_query.corpus, 'write');
  v_embedder ragdb.embedders := ragdb._embedder(embedder);
begin
  -- five failures, and nobody waits for it any more
  delete from ragdb.embedded_queries q
    where q.corpus_id = v_corpus.corpus_id and q.embedder_id = v_embedder.embedder_id
      and q.query_hash = fail_query.query_hash and q.attempt = fail_query.attempt
      and q.embedding_hash is null and q.attempt >= 5;
  update ragdb.embedded_queries q
    set last_error = left(coalesce(error, 'unknown'), 500),
        due_at = clock_timestamp() + make_interval(secs => 2 ^ least(q.attempt, 6)) * (0.5 + random())
    where q.corpus_id = v_corpus.corpus_id and q.embedder_id = v_embedder.embedder_id
      and q.query_hash = fail_query.query_hash and q.attempt = fail_query.attempt
      and q.embedding_hash is null;
end $$;
comment on function ragdb.fail_query(text, text, bytea, integer, text) is
  'Gives a claimed query back after a failure, to be tried again after a back-off, five times in all. Raises RG400, RG401, RG404, RG416.';

-- Commits, so that a worker sees the request: no set clause and no definer, everything qualified.
create or replace procedure ragdb.embed_query(query text, corpus text default null, timeout_s float8 default 30)
language plpgsql
as $$
declare
  v_corpora text[];
  v_name text;
  v_ready boolean;
  v_error text;
  v_until timestamptz := pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => timeout_s);
begin
  if pg_catalog.transaction_timestamp() <> pg_catalog.statement_timestamp() then
    raise exception 'embed_query was called inside a transaction block'
      using errcode = 'RG419', detail = 'it commits, so that a worker sees the request, and waits for the answer',
            hint = 'call it on its own: outside begin … commit in psql, with autocommit in a driver';
  end if;
  if timeout_s is null or not (timeout_s between 0 and 3600) then
    raise exception 'timeout_s is %', coalesce(timeout_s::text, 'null')
      using errcode = 'RG400', detail = 'it is the time to wait in seconds', hint = 'pass 0 to 3600';
  end if;
  v_corpora := case when corpus is not null then array[corpus] else array(
    select distinct s.corpus from ragdb.embedding_status() s where s.state operator(pg_catalog.=) 'current') end;
  foreach v_name in array v_corpora loop
    perform ragdb.request_query_embedding(v_name, query);
  end loop;
  commit;
  foreach v_name in array v_corpora loop
    loop
      select s.is_ready, s.last_error into v_ready, v_error
        from ragdb.query_embedding_state(v_name, query) s;
      exit when v_ready;
      if pg_catalog.clock_timestamp() > v_until then
        raise exception 'no worker embedded the query in % s', timeout_s
          using errcode = 'RG420', detail = coalesce('the last attempt failed: ' || v_error, 'none has claimed it'),
                hint = 'start one with `ragdb worker`; the request stays, so a later call may find the answer';
      end if;
      perform pg_catalog.pg_sleep(0.02);
      commit;
    end loop;
  end loop;
end $$;
comment on procedure ragdb.embed_query(text, text, float8) is
  'Has a running worker embed a query for one corpus or all readable ones that have embeddings, and waits up to timeout_s (0 to 3600); from then on everyone can search by its meaning. Call it outside a transaction block. Raises RG400, RG401, RG404, RG415, RG419, RG420.';

---- sql/40_search.sql

-- Search: filters, exact BM25 over the lexical index, the reference ranking, and what a hit looks like.

do $$ begin
  if pg_catalog.to_regtype('ragdb.hit') is null then
    create type ragdb.hit as (
      rank integer, corpus text, chunk_id text, doc_cid text, source text, title text, heading text[],
      page integer, start_offset integer, end_offset integer, text text, citation jsonb,
      score float8, lexical_score float8, semantic_score float8,
      lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8,
      content_hash text, metadata jsonb, mode text, is_exact boolean);
  end if;
end $$;
comment on type ragdb.hit is
  'One result of a search: the chunk, where it stands in its source, and its scores in [0, 1] with the raw BM25 beside them.';

do $$ begin
  if pg_catalog.to_regtype('ragdb.ranked') is null then
    create type ragdb.ranked as (
      chunk_no integer, score float8, lexical_score float8, semantic_score float8,
      lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8, is_exact boolean);
  end if;
end $$;
comment on type ragdb.ranked is
  'A chunk in a ranking: its score, and score and rank in each leg; null where a leg did not run or lacks an embedding.';

-- A pattern becomes one of LIKE, whose matcher gives up at the first star that cannot be met: n·m steps at most.
create or replace function ragdb._glob_pattern(pattern text) returns text
language sql immutable parallel safe
return pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(
  _glob_pattern.pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '?', '_');
comment on function ragdb._glob_pattern(text) is
  'Returns the LIKE pattern of a glob: * is any run of characters, / included, and ? any one character.';

create or replace function ragdb._glob(text text, pattern text) returns boolean
language sql immutable parallel safe
return _glob.text like ragdb._glob_pattern(_glob.pattern);
comment on function ragdb._glob(text, text) is
  'Whether a text matches a glob as a whole: * is any run of characters, / included, and ? any one character.';

-- Every condition of a filter as one row, in one form: an operator, a field and a value.
create or replace function ragdb._filter_conditions(filter jsonb)
returns table (field text, is_builtin boolean, operator text, value jsonb)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_field record;
  v_operator record;
  v_operators jsonb;
  v_fits boolean;
begin
  if jsonb_typeof(filter) <> 'object' then
    raise exception 'filter is % and no object', jsonb_typeof(filter)
      using errcode = 'RG410', detail = 'it is ' || ragdb._quote(filter::text),
            hint = 'pass an object such as {"language": "en", "year": {"gte": 2020}}';
  end if;
  for v_field in select f.key, f.value from jsonb_each(filter) f order by f.key collate "C" loop
    field := v_field.key;
    v_operators := v_field.value;
    if field = 'min_year' then
      field := 'year';
      v_operators := jsonb_build_object('gte', v_operators);
    elsif jsonb_typeof(v_operators) = 'array' then
      v_operators := jsonb_build_object('all', v_operators);
    elsif jsonb_typeof(v_operators) <> 'object' then
      v_operators := jsonb_build_object('eq', v_operators);
    end if;
    is_builtin := field in ('source', 'language', 'title', 'page', 'doc_cid', 'media_type', 'uri');
    if v_operators = '{}' then
      raise exception 'filter on % has no operator', ragdb._quote(field)
        using errcode = 'RG410', detail = 'its value is an empty object', hint = 'operators are eq, ne, gt, gte, lt, lte, in, any, all, exists, glob';
    end if;
    for v_operator in select o.key, o.value from jsonb_each(v_operators) o order by o.key collate "C" loop
      operator := v_operator.key;
      value := v_operator.value;
      v_fits := case
        when operator in ('eq', 'ne') then not is_builtin
          or jsonb_typeof(value) = case field when 'page' then 'number' else 'string' end
        when operator in ('gt', 'gte', 'lt', 'lte') then jsonb_typeof(value) in ('number', 'string')
          and (not is_builtin or jsonb_typeof(value) = case field when 'page' then 'number' else 'string' end)
        when operator in ('in', 'any', 'all') then jsonb_typeof(value) = 'array'
          and not (is_builtin and jsonb_path_exists(value, case field when 'page' then '$[*] ? (@.type() != "number")'::jsonpath
            else '$[*] ? (@.type() != "string")'::jsonpath end))
        when operator = 'exists' then jsonb_typeof(value) = 'boolean'
        when operator = 'glob' then jsonb_typeof(value) = 'string' and field <> 'page' end;
      if v_fits is null then
        raise exception 'filter operator % is unknown', ragdb._quote(operator)
          using errcode = 'RG410', detail = 'it stands in the filter on ' || ragdb._quote(field),
                hint = 'operators are eq, ne, gt, gte, lt, lte, in, any, all, exists, glob';
      elsif not v_fits then
        raise exception 'filter operator % of % cannot take %', operator, ragdb._quote(field), ragdb._quote(value::text)
          using errcode = 'RG410', detail = 'the value is of type ' || jsonb_typeof(value),
                hint = 'gt, gte, lt, lte take a number or a string; in, any, all an array; exists a boolean; glob a string; page is a number, the other built-in fields are strings';
      elsif operator = 'glob' and (length(value #>> '{}') > 1024
          or length(value #>> '{}') - length(replace(value #>> '{}', '*', '')) > 16) then
        raise exception 'glob of % is too long', ragdb._quote(field)
          using errcode = 'RG410', detail = 'it has ' || length(value #>> '{}') || ' characters',
                hint = 'a glob has at most 1024 characters and 16 stars';
      end if;
      return next;
    end loop;
  end loop;
end $$;
comment on function ragdb._filter_conditions(jsonb) is
  'Returns the conditions of a filter, checked. Raises RG410.';

-- A filter as a condition on documents d and chunks c. The text is made of the pieces below and of numbers; names
-- and values of the caller stay in $1, the array of conditions.
create or replace function ragdb._filter_sql(conditions jsonb[]) returns text
language sql immutable parallel safe
begin atomic
  select pg_catalog.string_agg('(' || pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(e.text,
      '{V}', '($1[' || e.n || '] -> ''value'')'),
      '{T}', '($1[' || e.n || '] ->> ''value'')'),
      '{K}', '($1[' || e.n || '] ->> ''field'')') || ')', ' and ' order by e.n)
  from (
    select f.n, case
      when f.field = 'uri' then 'exists (select from ragdb.document_sources s where s.corpus_id = d.corpus_id'
        || ' and s.doc_no = d.doc_no and ' || pg_catalog.replace(f.template, '{F}', 's.uri') || ')'
      when f.is_builtin then pg_catalog.replace(f.template, '{F}', case f.field when 'source' then 'c.source'
        when 'language' then 'd.language collate "C"' when 'title' then 'd.title collate "C"' when 'page' then 'c.page::numeric'
        when 'doc_cid' then 'd.doc_cid' when 'media_type' then 'd.media_type collate "C"' end)
      else f.template end as text
    from (
      select c.n, c.condition ->> 'field' as field, (c.condition ->> 'is_builtin')::boolean as is_builtin,
        case when (c.condition ->> 'is_builtin')::boolean then
          case c.condition ->> 'operator'
            when 'eq' then '{F} = {X}' when 'ne' then '{F} is distinct from {X}'
            when 'gt' then '{F} > {X}' when 'gte' then '{F} >= {X}'
            when 'lt' then '{F} < {X}' when 'lte' then '{F} <= {X}'
            when 'in' then '{F} = any (array(select {E} from pg_catalog.jsonb_array_elements_text({V}) e))'
            when 'any' then '{F} = any (array(select {E} from pg_catalog.jsonb_array_elements_text({V}) e))'
            when 'all' then '{F} = all (array(select {E} from pg_catalog.jsonb_array_elements_text({V}) e))'
            when 'exists' then '({F} is not null) = ({T})::boolean'
            when 'glob' then '{F} like ragdb._glob_pattern({T})'
          end
        else
          case c.condition ->> 'operator'
            when 'eq' then 'd.metadata @> pg_catalog.jsonb_build_object({K}, {V}) and d.metadata -> {K} = {V}'
            when 'ne' then 'd.metadata -> {K} is distinct from {V}'
            when 'in' then 'd.metadata -> {K} = any (array(select e from pg_catalog.jsonb_array_elements({V}) e))'
            when 'any' then 'case when pg_catalog.jsonb_typeof(d.metadata -> {K}) = ''array'''
              || ' then exists (select from pg_catalog.jsonb_array_elements(d.metadata -> {K}) m'
              || ' where m = any (array(select e from pg_catalog.jsonb_array_elements({V}) e)))'
              || ' else d.metadata -> {K} = any (array(select e from pg_catalog.jsonb_array_elements({V}) e)) end'
            when 'all' then 'd.metadata @> pg_catalog.jsonb_build_object({K}, {V})'
            when 'exists' then 'pg_catalog.jsonb_exists(d.metadata, {K}) = ({T})::boolean'
            when 'glob' then 'pg_catalog.jsonb_typeof(d.metadata -> {K}) = ''string'''
              || ' and (d.metadata ->> {K}) like ragdb._glob_pattern({T})'
            else pg_catalog.format(case c.condition -> 'value' when pg_catalog.to_jsonb(c.condition ->> 'value')
                then 'case when pg_catalog.jsonb_typeof(d.metadata -> {K}) = ''string'' then (d.metadata ->> {K}) collate "C" %s {T} end'
                else 'case when pg_catalog.jsonb_typeof(d.metadata -> {K}) = ''number'' then (d.metadata ->> {K})::numeric %s ({T})::numeric end'
              end, case c.condition ->> 'operator' when 'gt' then '>' when 'gte' then '>=' when 'lt' then '<' else '<=' end)
          end
        end as raw
      from pg_catalog.unnest(_filter_sql.conditions) with ordinality c (condition, n)
    ) r
    cross join lateral (select pg_catalog.replace(pg_catalog.replace(r.raw,
      '{X}', case r.field when 'page' then '({T})::numeric' else '{T}' end),
      '{E}', case r.field when 'page' then 'e::numeric' else 'e' end) as template, r.n, r.field, r.is_builtin) f
  ) e;
end;
comment on function ragdb._filter_sql(jsonb[]) is
  'Returns the condition on documents d and chunks c that conditions of a filter, given as $1, amount to.';

create or replace function ragdb._filtered_chunks(
  corpus_id integer, filter jsonb, chunk_ids text[], most integer default null)
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_conditions jsonb[];
  v_chunk_nos integer[];
begin
  if chunk_ids is not null then
    v_chunk_nos := array(
      select c.chunk_no from ragdb.chunks c
      where c.corpus_id = _filtered_chunks.corpus_id and c.chunk_id = any (_filtered_chunks.chunk_ids));
  end if;
  if filter is null or filter = '{}' then
    return v_chunk_nos;
  end if;
  v_conditions := array(select to_jsonb(f) from ragdb._filter_conditions(filter) f);
  execute 'select array(select c.chunk_no from ragdb.documents d'
    ' cross join lateral (select h.chunk_no, h.source, h.page from ragdb.chunks h'
    ' where h.corpus_id = d.corpus_id and h.doc_no = d.doc_no offset 0) c'
    ' where d.corpus_id = $2 and ($3 is null or c.chunk_no = any ($3)) and ' || ragdb._filter_sql(v_conditions)
    || ' limit $4)'
  into v_chunk_nos using v_conditions, _filtered_chunks.corpus_id, v_chunk_nos, most;
  return v_chunk_nos;
end $$;
comment on function ragdb._filtered_chunks(integer, jsonb, text[], integer) is
  'Returns the chunks of a corpus that a filter and a list of chunk ids leave, at most so many (null: all); null when there is neither. Raises RG410.';

-- "quoted phrase", +word and -word, as web search engines have them; everything else only ranks. A sign counts
-- before a letter or a quote: "+1 nucleosome" and "-5 degrees" are plain words.
create or replace function ragdb._query_clauses(query text)
returns table (kind text, is_phrase boolean, text text)
language sql immutable parallel safe
begin atomic
  select case when m.part[1] = '-' then 'not' when m.part[1] = '+' or m.part[2] is not null then 'must' else 'rank' end,
    m.part[2] is not null, coalesce(m.part[2], m.part[3])
  from pg_catalog.regexp_matches(_query_clauses.query,
    '(?:(?<![^\s])([+-])(?=[^\u0001-\u0040[-\u0060{-\u007f]|"))?(?:"([^"]*)"|([^\s"]+|"))', 'g') m (part);
end;
comment on function ragdb._query_clauses(text) is
  'Splits a query into clauses: rank (a word), must (+word, "phrase") and not (-word, -"phrase").';

create or replace function ragdb._has_clauses(query text) returns boolean
language sql immutable parallel safe
return _has_clauses.query ~ '"|(^|\s)[+-][^\u0001-\u0040[-\u0060{-\u007f]';
comment on function ragdb._has_clauses(text) is 'Whether a query has more than words that rank.';

-- What a clause demands of a chunk, as the text of a tsquery over tokens; null when the corpus lacks one of its words.
create or replace function ragdb._clause_condition(corpus_id integer, words tsvector, is_phrase boolean)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_position record;
  v_last integer;
  v_condition text;
begin
  -- lexemes of one position are forms of one word: any of them will do
  for v_position in
    select p.position, '(' || string_agg(ragdb._token(l.corpus_id, l.term_id), '|' order by l.term_id) || ')' as tokens
    from unnest(_clause_condition.words) w cross join unnest(w.positions) p (position)
      left join ragdb.lexemes l on l.corpus_id = _clause_condition.corpus_id and l.lexeme = w.lexeme and l.df > 0
    group by p.position order by p.position
  loop
    if v_position.tokens is null then
      return null;
    end if;
    v_condition := concat(v_condition, case when v_last is null then ''
      when is_phrase then '<' || v_position.position - v_last || '>' else '&' end, v_position.tokens);
    v_last := v_position.position;
  end loop;
  return '(' || v_condition || ')';
end $$;
comment on function ragdb._clause_condition(integer, tsvector, boolean) is
  'Returns a tsquery, as text, that is true of chunks with all words of a clause (in order for a phrase); null when there can be none.';

-- What all clauses of a query demand; '' is nothing, null cannot be met.
create or replace function ragdb._query_condition(corpus ragdb.corpora, query text) returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_clause record;
  v_condition text;
  v_all text := '';
begin
  for v_clause in
    select c.kind, c.is_phrase, ragdb._words(c.text, corpus.text_config) as words
    from ragdb._query_clauses(query) c where c.kind <> 'rank'
  loop
    continue when v_clause.words = '';
    v_condition := ragdb._clause_condition(corpus.corpus_id, v_clause.words, v_clause.is_phrase);
    if v_clause.kind = 'must' then
      v_all := v_all || '&' || v_condition;
    elsif v_condition is not null then
      v_all := v_all || '&!' || v_condition;
    end if;
  end loop;
  return v_all;
end $$;
comment on function ragdb._query_condition(ragdb.corpora, text) is
  'Returns what the phrases, +words and -words of a query demand, as the rest of a tsquery ("&…"), empty for nothing and null when no chunk can have it.';

create or replace function ragdb._candidates(condition tsquery, weights sparsevec, k integer)
returns table (chunk_no integer, score float8)
language sql stable parallel safe
begin atomic
  select x.chunk_no, ragdb._inner_product(x.impacts, _candidates.weights)
  from ragdb.chunk_lexemes x
  where x.lexemes @@ _candidates.condition
  order by 2 desc
  limit _candidates.k;
end;
comment on function ragdb._candidates(tsquery, sparsevec, integer) is
  'Returns the k best chunks under a condition by their scores in float4, which only pre-rank.';

create or replace function ragdb._chunks_meeting(condition tsquery, most integer) returns integer[]
language sql stable parallel safe
return array(select x.chunk_no from ragdb.chunk_lexemes x where x.lexemes @@ _chunks_meeting.condition limit _chunks_meeting.most);
comment on function ragdb._chunks_meeting(tsquery, integer) is
  'Returns the chunks under a condition, so many at most.';

-- The other way round: its cost follows the number of chunks given.
create or replace function ragdb._candidates_among(
  corpus_id integer, chunk_nos integer[], condition tsquery, weights sparsevec, k integer)
returns table (chunk_no integer, score float8)
language sql stable parallel safe
begin atomic
  select x.chunk_no, ragdb._inner_product(x.impacts, _candidates_among.weights)
  from pg_catalog.unnest(_candidates_among.chunk_nos) n (chunk_no)
    cross join lateral (
      select y.chunk_no, y.impacts from ragdb.chunk_lexemes y
      where y.corpus_id = _candidates_among.corpus_id and y.chunk_no = n.chunk_no
        and (_candidates_among.condition is null or y.lexemes @@ _candidates_among.condition)
      offset 0) x
  where ragdb._inner_product(x.impacts, _candidates_among.weights) > 0
  order by 2 desc
  limit _candidates_among.k;
end;
comment on function ragdb._candidates_among(integer, integer[], tsquery, sparsevec, integer) is
  'Returns the k best of the given chunks that have a term and meet a condition (null: none) by their scores in float4.';

-- The same of groups of four chunks, which lie side by side.
create or replace function ragdb._candidates_in_groups(corpus_id integer, group_nos integer[], weights sparsevec)
returns table (chunk_no integer, score float8)
language sql stable parallel safe
begin atomic
  select x.chunk_no, ragdb._inner_product(x.impacts, _candidates_in_groups.weights)
  from pg_catalog.unnest(_candidates_in_groups.group_nos) g (group_no)
    cross join lateral (
      select y.chunk_no, y.impacts from ragdb.chunk_lexemes y
      where y.corpus_id = _candidates_in_groups.corpus_id
        and y.chunk_no between 4 * g.group_no + 1 and 4 * g.group_no + 4
      offset 0) x;
end;
comment on function ragdb._candidates_in_groups(integer, integer[], sparsevec) is
  'Returns the chunks of the given groups (from 0) with their scores in float4.';

-- A tsquery that every chunk meets whose upper bounds reach `need`: exact down to `depth` terms, below that "one of
-- those without which the rest cannot". GIN evaluates the tree at every posting it cannot skip, so a small tree
-- that lets some more chunks through beats the exact one (measured: three levels). '' is always true, null never.
create or replace function ragdb._bound_condition(
  tokens text[], bounds float8[], rests float8[], place integer, need float8, depth integer)
returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last integer := cardinality(tokens);
  v_without text;
  v_with text;
begin
  if need <= 0 then
    return '';
  elsif rests[place] < need then
    return null;
  elsif depth = 0 or place = v_last then
    while rests[v_last] < need loop
      v_last := v_last - 1;
    end loop;
    return '(' || array_to_string(tokens[place:v_last], '|') || ')';
  end if;
  v_without := ragdb._bound_condition(tokens, bounds, rests, place + 1, need, depth - 1);
  v_with := ragdb._bound_condition(tokens, bounds, rests, place + 1, need - bounds[place], depth - 1);
  if v_with = '' then
    v_with := tokens[place];
  elsif v_with = v_without then
    return v_with;
  else
    v_with := '(' || tokens[place] || '&' || v_with || ')';
  end if;
  return case when v_without is null then v_with when v_with is null then v_without
    else '(' || v_with || '|' || v_without || ')' end;
end $$;
comment on function ragdb._bound_condition(text[], float8[], float8[], integer, float8, integer) is
  'Returns a tsquery, as text, that is true of every chunk whose terms, by their bounds from place on, can reach need; rests[i] is the sum of bounds from i on.';

-- The score that counts: float8, terms in the order of their lexemes, whatever their numbers are. An impact is
-- a float4 made of a small whole number, the term's frequency, and gives it back exactly.
create or replace function ragdb._bm25(corpus ragdb.corpora, chunk_nos integer[], term_ids integer[], weights float8[])
returns table (chunk_no integer, bm25 float8, matched float8)
language sql stable parallel safe
begin atomic
  select x.chunk_no,
    coalesce(sum(t.weight * ((corpus).k1 + 1) * f.tf / (f.tf + n.norm) order by t.ordinal) filter (where f.tf > 0), 0),
    coalesce(sum(t.weight order by t.ordinal) filter (where f.tf > 0), 0)
  from pg_catalog.unnest(_bm25.chunk_nos) a (chunk_no)
    cross join lateral (
      select y.chunk_no, y.impacts, y.lexeme_count from ragdb.chunk_lexemes y
      where y.corpus_id = (corpus).corpus_id and y.chunk_no = a.chunk_no offset 0) x
    cross join lateral (select (corpus).k1 * (1 - (corpus).b + (corpus).b * x.lexeme_count / (corpus).pivot) as norm
      offset 0) n
    cross join (
      select u.weight, u.ordinal, ragdb._sparse(u.term_id || ':1') as unit
      from rows from (unnest(_bm25.term_ids), unnest(_bm25.weights)) with ordinality u (term_id, weight, ordinal)
      offset 0) t
    cross join lateral (select ragdb._inner_product(x.impacts, t.unit) as impact offset 0) i
    cross join lateral (select case when i.impact > 0 then
        greatest(1, round(i.impact * n.norm / nullif((corpus).k1 + 1 - i.impact, 0))) else 0 end as tf offset 0) f
  group by x.chunk_no;
end;
comment on function ragdb._bm25(ragdb.corpora, integer[], integer[], float8[]) is
  'Returns the exact BM25 of chunks and the weight of the terms they have; weights are idf times query frequency, in the order of the sum.';

-- The k best by the blocks. Chunks that these do not know (newer, or indexed anew), and the best of those with a word
-- that no block has, are candidates anyway.
create or replace function ragdb._find_in_blocks(
  corpus ragdb.corpora, state ragdb.block_states, term_ids integer[], weights float8[], vector sparsevec,
  reach float8, k integer, out chunk_nos integer[], out scores float8[])
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_unknown integer[];
  v_ids integer[];
  v_times integer[];
  v_most float8;
  v_loose tsquery;
  v_levels text[];
  v_blocks constant integer := ragdb._blocks(state.last_chunk_no);
  v_score ragdb.chunk_embeddings.embedding%type;
  v_block_nos integer[];
  v_bits bit varying[];
  v_limit integer := 2 * k + 32;
  v_count bigint;
  v_low float8 := 0;
  v_high float8 := reach;
  -- the more words, the fewer of them a chunk has
  v_need float8 := reach / (1 + cardinality(term_ids) / 8.0);
  v_step float8 := 0.93;
  v_known float8;
begin
  -- A term's weight may have moved since the blocks were made, or counts more than once: v_most is how much more
  -- than the sum of its blocks a chunk can score at most.
  select array_agg(u.id) filter (where u.times is not null), array_agg(u.times) filter (where u.times is not null),
    coalesce(max(u.weight / (u.times * u.stored)), 1),
    string_agg(ragdb._token(corpus.corpus_id, u.id), '|') filter (where u.times is null)::tsquery
  into v_ids, v_times, v_most, v_loose
  from (
    select z.id, z.weight, b.weight as stored,
      case when b.weight is not null then greatest(1, least(100, round(z.weight / b.weight)))::integer end as times
    from unnest(term_ids, weights) z (id, weight)
      left join lateral (select t.weight from ragdb.term_blocks t
        where t.corpus_id = corpus.corpus_id and t.term_id = z.id limit 1) b on true) u;
  v_unknown := state.stale_chunks || array(select generate_series(state.last_chunk_no + 1, corpus.next_chunk_no - 1));
  v_levels := ragdb._levels(v_ids, v_times);
  -- a score that at least k groups reach and no more than some hundred: first guessed from one block
  v_score := ragdb._block_score(corpus.corpus_id, 0, v_levels);
  for v_i in 1..8 loop
    v_count := coalesce(v_blocks * ragdb._count_above(v_score, v_need / v_most), 0);
    exit when v_count between k + 25 and 3 * k + 90;
    if v_count > k + 25 then
      v_low := v_need;
      v_need := least((v_low + v_high) / 2, 1.25 * v_low);
    else
      v_high := v_need;
      v_need := greatest((v_low + v_high) / 2, 0.7 * v_high);
    end if;
  end loop;
  v_low := 0;
  v_high := reach;
  for v_i in 1..12 loop
    select a.block_nos, a.bits, a.count into v_block_nos, v_bits, v_count
      from ragdb._blocks_above(corpus.corpus_id, v_blocks, v_levels, v_need / v_most * (1 - 1e-5::float8)) a;
    v_known := v_need;
    -- to look at some more groups costs less than to add up all terms again
    exit when v_count between k and 3 * k + 200 + 20 * cardinality(v_ids);
    if v_count < k then
      v_high := v_need;
    else
      v_low := v_need;
    end if;
    v_need := case when v_low = 0 then 0.8 * v_high else least((v_low + v_high) / 2, 1.2 * v_low) end;
  end loop;
  if v_count < k then
    v_need := v_low;
  end if;
  loop
    if v_need <> v_known then
      select a.block_nos, a.bits into v_block_nos, v_bits
        from ragdb._blocks_above(corpus.corpus_id, v_blocks, v_levels, v_need / v_most * (1 - 1e-5::float8)) a;
      v_known := v_need;
    end if;
    select array_agg(c.chunk_no order by c.score desc), array_agg(c.score order by c.score desc)
    into chunk_nos, scores
    from (
      select q.chunk_no, max(q.score) as score
      from (
        select g.chunk_no, g.score
        from ragdb._candidates_in_groups(corpus.corpus_id, array(
          select (p.place - 1) * v_blocks + b.block_no
          from unnest(v_block_nos, v_bits) b (block_no, bits) cross join lateral unnest(ragdb._set_bits(b.bits)) p (place)),
          vector) g
        union all
        select u.chunk_no, u.score from ragdb._candidates_among(corpus.corpus_id, v_unknown, null, vector, v_limit) u
        union all
        select l.chunk_no, l.score from ragdb._candidates(v_loose, vector, v_limit) l) q
      where q.score > 0
      group by q.chunk_no
      order by score desc
      limit v_limit) c;
    v_count := coalesce(cardinality(chunk_nos), 0);
    if v_count = v_limit and scores[v_limit] >= scores[k] * (1 - 1e-5::float8) then
      v_limit := 8 * v_limit;
      continue;
    end if;
    exit when v_need = 0 or v_count >= k and scores[k] * (1 - 1e-5::float8) >= v_need;
    -- the k-th score is a need that will do; one close to the first is cheaper, and mostly does
    v_need := case when v_count >= k then greatest(scores[k] * (1 - 2e-5::float8), v_step * v_need)
      when v_need < reach / 100 then 0 else v_need / 2 end;
    v_step := 0;
  end loop;
end $$;
comment on function ragdb._find_in_blocks(ragdb.corpora, ragdb.block_states, integer[], float8[], sparsevec, float8, integer) is
  'Returns the k best chunks and what ties with the last by their scores in float4, best first, from the blocks of the corpus; reach is what a chunk can score at most.';

-- Three ways to the same result. Few postings, or a list of chunks: score them all. Else a tsquery that lets through
-- what can reach the k-th score, a guess at first: cheap where GIN has few postings to look at. Else the blocks.
create or replace function ragdb._rank_lexical(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, k integer, filter jsonb, chunk_ids text[],
  also integer[] default null)
returns table (chunk_no integer, score float8, bm25 float8, coverage float8)
language plpgsql stable parallel safe rows 20
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  v_text text := query;
  v_must text := '';
  v_ids integer[];
  v_weights float8[];
  v_asked float8;
  v_vector ragdb.chunk_lexemes.impacts%type;
  v_tokens text[];
  v_bounds float8[];
  v_rests float8[];
  v_reach float8;
  v_postings bigint;
  v_conditions jsonb[];
  v_sql text;
  v_among integer[];
  v_state ragdb.block_states;
  v_condition text;
  v_guess float8 := 0.65;
  v_need float8;
  v_limit integer := 2 * k + 32;
  v_found integer[];
  v_scores float8[];
  v_count integer;
begin
  if ragdb._has_clauses(query) then
    select string_agg(c.text, ' ') filter (where c.kind <> 'not') into v_text from ragdb._query_clauses(query) c;
    v_must := ragdb._query_condition(corpus, query);
  end if;
  select array_agg(t.term_id order by t.lexeme) filter (where t.df > 0),
    array_agg(t.weight order by t.lexeme) filter (where t.df > 0),
    array_agg(t.weight * t.max_impact order by t.lexeme) filter (where t.df > 0),
    ragdb._sparse(string_agg(t.term_id || ':' || t.weight::real, ',' order by t.lexeme) filter (where t.df > 0)),
    sum(t.weight order by t.lexeme), sum(t.weight * t.max_impact order by t.lexeme) filter (where t.df > 0), sum(t.df)
  into v_ids, v_weights, v_bounds, v_vector, v_asked, v_reach, v_postings
  from (
    select w.lexeme collate "C" as lexeme, l.term_id, coalesce(l.df, 0) as df, l.max_impact,
      cardinality(w.positions) * ln(1 + (statistics.chunks - n.df + 0.5::float8) / (n.df + 0.5::float8)) as weight
    from unnest(ragdb._lexemes(v_text, corpus.text_config)) w
      left join lateral (select d.term_id, d.df, d.max_impact from ragdb.lexemes d
        where d.corpus_id = corpus.corpus_id and d.lexeme = w.lexeme offset 0) l on true
      cross join lateral (select coalesce(case when statistics.corpus_id = corpus.corpus_id then l.df
        else (select d.df from ragdb.lexemes d
          where d.corpus_id = statistics.corpus_id and d.lexeme = w.lexeme) end, 0) as df offset 0) n) t;
  if filter is not null or chunk_ids is not null then
    v_among := ragdb._filtered_chunks(corpus.corpus_id, filter, chunk_ids, case when chunk_ids is null then 5001 end);
    if chunk_ids is null and cardinality(v_among) > 5000 then
      v_among := null;
      v_conditions := array(select to_jsonb(f) from ragdb._filter_conditions(filter) f);
      v_sql := 'select array_agg(q.chunk_no order by q.score desc), array_agg(q.score order by q.score desc) from ('
        'select x.chunk_no, ragdb._inner_product(x.impacts, $2) as score from ragdb.chunk_lexemes x'
        ' cross join lateral (select h.doc_no, h.source, h.page from ragdb.chunks h'
        ' where h.corpus_id = $3 and h.chunk_no = x.chunk_no offset 0) c'
        ' cross join lateral (select o.* from ragdb.documents o'
        ' where o.corpus_id = $3 and o.doc_no = c.doc_no offset 0) d'
        ' where x.lexemes @@ $4 and ' || ragdb._filter_sql(v_conditions) || ' order by 2 desc limit $5) q';
    end if;
  end if;
  if v_ids is null or v_must is null then
    return;
  end if;
  -- what phrases and +words leave is mostly little
  if v_must like '%&(%' and v_among is null and v_sql is null and v_postings > 400 then
    v_among := ragdb._chunks_meeting(substr(v_must, 2)::tsquery, 5001);
    if cardinality(v_among) > 5000 then
      v_among := null;
    else
      v_must := '';
    end if;
  end if;
  -- Every chunk with a score of at least v_need is looked at. The k-th score found is a lower bound of the true one,
  -- so what follows a guess that was too high is right.
  v_need := case when v_among is not null or v_postings <= 400 then 0 else v_guess * v_reach end;
  if v_need > 0 and v_sql is null and v_must = '' then
    select t.* into v_state from ragdb.block_states t
      where t.corpus_id = corpus.corpus_id and t.last_chunk_no >= corpus.next_chunk_no - 4096;
  end if;
  if v_state.corpus_id is not null then
    select f.chunk_nos, f.scores into v_found, v_scores
      from ragdb._find_in_blocks(corpus, v_state, v_ids, v_weights, v_vector, v_reach, k) f;
    v_count := coalesce(cardinality(v_found), 0);
  else
    select array_agg(ragdb._token(corpus.corpus_id, t.id) order by t.bound desc, t.n),
      array_agg(t.bound order by t.bound desc, t.n), array_agg(t.rest order by t.bound desc, t.n)
    into v_tokens, v_bounds, v_rests
    from (select u.*, sum(u.bound) over (order by u.bound, u.n desc) as rest
      from unnest(v_ids, v_bounds) with ordinality u (id, bound, n)) t;
  end if;
  while v_state.corpus_id is null loop
    if v_among is not null then
      select array_agg(c.chunk_no order by c.score desc), array_agg(c.score order by c.score desc)
      into v_found, v_scores
      from ragdb._candidates_among(corpus.corpus_id, v_among, nullif(substr(v_must, 2), '')::tsquery, v_vector, v_limit) c;
    else
      v_condition := ragdb._bound_condition(v_tokens, v_bounds, v_rests, 1, v_need,
        case when cardinality(v_tokens) > 16 then 2 else 3 end);
      if v_condition = '' then
        v_condition := '(' || array_to_string(v_tokens, '|') || ')';
      end if;
      if v_sql is null then
        select array_agg(c.chunk_no order by c.score desc), array_agg(c.score order by c.score desc)
        into v_found, v_scores
        from ragdb._candidates((v_condition || v_must)::tsquery, v_vector, v_limit) c;
      else
        execute v_sql into v_found, v_scores
          using v_conditions, v_vector, corpus.corpus_id, (v_condition || v_must)::tsquery, v_limit;
      end if;
    end if;
    v_count := coalesce(cardinality(v_found), 0);
    if v_count = v_limit and v_scores[v_limit] >= v_scores[k] * (1 - 1e-5::float8) then
      -- ties at the k-th place, and what float4 cannot tell from them, are all candidates
      v_limit := 8 * v_limit;
      continue;
    end if;
    exit when v_need = 0 or v_count >= k and v_scores[k] * (1 - 1e-5::float8) >= v_need;
    if v_count >= k then
      v_need := v_scores[k] * (1 - 2e-5::float8);
    else
      v_guess := v_guess * 0.65;
      v_need := case when v_guess < 0.1 then 0 else least(v_need * 0.65, v_guess * v_reach) end;
    end if;
  end loop;
  -- what float4 puts clearly below the k-th cannot rank
  if v_count > k then
    v_found := v_found[:(select count(*)::integer from unnest(v_scores) s where s >= v_scores[k] * (1 - 1e-5::float8))];
  end if;
  if also is not null then
    v_found := array(select n from unnest(v_found) n union select n from unnest(also) n);
  end if;
  return query
    select b.chunk_no, b.bm25 / (v_asked * (corpus.k1 + 1)), b.bm25, b.matched / v_asked
    from ragdb._bm25(corpus, v_found, v_ids, v_weights) b;
end $$;
comment on function ragdb._rank_lexical(ragdb.corpora, ragdb.corpora, text, integer, jsonb, text[], integer[]) is
  'Returns at least the k best chunks of a corpus by BM25 over the most the query could reach, and those of also, in no order, with the raw BM25 and the share of the query''s idf that the chunk has. Raises RG410.';

create or replace function ragdb._rank_reference(
  corpus ragdb.corpora, query text, k integer, filter jsonb, chunk_ids text[])
returns table (chunk_no integer, score float8, bm25 float8, coverage float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tokens text[] := ragdb._reference_tokens(query);
  v_among integer[] := ragdb._filtered_chunks(corpus.corpus_id, filter, chunk_ids);
begin
  return query
    select j.chunk_no, j.score, null::float8, null::float8
    from (
      select c.chunk_no, c.chunk_id, ragdb._jaccard(v_tokens, ragdb._reference_tokens(c.text)) as score
      from ragdb.chunks c
      where c.corpus_id = corpus.corpus_id and (v_among is null or c.chunk_no = any (v_among))) j
    where j.score > 0
    order by j.score desc, j.chunk_id
    limit k;
end $$;
comment on function ragdb._rank_reference(ragdb.corpora, text, integer, jsonb, text[]) is
  'Returns the k chunks whose sets of words are most alike the query''s (Jaccard, over 0), as the reference runtime ranks. Reads every chunk. Raises RG410.';

create or replace function ragdb._rank(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, k integer, mode text, filter jsonb, chunk_ids text[],
  query_embedding real[], fusion text, lexical_weight float8)
returns setof ragdb.ranked
language plpgsql stable parallel restricted rows 20
set search_path = pg_catalog, pg_temp
as $$
begin
  if mode = 'lexical' then
    return query
      select l.chunk_no, l.score, l.score, null::float8, null::integer, null::integer, l.bm25, l.coverage, true
      from ragdb._rank_lexical(corpus, statistics, query, k, filter, chunk_ids) l;
  elsif mode = 'reference' then
    return query
      select r.chunk_no, r.score, null::float8, null::float8, null::integer, null::integer, null::float8, null::float8, true
      from ragdb._rank_reference(corpus, query, k, filter, chunk_ids) r;
  else
    return query
      select n.* from ragdb._rank_near(corpus, statistics, query, k, mode, filter, chunk_ids, query_embedding, fusion,
        lexical_weight) n;
  end if;
end $$;
comment on function ragdb._rank(ragdb.corpora, ragdb.corpora, text, integer, text, jsonb, text[], real[], text, float8) is
  'Returns at least the k best chunks of a corpus in a mode, in no order. Raises RG410, RG415, RG418.';

-- Definer: the tables of a corpus are granted to nobody; the caller's right is checked here, once per corpus. Joins
-- go by key (lateral, offset 0): the planner, which cannot know how few rows rank, is left no other way.
create or replace function ragdb.search(
  corpora text[], query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex', lexical_weight float8 default 0.5,
  min_lexical float8 default 0, min_semantic float8 default 0)
returns setof ragdb.hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  v_name text;
  v_corpus ragdb.corpora;
  v_ids integer[] := '{}';
  v_corpora ragdb.corpora[] := '{}';
  v_statistics ragdb.corpora;
  v_mode text;
begin
  if query is null or query !~ '\S' then
    raise exception 'query is %', case when query is null then 'null' else 'empty' end
      using errcode = 'RG400', detail = 'a search needs at least one word', hint = 'pass the question as query';
  end if;
  if k is null or k not between 1 and 1000 then
    raise exception 'k is %', coalesce(k::text, 'null')
      using errcode = 'RG400', detail = 'k is the number of hits to return', hint = 'pass k from 1 to 1000';
  end if;
  if min_score is null or not min_score between 0 and 1 then
    raise exception 'min_score is %', coalesce(min_score::text, 'null')
      using errcode = 'RG400', detail = 'scores lie in [0, 1]', hint = 'pass min_score from 0 to 1';
  end if;
  if min_lexical is null or min_semantic is null or not (min_lexical between 0 and 1 and min_semantic between 0 and 1) then
    raise exception 'min_lexical is % and min_semantic %', coalesce(min_lexical::text, 'null'), coalesce(min_semantic::text, 'null')
      using errcode = 'RG400', detail = 'scores of a leg lie in [0, 1]', hint = 'pass floors from 0 to 1';
  end if;
  if fusion is null or fusion not in ('convex', 'rrf') or lexical_weight is null or not lexical_weight between 0 and 1 then
    raise exception 'fusion is % and lexical_weight %', ragdb._quote(fusion), coalesce(lexical_weight::text, 'null')
      using errcode = 'RG400', detail = 'the legs of a hybrid search are joined by convex or rrf',
            hint = 'pass convex or rrf, and the share of the lexical leg from 0 to 1';
  end if;
  if array_position(chunk_ids, null) is not null then
    raise exception 'chunk_ids has a null'
      using errcode = 'RG400', detail = 'a list of chunks names each of them', hint = 'remove the nulls';
  end if;
  if corpora is null or cardinality(corpora) = 0 then
    raise exception 'corpora is %', case when corpora is null then 'null' else 'empty' end
      using errcode = 'RG400', detail = 'a search needs at least one corpus',
            hint = 'ragdb.list_corpora() lists the names';
  end if;
  foreach v_name in array corpora loop
    v_corpus := ragdb._open_corpus(v_name, 'read');
    if v_corpus.corpus_id <> all (v_ids) then
      v_corpora := v_corpora || v_corpus;
      v_ids := v_ids || v_corpus.corpus_id;
    end if;
  end loop;
  if statistics is not null then
    v_statistics := ragdb._open_corpus(statistics, 'read');
  end if;
  v_mode := ragdb._search_mode(v_corpora, mode, query, query_embedding::real[]);
  return query
    with ranked as materialized (
      select c.corpus_id, c.name, r.*
      from unnest(v_corpora) c
        cross join lateral ragdb._rank(c, case when v_statistics is null then c else v_statistics end, search.query,
          search.k, v_mode, search.filter, search.chunk_ids, search.query_embedding::real[], search.fusion,
          search.lexical_weight) r
      where r.score >= search.min_score and coalesce(r.lexical_score, 0) >= search.min_lexical
        and coalesce(r.semantic_score, 0) >= search.min_semantic
    ), top as materialized (
      select r.*, h.doc_no, h.chunk_id, h.source, h.heading, h.page, h.start_offset, h.end_offset, h.text, h.citation,
        h.content_hash,
        row_number() over (order by r.score desc, h.chunk_id, r.name)::integer as rank
      from ranked r
        cross join lateral (select c.* from ragdb.chunks c
          where c.corpus_id = r.corpus_id and c.chunk_no = r.chunk_no offset 0) h
      order by rank limit search.k
    )
    select t.rank, t.name, t.chunk_id, d.doc_cid, t.source, d.title, t.heading, t.page, t.start_offset, t.end_offset,
      t.text, t.citation, t.score, t.lexical_score, t.semantic_score,
      case when v_mode = 'lexical' then t.rank else t.lexical_rank end, t.semantic_rank, t.bm25, t.coverage,
      encode(t.content_hash, 'hex'), d.metadata, v_mode, t.is_exact
    from top t
      cross join lateral (select o.* from ragdb.documents o
        where o.corpus_id = t.corpus_id and o.doc_no = t.doc_no offset 0) d
    order by t.rank;
end $$;
comment on function ragdb.search(text[], text, integer, text, float8, jsonb, text[], text, float8[], text, float8, float8, float8) is
  'Returns the k (1 to 1000) best chunks of several corpora for a query, in one order of scores in [0, 1], with the arguments of the search of one. Raises RG400, RG401, RG404, RG410, RG415, RG418.';

create or replace function ragdb.search(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex', lexical_weight float8 default 0.5,
  min_lexical float8 default 0, min_semantic float8 default 0)
returns setof ragdb.hit
language sql stable parallel restricted
begin atomic
  select * from ragdb.search(array[search.corpus], search.query, search.k, search.mode, search.min_score,
    search.filter, search.chunk_ids, search.statistics, search.query_embedding, search.fusion, search.lexical_weight,
    search.min_lexical, search.min_semantic);
end;
comment on function ragdb.search(text, text, integer, text, float8, jsonb, text[], text, float8[], text, float8, float8, float8) is
  'Returns the k (1 to 1000) best chunks of a corpus for a query, by score (0 to 1, none below min_score), then chunk_id. mode is lexical, semantic, hybrid or reference, and when left out hybrid where the corpus has embeddings and the query one, given (query_embedding) or kept, else lexical. A hybrid search joins its legs by fusion (convex or rrf) with lexical_weight (0 to 1); min_lexical and min_semantic are floors for the legs, one that did not run counting 0. Raises RG400, RG401, RG404, RG410, RG415, RG418.';

create or replace function ragdb.explain_search(corpus text, query text, chunk_id text, statistics text default null)
returns table (lexeme text, df integer, query_frequency integer, idf float8, tf integer, impact float8, contribution float8, share float8)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(corpus, 'read');
  v_statistics ragdb.corpora := v_corpus;
  v_no integer;
  v_text text := query;
begin
  if query is null or query !~ '\S' then
    raise exception 'query is %', case when query is null then 'null' else 'empty' end
      using errcode = 'RG400', detail = 'there is nothing to explain without a word', hint = 'pass the question as query';
  end if;
  if statistics is not null then
    v_statistics := ragdb._open_corpus(statistics, 'read');
  end if;
  select c.chunk_no into v_no from ragdb.chunks c
    where c.corpus_id = v_corpus.corpus_id and c.chunk_id = explain_search.chunk_id;
  if not found then
    raise exception 'chunk % does not exist', ragdb._quote(chunk_id)
      using errcode = 'RG406', detail = 'corpus ' || ragdb._quote(corpus) || ' has no such chunk',
            hint = 'ragdb.search() returns chunk ids';
  end if;
  if ragdb._has_clauses(query) then
    select string_agg(c.text, ' ') filter (where c.kind <> 'not') into v_text from ragdb._query_clauses(query) c;
  end if;
  return query
    with terms as (
      select w.lexeme collate "C" as lexeme, l.term_id, coalesce(s.df, 0) as df, cardinality(w.positions) as frequency,
        ln(1 + (v_statistics.chunks - coalesce(s.df, 0) + 0.5::float8) / (coalesce(s.df, 0) + 0.5::float8)) as idf
      from unnest(ragdb._lexemes(v_text, v_corpus.text_config)) w
        left join ragdb.lexemes l on l.corpus_id = v_corpus.corpus_id and l.lexeme = w.lexeme
        left join ragdb.lexemes s on s.corpus_id = v_statistics.corpus_id and s.lexeme = w.lexeme
    ), weighed as (
      select t.*, coalesce(p.tf, 0) as tf,
        coalesce((v_corpus.k1 + 1) * p.tf / (p.tf + v_corpus.k1
          * (1 - v_corpus.b + v_corpus.b * x.lexeme_count / v_corpus.pivot)), 0) as impact
      from terms t
        join ragdb.chunk_lexemes x on x.corpus_id = v_corpus.corpus_id and x.chunk_no = v_no
        left join lateral (
          select cardinality(u.positions) as tf from unnest(x.lexemes) u
          where u.lexeme = ragdb._token(v_corpus.corpus_id, t.term_id)) p on true
    )
    select w.lexeme, w.df, w.frequency, w.idf, w.tf, w.impact, w.frequency * w.idf * w.impact,
      w.frequency * w.idf * w.impact / nullif(sum(w.frequency * w.idf * w.impact) over (order by w.lexeme
        rows between unbounded preceding and unbounded following), 0)
    from weighed w order by 7 desc, 1;
end $$;
comment on function ragdb.explain_search(text, text, text, text) is
  'Returns a row for each term of a query: chunks that have it, idf, its frequency in a chunk, its impact (0 to k1 + 1), contribution to the BM25 and share of it (0 to 1). Raises RG400, RG401, RG404, RG406.';

-- Words are looked up in runs of letters and digits as they stand in the text, so that its punctuation survives.
create or replace function ragdb.highlight(
  corpus text, chunk_id text, query text, start_mark text default '**', end_mark text default '**')
returns text
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(corpus, 'read');
  v_text text;
  v_asked text := query;
  v_lexemes text[];
  v_run record;
  v_marked text := '';
begin
  if query is null or start_mark is null or end_mark is null then
    raise exception '% is null', case when query is null then 'query' when start_mark is null then 'start_mark' else 'end_mark' end
      using errcode = 'RG400', detail = 'every argument of highlight() needs a value', hint = 'leave the marks out for **bold**';
  end if;
  select c.text into v_text from ragdb.chunks c
    where c.corpus_id = v_corpus.corpus_id and c.chunk_id = highlight.chunk_id;
  if not found then
    raise exception 'chunk % does not exist', ragdb._quote(chunk_id)
      using errcode = 'RG406', detail = 'corpus ' || ragdb._quote(corpus) || ' has no such chunk',
            hint = 'ragdb.search() returns chunk ids';
  end if;
  if ragdb._has_clauses(query) then
    select string_agg(c.text, ' ') filter (where c.kind <> 'not') into v_asked from ragdb._query_clauses(query) c;
  end if;
  v_lexemes := tsvector_to_array(ragdb._lexemes(coalesce(v_asked, ''), v_corpus.text_config));
  for v_run in
    select r.part[1] as gap, r.part[2] as word,
      tsvector_to_array(ragdb._lexemes(r.part[2], v_corpus.text_config)) && v_lexemes as hits
    from regexp_matches(v_text, '([^A-Za-z0-9' || ragdb._wordly() || ']*)([A-Za-z0-9' || ragdb._wordly() || ']*)', 'g') r (part)
  loop
    v_marked := v_marked || v_run.gap
      || case when v_run.hits then start_mark || v_run.word || end_mark else v_run.word end;
  end loop;
  return v_marked;
end $$;
comment on function ragdb.highlight(text, text, text, text, text) is
  'Returns the text of a chunk with the words that a query matches between two marks. Raises RG400, RG401, RG404, RG406.';

---- sql/42_hybrid.sql

-- Ranking by meaning, and by words and meaning together.
--
-- Each leg runs once, to the same depth; a candidate of one leg gets its exact score of the other by key. Both
-- scores have fixed bounds, so that a score, and a threshold on it, mean the same for every query.

-- Ids order what ties, and nothing else needs them here
create or replace function ragdb._rank_semantic(
  corpus ragdb.corpora, space ragdb.embedding_spaces, embedding vector, k integer,
  chunk_nos integer[] default null)
returns setof ragdb.ranked
language sql stable parallel restricted
begin atomic
  select r.chunk_no, r.score, null::float8, r.score, null::integer, r.rank, null::float8, null::float8, r.is_exact
  from (
    select t.chunk_no, t.score, t.is_exact,
      pg_catalog.row_number() over (order by t.score desc, t.chunk_id)::integer as rank
    from (
      select n.chunk_no, n.score, n.is_exact,
        case when count(*) over (partition by n.score) > 1 then (select c.chunk_id from ragdb.chunks c
          where c.corpus_id = (_rank_semantic.corpus).corpus_id and c.chunk_no = n.chunk_no) end as chunk_id
      from ragdb._nearest(_rank_semantic.corpus, _rank_semantic.space, _rank_semantic.embedding,
          _rank_semantic.k, _rank_semantic.chunk_nos) n
    ) t
  ) r
  where r.rank <= _rank_semantic.k;
end;
comment on function ragdb._rank_semantic(ragdb.corpora, ragdb.embedding_spaces, vector, integer, integer[]) is
  'Returns the k chunks of a corpus nearest to an embedding, among the given ones when not null.';

create or replace function ragdb._demanded_chunks(corpus ragdb.corpora, query text, chunk_nos integer[])
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_condition text;
begin
  if not ragdb._has_clauses(query) then
    return chunk_nos;
  end if;
  v_condition := ragdb._query_condition(corpus, query);
  if v_condition = '' then
    return chunk_nos;
  end if;
  return array(
    select x.chunk_no from ragdb.chunk_lexemes x
    where x.corpus_id = corpus.corpus_id and x.lexemes @@ substr(v_condition, 2)::tsquery
      and (_demanded_chunks.chunk_nos is null or x.chunk_no = any (_demanded_chunks.chunk_nos)));
end $$;
comment on function ragdb._demanded_chunks(ragdb.corpora, text, integer[]) is
  'Returns those of the given chunks (all of the corpus when null) that satisfy the +words, -words and phrases of a query; what it was given when the query has none.';

-- Planned once: what needs to see its arguments plans for itself, inside. A leg without a score counts 0.
create or replace function ragdb._rank_hybrid(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, space ragdb.embedding_spaces, embedding vector,
  k integer, filter jsonb, chunk_ids text[], chunk_nos integer[], fusion text, lexical_weight float8)
returns setof ragdb.ranked
language plpgsql stable parallel restricted rows 100
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_hashjoin = on
set jit = off
as $$
declare
  v_depth constant integer := least(1000, greatest(50, 4 * k));
  v_demanded constant integer[] := ragdb._demanded_chunks(corpus, query, null);
  v_metric text;
begin
  select e.metric into strict v_metric from ragdb.embedders e where e.embedder_id = space.embedder_id;
  return query
    with near as materialized (
      select s.chunk_no, s.semantic_score as score, s.semantic_rank as rank, s.is_exact
      from ragdb._rank_semantic(corpus, space, embedding, v_depth, chunk_nos) s
    ), scored as materialized (
      select t.chunk_no, t.score, t.bm25, t.coverage,
        row_number() over (order by t.score desc, t.chunk_id)::integer as rank
      from (
        select r.chunk_no, r.score, r.bm25, r.coverage,
          case when r.bm25 > 0 and count(*) over (partition by r.score) > 1 then (select c.chunk_id
            from ragdb.chunks c where c.corpus_id = corpus.corpus_id and c.chunk_no = r.chunk_no) end as chunk_id
        from ragdb._rank_lexical(corpus, statistics, query, v_depth, filter, chunk_ids,
            array(select n.chunk_no from near n)) r) t
    ), words as materialized (
      select s.chunk_no, s.rank from scored s
      where s.rank <= v_depth and s.bm25 > 0 and (v_demanded is null or s.chunk_no = any (v_demanded))
    ), also_near as materialized (
      select a.chunk_no, a.score
      from ragdb._score_chunks(space, v_metric, embedding,
        array(select w.chunk_no from words w where w.chunk_no not in (select n.chunk_no from near n))) a
    ), candidates as (
      select i.chunk_no, coalesce(s.score, 0) as lexical_score, coalesce(n.score, a.score) as semantic_score,
        w.rank as lexical_rank, n.rank as semantic_rank, coalesce(s.bm25, 0) as bm25,
        coalesce(s.coverage, 0) as coverage
      from (select n.chunk_no from near n union select w.chunk_no from words w) i
        left join scored s on s.chunk_no = i.chunk_no
        left join words w on w.chunk_no = i.chunk_no
        left join near n on n.chunk_no = i.chunk_no
        left join also_near a on a.chunk_no = i.chunk_no
    )
    select c.chunk_no,
      round(1000000::float8 * case fusion
        when 'rrf' then 61::float8 * (coalesce(lexical_weight / (60 + c.lexical_rank), 0)
          + coalesce((1 - lexical_weight) / (60 + c.semantic_rank), 0))
        else lexical_weight * c.lexical_score + (1 - lexical_weight) * coalesce(c.semantic_score, 0)
      end) / 1000000::float8,
      c.lexical_score, c.semantic_score, c.lexical_rank, c.semantic_rank, c.bm25, c.coverage,
      coalesce((select bool_and(n.is_exact) from near n), true)
    from candidates c;
end $$;
comment on function ragdb._rank_hybrid(ragdb.corpora, ragdb.corpora, text, ragdb.embedding_spaces, vector, integer, jsonb, text[], integer[], text, float8) is
  'Returns the candidates of both legs, each to depth min(1000, max(50, 4 k)), with their fused score: convex (weight times lexical plus the rest times semantic) or rrf over its maximum. Raises RG410.';

-- A corpus and the embedding to search it by: the one given, or the one kept for the query. Null without one.
create or replace function ragdb._query_vector(
  corpus ragdb.corpora, space ragdb.embedding_spaces, query text, query_embedding real[])
returns real[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders;
begin
  if query_embedding is null then
    return ragdb._query_embedding(corpus.corpus_id, space.embedder_id, query);
  end if;
  select e.* into strict v_embedder from ragdb.embedders e where e.embedder_id = space.embedder_id;
  perform ragdb._check_embeddings(query_embedding, v_embedder.dims, v_embedder.metric,
    array[format('the query for corpus %s (embedder %s)', ragdb._quote(corpus.name), ragdb._quote(v_embedder.name))]);
  return query_embedding;
end $$;
comment on function ragdb._query_vector(ragdb.corpora, ragdb.embedding_spaces, text, real[]) is
  'Returns the embedding to search a corpus by: the one given, checked, or the one kept for the query, or null. Raises RG418.';

create or replace function ragdb._search_mode(
  corpora ragdb.corpora[], mode text, query text, query_embedding real[])
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
  v_space ragdb.embedding_spaces;
begin
  if mode not in ('lexical', 'reference', 'semantic', 'hybrid') then
    raise exception 'mode % is unknown', ragdb._quote(mode)
      using errcode = 'RG400', detail = 'modes are lexical, reference, semantic and hybrid',
            hint = 'leave mode out for the default';
  elsif mode in ('lexical', 'reference') then
    return mode;
  end if;
  foreach v_corpus in array corpora loop
    v_space := ragdb._space(v_corpus.corpus_id, 'current');
    if v_space.space_id is null then
      if mode is null then
        return 'lexical';
      end if;
      v_space := ragdb._current_space(v_corpus);
    elsif ragdb._query_vector(v_corpus, v_space, query, query_embedding) is null then
      if mode is null then
        return 'lexical';
      end if;
      raise exception 'mode % needs the embedding of the query', ragdb._quote(mode)
        using errcode = 'RG415',
              detail = format('none is given, and none is kept for it in corpus %s', ragdb._quote(v_corpus.name)),
              hint = 'pass query_embedding, or have a worker make it with call ragdb.embed_query(…)';
    end if;
  end loop;
  return coalesce(mode, 'hybrid');
end $$;
comment on function ragdb._search_mode(ragdb.corpora[], text, text, real[]) is
  'Returns the mode of a search: the one asked for, or hybrid where every corpus has embeddings and the query has one, else lexical. Raises RG400, RG415, RG418.';

create or replace function ragdb._rank_near(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, k integer, mode text, filter jsonb,
  chunk_ids text[], query_embedding real[], fusion text, lexical_weight float8)
returns setof ragdb.ranked
language plpgsql stable parallel restricted rows 100
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_space constant ragdb.embedding_spaces := ragdb._current_space(corpus);
  v_embedding ragdb.chunk_embeddings.embedding%type;
  v_chunk_nos integer[];
begin
  v_embedding := ragdb._vector(ragdb._query_vector(corpus, v_space, query, query_embedding));
  if filter is not null or chunk_ids is not null then
    v_chunk_nos := ragdb._filtered_chunks(corpus.corpus_id, filter, chunk_ids);
  end if;
  -- what has a sign, + or -, binds the semantic leg too; a mere phrase does not: questions quote what no text
  -- says in these words
  v_chunk_nos := ragdb._demanded_chunks(corpus, regexp_replace(query, '(^|[^+-])"[^"]*"', '\1 ', 'g'), v_chunk_nos);
  if mode = 'semantic' then
    return query select r.* from ragdb._rank_semantic(corpus, v_space, v_embedding, k, v_chunk_nos) r;
  else
    return query select r.* from ragdb._rank_hybrid(corpus, statistics, query, v_space, v_embedding, k, filter,
      chunk_ids, v_chunk_nos, fusion, lexical_weight) r;
  end if;
end $$;
comment on function ragdb._rank_near(ragdb.corpora, ragdb.corpora, text, integer, text, jsonb, text[], real[], text, float8) is
  'Ranks a corpus by meaning (semantic) or by words and meaning (hybrid). Raises RG410, RG415, RG418.';

-- By a chunk

create or replace function ragdb._hits(corpus ragdb.corpora, ranked ragdb.ranked[], k integer, mode text)
returns setof ragdb.hit
language sql stable parallel safe
begin atomic
  select t.rank, (_hits.corpus).name, t.chunk_id, d.doc_cid, t.source, d.title, t.heading, t.page, t.start_offset,
    t.end_offset, t.text, t.citation, t.score, t.lexical_score, t.semantic_score, t.lexical_rank, t.semantic_rank,
    t.bm25, t.coverage, pg_catalog.encode(t.content_hash, 'hex'), d.metadata, _hits.mode, t.is_exact
  from (
    select r.*, c.doc_no, c.chunk_id, c.source, c.heading, c.page, c.start_offset, c.end_offset, c.text, c.citation,
      c.content_hash, pg_catalog.row_number() over (order by r.score desc, c.chunk_id)::integer as rank
    from pg_catalog.unnest(_hits.ranked) r
      join ragdb.chunks c on c.corpus_id = (_hits.corpus).corpus_id and c.chunk_no = r.chunk_no
  ) t join ragdb.documents d on d.corpus_id = (_hits.corpus).corpus_id and d.doc_no = t.doc_no
  where t.rank <= _hits.k
  order by t.rank;
end;
comment on function ragdb._hits(ragdb.corpora, ragdb.ranked[], integer, text) is
  'Returns the k best of ranked chunks as hits.';

create or replace function ragdb.similar(
  corpus text, chunk_id text, k integer default 10, min_score float8 default 0, filter jsonb default null)
returns setof ragdb.hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus("similar".corpus, 'read');
  v_space ragdb.embedding_spaces := ragdb._current_space(v_corpus);
  v_embedding ragdb.chunk_embeddings.embedding%type;
  v_chunk_no integer;
begin
  if k is null or k not between 1 and 1000 then
    raise exception 'k is %', coalesce(k::text, 'null')
      using errcode = 'RG400', detail = 'k is the number of hits to return', hint = 'pass k from 1 to 1000';
  end if;
  if min_score is null or not min_score between 0 and 1 then
    raise exception 'min_score is %', coalesce(min_score::text, 'null')
      using errcode = 'RG400', detail = 'scores lie in [0, 1]', hint = 'pass min_score from 0 to 1';
  end if;
  select c.chunk_no into v_chunk_no from ragdb.chunks c
    where c.corpus_id = v_corpus.corpus_id and c.chunk_id = "similar".chunk_id;
  if not found then
    raise exception 'chunk % does not exist', ragdb._quote("similar".chunk_id)
      using errcode = 'RG406', detail = 'corpus ' || ragdb._quote(corpus) || ' has no such chunk',
            hint = 'ragdb.search() returns chunk ids';
  end if;
  select e.embedding into v_embedding from ragdb.chunk_embeddings e
    where e.space_id = v_space.space_id and e.corpus_id = v_corpus.corpus_id and e.chunk_no = v_chunk_no;
  if not found then
    raise exception 'chunk % has no embedding yet', ragdb._quote("similar".chunk_id)
      using errcode = 'RG415', detail = 'it waits in the queue, or failed',
            hint = 'ragdb.embedding_status() shows the queue; ragdb worker empties it';
  end if;
  return query
    select h.* from ragdb._hits(v_corpus, array(
        select r from ragdb._rank_semantic(v_corpus, v_space, v_embedding, least(1001, k + 1),
          ragdb._filtered_chunks(v_corpus.corpus_id, filter, null)) r
        where r.chunk_no <> v_chunk_no and r.score >= min_score), k, 'semantic') h;
end $$;
comment on function ragdb.similar(text, text, integer, float8, jsonb) is
  'Returns the k (1 to 1000) chunks of a corpus nearest in meaning to one of its chunks, without that one. Raises RG400, RG401, RG404, RG406, RG410, RG415.';

-- The names and columns that Supabase's guide has
create or replace function ragdb.match_documents(
  query_embedding float8[], match_threshold float8 default 0, match_count integer default 10,
  filter jsonb default '{}', corpus text default null)
returns table (id text, content text, metadata jsonb, similarity float8)
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_names text[];
  v_corpus ragdb.corpora;
begin
  if query_embedding is null or match_count is null or match_count not between 1 and 1000
    or match_threshold is null or not match_threshold between -1 and 1
  then
    raise exception 'query_embedding, match_threshold or match_count is null or out of range'
      using errcode = 'RG400', detail = 'match_threshold is a cosine, match_count a number of rows',
            hint = 'pass an embedding, a threshold from -1 to 1 and a count from 1 to 1000';
  end if;
  v_names := case when corpus is not null then array[match_documents.corpus] else array(
    select s.corpus from ragdb.embedding_status() s where s.state = 'current' order by s.corpus limit 2) end;
  if cardinality(v_names) <> 1 then
    raise exception 'corpus is not named'
      using errcode = 'RG400',
            detail = case cardinality(v_names) when 0 then 'no readable corpus has embeddings'
              else 'several readable corpora have embeddings' end,
            hint = 'pass corpus => …';
  end if;
  v_corpus := ragdb._open_corpus(v_names[1], 'read');
  return query
    select h.chunk_id, h.text, h.metadata, h.score
    from ragdb._hits(v_corpus, array(
      select r from ragdb._rank_near(v_corpus, v_corpus, '', match_count, 'semantic', nullif(filter, '{}'), null,
        query_embedding::real[], 'convex', 0.5) r
      where r.score >= match_threshold), match_count, 'semantic') h
    order by h.rank;
end $$;
comment on function ragdb.match_documents(float8[], float8, integer, jsonb, text) is
  'Returns the match_count (1 to 1000) chunks nearest to an embedding with a similarity of at least match_threshold (-1 to 1), in the columns of Supabase''s guide; corpus may be left out where one readable corpus alone has embeddings. Raises RG400, RG401, RG404, RG410, RG415, RG418.';

---- sql/45_traces.sql

-- Traces: every retrieval leaves one row of retrieval_traces and a row of retrieval_hits per hit.
-- Both tables are partitioned by month (UTC), append-only, and granted to nobody; so are those of gates and answers,
-- which share their months.

-- The canonical form of everything hashed here. A length before each field keeps two lists of fields from
-- having the same bytes, and the *_send functions give bytes that no setting changes (a text cast of a
-- float or a time depends on several). Text goes in as UTF-8: textsend follows client_encoding.
create or replace function ragdb._fields_hash(variadic fields bytea[]) returns bytea
language sql immutable parallel safe
return (
  select pg_catalog.sha256(coalesce(pg_catalog.string_agg(
    coalesce(pg_catalog.int4send(pg_catalog.octet_length(f.bytes)) || f.bytes, '\xffffffff'::bytea),
    ''::bytea order by f.n), ''::bytea))
  from pg_catalog.unnest(fields) with ordinality as f (bytes, n));
comment on function ragdb._fields_hash(bytea[]) is
  'Returns the sha256 of a list of fields, each preceded by its length in four bytes, a null being length -1.';

create or replace function ragdb._utf8(value text) returns bytea
language sql stable parallel safe
return pg_catalog.convert_to(value, 'UTF8');
comment on function ragdb._utf8(text) is 'Returns the UTF-8 bytes of a text.';

create or replace function ragdb._result_hash(hits ragdb.retrieval_hits[]) returns text
language sql stable parallel safe
return pg_catalog.encode(ragdb._fields_hash(variadic
  array['ragdb.result/1'::bytea] || array(
    select f.bytes
    from pg_catalog.unnest(hits) as h
    cross join lateral pg_catalog.unnest(
      array[ragdb._utf8(h.chunk_id), h.content_hash, pg_catalog.float8send(h.score)])
      with ordinality as f (bytes, n)
    order by h.rank, f.n)), 'hex');
comment on function ragdb._result_hash(ragdb.retrieval_hits[]) is
  'Returns the sha256 (hex) of the ordered chunk ids, content hashes and scores of a retrieval: what the caller was given.';

-- Everything but trace_hash itself and trace_mac, in the order of the columns.
create or replace function ragdb._trace_hash(
  trace ragdb.retrieval_traces, hits ragdb.retrieval_hits[])
returns bytea
language sql stable parallel safe
return ragdb._fields_hash(variadic array[
    'ragdb.trace/1'::bytea,
    pg_catalog.int4send((trace).corpus_id),
    pg_catalog.uuid_send((trace).id),
    pg_catalog.timestamptz_send((trace).created_at),
    ragdb._utf8((trace).corpus),
    ragdb._utf8((trace).retriever),
    ragdb._utf8((trace).rag),
    ragdb._utf8((trace).retrieval_mode),
    ragdb._utf8((trace).rank_mode),
    ragdb._utf8((trace).query_text),
    ragdb._utf8((trace).query_hash),
    ragdb._utf8((trace).query_embedding_hash),
    ragdb._utf8((trace).embedding_model),
    ragdb._utf8((trace).slice_id),
    ragdb._utf8((trace).anchor_chunk_id),
    pg_catalog.int4send((trace).slice_chunk_count),
    pg_catalog.int4send((trace).slice_edge_count),
    ragdb._utf8((trace).policy_id),
    ragdb._utf8((trace).policy_params_hash),
    ragdb._utf8((trace).schema_version),
    ragdb._utf8((trace).graph_snapshot_hash),
    ragdb._utf8((trace).admissibility_token),
    pg_catalog.boolsend((trace).is_admissible),
    pg_catalog.boolsend((trace).admissibility_shortfall),
    ragdb._utf8((trace).shortfall_reason),
    pg_catalog.int4send((trace).limit_requested),
    pg_catalog.int4send((trace).limit_returned),
    pg_catalog.float8send((trace).min_score),
    -- the text of a jsonb value is one and the same under every setting
    ragdb._utf8((trace).filters::text),
    case when (trace).chunk_ids is not null then ragdb._fields_hash(variadic array(
      select ragdb._utf8(c.chunk_id)
      from pg_catalog.unnest((trace).chunk_ids) with ordinality as c (chunk_id, n) order by c.n)) end,
    ragdb._utf8((trace).statistics),
    ragdb._utf8((trace).ranking_hash),
    ragdb._utf8((trace).result_hash),
    pg_catalog.int8send((trace).corpus_version),
    pg_catalog.boolsend((trace).is_exact),
    pg_catalog.float8send((trace).elapsed_ms),
    ragdb._utf8((trace).error_code),
    ragdb._utf8((trace).client),
    ragdb._utf8((trace).caller),
    ragdb._utf8((trace).otel_trace_id),
    ragdb._utf8((trace).otel_span_id),
    ragdb._utf8((trace).ranking::text)]
  || array(
    select f.bytes
    from pg_catalog.unnest(hits) as h
    cross join lateral pg_catalog.unnest(array[
      pg_catalog.int4send(h.rank), ragdb._utf8(h.chunk_id), h.content_hash,
      pg_catalog.float8send(h.score), pg_catalog.float8send(h.lexical_score),
      pg_catalog.float8send(h.semantic_score), pg_catalog.int4send(h.lexical_rank),
      pg_catalog.int4send(h.semantic_rank)]) with ordinality as f (bytes, n)
    order by h.rank, f.n));
comment on function ragdb._trace_hash(ragdb.retrieval_traces, ragdb.retrieval_hits[]) is
  'Returns the sha256 of a trace: all its columns but trace_hash and trace_mac, then its hits by rank.';

create or replace function ragdb._ranking_hash(corpus ragdb.corpora) returns text
language sql stable parallel safe
return pg_catalog.encode(ragdb._fields_hash('ragdb.ranking/1'::bytea, ragdb._utf8((corpus).text_config),
  pg_catalog.float8send((corpus).k1), pg_catalog.float8send((corpus).b), pg_catalog.float8send((corpus).pivot)), 'hex');
comment on function ragdb._ranking_hash(ragdb.corpora) is
  'Returns the sha256 (hex) of what decides a corpus''s ranking besides its documents: text configuration, k1, b and pivot.';

-- An id is a uuid version 7 and created_at is its millisecond, so that a lookup by id finds its month.
create or replace function ragdb._uuid_time(id uuid) returns timestamptz
language sql stable parallel safe
return '1970-01-01 00:00:00+00'::timestamptz + interval '1 millisecond' * (
  'x' || pg_catalog.encode(pg_catalog.substring(pg_catalog.uuid_send(id), 1, 6), 'hex'))::bit(48)::bigint;
comment on function ragdb._uuid_time(uuid) is 'Returns the time in a uuid version 7, to the millisecond.';

-- Tables

comment on table ragdb.retrieval_traces is
  'One row per retrieval, all about it but the text of its chunks. Append-only, one partition a month (UTC); read through ragdb.get_trace and ragdb.list_traces.';
comment on column ragdb.retrieval_traces.corpus_id is 'Corpus that was searched; never given out again when the corpus is dropped.';
comment on column ragdb.retrieval_traces.id is 'UUID of version 7: the query_id of a provenance.';
comment on column ragdb.retrieval_traces.created_at is 'When it was recorded: the millisecond in the id.';
comment on column ragdb.retrieval_traces.corpus is 'Name of the corpus at that time.';
comment on column ragdb.retrieval_traces.retriever is 'Retriever of the contract that asked; null without one.';
comment on column ragdb.retrieval_traces.rag is 'Rag node of the contract that asked; null without one.';
comment on column ragdb.retrieval_traces.retrieval_mode is 'slice (only the chunks of a slice could be hits) or global.';
comment on column ragdb.retrieval_traces.rank_mode is
  'How hits were ranked: lexical, semantic, hybrid or reference. Null where a failed call named no such mode.';
comment on column ragdb.retrieval_traces.query_text is 'The query; null unless corpora.record_query_text is full.';
comment on column ragdb.retrieval_traces.query_hash is
  'Sha256 (hex) of the query in UTF-8; null where corpora.record_query_text is none.';
comment on column ragdb.retrieval_traces.query_embedding_hash is 'Sha256 (hex) of the query''s embedding; null without one.';
comment on column ragdb.retrieval_traces.embedding_model is 'Model of the query''s embedding; null without one.';
comment on column ragdb.retrieval_traces.slice_id is 'Slice that admitted the chunks; null in global mode, as are the columns up to admissibility_token.';
comment on column ragdb.retrieval_traces.anchor_chunk_id is 'Chunk that the slice was built around.';
comment on column ragdb.retrieval_traces.slice_chunk_count is 'Chunks of the slice.';
comment on column ragdb.retrieval_traces.slice_edge_count is 'Edges of the slice.';
comment on column ragdb.retrieval_traces.policy_id is 'Policy that the slice was built by.';
comment on column ragdb.retrieval_traces.policy_params_hash is 'Hash of the policy''s parameters.';
comment on column ragdb.retrieval_traces.schema_version is 'Version of the slice''s canonical form.';
comment on column ragdb.retrieval_traces.graph_snapshot_hash is 'Hash of the content that the slice admitted.';
comment on column ragdb.retrieval_traces.admissibility_token is 'Token that the slice was presented with.';
comment on column ragdb.retrieval_traces.is_admissible is
  'Whether the hits may serve as evidence: a complete slice, a token that verifies, and no shortfall.';
comment on column ragdb.retrieval_traces.admissibility_shortfall is 'Whether the search could not look at every admitted chunk.';
comment on column ragdb.retrieval_traces.shortfall_reason is 'Why it could not; null without a shortfall.';
comment on column ragdb.retrieval_traces.limit_requested is 'Hits asked for (k); null where a failed call gave none.';
comment on column ragdb.retrieval_traces.limit_returned is 'Hits returned: rows of retrieval_hits.';
comment on column ragdb.retrieval_traces.min_score is 'Least score asked for, 0 to 1.';
comment on column ragdb.retrieval_traces.filters is 'Metadata filter asked for; null without one.';
comment on column ragdb.retrieval_traces.chunk_ids is 'Chunks that the call restricted the search to; null without such a list.';
comment on column ragdb.retrieval_traces.statistics is 'Corpus whose term statistics were asked for; null for its own.';
comment on column ragdb.retrieval_traces.ranking_hash is
  'Hash of how the corpus ranked then (text configuration, k1, b, pivot).';
comment on column ragdb.retrieval_traces.result_hash is
  'Sha256 (hex) of the ordered chunk ids, content hashes and scores: what the caller was given.';
comment on column ragdb.retrieval_traces.corpus_version is 'Version of the corpus that was searched.';
comment on column ragdb.retrieval_traces.is_exact is 'Whether no chunk was skipped by an approximate index; false for a failed call.';
comment on column ragdb.retrieval_traces.elapsed_ms is 'Milliseconds of the search by the wall clock, recording left out.';
comment on column ragdb.retrieval_traces.error_code is 'SQLSTATE of a failed retrieval; null for one that returned.';
comment on column ragdb.retrieval_traces.client is 'Program that asked, as it named itself.';
comment on column ragdb.retrieval_traces.caller is 'Database role that asked.';
comment on column ragdb.retrieval_traces.otel_trace_id is 'OpenTelemetry trace it belongs to, 32 hex digits.';
comment on column ragdb.retrieval_traces.otel_span_id is 'OpenTelemetry span it belongs to, 16 hex digits.';
comment on column ragdb.retrieval_traces.ranking is 'How a hybrid or semantic ranking was made: fusion, lexical_weight, min_lexical, min_semantic; null for the others.';
comment on column ragdb.retrieval_traces.trace_hash is
  'Sha256 over every other column but trace_mac, and the hits; ragdb.verify_trace recomputes it.';
comment on column ragdb.retrieval_traces.trace_mac is 'HMAC of trace_hash by a signing key; null while there is none.';

comment on table ragdb.retrieval_hits is
  'One row per hit of a retrieval. Append-only, in the same months as retrieval_traces; read through ragdb.trace_hits.';
comment on column ragdb.retrieval_hits.corpus_id is 'Corpus of the trace.';
comment on column ragdb.retrieval_hits.trace_id is 'The trace.';
comment on column ragdb.retrieval_hits.created_at is 'The trace''s created_at.';
comment on column ragdb.retrieval_hits.rank is 'Place in the result, from 1.';
comment on column ragdb.retrieval_hits.chunk_id is 'The chunk, which may be gone by now.';
comment on column ragdb.retrieval_hits.content_hash is 'Sha256 of the chunk''s text as it was.';
comment on column ragdb.retrieval_hits.score is 'Score that ranked it, 0 to 1.';
comment on column ragdb.retrieval_hits.lexical_score is 'Score of the lexical leg, 0 to 1; null where it took no part.';
comment on column ragdb.retrieval_hits.semantic_score is 'Score of the semantic leg, 0 to 1; null where it took no part.';
comment on column ragdb.retrieval_hits.lexical_rank is 'Place in the lexical leg, from 1; null where it took no part.';
comment on column ragdb.retrieval_hits.semantic_rank is 'Place in the semantic leg, from 1; null where it took no part.';

-- Partitions

create or replace function ragdb._refuse_change() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception '% of ragdb.% is refused', lower(tg_op), tg_table_name
    using errcode = 'RG414', detail = 'traces are append-only, for their owner too',
          hint = 'ragdb.drop_traces_before() drops whole months';
end $$;
comment on function ragdb._refuse_change() is
  'Trigger of append-only tables: refuses every update, delete and truncate. Raises RG414.';

create or replace function ragdb._partition_name(parent text, month date) returns text
language sql stable parallel safe
return parent || '_' || coalesce(pg_catalog.to_char(month, 'YYYY_MM'), 'default');
comment on function ragdb._partition_name(text, date) is
  'Returns the name of the partition of a month, or of the default partition where the month is null.';

-- An insert may claim to be admissible only with a token that this database signed for a slice that it has stored.
create or replace function ragdb._check_admissible() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts text[];
  v_secret bytea;
begin
  if new.is_admissible then
    v_parts := string_to_array(new.admissibility_token, '.');
    select k.secret into v_secret from ragdb.signing_keys k where k.key_id = v_parts[2] and k.state <> 'revoked';
    if v_secret is null or cardinality(v_parts) <> 5 or not exists (
        select from ragdb.slices s join ragdb.slice_policies p using (policy_id, params_hash)
          where s.corpus_id = new.corpus_id and s.slice_id = new.slice_id and s.anchor_chunk_id = new.anchor_chunk_id
            and s.policy_id = new.policy_id and s.params_hash = new.policy_params_hash
            and s.schema_version = new.schema_version and s.graph_snapshot_hash = new.graph_snapshot_hash
            and sha256(decode(v_parts[5], 'hex')) = sha256(ragdb._hmac_sha256(v_secret, ragdb._token_message(
              v_parts[2], new.corpus, s.slice_id, s.anchor_chunk_id, s.policy_id, p.sha256, s.graph_snapshot_hash,
              s.schema_version, v_parts[3]::bigint, v_parts[4]::bigint)))) then
      raise exception 'a trace may not claim to be admissible'
        using errcode = 'RG436', detail = 'its token was not issued here for a slice that is stored',
              hint = 'ragdb.retrieve_slice() records admissible retrievals';
    end if;
  end if;
  return new;
end $$;
comment on function ragdb._check_admissible() is
  'Refuses an admissible trace whose token this database did not sign for a stored slice. Raises RG436.';

-- What hangs from a trace stands before it: months are dropped in this order.
create or replace function ragdb._partitioned() returns text[]
language sql immutable parallel safe
return '{answer_citations,evidence_answers,evidence_gates,retrieval_hits,retrieval_traces}'::text[];
comment on function ragdb._partitioned() is
  'Returns the names of the tables that are partitioned by month, those of what belongs to a trace before the traces.';

create or replace function ragdb._protect_partition(partition text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('create or replace trigger rows_are_append_only before update or delete'
    ' on ragdb.%I for each row execute function ragdb._refuse_change()', partition);
  execute format('create or replace trigger table_is_append_only before truncate'
    ' on ragdb.%I for each statement execute function ragdb._refuse_change()', partition);
  -- always: session_replication_role switches ordinary triggers off
  execute format('alter table ragdb.%I enable always trigger rows_are_append_only,'
    ' enable always trigger table_is_append_only', partition);
  if partition like 'retrieval\_traces\_%' then
    execute format('create or replace trigger admissibility_is_proved before insert'
      ' on ragdb.%I for each row when (new.is_admissible) execute function ragdb._check_admissible()', partition);
  end if;
end $$;
comment on function ragdb._protect_partition(text) is
  'Puts the triggers on a partition that make it append-only for everyone, and have an admissible trace prove itself.';

-- A key, an index or a trigger of the parent would be an extension's and its partitions' the user's; such a
-- dump restores empty. So every partition gets its own, and is attached only when it is complete.
create or replace function ragdb._make_partition(parent text, month date) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := ragdb._partition_name(parent, month);
begin
  execute format('create table ragdb.%I (like ragdb.%I including all)', v_name, parent);
  execute format('alter table ragdb.%I add constraint %I primary key (%s)', v_name,
    v_name || '_ids_are_unique',
    case parent when 'retrieval_hits' then 'corpus_id, trace_id, rank'
      when 'answer_citations' then 'corpus_id, answer_id, row_no'
      else 'corpus_id, id, created_at' end);
  perform ragdb._protect_partition(v_name);
  execute format('comment on table ragdb.%I is %L', v_name, format('The rows of ragdb.%s %s.', parent,
    coalesce('of ' || to_char(month, 'YYYY-MM') || ' (UTC)', 'whose month has no partition yet')));
  execute format('alter table ragdb.%I attach partition ragdb.%I ', parent, v_name) || case
    when month is null then 'default'
    else format('for values from (%L) to (%L)', to_char(month, 'YYYY-MM-DD') || ' 00:00:00+00',
      to_char(month + interval '1 month', 'YYYY-MM-DD') || ' 00:00:00+00') end;
  return v_name;
end $$;
comment on function ragdb._make_partition(text, date) is
  'Makes the partition of a month (its first day; null makes the default one) with its key and triggers, and returns its name.';

-- an upgrade drops every function, and with _refuse_change these triggers
do $$ begin
  perform ragdb._protect_partition(c.relname)
  from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhrelid
  where i.inhparent = any (array(select ('ragdb.' || p.name)::regclass from unnest(ragdb._partitioned()) p (name)));
end $$;

-- Nothing is due on almost every call, and finding that out takes no lock. Otherwise a lock that a long
-- reader holds is waited for briefly and left for the next call: the months made ahead and the default
-- partition catch what is recorded meanwhile.
create or replace function ragdb.maintain() returns setof text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '3s'
as $$
declare
  v_parent text;
  v_default text;
  v_is_moving boolean := false;
  v_has_default boolean := not exists (select from unnest(ragdb._partitioned()) p (name)
    where to_regclass('ragdb.' || ragdb._partition_name(p.name, null)) is null);
  v_ahead date[] := array(
    select (date_trunc('month', ragdb._now() at time zone 'UTC') + make_interval(months => i))::date
    from generate_series(0, 3) i);
  v_months date[] := '{}';
  v_found date[];
  v_month date;
  v_made text[] := '{}';
begin
  if v_has_default then
    foreach v_parent in array ragdb._partitioned() loop
      exit when v_is_moving;
      execute format('select exists (select from ragdb.%I)', ragdb._partition_name(v_parent, null)) into v_is_moving;
    end loop;
    if not v_is_moving and not exists (select from unnest(v_ahead) m, unnest(ragdb._partitioned()) p (name)
      where to_regclass('ragdb.' || ragdb._partition_name(p.name, m)) is null)
    then
      return;
    end if;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('ragdb.maintain', 0));
  foreach v_parent in array ragdb._partitioned() loop
    v_default := ragdb._partition_name(v_parent, null);
    if to_regclass('ragdb.' || v_default) is not null then
      execute format('select coalesce(array_agg(distinct date_trunc(''month'', t.created_at at time zone ''UTC'')::date), ''{}'')'
        ' from ragdb.%I t', v_default) into v_found;
      v_months := v_months || v_found;
    end if;
  end loop;
  v_is_moving := v_months <> '{}';
  v_months := array(select distinct m from unnest(v_months || v_ahead) m order by m);
  foreach v_parent in array ragdb._partitioned() loop
    v_default := ragdb._partition_name(v_parent, null);
    -- its rows may not be deleted, so a default partition with rows is replaced by a new one
    if v_is_moving and to_regclass('ragdb.' || v_default) is not null then
      execute format('alter table ragdb.%I detach partition ragdb.%I', v_parent, v_default);
    end if;
    foreach v_month in array v_months loop
      if to_regclass('ragdb.' || ragdb._partition_name(v_parent, v_month)) is null then
        v_made := v_made || ragdb._make_partition(v_parent, v_month);
      end if;
    end loop;
    if v_is_moving and to_regclass('ragdb.' || v_default) is not null then
      execute format('insert into ragdb.%I select * from ragdb.%I', v_parent, v_default);
      execute format('drop table ragdb.%I', v_default);
    end if;
    if to_regclass('ragdb.' || v_default) is null then
      v_made := v_made || ragdb._make_partition(v_parent, null);
    end if;
  end loop;
  return query select m from unnest(v_made) m;
exception when lock_not_available then
  if not v_has_default then
    raise;
  end if;
  raise warning 'the partitions of traces are in use and are made by the next call of ragdb.maintain()';
end $$;
comment on function ragdb.maintain() is
  'Makes the partitions that traces need: this month, three ahead, those of rows in the default partition, and an empty default partition; returns the names of the tables made, none when nothing was due. Call it outside any insert, at least monthly.';

create or replace function ragdb.drop_traces_before(before date)
returns table (month date, traces bigint, hits bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parent text;
  v_rows bigint;
begin
  if before is null or before > (ragdb._now() at time zone 'UTC')::date then
    raise exception 'before is %', coalesce('in the future', 'null')
      using errcode = 'RG400', detail = 'only months that ended before that day are dropped',
            hint = 'give a date up to today, such as current_date - 90';
  end if;
  perform ragdb.maintain();
  perform pg_advisory_xact_lock(hashtextextended('ragdb.maintain', 0));
  for month in
    select to_date(right(c.relname, 7), 'YYYY_MM')
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'ragdb.retrieval_traces'::regclass
      and c.relname ~ '^retrieval_traces_\d{4}_\d\d$'
      and to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= before
    order by 1
  loop
    -- the traces last: no hit is ever without its own
    foreach v_parent in array ragdb._partitioned() loop
      continue when to_regclass('ragdb.' || ragdb._partition_name(v_parent, month)) is null;
      if v_parent like 'retrieval\_%' then
        execute format('select count(*) from ragdb.%I', ragdb._partition_name(v_parent, month)) into v_rows;
        hits := case v_parent when 'retrieval_hits' then v_rows else hits end;
        traces := case v_parent when 'retrieval_traces' then v_rows else traces end;
      end if;
      execute format('drop table ragdb.%I', ragdb._partition_name(v_parent, month));
    end loop;
    return next;
  end loop;
end $$;
comment on function ragdb.drop_traces_before(date) is
  'Drops the traces of whole months (UTC) that ended before a day, of every corpus, with their gates and answers, and returns each month with the number of traces and hits dropped. It waits for readers of the tables. Raises RG400.';

-- Recording

do $$ begin
  if pg_catalog.to_regtype('ragdb.traced_hit') is null then
    create type ragdb.traced_hit as (
      trace_id uuid, rank integer, corpus text, chunk_id text, doc_cid text, source text, title text,
      heading text[], page integer, start_offset integer, end_offset integer, text text,
      citation jsonb, score float8, lexical_score float8, semantic_score float8,
      lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8,
      content_hash text, metadata jsonb, mode text, is_exact boolean);
  end if;
end $$;
comment on type ragdb.traced_hit is 'One result of a recorded retrieval: a ragdb.hit after the id of its trace.';

-- The one way into both tables. The caller fills what it knows; identity, time, the hashes and what the
-- corpus lets be kept of the query are decided here.
create or replace function ragdb._record_trace(
  corpus ragdb.corpora, query text, trace ragdb.retrieval_traces, hits ragdb.hit[])
returns uuid
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hits ragdb.retrieval_hits[];
begin
  if length(trace.client) > 200 then
    raise exception 'client has % characters', length(trace.client)
      using errcode = 'RG413', detail = 'client names the program that asked',
            hint = 'give at most 200 characters';
  end if;
  if trace.otel_trace_id !~ '^[0-9a-f]{32}$' or trace.otel_span_id !~ '^[0-9a-f]{16}$' then
    raise exception 'otel_trace_id or otel_span_id is not an id of OpenTelemetry'
      using errcode = 'RG400', detail = 'a trace id is 32 lower-case hex digits, a span id is 16',
            hint = 'leave both null when there is no span';
  end if;
  trace.id := ragdb._uuid7(ragdb._now());
  trace.created_at := ragdb._uuid_time(trace.id);
  trace.corpus_id := corpus.corpus_id;
  trace.corpus := corpus.name;
  trace.corpus_version := corpus.version;
  trace.caller := ragdb._caller();
  if corpus.record_query_text = 'full' then
    trace.query_text := query;
  end if;
  if corpus.record_query_text <> 'none' then
    trace.query_hash := encode(sha256(ragdb._utf8(query)), 'hex');
  end if;
  v_hits := array(
    select row(trace.corpus_id, trace.id, trace.created_at, h.rank, h.chunk_id,
      decode(h.content_hash, 'hex'), h.score, h.lexical_score, h.semantic_score,
      h.lexical_rank, h.semantic_rank)::ragdb.retrieval_hits
    from unnest(hits) h);
  trace.limit_returned := cardinality(v_hits);
  trace.ranking_hash := ragdb._ranking_hash(corpus);
  trace.result_hash := ragdb._result_hash(v_hits);
  trace.trace_hash := ragdb._trace_hash(trace, v_hits);
  trace.trace_mac := ragdb._trace_mac(trace.trace_hash, (ragdb._signing_key()).secret);
  insert into ragdb.retrieval_traces values (trace.*);
  insert into ragdb.retrieval_hits select h.* from unnest(v_hits) h;
  -- of the session, not the transaction: `select … from retrieve(…); select last_trace_id()` has two
  perform set_config('ragdb.last_trace_id', trace.id::text, false);
  return trace.id;
end $$;
comment on function ragdb._record_trace(ragdb.corpora, text, ragdb.retrieval_traces, ragdb.hit[]) is
  'Writes one trace and its hits and returns its id; the corpus is the row that the search saw. Raises RG400, RG413.';

create or replace function ragdb._note_meaning(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, embedder_id integer, query_embedding real[],
  fusion text, lexical_weight float8, min_lexical float8, min_semantic float8)
returns ragdb.retrieval_traces
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  trace.query_embedding_hash := encode(ragdb._vector_hash(query_embedding), 'hex');
  select e.name into strict trace.embedding_model
    from ragdb.embedders e where e.embedder_id = _note_meaning.embedder_id;
  trace.ranking := jsonb_build_object('fusion', fusion, 'lexical_weight', lexical_weight,
    'min_lexical', min_lexical, 'min_semantic', min_semantic);
  -- an embedding tells much of its text: what must not be kept of one is not kept of the other
  if corpus.record_query_text <> 'none' then
    perform ragdb._keep_query_embedding(corpus.corpus_id, embedder_id, query_embedding);
  end if;
  return trace;
end $$;
comment on function ragdb._note_meaning(ragdb.retrieval_traces, ragdb.corpora, integer, real[], text, float8, float8, float8) is
  'Enters in a trace how a semantic or hybrid search ranked, and keeps the embedding of its query unless the corpus keeps nothing of queries.';

-- The search and the corpus row are read by one statement, hence from one snapshot: corpus_version is the
-- version that was searched.
create or replace function ragdb._retrieve(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex', lexical_weight float8 default 0.5,
  min_lexical float8 default 0, min_semantic float8 default 0,
  client text default null, otel_trace_id text default null, otel_span_id text default null,
  retriever text default null, rag text default null)
returns setof ragdb.traced_hit
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started timestamptz := clock_timestamp();
  v_found record;
  v_trace ragdb.retrieval_traces;
begin
  if current_setting('transaction_read_only')::boolean then
    -- the standard code: clients that know it go to the primary
    raise exception 'retrieve records a trace, and this transaction is read-only'
      using errcode = 'read_only_sql_transaction',
            detail = 'the server is a standby, or the transaction or role is set to read-only',
            hint = 'ragdb.search() returns the same hits and records nothing';
  end if;
  -- one statement, one snapshot: what is recorded is what was searched
  select c as corpus, ragdb._space(c.corpus_id, 'current') as space,
      ragdb._search_mode(array[c], _retrieve.mode, _retrieve.query, _retrieve.query_embedding::real[]) as mode, array(
      select h from ragdb.search(corpus => _retrieve.corpus, query => _retrieve.query, k => _retrieve.k,
        mode => _retrieve.mode, min_score => _retrieve.min_score, filter => _retrieve.filter,
        chunk_ids => _retrieve.chunk_ids, statistics => _retrieve.statistics,
        query_embedding => _retrieve.query_embedding, fusion => _retrieve.fusion,
        lexical_weight => _retrieve.lexical_weight, min_lexical => _retrieve.min_lexical,
        min_semantic => _retrieve.min_semantic) h) as hits
    into strict v_found
    from ragdb._open_corpus(_retrieve.corpus, 'read') c;
  v_trace.retriever := retriever;
  v_trace.rag := rag;
  v_trace.retrieval_mode := 'global';
  v_trace.rank_mode := v_found.mode;
  if v_found.mode in ('semantic', 'hybrid') then
    v_trace := ragdb._note_meaning(v_trace, v_found.corpus, (v_found.space).embedder_id,
      ragdb._query_vector(v_found.corpus, v_found.space, query, query_embedding::real[]),
      fusion, lexical_weight, min_lexical, min_semantic);
  end if;
  v_trace.limit_requested := k;
  v_trace.min_score := min_score;
  v_trace.filters := filter;
  v_trace.chunk_ids := chunk_ids;
  v_trace.statistics := statistics;
  v_trace.is_admissible := false;
  v_trace.admissibility_shortfall := false;
  v_trace.is_exact := coalesce((select bool_and(h.is_exact) from unnest(v_found.hits::ragdb.hit[]) h), true);
  v_trace.client := client;
  v_trace.otel_trace_id := otel_trace_id;
  v_trace.otel_span_id := otel_span_id;
  v_trace.elapsed_ms := 1000 * extract(epoch from clock_timestamp() - v_started)::float8;
  v_trace.id := ragdb._record_trace(v_found.corpus, query, v_trace, v_found.hits);
  return query select v_trace.id, h.* from unnest(v_found.hits::ragdb.hit[]) h;
end $$;
comment on function ragdb._retrieve(text, text, integer, text, float8, jsonb, text[], text, float8[], text, float8, float8, float8, text, text, text, text, text) is
  'Searches and records the trace, with the retriever and the rag that asked. Raises what ragdb.retrieve raises.';

-- Definer: it writes tables that are granted to nobody.
create or replace function ragdb.retrieve(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex', lexical_weight float8 default 0.5,
  min_lexical float8 default 0, min_semantic float8 default 0,
  client text default null, otel_trace_id text default null, otel_span_id text default null)
returns setof ragdb.traced_hit
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select h.* from ragdb._retrieve(
    retrieve.corpus, retrieve.query, retrieve.k, retrieve.mode, retrieve.min_score, retrieve.filter,
    retrieve.chunk_ids, retrieve.statistics, retrieve.query_embedding, retrieve.fusion,
    retrieve.lexical_weight, retrieve.min_lexical, retrieve.min_semantic, retrieve.client,
    retrieve.otel_trace_id, retrieve.otel_span_id) h;
end $$;
comment on function ragdb.retrieve(text, text, integer, text, float8, jsonb, text[], text, float8[], text, float8, float8, float8, text, text, text) is
  'Returns the hits of ragdb.search with the same arguments, best first, each with the id of the one trace that is recorded in the same transaction; client (up to 200 characters) names the program, otel_trace_id and otel_span_id its OpenTelemetry span. Raises what ragdb.search raises, RG400, RG413, and 25006 where nothing can be written.';

create or replace function ragdb.last_trace_id() returns uuid
language sql stable parallel safe
return nullif(pg_catalog.current_setting('ragdb.last_trace_id', true), '')::uuid;
comment on function ragdb.last_trace_id() is
  'Returns the id of the trace that this session recorded last, also when the retrieval had no hits; null when it recorded none.';

create or replace function ragdb.record_failure(
  corpus text, query text, error_code text, elapsed_ms float8,
  k integer default null, mode text default null, min_score float8 default null,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  client text default null, otel_trace_id text default null, otel_span_id text default null,
  slice_id text default null, anchor text default null, policy jsonb default null)
returns uuid
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(corpus, 'read');
  v_trace ragdb.retrieval_traces;
begin
  if error_code is null or error_code !~ '^[0-9A-Z]{5}$' or error_code = '00000' then
    raise exception 'error_code is %', ragdb._quote(error_code)
      using errcode = 'RG400', detail = 'it is the SQLSTATE that the retrieval raised',
            hint = 'five digits and capital letters, such as RG410 or 57014';
  end if;
  if elapsed_ms is null or not (elapsed_ms >= 0 and elapsed_ms < 'infinity') then
    raise exception 'elapsed_ms is %', coalesce(elapsed_ms::text, 'null')
      using errcode = 'RG400', detail = 'it is the time until the retrieval failed',
            hint = 'give milliseconds, 0 or more';
  end if;
  if length(slice_id) > 200 or length(anchor) > 2000 then
    raise exception 'slice_id or anchor is too long'
      using errcode = 'RG413', detail = 'neither can be one',
            hint = 'give at most 200 characters of slice_id, 2000 of anchor';
  end if;
  v_trace.retrieval_mode := case when coalesce(slice_id, anchor) is null then 'global'
    else 'slice' end;
  v_trace.slice_id := slice_id;
  v_trace.anchor_chunk_id := anchor;
  if policy is not null then
    begin
      select p.policy_id, p.params_hash into v_trace.policy_id, v_trace.policy_params_hash
        from ragdb._resolve_policy(policy) p;
    exception when sqlstate 'RG430' or sqlstate 'RG431' then
      null; -- what is no policy cannot be recorded as one
    end;
  end if;
  -- what is not a mode cannot be recorded as one
  v_trace.rank_mode := case when mode in ('lexical', 'semantic', 'hybrid', 'reference') then mode end;
  v_trace.limit_requested := k;
  v_trace.min_score := min_score;
  v_trace.filters := filter;
  v_trace.chunk_ids := chunk_ids;
  v_trace.statistics := statistics;
  v_trace.is_admissible := false;
  v_trace.admissibility_shortfall := false;
  v_trace.is_exact := false;
  v_trace.error_code := error_code;
  v_trace.elapsed_ms := elapsed_ms;
  v_trace.client := client;
  v_trace.otel_trace_id := otel_trace_id;
  v_trace.otel_span_id := otel_span_id;
  return ragdb._record_trace(v_corpus, query, v_trace, '{}');
end $$;
comment on function ragdb.record_failure(text, text, text, float8, integer, text, float8, jsonb, text[], text, text, text, text, text, text, jsonb) is
  'Records the trace of a retrieval that raised the SQLSTATE error_code after elapsed_ms milliseconds, with the arguments it had (slice_id or anchor and policy for one under a slice), and returns its id; the caller''s client calls it after the rollback. Raises RG400, RG404, RG413.';

-- Reading

-- The gate to a trace: who may read its corpus may read it.
create or replace function ragdb._open_trace(trace_id uuid) returns ragdb.retrieval_traces
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_created_at timestamptz := ragdb._uuid_time(trace_id);
  v_trace ragdb.retrieval_traces;
begin
  if trace_id is null then
    raise exception 'trace_id is null'
      using errcode = 'RG400', detail = 'a trace is named by its id',
            hint = 'ragdb.list_traces() lists them';
  end if;
  -- the time leaves one partition, the corpus its key
  select t.* into v_trace
    from ragdb.corpora c join ragdb.retrieval_traces t on t.corpus_id = c.corpus_id
    where t.id = _open_trace.trace_id and t.created_at = v_created_at;
  if not found or not exists (select from ragdb.corpora c where c.corpus_id = v_trace.corpus_id
    and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0)
  then
    raise exception 'trace % does not exist', ragdb._quote(trace_id::text)
      using errcode = 'RG407',
            detail = 'no trace of that id is visible to role ' || ragdb._quote(ragdb._caller()),
            hint = 'ragdb.list_traces() lists the latest';
  end if;
  return v_trace;
end $$;
comment on function ragdb._open_trace(uuid) is
  'Returns a trace of a corpus that the caller may read. Raises RG400, RG407.';

-- Definer, like the readers below it: the tables are granted to nobody.
create or replace function ragdb.get_trace(trace_id uuid) returns ragdb.retrieval_traces
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return ragdb._open_trace(trace_id);
end $$;
comment on function ragdb.get_trace(uuid) is
  'Returns one trace of a corpus that the caller may read. Raises RG400, RG407.';

create or replace function ragdb.trace_hits(trace_id uuid) returns setof ragdb.retrieval_hits
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces := ragdb._open_trace(trace_id);
begin
  return query select h.* from ragdb.retrieval_hits h
    where h.corpus_id = v_trace.corpus_id and h.trace_id = v_trace.id
      and h.created_at = v_trace.created_at
    order by h.rank;
end $$;
comment on function ragdb.trace_hits(uuid) is
  'Returns the hits of one trace, best first, without the text of the chunks. Raises RG400, RG407.';

create or replace function ragdb.list_traces(
  corpus text default null, since timestamptz default null, count integer default 50)
returns setof ragdb.retrieval_traces
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpora integer[];
begin
  if count is null or count not between 1 and 10000 then
    raise exception 'count is %', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'count is the number of traces returned at most',
            hint = 'give 1 to 10000';
  end if;
  if corpus is not null then
    v_corpora := array[(ragdb._open_corpus(corpus, 'read')).corpus_id];
  else
    v_corpora := array(select c.corpus_id from ragdb.corpora c
      where ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0);
  end if;
  -- ids are in the order of time, so each corpus is one range of each partition's key, read backwards
  return query
    select t.* from unnest(v_corpora) c
    cross join lateral (
      select r.* from ragdb.retrieval_traces r
      where r.corpus_id = c and r.created_at >= coalesce(list_traces.since, '-infinity')
      order by r.id desc limit list_traces.count) t
    order by t.id desc limit list_traces.count;
end $$;
comment on function ragdb.list_traces(text, timestamptz, integer) is
  'Returns the latest traces, newest first, of one corpus or of all that the caller may read, recorded at or after since; count is 1 to 10000. Raises RG400, RG401, RG404.';

create or replace function ragdb.verify_trace(trace_id uuid)
returns table (field text, is_intact boolean, stored text, recomputed text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces := ragdb._open_trace(trace_id);
  v_hits ragdb.retrieval_hits[] := array(select h from ragdb.trace_hits(trace_id) h);
begin
  return query
    select v.field, v.stored is not distinct from v.recomputed, v.stored, v.recomputed
    from (values
      ('trace_hash', encode(v_trace.trace_hash, 'hex'),
        encode(ragdb._trace_hash(v_trace, v_hits), 'hex')),
      ('result_hash', v_trace.result_hash, ragdb._result_hash(v_hits)),
      ('trace_mac', encode(v_trace.trace_mac, 'hex'), encode(ragdb._matching_mac(v_trace), 'hex')),
      ('limit_returned', v_trace.limit_returned::text, cardinality(v_hits)::text),
      ('query_hash', v_trace.query_hash, case when v_trace.query_text is null then v_trace.query_hash
        else encode(sha256(ragdb._utf8(v_trace.query_text)), 'hex') end)
    ) as v (field, stored, recomputed);
end $$;
comment on function ragdb.verify_trace(uuid) is
  'Recomputes the hashes of a trace from its rows: one row for trace_hash (every column and hit), trace_mac (where a signing key existed), result_hash, limit_returned and query_hash, is_intact false where a row was edited, added or removed since. Raises RG400, RG407.';

---- sql/50_graph.sql

-- The graph of conversations: turns are chunks that know their session, role and place; edges are
-- what was said to what.

comment on table ragdb.turns is 'What a chunk that is one message of a conversation has besides its text.';
comment on column ragdb.turns.corpus_id is 'The corpus.';
comment on column ragdb.turns.chunk_no is 'The chunk; its id is the message''s UUID.';
comment on column ragdb.turns.session_id is 'The conversation.';
comment on column ragdb.turns.role is 'user, assistant, system or tool.';
comment on column ragdb.turns.phase is 'exploration, debugging, planning, consolidation or synthesis; derived unless given.';
comment on column ragdb.turns.salience is 'How much the turn matters, 0 to 1; derived unless given.';
comment on column ragdb.turns.depth is 'Hops from the root of its tree along replies and branches.';
comment on column ragdb.turns.sibling_order is 'Position among the answers to the same turn by time, from 0.';
comment on column ragdb.turns.homogeneity is 'Cosine to the parent, 0 to 1; 1 at a root, 0.5 until embedded.';
comment on column ragdb.turns.temporal is 'Position in the time span of the session, 0 to 1.';
comment on column ragdb.turns.complexity is 'Number of parts: the text, code blocks and images.';
comment on column ragdb.turns.given is 'Of phase, salience and feedback, what the conversation came with.';
comment on column ragdb.turns.created_at is 'When it was said; without a time, seconds of 1970 in the order of the file.';

-- SHA-1 serves nothing here but UUIDs of version 5 (RFC 9562), which are defined by it; the server
-- has no other.
create or replace function ragdb._sha1(data bytea) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mask constant bigint := 4294967295;
  v_data constant bytea := data || '\x80'::bytea
    || decode(repeat('00', (119 - octet_length(data) % 64) % 64), 'hex')
      || int8send(8::bigint * octet_length(data));
  h bigint[] := array[1732584193, 4023233417, 2562383102, 271733878, 3285377520];
  w bigint[];
  a bigint; b bigint; c bigint; d bigint; e bigint; f bigint; t bigint; j integer;
begin
  for v_block in 0..octet_length(v_data) / 64 - 1 loop
    for i in 1..16 loop
      j := 64 * v_block + 4 * i - 4;
      w[i] := (get_byte(v_data, j)::bigint << 24) | (get_byte(v_data, j + 1) << 16)
        | (get_byte(v_data, j + 2) << 8) | get_byte(v_data, j + 3);
    end loop;
    for i in 17..80 loop
      t := w[i - 3] # w[i - 8] # w[i - 14] # w[i - 16];
      w[i] := ((t << 1) | (t >> 31)) & v_mask;
    end loop;
    a := h[1]; b := h[2]; c := h[3]; d := h[4]; e := h[5];
    for i in 1..80 loop
      if i <= 20 then f := ((b & c) | ((~b & v_mask) & d)) + 1518500249;
      elsif i <= 40 then f := (b # c # d) + 1859775393;
      elsif i <= 60 then f := ((b & c) | (b & d) | (c & d)) + 2400959708;
      else f := (b # c # d) + 3395469782;
      end if;
      t := ((((a << 5) | (a >> 27)) & v_mask) + f + e + w[i]) & v_mask;
      e := d; d := c; c := ((b << 30) | (b >> 2)) & v_mask; b := a; a := t;
    end loop;
    h := array[(h[1] + a) & v_mask, (h[2] + b) & v_mask, (h[3] + c) & v_mask, (h[4] + d) & v_mask,
      (h[5] + e) & v_mask];
  end loop;
  return substr(int8send(h[1]), 5) || substr(int8send(h[2]), 5) || substr(int8send(h[3]), 5)
    || substr(int8send(h[4]), 5) || substr(int8send(h[5]), 5);
end $$;
comment on function ragdb._sha1(bytea) is 'Returns the SHA-1 (FIPS 180-4) of some bytes, for UUIDs of version 5 alone.';

create or replace function ragdb._uuid5(namespace uuid, name bytea) returns uuid
language sql immutable strict parallel safe
begin atomic
  select pg_catalog.encode(
      pg_catalog.set_byte(pg_catalog.set_byte(pg_catalog.substr(s.bytes, 1, 16),
        6, (pg_catalog.get_byte(s.bytes, 6) & 15) | 80),
        8, (pg_catalog.get_byte(s.bytes, 8) & 63) | 128), 'hex')::uuid
    from (select ragdb._sha1(pg_catalog.uuid_send(namespace) || name) as bytes) s;
end;
comment on function ragdb._uuid5(uuid, bytea) is 'Returns the UUID of version 5 (RFC 9562) of a name in a namespace.';

create or replace function ragdb._is_uuid(id text) returns boolean
language sql immutable parallel safe
return id ~ '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$';
comment on function ragdb._is_uuid(text) is 'Tells whether a text is a UUID with hyphens.';

-- A message id that is a UUID is kept in its canonical form; any other becomes one, the same in
-- every database.
-- Definer: what it calls is private.
create or replace function ragdb.turn_id(corpus text, session text, id text) returns text
language sql stable parallel safe security definer
return case when ragdb._is_uuid(id) then pg_catalog.lower(id collate "C")
  else ragdb._uuid5('5b8f3b54-7a0b-5d0c-9a53-3f6d1f4c2a10',
    ragdb._packed(corpus) || ragdb._packed(session) || ragdb._packed(id))::text end;
comment on function ragdb.turn_id(text, text, text) is
  'Returns the chunk id of a message: its own id when that is a UUID, else the version 5 UUID of (corpus, session, id).';

-- Phase by keywords and form. Each rule adds to one phase; the best of at least 0.3 wins, ties in
-- the order of the list.
create or replace function ragdb._turn_phase(role text, text text) returns text
language sql immutable strict parallel safe
begin atomic
  select coalesce((
    select p.phase
      from (values
        (1, 'synthesis', case when t.low ~ ('(decision:|let''s go with|we''ll use|decided to'
          || '|the approach|final answer|conclusion|summary)') then 0.5 else 0 end),
        (2, 'planning', case when t.low ~ ('(\mphase|\mroadmap|\mstep|\mplan|\mmilestone|\mtodo'
            || '|\mfirst,|\msecond,|\mthird,|\mthen\M|\mnext step)') then 0.4 else 0 end
          + case when t.items > 3 then 0.3 else 0 end),
        (3, 'consolidation', case when t.length > 1000 then 0.3 else 0 end
          + case when pg_catalog.strpos(t.low, '```') > 0 then 0.3 else 0 end
          + case when t.low ~ '[a-z0-9_]\.(rs|py|ts|js|go|java|cpp|h)\M' then 0.2 else 0 end),
        (4, 'debugging', case when t.low ~ ('(\merror|\mexception|\mtraceback|\mfailed'
          || '|doesn''t work|\mbug|\mfix|\mbroken|\mcrash|\mpanic|\mundefined)')
          then 0.6 else 0 end),
        (5, 'exploration', case when role <> 'user' then 0
          else case when pg_catalog.regexp_count(t.low, '\?') >= 2 then 0.5 else 0 end
            + case when t.length < 200 then 0.2 else 0 end end)
      ) p (place, phase, weight)
      where p.weight >= 0.3 order by p.weight desc, p.place limit 1), 'exploration')
    from (select pg_catalog.lower(_turn_phase.text collate "C") as low,
        pg_catalog.octet_length(_turn_phase.text) as length,
        pg_catalog.regexp_count(_turn_phase.text, '^[ \t]*([-*+]|[0-9]+[.)])[ \t]', 1, 'n')
          as items) t;
end;
comment on function ragdb._turn_phase(text, text) is
  'Returns the phase of a turn by its role and text: the rule of the highest weight of at least 0.3, else exploration.';

-- Everything about turns that follows from their texts, order, edges and embeddings; run again
-- whenever a session changes, and when it has all its embeddings. Where a turn has several parents,
-- the one of the least id counts.
create or replace function ragdb._derive_turns(corpus_id integer, sessions text[]) returns void
language sql
begin atomic
  with recursive members as materialized (
    select t.chunk_no, t.session_id, t.role, t.given, t.created_at, c.text, c.chunk_id, v.embedding,
        pg_catalog.row_number() over (
          partition by t.session_id order by t.created_at, c.ordinal, c.chunk_id) as place,
        coalesce(t.given ->> 'phase', ragdb._turn_phase(t.role, c.text)) as phase
      from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no)
      cross join ragdb._space(_derive_turns.corpus_id, 'current') s
      left join ragdb.chunk_embeddings v on v.space_id = s.space_id
        and v.corpus_id = t.corpus_id and v.chunk_no = t.chunk_no
      where t.corpus_id = _derive_turns.corpus_id
        and t.session_id = any (_derive_turns.sessions)
  ), answers as materialized (
    select e.parent_no, e.child_no, p.chunk_id as parent_id, p.embedding as parent_embedding
      from ragdb.edges e
      join members m on m.chunk_no = e.child_no
      join members p on p.chunk_no = e.parent_no
      where e.corpus_id = _derive_turns.corpus_id and e.edge_type in ('reply', 'branch')
  ), parents as (
    select distinct on (a.child_no) a.child_no, a.parent_no, a.parent_embedding
      from answers a order by a.child_no, a.parent_id
  ), paths as (
    select m.chunk_no, 0 as depth from members m
      where not exists (select from answers a where a.child_no = m.chunk_no)
    union
    select a.child_no, p.depth + 1 from paths p join answers a on a.parent_no = p.chunk_no
  ), depths as (
    select p.chunk_no, pg_catalog.min(p.depth) as depth from paths p group by p.chunk_no
  ), referred as (
    select e.child_no, pg_catalog.count(*) as times
      from ragdb.edges e join members m on m.chunk_no = e.child_no
      where e.corpus_id = _derive_turns.corpus_id and e.edge_type = 'reference'
      group by e.child_no
  ), placed as (
    select m.chunk_no, m.session_id, m.given, m.place, m.phase, m.embedding, m.text,
        extract(epoch from m.created_at - pg_catalog.min(m.created_at) over s) as elapsed,
        extract(epoch from
          pg_catalog.max(m.created_at) over s - pg_catalog.min(m.created_at) over s) as span,
        m.phase <> pg_catalog.lag(m.phase) over o as is_transition,
        pg_catalog.array_agg(m.embedding) over (o rows between 10 preceding and 1 preceding)
          as earlier,
        pg_catalog.row_number() over (partition by m.session_id, p.parent_no order by m.place) - 1
          as sibling_order, p.parent_embedding
      from members m left join parents p on p.child_no = m.chunk_no
      window s as (partition by m.session_id), o as (partition by m.session_id order by m.place)
  ), derived as (
    select p.*, d.depth,
        case when d.depth = 0 then 1
          when p.embedding is null or p.parent_embedding is null then 0.5
          else ragdb._similarity(p.embedding, p.parent_embedding, 'cosine') end as homogeneity,
        case when p.embedding is null then 0 when p.place = 1 then 0.1::float8
          when pg_catalog.array_position(p.earlier, null) is not null then 0
          else least(0.1::float8, greatest(0, 0.1::float8 * (
            select 1 - pg_catalog.avg(pg_catalog.round((1 - (p.embedding <=> e.v))::numeric, 6))
              from pg_catalog.unnest(p.earlier) e (v)))) end as novelty
      from placed p join depths d using (chunk_no)
  )
  update ragdb.turns t
    set phase = d.phase, depth = d.depth, sibling_order = d.sibling_order,
        homogeneity = d.homogeneity, temporal = coalesce(d.elapsed / nullif(d.span, 0), 0),
        complexity = 1 + pg_catalog.regexp_count(d.text, '^```', 1, 'n') / 2
          + pg_catalog.regexp_count(d.text, '!\[[^]]*\]\('),
        salience = coalesce((d.given ->> 'salience')::float8, least(1, greatest(0, 0.5::float8
          + 0.35::float8 * pg_catalog.sign(coalesce((d.given ->> 'feedback')::float8, 0))
          + case when d.is_transition then 0.1::float8 else 0 end
          + least(0.05::float8 * coalesce(r.times, 0), 0.15::float8)
          + d.novelty)))
    from derived d left join referred r on r.child_no = d.chunk_no
    where t.corpus_id = _derive_turns.corpus_id and t.chunk_no = d.chunk_no;
  update ragdb.edges e set child_salience = t.salience
    from ragdb.turns t
    where t.corpus_id = _derive_turns.corpus_id and t.session_id = any (_derive_turns.sessions)
      and e.corpus_id = t.corpus_id and e.child_no = t.chunk_no
      and e.child_salience <> t.salience;
end;
comment on function ragdb._derive_turns(integer, text[]) is
  'Sets phase, salience, depth, sibling order, homogeneity, temporal and complexity of the turns of some sessions; homogeneity and the novelty in salience where the turns that they compare are embedded.';

-- Once a session: with every batch, a long session would be derived anew for each.
create or replace function ragdb._derive_embedded_turns(
  space ragdb.embedding_spaces, chunk_nos integer[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_sessions text[] := array(
    select distinct t.session_id from ragdb.turns t
      where space.state = 'current' and t.corpus_id = space.corpus_id
        and t.chunk_no = any (_derive_embedded_turns.chunk_nos)
        and not exists (
          select from ragdb.turns o
            where o.corpus_id = t.corpus_id and o.session_id = t.session_id
              and not exists (select from ragdb.chunk_embeddings v where v.space_id = space.space_id
                and v.corpus_id = o.corpus_id and v.chunk_no = o.chunk_no)));
begin
  if v_sessions <> '{}' then
    perform ragdb._derive_turns(space.corpus_id, v_sessions);
  end if;
end $$;
comment on function ragdb._derive_embedded_turns(ragdb.embedding_spaces, integer[]) is
  'Derives anew the sessions of turns that have just been embedded and are complete in a current space; the caller holds the corpus lock.';

-- ── conversations ───────────────────────────────────────────────────────────────────────────────

-- What is put is parsed once: the ids of turns are costly where they are no UUIDs.
do $$ begin
  if pg_catalog.to_regtype('ragdb.parsed_turn') is null then
    create type ragdb.parsed_turn as (
      nth bigint, session_id text, place bigint, raw_id text, chunk_id text, role text,
      given jsonb, created_at timestamptz, text text);
    create type ragdb.parsed_edge as (
      nth bigint, parent_id text, child_id text, edge_type text, raw_parent text,
      raw_child text);
  end if;
end $$;
comment on type ragdb.parsed_turn is
  'A message of a conversation that is put: conversation (from 0), place in it, id as given and as chunk id.';
comment on type ragdb.parsed_edge is
  'A parent of a message that is put, by chunk ids and by the ids as given.';

create or replace function ragdb._parsed_turns(corpus text, conversations jsonb)
returns setof ragdb.parsed_turn
language sql stable parallel safe
begin atomic
  select c.n - 1, c.v ->> 'session', m.n,
      m.v ->> 'id', ragdb.turn_id(_parsed_turns.corpus, c.v ->> 'session', m.v ->> 'id'),
      case r.role when 'prompter' then 'user'
        when 'assistant' then r.role when 'system' then r.role when 'tool' then r.role
          else 'user' end,
      pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
        'phase', case when pg_catalog.lower(m.v ->> 'phase') in
            ('exploration', 'debugging', 'planning', 'consolidation', 'synthesis')
              then pg_catalog.lower(m.v ->> 'phase')
          when m.v ->> 'phase' is not null then 'exploration' end,
        'salience', m.v -> 'salience', 'feedback', m.v -> 'feedback')),
      coalesce((m.v ->> 'created_at')::timestamptz, pg_catalog.to_timestamp(m.n)),
      m.v ->> 'text'
    from pg_catalog.jsonb_array_elements(conversations) with ordinality c (v, n)
    cross join lateral pg_catalog.jsonb_array_elements(c.v -> 'messages') with ordinality m (v, n)
    cross join lateral (select pg_catalog.lower(m.v ->> 'role') as role) r;
end;
comment on function ragdb._parsed_turns(text, jsonb) is
  'Reads the messages of conversations: unknown roles and phases take their defaults, ids become UUIDs, a message without a time gets its place in the conversation as seconds.';

create or replace function ragdb._parsed_edges(corpus text, conversations jsonb)
returns setof ragdb.parsed_edge
language sql stable parallel safe
begin atomic
  select distinct c.n - 1, ragdb.turn_id(_parsed_edges.corpus, c.v ->> 'session', p.id),
      ragdb.turn_id(_parsed_edges.corpus, c.v ->> 'session', m.v ->> 'id'),
      case pg_catalog.lower(p.edge_type) when 'branch' then 'branch' when 'reference'
        then 'reference'
        when 'reply' then 'reply' else 'default' end,
      p.id, m.v ->> 'id'
    from pg_catalog.jsonb_array_elements(conversations) with ordinality c (v, n)
    cross join lateral pg_catalog.jsonb_array_elements(c.v -> 'messages') m (v)
    cross join lateral (
      select m.v ->> 'parent_id' as id, 'reply' as edge_type
      union all
      select case pg_catalog.jsonb_typeof(q.v) when 'object' then q.v ->> 'id'
        else q.v #>> '{}' end,
          case pg_catalog.jsonb_typeof(q.v) when 'object'
            then coalesce(q.v ->> 'edge_type', 'default') else 'reply' end
        from pg_catalog.jsonb_array_elements(
          case pg_catalog.jsonb_typeof(m.v -> 'parents') when 'array' then m.v -> 'parents'
            else '[]' end) q (v)) p
    where p.id is not null;
end;
comment on function ragdb._parsed_edges(text, jsonb) is
  'Reads the parents of messages: parent_id and plain ids in parents are replies, objects {"id", "edge_type"} say their type.';

-- A conversation that contradicts itself is refused whole, with the ids that do.
create or replace function ragdb._check_conversations(conversations jsonb) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_bad record;
begin
  if conversations is null or jsonb_typeof(conversations) <> 'array'
    or jsonb_array_length(conversations) > 1000 then
    raise exception 'conversations is not an array of at most 1000'
      using errcode = 'RG412', detail = 'put_conversations takes a JSON array',
        hint = 'one conversation goes in an array of one';
  end if;
  select c.n - 1 as n, f.message into v_bad
    from jsonb_array_elements(conversations) with ordinality c (v, n)
    cross join lateral (values
      (1, jsonb_typeof(c.v) = 'object', 'it is not an object'),
      (2, coalesce(octet_length(c.v ->> 'session') between 1 and 500, false),
        'session is not a text of 1 to 500 bytes'),
      (3, coalesce(jsonb_typeof(c.v -> 'messages') = 'array', false),
        'messages is not an array')) f (i, is_fine, message)
    where not f.is_fine order by c.n, f.i limit 1;
  if v_bad.n is not null then
    raise exception 'conversation at position %: %', v_bad.n, v_bad.message
      using errcode = 'RG412', detail = 'positions count from 0; nothing was written',
            hint = 'a conversation is {"doc_cid", "uri", "session", "messages": [{"id", "parent_id", "role", "text"}]}';
  end if;
  select c.n - 1 as n, m.n as place, f.message into v_bad
    from jsonb_array_elements(conversations) with ordinality c (v, n)
    cross join lateral jsonb_array_elements(c.v -> 'messages') with ordinality m (v, n)
    cross join lateral (values
      (1, jsonb_typeof(m.v) = 'object', 'it is not an object'),
      (2, coalesce(octet_length(m.v ->> 'id') between 1 and 500, false),
        'id is not a text of 1 to 500 bytes'),
      (3, coalesce(jsonb_typeof(m.v -> 'text') = 'string'
        and btrim(m.v ->> 'text', E' \t\n\r\f\v') <> '', false), 'text is missing or blank'),
      (4, coalesce(jsonb_typeof(m.v -> 'salience'), 'null') = 'null'
        or jsonb_typeof(m.v -> 'salience') = 'number'
        and (m.v ->> 'salience')::numeric between 0 and 1, 'salience is not a number of 0 to 1'),
      (5, coalesce(jsonb_typeof(m.v -> 'feedback'), 'null') in ('null', 'number'),
        'feedback is not a number'),
      (6, coalesce(jsonb_typeof(m.v -> 'created_at'), 'null') = 'null'
        or m.v ->> 'created_at' ~ '^\d{4}-' and pg_input_is_valid(m.v ->> 'created_at', 'timestamptz'),
        'created_at is not a time'),
      (7, coalesce(jsonb_typeof(m.v -> 'parents'), 'array') in ('array', 'null'),
        'parents is not an array')) f (i, is_fine, message)
    where not f.is_fine order by c.n, m.n, f.i limit 1;
  if v_bad.n is not null then
    raise exception 'conversation at position %, message %: %', v_bad.n, v_bad.place, v_bad.message
      using errcode = 'RG412', detail = 'messages count from 1; nothing was written',
            hint = 'a message is {"id", "parent_id" or "parents", "role", "text", "created_at", "phase", "salience"}';
  end if;
end $$;
comment on function ragdb._check_conversations(jsonb) is
  'Raises RG412 for conversations with a field that is missing or bad.';

create or replace function ragdb._check_turns(
  turns ragdb.parsed_turn[], edges ragdb.parsed_edge[]) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_bad record;
begin
  select min(t.raw_id) as id into v_bad
    from unnest(_check_turns.turns) t group by t.chunk_id having count(*) > 1
      order by 1 limit 1;
  if v_bad.id is not null then
    raise exception 'two turns have the id %', ragdb._quote(v_bad.id)
      using errcode = 'RG412', detail = 'a turn is known by its id',
        hint = 'give every message an id of its own';
  end if;
  select e.raw_child, e.raw_parent, e.parent_id = e.child_id as is_self into v_bad
    from unnest(_check_turns.edges) e
    left join unnest(_check_turns.turns) t on t.chunk_id = e.parent_id
      and t.nth = e.nth
    where e.parent_id = e.child_id or t.chunk_id is null
    order by e.nth, e.raw_child, e.raw_parent limit 1;
  if v_bad.raw_child is not null then
    raise exception 'turn % has the parent %, which is %', ragdb._quote(v_bad.raw_child),
      ragdb._quote(v_bad.raw_parent),
        case when v_bad.is_self then 'the turn itself' else 'not in the conversation' end
      using errcode = 'RG412', detail = 'an edge joins two turns of one conversation',
            hint = 'put the whole conversation, or leave the parent out for a root';
  end if;
  with recursive edges as materialized (
    select e.parent_id, e.child_id from unnest(_check_turns.edges) e
      where e.edge_type in ('reply', 'branch')
  ), turns as materialized (
    select t.chunk_id, t.raw_id from unnest(_check_turns.turns) t
  ), reached as (
    select t.chunk_id from turns t where not exists (select from edges e
      where e.child_id = t.chunk_id)
    union
    select e.child_id from reached r join edges e on e.parent_id = r.chunk_id
  )
  -- what no root leads to is on a cycle or behind one
  select string_agg(ragdb._quote(z.raw_id), ', ') as ids into v_bad
    from (select t.raw_id from turns t where not exists (select from reached r
      where r.chunk_id = t.chunk_id)
      order by t.raw_id limit 5) z;
  if v_bad.ids is not null then
    raise exception 'replies form a cycle'
      using errcode = 'RG412', detail = 'turns on it or behind it: ' || v_bad.ids,
            hint = 'a reply or branch leads from an earlier turn to a later one; use a reference for anything else';
  end if;
end $$;
comment on function ragdb._check_turns(ragdb.parsed_turn[], ragdb.parsed_edge[]) is
  'Raises RG412 for two turns of one id, a parent that is missing or the turn itself, or a cycle of replies.';

create or replace function ragdb.put_conversations(corpus text, conversations jsonb,
  force boolean default false)
returns setof ragdb.put_result
language plpgsql security definer -- turns and edges are granted to nobody
set search_path = pg_catalog, pg_temp
set timezone = 'UTC' -- a time without a zone means the same everywhere
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora;
  v_conversations constant jsonb := put_conversations.conversations;
  v_turns ragdb.parsed_turn[];
  v_edges ragdb.parsed_edge[];
  v_documents jsonb;
  v_result ragdb.put_result;
  v_written integer[] := '{}';
begin
  v_corpus := ragdb._open_corpus(put_conversations.corpus, 'write');
  perform ragdb._check_conversations(v_conversations);
  v_turns := array(select t from ragdb._parsed_turns(v_corpus.name, v_conversations) t);
  v_edges := array(select e from ragdb._parsed_edges(v_corpus.name, v_conversations) e);
  perform ragdb._check_turns(v_turns, v_edges);
  -- a conversation is a document whose chunks are its messages; its text is the messages with a
  -- blank line between
  select coalesce(jsonb_agg((c.v - 'messages' - 'session') || jsonb_build_object(
      'media_type', coalesce(c.v ->> 'media_type', 'application/x-conversation+json'),
      'size_bytes', coalesce(c.v -> 'size_bytes', to_jsonb(octet_length(c.v::text))),
      'chunking', jsonb_build_object('chunker', 'turns/1'),
      'chunks', coalesce(t.chunks, '[]')) order by c.n), '[]')
    into v_documents
    from jsonb_array_elements(v_conversations) with ordinality c (v, n)
    left join (
      select z.nth, jsonb_agg(jsonb_build_object('id', z.chunk_id, 'text', z.text, 'start',
        z.ending - length(z.text),
          'end', z.ending, 'heading', '[]'::jsonb, 'tokens', (length(z.text) + 3) / 4) order by z.place) as chunks
        from (
          select t.*, sum(length(t.text) + 2) over (partition by t.nth order by t.place) - 2
            as ending
            from unnest(v_turns) t) z
        group by z.nth) t on t.nth = c.n - 1;
  for v_result in
    select p.* from ragdb.put_documents(put_conversations.corpus, v_documents,
      put_conversations.force) p
  loop
    if not v_result.was_duplicate then v_written := v_written || v_result."position"; end if;
    return next v_result;
  end loop;

  insert into ragdb.turns
    select v_corpus.corpus_id, c.chunk_no, t.session_id, t.role, 'exploration', 0.5, 0, 0, 0.5, 0,
      1, t.given, t.created_at
      from unnest(v_turns) t
      join ragdb.chunks c on c.corpus_id = v_corpus.corpus_id and c.chunk_id = t.chunk_id
      where t.nth = any(v_written)
    on conflict (corpus_id, chunk_no) do update
      set session_id = excluded.session_id, role = excluded.role, given = excluded.given,
        created_at = excluded.created_at;
  delete from ragdb.edges e
    using unnest(v_turns) t
    join ragdb.chunks c on c.corpus_id = v_corpus.corpus_id and c.chunk_id = t.chunk_id
    where t.nth = any(v_written) and e.corpus_id = v_corpus.corpus_id and e.child_no = c.chunk_no
      and not exists (select
        from unnest(v_edges) g
        join ragdb.chunks p on p.corpus_id = v_corpus.corpus_id and p.chunk_id = g.parent_id
        where g.child_id = t.chunk_id and p.chunk_no = e.parent_no and g.edge_type = e.edge_type);
  insert into ragdb.edges (corpus_id, parent_no, child_no, edge_type)
    select v_corpus.corpus_id, p.chunk_no, k.chunk_no, g.edge_type
      from unnest(v_edges) g
      join ragdb.chunks p on p.corpus_id = v_corpus.corpus_id and p.chunk_id = g.parent_id
      join ragdb.chunks k on k.corpus_id = v_corpus.corpus_id and k.chunk_id = g.child_id
      where g.nth = any(v_written)
      order by p.chunk_no, k.chunk_no, g.edge_type
    on conflict do nothing;
  perform ragdb._derive_turns(v_corpus.corpus_id, array(
    select distinct t.session_id from unnest(v_turns) t
      where t.nth = any(v_written)));
end $$;
comment on function ragdb.put_conversations(text, jsonb, boolean) is
  'Stores conversations, an array of {"doc_cid", "uri", "session", "messages": [{"id", "parent_id" or "parents", "role", "text", "created_at", "phase", "salience", "feedback"}]} beside the fields of a document: each message is a chunk and a turn, each parent an edge; what is not given is derived. Returns what put_documents returns. Raises RG401, RG404, RG412 and what put_documents raises.';

create or replace function ragdb.get_turn(corpus text, chunk_id text)
returns table (turn_id text, session_id text, role text, phase text, salience real, depth integer,
  sibling_order integer,
  homogeneity real, temporal real, complexity real, created_at timestamptz, content_hash text,
    text text)
language plpgsql stable parallel safe security definer rows 1 -- turns and chunks are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora;
begin
  v_corpus := ragdb._open_corpus(get_turn.corpus, 'read');
  return query
    select c.chunk_id, t.session_id, t.role, t.phase, t.salience, t.depth, t.sibling_order,
      t.homogeneity, t.temporal,
        t.complexity, t.created_at, encode(c.content_hash, 'hex'), c.text
      from ragdb.chunks c join ragdb.turns t using (corpus_id, chunk_no)
      where c.corpus_id = v_corpus.corpus_id and c.chunk_id = get_turn.chunk_id;
  if not found then
    raise exception 'turn % is not in corpus %', ragdb._quote(get_turn.chunk_id),
      ragdb._quote(v_corpus.name)
      using errcode = 'RG406', detail = 'a turn is a chunk that came with a conversation',
            hint = 'ids of turns are UUIDs in lower case; ragdb.get_chunk() reads any chunk';
  end if;
end $$;
comment on function ragdb.get_turn(text, text) is 'Returns a turn with its text and derived fields. Raises RG400, RG404, RG406.';

-- ── anchors ─────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.resolve_explicit(corpus text, chunk_id text) returns text
language sql stable parallel safe security definer -- chunks is granted to nobody
set search_path = pg_catalog, pg_temp
begin atomic
  select c.chunk_id from ragdb._open_corpus(resolve_explicit.corpus, 'read') o
    join ragdb.chunks c on c.corpus_id = o.corpus_id
    where c.chunk_id = resolve_explicit.chunk_id;
end;
comment on function ragdb.resolve_explicit(text, text) is
  'Returns the chunk id when the corpus has that chunk, else null. Raises RG400, RG404.';

create or replace function ragdb.resolve_from_session(corpus text, session text) returns text
language sql stable parallel safe security definer -- turns is granted to nobody
set search_path = pg_catalog, pg_temp
begin atomic
  select c.chunk_id from ragdb._open_corpus(resolve_from_session.corpus, 'read') o
    join ragdb.turns t on t.corpus_id = o.corpus_id
    join ragdb.chunks c on c.corpus_id = t.corpus_id and c.chunk_no = t.chunk_no
    where t.session_id = resolve_from_session.session
    order by t.created_at desc, c.chunk_id limit 1;
end;
comment on function ragdb.resolve_from_session(text, text) is
  'Returns the latest turn of a session, or null when it has none. Raises RG400, RG404.';

create or replace function ragdb.resolve_temporal(corpus text, count integer default 1,
  project text default null)
returns table (chunk_id text, session_id text, created_at timestamptz)
language plpgsql stable parallel safe security definer -- turns is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora;
begin
  v_corpus := ragdb._open_corpus(resolve_temporal.corpus, 'read');
  if coalesce(resolve_temporal.count not between 1 and 1000, true) then
    raise exception 'count is not 1 to 1000' using errcode = 'RG400',
      detail = 'it is ' || coalesce(resolve_temporal.count::text, 'null'),
        hint = 'ask for fewer turns';
  end if;
  return query
    select c.chunk_id, t.session_id, t.created_at
      from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no) join ragdb.documents d
        using (corpus_id, doc_no)
      where t.corpus_id = v_corpus.corpus_id
        and (resolve_temporal.project is null
          or d.metadata ->> 'project' = resolve_temporal.project)
      order by t.created_at desc, c.chunk_id limit resolve_temporal.count;
end $$;
comment on function ragdb.resolve_temporal(text, integer, text) is
  'Returns the 1 to 1000 most recent turns, of conversations whose metadata names the project when one is given. Raises RG400, RG404.';

---- sql/55_slices.sql

-- Slices: the chunks that a policy admits around an anchor. Policies are immutable; a slice is a
-- pure function of
-- corpus content, anchor and policy, and its fingerprint covers all three.

-- int8 has no unsigned arithmetic: numeric computes exactly, this brings the result back modulo
-- 2^64. The value is named once, so that the call is inlined.
create or replace function ragdb._wrap64(value numeric) returns bigint
language sql immutable strict parallel safe
return (pg_catalog.mod(pg_catalog.mod(value, 18446744073709551616) + 27670116110564327424,
  18446744073709551616) - 9223372036854775808)::bigint;
comment on function ragdb._wrap64(numeric) is 'Reduces an integer modulo 2^64 to a two''s complement bigint.';

create or replace function ragdb._rotl64(value bigint, bits integer) returns bigint
language sql immutable strict parallel safe
return (value << bits) | ((value >> (64 - bits)) & ((1::bigint << bits) - 1));
comment on function ragdb._rotl64(bigint, integer) is 'Rotates 64 bits to the left by 1 to 62 places.';

create or replace function ragdb._le_bytes(data bytea, start integer, count integer) returns bigint
language sql immutable strict parallel safe
return pg_catalog.get_byte(data, start)::bigint | (pg_catalog.get_byte(data, start + 1)::bigint << 8)
  | (pg_catalog.get_byte(data, start + 2)::bigint << 16)
  | (pg_catalog.get_byte(data, start + 3)::bigint << 24)
  | case count when 8 then (pg_catalog.get_byte(data, start + 4)::bigint << 32)
      | (pg_catalog.get_byte(data, start + 5)::bigint << 40)
      | (pg_catalog.get_byte(data, start + 6)::bigint << 48)
      | (pg_catalog.get_byte(data, start + 7)::bigint << 56) else 0 end;
comment on function ragdb._le_bytes(bytea, integer, integer) is
  'Reads 4 or 8 bytes from a position (from 0) as a little-endian integer.';

-- The hash that existing policy registries use for params_hash. It identifies; it does not protect:
-- tokens cover sha256.
-- Definer: what it calls is private.
create or replace function ragdb.xxh64(data bytea) returns text
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  p1 constant numeric := 11400714785074694791;
  p2 constant numeric := 14029467366897019727;
  p3 constant numeric := 1609587929392839161;
  p4 constant numeric := 9650029242287828579;
  p5 constant numeric := 2870177450012600261;
  v_length constant integer := length(data);
  v_at integer := 0;
  v_lanes bigint[] := array[ragdb._wrap64(p1 + p2), ragdb._wrap64(p2), 0, ragdb._wrap64(-p1)];
  h bigint;
begin
  if v_length >= 32 then
    while v_at + 32 <= v_length loop
      for i in 1..4 loop
        v_lanes[i] := ragdb._wrap64(p1 * ragdb._rotl64(
          ragdb._wrap64(v_lanes[i] + p2 * ragdb._le_bytes(data, v_at, 8)), 31));
        v_at := v_at + 8;
      end loop;
    end loop;
    h := ragdb._wrap64(ragdb._rotl64(v_lanes[1], 1)::numeric + ragdb._rotl64(v_lanes[2], 7)
      + ragdb._rotl64(v_lanes[3], 12) + ragdb._rotl64(v_lanes[4], 18));
    for i in 1..4 loop
      h := ragdb._wrap64(p4 + p1 * (h # ragdb._wrap64(
        p1 * ragdb._rotl64(ragdb._wrap64(p2 * v_lanes[i]), 31))));
    end loop;
  else
    h := ragdb._wrap64(p5);
  end if;
  h := ragdb._wrap64(h::numeric + v_length);
  while v_at + 8 <= v_length loop
    h := h # ragdb._wrap64(p1 * ragdb._rotl64(ragdb._wrap64(p2 * ragdb._le_bytes(data, v_at, 8)),
      31));
    h := ragdb._wrap64(p4 + p1 * ragdb._rotl64(h, 27));
    v_at := v_at + 8;
  end loop;
  if v_at + 4 <= v_length then
    h := h # ragdb._wrap64(p1 * ragdb._le_bytes(data, v_at, 4));
    h := ragdb._wrap64(p3 + p2 * ragdb._rotl64(h, 23));
    v_at := v_at + 4;
  end if;
  while v_at < v_length loop
    h := ragdb._wrap64(p1 * ragdb._rotl64(h # ragdb._wrap64(p5 * get_byte(data, v_at)), 11));
    v_at := v_at + 1;
  end loop;
  h := ragdb._wrap64(p2 * (h # ((h >> 33) & 2147483647)));
  h := ragdb._wrap64(p3 * (h # ((h >> 29) & 34359738367)));
  return lpad(to_hex(h # ((h >> 32) & 4294967295)), 16, '0');
end $$;
comment on function ragdb.xxh64(bytea) is
  'Returns xxHash64 (seed 0) as 16 hex digits; a fingerprint that names things and proves nothing.';

create or replace function ragdb._micro(value float8) returns bigint
language sql immutable strict parallel safe
return pg_catalog.floor(value::real::float8 * 1000000::float8 + 0.5::float8)::bigint;
comment on function ragdb._micro(float8) is
  'Quantises a weight of 0..1: its single-precision value times a million, rounded half away from zero.';

create or replace function ragdb._default_policy() returns jsonb
language sql immutable parallel safe
return '{"version": "slice_policy_v1", "max_nodes": 256, "max_radius": 10,
  "phase_weights": {"synthesis": 1.0, "planning": 0.9, "consolidation": 0.6, "debugging": 0.5,
    "exploration": 0.3},
  "salience_weight": 0.3, "distance_decay": 0.9, "include_siblings": true,
    "max_siblings_per_node": 5}'::jsonb;
comment on function ragdb._default_policy() is 'Returns the slice policy that is used when none is given.';

-- Fills in defaults and refuses what does not belong: a policy that is stored is a policy that can
-- be obeyed.
create or replace function ragdb._complete_policy(policy jsonb) returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_default constant jsonb := ragdb._default_policy();
  v_policy jsonb;
  v_key text;
  v_value jsonb;
begin
  if policy is null or jsonb_typeof(policy) <> 'object' then
    raise exception 'a slice policy is a JSON object, not %', coalesce(jsonb_typeof(policy), 'null')
      using errcode = 'RG430', detail = 'fields: version, max_nodes, max_radius, phase_weights, salience_weight, '
        'distance_decay, include_siblings, max_siblings_per_node', hint = 'leave a field out for its default';
  end if;
  if jsonb_typeof(coalesce(policy -> 'phase_weights', '{}')) <> 'object' then
    raise exception 'phase_weights is not an object'
      using errcode = 'RG430', detail = 'its value is '
        || ragdb._quote((policy -> 'phase_weights')::text),
            hint = 'give a weight of 0 to 1 for each phase';
  end if;
  for v_key in
    select k from jsonb_object_keys(policy) k where not v_default ? k
    union all
    select 'phase_weights.' || k from jsonb_object_keys(coalesce(policy -> 'phase_weights', '{}')) k
      where not v_default -> 'phase_weights' ? k
  loop
    raise exception 'a slice policy has no field %', ragdb._quote(v_key)
      using errcode = 'RG430', detail = 'a field that nothing obeys would promise what does not happen',
            hint = 'fields: version, max_nodes, max_radius, phase_weights, salience_weight, distance_decay, '
              'include_siblings, max_siblings_per_node';
  end loop;
  v_policy := v_default || policy || jsonb_build_object('phase_weights',
    v_default -> 'phase_weights' || coalesce(policy -> 'phase_weights', '{}'));
  if jsonb_typeof(v_policy -> 'version') <> 'string'
    or v_policy ->> 'version' !~ '^[A-Za-z0-9_.-]{1,64}$' then
    raise exception 'version of a slice policy is not 1 to 64 letters, digits, _ . or -'
      using errcode = 'RG430', detail = 'its value is '
        || ragdb._quote((v_policy -> 'version')::text),
            hint = 'the default is slice_policy_v1';
  end if;
  if jsonb_typeof(v_policy -> 'include_siblings') <> 'boolean' then
    raise exception 'include_siblings is not true or false'
      using errcode = 'RG430', detail = 'its value is '
        || ragdb._quote((v_policy -> 'include_siblings')::text),
            hint = 'the default is true';
  end if;
  for v_key, v_value in
    select k, v_policy -> k from unnest(array['max_nodes', 'max_radius', 'max_siblings_per_node']) k
  loop
    if jsonb_typeof(v_value) <> 'number' or v_value::numeric <> trunc(v_value::numeric)
        or not v_value::numeric between (case v_key when 'max_nodes' then 1 else 0 end)
          and 10000 then
      raise exception '% is not a whole number of % to 10000', v_key, case v_key when 'max_nodes'
        then 1 else 0 end
        using errcode = 'RG430', detail = 'its value is ' || ragdb._quote(v_value::text),
              hint = 'the default is ' || (v_default ->> v_key);
    end if;
  end loop;
  for v_key, v_value in
    select k, v_policy -> k from unnest(array['salience_weight', 'distance_decay']) k
    union all
    select 'phase_weights.' || e.key, e.value from jsonb_each(v_policy -> 'phase_weights') e
  loop
    if jsonb_typeof(v_value) <> 'number' or not v_value::numeric between 0 and 1 then
      raise exception '% is not a number of 0 to 1', v_key
        using errcode = 'RG430', detail = 'its value is ' || ragdb._quote(v_value::text),
          hint = 'weights are shares';
    end if;
  end loop;
  return v_policy;
end $$;
comment on function ragdb._complete_policy(jsonb) is
  'Returns a slice policy with its defaults filled in. Raises RG430 for a field that is unknown or out of range.';

-- Declaration order, no white space, every float as an integer of millionths: the same bytes in
-- every language.
create or replace function ragdb._policy_canonical(policy jsonb) returns text
language sql immutable strict parallel safe
return '{"version":"' || (policy ->> 'version')
  || '","max_nodes":' || (policy ->> 'max_nodes')::numeric::integer
  || ',"max_radius":' || (policy ->> 'max_radius')::numeric::integer
  || ',"phase_weights":{"synthesis":'
    || ragdb._micro((policy -> 'phase_weights' ->> 'synthesis')::float8)
  || ',"planning":' || ragdb._micro((policy -> 'phase_weights' ->> 'planning')::float8)
  || ',"consolidation":' || ragdb._micro((policy -> 'phase_weights' ->> 'consolidation')::float8)
  || ',"debugging":' || ragdb._micro((policy -> 'phase_weights' ->> 'debugging')::float8)
  || ',"exploration":' || ragdb._micro((policy -> 'phase_weights' ->> 'exploration')::float8)
  || '},"salience_weight":' || ragdb._micro((policy ->> 'salience_weight')::float8)
  || ',"distance_decay":' || ragdb._micro((policy ->> 'distance_decay')::float8)
  || ',"include_siblings":' || (policy ->> 'include_siblings')
  || ',"max_siblings_per_node":' || (policy ->> 'max_siblings_per_node')::numeric::integer || '}';
comment on function ragdb._policy_canonical(jsonb) is
  'Returns the canonical JSON of a complete slice policy: what params_hash (xxHash64) and its sha256 are taken of.';

-- Definer, because what it calls is granted to nobody.
create or replace function ragdb.policy_hash(policy jsonb) returns text
language sql stable parallel safe security definer
return ragdb.xxh64(pg_catalog.convert_to(ragdb._policy_canonical(ragdb._complete_policy(policy)),
  'UTF8'));
comment on function ragdb.policy_hash(jsonb) is
  'Returns the params_hash of a slice policy: 16 hex digits of xxHash64 over its canonical JSON. Raises RG430.';

-- A chunk that is no turn counts as exploration of middling salience.
create or replace function ragdb._slice_weight(
  phase text, salience real, phases text[], weights real[], salience_weight real) returns real
language sql immutable parallel safe
return weights[coalesce(pg_catalog.array_position(phases, phase), 5)] + coalesce(salience,
  0.5::real) * salience_weight;
comment on function ragdb._slice_weight(text, real, text[], real[], real) is
  'Returns a chunk''s priority at distance 0: the weight of its phase plus its weighted salience, in single precision.';

-- Parents and children apart, because either side alone may be the crowd.
create or replace function ragdb._slice_best_neighbours(
  corpus_id integer, chunk_no integer, factor real, count integer, phases text[], weights real[],
    salience_weight real)
returns table (chunk_no integer, chunk_id text, weight real)
language sql stable parallel safe
begin atomic
  (select n.parent_no, c.chunk_id, w.weight
    from (select distinct e.parent_no from ragdb.edges e
      where e.corpus_id = _slice_best_neighbours.corpus_id
        and e.child_no = _slice_best_neighbours.chunk_no) n
    join ragdb.chunks c on c.corpus_id = _slice_best_neighbours.corpus_id
      and c.chunk_no = n.parent_no
    left join ragdb.turns t on t.corpus_id = _slice_best_neighbours.corpus_id
      and t.chunk_no = n.parent_no
    cross join lateral (select ragdb._slice_weight(t.phase, t.salience, phases, weights,
      salience_weight) as weight) w
    order by w.weight * factor desc, c.chunk_id desc limit count)
  union all
  (select n.child_no, c.chunk_id, w.weight
    from (select distinct e.child_no from ragdb.edges e
      where e.corpus_id = _slice_best_neighbours.corpus_id
        and e.parent_no = _slice_best_neighbours.chunk_no) n
    join ragdb.chunks c on c.corpus_id = _slice_best_neighbours.corpus_id
      and c.chunk_no = n.child_no
    left join ragdb.turns t on t.corpus_id = _slice_best_neighbours.corpus_id
      and t.chunk_no = n.child_no
    cross join lateral (select ragdb._slice_weight(t.phase, t.salience, phases, weights,
      salience_weight) as weight) w
    order by w.weight * factor desc, c.chunk_id desc limit count);
end;
comment on function ragdb._slice_best_neighbours(integer, integer, real, integer, text[], real[], real) is
  'Returns the best `count` parents and the best `count` children of a chunk by priority, then larger id.';

-- Best-first expansion, the inner loop of every slice. Few and short statements fetch what a selected
-- node adds to the frontier; what is known lives in arrays under small local numbers, found again
-- through an open-addressing table, and the frontier is a binary heap: the cost follows the slice and
-- not the graph. Priorities are single precision with the power by repeated squaring, as in existing
-- slices.
-- Three shortcuts change no result. Of more than max_nodes neighbours only the best max_nodes are
-- fetched: the others could never be selected, and v_hubs keeps them visited. Where every parent has
-- been expanded, all siblings have been visited. Children of the same parents share one list of
-- siblings.
create or replace function ragdb._expand_slice(corpus_id integer, anchor_no integer, policy jsonb)
returns table (chunk_nos integer[], chunk_ids text[], distances integer[])
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_corpus constant integer := _expand_slice.corpus_id;
  v_max_nodes constant integer := (policy ->> 'max_nodes')::numeric;
  v_max_radius constant integer := (policy ->> 'max_radius')::numeric;
  v_max_siblings constant integer := case when (policy ->> 'include_siblings')::boolean
    then (policy ->> 'max_siblings_per_node')::numeric else 0 end;
  v_salience_weight constant real := (policy ->> 'salience_weight')::real;
  v_decay constant real := (policy ->> 'distance_decay')::real;
  v_phases constant text[] :=
    array['synthesis', 'planning', 'consolidation', 'debugging', 'exploration'];
  v_weights constant real[] := array(select (policy -> 'phase_weights' ->> p)::real
    from unnest(v_phases) with ordinality u(p, n) order by n);
  v_powers real[] := array[1]; v_power real; v_base real; v_exponent integer;
  -- nodes met so far, by local number; every one of them has been pushed
  v_nodes integer := 0;
  v_no integer[] := '{}'; v_id text[] := '{}';
  v_priority real[] := '{}'; v_distance integer[] := '{}';
  v_slots integer[] := array_fill(0, array[4096]); v_mask integer := 4095;
  v_heap integer[] := '{}'; v_size integer := 0;
  v_expanded integer[] := '{}'; v_hubs integer[] := '{}';
  v_is_hub boolean := false; v_has_hubs boolean := false;
  -- what the selected node adds: neighbours, then siblings
  v_parents integer[]; v_children integer[]; v_neighbours integer;
  v_new integer[]; v_new_no integer[]; v_new_id text[]; v_new_weight real[];
  v_kin_of integer[]; v_kin_no integer[]; v_kin_id text[]; v_kin_weight real[]; v_place integer;
  v_picked integer := 0; v_node integer; v_here integer; v_d integer; v_p real; v_other integer;
  i integer; j integer; c integer; n integer;
begin
  for n in 1..v_max_radius loop
    v_power := 1; v_base := v_decay; v_exponent := n;
    loop
      if v_exponent & 1 = 1 then v_power := v_power * v_base; end if;
      v_exponent := v_exponent >> 1;
      exit when v_exponent = 0;
      v_base := v_base * v_base;
    end loop;
    v_powers[n + 1] := v_power;
  end loop;
  v_new_no := array[anchor_no];
  select array[c.chunk_id],
      array[ragdb._slice_weight(t.phase, t.salience, v_phases, v_weights, v_salience_weight)]
    into strict v_new_id, v_new_weight
    from ragdb.chunks c left join ragdb.turns t using (corpus_id, chunk_no)
    where c.corpus_id = v_corpus and c.chunk_no = anchor_no;
  v_d := -1; v_neighbours := 1;

  loop
    -- push what is new
    for k in 1..coalesce(cardinality(v_new_no), 0) loop
      n := v_new_no[k];
      i := ((n * 40503::bigint) & v_mask)::integer;
      loop
        c := v_slots[i + 1];
        exit when c = 0 or v_no[c] = n;
        i := (i + 1) & v_mask;
      end loop;
      continue when c <> 0;
      continue when v_has_hubs and (
        exists (select from ragdb.edges e where e.corpus_id = v_corpus
          and e.parent_no = any (v_hubs) and e.child_no = n)
        or exists (select from ragdb.edges e where e.corpus_id = v_corpus
          and e.child_no = any (v_hubs) and e.parent_no = n));
      v_nodes := v_nodes + 1; c := v_nodes;
      v_slots[i + 1] := c;
      v_other := case when k <= v_neighbours then v_d + 1 else v_d end;
      v_p := v_new_weight[k] * v_powers[v_other + 1];
      v_no[c] := n; v_id[c] := v_new_id[k]; v_priority[c] := v_p; v_distance[c] := v_other;
      v_size := v_size + 1; i := v_size;
      while i > 1 loop
        j := v_heap[i / 2];
        exit when v_priority[j] > v_p or v_priority[j] = v_p and (v_distance[j] < v_other
          or v_distance[j] = v_other and v_id[j] collate "C" > v_new_id[k]);
        v_heap[i] := j; i := i / 2;
      end loop;
      v_heap[i] := c;
      if 2 * v_nodes > v_mask then
        v_mask := 2 * v_mask + 1; v_slots := array_fill(0, array[v_mask + 1]);
        for m in 1..v_nodes loop
          i := ((v_no[m] * 40503::bigint) & v_mask)::integer;
          while v_slots[i + 1] <> 0 loop i := (i + 1) & v_mask; end loop;
          v_slots[i + 1] := m;
        end loop;
      end if;
    end loop;
    v_new_no := '{}';
    if v_is_hub then v_hubs := v_hubs || v_here; v_has_hubs := true; end if;
    v_is_hub := false;
    exit when v_size = 0;

    -- pop the best: higher priority, then smaller distance, then larger id
    v_node := v_heap[1];
    v_other := v_heap[v_size]; v_size := v_size - 1; i := 1;
    v_p := v_priority[v_other]; v_d := v_distance[v_other];
    loop
      j := 2 * i;
      exit when j > v_size;
      c := v_heap[j];
      if j < v_size then
        n := v_heap[j + 1];
        if v_priority[n] > v_priority[c] or v_priority[n] = v_priority[c] and (
          v_distance[n] < v_distance[c]
          or v_distance[n] = v_distance[c] and v_id[n] collate "C" > v_id[c])
        then
          j := j + 1; c := n;
        end if;
      end if;
      exit when v_p > v_priority[c] or v_p = v_priority[c] and (v_d < v_distance[c]
        or v_d = v_distance[c] and v_id[v_other] collate "C" > v_id[c]);
      v_heap[i] := c; i := j;
    end loop;
    v_heap[i] := v_other;

    v_here := v_no[v_node];
    v_d := v_distance[v_node];
    v_picked := v_picked + 1;
    chunk_nos[v_picked] := v_here; chunk_ids[v_picked] := v_id[v_node];
    distances[v_picked] := v_d;
    exit when v_picked = v_max_nodes;
    continue when v_d = v_max_radius;

    -- look around
    v_parents := array(select distinct e.parent_no from ragdb.edges e
      where e.corpus_id = v_corpus and e.child_no = v_here);
    v_children := array(select e.child_no from ragdb.edges e
      where e.corpus_id = v_corpus and e.parent_no = v_here
      order by e.child_no limit v_max_nodes + 1);
    v_is_hub := cardinality(v_parents) > v_max_nodes or cardinality(v_children) > v_max_nodes;
    if v_is_hub then
      select array_agg(h.chunk_no), array_agg(h.chunk_id), array_agg(h.weight)
        into v_new_no, v_new_id, v_new_weight
        from ragdb._slice_best_neighbours(v_corpus, v_here, v_powers[v_d + 2], v_max_nodes,
          v_phases, v_weights, v_salience_weight) h;
    else
      v_new := '{}';
      foreach n in array v_parents || v_children loop
        i := ((n * 40503::bigint) & v_mask)::integer;
        loop
          c := v_slots[i + 1];
          exit when c = 0 or v_no[c] = n;
          i := (i + 1) & v_mask;
        end loop;
        if c = 0 then v_new := v_new || n; end if;
      end loop;
      if v_new <> '{}' then
        select array_agg(c.chunk_no), array_agg(c.chunk_id), array_agg(
            ragdb._slice_weight(t.phase, t.salience, v_phases, v_weights, v_salience_weight))
          into v_new_no, v_new_id, v_new_weight
          from unnest(v_new) u (chunk_no)
          join ragdb.chunks c on c.corpus_id = v_corpus and c.chunk_no = u.chunk_no
          left join ragdb.turns t on t.corpus_id = v_corpus and t.chunk_no = u.chunk_no;
      end if;
    end if;
    v_neighbours := coalesce(cardinality(v_new_no), 0);

    if v_max_siblings > 0 and not v_parents <@ v_expanded then
      if v_kin_of is distinct from v_parents then
        v_kin_of := v_parents;
        select array_agg(k.child_no order by k.salience desc, k.chunk_id),
            array_agg(k.chunk_id order by k.salience desc, k.chunk_id),
            array_agg(ragdb._slice_weight(t.phase, t.salience, v_phases, v_weights,
              v_salience_weight) order by k.salience desc, k.chunk_id)
          into v_kin_no, v_kin_id, v_kin_weight
          from (
            select e.child_no, c.chunk_id, max(e.child_salience) as salience
              from ragdb.edges e
              join ragdb.chunks c on c.corpus_id = e.corpus_id and c.chunk_no = e.child_no
              where e.corpus_id = v_corpus and e.parent_no = any (v_parents)
              group by e.child_no, c.chunk_id
              order by 3 desc, 2 limit v_max_siblings + 1) k
          left join ragdb.turns t on t.corpus_id = v_corpus and t.chunk_no = k.child_no;
      end if;
      -- one more was fetched for the node itself, which is none of its siblings
      v_place := coalesce(array_position(v_kin_no, v_here), v_max_siblings + 1);
      v_new_no := v_new_no || v_kin_no[:v_place - 1] || v_kin_no[v_place + 1:];
      v_new_id := v_new_id[:v_neighbours] || v_kin_id[:v_place - 1] || v_kin_id[v_place + 1:];
      v_new_weight := v_new_weight[:v_neighbours]
        || v_kin_weight[:v_place - 1] || v_kin_weight[v_place + 1:];
    end if;
    v_expanded := v_expanded || v_here;
  end loop;
  return next;
end $$;
comment on function ragdb._expand_slice(integer, integer, jsonb) is
  'Returns the chunks that a complete policy admits around an anchor, in order of selection, with their distance of discovery.';

-- ── policies ────────────────────────────────────────────────────────────────────────────────────

comment on table ragdb.slice_policies is
  'Registered slice policies: rows never change, so a reference means the same for ever.';
comment on column ragdb.slice_policies.policy_id is 'The version field of the policy.';
comment on column ragdb.slice_policies.params_hash is
  '16 hex digits of xxHash64 over the canonical form.';
comment on column ragdb.slice_policies.canonical is 'The canonical JSON that both hashes cover.';
comment on column ragdb.slice_policies.sha256 is
  'SHA-256 of the canonical form; what a token covers.';
comment on column ragdb.slice_policies.policy is 'The complete policy as registered.';
comment on column ragdb.slice_policies.created_at is 'When it was registered.';
comment on column ragdb.slice_policies.created_by is 'The role that registered it.';

create or replace trigger slice_policies_are_immutable
  before update or delete on ragdb.slice_policies
  for each row execute function ragdb._refuse_change();
create or replace trigger slice_policies_are_not_truncated
  before truncate on ragdb.slice_policies
  for each statement execute function ragdb._refuse_change();
alter table ragdb.slice_policies enable always trigger slice_policies_are_immutable;
alter table ragdb.slice_policies enable always trigger slice_policies_are_not_truncated;

create or replace function ragdb._hashed_policy(policy jsonb) returns ragdb.slice_policies
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_policy ragdb.slice_policies;
begin
  v_policy.policy := ragdb._complete_policy(policy);
  v_policy.policy_id := v_policy.policy ->> 'version';
  v_policy.canonical := ragdb._policy_canonical(v_policy.policy);
  v_policy.params_hash := ragdb.xxh64(convert_to(v_policy.canonical, 'UTF8'));
  v_policy.sha256 := sha256(convert_to(v_policy.canonical, 'UTF8'));
  return v_policy;
end $$;
comment on function ragdb._hashed_policy(jsonb) is
  'Returns a policy completed, with its reference and canonical form, registered or not. Raises RG430.';

-- The default policy exists without being registered.
create or replace function ragdb._known_policy(policy_id text, params_hash text)
returns ragdb.slice_policies
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_policy ragdb.slice_policies;
begin
  select p.* into v_policy from ragdb.slice_policies p
    where p.policy_id = _known_policy.policy_id and p.params_hash = _known_policy.params_hash;
  if not found then
    v_policy := ragdb._hashed_policy('{}');
    if (v_policy.policy_id, v_policy.params_hash)
      is distinct from (_known_policy.policy_id, _known_policy.params_hash)
    then
      return null;
    end if;
  end if;
  return v_policy;
end $$;
comment on function ragdb._known_policy(text, text) is
  'Returns a policy by its reference; null when it is neither registered nor the default.';

-- Null is the default policy; {"policy_id", "params_hash"} names a registered one; anything else is
-- a policy in full.
create or replace function ragdb._resolve_policy(policy jsonb) returns ragdb.slice_policies
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_policy ragdb.slice_policies;
begin
  if policy is null or not policy ? 'policy_id' then
    return ragdb._hashed_policy(coalesce(policy, '{}'));
  end if;
  v_policy := ragdb._known_policy(policy ->> 'policy_id', policy ->> 'params_hash');
  if v_policy.policy_id is null then
    raise exception 'policy % with params_hash % is not registered',
        ragdb._quote(policy ->> 'policy_id'), ragdb._quote(policy ->> 'params_hash')
      using errcode = 'RG431', detail = 'a reference needs policy_id and params_hash',
            hint = 'ragdb.list_policies() lists them; ragdb.register_policy() adds one';
  end if;
  return v_policy;
end $$;
comment on function ragdb._resolve_policy(jsonb) is
  'Returns a policy with its reference and canonical form, from a reference, a policy in full or null (the default). Raises RG430, RG431.';

create or replace function ragdb._register_policy(policy ragdb.slice_policies) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into ragdb.slice_policies
    values (policy.policy_id, policy.params_hash, policy.canonical, policy.sha256, policy.policy,
      ragdb._now(), ragdb._caller())
    on conflict do nothing;
  if not exists (select from ragdb.slice_policies p
    where p.policy_id = policy.policy_id and p.params_hash = policy.params_hash
      and p.canonical = policy.canonical)
  then
    raise exception 'another policy has the params_hash %', policy.params_hash
      using errcode = 'RG409',
            detail = 'xxHash64 names a policy and does not prove it; the canonical forms differ',
            hint = 'change any parameter by a millionth';
  end if;
end $$;
comment on function ragdb._register_policy(ragdb.slice_policies) is
  'Stores a resolved policy; one that is stored already is left alone. Raises RG409.';

-- Definer, like its sister below: slice_policies is granted to nobody.
create or replace function ragdb.register_policy(policy jsonb)
returns table (policy_id text, params_hash text)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_policy ragdb.slice_policies := ragdb._hashed_policy(register_policy.policy);
begin
  perform ragdb._register_policy(v_policy);
  return query select v_policy.policy_id, v_policy.params_hash;
end $$;
comment on function ragdb.register_policy(jsonb) is
  'Registers a slice policy (fields left out have their defaults) and returns its reference; registering it again changes nothing. Raises RG409, RG430.';

create or replace function ragdb.list_policies()
returns table (
  policy_id text, params_hash text, policy jsonb, created_at timestamptz, created_by text)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select p.policy_id, p.params_hash, p.policy, p.created_at, p.created_by
    from ragdb.slice_policies p order by p.policy_id, p.params_hash;
end;
comment on function ragdb.list_policies() is 'Lists the registered slice policies by reference.';

create or replace function ragdb.registry_fingerprint() returns text
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
return ragdb.xxh64(pg_catalog.convert_to('[' || coalesce((
  select pg_catalog.string_agg(
      '{"policy_id":"' || p.policy_id || '","params_hash":"' || p.params_hash || '"}', ','
      order by p.policy_id, p.params_hash)
    from ragdb.slice_policies p), '') || ']', 'UTF8'));
comment on function ragdb.registry_fingerprint() is
  'Returns xxHash64 over the ordered JSON list of policy references: equal registries have equal fingerprints.';

-- ── signing keys and tokens ─────────────────────────────────────────────────────────────────────

comment on table ragdb.signing_keys is
  'HMAC keys of admissibility tokens and traces; read by the functions that sign and verify only, and left out of dumps of an extension.';
comment on column ragdb.signing_keys.key_id is 'Name of the key, part of every token it signs.';
comment on column ragdb.signing_keys.secret is '32 to 128 bytes.';
comment on column ragdb.signing_keys.state is
  'active (signs and verifies; at most one), verify_only or revoked.';
comment on column ragdb.signing_keys.created_at is 'When the key was made, here or in the original.';
comment on column ragdb.signing_keys.active_until is 'When it ceased to sign; null while it is active.';
comment on column ragdb.signing_keys.not_after is
  'From this time on it neither signs nor verifies tokens; null for never.';

-- RFC 2104 over the server's own sha256; the pads are applied eight bytes at a time, which is what
-- SQL can exclusive-or.
create or replace function ragdb._hmac_sha256(key bytea, message bytea) returns bytea
language sql immutable strict parallel safe
begin atomic
  with k as (
    select pg_catalog.encode(case when pg_catalog.octet_length(key) > 64
      then pg_catalog.sha256(key) else key end, 'hex') as hex
  ), words as (
    select n, ('x' || pg_catalog.substr(pg_catalog.rpad(k.hex, 128, '0'), 16 * n + 1, 16))
        ::bit(64)::bigint as word
      from k, pg_catalog.generate_series(0, 7) n
  ), pads as (
    select
        pg_catalog.string_agg(pg_catalog.int8send(word # 3906369333256140342), '' order by n)
          as inner_pad,
        pg_catalog.string_agg(pg_catalog.int8send(word # 6655295901103053916), '' order by n)
          as outer_pad
      from words
  )
  select pg_catalog.sha256(p.outer_pad || pg_catalog.sha256(p.inner_pad || message)) from pads p;
end;
comment on function ragdb._hmac_sha256(bytea, bytea) is
  'Returns HMAC-SHA256 (RFC 2104): 32 bytes.';

-- To the millisecond, as the times of traces are.
create or replace function ragdb._retire_signing_key() returns void
language sql
begin atomic
  update ragdb.signing_keys
    set state = 'verify_only', active_until = pg_catalog.date_trunc('milliseconds', ragdb._now())
    where state = 'active';
end;
comment on function ragdb._retire_signing_key() is
  'Makes the active key, if there is one, a key that only verifies.';

create or replace function ragdb._check_key_id(key_id text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if key_id is null or key_id !~ '^[A-Za-z0-9_-]{1,64}$' then
    raise exception 'key id % is not 1 to 64 letters, digits, _ or -', ragdb._quote(key_id)
      using errcode = 'RG400', detail = 'the id is part of every token',
            hint = 'such as key-2026; ragdb.create_signing_key() can make one of the time';
  end if;
end $$;
comment on function ragdb._check_key_id(text) is 'Refuses what cannot be the id of a key. Raises RG400.';

-- Definer, like all functions of keys: signing_keys is granted to nobody.
create or replace function ragdb.create_signing_key(key_id text default null) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id constant text := coalesce(create_signing_key.key_id,
    'k' || to_char(ragdb._now() at time zone 'UTC', 'YYYYMMDDHH24MISS'));
begin
  perform ragdb._check_key_id(v_id);
  if exists (select from ragdb.signing_keys s where s.key_id = v_id) then
    raise exception 'signing key % exists already', ragdb._quote(v_id)
      using errcode = 'RG409', detail = 'keys are never overwritten', hint = 'choose another id';
  end if;
  perform ragdb._retire_signing_key();
  -- four random uuids carry 488 random bits from the server's strong generator
  insert into ragdb.signing_keys (key_id, secret, state, created_at)
    values (v_id, sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
      || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'active', ragdb._now());
  return v_id;
end $$;
comment on function ragdb.create_signing_key(text) is
  'Makes the key that signs from now on and returns its id; the key that signed before still verifies. Raises RG400, RG409.';

create or replace function ragdb.revoke_signing_key(key_id text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  update ragdb.signing_keys s
    set state = 'revoked',
        active_until = coalesce(s.active_until, date_trunc('milliseconds', ragdb._now()))
    where s.key_id = revoke_signing_key.key_id;
  if not found then
    raise exception 'signing key % does not exist', ragdb._quote(revoke_signing_key.key_id)
      using errcode = 'RG432', detail = 'nothing was revoked',
            hint = 'ragdb.list_signing_keys() lists the ids';
  end if;
end $$;
comment on function ragdb.revoke_signing_key(text) is
  'Revokes a key: every token it signed fails from now on. Raises RG432.';

create or replace function ragdb.list_signing_keys()
returns table (
  key_id text, state text, created_at timestamptz, active_until timestamptz, not_after timestamptz)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select k.key_id, k.state, k.created_at, k.active_until, k.not_after
    from ragdb.signing_keys k order by k.created_at, k.key_id;
end;
comment on function ragdb.list_signing_keys() is 'Lists the signing keys without their secrets.';

create or replace function ragdb.export_signing_keys()
returns table (
  key_id text, secret text, state text, created_at timestamptz, active_until timestamptz,
  not_after timestamptz)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select k.key_id, pg_catalog.encode(k.secret, 'hex'), k.state, k.created_at, k.active_until,
      k.not_after
    from ragdb.signing_keys k order by k.created_at, k.key_id;
end;
comment on function ragdb.export_signing_keys() is
  'Returns the signing keys with their secrets in hex, to be kept apart from the dump and imported into a restored copy.';

create or replace function ragdb.import_signing_key(
  key_id text, secret text, state text default 'verify_only', created_at timestamptz default null,
  active_until timestamptz default null, not_after timestamptz default null)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_secret bytea;
  v_until timestamptz;
begin
  perform ragdb._check_key_id(import_signing_key.key_id);
  if coalesce(import_signing_key.secret !~ '^([0-9a-fA-F]{2}){32,128}$', true)
    or coalesce(import_signing_key.state not in ('active', 'verify_only', 'revoked'), true)
  then
    raise exception 'the secret of key % is not 32 to 128 bytes in hex, or its state is unknown',
        ragdb._quote(import_signing_key.key_id)
      using errcode = 'RG400', detail = 'the state is active, verify_only or revoked',
            hint = 'import what ragdb.export_signing_keys() gave';
  end if;
  v_secret := decode(import_signing_key.secret, 'hex');
  if exists (select from ragdb.signing_keys s
    where s.key_id = import_signing_key.key_id and s.secret <> v_secret)
  then
    raise exception 'signing key % exists with another secret',
        ragdb._quote(import_signing_key.key_id)
      using errcode = 'RG409', detail = 'keys are never overwritten',
            hint = 'import it under another id';
  end if;
  if import_signing_key.state = 'active' then
    perform ragdb._retire_signing_key();
  else
    v_until := coalesce(import_signing_key.active_until,
      date_trunc('milliseconds', ragdb._now()));
  end if;
  insert into ragdb.signing_keys as s
    values (import_signing_key.key_id, v_secret, import_signing_key.state,
      coalesce(import_signing_key.created_at, ragdb._now()), v_until, import_signing_key.not_after)
    on conflict on constraint signing_keys_id_is_unique do update
      set state = excluded.state, active_until = excluded.active_until,
          not_after = excluded.not_after;
end $$;
comment on function ragdb.import_signing_key(text, text, text, timestamptz, timestamptz, timestamptz) is
  'Puts back an exported key, so that a restored copy verifies the tokens and traces of the original; an active one signs from now on. Raises RG400, RG409.';

-- The bytes that a token signs. There is no function that signs bytes of the caller's choice.
create or replace function ragdb._token_message(
  key_id text, corpus text, slice_id text, anchor_chunk_id text, policy_id text,
  policy_sha256 bytea, graph_snapshot_hash text, schema_version text, issued_at bigint,
  expires_at bigint)
returns bytea
language sql stable parallel safe
return ragdb._packed('rgt1') || ragdb._packed(key_id) || ragdb._packed('admissible slice')
  || ragdb._packed(corpus) || ragdb._packed(slice_id) || ragdb._packed(anchor_chunk_id)
  || ragdb._packed(policy_id) || ragdb._packed(policy_sha256)
  || ragdb._packed(graph_snapshot_hash) || ragdb._packed(schema_version)
  || ragdb._packed(pg_catalog.int8send(issued_at))
  || ragdb._packed(pg_catalog.int8send(expires_at));
comment on function ragdb._token_message(text, text, text, text, text, bytea, text, text, bigint, bigint) is
  'Returns the length-prefixed fields that an admissibility token signs; times in seconds since 1970.';

create or replace function ragdb._signing_key() returns ragdb.signing_keys
language sql stable parallel safe
return (select k from ragdb.signing_keys k
  where k.state = 'active' and (k.not_after is null or k.not_after > ragdb._now()));
comment on function ragdb._signing_key() is 'Returns the key that signs now; null when there is none.';

create or replace function ragdb._issue_token(
  corpus ragdb.corpora, slice ragdb.slices, policy ragdb.slice_policies)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key ragdb.signing_keys := ragdb._signing_key();
  v_issued constant bigint := floor(extract(epoch from ragdb._now()));
  v_expires constant bigint := v_issued + 30 * 86400;
begin
  if v_key.key_id is null then
    raise exception 'there is no signing key'
      using errcode = 'RG433',
            detail = 'an admissibility token is signed, and nothing is signed with a default secret',
            hint = 'an admin calls ragdb.create_signing_key() once (ragdb keys create); '
              'or build the slice with sign => false';
  end if;
  return format('rgt1.%s.%s.%s.%s', v_key.key_id, v_issued, v_expires,
    encode(ragdb._hmac_sha256(v_key.secret, ragdb._token_message(v_key.key_id, corpus.name,
      slice.slice_id, slice.anchor_chunk_id, slice.policy_id, policy.sha256,
      slice.graph_snapshot_hash, slice.schema_version, v_issued, v_expires)), 'hex'));
end $$;
comment on function ragdb._issue_token(ragdb.corpora, ragdb.slices, ragdb.slice_policies) is
  'Signs a slice with the active key, for 30 days. Raises RG433.';

-- A trace is signed by its hash. Whoever has no key can change rows and hashes, and cannot make
-- this.
create or replace function ragdb._trace_mac(trace_hash bytea, secret bytea) returns bytea
language sql immutable strict parallel safe
return ragdb._hmac_sha256(secret, ragdb._packed('ragdb-trace-1'::bytea)
  || ragdb._packed(trace_hash));
comment on function ragdb._trace_mac(bytea, bytea) is
  'Signs the hash of a trace with a secret; null where either is.';

create or replace function ragdb._matching_mac(trace ragdb.retrieval_traces) returns bytea
language sql stable parallel safe
return (
  with signers as (
    select k.secret, k.created_at <= (trace).created_at as is_older,
        coalesce(least(k.active_until, k.not_after) > (trace).created_at, true) as was_active
      from ragdb.signing_keys k
  )
  select case
      -- no key was there to sign it
      when (trace).trace_mac is null
        and not exists (select from signers s where s.is_older and s.was_active) then null
      -- the key that signed it is not here: a restored copy without its keys
      when (trace).trace_mac is not null
        and not exists (select from signers s where s.is_older) then (trace).trace_mac
      else coalesce((select m.mac from signers s
          cross join lateral (select ragdb._trace_mac((trace).trace_hash, s.secret) as mac) m
          where m.mac = (trace).trace_mac limit 1), '\x00')
    end);
comment on function ragdb._matching_mac(ragdb.retrieval_traces) is
  'Returns the signature that a trace should have: its own when a key made it or the key is not here, null when no key was active then, else a byte that no signature is.';

-- ── slices ──────────────────────────────────────────────────────────────────────────────────────

comment on table ragdb.slices is
  'Slices that were exported or retrieved from, once per graph state.';
comment on column ragdb.slices.corpus_id is 'The corpus.';
comment on column ragdb.slices.slice_id is
  'Fingerprint of corpus, anchor, policy, members with content, and edges.';
comment on column ragdb.slices.anchor_chunk_id is 'The chunk that the slice was built around.';
comment on column ragdb.slices.policy_id is 'Policy reference, first half.';
comment on column ragdb.slices.params_hash is 'Policy reference, second half.';
comment on column ragdb.slices.chunk_ids is 'Members, sorted by bytes.';
comment on column ragdb.slices.content_hashes is
  'SHA-256 of each member''s canonical text, in the order of chunk_ids.';
comment on column ragdb.slices.selection_order is
  'Members in the order in which the policy chose them.';
comment on column ragdb.slices.edge_count is 'Number of edges between members.';
comment on column ragdb.slices.schema_version is 'Version of the fingerprint''s definition.';
comment on column ragdb.slices.graph_snapshot_hash is
  'Hash of the members'' contents and the edge count.';
comment on column ragdb.slices.created_at is 'When it was first stored.';

-- Recomputed from the rows each time, for building and for verifying alike, on one plan whatever the
-- statistics say: members are found by their ids, edges by their parent, and the plan expects as many
-- as there are. A hub's edges are not read: those to other members are looked up one by one.
create or replace function ragdb._fingerprinted(corpus ragdb.corpora, slice ragdb.slices)
returns ragdb.slices
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  v_ids constant text[] := slice.chunk_ids;
  v_contents bytea;
  v_edges bytea;
begin
  slice.corpus_id := corpus.corpus_id;
  slice.schema_version := '1.0.0';
  with members as materialized (
    select v_ids[i] collate "C" as chunk_id, c.chunk_no, c.content_hash,
        ragdb._packed(v_ids[i]) as packed
      from generate_subscripts(v_ids, 1) i
      left join lateral (
        select c.chunk_no, c.content_hash from ragdb.chunks c
          where c.corpus_id = corpus.corpus_id and c.chunk_id = v_ids[i] limit 1) c on true
  ), contents as (
    -- a member that is gone counts too, as one without content
    select string_agg(m.packed || coalesce(ragdb._packed(m.content_hash), '\xffffffff'), ''
          order by m.chunk_id) as bytes,
        array_agg(m.content_hash order by m.chunk_id) as hashes
      from members m
  ), outward as materialized (
    select p.chunk_no as parent_no, e.child_no, e.edge_type,
        count(*) over (partition by p.chunk_no) > 256 as is_cut
      from members p
      cross join lateral (
        select e.child_no, e.edge_type from ragdb.edges e
          where e.corpus_id = corpus.corpus_id and e.parent_no = p.chunk_no
          order by e.child_no limit 257) e
  ), inward as (
    select o.parent_no, o.child_no, o.edge_type from outward o where not o.is_cut
    union all
    select h.parent_no, k.chunk_no, e.edge_type
      from (select distinct o.parent_no from outward o where o.is_cut) h
      cross join members k
      cross join lateral (
        select e.edge_type from ragdb.edges e
          where e.corpus_id = corpus.corpus_id and e.parent_no = h.parent_no
            and e.child_no = k.chunk_no order by e.edge_type limit 4) e
  ), edges as (
    select count(*) as count, string_agg(p.packed || k.packed || ragdb._packed(e.edge_type), ''
        order by p.chunk_id, k.chunk_id,
          array_position(array['reply', 'branch', 'reference', 'default'], e.edge_type)) as bytes
      from inward e
      join members p on p.chunk_no = e.parent_no
      join members k on k.chunk_no = e.child_no
  )
  select coalesce(c.bytes, ''), coalesce(c.hashes, '{}'), coalesce(e.bytes, ''), e.count
    into strict v_contents, slice.content_hashes, v_edges, slice.edge_count
    from contents c, edges e;
  slice.slice_id := encode(sha256(
    ragdb._packed('ragdb-slice-1') || ragdb._packed(corpus.name)
    || ragdb._packed(slice.anchor_chunk_id) || ragdb._packed(slice.policy_id)
    || ragdb._packed(slice.params_hash) || ragdb._packed(v_contents) || ragdb._packed(v_edges)
    || ragdb._packed(slice.schema_version)), 'hex');
  slice.graph_snapshot_hash := encode(sha256(
    ragdb._packed('ragdb-snapshot-1') || ragdb._packed(v_contents)
    || ragdb._packed(int4send(slice.edge_count)) || ragdb._packed(slice.schema_version)), 'hex');
  return slice;
end $$;
comment on function ragdb._fingerprinted(ragdb.corpora, ragdb.slices) is
  'Returns a slice (corpus, anchor, policy reference, members) with slice_id, snapshot hash (64 hex digits each), edge count and content hashes recomputed from the rows.';

create or replace function ragdb._build_slice(
  corpus ragdb.corpora, anchor text, policy ragdb.slice_policies,
  out slice ragdb.slices, out distances integer[])
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_anchor_no integer;
begin
  select c.chunk_no into v_anchor_no from ragdb.chunks c
    where c.corpus_id = corpus.corpus_id and c.chunk_id = anchor;
  if not found then
    raise exception 'anchor % is not in corpus %', ragdb._quote(anchor), ragdb._quote(corpus.name)
      using errcode = 'RG434', detail = 'a slice is built around a chunk that exists',
            hint = 'ragdb.search() gives chunk ids; ids of turns are UUIDs in lower case';
  end if;
  select e.chunk_ids, e.distances into strict slice.selection_order, distances
    from ragdb._expand_slice(corpus.corpus_id, v_anchor_no, policy.policy) e;
  slice.anchor_chunk_id := anchor;
  slice.policy_id := policy.policy_id;
  slice.params_hash := policy.params_hash;
  slice.chunk_ids := array(select u collate "C" from unnest(slice.selection_order) u order by 1);
  slice := ragdb._fingerprinted(corpus, slice);
end $$;
comment on function ragdb._build_slice(ragdb.corpora, text, ragdb.slice_policies) is
  'Builds the slice of a resolved policy around an anchor, with each member''s distance in order of selection. Raises RG434.';

-- What counts as evidence is an admin's to say: a reader's own policy could admit everything.
create or replace function ragdb._store_slice(slice ragdb.slices, policy ragdb.slice_policies)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if (ragdb._known_policy(policy.policy_id, policy.params_hash)).policy_id is not null
    or has_function_privilege(ragdb._caller(), 'ragdb.register_policy(jsonb)', 'execute')
  then
    perform ragdb._register_policy(policy);
  else
    raise exception 'policy % with params_hash % is not registered',
        ragdb._quote(policy.policy_id), policy.params_hash
      using errcode = 'RG431',
            detail = 'a slice is kept as evidence only by the default policy or a registered one',
            hint = 'an admin calls ragdb.register_policy(); ragdb.build_slice() and '
              'ragdb.search_slice() take any policy and keep nothing';
  end if;
  slice.created_at := ragdb._now();
  insert into ragdb.slices values (slice.*) on conflict do nothing;
end $$;
comment on function ragdb._store_slice(ragdb.slices, ragdb.slice_policies) is
  'Stores a slice that was just built; the same graph state is stored once. A policy that is not registered is, where the caller may register one. Raises RG409, RG431.';

do $$ begin
  if pg_catalog.to_regtype('ragdb.built_slice') is null then
    create type ragdb.built_slice as (
      slice_id text, anchor_chunk_id text, chunk_ids text[], selection_order text[],
      distances integer[], edge_count integer, policy_id text, params_hash text,
      schema_version text, graph_snapshot_hash text, admissibility_token text);
  end if;
end $$;
comment on type ragdb.built_slice is
  'A slice as it is handed out: members sorted and in order of selection with their distances, fingerprints, and the token where it is signed.';

create or replace function ragdb._built_slice(
  slice ragdb.slices, distances integer[], token text) returns ragdb.built_slice
language sql immutable parallel safe
return row((slice).slice_id, (slice).anchor_chunk_id, (slice).chunk_ids, (slice).selection_order,
  distances, (slice).edge_count, (slice).policy_id, (slice).params_hash, (slice).schema_version,
  (slice).graph_snapshot_hash, token)::ragdb.built_slice;
comment on function ragdb._built_slice(ragdb.slices, integer[], text) is
  'Returns a slice as it is handed out.';

-- Definer, like all that follow: chunks, edges, slices and keys are granted to nobody.
create or replace function ragdb.build_slice(
  corpus text, anchor text, policy jsonb default null, sign boolean default true)
returns setof ragdb.built_slice
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(build_slice.corpus, 'read');
  v_policy ragdb.slice_policies := ragdb._resolve_policy(build_slice.policy);
  v_made record;
begin
  v_made := ragdb._build_slice(v_corpus, anchor, v_policy);
  return next ragdb._built_slice(v_made.slice, v_made.distances,
    case when sign then ragdb._issue_token(v_corpus, v_made.slice, v_policy) end);
end $$;
comment on function ragdb.build_slice(text, text, jsonb, boolean) is
  'Builds the slice that a policy (in full, by reference, or null for the default) admits around an anchor chunk, without writing: members, fingerprints and, with sign, the admissibility token. Raises RG400, RG404, RG430, RG431, RG433, RG434.';

create or replace function ragdb.build_slices(
  corpus text, anchors text[], policy jsonb default null, sign boolean default true)
returns table (
  anchor_chunk_id text, slice_id text, chunk_ids text[], selection_order text[],
  distances integer[], edge_count integer, policy_id text, params_hash text, schema_version text,
  graph_snapshot_hash text, admissibility_token text, error_code text, error text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(build_slices.corpus, 'read');
  v_anchor text;
begin
  if coalesce(cardinality(anchors) not between 1 and 1000, true) then
    raise exception 'anchors are 1 to 1000 chunk ids, not %',
        coalesce(cardinality(anchors)::text, 'null')
      using errcode = 'RG400', detail = 'one slice is built for each',
            hint = 'split a longer list';
  end if;
  foreach v_anchor in array anchors loop
    -- an anchor that is missing is that anchor's failure; anything else is everyone's
    if not exists (select from ragdb.chunks c
      where c.corpus_id = v_corpus.corpus_id and c.chunk_id = v_anchor)
    then
      anchor_chunk_id := v_anchor;
      error_code := 'RG434';
      error := format('anchor %s is not in corpus %s', ragdb._quote(v_anchor),
        ragdb._quote(v_corpus.name));
      return next;
      continue;
    end if;
    return query
      select s.anchor_chunk_id, s.slice_id, s.chunk_ids, s.selection_order, s.distances,
          s.edge_count, s.policy_id, s.params_hash, s.schema_version, s.graph_snapshot_hash,
          s.admissibility_token, null::text, null::text
        from ragdb.build_slice(build_slices.corpus, v_anchor, build_slices.policy,
          build_slices.sign) s;
  end loop;
end $$;
comment on function ragdb.build_slices(text, text[], jsonb, boolean) is
  'Builds a slice for each of 1 to 1000 anchors; an anchor that does not exist gives a row with error_code and error instead. Raises RG400, RG404, RG430, RG431, RG433.';

create or replace function ragdb.export_slice(corpus text, anchor text, policy jsonb default null)
returns setof ragdb.built_slice
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(export_slice.corpus, 'read');
  v_policy ragdb.slice_policies := ragdb._resolve_policy(export_slice.policy);
  v_made record;
begin
  v_made := ragdb._build_slice(v_corpus, anchor, v_policy);
  perform ragdb._store_slice(v_made.slice, v_policy);
  return next ragdb._built_slice(v_made.slice, v_made.distances,
    ragdb._issue_token(v_corpus, v_made.slice, v_policy));
end $$;
comment on function ragdb.export_slice(text, text, jsonb) is
  'Builds, signs and stores a slice, so that it can be searched by its id. Raises RG400, RG404, RG430, RG431, RG433, RG434.';

create or replace function ragdb._changed_members(slice ragdb.slices) returns text[]
language sql stable parallel safe
return array(
  select o.chunk_id
    from unnest((slice).chunk_ids, (slice).content_hashes) o (chunk_id, content_hash)
    left join ragdb.chunks c on c.corpus_id = (slice).corpus_id and c.chunk_id = o.chunk_id
    where c.content_hash is distinct from o.content_hash
    order by o.chunk_id collate "C");
comment on function ragdb._changed_members(ragdb.slices) is
  'Returns the members of a stored slice that are gone or say something else now.';

create or replace function ragdb._slice_changes(slice ragdb.slices) returns text
language sql stable parallel safe
return coalesce('chunks changed or gone since: ' || nullif(pg_catalog.left(
  pg_catalog.array_to_string(ragdb._changed_members(slice), ', '), 500), ''),
  'edges between the members changed since');
comment on function ragdb._slice_changes(ragdb.slices) is
  'Says what has changed about a stored slice whose fingerprint is no longer the same.';

-- The token says who signed what and until when; the rows say whether what was signed is still
-- there. Both must agree.
create or replace function ragdb.verify_token(
  corpus text, token text, slice_id text, anchor_chunk_id text, policy_id text, params_hash text,
  graph_snapshot_hash text, schema_version text, chunk_ids text[] default null)
returns table (valid boolean, reason text)
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(verify_token.corpus, 'read');
  v_parts constant text[] := string_to_array(verify_token.token, '.');
  v_now constant bigint := floor(extract(epoch from ragdb._now()));
  v_key ragdb.signing_keys;
  v_policy ragdb.slice_policies;
  v_stored ragdb.slices;
  v_slice ragdb.slices;
  v_found ragdb.slices;
begin
  valid := false;
  if verify_token.token is null or verify_token.token
    !~ '^rgt1\.[A-Za-z0-9_-]{1,64}\.[0-9]{1,12}\.[0-9]{1,12}\.[0-9a-f]{64}$'
  then
    reason := 'malformed: a token is rgt1.<key>.<issued>.<expires>.<64 hex digits>';
    return next; return;
  end if;
  select k.* into v_key from ragdb.signing_keys k where k.key_id = v_parts[2];
  if not found then
    reason := format('key_unknown: this database has no key %s; import it if the token comes '
      'from the original of this copy', ragdb._quote(v_parts[2]));
    return next; return;
  end if;
  if v_key.state = 'revoked' or v_key.not_after <= ragdb._now() then
    reason := format('key_revoked: key %s verifies nothing any more', ragdb._quote(v_key.key_id));
    return next; return;
  end if;
  v_policy := ragdb._known_policy(verify_token.policy_id, verify_token.params_hash);
  if v_policy.policy_id is null then
    reason := format('policy_unknown: policy %s with params_hash %s is not registered',
      ragdb._quote(verify_token.policy_id), ragdb._quote(verify_token.params_hash));
    return next; return;
  end if;
  -- both sides are hashed again, so that the time of the comparison tells nothing of the signature
  if sha256(ragdb._hmac_sha256(v_key.secret, ragdb._token_message(v_key.key_id, v_corpus.name,
      verify_token.slice_id, verify_token.anchor_chunk_id, verify_token.policy_id, v_policy.sha256,
      verify_token.graph_snapshot_hash, verify_token.schema_version, v_parts[3]::bigint,
      v_parts[4]::bigint))) is distinct from sha256(decode(v_parts[5], 'hex'))
  then
    reason := 'signature: the token was not issued for these fields';
    return next; return;
  end if;
  if v_parts[4]::bigint <= v_now then
    reason := format('expired: the token ended %s seconds ago', v_now - v_parts[4]::bigint);
    return next; return;
  end if;
  if verify_token.chunk_ids is distinct from array(
      select distinct u collate "C" from unnest(verify_token.chunk_ids) u order by 1)
    and verify_token.chunk_ids is not null
  then
    reason := 'evidence: the chunk ids are not the sorted, distinct members of a slice';
    return next; return;
  end if;
  select s.* into v_stored from ragdb.slices s
    where s.corpus_id = v_corpus.corpus_id and s.slice_id = verify_token.slice_id;
  v_slice.anchor_chunk_id := verify_token.anchor_chunk_id;
  v_slice.policy_id := verify_token.policy_id;
  v_slice.params_hash := verify_token.params_hash;
  v_slice.chunk_ids := coalesce(verify_token.chunk_ids, v_stored.chunk_ids);
  if v_slice.chunk_ids is not null then
    v_found := ragdb._fingerprinted(v_corpus, v_slice);
  elsif exists (select from ragdb.chunks c
    where c.corpus_id = v_corpus.corpus_id and c.chunk_id = verify_token.anchor_chunk_id)
  then
    v_found := (ragdb._build_slice(v_corpus, verify_token.anchor_chunk_id, v_policy)).slice;
  end if;
  valid := coalesce(v_found.slice_id = verify_token.slice_id
    and v_found.graph_snapshot_hash = verify_token.graph_snapshot_hash, false);
  if not valid then
    reason := 'evidence: ' || case
      when v_found.chunk_ids = v_stored.chunk_ids then ragdb._slice_changes(v_stored)
      else 'the chunks, their contents or their edges are not those that were signed' end;
  end if;
  return next;
end $$;
comment on function ragdb.verify_token(text, text, text, text, text, text, text, text, text[]) is
  'Tells whether a token was signed here for exactly these fields, has not ended, and whether the slice recomputed from the rows (the given members, the stored slice, or a new build) is the one signed; reason says why not. Raises RG400, RG404.';

create or replace function ragdb._stored_slice(corpus_id integer, slice_id text)
returns ragdb.slices
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_slice ragdb.slices;
begin
  select s.* into v_slice from ragdb.slices s
    where s.corpus_id = _stored_slice.corpus_id and s.slice_id = _stored_slice.slice_id;
  if not found then
    raise exception 'slice % is not stored', ragdb._quote(_stored_slice.slice_id)
      using errcode = 'RG435', detail = 'build_slice computes without storing',
            hint = 'call ragdb.export_slice(corpus, anchor, policy) first, '
              'or search by anchor and policy';
  end if;
  return v_slice;
end $$;
comment on function ragdb._stored_slice(integer, text) is
  'Returns a stored slice. Raises RG435.';

create or replace function ragdb.slice_members(corpus text, slice_id text)
returns table (place bigint, chunk_id text, source text, content_hash text, is_unchanged boolean)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(slice_members.corpus, 'read');
  v_slice ragdb.slices := ragdb._stored_slice(v_corpus.corpus_id, slice_members.slice_id);
begin
  return query
    select o.place, o.chunk_id, c.source, encode(m.content_hash, 'hex'),
        c.content_hash is not distinct from m.content_hash
      from unnest(v_slice.selection_order) with ordinality o (chunk_id, place)
      join unnest(v_slice.chunk_ids, v_slice.content_hashes) m (chunk_id, content_hash)
        on m.chunk_id = o.chunk_id
      left join ragdb.chunks c
        on c.corpus_id = v_corpus.corpus_id and c.chunk_id = o.chunk_id
      order by o.place;
end $$;
comment on function ragdb.slice_members(text, text) is
  'Returns the members of a stored slice in the order in which they were chosen, and whether each still says what it said. Raises RG400, RG404, RG435.';

create or replace function ragdb.filter_admissible(corpus text, slice_id text, chunk_ids text[])
returns text[]
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(filter_admissible.corpus, 'read');
  v_slice ragdb.slices := ragdb._stored_slice(v_corpus.corpus_id, filter_admissible.slice_id);
begin
  if filter_admissible.chunk_ids is null then
    raise exception 'chunk_ids is null'
      using errcode = 'RG400', detail = 'those that the slice admits are returned',
            hint = 'pass an array of chunk ids';
  end if;
  return array(select u.id from unnest(filter_admissible.chunk_ids) with ordinality u (id, n)
    where u.id = any (v_slice.chunk_ids) order by u.n);
end $$;
comment on function ragdb.filter_admissible(text, text, text[]) is
  'Returns those of the chunk ids that are members of a stored slice, in the order given. Raises RG400, RG404, RG435.';

create or replace function ragdb.is_admissible(corpus text, slice_id text, chunk_id text)
returns boolean
language sql stable parallel safe
return ragdb.filter_admissible(is_admissible.corpus, is_admissible.slice_id,
  array[is_admissible.chunk_id]) <> '{}';
comment on function ragdb.is_admissible(text, text, text) is
  'Tells whether a chunk is a member of a stored slice. Raises RG400, RG404, RG435.';

---- sql/57_slice_search.sql

-- Retrieval under a slice: the slice is an exact filter inside ranking, and what is found carries
-- its provenance.

do $$ begin
  if pg_catalog.to_regtype('ragdb.turn_hit') is null then
    create type ragdb.turn_hit as (
      trace_id uuid, rank integer, corpus text, chunk_id text, source text, title text,
      heading text[], page integer, text text, citation jsonb, score float8, lexical_score float8,
      semantic_score float8, lexical_rank integer, semantic_rank integer, bm25 float8,
      coverage float8, content_hash text, metadata jsonb, mode text, is_exact boolean,
      session_id text, role text, phase text, salience real, depth integer,
      sibling_order integer, homogeneity real, temporal real, complexity real);
  end if;
end $$;
comment on type ragdb.turn_hit is
  'One result of a search that knows turns: the chunk and its scores, and its session, role and trajectory where it is a turn; trace_id where it was recorded.';

create or replace function ragdb._with_turns(corpus_id integer, trace_id uuid, hits ragdb.hit[])
returns setof ragdb.turn_hit
language sql stable parallel safe
begin atomic
  select _with_turns.trace_id, h.rank, h.corpus, h.chunk_id, h.source, h.title, h.heading, h.page,
      h.text, h.citation, h.score, h.lexical_score, h.semantic_score, h.lexical_rank,
      h.semantic_rank, h.bm25, h.coverage, h.content_hash, h.metadata, h.mode, h.is_exact,
      t.session_id, t.role, t.phase, t.salience, t.depth, t.sibling_order, t.homogeneity,
      t.temporal, t.complexity
    from pg_catalog.unnest(_with_turns.hits) h
    join ragdb.chunks c on c.corpus_id = _with_turns.corpus_id and c.chunk_id = h.chunk_id
    left join ragdb.turns t on t.corpus_id = c.corpus_id and t.chunk_no = c.chunk_no
    order by h.rank;
end;
comment on function ragdb._with_turns(integer, uuid, ragdb.hit[]) is
  'Adds to hits what is known of them as turns.';

-- The fields of a turn are asked for in the same filter as metadata; they choose the chunks, the
-- rest goes on to search.
create or replace function ragdb._turn_filter(
  corpus_id integer, filter jsonb, chunk_ids text[], out members text[], out rest jsonb)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_filter constant jsonb := _turn_filter.filter;
  v_key text;
begin
  members := _turn_filter.chunk_ids;
  rest := v_filter;
  if coalesce(jsonb_typeof(v_filter) <> 'object', true)
    or not v_filter ?| array['role', 'phase', 'session', 'min_salience']
  then
    return;
  end if;
  foreach v_key in array array['role', 'phase', 'session'] loop
    if v_filter ? v_key and jsonb_typeof(v_filter -> v_key) <> 'string' then
      raise exception 'filter % is not a text', v_key
        using errcode = 'RG410',
              detail = 'its value is ' || ragdb._quote((v_filter -> v_key)::text),
              hint = 'role, phase and session take one text each';
    end if;
  end loop;
  if v_filter ? 'min_salience' and (jsonb_typeof(v_filter -> 'min_salience') <> 'number'
      or not (v_filter ->> 'min_salience')::numeric between 0 and 1)
  then
    raise exception 'filter min_salience is not a number of 0 to 1'
      using errcode = 'RG410',
            detail = 'its value is ' || ragdb._quote((v_filter -> 'min_salience')::text),
            hint = 'salience is a share';
  end if;
  members := array(
    select c.chunk_id from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no)
      where t.corpus_id = _turn_filter.corpus_id
        and (v_filter ->> 'role' is null or t.role = v_filter ->> 'role')
        and (v_filter ->> 'phase' is null or t.phase = v_filter ->> 'phase')
        and (v_filter ->> 'session' is null or t.session_id = v_filter ->> 'session')
        and (v_filter ->> 'min_salience' is null
          or t.salience >= (v_filter ->> 'min_salience')::real)
        and (_turn_filter.chunk_ids is null or c.chunk_id = any (_turn_filter.chunk_ids)));
  rest := nullif(v_filter - array['role', 'phase', 'session', 'min_salience'], '{}');
end $$;
comment on function ragdb._turn_filter(integer, jsonb, text[]) is
  'Takes role, phase, session and min_salience out of a filter and returns the chunks that satisfy them among those given (null: all), with the rest of the filter. Raises RG410.';

create or replace function ragdb._search_turns(
  corpus ragdb.corpora, query text, k integer, mode text, min_score float8, filter jsonb,
  chunk_ids text[], statistics text, query_embedding float8[], fusion text,
  lexical_weight float8, min_lexical float8, min_semantic float8)
returns ragdb.hit[]
language sql stable parallel restricted
return array(
  select h
    from ragdb._turn_filter((_search_turns.corpus).corpus_id, _search_turns.filter,
      _search_turns.chunk_ids) f
    cross join lateral ragdb.search(
      corpus => (_search_turns.corpus).name, query => _search_turns.query, k => _search_turns.k,
      mode => _search_turns.mode, min_score => _search_turns.min_score, filter => f.rest,
      chunk_ids => f.members, statistics => _search_turns.statistics,
      query_embedding => _search_turns.query_embedding, fusion => _search_turns.fusion,
      lexical_weight => _search_turns.lexical_weight, min_lexical => _search_turns.min_lexical,
      min_semantic => _search_turns.min_semantic) h
    order by h.rank);
comment on function ragdb._search_turns(ragdb.corpora, text, integer, text, float8, jsonb, text[], text, float8[], text, float8, float8, float8) is
  'Returns the hits of ragdb.search under a filter that may ask for fields of turns. Raises what ragdb.search raises.';

-- A slice comes by the id of a stored one, or by anchor and policy and is built now.
create or replace function ragdb._named_slice(
  corpus ragdb.corpora, slice_id text, anchor text, policy jsonb,
  out slice ragdb.slices, out resolved ragdb.slice_policies)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if (_named_slice.slice_id is null) = (_named_slice.anchor is null) then
    raise exception 'a slice is named by its id or by its anchor'
      using errcode = 'RG400',
            detail = case when _named_slice.anchor is null then 'neither was given'
              else 'both were given' end,
            hint = 'pass slice_id of a stored slice, or anchor and, if not the default, policy';
  end if;
  if _named_slice.slice_id is not null then
    slice := ragdb._stored_slice(corpus.corpus_id, _named_slice.slice_id);
    resolved := ragdb._known_policy(slice.policy_id, slice.params_hash);
  else
    resolved := ragdb._resolve_policy(_named_slice.policy);
    slice := (ragdb._build_slice(corpus, _named_slice.anchor, resolved)).slice;
  end if;
end $$;
comment on function ragdb._named_slice(ragdb.corpora, text, text, jsonb) is
  'Returns a stored slice by its id, or builds one by anchor and policy. Raises RG400, RG430, RG431, RG434, RG435.';

-- Definer, like all that follow: turns, slices and keys are granted to nobody.
create or replace function ragdb.search_slice(
  corpus text, query text, slice_id text default null, anchor text default null,
  policy jsonb default null, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
  lexical_weight float8 default 0.5, min_lexical float8 default 0, min_semantic float8 default 0)
returns setof ragdb.turn_hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(search_slice.corpus, 'read');
  v_named record := ragdb._named_slice(v_corpus, slice_id, anchor, policy);
begin
  return query select w.* from ragdb._with_turns(v_corpus.corpus_id, null, ragdb._search_turns(
    v_corpus, query, k, mode, min_score, filter, (v_named.slice).chunk_ids, statistics,
    query_embedding, fusion, lexical_weight, min_lexical, min_semantic)) w;
end $$;
comment on function ragdb.search_slice(text, text, text, text, jsonb, integer, text, float8, jsonb, text, float8[], text, float8, float8, float8) is
  'Returns the k best members of a slice (by the id of a stored one, or by anchor and policy) for a query, with the other arguments of ragdb.search, exactly and without recording; filter also takes role, phase, session and min_salience. Raises what ragdb.search raises, RG430, RG431, RG434, RG435.';

create or replace function ragdb.search_global(
  corpus text, query text, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, chunk_ids text[] default null,
  statistics text default null, query_embedding float8[] default null,
  fusion text default 'convex', lexical_weight float8 default 0.5, min_lexical float8 default 0,
  min_semantic float8 default 0)
returns setof ragdb.turn_hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(search_global.corpus, 'read');
begin
  return query select w.* from ragdb._with_turns(v_corpus.corpus_id, null, ragdb._search_turns(
    v_corpus, query, k, mode, min_score, filter, chunk_ids, statistics, query_embedding, fusion,
    lexical_weight, min_lexical, min_semantic)) w;
end $$;
comment on function ragdb.search_global(text, text, integer, text, float8, jsonb, text[], text, float8[], text, float8, float8, float8) is
  'Returns the hits of ragdb.search with the same arguments and what is known of them as turns; never admissible. filter also takes role, phase, session and min_salience. Raises what ragdb.search raises.';

create or replace function ragdb.resolve_from_query(
  corpus text, query text, mode text default null, query_embedding float8[] default null)
returns text
language sql stable parallel restricted
return (select h.chunk_id from ragdb.search(
  corpus => resolve_from_query.corpus, query => resolve_from_query.query, k => 1,
  mode => resolve_from_query.mode, query_embedding => resolve_from_query.query_embedding) h);
comment on function ragdb.resolve_from_query(text, text, text, float8[]) is
  'Returns the best hit of a query as an anchor, or null when nothing matches. Raises what ragdb.search raises.';

create or replace function ragdb.resolve_anchor(
  corpus text, chunk_id text default null, session text default null, query text default null,
  query_embedding float8[] default null, project text default null)
returns table (anchor text, resolved_by text)
language plpgsql stable parallel restricted rows 1
set search_path = pg_catalog, pg_temp
as $$
begin
  anchor := ragdb.resolve_explicit(corpus, coalesce(chunk_id, ''));
  resolved_by := 'explicit';
  if anchor is null and session is not null then
    anchor := ragdb.resolve_from_session(corpus, session);
    resolved_by := 'session';
  end if;
  if anchor is null and query ~ '\S' then
    anchor := ragdb.resolve_from_query(corpus, query, query_embedding => query_embedding);
    resolved_by := 'semantic';
  end if;
  if anchor is null then
    anchor := (select t.chunk_id from ragdb.resolve_temporal(corpus, 1, project) t);
    resolved_by := 'temporal';
  end if;
  if anchor is not null then
    return next;
  end if;
end $$;
comment on function ragdb.resolve_anchor(text, text, text, text, float8[], text) is
  'Returns an anchor and which way gave it: the chunk id itself (explicit), the latest turn of the session, the best hit of the query (semantic), the most recent turn (temporal); no row when none does. Raises RG400, RG404, RG418.';

-- ── recording ───────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb._shortfall(slice ragdb.slices, mode text) returns text
language sql stable parallel safe
return (
  select pg_catalog.format('%s of %s admitted chunks have no embedding by %s: %s', m.count,
      pg_catalog.cardinality((slice).chunk_ids), e.name, pg_catalog.left(m.ids, 300))
    from ragdb._space((slice).corpus_id, 'current') s
    join ragdb.embedders e on e.embedder_id = s.embedder_id
    cross join lateral (
      select pg_catalog.count(*) as count,
          pg_catalog.string_agg(c.chunk_id, ', ' order by c.chunk_id collate "C") as ids
        from ragdb.chunks c
        where c.corpus_id = (slice).corpus_id and c.chunk_id = any ((slice).chunk_ids)
          and not exists (select from ragdb.chunk_embeddings v where v.space_id = s.space_id
            and v.corpus_id = c.corpus_id and v.chunk_no = c.chunk_no)) m
    where _shortfall.mode in ('semantic', 'hybrid') and m.count > 0);
comment on function ragdb._shortfall(ragdb.slices, text) is
  'Says which members of a slice a search in some mode cannot look at by meaning; null when it can at all.';

do $$ begin
  if pg_catalog.to_regtype('ragdb.slice_finding') is null then
    create type ragdb.slice_finding as (
      corpus ragdb.corpora, slice ragdb.slices, policy ragdb.slice_policies, token text,
      mode text, query_embedding real[], embedder_id integer, shortfall text,
      hits ragdb.hit[]);
  end if;
end $$;
comment on type ragdb.slice_finding is
  'What a retrieval under a slice read: the corpus, the slice and its token, how it ranked and what it found.';

-- Stable, hence one snapshot: the evidence that is verified is the evidence that is searched.
create or replace function ragdb._find_in_slice(
  corpus text, query text, slice_id text, anchor text, policy jsonb, k integer, mode text,
  min_score float8, filter jsonb, statistics text, query_embedding float8[], fusion text,
  lexical_weight float8, min_lexical float8, min_semantic float8)
returns ragdb.slice_finding
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(_find_in_slice.corpus, 'read');
  v_named record := ragdb._named_slice(v_corpus, _find_in_slice.slice_id, anchor, policy);
  v_space ragdb.embedding_spaces;
  v_found ragdb.slice_finding;
begin
  v_found.corpus := v_corpus;
  v_found.slice := v_named.slice;
  v_found.policy := v_named.resolved;
  if _find_in_slice.slice_id is not null
    and (ragdb._fingerprinted(v_corpus, v_found.slice)).slice_id <> _find_in_slice.slice_id
  then
    -- what would be found is not what was admitted
    raise exception 'slice % is not what it was', ragdb._quote(_find_in_slice.slice_id)
      using errcode = 'RG436', detail = ragdb._slice_changes(v_found.slice),
            hint = 'build the slice again from its anchor and policy';
  end if;
  v_found.token := ragdb._issue_token(v_corpus, v_found.slice, v_found.policy);
  v_found.mode := ragdb._search_mode(array[v_corpus], _find_in_slice.mode, query,
    query_embedding::real[]);
  if v_found.mode in ('semantic', 'hybrid') then
    v_space := ragdb._current_space(v_corpus);
    v_found.query_embedding := ragdb._query_vector(v_corpus, v_space, query,
      query_embedding::real[]);
    v_found.embedder_id := v_space.embedder_id;
    v_found.shortfall := ragdb._shortfall(v_found.slice, v_found.mode);
  end if;
  v_found.hits := ragdb._search_turns(v_corpus, query, k, v_found.mode, min_score, filter,
    (v_found.slice).chunk_ids, statistics, v_found.query_embedding, fusion, lexical_weight,
    min_lexical, min_semantic);
  return v_found;
end $$;
comment on function ragdb._find_in_slice(text, text, text, text, jsonb, integer, text, float8, jsonb, text, float8[], text, float8, float8, float8) is
  'Reads all that a retrieval under a slice returns and records. Raises what ragdb.search_slice raises, RG433, and RG436 when the stored slice''s evidence has changed.';

create or replace function ragdb.retrieve_slice(
  corpus text, query text, slice_id text default null, anchor text default null,
  policy jsonb default null, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
  lexical_weight float8 default 0.5, min_lexical float8 default 0, min_semantic float8 default 0,
  client text default null, otel_trace_id text default null, otel_span_id text default null)
returns setof ragdb.turn_hit
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started constant timestamptz := clock_timestamp();
  v_found ragdb.slice_finding := ragdb._find_in_slice(
    corpus, query, slice_id, anchor, policy, k, mode, min_score, filter, statistics,
    query_embedding, fusion, lexical_weight, min_lexical, min_semantic);
  v_trace ragdb.retrieval_traces;
begin
  if slice_id is null then
    perform ragdb._store_slice(v_found.slice, v_found.policy);
  end if;
  v_trace.retrieval_mode := 'slice';
  v_trace.rank_mode := v_found.mode;
  if v_found.query_embedding is not null then
    v_trace := ragdb._note_meaning(v_trace, v_found.corpus, v_found.embedder_id,
      v_found.query_embedding, fusion, lexical_weight, min_lexical, min_semantic);
  end if;
  v_trace.slice_id := (v_found.slice).slice_id;
  v_trace.anchor_chunk_id := (v_found.slice).anchor_chunk_id;
  v_trace.slice_chunk_count := cardinality((v_found.slice).chunk_ids);
  v_trace.slice_edge_count := (v_found.slice).edge_count;
  v_trace.policy_id := (v_found.slice).policy_id;
  v_trace.policy_params_hash := (v_found.slice).params_hash;
  v_trace.schema_version := (v_found.slice).schema_version;
  v_trace.graph_snapshot_hash := (v_found.slice).graph_snapshot_hash;
  v_trace.admissibility_token := v_found.token;
  v_trace.is_admissible := v_found.shortfall is null;
  v_trace.admissibility_shortfall := v_found.shortfall is not null;
  v_trace.shortfall_reason := v_found.shortfall;
  v_trace.limit_requested := k;
  v_trace.min_score := min_score;
  v_trace.filters := filter;
  v_trace.statistics := statistics;
  v_trace.is_exact := coalesce((select bool_and(h.is_exact) from unnest(v_found.hits) h), true);
  v_trace.client := client;
  v_trace.otel_trace_id := otel_trace_id;
  v_trace.otel_span_id := otel_span_id;
  v_trace.elapsed_ms := 1000 * extract(epoch from clock_timestamp() - v_started)::float8;
  v_trace.id := ragdb._record_trace(v_found.corpus, query, v_trace, v_found.hits);
  return query select w.* from ragdb._with_turns(
    (v_found.corpus).corpus_id, v_trace.id, v_found.hits) w;
end $$;
comment on function ragdb.retrieve_slice(text, text, text, text, jsonb, integer, text, float8, jsonb, text, float8[], text, float8, float8, float8, text, text, text) is
  'Returns the hits of ragdb.search_slice with the same arguments and records the one trace that proves them: slice, policy, snapshot and a fresh token, over evidence recomputed from the rows; not admissible where members had no embedding for a search by meaning. Raises what ragdb.search_slice raises, RG433, and RG436 when the stored slice''s evidence has changed.';

---- sql/58_replay.sql

-- Replay: the same retrieval again, from what its trace recorded, and what has changed when it
-- differs.

-- Null where the search ranked without an embedding, and where its embedding was not kept.
create or replace function ragdb._recorded_embedding(trace ragdb.retrieval_traces) returns real[]
language sql stable parallel safe
return (
  select ragdb._numbers(q.embedding)
    from ragdb.embedders e join ragdb.query_embeddings q on q.embedder_id = e.embedder_id
    where e.name = (trace).embedding_model and q.corpus_id = (trace).corpus_id
      and q.embedding_hash = pg_catalog.decode((trace).query_embedding_hash, 'hex'));
comment on function ragdb._recorded_embedding(ragdb.retrieval_traces) is
  'Returns the query''s embedding that a trace names by its hash, if it was kept.';

-- What stands in the way of running a recorded retrieval again, as (verdict, cause, detail).
create or replace function ragdb._replay_obstacle(
  trace ragdb.retrieval_traces, corpus ragdb.corpora,
  out verdict text, out cause text, out detail text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder text;
begin
  verdict := 'not_replayable';
  if trace.error_code is not null then
    cause := 'failed_retrieval';
    detail := 'the retrieval ended with ' || trace.error_code;
  elsif trace.query_text is null then
    cause := 'query_text_not_kept';
    detail := 'the corpus kept none or only the hash of it';
  elsif trace.rank_mode in ('semantic', 'hybrid') then
    select e.name into v_embedder from ragdb._space(corpus.corpus_id, 'current') s
      join ragdb.embedders e on e.embedder_id = s.embedder_id;
    if v_embedder is distinct from trace.embedding_model then
      verdict := 'drifted';
      cause := 'embedder_changed';
      detail := format('the corpus was searched by the embeddings of %s and has %s',
        trace.embedding_model, coalesce('those of ' || v_embedder, 'none'));
    elsif ragdb._recorded_embedding(trace) is null then
      cause := 'query_embedding_not_kept';
      detail := 'ragdb.query_embeddings has none of hash ' || trace.query_embedding_hash;
    end if;
  end if;
  if cause is null then
    verdict := null;
  end if;
end $$;
comment on function ragdb._replay_obstacle(ragdb.retrieval_traces, ragdb.corpora) is
  'Says why a recorded retrieval cannot be run again: failed_retrieval, query_text_not_kept, embedder_changed or query_embedding_not_kept; nulls when it can.';

create or replace function ragdb._search_again(
  trace ragdb.retrieval_traces, corpus ragdb.corpora, k integer, min_score float8, filter jsonb,
  chunk_ids text[], min_lexical float8, min_semantic float8)
returns ragdb.hit[]
language sql stable parallel restricted
return (
  select case
      -- the fields of turns are filters of slices only
      when (trace).slice_id is not null then ragdb._search_turns(
        _search_again.corpus, (trace).query_text, _search_again.k, (trace).rank_mode,
        _search_again.min_score, _search_again.filter, _search_again.chunk_ids,
        (trace).statistics, r.embedding, r.fusion, r.lexical_weight, _search_again.min_lexical,
        _search_again.min_semantic)
      else array(select h from ragdb.search(
        corpus => (_search_again.corpus).name, query => (trace).query_text,
        k => _search_again.k, mode => (trace).rank_mode, min_score => _search_again.min_score,
        filter => _search_again.filter, chunk_ids => _search_again.chunk_ids,
        statistics => (trace).statistics, query_embedding => r.embedding, fusion => r.fusion,
        lexical_weight => r.lexical_weight, min_lexical => _search_again.min_lexical,
        min_semantic => _search_again.min_semantic) h order by h.rank)
    end
    from (select ragdb._recorded_embedding(trace)::float8[] as embedding,
        coalesce((trace).ranking ->> 'fusion', 'convex') as fusion,
        coalesce(((trace).ranking ->> 'lexical_weight')::float8, 0.5::float8) as lexical_weight) r
);
comment on function ragdb._search_again(ragdb.retrieval_traces, ragdb.corpora, integer, float8, jsonb, text[], float8, float8) is
  'Searches as a trace recorded, but for the arguments given.';

-- Definer: traces are granted to nobody.
create or replace function ragdb.replay(trace_id uuid)
returns table (
  verdict text, cause text, detail text, changed_chunk_ids text[], recorded_chunk_ids text[],
  replayed_chunk_ids text[])
language plpgsql stable parallel restricted security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trace ragdb.retrieval_traces := ragdb._open_trace(replay.trace_id);
  v_corpus ragdb.corpora := ragdb._open_corpus(v_trace.corpus, 'read');
  v_recorded ragdb.retrieval_hits[] := array(
    select h from ragdb.trace_hits(v_trace.id) h order by h.rank);
  v_replayed ragdb.hit[];
  v_slice ragdb.slices;
  v_before text[];
  v_after text[];
begin
  recorded_chunk_ids := array(select h.chunk_id from unnest(v_recorded) h order by h.rank);
  select string_agg(v.field, ', ') into detail
    from ragdb.verify_trace(v_trace.id) v where not v.is_intact;
  if detail is not null then
    verdict := 'drifted';
    cause := 'trace_tampered';
    detail := 'the rows of the trace are not what was recorded: ' || detail;
    return next; return;
  end if;
  select o.* into verdict, cause, detail from ragdb._replay_obstacle(v_trace, v_corpus) o;
  if verdict is not null then
    return next; return;
  end if;
  if v_trace.slice_id is not null then
    v_slice := ragdb._stored_slice(v_corpus.corpus_id, v_trace.slice_id);
    changed_chunk_ids := ragdb._changed_members(v_slice);
  end if;
  v_replayed := ragdb._search_again(v_trace, v_corpus, v_trace.limit_requested,
    v_trace.min_score, v_trace.filters, coalesce(v_slice.chunk_ids, v_trace.chunk_ids),
    coalesce((v_trace.ranking ->> 'min_lexical')::float8, 0),
    coalesce((v_trace.ranking ->> 'min_semantic')::float8, 0));
  replayed_chunk_ids := array(select h.chunk_id from unnest(v_replayed) h order by h.rank);
  if coalesce(changed_chunk_ids, '{}') = '{}' then
    -- hits that are gone or say something else, and hits that were none
    changed_chunk_ids := array(
      select h.chunk_id from unnest(v_recorded) h
        left join ragdb.chunks c on c.corpus_id = v_corpus.corpus_id and c.chunk_id = h.chunk_id
        where c.content_hash is distinct from h.content_hash
      union
      select r from unnest(replayed_chunk_ids) r where r <> all (recorded_chunk_ids)
      order by 1);
  end if;

  v_before := array(select h.chunk_id || ' ' || encode(h.content_hash, 'hex')
    from unnest(v_recorded) h order by h.rank);
  v_after := array(select h.chunk_id || ' ' || h.content_hash
    from unnest(v_replayed) h order by h.rank);
  verdict := case
    when v_trace.slice_id is not null
      and (ragdb._fingerprinted(v_corpus, v_slice)).slice_id <> v_trace.slice_id then 'drifted'
    when v_after = v_before and array(select h.score from unnest(v_replayed) h order by h.rank)
      = array(select h.score from unnest(v_recorded) h order by h.rank) then 'exact'
    when v_after = v_before then 'same_order'
    when v_after @> v_before and v_after <@ v_before then 'same_set'
    else 'drifted' end;
  if verdict <> 'exact' then
    cause := case
      when ragdb._ranking_hash(v_corpus) is distinct from v_trace.ranking_hash
        then 'config_changed'
      when not v_trace.is_exact and v_corpus.version = v_trace.corpus_version
        and changed_chunk_ids = '{}' then 'ann_nondeterminism'
      else 'corpus_changed' end;
    detail := case cause
      when 'config_changed'
        then 'how the corpus ranks (text configuration, k1, b, pivot) is not as it was'
      when 'ann_nondeterminism' then 'the recorded search was approximate'
      else format('the corpus was at version %s and is at %s; %s', v_trace.corpus_version,
        v_corpus.version, coalesce(
          'chunks changed, gone or new: '
            || nullif(left(array_to_string(changed_chunk_ids, ', '), 500), ''),
          'statistics, edges or embeddings changed, no hit did')) end;
  end if;
  return next;
end $$;
comment on function ragdb.replay(uuid) is
  'Runs a recorded retrieval again and says how it compares: exact (ids, contents, order, scores), same_order, same_set or drifted, with the cause (trace_tampered, embedder_changed, config_changed, corpus_changed, ann_nondeterminism) and the chunks that differ; or not_replayable with its cause (failed_retrieval, query_text_not_kept, query_embedding_not_kept). Raises RG400, RG404, RG407.';

create or replace function ragdb.why_not(trace_id uuid, chunk_id text)
returns table (step text, reason text)
language plpgsql stable parallel restricted security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trace ragdb.retrieval_traces := ragdb._open_trace(why_not.trace_id);
  v_corpus ragdb.corpora := ragdb._open_corpus(v_trace.corpus, 'read');
  v_only constant text[] := array[why_not.chunk_id];
  v_min_lexical constant float8 := coalesce((v_trace.ranking ->> 'min_lexical')::float8, 0);
  v_min_semantic constant float8 := coalesce((v_trace.ranking ->> 'min_semantic')::float8, 0);
  v_rank integer;
  v_hit ragdb.hit;
begin
  select h.rank into v_rank from ragdb.trace_hits(v_trace.id) h
    where h.chunk_id = why_not.chunk_id;
  if v_rank is not null then
    return query select 'hit', 'it was returned at rank ' || v_rank;
    return;
  end if;
  if not exists (select from ragdb.chunks c
    where c.corpus_id = v_corpus.corpus_id and c.chunk_id = why_not.chunk_id)
  then
    return query select 'corpus', 'the corpus has no chunk ' || ragdb._quote(why_not.chunk_id);
    return;
  end if;
  if v_trace.slice_id is not null and why_not.chunk_id
    <> all ((ragdb._stored_slice(v_corpus.corpus_id, v_trace.slice_id)).chunk_ids)
  then
    return query select 'slice', 'it is no member of slice ' || v_trace.slice_id;
    return;
  end if;
  if why_not.chunk_id <> all (v_trace.chunk_ids) then
    return query select 'filter', 'it was not among the chunk ids that the call allowed';
    return;
  end if;
  select o.detail into reason from ragdb._replay_obstacle(v_trace, v_corpus) o;
  if reason is not null then
    return query select 'unknown', 'the ranking cannot be repeated: ' || reason;
    return;
  end if;
  v_hit := (ragdb._search_again(v_trace, v_corpus, 1, 0, null, v_only, 0, 0))[1];
  if v_hit.chunk_id is null then
    return query select 'ranking', case when v_trace.rank_mode = 'semantic'
      then 'it has no embedding, or lacks a required word'
      else 'it has none of the query''s words, or lacks a required one' end;
    return;
  end if;
  if v_trace.filters is not null and cardinality(
    ragdb._search_again(v_trace, v_corpus, 1, 0, v_trace.filters, v_only, 0, 0)) = 0
  then
    return query select 'filter', 'it does not satisfy ' || ragdb._quote(v_trace.filters::text);
    return;
  end if;
  if v_hit.score < v_trace.min_score or coalesce(v_hit.lexical_score, 0) < v_min_lexical
    or coalesce(v_hit.semantic_score, 0) < v_min_semantic
  then
    return query select 'min_score', format(
      'its score is %s (lexical %s, semantic %s), and at least %s (%s, %s) was asked for',
      round(v_hit.score::numeric, 4), coalesce(round(v_hit.lexical_score::numeric, 4), 0),
      coalesce(round(v_hit.semantic_score::numeric, 4), 0), v_trace.min_score, v_min_lexical,
      v_min_semantic);
    return;
  end if;
  return query
    select 'limit', format('its score %s is not among the %s best',
        round(v_hit.score::numeric, 4), v_trace.limit_requested)
      || coalesce('; the last of them has ' || round(min(h.score)::numeric, 4), '')
      from ragdb.trace_hits(v_trace.id) h;
end $$;
comment on function ragdb.why_not(uuid, text) is
  'Says at which step of a recorded retrieval a chunk fell out: corpus, slice, filter, ranking, min_score or limit; or that it was a hit; or unknown. Raises RG400, RG404, RG407.';

---- sql/59_promotion.sql

-- Promotion: the only way from what was retrieved to what is known. Every refusal is a row that
-- says why, and an incident.

comment on table ragdb.semantic_atoms is 'Statements that were promoted from admissible retrievals.';
comment on column ragdb.semantic_atoms.corpus_id is 'The corpus.';
comment on column ragdb.semantic_atoms.atom_id is 'UUID of version 7.';
comment on column ragdb.semantic_atoms.text is 'The statement.';
comment on column ragdb.semantic_atoms.source_chunk_ids is 'Hits of the trace that it rests on.';
comment on column ragdb.semantic_atoms.source_slice_id is 'Slice that admitted them.';
comment on column ragdb.semantic_atoms.trace_id is 'Retrieval that found them.';
comment on column ragdb.semantic_atoms.created_at is 'When it was promoted.';
comment on column ragdb.semantic_atoms.created_by is 'Role that promoted it.';
comment on column ragdb.semantic_atoms.lexemes is 'Lexemes of the statement, for ragdb.search_dual.';
comment on table ragdb.semantic_proposals is 'Conclusions drawn from atoms of one slice.';
comment on column ragdb.semantic_proposals.corpus_id is 'The corpus.';
comment on column ragdb.semantic_proposals.proposal_id is 'UUID of version 7.';
comment on column ragdb.semantic_proposals.text is 'The conclusion.';
comment on column ragdb.semantic_proposals.source_atoms is 'Atoms that it rests on.';
comment on column ragdb.semantic_proposals.source_slice_id is 'Slice of those atoms.';
comment on column ragdb.semantic_proposals.status is 'open, accepted or rejected.';
comment on column ragdb.semantic_proposals.created_at is 'When it was proposed.';
comment on column ragdb.semantic_proposals.created_by is 'Role that proposed it.';
comment on column ragdb.semantic_proposals.lexemes is 'Lexemes of the conclusion, for ragdb.search_dual.';
comment on column ragdb.semantic_proposals.decided_at is 'When it was accepted or rejected; null while it is open.';
comment on column ragdb.semantic_proposals.decided_by is 'Role that decided; null while it is open.';
comment on column ragdb.semantic_proposals.decision_reason is 'Why, in that role''s words; null where none were given.';
comment on table ragdb.admissibility_incidents is 'Every attempt to promote what may not be promoted.';
comment on column ragdb.admissibility_incidents.incident_id is 'UUID of version 7.';
comment on column ragdb.admissibility_incidents.created_at is 'When.';
comment on column ragdb.admissibility_incidents.corpus_id is 'The corpus.';
comment on column ragdb.admissibility_incidents.kind is
  'slice_boundary_violation, unverified_evidence_usage, content_hash_mismatch, token_verification_failure, insufficient_evidence or other.';
comment on column ragdb.admissibility_incidents.severity is 'low, medium, high or critical.';
comment on column ragdb.admissibility_incidents.trace_id is 'Retrieval that was to be promoted.';
comment on column ragdb.admissibility_incidents.caller is 'Role that tried.';
comment on column ragdb.admissibility_incidents.reason is 'What was refused and why.';

-- The first thing that is missing, in words that say how much of it; null when the evidence
-- suffices.
create or replace function ragdb._insufficiency(corpus_id integer, chunk_ids text[],
  sufficiency text) returns text
language sql stable parallel safe
begin atomic
  with least_of (name, turns, roles, phases, high, needs_exchange, mean) as (
    values ('default', 3, 2, 1, 1, true, 0.3), ('lenient', 1, 1, 1, 0, false, 0.0),
      ('strict', 5, 2, 2, 2, true, 0.5)
  ), found as (
    select pg_catalog.count(*) as turns, pg_catalog.count(distinct t.role) as roles,
      pg_catalog.count(distinct t.phase) as phases,
        pg_catalog.count(*) filter (where t.salience >= 0.7::real) as high,
        coalesce(pg_catalog.bool_or(t.role = 'user') and pg_catalog.bool_or(t.role = 'assistant'),
          false) as has_exchange,
        coalesce(pg_catalog.avg(t.salience::numeric), 0) as mean
      from ragdb.chunks c join ragdb.turns t using (corpus_id, chunk_no)
      where c.corpus_id = _insufficiency.corpus_id and c.chunk_id = any(_insufficiency.chunk_ids)
  )
  select case
      when f.turns < l.turns then 'insufficient turns: ' || l.turns || ' required, ' || f.turns
        || ' found'
      when f.roles < l.roles then 'insufficient roles: ' || l.roles || ' required, ' || f.roles
        || ' found'
      when f.phases < l.phases then 'insufficient phases: ' || l.phases || ' required, '
        || f.phases || ' found'
      when f.high < l.high then 'insufficient turns of salience 0.7 or more: ' || l.high
        || ' required, ' || f.high || ' found'
      when l.needs_exchange and not f.has_exchange
        then 'no exchange: a turn of a user and one of an assistant are required'
      when f.mean < l.mean then 'low mean salience: ' || l.mean || ' required, '
        || pg_catalog.round(f.mean, 3) || ' found'
    end
    from least_of l, found f where l.name = _insufficiency.sufficiency;
end;
comment on function ragdb._insufficiency(integer, text[], text) is
  'Says what the turns among some chunks lack for a set of requirements (default, lenient, strict); null when they suffice.';

create or replace function ragdb._refuse_promotion(corpus_id integer, trace_id uuid, kind text,
  severity text, reason text)
returns void
language sql
begin atomic
  insert into ragdb.admissibility_incidents
    select ragdb._uuid7(n.now), n.now, _refuse_promotion.corpus_id, kind, severity, trace_id,
      ragdb._caller(), reason
      from (select ragdb._now() as now) n;
end;
comment on function ragdb._refuse_promotion(integer, uuid, text, text, text) is 'Writes the incident of a refused promotion.';

create or replace function ragdb.promote_to_atom(
  trace_id uuid, chunk_ids text[], text text, sufficiency text default 'default')
returns table (atom_id uuid, code text, reason text)
language plpgsql security definer rows 1 -- atoms and incidents are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trace ragdb.retrieval_traces := ragdb._open_trace(promote_to_atom.trace_id);
  v_corpus ragdb.corpora := ragdb._open_corpus(v_trace.corpus, 'write');
  v_kind text;
  v_severity text := 'critical';
  v_found record;
begin
  if coalesce(btrim(promote_to_atom.text) = '', true) or length(promote_to_atom.text) > 10000 then
    raise exception 'the text of an atom is 1 to 10000 characters'
      using errcode = 'RG400', detail = 'it has ' || coalesce(length(promote_to_atom.text)::text,
        'null'), hint = 'state one thing';
  end if;
  if coalesce(cardinality(promote_to_atom.chunk_ids) not between 1 and 1000, true) then
    raise exception 'an atom rests on 1 to 1000 chunks'
      using errcode = 'RG400', detail = 'chunk_ids has '
        || coalesce(cardinality(promote_to_atom.chunk_ids)::text, 'null'),
            hint = 'name hits of the trace';
  end if;
  if coalesce(promote_to_atom.sufficiency not in ('default', 'lenient', 'strict'), true) then
    raise exception 'sufficiency % is unknown', ragdb._quote(promote_to_atom.sufficiency)
      using errcode = 'RG400', detail = 'it names how much evidence is asked for',
        hint = 'default, lenient or strict';
  end if;
  if not v_trace.is_admissible then
    code := 'NOT_ADMISSIBLE'; v_kind := 'unverified_evidence_usage';
    reason := 'the retrieval was not admissible (mode ' || v_trace.retrieval_mode || ')';
  elsif exists (select from ragdb.verify_trace(v_trace.id) v where not v.is_intact) then
    code := 'TRACE_TAMPERED'; v_kind := 'unverified_evidence_usage';
    reason := 'the rows of the trace are not what was recorded';
  elsif exists (select from unnest(promote_to_atom.chunk_ids) p (id)
      where not p.id = any(array(select h.chunk_id from ragdb.trace_hits(v_trace.id) h))) then
    code := 'CHUNK_NOT_RETRIEVED'; v_kind := 'slice_boundary_violation';
    select 'chunk ' || ragdb._quote(p.id) || ' is not among the hits of the trace' into reason
      from unnest(promote_to_atom.chunk_ids) p (id)
      where not p.id = any(array(select h.chunk_id from ragdb.trace_hits(v_trace.id) h))
        order by p.id collate "C" limit 1;
  else
    select * into strict v_found from ragdb.verify_token(v_trace.corpus,
      v_trace.admissibility_token, v_trace.slice_id,
      v_trace.anchor_chunk_id, v_trace.policy_id, v_trace.policy_params_hash,
        v_trace.graph_snapshot_hash, v_trace.schema_version);
    if not v_found.valid then
      code := 'TOKEN_INVALID'; reason := v_found.reason;
      v_kind := case when v_found.reason like 'evidence:%' then 'content_hash_mismatch'
        else 'token_verification_failure' end;
    else
      reason := ragdb._insufficiency(v_corpus.corpus_id, promote_to_atom.chunk_ids,
        promote_to_atom.sufficiency);
      if reason is not null then
        code := 'INSUFFICIENT_EVIDENCE'; v_kind := 'insufficient_evidence'; v_severity := 'low';
      end if;
    end if;
  end if;
  if code is not null then
    perform ragdb._refuse_promotion(v_corpus.corpus_id, v_trace.id, v_kind, v_severity, reason);
    return next; return;
  end if;
  atom_id := ragdb._uuid7(ragdb._now());
  code := 'PROMOTED';
  insert into ragdb.semantic_atoms values (v_corpus.corpus_id, atom_id, promote_to_atom.text,
    array(select distinct p.id collate "C" from unnest(promote_to_atom.chunk_ids) p (id)
      order by 1), v_trace.slice_id, v_trace.id,
    ragdb._now(), ragdb._caller(), ragdb._lexemes(promote_to_atom.text, v_corpus.text_config));
  return next;
end $$;
comment on function ragdb.promote_to_atom(uuid, text[], text, text) is
  'Makes a statement out of hits of an admissible retrieval, and returns its id with code PROMOTED; or refuses with NOT_ADMISSIBLE, TRACE_TAMPERED, CHUNK_NOT_RETRIEVED, TOKEN_INVALID or INSUFFICIENT_EVIDENCE, the reason, and an incident. Raises RG400, RG401, RG407.';

create or replace function ragdb.propose(corpus text, atom_ids uuid[], text text)
returns table (proposal_id uuid, code text, reason text)
language plpgsql security definer rows 1 -- proposals and incidents are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(propose.corpus, 'write');
  v_slices text[];
  v_missing uuid;
begin
  if coalesce(btrim(propose.text) = '', true) or length(propose.text) > 10000
      or coalesce(cardinality(propose.atom_ids) not between 1 and 1000, true) then
    raise exception 'a proposal is a text of 1 to 10000 characters that rests on 1 to 1000 atoms'
      using errcode = 'RG400', detail = 'atom_ids has '
        || coalesce(cardinality(propose.atom_ids)::text, 'null'),
            hint = 'ragdb.promote_to_atom() makes atoms';
  end if;
  select p.id into v_missing from unnest(propose.atom_ids) p (id)
    where not exists (select from ragdb.semantic_atoms a where a.corpus_id = v_corpus.corpus_id
      and a.atom_id = p.id) limit 1;
  select array_agg(distinct a.source_slice_id) into v_slices from ragdb.semantic_atoms a
    where a.corpus_id = v_corpus.corpus_id and a.atom_id = any(propose.atom_ids);
  if v_missing is not null then
    code := 'ATOM_UNKNOWN'; reason := 'the corpus has no atom ' || v_missing;
    perform ragdb._refuse_promotion(v_corpus.corpus_id, null, 'unverified_evidence_usage', 'high',
      reason);
  elsif cardinality(v_slices) > 1 then
    code := 'SLICES_MIXED'; reason := 'the atoms come from ' || cardinality(v_slices) || ' slices';
    perform ragdb._refuse_promotion(v_corpus.corpus_id, null, 'slice_boundary_violation', 'high',
      reason);
  else
    proposal_id := ragdb._uuid7(ragdb._now());
    code := 'PROPOSED';
    insert into ragdb.semantic_proposals values (v_corpus.corpus_id, proposal_id, propose.text,
      array(select distinct p.id from unnest(propose.atom_ids) p (id) order by 1), v_slices[1],
        'open', ragdb._now(),
      ragdb._caller(), ragdb._lexemes(propose.text, v_corpus.text_config));
  end if;
  return next;
end $$;
comment on function ragdb.propose(text, uuid[], text) is
  'Stores a conclusion that rests on atoms of one slice and returns its id with code PROPOSED; or refuses with ATOM_UNKNOWN or SLICES_MIXED, the reason, and an incident. Raises RG400, RG401, RG404.';

-- What is accepted must still be what was proposed: the slice of its atoms is recomputed from the rows.
create or replace function ragdb.decide_proposal(
  corpus text, proposal_id uuid, decision text, reason text default null)
returns table (code text, detail text)
language plpgsql security definer rows 1 -- proposals and incidents are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(decide_proposal.corpus, 'write');
  v_proposal ragdb.semantic_proposals;
  v_slice ragdb.slices;
begin
  if coalesce(decide_proposal.decision not in ('accepted', 'rejected'), true) then
    raise exception '% is no decision', ragdb._quote(decide_proposal.decision)
      using errcode = 'RG400', detail = 'a proposal is decided once',
            hint = 'accepted or rejected';
  end if;
  if proposal_id is null or length(decide_proposal.reason) > 10000 then
    raise exception 'a decision names a proposal and gives at most 10000 characters of reason'
      using errcode = 'RG400', detail = 'the reason has '
        || coalesce(length(decide_proposal.reason)::text, 'no') || ' characters',
            hint = 'ragdb.list_proposals() lists proposals';
  end if;
  select p.* into v_proposal from ragdb.semantic_proposals p
    where p.corpus_id = v_corpus.corpus_id and p.proposal_id = decide_proposal.proposal_id
    for update;
  if not found then
    code := 'PROPOSAL_UNKNOWN';
    detail := 'the corpus has no proposal ' || decide_proposal.proposal_id;
  elsif v_proposal.status <> 'open' then
    code := 'ALREADY_DECIDED';
    detail := format('%s by %s', v_proposal.status, v_proposal.decided_by);
  elsif decide_proposal.decision = 'accepted' then
    v_slice := ragdb._stored_slice(v_corpus.corpus_id, v_proposal.source_slice_id);
    if (ragdb._fingerprinted(v_corpus, v_slice)).slice_id <> v_slice.slice_id then
      code := 'EVIDENCE_CHANGED';
      detail := ragdb._slice_changes(v_slice);
      perform ragdb._refuse_promotion(v_corpus.corpus_id, null, 'content_hash_mismatch', 'high',
        format('proposal %s: %s', v_proposal.proposal_id, detail));
    end if;
  end if;
  if code is null then
    update ragdb.semantic_proposals p
      set status = decide_proposal.decision, decided_at = ragdb._now(),
          decided_by = ragdb._caller(), decision_reason = decide_proposal.reason
      where p.corpus_id = v_corpus.corpus_id and p.proposal_id = v_proposal.proposal_id;
    code := upper(decide_proposal.decision);
  end if;
  return next;
end $$;
comment on function ragdb.decide_proposal(text, uuid, text, text) is
  'Accepts or rejects an open proposal, once, and returns code ACCEPTED or REJECTED; or changes nothing and returns PROPOSAL_UNKNOWN, ALREADY_DECIDED, or, for an acceptance whose evidence is not what it was, EVIDENCE_CHANGED with the detail and an incident. Raises RG400, RG401, RG404, RG435.';

create or replace function ragdb.list_proposals(
  corpus text, state text default null, count integer default 100)
returns table (
  proposal_id uuid, status text, text text, source_atoms uuid[], source_slice_id text,
  created_at timestamptz, created_by text, decided_at timestamptz, decided_by text,
  decision_reason text)
language plpgsql stable parallel safe security definer -- proposals are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(list_proposals.corpus, 'read');
begin
  if coalesce(list_proposals.count not between 1 and 10000, true)
    or list_proposals.state not in ('open', 'accepted', 'rejected')
  then
    raise exception 'count is not 1 to 10000, or state is none of a proposal'
      using errcode = 'RG400', detail = format('count is %s, state %s',
        coalesce(list_proposals.count::text, 'null'), ragdb._quote(list_proposals.state)),
          hint = 'open, accepted, rejected, or null for all';
  end if;
  return query
    select p.proposal_id, p.status, p.text, p.source_atoms, p.source_slice_id, p.created_at,
        p.created_by, p.decided_at, p.decided_by, p.decision_reason
      from ragdb.semantic_proposals p
      where p.corpus_id = v_corpus.corpus_id
        and (list_proposals.state is null or p.status = list_proposals.state)
      order by p.created_at desc, p.proposal_id limit list_proposals.count;
end $$;
comment on function ragdb.list_proposals(text, text, integer) is
  'Lists the latest 1 to 10000 proposals of a corpus, of one state (open, accepted, rejected) or of all. Raises RG400, RG401, RG404.';

create or replace function ragdb.list_incidents(corpus text, count integer default 100)
returns table (incident_id uuid, created_at timestamptz, kind text, severity text, trace_id uuid,
  caller text, reason text)
language plpgsql stable parallel safe security definer -- incidents are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(list_incidents.corpus, 'write');
begin
  if coalesce(list_incidents.count not between 1 and 10000, true) then
    raise exception 'count is not 1 to 10000' using errcode = 'RG400',
      detail = 'it is ' || coalesce(list_incidents.count::text, 'null'), hint = 'ask for fewer';
  end if;
  return query
    select i.incident_id, i.created_at, i.kind, i.severity, i.trace_id, i.caller, i.reason
      from ragdb.admissibility_incidents i where i.corpus_id = v_corpus.corpus_id
      order by i.created_at desc, i.incident_id limit list_incidents.count;
end $$;
comment on function ragdb.list_incidents(text, integer) is
  'Lists the latest 1 to 10000 refused promotions of a corpus. Raises RG400, RG401, RG404.';

-- Statements are ranked by the formula and the statistics of the corpus's chunks, so that both
-- planes share one scale.
create or replace function ragdb._rank_statements(corpus ragdb.corpora, query text)
returns table (plane text, id uuid, text text, score float8, source_ids text[], slice_id text)
language sql stable parallel safe
begin atomic
  with asked as materialized (
    select w.lexeme, pg_catalog.cardinality(w.positions) * pg_catalog.ln(
        1 + ((corpus).chunks - coalesce(l.df, 0) + 0.5::float8) / (coalesce(l.df, 0) + 0.5::float8))
        as weight
      from (select pg_catalog.string_agg(c.text, ' ') as text
        from ragdb._query_clauses(_rank_statements.query) c where c.kind <> 'not') q
      cross join pg_catalog.unnest(
        ragdb._lexemes(coalesce(q.text, ''), (corpus).text_config)) w
      left join ragdb.lexemes l on l.corpus_id = (corpus).corpus_id and l.lexeme = w.lexeme
  ), statements as (
    select 'atom' as plane, a.atom_id as id, a.text, a.lexemes, a.source_chunk_ids as source_ids,
        a.source_slice_id as slice_id
      from ragdb.semantic_atoms a where a.corpus_id = (corpus).corpus_id
    union all
    select 'proposal', p.proposal_id, p.text, p.lexemes, p.source_atoms::text[], p.source_slice_id
      from ragdb.semantic_proposals p
      where p.corpus_id = (corpus).corpus_id and p.status <> 'rejected'
  )
  select s.plane, s.id, s.text, r.score, s.source_ids, s.slice_id
    from statements s
    cross join lateral (
      select (corpus).k1 * (1 - (corpus).b + (corpus).b
          * pg_catalog.sum(pg_catalog.cardinality(w.positions))::float8 / (corpus).pivot) as norm
        from pg_catalog.unnest(s.lexemes) w) d
    cross join lateral (
      select pg_catalog.sum(q.weight * pg_catalog.cardinality(w.positions)
            / (pg_catalog.cardinality(w.positions) + d.norm) order by q.lexeme collate "C")
          / (select pg_catalog.sum(a.weight order by a.lexeme collate "C") from asked a) as score
        from asked q join pg_catalog.unnest(s.lexemes) w on w.lexeme = q.lexeme) r
    where r.score > 0;
end;
comment on function ragdb._rank_statements(ragdb.corpora, text) is
  'Returns atoms and proposals that are not rejected with the BM25 of their text over the most the query could reach, by the statistics of the corpus.';

create or replace function ragdb.search_dual(
  corpus text, query text, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, query_embedding float8[] default null,
  fusion text default 'convex', lexical_weight float8 default 0.5)
returns table (
  rank integer, plane text, id text, text text, score float8, source_ids text[],
  source_slice_id text)
language plpgsql stable parallel restricted security definer -- statements are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(search_dual.corpus, 'read');
begin
  return query
    with found as (
      select 'raw' as plane, h.chunk_id as id, h.text, h.score, array[h.source] as source_ids,
          null::text as slice_id
        from ragdb.search(corpus => search_dual.corpus, query => search_dual.query,
          k => search_dual.k, mode => search_dual.mode, min_score => search_dual.min_score,
          filter => search_dual.filter, query_embedding => search_dual.query_embedding,
          fusion => search_dual.fusion, lexical_weight => search_dual.lexical_weight) h
      union all
      select s.plane, s.id::text, s.text, s.score, s.source_ids, s.slice_id
        from ragdb._rank_statements(v_corpus, search_dual.query) s
        where s.score >= search_dual.min_score
    )
    select f.rank::integer, f.plane, f.id, f.text, f.score, f.source_ids, f.slice_id
      from (select f.*, row_number() over (
        order by f.score desc, f.plane collate "C", f.id collate "C") as rank from found f) f
      where f.rank <= search_dual.k order by f.rank;
end $$;
comment on function ragdb.search_dual(text, text, integer, text, float8, jsonb, float8[], text, float8) is
  'Searches both planes, the raw chunks (with the arguments of ragdb.search) and what was promoted from them (atoms and proposals, by their words), and returns the k best with their plane and what they rest on. Raises what ragdb.search raises.';

---- sql/60_contracts.sql

-- Contracts: what each node and key may be, validation, storage by version, retrieval through a retriever.

comment on table ragdb.contracts is 'Versions of applied contracts; old ones stay.';
comment on column ragdb.contracts.contract is 'Name of the contract.';
comment on column ragdb.contracts.version is 'Version, from 1; a contract that did not change gets none.';
comment on column ragdb.contracts.is_current is 'Whether it is the version in force.';
comment on column ragdb.contracts.nodes_hash is 'Sha256 of its nodes and keys, wherever they stand in the file.';
comment on column ragdb.contracts.applied_at is 'When it was applied.';
comment on column ragdb.contracts.applied_by is 'Role that applied it.';
comment on table ragdb.contract_nodes is 'The nodes of every version of a contract.';
comment on column ragdb.contract_nodes.contract is 'Name of the contract.';
comment on column ragdb.contract_nodes.version is 'Version of the contract.';
comment on column ragdb.contract_nodes.node_no is 'Place of the node in the contract, from 1.';
comment on column ragdb.contract_nodes.parent_no is 'Node that it is a child of; null at the top.';
comment on column ragdb.contract_nodes.node is 'What it is: corpus, source, retriever, rag, ragCase and so on.';
comment on column ragdb.contract_nodes.name is 'Its key name.';
comment on column ragdb.contract_nodes.corpus is 'Stored name of the corpus that it is in or of.';
comment on column ragdb.contract_nodes.rag is 'Name of the rag that it is or belongs to.';
comment on column ragdb.contract_nodes.keys is 'Its keys and values; a uri of files is relative to the contract, without a leading ./.';
comment on column ragdb.contract_nodes.columns is 'Column of each key in its line; empty where it came without.';
comment on column ragdb.contract_nodes.prompt_sha256 is 'Sha256 (hex) of the prompt file of a rag; null where it was not there.';
comment on column ragdb.contract_nodes.line is 'Line of the file, from 1; null where it came without.';
comment on column ragdb.contract_nodes."column" is 'Column of the line, from 1; null where it came without.';

-- ── the language ────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb._contract_parents() returns table (node text, parents text[], rule text)
language sql immutable parallel safe
begin atomic
  -- '' is the top
  select * from (values
    ('corpus', array[''], 'contract-node-misplaced'),
    ('source', array['corpus', ''], 'contract-node-misplaced'),
    ('chunking', array['corpus', ''], 'contract-node-misplaced'),
    ('embed', array[''], 'contract-node-misplaced'),
    ('retriever', array[''], 'contract-node-misplaced'),
    ('rag', array[''], 'contract-node-misplaced'),
    ('grounding', array['rag', ''], 'contract-node-misplaced'),
    ('ragEval', array['rag', ''], 'contract-node-misplaced'),
    ('ragCase', array['ragEval'], 'rag-case-missing-eval'),
    ('ragAssert', array['ragCase'], 'rag-assert-missing-case'),
    ('ragAnswerContract', array['rag', ''], 'contract-node-misplaced'),
    ('answerSpan', array['ragAnswerContract'], 'rag-answer-span-missing-contract'),
    ('tool', array[''], 'contract-node-misplaced'),
    ('prompt', array[''], 'contract-node-misplaced'),
    ('param', array['tool', 'prompt'], 'contract-node-misplaced'),
    ('retrieve', array['tool', 'prompt'], 'mcp-retrieve-missing-container')
  ) as p (node, parents, rule);
end;
comment on function ragdb._contract_parents() is
  'Lists the nodes of the contract language with the nodes they may be children of (empty: none) and the rule that another place breaks.';

-- One row a key. `missing` is the rule that its absence, or a blank text, breaks; null where it may be left out.
create or replace function ragdb._contract_keys()
returns table (node text, key text, type text, low float8, high float8, choices text[], rule text, missing text)
language sql immutable parallel safe
begin atomic
  select k.node, k.key, k.type, k.low, k.high, pg_catalog.string_to_array(k.choices, ' '), k.rule, k.missing
  from (values
    ('corpus', 'name', 'text', null::float8, null::float8, null, null, 'contract-name-required'),
    ('corpus', 'title', 'text', null, null, null, null, null),
    ('corpus', 'tenant', 'text', null, null, null, null, null),
    ('corpus', 'refresh', 'interval', null, null, null, 'rag-corpus-refresh-invalid', null),
    ('source', 'name', 'text', null, null, null, null, 'contract-name-required'),
    ('source', 'corpus', 'text', null, null, null, null, null),
    ('source', 'kind', 'choice', null, null, 'local s3 http mcp', 'rag-source-kind-invalid', null),
    ('source', 'uri', 'text', null, null, null, null, null),
    ('source', 'media', 'text', null, null, null, null, null),
    ('source', 'resource', 'text', null, null, null, null, null),
    ('source', 'acl', 'list', null, null, null, 'contract-list-empty', null),
    ('chunking', 'name', 'text', null, null, null, null, null),
    ('chunking', 'corpus', 'text', null, null, null, null, null),
    ('chunking', 'source', 'text', null, null, null, null, null),
    ('chunking', 'strategy', 'choice', null, null, 'paragraph window semantic page', 'rag-chunking-strategy-invalid', null),
    ('chunking', 'maxTokens', 'integer', 1, 100000, null, 'rag-chunking-max-tokens-invalid', null),
    ('chunking', 'overlap', 'integer', 0, 100000, null, 'rag-chunking-overlap-invalid', null),
    ('chunking', 'unit', 'choice', null, null, 'token tokens word words char chars', 'rag-chunking-unit-invalid', null),
    ('embed', 'name', 'text', null, null, null, null, 'contract-name-required'),
    ('embed', 'corpus', 'text', null, null, null, null, 'rag-embed-unknown-corpus'),
    ('embed', 'model', 'text', null, null, null, null, 'rag-embed-model-required'),
    ('embed', 'dims', 'integer', 1, 4000, null, 'rag-embed-dims-invalid', 'rag-embed-dims-invalid'),
    ('embed', 'metric', 'choice', null, null, 'cosine ip l2', 'rag-embed-metric-invalid', null),
    ('retriever', 'name', 'text', null, null, null, null, 'contract-name-required'),
    ('retriever', 'corpus', 'text', null, null, null, null, 'rag-retriever-unknown-corpus'),
    ('retriever', 'embed', 'text', null, null, null, null, null),
    ('retriever', 'mode', 'choice', null, null, 'lexical semantic hybrid reference', 'rag-retriever-mode-invalid', null),
    ('retriever', 'topK', 'integer', 1, 1000, null, 'rag-retriever-topk-invalid', null),
    ('retriever', 'minScore', 'number', 0, 1, null, 'rag-retriever-minscore-invalid', null),
    ('retriever', 'rerank', 'choice', null, null, 'none', 'rag-retriever-rerank-invalid', null),
    ('rag', 'name', 'text', null, null, null, null, 'contract-name-required'),
    ('rag', 'retriever', 'text', null, null, null, null, 'rag-unknown-retriever'),
    ('rag', 'prompt', 'text', null, null, null, null, null),
    ('rag', 'answer', 'text', null, null, null, null, null),
    ('rag', 'citations', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('grounding', 'name', 'text', null, null, null, null, null),
    ('grounding', 'rag', 'text', null, null, null, null, null),
    ('grounding', 'requireCitations', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('grounding', 'policy', 'choice', null, null, 'strict lenient', 'rag-grounding-policy-invalid', null),
    ('grounding', 'maxContext', 'integer', 1, 10000000, null, 'rag-grounding-max-context-invalid', null),
    ('ragEval', 'name', 'text', null, null, null, null, 'rag-eval-name-required'),
    ('ragEval', 'rag', 'text', null, null, null, null, null),
    ('ragEval', 'metric', 'metric', null, null, null, 'rag-eval-metric-invalid', null),
    ('ragEval', 'threshold', 'number', 0, 1, null, 'rag-eval-threshold-invalid', null),
    ('ragEval', 'mode', 'choice', null, null, 'contract', 'rag-eval-mode-invalid', null),
    ('ragCase', 'name', 'text', null, null, null, null, 'rag-case-name-required'),
    ('ragCase', 'query', 'text', null, null, null, null, 'rag-case-query-required'),
    ('ragCase', 'tags', 'list', null, null, null, 'contract-list-empty', null),
    ('ragCase', 'topK', 'integer', 1, 1000, null, 'rag-case-topk-invalid', null),
    ('ragCase', 'minScore', 'number', 0, 1, null, 'rag-case-minscore-invalid', null),
    ('ragCase', 'chunkCount', 'integer', 0, 1000, null, 'rag-case-chunk-count-invalid', null),
    ('ragCase', 'sources', 'list', null, null, null, 'contract-list-empty', null),
    ('ragCase', 'anchor', 'text', null, null, null, null, null),
    ('ragCase', 'policy', 'text', null, null, null, null, null),
    ('ragAssert', 'kind', 'text', null, null, null, null, 'rag-assert-kind-invalid'),
    ('ragAssert', 'value', 'text', null, null, null, null, null),
    ('ragAssert', 'threshold', 'number', 0, 1, null, 'rag-assert-threshold-invalid', null),
    ('ragAssert', 'count', 'integer', 0, 1000000, null, 'rag-assert-count-invalid', null),
    ('ragAssert', 'valueMs', 'integer', 0, 86400000, null, 'rag-assert-value-ms-invalid', null),
    ('ragAssert', 'required', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('ragAssert', 'negate', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('ragAssert', 'quantifier', 'choice', null, null, 'any all', 'rag-assert-quantifier-invalid', null),
    ('ragAnswerContract', 'name', 'text', null, null, null, null, 'rag-answer-contract-name-required'),
    ('ragAnswerContract', 'rag', 'text', null, null, null, null, null),
    ('ragAnswerContract', 'query', 'text', null, null, null, null, 'rag-answer-contract-query-required'),
    ('ragAnswerContract', 'answer', 'text', null, null, null, null, 'rag-answer-contract-answer-required'),
    ('ragAnswerContract', 'prompt', 'text', null, null, null, null, null),
    ('ragAnswerContract', 'requireCitations', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('ragAnswerContract', 'minGroundingCoverage', 'number', 0, 1, null, 'rag-answer-contract-min-grounding-coverage-invalid', null),
    ('ragAnswerContract', 'minCitedChunks', 'integer', 0, 1000, null, 'rag-answer-contract-min-cited-chunks-invalid', null),
    ('ragAnswerContract', 'minRetrievedChunks', 'integer', 0, 1000, null, 'rag-answer-contract-evidence-policy-invalid', null),
    ('ragAnswerContract', 'minTopScore', 'number', 0, 1, null, 'rag-answer-contract-evidence-policy-invalid', null),
    ('ragAnswerContract', 'allowAbstain', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('ragAnswerContract', 'abstainAnswer', 'text', null, null, null, null, null),
    ('ragAnswerContract', 'lexicalSupport', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('answerSpan', 'start', 'integer', 0, 100000000, null, 'rag-answer-span-range-invalid', 'rag-answer-span-range-invalid'),
    ('answerSpan', 'end', 'integer', 1, 100000000, null, 'rag-answer-span-range-invalid', 'rag-answer-span-range-invalid'),
    ('answerSpan', 'chunks', 'list', null, null, null, 'rag-answer-span-chunks-required', 'rag-answer-span-chunks-required'),
    ('answerSpan', 'required', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('tool', 'name', 'text', null, null, null, null, 'contract-name-required'),
    ('tool', 'title', 'text', null, null, null, null, null),
    ('tool', 'description', 'text', null, null, null, null, null),
    ('prompt', 'name', 'text', null, null, null, null, 'contract-name-required'),
    ('prompt', 'title', 'text', null, null, null, null, null),
    ('prompt', 'description', 'text', null, null, null, null, null),
    ('param', 'name', 'text', null, null, null, null, 'contract-name-required'),
    ('param', 'type', 'choice', null, null, 'string', 'mcp-param-type-invalid', null),
    ('param', 'description', 'text', null, null, null, null, null),
    ('param', 'required', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('retrieve', 'name', 'text', null, null, null, null, null),
    ('retrieve', 'rag', 'text', null, null, null, null, null),
    ('retrieve', 'retriever', 'text', null, null, null, null, null),
    ('retrieve', 'queryParam', 'text', null, null, null, null, null),
    ('retrieve', 'query', 'text', null, null, null, null, null),
    ('retrieve', 'as', 'text', null, null, null, null, null),
    ('retrieve', 'topK', 'integer', 1, 1000, null, 'mcp-retrieve-topk-invalid', null),
    ('retrieve', 'minScore', 'number', 0, 1, null, 'mcp-retrieve-minscore-invalid', null),
    ('retrieve', 'requireGrounding', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('retrieve', 'output', 'text', null, null, null, null, null),
    ('retrieve', 'requireCitations', 'boolean', null, null, null, 'contract-boolean-invalid', null),
    ('retrieve', 'provenance', 'text', null, null, null, null, null),
    ('retrieve', 'citationField', 'text', null, null, null, null, null),
    ('retrieve', 'sourceField', 'text', null, null, null, null, null),
    ('retrieve', 'scoreField', 'text', null, null, null, null, null)
  ) as k (node, key, type, low, high, choices, rule, missing);
end;
comment on function ragdb._contract_keys() is
  'Lists the keys of the contract language with type, range or choices, and the rules that a wrong or missing value breaks.';

create or replace function ragdb.assertion_kinds()
returns table (kind text, is_frozen boolean, property text, meaning text)
language sql immutable parallel safe
begin atomic
  select * from (values
    ('factId', true, 'value', 'the case is rag:eval:case'),
    ('chunkHash', true, 'value', 'some chunk has this content_hash or kern_chunk_hash'),
    ('scoreGte', true, 'threshold', 'there is a chunk, and one scores at least so much (quantifier=all: every one)'),
    ('scoreLte', true, 'threshold', 'there is a chunk, and one scores at most so much (quantifier=all: every one)'),
    ('contains', true, 'value', 'some chunk''s text has this text, in any case'),
    ('sourceEq', true, 'value', 'some chunk has this source'),
    ('sourceGlob', true, 'value', 'some chunk''s source matches: * any run of characters, ? any one, in any case'),
    ('uniqueSourcesGte', true, 'count', 'chunks have at least so many sources'),
    ('chunkCountEq', true, 'count', 'there are exactly so many chunks'),
    ('latencyLte', true, 'valueMs', 'the retrieval took at most so many milliseconds'),
    ('citesRequired', true, null, 'there is a chunk, and every one has a uri or locator that is not blank'),
    ('recallAtK', false, 'threshold', 'of the labelled items at least this share is among the first count'),
    ('precisionAtK', false, 'threshold', 'of the first count places at least this share has a labelled item'),
    ('ndcgAtK', false, 'threshold', 'nDCG of the first count places is at least so much'),
    ('reciprocalRank', false, 'threshold', '1 / rank of the first labelled item is at least so much'),
    ('averagePrecision', false, 'threshold', 'average precision is at least so much'),
    ('hitAtK', false, 'count', 'a labelled item is among the first count'),
    ('rankLte', false, 'value count', 'a chunk with this id or source (glob) is among the first count'),
    ('topSourceEq', false, 'value', 'the first chunk has this source'),
    ('notRetrieved', false, 'value', 'no chunk has this id or source (glob)'),
    ('orderedBefore', false, 'value', 'of two ids or sources, separated by a comma, the first one ranks before the second'),
    ('containsAny', false, 'value', 'some chunk has one of these texts, separated by commas'),
    ('containsAll', false, 'value', 'each of these texts, separated by commas, is in some chunk'),
    ('chunkCountGte', false, 'count', 'there are at least so many chunks'),
    ('chunkCountLte', false, 'count', 'there are at most so many chunks'),
    ('maxChunksPerSourceLte', false, 'count', 'no source has more chunks than this'),
    ('contextTokensLte', false, 'count', 'the chunks have at most so many tokens'),
    ('topScoreGte', false, 'threshold', 'the first chunk scores at least so much'),
    ('scoreMarginGte', false, 'threshold', 'the first chunk scores at least so much more than the second'),
    ('withinSlice', false, 'value', 'there is a chunk, and every one is in this stored slice'),
    ('admissible', false, null, 'the trace is admissible'),
    ('tokenValid', false, null, 'the trace''s admissibility token verifies'),
    ('policyEq', false, 'value', 'the trace''s slice was built by this policy'),
    ('noShortfall', false, null, 'the trace has no admissibility shortfall'),
    ('embeddingModelEq', false, 'value', 'the query was embedded by this model'),
    ('resultHashEq', false, 'value', 'the trace has this result_hash'),
    ('replayMatches', false, null, 'a replay of the trace gives the same result'),
    ('groundingCoverageGte', false, 'threshold', 'the answer contract of the same query is grounded to this share'),
    ('citationsResolve', false, null, 'every span of that answer cites chunks that were retrieved'),
    ('numbersGrounded', false, null, 'every number in a span of that answer is in a chunk it cites'),
    ('abstains', false, null, 'that answer contract abstains')
  ) as k (kind, is_frozen, property, meaning);
end;
comment on function ragdb.assertion_kinds() is
  'Lists the kinds of ragAssert: the closed group of eleven (is_frozen) and the second one, the properties each takes and when it passes.';

-- `metric=`: as written in a contract, as stored, and the default depth of those at k
create or replace function ragdb._eval_metric(metric text) returns text
language sql immutable parallel safe
return (
  select case
    when m.name in ('hit_rate', 'citation_coverage', 'min_relevance', 'grounding', 'faithfulness', 'mrr', 'map')
      and m.k is null then m.name
    when m.name in ('recall', 'precision', 'ndcg', 'judged')
      and coalesce(m.k, '10') ~ '^([1-9][0-9]{0,2}|1000)$' then m.name || '@' || coalesce(m.k, '10')
  end
  from (select pg_catalog.lower(pg_catalog.regexp_replace(pg_catalog.replace(
      pg_catalog.split_part(_eval_metric.metric, '@', 1), 'DCG', 'dcg'), '([a-z])([A-Z])', '\1_\2', 'g') collate "C") as name,
    nullif(pg_catalog.split_part(_eval_metric.metric, '@', 2), '') as k) m);
comment on function ragdb._eval_metric(text) is
  'Returns the stored name of a metric, in camel or snake case, with @k (10 unless given); null for an unknown one.';

-- ── reading a contract ──────────────────────────────────────────────────────────────────────────────

-- Levenshtein over lower case; only for what is not known, and for short words.
create or replace function ragdb._edit_distance(a text, b text) returns integer
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_row integer[] := array(select generate_series(0, length(b)));
  v_diagonal integer;
  v_above integer;
begin
  for i in 1 .. length(a) loop
    v_diagonal := v_row[1];
    v_row[1] := i;
    for j in 1 .. length(b) loop
      v_above := v_row[j + 1];
      v_row[j + 1] := least(v_above + 1, v_row[j] + 1,
        v_diagonal + (lower(substr(a, i, 1)) <> lower(substr(b, j, 1)))::integer);
      v_diagonal := v_above;
    end loop;
  end loop;
  return v_row[length(b) + 1];
end $$;
comment on function ragdb._edit_distance(text, text) is 'Returns the Levenshtein distance of two words, case left aside.';

create or replace function ragdb._nearest_name(word text, names text[]) returns text
language sql immutable parallel safe
return (
  select n.name from pg_catalog.unnest(_nearest_name.names) n (name)
  order by ragdb._edit_distance(pg_catalog.left(_nearest_name.word, 40), n.name), n.name collate "C" limit 1);
comment on function ragdb._nearest_name(text, text[]) is 'Returns the name nearest to a word; null when there is none.';

create or replace function ragdb._contract_slug(name text) returns text
language sql immutable parallel safe
return pg_catalog.left(pg_catalog.regexp_replace(pg_catalog.lower(_contract_slug.name collate "C"), '[^a-z0-9-]+', '-', 'g'), 64);
comment on function ragdb._contract_slug(text) is
  'Returns the stored name of a contract''s corpus: lower case, every other run of characters a hyphen.';

create or replace function ragdb._list(value text) returns text[]
language sql immutable parallel safe
return array(select pg_catalog.btrim(i.item, E' \t') from pg_catalog.unnest(pg_catalog.string_to_array(_list.value, ',')) with ordinality i (item, n)
  where i.item ~ '\S' order by i.n);
comment on function ragdb._list(text) is 'Returns the items of a list separated by commas, trimmed, without empty ones.';

create or replace function ragdb._number(value text, low float8, high float8) returns float8
language sql immutable parallel safe
return case when _number.value ~ '^[+-]?([0-9]{1,15}(\.[0-9]{0,15})?|\.[0-9]{1,15})([eE][+-]?[0-9]{1,2})?$'
    and _number.value::float8 between coalesce(_number.low, '-infinity') and coalesce(_number.high, 'infinity')
  then _number.value::float8 end;
comment on function ragdb._number(text, float8, float8) is 'Returns a decimal number in a range; null for any other text.';

create or replace function ragdb._whole(value text, low float8, high float8) returns bigint
language sql immutable parallel safe
return case when _whole.value ~ '^[+-]?[0-9]{1,15}$'
    and _whole.value::bigint between coalesce(_whole.low, '-infinity') and coalesce(_whole.high, 'infinity')
  then _whole.value::bigint end;
comment on function ragdb._whole(text, float8, float8) is 'Returns a whole number in a range; null for any other text.';

do $$ begin
  if pg_catalog.to_regtype('ragdb.contract_item') is null then
    create type ragdb.contract_item as (
      node_no integer, parent_no integer, node text, name text, corpus text, rag text, keys jsonb, columns jsonb,
      prompt_sha256 text, line integer, "column" integer, parent_node text, parent_name text, grandparent_node text, depth integer, is_sound boolean);
  end if;
end $$;
comment on type ragdb.contract_item is
  'A node of a contract being read: what it is, what it is in, and whether it has the form of a node.';

-- A position is a message's only, so a wrong one is none
create or replace function ragdb._contract_items(contract jsonb) returns setof ragdb.contract_item
language sql immutable parallel safe
begin atomic
  with recursive walk as (
    select array[n.ord] as path, n.v, 1 as depth
    from pg_catalog.jsonb_array_elements(case pg_catalog.jsonb_typeof(contract -> 'nodes')
      when 'array' then contract -> 'nodes' else '[]' end) with ordinality n (v, ord)
    union all
    select w.path || c.ord, c.v, w.depth + 1
    from walk w cross join lateral pg_catalog.jsonb_array_elements(case pg_catalog.jsonb_typeof(w.v -> 'children')
      when 'array' then w.v -> 'children' else '[]' end) with ordinality c (v, ord)
    where w.depth < 17
  ), numbered as materialized (
    select w.path, w.depth, pg_catalog.row_number() over (order by w.path)::integer as node_no,
      w.v ->> 'node' as node,
      case pg_catalog.jsonb_typeof(w.v -> 'keys') when 'object' then w.v -> 'keys' else '{}' end as keys,
      case pg_catalog.jsonb_typeof(w.v -> 'columns') when 'object' then w.v -> 'columns' else '{}' end as columns,
      w.v ->> 'prompt_sha256' as prompt_sha256,
      ragdb._whole(w.v ->> 'line', 1, 10000000)::integer as line, ragdb._whole(w.v ->> 'column', 1, 10000000)::integer as "column",
      pg_catalog.jsonb_typeof(w.v) = 'object' and pg_catalog.jsonb_typeof(w.v -> 'node') = 'string'
        and coalesce(pg_catalog.jsonb_typeof(w.v -> 'keys'), 'object') = 'object'
        and coalesce(pg_catalog.jsonb_typeof(w.v -> 'children'), 'array') in ('array', 'null')
        and coalesce(pg_catalog.jsonb_typeof(w.v -> 'columns'), 'object') = 'object'
        and coalesce(w.v ->> 'prompt_sha256', 'a') ~ '^(a|[0-9a-f]{64})$'
        and not pg_catalog.jsonb_path_exists(w.v, 'strict $.keys.* ? (@.type() == "object" || @.type() == "array" || @.type() == "null")', '{}', true)
        as is_sound
    from walk w
  ), placed as materialized (
    select n.*, p.node_no as parent_no, p.node as parent_node, p.keys ->> 'name' as parent_name
    from numbered n left join numbered p on p.path = n.path[:pg_catalog.cardinality(n.path) - 1]
  )
  select n.node_no, n.parent_no, n.node, n.keys ->> 'name',
    case
      when n.node = 'corpus' then n.keys ->> 'name'
      when n.node in ('source', 'chunking') then coalesce(n.keys ->> 'corpus', case n.parent_node when 'corpus' then n.parent_name end)
      when n.node in ('embed', 'retriever') then n.keys ->> 'corpus'
    end,
    case
      when n.node = 'rag' then n.keys ->> 'name'
      when n.node in ('grounding', 'ragEval', 'ragAnswerContract')
        then coalesce(n.keys ->> 'rag', case n.parent_node when 'rag' then n.parent_name end)
      when n.node in ('ragCase', 'answerSpan') then coalesce(p.keys ->> 'rag', case p.parent_node when 'rag' then p.parent_name end)
      when n.node = 'ragAssert' then coalesce(g.keys ->> 'rag', case g.parent_node when 'rag' then g.parent_name end)
      when n.node = 'retrieve' then n.keys ->> 'rag'
    end,
    n.keys, n.columns, n.prompt_sha256, n.line, n."column", n.parent_node, n.parent_name, p.parent_node, n.depth, n.is_sound
  from placed n
    left join placed p on p.node_no = n.parent_no
    left join placed g on g.node_no = p.parent_no;
end;
comment on function ragdb._contract_items(jsonb) is
  'Returns the nodes of a contract in their order, with the corpus and the rag that each belongs to.';

-- ── validation ──────────────────────────────────────────────────────────────────────────────────────

-- Every rule is a branch; what another rule reports already is left out.
create or replace function ragdb._contract_problems(items ragdb.contract_item[])
returns table (rule text, severity text, node_no integer, key text, message text, hint text)
language sql immutable parallel safe
begin atomic
  with n as materialized (
    select i.*, i.node || case when i.name ~ '\S' then ' ' || ragdb._quote(i.name) else '' end as title
    from pg_catalog.unnest(_contract_problems.items) i
  ), corpora as materialized (select distinct n.name from n where n.node = 'corpus' and n.name is not null),
  sources as materialized (select distinct n.corpus, n.name from n where n.node = 'source' and n.name is not null),
  embeds as materialized (select n.name, pg_catalog.min(n.corpus) as corpus from n where n.node = 'embed' group by n.name),
  retrievers as materialized (select distinct n.name from n where n.node = 'retriever'),
  rags as materialized (select distinct n.name from n where n.node = 'rag'),
  grounded as materialized (
    select distinct n.rag from n where n.node = 'grounding' and n.keys ->> 'requireCitations' = 'true'
  ), cited as materialized (
    select g.rag from grounded g
    union select n.name from n where n.node = 'rag' and n.keys ->> 'citations' = 'true'
  ), known as materialized (select * from ragdb._contract_parents()),
  kinds as materialized (select * from ragdb.assertion_kinds()),
  keys as materialized (
    select n.node_no, n.node, n.title, e.key, n.keys ->> e.key as value, k.key is not null as is_known,
      k.type, k.low, k.high, k.choices, k.rule
    from n cross join lateral pg_catalog.jsonb_object_keys(n.keys) e (key)
      left join ragdb._contract_keys() k on k.node = n.node and k.key = e.key
    where exists (select from known where known.node = n.node)
  ), spans as materialized (
    select n.node_no, n.parent_no, ragdb._whole(n.keys ->> 'start', 0, 1e8) as start,
      ragdb._whole(n.keys ->> 'end', 0, 1e8) as stop, p.keys ->> 'answer' as answer
    from n join n p on p.node_no = n.parent_no and p.node = 'ragAnswerContract' where n.node = 'answerSpan'
  ), problems as (
    -- form
    select 'contract-malformed' as rule, 'error' as severity, n.node_no, null as key, 'a node is not {"node", "keys", "children"}' as message,
      'keys is an object of texts, numbers and booleans' as hint
    from n where not n.is_sound
    union all select 'contract-too-deep', 'error', n.node_no, null, 'a node is more than 16 levels deep', 'the language has five'
    from n where n.depth > 16
    union all select 'contract-unknown-node', 'error', n.node_no, null, 'unknown node ' || ragdb._quote(n.node),
      'did you mean ' || ragdb._nearest_name(n.node, array(select k.node from known k)) || '?'
    from n where n.is_sound and not exists (select from known k where k.node = n.node)
    union all select k.rule, 'error', n.node_no, null,
      n.title || case n.parent_node is null when true then ' stands at the top' else ' stands in ' || ragdb._quote(n.parent_node) end,
      'it belongs ' || (select pg_catalog.string_agg(case p when '' then 'at the top' else 'in ' || p end, ' or ') from pg_catalog.unnest(k.parents) p)
    from n join known k on k.node = n.node where coalesce(n.parent_node, '') <> all (k.parents)
    union all select 'rag-assert-missing-eval', 'error', n.node_no, null, n.title || ' belongs to no ragEval', 'indent its ragCase below one'
    from n where n.node = 'ragAssert' and n.parent_node = 'ragCase' and coalesce(n.grandparent_node, '') <> 'ragEval'
    union all select 'contract-unknown-key', 'error', k.node_no, k.key, k.title || ' has no key ' || ragdb._quote(k.key),
      'did you mean ' || ragdb._nearest_name(k.key, array(select c.key from ragdb._contract_keys() c where c.node = k.node)) || '?'
    from keys k where not k.is_known
    -- values
    union all select k.rule, 'error', k.node_no, k.key,
      k.key || ' of ' || k.title || ' is ' || ragdb._quote(k.value) || ', not ' || case k.type
        when 'integer' then 'a whole number from ' || k.low || ' to ' || k.high
        when 'number' then 'a number from ' || k.low || ' to ' || k.high
        when 'boolean' then 'true or false'
        when 'list' then 'a list with an item'
        when 'metric' then 'a metric'
        when 'interval' then 'a length of time'
        else pg_catalog.array_to_string(k.choices, ', ') end,
      case k.type when 'choice' then 'did you mean ' || ragdb._nearest_name(k.value, k.choices) || '?'
        when 'metric' then 'faithfulness, grounding, hitRate, citationCoverage, minRelevance, recall@k, precision@k, ndcg@k, judged@k, mrr or map'
        when 'interval' then 'such as 24h, 7d, "30 minutes"'
        when 'list' then 'separate items by commas' end
    from keys k
    where k.is_known and not (k.type <> 'text' and k.value = '' and k.type = 'list' and k.key = 'chunks') and not case k.type
      when 'integer' then ragdb._whole(k.value, k.low, k.high) is not null
      when 'number' then ragdb._number(k.value, k.low, k.high) is not null
      when 'boolean' then k.value in ('true', 'false')
      when 'choice' then k.value = any (k.choices)
      when 'list' then ragdb._list(k.value) <> '{}'
      when 'metric' then ragdb._eval_metric(k.value) is not null
      when 'interval' then k.value ~ '^\s*[0-9]{1,6}\s*(s|m|h|d|w|second|minute|hour|day|week)s?\s*$'
      else true end
    union all select c.missing, 'error', n.node_no, c.key, n.title || ' has no ' || c.key, 'give ' || c.key || '='
    from n join ragdb._contract_keys() c on c.node = n.node and c.missing is not null
    where n.is_sound and (n.keys ->> c.key) ~ '\S' is not true
      and not (c.type in ('integer', 'number', 'choice') and n.keys ? c.key)
    -- names
    union all select 'rag-duplicate-' || n.node || '-name', 'error', n.node_no, 'name', n.title || ' is declared twice',
      'the first is ' || coalesce('in line ' || n.first_line, 'node ' || n.first_no)
    from (select n.*, pg_catalog.first_value(n.line) over same as first_line, pg_catalog.first_value(n.node_no) over same as first_no,
        pg_catalog.row_number() over same as nth
      from n where n.node in ('corpus', 'embed', 'retriever', 'rag') and n.name is not null
      window same as (partition by n.node, case n.node when 'corpus' then ragdb._contract_slug(n.name) else n.name end order by n.node_no)) n
    where n.nth > 1
    union all select case n.node when 'source' then 'rag-duplicate-source-name' when 'ragEval' then 'rag-duplicate-eval-name'
        when 'ragCase' then 'rag-duplicate-case-name' when 'ragAnswerContract' then 'rag-duplicate-answer-contract-name'
        when 'param' then 'mcp-duplicate-param-name' else 'mcp-duplicate-tool-name' end,
      'error', n.node_no, 'name', n.title || ' is declared twice', 'names are unique per ' || case n.node when 'source' then 'corpus'
        when 'ragEval' then 'rag' when 'ragCase' then 'ragEval' when 'ragAnswerContract' then 'rag' when 'param' then 'tool' else 'contract' end
    from (select n.*, pg_catalog.row_number() over (partition by case when n.node in ('tool', 'prompt') then 'tool' else n.node end, case n.node when 'source' then n.corpus
          when 'ragEval' then n.rag when 'ragCase' then n.parent_no::text when 'ragAnswerContract' then n.rag
          when 'param' then n.parent_no::text end, n.name order by n.node_no) as nth
      from n where n.node in ('source', 'ragEval', 'ragCase', 'ragAnswerContract', 'tool', 'prompt', 'param') and n.name is not null) n
    where n.nth > 1
    -- corpora, sources, chunking
    union all select 'rag-corpus-name-invalid', 'error', n.node_no, 'name', n.title || ' has no letter or digit of ASCII', 'the corpus is stored under a-z, 0-9 and -'
    from n where n.node = 'corpus' and n.name ~ '\S' and ragdb._contract_slug(n.name) !~ '[a-z0-9]'
    union all select 'rag-' || n.node || '-missing-corpus', 'error', n.node_no, null, n.title || ' is of no corpus', 'indent it below a corpus, or give corpus='
    from n where n.node in ('source', 'chunking') and n.corpus is null
    union all select case n.node when 'source' then 'rag-source-missing-corpus' else 'rag-' || n.node || '-unknown-corpus' end, 'error', n.node_no, 'corpus',
      'corpus ' || ragdb._quote(n.corpus) || ' of ' || n.title || ' is not declared',
      coalesce('did you mean ' || ragdb._nearest_name(n.corpus, array(select c.name from corpora c)) || '?', 'declare it: corpus name=…')
    from n where n.node in ('source', 'chunking', 'embed', 'retriever') and n.corpus ~ '\S' and not exists (select from corpora c where c.name = n.corpus)
    union all select 'rag-source-uri-empty', 'error', n.node_no, 'uri', n.title || ' has no uri', 'give uri= with a path, a glob or an address'
    from n where n.node = 'source' and coalesce(n.keys ->> 'kind', 'local') <> 'mcp' and (n.keys ->> 'uri') ~ '\S' is not true
    union all select 'rag-source-uri-invalid', 'error', n.node_no, 'uri', 'uri of ' || n.title || ' is not of kind ' || (n.keys ->> 'kind'),
      case n.keys ->> 'kind' when 's3' then 'such as s3://bucket/docs/*.md' when 'http' then 'such as https://host/page.html' else 'a path below the contract''s folder, such as ./docs/**/*.md' end
    from n where n.node = 'source' and (n.keys ->> 'uri') ~ '\S' and not case coalesce(n.keys ->> 'kind', 'local')
      when 's3' then n.keys ->> 'uri' ~ '^s3://[^/]+/' when 'http' then n.keys ->> 'uri' ~ '^https?://[^/]'
      when 'local' then n.keys ->> 'uri' !~ '^([/~]|[a-z0-9]+://)' and n.keys ->> 'uri' !~ '(^|/)\.\.(/|$)' else true end
    union all select 'rag-source-glob-invalid', 'error', n.node_no, 'uri', 'the glob of ' || n.title || ' is too long', 'a glob has at most 1024 characters and 16 stars'
    from n where n.node = 'source' and (pg_catalog.length(n.keys ->> 'uri') > 1024
      or pg_catalog.length(n.keys ->> 'uri') - pg_catalog.length(pg_catalog.replace(n.keys ->> 'uri', '*', '')) > 16)
    union all select 'rag-source-mcp-resource-required', 'error', n.node_no, 'resource', n.title || ' is of kind mcp and has no resource', 'give resource= with the address of the resource'
    from n where n.node = 'source' and n.keys ->> 'kind' = 'mcp' and (n.keys ->> 'resource') ~ '\S' is not true
    union all select 'rag-source-resource-requires-mcp-kind', 'error', n.node_no, 'resource', n.title || ' has a resource and is not of kind mcp', 'give kind=mcp, or no resource'
    from n where n.node = 'source' and n.keys ? 'resource' and coalesce(n.keys ->> 'kind', 'local') <> 'mcp'
    union all select 'rag-source-acl-conflict', 'error', n.node_no, 'acl', n.title || ' has another acl than the corpus''s first source',
      'a right is to a whole corpus: give every source of it the same acl, or put the source into a corpus of its own'
    from (select n.*, pg_catalog.first_value(ragdb._list(n.keys ->> 'acl')) over (partition by n.corpus order by n.node_no) as first_acl from n where n.node = 'source') n
    where ragdb._list(n.keys ->> 'acl') is distinct from n.first_acl
    union all select 'rag-chunking-unknown-source', 'error', n.node_no, 'source', 'source ' || ragdb._quote(n.keys ->> 'source') || ' of a chunking is not in corpus ' || ragdb._quote(n.corpus),
      coalesce('did you mean ' || ragdb._nearest_name(n.keys ->> 'source', array(select s.name from sources s where s.corpus = n.corpus)) || '?', 'declare it in that corpus')
    from n where n.node = 'chunking' and n.keys ? 'source' and n.corpus is not null
      and not exists (select from sources s where s.corpus = n.corpus and s.name = n.keys ->> 'source')
    union all select 'rag-chunking-duplicate', 'error', n.node_no, 'source', 'a source has two chunkings', 'keep one'
    from (select n.*, pg_catalog.row_number() over (partition by n.corpus, n.keys ->> 'source' order by n.node_no) as nth from n where n.node = 'chunking') n where n.nth > 1
    union all select 'rag-chunking-overlap-invalid', 'error', n.node_no, 'overlap', 'overlap is ' || (n.keys ->> 'overlap') || ', not less than maxTokens', 'it must be below ' || coalesce(n.keys ->> 'maxTokens', '240')
    from n where n.node = 'chunking' and ragdb._whole(n.keys ->> 'overlap', 0, 100000) >= coalesce(ragdb._whole(n.keys ->> 'maxTokens', 1, 100000), 240)
    union all select 'rag-chunking-overlap-invalid', 'error', n.node_no, 'maxTokens', 'maxTokens is ' || (n.keys ->> 'maxTokens') || ', not more than the default overlap of 48', 'give overlap='
    from n where n.node = 'chunking' and not n.keys ? 'overlap' and ragdb._whole(n.keys ->> 'maxTokens', 1, 100000) <= 48
    -- embed, retriever
    union all select 'rag-embed-duplicate-corpus', 'error', n.node_no, 'corpus', 'corpus ' || ragdb._quote(n.corpus) || ' is embedded by two models', 'a corpus has one; put the other into a corpus of its own'
    from (select n.*, pg_catalog.row_number() over (partition by n.corpus order by n.node_no) as nth from n where n.node = 'embed' and n.corpus is not null) n where n.nth > 1
    union all select 'rag-retriever-unknown-embed', 'error', n.node_no, 'embed', 'embed ' || ragdb._quote(n.keys ->> 'embed') || ' of ' || n.title || ' is not declared',
      coalesce('did you mean ' || ragdb._nearest_name(n.keys ->> 'embed', array(select e.name from embeds e)) || '?', 'declare it: embed name=…')
    from n where n.node = 'retriever' and n.keys ? 'embed' and not exists (select from embeds e where e.name = n.keys ->> 'embed')
    union all select 'rag-retriever-embed-corpus-mismatch', 'error', n.node_no, 'embed', n.title || ' is of corpus ' || ragdb._quote(n.corpus) || ' and its embed of ' || ragdb._quote(e.corpus), 'both must be of one corpus'
    from n join embeds e on e.name = n.keys ->> 'embed' where n.node = 'retriever' and e.corpus <> n.corpus
    union all select 'rag-retriever-embed-required', 'error', n.node_no, 'mode', n.title || ' is ' || (n.keys ->> 'mode') || ' and has no embed', 'give embed=, or mode=lexical'
    from n where n.node = 'retriever' and n.keys ->> 'mode' in ('semantic', 'hybrid') and not n.keys ? 'embed'
    -- rag, grounding
    union all select 'rag-unknown-retriever', 'error', n.node_no, 'retriever', 'retriever ' || ragdb._quote(n.keys ->> 'retriever') || ' of ' || n.title || ' is not declared',
      coalesce('did you mean ' || ragdb._nearest_name(n.keys ->> 'retriever', array(select r.name from retrievers r where r.name is not null)) || '?', 'declare it: retriever name=…')
    from n where n.node = 'rag' and (n.keys ->> 'retriever') ~ '\S' and not exists (select from retrievers r where r.name = n.keys ->> 'retriever')
    union all select 'rag-citations-require-grounding', 'error', n.node_no, 'citations', n.title || ' has citations=true and no grounding with requireCitations=true', 'add: grounding requireCitations=true'
    from n where n.node = 'rag' and n.keys ->> 'citations' = 'true' and not exists (select from grounded g where g.rag = n.name)
    union all select case n.node when 'grounding' then 'rag-grounding' when 'ragEval' then 'rag-eval' else 'rag-answer-contract' end || '-missing-rag',
      'error', n.node_no, null, n.title || ' is of no rag', 'indent it below a rag, or give rag='
    from n where n.node in ('grounding', 'ragEval', 'ragAnswerContract') and n.rag is null
    union all select case n.node when 'grounding' then 'rag-grounding' when 'ragEval' then 'rag-eval' else 'rag-answer-contract' end || '-unknown-rag',
      'error', n.node_no, 'rag', 'rag ' || ragdb._quote(n.rag) || ' of ' || n.title || ' is not declared',
      coalesce('did you mean ' || ragdb._nearest_name(n.rag, array(select r.name from rags r where r.name is not null)) || '?', 'declare it: rag name=…')
    from n where n.node in ('grounding', 'ragEval', 'ragAnswerContract') and n.rag is not null and not exists (select from rags r where r.name = n.rag)
    union all select 'rag-grounding-duplicate', 'error', n.node_no, null, 'rag ' || ragdb._quote(n.rag) || ' has two groundings', 'keep one'
    from (select n.*, pg_catalog.row_number() over (partition by n.rag order by n.node_no) as nth from n where n.node = 'grounding' and n.rag is not null) n where n.nth > 1
    -- eval, cases, assertions
    union all select 'rag-eval-mode-required', 'error', n.node_no, 'mode', n.title || ' has cases and no mode', 'give mode=contract'
    from n where n.node = 'ragEval' and not n.keys ? 'mode' and exists (select from n c where c.parent_no = n.node_no and c.node = 'ragCase')
    union all select 'rag-eval-threshold-without-metric', 'error', n.node_no, 'threshold', n.title || ' has a threshold and no metric', 'give metric='
    from n where n.node = 'ragEval' and n.keys ? 'threshold' and not n.keys ? 'metric'
    union all select 'rag-eval-threshold-vacuous', 'warning', n.node_no, 'threshold', 'threshold 0 of ' || n.title || ' cannot be missed, so the gate fails', 'give a threshold above 0'
    from n where n.node = 'ragEval' and ragdb._number(n.keys ->> 'threshold', 0, 1) = 0
    union all select 'rag-case-sources-require-citations', 'error', n.node_no, 'sources', n.title || ' lists sources and its rag requires no citations', 'add to the rag: grounding requireCitations=true'
    from n where n.node = 'ragCase' and n.keys ? 'sources' and n.rag is not null and not exists (select from cited c where c.rag = n.rag)
    union all select 'rag-case-policy-requires-anchor', 'error', n.node_no, 'policy', n.title || ' has a policy and no anchor', 'a slice is built around a chunk: give anchor='
    from n where n.node = 'ragCase' and n.keys ? 'policy' and not n.keys ? 'anchor'
    union all select 'rag-assert-kind-invalid', 'error', n.node_no, 'kind', 'unknown kind of assertion ' || ragdb._quote(n.keys ->> 'kind'),
      'did you mean ' || ragdb._nearest_name(n.keys ->> 'kind', array(select k.kind from kinds k)) || '?'
    from n where n.node = 'ragAssert' and (n.keys ->> 'kind') ~ '\S' and not exists (select from kinds k where k.kind = n.keys ->> 'kind')
    union all select 'rag-assert-citations-require-grounding', 'error', n.node_no, 'kind', 'citesRequired, and its rag requires no citations', 'add to the rag: grounding requireCitations=true'
    from n where n.node = 'ragAssert' and n.keys ->> 'kind' = 'citesRequired' and n.rag is not null and not exists (select from cited c where c.rag = n.rag)
    union all select case p.property when 'value' then 'rag-assert-value-required' when 'threshold' then 'rag-assert-threshold-required'
        when 'count' then 'rag-assert-count-invalid' else 'rag-assert-value-ms-invalid' end,
      'error', n.node_no, p.property, (n.keys ->> 'kind') || ' needs ' || p.property, k.meaning
    from n join kinds k on k.kind = n.keys ->> 'kind' cross join lateral pg_catalog.string_to_table(k.property, ' ') p (property)
    where n.node = 'ragAssert' and (n.keys ->> p.property) ~ '\S' is not true
    union all select 'rag-assert-property-unused', 'error', n.node_no, u.key, (n.keys ->> 'kind') || ' does not take ' || u.key, coalesce('it takes ' || k.property, 'it takes none')
    from n join kinds k on k.kind = n.keys ->> 'kind' cross join lateral (values ('value'), ('threshold'), ('count'), ('valueMs'), ('quantifier')) u (key)
    where n.node = 'ragAssert' and n.keys ? u.key and u.key <> all (pg_catalog.string_to_array(coalesce(k.property, ''), ' '))
      and not (u.key = 'count' and n.keys ->> 'kind' in ('recallAtK', 'precisionAtK', 'ndcgAtK'))
      and not (u.key = 'quantifier' and n.keys ->> 'kind' in ('scoreGte', 'scoreLte'))
    union all select 'rag-assert-negate-invalid', 'error', n.node_no, 'negate', (n.keys ->> 'kind') || ' cannot be negated', 'the eleven kinds are as they are; the others take negate'
    from n join kinds k on k.kind = n.keys ->> 'kind' where n.node = 'ragAssert' and n.keys ? 'negate' and k.is_frozen
    union all select 'rag-assert-chunk-hash-invalid', 'error', n.node_no, 'value', 'chunkHash is not 32 to 128 hex digits', 'kern_chunk_hash has 32, content_hash 64'
    from n where n.node = 'ragAssert' and n.keys ->> 'kind' = 'chunkHash' and n.keys ->> 'value' ~ '\S' and n.keys ->> 'value' !~ '^[0-9a-fA-F]{32,128}$'
    union all select 'rag-assert-glob-invalid', 'error', n.node_no, 'value', 'the glob is too long', 'a glob has at most 1024 characters and 16 stars'
    from n where n.node = 'ragAssert' and n.keys ->> 'kind' in ('sourceGlob', 'rankLte', 'notRetrieved', 'orderedBefore') and (pg_catalog.length(n.keys ->> 'value') > 1024
      or pg_catalog.length(n.keys ->> 'value') - pg_catalog.length(pg_catalog.replace(n.keys ->> 'value', '*', '')) > 16)
    union all select 'rag-assert-value-invalid', 'error', n.node_no, 'value', 'orderedBefore takes two ids or sources', 'separate them by a comma'
    from n where n.node = 'ragAssert' and n.keys ->> 'kind' = 'orderedBefore' and pg_catalog.cardinality(ragdb._list(n.keys ->> 'value')) <> 2
    union all select 'rag-assert-vacuous', 'warning', n.node_no, null, (n.keys ->> 'kind') || ' cannot fail with this value', 'raise it'
    from n where n.node = 'ragAssert' and ((n.keys ->> 'kind' in ('uniqueSourcesGte', 'chunkCountGte') and ragdb._whole(n.keys ->> 'count', 0, 1e6) = 0)
      or (n.keys ->> 'kind' in ('recallAtK', 'precisionAtK', 'ndcgAtK', 'reciprocalRank', 'averagePrecision', 'groundingCoverageGte') and ragdb._number(n.keys ->> 'threshold', 0, 1) = 0))
    -- answers
    union all select 'rag-answer-contract-citations-require-grounding', 'error', n.node_no, 'requireCitations', n.title || ' requires citations and its rag does not', 'add to the rag: grounding requireCitations=true'
    from n where n.node = 'ragAnswerContract' and n.keys ->> 'requireCitations' = 'true' and n.rag is not null and not exists (select from cited c where c.rag = n.rag)
    union all select 'rag-answer-span-range-invalid', 'error', s.node_no, 'end', 'span ' || s.start || '..' || s.stop || ' is not in an answer of ' || pg_catalog.length(s.answer) || ' characters', '0 <= start < end <= length of the answer'
    from spans s where s.start is not null and s.stop is not null and (s.start >= s.stop or s.stop > pg_catalog.length(s.answer))
    union all select 'rag-answer-contract-grounding-coverage-insufficient', 'error', n.node_no, 'minGroundingCoverage',
      pg_catalog.format('spans of %s cover %s of its %s characters, less than %s', n.title, c.covered, c.total, n.keys ->> 'minGroundingCoverage'), 'add spans, or lower minGroundingCoverage'
    from n cross join lateral (
      select pg_catalog.count(*) as total, pg_catalog.count(*) filter (where exists (
          select from spans s where s.parent_no = n.node_no and a.ord - 1 >= s.start and a.ord - 1 < s.stop)) as covered
      from pg_catalog.string_to_table(pg_catalog.left(n.keys ->> 'answer', 100000), null) with ordinality a (c, ord) where a.c ~ '\S') c
    where n.node = 'ragAnswerContract' and n.keys ->> 'allowAbstain' is distinct from 'true'
      and ragdb._number(n.keys ->> 'minGroundingCoverage', 0, 1) > c.covered::float8 / nullif(c.total, 0)
    -- tools
    union all select 'mcp-retrieve-duplicate', 'error', n.node_no, null, 'a tool has two retrieves', 'keep one'
    from (select n.*, pg_catalog.row_number() over (partition by n.parent_no order by n.node_no) as nth from n where n.node = 'retrieve' and n.parent_no is not null) n where n.nth > 1
    union all select 'mcp-retrieve-target-required', 'error', n.node_no, null, 'a retrieve has neither rag nor retriever', 'give one of them'
    from n where n.node = 'retrieve' and not n.keys ? 'rag' and not n.keys ? 'retriever'
    union all select 'mcp-retrieve-target-exclusive', 'error', n.node_no, 'retriever', 'a retrieve has both rag and retriever', 'give one of them'
    from n where n.node = 'retrieve' and n.keys ? 'rag' and n.keys ? 'retriever'
    union all select 'mcp-retrieve-unknown-retriever', 'error', n.node_no, 'retriever', 'retriever ' || ragdb._quote(n.keys ->> 'retriever') || ' of a retrieve is not declared',
      coalesce('did you mean ' || ragdb._nearest_name(n.keys ->> 'retriever', array(select r.name from retrievers r where r.name is not null)) || '?', 'declare it: retriever name=…')
    from n where n.node = 'retrieve' and n.keys ? 'retriever' and not exists (select from retrievers r where r.name = n.keys ->> 'retriever')
    union all select 'mcp-retrieve-unknown-rag', 'error', n.node_no, 'rag', 'rag ' || ragdb._quote(n.rag) || ' of a retrieve is not declared',
      coalesce('did you mean ' || ragdb._nearest_name(n.rag, array(select r.name from rags r where r.name is not null)) || '?', 'declare it: rag name=…')
    from n where n.node = 'retrieve' and n.keys ? 'rag' and not exists (select from rags r where r.name = n.rag)
    union all select 'mcp-retrieve-query-required', 'error', n.node_no, null, 'a retrieve has neither queryParam nor query', 'give one of them'
    from n where n.node = 'retrieve' and not n.keys ? 'query' and not n.keys ? 'queryParam'
    union all select 'mcp-retrieve-query-exclusive', 'error', n.node_no, 'query', 'a retrieve has both queryParam and query', 'give one of them'
    from n where n.node = 'retrieve' and n.keys ? 'query' and n.keys ? 'queryParam'
    union all select 'mcp-retrieve-query-param-unknown', 'error', n.node_no, 'queryParam', 'the tool has no param ' || ragdb._quote(n.keys ->> 'queryParam'),
      coalesce('did you mean ' || ragdb._nearest_name(n.keys ->> 'queryParam', array(select p.name from n p where p.node = 'param' and p.parent_no = n.parent_no and p.name is not null)) || '?', 'declare it: param name=…')
    from n where n.node = 'retrieve' and n.keys ? 'queryParam'
      and not exists (select from n p where p.node = 'param' and p.parent_no = n.parent_no and p.name = n.keys ->> 'queryParam')
    union all select 'mcp-retrieve-citations-require-grounding', 'error', n.node_no, 'requireCitations', 'a retrieve requires citations and its rag does not', 'add to the rag: grounding requireCitations=true'
    from n where n.node = 'retrieve' and n.keys ->> 'requireCitations' = 'true' and n.rag is not null and exists (select from rags r where r.name = n.rag)
      and not exists (select from cited c where c.rag = n.rag)
    union all select 'mcp-retrieve-output-array-required', 'error', n.node_no, 'output', 'output RetrievedChunk is not an array', 'write output="RetrievedChunk[]"'
    from n where n.node = 'retrieve' and n.keys ->> 'output' = 'RetrievedChunk'
    union all select 'mcp-retrieve-output-unknown', 'error', n.node_no, 'output', 'unknown output ' || ragdb._quote(n.keys ->> 'output'), 'write output="RetrievedChunk[]"'
    from n where n.node = 'retrieve' and n.keys ->> 'output' not in ('RetrievedChunk[]', 'RetrievedChunk')
    union all select 'mcp-retrieve-output-field-without-output', 'error', n.node_no, f.key, f.key || ' without an output', 'give output="RetrievedChunk[]"'
    from n cross join (values ('citationField'), ('sourceField'), ('scoreField'), ('provenance')) f (key)
    where n.node = 'retrieve' and n.keys ? f.key and not n.keys ? 'output'
    union all select 'mcp-retrieve-output-required', 'error', n.node_no, 'requireCitations', 'citations are required of no output', 'give output="RetrievedChunk[]"'
    from n where n.node = 'retrieve' and n.keys ->> 'requireCitations' = 'true' and not n.keys ? 'output'
    union all select 'mcp-retrieve-output-citations-cannot-weaken-rag', 'error', n.node_no, 'requireCitations', 'a retrieve may not do without the citations that its rag requires', 'leave requireCitations out'
    from n where n.node = 'retrieve' and n.keys ->> 'requireCitations' = 'false' and exists (select from cited c where c.rag = n.rag)
    union all select 'mcp-retrieve-output-citation-field-required', 'error', n.node_no, 'citationField', 'citations are required and no field carries them', 'give citationField='
    from n where n.node = 'retrieve' and n.keys ? 'output' and not n.keys ? 'citationField'
      and (n.keys ->> 'requireCitations' = 'true' or exists (select from cited c where c.rag = n.rag))
    union all select 'mcp-retrieve-output-source-required', 'error', n.node_no, 'sourceField', 'provenance=source and no field carries the source', 'give sourceField='
    from n where n.node = 'retrieve' and n.keys ->> 'provenance' = 'source' and not n.keys ? 'sourceField'
    union all select 'mcp-retrieve-output-field-conflict', 'error', n.node_no, f.key, f.key || ' of a retrieve is ' || ragdb._quote(f.field) || ', which another field is',
      'id, text and provenance are always there; citation, source and score where no field is named for them'
    from n cross join lateral (values ('citationField', coalesce(n.keys ->> 'citationField', 'citation'), 1), ('sourceField', coalesce(n.keys ->> 'sourceField', 'source'), 2),
      ('scoreField', coalesce(n.keys ->> 'scoreField', 'score'), 3), ('as', n.keys ->> 'as', 4)) f (key, field, ord)
    where n.node = 'retrieve' and n.keys ? f.key and (f.field = 'provenance' or f.field !~ '\S' or f.key <> 'as' and (f.field in ('id', 'text')
      or f.field in (case when f.ord <> 1 then coalesce(n.keys ->> 'citationField', 'citation') end, case when f.ord <> 2 then coalesce(n.keys ->> 'sourceField', 'source') end,
        case when f.ord <> 3 then coalesce(n.keys ->> 'scoreField', 'score') end)))
    union all select 'mcp-tool-name-invalid', 'error', n.node_no, 'name', n.title || ' has a name that clients refuse', 'a name has 1 to 64 of A-Z, a-z, 0-9, _ and -'
    from n where n.node in ('tool', 'prompt') and n.name ~ '\S' and n.name !~ '^[A-Za-z0-9_-]{1,64}$'
    union all select 'mcp-tool-name-reserved', 'error', n.node_no, 'name', n.title || ' has the name of a tool of ragdb mcp', 'give it another name'
    from n where n.node in ('tool', 'prompt')
      and n.name in ('search', 'fetch', 'search_slice', 'list_corpora', 'get_trace', 'replay_trace', 'validate_citations')
    union all select 'mcp-param-unused', 'warning', n.node_no, null, n.title || ' does nothing', 'only the param that a retrieve names as queryParam is used'
    from n join n c on c.node = 'retrieve' and c.parent_no = n.parent_no where n.node = 'param' and n.name ~ '\S' and n.name is distinct from c.keys ->> 'queryParam'
  )
  select p.rule, p.severity, p.node_no, p.key, p.message, p.hint from problems p;
end;
comment on function ragdb._contract_problems(ragdb.contract_item[]) is
  'Returns everything that is wrong with the nodes of a contract, in no order.';

-- Scores of what ranked first in this corpus lately: what a threshold has to be compared with.
create or replace function ragdb._top_scores(corpus_id integer, mode text) returns float8[]
language sql stable parallel safe
return array(
  select h.score from (
    select t.id, t.created_at from ragdb.retrieval_traces t
    where t.corpus_id = _top_scores.corpus_id and t.retrieval_mode = 'global' and t.rank_mode = _top_scores.mode and t.error_code is null
    order by t.id desc limit 1000) t
  join ragdb.retrieval_hits h on h.corpus_id = _top_scores.corpus_id and h.trace_id = t.id and h.created_at = t.created_at and h.rank = 1);
comment on function ragdb._top_scores(integer, text) is
  'Returns the best score of each of the last 1,000 recorded retrievals of a corpus in a mode.';

create or replace function ragdb._is_contract(contract jsonb) returns boolean
language sql immutable parallel safe
return pg_catalog.jsonb_typeof(_is_contract.contract) = 'object' and coalesce(pg_catalog.jsonb_typeof(_is_contract.contract -> 'nodes') = 'array', false)
  and coalesce(_is_contract.contract ->> 'contract', 'contract') ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$';
comment on function ragdb._is_contract(jsonb) is 'Whether a value has the form {"contract": name, "nodes": […]}.';

-- Definer: it looks at corpora and their recorded scores, of those only that the caller may read.
create or replace function ragdb.validate_contract(contract jsonb)
returns table (rule text, severity text, node text, line integer, "column" integer, message text, hint text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_items ragdb.contract_item[];
begin
  if contract is null then
    raise exception 'contract is null'
      using errcode = 'RG400', detail = 'there is nothing to validate', hint = 'pass {"contract": name, "nodes": […]}';
  end if;
  if not ragdb._is_contract(contract) then
    return query select 'contract-malformed', 'error', null::text, null::integer, null::integer,
      'the contract is not {"contract": name, "nodes": […]}', 'a name has 1 to 128 of A-Z, a-z, 0-9, . _ -';
    return;
  end if;
  v_items := array(select i from ragdb._contract_items(contract) i);
  if v_items = '{}' then
    return query select 'contract-empty', 'error', null::text, null::integer, null::integer, 'the contract has no node', 'begin with: corpus name=…';
  end if;
  return query
    select p.rule, p.severity, i.node,
      i.line, coalesce(ragdb._whole(i.columns ->> p.key, 1, 10000000)::integer, i."column"), p.message, p.hint
    from ragdb._contract_problems(v_items) p join unnest(v_items) i on i.node_no = p.node_no
    union all
    select 'rag-' || case i.node when 'ragCase' then 'case' else 'retriever' end || '-minscore-unreachable', 'warning', i.node, i.line,
      coalesce(ragdb._whole(i.columns ->> 'minScore', 1, 10000000)::integer, i."column"),
      format('minScore %s is above the 95th percentile of the best scores of corpus %s (%s)', i.keys ->> 'minScore',
        ragdb._quote(c.name), round(q.p95::numeric, 3)),
      'few queries reach it: the guide says how scores are distributed'
    from unnest(v_items) i
      left join unnest(v_items) e on e.node_no = i.parent_no
      left join unnest(v_items) r on r.node = 'rag' and r.name = i.rag
      join unnest(v_items) t on t.node = 'retriever' and t.name = case i.node when 'retriever' then i.name else r.keys ->> 'retriever' end
      join ragdb.corpora c on c.name = ragdb._contract_slug(t.corpus)
        and c.personal_of is not distinct from case when c.name = 'personal' then ragdb._caller() end
        and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0
      cross join lateral (select percentile_cont(0.95) within group (order by s.score) as p95, count(*) as n
        from unnest(ragdb._top_scores(c.corpus_id, coalesce(t.keys ->> 'mode', case when t.keys ? 'embed' then 'hybrid' else 'lexical' end))) s (score)) q
    where i.node in ('retriever', 'ragCase') and q.n >= 20 and ragdb._number(i.keys ->> 'minScore', 0, 1) > q.p95
    order by 4 nulls first, 5, 2, 1, 6;
end $$;
comment on function ragdb.validate_contract(jsonb) is
  'Returns everything that is wrong with a contract, {"contract": name, "nodes": [{"node", "keys", "children", "line", "column"}]}, in the order of its lines: the rule, error or warning, where, what and what to do. No row with severity error: it can be applied. Raises RG400.';

-- ── storage ─────────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb._stored_keys(item ragdb.contract_item) returns jsonb
language sql immutable parallel safe
return case
  when (item).node = 'source' and coalesce((item).keys ->> 'kind', 'local') = 'local' then (item).keys
    || pg_catalog.jsonb_build_object('uri', pg_catalog.regexp_replace((item).keys ->> 'uri', '^(\./+)+', ''))
  when (item).node = 'ragCase' and (item).keys ? 'sources' then (item).keys || pg_catalog.jsonb_build_object('sources',
    pg_catalog.array_to_string(array(select pg_catalog.regexp_replace(s.source, '^(\./+)+', '')
      from pg_catalog.unnest(ragdb._list((item).keys ->> 'sources')) with ordinality s (source, n) order by s.n), ','))
  else (item).keys
end;
comment on function ragdb._stored_keys(ragdb.contract_item) is
  'Returns the keys of a node as they are stored: sources relative to the contract, without a leading ./.';

-- The corpus of a contract as its rows say it: made, titled, and its rights given.
create or replace function ragdb._apply_corpus(
  corpus text, title text, tenant text, readers text[], was_tenant text, was_readers text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
  v_role text;
  v_owner text := coalesce(tenant, case when readers <> '{}' then ragdb._caller() end);
begin
  if exists (select from ragdb.corpora c where c.name = _apply_corpus.corpus
      and c.personal_of is not distinct from case when _apply_corpus.corpus = 'personal' then ragdb._caller() end) then
    v_corpus := ragdb._open_corpus(corpus, 'write');
  else
    perform ragdb.create_corpus(corpus, title);
    v_corpus := ragdb._open_corpus(corpus, 'write');
  end if;
  if title is not null then
    update ragdb.corpora c set title = _apply_corpus.title
      where c.corpus_id = v_corpus.corpus_id and c.title is distinct from _apply_corpus.title;
  end if;
  -- rights that the version before gave and this one does not
  foreach v_role in array was_readers || was_tenant loop
    if v_role is not null and v_role <> all (readers) and v_role is distinct from v_owner
      and exists (select from ragdb.corpus_grants g where g.corpus_id = v_corpus.corpus_id and g.role = v_role)
    then
      perform ragdb.revoke_corpus(corpus, v_role);
    end if;
  end loop;
  if v_owner is not null and not exists (select from ragdb.corpus_grants g
      where g.corpus_id = v_corpus.corpus_id and g.role = v_owner and g.privilege = 'admin') then
    perform ragdb.grant_corpus(corpus, v_owner, 'admin');
  end if;
  foreach v_role in array readers loop
    if not exists (select from ragdb.corpus_grants g where g.corpus_id = v_corpus.corpus_id and g.role = v_role) then
      perform ragdb.grant_corpus(corpus, v_role, 'read');
    end if;
  end loop;
end $$;
comment on function ragdb._apply_corpus(text, text, text, text[], text, text[]) is
  'Makes a corpus of a contract, or brings its title and grants in line. Raises RG400, RG401.';

-- A model is known by its own name, or by that of an embedder that promises it.
create or replace function ragdb._apply_embedder(corpus text, model text, dims integer, metric text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders;
begin
  select e.* into v_embedder from ragdb.embedders e
    where e.name = _apply_embedder.model or e.model = _apply_embedder.model
    order by e.name = _apply_embedder.model desc, e.embedder_id limit 1;
  if not found then
    v_embedder := ragdb.create_embedder(model, dims, metric => metric);
  elsif v_embedder.dims <> dims or v_embedder.metric <> metric then
    raise exception 'model % has % dimensions and metric %', ragdb._quote(model), v_embedder.dims, v_embedder.metric
      using errcode = 'RG417', detail = format('the contract says %s and %s', dims, metric),
            hint = 'correct the contract, or name another model';
  end if;
  perform ragdb.embed_corpus(corpus, v_embedder.name);
end $$;
comment on function ragdb._apply_embedder(text, text, integer, text) is
  'Has a corpus embedded by the model of a contract, creating its embedder. Raises RG400, RG417.';

create or replace function ragdb.apply_contract(contract jsonb)
returns table (name text, version integer, is_new boolean, corpora text[], nodes integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := coalesce(contract ->> 'contract', 'contract');
  v_items ragdb.contract_item[];
  v_old integer;
  v_problem record;
  v_errors integer;
  v_corpus record;
  v_hash bytea;
begin
  select count(*) over () as errors, p.* into v_problem
    from ragdb.validate_contract(contract) p where p.severity = 'error' limit 1;
  if found then
    raise exception 'contract %: %', ragdb._quote(v_name), v_problem.message
      using errcode = 'RG440',
            detail = format('rule %s%s; %s error(s) in all', v_problem.rule, coalesce(' in line ' || v_problem.line, ''), v_problem.errors),
            hint = coalesce(v_problem.hint || '; ', '') || 'ragdb.validate_contract() lists them all';
  end if;
  v_items := array(select i from ragdb._contract_items(contract) i);
  perform pg_advisory_xact_lock(hashtextextended('ragdb.apply_contract', 0));
  for v_problem in
    select i.node, i.name, o.contract from unnest(v_items) i
      join ragdb.contract_nodes o on o.name = i.name and o.contract <> v_name
        and (o.node = i.node or o.node in ('tool', 'prompt') and i.node in ('tool', 'prompt'))
      join ragdb.contracts k on k.contract = o.contract and k.version = o.version and k.is_current
    where i.node in ('retriever', 'rag', 'tool', 'prompt') limit 1
  loop
    raise exception '% % is declared by another contract', v_problem.node, ragdb._quote(v_problem.name)
      using errcode = 'RG409', detail = 'contract ' || ragdb._quote(v_problem.contract) || ' has it, and evaluations and tools name it alone',
            hint = 'give it another name';
  end loop;
  -- whoever may not write a corpus of the version in force may not put another in its place
  select k.version into v_old from ragdb.contracts k where k.contract = v_name and k.is_current;
  perform ragdb._open_corpus(o.corpus, 'write')
    from ragdb.contract_nodes o where o.contract = v_name and o.version = v_old and o.node = 'corpus'
      and exists (select from ragdb.corpora c where c.name = o.corpus);
  for v_corpus in
    select ragdb._contract_slug(i.name) as slug, i.keys ->> 'title' as title, nullif(i.keys ->> 'tenant', '') as tenant,
      (select coalesce(min(ragdb._list(s.keys ->> 'acl')), '{}') from unnest(v_items) s where s.node = 'source' and s.corpus = i.name) as readers,
      (select o.keys ->> 'tenant' from ragdb.contract_nodes o where o.contract = v_name and o.version = v_old
        and o.node = 'corpus' and o.corpus = ragdb._contract_slug(i.name)) as was_tenant,
      (select coalesce(min(ragdb._list(o.keys ->> 'acl')), '{}') from ragdb.contract_nodes o where o.contract = v_name and o.version = v_old
        and o.node = 'source' and o.corpus = ragdb._contract_slug(i.name)) as was_readers
    from unnest(v_items) i where i.node = 'corpus' order by 1
  loop
    perform ragdb._apply_corpus(v_corpus.slug, v_corpus.title, v_corpus.tenant, v_corpus.readers, v_corpus.was_tenant, v_corpus.was_readers);
  end loop;
  perform ragdb._apply_embedder(ragdb._contract_slug(i.corpus), i.keys ->> 'model', (i.keys ->> 'dims')::integer, coalesce(i.keys ->> 'metric', 'cosine'))
    from unnest(v_items) i where i.node = 'embed';
  select sha256(ragdb._utf8(jsonb_agg(jsonb_build_array(i.node, i.parent_no, ragdb._stored_keys(i), i.prompt_sha256) order by i.node_no)::text))
    into v_hash from unnest(v_items) i;
  name := v_name;
  corpora := array(select ragdb._contract_slug(i.name) from unnest(v_items) i where i.node = 'corpus' order by 1);
  nodes := cardinality(v_items);
  is_new := not exists (select from ragdb.contracts k where k.contract = v_name and k.version = v_old and k.nodes_hash = v_hash);
  version := v_old;
  if is_new then
    version := coalesce((select max(k.version) from ragdb.contracts k where k.contract = v_name), 0) + 1;
    update ragdb.contracts k set is_current = false where k.contract = v_name and k.is_current;
    insert into ragdb.contracts (contract, version, is_current, nodes_hash, applied_at, applied_by)
      values (v_name, apply_contract.version, true, v_hash, ragdb._now(), ragdb._caller());
    insert into ragdb.contract_nodes (contract, version, node_no, parent_no, node, name, corpus, rag, keys, columns, prompt_sha256, line, "column")
      select v_name, apply_contract.version, i.node_no, i.parent_no, i.node, i.name, ragdb._contract_slug(i.corpus), i.rag,
        ragdb._stored_keys(i), i.columns, i.prompt_sha256, i.line, i."column"
      from unnest(v_items) i;
  end if;
  return next;
end $$;
comment on function ragdb.apply_contract(jsonb) is
  'Puts a contract in force, in one transaction: makes its corpora, their grants (tenant: admin, acl: read) and embedders, and stores it as a new version unless nothing changed. Raises RG400, RG401, RG409, RG417, RG440.';

-- ── reading ─────────────────────────────────────────────────────────────────────────────────────────

-- Who may read a corpus of a contract may read the contract.
create or replace function ragdb._may_read_contract(contract text, version integer) returns boolean
language sql stable parallel safe
return exists (
  select from ragdb.contract_nodes n
    join ragdb.corpora c on c.name = n.corpus and c.personal_of is not distinct from case when c.name = 'personal' then ragdb._caller() end
  where n.contract = _may_read_contract.contract and n.version = _may_read_contract.version and n.node = 'corpus'
    and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0)
  or pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_admin', 'usage');
comment on function ragdb._may_read_contract(text, integer) is
  'Whether the caller may read a corpus of a contract, or is an admin.';

create or replace function ragdb._contract_children(contract text, version integer, parent_no integer) returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('node', n.node, 'line', n.line, 'column', n."column", 'keys', n.keys, 'columns', n.columns,
        'children', ragdb._contract_children(n.contract, n.version, n.node_no))
      || case when n.prompt_sha256 is null then '{}' else jsonb_build_object('prompt_sha256', n.prompt_sha256) end order by n.node_no), '[]')
    from ragdb.contract_nodes n
    where n.contract = _contract_children.contract and n.version = _contract_children.version
      and n.parent_no is not distinct from _contract_children.parent_no);
end $$;
comment on function ragdb._contract_children(text, integer, integer) is
  'Returns the children of a node of a contract, or its top nodes, as JSON.';

create or replace function ragdb.export_contract(contract text, version integer default null) returns jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_version integer;
begin
  select k.version into v_version from ragdb.contracts k
    where k.contract = export_contract.contract
      and case when export_contract.version is null then k.is_current else k.version = export_contract.version end
      and ragdb._may_read_contract(k.contract, k.version);
  if not found then
    raise exception 'contract % does not exist', ragdb._quote(contract)
      using errcode = 'RG441', detail = coalesce('there is no version ' || version || ' of it that', 'none of that name')
              || ' is visible to role ' || ragdb._quote(ragdb._caller()),
            hint = 'ragdb.list_contracts() lists them; ragdb apply FILE puts one in force';
  end if;
  return jsonb_build_object('contract', contract, 'version', v_version,
    'nodes', ragdb._contract_children(contract, v_version, null));
end $$;
comment on function ragdb.export_contract(text, integer) is
  'Returns an applied contract (the version in force unless another is named) in the form that ragdb.apply_contract takes. Raises RG441.';

create or replace function ragdb.list_contracts()
returns table (name text, version integer, is_current boolean, corpora text[], rags text[], applied_at timestamptz, applied_by text)
language sql stable parallel safe security definer
begin atomic
  select k.contract, k.version, k.is_current,
    array(select n.corpus from ragdb.contract_nodes n where n.contract = k.contract and n.version = k.version and n.node = 'corpus' order by 1),
    array(select n.name from ragdb.contract_nodes n where n.contract = k.contract and n.version = k.version and n.node = 'rag' order by n.node_no),
    k.applied_at, k.applied_by
  from ragdb.contracts k where ragdb._may_read_contract(k.contract, k.version)
  order by k.contract, k.version desc;
end;
comment on function ragdb.list_contracts() is
  'Lists every version of the contracts that the caller may read, the newest of each first.';

create or replace function ragdb._contract_node(node text, name text) returns ragdb.contract_nodes
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node ragdb.contract_nodes;
begin
  select n.* into v_node from ragdb.contract_nodes n
    join ragdb.contracts k on k.contract = n.contract and k.version = n.version and k.is_current
    where n.node = _contract_node.node and n.name = _contract_node.name and ragdb._may_read_contract(k.contract, k.version);
  if not found then
    raise exception '% % does not exist', node, ragdb._quote(name)
      using errcode = 'RG441', detail = 'no contract in force that is visible to role ' || ragdb._quote(ragdb._caller()) || ' declares it',
            hint = coalesce('did you mean ' || ragdb._nearest_name(name, array(
                select n.name from ragdb.contract_nodes n
                  join ragdb.contracts k on k.contract = n.contract and k.version = n.version and k.is_current
                where n.node = _contract_node.node and n.name is not null and ragdb._may_read_contract(k.contract, k.version))) || '?',
              'ragdb apply FILE puts a contract in force');
  end if;
  return v_node;
end $$;
comment on function ragdb._contract_node(text, text) is
  'Returns a retriever, rag or tool of the contracts in force by its name. Raises RG441.';

-- ── retrieval ───────────────────────────────────────────────────────────────────────────────────────

do $$ begin
  if pg_catalog.to_regtype('ragdb.retriever_settings') is null then
    create type ragdb.retriever_settings as (corpus text, mode text, k integer, min_score float8, embedding_model text);
  end if;
end $$;
comment on type ragdb.retriever_settings is 'How a retriever of a contract searches when nothing else is asked.';

create or replace function ragdb._retriever_settings(retriever ragdb.contract_nodes) returns ragdb.retriever_settings
language sql stable parallel safe
return row((retriever).corpus,
  coalesce((retriever).keys ->> 'mode', case when (retriever).keys ? 'embed' then 'hybrid' else 'lexical' end),
  coalesce(((retriever).keys ->> 'topK')::integer, 5), coalesce(((retriever).keys ->> 'minScore')::float8, 0),
  (select e.keys ->> 'model' from ragdb.contract_nodes e where e.contract = (retriever).contract and e.version = (retriever).version
    and e.node = 'embed' and e.name = (retriever).keys ->> 'embed'))::ragdb.retriever_settings;
comment on function ragdb._retriever_settings(ragdb.contract_nodes) is
  'Returns the settings of a retriever: mode lexical, or hybrid with an embed, topK 5 and minScore 0 unless declared.';

create or replace function ragdb._open_retriever(retriever ragdb.contract_nodes, mode text) returns ragdb.retriever_settings
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_settings ragdb.retriever_settings := ragdb._retriever_settings(retriever);
  v_corpus ragdb.corpora := ragdb._open_corpus(v_settings.corpus, 'read');
  v_embedder ragdb.embedders;
begin
  v_settings.mode := coalesce(mode, v_settings.mode);
  if v_settings.mode in ('semantic', 'hybrid') then
    select e.* into v_embedder from ragdb.embedding_spaces s join ragdb.embedders e on e.embedder_id = s.embedder_id
      where s.corpus_id = v_corpus.corpus_id and s.state = 'current';
    if v_embedder.name is distinct from v_settings.embedding_model and v_embedder.model is distinct from v_settings.embedding_model then
      raise exception 'retriever % is declared for model %', ragdb._quote(retriever.name), ragdb._quote(v_settings.embedding_model)
        using errcode = 'RG417', detail = 'corpus ' || ragdb._quote(v_settings.corpus) || ' is embedded by ' || ragdb._quote(v_embedder.name),
              hint = 'change the embed node and apply the contract, or reembed the corpus';
    end if;
  end if;
  return v_settings;
end $$;
comment on function ragdb._open_retriever(ragdb.contract_nodes, text) is
  'Returns the settings of a retriever whose corpus the caller may read and is embedded by the declared model. Raises RG404, RG417.';

-- Definer: contracts are granted to nobody; who may read one of its corpora may read a contract.
create or replace function ragdb.get_retriever(retriever text) returns ragdb.retriever_settings
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if retriever is null then
    raise exception 'retriever is null'
      using errcode = 'RG400', detail = 'a retriever is a node of a contract', hint = 'ragdb.export_contract() shows the nodes of one';
  end if;
  return ragdb._open_retriever(ragdb._contract_node('retriever', retriever), null);
end $$;
comment on function ragdb.get_retriever(text) is
  'Returns how a retriever of a contract in force searches when nothing else is asked: corpus, mode, k, min_score and the model that it is declared for (null for none). Raises RG400, RG404, RG417, RG441.';

do $$ begin
  if pg_catalog.to_regtype('ragdb.named_retriever') is null then
    create type ragdb.named_retriever as (retriever ragdb.contract_nodes, rag text, settings ragdb.retriever_settings);
  end if;
end $$;
comment on type ragdb.named_retriever is 'A retriever that a caller named, itself or by a rag, and how it searches.';

create or replace function ragdb._named_retriever(retriever text, rag text) returns ragdb.named_retriever
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rag ragdb.contract_nodes;
  v_named ragdb.named_retriever;
begin
  if (retriever is null) = (rag is null) then
    raise exception '% given', case when rag is null then 'neither retriever nor rag is' else 'both retriever and rag are' end
      using errcode = 'RG400', detail = 'one of them says how to search', hint = 'pass retriever, or retriever => null and rag';
  end if;
  if rag is not null then
    v_rag := ragdb._contract_node('rag', rag);
    v_named.rag := v_rag.name;
  end if;
  v_named.retriever := ragdb._contract_node('retriever', coalesce(retriever, v_rag.keys ->> 'retriever'));
  v_named.settings := ragdb._open_retriever(v_named.retriever, null);
  return v_named;
end $$;
comment on function ragdb._named_retriever(text, text) is
  'Returns a retriever by its name or that of a rag, with its settings. Raises RG400, RG404, RG417, RG441.';

create or replace function ragdb.search_with(
  retriever text, query text, k integer default null, min_score float8 default null, filter jsonb default null,
  query_embedding float8[] default null, rag text default null)
returns setof ragdb.hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_settings ragdb.retriever_settings := (ragdb._named_retriever(retriever, rag)).settings;
begin
  return query select h.* from ragdb.search(v_settings.corpus, query, coalesce(k, v_settings.k), v_settings.mode,
    coalesce(min_score, v_settings.min_score), filter, query_embedding => query_embedding) h;
end $$;
comment on function ragdb.search_with(text, text, integer, float8, jsonb, float8[], text) is
  'Searches as ragdb.retrieve_with does, and records nothing. Raises what ragdb.search raises, RG417, RG441.';

create or replace function ragdb.retrieve_with(
  retriever text, query text, k integer default null, min_score float8 default null, filter jsonb default null,
  query_embedding float8[] default null, rag text default null, client text default null,
  otel_trace_id text default null, otel_span_id text default null)
returns setof ragdb.traced_hit
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_named ragdb.named_retriever := ragdb._named_retriever(retriever, rag);
  v_settings ragdb.retriever_settings := v_named.settings;
begin
  return query select h.* from ragdb._retrieve(v_settings.corpus, query, coalesce(k, v_settings.k), v_settings.mode,
    coalesce(min_score, v_settings.min_score), filter, query_embedding => query_embedding, client => client,
    otel_trace_id => otel_trace_id, otel_span_id => otel_span_id, retriever => (v_named.retriever).name, rag => v_named.rag) h;
end $$;
comment on function ragdb.retrieve_with(text, text, integer, float8, jsonb, float8[], text, text, text, text) is
  'Searches through a retriever of a contract, or that of a rag, by its mode, topK and minScore unless k (1 to 1000) or min_score (0 to 1) say otherwise, and records the trace with both names. Raises what ragdb.retrieve raises, RG417, RG441.';

---- sql/62_assertions.sql

-- Assertions: what each kind asks of the chunks of a case, and the answer. Set-based: all cases of a batch at once.

do $$ begin
  if pg_catalog.to_regtype('ragdb.eval_hit') is null then
    create type ragdb.eval_hit as (
      case_no integer, rank integer, chunk_id text, source text, text text, citation jsonb, score float8,
      content_hash text, token_count integer, doc_cid text, start_offset integer, end_offset integer);
    create type ragdb.eval_case as (
      case_no integer, fact_id text, query text, elapsed_ms float8, trace_id uuid, error_code text, error text,
      answer jsonb);
    create type ragdb.eval_assertion as (
      case_no integer, assert_no integer, kind text, property text, value text, number float8, count bigint,
      required boolean, negate boolean, quantifier text, expected jsonb);
    create type ragdb.eval_item as (case_no integer, rank integer, item text, grade integer, label_nos integer[]);
    create type ragdb.eval_assert_result as (
      case_no integer, assert_no integer, kind text, required boolean, passed boolean, code text, message text,
      expected jsonb, actual jsonb);
  end if;
end $$;
comment on type ragdb.eval_hit is 'A retrieved chunk of a case.';
comment on type ragdb.eval_case is 'A case as it was retrieved: its fact id, its trace, what went wrong, and the outcome of an answer contract of the same query.';
comment on type ragdb.eval_assertion is 'An assertion of a case; kinds that begin with expected. are its own fields.';
comment on type ragdb.eval_item is 'What stands at a rank for labels: a document or a labelled span, once, with its grade; null when nobody judged it.';
comment on type ragdb.eval_assert_result is 'The outcome of an assertion: its code, what it expected and what was there.';

-- Lower case of only those letters that a text can be found by: all of Unicode's for every chunk costs milliseconds each.
create or replace function ragdb._case_map(needle text) returns text[]
language sql immutable parallel safe
return case when pg_catalog.octet_length(needle) = pg_catalog.length(needle) then array['', ''] else (
  select array[coalesce(pg_catalog.string_agg(u.capital, '' order by u.n), ''), coalesce(pg_catalog.string_agg(l.small, '' order by u.n), '')]
  from pg_catalog.string_to_table(ragdb._capitals(), null) with ordinality u (capital, n)
    join pg_catalog.string_to_table(ragdb._smalls(), null) with ordinality l (small, n) on l.n = u.n
  where pg_catalog.strpos(needle, u.capital) > 0 or pg_catalog.strpos(needle, l.small) > 0) end;
comment on function ragdb._case_map(text) is
  'Returns the capitals that matter for finding a text in any case, and their small letters (Unicode 15.0, beyond ASCII).';

create or replace function ragdb._any_case(text text, map text[]) returns text
language sql immutable parallel safe
return pg_catalog.translate(pg_catalog.lower(_any_case.text collate "C"), _any_case.map[1], _any_case.map[2]);
comment on function ragdb._any_case(text, text[]) is 'Returns a text in lower case: ASCII, and the letters of a map.';

create or replace function ragdb._is_cited(citation jsonb) returns boolean
language sql immutable parallel safe
return coalesce((_is_cited.citation ->> 'uri') ~ '\S', false) or coalesce((_is_cited.citation ->> 'locator') ~ '\S', false);
comment on function ragdb._is_cited(jsonb) is 'Whether a citation has a uri or locator that is not blank.';

-- What is written in a contract or in JSON, as typed assertions. The fields of the case come first.
create or replace function ragdb._typed_assertions(case_no integer, expected jsonb, asserts jsonb)
returns setof ragdb.eval_assertion
language sql stable parallel safe
begin atomic
  select _typed_assertions.case_no, pg_catalog.row_number() over (order by x.ord, x.n)::integer, x.kind, k.property,
    case when x.json_type in ('string', 'number') then coalesce(x.a ->> 'value', x.value) end,
    ragdb._number(coalesce(case k.property when 'valueMs' then x.a ->> 'valueMs' else x.a ->> 'threshold' end, x.a ->> 'value', x.value), null, null),
    ragdb._whole(coalesce(x.a ->> 'count', x.a ->> 'value', x.value), null, null),
    x.required, coalesce(x.a ->> 'negate' = 'true', false), coalesce(x.a ->> 'quantifier', 'any'),
    x.expected
  from (
    select 0 as ord, e.n, e.kind, null::jsonb as a, expected ->> e.key as value, 'string' as json_type, true as required, expected -> e.key as expected
    from (values (1, 'topK', 'expected.topK'), (2, 'minScore', 'expected.minScore'), (3, 'chunkCount', 'expected.chunkCount'),
      (4, 'sources', 'expected.sources')) e (n, key, kind)
    where pg_catalog.jsonb_typeof(expected -> e.key) <> 'null' and not (e.key = 'sources' and expected -> e.key = '[]')
    union all
    select 1, j.n, coalesce(j.a ->> 'kind', ''), j.a, null, pg_catalog.jsonb_typeof(coalesce(j.a -> 'value', '""')),
      coalesce(j.a ->> 'required' = 'true', false),
      coalesce(j.a -> 'value', j.a -> 'threshold', j.a -> 'count', j.a -> 'valueMs')
    from pg_catalog.jsonb_array_elements(coalesce(asserts, '[]')) with ordinality j (a, n)
  ) x left join ragdb.assertion_kinds() k on k.kind = x.kind;
end;
comment on function ragdb._typed_assertions(integer, jsonb, jsonb) is
  'Returns the assertions of a case: its own fields topK, minScore, chunkCount and sources first, then the listed ones.';

-- ── ranking against labels ──────────────────────────────────────────────────────────────────────────

create or replace function ragdb._dcg(gain float8, rank integer) returns float8
language sql immutable parallel safe
return _dcg.gain / (pg_catalog.ln(_dcg.rank + 1::float8) / pg_catalog.ln(2::float8));
comment on function ragdb._dcg(float8, integer) is 'Returns a gain at a rank, discounted by log2(rank + 1).';

-- The definitions of trec_eval: the gain is the grade, and what nobody judged counts 0. grades are those of all
-- labels, best first.
create or replace function ragdb._rank_metric(metric text, k integer, items ragdb.eval_item[], grades integer[]) returns float8
language sql immutable parallel safe
return (
  select case metric
    when 'recall' then r.found::float8 / r.relevant
    when 'precision' then r.found::float8 / k
    when 'hit' then least(r.found, 1)::float8
    when 'mrr' then coalesce(1::float8 / r.first, 0)
    when 'judged' then coalesce(r.judged::float8 / nullif(r.shown, 0), 0)
    when 'map' then coalesce(r.precisions / r.relevant, 0)
    when 'ndcg' then coalesce(r.dcg / (
      select pg_catalog.sum(ragdb._dcg(g.grade, g.n::integer) order by g.n)
      from pg_catalog.unnest(grades) with ordinality g (grade, n) where g.n <= k and g.grade > 0), 0)
  end
  from (
    select (select pg_catalog.count(*) from pg_catalog.unnest(grades) g where g > 0) as relevant,
      pg_catalog.count(*) as shown, pg_catalog.count(i.grade) as judged,
      pg_catalog.count(*) filter (where i.grade > 0) as found, pg_catalog.min(i.rank) filter (where i.grade > 0) as first,
      pg_catalog.sum(ragdb._dcg(i.grade, i.rank) order by i.rank) filter (where i.grade > 0) as dcg,
      pg_catalog.sum(i.nth::float8 / i.rank order by i.rank) filter (where i.grade > 0) as precisions
    from (select u.*, pg_catalog.count(*) filter (where u.grade > 0) over (order by u.rank) as nth from pg_catalog.unnest(items) u) i
    where i.rank <= k
  ) r
  where r.relevant > 0);
comment on function ragdb._rank_metric(text, integer, ragdb.eval_item[], integer[]) is
  'Returns recall, precision, hit, mrr, judged, map or ndcg of the first k items, given the grades of all labels, best first; null without a label over 0.';

-- ── traces and answers ──────────────────────────────────────────────────────────────────────────────

create or replace function ragdb._assert_trace(kind text, value text, trace_id uuid, chunk_ids text[], out passed boolean, out actual jsonb)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces;
begin
  if trace_id is null or kind not in ('withinSlice', 'admissible', 'tokenValid', 'policyEq', 'noShortfall', 'embeddingModelEq',
      'resultHashEq', 'replayMatches') then
    return;
  end if;
  v_trace := ragdb._open_trace(trace_id);
  case kind
    when 'withinSlice' then
      passed := chunk_ids <> '{}' and exists (select from ragdb.slices s
        where s.corpus_id = v_trace.corpus_id and s.slice_id = _assert_trace.value and _assert_trace.chunk_ids <@ s.chunk_ids);
      actual := to_jsonb(v_trace.slice_id);
    when 'admissible' then
      passed := v_trace.is_admissible;
      actual := to_jsonb(v_trace.is_admissible);
    when 'tokenValid' then
      passed := v_trace.admissibility_token is not null
        and (select v.valid from ragdb.verify_token(v_trace.corpus, v_trace.admissibility_token, v_trace.slice_id,
          v_trace.anchor_chunk_id, v_trace.policy_id, v_trace.policy_params_hash, v_trace.graph_snapshot_hash,
          v_trace.schema_version) v);
      actual := to_jsonb(case when v_trace.admissibility_token is null then 'no token' else 'a token' end);
    when 'policyEq' then
      passed := v_trace.policy_id = value;
      actual := to_jsonb(v_trace.policy_id);
    when 'noShortfall' then
      passed := not v_trace.admissibility_shortfall;
      actual := to_jsonb(coalesce(v_trace.shortfall_reason, 'none'));
    when 'embeddingModelEq' then
      passed := v_trace.embedding_model = value;
      actual := to_jsonb(v_trace.embedding_model);
    when 'resultHashEq' then
      passed := v_trace.result_hash = value;
      actual := to_jsonb(v_trace.result_hash);
    when 'replayMatches' then
      select r.verdict = 'exact', to_jsonb(r.verdict) into passed, actual from ragdb.replay(trace_id) r;
  end case;
  passed := coalesce(passed, false);
end $$;
comment on function ragdb._assert_trace(text, text, uuid, text[]) is
  'Whether a trace has what an assertion about traces asks for, and what it has; null for other assertions.';

-- ── the verdicts ────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb._shown(number float8) returns text
language sql stable parallel safe
return pg_catalog.to_jsonb(_shown.number)::text;
comment on function ragdb._shown(float8) is 'Returns a number as a message shows it, the same under every setting.';

-- Callers have checked the right to the corpus of the hits. Whatever is asked of single chunks is one join of
-- assertions and hits, so that a thousand cases cost no more than their chunks.
create or replace function ragdb._assert_results(
  cases ragdb.eval_case[], hits ragdb.eval_hit[], items ragdb.eval_item[], grades jsonb, assertions ragdb.eval_assertion[])
returns setof ragdb.eval_assert_result
language sql stable parallel restricted
begin atomic
  with h as materialized (
    select h.*, ragdb._is_cited(h.citation) as is_cited, pg_catalog.lower(h.text collate "C") as lower_text from pg_catalog.unnest(hits) h
  ), summary as materialized (
    select h.case_no, pg_catalog.count(*) as n, pg_catalog.min(h.score) as low, pg_catalog.max(h.score) as high,
      pg_catalog.count(distinct h.source) as sources, pg_catalog.count(*) filter (where h.is_cited) as cited,
      pg_catalog.sum(h.token_count) as tokens,
      pg_catalog.max(h.score) filter (where h.rank = 1) as first, pg_catalog.max(h.score) filter (where h.rank = 2) as second,
      pg_catalog.max(h.source) filter (where h.rank = 1) as first_source,
      pg_catalog.array_agg(distinct h.source) as source_list, pg_catalog.array_agg(h.chunk_id) as chunk_ids
    from h group by h.case_no
  ), most as materialized (
    select m.case_no, pg_catalog.max(m.n) as n from (
      select h.case_no, pg_catalog.count(*) as n from h group by h.case_no, h.source) m group by m.case_no
  ), a as materialized (
    select a.*, k.kind is not null or a.kind like 'expected.%' as is_known,
      case when a.kind in ('contains', 'containsAny', 'containsAll', 'sourceGlob', 'rankLte', 'notRetrieved', 'orderedBefore')
        then ragdb._case_map(a.value) end as map
    from pg_catalog.unnest(assertions) a left join ragdb.assertion_kinds() k on k.kind = a.kind
  ), parts as materialized (
    -- what is looked for in single chunks, one row a text
    select a.case_no, a.assert_no, a.kind, a.map, p.n, p.part, ragdb._any_case(p.part, a.map) as folded,
      ragdb._glob_pattern(ragdb._any_case(p.part, a.map)) as pattern
    from a cross join lateral pg_catalog.unnest(case when a.kind in ('containsAny', 'containsAll', 'orderedBefore')
      then ragdb._list(a.value) else array[a.value] end) with ordinality p (part, n)
    where a.kind in ('contains', 'containsAny', 'containsAll', 'sourceEq', 'sourceGlob', 'chunkHash', 'rankLte', 'notRetrieved', 'orderedBefore')
      and a.value <> ''
  ), found as materialized (
    select p.case_no, p.assert_no, p.n, pg_catalog.count(*) as hits, pg_catalog.min(h.rank) as first_rank
    from parts p join h on h.case_no = p.case_no
    where case
      when p.kind in ('contains', 'containsAny', 'containsAll') then pg_catalog.strpos(
          case p.map[1] when '' then h.lower_text else ragdb._any_case(h.text, p.map) end, p.folded) > 0
      when p.kind = 'sourceEq' then h.source = p.part
      when p.kind = 'sourceGlob' then ragdb._any_case(h.source, p.map) like p.pattern
      when p.kind = 'chunkHash' then h.content_hash = p.part
        or (pg_catalog.length(p.part) = 32 and ragdb.kern_chunk_hash(h.text) = p.part)
      else h.chunk_id = p.part or ragdb._any_case(h.source, p.map) like p.pattern end
    group by p.case_no, p.assert_no, p.n
  ), texts as materialized (
    select p.case_no, p.assert_no, coalesce(pg_catalog.sum(f.hits), 0) as hits, pg_catalog.min(f.first_rank) as first_rank,
      pg_catalog.bool_and(f.hits is not null) as all_found,
      pg_catalog.min(f.first_rank) filter (where p.n = 1) as rank1, pg_catalog.min(f.first_rank) filter (where p.n = 2) as rank2
    from parts p left join found f on f.case_no = p.case_no and f.assert_no = p.assert_no and f.n = p.n
    group by p.case_no, p.assert_no
  ), ranked as materialized (
    select i.case_no, pg_catalog.array_agg(i order by i.rank) as items from pg_catalog.unnest(items) i group by i.case_no
  ), judged as (
    select a.*, c.fact_id, c.elapsed_ms, c.trace_id, c.answer,
      coalesce(s.n, 0) as n, s.low, s.high, coalesce(s.sources, 0) as sources, coalesce(s.cited, 0) as cited, coalesce(s.tokens, 0) as tokens,
      s.first, s.second, s.first_source, s.source_list, coalesce(s.chunk_ids, '{}') as chunk_ids, coalesce(m.n, 0) as most,
      coalesce(t.hits, 0) as hits, t.first_rank, coalesce(t.all_found, false) as all_found, t.rank1, t.rank2,
      case when a.kind in ('recallAtK', 'precisionAtK', 'ndcgAtK', 'reciprocalRank', 'averagePrecision', 'hitAtK') then ragdb._rank_metric(
        case a.kind when 'recallAtK' then 'recall' when 'precisionAtK' then 'precision' when 'ndcgAtK' then 'ndcg'
          when 'reciprocalRank' then 'mrr' when 'averagePrecision' then 'map' else 'hit' end,
        case when a.kind in ('reciprocalRank', 'averagePrecision') then 1000000 else coalesce(a.count, 10)::integer end,
        coalesce(r.items, '{}'), array(select g.v::integer from pg_catalog.jsonb_array_elements_text(grades -> a.case_no::text) with ordinality g (v, n) order by g.n)) end as metric,
      ragdb._list(a.value) as listed
    from a join pg_catalog.unnest(cases) c on c.case_no = a.case_no
      left join summary s on s.case_no = a.case_no
      left join most m on m.case_no = a.case_no
      left join texts t on t.case_no = a.case_no and t.assert_no = a.assert_no
      left join ranked r on r.case_no = a.case_no
    where c.error is null
  ), verdicts as (
    select j.*,
      case
        when not j.is_known then 'Unsupported RAG eval assertion kind ''' || j.kind || '''.'
        when j.property = 'value' and coalesce(j.value, '') = '' then 'RAG eval assertion kind=' || j.kind || ' requires '
          || case when j.kind in ('factId', 'chunkHash') then 'string' else 'non-empty string' end || ' value.'
        when j.property = 'value count' and (coalesce(j.value, '') = '' or j.count is null) then 'RAG eval assertion kind=' || j.kind || ' requires value and count.'
        when j.property in ('threshold', 'valueMs') and j.number is null then 'RAG eval assertion kind=' || j.kind || ' requires numeric value.'
        when (j.property = 'count' or j.kind in ('expected.topK', 'expected.chunkCount')) and j.count is null then 'RAG eval assertion kind=' || j.kind || ' requires numeric value.'
        when j.kind = 'expected.minScore' and j.number is null then 'RAG eval assertion kind=' || j.kind || ' requires numeric value.'
        when j.kind = 'expected.sources' and pg_catalog.jsonb_typeof(j.expected) <> 'array' then 'RAG eval assertion kind=' || j.kind || ' requires a list.'
        when j.kind in ('recallAtK', 'precisionAtK', 'ndcgAtK', 'reciprocalRank', 'averagePrecision', 'hitAtK') and j.metric is null then
          'RAG eval assertion kind=' || j.kind || ' has no label to measure by.'
        when j.kind in ('groundingCoverageGte', 'citationsResolve', 'numbersGrounded', 'abstains') and j.answer is null then
          'RAG eval assertion kind=' || j.kind || ' needs an answer contract with the query of the case.'
        when j.kind in ('withinSlice', 'admissible', 'tokenValid', 'policyEq', 'noShortfall', 'embeddingModelEq', 'resultHashEq', 'replayMatches')
          and j.trace_id is null then 'RAG eval assertion kind=' || j.kind || ' needs a recorded retrieval.'
      end as invalid,
      case
        when not j.is_known then null
        when j.kind = 'expected.topK' then j.n <= j.count
        when j.kind = 'expected.minScore' then j.n > 0 and j.low >= j.number
        when j.kind in ('expected.chunkCount', 'chunkCountEq') then j.n = j.count
        when j.kind = 'expected.sources' then case pg_catalog.jsonb_typeof(j.expected) when 'array' then j.n > 0
          and j.source_list <@ array(select e from pg_catalog.jsonb_array_elements_text(j.expected) e)
          and j.source_list @> array(select e from pg_catalog.jsonb_array_elements_text(j.expected) e) end
        when j.kind = 'scoreGte' then j.n > 0 and case j.quantifier when 'all' then j.low else j.high end >= j.number
        when j.kind = 'scoreLte' then j.n > 0 and case j.quantifier when 'all' then j.high else j.low end <= j.number
        when j.kind in ('contains', 'sourceEq', 'sourceGlob', 'chunkHash', 'containsAny') then j.hits > 0
        when j.kind = 'containsAll' then j.all_found
        when j.kind = 'uniqueSourcesGte' then j.sources >= j.count
        when j.kind = 'citesRequired' then j.n > 0 and j.cited = j.n
        when j.kind = 'factId' then j.value = j.fact_id
        when j.kind = 'latencyLte' then j.elapsed_ms <= j.number
        when j.kind in ('recallAtK', 'precisionAtK', 'ndcgAtK', 'reciprocalRank', 'averagePrecision') then j.metric >= j.number
        when j.kind = 'hitAtK' then j.metric = 1
        when j.kind = 'rankLte' then j.first_rank <= j.count
        when j.kind = 'topSourceEq' then j.first_source = j.value
        when j.kind = 'notRetrieved' then j.hits = 0
        when j.kind = 'orderedBefore' then j.rank1 < j.rank2 or (j.rank1 is not null and j.rank2 is null)
        when j.kind = 'chunkCountGte' then j.n >= j.count
        when j.kind = 'chunkCountLte' then j.n <= j.count
        when j.kind = 'maxChunksPerSourceLte' then j.most <= j.count
        when j.kind = 'contextTokensLte' then j.tokens <= j.count
        when j.kind = 'topScoreGte' then j.first >= j.number
        when j.kind = 'scoreMarginGte' then j.first - coalesce(j.second, 0) >= j.number
        when j.kind = 'groundingCoverageGte' then (j.answer ->> 'groundingCoverage')::float8 >= j.number
        when j.kind = 'citationsResolve' then (j.answer ->> 'citationsResolve')::boolean
        when j.kind = 'numbersGrounded' then (j.answer ->> 'numbersGrounded')::boolean
        when j.kind = 'abstains' then (j.answer ->> 'abstained')::boolean
        else t.passed
      end as holds,
      case j.kind
        when 'expected.minScore' then pg_catalog.to_jsonb(coalesce(j.low, 0))
        when 'expected.sources' then pg_catalog.to_jsonb(coalesce(j.source_list, '{}'))
        when 'scoreGte' then pg_catalog.to_jsonb(case j.quantifier when 'all' then j.low else j.high end)
        when 'scoreLte' then pg_catalog.to_jsonb(case j.quantifier when 'all' then j.high else j.low end)
        when 'sourceEq' then pg_catalog.to_jsonb(coalesce(j.source_list, '{}'))
        when 'sourceGlob' then pg_catalog.to_jsonb(coalesce(j.source_list, '{}'))
        when 'uniqueSourcesGte' then pg_catalog.to_jsonb(j.sources)
        when 'citesRequired' then pg_catalog.to_jsonb(j.cited || ' of ' || j.n)
        when 'factId' then pg_catalog.to_jsonb(j.fact_id)
        when 'latencyLte' then pg_catalog.to_jsonb(pg_catalog.round(j.elapsed_ms::numeric, 3))
        when 'rankLte' then pg_catalog.to_jsonb(j.first_rank)
        when 'topSourceEq' then pg_catalog.to_jsonb(j.first_source)
        when 'orderedBefore' then pg_catalog.jsonb_build_array(j.rank1, j.rank2)
        when 'maxChunksPerSourceLte' then pg_catalog.to_jsonb(j.most)
        when 'contextTokensLte' then pg_catalog.to_jsonb(j.tokens)
        when 'topScoreGte' then pg_catalog.to_jsonb(j.first)
        when 'scoreMarginGte' then pg_catalog.to_jsonb(j.first - coalesce(j.second, 0))
        when 'groundingCoverageGte' then j.answer -> 'groundingCoverage'
        when 'abstains' then j.answer -> 'abstained'
        when 'citationsResolve' then j.answer -> 'codes'
        when 'numbersGrounded' then j.answer -> 'codes'
        else case when j.metric is not null then pg_catalog.to_jsonb(j.metric)
          when j.kind in ('contains', 'chunkHash', 'containsAny', 'containsAll', 'notRetrieved') then pg_catalog.to_jsonb(j.hits)
          when t.passed is not null then t.actual else pg_catalog.to_jsonb(j.n) end
      end as actual
    from judged j cross join lateral ragdb._assert_trace(j.kind, j.value, j.trace_id, j.chunk_ids) t
  )
  select v.case_no, v.assert_no, v.kind, v.required, v.is_known and v.invalid is null and coalesce(v.holds, false) <> v.negate,
    case when not v.is_known then 'UNSUPPORTED_ASSERTION' when v.invalid is not null then 'INVALID_ASSERTION'
      when coalesce(v.holds, false) <> v.negate then 'PASS' else 'ASSERTION_FAIL' end,
    coalesce(v.invalid, case when v.negate then 'not: ' else '' end || case v.kind
      when 'expected.topK' then 'expected at most ' || v.count || ' chunks'
      when 'expected.minScore' then 'expected all retrieved chunks to score >= ' || ragdb._shown(v.number)
      when 'expected.chunkCount' then 'expected ' || v.count || ' chunks'
      when 'expected.sources' then 'expected retrieved chunks to cover only sources ' || (
        select pg_catalog.string_agg(e.v, ', ' order by e.n) from pg_catalog.jsonb_array_elements_text(v.expected) with ordinality e (v, n))
      when 'scoreGte' then 'expected ' || case v.quantifier when 'all' then 'every' else 'a' end || ' retrieved chunk score >= ' || ragdb._shown(v.number)
      when 'scoreLte' then 'expected ' || case v.quantifier when 'all' then 'every' else 'a' end || ' retrieved chunk score <= ' || ragdb._shown(v.number)
      when 'contains' then 'expected a retrieved chunk text contains ' || v.value
      when 'sourceEq' then 'expected a retrieved chunk source equals ' || v.value
      when 'sourceGlob' then 'expected a retrieved chunk source matches ' || v.value
      when 'uniqueSourcesGte' then 'expected at least ' || v.count || ' unique sources'
      when 'chunkCountEq' then 'expected exactly ' || v.count || ' chunks'
      when 'citesRequired' then 'expected every chunk to carry citation data'
      when 'factId' then 'expected fact id ' || v.value
      when 'chunkHash' then 'expected retrieved chunk hash ' || v.value
      when 'latencyLte' then 'expected retrieval latency <= ' || ragdb._shown(v.number) || 'ms'
      when 'rankLte' then 'expected ' || v.value || ' among the first ' || v.count
      when 'topSourceEq' then 'expected the first chunk source equals ' || v.value
      when 'notRetrieved' then 'expected no retrieved chunk ' || v.value
      when 'orderedBefore' then 'expected ' || v.listed[1] || ' before ' || v.listed[2]
      when 'containsAny' then 'expected a retrieved chunk text contains one of ' || v.value
      when 'containsAll' then 'expected retrieved chunk texts contain each of ' || v.value
      when 'chunkCountGte' then 'expected at least ' || v.count || ' chunks'
      when 'chunkCountLte' then 'expected at most ' || v.count || ' chunks'
      when 'maxChunksPerSourceLte' then 'expected at most ' || v.count || ' chunks of a source'
      when 'contextTokensLte' then 'expected at most ' || v.count || ' tokens'
      when 'topScoreGte' then 'expected the first chunk score >= ' || ragdb._shown(v.number)
      when 'scoreMarginGte' then 'expected the first chunk to lead by ' || ragdb._shown(v.number)
      when 'hitAtK' then 'expected a labelled item among the first ' || v.count
      when 'withinSlice' then 'expected every retrieved chunk in slice ' || v.value
      when 'policyEq' then 'expected slice policy ' || v.value
      when 'embeddingModelEq' then 'expected embedding model ' || v.value
      when 'resultHashEq' then 'expected result hash ' || v.value
      when 'admissible' then 'expected an admissible retrieval'
      when 'tokenValid' then 'expected a valid admissibility token'
      when 'noShortfall' then 'expected no admissibility shortfall'
      when 'replayMatches' then 'expected a replay to match exactly'
      when 'groundingCoverageGte' then 'expected grounding coverage >= ' || ragdb._shown(v.number)
      when 'citationsResolve' then 'expected every citation to resolve'
      when 'numbersGrounded' then 'expected every number to be grounded'
      when 'abstains' then 'expected the answer to abstain'
      else 'expected ' || v.kind || ' >= ' || ragdb._shown(v.number) || coalesce(' at ' || v.count, '') end),
    v.expected, v.actual
  from verdicts v
  union all
  select c.case_no, 1, 'retriever', true, false, 'RETRIEVER_ERROR', c.error, null, pg_catalog.to_jsonb(c.error_code)
  from pg_catalog.unnest(cases) c where c.error is not null
  order by 1, 2;
end;
comment on function ragdb._assert_results(ragdb.eval_case[], ragdb.eval_hit[], ragdb.eval_item[], jsonb, ragdb.eval_assertion[]) is
  'Returns the outcome of every assertion of some cases; grades are those of all labels of a case, best first, under its number. A case whose retrieval failed has one, RETRIEVER_ERROR.';

create or replace function ragdb._fails_case(result ragdb.eval_assert_result) returns boolean
language sql immutable parallel safe
return not (result).passed and ((result).required or (result).code <> 'ASSERTION_FAIL');
comment on function ragdb._fails_case(ragdb.eval_assert_result) is
  'Whether an outcome fails its case: a failed assertion that is not required is advisory.';

create or replace function ragdb._retrieval_problem(case_name text, retrieval jsonb) returns text
language sql immutable parallel safe
return 'RAG eval case ''' || coalesce(case_name, '') || ''' retriever failed: ' || coalesce(retrieval ->> 'error', case
  when pg_catalog.jsonb_typeof(retrieval) is distinct from 'object' or pg_catalog.jsonb_typeof(retrieval -> 'query') is distinct from 'string'
    or pg_catalog.jsonb_typeof(retrieval -> 'chunks') is distinct from 'array' then 'retriever returned no query and chunks'
  else (
    select case p.problem when 'duplicate' then pg_catalog.format('retriever chunk at index %s duplicates chunk id ''%s''', p.i, p.id)
      when 'score' then pg_catalog.format('retriever chunk at index %s score must be between 0 and 1', p.i)
      else pg_catalog.format('retriever chunk at index %s is not a RetrievedChunk', p.i) end
    from (
      select c.ord - 1 as i, c.v ->> 'id' as id, case
        when pg_catalog.jsonb_typeof(c.v) <> 'object' or pg_catalog.jsonb_typeof(c.v -> 'id') is distinct from 'string'
          or pg_catalog.jsonb_typeof(c.v -> 'text') is distinct from 'string' or pg_catalog.jsonb_typeof(c.v -> 'source') is distinct from 'string'
          or pg_catalog.jsonb_typeof(coalesce(c.v -> 'citation', '{}')) <> 'object'
          or pg_catalog.jsonb_typeof(coalesce(c.v #> '{citation,uri}', '""')) <> 'string'
          or pg_catalog.jsonb_typeof(coalesce(c.v #> '{citation,locator}', '""')) <> 'string' then 'shape'
        when case pg_catalog.jsonb_typeof(c.v -> 'score') when 'number' then not (c.v ->> 'score')::numeric between 0 and 1 else true end then 'score'
        when pg_catalog.row_number() over (partition by c.v ->> 'id' order by c.ord) > 1 then 'duplicate' end as problem
      from pg_catalog.jsonb_array_elements(retrieval -> 'chunks') with ordinality c (v, ord)) p
    where p.problem is not null order by p.i limit 1) end) || '.';
comment on function ragdb._retrieval_problem(text, jsonb) is
  'Returns what is wrong with a retrieval given as JSON; null for one that can be evaluated.';

-- For what a retriever outside the database returned.
create or replace function ragdb.evaluate_case("case" jsonb, retrieval jsonb)
returns table (assert_no integer, kind text, required boolean, passed boolean, code text, message text,
  expected jsonb, actual jsonb, fails_case boolean)
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hits ragdb.eval_hit[] := '{}';
  v_case ragdb.eval_case;
begin
  if jsonb_typeof("case") is distinct from 'object' or jsonb_typeof(coalesce("case" -> 'asserts', '[]')) <> 'array'
    or jsonb_typeof(coalesce("case" -> 'expected', '{}')) <> 'object'
    or jsonb_path_exists(coalesce("case" -> 'asserts', '[]'), '$[*] ? (@.type() != "object")')
  then
    raise exception 'case is no object with a list of asserts'
      using errcode = 'RG442', detail = 'it is ' || ragdb._quote("case"::text),
            hint = '{"name", "query", "rag", "eval", "expected": {"topK", "minScore", "chunkCount", "sources"}, "asserts": [{"kind", "value", "required"}]}';
  end if;
  v_case.case_no := 1;
  v_case.fact_id := concat_ws(':', nullif("case" ->> 'rag', ''), nullif("case" ->> 'eval', ''), nullif("case" ->> 'name', ''));
  v_case.query := "case" ->> 'query';
  v_case.elapsed_ms := coalesce(ragdb._number(retrieval ->> 'durationMs', 0, null), 0);
  v_case.error := ragdb._retrieval_problem("case" ->> 'name', coalesce(retrieval, 'null'));
  v_case.error_code := case when v_case.error is not null then 'RETRIEVER_ERROR' end;
  if v_case.error is null then
    v_hits := array(
      select row(1, c.ord, c.v ->> 'id', c.v ->> 'source', c.v ->> 'text', coalesce(c.v -> 'citation', '{}'), (c.v ->> 'score')::float8,
        encode(sha256(ragdb._utf8(c.v ->> 'text')), 'hex'), (length(c.v ->> 'text') + 3) / 4, null, null, null)::ragdb.eval_hit
      from jsonb_array_elements(retrieval -> 'chunks') with ordinality c (v, ord));
  end if;
  return query
    select r.assert_no, r.kind, r.required, r.passed, r.code, r.message, r.expected, r.actual, ragdb._fails_case(r)
    from ragdb._assert_results(array[v_case], v_hits, '{}', '{}', array(
      select a from ragdb._typed_assertions(1, "case" -> 'expected', "case" -> 'asserts') a)) r;
end $$;
comment on function ragdb.evaluate_case(jsonb, jsonb) is
  'Evaluates the assertions of a case, {"name", "query", "rag", "eval", "expected", "asserts"}, on a retrieval given as {"query", "chunks": [{"id", "text", "source", "citation", "score"}], "durationMs"} or {"error"}, and returns each outcome and whether it fails the case. Raises RG442.';

---- sql/64_answers.sql

-- Answer contracts: which parts of an answer rest on which retrieved chunks. What is proved is reference, location
-- and lexical support, never that the chunk implies the sentence.

-- White space as JavaScript has it, beyond ASCII too.
create or replace function ragdb._without_space(text text) returns text
language sql immutable parallel safe
return pg_catalog.regexp_replace(_without_space.text, U&'[\0009-\000D\0020\00A0\1680\2000-\200A\2028\2029\202F\205F\3000\FEFF]+' collate "C", '', 'g');
comment on function ragdb._without_space(text) is 'Returns a text without its white space, Unicode''s included.';

create or replace function ragdb._support_form(text text) returns text
language sql immutable parallel safe
return pg_catalog.btrim(pg_catalog.regexp_replace(pg_catalog.regexp_replace(
  ragdb._fold(normalize(pg_catalog.replace(_support_form.text, U&'\00AD', ''), nfkc)), '[.,;:!?]+', ' ', 'g'),
  U&'[\0009-\000D\0020\00A0\1680\2000-\200A\2028\2029\202F\205F\3000\FEFF]+' collate "C", ' ', 'g'));
comment on function ragdb._support_form(text) is
  'Returns a text as lexical support compares it: NFKC, case folded, punctuation and white space one space.';

-- Offsets arrive in the unit of whoever made them; here they are code points. Null is no boundary of a character.
create or replace function ragdb._code_point_offset(text text, "offset" bigint, unit text) returns integer
language sql immutable parallel safe
return case
  when _code_point_offset."offset" = 0 then 0
  when unit = 'codepoint' then case when _code_point_offset."offset" between 0 and pg_catalog.length(text) then _code_point_offset."offset"::integer end
  else (
    select u.n::integer from (
      select c.n, pg_catalog.sum(case unit when 'utf16' then case pg_catalog.octet_length(c.c) when 4 then 2 else 1 end
        else pg_catalog.octet_length(c.c) end) over (order by c.n) as units
      from pg_catalog.string_to_table(text, null) with ordinality c (c, n)) u
    where u.units = _code_point_offset."offset")
end;
comment on function ragdb._code_point_offset(text, bigint, text) is
  'Returns an offset in code points given one in the unit codepoint, utf16 or byte; null outside the text or inside a character.';

create or replace function ragdb._diagnostic(code text, message text, span_index integer default null, chunk_id text default null)
returns jsonb
language sql immutable parallel safe
return pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
  'code', code, 'message', message, 'spanIndex', span_index, 'chunkId', chunk_id));
comment on function ragdb._diagnostic(text, text, integer, text) is 'Returns a diagnostic of an answer.';

create or replace function ragdb.evaluate_answer(contract jsonb, retrieval jsonb) returns jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_answer text := case jsonb_typeof(contract -> 'answer') when 'string' then contract ->> 'answer' end;
  v_unit text := coalesce(contract ->> 'unit', 'codepoint');
  v_minimum float8 := coalesce((contract ->> 'minGroundingCoverage')::float8, 1);
  v_cites boolean := coalesce((contract ->> 'requireCitations')::boolean, false);
  v_supports boolean := coalesce((contract ->> 'lexicalSupport')::boolean, true);
  v_abstained boolean := coalesce((contract ->> 'abstained')::boolean, false);
  v_policy jsonb := coalesce(contract -> 'evidencePolicy', '{}');
  v_diagnostics jsonb[] := '{}';
  v_chunks jsonb;
  v_span record;
  v_id text;
  v_ids text[];
  v_cited text[] := '{}';
  v_sources text[] := '{}';
  v_start integer;
  v_end integer;
  v_form text;
  v_accepted int4multirange := '{}';
  v_total integer := 0;
  v_grounded integer := 0;
  v_coverage float8;
  v_weak boolean;
  v_numbers boolean := true;
  v_number text;
begin
  if jsonb_typeof(contract) is distinct from 'object' or v_unit not in ('codepoint', 'utf16', 'byte') or not v_minimum between 0 and 1 then
    raise exception 'contract is no answer contract'
      using errcode = 'RG442', detail = 'it is ' || ragdb._quote(contract::text),
            hint = '{"query", "answer", "groundingSpans": [{"start", "end", "chunkIds", "required"}], "requireCitations", "minGroundingCoverage": 0 to 1, "unit": "codepoint", "utf16" or "byte"}';
  end if;
  if ragdb._retrieval_problem('', coalesce(retrieval, 'null')) is not null then
    return jsonb_build_object('query', contract -> 'query', 'passed', false, 'status', 'invalid', 'groundingCoverage', 0, 'groundedChars', 0, 'answerChars', 0,
      'evidenceSufficient', false, 'abstained', v_abstained, 'citedChunkIds', '[]'::jsonb, 'sources', '[]'::jsonb,
      'citationsResolve', false, 'numbersGrounded', false, 'codes', '["RETRIEVER_ERROR"]'::jsonb,
      'diagnostics', jsonb_build_array(ragdb._diagnostic('RETRIEVER_ERROR',
        coalesce(retrieval ->> 'error', 'the retrieval is no {"query", "chunks"} with sound chunks'))));
  end if;
  v_chunks := retrieval -> 'chunks';
  if v_answer is null or ragdb._without_space(v_answer) = '' then
    v_diagnostics := v_diagnostics || ragdb._diagnostic('ANSWER_EMPTY', 'the answer is empty');
  end if;
  v_total := length(ragdb._without_space(coalesce(v_answer, '')));
  if contract -> 'query' is distinct from retrieval -> 'query' then
    v_diagnostics := v_diagnostics || ragdb._diagnostic('QUERY_MISMATCH', 'the retrieval is of another query');
  end if;
  if contract ? 'provenance' and (contract #> '{provenance,query}' is distinct from retrieval -> 'query'
    or contract #> '{provenance,chunkCount}' is distinct from to_jsonb(jsonb_array_length(v_chunks))
    or contract #> '{provenance,chunkHashes}' is distinct from (
      select coalesce(jsonb_agg(ragdb.kern_chunk_hash(c.v ->> 'text') order by c.n), '[]') from jsonb_array_elements(v_chunks) with ordinality c (v, n))
    or contract #> '{provenance,sources}' is distinct from (
      select coalesce(jsonb_agg(s.source order by s.n), '[]') from (
        select c.v ->> 'source' as source, min(c.n) as n from jsonb_array_elements(v_chunks) with ordinality c (v, n) group by 1) s))
  then
    v_diagnostics := v_diagnostics || ragdb._diagnostic('PROVENANCE_MISMATCH', 'the provenance is of another retrieval');
  end if;
  if jsonb_typeof(coalesce(contract -> 'groundingSpans', '[]')) <> 'array' then
    v_diagnostics := v_diagnostics || ragdb._diagnostic('SPAN_INVALID', 'groundingSpans is no list');
  else
    for v_span in
      select s.n::integer - 1 as i, s.v, coalesce((s.v ->> 'required') = 'true', false) as required
      from jsonb_array_elements(coalesce(contract -> 'groundingSpans', '[]')) with ordinality s (v, n) order by s.n
    loop
      v_start := ragdb._code_point_offset(coalesce(v_answer, ''), ragdb._whole(v_span.v ->> 'start', 0, 1e9), v_unit);
      v_end := ragdb._code_point_offset(coalesce(v_answer, ''), ragdb._whole(v_span.v ->> 'end', 0, 1e9), v_unit);
      if v_start is null or v_end is null or v_start >= v_end or jsonb_typeof(v_span.v -> 'chunkIds') is distinct from 'array'
        or jsonb_path_exists(v_span.v, '$.chunkIds[*] ? (@.type() != "string")')
      then
        v_diagnostics := v_diagnostics || ragdb._diagnostic('SPAN_INVALID',
          'a span needs 0 <= start < end <= length of the answer, and chunk ids', v_span.i);
        continue;
      end if;
      v_ids := '{}';
      for v_id in select c.v from jsonb_array_elements_text(v_span.v -> 'chunkIds') with ordinality c (v, n) order by c.n loop
        if exists (select from jsonb_array_elements(v_chunks) c where c ->> 'id' = v_id) then
          v_ids := v_ids || v_id;
        else
          v_diagnostics := v_diagnostics || ragdb._diagnostic('CHUNK_REF_UNKNOWN', 'chunk ' || ragdb._quote(v_id) || ' was not retrieved', v_span.i, v_id);
        end if;
      end loop;
      if v_ids = '{}' then
        v_diagnostics := v_diagnostics || case when v_span.required then ragdb._diagnostic('CITATION_REQUIRED', 'a required span has no retrieved chunk', v_span.i)
          else ragdb._diagnostic('SPAN_UNGROUNDED', 'a span has no retrieved chunk', v_span.i) end;
        continue;
      end if;
      v_cited := v_cited || array(select i from unnest(v_ids) i where i <> all (v_cited));
      if v_cites and not exists (select from jsonb_array_elements(v_chunks) c where c ->> 'id' = any (v_ids) and ragdb._is_cited(c -> 'citation')) then
        v_diagnostics := v_diagnostics || ragdb._diagnostic('CITATION_REQUIRED', 'no chunk of a span has a uri or locator', v_span.i);
        continue;
      end if;
      if v_supports then
        v_form := ragdb._support_form(substr(v_answer, v_start + 1, v_end - v_start));
        if v_form = '' or not exists (select from jsonb_array_elements(v_chunks) c
            where c ->> 'id' = any (v_ids) and strpos(ragdb._support_form(c ->> 'text'), v_form) > 0) then
          v_diagnostics := v_diagnostics || ragdb._diagnostic('SPAN_TEXT_UNSUPPORTED', 'the text of a span is in none of its chunks', v_span.i);
          continue;
        end if;
      end if;
      for v_number in select (regexp_matches(substr(v_answer, v_start + 1, v_end - v_start), '[0-9]+(?:[.,][0-9]+)*', 'g'))[1] loop
        v_numbers := v_numbers and exists (select from jsonb_array_elements(v_chunks) c
          where c ->> 'id' = any (v_ids) and c ->> 'text' ~ ('(^|[^0-9.,]|[^0-9][.,])' || replace(v_number, '.', '\.') || '($|[^0-9.,]|[.,]($|[^0-9]))'));
      end loop;
      v_accepted := v_accepted + int4multirange(int4range(v_start, v_end));
    end loop;
  end if;
  select coalesce(sum(length(ragdb._without_space(substr(v_answer, lower(r) + 1, upper(r) - lower(r))))), 0)
    into v_grounded from unnest(v_accepted) r;
  v_coverage := coalesce(v_grounded / nullif(v_total, 0)::float8, 0);
  v_weak := jsonb_array_length(v_chunks) < coalesce((v_policy ->> 'minRetrievedChunks')::integer, 0)
    or coalesce((select max((c ->> 'score')::float8) from jsonb_array_elements(v_chunks) c), 0) < coalesce((v_policy ->> 'minTopScore')::float8, 0);
  if v_abstained then
    if coalesce((contract ->> 'allowAbstain')::boolean, false) is false then
      v_diagnostics := v_diagnostics || ragdb._diagnostic('ABSTAIN_NOT_ALLOWED', 'the contract allows no abstention');
    end if;
    if coalesce(contract ->> 'abstainAnswer', '') !~ '\S' or btrim(contract ->> 'abstainAnswer', E' \t\n\r') is distinct from btrim(v_answer, E' \t\n\r') then
      v_diagnostics := v_diagnostics || ragdb._diagnostic('ABSTAIN_ANSWER_MISMATCH', 'the answer is not the one for abstaining');
    end if;
    if coalesce((v_policy ->> 'minRetrievedChunks')::integer, 0) = 0 and coalesce((v_policy ->> 'minTopScore')::float8, 0) = 0 then
      v_diagnostics := v_diagnostics || ragdb._diagnostic('ABSTAIN_EVIDENCE_POLICY_REQUIRED', 'abstaining needs a policy of what evidence is enough');
    elsif not v_weak then
      v_diagnostics := v_diagnostics || ragdb._diagnostic('ABSTAIN_WITH_SUFFICIENT_EVIDENCE', 'the evidence was enough to answer');
    end if;
  else
    if v_weak then
      v_diagnostics := v_diagnostics || ragdb._diagnostic('EVIDENCE_INSUFFICIENT', 'too few chunks, or none that scores enough');
    end if;
    if v_total > 0 then
      if v_cites and coalesce(jsonb_array_length(nullif(contract -> 'groundingSpans', 'null')), 0) = 0 then
        v_diagnostics := v_diagnostics || ragdb._diagnostic('CITATION_REQUIRED', 'the answer cites nothing');
      end if;
      if cardinality(v_cited) < coalesce((contract ->> 'minCitedChunks')::integer, 0) then
        v_diagnostics := v_diagnostics || ragdb._diagnostic('CITED_CHUNKS_BELOW_MINIMUM',
          format('%s chunks are cited, fewer than %s', cardinality(v_cited), contract ->> 'minCitedChunks'));
      end if;
      if v_coverage < v_minimum then
        v_diagnostics := v_diagnostics || ragdb._diagnostic('GROUNDING_BELOW_THRESHOLD',
          format('coverage %s is below required threshold %s.', to_char(v_coverage, 'FM0.000'), to_char(v_minimum, 'FM0.000')));
      end if;
    end if;
  end if;
  select coalesce(array_agg(s.source order by s.n), '{}') into v_sources from (
    select c ->> 'source' as source, min(array_position(v_cited, c ->> 'id')) as n
    from jsonb_array_elements(v_chunks) c where c ->> 'id' = any (v_cited) group by 1) s;
  return jsonb_build_object(
    'query', contract -> 'query', 'passed', v_diagnostics = '{}',
    'status', case
      when v_diagnostics = '{}' then case when v_abstained then 'abstained' else 'grounded' end
      when exists (select from unnest(v_diagnostics) d where d ->> 'code' not in ('SPAN_UNGROUNDED', 'GROUNDING_BELOW_THRESHOLD')) then 'invalid'
      when v_grounded = 0 then 'ungrounded' else 'partially_grounded' end,
    'groundingCoverage', v_coverage, 'groundedChars', v_grounded, 'answerChars', v_total,
    'evidenceSufficient', not v_weak, 'abstained', v_abstained,
    'citedChunkIds', to_jsonb(array(select c collate "C" from unnest(v_cited) c order by 1)), 'sources', to_jsonb(v_sources),
    'citationsResolve', not exists (select from unnest(v_diagnostics) d where d ->> 'code' in ('CHUNK_REF_UNKNOWN', 'CITATION_REQUIRED', 'SPAN_UNGROUNDED', 'SPAN_INVALID')),
    'numbersGrounded', v_numbers,
    'codes', (select coalesce(jsonb_agg(d -> 'code'), '[]') from unnest(v_diagnostics) d),
    'diagnostics', to_jsonb(v_diagnostics));
end $$;
comment on function ragdb.evaluate_answer(jsonb, jsonb) is
  'Evaluates an answer, {"query", "answer", "groundingSpans": [{"start", "end", "chunkIds", "required"}], "requireCitations", "minGroundingCoverage" (0 to 1, default 1), "minCitedChunks", "evidencePolicy", "abstained", "allowAbstain", "abstainAnswer", "lexicalSupport", "unit", "provenance"}, against a retrieval, {"query", "chunks"}: passed, status (grounded, abstained, partially_grounded, ungrounded, invalid), coverage and diagnostics. It proves reference, location and lexical support, not entailment. Raises RG442.';

-- Each marker grounds the text since the one before it; markers with nothing but punctuation between ground the same.
create or replace function ragdb._markers(answer text)
returns table (n integer, start_offset integer, end_offset integer, marker_offset integer)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_marker text := '\[[0-9]{1,6}(?:[ \t]*,[ \t]*[0-9]{1,6})*\]';
  v_from integer := 1;
  v_at integer;
  v_end integer;
  v_gap text;
begin
  loop
    v_at := regexp_instr(answer, v_marker, v_from);
    exit when coalesce(v_at, 0) = 0;
    v_end := regexp_instr(answer, v_marker, v_from, 1, 1);
    v_gap := substr(answer, v_from, v_at - v_from);
    if v_gap !~ '^[ \t.,;:!?]*$' or v_from = 1 then
      start_offset := v_from - 1 + length(v_gap) - length(regexp_replace(v_gap, '^[[:space:].!?]+', ''));
      end_offset := v_from - 1 + length(regexp_replace(v_gap, '[[:space:]]+$', ''));
    end if;
    marker_offset := v_at - 1;
    return query select m.n::integer, _markers.start_offset, _markers.end_offset, _markers.marker_offset
      from regexp_split_to_table(substr(answer, v_at + 1, v_end - v_at - 2), '[ \t]*,[ \t]*') m (n);
    v_from := v_end;
  end loop;
end $$;
comment on function ragdb._markers(text) is
  'Returns the numbers of the [n] markers of an answer, each with the range of the text it grounds and its own place, from 0.';

-- Definer: what it calls is private.
create or replace function ragdb.inline_spans(answer text, chunk_ids text[]) returns jsonb
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_marker record;
begin
  if answer is null or chunk_ids is null or array_position(chunk_ids, null) is not null then
    raise exception '% null', case when answer is null then 'answer is' else 'chunk_ids is or has a' end
      using errcode = 'RG400', detail = 'markers are numbers of chunks, from 1', hint = 'pass the ids in the order in which the chunks were numbered';
  end if;
  for v_marker in select m.* from ragdb._markers(answer) m loop
    if v_marker.n not between 1 and cardinality(chunk_ids) then
      raise exception 'marker [%] names no chunk', v_marker.n
        using errcode = 'RG442', detail = format('there are %s chunks, from 1', cardinality(chunk_ids)), hint = 'correct the marker, or pass all chunk ids';
    elsif v_marker.start_offset >= v_marker.end_offset then
      raise exception 'marker [%] has no text before it', v_marker.n
        using errcode = 'RG442', detail = 'a marker grounds the text since the one before', hint = 'put it behind what it proves';
    end if;
  end loop;
  return coalesce((
    select jsonb_agg(jsonb_build_object('start', s.start_offset, 'end', s.end_offset, 'chunkIds', s.ids, 'required', true)
      order by s.start_offset)
    from (
      select c.start_offset, c.end_offset, jsonb_agg(c.id order by c.first) as ids
      from (
        select m.start_offset, m.end_offset, chunk_ids[m.n] as id, min(m.place) as first
        from (select t.*, row_number() over () as place from ragdb._markers(answer) t) m
        group by 1, 2, 3) c
      group by c.start_offset, c.end_offset) s), '[]');
end $$;
comment on function ragdb.inline_spans(text, text[]) is
  'Returns the grounding spans (code points) that markers [1] or [1, 2] in an answer mean, given the ids of the chunks in the order of their numbers. Raises RG400, RG442.';

-- A contract's answer node as ragdb.evaluate_answer takes it. Strict, which is the default, asks for lexical support and
-- full coverage; lenient for neither unless it is declared.
create or replace function ragdb._answer_contract(declared ragdb.contract_nodes, answer text) returns jsonb
language sql stable parallel safe
return (
  select pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
    'query', (declared).keys -> 'query', 'answer', coalesce(answer, (declared).keys ->> 'answer'),
    'requireCitations', coalesce((declared).keys ->> 'requireCitations', r.citations)::boolean,
    'minGroundingCoverage', coalesce(((declared).keys ->> 'minGroundingCoverage')::float8, case r.policy when 'lenient' then 0 else 1 end),
    'lexicalSupport', coalesce(((declared).keys ->> 'lexicalSupport')::boolean, r.policy is distinct from 'lenient'),
    'minCitedChunks', ((declared).keys ->> 'minCitedChunks')::integer,
    'evidencePolicy', pg_catalog.jsonb_build_object('minRetrievedChunks', ((declared).keys ->> 'minRetrievedChunks')::integer, 'minTopScore', ((declared).keys ->> 'minTopScore')::float8),
    'allowAbstain', ((declared).keys ->> 'allowAbstain')::boolean, 'abstainAnswer', (declared).keys -> 'abstainAnswer',
    'abstained', (declared).keys ? 'abstainAnswer' and coalesce(answer, (declared).keys ->> 'answer') = (declared).keys ->> 'abstainAnswer',
    'groundingSpans', coalesce((
      select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('start', (s.keys ->> 'start')::integer, 'end', (s.keys ->> 'end')::integer,
        'chunkIds', pg_catalog.to_jsonb(ragdb._list(s.keys ->> 'chunks')), 'required', coalesce((s.keys ->> 'required')::boolean, false)) order by s.node_no)
      from ragdb.contract_nodes s where s.contract = (declared).contract and s.version = (declared).version and s.parent_no = (declared).node_no and s.node = 'answerSpan'), '[]')))
  from (select pg_catalog.max(g.keys ->> 'policy') as policy,
      case when pg_catalog.bool_or(coalesce(g.keys ->> 'requireCitations', g.keys ->> 'citations') = 'true') then 'true' end as citations
    from ragdb.contract_nodes g where g.contract = (declared).contract and g.version = (declared).version
      and g.node in ('rag', 'grounding') and g.rag = (declared).rag) r);
comment on function ragdb._answer_contract(ragdb.contract_nodes, text) is
  'Returns a ragAnswerContract of a contract, for its own answer or another, as ragdb.evaluate_answer takes it.';

-- What a rag may use of what was retrieved: whole chunks in rank order while they fit its maxContext (code points), the
-- next one cut, none after it.
create or replace function ragdb._rag_context(query text, hits ragdb.eval_hit[], max_context integer) returns jsonb
language sql stable parallel safe
return pg_catalog.jsonb_build_object('query', query, 'chunks', coalesce((
  select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('id', h.chunk_id, 'source', h.source, 'score', h.score,
    'citation', coalesce(h.citation, '{}'), 'text', pg_catalog.left(h.text, coalesce(max_context, 2147483647) - h.before::integer)) order by h.rank)
  from (select u.*, coalesce(pg_catalog.sum(pg_catalog.length(u.text)) over (order by u.rank rows between unbounded preceding and 1 preceding), 0) as before
    from pg_catalog.unnest(hits) u) h
  where h.before < coalesce(max_context, 2147483647)), '[]'));
comment on function ragdb._rag_context(text, ragdb.eval_hit[], integer) is
  'Returns retrieved chunks as JSON, cut to a rag''s maxContext in code points.';

---- sql/65_evaluation.sql

-- Evaluation: cases and labels, runs through the contract's retriever, metrics.

comment on table ragdb.eval_cases is 'Cases of an eval that came from files, beside those that its contract declares.';
comment on column ragdb.eval_cases.corpus_id is 'Corpus of the rag.';
comment on column ragdb.eval_cases.rag is 'The rag.';
comment on column ragdb.eval_cases.eval is 'The eval.';
comment on column ragdb.eval_cases.name is 'Name of the case: the id of its query.';
comment on column ragdb.eval_cases.ordinal is 'Place in the file, from 1.';
comment on column ragdb.eval_cases.query is 'The query.';
comment on column ragdb.eval_cases.tags is 'Tags to choose it by.';
comment on table ragdb.eval_labels is 'What a case should find: a document, or a span of one however it is cut into chunks.';
comment on column ragdb.eval_labels.corpus_id is 'Corpus of the case.';
comment on column ragdb.eval_labels.rag is 'Rag of the case.';
comment on column ragdb.eval_labels.eval is 'Eval of the case.';
comment on column ragdb.eval_labels.name is 'The case.';
comment on column ragdb.eval_labels.label_no is 'Number of the label in its case, from 1.';
comment on column ragdb.eval_labels.source is 'Uri or external id of the document.';
comment on column ragdb.eval_labels.start_offset is 'First character of the span, from 0; null for the whole document.';
comment on column ragdb.eval_labels.end_offset is 'Character behind the span.';
comment on column ragdb.eval_labels.grade is 'How relevant; 0 and less is judged and not relevant.';
comment on column ragdb.eval_labels.span_hash is 'Sha256 of the characters of the span that are no white space, when it was labelled.';
comment on table ragdb.eval_runs is 'One row per run of an eval, with all that decides whether two of them can be compared.';
comment on column ragdb.eval_runs.corpus_id is 'Corpus that was searched.';
comment on column ragdb.eval_runs.run_id is 'UUID of version 7.';
comment on column ragdb.eval_runs.created_at is 'When it began.';
comment on column ragdb.eval_runs.corpus is 'Name of the corpus.';
comment on column ragdb.eval_runs.corpus_version is 'Version of the corpus.';
comment on column ragdb.eval_runs.documents_hash is 'Sha256 (hex) of the cids of its documents in order: the same however they are cut.';
comment on column ragdb.eval_runs.contract is 'The contract.';
comment on column ragdb.eval_runs.contract_version is 'Version of the contract that was in force.';
comment on column ragdb.eval_runs.rag is 'The rag.';
comment on column ragdb.eval_runs.eval is 'The eval.';
comment on column ragdb.eval_runs.retriever is 'Retriever of the rag.';
comment on column ragdb.eval_runs.rank_mode is 'How it ranked: lexical, semantic, hybrid or reference.';
comment on column ragdb.eval_runs.top_k is 'Its topK.';
comment on column ragdb.eval_runs.min_score is 'Its minScore.';
comment on column ragdb.eval_runs.embedding_model is 'Model of its embed; null without one.';
comment on column ragdb.eval_runs.ranking_hash is 'Hash of how the corpus ranked.';
comment on column ragdb.eval_runs.semantics_version is 'Version of what assertions and metrics mean.';
comment on column ragdb.eval_runs.label is 'What the caller called the run.';
comment on column ragdb.eval_runs.tags is 'Tags that chose its cases; null for all.';
comment on column ragdb.eval_runs.metric is 'Metric of the eval; null without one.';
comment on column ragdb.eval_runs.threshold is 'What the metric has to reach.';
comment on column ragdb.eval_runs.metric_value is 'What it was; null when nothing could be measured.';
comment on column ragdb.eval_runs.cases is 'Cases and answer contracts that ran.';
comment on column ragdb.eval_runs.passed_cases is 'Those that passed.';
comment on column ragdb.eval_runs.assertions is 'Assertions evaluated.';
comment on column ragdb.eval_runs.passed_assertions is 'Those that passed.';
comment on column ragdb.eval_runs.stale_labels is 'Labels that no longer resolve.';
comment on column ragdb.eval_runs.status is 'passed, failed, or empty when no case was chosen.';
comment on column ragdb.eval_runs.reasons is 'Why it failed beyond its cases.';
comment on column ragdb.eval_runs.elapsed_ms is 'Milliseconds of the whole run.';
comment on column ragdb.eval_runs.caller is 'Role that ran it.';
comment on table ragdb.eval_case_results is 'What became of the cases of a run.';
comment on column ragdb.eval_case_results.corpus_id is 'Corpus of the run.';
comment on column ragdb.eval_case_results.run_id is 'The run.';
comment on column ragdb.eval_case_results.case_no is 'Place in the run, from 1.';
comment on column ragdb.eval_case_results.kind is 'case, or answer for an answer contract.';
comment on column ragdb.eval_case_results.name is 'Name of the case.';
comment on column ragdb.eval_case_results.query is 'Its query.';
comment on column ragdb.eval_case_results.tags is 'Its tags.';
comment on column ragdb.eval_case_results.status is 'passed, failed, or error when something of it could not be evaluated.';
comment on column ragdb.eval_case_results.trace_id is 'Trace of the retrieval; null when that failed.';
comment on column ragdb.eval_case_results.elapsed_ms is 'Milliseconds of the retrieval.';
comment on column ragdb.eval_case_results.error_code is 'SQLSTATE of a retrieval that failed.';
comment on column ragdb.eval_case_results.hits is 'Chunks retrieved.';
comment on column ragdb.eval_case_results.labels is 'Labels of the case.';
comment on column ragdb.eval_case_results.stale_labels is 'Those of them that no longer resolve.';
comment on table ragdb.eval_assert_results is 'Outcome of every assertion of a run.';
comment on column ragdb.eval_assert_results.corpus_id is 'Corpus of the run.';
comment on column ragdb.eval_assert_results.run_id is 'The run.';
comment on column ragdb.eval_assert_results.case_no is 'The case.';
comment on column ragdb.eval_assert_results.assert_no is 'Place in the case, from 1.';
comment on column ragdb.eval_assert_results.kind is 'Kind of assertion; expected.… is a field of the case, label a label, a code of a diagnostic for an answer.';
comment on column ragdb.eval_assert_results.required is 'Whether its failure fails the case.';
comment on column ragdb.eval_assert_results.passed is 'Whether it passed.';
comment on column ragdb.eval_assert_results.code is 'PASS, ASSERTION_FAIL, INVALID_ASSERTION, UNSUPPORTED_ASSERTION, RETRIEVER_ERROR or STALE_LABEL.';
comment on column ragdb.eval_assert_results.message is 'What was expected, or why it could not be evaluated.';
comment on column ragdb.eval_assert_results.expected is 'The value expected.';
comment on column ragdb.eval_assert_results.actual is 'The value found.';
comment on table ragdb.eval_metrics is 'Metrics of a run and of each of its cases.';
comment on column ragdb.eval_metrics.corpus_id is 'Corpus of the run.';
comment on column ragdb.eval_metrics.run_id is 'The run.';
comment on column ragdb.eval_metrics.case_no is 'The case; 0 for the run as a whole.';
comment on column ragdb.eval_metrics.metric is 'Name, such as ndcg@10.';
comment on column ragdb.eval_metrics.value is 'Value, 0 to 1.';
comment on table ragdb.eval_items is 'What was ranked, as labels see it: a document, or a labelled span, once.';
comment on column ragdb.eval_items.corpus_id is 'Corpus of the run.';
comment on column ragdb.eval_items.run_id is 'The run.';
comment on column ragdb.eval_items.case_no is 'The case.';
comment on column ragdb.eval_items.rank is 'Place among the items, from 1.';
comment on column ragdb.eval_items.item is 'Document, span or chunk.';
comment on column ragdb.eval_items.grade is 'Grade of its label; null when nobody judged it.';
comment on table ragdb.eval_baselines is 'Runs that later ones are compared with.';
comment on column ragdb.eval_baselines.corpus_id is 'Corpus of the run.';
comment on column ragdb.eval_baselines.rag is 'The rag.';
comment on column ragdb.eval_baselines.eval is 'The eval.';
comment on column ragdb.eval_baselines.name is 'Name of the baseline.';
comment on column ragdb.eval_baselines.run_id is 'The run.';
comment on column ragdb.eval_baselines.blessed_at is 'When it was blessed.';
comment on column ragdb.eval_baselines.blessed_by is 'Role that blessed it.';
comment on column ragdb.eval_baselines.reason is 'Why.';

-- ── labels ──────────────────────────────────────────────────────────────────────────────────────────

do $$ begin
  if pg_catalog.to_regtype('ragdb.eval_label') is null then
    create type ragdb.eval_label as (
      case_no integer, label_no integer, source text, start_offset integer, end_offset integer, grade integer,
      span_hash bytea, doc_no integer, is_stale boolean);
  end if;
end $$;
comment on type ragdb.eval_label is 'A label of a case, and the document that it is of now.';

-- Chunks overlap, and leave white space between them out: neither may matter.
create or replace function ragdb._span_hash(corpus_id integer, doc_no integer, start_offset integer, end_offset integer) returns bytea
language sql stable parallel safe
return (
  select pg_catalog.sha256(ragdb._utf8(ragdb._without_space(pg_catalog.string_agg(
    pg_catalog.substr(c.text, greatest(c.start_offset, _span_hash.start_offset, c.covered) - c.start_offset + 1,
      greatest(0, least(c.end_offset, _span_hash.end_offset) - greatest(c.start_offset, _span_hash.start_offset, c.covered))), '' order by c.start_offset, c.end_offset))))
  from (
    select k.*, coalesce(pg_catalog.max(k.end_offset) over (order by k.start_offset, k.end_offset, k.ordinal
      rows between unbounded preceding and 1 preceding), 0) as covered
    from ragdb.chunks k where k.corpus_id = _span_hash.corpus_id and k.doc_no = _span_hash.doc_no
      and k.start_offset < _span_hash.end_offset and k.end_offset > _span_hash.start_offset) c);
comment on function ragdb._span_hash(integer, integer, integer, integer) is
  'Returns the sha256 of the characters, white space left out, that the chunks of a document have in a span; null when they have none.';

create or replace function ragdb._document_of(corpus_id integer, source text) returns integer
language sql stable parallel safe
return coalesce(
  (select s.doc_no from ragdb.document_sources s where s.corpus_id = _document_of.corpus_id and s.uri = _document_of.source),
  (select d.doc_no from ragdb.documents d where d.corpus_id = _document_of.corpus_id and d.external_id = _document_of.source order by d.doc_no limit 1));
comment on function ragdb._document_of(integer, text) is 'Returns the document of a uri or external id; null when there is none.';

create or replace function ragdb._resolved_labels(corpus_id integer, labels ragdb.eval_label[]) returns ragdb.eval_label[]
language sql stable parallel safe
return array(
  select row(l.case_no, l.label_no, l.source, l.start_offset, l.end_offset, l.grade, l.span_hash, l.doc_no,
    l.doc_no is null or l.span_hash is distinct from case when l.start_offset is not null
      then ragdb._span_hash(_resolved_labels.corpus_id, l.doc_no, l.start_offset, l.end_offset) end)::ragdb.eval_label
  from (select u.case_no, u.label_no, u.source, u.start_offset, u.end_offset, u.grade, u.span_hash, d.doc_no
    from pg_catalog.unnest(_resolved_labels.labels) u
      left join (select n.source, ragdb._document_of(_resolved_labels.corpus_id, n.source) as doc_no
        from (select distinct x.source from pg_catalog.unnest(_resolved_labels.labels) x) n) d on d.source = u.source) l);
comment on function ragdb._resolved_labels(integer, ragdb.eval_label[]) is
  'Returns labels with their documents; is_stale where that is gone or the text of the span is another.';

-- A document counts once, and so does a labelled span; what nobody judged is a document too, or a chunk where the case
-- labels spans.
create or replace function ragdb._label_items(corpus_id integer, hits ragdb.eval_hit[], labels ragdb.eval_label[])
returns setof ragdb.eval_item
language sql stable parallel safe
begin atomic
  with h as materialized (
    select u.case_no, u.rank, u.chunk_id, u.source, u.start_offset, u.end_offset, d.doc_no, d.external_id
    from pg_catalog.unnest(hits) u
      left join ragdb.documents d on d.corpus_id = _label_items.corpus_id and d.doc_cid = u.doc_cid
  ), l as materialized (
    select u.* from pg_catalog.unnest(labels) u where not u.is_stale
  ), spans as materialized (select distinct l.case_no from l where l.start_offset is not null
  ), pairs as materialized (
    select h.case_no, h.rank, h.chunk_id, l.label_no, l.grade, l.source
      || case when l.start_offset is null then '' else '#' || l.start_offset || '-' || l.end_offset end as item
    from h join l on l.case_no = h.case_no and l.doc_no = h.doc_no
    where l.start_offset is null or (l.start_offset < h.end_offset and h.start_offset < l.end_offset)
  ), found as (
    select p.case_no, pg_catalog.min(p.rank) as rank, p.label_no, p.item, p.grade from pairs p group by p.case_no, p.label_no, p.item, p.grade
    union all
    select x.case_no, pg_catalog.min(x.rank), 0, x.item, null
    from (select h.case_no, h.rank, case when s.case_no is not null then h.chunk_id else coalesce(h.external_id, h.source) end as item
      from h left join spans s on s.case_no = h.case_no
      where not exists (select from pairs p where p.case_no = h.case_no and p.rank = h.rank)) x
    group by x.case_no, x.item
  )
  select f.case_no, (pg_catalog.row_number() over (partition by f.case_no order by f.rank, f.label_no))::integer, f.item, f.grade, array[f.label_no]
  from found f;
end;
comment on function ragdb._label_items(integer, ragdb.eval_hit[], ragdb.eval_label[]) is
  'Returns the ranking of some cases as their labels see it.';

create or replace function ragdb._label_grades(labels ragdb.eval_label[]) returns jsonb
language sql immutable parallel safe
return (select coalesce(pg_catalog.jsonb_object_agg(g.case_no, g.grades), '{}') from (
  select l.case_no, pg_catalog.jsonb_agg(l.grade order by l.grade desc) as grades
  from pg_catalog.unnest(_label_grades.labels) l where not l.is_stale group by l.case_no) g);
comment on function ragdb._label_grades(ragdb.eval_label[]) is
  'Returns the grades of the labels of each case that are not stale, best first, under its number.';

-- ── cases ───────────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb._eval_node(rag text, eval text) returns ragdb.contract_nodes
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rag ragdb.contract_nodes := ragdb._contract_node('rag', rag);
  v_names text[];
  v_eval ragdb.contract_nodes;
begin
  v_names := array(select n.name from ragdb.contract_nodes n
    where n.contract = v_rag.contract and n.version = v_rag.version and n.node = 'ragEval' and n.rag = v_rag.name order by n.node_no);
  if eval is null and cardinality(v_names) <> 1 then
    raise exception 'rag % has % evals', ragdb._quote(rag), cardinality(v_names)
      using errcode = 'RG441', detail = 'one has to be named' || coalesce(': ' || nullif(array_to_string(v_names, ', '), ''), ''),
            hint = 'pass eval, or declare a ragEval in the contract';
  end if;
  select n.* into v_eval from ragdb.contract_nodes n
    where n.contract = v_rag.contract and n.version = v_rag.version and n.node = 'ragEval' and n.rag = v_rag.name
      and n.name = coalesce(eval, v_names[1]);
  if not found then
    raise exception 'rag % has no eval %', ragdb._quote(rag), ragdb._quote(eval)
      using errcode = 'RG441', detail = 'its evals are ' || coalesce(nullif(array_to_string(v_names, ', '), ''), 'none'),
            hint = coalesce('did you mean ' || ragdb._nearest_name(eval, v_names) || '?', 'declare a ragEval in the contract');
  end if;
  return v_eval;
end $$;
comment on function ragdb._eval_node(text, text) is
  'Returns an eval of a rag; its only one when none is named. Raises RG441.';

create or replace function ragdb._eval_cases(declared ragdb.contract_nodes, corpus_id integer, tags text[])
returns table (case_no integer, name text, query text, tags text[], k integer, min_score float8, anchor text, policy text,
  expected jsonb, asserts jsonb, is_imported boolean)
language sql stable parallel safe
begin atomic
  -- once, not for each case
  with a as materialized (
    select n.parent_no, pg_catalog.jsonb_agg(n.keys order by n.node_no) as asserts from ragdb.contract_nodes n
    where n.contract = (declared).contract and n.version = (declared).version and n.node = 'ragAssert' group by n.parent_no)
  select pg_catalog.row_number() over (order by x.is_imported, x.ordinal)::integer, x.name, x.query, x.tags, x.k, x.min_score, x.anchor, x.policy,
    x.expected, x.asserts, x.is_imported
  from (
    select false as is_imported, c.node_no as ordinal, c.name, c.keys ->> 'query' as query, ragdb._list(coalesce(c.keys ->> 'tags', '')) as tags,
      (c.keys ->> 'topK')::integer as k, (c.keys ->> 'minScore')::float8 as min_score, c.keys ->> 'anchor' as anchor, c.keys ->> 'policy' as policy,
      pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('topK', (c.keys ->> 'topK')::integer, 'minScore', (c.keys ->> 'minScore')::float8,
        'chunkCount', (c.keys ->> 'chunkCount')::integer, 'sources', case when c.keys ? 'sources' then pg_catalog.to_jsonb(ragdb._list(c.keys ->> 'sources')) end)) as expected,
      coalesce(a.asserts, '[]') as asserts
    from ragdb.contract_nodes c
      left join a on a.parent_no = c.node_no
    where c.contract = (declared).contract and c.version = (declared).version and c.parent_no = (declared).node_no and c.node = 'ragCase'
    union all
    select true, i.ordinal, i.name, i.query, i.tags, null, null, null, null, '{}', '[]'
    from ragdb.eval_cases i where i.corpus_id = _eval_cases.corpus_id and i.rag = (declared).rag and i.eval = (declared).name
  ) x
  where _eval_cases.tags is null or x.tags && _eval_cases.tags;
end;
comment on function ragdb._eval_cases(ragdb.contract_nodes, integer, text[]) is
  'Returns the cases of an eval, declared and imported, that have one of the tags (null: all).';

create or replace function ragdb._case_labels(declared ragdb.contract_nodes, corpus_id integer, case_no integer, name text, expected jsonb, is_imported boolean)
returns setof ragdb.eval_label
language sql stable parallel safe
begin atomic
  select _case_labels.case_no, s.n::integer, s.source, null::integer, null::integer, 1, null::bytea, null::integer, null::boolean
  from pg_catalog.jsonb_array_elements_text(coalesce(expected -> 'sources', '[]')) with ordinality s (source, n)
  union all
  select _case_labels.case_no, l.label_no, l.source, l.start_offset, l.end_offset, l.grade, l.span_hash, null, null
  from ragdb.eval_labels l where _case_labels.is_imported and l.corpus_id = _case_labels.corpus_id
    and l.rag = (declared).rag and l.eval = (declared).name and l.name = _case_labels.name;
end;
comment on function ragdb._case_labels(ragdb.contract_nodes, integer, integer, text, jsonb, boolean) is
  'Returns the labels of a case: its sources, or those that were imported.';

create or replace function ragdb.import_eval(rag text, eval text, cases jsonb)
returns table (case_count integer, label_count integer, stale_labels integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_eval ragdb.contract_nodes := ragdb._eval_node(rag, eval);
  v_rag ragdb.contract_nodes := ragdb._contract_node('rag', rag);
  v_settings ragdb.retriever_settings := ragdb._retriever_settings(ragdb._contract_node('retriever', v_rag.keys ->> 'retriever'));
  v_corpus ragdb.corpora := ragdb._open_corpus(v_settings.corpus, 'write');
  v_wrong record;
begin
  if jsonb_typeof(cases) is distinct from 'array' then
    raise exception 'cases is no list'
      using errcode = 'RG442', detail = 'it is ' || coalesce(jsonb_typeof(cases), 'null'),
            hint = '[{"name", "query", "tags": […], "labels": [{"source", "start", "end", "grade"}]}]';
  end if;
  for v_wrong in
    select c.n, case
      when jsonb_typeof(c.v) <> 'object' then 'is no object'
      when coalesce(c.v ->> 'name', '') !~ '\S' then 'has no name'
      when coalesce(c.v ->> 'query', '') !~ '\S' then 'has no query'
      when jsonb_typeof(coalesce(c.v -> 'tags', '[]')) <> 'array' or jsonb_typeof(coalesce(c.v -> 'labels', '[]')) <> 'array' then 'has tags or labels that are no list'
      when row_number() over (partition by c.v ->> 'name' order by c.n) > 1 then 'has the name of another'
      when exists (select from jsonb_array_elements(coalesce(c.v -> 'labels', '[]')) l
        where jsonb_typeof(l) <> 'object' or coalesce(l ->> 'source', '') !~ '\S' or ragdb._whole(coalesce(l ->> 'grade', '1'), -1000, 1000) is null
          or (l ->> 'start' is null) <> (l ->> 'end' is null)
          or (l ->> 'start' is not null and coalesce(ragdb._whole(l ->> 'start', 0, 1e9) >= ragdb._whole(l ->> 'end', 0, 1e9), true)))
        then 'has a label without a source, a whole grade, or a span 0 <= start < end'
    end as why
    from jsonb_array_elements(cases) with ordinality c (v, n) order by c.n
  loop
    continue when v_wrong.why is null;
    raise exception 'case % %', v_wrong.n, v_wrong.why
      using errcode = 'RG442', detail = 'nothing was imported', hint = '[{"name", "query", "tags": […], "labels": [{"source", "start", "end", "grade"}]}]';
  end loop;
  -- what is imported takes the place of what was
  delete from ragdb.eval_cases c where c.corpus_id = v_corpus.corpus_id and c.rag = v_eval.rag and c.eval = v_eval.name;
  insert into ragdb.eval_cases (corpus_id, rag, eval, name, ordinal, query, tags)
    select v_corpus.corpus_id, v_eval.rag, v_eval.name, c.v ->> 'name', c.n, c.v ->> 'query',
      array(select t from jsonb_array_elements_text(coalesce(c.v -> 'tags', '[]')) t)
    from jsonb_array_elements(cases) with ordinality c (v, n);
  get diagnostics case_count = row_count;
  insert into ragdb.eval_labels (corpus_id, rag, eval, name, label_no, source, start_offset, end_offset, grade, span_hash)
    select v_corpus.corpus_id, v_eval.rag, v_eval.name, c.v ->> 'name', l.n, l.v ->> 'source', (l.v ->> 'start')::integer, (l.v ->> 'end')::integer,
      coalesce((l.v ->> 'grade')::integer, 1),
      -- a span that cannot be found has no text, and is stale until it has
      case when l.v ->> 'start' is not null then coalesce(ragdb._span_hash(v_corpus.corpus_id,
        ragdb._document_of(v_corpus.corpus_id, l.v ->> 'source'), (l.v ->> 'start')::integer, (l.v ->> 'end')::integer), '') end
    from jsonb_array_elements(cases) c (v) cross join lateral jsonb_array_elements(coalesce(c.v -> 'labels', '[]')) with ordinality l (v, n);
  get diagnostics label_count = row_count;
  select count(*) filter (where l.is_stale) into stale_labels
    from unnest(ragdb._resolved_labels(v_corpus.corpus_id, array(
      select row(0, l.label_no, l.source, l.start_offset, l.end_offset, l.grade, l.span_hash, null, null)::ragdb.eval_label
      from ragdb.eval_labels l where l.corpus_id = v_corpus.corpus_id and l.rag = v_eval.rag and l.eval = v_eval.name))) l;
  return next;
end $$;
comment on function ragdb.import_eval(text, text, jsonb) is
  'Gives an eval of a contract cases with labels, [{"name", "query", "tags", "labels": [{"source", "start", "end", "grade"}]}], in place of those imported before; a label is of a document (uri or external id) or of a span of its characters, and survives another chunking. Raises RG400, RG401, RG441, RG442.';

-- ── a run ───────────────────────────────────────────────────────────────────────────────────────────

do $$ begin
  if pg_catalog.to_regtype('ragdb.eval_setting') is null then
    create type ragdb.eval_setting as (
      rag ragdb.contract_nodes, eval ragdb.contract_nodes, retriever ragdb.contract_nodes, settings ragdb.retriever_settings,
      corpus ragdb.corpora, metric text, threshold float8, max_context integer);
    create type ragdb.eval_retrieval as (outcome ragdb.eval_case, hits ragdb.eval_hit[]);
    create type ragdb.eval_measure as (case_no integer, metric text, value float8);
  end if;
end $$;
comment on type ragdb.eval_setting is 'All that a run rests on: nodes of the contract, the retriever''s settings, the corpus.';
comment on type ragdb.eval_retrieval is 'A case with what was retrieved for it.';
comment on type ragdb.eval_measure is 'A metric of a case; case 0 is the run.';

create or replace function ragdb._eval_setting(rag text, eval text) returns ragdb.eval_setting
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting ragdb.eval_setting;
begin
  v_setting.rag := ragdb._contract_node('rag', rag);
  v_setting.eval := ragdb._eval_node(rag, eval);
  v_setting.retriever := ragdb._contract_node('retriever', (v_setting.rag).keys ->> 'retriever');
  v_setting.settings := ragdb._open_retriever(v_setting.retriever, null);
  v_setting.corpus := ragdb._open_corpus((v_setting.settings).corpus, 'read');
  v_setting.metric := ragdb._eval_metric((v_setting.eval).keys ->> 'metric');
  v_setting.threshold := ((v_setting.eval).keys ->> 'threshold')::float8;
  select (g.keys ->> 'maxContext')::integer into v_setting.max_context from ragdb.contract_nodes g
    where g.contract = (v_setting.rag).contract and g.version = (v_setting.rag).version and g.node = 'grounding' and g.rag = (v_setting.rag).name;
  return v_setting;
end $$;
comment on function ragdb._eval_setting(text, text) is
  'Returns what a run of an eval rests on. Raises RG404, RG417, RG441.';

-- Named conditions only: a deadlock or a full disk is no verdict on a retriever.
create or replace function ragdb._retrieve_case(
  setting ragdb.eval_setting, case_no integer, name text, query text, k integer, min_score float8, anchor text, policy text)
returns ragdb.eval_retrieval
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_outcome ragdb.eval_case;
  v_hits ragdb.eval_hit[] := '{}';
begin
  v_outcome.case_no := case_no;
  v_outcome.query := query;
  v_outcome.fact_id := concat_ws(':', (setting.rag).name, (setting.eval).name, name);
  begin
    if anchor is null then
      select coalesce(array_agg(row(_retrieve_case.case_no, h.rank, h.chunk_id, h.source, h.text, coalesce(h.citation, jsonb_build_object('uri', h.source)),
          h.score, h.content_hash, c.token_count, h.doc_cid, h.start_offset, h.end_offset)::ragdb.eval_hit order by h.rank), '{}')
        into v_hits
        from ragdb._retrieve((setting.settings).corpus, query, coalesce(k, (setting.settings).k), (setting.settings).mode,
            coalesce(min_score, (setting.settings).min_score), client => 'ragdb eval',
            retriever => (setting.retriever).name, rag => (setting.rag).name) h
          left join ragdb.chunks c on c.corpus_id = (setting.corpus).corpus_id and c.chunk_id = h.chunk_id;
    else
      select coalesce(array_agg(row(_retrieve_case.case_no, h.rank, h.chunk_id, h.source, h.text, coalesce(h.citation, jsonb_build_object('uri', h.source)),
          h.score, h.content_hash, c.token_count, d.doc_cid, c.start_offset, c.end_offset)::ragdb.eval_hit order by h.rank), '{}')
        into v_hits
        from ragdb.retrieve_slice((setting.settings).corpus, query, anchor => anchor,
            policy => case when policy is not null then jsonb_build_object('policy_id', policy) end,
            k => coalesce(k, (setting.settings).k), mode => (setting.settings).mode,
            min_score => coalesce(min_score, (setting.settings).min_score), client => 'ragdb eval') h
          left join ragdb.chunks c on c.corpus_id = (setting.corpus).corpus_id and c.chunk_id = h.chunk_id
          left join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no;
    end if;
    v_outcome.trace_id := ragdb.last_trace_id();
    v_outcome.elapsed_ms := (ragdb._open_trace(v_outcome.trace_id)).elapsed_ms;
  exception when sqlstate 'RG000' or data_exception then
    v_hits := '{}';
    v_outcome.trace_id := null;
    v_outcome.error_code := sqlstate;
    v_outcome.error := format('RAG eval case ''%s'' retriever failed: %s.', name, sqlerrm);
  end;
  return row(v_outcome, v_hits)::ragdb.eval_retrieval;
end $$;
comment on function ragdb._retrieve_case(ragdb.eval_setting, integer, text, text, integer, float8, text, text) is
  'Retrieves for a case through the retriever of a run, leaving a trace; a retriever that raises is noted, not raised.';

-- Case 0 is the run. The hit rate and the grounding are KERN's; the rank metrics those of trec_eval.
create or replace function ragdb._case_measures(
  cases ragdb.eval_case[], hits ragdb.eval_hit[], items ragdb.eval_item[], grades jsonb, results ragdb.eval_assert_result[], depth integer)
returns setof ragdb.eval_measure
language sql stable parallel safe
begin atomic
  with r as materialized (select u.* from pg_catalog.unnest(results) u),
  h as materialized (select u.case_no, u.score, ragdb._is_cited(u.citation) as is_cited from pg_catalog.unnest(hits) u),
  ranked as materialized (
    select c.case_no, array(select g.v::integer from pg_catalog.jsonb_array_elements_text(grades -> c.case_no::text) with ordinality g (v, n) order by g.n) as grades,
      coalesce(i.items, '{}') as items
    from pg_catalog.unnest(cases) c
      left join (select u.case_no, pg_catalog.array_agg(u order by u.rank) as items from pg_catalog.unnest(items) u group by u.case_no) i on i.case_no = c.case_no
    where c.error is null and grades ? c.case_no::text
  )
  select r.case_no, 'hit_rate', pg_catalog.avg(r.passed::integer)::float8 from r
    where r.code in ('PASS', 'ASSERTION_FAIL')
      and r.kind in ('expected.minScore', 'expected.chunkCount', 'expected.sources', 'scoreGte', 'scoreLte', 'contains', 'sourceEq', 'sourceGlob',
        'uniqueSourcesGte', 'chunkCountEq', 'chunkHash')
      and not (r.kind in ('expected.chunkCount', 'chunkCountEq', 'uniqueSourcesGte') and r.expected #>> '{}' = '0')
    group by r.case_no
  union all select h.case_no, 'citation_coverage', pg_catalog.avg(h.is_cited::integer)::float8 from h group by h.case_no
  union all select h.case_no, 'min_relevance', pg_catalog.min(h.score) from h group by h.case_no
  union all select r.case_no, 'grounding', pg_catalog.bool_and(r.passed)::integer::float8 from r where r.kind = 'citesRequired' group by r.case_no
  union all
  select k.case_no, m.metric || case when m.k < 1000000 then '@' || m.k else '' end, ragdb._rank_metric(m.metric, m.k, k.items, k.grades)
  from ranked k cross join (
    select x.metric, d.k from pg_catalog.unnest(array['recall', 'precision', 'ndcg', 'judged']) x (metric)
      cross join (select distinct v.k from (values (5), (10), (coalesce(_case_measures.depth, 10))) v (k)) d
    union all select x.metric, 1000000 from pg_catalog.unnest(array['mrr', 'map']) x (metric)) m
  where pg_catalog.jsonb_path_exists(pg_catalog.to_jsonb(k.grades), '$[*] ? (@ > 0)');
end;
comment on function ragdb._case_measures(ragdb.eval_case[], ragdb.eval_hit[], ragdb.eval_item[], jsonb, ragdb.eval_assert_result[], integer) is
  'Returns the metrics of some cases; the rank metrics at 5, 10 and depth where a case has a label.';

create or replace function ragdb._label_results(labels ragdb.eval_label[]) returns setof ragdb.eval_assert_result
language sql immutable parallel safe
begin atomic
  select l.case_no, 0, 'label', true, false, 'STALE_LABEL',
    'label ' || ragdb._quote(l.source) || case when l.start_offset is null then '' else ' ' || l.start_offset || '..' || l.end_offset end
      || case when l.doc_no is null then ' is of no document of the corpus' else ' has another text than when it was labelled' end,
    pg_catalog.to_jsonb(l.source), null::jsonb
  from pg_catalog.unnest(labels) l where l.is_stale;
end;
comment on function ragdb._label_results(ragdb.eval_label[]) is 'Returns an outcome, STALE_LABEL, for each label that no longer resolves.';

create or replace function ragdb._documents_hash(corpus_id integer) returns text
language sql stable parallel safe
return (select pg_catalog.encode(pg_catalog.sha256(ragdb._utf8(coalesce(pg_catalog.string_agg(d.doc_cid, E'\n' order by d.doc_cid), ''))), 'hex')
  from ragdb.documents d where d.corpus_id = _documents_hash.corpus_id);
comment on function ragdb._documents_hash(integer) is 'Returns the sha256 (hex) of the cids of a corpus''s documents, in order.';

-- Writes what a batch of cases amounts to: outcomes, items, metrics.
create or replace function ragdb._write_cases(
  run ragdb.eval_runs, retrieved ragdb.eval_retrieval[], assertions ragdb.eval_assertion[], labels ragdb.eval_label[], names text[], tags jsonb, depth integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cases ragdb.eval_case[] := array(select (r).outcome from unnest(retrieved) r);
  v_hits ragdb.eval_hit[] := array(select h from unnest(retrieved) r cross join lateral unnest((r).hits) h);
  v_labels ragdb.eval_label[] := ragdb._resolved_labels(run.corpus_id, labels);
  v_items ragdb.eval_item[] := array(select i from ragdb._label_items(run.corpus_id, v_hits, v_labels) i);
  v_grades jsonb := ragdb._label_grades(v_labels);
  v_results ragdb.eval_assert_result[] := array(select r from ragdb._assert_results(v_cases, v_hits, v_items, v_grades, assertions) r)
    || array(select r from ragdb._label_results(v_labels) r);
begin
  insert into ragdb.eval_case_results (corpus_id, run_id, case_no, kind, name, query, tags, status, trace_id, elapsed_ms, error_code, hits, labels, stale_labels)
    select run.corpus_id, run.run_id, c.case_no, 'case', names[c.n], c.query, array(select t from jsonb_array_elements_text(tags -> c.n::integer - 1) t),
      case when o.is_error then 'error' when o.fails then 'failed' else 'passed' end, c.trace_id, c.elapsed_ms, c.error_code,
      coalesce(h.n, 0), coalesce(l.n, 0), coalesce(l.stale, 0)
    from unnest(v_cases) with ordinality c (case_no, fact_id, query, elapsed_ms, trace_id, error_code, error, answer, n)
      left join (select r.case_no, bool_or(r.code not in ('PASS', 'ASSERTION_FAIL')) as is_error, bool_or(ragdb._fails_case(r)) as fails
        from unnest(v_results) r group by 1) o on o.case_no = c.case_no
      left join (select x.case_no, count(*) as n from unnest(v_hits) x group by 1) h on h.case_no = c.case_no
      left join (select x.case_no, count(*) as n, count(*) filter (where x.is_stale) as stale from unnest(v_labels) x group by 1) l on l.case_no = c.case_no;
  insert into ragdb.eval_assert_results (corpus_id, run_id, case_no, assert_no, kind, required, passed, code, message, expected, actual)
    select run.corpus_id, run.run_id, r.case_no, row_number() over (partition by r.case_no order by r.n), r.kind, r.required, r.passed, r.code, r.message, r.expected, r.actual
    from unnest(v_results) with ordinality r (case_no, assert_no, kind, required, passed, code, message, expected, actual, n);
  insert into ragdb.eval_items (corpus_id, run_id, case_no, rank, item, grade)
    select run.corpus_id, run.run_id, i.case_no, i.rank, i.item, i.grade from unnest(v_items) i;
  insert into ragdb.eval_metrics (corpus_id, run_id, case_no, metric, value)
    select run.corpus_id, run.run_id, m.case_no, m.metric, m.value
    from ragdb._case_measures(v_cases, v_hits, v_items, v_grades, v_results, depth) m where m.value is not null;
end $$;
comment on function ragdb._write_cases(ragdb.eval_runs, ragdb.eval_retrieval[], ragdb.eval_assertion[], ragdb.eval_label[], text[], jsonb, integer) is
  'Evaluates some retrieved cases of a run and writes their outcomes.';

-- The run as a whole: sums and means of what its cases have, and the gate.
create or replace function ragdb._close_run(run ragdb.eval_runs, started timestamptz) returns ragdb.eval_runs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_failed integer;
begin
  insert into ragdb.eval_metrics (corpus_id, run_id, case_no, metric, value)
    select run.corpus_id, run.run_id, 0, 'hit_rate', avg(r.passed::integer) from ragdb.eval_assert_results r
      where r.corpus_id = run.corpus_id and r.run_id = run.run_id and r.code in ('PASS', 'ASSERTION_FAIL')
        and r.kind in ('expected.minScore', 'expected.chunkCount', 'expected.sources', 'scoreGte', 'scoreLte', 'contains', 'sourceEq', 'sourceGlob',
          'uniqueSourcesGte', 'chunkCountEq', 'chunkHash')
        and not (r.kind in ('expected.chunkCount', 'chunkCountEq', 'uniqueSourcesGte') and r.expected #>> '{}' = '0')
      having count(*) > 0
    union all
    select run.corpus_id, run.run_id, 0, 'citation_coverage', coalesce(sum(m.value * c.hits) / nullif(sum(c.hits), 0), 0)
      from ragdb.eval_case_results c left join ragdb.eval_metrics m on m.corpus_id = c.corpus_id and m.run_id = c.run_id and m.case_no = c.case_no and m.metric = 'citation_coverage'
      where c.corpus_id = run.corpus_id and c.run_id = run.run_id and c.kind = 'case'
    union all
    select run.corpus_id, run.run_id, 0, m.metric, case m.metric when 'min_relevance' then min(m.value) else avg(m.value order by m.case_no) end
      from ragdb.eval_metrics m where m.corpus_id = run.corpus_id and m.run_id = run.run_id and m.case_no > 0
        and m.metric not in ('hit_rate', 'citation_coverage')
      group by m.metric;
  select count(*), count(*) filter (where c.status = 'passed'), coalesce(sum(c.stale_labels), 0)
    into run.cases, run.passed_cases, run.stale_labels
    from ragdb.eval_case_results c where c.corpus_id = run.corpus_id and c.run_id = run.run_id;
  select count(*), count(*) filter (where r.passed) into run.assertions, run.passed_assertions
    from ragdb.eval_assert_results r where r.corpus_id = run.corpus_id and r.run_id = run.run_id;
  select m.value into run.metric_value from ragdb.eval_metrics m
    where m.corpus_id = run.corpus_id and m.run_id = run.run_id and m.case_no = 0 and m.metric = run.metric;
  if run.cases = 0 or not exists (select from ragdb.eval_case_results c where c.corpus_id = run.corpus_id and c.run_id = run.run_id and c.kind = 'case') then
    run.reasons := run.reasons || case when run.tags is null then 'the eval has no case' else 'no case has the tag ' || array_to_string(run.tags, ' or ') end;
    run.status := 'empty';
  else
    if run.threshold is not null and run.threshold <= 0 then
      run.reasons := run.reasons || 'threshold 0 cannot be missed'::text;
    elsif run.threshold is not null and run.metric_value is null then
      run.reasons := run.reasons || format('%s could not be measured', run.metric);
    elsif run.metric_value < run.threshold then
      run.reasons := run.reasons || format('%s is %s, below %s', run.metric, round(run.metric_value::numeric, 4), ragdb._shown(run.threshold));
    end if;
    if run.assertions = 0 and run.threshold is null then
      run.reasons := run.reasons || 'nothing is asserted: no case has an assertion, and no metric a threshold'::text;
    end if;
    if run.stale_labels > 0 and not exists (select from ragdb.eval_case_results c
        where c.corpus_id = run.corpus_id and c.run_id = run.run_id and c.labels > c.stale_labels) then
      run.reasons := run.reasons || 'all labels are stale'::text;
    end if;
    run.status := case when run.passed_cases = run.cases and run.reasons = '{}' then 'passed' else 'failed' end;
  end if;
  run.elapsed_ms := 1000 * extract(epoch from clock_timestamp() - started)::float8;
  update ragdb.eval_runs r set (metric_value, cases, passed_cases, assertions, passed_assertions, stale_labels, status, reasons, elapsed_ms)
    = (run.metric_value, run.cases, run.passed_cases, run.assertions, run.passed_assertions, run.stale_labels, run.status, run.reasons, run.elapsed_ms)
    where r.corpus_id = run.corpus_id and r.run_id = run.run_id;
  return run;
end $$;
comment on function ragdb._close_run(ragdb.eval_runs, timestamptz) is
  'Writes the metrics and the verdict of a run whose cases are written: what is vacuous fails.';

create or replace function ragdb._new_run(setting ragdb.eval_setting, tags text[], label text) returns ragdb.eval_runs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs;
begin
  v_run.corpus_id := (setting.corpus).corpus_id;
  v_run.run_id := ragdb._uuid7(ragdb._now());
  v_run.created_at := ragdb._uuid_time(v_run.run_id);
  v_run.corpus := (setting.corpus).name;
  v_run.corpus_version := (setting.corpus).version;
  v_run.documents_hash := ragdb._documents_hash(v_run.corpus_id);
  v_run.contract := (setting.rag).contract;
  v_run.contract_version := (setting.rag).version;
  v_run.rag := (setting.rag).name;
  v_run.eval := (setting.eval).name;
  v_run.retriever := (setting.retriever).name;
  v_run.rank_mode := (setting.settings).mode;
  v_run.top_k := (setting.settings).k;
  v_run.min_score := (setting.settings).min_score;
  v_run.embedding_model := case when v_run.rank_mode in ('semantic', 'hybrid') then (setting.settings).embedding_model end;
  v_run.ranking_hash := ragdb._ranking_hash(setting.corpus);
  v_run.semantics_version := 1;
  v_run.label := label;
  v_run.tags := tags;
  v_run.metric := setting.metric;
  v_run.threshold := setting.threshold;
  v_run.cases := 0;
  v_run.passed_cases := 0;
  v_run.assertions := 0;
  v_run.passed_assertions := 0;
  v_run.stale_labels := 0;
  v_run.status := 'empty';
  v_run.reasons := '{}';
  v_run.elapsed_ms := 0;
  v_run.caller := ragdb._caller();
  return v_run;
end $$;
comment on function ragdb._new_run(ragdb.eval_setting, text[], text) is 'Returns a run that begins now and has nothing yet.';

create or replace function ragdb.run_eval(rag text, eval text default null, tags text[] default null, label text default null)
returns ragdb.eval_runs
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started constant timestamptz := clock_timestamp();
  v_setting ragdb.eval_setting := ragdb._eval_setting(rag, eval);
  v_run ragdb.eval_runs := ragdb._new_run(v_setting, tags, label);
  v_depth integer := nullif(split_part(v_setting.metric, '@', 2), '')::integer;
  v_case record;
  v_answer ragdb.contract_nodes;
  v_answers jsonb := '{}';
  v_retrieved ragdb.eval_retrieval;
  v_batch ragdb.eval_retrieval[] := '{}';
  v_nos integer[] := '{}';
  v_expected jsonb[] := '{}';
  v_asserts jsonb[] := '{}';
  v_imported boolean[] := '{}';
  v_names text[] := '{}';
  v_tags jsonb := '[]';
  v_case_no integer := 0;
  v_result jsonb;
begin
  insert into ragdb.eval_runs select v_run.*;
  -- answers first: cases of the same query may assert something of them
  for v_answer in
    select n.* from ragdb.contract_nodes n
    where n.contract = v_run.contract and n.version = v_run.contract_version and n.node = 'ragAnswerContract' and n.rag = v_run.rag order by n.node_no
  loop
    v_case_no := v_case_no + 1;
    v_retrieved := ragdb._retrieve_case(v_setting, v_case_no, v_answer.name, v_answer.keys ->> 'query', null, null, null, null);
    v_result := ragdb.evaluate_answer(ragdb._answer_contract(v_answer, null), case when (v_retrieved.outcome).error is null
      then ragdb._rag_context(v_answer.keys ->> 'query', v_retrieved.hits, v_setting.max_context) else jsonb_build_object('error', (v_retrieved.outcome).error) end);
    v_answers := v_answers || jsonb_build_object(v_answer.keys ->> 'query', v_result);
    insert into ragdb.eval_case_results (corpus_id, run_id, case_no, kind, name, query, tags, status, trace_id, elapsed_ms, error_code, hits, labels, stale_labels)
      values (v_run.corpus_id, v_run.run_id, v_case_no, 'answer', v_answer.name, v_answer.keys ->> 'query', '{}',
        case when (v_result ->> 'passed')::boolean then 'passed' when (v_retrieved.outcome).error is not null then 'error' else 'failed' end,
        (v_retrieved.outcome).trace_id, (v_retrieved.outcome).elapsed_ms, (v_retrieved.outcome).error_code, cardinality(v_retrieved.hits), 0, 0);
    insert into ragdb.eval_assert_results (corpus_id, run_id, case_no, assert_no, kind, required, passed, code, message, expected, actual)
      select v_run.corpus_id, v_run.run_id, v_case_no, d.n, d.kind, true, d.code = 'PASS', d.code, d.message, v_answer.keys -> 'minGroundingCoverage', v_result -> 'groundingCoverage'
      from (
        select 1 as n, 'answer' as kind, 'PASS' as code, format('answer is %s', v_result ->> 'status') as message where (v_result ->> 'passed')::boolean
        union all
        select x.n, x.d ->> 'code', case x.d ->> 'code' when 'RETRIEVER_ERROR' then 'RETRIEVER_ERROR' else 'ASSERTION_FAIL' end,
          (x.d ->> 'message') || coalesce(' (span ' || (x.d ->> 'spanIndex') || ')', '')
        from jsonb_array_elements(v_result -> 'diagnostics') with ordinality x (d, n)) d;
    insert into ragdb.eval_metrics (corpus_id, run_id, case_no, metric, value)
      values (v_run.corpus_id, v_run.run_id, v_case_no, 'faithfulness', (v_result ->> 'groundingCoverage')::float8);
  end loop;
  for v_case in
    select c.*, count(*) over () as total from ragdb._eval_cases(v_setting.eval, v_run.corpus_id, tags) c order by c.case_no
  loop
    v_case_no := v_case_no + 1;
    v_retrieved := ragdb._retrieve_case(v_setting, v_case_no, v_case.name, v_case.query, v_case.k, v_case.min_score, v_case.anchor, v_case.policy);
    v_retrieved.outcome.answer := v_answers -> v_case.query;
    v_batch := v_batch || v_retrieved;
    v_nos := v_nos || v_case_no;
    v_expected := v_expected || v_case.expected;
    v_asserts := v_asserts || v_case.asserts;
    v_imported := v_imported || v_case.is_imported;
    v_names := v_names || v_case.name;
    v_tags := v_tags || jsonb_build_array(to_jsonb(v_case.tags));
    -- appending copies the array
    if cardinality(v_batch) = 100 or v_case.case_no = v_case.total then
      perform ragdb._write_cases(v_run, v_batch,
        array(select a from unnest(v_nos, v_expected, v_asserts) c (case_no, expected, asserts)
          cross join lateral ragdb._typed_assertions(c.case_no, c.expected, c.asserts) a),
        array(select l from unnest(v_nos, v_names, v_expected, v_imported) c (case_no, name, expected, is_imported)
          cross join lateral ragdb._case_labels(v_setting.eval, v_run.corpus_id, c.case_no, c.name, c.expected, c.is_imported) l),
        v_names, v_tags, v_depth);
      v_batch := '{}';
      v_nos := '{}';
      v_expected := '{}';
      v_asserts := '{}';
      v_imported := '{}';
      v_names := '{}';
      v_tags := '[]';
    end if;
  end loop;
  return ragdb._close_run(v_run, v_started);
end $$;
comment on function ragdb.run_eval(text, text, text[], text) is
  'Runs the cases of an eval (the only one of the rag unless named; those with one of the tags, all when null) and the answer contracts of its rag through the rag''s retriever, each retrieval recorded, and returns the run with its verdict. A case whose retriever raises has RETRIEVER_ERROR and the others go on. Raises RG404, RG417, RG441.';

-- ── reading ─────────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.get_eval_run(run_id uuid) returns ragdb.eval_runs
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs;
begin
  select r.* into v_run from ragdb.eval_runs r join ragdb.corpora c on c.corpus_id = r.corpus_id
    where r.run_id = get_eval_run.run_id and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0;
  if not found then
    raise exception 'run % does not exist', ragdb._quote(run_id::text)
      using errcode = 'RG443', detail = 'no run of that id is visible to role ' || ragdb._quote(ragdb._caller()),
            hint = 'ragdb.list_eval_runs() lists the latest';
  end if;
  return v_run;
end $$;
comment on function ragdb.get_eval_run(uuid) is 'Returns a run of an eval whose corpus the caller may read. Raises RG443.';

create or replace function ragdb.list_eval_runs(rag text default null, eval text default null, count integer default 50)
returns setof ragdb.eval_runs
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if count is null or count not between 1 and 10000 then
    raise exception 'count is %', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'count is the number of runs returned at most', hint = 'give 1 to 10000';
  end if;
  return query
    select r.* from ragdb.eval_runs r join ragdb.corpora c on c.corpus_id = r.corpus_id
    where ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0
      and (list_eval_runs.rag is null or r.rag = list_eval_runs.rag) and (list_eval_runs.eval is null or r.eval = list_eval_runs.eval)
    order by r.run_id desc limit list_eval_runs.count;
end $$;
comment on function ragdb.list_eval_runs(text, text, integer) is
  'Returns the latest runs, newest first, of one rag and eval or of all that the caller may see; count is 1 to 10000. Raises RG400.';

create or replace function ragdb.eval_case_results(run_id uuid) returns setof ragdb.eval_case_results
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  return query select c.* from ragdb.eval_case_results c
    where c.corpus_id = v_run.corpus_id and c.run_id = v_run.run_id order by c.case_no;
end $$;
comment on function ragdb.eval_case_results(uuid) is 'Returns the cases of a run in their order. Raises RG443.';

create or replace function ragdb.eval_assert_results(run_id uuid) returns setof ragdb.eval_assert_results
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  return query select a.* from ragdb.eval_assert_results a
    where a.corpus_id = v_run.corpus_id and a.run_id = v_run.run_id order by a.case_no, a.assert_no;
end $$;
comment on function ragdb.eval_assert_results(uuid) is 'Returns the outcome of every assertion of a run in their order. Raises RG443.';

create or replace function ragdb.eval_metrics(run_id uuid) returns setof ragdb.eval_metrics
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  return query select m.* from ragdb.eval_metrics m
    where m.corpus_id = v_run.corpus_id and m.run_id = v_run.run_id order by m.case_no, m.metric;
end $$;
comment on function ragdb.eval_metrics(uuid) is 'Returns the metrics of a run (case 0) and of its cases. Raises RG443.';

-- What has to be embedded before a run by meaning.
create or replace function ragdb.eval_queries(rag text, eval text default null, tags text[] default null)
returns table (corpus text, query text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting ragdb.eval_setting := ragdb._eval_setting(rag, eval);
begin
  if (v_setting.settings).mode not in ('semantic', 'hybrid') then
    return;
  end if;
  return query
    select (v_setting.corpus).name, q.query from (
      select c.query from ragdb._eval_cases(v_setting.eval, (v_setting.corpus).corpus_id, tags) c
      union
      select n.keys ->> 'query' from ragdb.contract_nodes n
      where n.contract = (v_setting.rag).contract and n.version = (v_setting.rag).version and n.node = 'ragAnswerContract' and n.rag = (v_setting.rag).name) q
    order by q.query collate "C";
end $$;
comment on function ragdb.eval_queries(text, text, text[]) is
  'Returns the queries that a run needs the embeddings of; none when its retriever ranks by words. Raises RG404, RG417, RG441.';

---- sql/66_compare.sql

-- Comparing runs: baselines, a paired test whose every bit is fixed by its seed, verdicts.

create or replace function ragdb.bless_run(run_id uuid, name text default 'main', reason text default null) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  if name is null or length(name) not between 1 and 64 then
    raise exception 'name is %', ragdb._quote(name)
      using errcode = 'RG400', detail = 'a baseline has a name of 1 to 64 characters', hint = 'leave it out for main';
  end if;
  if v_run.status = 'empty' then
    raise exception 'run % has no case', ragdb._quote(run_id::text)
      using errcode = 'RG442', detail = 'nothing can be compared with it', hint = 'bless a run that ran something';
  end if;
  perform ragdb._open_corpus(v_run.corpus, 'write');
  insert into ragdb.eval_baselines (corpus_id, rag, eval, name, run_id, blessed_at, blessed_by, reason)
    values (v_run.corpus_id, v_run.rag, v_run.eval, bless_run.name, v_run.run_id, ragdb._now(), ragdb._caller(), bless_run.reason)
    on conflict on constraint eval_baselines_name_is_unique_per_eval do update
      set run_id = excluded.run_id, blessed_at = excluded.blessed_at, blessed_by = excluded.blessed_by, reason = excluded.reason;
end $$;
comment on function ragdb.bless_run(uuid, text, text) is
  'Makes a run a baseline of its eval, in place of the one of that name. Raises RG400, RG401, RG442, RG443.';

create or replace function ragdb.baseline_run(rag text, eval text, name text default 'main') returns uuid
language sql stable parallel safe security definer
begin atomic
  select b.run_id from ragdb.eval_baselines b join ragdb.corpora c on c.corpus_id = b.corpus_id
  where b.rag = baseline_run.rag and b.eval = baseline_run.eval and b.name = baseline_run.name
    and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0;
end;
comment on function ragdb.baseline_run(text, text, text) is
  'Returns the run that is the baseline of that name of an eval; null when there is none that the caller may see.';

-- ── statistics ──────────────────────────────────────────────────────────────────────────────────────

-- Values are whole billionths: sums of whole numbers do not depend on their order. The table has, for every eight
-- differences and every byte, the sum with the signs that the bits of the byte say.
create or replace function ragdb._sign_table(differences bigint[]) returns bigint[]
language sql immutable parallel safe
return array(
  select (select coalesce(pg_catalog.sum(case when (b >> i) & 1 = 1 then _sign_table.differences[8 * g + i + 1] else -_sign_table.differences[8 * g + i + 1] end), 0)::bigint
    from pg_catalog.generate_series(0, 7) i where 8 * g + i < pg_catalog.cardinality(_sign_table.differences))
  from pg_catalog.generate_series(0, (pg_catalog.cardinality(_sign_table.differences) - 1) / 8) g cross join pg_catalog.generate_series(0, 255) b
  order by g, b);
comment on function ragdb._sign_table(bigint[]) is
  'Returns, for each eight differences and each byte, their sum with the signs of its bits.';

create or replace function ragdb._random_blocks(seed text, resamples integer, blocks integer)
returns table (replicate integer, block integer, bytes bytea)
language sql immutable parallel safe
begin atomic
  select r, b, pg_catalog.sha512(s.key || pg_catalog.int4send(r) || pg_catalog.int4send(b))
  from pg_catalog.generate_series(1, _random_blocks.resamples) r cross join pg_catalog.generate_series(0, _random_blocks.blocks - 1) b
    cross join (select pg_catalog.sha256(pg_catalog.convert_to(_random_blocks.seed, 'UTF8')) as key offset 0) s
  offset 0;
end;
comment on function ragdb._random_blocks(text, integer, integer) is
  'Returns blocks of 64 random bytes for each replicate that a seed decides: sha512 of the seed''s sha256 and the two numbers.';

-- Exact for up to 16 pairs, where all signs are tried.
create or replace function ragdb._sign_flip_p(differences bigint[], seed text, resamples integer) returns float8
language sql immutable parallel safe
return (
  with t as materialized (
    select ragdb._sign_table(_sign_flip_p.differences) as sums, (pg_catalog.cardinality(_sign_flip_p.differences) + 7) / 8 as groups,
      abs((select pg_catalog.sum(d) from pg_catalog.unnest(_sign_flip_p.differences) d)) as observed
  ), flips as (
    select pg_catalog.sum(t.sums[256 * g + pg_catalog.get_byte(r.bytes, g % 64) + 1]) as total, pg_catalog.min(t.observed) as observed
    from t cross join lateral (
      select x.replicate, x.block, x.bytes
      from ragdb._random_blocks(_sign_flip_p.seed, _sign_flip_p.resamples, (t.groups + 63) / 64) x
      where pg_catalog.cardinality(_sign_flip_p.differences) > 16
      union all
      select i, 0, pg_catalog.substr(pg_catalog.int4send(i), 4, 1) || pg_catalog.substr(pg_catalog.int4send(i), 3, 1)
      from pg_catalog.generate_series(0, (1 << pg_catalog.cardinality(_sign_flip_p.differences)) - 1) i
      where pg_catalog.cardinality(_sign_flip_p.differences) <= 16) r
      cross join lateral pg_catalog.generate_series(64 * r.block, least(64 * r.block + 63, t.groups - 1)) g
    group by r.replicate
  )
  select case when pg_catalog.cardinality(_sign_flip_p.differences) <= 16
    then pg_catalog.count(*) filter (where abs(f.total) >= f.observed) / pg_catalog.count(*)::float8
    else (1 + pg_catalog.count(*) filter (where abs(f.total) >= f.observed)) / (1 + pg_catalog.count(*))::float8 end
  from flips f);
comment on function ragdb._sign_flip_p(bigint[], text, integer) is
  'Returns the two-sided p of a paired sign-flip randomisation test of differences, in billionths; the same everywhere for the same seed.';

create or replace function ragdb._bootstrap(differences bigint[], seed text, resamples integer, out low float8, out high float8)
language sql immutable parallel safe
begin atomic
  select pg_catalog.percentile_disc(0.025) within group (order by m.total) / (1e9::float8 * pg_catalog.cardinality(_bootstrap.differences)),
    pg_catalog.percentile_disc(0.975) within group (order by m.total) / (1e9::float8 * pg_catalog.cardinality(_bootstrap.differences))
  from (
    select pg_catalog.sum(_bootstrap.differences[1 + (256 * pg_catalog.get_byte(b.bytes, 2 * (i % 32)) + pg_catalog.get_byte(b.bytes, 2 * (i % 32) + 1))
      % pg_catalog.cardinality(_bootstrap.differences)]) as total
    from ragdb._random_blocks(_bootstrap.seed || ':bootstrap', _bootstrap.resamples, (pg_catalog.cardinality(_bootstrap.differences) + 31) / 32) b
      cross join lateral pg_catalog.generate_series(32 * b.block, least(32 * b.block + 31, pg_catalog.cardinality(_bootstrap.differences) - 1)) i
    group by b.replicate) m;
end;
comment on function ragdb._bootstrap(bigint[], text, integer) is
  'Returns the percentile bootstrap interval (95 %) of the mean of differences, given in billionths; of up to 65,536 differences.';

create or replace function ragdb._incomparable(a ragdb.eval_runs, b ragdb.eval_runs) returns text[]
language sql stable parallel safe
return array(
  select k.what from (values
    (1, 'corpus', (a).corpus_id::text, (b).corpus_id::text), (2, 'documents', (a).documents_hash, (b).documents_hash),
    (3, 'embedding model', (a).embedding_model, (b).embedding_model),
    (4, 'semantics', (a).semantics_version::text, (b).semantics_version::text), (5, 'eval', (a).rag || '/' || (a).eval, (b).rag || '/' || (b).eval),
    (6, 'cases', (select pg_catalog.string_agg(pg_catalog.length(c.name) || ':' || c.name || c.query, E'\n' order by c.name, c.query) from ragdb.eval_case_results c where c.corpus_id = (a).corpus_id and c.run_id = (a).run_id and c.kind = 'case'),
      (select pg_catalog.string_agg(pg_catalog.length(c.name) || ':' || c.name || c.query, E'\n' order by c.name, c.query) from ragdb.eval_case_results c where c.corpus_id = (b).corpus_id and c.run_id = (b).run_id and c.kind = 'case'))
  ) k (n, what, of_a, of_b) where k.of_a is distinct from k.of_b order by k.n);
comment on function ragdb._incomparable(ragdb.eval_runs, ragdb.eval_runs) is
  'Returns what two runs differ in that makes their figures of different things: corpus, documents, embedding model, semantics, eval, cases.';

create or replace function ragdb.compare_runs(
  baseline uuid, run_id uuid, seed text default 'ragdb', resamples integer default 10000, tolerance float8 default 0.01)
returns table (metric text, verdict text, baseline_mean float8, run_mean float8, difference float8, low float8, high float8,
  p float8, p_holm float8, smallest_effect float8, cases integer, detail text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
  v_baseline ragdb.eval_runs;
  v_differ text[];
  v_broken text[];
begin
  if seed is null or resamples is null or resamples not between 100 and 100000 or tolerance is null or not tolerance between 0 and 1 then
    raise exception 'seed, resamples or tolerance is null or out of range'
      using errcode = 'RG400', detail = format('resamples %s, tolerance %s', resamples, tolerance), hint = 'resamples 100 to 100000, tolerance 0 to 1';
  end if;
  if baseline is null then
    return query select null::text, 'no_baseline', null::float8, null::float8, null::float8, null::float8, null::float8, null::float8, null::float8, null::float8,
      v_run.cases, 'bless a run with ragdb.bless_run()';
    return;
  end if;
  v_baseline := ragdb.get_eval_run(baseline);
  v_differ := ragdb._incomparable(v_baseline, v_run);
  -- an assertion is the same when its case, kind and expectation are
  v_broken := array(
    select format('%s: %s', c.name, x.message)
    from ragdb.eval_case_results c
      join ragdb.eval_assert_results x on x.corpus_id = c.corpus_id and x.run_id = c.run_id and x.case_no = c.case_no and x.required and not x.passed
      join ragdb.eval_case_results o on o.corpus_id = v_baseline.corpus_id and o.run_id = v_baseline.run_id and o.kind = c.kind and o.name = c.name
    where c.corpus_id = v_run.corpus_id and c.run_id = v_run.run_id
      and case when x.code in ('RETRIEVER_ERROR', 'STALE_LABEL') or c.kind = 'answer' then o.status = 'passed'
        else exists (select from ragdb.eval_assert_results y where y.corpus_id = o.corpus_id and y.run_id = o.run_id and y.case_no = o.case_no
          and y.kind = x.kind and y.expected is not distinct from x.expected and y.passed) end
    order by c.case_no, x.assert_no);
  return query
    with pairs as materialized (
      select m.metric, c.name, round(o.value * 1e9)::bigint as a, round(m.value * 1e9)::bigint as b
      from ragdb.eval_metrics m
        join ragdb.eval_case_results c on c.corpus_id = m.corpus_id and c.run_id = m.run_id and c.case_no = m.case_no
        join ragdb.eval_case_results d on d.corpus_id = v_baseline.corpus_id and d.run_id = v_baseline.run_id and d.kind = c.kind and d.name = c.name
        join ragdb.eval_metrics o on o.corpus_id = d.corpus_id and o.run_id = d.run_id and o.case_no = d.case_no and o.metric = m.metric
      where m.corpus_id = v_run.corpus_id and m.run_id = v_run.run_id and m.case_no > 0
    ), metrics as materialized (
      select x.metric, count(*)::integer as n, array_agg(x.b - x.a order by x.name collate "C") as differences,
        (sum(x.a) / (1e9 * count(*)))::float8 as a, (sum(x.b) / (1e9 * count(*)))::float8 as b, (sum(x.b - x.a) / (1e9 * count(*)))::float8 as mean,
        coalesce(sqrt(greatest(0, (sum(((x.b - x.a) / 1e9)::numeric ^ 2) - count(*) * (sum(x.b - x.a) / (1e9 * count(*))) ^ 2) / nullif(count(*) - 1, 0)))::float8, 0) as sd
      from pairs x group by x.metric
    ), tested as materialized (
      select m.*, greatest(compare_runs.tolerance, 0.02 * abs(m.a)) as bound, 2.8 * m.sd / sqrt(m.n::float8) as mde,
        case when m.sd = 0 and m.mean = 0 then 1 else ragdb._sign_flip_p(m.differences, compare_runs.seed || ':' || m.metric, compare_runs.resamples) end as p
      from metrics m
    ), holm as (
      select t.*, least(1, max(t.p * (t.k - t.i + 1)) over (order by t.i)) as p_holm from (
        select t.*, row_number() over (order by t.p, t.metric collate "C") as i, count(*) over () as k from tested t) t
    ), judged as (
      select h.metric, case
          when v_differ <> '{}' then 'incomparable' when v_run.stale_labels > 0 or v_baseline.stale_labels > 0 then 'stale_labels'
          when h.sd = 0 and h.mean = 0 then 'within_noise'
          when h.p_holm <= 0.05 and h.mean > h.bound then 'improved' when h.p_holm <= 0.05 and h.mean < -h.bound then 'regressed'
          when h.p_holm <= 0.05 or (abs(h.mean) <= h.bound and h.mde <= h.bound) then 'within_noise'
          else 'inconclusive' end as verdict,
        h.a, h.b, h.mean, s.low, h.p, h.p_holm, h.mde, h.n, s.high, h.bound
      from holm h cross join lateral ragdb._bootstrap(h.differences, compare_runs.seed || ':' || h.metric, case when h.sd = 0 then 1 else compare_runs.resamples end) s
    )
    select null::text, case
        when v_differ <> '{}' then 'incomparable' when v_run.stale_labels > 0 or v_baseline.stale_labels > 0 then 'stale_labels'
        when v_broken <> '{}' or exists (select from judged j where j.verdict = 'regressed') then 'regressed'
        when exists (select from judged j where j.verdict = 'improved') then 'improved'
        when exists (select from judged j where j.verdict = 'inconclusive') then 'inconclusive' else 'within_noise' end,
      null::float8, null::float8, null::float8, null::float8, null::float8, null::float8, null::float8, null::float8, v_run.cases,
      nullif(concat_ws('; ', 'differ in: ' || nullif(array_to_string(v_differ, ', '), ''), 'passed before and fails now: ' || nullif(array_to_string(v_broken[:5], ' | '), ''),
        case when cardinality(v_broken) > 5 then format('and %s more', cardinality(v_broken) - 5) end), '')
    union all
    (select j.metric, j.verdict, j.a, j.b, j.mean, j.low, j.high, j.p, j.p_holm, j.mde, j.n,
      case j.verdict when 'inconclusive' then format('effects below %s cannot be told from noise by %s cases', to_char(j.mde, 'FM0.0000'), j.n) end
    from judged j order by j.metric collate "C");
end $$;
comment on function ragdb.compare_runs(uuid, uuid, text, integer, float8) is
  'Compares a run with a baseline: the verdict of all (metric null) and of each metric, improved, regressed, within_noise, inconclusive, incomparable, stale_labels or no_baseline. A required assertion that passed and fails now is a regression; a metric is one by a paired sign-flip test (resamples 100 to 100000, decided by the seed, Holm over metrics) beyond the tolerance (0 to 1, at least 2 % of the baseline). Raises RG400, RG443.';

-- ── can the eval fail? ──────────────────────────────────────────────────────────────────────────────

-- What a broken retriever would have returned for the same case. `found` has more than the retriever gives, ranked on:
-- what a retriever without its limits returns.
create or replace function ragdb._broken(mutant text, found ragdb.eval_hit[], given ragdb.eval_hit[], k integer, seed text) returns ragdb.eval_hit[]
language sql immutable parallel safe
return (
  select coalesce(pg_catalog.array_agg(row(x.case_no, x.n, x.chunk_id, x.source, x.text, x.citation, x.score, x.content_hash, x.token_count,
      x.doc_cid, x.start_offset, x.end_offset)::ragdb.eval_hit order by x.n), '{}')
  from (
    select h.case_no, h.chunk_id || case when mutant = 'stale chunk' and h.rank = 1 then ':old' else '' end as chunk_id,
      case when mutant = 'source lost' then '' else h.source end as source,
      case when mutant = 'stale chunk' and h.rank = 1 then 'This text was replaced.' when mutant = 'text lost' then '' else h.text end as text,
      case when mutant = 'citation stripped' then '{}' else h.citation end as citation,
      case mutant when 'scores doubled' then least(1, 2 * h.score) when 'scores halved' then h.score / 2 when 'constant score' then 0.5 else h.score end as score,
      case when mutant = 'stale chunk' and h.rank = 1 then pg_catalog.repeat('0', 64) else h.content_hash end as content_hash,
      h.token_count, h.doc_cid, h.start_offset, h.end_offset,
      pg_catalog.row_number() over (order by case mutant when 'reversed order' then -h.rank else h.rank end,
        h.rank) as n
    from (
      select u.*, pg_catalog.row_number() over (order by case when mutant = 'random order'
        then pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(seed || u.chunk_id, 'UTF8')), 'hex') end, u.rank) as place
      from pg_catalog.unnest(case when mutant in ('one more than topK', 'threshold ignored', 'first result dropped', 'off by one page', 'wrong results') then found else given end) u) o
      cross join lateral (select o.case_no, case when mutant = 'random order' then o.place::integer else o.rank end as rank, o.chunk_id, o.source, o.text, o.citation,
        o.score, o.content_hash, o.token_count, o.doc_cid, o.start_offset, o.end_offset) h
    where case mutant
      when 'one more than topK' then h.rank <= k + 1
      when 'threshold ignored' then h.rank <= k
      when 'first result dropped' then h.rank between 2 and k + 1
      when 'last result dropped' then h.rank < pg_catalog.cardinality(given)
      when 'off by one page' then h.rank between k + 1 and 2 * k
      when 'wrong results' then h.rank > pg_catalog.cardinality(found) - k and h.rank > pg_catalog.cardinality(given)
      when 'only the first' then h.rank = 1
      when 'empty' then false
      when 'ASCII only' then h.text !~ '[^\x01-\x7f]'
      else true end
    union all
    select h.case_no, h.chunk_id || ':again', h.source, h.text, h.citation, h.score, h.content_hash, h.token_count, h.doc_cid, h.start_offset, h.end_offset,
      pg_catalog.cardinality(given) + h.rank
    from pg_catalog.unnest(given) h where mutant = 'every chunk twice'
  ) x);
comment on function ragdb._broken(text, ragdb.eval_hit[], ragdb.eval_hit[], integer, text) is
  'Returns what a broken retriever returns where a sound one gave `given`, the first of `found`.';

create or replace function ragdb._mutants() returns text[]
language sql immutable parallel safe
return array['reversed order', 'random order', 'first result dropped', 'last result dropped', 'one more than topK', 'only the first', 'threshold ignored',
  'off by one page', 'wrong results', 'citation stripped', 'source lost', 'text lost', 'stale chunk', 'scores doubled', 'scores halved', 'constant score',
  'every chunk twice', 'ASCII only', 'empty'];
comment on function ragdb._mutants() is 'Lists the broken retrievers that evals are challenged with.';

create or replace function ragdb.challenge_eval(rag text, eval text default null, tags text[] default null)
returns table (subject text, name text, applies boolean, caught boolean, count integer, caught_by text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting ragdb.eval_setting := ragdb._eval_setting(rag, eval);
  v_corpus_id integer := (v_setting.corpus).corpus_id;
  v_case record;
  v_given ragdb.eval_retrieval;
  v_cases ragdb.eval_case[] := '{}';
  v_names text[] := '{}';
  v_given_hits ragdb.eval_hit[] := '{}';
  v_found_hits ragdb.eval_hit[] := '{}';
  v_found ragdb.eval_hit[];
  v_assertions ragdb.eval_assertion[] := '{}';
  v_labels ragdb.eval_label[] := '{}';
  v_ks integer[] := '{}';
  v_grades jsonb;
  v_mutant text;
  v_hits ragdb.eval_hit[];
  v_sound integer[];
  v_failing integer[];
  v_changed integer;
  v_catching integer[] := '{}';
begin
  for v_case in select c.* from ragdb._eval_cases(v_setting.eval, v_corpus_id, tags) c order by c.case_no limit 500 loop
    v_given := ragdb._retrieve_case(v_setting, v_case.case_no, v_case.name, v_case.query, v_case.k, v_case.min_score, v_case.anchor, v_case.policy);
    v_cases := v_cases || v_given.outcome;
    v_names := v_names || v_case.name;
    v_ks := v_ks || coalesce(v_case.k, (v_setting.settings).k);
    v_given_hits := v_given_hits || v_given.hits;
    -- without limits; not recorded, because nobody was given it
    v_found := array(
      select row(v_case.case_no, h.rank, h.chunk_id, h.source, h.text, coalesce(h.citation, jsonb_build_object('uri', h.source)), h.score, h.content_hash,
        c.token_count, h.doc_cid, h.start_offset, h.end_offset)::ragdb.eval_hit
      from ragdb.search((v_setting.settings).corpus, v_case.query, least(1000, 3 * v_ks[v_case.case_no] + 1), (v_setting.settings).mode, 0) h
        join ragdb.chunks c on c.corpus_id = v_corpus_id and c.chunk_id = h.chunk_id
      where (v_given.outcome).error is null);
    v_found_hits := v_found_hits || v_found;
    v_assertions := v_assertions || array(select a from ragdb._typed_assertions(v_case.case_no, v_case.expected, v_case.asserts) a where a.kind <> 'latencyLte');
    v_labels := v_labels || array(select l from ragdb._case_labels(v_setting.eval, v_corpus_id, v_case.case_no, v_case.name, v_case.expected, v_case.is_imported) l);
  end loop;
  v_labels := ragdb._resolved_labels(v_corpus_id, v_labels);
  v_grades := ragdb._label_grades(v_labels);
  -- only a case that passes can notice anything
  v_sound := array(select c.case_no from unnest(v_cases) c except
    select r.case_no from ragdb._assert_results(v_cases, v_given_hits, array(select i from ragdb._label_items(v_corpus_id, v_given_hits, v_labels) i), v_grades, v_assertions) r
    where ragdb._fails_case(r));
  foreach v_mutant in array ragdb._mutants() loop
    select coalesce(array_agg(b order by b.case_no, b.rank), '{}') into v_hits
      from unnest(v_cases) c
        cross join lateral (select array_agg(f order by f.rank) as hits from unnest(v_found_hits) f where f.case_no = c.case_no) f
        cross join lateral (select array_agg(g order by g.rank) as hits from unnest(v_given_hits) g where g.case_no = c.case_no) g
        cross join lateral unnest(ragdb._broken(v_mutant, coalesce(f.hits, '{}'), coalesce(g.hits, '{}'), v_ks[c.case_no], c.query)) b;
    select count(*) into v_changed from (
      select h.case_no, array_agg(h order by h.rank) as hits from unnest(v_hits) h group by 1) a
      full join (select h.case_no, array_agg(h order by h.rank) as hits from unnest(v_given_hits) h group by 1) b on b.case_no = a.case_no
      where a.hits is distinct from b.hits and coalesce(a.case_no, b.case_no) = any (v_sound);
    v_failing := array(
      select distinct r.case_no from ragdb._assert_results(v_cases, v_hits, array(select i from ragdb._label_items(v_corpus_id, v_hits, v_labels) i), v_grades, v_assertions) r
      where ragdb._fails_case(r) and r.case_no = any (v_sound));
    v_catching := v_catching || v_failing;
    subject := 'retriever';
    name := v_mutant;
    applies := v_changed > 0;
    caught := v_failing <> '{}';
    count := cardinality(v_failing);
    caught_by := (select string_agg(v_names[n.case_no], ', ' order by n.case_no) from (select f.case_no from unnest(v_failing) f (case_no) order by 1 limit 5) n);
    return next;
  end loop;
  return query
    select 'case', v_names[c.case_no], c.case_no = any (v_sound), false, 0,
      case when c.case_no = any (v_sound) then 'no broken retriever' else 'it fails with the sound one' end
    from unnest(v_cases) c where c.case_no <> all (v_catching) order by c.case_no;
end $$;
comment on function ragdb.challenge_eval(text, text, text[]) is
  'Runs an eval (its first 500 cases) against 19 broken retrievers: a row for each, whether it changes any result of a case that passes (applies) and whether cases fail then (caught, count), and a row for each case that catches none. Raises RG404, RG417, RG441.';

---- sql/67_reports.sql

-- Reports of runs, from the same rows in every format.

-- One row a thing that was tested: every assertion, a case without any, the gate.
create or replace function ragdb._report_rows(run ragdb.eval_runs)
returns table (n bigint, case_no integer, name text, kind text, required boolean, passed boolean, code text, message text,
  expected jsonb, actual jsonb, elapsed_ms float8)
language sql stable parallel safe
begin atomic
  select pg_catalog.row_number() over (order by x.section, x.case_no, x.assert_no), x.case_no, x.name, x.kind, x.required, x.passed, x.code, x.message,
    x.expected, x.actual, x.elapsed_ms
  from (
    select 1 as section, c.case_no, coalesce(a.assert_no, 0) as assert_no, c.name, coalesce(a.kind, 'retrieved') as kind, coalesce(a.required, true) as required,
      coalesce(a.passed, true) as passed, coalesce(a.code, 'PASS') as code, coalesce(a.message, 'nothing is asserted') as message,
      a.expected, a.actual, case when coalesce(a.assert_no, 1) = 1 then c.elapsed_ms else 0 end as elapsed_ms
    from ragdb.eval_case_results c left join ragdb.eval_assert_results a using (corpus_id, run_id, case_no)
    where c.corpus_id = (run).corpus_id and c.run_id = (run).run_id
    union all
    select 2, 0, 0, (run).eval, 'gate', true, (run).metric_value >= (run).threshold and (run).threshold > 0,
      case when (run).metric_value >= (run).threshold and (run).threshold > 0 then 'PASS' else 'ASSERTION_FAIL' end,
      (run).metric || ' >= ' || ragdb._shown((run).threshold), pg_catalog.to_jsonb((run).threshold), pg_catalog.to_jsonb((run).metric_value), 0
    where (run).threshold is not null and (run).status <> 'empty' and (run).metric_value is not null
    union all
    select 3, 0, r.n::integer, (run).eval, 'run', true, false, 'ASSERTION_FAIL', r.reason, null, null, 0
    from pg_catalog.unnest((run).reasons) with ordinality r (reason, n)
    where not ((run).metric_value is not null and r.reason like (run).metric || ' is %')
  ) x;
end;
comment on function ragdb._report_rows(ragdb.eval_runs) is
  'Returns everything that a run tested, in order: assertions, cases without any, the gate, and why it failed beyond those.';

create or replace function ragdb._run_title(run ragdb.eval_runs) returns text
language sql stable parallel safe
return (run).rag || ' / ' || (run).eval || coalesce(' (' || (run).label || ')', '');
comment on function ragdb._run_title(ragdb.eval_runs) is 'Returns the name of a run for people.';

create or replace function ragdb._one_line(text text) returns text
language sql immutable parallel safe
return pg_catalog.regexp_replace(_one_line.text, U&'[\0001-\001F\007F-\009F\2028\2029]+', ' ', 'g');
comment on function ragdb._one_line(text) is 'Returns a text without line ends and control characters.';

create or replace function ragdb._report_table(run ragdb.eval_runs) returns text
language sql stable parallel safe
return pg_catalog.format(E'%s: %s\n%s of %s cases and %s of %s assertions passed, on %s (version %s) by %s, contract %s version %s\n',
    ragdb._run_title(run), (run).status, (run).passed_cases, (run).cases, (run).passed_assertions, (run).assertions, (run).corpus, (run).corpus_version,
    (run).rank_mode, (run).contract, (run).contract_version)
  || coalesce((
    select E'\n' || pg_catalog.string_agg(pg_catalog.rpad(case when r.passed then 'ok' when r.code not in ('PASS', 'ASSERTION_FAIL') then 'ERROR'
        when r.required then 'FAIL' else 'advisory' end, 10)
      || ragdb._one_line(r.name || ': ' || r.message || case when r.passed then '' else ', was ' || coalesce(pg_catalog.left(r.actual::text, 200), 'nothing') end), E'\n' order by r.n) || E'\n'
    from ragdb._report_rows(run) r), '')
  || coalesce((
    select E'\n' || pg_catalog.string_agg(pg_catalog.rpad(m.metric, 20) || pg_catalog.to_char(m.value, 'FM990.0000'), E'\n' order by m.metric) || E'\n'
    from ragdb.eval_metrics m where m.corpus_id = (run).corpus_id and m.run_id = (run).run_id and m.case_no = 0), '');
comment on function ragdb._report_table(ragdb.eval_runs) is 'Returns the report of a run for a terminal.';

create or replace function ragdb._report_tap(run ragdb.eval_runs) returns text
language sql stable parallel safe
return (
  select E'TAP version 13\n1..' || pg_catalog.count(*) || E'\n' || pg_catalog.string_agg(
    case when r.passed then 'ok ' else 'not ok ' end || r.n || ' - '
    || pg_catalog.replace(pg_catalog.replace(ragdb._one_line(r.name || ': ' || r.message), '\', '\\'), '#', '\#')
    || case when not r.passed and not r.required and r.code = 'ASSERTION_FAIL' then ' # TODO advisory' else '' end
    || case when r.passed then '' else pg_catalog.format(E'\n  ---\n  kind: %s\n  code: %s\n  expected: %s\n  actual: %s\n  ...',
      pg_catalog.to_json(r.kind), r.code, coalesce(r.expected, 'null'), coalesce(r.actual, 'null')) end, E'\n' order by r.n) || E'\n'
  from ragdb._report_rows(run) r);
comment on function ragdb._report_tap(ragdb.eval_runs) is 'Returns the report of a run as TAP 14; what is advisory is TODO.';

-- By hand: a server built without libxml has no xmlelement. XML 1.0 has no way to write most control characters.
create or replace function ragdb._xml(text text) returns text
language sql immutable parallel safe
return pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(
  pg_catalog.regexp_replace(_xml.text, U&'[\0001-\0008\000B\000C\000E-\001F\FFFE\FFFF]', U&'\FFFD', 'g'),
  '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), E'\n', '&#10;'), E'\r', '&#13;'), E'\t', '&#9;');
comment on function ragdb._xml(text) is 'Returns a text as it is written in XML, U+FFFD for what XML 1.0 does not allow.';

create or replace function ragdb._report_junit(run ragdb.eval_runs) returns text
language sql stable parallel safe
return (
  with r as materialized (
    select x.*, case when x.passed then 'ok' when x.code not in ('PASS', 'ASSERTION_FAIL') then 'error' when x.required then 'failure' else 'skipped' end as outcome
    from ragdb._report_rows(run) x)
  select pg_catalog.format(E'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n<testsuite name="%s" tests="%s" failures="%s" errors="%s" skipped="%s" time="%s" timestamp="%s">\n',
      ragdb._xml(ragdb._run_title(run)), pg_catalog.count(*), pg_catalog.count(*) filter (where r.outcome = 'failure'),
      pg_catalog.count(*) filter (where r.outcome = 'error'), pg_catalog.count(*) filter (where r.outcome = 'skipped'),
      pg_catalog.to_char((run).elapsed_ms / 1000, 'FM9999990.000'), pg_catalog.to_char((run).created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS'))
    || coalesce(pg_catalog.string_agg(pg_catalog.format('<testcase classname="%s" name="%s" time="%s"', ragdb._xml((run).rag || '.' || (run).eval || '.' || r.name),
        ragdb._xml(r.n || ' ' || r.message), pg_catalog.to_char(r.elapsed_ms / 1000, 'FM9999990.000'))
      || case r.outcome when 'ok' then '/>'
        when 'skipped' then pg_catalog.format('><skipped message="advisory: %s"/></testcase>', ragdb._xml(r.message))
        else pg_catalog.format('><%1$s message="%2$s" type="%3$s">was %4$s</%1$s></testcase>', r.outcome, ragdb._xml(r.message), r.code,
          ragdb._xml(coalesce(r.actual::text, 'nothing'))) end, E'\n' order by r.n) || E'\n', '')
    || E'</testsuite>\n</testsuites>\n'
  from r);
comment on function ragdb._report_junit(ragdb.eval_runs) is
  'Returns the report of a run as JUnit XML: a failed assertion is a failure, one that could not be evaluated an error, an advisory one skipped.';

create or replace function ragdb._md(text text) returns text
language sql immutable parallel safe
return pg_catalog.regexp_replace(ragdb._one_line(_md.text), '([\\`*_<>|\[\]#])', '\\\1', 'g');
comment on function ragdb._md(text) is 'Returns a text as it is written in a table of Markdown.';

create or replace function ragdb._report_md(run ragdb.eval_runs) returns text
language sql stable parallel safe
return pg_catalog.format(E'## %s: %s\n\n%s of %s cases and %s of %s assertions passed. Corpus %s, %s, contract %s version %s.\n', ragdb._md(ragdb._run_title(run)), (run).status,
    (run).passed_cases, (run).cases, (run).passed_assertions, (run).assertions, ragdb._md((run).corpus), (run).rank_mode, ragdb._md((run).contract), (run).contract_version)
  || coalesce((
    select E'\n| | case | expected | was |\n|---|---|---|---|\n' || pg_catalog.string_agg(pg_catalog.format('| %s | %s | %s | %s |',
      case when r.code not in ('PASS', 'ASSERTION_FAIL') then 'error' when r.required then 'failed' else 'advisory' end,
      ragdb._md(r.name), ragdb._md(r.message), ragdb._md(coalesce(pg_catalog.left(r.actual::text, 200), 'nothing'))), E'\n' order by r.n) || E'\n'
    from ragdb._report_rows(run) r where not r.passed), '')
  || coalesce((
    select E'\n| metric | value |\n|---|---:|\n' || pg_catalog.string_agg(pg_catalog.format('| %s | %s |', ragdb._md(m.metric), pg_catalog.to_char(m.value, 'FM990.0000')), E'\n' order by m.metric) || E'\n'
    from ragdb.eval_metrics m where m.corpus_id = (run).corpus_id and m.run_id = (run).run_id and m.case_no = 0), '');
comment on function ragdb._report_md(ragdb.eval_runs) is 'Returns the report of a run in Markdown: what did not pass, and the metrics.';

-- A formula is a text for a spreadsheet only when it does not begin like one.
create or replace function ragdb._csv(text text) returns text
language sql immutable parallel safe
return case when _csv.text is null then '' else '"' || pg_catalog.replace(
  case when _csv.text ~ '^[=+@\t\r-]' and _csv.text !~ '^-?[0-9.]+$' then '''' else '' end || ragdb._one_line(_csv.text), '"', '""') || '"' end;
comment on function ragdb._csv(text) is 'Returns a text as a field of CSV that no spreadsheet runs.';

create or replace function ragdb._report_csv(run ragdb.eval_runs) returns text
language sql stable parallel safe
return E'n,case,kind,required,passed,code,message,expected,actual\n' || coalesce((
  select pg_catalog.string_agg(pg_catalog.concat_ws(',', r.n, ragdb._csv(r.name), ragdb._csv(r.kind), r.required::text, r.passed::text, r.code, ragdb._csv(r.message),
    ragdb._csv(r.expected #>> '{}'), ragdb._csv(r.actual #>> '{}')), E'\n' order by r.n) || E'\n'
  from ragdb._report_rows(run) r), '');
comment on function ragdb._report_csv(ragdb.eval_runs) is 'Returns everything that a run tested as CSV.';

create or replace function ragdb._report_json(run ragdb.eval_runs) returns text
language sql stable parallel safe
return pg_catalog.jsonb_pretty(pg_catalog.to_jsonb(run) || pg_catalog.jsonb_build_object(
  'results', coalesce((select pg_catalog.jsonb_agg(pg_catalog.to_jsonb(r) order by r.n) from ragdb._report_rows(run) r), '[]'),
  'metrics', coalesce((select pg_catalog.jsonb_object_agg(m.metric, m.value) from ragdb.eval_metrics m
    where m.corpus_id = (run).corpus_id and m.run_id = (run).run_id and m.case_no = 0), '{}'))) || E'\n';
comment on function ragdb._report_json(ragdb.eval_runs) is 'Returns a run with all that it tested and its metrics as JSON.';

create or replace function ragdb.eval_report(run_id uuid, format text default 'table') returns text
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  case format
    when 'table' then return ragdb._report_table(v_run);
    when 'tap' then return ragdb._report_tap(v_run);
    when 'junit' then return ragdb._report_junit(v_run);
    when 'md' then return ragdb._report_md(v_run);
    when 'csv' then return ragdb._report_csv(v_run);
    when 'json' then return ragdb._report_json(v_run);
    else
      raise exception 'format is %', ragdb._quote(format)
        using errcode = 'RG400', detail = 'a report is written in one of six formats', hint = 'table, tap, junit, md, csv or json';
  end case;
end $$;
comment on function ragdb.eval_report(uuid, text) is
  'Returns the report of a run as table, tap (version 14), junit, md, csv or json. Raises RG400, RG443.';

create or replace function ragdb.assert_run_passed(run_id uuid) returns void
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  if v_run.status <> 'passed' then
    raise exception 'run of % did not pass', ragdb._quote(ragdb._run_title(v_run))
      using errcode = 'RG444',
            detail = format('%s of %s cases passed%s', v_run.passed_cases, v_run.cases, coalesce('; ' || nullif(array_to_string(v_run.reasons, '; '), ''), '')),
            hint = 'ragdb.eval_report() says what was expected';
  end if;
end $$;
comment on function ragdb.assert_run_passed(uuid) is
  'Does nothing for a run that passed: in a script that stops at errors it is the gate. Raises RG443, RG444.';

-- Scores are made of the rank and strictly decrease: evaluators of TREC break ties each in their own way.
create or replace function ragdb.export_trec(run_id uuid, what text default 'run') returns setof text
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  if what is null or what not in ('run', 'qrels') then
    raise exception 'what is %', ragdb._quote(what)
      using errcode = 'RG400', detail = 'an export is of what was ranked, or of the labels', hint = 'run or qrels';
  end if;
  return query
    select regexp_replace(c.name, '\s+', '_', 'g') || case what
      when 'run' then ' Q0 ' || regexp_replace(i.item, '\s+', '_', 'g') || ' ' || i.rank || ' ' || to_char(1 / (i.rank::numeric + 1), 'FM0.000000000') || ' ragdb'
      else ' 0 ' || regexp_replace(i.item, '\s+', '_', 'g') || ' ' || i.grade end
    from ragdb.eval_case_results c
      cross join lateral (
        select t.rank, t.item, t.grade from ragdb.eval_items t
        where what = 'run' and t.corpus_id = c.corpus_id and t.run_id = c.run_id and t.case_no = c.case_no
        union all
        select l.label_no, l.source || case when l.start_offset is null then '' else '#' || l.start_offset || '-' || l.end_offset end, l.grade
        from ragdb.eval_labels l
        where what = 'qrels' and l.corpus_id = c.corpus_id and l.rag = v_run.rag and l.eval = v_run.eval and l.name = c.name) i
    where c.corpus_id = v_run.corpus_id and c.run_id = v_run.run_id and c.kind = 'case'
    order by c.case_no, i.rank;
end $$;
comment on function ragdb.export_trec(uuid, text) is
  'Returns the lines of a TREC run file, or of the qrels of the labels that were imported for its eval. Raises RG400, RG443.';

---- sql/68_spaces.sql

-- Two spaces of a corpus beside each other: what a change of the model would change, before it is made.

create or replace function ragdb._corpus_cases(corpus ragdb.corpora)
returns table (query text, labels ragdb.eval_label[])
language sql stable parallel safe
begin atomic
  select c.query, ragdb._resolved_labels((_corpus_cases.corpus).corpus_id, array(
    select l from ragdb._case_labels(e, (_corpus_cases.corpus).corpus_id, c.case_no, c.name, c.expected, c.is_imported) l))
  from ragdb.contract_nodes e
    join ragdb.contracts k on k.contract = e.contract and k.version = e.version and k.is_current
    join ragdb.contract_nodes r on r.contract = e.contract and r.version = e.version and r.node = 'rag' and r.name = e.rag
    join ragdb.contract_nodes t on t.contract = e.contract and t.version = e.version and t.node = 'retriever'
      and t.name = r.keys ->> 'retriever' and t.corpus = (_corpus_cases.corpus).name
    cross join lateral ragdb._eval_cases(e, (_corpus_cases.corpus).corpus_id, null) c
  where e.node = 'ragEval' and c.anchor is null;
end;
comment on function ragdb._corpus_cases(ragdb.corpora) is
  'Returns the questions of the evals of a corpus with their labels.';

create or replace function ragdb._judged_items(corpus_id integer, chunk_nos integer[], labels ragdb.eval_label[])
returns ragdb.eval_item[]
language sql stable parallel safe
return array(
  select i from ragdb._label_items(_judged_items.corpus_id, array(
    select row((_judged_items.labels)[1].case_no, n.rank::integer, c.chunk_id, c.source, null, null, null, null, null, d.doc_cid,
      c.start_offset, c.end_offset)::ragdb.eval_hit
    from pg_catalog.unnest(_judged_items.chunk_nos) with ordinality n (chunk_no, rank)
      join ragdb.chunks c on c.corpus_id = _judged_items.corpus_id and c.chunk_no = n.chunk_no
      join ragdb.documents d on d.corpus_id = _judged_items.corpus_id and d.doc_no = c.doc_no
    order by n.rank), _judged_items.labels) i order by i.rank);
comment on function ragdb._judged_items(integer, integer[], ragdb.eval_label[]) is
  'Returns a ranking of chunks as the labels of one case see it.';

-- Questions are those that somebody wrote down; without any, what the corpus itself says stands in for them.
create or replace function ragdb.space_questions(corpus text, count integer default 200)
returns table (origin text, query text)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(space_questions.corpus, 'admin');
begin
  if count is null or count not between 1 and 10000 then
    raise exception 'count is %', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'it is the number of questions at most', hint = 'pass count from 1 to 10000';
  end if;
  return query
    select 'eval', q.query from (select distinct c.query from ragdb._corpus_cases(v_corpus) c) q
    order by q.query collate "C" limit space_questions.count;
  if not found then
    return query
      select 'trace', t.query_text from ragdb.retrieval_traces t
      where t.corpus_id = v_corpus.corpus_id and t.query_text is not null and t.error_code is null
      group by t.query_text order by max(t.id::text) desc limit space_questions.count;
  end if;
  if not found then
    return query
      select 'chunk', h.query from (
        select distinct coalesce(nullif(c.heading[cardinality(c.heading)], ''), nullif(d.title, ''), left(c.text, 200)) as query
        from (select (n * v_corpus.next_chunk_no::bigint / space_questions.count)::integer as chunk_no
            from generate_series(0, space_questions.count - 1) n) n
          cross join lateral (select k.heading, k.text, k.doc_no from ragdb.chunks k
            where k.corpus_id = v_corpus.corpus_id and k.chunk_no >= n.chunk_no order by k.chunk_no limit 1) c
          join ragdb.documents d on d.corpus_id = v_corpus.corpus_id and d.doc_no = c.doc_no) h
      where h.query ~ '\S' order by h.query collate "C";
  end if;
end $$;
comment on function ragdb.space_questions(text, integer) is
  'Returns up to count (1 to 10000) questions to compare two embedders of a corpus by: those of its evals, else recorded ones (their text must have been kept), else headings and titles. Raises RG400, RG401, RG404.';

create or replace function ragdb._best_in_space(
  corpus ragdb.corpora, space ragdb.embedding_spaces, query text, embedding real[], k integer, mode text)
returns integer[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select r.chunk_no from (
      select s.* from ragdb._rank_semantic(corpus, space, ragdb._vector(embedding), k) s where mode = 'semantic'
      union all
      select h.* from ragdb._rank_hybrid(corpus, corpus, query, space, ragdb._vector(embedding), k, null, null,
        null, 'convex', 0.5) h where mode = 'hybrid') r
      join ragdb.chunks c on c.corpus_id = corpus.corpus_id and c.chunk_no = r.chunk_no
    order by r.score desc, c.chunk_id limit k);
end $$;
comment on function ragdb._best_in_space(ragdb.corpora, ragdb.embedding_spaces, text, real[], integer, text) is
  'Returns the k best chunks of a corpus for a query by one of its spaces, semantic or hybrid, best first.';

create or replace function ragdb.compare_spaces(
  corpus text, embedder text, queries text[], current_embeddings real[], embeddings real[],
  k integer default 10, mode text default 'hybrid')
returns table (query text, overlap float8, current_ndcg float8, ndcg float8)
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(compare_spaces.corpus, 'admin');
  v_embedder ragdb.embedders := ragdb._embedder(embedder);
  v_current ragdb.embedding_spaces := ragdb._current_space(v_corpus);
  v_space ragdb.embedding_spaces;
  v_dims integer;
  v_metric text;
  v_asked record;
  v_before integer[];
  v_after integer[];
  v_grades integer[];
begin
  if k is null or k not between 1 and 100 or mode is null or mode not in ('semantic', 'hybrid')
    or queries is null or array_position(queries, null) is not null or cardinality(queries) > 10000
  then
    raise exception 'k, mode or queries is out of range'
      using errcode = 'RG400', detail = 'two spaces are compared by the k best of each query',
            hint = 'pass k from 1 to 100, mode semantic or hybrid, and at most 10000 queries';
  end if;
  select s.* into v_space from ragdb.embedding_spaces s
    where s.corpus_id = v_corpus.corpus_id and s.embedder_id = v_embedder.embedder_id;
  if not found then
    raise exception 'corpus % has no space of embedder %', ragdb._quote(corpus), ragdb._quote(embedder)
      using errcode = 'RG416', detail = 'there is nothing to compare the current one with',
            hint = 'ragdb.reembed_corpus() starts one';
  end if;
  if cardinality(queries) = 0 then
    return;
  end if;
  select e.dims, e.metric into strict v_dims, v_metric from ragdb.embedders e where e.embedder_id = v_current.embedder_id;
  perform ragdb._check_embeddings(current_embeddings, v_dims, v_metric,
    array(select 'query ' || n from generate_series(1, cardinality(queries)) n));
  perform ragdb._check_embeddings(embeddings, v_embedder.dims, v_embedder.metric,
    array(select 'query ' || n from generate_series(1, cardinality(queries)) n));
  -- of two cases that ask the same, the first
  for v_asked in
    select q.query, q.n::integer as n, c.labels
    from unnest(queries) with ordinality q (query, n)
      left join (select distinct on (c.query) c.query, c.labels from ragdb._corpus_cases(v_corpus) c order by c.query) c
        on c.query = q.query
    order by q.n
  loop
    query := v_asked.query;
    v_before := ragdb._best_in_space(v_corpus, v_current, query,
      current_embeddings[(v_asked.n - 1) * v_dims + 1 : v_asked.n * v_dims], k, mode);
    v_after := ragdb._best_in_space(v_corpus, v_space, query,
      embeddings[(v_asked.n - 1) * v_embedder.dims + 1 : v_asked.n * v_embedder.dims], k, mode);
    overlap := (select count(*) from unnest(v_before) n where n = any (v_after))::float8
      / nullif(greatest(cardinality(v_before), cardinality(v_after)), 0);
    v_grades := array(select l.grade from unnest(v_asked.labels) l where not l.is_stale order by l.grade desc);
    current_ndcg := ragdb._rank_metric('ndcg', k, ragdb._judged_items(v_corpus.corpus_id, v_before, v_asked.labels), v_grades);
    ndcg := ragdb._rank_metric('ndcg', k, ragdb._judged_items(v_corpus.corpus_id, v_after, v_asked.labels), v_grades);
    return next;
  end loop;
end $$;
comment on function ragdb.compare_spaces(text, text, text[], real[], real[], integer, text) is
  'Compares the current space of a corpus with its space of another embedder, query by query: the share of the k (1 to 100) best that both find (0 to 1), and the nDCG of each where an eval of the corpus labels the query; mode is semantic or hybrid, embeddings of the queries by both embedders come one behind the other. Raises RG400, RG401, RG404, RG415, RG416, RG418.';

---- sql/68_tools.sql

-- Tools of contracts: each `retrieve` node as a function from arguments to JSON, with the fields that it names. `ragdb mcp`
-- serves them; psql can call them too.

do $$ begin
  if pg_catalog.to_regtype('ragdb.tool_binding') is null then
    create type ragdb.tool_binding as (
      name text, kind text, title text, description text, contract text, contract_version integer, node_no integer,
      retriever ragdb.contract_nodes, rag text, corpus text, mode text, k integer, min_score float8, query text, query_param text,
      result_field text, citation_field text, source_field text, score_field text, require_citations boolean,
      require_grounding boolean, max_context integer);
  end if;
end $$;
comment on type ragdb.tool_binding is 'A tool or prompt of a contract with the retrieval that it is bound to.';

create or replace function ragdb._tool_bindings() returns setof ragdb.tool_binding
language sql stable parallel safe
begin atomic
  select t.name, t.node, t.keys ->> 'title', t.keys ->> 'description', k.contract, k.version, t.node_no,
    s, r.name, s.corpus, d.mode, coalesce((c.keys ->> 'topK')::integer, d.k), coalesce((c.keys ->> 'minScore')::float8, d.min_score),
    c.keys ->> 'query', c.keys ->> 'queryParam', coalesce(c.keys ->> 'as', 'chunks'),
    coalesce(c.keys ->> 'citationField', 'citation'), coalesce(c.keys ->> 'sourceField', 'source'), coalesce(c.keys ->> 'scoreField', 'score'),
    -- a retrieve may ask for more than its rag, never for less
    'true' in (c.keys ->> 'requireCitations', r.keys ->> 'citations', g.keys ->> 'requireCitations'),
    coalesce((c.keys ->> 'requireGrounding')::boolean, false), (g.keys ->> 'maxContext')::integer
  from ragdb.contracts k
    join ragdb.contract_nodes c on c.contract = k.contract and c.version = k.version and c.node = 'retrieve'
    join ragdb.contract_nodes t on t.contract = k.contract and t.version = k.version and t.node_no = c.parent_no
    left join ragdb.contract_nodes r on r.contract = k.contract and r.version = k.version and r.node = 'rag' and r.name = c.keys ->> 'rag'
    left join ragdb.contract_nodes g on g.contract = k.contract and g.version = k.version and g.node = 'grounding' and g.rag = r.name
    join ragdb.contract_nodes s on s.contract = k.contract and s.version = k.version and s.node = 'retriever'
      and s.name = coalesce(c.keys ->> 'retriever', r.keys ->> 'retriever')
    join ragdb.corpora o on o.name = s.corpus and o.personal_of is not distinct from case when o.name = 'personal' then ragdb._caller() end
      and ragdb._privilege(o.corpus_id, o.personal_of, o.name) > 0
    cross join lateral ragdb._retriever_settings(s) d
  where k.is_current;
end;
comment on function ragdb._tool_bindings() is
  'Returns the tools and prompts of the contracts in force whose corpus the caller may read.';

create or replace function ragdb._tool_params(tool ragdb.tool_binding) returns setof ragdb.contract_nodes
language sql stable parallel safe
begin atomic
  select p.* from ragdb.contract_nodes p
  where p.contract = (tool).contract and p.version = (tool).contract_version and p.parent_no = (tool).node_no and p.node = 'param'
  order by p.node_no;
end;
comment on function ragdb._tool_params(ragdb.tool_binding) is 'Returns the param nodes of a tool in their order.';

-- The query cannot be left out, whatever its param says.
create or replace function ragdb._is_required_param(tool ragdb.tool_binding, param ragdb.contract_nodes) returns boolean
language sql immutable parallel safe
return (param).name is not distinct from (tool).query_param or coalesce(((param).keys ->> 'required')::boolean, true);
comment on function ragdb._is_required_param(ragdb.tool_binding, ragdb.contract_nodes) is 'Whether a call of a tool must give this argument.';

create or replace function ragdb._tool_input_schema(tool ragdb.tool_binding) returns jsonb
language sql stable parallel safe
return (
  select pg_catalog.jsonb_build_object('type', 'object', 'additionalProperties', false,
    'properties', coalesce(pg_catalog.jsonb_object_agg(p.name, pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
      'type', 'string', 'description', p.keys ->> 'description'))) filter (where p.name is not null), '{}'),
    'required', coalesce(pg_catalog.jsonb_agg(p.name order by p.node_no) filter (where ragdb._is_required_param(tool, p)), '[]'))
  from ragdb._tool_params(tool) p);
comment on function ragdb._tool_input_schema(ragdb.tool_binding) is 'Returns the JSON schema of the arguments of a tool.';

create or replace function ragdb._tool_output_schema(tool ragdb.tool_binding) returns jsonb
language sql immutable parallel safe
return pg_catalog.jsonb_build_object('type', 'object', 'required', pg_catalog.jsonb_build_array((tool).result_field, 'provenance'),
  'properties', pg_catalog.jsonb_build_object(
    (tool).result_field, pg_catalog.jsonb_build_object('type', 'array', 'items', pg_catalog.jsonb_build_object('type', 'object',
      'required', pg_catalog.jsonb_build_array('id', 'text', (tool).source_field, (tool).score_field, (tool).citation_field, 'provenance'),
      'properties', pg_catalog.jsonb_build_object(
        'id', '{"type": "string"}'::jsonb, 'text', '{"type": "string"}'::jsonb, (tool).source_field, '{"type": "string"}'::jsonb,
        (tool).score_field, '{"type": "number", "minimum": 0, "maximum": 1}'::jsonb, (tool).citation_field, '{"type": "object"}'::jsonb,
        'provenance', '{"type": "object"}'::jsonb))),
    'provenance', '{"type": "object"}'::jsonb));
comment on function ragdb._tool_output_schema(ragdb.tool_binding) is 'Returns the JSON schema of what a tool returns.';

create or replace function ragdb.list_tools()
returns table (name text, kind text, title text, description text, input_schema jsonb, output_schema jsonb, query text, query_param text,
  corpus text, mode text, contract text, contract_version integer)
language sql stable parallel safe security definer
begin atomic
  select t.name, t.kind, t.title, t.description, ragdb._tool_input_schema(t), ragdb._tool_output_schema(t), t.query, t.query_param,
    t.corpus, t.mode, t.contract, t.contract_version
  from ragdb._tool_bindings() t order by t.name;
end;
comment on function ragdb.list_tools() is
  'Lists the tools and prompts (kind) of the contracts in force that have a retrieve and whose corpus the caller may read: JSON schemas of arguments and output, the fixed query or the argument that is the query, corpus and mode searched.';

create or replace function ragdb._open_tool(tool text) returns ragdb.tool_binding
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tool ragdb.tool_binding;
begin
  select b.* into v_tool from ragdb._tool_bindings() b where b.name = _open_tool.tool;
  if not found then
    raise exception 'tool % does not exist', ragdb._quote(tool)
      using errcode = 'RG441', detail = 'no contract in force that is visible to role ' || ragdb._quote(ragdb._caller())
              || ' binds it to a retrieval',
            hint = coalesce('did you mean ' || ragdb._nearest_name(tool, array(select b.name from ragdb._tool_bindings() b)) || '?',
              'ragdb apply FILE puts a contract in force');
  end if;
  return v_tool;
end $$;
comment on function ragdb._open_tool(text) is 'Returns a tool or prompt that the caller may use. Raises RG441.';

create or replace function ragdb._tool_query(tool ragdb.tool_binding, arguments jsonb) returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_params ragdb.contract_nodes[] := array(select p from ragdb._tool_params(tool) p);
  v_wrong text;
begin
  if jsonb_typeof(arguments) is distinct from 'object' then
    raise exception 'arguments is no object'
      using errcode = 'RG400', detail = 'it is ' || coalesce(jsonb_typeof(arguments), 'null'),
            hint = 'pass {"name": "text"}, as ragdb.list_tools() describes';
  end if;
  select 'has no argument ' || ragdb._quote(a.key) into v_wrong from jsonb_object_keys(arguments) a (key)
    where not exists (select from unnest(v_params) p where p.name = a.key) order by a.key collate "C" limit 1;
  if v_wrong is null then
    select 'needs ' || p.name || ', a text' into v_wrong from unnest(v_params) p
      where case when arguments ? p.name then jsonb_typeof(arguments -> p.name) <> 'string' else ragdb._is_required_param(tool, p) end
        or p.name = tool.query_param and (arguments ->> p.name) !~ '\S'
      order by p.node_no limit 1;
  end if;
  if v_wrong is not null then
    raise exception 'tool % %', ragdb._quote(tool.name), v_wrong
      using errcode = 'RG400', detail = 'its arguments are ' || coalesce(nullif(array_to_string(array(select p.name from unnest(v_params) p), ', '), ''), 'none'),
            hint = 'ragdb.list_tools() describes them';
  end if;
  return coalesce(tool.query, arguments ->> tool.query_param);
end $$;
comment on function ragdb._tool_query(ragdb.tool_binding, jsonb) is 'Returns the query of a call of a tool. Raises RG400.';

-- What was retrieved, under the names that the contract gives: as much as the rag's maxContext lets in, cited where citations
-- are required, and each chunk with what it can be checked by.
create or replace function ragdb._tool_output(tool ragdb.tool_binding, corpus ragdb.corpora, hits ragdb.hit[], trace_id uuid) returns jsonb
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_uncited text;
  v_chunks jsonb;
begin
  if tool.require_grounding and hits = '{}' then
    raise exception 'tool % found nothing', ragdb._quote(tool.name)
      using errcode = 'RG445', detail = 'requireGrounding is true, and no chunk of corpus ' || ragdb._quote(tool.corpus) || ' answers the query',
            hint = 'ask in other words, or lower minScore in contract ' || tool.contract;
  end if;
  select h.chunk_id into v_uncited from unnest(hits) h
    where tool.require_citations and not ragdb._is_cited(coalesce(h.citation, jsonb_build_object('uri', h.source))) order by h.rank limit 1;
  if found then
    raise exception 'chunk % has no citation', ragdb._quote(v_uncited)
      using errcode = 'RG445', detail = 'tool ' || ragdb._quote(tool.name) || ' requires one of every chunk that it returns',
            hint = 'a citation has a uri or a locator that is not blank: correct it in the chunk''s source';
  end if;
  select coalesce(jsonb_agg(jsonb_build_object(
      'id', h.chunk_id, 'text', left(h.text, coalesce(tool.max_context, 2147483647) - h.before::integer),
      tool.source_field, h.source, tool.score_field, h.score, tool.citation_field, coalesce(h.citation, jsonb_build_object('uri', h.source)),
      'provenance', jsonb_strip_nulls(jsonb_build_object('rank', h.rank, 'doc_cid', h.doc_cid, 'title', h.title, 'page', h.page,
        'start_offset', h.start_offset, 'end_offset', h.end_offset, 'content_hash', h.content_hash, 'lexical_score', h.lexical_score,
        'semantic_score', h.semantic_score,
        'is_cut', case when h.before + length(h.text) > tool.max_context then true end))) order by h.rank), '[]')
    into v_chunks
    from (select u.*, coalesce(sum(length(u.text)) over (order by u.rank rows between unbounded preceding and 1 preceding), 0) as before
      from unnest(hits) u) h
    where h.before < coalesce(tool.max_context, 2147483647);
  return jsonb_build_object(tool.result_field, v_chunks, 'provenance', jsonb_strip_nulls(jsonb_build_object(
    'tool', tool.name, 'contract', tool.contract, 'contract_version', tool.contract_version, 'rag', tool.rag,
    'retriever', (tool.retriever).name, 'corpus', corpus.name, 'corpus_version', corpus.version, 'mode', tool.mode,
    'top_k', tool.k, 'min_score', tool.min_score, 'max_context', tool.max_context, 'retrieved', cardinality(hits),
    'ranking_hash', ragdb._ranking_hash(corpus),
    'result_hash', ragdb._result_hash(array(
      select row(corpus.corpus_id, null, null, h.rank, h.chunk_id, decode(h.content_hash, 'hex'), h.score, h.lexical_score,
        h.semantic_score, h.lexical_rank, h.semantic_rank)::ragdb.retrieval_hits from unnest(hits) h)),
    'trace_id', trace_id)));
end $$;
comment on function ragdb._tool_output(ragdb.tool_binding, ragdb.corpora, ragdb.hit[], uuid) is
  'Returns retrieved chunks as a tool does, with their provenance. Raises RG445.';

create or replace function ragdb.search_tool(tool text, arguments jsonb default '{}', query_embedding float8[] default null) returns jsonb
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tool ragdb.tool_binding := ragdb._open_tool(tool);
  v_query text := ragdb._tool_query(v_tool, arguments);
  v_settings ragdb.retriever_settings := ragdb._open_retriever(v_tool.retriever, null);
begin
  return ragdb._tool_output(v_tool, ragdb._open_corpus(v_settings.corpus, 'read'), array(
    select h from ragdb.search(v_settings.corpus, v_query, v_tool.k, v_settings.mode, v_tool.min_score,
      query_embedding => search_tool.query_embedding) h), null);
end $$;
comment on function ragdb.search_tool(text, jsonb, float8[]) is
  'Calls a tool of a contract: {"<as>": [{"id", "text", "<sourceField>", "<scoreField>", "<citationField>", "provenance"}], "provenance"}, under the names its retrieve node gives (as chunks, source, score, citation unless given), cut to its rag''s maxContext in code points, and records nothing. Raises what ragdb.search raises, RG400, RG417, RG441, and RG445 where required citations or evidence are missing.';

create or replace function ragdb.retrieve_tool(
  tool text, arguments jsonb default '{}', query_embedding float8[] default null, client text default null,
  otel_trace_id text default null, otel_span_id text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tool ragdb.tool_binding := ragdb._open_tool(tool);
  v_query text := ragdb._tool_query(v_tool, arguments);
  v_settings ragdb.retriever_settings := ragdb._open_retriever(v_tool.retriever, null);
  v_hits ragdb.hit[] := array(
    select row(h.rank, h.corpus, h.chunk_id, h.doc_cid, h.source, h.title, h.heading, h.page, h.start_offset, h.end_offset, h.text,
      h.citation, h.score, h.lexical_score, h.semantic_score, h.lexical_rank, h.semantic_rank, h.bm25, h.coverage, h.content_hash,
      h.metadata, h.mode, h.is_exact)::ragdb.hit
    from ragdb._retrieve(v_settings.corpus, v_query, v_tool.k, v_settings.mode, v_tool.min_score, query_embedding => query_embedding,
      client => client, otel_trace_id => otel_trace_id, otel_span_id => otel_span_id,
      retriever => (v_tool.retriever).name, rag => v_tool.rag) h);
begin
  return ragdb._tool_output(v_tool, ragdb._open_corpus(v_settings.corpus, 'read'), v_hits, ragdb.last_trace_id());
end $$;
comment on function ragdb.retrieve_tool(text, jsonb, float8[], text, text, text) is
  'Calls a tool of a contract as ragdb.search_tool does and records the trace, whose id is in the provenance; client, otel_trace_id and otel_span_id are those of ragdb.retrieve. Raises what ragdb.search_tool and ragdb.retrieve raise.';

---- sql/70_evidence.sql

-- Evidence packs: chunks as one text for a model, the same bytes for the same chunks, that no document can forge.

-- The first lines of a text are ours, and what looks like one of them in a document gets a backslash. White space
-- and line ends are listed: what \s means differs between databases. Normalisation of what Unicode 15.0 does not
-- assign differs too, so it is left alone.
create or replace function ragdb._evidence_text(text text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text := replace(replace(text, E'\r\n', E'\n'), E'\r', E'\n');
begin
  if octet_length(v_text) <> length(v_text) then
    if v_text ~ ('[' || ragdb._unassigned() || ']') then
      v_text := (
        select string_agg(case when p.part[2] is null then normalize(p.part[1], nfc) else p.part[2] end, '' order by p.n)
        from regexp_matches(v_text, '([^' || ragdb._unassigned() || ']+)|([' || ragdb._unassigned() || ']+)', 'g')
          with ordinality p (part, n));
    else
      v_text := normalize(v_text, nfc);
    end if;
  end if;
  if v_text ~* '(source|chunk)_id|\[truncated\]' then
    v_text := regexp_replace(v_text,
      '(^|[\n\v\f\u0085\u2028\u2029])([ \t\u00a0\u00ad\u1680\u180e\u2000-\u200f\u202a-\u202f\u205f-\u2064\u3000\ufeff]*)'
        '(?=[#\uff03]{2}[^\n\v\f\u0085\u2028\u2029]*(source|chunk)_id|\[truncated\])', '\1\2\\', 'gi');
  end if;
  return regexp_replace(v_text, '[ \t\v\f\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+(?=\n|$)|\n+$', '', 'g');
end $$;
comment on function ragdb._evidence_text(text) is
  'Returns the text of a chunk as evidence: NFC, LF, no white space at the end of a line or blank line at its own, and a backslash before lines that imitate the marks of a pack.';

create or replace function ragdb._evidence_field(value text) returns text
language sql immutable parallel safe
return case
  when _evidence_field.value !~ '[\\\u0001-\u0020\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]'
    then _evidence_field.value
  else (
    select pg_catalog.string_agg(case
      when c.letter = '\' then '\\'
      when c.letter ~ '[\u0001-\u0020\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]'
        then '\u' || pg_catalog.lpad(pg_catalog.to_hex(pg_catalog.ascii(c.letter)), 4, '0')
      else c.letter end, '' order by c.n)
    from pg_catalog.regexp_split_to_table(_evidence_field.value, '') with ordinality c (letter, n))
end;
comment on function ragdb._evidence_field(text) is
  'Returns an id as it stands in the first line of a block: a backslash is doubled, and white space and what cannot be seen is written \uXXXX.';

-- Items come best first. The one that no longer fits whole is cut, and nothing after it is taken: a smaller chunk
-- never stands in for a better one.
create or replace function ragdb._pack_evidence(corpus text, items jsonb, max_characters integer) returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_canonical text := 'corpus ' || ragdb._evidence_field(corpus);
  v_chunks jsonb[] := '{}';
  v_omitted jsonb[] := '{}';
  v_is_full boolean := false;
  v_item jsonb;
  v_head text;
  v_text text;
  v_room integer;
  v_cut integer;
  v_marked text;
begin
  for v_item in select i.item from jsonb_array_elements(items) with ordinality i (item, n) order by i.n loop
    v_head := E'\n\n### ' || cardinality(v_chunks) + 1 || ' source_id=' || ragdb._evidence_field(v_item ->> 'source_id')
      || ' chunk_id=' || ragdb._evidence_field(v_item ->> 'chunk_id');
    v_text := rtrim(E'\n' || ragdb._evidence_text(v_item ->> 'text'), E'\n');
    v_room := max_characters - length(v_canonical) - length(v_head);
    if v_is_full then
      null;
    elsif max_characters is null or length(v_text) <= v_room then
      v_canonical := v_canonical || v_head || v_text;
      v_chunks := v_chunks || (jsonb_build_object('n', cardinality(v_chunks) + 1, 'is_cut', false) || v_item);
      continue;
    else
      v_is_full := true;
      v_cut := v_room - length(E'\n\n[truncated]');
      v_marked := null;
      while v_cut > 0 loop
        v_marked := ragdb._evidence_text(left(v_item ->> 'text', v_cut));
        exit when v_marked = '' or length(v_marked) + length(E'\n\n[truncated]') <= v_room;
        v_cut := v_cut - (length(v_marked) + length(E'\n\n[truncated]') - v_room);
        v_marked := null;
      end loop;
      if v_marked <> '' then
        v_canonical := v_canonical || v_head || E'\n' || v_marked || E'\n[truncated]';
        v_chunks := v_chunks || (jsonb_build_object('n', cardinality(v_chunks) + 1) || v_item
          || jsonb_build_object('is_cut', true, 'text', left(v_item ->> 'text', v_cut)));
        continue;
      end if;
    end if;
    v_omitted := v_omitted || jsonb_build_object('source_id', v_item -> 'source_id', 'chunk_id', v_item -> 'chunk_id',
      'reason', 'budget');
  end loop;
  return jsonb_build_object(
    'corpus', corpus,
    'canonical_text', v_canonical,
    'hash', left(encode(sha256(convert_to(v_canonical, 'UTF8')), 'hex'), 16),
    'sha256', encode(sha256(convert_to(v_canonical, 'UTF8')), 'hex'),
    'chunks', to_jsonb(v_chunks),
    'omitted', to_jsonb(v_omitted));
end $$;
comment on function ragdb._pack_evidence(text, jsonb, integer) is
  'Returns the pack of chunks (source_id, chunk_id, text and more), best first, in at most so many characters; null is no limit.';

create or replace function ragdb._evidence_items(corpus_id integer, trace_id uuid, created_at timestamptz, chunk_ids text[])
returns table (n bigint, source_id text, chunk_id text, reason text, item jsonb)
language sql stable parallel safe
begin atomic
  select w.n, c.source, w.chunk_id,
    case when c.chunk_id is null then 'gone' when c.content_hash <> w.content_hash then 'changed' end,
    pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
      'source_id', c.source, 'chunk_id', c.chunk_id, 'text', c.text, 'score', w.score, 'doc_cid', d.doc_cid,
      'title', d.title, 'page', c.page, 'start_offset', c.start_offset, 'end_offset', c.end_offset,
      'content_hash', pg_catalog.encode(c.content_hash, 'hex'), 'citation', c.citation))
      || pg_catalog.jsonb_build_object('heading', c.heading)
  from (
    select h.rank as n, h.chunk_id, h.content_hash, h.score
    from ragdb.retrieval_hits h
    where h.corpus_id = _evidence_items.corpus_id and h.trace_id = _evidence_items.trace_id
      and h.created_at = _evidence_items.created_at
    union all
    select min(u.n), u.chunk_id, null, null
    from pg_catalog.unnest(_evidence_items.chunk_ids) with ordinality u (chunk_id, n)
    group by u.chunk_id) w
    left join ragdb.chunks c on c.corpus_id = _evidence_items.corpus_id and c.chunk_id = w.chunk_id
    left join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no;
end;
comment on function ragdb._evidence_items(integer, uuid, timestamptz, text[]) is
  'Returns the chunks of a trace, or those of a list, in their order with all that a pack says of each; reason is gone or changed where a chunk is not what the trace saw.';

-- Definer: the tables of a corpus are granted to nobody; the caller's right is checked here, once.
create or replace function ragdb.build_evidence_pack(
  trace_id uuid default null, chunk_ids text[] default null, corpus text default null,
  max_context integer default null, unit text default 'token')
returns jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces;
  v_corpus ragdb.corpora;
  v_items jsonb;
  v_missing text;
  v_lost jsonb;
  v_characters integer;
  v_pack jsonb;
begin
  if (trace_id is null) = (chunk_ids is null) then
    raise exception '% trace_id % chunk_ids', case when trace_id is null then 'neither' else 'both' end,
        case when trace_id is null then 'nor' else 'and' end
      using errcode = 'RG400', detail = 'a pack holds the hits of one trace, or chunks by their ids',
            hint = 'pass one of the two; chunk ids need a corpus';
  end if;
  if unit is null or unit not in ('token', 'char') then
    raise exception 'unit is %', ragdb._quote(unit)
      using errcode = 'RG400', detail = 'max_context counts tokens, of four characters each, or characters',
            hint = 'pass token or char';
  end if;
  if max_context not between 1 and 10000000 then
    raise exception 'max_context is %', max_context
      using errcode = 'RG400', detail = 'it is the most that the text of a pack may hold',
            hint = 'pass 1 to 10000000, or leave it out for no limit';
  end if;
  if array_position(chunk_ids, null) is not null then
    raise exception 'chunk_ids has a null'
      using errcode = 'RG400', detail = 'a list of chunks names each of them', hint = 'remove the nulls';
  end if;
  if trace_id is not null then
    v_trace := ragdb._open_trace(trace_id);
    if corpus is not null and corpus <> v_trace.corpus then
      raise exception 'trace % is of another corpus', trace_id
        using errcode = 'RG400', detail = 'it searched ' || ragdb._quote(v_trace.corpus) || ' and not ' || ragdb._quote(corpus),
              hint = 'leave corpus out';
    end if;
    select c.* into strict v_corpus from ragdb.corpora c where c.corpus_id = v_trace.corpus_id;
  else
    v_corpus := ragdb._open_corpus(corpus, 'read');
  end if;
  select coalesce(jsonb_agg(i.item order by i.n) filter (where i.reason is null), '[]'),
      coalesce(jsonb_agg(jsonb_build_object('source_id', i.source_id, 'chunk_id', i.chunk_id, 'reason', i.reason)
        order by i.n) filter (where i.reason is not null), '[]'),
      min(i.chunk_id) filter (where i.reason = 'gone')
    into v_items, v_lost, v_missing
    from ragdb._evidence_items(v_corpus.corpus_id, v_trace.id, v_trace.created_at, chunk_ids) i;
  if trace_id is null and v_missing is not null then
    raise exception 'corpus % has no chunk %', ragdb._quote(corpus), ragdb._quote(v_missing)
      using errcode = 'RG406', detail = 'the id of a chunk changes with its text and its source',
            hint = 'ragdb.search() returns chunk ids';
  end if;
  v_characters := max_context * case unit when 'token' then 4 else 1 end;
  if v_characters < length('corpus ' || v_corpus.name) then
    raise exception 'max_context is %', max_context
      using errcode = 'RG400', detail = 'the first line of a pack, which names its corpus, does not fit',
            hint = 'pass some hundreds at least';
  end if;
  v_pack := ragdb._pack_evidence(v_corpus.name, v_items, v_characters);
  return v_pack || jsonb_build_object(
    'trace_id', trace_id, 'query', v_trace.query_text, 'text_config', v_corpus.text_config,
    'max_context', max_context, 'unit', unit,
    'size', case unit when 'char' then length(v_pack ->> 'canonical_text')
      else ceil(length(v_pack ->> 'canonical_text') / 4::float8) end,
    'omitted', (v_pack -> 'omitted') || v_lost);
end $$;
comment on function ragdb.build_evidence_pack(uuid, text[], text, integer, text) is
  'Returns the evidence that the hits of a trace, or chunks of a corpus by their ids, amount to: canonical_text in at most max_context (1 to 10000000, null: no limit) tokens (four characters each) or characters (unit: token or char), its hash (16 hex digits) and sha256, chunks, and omitted with the reason (budget, or gone or changed since the trace). Raises RG400, RG404, RG406, RG407.';

create or replace function ragdb._check_evidence(evidence jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if evidence is null or jsonb_typeof(evidence) <> 'object' or jsonb_typeof(evidence -> 'chunks') is distinct from 'array'
      or exists (select from jsonb_array_elements(evidence -> 'chunks') c
        where jsonb_typeof(c) <> 'object' or jsonb_typeof(c -> 'source_id') is distinct from 'string'
          or jsonb_typeof(c -> 'chunk_id') is distinct from 'string' or jsonb_typeof(c -> 'text') is distinct from 'string') then
    raise exception 'evidence is no pack'
      using errcode = 'RG460', detail = 'it is an object with chunks, each with source_id, chunk_id and text',
            hint = 'pass what ragdb.build_evidence_pack() or ragdb.evidence_pack_to_input() returns';
  end if;
end $$;
comment on function ragdb._check_evidence(jsonb) is
  'Refuses what is not the evidence of a pack. Raises RG460.';

-- Definer: what it calls is private.
create or replace function ragdb.evidence_pack_to_input(pack jsonb) returns jsonb
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb._check_evidence(pack);
  return jsonb_build_object(
    'question', pack -> 'query',
    'evidence', jsonb_build_object(
      'corpus_id', pack -> 'corpus', 'hash', pack -> 'hash',
      'chunks', coalesce((
        select jsonb_agg(jsonb_build_object('source_id', c.chunk -> 'source_id', 'chunk_id', c.chunk -> 'chunk_id',
            'text', ragdb._evidence_text(c.chunk ->> 'text')) order by c.n)
        from jsonb_array_elements(pack -> 'chunks') with ordinality c (chunk, n)), '[]'),
      'omitted', jsonb_array_length(coalesce(nullif(pack -> 'omitted', 'null'), '[]'))));
end $$;
comment on function ragdb.evidence_pack_to_input(jsonb) is
  'Returns a pack as the input of a task that answers from evidence: question, and evidence with corpus_id, hash, chunks (source_id, chunk_id, text) and the number omitted. Raises RG460.';

---- sql/72_citations.sql

-- Citations: whether they name evidence, whether a quote stands where it is said to, whether its numbers do.
-- All of it proves reference, place and the words; none of it proves that an answer follows from them.

-- Letters as a reader compares them, each with the place it came from: decomposed, without case, white space as one
-- space, quotation marks and dashes as ASCII, soft hyphens and what cannot be seen gone.
create or replace function ragdb._quotable(text text, out letters text, out places integer[])
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  with letter as materialized (
    select c.letter, c.n from regexp_split_to_table(text, '') with ordinality c (letter, n)
  ), form as materialized (
    select d.letter, case
      when d.letter ~ '[\u0001-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]' then ' '
      when d.letter ~ '[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]' then ''
      when d.letter ~ '[\u2018-\u201b\u2032\u02bc\u0060\u00b4\u2039\u203a]' then ''''
      when d.letter ~ '[\u201c-\u201f\u2033\u00ab\u00bb]' then '"'
      when d.letter ~ '[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]' then '-'
      when octet_length(d.letter) = 1 then lower(d.letter collate "C")
      when d.letter ~ ('[' || ragdb._unassigned() || ']') then d.letter
      -- a letter such as ´ is a space and a mark when decomposed
      else normalize(ragdb._fold(normalize(d.letter, nfkc)), nfkd) end as form
    from (select distinct l.letter from letter l) d
  ), spread as (
    select l.n, f.form, lag(f.form) over (order by l.n) as before
    from letter l join form f using (letter) where f.form <> ''
  ), kept as (
    select s.n, s.form from spread s where not (s.form = ' ' and coalesce(s.before, ' ') = ' ')
  )
  select coalesce(string_agg(k.form, '' order by k.n), ''),
    coalesce(array_agg(k.n::integer order by k.n) , '{}')
  into letters, places
  from (select k.n, u.form from kept k, regexp_split_to_table(k.form, '') with ordinality u (form, m)) k;
end $$;
comment on function ragdb._quotable(text) is
  'Returns the letters of a text as quotes are compared, and for each its place in the text, from 1.';

-- What scanners take for each other is made the same; white space and punctuation go. Not for digits: they must be
-- read right, so they are compared apart.
create or replace function ragdb._skeleton(letters text) returns text
language sql immutable parallel safe
return pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.translate(
  pg_catalog.regexp_replace(_skeleton.letters, '[\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]+', '', 'g'),
  '01|i', 'olll'), 'rn', 'm'), 'vv', 'w'), 'cl', 'd');
comment on function ragdb._skeleton(text) is
  'Returns letters without white space and ASCII punctuation, those that scanners confuse (0 o, 1 i l |, rn m, vv w, cl d) made one.';

create or replace function ragdb._numerals(letters text) returns text[]
language sql immutable parallel safe
return array(
  select pg_catalog.regexp_replace(m.numeral[1], '([0-9]),(?=[0-9]{3}(?![0-9]))', '\1', 'g')
  from pg_catalog.regexp_matches(_numerals.letters, '(?<![[:alpha:]])((?:(?<![0-9[:alpha:]])-)?[0-9]+(?:[.,:][0-9]+)*)(?![[:alpha:]])', 'g')
    with ordinality m (numeral, n) order by m.n);
comment on function ragdb._numerals(text) is
  'Returns the numbers of a text in their order, thousands without commas; digits inside a word are none.';

-- Words may differ as scanners differ: the first letter right, one letter in five wrong, and no digit.
create or replace function ragdb._is_misread(a text, b text) returns boolean
language sql immutable parallel safe
return a = b or ragdb._skeleton(a) = ragdb._skeleton(b)
  or (a !~ '[0-9]' and b !~ '[0-9]' and pg_catalog.left(a, 1) = pg_catalog.left(b, 1)
    and pg_catalog.length(a) between 5 and 100 and pg_catalog.length(b) between 5 and 100
    and pg_catalog.abs(pg_catalog.length(a) - pg_catalog.length(b)) <= 1
    and ragdb._edit_distance(a, b) <= 1);
comment on function ragdb._is_misread(text, text) is
  'Whether one word may be a scanner''s reading of another: alike after _skeleton, or of 5 letters or more, the first the same, with one edit.';

-- Exact, then as a reader compares, then as scanners misread. Places count characters from 0; end is behind the last.
create or replace function ragdb._find_quote(
  text text, quote text, out method text, out start_offset integer, out end_offset integer, out similarity float8)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_at integer := strpos(text, quote);
  v_quote text;
  v_letters text;
  v_places integer[];
  v_bones text;
  v_bone_places integer[];
  v_words text[];
  v_from integer;
  v_to integer;
begin
  if quote = '' then
    return;
  elsif v_at > 0 then
    method := 'exact';
    similarity := 1;
    start_offset := v_at - 1;
    end_offset := v_at - 1 + length(quote);
    return;
  end if;
  v_quote := rtrim((ragdb._quotable(quote)).letters);
  select q.letters, q.places into v_letters, v_places from ragdb._quotable(text) q;
  if v_quote = '' then
    return;
  end if;
  v_at := strpos(v_letters, v_quote);
  if v_at > 0 then
    method := 'normalised';
    similarity := 1;
    v_from := v_at;
    v_to := v_at + length(v_quote) - 1;
  else
    -- words of the text with their places among the letters
    v_words := array(select m.word[1] from regexp_matches(v_quote, '[^\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]+', 'g')
      with ordinality m (word, n) order by m.n);
    if cardinality(v_words) = 0 then
      return;
    end if;
    -- the same letters, however they are spaced and hyphenated
    select string_agg(b.bone, '' order by b.n), array_agg(b.n::integer order by b.n) into v_bones, v_bone_places
      from regexp_split_to_table(v_letters, '') with ordinality b (bone, n)
      where b.bone !~ '[\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]';
    v_bones := coalesce(v_bones, '');
    v_at := strpos(v_bones, array_to_string(v_words, ''));
    if v_at > 0 then
      v_from := v_bone_places[v_at];
      v_to := v_bone_places[v_at + length(array_to_string(v_words, '')) - 1];
      similarity := 1;
    else
      with said as materialized (
        select w.word, w.n::integer from unnest(v_words) with ordinality w (word, n)
      ), word as materialized (
        select r.part[2] as word, r.n::integer as n,
          (sum(length(r.part[1] || r.part[2])) over (order by r.n))::integer as stop
        from regexp_matches(v_letters,
          '([\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]*)([^\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]+)', 'g')
          with ordinality r (part, n)
      ), start as (
        -- where enough of the words already agree
        select t.n - s.n + 1 as n
        from said s join word t using (word)
        group by 1
        having sum(length(s.word)) >= 0.4 * (select sum(length(a.word)) from said a) and t.n - s.n + 1 >= 1
        order by sum(length(s.word)) desc, 1 limit 20
      ), trial as (
        select b.n, min(t.stop - length(t.word) + 1) as first, max(t.stop) as last, count(*) as words,
          bool_and(ragdb._is_misread(s.word, t.word)) as is_alike,
          1 - sum(case when s.word = t.word then 0 when ragdb._is_misread(s.word, t.word)
            then ragdb._edit_distance(s.word, t.word) else length(s.word) end)::float8 / sum(length(s.word)) as similarity
        from start b join said s on true join word t on t.n = b.n + s.n - 1
        group by b.n
      )
      select t.first, t.last, t.similarity into v_from, v_to, similarity
      from trial t
      where t.words = cardinality(v_words) and t.is_alike and t.similarity >= 0.85
      order by t.similarity desc, t.n limit 1;
      if not found then
        -- letters that scanners confuse, across the spaces too
        v_at := strpos(ragdb._skeleton(v_bones), ragdb._skeleton(v_quote));
        if v_at = 0 then
          similarity := null;
          return;
        end if;
        select min(k.n), max(k.n) into v_from, v_to
          from (select p.n, length(ragdb._skeleton(left(v_bones, p.n::integer))) as done
            from generate_series(1, length(v_bones)) p (n)) k
          where k.done between v_at and v_at + length(ragdb._skeleton(v_quote)) - 1;
        similarity := greatest(0.85, 1 - abs(v_to - v_from + 1 - length(array_to_string(v_words, '')))::float8
          / (v_to - v_from + 1));
        v_from := v_bone_places[v_from];
        v_to := v_bone_places[v_to];
      end if;
    end if;
    if ragdb._numerals(substr(v_letters, v_from, v_to - v_from + 1)) is distinct from ragdb._numerals(v_quote) then
      similarity := null;
      return;
    end if;
    method := 'approximate';
    -- the punctuation around it, which was left aside
    v_words := regexp_match(v_quote, '^([\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]*).*?([\u0020-\u002f\u003a-\u0040\u005b-\u0060\u007b\u007d\u007e]*)$');
    if v_words[1] <> '' and substr(v_letters, greatest(v_from - length(v_words[1]), 1), length(v_words[1])) = v_words[1] then
      v_from := v_from - length(v_words[1]);
    end if;
    if v_words[2] <> '' and substr(v_letters, v_to + 1, length(v_words[2])) = v_words[2] then
      v_to := v_to + length(v_words[2]);
    end if;
  end if;
  start_offset := v_places[v_from] - 1;
  -- marks and invisible characters behind the last letter belong to it
  end_offset := v_places[v_to];
  while end_offset < length(text) and (substr(text, end_offset + 1, 1) ~ '[\u0300-\u036f]' ) loop
    end_offset := end_offset + 1;
  end loop;
end $$;
comment on function ragdb._find_quote(text, text) is
  'Finds a quote in a text: exact, normalised (case, white space, quotation marks, dashes and ligatures aside) or approximate (as a scanner misreads; at least 0.85 of its letters in one run of words, every number right); all null where it is not.';

-- ── offsets ────────────────────────────────────────────────────────────────

create or replace function ragdb._code_points(text text, place integer, unit text) returns integer
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bytes bytea;
begin
  if place < 0 then
    return null;
  elsif unit = 'byte' then
    v_bytes := convert_to(text, 'UTF8');
    if place > length(v_bytes) or place < length(v_bytes) and get_byte(v_bytes, place) & 192 = 128 then
      return null;
    end if;
    return length(convert_from(substring(v_bytes from 1 for place), 'UTF8'));
  elsif unit = 'utf16' and text ~ '[\U00010000-\U0010ffff]' and place > 0 then
    return (
      select w.n from (
        select c.n, sum(case when ascii(c.letter) > 65535 then 2 else 1 end) over (order by c.n) as units
        from regexp_split_to_table(text, '') with ordinality c (letter, n)) w
      where w.units = place);
  end if;
  return case when place <= length(text) then place end;
end $$;
comment on function ragdb._code_points(text, integer, text) is
  'Returns a place in a text, counted in codepoint, utf16 or byte, in code points; null when it is outside or inside a character.';

create or replace function ragdb._units(text text, place integer, unit text) returns integer
language sql immutable parallel safe
return case unit
  when 'byte' then pg_catalog.octet_length(pg_catalog.left(text, place))
  when 'utf16' then place + pg_catalog.length(
    pg_catalog.regexp_replace(pg_catalog.left(text, place), '[^\U00010000-\U0010ffff]+', '', 'g'))
  else place end;
comment on function ragdb._units(text, integer, text) is
  'Returns a place in a text, counted in code points, in codepoint, utf16 or byte.';

-- ── what an output cites ───────────────────────────────────────────────────

create or replace function ragdb._answer_text(output jsonb) returns text
language sql immutable parallel safe
return coalesce(
  output ->> 'answer',
  case pg_catalog.jsonb_typeof(coalesce(output -> 'content', output #> '{message,content}'))
    when 'array' then (
      select pg_catalog.string_agg(b.block ->> 'text', '' order by b.n)
      from pg_catalog.jsonb_array_elements(coalesce(output -> 'content', output #> '{message,content}'))
        with ordinality b (block, n))
    when 'string' then coalesce(output ->> 'content', output #>> '{message,content}') end,
  output ->> 'text');
comment on function ragdb._answer_text(jsonb) is
  'Returns the text of an answer: answer, or the text blocks of Anthropic''s or Cohere''s content.';

create or replace function ragdb._integer(value jsonb) returns integer
language sql immutable parallel safe
return case when pg_catalog.jsonb_typeof(_integer.value) = 'number'
  then case when (_integer.value #>> '{}')::numeric % 1 = 0 and pg_catalog.abs((_integer.value #>> '{}')::numeric) < 2147483648
    then (_integer.value #>> '{}')::numeric::integer end end;
comment on function ragdb._integer(jsonb) is 'Returns a whole number of JSON; null for anything else.';

-- One row for each chunk that something cites. Anthropic and Cohere name documents by their place among those sent,
-- which are the chunks of the pack in its order.
create or replace function ragdb._cited(output jsonb, evidence jsonb)
returns table (n integer, is_marker boolean, source_id text, chunk_id text, quote text, start_claim jsonb, end_claim jsonb,
  answer_start jsonb, answer_end jsonb)
language sql immutable parallel safe
begin atomic
  with chunk as (
    select c.n::integer as n, c.chunk ->> 'chunk_id' as chunk_id
    from pg_catalog.jsonb_array_elements(_cited.evidence -> 'chunks') with ordinality c (chunk, n)
  ), listed as (
    select c.n - 1 as n, c.citation
    from pg_catalog.jsonb_array_elements(case when pg_catalog.jsonb_typeof(
        coalesce(_cited.output -> 'citations', _cited.output #> '{message,citations}')) = 'array'
      then coalesce(_cited.output -> 'citations', _cited.output #> '{message,citations}') else '[]' end)
      with ordinality c (citation, n)
  ), block as (
    select b.n, b.block, pg_catalog.length(b.block ->> 'text') as length,
      coalesce(pg_catalog.sum(pg_catalog.length(b.block ->> 'text')) over (
        order by b.n rows between unbounded preceding and 1 preceding), 0) as start
    from pg_catalog.jsonb_array_elements(case when pg_catalog.jsonb_typeof(_cited.output -> 'content') = 'array'
      then _cited.output -> 'content' else '[]' end) with ordinality b (block, n)
  ), reference as (
    select l.n::integer as n, l.citation ->> 'source_id' as source_id, l.citation ->> 'chunk_id' as id,
      l.citation ->> 'quote' as quote, l.citation -> 'start' as start_claim, l.citation -> 'end' as end_claim,
      l.citation -> 'answer_start' as answer_start, l.citation -> 'answer_end' as answer_end
    from listed l
    where not (pg_catalog.jsonb_exists(l.citation, 'sources') or pg_catalog.jsonb_exists(l.citation, 'document_ids'))
    union all
    -- Cohere: text, start and end are the answer's
    select l.n::integer, null, d.id, null, null, null, l.citation -> 'start', l.citation -> 'end'
    from listed l
      cross join lateral (
        select coalesce(s.source #>> '{document,id}', s.source ->> 'id') as id
        from pg_catalog.jsonb_array_elements(case when pg_catalog.jsonb_typeof(l.citation -> 'sources') = 'array'
          then l.citation -> 'sources' else '[]' end) s (source)
        union all
        select i.id
        from pg_catalog.jsonb_array_elements_text(case when pg_catalog.jsonb_typeof(l.citation -> 'document_ids') = 'array'
          then l.citation -> 'document_ids' else '[]' end) i (id)) d
    union all
    -- Anthropic
    select ((select pg_catalog.count(*) from listed) + pg_catalog.row_number() over (order by b.n, c.n))::integer - 1,
      c.citation ->> 'source',
      'doc:' || coalesce(c.citation ->> 'document_index', c.citation ->> 'search_result_index'),
      c.citation ->> 'cited_text', c.citation -> 'start_char_index', c.citation -> 'end_char_index',
      pg_catalog.to_jsonb(b.start), pg_catalog.to_jsonb(b.start + b.length)
    from block b
      cross join lateral pg_catalog.jsonb_array_elements(case when pg_catalog.jsonb_typeof(b.block -> 'citations') = 'array'
        then b.block -> 'citations' else '[]' end) with ordinality c (citation, n)
  ), resolved as (
    select r.n, r.source_id, coalesce(
        (select c.chunk_id from chunk c where c.chunk_id = r.id limit 1),
        (select c.chunk_id from chunk c where 'doc:' || c.n - 1 = pg_catalog.replace(r.id, 'doc_', 'doc:')), r.id) as chunk_id,
      r.quote, r.start_claim, r.end_claim, r.answer_start, r.answer_end
    from reference r
  )
  select r.n, false, r.source_id, r.chunk_id, r.quote, r.start_claim, r.end_claim, r.answer_start, r.answer_end
  from resolved r
  union all
  select ((select coalesce(pg_catalog.max(r.n) + 1, 0) from resolved r)
      + pg_catalog.row_number() over (order by m.marker_offset, m.n))::integer - 1,
    true, null, coalesce(c.chunk_id, '[' || m.n || ']'), null, null, null,
    pg_catalog.to_jsonb(m.start_offset), pg_catalog.to_jsonb(m.end_offset)
  from ragdb._markers(ragdb._answer_text(_cited.output)) m left join chunk c on c.n = m.n
  -- what looks like a marker inside a sentence that is quoted is the source's
  where not exists (select from resolved r
    where r.quote is not null and m.marker_offset >= ragdb._integer(r.answer_start)
      and m.marker_offset < ragdb._integer(r.answer_end));
end;
comment on function ragdb._cited(jsonb, jsonb) is
  'Returns what an output cites, numbered from 0: its citations as ours, Cohere''s or Anthropic''s, then the [n] markers of its answer.';

create or replace function ragdb._check_output(output jsonb, evidence jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if output is null or jsonb_typeof(output) <> 'object' then
    raise exception 'output is %', coalesce('of type ' || jsonb_typeof(output) || ' and no object', 'null')
      using errcode = 'RG460', detail = 'it is an object with answer and citations, or insufficient_evidence',
            hint = 'parse what the model returned as JSON first';
  end if;
  perform ragdb._check_evidence(evidence);
end $$;
comment on function ragdb._check_output(jsonb, jsonb) is 'Refuses what is not an output, or not the evidence of a pack. Raises RG460.';

create or replace function ragdb._evidence_of(input jsonb) returns jsonb
language sql immutable parallel safe
return case when pg_catalog.jsonb_typeof(_evidence_of.input -> 'evidence') = 'object' then _evidence_of.input -> 'evidence'
  else _evidence_of.input end;
comment on function ragdb._evidence_of(jsonb) is
  'Returns the evidence in the input of a task, or what it is given.';

-- Definer: what it calls is private.
create or replace function ragdb.validate_citations(output jsonb, evidence jsonb, require_citations boolean default false)
returns text[]
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_evidence jsonb := ragdb._evidence_of(evidence);
  v_list jsonb;
begin
  perform ragdb._check_output(output, v_evidence);
  if require_citations is null then
    raise exception 'require_citations is null'
      using errcode = 'RG400', detail = 'an answer without citations is valid or not', hint = 'pass true or false';
  end if;
  if output -> 'insufficient_evidence' = 'true' then
    return '{}';
  end if;
  v_list := coalesce(nullif(output -> 'citations', 'null'), nullif(output #> '{message,citations}', 'null'), '[]');
  if jsonb_typeof(v_list) <> 'array' then
    return array['citations: no array'];
  end if;
  if require_citations and v_list = '[]' and not exists (select from ragdb._cited(output, v_evidence)) then
    return array['missing citations'];
  end if;
  return array(
    select e.error from (
      select l.n - 1 as n, 0 as step, 'citation[' || l.n - 1 || ']: no object' as error
      from jsonb_array_elements(v_list) with ordinality l (citation, n)
      where jsonb_typeof(l.citation) <> 'object'
      union all
      select c.n, p.step, 'citation[' || c.n || ']: ' || p.problem
      from ragdb._cited(output, v_evidence) c
        left join lateral (
          select k.chunk ->> 'source_id' as source_id from jsonb_array_elements(v_evidence -> 'chunks') k (chunk)
          where k.chunk ->> 'chunk_id' = c.chunk_id limit 1) k on true
        cross join lateral (
          select c.source_id is null or exists (
            select from jsonb_array_elements(v_evidence -> 'chunks') o (chunk)
            where o.chunk ->> 'source_id' = c.source_id) as is_known) s
        cross join lateral (values
          (1, case when not s.is_known then 'unknown source_id ''' || c.source_id || '''' end),
          (2, case when c.chunk_id is null then 'no chunk_id'
            when k.source_id is null then 'unknown chunk_id ''' || c.chunk_id || ''''
            when s.is_known and c.source_id <> k.source_id
              then 'chunk_id ''' || c.chunk_id || ''' is not of source_id ''' || c.source_id || '''' end)) p (step, problem)
      where not c.is_marker and p.problem is not null and coalesce(jsonb_typeof(v_list -> c.n), 'object') = 'object') e
    order by e.n, e.step);
end $$;
comment on function ragdb.validate_citations(jsonb, jsonb, boolean) is
  'Returns what is wrong with the citations of an output, of our form (source_id, chunk_id), Anthropic''s or Cohere''s: unknown ids, a chunk under another source, and missing citations where they are required; nothing for insufficient_evidence: true. Raises RG400, RG460.';

-- A pack of several retrievals has the trace at each chunk.
create or replace function ragdb._trace_of(named jsonb) returns uuid
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if named ->> 'trace_id' !~* '^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$' then
    raise exception 'trace_id is %', ragdb._quote(named ->> 'trace_id')
      using errcode = 'RG460', detail = 'the trace of evidence is named by its UUID',
            hint = 'pass what ragdb.build_evidence_pack() returns';
  end if;
  return (named ->> 'trace_id')::uuid;
end $$;
comment on function ragdb._trace_of(jsonb) is
  'Returns the trace that a pack or a chunk of one names; null for none. Raises RG460.';

-- ── what can be checked without a model ────────────────────────────────────

create or replace function ragdb._terms_of(letters text) returns text[]
language sql immutable parallel safe
return array(
  select distinct m.term[1]
  from pg_catalog.regexp_matches(_terms_of.letters, '[[:alnum:]]+(?:[_./:-][[:alnum:]]+)*', 'g') m (term)
  where m.term[1] ~ '[0-9]' and m.term[1] ~ '[[:alpha:]]' or m.term[1] ~ '_'
  order by 1);
comment on function ragdb._terms_of(text) is
  'Returns the identifiers of a text: words of letters with digits or underscores.';

-- What a trace saw of the chunks that are cited, and what they are now.
create or replace function ragdb._cited_hits(trace ragdb.retrieval_traces, chunk_ids text[])
returns table (chunk_id text, is_retrieved boolean, is_changed boolean, is_admissible boolean)
language sql stable parallel safe
begin atomic
  select u.id, h.chunk_id is not null, h.content_hash is distinct from c.content_hash,
    (_cited_hits.trace).is_admissible and exists (select from ragdb.slices s
      where s.corpus_id = (_cited_hits.trace).corpus_id and s.slice_id = (_cited_hits.trace).slice_id
        and u.id = any (s.chunk_ids))
  from pg_catalog.unnest(_cited_hits.chunk_ids) u (id)
    left join ragdb.retrieval_hits h on h.corpus_id = (_cited_hits.trace).corpus_id
      and h.trace_id = (_cited_hits.trace).id and h.created_at = (_cited_hits.trace).created_at and h.chunk_id = u.id
    left join ragdb.chunks c on c.corpus_id = (_cited_hits.trace).corpus_id and c.chunk_id = u.id;
end;
comment on function ragdb._cited_hits(ragdb.retrieval_traces, text[]) is
  'Returns for each cited chunk whether a trace retrieved it, whether it has changed or gone since, and whether the slice of the trace admits it.';

-- A quote that begins in one chunk and ends in another is in neither.
create or replace function ragdb._crosses(quote text, chunk_id text, evidence jsonb) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words text[] := string_to_array(btrim((ragdb._quotable(quote)).letters), ' ');
  v_own text;
  v_other record;
  v_head text;
  v_tail text;
begin
  select (ragdb._quotable(c.chunk ->> 'text')).letters into v_own
    from jsonb_array_elements(evidence -> 'chunks') c (chunk) where c.chunk ->> 'chunk_id' = _crosses.chunk_id;
  for v_other in
    select c.chunk ->> 'chunk_id' as chunk_id, (ragdb._quotable(c.chunk ->> 'text')).letters as letters
    from jsonb_array_elements(evidence -> 'chunks') c (chunk) where c.chunk ->> 'chunk_id' <> _crosses.chunk_id
  loop
    for v_cut in 2 .. cardinality(v_words) - 2 loop
      v_head := array_to_string(v_words[:v_cut], ' ');
      v_tail := array_to_string(v_words[v_cut + 1 :], ' ');
      exit when strpos(v_own, v_head) = 0 and strpos(v_other.letters, v_head) = 0;
      if strpos(v_own, v_head) > 0 and strpos(v_other.letters, v_tail) > 0
          or strpos(v_other.letters, v_head) > 0 and strpos(v_own, v_tail) > 0 then
        return v_other.chunk_id;
      end if;
    end loop;
  end loop;
  return null;
end $$;
comment on function ragdb._crosses(text, text, jsonb) is
  'Returns the chunk that a quote, two words of it or more in each, goes over into from or to the cited one; null for none.';

-- Definer: what a trace saw is granted to nobody; the caller's right to the trace is checked here.
create or replace function ragdb.check_citations(
  output jsonb, evidence jsonb, trace_id uuid default null, require_citations boolean default false,
  require_admissible boolean default false, min_coverage float8 default 0, min_quote integer default 8,
  offsets text default 'codepoint')
returns table (citation integer, code text, is_advisory boolean, message text, source_id text, chunk_id text,
  method text, start_offset integer, end_offset integer, similarity float8)
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_evidence jsonb := ragdb._evidence_of(evidence);
  v_answer text := ragdb._answer_text(output);
  v_trace ragdb.retrieval_traces;
  v_trace_id uuid;
  v_cited record;
  v_hit record;
  v_is_admissible boolean := false;
  v_found record;
  v_text text;
  v_at_start integer;
  v_at_end integer;
  v_letters text;
  v_missing text;
  v_is_covered boolean[];
  v_covered integer;
  v_all integer;
  v_problems integer;
begin
  perform ragdb._check_output(output, v_evidence);
  if offsets is null or offsets not in ('codepoint', 'utf16', 'byte') then
    raise exception 'offsets is %', ragdb._quote(offsets)
      using errcode = 'RG400', detail = 'it is what places in a text are counted in', hint = 'pass codepoint, utf16 or byte';
  end if;
  if require_citations is null or require_admissible is null or min_coverage is null or not min_coverage between 0 and 1
      or min_quote is null or min_quote not between 1 and 1000 then
    raise exception 'an argument of check_citations is null or out of range'
      using errcode = 'RG400', detail = 'min_coverage is % of 0 to 1, min_quote 1 to 1000 letters, the others true or false',
            hint = 'leave an argument out for its default';
  end if;
  v_trace_id := coalesce(trace_id, ragdb._trace_of(v_evidence));
  if v_trace_id is not null then
    v_trace := ragdb._open_trace(v_trace_id);
  end if;
  if output -> 'insufficient_evidence' = 'true' then
    return;
  end if;
  v_is_covered := array_fill(false, array[greatest(coalesce(length(v_answer), 0), 1)]);
  for v_cited in select c.* from ragdb._cited(output, v_evidence) c order by c.n, c.chunk_id loop
    citation := v_cited.n;
    source_id := v_cited.source_id;
    chunk_id := v_cited.chunk_id;
    method := null; start_offset := null; end_offset := null; similarity := null;
    is_advisory := false;
    v_problems := 0;
    v_text := null;
    select k.chunk ->> 'text', coalesce(v_cited.source_id, k.chunk ->> 'source_id'),
        coalesce(check_citations.trace_id, ragdb._trace_of(k.chunk), ragdb._trace_of(v_evidence))
      into v_text, source_id, v_trace_id
      from jsonb_array_elements(v_evidence -> 'chunks') k (chunk)
      where k.chunk ->> 'chunk_id' = v_cited.chunk_id
        and (v_cited.source_id is null or k.chunk ->> 'source_id' = v_cited.source_id) limit 1;
    if v_text is null then
      source_id := v_cited.source_id;
      code := case when v_cited.is_marker then 'MARKER_UNRESOLVED' else 'CITE_UNKNOWN' end;
      message := case when v_cited.is_marker then 'marker ' || v_cited.chunk_id || ' names no chunk of the evidence'
        else 'the evidence has no chunk ' || ragdb._quote(v_cited.chunk_id)
          || coalesce(' of source ' || ragdb._quote(v_cited.source_id), '') end;
      return next;
      continue;
    end if;
    if v_trace_id is distinct from v_trace.id then
      v_trace := null;
      v_is_admissible := false;
      if v_trace_id is not null then
        v_trace := ragdb._open_trace(v_trace_id);
      end if;
    end if;
    if v_trace.id is not null then
      select h.* into v_hit from ragdb._cited_hits(v_trace, array[v_cited.chunk_id]) h;
      v_is_admissible := v_hit.is_admissible;
      if not v_hit.is_retrieved then
        code := 'CITE_NOT_RETRIEVED';
        message := 'the trace did not retrieve this chunk';
        v_problems := v_problems + 1;
        return next;
      elsif v_hit.is_changed then
        code := 'CITE_STALE';
        message := 'the chunk has changed or gone since the trace';
        v_problems := v_problems + 1;
        return next;
      end if;
    end if;
    if (require_admissible or v_trace.retrieval_mode = 'slice') and not v_is_admissible then
      code := 'CITE_NOT_ADMISSIBLE';
      message := 'no admissible slice of the trace has this chunk';
      v_problems := v_problems + 1;
      return next;
    end if;
    if v_cited.quote is not null then
      v_letters := replace((ragdb._quotable(v_cited.quote)).letters, ' ', '');
      if length(v_letters) < min_quote then
        code := 'QUOTE_TOO_SHORT';
        message := 'the quote has ' || length(v_letters) || ' letters and not ' || min_quote;
        v_problems := v_problems + 1;
        return next;
      else
        select f.* into v_found from ragdb._find_quote(v_text, v_cited.quote) f;
        if v_found.method is null then
          v_missing := ragdb._crosses(v_cited.quote, v_cited.chunk_id, v_evidence);
          code := case when v_missing is null then 'QUOTE_NOT_FOUND' else 'QUOTE_CROSSES_CHUNKS' end;
          message := case when v_missing is null then 'the chunk does not say this'
            else 'a part of the quote is in chunk ' || ragdb._quote(v_missing) end;
          v_problems := v_problems + 1;
          return next;
        else
          method := v_found.method;
          similarity := v_found.similarity;
          start_offset := ragdb._units(v_text, v_found.start_offset, offsets);
          end_offset := ragdb._units(v_text, v_found.end_offset, offsets);
          if v_cited.start_claim is not null
              and (ragdb._integer(v_cited.start_claim), ragdb._integer(v_cited.end_claim))
                is distinct from (start_offset, end_offset) then
            code := 'OFFSETS_CORRECTED';
            message := 'the quote stands elsewhere than the citation says';
            is_advisory := true;
            return next;
            is_advisory := false;
          end if;
        end if;
      end if;
    elsif v_cited.start_claim is not null or v_cited.end_claim is not null then
      v_at_start := ragdb._code_points(v_text, ragdb._integer(v_cited.start_claim), offsets);
      v_at_end := ragdb._code_points(v_text, ragdb._integer(v_cited.end_claim), offsets);
      if coalesce(v_at_start >= v_at_end, true) then
        code := 'SPAN_INVALID';
        message := 'start and end are no range of the chunk';
        v_problems := v_problems + 1;
        return next;
      else
        start_offset := ragdb._integer(v_cited.start_claim);
        end_offset := ragdb._integer(v_cited.end_claim);
      end if;
    end if;
    if v_cited.answer_start is not null or v_cited.answer_end is not null or v_cited.is_marker then
      -- markers and blocks are counted here, in code points
      v_at_start := ragdb._integer(v_cited.answer_start);
      v_at_end := ragdb._integer(v_cited.answer_end);
      if not v_cited.is_marker and jsonb_typeof(output -> 'content') is distinct from 'array' then
        v_at_start := ragdb._code_points(v_answer, v_at_start, offsets);
        v_at_end := ragdb._code_points(v_answer, v_at_end, offsets);
      end if;
      if coalesce(v_at_start >= v_at_end or v_at_end > length(v_answer), true) then
        code := 'SPAN_INVALID';
        message := case when v_cited.is_marker then 'there is no text before the marker'
          else 'answer_start and answer_end are no range of the answer' end;
        v_problems := v_problems + 1;
        return next;
      else
        -- of all chunks cited for the same span one must have it
        v_missing := ragdb._unsupported(substr(v_answer, v_at_start + 1, v_at_end - v_at_start), array(
          select k.chunk ->> 'text' from ragdb._cited(output, v_evidence) o
            join jsonb_array_elements(v_evidence -> 'chunks') k (chunk) on k.chunk ->> 'chunk_id' = o.chunk_id
          where (o.answer_start, o.answer_end) = (v_cited.answer_start, v_cited.answer_end)));
        if v_missing is not null then
          code := 'NUMBER_UNSUPPORTED';
          message := 'the answer says ' || ragdb._quote(v_missing) || ' here and the cited chunk does not';
          v_problems := v_problems + 1;
          return next;
        end if;
        if v_problems = 0 then
          for v_at in v_at_start + 1 .. v_at_end loop
            v_is_covered[v_at] := true;
          end loop;
        end if;
      end if;
    end if;
    if v_problems = 0 then
      code := null;
      message := null;
      return next;
    end if;
  end loop;
  citation := null; source_id := null; chunk_id := null; method := null; start_offset := null; end_offset := null;
  similarity := null;
  if require_citations and not exists (select from ragdb._cited(output, v_evidence)) then
    code := 'CITATION_REQUIRED';
    message := 'missing citations';
    return next;
  end if;
  if min_coverage > 0 then
    -- markers are no part of what is said
    v_text := coalesce(v_answer, '');
    loop
      v_at_start := regexp_instr(v_text, '\[[0-9]{1,6}(?:[ \t]*,[ \t]*[0-9]{1,6})*\]');
      exit when v_at_start = 0;
      v_at_end := strpos(substr(v_text, v_at_start), ']');
      v_text := overlay(v_text placing repeat(' ', v_at_end) from v_at_start for v_at_end);
    end loop;
    select count(*) filter (where v_is_covered[c.n]), count(*) into v_covered, v_all
      from regexp_split_to_table(v_text, '') with ordinality c (letter, n)
      where c.letter ~ '\S';
    if v_covered < min_coverage * v_all or v_all = 0 then
      code := 'COVERAGE_BELOW_THRESHOLD';
      message := v_covered || ' of ' || v_all || ' characters of the answer are cited';
      return next;
    end if;
  end if;
  is_advisory := true;
  code := 'OVER_CITED';
  for v_cited in
    select count(distinct c.chunk_id) as chunks, c.answer_start, c.answer_end
    from ragdb._cited(output, v_evidence) c where c.answer_start is not null
    group by c.answer_start, c.answer_end having count(distinct c.chunk_id) > 3
    order by c.answer_start, c.answer_end
  loop
    message := v_cited.chunks || ' chunks are cited for one span';
    return next;
  end loop;
end $$;
comment on function ragdb.check_citations(jsonb, jsonb, uuid, boolean, boolean, float8, integer, text) is
  'Checks without a model the citations of an output against its evidence and the trace that retrieved it: a row for each citation (from 0) with code null and where its quote stands, or one for each problem; min_coverage (0 to 1) is the share of the answer that must be cited, min_quote the letters (1 to 1000) of a quote, offsets what places are counted in (codepoint, utf16, byte). It proves reference, place and words, not that the answer follows. Raises RG400, RG407, RG460.';

create or replace function ragdb._unsupported(said text, texts text[]) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_said text := (ragdb._quotable(said)).letters;
  v_texts text[];
begin
  if v_said !~ '[0-9_]' then
    return null;
  end if;
  v_texts := array(select (ragdb._quotable(t.text)).letters from unnest(texts) t (text));
  return (
    select s.term from (
      select n.numeral as term, 1 as kind, n.n
      from unnest(ragdb._numerals(v_said)) with ordinality n (numeral, n)
      where not exists (select from unnest(v_texts) t (text) where n.numeral = any (ragdb._numerals(t.text)))
      union all
      select i.term, 2, i.n
      from unnest(ragdb._terms_of(v_said)) with ordinality i (term, n)
      where not exists (select from unnest(v_texts) t (text) where strpos(t.text, i.term) > 0)) s
    order by s.kind, s.n limit 1);
end $$;
comment on function ragdb._unsupported(text, text[]) is
  'Returns a number or an identifier of a text that none of several others has; null when all are there.';

---- sql/74_answers_extractive.sql

-- Questions: what to look up for one, whether evidence is enough for it, and an answer in the evidence's own words.

create or replace function ragdb._check_question(question text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if question is null or question !~ '\S' then
    raise exception 'question is %', case when question is null then 'null' else 'empty' end
      using errcode = 'RG400', detail = 'there is nothing to answer without a word', hint = 'pass the question as text';
  elsif length(question) > 10000 then
    raise exception 'question has % characters', length(question)
      using errcode = 'RG413', detail = 'a question is a few sentences', hint = 'give at most 10000 characters';
  end if;
end $$;
comment on function ragdb._check_question(text) is 'Refuses a question that is null, empty or longer than 10000 characters. Raises RG400, RG413.';

-- Definer: what it calls is private.
create or replace function ragdb.rag_query_plan(question text) returns jsonb
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_plain text;
  v_reason text;
  v_queries text[];
begin
  perform ragdb._check_question(question);
  v_plain := btrim(regexp_replace(lower(question), '[[:space:][:punct:]]+', ' ', 'g'));
  v_reason := case
    when v_plain = '' then 'it has no words'
    when v_plain ~ '^(hi|hello|hey|thanks|thank you|good (morning|afternoon|evening)|bye|goodbye|ok|okay|yes|no)( (there|all|everyone|very much|so much))?$'
      then 'it is a greeting'
    when lower(question) ~ '^[[:space:]]*(what is|calculate)?[[:space:]]*[-+*/^().,=?0-9[:space:]]+$' and question ~ '[0-9]' then 'it is arithmetic'
    when ragdb._lexemes(question, 'english') = '' then 'it has no word to search for'
  end;
  if v_reason is not null then
    return jsonb_build_object('needs_retrieval', false, 'queries', '[]'::jsonb, 'reason', v_reason);
  end if;
  -- the question itself, its parts, what it quotes, the names in it; each once, in this order
  v_queries := array(
    select q.query from (
      select btrim(p.query) as query, min(p.kind) as kind, min(p.n) as n
      from (
        select 1 as kind, 1::bigint as n, regexp_replace(btrim(question), '[[:space:]]+', ' ', 'g') as query
        union all
        select 2, s.n, regexp_replace(s.part, '[[:space:]]+', ' ', 'g')
        from regexp_split_to_table(question,
          '(?<=[?.;!])[[:space:]]+|,?[[:space:]]+and[[:space:]]+(?=(?:what|who|whom|whose|when|where|which|why|how)[[:space:]])')
          with ordinality s (part, n)
        union all
        select 3, m.n, m.phrase[1]
        from regexp_matches(question, '["\u201c\u201e\u00ab]([^"\u201c\u201d\u00ab\u00bb]{2,200})["\u201d\u201c\u00bb]', 'g')
          with ordinality m (phrase, n)
        union all
        -- runs of capitals that do not begin a sentence
        select 4, m.n, m.entity[1]
        from regexp_matches(question,
          '[[:lower:][:digit:],)][[:space:]]+([[:upper:]][[:alnum:]-]*(?:[[:space:]]+(?:(?:of|the|de|von|van)[[:space:]]+)?[[:upper:]][[:alnum:]-]*)*)', 'g')
          with ordinality m (entity, n)) p
      where p.query ~ '[[:alnum:]]'
      group by btrim(p.query)) q
    order by q.kind, q.n limit 16);
  return jsonb_build_object('needs_retrieval', true, 'queries', to_jsonb(v_queries),
    'reason', 'it asks for something: ' || cardinality(v_queries) || ' to look up');
end $$;
comment on function ragdb.rag_query_plan(text) is
  'Plans the retrieval for a question without a model: needs_retrieval (false for greetings, arithmetic and what has no word to search for), queries (the question, its parts, what it quotes, the names in it; 16 at most) and the reason. Raises RG400, RG413.';

-- A model may plan instead; what it says is looked at before anything is looked up.
create or replace function ragdb.validate_query_plan(plan jsonb) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if plan is null or jsonb_typeof(plan) <> 'object' then
    return array['plan: no object'];
  end if;
  return array(
    select p.problem from (values
      (1, case when jsonb_typeof(plan -> 'needs_retrieval') is distinct from 'boolean' then 'needs_retrieval: no boolean' end),
      (2, case when jsonb_typeof(coalesce(plan -> 'queries', '[]')) <> 'array' then 'queries: no array'
        when jsonb_path_exists(plan, 'strict $.queries[*] ? (@.type() != "string")', silent => true) then 'queries: one is no text'
        when exists (select from jsonb_array_elements_text(coalesce(plan -> 'queries', '[]')) q (query)
          where q.query !~ '\S' or length(q.query) > 10000) then 'queries: one is empty or longer than 10000 characters'
        when jsonb_array_length(coalesce(plan -> 'queries', '[]')) > 16 then 'queries: more than 16'
        when plan -> 'needs_retrieval' = 'true' and coalesce(plan -> 'queries', '[]') = '[]' then 'queries: none' end),
      (3, case when plan ? 'reason' and jsonb_typeof(plan -> 'reason') <> 'string' then 'reason: no text' end)
    ) p (n, problem)
    where p.problem is not null order by p.n);
end $$;
comment on function ragdb.validate_query_plan(jsonb) is
  'Returns what is wrong with a plan that a model made in place of ragdb.rag_query_plan: needs_retrieval is a boolean, queries are 1 to 16 texts of at most 10000 characters where it is true, reason is a text; nothing for a sound one.';

-- Definer: what it calls is private.
create or replace function ragdb.rag_enough_context_gate(
  query text, pack jsonb, min_chunks integer default 1, min_score float8 default 0, min_coverage float8 default 0.6)
returns jsonb
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_evidence jsonb := ragdb._evidence_of(pack);
  v_config text;
  v_asked text[];
  v_found text[];
  v_best float8;
  v_chunks integer;
  v_coverage float8;
begin
  perform ragdb._check_question(query);
  perform ragdb._check_evidence(v_evidence);
  if min_chunks is null or min_chunks not between 0 and 1000 or min_score is null or not min_score between 0 and 1
      or min_coverage is null or not min_coverage between 0 and 1 then
    raise exception 'a threshold of the gate is null or out of range'
      using errcode = 'RG400', detail = 'min_chunks is 0 to 1000, min_score and min_coverage are 0 to 1',
            hint = 'leave a threshold out for its default';
  end if;
  v_config := ragdb._evidence_config(v_evidence);
  v_chunks := jsonb_array_length(v_evidence -> 'chunks');
  select max(case when jsonb_typeof(c.chunk -> 'score') = 'number' then (c.chunk ->> 'score')::float8 end),
      coalesce(array_agg(distinct l.lexeme) filter (where l.lexeme is not null), '{}')
    into v_best, v_found
    from jsonb_array_elements(v_evidence -> 'chunks') c (chunk)
      left join lateral unnest(tsvector_to_array(ragdb._lexemes(c.chunk ->> 'text', v_config))) l (lexeme) on true;
  v_asked := tsvector_to_array(ragdb._lexemes(query, v_config));
  select coalesce(count(*) filter (where a.lexeme = any (v_found))::float8 / nullif(count(*), 0), 0) into v_coverage
    from unnest(v_asked) a (lexeme);
  return jsonb_build_object(
    'enough', v_chunks >= min_chunks and coalesce(v_best, 0) >= min_score and v_coverage >= min_coverage,
    'chunks', v_chunks, 'best_score', v_best, 'terms', cardinality(v_asked), 'coverage', v_coverage,
    'missing_terms', to_jsonb(array(select a.lexeme from unnest(v_asked) a (lexeme)
      where a.lexeme <> all (v_found) order by a.lexeme collate "C")),
    'min_chunks', min_chunks, 'min_score', min_score, 'min_coverage', min_coverage);
end $$;
comment on function ragdb.rag_enough_context_gate(text, jsonb, integer, float8, float8) is
  'Decides whether a pack is enough for a query: at least min_chunks (0 to 1000), a best score of min_score (0 to 1) or more, and min_coverage (0 to 1) of the query''s terms somewhere in it; returns enough with all it was decided by. Raises RG400, RG413, RG460.';

create or replace function ragdb._evidence_config(evidence jsonb) returns text
language sql immutable parallel safe
return coalesce(
  (select c.config from ragdb._text_configs() c where c.config = _evidence_config.evidence ->> 'text_config'), 'english');
comment on function ragdb._evidence_config(jsonb) is 'Returns the text configuration of a pack; english where it names none.';

-- The same ends of sentences as the chunker's: a mark, closing quotes and brackets, white space. A line of its own
-- (a heading, an item) is a sentence too.
create or replace function ragdb._sentences(text text)
returns table (start_offset integer, end_offset integer, sentence text)
language sql immutable parallel safe
begin atomic
  select (s.stop - pg_catalog.length(s.part) + s.lead)::integer,
    (s.stop - pg_catalog.length(s.part) + s.lead + pg_catalog.length(s.sentence))::integer, s.sentence
  from (
    select p.part, pg_catalog.sum(pg_catalog.length(p.part)) over (order by p.n) as stop,
      pg_catalog.length(p.part) - pg_catalog.length(pg_catalog.ltrim(p.part, E' \t\r\n')) as lead,
      pg_catalog.btrim(p.part, E' \t\r\n') as sentence, p.n
    from (
      select m.part[1] as part, m.n
      from pg_catalog.regexp_matches(_sentences.text,
        '((?:[^.!?\u3002\uff01\uff1f\n]|[.!?](?![\s"''\u2019\u201d)\]])|[.!?]["''\u2019\u201d)\]]+(?!\s)|\n(?!\s*\n))*(?:[.!?\u3002\uff01\uff1f]["''\u2019\u201d)\]]*\s*|\n\s*\n\s*|$))', 'g')
        with ordinality m (part, n)
      where m.part[1] <> '') p) s
  where s.sentence <> ''
  order by s.n;
end;
comment on function ragdb._sentences(text) is
  'Returns the sentences of a text and their ranges in it, from 0.';

-- Definer: what it calls is private.
create or replace function ragdb.answer_from_evidence(
  question text, evidence jsonb, max_sentences integer default 2, min_support float8 default 0.5)
returns jsonb
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_evidence jsonb := ragdb._evidence_of(evidence);
  v_config text;
  v_asked text[];
  v_total float8;
  v_support float8;
  v_left text[];
  v_picked integer[] := '{}';
  v_sentence record;
  v_answer text := '';
  v_citations jsonb[] := '{}';
begin
  perform ragdb._check_question(question);
  perform ragdb._check_evidence(v_evidence);
  if max_sentences is null or max_sentences not between 1 and 20 or min_support is null or not min_support between 0 and 1 then
    raise exception 'max_sentences or min_support is null or out of range'
      using errcode = 'RG400', detail = 'max_sentences is 1 to 20, min_support 0 to 1', hint = 'leave them out for 2 and 0.5';
  end if;
  v_config := ragdb._evidence_config(v_evidence);
  v_asked := tsvector_to_array(ragdb._lexemes(question, v_config));
  v_left := v_asked;
  for v_round in 1 .. max_sentences loop
    -- a sentence counts for the terms that no better one has brought yet, each by how rare it is among the sentences
    with sentence as materialized (
      select c.n as chunk, c.chunk ->> 'source_id' as source_id, c.chunk ->> 'chunk_id' as chunk_id, c.chunk -> 'page' as page,
        s.start_offset, s.end_offset, s.sentence, tsvector_to_array(ragdb._lexemes(s.sentence, v_config)) as lexemes,
        row_number() over (order by c.n, s.start_offset)::integer as n
      from jsonb_array_elements(v_evidence -> 'chunks') with ordinality c (chunk, n), ragdb._sentences(c.chunk ->> 'text') s
      -- a shorter one is too short a quote
      where length(s.sentence) >= 64 or length(replace((ragdb._quotable(s.sentence)).letters, ' ', '')) >= 8
    ), term as (
      select a.lexeme, ln(1 + (t.sentences - d.df + 0.5) / (d.df + 0.5))::float8 as weight
      from unnest(v_asked) a (lexeme)
        cross join (select count(*)::float8 as sentences from sentence) t
        cross join lateral (select count(*)::float8 as df from sentence s where a.lexeme = any (s.lexemes)) d
    )
    select s.*, g.gain, w.total, w.kept into v_sentence
    from sentence s
      cross join lateral (
        select coalesce(sum(t.weight order by t.lexeme collate "C"), 0) as gain from term t
        where t.lexeme = any (s.lexemes) and t.lexeme = any (v_left)) g
      cross join (select sum(t.weight order by t.lexeme collate "C") as total,
        coalesce(sum(t.weight order by t.lexeme collate "C") filter (where t.lexeme <> all (v_left)), 0) as kept from term t) w
    where s.n <> all (v_picked)
    order by g.gain desc, s.n limit 1;
    exit when not found or v_sentence.gain = 0;
    if v_round = 1 then
      v_total := v_sentence.total;
    end if;
    v_picked := v_picked || v_sentence.n;
    v_left := array(select l.lexeme from unnest(v_left) l (lexeme) where l.lexeme <> all (v_sentence.lexemes));
    v_support := (v_sentence.kept + v_sentence.gain) / v_total;
    v_answer := v_answer || case when v_answer = '' then '' else ' ' end;
    v_citations := v_citations || (jsonb_build_object(
      'source_id', v_sentence.source_id, 'chunk_id', v_sentence.chunk_id, 'quote', v_sentence.sentence,
      'start', v_sentence.start_offset, 'end', v_sentence.end_offset,
      'answer_start', length(v_answer), 'answer_end', length(v_answer) + length(v_sentence.sentence))
      || case when v_sentence.page is null then '{}' else jsonb_build_object('page', v_sentence.page) end);
    v_answer := v_answer || v_sentence.sentence;
  end loop;
  if coalesce(v_support, 0) < min_support or v_answer = '' then
    return jsonb_build_object('answer', '', 'citations', '[]'::jsonb, 'insufficient_evidence', true,
      'support', coalesce(v_support, 0));
  end if;
  return jsonb_build_object('answer', v_answer, 'citations', to_jsonb(v_citations), 'insufficient_evidence', false,
    'support', v_support);
end $$;
comment on function ragdb.answer_from_evidence(text, jsonb, integer, float8) is
  'Answers a question by the sentences of its evidence (a pack, or the input made of one) that have most of its terms, rare ones counting more: answer, citations with quote, start and end in the chunk and answer_start and answer_end, support (0 to 1), and insufficient_evidence true where at most max_sentences (1 to 20) support it less than min_support (0 to 1). Raises RG400, RG413, RG460.';

---- sql/76_answers_recorded.sql

-- What was weighed and answered, on record: the inputs and the verdict of a gate, and what each citation came to.
-- No text is kept, of a question, an answer or a quote: hashes, ids, places, codes and counts.

comment on table ragdb.evidence_gates is
  'One row per recorded weighing of evidence (ragdb.record_gate): what it was decided by, and the verdict. Append-only, in the same months as retrieval_traces.';
comment on column ragdb.evidence_gates.corpus_id is 'Corpus of the evidence.';
comment on column ragdb.evidence_gates.id is 'UUID of version 7.';
comment on column ragdb.evidence_gates.created_at is 'When it was recorded: the millisecond in the id.';
comment on column ragdb.evidence_gates.trace_id is 'Trace that retrieved the evidence, or the first of its chunks that any did; null where no trace did.';
comment on column ragdb.evidence_gates.query_hash is 'Sha256 (hex) of the question in UTF-8; null where corpora.record_query_text is none.';
comment on column ragdb.evidence_gates.pack_hash is 'Sha256 (hex) of the canonical text of the evidence.';
comment on column ragdb.evidence_gates.is_enough is 'The verdict: chunks, best_score and coverage all reach their thresholds.';
comment on column ragdb.evidence_gates.chunks is 'Chunks of the evidence.';
comment on column ragdb.evidence_gates.min_chunks is 'Threshold of chunks, 0 to 1000.';
comment on column ragdb.evidence_gates.best_score is 'Best score of a chunk, 0 to 1; null where none has a score.';
comment on column ragdb.evidence_gates.min_score is 'Threshold of best_score, 0 to 1.';
comment on column ragdb.evidence_gates.terms is 'Different terms of the question.';
comment on column ragdb.evidence_gates.coverage is 'Share of the terms that the evidence has, 0 to 1.';
comment on column ragdb.evidence_gates.min_coverage is 'Threshold of coverage, 0 to 1.';
comment on column ragdb.evidence_gates.missing_terms is 'Terms that the evidence lacks; null unless corpora.record_query_text is full.';
comment on column ragdb.evidence_gates.client is 'Program that asked, as it named itself.';
comment on column ragdb.evidence_gates.caller is 'Database role that asked.';

comment on table ragdb.evidence_answers is
  'One row per recorded answer, or attempt at one (ragdb.record_answer): whether its citations hold. Append-only, in the same months as retrieval_traces.';
comment on column ragdb.evidence_answers.corpus_id is 'Corpus of the evidence.';
comment on column ragdb.evidence_answers.id is 'UUID of version 7.';
comment on column ragdb.evidence_answers.created_at is 'When it was recorded: the millisecond in the id.';
comment on column ragdb.evidence_answers.trace_id is 'Trace that retrieved the evidence, or the first of its chunks that any did; null where no trace did.';
comment on column ragdb.evidence_answers.pack_hash is 'Sha256 (hex) of the canonical text of the evidence.';
comment on column ragdb.evidence_answers.answer_hash is 'Sha256 (hex) of the answer in UTF-8; null without one, and where corpora.record_query_text is none.';
comment on column ragdb.evidence_answers.is_insufficient is 'Whether the answer is that the evidence is not enough.';
comment on column ragdb.evidence_answers.is_verified is 'Whether nothing was found wrong with its citations; advice is nothing wrong.';
comment on column ragdb.evidence_answers.citations is 'Citations of the answer, its [n] markers counted.';
comment on column ragdb.evidence_answers.problems is 'Rows of answer_citations with a code that is no advice.';
comment on column ragdb.evidence_answers.task is 'Task that was run, as it named itself; null for none.';
comment on column ragdb.evidence_answers.model is 'Model that answered, as it named itself; null for an answer in the evidence''s own words.';
comment on column ragdb.evidence_answers.attempt is 'Which attempt at the answer this is, from 1.';
comment on column ragdb.evidence_answers.client is 'Program that asked, as it named itself.';
comment on column ragdb.evidence_answers.caller is 'Database role that asked.';

comment on table ragdb.answer_citations is
  'What ragdb.check_citations said of a recorded answer: a row for each citation that holds, and one for each thing that is wrong. Append-only, in the same months as retrieval_traces.';
comment on column ragdb.answer_citations.corpus_id is 'Corpus of the evidence.';
comment on column ragdb.answer_citations.answer_id is 'The answer.';
comment on column ragdb.answer_citations.created_at is 'The answer''s created_at.';
comment on column ragdb.answer_citations.row_no is 'Place among the rows of the answer, from 1.';
comment on column ragdb.answer_citations.citation is 'Which citation, from 0; null for what is wrong with the answer as a whole.';
comment on column ragdb.answer_citations.code is 'What is wrong with it (see ragdb.check_citations); null when it holds.';
comment on column ragdb.answer_citations.is_advisory is 'Whether the code is only advice.';
comment on column ragdb.answer_citations.source_id is 'Source of the cited chunk; null where the evidence has no such chunk.';
comment on column ragdb.answer_citations.chunk_id is 'The cited chunk; null where the evidence has no such chunk.';
comment on column ragdb.answer_citations.method is 'How its quote was found: exact, normalised or approximate; null without a quote.';
comment on column ragdb.answer_citations.start_offset is 'Where the quote or the cited range begins in the chunk''s text, from 0.';
comment on column ragdb.answer_citations.end_offset is 'Where it ends: behind its last character.';
comment on column ragdb.answer_citations.unit is 'What start_offset and end_offset count: codepoint, utf16 or byte.';
comment on column ragdb.answer_citations.similarity is 'Share of the quote''s letters that the chunk has, 0.85 to 1; null without a quote.';

create or replace function ragdb._check_client(client text, what text) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if length(client) > 200 then
    raise exception '% has % characters', what, length(client)
      using errcode = 'RG413', detail = 'it names a program, a task or a model', hint = 'give at most 200 characters';
  end if;
end $$;
comment on function ragdb._check_client(text, text) is 'Refuses a name of more than 200 characters. Raises RG413.';

-- Evidence is recorded under its corpus: that of its trace, or the one it names where chunks were packed by their ids.
create or replace function ragdb._evidence_corpus(
  evidence jsonb, trace_id uuid, out corpus ragdb.corpora, out trace uuid)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces;
  v_name text := coalesce(evidence ->> 'corpus', evidence ->> 'corpus_id');
begin
  trace := coalesce(trace_id, ragdb._trace_of(evidence), (
    select ragdb._trace_of(c.chunk) from jsonb_array_elements(evidence -> 'chunks') with ordinality c (chunk, n)
    where c.chunk ? 'trace_id' order by c.n limit 1));
  if trace is not null then
    v_trace := ragdb._open_trace(trace);
    select c.* into strict corpus from ragdb.corpora c where c.corpus_id = v_trace.corpus_id;
  elsif v_name is null then
    raise exception 'evidence names neither trace nor corpus'
      using errcode = 'RG460', detail = 'what is recorded is recorded under a corpus', hint = 'pass what ragdb.build_evidence_pack() returns';
  else
    corpus := ragdb._open_corpus(v_name, 'read');
  end if;
  if evidence ->> 'sha256' !~ '^[0-9a-f]{64}$' or evidence -> 'sha256' is null then
    raise exception 'evidence has no sha256'
      using errcode = 'RG460', detail = 'the hash of a pack says later what was weighed', hint = 'pass what ragdb.build_evidence_pack() returns';
  end if;
  -- once an upgrade has brought the tables, the first month is made here
  if to_regclass('ragdb.answer_citations_default') is null then
    perform ragdb.maintain();
  end if;
end $$;
comment on function ragdb._evidence_corpus(jsonb, uuid) is
  'Returns the corpus that evidence is of, and its trace, for what is recorded of it. Raises RG404, RG407, RG460.';

create or replace function ragdb._check_writable(what text) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('transaction_read_only')::boolean then
    raise exception '% writes, and this transaction is read-only', what
      using errcode = 'read_only_sql_transaction',
            detail = 'the server is a standby, or the transaction or role is set to read-only',
            hint = 'ragdb.rag_enough_context_gate() and ragdb.check_citations() say the same and record nothing';
  end if;
end $$;
comment on function ragdb._check_writable(text) is 'Refuses to record in a read-only transaction. Raises 25006.';

-- Definer: it writes a table that is granted to nobody; the caller's right to the corpus is checked by _evidence_corpus.
create or replace function ragdb.record_gate(
  query text, pack jsonb, min_chunks integer default 1, min_score float8 default 0, min_coverage float8 default 0.6,
  trace_id uuid default null, client text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_evidence jsonb := ragdb._evidence_of(pack);
  v_verdict jsonb := ragdb.rag_enough_context_gate(query, pack, min_chunks, min_score, min_coverage);
  v_of record;
  v_row ragdb.evidence_gates;
begin
  perform ragdb._check_writable('record_gate');
  perform ragdb._check_client(client, 'client');
  select e.* into strict v_of from ragdb._evidence_corpus(v_evidence, trace_id) e;
  v_row.corpus_id := (v_of.corpus).corpus_id;
  v_row.id := ragdb._uuid7(ragdb._now());
  v_row.created_at := ragdb._uuid_time(v_row.id);
  v_row.trace_id := v_of.trace;
  if (v_of.corpus).record_query_text <> 'none' then
    v_row.query_hash := encode(sha256(ragdb._utf8(query)), 'hex');
  end if;
  v_row.pack_hash := v_evidence ->> 'sha256';
  v_row.is_enough := (v_verdict ->> 'enough')::boolean;
  v_row.chunks := (v_verdict ->> 'chunks')::integer;
  v_row.min_chunks := min_chunks;
  v_row.best_score := (v_verdict ->> 'best_score')::float8;
  v_row.min_score := min_score;
  v_row.terms := (v_verdict ->> 'terms')::integer;
  v_row.coverage := (v_verdict ->> 'coverage')::float8;
  v_row.min_coverage := min_coverage;
  if (v_of.corpus).record_query_text = 'full' then
    v_row.missing_terms := array(select t.term from jsonb_array_elements_text(v_verdict -> 'missing_terms') t (term));
  end if;
  v_row.client := client;
  v_row.caller := ragdb._caller();
  insert into ragdb.evidence_gates values (v_row.*);
  return v_verdict || jsonb_build_object('gate_id', v_row.id);
end $$;
comment on function ragdb.record_gate(text, jsonb, integer, float8, float8, uuid, text) is
  'Decides as ragdb.rag_enough_context_gate whether a pack is enough for a query, records what it was decided by and the verdict, and returns it with gate_id; trace_id is that of the pack unless given, client (up to 200 characters) names the program. Raises what ragdb.rag_enough_context_gate raises, RG404, RG407, and 25006 where nothing can be written.';

-- Definer, as above.
create or replace function ragdb.record_answer(
  output jsonb, evidence jsonb, trace_id uuid default null, require_citations boolean default false,
  require_admissible boolean default false, min_coverage float8 default 0, min_quote integer default 8,
  offsets text default 'codepoint', task text default null, model text default null, attempt integer default 1,
  client text default null)
returns table (answer_id uuid, citation integer, code text, is_advisory boolean, message text, source_id text, chunk_id text,
  method text, start_offset integer, end_offset integer, similarity float8)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_evidence jsonb := ragdb._evidence_of(evidence);
  v_of record;
  v_row ragdb.evidence_answers;
  v_rows ragdb.answer_citations[] := '{}';
  v_check record;
begin
  perform ragdb._check_writable('record_answer');
  perform ragdb._check_output(output, v_evidence);
  perform ragdb._check_client(client, 'client');
  perform ragdb._check_client(task, 'task');
  perform ragdb._check_client(model, 'model');
  if attempt is null or attempt not between 1 and 1000 then
    raise exception 'attempt is %', coalesce(attempt::text, 'null')
      using errcode = 'RG400', detail = 'it counts the attempts at an answer', hint = 'give 1 to 1000';
  end if;
  select e.* into strict v_of from ragdb._evidence_corpus(v_evidence, trace_id) e;
  v_row.corpus_id := (v_of.corpus).corpus_id;
  v_row.id := ragdb._uuid7(ragdb._now());
  v_row.created_at := ragdb._uuid_time(v_row.id);
  v_row.trace_id := v_of.trace;
  v_row.pack_hash := v_evidence ->> 'sha256';
  if (v_of.corpus).record_query_text <> 'none' then
    v_row.answer_hash := encode(sha256(ragdb._utf8(ragdb._answer_text(output))), 'hex');
  end if;
  v_row.is_insufficient := output -> 'insufficient_evidence' is not distinct from 'true';
  v_row.citations := case when v_row.is_insufficient then 0 else (select count(distinct c.n) from ragdb._cited(output, v_evidence) c) end;
  v_row.problems := 0;
  v_row.task := task;
  v_row.model := model;
  v_row.attempt := attempt;
  v_row.client := client;
  v_row.caller := ragdb._caller();
  answer_id := v_row.id;
  for v_check in
    select c.* from ragdb.check_citations(output, evidence, trace_id, require_citations, require_admissible, min_coverage,
      min_quote, offsets) c
  loop
    citation := v_check.citation;
    code := v_check.code;
    is_advisory := v_check.is_advisory;
    message := v_check.message;
    source_id := v_check.source_id;
    chunk_id := v_check.chunk_id;
    method := v_check.method;
    start_offset := v_check.start_offset;
    end_offset := v_check.end_offset;
    similarity := v_check.similarity;
    v_row.problems := v_row.problems + (code is not null and not is_advisory)::integer;
    -- what names no chunk of the evidence is the answer's own text
    v_rows := v_rows || row(v_row.corpus_id, v_row.id, v_row.created_at, cardinality(v_rows) + 1, citation, code, is_advisory,
      case when code is null or code not in ('CITE_UNKNOWN', 'MARKER_UNRESOLVED') then source_id end,
      case when code is null or code not in ('CITE_UNKNOWN', 'MARKER_UNRESOLVED') then chunk_id end,
      method, start_offset, end_offset, offsets, similarity)::ragdb.answer_citations;
    return next;
  end loop;
  v_row.is_verified := v_row.problems = 0;
  insert into ragdb.evidence_answers values (v_row.*);
  insert into ragdb.answer_citations select r.* from unnest(v_rows) r;
end $$;
comment on function ragdb.record_answer(jsonb, jsonb, uuid, boolean, boolean, float8, integer, text, text, text, integer, text) is
  'Checks the citations of an output as ragdb.check_citations, whose rows it returns after the id of the answer, and records the answer and what each citation came to, without any text; task, model and client (up to 200 characters each) are names, attempt (1 to 1000) counts the tries. Raises what ragdb.check_citations raises, RG404, RG413, and 25006 where nothing can be written.';

---- sql/80_capabilities.sql

-- Wire capabilities: requests and answers as JSON objects, for HTTP, for other programs, and for psql.
--
-- They answer from what is stored. What a model or a reader of files must do first becomes a job, and
-- the answer is {"error": "partition", "retry_after_ms", "job_id"}: the caller commits, waits and asks
-- the same again. Errors are answers too, with the word of ragdb.error_codes(): nothing is raised but
-- what is no error of the request (a read-only server, a full disk).

comment on table ragdb.blob_uploads is 'Who has put which blob, and so may have it ingested.';
comment on column ragdb.blob_uploads.cid is 'The blob.';
comment on column ragdb.blob_uploads.role is 'Database role that put it.';
comment on column ragdb.blob_uploads.put_at is 'When it was put by that role first.';
comment on table ragdb.ingest_jobs is 'Blobs that wait for a worker to read them, or could not be read.';
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
comment on column ragdb.ingest_jobs.due_at is 'When it may be claimed: the end of a back-off or of a lease.';
comment on column ragdb.ingest_jobs.error is 'Wire word of the last failure.';
comment on column ragdb.ingest_jobs.message is 'The last failure.';
comment on column ragdb.ingest_jobs.hint is 'What to do about it; null where nothing is known.';
comment on column ragdb.ingest_jobs.failed_at is 'When it failed for good; null while it may succeed.';
comment on column ragdb.ingest_jobs.created_at is 'When it was asked for.';
comment on table ragdb.embed_jobs is 'Texts that ragdb.embed_text was asked to embed, and for a day the answers.';
comment on column ragdb.embed_jobs.embedder_id is 'The embedder.';
comment on column ragdb.embed_jobs.request_hash is 'SHA-256 of the texts, each behind its length.';
comment on column ragdb.embed_jobs.job_id is 'Id that the caller was given, a UUID of version 7.';
comment on column ragdb.embed_jobs.texts is 'The texts, only while they wait.';
comment on column ragdb.embed_jobs.embeddings is 'Their embeddings, one behind the other; null until they are made.';
comment on column ragdb.embed_jobs.requested_by is 'Role that asked first.';
comment on column ragdb.embed_jobs.attempt is 'Claims so far; a completion must name the last.';
comment on column ragdb.embed_jobs.failures is 'Failures that may pass, so far; five are final.';
comment on column ragdb.embed_jobs.worker is 'Who claimed it; null when it waits.';
comment on column ragdb.embed_jobs.due_at is 'When it may be claimed: the end of a back-off or of a lease.';
comment on column ragdb.embed_jobs.message is 'The last failure.';
comment on column ragdb.embed_jobs.failed_at is 'When it failed for good; null while it may succeed.';
comment on column ragdb.embed_jobs.created_at is 'When it was asked for.';
comment on table ragdb.http_tokens is 'Bearer tokens of the HTTP server, by their hash, and the role that each stands for.';
comment on column ragdb.http_tokens.name is 'Name, 1 to 200 characters.';
comment on column ragdb.http_tokens.token_hash is 'SHA-256 of the token; the token itself is kept nowhere.';
comment on column ragdb.http_tokens.role is 'Database role that a request with it has.';
comment on column ragdb.http_tokens.created_by is 'Role that made it.';
comment on column ragdb.http_tokens.created_at is 'When it was made.';
comment on column ragdb.http_tokens.expires_at is 'From when on it is refused; null for never.';

-- ── descriptors ─────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb._capability_limits()
returns table (
  name text, version text, trust_required text, timeout_seconds integer, max_concurrent integer,
  k_max integer, needs_params text[], takes_params text[], needs_input text[], takes_input text[])
language sql immutable parallel safe
begin atomic
  select * from (values
    ('rag.query', '1.0', 'member', 10, 4, 20,
      array['corpus'], array['corpus'], array['query'],
      array['query', 'k', 'filter', 'include_text']),
    ('rag.ingest', '1.0', 'trusted', 300, 2, null::integer,
      array['corpus'], array['corpus'], array['doc_cid'],
      array['doc_cid', 'title', 'language', 'metadata']),
    ('rag.list_corpora', '1.0', 'member', 10, 4, null,
      '{}'::text[], '{}'::text[], '{}'::text[], '{}'::text[]),
    ('embed.text', '1.0', 'member', 60, 4, null,
      array['model'], array['model'], array['texts'], array['texts', 'normalize'])
  ) as c (name, version, trust_required, timeout_seconds, max_concurrent, k_max,
    needs_params, takes_params, needs_input, takes_input);
end;
comment on function ragdb._capability_limits() is
  'Returns what holds for each capability, and the fields of its requests.';

create or replace function ragdb._capability_schemas()
returns table (name text, request_schema jsonb, response_schema jsonb)
language sql immutable parallel safe
begin atomic
  select * from (values
    ('rag.query',
      '{"type": "object", "additionalProperties": false, "required": ["params", "input"], "properties": {
        "params": {"type": "object", "additionalProperties": false, "required": ["corpus"],
          "properties": {"corpus": {"type": "string"}}},
        "input": {"type": "object", "additionalProperties": false, "required": ["query"], "properties": {
          "query": {"type": "string", "minLength": 1, "maxLength": 32768, "pattern": "\\S"},
          "k": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
          "filter": {"type": ["object", "null"]},
          "include_text": {"type": "boolean", "default": true}}}}}'::jsonb,
      '{"type": "object", "additionalProperties": false, "required": ["output", "meta"], "properties": {
        "output": {"type": "object", "additionalProperties": false, "required": ["chunks"], "properties": {
          "chunks": {"type": "array", "maxItems": 20, "items": {"type": "object",
            "additionalProperties": false, "required": ["rank", "score", "metadata"], "properties": {
              "rank": {"type": "integer", "minimum": 1, "maximum": 20},
              "score": {"type": "number", "minimum": 0, "maximum": 1},
              "text": {"type": "string"},
              "metadata": {"type": "object", "additionalProperties": false,
                "required": ["doc_cid", "doc_title", "page", "chunk_id"], "properties": {
                  "doc_cid": {"type": "string"}, "doc_title": {"type": ["string", "null"]},
                  "page": {"type": ["integer", "null"], "minimum": 1},
                  "chunk_id": {"type": "string"}}}}}}}},
        "meta": {"type": "object", "additionalProperties": false,
          "required": ["corpus", "ms", "embedding_model"], "properties": {
            "corpus": {"type": "string"}, "ms": {"type": "number", "minimum": 0},
            "embedding_model": {"type": ["string", "null"]}}}}}'::jsonb),
    ('rag.ingest',
      '{"type": "object", "additionalProperties": false, "required": ["params", "input"], "properties": {
        "params": {"type": "object", "additionalProperties": false, "required": ["corpus"],
          "properties": {"corpus": {"type": "string"}}},
        "input": {"type": "object", "additionalProperties": false, "required": ["doc_cid"], "properties": {
          "doc_cid": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
          "title": {"type": ["string", "null"], "maxLength": 2500},
          "language": {"type": ["string", "null"], "pattern": "^[A-Za-z0-9-]{1,64}$"},
          "metadata": {"type": ["object", "null"]}}}}}',
      '{"type": "object", "additionalProperties": false, "required": ["output", "meta"], "properties": {
        "output": {"type": "object", "additionalProperties": false,
          "required": ["doc_cid", "chunks_indexed", "tokens_indexed"], "properties": {
            "doc_cid": {"type": "string"}, "chunks_indexed": {"type": "integer", "minimum": 0},
            "tokens_indexed": {"type": "integer", "minimum": 0}}},
        "meta": {"type": "object", "additionalProperties": false,
          "required": ["corpus", "ms", "ingest_event_id"], "properties": {
            "corpus": {"type": "string"}, "ms": {"type": "number", "minimum": 0},
            "ingest_event_id": {"type": "string", "format": "uuid"}}}}}'),
    ('rag.list_corpora',
      '{"type": "object", "additionalProperties": false, "properties": {
        "params": {"type": "object", "additionalProperties": false},
        "input": {"type": "object", "additionalProperties": false}}}',
      '{"type": "object", "additionalProperties": false, "required": ["output", "meta"], "properties": {
        "output": {"type": "object", "additionalProperties": false, "required": ["corpora"], "properties": {
          "corpora": {"type": "array", "items": {"type": "object", "additionalProperties": false,
            "required": ["name", "docs", "chunks", "size_bytes", "language_majority"], "properties": {
              "name": {"type": "string"}, "docs": {"type": "integer", "minimum": 0},
              "chunks": {"type": "integer", "minimum": 0},
              "size_bytes": {"type": "integer", "minimum": 0},
              "language_majority": {"type": ["string", "null"]}}}}}},
        "meta": {"type": "object", "additionalProperties": false, "required": ["ms"],
          "properties": {"ms": {"type": "number", "minimum": 0}}}}}'),
    ('embed.text',
      '{"type": "object", "additionalProperties": false, "required": ["params", "input"], "properties": {
        "params": {"type": "object", "additionalProperties": false, "required": ["model"],
          "properties": {"model": {"type": "string"}}},
        "input": {"type": "object", "additionalProperties": false, "required": ["texts"], "properties": {
          "texts": {"type": "array", "minItems": 1, "maxItems": 256,
            "items": {"type": "string", "minLength": 1, "maxLength": 8192, "pattern": "\\S"}},
          "normalize": {"type": "boolean", "default": true}}}}}',
      '{"type": "object", "additionalProperties": false, "required": ["output", "meta"], "properties": {
        "output": {"type": "object", "additionalProperties": false, "required": ["embeddings", "dim"],
          "properties": {
            "embeddings": {"type": "array", "minItems": 1, "maxItems": 256,
              "items": {"type": "array", "minItems": 1, "items": {"type": "number"}}},
            "dim": {"type": "integer", "minimum": 1}}},
        "meta": {"type": "object", "additionalProperties": false, "required": ["model", "ms"],
          "properties": {"model": {"type": "string"}, "ms": {"type": "number", "minimum": 0}}}}}')
  ) as s (name, request_schema, response_schema);
end;
comment on function ragdb._capability_schemas() is
  'Returns the JSON schemas of the requests and answers of each capability.';

create or replace function ragdb.capability_schemas()
returns table (
  name text, version text, trust_required text, timeout_seconds integer, max_concurrent integer,
  request_schema jsonb, response_schema jsonb)
language sql immutable parallel safe security definer
begin atomic
  select l.name, l.version, l.trust_required, l.timeout_seconds, l.max_concurrent,
    s.request_schema, s.response_schema
  from ragdb._capability_limits() l join ragdb._capability_schemas() s on s.name = l.name
  order by l.name;
end;
comment on function ragdb.capability_schemas() is
  'Lists the wire capabilities that there are, with the trust they take, their limits and the JSON schemas of request and answer.';

-- Definer, like all that follow: the tables are granted to nobody.
create or replace function ragdb.capabilities()
returns table (
  name text, version text, stability text, trust_required text, timeout_seconds integer,
  max_concurrent integer, idempotent boolean, params jsonb, request_schema jsonb,
  response_schema jsonb)
language sql stable parallel safe security definer
begin atomic
  select l.name, l.version, 'stable', l.trust_required, l.timeout_seconds, l.max_concurrent, true,
    p.params, s.request_schema, s.response_schema
  from ragdb._capability_limits() l
    join ragdb._capability_schemas() s on s.name = l.name
    cross join lateral (
      select jsonb_build_object('corpus', c.name, 'embedding_model', e.name, 'k_max', l.k_max)
        as params
      from ragdb.corpora c
        left join lateral ragdb._space(c.corpus_id, 'current') w on true
        left join ragdb.embedders e on e.embedder_id = w.embedder_id
      where l.name = 'rag.query' and c.personal_of is null
        and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0
      union all
      select jsonb_build_object('model', e.name, 'dim', e.dims)
      from ragdb.embedders e
      where l.name = 'embed.text' and e.provider is not null
      union all
      select jsonb_build_object('corpora_available', coalesce(jsonb_agg(c.name order by c.name), '[]'))
      from ragdb.corpora c
      where l.name = 'rag.ingest' and c.personal_of is null
        and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 1
      having l.name = 'rag.ingest'
      union all
      select '{}'::jsonb where l.name = 'rag.list_corpora') p
  order by l.name, p.params::text collate "C";
end;
comment on function ragdb.capabilities() is
  'Lists the wire capabilities that the caller can route to, rag.query once for each corpus and embed.text once for each embedder, with the trust they take (unknown < member < trusted < anchor), their limits and the JSON schemas of request and answer.';

-- ── entering, refusing and answering ────────────────────────────────────────────────────────────

create or replace function ragdb._trust() returns text
language sql stable parallel safe
return case
  when pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_admin', 'usage')
    or pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_owner', 'usage') then 'anchor'
  when pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_writer', 'usage') then 'trusted'
  when pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_reader', 'usage') then 'member'
  else 'unknown' end;
comment on function ragdb._trust() is
  'Returns the trust level of the caller: anchor (ragdb_admin), trusted (ragdb_writer), member (ragdb_reader) or unknown.';

-- Trust, then shape, then capacity. A slot is an advisory lock of the transaction, of the caller's own:
-- no caller can take the slots of others, and none outlives its transaction.
create or replace function ragdb._enter_capability(capability text, request jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_levels constant text[] := array['unknown', 'member', 'trusted', 'anchor'];
  v_limits record;
  v_part record;
  v_field text;
begin
  select l.* into strict v_limits from ragdb._capability_limits() l where l.name = capability;
  if array_position(v_levels, ragdb._trust())
    < array_position(v_levels, v_limits.trust_required)
  then
    raise exception '% takes trust level %', capability, v_limits.trust_required
      using errcode = 'RG401',
            detail = format('role %s is %s', ragdb._quote(ragdb._caller()), ragdb._trust()),
            hint = 'unknown < member (ragdb_reader) < trusted (ragdb_writer) < anchor (ragdb_admin)';
  end if;
  if request is null or jsonb_typeof(request) <> 'object' then
    raise exception 'a request is a JSON object, not %', coalesce(jsonb_typeof(request), 'null')
      using errcode = 'RG400', detail = 'its fields are params and input',
            hint = 'ragdb.capabilities() has the schema of each request';
  end if;
  for v_part in
    select * from (values
      ('the request', request, '{}'::text[], array['params', 'input']),
      ('params', request -> 'params', v_limits.needs_params, v_limits.takes_params),
      ('input', request -> 'input', v_limits.needs_input, v_limits.takes_input)
    ) as p (part, fields, needs, takes)
  loop
    if jsonb_typeof(v_part.fields) <> 'object' then
      raise exception '% is no object', v_part.part
        using errcode = 'RG400', detail = 'it is of type ' || jsonb_typeof(v_part.fields),
              hint = 'ragdb.capabilities() has the schema of each request';
    end if;
    select n into v_field from unnest(v_part.needs) n
      where not coalesce(v_part.fields, '{}') ? n limit 1;
    if found then
      raise exception '% lacks %', v_part.part, v_field
        using errcode = 'RG400', detail = 'it must have ' || array_to_string(v_part.needs, ', '),
              hint = 'ragdb.capabilities() has the schema of each request';
    end if;
    select k into v_field from jsonb_object_keys(coalesce(v_part.fields, '{}')) k
      where k <> all (v_part.takes) limit 1;
    if found then
      raise exception '% has no field %', v_part.part, ragdb._quote(v_field)
        using errcode = 'RG400', detail = 'a field that nothing obeys would promise what does not happen',
              hint = case when v_part.takes = '{}' then v_part.part || ' has no fields'
                else 'fields are ' || array_to_string(v_part.takes, ', ') end;
    end if;
  end loop;
  for i in 1..v_limits.max_concurrent loop
    if pg_try_advisory_xact_lock(hashtextextended(
      format('ragdb %s %s %s', capability, i, ragdb._caller()), 0))
    then
      return;
    end if;
  end loop;
  raise exception 'all % slots of % are in use', v_limits.max_concurrent, capability
    using errcode = 'RG450',
          detail = format('role %s has that many calls in transactions that are open', ragdb._quote(ragdb._caller())),
          hint = 'try again in a moment';
end $$;
comment on function ragdb._enter_capability(text, jsonb) is
  'Refuses a caller without the trust that a capability takes, a request of another shape, and one call too many at a time. Raises RG400, RG401, RG450.';

create or replace function ragdb._wire_error(
  error text, message text, hint text default null, retry_after_ms integer default null,
  job_id uuid default null, sqlstate text default null)
returns jsonb
language sql immutable parallel safe
return pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
  'error', error, 'message', message, 'hint', hint, 'retry_after_ms', retry_after_ms,
  'job_id', job_id, 'sqlstate', sqlstate));
comment on function ragdb._wire_error(text, text, text, integer, uuid, text) is
  'Returns an error as a capability answers it.';

create or replace function ragdb._wire_error_of(sqlstate text, message text, detail text, hint text)
returns jsonb
language sql stable parallel safe
return (
  select ragdb._wire_error(c.wire_word, _wire_error_of.message || coalesce(': '
      || nullif(_wire_error_of.detail, ''), ''), nullif(_wire_error_of.hint, ''),
    case c.http_status when 429 then 200 end, null, c.sqlstate)
  from ragdb.error_codes() c where c.sqlstate = _wire_error_of.sqlstate);
comment on function ragdb._wire_error_of(text, text, text, text) is
  'Returns an error of class RG as a capability answers it; null for a code that is not ours.';

create or replace function ragdb._ms_since(began timestamptz) returns numeric
language sql stable parallel safe
return pg_catalog.round((1000 * extract(epoch from pg_catalog.clock_timestamp() - _ms_since.began))::numeric, 3);
comment on function ragdb._ms_since(timestamptz) is 'Returns the milliseconds since a time, to a microsecond.';

create or replace function ragdb._wire_text(fields jsonb, field text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(fields -> field) not in ('string', 'null') then
    raise exception '% is no text', field
      using errcode = 'RG400', detail = 'it is of type ' || jsonb_typeof(fields -> field),
            hint = 'ragdb.capabilities() has the schema of each request';
  end if;
  return fields ->> field;
end $$;
comment on function ragdb._wire_text(jsonb, text) is
  'Returns a field of a request that is a text; null when it is null or missing. Raises RG400.';

-- `personal` is nobody's to route to, not even its owner's.
create or replace function ragdb._routable_corpus(corpus text, privilege text)
returns ragdb.corpora
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if corpus = 'personal' then
    raise exception 'corpus "personal" does not exist'
      using errcode = 'RG404', detail = 'a personal corpus is served by no capability',
            hint = 'its owner searches it with ragdb.search()';
  end if;
  return ragdb._open_corpus(corpus, privilege);
end $$;
comment on function ragdb._routable_corpus(text, text) is
  'Returns a corpus as ragdb._open_corpus does, but no personal one. Raises RG400, RG401, RG404.';

-- ── rag.query ───────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb._wire_filter(filter jsonb) returns jsonb
language sql immutable parallel safe
return (
  select case when _wire_filter.filter is null or pg_catalog.jsonb_typeof(_wire_filter.filter) = 'null' then null
    when pg_catalog.jsonb_typeof(_wire_filter.filter) <> 'object' then _wire_filter.filter
    else (
      select coalesce(pg_catalog.jsonb_object_agg(b.field, b.condition), '{}')
      from (
        select case when l.is_bound then pg_catalog.substr(f.key, 5) else f.key end as field,
          case when not pg_catalog.bool_or(l.is_bound)
              then (pg_catalog.array_agg(f.value))[1]
            else pg_catalog.jsonb_object_agg(case when pg_catalog.left(f.key, 4) = 'min_' then 'gte' else 'lte' end, f.value)
          end as condition
        from pg_catalog.jsonb_each(_wire_filter.filter) f
          cross join lateral (select f.key ~ '^(min|max)_.' and pg_catalog.jsonb_typeof(f.value) = 'number' as is_bound) l
        group by 1, l.is_bound) b)
  end);
comment on function ragdb._wire_filter(jsonb) is
  'Returns the filter of a request as ragdb.search takes it: min_year and max_year, with a number, bound the field year.';

create or replace function ragdb.rag_query(request jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_input constant jsonb := request -> 'input';
  v_corpus ragdb.corpora;
  v_space ragdb.embedding_spaces;
  v_embedder ragdb.embedders;
  v_k integer;
  v_query text;
  v_chunks jsonb;
  v_state text;
  v_message text;
  v_detail text;
  v_hint text;
begin
  perform ragdb._enter_capability('rag.query', request);
  v_corpus := ragdb._routable_corpus(ragdb._wire_text(request -> 'params', 'corpus'), 'read');
  v_query := ragdb._wire_text(v_input, 'query');
  if coalesce(v_query !~ '\S' or length(v_query) > 32768, true) then
    raise exception 'query is %', case when v_query is null then 'null'
        when length(v_query) > 32768 then 'too long' else 'empty' end
      using errcode = 'RG400', detail = 'a query has 1 to 32768 characters', hint = 'pass the question as query';
  end if;
  if v_input ? 'k' then
    if jsonb_typeof(v_input -> 'k') <> 'number' or (v_input ->> 'k')::numeric not between 1 and 20
      or (v_input ->> 'k')::numeric <> trunc((v_input ->> 'k')::numeric)
    then
      raise exception 'k is %, not a whole number from 1 to 20', ragdb._quote(v_input ->> 'k')
        using errcode = 'RG400', detail = 'it is the number of chunks to return', hint = 'the default is 5';
    end if;
  end if;
  v_k := coalesce((v_input ->> 'k')::numeric, 5);
  if v_input ? 'include_text' and jsonb_typeof(v_input -> 'include_text') <> 'boolean' then
    raise exception 'include_text is not true or false'
      using errcode = 'RG400', detail = 'it is of type ' || jsonb_typeof(v_input -> 'include_text'),
            hint = 'the default is true';
  end if;
  v_space := ragdb._space(v_corpus.corpus_id, 'current');
  if v_space.space_id is not null then
    select e.* into strict v_embedder from ragdb.embedders e where e.embedder_id = v_space.embedder_id;
    if ragdb._query_embedding(v_corpus.corpus_id, v_embedder.embedder_id, v_query) is null then
      return ragdb._wait_for_query(v_corpus, v_embedder, v_query);
    end if;
  end if;
  select coalesce(jsonb_agg(jsonb_build_object(
      'rank', h.rank, 'score', h.score,
      'metadata', jsonb_build_object('doc_cid', h.doc_cid, 'doc_title', h.title, 'page', h.page,
        'chunk_id', h.chunk_id))
    || case when coalesce((v_input ->> 'include_text')::boolean, true)
        then jsonb_build_object('text', h.text) else '{}' end order by h.rank), '[]')
    into v_chunks
    from ragdb.retrieve(corpus => v_corpus.name, query => v_query, k => v_k,
      filter => ragdb._wire_filter(v_input -> 'filter'), client => 'rag.query@1.0') h;
  return jsonb_build_object('output', jsonb_build_object('chunks', v_chunks),
    'meta', jsonb_build_object('corpus', v_corpus.name, 'ms', ragdb._ms_since(v_began),
      'embedding_model', v_embedder.name));
exception when others then
  if sqlstate !~ '^RG' then
    raise;
  end if;
  get stacked diagnostics v_state = returned_sqlstate, v_message = message_text,
    v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  if v_corpus.corpus_id is not null and v_query is not null and v_state <> 'RG450' then
    perform ragdb.record_failure(v_corpus.name, v_query, v_state, ragdb._ms_since(v_began)::float8,
      k => v_k, filter => v_input -> 'filter', client => 'rag.query@1.0');
  end if;
  return ragdb._wire_error_of(v_state, v_message, v_detail, v_hint);
end $$;
comment on function ragdb.rag_query(jsonb) is
  'Capability rag.query@1.0: {"params": {"corpus"}, "input": {"query", "k" (1 to 20, 5), "filter", "include_text" (true)}} gives {"output": {"chunks": [{"rank", "score", "text", "metadata": {"doc_cid", "doc_title", "page", "chunk_id"}}]}, "meta": {"corpus", "ms", "embedding_model"}} and records a trace; or {"error"} with not_found, bad_request, unauthorized, capacity_exceeded, or partition while a worker embeds the query. Raises 25006 where nothing can be written.';

create or replace function ragdb._wait_for_query(
  corpus ragdb.corpora, embedder ragdb.embedders, query text)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_error text;
begin
  perform ragdb.request_query_embedding(corpus.name, query);
  select s.last_error into v_error from ragdb.query_embedding_state(corpus.name, query) s;
  return ragdb._wire_error('partition',
    case when embedder.provider is null then format('embedder %s is bound to no provider', ragdb._quote(embedder.name))
      else 'the query waits for a worker that embeds it' || coalesce('; the last attempt failed: ' || v_error, '') end,
    case when embedder.provider is null then 'ragdb embedder bind names what runs it; then ask again'
      else 'ask again after retry_after_ms; ragdb worker must run' end,
    case when embedder.provider is null then 30000 else 100 end,
    ragdb._query_job(corpus.corpus_id, embedder.embedder_id, sha256(convert_to(query, 'UTF8'))));
end $$;
comment on function ragdb._wait_for_query(ragdb.corpora, ragdb.embedders, text) is
  'Asks the workers for the embedding of a query and returns the answer meanwhile.';

-- A query that waits has no id of its own: this is one of version 8, made of its key.
create or replace function ragdb._query_job(corpus_id integer, embedder_id integer, query_hash bytea) returns uuid
language sql immutable parallel safe
return pg_catalog.overlay(pg_catalog.overlay(pg_catalog.encode(pg_catalog.substr(pg_catalog.sha256(
    'ragdb.query/1'::bytea || pg_catalog.int4send(_query_job.corpus_id)
    || pg_catalog.int4send(_query_job.embedder_id) || _query_job.query_hash), 1, 16), 'hex'),
  '8', 13, 1), '8', 17, 1)::uuid;
comment on function ragdb._query_job(integer, integer, bytea) is
  'Returns the job id of a query that waits for its embedding.';

-- ── rag.ingest ──────────────────────────────────────────────────────────────────────────────────

-- Contents decide, so what is declared refuses only what begins like no packed file
create or replace function ragdb._is_readable(media_type text, head bytea) returns boolean
language sql immutable parallel safe
return pg_catalog.lower(pg_catalog.btrim(pg_catalog.split_part(_is_readable.media_type, ';', 1))) = any (array[
    'text/plain', 'text/markdown', 'text/x-markdown', 'text/x-rst', 'text/html',
    'application/xhtml+xml', 'application/pdf', 'application/octet-stream',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document'])
  or pg_catalog.substr(_is_readable.head, 1, 5) = '%PDF-'::bytea
  or pg_catalog.substr(_is_readable.head, 1, 4) = '\x504b0304'::bytea;
comment on function ragdb._is_readable(text, bytea) is
  'Says whether a blob may be a document that the readers know, by its media type or its first bytes.';

create or replace function ragdb._check_waiting_jobs() returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_waiting bigint;
begin
  select count(*) into v_waiting from (
    select from ragdb.ingest_jobs j where j.requested_by = ragdb._caller() and j.failed_at is null
    union all
    select from ragdb.embed_jobs j where j.requested_by = ragdb._caller() and j.texts is not null) w;
  if v_waiting >= 1000 then
    raise exception 'role % has % jobs waiting', ragdb._quote(ragdb._caller()), v_waiting
      using errcode = 'RG451', detail = 'a role may have 1000 jobs waiting for workers',
            hint = 'wait until workers have done some, or start more of them: ragdb worker';
  end if;
end $$;
comment on function ragdb._check_waiting_jobs() is
  'Refuses another job of a caller who has 1000 waiting. Raises RG451.';

create or replace function ragdb.rag_ingest(request jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_input constant jsonb := request -> 'input';
  v_corpus ragdb.corpora;
  v_cid text;
  v_title text;
  v_language text;
  v_document ragdb.documents;
  v_blob record;
  v_embedder ragdb.embedders;
  v_job ragdb.ingest_jobs;
  v_state text;
  v_message text;
  v_detail text;
  v_hint text;
begin
  perform ragdb._enter_capability('rag.ingest', request);
  v_corpus := ragdb._routable_corpus(ragdb._wire_text(request -> 'params', 'corpus'), 'write');
  v_cid := ragdb._wire_text(v_input, 'doc_cid');
  v_title := ragdb._wire_text(v_input, 'title');
  v_language := ragdb._wire_text(v_input, 'language');
  if coalesce(v_cid !~ '^sha256:[0-9a-f]{64}$', true) then
    raise exception 'doc_cid is %', ragdb._quote(v_cid)
      using errcode = 'RG400', detail = 'it is sha256: and 64 hex digits in lower case',
            hint = 'ragdb.put_blob() returns it';
  end if;
  if length(v_title) > 2500 or v_language !~ '^[A-Za-z0-9-]{1,64}$'
    or coalesce(jsonb_typeof(v_input -> 'metadata'), 'null') not in ('object', 'null')
  then
    raise exception 'title, language or metadata is not what it must be'
      using errcode = 'RG400',
            detail = 'a title has at most 2500 characters, a language is a code such as en, metadata is an object',
            hint = 'leave out what is not known';
  end if;
  select d.* into v_document from ragdb.documents d
    where d.corpus_id = v_corpus.corpus_id and d.doc_cid = v_cid;
  if found then
    return jsonb_build_object(
      'output', jsonb_build_object('doc_cid', v_document.doc_cid, 'chunks_indexed', v_document.chunks,
        'tokens_indexed', v_document.tokens),
      'meta', jsonb_build_object('corpus', v_corpus.name, 'ms', ragdb._ms_since(v_began),
        'ingest_event_id', v_document.event_id));
  end if;
  select b.media_type, substring(b.bytes from 1 for 8) as head into v_blob from ragdb.blobs b
    where b.cid = v_cid and (
      exists (select from ragdb.blob_uploads u where u.cid = b.cid and u.role = ragdb._caller())
      or exists (select from ragdb.corpora c join ragdb.documents d on d.corpus_id = c.corpus_id
        where d.doc_cid = b.cid and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0));
  if not found then
    raise exception 'no blob %', ragdb._quote(v_cid)
      using errcode = 'RG408', detail = 'a blob is ingested by who has put it, or may read a document of it',
            hint = 'put the bytes first: ragdb.put_blob()';
  end if;
  if not ragdb._is_readable(v_blob.media_type, v_blob.head) then
    raise exception 'blobs of type % are not read', ragdb._quote(v_blob.media_type)
      using errcode = 'RG452', detail = 'one document is one blob',
            hint = 'text, Markdown, RST, HTML, PDF and DOCX are read; ragdb ingest reads JSONL';
  end if;
  select j.* into v_job from ragdb.ingest_jobs j
    where j.corpus_id = v_corpus.corpus_id and j.doc_cid = v_cid;
  -- what failed a moment ago would fail again; later it may have been put right
  if v_job.failed_at > clock_timestamp() - interval '1 minute' then
    return ragdb._wire_error(v_job.error, v_job.message, v_job.hint, job_id => v_job.job_id);
  end if;
  if v_job.job_id is null or v_job.failed_at is not null then
    perform ragdb._check_waiting_jobs();
    insert into ragdb.ingest_jobs as j (corpus_id, doc_cid, job_id, title, language, metadata,
        requested_by, due_at, created_at)
      values (v_corpus.corpus_id, v_cid, ragdb._uuid7(ragdb._now()), v_title, v_language,
        coalesce(nullif(v_input -> 'metadata', 'null'), '{}'), ragdb._caller(), clock_timestamp(), ragdb._now())
      on conflict on constraint ingest_jobs_document_is_unique_per_corpus do update
        set title = excluded.title, language = excluded.language, metadata = excluded.metadata,
          requested_by = excluded.requested_by, failures = 0, attempt = j.attempt + 1, worker = null,
          due_at = excluded.due_at, error = null, message = null, hint = null, failed_at = null
        where j.failed_at is not null;
    select j.* into strict v_job from ragdb.ingest_jobs j
      where j.corpus_id = v_corpus.corpus_id and j.doc_cid = v_cid;
    perform pg_notify('ragdb_embeddings', 'ingest');
  end if;
  v_embedder := ragdb._unbound_embedder(v_corpus.corpus_id);
  return ragdb._wire_error('partition',
    case when v_embedder.name is null then 'the blob waits for a worker that reads it'
        || coalesce('; the last attempt failed: ' || v_job.message, '')
      else format('embedder %s is bound to no provider', ragdb._quote(v_embedder.name)) end,
    case when v_embedder.name is null then 'ask again after retry_after_ms; ragdb worker must run'
      else 'ragdb embedder bind names what runs it; then ask again' end,
    case when v_embedder.name is null then 250 else 30000 end, v_job.job_id);
exception when others then
  if sqlstate !~ '^RG' then
    raise;
  end if;
  get stacked diagnostics v_state = returned_sqlstate, v_message = message_text,
    v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  return ragdb._wire_error_of(v_state, v_message, v_detail, v_hint);
end $$;
comment on function ragdb.rag_ingest(jsonb) is
  'Capability rag.ingest@1.0: {"params": {"corpus"}, "input": {"doc_cid" (of a blob), "title", "language", "metadata"}} gives {"output": {"doc_cid", "chunks_indexed", "tokens_indexed"}, "meta": {"corpus", "ms", "ingest_event_id"}}, of a document that is there already its existing result; or {"error"} with not_found, bad_request, unauthorized, rate_limited, capacity_exceeded, or partition while a worker reads the blob.';

create or replace function ragdb._unbound_embedder(corpus_id integer) returns ragdb.embedders
language sql stable parallel safe
return (select e from ragdb._space(_unbound_embedder.corpus_id, 'current') s
  join ragdb.embedders e on e.embedder_id = s.embedder_id where e.provider is null);
comment on function ragdb._unbound_embedder(integer) is
  'Returns the embedder of a corpus when nothing is bound to run it, else null.';

create or replace function ragdb.claim_ingest_jobs(
  worker text, count integer default 1, lease interval default '600 seconds',
  only_corpus text default null)
returns table (
  job_id uuid, attempt integer, corpus text, doc_cid text, media_type text, bytes bytea, title text,
  language text, metadata jsonb, max_tokens integer, overlap integer)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_only integer;
begin
  perform ragdb._check_worker(worker, lease);
  if count is null or count not between 1 and 100 then
    raise exception 'count is %', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'a claim takes that many blobs', hint = 'pass count from 1 to 100';
  end if;
  if only_corpus is not null then
    v_only := (ragdb._open_corpus(only_corpus, 'write')).corpus_id;
  end if;
  delete from ragdb.ingest_jobs j where j.failed_at < clock_timestamp() - interval '1 day';
  -- a blob that kills five workers is to blame, and one that is gone comes no more
  with hopeless as materialized (
    select j.job_id, b.cid is null as is_gone
    from ragdb.ingest_jobs j left join ragdb.blobs b on b.cid = j.doc_cid
    where j.failed_at is null and j.due_at <= clock_timestamp()
      and (b.cid is null or j.attempt >= j.failures + 5)
    for update of j skip locked
  )
  update ragdb.ingest_jobs j
    set failed_at = clock_timestamp(), worker = null,
      error = case when h.is_gone then 'not_found' else 'internal_error' end,
      message = case when h.is_gone then 'the blob is gone' else 'five workers died or lost their lease on it' end,
      hint = case when h.is_gone then 'put the bytes again: ragdb.put_blob()' end
    from hopeless h where j.job_id = h.job_id;
  return query
    with due as materialized (
      select j.job_id, c.name as corpus, ragdb._space(j.corpus_id, 'current') as space
      from ragdb.ingest_jobs j join ragdb.corpora c on c.corpus_id = j.corpus_id
      where j.failed_at is null and j.due_at <= clock_timestamp()
        and j.corpus_id = coalesce(v_only, j.corpus_id)
        and ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 2
        and (ragdb._unbound_embedder(j.corpus_id)).name is null
      order by j.due_at limit claim_ingest_jobs.count
      for update of j skip locked
    )
    update ragdb.ingest_jobs j
    set attempt = j.attempt + 1, worker = claim_ingest_jobs.worker,
      due_at = clock_timestamp() + claim_ingest_jobs.lease
    from due d join ragdb.blobs b on true
    where j.job_id = d.job_id and b.cid = j.doc_cid
    returning j.job_id, j.attempt, d.corpus, j.doc_cid, b.media_type, b.bytes, j.title, j.language,
      j.metadata, case when (d.space).space_id is null then 1000 else 240 end,
      case when (d.space).space_id is null then 200 else 48 end;
end $$;
comment on function ragdb.claim_ingest_jobs(text, integer, interval, text) is
  'Claims up to count (1 to 100) blobs that wait to be read, for the time of the lease (1 s to 1 day), of corpora that the caller may write, with the chunking they shall get: 1000 tokens and 200 overlap, or 240 and 48 where the corpus has embeddings. Commit before reading; answer with ragdb.complete_ingest_job() or ragdb.fail_ingest_job(). Raises RG400, RG401, RG404.';

create or replace function ragdb._ingest_job(job_id uuid, attempt integer) returns ragdb.ingest_jobs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.ingest_jobs;
begin
  select j.* into v_job from ragdb.ingest_jobs j join ragdb.corpora c on c.corpus_id = j.corpus_id
    where j.job_id = _ingest_job.job_id and j.attempt = _ingest_job.attempt and j.failed_at is null
      and ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 2
    for update of j;
  if not found then
    raise exception 'job % is not this worker''s', coalesce(_ingest_job.job_id::text, 'null')
      using errcode = 'RG453', detail = 'it is done, failed, or claimed again since',
            hint = 'nothing is lost: whoever has it now answers';
  end if;
  return v_job;
end $$;
comment on function ragdb._ingest_job(uuid, integer) is
  'Locks and returns an ingest job under the number of its last claim. Raises RG453.';

create or replace function ragdb.complete_ingest_job(job_id uuid, attempt integer, document jsonb)
returns setof ragdb.put_result
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.ingest_jobs := ragdb._ingest_job(job_id, attempt);
  v_result ragdb.put_result;
begin
  if document ->> 'doc_cid' is distinct from v_job.doc_cid then
    raise exception 'the document is not the one that was claimed'
      using errcode = 'RG412', detail = 'its doc_cid is ' || ragdb._quote(document ->> 'doc_cid'),
            hint = 'the doc_cid of a document is that of its bytes';
  end if;
  select p.* into strict v_result from ragdb.corpora c,
      ragdb.put_documents(c.name, jsonb_build_array(document)) p
    where c.corpus_id = v_job.corpus_id;
  -- who asked is the author, not who read the file
  update ragdb.events e set author = v_job.requested_by
    where e.event_id = v_result.ingest_event_id and not v_result.was_duplicate;
  delete from ragdb.ingest_jobs j where j.job_id = v_job.job_id;
  return next v_result;
end $$;
comment on function ragdb.complete_ingest_job(uuid, integer, jsonb) is
  'Stores the document that a claimed blob is, in the form of ragdb.put_documents, with who asked for it as the author of its event, and ends the job. Raises RG409, RG412, RG413, RG453.';

create or replace function ragdb.fail_ingest_job(
  job_id uuid, attempt integer, message text, hint text default null, error text default null)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.ingest_jobs := ragdb._ingest_job(job_id, attempt);
begin
  if message is null or error not in ('bad_request', 'not_found', 'internal_error', 'conflict') then
    raise exception 'message is null, or error is %', ragdb._quote(error)
      using errcode = 'RG400', detail = 'a final failure has its wire word, one that may pass has none',
            hint = 'error is bad_request, not_found, conflict or internal_error, or null';
  end if;
  update ragdb.ingest_jobs j
    set worker = null, failures = j.failures + 1, message = left(fail_ingest_job.message, 1000),
      hint = left(fail_ingest_job.hint, 1000),
      error = coalesce(fail_ingest_job.error, case when j.failures >= 4 then 'internal_error' end),
      failed_at = case when fail_ingest_job.error is not null or j.failures >= 4
        then clock_timestamp() end,
      due_at = clock_timestamp() + make_interval(secs => 2 ^ (j.failures + 1)) * (0.5 + random())
    where j.job_id = v_job.job_id;
end $$;
comment on function ragdb.fail_ingest_job(uuid, integer, text, text, text) is
  'Ends a claimed ingest job with the wire word, message and hint that its caller gets; without a word it is tried again after a back-off, five times in all. Raises RG400, RG453.';

-- ── rag.list_corpora ────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.rag_list_corpora(request jsonb default '{}') returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_corpora jsonb;
  v_message text;
  v_detail text;
  v_hint text;
begin
  perform ragdb._enter_capability('rag.list_corpora', request);
  select coalesce(jsonb_agg(jsonb_build_object('name', l.name, 'docs', l.documents, 'chunks', l.chunks,
      'size_bytes', l.size_bytes, 'language_majority', l.language_majority) order by l.name), '[]')
    into v_corpora
    from ragdb.list_corpora() l where l.name <> 'personal';
  return jsonb_build_object('output', jsonb_build_object('corpora', v_corpora),
    'meta', jsonb_build_object('ms', ragdb._ms_since(v_began)));
exception when others then
  if sqlstate !~ '^RG' then
    raise;
  end if;
  get stacked diagnostics v_message = message_text, v_detail = pg_exception_detail,
    v_hint = pg_exception_hint;
  return ragdb._wire_error_of(sqlstate, v_message, v_detail, v_hint);
end $$;
comment on function ragdb.rag_list_corpora(jsonb) is
  'Capability rag.list_corpora@1.0: {"params": {}, "input": {}} gives {"output": {"corpora": [{"name", "docs", "chunks", "size_bytes", "language_majority"}]}, "meta": {"ms"}}, of the corpora that the caller may read without personal; or {"error"} with bad_request, unauthorized or capacity_exceeded.';

-- ── embed.text ──────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.embed_text(request jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_input constant jsonb := request -> 'input';
  v_embedder ragdb.embedders;
  v_texts text[];
  v_hash bytea;
  v_job ragdb.embed_jobs;
  v_embeddings jsonb;
  v_state text;
  v_message text;
  v_detail text;
  v_hint text;
begin
  perform ragdb._enter_capability('embed.text', request);
  v_embedder := ragdb._embedder(coalesce(ragdb._wire_text(request -> 'params', 'model'), ''));
  if jsonb_typeof(v_input -> 'texts') <> 'array' or jsonb_array_length(v_input -> 'texts') not between 1 and 256
    or exists (select from jsonb_array_elements(v_input -> 'texts') t
      where jsonb_typeof(t) <> 'string' or length(t #>> '{}') > 8192 or t #>> '{}' !~ '\S')
  then
    raise exception 'texts are not 1 to 256 texts of 1 to 8192 characters'
      using errcode = 'RG400', detail = 'each becomes one embedding', hint = 'cut what is longer, send more in another request';
  end if;
  if v_input ? 'normalize' and jsonb_typeof(v_input -> 'normalize') <> 'boolean' then
    raise exception 'normalize is not true or false'
      using errcode = 'RG400', detail = 'it is of type ' || jsonb_typeof(v_input -> 'normalize'),
            hint = 'the default is true';
  end if;
  v_texts := array(select t #>> '{}' from jsonb_array_elements(v_input -> 'texts') with ordinality e (t, n) order by n);
  v_hash := ragdb._fields_hash(variadic array(
    select ragdb._utf8(t) from unnest(v_texts) with ordinality e (t, n) order by n));
  select j.* into v_job from ragdb.embed_jobs j
    where j.embedder_id = v_embedder.embedder_id and j.request_hash = v_hash;
  if v_job.embeddings is not null then
    return jsonb_build_object('output', jsonb_build_object(
        'embeddings', ragdb._listed_embeddings(v_job.embeddings, v_embedder.dims,
          coalesce((v_input ->> 'normalize')::boolean, true)), 'dim', v_embedder.dims),
      'meta', jsonb_build_object('model', v_embedder.name, 'ms', ragdb._ms_since(v_began)));
  end if;
  if v_job.failed_at > clock_timestamp() - interval '1 minute' then
    return ragdb._wire_error('bad_request', v_job.message, job_id => v_job.job_id);
  end if;
  if v_job.job_id is null or v_job.failed_at is not null then
    perform ragdb._check_waiting_jobs();
    insert into ragdb.embed_jobs as j (embedder_id, request_hash, job_id, texts, requested_by, due_at, created_at)
      values (v_embedder.embedder_id, v_hash, ragdb._uuid7(ragdb._now()), v_texts, ragdb._caller(),
        clock_timestamp(), ragdb._now())
      on conflict on constraint embed_jobs_request_is_unique_per_embedder do update
        set texts = excluded.texts, failed_at = null, message = null, failures = 0, worker = null,
          attempt = j.attempt + 1, due_at = excluded.due_at, requested_by = excluded.requested_by
        where j.failed_at is not null;
    select j.* into strict v_job from ragdb.embed_jobs j
      where j.embedder_id = v_embedder.embedder_id and j.request_hash = v_hash;
    perform pg_notify('ragdb_embeddings', 'texts');
  end if;
  return ragdb._wire_error('partition',
    case when v_embedder.provider is null then format('embedder %s is bound to no provider', ragdb._quote(v_embedder.name))
      else 'the texts wait for a worker that embeds them'
        || coalesce('; the last attempt failed: ' || v_job.message, '') end,
    case when v_embedder.provider is null then 'ragdb embedder bind names what runs it; then ask again'
      else 'ask again after retry_after_ms; ragdb worker must run' end,
    case when v_embedder.provider is null then 30000 else 100 end, v_job.job_id);
exception when others then
  if sqlstate !~ '^RG' then
    raise;
  end if;
  get stacked diagnostics v_state = returned_sqlstate, v_message = message_text,
    v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  return ragdb._wire_error_of(v_state, v_message, v_detail, v_hint);
end $$;
comment on function ragdb.embed_text(jsonb) is
  'Capability embed.text@1.0: {"params": {"model"}, "input": {"texts" (1 to 256 of 1 to 8192 characters), "normalize" (true)}} gives {"output": {"embeddings", "dim"}, "meta": {"model", "ms"}}, by an embedder and without its prefixes; or {"error"} with not_found, bad_request, unauthorized, rate_limited, capacity_exceeded, or partition while a worker embeds the texts.';

create or replace function ragdb._listed_embeddings(embeddings real[], dims integer, is_scaled boolean)
returns jsonb
language sql immutable parallel safe
begin atomic
  select pg_catalog.jsonb_agg(case when _listed_embeddings.is_scaled then (
      select pg_catalog.jsonb_agg(v.x / c.norm order by v.n)
      from pg_catalog.unnest(c.numbers) with ordinality v (x, n)) else pg_catalog.to_jsonb(c.numbers) end order by c.n)
  from (
    select i.n, k.numbers, (select pg_catalog.sqrt(pg_catalog.sum(x::float8 * x::float8 order by n))
        from pg_catalog.unnest(k.numbers) with ordinality v (x, n)) as norm
    from pg_catalog.generate_series(1, pg_catalog.cardinality(embeddings) / dims) i (n)
      cross join lateral (select embeddings[(i.n - 1) * dims + 1 : i.n * dims] as numbers) k) c;
end;
comment on function ragdb._listed_embeddings(real[], integer, boolean) is
  'Returns embeddings, one behind the other, as a JSON array of arrays, each scaled to length 1 where asked.';

create or replace function ragdb.claim_embed_jobs(
  worker text, count integer default 1, lease interval default '120 seconds',
  only_embedder text default null)
returns table (job_id uuid, attempt integer, embedder text, texts text[])
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform ragdb._check_worker(worker, lease);
  if count is null or count not between 1 and 100 then
    raise exception 'count is %', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'a claim takes that many requests', hint = 'pass count from 1 to 100';
  end if;
  -- what a worker answers is believed by everyone who asks
  if ragdb._trust() not in ('trusted', 'anchor') then
    return;
  end if;
  delete from ragdb.embed_jobs j
    where j.texts is null and coalesce(j.failed_at, j.due_at) < clock_timestamp() - interval '1 day';
  with fatal as materialized (
    select j.job_id from ragdb.embed_jobs j
    where j.texts is not null and j.due_at <= clock_timestamp() and j.attempt >= j.failures + 5
    for update skip locked
  )
  update ragdb.embed_jobs j
    set failed_at = clock_timestamp(), texts = null, worker = null,
      message = 'five workers died or lost their lease on it'
    from fatal f where j.job_id = f.job_id;
  return query
    with due as materialized (
      select j.job_id, e.name
      from ragdb.embed_jobs j join ragdb.embedders e on e.embedder_id = j.embedder_id
      where j.texts is not null and j.due_at <= clock_timestamp() and e.provider is not null
        and e.name = coalesce(only_embedder, e.name)
      order by j.due_at limit claim_embed_jobs.count
      for update of j skip locked
    )
    update ragdb.embed_jobs j
    set attempt = j.attempt + 1, worker = claim_embed_jobs.worker,
      due_at = clock_timestamp() + claim_embed_jobs.lease
    from due d where j.job_id = d.job_id
    returning j.job_id, j.attempt, d.name, j.texts;
end $$;
comment on function ragdb.claim_embed_jobs(text, integer, interval, text) is
  'Claims up to count (1 to 100) requests of ragdb.embed_text that wait, for the time of the lease (1 s to 1 day); none for a caller without ragdb_writer. Commit before embedding; answer with ragdb.complete_embed_job() or ragdb.fail_embed_job(). Raises RG400.';

create or replace function ragdb._embed_job(job_id uuid, attempt integer) returns ragdb.embed_jobs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.embed_jobs;
begin
  select j.* into v_job from ragdb.embed_jobs j
    where j.job_id = _embed_job.job_id and j.attempt = _embed_job.attempt and j.texts is not null
      and ragdb._trust() in ('trusted', 'anchor')
    for update;
  if not found then
    raise exception 'job % is not this worker''s', coalesce(_embed_job.job_id::text, 'null')
      using errcode = 'RG453', detail = 'it is done, failed, or claimed again since',
            hint = 'nothing is lost: whoever has it now answers';
  end if;
  return v_job;
end $$;
comment on function ragdb._embed_job(uuid, integer) is
  'Locks and returns an embed job under the number of its last claim. Raises RG453.';

create or replace function ragdb.complete_embed_job(job_id uuid, attempt integer, embeddings real[])
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.embed_jobs := ragdb._embed_job(job_id, attempt);
  v_embedder ragdb.embedders;
begin
  select e.* into strict v_embedder from ragdb.embedders e where e.embedder_id = v_job.embedder_id;
  perform ragdb._check_embeddings(complete_embed_job.embeddings, v_embedder.dims, v_embedder.metric,
    array(select 'text ' || n from generate_series(1, cardinality(v_job.texts)) n));
  update ragdb.embed_jobs j
    set embeddings = complete_embed_job.embeddings, texts = null, worker = null, message = null,
      due_at = clock_timestamp()
    where j.job_id = v_job.job_id;
end $$;
comment on function ragdb.complete_embed_job(uuid, integer, real[]) is
  'Stores the embeddings of a claimed request, one behind the other in the order of its texts. Raises RG418, RG453.';

create or replace function ragdb.fail_embed_job(
  job_id uuid, attempt integer, message text, is_final boolean default false)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.embed_jobs := ragdb._embed_job(job_id, attempt);
  v_is_final constant boolean := is_final or v_job.failures >= 4;
begin
  if message is null or is_final is null then
    raise exception 'message or is_final is null'
      using errcode = 'RG400', detail = 'the caller is told why', hint = 'pass the error of the model';
  end if;
  update ragdb.embed_jobs j
    set worker = null, failures = j.failures + 1, message = left(fail_embed_job.message, 1000),
      failed_at = case when v_is_final then clock_timestamp() end,
      texts = case when not v_is_final then j.texts end,
      due_at = clock_timestamp() + make_interval(secs => 2 ^ (j.failures + 1)) * (0.5 + random())
    where j.job_id = v_job.job_id;
end $$;
comment on function ragdb.fail_embed_job(uuid, integer, text, boolean) is
  'Gives a claimed request back after a failure, to be tried again after a back-off, five times in all, or ends it. Raises RG400, RG453.';

-- ── jobs and events ─────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.job_state(job_id uuid)
returns table (
  capability text, corpus text, state text, error text, message text, hint text,
  created_at timestamptz)
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    select 'rag.ingest@1.0', c.name, case when j.failed_at is not null then 'failed'
        when j.worker is not null and j.due_at > clock_timestamp() then 'in_work' else 'waiting' end,
      j.error, j.message, j.hint, j.created_at
    from ragdb.ingest_jobs j join ragdb.corpora c on c.corpus_id = j.corpus_id
    where j.job_id = job_state.job_id and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0
    union all
    select 'embed.text@1.0', null, case when j.failed_at is not null then 'failed'
        when j.embeddings is not null then 'done'
        when j.worker is not null and j.due_at > clock_timestamp() then 'in_work' else 'waiting' end,
      case when j.failed_at is not null then 'bad_request' end, j.message, null, j.created_at
    from ragdb.embed_jobs j
    where j.job_id = job_state.job_id
      and (j.requested_by = ragdb._caller() or ragdb._trust() in ('trusted', 'anchor'))
    union all
    select 'rag.query@1.0', c.name,
      case when q.attempt > 0 and q.last_error is null then 'in_work' else 'waiting' end,
      null, q.last_error, null, null::timestamptz
    from ragdb.embedded_queries q join ragdb.corpora c on c.corpus_id = q.corpus_id
    where q.embedding_hash is null and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0
      and ragdb._query_job(q.corpus_id, q.embedder_id, q.query_hash) = job_state.job_id
    limit 1;
  if not found then
    raise exception 'no job %', coalesce(job_state.job_id::text, 'null')
      using errcode = 'RG453', detail = 'it is done, or was never the caller''s to see',
            hint = 'repeat the request: it answers with the result';
  end if;
end $$;
comment on function ragdb.job_state(uuid) is
  'Returns what has become of the job of a partition answer: waiting, in_work, failed (with the error), or done for texts; a job that is done otherwise is no more. Raises RG453.';

create or replace function ragdb.event_envelopes(after uuid default null, count integer default 100)
returns setof jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if count is null or count not between 1 and 10000 then
    raise exception 'count is %, not 1 to 10000', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'it is the number of events to read', hint = 'the default is 100';
  end if;
  return query
    with routable as materialized (
      select c.corpus_id from ragdb.corpora c
      where c.personal_of is null and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0
    )
    select jsonb_build_object('schema_version', 1, 'event_id', e.event_id, 'lamport', e.lamport,
      'wall_clock', ragdb._wire_time(e.created_at), 'community_id', current_database(),
      'author', e.author, 'event_type', e.kind, 'data', jsonb_build_object('corpus', e.corpus,
        'doc_cid', e.doc_cid, 'title', e.title, 'language', e.language, 'chunks', e.chunks))
    from ragdb.events e
    where e.corpus_id in (select r.corpus_id from routable r)
      and e.event_id > coalesce(event_envelopes.after, '00000000-0000-0000-0000-000000000000')
    order by e.event_id limit event_envelopes.count;
end $$;
comment on function ragdb.event_envelopes(uuid, integer) is
  'Returns the events after a given one (null: from the beginning), oldest first, at most count (1 to 10000), each as the envelope of the wire: {"schema_version", "event_id", "lamport", "wall_clock", "community_id" (the database), "author" (the role), "event_type", "data": {"corpus", "doc_cid", "title", "language", "chunks"}}; personal corpora are left out. Raises RG400.';

create or replace function ragdb._wire_time(at timestamptz) returns text
language sql stable parallel safe
return pg_catalog.to_char(_wire_time.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
comment on function ragdb._wire_time(timestamptz) is
  'Returns a time in UTC as RFC 3339 has it, to the millisecond.';

-- ── what the HTTP and MCP servers ask ───────────────────────────────────────────────────────────

create or replace function ragdb.corpora_with_chunks(chunk_ids text[]) returns setof text
language sql stable parallel safe security definer
begin atomic
  select k.name collate "default" from ragdb.corpora k
  where k.personal_of is null and ragdb._privilege(k.corpus_id, k.personal_of, k.name) > 0
    and exists (select from ragdb.chunks c
      where c.corpus_id = k.corpus_id and c.chunk_id = any (corpora_with_chunks.chunk_ids))
  order by k.name;
end;
comment on function ragdb.corpora_with_chunks(text[]) is
  'Returns the names of the corpora that the caller may read and that have a chunk of one of these ids, without personal.';

create or replace function ragdb.prepare_query(corpus text, query text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(prepare_query.corpus, 'read');
begin
  return (ragdb._space(v_corpus.corpus_id, 'current')).space_id is null
    or ragdb.request_query_embedding(prepare_query.corpus, prepare_query.query);
end $$;
comment on function ragdb.prepare_query(text, text) is
  'Says whether a corpus can be searched for a query (1 to 32768 characters) by all that it has: it has no embeddings, or the query has one; otherwise the workers are asked for that. Raises RG400, RG404.';

create or replace function ragdb.retrieve_global(
  corpus text, query text, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, query_embedding float8[] default null,
  client text default null, otel_trace_id text default null, otel_span_id text default null)
returns setof ragdb.turn_hit
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(retrieve_global.corpus, 'read');
  v_hits ragdb.traced_hit[];
begin
  v_hits := array(select r from ragdb._retrieve(
    corpus => retrieve_global.corpus, query => retrieve_global.query, k => retrieve_global.k,
    mode => retrieve_global.mode, min_score => retrieve_global.min_score,
    filter => retrieve_global.filter, query_embedding => retrieve_global.query_embedding,
    client => retrieve_global.client, otel_trace_id => retrieve_global.otel_trace_id,
    otel_span_id => retrieve_global.otel_span_id) r order by r.rank);
  return query select w.* from ragdb._with_turns(v_corpus.corpus_id, ragdb.last_trace_id(), array(
    select row(h.rank, h.corpus, h.chunk_id, h.doc_cid, h.source, h.title, h.heading, h.page,
      h.start_offset, h.end_offset, h.text, h.citation, h.score, h.lexical_score, h.semantic_score,
      h.lexical_rank, h.semantic_rank, h.bm25, h.coverage, h.content_hash, h.metadata, h.mode,
      h.is_exact)::ragdb.hit
    from unnest(v_hits) h order by h.rank)) w;
end $$;
comment on function ragdb.retrieve_global(text, text, integer, text, float8, jsonb, float8[], text, text, text) is
  'Returns the hits of ragdb.search with the same arguments and what is known of them as turns, and records the one trace, which is never admissible. Raises what ragdb.search raises, RG413, and 25006 where nothing can be written.';

create or replace function ragdb.provenance(trace_id uuid) returns jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces := ragdb._open_trace(trace_id);
begin
  return jsonb_build_object(
    'query_id', v_trace.id, 'retrieval_mode', v_trace.retrieval_mode,
    'query_text', v_trace.query_text,
    'retrieved_turn_ids', coalesce((select jsonb_agg(h.chunk_id order by h.rank)
      from ragdb.trace_hits(v_trace.id) h), '[]'),
    'timestamp', ragdb._wire_time(v_trace.created_at), 'elapsed_ms', v_trace.elapsed_ms,
    'is_admissible', v_trace.is_admissible, 'slice_id', v_trace.slice_id,
    'anchor_turn_id', v_trace.anchor_chunk_id,
    'slice_info', case when v_trace.slice_id is not null then jsonb_build_object(
      'slice_id', v_trace.slice_id, 'anchor_turn_id', v_trace.anchor_chunk_id,
      'turn_count', v_trace.slice_chunk_count, 'edge_count', v_trace.slice_edge_count,
      'policy_ref', jsonb_build_object('policy_id', v_trace.policy_id,
        'params_hash', v_trace.policy_params_hash),
      'policy_id', v_trace.policy_id, 'params_hash', v_trace.policy_params_hash,
      'schema_version', v_trace.schema_version,
      'graph_snapshot_hash', v_trace.graph_snapshot_hash,
      'admissibility_token', v_trace.admissibility_token) end,
    'query_embedding_hash', v_trace.query_embedding_hash, 'result_hash', v_trace.result_hash,
    'filters_applied', v_trace.filters, 'limit_requested', v_trace.limit_requested,
    'limit_returned', v_trace.limit_returned,
    'admissibility_shortfall', v_trace.admissibility_shortfall,
    'shortfall_reason', v_trace.shortfall_reason, 'corpus', v_trace.corpus,
    'corpus_version', v_trace.corpus_version, 'rank_mode', v_trace.rank_mode,
    'embedding_model', v_trace.embedding_model, 'trace_hash', encode(v_trace.trace_hash, 'hex'));
end $$;
comment on function ragdb.provenance(uuid) is
  'Returns the provenance of a recorded retrieval as one object: query_id (the trace), retrieval_mode, retrieved_turn_ids, is_admissible, slice_info with the policy''s reference, snapshot and token (null in global mode), hashes of query embedding and result, filters, limits and shortfall. Raises RG400, RG407.';

-- ── tokens of the HTTP server ───────────────────────────────────────────────────────────────────

create or replace function ragdb.create_http_token(role text, name text, expires_in interval default null)
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_role pg_roles;
  -- four random uuids carry 488 random bits from the server's strong generator
  v_token constant text := 'rgh_' || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
    || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
begin
  if name is null or length(name) not between 1 and 200 or name ~ '[[:cntrl:]]' then
    raise exception 'token name % is not 1 to 200 characters', ragdb._quote(create_http_token.name)
      using errcode = 'RG400', detail = 'it names the token where it is listed and revoked',
            hint = 'such as the program that uses it';
  end if;
  if expires_in <= interval '0' or expires_in > interval '100 years' then
    raise exception 'expires_in is %', expires_in
      using errcode = 'RG400', detail = 'it is the time from now on that the token is good for',
            hint = 'leave it out for a token that is good until it is revoked';
  end if;
  select r.* into v_role from pg_roles r where r.rolname = create_http_token.role;
  if not found then
    raise exception 'role % does not exist', ragdb._quote(create_http_token.role)
      using errcode = 'RG400', detail = 'a token stands for a database role', hint = 'create role makes one';
  end if;
  if v_role.rolsuper or pg_has_role(v_role.oid, 'ragdb_owner', 'usage') then
    raise exception 'role % is too mighty for a token', ragdb._quote(create_http_token.role)
      using errcode = 'RG401', detail = 'it is a superuser or a member of ragdb_owner',
            hint = 'make a role in ragdb_reader, ragdb_writer or ragdb_admin for the program';
  end if;
  if not pg_has_role(ragdb._caller(), v_role.oid, 'set') then
    raise exception 'role % may not act as role %', ragdb._quote(ragdb._caller()), ragdb._quote(create_http_token.role)
      using errcode = 'RG401', detail = 'nobody hands out rights that are not theirs',
            hint = format('grant %I to %I', v_role.rolname, ragdb._caller());
  end if;
  insert into ragdb.http_tokens (name, token_hash, role, created_by, created_at, expires_at)
    values (create_http_token.name, sha256(convert_to(v_token, 'UTF8')), v_role.rolname,
      ragdb._caller(), ragdb._now(), ragdb._now() + expires_in)
    on conflict on constraint http_tokens_name_is_unique do nothing;
  if not found then
    raise exception 'token % exists already', ragdb._quote(create_http_token.name)
      using errcode = 'RG409', detail = 'a token is never shown again', hint = 'revoke it, or choose another name';
  end if;
  return v_token;
end $$;
comment on function ragdb.create_http_token(text, text, interval) is
  'Makes a bearer token of the HTTP server for a role that the caller may act as, and returns it this once: only its hash is kept. Raises RG400, RG401, RG409.';

create or replace function ragdb.revoke_http_token(name text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from ragdb.http_tokens t where t.name = revoke_http_token.name;
  if not found then
    raise exception 'token % does not exist', ragdb._quote(revoke_http_token.name)
      using errcode = 'RG454', detail = 'nothing was revoked', hint = 'ragdb.list_http_tokens() lists the names';
  end if;
end $$;
comment on function ragdb.revoke_http_token(text) is
  'Revokes a bearer token: the next request with it is refused. Raises RG454.';

create or replace function ragdb.list_http_tokens()
returns table (name text, role text, created_by text, created_at timestamptz, expires_at timestamptz)
language sql stable parallel safe security definer
begin atomic
  select t.name, t.role, t.created_by, t.created_at, t.expires_at
  from ragdb.http_tokens t order by t.name;
end;
comment on function ragdb.list_http_tokens() is 'Lists the bearer tokens of the HTTP server by name, without anything of the tokens.';

-- The hash of a token is as hard to come by as the token: whoever asks has been given it.
create or replace function ragdb.http_token_role(token_hash bytea) returns text
language sql stable parallel safe security definer
return (select t.role from ragdb.http_tokens t
  where t.token_hash = http_token_role.token_hash
    and (t.expires_at is null or t.expires_at > ragdb._now()));
comment on function ragdb.http_token_role(bytea) is
  'Returns the role that a bearer token stands for, by the SHA-256 of the token; null when it is unknown or has expired.';

---- sql/90_privileges.sql

-- Who may call what. Everything is revoked from public; tables and private functions (`_…`) are granted to nobody,
-- and public functions to the least role that may call them: a writer is a reader too, an admin a writer.
-- A public function that is missing here can be called by nobody, and a test names it.

revoke all on schema ragdb from public;
grant usage on schema ragdb to ragdb_reader;
revoke all on all tables in schema ragdb from public, ragdb_reader, ragdb_writer, ragdb_admin;
revoke all on all routines in schema ragdb from public, ragdb_reader, ragdb_writer, ragdb_admin;

do $$
declare
  v_grant record;
begin
  for v_grant in
    select p.oid::regprocedure as routine, g.role
    from (values
      -- corpora and documents. Whoever has `personal` or a grant may write: the right is looked up inside
      ('create_corpus', 'ragdb_reader'),
      ('drop_corpus', 'ragdb_reader'),
      ('list_corpora', 'ragdb_reader'),
      ('corpus_info', 'ragdb_reader'),
      ('grant_corpus', 'ragdb_reader'),
      ('revoke_corpus', 'ragdb_reader'),
      ('check_corpus', 'ragdb_reader'),
      ('repair_corpus', 'ragdb_reader'),
      ('put_blob', 'ragdb_reader'),
      ('get_blob', 'ragdb_reader'),
      ('put_document', 'ragdb_reader'),
      ('put_documents', 'ragdb_reader'),
      ('put_text', 'ragdb_reader'),
      ('delete_document', 'ragdb_reader'),
      ('delete_source', 'ragdb_reader'),
      ('prune_sources', 'ragdb_reader'),
      ('list_documents', 'ragdb_reader'),
      ('get_document', 'ragdb_reader'),
      ('get_source', 'ragdb_reader'),
      ('get_chunk', 'ragdb_reader'),
      ('document_chunks', 'ragdb_reader'),
      ('document_text', 'ragdb_reader'),
      ('events_after', 'ragdb_reader'),
      -- the reference ranking
      ('kern_chunk_hash', 'ragdb_reader'),
      -- the lexical index
      ('optimize_corpus', 'ragdb_reader'),
      -- vectors
      ('create_embedder', 'ragdb_writer'),
      ('bind_embedder', 'ragdb_writer'),
      ('list_embedders', 'ragdb_reader'),
      ('embed_corpus', 'ragdb_reader'),
      ('reembed_corpus', 'ragdb_reader'),
      ('space_questions', 'ragdb_reader'),
      ('compare_spaces', 'ragdb_reader'),
      ('cutover_corpus', 'ragdb_reader'),
      ('rollback_corpus', 'ragdb_reader'),
      ('drop_space', 'ragdb_reader'),
      ('index_space', 'ragdb_reader'),
      -- the embedding queue
      ('claim_embeddings', 'ragdb_reader'),
      ('renew_embeddings', 'ragdb_reader'),
      ('complete_embeddings', 'ragdb_reader'),
      ('fail_embeddings', 'ragdb_reader'),
      ('retry_failed', 'ragdb_reader'),
      ('requeue_embeddings', 'ragdb_reader'),
      ('embedding_status', 'ragdb_reader'),
      ('list_failed_embeddings', 'ragdb_reader'),
      ('put_query_embedding', 'ragdb_reader'),
      ('request_query_embedding', 'ragdb_reader'),
      ('query_embedding_state', 'ragdb_reader'),
      ('claim_queries', 'ragdb_reader'),
      ('fail_query', 'ragdb_reader'),
      ('embed_query', 'ragdb_reader'),
      -- search
      ('similar', 'ragdb_reader'),
      ('match_documents', 'ragdb_reader'),
      ('search', 'ragdb_reader'),
      ('explain_search', 'ragdb_reader'),
      ('highlight', 'ragdb_reader'),
      -- traces
      ('retrieve', 'ragdb_reader'),
      ('record_failure', 'ragdb_reader'),
      ('last_trace_id', 'ragdb_reader'),
      ('list_traces', 'ragdb_reader'),
      ('get_trace', 'ragdb_reader'),
      ('trace_hits', 'ragdb_reader'),
      ('verify_trace', 'ragdb_reader'),
      -- the graph of conversations, and slices
      ('put_conversations', 'ragdb_reader'),
      ('get_turn', 'ragdb_reader'),
      ('turn_id', 'ragdb_reader'),
      ('resolve_explicit', 'ragdb_reader'),
      ('resolve_from_session', 'ragdb_reader'),
      ('resolve_from_query', 'ragdb_reader'),
      ('resolve_temporal', 'ragdb_reader'),
      ('resolve_anchor', 'ragdb_reader'),
      ('xxh64', 'ragdb_reader'),
      ('policy_hash', 'ragdb_reader'),
      ('register_policy', 'ragdb_admin'),
      ('list_policies', 'ragdb_reader'),
      ('registry_fingerprint', 'ragdb_reader'),
      ('create_signing_key', 'ragdb_admin'),
      ('revoke_signing_key', 'ragdb_admin'),
      ('list_signing_keys', 'ragdb_admin'),
      ('export_signing_keys', 'ragdb_admin'),
      ('import_signing_key', 'ragdb_admin'),
      ('build_slice', 'ragdb_reader'),
      ('build_slices', 'ragdb_reader'),
      ('export_slice', 'ragdb_reader'),
      ('slice_members', 'ragdb_reader'),
      ('verify_token', 'ragdb_reader'),
      ('is_admissible', 'ragdb_reader'),
      ('filter_admissible', 'ragdb_reader'),
      ('search_slice', 'ragdb_reader'),
      ('search_global', 'ragdb_reader'),
      ('retrieve_slice', 'ragdb_reader'),
      -- replay and promotion
      ('replay', 'ragdb_reader'),
      ('why_not', 'ragdb_reader'),
      ('promote_to_atom', 'ragdb_reader'),
      ('propose', 'ragdb_reader'),
      ('decide_proposal', 'ragdb_reader'),
      ('list_proposals', 'ragdb_reader'),
      ('list_incidents', 'ragdb_reader'),
      ('search_dual', 'ragdb_reader'),
      ('maintain', 'ragdb_writer'),
      ('drop_traces_before', 'ragdb_admin'),
      -- contracts. Who may write the corpora may apply: looked up inside
      ('validate_contract', 'ragdb_reader'),
      ('apply_contract', 'ragdb_reader'),
      ('export_contract', 'ragdb_reader'),
      ('list_contracts', 'ragdb_reader'),
      ('assertion_kinds', 'ragdb_reader'),
      ('get_retriever', 'ragdb_reader'),
      ('search_with', 'ragdb_reader'),
      ('retrieve_with', 'ragdb_reader'),
      -- tools of contracts
      ('list_tools', 'ragdb_reader'),
      ('search_tool', 'ragdb_reader'),
      ('retrieve_tool', 'ragdb_reader'),
      -- evaluation
      ('evaluate_case', 'ragdb_reader'),
      ('import_eval', 'ragdb_reader'),
      ('run_eval', 'ragdb_reader'),
      ('list_eval_runs', 'ragdb_reader'),
      ('get_eval_run', 'ragdb_reader'),
      ('eval_case_results', 'ragdb_reader'),
      ('eval_assert_results', 'ragdb_reader'),
      ('eval_metrics', 'ragdb_reader'),
      ('eval_queries', 'ragdb_reader'),
      ('bless_run', 'ragdb_reader'),
      ('baseline_run', 'ragdb_reader'),
      ('compare_runs', 'ragdb_reader'),
      ('challenge_eval', 'ragdb_reader'),
      ('eval_report', 'ragdb_reader'),
      ('export_trec', 'ragdb_reader'),
      ('assert_run_passed', 'ragdb_reader'),
      ('evaluate_answer', 'ragdb_reader'),
      ('inline_spans', 'ragdb_reader'),
      -- evidence, citations and answers
      ('build_evidence_pack', 'ragdb_reader'),
      ('evidence_pack_to_input', 'ragdb_reader'),
      ('validate_citations', 'ragdb_reader'),
      ('check_citations', 'ragdb_reader'),
      ('rag_query_plan', 'ragdb_reader'),
      ('validate_query_plan', 'ragdb_reader'),
      ('rag_enough_context_gate', 'ragdb_reader'),
      ('answer_from_evidence', 'ragdb_reader'),
      ('record_gate', 'ragdb_reader'),
      ('record_answer', 'ragdb_reader'),
      -- capabilities, their jobs, and the HTTP server
      ('capabilities', 'ragdb_reader'),
      ('capability_schemas', 'ragdb_reader'),
      ('rag_query', 'ragdb_reader'),
      ('rag_ingest', 'ragdb_reader'),
      ('rag_list_corpora', 'ragdb_reader'),
      ('embed_text', 'ragdb_reader'),
      ('claim_ingest_jobs', 'ragdb_reader'),
      ('complete_ingest_job', 'ragdb_reader'),
      ('fail_ingest_job', 'ragdb_reader'),
      ('claim_embed_jobs', 'ragdb_reader'),
      ('complete_embed_job', 'ragdb_reader'),
      ('fail_embed_job', 'ragdb_reader'),
      ('job_state', 'ragdb_reader'),
      ('event_envelopes', 'ragdb_reader'),
      ('corpora_with_chunks', 'ragdb_reader'),
      ('prepare_query', 'ragdb_reader'),
      ('retrieve_global', 'ragdb_reader'),
      ('provenance', 'ragdb_reader'),
      ('create_http_token', 'ragdb_admin'),
      ('revoke_http_token', 'ragdb_admin'),
      ('list_http_tokens', 'ragdb_admin'),
      ('http_token_role', 'ragdb_reader'),
      -- the rest
      ('error_codes', 'ragdb_reader')
    ) as g (name, role)
    join pg_catalog.pg_proc p
      on p.proname = g.name and p.pronamespace = 'ragdb'::regnamespace
  loop
    execute format('grant execute on routine %s to %I', v_grant.routine, v_grant.role);
  end loop;
  -- views over functions, which check the caller's right themselves
  grant select on ragdb.embedding_status to ragdb_reader;
  -- the types of rows that functions return
  for v_grant in
    select c.reltype::regtype as row_type from pg_catalog.pg_class c
    where c.relnamespace = 'ragdb'::regnamespace and c.relkind = 'c'
  loop
    execute format('revoke all on type %s from public', v_grant.row_type);
    execute format('grant usage on type %s to ragdb_reader', v_grant.row_type);
  end loop;
end $$;

comment on schema ragdb is 'RAG database: corpora, retrieval, slices, traces, contracts. ragdb 0.1.0, source 11bd1210f84b6014';

-- A dump holds the rows, and the extension at restore makes the tables. Partitions are made at run
-- time: they are no members and are dumped whole. The keys that sign never go into a dump.
do $$
declare
  v_table regclass;
begin
  for v_table in
    select c.oid from pg_catalog.pg_class c
    where c.relnamespace = 'ragdb'::regnamespace and c.relkind = 'r'
      and c.relname <> 'signing_keys' order by c.relname
  loop
    perform pg_catalog.pg_extension_config_dump(v_table, '');
  end loop;
end $$;
