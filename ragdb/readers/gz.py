"""Unpacks gzip within limits, because a small file may unpack to a large one."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO

from ragdb.readers.document import ReadError

# a gzip file may not unpack to more than this many times its size
_MAX_RATIO = 100
_BLOCK = 1 << 20
MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS


def blocks(stream: BinaryIO) -> Iterator[bytes]:
    """The contents of a file in blocks, unpacked where it is packed."""
    magic = stream.read(2)
    if magic != MAGIC:
        yield magic
        yield from iter(lambda: stream.read(_BLOCK), b"")
        return
    inflate = zlib.decompressobj(wbits=_GZIP)
    packed = unpacked = 0
    try:
        for block in chain((magic,), iter(lambda: stream.read(_BLOCK), b"")):
            packed += len(block)
            while block:
                if inflate.eof:  # files may be joined
                    inflate = zlib.decompressobj(wbits=_GZIP)
                part = inflate.decompress(block, _BLOCK)
                unpacked += len(part)
                if unpacked > _BLOCK + _MAX_RATIO * packed:
                    raise ReadError(
                        "limits",
                        f"it unpacks to over {_MAX_RATIO} times its size",
                        "unpack it yourself if you trust it",
                    )
                yield part
                block = inflate.unconsumed_tail or inflate.unused_data
    except zlib.error as error:
        raise ReadError(
            "corrupt", f"it is not a readable gzip file ({error})", "pack it again"
        ) from None
    if not inflate.eof:
        raise ReadError("corrupt", "its gzip data ends too early", "copy or download it again")


def unpack(data: bytes, max_bytes: int) -> bytes:
    """All of a packed file. Raises ReadError `too_large` for more than `max_bytes`."""
    from io import BytesIO

    parts: list[bytes] = []
    size = 0
    for part in blocks(BytesIO(data)):
        parts.append(part)
        size += len(part)
        if size > max_bytes:
            raise ReadError(
                "too_large",
                f"it unpacks to over {max_bytes} bytes",
                "raise the limit with --max-bytes, or split it",
            )
    return b"".join(parts)
