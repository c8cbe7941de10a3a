"""A corpus is made anew for the mean length of its chunks, when that has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragdb.client.client import Client

DRIFT = 0.1


def optimize(db: Client, corpus: str) -> bool:
    """Optimize a corpus whose chunks are longer or shorter than it takes them for, by a tenth."""
    drift = db.corpus_info(corpus).drift
    if drift is None or abs(drift) <= DRIFT:
        return False
    db.optimize_corpus(corpus)
    return True
