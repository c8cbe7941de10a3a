"""Calls. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from ragdb.client.calling import (
    Call,
)

ACCEPT_MOVE = Call("accept_move", {"header": "jsonb", "origin": "text"})
ADD_EDGES = Call("add_edges", {"corpus": "text", "edges": "jsonb"})
ADD_EVAL_CASE = Call(
    "add_eval_case",
    {"rag": "text", "eval": "text", "query": "text", "source": "text", "tags": "text[]"},
)
ADD_PEER = Call("add_peer", {"name": "text", "public_key": "bytea", "url": "text", "trust": "text"})
ADD_SYNONYM_LISTS = Call("add_synonym_lists", {"corpus": "text", "lists": "jsonb"})
ADD_SYNONYMS = Call("add_synonyms", {"corpus": "text", "words": "text[]"})
ADVICE = Call("advice", {})
ANNOUNCE_MOVE = Call("announce_move", {"move_id": "uuid", "count": "integer"})
ANSWER_FROM_EVIDENCE = Call(
    "answer_from_evidence",
    {
        "question": "text",
        "evidence": "jsonb",
        "max_sentences": "integer",
        "min_support": "double precision",
        "gate": "jsonb",
    },
)
APPEND_TURNS = Call(
    "append_turns", {"corpus": "text", "session": "text", "turns": "jsonb", "document": "jsonb"}
)
APPLY_CONTRACT_1 = Call("apply_contract", {"contract": "jsonb"})
APPLY_CONTRACT_2 = Call(
    "apply_contract", {"contract": "text", "contract_name": "text"}, {"contract_name": "contract"}
)
APPLY_EVENTS = Call("apply_events", {"peer": "text", "corpus": "text", "page": "jsonb"})
ASK = Call(
    "ask",
    {
        "corpus": "text",
        "question": "text",
        "mode": "text",
        "k": "integer",
        "rank_mode": "text",
        "max_context": "integer",
        "gate": "boolean",
        "min_chunks": "integer",
        "min_score": "double precision",
        "min_coverage": "double precision",
        "require_citations": "boolean",
        "sentences": "integer",
        "evidence": "jsonb",
        "plan": "jsonb",
        "retriever": "text",
        "rag": "text",
        "rerank": "text",
        "filter": "jsonb",
        "record": "boolean",
        "client": "text",
        "otel_trace_id": "text",
        "otel_span_id": "text",
    },
)
ASK_PLAN = Call(
    "ask_plan",
    {
        "question": "text",
        "policy": "jsonb",
        "has_evidence": "boolean",
        "plan": "jsonb",
        "plan_problem": "text",
    },
    {"policy": {}},
)
ASK_RETRIEVER = Call(
    "ask_retriever",
    {"corpus": "text", "retriever": "text", "rag": "text", "k": "integer", "rank_mode": "text"},
)
ASK_VERIFY = Call(
    "ask_verify",
    {
        "run": "jsonb",
        "output": "jsonb",
        "problem": "text",
        "schema_problems": "text[]",
        "attempt": "integer",
        "elapsed_ms": "double precision",
        "input_tokens": "integer",
        "output_tokens": "integer",
    },
)
ASK_WEIGH = Call("ask_weigh", {"run": "jsonb", "results": "jsonb", "evidence": "jsonb"})
ASSERT_RUN_PASSED = Call("assert_run_passed", {"run_id": "uuid"})
ASSERTION_KINDS = Call("assertion_kinds", {})
BASELINE_RUN = Call("baseline_run", {"rag": "text", "eval": "text", "name": "text"})
BEGIN_MOVE = Call("begin_move", {"corpus": "text", "destination": "text", "longest": "interval"})
BIND_EMBEDDER = Call(
    "bind_embedder", {"name": "text", "provider": "text", "provider_model": "text"}
)
BIND_RERANKER = Call(
    "bind_reranker",
    {
        "name": "text",
        "source": "text",
        "weights_sha256": "text",
        "max_tokens": "integer",
        "revision": "text",
    },
)
BIND_ROLE = Call("bind_role", {"role": "text", "becomes": "text"})
BIND_STATIC = Call(
    "bind_static",
    {
        "embedder": "text",
        "tokenizer": "text",
        "folding": "text",
        "digest": "text",
        "lexical_weight": "double precision",
    },
)
BLESS_RUN = Call("bless_run", {"run_id": "uuid", "name": "text", "reason": "text"})
BUILD_EVIDENCE_PACK = Call(
    "build_evidence_pack",
    {
        "trace_id": "uuid",
        "chunk_ids": "text[]",
        "corpus": "text",
        "max_context": "integer",
        "unit": "text",
    },
)
BUILD_SLICE = Call(
    "build_slice",
    {"corpus": "text", "anchor": "text", "policy": "jsonb", "sign": "boolean", "as_of": "bigint"},
)
BUILD_SLICES = Call(
    "build_slices", {"corpus": "text", "anchors": "text[]", "policy": "jsonb", "sign": "boolean"}
)
CALIBRATE_GATE = Call("calibrate_gate", {"corpus": "text"})
CAPABILITIES = Call("capabilities", {"prefix": "text", "after": "text", "count": "integer"})
CAPABILITY_SCHEMAS = Call("capability_schemas", {})
CHALLENGE_EVAL = Call(
    "challenge_eval", {"rag": "text", "eval": "text", "tags": "text[]", "rerank_scores": "jsonb"}
)
CHECK_CITATIONS = Call(
    "check_citations",
    {
        "output": "jsonb",
        "evidence": "jsonb",
        "trace_id": "uuid",
        "require_citations": "boolean",
        "require_admissible": "boolean",
        "min_coverage": "double precision",
        "min_quote": "integer",
        "offsets": "text",
    },
)
CHECK_CORPUS = Call("check_corpus", {"corpus": "text", "deep": "boolean"})
CHECK_MOVE = Call("check_move", {"move_id": "uuid", "after": "integer", "count": "integer"})
CITATION_CODES = Call("citation_codes", {})
CLAIM_EMBED_JOBS = Call(
    "claim_embed_jobs",
    {"worker": "text", "count": "integer", "lease": "interval", "only_embedder": "text"},
)
CLAIM_EMBEDDINGS = Call(
    "claim_embeddings",
    {
        "worker": "text",
        "count": "integer",
        "lease": "interval",
        "only_corpus": "text",
        "only_embedder": "text",
        "except_embedders": "text[]",
    },
)
CLAIM_INGEST_JOBS = Call(
    "claim_ingest_jobs",
    {
        "worker": "text",
        "count": "integer",
        "lease": "interval",
        "only_corpus": "text",
        "except_corpora": "text[]",
    },
)
CLAIM_QUERIES = Call(
    "claim_queries",
    {"worker": "text", "count": "integer", "lease": "interval", "only_embedder": "text"},
)
CLOSE_HTTP_SESSION = Call("close_http_session", {"session_hash": "bytea"})
CLUSTER_ADD_NODE = Call("cluster_add_node", {"host": "text", "port": "integer"}, procedure=True)
CLUSTER_CORPORA = Call("cluster_corpora", {})
CLUSTER_INIT = Call("cluster_init", {"host": "text", "port": "integer"})
CLUSTER_ISOLATE = Call("cluster_isolate", {"node": "integer", "is_isolated": "boolean"})
CLUSTER_PLACE = Call("cluster_place", {"corpus": "text", "node": "integer"})
CLUSTER_REMOVE_NODE = Call("cluster_remove_node", {"node": "integer"})
CLUSTER_ROUTES = Call("cluster_routes", {})
CLUSTER_STATUS = Call("cluster_status", {})
COMPARE_RUNS = Call(
    "compare_runs",
    {
        "baseline": "uuid",
        "run_id": "uuid",
        "seed": "text",
        "resamples": "integer",
        "tolerance": "double precision",
    },
)
COMPARE_SPACES = Call(
    "compare_spaces",
    {
        "corpus": "text",
        "embedder": "text",
        "queries": "text[]",
        "current_embeddings": "real[]",
        "embeddings": "real[]",
        "k": "integer",
        "mode": "text",
    },
)
COMPLETE_EMBED_JOB = Call(
    "complete_embed_job", {"job_id": "uuid", "attempt": "integer", "embeddings": "real[]"}
)
COMPLETE_EMBEDDINGS = Call(
    "complete_embeddings",
    {
        "space_id": "integer",
        "input_hashes": "bytea[]",
        "attempts": "integer[]",
        "embeddings": "real[]",
    },
)
COMPLETE_INGEST_JOB = Call(
    "complete_ingest_job", {"job_id": "uuid", "attempt": "integer", "document": "jsonb"}
)
CORPORA_WITH_CHUNKS = Call("corpora_with_chunks", {"chunk_ids": "text[]"})
CORPUS_EMBEDDER = Call("corpus_embedder", {"corpus": "text"})
CORPUS_EVENT_ENVELOPES = Call(
    "corpus_event_envelopes", {"corpus": "text", "after": "bigint", "count": "integer"}
)
CORPUS_EVENTS = Call("corpus_events", {"corpus": "text", "after": "bigint", "count": "integer"})
CORPUS_INFO = Call("corpus_info", {"corpus": "text"})
COUNT_CORPORA = Call("count_corpora", {"with_personal": "boolean"})
COUNT_MATCHES_1 = Call(
    "count_matches",
    {"corpora": "text[]", "query": "text", "filter": "jsonb", "syntax": "text"},
    {"corpora": None, "query": None, "filter": None, "syntax": "plain"},
)
COUNT_MATCHES_2 = Call(
    "count_matches",
    {"corpus": "text", "query": "text", "filter": "jsonb", "syntax": "text"},
    {"filter": None, "syntax": "plain"},
)
CREATE_CORPUS = Call(
    "create_corpus",
    {
        "corpus": "text",
        "title": "text",
        "text_config": "text",
        "k1": "double precision",
        "b": "double precision",
        "record_query_text": "text",
        "is_restricted": "boolean",
        "history": "interval",
        "part_of": "text",
    },
)
CREATE_EMBEDDER = Call(
    "create_embedder",
    {
        "name": "text",
        "dims": "integer",
        "model": "text",
        "metric": "text",
        "max_tokens": "integer",
        "revision": "text",
        "query_prefix": "text",
        "passage_prefix": "text",
        "weights_sha256": "text",
    },
)
CREATE_HTTP_TOKEN = Call(
    "create_http_token", {"role": "text", "name": "text", "expires_in": "interval"}
)
CREATE_SIGNING_KEY = Call("create_signing_key", {"key_id": "text"})
CUTOVER_CORPUS = Call("cutover_corpus", {"corpus": "text", "embedder": "text", "force": "boolean"})
DEAD_ROLES = Call("dead_roles", {})
DECIDE_PROPOSAL = Call(
    "decide_proposal",
    {"corpus": "text", "proposal_id": "uuid", "decision": "text", "reason": "text"},
)
DELETE_DOCUMENT = Call(
    "delete_document", {"corpus": "text", "document": "text", "derived": "text", "reason": "text"}
)
DELETE_SOURCE = Call(
    "delete_source", {"corpus": "text", "uri": "text", "derived": "text", "reason": "text"}
)
DELETE_SOURCES = Call(
    "delete_sources", {"corpus": "text", "uris": "text[]", "derived": "text", "reason": "text"}
)
DID_YOU_MEAN_1 = Call(
    "did_you_mean",
    {"corpora": "text[]", "query": "text", "syntax": "text"},
    {"corpora": None, "query": None, "syntax": "plain"},
)
DID_YOU_MEAN_2 = Call(
    "did_you_mean", {"corpus": "text", "query": "text", "syntax": "text"}, {"syntax": "plain"}
)
DIFF_CORPUS = Call(
    "diff_corpus",
    {
        "corpus": "text",
        "since": "bigint",
        "until": "bigint",
        "prefix": "text",
        "after": "text",
        "count": "integer",
    },
)
DOCUMENT_CHUNKS = Call(
    "document_chunks",
    {"corpus": "text", "document": "text", "first": "integer", "count": "integer"},
)
DOCUMENT_TEXT = Call("document_text", {"corpus": "text", "document": "text"})
DOCUMENT_VERSIONS = Call(
    "document_versions", {"corpus": "text", "document": "text", "count": "integer"}
)
DRAFT_EVENTS = Call("draft_events", {"corpus": "text", "count": "integer"})
DROP_ACCESS_EVENTS_BEFORE = Call("drop_access_events_before", {"before": "date"})
DROP_BLOB = Call("drop_blob", {"cid": "text"})
DROP_CORPUS = Call("drop_corpus", {"corpus": "text", "reason": "text"})
DROP_EVAL_RUNS_BEFORE = Call("drop_eval_runs_before", {"before": "date", "reason": "text"})
DROP_HISTORY = Call("drop_history", {"corpus": "text"})
DROP_KEPT_QUERIES_BEFORE = Call("drop_kept_queries_before", {"before": "date"})
DROP_PART_STATISTICS = Call("drop_part_statistics", {"corpus": "text", "part": "text"})
DROP_SPACE = Call("drop_space", {"corpus": "text", "embedder": "text"})
DROP_TRACES_BEFORE = Call("drop_traces_before", {"before": "date"})
EMBED = Call("embed", {"text": "text", "embedder": "text"})
EMBED_CORPUS = Call(
    "embed_corpus",
    {"corpus": "text", "embedder": "text", "m": "integer", "ef_construction": "integer"},
)
EMBED_QUERY = Call(
    "embed_query",
    {"query": "text", "corpus": "text", "timeout_s": "double precision"},
    procedure=True,
)
EMBED_TEXT = Call("embed_text", {"request": "jsonb"})
EMBEDDING_STATUS = Call(
    "embedding_status",
    {
        "only_corpus": "text",
        "only_lacking_index": "boolean",
        "prefix": "text",
        "after": "text",
        "count": "integer",
    },
)
ERASE_CALLER = Call(
    "erase_caller", {"caller": "text", "corpus": "text", "reason": "text", "caller_oid": "oid"}
)
ERASE_SOURCE = Call("erase_source", {"corpus": "text", "uri": "text", "reason": "text"})
ERASE_SPEAKER = Call(
    "erase_speaker", {"corpus": "text", "speaker": "text", "session": "text", "reason": "text"}
)
ERASE_TRACES = Call("erase_traces", {"corpus": "text", "reason": "text"})
ERROR_CODES = Call("error_codes", {})
EVAL_ASSERT_RESULTS = Call(
    "eval_assert_results", {"run_id": "uuid", "after": "integer", "last": "integer"}
)
EVAL_CANDIDATES = Call("eval_candidates", {"rag": "text", "eval": "text", "tags": "text[]"})
EVAL_CASE_RESULTS = Call(
    "eval_case_results", {"run_id": "uuid", "after": "integer", "count": "integer"}
)
EVAL_METRICS = Call("eval_metrics", {"run_id": "uuid", "after": "integer", "last": "integer"})
EVAL_QUERIES = Call("eval_queries", {"rag": "text", "eval": "text", "tags": "text[]"})
EVAL_REPORT = Call("eval_report", {"run_id": "uuid", "format": "text"})
EVALUATE_ANSWER = Call("evaluate_answer", {"contract": "jsonb", "retrieval": "jsonb"})
EVALUATE_CASE = Call("evaluate_case", {"case": "jsonb", "retrieval": "jsonb"})
EVENT_ENVELOPES = Call("event_envelopes", {"after": "jsonb", "count": "integer"})
EVENTS_AFTER = Call("events_after", {"after": "jsonb", "count": "integer"})
EVIDENCE_PACK_TO_INPUT = Call("evidence_pack_to_input", {"pack": "jsonb"})
EVIDENCE_PROVENANCE = Call("evidence_provenance", {"evidence": "jsonb"})
EXPLAIN_MISSING = Call(
    "explain_missing",
    {
        "corpus": "text",
        "query": "text",
        "chunk_id": "text",
        "k": "integer",
        "mode": "text",
        "min_score": "double precision",
        "filter": "jsonb",
        "statistics": "text",
        "query_embedding": "double precision[]",
        "fusion": "text",
        "lexical_weight": "double precision",
        "min_lexical": "double precision",
        "min_semantic": "double precision",
        "syntax": "text",
        "per_document": "integer",
        "collapse": "boolean",
        "diversity": "double precision",
        "typos": "boolean",
    },
)
EXPLAIN_SCORE = Call(
    "explain_score",
    {
        "corpus": "text",
        "query": "text",
        "chunk_id": "text",
        "mode": "text",
        "statistics": "text",
        "query_embedding": "double precision[]",
        "fusion": "text",
        "lexical_weight": "double precision",
        "syntax": "text",
        "typos": "boolean",
    },
)
EXPLAIN_SCORES = Call(
    "explain_scores",
    {
        "corpus": "text",
        "query": "text",
        "chunk_ids": "text[]",
        "mode": "text",
        "statistics": "text",
        "query_embedding": "double precision[]",
        "fusion": "text",
        "lexical_weight": "double precision",
        "syntax": "text",
        "typos": "boolean",
    },
)
EXPLAIN_SEARCH = Call(
    "explain_search",
    {
        "corpus": "text",
        "query": "text",
        "chunk_id": "text",
        "statistics": "text",
        "syntax": "text",
        "typos": "boolean",
    },
)
EXPORT_CONTRACT = Call("export_contract", {"contract": "text", "version": "integer"})
EXPORT_CORPUS = Call("export_corpus", {"corpus": "text"})
EXPORT_DOCUMENTS = Call(
    "export_documents", {"corpus": "text", "after": "integer", "count": "integer"}
)
EXPORT_EMBEDDINGS = Call(
    "export_embeddings", {"corpus": "text", "after": "integer", "count": "integer"}
)
EXPORT_SIGNING_KEYS = Call("export_signing_keys", {})
EXPORT_SLICE = Call("export_slice", {"corpus": "text", "anchor": "text", "policy": "jsonb"})
EXPORT_TREC = Call("export_trec", {"run_id": "uuid", "what": "text"})
FACETS_1 = Call(
    "facets",
    {
        "corpora": "text[]",
        "query": "text",
        "fields": "text[]",
        "filter": "jsonb",
        "most_values": "integer",
        "syntax": "text",
    },
    {
        "corpora": None,
        "query": None,
        "fields": None,
        "filter": None,
        "most_values": 100,
        "syntax": "plain",
    },
)
FACETS_2 = Call(
    "facets",
    {
        "corpus": "text",
        "query": "text",
        "fields": "text[]",
        "filter": "jsonb",
        "most_values": "integer",
        "syntax": "text",
    },
    {"filter": None, "most_values": 100, "syntax": "plain"},
)
FAIL_EMBED_JOB = Call(
    "fail_embed_job",
    {"job_id": "uuid", "attempt": "integer", "message": "text", "is_final": "boolean"},
)
FAIL_EMBEDDINGS = Call(
    "fail_embeddings",
    {
        "space_id": "integer",
        "input_hashes": "bytea[]",
        "attempts": "integer[]",
        "error": "text",
        "retry_after": "interval",
    },
)
FAIL_INGEST_JOB = Call(
    "fail_ingest_job",
    {
        "job_id": "uuid",
        "attempt": "integer",
        "message": "text",
        "hint": "text",
        "error": "text",
        "retry_after": "interval",
    },
)
FAIL_QUERY = Call(
    "fail_query",
    {
        "corpus": "text",
        "embedder": "text",
        "query_hash": "bytea",
        "attempt": "integer",
        "error": "text",
    },
)
FEEDBACK_CASES = Call(
    "feedback_cases",
    {"corpus": "text", "since": "timestamp with time zone", "after": "text", "count": "integer"},
)
FILTER_ADMISSIBLE = Call(
    "filter_admissible", {"corpus": "text", "slice_id": "text", "chunk_ids": "text[]"}
)
FIND_CHUNK = Call("find_chunk", {"corpus": "text", "prefix": "text"})
FIND_RUN = Call("find_run", {"prefix": "text"})
FIND_SLICE = Call("find_slice", {"corpus": "text", "prefix": "text"})
FIND_TRACE = Call("find_trace", {"prefix": "text"})
FINISH_IMPORT = Call("finish_import", {"corpus": "text", "header": "jsonb"})
FINISH_MOVE = Call("finish_move", {"move_id": "uuid"})
FOLLOW_PEER = Call("follow_peer", {"corpus": "text", "peer": "text", "remote": "text"})
GATE_QUESTIONS = Call("gate_questions", {"corpus": "text"})
GET_ANSWER = Call("get_answer", {"answer_id": "uuid"})
GET_BLOB = Call("get_blob", {"cid": "text"})
GET_CHILDREN = Call(
    "get_children", {"corpus": "text", "chunk_id": "text", "after": "text", "count": "integer"}
)
GET_CHUNK = Call("get_chunk", {"corpus": "text", "chunk_id": "text"})
GET_DOCUMENT = Call("get_document", {"corpus": "text", "document": "text"})
GET_EDGES = Call("get_edges", {"corpus": "text", "chunk_ids": "text[]"})
GET_EVAL_RUN = Call("get_eval_run", {"run_id": "uuid"})
GET_PARENTS = Call(
    "get_parents", {"corpus": "text", "chunk_id": "text", "after": "text", "count": "integer"}
)
GET_RETRIEVER = Call("get_retriever", {"retriever": "text"})
GET_SLICE = Call("get_slice", {"corpus": "text", "slice_id": "text"})
GET_SOURCE = Call("get_source", {"corpus": "text", "uri": "text"})
GET_TRACE = Call("get_trace", {"trace_id": "uuid"})
GET_TURN = Call("get_turn", {"corpus": "text", "chunk_id": "text"})
GRANT_CORPUS = Call("grant_corpus", {"corpus": "text", "role": "text", "privilege": "text"})
GUESS_LANGUAGES = Call("guess_languages", {"texts": "text[]"})
HAS_REACHED = Call("has_reached", {"log_position": "text"})
HAS_WORKER = Call("has_worker", {})
HIGHLIGHT = Call(
    "highlight",
    {
        "corpus": "text",
        "chunk_id": "text",
        "query": "text",
        "start_mark": "text",
        "end_mark": "text",
        "syntax": "text",
    },
)
HIGHLIGHT_CHUNKS = Call(
    "highlight_chunks",
    {
        "corpus": "text",
        "chunk_ids": "text[]",
        "query": "text",
        "start_mark": "text",
        "end_mark": "text",
        "syntax": "text",
    },
)
HOLD_MOVE = Call("hold_move", {"move_id": "uuid", "longest": "interval"})
HTTP_SESSION_ROLE = Call("http_session_role", {"session_hash": "bytea"})
HTTP_TOKEN_ROLE = Call("http_token_role", {"token_hash": "bytea"})
IMPORT_CORPUS = Call("import_corpus", {"header": "jsonb", "corpus": "text"})
IMPORT_DOCUMENTS = Call("import_documents", {"corpus": "text", "documents": "jsonb"})
IMPORT_EMBEDDINGS = Call(
    "import_embeddings",
    {"corpus": "text", "sources": "text[]", "ordinals": "integer[]", "embeddings": "real[]"},
)
IMPORT_EVAL = Call("import_eval", {"rag": "text", "eval": "text", "cases": "jsonb"})
IMPORT_SIGNING_KEY = Call(
    "import_signing_key",
    {
        "key_id": "text",
        "secret": "text",
        "state": "text",
        "created_at": "timestamp with time zone",
        "active_until": "timestamp with time zone",
        "not_after": "timestamp with time zone",
    },
)
IMPORT_SYNONYMS = Call("import_synonyms", {"corpus": "text", "synonyms": "jsonb"})
INDEX_SPACE = Call("index_space", {"corpus": "text", "embedder": "text"})
INLINE_SPANS = Call("inline_spans", {"answer": "text", "chunk_ids": "text[]"})
IS_ADMISSIBLE = Call("is_admissible", {"corpus": "text", "slice_id": "text", "chunk_id": "text"})
JOB_STATE = Call("job_state", {"job_id": "uuid"})
JOB_STATUS = Call("job_status", {})
KEEP_HISTORY = Call("keep_history", {"corpus": "text", "history": "interval"})
KERN_CHUNK_HASH = Call("kern_chunk_hash", {"text": "text"})
KNOWN_SOURCES = Call("known_sources", {"corpus": "text", "uris": "text[]"})
LACKING_ORIGINALS = Call("lacking_originals", {"move_id": "uuid", "cids": "text[]"})
LAST_TRACE_ID = Call("last_trace_id", {})
LEAVE_MOVE = Call("leave_move", {"move_id": "uuid", "reopen": "boolean"})
LEDGER_BUNDLE = Call("ledger_bundle", {"index": "bigint", "width": "integer"})
LEDGER_CHECKPOINT = Call("ledger_checkpoint", {"size": "bigint"})
LEDGER_CONSISTENCY_PROOF = Call(
    "ledger_consistency_proof", {"old_size": "bigint", "new_size": "bigint"}
)
LEDGER_ENTRIES = Call("ledger_entries", {"first": "bigint", "count": "integer"})
LEDGER_ENTRY = Call("ledger_entry", {"kind": "text", "id": "text"})
LEDGER_INCLUSION_PROOF = Call("ledger_inclusion_proof", {"number": "bigint", "size": "bigint"})
LEDGER_KINDS = Call("ledger_kinds", {})
LEDGER_ROOT = Call("ledger_root", {"size": "bigint"})
LEDGER_STATUS = Call("ledger_status", {})
LEDGER_TILE = Call("ledger_tile", {"level": "integer", "index": "bigint", "width": "integer"})
LIST_ACCESS_EVENTS = Call(
    "list_access_events",
    {"corpus": "text", "since": "timestamp with time zone", "count": "integer"},
)
LIST_ANSWERS = Call(
    "list_answers",
    {"corpus": "text", "since": "timestamp with time zone", "count": "integer", "before": "uuid"},
)
LIST_ATOMS = Call("list_atoms", {"corpus": "text", "count": "integer"})
LIST_BLOBS = Call("list_blobs", {"after": "text", "count": "integer"})
LIST_CHECKPOINTS = Call("list_checkpoints", {"count": "integer"})
LIST_CHUNKS = Call(
    "list_chunks",
    {
        "corpus": "text",
        "filter": "jsonb",
        "chunk_ids": "text[]",
        "after": "text",
        "count": "integer",
    },
)
LIST_CITATIONS = Call("list_citations", {"answer_id": "uuid"})
LIST_CONFLICTS = Call("list_conflicts", {"corpus": "text", "only_open": "boolean"})
LIST_CONTRACTS = Call(
    "list_contracts",
    {"only_current": "boolean", "prefix": "text", "after": "text", "count": "integer"},
)
LIST_CORPORA = Call(
    "list_corpora", {"prefix": "text", "after": "text", "count": "integer", "by_change": "boolean"}
)
LIST_DOCUMENTS = Call(
    "list_documents", {"corpus": "text", "prefix": "text", "after": "text", "count": "integer"}
)
LIST_EMBEDDERS = Call("list_embedders", {})
LIST_ERASURES = Call("list_erasures", {"corpus": "text", "count": "integer"})
LIST_EVAL_CASES = Call(
    "list_eval_cases", {"rag": "text", "eval": "text", "after": "integer", "count": "integer"}
)
LIST_EVAL_RUNS = Call(
    "list_eval_runs",
    {"rag": "text", "eval": "text", "count": "integer", "since": "timestamp with time zone"},
)
LIST_EVALS = Call(
    "list_evals", {"only_corpus": "text", "prefix": "text", "after": "text", "count": "integer"}
)
LIST_FAILED_EMBEDDINGS = Call(
    "list_failed_embeddings", {"corpus": "text", "after": "text", "count": "integer"}
)
LIST_FEEDBACK = Call(
    "list_feedback",
    {"corpus": "text", "since": "timestamp with time zone", "count": "integer", "before": "uuid"},
)
LIST_GATES = Call(
    "list_gates",
    {"corpus": "text", "since": "timestamp with time zone", "count": "integer", "before": "uuid"},
)
LIST_GRANTS = Call("list_grants", {"corpus": "text"})
LIST_HTTP_TOKENS = Call("list_http_tokens", {})
LIST_INCIDENTS = Call("list_incidents", {"corpus": "text", "count": "integer"})
LIST_KEY_EVENTS = Call("list_key_events", {})
LIST_LEDGER_ACTS = Call("list_ledger_acts", {"count": "integer"})
LIST_MOVES = Call("list_moves", {"corpus": "text"})
LIST_PARTS = Call("list_parts", {"corpus": "text"})
LIST_PEER_CORPORA = Call("list_peer_corpora", {"corpus": "text"})
LIST_PEERS = Call("list_peers", {})
LIST_POLICIES = Call("list_policies", {})
LIST_PROPOSALS = Call("list_proposals", {"corpus": "text", "state": "text", "count": "integer"})
LIST_QUOTAS = Call("list_quotas", {})
LIST_RERANKERS = Call("list_rerankers", {})
LIST_SHARED_DOCUMENTS = Call("list_shared_documents", {"corpus": "text", "sources": "text[]"})
LIST_SHARED_EVENTS = Call(
    "list_shared_events", {"corpus": "text", "after": "bigint", "count": "integer"}
)
LIST_SIGNING_KEYS = Call("list_signing_keys", {})
LIST_SLICES = Call(
    "list_slices",
    {"corpus": "text", "since": "timestamp with time zone", "count": "integer", "before": "text"},
)
LIST_SOURCES = Call(
    "list_sources", {"only_due": "boolean", "prefix": "text", "after": "text", "count": "integer"}
)
LIST_STATIC_MODELS = Call("list_static_models", {})
LIST_SYNONYMS = Call(
    "list_synonyms", {"corpus": "text", "prefix": "text", "after": "text", "count": "integer"}
)
LIST_TEXT_CONFIGS = Call("list_text_configs", {})
LIST_TOOLS = Call("list_tools", {})
LIST_TRACES = Call(
    "list_traces",
    {
        "corpus": "text",
        "since": "timestamp with time zone",
        "count": "integer",
        "until": "timestamp with time zone",
        "mode": "text",
        "outcome": "text",
        "min_elapsed_ms": "double precision",
        "before": "uuid",
    },
)
LIST_TURNS = Call("list_turns", {"corpus": "text", "chunk_ids": "text[]"})
LIST_UNANSWERED = Call(
    "list_unanswered",
    {"corpus": "text", "since": "timestamp with time zone", "count": "integer", "before": "uuid"},
)
LIST_VERSIONS = Call("list_versions", {"corpus": "text", "before": "bigint", "count": "integer"})
LOCATE_QUOTE = Call("locate_quote", {"corpus": "text", "chunk_id": "text", "quote": "text"})
LOG_POSITION = Call("log_position", {})
MAINTAIN = Call("maintain", {})
MAP_CORPUS = Call(
    "map_corpus", {"corpus": "text", "count": "integer", "query": "text", "chunk_ids": "text[]"}
)
MATCH_DOCUMENTS = Call(
    "match_documents",
    {
        "query_embedding": "double precision[]",
        "match_threshold": "double precision",
        "match_count": "integer",
        "filter": "jsonb",
        "corpus": "text",
    },
    {"filter": {}},
)
MERGE_CANDIDATES = Call(
    "merge_candidates",
    {
        "corpus": "text",
        "shares": "jsonb",
        "k": "integer",
        "mode": "text",
        "min_score": "double precision",
        "fusion": "text",
        "lexical_weight": "double precision",
        "min_lexical": "double precision",
        "min_semantic": "double precision",
        "asked": "text",
        "is_unmet": "boolean",
    },
)
MERGE_PEER_ANSWERS = Call(
    "merge_peer_answers", {"corpus": "text", "answer": "jsonb", "answers": "jsonb", "k": "integer"}
)
METRICS = Call("metrics", {})
MOVE_DIGEST = Call("move_digest", {"move_id": "uuid"})
MOVE_ORIGINALS = Call("move_originals", {"move_id": "uuid", "after": "text", "count": "integer"})
MOVE_PAGE = Call("move_page", {"move_id": "uuid", "applied": "integer", "count": "integer"})
MOVE_RECEIPT = Call("move_receipt", {"move_id": "uuid"})
NAME_LEDGER = Call("name_ledger", {"origin": "text"})
NOTE_READINGS = Call("note_readings", {"corpus": "text", "readings": "jsonb"})
OPEN_HTTP_SESSION = Call("open_http_session", {"token_hash": "bytea"})
OPEN_MOVE = Call("open_move", {"move_id": "uuid", "receipt": "bytea"})
OPTIMIZE_CORPUS = Call("optimize_corpus", {"corpus": "text", "new_pivot": "double precision"})
ORIGIN = Call("origin", {})
PARSE_CONTRACT = Call("parse_contract", {"contract": "text", "contract_name": "text"})
PART_STATISTICS = Call("part_statistics", {"corpus": "text", "parts": "text[]"})
POLICY_HASH = Call("policy_hash", {"policy": "jsonb"})
PREPARE_QUERY = Call("prepare_query", {"corpus": "text", "query": "text"})
PROMOTE_TO_ATOM = Call(
    "promote_to_atom",
    {"trace_id": "uuid", "chunk_ids": "text[]", "text": "text", "sufficiency": "text"},
)
PROPOSE = Call("propose", {"corpus": "text", "atom_ids": "uuid[]", "text": "text"})
PROVENANCE = Call("provenance", {"trace_id": "uuid"})
PRUNE_SOURCES = Call(
    "prune_sources",
    {
        "corpus": "text",
        "prefix": "text",
        "keep": "text[]",
        "root": "text",
        "derived": "text",
        "reason": "text",
        "dry_run": "boolean",
    },
)
PUBLISH_EVENTS = Call(
    "publish_events", {"corpus": "text", "events": "text[]", "signatures": "bytea[]"}
)
PUT_BLOB = Call("put_blob", {"bytes": "bytea", "media_type": "text", "corpus": "text"})
PUT_CONVERSATIONS = Call(
    "put_conversations", {"corpus": "text", "conversations": "jsonb", "force": "boolean"}
)
PUT_DOCUMENT = Call(
    "put_document",
    {
        "corpus": "text",
        "doc_cid": "text",
        "uri": "text",
        "chunks": "jsonb",
        "chunking": "jsonb",
        "title": "text",
        "language": "text",
        "media_type": "text",
        "metadata": "jsonb",
        "external_id": "text",
        "source_name": "text",
        "size_bytes": "bigint",
        "pages": "integer",
        "etag": "text",
        "links": "jsonb",
        "force": "boolean",
    },
    {"metadata": {}, "links": []},
)
PUT_DOCUMENTS = Call("put_documents", {"corpus": "text", "documents": "jsonb", "force": "boolean"})
PUT_EMBEDDINGS = Call(
    "put_embeddings", {"corpus": "text", "chunk_ids": "text[]", "embeddings": "double precision[]"}
)
PUT_PART_STATISTICS = Call(
    "put_part_statistics",
    {
        "corpus": "text",
        "part": "text",
        "version": "bigint",
        "chunks": "integer",
        "lexeme_count": "bigint",
        "lexemes": "text[]",
        "dfs": "integer[]",
        "synced_at": "timestamp with time zone",
    },
)
PUT_QUERY_EMBEDDING = Call(
    "put_query_embedding",
    {"corpus": "text", "query": "text", "embedding": "double precision[]", "embedder": "text"},
)
PUT_STATIC_PIECES = Call(
    "put_static_pieces",
    {"embedder": "text", "pieces": "text[]", "ranks": "integer[]", "vectors": "real[]"},
)
PUT_TEXT = Call(
    "put_text",
    {
        "corpus": "text",
        "source": "text",
        "text": "text",
        "title": "text",
        "language": "text",
        "metadata": "jsonb",
        "external_id": "text",
        "strategy": "text",
        "max_tokens": "integer",
        "overlap": "integer",
        "unit": "text",
        "media_type": "text",
        "force": "boolean",
    },
    {"metadata": {}},
)
PUT_TEXTS = Call(
    "put_texts",
    {
        "corpus": "text",
        "texts": "text[]",
        "metadatas": "jsonb",
        "ids": "text[]",
        "cut": "boolean",
        "embedder": "text",
        "embeddings": "double precision[]",
    },
)
QUERY_EMBEDDER = Call("query_embedder", {"corpora": "text[]", "mode": "text"})
QUERY_EMBEDDING_STATE = Call("query_embedding_state", {"corpus": "text", "query": "text"})
RAG_ENOUGH_CONTEXT_GATE = Call(
    "rag_enough_context_gate",
    {
        "query": "text",
        "pack": "jsonb",
        "min_chunks": "integer",
        "min_score": "double precision",
        "min_coverage": "double precision",
    },
)
RAG_INGEST = Call("rag_ingest", {"request": "jsonb"})
RAG_LIST_CORPORA = Call("rag_list_corpora", {"request": "jsonb"}, {"request": {}})
RAG_QUERY = Call("rag_query", {"request": "jsonb"})
RAG_QUERY_PLAN = Call("rag_query_plan", {"question": "text"})
RANKING_DIGEST = Call("ranking_digest", {"corpus": "text"})
READY_MOVE = Call("ready_move", {"move_id": "uuid", "digest": "jsonb"})
RECEIVE_MOVE = Call(
    "receive_move",
    {
        "move_id": "uuid",
        "numbers": "integer[]",
        "sources": "text[]",
        "hashes": "bytea[]",
        "uris": "text[]",
    },
)
RECORD_ANSWER = Call(
    "record_answer",
    {
        "output": "jsonb",
        "evidence": "jsonb",
        "trace_id": "uuid",
        "require_citations": "boolean",
        "require_admissible": "boolean",
        "min_coverage": "double precision",
        "min_quote": "integer",
        "offsets": "text",
        "task": "text",
        "model": "text",
        "attempt": "integer",
        "client": "text",
        "elapsed_ms": "double precision",
        "input_tokens": "integer",
        "output_tokens": "integer",
    },
)
RECORD_ERASURE = Call("record_erasure", {"entries": "text[]", "reason": "text"})
RECORD_FAILURE = Call(
    "record_failure",
    {
        "corpus": "text",
        "query": "text",
        "error_code": "text",
        "elapsed_ms": "double precision",
        "k": "integer",
        "mode": "text",
        "min_score": "double precision",
        "filter": "jsonb",
        "chunk_ids": "text[]",
        "statistics": "text",
        "client": "text",
        "otel_trace_id": "text",
        "otel_span_id": "text",
        "slice_id": "text",
        "anchor": "text",
        "policy": "jsonb",
    },
)
RECORD_FEEDBACK = Call(
    "record_feedback",
    {
        "verdict": "text",
        "trace_id": "uuid",
        "answer_id": "uuid",
        "chunk_id": "text",
        "comment": "text",
        "client": "text",
    },
)
RECORD_GATE = Call(
    "record_gate",
    {
        "query": "text",
        "pack": "jsonb",
        "min_chunks": "integer",
        "min_score": "double precision",
        "min_coverage": "double precision",
        "trace_id": "uuid",
        "client": "text",
    },
)
RECORD_READING = Call(
    "record_reading",
    {"corpus": "text", "source_name": "text", "documents": "integer", "failed": "integer"},
)
RECORD_READS = Call("record_reads", {"corpus": "text", "mode": "text"})
RECORD_REFUSAL = Call("record_refusal", {"corpus": "text", "error_code": "text"})
RECORD_RERANK = Call(
    "record_rerank",
    {
        "trace_id": "uuid",
        "model": "text",
        "chunk_ids": "text[]",
        "scores": "double precision[]",
        "k": "integer",
    },
)
REEMBED_CORPUS = Call(
    "reembed_corpus",
    {"corpus": "text", "embedder": "text", "m": "integer", "ef_construction": "integer"},
)
REFRESH_ROLLUPS = Call("refresh_rollups", {"recount": "boolean"})
REGISTER_POLICY = Call("register_policy", {"policy": "jsonb"})
REGISTER_SIGNING_KEY = Call("register_signing_key", {"key_id": "text"})
REGISTRY_FINGERPRINT = Call("registry_fingerprint", {})
REMOVE_EDGES = Call("remove_edges", {"corpus": "text", "edges": "jsonb"})
REMOVE_PEER = Call("remove_peer", {"name": "text"})
REMOVE_SYNONYMS = Call("remove_synonyms", {"corpus": "text", "word": "text"})
RENEW_EMBEDDINGS = Call("renew_embeddings", {"worker": "text", "lease": "interval"})
REPAIR_CORPUS = Call("repair_corpus", {"corpus": "text"})
REPLAY = Call("replay", {"trace_id": "uuid"})
REPLAY_CITED = Call(
    "replay_cited",
    {"corpus": "text", "slice_id": "text", "query_hash": "text", "policy_hash": "text"},
)
REPLAY_HITS = Call("replay_hits", {"trace_id": "uuid"})
REPORT_KEY_COMPROMISE = Call(
    "report_key_compromise", {"key_id": "text", "since": "timestamp with time zone"}
)
REQUEST_QUERY_EMBEDDING = Call("request_query_embedding", {"corpus": "text", "query": "text"})
REQUEUE_EMBEDDINGS = Call("requeue_embeddings", {"corpus": "text"})
RERANK_DEPTH = Call("rerank_depth", {"k": "integer"})
RESOLVE_ANCHOR = Call(
    "resolve_anchor",
    {
        "corpus": "text",
        "chunk_id": "text",
        "session": "text",
        "query": "text",
        "query_embedding": "double precision[]",
        "project": "text",
    },
)
RESOLVE_EXPLICIT = Call("resolve_explicit", {"corpus": "text", "chunk_id": "text"})
RESOLVE_FROM_QUERY = Call(
    "resolve_from_query",
    {"corpus": "text", "query": "text", "mode": "text", "query_embedding": "double precision[]"},
)
RESOLVE_FROM_SESSION = Call("resolve_from_session", {"corpus": "text", "session": "text"})
RESOLVE_TEMPORAL = Call(
    "resolve_temporal", {"corpus": "text", "count": "integer", "project": "text"}
)
RESTRICT_CORPUS = Call("restrict_corpus", {"corpus": "text"})
RETRIEVE = Call(
    "retrieve",
    {
        "corpus": "text",
        "query": "text",
        "k": "integer",
        "mode": "text",
        "min_score": "double precision",
        "filter": "jsonb",
        "chunk_ids": "text[]",
        "statistics": "text",
        "query_embedding": "double precision[]",
        "fusion": "text",
        "lexical_weight": "double precision",
        "min_lexical": "double precision",
        "min_semantic": "double precision",
        "syntax": "text",
        "per_document": "integer",
        "collapse": "boolean",
        "diversity": "double precision",
        "context": "integer",
        "section": "boolean",
        "typos": "boolean",
        "client": "text",
        "otel_trace_id": "text",
        "otel_span_id": "text",
    },
)
RETRIEVE_GLOBAL = Call(
    "retrieve_global",
    {
        "corpus": "text",
        "query": "text",
        "k": "integer",
        "mode": "text",
        "min_score": "double precision",
        "filter": "jsonb",
        "query_embedding": "double precision[]",
        "client": "text",
        "otel_trace_id": "text",
        "otel_span_id": "text",
    },
)
RETRIEVE_SLICE = Call(
    "retrieve_slice",
    {
        "corpus": "text",
        "query": "text",
        "slice_id": "text",
        "anchor": "text",
        "policy": "jsonb",
        "k": "integer",
        "mode": "text",
        "min_score": "double precision",
        "filter": "jsonb",
        "statistics": "text",
        "query_embedding": "double precision[]",
        "fusion": "text",
        "lexical_weight": "double precision",
        "min_lexical": "double precision",
        "min_semantic": "double precision",
        "syntax": "text",
        "per_document": "integer",
        "collapse": "boolean",
        "diversity": "double precision",
        "context": "integer",
        "section": "boolean",
        "typos": "boolean",
        "client": "text",
        "otel_trace_id": "text",
        "otel_span_id": "text",
    },
)
RETRIEVE_TOOL = Call(
    "retrieve_tool",
    {
        "tool": "text",
        "arguments": "jsonb",
        "query_embedding": "double precision[]",
        "client": "text",
        "otel_trace_id": "text",
        "otel_span_id": "text",
        "rerank_scores": "jsonb",
    },
    {"arguments": {}},
)
RETRIEVE_WITH = Call(
    "retrieve_with",
    {
        "retriever": "text",
        "query": "text",
        "k": "integer",
        "min_score": "double precision",
        "filter": "jsonb",
        "query_embedding": "double precision[]",
        "rag": "text",
        "client": "text",
        "otel_trace_id": "text",
        "otel_span_id": "text",
        "rerank": "text",
    },
)
RETRY_FAILED = Call("retry_failed", {"corpus": "text"})
REVOKE_CORPUS = Call("revoke_corpus", {"corpus": "text", "role": "text"})
REVOKE_HTTP_TOKEN = Call("revoke_http_token", {"name": "text"})
REVOKE_PEER = Call("revoke_peer", {"name": "text", "reason": "text"})
REVOKE_SIGNING_KEY = Call("revoke_signing_key", {"key_id": "text"})
ROLLBACK_CORPUS = Call("rollback_corpus", {"corpus": "text"})
RUN_EVAL = Call(
    "run_eval",
    {"rag": "text", "eval": "text", "tags": "text[]", "label": "text", "rerank_scores": "jsonb"},
)
SEAL_LEDGER = Call("seal_ledger", {"most": "integer"})
SEARCH_1 = Call(
    "search",
    {
        "corpora": "text[]",
        "query": "text",
        "k": "integer",
        "mode": "text",
        "min_score": "double precision",
        "filter": "jsonb",
        "chunk_ids": "text[]",
        "statistics": "text",
        "query_embedding": "double precision[]",
        "fusion": "text",
        "lexical_weight": "double precision",
        "min_lexical": "double precision",
        "min_semantic": "double precision",
        "syntax": "text",
        "per_document": "integer",
        "collapse": "boolean",
        "diversity": "double precision",
        "context": "integer",
        "section": "boolean",
        "typos": "boolean",
        "as_of": "bigint",
    },
    {
        "corpora": None,
        "query": None,
        "k": 10,
        "mode": None,
        "min_score": 0.0,
        "filter": None,
        "chunk_ids": None,
        "statistics": None,
        "query_embedding": None,
        "fusion": "convex",
        "lexical_weight": None,
        "min_lexical": 0.0,
        "min_semantic": 0.0,
        "syntax": "plain",
        "per_document": None,
        "collapse": False,
        "diversity": 0.0,
        "context": 0,
        "section": False,
        "typos": True,
        "as_of": None,
    },
)
SEARCH_2 = Call(
    "search",
    {
        "corpus": "text",
        "query": "text",
        "k": "integer",
        "mode": "text",
        "min_score": "double precision",
        "filter": "jsonb",
        "chunk_ids": "text[]",
        "statistics": "text",
        "query_embedding": "double precision[]",
        "fusion": "text",
        "lexical_weight": "double precision",
        "min_lexical": "double precision",
        "min_semantic": "double precision",
        "syntax": "text",
        "per_document": "integer",
        "collapse": "boolean",
        "diversity": "double precision",
        "context": "integer",
        "section": "boolean",
        "typos": "boolean",
        "as_of": "bigint",
    },
    {
        "k": 10,
        "mode": None,
        "min_score": 0.0,
        "filter": None,
        "chunk_ids": None,
        "statistics": None,
        "query_embedding": None,
        "fusion": "convex",
        "lexical_weight": None,
        "min_lexical": 0.0,
        "min_semantic": 0.0,
        "syntax": "plain",
        "per_document": None,
        "collapse": False,
        "diversity": 0.0,
        "context": 0,
        "section": False,
        "typos": True,
        "as_of": None,
    },
)
SEARCH_CANDIDATES = Call(
    "search_candidates",
    {
        "corpus": "text",
        "query": "text",
        "k": "integer",
        "mode": "text",
        "filter": "jsonb",
        "chunk_ids": "text[]",
        "query_embedding": "double precision[]",
        "fusion": "text",
        "lexical_weight": "double precision",
        "syntax": "text",
        "per_document": "integer",
        "context": "integer",
        "section": "boolean",
        "typos": "boolean",
        "expects": "text",
    },
)
SEARCH_DOCUMENTS = Call(
    "search_documents",
    {
        "corpus": "text",
        "query": "text",
        "k": "integer",
        "chunks_per_document": "integer",
        "mode": "text",
        "min_score": "double precision",
        "filter": "jsonb",
        "query_embedding": "double precision[]",
        "syntax": "text",
        "typos": "boolean",
    },
)
SEARCH_DUAL = Call(
    "search_dual",
    {
        "corpus": "text",
        "query": "text",
        "k": "integer",
        "mode": "text",
        "min_score": "double precision",
        "filter": "jsonb",
        "query_embedding": "double precision[]",
        "fusion": "text",
        "lexical_weight": "double precision",
    },
)
SEARCH_GLOBAL = Call(
    "search_global",
    {
        "corpus": "text",
        "query": "text",
        "k": "integer",
        "mode": "text",
        "min_score": "double precision",
        "filter": "jsonb",
        "chunk_ids": "text[]",
        "statistics": "text",
        "query_embedding": "double precision[]",
        "fusion": "text",
        "lexical_weight": "double precision",
        "min_lexical": "double precision",
        "min_semantic": "double precision",
        "syntax": "text",
        "per_document": "integer",
        "collapse": "boolean",
        "diversity": "double precision",
        "context": "integer",
        "section": "boolean",
        "typos": "boolean",
    },
)
SEARCH_SLICE = Call(
    "search_slice",
    {
        "corpus": "text",
        "query": "text",
        "slice_id": "text",
        "anchor": "text",
        "policy": "jsonb",
        "k": "integer",
        "mode": "text",
        "min_score": "double precision",
        "filter": "jsonb",
        "statistics": "text",
        "query_embedding": "double precision[]",
        "fusion": "text",
        "lexical_weight": "double precision",
        "min_lexical": "double precision",
        "min_semantic": "double precision",
        "syntax": "text",
        "per_document": "integer",
        "collapse": "boolean",
        "diversity": "double precision",
        "context": "integer",
        "section": "boolean",
        "typos": "boolean",
    },
)
SEARCH_TOOL = Call(
    "search_tool",
    {
        "tool": "text",
        "arguments": "jsonb",
        "query_embedding": "double precision[]",
        "rerank_scores": "jsonb",
    },
    {"arguments": {}},
)
SEARCH_WITH = Call(
    "search_with",
    {
        "retriever": "text",
        "query": "text",
        "k": "integer",
        "min_score": "double precision",
        "filter": "jsonb",
        "query_embedding": "double precision[]",
        "rag": "text",
        "rerank": "text",
    },
)
SET_DEFAULT_EMBEDDER = Call("set_default_embedder", {"embedder": "text"})
SET_LEDGER = Call("set_ledger", {"is_on": "boolean"})
SET_QUOTA = Call(
    "set_quota",
    {
        "role": "text",
        "blob_bytes": "bigint",
        "hourly_failures": "integer",
        "concurrent_calls": "integer",
        "corpus_chunks": "integer",
    },
)
SHARE_CORPUS = Call("share_corpus", {"corpus": "text", "author": "bytea", "feed": "uuid"})
SHARED_FEED = Call("shared_feed", {"corpus": "text"})
SIMILAR = Call(
    "similar",
    {
        "corpus": "text",
        "chunk_id": "text",
        "k": "integer",
        "min_score": "double precision",
        "filter": "jsonb",
        "mode": "text",
    },
)
SLICE_GRAPH = Call(
    "slice_graph",
    {
        "corpus": "text",
        "slice_id": "text",
        "anchor": "text",
        "policy": "jsonb",
        "refused": "integer",
    },
)
SLICE_MEMBERS = Call("slice_members", {"corpus": "text", "slice_id": "text"})
SPACE_QUESTIONS = Call("space_questions", {"corpus": "text", "count": "integer"})
STORE_CHECKPOINT = Call("store_checkpoint", {"note": "text"})
SYNC_STATISTICS = Call("sync_statistics", {"corpus": "text"})
TOOL_CANDIDATES = Call(
    "tool_candidates",
    {"tool": "text", "arguments": "jsonb", "query_embedding": "double precision[]"},
    {"arguments": {}},
)
TRACE_HITS = Call("trace_hits", {"trace_id": "uuid"})
TRACE_RERANKS = Call("trace_reranks", {"trace_id": "uuid"})
TRACE_STAGES = Call("trace_stages", {"trace_id": "uuid"})
TRAFFIC = Call(
    "traffic",
    {"since": "timestamp with time zone", "until": "timestamp with time zone", "corpus": "text"},
)
TURN_ID = Call("turn_id", {"corpus": "text", "session": "text", "id": "text"})
UNCHANGED_SOURCES = Call("unchanged_sources", {"corpus": "text", "readings": "jsonb"})
UNRESTRICT_CORPUS = Call("unrestrict_corpus", {"corpus": "text"})
UNSHARE_CORPUS = Call("unshare_corpus", {"corpus": "text"})
VALIDATE_CITATIONS = Call(
    "validate_citations", {"output": "jsonb", "evidence": "jsonb", "require_citations": "boolean"}
)
VALIDATE_CONTRACT_1 = Call("validate_contract", {"contract": "jsonb"})
VALIDATE_CONTRACT_2 = Call(
    "validate_contract",
    {"contract": "text", "contract_name": "text"},
    {"contract_name": "contract"},
)
VALIDATE_QUERY_PLAN = Call("validate_query_plan", {"plan": "jsonb"})
VERIFICATION_CHECKS = Call("verification_checks", {})
VERIFY = Call("verify", {"quick": "boolean", "checks": "text[]"})
VERIFY_ATOM = Call("verify_atom", {"atom_id": "uuid"})
VERIFY_LEDGER = Call(
    "verify_ledger", {"from_number": "bigint", "most": "bigint", "late": "interval"}
)
VERIFY_STEP = Call(
    "verify_step", {"state": "jsonb", "most": "integer", "quick": "boolean", "checks": "text[]"}
)
VERIFY_TOKEN = Call(
    "verify_token",
    {
        "corpus": "text",
        "token": "text",
        "slice_id": "text",
        "anchor_chunk_id": "text",
        "policy_id": "text",
        "params_hash": "text",
        "graph_snapshot_hash": "text",
        "schema_version": "text",
        "chunk_ids": "text[]",
        "edge_count": "integer",
    },
)
VERIFY_TRACE = Call("verify_trace", {"trace_id": "uuid"})
VERSION_AT = Call("version_at", {"corpus": "text", "at": "timestamp with time zone"})
WHY_NOT = Call("why_not", {"trace_id": "uuid", "chunk_id": "text"})
WITHDRAW_CONTRACT = Call("withdraw_contract", {"contract": "text"})
WRITE_CONTRACT = Call("write_contract", {"contract": "jsonb"})
XXH64 = Call("xxh64", {"data": "bytea"})
