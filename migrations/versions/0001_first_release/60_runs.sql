-- Runs of evals: outcomes of cases and assertions, metrics, what was ranked,
-- and the baselines among the runs.

create table ragdb.eval_runs (
  corpus_id integer not null,
  run_id uuid not null,
  created_at timestamptz not null,
  corpus text not null,
  corpus_version bigint not null,
  documents_hash text not null,
  labels_hash text not null,
  contract text not null,
  contract_version integer not null,
  rag text collate "C" not null,
  eval text collate "C" not null,
  retriever text not null,
  rank_mode text not null,
  top_k integer not null,
  min_score float8 not null,
  embedding_model text,
  reranker text,
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
  reasons text[] not null,
  elapsed_ms float8 not null,
  caller text not null,
  constraint eval_runs_are_unique primary key (corpus_id, run_id)
);
create unique index eval_runs_by_id on ragdb.eval_runs (run_id);
create index eval_runs_by_eval on ragdb.eval_runs (corpus_id, rag, eval, created_at);
comment on table ragdb.eval_runs is
  'One row for each run of an eval, with everything that decides whether two runs can be compared. '
  'Read it through ragdb.get_eval_run, ragdb.list_eval_runs and bi.dim_eval_run.';
comment on column ragdb.eval_runs.corpus_id is 'Corpus that was searched.';
comment on column ragdb.eval_runs.run_id is 'UUID of version 7.';
comment on column ragdb.eval_runs.created_at is 'When the run began.';
comment on column ragdb.eval_runs.corpus is 'Name of the corpus.';
comment on column ragdb.eval_runs.corpus_version is 'Version of the corpus.';
comment on column ragdb.eval_runs.documents_hash is
  'SHA-256 (hex) of the cids of its documents in order. It does not depend on how they are cut.';
comment on column ragdb.eval_runs.labels_hash is 'SHA-256 (hex) of the labels of its cases.';
comment on column ragdb.eval_runs.contract is 'The contract.';
comment on column ragdb.eval_runs.contract_version is 'Version of the contract that was in force.';
comment on column ragdb.eval_runs.rag is 'The rag.';
comment on column ragdb.eval_runs.eval is 'The eval.';
comment on column ragdb.eval_runs.retriever is 'Retriever of the rag.';
comment on column ragdb.eval_runs.rank_mode is
  'How the retriever ranked: lexical, semantic, hybrid or reference.';
comment on column ragdb.eval_runs.top_k is 'The retriever''s topK.';
comment on column ragdb.eval_runs.min_score is 'The retriever''s minScore.';
comment on column ragdb.eval_runs.embedding_model is
  'Model of the retriever''s embed; null without one.';
comment on column ragdb.eval_runs.reranker is 'Reranker of the retriever; null without one.';
comment on column ragdb.eval_runs.ranking_hash is 'Hash of how the corpus ranked.';
comment on column ragdb.eval_runs.semantics_version is
  'Version of what assertions and metrics mean.';
comment on column ragdb.eval_runs.label is 'Label that the caller gave the run; null without one.';
comment on column ragdb.eval_runs.tags is 'Tags that selected the cases; null for all cases.';
comment on column ragdb.eval_runs.metric is 'Metric of the eval; null without one.';
comment on column ragdb.eval_runs.threshold is 'Value that the metric has to reach.';
comment on column ragdb.eval_runs.metric_value is
  'Value of the metric; null when nothing could be measured.';
comment on column ragdb.eval_runs.cases is 'Cases and answer contracts that ran.';
comment on column ragdb.eval_runs.passed_cases is 'Cases and answer contracts that passed.';
comment on column ragdb.eval_runs.assertions is 'Assertions evaluated.';
comment on column ragdb.eval_runs.passed_assertions is 'Assertions that passed.';
comment on column ragdb.eval_runs.stale_labels is 'Labels that no longer resolve.';
comment on column ragdb.eval_runs.status is 'passed, failed, or empty when no case was selected.';
comment on column ragdb.eval_runs.reasons is 'Why the run failed although every case passed.';
comment on column ragdb.eval_runs.elapsed_ms is 'Milliseconds of the whole run.';
comment on column ragdb.eval_runs.caller is 'Role that ran it.';

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
comment on table ragdb.eval_case_results is
  'Outcome of every case of a run. Read it through ragdb.eval_case_results and '
  'bi.fact_case_result.';
comment on column ragdb.eval_case_results.corpus_id is 'Corpus of the run.';
comment on column ragdb.eval_case_results.run_id is 'The run.';
comment on column ragdb.eval_case_results.case_no is 'Place in the run, from 1.';
comment on column ragdb.eval_case_results.kind is 'case, or answer for an answer contract.';
comment on column ragdb.eval_case_results.name is 'Name of the case.';
comment on column ragdb.eval_case_results.query is 'Query of the case.';
comment on column ragdb.eval_case_results.tags is 'Tags of the case.';
comment on column ragdb.eval_case_results.status is
  'passed, failed, or error when part of the case could not be evaluated.';
comment on column ragdb.eval_case_results.trace_id is
  'Trace of the retrieval; null when the retrieval failed.';
comment on column ragdb.eval_case_results.elapsed_ms is 'Milliseconds of the retrieval.';
comment on column ragdb.eval_case_results.error_code is 'SQLSTATE of a retrieval that failed.';
comment on column ragdb.eval_case_results.hits is 'Chunks retrieved.';
comment on column ragdb.eval_case_results.labels is 'Labels of the case.';
comment on column ragdb.eval_case_results.stale_labels is
  'Labels of the case that no longer resolve.';

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
comment on table ragdb.eval_assert_results is
  'Outcome of every assertion of a run. Read it through ragdb.eval_assert_results and '
  'bi.fact_assertion.';
comment on column ragdb.eval_assert_results.corpus_id is 'Corpus of the run.';
comment on column ragdb.eval_assert_results.run_id is 'The run.';
comment on column ragdb.eval_assert_results.case_no is 'The case.';
comment on column ragdb.eval_assert_results.assert_no is 'Place in the case, from 1.';
comment on column ragdb.eval_assert_results.kind is
  'Kind of assertion. It is expected.… for a field of the case, label for a label, and the code of '
  'a diagnostic for an answer.';
comment on column ragdb.eval_assert_results.required is 'Whether its failure fails the case.';
comment on column ragdb.eval_assert_results.passed is 'Whether it passed.';
comment on column ragdb.eval_assert_results.code is
  'PASS, ASSERTION_FAIL, INVALID_ASSERTION, UNSUPPORTED_ASSERTION, RETRIEVER_ERROR or STALE_LABEL.';
comment on column ragdb.eval_assert_results.message is
  'What was expected, or why the assertion could not be evaluated.';
comment on column ragdb.eval_assert_results.expected is 'The value expected.';
comment on column ragdb.eval_assert_results.actual is 'The value found.';

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
comment on table ragdb.eval_metrics is
  'Metrics of a run and of each of its cases. Read it through ragdb.eval_metrics and '
  'bi.fact_eval_metric.';
comment on column ragdb.eval_metrics.corpus_id is 'Corpus of the run.';
comment on column ragdb.eval_metrics.run_id is 'The run.';
comment on column ragdb.eval_metrics.case_no is 'The case; 0 for the run as a whole.';
comment on column ragdb.eval_metrics.metric is 'Name of the metric, such as ndcg@10.';
comment on column ragdb.eval_metrics.value is 'Value of the metric, 0 to 1.';

create table ragdb.eval_items (
  corpus_id integer not null,
  run_id uuid not null,
  case_no integer not null,
  rank integer not null,
  item text not null,
  grade integer,
  constraint eval_items_are_unique primary key (corpus_id, run_id, case_no, rank),
  constraint eval_items_case_exists foreign key (corpus_id, run_id, case_no)
    references ragdb.eval_case_results on delete cascade
);
comment on table ragdb.eval_items is
  'What was ranked, as labels, metrics and the exports to TREC see it: each document or labelled '
  'span once. Read it through ragdb.export_trec.';
comment on column ragdb.eval_items.corpus_id is 'Corpus of the run.';
comment on column ragdb.eval_items.run_id is 'The run.';
comment on column ragdb.eval_items.case_no is 'The case.';
comment on column ragdb.eval_items.rank is 'Place among the items, from 1.';
comment on column ragdb.eval_items.item is 'Document, span or chunk.';
comment on column ragdb.eval_items.grade is 'Grade of its label; null when nobody judged the item.';

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
comment on table ragdb.eval_baselines is
  'Runs that later runs are compared with. Read it through ragdb.baseline_run.';
comment on column ragdb.eval_baselines.corpus_id is 'Corpus of the run.';
comment on column ragdb.eval_baselines.rag is 'The rag.';
comment on column ragdb.eval_baselines.eval is 'The eval.';
comment on column ragdb.eval_baselines.name is 'Name of the baseline.';
comment on column ragdb.eval_baselines.run_id is 'The run.';
comment on column ragdb.eval_baselines.blessed_at is 'When the run was blessed.';
comment on column ragdb.eval_baselines.blessed_by is 'Role that blessed it.';
comment on column ragdb.eval_baselines.reason is 'Reason that the role gave; null without one.';
