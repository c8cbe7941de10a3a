"""A vector store and a retriever for LangChain (the extra `ragdb-postgres[langchain]`).

The store puts, finds and deletes texts of a corpus by id, and records nothing. The retriever takes
any retriever of `ragdb.evidence`, and leaves a trace of each retrieval.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, Field

from ragdb.adapters import stored
from ragdb.client.results import missing
from ragdb.evidence.retrieval import RetrievalQuery, Retriever

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
except ModuleNotFoundError as error:
    raise missing("langchain") from error

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragdb.client._generated.rows import Hit
    from ragdb.database import Database


class RagdbVectorStore(VectorStore):
    """A corpus as a vector store of LangChain.

    Without `embedding` the corpus ranks as it does for everyone: what `db.search` finds. With it
    the corpus is bound to that model, called `embedder`, and ranks by words and its vectors
    together; `mode` asks for another ranking. Filters are those of ragdb, over the metadata of the
    documents; `ragdb.source` is the field `source` of ragdb, and so on. A document that was not
    put by id, such as a file, has `source`, `title`, `heading` and `page` in its metadata.

    >>> store = RagdbVectorStore(ragdb.connect(), "docs", OpenAIEmbeddings())
    >>> store.add_texts(["Refunds take five days."], [{"year": 2026}], ids=["refunds"])
    >>> store.similarity_search("refunds", k=4, filter={"year": {"gte": 2025}})
    """

    def __init__(
        self,
        db: Database,
        corpus: str,
        embedding: Embeddings | None = None,
        *,
        embedder: str | None = None,
        mode: str | None = None,
    ) -> None:
        self.db, self.corpus = stored.checked(db), corpus
        self.embedding, self.mode = embedding, mode
        self.embedder = embedder or (None if embedding is None else _name(embedding))

    @property
    def embeddings(self) -> Embeddings | None:
        return self.embedding

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Put texts, whole, and return their ids; one with the id of an earlier takes its place.

        The corpus is made where there is none. Raises what `ragdb.Database.add` and the model
        raise; where the model fails nothing is stored.
        """
        texts = list(texts)
        given: list[str | None] = [None] * len(texts) if ids is None else [*ids]
        names = [one or str(uuid.uuid4()) for one in given]
        vectors = None
        if self.embedding is not None and self.embedder is not None and texts:
            vectors = self.embedding.embed_documents(texts)
            stored.ensure_embedder(self.db, self.embedder, len(vectors[0]))
        return self.db.add(
            texts,
            metadatas or None,
            names,
            corpus=self.corpus,
            cut=False,
            embedder=self.embedder,
            embeddings=vectors,
        )

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Delete texts by id, or all that were put by id (None); those not there are passed over.

        What `ragdb ingest` brought stays.
        """
        stored.delete(self.db, self.corpus, ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return [
            Document(id=row.chunk_id, page_content=row.text, metadata=stored.metadata(row))
            for row in stored.chunks(self.db, self.corpus, chunk_ids=ids)
        ]

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The best k documents; `filter` and the other arguments are those of `db.search`."""
        return [document for document, _ in self.similarity_search_with_score(query, k, **kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The best k documents with their scores, 0 to 1, higher is better."""
        return [(_document(hit), hit.score) for hit in self._hits(query, k, **kwargs)]

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """The k documents nearest to an embedding."""
        found = self.db.match_documents(
            embedding, -1.0, k, stored.filter_of(kwargs.get("filter")) or {}, self.corpus
        )
        by_id = {document.id: document for document in self.get_by_ids([row.id for row in found])}
        return [by_id[row.id] for row in found if row.id in by_id]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """The best k documents, each the less like the better ones the smaller `lambda_mult` is.

        The database looks as far as it must; `fetch_k` changes nothing.
        """
        hits = self._hits(query, k, diversity=1 - lambda_mult, **kwargs)
        return [_document(hit) for hit in hits]

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        db: Database | None = None,
        corpus: str = "",
        **kwargs: Any,
    ) -> RagdbVectorStore:
        """Put texts into a corpus of a database, and return its store."""
        if db is None or not corpus:
            raise TypeError("from_texts() needs db and corpus")
        store = cls(db, corpus, embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def _hits(self, query: str, k: int, filter: Any = None, **kwargs: Any) -> list[Hit]:
        vector = None
        mode = kwargs.pop("mode", self.mode)
        if self.embedding is not None and mode not in ("lexical", "reference"):
            state = stored.state(self.db, self.corpus, self.embedder)
            if state == "empty":
                return []
            if state == "ready":
                vector = self.embedding.embed_query(query)
        return self.db.search(
            self.corpus,
            query,
            k,
            mode,
            filter=stored.filter_of(filter),
            query_embedding=vector,
            **kwargs,
        )

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda score: score


def _name(embedding: Embeddings) -> str:
    """What an embedding model is called in the database."""
    model = getattr(embedding, "model", None) or getattr(embedding, "model_name", None)
    kind = f"langchain/{type(embedding).__name__}"
    return f"{kind}/{model}" if isinstance(model, str) else kind


def _document(hit: Hit) -> Document:
    return Document(id=hit.chunk_id, page_content=hit.text, metadata=stored.metadata(hit))


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
