"""The tools that are always there, as functions of what is served and the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from ragdb.client._generated.rows import Chunk, Document
from ragdb.client.client import Client
from ragdb.client.notices import heard
from ragdb.client.rows import record
from ragdb.errors import ChunkNotFound, DocumentNotFound, NoSigningKey
from ragdb.evidence.outputs import holds
from ragdb.mcp.served import Json, Served, ToolError

CLIENT = "ragdb mcp"
RESULTS = 10
SNIPPET = 300  # characters of a chunk in the list of results
MAX_TEXT = 200_000  # characters of a document

SLICE = (
    "slice_id", "anchor_chunk_id", "policy_id", "params_hash", "schema_version",
    "graph_snapshot_hash", "admissibility_token",
)  # fmt: skip
RECORDED = (
    "id", "slice_id", "anchor_chunk_id", "policy_id", "policy_params_hash", "schema_version",
    "graph_snapshot_hash", "admissibility_token", "is_admissible", "slice_chunk_count",
)  # fmt: skip


def search(served: Served, arguments: Json) -> Json:
    how = {name: value for name, value in arguments.items() if name not in ("query", "corpora")}
    names = served.named(arguments)
    if not names:
        return {"results": []}
    query = arguments["query"]
    vector, more = served.embedded_or_words(names, query, how.get("mode"))
    how = {"k": RESULTS, "query_embedding": vector, **how}
    with served.database() as db, heard(db.connection) as notes:
        if served.record and len(names) == 1 and "as_of" not in how:
            recorded = db.retrieve(names[0], query, client=CLIENT, **how)
            hits: Sequence[Any] = recorded
            more["trace_id"] = str(recorded.trace_id)
        else:
            hits = db.search(names, query, **how)
        syntax = how.get("syntax", "plain")
        meant = db.did_you_mean([hits[0].corpus] if hits else names, query, syntax)
    if meant is not None:
        more["did_you_mean"] = meant
    if notes:
        more.setdefault("note", "\n".join(notes))
    return {"results": [_found(hit) for hit in hits], **more}


def _found(hit: Any) -> Json:
    """A hit as ChatGPT's connectors require it, with its surroundings where they were asked for."""
    found = {
        "id": f"{hit.corpus}/{hit.chunk_id}",
        "title": _title(hit),
        "url": _url(hit.corpus, hit.chunk_id, hit.source),
        "text": hit.text[:SNIPPET],
    }
    return found if hit.context is None else {**found, "context": hit.context}


def fetch(served: Served, arguments: Json) -> Json:
    corpus, slash, own = arguments["id"].partition("/")
    if not slash:
        raise ToolError(
            f"{corpus[:80]!r} names no corpus: an id is corpus/chunk_id, as search gives it"
        )
    served.check(corpus)
    with served.database() as db:
        if own.startswith("sha256:"):
            # a chunk may be called so
            with suppress(DocumentNotFound), db.connection.transaction():
                return document(db, corpus, *own.partition("/")[::2])
        try:
            with db.connection.transaction():
                chunk = db.get_chunk(corpus, own)
        except ChunkNotFound:
            # citations name the source of a document
            with suppress(DocumentNotFound), db.connection.transaction():
                return document(db, corpus, db.get_document(corpus, own).doc_cid, own)
            raise
        first = max(chunk.ordinal - 1, 0)
        around = db.document_chunks(corpus, chunk.source, first, chunk.ordinal - first + 2)
        beside = [row.chunk_id for row in around]
        # one row of a turn, none of another chunk
        said = [record(row) for row in db.list_turns(corpus, [own])]
    at = beside.index(own)
    metadata = {
        "corpus": corpus,
        "source": chunk.source,
        "citation": chunk.citation,
        "heading": chunk.heading,
        "page": chunk.page,
        "start_offset": chunk.start_offset,
        "end_offset": chunk.end_offset,
        "content_hash": chunk.content_hash,
        "document": document_id(corpus, chunk),
        "previous": f"{corpus}/{beside[at - 1]}" if at else None,
        "next": f"{corpus}/{beside[at + 1]}" if at + 1 < len(beside) else None,
        "document_metadata": chunk.metadata,
    }
    for turn in said:
        metadata |= {key: turn[key] for key in ("role", "speaker", "said_at")}
    return {
        "id": arguments["id"],
        "title": _title(chunk),
        "text": chunk.text,
        "url": _url(corpus, own, chunk.source),
        "metadata": {key: value for key, value in metadata.items() if value is not None},
    }


def document_id(corpus: str, of: Document | Chunk) -> str:
    """A document is its bytes and its name: what is under that name later may be another."""
    return f"{corpus}/{of.doc_cid}/{of.source}"


def document(db: Client, corpus: str, cid: str, source: str) -> Json:
    document = db.get_document(corpus, source or cid)
    if document.doc_cid != cid:
        document = db.get_document(corpus, cid)
    text = db.document_text(corpus, document.source) or ""
    cid = document_id(corpus, document)
    return {
        "id": cid,
        "title": document.title or document.source,
        "text": text[:MAX_TEXT],
        "url": _url(corpus, cid.partition("/")[2], document.source),
        "metadata": {
            "corpus": corpus,
            "source": document.source,
            "sources": document.sources,
            "language": document.language,
            "media_type": document.media_type,
            "pages": document.pages,
            "is_cut": len(text) > MAX_TEXT,
            "document_metadata": document.metadata,
        },
    }


def search_slice(served: Served, arguments: Json) -> Json:
    corpus, query = arguments["corpus"], arguments["query"]
    how: Json = {"k": arguments.get("k", RESULTS), "mode": arguments.get("mode")}
    how["query_embedding"] = served.embedded([corpus], query, how["mode"])
    policy, slice_id = arguments.get("policy"), arguments.get("slice_id")
    anchor = arguments.get("anchor")
    if slice_id is not None and (anchor is not None or policy is not None):
        raise ToolError("slice_id names a stored slice: omit anchor and policy")
    with served.database() as db:
        if slice_id is None and anchor is None:
            rows = db.resolve_anchor(corpus, query=query, query_embedding=how["query_embedding"])
            if not rows:
                raise ToolError(f"corpus {corpus!r} has nothing to anchor a slice in")
            anchor = rows[0].anchor
        if served.record:
            found = db.retrieve_slice(corpus, query, slice_id, anchor, policy, **how, client=CLIENT)
            trace = record(db.get_trace(found.trace_id))
            hits, provenance = list(found), {key: trace[key] for key in RECORDED}
        else:
            hits = db.search_slice(corpus, query, slice_id, anchor, policy, **how)
            provenance = {"slice_id": slice_id}
            if anchor is not None:
                provenance = slice_of(db, corpus, anchor, policy)
    return {
        "chunks": [
            {key: value for key, value in record(hit).items() if value is not None} for hit in hits
        ],
        "provenance": {"corpus": corpus, **provenance},
    }


def slice_of(db: Client, corpus: str, anchor: str, policy: Any) -> Json:
    try:
        with db.connection.transaction():
            built = db.build_slice(corpus, anchor, policy)
    except NoSigningKey:
        built = db.build_slice(corpus, anchor, policy, sign=False)
    found = record(built)
    return {key: found[key] for key in SLICE} | {"slice_chunk_count": len(built.chunk_ids)}


def get_trace(served: Served, arguments: Json) -> Json:
    with served.database() as db:
        trace = record(served.trace(db, arguments["trace_id"]))
        hits = [record(hit) for hit in db.trace_hits(arguments["trace_id"])]
        reranks = [record(row) for row in db.trace_reranks(arguments["trace_id"])]
    return {"trace": trace, "hits": hits, **({"reranks": reranks} if reranks else {})}


def replay_trace(served: Served, arguments: Json) -> Json:
    with served.database() as db:
        served.trace(db, arguments["trace_id"])
        return record(db.replay(arguments["trace_id"]))


def validate_citations(served: Served, arguments: Json) -> Json:
    evidence, trace_id = arguments.get("evidence"), arguments.get("trace_id")
    chunk_ids = arguments.get("chunk_ids")
    if sum(given is not None for given in (evidence, trace_id, chunk_ids)) != 1:
        raise ToolError("give one of evidence, trace_id, or chunk_ids with corpus")
    with served.database() as db:
        if trace_id is not None:
            served.trace(db, trace_id)
        if evidence is not None:
            served.evidence(db, evidence)
        else:
            evidence = db.build_evidence_pack(trace_id, chunk_ids, arguments.get("corpus"))
        output, required = arguments["output"], arguments.get("require_citations", True)
        problems = db.validate_citations(output, evidence, required)
        checks = db.check_citations(output, evidence, require_citations=required)
    return {
        "valid": holds(problems, checks),
        "problems": problems,
        "checks": [record(row) for row in checks],
    }


def _title(row: Any) -> str:
    parts = [row.title or row.source, *(row.heading or [])[-1:]]
    if row.page:
        parts.append(f"page {row.page}")
    return " · ".join(dict.fromkeys(part for part in parts if part))


def _url(corpus: str, own: str, source: str) -> str:
    """Where a person finds it: a page's own address, else the resource of this server."""
    if source.startswith(("http://", "https://")):
        return source
    return f"ragdb://corpus/{corpus}/{quote(own, safe=':/')}"
