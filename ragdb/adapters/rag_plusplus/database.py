"""What the retriever and the resolver of RAG++ ask of a database."""

from __future__ import annotations

from collections.abc import Sequence

from ragdb.adapters.rag_plusplus.errors import SliceError
from ragdb.client.corpora import searched
from ragdb.client.counting import some
from ragdb.database import Database


def one_of(corpora: Sequence[str], what: str) -> str:
    """The corpus where there is one. Raises SliceError."""
    if len(corpora) != 1:
        names = some(sorted(corpora))
        raise SliceError("CORPUS_AMBIGUOUS", f"corpora {what}: {names}; name one as corpus")
    return corpora[0]


def only_corpus(database: Database) -> str:
    """The corpus where the role may read one alone. Raises SliceError."""
    listed = [name for name in searched(database.list_corpora()) if name != "personal"]
    return one_of(listed, "that may be read")


def vector_of(
    database: Database, corpus: str, query: str, given: Sequence[float] | None
) -> Sequence[float] | None:
    """The embedding of a query: the caller's, or that of the model of the corpus, if it has one."""
    from ragdb.models import asking

    if given is not None:
        return given
    return asking.for_query(database.connection, [corpus], query)
