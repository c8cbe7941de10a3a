"""Ids as people write them: whole, or the beginning that a list shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragdb.cli.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from ragdb.database import Database

SHOWN = 13
"""Characters of an id that a list shows at least: its time to the millisecond."""


def trace_id(db: Database, text: str) -> UUID:
    """The trace that begins so. Raises InvalidArgument, TraceNotFound."""
    return whole(text) or db.find_trace(text)


def run_id(db: Database, text: str) -> UUID:
    """The run of an eval that begins so. Raises InvalidArgument, RunNotFound."""
    return whole(text) or db.find_run(text)


def slice_id(db: Database, corpus: str, text: str) -> str:
    """The stored slice that begins so; what begins none, for the database to refuse.

    Raises InvalidArgument where two begin so, CorpusNotFound.
    """
    from ragdb.errors import SliceNotFound

    try:
        return str(db.find_slice(corpus, text))
    except SliceNotFound:
        return text


def chunk_id(db: Database, corpus: str, text: str) -> str:
    """The chunk of that id, or whose id begins so; what begins none, for the database to refuse.

    Raises InvalidArgument where two begin so, CorpusNotFound.
    """
    from ragdb.errors import ChunkNotFound

    try:
        return str(db.find_chunk(corpus, text))
    except ChunkNotFound:
        return text


def policy(db: Database, text: str) -> dict[str, str]:
    """The policy of a reference: its id, and after an @ its hash or how that begins."""
    policy_id, _, begins = text.partition("@")
    found = {
        row.params_hash
        for row in db.list_policies()
        if row.policy_id == policy_id and row.params_hash.startswith(begins)
    }
    # what names none, or several, the database refuses in its own words
    return {"policy_id": policy_id, "params_hash": found.pop() if len(found) == 1 else begins}


def whole(text: str) -> UUID | None:
    """The id that a text is all of; None where it is not."""
    from uuid import UUID

    try:
        return UUID(text)
    except ValueError:
        return None


def shortened(ids: Sequence[UUID | str]) -> Callable[[UUID | str], str]:
    """How to write each of some ids so that it differs from the others."""
    texts = {str(id) for id in ids}
    size = next(
        n for n in (SHOWN, 18, 23, 28, 36) if n == 36 or len({t[:n] for t in texts}) == len(texts)
    )
    return lambda id: clean(str(id)[:size])
