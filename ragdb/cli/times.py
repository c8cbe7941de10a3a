"""Times as they are typed."""

from __future__ import annotations

from datetime import datetime

from ragdb.cli.session import Failure


def moment(option: str, text: str | None) -> datetime | None:
    """A time in the zone of this machine, where it names none. Raises Failure."""
    try:
        return datetime.fromisoformat(text).astimezone() if text is not None else None
    except ValueError:
        raise Failure(
            f"{option} {text!r} is not a time", hint="write it like 2026-03-01T12:00"
        ) from None
