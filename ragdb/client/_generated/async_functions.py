"""Asynchronous methods. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any, overload
from uuid import UUID

from ragdb.client._generated import calls, rows
from ragdb.client._generated.functions import Functions
from ragdb.client.calling import (
    AsyncCaller,
    Reals,
    choose,
)
from ragdb.client.results import Recorded, Rows
from ragdb.client.shown import documented_by


@documented_by(Functions)
class AsyncFunctions(AsyncCaller):
    """Every public SQL function, as an asynchronous method."""

    async def accept_move(self, header: Any, origin: str) -> None:
        await self._run(calls.ACCEPT_MOVE, locals())

    async def add_edges(self, corpus: str, edges: Any) -> int:
        return await self._value(calls.ADD_EDGES, locals())

    async def add_eval_case(
        self,
        rag: str,
        eval: str,
        query: str,
        source: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> str | None:
        return await self._value(calls.ADD_EVAL_CASE, locals())

    async def add_peer(
        self, name: str, public_key: bytes, url: str | None = None, trust: str = "member"
    ) -> None:
        await self._run(calls.ADD_PEER, locals())

    async def add_synonym_lists(self, corpus: str, lists: Any) -> int:
        return await self._value(calls.ADD_SYNONYM_LISTS, locals())

    async def add_synonyms(self, corpus: str, words: Sequence[str]) -> int:
        return await self._value(calls.ADD_SYNONYMS, locals())

    async def advice(self) -> Rows[rows.Advice]:
        return await self._rows(calls.ADVICE, rows.Advice, locals())

    async def announce_move(self, move_id: UUID | str, count: int = 1000) -> int:
        return await self._value(calls.ANNOUNCE_MOVE, locals())

    async def answer_from_evidence(
        self,
        question: str,
        evidence: Any,
        max_sentences: int = 2,
        min_support: float = 0.4,
        gate: Any = None,
    ) -> Any:
        return await self._value(calls.ANSWER_FROM_EVIDENCE, locals())

    async def append_turns(
        self, corpus: str, session: str, turns: Any, document: Any = None
    ) -> Rows[rows.AppendTurnsRow]:
        return await self._rows(calls.APPEND_TURNS, rows.AppendTurnsRow, locals())

    @overload
    async def apply_contract(self, contract: Any) -> rows.ApplyContractRow: ...
    @overload
    async def apply_contract(
        self, contract: str, contract_name: str = "contract"
    ) -> rows.ApplyContractRow: ...
    async def apply_contract(self, *args: Any, **kwargs: Any) -> rows.ApplyContractRow:
        call, given = choose((calls.APPLY_CONTRACT_1, calls.APPLY_CONTRACT_2), args, kwargs)
        return await self._row(call, rows.ApplyContractRow, given)

    async def apply_events(self, peer: str, corpus: str, page: Any) -> rows.ApplyEventsRow:
        return await self._row(calls.APPLY_EVENTS, rows.ApplyEventsRow, locals())

    async def ask(
        self,
        corpus: str,
        question: str,
        mode: str = "on",
        k: int | None = None,
        rank_mode: str | None = None,
        max_context: int | None = None,
        gate: bool = True,
        min_chunks: int = 1,
        min_score: float | None = None,
        min_coverage: float = 0.5,
        require_citations: bool = True,
        sentences: int = 2,
        evidence: Any = None,
        plan: Any = None,
        retriever: str | None = None,
        rag: str | None = None,
        rerank: str | None = None,
        filter: Any = None,
        record: bool = True,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
    ) -> rows.AskedAnswer:
        return await self._row(calls.ASK, rows.AskedAnswer, locals())

    async def ask_plan(
        self,
        question: str,
        policy: Any = None,
        has_evidence: bool = False,
        plan: Any = None,
        plan_problem: str | None = None,
    ) -> Any:
        return await self._value(calls.ASK_PLAN, locals())

    async def ask_retriever(
        self,
        corpus: str | None = None,
        retriever: str | None = None,
        rag: str | None = None,
        k: int | None = None,
        rank_mode: str | None = None,
    ) -> rows.AskedRetriever:
        return await self._row(calls.ASK_RETRIEVER, rows.AskedRetriever, locals())

    async def ask_verify(
        self,
        run: Any,
        output: Any = None,
        problem: str | None = None,
        schema_problems: Sequence[str] | None = None,
        attempt: int = 1,
        elapsed_ms: float | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
    ) -> Any:
        return await self._value(calls.ASK_VERIFY, locals())

    async def ask_weigh(self, run: Any, results: Any = None, evidence: Any = None) -> Any:
        return await self._value(calls.ASK_WEIGH, locals())

    async def assert_run_passed(self, run_id: UUID | str) -> None:
        await self._run(calls.ASSERT_RUN_PASSED, locals())

    async def assertion_kinds(self) -> Rows[rows.AssertionKindsRow]:
        return await self._rows(calls.ASSERTION_KINDS, rows.AssertionKindsRow, locals())

    async def baseline_run(self, rag: str, eval: str, name: str = "main") -> UUID | None:
        return await self._value(calls.BASELINE_RUN, locals())

    async def begin_move(
        self, corpus: str, destination: str, longest: timedelta | str = "00:00:10"
    ) -> rows.BeginMoveRow:
        return await self._row(calls.BEGIN_MOVE, rows.BeginMoveRow, locals())

    async def bind_embedder(self, name: str, provider: str, provider_model: str) -> rows.Embedders:
        return await self._row(calls.BIND_EMBEDDER, rows.Embedders, locals())

    async def bind_reranker(
        self,
        name: str,
        source: str,
        weights_sha256: str,
        max_tokens: int = 512,
        revision: str | None = None,
    ) -> rows.Rerankers:
        return await self._row(calls.BIND_RERANKER, rows.Rerankers, locals())

    async def bind_role(self, role: str, becomes: str | None = None) -> None:
        await self._run(calls.BIND_ROLE, locals())

    async def bind_static(
        self, embedder: str, tokenizer: str, folding: str, digest: str, lexical_weight: float = 0.75
    ) -> rows.Embedders:
        return await self._row(calls.BIND_STATIC, rows.Embedders, locals())

    async def bless_run(
        self, run_id: UUID | str, name: str = "main", reason: str | None = None
    ) -> None:
        await self._run(calls.BLESS_RUN, locals())

    async def build_evidence_pack(
        self,
        trace_id: UUID | str | None = None,
        chunk_ids: Sequence[str] | None = None,
        corpus: str | None = None,
        max_context: int | None = None,
        unit: str = "token",
    ) -> Any:
        return await self._value(calls.BUILD_EVIDENCE_PACK, locals())

    async def build_slice(
        self,
        corpus: str,
        anchor: str,
        policy: Any = None,
        sign: bool = True,
        as_of: int | None = None,
    ) -> rows.BuiltSlice:
        return await self._row(calls.BUILD_SLICE, rows.BuiltSlice, locals())

    async def build_slices(
        self, corpus: str, anchors: Sequence[str], policy: Any = None, sign: bool = True
    ) -> Rows[rows.BuildSlicesRow]:
        return await self._rows(calls.BUILD_SLICES, rows.BuildSlicesRow, locals())

    async def calibrate_gate(self, corpus: str) -> Rows[rows.CalibrateGateRow]:
        return await self._rows(calls.CALIBRATE_GATE, rows.CalibrateGateRow, locals())

    async def capabilities(
        self, prefix: str = "", after: str = "", count: int | None = None
    ) -> Rows[rows.CapabilitiesRow]:
        return await self._rows(calls.CAPABILITIES, rows.CapabilitiesRow, locals())

    async def capability_schemas(self) -> Rows[rows.CapabilitySchemasRow]:
        return await self._rows(calls.CAPABILITY_SCHEMAS, rows.CapabilitySchemasRow, locals())

    async def challenge_eval(
        self,
        rag: str,
        eval: str | None = None,
        tags: Sequence[str] | None = None,
        rerank_scores: Any = None,
    ) -> Rows[rows.ChallengeEvalRow]:
        return await self._rows(calls.CHALLENGE_EVAL, rows.ChallengeEvalRow, locals())

    async def check_citations(
        self,
        output: Any,
        evidence: Any,
        trace_id: UUID | str | None = None,
        require_citations: bool = False,
        require_admissible: bool = False,
        min_coverage: float = 0.0,
        min_quote: int = 8,
        offsets: str = "codepoint",
    ) -> Rows[rows.CheckCitationsRow]:
        return await self._rows(calls.CHECK_CITATIONS, rows.CheckCitationsRow, locals())

    async def check_corpus(self, corpus: str, deep: bool = True) -> Rows[rows.CheckCorpusRow]:
        return await self._rows(calls.CHECK_CORPUS, rows.CheckCorpusRow, locals())

    async def check_move(
        self, move_id: UUID | str, after: int = 0, count: int = 1000
    ) -> Rows[rows.CheckMoveRow]:
        return await self._rows(calls.CHECK_MOVE, rows.CheckMoveRow, locals())

    async def citation_codes(self) -> Rows[rows.CitationCodesRow]:
        return await self._rows(calls.CITATION_CODES, rows.CitationCodesRow, locals())

    async def claim_embed_jobs(
        self,
        worker: str,
        count: int = 1,
        lease: timedelta | str = "00:02:00",
        only_embedder: str | None = None,
    ) -> Rows[rows.ClaimEmbedJobsRow]:
        return await self._rows(calls.CLAIM_EMBED_JOBS, rows.ClaimEmbedJobsRow, locals())

    async def claim_embeddings(
        self,
        worker: str,
        count: int = 256,
        lease: timedelta | str = "00:01:00",
        only_corpus: str | None = None,
        only_embedder: str | None = None,
        except_embedders: Sequence[str] = (),
    ) -> Rows[rows.ClaimEmbeddingsRow]:
        return await self._rows(calls.CLAIM_EMBEDDINGS, rows.ClaimEmbeddingsRow, locals())

    async def claim_ingest_jobs(
        self,
        worker: str,
        count: int = 1,
        lease: timedelta | str = "00:10:00",
        only_corpus: str | None = None,
        except_corpora: Sequence[str] = (),
    ) -> Rows[rows.ClaimIngestJobsRow]:
        return await self._rows(calls.CLAIM_INGEST_JOBS, rows.ClaimIngestJobsRow, locals())

    async def claim_queries(
        self,
        worker: str,
        count: int = 16,
        lease: timedelta | str = "00:01:00",
        only_embedder: str | None = None,
    ) -> Rows[rows.ClaimQueriesRow]:
        return await self._rows(calls.CLAIM_QUERIES, rows.ClaimQueriesRow, locals())

    async def close_http_session(self, session_hash: bytes) -> None:
        await self._run(calls.CLOSE_HTTP_SESSION, locals())

    async def cluster_add_node(self, host: str, port: int = 5432) -> None:
        await self._run(calls.CLUSTER_ADD_NODE, locals())

    async def cluster_corpora(self) -> Rows[rows.ClusterCorporaRow]:
        return await self._rows(calls.CLUSTER_CORPORA, rows.ClusterCorporaRow, locals())

    async def cluster_init(self, host: str, port: int = 5432) -> int:
        return await self._value(calls.CLUSTER_INIT, locals())

    async def cluster_isolate(self, node: int, is_isolated: bool = True) -> None:
        await self._run(calls.CLUSTER_ISOLATE, locals())

    async def cluster_place(self, corpus: str, node: int) -> None:
        await self._run(calls.CLUSTER_PLACE, locals())

    async def cluster_remove_node(self, node: int) -> None:
        await self._run(calls.CLUSTER_REMOVE_NODE, locals())

    async def cluster_routes(self) -> Rows[rows.ClusterRoutesRow]:
        return await self._rows(calls.CLUSTER_ROUTES, rows.ClusterRoutesRow, locals())

    async def cluster_status(self) -> Rows[rows.ClusterStatusRow]:
        return await self._rows(calls.CLUSTER_STATUS, rows.ClusterStatusRow, locals())

    async def compare_runs(
        self,
        baseline: UUID | str,
        run_id: UUID | str,
        seed: str = "ragdb",
        resamples: int = 10000,
        tolerance: float = 0.01,
    ) -> Rows[rows.CompareRunsRow]:
        return await self._rows(calls.COMPARE_RUNS, rows.CompareRunsRow, locals())

    async def compare_spaces(
        self,
        corpus: str,
        embedder: str,
        queries: Sequence[str],
        current_embeddings: Reals | Sequence[float],
        embeddings: Reals | Sequence[float],
        k: int = 10,
        mode: str = "hybrid",
    ) -> Rows[rows.CompareSpacesRow]:
        return await self._rows(calls.COMPARE_SPACES, rows.CompareSpacesRow, locals())

    async def complete_embed_job(
        self, job_id: UUID | str, attempt: int, embeddings: Reals | Sequence[float]
    ) -> None:
        await self._run(calls.COMPLETE_EMBED_JOB, locals())

    async def complete_embeddings(
        self,
        space_id: int,
        input_hashes: Sequence[bytes],
        attempts: Sequence[int],
        embeddings: Reals | Sequence[float],
    ) -> int:
        return await self._value(calls.COMPLETE_EMBEDDINGS, locals())

    async def complete_ingest_job(
        self, job_id: UUID | str, attempt: int, document: Any
    ) -> rows.PutResult:
        return await self._row(calls.COMPLETE_INGEST_JOB, rows.PutResult, locals())

    async def corpora_with_chunks(self, chunk_ids: Sequence[str]) -> list[str]:
        return await self._values(calls.CORPORA_WITH_CHUNKS, locals())

    async def corpus_embedder(self, corpus: str) -> rows.Embedders | None:
        return await self._row_if_any(calls.CORPUS_EMBEDDER, rows.Embedders, locals())

    async def corpus_event_envelopes(self, corpus: str, after: int = 0, count: int = 100) -> Any:
        return await self._value(calls.CORPUS_EVENT_ENVELOPES, locals())

    async def corpus_events(
        self, corpus: str, after: int = 0, count: int = 100
    ) -> Rows[rows.CorpusEventsRow]:
        return await self._rows(calls.CORPUS_EVENTS, rows.CorpusEventsRow, locals())

    async def corpus_info(self, corpus: str) -> rows.CorpusInfoRow:
        return await self._row(calls.CORPUS_INFO, rows.CorpusInfoRow, locals())

    async def count_corpora(self, with_personal: bool = True) -> rows.CountCorporaRow:
        return await self._row(calls.COUNT_CORPORA, rows.CountCorporaRow, locals())

    @overload
    async def count_matches(
        self,
        corpora: Sequence[str] | None = None,
        query: str | None = None,
        filter: Any = None,
        syntax: str = "plain",
    ) -> rows.CountMatchesRow: ...
    @overload
    async def count_matches(
        self, corpus: str, query: str, filter: Any = None, syntax: str = "plain"
    ) -> rows.CountMatchesRow: ...
    async def count_matches(self, *args: Any, **kwargs: Any) -> rows.CountMatchesRow:
        call, given = choose((calls.COUNT_MATCHES_1, calls.COUNT_MATCHES_2), args, kwargs)
        return await self._row(call, rows.CountMatchesRow, given)

    async def create_corpus(
        self,
        corpus: str,
        title: str | None = None,
        text_config: str = "english",
        k1: float = 1.2,
        b: float = 0.75,
        record_query_text: str = "full",
        is_restricted: bool = False,
        history: timedelta | str | None = None,
        part_of: str | None = None,
    ) -> None:
        await self._run(calls.CREATE_CORPUS, locals())

    async def create_embedder(
        self,
        name: str,
        dims: int,
        model: str | None = None,
        metric: str = "cosine",
        max_tokens: int = 256,
        revision: str | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        weights_sha256: str | None = None,
    ) -> rows.Embedders:
        return await self._row(calls.CREATE_EMBEDDER, rows.Embedders, locals())

    async def create_http_token(
        self, role: str, name: str, expires_in: timedelta | str | None = None
    ) -> str:
        return await self._value(calls.CREATE_HTTP_TOKEN, locals())

    async def create_signing_key(self, key_id: str | None = None) -> str:
        return await self._value(calls.CREATE_SIGNING_KEY, locals())

    async def cutover_corpus(self, corpus: str, embedder: str, force: bool = False) -> int:
        return await self._value(calls.CUTOVER_CORPUS, locals())

    async def dead_roles(self) -> Rows[rows.DeadRolesRow]:
        return await self._rows(calls.DEAD_ROLES, rows.DeadRolesRow, locals())

    async def decide_proposal(
        self, corpus: str, proposal_id: UUID | str, decision: str, reason: str | None = None
    ) -> rows.DecideProposalRow:
        return await self._row(calls.DECIDE_PROPOSAL, rows.DecideProposalRow, locals())

    async def delete_document(
        self, corpus: str, document: str, derived: str = "redact", reason: str | None = None
    ) -> rows.DeleteDocumentRow:
        return await self._row(calls.DELETE_DOCUMENT, rows.DeleteDocumentRow, locals())

    async def delete_source(
        self, corpus: str, uri: str, derived: str = "redact", reason: str | None = None
    ) -> rows.DeleteSourceRow:
        return await self._row(calls.DELETE_SOURCE, rows.DeleteSourceRow, locals())

    async def delete_sources(
        self, corpus: str, uris: Sequence[str], derived: str = "redact", reason: str | None = None
    ) -> rows.DeleteSourcesRow:
        return await self._row(calls.DELETE_SOURCES, rows.DeleteSourcesRow, locals())

    @overload
    async def did_you_mean(
        self, corpora: Sequence[str] | None = None, query: str | None = None, syntax: str = "plain"
    ) -> str | None: ...
    @overload
    async def did_you_mean(self, corpus: str, query: str, syntax: str = "plain") -> str | None: ...
    async def did_you_mean(self, *args: Any, **kwargs: Any) -> str | None:
        call, given = choose((calls.DID_YOU_MEAN_1, calls.DID_YOU_MEAN_2), args, kwargs)
        return await self._value(call, given)

    async def diff_corpus(
        self,
        corpus: str,
        since: int,
        until: int | None = None,
        prefix: str = "",
        after: str = "",
        count: int | None = None,
    ) -> Rows[rows.DiffCorpusRow]:
        return await self._rows(calls.DIFF_CORPUS, rows.DiffCorpusRow, locals())

    async def document_chunks(
        self, corpus: str, document: str, first: int = 0, count: int | None = None
    ) -> Rows[rows.Chunk]:
        return await self._rows(calls.DOCUMENT_CHUNKS, rows.Chunk, locals())

    async def document_text(self, corpus: str, document: str) -> str | None:
        return await self._value(calls.DOCUMENT_TEXT, locals())

    async def document_versions(
        self, corpus: str, document: str, count: int = 20
    ) -> Rows[rows.DocumentVersionsRow]:
        return await self._rows(calls.DOCUMENT_VERSIONS, rows.DocumentVersionsRow, locals())

    async def draft_events(self, corpus: str, count: int = 1000) -> list[str]:
        return await self._values(calls.DRAFT_EVENTS, locals())

    async def drop_access_events_before(self, before: date) -> int:
        return await self._value(calls.DROP_ACCESS_EVENTS_BEFORE, locals())

    async def drop_blob(self, cid: str) -> None:
        await self._run(calls.DROP_BLOB, locals())

    async def drop_corpus(self, corpus: str, reason: str | None = None) -> None:
        await self._run(calls.DROP_CORPUS, locals())

    async def drop_eval_runs_before(
        self, before: date, reason: str | None = None
    ) -> Rows[rows.DropEvalRunsBeforeRow]:
        return await self._rows(calls.DROP_EVAL_RUNS_BEFORE, rows.DropEvalRunsBeforeRow, locals())

    async def drop_history(self, corpus: str) -> int:
        return await self._value(calls.DROP_HISTORY, locals())

    async def drop_kept_queries_before(self, before: date) -> Rows[rows.DropKeptQueriesBeforeRow]:
        return await self._rows(
            calls.DROP_KEPT_QUERIES_BEFORE, rows.DropKeptQueriesBeforeRow, locals()
        )

    async def drop_part_statistics(self, corpus: str, part: str) -> int:
        return await self._value(calls.DROP_PART_STATISTICS, locals())

    async def drop_space(self, corpus: str, embedder: str) -> None:
        await self._run(calls.DROP_SPACE, locals())

    async def drop_traces_before(self, before: date) -> Rows[rows.DropTracesBeforeRow]:
        return await self._rows(calls.DROP_TRACES_BEFORE, rows.DropTracesBeforeRow, locals())

    async def embed(self, text: str, embedder: str | None = None) -> list[float]:
        return await self._value(calls.EMBED, locals())

    async def embed_corpus(
        self, corpus: str, embedder: str | None = None, m: int = 16, ef_construction: int = 128
    ) -> int | None:
        return await self._value(calls.EMBED_CORPUS, locals())

    async def embed_query(
        self, query: str, corpus: str | None = None, timeout_s: float = 30.0
    ) -> None:
        await self._run(calls.EMBED_QUERY, locals())

    async def embed_text(self, request: Any) -> Any:
        return await self._value(calls.EMBED_TEXT, locals())

    async def embedding_status(
        self,
        only_corpus: str | None = None,
        only_lacking_index: bool = False,
        prefix: str = "",
        after: str = "",
        count: int | None = None,
    ) -> Rows[rows.EmbeddingStatusRow]:
        return await self._rows(calls.EMBEDDING_STATUS, rows.EmbeddingStatusRow, locals())

    async def erase_caller(
        self,
        caller: str,
        corpus: str | None = None,
        reason: str | None = None,
        caller_oid: int | None = None,
    ) -> rows.EraseCallerRow:
        return await self._row(calls.ERASE_CALLER, rows.EraseCallerRow, locals())

    async def erase_source(
        self, corpus: str, uri: str, reason: str | None = None
    ) -> rows.EraseSourceRow:
        return await self._row(calls.ERASE_SOURCE, rows.EraseSourceRow, locals())

    async def erase_speaker(
        self, corpus: str, speaker: str, session: str | None = None, reason: str | None = None
    ) -> rows.EraseSpeakerRow:
        return await self._row(calls.ERASE_SPEAKER, rows.EraseSpeakerRow, locals())

    async def erase_traces(self, corpus: str, reason: str | None = None) -> rows.EraseTracesRow:
        return await self._row(calls.ERASE_TRACES, rows.EraseTracesRow, locals())

    async def error_codes(self) -> Rows[rows.ErrorCodesRow]:
        return await self._rows(calls.ERROR_CODES, rows.ErrorCodesRow, locals())

    async def eval_assert_results(
        self, run_id: UUID | str, after: int = 0, last: int | None = None
    ) -> Rows[rows.EvalAssertResults]:
        return await self._rows(calls.EVAL_ASSERT_RESULTS, rows.EvalAssertResults, locals())

    async def eval_candidates(
        self, rag: str, eval: str | None = None, tags: Sequence[str] | None = None
    ) -> Rows[rows.EvalCandidatesRow]:
        return await self._rows(calls.EVAL_CANDIDATES, rows.EvalCandidatesRow, locals())

    async def eval_case_results(
        self, run_id: UUID | str, after: int = 0, count: int | None = None
    ) -> Rows[rows.EvalCaseResults]:
        return await self._rows(calls.EVAL_CASE_RESULTS, rows.EvalCaseResults, locals())

    async def eval_metrics(
        self, run_id: UUID | str, after: int = 0, last: int | None = None
    ) -> Rows[rows.EvalMetrics]:
        return await self._rows(calls.EVAL_METRICS, rows.EvalMetrics, locals())

    async def eval_queries(
        self, rag: str, eval: str | None = None, tags: Sequence[str] | None = None
    ) -> Rows[rows.EvalQueriesRow]:
        return await self._rows(calls.EVAL_QUERIES, rows.EvalQueriesRow, locals())

    async def eval_report(self, run_id: UUID | str, format: str = "table") -> str:
        return await self._value(calls.EVAL_REPORT, locals())

    async def evaluate_answer(self, contract: Any, retrieval: Any) -> Any:
        return await self._value(calls.EVALUATE_ANSWER, locals())

    async def evaluate_case(self, case: Any, retrieval: Any) -> Rows[rows.EvaluateCaseRow]:
        return await self._rows(calls.EVALUATE_CASE, rows.EvaluateCaseRow, locals())

    async def event_envelopes(self, after: Any = None, count: int = 100) -> Any:
        return await self._value(calls.EVENT_ENVELOPES, locals())

    async def events_after(self, after: Any = None, count: int = 100) -> Rows[rows.EventsAfterRow]:
        return await self._rows(calls.EVENTS_AFTER, rows.EventsAfterRow, locals())

    async def evidence_pack_to_input(self, pack: Any) -> Any:
        return await self._value(calls.EVIDENCE_PACK_TO_INPUT, locals())

    async def evidence_provenance(self, evidence: Any) -> rows.EvidenceProvenanceRow:
        return await self._row(calls.EVIDENCE_PROVENANCE, rows.EvidenceProvenanceRow, locals())

    async def explain_missing(
        self,
        corpus: str,
        query: str,
        chunk_id: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        min_lexical: float = 0.0,
        min_semantic: float = 0.0,
        syntax: str = "plain",
        per_document: int | None = None,
        collapse: bool = False,
        diversity: float = 0.0,
        typos: bool = True,
    ) -> rows.ExplainMissingRow:
        return await self._row(calls.EXPLAIN_MISSING, rows.ExplainMissingRow, locals())

    async def explain_score(
        self,
        corpus: str,
        query: str,
        chunk_id: str,
        mode: str | None = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        syntax: str = "plain",
        typos: bool = True,
    ) -> Rows[rows.ExplainScoreRow]:
        return await self._rows(calls.EXPLAIN_SCORE, rows.ExplainScoreRow, locals())

    async def explain_scores(
        self,
        corpus: str,
        query: str,
        chunk_ids: Sequence[str],
        mode: str | None = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        syntax: str = "plain",
        typos: bool = True,
    ) -> Rows[rows.ExplainScoresRow]:
        return await self._rows(calls.EXPLAIN_SCORES, rows.ExplainScoresRow, locals())

    async def explain_search(
        self,
        corpus: str,
        query: str,
        chunk_id: str,
        statistics: str | None = None,
        syntax: str = "plain",
        typos: bool = True,
    ) -> Rows[rows.ExplainSearchRow]:
        return await self._rows(calls.EXPLAIN_SEARCH, rows.ExplainSearchRow, locals())

    async def export_contract(self, contract: str, version: int | None = None) -> Any:
        return await self._value(calls.EXPORT_CONTRACT, locals())

    async def export_corpus(self, corpus: str) -> Any:
        return await self._value(calls.EXPORT_CORPUS, locals())

    async def export_documents(
        self, corpus: str, after: int = 0, count: int = 1000
    ) -> Rows[rows.ExportDocumentsRow]:
        return await self._rows(calls.EXPORT_DOCUMENTS, rows.ExportDocumentsRow, locals())

    async def export_embeddings(
        self, corpus: str, after: int = 0, count: int = 1000
    ) -> Rows[rows.ExportEmbeddingsRow]:
        return await self._rows(calls.EXPORT_EMBEDDINGS, rows.ExportEmbeddingsRow, locals())

    async def export_signing_keys(self) -> Rows[rows.ExportSigningKeysRow]:
        return await self._rows(calls.EXPORT_SIGNING_KEYS, rows.ExportSigningKeysRow, locals())

    async def export_slice(self, corpus: str, anchor: str, policy: Any = None) -> rows.BuiltSlice:
        return await self._row(calls.EXPORT_SLICE, rows.BuiltSlice, locals())

    async def export_trec(self, run_id: UUID | str, what: str = "run") -> list[str]:
        return await self._values(calls.EXPORT_TREC, locals())

    @overload
    async def facets(
        self,
        corpora: Sequence[str] | None = None,
        query: str | None = None,
        fields: Sequence[str] | None = None,
        filter: Any = None,
        most_values: int = 100,
        syntax: str = "plain",
    ) -> Rows[rows.FacetsRow]: ...
    @overload
    async def facets(
        self,
        corpus: str,
        query: str,
        fields: Sequence[str],
        filter: Any = None,
        most_values: int = 100,
        syntax: str = "plain",
    ) -> Rows[rows.FacetsRow]: ...
    async def facets(self, *args: Any, **kwargs: Any) -> Rows[rows.FacetsRow]:
        call, given = choose((calls.FACETS_1, calls.FACETS_2), args, kwargs)
        return await self._rows(call, rows.FacetsRow, given)

    async def fail_embed_job(
        self, job_id: UUID | str, attempt: int, message: str, is_final: bool = False
    ) -> None:
        await self._run(calls.FAIL_EMBED_JOB, locals())

    async def fail_embeddings(
        self,
        space_id: int,
        input_hashes: Sequence[bytes],
        attempts: Sequence[int],
        error: str,
        retry_after: timedelta | str | None = None,
    ) -> int:
        return await self._value(calls.FAIL_EMBEDDINGS, locals())

    async def fail_ingest_job(
        self,
        job_id: UUID | str,
        attempt: int,
        message: str,
        hint: str | None = None,
        error: str | None = None,
        retry_after: timedelta | str | None = None,
    ) -> None:
        await self._run(calls.FAIL_INGEST_JOB, locals())

    async def fail_query(
        self, corpus: str, embedder: str, query_hash: bytes, attempt: int, error: str
    ) -> None:
        await self._run(calls.FAIL_QUERY, locals())

    async def feedback_cases(
        self, corpus: str, since: datetime | None = None, after: str = "", count: int | None = None
    ) -> Any:
        return await self._value(calls.FEEDBACK_CASES, locals())

    async def filter_admissible(
        self, corpus: str, slice_id: str, chunk_ids: Sequence[str]
    ) -> list[str]:
        return await self._value(calls.FILTER_ADMISSIBLE, locals())

    async def find_chunk(self, corpus: str, prefix: str) -> str:
        return await self._value(calls.FIND_CHUNK, locals())

    async def find_run(self, prefix: str) -> UUID:
        return await self._value(calls.FIND_RUN, locals())

    async def find_slice(self, corpus: str, prefix: str) -> str:
        return await self._value(calls.FIND_SLICE, locals())

    async def find_trace(self, prefix: str) -> UUID:
        return await self._value(calls.FIND_TRACE, locals())

    async def finish_import(self, corpus: str, header: Any) -> None:
        await self._run(calls.FINISH_IMPORT, locals())

    async def finish_move(self, move_id: UUID | str) -> None:
        await self._run(calls.FINISH_MOVE, locals())

    async def follow_peer(self, corpus: str, peer: str, remote: str | None = None) -> None:
        await self._run(calls.FOLLOW_PEER, locals())

    async def gate_questions(self, corpus: str) -> Rows[rows.GateQuestionsRow]:
        return await self._rows(calls.GATE_QUESTIONS, rows.GateQuestionsRow, locals())

    async def get_answer(self, answer_id: UUID | str) -> rows.RecordedAnswer:
        return await self._row(calls.GET_ANSWER, rows.RecordedAnswer, locals())

    async def get_blob(self, cid: str) -> rows.Blob:
        return await self._row(calls.GET_BLOB, rows.Blob, locals())

    async def get_children(
        self, corpus: str, chunk_id: str, after: str = "", count: int = 1000
    ) -> Rows[rows.Edge]:
        return await self._rows(calls.GET_CHILDREN, rows.Edge, locals())

    async def get_chunk(self, corpus: str, chunk_id: str) -> rows.Chunk:
        return await self._row(calls.GET_CHUNK, rows.Chunk, locals())

    async def get_document(self, corpus: str, document: str) -> rows.Document:
        return await self._row(calls.GET_DOCUMENT, rows.Document, locals())

    async def get_edges(self, corpus: str, chunk_ids: Sequence[str]) -> Rows[rows.Edge]:
        return await self._rows(calls.GET_EDGES, rows.Edge, locals())

    async def get_eval_run(self, run_id: UUID | str) -> rows.EvalRuns:
        return await self._row(calls.GET_EVAL_RUN, rows.EvalRuns, locals())

    async def get_parents(
        self, corpus: str, chunk_id: str, after: str = "", count: int = 1000
    ) -> Rows[rows.Edge]:
        return await self._rows(calls.GET_PARENTS, rows.Edge, locals())

    async def get_retriever(self, retriever: str) -> rows.RetrieverSettings:
        return await self._row(calls.GET_RETRIEVER, rows.RetrieverSettings, locals())

    async def get_slice(self, corpus: str, slice_id: str) -> rows.GetSliceRow:
        return await self._row(calls.GET_SLICE, rows.GetSliceRow, locals())

    async def get_source(self, corpus: str, uri: str) -> Rows[rows.GetSourceRow]:
        return await self._rows(calls.GET_SOURCE, rows.GetSourceRow, locals())

    async def get_trace(self, trace_id: UUID | str) -> rows.RetrievalTraces:
        return await self._row(calls.GET_TRACE, rows.RetrievalTraces, locals())

    async def get_turn(self, corpus: str, chunk_id: str) -> rows.GetTurnRow:
        return await self._row(calls.GET_TURN, rows.GetTurnRow, locals())

    async def grant_corpus(self, corpus: str, role: str, privilege: str) -> None:
        await self._run(calls.GRANT_CORPUS, locals())

    async def guess_languages(self, texts: Sequence[str]) -> Rows[rows.GuessLanguagesRow]:
        return await self._rows(calls.GUESS_LANGUAGES, rows.GuessLanguagesRow, locals())

    async def has_reached(self, log_position: str) -> bool:
        return await self._value(calls.HAS_REACHED, locals())

    async def has_worker(self) -> bool:
        return await self._value(calls.HAS_WORKER, locals())

    async def highlight(
        self,
        corpus: str,
        chunk_id: str,
        query: str,
        start_mark: str = "**",
        end_mark: str = "**",
        syntax: str = "plain",
    ) -> str:
        return await self._value(calls.HIGHLIGHT, locals())

    async def highlight_chunks(
        self,
        corpus: str,
        chunk_ids: Sequence[str],
        query: str,
        start_mark: str = "**",
        end_mark: str = "**",
        syntax: str = "plain",
    ) -> Rows[rows.HighlightChunksRow]:
        return await self._rows(calls.HIGHLIGHT_CHUNKS, rows.HighlightChunksRow, locals())

    async def hold_move(
        self, move_id: UUID | str, longest: timedelta | str = "00:00:10"
    ) -> datetime:
        return await self._value(calls.HOLD_MOVE, locals())

    async def http_session_role(self, session_hash: bytes) -> str | None:
        return await self._value(calls.HTTP_SESSION_ROLE, locals())

    async def http_token_role(self, token_hash: bytes) -> str | None:
        return await self._value(calls.HTTP_TOKEN_ROLE, locals())

    async def import_corpus(self, header: Any, corpus: str | None = None) -> str:
        return await self._value(calls.IMPORT_CORPUS, locals())

    async def import_documents(self, corpus: str, documents: Any) -> int:
        return await self._value(calls.IMPORT_DOCUMENTS, locals())

    async def import_embeddings(
        self,
        corpus: str,
        sources: Sequence[str],
        ordinals: Sequence[int],
        embeddings: Reals | Sequence[float],
    ) -> int:
        return await self._value(calls.IMPORT_EMBEDDINGS, locals())

    async def import_eval(self, rag: str, eval: str, cases: Any) -> rows.ImportEvalRow:
        return await self._row(calls.IMPORT_EVAL, rows.ImportEvalRow, locals())

    async def import_signing_key(
        self,
        key_id: str,
        secret: str,
        state: str = "verify_only",
        created_at: datetime | None = None,
        active_until: datetime | None = None,
        not_after: datetime | None = None,
    ) -> None:
        await self._run(calls.IMPORT_SIGNING_KEY, locals())

    async def import_synonyms(self, corpus: str, synonyms: Any) -> int:
        return await self._value(calls.IMPORT_SYNONYMS, locals())

    async def index_space(self, corpus: str, embedder: str | None = None) -> bool:
        return await self._value(calls.INDEX_SPACE, locals())

    async def inline_spans(self, answer: str, chunk_ids: Sequence[str]) -> Any:
        return await self._value(calls.INLINE_SPANS, locals())

    async def is_admissible(self, corpus: str, slice_id: str, chunk_id: str) -> bool:
        return await self._value(calls.IS_ADMISSIBLE, locals())

    async def job_state(self, job_id: UUID | str) -> rows.JobStateRow:
        return await self._row(calls.JOB_STATE, rows.JobStateRow, locals())

    async def job_status(self) -> Rows[rows.JobStatusRow]:
        return await self._rows(calls.JOB_STATUS, rows.JobStatusRow, locals())

    async def keep_history(self, corpus: str, history: timedelta | str) -> rows.KeepHistoryRow:
        return await self._row(calls.KEEP_HISTORY, rows.KeepHistoryRow, locals())

    async def kern_chunk_hash(self, text: str) -> str:
        return await self._value(calls.KERN_CHUNK_HASH, locals())

    async def known_sources(self, corpus: str, uris: Sequence[str]) -> Rows[rows.KnownSourcesRow]:
        return await self._rows(calls.KNOWN_SOURCES, rows.KnownSourcesRow, locals())

    async def lacking_originals(self, move_id: UUID | str, cids: Sequence[str]) -> list[str]:
        return await self._values(calls.LACKING_ORIGINALS, locals())

    async def last_trace_id(self) -> UUID:
        return await self._value(calls.LAST_TRACE_ID, locals())

    async def leave_move(self, move_id: UUID | str, reopen: bool = False) -> bool:
        return await self._value(calls.LEAVE_MOVE, locals())

    async def ledger_bundle(self, index: int, width: int = 256) -> bytes:
        return await self._value(calls.LEDGER_BUNDLE, locals())

    async def ledger_checkpoint(self, size: int | None = None) -> str:
        return await self._value(calls.LEDGER_CHECKPOINT, locals())

    async def ledger_consistency_proof(
        self, old_size: int, new_size: int | None = None
    ) -> list[bytes]:
        return await self._value(calls.LEDGER_CONSISTENCY_PROOF, locals())

    async def ledger_entries(self, first: int = 0, count: int = 1000) -> Rows[rows.LedgerEntry]:
        return await self._rows(calls.LEDGER_ENTRIES, rows.LedgerEntry, locals())

    async def ledger_entry(self, kind: str, id: str) -> rows.LedgerEntry:
        return await self._row(calls.LEDGER_ENTRY, rows.LedgerEntry, locals())

    async def ledger_inclusion_proof(self, number: int, size: int | None = None) -> list[bytes]:
        return await self._value(calls.LEDGER_INCLUSION_PROOF, locals())

    async def ledger_kinds(self) -> list[str]:
        return await self._values(calls.LEDGER_KINDS, locals())

    async def ledger_root(self, size: int | None = None) -> bytes:
        return await self._value(calls.LEDGER_ROOT, locals())

    async def ledger_status(self) -> rows.LedgerStatusRow:
        return await self._row(calls.LEDGER_STATUS, rows.LedgerStatusRow, locals())

    async def ledger_tile(self, level: int, index: int, width: int = 256) -> bytes:
        return await self._value(calls.LEDGER_TILE, locals())

    async def list_access_events(
        self, corpus: str | None = None, since: datetime | None = None, count: int = 100
    ) -> Rows[rows.AccessEvents]:
        return await self._rows(calls.LIST_ACCESS_EVENTS, rows.AccessEvents, locals())

    async def list_answers(
        self,
        corpus: str | None = None,
        since: datetime | None = None,
        count: int = 50,
        before: UUID | str | None = None,
    ) -> Rows[rows.RecordedAnswer]:
        return await self._rows(calls.LIST_ANSWERS, rows.RecordedAnswer, locals())

    async def list_atoms(self, corpus: str, count: int = 100) -> Rows[rows.ListAtomsRow]:
        return await self._rows(calls.LIST_ATOMS, rows.ListAtomsRow, locals())

    async def list_blobs(self, after: str = "", count: int = 100) -> Rows[rows.ListBlobsRow]:
        return await self._rows(calls.LIST_BLOBS, rows.ListBlobsRow, locals())

    async def list_checkpoints(self, count: int = 100) -> Rows[rows.ListCheckpointsRow]:
        return await self._rows(calls.LIST_CHECKPOINTS, rows.ListCheckpointsRow, locals())

    async def list_chunks(
        self,
        corpus: str,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        after: str = "",
        count: int = 100,
    ) -> Rows[rows.Chunk]:
        return await self._rows(calls.LIST_CHUNKS, rows.Chunk, locals())

    async def list_citations(self, answer_id: UUID | str) -> Rows[rows.ListCitationsRow]:
        return await self._rows(calls.LIST_CITATIONS, rows.ListCitationsRow, locals())

    async def list_conflicts(
        self, corpus: str, only_open: bool = True
    ) -> Rows[rows.ListConflictsRow]:
        return await self._rows(calls.LIST_CONFLICTS, rows.ListConflictsRow, locals())

    async def list_contracts(
        self,
        only_current: bool = False,
        prefix: str = "",
        after: str = "",
        count: int | None = None,
    ) -> Rows[rows.ListContractsRow]:
        return await self._rows(calls.LIST_CONTRACTS, rows.ListContractsRow, locals())

    async def list_corpora(
        self, prefix: str = "", after: str = "", count: int | None = None, by_change: bool = False
    ) -> Rows[rows.ListCorporaRow]:
        return await self._rows(calls.LIST_CORPORA, rows.ListCorporaRow, locals())

    async def list_documents(
        self, corpus: str, prefix: str = "", after: str = "", count: int = 100
    ) -> Rows[rows.Document]:
        return await self._rows(calls.LIST_DOCUMENTS, rows.Document, locals())

    async def list_embedders(self) -> Rows[rows.Embedders]:
        return await self._rows(calls.LIST_EMBEDDERS, rows.Embedders, locals())

    async def list_erasures(self, corpus: str, count: int = 100) -> Rows[rows.ListErasuresRow]:
        return await self._rows(calls.LIST_ERASURES, rows.ListErasuresRow, locals())

    async def list_eval_cases(
        self, rag: str, eval: str | None = None, after: int = 0, count: int | None = None
    ) -> Rows[rows.ListEvalCasesRow]:
        return await self._rows(calls.LIST_EVAL_CASES, rows.ListEvalCasesRow, locals())

    async def list_eval_runs(
        self,
        rag: str | None = None,
        eval: str | None = None,
        count: int = 50,
        since: datetime | None = None,
    ) -> Rows[rows.EvalRuns]:
        return await self._rows(calls.LIST_EVAL_RUNS, rows.EvalRuns, locals())

    async def list_evals(
        self,
        only_corpus: str | None = None,
        prefix: str = "",
        after: str = "",
        count: int | None = None,
    ) -> Rows[rows.ListEvalsRow]:
        return await self._rows(calls.LIST_EVALS, rows.ListEvalsRow, locals())

    async def list_failed_embeddings(
        self, corpus: str, after: str = "", count: int = 100
    ) -> Rows[rows.ListFailedEmbeddingsRow]:
        return await self._rows(
            calls.LIST_FAILED_EMBEDDINGS, rows.ListFailedEmbeddingsRow, locals()
        )

    async def list_feedback(
        self,
        corpus: str | None = None,
        since: datetime | None = None,
        count: int = 50,
        before: UUID | str | None = None,
    ) -> Rows[rows.ListFeedbackRow]:
        return await self._rows(calls.LIST_FEEDBACK, rows.ListFeedbackRow, locals())

    async def list_gates(
        self,
        corpus: str | None = None,
        since: datetime | None = None,
        count: int = 50,
        before: UUID | str | None = None,
    ) -> Rows[rows.RecordedGate]:
        return await self._rows(calls.LIST_GATES, rows.RecordedGate, locals())

    async def list_grants(self, corpus: str) -> Rows[rows.ListGrantsRow]:
        return await self._rows(calls.LIST_GRANTS, rows.ListGrantsRow, locals())

    async def list_http_tokens(self) -> Rows[rows.ListHttpTokensRow]:
        return await self._rows(calls.LIST_HTTP_TOKENS, rows.ListHttpTokensRow, locals())

    async def list_incidents(self, corpus: str, count: int = 100) -> Rows[rows.ListIncidentsRow]:
        return await self._rows(calls.LIST_INCIDENTS, rows.ListIncidentsRow, locals())

    async def list_key_events(self) -> Rows[rows.KeyEvents]:
        return await self._rows(calls.LIST_KEY_EVENTS, rows.KeyEvents, locals())

    async def list_ledger_acts(self, count: int = 100) -> Rows[rows.LedgerActs]:
        return await self._rows(calls.LIST_LEDGER_ACTS, rows.LedgerActs, locals())

    async def list_moves(self, corpus: str | None = None) -> Rows[rows.ListMovesRow]:
        return await self._rows(calls.LIST_MOVES, rows.ListMovesRow, locals())

    async def list_parts(self, corpus: str) -> Rows[rows.ListPartsRow]:
        return await self._rows(calls.LIST_PARTS, rows.ListPartsRow, locals())

    async def list_peer_corpora(self, corpus: str | None = None) -> Rows[rows.ListPeerCorporaRow]:
        return await self._rows(calls.LIST_PEER_CORPORA, rows.ListPeerCorporaRow, locals())

    async def list_peers(self) -> Rows[rows.ListPeersRow]:
        return await self._rows(calls.LIST_PEERS, rows.ListPeersRow, locals())

    async def list_policies(self) -> Rows[rows.ListPoliciesRow]:
        return await self._rows(calls.LIST_POLICIES, rows.ListPoliciesRow, locals())

    async def list_proposals(
        self, corpus: str, state: str | None = None, count: int = 100
    ) -> Rows[rows.ListProposalsRow]:
        return await self._rows(calls.LIST_PROPOSALS, rows.ListProposalsRow, locals())

    async def list_quotas(self) -> Rows[rows.ListQuotasRow]:
        return await self._rows(calls.LIST_QUOTAS, rows.ListQuotasRow, locals())

    async def list_rerankers(self) -> Rows[rows.Rerankers]:
        return await self._rows(calls.LIST_RERANKERS, rows.Rerankers, locals())

    async def list_shared_documents(
        self, corpus: str, sources: Sequence[str] | None = None
    ) -> Rows[rows.ListSharedDocumentsRow]:
        return await self._rows(calls.LIST_SHARED_DOCUMENTS, rows.ListSharedDocumentsRow, locals())

    async def list_shared_events(
        self, corpus: str, after: int = 0, count: int = 1000
    ) -> Rows[rows.ListSharedEventsRow]:
        return await self._rows(calls.LIST_SHARED_EVENTS, rows.ListSharedEventsRow, locals())

    async def list_signing_keys(self) -> Rows[rows.ListSigningKeysRow]:
        return await self._rows(calls.LIST_SIGNING_KEYS, rows.ListSigningKeysRow, locals())

    async def list_slices(
        self, corpus: str, since: datetime | None = None, count: int = 50, before: str | None = None
    ) -> Rows[rows.ListSlicesRow]:
        return await self._rows(calls.LIST_SLICES, rows.ListSlicesRow, locals())

    async def list_sources(
        self, only_due: bool = False, prefix: str = "", after: str = "", count: int | None = None
    ) -> Rows[rows.ListSourcesRow]:
        return await self._rows(calls.LIST_SOURCES, rows.ListSourcesRow, locals())

    async def list_static_models(self) -> Rows[rows.ListStaticModelsRow]:
        return await self._rows(calls.LIST_STATIC_MODELS, rows.ListStaticModelsRow, locals())

    async def list_synonyms(
        self, corpus: str, prefix: str = "", after: str = "", count: int | None = None
    ) -> Rows[rows.ListSynonymsRow]:
        return await self._rows(calls.LIST_SYNONYMS, rows.ListSynonymsRow, locals())

    async def list_text_configs(self) -> Rows[rows.ListTextConfigsRow]:
        return await self._rows(calls.LIST_TEXT_CONFIGS, rows.ListTextConfigsRow, locals())

    async def list_tools(self) -> Rows[rows.ListToolsRow]:
        return await self._rows(calls.LIST_TOOLS, rows.ListToolsRow, locals())

    async def list_traces(
        self,
        corpus: str | None = None,
        since: datetime | None = None,
        count: int = 50,
        until: datetime | None = None,
        mode: str | None = None,
        outcome: str | None = None,
        min_elapsed_ms: float | None = None,
        before: UUID | str | None = None,
    ) -> Rows[rows.RetrievalTraces]:
        return await self._rows(calls.LIST_TRACES, rows.RetrievalTraces, locals())

    async def list_turns(self, corpus: str, chunk_ids: Sequence[str]) -> Rows[rows.ListTurnsRow]:
        return await self._rows(calls.LIST_TURNS, rows.ListTurnsRow, locals())

    async def list_unanswered(
        self,
        corpus: str | None = None,
        since: datetime | None = None,
        count: int = 50,
        before: UUID | str | None = None,
    ) -> Rows[rows.UnansweredQuestion]:
        return await self._rows(calls.LIST_UNANSWERED, rows.UnansweredQuestion, locals())

    async def list_versions(
        self, corpus: str, before: int | None = None, count: int = 100
    ) -> Rows[rows.ListVersionsRow]:
        return await self._rows(calls.LIST_VERSIONS, rows.ListVersionsRow, locals())

    async def locate_quote(
        self, corpus: str, chunk_id: str, quote: str
    ) -> Rows[rows.LocateQuoteRow]:
        return await self._rows(calls.LOCATE_QUOTE, rows.LocateQuoteRow, locals())

    async def log_position(self) -> str:
        return await self._value(calls.LOG_POSITION, locals())

    async def maintain(self) -> list[str]:
        return await self._values(calls.MAINTAIN, locals())

    async def map_corpus(
        self,
        corpus: str,
        count: int = 2000,
        query: str | None = None,
        chunk_ids: Sequence[str] | None = None,
    ) -> Rows[rows.MapPoint]:
        return await self._rows(calls.MAP_CORPUS, rows.MapPoint, locals())

    async def match_documents(
        self,
        query_embedding: Reals | Sequence[float],
        match_threshold: float = 0.0,
        match_count: int = 10,
        filter: Any = None,
        corpus: str | None = None,
    ) -> Rows[rows.MatchDocumentsRow]:
        return await self._rows(calls.MATCH_DOCUMENTS, rows.MatchDocumentsRow, locals())

    async def merge_candidates(
        self,
        corpus: str,
        shares: Any,
        k: int = 10,
        mode: str = "lexical",
        min_score: float = 0.0,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        min_lexical: float = 0.0,
        min_semantic: float = 0.0,
        asked: str | None = None,
        is_unmet: bool = False,
    ) -> Rows[rows.MergeCandidatesRow]:
        return await self._rows(calls.MERGE_CANDIDATES, rows.MergeCandidatesRow, locals())

    async def merge_peer_answers(self, corpus: str, answer: Any, answers: Any, k: int = 5) -> Any:
        return await self._value(calls.MERGE_PEER_ANSWERS, locals())

    async def metrics(self) -> Rows[rows.MetricSample]:
        return await self._rows(calls.METRICS, rows.MetricSample, locals())

    async def move_digest(self, move_id: UUID | str) -> Any:
        return await self._value(calls.MOVE_DIGEST, locals())

    async def move_originals(
        self, move_id: UUID | str, after: str = "", count: int = 1000
    ) -> list[str]:
        return await self._values(calls.MOVE_ORIGINALS, locals())

    async def move_page(
        self, move_id: UUID | str, applied: int | None = None, count: int = 1000
    ) -> Rows[rows.MovePageRow]:
        return await self._rows(calls.MOVE_PAGE, rows.MovePageRow, locals())

    async def move_receipt(self, move_id: UUID | str) -> bytes:
        return await self._value(calls.MOVE_RECEIPT, locals())

    async def name_ledger(self, origin: str | None = None) -> str | None:
        return await self._value(calls.NAME_LEDGER, locals())

    async def note_readings(self, corpus: str, readings: Any) -> int:
        return await self._value(calls.NOTE_READINGS, locals())

    async def open_http_session(self, token_hash: bytes | None = None) -> str | None:
        return await self._value(calls.OPEN_HTTP_SESSION, locals())

    async def open_move(self, move_id: UUID | str, receipt: bytes) -> None:
        await self._run(calls.OPEN_MOVE, locals())

    async def optimize_corpus(
        self, corpus: str, new_pivot: float | None = None
    ) -> rows.OptimizeCorpusRow:
        return await self._row(calls.OPTIMIZE_CORPUS, rows.OptimizeCorpusRow, locals())

    async def origin(self) -> rows.OriginRow:
        return await self._row(calls.ORIGIN, rows.OriginRow, locals())

    async def parse_contract(self, contract: str, contract_name: str = "contract") -> Any:
        return await self._value(calls.PARSE_CONTRACT, locals())

    async def part_statistics(
        self, corpus: str, parts: Sequence[str] = ()
    ) -> Rows[rows.PartStatisticsRow]:
        return await self._rows(calls.PART_STATISTICS, rows.PartStatisticsRow, locals())

    async def policy_hash(self, policy: Any) -> str:
        return await self._value(calls.POLICY_HASH, locals())

    async def prepare_query(self, corpus: str, query: str) -> bool:
        return await self._value(calls.PREPARE_QUERY, locals())

    async def promote_to_atom(
        self,
        trace_id: UUID | str,
        chunk_ids: Sequence[str],
        text: str,
        sufficiency: str = "default",
    ) -> rows.PromoteToAtomRow:
        return await self._row(calls.PROMOTE_TO_ATOM, rows.PromoteToAtomRow, locals())

    async def propose(self, corpus: str, atom_ids: Sequence[UUID], text: str) -> rows.ProposeRow:
        return await self._row(calls.PROPOSE, rows.ProposeRow, locals())

    async def provenance(self, trace_id: UUID | str) -> Any:
        return await self._value(calls.PROVENANCE, locals())

    async def prune_sources(
        self,
        corpus: str,
        prefix: str,
        keep: Sequence[str],
        root: str | None = None,
        derived: str = "redact",
        reason: str | None = None,
        dry_run: bool = False,
    ) -> rows.PruneSourcesRow:
        return await self._row(calls.PRUNE_SOURCES, rows.PruneSourcesRow, locals())

    async def publish_events(
        self, corpus: str, events: Sequence[str], signatures: Sequence[bytes]
    ) -> int:
        return await self._value(calls.PUBLISH_EVENTS, locals())

    async def put_blob(self, bytes: bytes, media_type: str, corpus: str | None = None) -> str:
        return await self._value(calls.PUT_BLOB, locals())

    async def put_conversations(
        self, corpus: str, conversations: Any, force: bool = False
    ) -> Rows[rows.PutResult]:
        return await self._rows(calls.PUT_CONVERSATIONS, rows.PutResult, locals())

    async def put_document(
        self,
        corpus: str,
        doc_cid: str,
        uri: str,
        chunks: Any,
        chunking: Any,
        title: str | None = None,
        language: str | None = None,
        media_type: str = "text/plain",
        metadata: Any = None,
        external_id: str | None = None,
        source_name: str = "",
        size_bytes: int | None = None,
        pages: int | None = None,
        etag: str | None = None,
        links: Any = None,
        force: bool = False,
    ) -> rows.PutResult:
        return await self._row(calls.PUT_DOCUMENT, rows.PutResult, locals())

    async def put_documents(
        self, corpus: str, documents: Any, force: bool = False
    ) -> Rows[rows.PutResult]:
        return await self._rows(calls.PUT_DOCUMENTS, rows.PutResult, locals())

    async def put_embeddings(
        self, corpus: str, chunk_ids: Sequence[str], embeddings: Reals | Sequence[float]
    ) -> int:
        return await self._value(calls.PUT_EMBEDDINGS, locals())

    async def put_part_statistics(
        self,
        corpus: str,
        part: str,
        version: int,
        chunks: int,
        lexeme_count: int,
        lexemes: Sequence[str],
        dfs: Sequence[int],
        synced_at: datetime,
    ) -> int:
        return await self._value(calls.PUT_PART_STATISTICS, locals())

    async def put_query_embedding(
        self,
        corpus: str,
        query: str,
        embedding: Reals | Sequence[float],
        embedder: str | None = None,
    ) -> str:
        return await self._value(calls.PUT_QUERY_EMBEDDING, locals())

    async def put_static_pieces(
        self,
        embedder: str,
        pieces: Sequence[str],
        ranks: Sequence[int],
        vectors: Reals | Sequence[float],
    ) -> int:
        return await self._value(calls.PUT_STATIC_PIECES, locals())

    async def put_text(
        self,
        corpus: str,
        source: str,
        text: str,
        title: str | None = None,
        language: str | None = None,
        metadata: Any = None,
        external_id: str | None = None,
        strategy: str = "paragraph",
        max_tokens: int = 240,
        overlap: int = 48,
        unit: str = "token",
        media_type: str | None = None,
        force: bool = False,
    ) -> rows.PutResult:
        return await self._row(calls.PUT_TEXT, rows.PutResult, locals())

    async def put_texts(
        self,
        corpus: str,
        texts: Sequence[str],
        metadatas: Any = None,
        ids: Sequence[str] | None = None,
        cut: bool = True,
        embedder: str | None = None,
        embeddings: Reals | Sequence[float] | None = None,
    ) -> Rows[rows.PutTextsRow]:
        return await self._rows(calls.PUT_TEXTS, rows.PutTextsRow, locals())

    async def query_embedder(
        self, corpora: Sequence[str], mode: str | None = None
    ) -> rows.Embedders | None:
        return await self._row_if_any(calls.QUERY_EMBEDDER, rows.Embedders, locals())

    async def query_embedding_state(
        self, corpus: str, query: str
    ) -> Rows[rows.QueryEmbeddingStateRow]:
        return await self._rows(calls.QUERY_EMBEDDING_STATE, rows.QueryEmbeddingStateRow, locals())

    async def rag_enough_context_gate(
        self,
        query: str,
        pack: Any,
        min_chunks: int = 1,
        min_score: float | None = None,
        min_coverage: float = 0.5,
    ) -> Any:
        return await self._value(calls.RAG_ENOUGH_CONTEXT_GATE, locals())

    async def rag_ingest(self, request: Any) -> Any:
        return await self._value(calls.RAG_INGEST, locals())

    async def rag_list_corpora(self, request: Any = None) -> Any:
        return await self._value(calls.RAG_LIST_CORPORA, locals())

    async def rag_query(self, request: Any) -> Any:
        return await self._value(calls.RAG_QUERY, locals())

    async def rag_query_plan(self, question: str) -> Any:
        return await self._value(calls.RAG_QUERY_PLAN, locals())

    async def ranking_digest(self, corpus: str) -> str:
        return await self._value(calls.RANKING_DIGEST, locals())

    async def ready_move(self, move_id: UUID | str, digest: Any) -> None:
        await self._run(calls.READY_MOVE, locals())

    async def receive_move(
        self,
        move_id: UUID | str,
        numbers: Sequence[int] | None = None,
        sources: Sequence[str] | None = None,
        hashes: Sequence[bytes] | None = None,
        uris: Sequence[str] | None = None,
    ) -> None:
        await self._run(calls.RECEIVE_MOVE, locals())

    async def record_answer(
        self,
        output: Any,
        evidence: Any,
        trace_id: UUID | str | None = None,
        require_citations: bool = False,
        require_admissible: bool = False,
        min_coverage: float = 0.0,
        min_quote: int = 8,
        offsets: str = "codepoint",
        task: str | None = None,
        model: str | None = None,
        attempt: int = 1,
        client: str | None = None,
        elapsed_ms: float | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
    ) -> Rows[rows.RecordAnswerRow]:
        return await self._rows(calls.RECORD_ANSWER, rows.RecordAnswerRow, locals())

    async def record_erasure(self, entries: Sequence[str], reason: str) -> None:
        await self._run(calls.RECORD_ERASURE, locals())

    async def record_failure(
        self,
        corpus: str,
        query: str,
        error_code: str,
        elapsed_ms: float,
        k: int | None = None,
        mode: str | None = None,
        min_score: float | None = None,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
        slice_id: str | None = None,
        anchor: str | None = None,
        policy: Any = None,
    ) -> UUID:
        return await self._value(calls.RECORD_FAILURE, locals())

    async def record_feedback(
        self,
        verdict: str,
        trace_id: UUID | str | None = None,
        answer_id: UUID | str | None = None,
        chunk_id: str | None = None,
        comment: str | None = None,
        client: str | None = None,
    ) -> UUID:
        return await self._value(calls.RECORD_FEEDBACK, locals())

    async def record_gate(
        self,
        query: str,
        pack: Any,
        min_chunks: int = 1,
        min_score: float | None = None,
        min_coverage: float = 0.5,
        trace_id: UUID | str | None = None,
        client: str | None = None,
    ) -> Any:
        return await self._value(calls.RECORD_GATE, locals())

    async def record_reading(
        self, corpus: str, source_name: str, documents: int, failed: int = 0
    ) -> None:
        await self._run(calls.RECORD_READING, locals())

    async def record_reads(self, corpus: str, mode: str) -> None:
        await self._run(calls.RECORD_READS, locals())

    async def record_refusal(self, corpus: str, error_code: str) -> None:
        await self._run(calls.RECORD_REFUSAL, locals())

    async def record_rerank(
        self,
        trace_id: UUID | str,
        model: str,
        chunk_ids: Sequence[str],
        scores: Reals | Sequence[float],
        k: int | None = None,
    ) -> Rows[rows.RetrievalReranks]:
        return await self._rows(calls.RECORD_RERANK, rows.RetrievalReranks, locals())

    async def reembed_corpus(
        self, corpus: str, embedder: str, m: int = 16, ef_construction: int = 128
    ) -> int:
        return await self._value(calls.REEMBED_CORPUS, locals())

    async def refresh_rollups(self, recount: bool = False) -> int:
        return await self._value(calls.REFRESH_ROLLUPS, locals())

    async def register_policy(self, policy: Any) -> rows.RegisterPolicyRow:
        return await self._row(calls.REGISTER_POLICY, rows.RegisterPolicyRow, locals())

    async def register_signing_key(self, key_id: str) -> None:
        await self._run(calls.REGISTER_SIGNING_KEY, locals())

    async def registry_fingerprint(self) -> str:
        return await self._value(calls.REGISTRY_FINGERPRINT, locals())

    async def remove_edges(self, corpus: str, edges: Any) -> int:
        return await self._value(calls.REMOVE_EDGES, locals())

    async def remove_peer(self, name: str) -> None:
        await self._run(calls.REMOVE_PEER, locals())

    async def remove_synonyms(self, corpus: str, word: str) -> int:
        return await self._value(calls.REMOVE_SYNONYMS, locals())

    async def renew_embeddings(self, worker: str, lease: timedelta | str = "00:01:00") -> int:
        return await self._value(calls.RENEW_EMBEDDINGS, locals())

    async def repair_corpus(self, corpus: str) -> None:
        await self._run(calls.REPAIR_CORPUS, locals())

    async def replay(self, trace_id: UUID | str) -> rows.ReplayRow:
        return await self._row(calls.REPLAY, rows.ReplayRow, locals())

    async def replay_cited(
        self, corpus: str, slice_id: str, query_hash: str, policy_hash: str
    ) -> rows.ReplayCitedRow:
        return await self._row(calls.REPLAY_CITED, rows.ReplayCitedRow, locals())

    async def replay_hits(self, trace_id: UUID | str) -> Rows[rows.ReplayHitsRow]:
        return await self._rows(calls.REPLAY_HITS, rows.ReplayHitsRow, locals())

    async def report_key_compromise(self, key_id: str, since: datetime | None = None) -> None:
        await self._run(calls.REPORT_KEY_COMPROMISE, locals())

    async def request_query_embedding(self, corpus: str, query: str) -> bool:
        return await self._value(calls.REQUEST_QUERY_EMBEDDING, locals())

    async def requeue_embeddings(self, corpus: str | None = None) -> int:
        return await self._value(calls.REQUEUE_EMBEDDINGS, locals())

    async def rerank_depth(self, k: int) -> int:
        return await self._value(calls.RERANK_DEPTH, locals())

    async def resolve_anchor(
        self,
        corpus: str,
        chunk_id: str | None = None,
        session: str | None = None,
        query: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        project: str | None = None,
    ) -> Rows[rows.ResolveAnchorRow]:
        return await self._rows(calls.RESOLVE_ANCHOR, rows.ResolveAnchorRow, locals())

    async def resolve_explicit(self, corpus: str, chunk_id: str) -> str | None:
        return await self._value(calls.RESOLVE_EXPLICIT, locals())

    async def resolve_from_query(
        self,
        corpus: str,
        query: str,
        mode: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
    ) -> str | None:
        return await self._value(calls.RESOLVE_FROM_QUERY, locals())

    async def resolve_from_session(self, corpus: str, session: str) -> str | None:
        return await self._value(calls.RESOLVE_FROM_SESSION, locals())

    async def resolve_temporal(
        self, corpus: str, count: int = 1, project: str | None = None
    ) -> Rows[rows.ResolveTemporalRow]:
        return await self._rows(calls.RESOLVE_TEMPORAL, rows.ResolveTemporalRow, locals())

    async def restrict_corpus(self, corpus: str) -> None:
        await self._run(calls.RESTRICT_CORPUS, locals())

    async def retrieve(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        min_lexical: float = 0.0,
        min_semantic: float = 0.0,
        syntax: str = "plain",
        per_document: int | None = None,
        collapse: bool = False,
        diversity: float = 0.0,
        context: int = 0,
        section: bool = False,
        typos: bool = True,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
    ) -> Recorded[rows.TracedHit]:
        return await self._recorded(calls.RETRIEVE, rows.TracedHit, locals())

    async def retrieve_global(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
    ) -> Recorded[rows.TurnHit]:
        return await self._recorded(calls.RETRIEVE_GLOBAL, rows.TurnHit, locals())

    async def retrieve_slice(
        self,
        corpus: str,
        query: str,
        slice_id: str | None = None,
        anchor: str | None = None,
        policy: Any = None,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        min_lexical: float = 0.0,
        min_semantic: float = 0.0,
        syntax: str = "plain",
        per_document: int | None = None,
        collapse: bool = False,
        diversity: float = 0.0,
        context: int = 0,
        section: bool = False,
        typos: bool = True,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
    ) -> Recorded[rows.TurnHit]:
        return await self._recorded(calls.RETRIEVE_SLICE, rows.TurnHit, locals())

    async def retrieve_tool(
        self,
        tool: str,
        arguments: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
        rerank_scores: Any = None,
    ) -> Any:
        return await self._value(calls.RETRIEVE_TOOL, locals())

    async def retrieve_with(
        self,
        retriever: str,
        query: str,
        k: int | None = None,
        min_score: float | None = None,
        filter: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
        rag: str | None = None,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
        rerank: str | None = None,
    ) -> Recorded[rows.TracedHit]:
        return await self._recorded(calls.RETRIEVE_WITH, rows.TracedHit, locals())

    async def retry_failed(self, corpus: str | None = None) -> int:
        return await self._value(calls.RETRY_FAILED, locals())

    async def revoke_corpus(self, corpus: str, role: str) -> None:
        await self._run(calls.REVOKE_CORPUS, locals())

    async def revoke_http_token(self, name: str) -> None:
        await self._run(calls.REVOKE_HTTP_TOKEN, locals())

    async def revoke_peer(self, name: str, reason: str) -> None:
        await self._run(calls.REVOKE_PEER, locals())

    async def revoke_signing_key(self, key_id: str) -> None:
        await self._run(calls.REVOKE_SIGNING_KEY, locals())

    async def rollback_corpus(self, corpus: str) -> str:
        return await self._value(calls.ROLLBACK_CORPUS, locals())

    async def run_eval(
        self,
        rag: str,
        eval: str | None = None,
        tags: Sequence[str] | None = None,
        label: str | None = None,
        rerank_scores: Any = None,
    ) -> rows.EvalRuns:
        return await self._row(calls.RUN_EVAL, rows.EvalRuns, locals())

    async def seal_ledger(self, most: int = 100000) -> rows.SealLedgerRow:
        return await self._row(calls.SEAL_LEDGER, rows.SealLedgerRow, locals())

    @overload
    async def search(
        self,
        corpora: Sequence[str] | None = None,
        query: str | None = None,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        min_lexical: float = 0.0,
        min_semantic: float = 0.0,
        syntax: str = "plain",
        per_document: int | None = None,
        collapse: bool = False,
        diversity: float = 0.0,
        context: int = 0,
        section: bool = False,
        typos: bool = True,
        as_of: int | None = None,
    ) -> Rows[rows.Hit]: ...
    @overload
    async def search(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        min_lexical: float = 0.0,
        min_semantic: float = 0.0,
        syntax: str = "plain",
        per_document: int | None = None,
        collapse: bool = False,
        diversity: float = 0.0,
        context: int = 0,
        section: bool = False,
        typos: bool = True,
        as_of: int | None = None,
    ) -> Rows[rows.Hit]: ...
    async def search(self, *args: Any, **kwargs: Any) -> Rows[rows.Hit]:
        call, given = choose((calls.SEARCH_1, calls.SEARCH_2), args, kwargs)
        return await self._rows(call, rows.Hit, given)

    async def search_candidates(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        mode: str | None = None,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        syntax: str = "plain",
        per_document: int | None = None,
        context: int = 0,
        section: bool = False,
        typos: bool = True,
        expects: str | None = None,
    ) -> Rows[rows.Hit]:
        return await self._rows(calls.SEARCH_CANDIDATES, rows.Hit, locals())

    async def search_documents(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        chunks_per_document: int = 3,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
        syntax: str = "plain",
        typos: bool = True,
    ) -> Rows[rows.DocumentHit]:
        return await self._rows(calls.SEARCH_DOCUMENTS, rows.DocumentHit, locals())

    async def search_dual(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
    ) -> Rows[rows.SearchDualRow]:
        return await self._rows(calls.SEARCH_DUAL, rows.SearchDualRow, locals())

    async def search_global(
        self,
        corpus: str,
        query: str,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        min_lexical: float = 0.0,
        min_semantic: float = 0.0,
        syntax: str = "plain",
        per_document: int | None = None,
        collapse: bool = False,
        diversity: float = 0.0,
        context: int = 0,
        section: bool = False,
        typos: bool = True,
    ) -> Rows[rows.TurnHit]:
        return await self._rows(calls.SEARCH_GLOBAL, rows.TurnHit, locals())

    async def search_slice(
        self,
        corpus: str,
        query: str,
        slice_id: str | None = None,
        anchor: str | None = None,
        policy: Any = None,
        k: int = 10,
        mode: str | None = None,
        min_score: float = 0.0,
        filter: Any = None,
        statistics: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        fusion: str = "convex",
        lexical_weight: float | None = None,
        min_lexical: float = 0.0,
        min_semantic: float = 0.0,
        syntax: str = "plain",
        per_document: int | None = None,
        collapse: bool = False,
        diversity: float = 0.0,
        context: int = 0,
        section: bool = False,
        typos: bool = True,
    ) -> Rows[rows.TurnHit]:
        return await self._rows(calls.SEARCH_SLICE, rows.TurnHit, locals())

    async def search_tool(
        self,
        tool: str,
        arguments: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
        rerank_scores: Any = None,
    ) -> Any:
        return await self._value(calls.SEARCH_TOOL, locals())

    async def search_with(
        self,
        retriever: str,
        query: str,
        k: int | None = None,
        min_score: float | None = None,
        filter: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
        rag: str | None = None,
        rerank: str | None = None,
    ) -> Rows[rows.Hit]:
        return await self._rows(calls.SEARCH_WITH, rows.Hit, locals())

    async def set_default_embedder(self, embedder: str | None = None) -> None:
        await self._run(calls.SET_DEFAULT_EMBEDDER, locals())

    async def set_ledger(self, is_on: bool) -> int:
        return await self._value(calls.SET_LEDGER, locals())

    async def set_quota(
        self,
        role: str,
        blob_bytes: int | None = None,
        hourly_failures: int | None = None,
        concurrent_calls: int | None = None,
        corpus_chunks: int | None = None,
    ) -> None:
        await self._run(calls.SET_QUOTA, locals())

    async def share_corpus(
        self, corpus: str, author: bytes | None = None, feed: UUID | str | None = None
    ) -> UUID | None:
        return await self._value(calls.SHARE_CORPUS, locals())

    async def shared_feed(self, corpus: str) -> rows.SharedFeedRow:
        return await self._row(calls.SHARED_FEED, rows.SharedFeedRow, locals())

    async def similar(
        self,
        corpus: str,
        chunk_id: str,
        k: int = 10,
        min_score: float = 0.0,
        filter: Any = None,
        mode: str | None = None,
    ) -> Rows[rows.Hit]:
        return await self._rows(calls.SIMILAR, rows.Hit, locals())

    async def slice_graph(
        self,
        corpus: str,
        slice_id: str | None = None,
        anchor: str | None = None,
        policy: Any = None,
        refused: int = 100,
    ) -> Rows[rows.SliceGraphRow]:
        return await self._rows(calls.SLICE_GRAPH, rows.SliceGraphRow, locals())

    async def slice_members(self, corpus: str, slice_id: str) -> Rows[rows.SliceMembersRow]:
        return await self._rows(calls.SLICE_MEMBERS, rows.SliceMembersRow, locals())

    async def space_questions(self, corpus: str, count: int = 200) -> Rows[rows.SpaceQuestionsRow]:
        return await self._rows(calls.SPACE_QUESTIONS, rows.SpaceQuestionsRow, locals())

    async def store_checkpoint(self, note: str) -> int:
        return await self._value(calls.STORE_CHECKPOINT, locals())

    async def sync_statistics(self, corpus: str) -> rows.SyncStatisticsRow:
        return await self._row(calls.SYNC_STATISTICS, rows.SyncStatisticsRow, locals())

    async def tool_candidates(
        self,
        tool: str,
        arguments: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
    ) -> Rows[rows.ToolCandidatesRow]:
        return await self._rows(calls.TOOL_CANDIDATES, rows.ToolCandidatesRow, locals())

    async def trace_hits(self, trace_id: UUID | str) -> Rows[rows.RetrievalHits]:
        return await self._rows(calls.TRACE_HITS, rows.RetrievalHits, locals())

    async def trace_reranks(self, trace_id: UUID | str) -> Rows[rows.RetrievalReranks]:
        return await self._rows(calls.TRACE_RERANKS, rows.RetrievalReranks, locals())

    async def trace_stages(self, trace_id: UUID | str) -> Rows[rows.TraceStagesRow]:
        return await self._rows(calls.TRACE_STAGES, rows.TraceStagesRow, locals())

    async def traffic(
        self, since: datetime, until: datetime | None = None, corpus: str | None = None
    ) -> Rows[rows.TrafficRow]:
        return await self._rows(calls.TRAFFIC, rows.TrafficRow, locals())

    async def turn_id(self, corpus: str, session: str, id: str) -> str:
        return await self._value(calls.TURN_ID, locals())

    async def unchanged_sources(self, corpus: str, readings: Any) -> Rows[rows.UnchangedSourcesRow]:
        return await self._rows(calls.UNCHANGED_SOURCES, rows.UnchangedSourcesRow, locals())

    async def unrestrict_corpus(self, corpus: str) -> int:
        return await self._value(calls.UNRESTRICT_CORPUS, locals())

    async def unshare_corpus(self, corpus: str) -> None:
        await self._run(calls.UNSHARE_CORPUS, locals())

    async def validate_citations(
        self, output: Any, evidence: Any, require_citations: bool = False
    ) -> list[str]:
        return await self._value(calls.VALIDATE_CITATIONS, locals())

    @overload
    async def validate_contract(self, contract: Any) -> Rows[rows.ValidateContractRow]: ...
    @overload
    async def validate_contract(
        self, contract: str, contract_name: str = "contract"
    ) -> Rows[rows.ValidateContractRow]: ...
    async def validate_contract(self, *args: Any, **kwargs: Any) -> Rows[rows.ValidateContractRow]:
        call, given = choose((calls.VALIDATE_CONTRACT_1, calls.VALIDATE_CONTRACT_2), args, kwargs)
        return await self._rows(call, rows.ValidateContractRow, given)

    async def validate_query_plan(self, plan: Any) -> list[str]:
        return await self._value(calls.VALIDATE_QUERY_PLAN, locals())

    async def verification_checks(self) -> Rows[rows.VerificationChecksRow]:
        return await self._rows(calls.VERIFICATION_CHECKS, rows.VerificationChecksRow, locals())

    async def verify(
        self, quick: bool = False, checks: Sequence[str] | None = None
    ) -> Rows[rows.Finding]:
        return await self._rows(calls.VERIFY, rows.Finding, locals())

    async def verify_atom(self, atom_id: UUID | str) -> Rows[rows.VerifyAtomRow]:
        return await self._rows(calls.VERIFY_ATOM, rows.VerifyAtomRow, locals())

    async def verify_ledger(
        self, from_number: int = 0, most: int | None = None, late: timedelta | str = "1 day"
    ) -> Rows[rows.VerifyLedgerRow]:
        return await self._rows(calls.VERIFY_LEDGER, rows.VerifyLedgerRow, locals())

    async def verify_step(
        self,
        state: Any = None,
        most: int = 4000,
        quick: bool = False,
        checks: Sequence[str] | None = None,
    ) -> rows.VerifyStepRow:
        return await self._row(calls.VERIFY_STEP, rows.VerifyStepRow, locals())

    async def verify_token(
        self,
        corpus: str,
        token: str,
        slice_id: str,
        anchor_chunk_id: str,
        policy_id: str,
        params_hash: str,
        graph_snapshot_hash: str,
        schema_version: str,
        chunk_ids: Sequence[str] | None = None,
        edge_count: int | None = None,
    ) -> rows.VerifyTokenRow:
        return await self._row(calls.VERIFY_TOKEN, rows.VerifyTokenRow, locals())

    async def verify_trace(self, trace_id: UUID | str) -> Rows[rows.VerifyTraceRow]:
        return await self._rows(calls.VERIFY_TRACE, rows.VerifyTraceRow, locals())

    async def version_at(self, corpus: str, at: datetime) -> int:
        return await self._value(calls.VERSION_AT, locals())

    async def why_not(self, trace_id: UUID | str, chunk_id: str) -> rows.WhyNotRow:
        return await self._row(calls.WHY_NOT, rows.WhyNotRow, locals())

    async def withdraw_contract(self, contract: str) -> None:
        await self._run(calls.WITHDRAW_CONTRACT, locals())

    async def write_contract(self, contract: Any) -> str:
        return await self._value(calls.WRITE_CONTRACT, locals())

    async def xxh64(self, data: bytes) -> str:
        return await self._value(calls.XXH64, locals())
