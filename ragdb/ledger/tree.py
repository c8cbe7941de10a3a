"""The Merkle tree of RFC 6962 and RFC 9162, verified without the database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

EMPTY = hashlib.sha256(b"").digest()


def leaf_hash(entry: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def root(hashes: Iterable[bytes]) -> bytes:
    """The root over hashes of leaves, in memory that grows with their number's logarithm."""
    full: list[tuple[int, bytes]] = []
    for hashed in hashes:
        size, top = 1, hashed
        while full and full[-1][0] == size:
            top = node_hash(full.pop()[1], top)
            size *= 2
        full.append((size, top))
    if not full:
        return EMPTY
    top = full.pop()[1]
    while full:
        top = node_hash(full.pop()[1], top)
    return top


def is_included(leaf: bytes, number: int, size: int, path: Sequence[bytes], top: bytes) -> bool:
    """Whether a path from the leaf up shows that the tree has the leaf at that number, from 0."""
    if not 0 <= number < size or any(len(h) != 32 for h in path):
        return False
    return _up(leaf, number, size, list(path)) == top


def _up(leaf: bytes, number: int, size: int, path: list[bytes]) -> bytes | None:
    if size == 1:
        return leaf if not path else None
    if not path:
        return None
    half = _half(size)
    if number < half:
        below = _up(leaf, number, half, path[:-1])
        return below and node_hash(below, path[-1])
    below = _up(leaf, number - half, size - half, path[:-1])
    return below and node_hash(path[-1], below)


def is_consistent(
    old_size: int, old_root: bytes, new_size: int, new_root: bytes, proof: Sequence[bytes]
) -> bool:
    """Whether a proof shows that the new tree begins with all leaves of the old one."""
    if not 0 <= old_size <= new_size or any(len(h) != 32 for h in proof):
        return False
    if old_size == 0:
        return not proof and old_root == EMPTY and (new_size > 0 or new_root == EMPTY)
    if old_size == new_size:
        return not proof and old_root == new_root
    return _both(old_size, new_size, list(proof), True, old_root) == (old_root, new_root)


def _both(
    old: int, new: int, proof: list[bytes], is_first: bool, old_root: bytes
) -> tuple[bytes, bytes] | None:
    """The roots of the old and the new tree, as the proof has them."""
    if old == new:
        if is_first:
            return (old_root, old_root) if not proof else None
        return (proof[0], proof[0]) if len(proof) == 1 else None
    if not proof:
        return None
    half, last = _half(new), proof[-1]
    if old <= half:
        found = _both(old, half, proof[:-1], is_first, old_root)
        return found and (found[0], node_hash(found[1], last))
    found = _both(old - half, new - half, proof[:-1], False, old_root)
    return found and (node_hash(last, found[0]), node_hash(last, found[1]))


def _half(size: int) -> int:
    """The largest power of two less than a size of 2 or more."""
    return 1 << (size - 1).bit_length() - 1
