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

    async def advice(self) -> Rows[rows.Advice]:
        return await self._rows(calls.ADVICE, rows.Advice)

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
    ) -> Rows[rows.AppendTurnsRow]:
        return await self._rows(
            calls.APPEND_TURNS, rows.AppendTurnsRow, corpus, session, turns, document
        )

    @overload
    async def apply_contract(self, contract: Any) -> rows.ApplyContractRow: ...
    @overload
    async def apply_contract(
        self, contract: str, contract_name: str = "contract"
    ) -> rows.ApplyContractRow: ...
    async def apply_contract(self, *args: Any, **kwargs: Any) -> rows.ApplyContractRow:
        call, values = choose((calls.APPLY_CONTRACT_1, calls.APPLY_CONTRACT_2), args, kwargs)
        return await self._row(call, rows.ApplyContractRow, *values)

    async def apply_events(self, peer: str, corpus: str, page: Any) -> rows.ApplyEventsRow:
        return await self._row(calls.APPLY_EVENTS, rows.ApplyEventsRow, peer, corpus, page)

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
        return await self._row(
            calls.ASK,
            rows.AskedAnswer,
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
            filter,
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
    ) -> rows.AskedRetriever:
        return await self._row(
            calls.ASK_RETRIEVER, rows.AskedRetriever, corpus, retriever, rag, k, rank_mode
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

    async def assertion_kinds(self) -> Rows[rows.AssertionKindsRow]:
        return await self._rows(calls.ASSERTION_KINDS, rows.AssertionKindsRow)

    async def baseline_run(self, rag: str, eval: str, name: str = "main") -> UUID | None:
        value: UUID | None = await self._value(calls.BASELINE_RUN, rag, eval, name)
        return value

    async def begin_move(
        self, corpus: str, destination: str, longest: timedelta | str = "00:00:10"
    ) -> rows.BeginMoveRow:
        return await self._row(calls.BEGIN_MOVE, rows.BeginMoveRow, corpus, destination, longest)

    async def bind_embedder(self, name: str, provider: str, provider_model: str) -> rows.Embedders:
        return await self._row(calls.BIND_EMBEDDER, rows.Embedders, name, provider, provider_model)

    async def bind_reranker(
        self,
        name: str,
        source: str,
        weights_sha256: str,
        max_tokens: int = 512,
        revision: str | None = None,
    ) -> rows.Rerankers:
        return await self._row(
            calls.BIND_RERANKER, rows.Rerankers, name, source, weights_sha256, max_tokens, revision
        )

    async def bind_role(self, role: str, becomes: str | None = None) -> None:
        await self._run(calls.BIND_ROLE, role, becomes)

    async def bind_static(
        self, embedder: str, tokenizer: str, folding: str, digest: str, lexical_weight: float = 0.75
    ) -> rows.Embedders:
        return await self._row(
            calls.BIND_STATIC, rows.Embedders, embedder, tokenizer, folding, digest, lexical_weight
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
    ) -> rows.BuiltSlice:
        return await self._row(
            calls.BUILD_SLICE, rows.BuiltSlice, corpus, anchor, policy, sign, as_of
        )

    async def build_slices(
        self, corpus: str, anchors: Sequence[str], policy: Any = None, sign: bool = True
    ) -> Rows[rows.BuildSlicesRow]:
        return await self._rows(
            calls.BUILD_SLICES, rows.BuildSlicesRow, corpus, anchors, policy, sign
        )

    async def calibrate_gate(self, corpus: str) -> Rows[rows.CalibrateGateRow]:
        return await self._rows(calls.CALIBRATE_GATE, rows.CalibrateGateRow, corpus)

    async def capabilities(self) -> Rows[rows.CapabilitiesRow]:
        return await self._rows(calls.CAPABILITIES, rows.CapabilitiesRow)

    async def capability_schemas(self) -> Rows[rows.CapabilitySchemasRow]:
        return await self._rows(calls.CAPABILITY_SCHEMAS, rows.CapabilitySchemasRow)

    async def challenge_eval(
        self,
        rag: str,
        eval: str | None = None,
        tags: Sequence[str] | None = None,
        rerank_scores: Any = None,
    ) -> Rows[rows.ChallengeEvalRow]:
        return await self._rows(
            calls.CHALLENGE_EVAL, rows.ChallengeEvalRow, rag, eval, tags, rerank_scores
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
    ) -> Rows[rows.CheckCitationsRow]:
        return await self._rows(
            calls.CHECK_CITATIONS,
            rows.CheckCitationsRow,
            output,
            evidence,
            trace_id,
            require_citations,
            require_admissible,
            min_coverage,
            min_quote,
            offsets,
        )

    async def check_corpus(self, corpus: str, deep: bool = True) -> Rows[rows.CheckCorpusRow]:
        return await self._rows(calls.CHECK_CORPUS, rows.CheckCorpusRow, corpus, deep)

    async def check_move(
        self, move_id: UUID | str, after: int = 0, count: int = 1000
    ) -> Rows[rows.CheckMoveRow]:
        return await self._rows(calls.CHECK_MOVE, rows.CheckMoveRow, move_id, after, count)

    async def citation_codes(self) -> Rows[rows.CitationCodesRow]:
        return await self._rows(calls.CITATION_CODES, rows.CitationCodesRow)

    async def claim_embed_jobs(
        self,
        worker: str,
        count: int = 1,
        lease: timedelta | str = "00:02:00",
        only_embedder: str | None = None,
    ) -> Rows[rows.ClaimEmbedJobsRow]:
        return await self._rows(
            calls.CLAIM_EMBED_JOBS, rows.ClaimEmbedJobsRow, worker, count, lease, only_embedder
        )

    async def claim_embeddings(
        self,
        worker: str,
        count: int = 256,
        lease: timedelta | str = "00:01:00",
        only_corpus: str | None = None,
        only_embedder: str | None = None,
        except_embedders: Sequence[str] = "{}",
    ) -> Rows[rows.ClaimEmbeddingsRow]:
        return await self._rows(
            calls.CLAIM_EMBEDDINGS,
            rows.ClaimEmbeddingsRow,
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
    ) -> Rows[rows.ClaimIngestJobsRow]:
        return await self._rows(
            calls.CLAIM_INGEST_JOBS, rows.ClaimIngestJobsRow, worker, count, lease, only_corpus
        )

    async def claim_queries(
        self,
        worker: str,
        count: int = 16,
        lease: timedelta | str = "00:01:00",
        only_embedder: str | None = None,
    ) -> Rows[rows.ClaimQueriesRow]:
        return await self._rows(
            calls.CLAIM_QUERIES, rows.ClaimQueriesRow, worker, count, lease, only_embedder
        )

    async def close_http_session(self, session_hash: bytes) -> None:
        await self._run(calls.CLOSE_HTTP_SESSION, session_hash)

    async def cluster_add_node(self, host: str, port: int = 5432) -> None:
        await self._run(calls.CLUSTER_ADD_NODE, host, port)

    async def cluster_corpora(self) -> Rows[rows.ClusterCorporaRow]:
        return await self._rows(calls.CLUSTER_CORPORA, rows.ClusterCorporaRow)

    async def cluster_init(self, host: str, port: int = 5432) -> int:
        value: int = await self._value(calls.CLUSTER_INIT, host, port)
        return value

    async def cluster_isolate(self, node: int, is_isolated: bool = True) -> None:
        await self._run(calls.CLUSTER_ISOLATE, node, is_isolated)

    async def cluster_place(self, corpus: str, node: int) -> None:
        await self._run(calls.CLUSTER_PLACE, corpus, node)

    async def cluster_remove_node(self, node: int) -> None:
        await self._run(calls.CLUSTER_REMOVE_NODE, node)

    async def cluster_routes(self) -> Rows[rows.ClusterRoutesRow]:
        return await self._rows(calls.CLUSTER_ROUTES, rows.ClusterRoutesRow)

    async def cluster_status(self) -> Rows[rows.ClusterStatusRow]:
        return await self._rows(calls.CLUSTER_STATUS, rows.ClusterStatusRow)

    async def compare_runs(
        self,
        baseline: UUID | str,
        run_id: UUID | str,
        seed: str = "ragdb",
        resamples: int = 10000,
        tolerance: float = 0.01,
    ) -> Rows[rows.CompareRunsRow]:
        return await self._rows(
            calls.COMPARE_RUNS, rows.CompareRunsRow, baseline, run_id, seed, resamples, tolerance
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
    ) -> Rows[rows.CompareSpacesRow]:
        return await self._rows(
            calls.COMPARE_SPACES,
            rows.CompareSpacesRow,
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
    ) -> rows.PutResult:
        return await self._row(calls.COMPLETE_INGEST_JOB, rows.PutResult, job_id, attempt, document)

    async def corpora_with_chunks(self, chunk_ids: Sequence[str]) -> list[str]:
        return await self._values(calls.CORPORA_WITH_CHUNKS, chunk_ids)

    async def corpus_embedder(self, corpus: str) -> rows.Embedders | None:
        return await self._row_if_any(calls.CORPUS_EMBEDDER, rows.Embedders, corpus)

    async def corpus_event_envelopes(self, corpus: str, after: int = 0, count: int = 100) -> Any:
        return await self._value(calls.CORPUS_EVENT_ENVELOPES, corpus, after, count)

    async def corpus_events(
        self, corpus: str, after: int = 0, count: int = 100
    ) -> Rows[rows.CorpusEventsRow]:
        return await self._rows(calls.CORPUS_EVENTS, rows.CorpusEventsRow, corpus, after, count)

    async def corpus_info(self, corpus: str) -> rows.CorpusInfoRow:
        return await self._row(calls.CORPUS_INFO, rows.CorpusInfoRow, corpus)

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
        call, values = choose((calls.COUNT_MATCHES_1, calls.COUNT_MATCHES_2), args, kwargs)
        return await self._row(call, rows.CountMatchesRow, *values)

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
    ) -> rows.Embedders:
        return await self._row(
            calls.CREATE_EMBEDDER,
            rows.Embedders,
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

    async def dead_roles(self) -> Rows[rows.DeadRolesRow]:
        return await self._rows(calls.DEAD_ROLES, rows.DeadRolesRow)

    async def decide_proposal(
        self, corpus: str, proposal_id: UUID | str, decision: str, reason: str | None = None
    ) -> rows.DecideProposalRow:
        return await self._row(
            calls.DECIDE_PROPOSAL, rows.DecideProposalRow, corpus, proposal_id, decision, reason
        )

    async def delete_document(
        self, corpus: str, document: str, derived: str = "redact", reason: str | None = None
    ) -> rows.DeleteDocumentRow:
        return await self._row(
            calls.DELETE_DOCUMENT, rows.DeleteDocumentRow, corpus, document, derived, reason
        )

    async def delete_source(
        self, corpus: str, uri: str, derived: str = "redact", reason: str | None = None
    ) -> rows.DeleteSourceRow:
        return await self._row(
            calls.DELETE_SOURCE, rows.DeleteSourceRow, corpus, uri, derived, reason
        )

    async def delete_sources(
        self, corpus: str, uris: Sequence[str], derived: str = "redact", reason: str | None = None
    ) -> rows.DeleteSourcesRow:
        return await self._row(
            calls.DELETE_SOURCES, rows.DeleteSourcesRow, corpus, uris, derived, reason
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
    ) -> Rows[rows.DiffCorpusRow]:
        return await self._rows(calls.DIFF_CORPUS, rows.DiffCorpusRow, corpus, since, until)

    async def document_chunks(
        self, corpus: str, document: str, first: int = 0, count: int | None = None
    ) -> Rows[rows.Chunk]:
        return await self._rows(calls.DOCUMENT_CHUNKS, rows.Chunk, corpus, document, first, count)

    async def document_text(self, corpus: str, document: str) -> str | None:
        value: str | None = await self._value(calls.DOCUMENT_TEXT, corpus, document)
        return value

    async def document_versions(
        self, corpus: str, document: str, count: int = 20
    ) -> Rows[rows.DocumentVersionsRow]:
        return await self._rows(
            calls.DOCUMENT_VERSIONS, rows.DocumentVersionsRow, corpus, document, count
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

    async def drop_traces_before(self, before: date) -> Rows[rows.DropTracesBeforeRow]:
        return await self._rows(calls.DROP_TRACES_BEFORE, rows.DropTracesBeforeRow, before)

    async def embed(self, text: str, embedder: str | None = None) -> list[float]:
        value: list[float] = await self._value(calls.EMBED, text, embedder)
        return value

    async def embed_corpus(
        self, corpus: str, embedder: str | None = None, m: int = 16, ef_construction: int = 128
    ) -> int | None:
        value: int | None = await self._value(
            calls.EMBED_CORPUS, corpus, embedder, m, ef_construction
        )
        return value

    async def embed_query(
        self, query: str, corpus: str | None = None, timeout_s: float = 30.0
    ) -> None:
        await self._run(calls.EMBED_QUERY, query, corpus, timeout_s)

    async def embed_text(self, request: Any) -> Any:
        return await self._value(calls.EMBED_TEXT, request)

    async def embedding_status(
        self, only_corpus: str | None = None
    ) -> Rows[rows.EmbeddingStatusRow]:
        return await self._rows(calls.EMBEDDING_STATUS, rows.EmbeddingStatusRow, only_corpus)

    async def erase_source(
        self, corpus: str, uri: str, reason: str | None = None
    ) -> rows.EraseSourceRow:
        return await self._row(calls.ERASE_SOURCE, rows.EraseSourceRow, corpus, uri, reason)

    async def error_codes(self) -> Rows[rows.ErrorCodesRow]:
        return await self._rows(calls.ERROR_CODES, rows.ErrorCodesRow)

    async def eval_assert_results(self, run_id: UUID | str) -> Rows[rows.EvalAssertResults]:
        return await self._rows(calls.EVAL_ASSERT_RESULTS, rows.EvalAssertResults, run_id)

    async def eval_candidates(
        self, rag: str, eval: str | None = None, tags: Sequence[str] | None = None
    ) -> Rows[rows.EvalCandidatesRow]:
        return await self._rows(calls.EVAL_CANDIDATES, rows.EvalCandidatesRow, rag, eval, tags)

    async def eval_case_results(self, run_id: UUID | str) -> Rows[rows.EvalCaseResults]:
        return await self._rows(calls.EVAL_CASE_RESULTS, rows.EvalCaseResults, run_id)

    async def eval_metrics(self, run_id: UUID | str) -> Rows[rows.EvalMetrics]:
        return await self._rows(calls.EVAL_METRICS, rows.EvalMetrics, run_id)

    async def eval_queries(
        self, rag: str, eval: str | None = None, tags: Sequence[str] | None = None
    ) -> Rows[rows.EvalQueriesRow]:
        return await self._rows(calls.EVAL_QUERIES, rows.EvalQueriesRow, rag, eval, tags)

    async def eval_report(self, run_id: UUID | str, format: str = "table") -> str:
        value: str = await self._value(calls.EVAL_REPORT, run_id, format)
        return value

    async def evaluate_answer(self, contract: Any, retrieval: Any) -> Any:
        return await self._value(calls.EVALUATE_ANSWER, contract, retrieval)

    async def evaluate_case(self, case: Any, retrieval: Any) -> Rows[rows.EvaluateCaseRow]:
        return await self._rows(calls.EVALUATE_CASE, rows.EvaluateCaseRow, case, retrieval)

    async def event_envelopes(self, after: Any = None, count: int = 100) -> Any:
        return await self._value(calls.EVENT_ENVELOPES, after, count)

    async def events_after(self, after: Any = None, count: int = 100) -> Rows[rows.EventsAfterRow]:
        return await self._rows(calls.EVENTS_AFTER, rows.EventsAfterRow, after, count)

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
    ) -> rows.ExplainMissingRow:
        return await self._row(
            calls.EXPLAIN_MISSING,
            rows.ExplainMissingRow,
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
    ) -> Rows[rows.ExplainScoreRow]:
        return await self._rows(
            calls.EXPLAIN_SCORE,
            rows.ExplainScoreRow,
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
    ) -> Rows[rows.ExplainScoresRow]:
        return await self._rows(
            calls.EXPLAIN_SCORES,
            rows.ExplainScoresRow,
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
    ) -> Rows[rows.ExplainSearchRow]:
        return await self._rows(
            calls.EXPLAIN_SEARCH,
            rows.ExplainSearchRow,
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
    ) -> Rows[rows.ExportDocumentsRow]:
        return await self._rows(
            calls.EXPORT_DOCUMENTS, rows.ExportDocumentsRow, corpus, after, count
        )

    async def export_embeddings(
        self, corpus: str, after: int = 0, count: int = 1000
    ) -> Rows[rows.ExportEmbeddingsRow]:
        return await self._rows(
            calls.EXPORT_EMBEDDINGS, rows.ExportEmbeddingsRow, corpus, after, count
        )

    async def export_signing_keys(self) -> Rows[rows.ExportSigningKeysRow]:
        return await self._rows(calls.EXPORT_SIGNING_KEYS, rows.ExportSigningKeysRow)

    async def export_slice(self, corpus: str, anchor: str, policy: Any = None) -> rows.BuiltSlice:
        return await self._row(calls.EXPORT_SLICE, rows.BuiltSlice, corpus, anchor, policy)

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
        call, values = choose((calls.FACETS_1, calls.FACETS_2), args, kwargs)
        return await self._rows(call, rows.FacetsRow, *values)

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

    async def gate_questions(self, corpus: str) -> Rows[rows.GateQuestionsRow]:
        return await self._rows(calls.GATE_QUESTIONS, rows.GateQuestionsRow, corpus)

    async def get_answer(self, answer_id: UUID | str) -> rows.RecordedAnswer:
        return await self._row(calls.GET_ANSWER, rows.RecordedAnswer, answer_id)

    async def get_blob(self, cid: str) -> rows.Blob:
        return await self._row(calls.GET_BLOB, rows.Blob, cid)

    async def get_children(
        self, corpus: str, chunk_id: str, after: str = "", count: int = 1000
    ) -> Rows[rows.Edge]:
        return await self._rows(calls.GET_CHILDREN, rows.Edge, corpus, chunk_id, after, count)

    async def get_chunk(self, corpus: str, chunk_id: str) -> rows.Chunk:
        return await self._row(calls.GET_CHUNK, rows.Chunk, corpus, chunk_id)

    async def get_document(self, corpus: str, document: str) -> rows.Document:
        return await self._row(calls.GET_DOCUMENT, rows.Document, corpus, document)

    async def get_edges(self, corpus: str, chunk_ids: Sequence[str]) -> Rows[rows.Edge]:
        return await self._rows(calls.GET_EDGES, rows.Edge, corpus, chunk_ids)

    async def get_eval_run(self, run_id: UUID | str) -> rows.EvalRuns:
        return await self._row(calls.GET_EVAL_RUN, rows.EvalRuns, run_id)

    async def get_parents(self, corpus: str, chunk_id: str) -> Rows[rows.Edge]:
        return await self._rows(calls.GET_PARENTS, rows.Edge, corpus, chunk_id)

    async def get_retriever(self, retriever: str) -> rows.RetrieverSettings:
        return await self._row(calls.GET_RETRIEVER, rows.RetrieverSettings, retriever)

    async def get_slice(self, corpus: str, slice_id: str) -> rows.GetSliceRow:
        return await self._row(calls.GET_SLICE, rows.GetSliceRow, corpus, slice_id)

    async def get_source(self, corpus: str, uri: str) -> Rows[rows.GetSourceRow]:
        return await self._rows(calls.GET_SOURCE, rows.GetSourceRow, corpus, uri)

    async def get_trace(self, trace_id: UUID | str) -> rows.RetrievalTraces:
        return await self._row(calls.GET_TRACE, rows.RetrievalTraces, trace_id)

    async def get_turn(self, corpus: str, chunk_id: str) -> rows.GetTurnRow:
        return await self._row(calls.GET_TURN, rows.GetTurnRow, corpus, chunk_id)

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
    ) -> Rows[rows.HighlightChunksRow]:
        return await self._rows(
            calls.HIGHLIGHT_CHUNKS,
            rows.HighlightChunksRow,
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

    async def import_eval(self, rag: str, eval: str, cases: Any) -> rows.ImportEvalRow:
        return await self._row(calls.IMPORT_EVAL, rows.ImportEvalRow, rag, eval, cases)

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

    async def job_state(self, job_id: UUID | str) -> rows.JobStateRow:
        return await self._row(calls.JOB_STATE, rows.JobStateRow, job_id)

    async def job_status(self) -> Rows[rows.JobStatusRow]:
        return await self._rows(calls.JOB_STATUS, rows.JobStatusRow)

    async def keep_history(self, corpus: str, history: timedelta | str) -> rows.KeepHistoryRow:
        return await self._row(calls.KEEP_HISTORY, rows.KeepHistoryRow, corpus, history)

    async def kern_chunk_hash(self, text: str) -> str:
        value: str = await self._value(calls.KERN_CHUNK_HASH, text)
        return value

    async def known_sources(self, corpus: str, uris: Sequence[str]) -> Rows[rows.KnownSourcesRow]:
        return await self._rows(calls.KNOWN_SOURCES, rows.KnownSourcesRow, corpus, uris)

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

    async def ledger_entries(self, first: int = 0, count: int = 1000) -> Rows[rows.LedgerEntry]:
        return await self._rows(calls.LEDGER_ENTRIES, rows.LedgerEntry, first, count)

    async def ledger_entry(self, kind: str, id: str) -> rows.LedgerEntry:
        return await self._row(calls.LEDGER_ENTRY, rows.LedgerEntry, kind, id)

    async def ledger_inclusion_proof(self, number: int, size: int | None = None) -> list[bytes]:
        value: list[bytes] = await self._value(calls.LEDGER_INCLUSION_PROOF, number, size)
        return value

    async def ledger_kinds(self) -> list[str]:
        return await self._values(calls.LEDGER_KINDS)

    async def ledger_root(self, size: int | None = None) -> bytes:
        value: bytes = await self._value(calls.LEDGER_ROOT, size)
        return value

    async def ledger_status(self) -> rows.LedgerStatusRow:
        return await self._row(calls.LEDGER_STATUS, rows.LedgerStatusRow)

    async def ledger_tile(self, level: int, index: int, width: int = 256) -> bytes:
        value: bytes = await self._value(calls.LEDGER_TILE, level, index, width)
        return value

    async def list_access_events(
        self, corpus: str | None = None, since: datetime | None = None, count: int = 100
    ) -> Rows[rows.AccessEvents]:
        return await self._rows(calls.LIST_ACCESS_EVENTS, rows.AccessEvents, corpus, since, count)

    async def list_answers(
        self, corpus: str | None = None, since: datetime | None = None, count: int = 50
    ) -> Rows[rows.RecordedAnswer]:
        return await self._rows(calls.LIST_ANSWERS, rows.RecordedAnswer, corpus, since, count)

    async def list_atoms(self, corpus: str, count: int = 100) -> Rows[rows.ListAtomsRow]:
        return await self._rows(calls.LIST_ATOMS, rows.ListAtomsRow, corpus, count)

    async def list_checkpoints(self, count: int = 100) -> Rows[rows.ListCheckpointsRow]:
        return await self._rows(calls.LIST_CHECKPOINTS, rows.ListCheckpointsRow, count)

    async def list_chunks(
        self,
        corpus: str,
        filter: Any = None,
        chunk_ids: Sequence[str] | None = None,
        after: str = "",
        count: int = 100,
    ) -> Rows[rows.Chunk]:
        return await self._rows(
            calls.LIST_CHUNKS, rows.Chunk, corpus, filter, chunk_ids, after, count
        )

    async def list_citations(self, answer_id: UUID | str) -> Rows[rows.ListCitationsRow]:
        return await self._rows(calls.LIST_CITATIONS, rows.ListCitationsRow, answer_id)

    async def list_conflicts(
        self, corpus: str, only_open: bool = True
    ) -> Rows[rows.ListConflictsRow]:
        return await self._rows(calls.LIST_CONFLICTS, rows.ListConflictsRow, corpus, only_open)

    async def list_contracts(self) -> Rows[rows.ListContractsRow]:
        return await self._rows(calls.LIST_CONTRACTS, rows.ListContractsRow)

    async def list_corpora(self) -> Rows[rows.ListCorporaRow]:
        return await self._rows(calls.LIST_CORPORA, rows.ListCorporaRow)

    async def list_documents(
        self, corpus: str, prefix: str = "", after: str = "", count: int = 100
    ) -> Rows[rows.Document]:
        return await self._rows(calls.LIST_DOCUMENTS, rows.Document, corpus, prefix, after, count)

    async def list_embedders(self) -> Rows[rows.Embedders]:
        return await self._rows(calls.LIST_EMBEDDERS, rows.Embedders)

    async def list_erasures(self, corpus: str, count: int = 100) -> Rows[rows.ListErasuresRow]:
        return await self._rows(calls.LIST_ERASURES, rows.ListErasuresRow, corpus, count)

    async def list_eval_cases(
        self, rag: str, eval: str | None = None
    ) -> Rows[rows.ListEvalCasesRow]:
        return await self._rows(calls.LIST_EVAL_CASES, rows.ListEvalCasesRow, rag, eval)

    async def list_eval_runs(
        self,
        rag: str | None = None,
        eval: str | None = None,
        count: int = 50,
        since: datetime | None = None,
    ) -> Rows[rows.EvalRuns]:
        return await self._rows(calls.LIST_EVAL_RUNS, rows.EvalRuns, rag, eval, count, since)

    async def list_evals(self) -> Rows[rows.ListEvalsRow]:
        return await self._rows(calls.LIST_EVALS, rows.ListEvalsRow)

    async def list_failed_embeddings(self, corpus: str) -> Rows[rows.ListFailedEmbeddingsRow]:
        return await self._rows(calls.LIST_FAILED_EMBEDDINGS, rows.ListFailedEmbeddingsRow, corpus)

    async def list_feedback(
        self, corpus: str | None = None, since: datetime | None = None, count: int = 50
    ) -> Rows[rows.ListFeedbackRow]:
        return await self._rows(calls.LIST_FEEDBACK, rows.ListFeedbackRow, corpus, since, count)

    async def list_gates(
        self, corpus: str | None = None, since: datetime | None = None, count: int = 50
    ) -> Rows[rows.RecordedGate]:
        return await self._rows(calls.LIST_GATES, rows.RecordedGate, corpus, since, count)

    async def list_grants(self, corpus: str) -> Rows[rows.ListGrantsRow]:
        return await self._rows(calls.LIST_GRANTS, rows.ListGrantsRow, corpus)

    async def list_http_tokens(self) -> Rows[rows.ListHttpTokensRow]:
        return await self._rows(calls.LIST_HTTP_TOKENS, rows.ListHttpTokensRow)

    async def list_incidents(self, corpus: str, count: int = 100) -> Rows[rows.ListIncidentsRow]:
        return await self._rows(calls.LIST_INCIDENTS, rows.ListIncidentsRow, corpus, count)

    async def list_key_events(self) -> Rows[rows.KeyEvents]:
        return await self._rows(calls.LIST_KEY_EVENTS, rows.KeyEvents)

    async def list_ledger_acts(self, count: int = 100) -> Rows[rows.LedgerActs]:
        return await self._rows(calls.LIST_LEDGER_ACTS, rows.LedgerActs, count)

    async def list_moves(self, corpus: str | None = None) -> Rows[rows.ListMovesRow]:
        return await self._rows(calls.LIST_MOVES, rows.ListMovesRow, corpus)

    async def list_parts(self, corpus: str) -> Rows[rows.ListPartsRow]:
        return await self._rows(calls.LIST_PARTS, rows.ListPartsRow, corpus)

    async def list_peer_corpora(self, corpus: str | None = None) -> Rows[rows.ListPeerCorporaRow]:
        return await self._rows(calls.LIST_PEER_CORPORA, rows.ListPeerCorporaRow, corpus)

    async def list_peers(self) -> Rows[rows.ListPeersRow]:
        return await self._rows(calls.LIST_PEERS, rows.ListPeersRow)

    async def list_policies(self) -> Rows[rows.ListPoliciesRow]:
        return await self._rows(calls.LIST_POLICIES, rows.ListPoliciesRow)

    async def list_proposals(
        self, corpus: str, state: str | None = None, count: int = 100
    ) -> Rows[rows.ListProposalsRow]:
        return await self._rows(calls.LIST_PROPOSALS, rows.ListProposalsRow, corpus, state, count)

    async def list_quotas(self) -> Rows[rows.ListQuotasRow]:
        return await self._rows(calls.LIST_QUOTAS, rows.ListQuotasRow)

    async def list_rerankers(self) -> Rows[rows.Rerankers]:
        return await self._rows(calls.LIST_RERANKERS, rows.Rerankers)

    async def list_shared_documents(
        self, corpus: str, sources: Sequence[str] | None = None
    ) -> Rows[rows.ListSharedDocumentsRow]:
        return await self._rows(
            calls.LIST_SHARED_DOCUMENTS, rows.ListSharedDocumentsRow, corpus, sources
        )

    async def list_shared_events(
        self, corpus: str, after: int = 0, count: int = 1000
    ) -> Rows[rows.ListSharedEventsRow]:
        return await self._rows(
            calls.LIST_SHARED_EVENTS, rows.ListSharedEventsRow, corpus, after, count
        )

    async def list_signing_keys(self) -> Rows[rows.ListSigningKeysRow]:
        return await self._rows(calls.LIST_SIGNING_KEYS, rows.ListSigningKeysRow)

    async def list_slices(
        self, corpus: str, since: datetime | None = None, count: int = 50, before: str | None = None
    ) -> Rows[rows.ListSlicesRow]:
        return await self._rows(calls.LIST_SLICES, rows.ListSlicesRow, corpus, since, count, before)

    async def list_sources(self) -> Rows[rows.ListSourcesRow]:
        return await self._rows(calls.LIST_SOURCES, rows.ListSourcesRow)

    async def list_static_models(self) -> Rows[rows.ListStaticModelsRow]:
        return await self._rows(calls.LIST_STATIC_MODELS, rows.ListStaticModelsRow)

    async def list_synonyms(self, corpus: str) -> Rows[rows.ListSynonymsRow]:
        return await self._rows(calls.LIST_SYNONYMS, rows.ListSynonymsRow, corpus)

    async def list_text_configs(self) -> Rows[rows.ListTextConfigsRow]:
        return await self._rows(calls.LIST_TEXT_CONFIGS, rows.ListTextConfigsRow)

    async def list_tools(self) -> Rows[rows.ListToolsRow]:
        return await self._rows(calls.LIST_TOOLS, rows.ListToolsRow)

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
        return await self._rows(
            calls.LIST_TRACES,
            rows.RetrievalTraces,
            corpus,
            since,
            count,
            until,
            mode,
            outcome,
            min_elapsed_ms,
            before,
        )

    async def list_turns(self, corpus: str, chunk_ids: Sequence[str]) -> Rows[rows.ListTurnsRow]:
        return await self._rows(calls.LIST_TURNS, rows.ListTurnsRow, corpus, chunk_ids)

    async def list_unanswered(
        self, corpus: str | None = None, since: datetime | None = None, count: int = 50
    ) -> Rows[rows.UnansweredQuestion]:
        return await self._rows(
            calls.LIST_UNANSWERED, rows.UnansweredQuestion, corpus, since, count
        )

    async def list_versions(
        self, corpus: str, before: int | None = None, count: int = 100
    ) -> Rows[rows.ListVersionsRow]:
        return await self._rows(calls.LIST_VERSIONS, rows.ListVersionsRow, corpus, before, count)

    async def locate_quote(
        self, corpus: str, chunk_id: str, quote: str
    ) -> Rows[rows.LocateQuoteRow]:
        return await self._rows(calls.LOCATE_QUOTE, rows.LocateQuoteRow, corpus, chunk_id, quote)

    async def log_position(self) -> str:
        value: str = await self._value(calls.LOG_POSITION)
        return value

    async def maintain(self) -> list[str]:
        return await self._values(calls.MAINTAIN)

    async def map_corpus(
        self, corpus: str, count: int = 2000, query: str | None = None
    ) -> Rows[rows.MapPoint]:
        return await self._rows(calls.MAP_CORPUS, rows.MapPoint, corpus, count, query)

    async def match_documents(
        self,
        query_embedding: Reals | Sequence[float],
        match_threshold: float = 0.0,
        match_count: int = 10,
        filter: Any = None,
        corpus: str | None = None,
    ) -> Rows[rows.MatchDocumentsRow]:
        return await self._rows(
            calls.MATCH_DOCUMENTS,
            rows.MatchDocumentsRow,
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
        asked: str | None = None,
        is_unmet: bool = False,
    ) -> Rows[rows.MergeCandidatesRow]:
        return await self._rows(
            calls.MERGE_CANDIDATES,
            rows.MergeCandidatesRow,
            corpus,
            shares,
            k,
            mode,
            min_score,
            fusion,
            lexical_weight,
            min_lexical,
            min_semantic,
            asked,
            is_unmet,
        )

    async def merge_peer_answers(self, corpus: str, answer: Any, answers: Any, k: int = 5) -> Any:
        return await self._value(calls.MERGE_PEER_ANSWERS, corpus, answer, answers, k)

    async def metrics(self) -> Rows[rows.MetricSample]:
        return await self._rows(calls.METRICS, rows.MetricSample)

    async def move_digest(self, move_id: UUID | str) -> Any:
        return await self._value(calls.MOVE_DIGEST, move_id)

    async def move_originals(
        self, move_id: UUID | str, after: str = "", count: int = 1000
    ) -> list[str]:
        return await self._values(calls.MOVE_ORIGINALS, move_id, after, count)

    async def move_page(
        self, move_id: UUID | str, applied: int | None = None, count: int = 1000
    ) -> Rows[rows.MovePageRow]:
        return await self._rows(calls.MOVE_PAGE, rows.MovePageRow, move_id, applied, count)

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
    ) -> rows.OptimizeCorpusRow:
        return await self._row(calls.OPTIMIZE_CORPUS, rows.OptimizeCorpusRow, corpus, new_pivot)

    async def origin(self) -> rows.OriginRow:
        return await self._row(calls.ORIGIN, rows.OriginRow)

    async def parse_contract(self, contract: str, contract_name: str = "contract") -> Any:
        return await self._value(calls.PARSE_CONTRACT, contract, contract_name)

    async def part_statistics(
        self, corpus: str, parts: Sequence[str] = "{}"
    ) -> Rows[rows.PartStatisticsRow]:
        return await self._rows(calls.PART_STATISTICS, rows.PartStatisticsRow, corpus, parts)

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
    ) -> rows.PromoteToAtomRow:
        return await self._row(
            calls.PROMOTE_TO_ATOM, rows.PromoteToAtomRow, trace_id, chunk_ids, text, sufficiency
        )

    async def propose(self, corpus: str, atom_ids: Sequence[UUID], text: str) -> rows.ProposeRow:
        return await self._row(calls.PROPOSE, rows.ProposeRow, corpus, atom_ids, text)

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
        dry_run: bool = False,
    ) -> rows.PruneSourcesRow:
        return await self._row(
            calls.PRUNE_SOURCES,
            rows.PruneSourcesRow,
            corpus,
            prefix,
            keep,
            root,
            derived,
            reason,
            dry_run,
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
    ) -> Rows[rows.PutResult]:
        return await self._rows(
            calls.PUT_CONVERSATIONS, rows.PutResult, corpus, conversations, force
        )

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
    ) -> rows.PutResult:
        return await self._row(
            calls.PUT_DOCUMENT,
            rows.PutResult,
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
    ) -> Rows[rows.PutResult]:
        return await self._rows(calls.PUT_DOCUMENTS, rows.PutResult, corpus, documents, force)

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
    ) -> rows.PutResult:
        return await self._row(
            calls.PUT_TEXT,
            rows.PutResult,
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
    ) -> Rows[rows.PutTextsRow]:
        return await self._rows(
            calls.PUT_TEXTS,
            rows.PutTextsRow,
            corpus,
            texts,
            metadatas,
            ids,
            cut,
            embedder,
            embeddings,
        )

    async def query_embedder(
        self, corpora: Sequence[str], mode: str | None = None
    ) -> rows.Embedders | None:
        return await self._row_if_any(calls.QUERY_EMBEDDER, rows.Embedders, corpora, mode)

    async def query_embedding_state(
        self, corpus: str, query: str
    ) -> Rows[rows.QueryEmbeddingStateRow]:
        return await self._rows(
            calls.QUERY_EMBEDDING_STATE, rows.QueryEmbeddingStateRow, corpus, query
        )

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
    ) -> Rows[rows.RecordAnswerRow]:
        return await self._rows(
            calls.RECORD_ANSWER,
            rows.RecordAnswerRow,
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
    ) -> Rows[rows.RetrievalReranks]:
        return await self._rows(
            calls.RECORD_RERANK, rows.RetrievalReranks, trace_id, model, chunk_ids, scores, k
        )

    async def reembed_corpus(
        self, corpus: str, embedder: str, m: int = 16, ef_construction: int = 128
    ) -> int:
        value: int = await self._value(calls.REEMBED_CORPUS, corpus, embedder, m, ef_construction)
        return value

    async def refresh_rollups(self, recount: bool = False) -> int:
        value: int = await self._value(calls.REFRESH_ROLLUPS, recount)
        return value

    async def register_policy(self, policy: Any) -> rows.RegisterPolicyRow:
        return await self._row(calls.REGISTER_POLICY, rows.RegisterPolicyRow, policy)

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

    async def replay(self, trace_id: UUID | str) -> rows.ReplayRow:
        return await self._row(calls.REPLAY, rows.ReplayRow, trace_id)

    async def replay_cited(
        self, corpus: str, slice_id: str, query_hash: str, policy_hash: str
    ) -> rows.ReplayCitedRow:
        return await self._row(
            calls.REPLAY_CITED, rows.ReplayCitedRow, corpus, slice_id, query_hash, policy_hash
        )

    async def replay_hits(self, trace_id: UUID | str) -> Rows[rows.ReplayHitsRow]:
        return await self._rows(calls.REPLAY_HITS, rows.ReplayHitsRow, trace_id)

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
    ) -> Rows[rows.ResolveAnchorRow]:
        return await self._rows(
            calls.RESOLVE_ANCHOR,
            rows.ResolveAnchorRow,
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
    ) -> Rows[rows.ResolveTemporalRow]:
        return await self._rows(
            calls.RESOLVE_TEMPORAL, rows.ResolveTemporalRow, corpus, count, project
        )

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
    ) -> Recorded[rows.TracedHit]:
        return await self._recorded(
            calls.RETRIEVE,
            rows.TracedHit,
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
    ) -> Recorded[rows.TurnHit]:
        return await self._recorded(
            calls.RETRIEVE_GLOBAL,
            rows.TurnHit,
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
    ) -> Recorded[rows.TurnHit]:
        return await self._recorded(
            calls.RETRIEVE_SLICE,
            rows.TurnHit,
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
    ) -> Recorded[rows.TracedHit]:
        return await self._recorded(
            calls.RETRIEVE_WITH,
            rows.TracedHit,
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
    ) -> rows.EvalRuns:
        return await self._row(calls.RUN_EVAL, rows.EvalRuns, rag, eval, tags, label, rerank_scores)

    async def seal_ledger(self, most: int = 100000) -> rows.SealLedgerRow:
        return await self._row(calls.SEAL_LEDGER, rows.SealLedgerRow, most)

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
        call, values = choose((calls.SEARCH_1, calls.SEARCH_2), args, kwargs)
        return await self._rows(call, rows.Hit, *values)

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
        return await self._rows(
            calls.SEARCH_CANDIDATES,
            rows.Hit,
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
    ) -> Rows[rows.DocumentHit]:
        return await self._rows(
            calls.SEARCH_DOCUMENTS,
            rows.DocumentHit,
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
    ) -> Rows[rows.SearchDualRow]:
        return await self._rows(
            calls.SEARCH_DUAL,
            rows.SearchDualRow,
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
    ) -> Rows[rows.TurnHit]:
        return await self._rows(
            calls.SEARCH_GLOBAL,
            rows.TurnHit,
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
    ) -> Rows[rows.TurnHit]:
        return await self._rows(
            calls.SEARCH_SLICE,
            rows.TurnHit,
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
    ) -> Rows[rows.Hit]:
        return await self._rows(
            calls.SEARCH_WITH,
            rows.Hit,
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

    async def shared_feed(self, corpus: str) -> rows.SharedFeedRow:
        return await self._row(calls.SHARED_FEED, rows.SharedFeedRow, corpus)

    async def similar(
        self,
        corpus: str,
        chunk_id: str,
        k: int = 10,
        min_score: float = 0.0,
        filter: Any = None,
        mode: str | None = None,
    ) -> Rows[rows.Hit]:
        return await self._rows(
            calls.SIMILAR, rows.Hit, corpus, chunk_id, k, min_score, filter, mode
        )

    async def slice_graph(
        self,
        corpus: str,
        slice_id: str | None = None,
        anchor: str | None = None,
        policy: Any = None,
        refused: int = 100,
    ) -> Rows[rows.SliceGraphRow]:
        return await self._rows(
            calls.SLICE_GRAPH, rows.SliceGraphRow, corpus, slice_id, anchor, policy, refused
        )

    async def slice_members(self, corpus: str, slice_id: str) -> Rows[rows.SliceMembersRow]:
        return await self._rows(calls.SLICE_MEMBERS, rows.SliceMembersRow, corpus, slice_id)

    async def space_questions(self, corpus: str, count: int = 200) -> Rows[rows.SpaceQuestionsRow]:
        return await self._rows(calls.SPACE_QUESTIONS, rows.SpaceQuestionsRow, corpus, count)

    async def store_checkpoint(self, note: str) -> int:
        value: int = await self._value(calls.STORE_CHECKPOINT, note)
        return value

    async def sync_statistics(self, corpus: str) -> rows.SyncStatisticsRow:
        return await self._row(calls.SYNC_STATISTICS, rows.SyncStatisticsRow, corpus)

    async def tool_candidates(
        self,
        tool: str,
        arguments: Any = None,
        query_embedding: Reals | Sequence[float] | None = None,
    ) -> Rows[rows.ToolCandidatesRow]:
        return await self._rows(
            calls.TOOL_CANDIDATES, rows.ToolCandidatesRow, tool, arguments, query_embedding
        )

    async def trace_hits(self, trace_id: UUID | str) -> Rows[rows.RetrievalHits]:
        return await self._rows(calls.TRACE_HITS, rows.RetrievalHits, trace_id)

    async def trace_reranks(self, trace_id: UUID | str) -> Rows[rows.RetrievalReranks]:
        return await self._rows(calls.TRACE_RERANKS, rows.RetrievalReranks, trace_id)

    async def trace_stages(self, trace_id: UUID | str) -> Rows[rows.TraceStagesRow]:
        return await self._rows(calls.TRACE_STAGES, rows.TraceStagesRow, trace_id)

    async def traffic(
        self, since: datetime, until: datetime | None = None, corpus: str | None = None
    ) -> Rows[rows.TrafficRow]:
        return await self._rows(calls.TRAFFIC, rows.TrafficRow, since, until, corpus)

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
    async def validate_contract(self, contract: Any) -> Rows[rows.ValidateContractRow]: ...
    @overload
    async def validate_contract(
        self, contract: str, contract_name: str = "contract"
    ) -> Rows[rows.ValidateContractRow]: ...
    async def validate_contract(self, *args: Any, **kwargs: Any) -> Rows[rows.ValidateContractRow]:
        call, values = choose((calls.VALIDATE_CONTRACT_1, calls.VALIDATE_CONTRACT_2), args, kwargs)
        return await self._rows(call, rows.ValidateContractRow, *values)

    async def validate_query_plan(self, plan: Any) -> list[str]:
        value: list[str] = await self._value(calls.VALIDATE_QUERY_PLAN, plan)
        return value

    async def verification_checks(self) -> Rows[rows.VerificationChecksRow]:
        return await self._rows(calls.VERIFICATION_CHECKS, rows.VerificationChecksRow)

    async def verify(
        self, quick: bool = False, checks: Sequence[str] | None = None
    ) -> Rows[rows.Finding]:
        return await self._rows(calls.VERIFY, rows.Finding, quick, checks)

    async def verify_atom(self, atom_id: UUID | str) -> Rows[rows.VerifyAtomRow]:
        return await self._rows(calls.VERIFY_ATOM, rows.VerifyAtomRow, atom_id)

    async def verify_ledger(
        self, from_number: int = 0, most: int | None = None, late: timedelta | str = "1 day"
    ) -> Rows[rows.VerifyLedgerRow]:
        return await self._rows(calls.VERIFY_LEDGER, rows.VerifyLedgerRow, from_number, most, late)

    async def verify_step(
        self,
        state: Any = None,
        most: int = 4000,
        quick: bool = False,
        checks: Sequence[str] | None = None,
    ) -> rows.VerifyStepRow:
        return await self._row(calls.VERIFY_STEP, rows.VerifyStepRow, state, most, quick, checks)

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
        return await self._row(
            calls.VERIFY_TOKEN,
            rows.VerifyTokenRow,
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

    async def verify_trace(self, trace_id: UUID | str) -> Rows[rows.VerifyTraceRow]:
        return await self._rows(calls.VERIFY_TRACE, rows.VerifyTraceRow, trace_id)

    async def version_at(self, corpus: str, at: datetime) -> int:
        value: int = await self._value(calls.VERSION_AT, corpus, at)
        return value

    async def why_not(self, trace_id: UUID | str, chunk_id: str) -> rows.WhyNotRow:
        return await self._row(calls.WHY_NOT, rows.WhyNotRow, trace_id, chunk_id)

    async def withdraw_contract(self, contract: str) -> None:
        await self._run(calls.WITHDRAW_CONTRACT, contract)

    async def write_contract(self, contract: Any) -> str:
        value: str = await self._value(calls.WRITE_CONTRACT, contract)
        return value

    async def xxh64(self, data: bytes) -> str:
        value: str = await self._value(calls.XXH64, data)
        return value
