"""A page of a PDF as a picture, and where on it some words stand. `child` runs it.

A picture is what a browser may be shown of a file that somebody else made: nothing in it runs.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from dataclasses import dataclass
from typing import Any

from ragdb.client.counting import counted
from ragdb.readers.document import ReadError

_WIDTH = 1000
_HEIGHT = 3000
_MAX_PLACES = 500


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its size as drawn, how many there are, where words stand, and its PNG.

    A place is the number of what was looked for, then left, top, width and height.
    """

    width: int
    height: int
    pages: int
    places: tuple[tuple[int, float, float, float, float], ...]
    png: bytes


def read(data: bytes, number: int, wanted: list[str], is_drawn: bool) -> bytes:
    """The page as `parsed` takes it. Raises ReadError."""
    # here, because `sandbox` needs the rest; the child has imported it before it was confined
    from pypdfium2 import PdfDocument, PdfiumError  # type: ignore[import-untyped]

    try:
        pdf = PdfDocument(data)
        if not 1 <= number <= len(pdf):
            raise ReadError("no_page", f"it has {counted(len(pdf), 'page')}", "name one of them")
        page = pdf[number - 1]
        scale = min(_WIDTH / page.get_width(), _HEIGHT / page.get_height())
        width = max(1, round(scale * page.get_width()))
        height = max(1, round(scale * page.get_height()))
        head = {"width": width, "height": height, "pages": len(pdf)}
        text_page = page.get_textpage()
        places = [
            (n, *box)
            for n, text in enumerate(wanted)
            for box in _boxes(text_page, text, scale, page)
        ]
        png = _png(page.render(scale=scale, rev_byteorder=True)) if is_drawn else b""
    except PdfiumError:
        raise ReadError("corrupt", "the page cannot be drawn", "export it again") from None
    return json.dumps({**head, "places": places[:_MAX_PLACES]}).encode() + b"\n" + png


def parsed(answer: bytes) -> Page:
    head, _, png = answer.partition(b"\n")
    found: dict[str, Any] = json.loads(head)
    return Page(
        found["width"],
        found["height"],
        found["pages"],
        tuple((n, x, y, w, h) for n, x, y, w, h in found["places"]),
        png,
    )


def _boxes(
    text_page: Any, wanted: str, scale: float, page: Any
) -> list[tuple[float, float, float, float]]:
    """Where a page says some words, whatever white space and broken lines are between them."""
    words = wanted.split()
    if not words:
        return []
    between = r"[\s\ufffe\u00ad]*" if len(words) > 1 else ""
    said = re.compile(
        r"(?<!\w)" * (len(words) == 1) + between.join(map(_written, words)), re.IGNORECASE
    )
    found = []
    for match in said.finditer(text_page.get_text_range()):
        for n in range(text_page.count_rects(match.start(), match.end() - match.start())):
            left, bottom, right, top = text_page.get_rect(n)
            found.append(
                (
                    round(scale * left, 1),
                    round(scale * (page.get_height() - top), 1),
                    round(scale * (right - left), 1),
                    round(scale * (top - bottom), 1),
                )
            )
        if len(found) > _MAX_PLACES:
            break
    return found


def _written(word: str) -> str:
    """A pattern of the word, also with the mark of PDFium for a hyphen that ends a line in it."""
    return r"(?:\ufffe\s?)?".join(re.escape(c) if c != "-" else r"(?:-|\ufffe\s?)" for c in word)


def _png(bitmap: Any) -> bytes:
    """Pixels as a PNG: no library that is here anyway writes one."""
    width, height, channels = bitmap.width, bitmap.height, bitmap.n_channels
    pixels = bytes(bitmap.buffer)
    rows = b"".join(
        b"\0" + pixels[at : at + width * channels]
        for at in range(0, height * bitmap.stride, bitmap.stride)
    )
    kind = {1: 0, 3: 2, 4: 6}[channels]
    header = struct.pack("!IIBBBBB", width, height, 8, kind, 0, 0, 0)

    def chunk(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack("!I", len(body)) + name + body + struct.pack("!I", zlib.crc32(name + body))
        )

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows, 6))
        + chunk(b"IEND", b"")
    )
