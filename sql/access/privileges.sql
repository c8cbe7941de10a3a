-- Who may call what. Nobody has a right to a table or to anything in schema ragdb_internal. The
-- list says of every public function, by the folder of its file, the least role that may call it: a
-- writer is a reader too, and an admin is a writer too. A signer is a reader who may have the
-- secrets of keys, an auditor is a reader who accounts for all: where a line names both, neither
-- includes the other, and bi_reader is none of these. Nobody can call a public function that is
-- missing here, and a test names it.

comment on schema ragdb_internal is 'What ragdb is made of. Nobody calls it: call schema ragdb.';
grant usage on schema ragdb to ragdb_reader, bi_reader;
revoke all on all routines in schema ragdb, ragdb_internal
  from public, ragdb_reader, ragdb_writer, ragdb_admin, ragdb_auditor, ragdb_signer;

do $$
declare
  v_grant record;
begin
  for v_grant in
    select p.oid::regprocedure as routine, r.role
    from (values
      ('core', 'ragdb_reader',
        'error_codes grant_corpus revoke_corpus restrict_corpus unrestrict_corpus '
        'list_grants origin log_position has_reached'),
      ('core', 'bi_reader', 'error_codes'), -- bi.dim_error reads it
      ('core', 'ragdb_admin',
        'dead_roles bind_role '
        'create_signing_key revoke_signing_key report_key_compromise list_signing_keys '
        'list_key_events'),
      ('core', 'ragdb_signer', 'register_signing_key export_signing_keys import_signing_key'),
      ('text', 'ragdb_reader', 'guess_languages kern_chunk_hash list_text_configs'),
      ('lexical', 'ragdb_reader', 'sync_statistics'),
      -- whoever has `personal` or a grant may write: the right is looked up inside
      ('documents', 'ragdb_reader',
        'corpus_events events_after put_documents put_document delete_source '
        'delete_sources delete_document prune_sources put_blob get_blob list_blobs drop_blob '
        'list_documents '
        'get_document get_source known_sources unchanged_sources note_readings get_chunk '
        'find_chunk list_chunks document_chunks document_versions document_text check_corpus '
        'repair_corpus'),
      ('vectors', 'ragdb_reader', 'list_embedders put_query_embedding corpus_embedder'),
      ('vectors', 'ragdb_writer', 'create_embedder bind_embedder'),
      ('static', 'ragdb_reader', 'embed list_static_models'),
      ('static', 'ragdb_admin', 'put_static_pieces bind_static set_default_embedder'),
      ('graph', 'ragdb_reader',
        'turn_id put_conversations get_turn list_turns resolve_explicit resolve_from_session '
        'resolve_temporal append_turns add_edges remove_edges get_parents get_children get_edges'),
      ('embedding', 'ragdb_reader',
        'embed_corpus reembed_corpus cutover_corpus rollback_corpus drop_space '
        'index_space optimize_corpus '
        'claim_embeddings renew_embeddings complete_embeddings '
        'fail_embeddings retry_failed requeue_embeddings embedding_status '
        'list_failed_embeddings request_query_embedding query_embedding_state '
        'claim_queries fail_query embed_query has_worker put_embeddings'),
      ('search', 'ragdb_reader',
        'search explain_search explain_score explain_scores explain_missing highlight similar '
        'highlight_chunks map_corpus match_documents facets count_matches '
        'did_you_mean search_documents query_embedder calibrate_gate gate_questions '
        'ranking_digest search_candidates merge_candidates'),
      ('history', 'ragdb_reader',
        'version_at list_versions diff_corpus keep_history drop_history '
        'erase_source'),
      ('policies', 'ragdb_reader', 'xxh64 policy_hash list_policies registry_fingerprint'),
      ('policies', 'ragdb_admin', 'register_policy'),
      ('traces', 'ragdb_reader',
        'retrieve last_trace_id get_trace trace_hits list_traces find_trace record_failure '
        'list_rerankers rerank_depth record_rerank trace_reranks verify_trace'),
      ('traces', 'ragdb_writer', 'refresh_rollups maintain'),
      ('traces', 'ragdb_admin',
        'drop_traces_before drop_kept_queries_before erase_traces erase_caller bind_reranker'),
      ('corpora', 'ragdb_reader',
        'put_text put_texts create_corpus drop_corpus list_corpora count_corpora list_parts '
        'corpus_info '
        'record_reads record_refusal add_synonyms add_synonym_lists remove_synonyms list_synonyms '
        'part_statistics put_part_statistics drop_part_statistics'),
      ('corpora', 'ragdb_auditor', 'list_access_events'),
      ('corpora', 'ragdb_admin', 'drop_access_events_before set_quota list_quotas'),
      ('slices', 'ragdb_reader',
        'build_slice build_slices export_slice list_slices get_slice find_slice verify_token '
        'slice_members filter_admissible is_admissible search_slice search_global retrieve_slice '
        'resolve_from_query resolve_anchor replay replay_cited replay_hits why_not slice_graph'),
      ('promotion', 'ragdb_reader',
        'list_incidents promote_to_atom propose decide_proposal list_proposals '
        'search_dual verify_atom list_atoms'),
      ('erasure', 'ragdb_reader', 'list_erasures'),
      -- who may write the corpora of a contract may apply it: the right is looked up inside
      ('contracts', 'ragdb_reader',
        'assertion_kinds parse_contract validate_contract '
        'write_contract export_contract list_contracts '
        'apply_contract withdraw_contract get_retriever search_with retrieve_with inline_spans '
        'evaluate_answer list_tools search_tool retrieve_tool tool_candidates '
        'record_reading list_sources'),
      ('evaluation', 'ragdb_reader',
        'evaluate_case get_eval_run find_run list_eval_runs eval_case_results '
        'eval_assert_results eval_metrics eval_queries eval_candidates import_eval '
        'run_eval bless_run baseline_run compare_runs challenge_eval eval_report '
        'assert_run_passed export_trec space_questions compare_spaces '
        'list_evals list_eval_cases add_eval_case'),
      ('evaluation', 'ragdb_admin', 'drop_eval_runs_before'),
      ('evidence', 'ragdb_reader',
        'evidence_pack_to_input evidence_provenance build_evidence_pack validate_citations '
        'check_citations rag_enough_context_gate rag_query_plan validate_query_plan '
        'answer_from_evidence record_gate record_answer ask ask_retriever '
        'ask_plan ask_weigh ask_verify record_feedback list_feedback '
        'feedback_cases trace_stages locate_quote '
        'list_answers get_answer list_citations citation_codes list_gates list_unanswered'),
      ('ledger', 'ragdb_admin',
        'seal_ledger set_ledger name_ledger record_erasure store_checkpoint'),
      ('ledger', 'ragdb_admin ragdb_auditor',
        'ledger_status ledger_entries ledger_entry ledger_kinds ledger_tile ledger_bundle '
        'list_ledger_acts ledger_root ledger_inclusion_proof ledger_consistency_proof '
        'ledger_checkpoint list_checkpoints verify_ledger'),
      ('wire', 'ragdb_reader',
        'capability_schemas capabilities event_envelopes corpus_event_envelopes rag_query '
        'rag_list_corpora corpora_with_chunks prepare_query retrieve_global provenance rag_ingest '
        'job_state claim_ingest_jobs complete_ingest_job fail_ingest_job embed_text '
        'claim_embed_jobs complete_embed_job fail_embed_job http_token_role '
        'open_http_session http_session_role close_http_session job_status'),
      ('wire', 'ragdb_admin', 'create_http_token revoke_http_token list_http_tokens'),
      ('peers', 'ragdb_reader',
        'shared_feed list_peer_corpora list_shared_events list_conflicts list_shared_documents '
        'merge_peer_answers'),
      ('peers', 'ragdb_admin',
        'add_peer revoke_peer remove_peer list_peers share_corpus unshare_corpus follow_peer '
        'draft_events publish_events apply_events'),
      ('bi', 'ragdb_reader bi_reader', 'metrics traffic'),
      ('verify', 'ragdb_reader', 'advice'),
      ('verify', 'ragdb_admin ragdb_auditor', 'verification_checks verify verify_step'),
      ('cluster', 'ragdb_reader', 'cluster_routes'),
      -- and beyond that what Citus lets a superuser alone do
      ('cluster', 'ragdb_admin',
        'cluster_init cluster_add_node cluster_remove_node cluster_isolate cluster_place '
        'cluster_corpora cluster_status'),
      ('portable', 'ragdb_reader',
        'export_corpus export_documents export_embeddings import_corpus '
        'import_documents import_embeddings import_synonyms finish_import '
        'begin_move move_page move_originals hold_move move_digest finish_move move_receipt '
        'accept_move receive_move lacking_originals check_move ready_move open_move '
        'announce_move leave_move list_moves erase_speaker')
    ) as g (domain, roles, names)
      cross join lateral pg_catalog.string_to_table(g.roles, ' ') r (role)
      cross join lateral pg_catalog.string_to_table(g.names, ' ') n (name)
      join pg_catalog.pg_proc p
        on p.proname = n.name and p.pronamespace = 'ragdb'::regnamespace
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
