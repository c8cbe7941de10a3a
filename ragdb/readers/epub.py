"""EPUB: its pages of XHTML in reading order."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote

from ragdb.readers import encoding, html, xml
from ragdb.readers.archive import Parts
from ragdb.readers.building import Builder
from ragdb.readers.document import Content, ReadError, one_line

_CONTAINER = "META-INF/container.xml"


def read(data: bytes) -> Content:
    """Title and language are those of its package."""
    parts = Parts(data)
    rootfile = next(
        (e.get("full-path") for e in xml.parse(parts.read(_CONTAINER) or b"<none/>").iter()
         if xml.name(e) == "rootfile"), None,
    )  # fmt: skip
    if not rootfile or rootfile not in parts.names:
        raise ReadError("corrupt", "it names no package", "export it again")
    package = xml.parse(parts.read(rootfile))
    folder = posixpath.dirname(rootfile)
    items: dict[str, str] = {}
    order: list[str] = []
    facts: dict[str, str] = {}
    for element in package.iter():
        called = xml.name(element)
        if called == "item" and "html" in (element.get("media-type") or ""):
            way = posixpath.normpath(posixpath.join(folder, unquote(element.get("href") or "")))
            items[element.get("id") or ""] = way
        elif called == "itemref":
            order.append(element.get("idref") or "")
        elif called in ("title", "language") and element.text:
            facts.setdefault(called, element.text)
    pages = [items[one] for one in order if one in items]
    protected = parts.read("META-INF/encryption.xml")
    if any(page.encode() in protected for page in pages):
        raise ReadError("encrypted", "its pages are encrypted (DRM)", "get a copy without DRM")
    built = Builder()
    for page in pages:
        text, replaced = encoding.decode(parts.read(page))
        built.replaced += replaced
        built.add(html.read(text))
    return built.content(title=one_line(facts.get("title")), language=facts.get("language"))
