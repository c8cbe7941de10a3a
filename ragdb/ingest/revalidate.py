"""What is known of a URL that was read before, so that it is read again only when it changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragdb.client.client import Client
from ragdb.ingest import chunker
from ragdb.ingest.options import CHUNKING
from ragdb.ingest.source import Source

TOLD = ("title", "language", "metadata")
"""What the caller says of every document, which the one that is here may not say."""


def revalidated(
    db: Client, corpus: str, source: Source, options: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The options for a source, with `known`, its version, where the same options made it."""
    if not source.is_url or any(options.get(name) for name in TOLD):
        return options
    here = next(iter(db.get_source(corpus, source.uri)), None)
    chosen = {name: options.get(name, value) for name, value in CHUNKING.items()}
    chosen["unit"] = str(chosen["unit"]).removesuffix("s")
    if here is None or here.etag is None:
        return options
    if here.chunking != {"chunker": chunker.NAME, **chosen}:
        return options
    if here.source_name != (options.get("source_name") or ""):
        return options
    return {**options, "known": (here.etag, here.doc_cid)}
