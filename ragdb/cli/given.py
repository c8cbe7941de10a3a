"""What is given to `ragdb ingest` of every document, or more than once, read."""

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


def text(given: str | None) -> str | None:
    """What `--title` says. Raises UnicodeEncodeError: another text would be stored in its place."""
    if given is not None:
        given.encode()
    return given


def key_values(pairs: list[str]) -> dict[str, Any]:
    """What `--metadata` says: JSON where it is, or else a text.

    Raises Failure, UnicodeEncodeError.
    """
    from ragdb.client.rows import NotHeld, TooDeep, loads

    found: dict[str, Any] = {}
    for pair in pairs:
        pair.encode()
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise Failure(f"--metadata {pair[:80]!r} is not KEY=VALUE")
        try:
            found[key] = loads(value)
        except (NotHeld, TooDeep) as error:
            raise Failure(f"--metadata {key[:80]}: {error}") from None
        except ValueError:
            found[key] = value
    return found
