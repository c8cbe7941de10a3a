"""Documents that every process generates alike, and all results of a database with them."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import psycopg

WORDS = [f"w{n}" for n in range(400)]
QUERIES = ["w1 w2 w3", "w17", '"w5 w6"', "w399 w0 w42 w7", "common w9"]
OF_DOCS = "join ragdb.corpora o using (corpus_id) where o.name = 'docs'"
TABLES = [
    f"select chunk_id, ordinal, content_hash, text from ragdb.chunks {OF_DOCS} order by chunk_id",
    f"select doc_cid, d.chunks, tokens, source from ragdb.documents d {OF_DOCS} order by doc_cid",
    f"select lexeme, df from ragdb.lexemes {OF_DOCS} and df > 0 order by lexeme",
    "select documents, chunks, lexeme_count, token_count, size_bytes from ragdb.corpora"
    " where name = 'docs'",
]


def document(number: int, version: int) -> dict[str, Any]:
    """A document as put_documents takes it; the versions of one number share three chunks."""
    same, own = random.Random(number), random.Random(number * 1000 + version)
    texts = [
        " ".join(["common", *source.choices(WORDS, k=60)])
        for source in [same] * 3 + [own] * (1 + version)
    ]
    body = "\n\n".join(texts)
    chunks, at = [], 0
    for text in texts:
        chunks.append({"text": text, "start": at, "end": at + len(text), "tokens": len(text) // 4})
        at += len(text) + 2
    return {
        "doc_cid": "sha256:" + hashlib.sha256(body.encode()).hexdigest(),
        "uri": f"docs/{number}.md",
        "title": f"Document {number}",
        "media_type": "text/markdown",
        "size_bytes": len(body),
        "chunking": {
            "chunker": "para-sent/1",
            "strategy": "paragraph",
            "max_tokens": 240,
            "overlap": 48,
            "unit": "token",
        },
        "chunks": chunks,
    }


def everything(dsn: str) -> list[Any]:
    """All that searches see, and what they find."""
    with psycopg.connect(dsn) as db:
        found: list[Any] = [
            db.execute("select * from ragdb.search('docs', %s, 20)", (query,)).fetchall()
            for query in QUERIES
        ]
        db.execute("set role ragdb_owner")
        found += [db.execute(statement).fetchall() for statement in TABLES]
    return found
