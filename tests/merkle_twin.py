"""RFC 6962, section 2.1, word for word: the twin of the tree in SQL and of the one in Python."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from datetime import UTC, datetime


def leaf(entry: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + entry).digest()


def node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def split(count: int) -> int:
    k = 1
    while 2 * k < count:
        k *= 2
    return k


def root(leaves: Sequence[bytes]) -> bytes:
    """MTH of hashes of leaves."""
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256(b"").digest()
    k = split(len(leaves))
    return node(root(leaves[:k]), root(leaves[k:]))


def path(number: int, leaves: Sequence[bytes]) -> list[bytes]:
    """PATH(m, D[n])."""
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if number < k:
        return [*path(number, leaves[:k]), root(leaves[k:])]
    return [*path(number - k, leaves[k:]), root(leaves[:k])]


def proof(old: int, leaves: Sequence[bytes]) -> list[bytes]:
    """PROOF(m, D[n])."""
    return _subproof(old, leaves, True) if 0 < old < len(leaves) else []


def _subproof(old: int, leaves: Sequence[bytes], is_whole: bool) -> list[bytes]:
    if old == len(leaves):
        return [] if is_whole else [root(leaves)]
    k = split(len(leaves))
    if old <= k:
        return [*_subproof(old, leaves[:k], is_whole), root(leaves[k:])]
    return [*_subproof(old - k, leaves[k:], False), root(leaves[:k])]


def entry(kind: str, id: str, hashed: bytes, sealed_at: datetime) -> bytes:
    """An entry of the ledger as docs/ledger.md describes it."""
    passed = sealed_at - datetime(2000, 1, 1, tzinfo=UTC)
    micros = (passed.days * 86400 + passed.seconds) * 1_000_000 + passed.microseconds
    fields = (b"ragdb.ledger/1", kind.encode(), id.encode(), hashed, struct.pack(">q", micros))
    return b"".join(struct.pack(">i", len(field)) + field for field in fields)
