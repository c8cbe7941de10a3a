-- The rows that evaluations hand on between their steps: labels, what a run rests on, a case with
-- its hits, measures, what an assertion came to.

-- A label of a case, and the document that it is of now, in the corpus or in a part of it.
create type ragdb_internal.eval_label as (
  case_no integer, label_no integer, source text, start_offset integer, end_offset integer,
  grade integer, span_hash bytea, part_id integer, doc_no integer,
  is_stale boolean);

-- All that a run rests on: nodes of the contract, the retriever's settings, the corpus, the scores
-- of its reranker.
create type ragdb_internal.eval_setting as (
  rag ragdb.contract_nodes, eval ragdb.contract_nodes, retriever ragdb.contract_nodes,
  settings ragdb.retriever_settings, corpus ragdb.corpora, metric text, threshold float8,
  max_context integer, rerank_scores jsonb);

-- A case with what was retrieved for it.
create type ragdb_internal.eval_retrieval as (
  outcome ragdb_internal.eval_case, hits ragdb_internal.eval_hit[]);

-- A metric of a case; case 0 is the run.
create type ragdb_internal.eval_measure as (case_no integer, metric text, value float8);

-- A case of a run with its number there, what it expects, and what was retrieved for it.
create type ragdb_internal.run_case as (
  case_no integer, name text, tags text[], expected jsonb, asserts jsonb,
  retrieved ragdb_internal.eval_retrieval);

-- Whether an assertion holds, before it is negated, and what was there.
create type ragdb_internal.assertion_outcome as (holds boolean, actual jsonb);
