"""Indexes of spaces, which a worker builds when the bulk of the embeddings is in."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from ragdb.client._generated.functions import Functions
from ragdb.client._generated.rows import EmbeddingStatusRow
from ragdb.errors import VectorTooOld

log = logging.getLogger("ragdb.worker")


class Indexer:
    """Builds what is due, until pgvector turns out to be one that must not build any."""

    def __init__(self) -> None:
        self.refused: VectorTooOld | None = None

    def build(self, db: Functions, spaces: Iterable[EmbeddingStatusRow]) -> None:
        for space in spaces:
            if self.refused is None and space.lacks_index:
                try:
                    db.index_space(space.corpus, space.embedder)
                except VectorTooOld as error:
                    # so it stays until pgvector is another; meanwhile a scan finds the same
                    self.refused = error
                    log.warning(
                        "%s; corpus %s is searched without; %s",
                        error.diag.message_primary,
                        space.corpus,
                        error.diag.message_hint,
                    )
