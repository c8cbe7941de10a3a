"""What follows the writing of many chunks: a corpus is made anew for their length, and indexed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragdb.client.client import Client

DRIFT = 0.1


def optimize(db: Client, corpus: str) -> bool:
    """Optimize a corpus whose chunks are longer or shorter than it takes them for, by a tenth.

    A part ranks by the statistics of its whole, which are summed instead, where the caller may.
    Vectors that the database makes come with the chunks, and no worker comes to index them: that
    happens here. Returns whether the corpus was optimized.
    """
    info = db.corpus_info(corpus)
    if info.part_of is not None and db.corpus_info(info.part_of).privilege != "read":
        db.sync_statistics(info.part_of)
    drift = info.drift
    has_drifted = drift is not None and abs(drift) > DRIFT
    if has_drifted:
        db.optimize_corpus(corpus)
    embedder = db.corpus_embedder(corpus)
    if embedder is not None and embedder.provider == "static":
        db.index_space(corpus)
    return has_drifted
