"""Times as they are typed."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from ragdb.cli.session import Failure

if TYPE_CHECKING:
    from ragdb.database import Database


def moment(option: str, text: str | None) -> datetime | None:
    """A time in the zone of this machine, where it names none, or so long ago. Raises Failure."""
    if text is None:
        return None
    try:
        if ago := re.fullmatch(r"([0-9]{1,5})([dh])", text):
            unit = timedelta(days=1) if ago[2] == "d" else timedelta(hours=1)
            return datetime.now().astimezone() - int(ago[1]) * unit
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise Failure(
            f"{option} {text[:80]!r} is not a time",
            hint="write it like 2026-03-01T12:00, or 7d or 12h for so long ago",
        ) from None


def version(db: Database, corpus: str, option: str, text: str | None) -> int | None:
    """A version of a corpus, by its number or by a time. Raises Failure."""
    if text is None:
        return None
    if text.isdecimal():
        return min(int(text[:20]), 2**63 - 1)  # which is in the future
    try:
        at = moment(option, text)
    except Failure as error:
        raise Failure(
            f"{option} {text[:80]!r} is neither the number of a version nor a time",
            hint=f"`ragdb corpus history {corpus}` lists the versions; for a time, {error.hint}",
        ) from None
    assert at is not None
    return db.version_at(corpus, at)


def days(option: str, text: str) -> timedelta:
    """A number of days, such as 90 or 90d. Raises Failure."""
    try:
        return timedelta(days=float(text.removesuffix("d")))
    except (ValueError, OverflowError):
        raise Failure(f"{option} {text[:80]!r} is not a number of days", hint="write 90") from None
