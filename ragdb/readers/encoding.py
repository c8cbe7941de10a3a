"""Bytes to text: byte order mark, UTF-8, then a guess."""

from __future__ import annotations

import codecs
import contextlib
import re

from ragdb.readers import legacy
from ragdb.readers.document import ReadError, clean, newlines

# UTF-32 first: its mark begins with that of UTF-16
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_SAMPLE = 65_536


def decode(data: bytes, declared: str | None = None) -> tuple[str, int]:
    """Text with LF line ends, and how many characters had to be replaced by U+FFFD.

    `declared` is the encoding that the file or its server names. Raises ReadError `binary` for what
    is not a text in any encoding.
    """
    text, broken = _decode(data, declared)
    sample = text[:_SAMPLE]
    if len(_CONTROL.findall(sample)) * 10 > len(sample):
        raise _binary()
    text, replaced = clean(newlines(text))
    return text, broken + replaced


def _decode(data: bytes, declared: str | None) -> tuple[str, int]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _replacing(data[len(mark) :], encoding)
    try:
        return data.decode(), 0
    except UnicodeDecodeError:
        pass
    if declared:
        # a name nobody knows, a codec that is none of text, or a false declaration
        with contextlib.suppress(LookupError, UnicodeError):
            return data.decode(declared), 0
    # a few broken bytes in UTF-8 are damage; many are another encoding
    text, broken = _replacing(data, "utf-8")
    if sum(len(run) for run in re.findall(r"[^\x00-\x7f\ufffd]+", text)) > 2 * broken:
        return text, broken
    guessed = legacy.guess(data)
    if guessed is None:
        raise _binary()
    return _replacing(data, guessed)


def _replacing(data: bytes, encoding: str) -> tuple[str, int]:
    text = data.decode(encoding, "replace")
    return text, text.count("\ufffd") - _own_replacements(data, encoding)


def _own_replacements(data: bytes, encoding: str) -> int:
    """U+FFFD that the source already had."""
    try:
        return data.count("\ufffd".encode(encoding))
    except UnicodeEncodeError:
        return 0


def _binary() -> ReadError:
    return ReadError(
        "binary",
        "it is not text in any encoding known",
        "give a text, Markdown, HTML, PDF, DOCX or JSONL file, or save it as UTF-8",
    )
