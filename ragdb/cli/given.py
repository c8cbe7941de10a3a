"""What is given to `ragdb ingest` more than once, read."""

from __future__ import annotations

from typing import Any

from ragdb.cli.session import Failure


def convert_rules(given: list[str]) -> dict[str, str]:
    """What `--convert` says: the command of each ending. Raises Failure."""
    from ragdb.readers import converting

    try:
        return converting.rules(given)
    except ValueError as error:
        raise Failure(str(error)) from None


def key_values(pairs: list[str]) -> dict[str, Any]:
    """What `--metadata` says: JSON where it is, or else a text. Raises Failure."""
    import json

    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise Failure(f"--metadata {pair[:80]!r} is not KEY=VALUE")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found
