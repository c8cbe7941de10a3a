"""Readers: bytes of a file to documents with text, pages, headings and links."""

from __future__ import annotations

import io
import mimetypes
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate
from typing import Any, BinaryIO

from ragdb.readers import (
    archive,
    channel,
    conversation,
    encoding,
    formats,
    gz,
    language,
    mail,
    plugs,
    sandbox,
)
from ragdb.readers import jsonl as _jsonl
from ragdb.readers.document import Content, Document, ReadError, without_form_feeds
from ragdb.readers.formats import FORMATS, PLUG, READABLE
from ragdb.readers.limits import MAX_BYTES

__all__ = ["Content", "Document", "ReadError", "is_jsonl", "read", "read_jsonl"]

_NO_NAMES = channel.Names()
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# by their first bytes; what the name or the server says of such a file does not matter
_MAGIC = ((b"%PDF-", "pdf"), (b"{\\rtf", "rtf"))


def read(
    data: bytes,
    name: str,
    media_type: str | None = None,
    *,
    max_bytes: int = MAX_BYTES,
    title: str | None = None,
    language: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    tell: sandbox.Tell | None = None,
    names: channel.Names = _NO_NAMES,
) -> list[Document]:
    """The documents of a file: one, or one a record for JSONL and mbox, or one a conversation.

    `name` gives the type by its ending, `media_type` where it has none; contents that contradict
    them win. What is packed with gzip is unpacked first. `title`, `language` and `metadata`
    (merged) override what the file says. `tell` hears which part of it is read. `names` are those
    of the people of a channel, where the file does not say them. Raises ReadError
    with the code empty, blank, too_large, unknown_type, binary, encrypted, no_text, corrupt,
    malformed, front_matter, missing_extra or limits.
    """
    if not data:
        raise ReadError("empty", "it has no bytes", "remove it, or write something into it")
    if len(data) > max_bytes:
        raise ReadError(
            "too_large",
            f"it has {len(data)} bytes, more than {max_bytes}",
            "raise the limit with --max-bytes, or split it",
        )
    original = data
    if data.startswith(gz.MAGIC) and not is_jsonl(name):
        data = gz.unpack(data, max_bytes)
        name = name[:-3] if name.lower().endswith(".gz") else name
    kind = _kind(data, name, media_type)
    if kind == "jsonl" and conversation.starts(io.BytesIO(data), max_bytes):
        documents = _said(conversation.read(io.BytesIO(data), max_bytes))
    elif kind == "jsonl":
        documents = list(read_jsonl(io.BytesIO(data), max_line=max_bytes))
    elif kind == "mbox":
        documents = [
            replace(_document("eml", message, None), fragment=fragment)
            for fragment, message in mail.messages(data)
        ]
    else:
        document = replace(_document(kind, data, media_type, name, tell), data=original)
        found = conversation.of_json(document.conversations, original, name, names)
        documents = _said(found) or [document]
    return [_override(document, title, language, metadata) for document in documents]


def read_jsonl(stream: BinaryIO, *, max_line: int = MAX_BYTES) -> Iterator[Document]:
    """The documents of a JSONL file, one at a time: for files too large for `read`."""
    return _jsonl.read(stream, max_line=max_line)


def is_jsonl(name: str) -> bool:
    """Whether a file of that name is read line by line."""
    return formats.BY_ENDING.get(formats.ending(name)) == "jsonl"


def _document(
    kind: str,
    data: bytes,
    media_type: str | None,
    name: str = "",
    tell: sandbox.Tell | None = None,
) -> Document:
    replaced = 0
    is_plug = kind.startswith(PLUG)
    if is_plug or not FORMATS[kind].is_text:
        content = sandbox.read(kind, data, tell)
    else:
        text, replaced = _decoded(kind, data, media_type, name)
        if kind == "text":
            content = Content(text=text, pages=_pages(text))
        else:
            content = sandbox.read(kind, text.encode(), tell)
    if not content.text.strip() and not content.conversations:
        raise ReadError("blank", "it has no text", "remove it, or write something into it")
    return Document(
        text=without_form_feeds(content.text),
        title=content.title,
        language=language.normalise(content.language),
        metadata=content.metadata,
        external_id=content.external_id,
        pages=content.pages,
        headings=content.headings,
        links=content.links,
        replaced=content.replaced + replaced,
        pages_without_text=content.pages_without_text,
        conversations=content.conversations,
        data=data,
        media_type=(mimetypes.guess_type(name)[0] or "application/octet-stream")
        if is_plug
        else formats.media_type(kind),
    )


def _said(conversations: list[Document]) -> list[Document]:
    """Conversations in which something is said, or that are broken."""
    if conversations and not any(one.messages or one.fault for one in conversations):
        raise ReadError("blank", "no message has a text", "remove it, or write something into it")
    return conversations


def _decoded(kind: str, data: bytes, media_type: str | None, name: str) -> tuple[str, int]:
    try:
        return encoding.decode(data, _charset(data, kind, media_type))
    except ReadError as error:
        # a video may end in .ts too; what calls itself a text is damaged
        if kind == "text" and formats.ending(name) not in (".txt", ".text"):
            raise ReadError("unknown_type", error.reason, error.hint) from None
        raise


def _pages(text: str) -> tuple[tuple[int, int], ...]:
    """The pages of a text that has form feeds, as RFCs have them."""
    if "\f" not in text.strip():
        return ()
    sizes = (len(page) + 1 for page in text.split("\f"))
    return tuple((offset, n) for n, offset in enumerate(accumulate(sizes, initial=0), 1))[:-1]


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
    suffix = formats.ending(name)
    declared = (media_type or "").split(";")[0].strip().lower()
    for magic, unmistakable in _MAGIC:
        if data.startswith(magic):
            return unmistakable
    named = formats.BY_ENDING.get(suffix)
    plug = suffix in plugs.endings()
    if data.startswith(b"PK\x03\x04") and not plug:
        found = archive.kind(data)
        if found is None:
            raise ReadError("unknown_type", "it is an archive that is not read", READABLE)
        return found
    if data.startswith(_OLE) and not plug:
        if suffix == ".xls" or declared == "application/vnd.ms-excel":
            return "sheet"
        raise ReadError(
            "encrypted",
            "it is an encrypted or old Office document",
            "save it as DOCX, XLSX or PPTX without a password",
        )
    kind = PLUG + suffix if plug else named
    if declared and declared not in ("text/plain", "application/octet-stream"):
        kind = formats.BY_MEDIA_TYPE.get(declared, kind)
    elif kind is None and (not suffix or declared == "text/plain"):
        kind = _kind_of_text(data)
    if kind is None:
        what = suffix or declared
        raise ReadError("unknown_type", f'files of type "{what[:80]}" are not read', READABLE)
    return kind


def _kind_of_text(data: bytes) -> str:
    """README, LICENSE, standard input; and programs, which are not text."""
    if data[:256].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        return "html"
    if b"\0" in data[:1024] and not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")):
        raise ReadError("unknown_type", "it is not text, and its name does not say what", READABLE)
    return "text"
