"""Documents as `put_documents` takes them, and chunks as those who retrieve elsewhere give them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

Document = dict[str, Any]
CHUNKING = {
    "chunker": "para-sent/1",
    "strategy": "paragraph",
    "max_tokens": 240,
    "overlap": 0,
    "unit": "token",
}


def document(
    uri: str,
    texts: Sequence[str] = (),
    *,
    headings: Sequence[Sequence[str]] = (),
    links: Iterable[tuple[int, str]] = (),
    data: bytes | None = None,
    **fields: Any,
) -> Document:
    """A document as `put_documents` takes it; its bytes stand for all of it but its uri."""
    chunks, start = [], 0
    for n, text in enumerate(texts):
        chunks.append(
            {
                "text": text,
                "start": start,
                "end": start + len(text),
                "tokens": -(-len(text) // 4),
                "heading": list(headings[n]) if headings else [],
            }
        )
        start += len(text) + 2
    if data is None:
        data = json.dumps([texts, headings, sorted(links), sorted(fields.items())]).encode()
    return {
        "doc_cid": "sha256:" + hashlib.sha256(data).hexdigest(),
        "uri": uri,
        "media_type": "text/plain",
        "size_bytes": len(data),
        "chunking": CHUNKING,
        "chunks": chunks,
        "links": [{"chunk": chunk, "target": target} for chunk, target in links],
        **fields,
    }


def text_document(uri: str, text: str, *, title: str | None = None, **fields: Any) -> Document:
    """A document of one chunk that is not that of any other uri."""
    data = f"{uri}\0{title}\0{text}".encode()
    fields = {"title": title, "size_bytes": len(text.encode()), **fields}
    return document(uri, [text], data=data, **fields)


def given_chunk(id: str, text: str, score: float = 1, **more: Any) -> dict[str, Any]:
    """A chunk of a retrieval that contracts are held to."""
    source = f"docs/{id}.md"
    cited = {"source": source, "citation": {"uri": source}}
    return {"id": id, "text": text, "score": score, **cited, **more}
