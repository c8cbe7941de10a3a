"""Questions that peers are asked, at once and each for a limited time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from ragdb.peers import PeerError
from ragdb.peers.transport import ASKED_BY_PEER as ASKED_BY_PEER
from ragdb.peers.transport import Link, token_of, variable

if TYPE_CHECKING:
    from ragdb.client.client import Client

SECONDS = 5.0
AT_ONCE = 32
MAX_BYTES = 8 * 2**20
Json = dict[str, Any]


def query(
    db: Client,
    corpus: str,
    query: str,
    k: int = 5,
    *,
    filter: Json | None = None,
    allow_private: bool = False,
    seconds: float = SECONDS,
) -> Json:
    """The answer of `rag.query` here and at the peers that have the corpus, as one.

    A peer that does not answer is named in `meta`. An error is that of the local query.
    """
    asked: Json = {"query": query, "k": k}
    if filter is not None:
        asked["filter"] = filter
    local: Json = db.rag_query({"params": {"corpus": corpus}, "input": asked})
    if "output" not in local:
        return local
    answers = collect(db.list_peer_corpora(corpus), asked, allow_private, seconds)
    merged: Json = db.merge_peer_answers(corpus, local, answers, k)
    return merged


def collect(
    followed: Sequence[Any], asked: Json, allow_private: bool, seconds: float = SECONDS
) -> list[Json]:
    """What each peer of a corpus answers, in the order of their names, or why it does not."""
    rows = [row for row in followed if row.peer and row.url and not row.is_revoked]
    if not rows:
        return []

    def ask(row: Any) -> Json:
        try:
            token = token_of(row.peer)
            if token is None:
                raise PeerError(f"no token: {variable(row.peer)} is not set")
            link = Link(row.peer, row.url, token, allow_private, seconds, MAX_BYTES)
            request = {"params": {"corpus": row.remote}, "input": asked}
            return {"peer": row.peer, "answer": link.post("/capabilities/rag.query@1.0", request)}
        except PeerError as error:
            return {"peer": row.peer, "error": str(error)}

    pool = ThreadPoolExecutor(min(len(rows), AT_ONCE), "ragdb-peer")
    asks = {row.peer: pool.submit(ask, row) for row in rows}
    # nothing cuts a name off that is looked up
    wait(asks.values(), seconds + 1)
    pool.shutdown(wait=False, cancel_futures=True)
    late = "it took too long"
    return [
        future.result()
        if future.done() and not future.cancelled()
        else {"peer": peer, "error": late}
        for peer, future in asks.items()
    ]
