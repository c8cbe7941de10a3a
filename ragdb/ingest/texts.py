"""Texts of a program, put by id: what `Database.add` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragdb.ingest.drift import optimize
from ragdb.ingest.options import IngestError
from ragdb.readers.document import ReadError, clean, storable

if TYPE_CHECKING:
    from ragdb.client.calling import Reals
    from ragdb.client.client import Client

BATCH_TEXTS = 1000
BATCH_CHARACTERS = 4 * 2**20  # one transaction, as of ingest


def add(
    db: Client,
    texts: Iterable[str],
    metadatas: Iterable[Mapping[str, Any] | None] | None,
    ids: Iterable[str] | None,
    corpus: str,
    *,
    cut: bool,
    embedder: str | None,
    embeddings: Sequence[Sequence[float]] | None,
) -> list[str]:
    """Put texts into a corpus and return their ids; see `Database.add`."""
    if isinstance(texts, str):
        raise TypeError("texts is a text, not a list of texts")
    if isinstance(metadatas, Mapping):
        raise TypeError("metadatas is a mapping, not a list of mappings")
    if isinstance(ids, str):
        raise TypeError("ids is a text, not a list of texts")
    given = [clean(_text(text, "texts"))[0] for text in texts]
    try:
        about = None if metadatas is None else [storable(one or {}) for one in metadatas]
    except ReadError as error:
        raise IngestError(error.reason, error.hint) from None
    names = None if ids is None else [clean(_text(name, "ids"))[0] for name in ids]
    for what, found in (("metadatas", about), ("ids", names), ("embeddings", embeddings)):
        if found is not None and len(found) != len(given):
            raise ValueError(f"texts are {len(given)} and {what} {len(found)}")
    if names is not None and len(set(names)) < len(names):
        twice = next(name for n, name in enumerate(names) if name in names[:n])
        raise ValueError(f"the id {twice[:80]!r} is given twice")
    put: list[str] = []
    for at, end in _batches(given):
        rows = db.put_texts(
            corpus,
            given[at:end],
            None if about is None else about[at:end],
            None if names is None else names[at:end],
            cut,
            None if embeddings is None else embedder,
            None if embeddings is None else _reals(embeddings[at:end]),
        )
        put += [row.id for row in rows]
    if given:
        optimize(db, corpus)
    return put


def _text(text: object, of: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{of} has one that is not a text but {type(text).__name__}")
    return text


def _batches(texts: Sequence[str]) -> Iterable[tuple[int, int]]:
    at = size = 0
    for n, text in enumerate(texts):
        if n > at and (size + len(text) > BATCH_CHARACTERS or n - at == BATCH_TEXTS):
            yield at, n
            at, size = n, 0
        size += len(text)
    if texts:
        yield at, len(texts)


def _reals(embeddings: Sequence[Sequence[float]]) -> Reals:
    import numpy as np

    from ragdb.client.calling import Reals

    return Reals(np.asarray(embeddings, np.float32))
