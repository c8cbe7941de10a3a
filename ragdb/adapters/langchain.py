"""A retriever for LangChain (the extra `ragdb-postgres[langchain]`)."""

from __future__ import annotations

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from ragdb.evidence.retrieval import RetrievalQuery, Retriever


class RagdbRetriever(BaseRetriever):
    """Any retriever of `ragdb.evidence` as one of LangChain: at most `k` documents, best first.

    The id of a document is its chunk's; its metadata has `source`, `score` (0 to 1), `content_hash`
    and `trace_id`, by which `ragdb.replay` proves the retrieval.

    >>> RagdbRetriever(retriever=PostgresRetriever(db, "DocsSearch")).invoke("refunds")
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    retriever: Retriever
    k: int = Field(default=8, ge=1, le=1000)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [
            Document(
                id=chunk.chunk_id,
                page_content=chunk.text,
                metadata={**chunk.metadata, "source": chunk.source_id, "score": chunk.score},
            )
            for chunk in self.retriever.retrieve(RetrievalQuery(query, self.k))
        ]
