"""Forms of output: tables, JSON, CSV."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from types import NoneType
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ragdb.cli.ids import shortened
from ragdb.cli.text import clean
from ragdb.client.rows import dumps, record

if TYPE_CHECKING:
    from ragdb.cli.session import Session

# What a list has room for
HEADINGS = {
    "created_at": "time",
    "rank_mode": "mode",
    "limit_returned": "hits",
    "elapsed_ms": "ms",
    "query_text": "query",
    "size_bytes": "bytes",
    "language_majority": "language",
    "edge_count": "edges",
    "anchor_chunk_id": "anchor",
    "anchor_source": "source",
}
ONE_LINE = {"query_text", "title", "source", "anchor_source"}
# the room that a text needs, and one that may be cut. A list that lacks it has no empty columns;
# where that is not enough, it shows each row by its fields
LEAST, CUT = 8, 2
FOLDED = 24  # the room that a text of several lines is sure of
# texts that a list shows as short as they differ, as it does with UUIDs
IDS = {"slice_id", "anchor_chunk_id"}


def cell(value: Any) -> str:
    """A value in a table or in CSV."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    if isinstance(value, dict | list):
        return clean(dumps(value))
    if isinstance(value, bytes):
        return value.hex()
    if hasattr(value, "isoformat"):
        return str(value.isoformat(sep=" ", timespec="seconds"))
    return clean(str(value))


def rows(
    session: Session,
    data: Iterable[Any],
    columns: Sequence[str] = (),
    *,
    title: str | None = None,
    empty: str,
) -> None:
    """Print rows; see `Session.rows`."""
    if session.format == "ndjson":
        for row in data:
            print(dumps(record(row)))
        return
    records = [record(row) for row in data]
    if session.format == "json":
        print(dumps(records, indent=2))
    elif session.format == "csv":
        names = list(records[0]) if records else list(columns)
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        for one in records:
            writer.writerow([_csv(one[name]) for name in names])
    elif not records:
        session.note(empty)
    else:
        _table(session, records, list(columns or records[0]), title)


def one(session: Session, row: Any, *, title: str | None = None) -> None:
    """Print one row; see `Session.one`."""
    if session.format in ("json", "ndjson"):
        print(dumps(record(row), indent=2 if session.format == "json" else None))
    elif session.format == "csv":
        rows(session, [row], empty="")
    else:
        pairs = [{"field": name, "value": value} for name, value in record(row).items()]
        _table(session, pairs, ["field", "value"], title, header=False)


def _csv(value: Any) -> str:
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return cell(value)


def _table(
    session: Session,
    records: list[dict[str, Any]],
    columns: list[str],
    title: str | None,
    header: bool = True,
) -> None:
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=header, header_style="bold")
    if title:
        session.out.print(Text(title, style="bold"))
    # a field of one row alone is shown whole
    ids = {n for n in columns if header and (n in IDS or _all(records, n, UUID))}
    shown = {
        name: _column([r[name] for r in records], name in ids, session.verbose) for name in columns
    }
    heads = {name: HEADINGS.get(name, name.replace("_", " ")) for name in columns}
    widths = {name: max(map(cell_len, [heads[name], *shown[name]])) for name in columns}
    long = [name for name in columns if name in ONE_LINE]
    short_ones = {n for n in columns if n in ids or _is_short(records, n)}
    least = {
        n: widths[n]
        if n in short_ones - ids or _is_number(records, n)
        else min(widths[n], CUT if n in long else LEAST)
        for n in columns
    }
    if header and _width(least, columns) > session.out.width:
        columns = [n for n in columns if any(shown[n])]
        long = [n for n in long if n in columns]
        if _width(least, columns) > session.out.width:
            _fields(session, columns, heads, shown)
            return
    # what a line of text leaves out, others do not have to; a sentence can take several lines
    others = (
        widths[n] if n in short_ones else min(widths[n], FOLDED) for n in columns if n not in long
    )
    room = session.out.width - 2 * len(columns) - sum(others)
    for name in columns:
        short = name in short_ones
        table.add_column(
            heads[name],
            justify="right" if _is_number(records, name) else "left",
            overflow="ellipsis" if name in long else "fold",
            no_wrap=name in long or short,
            min_width=widths[name] if short and not session.verbose else None,
            max_width=max(16, room // len(long)) if name in long else None,
        )
    for row in zip(*(shown[name] for name in columns), strict=True):
        table.add_row(*map(Text, row))
    session.out.print(table)


def _width(widths: dict[str, int], columns: list[str]) -> int:
    return sum(widths[name] + 2 for name in columns) - 2


def _fields(
    session: Session, columns: list[str], heads: dict[str, str], shown: dict[str, list[str]]
) -> None:
    """Print rows that are too wide for a table: a line a field, an empty line between two rows."""
    from rich.table import Table
    from rich.text import Text

    for row, values in enumerate(zip(*(shown[name] for name in columns), strict=True)):
        if row:
            session.out.print()
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in zip(columns, values, strict=True):
            table.add_row(heads[name], Text(value))
        session.out.print(table)


def _is_short(records: list[dict[str, Any]], name: str) -> bool:
    """Whether a column is of times, which are not cut."""
    return _all(records, name, datetime | None) and not _all(records, name, NoneType)


def _is_number(records: list[dict[str, Any]], name: str) -> bool:
    return _all(records, name, int | float) and not _all(records, name, bool)


def _all(records: list[dict[str, Any]], name: str, kind: Any) -> bool:
    return all(isinstance(record[name], kind) for record in records)


def _column(values: list[Any], is_id: bool, whole: bool) -> list[str]:
    """A column of a table: ids as short as they differ, times of here to the minute, names."""
    if whole:
        return [cell(v) for v in values]
    if is_id:
        return list(map(shortened(values), values))
    return [_short(v) for v in values]


def _short(value: Any) -> str:
    if isinstance(value, datetime):
        return value.astimezone().strftime("%Y-%m-%d %H:%M")
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return clean(", ".join(value))
    return cell(value)
