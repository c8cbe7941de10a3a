"""Asynchronous methods. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any, overload
from uuid import UUID

from ragdb.client._generated import calls
from ragdb.client._generated.functions import Functions
from ragdb.client._generated.rows import (
    AccessEvents,
    Advice,
    AppendTurnsRow,
    ApplyContractRow,
    ApplyEventsRow,
    AskedAnswer,
    AskedRetriever,
    AssertionKindsRow,
    BeginMoveRow,
    Blob,
    BuildSlicesRow,
    BuiltSlice,
    CalibrateGateRow,
    CapabilitiesRow,
    CapabilitySchemasRow,
    ChallengeEvalRow,
    CheckCitationsRow,
    CheckCorpusRow,
    CheckMoveRow,
    Chunk,
    CitationCodesRow,
    ClaimEmbeddingsRow,
    ClaimEmbedJobsRow,
    ClaimIngestJobsRow,
    ClaimQueriesRow,
    ClusterCorporaRow,
    ClusterRoutesRow,
    ClusterStatusRow,
    CompareRunsRow,
    CompareSpacesRow,
    CorpusEventsRow,
    CorpusInfoRow,
    CountMatchesRow,
    DeadRolesRow,
    DecideProposalRow,
    DeleteDocumentRow,
    DeleteSourceRow,
    DeleteSourcesRow,
    DiffCorpusRow,
    Document,
    DocumentHit,
    DocumentVersionsRow,
    DropTracesBeforeRow,
    Edge,
    Embedders,
    EmbeddingStatusRow,
    EraseSourceRow,
    ErrorCodesRow,
    EvalAssertResults,
    EvalCandidatesRow,
    EvalCaseResults,
    EvalMetrics,
    EvalQueriesRow,
    EvalRuns,
    EvaluateCaseRow,
    EventsAfterRow,
    ExplainMissingRow,
    ExplainScoreRow,
    ExplainScoresRow,
    ExplainSearchRow,
    ExportDocumentsRow,
    ExportEmbeddingsRow,
    ExportSigningKeysRow,
    FacetsRow,
    Finding,
    GateQuestionsRow,
    GetSliceRow,
    GetSourceRow,
    GetTurnRow,
    HighlightChunksRow,
    Hit,
    ImportEvalRow,
    JobStateRow,
    JobStatusRow,
    KeepHistoryRow,
    KeyEvents,
    KnownSourcesRow,
    LedgerActs,
    LedgerEntry,
    LedgerStatusRow,
    ListAtomsRow,
    ListCheckpointsRow,
    ListCitationsRow,
    ListConflictsRow,
    ListContractsRow,
    ListCorporaRow,
    ListErasuresRow,
    ListEvalCasesRow,
    ListEvalsRow,
    ListFailedEmbeddingsRow,
    ListFeedbackRow,
    ListGrantsRow,
    ListHttpTokensRow,
    ListIncidentsRow,
    ListMovesRow,
    ListPartsRow,
    ListPeerCorporaRow,
    ListPeersRow,
    ListPoliciesRow,
    ListProposalsRow,
    ListQuotasRow,
    ListSharedDocumentsRow,
    ListSharedEventsRow,
    ListSigningKeysRow,
    ListSlicesRow,
    ListSourcesRow,
    ListStaticModelsRow,
    ListSynonymsRow,
    ListToolsRow,
    ListVersionsRow,
    LocateQuoteRow,
    MapPoint,
    MatchDocumentsRow,
    MergeCandidatesRow,
    MetricSample,
    MovePageRow,
    OptimizeCorpusRow,
    OriginRow,
    PartStatisticsRow,
    PromoteToAtomRow,
    ProposeRow,
    PruneSourcesRow,
    PutResult,
    PutTextsRow,
    QueryEmbeddingStateRow,
    RecordAnswerRow,
    RecordedAnswer,
    RecordedGate,
    RegisterPolicyRow,
    ReplayCitedRow,
    ReplayHitsRow,
    ReplayRow,
    Rerankers,
    ResolveAnchorRow,
    ResolveTemporalRow,
    RetrievalHits,
    RetrievalReranks,
    RetrievalTraces,
    RetrieverSettings,
    SealLedgerRow,
    SearchDualRow,
    SharedFeedRow,
    SliceGraphRow,
    SliceMembersRow,
    SpaceQuestionsRow,
    SyncStatisticsRow,
    ToolCandidatesRow,
    TracedHit,
    TraceStagesRow,
    TrafficRow,
    TurnHit,
    UnansweredQuestion,
    ValidateContractRow,
    VerificationChecksRow,
    VerifyAtomRow,
    VerifyLedgerRow,
    VerifyStepRow,
    VerifyTokenRow,
    VerifyTraceRow,
    WhyNotRow,
)
from ragdb.client.calling import (
    AsyncCaller,
    Reals,
    choose,
    documented_by,
)
from ragdb.client.results import Recorded, Rows


@documented_by(Functions)
class AsyncFunctions(AsyncCaller):
    """Every public SQL function, as an asynchronous method."""

    async def accept_move(self, header: Any, origin: str) -> None:
        await self._run(calls.ACCEPT_MOVE, header, origin)

    async def add_edges(self, corpus: str, edges: Any) -> int:
        value: int = await self._value(calls.ADD_EDGES, corpus, edges)
        return value

    async def add_eval_case(
        self,
        rag: str,
        eval: str,
        query: str,
        source: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> str | None:
        value: str | None = await self._value(calls.ADD_EVAL_CASE, rag, eval, query, source, tags)
        return value

    async def add_peer(
        self, name: str, public_key: bytes, url: str | None = None, trust: str = "member"
    ) -> None:
        await self._run(calls.ADD_PEER, name, public_key, url, trust)

    async def add_synonyms(self, corpus: str, words: Sequence[str]) -> int:
        value: int = await self._value(calls.ADD_SYNONYMS, corpus, words)
        return value

    async def advice(self) -> Rows[Advice]:
        return await self._rows(calls.ADVICE, Advice)

    async def announce_move(self, move_id: UUID | str, count: int = 1000) -> int:
        value: int = await self._value(calls.ANNOUNCE_MOVE, move_id, count)
        return value

    async def answer_from_evidence(
        self, question: str, evidence: Any, max_sentences: int = 2, min_support: float = 0.5
    ) -> Any:
        return await self._value(
            calls.ANSWER_FROM_EVIDENCE, question, evidence, max_sentences, min_support
        )

    async def append_turns(
        self, corpus: str, session: str, turns: Any, document: Any = None
    ) -> Rows[AppendTurnsRow]:
        return await self._rows(
            calls.APPEND_TURNS, AppendTurnsRow, corpus, session, turns, document
        )

    @overload
    async def apply_contract(self, contract: Any) -> ApplyContractRow: ...
    @overload
    async def apply_contract(
        self, contract: str, contract_name: str = "contract"
    ) -> ApplyContractRow: ...
    async def apply_contract(self, *args: Any, **kwargs: Any) -> ApplyContractRow:
        call, values = choose((calls.APPLY_CONTRACT_1, calls.APPLY_CONTRACT_2), args, kwargs)
        return await self._row(call, ApplyContractRow, *values)

    async def apply_events(self, peer: str, corpus: str, page: Any) -> ApplyEventsRow:
        return await self._row(calls.APPLY_EVENTS, ApplyEventsRow, peer, corpus, page)

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
        record: bool = True,
        client: str | None = None,
        otel_trace_id: str | None = None,
        otel_span_id: str | None = None,
    ) -> AskedAnswer:
        return await self._row(
            calls.ASK,
            AskedAnswer,
            corpus,
            question,
            mode,
            k,
            rank_mode,
            max_context,
            gate,
            min_chunks,
            min_score,
            min_coverage,
            require_citations,
            sentences,
            evidence,
            plan,
            retriever,
            rag,
            rerank,
            record,
            client,
            otel_trace_id,
            otel_span_id,
        )

    async def ask_plan(
        self,
        question: str,
        policy: Any = None,
        has_evidence: bool = False,
        plan: Any = None,
        plan_problem: str | None = None,
    ) -> Any:
        return await self._value(calls.ASK_PLAN, question, policy, has_evidence, plan, plan_problem)

    async def ask_retriever(
        self,
        corpus: str | None = None,
        retriever: str | None = None,
        rag: str | None = None,
        k: int | None = None,
        rank_mode: str | None = None,
    ) -> AskedRetriever:
        return await self._row(
            calls.ASK_RETRIEVER, AskedRetriever, corpus, retriever, rag, k, rank_mode
        )

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
        return await self._value(
            calls.ASK_VERIFY,
            run,
            output,
            problem,
            schema_problems,
            attempt,
            elapsed_ms,
            input_tokens,
            output_tokens,
        )

    async def ask_weigh(self, run: Any, results: Any = None, evidence: Any = None) -> Any:
        return await self._value(calls.ASK_WEIGH, run, results, evidence)

    async def assert_run_passed(self, run_id: UUID | str) -> None:
        await self._run(calls.ASSERT_RUN_PASSED, run_id)

    async def assertion_kinds(self) -> Rows[AssertionKindsRow]:
        return await self._rows(calls.ASSERTION_KINDS, AssertionKindsRow)

    async def baseline_run(self, rag: str, eval: str, name: str = "main") -> UUID | None:
        value: UUID | None = await self._value(calls.BASELINE_RUN, rag, eval, name)
        return value

    async def begin_move(
        self, corpus: str, destination: str, longest: timedelta | str = "00:00:10"
    ) -> BeginMoveRow:
        return await self._row(calls.BEGIN_MOVE, BeginMoveRow, corpus, destination, longest)

    async def bind_embedder(self, name: str, provider: str, provider_model: str) -> Embedders:
        return await self._row(calls.BIND_EMBEDDER, Embedders, name, provider, provider_model)

    async def bind_reranker(
        self,
        name: str,
        source: str,
        weights_sha256: str,
        max_tokens: int = 512,
        revision: str | None = None,
    ) -> Rerankers:
        return await self._row(
            calls.BIND_RERANKER, Rerankers, name, source, weights_sha256, max_tokens, revision
        )

    async def bind_role(self, role: str, becomes: str | None = None) -> None:
        await self._run(calls.BIND_ROLE, role, becomes)

    async def bind_static(
        self, embedder: str, tokenizer: str, folding: str, digest: str, lexical_weight: float = 0.75
    ) -> Embedders:
        return await self._row(
            calls.BIND_STATIC, Embedders, embedder, tokenizer, folding, digest, lexical_weight
        )

    async def bless_run(
        self, run_id: UUID | str, name: str = "main", reason: str | None = None
    ) -> None:
        await self._run(calls.BLESS_RUN, run_id, name, reason)

    async def build_evidence_pack(
        self,
        trace_id: UUID | str | None = None,
        chunk_ids: Sequence[str] | None = None,
        corpus: str | None = None,
        max_context: int | None = None,
        unit: str = "token",
    ) -> Any:
        return await self._value(
            calls.BUILD_EVIDENCE_PACK, trace_id, chunk_ids, corpus, max_context, unit
        )

    async def build_slice(
        self,
        corpus: str,
        anchor: str,
        policy: Any = None,
        sign: bool = True,
        as_of: int | None = None,
    ) -> BuiltSlice:
        return await self._row(calls.BUILD_SLICE, BuiltSlice, corpus, anchor, policy, sign, as_of)

    async def build_slices(
        self, corpus: str, anchors: Sequence[str], policy: Any = None, sign: bool = True
    ) -> Rows[BuildSlicesRow]:
        return await self._rows(calls.BUILD_SLICES, BuildSlicesRow, corpus, anchors, policy, sign)

    async def calibrate_gate(self, corpus: str) -> Rows[CalibrateGateRow]:
        return await self._rows(calls.CALIBRATE_GATE, CalibrateGateRow, corpus)

    async def capabilities(self) -> Rows[CapabilitiesRow]:
        return await self._rows(calls.CAPABILITIES, CapabilitiesRow)

    async def capability_schemas(self) -> Rows[CapabilitySchemasRow]:
        return await self._rows(calls.CAPABILITY_SCHEMAS, CapabilitySchemasRow)

    async def challenge_eval(
        self,
        rag: str,
        eval: str | None = None,
        tags: Sequence[str] | None = None,
        rerank_scores: Any = None,
    ) -> Rows[ChallengeEvalRow]:
        return await self._rows(
            calls.CHALLENGE_EVAL, ChallengeEvalRow, rag, eval, tags, rerank_scores
        )

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
    ) -> Rows[CheckCitationsRow]:
        return await self._rows(
            calls.CHECK_CITATIONS,
            CheckCitationsRow,
            output,
            evidence,
            trace_id,
            require_citations,
            require_admissible,
            min_coverage,
            min_quote,
            offsets,
        )

    async def check_corpus(self, corpus: str, deep: bool = True) -> Rows[CheckCorpusRow]:
        return await self._rows(calls.CHECK_CORPUS, CheckCorpusRow, corpus, deep)

    async def check_move(
        self, move_id: UUID | str, after: int = 0, count: int = 1000
    ) -> Rows[CheckMoveRow]:
        return await self._rows(calls.CHECK_MOVE, CheckMoveRow, move_id, after, count)

    async def citation_codes(self) -> Rows[CitationCodesRow]:
        return await self._rows(calls.CITATION_CODES, CitationCodesRow)

    async def claim_embed_jobs(
        self,
        worker: str,
        count: int = 1,
        lease: timedelta | str = "00:02:00",
        only_embedder: str | None = None,
    ) -> Rows[ClaimEmbedJobsRow]:
        return await self._rows(
            calls.CLAIM_EMBED_JOBS, ClaimEmbedJobsRow, worker, count, lease, only_embedder
        )

    async def claim_embeddings(
        self,
        worker: str,
        count: int = 256,
        lease: timedelta | str = "00:01:00",
        only_corpus: str | None = None,
        only_embedder: str | None = None,
        except_embedders: Sequence[str] = "{}",
    ) -> Rows[ClaimEmbeddingsRow]:
        return await self._rows(
            calls.CLAIM_EMBEDDINGS,
            ClaimEmbeddingsRow,
            worker,
            count,
            lease,
            only_corpus,
            only_embedder,
            except_embedders,
        )

    async def claim_ingest_jobs(
        self,
        worker: str,
        count: int = 1,
        lease: timedelta | str = "00:10:00",
        only_corpus: str | None = None,
    ) -> Rows[ClaimIngestJobsRow]:
        return await self._rows(
            calls.CLAIM_INGEST_JOBS, ClaimIngestJobsRow, worker, count, lease, only_corpus
        )

    async def claim_queries(
        self,
        worker: str,
        count: int = 16,
        lease: timedelta | str = "00:01:00",
        only_embedder: str | None = None,
    ) -> Rows[ClaimQueriesRow]:
        return await self._rows(
            calls.CLAIM_QUERIES, ClaimQueriesRow, worker, count, lease, only_embedder
        )

    async def close_http_session(self, session_hash: bytes) -> None:
        await self._run(calls.CLOSE_HTTP_SESSION, session_hash)

    async def cluster_add_node(self, host: str, port: int = 5432) -> None:
        await self._run(calls.CLUSTER_ADD_NODE, host, port)

    async def cluster_corpora(self) -> Rows[ClusterCorporaRow]:
        return await self._rows(calls.CLUSTER_CORPORA, ClusterCorporaRow)

    async def cluster_init(self, host: str, port: int = 5432) -> int:
        value: int = await self._value(calls.CLUSTER_INIT, host, port)
        return value

    async def cluster_isolate(self, node: int, is_isolated: bool = True) -> None:
        await self._run(calls.CLUSTER_ISOLATE, node, is_isolated)

    async def cluster_place(self, corpus: str, node: int) -> None:
        await self._run(calls.CLUSTER_PLACE, corpus, node)

    async def cluster_remove_node(self, node: int) -> None:
        await self._run(calls.CLUSTER_REMOVE_NODE, node)

    async def cluster_routes(self) -> Rows[ClusterRoutesRow]:
        return await self._rows(calls.CLUSTER_ROUTES, ClusterRoutesRow)

    async def cluster_status(self) -> Rows[ClusterStatusRow]:
        return await self._rows(calls.CLUSTER_STATUS, ClusterStatusRow)

    async def compare_runs(
        self,
        baseline: UUID | str,
        run_id: UUID | str,
        seed: str = "ragdb",
        resamples: int = 10000,
        tolerance: float = 0.01,
    ) -> Rows[CompareRunsRow]:
        return await self._rows(
            calls.COMPARE_RUNS, CompareRunsRow, baseline, run_id, seed, resamples, tolerance
        )

    async def compare_spaces(
        self,
        corpus: str,
        embedder: str,
        queries: Sequence[str],
        current_embeddings: Reals | Sequence[float],
        embeddings: Reals | Sequence[float],
        k: int = 10,
        mode: str = "hybrid",
    ) -> Rows[CompareSpacesRow]:
        return await self._rows(
            calls.COMPARE_SPACES,
            CompareSpacesRow,
            corpus,
            embedder,
            queries,
            current_embeddings,
            embeddings,
            k,
            mode,
        )

    async def complete_embed_job(
        self, job_id: UUID | str, attempt: int, embeddings: Reals | Sequence[float]
    ) -> None:
        await self._run(calls.COMPLETE_EMBED_JOB, job_id, attempt, embeddings)

    async def complete_embeddings(
        self,
        space_id: int,
        input_hashes: Sequence[bytes],
        attempts: Sequence[int],
        embeddings: Reals | Sequence[float],
    ) -> int:
        value: int = await self._value(
            calls.COMPLETE_EMBEDDINGS, space_id, input_hashes, attempts, embeddings
        )
        return value

    async def complete_ingest_job(
        self, job_id: UUID | str, attempt: int, document: Any
    ) -> PutResult:
        return await self._row(calls.COMPLETE_INGEST_JOB, PutResult, job_id, attempt, document)

    async def corpora_with_chunks(self, chunk_ids: Sequence[str]) -> list[str]:
        return await self._values(calls.CORPORA_WITH_CHUNKS, chunk_ids)

    async def corpus_embedder(self, corpus: str) -> Embedders | None:
        return await self._row_if_any(calls.CORPUS_EMBEDDER, Embedders, corpus)

    async def corpus_event_envelopes(self, corpus: str, after: int = 0, count: int = 100) -> Any:
        return await self._value(calls.CORPUS_EVENT_ENVELOPES, corpus, after, count)

    async def corpus_events(
        self, corpus: str, after: int = 0, count: int = 100
    ) -> Rows[CorpusEventsRow]:
        return await self._rows(calls.CORPUS_EVENTS, CorpusEventsRow, corpus, after, count)

    async def corpus_info(self, corpus: str) -> CorpusInfoRow:
        return await self._row(calls.CORPUS_INFO, CorpusInfoRow, corpus)

    @overload
    async def count_matches(
        self,
        corpora: Sequence[str] | None = None,
        query: str | None = None,
        filter: Any = None,
        syntax: str = "plain",
    ) -> CountMatchesRow: ...
    @overload
    async def count_matches(
        self, corpus: str, query: str, filter: Any = None, syntax: str = "plain"
    ) -> CountMatchesRow: ...
    async def count_matches(self, *args: Any, **kwargs: Any) -> CountMatchesRow:
        call, values = choose((calls.COUNT_MATCHES_1, calls.COUNT_MATCHES_2), args, kwargs)
        return await self._row(call, CountMatchesRow, *values)

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
        await self._run(
            calls.CREATE_CORPUS,
            corpus,
            title,
            text_config,
            k1,
            b,
            record_query_text,
            is_restricted,
            history,
            part_of,
        )

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
    ) -> Embedders:
        return await self._row(
            calls.CREATE_EMBEDDER,
            Embedders,
            name,
            dims,
            model,
            metric,
            max_tokens,
            revision,
            query_prefix,
            passage_prefix,
            weights_sha256,
        )

    async def create_http_token(
        self, role: str, name: str, expires_in: timedelta | str | None = None
    ) -> str:
        value: str = await self._value(calls.CREATE_HTTP_TOKEN, role, name, expires_in)
        return value

    async def create_signing_key(self, key_id: str | None = None) -> str:
        value: str = await self._value(calls.CREATE_SIGNING_KEY, key_id)
        return value

    async def cutover_corpus(self, corpus: str, embedder: str, force: bool = False) -> int:
        value: int = await self._value(calls.CUTOVER_CORPUS, corpus, embedder, force)
        return value

    async def dead_roles(self) -> Rows[DeadRolesRow]:
        return await self._rows(calls.DEAD_ROLES, DeadRolesRow)

    async def decide_proposal(
        self, corpus: str, proposal_id: UUID | str, decision: str, reason: str | None = None
    ) -> DecideProposalRow:
        return await self._row(
            calls.DECIDE_PROPOSAL, DecideProposalRow, corpus, proposal_id, decision, reason
        )

    async def delete_document(
        self, corpus: str, document: str, derived: str = "redact", reason: str | None = None
    ) -> DeleteDocumentRow:
        return await self._row(
            calls.DELETE_DOCUMENT, DeleteDocumentRow, corpus, document, derived, reason
        )

    async def delete_source(
        self, corpus: str, uri: str, derived: str = "redact", reason: str | None = None
    ) -> DeleteSourceRow:
        return await self._row(calls.DELETE_SOURCE, DeleteSourceRow, corpus, uri, derived, reason)

    async def delete_sources(
        self, corpus: str, uris: Sequence[str], derived: str = "redact", reason: str | None = None
    ) -> DeleteSourcesRow:
        return await self._row(
            calls.DELETE_SOURCES, DeleteSourcesRow, corpus, uris, derived, reason
        )

    @overload
    async def did_you_mean(
        self, corpora: Sequence[str] | None = None, query: str | None = None, syntax: str = "plain"
    ) -> str | None: ...
    @overload
    async def did_you_mean(self, corpus: str, query: str, syntax: str = "plain") -> str | None: ...
    async def did_you_mean(self, *args: Any, **kwargs: Any) -> str | None:
        call, values = choose((calls.DID_YOU_MEAN_1, calls.DID_YOU_MEAN_2), args, kwargs)
        value: str | None = await self._value(call, *values)
        return value

    async def diff_corpus(
        self, corpus: str, since: int, until: int | None = None
    ) -> Rows[DiffCorpusRow]:
        return await self._rows(calls.DIFF_CORPUS, DiffCorpusRow, corpus, since, until)

    async def document_chunks(
        self, corpus: str, document: str, first: int = 0, count: int | None = None
    ) -> Rows[Chunk]:
        return await self._rows(calls.DOCUMENT_CHUNKS, Chunk, corpus, document, first, count)

    async def document_text(self, corpus: str, document: str) -> str | None:
        value: str | None = await self._value(calls.DOCUMENT_TEXT, corpus, document)
        return value

    async def document_versions(
        self, corpus: str, document: str, count: int = 20
    ) -> Rows[DocumentVersionsRow]:
        return await self._rows(
            calls.DOCUMENT_VERSIONS, DocumentVersionsRow, corpus, document, count
        )

    async def draft_events(self, corpus: str, count: int = 1000) -> list[str]:
        return await self._values(calls.DRAFT_EVENTS, corpus, count)

    async def drop_access_events_before(self, before: date) -> int:
        value: int = await self._value(calls.DROP_ACCESS_EVENTS_BEFORE, before)
        return value

    async def drop_corpus(self, corpus: str, reason: str | None = None) -> None:
        await self._run(calls.DROP_CORPUS, corpus, reason)

    async def drop_history(self, corpus: str) -> int:
        value: int = await self._value(calls.DROP_HISTORY, corpus)
        return value

    async def drop_part_statistics(self, corpus: str, part: str) -> int:
        value: int = await self._value(calls.DROP_PART_STATISTICS, corpus, part)
        return value

    async def drop_space(self, corpus: str, embedder: str) -> None:
        await self._run(calls.DROP_SPACE, corpus, embedder)

    async def drop_traces_before(self, before: date) -> Rows[DropTracesBeforeRow]:
        return await self._rows(calls.DROP_TRACES_BEFORE, DropTracesBeforeRow, before)

    async def embed(self, text: str, embedder: str | None = None) -> list[float]:
        value: list[float] = await self._value(calls.EMBED, text, embedder)
        return value

    async def embed_corpus(
        self, corpus: str, embedder: str, m: int = 16, ef_construction: int = 128
    ) -> int:
        value: int = await self._value(calls.EMBED_CORPUS, corpus, embedder, m, ef_construction)
        return value

    async def embed_query(
        self, query: str, corpus: str | None = None, timeout_s: float = 30.0
    ) -> None:
        await self._run(calls.EMBED_QUERY, query, corpus, timeout_s)

    async def embed_text(self, request: Any) -> Any:
        return await self._value(calls.EMBED_TEXT, request)

    async def embedding_status(self, only_corpus: str | None = None) -> Rows[EmbeddingStatusRow]:
        return await self._rows(calls.EMBEDDING_STATUS, EmbeddingStatusRow, only_corpus)

    async def erase_source(
        self, corpus: str, uri: str, reason: str | None = None
    ) -> EraseSourceRow:
        return await self._row(calls.ERASE_SOURCE, EraseSourceRow, corpus, uri, reason)

    async def error_codes(self) -> Rows[ErrorCodesRow]:
        return await self._rows(calls.ERROR_CODES, ErrorCodesRow)

    async def eval_assert_results(self, run_id: UUID | str) -> Rows[EvalAssertResults]:
        return await self._rows(calls.EVAL_ASSERT_RESULTS, EvalAssertResults, run_id)

    async def eval_candidates(
        self, rag: str, eval: str | None = None, tags: Sequence[str] | None = None
    ) -> Rows[EvalCandidatesRow]:
        return await self._rows(calls.EVAL_CANDIDATES, EvalCandidatesRow, rag, eval, tags)

    async def eval_case_results(self, run_id: UUID | str) -> Rows[EvalCaseResults]:
        return await self._rows(calls.EVAL_CASE_RESULTS, EvalCaseResults, run_id)

    async def eval_metrics(self, run_id: UUID | str) -> Rows[EvalMetrics]:
        return await self._rows(calls.EVAL_METRICS, EvalMetrics, run_id)

    async def eval_queries(
        self, rag: str, eval: str | None = None, tags: Sequence[str] | None = None
    ) -> Rows[EvalQueriesRow]:
        return await self._rows(calls.EVAL_QUERIES, EvalQueriesRow, rag, eval, tags)

    async def eval_report(self, run_id: UUID | str, format: str = "table") -> str:
        value: str = await self._value(calls.EVAL_REPORT, run_id, format)
        return value

    async def evaluate_answer(self, contract: Any, retrieval: Any) -> Any:
        return await self._value(calls.EVALUATE_ANSWER, contract, retrieval)

    async def evaluate_case(self, case: Any, retrieval: Any) -> Rows[EvaluateCaseRow]:
        return await self._rows(calls.EVALUATE_CASE, EvaluateCaseRow, case, retrieval)

    async def event_envelopes(self, after: Any = None, count: int = 100) -> Any:
        return await self._value(calls.EVENT_ENVELOPES, after, count)

    async def events_after(self, after: Any = None, count: int = 100) -> Rows[EventsAfterRow]:
        return await self._rows(calls.EVENTS_AFTER, EventsAfterRow, after, count)

    async def evidence_pack_to_input(self, pack: Any) -> Any:
        return await self._value(calls.EVIDENCE_PACK_TO_INPUT, pack)

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
    ) -> ExplainMissingRow:
        return await self._row(
            calls.EXPLAIN_MISSING,
            ExplainMissingRow,
            corpus,
            query,
            chunk_id,
            k,
            mode,
            min_score,
            filter,
            statistics,
            query_embedding,
            fusion,
            lexical_weight,
            min_lexical,
            min_semantic,
            syntax,
            per_document,
            collapse,
            diversity,
            typos,
        )

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
    ) -> Rows[ExplainScoreRow]:
        return await self._rows(
            calls.EXPLAIN_SCORE,
            ExplainScoreRow,
            corpus,
            query,
            chunk_id,
            mode,
            statistics,
            query_embedding,
            fusion,
            lexical_weight,
            syntax,
            typos,
        )

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
    ) -> Rows[ExplainScoresRow]:
        return await self._rows(
            calls.EXPLAIN_SCORES,
            ExplainScoresRow,
            corpus,
            query,
            chunk_ids,
            mode,
            statistics,
            query_embedding,
            fusion,
            lexical_weight,
            syntax,
            typos,
        )

    async def explain_search(
        self,
        corpus: str,
        query: str,
        chunk_id: str,
        statistics: str | None = None,
        syntax: str = "plain",
        typos: bool = True,
    ) -> Rows[ExplainSearchRow]:
        return await self._rows(
            calls.EXPLAIN_SEARCH,
            ExplainSearchRow,
            corpus,
            query,
            chunk_id,
            statistics,
            syntax,
            typos,
        )

    async def export_contract(self, contract: str, version: int | None = None) -> Any:
        return await self._value(calls.EXPORT_CONTRACT, contract, version)

    async def export_corpus(self, corpus: str) -> Any:
        return await self._value(calls.EXPORT_CORPUS, corpus)

    async def export_documents(
        self, corpus: str, after: int = 0, count: int = 1000
    ) -> Rows[ExportDocumentsRow]:
        return await self._rows(calls.EXPORT_DOCUMENTS, ExportDocumentsRow, corpus, after, count)

    async def export_embeddings(
        self, corpus: str, after: int = 0, count: int = 1000
    ) -> Rows[ExportEmbeddingsRow]:
        return await self._rows(calls.EXPORT_EMBEDDINGS, ExportEmbeddingsRow, corpus, after, count)

    async def export_signing_keys(self) -> Rows[ExportSigningKeysRow]:
        return await self._rows(calls.EXPORT_SIGNING_KEYS, ExportSigningKeysRow)

    async def export_slice(self, corpus: str, anchor: str, policy: Any = None) -> BuiltSlice:
        return await self._row(calls.EXPORT_SLICE, BuiltSlice, corpus, anchor, policy)

    async def export_trec(self, run_id: UUID | str, what: str = "run") -> list[str]:
        return await self._values(calls.EXPORT_TREC, run_id, what)

    @overload
    async def facets(
        self,
        corpora: Sequence[str] | None = None,
        query: str | None = None,
        fields: Sequence[str] | None = None,
        filter: Any = None,
        most_values: int = 100,
        syntax: str = "plain",
    ) -> Rows[FacetsRow]: ...
    @overload
    async def facets(
        self,
        corpus: str,
        query: str,
        fields: Sequence[str],
        filter: Any = None,
        most_values: int = 100,
        syntax: str = "plain",
    ) -> Rows[FacetsRow]: ...
    async def facets(self, *args: Any, **kwargs: Any) -> Rows[FacetsRow]:
        call, values = choose((calls.FACETS_1, calls.FACETS_2), args, kwargs)
        return await self._rows(call, FacetsRow, *values)

    async def fail_embed_job(
        self, job_id: UUID | str, attempt: int, message: str, is_final: bool = False
    ) -> None:
        await self._run(calls.FAIL_EMBED_JOB, job_id, attempt, message, is_final)

    async def fail_embeddings(
        self,
        space_id: int,
        input_hashes: Sequence[bytes],
        attempts: Sequence[int],
        error: str,
        retry_after: timedelta | str | None = None,
    ) -> int:
        value: int = await self._value(
            calls.FAIL_EMBEDDINGS, space_id, input_hashes, attempts, error, retry_after
        )
        return value

    async def fail_ingest_job(
        self,
        job_id: UUID | str,
        attempt: int,
        message: str,
        hint: str | None = None,
        error: str | None = None,
    ) -> None:
        await self._run(calls.FAIL_INGEST_JOB, job_id, attempt, message, hint, error)

    async def fail_query(
        self, corpus: str, embedder: str, query_hash: bytes, attempt: int, error: str
    ) -> None:
        await self._run(calls.FAIL_QUERY, corpus, embedder, query_hash, attempt, error)

    async def feedback_cases(self, corpus: str, since: datetime | None = None) -> Any:
        return await self._value(calls.FEEDBACK_CASES, corpus, since)

    async def filter_admissible(
        self, corpus: str, slice_id: str, chunk_ids: Sequence[str]
    ) -> list[str]:
        value: list[str] = await self._value(calls.FILTER_ADMISSIBLE, corpus, slice_id, chunk_ids)
        return value

    async def find_chunk(self, corpus: str, prefix: str) -> str:
        value: str = await self._value(calls.FIND_CHUNK, corpus, prefix)
        return value

    async def find_run(self, prefix: str) -> UUID:
        value: UUID = await self._value(calls.FIND_RUN, prefix)
        return value

    async def find_slice(self, corpus: str, prefix: str) -> str:
        value: str = await self._value(calls.FIND_SLICE, corpus, prefix)
        return value

    async def find_trace(self, prefix: str) -> UUID:
        value: UUID = await self._value(calls.FIND_TRACE, prefix)
        return value

    async def finish_import(self, corpus: str, header: Any) -> None:
        await self._run(calls.FINISH_IMPORT, corpus, header)

    async def finish_move(self, move_id: UUID | str) -> None:
        await self._run(calls.FINISH_MOVE, move_id)

    async def follow_peer(self, corpus: str, peer: str, remote: str | None = None) -> None:
        await self._run(calls.FOLLOW_PEER, corpus, peer, remote)

    async def gate_questions(self, corpus: str) -> Rows[GateQuestionsRow]:
        return await self._rows(calls.GATE_QUESTIONS, GateQuestionsRow, corpus)

    async def get_answer(self, answer_id: UUID | str) -> RecordedAnswer:
        return await self._row(calls.GET_ANSWER, RecordedAnswer, answer_id)

    async def get_blob(self, cid: str) -> Blob:
        return await self._row(calls.GET_BLOB, Blob, cid)

    async def get_children(
        self, corpus: str, chunk_id: str, after: str = "", count: int = 1000
    ) -> Rows[Edge]:
        return await self._rows(calls.GET_CHILDREN, Edge, corpus, chunk_id, after, count)

    async def get_chunk(self, corpus: str, chunk_id: str) -> Chunk:
        return await self._row(calls.GET_CHUNK, Chunk, corpus, chunk_id)

    async def get_document(self, corpus: str, document: str) -> Document:
        return await self._row(calls.GET_DOCUMENT, Document, corpus, document)

    async def get_edges(self, corpus: str, chunk_ids: Sequence[str]) -> Rows[Edge]:
        return await self._rows(calls.GET_EDGES, Edge, corpus, chunk_ids)

    async def get_eval_run(self, run_id: UUID | str) -> EvalRuns:
        return await self._row(calls.GET_EVAL_RUN, EvalRuns, run_id)

    async def get_parents(self, corpus: str, chunk_id: str) -> Rows[Edge]:
        return await self._rows(calls.GET_PARENTS, Edge, corpus, chunk_id)

    async def get_retriever(self, retriever: str) -> RetrieverSettings:
        return await self._row(calls.GET_RETRIEVER, RetrieverSettings, retriever)

    async def get_slice(self, corpus: str, slice_id: str) -> GetSliceRow:
        return await self._row(calls.GET_SLICE, GetSliceRow, corpus, slice_id)

    async def get_source(self, corpus: str, uri: str) -> Rows[GetSourceRow]:
        return await self._rows(calls.GET_SOURCE, GetSourceRow, corpus, uri)

    async def get_trace(self, trace_id: UUID | str) -> RetrievalTraces:
        return await self._row(calls.GET_TRACE, RetrievalTraces, trace_id)

    async def get_turn(self, corpus: str, chunk_id: str) -> GetTurnRow:
        return await self._row(calls.GET_TURN, GetTurnRow, corpus, chunk_id)

    async def grant_corpus(self, corpus: str, role: str, privilege: str) -> None:
        await self._run(calls.GRANT_CORPUS, corpus, role, privilege)

    async def has_reached(self, log_position: str) -> bool:
        value: bool = await self._value(calls.HAS_REACHED, log_position)
        return value

    async def has_worker(self) -> bool:
        value: bool = await self._value(calls.HAS_WORKER)
        return value

    async def highlight(
        self,
        corpus: str,
        chunk_id: str,
        query: str,
        start_mark: str = "**",
        end_mark: str = "**",
        syntax: str = "plain",
    ) -> str:
        value: str = await self._value(
            calls.HIGHLIGHT, corpus, chunk_id, query, start_mark, end_mark, syntax
        )
        return value

    async def highlight_chunks(
        self,
        corpus: str,
        chunk_ids: Sequence[str],
        query: str,
        start_mark: str = "**",
        end_mark: str = "**",
        syntax: str = "plain",
    ) -> Rows[HighlightChunksRow]:
        return await self._rows(
            calls.HIGHLIGHT_CHUNKS,
            HighlightChunksRow,
            corpus,
            chunk_ids,
            query,
            start_mark,
            end_mark,
            syntax,
        )

    async def hold_move(
        self, move_id: UUID | str, longest: timedelta | str = "00:00:10"
    ) -> datetime:
        value: datetime = await self._value(calls.HOLD_MOVE, move_id, longest)
        return value

    async def http_session_role(self, session_hash: bytes) -> str | None:
        value: str | None = await self._value(calls.HTTP_SESSION_ROLE, session_hash)
        return value

    async def http_token_role(self, token_hash: bytes) -> str | None:
        value: str | None = await self._value(calls.HTTP_TOKEN_ROLE, token_hash)
        return value

    async def import_corpus(self, header: Any, corpus: str | None = None) -> str:
        value: str = await self._value(calls.IMPORT_CORPUS, header, corpus)
        return value

    async def import_documents(self, corpus: str, documents: Any) -> int:
        value: int = await self._value(calls.IMPORT_DOCUMENTS, corpus, documents)
        return value

    async def import_embeddings(
        self,
        corpus: str,
        sources: Sequence[str],
        ordinals: Sequence[int],
        embeddings: Reals | Sequence[float],
    ) -> int:
        value: int = await self._value(
            calls.IMPORT_EMBEDDINGS, corpus, sources, ordinals, embeddings
        )
        return value

    async def import_eval(self, rag: str, eval: str, cases: Any) -> ImportEvalRow:
        return await self._row(calls.IMPORT_EVAL, ImportEvalRow, rag, eval, cases)

    async def import_signing_key(
        self,
        key_id: str,
        secret: str,
        state: str = "verify_only",
        created_at: datetime | None = None,
        active_until: datetime | None = None,
        not_after: datetime | None = None,
    ) -> None:
        await self._run(
            calls.IMPORT_SIGNING_KEY, key_id, secret, state, created_at, active_until, not_after
        )

    async def import_synonyms(self, corpus: str, synonyms: Any) -> int:
        value: int = await self._value(calls.IMPORT_SYNONYMS, corpus, synonyms)
        return value

    async def index_space(self, corpus: str, embedder: str | None = None) -> bool:
        value: bool = await self._value(calls.INDEX_SPACE, corpus, embedder)
        return value

    async def inline_spans(self, answer: str, chunk_ids: Sequence[str]) -> Any:
        return await self._value(calls.INLINE_SPANS, answer, chunk_ids)

    async def is_admissible(self, corpus: str, slice_id: str, chunk_id: str) -> bool:
        value: bool = await self._value(calls.IS_ADMISSIBLE, corpus, slice_id, chunk_id)
        return value

    async def is_in_ledger(
        self, leaf_hash: bytes, number: int, size: int, path: Sequence[bytes], root: bytes
    ) -> bool | None:
        value: bool | None = await self._value(
            calls.IS_IN_LEDGER, leaf_hash, number, size, path, root
        )
        return value

    async def is_same_ledger(
        self, old_size: int, old_root: bytes, new_size: int, new_root: bytes, proof: Sequence[bytes]
    ) -> bool | None:
        value: bool | None = await self._value(
            calls.IS_SAME_LEDGER, old_size, old_root, new_size, new_root, proof
        )
        return value

    async def job_state(self, job_id: UUID | str) -> JobStateRow:
        return await self._row(calls.JOB_STATE, JobStateRow, job_id)

    async def job_status(self) -> Rows[JobStatusRow]:
        return await self._rows(calls.JOB_STATUS, JobStatusRow)

    async def keep_history(self, corpus: str, history: timedelta | str) -> KeepHistoryRow:
        return await self._row(calls.KEEP_HISTORY, KeepHistoryRow, corpus, history)

    async def kern_chunk_hash(self, text: str) -> str:
        value: str = await self._value(calls.KERN_CHUNK_HASH, text)
        return value

    async def known_sources(self, corpus: str, uris: Sequence[str]) -> Rows[KnownSourcesRow]:
        return await self._rows(calls.KNOWN_SOURCES, KnownSourcesRow, corpus, uris)

    async def lacking_originals(self, move_id: UUID | str, cids: Sequence[str]) -> list[str]:
        return await self._values(calls.LACKING_ORIGINALS, move_id, cids)

    async def last_trace_id(self) -> UUID:
        value: UUID = await self._value(calls.LAST_TRACE_ID)
        return value

    async def leave_move(self, move_id: UUID | str, reopen: bool = False) -> bool:
        value: bool = await self._value(calls.LEAVE_MOVE, move_id, reopen)
        return value

    async def ledger_bundle(self, index: int, width: int = 256) -> bytes:
        value: bytes = await self._value(calls.LEDGER_BUNDLE, index, width)
        return value

    async def ledger_checkpoint(self, size: int | None = None) -> str:
        value: str = await self._value(calls.LEDGER_CHECKPOINT, size)
        return value

    async def ledger_consistency_proof(
        self, old_size: int, new_size: int | None = None
    ) -> list[bytes]:
        value: list[bytes] = await self._value(calls.LEDGER_CONSISTENCY_PROOF, old_size, new_size)
        return value

    async def ledger_entries(self, first: int = 0, count: int = 1000) -> Rows[LedgerEntry]:
        return await self._rows(calls.LEDGER_ENTRIES, LedgerEntry, first, count)

    async def ledger_entry(self, kind: str, id: str) -> LedgerEntry:
        return await self._row(calls.LEDGER_ENTRY, LedgerEntry, kind, id)

    async def ledger_inclusion_proof(self, number: int, size: int | None = None) -> list[bytes]:
        value: list[bytes] = await self._value(calls.LEDGER_INCLUSION_PROOF, number, size)
        return value

    async def ledger_kinds(self) -> list[str]:
        return await self._values(calls.LEDGER_KINDS)

    async def ledger_root(self, size: int | None = None) -> bytes:
        value: bytes = await self._value(calls.LEDGER_ROOT, size)
        return value

    async def ledger_status(self) -> LedgerStatusRow:
        return await self._row(calls.LEDGER_STATUS, LedgerStatusRow)

    async def ledger_tile(self, level: int, index: int, width: int = 256) -> bytes:
        value: bytes = await self._value(calls.LEDGER_TILE, level, index, width)
        return value

    async def list_access_events(
        self, corpus: str | None = None, since: datetime | None = None, count: int = 100
    ) -> Rows[AccessEvents]:
        return await self._rows(calls.LIST_ACCESS_EVENTS, AccessEvents, corpus, since, count)

    async def list_answers(
        self, corpus: str | None = None, since: datetime | None = None, count: int = 50
    ) -> Rows[RecordedAnswer]:
        return await self._rows(calls.LIST_ANSWERS, RecordedAnswer, corpus, since, count)

    async def list_atoms(self, corpus: str, count: int = 100) -> Rows[ListAtomsRow]:
        return await self._rows(calls.LIST_ATOMS, ListAtomsRow, corpus, count)

    async def list_checkpoints(self, count: int = 100) -> Rows[ListCheckpointsRow]:
        return await self._rows(calls.LIST_CHECKPOINTS, ListCheckpointsRow, count)

    async def list_chunks(
        self,
        corpus: str,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        after: str = "",
        count: int = 100,
    ) -> Rows[Chunk]:
        return await self._rows(calls.LIST_CHUNKS, Chunk, corpus, filter, chunk_ids, after, count)

    async def list_citations(self, answer_id: UUID | str) -> Rows[ListCitationsRow]:
        return await self._rows(calls.LIST_CITATIONS, ListCitationsRow, answer_id)

    async def list_conflicts(self, corpus: str, only_open: bool = True) -> Rows[ListConflictsRow]:
        return await self._rows(calls.LIST_CONFLICTS, ListConflictsRow, corpus, only_open)

    async def list_contracts(self) -> Rows[ListContractsRow]:
        return await self._rows(calls.LIST_CONTRACTS, ListContractsRow)

    async def list_corpora(self) -> Rows[ListCorporaRow]:
        return await self._rows(calls.LIST_CORPORA, ListCorporaRow)

    async def list_documents(
        self, corpus: str, prefix: str = "", after: str = "", count: int = 100
    ) -> Rows[Document]:
        return await self._rows(calls.LIST_DOCUMENTS, Document, corpus, prefix, after, count)

    async def list_embedders(self) -> Rows[Embedders]:
        return await self._rows(calls.LIST_EMBEDDERS, Embedders)

    async def list_erasures(self, corpus: str, count: int = 100) -> Rows[ListErasuresRow]:
        return await self._rows(calls.LIST_ERASURES, ListErasuresRow, corpus, count)

    async def list_eval_cases(self, rag: str, eval: str | None = None) -> Rows[ListEvalCasesRow]:
        return await self._rows(calls.LIST_EVAL_CASES, ListEvalCasesRow, rag, eval)

    async def list_eval_runs(
        self, rag: str | None = None, eval: str | None = None, count: int = 50
    ) -> Rows[EvalRuns]:
        return await self._rows(calls.LIST_EVAL_RUNS, EvalRuns, rag, eval, count)

    async def list_evals(self) -> Rows[ListEvalsRow]:
        return await self._rows(calls.LIST_EVALS, ListEvalsRow)

    async def list_failed_embeddings(self, corpus: str) -> Rows[ListFailedEmbeddingsRow]:
        return await self._rows(calls.LIST_FAILED_EMBEDDINGS, ListFailedEmbeddingsRow, corpus)

    async def list_feedback(
        self, corpus: str | None = None, since: datetime | None = None, count: int = 50
    ) -> Rows[ListFeedbackRow]:
        return await self._rows(calls.LIST_FEEDBACK, ListFeedbackRow, corpus, since, count)

    async def list_gates(
        self, corpus: str | None = None, since: datetime | None = None, count: int = 50
    ) -> Rows[RecordedGate]:
        return await self._rows(calls.LIST_GATES, RecordedGate, corpus, since, count)

    async def list_grants(self, corpus: str) -> Rows[ListGrantsRow]:
        return await self._rows(calls.LIST_GRANTS, ListGrantsRow, corpus)

    async def list_http_tokens(self) -> Rows[ListHttpTokensRow]:
        return await self._rows(calls.LIST_HTTP_TOKENS, ListHttpTokensRow)

    async def list_incidents(self, corpus: str, count: int = 100) -> Rows[ListIncidentsRow]:
        return await self._rows(calls.LIST_INCIDENTS, ListIncidentsRow, corpus, count)

    async def list_key_events(self) -> Rows[KeyEvents]:
        return await self._rows(calls.LIST_KEY_EVENTS, KeyEvents)

    async def list_ledger_acts(self, count: int = 100) -> Rows[LedgerActs]:
        return await self._rows(calls.LIST_LEDGER_ACTS, LedgerActs, count)

    async def list_moves(self, corpus: str | None = None) -> Rows[ListMovesRow]:
        return await self._rows(calls.LIST_MOVES, ListMovesRow, corpus)

    async def list_parts(self, corpus: str) -> Rows[ListPartsRow]:
        return await self._rows(calls.LIST_PARTS, ListPartsRow, corpus)

    async def list_peer_corpora(self, corpus: str | None = None) -> Rows[ListPeerCorporaRow]:
        return await self._rows(calls.LIST_PEER_CORPORA, ListPeerCorporaRow, corpus)

    async def list_peers(self) -> Rows[ListPeersRow]:
        return await self._rows(calls.LIST_PEERS, ListPeersRow)

    async def list_policies(self) -> Rows[ListPoliciesRow]:
        return await self._rows(calls.LIST_POLICIES, ListPoliciesRow)

    async def list_proposals(
        self, corpus: str, state: str | None = None, count: int = 100
    ) -> Rows[ListProposalsRow]:
        return await self._rows(calls.LIST_PROPOSALS, ListProposalsRow, corpus, state, count)

    async def list_quotas(self) -> Rows[ListQuotasRow]:
        return await self._rows(calls.LIST_QUOTAS, ListQuotasRow)

    async def list_rerankers(self) -> Rows[Rerankers]:
        return await self._rows(calls.LIST_RERANKERS, Rerankers)

    async def list_shared_documents(
        self, corpus: str, sources: Sequence[str] | None = None
    ) -> Rows[ListSharedDocumentsRow]:
        return await self._rows(
            calls.LIST_SHARED_DOCUMENTS, ListSharedDocumentsRow, corpus, sources
        )

    async def list_shared_events(
        self, corpus: str, after: int = 0, count: int = 1000
    ) -> Rows[ListSharedEventsRow]:
        return await self._rows(calls.LIST_SHARED_EVENTS, ListSharedEventsRow, corpus, after, count)

    async def list_signing_keys(self) -> Rows[ListSigningKeysRow]:
        return await self._rows(calls.LIST_SIGNING_KEYS, ListSigningKeysRow)

    async def list_slices(
        self, corpus: str, since: datetime | None = None, count: int = 50, before: str | None = None
    ) -> Rows[ListSlicesRow]:
        return await self._rows(calls.LIST_SLICES, ListSlicesRow, corpus, since, count, before)

    async def list_sources(self) -> Rows[ListSourcesRow]:
        return await self._rows(calls.LIST_SOURCES, ListSourcesRow)

    async def list_static_models(self) -> Rows[ListStaticModelsRow]:
        return await self._rows(calls.LIST_STATIC_MODELS, ListStaticModelsRow)

    async def list_synonyms(self, corpus: str) -> Rows[ListSynonymsRow]:
        return await self._rows(calls.LIST_SYNONYMS, ListSynonymsRow, corpus)

    async def list_tools(self) -> Rows[ListToolsRow]:
        return await self._rows(calls.LIST_TOOLS, ListToolsRow)

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
    ) -> Rows[RetrievalTraces]:
        return await self._rows(
            calls.LIST_TRACES,
            RetrievalTraces,
            corpus,
            since,
            count,
            until,
            mode,
            outcome,
            min_elapsed_ms,
            before,
        )

    async def list_unanswered(
        self, corpus: str | None = None, since: datetime | None = None, count: int = 50
    ) -> Rows[UnansweredQuestion]:
        return await self._rows(calls.LIST_UNANSWERED, UnansweredQuestion, corpus, since, count)

    async def list_versions(
        self, corpus: str, before: int | None = None, count: int = 100
    ) -> Rows[ListVersionsRow]:
        return await self._rows(calls.LIST_VERSIONS, ListVersionsRow, corpus, before, count)

    async def locate_quote(self, corpus: str, chunk_id: str, quote: str) -> Rows[LocateQuoteRow]:
        return await self._rows(calls.LOCATE_QUOTE, LocateQuoteRow, corpus, chunk_id, quote)

    async def log_position(self) -> str:
        value: str = await self._value(calls.LOG_POSITION)
        return value

    async def maintain(self) -> list[str]:
        return await self._values(calls.MAINTAIN)

    async def map_corpus(
        self, corpus: str, count: int = 2000, query: str | None = None
    ) -> Rows[MapPoint]:
        return await self._rows(calls.MAP_CORPUS, MapPoint, corpus, count, query)

    async def match_documents(
        self,
        query_embedding: Reals | Sequence[float],
        match_threshold: float = 0.0,
        match_count: int = 10,
        filter: Any = None,
        corpus: str | None = None,
    ) -> Rows[MatchDocumentsRow]:
        return await self._rows(
            calls.MATCH_DOCUMENTS,
            MatchDocumentsRow,
            query_embedding,
            match_threshold,
            match_count,
            filter,
            corpus,
        )

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
    ) -> Rows[MergeCandidatesRow]:
        return await self._rows(
            calls.MERGE_CANDIDATES,
            MergeCandidatesRow,
            corpus,
            shares,
            k,
            mode,
            min_score,
            fusion,
            lexical_weight,
            min_lexical,
            min_semantic,
        )

    async def merge_peer_answers(self, corpus: str, answer: Any, answers: Any, k: int = 5) -> Any:
        return await self._value(calls.MERGE_PEER_ANSWERS, corpus, answer, answers, k)

    async def metrics(self) -> Rows[MetricSample]:
        return await self._rows(calls.METRICS, MetricSample)

    async def move_digest(self, move_id: UUID | str) -> Any:
        return await self._value(calls.MOVE_DIGEST, move_id)

    async def move_originals(
        self, move_id: UUID | str, after: str = "", count: int = 1000
    ) -> list[str]:
        return await self._values(calls.MOVE_ORIGINALS, move_id, after, count)

    async def move_page(
        self, move_id: UUID | str, applied: int | None = None, count: int = 1000
    ) -> Rows[MovePageRow]:
        return await self._rows(calls.MOVE_PAGE, MovePageRow, move_id, applied, count)

    async def move_receipt(self, move_id: UUID | str) -> bytes:
        value: bytes = await self._value(calls.MOVE_RECEIPT, move_id)
        return value

    async def name_ledger(self, origin: str | None = None) -> str | None:
        value: str | None = await self._value(calls.NAME_LEDGER, origin)
        return value

    async def open_http_session(self, token_hash: bytes | None = None) -> str | None:
        value: str | None = await self._value(calls.OPEN_HTTP_SESSION, token_hash)
        return value

    async def open_move(self, move_id: UUID | str, receipt: bytes) -> None:
        await self._run(calls.OPEN_MOVE, move_id, receipt)

    async def optimize_corpus(
        self, corpus: str, new_pivot: float | None = None
    ) -> OptimizeCorpusRow:
        return await self._row(calls.OPTIMIZE_CORPUS, OptimizeCorpusRow, corpus, new_pivot)

    async def origin(self) -> OriginRow:
        return await self._row(calls.ORIGIN, OriginRow)

    async def parse_contract(self, contract: str, contract_name: str = "contract") -> Any:
        return await self._value(calls.PARSE_CONTRACT, contract, contract_name)

    async def part_statistics(
        self, corpus: str, parts: Sequence[str] = "{}"
    ) -> Rows[PartStatisticsRow]:
        return await self._rows(calls.PART_STATISTICS, PartStatisticsRow, corpus, parts)

    async def policy_hash(self, policy: Any) -> str:
        value: str = await self._value(calls.POLICY_HASH, policy)
        return value

    async def prepare_query(self, corpus: str, query: str) -> bool:
        value: bool = await self._value(calls.PREPARE_QUERY, corpus, query)
        return value

    async def promote_to_atom(
        self,
        trace_id: UUID | str,
        chunk_ids: Sequence[str],
        text: str,
        sufficiency: str = "default",
    ) -> PromoteToAtomRow:
        return await self._row(
            calls.PROMOTE_TO_ATOM, PromoteToAtomRow, trace_id, chunk_ids, text, sufficiency
        )

    async def propose(self, corpus: str, atom_ids: Sequence[UUID], text: str) -> ProposeRow:
        return await self._row(calls.PROPOSE, ProposeRow, corpus, atom_ids, text)

    async def provenance(self, trace_id: UUID | str) -> Any:
        return await self._value(calls.PROVENANCE, trace_id)

    async def prune_sources(
        self,
        corpus: str,
        prefix: str,
        keep: Sequence[str],
        root: str | None = None,
        derived: str = "redact",
        reason: str | None = None,
    ) -> PruneSourcesRow:
        return await self._row(
            calls.PRUNE_SOURCES, PruneSourcesRow, corpus, prefix, keep, root, derived, reason
        )

    async def publish_events(
        self, corpus: str, events: Sequence[str], signatures: Sequence[bytes]
    ) -> int:
        value: int = await self._value(calls.PUBLISH_EVENTS, corpus, events, signatures)
        return value

    async def put_blob(self, bytes: bytes, media_type: str, corpus: str | None = None) -> str:
        value: str = await self._value(calls.PUT_BLOB, bytes, media_type, corpus)
        return value

    async def put_conversations(
        self, corpus: str, conversations: Any, force: bool = False
    ) -> Rows[PutResult]:
        return await self._rows(calls.PUT_CONVERSATIONS, PutResult, corpus, conversations, force)

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
        links: Any = "[]",
        force: bool = False,
    ) -> PutResult:
        return await self._row(
            calls.PUT_DOCUMENT,
            PutResult,
            corpus,
            doc_cid,
            uri,
            chunks,
            chunking,
            title,
            language,
            media_type,
            metadata,
            external_id,
            source_name,
            size_bytes,
            pages,
            etag,
            links,
            force,
        )

    async def put_documents(
        self, corpus: str, documents: Any, force: bool = False
    ) -> Rows[PutResult]:
        return await self._rows(calls.PUT_DOCUMENTS, PutResult, corpus, documents, force)

    async def put_embeddings(
        self, corpus: str, chunk_ids: Sequence[str], embeddings: Reals | Sequence[float]
    ) -> int:
        value: int = await self._value(calls.PUT_EMBEDDINGS, corpus, chunk_ids, embeddings)
        return value

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
        value: int = await self._value(
            calls.PUT_PART_STATISTICS,
            corpus,
            part,
            version,
            chunks,
            lexeme_count,
            lexemes,
            dfs,
            synced_at,
        )
        return value

    async def put_query_embedding(
        self, corpus: str, query: str, embedding: Reals | Sequence[float]
    ) -> str:
        value: str = await self._value(calls.PUT_QUERY_EMBEDDING, corpus, query, embedding)
        return value

    async def put_static_pieces(
        self,
        embedder: str,
        pieces: Sequence[str],
        ranks: Sequence[int],
        vectors: Reals | Sequence[float],
    ) -> int:
        value: int = await self._value(calls.PUT_STATIC_PIECES, embedder, pieces, ranks, vectors)
        return value

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
        media_type: str = "text/plain",
        force: bool = False,
    ) -> PutResult:
        return await self._row(
            calls.PUT_TEXT,
            PutResult,
            corpus,
            source,
            text,
            title,
            language,
            metadata,
            external_id,
            strategy,
            max_tokens,
            overlap,
            unit,
            media_type,
            force,
        )

    async def put_texts(
        self,
        corpus: str,
        texts: Sequence[str],
        metadatas: Any = None,
        ids: Sequence[str] | None = None,
        cut: bool = True,
        embedder: str | None = None,
        embeddings: Reals | Sequence[float] | None = None,
    ) -> Rows[PutTextsRow]:
        return await self._rows(
            calls.PUT_TEXTS, PutTextsRow, corpus, texts, metadatas, ids, cut, embedder, embeddings
        )

    async def query_embedding_state(self, corpus: str, query: str) -> Rows[QueryEmbeddingStateRow]:
        return await self._rows(calls.QUERY_EMBEDDING_STATE, QueryEmbeddingStateRow, corpus, query)

    async def rag_enough_context_gate(
        self,
        query: str,
        pack: Any,
        min_chunks: int = 1,
        min_score: float | None = None,
        min_coverage: float = 0.5,
    ) -> Any:
        return await self._value(
            calls.RAG_ENOUGH_CONTEXT_GATE, query, pack, min_chunks, min_score, min_coverage
        )

    async def rag_ingest(self, request: Any) -> Any:
        return await self._value(calls.RAG_INGEST, request)

    async def rag_list_corpora(self, request: Any = None) -> Any:
        return await self._value(calls.RAG_LIST_CORPORA, request)

    async def rag_query(self, request: Any) -> Any:
        return await self._value(calls.RAG_QUERY, request)

    async def rag_query_plan(self, question: str) -> Any:
        return await self._value(calls.RAG_QUERY_PLAN, question)

    async def ranking_digest(self, corpus: str) -> str:
        value: str = await self._value(calls.RANKING_DIGEST, corpus)
        return value

    async def ready_move(self, move_id: UUID | str, digest: Any) -> None:
        await self._run(calls.READY_MOVE, move_id, digest)

    async def receive_move(
        self,
        move_id: UUID | str,
        numbers: Sequence[int] | None = None,
        sources: Sequence[str] | None = None,
        hashes: Sequence[bytes] | None = None,
        uris: Sequence[str] | None = None,
    ) -> None:
        await self._run(calls.RECEIVE_MOVE, move_id, numbers, sources, hashes, uris)

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
    ) -> Rows[RecordAnswerRow]:
        return await self._rows(
            calls.RECORD_ANSWER,
            RecordAnswerRow,
            output,
            evidence,
            trace_id,
            require_citations,
            require_admissible,
            min_coverage,
            min_quote,
            offsets,
            task,
            model,
            attempt,
            client,
            elapsed_ms,
            input_tokens,
            output_tokens,
        )

    async def record_erasure(self, entries: Sequence[str], reason: str) -> None:
        await self._run(calls.RECORD_ERASURE, entries, reason)

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
        value: UUID = await self._value(
            calls.RECORD_FAILURE,
            corpus,
            query,
            error_code,
            elapsed_ms,
            k,
            mode,
            min_score,
            filter,
            chunk_ids,
            statistics,
            client,
            otel_trace_id,
            otel_span_id,
            slice_id,
            anchor,
            policy,
        )
        return value

    async def record_feedback(
        self,
        verdict: str,
        trace_id: UUID | str | None = None,
        answer_id: UUID | str | None = None,
        chunk_id: str | None = None,
        comment: str | None = None,
        client: str | None = None,
    ) -> UUID:
        value: UUID = await self._value(
            calls.RECORD_FEEDBACK, verdict, trace_id, answer_id, chunk_id, comment, client
        )
        return value

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
        return await self._value(
            calls.RECORD_GATE, query, pack, min_chunks, min_score, min_coverage, trace_id, client
        )

    async def record_reading(
        self, corpus: str, source_name: str, documents: int, failed: int = 0
    ) -> None:
        await self._run(calls.RECORD_READING, corpus, source_name, documents, failed)

    async def record_reads(self, corpus: str, mode: str) -> None:
        await self._run(calls.RECORD_READS, corpus, mode)

    async def record_refusal(self, corpus: str, error_code: str) -> None:
        await self._run(calls.RECORD_REFUSAL, corpus, error_code)

    async def record_rerank(
        self,
        trace_id: UUID | str,
        model: str,
        chunk_ids: Sequence[str],
        scores: Reals | Sequence[float],
        k: int | None = None,
    ) -> Rows[RetrievalReranks]:
        return await self._rows(
            calls.RECORD_RERANK, RetrievalReranks, trace_id, model, chunk_ids, scores, k
        )

    async def reembed_corpus(
        self, corpus: str, embedder: str, m: int = 16, ef_construction: int = 128
    ) -> int:
        value: int = await self._value(calls.REEMBED_CORPUS, corpus, embedder, m, ef_construction)
        return value

    async def refresh_rollups(self, recount: bool = False) -> int:
        value: int = await self._value(calls.REFRESH_ROLLUPS, recount)
        return value

    async def register_policy(self, policy: Any) -> RegisterPolicyRow:
        return await self._row(calls.REGISTER_POLICY, RegisterPolicyRow, policy)

    async def register_signing_key(self, key_id: str) -> None:
        await self._run(calls.REGISTER_SIGNING_KEY, key_id)

    async def registry_fingerprint(self) -> str:
        value: str = await self._value(calls.REGISTRY_FINGERPRINT)
        return value

    async def remove_edges(self, corpus: str, edges: Any) -> int:
        value: int = await self._value(calls.REMOVE_EDGES, corpus, edges)
        return value

    async def remove_peer(self, name: str) -> None:
        await self._run(calls.REMOVE_PEER, name)

    async def remove_synonyms(self, corpus: str, word: str) -> int:
        value: int = await self._value(calls.REMOVE_SYNONYMS, corpus, word)
        return value

    async def renew_embeddings(self, worker: str, lease: timedelta | str = "00:01:00") -> int:
        value: int = await self._value(calls.RENEW_EMBEDDINGS, worker, lease)
        return value

    async def repair_corpus(self, corpus: str) -> None:
        await self._run(calls.REPAIR_CORPUS, corpus)

    async def replay(self, trace_id: UUID | str) -> ReplayRow:
        return await self._row(calls.REPLAY, ReplayRow, trace_id)

    async def replay_cited(
        self, corpus: str, slice_id: str, query_hash: str, policy_hash: str
    ) -> ReplayCitedRow:
        return await self._row(
            calls.REPLAY_CITED, ReplayCitedRow, corpus, slice_id, query_hash, policy_hash
        )

    async def replay_hits(self, trace_id: UUID | str) -> Rows[ReplayHitsRow]:
        return await self._rows(calls.REPLAY_HITS, ReplayHitsRow, trace_id)

    async def report_key_compromise(self, key_id: str, since: datetime | None = None) -> None:
        await self._run(calls.REPORT_KEY_COMPROMISE, key_id, since)

    async def request_query_embedding(self, corpus: str, query: str) -> bool:
        value: bool = await self._value(calls.REQUEST_QUERY_EMBEDDING, corpus, query)
        return value

    async def requeue_embeddings(self, corpus: str | None = None) -> int:
        value: int = await self._value(calls.REQUEUE_EMBEDDINGS, corpus)
        return value

    async def rerank_depth(self, k: int) -> int:
        value: int = await self._value(calls.RERANK_DEPTH, k)
        return value

    async def resolve_anchor(
        self,
        corpus: str,
        chunk_id: str | None = None,
        session: str | None = None,
        query: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
        project: str | None = None,
    ) -> Rows[ResolveAnchorRow]:
        return await self._rows(
            calls.RESOLVE_ANCHOR,
            ResolveAnchorRow,
            corpus,
            chunk_id,
            session,
            query,
            query_embedding,
            project,
        )

    async def resolve_explicit(self, corpus: str, chunk_id: str) -> str | None:
        value: str | None = await self._value(calls.RESOLVE_EXPLICIT, corpus, chunk_id)
        return value

    async def resolve_from_query(
        self,
        corpus: str,
        query: str,
        mode: str | None = None,
        query_embedding: Reals | Sequence[float] | None = None,
    ) -> str | None:
        value: str | None = await self._value(
            calls.RESOLVE_FROM_QUERY, corpus, query, mode, query_embedding
        )
        return value

    async def resolve_from_session(self, corpus: str, session: str) -> str | None:
        value: str | None = await self._value(calls.RESOLVE_FROM_SESSION, corpus, session)
        return value

    async def resolve_temporal(
        self, corpus: str, count: int = 1, project: str | None = None
    ) -> Rows[ResolveTemporalRow]:
        return await self._rows(calls.RESOLVE_TEMPORAL, ResolveTemporalRow, corpus, count, project)

    async def restrict_corpus(self, corpus: str) -> None:
        await self._run(calls.RESTRICT_CORPUS, corpus)

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
    ) -> Recorded[TracedHit]:
        return await self._recorded(
            calls.RETRIEVE,
            TracedHit,
            corpus,
            query,
            k,
            mode,
            min_score,
            filter,
            chunk_ids,
            statistics,
            query_embedding,
            fusion,
            lexical_weight,
            min_lexical,
            min_semantic,
            syntax,
            per_document,
            collapse,
            diversity,
            context,
            section,
            typos,
            client,
            otel_trace_id,
            otel_span_id,
        )

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
    ) -> Recorded[TurnHit]:
        return await self._recorded(
            calls.RETRIEVE_GLOBAL,
            TurnHit,
            corpus,
            query,
            k,
            mode,
            min_score,
            filter,
            query_embedding,
            client,
            otel_trace_id,
            otel_span_id,
        )

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
    ) -> Recorded[TurnHit]:
        return await self._recorded(
            calls.RETRIEVE_SLICE,
            TurnHit,
            corpus,
            query,
            slice_id,
            anchor,
            policy,
            k,
            mode,
            min_score,
            filter,
            statistics,
            query_embedding,
            fusion,
            lexical_weight,
            min_lexical,
            min_semantic,
            syntax,
            per_document,
            collapse,
            diversity,
            context,
            section,
            typos,
            client,
            otel_trace_id,
            otel_span_id,
        )

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
        return await self._value(
            calls.RETRIEVE_TOOL,
            tool,
            arguments,
            query_embedding,
            client,
            otel_trace_id,
            otel_span_id,
            rerank_scores,
        )

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
    ) -> Recorded[TracedHit]:
        return await self._recorded(
            calls.RETRIEVE_WITH,
            TracedHit,
            retriever,
            query,
            k,
            min_score,
            filter,
            query_embedding,
            rag,
            client,
            otel_trace_id,
            otel_span_id,
            rerank,
        )

    async def retry_failed(self, corpus: str | None = None) -> int:
        value: int = await self._value(calls.RETRY_FAILED, corpus)
        return value

    async def revoke_corpus(self, corpus: str, role: str) -> None:
        await self._run(calls.REVOKE_CORPUS, corpus, role)

    async def revoke_http_token(self, name: str) -> None:
        await self._run(calls.REVOKE_HTTP_TOKEN, name)

    async def revoke_peer(self, name: str, reason: str) -> None:
        await self._run(calls.REVOKE_PEER, name, reason)

    async def revoke_signing_key(self, key_id: str) -> None:
        await self._run(calls.REVOKE_SIGNING_KEY, key_id)

    async def rollback_corpus(self, corpus: str) -> str:
        value: str = await self._value(calls.ROLLBACK_CORPUS, corpus)
        return value

    async def run_eval(
        self,
        rag: str,
        eval: str | None = None,
        tags: Sequence[str] | None = None,
        label: str | None = None,
        rerank_scores: Any = None,
    ) -> EvalRuns:
        return await self._row(calls.RUN_EVAL, EvalRuns, rag, eval, tags, label, rerank_scores)

    async def seal_ledger(self, most: int = 100000) -> SealLedgerRow:
        return await self._row(calls.SEAL_LEDGER, SealLedgerRow, most)

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
    ) -> Rows[Hit]: ...
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
    ) -> Rows[Hit]: ...
    async def search(self, *args: Any, **kwargs: Any) -> Rows[Hit]:
        call, values = choose((calls.SEARCH_1, calls.SEARCH_2), args, kwargs)
        return await self._rows(call, Hit, *values)

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
    ) -> Rows[Hit]:
        return await self._rows(
            calls.SEARCH_CANDIDATES,
            Hit,
            corpus,
            query,
            k,
            mode,
            filter,
            chunk_ids,
            query_embedding,
            fusion,
            lexical_weight,
            syntax,
            per_document,
            context,
            section,
            typos,
            expects,
        )

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
    ) -> Rows[DocumentHit]:
        return await self._rows(
            calls.SEARCH_DOCUMENTS,
            DocumentHit,
            corpus,
            query,
            k,
            chunks_per_document,
            mode,
            min_score,
            filter,
            query_embedding,
            syntax,
            typos,
        )

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
    ) -> Rows[SearchDualRow]:
        return await self._rows(
            calls.SEARCH_DUAL,
            SearchDualRow,
            corpus,
            query,
            k,
            mode,
            min_score,
            filter,
            query_embedding,
            fusion,
            lexical_weight,
        )

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
    ) -> Rows[TurnHit]:
        return await self._rows(
            calls.SEARCH_GLOBAL,
            TurnHit,
            corpus,
            query,
            k,
            mode,
            min_score,
            filter,
            chunk_ids,
            statistics,
            query_embedding,
            fusion,
            lexical_weight,
            min_lexical,
            min_semantic,
            syntax,
            per_document,
            collapse,
            diversity,
            context,
            section,
            typos,
        )

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
    ) -> Rows[TurnHit]:
        return await self._rows(
            calls.SEARCH_SLICE,
            TurnHit,
            corpus,
            query,
            slice_id,
            anchor,
            policy,
            k,
            mode,
            min_score,
            filter,
            statistics,
            query_embedding,
            fusion,
            lexical_weight,
            min_lexical,
            min_semantic,
            syntax,
            per_document,
            collapse,
            diversity,
            context,
            section,
            typos,
        )

    async def search_tool(
        self,
        tool: str,
        arguments: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
        rerank_scores: Any = None,
    ) -> Any:
        return await self._value(calls.SEARCH_TOOL, tool, arguments, query_embedding, rerank_scores)

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
    ) -> Rows[Hit]:
        return await self._rows(
            calls.SEARCH_WITH,
            Hit,
            retriever,
            query,
            k,
            min_score,
            filter,
            query_embedding,
            rag,
            rerank,
        )

    async def set_default_embedder(self, embedder: str | None = None) -> None:
        await self._run(calls.SET_DEFAULT_EMBEDDER, embedder)

    async def set_ledger(self, is_on: bool) -> int:
        value: int = await self._value(calls.SET_LEDGER, is_on)
        return value

    async def set_quota(
        self,
        role: str,
        blob_bytes: int | None = None,
        hourly_failures: int | None = None,
        concurrent_calls: int | None = None,
    ) -> None:
        await self._run(calls.SET_QUOTA, role, blob_bytes, hourly_failures, concurrent_calls)

    async def share_corpus(
        self, corpus: str, author: bytes | None = None, feed: UUID | str | None = None
    ) -> UUID | None:
        value: UUID | None = await self._value(calls.SHARE_CORPUS, corpus, author, feed)
        return value

    async def shared_feed(self, corpus: str) -> SharedFeedRow:
        return await self._row(calls.SHARED_FEED, SharedFeedRow, corpus)

    async def similar(
        self,
        corpus: str,
        chunk_id: str,
        k: int = 10,
        min_score: float = 0.0,
        filter: Any = None,
        mode: str | None = None,
    ) -> Rows[Hit]:
        return await self._rows(calls.SIMILAR, Hit, corpus, chunk_id, k, min_score, filter, mode)

    async def slice_graph(
        self,
        corpus: str,
        slice_id: str | None = None,
        anchor: str | None = None,
        policy: Any = None,
        refused: int = 100,
    ) -> Rows[SliceGraphRow]:
        return await self._rows(
            calls.SLICE_GRAPH, SliceGraphRow, corpus, slice_id, anchor, policy, refused
        )

    async def slice_members(self, corpus: str, slice_id: str) -> Rows[SliceMembersRow]:
        return await self._rows(calls.SLICE_MEMBERS, SliceMembersRow, corpus, slice_id)

    async def space_questions(self, corpus: str, count: int = 200) -> Rows[SpaceQuestionsRow]:
        return await self._rows(calls.SPACE_QUESTIONS, SpaceQuestionsRow, corpus, count)

    async def store_checkpoint(self, note: str) -> int:
        value: int = await self._value(calls.STORE_CHECKPOINT, note)
        return value

    async def sync_statistics(self, corpus: str) -> SyncStatisticsRow:
        return await self._row(calls.SYNC_STATISTICS, SyncStatisticsRow, corpus)

    async def tool_candidates(
        self,
        tool: str,
        arguments: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
    ) -> Rows[ToolCandidatesRow]:
        return await self._rows(
            calls.TOOL_CANDIDATES, ToolCandidatesRow, tool, arguments, query_embedding
        )

    async def trace_hits(self, trace_id: UUID | str) -> Rows[RetrievalHits]:
        return await self._rows(calls.TRACE_HITS, RetrievalHits, trace_id)

    async def trace_reranks(self, trace_id: UUID | str) -> Rows[RetrievalReranks]:
        return await self._rows(calls.TRACE_RERANKS, RetrievalReranks, trace_id)

    async def trace_stages(self, trace_id: UUID | str) -> Rows[TraceStagesRow]:
        return await self._rows(calls.TRACE_STAGES, TraceStagesRow, trace_id)

    async def traffic(
        self, since: datetime, until: datetime | None = None, corpus: str | None = None
    ) -> Rows[TrafficRow]:
        return await self._rows(calls.TRAFFIC, TrafficRow, since, until, corpus)

    async def turn_id(self, corpus: str, session: str, id: str) -> str:
        value: str = await self._value(calls.TURN_ID, corpus, session, id)
        return value

    async def unrestrict_corpus(self, corpus: str) -> int:
        value: int = await self._value(calls.UNRESTRICT_CORPUS, corpus)
        return value

    async def unshare_corpus(self, corpus: str) -> None:
        await self._run(calls.UNSHARE_CORPUS, corpus)

    async def validate_citations(
        self, output: Any, evidence: Any, require_citations: bool = False
    ) -> list[str]:
        value: list[str] = await self._value(
            calls.VALIDATE_CITATIONS, output, evidence, require_citations
        )
        return value

    @overload
    async def validate_contract(self, contract: Any) -> Rows[ValidateContractRow]: ...
    @overload
    async def validate_contract(
        self, contract: str, contract_name: str = "contract"
    ) -> Rows[ValidateContractRow]: ...
    async def validate_contract(self, *args: Any, **kwargs: Any) -> Rows[ValidateContractRow]:
        call, values = choose((calls.VALIDATE_CONTRACT_1, calls.VALIDATE_CONTRACT_2), args, kwargs)
        return await self._rows(call, ValidateContractRow, *values)

    async def validate_query_plan(self, plan: Any) -> list[str]:
        value: list[str] = await self._value(calls.VALIDATE_QUERY_PLAN, plan)
        return value

    async def verification_checks(self) -> Rows[VerificationChecksRow]:
        return await self._rows(calls.VERIFICATION_CHECKS, VerificationChecksRow)

    async def verify(
        self, quick: bool = False, checks: Sequence[str] | None = None
    ) -> Rows[Finding]:
        return await self._rows(calls.VERIFY, Finding, quick, checks)

    async def verify_atom(self, atom_id: UUID | str) -> Rows[VerifyAtomRow]:
        return await self._rows(calls.VERIFY_ATOM, VerifyAtomRow, atom_id)

    async def verify_ledger(
        self, from_number: int = 0, most: int | None = None, late: timedelta | str = "1 day"
    ) -> Rows[VerifyLedgerRow]:
        return await self._rows(calls.VERIFY_LEDGER, VerifyLedgerRow, from_number, most, late)

    async def verify_step(
        self,
        state: Any = None,
        most: int = 1000,
        quick: bool = False,
        checks: Sequence[str] | None = None,
    ) -> VerifyStepRow:
        return await self._row(calls.VERIFY_STEP, VerifyStepRow, state, most, quick, checks)

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
    ) -> VerifyTokenRow:
        return await self._row(
            calls.VERIFY_TOKEN,
            VerifyTokenRow,
            corpus,
            token,
            slice_id,
            anchor_chunk_id,
            policy_id,
            params_hash,
            graph_snapshot_hash,
            schema_version,
            chunk_ids,
            edge_count,
        )

    async def verify_trace(self, trace_id: UUID | str) -> Rows[VerifyTraceRow]:
        return await self._rows(calls.VERIFY_TRACE, VerifyTraceRow, trace_id)

    async def version_at(self, corpus: str, at: datetime) -> int:
        value: int = await self._value(calls.VERSION_AT, corpus, at)
        return value

    async def why_not(self, trace_id: UUID | str, chunk_id: str) -> WhyNotRow:
        return await self._row(calls.WHY_NOT, WhyNotRow, trace_id, chunk_id)

    async def write_contract(self, contract: Any) -> str:
        value: str = await self._value(calls.WRITE_CONTRACT, contract)
        return value

    async def xxh64(self, data: bytes) -> str:
        value: str = await self._value(calls.XXH64, data)
        return value
