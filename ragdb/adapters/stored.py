"""What the vector stores of other libraries share: texts that are put, read and deleted by id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragdb.client.client import Client
from ragdb.errors import EmbedderMismatch

if TYPE_CHECKING:
    from ragdb.client._generated.rows import Chunk, Hit
    from ragdb.database import Database

PAGE = 1000
ROOT = "texts"
"""Where the sources of texts that were put by id come from (`ragdb.put_texts`)."""
FIELDS = (
    "source",
    "language",
    "title",
    "page",
    "doc_cid",
    "media_type",
    "uri",
    "role",
    "speaker",
    "session",
    "said_at",
)
"""The fields of a filter that are ragdb's own (docs/guide.md)."""
OURS = "ragdb."
"""What stands before one of them in the filter of a vector store."""


def checked(db: Database) -> Database:
    """The database of a store. Raises TypeError for what is none, such as a DSN."""
    if not isinstance(db, Client):
        raise TypeError(
            f"a store takes what ragdb.connect() returns, not a {type(db).__name__};"
            " its asynchronous methods call it in a thread"
        )
    return db


def metadata(row: Chunk | Hit) -> dict[str, Any]:
    """The metadata of a text as it was put; of any other chunk also where it stands."""
    if row.source == row.chunk_id:
        return dict(row.metadata)
    place = {"source": row.source, "title": row.title, "heading": row.heading, "page": row.page}
    return {**row.metadata, **{name: value for name, value in place.items() if value}}


def filter_of(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A filter of ragdb whose fields are keys of the metadata, unless `ragdb.` stands before.

    Raises TypeError for what is no mapping, such as the function that other stores take.
    """
    if not given:
        return None
    if not isinstance(given, Mapping):
        raise TypeError(
            f"the filter is a {type(given).__name__}, not a mapping such as"
            ' {"year": {"gte": 2025}}'
        )
    return {field_of(name): value for name, value in given.items()}


def field_of(name: str) -> str:
    """What ragdb calls the key of a store's filter."""
    if name.startswith(OURS):
        return name.removeprefix(OURS)
    return f"metadata.{name}" if name in FIELDS else name


def ensure_embedder(db: Database, name: str, dims: int) -> None:
    """Make the embedder of a model that runs elsewhere, where there is none of its name.

    Raises AlreadyExists where one of another width has the name, NotAuthorized.
    """
    known = {row.name: row.dims for row in db.list_embedders()}
    if known.get(name) != dims:
        db.create_embedder(name, dims)


def state(db: Database, corpus: str, embedder: str | None) -> str:
    """Whether a corpus has vectors of an embedder: 'ready'; 'none'; 'empty' has nothing at all.

    Raises EmbedderMismatch where its vectors are another's, CorpusNotFound.
    """
    current = db.corpus_embedder(corpus)
    if current is None:
        return "none"
    if current.name == embedder:
        return "ready"
    if db.corpus_info(corpus).chunks == 0:
        return "empty"
    raise EmbedderMismatch(
        f"corpus {corpus!r} is embedded by {current.name!r}, not by {embedder!r}: open the store"
        " without an embedding model of its own, or use another corpus"
    )


def chunks(
    db: Database,
    corpus: str,
    filter: Mapping[str, Any] | None = None,
    chunk_ids: Sequence[str] | None = None,
) -> Iterator[Chunk]:
    """The chunks that a filter of ragdb and some ids leave, by id."""
    after = ""
    among = None if chunk_ids is None else list(chunk_ids)
    while rows := db.list_chunks(corpus, filter, among, after, PAGE):
        yield from rows
        if len(rows) < PAGE:
            return
        after = rows[-1].chunk_id


def delete(db: Database, corpus: str, ids: Sequence[str] | None) -> None:
    """Delete the texts of some ids, or all that were put by id."""
    if ids is None:
        db.prune_sources(corpus, "", [], ROOT)
    elif ids:
        db.delete_sources(corpus, list(ids))
