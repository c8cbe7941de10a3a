"""A folder that holds a whole ledger as static files (C2SP tlog-tiles)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ragdb.client.counting import counted
from ragdb.files import replace
from ragdb.ledger import LedgerError, tree
from ragdb.ledger.notes import Checkpoint

if TYPE_CHECKING:
    from ragdb.client.client import Client

WIDTH = 256
LEVELS = 8
CHECKPOINT = "checkpoint"


def tile_path(level: int | str, index: int, width: int = WIDTH) -> str:
    """The path of a tile below the folder; its level is `entries` for a bundle of entries."""
    parts = [f"{index % 1000:03}"]
    while index := index // 1000:
        parts.insert(0, f"x{index % 1000:03}")
    suffix = "" if width == WIDTH else f".p/{width}"
    return f"tile/{level}/{'/'.join(parts)}{suffix}"


def tiles_of(size: int) -> Iterator[tuple[int, int, int]]:
    """Level, index and width of every tile of a tree."""
    for level in range(LEVELS):
        hashes = size >> (8 * level)
        for index in range(hashes // WIDTH):
            yield level, index, WIDTH
        if hashes % WIDTH:
            yield level, hashes // WIDTH, hashes % WIDTH


def export(db: Client, folder: Path, checkpoint: Checkpoint) -> int:
    """Write tiles, entries and, last, the checkpoint; returns how many files are new."""
    written = 0

    def add(path: str, read: Callable[[], bytes]) -> None:
        nonlocal written
        # what was written never changes, so the next export goes on where this one ends
        file = folder / path
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            replace(file, read())
            written += 1

    for level, index, width in tiles_of(checkpoint.size):
        add(tile_path(level, index, width), partial(db.ledger_tile, level, index, width))
        if level == 0:
            add(tile_path("entries", index, width), partial(db.ledger_bundle, index, width))
    folder.mkdir(parents=True, exist_ok=True)
    replace(folder / CHECKPOINT, str(checkpoint).encode())
    return written + 1


def checkpoint(folder: Path) -> Checkpoint:
    return Checkpoint.parse((folder / CHECKPOINT).read_text("utf-8"))


def entries(folder: Path, size: int) -> Iterator[bytes]:
    """The entries of a folder, in order. Raises LedgerError."""
    for level, index, width in tiles_of(size):
        if level:
            return
        path = tile_path("entries", index, width)
        bundle, at = _read(folder, path, index, "entries"), 0
        for _ in range(width):
            end = at + 2 + int.from_bytes(bundle[at : at + 2], "big")
            if end > len(bundle) or at + 2 > len(bundle):
                raise LedgerError(f"{path} has fewer than {counted(width, 'entry')}")
            yield bundle[at + 2 : end]
            at = end


def _read(folder: Path, path: str, index: int, level: int | str) -> bytes:
    for found in (folder / path, folder / tile_path(level, index)):
        if found.is_file():
            return found.read_bytes()
    raise LedgerError(f"{path} is missing")


def roots(folder: Path, sizes: set[int]) -> dict[int, bytes]:
    """The roots over the first entries of a folder, for some sizes up to that of its checkpoint."""
    found: dict[int, bytes] = {0: tree.EMPTY} if 0 in sizes else {}
    whole = checkpoint(folder).size
    hashes: list[bytes] = []
    peaks: list[tuple[int, bytes]] = []
    for number, entry in enumerate(entries(folder, whole), 1):
        size, top = 1, tree.leaf_hash(entry)
        hashes.append(top)
        while peaks and peaks[-1][0] == size:
            top = tree.node_hash(peaks.pop()[1], top)
            size *= 2
        peaks.append((size, top))
        if number in sizes:
            found[number] = _folded(peaks)
        if len(hashes) == WIDTH or number == whole:
            index = (number - 1) // WIDTH
            path = tile_path(0, index, len(hashes))
            stored = _read(folder, path, index, 0)[: 32 * len(hashes)]
            if stored != b"".join(hashes):
                raise LedgerError(f"{path} is not the hashes of its entries")
            hashes.clear()
    return found


def _folded(peaks: list[tuple[int, bytes]]) -> bytes:
    top = peaks[-1][1]
    for _, left in reversed(peaks[:-1]):
        top = tree.node_hash(left, top)
    return top
