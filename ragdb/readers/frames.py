"""How `sandbox` and `child` talk: a JSON header and a body, each with its length in front."""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

_SIZES = struct.Struct("!II")
_MAX_HEADER = 4096


def send(stream: BinaryIO, header: dict[str, Any], body: bytes) -> None:
    """Write one frame."""
    head = json.dumps(header).encode()
    stream.write(_SIZES.pack(len(head), len(body)) + head)
    stream.write(body)
    stream.flush()


def receive(stream: BinaryIO, max_body: int) -> tuple[dict[str, Any], bytes] | None:
    """Read one frame; None when the stream ends before it does, or when it is over the limit."""
    sizes = stream.read(_SIZES.size)
    if len(sizes) < _SIZES.size:
        return None
    head_size, body_size = _SIZES.unpack(sizes)
    if head_size > _MAX_HEADER or body_size > max_body:
        return None
    head, body = stream.read(head_size), stream.read(body_size)
    return (json.loads(head), body) if len(body) == body_size else None
