"""JSONL: one document a line, in the layout of BEIR.

`_id` or `id`, `title`, `text`, `language` or `lang` and `metadata` are read; every other key joins
the metadata. Strings are kept as they are: offsets that a data set gives for its text stay right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import BinaryIO, NoReturn

from ragdb.client.rows import loads
from ragdb.readers import gz, language, structured
from ragdb.readers.document import Document, ReadError, clean, storable, without_form_feeds
from ragdb.readers.fields import fields

MEDIA_TYPE = "application/x-ndjson"
_BOM = b"\xef\xbb\xbf"


def read(stream: BinaryIO, *, max_line: int) -> Iterator[Document]:
    """The documents of a JSONL file, gzipped or not, one at a time.

    Memory is that of one line, whatever the file. An empty record is a document that `is_empty`.
    A line repeated exactly is read once. Raises ReadError `malformed`, naming the line, for a line
    that is not an object with a text, or that has the id of an earlier one but other content.
    """
    seen: dict[str, bytes] = {}
    for number, line in lines(stream, max_line):
        if not line.strip():
            continue
        document = _document(line, number)
        identity = document.fragment or ""
        digest = hashlib.sha256(line).digest()[:16]
        if identity not in seen:
            seen[identity] = digest
            yield document
        elif seen[identity] != digest:
            malformed(
                number, f'the id "{identity[:80]}" has been used', "give each record its own id"
            )


def _document(line: bytes, number: int) -> Document:
    try:
        record = loads(line.decode())
    except UnicodeDecodeError:
        malformed(number, "it is not UTF-8", "convert the file to UTF-8")
    except ValueError as error:
        malformed(number, f"it is not JSON ({str(error)[:80]})", "correct or remove the line")
    if not isinstance(record, dict):
        malformed(number, "it is not an object", 'write {"_id": …, "title": …, "text": …}')
    try:
        # a record of a log has no text, and its fields are what it says
        text = record.pop("text") if "text" in record else "\n".join(structured.lines(record))
        title, declared, identity, metadata = fields(record, ("_id", "id"))
        metadata = storable(metadata)
    except ReadError as error:
        malformed(number, error.reason, error.hint)
    if text is None:
        text = ""
    if not isinstance(text, str):
        malformed(number, '"text" is not a string', 'write the text as "text": "…"')
    text, replaced = clean(without_form_feeds(text))
    identity = clean(identity)[0] if identity else None
    return Document(
        text=text,
        title=title,
        language=language.normalise(declared),
        metadata=metadata,
        external_id=identity,
        replaced=replaced,
        data=line,
        media_type=MEDIA_TYPE,
        fragment=identity or f"line-{number}",
    )


def lines(stream: BinaryIO, max_line: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, gzipped or not, with their numbers from 1."""
    number = 0
    rest = b""
    for block in gz.blocks(stream):
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            number += 1
            yield number, _bare(line, number, max_line)
        _bare(rest, number + 1, max_line)
    if rest:
        yield number + 1, _bare(rest, number + 1, max_line)


def _bare(line: bytes, number: int, max_line: int) -> bytes:
    """A line without what is around its text. Raises ReadError `too_large`, also for its start."""
    if len(line) > max_line:
        raise ReadError(
            "too_large",
            f"line {number} is over {max_line} bytes",
            "raise the limit with --max-bytes, or split the record",
        )
    line = line.removesuffix(b"\r")
    return line.removeprefix(_BOM) if number == 1 else line


def malformed(number: int, reason: str, hint: str) -> NoReturn:
    """Refuse a line."""
    raise ReadError("malformed", f"line {number}: {reason}", hint)
