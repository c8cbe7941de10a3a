"""DOCX, converted to HTML and read as that."""

from __future__ import annotations

import re
import zipfile
from dataclasses import replace
from html import unescape
from io import BytesIO

import mammoth  # type: ignore[import-untyped]

from ragdb.readers import html
from ragdb.readers.document import Content, ReadError, one_line

_MAX_XML = 64 * 1024 * 1024
_MAX_ENTRIES = 10_000
_TITLE = re.compile(r"<dc:title>([^<]*)</dc:title>")
_LANGUAGE = re.compile(r"<dc:language>([^<]*)</dc:language>")
_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"


def read(data: bytes) -> Content:
    """Title and language are those of the document's properties."""
    try:
        _guard(data)
        converted = mammoth.convert_to_html(
            BytesIO(data),
            style_map=_STYLES,
            convert_image=mammoth.images.img_element(lambda image: {"src": ""}),
        ).value
        properties = _properties(data)
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


def _guard(data: bytes) -> None:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        entries = archive.infolist()
    # what a bomb declares; zipfile never unpacks more than that
    unpacked = sum(e.file_size for e in entries if e.filename.endswith((".xml", ".rels")))
    if len(entries) > _MAX_ENTRIES or unpacked > _MAX_XML:
        raise ReadError(
            "limits",
            f"it unpacks to {len(entries)} entries and {unpacked} bytes of XML",
            f"the limits are {_MAX_ENTRIES} entries and {_MAX_XML} bytes: split the document",
        )


def _properties(data: bytes) -> str:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        if "docProps/core.xml" not in archive.namelist():
            return ""
        return archive.read("docProps/core.xml").decode("utf-8", "replace")
