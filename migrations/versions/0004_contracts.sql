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
