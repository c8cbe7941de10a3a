"""The vector store for LangChain: the public test suite, and what it does not ask."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from itertools import count
from pathlib import PurePosixPath
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings

import ragdb
from ragdb.adapters.langchain import RagdbVectorStore
from ragdb.errors import AlreadyExists, CorpusNotFound, EmbedderMismatch
from ragdb.ingest.options import IngestError

suite = pytest.importorskip(
    "langchain_tests.integration_tests.vectorstores",
    reason="the public test suite is not installed: pip install langchain-tests",
)
Suite: type = suite.VectorStoreIntegrationTests
NUMBERS = count()


@pytest.fixture
def corpus(db: ragdb.Database) -> str:
    """A corpus of the test's own without anything in it."""
    name = f"c{next(NUMBERS)}"
    db.create_corpus(name)
    return name


class TestPublicSuite(Suite):  # type: ignore[misc]
    @pytest.fixture
    def vectorstore(self, db: ragdb.Database, corpus: str) -> RagdbVectorStore:
        return RagdbVectorStore(db, corpus, self.get_embeddings())


class Counted(Embeddings):
    """Embeddings that count what they are asked."""

    def __init__(self, size: int = 4) -> None:
        self.fake = DeterministicFakeEmbedding(size=size)
        self.asked: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked += texts
        return self.fake.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        self.asked.append(text)
        return self.fake.embed_query(text)


TEXTS = ["Refunds of gifts are vouchers.", "Refunds take five days.", "The library is closed."]


def near(model: Counted, text: str, vector: list[float]) -> float:
    """max(0, cosine), the score that the guide promises."""
    other = model.fake.embed_query(text)
    norm = math.hypot(*vector) * math.hypot(*other)
    return max(0, sum(x * y for x, y in zip(vector, other, strict=True)) / norm)


def test_without_a_model_it_finds_what_the_database_finds(db: ragdb.Database, corpus: str) -> None:
    store = RagdbVectorStore(db, corpus)
    ids = store.add_texts(TEXTS, ids=["a", "b", "c"])
    assert ids == ["a", "b", "c"]
    hits = db.search(corpus, "refunds of gifts", 2)
    found = store.similarity_search_with_score("refunds of gifts", 2)
    assert [(d.id, d.page_content, score) for d, score in found] == [
        (h.chunk_id, h.text, h.score) for h in hits
    ]
    assert found[0][0].id == "a"
    assert [
        d.id for d in store.as_retriever(search_kwargs={"k": 2}).invoke("refunds of gifts")
    ] == [h.chunk_id for h in hits]


def test_the_vectors_of_its_model_rank(db: ragdb.Database, corpus: str) -> None:
    model = Counted()
    store = RagdbVectorStore(db, corpus, model)
    store.add_texts(TEXTS, ids=["a", "b", "c"])
    assert model.asked == TEXTS
    assert [s.embedder for s in db.embedding_status(corpus)] == ["langchain/Counted"]
    assert [s.backlog for s in db.embedding_status(corpus)] == [0]
    # no word is shared: the vectors alone decide, then the id
    vector = model.fake.embed_query("zzz")
    best = [text for _, text in sorted((-near(model, text, vector), text) for text in TEXTS)]
    found = store.similarity_search("zzz", 3, mode="semantic")
    assert [d.page_content for d in found] == best
    assert [d.page_content for d in store.similarity_search_by_vector(vector, 3)] == best
    scores = store.similarity_search_with_relevance_scores(TEXTS[0], 3)
    (hit,) = db.search(corpus, TEXTS[0], 1, query_embedding=model.fake.embed_query(TEXTS[0]))
    assert (hit.mode, hit.text) == ("hybrid", TEXTS[0])
    assert (scores[0][0].id, scores[0][1]) == (hit.chunk_id, hit.score)


def test_equal_texts_under_two_ids_are_two_documents(db: ragdb.Database, corpus: str) -> None:
    store = RagdbVectorStore(db, corpus, Counted())
    ids = store.add_texts(["same", "same"], [{"n": 1}, {"n": 2}])
    assert len(set(ids)) == 2
    assert sorted(d.metadata["n"] for d in store.get_by_ids(ids)) == [1, 2]
    store.delete([ids[0]])
    assert [d.id for d in store.get_by_ids(ids)] == [ids[1]]
    assert [d.id for d in store.similarity_search("same", 5)] == [ids[1]]


def test_a_text_with_the_id_of_another_takes_its_place_with_its_vector(
    db: ragdb.Database, corpus: str
) -> None:
    model = Counted()
    store = RagdbVectorStore(db, corpus, model)
    store.add_texts(["old words"], ids=["a"])
    store.add_texts(["new words"], ids=["a"])
    (found,) = store.similarity_search_by_vector(model.fake.embed_query("new words"), 5)
    assert found.page_content == "new words"
    (row,) = db.match_documents(model.fake.embed_query("new words"), corpus=corpus)
    assert row.similarity == pytest.approx(1, abs=1e-6)


def test_where_the_model_fails_nothing_is_stored(db: ragdb.Database, corpus: str) -> None:
    class Broken(Counted):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        RagdbVectorStore(db, corpus, Broken()).add_texts(["a text"])
    assert db.corpus_info(corpus).documents == 0


@pytest.mark.parametrize("given", ["year", [("year", 2026)], lambda text: True])
def test_a_filter_that_is_no_mapping_is_refused(
    db: ragdb.Database, corpus: str, given: Any
) -> None:
    with pytest.raises(TypeError, match=r"not a mapping such as .\"year\""):
        RagdbVectorStore(db, corpus).similarity_search("refunds", filter=given)


def test_metadata_that_would_not_come_back_is_refused(db: ragdb.Database, corpus: str) -> None:
    store = RagdbVectorStore(db, corpus)
    with pytest.raises(IngestError, match="a value of type object, which is no text"):
        store.add_texts(["refunds"], [{"loader": [object()]}], ids=["a"])
    assert store.get_by_ids(["a"]) == []
    held = {"path": PurePosixPath("/a/b"), "at": date(2026, 1, 2), "price": Decimal("1.50")}
    store.add_texts(["refunds"], [held], ids=["a"])
    assert store.get_by_ids(["a"])[0].metadata == {
        "path": "/a/b", "at": "2026-01-02", "price": "1.50"
    }  # fmt: skip


def test_a_filter_is_over_the_metadata_that_was_given(db: ragdb.Database, corpus: str) -> None:
    store = RagdbVectorStore(db, corpus)
    store.add_texts(
        ["refunds one", "refunds two"],
        [
            {"source": "x.pdf", "page": 3, "year": 2024},
            {"source": "y.pdf", "page": 4, "year": 2026},
        ],
        ids=["a", "b"],
    )
    for asked, found in (
        ({"source": "y.pdf"}, ["b"]),
        ({"page": {"lte": 3}}, ["a"]),
        ({"year": {"gte": 2025}}, ["b"]),
        ({"ragdb.source": "a"}, ["a"]),
        ({"source": "b"}, []),
    ):
        assert [d.id for d in store.similarity_search("refunds", 5, filter=asked)] == found, asked


def test_a_vector_is_searched_among_what_the_filter_leaves(db: ragdb.Database, corpus: str) -> None:
    model = Counted()
    store = RagdbVectorStore(db, corpus, model)
    store.add_texts(TEXTS, [{"source": one} for one in "xyz"], ids=["a", "b", "c"])
    vector = model.fake.embed_query("refunds")
    for asked, found in (
        ({"source": "y"}, ["b"]),
        ({"ragdb.source": {"in": ["a", "c"]}}, ["a", "c"]),
    ):
        by_vector = store.similarity_search_by_vector(vector, 5, filter=asked)
        assert sorted(str(d.id) for d in by_vector) == found


def test_what_is_alike_comes_later_the_less_relevance_weighs(
    db: ragdb.Database, corpus: str
) -> None:
    store = RagdbVectorStore(db, corpus)
    store.add_texts(
        ["refunds of gifts one", "refunds of gifts two", "refunds of a bicycle and its lock"],
        ids=["a", "b", "c"],
    )
    asked = "refunds of gifts"
    plain = [d.id for d in store.similarity_search(asked, 2)]
    assert plain == ["a", "b"]
    for weight, found in ((1.0, plain), (0.1, ["a", "c"])):
        best = store.max_marginal_relevance_search(asked, 2, lambda_mult=weight)
        assert [d.id for d in best] == found


def test_a_corpus_of_another_model_without_a_text_has_nothing_to_find(
    db: ragdb.Database, corpus: str
) -> None:
    other = f"other-{corpus}"
    db.create_embedder(other, 4)
    db.bind_embedder(other, "openai", "nowhere")
    db.embed_corpus(corpus, other)
    for mode in (None, "semantic"):
        assert RagdbVectorStore(db, corpus, Counted(), mode=mode).similarity_search("x") == []


def test_lists_of_unequal_lengths_and_an_id_given_twice_are_refused(
    db: ragdb.Database, corpus: str
) -> None:
    store = RagdbVectorStore(db, corpus, Counted())
    with pytest.raises(ValueError, match="texts are 2 and ids 1"):
        store.add_texts(["a", "b"], ids=["1"])
    with pytest.raises(ValueError, match="texts are 2 and metadatas 1"):
        store.add_texts(["a", "b"], [{}])
    with pytest.raises(ValueError, match="given twice"):
        store.add_texts(["a", "b"], ids=["1", "1"])
    assert db.corpus_info(corpus).documents == 0


def test_vectors_of_another_model_are_refused(db: ragdb.Database, corpus: str) -> None:
    RagdbVectorStore(db, corpus, Counted()).add_texts(["a text"])
    other = RagdbVectorStore(db, corpus, Counted(), embedder="another")
    with pytest.raises(EmbedderMismatch):
        other.similarity_search("a text")
    with pytest.raises(EmbedderMismatch):
        other.add_texts(["b text"])
    with pytest.raises(AlreadyExists):
        RagdbVectorStore(db, corpus, Counted(size=5)).add_texts(["b text"])
    assert db.corpus_info(corpus).documents == 1


def test_files_stay_and_have_their_place_in_the_metadata(db: ragdb.Database, corpus: str) -> None:
    db.put_text(corpus, "docs/a.md", "Refunds of files", title="T")
    store = RagdbVectorStore(db, corpus)
    store.add_texts(["Refunds of texts"], ids=["t"])
    found = {d.page_content: d.metadata for d in store.similarity_search("refunds")}
    assert found["Refunds of files"] == {"source": "docs/a.md", "title": "T"}
    assert found["Refunds of texts"] == {}
    store.delete()
    assert [d.page_content for d in store.similarity_search("refunds")] == ["Refunds of files"]


def test_the_first_text_makes_the_corpus_and_a_search_does_not(db: ragdb.Database) -> None:
    with pytest.raises(CorpusNotFound):
        RagdbVectorStore(db, "nowhere").similarity_search("x")
    store = RagdbVectorStore.from_texts(["some text"], Counted(), db=db, corpus="made")
    assert [d.page_content for d in store.similarity_search("text")] == ["some text"]
    assert len(store.max_marginal_relevance_search("text", 1)) == 1


@pytest.mark.parametrize("given", [ragdb.AsyncDatabase(None), "postgresql:///db"])  # type: ignore[arg-type]
def test_a_store_says_what_it_takes(given: Any) -> None:
    with pytest.raises(TypeError, match="a store takes what ragdb"):
        RagdbVectorStore(given, "docs")
