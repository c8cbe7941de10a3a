-- Where a router of several databases sends each public function. One whose first argument is a
-- corpus, or several, goes to their node without a line here; every other one has a line, and a
-- test names the one that has none.

-- Lists how functions are routed, by their names. For corpus, detail finds the node; for each, it
-- says which rows count, and how many: a node is asked for all. For latest it says their order: a
-- node is asked for as many.
create or replace function ragdb_internal.route_lines()
returns table (route text, detail text, names text)
language sql immutable parallel safe
begin atomic
  select * from (values
    ('corpus', 'ragdb_at.place($1, $9)', 'create_corpus'),
    ('corpus', 'ragdb_at.place(coalesce($2, $1 #>> ''{corpus,name}''))', 'import_corpus'),
    ('corpus', 'ragdb_at.node_of($1 #>> ''{params,corpus}'')', 'rag_query rag_ingest'),
    ('corpus', 'ragdb_at.node_of($2)', 'apply_events'),
    ('corpus', 'ragdb_at.node_of($3)', 'put_blob'),
    ('corpus', 'ragdb_at.node_of($5)', 'match_documents'),
    ('corpus', 'ragdb_at.node_of(ragdb_at.contract_corpora($1))', 'apply_contract'),
    ('corpus', 'ragdb_at.node_of_evidence($2)', 'rag_enough_context_gate'),
    ('corpus', 'ragdb_at.node_of_evidence($2, $3)', 'check_citations record_answer'),
    ('corpus', 'ragdb_at.node_of_evidence($2, $6)', 'record_gate'),
    ('corpus', 'ragdb_at.node_of_evidence($1)', 'ask_verify'),
    ('corpus', 'ragdb_at.node_of_evidence(jsonb_build_object(''policy'', $1 -> ''policy'', '
      '''result'', $2 -> 0, ''chunks'', $3))', 'ask_weigh'),
    ('here', 'it reads no corpus',
      'answer_from_evidence ask_plan assertion_kinds capabilities capability_schemas '
      'citation_codes error_codes evidence_pack_to_input evidence_provenance inline_spans '
      'guess_languages kern_chunk_hash ledger_kinds list_text_configs parse_contract policy_hash '
      'rag_query_plan rerank_depth validate_citations validate_contract validate_query_plan '
      'verification_checks write_contract xxh64 cluster_init cluster_add_node '
      'cluster_remove_node cluster_isolate cluster_place cluster_corpora cluster_status '
      'cluster_routes'),
    ('here', 'the router keeps it',
      'has_worker origin create_http_token revoke_http_token list_http_tokens http_token_role '
      'open_http_session http_session_role close_http_session'),
    ('here', 'the router has it, as each node does',
      'embed list_embedders list_static_models list_rerankers list_policies list_peers '
      'list_quotas list_signing_keys registry_fingerprint'),
    ('all', 'the router and each node, in one transaction',
      'create_embedder bind_embedder put_static_pieces bind_static set_default_embedder '
      'bind_reranker register_policy set_quota bind_role register_signing_key import_signing_key '
      'revoke_signing_key report_key_compromise add_peer revoke_peer remove_peer'),
    ('each', 'ragdb_at.node_of(t.name) = n.node '
      'order by case when $4 then t.updated_at end desc, t.name collate "C" limit $3',
      'list_corpora'),
    ('each', 'true order by t.rag collate "C" '
      'fetch first (coalesce($4, 2147483647)) rows with ties', 'list_evals'),
    ('each', 'true order by t.name collate "C" '
      'fetch first (coalesce($4, 2147483647)) rows with ties', 'list_contracts'),
    ('each', 'true order by t.contract collate "C" '
      'fetch first (coalesce($4, 2147483647)) rows with ties', 'list_sources'),
    ('each', 'true order by t.corpus collate "C" '
      'fetch first (coalesce($5, 2147483647)) rows with ties', 'embedding_status'),
    ('each', 'true order by t.cid limit $2', 'list_blobs'),
    ('sum', null, 'count_corpora'),
    ('latest', 't.id desc limit $3', 'list_traces list_access_events'),
    ('latest', 't.run_id desc limit $3', 'list_eval_runs'),
    ('latest', 't.answer_id desc limit $3', 'list_answers'),
    ('latest', 't.gate_id desc limit $3', 'list_gates'),
    ('latest', 't.created_at desc, t.feedback_id desc limit $3', 'list_feedback'),
    ('latest', 't.trace_id desc limit $3', 'list_unanswered'),
    ('each', null, 'list_tools list_key_events corpora_with_chunks '
      'job_status advice dead_roles verify '
      'maintain refresh_rollups renew_embeddings drop_traces_before erase_traces erase_caller '
      'drop_kept_queries_before drop_access_events_before drop_eval_runs_before '
      'list_peer_corpora list_moves '
      'requeue_embeddings retry_failed'),
    ('some', null, 'claim_embeddings claim_queries claim_ingest_jobs claim_embed_jobs'),
    ('space', null, 'complete_embeddings fail_embeddings'),
    ('last', null, 'last_trace_id'),
    ('find', null, 'get_trace find_trace trace_hits trace_reranks trace_stages verify_trace '
      'replay replay_hits why_not provenance record_rerank promote_to_atom verify_atom '
      'build_evidence_pack record_feedback get_answer list_citations get_blob drop_blob job_state '
      'complete_ingest_job fail_ingest_job complete_embed_job fail_embed_job get_eval_run '
      'find_run eval_assert_results eval_case_results eval_metrics eval_report export_trec '
      'assert_run_passed compare_runs bless_run baseline_run run_eval import_eval '
      'challenge_eval eval_queries eval_candidates list_eval_cases add_eval_case '
      'export_contract withdraw_contract get_retriever search_with retrieve_with search_tool '
      'retrieve_tool tool_candidates')
  ) as l (route, detail, names)
  union all select 'refused', r.reason, r.names from ragdb_internal.refused_routes() r;
end;

-- Lists every public function with its route; null where it has none.
create or replace function ragdb_internal.routes()
returns table (routine oid, name text, route text, detail text)
language sql stable parallel safe
begin atomic
  select p.oid, p.proname::text, coalesce(l.route,
      case when p.proargnames[1] in ('corpus', 'corpora') then 'corpus' end),
    case when l.route is null then 'ragdb_at.node_of($1)' else l.detail end
  from pg_catalog.pg_proc p
    left join (select l.route, l.detail, n.name from ragdb_internal.route_lines() l
      cross join lateral pg_catalog.string_to_table(l.names, ' ') n (name)) l
      on l.name = p.proname::text
  where p.pronamespace = 'ragdb'::regnamespace
    and p.prorettype <> 'pg_catalog.trigger'::regtype;
end;

create or replace function ragdb.cluster_routes()
returns table (function text, route text, detail text)
language sql stable parallel safe security definer
begin atomic
  select r.name || '(' || pg_catalog.pg_get_function_identity_arguments(r.routine) || ')', r.route,
    case when r.route in ('here', 'all', 'refused') then r.detail end
  from ragdb_internal.routes() r order by r.name, 1;
end;
comment on function ragdb.cluster_routes is
  'Lists where a router of several databases sends each public function: corpus (the node of its '
  'corpus), find (the first node that has what is named), each (node by node), latest (each node, '
  'and the newest of what they list), sum (each node, and the sums of what they count), all (the '
  'router and each node), some (the first node that has work), space (the node that a number '
  'says), last (the node asked last), here (the router itself) or refused, with the reason.';
