"""Readers: bytes of a file to documents with text, pages, headings and links."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, BinaryIO

from ragdb.readers import encoding, language, rst, sandbox
from ragdb.readers import jsonl as _jsonl
from ragdb.readers.document import Content, Document, ReadError

__all__ = ["MAX_BYTES", "Content", "Document", "ReadError", "is_jsonl", "read", "read_jsonl"]

MAX_BYTES = 64 * 1024 * 1024

_MEDIA_TYPES = {
    "text": "text/plain",
    "rst": "text/x-rst",
    "markdown": "text/markdown",
    "html": "text/html",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pdf": "application/pdf",
    "jsonl": _jsonl.MEDIA_TYPE,
}
_BY_MEDIA_TYPE = {
    **{media_type: kind for kind, media_type in _MEDIA_TYPES.items()},
    "application/xhtml+xml": "html",
    "text/x-markdown": "markdown",
    "application/jsonl": "jsonl",
    "application/jsonlines": "jsonl",
}
_BY_SUFFIX = {
    ".txt": "text", ".text": "text", ".rst": "rst", ".rest": "rst",
    ".md": "markdown", ".markdown": "markdown", ".mdown": "markdown", ".mkd": "markdown",
    ".html": "html", ".htm": "html", ".xhtml": "html",
    ".docx": "docx", ".pdf": "pdf", ".jsonl": "jsonl", ".ndjson": "jsonl",
}  # fmt: skip
_READABLE = "text, Markdown, RST, HTML, PDF, DOCX and JSONL are read"


def read(
    data: bytes,
    name: str,
    media_type: str | None = None,
    *,
    max_bytes: int = MAX_BYTES,
    title: str | None = None,
    language: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> list[Document]:
    """The documents of a file: one, or one a line for JSONL.

    `name` gives the type by its ending, `media_type` where it has none; contents that contradict
    them win. `title`, `language` and `metadata` (merged) override what the file says. Raises
    ReadError with the code empty, too_large, unknown_type, binary, encrypted, no_text, corrupt,
    malformed, front_matter or limits.
    """
    if not data:
        raise ReadError("empty", "it has no bytes", "remove it, or write something into it")
    if len(data) > max_bytes:
        raise ReadError(
            "too_large",
            f"it has {len(data)} bytes, more than {max_bytes}",
            "raise the limit with --max-bytes, or split it",
        )
    kind = _kind(data, name, media_type)
    if kind == "jsonl":
        documents = list(read_jsonl(io.BytesIO(data), max_line=max_bytes))
    else:
        documents = [_document(kind, data, media_type)]
    return [_override(document, title, language, metadata) for document in documents]


def read_jsonl(stream: BinaryIO, *, max_line: int = MAX_BYTES) -> Iterator[Document]:
    """The documents of a JSONL file, one at a time: for files too large for `read`."""
    return _jsonl.read(stream, max_line=max_line)


def is_jsonl(name: str) -> bool:
    """Whether a file of that name is read line by line."""
    path = PurePosixPath(name.lower().removesuffix(".gz"))
    return _BY_SUFFIX.get(path.suffix) == "jsonl"


def _document(kind: str, data: bytes, media_type: str | None) -> Document:
    replaced = 0
    if kind in ("docx", "pdf"):
        content = sandbox.read(kind, data)
    else:
        text, replaced = encoding.decode(data, _charset(data, kind, media_type))
        if kind == "text":
            content = Content(text=text)
        elif kind == "rst":
            content = rst.read(text)
        else:
            content = sandbox.read(kind, text.encode())
    if not content.text.strip():
        raise ReadError("no_text", "it has no text", "remove it, or write something into it")
    return Document(
        text=content.text,
        title=content.title,
        language=language.normalise(content.language) or language.guess(content.text),
        metadata=content.metadata,
        external_id=content.external_id,
        pages=content.pages,
        headings=content.headings,
        links=content.links,
        replaced=content.replaced + replaced,
        pages_without_text=content.pages_without_text,
        data=data,
        media_type=_MEDIA_TYPES[kind],
    )


def _charset(data: bytes, kind: str, media_type: str | None) -> str | None:
    """The encoding that the server or the head of an HTML file declares."""
    declared = re.search(r"charset=[\s\"']*([\w.:-]+)", media_type or "", re.I)
    if declared is None and kind == "html":
        head = data[:1024].decode("latin-1")
        declared = re.search(r"<meta[^>]+charset=[\s\"']*([\w.:-]+)", head, re.I)
    return declared[1] if declared else None


def _override(
    document: Document,
    title: str | None,
    given_language: str | None,
    metadata: Mapping[str, Any] | None,
) -> Document:
    if not (title or given_language or metadata):
        return document
    return replace(
        document,
        title=title or document.title,
        language=language.normalise(given_language) or document.language,
        metadata={**document.metadata, **(metadata or {})},
    )


def _kind(data: bytes, name: str, media_type: str | None) -> str:
    """The reader for a file: by its contents where they are unmistakable, else by its name."""
    base = PurePosixPath(name.lower())
    if data.startswith(b"%PDF-"):
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        return _kind_of_archive(data)
    if data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        raise ReadError(
            "encrypted",
            "it is an encrypted or old Office document",
            "save it as DOCX without a password",
        )
    if is_jsonl(name):
        return "jsonl"
    if data.startswith(b"\x1f\x8b"):
        raise ReadError(
            "unknown_type", "it is packed with gzip", "unpack it; only JSONL is read packed"
        )
    kind = _BY_SUFFIX.get(base.suffix)
    declared = (media_type or "").split(";")[0].strip().lower()
    if declared and declared not in ("text/plain", "application/octet-stream"):
        kind = _BY_MEDIA_TYPE.get(declared, kind)
    elif kind is None and (not base.suffix or declared == "text/plain"):
        # README, LICENSE, standard input
        kind = (
            "html"
            if data[:256].lstrip().lower().startswith((b"<!doctype html", b"<html"))
            else "text"
        )
    if kind is None:
        what = base.suffix or declared
        raise ReadError("unknown_type", f'files of type "{what[:80]}" are not read', _READABLE)
    return kind


def _kind_of_archive(data: bytes) -> str:
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if "word/document.xml" in archive.namelist():
                return "docx"
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise ReadError(
            "corrupt", f"it is not a readable archive ({error})", "save it again"
        ) from None
    raise ReadError("unknown_type", "it is an archive of another kind than DOCX", _READABLE)
