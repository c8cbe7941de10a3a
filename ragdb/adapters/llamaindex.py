"""A vector store and a retriever for LlamaIndex (the extra `ragdb-postgres[llamaindex]`).

The store puts, finds and deletes nodes of a corpus by id, and records nothing. The retriever takes
any retriever of `ragdb.evidence`, and leaves a trace of each retrieval.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ragdb.adapters import stored
from ragdb.client.results import missing
from ragdb.evidence.retrieval import RetrievalQuery, RetrievedChunk, Retriever

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, TextNode
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
        VectorStoreQueryResult,
    )
    from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

    from ragdb.adapters import llamaindex_filters
except ModuleNotFoundError as error:
    raise missing("llamaindex") from error

if TYPE_CHECKING:
    from ragdb.client._generated.rows import Chunk, Hit
    from ragdb.database import Database

MODES = {
    VectorStoreQueryMode.DEFAULT: None,
    VectorStoreQueryMode.MMR: None,
    VectorStoreQueryMode.SPARSE: "lexical",
    VectorStoreQueryMode.TEXT_SEARCH: "lexical",
    VectorStoreQueryMode.HYBRID: "hybrid",
    VectorStoreQueryMode.SEMANTIC_HYBRID: "hybrid",
}
"""The mode of ragdb for each of LlamaIndex; None is what the corpus does for everyone."""


class RagdbVectorStore(BasePydanticVectorStore):
    """A corpus as a vector store of LlamaIndex.

    Without `embedder` the corpus ranks as it does for everyone, and the vectors of nodes and of
    queries that have words are not used. With it they are: the corpus is bound to the model that
    makes them, under that name. Filters are over the metadata of the nodes; `ragdb.source` is the
    field `source` of ragdb, and so on. A chunk that was not put as a node, such as one of a file,
    is a TextNode with `source`, `title`, `heading` and `page` in its metadata.

    >>> store = RagdbVectorStore(ragdb.connect(), "docs", embedder="bge-small")
    >>> index = VectorStoreIndex.from_vector_store(store, embed_model=model)
    """

    stores_text: bool = True
    is_embedding_query: bool = True
    corpus: str
    embedder: str | None = None
    _db: Database = PrivateAttr()

    def __init__(self, db: Database, corpus: str, *, embedder: str | None = None) -> None:
        fields: dict[str, Any] = {"corpus": corpus, "embedder": embedder}
        super().__init__(is_embedding_query=embedder is not None, **fields)
        self._db = stored.checked(db)

    @classmethod
    def class_name(cls) -> str:
        return "RagdbVectorStore"

    @property
    def client(self) -> Database:
        return self._db

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Put nodes and return their ids; one with the id of an earlier takes its place.

        The corpus is made where there is none. Raises ValueError for a node without an embedding
        in a store with an embedder, and what `ragdb.Database.add` raises.
        """
        vectors = None
        if self.embedder is not None and nodes:
            vectors = [node.get_embedding() for node in nodes]
            stored.ensure_embedder(self._db, self.embedder, len(vectors[0]))
        return self._db.add(
            [node.get_content(MetadataMode.NONE) for node in nodes],
            [node_to_metadata_dict(node, remove_text=True) for node in nodes],
            [node.node_id for node in nodes],
            corpus=self.corpus,
            cut=False,
            embedder=self.embedder,
            embeddings=vectors,
        )

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete the nodes of a document."""
        found = stored.chunks(self._db, self.corpus, {"ref_doc_id": ref_doc_id})
        stored.delete(self._db, self.corpus, [row.source for row in found])

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """Delete nodes by id, by a filter, or by both; those that are not there are passed over."""
        if node_ids is None and filters is None:
            return
        found = self._chunks(node_ids, filters)
        stored.delete(self._db, self.corpus, [row.source for row in found])

    def clear(self) -> None:
        """Delete everything that was put by id. What `ragdb ingest` brought stays."""
        stored.delete(self._db, self.corpus, None)

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Nodes by id, by a filter, or by both, in the order of their ids."""
        return [_node_of(row) for row in self._chunks(node_ids, filters)]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """The best nodes. Raises ValueError for a mode or filter that ragdb does not have."""
        if query.mode not in MODES:
            raise ValueError(f"ragdb has no mode {query.mode.value}")
        hits = self._hits(query, MODES[query.mode])
        return VectorStoreQueryResult(
            nodes=[_node_of(hit) for hit in hits],
            similarities=[hit.score for hit in hits],
            ids=[hit.chunk_id for hit in hits],
        )

    def _hits(self, query: VectorStoreQuery, mode: str | None) -> Sequence[Hit]:
        # an index that keeps no nodes itself says so by an empty list
        filter, among = self._left(query.node_ids or None, query.filters)
        if query.doc_ids:
            filter = {**(filter or {}), "doc_id": {"in": query.doc_ids}}
        vector = None
        if self.embedder is not None and mode != "lexical":
            state = stored.state(self._db, self.corpus, self.embedder)
            vector = query.query_embedding if state == "ready" else None
            if state == "empty":
                return []
        how: dict[str, Any] = {"filter": filter, "chunk_ids": among, "query_embedding": vector}
        k = query.similarity_top_k
        if mode == "hybrid":
            k = query.hybrid_top_k or k
            if query.alpha is not None:
                how["lexical_weight"] = 1 - query.alpha
        if query.mode == VectorStoreQueryMode.MMR:
            how["diversity"] = 1 - (0.5 if query.mmr_threshold is None else query.mmr_threshold)
        words = query.query_str
        if not words:
            # nothing is known of the query but its vector, and a search takes no empty one
            words, mode, how["query_embedding"] = "*", "semantic", query.query_embedding
        return self._db.search(self.corpus, words, k, mode, **how)

    def _chunks(
        self, node_ids: Sequence[str] | None, filters: MetadataFilters | None
    ) -> list[Chunk]:
        filter, among = self._left(node_ids, filters)
        return list(stored.chunks(self._db, self.corpus, filter, among))

    def _left(
        self, node_ids: Sequence[str] | None, filters: MetadataFilters | None
    ) -> tuple[dict[str, Any] | None, list[str] | None]:
        """A filter of ragdb and a list of ids that leave what was asked for."""
        among = None if node_ids is None else list(node_ids)
        try:
            return llamaindex_filters.simple(filters), among
        except LookupError:
            assert filters is not None

        def find(filter: dict[str, Any] | None) -> set[str]:
            return {row.chunk_id for row in stored.chunks(self._db, self.corpus, filter, among)}

        return None, sorted(llamaindex_filters.ids(filters, find))

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        return await asyncio.to_thread(self.query, query, **kwargs)

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        await asyncio.to_thread(self.delete, ref_doc_id, **delete_kwargs)

    async def adelete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        await asyncio.to_thread(self.delete_nodes, node_ids, filters, **delete_kwargs)

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def aclear(self) -> None:
        await asyncio.to_thread(self.clear)


def _node_of(row: Chunk | Hit) -> BaseNode:
    if "_node_content" in row.metadata:
        return metadata_dict_to_node(row.metadata, row.text)
    return TextNode(
        id_=row.chunk_id,
        text=row.text,
        metadata=stored.metadata(row),
        start_char_idx=row.start_offset,
        end_char_idx=row.end_offset,
    )


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
