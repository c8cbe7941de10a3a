"""What follows the writing of many chunks: a corpus is made anew for their length, and indexed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragdb.client.client import Client

MANY = 1000  # new chunks, after which the index is brought up to date


def optimize(db: Client, corpus: str) -> bool:
    """Optimize a corpus of many new chunks, or of other lengths than it takes them for.

    A part ranks by the statistics of its whole, which are summed instead, where the caller may.
    Vectors that the database makes come with the chunks, and no worker comes to index them: that
    happens here. Returns whether the corpus was optimized.
    """
    info = db.corpus_info(corpus)
    if info.part_of is not None:
        whole = db.corpus_info(info.part_of)
        if whole.stale_parts and whole.privilege != "read":
            db.sync_statistics(whole.name)
    # first, by itself: to optimize builds it too, and a kill would lose both
    embedder = db.corpus_embedder(corpus)
    if embedder is not None and embedder.provider == "static":
        db.index_space(corpus)
    # of this run or of one that was ended before it came to this
    is_due = info.is_drifted or info.new_chunks >= MANY
    if is_due:
        db.optimize_corpus(corpus)
    return is_due
