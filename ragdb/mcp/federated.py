"""The tools that ask peers: offered only where the server was started to ask them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragdb.client.rows import record
from ragdb.mcp.builtin import CLIENT
from ragdb.mcp.served import Json, Served
from ragdb.mcp.shapes import CORPUS, LIST, QUERY, Builtin, result, string
from ragdb.peers import asking

SHOWN = ("corpus", "peer", "remote", "trust", "is_revoked", "position", "pulled_at")


def list_peers(served: Served, arguments: Json) -> Json:
    with served.database() as db:
        listed = [record(row) for row in db.list_peer_corpora(**arguments)]
    return {
        "peers": [
            {name: row[name] for name in SHOWN}
            for row in listed
            if row["peer"] is not None and served.serves(row["corpus"])
        ]
    }


def ask_peers(served: Served, arguments: Json) -> Json:
    corpus, query, k = arguments["corpus"], arguments["query"], arguments.get("k", 5)
    vector, more = served.embedded_or_words([corpus], query)
    with served.database() as db:
        if served.record:
            hits: Sequence[Any] = db.retrieve(
                corpus, query, k, query_embedding=vector, client=CLIENT
            )
        else:
            hits = db.search(corpus, query, k, query_embedding=vector)
        followed = db.list_peer_corpora(corpus)
    # no transaction is open while peers work
    asked = {"query": query, "k": k}
    answers = asking.collect(followed, asked, served.allow_private_peers)
    with served.database() as db:
        here = {"output": {"chunks": [_chunk(hit) for hit in hits]}, "meta": {"corpus": corpus}}
        merged = db.merge_peer_answers(corpus, here, answers, k)
    return {"chunks": merged["output"]["chunks"], "peers": merged["meta"]["peers"], **more}


def _chunk(hit: Any) -> Json:
    """A hit as the capability rag.query returns it, for peers answer by that."""
    metadata = {"doc_cid": hit.doc_cid, "doc_title": hit.title, "page": hit.page}
    metadata["chunk_id"] = hit.chunk_id
    return {"rank": hit.rank, "score": hit.score, "text": hit.text, "metadata": metadata}


PEERS: dict[str, Builtin] = {
    "list_peers": Builtin(
        "List peers",
        "Lists the corpora that other databases have too, with the trust in each.",
        {"corpus": CORPUS},
        (),
        list_peers,
        result(peers=LIST),
    ),
    "ask_peers": Builtin(
        "Ask peers",
        "Finds passages of a corpus here and at the peers that have it, best first. A passage with"
        " a peer in its metadata is what that peer says, under the trust given there; peers names"
        " who was asked, with the error of one that did not answer.",
        {
            "corpus": CORPUS,
            "query": QUERY,
            "k": {"type": "integer", "minimum": 1, "maximum": 20, "description": "Passages."},
        },
        ("corpus", "query"),
        ask_peers,
        result({"note": string("What the search had to do without.")}, chunks=LIST, peers=LIST),
        records=True,
        asks_others=True,
    ),
}
