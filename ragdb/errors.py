"""Errors of ragdb. Generated from ragdb.error_codes() by `make client`. Do not edit.

psycopg raises these classes itself, by SQLSTATE: `error.diag` carries message, detail and hint as
the server sent them, and `except psycopg.DatabaseError` catches them too.
"""

from __future__ import annotations

import psycopg


class RagdbError(psycopg.DatabaseError, code="RG000"):
    """Base of every error that ragdb raises."""

    exit_code = 2
    """How the command line ends: 2, what was asked is wrong; 3, the database or a right is."""

    def __str__(self) -> str:
        """What the database says. Where in its functions it says so helps nobody outside."""
        if (message := self.diag.message_primary) is None:
            return super().__str__()
        more = (("DETAIL", self.diag.message_detail), ("HINT", self.diag.message_hint))
        return "\n".join([message, *(f"{name}:  {text}" for name, text in more if text)])


class InvalidArgument(RagdbError, code="RG400"):
    """An argument is null, of the wrong form or out of range."""


class NotAuthorized(RagdbError, code="RG401"):
    """The caller's role lacks the right to the corpus."""

    exit_code = 3


class CorpusNotFound(RagdbError, code="RG404"):
    """No corpus of that name is visible to the caller."""


class DocumentNotFound(RagdbError, code="RG405"):
    """The corpus has no such document or source."""


class ChunkNotFound(RagdbError, code="RG406"):
    """The corpus has no such chunk."""


class TraceNotFound(RagdbError, code="RG407"):
    """No trace of that id is visible to the caller."""


class BlobNotFound(RagdbError, code="RG408"):
    """No blob of that cid is visible to the caller."""


class AlreadyExists(RagdbError, code="RG409"):
    """Something of that name exists already, or what is there does not allow it."""


class InvalidFilter(RagdbError, code="RG410"):
    """A filter has an unknown operator or a value of the wrong type."""


class InvalidName(RagdbError, code="RG411"):
    """A corpus name is not 1 to 64 of a-z, 0-9 and -."""


class InvalidDocument(RagdbError, code="RG412"):
    """A document, a conversation or an edge is incomplete or contradicts itself."""


class TooLarge(RagdbError, code="RG413"):
    """A value is over the limit that the hint names."""


class AppendOnly(RagdbError, code="RG414"):
    """Rows of this table may not be changed or removed."""


class ModeNotAvailable(RagdbError, code="RG415"):
    """The corpus cannot be searched in the mode asked for."""


class EmbedderNotFound(RagdbError, code="RG416"):
    """No embedder of that name is known, or it is bound to no provider."""


class EmbedderMismatch(RagdbError, code="RG417"):
    """A model, its weights or its dimensions are not those that the corpus is embedded by."""

    exit_code = 3


class InvalidEmbedding(RagdbError, code="RG418"):
    """An embedding has another width than its space, or is zero or not finite."""


class InTransaction(RagdbError, code="RG419"):
    """A procedure that commits was called inside a transaction block."""


class NoAnswer(RagdbError, code="RG420"):
    """No worker answered in time."""


class RerankerNotFound(RagdbError, code="RG421"):
    """No reranker of that name is known, or what runs it is not installed."""


class RerankerMismatch(RagdbError, code="RG422"):
    """The weights of a reranker are not those that it was bound with, or are not of a reranker."""

    exit_code = 3


class InvalidRerank(RagdbError, code="RG423"):
    """A reranker gave a score that is not finite, or not one for each hit of a trace."""


class AmbiguousDocument(RagdbError, code="RG425"):
    """Several documents have the bytes or the external id by which one was asked for."""


class InvalidPolicy(RagdbError, code="RG430"):
    """A slice policy has an unknown field or a value out of range."""


class PolicyNotFound(RagdbError, code="RG431"):
    """No slice policy of that reference is registered."""


class SigningKeyNotFound(RagdbError, code="RG432"):
    """There is no signing key of that id."""


class NoSigningKey(RagdbError, code="RG433"):
    """No key can sign: none is active, its secret is not at hand, or the clock is behind it."""


class AnchorNotFound(RagdbError, code="RG434"):
    """The chunk to build a slice around is not in the corpus."""


class SliceNotFound(RagdbError, code="RG435"):
    """No slice of that id is stored."""


class NotAdmissible(RagdbError, code="RG436"):
    """Something claimed to be admissible that is not."""


class VersionNotKept(RagdbError, code="RG437"):
    """A corpus does not keep its history, or not the version asked for."""


class MadeOfParts(RagdbError, code="RG438"):
    """A corpus is made of parts, and what is asked for is done with one of them."""


class StatisticsDiffer(RagdbError, code="RG439"):
    """Servers that have parts of one corpus rank by different statistics."""


class InvalidContract(RagdbError, code="RG440"):
    """A contract breaks a rule of ragdb.validate_contract."""


class ContractNotFound(RagdbError, code="RG441"):
    """No applied contract, or retriever, rag or eval of one, has that name and is visible to the
    caller.
    """


class InvalidEvaluation(RagdbError, code="RG442"):
    """Cases, labels or spans given to an evaluation are incomplete or contradict each other."""


class RunNotFound(RagdbError, code="RG443"):
    """No evaluation run or baseline of that name is visible to the caller."""


class RunFailed(RagdbError, code="RG444"):
    """An evaluation run did not pass and was asserted to."""


class EvidenceMissing(RagdbError, code="RG445"):
    """A tool requires evidence, or a citation of every chunk, and what it found has none."""


class CapacityExceeded(RagdbError, code="RG450"):
    """A capability has as many calls of the caller at work as it may."""


class RateLimited(RagdbError, code="RG451"):
    """A role has as many jobs waiting for workers as it may."""


class UnreadableBlob(RagdbError, code="RG452"):
    """A blob is of a type that no reader knows."""


class JobNotFound(RagdbError, code="RG453"):
    """No job of that id waits, or it is another worker's by now."""


class TokenNotFound(RagdbError, code="RG454"):
    """There is no bearer token of that name."""


class InvalidImport(RagdbError, code="RG455"):
    """What is imported is not an export of a corpus, or not all that its header says."""


class CorpusMoved(RagdbError, code="RG456"):
    """A corpus has moved to another database, which the detail names."""


class MoveFailed(RagdbError, code="RG457"):
    """A corpus cannot move as it is, or what arrived is not what left."""


class MoveDelayed(RagdbError, code="RG458"):
    """The writers of a moving corpus could not be held, or were held for as long as they may."""


class NotRouted(RagdbError, code="RG459"):
    """A router of several databases does not do what is asked, or is not set up."""


class InvalidEvidence(RagdbError, code="RG460"):
    """Evidence is not a pack, or an output is not an object."""


class QuotaExceeded(RagdbError, code="RG470"):
    """A role has as many bytes, chunks, failures or calls at once as its quota allows."""


class ReadNotRecorded(RagdbError, code="RG471"):
    """Reads of a corpus must be recorded, and the transaction cannot write."""


class LedgerEntryNotFound(RagdbError, code="RG480"):
    """The ledger has no such entry or tile."""


class CheckpointMismatch(RagdbError, code="RG481"):
    """A checkpoint is not of this ledger, or its ledger is named already."""


class LedgerDamaged(RagdbError, code="RG482"):
    """Hashes of the ledger are missing."""


class PeerNotFound(RagdbError, code="RG490"):
    """No peer has that name."""


class NotShared(RagdbError, code="RG491"):
    """The corpus is not shared with peers."""


class EventRefused(RagdbError, code="RG492"):
    """An event of a peer is not what its author signed next, or its author is not trusted."""


class NotPublished(RagdbError, code="RG493"):
    """A source that a peer changed was changed here too, and that is not published."""
