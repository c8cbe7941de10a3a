"""PDF text, page by page, by PDFium."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import chain, islice, pairwise

from pypdfium2 import (  # type: ignore[import-untyped]
    PdfDocument,
    PdfiumError,
    raw,
)

from ragdb.readers.document import Content, ReadError, clean, newlines, one_line
from ragdb.readers.telling import tell

# PDFium's mark for a hyphen that ends a line
_HYPHEN = "\ufffe"
_LAST = re.compile(r"[\w-]+\Z")
_WORD = re.compile(r"[\w-]+")
_LONGEST = 60  # characters of a part of a word
_BETWEEN = "\n\n"
_MAX_CHARACTERS = 128 * 1024 * 1024
_MAX_OUTLINE = 10_000


def read(data: bytes) -> Content:
    """Pages are parted by an empty line."""
    try:
        pdf = PdfDocument(data)
    except PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise ReadError(
                "encrypted", "it is encrypted", "save a copy without a password"
            ) from None
        raise ReadError(
            "corrupt", "it is not a readable PDF", "export or download it again"
        ) from None
    texts: list[str] = []
    pages: list[tuple[int, int]] = []
    offset = replaced = 0
    for number in range(1, len(pdf) + 1):
        tell(number - 1, len(pdf))
        text, count = _page(pdf, number)
        texts.append(text)
        replaced += count
        offset += len(text) + len(_BETWEEN)
        if offset > _MAX_CHARACTERS:
            raise ReadError(
                "limits", f"it has over {_MAX_CHARACTERS} characters", "split the document"
            )
    texts = _joined(texts)
    offset = 0
    for number, text in enumerate(texts, 1):
        pages.append((offset, number))
        offset += len(text) + len(_BETWEEN)
    empty = texts.count("")
    if empty == len(texts):
        lacking = f"none of its {empty} pages has text" if empty > 1 else "its page has no text"
        raise ReadError(
            "no_text",
            f"{lacking}: it is scanned or drawn",
            "run OCR on it first, for example `ocrmypdf in.pdf out.pdf`",
        )
    return Content(
        text=_BETWEEN.join(texts),
        title=one_line(pdf.get_metadata_dict().get("Title")),
        pages=tuple(pages),
        headings=_outline(pdf, texts, [offset for offset, _ in pages]),
        replaced=replaced,
        pages_without_text=empty,
    )


def _outline(
    pdf: PdfDocument, texts: list[str], offsets: list[int]
) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """The bookmarks as headings: each begins where its page says its title, else with its page."""
    found: list[tuple[int, tuple[str, ...]]] = []
    path: list[str] = []
    last = (-1, 0)  # page, and how far in it titles were found
    try:
        for entry in islice(pdf.get_toc(), _MAX_OUTLINE):
            title = one_line(clean(entry.get_title())[0])
            if title is None:
                continue
            path = [*path[: entry.level], title]
            target = entry.get_dest()
            number = target.get_index() if target else None
            if number is None or not 0 <= number < len(texts):
                continue
            begin = last[1] if last[0] == number else 0
            said = re.compile(r"\s+".join(map(re.escape, title.split())), re.IGNORECASE)
            match = said.search(texts[number], begin)
            if match:
                last = (number, match.end())
            found.append((offsets[number] + (match.start() if match else begin), tuple(path)))
    except PdfiumError:
        pass  # a broken outline is none; the text is what was asked for
    # of several at one place the last one holds, the innermost
    return tuple(sorted(dict(found).items()))


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
    return text.strip(), replaced


def _joined(texts: list[str]) -> list[str]:
    """The pages with words whole that a line end parts, by how the document writes them elsewhere.

    A hyphen that ends a line may be of the word, as in `--no-blobs` and `ChaCha-Poly1305`.
    """
    if not any(_HYPHEN in text for text in texts):
        return texts
    parts = [
        [part.removeprefix("\n") if n else part for n, part in enumerate(text.split(_HYPHEN))]
        for text in texts
    ]
    parted = [_parted(*two) for page in parts for two in pairwise(page)]
    forms = {form for begin, end in parted for form in (begin + end, f"{begin}-{end}")}
    said = Counter(
        word for text in texts for found in _WORD.finditer(text) if (word := found[0]) in forms
    )
    hyphens = iter(["-" * _keeps_hyphen(*two, said) for two in parted])
    return [
        "".join(chain(page[:1], *((next(hyphens), part) for part in page[1:]))).strip()
        for page in parts
    ]


def _parted(before: str, after: str) -> tuple[str, str]:
    """The two parts of a word that a hyphen parts."""
    begin, end = _LAST.search(before[-_LONGEST:]), _WORD.match(after[:_LONGEST])
    return begin[0] if begin else "", end[0] if end else ""


def _keeps_hyphen(begin: str, end: str, said: Mapping[str, int]) -> bool:
    if not begin or not end:
        return False
    whole, hyphened = said[begin + end], said[f"{begin}-{end}"]
    if whole != hyphened:
        return hyphened > whole
    # else it is the mark of a line end where it may be: before a letter of the same case
    is_of_one_case = end[0].islower() or (begin.isupper() and end.isupper())
    return begin.startswith("-") or not is_of_one_case
