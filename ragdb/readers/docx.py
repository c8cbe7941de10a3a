"""DOCX, converted to HTML and read as that."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from io import BytesIO

import mammoth  # type: ignore[import-untyped]

from ragdb.readers import html
from ragdb.readers.archive import Parts
from ragdb.readers.document import Content, ReadError, one_line

_TITLE = re.compile(r"<dc:title>([^<]*)</dc:title>")
_LANGUAGE = re.compile(r"<dc:language>([^<]*)</dc:language>")
# elements whose text mammoth would leave out, and those that it reads
_LOST = re.compile(rb"(</?)(?:w:(fldSimple|dir|bdo|ruby|rubyBase|cr)|m:(?!\w*Pr\b)(\w+))\b")
_READ = {b"cr": b"w:br", b"r": b"w:r", b"t": b"w:t"}
_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"


def read(data: bytes) -> Content:
    """Title and language are those of the document's properties."""
    try:
        parts = Parts(data)
        converted = mammoth.convert_to_html(
            BytesIO(_whole(parts) or data),
            style_map=_STYLES,
            convert_image=mammoth.images.img_element(lambda image: {"src": ""}),
        ).value
        properties = parts.read("docProps/core.xml").decode("utf-8", "replace")
    except ReadError:
        raise
    except MemoryError:
        raise
    except Exception as error:
        # mammoth raises whatever its XML parser meets
        raise ReadError(
            "corrupt", f"it is not a readable DOCX ({type(error).__name__})", "save it again"
        ) from None
    content = html.read(f"<body>{converted}</body>")
    title, language = (_TITLE.search(properties), _LANGUAGE.search(properties))
    return replace(
        content,
        title=(one_line(unescape(title[1])) if title else None) or content.title,
        language=language[1] if language else None,
    )


def _whole(parts: Parts) -> bytes | None:
    """The document with its fields and formulas as mammoth reads them; None: there are none."""
    changed = {}
    for name in ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml"):
        source = parts.read(name)
        found = _LOST.sub(_read, source)
        if found != source:
            changed[name] = found
    return parts.copy(changed) if changed else None


def _read(lost: re.Match[bytes]) -> bytes:
    name = lost[2] or lost[3]
    over = b"<w:r><w:t>/</w:t></w:r>" if lost[0] == b"</m:num" else b""
    return over + lost[1] + _READ.get(name, b"w:smartTag")
