"""What a call returns: rows that print shortly, and lists of them that become tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, overload
from uuid import UUID

from ragdb.client.rows import dumps

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

T = TypeVar("T")

SHOWN = (
    "rank", "score", "id", "trace_id", "created_at", "run_id", "name", "kind", "rag", "eval",
    "corpus", "mode", "retrieval_mode", "query_text", "query", "uri", "source", "page", "title",
    "change", "status", "state", "verdict", "value", "limit_returned", "elapsed_ms",
    "error_code", "text",
)  # fmt: skip
"""The fields that a row is known by, in the order in which it shows them."""
LEAST = 5
"""Fields that a row of as many shows: those after these that are no secret and no hash."""
_HIDDEN = re.compile(
    r"(secret|token|key|signature|mac|hash|digest|commitment|corpus_id|oid)$|^doc_cid"
)
MOST = 20
"""Rows that a list shows."""


class Row:
    """A row of the database: a frozen dataclass that shows what it is known by."""

    __slots__ = ()

    def __repr__(self) -> str:
        has = [field.name for field in fields(self)]  # type: ignore[arg-type]
        known = [name for name in SHOWN if name in has]
        others = [name for name in has if name not in known and not _HIDDEN.search(name)]
        known += others[: max(0, LEAST - len(known))]
        values = [(name, getattr(self, name)) for name in known]
        shown = ", ".join(
            f"{name}={_short(v)}"
            for name, v in values
            if v not in (None, "", []) and not isinstance(v, bytes)
        )
        return f"{type(self).__name__}({shown})"


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str):
        text = " ".join(value.split())
        return repr(text if len(text) <= 60 else text[:59] + "…")
    if isinstance(value, UUID) or hasattr(value, "isoformat"):
        return str(value)
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


class Rows(list[T]):
    """The rows of a call: a list, that pandas and Arrow take too; `row` is their class."""

    def __init__(self, rows: Iterable[T], row: type[T]) -> None:
        super().__init__(rows)
        self.row = row

    @overload
    def __getitem__(self, at: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Rows[T]: ...
    def __getitem__(self, at: SupportsIndex | slice) -> T | Rows[T]:
        if isinstance(at, slice):
            return Rows(super().__getitem__(at), self.row)
        return super().__getitem__(at)

    def __repr__(self) -> str:
        shown = [repr(row) for row in list(self)[:MOST]]
        if len(self) > MOST:
            shown.append(f"… {len(self) - MOST} more")
        return "[" + ",\n ".join(shown) + "]"

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame with a column for each field (the extra `pandas`)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise missing("pandas") from error
        return pd.DataFrame(self._columns(), columns=[f.name for f in fields(self.row)])  # type: ignore[arg-type]

    def to_arrow(self) -> pa.Table:
        """An Arrow table with a column for each field (the extra `arrow`).

        The types are those of the fields, with rows or without; JSON and UUIDs are texts.
        """
        try:
            import pyarrow as pa
        except ImportError as error:
            raise missing("arrow") from error
        columns = self._columns()
        arrays = {}
        for field in fields(self.row):  # type: ignore[arg-type]
            name, kind = field.name, str(field.type).removesuffix(" | None")
            values = columns[name]
            if kind in ("Any", "UUID"):
                values = [_text(value) for value in values]
            arrays[name] = pa.array(values, _arrow(pa, kind))
        return pa.table(arrays)

    def _columns(self) -> dict[str, list[Any]]:
        names = [field.name for field in fields(self.row)]  # type: ignore[arg-type]
        return {name: [getattr(row, name) for row in self] for name in names}


class Recorded(Rows[T]):
    """The hits of a recorded retrieval, and its trace, which there is without a hit too."""

    def __init__(self, hits: Iterable[T], row: type[T], trace_id: UUID) -> None:
        super().__init__(hits, row)
        self.trace_id = trace_id

    @classmethod
    def of(cls, row: type[T], found: Sequence[Sequence[Any]]) -> Recorded[T]:
        """The rows of `Call.recorded_sql`."""
        at = 1 + [field.name for field in fields(row)].index("rank")  # type: ignore[arg-type]
        return cls((row(*one[1:]) for one in found if one[at] is not None), row, found[0][0])


def _text(value: Any) -> str | None:
    return None if value is None else str(value) if isinstance(value, UUID) else dumps(value)


def _arrow(pa: Any, kind: str) -> Any:
    """The Arrow type of the values of a field."""
    if kind.startswith("list["):
        return pa.list_(_arrow(pa, kind[5:-1]))
    return {
        "int": pa.int64(),
        "float": pa.float64(),
        "bool": pa.bool_(),
        "bytes": pa.binary(),
        "date": pa.date32(),
        "datetime": pa.timestamp("us", "UTC"),
        "timedelta": pa.duration("us"),
    }.get(kind, pa.string())


def missing(name: str) -> ImportError:
    return ImportError(f"{name} is not installed: pip install 'ragdb-postgres[{name}]'")
