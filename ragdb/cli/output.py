"""Forms of output: tables, JSON, CSV."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
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
    columns: Sequence[str] | None = None,
    *,
    title: str | None = None,
    empty: str = "nothing to show",
) -> None:
    """Print rows. `columns` are those of the table; JSON and CSV always have all."""
    if session.format == "ndjson":
        for row in data:
            print(dumps(record(row)))
        return
    records = [record(row) for row in data]
    if session.format == "json":
        print(dumps(records, indent=2))
    elif session.format == "csv":
        names = list(records[0]) if records else list(columns or [])
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        for one in records:
            writer.writerow([_csv(one[name]) for name in names])
    elif not records:
        session.note(empty)
    else:
        _table(session, records, list(columns or records[0]), title)


def one(session: Session, row: Any, *, title: str | None = None) -> None:
    """Print one row: a list of its fields for people, an object in JSON."""
    if session.format in ("json", "ndjson"):
        print(dumps(record(row), indent=2 if session.format == "json" else None))
    elif session.format == "csv":
        rows(session, [row])
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
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=header, header_style="bold")
    if title:
        session.out.print(Text(title, style="bold"))
    shown = []
    for name in columns:
        values = [r[name] for r in records]
        number = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
        # a field of one row alone is shown whole
        is_id = header and (name in IDS or all(isinstance(v, UUID) for v in values))
        one_line = name in ONE_LINE or is_id or all(isinstance(v, datetime) for v in values)
        table.add_column(
            HEADINGS.get(name, name.replace("_", " ")),
            justify="right" if number else "left",
            overflow="ellipsis" if name in ONE_LINE else "fold",
            no_wrap=one_line,
        )
        shown.append([Text(text) for text in _column(values, is_id, session.verbose)])
    for row in zip(*shown, strict=True):
        table.add_row(*row)
    session.out.print(table)


def _column(values: list[Any], is_id: bool, whole: bool) -> list[str]:
    """A column of a table: ids as short as they differ, times of here to the minute."""
    if whole:
        return [cell(v) for v in values]
    if is_id:
        return list(map(shortened(values), values))
    if all(isinstance(v, datetime) for v in values):
        return [v.astimezone().strftime("%Y-%m-%d %H:%M") for v in values]
    return [cell(v) for v in values]
