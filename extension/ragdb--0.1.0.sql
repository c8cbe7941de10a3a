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

---- migrations/versions/0003_graph.sql

-- State of the graph's authority: turns, slice policies, slices, signing keys, atoms, proposals, incidents.

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
  homogeneity real not null constraint turns_homogeneity_is_a_share check (homogeneity between 0 and 1),
  temporal real not null constraint turns_temporal_is_a_share check (temporal between 0 and 1),
  complexity real not null constraint turns_complexity_is_not_negative check (complexity >= 0),
  -- the parts of salience and phase that the author of the conversation gave, null where they are derived
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
  constraint slices_policy_exists foreign key (policy_id, params_hash) references ragdb.slice_policies
);

create table ragdb.signing_keys (
  key_id text collate "C" constraint signing_keys_id_is_unique primary key
    constraint signing_keys_id_is_a_word check (key_id ~ '^[A-Za-z0-9_-]{1,64}$'),
  secret bytea not null
    constraint signing_keys_secret_is_long_enough check (length(secret) between 32 and 128),
  state text not null
    constraint signing_keys_state_is_known check (state in ('active', 'verify_only', 'revoked')),
  created_at timestamptz not null,
  not_after timestamptz
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
  severity text not null
    constraint admissibility_incidents_severity_is_known check (severity in ('low', 'medium', 'high', 'critical')),
  trace_id uuid,
  caller text not null,
  reason text not null
);
create index admissibility_incidents_by_time on ragdb.admissibility_incidents (created_at);

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
    ('RG436', 'NotAdmissible', 'conflict', 409, 'something claimed to be admissible that is not')
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

-- The one gate to a corpus. A corpus that the caller may not read does not exist for them.
create or replace function ragdb._open_corpus(corpus text, privilege text)
returns ragdb.corpora
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
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

  select k.chunk_id into v_duplicate from unnest(k_id) k (chunk_id) group by 1 having count(*) > 1 limit 1;
  if not found then
    select c.chunk_id into v_duplicate
      from unnest(k_id) k (chunk_id) join ragdb.chunks c on c.corpus_id = v_id and c.chunk_id = k.chunk_id
      where c.doc_no not in (select x.doc_no from unnest(d_no, d_state) x (doc_no, state) where x.state <> 'same') limit 1;
  end if;
  if found then
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
language sql
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
language plpgsql stable parallel safe security definer
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
language plpgsql stable parallel safe security definer
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
language plpgsql stable security definer
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
language sql immutable parallel safe
return pg_catalog.concat_ws(E'\n', nullif(_searched_text.title, ''),
  nullif(pg_catalog.array_to_string(_searched_text.heading, E'\n'), ''), _searched_text.text);
comment on function ragdb._searched_text(text, text[], text) is
  'Returns what a chunk is searched by: its document''s title, its heading path and its text, joined by newlines.';

-- One statement, so that a text is analysed once and nothing is kept in between. Planned anew each time: only
-- with the arrays in sight does the planner know how many rows they hold.
create or replace function ragdb._index_chunks(corpus_id integer, chunk_nos integer[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_corpus ragdb.corpora;
begin
  select c.* into strict v_corpus from ragdb.corpora c where c.corpus_id = _index_chunks.corpus_id;
  with analysed as materialized (
    select c.chunk_no, ragdb._lexemes(ragdb._searched_text(d.title, c.heading, c.text), v_corpus.text_config) as words
    from unnest(_index_chunks.chunk_nos) n (chunk_no)
      join ragdb.chunks c on c.corpus_id = v_corpus.corpus_id and c.chunk_no = n.chunk_no
      join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no
  ), measured as materialized (
    select a.chunk_no, a.words,
      (select coalesce(sum(cardinality(w.positions)), 0)::integer from unnest(a.words) w) as length
    from analysed a
  ), postings as materialized (
    select m.chunk_no, w.lexeme collate "C" as lexeme,
      case cardinality(w.positions) when 1 then w.positions[1]::text else array_to_string(w.positions, ',') end as positions,
      ((v_corpus.k1 + 1) * cardinality(w.positions) / (cardinality(w.positions)
        + v_corpus.k1 * (1 - v_corpus.b + v_corpus.b * m.length / v_corpus.pivot)))::real as impact
    from measured m, unnest(m.words) w
  ), terms as materialized (
    select t.lexeme, t.df, t.max_impact, l.term_id,
      row_number() over (partition by l.term_id is null order by t.lexeme)::integer as ordinal
    from (select p.lexeme, count(*)::integer as df, max(p.impact) as max_impact from postings p group by p.lexeme) t
      left join ragdb.lexemes l on l.corpus_id = v_corpus.corpus_id and l.lexeme = t.lexeme
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
end $$;
comment on function ragdb._index_chunks(integer, integer[]) is
  'Adds chunks to the lexical index and the counters of their corpus; the caller holds the corpus lock.';

create or replace function ragdb._unindex_chunks(corpus_id integer, chunk_nos integer[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
begin
  with gone as (
    delete from ragdb.chunk_lexemes x
    where x.corpus_id = _unindex_chunks.corpus_id and x.chunk_no = any (_unindex_chunks.chunk_nos)
    returning x.lexeme_count, x.lexemes
  ), counted as (
    update ragdb.lexemes l set df = l.df - t.df
    from (select ragdb._term_id(w.lexeme) as term_id, count(*)::integer as df
          from gone g, unnest(g.lexemes) w group by 1) t
    where l.corpus_id = _unindex_chunks.corpus_id and l.term_id = t.term_id
  )
  update ragdb.corpora c
    set chunks = c.chunks - (select count(*) from gone),
      lexeme_count = c.lexeme_count - (select coalesce(sum(g.lexeme_count), 0) from gone g)
    where c.corpus_id = _unindex_chunks.corpus_id;
end $$;
comment on function ragdb._unindex_chunks(integer, integer[]) is
  'Takes chunks out of the lexical index and the counters of their corpus; the caller holds the corpus lock.';

-- The pivot is pinned between two calls, so that putting a document never moves the score of another one.
create or replace function ragdb.optimize_corpus(corpus text)
returns table (chunks integer, pivot_before float8, pivot float8, lexemes_dropped integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_corpus ragdb.corpora := ragdb._lock_corpus(optimize_corpus.corpus, 'write');
  v_pivot float8 := v_corpus.pivot;
  v_dropped integer;
begin
  if v_corpus.lexeme_count > 0 then
    v_pivot := v_corpus.lexeme_count::float8 / v_corpus.chunks;
    update ragdb.corpora c set pivot = v_pivot where c.corpus_id = v_corpus.corpus_id;
  end if;
  with weighed as materialized (
    select x.chunk_no, ragdb._term_id(w.lexeme) as term_id,
      ((v_corpus.k1 + 1) * cardinality(w.positions) / (cardinality(w.positions)
        + v_corpus.k1 * (1 - v_corpus.b + v_corpus.b * x.lexeme_count / v_pivot)))::real as impact
    from ragdb.chunk_lexemes x, unnest(x.lexemes) w
    where x.corpus_id = v_corpus.corpus_id
  ), bounded as (
    update ragdb.lexemes l set max_impact = m.max_impact
    from (select w.term_id, max(w.impact) as max_impact from weighed w group by w.term_id) m
    where l.corpus_id = v_corpus.corpus_id and l.term_id = m.term_id and l.max_impact <> m.max_impact
  )
  update ragdb.chunk_lexemes x set impacts = ragdb._sparse(g.impacts)
  from (select w.chunk_no, string_agg(w.term_id || ':' || w.impact, ',') as impacts
        from weighed w group by w.chunk_no) g
  where v_pivot <> v_corpus.pivot and x.corpus_id = v_corpus.corpus_id and x.chunk_no = g.chunk_no;
  delete from ragdb.lexemes l where l.corpus_id = v_corpus.corpus_id and l.df = 0;
  get diagnostics v_dropped = row_count;
  perform gin_clean_pending_list('ragdb.chunk_lexemes_by_lexeme');
  return query select v_corpus.chunks, v_corpus.pivot, v_pivot, v_dropped;
end $$;
comment on function ragdb.optimize_corpus(text) is
  'Sets a corpus''s pivot to the mean length of its chunks, recomputes impacts and bounds and drops lexemes that no chunk has. Raises RG400, RG401, RG404.';

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

-- The scan of a whole space. Ties at the k-th place all stay: only the caller knows the ids that order them.
create or replace function ragdb._scan_space(
  space ragdb.embedding_spaces, metric text, query vector, k integer)
returns table (chunk_no integer, score float8)
language sql stable parallel safe
begin atomic
  with scored as materialized (
    select e.chunk_no, ragdb._similarity(e.embedding, _scan_space.query, _scan_space.metric) as score
    from ragdb.chunk_embeddings e
    where e.space_id = (_scan_space.space).space_id and e.corpus_id = (_scan_space.space).corpus_id
  ), last as materialized (
    select s.score from scored s order by s.score desc limit 1 offset _scan_space.k - 1
  )
  select s.chunk_no, s.score from scored s
  where s.score >= coalesce((select l.score from last l), 0::float8);
end;
comment on function ragdb._scan_space(ragdb.embedding_spaces, text, vector, integer) is
  'Returns the k chunks of a space that are nearest to a vector, and all that tie with the last, looking at every one.';

create or replace function ragdb._score_chunks(
  space ragdb.embedding_spaces, metric text, query vector, chunk_nos integer[])
returns table (chunk_no integer, score float8)
language sql stable parallel safe
begin atomic
  select e.chunk_no, ragdb._similarity(e.embedding, _score_chunks.query, _score_chunks.metric)
  from pg_catalog.unnest(_score_chunks.chunk_nos) n (chunk_no)
    join ragdb.chunk_embeddings e on e.space_id = (_score_chunks.space).space_id
      and e.corpus_id = (_score_chunks.space).corpus_id and e.chunk_no = n.chunk_no;
end;
comment on function ragdb._score_chunks(ragdb.embedding_spaces, text, vector, integer[]) is
  'Returns the similarity of the given chunks of a space to a vector; chunks without an embedding have no row.';

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
create or replace function ragdb._indexed_expression(column_name text, dims integer) returns text
language sql stable parallel safe
return pg_catalog.format('%1$I.l2_normalize(%2$s)::%1$I.halfvec(%3$s)',
  ragdb._vector_schema(), _indexed_expression.column_name, _indexed_expression.dims);
comment on function ragdb._indexed_expression(text, integer) is
  'Returns the text of what the HNSW index of a space is over.';

-- The search of the index. Nothing may take its place: other scans and sorts are off, and a filter is a hashed
-- subplan, which no index answers (and which is planned at once, where `= any` looks at every element).
-- A width cannot be a parameter: the text is made anew.
create or replace function ragdb._walk_space(
  space ragdb.embedding_spaces, dims integer, query vector, k integer, chunk_nos integer[])
returns integer[]
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
  v_found integer[];
begin
  perform set_config('hnsw.ef_search', least(1000, greatest(240, 2 * k))::text, true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.max_scan_tuples', '2147483647', true);
  execute format(
    'select array(select e.chunk_no from ragdb.%1$I e %2$s'
    ' order by %3$s operator(%4$I.<#>) %5$s limit $2)',
    ragdb._space_table(space.space_id),
    case when chunk_nos is not null then 'where (e.chunk_no in (select unnest($3))) is true' end,
    ragdb._indexed_expression('e.embedding', dims), ragdb._vector_schema(),
    ragdb._indexed_expression('$1', dims))
    into v_found using query, k, chunk_nos;
  perform set_config('hnsw.ef_search', v_ef, true),
    set_config('hnsw.iterative_scan', v_iterative, true),
    set_config('hnsw.max_scan_tuples', v_tuples, true);
  return v_found;
end $$;
comment on function ragdb._walk_space(ragdb.embedding_spaces, integer, vector, integer, integer[]) is
  'Returns about the k nearest chunks of a space by its HNSW index, among the given ones when not null.';

create or replace function ragdb._nearest(
  corpus ragdb.corpora, space ragdb.embedding_spaces, query vector, k integer,
  chunk_nos integer[] default null)
returns table (chunk_no integer, score float8, is_exact boolean)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
-- prune to one partition when planning, and whatever the caller has switched off
set plan_cache_mode = force_custom_plan
set enable_seqscan = on
set enable_hashjoin = on
set jit = off
as $$
declare
  v_embedder ragdb.embedders;
  v_found integer[];
begin
  select e.* into strict v_embedder from ragdb.embedders e where e.embedder_id = space.embedder_id;
  -- a walk takes the longer the less of the graph is wanted, a look at every wanted chunk the longer the more:
  -- they meet near 20 √chunks (measured)
  if space.is_indexed and corpus.chunks >= 20000
    and (chunk_nos is null or cardinality(chunk_nos) > 20 * sqrt(corpus.chunks))
  then
    v_found := ragdb._walk_space(space, v_embedder.dims, query, k, chunk_nos);
    if cardinality(v_found) >= k then
      return query select s.chunk_no, s.score, false
        from ragdb._score_chunks(space, v_embedder.metric, query, v_found) s;
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
  corpus text, embedder text, m integer default 16, ef_construction integer default 64)
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
  corpus text, embedder text, m integer default 16, ef_construction integer default 64)
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
    ragdb._indexed_expression('embedding', v_embedder.dims), ragdb._vector_schema(),
    v_space.m, v_space.ef_construction);
  execute format('analyze ragdb.%I', v_table);
  update ragdb.embedding_spaces s set is_indexed = true where s.space_id = v_space.space_id;
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

create or replace function ragdb._embedding_inputs(
  corpus_id integer, chunk_nos integer[], prefix text)
returns table (chunk_no integer, input text)
language sql stable parallel safe
begin atomic
  select c.chunk_no, _embedding_inputs.prefix || ragdb._searched_text(d.title, c.heading, c.text)
  from ragdb.chunks c
    join ragdb.documents d on d.corpus_id = c.corpus_id and d.doc_no = c.doc_no
  where c.corpus_id = _embedding_inputs.corpus_id and c.chunk_no = any (_embedding_inputs.chunk_nos);
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
  )
  insert into ragdb.embedding_jobs as j (corpus_id, space_id, input_hash, chunk_nos, due_at, created_at)
  select space.corpus_id, space.space_id, i.hash, array_agg(i.chunk_no order by i.chunk_no),
    clock_timestamp(), clock_timestamp()
  from inputs i
  where i.chunk_no not in (select c.chunk_no from copied c)
  group by i.hash order by i.hash
  on conflict on constraint embedding_jobs_input_is_unique_per_space do update
    set chunk_nos = array(select distinct n from unnest(j.chunk_nos || excluded.chunk_nos) n order by n);
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
      update ragdb.embedding_jobs j set is_dead = true, worker = null,
          last_error = coalesce(j.last_error, 'twenty workers died or lost their lease on it')
        where j.corpus_id = v_space.corpus_id and j.space_id = v_space.space_id
          and not j.is_dead and j.due_at <= clock_timestamp() and j.attempt >= j.failures + 20;
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
        select distinct on (j.input_hash) v_space.space_id, v_space.corpus, v_space.embedder,
          j.input_hash, j.attempt, i.input
        from unnest(v_claimed) j
          cross join lateral ragdb._embedding_inputs(v_space.corpus_id, j.chunk_nos, v_space.passage_prefix) i
        where sha256(convert_to(i.input, 'UTF8')) = j.input_hash;
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
  update ragdb.embedding_jobs j set due_at = clock_timestamp() + lease
    from ragdb.corpora c
    where c.corpus_id = j.corpus_id and ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 2
      and j.worker = renew_embeddings.worker and not j.is_dead and j.due_at > clock_timestamp();
  get diagnostics v_renewed = row_count;
  return v_renewed;
end $$;
comment on function ragdb.renew_embeddings(text, interval) is
  'Renews the lease (1 s to 1 day) of all that a worker has claimed and not lost, and returns how many inputs that is. Raises RG400.';

create or replace function ragdb._space_of(space_id integer) returns ragdb.embedding_spaces
language plpgsql stable
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
  v_stored integer;
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
    returning 1
  )
  select count(*) into v_stored from stored;
  return v_stored;
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
language plpgsql stable security definer
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

create or replace function ragdb.list_failed_embeddings(corpus text)
returns table (embedder text, chunk_id text, is_dead boolean, failures integer, last_error text, due_at timestamptz)
language sql stable security definer
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
create or replace function ragdb.put_query_embedding(corpus text, query text, embedding real[]) returns text
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
  perform ragdb._check_embeddings(embedding, v_embedder.dims, v_embedder.metric, array['the query']);
  v_hash := ragdb._keep_query_embedding(v_corpus.corpus_id, v_embedder.embedder_id, embedding);
  insert into ragdb.embedded_queries (corpus_id, embedder_id, query_hash, embedding_hash, due_at)
    values (v_corpus.corpus_id, v_embedder.embedder_id, sha256(convert_to(query, 'UTF8')), v_hash, ragdb._now())
    on conflict on constraint embedded_queries_are_unique_per_embedder do update
      set embedding_hash = excluded.embedding_hash, query_text = null;
  return encode(v_hash, 'hex');
end $$;
comment on function ragdb.put_query_embedding(text, text, real[]) is
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
language plpgsql stable security definer
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
    ' join ragdb.chunks c on c.corpus_id = d.corpus_id and c.doc_no = d.doc_no'
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

create or replace function ragdb._rank_lexical(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, k integer, filter jsonb, chunk_ids text[],
  also integer[] default null)
returns table (chunk_no integer, score float8, bm25 float8, coverage float8)
language plpgsql stable parallel safe rows 20
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
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
  v_dfs integer[];
  v_rests float8[];
  v_rest float8 := 0;
  v_rarest text[];
  v_postings bigint;
  v_conditions jsonb[];
  v_sql text;
  v_among integer[];
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
    sum(t.weight order by t.lexeme),
    ragdb._sparse(string_agg(t.term_id || ':' || t.weight::real, ',') filter (where t.df > 0)),
    array_agg(ragdb._token(corpus.corpus_id, t.term_id) order by t.bound desc, t.lexeme) filter (where t.df > 0),
    array_agg(t.bound order by t.bound desc, t.lexeme) filter (where t.df > 0),
    array_agg(t.df order by t.bound desc, t.lexeme) filter (where t.df > 0),
    sum(t.df)
  into v_ids, v_weights, v_asked, v_vector, v_tokens, v_bounds, v_dfs, v_postings
  from (
    select w.lexeme, w.term_id, w.df, w.weight, w.weight * w.max_impact as bound
    from (
      select w.lexeme collate "C" as lexeme, l.term_id, coalesce(l.df, 0) as df, l.max_impact,
        cardinality(w.positions)
          * ln(1 + (statistics.chunks - coalesce(s.df, 0) + 0.5::float8) / (coalesce(s.df, 0) + 0.5::float8)) as weight
      from unnest(ragdb._lexemes(v_text, corpus.text_config)) w
        left join ragdb.lexemes l on l.corpus_id = corpus.corpus_id and l.lexeme = w.lexeme
        left join ragdb.lexemes s on s.corpus_id = statistics.corpus_id and s.lexeme = w.lexeme
    ) w
  ) t;
  if filter is not null or chunk_ids is not null then
    v_among := ragdb._filtered_chunks(corpus.corpus_id, filter, chunk_ids, case when chunk_ids is null then 5001 end);
    if chunk_ids is null and cardinality(v_among) > 5000 then
      v_among := null;
      v_conditions := array(select to_jsonb(f) from ragdb._filter_conditions(filter) f);
      v_sql := 'select array_agg(q.chunk_no order by q.score desc), array_agg(q.score order by q.score desc) from ('
        'select x.chunk_no, ragdb._inner_product(x.impacts, $2) as score from ragdb.chunk_lexemes x'
        ' join ragdb.chunks c on c.corpus_id = $3 and c.chunk_no = x.chunk_no'
        ' join ragdb.documents d on d.corpus_id = $3 and d.doc_no = c.doc_no'
        ' where x.lexemes @@ $4 and ' || ragdb._filter_sql(v_conditions) || ' order by 2 desc limit $5) q';
    end if;
  end if;
  if v_ids is null or v_must is null then
    return;
  end if;
  for v_i in reverse cardinality(v_bounds)..1 loop
    v_rest := v_rest + v_bounds[v_i];
    v_rests[v_i] := v_rest;
  end loop;

  -- Every chunk with a score of at least v_need is among the chunks of v_condition. It starts as a guess; the k-th
  -- score found is a lower bound of the true one, so the second guess is right.
  v_need := case when v_among is not null or v_postings <= 2000 then 0 else v_guess * v_rest end;
  loop
    v_condition := ragdb._bound_condition(v_tokens, v_bounds, v_rests, 1, v_need,
      case when cardinality(v_tokens) > 16 then 2 else 3 end);
    if v_condition = '' then
      v_condition := '(' || array_to_string(v_tokens, '|') || ')';
    end if;
    loop
      if v_among is not null then
        select array_agg(c.chunk_no order by c.score desc), array_agg(c.score order by c.score desc)
        into v_found, v_scores
        from ragdb._candidates_among(corpus.corpus_id, v_among, nullif(substr(v_must, 2), '')::tsquery, v_vector, v_limit) c;
      elsif v_sql is null then
        select array_agg(c.chunk_no order by c.score desc), array_agg(c.score order by c.score desc)
        into v_found, v_scores
        from ragdb._candidates((v_condition || v_must)::tsquery, v_vector, v_limit) c;
      else
        execute v_sql into v_found, v_scores
          using v_conditions, v_vector, corpus.corpus_id, (v_condition || v_must)::tsquery, v_limit;
      end if;
      v_count := coalesce(cardinality(v_found), 0);
      -- ties at the k-th place, and what float4 cannot tell from them, are all candidates
      exit when v_count < v_limit or v_scores[v_limit] < v_scores[k] * (1 - 1e-5::float8);
      v_limit := 8 * v_limit;
    end loop;
    exit when v_need = 0 or v_count >= k and v_scores[k] * (1 - 1e-5::float8) >= v_need;
    if v_count >= k then
      v_need := v_scores[k] * (1 - 2e-5::float8);
    else
      v_guess := v_guess * 0.65;
      v_need := case when v_guess < 0.1 then 0 else v_guess * v_rest end;
    end if;
  end loop;
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

-- Definer: the tables of a corpus are granted to nobody; the caller's right is checked here, once per corpus. Every
-- join is by key: the planner, which cannot know how few rows rank, is left no other way.
create or replace function ragdb.search(
  corpora text[], query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding real[] default null, fusion text default 'convex', lexical_weight float8 default 0.5,
  min_lexical float8 default 0, min_semantic float8 default 0)
returns setof ragdb.hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_name text;
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
  for v_name in select distinct n.name from unnest(corpora) n (name) loop
    v_corpora := v_corpora || ragdb._open_corpus(v_name, 'read');
  end loop;
  if statistics is not null then
    v_statistics := ragdb._open_corpus(statistics, 'read');
  end if;
  v_mode := ragdb._search_mode(v_corpora, mode, query, query_embedding);
  return query
    with ranked as materialized (
      select c.corpus_id, c.name, r.*
      from unnest(v_corpora) c
        cross join lateral (
          select l.chunk_no, l.score, l.score as lexical_score, null::float8 as semantic_score, null::integer as lexical_rank,
            null::integer as semantic_rank, l.bm25, l.coverage, true as is_exact
          from ragdb._rank_lexical(c, case when v_statistics is null then c else v_statistics end,
            search.query, search.k, search.filter, search.chunk_ids) l
          where v_mode = 'lexical'
          union all
          select n.* from ragdb._rank_near(c, case when v_statistics is null then c else v_statistics end,
            search.query, search.k, v_mode, search.filter, search.chunk_ids, search.query_embedding, search.fusion,
            search.lexical_weight) n
          where v_mode in ('semantic', 'hybrid')
          union all
          select j.chunk_no, j.score, null, null, null, null, null, null, true
          from ragdb._rank_reference(c, search.query, search.k, search.filter, search.chunk_ids) j
          where v_mode = 'reference') r
      where r.score >= search.min_score and coalesce(r.lexical_score, 0) >= search.min_lexical
        and coalesce(r.semantic_score, 0) >= search.min_semantic
    ), top as materialized (
      select r.*, h.doc_no, h.chunk_id, h.source, h.heading, h.page, h.start_offset, h.end_offset, h.text, h.citation,
        h.content_hash,
        row_number() over (order by r.score desc, h.chunk_id, r.name)::integer as rank
      from ranked r join ragdb.chunks h on h.corpus_id = r.corpus_id and h.chunk_no = r.chunk_no
      order by rank limit search.k
    )
    select t.rank, t.name, t.chunk_id, d.doc_cid, t.source, d.title, t.heading, t.page, t.start_offset, t.end_offset,
      t.text, t.citation, t.score, t.lexical_score, t.semantic_score,
      case when v_mode = 'lexical' then t.rank else t.lexical_rank end, t.semantic_rank, t.bm25, t.coverage,
      encode(t.content_hash, 'hex'), d.metadata, v_mode, t.is_exact
    from top t join ragdb.documents d on d.corpus_id = t.corpus_id and d.doc_no = t.doc_no
    order by t.rank;
end $$;
comment on function ragdb.search(text[], text, integer, text, float8, jsonb, text[], text, real[], text, float8, float8, float8) is
  'Returns the k (1 to 1000) best chunks of several corpora for a query, in one order of scores in [0, 1], with the arguments of the search of one. Raises RG400, RG401, RG404, RG410, RG415, RG418.';

create or replace function ragdb.search(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  query_embedding real[] default null, fusion text default 'convex', lexical_weight float8 default 0.5,
  min_lexical float8 default 0, min_semantic float8 default 0)
returns setof ragdb.hit
language sql stable parallel restricted
begin atomic
  select * from ragdb.search(array[search.corpus], search.query, search.k, search.mode, search.min_score,
    search.filter, search.chunk_ids, search.statistics, search.query_embedding, search.fusion, search.lexical_weight,
    search.min_lexical, search.min_semantic);
end;
comment on function ragdb.search(text, text, integer, text, float8, jsonb, text[], text, real[], text, float8, float8, float8) is
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

-- The chunks that rank, with what each leg said of them
do $$ begin
  if pg_catalog.to_regtype('ragdb.ranked') is null then
    create type ragdb.ranked as (
      chunk_no integer, score float8, lexical_score float8, semantic_score float8,
      lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8, is_exact boolean);
  end if;
end $$;
comment on type ragdb.ranked is
  'A chunk in a ranking: its score, and score and rank in each leg; null where a leg did not run or lacks an embedding.';

create or replace function ragdb._rank_semantic(
  corpus ragdb.corpora, space ragdb.embedding_spaces, embedding vector, k integer,
  chunk_nos integer[] default null)
returns setof ragdb.ranked
language sql stable parallel restricted
begin atomic
  select r.chunk_no, r.score, null::float8, r.score, null::integer, r.rank, null::float8, null::float8, r.is_exact
  from (
    select n.chunk_no, n.score, n.is_exact,
      pg_catalog.row_number() over (order by n.score desc, c.chunk_id)::integer as rank
    from ragdb._nearest(_rank_semantic.corpus, _rank_semantic.space, _rank_semantic.embedding,
        _rank_semantic.k, _rank_semantic.chunk_nos) n
      join ragdb.chunks c on c.corpus_id = (_rank_semantic.corpus).corpus_id and c.chunk_no = n.chunk_no
  ) r
  where r.rank <= _rank_semantic.k;
end;
comment on function ragdb._rank_semantic(ragdb.corpora, ragdb.embedding_spaces, vector, integer, integer[]) is
  'Returns the k chunks of a corpus nearest to an embedding, among the given ones when not null.';

-- "phrase", +word and -word bind the semantic leg too
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
begin
  return query
    with near as materialized (
      select s.chunk_no, s.semantic_score as score, s.semantic_rank as rank, s.is_exact
      from ragdb._rank_semantic(corpus, space, embedding, v_depth, chunk_nos) s
    ), scored as materialized (
      select r.chunk_no, r.score, r.bm25, r.coverage,
        row_number() over (order by r.score desc, c.chunk_id)::integer as rank
      from ragdb._rank_lexical(corpus, statistics, query, v_depth, filter, chunk_ids,
          array(select n.chunk_no from near n)) r
        join ragdb.chunks c on c.corpus_id = corpus.corpus_id and c.chunk_no = r.chunk_no
    ), words as materialized (
      select s.chunk_no, s.rank from scored s where s.rank <= v_depth and s.bm25 > 0
    ), also_near as materialized (
      select a.chunk_no, a.score
      from ragdb._nearest(corpus, space, embedding, v_depth,
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
set enable_hashjoin = on
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
  v_chunk_nos := ragdb._demanded_chunks(corpus, query, v_chunk_nos);
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
  query_embedding real[], match_threshold float8 default 0, match_count integer default 10,
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
        query_embedding, 'convex', 0.5) r
      where r.score >= match_threshold), match_count, 'semantic') h
    order by h.rank;
end $$;
comment on function ragdb.match_documents(real[], float8, integer, jsonb, text) is
  'Returns the match_count (1 to 1000) chunks nearest to an embedding with a similarity of at least match_threshold (-1 to 1), in the columns of Supabase''s guide; corpus may be left out where one readable corpus alone has embeddings. Raises RG400, RG401, RG404, RG410, RG415, RG418.';

---- sql/45_traces.sql

-- Traces: every retrieval leaves one row of retrieval_traces and a row of retrieval_hits per hit.
-- Both tables are partitioned by month (UTC), append-only, and granted to nobody.

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
    ragdb._utf8((trace).otel_span_id)]
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
  where i.inhparent in ('ragdb.retrieval_traces'::regclass, 'ragdb.retrieval_hits'::regclass);
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
  v_has_default boolean := to_regclass('ragdb.retrieval_hits_default') is not null;
  v_ahead date[] := array(
    select (date_trunc('month', ragdb._now() at time zone 'UTC') + make_interval(months => i))::date
    from generate_series(0, 3) i);
  v_months date[] := '{}';
  v_month date;
  v_made text[] := '{}';
begin
  if v_has_default then
    execute 'select exists (select from ragdb.retrieval_traces_default)' into v_is_moving;
    if not v_is_moving and not exists (select from unnest(v_ahead) m
      where to_regclass('ragdb.' || ragdb._partition_name('retrieval_hits', m)) is null)
    then
      return;
    end if;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('ragdb.maintain', 0));
  if to_regclass('ragdb.retrieval_traces_default') is not null then
    execute 'select coalesce(array_agg(distinct date_trunc(''month'', t.created_at at time zone ''UTC'')::date), ''{}'')'
      ' from ragdb.retrieval_traces_default t' into v_months;
  end if;
  v_is_moving := v_months <> '{}';
  v_months := array(select distinct m from unnest(v_months || v_ahead) m order by m);
  foreach v_parent in array array['retrieval_traces', 'retrieval_hits'] loop
    v_default := ragdb._partition_name(v_parent, null);
    -- its rows may not be deleted, so a default partition with rows is replaced by a new one
    if v_is_moving then
      execute format('alter table ragdb.%I detach partition ragdb.%I', v_parent, v_default);
    end if;
    foreach v_month in array v_months loop
      if to_regclass('ragdb.' || ragdb._partition_name(v_parent, v_month)) is null then
        v_made := v_made || ragdb._make_partition(v_parent, v_month);
      end if;
    end loop;
    if v_is_moving then
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
    -- hits first: no hit is ever without its trace
    execute format('select count(*) from ragdb.%I', ragdb._partition_name('retrieval_hits', month))
      into hits;
    execute format('drop table ragdb.%I', ragdb._partition_name('retrieval_hits', month));
    execute format('select count(*) from ragdb.%I', ragdb._partition_name('retrieval_traces', month))
      into traces;
    execute format('drop table ragdb.%I', ragdb._partition_name('retrieval_traces', month));
    return next;
  end loop;
end $$;
comment on function ragdb.drop_traces_before(date) is
  'Drops the traces of whole months (UTC) that ended before a day, of every corpus, and returns each month with the number of traces and hits dropped. It waits for readers of the tables. Raises RG400.';

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
  trace.trace_mac := ragdb._trace_mac(trace.trace_hash);
  insert into ragdb.retrieval_traces values (trace.*);
  insert into ragdb.retrieval_hits select h.* from unnest(v_hits) h;
  -- of the session, not the transaction: `select … from retrieve(…); select last_trace_id()` has two
  perform set_config('ragdb.last_trace_id', trace.id::text, false);
  return trace.id;
end $$;
comment on function ragdb._record_trace(ragdb.corpora, text, ragdb.retrieval_traces, ragdb.hit[]) is
  'Writes one trace and its hits and returns its id; the corpus is the row that the search saw. Raises RG400, RG413.';

-- Definer: it writes tables that are granted to nobody. The search and the corpus row are read by one
-- statement, hence from one snapshot: corpus_version is the version that was searched.
create or replace function ragdb.retrieve(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null,
  client text default null, otel_trace_id text default null, otel_span_id text default null)
returns setof ragdb.traced_hit
language plpgsql security definer
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
  select c as corpus, array(
      select h from ragdb.search(corpus => retrieve.corpus, query => retrieve.query, k => retrieve.k,
        mode => retrieve.mode, min_score => retrieve.min_score, filter => retrieve.filter,
        chunk_ids => retrieve.chunk_ids, statistics => retrieve.statistics) h) as hits
    into strict v_found
    from ragdb._open_corpus(retrieve.corpus, 'read') c;
  v_trace.retrieval_mode := 'global';
  v_trace.rank_mode := coalesce(mode, 'lexical');
  v_trace.limit_requested := k;
  v_trace.min_score := min_score;
  v_trace.filters := filter;
  v_trace.chunk_ids := chunk_ids;
  v_trace.statistics := statistics;
  v_trace.is_admissible := false;
  v_trace.admissibility_shortfall := false;
  v_trace.is_exact := true;
  v_trace.client := client;
  v_trace.otel_trace_id := otel_trace_id;
  v_trace.otel_span_id := otel_span_id;
  v_trace.elapsed_ms := 1000 * extract(epoch from clock_timestamp() - v_started)::float8;
  v_trace.id := ragdb._record_trace(v_found.corpus, query, v_trace, v_found.hits);
  return query select v_trace.id, h.* from unnest(v_found.hits::ragdb.hit[]) h;
end $$;
comment on function ragdb.retrieve(text, text, integer, text, float8, jsonb, text[], text, text, text, text) is
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
  client text default null, otel_trace_id text default null, otel_span_id text default null)
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
  v_trace.retrieval_mode := 'global';
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
comment on function ragdb.record_failure(text, text, text, float8, integer, text, float8, jsonb, text[], text, text, text, text) is
  'Records the trace of a retrieval that raised the SQLSTATE error_code after elapsed_ms milliseconds, with the arguments it had, and returns its id; the caller''s client calls it after the rollback. Raises RG400, RG404, RG413.';

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

-- The graph of conversations: turns are chunks that know their session, role and place; edges are what was said to what.

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

-- SHA-1 serves nothing here but UUIDs of version 5 (RFC 9562), which are defined by it; the server has no other.
create or replace function ragdb._sha1(data bytea) returns bytea
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mask constant bigint := 4294967295;
  v_data constant bytea := data || '\x80'::bytea
    || decode(repeat('00', (119 - octet_length(data) % 64) % 64), 'hex') || int8send(8::bigint * octet_length(data));
  h bigint[] := array[1732584193, 4023233417, 2562383102, 271733878, 3285377520];
  w bigint[];
  a bigint; b bigint; c bigint; d bigint; e bigint; f bigint; t bigint;
begin
  for v_block in 0..octet_length(v_data) / 64 - 1 loop
    for i in 1..16 loop
      w[i] := (get_byte(v_data, 64 * v_block + 4 * i - 4)::bigint << 24) | (get_byte(v_data, 64 * v_block + 4 * i - 3) << 16)
        | (get_byte(v_data, 64 * v_block + 4 * i - 2) << 8) | get_byte(v_data, 64 * v_block + 4 * i - 1);
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
    h := array[(h[1] + a) & v_mask, (h[2] + b) & v_mask, (h[3] + c) & v_mask, (h[4] + d) & v_mask, (h[5] + e) & v_mask];
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
        6, (pg_catalog.get_byte(s.bytes, 6) & 15) | 80), 8, (pg_catalog.get_byte(s.bytes, 8) & 63) | 128), 'hex')::uuid
    from (select ragdb._sha1(pg_catalog.uuid_send(namespace) || name) as bytes) s;
end;
comment on function ragdb._uuid5(uuid, bytea) is 'Returns the UUID of version 5 (RFC 9562) of a name in a namespace.';

-- A message id that is a UUID is kept in its canonical form; any other becomes one, the same in every database.
create or replace function ragdb.turn_id(corpus text, session text, id text) returns text
language sql immutable strict parallel safe
return case
  when id ~ '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$'
    then pg_catalog.lower(id collate "C")
  else ragdb._uuid5('5b8f3b54-7a0b-5d0c-9a53-3f6d1f4c2a10',
    ragdb._packed(corpus) || ragdb._packed(session) || ragdb._packed(id))::text
end;
comment on function ragdb.turn_id(text, text, text) is
  'Returns the chunk id of a message: its own id when that is a UUID, else the version 5 UUID of (corpus, session, id).';

-- Phase by keywords and form. Each rule adds to one phase; the best of at least 0.3 wins, ties in the order of the list.
create or replace function ragdb._turn_phase(role text, text text) returns text
language sql immutable strict parallel safe
begin atomic
  select coalesce((
    select p.phase
      from (values
        (1, 'synthesis', case when t.low ~ '(decision:|let''s go with|we''ll use|decided to|the approach|final answer|conclusion|summary)'
          then 0.5 else 0 end),
        (2, 'planning', case when t.low ~ '(\mphase|\mroadmap|\mstep|\mplan|\mmilestone|\mtodo|\mfirst,|\msecond,|\mthird,|\mthen\M|\mnext step)'
          then 0.4 else 0 end
          + case when pg_catalog.regexp_count(_turn_phase.text, '^[ \t]*([-*+]|[0-9]+[.)])[ \t]', 1, 'n') > 3 then 0.3 else 0 end),
        (3, 'consolidation', case when pg_catalog.octet_length(_turn_phase.text) > 1000 then 0.3 else 0 end
          + case when pg_catalog.strpos(_turn_phase.text, '```') > 0 then 0.3 else 0 end
          + case when t.low ~ '[a-z0-9_]\.(rs|py|ts|js|go|java|cpp|h)\M' then 0.2 else 0 end),
        (4, 'debugging', case when t.low ~ '(\merror|\mexception|\mtraceback|\mfailed|doesn''t work|\mbug|\mfix|\mbroken|\mcrash|\mpanic|\mundefined)'
          then 0.6 else 0 end),
        (5, 'exploration', case when role <> 'user' then 0 else
          case when pg_catalog.regexp_count(_turn_phase.text, '\?') >= 2 then 0.5 else 0 end
          + case when pg_catalog.octet_length(_turn_phase.text) < 200 then 0.2 else 0 end end)
      ) p (place, phase, weight)
      where p.weight >= 0.3 order by p.weight desc, p.place limit 1), 'exploration')
    from (select pg_catalog.lower(_turn_phase.text collate "C") as low) t;
end;
comment on function ragdb._turn_phase(text, text) is
  'Returns the phase of a turn by its role and text: the rule of the highest weight of at least 0.3, else exploration.';

-- Everything about turns that follows from their texts, order and edges; run again whenever a session changes.
create or replace function ragdb._derive_turns(corpus_id integer, sessions text[]) returns void
language sql
begin atomic
  with recursive members as materialized (
    select t.chunk_no, t.session_id, t.role, t.given, t.created_at, c.text, c.ordinal
      from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no)
      where t.corpus_id = _derive_turns.corpus_id and t.session_id = any(_derive_turns.sessions)
  ), answers as materialized (
    select e.parent_no, e.child_no
      from ragdb.edges e join members m on m.chunk_no = e.child_no
      where e.corpus_id = _derive_turns.corpus_id and e.edge_type in ('reply', 'branch')
  ), paths as (
    select m.chunk_no, 0 as depth from members m
      where not exists (select from answers a where a.child_no = m.chunk_no)
    union
    select a.child_no, p.depth + 1 from paths p join answers a on a.parent_no = p.chunk_no
  ), depths as (
    select p.chunk_no, pg_catalog.min(p.depth) as depth from paths p group by p.chunk_no
  ), phased as materialized (
    select m.*, coalesce(m.given ->> 'phase', ragdb._turn_phase(m.role, m.text)) as phase from members m
  ), placed as (
    select p.chunk_no, p.phase,
        coalesce(d.depth, 0) as depth,
        pg_catalog.row_number() over (
          partition by p.session_id, (select pg_catalog.min(a.parent_no) from answers a where a.child_no = p.chunk_no)
          order by p.created_at, p.ordinal) - 1 as sibling_order,
        case when d.depth = 0 then 1 else 0.5 end as homogeneity,
        coalesce(extract(epoch from p.created_at - pg_catalog.min(p.created_at) over s)
          / nullif(extract(epoch from pg_catalog.max(p.created_at) over s - pg_catalog.min(p.created_at) over s), 0), 0) as temporal,
        1 + pg_catalog.regexp_count(p.text, '^```', 1, 'n') / 2 + pg_catalog.regexp_count(p.text, '!\[[^]]*\]\(') as complexity,
        coalesce((p.given ->> 'salience')::float8, 0.5::float8
          + 0.35::float8 * pg_catalog.sign(coalesce((p.given ->> 'feedback')::float8, 0))
          + case when p.phase <> pg_catalog.lag(p.phase) over (partition by p.session_id order by p.created_at, p.ordinal)
            then 0.10::float8 else 0 end
          + least(0.05::float8 * (select pg_catalog.count(*) from ragdb.edges r
              where r.corpus_id = _derive_turns.corpus_id and r.child_no = p.chunk_no and r.edge_type = 'reference'), 0.15::float8)
        ) as salience
      from phased p left join depths d using (chunk_no)
      window s as (partition by p.session_id)
  )
  update ragdb.turns t
    set phase = p.phase, depth = p.depth, sibling_order = p.sibling_order, homogeneity = p.homogeneity,
        temporal = p.temporal, complexity = p.complexity, salience = least(greatest(p.salience, 0), 1)
    from placed p
    where t.corpus_id = _derive_turns.corpus_id and t.chunk_no = p.chunk_no;
  update ragdb.edges e set child_salience = t.salience
    from ragdb.turns t
    where t.corpus_id = _derive_turns.corpus_id and t.session_id = any(_derive_turns.sessions)
      and e.corpus_id = t.corpus_id and e.child_no = t.chunk_no and e.child_salience <> t.salience;
end;
comment on function ragdb._derive_turns(integer, text[]) is
  'Sets phase, salience (without novelty), depth, sibling order, homogeneity (without vectors), temporal and complexity of the turns of some sessions.';

-- ── conversations ───────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb._parsed_turns(corpus text, conversations jsonb)
returns table (nth bigint, session_id text, place bigint, raw_id text, chunk_id text, role text, given jsonb,
  created_at timestamptz, text text)
language sql stable
begin atomic
  select c.n - 1, c.v ->> 'session', m.n,
      m.v ->> 'id', ragdb.turn_id(_parsed_turns.corpus, c.v ->> 'session', m.v ->> 'id'),
      case r.role when 'prompter' then 'user'
        when 'assistant' then r.role when 'system' then r.role when 'tool' then r.role else 'user' end,
      pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
        'phase', case when pg_catalog.lower(m.v ->> 'phase') in
            ('exploration', 'debugging', 'planning', 'consolidation', 'synthesis') then pg_catalog.lower(m.v ->> 'phase')
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
returns table (nth bigint, parent_id text, child_id text, edge_type text, raw_parent text, raw_child text)
language sql stable
begin atomic
  select distinct c.n - 1, ragdb.turn_id(_parsed_edges.corpus, c.v ->> 'session', p.id),
      ragdb.turn_id(_parsed_edges.corpus, c.v ->> 'session', m.v ->> 'id'),
      case pg_catalog.lower(p.edge_type) when 'branch' then 'branch' when 'reference' then 'reference'
        when 'reply' then 'reply' else 'default' end,
      p.id, m.v ->> 'id'
    from pg_catalog.jsonb_array_elements(conversations) with ordinality c (v, n)
    cross join lateral pg_catalog.jsonb_array_elements(c.v -> 'messages') m (v)
    cross join lateral (
      select m.v ->> 'parent_id' as id, 'reply' as edge_type
      union all
      select case pg_catalog.jsonb_typeof(q.v) when 'object' then q.v ->> 'id' else q.v #>> '{}' end,
          case pg_catalog.jsonb_typeof(q.v) when 'object' then coalesce(q.v ->> 'edge_type', 'default') else 'reply' end
        from pg_catalog.jsonb_array_elements(
          case pg_catalog.jsonb_typeof(m.v -> 'parents') when 'array' then m.v -> 'parents' else '[]' end) q (v)) p
    where p.id is not null;
end;
comment on function ragdb._parsed_edges(text, jsonb) is
  'Reads the parents of messages: parent_id and plain ids in parents are replies, objects {"id", "edge_type"} say their type.';

-- A conversation that contradicts itself is refused whole, with the ids that do.
create or replace function ragdb._check_conversations(corpus text, conversations jsonb) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_bad record;
begin
  if conversations is null or jsonb_typeof(conversations) <> 'array' or jsonb_array_length(conversations) > 1000 then
    raise exception 'conversations is not an array of at most 1000'
      using errcode = 'RG412', detail = 'put_conversations takes a JSON array', hint = 'one conversation goes in an array of one';
  end if;
  select c.n - 1 as n, f.message into v_bad
    from jsonb_array_elements(conversations) with ordinality c (v, n)
    cross join lateral (values
      (1, jsonb_typeof(c.v) = 'object', 'it is not an object'),
      (2, coalesce(octet_length(c.v ->> 'session') between 1 and 500, false), 'session is not a text of 1 to 500 bytes'),
      (3, coalesce(jsonb_typeof(c.v -> 'messages') = 'array', false), 'messages is not an array')) f (i, is_fine, message)
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
      (2, coalesce(octet_length(m.v ->> 'id') between 1 and 500, false), 'id is not a text of 1 to 500 bytes'),
      (3, coalesce(jsonb_typeof(m.v -> 'text') = 'string' and btrim(m.v ->> 'text', E' \t\n\r\f\v') <> '', false), 'text is missing or blank'),
      (4, coalesce(jsonb_typeof(m.v -> 'salience'), 'null') = 'null' or jsonb_typeof(m.v -> 'salience') = 'number'
        and (m.v ->> 'salience')::numeric between 0 and 1, 'salience is not a number of 0 to 1'),
      (5, coalesce(jsonb_typeof(m.v -> 'feedback'), 'null') in ('null', 'number'), 'feedback is not a number'),
      (6, coalesce(jsonb_typeof(m.v -> 'created_at'), 'null') = 'null'
        or pg_input_is_valid(m.v ->> 'created_at', 'timestamptz'), 'created_at is not a time'),
      (7, coalesce(jsonb_typeof(m.v -> 'parents'), 'array') in ('array', 'null'), 'parents is not an array')) f (i, is_fine, message)
    where not f.is_fine order by c.n, m.n, f.i limit 1;
  if v_bad.n is not null then
    raise exception 'conversation at position %, message %: %', v_bad.n, v_bad.place, v_bad.message
      using errcode = 'RG412', detail = 'messages count from 1; nothing was written',
            hint = 'a message is {"id", "parent_id" or "parents", "role", "text", "created_at", "phase", "salience"}';
  end if;
  select min(t.raw_id) as id into v_bad
    from ragdb._parsed_turns(corpus, conversations) t group by t.chunk_id having count(*) > 1 order by 1 limit 1;
  if v_bad.id is not null then
    raise exception 'two turns have the id %', ragdb._quote(v_bad.id)
      using errcode = 'RG412', detail = 'a turn is known by its id', hint = 'give every message an id of its own';
  end if;
  select e.raw_child, e.raw_parent, e.parent_id = e.child_id as is_self into v_bad
    from ragdb._parsed_edges(corpus, conversations) e
    left join ragdb._parsed_turns(corpus, conversations) t on t.chunk_id = e.parent_id and t.nth = e.nth
    where e.parent_id = e.child_id or t.chunk_id is null
    order by e.nth, e.raw_child, e.raw_parent limit 1;
  if v_bad.raw_child is not null then
    raise exception 'turn % has the parent %, which is %', ragdb._quote(v_bad.raw_child), ragdb._quote(v_bad.raw_parent),
        case when v_bad.is_self then 'the turn itself' else 'not in the conversation' end
      using errcode = 'RG412', detail = 'an edge joins two turns of one conversation',
            hint = 'put the whole conversation, or leave the parent out for a root';
  end if;
  with recursive edges as materialized (
    select e.parent_id, e.child_id from ragdb._parsed_edges(corpus, conversations) e where e.edge_type in ('reply', 'branch')
  ), turns as materialized (
    select t.chunk_id, t.raw_id from ragdb._parsed_turns(corpus, conversations) t
  ), reached as (
    select t.chunk_id from turns t where not exists (select from edges e where e.child_id = t.chunk_id)
    union
    select e.child_id from reached r join edges e on e.parent_id = r.chunk_id
  )
  -- what no root leads to is on a cycle or behind one
  select string_agg(ragdb._quote(z.raw_id), ', ') as ids into v_bad
    from (select t.raw_id from turns t where not exists (select from reached r where r.chunk_id = t.chunk_id)
      order by t.raw_id limit 5) z;
  if v_bad.ids is not null then
    raise exception 'replies form a cycle'
      using errcode = 'RG412', detail = 'turns on it or behind it: ' || v_bad.ids,
            hint = 'a reply or branch leads from an earlier turn to a later one; use a reference for anything else';
  end if;
end $$;
comment on function ragdb._check_conversations(text, jsonb) is
  'Raises RG412 for conversations with a bad field, two turns of one id, a parent that is missing or the turn itself, or a cycle of replies.';

create or replace function ragdb.put_conversations(corpus text, conversations jsonb, force boolean default false)
returns table ("position" integer, doc_cid text, chunks_indexed integer, tokens_indexed bigint,
  ingest_event_id uuid, was_duplicate boolean, ms float8)
language plpgsql security definer -- turns and edges are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora;
  v_conversations constant jsonb := put_conversations.conversations;
  v_documents jsonb;
  v_written integer[] := '{}';
begin
  v_corpus := ragdb._open_corpus(put_conversations.corpus, 'write');
  perform ragdb._check_conversations(v_corpus.name, v_conversations);
  -- a conversation is a document whose chunks are its messages; its text is the messages with a blank line between
  select coalesce(jsonb_agg((c.v - 'messages' - 'session') || jsonb_build_object(
      'media_type', coalesce(c.v ->> 'media_type', 'application/x-conversation+json'),
      'size_bytes', coalesce(c.v -> 'size_bytes', to_jsonb(octet_length(c.v::text))),
      'chunking', jsonb_build_object('chunker', 'turns/1'),
      'chunks', coalesce(t.chunks, '[]')) order by c.n), '[]')
    into v_documents
    from jsonb_array_elements(v_conversations) with ordinality c (v, n)
    left join (
      select z.nth, jsonb_agg(jsonb_build_object('id', z.chunk_id, 'text', z.text, 'start', z.ending - length(z.text),
          'end', z.ending, 'heading', '[]'::jsonb, 'tokens', (length(z.text) + 3) / 4) order by z.place) as chunks
        from (
          select t.*, sum(length(t.text) + 2) over (partition by t.nth order by t.place) - 2 as ending
            from ragdb._parsed_turns(v_corpus.name, v_conversations) t) z
        group by z.nth) t on t.nth = c.n - 1;
  for "position", doc_cid, chunks_indexed, tokens_indexed, ingest_event_id, was_duplicate, ms in
    select p.* from ragdb.put_documents(put_conversations.corpus, v_documents, put_conversations.force) p
  loop
    if not was_duplicate then v_written := v_written || "position"; end if;
    return next;
  end loop;

  insert into ragdb.turns
    select v_corpus.corpus_id, c.chunk_no, t.session_id, t.role, 'exploration', 0.5, 0, 0, 0.5, 0, 1, t.given, t.created_at
      from ragdb._parsed_turns(v_corpus.name, v_conversations) t
      join ragdb.chunks c on c.corpus_id = v_corpus.corpus_id and c.chunk_id = t.chunk_id
      where t.nth = any(v_written)
    on conflict (corpus_id, chunk_no) do update
      set session_id = excluded.session_id, role = excluded.role, given = excluded.given, created_at = excluded.created_at;
  delete from ragdb.edges e
    using ragdb._parsed_turns(v_corpus.name, v_conversations) t
    join ragdb.chunks c on c.corpus_id = v_corpus.corpus_id and c.chunk_id = t.chunk_id
    where t.nth = any(v_written) and e.corpus_id = v_corpus.corpus_id and e.child_no = c.chunk_no
      and not exists (select
        from ragdb._parsed_edges(v_corpus.name, v_conversations) g
        join ragdb.chunks p on p.corpus_id = v_corpus.corpus_id and p.chunk_id = g.parent_id
        where g.child_id = t.chunk_id and p.chunk_no = e.parent_no and g.edge_type = e.edge_type);
  insert into ragdb.edges (corpus_id, parent_no, child_no, edge_type)
    select v_corpus.corpus_id, p.chunk_no, k.chunk_no, g.edge_type
      from ragdb._parsed_edges(v_corpus.name, v_conversations) g
      join ragdb.chunks p on p.corpus_id = v_corpus.corpus_id and p.chunk_id = g.parent_id
      join ragdb.chunks k on k.corpus_id = v_corpus.corpus_id and k.chunk_id = g.child_id
      where g.nth = any(v_written)
      order by p.chunk_no, k.chunk_no, g.edge_type
    on conflict do nothing;
  perform ragdb._derive_turns(v_corpus.corpus_id, array(
    select distinct t.session_id from ragdb._parsed_turns(v_corpus.name, v_conversations) t
      where t.nth = any(v_written)));
end $$;
comment on function ragdb.put_conversations(text, jsonb, boolean) is
  'Stores conversations, an array of {"doc_cid", "uri", "session", "messages": [{"id", "parent_id" or "parents", "role", "text", "created_at", "phase", "salience", "feedback"}]} beside the fields of a document: each message is a chunk and a turn, each parent an edge; what is not given is derived. Returns what put_documents returns. Raises RG401, RG404, RG412 and what put_documents raises.';

create or replace function ragdb.get_turn(corpus text, chunk_id text)
returns table (turn_id text, session_id text, role text, phase text, salience real, depth integer, sibling_order integer,
  homogeneity real, temporal real, complexity real, created_at timestamptz, content_hash text, text text)
language plpgsql stable security definer -- turns and chunks are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora;
begin
  v_corpus := ragdb._open_corpus(get_turn.corpus, 'read');
  return query
    select c.chunk_id, t.session_id, t.role, t.phase, t.salience, t.depth, t.sibling_order, t.homogeneity, t.temporal,
        t.complexity, t.created_at, encode(c.content_hash, 'hex'), c.text
      from ragdb.chunks c join ragdb.turns t using (corpus_id, chunk_no)
      where c.corpus_id = v_corpus.corpus_id and c.chunk_id = get_turn.chunk_id;
  if not found then
    raise exception 'turn % is not in corpus %', ragdb._quote(get_turn.chunk_id), ragdb._quote(v_corpus.name)
      using errcode = 'RG406', detail = 'a turn is a chunk that came with a conversation',
            hint = 'ids of turns are UUIDs in lower case; ragdb.get_chunk() reads any chunk';
  end if;
end $$;
comment on function ragdb.get_turn(text, text) is 'Returns a turn with its text and derived fields. Raises RG400, RG404, RG406.';

-- ── anchors ─────────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.resolve_explicit(corpus text, chunk_id text) returns text
language sql stable security definer -- chunks is granted to nobody
set search_path = pg_catalog, pg_temp
begin atomic
  select c.chunk_id from ragdb._open_corpus(resolve_explicit.corpus, 'read') o
    join ragdb.chunks c on c.corpus_id = o.corpus_id
    where c.chunk_id = resolve_explicit.chunk_id;
end;
comment on function ragdb.resolve_explicit(text, text) is
  'Returns the chunk id when the corpus has that chunk, else null. Raises RG400, RG404.';

create or replace function ragdb.resolve_from_session(corpus text, session text) returns text
language sql stable security definer -- turns is granted to nobody
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

create or replace function ragdb.resolve_temporal(corpus text, count integer default 1, project text default null)
returns table (chunk_id text, session_id text, created_at timestamptz)
language plpgsql stable security definer -- turns is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora;
begin
  v_corpus := ragdb._open_corpus(resolve_temporal.corpus, 'read');
  if coalesce(resolve_temporal.count not between 1 and 1000, true) then
    raise exception 'count is not 1 to 1000' using errcode = 'RG400',
      detail = 'it is ' || coalesce(resolve_temporal.count::text, 'null'), hint = 'ask for fewer turns';
  end if;
  return query
    select c.chunk_id, t.session_id, t.created_at
      from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no) join ragdb.documents d using (corpus_id, doc_no)
      where t.corpus_id = v_corpus.corpus_id
        and (resolve_temporal.project is null or d.metadata ->> 'project' = resolve_temporal.project)
      order by t.created_at desc, c.chunk_id limit resolve_temporal.count;
end $$;
comment on function ragdb.resolve_temporal(text, integer, text) is
  'Returns the 1 to 1000 most recent turns, of conversations whose metadata names the project when one is given. Raises RG400, RG404.';

---- sql/55_slices.sql

-- Slices: the chunks that a policy admits around an anchor. Policies are immutable; a slice is a pure function of
-- corpus content, anchor and policy, and its fingerprint covers all three.

-- int8 has no unsigned arithmetic: numeric computes exactly, this brings the result back modulo 2^64.
create or replace function ragdb._wrap64(value numeric) returns bigint
language sql immutable strict parallel safe
return (case
  when pg_catalog.mod(value, 18446744073709551616) >= 9223372036854775808
    then pg_catalog.mod(value, 18446744073709551616) - 18446744073709551616
  when pg_catalog.mod(value, 18446744073709551616) < -9223372036854775808
    then pg_catalog.mod(value, 18446744073709551616) + 18446744073709551616
  else pg_catalog.mod(value, 18446744073709551616) end)::bigint;
comment on function ragdb._wrap64(numeric) is 'Reduces an integer modulo 2^64 to a two''s complement bigint.';

create or replace function ragdb._rotl64(value bigint, bits integer) returns bigint
language sql immutable strict parallel safe
return (value << bits) | ((value >> (64 - bits)) & ((1::bigint << bits) - 1));
comment on function ragdb._rotl64(bigint, integer) is 'Rotates 64 bits to the left by 1 to 62 places.';

create or replace function ragdb._le_bytes(data bytea, start integer, count integer) returns bigint
language sql immutable strict parallel safe
return (
  select pg_catalog.bit_or(pg_catalog.get_byte(data, start + i)::bigint << (8 * i))
    from pg_catalog.generate_series(0, count - 1) i
);
comment on function ragdb._le_bytes(bytea, integer, integer) is
  'Reads 1 to 8 bytes from a position (from 0) as a little-endian integer.';

-- The hash that existing policy registries use for params_hash. It identifies; it does not protect: tokens cover sha256.
create or replace function ragdb.xxh64(data bytea) returns text
language plpgsql immutable strict parallel safe
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
    h := h # ragdb._wrap64(p1 * ragdb._rotl64(ragdb._wrap64(p2 * ragdb._le_bytes(data, v_at, 8)), 31));
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
  "phase_weights": {"synthesis": 1.0, "planning": 0.9, "consolidation": 0.6, "debugging": 0.5, "exploration": 0.3},
  "salience_weight": 0.3, "distance_decay": 0.9, "include_siblings": true, "max_siblings_per_node": 5}'::jsonb;
comment on function ragdb._default_policy() is 'Returns the slice policy that is used when none is given.';

-- Fills in defaults and refuses what does not belong: a policy that is stored is a policy that can be obeyed.
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
      using errcode = 'RG430', detail = 'its value is ' || ragdb._quote((policy -> 'phase_weights')::text),
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
  if jsonb_typeof(v_policy -> 'version') <> 'string' or v_policy ->> 'version' !~ '^[A-Za-z0-9_.-]{1,64}$' then
    raise exception 'version of a slice policy is not 1 to 64 letters, digits, _ . or -'
      using errcode = 'RG430', detail = 'its value is ' || ragdb._quote((v_policy -> 'version')::text),
            hint = 'the default is slice_policy_v1';
  end if;
  if jsonb_typeof(v_policy -> 'include_siblings') <> 'boolean' then
    raise exception 'include_siblings is not true or false'
      using errcode = 'RG430', detail = 'its value is ' || ragdb._quote((v_policy -> 'include_siblings')::text),
            hint = 'the default is true';
  end if;
  for v_key, v_value in
    select k, v_policy -> k from unnest(array['max_nodes', 'max_radius', 'max_siblings_per_node']) k
  loop
    if jsonb_typeof(v_value) <> 'number' or v_value::numeric <> trunc(v_value::numeric)
        or not v_value::numeric between (case v_key when 'max_nodes' then 1 else 0 end) and 10000 then
      raise exception '% is not a whole number of % to 10000', v_key, case v_key when 'max_nodes' then 1 else 0 end
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
        using errcode = 'RG430', detail = 'its value is ' || ragdb._quote(v_value::text), hint = 'weights are shares';
    end if;
  end loop;
  return v_policy;
end $$;
comment on function ragdb._complete_policy(jsonb) is
  'Returns a slice policy with its defaults filled in. Raises RG430 for a field that is unknown or out of range.';

-- Declaration order, no white space, every float as an integer of millionths: the same bytes in every language.
create or replace function ragdb._policy_canonical(policy jsonb) returns text
language sql immutable strict parallel safe
return '{"version":"' || (policy ->> 'version')
  || '","max_nodes":' || (policy ->> 'max_nodes')::numeric::integer
  || ',"max_radius":' || (policy ->> 'max_radius')::numeric::integer
  || ',"phase_weights":{"synthesis":' || ragdb._micro((policy -> 'phase_weights' ->> 'synthesis')::float8)
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

create or replace function ragdb.policy_hash(policy jsonb) returns text
language sql immutable parallel safe
return ragdb.xxh64(pg_catalog.convert_to(ragdb._policy_canonical(ragdb._complete_policy(policy)), 'UTF8'));
comment on function ragdb.policy_hash(jsonb) is
  'Returns the params_hash of a slice policy: 16 hex digits of xxHash64 over its canonical JSON. Raises RG430.';

-- A chunk that is no turn counts as exploration of middling salience.
create or replace function ragdb._slice_weight(
  phase text, salience real, phases text[], weights real[], salience_weight real) returns real
language sql immutable parallel safe
return weights[coalesce(pg_catalog.array_position(phases, phase), 5)] + coalesce(salience, 0.5::real) * salience_weight;
comment on function ragdb._slice_weight(text, real, text[], real[], real) is
  'Returns a chunk''s priority at distance 0: the weight of its phase plus its weighted salience, in single precision.';

-- Parents and children apart, because either side alone may be the crowd.
create or replace function ragdb._slice_best_neighbours(
  corpus_id integer, chunk_no integer, factor real, count integer, phases text[], weights real[], salience_weight real)
returns table (chunk_no integer, chunk_id text, weight real)
language sql stable
begin atomic
  (select n.parent_no, c.chunk_id, w.weight
    from (select distinct e.parent_no from ragdb.edges e
      where e.corpus_id = _slice_best_neighbours.corpus_id and e.child_no = _slice_best_neighbours.chunk_no) n
    join ragdb.chunks c on c.corpus_id = _slice_best_neighbours.corpus_id and c.chunk_no = n.parent_no
    left join ragdb.turns t on t.corpus_id = _slice_best_neighbours.corpus_id and t.chunk_no = n.parent_no
    cross join lateral (select ragdb._slice_weight(t.phase, t.salience, phases, weights, salience_weight) as weight) w
    order by w.weight * factor desc, c.chunk_id desc limit count)
  union all
  (select n.child_no, c.chunk_id, w.weight
    from (select distinct e.child_no from ragdb.edges e
      where e.corpus_id = _slice_best_neighbours.corpus_id and e.parent_no = _slice_best_neighbours.chunk_no) n
    join ragdb.chunks c on c.corpus_id = _slice_best_neighbours.corpus_id and c.chunk_no = n.child_no
    left join ragdb.turns t on t.corpus_id = _slice_best_neighbours.corpus_id and t.chunk_no = n.child_no
    cross join lateral (select ragdb._slice_weight(t.phase, t.salience, phases, weights, salience_weight) as weight) w
    order by w.weight * factor desc, c.chunk_id desc limit count);
end;
comment on function ragdb._slice_best_neighbours(integer, integer, real, integer, text[], real[], real) is
  'Returns the best `count` parents and the best `count` children of a chunk by priority, then larger id.';

-- Best-first expansion, the inner loop of every slice. One short statement fetches what a selected node adds to the
-- frontier; what is known lives in arrays under small local numbers, found again through an open-addressing table, and
-- the frontier is a binary heap: the cost follows the slice and not the graph. Priorities are single precision with the
-- power by repeated squaring, as in existing slices.
-- Three shortcuts change no result. Of more than max_nodes neighbours only the best max_nodes are fetched: the others
-- could never be selected, and v_hubs keeps them visited. Where every parent has been expanded, all siblings have been
-- visited. Children of the same parents share one list of siblings.
create or replace function ragdb._expand_slice(corpus_id integer, anchor_no integer, policy jsonb)
returns table (chunk_nos integer[], chunk_ids text[], distances integer[])
language plpgsql stable
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
  v_phases constant text[] := array['synthesis', 'planning', 'consolidation', 'debugging', 'exploration'];
  v_weights constant real[] := array(
    select (policy -> 'phase_weights' ->> p)::real from unnest(v_phases) with ordinality u(p, n) order by n);
  v_powers real[] := array[1]; v_power real; v_base real; v_exponent integer;
  -- nodes met so far, by local number
  v_nodes integer := 0;
  v_no integer[] := '{}'; v_id text[] := '{}'; v_priority real[] := '{}'; v_distance integer[] := '{}';
  v_slots integer[] := array_fill(0, array[4096]); v_mask integer := 4095;
  v_heap integer[] := '{}'; v_size integer := 0;
  v_expanded integer[] := '{}'; v_hubs integer[] := '{}'; v_is_hub boolean; v_has_kin boolean;
  v_parents integer[] := '{}'; v_kin_parents integer[]; v_kin_no integer[] := '{}'; v_kin_id text[] := '{}';
  v_kin_weight real[] := '{}';
  v_picked integer := 0; v_node integer; v_here integer; v_d integer; v_p real; v_other integer;
  i integer; j integer; c integer; v_row record;
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

  select c.chunk_no, c.chunk_id, ragdb._slice_weight(t.phase, t.salience, v_phases, v_weights, v_salience_weight) as weight
    into strict v_row
    from ragdb.chunks c left join ragdb.turns t using (corpus_id, chunk_no)
    where c.corpus_id = v_corpus and c.chunk_no = anchor_no;
  v_nodes := 1; v_no[1] := anchor_no; v_id[1] := v_row.chunk_id; v_priority[1] := v_row.weight; v_distance[1] := 0;
  v_slots[((anchor_no * 40503::bigint) & v_mask)::integer + 1] := 1;
  v_heap[1] := 1; v_size := 1;

  while v_size > 0 loop
    -- pop the best: higher priority, then smaller distance, then larger id
    v_node := v_heap[1];
    v_other := v_heap[v_size]; v_size := v_size - 1; i := 1;
    v_p := v_priority[v_other]; v_d := v_distance[v_other];
    loop
      j := 2 * i;
      exit when j > v_size;
      c := v_heap[j];
      if j < v_size then
        if v_priority[v_heap[j + 1]] > v_priority[c] or v_priority[v_heap[j + 1]] = v_priority[c] and (
            v_distance[v_heap[j + 1]] < v_distance[c]
            or v_distance[v_heap[j + 1]] = v_distance[c] and v_id[v_heap[j + 1]] collate "C" > v_id[c]) then
          j := j + 1; c := v_heap[j];
        end if;
      end if;
      exit when v_p > v_priority[c] or v_p = v_priority[c] and (v_d < v_distance[c]
        or v_d = v_distance[c] and v_id[v_other] collate "C" > v_id[c]);
      v_heap[i] := c; i := j;
    end loop;
    v_heap[i] := v_other;

    v_here := v_no[v_node];
    v_d := v_distance[v_node];
    continue when v_d > v_max_radius;
    v_picked := v_picked + 1;
    chunk_nos[v_picked] := v_here; chunk_ids[v_picked] := v_id[v_node]; distances[v_picked] := v_d;
    exit when v_picked = v_max_nodes;
    continue when v_d = v_max_radius;

    select array_agg(distinct e.parent_no), not coalesce(bool_and(e.parent_no = any(v_expanded)), true)
      into v_parents, v_has_kin
      from ragdb.edges e where e.corpus_id = v_corpus and e.child_no = v_here;
    v_is_hub := cardinality(coalesce(v_parents, '{}')) > v_max_nodes or v_max_nodes < (
      select count(*) from (
        select from ragdb.edges e where e.corpus_id = v_corpus and e.parent_no = v_here limit v_max_nodes + 1) z);
    v_has_kin := v_has_kin and v_max_siblings > 0;
    if v_has_kin and v_kin_parents is distinct from v_parents then
      v_kin_parents := v_parents;
      select array_agg(k.child_no order by k.salience desc, k.chunk_id), array_agg(k.chunk_id order by k.salience desc, k.chunk_id),
          array_agg(ragdb._slice_weight(t.phase, t.salience, v_phases, v_weights, v_salience_weight)
            order by k.salience desc, k.chunk_id)
        into v_kin_no, v_kin_id, v_kin_weight
        from (
          select e.child_no, c.chunk_id, max(e.child_salience) as salience
            from ragdb.edges e join ragdb.chunks c on c.corpus_id = e.corpus_id and c.chunk_no = e.child_no
            where e.corpus_id = v_corpus and e.parent_no = any(v_parents)
            group by e.child_no, c.chunk_id
            order by 3 desc, 2 limit v_max_siblings + 1) k
        left join ragdb.turns t on t.corpus_id = v_corpus and t.chunk_no = k.child_no;
    end if;

    for v_row in
      select 1 as step, c.chunk_no, c.chunk_id,
          ragdb._slice_weight(t.phase, t.salience, v_phases, v_weights, v_salience_weight) as weight
        from (select unnest(v_parents) as chunk_no
              union all
              select e.child_no from ragdb.edges e where e.corpus_id = v_corpus and e.parent_no = v_here) n
        join ragdb.chunks c on c.corpus_id = v_corpus and c.chunk_no = n.chunk_no
        left join ragdb.turns t on t.corpus_id = v_corpus and t.chunk_no = n.chunk_no
        where not v_is_hub
      union all
      select 1, h.chunk_no, h.chunk_id, h.weight
        from ragdb._slice_best_neighbours(v_corpus, v_here, v_powers[v_d + 2], v_max_nodes,
          v_phases, v_weights, v_salience_weight) h
        where v_is_hub
      union all
      (select 0, k.no, k.id, k.weight
        from unnest(v_kin_no, v_kin_id, v_kin_weight) with ordinality k (no, id, weight, place)
        where v_has_kin and k.no <> v_here order by k.place limit v_max_siblings)
    loop
      -- known already? Every node that is known has been pushed
      i := ((v_row.chunk_no * 40503::bigint) & v_mask)::integer;
      loop
        c := v_slots[i + 1];
        exit when c = 0 or v_no[c] = v_row.chunk_no;
        i := (i + 1) & v_mask;
      end loop;
      continue when c <> 0;
      continue when v_hubs <> '{}' and (
        exists (select from ragdb.edges e where e.corpus_id = v_corpus
          and e.parent_no = any(v_hubs) and e.child_no = v_row.chunk_no)
        or exists (select from ragdb.edges e where e.corpus_id = v_corpus
          and e.child_no = any(v_hubs) and e.parent_no = v_row.chunk_no));
      v_nodes := v_nodes + 1; c := v_nodes;
      v_slots[i + 1] := c;
      v_d := v_distance[v_node] + v_row.step;
      v_p := v_row.weight * v_powers[v_d + 1];
      v_no[c] := v_row.chunk_no; v_id[c] := v_row.chunk_id; v_priority[c] := v_p; v_distance[c] := v_d;
      v_size := v_size + 1; i := v_size;
      while i > 1 loop
        j := v_heap[i / 2];
        exit when v_priority[j] > v_p or v_priority[j] = v_p and (v_distance[j] < v_d
          or v_distance[j] = v_d and v_id[j] collate "C" > v_row.chunk_id);
        v_heap[i] := j; i := i / 2;
      end loop;
      v_heap[i] := c;
      if 2 * v_nodes > v_mask then
        v_mask := 2 * v_mask + 1; v_slots := array_fill(0, array[v_mask + 1]);
        for n in 1..v_nodes loop
          i := ((v_no[n] * 40503::bigint) & v_mask)::integer;
          while v_slots[i + 1] <> 0 loop i := (i + 1) & v_mask; end loop;
          v_slots[i + 1] := n;
        end loop;
      end if;
    end loop;
    v_expanded := v_expanded || v_here;
    if v_is_hub then v_hubs := v_hubs || v_here; end if;
  end loop;
  return next;
end $$;
comment on function ragdb._expand_slice(integer, integer, jsonb) is
  'Returns the chunks that a complete policy admits around an anchor, in order of selection, with their distance of discovery.';

-- ── policies ────────────────────────────────────────────────────────────────────────────────────────

comment on table ragdb.slice_policies is
  'Registered slice policies: rows never change, so a reference means the same for ever.';
comment on column ragdb.slice_policies.policy_id is 'The version field of the policy.';
comment on column ragdb.slice_policies.params_hash is '16 hex digits of xxHash64 over the canonical form.';
comment on column ragdb.slice_policies.canonical is 'The canonical JSON that both hashes cover.';
comment on column ragdb.slice_policies.sha256 is 'SHA-256 of the canonical form; what a token covers.';
comment on column ragdb.slice_policies.policy is 'The complete policy as registered.';
comment on column ragdb.slice_policies.created_at is 'When it was registered.';
comment on column ragdb.slice_policies.created_by is 'The role that registered it.';

create or replace trigger slice_policies_are_immutable
  before update or delete on ragdb.slice_policies for each row execute function ragdb._refuse_change();
create or replace trigger slice_policies_are_not_truncated
  before truncate on ragdb.slice_policies for each statement execute function ragdb._refuse_change();
alter table ragdb.slice_policies enable always trigger slice_policies_are_immutable;
alter table ragdb.slice_policies enable always trigger slice_policies_are_not_truncated;

-- Null is the default policy; {"policy_id", "params_hash"} names a registered one; anything else is a policy in full.
create or replace function ragdb._resolve_policy(policy jsonb)
returns table (policy_id text, params_hash text, canonical text, sha256 bytea, complete jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  if _resolve_policy.policy ? 'policy_id' then
    return query
      select p.policy_id, p.params_hash, p.canonical, p.sha256, p.policy
        from ragdb.slice_policies p
        where p.policy_id = _resolve_policy.policy ->> 'policy_id'
          and p.params_hash = coalesce(_resolve_policy.policy ->> 'params_hash', '');
    if found then return; end if;
    -- the default policy exists without being registered
    complete := ragdb._default_policy();
    if _resolve_policy.policy ->> 'policy_id' <> complete ->> 'version'
        or _resolve_policy.policy ->> 'params_hash' is distinct from ragdb.policy_hash(complete) then
      raise exception 'policy % with params_hash % is not registered',
          ragdb._quote(_resolve_policy.policy ->> 'policy_id'), ragdb._quote(_resolve_policy.policy ->> 'params_hash')
        using errcode = 'RG431', detail = 'a reference needs policy_id and params_hash',
              hint = 'ragdb.list_policies() lists them; ragdb.register_policy() adds one';
    end if;
  else
    complete := ragdb._complete_policy(coalesce(_resolve_policy.policy, '{}'));
  end if;
  policy_id := complete ->> 'version';
  canonical := ragdb._policy_canonical(complete);
  params_hash := ragdb.xxh64(convert_to(canonical, 'UTF8'));
  sha256 := sha256(convert_to(canonical, 'UTF8'));
  return next;
end $$;
comment on function ragdb._resolve_policy(jsonb) is
  'Returns a policy with its reference and canonical form, from a reference, a policy in full or null (the default). Raises RG430, RG431.';

create or replace function ragdb.register_policy(policy jsonb)
returns table (policy_id text, params_hash text)
language plpgsql security definer -- slice_policies is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_policy record;
  v_canonical text;
begin
  select * into strict v_policy from ragdb._resolve_policy(ragdb._complete_policy(register_policy.policy));
  insert into ragdb.slice_policies as p
    values (v_policy.policy_id, v_policy.params_hash, v_policy.canonical, v_policy.sha256, v_policy.complete,
      ragdb._now(), ragdb._caller())
    on conflict do nothing;
  select p.canonical into strict v_canonical from ragdb.slice_policies p
    where p.policy_id = v_policy.policy_id and p.params_hash = v_policy.params_hash;
  if v_canonical <> v_policy.canonical then
    raise exception 'another policy has the params_hash %', v_policy.params_hash
      using errcode = 'RG409', detail = 'xxHash64 names a policy and does not prove it; the canonical forms differ',
            hint = 'change any parameter by a millionth';
  end if;
  return query select v_policy.policy_id, v_policy.params_hash;
end $$;
comment on function ragdb.register_policy(jsonb) is
  'Registers a slice policy (fields left out have their defaults) and returns its reference; registering it again changes nothing. Raises RG409, RG430.';

create or replace function ragdb.list_policies()
returns table (policy_id text, params_hash text, policy jsonb, created_at timestamptz, created_by text)
language sql stable parallel safe security definer -- slice_policies is granted to nobody
set search_path = pg_catalog, pg_temp
begin atomic
  select p.policy_id, p.params_hash, p.policy, p.created_at, p.created_by
    from ragdb.slice_policies p order by p.policy_id, p.params_hash collate "C";
end;
comment on function ragdb.list_policies() is 'Lists the registered slice policies by reference.';

create or replace function ragdb.registry_fingerprint() returns text
language sql stable parallel safe security definer -- slice_policies is granted to nobody
set search_path = pg_catalog, pg_temp
return ragdb.xxh64(pg_catalog.convert_to('[' || coalesce((
  select pg_catalog.string_agg('{"policy_id":"' || p.policy_id || '","params_hash":"' || p.params_hash || '"}', ','
      order by p.policy_id, p.params_hash collate "C")
    from ragdb.slice_policies p), '') || ']', 'UTF8'));
comment on function ragdb.registry_fingerprint() is
  'Returns xxHash64 over the ordered JSON list of policy references: equal registries have equal fingerprints.';

-- ── signing keys and tokens ─────────────────────────────────────────────────────────────────────────

comment on table ragdb.signing_keys is
  'HMAC keys of admissibility tokens; readable through the functions that sign and verify only, and left out of dumps of an extension.';
comment on column ragdb.signing_keys.key_id is 'Name of the key, part of every token it signs.';
comment on column ragdb.signing_keys.secret is '32 to 128 bytes.';
comment on column ragdb.signing_keys.state is 'active (signs and verifies; at most one), verify_only or revoked.';
comment on column ragdb.signing_keys.created_at is 'When the key was made or imported.';
comment on column ragdb.signing_keys.not_after is 'After this time the key verifies nothing; null for never.';

-- RFC 2104 over the server's own sha256; the pads are applied eight bytes at a time, which is what SQL can exclusive-or.
create or replace function ragdb._hmac_sha256(key bytea, message bytea) returns bytea
language sql immutable strict parallel safe
begin atomic
  with k as (
    select pg_catalog.encode(
      case when pg_catalog.octet_length(key) > 64 then pg_catalog.sha256(key) else key end, 'hex') as hex
  ), words as (
    select n, ('x' || pg_catalog.substr(pg_catalog.rpad(k.hex, 128, '0'), 16 * n + 1, 16))::bit(64)::bigint as word
      from k, pg_catalog.generate_series(0, 7) n
  ), pads as (
    select pg_catalog.string_agg(pg_catalog.int8send(word # 3906369333256140342), '' order by n) as inner_pad,
        pg_catalog.string_agg(pg_catalog.int8send(word # 6655295901103053916), '' order by n) as outer_pad
      from words
  )
  select pg_catalog.sha256(p.outer_pad || pg_catalog.sha256(p.inner_pad || message)) from pads p;
end;
comment on function ragdb._hmac_sha256(bytea, bytea) is 'Returns HMAC-SHA256 (RFC 2104): 32 bytes.';

create or replace function ragdb.create_signing_key(key_id text default null) returns text
language plpgsql security definer -- signing_keys is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_id constant text := coalesce(create_signing_key.key_id, 'k' || to_char(ragdb._now() at time zone 'UTC', 'YYYYMMDDHH24MISS'));
begin
  if v_id !~ '^[A-Za-z0-9_-]{1,64}$' then
    raise exception 'key id % is not 1 to 64 letters, digits, _ or -', ragdb._quote(v_id)
      using errcode = 'RG400', detail = 'the id is part of every token', hint = 'leave it out for one made of the time';
  end if;
  if exists (select from ragdb.signing_keys s where s.key_id = v_id) then
    raise exception 'signing key % exists already', ragdb._quote(v_id)
      using errcode = 'RG409', detail = 'keys are never overwritten', hint = 'choose another id';
  end if;
  update ragdb.signing_keys set state = 'verify_only' where state = 'active';
  -- four random uuids carry 488 random bits from the server's strong generator
  insert into ragdb.signing_keys values (v_id,
    sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
    'active', ragdb._now(), null);
  return v_id;
end $$;
comment on function ragdb.create_signing_key(text) is
  'Makes the key that signs from now on and returns its id; the key that signed before still verifies. Raises RG400, RG409.';

create or replace function ragdb.revoke_signing_key(key_id text) returns void
language plpgsql security definer -- signing_keys is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  update ragdb.signing_keys s set state = 'revoked' where s.key_id = revoke_signing_key.key_id;
  if not found then
    raise exception 'signing key % does not exist', ragdb._quote(revoke_signing_key.key_id)
      using errcode = 'RG432', detail = 'nothing was revoked', hint = 'ragdb.list_signing_keys() lists the ids';
  end if;
end $$;
comment on function ragdb.revoke_signing_key(text) is
  'Revokes a key: every token it signed fails from now on. Raises RG432.';

create or replace function ragdb.list_signing_keys()
returns table (key_id text, state text, created_at timestamptz, not_after timestamptz)
language sql stable parallel safe security definer -- signing_keys is granted to nobody
set search_path = pg_catalog, pg_temp
begin atomic
  select k.key_id, k.state, k.created_at, k.not_after from ragdb.signing_keys k order by k.created_at, k.key_id;
end;
comment on function ragdb.list_signing_keys() is 'Lists the signing keys without their secrets.';

create or replace function ragdb.export_signing_keys()
returns table (key_id text, secret text, state text, created_at timestamptz, not_after timestamptz)
language sql stable parallel safe security definer -- signing_keys is granted to nobody
set search_path = pg_catalog, pg_temp
begin atomic
  select k.key_id, pg_catalog.encode(k.secret, 'hex'), k.state, k.created_at, k.not_after
    from ragdb.signing_keys k order by k.created_at, k.key_id;
end;
comment on function ragdb.export_signing_keys() is
  'Returns the signing keys with their secrets in hex, to be kept apart from the dump and imported into a restored copy.';

create or replace function ragdb.import_signing_key(
  key_id text, secret text, state text default 'verify_only', not_after timestamptz default null) returns void
language plpgsql security definer -- signing_keys is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_secret bytea;
begin
  if coalesce(import_signing_key.secret !~ '^([0-9a-fA-F]{2}){32,128}$', true)
      or coalesce(import_signing_key.key_id !~ '^[A-Za-z0-9_-]{1,64}$', true)
      or coalesce(import_signing_key.state not in ('active', 'verify_only', 'revoked'), true) then
    raise exception 'a signing key is an id of 1 to 64 letters, digits, _ or -, a secret of 32 to 128 bytes in hex and a state'
      using errcode = 'RG400', detail = 'the state is active, verify_only or revoked',
            hint = 'import what ragdb.export_signing_keys() gave';
  end if;
  v_secret := decode(import_signing_key.secret, 'hex');
  if exists (select from ragdb.signing_keys s where s.key_id = import_signing_key.key_id and s.secret <> v_secret) then
    raise exception 'signing key % exists with another secret', ragdb._quote(import_signing_key.key_id)
      using errcode = 'RG409', detail = 'keys are never overwritten', hint = 'import it under another id';
  end if;
  if import_signing_key.state = 'active' then
    update ragdb.signing_keys s set state = 'verify_only' where s.state = 'active';
  end if;
  insert into ragdb.signing_keys
    values (import_signing_key.key_id, v_secret, import_signing_key.state, ragdb._now(), import_signing_key.not_after)
    on conflict (key_id) do update set state = excluded.state, not_after = excluded.not_after;
end $$;
comment on function ragdb.import_signing_key(text, text, text, timestamptz) is
  'Puts back an exported key, so that a restored copy verifies the tokens of the original. Raises RG400, RG409.';

-- The bytes that a token signs. There is no function that signs bytes of the caller's choice.
create or replace function ragdb._token_message(
  key_id text, corpus text, slice_id text, anchor_chunk_id text, policy_id text, policy_sha256 bytea,
  graph_snapshot_hash text, schema_version text, issued_at bigint, expires_at bigint) returns bytea
language sql immutable parallel safe
return ragdb._packed('rgt1') || ragdb._packed(key_id) || ragdb._packed('admissible slice') || ragdb._packed(corpus)
  || ragdb._packed(slice_id) || ragdb._packed(anchor_chunk_id) || ragdb._packed(policy_id) || ragdb._packed(policy_sha256)
  || ragdb._packed(graph_snapshot_hash) || ragdb._packed(schema_version)
  || ragdb._packed(pg_catalog.int8send(issued_at)) || ragdb._packed(pg_catalog.int8send(expires_at));
comment on function ragdb._token_message(text, text, text, text, text, bytea, text, text, bigint, bigint) is
  'Returns the length-prefixed fields that an admissibility token signs; times in seconds since 1970.';

create or replace function ragdb._issue_token(
  corpus text, slice_id text, anchor_chunk_id text, policy_id text, policy_sha256 bytea,
  graph_snapshot_hash text, schema_version text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_key ragdb.signing_keys;
  v_issued constant bigint := floor(extract(epoch from ragdb._now()));
  v_expires constant bigint := v_issued + 30 * 86400;
begin
  select k.* into v_key from ragdb.signing_keys k
    where k.state = 'active' and (k.not_after is null or k.not_after > ragdb._now());
  if not found then
    raise exception 'there is no signing key'
      using errcode = 'RG433', detail = 'an admissibility token is signed, and nothing is signed with a default secret',
            hint = 'an admin calls ragdb.create_signing_key() once (ragdb keys create); or build the slice with sign => false';
  end if;
  return 'rgt1.' || v_key.key_id || '.' || v_issued || '.' || v_expires || '.' || encode(ragdb._hmac_sha256(v_key.secret,
    ragdb._token_message(v_key.key_id, corpus, slice_id, anchor_chunk_id, policy_id, policy_sha256,
      graph_snapshot_hash, schema_version, v_issued, v_expires)), 'hex');
end $$;
comment on function ragdb._issue_token(text, text, text, text, bytea, text, text) is
  'Signs a slice with the active key, for 30 days. Raises RG433.';

-- A trace is signed by its hash. Whoever has no key can change rows and hashes, and cannot make this.
create or replace function ragdb._trace_mac(trace_hash bytea) returns bytea
language sql stable
begin atomic
  select ragdb._hmac_sha256(k.secret, ragdb._packed('ragdb-trace-1') || ragdb._packed(_trace_mac.trace_hash))
    from ragdb.signing_keys k where k.state = 'active' and (k.not_after is null or k.not_after > ragdb._now());
end;
comment on function ragdb._trace_mac(bytea) is 'Signs the hash of a trace with the active key; null when there is none.';

create or replace function ragdb._matching_mac(trace ragdb.retrieval_traces) returns bytea
language sql stable
begin atomic
  select case
      -- no key made the trace, none is expected of it; a key that is not here (a restored copy) cannot speak
      when (trace).trace_mac is null and not exists (select from ragdb.signing_keys k where k.created_at <= (trace).created_at)
        then null
      when (trace).trace_mac is not null and not exists (select from ragdb.signing_keys k) then (trace).trace_mac
      else coalesce((
        select m.mac from ragdb.signing_keys k
          cross join lateral (select ragdb._hmac_sha256(k.secret,
            ragdb._packed('ragdb-trace-1') || ragdb._packed((trace).trace_hash)) as mac) m
          where m.mac = (trace).trace_mac), '\x00')
    end;
end;
comment on function ragdb._matching_mac(ragdb.retrieval_traces) is
  'Returns the signature that a trace should have: its own when one of the keys made it, null when it was recorded before any key, else a byte that no signature is.';

-- ── slices ──────────────────────────────────────────────────────────────────────────────────────────

comment on table ragdb.slices is 'Slices that were exported or retrieved from, once per graph state.';
comment on column ragdb.slices.corpus_id is 'The corpus.';
comment on column ragdb.slices.slice_id is 'Fingerprint of corpus, anchor, policy, members with content, and edges.';
comment on column ragdb.slices.anchor_chunk_id is 'The chunk that the slice was built around.';
comment on column ragdb.slices.policy_id is 'Policy reference, first half.';
comment on column ragdb.slices.params_hash is 'Policy reference, second half.';
comment on column ragdb.slices.chunk_ids is 'Members, sorted by bytes.';
comment on column ragdb.slices.content_hashes is 'SHA-256 of each member''s canonical text, in the order of chunk_ids.';
comment on column ragdb.slices.selection_order is 'Members in the order in which the policy chose them.';
comment on column ragdb.slices.edge_count is 'Number of edges between members.';
comment on column ragdb.slices.schema_version is 'Version of the fingerprint''s definition.';
comment on column ragdb.slices.graph_snapshot_hash is 'Hash of the members'' contents and the edge count.';
comment on column ragdb.slices.created_at is 'When it was first stored.';

-- Recomputed from the rows each time, for building and for verifying alike.
create or replace function ragdb._slice_fingerprint(
  corpus_id integer, corpus text, anchor_chunk_id text, policy_id text, params_hash text, chunk_ids text[])
returns table (slice_id text, graph_snapshot_hash text, edge_count integer, content_hashes bytea[])
language sql stable
begin atomic
  with members as materialized (
    select c.chunk_no, c.chunk_id, c.content_hash
      from ragdb.chunks c
      where c.corpus_id = _slice_fingerprint.corpus_id and c.chunk_id = any(_slice_fingerprint.chunk_ids)
  ), contents as materialized (
    -- a member that is gone counts too, as one without content
    select pg_catalog.string_agg(ragdb._packed(i.chunk_id) || coalesce(ragdb._packed(m.content_hash), '\xffffffff'), ''
          order by i.chunk_id collate "C") as bytes,
        pg_catalog.array_agg(m.content_hash order by i.chunk_id collate "C") as hashes
      from pg_catalog.unnest(_slice_fingerprint.chunk_ids) i (chunk_id) left join members m on m.chunk_id = i.chunk_id
  ), joined as materialized (
    select pg_catalog.count(*)::integer as count, pg_catalog.string_agg(
        ragdb._packed(p.chunk_id) || ragdb._packed(k.chunk_id) || ragdb._packed(e.edge_type), ''
        order by p.chunk_id, k.chunk_id,
          pg_catalog.array_position(array['reply', 'branch', 'reference', 'default'], e.edge_type)) as bytes
      from ragdb.edges e join members p on p.chunk_no = e.parent_no join members k on k.chunk_no = e.child_no
      where e.corpus_id = _slice_fingerprint.corpus_id
        and e.parent_no = any(array(select m.chunk_no from members m))
        and e.child_no = any(array(select m.chunk_no from members m))
  )
  select pg_catalog.encode(pg_catalog.sha256(
        ragdb._packed('ragdb-slice-1') || ragdb._packed(corpus) || ragdb._packed(anchor_chunk_id)
        || ragdb._packed(policy_id) || ragdb._packed(params_hash)
        || ragdb._packed(coalesce(c.bytes, '')) || ragdb._packed(coalesce(j.bytes, ''))
        || ragdb._packed('1.0.0')), 'hex'),
      pg_catalog.encode(pg_catalog.sha256(
        ragdb._packed('ragdb-snapshot-1') || ragdb._packed(coalesce(c.bytes, ''))
        || ragdb._packed(pg_catalog.int4send(j.count)) || ragdb._packed('1.0.0')), 'hex'),
      j.count, coalesce(c.hashes, '{}')
    from contents c, joined j;
end;
comment on function ragdb._slice_fingerprint(integer, text, text, text, text, text[]) is
  'Recomputes a slice''s fingerprint, snapshot hash (64 hex digits each), edge count and content hashes from the rows.';

create or replace function ragdb.build_slice(
  corpus text, anchor text, policy jsonb default null, sign boolean default true)
returns table (slice_id text, anchor_chunk_id text, chunk_ids text[], selection_order text[], distances integer[],
  edge_count integer, policy_id text, params_hash text, schema_version text, graph_snapshot_hash text,
  admissibility_token text)
language plpgsql stable security definer -- chunks, edges and keys are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora;
  v_policy record;
  v_anchor_no integer;
  v_made record;
begin
  v_corpus := ragdb._open_corpus(build_slice.corpus, 'read');
  select * into strict v_policy from ragdb._resolve_policy(build_slice.policy);
  select c.chunk_no into v_anchor_no from ragdb.chunks c
    where c.corpus_id = v_corpus.corpus_id and c.chunk_id = build_slice.anchor;
  if not found then
    raise exception 'anchor % is not in corpus %', ragdb._quote(build_slice.anchor), ragdb._quote(v_corpus.name)
      using errcode = 'RG434', detail = 'a slice is built around a chunk that exists',
            hint = 'ragdb.search() gives chunk ids; ids of turns are UUIDs in lower case';
  end if;
  select * into strict v_made from ragdb._expand_slice(v_corpus.corpus_id, v_anchor_no, v_policy.complete);
  anchor_chunk_id := build_slice.anchor;
  selection_order := v_made.chunk_ids;
  distances := v_made.distances;
  chunk_ids := array(select u collate "C" from unnest(v_made.chunk_ids) u order by 1);
  policy_id := v_policy.policy_id;
  params_hash := v_policy.params_hash;
  schema_version := '1.0.0';
  select f.slice_id, f.graph_snapshot_hash, f.edge_count into slice_id, graph_snapshot_hash, edge_count
    from ragdb._slice_fingerprint(v_corpus.corpus_id, v_corpus.name, anchor_chunk_id, policy_id, params_hash, chunk_ids) f;
  if build_slice.sign then
    admissibility_token := ragdb._issue_token(v_corpus.name, slice_id, anchor_chunk_id, policy_id, v_policy.sha256,
      graph_snapshot_hash, schema_version);
  end if;
  return next;
end $$;
comment on function ragdb.build_slice(text, text, jsonb, boolean) is
  'Builds the slice that a policy (in full, by reference, or null for the default) admits around an anchor chunk, without writing: members, fingerprints and, with sign, the admissibility token. Raises RG400, RG404, RG430, RG431, RG433, RG434.';

create or replace function ragdb.build_slices(
  corpus text, anchors text[], policy jsonb default null, sign boolean default true)
returns table (anchor_chunk_id text, slice_id text, chunk_ids text[], selection_order text[], distances integer[],
  edge_count integer, policy_id text, params_hash text, schema_version text, graph_snapshot_hash text,
  admissibility_token text, error_code text, error text)
language plpgsql stable security definer -- it opens the corpus once; build_slice checks again
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora;
  v_anchor text;
begin
  v_corpus := ragdb._open_corpus(build_slices.corpus, 'read');
  if cardinality(anchors) is null or cardinality(anchors) not between 1 and 1000 then
    raise exception 'anchors are 1 to 1000 chunk ids, not %', coalesce(cardinality(anchors)::text, 'null')
      using errcode = 'RG400', detail = 'one slice is built for each', hint = 'split a longer list';
  end if;
  foreach v_anchor in array anchors loop
    begin
      return query
        select s.anchor_chunk_id, s.slice_id, s.chunk_ids, s.selection_order, s.distances, s.edge_count, s.policy_id,
            s.params_hash, s.schema_version, s.graph_snapshot_hash, s.admissibility_token, null, null
          from ragdb.build_slice(build_slices.corpus, v_anchor, build_slices.policy, build_slices.sign) s;
    exception when sqlstate 'RG434' then
      -- an anchor that is missing is that anchor's failure; anything else is everyone's
      anchor_chunk_id := v_anchor; error_code := sqlstate; error := sqlerrm;
      return next;
      error_code := null; error := null;
    end;
  end loop;
end $$;
comment on function ragdb.build_slices(text, text[], jsonb, boolean) is
  'Builds a slice for each of 1 to 1000 anchors; an anchor that does not exist gives a row with error_code and error instead. Raises RG400, RG404, RG430, RG431, RG433.';

create or replace function ragdb._store_slice(
  corpus_id integer, corpus text, slice_id text, anchor_chunk_id text, policy jsonb, chunk_ids text[], selection_order text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_policy record;
begin
  select * into strict v_policy from ragdb._resolve_policy(_store_slice.policy);
  perform ragdb.register_policy(v_policy.complete);
  insert into ragdb.slices
    select _store_slice.corpus_id, f.slice_id, _store_slice.anchor_chunk_id, v_policy.policy_id, v_policy.params_hash,
        _store_slice.chunk_ids, f.content_hashes, _store_slice.selection_order, f.edge_count, '1.0.0',
        f.graph_snapshot_hash, ragdb._now()
      from ragdb._slice_fingerprint(_store_slice.corpus_id, corpus, _store_slice.anchor_chunk_id,
        v_policy.policy_id, v_policy.params_hash, _store_slice.chunk_ids) f
    on conflict do nothing;
end $$;
comment on function ragdb._store_slice(integer, text, text, text, jsonb, text[], text[]) is
  'Stores a slice that was just built, and its policy; the same graph state is stored once.';

create or replace function ragdb.export_slice(
  corpus text, anchor text, policy jsonb default null)
returns table (slice_id text, anchor_chunk_id text, chunk_ids text[], selection_order text[], distances integer[],
  edge_count integer, policy_id text, params_hash text, schema_version text, graph_snapshot_hash text,
  admissibility_token text)
language plpgsql security definer -- slices is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora;
  v_slice record;
begin
  v_corpus := ragdb._open_corpus(export_slice.corpus, 'read');
  select * into strict v_slice from ragdb.build_slice(export_slice.corpus, export_slice.anchor, export_slice.policy);
  perform ragdb._store_slice(v_corpus.corpus_id, v_corpus.name, v_slice.slice_id, v_slice.anchor_chunk_id,
    export_slice.policy, v_slice.chunk_ids, v_slice.selection_order);
  return query select v_slice.slice_id, v_slice.anchor_chunk_id, v_slice.chunk_ids, v_slice.selection_order,
    v_slice.distances, v_slice.edge_count, v_slice.policy_id, v_slice.params_hash, v_slice.schema_version,
    v_slice.graph_snapshot_hash, v_slice.admissibility_token;
end $$;
comment on function ragdb.export_slice(text, text, jsonb) is
  'Builds, signs and stores a slice, so that it can be searched by its id. Raises RG400, RG404, RG430, RG431, RG433, RG434.';

-- The token says who signed what and until when; the rows say whether what was signed is still there. Both must agree.
create or replace function ragdb.verify_token(
  corpus text, token text, slice_id text, anchor_chunk_id text, policy_id text, params_hash text,
  graph_snapshot_hash text, schema_version text, chunk_ids text[] default null)
returns table (valid boolean, reason text)
language plpgsql stable security definer -- keys and chunks are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora;
  v_parts constant text[] := string_to_array(verify_token.token, '.');
  v_now constant bigint := floor(extract(epoch from ragdb._now()));
  v_key ragdb.signing_keys;
  v_policy record;
  v_members text[] := verify_token.chunk_ids;
  v_stored ragdb.slices;
  v_found record;
  v_changed text;
begin
  v_corpus := ragdb._open_corpus(verify_token.corpus, 'read');
  valid := false;
  if verify_token.token is null
      or verify_token.token !~ '^rgt1\.[A-Za-z0-9_-]{1,64}\.[0-9]{1,12}\.[0-9]{1,12}\.[0-9a-f]{64}$' then
    reason := 'malformed: a token is rgt1.<key>.<issued>.<expires>.<64 hex digits>'; return next; return;
  end if;
  select k.* into v_key from ragdb.signing_keys k where k.key_id = v_parts[2];
  if not found then
    reason := 'key_unknown: this database has no key ' || ragdb._quote(v_parts[2])
      || '; import it if the token comes from the original of this copy';
    return next; return;
  end if;
  if v_key.state = 'revoked' or v_key.not_after <= ragdb._now() then
    reason := 'key_revoked: key ' || ragdb._quote(v_key.key_id) || ' verifies nothing any more'; return next; return;
  end if;
  begin
    select * into strict v_policy from ragdb._resolve_policy(
      jsonb_build_object('policy_id', verify_token.policy_id, 'params_hash', verify_token.params_hash));
  exception when sqlstate 'RG431' then
    reason := 'policy_unknown: ' || sqlerrm; return next; return;
  end;
  -- both sides are hashed again, so that the time of the comparison tells nothing about the signature
  if sha256(ragdb._hmac_sha256(v_key.secret, ragdb._token_message(v_key.key_id, v_corpus.name, verify_token.slice_id,
        verify_token.anchor_chunk_id, verify_token.policy_id, v_policy.sha256, verify_token.graph_snapshot_hash,
        verify_token.schema_version, v_parts[3]::bigint, v_parts[4]::bigint)))
      is distinct from sha256(decode(v_parts[5], 'hex')) then
    reason := 'signature: the token was not issued for these fields'; return next; return;
  end if;
  if v_parts[4]::bigint <= v_now then
    reason := 'expired: the token ended ' || (v_now - v_parts[4]::bigint) || ' seconds ago'; return next; return;
  end if;
  if v_members is not null and v_members is distinct from array(
      select distinct u collate "C" from unnest(v_members) u order by 1) then
    reason := 'evidence: the chunk ids are not the sorted, distinct members of a slice'; return next; return;
  end if;
  select s.* into v_stored from ragdb.slices s
    where s.corpus_id = v_corpus.corpus_id and s.slice_id = verify_token.slice_id;
  if v_members is null then
    v_members := v_stored.chunk_ids;
  end if;
  if v_members is null then
    begin
      select s.chunk_ids into strict v_members from ragdb.build_slice(verify_token.corpus, verify_token.anchor_chunk_id,
        jsonb_build_object('policy_id', verify_token.policy_id, 'params_hash', verify_token.params_hash), false) s;
    exception when sqlstate 'RG434' then
      reason := 'evidence: ' || sqlerrm; return next; return;
    end;
  end if;
  select * into strict v_found from ragdb._slice_fingerprint(v_corpus.corpus_id, v_corpus.name,
    verify_token.anchor_chunk_id, verify_token.policy_id, verify_token.params_hash, v_members);
  if v_found.slice_id is distinct from verify_token.slice_id
      or v_found.graph_snapshot_hash is distinct from verify_token.graph_snapshot_hash then
    if v_members = v_stored.chunk_ids then
      select string_agg(ragdb._quote(o.chunk_id), ', ' order by o.chunk_id) into v_changed
        from unnest(v_stored.chunk_ids, v_stored.content_hashes) o (chunk_id, content_hash)
        left join ragdb.chunks c on c.corpus_id = v_corpus.corpus_id and c.chunk_id = o.chunk_id
        where c.content_hash is distinct from o.content_hash;
      reason := 'evidence: ' || coalesce('chunks changed or gone since: ' || left(v_changed, 500), 'edges between the members changed since');
    else
      reason := 'evidence: the chunks, their contents or their edges are not those that were signed';
    end if;
    return next; return;
  end if;
  valid := true;
  return next;
end $$;
comment on function ragdb.verify_token(text, text, text, text, text, text, text, text, text[]) is
  'Tells whether a token was signed here for exactly these fields, has not ended, and whether the slice recomputed from the rows (the given members, the stored slice, or a new build) is the one signed; reason says why not. Raises RG400, RG404.';

create or replace function ragdb._stored_slice(corpus_id integer, slice_id text) returns ragdb.slices
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_slice ragdb.slices;
begin
  select s.* into v_slice from ragdb.slices s
    where s.corpus_id = _stored_slice.corpus_id and s.slice_id = _stored_slice.slice_id;
  if not found then
    raise exception 'slice % is not stored', ragdb._quote(_stored_slice.slice_id)
      using errcode = 'RG435', detail = 'build_slice computes without storing',
            hint = 'call ragdb.export_slice(corpus, anchor, policy) first, or search by anchor and policy';
  end if;
  return v_slice;
end $$;
comment on function ragdb._stored_slice(integer, text) is 'Returns a stored slice. Raises RG435.';

create or replace function ragdb.is_admissible(corpus text, slice_id text, chunk_id text) returns boolean
language plpgsql stable security definer -- slices is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
begin
  return is_admissible.chunk_id = any((ragdb._stored_slice(
    (ragdb._open_corpus(is_admissible.corpus, 'read')).corpus_id, is_admissible.slice_id)).chunk_ids);
end $$;
comment on function ragdb.is_admissible(text, text, text) is
  'Tells whether a chunk is a member of a stored slice. Raises RG400, RG404, RG435.';

create or replace function ragdb.filter_admissible(corpus text, slice_id text, chunk_ids text[]) returns text[]
language plpgsql stable security definer -- slices is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_members constant text[] := (ragdb._stored_slice(
    (ragdb._open_corpus(filter_admissible.corpus, 'read')).corpus_id, filter_admissible.slice_id)).chunk_ids;
begin
  return array(select u.id from unnest(filter_admissible.chunk_ids) with ordinality u (id, n)
    where u.id = any(v_members) order by u.n);
end $$;
comment on function ragdb.filter_admissible(text, text, text[]) is
  'Returns those of the chunk ids that are members of a stored slice, in the order given. Raises RG400, RG404, RG435.';

---- sql/57_slice_search.sql

-- Retrieval under a slice: the slice is an exact filter inside ranking, and what is found carries its provenance.

do $$ begin
  if pg_catalog.to_regtype('ragdb.turn_hit') is null then
    create type ragdb.turn_hit as (
      trace_id uuid, rank integer, corpus text, chunk_id text, source text, title text, heading text[], page integer,
      text text, citation jsonb, score float8, lexical_score float8, semantic_score float8, bm25 float8, coverage float8,
      content_hash text, metadata jsonb, session_id text, role text, phase text, salience real, depth integer,
      sibling_order integer, homogeneity real, temporal real, complexity real);
  end if;
end $$;
comment on type ragdb.turn_hit is
  'One result of a search that knows turns: the chunk and its scores, and its session, role and trajectory where it is a turn; trace_id where it was recorded.';

create or replace function ragdb._with_turns(corpus_id integer, trace_id uuid, hits ragdb.hit[])
returns setof ragdb.turn_hit
language sql stable
begin atomic
  select _with_turns.trace_id, h.rank, h.corpus, h.chunk_id, h.source, h.title, h.heading, h.page, h.text, h.citation,
      h.score, h.lexical_score, h.semantic_score, h.bm25, h.coverage, h.content_hash, h.metadata,
      t.session_id, t.role, t.phase, t.salience, t.depth, t.sibling_order, t.homogeneity, t.temporal, t.complexity
    from pg_catalog.unnest(_with_turns.hits) h
    join ragdb.chunks c on c.corpus_id = _with_turns.corpus_id and c.chunk_id = h.chunk_id
    left join ragdb.turns t on t.corpus_id = c.corpus_id and t.chunk_no = c.chunk_no
    order by h.rank;
end;
comment on function ragdb._with_turns(integer, uuid, ragdb.hit[]) is 'Adds to hits what is known of them as turns.';

-- The fields of a turn are asked for in the same filter as metadata; they choose the chunks, the rest goes on to search.
create or replace function ragdb._turn_filter(corpus_id integer, filter jsonb, chunk_ids text[])
returns table (members text[], rest jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_filter constant jsonb := _turn_filter.filter;
  v_key text;
begin
  members := _turn_filter.chunk_ids;
  rest := v_filter;
  if v_filter is null or jsonb_typeof(v_filter) <> 'object' or not v_filter ?| array['role', 'phase', 'session', 'min_salience'] then
    return next; return;
  end if;
  foreach v_key in array array['role', 'phase', 'session'] loop
    if v_filter ? v_key and jsonb_typeof(v_filter -> v_key) <> 'string' then
      raise exception 'filter % is not a text', v_key
        using errcode = 'RG410', detail = 'its value is ' || ragdb._quote((v_filter -> v_key)::text),
              hint = 'role, phase and session take one text each';
    end if;
  end loop;
  if v_filter ? 'min_salience' and (jsonb_typeof(v_filter -> 'min_salience') <> 'number'
      or not (v_filter ->> 'min_salience')::numeric between 0 and 1) then
    raise exception 'filter min_salience is not a number of 0 to 1'
      using errcode = 'RG410', detail = 'its value is ' || ragdb._quote((v_filter -> 'min_salience')::text),
            hint = 'salience is a share';
  end if;
  members := array(
    select c.chunk_id from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no)
      where t.corpus_id = _turn_filter.corpus_id
        and (v_filter ->> 'role' is null or t.role = v_filter ->> 'role')
        and (v_filter ->> 'phase' is null or t.phase = v_filter ->> 'phase')
        and (v_filter ->> 'session' is null or t.session_id = v_filter ->> 'session')
        and (v_filter ->> 'min_salience' is null or t.salience >= (v_filter ->> 'min_salience')::real)
        and (_turn_filter.chunk_ids is null or c.chunk_id = any(_turn_filter.chunk_ids)));
  rest := nullif(v_filter - array['role', 'phase', 'session', 'min_salience'], '{}');
  return next;
end $$;
comment on function ragdb._turn_filter(integer, jsonb, text[]) is
  'Takes role, phase, session and min_salience out of a filter and returns the chunks that satisfy them among those given, with the rest of the filter. Raises RG410.';

-- A slice comes by the id of a stored one, or by anchor and policy and is built now.
create or replace function ragdb._slice_members(corpus_id integer, corpus text, stored_id text, anchor text, policy jsonb)
returns table (slice_id text, anchor_chunk_id text, chunk_ids text[], selection_order text[], edge_count integer,
  policy_id text, params_hash text, schema_version text, graph_snapshot_hash text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stored ragdb.slices;
begin
  if (_slice_members.stored_id is null) = (_slice_members.anchor is null) then
    raise exception 'a slice is named by its id or by its anchor'
      using errcode = 'RG400', detail = case when _slice_members.anchor is null then 'neither was given' else 'both were given' end,
            hint = 'pass slice_id of a stored slice, or anchor and, if not the default, policy';
  end if;
  if _slice_members.stored_id is not null then
    v_stored := ragdb._stored_slice(_slice_members.corpus_id, _slice_members.stored_id);
    return query select v_stored.slice_id, v_stored.anchor_chunk_id, v_stored.chunk_ids, v_stored.selection_order,
      v_stored.edge_count, v_stored.policy_id, v_stored.params_hash, v_stored.schema_version, v_stored.graph_snapshot_hash;
  else
    return query select s.slice_id, s.anchor_chunk_id, s.chunk_ids, s.selection_order, s.edge_count, s.policy_id,
        s.params_hash, s.schema_version, s.graph_snapshot_hash
      from ragdb.build_slice(_slice_members.corpus, _slice_members.anchor, _slice_members.policy, false) s;
  end if;
end $$;
comment on function ragdb._slice_members(integer, text, text, text, jsonb) is
  'Returns a stored slice by its id, or builds one by anchor and policy. Raises RG400, RG430, RG431, RG434, RG435.';

create or replace function ragdb.search_slice(
  corpus text, query text, slice_id text default null, anchor text default null, policy jsonb default null,
  k integer default 10, mode text default null, min_score float8 default 0, filter jsonb default null)
returns setof ragdb.turn_hit
language plpgsql stable security definer -- turns and slices are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
  v_members text[];
  v_filter jsonb;
begin
  v_corpus := ragdb._open_corpus(search_slice.corpus, 'read');
  select f.members, f.rest into strict v_members, v_filter
    from ragdb._slice_members(v_corpus.corpus_id, v_corpus.name, search_slice.slice_id, search_slice.anchor, search_slice.policy) s
    cross join lateral ragdb._turn_filter(v_corpus.corpus_id, search_slice.filter, s.chunk_ids) f;
  return query
    select w.* from ragdb._with_turns(v_corpus.corpus_id, null, array(
      select h from ragdb.search(corpus => search_slice.corpus, query => search_slice.query, k => search_slice.k,
        mode => search_slice.mode, min_score => search_slice.min_score, filter => v_filter, chunk_ids => v_members) h)) w;
end $$;
comment on function ragdb.search_slice(text, text, text, text, jsonb, integer, text, float8, jsonb) is
  'Returns the k best members of a slice (by the id of a stored one, or by anchor and policy) for a query, exactly and without recording; filter also takes role, phase, session and min_salience. Raises RG400, RG404, RG410, RG415, RG430, RG431, RG434, RG435.';

create or replace function ragdb.search_global(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0, filter jsonb default null)
returns setof ragdb.turn_hit
language plpgsql stable security definer -- turns is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
  v_members text[];
  v_filter jsonb;
begin
  v_corpus := ragdb._open_corpus(search_global.corpus, 'read');
  select f.members, f.rest into strict v_members, v_filter
    from ragdb._turn_filter(v_corpus.corpus_id, search_global.filter, null) f;
  return query
    select w.* from ragdb._with_turns(v_corpus.corpus_id, null, array(
      select h from ragdb.search(corpus => search_global.corpus, query => search_global.query, k => search_global.k,
        mode => search_global.mode, min_score => search_global.min_score, filter => v_filter, chunk_ids => v_members) h)) w;
end $$;
comment on function ragdb.search_global(text, text, integer, text, float8, jsonb) is
  'Returns the k best chunks of a whole corpus for a query with what is known of them as turns; never admissible. filter also takes role, phase, session and min_salience. Raises RG400, RG404, RG410, RG415.';

create or replace function ragdb.resolve_from_query(corpus text, query text, mode text default null) returns text
language sql stable
begin atomic
  select h.chunk_id from ragdb.search(corpus => resolve_from_query.corpus, query => resolve_from_query.query, k => 1,
    mode => resolve_from_query.mode) h;
end;
comment on function ragdb.resolve_from_query(text, text, text) is
  'Returns the best hit of a query as an anchor, or null when nothing matches. Raises what ragdb.search raises.';

create or replace function ragdb.resolve_anchor(
  corpus text, chunk_id text default null, session text default null, query text default null, project text default null)
returns table (anchor text, resolved_by text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  anchor := ragdb.resolve_explicit(resolve_anchor.corpus, coalesce(resolve_anchor.chunk_id, ''));
  resolved_by := 'explicit';
  if anchor is null and resolve_anchor.session is not null then
    anchor := ragdb.resolve_from_session(resolve_anchor.corpus, resolve_anchor.session);
    resolved_by := 'session';
  end if;
  if anchor is null and resolve_anchor.query ~ '\S' then
    anchor := ragdb.resolve_from_query(resolve_anchor.corpus, resolve_anchor.query);
    resolved_by := 'semantic';
  end if;
  if anchor is null then
    select t.chunk_id into anchor from ragdb.resolve_temporal(resolve_anchor.corpus, 1, resolve_anchor.project) t;
    resolved_by := 'temporal';
  end if;
  if anchor is not null then
    return next;
  end if;
end $$;
comment on function ragdb.resolve_anchor(text, text, text, text, text) is
  'Returns an anchor and which way gave it: the chunk id itself (explicit), the latest turn of the session, the best hit of the query (semantic), the most recent turn (temporal); no row when none does. Raises RG400, RG404.';

-- ── recording ───────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.retrieve_slice(
  corpus text, query text, slice_id text default null, anchor text default null, policy jsonb default null,
  k integer default 10, mode text default null, min_score float8 default 0, filter jsonb default null,
  client text default null, otel_trace_id text default null, otel_span_id text default null)
returns setof ragdb.turn_hit
language plpgsql security definer -- slices, keys and traces are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started constant timestamptz := clock_timestamp();
  v_corpus ragdb.corpora;
  v_slice record;
  v_policy record;
  v_verified record;
  v_members text[];
  v_filter jsonb;
  v_hits ragdb.hit[];
  v_trace ragdb.retrieval_traces;
begin
  v_corpus := ragdb._open_corpus(retrieve_slice.corpus, 'read');
  select * into strict v_slice from ragdb._slice_members(v_corpus.corpus_id, v_corpus.name, retrieve_slice.slice_id,
    retrieve_slice.anchor, retrieve_slice.policy);
  if retrieve_slice.slice_id is null then
    perform ragdb._store_slice(v_corpus.corpus_id, v_corpus.name, v_slice.slice_id, v_slice.anchor_chunk_id,
      retrieve_slice.policy, v_slice.chunk_ids, v_slice.selection_order);
  end if;
  select * into strict v_policy from ragdb._resolve_policy(
    jsonb_build_object('policy_id', v_slice.policy_id, 'params_hash', v_slice.params_hash));
  v_trace.admissibility_token := ragdb._issue_token(v_corpus.name, v_slice.slice_id, v_slice.anchor_chunk_id,
    v_slice.policy_id, v_policy.sha256, v_slice.graph_snapshot_hash, v_slice.schema_version);
  select * into strict v_verified from ragdb.verify_token(v_corpus.name, v_trace.admissibility_token, v_slice.slice_id,
    v_slice.anchor_chunk_id, v_slice.policy_id, v_slice.params_hash, v_slice.graph_snapshot_hash,
    v_slice.schema_version, v_slice.chunk_ids);
  if not v_verified.valid then
    -- a stored slice whose evidence has changed: what would be found is not what was admitted
    raise exception 'slice % is not what it was', ragdb._quote(v_slice.slice_id)
      using errcode = 'RG436', detail = v_verified.reason, hint = 'build the slice again from its anchor and policy';
  end if;
  select f.members, f.rest into strict v_members, v_filter
    from ragdb._turn_filter(v_corpus.corpus_id, retrieve_slice.filter, v_slice.chunk_ids) f;
  v_hits := array(select h from ragdb.search(corpus => retrieve_slice.corpus, query => retrieve_slice.query,
    k => retrieve_slice.k, mode => retrieve_slice.mode, min_score => retrieve_slice.min_score, filter => v_filter,
    chunk_ids => v_members) h);
  v_trace.retrieval_mode := 'slice';
  v_trace.rank_mode := coalesce(mode, 'lexical');
  v_trace.slice_id := v_slice.slice_id;
  v_trace.anchor_chunk_id := v_slice.anchor_chunk_id;
  v_trace.slice_chunk_count := cardinality(v_slice.chunk_ids);
  v_trace.slice_edge_count := v_slice.edge_count;
  v_trace.policy_id := v_slice.policy_id;
  v_trace.policy_params_hash := v_slice.params_hash;
  v_trace.schema_version := v_slice.schema_version;
  v_trace.graph_snapshot_hash := v_slice.graph_snapshot_hash;
  v_trace.is_admissible := true;
  v_trace.admissibility_shortfall := false;
  v_trace.limit_requested := k;
  v_trace.min_score := min_score;
  v_trace.filters := filter;
  v_trace.is_exact := true;
  v_trace.client := client;
  v_trace.otel_trace_id := otel_trace_id;
  v_trace.otel_span_id := otel_span_id;
  v_trace.elapsed_ms := 1000 * extract(epoch from clock_timestamp() - v_started)::float8;
  v_trace.id := ragdb._record_trace(v_corpus, query, v_trace, v_hits);
  return query select w.* from ragdb._with_turns(v_corpus.corpus_id, v_trace.id, v_hits) w;
end $$;
comment on function ragdb.retrieve_slice(text, text, text, text, jsonb, integer, text, float8, jsonb, text, text, text) is
  'Returns the hits of ragdb.search_slice with the same arguments and records the one trace that proves them: slice, policy, snapshot and a fresh token, verified against the rows. Raises what ragdb.search_slice raises, RG433, and RG436 when the stored slice''s evidence has changed.';

---- sql/58_replay.sql

-- Replay: the same retrieval again, from what its trace recorded, and what has changed when it differs.

create or replace function ragdb.replay(trace_id uuid)
returns table (verdict text, cause text, detail text, changed_chunk_ids text[], recorded_chunk_ids text[], replayed_chunk_ids text[])
language plpgsql stable security definer -- traces are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trace ragdb.retrieval_traces := ragdb._open_trace(replay.trace_id);
  v_corpus ragdb.corpora := ragdb._open_corpus(v_trace.corpus, 'read');
  v_slice ragdb.slices;
  v_slice_id text;
  v_snapshot text;
  v_recorded text[]; v_recorded_keys text[]; v_recorded_scores float8[];
  v_keys text[]; v_scores float8[];
begin
  select coalesce(array_agg(h.chunk_id order by h.rank), '{}'),
      coalesce(array_agg(h.chunk_id || ' ' || encode(h.content_hash, 'hex') order by h.rank), '{}'),
      coalesce(array_agg(h.score order by h.rank), '{}')
    into v_recorded, v_recorded_keys, v_recorded_scores
    from ragdb.trace_hits(v_trace.id) h;
  recorded_chunk_ids := v_recorded;
  select string_agg(v.field, ', ') into detail from ragdb.verify_trace(v_trace.id) v where not v.is_intact;
  if detail is not null then
    verdict := 'drifted'; cause := 'trace_tampered';
    detail := 'the rows of the trace are not what was recorded: ' || detail;
    return next; return;
  end if;
  if v_trace.error_code is not null then
    verdict := 'not_replayable'; cause := 'failed_retrieval';
    detail := 'the retrieval ended with ' || v_trace.error_code;
    return next; return;
  end if;
  if v_trace.query_text is null then
    verdict := 'not_replayable'; cause := 'query_text_not_kept';
    detail := 'the corpus records the query''s ' || v_corpus.record_query_text || ' only';
    return next; return;
  end if;

  if v_trace.retrieval_mode = 'slice' then
    v_slice := ragdb._stored_slice(v_corpus.corpus_id, v_trace.slice_id);
    select f.slice_id, f.graph_snapshot_hash into strict v_slice_id, v_snapshot from ragdb._slice_fingerprint(v_corpus.corpus_id, v_corpus.name,
      v_slice.anchor_chunk_id, v_slice.policy_id, v_slice.params_hash, v_slice.chunk_ids) f;
    changed_chunk_ids := array(
      select o.chunk_id from unnest(v_slice.chunk_ids, v_slice.content_hashes) o (chunk_id, content_hash)
        left join ragdb.chunks c on c.corpus_id = v_corpus.corpus_id and c.chunk_id = o.chunk_id
        where c.content_hash is distinct from o.content_hash order by o.chunk_id);
    select coalesce(array_agg(h.chunk_id order by h.rank), '{}'),
        coalesce(array_agg(h.chunk_id || ' ' || h.content_hash order by h.rank), '{}'),
        coalesce(array_agg(h.score order by h.rank), '{}')
      into replayed_chunk_ids, v_keys, v_scores
      from ragdb.search_slice(corpus => v_trace.corpus, query => v_trace.query_text, slice_id => v_trace.slice_id,
        k => v_trace.limit_requested, mode => v_trace.rank_mode, min_score => v_trace.min_score,
        filter => v_trace.filters) h;
  else
    select coalesce(array_agg(h.chunk_id order by h.rank), '{}'),
        coalesce(array_agg(h.chunk_id || ' ' || h.content_hash order by h.rank), '{}'),
        coalesce(array_agg(h.score order by h.rank), '{}')
      into replayed_chunk_ids, v_keys, v_scores
      from ragdb.search(corpus => v_trace.corpus, query => v_trace.query_text, k => v_trace.limit_requested,
        mode => v_trace.rank_mode, min_score => v_trace.min_score, filter => v_trace.filters,
        chunk_ids => v_trace.chunk_ids, statistics => v_trace.statistics) h;
  end if;
  if changed_chunk_ids is null or changed_chunk_ids = '{}' then
    -- hits that are gone or say something else, and chunks that came in between
    changed_chunk_ids := array(
      select split_part(k.key, ' ', 1) from unnest(v_recorded_keys) k (key)
        left join ragdb.chunks c on c.corpus_id = v_corpus.corpus_id and c.chunk_id = split_part(k.key, ' ', 1)
        where c.chunk_id is null or encode(c.content_hash, 'hex') <> split_part(k.key, ' ', 2)
      union
      select r.id from unnest(replayed_chunk_ids) r (id) where not r.id = any(v_recorded)
      order by 1);
  end if;

  verdict := case
    when v_slice_id is distinct from v_trace.slice_id
      or v_snapshot is distinct from v_trace.graph_snapshot_hash then 'drifted'
    when v_keys = v_recorded_keys and v_scores = v_recorded_scores then 'exact'
    when v_keys = v_recorded_keys then 'same_order'
    when v_keys @> v_recorded_keys and v_keys <@ v_recorded_keys then 'same_set'
    else 'drifted' end;
  if verdict <> 'exact' then
    cause := case
      when ragdb._ranking_hash(v_corpus) is distinct from v_trace.ranking_hash then 'config_changed'
      when not v_trace.is_exact and v_corpus.version = v_trace.corpus_version and changed_chunk_ids = '{}'
        then 'ann_nondeterminism'
      else 'corpus_changed' end;
    detail := case cause
      when 'config_changed' then 'how the corpus ranks (text configuration, k1, b, pivot) is not as it was'
      when 'ann_nondeterminism' then 'the recorded search was approximate'
      else 'the corpus was at version ' || v_trace.corpus_version || ' and is at ' || v_corpus.version
        || coalesce('; chunks changed, gone or new: ' || nullif(left(array_to_string(changed_chunk_ids, ', '), 500), ''),
          '; statistics or edges changed, no hit did') end;
  end if;
  return next;
end $$;
comment on function ragdb.replay(uuid) is
  'Runs a recorded retrieval again and says how it compares: exact (ids, contents, order, scores), same_order, same_set or drifted, with the cause (trace_tampered, config_changed, corpus_changed, ann_nondeterminism) and the chunks that differ; or not_replayable. Raises RG400, RG404, RG407, RG435.';

create or replace function ragdb.why_not(trace_id uuid, chunk_id text)
returns table (step text, reason text)
language plpgsql stable security definer -- traces and slices are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trace ragdb.retrieval_traces := ragdb._open_trace(why_not.trace_id);
  v_corpus ragdb.corpora := ragdb._open_corpus(v_trace.corpus, 'read');
  v_rank integer;
  v_score float8;
begin
  select h.rank into v_rank from ragdb.trace_hits(v_trace.id) h where h.chunk_id = why_not.chunk_id;
  if v_rank is not null then
    return query select 'hit', 'it was returned at rank ' || v_rank; return;
  end if;
  if not exists (select from ragdb.chunks c where c.corpus_id = v_corpus.corpus_id and c.chunk_id = why_not.chunk_id) then
    return query select 'corpus', 'the corpus has no chunk ' || ragdb._quote(why_not.chunk_id); return;
  end if;
  if v_trace.slice_id is not null and not why_not.chunk_id = any((ragdb._stored_slice(v_corpus.corpus_id, v_trace.slice_id)).chunk_ids) then
    return query select 'slice', 'it is no member of slice ' || v_trace.slice_id; return;
  end if;
  if v_trace.chunk_ids is not null and not why_not.chunk_id = any(v_trace.chunk_ids) then
    return query select 'filter', 'it was not among the chunk ids that the call allowed'; return;
  end if;
  if v_trace.query_text is null then
    return query select 'unknown', 'the query text was not kept, so the ranking cannot be repeated'; return;
  end if;
  select h.score into v_score from ragdb.search(corpus => v_trace.corpus, query => v_trace.query_text, k => 1,
    mode => v_trace.rank_mode, chunk_ids => array[why_not.chunk_id], statistics => v_trace.statistics) h;
  if v_score is null then
    return query select 'ranking', 'it has none of the query''s words, or lacks a required one'; return;
  end if;
  if v_trace.filters is not null and not exists (
      select from ragdb._turn_filter(v_corpus.corpus_id, v_trace.filters, array[why_not.chunk_id]) f
      cross join lateral ragdb.search(corpus => v_trace.corpus, query => v_trace.query_text, k => 1,
        mode => v_trace.rank_mode, filter => f.rest, chunk_ids => f.members) h) then
    return query select 'filter', 'it does not satisfy ' || ragdb._quote(v_trace.filters::text); return;
  end if;
  if v_score < v_trace.min_score then
    return query select 'min_score', 'its score ' || round(v_score::numeric, 4) || ' is below ' || round(v_trace.min_score::numeric, 4); return;
  end if;
  return query
    select 'limit', 'its score ' || round(v_score::numeric, 4) || ' is not among the ' || v_trace.limit_requested || ' best'
      || coalesce('; the last of them has ' || round(min(h.score)::numeric, 4), '')
      from ragdb.trace_hits(v_trace.id) h;
end $$;
comment on function ragdb.why_not(uuid, text) is
  'Says at which step of a recorded retrieval a chunk fell out: corpus, slice, filter, ranking, min_score or limit; or that it was a hit. Raises RG400, RG404, RG407.';

---- sql/59_promotion.sql

-- Promotion: the only way from what was retrieved to what is known. Every refusal is a row that says why, and an incident.

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

-- The first thing that is missing, in words that say how much of it; null when the evidence suffices.
create or replace function ragdb._insufficiency(corpus_id integer, chunk_ids text[], sufficiency text) returns text
language sql stable
begin atomic
  with least_of (name, turns, roles, phases, high, needs_exchange, mean) as (
    values ('default', 3, 2, 1, 1, true, 0.3), ('lenient', 1, 1, 1, 0, false, 0.0), ('strict', 5, 2, 2, 2, true, 0.5)
  ), found as (
    select pg_catalog.count(*) as turns, pg_catalog.count(distinct t.role) as roles, pg_catalog.count(distinct t.phase) as phases,
        pg_catalog.count(*) filter (where t.salience >= 0.7::real) as high,
        coalesce(pg_catalog.bool_or(t.role = 'user') and pg_catalog.bool_or(t.role = 'assistant'), false) as has_exchange,
        coalesce(pg_catalog.avg(t.salience::numeric), 0) as mean
      from ragdb.chunks c join ragdb.turns t using (corpus_id, chunk_no)
      where c.corpus_id = _insufficiency.corpus_id and c.chunk_id = any(_insufficiency.chunk_ids)
  )
  select case
      when f.turns < l.turns then 'insufficient turns: ' || l.turns || ' required, ' || f.turns || ' found'
      when f.roles < l.roles then 'insufficient roles: ' || l.roles || ' required, ' || f.roles || ' found'
      when f.phases < l.phases then 'insufficient phases: ' || l.phases || ' required, ' || f.phases || ' found'
      when f.high < l.high then 'insufficient turns of salience 0.7 or more: ' || l.high || ' required, ' || f.high || ' found'
      when l.needs_exchange and not f.has_exchange then 'no exchange: a turn of a user and one of an assistant are required'
      when f.mean < l.mean then 'low mean salience: ' || l.mean || ' required, ' || pg_catalog.round(f.mean, 3) || ' found'
    end
    from least_of l, found f where l.name = _insufficiency.sufficiency;
end;
comment on function ragdb._insufficiency(integer, text[], text) is
  'Says what the turns among some chunks lack for a set of requirements (default, lenient, strict); null when they suffice.';

create or replace function ragdb._refuse_promotion(corpus_id integer, trace_id uuid, kind text, severity text, reason text)
returns void
language sql
begin atomic
  insert into ragdb.admissibility_incidents
    select ragdb._uuid7(n.now), n.now, _refuse_promotion.corpus_id, kind, severity, trace_id, ragdb._caller(), reason
      from (select ragdb._now() as now) n;
end;
comment on function ragdb._refuse_promotion(integer, uuid, text, text, text) is 'Writes the incident of a refused promotion.';

create or replace function ragdb.promote_to_atom(
  trace_id uuid, chunk_ids text[], text text, sufficiency text default 'default')
returns table (atom_id uuid, code text, reason text)
language plpgsql security definer -- atoms and incidents are granted to nobody
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
      using errcode = 'RG400', detail = 'it has ' || coalesce(length(promote_to_atom.text)::text, 'null'), hint = 'state one thing';
  end if;
  if coalesce(cardinality(promote_to_atom.chunk_ids) not between 1 and 1000, true) then
    raise exception 'an atom rests on 1 to 1000 chunks'
      using errcode = 'RG400', detail = 'chunk_ids has ' || coalesce(cardinality(promote_to_atom.chunk_ids)::text, 'null'),
            hint = 'name hits of the trace';
  end if;
  if coalesce(promote_to_atom.sufficiency not in ('default', 'lenient', 'strict'), true) then
    raise exception 'sufficiency % is unknown', ragdb._quote(promote_to_atom.sufficiency)
      using errcode = 'RG400', detail = 'it names how much evidence is asked for', hint = 'default, lenient or strict';
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
      where not p.id = any(array(select h.chunk_id from ragdb.trace_hits(v_trace.id) h)) order by p.id collate "C" limit 1;
  else
    select * into strict v_found from ragdb.verify_token(v_trace.corpus, v_trace.admissibility_token, v_trace.slice_id,
      v_trace.anchor_chunk_id, v_trace.policy_id, v_trace.policy_params_hash, v_trace.graph_snapshot_hash, v_trace.schema_version);
    if not v_found.valid then
      code := 'TOKEN_INVALID'; reason := v_found.reason;
      v_kind := case when v_found.reason like 'evidence:%' then 'content_hash_mismatch' else 'token_verification_failure' end;
    else
      reason := ragdb._insufficiency(v_corpus.corpus_id, promote_to_atom.chunk_ids, promote_to_atom.sufficiency);
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
    array(select distinct p.id collate "C" from unnest(promote_to_atom.chunk_ids) p (id) order by 1), v_trace.slice_id, v_trace.id,
    ragdb._now(), ragdb._caller(), ragdb._lexemes(promote_to_atom.text, v_corpus.text_config));
  return next;
end $$;
comment on function ragdb.promote_to_atom(uuid, text[], text, text) is
  'Makes a statement out of hits of an admissible retrieval, and returns its id with code PROMOTED; or refuses with NOT_ADMISSIBLE, TRACE_TAMPERED, CHUNK_NOT_RETRIEVED, TOKEN_INVALID or INSUFFICIENT_EVIDENCE, the reason, and an incident. Raises RG400, RG401, RG407.';

create or replace function ragdb.propose(corpus text, atom_ids uuid[], text text)
returns table (proposal_id uuid, code text, reason text)
language plpgsql security definer -- proposals and incidents are granted to nobody
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
      using errcode = 'RG400', detail = 'atom_ids has ' || coalesce(cardinality(propose.atom_ids)::text, 'null'),
            hint = 'ragdb.promote_to_atom() makes atoms';
  end if;
  select p.id into v_missing from unnest(propose.atom_ids) p (id)
    where not exists (select from ragdb.semantic_atoms a where a.corpus_id = v_corpus.corpus_id and a.atom_id = p.id) limit 1;
  select array_agg(distinct a.source_slice_id) into v_slices from ragdb.semantic_atoms a
    where a.corpus_id = v_corpus.corpus_id and a.atom_id = any(propose.atom_ids);
  if v_missing is not null then
    code := 'ATOM_UNKNOWN'; reason := 'the corpus has no atom ' || v_missing;
    perform ragdb._refuse_promotion(v_corpus.corpus_id, null, 'unverified_evidence_usage', 'high', reason);
  elsif cardinality(v_slices) > 1 then
    code := 'SLICES_MIXED'; reason := 'the atoms come from ' || cardinality(v_slices) || ' slices';
    perform ragdb._refuse_promotion(v_corpus.corpus_id, null, 'slice_boundary_violation', 'high', reason);
  else
    proposal_id := ragdb._uuid7(ragdb._now());
    code := 'PROPOSED';
    insert into ragdb.semantic_proposals values (v_corpus.corpus_id, proposal_id, propose.text,
      array(select distinct p.id from unnest(propose.atom_ids) p (id) order by 1), v_slices[1], 'open', ragdb._now(),
      ragdb._caller(), ragdb._lexemes(propose.text, v_corpus.text_config));
  end if;
  return next;
end $$;
comment on function ragdb.propose(text, uuid[], text) is
  'Stores a conclusion that rests on atoms of one slice and returns its id with code PROPOSED; or refuses with ATOM_UNKNOWN or SLICES_MIXED, the reason, and an incident. Raises RG400, RG401, RG404.';

create or replace function ragdb.list_incidents(corpus text, count integer default 100)
returns table (incident_id uuid, created_at timestamptz, kind text, severity text, trace_id uuid, caller text, reason text)
language plpgsql stable security definer -- incidents are granted to nobody
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

-- Statements are ranked by the formula and the statistics of the corpus's chunks, so that both planes share one scale.
create or replace function ragdb._rank_statements(corpus ragdb.corpora, query text)
returns table (plane text, id uuid, score float8)
language sql stable
begin atomic
  with asked as materialized (
    select w.lexeme, pg_catalog.cardinality(w.positions) * pg_catalog.ln(1 + ((corpus).chunks - coalesce(l.df, 0) + 0.5::float8)
        / (coalesce(l.df, 0) + 0.5::float8)) as weight
      from pg_catalog.unnest(ragdb._lexemes(_rank_statements.query, (corpus).text_config)) w
      left join ragdb.lexemes l on l.corpus_id = (corpus).corpus_id and l.lexeme = w.lexeme
  ), statements as (
    select 'atom' as plane, a.atom_id as id, a.lexemes from ragdb.semantic_atoms a where a.corpus_id = (corpus).corpus_id
    union all
    select 'proposal', p.proposal_id, p.lexemes from ragdb.semantic_proposals p
      where p.corpus_id = (corpus).corpus_id and p.status <> 'rejected'
  )
  select s.plane, s.id, r.score
    from statements s
    cross join lateral (
      select pg_catalog.sum(pg_catalog.cardinality(w.positions))::float8 as length from pg_catalog.unnest(s.lexemes) w) d
    cross join lateral (
      select pg_catalog.sum(q.weight * pg_catalog.cardinality(w.positions)
          / (pg_catalog.cardinality(w.positions) + (corpus).k1 * (1 - (corpus).b + (corpus).b * d.length / (corpus).pivot))
          order by q.lexeme collate "C")
        / (select pg_catalog.sum(a.weight order by a.lexeme collate "C") from asked a) as score
        from asked q join pg_catalog.unnest(s.lexemes) w on w.lexeme = q.lexeme) r
    where r.score > 0;
end;
comment on function ragdb._rank_statements(ragdb.corpora, text) is
  'Returns atoms and proposals with the BM25 of their text, over the most the query could reach, by the statistics of the corpus.';

create or replace function ragdb.search_dual(corpus text, query text, k integer default 10, mode text default null)
returns table (rank integer, plane text, id text, text text, score float8, source_ids text[], source_slice_id text)
language plpgsql stable security definer -- atoms and proposals are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(search_dual.corpus, 'read');
begin
  return query
    with found as (
      select 'raw' as plane, h.chunk_id as id, h.text, h.score, array[h.source] as source_ids, null::text as source_slice_id
        from ragdb.search(corpus => search_dual.corpus, query => search_dual.query, k => search_dual.k,
          mode => search_dual.mode) h
      union all
      select s.plane, s.id::text, coalesce(a.text, p.text), s.score,
          coalesce(a.source_chunk_ids, p.source_atoms::text[]), coalesce(a.source_slice_id, p.source_slice_id)
        from ragdb._rank_statements(v_corpus, search_dual.query) s
        left join ragdb.semantic_atoms a on a.corpus_id = v_corpus.corpus_id and a.atom_id = s.id
        left join ragdb.semantic_proposals p on p.corpus_id = v_corpus.corpus_id and p.proposal_id = s.id
    )
    select row_number() over (order by f.score desc, f.plane collate "C", f.id collate "C")::integer, f.plane, f.id, f.text,
        f.score, f.source_ids, f.source_slice_id
      from found f order by f.score desc, f.plane collate "C", f.id collate "C" limit search_dual.k;
end $$;
comment on function ragdb.search_dual(text, text, integer, text) is
  'Searches both planes, the raw chunks and what was promoted from them (atoms, proposals), and returns the k best with their plane and what they rest on. Raises what ragdb.search raises.';

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
      ('get_chunk', 'ragdb_reader'),
      ('document_chunks', 'ragdb_reader'),
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
      ('list_incidents', 'ragdb_reader'),
      ('search_dual', 'ragdb_reader'),
      ('maintain', 'ragdb_writer'),
      ('drop_traces_before', 'ragdb_admin'),
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

comment on schema ragdb is 'RAG database: corpora, retrieval, slices, traces, contracts. ragdb 0.1.0, source 8138b36fa31c0dd8';

-- A dump holds the rows, and the extension at restore makes the tables. Partitions are made at run
-- time: they are no members and are dumped whole.
do $$
declare
  v_table regclass;
begin
  for v_table in
    select c.oid from pg_catalog.pg_class c
    where c.relnamespace = 'ragdb'::regnamespace and c.relkind = 'r' order by c.relname
  loop
    perform pg_catalog.pg_extension_config_dump(v_table, '');
  end loop;
end $$;
