"""Forms of output: tables, JSON, CSV."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ragdb.cli.text import clean
from ragdb.client.rows import dumps, record

if TYPE_CHECKING:
    from ragdb.cli.session import Session


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
    for name in columns:
        number = all(
            isinstance(r[name], int | float) and not isinstance(r[name], bool) for r in records
        )
        table.add_column(
            name.replace("_", " "),
            justify="right" if number else "left",
            overflow="fold",
            # an id is to be copied whole
            no_wrap=all(isinstance(r[name], UUID) for r in records),
        )
    for one_record in records:
        table.add_row(*(Text(cell(one_record[name])) for name in columns))
    session.out.print(table)
