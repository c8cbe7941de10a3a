comment on table ragdb.eval_cases is
  'Cases of an eval that came from files, beside those that its contract declares.';
comment on column ragdb.eval_cases.corpus_id is 'Corpus of the rag.';
comment on column ragdb.eval_cases.rag is 'The rag.';
comment on column ragdb.eval_cases.eval is 'The eval.';
comment on column ragdb.eval_cases.name is 'Name of the case: the id of its query.';
comment on column ragdb.eval_cases.ordinal is 'Place in the file, from 1.';
comment on column ragdb.eval_cases.query is 'The query.';
comment on column ragdb.eval_cases.tags is 'Tags to choose it by.';
comment on table ragdb.eval_labels is
  'What a case should find: a document, or a span of one however it is cut into chunks.';
comment on column ragdb.eval_labels.corpus_id is 'Corpus of the case.';
comment on column ragdb.eval_labels.rag is 'Rag of the case.';
comment on column ragdb.eval_labels.eval is 'Eval of the case.';
comment on column ragdb.eval_labels.name is 'The case.';
comment on column ragdb.eval_labels.label_no is 'Number of the label in its case, from 1.';
comment on column ragdb.eval_labels.source is 'Uri or external id of the document.';
comment on column ragdb.eval_labels.start_offset is
  'First character of the span, from 0; null for the whole document.';
comment on column ragdb.eval_labels.end_offset is 'Character behind the span.';
comment on column ragdb.eval_labels.grade is 'How relevant; 0 and less is judged and not relevant.';
comment on column ragdb.eval_labels.span_hash is
  'Sha256 of the characters of the span that are no white space, when it was labelled.';
comment on table ragdb.eval_runs is
  'One row per run of an eval, with all that decides whether two of them can be compared.';
comment on column ragdb.eval_runs.corpus_id is 'Corpus that was searched.';
comment on column ragdb.eval_runs.run_id is 'UUID of version 7.';
comment on column ragdb.eval_runs.created_at is 'When it began.';
comment on column ragdb.eval_runs.corpus is 'Name of the corpus.';
comment on column ragdb.eval_runs.corpus_version is 'Version of the corpus.';
comment on column ragdb.eval_runs.documents_hash is
  'Sha256 (hex) of the cids of its documents in order: the same however they are cut.';
comment on column ragdb.eval_runs.contract is 'The contract.';
comment on column ragdb.eval_runs.contract_version is 'Version of the contract that was in force.';
comment on column ragdb.eval_runs.rag is 'The rag.';
comment on column ragdb.eval_runs.eval is 'The eval.';
comment on column ragdb.eval_runs.retriever is 'Retriever of the rag.';
comment on column ragdb.eval_runs.rank_mode is
  'How it ranked: lexical, semantic, hybrid or reference.';
comment on column ragdb.eval_runs.top_k is 'Its topK.';
comment on column ragdb.eval_runs.min_score is 'Its minScore.';
comment on column ragdb.eval_runs.embedding_model is 'Model of its embed; null without one.';
comment on column ragdb.eval_runs.ranking_hash is 'Hash of how the corpus ranked.';
comment on column ragdb.eval_runs.semantics_version is
  'Version of what assertions and metrics mean.';
comment on column ragdb.eval_runs.reranker is 'Reranker of its retriever; null without one.';
comment on column ragdb.eval_runs.label is 'What the caller called the run.';
comment on column ragdb.eval_runs.tags is 'Tags that chose its cases; null for all.';
comment on column ragdb.eval_runs.metric is 'Metric of the eval; null without one.';
comment on column ragdb.eval_runs.threshold is 'What the metric has to reach.';
comment on column ragdb.eval_runs.metric_value is
  'What it was; null when nothing could be measured.';
comment on column ragdb.eval_runs.cases is 'Cases and answer contracts that ran.';
comment on column ragdb.eval_runs.passed_cases is 'Those that passed.';
comment on column ragdb.eval_runs.assertions is 'Assertions evaluated.';
comment on column ragdb.eval_runs.passed_assertions is 'Those that passed.';
comment on column ragdb.eval_runs.stale_labels is 'Labels that no longer resolve.';
comment on column ragdb.eval_runs.status is 'passed, failed, or empty when no case was chosen.';
comment on column ragdb.eval_runs.reasons is 'Why it failed beyond its cases.';
comment on column ragdb.eval_runs.elapsed_ms is 'Milliseconds of the whole run.';
comment on column ragdb.eval_runs.caller is 'Role that ran it.';
comment on table ragdb.eval_items is
  'What was ranked, as labels see it: a document, or a labelled span, once.';
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
