"""A retriever for LlamaIndex (the extra `ragdb-postgres[llamaindex]`)."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from ragdb.evidence.retrieval import RetrievalQuery, RetrievedChunk, Retriever


class RagdbRetriever(BaseRetriever):
    """Any retriever of `ragdb.evidence` as one of LlamaIndex: at most `k` nodes, best first.

    The id of a node is its chunk's, its offsets are characters of the source; its metadata has
    `source`, `content_hash` and `trace_id`, by which `ragdb.replay` proves the retrieval; models
    and embedders are shown `source`, `title`, `heading` and `page` of it.
    """

    def __init__(self, retriever: Retriever, k: int = 8, **options: Any) -> None:
        if not 1 <= k <= 1000:
            raise ValueError(f"k is {k}, not 1 to 1000")
        super().__init__(**options)
        self.retriever, self.k = retriever, k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self.retriever.retrieve(RetrievalQuery(query_bundle.query_str, self.k))
        return [NodeWithScore(node=_node(chunk), score=chunk.score) for chunk in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


SHOWN = ("source", "title", "heading", "page")


def _node(chunk: RetrievedChunk) -> TextNode:
    metadata = {**chunk.metadata, "source": chunk.source_id}
    hidden = [name for name in metadata if name not in SHOWN]
    return TextNode(
        id_=chunk.chunk_id,
        text=chunk.text,
        metadata=metadata,
        start_char_idx=chunk.metadata.get("start_offset"),
        end_char_idx=chunk.metadata.get("end_offset"),
        excluded_embed_metadata_keys=hidden,
        excluded_llm_metadata_keys=hidden,
    )
