"""Who said the chunks of a page that are turns of conversations, and when."""

from __future__ import annotations

from collections.abc import Iterable

from ragdb.client._generated.rows import ListTurnsRow
from ragdb.client.client import AsyncClient

AT_ONCE = 1000  # chunks that ragdb.list_turns takes


async def speakers(
    db: AsyncClient, corpus: str, ids: Iterable[str | None]
) -> dict[str, ListTurnsRow]:
    """The turns among some chunks that the caller may read, by their ids."""
    asked = list(dict.fromkeys(id for id in ids if id is not None))
    if not asked:
        return {}
    return {row.chunk_id: row for row in await db.list_turns(corpus, asked[:AT_ONCE])}
