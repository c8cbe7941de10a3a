"""A corpus of parts is searched as one, and looked into part by part."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ragdb.client._generated.rows import Chunk
from ragdb.client.client import AsyncClient
from ragdb.errors import ChunkNotFound


async def pieces(db: AsyncClient, corpus: str) -> list[str]:
    """The corpora that have the chunks of a corpus: its parts, or itself."""
    return [part.name for part in await db.list_parts(corpus)] or [corpus]


async def piece_of(db: AsyncClient, corpus: str, chunk: str) -> tuple[str, str]:
    """The part that has a chunk, and the chunk's id, of which the beginning is enough."""
    *others, last = await pieces(db, corpus)
    for one in others:
        with suppress(ChunkNotFound):
            async with db.connection.transaction():
                return one, await db.find_chunk(one, chunk)
    return last, await db.find_chunk(last, chunk)


async def chunks_of(db: AsyncClient, corpus: str, ids: Sequence[str]) -> dict[str, Chunk]:
    """The chunks of these ids that are still there."""
    found: dict[str, Chunk] = {}
    for one in await pieces(db, corpus) if ids else []:
        listed = await db.list_chunks(one, None, ids, count=len(ids))
        found |= {chunk.chunk_id: chunk for chunk in listed}
    return found
