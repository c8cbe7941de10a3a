"""A document as `ragdb.put_documents` takes it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from ragdb.ingest import chunker, links
from ragdb.readers.document import Document


def uri_of(document: Document, source: str) -> str:
    """The uri of a document read from a source: a record of a file is `<file>#<id>`."""
    return source if document.fragment is None else f"{source}#{document.fragment}"


def to_payload(
    document: Document,
    source: str,
    *,
    source_name: str = "",
    etag: str | None = None,
    root: str | None = None,
    adopt: bool = False,
    converter: str | None = None,
    strategy: str = "paragraph",
    max_tokens: int = 240,
    overlap: int = 48,
    unit: str = "token",
    tell: Callable[[float], None] | None = None,
) -> dict[str, Any]:
    """Chunk a document read from `source`, the uri of its file, and describe it for jsonb.

    Each page is cut by itself, so that the page of a chunk is the page of each of its words.
    Each chunk has the page and the heading path of its first character; a link belongs to the last
    chunk that begins before it. Raises ValueError for chunking out of range.
    """
    text = document.text
    uri = uri_of(document, source)
    unit = unit.removesuffix("s")
    chunks = [
        replace(chunk, start=chunk.start + begin, end=chunk.end + begin)
        for begin, end in _pages(document)
        for chunk in chunker.chunk(
            text[begin:end],
            strategy=strategy,
            max_tokens=max_tokens,
            overlap=overlap,
            unit=unit,
            tell=tell if not document.pages else None,
        )
    ]
    starts = [chunk.start for chunk in chunks]
    targets = {
        (max(bisect_right(starts, offset) - 1, 0), target): None
        for offset, written in document.links
        for target in links.targets(uri, written)
        if chunks and target != uri
    }
    return {
        "doc_cid": document.cid,
        "uri": uri,
        "source_name": source_name,
        "title": document.title,
        **_language(document),
        "media_type": document.media_type,
        "metadata": document.metadata,
        "external_id": document.external_id,
        "size_bytes": len(document.data),
        "pages": len(document.pages) or None,
        "etag": etag,
        "root": root,
        "adopt": adopt,
        "chunking": {
            "chunker": chunker.NAME,
            "strategy": strategy,
            "max_tokens": max_tokens,
            "overlap": overlap,
            "unit": unit,
            # the text is what this made of the file: another command gives another text
            **({"converter": converter} if converter else {}),
        },
        "chunks": [
            {
                "text": text[chunk.start : chunk.end],
                "start": chunk.start,
                "end": chunk.end,
                "page": document.page_at(chunk.start),
                "heading": document.heading_of(chunk.start, chunk.end),
                "tokens": chunk.tokens,
            }
            for chunk in chunks
        ],
        "links": [{"chunk": number, "target": target} for number, target in targets],
    }


def to_conversation(
    document: Document, source: str, *, root: str | None = None, adopt: bool = False
) -> dict[str, Any]:
    """A conversation read from `source` as `ragdb.put_conversations` takes it."""
    uri = uri_of(document, source)
    return {
        "doc_cid": document.cid,
        "uri": uri,
        "session": document.session or uri,
        "title": document.title,
        **_language(document),
        "media_type": document.media_type,
        "metadata": document.metadata,
        "size_bytes": len(document.data),
        "root": root,
        "adopt": adopt,
        "messages": document.messages,
    }


def _language(document: Document) -> dict[str, str]:
    """What the file says of its language; where it says nothing, the database tells it."""
    return {"language": document.language} if document.language else {}


def _pages(document: Document) -> Iterator[tuple[int, int]]:
    """Where the pages of a document begin and end; a document without pages is one."""
    starts = [offset for offset, _ in document.pages]
    return pairwise([0, *starts[1:], len(document.text)])
