"""Rows. Generated from sql/ by `make client`. Do not edit."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragdb.client._generated.rows.bi import *  # noqa: F403
    from ragdb.client._generated.rows.cluster import *  # noqa: F403
    from ragdb.client._generated.rows.contracts import *  # noqa: F403
    from ragdb.client._generated.rows.core import *  # noqa: F403
    from ragdb.client._generated.rows.corpora import *  # noqa: F403
    from ragdb.client._generated.rows.documents import *  # noqa: F403
    from ragdb.client._generated.rows.embedding import *  # noqa: F403
    from ragdb.client._generated.rows.erasure import *  # noqa: F403
    from ragdb.client._generated.rows.evaluation import *  # noqa: F403
    from ragdb.client._generated.rows.evidence import *  # noqa: F403
    from ragdb.client._generated.rows.graph import *  # noqa: F403
    from ragdb.client._generated.rows.history import *  # noqa: F403
    from ragdb.client._generated.rows.ledger import *  # noqa: F403
    from ragdb.client._generated.rows.lexical import *  # noqa: F403
    from ragdb.client._generated.rows.peers import *  # noqa: F403
    from ragdb.client._generated.rows.policies import *  # noqa: F403
    from ragdb.client._generated.rows.portable import *  # noqa: F403
    from ragdb.client._generated.rows.promotion import *  # noqa: F403
    from ragdb.client._generated.rows.removal import *  # noqa: F403
    from ragdb.client._generated.rows.search import *  # noqa: F403
    from ragdb.client._generated.rows.slices import *  # noqa: F403
    from ragdb.client._generated.rows.static import *  # noqa: F403
    from ragdb.client._generated.rows.text import *  # noqa: F403
    from ragdb.client._generated.rows.traces import *  # noqa: F403
    from ragdb.client._generated.rows.vectors import *  # noqa: F403
    from ragdb.client._generated.rows.verify import *  # noqa: F403
    from ragdb.client._generated.rows.wire import *  # noqa: F403

ROOMS = {
    name: room
    for room, names in {
        "bi": "MetricSample TrafficRow ",
        "cluster": "ClusterCorporaRow ClusterRoutesRow ClusterStatusRow ",
        "contracts": "ApplyContractRow AssertionKindsRow ListContractsRow ListSourcesRow "
        "ListToolsRow RetrieverSettings ToolCandidatesRow ValidateContractRow ",
        "core": "DeadRolesRow ErrorCodesRow ExportSigningKeysRow KeyEvents ListGrantsRow "
        "ListSigningKeysRow OriginRow ",
        "corpora": "AccessEvents CorpusInfoRow CountCorporaRow ListCorporaRow ListPartsRow "
        "ListQuotasRow ListSynonymsRow PartStatisticsRow PutTextsRow ",
        "documents": "Blob CheckCorpusRow Chunk CorpusEventsRow Document DocumentVersionsRow "
        "EventsAfterRow GetSourceRow KnownSourcesRow ListBlobsRow "
        "UnchangedSourcesRow ",
        "embedding": "ClaimEmbeddingsRow ClaimQueriesRow EmbeddingStatusRow "
        "ListFailedEmbeddingsRow OptimizeCorpusRow QueryEmbeddingStateRow ",
        "erasure": "ListErasuresRow ",
        "evaluation": "ChallengeEvalRow CompareRunsRow CompareSpacesRow DropEvalRunsBeforeRow "
        "EvalAssertResults EvalCandidatesRow EvalCaseResults EvalMetrics "
        "EvalQueriesRow EvalRuns EvaluateCaseRow ImportEvalRow ListEvalCasesRow "
        "ListEvalsRow SpaceQuestionsRow UnansweredQuestion ",
        "evidence": "AskedAnswer AskedRetriever CheckCitationsRow CitationCodesRow "
        "EvidenceProvenanceRow ListCitationsRow ListFeedbackRow LocateQuoteRow "
        "RecordAnswerRow RecordedAnswer RecordedGate TraceStagesRow ",
        "graph": "AppendTurnsRow Edge GetTurnRow ListTurnsRow ResolveTemporalRow ",
        "history": "DiffCorpusRow EraseSourceRow KeepHistoryRow ListVersionsRow ",
        "ledger": "LedgerActs LedgerEntry LedgerStatusRow ListCheckpointsRow SealLedgerRow "
        "VerifyLedgerRow ",
        "lexical": "SyncStatisticsRow ",
        "peers": "ApplyEventsRow ListConflictsRow ListPeerCorporaRow ListPeersRow "
        "ListSharedDocumentsRow ListSharedEventsRow SharedFeedRow ",
        "policies": "ListPoliciesRow RegisterPolicyRow ",
        "portable": "BeginMoveRow CheckMoveRow EraseSpeakerRow ExportDocumentsRow "
        "ExportEmbeddingsRow ListMovesRow MovePageRow ",
        "promotion": "DecideProposalRow ListAtomsRow ListIncidentsRow ListProposalsRow "
        "PromoteToAtomRow ProposeRow SearchDualRow VerifyAtomRow ",
        "removal": "DeleteDocumentRow DeleteSourceRow DeleteSourcesRow PruneSourcesRow ",
        "search": "CalibrateGateRow CountMatchesRow DocumentHit ExplainMissingRow "
        "ExplainScoreRow ExplainScoresRow ExplainSearchRow FacetsRow "
        "GateQuestionsRow HighlightChunksRow Hit MapPoint MatchDocumentsRow "
        "MergeCandidatesRow ",
        "slices": "BuildSlicesRow BuiltSlice GetSliceRow ListSlicesRow ReplayCitedRow "
        "ReplayHitsRow ReplayRow ResolveAnchorRow SliceGraphRow SliceMembersRow "
        "VerifyTokenRow WhyNotRow ",
        "static": "ListStaticModelsRow ",
        "text": "GuessLanguagesRow ListTextConfigsRow ",
        "traces": "DropKeptQueriesBeforeRow DropTracesBeforeRow EraseCallerRow "
        "EraseTracesRow Rerankers RetrievalHits RetrievalReranks RetrievalTraces "
        "TracedHit VerifyTraceRow ",
        "vectors": "Embedders ",
        "verify": "Advice Finding VerificationChecksRow VerifyStepRow ",
        "wire": "CapabilitiesRow CapabilitySchemasRow ClaimEmbedJobsRow "
        "ClaimIngestJobsRow JobStateRow JobStatusRow ListHttpTokensRow PutResult "
        "TurnHit ",
    }.items()
    for name in names.split()
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        # to make all these classes takes as long as to import psycopg; a program needs a few
        if name not in ROOMS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        row = getattr(import_module(f"{__name__}.{ROOMS[name]}"), name)
        globals()[name] = row
        return row
