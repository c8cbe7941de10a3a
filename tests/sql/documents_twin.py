"""The expected documents in the database, computed in Python from their definition alone."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from tests.conftest import Connection
from tests.documents import Document


def put(db: Connection, *documents: Document, corpus: str = "docs", force: bool = False) -> Any:
    return db.execute(
        "select * from ragdb.put_documents(%s, %s, %s)", (corpus, json.dumps(documents), force)
    ).fetchall()


def content_hash(text: str) -> str:
    canonical = text.replace("\r\n", "\n").replace("\r", "\n").strip(" \t\n\r\f\v")
    return hashlib.sha256(canonical.encode()).hexdigest()


def slug(name: str) -> str:
    ascii_lower = "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in name)
    return re.sub("[^a-z0-9]+", "-", ascii_lower)[-64:].strip("-") or "document"


def chunk_id(corpus: str, source_name: str, uri: str, text: str, n: int) -> str:
    parts = ["ragdb-chunk-1", corpus, source_name, uri, content_hash(text), str(n)]
    packed = b"".join(struct.pack(">i", len(p.encode())) + p.encode() for p in parts)
    name = f"{source_name}/{uri}" if source_name else uri
    return f"{slug(name)}:{hashlib.sha256(packed).hexdigest()[:24]}"


def chunk_ids(corpus: str, uri: str, document: Document) -> list[str]:
    texts = [chunk["text"] for chunk in document["chunks"]]
    external = document.get("external_id")
    if external is not None:
        return [external] if len(texts) == 1 else [f"{external}#{n + 1}" for n in range(len(texts))]
    seen: Counter[str] = Counter()
    ids = []
    for text in texts:
        ids.append(
            chunk_id(corpus, document.get("source_name", ""), uri, text, seen[content_hash(text)])
        )
        seen[content_hash(text)] += 1
    return ids


Edge = tuple[str, str, str]


def name_of(one: Document, uri: str) -> tuple[str, str]:
    """What tells a document from others of the same bytes."""
    external = one.get("external_id")
    return ("source", uri) if external is None else ("id", external)


def expected(
    corpus: str, sources: Mapping[str, Document]
) -> tuple[dict[str, tuple[str, int, str]], set[Edge]]:
    """Chunks by id (document, ordinal, text) and edges, where each uri has this document."""
    uris = defaultdict(list)
    for uri, one in sources.items():
        uris[one["doc_cid"], name_of(one, uri)].append(uri)
    chunks: dict[str, tuple[str, int, str]] = {}
    edges: set[Edge] = set()
    ids_of = {}
    for key, found in uris.items():
        cid, first = key[0], min(found, key=str.encode)
        ids = ids_of[key] = chunk_ids(corpus, first, sources[first])
        heads: dict[tuple[str, ...], str] = {}
        for n, chunk in enumerate(sources[first]["chunks"]):
            chunks[ids[n]] = (cid, n, chunk["text"])
            if n:
                edges.add((ids[n - 1], ids[n], "default"))
            heads.setdefault(tuple(chunk["heading"]), ids[n])
        heads.pop((), None)
        for n, chunk in enumerate(sources[first]["chunks"]):
            path = tuple(chunk["heading"])
            if not path:
                continue
            if heads[path] != ids[n]:
                edges.add((heads[path], ids[n], "branch"))
                continue
            above = [path[:k] for k in range(len(path) - 1, 0, -1) if path[:k] in heads]
            if above:
                edges.add((heads[above[0]], ids[n], "branch"))
    for key, found in uris.items():
        for link in sources[found[0]]["links"]:
            target = sources.get(link["target"])
            if target and target["chunks"]:
                there = ids_of[target["doc_cid"], name_of(target, link["target"])]
                edge = (ids_of[key][link["chunk"]], there[0], "reference")
                if edge[0] != edge[1]:
                    edges.add(edge)
    return chunks, edges


def stored(db: Connection, corpus: str) -> tuple[dict[str, tuple[str, int, str]], set[Edge]]:
    """What is in the database, in the form of `expected`."""
    chunks = {
        chunk: (cid, ordinal, text)
        for chunk, cid, ordinal, text in db.execute(
            "select c.chunk_id, d.doc_cid, c.ordinal, c.text from ragdb.chunks c"
            " join ragdb.documents d using (corpus_id, doc_no)"
            " join ragdb.corpora x using (corpus_id) where x.name = %s",
            (corpus,),
        )
    }
    edges = set(
        db.execute(
            "select p.chunk_id, c.chunk_id, e.edge_type from ragdb.edges e"
            " join ragdb.chunks p on p.corpus_id = e.corpus_id and p.chunk_no = e.parent_no"
            " join ragdb.chunks c on c.corpus_id = e.corpus_id and c.chunk_no = e.child_no"
            " join ragdb.corpora x on x.corpus_id = e.corpus_id where x.name = %s",
            (corpus,),
        )
    )
    return chunks, edges


def faults(db: Connection, corpus: str = "docs") -> Any:
    return db.execute("select * from ragdb.check_corpus(%s)", (corpus,)).fetchall()
