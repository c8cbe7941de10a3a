"""CSV and TSV: a paragraph a row, each cell with the name of its column."""

from __future__ import annotations

import csv
import io

from ragdb.readers import tables
from ragdb.readers.document import Content, ReadError

_SAMPLE = 65_536
_MAX_CELL = 4 * 2**20


def read_csv(text: str) -> Content:
    """Fields are parted by comma, semicolon, tab or bar, whichever its first lines say."""
    first = text[:_SAMPLE]
    try:
        delimiter = csv.Sniffer().sniff(first, delimiters=",;\t|").delimiter
    except csv.Error:
        line = first.partition("\n")[0]
        delimiter = max(",;\t|", key=line.count)
    return _read(text, delimiter)


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
