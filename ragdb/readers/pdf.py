"""PDF text, page by page, by PDFium."""

from __future__ import annotations

import re

from pypdfium2 import (  # type: ignore[import-untyped]
    PdfDocument,
    PdfiumError,
    raw,
)

from ragdb.readers.document import Content, ReadError, clean, newlines, one_line

# PDFium's mark for a hyphen that only broke a line
_SOFT_HYPHEN = re.compile("\ufffe\n?")
_MAX_CHARACTERS = 128 * 1024 * 1024


def read(data: bytes) -> Content:
    """Pages are joined by form feeds, which no page holds of its own."""
    try:
        pdf = PdfDocument(data)
    except PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise ReadError(
                "encrypted", "it is encrypted", "save a copy without a password"
            ) from None
        raise ReadError("corrupt", "it is no readable PDF", "export or download it again") from None
    texts: list[str] = []
    pages: list[tuple[int, int]] = []
    offset = replaced = empty = 0
    for number in range(1, len(pdf) + 1):
        text, count = _page(pdf, number)
        pages.append((offset, number))
        texts.append(text)
        replaced += count
        empty += not text
        offset += len(text) + 1
        if offset > _MAX_CHARACTERS:
            raise ReadError(
                "limits", f"it has over {_MAX_CHARACTERS} characters", "split the document"
            )
    if empty == len(texts):
        raise ReadError(
            "no_text",
            f"none of its {len(texts)} pages has text: it is scanned or drawn",
            "run OCR on it first, for example `ocrmypdf in.pdf out.pdf`",
        )
    return Content(
        text="\f".join(texts),
        title=one_line(pdf.get_metadata_dict().get("Title")),
        pages=tuple(pages),
        replaced=replaced,
        pages_without_text=empty,
    )


def _page(pdf: PdfDocument, number: int) -> tuple[str, int]:
    try:
        page = pdf[number - 1]
        text_page = page.get_textpage()
        text = text_page.get_text_range()
        text_page.close()
        page.close()
    except PdfiumError:
        raise ReadError(
            "corrupt", f"its page {number} cannot be read", "export or download it again"
        ) from None
    text, replaced = clean(newlines(text).replace("\f", "\n"))
    return _SOFT_HYPHEN.sub("", text).strip(), replaced
