"""RTF, by striprtf."""

from __future__ import annotations

import re

from striprtf.striprtf import rtf_to_text  # type: ignore[import-untyped]

from ragdb.readers.document import Content, ReadError, clean, one_line

_TITLE = re.compile(r"{\\title\s+([^{}]*)}")


def read(data: bytes) -> Content:
    """Its text; the title is that of its properties."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise ReadError("corrupt", "it is not RTF", "save it again")
    # what is not ASCII is escaped in RTF
    source = data.decode("latin-1")
    text, replaced = clean(str(rtf_to_text(source, errors="replace")))
    paragraphs = (line.strip() for line in text.replace("\xa0", " ").split("\n"))
    title = _TITLE.search(source)
    return Content(
        text="\n\n".join(filter(None, paragraphs)),
        title=one_line(str(rtf_to_text("{\\rtf1 " + title[1] + "}"))) if title else None,
        replaced=replaced,
    )
