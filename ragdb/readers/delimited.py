"""CSV and TSV: a paragraph a row, each cell with the name of its column."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter

from ragdb.readers import tables
from ragdb.readers.document import Content, ReadError

_SAMPLE = 65_536
_MAX_CELL = 4 * 2**20
# a comma is the last: it also stands in numbers
_DELIMITERS = "\t;|,"
_NAMED = re.compile(r"sep=([\t;|,])\n")


def read_csv(text: str) -> Content:
    """Fields are parted by tab, semicolon, bar or comma, by which most rows are as wide as others.

    A first line `sep=;`, as spreadsheets write it, says so itself.
    """
    if named := _NAMED.match(text):
        return _read(text[named.end() :], named[1])
    return _read(text, max(_DELIMITERS, key=lambda delimiter: _fit(text, delimiter)))


def _fit(text: str, delimiter: str) -> tuple[float, int]:
    """How many of the first rows have the width that most have, and that width."""
    csv.field_size_limit(_MAX_CELL)
    rows = [row for row in csv.reader(io.StringIO(text[:_SAMPLE]), delimiter=delimiter) if row]
    if len(text) > _SAMPLE and len(rows) > 1:
        rows.pop()  # it is cut
    widths = Counter(len(row) for row in rows if len(row) > 1)
    width, count = max(widths.items(), key=lambda found: (found[1], found[0]), default=(0, 0))
    return (count / len(rows) if rows else 0, width)


def read_tsv(text: str) -> Content:
    return _read(text, "\t")


def _read(text: str, delimiter: str) -> Content:
    csv.field_size_limit(_MAX_CELL)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return Content(text="\n\n".join(tables.records(rows)))
    except csv.Error as error:
        if "limit" in str(error):
            raise ReadError(
                "limits",
                f"line {rows.line_num}: a field is over {_MAX_CELL} characters",
                "look for a quotation mark that nothing closes",
            ) from None
        raise ReadError(
            "malformed", f"line {rows.line_num}: {str(error)[:80]}", "save it again as CSV"
        ) from None
