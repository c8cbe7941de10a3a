"""Forms of output: tables, JSON, CSV."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ragdb.cli.ids import shortened
from ragdb.cli.text import clean
from ragdb.client.rows import dumps, record

if TYPE_CHECKING:
    from pathlib import Path

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


def value(session: Session, **fact: Any) -> None:
    """Print the one value that a verb is for: bare for people, an object in JSON."""
    if session.format == "table":
        print(*fact.values())
    else:
        one(session, fact)


def lines(session: Session, name: str, values: Iterable[str]) -> None:
    """Print a list of names: a line each for people, rows of one field for programs."""
    if session.format == "table":
        for value in values:
            print(value)
    else:
        rows(session, [{name: value} for value in values])


def jsonl(session: Session, data: Iterable[Any]) -> None:
    """Print rows that another verb reads: an object a line, or all as one array in JSON."""
    rows(session if session.format == "json" else replace(session, format="ndjson"), data)


def text(session: Session, out: Path | None, written: str) -> None:
    """Write a text to a file, or print it: bare for people, in an object in JSON."""
    if out is not None:
        from ragdb.ledger import files

        files.replace(out, written.encode())
        done(session, f"wrote {out}", file=str(out))
    elif session.format == "table":
        sys.stdout.write(written)
    else:
        one(session, {"text": written})


def done(session: Session, message: str, **facts: Any) -> None:
    """What a verb did that has nothing to show: a line of log, and an object in JSON."""
    session.note(message)
    if session.format != "table":
        one(session, facts)


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
    short_ones = {n for n in columns if n in ids or _all(records, n, datetime | None)}
    # what a line of text leaves out, others do not have to; a sentence can take several lines
    others = (
        widths[n] if n in short_ones else min(widths[n], FOLDED) for n in columns if n not in long
    )
    room = session.out.width - 2 * len(columns) - sum(others)
    for name in columns:
        short = name in short_ones
        number = _all(records, name, int | float) and not _all(records, name, bool)
        table.add_column(
            heads[name],
            justify="right" if number else "left",
            overflow="ellipsis" if name in long else "fold",
            no_wrap=name in long or short,
            min_width=widths[name] if short and not session.verbose else None,
            max_width=max(16, room // len(long)) if name in long else None,
        )
    for row in zip(*shown.values(), strict=True):
        table.add_row(*map(Text, row))
    session.out.print(table)


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
