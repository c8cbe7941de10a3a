-- Who may call what. Nobody has a right to a table or to anything in schema ragdb_internal. The
-- least role that may call a public function has the right to it: a writer is a reader too, an
-- admin is a writer too. Nobody can call a public function that is missing here, and a test names
-- it.

revoke all on schema ragdb, ragdb_internal from public;
grant usage on schema ragdb to ragdb_reader;
revoke all on all tables in schema ragdb from public, ragdb_reader, ragdb_writer, ragdb_admin;
revoke all on all routines in schema ragdb, ragdb_internal
  from public, ragdb_reader, ragdb_writer, ragdb_admin;

do $$
declare
  v_grant record;
begin
  for v_grant in
    select p.oid::regprocedure as routine, g.role
    from (values
      -- corpora and documents. Whoever has `personal` or a grant may write: the right is looked up
      -- inside
      ('create_corpus', 'ragdb_reader'),
      ('drop_corpus', 'ragdb_reader'),
      ('list_corpora', 'ragdb_reader'),
      ('corpus_info', 'ragdb_reader'),
      ('grant_corpus', 'ragdb_reader'),
      ('revoke_corpus', 'ragdb_reader'),
      ('check_corpus', 'ragdb_reader'),
      ('repair_corpus', 'ragdb_reader'),
      ('export_corpus', 'ragdb_reader'),
      ('export_documents', 'ragdb_reader'),
      ('export_embeddings', 'ragdb_reader'),
      ('import_corpus', 'ragdb_reader'),
      ('import_documents', 'ragdb_reader'),
      ('import_embeddings', 'ragdb_reader'),
      ('finish_import', 'ragdb_reader'),
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
      ('corpus_embedder', 'ragdb_reader'),
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
      -- reranking
      ('bind_reranker', 'ragdb_admin'),
      ('list_rerankers', 'ragdb_reader'),
      ('rerank_depth', 'ragdb_reader'),
      ('record_rerank', 'ragdb_reader'),
      ('trace_reranks', 'ragdb_reader'),
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
      ('refresh_rollups', 'ragdb_writer'),
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
      -- sources and tools of contracts. Who may write the corpus may record: looked up inside
      ('record_reading', 'ragdb_reader'),
      ('list_sources', 'ragdb_reader'),
      ('list_tools', 'ragdb_reader'),
      ('search_tool', 'ragdb_reader'),
      ('retrieve_tool', 'ragdb_reader'),
      ('tool_candidates', 'ragdb_reader'),
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
      ('eval_candidates', 'ragdb_reader'),
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
  -- the types of rows that public functions return
  for v_grant in
    select c.reltype::regtype as row_type, c.relnamespace = 'ragdb'::regnamespace as is_public
    from pg_catalog.pg_class c
    where c.relnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace)
      and c.relkind = 'c'
  loop
    execute format('revoke all on type %s from public', v_grant.row_type);
    if v_grant.is_public then
      execute format('grant usage on type %s to ragdb_reader', v_grant.row_type);
    end if;
  end loop;
end $$;
