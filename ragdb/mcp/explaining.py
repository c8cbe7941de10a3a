"""The tools about one passage or document: why it was found or not, quotes, edges, versions."""

from __future__ import annotations

from typing import Any

from ragdb.client.rows import record
from ragdb.mcp.served import Json, Served
from ragdb.mcp.shapes import CHUNK, CORPUS, LIST, MODE, QUERY, Builtin, K, count, result, string

_EDGES = 100


def explain_passage(served: Served, arguments: Json) -> Json:
    corpus, query, chunk = (arguments[name] for name in ("corpus", "query", "chunk_id"))
    mode = arguments.get("mode")
    how: Any = {"mode": mode, "query_embedding": served.embedded([corpus], query, mode)}
    with served.database() as db:
        missing = db.explain_missing(corpus, query, chunk, arguments.get("k", 10), **how)
        parts = db.explain_score(corpus, query, chunk, **how)
    return {**record(missing), "parts": [record(part) for part in parts]}


def locate_quote(served: Served, arguments: Json) -> Json:
    with served.database() as db:
        return {"places": [record(row) for row in db.locate_quote(**arguments)]}


def list_edges(served: Served, arguments: Json) -> Json:
    parent, child = arguments.get("after_parent", ""), arguments.get("after", "")
    of = arguments["corpus"], arguments["chunk_id"]
    most = arguments.get("count", _EDGES)
    with served.database() as db:
        # who asks for the next page of one side has the other
        parents = db.get_parents(*of, parent, most) if parent or not child else []
        children = db.get_children(*of, child, most) if child or not parent else []
    return {"parents": [*map(record, parents)], "children": [*map(record, children)]}


def document_versions(served: Served, arguments: Json) -> Json:
    with served.database() as db:
        named = arguments["document"].removeprefix(f"{arguments['corpus']}/")
        if named.startswith("sha256:"):  # as list_documents and fetch give it
            arguments = {**arguments, "document": named.partition("/")[2] or named}
        return {"versions": [record(row) for row in db.document_versions(**arguments)]}


TOOLS: dict[str, Builtin] = {
    "explain_passage": Builtin(
        "Explain a passage",
        "Says why a search finds a passage or at which step it leaves it out, and what each word"
        " and the meaning give to its score.",
        {"corpus": CORPUS, "query": QUERY, "chunk_id": CHUNK, "k": K, "mode": MODE},
        ("corpus", "query", "chunk_id"),
        explain_passage,
        result(step={"type": "string"}, parts=LIST),
    ),
    "locate_quote": Builtin(
        "Locate a quote",
        "Finds where a passage says a quote: exactly, as a reader compares, or nearly.",
        {
            "corpus": CORPUS,
            "chunk_id": CHUNK,
            "quote": string("Words of the passage.", minLength=1, maxLength=10000),
        },
        ("corpus", "chunk_id", "quote"),
        locate_quote,
        result(places=LIST),
    ),
    "list_edges": Builtin(
        "List edges",
        "Lists what leads to a passage or a turn, and what leads from it.",
        {
            "corpus": CORPUS,
            "chunk_id": CHUNK,
            "after": string("The last child seen; alone, it leaves out the parents."),
            "after_parent": string("The last parent seen; alone, it leaves out the children."),
            "count": count(_EDGES),
        },
        ("corpus", "chunk_id"),
        list_edges,
        result(parents=LIST, children=LIST),
    ),
    "document_versions": Builtin(
        "List versions of a document",
        "Lists when a document was put, and by whom, newest first. Earlier texts are not kept.",
        {
            "corpus": CORPUS,
            "document": string(
                "Its source, its external id, or its id of list_documents.", minLength=1
            ),
            "count": count(20),
        },
        ("corpus", "document"),
        document_versions,
        result(versions=LIST),
    ),
}
