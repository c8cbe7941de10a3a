"""RTF, by striprtf."""

from __future__ import annotations

import re
from collections.abc import Callable

from striprtf import striprtf

from ragdb.readers.document import Content, ReadError, clean, one_line

_text: Callable[..., str] = striprtf.rtf_to_text
_TITLE = re.compile(r"{\\title\s+([^{}]*)}")


def read(data: bytes) -> Content:
    """Its text; the title is that of its properties."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise ReadError("corrupt", "it is not RTF", "save it again")
    # what is not ASCII is escaped in RTF
    source = data.decode("latin-1")
    text, replaced = clean(_text(source, errors="replace"))
    paragraphs = (line.strip() for line in text.replace("\xa0", " ").split("\n"))
    title = _TITLE.search(source)
    return Content(
        text="\n\n".join(filter(None, paragraphs)),
        title=one_line(_text("{\\rtf1 " + title[1] + "}")) if title else None,
        replaced=replaced,
    )
