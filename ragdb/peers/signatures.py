"""What is signed of an event, and whether its author signed it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ragdb.ledger.crypto import verify
from ragdb.ledger.keys import Signer
from ragdb.peers import PeerError

_PREFIX = b"ragdb-event/1\n"


def signed_bytes(event: str) -> bytes:
    """The bytes that are signed. Raises PeerError."""
    try:
        return _PREFIX + event.encode()
    except UnicodeEncodeError:
        raise PeerError("an event is not valid Unicode") from None


def sign(signer: Signer, events: Sequence[str]) -> list[bytes]:
    """The signatures of some events."""
    return [signer.sign(signed_bytes(event)) for event in events]


def is_signed(event: str, signature: bytes) -> bool:
    """Whether the author that an event names signed it."""
    try:
        author = bytes.fromhex(json.loads(event)["author"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    return len(author) == 32 and verify(author, signed_bytes(event), signature)


def check(page: Any) -> None:
    """Refuse a page with an event that its author did not sign. Raises PeerError.

    What else must be right of a page, the database checks.
    """
    events = page.get("events") if isinstance(page, dict) else None
    for item in events if isinstance(events, list) else ():
        event, signature = (
            (item.get("event"), item.get("signature")) if isinstance(item, dict) else (None, None)
        )
        if not isinstance(event, str) or not isinstance(signature, str):
            raise PeerError("the peer sent something that is not an event")
        try:
            is_good = is_signed(event, bytes.fromhex(signature))
        except ValueError:
            is_good = False
        if not is_good:
            raise PeerError(
                f"an event is refused: its author did not sign it: {event[:80]!r}",
                hint="the peer, or somebody between, forges events; nothing of them was taken",
            )
