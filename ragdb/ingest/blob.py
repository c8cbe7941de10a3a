"""Reads a blob that waits to be ingested: one document, or one conversation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import psycopg

from ragdb.client._generated.rows import ClaimIngestJobsRow
from ragdb.errors import AlreadyExists, RagdbError
from ragdb.ingest.languages import beginning, told
from ragdb.ingest.payload import to_conversation, to_payload
from ragdb.readers import read as readers

if TYPE_CHECKING:
    from ragdb.client._generated.functions import Functions

# what is at fault with a blob, or with the document that it is
UNFIT = (readers.ReadError, RagdbError, psycopg.DataError, psycopg.errors.ProgramLimitExceeded)


def read(db: Functions, job: ClaimIngestJobsRow) -> dict[str, Any]:
    """What `ragdb.complete_ingest_job` takes. Raises ReadError, for several documents too."""
    found = readers.read(
        job.bytes,
        job.doc_cid,
        job.media_type,
        title=job.title,
        language=job.language,
        metadata=job.metadata,
    )
    # a conversation in which nothing is said is none
    found = [one for one in found if one.fault or not one.is_empty] or found
    if len(found) > 1:
        raise readers.ReadError(
            "records",
            f"it holds {len(found)} conversations, and one blob is one document",
            "ragdb ingest reads them; or put each as a blob of its own",
        )
    # the blob is the document, whatever a file would call this part of it
    document = replace(found[0], data=job.bytes, fragment=None)
    if document.fault is not None:
        raise document.fault
    if document.language is None:
        document = replace(document, language=told(db, [beginning(document)]).get(0))
    if document.messages is not None:
        return to_conversation(document, job.source)
    return to_payload(document, job.source, max_tokens=job.max_tokens, overlap=job.overlap)


def fault(error: readers.ReadError | psycopg.Error) -> tuple[str, str | None, str]:
    """What to say of a blob that is unfit, what to do about it, and the wire word for that."""
    if isinstance(error, readers.ReadError):
        return error.reason, error.hint, "bad_request"
    word = "conflict" if isinstance(error, AlreadyExists) else "bad_request"
    return error.diag.message_primary or str(error), error.diag.message_hint, word
