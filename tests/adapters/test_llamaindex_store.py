"""The vector store for LlamaIndex, held to its contract; filters to LlamaIndex's own reading."""

from __future__ import annotations

import asyncio
import warnings
from itertools import count
from typing import Any

import pytest

import ragdb
from ragdb.errors import EmbedderMismatch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the package's own imports
    from llama_index.core import StorageContext, VectorStoreIndex
    from llama_index.core.embeddings import MockEmbedding
    from llama_index.core.schema import BaseNode, NodeRelationship, RelatedNodeInfo, TextNode
    from llama_index.core.vector_stores.types import (
        FilterCondition,
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
    )
    from llama_index.core.vector_stores.utils import build_metadata_filter_fn

    from ragdb.adapters.llamaindex import RagdbVectorStore

NUMBERS = count()


def node(id: str, text: str, vector: list[float] | None = None, **metadata: Any) -> TextNode:
    doc = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=metadata.pop("doc", "d"))}
    return TextNode(id_=id, text=text, embedding=vector, metadata=metadata, relationships=doc)


NODES = [
    node("a", "Refunds take five days.", [1, 0], year=2024, tags=["x", "y"], title="A", doc="one"),
    node(
        "b", "Refunds of gifts are vouchers.", [0, 1], year=2026, tags=["y"], title="B", doc="one"
    ),
    node("c", "The library is closed.", [0.6, 0.8], year=2025, title="", doc="two"),
    node("e", "Nothing is known of it.", [-1, 0], title=None, doc="two"),
]


@pytest.fixture
def corpus() -> str:
    return f"c{next(NUMBERS)}"


@pytest.fixture(scope="module")
def filled(db: ragdb.Database) -> RagdbVectorStore:
    """A store that the tests of filters read."""
    store = RagdbVectorStore(db, "filled", embedder="two")
    store.add(NODES)
    return store


def ids(nodes: Any) -> list[str]:
    return [one.node_id for one in nodes]


def test_nodes_come_back_as_they_were_put(db: ragdb.Database, corpus: str) -> None:
    store = RagdbVectorStore(db, corpus)
    assert store.add(NODES) == ["a", "b", "c", "e"]
    found = {one.node_id: one for one in store.get_nodes()}
    for given in NODES:
        back = found[given.node_id]
        assert (back.get_content(), back.metadata) == (given.text, given.metadata)
        assert back.ref_doc_id == given.ref_doc_id
    assert ids(store.get_nodes(["b", "zzz", "a"])) == ["a", "b"]


def test_a_node_with_the_id_of_another_takes_its_place(db: ragdb.Database, corpus: str) -> None:
    store = RagdbVectorStore(db, corpus, embedder="two")
    store.add([node("a", "old", [1, 0])])
    store.add([node("a", "new", [0, 1])])
    result = store.query(VectorStoreQuery(query_embedding=[0, 1], similarity_top_k=5))
    assert [one.get_content() for one in result.nodes or []] == ["new"]
    assert list(result.similarities or []) == pytest.approx([1])


def test_equal_texts_keep_vectors_of_their_own(db: ragdb.Database, corpus: str) -> None:
    store = RagdbVectorStore(db, corpus, embedder="two")
    store.add([node("a", "same", [1, 0]), node("b", "same", [0, 1])])
    for vector, best in (([1.0, 0.0], "a"), ([0.0, 1.0], "b")):
        result = store.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=2))
        assert (result.ids or [])[0] == best


def test_delete_takes_the_nodes_of_a_document(db: ragdb.Database, corpus: str) -> None:
    store = RagdbVectorStore(db, corpus)
    store.add(NODES)
    store.delete("one")
    assert ids(store.get_nodes()) == ["c", "e"]
    store.delete("one")
    store.delete_nodes(["c", "zzz"])
    assert ids(store.get_nodes()) == ["e"]
    store.add(NODES)
    store.delete_nodes(filters=MetadataFilters(filters=[MetadataFilter(key="year", value=2024)]))
    assert ids(store.get_nodes()) == ["b", "c", "e"]
    store.delete_nodes()
    assert len(store.get_nodes()) == 3
    db.put_text(corpus, "docs/a.md", "Refunds of files", title="T")
    store.clear()
    (file,) = store.get_nodes()
    assert file.metadata == {"source": "docs/a.md", "title": "T"}


def test_a_query_finds_what_the_database_finds(
    db: ragdb.Database, filled: RagdbVectorStore
) -> None:
    plain = RagdbVectorStore(db, "filled")
    for asked in ("refunds of gifts", "library refunds"):
        hits = db.search("filled", asked, 3)
        result = plain.query(VectorStoreQuery(query_str=asked, similarity_top_k=3))
        assert (result.ids, result.similarities) == (
            [hit.chunk_id for hit in hits],
            [hit.score for hit in hits],
        )
        hits = db.search("filled", asked, 3, query_embedding=[0.6, 0.8])
        result = filled.query(
            VectorStoreQuery(query_str=asked, query_embedding=[0.6, 0.8], similarity_top_k=3)
        )
        assert result.ids == [hit.chunk_id for hit in hits]


def test_a_query_that_is_only_a_vector_is_searched_by_it(
    db: ragdb.Database, filled: RagdbVectorStore
) -> None:
    asked = VectorStoreQuery(query_embedding=[0.6, 0.8], similarity_top_k=3)
    expected = db.search("filled", "*", 3, "semantic", query_embedding=[0.6, 0.8])
    for store in (filled, RagdbVectorStore(db, "filled")):
        assert store.query(asked).ids == [hit.chunk_id for hit in expected]


def test_the_modes_of_a_query_are_those_of_the_database(
    db: ragdb.Database, filled: RagdbVectorStore
) -> None:
    def found(mode: VectorStoreQueryMode, **more: Any) -> list[str]:
        asked: dict[str, Any] = {"query_str": "refunds", "query_embedding": [0.6, 0.8]}
        result = filled.query(VectorStoreQuery(similarity_top_k=4, mode=mode, **asked, **more))
        return list(result.ids or [])

    def expected(**how: Any) -> list[str]:
        return [hit.chunk_id for hit in db.search("filled", "refunds", 4, **how)]

    vector = [0.6, 0.8]
    assert found(VectorStoreQueryMode.TEXT_SEARCH) == expected(mode="lexical")
    for alpha in (0.0, 0.9):
        assert found(VectorStoreQueryMode.HYBRID, alpha=alpha) == expected(
            mode="hybrid", query_embedding=vector, lexical_weight=1 - alpha
        )
    assert (
        found(VectorStoreQueryMode.HYBRID, hybrid_top_k=2)
        == expected(mode="hybrid", query_embedding=vector)[:2]
    )
    assert found(VectorStoreQueryMode.MMR, mmr_threshold=0.2) == expected(
        query_embedding=vector, diversity=0.8
    )
    with pytest.raises(ValueError, match="no mode svm"):
        found(VectorStoreQueryMode.SVM)


def one(key: str, operator: FilterOperator, value: Any) -> MetadataFilter:
    return MetadataFilter(key=key, operator=operator, value=value)


Op, C = FilterOperator, FilterCondition
CONDITIONS = [
    one("year", Op.EQ, 2024), one("year", Op.NE, 2024), one("year", Op.GT, 2024),
    one("year", Op.GTE, 2025), one("year", Op.LT, 2026), one("year", Op.LTE, 2024),
    one("year", Op.IN, [2024, 2025]), one("year", Op.NIN, [2024, 2025]),
    one("tags", Op.ANY, ["x", "z"]), one("tags", Op.ALL, ["x", "y"]), one("tags", Op.CONTAINS, "y"),
    one("title", Op.EQ, "A"), one("title", Op.TEXT_MATCH, "B"), one("title", Op.IS_EMPTY, None),
    one("year", Op.IS_EMPTY, None),
]  # fmt: skip
FILTERS = [
    *(MetadataFilters(filters=[condition]) for condition in CONDITIONS),
    MetadataFilters(filters=[CONDITIONS[2], CONDITIONS[4]]),
    MetadataFilters(filters=[CONDITIONS[1], one("year", Op.NE, 2025)]),
    MetadataFilters(filters=[CONDITIONS[0], CONDITIONS[12]], condition=C.OR),
    MetadataFilters(filters=[CONDITIONS[0], CONDITIONS[12]], condition=C.NOT),
    MetadataFilters(filters=[CONDITIONS[0]], condition=C.NOT),
    MetadataFilters(filters=[CONDITIONS[7]], condition=C.NOT),
]


@pytest.mark.parametrize("filters", FILTERS, ids=lambda f: repr(f.filters)[:80])
def test_a_filter_leaves_what_llamaindex_says(
    filled: RagdbVectorStore, filters: MetadataFilters
) -> None:
    metadata = {one.node_id: one.metadata for one in NODES}
    says = build_metadata_filter_fn(metadata.__getitem__, filters)
    expected = [one.node_id for one in NODES if says(one.node_id)]
    assert 0 < len(expected) < len(NODES)
    assert ids(filled.get_nodes(filters=filters)) == expected
    query = VectorStoreQuery(query_embedding=[1, 1], similarity_top_k=9, filters=filters)
    assert sorted(filled.query(query).ids or []) == expected


def test_filters_within_filters_and_ids_narrow_down(filled: RagdbVectorStore) -> None:
    either = MetadataFilters(filters=[CONDITIONS[0], CONDITIONS[12]], condition=C.OR)
    both = MetadataFilters(filters=[either, CONDITIONS[2]])
    assert ids(filled.get_nodes(filters=both)) == ["b"]
    assert ids(filled.get_nodes(["a", "c"], either)) == ["a"]
    result = filled.query(
        VectorStoreQuery(query_embedding=[1, 1], similarity_top_k=9, doc_ids=["two"])
    )
    assert sorted(result.ids or []) == ["c", "e"]
    for operator, value in ((Op.TEXT_MATCH_INSENSITIVE, "b"), (Op.TEXT_MATCH, "a*")):
        with pytest.raises(ValueError, match=f"a filter {operator.value} on 'title'"):
            filled.get_nodes(filters=MetadataFilters(filters=[one("title", operator, value)]))


def test_an_index_of_llamaindex_works_on_it(db: ragdb.Database, corpus: str) -> None:
    store = RagdbVectorStore(db, corpus, embedder="mock")
    index = VectorStoreIndex(
        nodes=[node("a", "Refunds take five days."), node("b", "The library is closed.")],
        storage_context=StorageContext.from_defaults(vector_store=store),
        embed_model=MockEmbedding(3),
    )
    (best,) = index.as_retriever(similarity_top_k=1).retrieve("when is the library closed?")
    assert best.node_id == "b"
    index.delete_ref_doc("d")
    assert store.get_nodes() == []


def test_an_index_works_on_a_store_that_embeds_by_itself(db: ragdb.Database, corpus: str) -> None:
    store = RagdbVectorStore(db, corpus)
    store.add([node("a", "Refunds take five days."), node("b", "The library is closed.")])
    index = VectorStoreIndex.from_vector_store(store, embed_model=MockEmbedding(1))
    (best,) = index.as_retriever(similarity_top_k=1).retrieve("when is the library closed?")
    assert best.node_id == "b"


def test_every_verb_is_a_coroutine_too(db: ragdb.Database, corpus: str) -> None:
    async def run() -> list[list[str]]:
        store = RagdbVectorStore(db, corpus)
        await store.async_add(NODES)
        found = await store.aquery(VectorStoreQuery(query_str="gifts", similarity_top_k=1))
        steps = [list(found.ids or [])]
        await store.adelete("one")
        steps.append(ids(await store.aget_nodes()))
        await store.adelete_nodes(["c"])
        steps.append(ids(await store.aget_nodes()))
        await store.aclear()
        return [*steps, ids(await store.aget_nodes())]

    assert asyncio.run(run()) == [["b"], ["c", "e"], ["e"], []]


def test_vectors_of_another_model_are_refused(db: ragdb.Database, filled: RagdbVectorStore) -> None:
    other = RagdbVectorStore(db, "filled", embedder="another")
    with pytest.raises(EmbedderMismatch):
        other.query(VectorStoreQuery(query_str="x", query_embedding=[1, 0]))
    with pytest.raises(ValueError, match="embedding"):
        filled.add([node("z", "a node without its vector")])
    assert isinstance(filled.get_nodes(["a"])[0], BaseNode)


@pytest.mark.parametrize("given", [ragdb.AsyncDatabase(None), "postgresql:///db"])  # type: ignore[arg-type]
def test_a_store_says_what_it_takes(given: Any) -> None:
    with pytest.raises(TypeError, match="a store takes what ragdb"):
        RagdbVectorStore(given, "docs")
