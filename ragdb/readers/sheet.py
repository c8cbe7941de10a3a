"""Spreadsheets (XLSX, XLSM, XLSB, XLS, ODS), by calamine: a paragraph a row, a heading a sheet."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, time
from io import BytesIO
from typing import Any

from python_calamine import CalamineError, CalamineWorkbook, PasswordError

from ragdb.readers import tables
from ragdb.readers.archive import Parts
from ragdb.readers.building import Builder
from ragdb.readers.document import Content, ReadError


def read(data: bytes) -> Content:
    """Each cell with the name of its column, which the first row of its sheet gives."""
    if data.startswith(b"PK"):
        Parts(data)  # for its limits
    built = Builder()
    try:
        book = CalamineWorkbook.from_filelike(BytesIO(data))
        for about in book.sheets_metadata:
            if str(about.typ).endswith("WorkSheet"):
                built.heading(1, about.name)
                built.block("\n\n".join(tables.records(_rows(book.get_sheet_by_name(about.name)))))
    except PasswordError:
        raise ReadError("encrypted", "it is encrypted", "save it without a password") from None
    except CalamineError as error:
        raise ReadError(
            "corrupt", f"it is not a readable spreadsheet ({str(error)[:80]})", "save it again"
        ) from None
    return built.content()


def _rows(sheet: Any) -> Iterator[list[str]]:
    for row in sheet.iter_rows():
        yield [_said(cell) for cell in row]


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
