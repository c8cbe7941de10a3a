-- Made from migrations/ and sql/ by `make extension`; edit those.
\echo use "create extension ragdb cascade" to load this file \quit

-- Roles are the whole server's; making them takes createrole, having them made before takes nothing.
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
  constraint chunks_number_is_unique_per_corpus primary key (corpus_id, chunk_no),
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
  edge_type text not null
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
  id boolean constraint event_clock_has_one_row primary key check (id),
  lamport bigint not null
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
create index chunk_lexemes_by_lexeme on ragdb.chunk_lexemes
  using gin (lexemes) with (fastupdate = off);

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
    ('RG420', 'NoAnswer', 'timeout', 408, 'no worker answered in time')
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
  if text_config is null or not exists (select from pg_ts_config c
      where c.cfgname = text_config and c.cfgnamespace = 'pg_catalog'::regnamespace) then
    raise exception 'text configuration % is not one of PostgreSQL''s own', ragdb._quote(text_config)
      using errcode = 'RG400', detail = 'a corpus is analysed by a configuration of pg_catalog, the same on every server',
            hint = (select 'it is one of ' || string_agg(c.cfgname, ', ' order by c.cfgname)
                    from pg_ts_config c where c.cfgnamespace = 'pg_catalog'::regnamespace);
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
  if corpus not in ('personal', 'system') and not pg_has_role(v_caller, 'ragdb_writer', 'usage') then
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
language plpgsql stable parallel safe security definer
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

---- sql/30_text.sql

-- Text: how words become lexemes, and the tokens and hash of the reference ranking.

-- Marked immutable because the dictionaries are those of pg_catalog, which a major version fixes.
create or replace function ragdb._lexemes(text text, config text) returns tsvector
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return to_tsvector(config::regconfig, lower(normalize(text, nfkc)));
end $$;
comment on function ragdb._lexemes(text, text) is
  'Returns the lexemes of a text with their positions in word order, by the rules of a text configuration; chunks and queries alike.';

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
language plpgsql security definer
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
  return query select v_corpus.chunks, v_corpus.pivot, v_pivot, v_dropped;
end $$;
comment on function ragdb.optimize_corpus(text) is
  'Sets a corpus''s pivot to the mean length of its chunks, recomputes impacts and bounds and drops lexemes that no chunk has. Raises RG400, RG401, RG404.';

---- sql/40_search.sql

-- Search: exact BM25 over the lexical index, the reference ranking, and what a hit looks like.

do $$ begin
  if pg_catalog.to_regtype('ragdb.hit') is null then
    create type ragdb.hit as (
      rank integer, corpus text, chunk_id text, doc_cid text, source text, title text, heading text[],
      page integer, start_offset integer, end_offset integer, text text, citation jsonb,
      score float8, lexical_score float8, semantic_score float8,
      lexical_rank integer, semantic_rank integer, bm25 float8, coverage float8,
      content_hash text, metadata jsonb);
  end if;
end $$;
comment on type ragdb.hit is
  'One result of a search: the chunk, where it stands in its source, and its scores in [0, 1] with the raw BM25 beside them.';

-- "quoted phrase", +word and -word, as web search engines have them; everything else only ranks. A sign counts
-- before a letter or a quote: "+1 nucleosome" and "-5 degrees" are plain words.
create or replace function ragdb._query_clauses(query text)
returns table (kind text, is_phrase boolean, text text)
language sql immutable parallel safe
begin atomic
  select case m.part[1] when '-' then 'not' when '+' then 'must' else case when m.part[2] is null then 'rank' else 'must' end end,
    m.part[2] is not null, coalesce(m.part[2], m.part[3])
  from pg_catalog.regexp_matches(_query_clauses.query, '(?:(?<![^\s])([+-])(?=[^\u0001-\u0040[-\u0060{-\u007f]|"))?(?:"([^"]*)"|([^\s"]+|"))', 'g') m (part);
end;
comment on function ragdb._query_clauses(text) is
  'Splits a query into clauses: rank (a word), must (+word, "phrase") and not (-word, -"phrase").';

-- What a clause demands of a chunk, as the text of a tsquery over tokens; null when the corpus lacks one of its lexemes.
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

-- The score that counts: float8, terms in the order of their lexemes, whatever their numbers are. An impact is
-- a float4 made of a small whole number, the term's frequency, and gives it back exactly.
create or replace function ragdb._bm25(corpus ragdb.corpora, chunk_nos integer[], term_ids integer[], weights float8[])
returns table (chunk_no integer, bm25 float8, matched float8)
language sql stable parallel safe
begin atomic
  select x.chunk_no,
    coalesce(sum(t.weight * ((corpus).k1 + 1) * f.tf / (f.tf + n.norm) order by t.ordinal) filter (where f.tf > 0), 0),
    coalesce(sum(t.weight order by t.ordinal) filter (where f.tf > 0), 0)
  from ragdb.chunk_lexemes x
    cross join lateral (select (corpus).k1 * (1 - (corpus).b + (corpus).b * x.lexeme_count / (corpus).pivot) as norm
      offset 0) n
    cross join (
      select u.weight, u.ordinal, ragdb._sparse(u.term_id || ':1') as unit
      from rows from (unnest(_bm25.term_ids), unnest(_bm25.weights)) with ordinality u (term_id, weight, ordinal)
      offset 0) t
    cross join lateral (select ragdb._inner_product(x.impacts, t.unit) as impact offset 0) i
    cross join lateral (select case when i.impact > 0 then
        greatest(1, round(i.impact * n.norm / nullif((corpus).k1 + 1 - i.impact, 0))) else 0 end as tf offset 0) f
  where x.corpus_id = (corpus).corpus_id and x.chunk_no = any (_bm25.chunk_nos)
  group by x.chunk_no;
end;
comment on function ragdb._bm25(ragdb.corpora, integer[], integer[], float8[]) is
  'Returns the exact BM25 of chunks and the weight of the terms they have; weights are idf times query frequency, in the order of the sum.';

create or replace function ragdb._rank_lexical(
  corpus ragdb.corpora, statistics ragdb.corpora, query text, k integer,
  filter jsonb, chunk_ids text[])
returns table (chunk_no integer, score float8, bm25 float8, coverage float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  v_text text := query;
  v_must text := '';
  v_clause record;
  v_condition text;
  v_ids integer[];
  v_weights float8[];
  v_tokens text[];
  v_asked float8;
  v_vector ragdb.chunk_lexemes.impacts%type;
  v_limit integer := 2 * k + 32;
  v_found integer[];
  v_scores float8[];
begin
  if query ~ '"|(^|\s)[+-][^\u0001-\u0040[-\u0060{-\u007f]' then
    select string_agg(c.text, ' ') filter (where c.kind <> 'not') into v_text from ragdb._query_clauses(query) c;
    for v_clause in
      select c.kind, c.is_phrase, ragdb._lexemes(c.text, corpus.text_config) as words
      from ragdb._query_clauses(query) c where c.kind <> 'rank'
    loop
      continue when v_clause.words = '';
      v_condition := ragdb._clause_condition(corpus.corpus_id, v_clause.words, v_clause.is_phrase);
      if v_clause.kind = 'must' then
        if v_condition is null then
          return;
        end if;
        v_must := v_must || '&' || v_condition;
      elsif v_condition is not null then
        v_must := v_must || '&!' || v_condition;
      end if;
    end loop;
  end if;
  select array_agg(t.term_id order by t.lexeme) filter (where t.df > 0),
    array_agg(t.weight order by t.lexeme) filter (where t.df > 0),
    array_agg(ragdb._token(corpus.corpus_id, t.term_id) order by t.df, t.lexeme) filter (where t.df > 0),
    sum(t.weight order by t.lexeme),
    ragdb._sparse(string_agg(t.term_id || ':' || t.weight::real, ',') filter (where t.df > 0))
  into v_ids, v_weights, v_tokens, v_asked, v_vector
  from (
    select w.lexeme collate "C" as lexeme, l.term_id, coalesce(l.df, 0) as df,
      cardinality(w.positions)
        * ln(1 + (statistics.chunks - coalesce(s.df, 0) + 0.5::float8) / (coalesce(s.df, 0) + 0.5::float8)) as weight
    from unnest(ragdb._lexemes(v_text, corpus.text_config)) w
      left join ragdb.lexemes l on l.corpus_id = corpus.corpus_id and l.lexeme = w.lexeme
      left join ragdb.lexemes s on s.corpus_id = statistics.corpus_id and s.lexeme = w.lexeme
  ) t;
  if v_ids is null then
    return;
  end if;
  -- ties at the k-th place, and what float4 cannot tell from them, are all candidates
  loop
    select array_agg(c.chunk_no order by c.score desc), array_agg(c.score order by c.score desc)
    into v_found, v_scores
    from ragdb._candidates(('(' || array_to_string(v_tokens[:32], '|') || ')' || v_must)::tsquery, v_vector, v_limit) c;
    exit when coalesce(cardinality(v_found), 0) < v_limit
      or v_scores[v_limit] < v_scores[k] * (1 - 1e-5::float8);
    v_limit := 8 * v_limit;
  end loop;
  return query
    select b.chunk_no, b.bm25 / (v_asked * (corpus.k1 + 1)), b.bm25, b.matched / v_asked
    from ragdb._bm25(corpus, v_found, v_ids, v_weights) b;
end $$;
comment on function ragdb._rank_lexical(ragdb.corpora, ragdb.corpora, text, integer, jsonb, text[]) is
  'Returns at least the k best chunks of a corpus by BM25 over the most the query could reach, in no order, with the raw BM25 and the share of the query''s idf that the chunk has.';

-- Definer: the tables of a corpus are granted to nobody; the caller's right is checked here, once per corpus.
create or replace function ragdb.search(
  corpora text[], query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null)
returns setof ragdb.hit
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  v_name text;
  v_corpora ragdb.corpora[] := '{}';
  v_statistics ragdb.corpora;
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
  if mode in ('semantic', 'hybrid') then
    raise exception 'mode % is not available', ragdb._quote(mode)
      using errcode = 'RG415', detail = 'the corpus has no embeddings', hint = 'pass mode => ''lexical''';
  elsif mode not in ('lexical', 'reference') then
    raise exception 'mode % is unknown', ragdb._quote(mode)
      using errcode = 'RG400', detail = 'modes are lexical, reference, semantic and hybrid',
            hint = 'leave mode out for the default';
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
  return query
    with ranked as materialized (
      select c.corpus_id, c.name, r.*
      from unnest(v_corpora) c
        cross join lateral ragdb._rank_lexical(c, case when v_statistics is null then c else v_statistics end,
          search.query, search.k, search.filter, search.chunk_ids) r
      where r.score >= min_score
    ), top as materialized (
      select r.*, h.doc_no, h.chunk_id, h.source, h.heading, h.page, h.start_offset, h.end_offset, h.text, h.citation,
        h.content_hash,
        row_number() over (order by r.score desc, h.chunk_id, r.name)::integer as rank
      from ranked r join ragdb.chunks h on h.corpus_id = r.corpus_id and h.chunk_no = r.chunk_no
      order by rank limit search.k
    )
    select t.rank, t.name, t.chunk_id, d.doc_cid, t.source, d.title, t.heading, t.page, t.start_offset, t.end_offset,
      t.text, t.citation, t.score, t.score, null::float8, t.rank, null::integer, t.bm25, t.coverage,
      encode(t.content_hash, 'hex'), d.metadata
    from top t join ragdb.documents d on d.corpus_id = t.corpus_id and d.doc_no = t.doc_no
    order by t.rank;
end $$;
comment on function ragdb.search(text[], text, integer, text, float8, jsonb, text[], text) is
  'Returns the k (1 to 1000) best chunks of several corpora for a query, in one order of scores in [0, 1]. Raises RG400, RG401, RG404, RG410, RG415.';

create or replace function ragdb.search(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0,
  filter jsonb default null, chunk_ids text[] default null, statistics text default null)
returns setof ragdb.hit
language sql stable parallel safe
begin atomic
  select * from ragdb.search(array[search.corpus], search.query, search.k, search.mode, search.min_score,
    search.filter, search.chunk_ids, search.statistics);
end;
comment on function ragdb.search(text, text, integer, text, float8, jsonb, text[], text) is
  'Returns the k (1 to 1000) best chunks of a corpus for a query, by score (0 to 1, none below min_score), then chunk_id. Raises RG400, RG401, RG404, RG410, RG415.';

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
end $$;
comment on function ragdb._protect_partition(text) is
  'Puts the triggers on a partition that make it append-only for everyone.';

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
  v_is_moving boolean;
  v_has_default boolean := to_regclass('ragdb.retrieval_hits_default') is not null;
  v_ahead date[] := array(
    select (date_trunc('month', ragdb._now() at time zone 'UTC') + make_interval(months => i))::date
    from generate_series(0, 3) i);
  v_months date[];
  v_month date;
  v_made text[] := '{}';
begin
  if v_has_default
    and to_regclass('ragdb.' || ragdb._partition_name('retrieval_hits', v_ahead[1])) is not null
    and to_regclass('ragdb.' || ragdb._partition_name('retrieval_hits', v_ahead[4])) is not null
  then
    execute 'select exists (select from ragdb.retrieval_traces_default)' into v_is_moving;
    if not v_is_moving then
      return;
    end if;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('ragdb.maintain', 0));
  foreach v_parent in array array['retrieval_traces', 'retrieval_hits'] loop
    v_months := v_ahead;
    v_is_moving := false;
    v_default := ragdb._partition_name(v_parent, null);
    if to_regclass('ragdb.' || v_default) is not null then
      execute format('select coalesce(array_agg(distinct date_trunc(''month'','
        ' created_at at time zone ''UTC'')::date), ''{}'') from ragdb.%I', v_default) into v_months;
      v_is_moving := v_months <> '{}';
      v_months := array(select distinct m from unnest(v_months || v_ahead) m order by m);
    end if;
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
      content_hash text, metadata jsonb);
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
  trace.result_hash := ragdb._result_hash(v_hits);
  trace.trace_hash := ragdb._trace_hash(trace, v_hits);
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
      ('limit_returned', v_trace.limit_returned::text, cardinality(v_hits)::text),
      ('query_hash', v_trace.query_hash, case when v_trace.query_text is null then v_trace.query_hash
        else encode(sha256(ragdb._utf8(v_trace.query_text)), 'hex') end)
    ) as v (field, stored, recomputed);
end $$;
comment on function ragdb.verify_trace(uuid) is
  'Recomputes the hashes of a trace from its rows: one row for trace_hash (every column and hit), result_hash, limit_returned and query_hash, is_intact false where a row was edited, added or removed since. Raises RG400, RG407.';

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
      -- corpora
      ('create_corpus', 'ragdb_writer'),
      ('drop_corpus', 'ragdb_admin'),
      ('list_corpora', 'ragdb_reader'),
      ('corpus_info', 'ragdb_reader'),
      ('grant_corpus', 'ragdb_writer'),
      ('revoke_corpus', 'ragdb_writer'),
      -- documents
      ('put_blob', 'ragdb_writer'),
      ('get_blob', 'ragdb_reader'),
      ('put_document', 'ragdb_writer'),
      ('put_documents', 'ragdb_writer'),
      ('put_text', 'ragdb_writer'),
      ('delete_document', 'ragdb_writer'),
      ('delete_source', 'ragdb_writer'),
      ('prune_sources', 'ragdb_writer'),
      ('events_after', 'ragdb_reader'),
      -- the lexical index
      ('optimize_corpus', 'ragdb_writer'),
      -- search
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
  -- the types of rows that functions return
  for v_grant in
    select c.reltype::regtype as row_type from pg_catalog.pg_class c
    where c.relnamespace = 'ragdb'::regnamespace and c.relkind = 'c'
  loop
    execute format('revoke all on type %s from public', v_grant.row_type);
    execute format('grant usage on type %s to ragdb_reader', v_grant.row_type);
  end loop;
end $$;

comment on schema ragdb is 'RAG database: corpora, retrieval, slices, traces, contracts. ragdb 0.1.0, source ec8e648b8682a87d';

-- A dump holds the rows, and the extension at restore makes the tables. Partitions are made at run time
-- by ragdb.maintain(): they are no members and are dumped whole.
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
